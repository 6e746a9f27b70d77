//! Variables that MySQL 9.7 warns of: whoever reads one by its name, or sets it, is told that it will go.

use super::known;
use mysql_error::{SqlError, Warning, codes};

/// Those without another name: reading and setting warns (1287).
const GOING: [&str; 19] = [
    "binlog_format",
    "binlog_max_flush_queue_time",
    "delayed_insert_limit",
    "delayed_insert_timeout",
    "delayed_queue_size",
    "have_profiling",
    "have_query_cache",
    "log_bin_trust_function_creators",
    "log_statements_unsafe_for_binlog",
    "max_delayed_threads",
    "max_insert_delayed_threads",
    "max_length_for_sort_data",
    "profiling",
    "profiling_history_size",
    "query_prealloc_size",
    "ssl_fips_mode",
    "sync_relay_log_info",
    "terminology_use_previous",
    "transaction_prealloc_size",
];

/// Those that have another name now.
const RENAMED: [(&str, &str); 26] = [
    ("init_slave", "init_replica"),
    ("log_slave_updates", "log_replica_updates"),
    ("log_slow_slave_statements", "log_slow_replica_statements"),
    ("master_verify_checksum", "source_verify_checksum"),
    ("pseudo_slave_mode", "pseudo_replica_mode"),
    ("rpl_stop_slave_timeout", "rpl_stop_replica_timeout"),
    ("skip_slave_start", "skip_replica_start"),
    ("slave_allow_batching", "replica_allow_batching"),
    ("slave_checkpoint_group", "replica_checkpoint_group"),
    ("slave_checkpoint_period", "replica_checkpoint_period"),
    ("slave_compressed_protocol", "replica_compressed_protocol"),
    ("slave_exec_mode", "replica_exec_mode"),
    ("slave_load_tmpdir", "replica_load_tmpdir"),
    ("slave_max_allowed_packet", "replica_max_allowed_packet"),
    ("slave_net_timeout", "replica_net_timeout"),
    ("slave_parallel_type", "replica_parallel_type"),
    ("slave_parallel_workers", "replica_parallel_workers"),
    ("slave_pending_jobs_size_max", "replica_pending_jobs_size_max"),
    ("slave_preserve_commit_order", "replica_preserve_commit_order"),
    ("slave_rows_search_algorithms", "replica_rows_search_algorithms"),
    ("slave_skip_errors", "replica_skip_errors"),
    ("slave_sql_verify_checksum", "replica_sql_verify_checksum"),
    ("slave_transaction_retries", "replica_transaction_retries"),
    ("slave_type_conversions", "replica_type_conversions"),
    ("sql_slave_skip_counter", "sql_replica_skip_counter"),
    ("sync_master_info", "sync_source_info"),
];

/// Those that will become read-only: setting warns (1681).
const BECOMING_FIXED: [&str; 3] = known(["character_set_database", "collation_database", "default_collation_for_utf8mb4"]);

/// What MySQL warns of when a statement reads a variable by its name.
pub(crate) fn of_reading(name: &str) -> Option<SqlError> {
    let instead = if GOING.contains(&name) {
        String::new()
    } else {
        // Of variables MySQL ends the sentence.
        let (_, instead) = RENAMED.into_iter().find(|(old, _)| *old == name)?;
        format!(" Please use {instead} instead.")
    };
    let text = format!("'@@{name}' is deprecated and will be removed in a future release.{instead}");
    Some(SqlError::with_message(codes::ER_WARN_DEPRECATED_SYNTAX, text))
}

/// What MySQL warns of when a variable is set.
pub(crate) fn of_setting(name: &str) -> Option<Warning> {
    if BECOMING_FIXED.contains(&name) {
        let text = format!("Updating '{name}' is deprecated. It will be made read-only in a future release.");
        return Some(SqlError::with_message(1681, text).into());
    }
    if name == "restrict_fk_on_non_standard_key" {
        return Some(codes::warn_deprecated_syntax_no_replacement(name).into());
    }
    of_reading(name).map(Into::into)
}
