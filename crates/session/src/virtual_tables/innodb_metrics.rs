//! `information_schema.INNODB_METRICS`: the counters of MySQL's that have their like here, always on.

use super::column::{datetime, folded, information_schema};
use super::{VirtualTable, listed};
use crate::context::Core;
use catalog::VirtualRequest;
use executor::VirtualRows;
use sync::atomic::Ordering;
use types::{ColumnType, TypeKind, Value};

pub(super) fn table() -> VirtualTable {
    let name = || folded(193).not_null();
    let bigint = || ColumnType::new(TypeKind::BigInt);
    let double = || ColumnType::new(TypeKind::Double);
    let columns = vec![
        ("NAME", name()),
        ("SUBSYSTEM", name()),
        ("COUNT", bigint().not_null()),
        ("MAX_COUNT", bigint()),
        ("MIN_COUNT", bigint()),
        ("AVG_COUNT", double()),
        ("COUNT_RESET", bigint().not_null()),
        ("MAX_COUNT_RESET", bigint()),
        ("MIN_COUNT_RESET", bigint()),
        ("AVG_COUNT_RESET", double()),
        ("TIME_ENABLED", datetime()),
        ("TIME_DISABLED", datetime()),
        ("TIME_ELAPSED", bigint()),
        ("TIME_RESET", datetime()),
        ("STATUS", name()),
        ("TYPE", name()),
        ("COMMENT", name()),
    ];
    VirtualTable { def: information_schema("INNODB_METRICS", &[], 20.0, columns), rows }
}

/// A metric: name, subsystem, count, type, comment.
type Metric = (&'static str, &'static str, u64, &'static str, &'static str);

/// Name, subsystem and count of all.
pub(super) fn figures(core: &Core) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
    metrics(core).into_iter().map(|(name, subsystem, count, ..)| (name, subsystem, count))
}

const VALUE: &str = "value";

fn metrics(core: &Core) -> [Metric; 17] {
    let engine = &core.shared.engine;
    let (status, store) = (engine.status(), engine.pool().store().stats());
    let pool = status.pool;
    let (value, counter) = (VALUE, "status_counter");
    [
        ("buffer_pool_reads", "buffer", pool.reads, counter, "Pages read from disk by who needed them (innodb_buffer_pool_reads)"),
        ("buffer_pool_read_requests", "buffer", pool.hits + pool.misses, counter, "Pages asked for (innodb_buffer_pool_read_requests)"),
        ("buffer_pool_wait_free", "buffer", pool.frame_waits, counter, "Waits for a free frame (innodb_buffer_pool_wait_free)"),
        ("buffer_pool_read_ahead", "buffer", pool.reads_ahead, counter, "Pages read ahead (innodb_buffer_pool_read_ahead)"),
        (
            "buffer_pool_read_ahead_evicted",
            "buffer",
            pool.reads_ahead_evicted,
            counter,
            "Pages read ahead and given up unused (innodb_buffer_pool_read_ahead_evicted)",
        ),
        ("buffer_pool_pages_total", "buffer", pool.frames_total, value, "Frames (innodb_buffer_pool_pages_total)"),
        ("buffer_pool_pages_dirty", "buffer", pool.pages_dirty, value, "Dirty pages (innodb_buffer_pool_pages_dirty)"),
        ("buffer_pool_pages_free", "buffer", pool.frames_free, value, "Free frames (innodb_buffer_pool_pages_free)"),
        ("buffer_pages_written", "buffer", store.pages_written.load(Ordering::Relaxed), counter, "Pages written (innodb_pages_written)"),
        ("buffer_pages_read", "buffer", store.pages_read.load(Ordering::Relaxed), counter, "Pages read (innodb_pages_read)"),
        ("lock_deadlocks", "lock", status.locks.deadlocks, "counter", "Deadlocks"),
        ("lock_timeouts", "lock", status.locks.timeouts, "counter", "Lock timeouts"),
        ("lock_row_lock_waits", "lock", status.locks.waits, counter, "Row locks waited for (innodb_row_lock_waits)"),
        ("trx_rseg_history_len", "transaction", status.history_length, value, "Length of the TRX_RSEG_HISTORY list"),
        (
            "altiplano_history_age_seconds",
            "transaction",
            engine.history_age().as_secs(),
            value,
            "How long the oldest transaction of that list has waited for purge",
        ),
        ("altiplano_undo_memory_bytes", "transaction", status.undo.memory_bytes, value, "Undo in memory"),
        ("altiplano_undo_live_bytes", "transaction", status.undo.live_bytes, value, "Undo in memory and on disk that is not released"),
    ]
}

fn rows(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let row = |(name, subsystem, count, kind, comment): (&str, &str, u64, &str, &str)| {
        let count = || Value::Int(count as i64);
        // The largest is known of what only grows: nobody watches a level between two looks.
        let max = || if kind == VALUE { Value::Null } else { count() };
        vec![
            name.into(),
            subsystem.into(),
            count(),
            max(),
            Value::Null,
            Value::Null,
            count(),
            max(),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Int(core.shared.started.elapsed().as_secs() as i64),
            Value::Null,
            "enabled".into(),
            kind.into(),
            comment.into(),
        ]
    };
    Ok(listed(metrics(core).into_iter().map(row).collect()))
}
