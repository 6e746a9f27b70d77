//! CREATE, DROP, ALTER, TRUNCATE of temporary tables.
//!
//! # Invariants
//! 1. CREATE and DROP TEMPORARY TABLE neither end the transaction that runs nor are taken back with it; all others end it first, as they do for stored tables.
//! 2. ALTER TABLE copies the rows, whatever it changes, as MySQL does: the table that stood is the session's until the copy is whole.
//! 3. Nothing here takes a lock of the server or of definitions: FLUSH TABLES WITH READ LOCK, LOCK TABLES and LOCK INSTANCE FOR BACKUP do not hold it up.

use super::alter::{Draft, Wishes};
use super::convert::{RowConverter, keeps_counter};
use super::create_select::{self, Selected};
use super::create_table::{define, define_like, exists, forget_history, until_fresh};
use super::foreign_keys::WrittenKey;
use super::{DdlDone, FullName, check_table_name, foreign_keys, full_name, lift_statement_limit, online, table};
use crate::client_session::ClientSession;
use crate::error_map::{Outcome, Undo};
use catalog::{CopiedRows, TableDef, TableEntry};
use executor::{RuleRun, StatementContext};
use mysql_error::codes;
use parser::ast::{AlterAction, CreateTable, DropTable, KeyKind, ObjectName, Statement};
use std::sync::Arc;

/// CREATE TEMPORARY TABLE.
pub(super) fn create(session: &mut ClientSession, create: &CreateTable<'_>, sql: &[u8]) -> Result<DdlDone, Outcome> {
    session.refuse_temporary_in_branch()?;
    session.refuse_read_only()?;
    let _ = session.core.statement_micros();
    if create.partition_by.is_some() {
        return Err(codes::partition_no_temporary().into());
    }
    until_fresh(session, |session| try_create(session, create, sql))
}

/// `None` when the tables of its query have changed so that it has to begin anew.
fn try_create(session: &mut ClientSession, create: &CreateTable<'_>, sql: &[u8]) -> Result<Option<DdlDone>, Outcome> {
    let name = full_name(session, &create.name)?;
    check_table_name(&name.table)?;
    let catalog = session.shared().catalog.clone();
    let database = catalog.database(&name.database).map_err(|error| session.catalog_error(error))?;
    if let Some(like) = &create.like {
        let like = full_name(session, like)?;
        if !session.find_named(&like)?.temporary {
            session.refuse_unlocked(&like)?;
        }
        if like == name {
            return Err(codes::nonuniq_table(&name.table).into());
        }
    }
    if session.core.temporary_table(&name.database, &name.table).is_some() {
        return exists(session, create, &name).map(Some);
    }
    if WrittenKey::of_create(create).next().is_some() {
        return Err(codes::cannot_add_foreign().into());
    }
    if create.keys.iter().any(|key| key.kind == KeyKind::FullText) {
        return Err(codes::innodb_no_ft_temp_table().into());
    }
    let mut selected = Selected::of(session, create.select.as_ref(), sql)?;
    let mut def = match &create.like {
        Some(like) => define_like(session, like, &name)?,
        None => {
            let mut definer = session.definer(&name.table);
            let def = define(&mut definer, create, &name, database.collation, selected.drafts(), &[])?;
            let warnings = definer.warnings;
            session.ddl_warnings(warnings);
            def
        }
    };
    session.require_key(&def)?;
    foreign_keys::check_key_columns(&def)?;
    def.created_micros = session.engine.engine().wall_micros();
    let entry = catalog.temporary_table(def).map_err(|error| session.catalog_error(error))?;
    let mut affected = 0;
    if let Some(select) = &create.select {
        session.begin_temporary_change();
        session.ensure_transaction();
        match create_select::fill(session, select, &entry, &mut selected, sql) {
            Ok(Some(rows)) => affected = rows,
            Ok(None) => {
                session.statement_failed(Undo::Statement)?;
                catalog.free_temporary(&entry).map_err(|error| session.catalog_error(error))?;
                return Ok(None);
            }
            Err(outcome) => {
                // Before its trees go: nothing is left to be taken back in them.
                let undone = session.statement_failed(outcome.undo);
                catalog.free_temporary(&entry).map_err(|error| session.catalog_error(error))?;
                return Err(undone.err().unwrap_or(outcome));
            }
        }
    }
    session.add_temporary(entry);
    session.transaction.lasting.made |= session.transaction_goes_on();
    session.statement_done()?;
    Ok(Some(DdlDone::of(affected)))
}

/// DROP TEMPORARY TABLE: all of them or, when one is missing without IF EXISTS, none.
pub(super) fn drop(session: &mut ClientSession, drop: &DropTable<'_>) -> Result<DdlDone, Outcome> {
    session.refuse_read_only()?;
    let (mut present, mut missing) = (Vec::<Arc<TableEntry>>::new(), Vec::<FullName>::new());
    for name in drop.names {
        let name = full_name(session, name)?;
        let is_it = |entry: &Arc<TableEntry>| entry.def.database == name.database && entry.def.name == name.table;
        if present.iter().any(is_it) || missing.contains(&name) {
            return Err(codes::nonuniq_table(&name.table).into());
        }
        match session.core.temporary_table(&name.database, &name.table) {
            Some(entry) => present.push(Arc::clone(entry)),
            None => missing.push(name),
        }
    }
    if !missing.is_empty() && !drop.if_exists {
        let names: Vec<String> = missing.iter().map(FullName::dotted).collect();
        return Err(codes::bad_table_error(names.join(",")).into());
    }
    if !present.is_empty() {
        session.refuse_temporary_in_branch()?;
    }
    for name in &missing {
        session.ddl_note(codes::bad_table_error(name.dotted()));
    }
    for entry in &present {
        session.drop_temporary(entry)?;
        session.transaction.lasting.dropped |= session.transaction_goes_on();
    }
    Ok(DdlDone::NOTHING)
}

/// The other statements, of temporary tables alone; `None` for what is of stored ones, too. The transaction has been ended.
pub(super) fn execute(session: &mut ClientSession, statement: &Statement<'_>) -> Result<Option<DdlDone>, Outcome> {
    let find = |name: &ObjectName<'_>| {
        let database = name.schema.or(session.core.database.as_deref())?;
        session.core.temporary_table(database, name.name).cloned()
    };
    match statement {
        Statement::DropTable(drop) if drop.names.iter().all(|name| find(name).is_some()) => table::drop(session, drop).map(Some),
        Statement::Truncate(name) => match find(name) {
            Some(entry) => truncate(session, &entry).map(Some),
            None => Ok(None),
        },
        Statement::AlterTable(change) => match find(&change.name) {
            Some(entry) => alter(session, &entry, change.actions, Wishes { algorithm: change.algorithm, lock: change.lock }).map(Some),
            None => Ok(None),
        },
        Statement::CreateIndex(create) => match find(&create.table) {
            Some(entry) => {
                let wishes = Wishes { algorithm: create.algorithm, lock: create.lock };
                alter(session, &entry, &[AlterAction::AddKey(&create.key)], wishes).map(Some)
            }
            None => Ok(None),
        },
        Statement::DropIndex(drop) => match find(&drop.table) {
            Some(entry) => {
                let wishes = Wishes { algorithm: drop.algorithm, lock: drop.lock };
                alter(session, &entry, &[super::alter::dropped_index(drop)], wishes).map(Some)
            }
            None => Ok(None),
        },
        _ => Ok(None),
    }
}

/// A new, empty table in the place of the one that stood.
fn truncate(session: &mut ClientSession, entry: &Arc<TableEntry>) -> Result<DdlDone, Outcome> {
    let mut def = entry.def.clone();
    def.auto_increment_start = 1;
    forget_history(&mut def);
    let catalog = session.shared().catalog.clone();
    let empty = catalog.temporary_table(def).map_err(|error| session.catalog_error(error))?;
    session.replace_temporary(entry, empty)?;
    Ok(DdlDone::NOTHING)
}

/// ALTER TABLE, CREATE INDEX, DROP INDEX.
fn alter(
    session: &mut ClientSession,
    entry: &Arc<TableEntry>,
    actions: &[AlterAction<'_>],
    wishes: Wishes<'_>,
) -> Result<DdlDone, Outcome> {
    let old = &entry.def;
    let name = FullName { database: old.database.clone(), table: old.name.clone() };
    if WrittenKey::of_alter(actions).next().is_some() {
        return Err(codes::cannot_add_foreign().into());
    }
    if actions.iter().any(|action| matches!(action, AlterAction::AddKey(key) if key.kind == KeyKind::FullText)) {
        return Err(codes::innodb_no_ft_temp_table().into());
    }
    foreign_keys::of_alter(session, &name, old, actions)?;
    if let Some(algorithm @ ("INPLACE" | "INSTANT")) = wishes.algorithm {
        return Err(codes::alter_operation_not_supported(format!("ALGORITHM={algorithm}"), "ALGORITHM=COPY").into());
    }
    let mut definer = session.definer(&name.table);
    let draft = Draft::new(&mut definer, old, actions, session.core.database.as_deref());
    let warnings = std::mem::take(&mut definer.warnings);
    let draft = draft?;
    session.ddl_warnings(warnings);
    draft.check_primary_key(session, old, actions)?;
    if let Some((database, table)) = draft.new_name() {
        check_table_name(table)?;
        let is_other = (database, table) != (&old.database, &old.name);
        if is_other && session.core.temporary_table(database, table).is_some() {
            return Err(codes::table_exists_error(table).into());
        }
        if *database != old.database {
            session.shared().catalog.database(database).map_err(|error| session.catalog_error(error))?;
        }
    }
    let (mut new, from, warnings) = draft.finish(old, &[])?;
    session.ddl_warnings(warnings);
    foreign_keys::check_key_columns(&new)?;
    if draft.wanted_counter().is_none() && keeps_counter(old, &new, &from) {
        new.auto_increment_start = entry.storage.auto_increment();
    }
    let affected = copy(session, entry, new, &from)?;
    Ok(DdlDone { affected, copied: true })
}

/// OPTIMIZE TABLE: the same rows in new trees.
pub(super) fn rebuild(session: &mut ClientSession, name: &FullName) -> Result<(), Outcome> {
    let entry = session.find_named(name)?;
    let mut new = entry.def.clone();
    new.auto_increment_start = entry.storage.auto_increment();
    let from: Vec<Option<usize>> = (0..new.columns.len()).map(Some).collect();
    copy(session, &entry, new, &from)?;
    Ok(())
}

/// Puts a table with another definition in the place of `entry`; `from` says where each column comes from. Returns how many rows there are.
fn copy(session: &mut ClientSession, entry: &Arc<TableEntry>, mut new: TableDef, from: &[Option<usize>]) -> Result<u64, Outcome> {
    lift_statement_limit();
    if session.is_temporary_unfinished() {
        // As ALTER TABLE of a stored table: what is to be taken back must not be copied.
        let waited = session.engine.engine().wait_for_recovered(std::time::Duration::from_secs(session.core.settings.lock_wait_timeout_s));
        waited.map_err(|error| crate::error_map::engine_error(error, || session.stop_error()))?;
    }
    super::alter::check_zero_dates(session.core.settings.sql_mode, entry.storage.rows_estimate(), &new, from)?;
    // An index that stands has kept its tree: its columns have the types that they had.
    let stands = !new.indexes[0].id.is_none();
    forget_history(&mut new);
    let target = new.clone();
    let rules = planner::plan_row_rules(&target)?;
    let rules = rules.as_ref().map(|(plan, rules)| RuleRun::new(&target, plan, rules));
    let shared = Arc::clone(session.shared());
    let limits = online::limits(session);
    let mut converter = RowConverter::new(&entry.def, &target, from, &mut session.core);
    converter.rules = rules;
    let keeps_key = stands && converter.keeps_key();
    let made = {
        let convert = Box::new(|row: record::RowRef<'_>, out: &mut Vec<u8>| converter.convert(row, out));
        shared.catalog.copy_temporary(&session.engine, entry, new, CopiedRows { convert, keeps_key }, limits)
    };
    let (rows, failure) = (converter.rows, converter.failure);
    let made = made.map_err(|error| failure.map_or_else(|| session.catalog_error(error), Outcome::from));
    session.replace_temporary(entry, made?)?;
    Ok(rows)
}

impl ClientSession {
    /// Temporary tables have no part in branches of distributed transactions, which may outlive the session.
    fn refuse_temporary_in_branch(&self) -> Result<(), Outcome> {
        if self.transaction.xa.is_some() { Err(codes::xa_temp_table().into()) } else { Ok(()) }
    }
}
