//! Deleting and changing rows that others refer to: refusing it, or letting those follow.
//!
//! A row's own change comes last, when all that refers to it is dealt with: so `RESTRICT` sees a row that refers to itself, as MySQL's does.

use super::{DEPTH_MAX, Link};
use crate::change::duplicate::duplicate_entry;
use crate::errors::{Error, internal};
use crate::exec::Exec;
use crate::run::Result;
use catalog::ReferenceAction;
use engine::{Modified, Modify, Read, Wait};
use mysql_error::codes;
use planner::foreign_keys::ChildKey;
use types::Value;

/// Why a row goes.
#[derive(Clone, Copy)]
pub(crate) enum Removal<'v> {
    /// It is deleted.
    Deleted,
    /// REPLACE puts this one in its place: who refers to what stays as it was is left alone.
    Replaced(&'v [Value]),
}

/// What has led to a change: rows from the statement's own down, and the key that the last step went by.
#[derive(Default)]
struct Cause {
    chain: Vec<Link>,
    /// Child table and the position of its key: its new value need not be there yet.
    key: Option<(u32, u32)>,
}

impl Cause {
    fn has(&self, table: u32, key: &[u8]) -> bool {
        self.chain.iter().any(|link| link.table == table && link.key == key)
    }

    fn updates(&self, table: u32) -> bool {
        self.chain.iter().any(|link| link.is_update && link.table == table)
    }

    fn enter(&mut self, table: u32, key: &[u8], is_update: bool) -> Result<()> {
        if self.chain.len() == DEPTH_MAX {
            return Err(codes::fk_depth_exceeded(DEPTH_MAX).into());
        }
        self.chain.push(Link { table, key: key.to_vec(), is_update });
        Ok(())
    }
}

impl Exec<'_> {
    /// Deletes a row with all that its foreign keys ask for. Whether it was still there.
    pub(crate) fn delete_with_keys(&mut self, table: u32, key: &[u8], removal: Removal<'_>) -> Result<bool> {
        self.delete_row(table, key, removal, &mut Cause::default())
    }

    /// Changes a row as `change` says, with all that its foreign keys ask for. `change` gets the row as it is now and says whether it has changed it.
    /// Whether the row was changed.
    pub(crate) fn update_with_keys(
        &mut self,
        table: u32,
        key: &[u8],
        change: impl FnOnce(&mut Self, &mut Vec<Value>) -> Result<bool>,
    ) -> Result<bool> {
        let Some(old) = self.locked_values(table, key)? else { return Ok(false) };
        let mut new = old.clone();
        if !change(self, &mut new)? {
            return Ok(false);
        }
        self.change_row(table, key, &old, &new, &mut Cause::default())?;
        Ok(true)
    }

    fn delete_row(&mut self, table: u32, key: &[u8], removal: Removal<'_>, cause: &mut Cause) -> Result<bool> {
        self.tick()?;
        let Some(values) = self.locked_values(table, key)? else { return Ok(false) };
        if let Some(keys) = self.keys_of(table) {
            cause.enter(table, key, false)?;
            for child in &keys.children {
                let stays = match removal {
                    Removal::Deleted => false,
                    Removal::Replaced(new) => !self.differ(child, &values, new)?,
                };
                if !stays {
                    self.follow_delete(table, child, &values, cause)?;
                }
            }
            cause.chain.pop();
        }
        let plan = self.plan;
        let done = self.engine()?.modify(&plan.tables[table as usize].storage, key, |_, _| Modify::Delete)?;
        Ok(done == Modified::Deleted)
    }

    /// What becomes of the rows that refer to a row which is about to go.
    fn follow_delete(&mut self, parent: u32, child: &ChildKey, values: &[Value], cause: &mut Cause) -> Result<()> {
        self.keep_from_being_referred_to(parent, child, values)?;
        match self.key_def(child).on_delete {
            ReferenceAction::Cascade => {
                let referring = self.rows_to_change(child, values)?;
                for key in &referring {
                    if !cause.has(child.child, key) {
                        self.delete_row(child.child, key, Removal::Deleted, cause)?;
                    }
                }
                self.let_go(referring);
                Ok(())
            }
            ReferenceAction::SetNull => self.set_columns(child, values, None, cause),
            ReferenceAction::NoAction | ReferenceAction::Restrict | ReferenceAction::SetDefault => self.refuse_referenced(child, values),
        }
    }

    /// What becomes of the rows that refer to a row whose key changes.
    fn follow_update(&mut self, parent: u32, child: &ChildKey, old: &[Value], new: &[Value], cause: &mut Cause) -> Result<()> {
        self.keep_from_being_referred_to(parent, child, old)?;
        match self.key_def(child).on_update {
            // A table that the chain changes already is not changed once more.
            ReferenceAction::Cascade | ReferenceAction::SetNull if cause.updates(child.child) => self.refuse_referenced(child, old),
            ReferenceAction::Cascade => self.set_columns(child, old, Some(new), cause),
            ReferenceAction::SetNull => self.set_columns(child, old, None, cause),
            ReferenceAction::NoAction | ReferenceAction::Restrict | ReferenceAction::SetDefault => self.refuse_referenced(child, old),
        }
    }

    fn key_def(&self, child: &ChildKey) -> &catalog::ForeignKeyDef {
        &self.plan.tables[child.child as usize].def.foreign_keys[child.key as usize]
    }

    /// 1451 when any row refers to the values.
    fn refuse_referenced(&mut self, child: &ChildKey, values: &[Value]) -> Result<()> {
        let found = self.referring_rows(child, values, Read::Share(Wait::Block), 1)?;
        let is_referred_to = !found.is_empty();
        self.let_go(found);
        if is_referred_to { Err(self.is_referenced(child).into()) } else { Ok(()) }
    }

    fn rows_to_change(&mut self, child: &ChildKey, values: &[Value]) -> Result<Vec<Vec<u8>>> {
        self.referring_rows(child, values, Read::Exclusive(Wait::Block), usize::MAX)
    }

    /// Gives the rows that refer to `old` the new key, or NULL.
    fn set_columns(&mut self, child: &ChildKey, old: &[Value], new: Option<&[Value]>, cause: &mut Cause) -> Result<()> {
        let plan = self.plan;
        let entry = &plan.tables[child.child as usize];
        let referring = self.rows_to_change(child, old)?;
        for key in &referring {
            if cause.has(child.child, key) {
                continue;
            }
            let Some(before) = self.locked_values(child.child, key)? else { continue };
            let mut after = before.clone();
            for (column, parent_column) in entry.def.foreign_keys[child.key as usize].columns.iter().zip(&child.columns) {
                let column_def = &entry.def.columns[*column];
                let value = new.map_or(Value::Null, |new| new[*parent_column].clone());
                if value.is_null() && !column_def.ty.nullable {
                    return Err(self.is_referenced(child).into());
                }
                // What the child's column cannot hold as it is cannot be followed.
                let (lenient, null_lenient) = (self.lenient, self.null_lenient);
                (self.lenient, self.null_lenient) = (false, false);
                let stored = self.store_value(value, column_def, 1);
                (self.lenient, self.null_lenient) = (lenient, null_lenient);
                after[*column] = match stored {
                    Ok(value) => value,
                    Err(Error::Sql(_)) => return Err(self.is_referenced(child).into()),
                    Err(error) => return Err(error),
                };
            }
            if let Some(rules) = self.keys_of(child.child).and_then(|keys| keys.rules.as_deref()) {
                self.generated_columns(rules, &entry.def, &mut after, 1)?;
            }
            let by = cause.key.replace((child.child, child.key));
            let changed = self.change_row(child.child, key, &before, &after, cause);
            cause.key = by;
            changed.map_err(|error| match error {
                Error::Engine(engine::Error::DuplicateKey { index_no }) => {
                    let parent = &plan.tables[child.child as usize].def.foreign_keys[child.key as usize].parent_table;
                    let (entry_text, index) = self.entry_of(child.child, index_no, &after);
                    codes::foreign_duplicate_key_with_child_info(parent, entry_text, &entry.def.name, index).into()
                }
                error => error,
            })?;
        }
        self.let_go(referring);
        Ok(())
    }

    /// The values of a duplicate's key as text, and the index's name.
    fn entry_of(&self, table: u32, index_no: usize, values: &[Value]) -> (String, String) {
        let def = &self.plan.tables[table as usize].def;
        let message = duplicate_entry(def, index_no, values, &*self.context).message;
        let entry = message.strip_prefix("Duplicate entry '").and_then(|rest| rest.rsplit_once("' for key")).map_or("", |(entry, _)| entry);
        (entry.to_owned(), def.indexes.get(index_no).map_or_else(String::new, |index| index.name.clone()))
    }

    /// Changes a row that is locked. A duplicate key is the engine's error.
    fn change_row(&mut self, table: u32, key: &[u8], old: &[Value], new: &[Value], cause: &mut Cause) -> Result<()> {
        self.tick()?;
        let plan = self.plan;
        let entry = &plan.tables[table as usize];
        if let Some(keys) = self.keys_of(table) {
            for parent in &keys.parents {
                let columns = &entry.def.foreign_keys[parent.key as usize].columns;
                let changes = columns.iter().any(|column| old[*column] != new[*column]);
                if changes && cause.key != Some((table, parent.key)) {
                    self.check_parent(table, parent, new, (key, old))?;
                }
            }
            cause.enter(table, key, true)?;
            for child in &keys.children {
                if self.differ(child, old, new)? {
                    self.follow_update(table, child, old, new, cause)?;
                }
            }
            cause.chain.pop();
        }
        let mut after = Vec::new();
        entry.storage.layout().encode(new, &mut after).map_err(|e| internal(&format!("{e:?}")))?;
        self.engine()?.update(&entry.storage, key, &mut after)?;
        Ok(())
    }
}
