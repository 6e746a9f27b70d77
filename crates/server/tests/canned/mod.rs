//! A service with canned answers, for the tests of the front and for the bench that compares it with `ceiling.c`.
//!
//! | statement | answer |
//! |---|---|
//! | `SELECT …` | one row with one string of 119 bytes |
//! | `ROWS n` | n rows |
//! | `WAIT` | waits until stopped, then 1317, or the end of the connection when that was killed |
//! | `BOOM` | panics |
//! | `LOAD …` | LOCAL INFILE, answers with the number of bytes as affected rows |
//! | `LENGTH …` | the statement's own length as affected rows |
//! | `WHO` | user, account and database |
//! | `DROPPED` | how many sessions have ended |
//! | `LATE n` | OK once [`Log`] is durable up to n, a thread waiting for that where the reply may not be late |
//! | `LATE n FAILS` | an error then |
//! | anything else | OK |

#![allow(dead_code)] // each user takes what it needs

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use base::Lsn;
use mysql_error::{SqlError, codes};
use protocol::reply::{OkReply, PrepareReply, write_infile_request};
use protocol::{ColumnBlock, ColumnDefinition, ColumnFlags, ColumnType, ResultSink, RowFormat, RowWriter, ServerStatus};
use session::accounts::{Account, Accounts, AuthPlugin, RootOnly};
use session::command::{ClientAddress, ClientIo, Command, Flow, Login, PacketWriter};
use session::connections::{Connection, Connections, Stop};
use session::service::{FrontSettings, Service, Session};
use sync::{Signal, futex};

/// A log that becomes durable when a test says so.
#[derive(Default)]
pub struct Log {
    durable: AtomicU32,
    /// Up to where it was asked to be durable, and for how many sessions in all.
    pub asked: AtomicU64,
    pub asked_for: AtomicU64,
}

impl Log {
    pub fn make_durable(&self, up_to: u32) {
        self.durable.store(up_to, Ordering::SeqCst);
        futex::wake(&self.durable, u32::MAX);
    }

    fn is_durable(&self, up_to: u64) -> bool {
        u64::from(self.durable.load(Ordering::SeqCst)) >= up_to
    }

    fn wait(&self, up_to: u64) {
        loop {
            let durable = self.durable.load(Ordering::SeqCst);
            if u64::from(durable) >= up_to {
                return;
            }
            futex::wait(&self.durable, durable, None);
        }
    }
}

/// See the module's text.
pub struct Canned {
    pub connections: Arc<Connections>,
    pub settings: FrontSettings,
    pub accounts: HashMap<String, (AuthPlugin, Vec<u8>)>,
    pub dropped: Arc<AtomicU64>,
    pub head: Arc<ColumnBlock>,
    pub log: Arc<Log>,
}

impl Canned {
    pub fn new(settings: FrontSettings) -> Self {
        let column = ColumnDefinition {
            schema: b"sbtest",
            table: b"sbtest1",
            org_table: b"sbtest1",
            name: b"c",
            org_name: b"c",
            charset: 255,
            length: 480,
            column_type: ColumnType::String,
            flags: ColumnFlags::NOT_NULL,
            decimals: 0,
        };
        Self {
            connections: Arc::new(Connections::new()),
            settings,
            accounts: HashMap::new(),
            dropped: Arc::default(),
            head: Arc::new(ColumnBlock::new(&[column])),
            log: Arc::default(),
        }
    }
}

impl Accounts for Canned {
    fn find(&self, user: &str, address: &ClientAddress) -> Option<Account> {
        let known = self.accounts.get(user).map(|(plugin, stored)| Account {
            user: user.to_owned(),
            host: "%".to_owned(),
            plugin: *plugin,
            stored: stored.clone(),
            locked: user == "locked",
            ..Account::default()
        });
        known.or_else(|| RootOnly.find(user, address))
    }
}

impl Service for Canned {
    type Session = CannedSession;

    fn connections(&self) -> &Arc<Connections> {
        &self.connections
    }

    fn accounts(&self) -> &dyn Accounts {
        self
    }

    fn settings(&self) -> FrontSettings {
        self.settings.clone()
    }

    fn is_administrator(&self, login: &Login) -> bool {
        login.account_user == "root"
    }

    fn is_durable(&self, up_to: Lsn) -> bool {
        self.log.is_durable(up_to.0)
    }

    fn make_durable(&self, up_to: Lsn, sessions: u32) {
        self.log.asked.store(up_to.0, Ordering::SeqCst);
        self.log.asked_for.fetch_add(sessions.into(), Ordering::SeqCst);
        self.log.wait(up_to.0);
    }

    fn begin(&self, connection: Arc<Connection>, login: Login) -> Result<CannedSession, SqlError> {
        if login.database.as_deref() == Some("nowhere") {
            return Err(codes::bad_db_error("nowhere"));
        }
        let signal = Arc::new(Signal::new());
        let waker = Arc::clone(&signal);
        connection.set_waker(Arc::new(move |_| waker.notify()));
        let (head, connections, dropped) = (Arc::clone(&self.head), Arc::clone(&self.connections), Arc::clone(&self.dropped));
        let max_allowed_packet = self.settings.max_allowed_packet;
        let log = Arc::clone(&self.log);
        let (selects, late) = (Vec::new(), None);
        Ok(CannedSession { connection, connections, login, head, signal, dropped, max_allowed_packet, selects, log, late })
    }
}

pub struct CannedSession {
    connection: Arc<Connection>,
    connections: Arc<Connections>,
    login: Login,
    head: Arc<ColumnBlock>,
    signal: Arc<Signal>,
    dropped: Arc<AtomicU64>,
    max_allowed_packet: usize,
    /// For each prepared statement: parameters, whether it is a SELECT, types of the last execution.
    selects: Vec<(usize, bool, protocol::ParamTypes)>,
    log: Arc<Log>,
    /// How far the log must be before the reply goes, and whether that says an error.
    late: Option<(u64, bool)>,
}

const VALUE: [u8; 119] = [b'x'; 119];

impl CannedSession {
    fn rows(&self, count: u64, sink: &mut ResultSink<'_>) -> Flow {
        sink.column_block(&self.head, ServerStatus::AUTOCOMMIT);
        for _ in 0..count {
            if sink.format() == RowFormat::Text {
                let mut row = sink.text_row();
                row.bytes(&VALUE);
                row.end();
            } else {
                let mut row = sink.binary_row();
                row.bytes(&VALUE);
                row.end();
            }
            if sink.row_done().is_err() {
                return Flow::Quit;
            }
        }
        sink.finish(&OkReply { status: ServerStatus::AUTOCOMMIT, ..OkReply::default() });
        Flow::Continue
    }

    fn ok(&self, affected_rows: u64, sink: &mut ResultSink<'_>) -> Flow {
        sink.ok(&OkReply { affected_rows, status: ServerStatus::AUTOCOMMIT, ..OkReply::default() });
        Flow::Continue
    }

    fn query(&mut self, sql: &[u8], sink: &mut ResultSink<'_>) -> Flow {
        let word = sql.split(|b| *b == b' ').next().unwrap_or_default();
        let rest = String::from_utf8_lossy(sql.get(word.len() + 1..).unwrap_or_default()).into_owned();
        match word {
            b"SELECT" | b"select" => self.rows(1, sink),
            b"ROWS" => self.rows(rest.parse().unwrap_or(0), sink),
            b"BOOM" => panic!("asked for"),
            b"LENGTH" => self.ok(sql.len() as u64, sink),
            b"DROPPED" => self.ok(self.dropped.load(Ordering::SeqCst), sink),
            b"KILL" => {
                let known = self.connections.kill(rest.parse().unwrap_or(0), Stop::Connection);
                self.ok(u64::from(known), sink)
            }
            b"KILLQUERY" => {
                let known = self.connections.kill(rest.parse().unwrap_or(0), Stop::Query);
                self.ok(u64::from(known), sink)
            }
            b"WAIT" => {
                let deadline = Instant::now() + Duration::from_secs(60);
                while self.connection.stop_requested() == Stop::No && Instant::now() < deadline {
                    self.signal.wait(Some(deadline));
                }
                sink.error(&codes::query_interrupted());
                let stop = self.connection.stop_requested();
                if stop.ends_connection() && stop != Stop::Connection { Flow::Quit } else { Flow::Continue }
            }
            b"LOAD" => self.load(&rest, sink),
            b"LATE" => {
                let (up_to, fails) = rest.split_once(' ').map_or((&*rest, false), |(up_to, _)| (up_to, true));
                self.late = Some((up_to.parse().unwrap_or(0), fails));
                self.ok(0, sink);
                Flow::Later
            }
            b"WHO" => {
                let login = &self.login;
                let text = format!("{}@{} {} {:?}", login.user, login.host, login.account_user, login.database);
                sink.columns(&[ColumnDefinition::expression(b"who", ColumnType::VarString)], ServerStatus::AUTOCOMMIT);
                let mut row = sink.text_row();
                row.bytes(text.as_bytes());
                row.end();
                sink.finish(&OkReply::default());
                Flow::Continue
            }
            _ => self.ok(0, sink),
        }
    }

    fn load(&self, file: &str, sink: &mut ResultSink<'_>) -> Flow {
        let (out, io) = sink.client();
        write_infile_request(file.as_bytes(), out);
        if io.flush(out).is_err() {
            return Flow::Quit;
        }
        let mut total = 0;
        loop {
            match io.read_packet() {
                Ok([]) => break,
                Ok(piece) => total += piece.len() as u64,
                Err(_) => return Flow::Quit,
            }
        }
        out.set_sequence(io.reply_sequence());
        self.ok(total, sink)
    }
}

impl Drop for CannedSession {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

impl Session for CannedSession {
    type Tools = ();

    fn exchange_tools(&mut self, (): &mut Self::Tools) {}

    fn handle(&mut self, command: Command<'_>, out: &mut PacketWriter, io: &mut dyn ClientIo) -> Flow {
        let capabilities = self.login.capabilities;
        let format = if matches!(command, Command::StmtExecute(_)) { RowFormat::Binary } else { RowFormat::Text };
        let mut sink = ResultSink::new(out, io, capabilities, format);
        match command {
            Command::Query { sql, .. } => self.query(sql, &mut sink),
            Command::StmtPrepare(sql) => {
                let params = sql.iter().filter(|b| **b == b'?').count();
                let select = sql.starts_with(b"SELECT");
                self.selects.push((params, select, protocol::ParamTypes::new()));
                let reply = PrepareReply {
                    statement_id: self.selects.len() as u32,
                    column_count: u16::from(select),
                    param_count: params as u16,
                    warnings: 0,
                };
                reply.write(sink.packets());
                let old = !capabilities.contains(protocol::Capabilities::DEPRECATE_EOF);
                for (count, name) in [(params, &b"?"[..]), (usize::from(select), b"c")] {
                    for _ in 0..count {
                        ColumnDefinition::expression(name, ColumnType::String).write(sink.packets());
                    }
                    if count > 0 && old {
                        protocol::reply::write_eof(ServerStatus::AUTOCOMMIT, 0, sink.packets());
                    }
                }
                Flow::Continue
            }
            Command::StmtExecute(execute) => {
                let Some((params, select, types)) = self.selects.get_mut((execute.statement_id as usize).wrapping_sub(1)) else {
                    sink.error(&codes::unknown_stmt_handler(execute.statement_id, "mysqld_stmt_execute"));
                    return Flow::Continue;
                };
                let mut sum = 0;
                let mut add = |_, param: protocol::BoundParam<'_>| {
                    if let protocol::ParamValue::Int(value) = param.value {
                        sum += value;
                    }
                };
                if execute.params(*params, types, |_| false, &mut add).is_err() {
                    sink.error(&codes::malformed_packet());
                    return Flow::Continue;
                }
                if *select { self.rows(1, &mut sink) } else { self.ok(sum as u64, &mut sink) }
            }
            Command::StmtClose(_) | Command::StmtSendLongData { .. } => Flow::Continue,
            Command::Statistics => {
                sink.packets().packet(b"Uptime: 1");
                Flow::Continue
            }
            Command::InitDb(name) => {
                self.login.database = Some(String::from_utf8_lossy(name).into_owned());
                self.ok(0, &mut sink)
            }
            Command::ProcessKill(_) => {
                sink.error(&codes::unknown_com_error());
                Flow::Continue
            }
            _ => self.ok(0, &mut sink),
        }
    }

    fn awaits(&self) -> Lsn {
        self.late.map_or(Lsn::NONE, |(up_to, _)| Lsn(up_to))
    }

    fn finish(&mut self) -> Result<(), SqlError> {
        let Some((up_to, fails)) = self.late.take() else { return Ok(()) };
        self.log.wait(up_to);
        if fails { Err(codes::query_interrupted()) } else { Ok(()) }
    }

    fn change_user(&mut self, login: Login) -> Result<(), SqlError> {
        self.login = login;
        Ok(())
    }

    fn status(&self) -> ServerStatus {
        ServerStatus::AUTOCOMMIT
    }

    fn holds_nothing(&self) -> bool {
        true
    }

    fn rest(&mut self) {}

    fn max_allowed_packet(&self) -> usize {
        self.max_allowed_packet
    }
}
