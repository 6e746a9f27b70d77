//! Variables and counters.

use super::{Table, figures};
use crate::client_session::ClientSession;
use crate::context::Core;
use crate::front::{compression, encryption};
use crate::reply::fixed_columns::{ColumnList, lists};
use crate::shared::Shared;
use crate::variables::{self, DEFINITIONS, Scope, warm_start};
use executor::StatementContext;
use parser::ast::VarScope;
use planner::expr::VariableScope;
use types::{LocalTime, TimeZone, Timestamp};

/// System variables with their values: the server's, or those of the session.
pub(crate) fn variable_list(core: &Core, global: bool) -> Vec<(&'static str, String)> {
    let mut list = Vec::with_capacity(DEFINITIONS.len());
    for definition in DEFINITIONS {
        let value = if definition.scope == Scope::Global || (global && definition.scope == Scope::Both) {
            core.shared.variables.get(definition)
        } else if global {
            continue;
        } else if matches!(definition.name, "warning_count" | "error_count") {
            // Of this statement, which has none yet.
            types::Value::UInt(0)
        } else {
            core.system_variable(VariableScope::Session, definition.name).unwrap_or_default()
        };
        list.push((definition.name, variables::show(definition, &value)));
    }
    list
}

/// The columns of SHOW VARIABLES.
pub(super) fn variables_head(scope: Option<VarScope>) -> ColumnList {
    if scope == Some(VarScope::Global) { lists::GLOBAL_VARIABLES } else { lists::SESSION_VARIABLES }
}

/// The columns of SHOW STATUS.
pub(super) fn status_head(scope: Option<VarScope>) -> ColumnList {
    if scope == Some(VarScope::Global) { lists::GLOBAL_STATUS } else { lists::SESSION_STATUS }
}

pub(super) fn variables(session: &ClientSession, scope: Option<VarScope>) -> Table {
    let global = scope == Some(VarScope::Global);
    let mut table = Table::new(variables_head(scope));
    for (name, value) in variable_list(&session.core, global) {
        table.row(vec![name.into(), value.into()]);
    }
    table
}

pub(super) fn status(session: &ClientSession, scope: Option<VarScope>) -> Table {
    let global = scope == Some(VarScope::Global);
    let mut table = Table::new(status_head(scope));
    for (name, value) in status_list(&session.core, global) {
        table.row(vec![name.into(), value.into()]);
    }
    table
}

/// Counters with their values, by name; those of the session's own connection are empty where only the server's are wanted.
pub(crate) fn status_list(core: &Core, global: bool) -> Vec<(&'static str, String)> {
    let mut list: Vec<(&'static str, String)> =
        figures::counts(&core.shared).into_iter().map(|(name, value)| (name, value.to_string())).collect();
    list.extend(texts(&core.shared));
    let traffic = if global { core.shared.connections.traffic() } else { core.connection.traffic() };
    list.extend([("Bytes_received", traffic.received.to_string()), ("Bytes_sent", traffic.sent.to_string())]);
    let calls =
        if global { core.shared.connections.handler_calls() } else { core.connection.handler_counts.now().since(&core.calls_before) };
    list.extend(calls.list().map(|(name, count)| (name, count.to_string())));
    list.extend(encryption::status(&core.shared.tls, (!global).then_some(&*core.connection)));
    list.extend(compression::status((!global).then_some(&*core.connection)));
    list.sort_unstable();
    list
}

/// Those that are not counts.
fn texts(shared: &Shared) -> [(&'static str, String); 6] {
    let (_, after_seconds) = shared.connections.most();
    let since = Timestamp::from_micros(shared.started_micros + i64::from(after_seconds) * 1_000_000);
    let whole = Timestamp::from_micros(since.micros() / 1_000_000 * 1_000_000);
    [
        ("Innodb_buffer_pool_dump_status", warm_start::dump_status(shared)),
        ("Innodb_buffer_pool_load_status", warm_start::load_status(shared)),
        ("Innodb_redo_log_enabled", "ON".to_owned()),
        ("Innodb_redo_log_resize_status", "OK".to_owned()),
        ("Max_used_connections_time", TimeZone::system().to_local(whole).to_string()),
        ("Resource_group_supported", "OFF".to_owned()),
    ]
}
