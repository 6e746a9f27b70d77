//! One client's session: takes commands, runs statements, writes replies.
//!
//! # The way of a statement
//! [`ClientSession::handle`] → `statement/`: `query.rs` (fingerprint, plan cache) or `prepared.rs` → `run.rs` (executor, reply), by the steps of `enter.rs` (rights, transaction,
//! metadata locks); statements without a plan → `dispatch.rs` → `variables/set.rs`, `ddl/`, `show/`, `files/`, which come into plans by `enter.rs`, too.

use crate::context::{Core, Settings};
use crate::diagnostics::Diagnostics;
use crate::error_map::Outcome;
use crate::front::command::{ClientIo, Command, Flow, Login};
use crate::front::connections::Connection;
use crate::front::service::Session;
use crate::query_logs::Logged;
use crate::reply::charsets::ClientCharsets;
use crate::reply::session_track::Changes;
use crate::shared::Shared;
use crate::statement::plan_cache::{OwnPlans, OwnTexts};
use crate::statement::prepared::PreparedStatements;
use crate::transaction::TransactionState;
use crate::transaction::server_locks::ServerLocks;
use crate::variables::{SessionVariables, variable};
use crate::virtual_tables;
use ::accounts::Privileges;
use base::Lsn;
use engine::{HandlerCalls, Isolation};
use env::SplitMix64;
use executor::Scratch;
use lock_manager::{WaitObserver, WaitsFor};
use mysql_error::{SqlError, codes};
use parser::{Bump, LiftedLiteral};
use protocol::{Capabilities, PacketWriter, ResultSink, RowFormat, ServerStatus};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use sync::atomic::{AtomicU64, Ordering};
use types::{Collation, SqlMode, TimeZone, Value};

/// One client's session.
pub struct ClientSession {
    pub(crate) core: Core,
    pub(crate) connection: Arc<Connection>,
    pub(crate) engine: engine::Session,
    /// Of the engine's session: what replies wait for.
    pub(crate) dependencies: Arc<engine::Dependencies>,
    pub(crate) transaction: TransactionState,
    pub(crate) server_locks: ServerLocks,
    pub(crate) scratch: Box<Scratch>,
    pub(crate) own_plans: OwnPlans,
    pub(crate) own_texts: OwnTexts,
    pub(crate) prepared: PreparedStatements,
    /// What the next OK packet tells.
    pub(crate) changes: Changes,
    /// A backup that the client is making.
    pub(crate) backup: Option<Box<backup::Online>>,
    /// Parameter values of the running statement.
    pub(crate) params: Vec<Value>,
    /// Literals lifted from the running statement's text.
    pub(crate) lifted: Vec<LiftedLiteral>,
    /// [`Settings::zone`] once more: rows are written by it while the executor has `core`.
    pub(crate) zone: Arc<TimeZone>,
    /// Syntax trees live here for one statement.
    pub(crate) arena: Bump,
    /// Hash of what plans depend on beside the text: database, modes, collation. 0 when it must be computed.
    pub(crate) environment: u64,
    /// COM_SET_OPTION or the client's capability.
    pub(crate) multi_statements: bool,
    /// More results of the same command follow the one that is being written.
    pub(crate) more_results: bool,
    /// What the reply to the running statement tells of that in its status flags.
    pub(crate) told_status: ServerStatus,
    /// The current databases while others are lent ([`ClientSession::in_database`]), the session's own first.
    pub(crate) outer_databases: Vec<Option<Box<str>>>,
    /// KILL of its own connection: it is told, and ends.
    pub(crate) killed_itself: bool,
    /// What is kept of the running statement while a log is on.
    pub(crate) logged: Option<Box<Logged>>,
    /// A plan was made for the statement that runs next.
    pub(crate) planned: std::cell::Cell<bool>,
}

impl ClientSession {
    pub(crate) fn new(shared: Arc<Shared>, connection: Arc<Connection>, login: Login) -> Result<ClientSession, SqlError> {
        shared.status.connections.inc();
        let mut engine = shared.engine.connect();
        engine.set_client(u64::from(connection.id()));
        engine.count_calls_in(Arc::clone(&connection.handler_counts));
        let cancel = Arc::clone(engine.cancel());
        let ticket = admission::Ticket::new(&shared.admission, connection.id());
        cancel.observe(Arc::clone(&ticket) as Arc<dyn WaitObserver>);
        connection.set_wait_observer(Arc::clone(&ticket) as Arc<dyn WaitObserver>);
        let waker = Arc::clone(&cancel);
        connection.set_waker(Arc::new(move |stop| waker.cancel(stop as u32)));
        let waiting = Arc::clone(&cancel);
        connection.set_wait_probe(Arc::new(move || {
            waiting.waits_for().map(|what| match what {
                WaitsFor::RowLock => "Waiting for row lock",
                WaitsFor::MetadataLock => "Waiting for table metadata lock",
                WaitsFor::GlobalReadLock => "Waiting for global read lock",
                WaitsFor::CommitLock => "Waiting for commit lock",
                WaitsFor::BackupLock => "Waiting for backup lock",
                WaitsFor::UserLock => "User lock",
                WaitsFor::Time => "User sleep",
                WaitsFor::Admission => crate::ADMISSION_WAIT,
            })
        }));
        let standing = crate::accounts::Standing::log_in(&shared, &connection, account_of(&login))?;
        let variables = first_variables(&shared, &login);
        let core = Core {
            connection: Arc::clone(&connection),
            standing,
            database: None,
            variables,
            settings: Settings {
                autocommit: true,
                isolation: Isolation::RepeatableRead,
                read_only: false,
                snapshot_isolation: false,
                sql_mode: SqlMode::DEFAULT,
                lexical_mode: parser::SqlMode::default(),
                zone: Arc::new(TimeZone::utc()),
                lc_time_names: 0,
                collation: Collation::DEFAULT,
                charsets: ClientCharsets::default(),
                lock_wait_timeout_s: 60,
                max_allowed_packet: 64 << 20,
                statement_bytes_max: executor::STATEMENT_BYTES_MAX as u64,
                max_execution_time_ms: 0,
                notes: true,
                timestamp: 0.0,
                select_limit: u64::MAX,
                max_join_size: u64::MAX,
                switches: Default::default(),
                safe_updates: false,
                completion_type: 0,
                temporary: 0,
                auto_increment: executor::AutoIncrementSettings::default(),
            },
            user_variables: std::collections::HashMap::new(),
            user_locks: std::collections::HashMap::new(),
            diagnostics: Diagnostics::default(),
            last_insert_id: 0,
            insert_id: 0,
            row_count: 0,
            query_attributes: Vec::new(),
            found_rows: 0,
            calls_before: HandlerCalls::default(),
            statement_micros: std::cell::Cell::new(0),
            tables_locked: false,
            analyzes: false,
            cancel,
            lock_owner: Arc::clone(engine.lock_owner()),
            acted: false,
            temporary: None,
            new_table: None,
            view_being_made: None,
            lock_picture: None,
            profiles: None,
            ticket,
            random: SplitMix64::new(u64::from(connection.id()) ^ shared.engine.wall_micros() as u64),
            shared,
            login,
        };
        let transaction = TransactionState::new(engine.lock_owner());
        let server_locks = ServerLocks::new(&core.shared, engine.lock_owner());
        let mut session = ClientSession {
            zone: Arc::clone(&core.settings.zone),
            core,
            connection,
            dependencies: Arc::clone(engine.dependencies()),
            engine,
            transaction,
            server_locks,
            scratch: Box::default(),
            own_plans: OwnPlans::default(),
            own_texts: OwnTexts::default(),
            prepared: PreparedStatements::default(),
            changes: Changes::default(),
            backup: None,
            params: Vec::new(),
            lifted: Vec::new(),
            arena: Bump::new(),
            environment: 0,
            multi_statements: false,
            more_results: false,
            told_status: ServerStatus(0),
            outer_databases: Vec::new(),
            killed_itself: false,
            logged: None,
            planned: std::cell::Cell::new(false),
        };
        session.multi_statements = session.core.login.capabilities.contains(Capabilities::MULTI_STATEMENTS);
        session.log_in()?;
        Ok(session)
    }

    /// Takes over what the login wishes for.
    fn log_in(&mut self) -> Result<(), SqlError> {
        self.settings_from_variables();
        if let Some(name) = crate::reply::charsets::no_client_charset(self.core.login.charset) {
            return Err(codes::wrong_value_for_var("character_set_client", name));
        }
        if let Some(name) = crate::reply::charsets::unknown_client_charset(self.core.login.charset) {
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
    fn reset(&mut self) -> Result<(), SqlError> {
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

    /// Counts a statement of an account that may run only so many.
    #[cold]
    pub(crate) fn count_limited(&mut self) -> Result<(), SqlError> {
        self.core.standing.count_query(&self.core.shared)
    }

    /// Status flags of replies.
    #[inline]
    pub(crate) fn server_status(&self) -> ServerStatus {
        let mut status = ServerStatus(0);
        status.set(ServerStatus::AUTOCOMMIT, self.core.settings.autocommit);
        let in_transaction = self.is_in_transaction();
        status.set(ServerStatus::IN_TRANS, in_transaction);
        status.set(ServerStatus::IN_TRANS_READONLY, in_transaction && self.engine.is_read_only());
        status.set(ServerStatus::MORE_RESULTS_EXISTS, self.more_results);
        status.set(ServerStatus::NO_BACKSLASH_ESCAPES, self.core.settings.sql_mode.contains(SqlMode::NO_BACKSLASH_ESCAPES));
        ServerStatus(status.0 | self.told_status.0)
    }

    /// What a stopped statement is told.
    pub(crate) fn stop_error(&self) -> SqlError {
        self.core.stop_error()
    }

    /// What the sessions share.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.core.shared
    }

    /// Begins a statement: conditions, clock and KILL's flag of the last one are forgotten.
    #[inline]
    pub(crate) fn begin_statement(&mut self) {
        memory::begin_statement(self.core.settings.statement_bytes_max);
        self.core.look_at_accounts();
        self.core.statement_micros.set(0);
        self.core.diagnostics.next_statement();
        self.told_status = ServerStatus(0);
        // A statement may fail before it runs (a missing table): then it takes nothing back.
        self.engine.keep_changes();
        // By a hint or by the setting of the statement before.
        if self.connection.deadline_ms() > 0 {
            self.connection.set_deadline_ms(0);
        }
        if self.core.cancel.is_cancelled() {
            self.core.cancel.reset();
            // A kill that came between the command's begin and the reset must not be lost.
            let stop = self.connection.stop_requested();
            if stop != crate::front::connections::Stop::No {
                self.core.cancel.cancel(stop as u32);
            }
        }
    }

    /// Writes the error of a failed statement and undoes what it did.
    #[cold]
    pub(crate) fn fail(&mut self, sink: &mut ResultSink<'_>, outcome: Outcome) {
        let mut error = outcome.error;
        // What is undone may take what it needs.
        memory::excuse();
        if let Err(worse) = self.statement_failed(outcome.undo) {
            error = worse.error;
        }
        self.core.row_count = -1;
        self.forget_changes();
        if let Some(logged) = &mut self.logged {
            logged.errno = error.code;
        }
        // This is about no statement: GET DIAGNOSTICS leaves the conditions of the one before.
        if error.code != codes::ER_GET_STACKED_DA_WITHOUT_ACTIVE_HANDLER {
            self.core.diagnostics.push_error(&error);
        }
        self.core.settings.charsets.send_error(sink, &error);
    }

    fn with_sink<R>(
        &mut self,
        out: &mut PacketWriter,
        io: &mut dyn ClientIo,
        format: RowFormat,
        run: impl FnOnce(&mut Self, &mut ResultSink<'_>) -> R,
    ) -> R {
        let mut sink = ResultSink::new(out, io, self.core.login.capabilities, format);
        run(self, &mut sink)
    }
}

impl Session for ClientSession {
    type Tools = crate::front::tools::Tools;

    fn exchange_tools(&mut self, tools: &mut Self::Tools) {
        self.swap_tools(tools);
    }

    fn handle(&mut self, command: Command<'_>, out: &mut PacketWriter, io: &mut dyn ClientIo) -> Flow {
        // A bug that panics costs its statement, not the server. (Inside a mini-transaction it ends the process; see `buffer_pool`.)
        let flow = match catch_unwind(AssertUnwindSafe(|| self.answer(command, out, io))) {
            Ok(_) if self.killed_itself => Flow::Quit,
            Ok(flow) => flow,
            Err(_) => self.incident(out, io),
        };
        if self.engine.awaits_log().is_none() {
            self.command_done();
            return flow;
        }
        if flow == Flow::Continue { Flow::Later } else { flow }
    }

    fn awaits(&self) -> Lsn {
        self.engine.awaits_log()
    }

    fn finish(&mut self) -> Result<(), SqlError> {
        self.finish_commit().map_err(|outcome| outcome.error)
    }

    fn change_user(&mut self, login: Login) -> Result<(), SqlError> {
        self.core.login = login;
        self.core.database = None;
        self.environment = 0;
        self.forget()?;
        // The old account's place is given up after the new one is taken: as in MySQL who may have one session cannot change to itself.
        self.core.standing = crate::accounts::Standing::log_in(&self.core.shared, &self.connection, account_of(&self.core.login))?;
        self.log_in()?;
        if self.shared().query_logs.is_on() {
            self.shared().log_login(&self.connection, &self.core.login, "Change user");
        }
        Ok(())
    }

    fn client_quits(&mut self) {
        if self.shared().query_logs.is_on() {
            self.log_quit();
        }
    }

    fn status(&self) -> ServerStatus {
        self.server_status()
    }

    fn client_is_lost(&self) {
        self.shared().status.aborted_clients.inc();
    }

    fn holds_nothing(&self) -> bool {
        !self.engine.in_transaction()
            && !self.is_in_transaction()
            && !self.transaction.has_locked_tables()
            && self.transaction.xa.is_none()
            && !self.core.tables_locked
            && self.core.user_locks.is_empty()
            && self.backup.is_none()
            && self.server_locks.holds_nothing()
    }

    fn take_asked(&mut self) -> bool {
        self.core.ticket.take_asked()
    }

    fn rest(&mut self) {
        // Their plans stay in the server's cache.
        self.own_plans = OwnPlans::default();
        self.own_texts = OwnTexts::default();
        self.scratch.shrink();
        self.params = Vec::new();
        self.lifted = Vec::new();
        self.arena = Bump::new();
        self.engine.rest();
        self.transaction.rest();
    }

    fn pack(&mut self) {
        self.prepared.pack();
        self.core.pack();
    }

    fn max_allowed_packet(&self) -> usize {
        self.core.settings.max_allowed_packet
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

impl Drop for ClientSession {
    fn drop(&mut self) {
        if !self.engine.awaits_log().is_none() {
            // Before its temporary tables go, by transactions of their own. An error leaves it to recovery.
            let _ = self.finish_commit();
        }
        self.core.release_user_locks();
        self.abandon_branch();
        if self.core.temporary.is_some() {
            self.drop_all_temporary();
        }
    }
}

/// The account that a login is of.
fn account_of(login: &Login) -> ::accounts::AccountName {
    ::accounts::AccountName { user: login.account_user.clone(), host: login.account_host.clone() }
}

/// Longest name of a database.
const IDENTIFIER_CHARS_MAX: usize = 64;

/// Panics that statements have survived; the number names the incident to the client and in the log.
static INCIDENTS: AtomicU64 = AtomicU64::new(0);

impl ClientSession {
    /// Answers 1815 for a statement that panicked, after rolling its transaction back.
    #[cold]
    fn incident(&mut self, out: &mut PacketWriter, io: &mut dyn ClientIo) -> Flow {
        let number = INCIDENTS.fetch_add(1, Ordering::Relaxed) + 1;
        self.logged = None;
        let rolled_back = catch_unwind(AssertUnwindSafe(|| {
            self.server_locks.withdraw();
            self.abandon_branch();
            self.rollback()
        }));
        let error = SqlError::with_message(1815, format!("Internal error: incident {number}; the server's log tells more"));
        self.with_sink(out, io, RowFormat::Text, |_, sink| sink.error(&error));
        if matches!(rolled_back, Ok(Ok(()))) { Flow::Continue } else { Flow::Quit }
    }

    // What commands do is not inlined here, so that each touches the stack it needs and no more.
    fn answer(&mut self, command: Command<'_>, out: &mut PacketWriter, io: &mut dyn ClientIo) -> Flow {
        self.more_results = false;
        self.begin_statement();
        if self.core.shared.query_logs.is_on() { self.answer_logged(command, out, io) } else { self.carry_out(command, out, io) }
    }

    /// Twice in the program, so that a command makes no call more while no log is on.
    #[inline(always)]
    pub(crate) fn carry_out(&mut self, command: Command<'_>, out: &mut PacketWriter, io: &mut dyn ClientIo) -> Flow {
        match command {
            // A login with a database gets it; the password is to be changed before anything else is asked for.
            Command::InitDb(_) | Command::FieldList { .. } | Command::Statistics | Command::ResetConnection | Command::SetOption(_)
                if self.core.standing.sandboxed =>
            {
                self.reply_simple(out, io, Err(codes::must_change_password().into()));
            }
            Command::Query { sql, attributes } => {
                if attributes.count > 0 || !self.core.query_attributes.is_empty() {
                    self.keep_query_attributes(&attributes);
                }
                self.shared().status.questions.inc();
                if self.core.standing.is_limited()
                    && let Err(error) = self.count_limited()
                {
                    self.reply_simple(out, io, Err(error.into()));
                    return Flow::Continue;
                }
                let converted;
                let sql = if self.core.settings.charsets.client.is_utf8_bytes() {
                    sql
                } else {
                    converted = self.core.settings.charsets.incoming(sql);
                    &converted
                };
                self.with_sink(out, io, RowFormat::Text, |session, sink| session.query(sql, sink));
            }
            Command::StmtExecute(execute) => {
                self.shared().status.questions.inc();
                if self.core.standing.is_limited()
                    && let Err(error) = self.count_limited()
                {
                    self.reply_simple(out, io, Err(error.into()));
                    return Flow::Continue;
                }
                self.execute_command(&execute, out, io);
            }
            Command::StmtPrepare(sql) => {
                let sql = self.core.settings.charsets.incoming(sql);
                self.with_sink(out, io, RowFormat::Text, |session, sink| session.prepare(&sql, sink));
            }
            Command::StmtClose(id) => {
                self.shared().status.com_stmt_close.inc();
                self.prepared.close(id);
            }
            Command::StmtSendLongData { statement_id, param, data } => {
                self.shared().status.com_stmt_send_long_data.inc();
                self.prepared.add_long_data(statement_id, param, data, self.core.settings.max_allowed_packet);
            }
            Command::StmtReset(id) => {
                self.shared().status.com_stmt_reset.inc();
                let known = self.prepared.reset(id);
                self.reply_simple(out, io, if known { Ok(()) } else { Err(codes::unknown_stmt_handler(id, "mysql_stmt_precheck").into()) });
            }
            Command::StmtFetch { statement_id, row_count } => self.fetch(statement_id, row_count, out, io),
            Command::InitDb(name) => {
                self.shared().status.questions.inc();
                self.shared().kinds.add("Com_change_db");
                let name = &*self.core.settings.charsets.incoming(name);
                let result = match std::str::from_utf8(name) {
                    Ok("") => Err(codes::no_db_error().into()),
                    Ok(name) if name.chars().count() > IDENTIFIER_CHARS_MAX => Err(codes::too_long_ident(name).into()),
                    Ok(name) => self.use_database(name),
                    Err(_) => Err(codes::bad_db_error(String::from_utf8_lossy(name)).into()),
                };
                if self.logged.is_some() && result.is_ok() {
                    self.log_general("Init DB", name);
                }
                self.reply_simple(out, io, result);
            }
            Command::FieldList { table, pattern } => {
                let charsets = &self.core.settings.charsets;
                let (table, pattern) = (&*charsets.incoming(table), &*charsets.incoming(pattern));
                self.with_sink(out, io, RowFormat::Text, |session, sink| session.field_list(table, pattern, sink));
            }
            Command::Statistics => {
                self.shared().status.com_admin_commands.inc();
                let text = self.statistics();
                out.packet(text.as_bytes());
            }
            Command::Ping => {
                self.shared().status.com_admin_commands.inc();
                self.reply_simple(out, io, Ok(()));
            }
            Command::Debug => {
                self.shared().status.com_admin_commands.inc();
                match self.debug() {
                    Ok(()) => protocol::reply::write_eof(self.server_status(), self.core.diagnostics.warning_count(), out),
                    Err(error) => self.reply_simple(out, io, Err(error.into())),
                }
            }
            Command::ResetConnection => {
                self.shared().status.com_admin_commands.inc();
                let result = self.reset();
                self.reply_simple(out, io, result.map_err(Into::into));
            }
            Command::SetOption(option @ (0 | 1)) => {
                self.multi_statements = option == 0;
                let status = self.server_status();
                protocol::reply::write_eof(status, 0, out);
            }
            Command::SetOption(_) => self.reply_simple(out, io, Err(codes::unknown_com_error().into())),
            Command::ProcessKill(_) => self.reply_simple(out, io, Err(codes::unknown_com_error().into())),
            Command::Quit | Command::ChangeUser(_) => return Flow::Quit,
        }
        Flow::Continue
    }
}

impl ClientSession {
    #[inline(never)]
    fn reply_simple(&mut self, out: &mut PacketWriter, io: &mut dyn ClientIo, result: Result<(), Outcome>) {
        self.with_sink(out, io, RowFormat::Text, |session, sink| match result {
            Ok(()) => {
                let status = session.server_status();
                let session_state = session.session_state();
                sink.ok(&protocol::OkReply { status, session_state: &session_state, ..Default::default() });
            }
            Err(outcome) => session.refuse_command(sink, &outcome.error),
        });
    }

    /// The error of a command that is no statement: SHOW WARNINGS lists it behind what the statement before has left.
    #[cold]
    pub(crate) fn refuse_command(&mut self, sink: &mut ResultSink<'_>, error: &SqlError) {
        self.core.diagnostics.push_error(error);
        self.core.settings.charsets.send_error(sink, error);
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

    /// Makes a database current.
    #[cold]
    pub(crate) fn use_database(&mut self, name: &str) -> Result<(), Outcome> {
        if !self.core.may_use_database(name) {
            return Err(self.core.database_denied(name).into());
        }
        let (name, collation) = match virtual_tables::database(name) {
            Some(database) => (database.name, database.collation),
            None => {
                let found = self.shared().catalog.database(name);
                (name, found.map_err(|error| crate::error_map::catalog_error(error, || self.stop_error()))?.collation)
            }
        };
        self.prepared.leave(self.core.database.as_deref(), Some(name));
        self.core.database = Some(name.into());
        self.environment = 0;
        self.changes.note_schema();
        self.set_database_charset(collation);
        let name = name.to_owned();
        self.connection.set_label(|label| label.database = Some(name));
        Ok(())
    }

    /// A database is gone: where it was current, none is.
    pub(crate) fn forget_database(&mut self, name: &str) {
        let own = self.outer_databases.first().unwrap_or(&self.core.database);
        if own.as_deref() == Some(name) {
            self.prepared.leave(Some(name), None);
            self.changes.note_schema();
            let server = Collation::from_name(&self.session_text(variable!("collation_server")));
            self.set_database_charset(server.unwrap_or(Collation::DEFAULT));
            self.connection.set_label(|label| label.database = None);
        }
        for database in self.outer_databases.iter_mut().chain([&mut self.core.database]) {
            database.take_if(|database| **database == *name);
        }
        self.environment = 0;
    }

    /// COM_DEBUG: the figures of COM_STATISTICS, and who asked, in the server's log.
    #[cold]
    fn debug(&self) -> Result<(), SqlError> {
        self.require_privilege(Privileges::SUPER, "SUPER")?;
        if let Some(note) = self.shared().notes() {
            let login = &self.core.login;
            note(&format!("status for {}@{}: {}", login.account_user, login.host, self.statistics()));
        }
        Ok(())
    }

    #[cold]
    fn statistics(&self) -> String {
        let shared = self.shared();
        let uptime = shared.started.elapsed().as_secs();
        let questions = shared.status.questions.get();
        let tables = shared.engine.open_tables();
        format!(
            "Uptime: {uptime}  Threads: {}  Questions: {questions}  Slow queries: {}  Opens: {}  Flush tables: 0  Open tables: {}  Queries per second avg: {:.3}",
            shared.connections.count(),
            shared.connections.slow(),
            tables.opened,
            tables.open,
            questions as f64 / uptime.max(1) as f64
        )
    }
}
