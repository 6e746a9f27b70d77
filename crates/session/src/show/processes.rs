//! SHOW PROCESSLIST, and the same for the tables of that name.

use super::Table;
use crate::client_session::ClientSession;
use crate::context::Core;
use crate::front::connections::{CONNECT, Connection, Phase, SLEEP};
use crate::reply::fixed_columns::{Columns, lists};
use protocol::command::byte;
use types::Value;

/// Characters of a statement that SHOW PROCESSLIST shows without FULL.
const INFO_CHARS: usize = 100;

/// A connection as lists of processes show it.
pub(crate) struct Process {
    /// Id.
    pub id: u64,
    /// User.
    pub user: String,
    /// `host:port`.
    pub host: String,
    /// Current database.
    pub database: Option<String>,
    /// Kind of command.
    pub command: &'static str,
    /// For how long it has been at it.
    pub seconds: i64,
    /// What it does.
    pub state: &'static str,
    /// The running statement.
    pub info: Option<String>,
}

impl Process {
    /// The eight columns of SHOW PROCESSLIST.
    pub(crate) fn values(self) -> Vec<Value> {
        vec![
            Value::UInt(self.id),
            self.user.into(),
            self.host.into(),
            self.database.into(),
            self.command.into(),
            Value::Int(self.seconds),
            self.state.into(),
            self.info.into(),
        ]
    }
}

/// All connections.
pub(crate) fn processes(core: &Core) -> impl Iterator<Item = Process> {
    let connections = &core.shared.connections;
    // Without PROCESS one sees one's own.
    let sees_all = core.require_process().is_ok();
    connections.list().into_iter().filter_map(move |connection| {
        let label = connection.label();
        if !sees_all && (label.account_user != core.login.account_user || core.login.account_user.is_empty()) {
            return None;
        }
        let activity = connection.activity();
        let command = Connection::command_of(activity);
        let runs = matches!(command, byte::QUERY | byte::STMT_PREPARE | byte::STMT_EXECUTE);
        Some(Process {
            id: u64::from(connection.id()),
            info: runs.then(|| String::from_utf8_lossy(&label.statement).into_owned()),
            user: label.user,
            host: label.host,
            database: label.database,
            command: command_name(command),
            seconds: connection.seconds_in_turn(activity, connections.now_ms()).cast_signed(),
            state: state(core, &connection, activity),
        })
    })
}

pub(super) fn process_list(session: &ClientSession, full: bool) -> Table {
    let mut table = Table::with(Columns::of(&[lists::PROCESS_LIST, if full { lists::FULL_INFO } else { lists::INFO }]));
    let own = u64::from(session.core.connection.id());
    for mut process in processes(&session.core) {
        if process.id == own {
            // The statement itself: MySQL has not come to execute it yet.
            process.state = "init";
        }
        process.info = process.info.map(|text| if full { text } else { text.chars().take(INFO_CHARS).collect() });
        table.row(process.values());
    }
    table
}

/// What a connection does within its command.
fn state(core: &Core, connection: &Connection, activity: u64) -> &'static str {
    match (Connection::phase_of(activity), Connection::command_of(activity)) {
        (Phase::Handshake, _) => "Receiving from client",
        (_, SLEEP) => "",
        (Phase::Reading, _) => "Receiving from client",
        (Phase::Writing, _) => "Sending to client",
        _ => connection.waits_for().or_else(|| core.shared.stages.state(connection.id())).unwrap_or("executing"),
    }
}

/// MySQL's name of a command, by its byte.
fn command_name(command: u8) -> &'static str {
    match command {
        SLEEP => "Sleep",
        byte::QUIT => "Quit",
        byte::INIT_DB => "Init DB",
        byte::QUERY => "Query",
        byte::FIELD_LIST => "Field List",
        byte::STATISTICS => "Statistics",
        CONNECT => "Connect",
        byte::PROCESS_KILL => "Kill",
        byte::DEBUG => "Debug",
        byte::PING => "Ping",
        byte::CHANGE_USER => "Change user",
        byte::STMT_PREPARE => "Prepare",
        byte::STMT_EXECUTE => "Execute",
        byte::STMT_SEND_LONG_DATA => "Long Data",
        byte::STMT_CLOSE => "Close stmt",
        byte::STMT_RESET => "Reset stmt",
        byte::SET_OPTION => "Set option",
        byte::STMT_FETCH => "Fetch",
        byte::RESET_CONNECTION => "Reset Connection",
        _ => "Error",
    }
}
