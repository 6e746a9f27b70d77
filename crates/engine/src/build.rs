//! Building indexes in one go: CREATE INDEX over existing rows, and tables copied by ALTER TABLE.
//!
//! # Invariants
//! 1. The caller holds the table's metadata lock exclusively, so no transaction that wrote the table is unfinished, except those that a
//!    crash left or whose rollback failed; [`Engine::wait_for_recovered`] waits for them.
//! 2. A tree under construction is known to nobody: it becomes part of the table when the dictionary says so. After a crash
//!    it is found as an orphan and its pages are given back.
//! 3. Copied rows carry no transaction id: every view sees them.

use crate::engine::Engine;
use crate::key_sort::Keys;
use crate::table::{IndexSpec, Table, new_entry_value};
use crate::version::header;
use crate::{Error, Result, Session};
use base::{TxnId, UndoPtr};
use btree::BTree;
use record::header::{DELETE_MARK, RowHeader};
use record::{KeyPart, RowRef};
use std::time::{Duration, Instant};

/// Why an index could not be built.
#[derive(Debug)]
pub enum BuildError {
    /// Two rows have the same key in the unique index at this position of the list given; the later one, as stored bytes of the new layout.
    Duplicate {
        /// Position in the list of indexes.
        index_no: usize,
        /// A row with the key.
        row: Vec<u8>,
    },
    /// The engine failed, or was cancelled.
    Engine(Error),
    /// Beside the build more rows were changed than may be noted.
    TooManyChanges,
}

impl From<Error> for BuildError {
    fn from(error: Error) -> BuildError {
        BuildError::Engine(error)
    }
}

impl From<btree::Error> for BuildError {
    fn from(error: btree::Error) -> BuildError {
        BuildError::Engine(error.into())
    }
}

type BuildResult<T> = std::result::Result<T, BuildError>;

/// The primary key of the second of two sorted entries with the same user parts, none of them NULL.
fn duplicate<'k>(keys: &'k Keys, table: &Table, parts: &[KeyPart]) -> Result<Option<&'k [u8]>> {
    for no in 1..keys.len() {
        let ((before, before_bytes), (key, user_bytes)) = (keys.key(no - 1), keys.key(no));
        if before[..before_bytes] == key[..user_bytes] && !key_has_null(table, parts, &key[..user_bytes])? {
            return Ok(Some(&key[user_bytes..]));
        }
    }
    Ok(None)
}

pub(crate) fn key_has_null(table: &Table, parts: &[KeyPart], mut user: &[u8]) -> Result<bool> {
    for part in parts {
        let ty = table.layout().column_type(part.column);
        let null_byte = if part.descending { 0xff } else { 0 };
        if ty.nullable && user.first() == Some(&null_byte) {
            return Ok(true);
        }
        let bytes = record::key::part_bytes(ty, part, user).map_err(|_| Error::corrupt("index key"))?;
        user = &user[bytes..];
    }
    Ok(false)
}

impl Engine {
    /// Waits until what a crash left unfinished is rolled back; [`Error::LockWaitTimeout`] when that takes longer than `timeout`.
    pub fn wait_for_recovered(&self, timeout: Duration) -> Result<()> {
        let deadline = Instant::now() + timeout;
        // The count first: a transaction in neither is in the count until it is in the list.
        while self.recovering.load(sync::atomic::Ordering::Acquire) > 0 || self.rollbacks_pending() > 0 {
            if Instant::now() >= deadline {
                return Err(Error::LockWaitTimeout);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Fills new, empty secondary trees with the keys of a table's rows.
    pub fn build_indexes(&self, session: &Session, table: &Table, new: &[IndexSpec]) -> BuildResult<()> {
        let mut runs: Vec<Keys> = new.iter().map(|_| Keys::default()).collect();
        let mut cursor = table.primary().tree.cursor();
        cursor.first()?;
        let mut count = 0u64;
        let mut held = memory::Use::new(memory::Kind::Ddl, 0);
        while cursor.valid() {
            let row = header(cursor.value())?;
            if row.flags & DELETE_MARK == 0 {
                let (key, value) = cursor.entry();
                for (run, index) in runs.iter_mut().zip(new) {
                    self.with_full_row(table, value, |row| run.push(row, &index.parts, key))??;
                }
            }
            count += 1;
            if count.is_multiple_of(1024) {
                held.resize(runs.iter().map(Keys::bytes).sum());
                if session.cancel().is_cancelled() {
                    return Err(Error::Killed.into());
                }
            }
            cursor.next()?;
        }
        drop(cursor);
        for (index_no, (run, index)) in runs.iter_mut().zip(new).enumerate() {
            run.sort();
            if index.unique
                && let Some(primary_key) = duplicate(run, table, &index.parts)?
            {
                let row = table.primary().tree.get(primary_key, |value| value.map(<[u8]>::to_vec))?.unwrap_or_default();
                let row = self.with_full_row(table, &row, |row| row.bytes().to_vec())?;
                return Err(BuildError::Duplicate { index_no, row });
            }
            self.fill(index, run)?;
        }
        Ok(())
    }

    fn fill(&self, index: &IndexSpec, run: &Keys) -> Result<()> {
        let tree = BTree::open(&self.pool, &self.space, index.id, index.root);
        let entries = (0..run.len()).map(|no| {
            let (key, user_bytes) = run.key(no);
            (key.to_vec(), new_entry_value(0, user_bytes).to_vec())
        });
        tree.build(entries)?;
        Ok(())
    }

    /// Copies all rows of `old` into the empty trees of `new`, each converted by `convert` from the old row to an encoded new one.
    /// Returns the count of rows.
    ///
    /// An error of `convert` ends the copy and is given back as it is.
    pub fn copy_table<E: From<BuildError>>(
        &self,
        session: &mut Session,
        old: &Table,
        new: &std::sync::Arc<Table>,
        mut convert: impl FnMut(RowRef<'_>, &mut Vec<u8>) -> std::result::Result<(), E>,
    ) -> std::result::Result<u64, E> {
        let fail = |error: Error| E::from(BuildError::Engine(error));
        let mut runs: Vec<Keys> = new.indexes[1..].iter().map(|_| Keys::default()).collect();
        let mut rows: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        let mut cursor = old.primary().tree.cursor();
        cursor.first().map_err(|e| fail(e.into()))?;
        let mut row_id = 0u64;
        let (mut held, mut row_bytes) = (memory::Use::new(memory::Kind::Ddl, 0), 0);
        while cursor.valid() {
            let row = header(cursor.value()).map_err(fail)?;
            if row.flags & DELETE_MARK == 0 {
                let mut bytes = Vec::new();
                self.with_full_row(old, cursor.value(), |row| convert(row, &mut bytes)).map_err(fail)??;
                row_id += 1;
                let mut key = Vec::new();
                if new.has_hidden_key() {
                    key.extend_from_slice(&row_id.to_be_bytes());
                } else {
                    new.primary_key(RowRef::new(new.layout(), &bytes), &mut key).map_err(fail)?;
                }
                for (run, index) in runs.iter_mut().zip(&new.indexes[1..]) {
                    run.push(RowRef::new(new.layout(), &bytes), &index.parts, &key).map_err(fail)?;
                }
                // A column that becomes AUTO_INCREMENT goes on after its largest value.
                if let Some(column) = new.auto_increment_column
                    && let Some(value) = new.auto_increment_value(RowRef::new(new.layout(), &bytes), column)
                {
                    new.note_auto_increment(value);
                }
                row_bytes += (key.capacity() + bytes.capacity() + size_of::<(Vec<u8>, Vec<u8>)>()) as u64;
                memory::reserve(&mut rows, 1).map_err(|_| fail(Error::Killed))?;
                rows.push((key, bytes));
            }
            if rows.len().is_multiple_of(1024) {
                held.resize(row_bytes + runs.iter().map(Keys::bytes).sum::<u64>());
                if session.cancel().is_cancelled() {
                    return Err(fail(Error::Killed));
                }
            }
            cursor.next().map_err(|e| fail(e.into()))?;
        }
        drop(cursor);
        rows.sort_unstable();
        if let Some(no) = (1..rows.len()).find(|no| rows[*no].0 == rows[no - 1].0) {
            return Err(E::from(BuildError::Duplicate { index_no: 0, row: std::mem::take(&mut rows[no].1) }));
        }
        for (no, (run, index)) in runs.iter_mut().zip(&new.indexes[1..]).enumerate() {
            run.sort();
            if index.unique
                && let Some(primary_key) = duplicate(run, new, &index.parts).map_err(fail)?
            {
                let row =
                    rows.binary_search_by(|(key, _)| key.as_slice().cmp(primary_key)).map_or_else(|_| Vec::new(), |at| rows[at].1.clone());
                return Err(E::from(BuildError::Duplicate { index_no: no + 1, row }));
            }
        }
        let count = rows.len() as u64;
        for (key, row) in &mut rows {
            self.store_external_copy(new, key, row).map_err(fail)?;
            let flags = row[0];
            RowHeader { flags, schema_version: new.layout().schema_version(), txn: TxnId::NONE, undo: UndoPtr::NONE }.write(row);
        }
        new.primary().tree.build(rows).map_err(|e| fail(e.into()))?;
        for (run, index) in runs.iter().zip(&new.indexes[1..]) {
            let spec = IndexSpec { id: index.id, root: index.tree.root, parts: index.parts.clone(), unique: index.unique };
            self.fill(&spec, run).map_err(fail)?;
        }
        new.rows.store(count as i64, sync::atomic::Ordering::Relaxed);
        Ok(count)
    }
}
