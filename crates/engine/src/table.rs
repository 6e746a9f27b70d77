//! A table as the engine sees it: row layouts by schema version, a primary index that holds the rows, secondary indexes that hold keys.
//!
//! # Invariants
//! 1. `indexes[0]` is the primary index; its values are rows (header, then the columns of the row's schema version).
//! 2. A secondary key is the encoded user parts followed by the primary key; its value is one flag byte and the length of the user parts.
//! 3. Without a declared key rows are keyed by an 8-byte big-endian row id.

use crate::online::changed_keys::Watch;
use base::{IndexId, PageNo, TableId, TxnId};
use btree::BTree;
use lock_manager::metadata::{Protects, TableLock};
use record::{ColumnSet, KeyPart, RowLayout, RowRef};
use std::sync::Arc;
use sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use sync::{Rank, RwLock};
use types::{Collation, ColumnType, TypeKind, Value};

use crate::engine::DICTIONARY_TABLE;
use crate::{Error, Result};

/// What is needed to open a table: kept by the catalogue, given to [`crate::Engine::open_table`].
#[derive(Debug, Clone)]
pub struct TableSpec {
    /// Id.
    pub id: TableId,
    /// Layouts of all schema versions that rows may carry, oldest first; the last one is current.
    pub layouts: Vec<Arc<RowLayout>>,
    /// Indexes, primary first.
    pub indexes: Vec<IndexSpec>,
    /// Smallest value the AUTO_INCREMENT counter may have.
    pub auto_increment_start: u64,
    /// The AUTO_INCREMENT column, when there is one.
    pub auto_increment_column: Option<usize>,
}

/// An index of a [`TableSpec`].
#[derive(Debug, Clone)]
pub struct IndexSpec {
    /// Id of the B+tree.
    pub id: IndexId,
    /// Root page.
    pub root: PageNo,
    /// Declared parts; none for the primary index of a table keyed by row id.
    pub parts: Vec<KeyPart>,
    /// Whether keys without NULL are unique.
    pub unique: bool,
}

/// An index of an open table.
#[derive(Debug)]
pub struct Index {
    /// Id.
    pub id: IndexId,
    /// Declared parts.
    pub parts: Vec<KeyPart>,
    /// Declared parts, then the primary key's; for the primary index the same as `parts`.
    pub full_parts: Vec<KeyPart>,
    /// The columns of `parts`.
    pub(crate) columns: ColumnSet,
    /// Whether keys without NULL are unique.
    pub unique: bool,
    pub(crate) tree: BTree,
    /// The transaction whose DDL added the index to a table that had rows; 0 when that was before the start. Like [`Table::defined_by`].
    added_by: AtomicU64,
}

/// An open table.
#[derive(Debug)]
pub struct Table {
    /// Id.
    pub id: TableId,
    /// Indexes, primary first.
    pub indexes: Vec<Index>,
    /// Metadata lock: shared by statements and transactions that use the table, exclusive for DDL.
    pub lock: Arc<TableLock>,
    layouts: Vec<Arc<RowLayout>>,
    pub(crate) auto_increment_column: Option<usize>,
    /// Next AUTO_INCREMENT value. SeqCst with `counter_noted`: see `auto_increment_counters.rs`.
    pub(crate) auto_increment: AtomicU64,
    /// Whether the counter is in the list of those that checkpoints carry.
    pub(crate) counter_noted: AtomicBool,
    /// What a later opening of the table would find the counter to be, at least: as of its opening, or when it was written into its tree.
    pub(crate) counter_stored: AtomicU64,
    /// The round of closing (`open_tables.rs`) that it was used in last; relaxed.
    pub(crate) used_in: AtomicU64,
    /// Next hidden row id; 0 until the index's last key was looked at.
    pub(crate) next_row_id: AtomicU64,
    /// Live rows, as far as counted since the estimate of opening. Relaxed: a planner's figure.
    pub(crate) rows: AtomicI64,
    /// The transaction whose DDL made the trees or columns what they are; 0 when that was before the start. Written (release) under the
    /// exclusive metadata lock, read (acquire) under the shared one.
    defined_by: AtomicU64,
    /// Whether changed rows are noted, for an index that is built beside.
    pub(crate) watch: Watch,
    /// Shared while a change is taken back by who has no share of the metadata lock: a transaction that a crash left, or whose session is gone. DDL that frees the trees has it exclusively
    /// for a moment, once the table is not open any more ([`crate::Engine::close_table`]).
    pub(crate) taken_back: RwLock<()>,
}

/// Flag of a secondary entry: no current row version has this key.
pub(crate) const ENTRY_DELETED: u8 = 1;

/// The value bytes of a secondary entry.
pub(crate) fn new_entry_value(flags: u8, user_bytes: usize) -> [u8; 3] {
    let [low, high] = (user_bytes as u16).to_le_bytes();
    [flags, low, high]
}

/// Flags and length of the user parts of a secondary entry.
pub(crate) fn entry_value(value: &[u8]) -> Result<(u8, usize)> {
    match value {
        [flags, low, high, ..] => Ok((*flags, usize::from(u16::from_le_bytes([*low, *high])))),
        _ => Err(Error::corrupt("secondary entry without a value")),
    }
}

/// Splits a secondary key into user parts and primary key.
pub(crate) fn split_entry<'k>(key: &'k [u8], value: &[u8]) -> Result<(&'k [u8], &'k [u8])> {
    let (_, user_bytes) = entry_value(value)?;
    key.split_at_checked(user_bytes).ok_or_else(|| Error::corrupt("secondary entry shorter than its parts"))
}

impl Table {
    /// The layout that new rows are written with.
    pub fn layout(&self) -> &Arc<RowLayout> {
        self.layouts.last().expect("a table has a layout")
    }

    /// The layout of a row with this schema version.
    pub(crate) fn layout_of(&self, schema_version: u16) -> Result<&Arc<RowLayout>> {
        let current = self.layout();
        if current.schema_version() == schema_version {
            return Ok(current);
        }
        // Each change of columns adds one version, so that all but the first lie as far from the first as their numbers.
        let far = schema_version.wrapping_sub(self.layouts[0].schema_version());
        if let Some(layout) = self.layouts.get(usize::from(far)).filter(|layout| layout.schema_version() == schema_version) {
            return Ok(layout);
        }
        let found = self.layouts.binary_search_by_key(&schema_version, |layout| layout.schema_version());
        found
            .map(|at| &self.layouts[at])
            .map_err(|_| Error::corrupt(format!("row of table {} with unknown schema version {schema_version}", self.id)))
    }

    /// A row of this table from its bytes: its header names the layout.
    #[inline]
    pub(crate) fn row_ref<'r>(&'r self, bytes: &'r [u8]) -> Result<RowRef<'r>> {
        let version = bytes.get(record::header::SCHEMA_VERSION_AT..record::header::TXN_AT);
        let &[low, high] = version.unwrap_or_default() else { return Err(Error::corrupt("row shorter than its header")) };
        Ok(RowRef::new(self.layout_of(u16::from_le_bytes([low, high]))?, bytes))
    }

    /// Whether rows are keyed by a hidden row id.
    pub fn has_hidden_key(&self) -> bool {
        self.indexes[0].parts.is_empty()
    }

    pub(crate) fn primary(&self) -> &Index {
        &self.indexes[0]
    }

    pub(crate) fn index_by_id(&self, id: IndexId) -> Option<&Index> {
        self.indexes.iter().find(|i| i.id == id)
    }

    /// Live rows, estimated.
    pub fn rows_estimate(&self) -> u64 {
        self.rows.load(Ordering::Relaxed).max(0) as u64
    }

    /// The next AUTO_INCREMENT value (for SHOW; nothing is reserved).
    pub fn auto_increment(&self) -> u64 {
        self.auto_increment.load(Ordering::Relaxed)
    }

    /// Reserves `count` AUTO_INCREMENT values of the series `offset + n * increment` and returns the first.
    /// Values past `u64::MAX` stay at `u64::MAX`, which the column's range check refuses.
    pub fn next_auto_increment(&self, count: u64, increment: u64, offset: u64) -> u64 {
        let increment = increment.max(1);
        let mut current = self.auto_increment.load(Ordering::Relaxed);
        loop {
            let first = align_to_series(current.max(1), increment, offset);
            // The next one of the series, so that a shorter step that somebody sets later does not go back between these.
            let next = first.saturating_add(count.saturating_mul(increment));
            match self.auto_increment.compare_exchange_weak(current, next, Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => return first,
                Err(seen) => current = seen,
            }
        }
    }

    /// An explicit value was stored where values come in a series: the counter becomes at least the next of the series.
    pub fn note_in_series(&self, value: u64, increment: u64, offset: u64) {
        let next = align_to_series(value.saturating_add(1), increment.max(1), offset);
        self.note_auto_increment(next.saturating_sub(1));
    }

    /// The value of the series that the next row would get; nothing is reserved.
    pub fn peek_auto_increment(&self, increment: u64, offset: u64) -> u64 {
        align_to_series(self.auto_increment.load(Ordering::Relaxed).max(1), increment.max(1), offset)
    }

    /// A row with the value just taken did not go in; the caller keeps others from taking values.
    pub fn take_back_auto_increment(&self, value: u64) {
        // A value that an UPDATE or another insert has stored meanwhile stands.
        let _ = self.auto_increment.compare_exchange(value.saturating_add(1), value, Ordering::SeqCst, Ordering::Relaxed);
    }

    /// An explicit value was stored: the counter becomes at least the one after it.
    pub fn note_auto_increment(&self, value: u64) {
        let next = value.saturating_add(1);
        // Looked at first: the line is shared by all who insert, and most values were reserved.
        if self.auto_increment.load(Ordering::Relaxed) < next {
            self.auto_increment.fetch_max(next, Ordering::SeqCst);
        }
    }

    /// Sets the counter (ALTER TABLE … AUTO_INCREMENT); the caller holds the table exclusively and passes at least the largest stored value plus one.
    pub fn set_auto_increment(&self, next: u64) {
        self.auto_increment.store(next, Ordering::SeqCst);
    }

    /// The AUTO_INCREMENT counter need not outlive the process: it is never written beside those of other tables. To be called before the first row.
    pub fn forget_counter(&self) {
        // Taken for listed, it is never listed (`auto_increment_counters.rs`).
        self.counter_noted.store(true, Ordering::SeqCst);
    }

    /// The transaction whose DDL made the table as it is, when that was since the start. Snapshots that do not see it cannot read the
    /// table: its trees hold what was current then.
    pub fn defined_by(&self) -> TxnId {
        TxnId(self.defined_by.load(Ordering::Acquire))
    }

    /// Notes the transaction of DDL; the caller holds the table exclusively, or nobody else knows it yet.
    pub fn set_defined_by(&self, txn: TxnId) {
        self.defined_by.store(txn.0, Ordering::Release);
    }

    /// Notes the transaction of DDL that added indexes; like [`Table::set_defined_by`]. Snapshots that do not see it read the table by its
    /// other indexes only: the new ones hold the keys that were current then.
    pub fn set_added_by(&self, is_new: impl Fn(IndexId) -> bool, txn: TxnId) {
        for index in self.indexes.iter().filter(|index| is_new(index.id)) {
            index.added_by.store(txn.0, Ordering::Release);
        }
    }

    /// Encodes the primary key of a row that has a declared key.
    pub(crate) fn primary_key(&self, row: RowRef<'_>, out: &mut Vec<u8>) -> Result<()> {
        encode_parts(row, &self.primary().parts, out)
    }

    /// Encodes the secondary key of a row; returns the length of the user parts.
    pub(crate) fn secondary_key(&self, index: &Index, row: RowRef<'_>, primary_key: &[u8], out: &mut Vec<u8>) -> Result<usize> {
        let start = out.len();
        encode_parts(row, &index.parts, out)?;
        let user_bytes = out.len() - start;
        out.extend_from_slice(primary_key);
        Ok(user_bytes)
    }

    /// The AUTO_INCREMENT value that a row carries.
    pub(crate) fn auto_increment_value(&self, row: RowRef<'_>, column: usize) -> Option<u64> {
        match row.value(column) {
            Ok(Value::Int(v)) => u64::try_from(v).ok(),
            Ok(Value::UInt(v)) => Some(v),
            Ok(Value::Double(v)) if v > 0.0 => Some(v as u64),
            Ok(Value::Float(v)) if v > 0.0 => Some(v as u64),
            _ => None,
        }
    }
}

fn encode_parts(row: RowRef<'_>, parts: &[KeyPart], out: &mut Vec<u8>) -> Result<()> {
    record::key::encode_columns(row, parts, out).map_err(|_| Error::corrupt("row that its layout cannot read"))
}

/// Smallest value of `offset + n * increment` that is at least `at_least`. An offset above the increment counts as none (MySQL ignores it).
pub fn align_to_series(at_least: u64, increment: u64, offset: u64) -> u64 {
    let offset = if offset > increment || offset == 0 { 1 } else { offset };
    if at_least <= offset {
        return offset;
    }
    let steps = (at_least - offset).div_ceil(increment);
    offset.saturating_add(steps.saturating_mul(increment))
}

impl Index {
    /// The transaction whose DDL added the index.
    #[inline]
    pub(crate) fn added_by(&self) -> TxnId {
        TxnId(self.added_by.load(Ordering::Acquire))
    }

    pub(crate) fn new(spec: IndexSpec, primary_parts: &[KeyPart], tree: BTree, primary: bool) -> Index {
        let mut full_parts = spec.parts.clone();
        if !primary {
            full_parts.extend_from_slice(primary_parts);
        }
        let columns = spec.parts.iter().map(|part| part.column).collect();
        Index { id: spec.id, parts: spec.parts, full_parts, columns, unique: spec.unique, tree, added_by: AtomicU64::new(0) }
    }
}

impl Table {
    pub(crate) fn new(spec: TableSpec, trees: Vec<BTree>, auto_increment: u64, old: Option<&Table>) -> Table {
        let primary_parts = spec.indexes[0].parts.clone();
        let indexes = spec
            .indexes
            .into_iter()
            .zip(trees)
            .enumerate()
            .map(|(no, (index, tree))| Index::new(index, &primary_parts, tree, no == 0))
            .collect::<Vec<Index>>();
        for index in &indexes {
            let known = old.and_then(|old| old.indexes.iter().find(|other| other.id == index.id));
            index.added_by.store(known.map_or(0, |known| known.added_by.load(Ordering::Acquire)), Ordering::Release);
        }
        Table {
            id: spec.id,
            indexes,
            lock: old.map_or_else(|| Arc::new(TableLock::of(Protects::Table(spec.id))), |old| Arc::clone(&old.lock)),
            layouts: spec.layouts,
            auto_increment_column: spec.auto_increment_column,
            auto_increment: AtomicU64::new(auto_increment.max(spec.auto_increment_start).max(1)),
            counter_noted: AtomicBool::new(false),
            counter_stored: AtomicU64::new(
                old.map_or_else(|| auto_increment.max(spec.auto_increment_start).max(1), |old| old.counter_stored.load(Ordering::SeqCst)),
            ),
            used_in: AtomicU64::new(old.map_or(0, |old| old.used_in.load(Ordering::Relaxed))),
            next_row_id: AtomicU64::new(old.map_or(0, |old| old.next_row_id.load(Ordering::Relaxed))),
            rows: AtomicI64::new(old.map_or(0, |old| old.rows.load(Ordering::Relaxed))),
            defined_by: AtomicU64::new(old.map_or(0, |old| old.defined_by.load(Ordering::Acquire))),
            watch: Watch::new(),
            taken_back: RwLock::with_order(Rank::Catalog, 4, ()),
        }
    }
}

impl Table {
    /// Columns of the dictionary's table.
    pub(crate) fn dictionary_types() -> [ColumnType; 2] {
        [ColumnType::varchar(1024, Collation::Binary).not_null(), ColumnType::new(TypeKind::LongBlob).not_null()]
    }

    /// The dictionary's table: binary key, binary value.
    pub(crate) fn dictionary(tree: BTree) -> Table {
        let primary = IndexSpec { id: tree.index, root: tree.root, parts: vec![KeyPart::ascending(0)], unique: true };
        let spec = TableSpec {
            id: DICTIONARY_TABLE,
            layouts: vec![Arc::new(RowLayout::new(&Table::dictionary_types(), 0))],
            indexes: vec![primary],
            auto_increment_start: 1,
            auto_increment_column: None,
        };
        Table::new(spec, vec![tree], 1, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_of_auto_increment_values() {
        assert_eq!(align_to_series(1, 1, 1), 1);
        assert_eq!(align_to_series(2, 10, 5), 5);
        assert_eq!(align_to_series(6, 10, 5), 15);
        assert_eq!(align_to_series(7, 2, 100), 7);
        assert_eq!(align_to_series(u64::MAX, 1, 1), u64::MAX);
    }
}
