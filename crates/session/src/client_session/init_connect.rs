//! `init_connect`: what the server asks of itself for each client that logs in.
//!
//! As in MySQL it is left out for who has CONNECTION_ADMIN (so that a wrong text can be mended) and for whose password has expired, and is not done again by COM_CHANGE_USER and
//! COM_RESET_CONNECTION. Here it is done before the client is told that it is logged in, in MySQL after.

use super::ClientSession;
use crate::diagnostics::Diagnostics;
use crate::front::command::Command;
use crate::front::service::Session;
use crate::variables::variable;
use mysql_error::{SqlError, codes};
use protocol::command::QueryAttributes;
use protocol::{ClientGone, ClientIo, PacketWriter};
use types::Value;

/// The command byte of COM_QUERY.
const COM_QUERY: u8 = 0x03;

/// Who takes all that is answered and keeps nothing.
struct Nobody;

impl ClientIo for Nobody {
    fn flush(&mut self, out: &mut PacketWriter) -> Result<(), ClientGone> {
        out.clear();
        Ok(())
    }

    fn read_packet(&mut self) -> Result<&[u8], ClientGone> {
        Err(ClientGone::Disconnected)
    }

    fn reply_sequence(&self) -> u8 {
        0
    }
}

impl ClientSession {
    /// Runs the statements of `init_connect`, until one fails: then [`Session::init_error`] says so.
    pub(super) fn run_init_connect(&mut self) {
        let Value::Bytes(text) = self.shared().variables.get(variable!("init_connect")) else { return };
        let (text, standing) = (text.to_text(), &self.core.standing);
        let is_admin = standing.rights.has_dynamic("CONNECTION_ADMIN") || standing.rights.global.has(::accounts::Privileges::SUPER);
        if text.is_empty() || is_admin || standing.sandboxed {
            return;
        }
        let allowed = std::mem::replace(&mut self.multi_statements, true);
        let command = Command::Query { sql: text.as_bytes(), attributes: QueryAttributes::default() };
        if self.connection.begin_command(COM_QUERY) {
            self.handle(command, &mut PacketWriter::new(), &mut Nobody);
        }
        self.multi_statements = allowed;
        self.more_results = false;
        self.init_failed = self.core.diagnostics.error_count() > 0 || self.connection.stop_requested().ends_connection();
        self.core.diagnostics = Diagnostics::default();
        self.begin_tracking();
    }

    /// What the client is told instead of its first answer.
    pub(super) fn init_connect_error(&self) -> Option<SqlError> {
        let login = &self.core.login;
        let database = self.core.database.as_deref().unwrap_or("unconnected");
        self.init_failed.then(|| {
            codes::new_aborting_connection(self.connection.id(), database, &login.user, &login.host, "init_connect command failed")
        })
    }
}
