//! Checking a table: every tree is sound, and entries and rows agree. How many pages an index owns and how many are reached is counted.
//!
//! # Not here
//! What the rows should be; whether pages owned by nobody's index are orphans (`Catalog::free_orphans`).

use crate::compare::{Fingerprint, differences, hash};
use crate::engine::{COUNTERS_INDEX, Engine};
use crate::external::EXTERNAL;
use crate::table::{ENTRY_DELETED, Table, entry_value, split_entry};
use crate::version::header;
use crate::{Error, Result};
use base::IndexId;
use btree::{BTree, CheckError};
use record::RowRef;
use record::header::DELETE_MARK;

/// What [`Engine::check_table`] counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableCheck {
    /// Rows whose newest version is live.
    pub rows: u64,
    /// Rows whose newest version is a deletion that purge has not removed yet.
    pub rows_deleted: u64,
    /// Indexes, primary first.
    pub indexes: Vec<IndexCheck>,
}

/// What was counted of one index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexCheck {
    /// The index.
    pub id: IndexId,
    /// Entries marked as left behind, which purge has not removed yet. Of the primary index: deleted rows.
    pub entries_deleted: u64,
    /// Pages that the space map says are the index's.
    pub pages_owned: u64,
    /// Pages of the tree, and of the overflow chains of its newest row versions. Chains of older versions are not counted.
    pub pages_reached: u64,
}

/// Whether all rows could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counted {
    All,
    Some,
}

fn broken(error: CheckError) -> Error {
    match error {
        CheckError::Error(error) => error.into(),
        CheckError::Broken { page, what } => Error::Corruption { page, what },
        CheckError::Stopped => Error::Killed,
    }
}

/// How much of a table is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Each tree by itself.
    Trees,
    /// Rows and entries, too.
    Rows,
}

/// Rows or entries between two looks whether the check is to stop.
const LOOK_EVERY: u64 = 256;

/// Calls `stop` now and then.
struct Stop<'s> {
    stop: &'s dyn Fn() -> bool,
    count: u64,
}

impl Stop<'_> {
    fn look(&mut self) -> Result<()> {
        self.count += 1;
        if self.count.is_multiple_of(LOOK_EVERY) && (self.stop)() { Err(Error::Killed) } else { Ok(()) }
    }
}

impl Engine {
    /// Checks all indexes of a table against each other; the first thing that is wrong is the error. Nobody may write the table meanwhile;
    /// transactions may stand open on it.
    pub fn check_table(&self, table: &Table) -> Result<TableCheck> {
        let mut first = None;
        let check = self.check_table_with(table, Depth::Rows, &|| false, &mut |_, error| first = first.take().or(Some(error)))?;
        first.map_or(Ok(check), Err)
    }

    /// The same, telling `report` all that is wrong, with the position of the index. The error is [`Error::Killed`], when `stop` said so.
    pub fn check_table_with(
        &self,
        table: &Table,
        depth: Depth,
        stop: &dyn Fn() -> bool,
        report: &mut dyn FnMut(usize, Error),
    ) -> Result<TableCheck> {
        let mut check = TableCheck::default();
        let mut sound = vec![true; table.indexes.len()];
        for (no, index) in table.indexes.iter().enumerate() {
            match self.check_tree(&index.tree, stop) {
                Ok(counted) => check.indexes.push(counted),
                Err(Error::Killed) => return Err(Error::Killed),
                Err(error) => {
                    report(no, error);
                    sound[no] = false;
                    check.indexes.push(IndexCheck { id: index.id, entries_deleted: 0, pages_owned: 0, pages_reached: 0 });
                }
            }
        }
        if depth == Depth::Trees || !sound[0] {
            return Ok(check);
        }
        // The entries that the newest, live versions must have, per secondary index.
        let mut wanted = vec![Fingerprint::default(); table.indexes.len()];
        let mut chain_pages = 0;
        let counted = self.each_row(table, stop, &mut |error| report(0, error), &mut |value, key, row| {
            if header(value)?.flags & EXTERNAL != 0 {
                chain_pages += self.chain_pages(table, value)?;
            }
            let Some(row) = row else {
                check.rows_deleted += 1;
                return Ok(());
            };
            check.rows += 1;
            let mut entry = Vec::new();
            for (no, index) in table.indexes.iter().enumerate().skip(1) {
                entry.clear();
                table.secondary_key(index, row, key, &mut entry)?;
                wanted[no].add(&entry);
            }
            Ok(())
        })?;
        check.indexes[0].entries_deleted = check.rows_deleted;
        check.indexes[0].pages_reached += chain_pages;
        for (no, wanted) in wanted.iter().enumerate().skip(1) {
            if !sound[no] {
                continue;
            }
            let mut found = Fingerprint::default();
            let mut deleted = 0;
            let read = self.each_entry(table, no, stop, &mut |entry, is_deleted| {
                if is_deleted { deleted += 1 } else { found.add(entry) }
            });
            check.indexes[no].entries_deleted = deleted;
            match read {
                Err(Error::Killed) => return Err(Error::Killed),
                Err(error) => report(no, error),
                // What rows that cannot be read had here is not known.
                Ok(()) if counted == Counted::All && found != *wanted => {
                    self.explain(table, no, found.count.max(wanted.count), stop, report)?
                }
                Ok(()) => {}
            }
        }
        Ok(check)
    }

    /// Calls back with each row: as stored, its key, and, when it is live, whole. Rows that cannot be read go to `report`.
    fn each_row(
        &self,
        table: &Table,
        stop: &dyn Fn() -> bool,
        report: &mut dyn FnMut(Error),
        each: &mut dyn FnMut(&[u8], &[u8], Option<RowRef<'_>>) -> Result<()>,
    ) -> Result<Counted> {
        let mut counted = Counted::All;
        let mut stop = Stop { stop, count: 0 };
        let mut cursor = table.primary().tree.cursor();
        cursor.first()?;
        while cursor.valid() {
            stop.look()?;
            let (key, value) = cursor.entry();
            let done = match header(value) {
                Ok(row) if row.flags & DELETE_MARK != 0 => each(value, key, None),
                Ok(_) => self.with_full_row(table, value, |row| each(value, key, Some(row))).and_then(|done| done),
                Err(error) => Err(error),
            };
            if let Err(error) = done {
                counted = Counted::Some;
                report(error);
            }
            cursor.next()?;
        }
        Ok(counted)
    }

    /// A sum over the live rows' columns that does not depend on how they lie. Nobody may write the table meanwhile.
    pub fn checksum_table(&self, table: &Table, stop: &dyn Fn() -> bool) -> Result<u32> {
        let mut sum = 0_u32;
        let mut failed = None;
        let mut bytes = Vec::new();
        self.each_row(table, stop, &mut |error| failed = failed.take().or(Some(error)), &mut |_, _, row| {
            let Some(row) = row else { return Ok(()) };
            bytes.clear();
            for column in 0..row.layout().column_count() {
                match row.column_bytes(column).map_err(|_| Error::corrupt("row that its layout cannot read"))? {
                    Some(value) => {
                        base::put_u8(&mut bytes, 1);
                        base::put_bytes(&mut bytes, value);
                    }
                    None => base::put_u8(&mut bytes, 0),
                }
            }
            sum = sum.wrapping_add(base::crc32c(&bytes));
            Ok(())
        })?;
        failed.map_or(Ok(sum), Err)
    }

    /// Calls back with each entry of a secondary index, and whether it is marked as left behind.
    fn each_entry(&self, table: &Table, index_no: usize, stop: &dyn Fn() -> bool, each: &mut dyn FnMut(&[u8], bool)) -> Result<()> {
        let mut stop = Stop { stop, count: 0 };
        let mut cursor = table.indexes[index_no].tree.cursor();
        cursor.first()?;
        while cursor.valid() {
            stop.look()?;
            let (entry, value) = cursor.entry();
            split_entry(entry, value)?;
            each(entry, entry_value(value)?.0 & ENTRY_DELETED != 0);
            cursor.next()?;
        }
        Ok(())
    }

    /// Rows and entries of an index differ: finds out where.
    fn explain(
        &self,
        table: &Table,
        index_no: usize,
        count: u64,
        stop: &dyn Fn() -> bool,
        report: &mut dyn FnMut(usize, Error),
    ) -> Result<()> {
        let index = &table.indexes[index_no];
        // What fails in here failed before and was told; but being stopped is to be remembered.
        let stopped = std::cell::Cell::new(false);
        let end = |result: Result<()>| stopped.set(stopped.get() || result == Err(Error::Killed));
        let rows = |note: &mut dyn FnMut(&[u8])| {
            let mut entry = Vec::new();
            let done = self.each_row(table, stop, &mut |_| {}, &mut |_, key, row| {
                if let Some(row) = row {
                    entry.clear();
                    table.secondary_key(index, row, key, &mut entry)?;
                    note(&entry);
                }
                Ok(())
            });
            end(done.map(drop));
        };
        let entries = |note: &mut dyn FnMut(&[u8])| {
            end(self.each_entry(table, index_no, stop, &mut |entry, deleted| {
                if !deleted {
                    note(entry)
                }
            }));
        };
        let found = differences(count, rows, entries);
        if stopped.get() {
            return Err(Error::Killed);
        }
        let mut tell = |what: String| report(index_no, Error::corrupt(what));
        rows(&mut |entry| {
            if found.get(&hash(entry)).is_some_and(|count| *count > 0) {
                tell(format!("index {} of table {}: no entry {entry:02x?}", index.id, table.id));
            }
        });
        entries(&mut |entry| {
            if found.get(&hash(entry)).is_some_and(|count| *count < 0) {
                tell(format!("index {} of table {}: entries and rows disagree at {entry:02x?}", index.id, table.id));
            }
        });
        Ok(())
    }

    /// Checks the tree of the AUTO_INCREMENT counters.
    pub fn check_counters(&self) -> Result<IndexCheck> {
        self.check_tree(&BTree::open(&self.pool, &self.space, COUNTERS_INDEX, self.counters.root()), &|| false)
    }

    fn check_tree(&self, tree: &BTree, stop: &dyn Fn() -> bool) -> Result<IndexCheck> {
        let stats = tree.check_until(stop).map_err(broken)?;
        Ok(IndexCheck {
            id: tree.index,
            entries_deleted: 0,
            pages_owned: self.space.pages_of(tree.index),
            pages_reached: stats.leaf_pages + stats.inner_pages,
        })
    }

    /// Compares the space map in memory with its pages, and returns the indexes that own pages. Nobody may write meanwhile.
    pub fn check_space(&self) -> Result<Vec<IndexId>> {
        self.space.check()?;
        Ok(self.space.owners())
    }

    /// Bytes of undo records that rollback, readers or purge may still need.
    pub fn undo_live_bytes(&self) -> u64 {
        self.undo.live_bytes()
    }
}
