//! Commands of the protocol: what each does, and the replies of those that are no statements.

use super::ClientSession;
use crate::error_map::Outcome;
use crate::front::command::{ClientIo, Command, Flow};
use ::accounts::Privileges;
use mysql_error::{SqlError, codes};
use protocol::command::{Execute, QueryAttributes};
use protocol::reply::write_eof;
use protocol::{OkReply, PacketWriter, ResultSink, RowFormat};

/// Longest name of a database.
const IDENTIFIER_CHARS_MAX: usize = 64;

impl ClientSession {
    // What commands do is not inlined here, so that each touches the stack it needs and no more.
    pub(super) fn answer(&mut self, command: Command<'_>, out: &mut PacketWriter, io: &mut dyn ClientIo) -> Flow {
        self.more_results = false;
        self.begin_statement();
        if self.core.shared.query_logs.is_on() { self.answer_logged(command, out, io) } else { self.carry_out_command(command, out, io) }
    }

    /// Twice in the program, so that a command makes no call more while no log is on.
    #[inline(always)]
    pub(crate) fn carry_out_command(&mut self, command: Command<'_>, out: &mut PacketWriter, io: &mut dyn ClientIo) -> Flow {
        match command {
            // A login with a database gets it; the password is to be changed before anything else is asked for.
            Command::InitDb(_) | Command::FieldList { .. } | Command::Statistics | Command::ResetConnection | Command::SetOption(_)
                if self.core.standing.sandboxed =>
            {
                self.reply_simple(out, io, Err(codes::must_change_password().into()));
            }
            Command::Query { sql, attributes } => self.query_command(sql, &attributes, out, io),
            Command::StmtExecute(execute) => self.execute_statement_command(&execute, out, io),
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
                let result = self.init_db(name);
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
                    Ok(()) => write_eof(self.server_status(), self.core.diagnostics.warning_count(), out),
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
                write_eof(self.server_status(), 0, out);
            }
            Command::SetOption(_) | Command::ProcessKill(_) => self.reply_simple(out, io, Err(codes::unknown_com_error().into())),
            Command::Quit | Command::ChangeUser(_) => return Flow::Quit,
        }
        Flow::Continue
    }

    /// COM_QUERY.
    #[inline(always)]
    fn query_command(&mut self, sql: &[u8], attributes: &QueryAttributes<'_>, out: &mut PacketWriter, io: &mut dyn ClientIo) {
        if attributes.count > 0 || !self.core.query_attributes.is_empty() {
            self.keep_query_attributes(attributes);
        }
        if !self.may_ask(out, io) {
            return;
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

    /// COM_STMT_EXECUTE.
    #[inline(always)]
    fn execute_statement_command(&mut self, execute: &Execute<'_>, out: &mut PacketWriter, io: &mut dyn ClientIo) {
        if self.may_ask(out, io) {
            self.execute_command(execute, out, io);
        }
    }

    /// Counts a statement that the client asks for. False when its account has run as many as it may, which the client is told.
    #[inline(always)]
    fn may_ask(&mut self, out: &mut PacketWriter, io: &mut dyn ClientIo) -> bool {
        self.shared().status.questions.inc();
        if self.core.standing.is_limited()
            && let Err(error) = self.count_limited()
        {
            self.reply_simple(out, io, Err(error.into()));
            return false;
        }
        true
    }

    /// Counts a statement of an account that may run only so many.
    #[cold]
    pub(crate) fn count_limited(&mut self) -> Result<(), SqlError> {
        self.core.standing.count_query(&self.core.shared)
    }

    /// COM_INIT_DB.
    #[inline(never)]
    fn init_db(&mut self, name: &[u8]) -> Result<(), Outcome> {
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
        result
    }

    #[inline(never)]
    fn reply_simple(&mut self, out: &mut PacketWriter, io: &mut dyn ClientIo, result: Result<(), Outcome>) {
        self.with_sink(out, io, RowFormat::Text, |session, sink| match result {
            Ok(()) => {
                let status = session.server_status();
                let session_state = session.session_state();
                sink.ok(&OkReply { status, session_state: &session_state, ..Default::default() });
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
