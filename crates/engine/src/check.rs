//! Checking a table: every tree is sound, and entries and rows agree.
//!
//! - [`Session::check_table`] is CHECK TABLE: it looks at the rows and entries that the transaction's view sees, so others may write meanwhile.
//!   Every pass over them finds the same, however often it is repeated. On a leaf that a transaction has written which the view does not see an entry
//!   leads to its row, as for every reader (`covered.rs`); one whose row the view does not see so is held against the row's newest versions.
//! - [`Engine::check_table`] looks at the newest versions and nobody may write: for tests, which want to know of every page whose it is.
//!
//! # Not here
//! What the rows should be; whether pages owned by nobody's index are orphans (`Catalog::free_orphans`).

use crate::engine::{COUNTERS_INDEX, Engine};
use crate::locks::row_lock::Read;
use crate::offline::put_parts_length;
use crate::online::compare::{Fingerprint, differences, hash};
use crate::session::Session;
use crate::table::{ENTRY_DELETED, Index, Table, entry_value, split_entry};
use crate::version::{header, visible};
use crate::write::external::EXTERNAL;
use crate::{Error, Result};
use base::IndexId;
use btree::{BTree, CheckError, Seek};
use record::RowRef;
use record::header::DELETE_MARK;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

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

/// Times that a tree is looked at before what is told of it is believed, while others write.
const LOOKS_MAX: u32 = 3;

impl Table {
    /// What is compared of rows and entries: the whole key of an entry and how much of it are the index's own parts.
    fn put_entry(&self, index: &Index, row: RowRef<'_>, key: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        let user_bytes = self.secondary_key(index, row, key, out)?;
        put_parts_length(out, user_bytes);
        Ok(())
    }
}

/// Rows and entries of an index differ: finds out where. `rows` and `entries` call back with what each has, the same every time.
fn explain(
    table: &Table,
    index_no: usize,
    count: u64,
    rows: &mut dyn FnMut(&mut dyn FnMut(&[u8])),
    entries: &mut dyn FnMut(&mut dyn FnMut(&[u8])),
    report: &mut dyn FnMut(usize, Error),
) {
    let index = &table.indexes[index_no];
    let found = differences(count, |note| rows(note), |note| entries(note));
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
}

impl Session {
    /// Checks a table while others may write it, as the transaction's view sees it; the view stays for all of it (REPEATABLE READ). `report` is told all that
    /// is wrong, with the position of the index. An error is what kept from looking further: [`Error::Killed`], no room in memory, a device that fails.
    pub fn check_table(&mut self, table: &Arc<Table>, depth: Depth, report: &mut dyn FnMut(usize, Error)) -> Result<()> {
        let mut sound = vec![true; table.indexes.len()];
        for (no, index) in table.indexes.iter().enumerate() {
            if let Err(error) = self.check_tree(&index.tree) {
                told(error, &mut |error| report(no, error))?;
                sound[no] = false;
            }
        }
        if depth == Depth::Trees || !sound[0] {
            return Ok(());
        }
        let mut wanted = vec![Fingerprint::default(); table.indexes.len()];
        let mut entry = Vec::new();
        let counted = self.each_visible_row(table, &mut |error| report(0, error), &mut |row, key| {
            for (no, index) in table.indexes.iter().enumerate().skip(1) {
                table.put_entry(index, row, key, &mut entry)?;
                wanted[no].add(&entry);
            }
            Ok(())
        })?;
        for (no, wanted) in wanted.iter().enumerate().skip(1) {
            let index = &table.indexes[no];
            // An index that was added since the view was opened does not hold what the view sees.
            if !sound[no] || !index.added_by().is_none() && self.snapshot_predates(index.added_by()) {
                continue;
            }
            let mut found = Fingerprint::default();
            let read = self.each_visible_entry(table, no, &mut |error| report(no, error), &mut |entry| found.add(entry))?;
            // What rows that cannot be read had here is not known.
            if counted == Counted::All && read == Counted::All && found != *wanted {
                self.explain_visible(table, no, found.count.max(wanted.count), report)?;
            }
        }
        Ok(())
    }

    fn explain_visible(&mut self, table: &Arc<Table>, index_no: usize, count: u64, report: &mut dyn FnMut(usize, Error)) -> Result<()> {
        let index = &table.indexes[index_no];
        // Two closures want the session, one after the other. The first failure is to be remembered.
        let session = std::cell::RefCell::new(self);
        let outcome = std::cell::RefCell::new(Ok(()));
        let end = |done: Result<Counted>| {
            let mut outcome = outcome.borrow_mut();
            *outcome = std::mem::replace(&mut *outcome, Ok(())).and(done.map(drop));
        };
        let mut rows = |note: &mut dyn FnMut(&[u8])| {
            let mut entry = Vec::new();
            end(session.borrow_mut().each_visible_row(table, &mut |_| {}, &mut |row, key| {
                table.put_entry(index, row, key, &mut entry)?;
                note(&entry);
                Ok(())
            }));
        };
        let mut entries = |note: &mut dyn FnMut(&[u8])| {
            end(session.borrow_mut().each_visible_entry(table, index_no, &mut |_| {}, note));
        };
        explain(table, index_no, count, &mut rows, &mut entries, report);
        outcome.into_inner()
    }

    /// A tree by itself. What a writer does between two looks may seem wrong; what is, is so every time.
    fn check_tree(&self, tree: &BTree) -> Result<()> {
        let mut looks = 1;
        loop {
            match tree.check_beside_writers(&|| self.cancel.is_cancelled()) {
                Ok(_) => return Ok(()),
                Err(CheckError::Broken { .. }) if looks < LOOKS_MAX => looks += 1,
                Err(error) => return Err(broken(error)),
            }
        }
    }

    /// Calls back with each row that the view sees, and its key, under the leaf's latch. Rows that cannot be read go to `report`.
    fn each_visible_row(
        &mut self,
        table: &Arc<Table>,
        report: &mut dyn FnMut(Error),
        each: &mut dyn FnMut(RowRef<'_>, &[u8]) -> Result<()>,
    ) -> Result<Counted> {
        self.ensure_view()?;
        let Session { engine, view, running, buffers, cancel, .. } = self;
        let mut counted = Counted::All;
        let mut cursor = table.primary().tree.cursor();
        cursor.first()?;
        let mut whole = Vec::new();
        while cursor.valid() {
            if cancel.is_cancelled() {
                return Err(Error::Killed);
            }
            let mut stopped = Ok(());
            cursor.scan_leaf(Bound::Unbounded, |key, value| {
                whole.clear();
                key.append_to(&mut whole);
                let done = match visible(&engine.undo, view, running.id, value, &mut buffers.version) {
                    Ok(Some(version)) => engine.with_full_row(table, version, |row| each(row, &whole)).and_then(|done| done),
                    Ok(None) => Ok(()),
                    Err(error) => Err(error),
                };
                if let Err(error) = done {
                    counted = Counted::Some;
                    stopped = told(error, report);
                }
                if stopped.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
            stopped?;
        }
        Ok(counted)
    }

    /// Calls back with each entry of a secondary index whose row the view sees under this key, as [`Table::put_entry`] tells it. Entries that
    /// cannot be read, or whose row cannot, go to `report`.
    fn each_visible_entry(
        &mut self,
        table: &Arc<Table>,
        index_no: usize,
        report: &mut dyn FnMut(Error),
        each: &mut dyn FnMut(&[u8]),
    ) -> Result<Counted> {
        self.ensure_view()?;
        let index = &table.indexes[index_no];
        let mut counted = Counted::All;
        let mut last: Option<Vec<u8>> = None;
        let mut aside: Vec<(Vec<u8>, usize)> = Vec::new();
        let mut own = Vec::new();
        loop {
            if self.cancel.is_cancelled() {
                return Err(Error::Killed);
            }
            let mut cursor = index.tree.cursor();
            match &last {
                Some(key) => cursor.seek(key, Seek::After)?,
                None => cursor.first()?,
            };
            if !cursor.valid() {
                return Ok(counted);
            }
            // The leaf answers for its rows when the view sees all who wrote to it (`covered.rs`).
            let settled = self.view.sees_all_to(cursor.leaf_txn_max());
            aside.clear();
            cursor.scan_leaf(Bound::Unbounded, |key, value| {
                let mut entry = std::mem::take(&mut own);
                entry.clear();
                key.append_to(&mut entry);
                match split_entry(&entry, value).and_then(|(user, _)| Ok((user.len(), entry_value(value)?.0 & ENTRY_DELETED != 0))) {
                    Ok((user_bytes, false)) if settled => {
                        put_parts_length(&mut entry, user_bytes);
                        each(&entry);
                        entry.truncate(key.len());
                    }
                    Ok((user_bytes, _)) if !settled => aside.push((entry.clone(), user_bytes)),
                    Ok(_) => {}
                    Err(error) => {
                        counted = Counted::Some;
                        report(error);
                    }
                }
                own = entry;
                ControlFlow::Continue(())
            })?;
            last = Some(own.clone());
            drop(cursor);
            for (mut entry, user_bytes) in aside.drain(..) {
                let (user, primary_key) = entry.split_at(user_bytes);
                let found = self.get(table, primary_key, Read::Snapshot, |row| {
                    let mut key = Vec::with_capacity(user_bytes);
                    record::key::encode_columns(row, &index.parts, &mut key)
                        .map_err(|_| Error::corrupt("row that its layout cannot read"))?;
                    Ok(key == user)
                });
                match found.and_then(Option::transpose) {
                    Ok(Some(true)) => {
                        put_parts_length(&mut entry, user_bytes);
                        each(&entry);
                    }
                    Ok(_) => match self.entry_without_row(table, index, &entry, user_bytes) {
                        Ok(false) => {}
                        Ok(true) => {
                            let what = format!("index {} of table {}: entry {entry:02x?} has no row", index.id, table.id);
                            report(Error::corrupt(what));
                        }
                        Err(error) => told(error, report)?,
                    },
                    Err(error) => {
                        counted = Counted::Some;
                        told(error, report)?;
                    }
                }
            }
        }
    }
}

impl Session {
    /// Whether an entry is live and no version of its row answers for it, under the latch of its leaf.
    fn entry_without_row(&self, table: &Table, index: &Index, entry: &[u8], user_bytes: usize) -> Result<bool> {
        let leaf = index.tree.write(entry)?;
        let Some(value) = leaf.found() else { return Ok(false) };
        if entry_value(value)?.0 & ENTRY_DELETED != 0 {
            return Ok(false);
        }
        let (user, primary_key) = entry.split_at(user_bytes);
        Ok(!self.engine.entry_has_row(table, index, user, primary_key)?)
    }
}

/// What is wrong with the table is told; what keeps from looking at it ends the check.
fn told(error: Error, report: &mut dyn FnMut(Error)) -> Result<()> {
    match error {
        Error::Corruption { .. } => {
            report(error);
            Ok(())
        }
        other => Err(other),
    }
}

impl Engine {
    /// Checks all indexes of a table against each other; the first thing that is wrong is the error. Nobody may write the table meanwhile;
    /// transactions may stand open on it.
    pub fn check_table(&self, table: &Table) -> Result<TableCheck> {
        let mut first = None;
        let check = self.check_newest(table, &mut |_, error| first = first.take().or(Some(error)))?;
        first.map_or(Ok(check), Err)
    }

    /// The same, telling `report` all that is wrong, with the position of the index.
    fn check_newest(&self, table: &Table, report: &mut dyn FnMut(usize, Error)) -> Result<TableCheck> {
        let mut check = TableCheck::default();
        let mut sound = vec![true; table.indexes.len()];
        for (no, index) in table.indexes.iter().enumerate() {
            match self.check_tree(&index.tree) {
                Ok(counted) => check.indexes.push(counted),
                Err(error) => {
                    report(no, error);
                    sound[no] = false;
                    check.indexes.push(IndexCheck { id: index.id, entries_deleted: 0, pages_owned: 0, pages_reached: 0 });
                }
            }
        }
        if !sound[0] {
            return Ok(check);
        }
        // The entries that the newest, live versions must have, per secondary index.
        let mut wanted = vec![Fingerprint::default(); table.indexes.len()];
        let mut chain_pages = 0;
        let counted = self.each_row(table, &mut |error| report(0, error), &mut |value, key, row| {
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
                table.put_entry(index, row, key, &mut entry)?;
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
            let read = self.each_entry(table, no, &mut |entry, is_deleted| {
                if is_deleted { deleted += 1 } else { found.add(entry) }
            });
            check.indexes[no].entries_deleted = deleted;
            match read {
                Err(error) => report(no, error),
                // What rows that cannot be read had here is not known.
                Ok(()) if counted == Counted::All && found != *wanted => {
                    let index = &table.indexes[no];
                    // What fails in here failed before and was told.
                    let mut rows = |note: &mut dyn FnMut(&[u8])| {
                        let mut entry = Vec::new();
                        let _ = self.each_row(table, &mut |_| {}, &mut |_, key, row| {
                            if let Some(row) = row {
                                table.put_entry(index, row, key, &mut entry)?;
                                note(&entry);
                            }
                            Ok(())
                        });
                    };
                    let mut entries = |note: &mut dyn FnMut(&[u8])| {
                        let _ = self.each_entry(table, no, &mut |entry, deleted| {
                            if !deleted {
                                note(entry)
                            }
                        });
                    };
                    explain(table, no, found.count.max(wanted.count), &mut rows, &mut entries, report);
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
        report: &mut dyn FnMut(Error),
        each: &mut dyn FnMut(&[u8], &[u8], Option<RowRef<'_>>) -> Result<()>,
    ) -> Result<Counted> {
        let mut counted = Counted::All;
        let mut cursor = table.primary().tree.cursor();
        cursor.first()?;
        while cursor.valid() {
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

    /// Calls back with each entry of a secondary index, as [`Table::put_entry`] tells it, and whether it is marked as left behind.
    fn each_entry(&self, table: &Table, index_no: usize, each: &mut dyn FnMut(&[u8], bool)) -> Result<()> {
        let mut cursor = table.indexes[index_no].tree.cursor();
        cursor.first()?;
        let mut whole = Vec::new();
        while cursor.valid() {
            let (entry, value) = cursor.entry();
            let (user, _) = split_entry(entry, value)?;
            whole.clear();
            whole.extend_from_slice(entry);
            put_parts_length(&mut whole, user.len());
            each(&whole, entry_value(value)?.0 & ENTRY_DELETED != 0);
            cursor.next()?;
        }
        Ok(())
    }

    /// Checks the tree of the AUTO_INCREMENT counters.
    pub fn check_counters(&self) -> Result<IndexCheck> {
        self.check_tree(&BTree::open(&self.pool, &self.space, COUNTERS_INDEX, self.counters.root()))
    }

    fn check_tree(&self, tree: &BTree) -> Result<IndexCheck> {
        let stats = tree.check().map_err(broken)?;
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
        Ok(self.space.owners()?)
    }

    /// Bytes of undo records that rollback, readers or purge may still need.
    pub fn undo_live_bytes(&self) -> u64 {
        self.undo.live_bytes()
    }
}
