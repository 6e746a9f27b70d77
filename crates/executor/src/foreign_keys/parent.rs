//! The rows that a new row refers to: each is locked (shared), by the key that its reference goes by, or said to be missing (1452).

use super::lookup::{is_kept_by_key, key_of};
use crate::context::StatementContext;
use crate::run::Result;
use catalog::{TableDef, TableEntry};
use engine::{Direction, HandlerCall, KeyRange, Read, RowBatch, Session, Wait};
use mysql_error::{SqlError, codes};
use planner::foreign_keys::{ParentKey, TableKeys};
use planner::plan::Plan;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;
use types::Value;

/// The tables of a plan, and one of them whose row refers to others.
#[derive(Clone, Copy)]
pub(crate) struct Child<'p> {
    pub plan: &'p Plan,
    /// Position in [`Plan::tables`].
    pub table: u32,
}

/// What a row refers to by one of its table's keys.
pub(super) enum Reference<'p> {
    /// To nothing: there is a NULL among the columns.
    Nothing,
    /// To what cannot be there.
    Nowhere,
    /// To a row of the parent whose key in an index begins so.
    Row { parent: &'p Arc<TableEntry>, index: u32, wanted: Vec<u8> },
}

impl<'p> Child<'p> {
    fn def(self) -> &'p TableDef {
        &self.plan.tables[self.table as usize].def
    }

    /// The columns of one of the table's keys.
    pub(super) fn columns(self, key: &ParentKey) -> &'p [usize] {
        &self.def().foreign_keys[key.key as usize].columns
    }

    /// Whether the AUTO_INCREMENT column is among those of a key, so that what a row refers to is known when it has its number.
    pub(crate) fn refers_by_number(self, keys: &TableKeys) -> bool {
        let number = self.def().auto_increment_column();
        number.is_some_and(|at| keys.parents.iter().any(|key| self.columns(key).contains(&at)))
    }

    /// Whether a row may refer to one before it in the same statement.
    pub(crate) fn refers_to_itself(self, keys: &TableKeys) -> bool {
        keys.parents.iter().any(|key| self.leads_home(key))
    }

    /// Whether a key leads to the table itself. (A statement that names it twice has it twice among its tables.)
    pub(super) fn leads_home(self, key: &ParentKey) -> bool {
        key.parent.is_some_and(|(parent, _)| self.plan.tables[parent as usize].def.id == self.def().id)
    }

    /// Locks what a row refers to by all of the keys; `value` gives its columns.
    ///
    /// # Errors
    /// 1452 of the first key whose row is not there; what waiting for it meets.
    pub(crate) fn lock_parents<'v>(
        self,
        keys: &TableKeys,
        value: impl Fn(usize) -> Cow<'v, Value>,
        session: &mut Session,
        context: &dyn StatementContext,
    ) -> Result<()> {
        for key in &keys.parents {
            self.lock_parent(key, &value, session, context)?;
        }
        Ok(())
    }

    /// The same by one of them.
    pub(super) fn lock_parent<'v>(
        self,
        key: &ParentKey,
        value: impl Fn(usize) -> Cow<'v, Value>,
        session: &mut Session,
        context: &dyn StatementContext,
    ) -> Result<()> {
        let is_there = match self.reference(key, &value)? {
            Reference::Nothing => true,
            Reference::Nowhere => false,
            // A row may refer to itself.
            Reference::Row { parent, index, wanted } => {
                self.leads_to_itself(parent, index, &wanted, key, value)?
                    || has_row(session, parent, index as usize, self.columns(key).len(), &wanted)?
            }
        };
        if is_there { Ok(()) } else { Err(self.no_parent(key, context).into()) }
    }

    /// What a row refers to by a key.
    pub(super) fn reference<'v>(self, key: &ParentKey, value: impl Fn(usize) -> Cow<'v, Value>) -> Result<Reference<'p>> {
        let referring: SmallVec<[Cow<'v, Value>; 4]> = self.columns(key).iter().map(|column| value(*column)).collect();
        if referring.iter().any(|value| value.is_null()) {
            return Ok(Reference::Nothing);
        }
        let Some((parent, index)) = key.parent else { return Ok(Reference::Nowhere) };
        let parent = &self.plan.tables[parent as usize];
        let referring: SmallVec<[&Value; 4]> = referring.iter().map(|value| &**value).collect();
        Ok(match key_of(parent, index, &referring)? {
            Some(wanted) => Reference::Row { parent, index, wanted },
            None => Reference::Nowhere,
        })
    }

    /// Whether a row of the table itself has a key that is referred to.
    pub(super) fn leads_to_itself<'v>(
        self,
        parent: &TableEntry,
        index: u32,
        wanted: &[u8],
        key: &ParentKey,
        value: impl Fn(usize) -> Cow<'v, Value>,
    ) -> Result<bool> {
        if !self.leads_home(key) {
            return Ok(false);
        }
        let parts = parent.def.indexes[index as usize].parts.iter().take(self.columns(key).len());
        let own: SmallVec<[Cow<'v, Value>; 4]> = parts.map(|part| value(part.column)).collect();
        let own: SmallVec<[&Value; 4]> = own.iter().map(|value| &**value).collect();
        Ok(key_of(parent, index, &own)?.is_some_and(|own| own == wanted))
    }

    /// 1452 of one of the table's keys.
    #[cold]
    pub(super) fn no_parent(self, key: &ParentKey, context: &dyn StatementContext) -> SqlError {
        let def = self.def();
        let key = &def.foreign_keys[key.key as usize];
        let error = codes::no_referenced_row_2(key.described(def));
        as_told(context, error, &key.parent_database, &key.parent_table, codes::no_referenced_row)
    }
}

/// Whether the parent has a row whose key in an index begins with the values of so many columns. If so it is locked.
fn has_row(session: &mut Session, parent: &Arc<TableEntry>, index: usize, columns: usize, wanted: &[u8]) -> Result<bool> {
    let read = Read::Share(Wait::Block);
    let storage = &parent.storage;
    session.handler_counts().add(HandlerCall::ReadKey, 1);
    if index == 0 && storage.indexes[0].parts.len() == columns {
        return Ok(session.get(storage, wanted, read, |_| ())?.is_some());
    }
    if is_kept_by_key(parent, index as u32, columns) && session.share_key(storage, index, wanted)? {
        return Ok(true);
    }
    let mut batch = RowBatch::default();
    let found = session.scan(storage, index, KeyRange::prefix(wanted), Direction::Forward, read)?.next_batch(&mut batch, 1)?;
    Ok(found > 0)
}

/// Who may do nothing with the other table is not told of it.
#[cold]
pub(super) fn as_told(context: &dyn StatementContext, error: SqlError, database: &str, table: &str, plain: fn() -> SqlError) -> SqlError {
    if context.may_name_table(database, table) { error } else { SqlError { message: plain().message, ..error } }
}
