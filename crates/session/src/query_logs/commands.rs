//! What a session does for a command while a log is on.

use super::slow::{Entry, Extra};
use super::text::{trimmed, who};
use super::throttle::LeftOut;
use super::{ADMIN, EXTRA, GENERAL, Log, NO_INDEX, RAW, SLOW, general, log_rows, parameters};
use crate::accounts::without_secrets;
use crate::client_session::ClientSession;
use crate::counters::profiles;
use crate::front::command::{ClientAddress, ClientIo, Command, Flow, Login, PacketWriter};
use crate::front::connections::{Connection, Stop, Traffic};
use crate::shared::Shared;
use crate::variables::variable;
use engine::HandlerCalls;
use mysql_error::{SqlError, codes};
use parser::ast::{Maintenance, PrepareSource, Statement};
use planner::shape::Shape;
use protocol::ResultSink;
use std::borrow::Cow;
use std::time::Instant;
use types::Value;

/// Header of a packet and the byte of its command.
const COMMAND_BYTES: u64 = 5;

/// What is kept of a statement while it runs.
pub(crate) struct Logged {
    began: Instant,
    began_micros: i64,
    calls: HandlerCalls,
    lock_micros: u64,
    traffic: Traffic,
    /// Bytes of the command, which came before.
    command_bytes: u64,
    /// Bytes of replies that were there before, and are there now.
    pending: (usize, usize),
    /// Rows of its result, as far as they were counted on their way out.
    pub(crate) rows_sent: u64,
    /// Rows that its plan has found: a row by its key goes out uncounted.
    pub(crate) rows_found: u64,
    /// How its plans read tables.
    shape: Shape,
    /// The error that it was answered with.
    pub(crate) errno: u16,
    /// Its text, where it is not what came: an EXECUTE's is that of the statement with its values.
    text: Option<Vec<u8>>,
    /// What the session keeps of it for SHOW PROFILE.
    pub(crate) profile: Option<profiles::Running>,
}

impl Logged {
    #[cold]
    #[track_caller]
    fn stage(&mut self, name: &'static str, function: &'static str) {
        if let Some(profile) = &mut self.profile {
            profile.stage(name, function);
        }
    }

    /// Adds what a run of a plan counts for.
    pub(crate) fn add_shape(&mut self, shape: &Shape) {
        self.shape.no_index |= shape.no_index;
        self.shape.sort_ranges += shape.sort_ranges;
        self.shape.sort_scans += shape.sort_scans;
        self.shape.kept += shape.kept;
    }
}

/// A statement as the logs show it.
struct Shown {
    text: Vec<u8>,
    /// `log_slow_admin_statements` is about it.
    is_admin: bool,
    /// SHOW and its like, of which `log_queries_not_using_indexes` does not speak.
    is_status: bool,
}

/// What the slow log calls a command that is no statement; `None` for those that it does not have.
fn slow_name(command: &Command<'_>) -> Option<&'static str> {
    Some(match command {
        Command::StmtPrepare(_) => "Prepare",
        Command::StmtExecute(_) => "Execute",
        Command::StmtClose(_) => "Close stmt",
        Command::StmtReset(_) => "Reset stmt",
        Command::StmtFetch { .. } => "Fetch",
        Command::StmtSendLongData { .. } => "Long Data",
        Command::InitDb(_) => "Init DB",
        Command::FieldList { .. } => "Field List",
        Command::Statistics => "Statistics",
        Command::Debug => "Debug",
        Command::ResetConnection => "Reset Connection",
        _ => return None,
    })
}

/// What the general log tells of a command before it runs; of statements it tells when their text is known.
fn general_line<'a>(command: &Command<'a>) -> Option<(&'static str, Cow<'a, [u8]>)> {
    Some(match command {
        Command::StmtClose(_) => ("Close stmt", Cow::Borrowed(b"")),
        Command::StmtReset(_) => ("Reset stmt", Cow::Borrowed(b"")),
        Command::StmtSendLongData { .. } => ("Long Data", Cow::Borrowed(b"")),
        Command::FieldList { table, pattern } => ("Field List", Cow::Owned([table, &b" "[..], pattern].concat())),
        Command::Statistics => ("Statistics", Cow::Borrowed(b"")),
        Command::Debug => ("Debug", Cow::Borrowed(b"")),
        _ => return None,
    })
}

impl Shared {
    /// A line of the general log, whoever it is about.
    fn write_general(&self, id: u32, user_host: impl FnOnce(&mut Vec<u8>), command: &str, argument: &[u8]) {
        let micros = self.engine.wall_micros();
        let row = || {
            let mut name = Vec::new();
            user_host(&mut name);
            log_rows::general(micros, &name, id, self.number(variable!("server_id")), command, argument)
        };
        self.query_logs.write(Log::General, || general::entry(micros, id, command, argument), row);
    }

    /// An entry of the slow log.
    fn write_slow(&self, entry: &Entry<'_>) {
        self.query_logs.write(Log::Slow, || entry.write(), || log_rows::slow(entry, self.number(variable!("server_id"))));
    }

    /// A login was refused.
    #[cold]
    pub(crate) fn log_refused(&self, id: u32, error: &SqlError) {
        if self.query_logs.has(GENERAL) {
            // Of whom is not known here but for what the error says.
            self.write_general(id, |name| name.extend_from_slice(b"[] @  []"), "Connect", error.message.as_bytes());
        }
    }

    /// Somebody has logged in, or become somebody else on a connection.
    #[cold]
    pub(crate) fn log_login(&self, connection: &Connection, login: &Login, command: &str) {
        if !self.query_logs.has(GENERAL) {
            return;
        }
        let way = match login.address {
            ClientAddress::Unix => "Socket",
            ClientAddress::Tcp(_) if connection.secured().is_some() => "SSL/TLS",
            ClientAddress::Tcp(_) => "TCP/IP",
        };
        let (user, host, database) = (&login.user, &login.host, login.database.as_deref().unwrap_or_default());
        // It is nobody's session yet.
        let stranger = |out: &mut Vec<u8>| {
            let mut name = Vec::new();
            who(login, &mut name);
            out.extend_from_slice(name.get(login.account_user.len()..).unwrap_or_default());
        };
        self.write_general(connection.id(), stranger, command, format!("{user}@{host} on {database} using {way}").as_bytes());
    }
}

impl ClientSession {
    /// Answers a command while a log is on, or some session keeps profiles.
    #[cold]
    #[inline(never)]
    pub(crate) fn answer_logged(&mut self, command: Command<'_>, out: &mut PacketWriter, io: &mut dyn ClientIo) -> Flow {
        let name = slow_name(&command).filter(|_| self.is_logged());
        let is_execute = matches!(command, Command::StmtExecute(_));
        if self.is_logged() {
            self.begin_logged_command(&command, out);
        }
        let flow = self.carry_out_command(command, out, io);
        if self.logged.is_none() {
            return flow;
        }
        self.stage("freeing items", "answer_logged");
        if let Some(logged) = &mut self.logged {
            logged.pending.1 = out.len();
        }
        if let Some(name) = name {
            self.end_logged(|session| {
                let text = session.logged.as_mut().and_then(|logged| logged.text.take());
                let text = text.unwrap_or_else(|| format!("# administrator command: {name}").into_bytes());
                Some(Shown { text, is_admin: false, is_status: false })
            });
        }
        if is_execute {
            self.end_profile(None);
        }
        self.logged = None;
        flow
    }

    /// Whether a log is written or this session keeps profiles: while another one does, [`QueryLogs::is_on`], too, and nothing is to be done here.
    pub(crate) fn is_logged(&self) -> bool {
        self.core.profiles.is_some() || self.shared().query_logs.is_written()
    }

    fn begin_logged_command(&mut self, command: &Command<'_>, out: &PacketWriter) {
        self.begin_logged();
        let bytes = match command {
            Command::Query { sql, .. } => sql.len(),
            Command::StmtPrepare(text) | Command::InitDb(text) => text.len(),
            Command::StmtExecute(execute) => execute.params.len() + 9,
            _ => 0,
        };
        if let Some(logged) = &mut self.logged {
            logged.command_bytes = COMMAND_BYTES + bytes as u64;
            logged.pending = (out.len(), out.len());
        }
        if let Some((name, argument)) = general_line(command) {
            self.log_general(name, &argument);
        }
    }

    /// The client has said that it goes.
    #[cold]
    pub(crate) fn log_quit(&mut self) {
        self.begin_logged();
        self.log_general("Quit", b"");
        self.end_logged(|_| Some(Shown { text: b"# administrator command: Quit".to_vec(), is_admin: false, is_status: false }));
        self.logged = None;
    }

    /// [`ClientSession::query`] while a log is on.
    #[cold]
    #[inline(never)]
    pub(crate) fn query_logged(&mut self, sql: &[u8], sink: &mut ResultSink<'_>) {
        self.connection.set_statement(sql);
        let raw = self.shared().query_logs.has(RAW);
        if raw {
            // What came, before anybody has looked at it.
            self.log_general("Query", trimmed(sql, true));
        }
        let mut rest = sql;
        let mut is_first = true;
        loop {
            self.more_results = false;
            if !std::mem::take(&mut is_first) {
                self.begin_logged();
                if let Some(logged) = &mut self.logged {
                    logged.pending.0 = sink.packets().len();
                }
            }
            sink.forget_rows();
            if !raw
                && self.writes_general()
                && let Some(shown) = self.shown(rest)
            {
                self.log_general("Query", &shown.text);
            }
            let next = match self.one_statement(rest, sink) {
                Ok(next) => next,
                Err(outcome) => {
                    self.more_results = false;
                    self.fail(sink, outcome);
                    None
                }
            };
            self.stage("freeing items", "query_logged");
            if let Some(logged) = &mut self.logged {
                logged.rows_sent = sink.row_count();
                logged.pending.1 = sink.packets().len();
            }
            self.end_logged(|session| {
                let mut shown = session.shown(rest)?;
                if let Some(text) = session.logged.as_mut().and_then(|logged| logged.text.take()) {
                    shown.text = text;
                }
                Some(shown)
            });
            self.end_profile(Some(rest));
            let Some(at) = next else { return };
            rest = &rest[at..];
            if !self.turn_to(rest, sink) || !self.begin_next(sink) {
                return;
            }
        }
    }

    /// The statements of a text that follow one which has switched a log on.
    #[cold]
    pub(crate) fn go_on_logged(&mut self, rest: &[u8], sink: &mut ResultSink<'_>) {
        if !self.begin_next(sink) {
            return;
        }
        self.begin_logged();
        if let Some(logged) = &mut self.logged {
            logged.pending.0 = sink.packets().len();
        }
        self.query_logged(rest, sink);
        self.logged = None;
    }

    /// Looks at the clocks and counts before a statement.
    fn begin_logged(&mut self) {
        self.logged = Some(Box::new(Logged {
            began: Instant::now(),
            began_micros: self.shared().engine.wall_micros(),
            calls: self.engine.handler_counts().now(),
            lock_micros: self.core.cancel.lock_micros(),
            traffic: self.connection.traffic(),
            command_bytes: 0,
            pending: (0, 0),
            rows_sent: 0,
            rows_found: 0,
            shape: Shape::default(),
            errno: 0,
            text: None,
            profile: self.core.begin_profile(),
        }));
    }

    /// Says what the statement is at, for SHOW PROFILE: a word of MySQL's, and the function that begins with it.
    #[inline]
    #[track_caller]
    pub(crate) fn stage(&mut self, name: &'static str, function: &'static str) {
        if let Some(logged) = &mut self.logged {
            logged.stage(name, function);
        }
    }

    /// Keeps the profile of what has run since [`ClientSession::begin_logged`]: of a text from its statement on, or of a prepared statement.
    fn end_profile(&mut self, text: Option<&[u8]>) {
        let Some(mut running) = self.logged.as_mut().and_then(|logged| logged.profile.take()) else { return };
        if let Some(text) = text {
            if profiles::is_about_profiles(text, self.lexical_mode()) {
                return;
            }
            running.take_text(trimmed(text, true));
        }
        self.core.keep_profile(running);
    }

    /// The first statement of a text as the logs show it: nothing of one that does not parse, as nobody knows where its passwords are.
    fn shown(&self, sql: &[u8]) -> Option<Shown> {
        let arena = parser::Bump::new();
        let parsed = parser::parse(sql, self.lexical_mode(), &arena).ok()?;
        let end = parsed.rest.min(sql.len());
        let text = trimmed(&sql[..end], crate::statement::query::is_blank(&sql[end..]));
        if text.is_empty() {
            return None;
        }
        let is_admin = match &parsed.statement {
            Statement::TableMaintenance(maintenance) => !matches!(maintenance.kind, Maintenance::Checksum),
            statement => matches!(statement, Statement::AlterTable(_) | Statement::CreateIndex(_) | Statement::DropIndex(_)),
        };
        let is_status = matches!(parsed.statement, Statement::Show(_) | Statement::Describe { .. } | Statement::Explain(_));
        let text = match &parsed.statement {
            // What is prepared is told by itself.
            Statement::Prepare { name, source: PrepareSource::Text(_) } => format!("PREPARE {name} FROM ...").into_bytes(),
            _ => without_secrets(text).into_owned(),
        };
        Some(Shown { text, is_admin, is_status })
    }

    /// Whether the general log has what this session does.
    fn writes_general(&self) -> bool {
        self.shared().query_logs.has(GENERAL) && self.core.number(variable!("sql_log_off")) == 0
    }

    /// A line of the general log about this session.
    #[cold]
    pub(crate) fn log_general(&self, command: &str, argument: &[u8]) {
        if self.writes_general() {
            self.shared().write_general(self.connection.id(), |name| who(&self.core.login, name), command, argument);
        }
    }

    /// A text has been prepared.
    #[cold]
    pub(crate) fn log_prepared(&self, sql: &[u8]) {
        self.log_general("Prepare", &without_secrets(sql));
    }

    /// A statement that the protocol has prepared is about to run: its profile bears its text.
    #[cold]
    pub(crate) fn profile_execute(&mut self, sql: &[u8]) {
        if let Some(profile) = self.logged.as_mut().and_then(|logged| logged.profile.as_mut()) {
            profile.take_text(sql);
        }
    }

    /// A prepared statement is about to run with the values in `self.tools.params`.
    #[cold]
    pub(crate) fn log_execute(&mut self, sql: &[u8]) {
        if !self.shared().query_logs.is_written() {
            return;
        }
        let text = parameters::with_values(&without_secrets(sql), &self.tools.params, self.lexical_mode());
        self.log_general("Execute", &text);
        if let Some(logged) = &mut self.logged {
            logged.text = Some(text);
        }
    }

    /// Writes the slow log's entry of what has run since [`ClientSession::begin_logged`], if there is to be one.
    fn end_logged(&mut self, shown: impl FnOnce(&mut Self) -> Option<Shown>) {
        let shared = std::sync::Arc::clone(self.shared());
        let logs = &shared.query_logs;
        let Some(logged) = self.logged.as_deref() else { return };
        if !logs.has(SLOW) {
            return;
        }
        let now = Instant::now();
        let micros = now.saturating_duration_since(logged.began).as_micros() as u64;
        let limit = self.long_query_micros();
        let slow = micros > limit || limit == 0;
        if slow {
            shared.connections.count_slow();
        }
        let throttles = logs.has(NO_INDEX);
        let no_index = throttles && logged.shape.no_index;
        let left_out_max = if throttles { shared.number(variable!("log_throttle_queries_not_using_indexes")) } else { 0 };
        if throttles {
            // Not held while it is written.
            let over = logs.throttle.lock().over(now, left_out_max);
            if let Some(left_out) = over {
                self.write_left_out(left_out);
            }
        }
        let calls = self.engine.handler_counts().now().since(&logged.calls);
        let lock_micros = self.core.cancel.lock_micros() - logged.lock_micros;
        let rows_sent = if logged.rows_sent == 0 { logged.rows_found } else { logged.rows_sent };
        let rows_examined = calls.rows_examined();
        let began_micros = logged.began_micros;
        let extra = logs.has(EXTRA).then(|| self.extra(logged, calls));
        if !slow && !no_index || rows_examined < self.core.number(variable!("min_examined_row_limit")) {
            return;
        }
        let Some(shown) = shown(self) else { return };
        if shown.is_admin && !logs.has(ADMIN) || !slow && shown.is_status {
            return;
        }
        let sum = LeftOut { statements: 1, micros, lock_micros, rows_sent, rows_examined };
        if !slow && !logs.throttle.lock().admit(now, left_out_max, sum) {
            return;
        }
        let entry = Entry {
            login: Some(&self.core.login),
            id: self.connection.id(),
            began_micros,
            ended_micros: began_micros.saturating_add_unsigned(micros),
            micros,
            lock_micros,
            rows_sent,
            rows_examined,
            extra,
            database: self.core.database.as_deref(),
            timestamp: self.logged_timestamp(began_micros),
            text: &shown.text,
        };
        shared.write_slow(&entry);
    }

    fn extra(&self, logged: &Logged, calls: HandlerCalls) -> Extra {
        let traffic = self.connection.traffic();
        let pending = logged.pending.1 as u64;
        Extra {
            errno: logged.errno,
            killed: match self.connection.stop_requested() {
                Stop::No => 0,
                Stop::QueryTimeout => codes::ER_QUERY_TIMEOUT,
                Stop::Shutdown => codes::ER_SERVER_SHUTDOWN,
                _ => codes::ER_QUERY_INTERRUPTED,
            },
            bytes_received: logged.command_bytes + traffic.received.wrapping_sub(logged.traffic.received),
            bytes_sent: (traffic.sent.wrapping_sub(logged.traffic.sent) + pending).saturating_sub(logged.pending.0 as u64),
            calls,
            shape: logged.shape,
        }
    }

    /// Tells of statements that used no index and were left out.
    fn write_left_out(&self, left_out: LeftOut) {
        let text = format!("throttle: {:>10} 'index not used' warning(s) suppressed.", left_out.statements);
        let now = self.shared().engine.wall_micros();
        let entry = Entry::of_left_out(left_out, self.connection.id(), now, self.logged_timestamp(now), text.as_bytes());
        self.shared().write_slow(&entry);
    }

    /// What NOW() was in a statement that began at a time: `timestamp` may say another one.
    fn logged_timestamp(&self, began_micros: i64) -> i64 {
        let fixed = self.core.settings.timestamp;
        if fixed > 0.0 { fixed as i64 } else { began_micros.div_euclid(1_000_000) }
    }

    /// `long_query_time`.
    fn long_query_micros(&self) -> u64 {
        match self.core.variables.get(variable!("long_query_time")) {
            Value::Double(seconds) => (seconds * 1e6) as u64,
            _ => u64::MAX,
        }
    }
}
