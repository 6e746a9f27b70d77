//! `performance_schema.global_variables`, `session_variables`, `global_status`, `session_status`: what SHOW VARIABLES and SHOW STATUS show.

use super::column::{performance_schema, text};
use super::{VirtualTable, listed};
use crate::context::Core;
use crate::show::{status_list, variable_list};
use catalog::VirtualRequest;
use executor::VirtualRows;

pub(super) fn tables() -> Vec<VirtualTable> {
    let table = |name, rows| {
        let columns = vec![("VARIABLE_NAME", text(64).not_null()), ("VARIABLE_VALUE", text(1024))];
        VirtualTable { def: performance_schema(name, 100.0, columns), rows }
    };
    vec![
        table("global_variables", global_variables),
        table("session_variables", session_variables),
        table("global_status", global_status),
        table("session_status", session_status),
    ]
}

fn global_variables(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    Ok(listed(variable_list(core, true).into_iter().map(|(name, value)| vec![name.into(), value.into()]).collect()))
}

fn session_variables(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    Ok(listed(variable_list(core, false).into_iter().map(|(name, value)| vec![name.into(), value.into()]).collect()))
}

fn global_status(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    Ok(status(core, true))
}

fn session_status(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    Ok(status(core, false))
}

fn status(core: &Core, global: bool) -> VirtualRows {
    let row = |(name, value): (&str, String)| vec![name.into(), value.into()];
    listed(status_list(core, global).into_iter().map(row).collect())
}
