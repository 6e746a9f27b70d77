//! Looking for the rows that are referred to, and for those that refer.

use super::parent::{Child, Reference, as_told};
use crate::exec::Exec;
use crate::run::Result;
use catalog::{TableDef, TableEntry};
use engine::{Direction, KeyRange, Read, RowBatch, Wait};
use mysql_error::{SqlError, codes};
use planner::foreign_keys::{ChildKey, ParentKey};
use planner::keys::{Fit, fit};
use record::KeyPart;
use std::borrow::Cow;
use types::Value;

/// Rows that are looked at together.
const ROWS_AT_ONCE: usize = 64;

/// The bytes by which an index begins that has these values in its first parts; `None` when none of its rows can have them: a NULL among them, or what the
/// columns do not hold.
pub fn reference_key(def: &TableDef, parts: &[KeyPart], values: &[&Value]) -> Result<Option<Vec<u8>>> {
    let mut key = Vec::new();
    for (part, value) in parts.iter().zip(values) {
        let ty = &def.columns[part.column].ty;
        match fit(ty, value) {
            _ if value.is_null() => return Ok(None),
            Fit::Exact(value) => record::key::try_encode_part(ty, part, &value, &mut key)?,
            // Strings longer than the column: their bytes tell.
            Fit::Unusable => record::key::try_encode_part(ty, part, value, &mut key)?,
            _ => return Ok(None),
        }
    }
    Ok(Some(key))
}

/// Bytes that a primary key takes which is remembered.
fn taken_by(key: &[u8]) -> usize {
    key.len() + 32
}

pub(super) fn key_of(entry: &TableEntry, index: u32, values: &[&Value]) -> Result<Option<Vec<u8>>> {
    reference_key(&entry.def, &entry.def.indexes[index as usize].parts, values)
}

/// Whether who refers to so many columns by an index of the parent locks the key that it finds there, not the row: a whole unique key other than the primary one, which
/// one row has.
pub(super) fn is_kept_by_key(parent: &TableEntry, index: u32, columns: usize) -> bool {
    let index_no = index as usize;
    index_no != 0 && parent.storage.indexes.get(index_no).is_some_and(|index| index.unique && index.parts.len() == columns)
}

impl Exec<'_> {
    /// 1451 of a key that refers to a table.
    pub(super) fn is_referenced(&self, child: &ChildKey) -> SqlError {
        let def = &self.plan.tables[child.child as usize].def;
        let error = codes::row_is_referenced_2(def.foreign_keys[child.key as usize].described(def));
        as_told(self.context, error, &def.database, &def.name, codes::row_is_referenced)
    }

    /// Locks the row that a changed one, `values` of `table`, refers to by one of its keys; 1452 when there is none. What the row of the primary key `row` is until now, `old`, it is
    /// about to give up, and cannot refer to.
    pub(super) fn check_parent(&mut self, table: u32, key: &ParentKey, values: &[Value], (row, old): (&[u8], &[Value])) -> Result<()> {
        let child = Child { plan: self.plan, table };
        let value = |column: usize| Cow::Borrowed(&values[column]);
        if child.leads_home(key)
            && let Reference::Row { parent, index, wanted } = child.reference(key, value)?
            && !child.leads_to_itself(parent, index, &wanted, key, value)?
            && child.leads_to_itself(parent, index, &wanted, key, |column| Cow::Borrowed(&old[column]))?
        {
            let found = self.rows_with(parent, index as usize, KeyRange::prefix(&wanted), Read::Share(Wait::Block), 2)?;
            let is_there = found.iter().any(|other| other != row);
            self.let_go(found);
            return if is_there { Ok(()) } else { Err(child.no_parent(key, self.context).into()) };
        }
        let Some(session) = self.session.as_deref_mut() else { return Err(crate::errors::internal("engine in use")) };
        child.lock_parent(key, value, session, self.context)
    }

    /// Before those are looked for who refer to the values of a row of `parent` by a key: nobody comes to refer to them from here on. The row is locked.
    pub(super) fn keep_from_being_referred_to(&mut self, parent: u32, child: &ChildKey, values: &[Value]) -> Result<()> {
        let plan = self.plan;
        let entry = &plan.tables[parent as usize];
        let Some(index) = child.parent_index.filter(|index| is_kept_by_key(entry, *index, child.columns.len())) else { return Ok(()) };
        let own: Vec<&Value> = entry.def.indexes[index as usize].parts.iter().map(|part| &values[part.column]).collect();
        match key_of(entry, index, &own)? {
            Some(key) => Ok(self.engine()?.take_key(&entry.storage, index as usize, &key)?),
            None => Ok(()),
        }
    }

    /// The primary keys of the rows that refer to a row with these values by a key, locked as `read` says: all of them, or `rows_max`.
    ///
    /// The row that is referred to is locked, so that nobody comes to refer to it. Those who do already may move in their index meanwhile, to another primary key
    /// say, without a look at it: so nothing may come into the range while it is read, at any level.
    pub(super) fn referring_rows(&mut self, child: &ChildKey, values: &[Value], read: Read, rows_max: usize) -> Result<Vec<Vec<u8>>> {
        let plan = self.plan;
        let entry = &plan.tables[child.child as usize];
        let Some(index) = child.index else { return Err(crate::errors::internal("a foreign key without its index")) };
        let referred: Vec<&Value> = child.columns.iter().map(|column| &values[*column]).collect();
        let Some(wanted) = key_of(entry, index, &referred)? else { return Ok(Vec::new()) };
        self.engine()?.close_gaps();
        let found = self.rows_with(entry, index as usize, KeyRange::prefix(&wanted), read, rows_max);
        self.engine()?.open_gaps();
        found
    }

    /// The primary keys that were found are not needed any more: what they took is given back.
    pub(super) fn let_go(&mut self, found: Vec<Vec<u8>>) {
        self.memory.give_back(found.iter().map(|key| taken_by(key)).sum());
    }

    /// The primary keys of the rows of a range of an index, or of `rows_max` of them; to be given to [`Exec::let_go`] in the end.
    fn rows_with(&mut self, entry: &TableEntry, index: usize, range: KeyRange, read: Read, rows_max: usize) -> Result<Vec<Vec<u8>>> {
        let mut found = Vec::new();
        let mut batch = RowBatch::default();
        let mut state = self.engine()?.scan(&entry.storage, index, range, Direction::Forward, read)?.park();
        loop {
            let mut scan = self.engine()?.resume(state);
            let count = scan.next_batch(&mut batch, ROWS_AT_ONCE.min(rows_max - found.len()))?;
            state = scan.park();
            for row in 0..count {
                self.tick()?;
                self.memory.take(taken_by(batch.key(row)))?;
                ::memory::reserve(&mut found, 1)?;
                found.push(batch.key(row).to_vec());
            }
            if count == 0 || found.len() >= rows_max {
                return Ok(found);
            }
        }
    }

    /// Whether two rows of a table have different keys where one refers to them. Strings of other bytes are others, though a collation may take them for equal:
    /// who refers to them is to follow, or to be in the way, as in MySQL.
    pub(super) fn differ(&self, child: &ChildKey, old: &[Value], new: &[Value]) -> Result<bool> {
        let Some(index) = child.index else { return Ok(true) };
        let is_other_text = |column: &usize| matches!((&old[*column], &new[*column]), (Value::Bytes(old), Value::Bytes(new)) if old != new);
        if child.columns.iter().any(is_other_text) {
            return Ok(true);
        }
        let entry = &self.plan.tables[child.child as usize];
        let key = |row: &[Value]| {
            let values: Vec<&Value> = child.columns.iter().map(|column| &row[*column]).collect();
            key_of(entry, index, &values)
        };
        Ok(child.columns.iter().any(|column| old[*column] != new[*column]) && key(old)? != key(new)?)
    }

    /// The values of a row, locked exclusively; `None` when it is gone.
    pub(super) fn locked_values(&mut self, table: u32, key: &[u8]) -> Result<Option<Vec<Value>>> {
        let plan = self.plan;
        let storage = &plan.tables[table as usize].storage;
        let found = self.engine()?.get(storage, key, Read::Exclusive(Wait::Block), |row| {
            let mut values = Vec::new();
            row.values(&mut values).map(|()| values)
        })?;
        Ok(found.transpose()?)
    }
}
