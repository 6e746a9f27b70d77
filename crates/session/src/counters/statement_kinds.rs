//! `Com_…`: how often each kind of statement came that has no plan. Those with one, and those that begin and end transactions, are counted in `status.rs`, by counters
//! that cost less.
//!
//! What MySQL has and this server refuses stays 0, but for what its parser knows by name.

use metrics::CounterSet;
use parser::ast::{Maintenance, PrepareSource, ShowKind, Statement, Xa};

/// MySQL 9.7's names, sorted.
const NAMES: [&str; 156] = [
    "Com_alter_db",
    "Com_alter_event",
    "Com_alter_function",
    "Com_alter_instance",
    "Com_alter_library",
    "Com_alter_procedure",
    "Com_alter_resource_group",
    "Com_alter_server",
    "Com_alter_table",
    "Com_alter_tablespace",
    "Com_alter_user",
    "Com_alter_user_default_role",
    "Com_analyze",
    "Com_assign_to_keycache",
    "Com_binlog",
    "Com_call_procedure",
    "Com_change_db",
    "Com_change_repl_filter",
    "Com_change_replication_source",
    "Com_check",
    "Com_checksum",
    "Com_clone",
    "Com_create_db",
    "Com_create_event",
    "Com_create_function",
    "Com_create_index",
    "Com_create_library",
    "Com_create_masking_policy",
    "Com_create_procedure",
    "Com_create_resource_group",
    "Com_create_role",
    "Com_create_server",
    "Com_create_spatial_reference_system",
    "Com_create_table",
    "Com_create_trigger",
    "Com_create_udf",
    "Com_create_user",
    "Com_create_view",
    "Com_dealloc_sql",
    "Com_do",
    "Com_drop_db",
    "Com_drop_event",
    "Com_drop_function",
    "Com_drop_index",
    "Com_drop_library",
    "Com_drop_masking_policy",
    "Com_drop_procedure",
    "Com_drop_resource_group",
    "Com_drop_role",
    "Com_drop_server",
    "Com_drop_spatial_reference_system",
    "Com_drop_table",
    "Com_drop_trigger",
    "Com_drop_user",
    "Com_drop_view",
    "Com_empty_query",
    "Com_execute_sql",
    "Com_explain_other",
    "Com_flush",
    "Com_get_diagnostics",
    "Com_grant",
    "Com_grant_roles",
    "Com_group_replication_start",
    "Com_group_replication_stop",
    "Com_ha_close",
    "Com_ha_open",
    "Com_ha_read",
    "Com_help",
    "Com_import",
    "Com_install_component",
    "Com_install_plugin",
    "Com_kill",
    "Com_load",
    "Com_lock_instance",
    "Com_lock_tables",
    "Com_optimize",
    "Com_preload_keys",
    "Com_prepare_sql",
    "Com_purge",
    "Com_purge_before_date",
    "Com_release_savepoint",
    "Com_rename_table",
    "Com_rename_user",
    "Com_repair",
    "Com_replica_start",
    "Com_replica_stop",
    "Com_reset",
    "Com_resignal",
    "Com_restart",
    "Com_revoke",
    "Com_revoke_all",
    "Com_revoke_roles",
    "Com_rollback_to_savepoint",
    "Com_savepoint",
    "Com_set_password",
    "Com_set_resource_group",
    "Com_set_role",
    "Com_show_binary_log_status",
    "Com_show_binlog_events",
    "Com_show_binlogs",
    "Com_show_charsets",
    "Com_show_collations",
    "Com_show_create_db",
    "Com_show_create_event",
    "Com_show_create_func",
    "Com_show_create_library",
    "Com_show_create_masking_policy",
    "Com_show_create_proc",
    "Com_show_create_table",
    "Com_show_create_trigger",
    "Com_show_create_user",
    "Com_show_databases",
    "Com_show_engine_logs",
    "Com_show_engine_mutex",
    "Com_show_engine_status",
    "Com_show_errors",
    "Com_show_events",
    "Com_show_fields",
    "Com_show_function_code",
    "Com_show_function_status",
    "Com_show_grants",
    "Com_show_keys",
    "Com_show_library_status",
    "Com_show_open_tables",
    "Com_show_parse_tree",
    "Com_show_plugins",
    "Com_show_privileges",
    "Com_show_procedure_code",
    "Com_show_procedure_status",
    "Com_show_processlist",
    "Com_show_profile",
    "Com_show_profiles",
    "Com_show_relaylog_events",
    "Com_show_replica_status",
    "Com_show_replicas",
    "Com_show_status",
    "Com_show_storage_engines",
    "Com_show_table_status",
    "Com_show_tables",
    "Com_show_triggers",
    "Com_show_variables",
    "Com_show_warnings",
    "Com_shutdown",
    "Com_signal",
    "Com_stmt_reprepare",
    "Com_truncate",
    "Com_uninstall_component",
    "Com_uninstall_plugin",
    "Com_unlock_instance",
    "Com_unlock_tables",
    "Com_xa_commit",
    "Com_xa_end",
    "Com_xa_prepare",
    "Com_xa_recover",
    "Com_xa_rollback",
    "Com_xa_start",
];

/// One count for each name.
#[derive(Default)]
pub struct Kinds {
    counts: CounterSet<{ NAMES.len() }>,
}

impl Kinds {
    /// Counts a statement.
    #[inline]
    pub(crate) fn count(&self, statement: &Statement<'_>) {
        // These have counters of their own.
        if !matches!(statement, Statement::Begin(_) | Statement::Commit(_) | Statement::Rollback(_) | Statement::Set(_)) {
            self.count_seldom(statement);
        }
    }

    #[cold]
    fn count_seldom(&self, statement: &Statement<'_>) {
        if let Some(name) = name_of(statement) {
            self.add(name);
        }
        if let Statement::Prepare { source: PrepareSource::Text(_) | PrepareSource::UserVar(_), .. } = statement {
            self.add("Com_prepare_sql");
        }
    }

    /// Counts one of a kind by its name.
    #[cold]
    pub(crate) fn add(&self, name: &str) {
        if let Ok(at) = NAMES.binary_search(&name) {
            self.counts.inc(at);
        }
    }

    /// Names and counts.
    pub(crate) fn list(&self) -> impl Iterator<Item = (&'static str, u64)> {
        NAMES.iter().enumerate().map(|(at, name)| (*name, self.counts.get(at)))
    }
}

fn name_of(statement: &Statement<'_>) -> Option<&'static str> {
    use Statement as S;
    Some(match statement {
        S::Empty => "Com_empty_query",
        S::LoadData(_) => "Com_load",
        S::Truncate(_) => "Com_truncate",
        S::Call(_) => "Com_call_procedure",
        S::Do(_) => "Com_do",
        S::CreateDatabase(_) => "Com_create_db",
        S::AlterDatabase(_) => "Com_alter_db",
        S::DropDatabase { .. } => "Com_drop_db",
        S::CreateTable(_) => "Com_create_table",
        S::AlterTable(_) => "Com_alter_table",
        S::DropTable(_) => "Com_drop_table",
        S::RenameTable(_) => "Com_rename_table",
        S::CreateIndex(_) => "Com_create_index",
        S::DropIndex(_) => "Com_drop_index",
        S::CreateView(_) => "Com_create_view",
        S::DropView(_) => "Com_drop_view",
        S::Use(_) => "Com_change_db",
        S::Show(show) => return of_show(&show.what),
        S::Describe { .. } => "Com_show_fields",
        S::SetPassword(_) => "Com_set_password",
        S::RollbackTo(_) => "Com_rollback_to_savepoint",
        S::Savepoint(_) => "Com_savepoint",
        S::ReleaseSavepoint(_) => "Com_release_savepoint",
        S::LockTables(_) => "Com_lock_tables",
        S::UnlockTables => "Com_unlock_tables",
        S::LockInstance => "Com_lock_instance",
        S::UnlockInstance => "Com_unlock_instance",
        S::Component { install: true, .. } => "Com_install_component",
        S::Component { .. } => "Com_uninstall_component",
        S::ReloadTls { .. } => "Com_alter_instance",
        S::Execute { .. } => "Com_execute_sql",
        S::Deallocate(_) => "Com_dealloc_sql",
        S::Kill { .. } => "Com_kill",
        S::Flush(_) => "Com_flush",
        S::TableMaintenance(maintenance) => match maintenance.kind {
            Maintenance::Analyze => "Com_analyze",
            Maintenance::Check => "Com_check",
            Maintenance::Optimize => "Com_optimize",
            Maintenance::Repair => "Com_repair",
            Maintenance::Checksum => "Com_checksum",
        },
        S::CreateUser(_) => "Com_create_user",
        S::AlterUser(_) => "Com_alter_user",
        S::DropUser { .. } => "Com_drop_user",
        S::RenameUser(_) => "Com_rename_user",
        S::CreateRole { .. } => "Com_create_role",
        S::DropRole { .. } => "Com_drop_role",
        S::Grant(_) => "Com_grant",
        S::Revoke(_) => "Com_revoke",
        S::GrantRole(_) => "Com_grant_roles",
        S::RevokeRole(_) => "Com_revoke_roles",
        S::SetRole(_) => "Com_set_role",
        S::SetDefaultRole { .. } => "Com_alter_user_default_role",
        S::ResetPersist { .. } => "Com_reset",
        S::GetDiagnostics(_) => "Com_get_diagnostics",
        S::Signal(signal) => {
            if signal.again {
                "Com_resignal"
            } else {
                "Com_signal"
            }
        }
        S::Help => "Com_help",
        S::Shutdown => "Com_shutdown",
        S::Xa(xa) => match xa {
            Xa::Start { .. } => "Com_xa_start",
            Xa::End { .. } => "Com_xa_end",
            Xa::Prepare(_) => "Com_xa_prepare",
            Xa::Commit { .. } => "Com_xa_commit",
            Xa::Rollback(_) => "Com_xa_rollback",
            Xa::Recover { .. } => "Com_xa_recover",
        },
        _ => return None,
    })
}

fn of_show(what: &ShowKind<'_>) -> Option<&'static str> {
    use ShowKind as S;
    Some(match what {
        S::Databases => "Com_show_databases",
        S::Tables { .. } => "Com_show_tables",
        S::OpenTables { .. } => "Com_show_open_tables",
        S::TableStatus { .. } => "Com_show_table_status",
        S::Triggers { .. } => "Com_show_triggers",
        S::Events { .. } => "Com_show_events",
        S::Columns { .. } => "Com_show_fields",
        S::Indexes { .. } => "Com_show_keys",
        S::CreateTable(_) | S::CreateView(_) => "Com_show_create_table",
        S::CreateDatabase { .. } => "Com_show_create_db",
        S::CreateUser(_) => "Com_show_create_user",
        S::CreateProcedure(_) => "Com_show_create_proc",
        S::CreateFunction(_) => "Com_show_create_func",
        S::CreateTrigger(_) => "Com_show_create_trigger",
        S::CreateEvent(_) => "Com_show_create_event",
        S::ProcedureStatus => "Com_show_procedure_status",
        S::FunctionStatus => "Com_show_function_status",
        S::Variables { .. } => "Com_show_variables",
        S::Status { .. } => "Com_show_status",
        S::ProcessList { .. } => "Com_show_processlist",
        S::Warnings { .. } => "Com_show_warnings",
        S::Errors { .. } => "Com_show_errors",
        S::Engines => "Com_show_storage_engines",
        S::EngineStatus(_) => "Com_show_engine_status",
        S::EngineMutex(_) => "Com_show_engine_mutex",
        S::EngineLogs(_) => "Com_show_engine_logs",
        S::Charset => "Com_show_charsets",
        S::Collation => "Com_show_collations",
        S::Privileges => "Com_show_privileges",
        S::Plugins => "Com_show_plugins",
        S::Grants { .. } => "Com_show_grants",
        S::BinaryLogs => "Com_show_binlogs",
        S::BinaryLogStatus => "Com_show_binary_log_status",
        S::BinlogEvents => "Com_show_binlog_events",
        S::RelaylogEvents => "Com_show_relaylog_events",
        S::ReplicaStatus => "Com_show_replica_status",
        S::Replicas => "Com_show_replicas",
        S::Profiles => "Com_show_profiles",
        S::Profile { .. } => "Com_show_profile",
        S::ParseTree(_) => "Com_show_parse_tree",
        S::CountWarnings | S::CountErrors => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_each_kind_has_one() {
        assert!(NAMES.is_sorted());
        let arena = parser::Bump::new();
        for sql in
            ["USE a", "SHOW TABLES", "XA RECOVER", "DESC t", "CHECK TABLE t", "GRANT r TO u", "SHOW WARNINGS", "SAVEPOINT s", "KILL 1"]
        {
            let parsed = parser::parse(sql.as_bytes(), parser::SqlMode::default(), &arena).expect(sql);
            let name = name_of(&parsed.statement).expect(sql);
            assert!(NAMES.contains(&name), "{name}");
        }
    }
}
