//! Which statements can be prepared. MySQL refuses (1295) those that only make sense where they are said; asked of MySQL 9.7 one by one
//! (`tests/sql/admin/prepare_refused.slt`).

use parser::ast::{ExplainTarget, Maintenance, ProgramKind, ShowKind, Statement};

/// Statements that are recognised and not carried out, and could not be prepared either.
const REFUSED: &[&str] = &[
    "ALTER FUNCTION",
    "ALTER PROCEDURE",
    "ALTER RESOURCE GROUP",
    "ALTER SERVER",
    "ALTER TABLESPACE",
    "CLONE",
    "CREATE FUNCTION",
    "CREATE PROCEDURE",
    "CREATE RESOURCE GROUP",
    "CREATE SERVER",
    "CREATE SPATIAL REFERENCE SYSTEM",
    "CREATE TABLESPACE",
    "CREATE TRIGGER",
    "DROP RESOURCE GROUP",
    "DROP SERVER",
    "DROP SPATIAL REFERENCE SYSTEM",
    "DROP TABLESPACE",
    "HANDLER",
    "IMPORT TABLE",
    "LOCK INSTANCE",
    "PURGE BINARY LOGS",
    "RESIGNAL",
    "RESTART",
    "SIGNAL",
    "START GROUP_REPLICATION",
    "UNLOCK INSTANCE",
];

/// Whether a statement can be prepared, by either protocol.
pub(crate) fn is_preparable(statement: &Statement<'_>) -> bool {
    match statement {
        Statement::Begin(_)
        | Statement::Savepoint(_)
        | Statement::RollbackTo(_)
        | Statement::ReleaseSavepoint(_)
        | Statement::Xa(_)
        | Statement::LockTables(_)
        | Statement::LockInstance
        | Statement::Backup { .. }
        | Statement::UnlockInstance
        | Statement::UnlockTables
        | Statement::Use(_)
        | Statement::Prepare { .. }
        | Statement::Execute { .. }
        | Statement::Deallocate { .. }
        | Statement::LoadData(_)
        | Statement::AlterDatabase(_)
        | Statement::CreateRole { .. }
        | Statement::DropRole { .. }
        | Statement::GetDiagnostics(_)
        | Statement::Signal(_)
        | Statement::Help
        | Statement::Shutdown => false,
        Statement::Show(show) => {
            !matches!(show.what, ShowKind::Warnings { .. } | ShowKind::Errors { .. } | ShowKind::CountWarnings | ShowKind::CountErrors)
        }
        Statement::TableMaintenance(maintenance) => maintenance.kind != Maintenance::Check,
        Statement::Explain(explain) => !matches!(explain.target, ExplainTarget::Connection(_)),
        Statement::CreateView(view) => !view.alter,
        Statement::DropProgram { kind, .. } => *kind == ProgramKind::Event,
        Statement::Unsupported(what) => !REFUSED.contains(what),
        _ => true,
    }
}
