//! Looking for the rows that are referred to, and for those that refer.

use crate::exec::Exec;
use crate::run::Result;
use catalog::{TableDef, TableEntry};
use engine::{Direction, KeyRange, Read, RowBatch, Wait};
use mysql_error::{SqlError, codes};
use planner::foreign_keys::{ChildKey, ParentKey};
use planner::keys::{Fit, fit};
use record::KeyPart;
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

fn key_of(entry: &TableEntry, index: u32, values: &[&Value]) -> Result<Option<Vec<u8>>> {
    reference_key(&entry.def, &entry.def.indexes[index as usize].parts, values)
}

/// Whether who refers to so many columns by an index of the parent locks the key that it finds there, not the row: a whole unique key other than the primary one, which
/// one row has.
pub(super) fn is_kept_by_key(parent: &TableEntry, index: u32, columns: usize) -> bool {
    let index_no = index as usize;
    index_no != 0 && parent.storage.indexes.get(index_no).is_some_and(|index| index.unique && index.parts.len() == columns)
}

impl Exec<'_> {
    /// 1452 of a table's own key.
    pub(super) fn no_parent(&self, table: u32, key: u32) -> SqlError {
        let def = &self.plan.tables[table as usize].def;
        let key = &def.foreign_keys[key as usize];
        let error = codes::no_referenced_row_2(key.described(def));
        self.as_told(error, &key.parent_database, &key.parent_table, codes::no_referenced_row)
    }

    /// Who may do nothing with the other table is not told of it.
    #[cold]
    fn as_told(&self, error: SqlError, database: &str, table: &str, plain: fn() -> SqlError) -> SqlError {
        if self.context.may_name_table(database, table) { error } else { SqlError { message: plain().message, ..error } }
    }

    /// 1451 of a key that refers to a table.
    pub(super) fn is_referenced(&self, child: &ChildKey) -> SqlError {
        let def = &self.plan.tables[child.child as usize].def;
        let error = codes::row_is_referenced_2(def.foreign_keys[child.key as usize].described(def));
        self.as_told(error, &def.database, &def.name, codes::row_is_referenced)
    }

    /// Locks the row that `values`, a row of `table`, refers to by one of its keys; 1452 when there is none. `before` is the row's primary key and what it
    /// is until now: what it is about to give up it cannot refer to.
    pub(super) fn check_parent(&mut self, table: u32, key: &ParentKey, values: &[Value], before: Option<(&[u8], &[Value])>) -> Result<()> {
        let plan = self.plan;
        let def = &plan.tables[table as usize].def;
        let referring: Vec<&Value> = def.foreign_keys[key.key as usize].columns.iter().map(|column| &values[*column]).collect();
        if referring.iter().any(|value| value.is_null()) {
            return Ok(());
        }
        let Some((parent_no, index)) = key.parent else { return Err(self.no_parent(table, key.key).into()) };
        let parent = &plan.tables[parent_no as usize];
        let Some(wanted) = key_of(parent, index, &referring)? else { return Err(self.no_parent(table, key.key).into()) };
        let range = KeyRange::prefix(&wanted);
        if parent.def.id == def.id {
            let parts = &parent.def.indexes[index as usize].parts;
            let is_wanted = |row: &[Value]| -> Result<bool> {
                let own: Vec<&Value> = parts.iter().take(referring.len()).map(|part| &row[part.column]).collect();
                Ok(key_of(parent, index, &own)?.as_ref() == Some(&wanted))
            };
            // A row may refer to itself.
            if is_wanted(values)? {
                return Ok(());
            }
            if let Some((row, old)) = before
                && is_wanted(old)?
            {
                let found = self.rows_with(parent, index as usize, range, Read::Share(Wait::Block), 2)?;
                return if found.iter().any(|other| other != row) { Ok(()) } else { Err(self.no_parent(table, key.key).into()) };
            }
        }
        let mut batch = RowBatch::default();
        let session = self.engine()?;
        if is_kept_by_key(parent, index, referring.len()) && session.share_key(&parent.storage, index as usize, &wanted)? {
            return Ok(());
        }
        let found = session
            .scan(&parent.storage, index as usize, range, Direction::Forward, Read::Share(Wait::Block))?
            .next_batch(&mut batch, 1)?;
        if found == 0 { Err(self.no_parent(table, key.key).into()) } else { Ok(()) }
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

    /// The primary keys of the rows of a range of an index, or of `rows_max` of them.
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
                self.memory.take(batch.key(row).len() + 32)?;
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
