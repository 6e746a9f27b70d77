//! `sys`: what monitoring tools ask of it and other computed tables can tell. MySQL has views there; here they are computed.

use super::column::{columns, count, datetime, long_words, text};
use super::innodb_trx::transactions;
use super::lock_picture::ShownLock;
use super::{LockPicture, SYS, VirtualTable, listed};
use crate::context::Core;
use catalog::{VirtualRequest, VirtualRow, VirtualTableDef};
use executor::{StatementContext, VirtualRows};
use std::collections::HashMap;
use types::{ColumnType, LocalTime, Time, Timestamp, TypeKind, Value};

/// Positions of columns in `information_schema.INNODB_TRX`.
mod trx {
    pub const ID: usize = 0;
    pub const STARTED: usize = 2;
    pub const WAIT_STARTED: usize = 4;
    pub const THREAD: usize = 6;
    pub const QUERY: usize = 7;
    pub const ROWS_LOCKED: usize = 13;
    pub const ROWS_MODIFIED: usize = 14;
}

/// Position of `wait_started`, by which the rows are sorted.
const WAIT_STARTED: usize = 0;

pub(super) fn tables() -> Vec<VirtualTable> {
    let version = vec![("sys_version", text(5).not_null()), ("mysql_version", text(64).not_null())];
    vec![
        VirtualTable { def: define("innodb_lock_waits", lock_wait_columns()), rows: lock_waits },
        VirtualTable { def: define("version", version), rows: versions },
        VirtualTable { def: define("x$innodb_lock_waits", lock_wait_columns()), rows: lock_waits },
    ]
}

pub(super) fn define(name: &'static str, list: Vec<(&'static str, ColumnType)>) -> VirtualTableDef {
    VirtualTableDef { database: SYS, name, columns: columns(list), keys: Vec::new(), rows: 10.0, is_view: true, is_dictionary: false }
}

fn lock_wait_columns() -> Vec<(&'static str, ColumnType)> {
    let time = || ColumnType::new(TypeKind::Time);
    let query = || long_words(TypeKind::LongText);
    vec![
        ("wait_started", datetime()),
        ("wait_age", time()),
        ("wait_age_secs", ColumnType::bigint()),
        ("locked_table", long_words(TypeKind::MediumText)),
        ("locked_table_schema", text(64)),
        ("locked_table_name", text(64)),
        ("locked_table_partition", text(64)),
        ("locked_table_subpartition", text(64)),
        ("locked_index", text(64)),
        ("locked_type", text(32).not_null()),
        ("waiting_trx_id", count().not_null()),
        ("waiting_trx_started", datetime().not_null()),
        ("waiting_trx_age", time()),
        ("waiting_trx_rows_locked", count().not_null()),
        ("waiting_trx_rows_modified", count().not_null()),
        ("waiting_pid", count().not_null()),
        ("waiting_query", query()),
        ("waiting_lock_id", text(128).not_null()),
        ("waiting_lock_mode", text(32).not_null()),
        ("blocking_trx_id", count().not_null()),
        ("blocking_pid", count().not_null()),
        ("blocking_query", query()),
        ("blocking_lock_id", text(128).not_null()),
        ("blocking_lock_mode", text(32).not_null()),
        ("blocking_trx_started", datetime().not_null()),
        ("blocking_trx_age", time()),
        ("blocking_trx_rows_locked", count().not_null()),
        ("blocking_trx_rows_modified", count().not_null()),
        ("sql_kill_blocking_query", text(33).not_null()),
        ("sql_kill_blocking_connection", text(27).not_null()),
    ]
}

/// Each wait with the transactions on both sides: MySQL's view joins four tables for it.
fn lock_waits(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let picture = LockPicture::of(core)?;
    let transactions: HashMap<u64, VirtualRow> = transactions(core, &picture).collect();
    let mut rows: Vec<VirtualRow> = Vec::with_capacity(picture.waits.len());
    for wait in &picture.waits {
        let (waiting, blocking) = (&picture.locks[wait.waiting], &picture.locks[wait.blocking]);
        let (Some(r), Some(b)) = (transactions.get(&waiting.info.owner), transactions.get(&blocking.info.owner)) else { continue };
        rows.push(row(core, waiting, r, blocking, b));
    }
    rows.sort_by(|a, b| seconds(&a[WAIT_STARTED]).cmp(&seconds(&b[WAIT_STARTED])));
    Ok(listed(rows))
}

fn row(core: &Core, waiting: &ShownLock, r: &[Value], blocking: &ShownLock, b: &[Value]) -> VirtualRow {
    let now = Value::DateTime(core.to_local(Timestamp::from_micros(core.statement_micros())));
    let age = |since: &Value| match (seconds(&now), seconds(since)) {
        (Some(now), Some(since)) => Value::Time(Time::from_micros((now - since) * 1_000_000)),
        _ => Value::Null,
    };
    let wait_seconds = match (seconds(&now), seconds(&r[trx::WAIT_STARTED])) {
        (Some(now), Some(since)) => Value::Int(now - since),
        _ => Value::Null,
    };
    let counter = waiting.info.is_auto_increment();
    let def = waiting.table.as_ref().map(|(entry, _)| &entry.def);
    let index = waiting.table.as_ref().filter(|_| !counter).map(|(entry, index)| entry.def.indexes[*index].name.as_str());
    let blocker = match &b[trx::THREAD] {
        Value::UInt(id) => *id,
        _ => 0,
    };
    vec![
        r[trx::WAIT_STARTED].clone(),
        age(&r[trx::WAIT_STARTED]),
        wait_seconds,
        def.map(|def| format!("`{}`.`{}`", def.database.replace('`', "``"), def.name.replace('`', "``"))).into(),
        def.map(|def| def.database.as_str()).into(),
        def.map(|def| def.name.as_str()).into(),
        Value::Null,
        Value::Null,
        index.into(),
        if counter { "TABLE" } else { "RECORD" }.into(),
        r[trx::ID].clone(),
        r[trx::STARTED].clone(),
        age(&r[trx::STARTED]),
        r[trx::ROWS_LOCKED].clone(),
        r[trx::ROWS_MODIFIED].clone(),
        r[trx::THREAD].clone(),
        r[trx::QUERY].clone(),
        waiting.id.as_str().into(),
        waiting.info.mode_name().into(),
        b[trx::ID].clone(),
        b[trx::THREAD].clone(),
        b[trx::QUERY].clone(),
        blocking.id.as_str().into(),
        blocking.info.mode_name().into(),
        b[trx::STARTED].clone(),
        age(&b[trx::STARTED]),
        b[trx::ROWS_LOCKED].clone(),
        b[trx::ROWS_MODIFIED].clone(),
        format!("KILL QUERY {blocker}").into(),
        format!("KILL {blocker}").into(),
    ]
}

/// Seconds of a moment by one calendar, to subtract them.
fn seconds(moment: &Value) -> Option<i64> {
    match moment {
        Value::DateTime(moment) => moment.to_micros().map(|micros| micros / 1_000_000),
        _ => None,
    }
}

fn versions(_core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    Ok(listed(vec![vec!["2.1.3".into(), crate::SERVER_VERSION.into()]]))
}
