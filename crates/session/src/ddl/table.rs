//! DROP TABLE, RENAME TABLE, TRUNCATE.

use super::check::{TakenNames, check_name_keys, follow_table_name, refuse_taken_names};
use super::foreign_keys::keys_to;
use super::{DdlDone, FullName, check_table_name, full_name, view};
use crate::client_session::ClientSession;
use crate::error_map::Outcome;
use crate::virtual_tables::{is_emptied, log_of, refuse_drop};
use catalog::{CatalogError, Named, TableDef, TableEntry};
use engine::Isolation;
use mysql_error::{SqlError, codes};
use parser::ast::{DropTable, ObjectName};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Drops all the tables or, when one is missing without IF EXISTS, none.
pub(super) fn drop(session: &mut ClientSession, drop: &DropTable<'_>) -> Result<DdlDone, Outcome> {
    let (mut present, mut missing, mut temporary) = (Vec::new(), Vec::new(), Vec::new());
    for name in drop.names {
        if let Some(database) = name.schema.or(session.core.database.as_deref()) {
            refuse_drop(&session.core, database, name.name)?;
        }
        let name = full_name(session, name)?;
        if present.contains(&name) || temporary.iter().any(|(other, _)| *other == name) {
            return Err(codes::nonuniq_table(&name.table).into());
        }
        if let Some(entry) = session.core.temporary_table(&name.database, &name.table) {
            let entry = Arc::clone(entry);
            temporary.push((name, entry));
            continue;
        }
        session.refuse_unlocked(&name)?;
        let exists = match session.shared().catalog.table(&name.database, &name.table) {
            Ok(_) => true,
            Err(CatalogError::UnknownTable { .. } | CatalogError::UnknownDatabase(_)) => false,
            Err(error) => return Err(session.catalog_error(error)),
        };
        if exists {
            present.push(name);
        } else {
            missing.push(name);
        }
    }
    if !missing.is_empty() && !drop.if_exists {
        let names: Vec<String> = missing.iter().map(FullName::dotted).collect();
        return Err(codes::bad_table_error(names.join(",")).into());
    }
    for name in &missing {
        session.ddl_note(codes::bad_table_error(name.dotted()));
    }
    let locked = session.lock_tables(&present)?;
    session.refuse_referenced(&present)?;
    let catalog = session.shared().catalog.clone();
    let entries: Vec<&TableEntry> = locked.iter().map(|table| &*table.entry).collect();
    catalog.drop_tables(&mut session.engine, &entries).map_err(|error| session.catalog_error(error))?;
    for (_, entry) in temporary {
        session.drop_temporary(&entry)?;
    }
    Ok(DdlDone::NOTHING)
}

/// TRUNCATE: a new, empty table under the same name.
pub(super) fn truncate(session: &mut ClientSession, name: &ObjectName<'_>) -> Result<DdlDone, Outcome> {
    if let Some(database) = name.schema.or(session.core.database.as_deref()) {
        if is_emptied(database, name.name) {
            return Ok(DdlDone::NOTHING);
        }
        if let Some(log) = log_of(database, name.name) {
            let emptied = session.shared().query_logs.truncate_table(log);
            let failed = |error: std::io::Error| SqlError::with_message(1030, format!("Got error {error} from storage engine"));
            return emptied.map(|()| DdlDone::NOTHING).map_err(|error| failed(error).into());
        }
        refuse_drop(&session.core, database, name.name)?;
    }
    let name = full_name(session, name)?;
    if session.find_view(&name)?.is_some() {
        return Err(codes::no_such_table(&name.database, &name.table).into());
    }
    let table = session.lock_table(&name)?;
    if session.checks_foreign_keys() {
        let children = session.children_of(&name)?;
        if let Some((child, key)) = keys_to(&table.entry.def, &children).find(|(child, _)| child.id != table.entry.def.id) {
            let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
            let which = format!("{}.{}, CONSTRAINT {}", quoted(&child.database), quoted(&child.name), quoted(&key.name));
            return Err(codes::truncate_illegal_fk(which).into());
        }
    }
    let catalog = session.shared().catalog.clone();
    catalog.truncate_table(&mut session.engine, &table.entry).map_err(|error| session.catalog_error(error))?;
    Ok(DdlDone::NOTHING)
}

/// Refuses to rename the table of a log that is written.
fn refuse_log_table(session: &ClientSession, name: &ObjectName<'_>) -> Result<(), SqlError> {
    let database = name.schema.or(session.core.database.as_deref()).unwrap_or_default();
    match log_of(database, name.name) {
        Some(log) if session.shared().query_logs.is_table_written(log) => {
            let name = name.name;
            let text = format!(
                "Cannot rename '{name}'. When logging enabled, rename to/from log table must rename two tables: the log table to an archive table and \
                 another table back to '{name}'"
            );
            Err(SqlError::with_message(1581, text))
        }
        _ => Ok(()),
    }
}

/// RENAME TABLE: one after the other, as written, in one transaction: all of them or none.
pub(super) fn rename(session: &mut ClientSession, pairs: &[(ObjectName<'_>, ObjectName<'_>)]) -> Result<DdlDone, Outcome> {
    let mut renames = Vec::with_capacity(pairs.len());
    for (old, new) in pairs {
        check_table_name(new.name)?;
        refuse_log_table(session, old)?;
        renames.push((full_name(session, old)?, full_name(session, new)?));
    }
    let sources = check_renames(session, &renames)?;
    // Those who refer to them learn their new names.
    let children = |session: &ClientSession| {
        let mut names = Vec::new();
        for source in &sources {
            names.extend(session.children_of(source)?.into_iter().map(|child| FullName { database: child.database, table: child.name }));
        }
        Ok(names)
    };
    let views = session.views_of(&sources)?;
    let tables: Vec<FullName> = sources.iter().filter(|name| !views.contains(name)).cloned().collect();
    let _views = session.lock_views(&views)?;
    let _locked = session.lock_related(&tables, children)?;
    // Before the transaction, which would keep who has them waiting for what it has locked of the dictionary.
    let _names = TakenNames::take(session, names_given(session, &renames)?)?;
    session.engine.begin(Isolation::ReadCommitted, false);
    session.engine.statement_start();
    let renamed = renames.iter().try_for_each(|(old, new)| rename_one(session, old, new));
    if let Err(outcome) = renamed.and_then(|()| session.commit_durably()) {
        session.rollback()?;
        return Err(outcome);
    }
    session.shared().catalog.definitions_committed();
    Ok(DdlDone::NOTHING)
}

/// The names of CHECK constraints that renames give, as they are taken.
fn names_given(session: &ClientSession, renames: &[(FullName, FullName)]) -> Result<Vec<String>, Outcome> {
    let (mut given, mut renamed) = (Vec::new(), BTreeMap::new());
    for (old, new) in renames {
        let known = match renamed.remove(old) {
            Some(def) => Some(def),
            None => session.definition_of(old)?,
        };
        let Some(was) = known else { continue };
        let def = under_name(&was, old, new)?;
        given.extend(check_name_keys(&def, Some(&was)));
        renamed.insert(new.clone(), def);
    }
    Ok(given)
}

/// A definition under another name.
fn under_name(def: &TableDef, old: &FullName, new: &FullName) -> Result<TableDef, SqlError> {
    let mut def = TableDef { database: new.database.clone(), name: new.table.clone(), ..def.clone() };
    follow_table_name(&mut def.checks, &old.table, &new.table)?;
    Ok(def)
}

/// Plays the renames through without doing them. Returns the tables that exist now and get another name.
fn check_renames(session: &ClientSession, renames: &[(FullName, FullName)]) -> Result<Vec<FullName>, Outcome> {
    let (mut made, mut gone, mut sources) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for (old, new) in renames {
        let is_made = made.contains(old);
        if !is_made {
            session.refuse_unlocked(old)?;
            if gone.contains(old) || !session.table_exists(old)? {
                return Err(codes::no_such_table(&old.database, &old.table).into());
            }
        }
        // Its own old name included.
        if made.contains(new) || (!gone.contains(new) && session.table_exists(new)?) {
            return Err(codes::table_exists_error(&new.table).into());
        }
        if is_made {
            made.remove(old);
        } else {
            sources.push(old.clone());
            gone.insert(old.clone());
        }
        made.insert(new.clone());
    }
    Ok(sources)
}

/// A part of the transaction that runs: what those before it have done is found.
fn rename_one(session: &mut ClientSession, old: &FullName, new: &FullName) -> Result<(), Outcome> {
    let catalog = session.shared().catalog.clone();
    let named = catalog.named_within(&mut session.engine, &old.database, &old.table).map_err(|error| session.catalog_error(error))?;
    let was = match named.ok_or_else(|| codes::no_such_table(&old.database, &old.table))? {
        Named::View(view) => return view::rename(session, &view, new),
        Named::Table(def) => def,
    };
    let def = under_name(&was, old, new)?;
    let awaiting = catalog.children_within(&mut session.engine, &new.database, &new.table).map_err(|error| session.catalog_error(error))?;
    session.check_awaited_by(&def, &awaiting)?;
    if !def.checks.is_empty() {
        let names = catalog.check_names_within(&mut session.engine, &new.database).map_err(|error| session.catalog_error(error))?;
        refuse_taken_names(&def, Some(&was), &names)?;
    }
    catalog.rename_table_within(&mut session.engine, &was, def).map_err(|error| session.catalog_error(error))
}
