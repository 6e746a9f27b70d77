//! Inserting staged rows: in the order of their keys, run by run, one mini-transaction and one undo record for all rows of a run, which go into some neighbouring leaves.
//!
//! # Invariants
//! 1. Either all staged rows are in, or none: then the caller inserts them one by one, in the order in which they were staged, which finds out what is in the way, waits
//!    for it, and fails or warns as if there were no runs.
//! 2. All rows are in the primary index before the first secondary entry is added; those of very many rows wait for the end of the statement (`deferred.rs`).
//! 3. Nothing is waited for here, but for the keys of unique indexes and for gaps of secondary ones, with no latch held.
//! 4. No row goes in this way into an index of which somebody has locked a gap: each such row asks for its place by itself.

use crate::format::Feature;
use crate::log_op::LogOp;
use crate::session::Session;
use crate::table::{Index, Table};
use crate::undo_record::{Change, put_run_key};
use crate::write::deferred::Deferred;
use crate::write::entries::Entries;
use crate::write::staged::Staged;
use crate::write::{OnDuplicate, note_change};
use crate::{Error, Result};
use base::{TxnId, UndoPtr};
use btree::{Near, RunEnd};
use record::RowRef;
use record::header::RowHeader;
use std::sync::Arc;
use sync::atomic::Ordering;

impl Session {
    /// Whether rows may be staged at all: not in a directory whose format has no runs.
    pub fn may_stage(&self) -> bool {
        self.engine.allows(Feature::InsertRuns).is_ok()
    }

    /// Adds a row, encoded with the table's current layout, to those that wait; `false` when it is too large to be staged.
    pub fn stage(&mut self, table: &Table, staged: &mut Staged, row: &[u8]) -> Result<bool> {
        let mut key = std::mem::take(&mut self.buffers.key);
        key.clear();
        let made = match table.has_hidden_key() {
            true => Ok(()),
            false => table.primary_key(RowRef::new(table.layout(), row), &mut key),
        };
        let result = made.and_then(|()| {
            // A hidden key is given later.
            let fits = !self.needs_external(&key, row) && row.len() + size_of::<u64>() <= crate::write::external::INLINE_BYTES_MAX;
            if fits { staged.push(row, &key).map(|()| true) } else { Ok(false) }
        });
        self.buffers.key = key;
        result
    }

    /// Inserts all rows that wait; `false` when something stands in the way of one of them: then none of them is in, and [`Session::insert`], row by row, tells what it is.
    pub fn insert_staged(&mut self, table: &Arc<Table>, staged: &mut Staged) -> Result<bool> {
        self.insert_staged_or_defer(table, staged, None)
    }

    /// The same; entries of indexes that are not unique wait in `deferred`, if there is one, for [`Session::insert_deferred`], which the statement owes.
    pub fn insert_staged_or_defer(&mut self, table: &Arc<Table>, staged: &mut Staged, deferred: Option<&mut Deferred>) -> Result<bool> {
        self.ensure_writer()?;
        let mark = self.running.last_undo;
        match self.insert_sorted(table, staged, deferred) {
            Ok(true) => {
                self.move_counter(table, staged);
                self.owner.add_work(staged.len() as u64);
                Ok(true)
            }
            Ok(false) | Err(Error::DuplicateKey { .. } | Error::RowTooLarge) => self.undo_untold(mark).map(|()| false),
            Err(error) => {
                self.undo_to(mark)?;
                Err(error)
            }
        }
    }

    fn insert_sorted(&mut self, table: &Arc<Table>, staged: &mut Staged, deferred: Option<&mut Deferred>) -> Result<bool> {
        if table.has_hidden_key() {
            let engine = Arc::clone(&self.engine);
            staged.give_keys(|| engine.next_row_id(table))?;
        }
        if !staged.sort()? {
            return Ok(false);
        }
        let head = RowHeader { flags: 0, schema_version: table.layout().schema_version(), txn: self.running.id, undo: UndoPtr::NONE };
        staged.put_heads(&head.to_bytes());
        let staged = &*staged;
        let (mut done, mut near) = (0, Near::default());
        while done < staged.len() {
            near.keep(&table.primary().tree, done, |no| staged.at(no).map(|(_, key, _)| key));
            match self.insert_rows_of_run(table, staged, done)? {
                0 => return Ok(false),
                count => done += count,
            }
        }
        let mut entries = Entries::default();
        let mut held = memory::Use::new(memory::Kind::Rows, 0);
        for (index_no, index) in table.indexes.iter().enumerate().skip(1).filter(|(_, index)| index.unique || deferred.is_none()) {
            entries.clear();
            entries.gather(table, index, staged)?;
            entries.sort();
            held.resize(entries.held_bytes());
            if index.unique && !self.are_unique(table, index_no, &entries, staged)? {
                return Ok(false);
            }
            self.add_entries(index, &entries)?;
        }
        match deferred {
            Some(deferred) => self.defer(table, staged, deferred).map(|()| true),
            None => Ok(true),
        }
    }

    /// Inserts those rows, from the one at `from` on, that make a run; returns how many: 0 when somebody or something is in the way.
    fn insert_rows_of_run(&mut self, table: &Arc<Table>, staged: &Staged, from: usize) -> Result<usize> {
        let primary = table.primary();
        let entry = |no: usize| staged.at(from + no).map(|(_, key, row)| (key, row));
        let Some((key, row)) = entry(0) else { return Ok(0) };
        loop {
            if self.cancel.is_cancelled() {
                return Err(Error::Killed);
            }
            let mut run = primary.tree.write_run(key, std::mem::take(&mut self.buffers.run))?;
            let (count, end) = run.plan(entry)?;
            // Asked with all leaves latched.
            if self.engine.locks.has_gap_locks(primary.id, &self.owner) {
                return Ok(0);
            }
            match end {
                _ if count > 0 => {}
                RunEnd::NoRoom => {
                    self.buffers.run = run.finish().1;
                    primary.tree.make_room(key, row.len())?;
                    continue;
                }
                RunEnd::Found | RunEnd::Elsewhere => return Ok(0),
            }
            let undo = self.append_undo_of_run(table, key, (1..count).filter_map(entry).map(|(key, _)| key))?;
            let unsettled = self.slot.unsettle();
            run.insert(TxnId::NONE, entry, |mtr| note_change(mtr, undo, &self.buffers.undo, None));
            self.buffers.run = run.finish().1;
            unsettled.says(undo);
            self.running.note_undo(undo, self.buffers.undo.len(), false);
            table.rows.fetch_add(count as i64, Ordering::Relaxed);
            return Ok(count);
        }
    }

    /// One undo record for rows that go in together.
    fn append_undo_of_run<'k>(&mut self, table: &Table, first: &[u8], others: impl Iterator<Item = &'k [u8]>) -> Result<UndoPtr> {
        let mut keys = std::mem::take(&mut self.buffers.old_keys);
        keys.clear();
        let (mut before, mut count) = (first, 0);
        for key in others {
            // That of the first is noted with the undo record.
            self.note_for_build(table, key);
            put_run_key(&mut keys, before, key);
            before = key;
            count += 1;
        }
        let change = if count == 0 { Change::Insert } else { Change::InsertRun { keys: &keys } };
        let undo = self.append_undo(table, first, change);
        self.buffers.old_keys = keys;
        undo
    }

    /// Moves the AUTO_INCREMENT counter past what the rows have. Once they are all in, for a row that goes in by itself later moves it as far as itself only; what a crash
    /// finds of them before is rolled back.
    fn move_counter(&mut self, table: &Arc<Table>, staged: &Staged) {
        let Some(column) = table.auto_increment_column else { return };
        let rows = (0..staged.len()).map(|no| RowRef::new(table.layout(), staged.row(no)));
        let Some(value) = rows.filter_map(|row| table.auto_increment_value(row, column)).max() else { return };
        table.note_auto_increment(value);
        self.engine.counters.note_moved(table);
        self.engine.log(&mut self.buffers.undo, &LogOp::AutoIncrement { table: table.id, next: value.saturating_add(1) });
    }

    /// Whether nobody, among them nor elsewhere, has one of the keys for a unique index. All of them are locked then.
    fn are_unique(&mut self, table: &Table, index_no: usize, entries: &Entries, staged: &Staged) -> Result<bool> {
        let (mut before, mut near): (Option<u32>, _) = (None, Near::default());
        for (at, no) in entries.numbers().enumerate() {
            near.keep(&table.indexes[index_no].tree, at, |no| entries.at(no).map(|(key, _)| key));
            let Some(row) = entries.unique_row(no) else { continue };
            let user = entries.user(no);
            if before.is_some_and(|before| entries.user(before) == user) {
                return Ok(false);
            }
            before = Some(no);
            let Some((_, key, _)) = staged.at(row) else { return Ok(false) };
            self.check_unique(table, index_no, user, key, OnDuplicate::Report)?;
        }
        Ok(true)
    }

    /// Adds sorted entries, run by run.
    pub(crate) fn add_entries(&mut self, index: &Index, entries: &Entries) -> Result<()> {
        let (mut done, mut near) = (0, Near::default());
        while let Some((key, value)) = entries.at(done) {
            if self.cancel.is_cancelled() {
                return Err(Error::Killed);
            }
            near.keep(&index.tree, done, |no| entries.at(no).map(|(key, _)| key));
            let entry = |no: usize| entries.at(done + no);
            let mut run = index.tree.write_run(key, std::mem::take(&mut self.buffers.run))?;
            // Asked with all leaves latched; and before, as planning is in vain where there are any.
            let has_gap_locks = || self.engine.locks.has_gap_locks(index.id, &self.owner);
            let planned = if has_gap_locks() { None } else { Some(run.plan(entry)?) };
            match planned.filter(|_| !has_gap_locks()) {
                Some((0, RunEnd::NoRoom)) => {
                    self.buffers.run = run.finish().1;
                    index.tree.make_room(key, value.len())?;
                }
                None | Some((0, RunEnd::Found | RunEnd::Elsewhere)) => {
                    drop(run);
                    self.add_entry(index, key, entries.user_bytes_at(done))?;
                    done += 1;
                }
                Some((count, _)) => {
                    run.insert(self.running.id, entry, |_| {});
                    self.buffers.run = run.finish().1;
                    done += count;
                }
            }
        }
        Ok(())
    }
}
