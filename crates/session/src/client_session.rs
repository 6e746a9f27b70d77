//! One client's session: what it is, and how the server calls it.
//!
//! # The way of a statement
//! [`ClientSession::handle`] → `commands.rs` → `statement/`: `query.rs` (fingerprint, plan cache) or `prepared.rs` → `run.rs` (executor, reply), by the steps of `enter.rs` (rights, transaction,
//! metadata locks); statements without a plan → `dispatch.rs` → `variables/set.rs`, `ddl/`, `show/`, `files/`, which come into plans by `enter.rs`, too.
//!
//! # In this room
//! `begin.rs`: a session begins, or begins anew; `commands.rs`: what each command of the protocol does; `database.rs`: its current database; `init_connect.rs`: what the server asks of itself first.

mod begin;
mod commands;
mod database;
mod init_connect;

use crate::context::Core;
use crate::error_map::Outcome;
use crate::front::command::{ClientIo, Command, Flow, Login};
use crate::front::connections::Connection;
use crate::front::service::Session;
use crate::front::tools::StatementTools;
use crate::query_logs::Logged;
use crate::reply::session_track::Changes;
use crate::shared::Shared;
use crate::statement::left::LeftStatement;
use crate::statement::prepared::PreparedStatements;
use crate::transaction::TransactionState;
use crate::transaction::server_locks::ServerLocks;
use base::Lsn;
use engine::WaitOver;
use mysql_error::{SqlError, codes};
use protocol::{PacketWriter, ResultSink, RowFormat, ServerStatus};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;
use sync::atomic::{AtomicU64, Ordering};
use types::{SqlMode, TimeZone};

/// One client's session.
pub struct ClientSession {
    pub(crate) core: Core,
    pub(crate) connection: Arc<Connection>,
    pub(crate) engine: engine::Session,
    /// Of the engine's session: what replies wait for.
    pub(crate) dependencies: Arc<engine::Dependencies>,
    pub(crate) transaction: TransactionState,
    pub(crate) server_locks: ServerLocks,
    pub(crate) tools: Box<StatementTools>,
    pub(crate) prepared: PreparedStatements,
    /// What the next OK packet tells.
    pub(crate) changes: Changes,
    /// The running statement, while it waits for a row without a thread.
    pub(crate) left: Option<Box<LeftStatement>>,
    /// A backup that the client is making.
    pub(crate) backup: Option<Box<backup::Online>>,
    /// [`Settings::zone`](crate::context::Settings::zone) once more: rows are written by it while the executor has `core`.
    pub(crate) zone: Arc<TimeZone>,
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
    /// A statement of `init_connect` has failed.
    init_failed: bool,
    /// What is kept of the running statement while a log is on.
    pub(crate) logged: Option<Box<Logged>>,
    /// A plan was made for the statement that runs next.
    pub(crate) planned: std::cell::Cell<bool>,
}

impl ClientSession {
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

    pub(crate) fn with_sink<R>(
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

    #[inline]
    fn bring_near(&self) {
        self.engine.bring_near();
        self.transaction.bring_near();
        self.server_locks.bring_near();
        self.prepared.bring_near();
        base::bring_all_near(&*self.core.ticket);
    }

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
        self.end_of_command(flow)
    }

    fn init_error(&self) -> Option<SqlError> {
        self.init_connect_error()
    }

    fn tell_of_waits(&mut self, told: Arc<dyn WaitOver>) {
        self.engine.tell_of_waits(told);
    }

    fn wait_is_over(&self) -> bool {
        self.engine.left_wait_is_over()
    }

    fn waits_for(&self) -> u64 {
        self.engine.left_wait_for()
    }

    fn waits_until(&self) -> Option<Instant> {
        self.engine.left_until()
    }

    fn time_is_over(&self) -> bool {
        self.engine.left_wait_times_out()
    }

    fn go_on(&mut self, out: &mut PacketWriter, io: &mut dyn ClientIo) -> Flow {
        let flow = match catch_unwind(AssertUnwindSafe(|| self.go_on_with_left(out, io))) {
            Ok(()) => Flow::Continue,
            Err(_) => self.incident(out, io),
        };
        self.end_of_command(flow)
    }

    fn awaits(&self) -> Lsn {
        self.engine.awaits_log()
    }

    fn finish(&mut self) -> Result<(), SqlError> {
        self.finish_commit().map_err(|outcome| outcome.error)
    }

    fn change_user(&mut self, login: Login) -> Result<(), SqlError> {
        self.become_user(login)?;
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
        self.tools.rest();
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

impl Drop for ClientSession {
    fn drop(&mut self) {
        self.give_up_left();
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

/// Panics that statements have survived; the number names the incident to the client and in the log.
static INCIDENTS: AtomicU64 = AtomicU64::new(0);

impl ClientSession {
    /// What becomes of a command that was answered, or of whose answer this was a part.
    #[inline(always)]
    fn end_of_command(&self, flow: Flow) -> Flow {
        // One look for what hardly ever is.
        if self.left.is_none() & self.engine.awaits_log().is_none() {
            self.command_done();
            return flow;
        }
        match flow {
            _ if self.left.is_some() => Flow::Left,
            Flow::Continue => Flow::Later,
            other => other,
        }
    }

    /// Answers 1815 for a statement that panicked, after rolling its transaction back.
    #[cold]
    fn incident(&mut self, out: &mut PacketWriter, io: &mut dyn ClientIo) -> Flow {
        let number = INCIDENTS.fetch_add(1, Ordering::Relaxed) + 1;
        self.logged = None;
        self.give_up_left();
        let rolled_back = catch_unwind(AssertUnwindSafe(|| {
            self.server_locks.withdraw();
            self.abandon_branch();
            self.rollback()
        }));
        let error = SqlError::with_message(1815, format!("Internal error: incident {number}; the server's log tells more"));
        self.with_sink(out, io, RowFormat::Text, |_, sink| sink.error(&error));
        if matches!(rolled_back, Ok(Ok(()))) { Flow::Continue } else { Flow::Quit }
    }
}
