//! `information_schema.INNODB_TRX`: transactions that have written, hold locks or have a snapshot open.

use super::column::{count, datetime, folded, information_schema, int};
use super::lock_picture::{ShownLock, transaction_id};
use super::{LockPicture, VirtualTable, listed};
use crate::context::Core;
use crate::front::connections::Connection;
use crate::transaction::level_name;
use catalog::{VirtualRequest, VirtualRow, VirtualTableDef};
use engine::TransactionInfo;
use executor::VirtualRows;
use protocol::command::byte;
use std::collections::{HashMap, HashSet};
use types::{LocalTime, Timestamp, Value};

/// Characters of a statement that are shown.
const QUERY_CHARS: usize = 1024;

pub(super) fn table() -> VirtualTable {
    let columns = vec![
        ("trx_id", count().not_null()),
        ("trx_state", folded(13).not_null()),
        ("trx_started", datetime().not_null()),
        ("trx_requested_lock_id", folded(126)),
        ("trx_wait_started", datetime()),
        ("trx_weight", count().not_null()),
        ("trx_mysql_thread_id", count().not_null()),
        ("trx_query", folded(QUERY_CHARS as u32)),
        ("trx_operation_state", folded(64)),
        ("trx_tables_in_use", count().not_null()),
        ("trx_tables_locked", count().not_null()),
        ("trx_lock_structs", count().not_null()),
        ("trx_lock_memory_bytes", count().not_null()),
        ("trx_rows_locked", count().not_null()),
        ("trx_rows_modified", count().not_null()),
        ("trx_concurrency_tickets", count().not_null()),
        ("trx_isolation_level", folded(16).not_null()),
        ("trx_unique_checks", int().not_null()),
        ("trx_foreign_key_checks", int().not_null()),
        ("trx_last_foreign_key_error", folded(256)),
        ("trx_adaptive_hash_latched", int().not_null()),
        ("trx_adaptive_hash_timeout", count().not_null()),
        ("trx_is_read_only", int().not_null()),
        ("trx_autocommit_non_locking", int().not_null()),
        ("trx_schedule_weight", count()),
    ];
    // MySQL has it as a temporary table, whose columns are headed as they are written.
    let def = VirtualTableDef { is_view: false, ..information_schema("INNODB_TRX", &[], 100.0, columns) };
    VirtualTable { def, rows }
}

fn rows(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let picture = LockPicture::of(core)?;
    let rows = transactions(core, &picture).map(|(_, row)| row).collect();
    Ok(listed(rows))
}

/// The rows with the owners of their locks.
pub(super) fn transactions(core: &Core, picture: &LockPicture) -> impl Iterator<Item = (u64, VirtualRow)> {
    let mut by_owner: HashMap<u64, Vec<&ShownLock>> = HashMap::new();
    for lock in &picture.locks {
        by_owner.entry(lock.info.owner).or_default().push(lock);
    }
    let none = Vec::new();
    let row = |t: &TransactionInfo| (t.owner, row(core, t, by_owner.get(&t.owner).unwrap_or(&none)));
    picture.transactions.iter().map(row).collect::<Vec<_>>().into_iter()
}

fn row(core: &Core, t: &TransactionInfo, locks: &[&ShownLock]) -> Vec<Value> {
    let engine = &core.shared.engine;
    let requested = locks.iter().find(|lock| !lock.info.granted);
    let wait_started = requested.and_then(|lock| lock.info.since).map(|since| {
        let micros = engine.wall_micros() - since.elapsed().as_micros() as i64;
        core.to_local(Timestamp::from_micros(micros / 1_000_000 * 1_000_000))
    });
    let wait_started = wait_started.map_or(Value::Null, Value::DateTime);
    let tables: HashSet<_> = locks.iter().filter_map(|lock| lock.table.as_ref().map(|(entry, _)| entry.def.id)).collect();
    let lock_bytes: usize = locks.iter().map(|lock| size_of_val(&lock.info) + lock.info.key.len()).sum();
    let changed = if t.txn.is_none() { 0 } else { engine.locks().find_owner(t.txn).map_or(0, |owner| owner.work()) };
    let connection = u32::try_from(t.client).ok().and_then(|id| core.shared.connections.find(id));
    let query = connection.as_deref().and_then(running_statement);
    let state = connection.as_deref().filter(|_| query.is_some()).and_then(Connection::waits_for);
    vec![
        Value::UInt(transaction_id(t.txn.0, t.owner)),
        if requested.is_some() { "LOCK WAIT" } else { "RUNNING" }.into(),
        Value::DateTime(core.to_local(Timestamp::from_micros(t.begun_ms as i64 / 1000 * 1_000_000))),
        requested.map(|lock| lock.id.as_str()).into(),
        wait_started,
        Value::UInt(locks.len() as u64 + changed),
        Value::UInt(t.client),
        query.into(),
        state.into(),
        Value::UInt(tables.len() as u64),
        Value::UInt(tables.len() as u64),
        Value::UInt(locks.len() as u64),
        Value::UInt(lock_bytes as u64),
        Value::UInt(locks.len() as u64),
        Value::UInt(changed),
        Value::UInt(0),
        level_name(t.isolation).into(),
        Value::Int(1),
        Value::Int(1),
        Value::Null,
        Value::Int(0),
        Value::UInt(0),
        Value::Int(i64::from(t.read_only)),
        Value::Int(0),
        Value::Null,
    ]
}

/// The statement that a connection is running.
pub(crate) fn running_statement(connection: &Connection) -> Option<String> {
    match Connection::command_of(connection.activity()) {
        byte::QUERY | byte::STMT_PREPARE | byte::STMT_EXECUTE => {
            let label = connection.label();
            Some(String::from_utf8_lossy(&label.statement).chars().take(QUERY_CHARS).collect())
        }
        _ => None,
    }
}
