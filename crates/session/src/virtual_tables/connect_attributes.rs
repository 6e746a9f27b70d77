//! `session_connect_attrs` and `session_account_connect_attrs`: what clients said of themselves when they logged in.

use super::column::{int, performance_schema};
use super::{VirtualTable, listed};
use crate::context::Core;
use crate::front::connections::Connection;
use catalog::{VirtualRequest, VirtualRow};
use executor::VirtualRows;
use types::{Collation, ColumnType, Value};

pub(super) fn tables() -> Vec<VirtualTable> {
    let columns = || {
        let text = |characters| ColumnType::varchar(characters, Collation::Utf8mb4Bin);
        vec![
            ("PROCESSLIST_ID", super::column::count().not_null()),
            ("ATTR_NAME", text(32).not_null()),
            ("ATTR_VALUE", text(1024)),
            ("ORDINAL_POSITION", int()),
        ]
    };
    vec![
        VirtualTable { def: performance_schema("session_connect_attrs", 1000.0, columns()), rows: all },
        VirtualTable { def: performance_schema("session_account_connect_attrs", 1000.0, columns()), rows: of_account },
    ]
}

fn all(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    Ok(rows(core, |_| true))
}

fn of_account(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let user = core.connection.label().account_user;
    Ok(rows(core, |connection| connection.label().account_user == user))
}

fn rows(core: &Core, shown: impl Fn(&Connection) -> bool) -> VirtualRows {
    let mut list: Vec<VirtualRow> = Vec::new();
    for connection in core.shared.connections.list().iter().filter(|connection| shown(connection)) {
        for (at, (name, value)) in connection.attributes().iter().enumerate() {
            list.push(vec![
                Value::UInt(connection.id().into()),
                name.as_str().into(),
                if value.is_empty() { Value::Null } else { value.as_str().into() },
                Value::Int(at as i64),
            ]);
        }
    }
    listed(list)
}
