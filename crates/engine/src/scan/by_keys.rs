//! Consistent reads of the rows of many keys at once, in the order of the keys: neighbours are found on the leaf that is latched already, and rows behind
//! the entries of a secondary index are fetched in the order of the primary key.
//!
//! # Invariants
//! 1. What is shown for a key is what a scan of the keys that begin with it shows ([`Scan`](crate::Scan)), whatever the order in which it is.
//! 2. `f` may run under a latch: it copies or encodes, and never blocks or comes back to the engine.

use crate::range::{KeyRange, after_prefix, upper_bound};
use crate::scan::covered::{Buffers, go_on, report, scan_leaf};
use crate::scan::{Direction, EntryBatch, Step};
use crate::session::Session;
use crate::table::Table;
use crate::version::visible;
use crate::write::secondary::has_key_by;
use crate::{Error, Read, Result};
use btree::{Cursor, KeyRef, Scanned};
use lock_manager::Cancel;
use record::{KeyRestore, RowRef};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Most entries of a secondary index that are held until their rows are fetched, and their bytes.
const ENTRIES_MAX: usize = 4096;
const ENTRY_BYTES_MAX: usize = 1 << 20;

/// Keys that are looked for together.
#[derive(Clone, Copy)]
pub struct WantedKeys<'k> {
    /// The keys, or what the wanted ones begin with: ascending, none twice, and none the beginning of another.
    pub keys: &'k [&'k [u8]],
    /// They are whole keys of the primary index: at most one row has each.
    pub whole: bool,
    /// Of each key one row is enough: the first, where rows are not fetched behind entries.
    pub first: bool,
    /// What puts the wanted columns back from the index's entries, if those have them all.
    pub restore: Option<&'k KeyRestore>,
}

/// Which row is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundKey {
    /// The number of its key.
    pub key: usize,
    /// Ascends with the keys and, for each, in the order of the index. Rows behind secondary entries are not shown in this order.
    pub no: usize,
}

impl Session {
    /// Calls `f` with each row whose key in an index begins with one of `wanted`, until it says [`Step::Stop`]. `false` when it did, or when there are more
    /// than can be held: what was shown is not all then, and the keys are to be looked for a few at a time.
    pub fn for_each_of_keys(
        &mut self,
        table: &Arc<Table>,
        index_no: usize,
        wanted: WantedKeys<'_>,
        mut f: impl FnMut(FoundKey, RowRef<'_>) -> Step,
    ) -> Result<bool> {
        debug_assert!(wanted.keys.is_sorted_by(|a, b| a < b && !b.starts_with(a)));
        self.ensure_view_by(table, index_no)?;
        match (index_no, wanted.restore) {
            (0, _) if wanted.whole => self.whole_keys(table, wanted.keys, |no, row| Ok(f(FoundKey { key: no, no }, row))),
            (0, _) => self.primary_keys(table, wanted, &mut f),
            (_, Some(restore)) => {
                let mut buffers = std::mem::take(&mut self.buffers.covered);
                restore.begin(&mut buffers.row);
                let result = self.covered_keys(table, index_no, wanted, restore, &mut buffers, &mut f);
                self.buffers.covered = buffers;
                result
            }
            (_, None) => self.secondary_keys(table, index_no, wanted.keys, &mut f),
        }
    }

    /// Rows by whole primary keys, which ascend.
    fn whole_keys(&mut self, table: &Arc<Table>, keys: &[&[u8]], mut f: impl FnMut(usize, RowRef<'_>) -> Result<Step>) -> Result<bool> {
        let Session { engine, view, running, buffers, cancel, .. } = self;
        let (mut failed, mut all) = (None, true);
        table.primary().tree.get_ascending(keys, |no, stored| {
            let Some(stored) = stored else { return ControlFlow::Continue(()) };
            let shown = if cancel.is_cancelled() {
                Err(Error::Killed)
            } else {
                visible(&engine.undo, view, running.id, stored, &mut buffers.version).and_then(|version| {
                    version.map_or(Ok(Step::Continue), |version| engine.with_full_row(table, version, |row| f(no, row))?)
                })
            };
            let step = go_on(shown, &mut failed);
            all &= step.is_continue();
            step
        })?;
        failed.map_or(Ok(all), Err)
    }

    /// Rows of the primary index by beginnings of keys.
    fn primary_keys(
        &mut self,
        table: &Arc<Table>,
        wanted: WantedKeys<'_>,
        f: &mut impl FnMut(FoundKey, RowRef<'_>) -> Step,
    ) -> Result<bool> {
        let Session { engine, view, running, buffers, cancel, .. } = self;
        let mut cursor = table.primary().tree.cursor();
        let mut progress = Progress::new(wanted.first);
        for (key, wanted) in wanted.keys.iter().enumerate() {
            scan_onward(&mut cursor, wanted, cancel, |_, stored| {
                match visible(&engine.undo, view, running.id, stored, &mut buffers.version)? {
                    None => Ok(Step::Continue),
                    Some(version) => engine.with_full_row(table, version, |row| progress.show(key, row, f)),
                }
            })?;
            if progress.stopped {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Rows made of the entries of a secondary index. A leaf that is not settled (`covered.rs`) leaves the rest of its key to a scan.
    fn covered_keys(
        &mut self,
        table: &Arc<Table>,
        index_no: usize,
        wanted: WantedKeys<'_>,
        restore: &KeyRestore,
        buffers: &mut Buffers,
        f: &mut impl FnMut(FoundKey, RowRef<'_>) -> Step,
    ) -> Result<bool> {
        let tree = &table.indexes[index_no].tree;
        let Buffers { key: whole, row: restored, .. } = buffers;
        let mut cursor = tree.cursor();
        let rows_of_key = if wanted.first { 1 } else { u64::MAX };
        let mut progress = Progress::new(wanted.first);
        for (key, wanted) in wanted.keys.iter().enumerate() {
            let upper = after_prefix(wanted);
            let mut show = |row: RowRef<'_>| progress.show(key, row, f);
            cursor.seek_onward(wanted)?;
            while cursor.valid() {
                if self.cancel.is_cancelled() {
                    return Err(Error::Killed);
                }
                if !self.view.sees_all_to(cursor.leaf_txn_max()) {
                    let rest = KeyRange { lower: cursor.key().to_vec(), upper };
                    drop(cursor);
                    let mut scan = self.scan(table, index_no, rest, Direction::Forward, Read::Snapshot)?.wanting(rows_of_key);
                    scan.for_each_covered(restore, |row, _| show(row))?;
                    cursor = tree.cursor();
                    break;
                }
                let visit = |entry: KeyRef<'_>, value: &[u8]| report(entry, value, restore, whole, restored, &mut |row, _| show(row));
                match scan_leaf(&mut cursor, Direction::Forward, upper_bound(&upper), visit)? {
                    Scanned::Stopped | Scanned::EndOfRange => break,
                    Scanned::NextLeaf => {}
                }
            }
            if progress.stopped {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Rows behind the entries of a secondary index: all entries first, then their rows in the order of the primary key.
    fn secondary_keys(
        &mut self,
        table: &Arc<Table>,
        index_no: usize,
        keys: &[&[u8]],
        f: &mut impl FnMut(FoundKey, RowRef<'_>) -> Step,
    ) -> Result<bool> {
        let mut entries = EntryBatch::default();
        let mut key_of: Vec<u32> = Vec::new();
        if !self.entries_of_keys(table, index_no, keys, &mut entries, &mut key_of)? {
            return Ok(false);
        }
        let mut order: Vec<u32> = (0..key_of.len() as u32).collect();
        order.sort_unstable_by_key(|no| entries.entry(*no as usize).primary_key);
        let index = &table.indexes[index_no];
        let mut key = Vec::new();
        let primary_keys: Vec<&[u8]> = order.iter().map(|no| entries.entry(*no as usize).primary_key).collect();
        self.whole_keys(table, &primary_keys, |at, row| {
            let no = order[at] as usize;
            // The entry may belong to another version than the one seen: see `Scan::fetch`.
            let same = has_key_by(index, row, entries.entry(no).user, &mut key)?;
            Ok(if same { f(FoundKey { key: key_of[no] as usize, no }, row) } else { Step::Continue })
        })
    }

    /// Copies the entries that begin with one of the keys, and the number of each one's key; `false` when they are too many.
    fn entries_of_keys(
        &self,
        table: &Arc<Table>,
        index_no: usize,
        keys: &[&[u8]],
        entries: &mut EntryBatch,
        key_of: &mut Vec<u32>,
    ) -> Result<bool> {
        let mut cursor = table.indexes[index_no].tree.cursor();
        for (key, wanted) in keys.iter().enumerate() {
            let all = scan_onward(&mut cursor, wanted, &self.cancel, |entry, value| {
                if entries.len() == ENTRIES_MAX || entries.bytes() > ENTRY_BYTES_MAX {
                    return Ok(Step::Stop);
                }
                key_of.push(key as u32);
                entries.push(entry, value)?;
                Ok(Step::Continue)
            })?;
            if !all {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// What has been shown of the keys.
struct Progress {
    /// Rows so far.
    count: usize,
    /// One row of each key is enough.
    first: bool,
    /// Whoever is shown them wants no more.
    stopped: bool,
}

impl Progress {
    fn new(first: bool) -> Progress {
        Progress { count: 0, first, stopped: false }
    }

    /// Shows a row; whether the key goes on.
    fn show(&mut self, key: usize, row: RowRef<'_>, f: &mut impl FnMut(FoundKey, RowRef<'_>) -> Step) -> Step {
        let step = f(FoundKey { key, no: self.count }, row);
        self.count += 1;
        self.stopped |= step == Step::Stop;
        if self.first { Step::Stop } else { step }
    }
}

/// Shows `f` the entries that begin with `wanted`, which is not below what the cursor was asked for before; `false` when it stopped.
fn scan_onward(
    cursor: &mut Cursor<'_>,
    wanted: &[u8],
    cancel: &Cancel,
    mut f: impl FnMut(KeyRef<'_>, &[u8]) -> Result<Step>,
) -> Result<bool> {
    let upper = after_prefix(wanted);
    cursor.seek_onward(wanted)?;
    loop {
        if cancel.is_cancelled() {
            return Err(Error::Killed);
        }
        match scan_leaf(cursor, Direction::Forward, upper_bound(&upper), &mut f)? {
            Scanned::Stopped => return Ok(false),
            Scanned::EndOfRange => return Ok(true),
            Scanned::NextLeaf => {}
        }
    }
}
