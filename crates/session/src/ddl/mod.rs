//! Statements that change definitions: CREATE, ALTER, DROP, RENAME, TRUNCATE.
//!
//! # Invariants
//! 1. Each statement commits the session's transaction first, so that the session holds no metadata lock of its own; but for CREATE and DROP TEMPORARY TABLE (`temporary.rs`).
//! 2. A table's definition changes only under its exclusive metadata lock, and the definition looked at is one read under that lock.
//! 3. What is read and not carried out ends in error 1235 that names it.
//!
//! # Start at
//! [`execute`]; `definition.rs` and `key.rs` turn what is written into definitions, `alter.rs` compares old and new.

mod alter;
mod check;
mod checksum;
mod computed_tables;
mod convert;
#[cfg(test)]
mod crash_tests;
mod create_select;
mod create_table;
mod data_type;
mod database;
mod definition;
mod expression;
mod foreign_keys;
mod histogram;
mod key;
mod maintenance;
mod online;
mod options;
mod primary_key;
mod program;
mod referring_rows;
mod table;
mod temporary;
#[cfg(test)]
mod temporary_tests;
#[cfg(test)]
pub(crate) mod tests;
mod view;
mod virtual_columns;
#[cfg(test)]
mod virtual_tests;

pub(crate) use data_type::of_table_function;
pub(crate) use foreign_keys::WrittenKey;
pub(crate) use maintenance::maintain;
pub(crate) use primary_key::is_generated as has_generated_key;
pub(crate) use program::no_procedure;

use crate::client_session::ClientSession;
use crate::error_map::{Outcome, catalog_error};
use crate::transaction::lock_tables::Upgraded;
use crate::variables::variable;
use catalog::{CatalogError, TableEntry, same_name};
use definition::{Definer, DraftColumn};
use executor::StatementContext;
use lock_manager::WaitsFor;
use lock_manager::metadata::{ExclusiveGuard, ExclusiveWait};
use mysql_error::{SqlError, Warning, WarningLevel, codes};
use parser::ast::{AlterAction, ObjectName, Statement};
use std::sync::Arc;

/// What a statement did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DdlDone {
    /// Rows copied by ALTER TABLE, tables dropped by DROP DATABASE, 1 for CREATE and ALTER DATABASE, else 0.
    pub affected: u64,
    /// Rows were copied where the statement's words do not tell.
    pub copied: bool,
}

impl DdlDone {
    const NOTHING: DdlDone = DdlDone::of(0);

    const fn of(affected: u64) -> DdlDone {
        DdlDone { affected, copied: false }
    }
}

/// Carries out a statement that changes definitions.
pub(crate) fn execute(session: &mut ClientSession, statement: &Statement<'_>, sql: &[u8]) -> Result<DdlDone, Outcome> {
    match statement {
        Statement::CreateTable(create) if create.temporary => return temporary::create(session, create, sql),
        Statement::DropTable(drop) if drop.temporary => return temporary::drop(session, drop),
        _ => {}
    }
    session.refuse_in_branch()?;
    lift_statement_limit();
    if session.core.settings.read_only {
        return Err(codes::cant_execute_in_read_only_transaction().into());
    }
    session.commit()?;
    session.transaction.forget_next();
    // Times of rows that are converted are those of the statement's begin.
    let _ = session.core.statement_micros();
    if session.core.temporary.is_some()
        && let Some(done) = temporary::execute(session, statement)?
    {
        return Ok(done);
    }
    let databases = matches!(statement, Statement::CreateDatabase(_) | Statement::AlterDatabase(_) | Statement::DropDatabase { .. });
    if databases && session.transaction.has_locked_tables() {
        return Err(codes::lock_or_active_transaction().into());
    }
    if session.transaction.has_locked_tables() {
        session.engine.keep_remade();
    }
    let done = change_definitions(session, |session| execute_unlocked(session, statement, sql));
    let remade = session.engine.take_remade();
    let done = done?;
    session.relock_tables(remade)?;
    Ok(done)
}

/// What is sorted is sorted in memory of the server's, and in temporary files past that: its limit alone counts.
fn lift_statement_limit() {
    memory::begin_statement(u64::MAX);
}

/// Whether the OK packet of a statement tells records, as MySQL's ALTER TABLE does but where it only renames the table.
pub(crate) fn says_records(statement: &Statement<'_>) -> bool {
    match statement {
        Statement::AlterTable(alter) => {
            let copies = alter.algorithm == Some("COPY");
            copies || alter.actions.iter().any(|action| !matches!(action, AlterAction::Rename(_) | AlterAction::EnableKeys(_)))
        }
        Statement::CreateIndex(_) | Statement::DropIndex(_) => true,
        Statement::CreateTable(create) => create.select.is_some(),
        _ => false,
    }
}

/// Runs a change of definitions as FLUSH TABLES WITH READ LOCK and LOCK INSTANCE FOR BACKUP of others allow it.
pub(crate) fn change_definitions<T>(
    session: &mut ClientSession,
    change: impl FnOnce(&mut ClientSession) -> Result<T, Outcome>,
) -> Result<T, Outcome> {
    session.announce(WaitsFor::GlobalReadLock)?;
    let done = session.share_definitions().and_then(|_shared| change(session));
    session.server_locks.withdraw();
    done
}

fn execute_unlocked(session: &mut ClientSession, statement: &Statement<'_>, sql: &[u8]) -> Result<DdlDone, Outcome> {
    match statement {
        Statement::CreateDatabase(create) => database::create(session, create),
        Statement::AlterDatabase(alter) => database::alter(session, alter),
        Statement::DropDatabase { if_exists, name } => database::drop(session, name, *if_exists),
        Statement::CreateTable(create) => create_table::create(session, create, sql),
        Statement::AlterTable(alter) => alter::alter(session, alter),
        Statement::CreateIndex(create) => alter::create_index(session, create),
        Statement::DropIndex(drop) => alter::drop_index(session, drop),
        Statement::DropTable(drop) => table::drop(session, drop),
        Statement::RenameTable(pairs) => table::rename(session, pairs),
        Statement::Truncate(name) => table::truncate(session, name),
        Statement::CreateView(create) => view::create(session, create, sql),
        Statement::DropView(drop) => view::drop(session, drop),
        Statement::DropProgram { kind, if_exists, name } => program::drop(session, *kind, *if_exists, name),
        _ => Err(codes::not_supported_yet("this statement here").into()),
    }
}

/// A name with its database.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FullName {
    pub database: String,
    pub table: String,
}

impl FullName {
    pub(crate) fn dotted(&self) -> String {
        format!("{}.{}", self.database, self.table)
    }
}

/// The database that a name means: its own, or the current one (1046 without).
pub(crate) fn full_name(session: &ClientSession, name: &ObjectName<'_>) -> Result<FullName, SqlError> {
    let database = name.schema.or(session.core.database.as_deref()).ok_or_else(codes::no_db_error)?;
    crate::virtual_tables::refuse_change(&session.core, database)?;
    Ok(FullName { database: database.into(), table: name.name.into() })
}

/// Refuses what cannot be a table's name.
fn check_table_name(name: &str) -> Result<(), SqlError> {
    if name.is_empty() || name.ends_with(' ') || name.contains('\0') { Err(codes::wrong_table_name(name)) } else { Ok(()) }
}

/// A table under its exclusive metadata lock, with the definition read under it.
struct LockedTable {
    entry: Arc<TableEntry>,
    guard: DdlGuard,
}

/// What makes a table DDL's own.
enum DdlGuard {
    Taken { guard: ExclusiveGuard },
    Locked { _upgraded: Upgraded },
}

impl ClientSession {
    fn catalog_error(&self, error: CatalogError) -> Outcome {
        catalog_error(error, || self.stop_error())
    }

    /// Looks a table up; a view is none (1347).
    pub(crate) fn find_table(&self, name: &FullName) -> Result<Arc<TableEntry>, Outcome> {
        match self.shared().catalog.table(&name.database, &name.table) {
            Err(CatalogError::UnknownTable { .. }) if self.find_view(name)?.is_some() => {
                Err(codes::wrong_object(&name.database, &name.table, "BASE TABLE").into())
            }
            found => found.map_err(|error| self.catalog_error(error)),
        }
    }

    /// The table that a statement means by a name: a temporary one first.
    fn find_named(&self, name: &FullName) -> Result<Arc<TableEntry>, Outcome> {
        match self.core.temporary_table(&name.database, &name.table) {
            Some(entry) => Ok(Arc::clone(entry)),
            None => self.find_table(name),
        }
    }

    /// Whether there is such a table or view. A missing database is an error.
    fn table_exists(&self, name: &FullName) -> Result<bool, Outcome> {
        match self.shared().catalog.table(&name.database, &name.table) {
            Ok(_) => Ok(true),
            Err(CatalogError::UnknownTable { .. }) => Ok(self.find_view(name)?.is_some()),
            Err(error) => Err(self.catalog_error(error)),
        }
    }

    /// Takes a table for this session alone.
    fn lock_table(&self, name: &FullName) -> Result<LockedTable, Outcome> {
        let deadline = self.metadata_deadline();
        self.refuse_unlocked(name)?;
        let entry = self.find_table(name)?;
        if let Some(upgraded) = self.upgrade_for_ddl(name)? {
            return Ok(LockedTable { entry, guard: DdlGuard::Locked { _upgraded: upgraded } });
        }
        loop {
            let entry = self.find_table(name)?;
            let lock = Arc::clone(&entry.storage.lock);
            let guard = lock.exclusive(ExclusiveWait::until(Some(deadline)), self.engine.asker());
            let guard = guard.map_err(|error| self.metadata_error(error))?;
            // Other DDL may have replaced the table while this one waited.
            let entry = self.find_table(name)?;
            if Arc::ptr_eq(&entry.storage.lock, &lock) {
                return Ok(LockedTable { entry, guard: DdlGuard::Taken { guard } });
            }
        }
    }

    /// Takes several tables alone, in the order of their names, so that two such statements do not wait for each other.
    fn lock_tables(&self, names: &[FullName]) -> Result<Vec<LockedTable>, Outcome> {
        let mut sorted: Vec<&FullName> = names.iter().collect();
        sorted.sort();
        sorted.dedup();
        sorted.into_iter().map(|name| self.lock_table(name)).collect()
    }

    fn ddl_note(&mut self, error: SqlError) {
        self.core.warn(error.into_warning(WarningLevel::Note));
    }

    fn ddl_warnings(&mut self, warnings: Vec<Warning>) {
        for warning in warnings {
            self.core.warn(warning);
        }
    }

    /// What definitions depend on in this session.
    fn definer(&self, table: &str) -> Definer<'_> {
        Definer {
            mode: self.core.settings.sql_mode,
            zone: &*self.core.settings.zone,
            now_micros: self.core.statement_micros(),
            charset: self.core.settings.collation.charset().name(),
            week_format: self.core.number(variable!("default_week_format")) as u8,
            table: table.to_owned(),
            warnings: Vec::new(),
            generates_keys: self.core.number(variable!("sql_generate_invisible_primary_key")) == 1,
        }
    }
}

/// Position of a column by name.
fn find_column(columns: &[DraftColumn], name: &str) -> Option<usize> {
    columns.iter().position(|column| same_name(&column.def.name, name))
}
