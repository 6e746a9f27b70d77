//! Connections: `PROCESSLIST` in both databases, and `performance_schema.threads`, where each connection is a thread. The server's own threads are
//! not listed.

use super::column::{count, folded, information_schema, int, one_of, performance_schema, text};
use super::{VirtualTable, listed};
use crate::context::Core;
use crate::show::{Process, processes};
use catalog::{VirtualRequest, VirtualRow};
use executor::VirtualRows;
use types::{Collation, ColumnType, TypeKind, Value};

pub(super) fn of_information_schema() -> VirtualTable {
    let columns = vec![
        ("ID", count().not_null()),
        ("USER", folded(32).not_null()),
        ("HOST", folded(261).not_null()),
        ("DB", folded(64)),
        ("COMMAND", folded(16).not_null()),
        ("TIME", int().not_null()),
        ("STATE", folded(64)),
        ("INFO", folded(65_535)),
    ];
    VirtualTable { def: information_schema("PROCESSLIST", &[], 100.0, columns), rows: short_rows }
}

pub(super) fn of_performance_schema() -> VirtualTable {
    let columns = vec![
        ("ID", count().not_null()),
        ("USER", text(32)),
        ("HOST", text(261)),
        ("DB", text(64)),
        ("COMMAND", text(16)),
        ("TIME", ColumnType::bigint()),
        ("STATE", text(64)),
        ("INFO", ColumnType::new(TypeKind::LongText)),
        ("EXECUTION_ENGINE", one_of(&["PRIMARY", "SECONDARY"], Collation::DEFAULT)),
    ];
    VirtualTable { def: performance_schema("processlist", 100.0, columns), rows: long_rows }
}

pub(super) fn threads() -> VirtualTable {
    let columns = vec![
        ("THREAD_ID", count().not_null()),
        ("NAME", text(128).not_null()),
        ("TYPE", text(10).not_null()),
        ("PROCESSLIST_ID", count()),
        ("PROCESSLIST_USER", text(32)),
        ("PROCESSLIST_HOST", text(255)),
        ("PROCESSLIST_DB", text(64)),
        ("PROCESSLIST_COMMAND", text(16)),
        ("PROCESSLIST_TIME", ColumnType::bigint()),
        ("PROCESSLIST_STATE", text(64)),
        ("PROCESSLIST_INFO", ColumnType::new(TypeKind::LongText)),
        ("PARENT_THREAD_ID", count()),
        ("ROLE", text(64)),
        ("INSTRUMENTED", one_of(&["YES", "NO"], Collation::DEFAULT).not_null()),
        ("HISTORY", one_of(&["YES", "NO"], Collation::DEFAULT).not_null()),
        ("CONNECTION_TYPE", text(16)),
        ("THREAD_OS_ID", count()),
        ("RESOURCE_GROUP", text(64)),
        ("EXECUTION_ENGINE", one_of(&["PRIMARY", "SECONDARY"], Collation::DEFAULT)),
        ("CONTROLLED_MEMORY", count().not_null()),
        ("MAX_CONTROLLED_MEMORY", count().not_null()),
        ("TOTAL_MEMORY", count().not_null()),
        ("MAX_TOTAL_MEMORY", count().not_null()),
        ("TELEMETRY_ACTIVE", one_of(&["YES", "NO"], Collation::DEFAULT).not_null()),
    ];
    VirtualTable { def: performance_schema("threads", 100.0, columns), rows: thread_rows }
}

fn short_rows(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    Ok(listed(processes(core).map(Process::values).collect()))
}

fn long_rows(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let row = |process: Process| {
        let mut row = process.values();
        row.push("PRIMARY".into());
        row
    };
    Ok(listed(processes(core).map(row).collect()))
}

fn thread_rows(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let row = |process: Process| {
        let id = Value::UInt(process.id);
        let mut row: VirtualRow = vec![id, "thread/sql/one_connection".into(), "FOREGROUND".into()];
        row.extend(process.values());
        row.extend([Value::Null, Value::Null, "NO".into(), "NO".into(), Value::Null, Value::Null, Value::Null, "PRIMARY".into()]);
        row.extend([Value::UInt(0), Value::UInt(0), Value::UInt(0), Value::UInt(0), "NO".into()]);
        row
    };
    Ok(listed(processes(core).map(row).collect()))
}
