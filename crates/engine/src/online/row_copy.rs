//! Rows of a table as rows of its new definition, in trees of their own: for what ALTER TABLE cannot do without writing all rows anew. Which rows, and when,
//! `online/build.rs` says.
//!
//! # Invariants
//! 1. Copied rows carry no transaction id: every view sees them. `Table::set_defined_by` keeps those away that are older than the copy.
//! 2. Where others write meanwhile, a row is converted to the same bytes each time, and its new key follows from the row: what was put into the trees for a
//!    version of it is found there again.
//! 3. A chain of overflow pages is the new tree's, and goes with the row that names it; of a copy that fails, with the tree. Nothing is undone row by row.

use crate::engine::Engine;
use crate::online::build::{put, take};
use crate::online::outcome::BuildError;
use crate::table::Table;
use crate::write::external::EXTERNAL;
use crate::{Error, Result};
use base::{TxnId, UndoPtr};
use record::RowRef;
use record::header::{HEADER_BYTES, RowHeader};
use std::sync::Arc;
use sync::atomic::Ordering;

/// Makes of a row of the old definition an encoded one of the new; an error is why it cannot be.
pub type ConvertRow<'c> = dyn FnMut(RowRef<'_>, &mut Vec<u8>) -> std::result::Result<(), String> + 'c;

/// Where rows are copied to, and how.
pub struct RowCopy<'c> {
    pub(crate) target: Arc<Table>,
    keeps_key: bool,
    convert: Box<ConvertRow<'c>>,
    row_ids: u64,
    /// Rows in the new trees.
    rows: i64,
}

/// A row of the new definition: its key, and its bytes from the header on.
#[derive(Default)]
pub(crate) struct NewRow {
    pub(crate) key: Vec<u8>,
    pub(crate) bytes: Vec<u8>,
}

impl NewRow {
    /// Its columns, while it is whole.
    pub(crate) fn row<'r>(&'r self, table: &'r Table) -> RowRef<'r> {
        RowRef::new(table.layout(), &self.bytes)
    }
}

impl<'c> RowCopy<'c> {
    /// A copy into `target`, whose trees are empty. With `keeps_key` a row's primary key is what it was, a hidden one, too; without, a table that has a hidden key
    /// numbers its rows anew, and nobody may write the old one meanwhile.
    pub fn new(target: Arc<Table>, keeps_key: bool, convert: Box<ConvertRow<'c>>) -> RowCopy<'c> {
        RowCopy { target, keeps_key, convert, row_ids: 0, rows: 0 }
    }

    /// Whether rows that are read in the order of their old keys are in the order of the new ones.
    pub(crate) fn is_in_order(&self) -> bool {
        self.keeps_key || self.target.has_hidden_key()
    }

    /// Converts a row with this old key.
    pub(crate) fn convert(&mut self, old_key: &[u8], row: RowRef<'_>, new: &mut NewRow) -> std::result::Result<(), BuildError> {
        new.bytes.clear();
        new.key.clear();
        (self.convert)(row, &mut new.bytes).map_err(BuildError::Convert)?;
        let header = RowHeader { flags: 0, schema_version: self.target.layout().schema_version(), txn: TxnId::NONE, undo: UndoPtr::NONE };
        header.write(&mut new.bytes);
        if !self.target.has_hidden_key() {
            self.target.primary_key(RowRef::new(self.target.layout(), &new.bytes), &mut new.key)?;
        } else if self.keeps_key {
            new.key.extend_from_slice(old_key);
        } else {
            self.row_ids += 1;
            new.key.extend_from_slice(&self.row_ids.to_be_bytes());
        }
        Ok(())
    }

    /// A row of the first filling: a column that becomes AUTO_INCREMENT goes on after its largest value.
    pub(crate) fn note_counter(&self, new: &NewRow) {
        let target = &self.target;
        if let Some(column) = target.auto_increment_column
            && let Some(value) = target.auto_increment_value(new.row(target), column)
        {
            target.note_auto_increment(value);
        }
    }

    /// Brings a row into its stored form, for the tree to be filled with. Called with no latch held.
    pub(crate) fn store(&mut self, engine: &Engine, new: &mut NewRow) -> Result<()> {
        self.rows += 1;
        engine.store_external_copy(&self.target, &new.key, &mut new.bytes)
    }

    /// Adds a row to the tree that was filled; `false`, and the row is whole, when another one has its key.
    pub(crate) fn add(&mut self, engine: &Engine, new: &mut NewRow) -> Result<bool> {
        let target = Arc::clone(&self.target);
        let tree = &target.primary().tree;
        // The tree is nobody else's: what is true without its latch stays true.
        if tree.get(&new.key, |value| value.is_some())? {
            return Ok(false);
        }
        self.store(engine, new)?;
        put(tree, &new.key, &new.bytes)?;
        Ok(true)
    }

    /// Removes the row with this key from the tree that was filled.
    pub(crate) fn remove(&mut self, engine: &Engine, key: &[u8]) -> Result<()> {
        let stored = take(&self.target.primary().tree, key)?;
        self.rows -= 1;
        match stored.first().is_some_and(|flags| flags & EXTERNAL != 0) {
            true => engine.free_stored_chain(&self.target, stored.get(HEADER_BYTES..).unwrap_or_default()),
            false => Ok(()),
        }
    }

    /// The whole row with this key in the tree that was filled, for a message.
    pub(crate) fn row_at(&self, engine: &Engine, key: &[u8]) -> Result<Vec<u8>> {
        let stored = self.target.primary().tree.get(key, |value| value.map(<[u8]>::to_vec))?;
        self.whole(engine, &stored.ok_or_else(|| Error::corrupt("an entry without its row in a table under construction"))?)
    }

    /// The whole row of a stored one, for a message.
    pub(crate) fn whole(&self, engine: &Engine, stored: &[u8]) -> Result<Vec<u8>> {
        engine.with_full_row(&self.target, stored, |row| row.bytes().to_vec())
    }

    /// All rows are there.
    pub(crate) fn finish(&self) {
        self.target.rows.store(self.rows, Ordering::Relaxed);
    }
}
