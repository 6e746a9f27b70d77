//! `information_schema.INNODB_TEMP_TABLE_INFO`: the temporary tables of all sessions.

use super::column::{count, folded, information_schema, unsigned_int};
use super::{VirtualTable, listed};
use crate::context::Core;
use catalog::{VirtualRequest, VirtualTableDef};
use executor::VirtualRows;
use types::Value;

/// Columns that each of MySQL's tables has beside its own: row id, transaction, roll pointer.
const SYSTEM_COLUMNS: usize = 3;

pub(super) fn table() -> VirtualTable {
    let columns = vec![
        ("TABLE_ID", count().not_null()),
        ("NAME", folded(64)),
        ("N_COLS", unsigned_int().not_null()),
        ("SPACE", unsigned_int().not_null()),
    ];
    let def = VirtualTableDef { is_view: false, ..information_schema("INNODB_TEMP_TABLE_INFO", &[], 10.0, columns) };
    VirtualTable { def, rows }
}

fn rows(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let process = std::process::id();
    let rows = core.shared.temporary.all().into_iter().map(|(id, listed)| {
        vec![
            Value::UInt(u64::from(id)),
            // As MySQL makes the name: process, connection, and what tells the connection's tables apart.
            format!("#sql{process:x}_{:x}_{id:x}", listed.connection).into(),
            Value::UInt((listed.columns + SYSTEM_COLUMNS) as u64),
            // All tables are in one file.
            Value::UInt(0),
        ]
    });
    Ok(listed(rows.collect()))
}
