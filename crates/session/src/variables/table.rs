//! The list of system variables, sorted by name.

/// Where a variable has values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One value for the server.
    Global,
    /// One value for each session, none for the server.
    Session,
    /// One value for each session, which begins as the server's.
    Both,
}

/// What values a variable takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// ON and OFF.
    Switch,
    /// An integer within bounds.
    Number {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
    },
    /// A number with a fraction.
    Real {
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
    },
    /// One of these words; also given by its position.
    Choice(&'static [&'static str]),
    /// Any text.
    Text,
    /// Some of these words, in their order; also given by a number with a bit for each.
    Set(&'static [&'static str]),
    /// A list of SQL modes.
    SqlMode,
    /// The flags of `optimizer_switch`: those that are not named keep their values.
    Switches,
}

/// A system variable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Definition {
    /// Name in lower case.
    pub name: &'static str,
    /// Scope.
    pub scope: Scope,
    /// Kind.
    pub kind: Kind,
    /// Whether SET may change it.
    pub dynamic: bool,
    /// Whether a start may not either: it says what is so.
    pub told_only: bool,
    /// Value of a server that was told nothing, as SET would take it.
    pub default: &'static str,
}

/// The variable of a name, in any case.
pub fn find(name: &str) -> Option<&'static Definition> {
    let mut slot = slot_of(name.as_bytes());
    while let Some(at) = SLOTS[slot].checked_sub(1) {
        let definition = &DEFINITIONS[usize::from(at)];
        if definition.name.eq_ignore_ascii_case(name) {
            return Some(definition);
        }
        slot = (slot + 1) % SLOT_COUNT;
    }
    None
}

/// Position in [`DEFINITIONS`] of a variable whose name the program itself writes; to be asked when it is compiled, where a name that there is not is an error.
pub(crate) const fn position(name: &str) -> usize {
    let mut slot = slot_of(name.as_bytes());
    while let Some(at) = (SLOTS[slot] as usize).checked_sub(1) {
        if DEFINITIONS[at].name.as_bytes().eq_ignore_ascii_case(name.as_bytes()) {
            return at;
        }
        slot = (slot + 1) % SLOT_COUNT;
    }
    panic!("no such variable")
}

/// Names of which each is a variable; to be asked when they are compiled.
pub(crate) const fn known<const N: usize>(names: [&'static str; N]) -> [&'static str; N] {
    let mut at = 0;
    while at < N {
        position(names[at]);
        at += 1;
    }
    names
}

/// The definition of a variable that the program itself names: `variable!("autocommit")`. What clients name is looked up by [`find`]. (The position alone is a constant:
/// a constant reference may be to a copy of the table, and [`index_of`] goes by addresses.)
macro_rules! variable {
    ($name:literal) => {
        &$crate::variables::DEFINITIONS[const { $crate::variables::position($name) }]
    };
}
pub(crate) use variable;

/// Position of a variable in [`DEFINITIONS`].
pub(crate) fn index_of(definition: &'static Definition) -> usize {
    let at = (std::ptr::from_ref(definition).addr() - DEFINITIONS.as_ptr().addr()) / size_of::<Definition>();
    debug_assert!(std::ptr::eq(&DEFINITIONS[at], definition), "definitions come from the table");
    at
}

/// Three times as many as there are names, so that most are found at the first look.
const SLOT_COUNT: usize = 2048;

/// Positions in [`DEFINITIONS`] plus one, 0 where there is none, each in the first free slot from its name's on: a login looks up a hundred names.
static SLOTS: [u16; SLOT_COUNT] = {
    let mut slots = [0; SLOT_COUNT];
    let mut at = 0;
    while at < DEFINITIONS.len() {
        let mut slot = slot_of(DEFINITIONS[at].name.as_bytes());
        while slots[slot] != 0 {
            slot = (slot + 1) % SLOT_COUNT;
        }
        at += 1;
        slots[slot] = at as u16;
    }
    slots
};

/// Where a name, in any case, is looked for first (FNV-1a, its upper bits mixed in).
const fn slot_of(name: &[u8]) -> usize {
    let mut hash = 0x811c_9dc5_u32;
    let mut at = 0;
    while at < name.len() {
        hash = (hash ^ name[at].to_ascii_lowercase() as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    (hash ^ hash >> 16) as usize % SLOT_COUNT
}

const fn switch(name: &'static str, scope: Scope, default: &'static str) -> Definition {
    Definition { name, scope, kind: Kind::Switch, dynamic: true, told_only: false, default }
}

const fn number(name: &'static str, scope: Scope, default: &'static str, min: u64, max: u64) -> Definition {
    Definition { name, scope, kind: Kind::Number { min, max }, dynamic: true, told_only: false, default }
}

/// A size or a count that MySQL is tuned by and that nothing here depends on: clients set it, SHOW VARIABLES tells it, and it has no effect.
const fn knob(name: &'static str, default: &'static str, min: u64, max: u64) -> Definition {
    number(name, Scope::Both, default, min, max)
}

const fn real(name: &'static str, default: &'static str, min: f64, max: f64) -> Definition {
    Definition { name, scope: Scope::Global, kind: Kind::Real { min, max }, dynamic: true, told_only: false, default }
}

const fn choice(name: &'static str, scope: Scope, default: &'static str, names: &'static [&'static str]) -> Definition {
    Definition { name, scope, kind: Kind::Choice(names), dynamic: true, told_only: false, default }
}

const fn text(name: &'static str, scope: Scope, default: &'static str) -> Definition {
    Definition { name, scope, kind: Kind::Text, dynamic: true, told_only: false, default }
}

/// The same, but SET refuses it (1238).
const fn fixed(mut definition: Definition) -> Definition {
    definition.dynamic = false;
    definition
}

/// The same, and a start refuses another value (1231): it would change nothing.
const fn told(definition: Definition) -> Definition {
    let mut told = fixed(definition);
    told.told_only = true;
    told
}

/// A file, a directory or a setting that there is none of.
const fn empty(name: &'static str) -> Definition {
    told(text(name, Scope::Global, ""))
}

/// Something that MySQL can do and that is never done here.
const fn off(name: &'static str) -> Definition {
    told(switch(name, Scope::Global, "0"))
}

/// How much there may be of what there is none of.
const fn zero(name: &'static str) -> Definition {
    told(number(name, Scope::Global, "0", 0, MAX))
}

const ISOLATION: &[&str] = &["READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"];
/// In MySQL's order: they are also set by number.
const AES_MODES: &[&str] = &[
    "aes-128-ecb",
    "aes-192-ecb",
    "aes-256-ecb",
    "aes-128-cbc",
    "aes-192-cbc",
    "aes-256-cbc",
    "aes-128-cfb1",
    "aes-192-cfb1",
    "aes-256-cfb1",
    "aes-128-cfb8",
    "aes-192-cfb8",
    "aes-256-cfb8",
    "aes-128-cfb128",
    "aes-192-cfb128",
    "aes-256-cfb128",
    "aes-128-ofb",
    "aes-192-ofb",
    "aes-256-ofb",
];
const MAX: u64 = u64::MAX;

use Scope::{Both, Global, Session};

/// All of them.
pub static DEFINITIONS: &[Definition] = &[
    switch("activate_all_roles_on_login", Global, "0"),
    empty("admin_address"),
    empty("admin_ssl_ca"),
    empty("admin_ssl_capath"),
    empty("admin_ssl_cert"),
    empty("admin_ssl_cipher"),
    empty("admin_ssl_crl"),
    empty("admin_ssl_crlpath"),
    empty("admin_ssl_key"),
    empty("admin_tls_ciphersuites"),
    text("altiplano_admission", Global, "adaptive"),
    fixed(text("altiplano_log_archive", Global, "")),
    // Microseconds: about two wake-ups of idle processors (docs/design/attention.md).
    fixed(number("altiplano_look_for_client", Global, "50", 0, 1_000_000)),
    // 0: what the machine or the control group has, less a tenth.
    number("altiplano_memory_limit", Global, "0", 0, MAX),
    fixed(switch("altiplano_replies_together", Global, "1")),
    // What wakes up after a silence pays a tenth of a millisecond; below a second, many of them would.
    number("altiplano_rest_after", Global, "3", 0, 31_536_000),
    // Where sharing began to gain by measurement (docs/design/threads.md).
    fixed(number("altiplano_shared_threads_at_work", Global, "3", 0, 1_000_000)),
    fixed(number("altiplano_shared_threads_from", Global, "16", 0, 1_000_000)),
    fixed(switch("altiplano_stand_in", Global, "1")),
    fixed(text("authentication_policy", Global, "*,,")),
    // Made at the start, when there are none.
    fixed(switch("auto_generate_certs", Global, "1")),
    number("auto_increment_increment", Both, "1", 1, 65535),
    number("auto_increment_offset", Both, "1", 1, 65535),
    switch("autocommit", Both, "1"),
    off("automatic_sp_privileges"),
    fixed(number("back_log", Global, "151", 1, 65535)),
    fixed(text("basedir", Global, "/")),
    switch("big_tables", Both, "0"),
    fixed(text("bind_address", Global, "127.0.0.1")),
    told(choice("binlog_checksum", Global, "NONE", &["NONE", "CRC32"])),
    told(switch("binlog_direct_non_transactional_updates", Both, "0")),
    off("binlog_encryption"),
    off("binlog_expire_logs_auto_purge"),
    zero("binlog_expire_logs_seconds"),
    // There is no binary log whose form these would change.
    choice("binlog_format", Both, "ROW", &["MIXED", "STATEMENT", "ROW"]),
    zero("binlog_group_commit_sync_delay"),
    zero("binlog_group_commit_sync_no_delay_count"),
    zero("binlog_max_flush_queue_time"),
    off("binlog_rotate_encryption_master_key_at_startup"),
    choice("binlog_row_image", Both, "FULL", &["MINIMAL", "NOBLOB", "FULL"]),
    told(text("binlog_row_value_options", Both, "")),
    told(switch("binlog_rows_query_log_events", Both, "0")),
    told(switch("binlog_transaction_compression", Both, "0")),
    choice("block_encryption_mode", Both, "aes-128-ecb", AES_MODES),
    knob("bulk_insert_buffer_size", "8388608", 0, MAX),
    // Made when a client first wants it, and kept in memory.
    told(switch("caching_sha2_password_auto_generate_rsa_keys", Global, "1")),
    told(number("caching_sha2_password_digest_rounds", Global, "5000", 5000, 5000)),
    off("caching_sha2_password_enforce_storage_format"),
    empty("caching_sha2_password_private_key_path"),
    off("caching_sha2_password_proxy_users"),
    empty("caching_sha2_password_public_key_path"),
    told(text("caching_sha2_password_storage_format", Global, "CRYPT5")),
    text("character_set_client", Both, "utf8mb4"),
    text("character_set_connection", Both, "utf8mb4"),
    text("character_set_database", Both, "utf8mb4"),
    fixed(text("character_set_filesystem", Both, "binary")),
    text("character_set_results", Both, "utf8mb4"),
    text("character_set_server", Both, "utf8mb4"),
    fixed(text("character_set_system", Global, "utf8mb3")),
    empty("character_sets_dir"),
    off("check_proxy_users"),
    text("collation_connection", Both, "utf8mb4_0900_ai_ci"),
    text("collation_database", Both, "utf8mb4_0900_ai_ci"),
    text("collation_server", Both, "utf8mb4_0900_ai_ci"),
    choice("completion_type", Both, "NO_CHAIN", &["NO_CHAIN", "CHAIN", "RELEASE"]),
    told(choice("concurrent_insert", Global, "NEVER", &["NEVER", "AUTO", "ALWAYS"])),
    number("connect_timeout", Global, "10", 2, 31_536_000),
    // Of a statement; MySQL's is of a connection, and ends it.
    number("connection_memory_limit", Both, "1073741824", 2_097_152, MAX),
    // A limit of the control group counts as what there is.
    told(switch("container_aware", Global, "1")),
    off("core_file"),
    off("create_admin_listener_thread"),
    number("cte_max_recursion_depth", Both, "1000", 0, 4_294_967_295),
    fixed(text("datadir", Global, "")),
    fixed(text("default_authentication_plugin", Global, "caching_sha2_password")),
    fixed(text("default_collation_for_utf8mb4", Both, "utf8mb4_0900_ai_ci")),
    number("default_password_lifetime", Global, "0", 0, 65535),
    choice("default_storage_engine", Both, "InnoDB", &["InnoDB"]),
    told(switch("default_table_encryption", Both, "0")),
    choice("default_tmp_storage_engine", Both, "InnoDB", &["InnoDB"]),
    number("default_week_format", Both, "0", 0, 7),
    told(choice("delay_key_write", Global, "OFF", &["OFF", "ON", "ALL"])),
    fixed(text("disabled_storage_engines", Global, "")),
    switch("disconnect_on_expired_password", Global, "1"),
    number("div_precision_increment", Both, "4", 0, 30),
    off("enable_cascade_triggers"),
    off("enable_secondary_engine_statistics"),
    fixed(switch("end_markers_in_json", Both, "0")),
    choice("enforce_gtid_consistency", Global, "OFF", &["OFF"]),
    number("eq_range_index_dive_limit", Both, "200", 0, 4_294_967_295),
    fixed(number("error_count", Session, "0", 0, 65535)),
    // None runs here: there are no events.
    choice("event_scheduler", Global, "OFF", &["OFF", "ON", "DISABLED"]),
    choice("explain_format", Both, "TREE", &["TRADITIONAL", "TRADITIONAL_STRICT", "TREE", "JSON"]),
    number("explain_json_format_version", Both, "2", 1, 2),
    fixed(switch("explicit_defaults_for_timestamp", Both, "1")),
    empty("external_table_secondary_storage_engine"),
    empty("external_table_storage_engine"),
    // Nobody logs in as another.
    fixed(text("external_user", Session, "NULL")),
    fixed(switch("flush", Global, "0")),
    zero("flush_time"),
    switch("foreign_key_checks", Both, "1"),
    fixed(number("ft_max_word_len", Global, "84", 10, 84)),
    fixed(number("ft_min_word_len", Global, "4", 1, 16)),
    empty("ft_stopword_file"),
    switch("general_log", Global, "0"),
    text("general_log_file", Global, ""),
    number("generated_random_password_length", Both, "20", 5, 255),
    // No limit: that of a server is `altiplano_memory_limit`.
    told(number("global_connection_memory_limit", Global, "18446744073709551615", 0, MAX)),
    told(switch("global_connection_memory_tracking", Both, "0")),
    number("group_concat_max_len", Both, "1024", 4, MAX),
    fixed(text("gtid_executed", Global, "")),
    zero("gtid_executed_compression_period"),
    choice("gtid_mode", Global, "OFF", &["OFF"]),
    choice("gtid_next", Session, "AUTOMATIC", &["AUTOMATIC"]),
    fixed(text("gtid_owned", Both, "")),
    fixed(text("gtid_purged", Global, "")),
    fixed(choice("have_compress", Global, "YES", &["YES"])),
    fixed(choice("have_dynamic_loading", Global, "NO", &["NO"])),
    fixed(choice("have_geometry", Global, "NO", &["NO"])),
    // MySQL 9 has these two no more; clients of its predecessors look at them.
    fixed(text("have_openssl", Global, "DISABLED")),
    fixed(choice("have_profiling", Global, "YES", &["YES"])),
    fixed(choice("have_query_cache", Global, "NO", &["NO"])),
    fixed(choice("have_rtree_keys", Global, "NO", &["NO"])),
    fixed(text("have_ssl", Global, "DISABLED")),
    fixed(choice("have_statement_timeout", Global, "YES", &["YES"])),
    fixed(choice("have_symlink", Global, "NO", &["NO"])),
    number("histogram_generation_max_mem_size", Both, "20000000", 1_000_000, MAX),
    zero("host_cache_size"),
    fixed(text("hostname", Global, "localhost")),
    number("identity", Session, "0", 0, MAX),
    // Statistics are always current; nothing is cached that could expire.
    number("information_schema_stats_expiry", Both, "86400", 0, 31_536_000),
    text("init_connect", Global, ""),
    empty("init_file"),
    empty("init_replica"),
    empty("init_slave"),
    off("innodb_adaptive_hash_index"),
    zero("innodb_adaptive_max_sleep_delay"),
    off("innodb_api_disable_rowlock"),
    off("innodb_api_enable_binlog"),
    off("innodb_api_enable_mdl"),
    zero("innodb_api_trx_level"),
    fixed(number("innodb_autoinc_lock_mode", Global, "2", 0, 2)),
    // One piece, as there is one instance.
    fixed(number("innodb_buffer_pool_chunk_size", Global, "134217728", 0, MAX)),
    switch("innodb_buffer_pool_dump_at_shutdown", Global, "1"),
    switch("innodb_buffer_pool_dump_now", Global, "0"),
    // MySQL's 25 leaves a server cold that had all of its data in memory; the list costs a byte or two for each page.
    number("innodb_buffer_pool_dump_pct", Global, "100", 1, 100),
    text("innodb_buffer_pool_filename", Global, "ib_buffer_pool"),
    off("innodb_buffer_pool_in_core_file"),
    told(number("innodb_buffer_pool_instances", Global, "1", 1, 1)),
    switch("innodb_buffer_pool_load_abort", Global, "0"),
    fixed(switch("innodb_buffer_pool_load_at_startup", Global, "1")),
    switch("innodb_buffer_pool_load_now", Global, "0"),
    fixed(number("innodb_buffer_pool_size", Global, "134217728", 0, MAX)),
    zero("innodb_change_buffer_max_size"),
    told(choice("innodb_change_buffering", Global, "none", &["none"])),
    // CRC-32C, as MySQL's of this name.
    told(choice("innodb_checksum_algorithm", Global, "crc32", &["crc32"])),
    off("innodb_cmp_per_index_enabled"),
    zero("innodb_commit_concurrency"),
    zero("innodb_compression_failure_threshold_pct"),
    zero("innodb_compression_level"),
    zero("innodb_compression_pad_pct_max"),
    // What a new one begins with.
    told(text("innodb_data_file_path", Global, "data:4M:autoextend")),
    empty("innodb_data_home_dir"),
    // Runs of less would be too many to merge at once.
    number("innodb_ddl_buffer_size", Both, "67108864", 67_108_864, 4_294_967_295),
    told(number("innodb_ddl_threads", Both, "1", 1, 64)),
    told(switch("innodb_deadlock_detect", Global, "1")),
    off("innodb_dedicated_server"),
    fixed(choice("innodb_default_row_format", Global, "dynamic", &["dynamic"])),
    empty("innodb_directories"),
    off("innodb_disable_sort_file_cache"),
    fixed(switch("innodb_doublewrite", Global, "1")),
    zero("innodb_doublewrite_batch_size"),
    empty("innodb_doublewrite_dir"),
    told(number("innodb_doublewrite_files", Global, "1", 1, 256)),
    told(number("innodb_doublewrite_pages", Global, "256", 1, 512)),
    told(number("innodb_fast_shutdown", Global, "1", 0, 2)),
    fixed(switch("innodb_file_per_table", Global, "0")),
    // A sixteenth of a page is left free, as where MySQL says 100.
    told(number("innodb_fill_factor", Global, "100", 10, 100)),
    // How often the log is synced that nobody waits for.
    told(number("innodb_flush_log_at_timeout", Global, "1", 0, 2700)),
    number("innodb_flush_log_at_trx_commit", Global, "1", 0, 2),
    fixed(text("innodb_flush_method", Global, "O_DIRECT")),
    told(choice("innodb_flush_neighbors", Global, "0", &["0", "1", "2"])),
    off("innodb_force_load_corrupted"),
    zero("innodb_force_recovery"),
    zero("innodb_fsync_threshold"),
    empty("innodb_ft_aux_table"),
    off("innodb_ft_enable_diag_print"),
    told(switch("innodb_ft_enable_stopword", Both, "0")),
    empty("innodb_ft_server_stopword_table"),
    told(text("innodb_ft_user_stopword_table", Both, "")),
    number("innodb_lock_wait_timeout", Both, "50", 1, 1_073_741_824),
    told(number("innodb_log_buffer_size", Global, "67108864", 0, MAX)),
    told(switch("innodb_log_checksums", Global, "1")),
    off("innodb_log_compressed_pages"),
    told(text("innodb_log_group_home_dir", Global, "./log/")),
    // Blocks of the log are written whole.
    told(number("innodb_log_write_ahead_size", Global, "4096", 512, 16384)),
    off("innodb_log_writer_threads"),
    told(real("innodb_max_dirty_pages_pct", "75", 0.0, 99.99)),
    number("innodb_max_purge_lag", Global, "0", 0, 4_294_967_295),
    number("innodb_max_purge_lag_delay", Global, "0", 0, 10_000_000),
    empty("innodb_monitor_disable"),
    empty("innodb_monitor_enable"),
    empty("innodb_monitor_reset"),
    empty("innodb_monitor_reset_all"),
    // The executor looks after foreign keys, no storage engine.
    off("innodb_native_foreign_keys"),
    off("innodb_numa_interleave"),
    number("innodb_online_alter_log_max_size", Global, "134217728", 65_536, MAX),
    off("innodb_optimize_fulltext_only"),
    told(number("innodb_page_cleaners", Global, "1", 1, 64)),
    fixed(number("innodb_page_size", Global, "16384", 16384, 16384)),
    told(number("innodb_parallel_read_threads", Both, "1", 1, 256)),
    switch("innodb_print_all_deadlocks", Global, "0"),
    off("innodb_print_ddl_logs"),
    fixed(number("innodb_purge_threads", Global, "1", 1, 32)),
    off("innodb_random_read_ahead"),
    // Those that read ahead (`buffer_pool::PoolConfig`); who needs a page at once reads it itself.
    told(number("innodb_read_io_threads", Global, "2", 1, 64)),
    fixed(switch("innodb_read_only", Global, "0")),
    empty("innodb_redo_log_archive_dirs"),
    fixed(number("innodb_redo_log_capacity", Global, "1073741824", 0, MAX)),
    off("innodb_redo_log_encrypt"),
    zero("innodb_replication_delay"),
    fixed(switch("innodb_rollback_on_timeout", Global, "0")),
    // Tables are sampled when a statement is planned: what dumps turn off and on again is not there.
    switch("innodb_stats_auto_recalc", Global, "1"),
    // Of those that count rows by key: NULL is one value.
    told(choice("innodb_stats_method", Global, "nulls_equal", &["nulls_equal"])),
    switch("innodb_stats_on_metadata", Global, "0"),
    off("innodb_stats_persistent"),
    // Keys that are looked at where an index is too large to be counted.
    told(number("innodb_stats_transient_sample_pages", Global, "8", 1, MAX)),
    off("innodb_status_output"),
    off("innodb_status_output_locks"),
    // What it is strict about changes nothing here.
    switch("innodb_strict_mode", Both, "1"),
    // There are no locks of tables below those that LOCK TABLES takes.
    switch("innodb_table_locks", Both, "1"),
    zero("innodb_thread_sleep_delay"),
    told(text("innodb_tmpdir", Both, "")),
    told(text("innodb_undo_directory", Global, "./undo/")),
    off("innodb_undo_log_encrypt"),
    told(switch("innodb_use_fdatasync", Global, "1")),
    off("innodb_validate_tablespace_paths"),
    fixed(text("innodb_version", Global, "8.0.40")),
    number("insert_id", Session, "0", 0, MAX),
    number("interactive_timeout", Both, "28800", 1, 31_536_000),
    choice("internal_tmp_mem_storage_engine", Both, "TempTable", &["TempTable", "MEMORY"]),
    knob("join_buffer_size", "262144", 128, MAX),
    told(switch("keep_files_on_create", Both, "0")),
    number("key_buffer_size", Global, "8388608", 0, MAX),
    told(number("key_cache_block_size", Global, "1024", 512, 16384)),
    off("keyring_operations"),
    told(switch("large_files_support", Global, "1")),
    zero("large_page_size"),
    fixed(switch("large_pages", Global, "0")),
    number("last_insert_id", Session, "0", 0, MAX),
    choice("lc_messages", Both, "en_US", super::languages::LANGUAGES),
    empty("lc_messages_dir"),
    text("lc_time_names", Both, "en_US"),
    fixed(text("license", Global, "Apache-2.0")),
    switch("local_infile", Global, "1"),
    number("lock_wait_timeout", Both, "60", 1, 31_536_000),
    off("locked_in_memory"),
    fixed(switch("log_bin", Global, "0")),
    empty("log_bin_basename"),
    empty("log_bin_index"),
    switch("log_bin_trust_function_creators", Global, "0"),
    fixed(text("log_error", Global, "stderr")),
    empty("log_error_suppression_list"),
    // Errors, warnings and notes.
    told(number("log_error_verbosity", Global, "3", 1, 3)),
    Definition {
        name: "log_output",
        scope: Global,
        kind: Kind::Set(&["NONE", "FILE", "TABLE"]),
        dynamic: true,
        told_only: false,
        default: "FILE",
    },
    switch("log_queries_not_using_indexes", Global, "0"),
    switch("log_raw", Global, "0"),
    off("log_replica_updates"),
    off("log_slave_updates"),
    switch("log_slow_admin_statements", Global, "0"),
    switch("log_slow_extra", Global, "0"),
    off("log_slow_replica_statements"),
    off("log_slow_slave_statements"),
    off("log_statements_unsafe_for_binlog"),
    number("log_throttle_queries_not_using_indexes", Global, "0", 0, 4_294_967_295),
    told(choice("log_timestamps", Global, "UTC", &["UTC", "SYSTEM"])),
    Definition {
        name: "long_query_time",
        scope: Both,
        kind: Kind::Real { min: 0.0, max: 31_536_000.0 },
        dynamic: true,
        told_only: false,
        default: "10",
    },
    switch("low_priority_updates", Both, "0"),
    fixed(switch("lower_case_file_system", Global, "0")),
    fixed(number("lower_case_table_names", Global, "0", 0, 2)),
    text("mandatory_roles", Global, ""),
    off("master_verify_checksum"),
    number("max_allowed_packet", Both, "67108864", 1024, 1_073_741_824),
    number("max_connect_errors", Global, "100", 1, MAX),
    number("max_connections", Global, "10000", 1, 100_000),
    told(number("max_delayed_threads", Both, "0", 0, 16384)),
    fixed(number("max_digest_length", Global, "1024", 0, 1_048_576)),
    number("max_error_count", Both, "1024", 0, 65535),
    number("max_execution_time", Both, "0", 0, 4_294_967_295),
    knob("max_heap_table_size", "16777216", 16384, MAX),
    told(number("max_insert_delayed_threads", Both, "0", 0, 16384)),
    // No join is too big: others than this are refused.
    number("max_join_size", Both, "18446744073709551615", 1, MAX),
    knob("max_length_for_sort_data", "4096", 4, 8_388_608),
    number("max_prepared_stmt_count", Global, "1048576", 0, 4_194_304),
    zero("max_relay_log_size"),
    knob("max_seeks_for_key", "18446744073709551615", 1, MAX),
    knob("max_sort_length", "1024", 4, 8_388_608),
    told(number("max_sp_recursion_depth", Both, "0", 0, 255)),
    number("max_user_connections", Global, "0", 0, 4_294_967_295),
    number("max_write_lock_count", Global, "18446744073709551615", 1, MAX),
    // Of the slow query log.
    knob("min_examined_row_limit", "0", 0, MAX),
    told(text("myisam_recover_options", Global, "OFF")),
    knob("myisam_sort_buffer_size", "8388608", 4096, MAX),
    off("myisam_use_mmap"),
    fixed(knob("net_buffer_length", "16384", 1024, 1_048_576)),
    number("net_read_timeout", Both, "30", 1, 31_536_000),
    knob("net_retry_count", "10", 1, MAX),
    number("net_write_timeout", Both, "60", 1, 31_536_000),
    fixed(switch("offline_mode", Global, "0")),
    switch("old_alter_table", Both, "0"),
    fixed(number("open_files_limit", Global, "0", 0, MAX)),
    number("optimizer_prune_level", Both, "1", 0, 1),
    number("optimizer_search_depth", Both, "62", 0, 62),
    Definition { name: "optimizer_switch", scope: Both, kind: Kind::Switches, dynamic: true, told_only: false, default: "" },
    fixed(text("optimizer_trace", Both, "enabled=off,one_line=off")),
    told(number("optimizer_trace_limit", Both, "0", 0, 2_147_483_647)),
    told(number("optimizer_trace_max_mem_size", Both, "0", 0, 4_294_967_295)),
    fixed(switch("partial_revokes", Global, "0")),
    number("password_history", Global, "0", 0, 4_294_967_295),
    switch("password_require_current", Global, "0"),
    number("password_reuse_interval", Global, "0", 0, 4_294_967_295),
    fixed(switch("performance_schema", Global, "0")),
    zero("performance_schema_accounts_size"),
    zero("performance_schema_digests_size"),
    zero("performance_schema_events_stages_history_long_size"),
    zero("performance_schema_events_stages_history_size"),
    zero("performance_schema_events_statements_history_long_size"),
    zero("performance_schema_events_statements_history_size"),
    zero("performance_schema_events_transactions_history_long_size"),
    zero("performance_schema_events_transactions_history_size"),
    zero("performance_schema_events_waits_history_long_size"),
    zero("performance_schema_events_waits_history_size"),
    zero("performance_schema_hosts_size"),
    zero("performance_schema_max_cond_classes"),
    zero("performance_schema_max_cond_instances"),
    zero("performance_schema_max_digest_length"),
    zero("performance_schema_max_file_classes"),
    zero("performance_schema_max_file_handles"),
    zero("performance_schema_max_file_instances"),
    zero("performance_schema_max_index_stat"),
    zero("performance_schema_max_logger_classes"),
    zero("performance_schema_max_memory_classes"),
    zero("performance_schema_max_metadata_locks"),
    zero("performance_schema_max_meter_classes"),
    zero("performance_schema_max_metric_classes"),
    zero("performance_schema_max_mutex_classes"),
    zero("performance_schema_max_mutex_instances"),
    zero("performance_schema_max_prepared_statements_instances"),
    zero("performance_schema_max_program_instances"),
    zero("performance_schema_max_rwlock_classes"),
    zero("performance_schema_max_rwlock_instances"),
    zero("performance_schema_max_socket_classes"),
    zero("performance_schema_max_socket_instances"),
    zero("performance_schema_max_sql_text_length"),
    zero("performance_schema_max_stage_classes"),
    zero("performance_schema_max_statement_classes"),
    zero("performance_schema_max_statement_stack"),
    zero("performance_schema_max_table_handles"),
    zero("performance_schema_max_table_instances"),
    zero("performance_schema_max_table_lock_stat"),
    zero("performance_schema_max_thread_classes"),
    zero("performance_schema_max_thread_instances"),
    fixed(number("performance_schema_session_connect_attrs_size", Global, "512", 0, 1_048_576)),
    zero("performance_schema_setup_actors_size"),
    zero("performance_schema_setup_objects_size"),
    off("performance_schema_show_processlist"),
    zero("performance_schema_users_size"),
    empty("persist_only_admin_x509_subject"),
    told(switch("persist_sensitive_variables_in_plaintext", Global, "1")),
    // OFF: a start without what SET PERSIST has kept.
    fixed(switch("persisted_globals_load", Global, "1")),
    fixed(text("pid_file", Global, "")),
    fixed(text("plugin_dir", Global, "")),
    fixed(number("port", Global, "3306", 0, 65535)),
    number("preload_buffer_size", Both, "32768", 1024, 1_073_741_824),
    switch("print_identified_with_as_hex", Both, "0"),
    switch("profiling", Both, "0"),
    number("profiling_history_size", Both, "15", 0, 100),
    text("protocol_compression_algorithms", Global, "zlib,zstd,uncompressed"),
    fixed(number("protocol_version", Global, "10", 10, 10)),
    fixed(text("proxy_user", Session, "NULL")),
    fixed(number("pseudo_thread_id", Session, "0", 0, MAX)),
    number("query_alloc_block_size", Both, "8192", 1024, 4_294_966_272),
    number("query_prealloc_size", Both, "8192", 8192, MAX),
    number("range_alloc_block_size", Both, "4096", 4096, 4_294_966_272),
    number("range_optimizer_max_mem_size", Both, "8388608", 0, MAX),
    knob("read_buffer_size", "131072", 8192, 2_147_479_552),
    fixed(switch("read_only", Global, "0")),
    knob("read_rnd_buffer_size", "262144", 1, 2_147_483_647),
    empty("relay_log"),
    empty("relay_log_basename"),
    empty("relay_log_index"),
    off("relay_log_purge"),
    off("relay_log_recovery"),
    zero("relay_log_space_limit"),
    off("replica_allow_batching"),
    off("replica_allow_higher_version_source"),
    off("replica_compressed_protocol"),
    zero("replica_parallel_workers"),
    off("replica_preserve_commit_order"),
    told(text("replica_skip_errors", Global, "OFF")),
    off("replica_sql_verify_checksum"),
    zero("replica_transaction_retries"),
    empty("replica_type_conversions"),
    off("replication_optimize_for_static_plugin_config"),
    off("replication_sender_observe_commit_only"),
    fixed(text("report_host", Global, "")),
    empty("report_password"),
    fixed(number("report_port", Global, "3306", 0, 65535)),
    empty("report_user"),
    switch("require_secure_transport", Global, "0"),
    switch("restrict_fk_on_non_standard_key", Both, "1"),
    choice("resultset_metadata", Session, "FULL", &["NONE", "FULL"]),
    // NULL: nobody reads or writes files of the machine by statements.
    fixed(text("secure_file_priv", Global, "NULL")),
    number("select_into_buffer_size", Both, "131072", 8192, 2_147_479_552),
    switch("select_into_disk_sync", Both, "0"),
    number("select_into_disk_sync_delay", Both, "0", 0, 31_536_000),
    fixed(number("server_id", Global, "1", 0, 4_294_967_295)),
    told(number("server_id_bits", Global, "32", 0, 32)),
    // Made at the first start and kept in the data directory; none without one.
    told(text("server_uuid", Global, "")),
    // There are no GTIDs, so none is ever told.
    choice("session_track_gtids", Both, "OFF", &["OFF", "OWN_GTID", "ALL_GTIDS"]),
    switch("session_track_schema", Both, "1"),
    switch("session_track_state_change", Both, "0"),
    text(
        "session_track_system_variables",
        Both,
        "time_zone,autocommit,character_set_client,character_set_results,character_set_connection",
    ),
    choice("session_track_transaction_info", Both, "OFF", &["OFF", "STATE", "CHARACTERISTICS"]),
    off("sha256_password_auto_generate_rsa_keys"),
    empty("sha256_password_private_key_path"),
    off("sha256_password_proxy_users"),
    empty("sha256_password_public_key_path"),
    off("show_create_table_verbosity"),
    switch("show_gipk_in_create_table_and_information_schema", Both, "1"),
    told(switch("skip_external_locking", Global, "1")),
    fixed(switch("skip_name_resolve", Global, "1")),
    fixed(switch("skip_networking", Global, "0")),
    told(switch("skip_replica_start", Global, "1")),
    fixed(switch("skip_show_database", Global, "0")),
    told(switch("skip_slave_start", Global, "1")),
    off("slave_allow_batching"),
    off("slave_compressed_protocol"),
    zero("slave_parallel_workers"),
    off("slave_preserve_commit_order"),
    told(text("slave_skip_errors", Global, "OFF")),
    off("slave_sql_verify_checksum"),
    zero("slave_transaction_retries"),
    empty("slave_type_conversions"),
    switch("slow_query_log", Global, "0"),
    text("slow_query_log_file", Global, ""),
    switch("snapshot_isolation", Both, "0"),
    fixed(text("socket", Global, "")),
    knob("sort_buffer_size", "262144", 32768, MAX),
    off("source_verify_checksum"),
    switch("sql_auto_is_null", Both, "0"),
    switch("sql_big_selects", Both, "1"),
    switch("sql_buffer_result", Both, "0"),
    switch("sql_generate_invisible_primary_key", Both, "0"),
    // There is no log that it would keep a session out of.
    switch("sql_log_bin", Session, "1"),
    switch("sql_log_off", Both, "0"),
    Definition { name: "sql_mode", scope: Both, kind: Kind::SqlMode, dynamic: true, told_only: false, default: "" },
    switch("sql_notes", Both, "1"),
    switch("sql_quote_show_create", Both, "1"),
    zero("sql_replica_skip_counter"),
    switch("sql_require_primary_key", Both, "0"),
    switch("sql_safe_updates", Both, "0"),
    number("sql_select_limit", Both, "18446744073709551615", 0, MAX),
    zero("sql_slave_skip_counter"),
    switch("sql_warnings", Both, "0"),
    text("ssl_ca", Global, "ca.pem"),
    empty("ssl_capath"),
    text("ssl_cert", Global, "server-cert.pem"),
    empty("ssl_cipher"),
    text("ssl_crl", Global, ""),
    empty("ssl_crlpath"),
    off("ssl_fips_mode"),
    text("ssl_key", Global, "server-key.pem"),
    told(switch("ssl_session_cache_mode", Global, "1")),
    number("stored_program_cache", Global, "256", 16, 524_288),
    fixed(switch("super_read_only", Global, "0")),
    number("sync_binlog", Global, "1", 0, 4_294_967_295),
    zero("sync_master_info"),
    zero("sync_relay_log"),
    zero("sync_relay_log_info"),
    zero("sync_source_info"),
    fixed(text("system_time_zone", Global, "UTC")),
    number("table_definition_cache", Global, "2000", 400, 524_288),
    off("table_encryption_privilege_check"),
    number("table_open_cache", Global, "4000", 1, 524_288),
    fixed(number("table_open_cache_instances", Global, "16", 1, 64)),
    zero("temptable_max_mmap"),
    // No instrument has an older name.
    choice("terminology_use_previous", Both, "NONE", &["NONE", "BEFORE_8_0_26", "BEFORE_8_2_0"]),
    number("thread_cache_size", Global, "512", 0, 16384),
    fixed(text("thread_handling", Global, "one-thread-per-connection")),
    fixed(number("thread_stack", Global, "1966080", 131_072, MAX)),
    text("time_zone", Both, "SYSTEM"),
    Definition {
        name: "timestamp",
        scope: Session,
        kind: Kind::Real { min: 0.0, max: 2_147_483_647.0 },
        dynamic: true,
        told_only: false,
        default: "0",
    },
    off("tls_certificates_enforced_validation"),
    empty("tls_ciphersuites"),
    text("tls_version", Global, "TLSv1.2,TLSv1.3"),
    knob("tmp_table_size", "16777216", 1024, MAX),
    // Empty: a directory `tmp` in the data directory.
    fixed(text("tmpdir", Global, "")),
    number("transaction_alloc_block_size", Both, "8192", 1024, 131_072),
    choice("transaction_isolation", Both, "REPEATABLE-READ", ISOLATION),
    number("transaction_prealloc_size", Both, "4096", 1024, 131_072),
    switch("transaction_read_only", Both, "0"),
    switch("unique_checks", Both, "1"),
    choice("updatable_views_with_limit", Both, "YES", &["YES"]),
    fixed(text("version", Global, "")),
    fixed(text("version_comment", Global, "Altiplano")),
    fixed(text("version_compile_machine", Global, "x86_64")),
    fixed(text("version_compile_os", Global, "Linux")),
    number("wait_timeout", Both, "28800", 1, 31_536_000),
    fixed(number("warning_count", Session, "0", 0, 65535)),
    switch("windowing_use_high_precision", Both, "1"),
    fixed(switch("xa_detach_on_prepare", Both, "1")),
];
