//! Who refers to whom by foreign keys: a row of the dictionary for each pair of tables, under the parent's name, and one for each key's own name.
//!
//! # Invariants
//! 1. For each foreign key of a committed definition there is the row of its pair, and for each row such a key: both change in one transaction.
//! 2. A parent finds its children by one range of the dictionary, whatever else it holds; nothing is read for this at the start.
//! 3. A parent need not be there: a row under its name waits for a table of this name.

use crate::codec;
use crate::def::{TableDef, same_name};
use crate::dictionary::{self, LOCKED};
use crate::error::{CatalogError, Result};
use engine::{Read, Session};
use std::collections::BTreeSet;

/// A table by its name: database, table.
pub type TableName = (String, String);

/// A parent's column that gets another name: before, after.
pub type Renamed = (String, String);

fn parent_key(database: &str, table: &str) -> Vec<u8> {
    [b"F", database.as_bytes(), b"\0", table.as_bytes(), b"\0"].concat()
}

fn pair_key(parent: &TableName, child: &TableName) -> Vec<u8> {
    [&parent_key(&parent.0, &parent.1), child.0.as_bytes(), b"\0", child.1.as_bytes()].concat()
}

/// The row of a key's name, which is unique in its database.
fn name_key(database: &str, name: &str) -> Vec<u8> {
    [b"K", database.as_bytes(), b"\0", name.to_lowercase().as_bytes()].concat()
}

fn names(def: Option<&TableDef>) -> BTreeSet<Vec<u8>> {
    let Some(def) = def else { return BTreeSet::new() };
    def.foreign_keys.iter().map(|key| name_key(&def.database, &key.name)).collect()
}

/// The pair that a row says: parent, child. `rest` is its key behind the first byte.
pub(crate) fn pair_of(rest: &[u8]) -> Option<(TableName, TableName)> {
    let texts: Option<Vec<String>> = rest.split(|byte| *byte == 0).map(|part| String::from_utf8(part.to_vec()).ok()).collect();
    let [parent_database, parent, database, table] = texts?.try_into().ok()?;
    Some(((parent_database, parent), (database, table)))
}

fn parents(def: Option<&TableDef>) -> BTreeSet<(TableName, TableName)> {
    let Some(def) = def else { return BTreeSet::new() };
    let child = (def.database.clone(), def.name.clone());
    def.foreign_keys.iter().map(|key| ((key.parent_database.clone(), key.parent_table.clone()), child.clone())).collect()
}

/// A definition takes the place of another: the rows of its pairs and names, too. [`CatalogError::DuplicateForeignKey`] when another table has a key of such a name.
pub(crate) fn replace(session: &mut Session, old: Option<&TableDef>, new: Option<&TableDef>) -> Result<()> {
    let (old_names, new_names) = (names(old), names(new));
    for key in old_names.difference(&new_names) {
        dictionary::remove(session, key)?;
    }
    for key in new_names.difference(&old_names) {
        let def = new.map_or("", |def| def.name.as_str());
        if !dictionary::add(session, key, def.as_bytes())? {
            let same = |name: &str| new.is_some_and(|def| name_key(&def.database, name) == *key);
            let name = new.and_then(|def| def.foreign_keys.iter().find(|key| same(&key.name)));
            return Err(CatalogError::DuplicateForeignKey(name.map_or_else(String::new, |key| key.name.clone())));
        }
    }
    let (old, new) = (parents(old), parents(new));
    for (parent, child) in old.difference(&new) {
        dictionary::remove(session, &pair_key(parent, child))?;
    }
    for (parent, child) in new.difference(&old) {
        dictionary::set(session, &pair_key(parent, child), &[])?;
    }
    Ok(())
}

/// The tables that refer to one of this name, in the order of their names; itself among them.
pub(crate) fn children(session: &mut Session, database: &str, table: &str, read: Read) -> Result<Vec<TableName>> {
    let rows = dictionary::list(session, &parent_key(database, table), read)?;
    let name = |rest: &[u8]| {
        let at = rest.iter().position(|byte| *byte == 0)?;
        Some((String::from_utf8(rest[..at].to_vec()).ok()?, String::from_utf8(rest[at + 1..].to_vec()).ok()?))
    };
    rows.iter().map(|(rest, _)| name(rest).ok_or_else(|| CatalogError::Damaged("a pair of tables".into()))).collect()
}

/// Lets a definition's own keys follow when a parent gets other names. Whether any did.
fn follow(def: &mut TableDef, old: &TableName, new: &TableName, renamed: &[Renamed]) -> bool {
    let mut followed = false;
    for key in def.foreign_keys.iter_mut().filter(|key| key.refers_to(&old.0, &old.1)) {
        (key.parent_database, key.parent_table) = new.clone();
        for column in &mut key.parent_columns {
            if let Some((_, after)) = renamed.iter().find(|(before, _)| same_name(before, column)) {
                column.clone_from(after);
            }
        }
        followed = true;
    }
    followed
}

/// A parent gets another name, or columns of it: all who refer to it say the new ones. `parent` is its new definition, whose own keys follow here, too;
/// it is the caller's to write.
pub(crate) fn rename_parent(session: &mut Session, old: &TableDef, parent: &mut TableDef, renamed: &[Renamed]) -> Result<()> {
    let (old_name, new_name) = ((old.database.clone(), old.name.clone()), (parent.database.clone(), parent.name.clone()));
    if old_name == new_name && renamed.is_empty() {
        return Ok(());
    }
    follow(parent, &old_name, &new_name, renamed);
    let (before, after) = (format!("{}_ibfk_", old.name), format!("{}_ibfk_", parent.name));
    for key in &mut parent.foreign_keys {
        // Names that were made of the table's.
        if let Some(rest) = key.name.strip_prefix(&before).filter(|rest| !rest.is_empty()) {
            key.name = format!("{after}{rest}");
        }
    }
    parent.foreign_keys.sort_by_key(|key| key.name.to_lowercase());
    // One of them may have had such a name already.
    let keys = &parent.foreign_keys;
    if let Some((_, key)) = keys.iter().enumerate().find(|(no, key)| keys[..*no].iter().any(|other| same_name(&other.name, &key.name))) {
        return Err(CatalogError::DuplicateForeignKey(key.name.clone()));
    }
    for (database, table) in children(session, &old.database, &old.name, LOCKED)? {
        if (&database, &table) == (&old.database, &old.name) {
            continue;
        }
        let damaged = || CatalogError::Damaged(format!("{database}.{table} is said to refer to {}.{}", old.database, old.name));
        let id = dictionary::table_id(session, &database, &table, LOCKED)?.ok_or_else(damaged)?;
        let before = dictionary::table(session, id, LOCKED)?.ok_or_else(damaged)?;
        let mut child = before.clone();
        if follow(&mut child, &old_name, &new_name, renamed) {
            replace(session, Some(&before), Some(&child))?;
            dictionary::set(session, &dictionary::table_key(id), &codec::encode_table(&child))?;
        }
    }
    Ok(())
}
