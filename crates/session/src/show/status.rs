//! Variables and counters.

use super::Table;
use crate::client_session::ClientSession;
use crate::context::Core;
use crate::front::{compression, encryption};
use crate::reply::fixed_columns::lists;
use crate::shared::Shared;
use crate::variables::{self, DEFINITIONS, Scope};
use executor::StatementContext;
use parser::ast::VarScope;
use planner::expr::VariableScope;
use sync::atomic::Ordering;
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

pub(super) fn variables(session: &ClientSession, scope: Option<VarScope>) -> Table {
    let global = scope == Some(VarScope::Global);
    let mut table = Table::new(if global { lists::GLOBAL_VARIABLES } else { lists::SESSION_VARIABLES });
    for (name, value) in variable_list(&session.core, global) {
        table.row(vec![name.into(), value.into()]);
    }
    table
}

pub(super) fn status(session: &ClientSession, scope: Option<VarScope>) -> Table {
    let global = scope == Some(VarScope::Global);
    let mut table = Table::new(if global { lists::GLOBAL_STATUS } else { lists::SESSION_STATUS });
    for (name, value) in status_list(&session.core, global) {
        table.row(vec![name.into(), value.into()]);
    }
    table
}

/// Counters with their values, by name; those of the session's own connection are empty where only the server's are wanted.
pub(crate) fn status_list(core: &Core, global: bool) -> Vec<(&'static str, String)> {
    let mut list: Vec<(&'static str, String)> =
        counter_list(&core.shared).into_iter().map(|(name, value)| (name, value.to_string())).collect();
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

/// What MySQL counts and there is nothing of here: a binary log, replication, delayed inserts, MyISAM's key cache, its log of two-phase commits and
/// what engines prepare for it, tables found at other servers, instruments that get lost.
const NOTHING: [&str; 63] = [
    "Binlog_cache_disk_use",
    "Binlog_cache_use",
    "Binlog_stmt_cache_disk_use",
    "Binlog_stmt_cache_use",
    "Connection_errors_tcpwrap",
    "Delayed_errors",
    "Delayed_insert_threads",
    "Delayed_writes",
    "Handler_discover",
    "Handler_mrr_init",
    "Handler_prepare",
    "Innodb_truncated_status_writes",
    "Key_blocks_not_flushed",
    "Key_blocks_unused",
    "Key_blocks_used",
    "Key_read_requests",
    "Key_reads",
    "Key_write_requests",
    "Key_writes",
    "Not_flushed_delayed_rows",
    "Ongoing_anonymous_transaction_count",
    "Open_streams",
    "Performance_schema_accounts_lost",
    "Performance_schema_cond_classes_lost",
    "Performance_schema_cond_instances_lost",
    "Performance_schema_digest_lost",
    "Performance_schema_file_classes_lost",
    "Performance_schema_file_handles_lost",
    "Performance_schema_file_instances_lost",
    "Performance_schema_hosts_lost",
    "Performance_schema_index_stat_lost",
    "Performance_schema_locker_lost",
    "Performance_schema_logger_lost",
    "Performance_schema_memory_classes_lost",
    "Performance_schema_metadata_lock_lost",
    "Performance_schema_meter_lost",
    "Performance_schema_metric_lost",
    "Performance_schema_mutex_classes_lost",
    "Performance_schema_mutex_instances_lost",
    "Performance_schema_nested_statement_lost",
    "Performance_schema_prepared_statements_lost",
    "Performance_schema_program_lost",
    "Performance_schema_rwlock_classes_lost",
    "Performance_schema_rwlock_instances_lost",
    "Performance_schema_socket_classes_lost",
    "Performance_schema_socket_instances_lost",
    "Performance_schema_stage_classes_lost",
    "Performance_schema_statement_classes_lost",
    "Performance_schema_table_handles_lost",
    "Performance_schema_table_instances_lost",
    "Performance_schema_table_lock_stat_lost",
    "Performance_schema_thread_classes_lost",
    "Performance_schema_thread_instances_lost",
    "Performance_schema_users_lost",
    "Replica_open_temp_tables",
    "Secondary_engine_execution_count",
    "Slave_open_temp_tables",
    "Table_open_cache_triggers_hits",
    "Table_open_cache_triggers_misses",
    "Table_open_cache_triggers_overflows",
    "Tc_log_max_pages_used",
    "Tc_log_page_size",
    "Tc_log_page_waits",
];

/// Those that are not counts.
fn texts(shared: &Shared) -> [(&'static str, String); 4] {
    let (_, after_seconds) = shared.connections.most();
    let since = Timestamp::from_micros(shared.started_micros + i64::from(after_seconds) * 1_000_000);
    let whole = Timestamp::from_micros(since.micros() / 1_000_000 * 1_000_000);
    [
        ("Innodb_redo_log_enabled", "ON".to_owned()),
        ("Innodb_redo_log_resize_status", "OK".to_owned()),
        ("Max_used_connections_time", TimeZone::system().to_local(whole).to_string()),
        ("Resource_group_supported", "OFF".to_owned()),
    ]
}

/// What went to temporary files.
fn spilled(shared: &Shared) -> [(&'static str, u64); 8] {
    let counters = shared.spill_directory().map(|directory| directory.counters());
    let of = |figure: fn(&spill::Counters) -> u64| counters.map_or(0, figure);
    [
        ("Altiplano_spill_bytes", of(spill::Counters::bytes_now)),
        ("Altiplano_spill_bytes_read", of(|c| c.bytes_read.get())),
        ("Altiplano_spill_bytes_written", of(|c| c.bytes_written.get())),
        ("Altiplano_spill_joins", of(|c| c.joins.get())),
        ("Altiplano_spill_sorts", of(|c| c.sorts.get())),
        ("Created_tmp_disk_tables", of(|c| c.tables.get())),
        ("Created_tmp_files", of(|c| c.files.get())),
        ("Sort_merge_passes", of(|c| c.merge_passes.get())),
    ]
}

fn counter_list(shared: &Shared) -> Vec<(&'static str, u64)> {
    let engine = &shared.engine;
    let (pool, wal, locks) = (engine.pool().stats(), engine.wal().stats(), engine.locks().stats());
    let (undo, store) = (engine.undo_stats(), engine.pool().store().stats());
    let data = pool.frames_total - pool.frames_free.min(pool.frames_total);
    let mut list: Vec<(&'static str, u64)> = shared.status.list();
    list.extend(shared.kinds.list());
    list.extend(NOTHING.map(|name| (name, 0)));
    list.extend(spilled(shared));
    // Statements and the commands about prepared ones; there are no programs whose statements would count.
    let others = ["Com_stmt_close", "Com_stmt_reset", "Com_stmt_send_long_data", "Com_stmt_prepare"];
    let queries = list.iter().filter(|(name, _)| *name == "Questions" || others.contains(name)).map(|(_, count)| count).sum();
    let (written, page) = (store.pages_written.load(Ordering::Relaxed), 16384);
    let threads = shared.connections.threads();
    let tables = engine.open_tables();
    let admission = shared.admission.stats();
    let (backups, archive) = (shared.backups.figures(), engine.wal().archive_status().unwrap_or_default());
    list.extend([
        ("Altiplano_backup_bytes", backups.bytes),
        ("Altiplano_backup_completed", backups.completed),
        ("Altiplano_backup_last_lsn", backups.last_end_lsn),
        ("Altiplano_backup_last_unix_time", (backups.last_us / 1_000_000) as u64),
        ("Altiplano_backup_running", backups.running),
        ("Altiplano_backup_torn_reads", backups.torn_reads),
        ("Altiplano_log_archive_failing", archive.failing.into()),
        ("Altiplano_log_archive_failures", archive.failures),
        ("Altiplano_log_archive_gaps", archive.gaps),
        ("Altiplano_log_archive_lag_bytes", archive.lag_bytes),
        ("Altiplano_log_archive_lsn", archive.lsn.0),
        ("Altiplano_log_table_rows_lost", shared.query_logs.table_rows_lost()),
        ("Altiplano_log_durable_lsn", engine.wal().durable().0),
        ("Altiplano_admission_completed", admission.completed),
        ("Altiplano_admission_idle", admission.idle.into()),
        ("Altiplano_admission_limit", admission.limit.into()),
        ("Altiplano_admission_long", admission.long),
        ("Altiplano_admission_long_queued", admission.long_queued.into()),
        ("Altiplano_admission_long_working", admission.long_working.into()),
        ("Altiplano_admission_lowered", admission.lowered),
        ("Altiplano_admission_overdraft", admission.overdraft.into()),
        ("Altiplano_admission_overdrafts", admission.overdrafts),
        ("Altiplano_admission_queued", admission.queued.into()),
        ("Altiplano_admission_raised", admission.raised),
        ("Altiplano_admission_revoked", admission.revoked),
        ("Altiplano_admission_waits", admission.waits),
        ("Altiplano_admission_working", admission.working.into()),
        ("Altiplano_commit_dependency_waits", engine.dependency_waits()),
        ("Altiplano_history_age_seconds", engine.history_age().as_secs()),
        ("Altiplano_history_length", engine.history_length()),
        ("Altiplano_history_pruned", engine.pruned()),
        ("Altiplano_history_purged", engine.purged()),
        ("Altiplano_history_purged_by_writers", engine.purged_by_writers()),
        ("Altiplano_lock_deadlocks", locks.deadlocks),
        ("Altiplano_log_batch_members", wal.members),
        ("Altiplano_log_batches", wal.batches),
        ("Altiplano_log_hole_timeouts", wal.hole_timeouts),
        ("Altiplano_log_hole_wakes", wal.hole_wakes),
        ("Altiplano_log_record_bytes", wal.record_bytes),
        ("Altiplano_log_sleeps", wal.sleeps),
        ("Altiplano_log_syncs", wal.syncs),
        ("Altiplano_log_wakes_useful", wal.wakes_useful),
        ("Altiplano_log_wakes_useless", wal.wakes_useless),
        ("Altiplano_memory_heap", memory::heap_bytes()),
        ("Altiplano_memory_heap_max", memory::heap_bytes_max()),
        ("Altiplano_memory_limit", memory::limit()),
        ("Altiplano_memory_mapped", memory::mapped()),
        ("Altiplano_memory_refusals", memory::refusals()),
        ("Altiplano_memory_rescues", memory::rescues()),
        ("Altiplano_plan_cache_bytes", shared.plans.bytes()),
        ("Altiplano_plan_cache_hits", shared.status.plan_cache_hits()),
        ("Altiplano_plan_cache_plans", shared.plans.len() as u64),
        ("Altiplano_purge_delays", engine.purge_delays()),
        ("Altiplano_rollbacks_pending", engine.rollbacks_pending() as u64),
        ("Altiplano_transactions_finished", engine.finished_count()),
        ("Altiplano_pool_evictions", pool.evictions),
        ("Altiplano_pool_foreground_flushes", pool.foreground_flushes),
        ("Altiplano_pool_latch_waits", pool.latch_waits),
        ("Altiplano_undo_bytes_live", undo.live_bytes),
        ("Altiplano_undo_bytes_memory", undo.memory_bytes),
        ("Altiplano_undo_file_reads", undo.file_reads),
        ("Altiplano_undo_segments", undo.segments),
        ("Altiplano_undo_segments_spilled", undo.spilled),
        ("Innodb_data_fsyncs", store.syncs.load(Ordering::Relaxed) + wal.syncs),
        ("Innodb_data_read", store.pages_read.load(Ordering::Relaxed) * page),
        ("Innodb_data_reads", store.pages_read.load(Ordering::Relaxed)),
        // Pages go to the doublewrite area and in place; the log's writes.
        ("Innodb_data_writes", written + store.batches.load(Ordering::Relaxed) + wal.writes),
        ("Innodb_data_written", 2 * written * page + wal.write_bytes),
        ("Innodb_log_waits", wal.ring_waits),
        ("Innodb_redo_log_capacity_resized", engine.wal().capacity()),
        ("Innodb_redo_log_current_lsn", engine.wal().written_contiguous().0),
        ("Innodb_redo_log_flushed_to_disk_lsn", engine.wal().durable().0),
        ("Innodb_redo_log_logical_size", engine.wal().age()),
        ("Innodb_buffer_pool_bytes_data", data * 16384),
        ("Innodb_buffer_pool_bytes_dirty", pool.pages_dirty * 16384),
        ("Innodb_buffer_pool_pages_data", data),
        ("Innodb_buffer_pool_pages_dirty", pool.pages_dirty),
        ("Innodb_buffer_pool_pages_flushed", pool.writes),
        ("Innodb_buffer_pool_pages_free", pool.frames_free),
        ("Innodb_buffer_pool_pages_misc", 0),
        ("Innodb_buffer_pool_pages_total", pool.frames_total),
        ("Innodb_buffer_pool_read_ahead", pool.reads_ahead),
        ("Innodb_buffer_pool_read_ahead_evicted", pool.reads_ahead_evicted),
        ("Innodb_buffer_pool_read_ahead_rnd", 0),
        ("Innodb_buffer_pool_read_requests", pool.hits + pool.misses),
        ("Innodb_buffer_pool_reads", pool.reads),
        ("Innodb_buffer_pool_wait_free", pool.frame_waits),
        ("Innodb_dblwr_pages_written", store.pages_written.load(Ordering::Relaxed)),
        ("Innodb_dblwr_writes", store.batches.load(Ordering::Relaxed)),
        ("Innodb_pages_read", store.pages_read.load(Ordering::Relaxed)),
        ("Innodb_pages_written", store.pages_written.load(Ordering::Relaxed)),
        ("Innodb_history_list_length", engine.history_length()),
        ("Innodb_log_write_requests", wal.records),
        ("Innodb_log_writes", wal.writes),
        ("Innodb_os_log_fsyncs", wal.syncs),
        ("Innodb_os_log_written", wal.write_bytes),
        ("Innodb_page_size", 16384),
        ("Innodb_row_lock_current_waits", locks.waiting),
        // In milliseconds.
        ("Innodb_row_lock_time", locks.wait_micros / 1000),
        ("Innodb_row_lock_time_avg", locks.wait_micros.checked_div(locks.waits.saturating_sub(locks.waiting)).unwrap_or(0) / 1000),
        ("Innodb_row_lock_time_max", locks.wait_micros_max / 1000),
        ("Innodb_row_lock_waits", locks.waits),
        ("Open_tables", tables.open),
        ("Opened_tables", tables.opened),
        ("Prepared_stmt_count", shared.prepared_statements.load(Ordering::Relaxed)),
        ("Table_open_cache_hits", tables.hits),
        ("Table_open_cache_misses", shared.catalog.table_misses()),
        ("Table_open_cache_overflows", tables.overflows),
        ("Altiplano_looks_found", threads.looks_found),
        ("Altiplano_looks_in_vain", threads.looks_in_vain),
        ("Altiplano_replies_together", threads.replies_together),
        ("Altiplano_reply_batches", threads.reply_batches),
        ("Altiplano_sessions_parked", threads.parked.into()),
        ("Altiplano_sessions_resting", threads.resting.into()),
        ("Altiplano_stand_ins", threads.stand_ins),
        ("Altiplano_threads_shared", threads.shared.into()),
        ("Max_used_connections", shared.connections.most().0.into()),
        ("Queries", queries),
        ("Slow_queries", shared.connections.slow()),
        ("Threads_cached", threads.cached.into()),
        ("Threads_connected", u64::from(shared.connections.count())),
        ("Threads_created", threads.created),
        ("Threads_running", u64::from(shared.connections.running())),
        ("Uptime", shared.started.elapsed().as_secs()),
        ("Uptime_since_flush_status", shared.since_flush().as_secs()),
    ]);
    list
}
