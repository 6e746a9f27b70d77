//! Counts of SHOW STATUS, part by part of the server: each function asks one part.

use crate::shared::Shared;
use sync::atomic::Ordering;

const PAGE: u64 = base::PAGE_BYTES as u64;

/// Commands about prepared statements, which count as queries.
const PREPARED: [&str; 4] = ["Com_stmt_close", "Com_stmt_reset", "Com_stmt_send_long_data", "Com_stmt_prepare"];

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

/// All counts of the server, in no order.
pub(super) fn counts(shared: &Shared) -> Vec<(&'static str, u64)> {
    let mut list: Vec<(&'static str, u64)> = shared.status.list();
    list.extend(shared.kinds.list());
    // Statements and those commands; there are no programs whose statements would count.
    let queries = list.iter().filter(|(name, _)| *name == "Questions" || PREPARED.contains(name)).map(|(_, count)| count).sum();
    list.extend(NOTHING.map(|name| (name, 0)));
    list.extend(spilled(shared));
    list.extend(backups(shared));
    list.extend(admission(shared));
    list.extend(transactions(shared));
    list.extend(undo(shared));
    list.extend(row_locks(shared));
    list.extend(log(shared));
    list.extend(pages(shared));
    list.extend(heap());
    list.extend(statements(shared));
    list.extend(connections(shared));
    list.extend([
        ("Altiplano_log_table_rows_lost", shared.query_logs.table_rows_lost()),
        ("Queries", queries),
        ("Slow_queries", shared.connections.slow()),
        ("Uptime", shared.started.elapsed().as_secs()),
        ("Uptime_since_flush_status", shared.since_flush().as_secs()),
    ]);
    list
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

/// What backups and the log's archive have done.
fn backups(shared: &Shared) -> [(&'static str, u64); 11] {
    let (backups, archive) = (shared.backups.figures(), shared.engine.wal().archive_status().unwrap_or_default());
    [
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
    ]
}

/// Slots, and who waits for them.
fn admission(shared: &Shared) -> [(&'static str, u64); 14] {
    let admission = shared.admission.stats();
    [
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
    ]
}

/// Transactions, and what they leave to purge.
fn transactions(shared: &Shared) -> [(&'static str, u64); 10] {
    let engine = &shared.engine;
    [
        ("Altiplano_commit_dependency_waits", engine.dependency_waits()),
        ("Altiplano_history_age_seconds", engine.history_age().as_secs()),
        ("Altiplano_history_length", engine.history_length()),
        ("Altiplano_history_pruned", engine.pruned()),
        ("Altiplano_history_purged", engine.purged()),
        ("Altiplano_history_purged_by_writers", engine.purged_by_writers()),
        ("Altiplano_purge_delays", engine.purge_delays()),
        ("Altiplano_rollbacks_pending", engine.rollbacks_pending() as u64),
        ("Altiplano_transactions_finished", engine.finished_count()),
        ("Innodb_history_list_length", engine.history_length()),
    ]
}

/// Before-images.
fn undo(shared: &Shared) -> [(&'static str, u64); 5] {
    let undo = shared.engine.undo_stats();
    [
        ("Altiplano_undo_bytes_live", undo.live_bytes),
        ("Altiplano_undo_bytes_memory", undo.memory_bytes),
        ("Altiplano_undo_file_reads", undo.file_reads),
        ("Altiplano_undo_segments", undo.segments),
        ("Altiplano_undo_segments_spilled", undo.spilled),
    ]
}

/// Row locks. (Times of InnoDB's are in milliseconds.)
fn row_locks(shared: &Shared) -> [(&'static str, u64); 6] {
    let locks = shared.engine.locks().stats();
    [
        ("Altiplano_lock_deadlocks", locks.deadlocks),
        ("Innodb_row_lock_current_waits", locks.waiting),
        ("Innodb_row_lock_time", locks.wait_micros / 1000),
        ("Innodb_row_lock_time_avg", locks.wait_micros.checked_div(locks.waits.saturating_sub(locks.waiting)).unwrap_or(0) / 1000),
        ("Innodb_row_lock_time_max", locks.wait_micros_max / 1000),
        ("Innodb_row_lock_waits", locks.waits),
    ]
}

/// The log.
fn log(shared: &Shared) -> [(&'static str, u64); 19] {
    let wal = shared.engine.wal();
    let stats = wal.stats();
    [
        ("Altiplano_log_batch_members", stats.members),
        ("Altiplano_log_batches", stats.batches),
        ("Altiplano_log_durable_lsn", wal.durable().0),
        ("Altiplano_log_hole_timeouts", stats.hole_timeouts),
        ("Altiplano_log_hole_wakes", stats.hole_wakes),
        ("Altiplano_log_record_bytes", stats.record_bytes),
        ("Altiplano_log_sleeps", stats.sleeps),
        ("Altiplano_log_syncs", stats.syncs),
        ("Altiplano_log_wakes_useful", stats.wakes_useful),
        ("Altiplano_log_wakes_useless", stats.wakes_useless),
        ("Innodb_log_waits", stats.ring_waits),
        ("Innodb_log_write_requests", stats.records),
        ("Innodb_log_writes", stats.writes),
        ("Innodb_os_log_fsyncs", stats.syncs),
        ("Innodb_os_log_written", stats.write_bytes),
        ("Innodb_redo_log_capacity_resized", wal.capacity()),
        ("Innodb_redo_log_current_lsn", wal.written_contiguous().0),
        ("Innodb_redo_log_flushed_to_disk_lsn", wal.durable().0),
        ("Innodb_redo_log_logical_size", wal.age()),
    ]
}

/// Pages in memory and on disk.
fn pages(shared: &Shared) -> [(&'static str, u64); 27] {
    let pool = shared.engine.pool().stats();
    let store = shared.engine.pool().store().stats();
    let wal = shared.engine.wal().stats();
    let (read, written) = (store.pages_read.load(Ordering::Relaxed), store.pages_written.load(Ordering::Relaxed));
    let batches = store.batches.load(Ordering::Relaxed);
    let data = pool.frames_total - pool.frames_free.min(pool.frames_total);
    [
        ("Altiplano_pool_evictions", pool.evictions),
        ("Altiplano_pool_foreground_flushes", pool.foreground_flushes),
        ("Altiplano_pool_latch_waits", pool.latch_waits),
        ("Innodb_buffer_pool_bytes_data", data * PAGE),
        ("Innodb_buffer_pool_bytes_dirty", pool.pages_dirty * PAGE),
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
        ("Innodb_data_fsyncs", store.syncs.load(Ordering::Relaxed) + wal.syncs),
        ("Innodb_data_read", read * PAGE),
        ("Innodb_data_reads", read),
        // Pages go to the doublewrite area and in place; the log's writes.
        ("Innodb_data_writes", written + batches + wal.writes),
        ("Innodb_data_written", 2 * written * PAGE + wal.write_bytes),
        ("Innodb_dblwr_pages_written", written),
        ("Innodb_dblwr_writes", batches),
        ("Innodb_page_size", PAGE),
        ("Innodb_pages_read", read),
        ("Innodb_pages_written", written),
    ]
}

/// Memory.
fn heap() -> [(&'static str, u64); 6] {
    [
        ("Altiplano_memory_heap", memory::heap_bytes()),
        ("Altiplano_memory_heap_max", memory::heap_bytes_max()),
        ("Altiplano_memory_limit", memory::limit()),
        ("Altiplano_memory_mapped", memory::mapped()),
        ("Altiplano_memory_refusals", memory::refusals()),
        ("Altiplano_memory_rescues", memory::rescues()),
    ]
}

/// Plans, prepared statements, tables that are open.
fn statements(shared: &Shared) -> [(&'static str, u64); 9] {
    let tables = shared.engine.open_tables();
    [
        ("Altiplano_plan_cache_bytes", shared.plans.bytes()),
        ("Altiplano_plan_cache_hits", shared.status.plan_cache_hits()),
        ("Altiplano_plan_cache_plans", shared.plans.len() as u64),
        ("Open_tables", tables.open),
        ("Opened_tables", tables.opened),
        ("Prepared_stmt_count", shared.prepared_statements.load(Ordering::Relaxed)),
        ("Table_open_cache_hits", tables.hits),
        ("Table_open_cache_misses", shared.catalog.table_misses()),
        ("Table_open_cache_overflows", tables.overflows),
    ]
}

/// Connections, and the threads that serve them.
fn connections(shared: &Shared) -> [(&'static str, u64); 16] {
    let (connections, threads) = (&shared.connections, shared.connections.threads());
    [
        ("Altiplano_looks_found", threads.looks_found),
        ("Altiplano_looks_in_vain", threads.looks_in_vain),
        ("Altiplano_replies_together", threads.replies_together),
        ("Altiplano_reply_batches", threads.reply_batches),
        ("Altiplano_sessions_behind_rows", threads.behind_rows.into()),
        ("Altiplano_sessions_parked", threads.parked.into()),
        ("Altiplano_sessions_resting", threads.resting.into()),
        ("Altiplano_sessions_stood_behind_rows", threads.stood_behind_rows),
        ("Altiplano_sessions_waiting_for_rows", threads.waiting_for_rows.into()),
        ("Altiplano_stand_ins", threads.stand_ins),
        ("Altiplano_threads_shared", threads.shared.into()),
        ("Max_used_connections", connections.most().0.into()),
        ("Threads_cached", threads.cached.into()),
        ("Threads_connected", u64::from(connections.count())),
        ("Threads_created", threads.created),
        ("Threads_running", u64::from(connections.running())),
    ]
}
