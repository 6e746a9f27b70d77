//! A session begins: at its login, anew by COM_RESET_CONNECTION, and as somebody else's by COM_CHANGE_USER.

use super::ClientSession;
use crate::accounts::Standing;
use crate::context::Core;
use crate::diagnostics::Diagnostics;
use crate::front::command::Login;
use crate::front::connections::Connection;
use crate::reply::charsets;
use crate::reply::session_track::Changes;
use crate::shared::Shared;
use crate::statement::prepared::PreparedStatements;
use crate::transaction::TransactionState;
use crate::transaction::server_locks::ServerLocks;
use crate::variables::{SessionVariables, variable};
use ::accounts::AccountName;
use admission::Ticket;
use engine::Cancel;
use lock_manager::{WaitObserver, WaitsFor};
use mysql_error::{SqlError, codes};
use protocol::{Capabilities, ServerStatus};
use std::sync::Arc;
use types::Collation;

impl ClientSession {
    pub(crate) fn new(shared: Arc<Shared>, connection: Arc<Connection>, login: Login) -> Result<ClientSession, SqlError> {
        shared.status.connections.inc();
        let mut engine = shared.engine.connect();
        engine.set_client(u64::from(connection.id()));
        engine.count_calls_in(Arc::clone(&connection.handler_counts));
        let ticket = Ticket::new(&shared.admission, connection.id());
        let_reach(&connection, engine.cancel(), &ticket);
        let standing = Standing::log_in(&shared, &connection, account_of(&login))?;
        let variables = first_variables(&shared, &login);
        let core = Core::new(shared, Arc::clone(&connection), login, standing, variables, &engine, ticket);
        let transaction = TransactionState::new(engine.lock_owner());
        let server_locks = ServerLocks::new(&core.shared, engine.lock_owner());
        let mut session = ClientSession {
            zone: Arc::clone(&core.settings.zone),
            connection,
            dependencies: Arc::clone(engine.dependencies()),
            engine,
            transaction,
            server_locks,
            tools: Box::default(),
            prepared: PreparedStatements::default(),
            changes: Changes::default(),
            left: None,
            backup: None,
            environment: 0,
            multi_statements: core.login.capabilities.contains(Capabilities::MULTI_STATEMENTS),
            more_results: false,
            told_status: ServerStatus(0),
            outer_databases: Vec::new(),
            killed_itself: false,
            init_failed: false,
            logged: None,
            planned: std::cell::Cell::new(false),
            core,
        };
        session.log_in()?;
        session.run_init_connect();
        Ok(session)
    }

    /// Takes over what the login wishes for.
    fn log_in(&mut self) -> Result<(), SqlError> {
        self.settings_from_variables();
        if let Some(name) = charsets::no_client_charset(self.core.login.charset) {
            return Err(codes::wrong_value_for_var("character_set_client", name));
        }
        if let Some(name) = charsets::unknown_client_charset(self.core.login.charset) {
            return Err(codes::unknown_character_set(name));
        }
        if let Some(collation) = Collation::from_id(self.core.login.charset) {
            self.set_client_charset(collation.charset(), collation);
        }
        let (login, database) = (&self.core.login, self.core.login.database.clone());
        self.connection.set_label(|label| {
            label.user.clone_from(&login.user);
            label.account_user.clone_from(&login.account_user);
        });
        if let Some(name) = database.filter(|name| !name.is_empty()) {
            self.use_database(&name).map_err(|outcome| outcome.error)?;
        }
        // What the login wished for is no news to its client.
        self.begin_tracking();
        self.keep_attributes();
        Ok(())
    }

    /// Begins anew with the same account: COM_RESET_CONNECTION.
    #[cold]
    pub(super) fn reset(&mut self) -> Result<(), SqlError> {
        self.forget()?;
        self.settings_from_variables();
        let shared = Arc::clone(self.shared());
        self.core.standing.begin_anew(&shared);
        self.begin_tracking();
        Ok(())
    }

    /// Forgets all session state; variables are those of a session that begins. Settings and standing are left to the caller.
    #[cold]
    fn forget(&mut self) -> Result<(), SqlError> {
        self.abandon_branch();
        self.rollback().map_err(|outcome| outcome.error)?;
        self.drop_all_temporary();
        self.transaction = TransactionState::new(self.engine.lock_owner());
        self.server_locks.release();
        self.core.tables_locked = false;
        self.prepared.close_all();
        self.backup = None;
        self.core.variables = first_variables(&self.core.shared, &self.core.login);
        self.core.profiles = None;
        self.core.user_variables.clear();
        self.core.release_user_locks();
        self.core.diagnostics = Diagnostics::default();
        self.core.last_insert_id = 0;
        self.core.insert_id = 0;
        self.core.row_count = 0;
        self.core.found_rows = 0;
        Ok(())
    }

    /// Begins anew as somebody else: COM_CHANGE_USER.
    pub(super) fn become_user(&mut self, login: Login) -> Result<(), SqlError> {
        self.core.login = login;
        self.core.database = None;
        self.environment = 0;
        self.forget()?;
        // The old account's place is given up after the new one is taken: as in MySQL who may have one session cannot change to itself.
        self.core.standing = Standing::log_in(&self.core.shared, &self.connection, account_of(&self.core.login))?;
        self.log_in()
    }

    /// Keeps what the client said of itself, up to `performance_schema_session_connect_attrs_size`.
    fn keep_attributes(&mut self) {
        let mut room = self.shared().number(variable!("performance_schema_session_connect_attrs_size")) as usize;
        let mut attributes = std::mem::take(&mut self.core.login.attributes);
        let kept = attributes.iter().take_while(|(name, value)| {
            // With the lengths in front of both.
            let bytes = name.len() + value.len() + 2;
            let fits = bytes <= room;
            room = room.saturating_sub(bytes);
            fits
        });
        let count = kept.count();
        if count < attributes.len() {
            self.shared().status.connect_attributes_lost.inc();
        }
        attributes.truncate(count);
        self.connection.set_attributes(attributes);
    }
}

/// Lets whoever stops a connection, or looks at it, reach what its session waits for.
fn let_reach(connection: &Connection, cancel: &Arc<Cancel>, ticket: &Arc<Ticket>) {
    cancel.observe(Arc::clone(ticket) as Arc<dyn WaitObserver>);
    connection.set_wait_observer(Arc::clone(ticket) as Arc<dyn WaitObserver>);
    let waker = Arc::clone(cancel);
    connection.set_waker(Arc::new(move |stop| waker.cancel(stop as u32)));
    let waiting = Arc::clone(cancel);
    connection.set_wait_probe(Arc::new(move || waiting.waits_for().map(wait_shown)));
}

/// What the process list says of a wait.
fn wait_shown(what: WaitsFor) -> &'static str {
    match what {
        WaitsFor::RowLock => "Waiting for row lock",
        WaitsFor::MetadataLock => "Waiting for table metadata lock",
        WaitsFor::GlobalReadLock => "Waiting for global read lock",
        WaitsFor::CommitLock => "Waiting for commit lock",
        WaitsFor::BackupLock => "Waiting for backup lock",
        WaitsFor::UserLock => "User lock",
        WaitsFor::Time => "User sleep",
        WaitsFor::Admission => crate::ADMISSION_WAIT,
    }
}

/// Variables of a session that begins. As in MySQL an interactive client's `wait_timeout` is the server's `interactive_timeout`.
fn first_variables(shared: &Shared, login: &Login) -> SessionVariables {
    let mut variables = SessionVariables::new(shared.variables.all());
    if login.capabilities.contains(Capabilities::INTERACTIVE) {
        let seconds = variables.get(variable!("interactive_timeout")).clone();
        variables.set(variable!("wait_timeout"), seconds);
    }
    variables
}

/// The account that a login is of.
fn account_of(login: &Login) -> AccountName {
    AccountName { user: login.account_user.clone(), host: login.account_host.clone() }
}
