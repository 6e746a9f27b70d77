//! The service until sessions exist: it locks the data directory and tells every client that logs in that it cannot
//! run statements. FIXME(#2): replace by the sessions of crate `session`.

use std::sync::Arc;

use env::RealDisk;
use mysql_error::{SqlError, codes};
use protocol::{Command, PacketWriter, ServerStatus};
use server::options::Settings;
use server::serve::Failure;
use session::accounts::{Accounts, RootOnly};
use session::command::{ClientIo, Flow, Login};
use session::connections::{Connection, Connections};
use session::service::{FrontSettings, Service, Session};

/// See the module's text.
pub struct Unopened {
    connections: Arc<Connections>,
    accounts: RootOnly,
    _disk: RealDisk,
}

/// Opens the data directory.
pub fn open(settings: &Settings) -> Result<Unopened, Failure> {
    let disk = RealDisk::open(&settings.data_dir)?;
    Ok(Unopened { connections: Arc::new(Connections::new()), accounts: RootOnly, _disk: disk })
}

/// Nothing to write yet.
pub fn close(_service: &Unopened) -> Result<(), Failure> {
    Ok(())
}

/// A session that cannot be.
pub enum NoSession {}

impl Service for Unopened {
    type Session = NoSession;

    fn connections(&self) -> &Arc<Connections> {
        &self.connections
    }

    fn accounts(&self) -> &dyn Accounts {
        &self.accounts
    }

    fn settings(&self) -> FrontSettings {
        FrontSettings::default()
    }

    fn is_administrator(&self, login: &Login) -> bool {
        login.account_user == "root"
    }

    fn begin(&self, _connection: Arc<Connection>, _login: Login) -> Result<NoSession, SqlError> {
        Err(codes::not_supported_yet("statements"))
    }
}

impl Session for NoSession {
    fn handle(&mut self, _command: Command<'_>, _out: &mut PacketWriter, _io: &mut dyn ClientIo) -> Flow {
        match *self {}
    }

    fn change_user(&mut self, _login: Login) -> Result<(), SqlError> {
        match *self {}
    }

    fn status(&self) -> ServerStatus {
        match *self {}
    }

    fn max_allowed_packet(&self) -> usize {
        match *self {}
    }
}
