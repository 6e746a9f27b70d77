//! DROP TABLE, RENAME TABLE, TRUNCATE.

use super::check::follow_table_name;
use super::foreign_keys::keys_to;
use super::{DdlDone, FullName, check_table_name, full_name, view};
use crate::client_session::ClientSession;
use crate::error_map::Outcome;
use crate::virtual_tables::{is_emptied, refuse_drop};
use catalog::CatalogError;
use mysql_error::codes;
use parser::ast::{DropTable, ObjectName};
use std::collections::BTreeSet;
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
    for table in &locked {
        catalog.drop_table(&mut session.engine, &table.entry).map_err(|error| session.catalog_error(error))?;
    }
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

/// RENAME TABLE: one after the other, as written; when one fails, those before it are taken back.
pub(super) fn rename(session: &mut ClientSession, pairs: &[(ObjectName<'_>, ObjectName<'_>)]) -> Result<DdlDone, Outcome> {
    let mut renames = Vec::with_capacity(pairs.len());
    for (old, new) in pairs {
        check_table_name(new.name)?;
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
    for (no, (old, new)) in renames.iter().enumerate() {
        if let Err(outcome) = rename_one(session, old, new) {
            for (old, new) in renames[..no].iter().rev() {
                rename_one(session, new, old)?;
            }
            return Err(outcome);
        }
    }
    Ok(DdlDone::NOTHING)
}

/// Plays the renames through without doing them. Returns the tables that exist now and get another name.
fn check_renames(session: &ClientSession, renames: &[(FullName, FullName)]) -> Result<Vec<FullName>, Outcome> {
    let (mut made, mut gone, mut sources) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for (old, new) in renames {
        if !made.remove(old) {
            session.refuse_unlocked(old)?;
            if gone.contains(old) || !session.table_exists(old)? {
                return Err(codes::no_such_table(&old.database, &old.table).into());
            }
            sources.push(old.clone());
            gone.insert(old.clone());
        }
        let is_taken = made.contains(new) || (!gone.contains(new) && session.table_exists(new)?);
        if is_taken {
            return Err(codes::table_exists_error(&new.table).into());
        }
        made.insert(new.clone());
    }
    Ok(sources)
}

fn rename_one(session: &mut ClientSession, old: &FullName, new: &FullName) -> Result<(), Outcome> {
    if let Some(view) = session.find_view(old)? {
        return view::rename(session, &view, new);
    }
    let entry = session.find_table(old)?;
    session.check_awaited(&catalog::TableDef { database: new.database.clone(), name: new.table.clone(), ..entry.def.clone() })?;
    let catalog = session.shared().catalog.clone();
    let mut def = entry.def.clone();
    follow_table_name(&mut def.checks, &old.table, &new.table)?;
    (def.database, def.name) = (new.database.clone(), new.table.clone());
    let _names = session.take_check_names(&def, Some(&entry.def))?;
    let renamed = catalog.rename_table(&mut session.engine, &entry, def);
    renamed.map_err(|error| session.catalog_error(error))
}
