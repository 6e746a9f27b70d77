//! `performance_schema.data_locks`: row locks held and awaited, those of AUTO_INCREMENT counters, and what tables they are in. An implicit lock (a row that its writer has changed) is shown once
//! somebody waits for it, as in MySQL.

use super::column::{count, performance_schema, text};
use super::intentions::TableIntention;
use super::{LockPicture, ShownLock, VirtualTable};
use crate::context::Core;
use catalog::{VirtualRequest, VirtualRow};
use executor::VirtualRows;
use types::{ColumnType, Value};

/// Position of LOCK_DATA.
const LOCK_DATA: usize = 14;

pub(super) fn table() -> VirtualTable {
    let columns: Vec<(&'static str, ColumnType)> = vec![
        ("ENGINE", text(32).not_null()),
        ("ENGINE_LOCK_ID", text(128).not_null()),
        ("ENGINE_TRANSACTION_ID", count()),
        ("THREAD_ID", count()),
        ("EVENT_ID", count()),
        ("OBJECT_SCHEMA", text(64)),
        ("OBJECT_NAME", text(64)),
        ("PARTITION_NAME", text(64)),
        ("SUBPARTITION_NAME", text(64)),
        ("INDEX_NAME", text(64)),
        ("OBJECT_INSTANCE_BEGIN", count().not_null()),
        ("LOCK_TYPE", text(32).not_null()),
        ("LOCK_MODE", text(32).not_null()),
        ("LOCK_STATUS", text(32).not_null()),
        ("LOCK_DATA", text(8192)),
    ];
    VirtualTable { def: performance_schema("data_locks", 1000.0, columns), rows }
}

fn rows(core: &mut Core, request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let picture = LockPicture::of(core)?;
    let with_data = request.uses(LOCK_DATA);
    let tables = picture.intentions.len();
    let count = tables + picture.locks.len();
    let row =
        move |at: usize| Ok(if at < tables { table_row(&picture.intentions[at]) } else { row(&picture.locks[at - tables], with_data) });
    Ok(Box::new((0..count).map(row)))
}

fn row(lock: &ShownLock, with_data: bool) -> VirtualRow {
    let counter = lock.info.is_auto_increment();
    let table = lock.table.as_ref().map(|(entry, index)| (&entry.def, &entry.def.indexes[*index]));
    vec![
        "INNODB".into(),
        lock.id.as_str().into(),
        Value::UInt(lock.transaction()),
        lock.thread().into(),
        Value::Null,
        table.map(|(def, _)| def.database.as_str()).into(),
        table.map(|(def, _)| def.name.as_str()).into(),
        Value::Null,
        Value::Null,
        table.filter(|_| !counter).map(|(_, index)| index.name.as_str()).into(),
        Value::UInt(lock.instance()),
        if counter { "TABLE" } else { "RECORD" }.into(),
        lock.info.mode_name().into(),
        if lock.info.granted { "GRANTED" } else { "WAITING" }.into(),
        if with_data && !counter { lock.data().into() } else { Value::Null },
    ]
}

fn table_row(lock: &TableIntention) -> VirtualRow {
    vec![
        "INNODB".into(),
        lock.id.as_str().into(),
        Value::UInt(lock.transaction),
        lock.thread.into(),
        Value::Null,
        lock.table.def.database.as_str().into(),
        lock.table.def.name.as_str().into(),
        Value::Null,
        Value::Null,
        Value::Null,
        Value::UInt(lock.instance()),
        "TABLE".into(),
        lock.mode_name().into(),
        "GRANTED".into(),
        Value::Null,
    ]
}
