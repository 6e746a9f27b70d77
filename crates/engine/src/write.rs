//! Changing rows: insert, update, delete, and the short path that looks and changes in one descent.
//!
//! # Invariants
//! 1. The primary index changes first, secondary entries after it; what readers see is decided by the primary row alone, so the order of
//!    the secondary changes is invisible.
//! 2. Each change of a row is one mini-transaction that carries its undo record.
//! 3. A row operation that fails (duplicate key, lock) has taken back what it did; the transaction and its locks stand.
//! 4. No leaf is latched while another index is touched or a lock is awaited.
//!
//! # In this room
//! - `secondary.rs`: the entries of secondary indexes as rows change; `unique.rs`: keys that only one row may have. `external.rs`: rows too large for a leaf.
//! - Many rows at once: `staged.rs` gathers them, `staged_insert.rs` puts them in; `entries.rs` gathers their entries, and those of very many wait in `deferred.rs`.

pub(crate) mod deferred;
pub(crate) mod entries;
pub(crate) mod external;
pub(crate) mod secondary;
pub(crate) mod staged;
pub(crate) mod staged_insert;
pub(crate) mod unique;

use crate::locks::row_lock::{Obstacle, Wait};
use crate::log_op::LogOp;
use crate::purge::leavings::Replaced;
use crate::purge::skip_plan::PlannedSkip;
use crate::session::Session;
use crate::table::Table;
use crate::undo_record::{Change, OldHeader, UndoRecord, common_ends};
use crate::version::header;
use crate::write::external::EXTERNAL;
use crate::write::secondary::{EntryMoves, same_parts};
use crate::{Error, Result};
use base::UndoPtr;
use btree::LeafWrite;
use lock_manager::{LockKeyRef, LockMode};
use record::header::{DELETE_MARK, HEADER_BYTES, RowHeader};
use record::{ColumnSet, RowRef};
use std::sync::Arc;
use sync::atomic::Ordering;

/// What the closure of [`Session::modify`] decides about the row it was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Modify {
    /// Leave the row as it is; it stays locked.
    Keep,
    /// It is not the row that was looked for: as if there were none. It is not locked, but for one that had to be waited for.
    Pass,
    /// Replace it by the row that the closure wrote.
    Replace,
    /// Delete it.
    Delete,
}

/// What [`Session::modify`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Modified {
    /// No such row.
    NotFound,
    /// The closure kept it.
    Kept,
    /// The closure replaced it.
    Replaced,
    /// The closure deleted it.
    Deleted,
}

/// What an insert does about a row that has its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDuplicate {
    /// Nothing: [`Error::DuplicateKey`], and the row stays locked against change. Of several who wait for such a row and find it gone, all but
    /// one become victims of deadlocks: each has locked its gap against the others.
    Report,
    /// It is changed or deleted (ON DUPLICATE KEY UPDATE, REPLACE): those who wait for it go one after the other, if it stays.
    Change,
}

impl OnDuplicate {
    /// How a row that is in the way is waited for.
    pub(crate) fn lock(self) -> LockMode {
        match self {
            OnDuplicate::Report => LockMode::Shared,
            OnDuplicate::Change => LockMode::Exclusive,
        }
    }
}

/// How an attempt under the leaf's latch ended.
enum Attempt<T> {
    Done(T),
    /// Look again: room was made, or a lock was awaited.
    Again,
}

impl Session {
    /// Inserts a row encoded with the table's current layout; its header is filled in.
    ///
    /// Errors: [`Error::DuplicateKey`] names the index; then nothing of the row stays.
    pub fn insert(&mut self, table: &Arc<Table>, row: &mut Vec<u8>) -> Result<()> {
        self.insert_or(OnDuplicate::Report, table, row)
    }

    /// Like [`Session::insert`], for a statement that does something else about a row that has the key.
    pub fn insert_or(&mut self, duplicate: OnDuplicate, table: &Arc<Table>, row: &mut Vec<u8>) -> Result<()> {
        self.ensure_writer()?;
        let mut key = std::mem::take(&mut self.buffers.key);
        key.clear();
        let made = if table.has_hidden_key() {
            self.engine.next_row_id(table).map(|id| key.extend_from_slice(&id.to_be_bytes()))
        } else {
            table.primary_key(RowRef::new(table.layout(), row), &mut key)
        };
        let result = made.and_then(|()| self.insert_at(table, &key, row, duplicate));
        self.buffers.key = key;
        result
    }

    /// Inserts a row under a primary key.
    fn insert_at(&mut self, table: &Arc<Table>, key: &[u8], row: &mut Vec<u8>, duplicate: OnDuplicate) -> Result<()> {
        let mark = self.running.last_undo;
        let mut moves = std::mem::take(&mut self.buffers.moves);
        let result = self.insert_and_index(table, key, row, &mut moves, duplicate);
        self.buffers.moves = moves;
        match result {
            Ok(()) => {
                table.rows.fetch_add(1, Ordering::Relaxed);
                self.owner.add_work(1);
                Ok(())
            }
            Err(error) => {
                self.undo_to(mark)?;
                Err(error)
            }
        }
    }

    fn insert_and_index(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        row: &mut Vec<u8>,
        moves: &mut EntryMoves,
        duplicate: OnDuplicate,
    ) -> Result<()> {
        self.store_external(table, key, row)?;
        while let Attempt::Again = self.try_insert(table, key, row, moves, duplicate)? {}
        self.apply_moves(table, key, moves, duplicate)
    }

    /// One attempt to insert into the primary index; plans the secondary entries.
    fn try_insert(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        row: &mut [u8],
        moves: &mut EntryMoves,
        duplicate: OnDuplicate,
    ) -> Result<Attempt<()>> {
        let own = self.running.id;
        let tree = &table.primary().tree;
        let mut leaf = tree.write(key)?;
        let Some(old) = leaf.found() else {
            if let Some(next) = self.gap_obstacle(&leaf, table.primary())? {
                drop(leaf);
                self.wait_to_insert(table.primary(), &next)?;
                return Ok(Attempt::Again);
            }
            if table.indexes.len() > 1 {
                let mut buffer = Vec::new();
                let row = self.engine.full_row(table, row, &mut buffer)?;
                moves.plan(table, key, None, Some(row), ColumnSet::ALL, false)?;
            } else {
                moves.clear();
            }
            let flags = row[0] & EXTERNAL;
            RowHeader { flags, schema_version: table.layout().schema_version(), txn: own, undo: UndoPtr::NONE }.write(row);
            let counter = self.counter_to_log(table, None, row);
            let undo = self.append_undo(table, key, Change::Insert)?;
            let unsettled = self.slot.unsettle();
            let refused = match leaf.insert(row, |mtr| note_change(mtr, undo, &self.buffers.undo, counter.as_ref())) {
                Ok(Ok(())) => {
                    leaf.finish();
                    unsettled.says(undo);
                    self.running.note_undo(undo, self.buffers.undo.len(), false);
                    return Ok(Attempt::Done(()));
                }
                Ok(Err(no_room)) => Ok(no_room),
                Err(error) => Err(error),
            };
            drop(leaf);
            drop(unsettled);
            self.not_changed(undo);
            let btree::NoRoom = refused?;
            tree.make_room(key, row.len())?;
            return Ok(Attempt::Again);
        };
        let old_header = header(old)?;
        let is_there = old_header.flags & DELETE_MARK == 0;
        // A row that is there is only to be reported, or its statement asks for it again; the place of a deleted one is to be written.
        let obstacle = match duplicate {
            OnDuplicate::Report if is_there => self.lock_seen(table, key, old_header, LockMode::Shared)?.err(),
            _ => self.write_obstacle(table, key, old_header)?,
        };
        if let Some(obstacle) = obstacle {
            let mode = match obstacle {
                // Of several who wait for a row that goes, each inherits its gap: all but one become victims of deadlocks.
                Obstacle::Writer(_) => duplicate.lock().next_key(),
                Obstacle::Lock if is_there => duplicate.lock(),
                Obstacle::Lock => LockMode::Exclusive,
            };
            drop(leaf);
            // If the row has stayed nobody asks for its gap.
            self.wait_or_leave_without_gap(LockKeyRef { index: table.primary().id, key }, mode, obstacle)?;
            return Ok(Attempt::Again);
        }
        if is_there {
            return Err(Error::DuplicateKey { index_no: 0 });
        }
        if self.span_obstacle(table.primary(), key) {
            drop(leaf);
            self.wait_to_insert(table.primary(), key)?;
            return Ok(Attempt::Again);
        }
        // The place of a deleted row: an update of what it was.
        self.replace_in_leaf(table, key, leaf, row, ColumnSet::ALL, moves)
    }

    /// Replaces a row that was read with [`crate::Read::Exclusive`]; `key` is its primary key. `new` is encoded with the current layout.
    pub fn update(&mut self, table: &Arc<Table>, key: &[u8], new: &mut Vec<u8>) -> Result<()> {
        self.ensure_writer()?;
        if !table.has_hidden_key() {
            let mut new_key = Vec::new();
            table.primary_key(RowRef::new(table.layout(), new), &mut new_key)?;
            if new_key != key {
                let mark = self.running.last_undo;
                self.delete(table, key)?;
                let moved = self.insert_at(table, &new_key, new, OnDuplicate::Report);
                if moved.is_err() {
                    self.undo_to(mark)?;
                }
                return moved;
            }
        }
        let mark = self.running.last_undo;
        let mut moves = std::mem::take(&mut self.buffers.moves);
        let mut result = self.store_external(table, key, new);
        while result.is_ok() {
            match self.try_update(table, key, new, &mut moves) {
                Ok(Attempt::Done(())) => break,
                Ok(Attempt::Again) => {}
                Err(error) => result = Err(error),
            }
        }
        let result = result.and_then(|()| self.apply_moves(table, key, &moves, OnDuplicate::Report));
        self.buffers.moves = moves;
        if result.is_err() {
            self.undo_to(mark)?;
        } else {
            self.owner.add_work(1);
        }
        result
    }

    fn try_update(&mut self, table: &Arc<Table>, key: &[u8], new: &mut [u8], moves: &mut EntryMoves) -> Result<Attempt<()>> {
        let leaf = table.primary().tree.write(key)?;
        let Some(old) = leaf.found() else { return Err(Error::corrupt("a locked row vanished")) };
        let old_header = header(old)?;
        if let Some(obstacle) = self.write_obstacle(table, key, old_header)? {
            drop(leaf);
            return self.again_after(table, key, obstacle);
        }
        self.replace_in_leaf(table, key, leaf, new, ColumnSet::ALL, moves)
    }

    /// Replaces the row under the latch of `leaf` by one that differs in columns of `changes` only, and plans the secondary changes. The row is this transaction's to write.
    fn replace_in_leaf(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        mut leaf: LeafWrite<'_>,
        new: &mut [u8],
        changes: ColumnSet,
        moves: &mut EntryMoves,
    ) -> Result<Attempt<()>> {
        let old = leaf.found().ok_or_else(|| Error::corrupt("a row vanished under its latch"))?;
        let old_header = header(old)?;
        let was_deleted = old_header.flags & DELETE_MARK != 0;
        let mut left_behind = std::mem::take(&mut self.buffers.old_keys);
        left_behind.clear();
        if table.indexes.len() > 1 {
            let mut full_old = Vec::new();
            let old_row = self.engine.full_row(table, old, &mut full_old)?;
            let mut full_new = Vec::new();
            let new_row = self.engine.full_row(table, new, &mut full_new)?;
            moves.plan(table, key, Some(old_row), Some(new_row), changes, was_deleted)?;
            moves.put_old_keys(table, &mut left_behind);
        } else {
            moves.clear();
        }
        let (old_body, new_body) = (&old[HEADER_BYTES..], &new[HEADER_BYTES..]);
        // The place of an external row must be readable from the undo record alone.
        let external = (old_header.flags | new[0]) & EXTERNAL != 0;
        let (prefix, suffix) = if external { (0, 0) } else { common_ends(old_body, new_body) };
        let middle = &old_body[prefix..old_body.len() - suffix];
        let (same_length, middle_end) = (old_body.len() == new_body.len() && !external, new_body.len() - suffix);
        let planned = self.plan_skip(old);
        if let Some(record) = planned.missing {
            drop(leaf);
            self.buffers.old_keys = left_behind;
            self.read_for_skip(record);
            return Ok(Attempt::Again);
        }
        let skip = planned.skip.as_ref().map(PlannedSkip::as_skip);
        let change = Change::Update { old: OldHeader::from(old_header), prefix, suffix, middle, old_keys: &left_behind, skip };
        let undo = self.append_undo(table, key, change)?;
        let leaves_entries = !left_behind.is_empty();
        self.buffers.old_keys = left_behind;
        let counter = self.counter_to_log(table, Some(old), new);
        let flags = new[0] & EXTERNAL;
        RowHeader { flags, schema_version: table.layout().schema_version(), txn: self.running.id, undo }.write(new);
        let unsettled = self.slot.unsettle();
        let note = |mtr: &mut buffer_pool::Mtr<'_>| note_change(mtr, undo, &self.buffers.undo, counter.as_ref());
        let done = if same_length && middle_end - prefix < new.len() / 2 {
            // The log gets the header and what differs, not the whole row.
            leaf.patch(0, &new[..HEADER_BYTES], note);
            if prefix < middle_end {
                leaf.patch(HEADER_BYTES + prefix, &new[HEADER_BYTES + prefix..HEADER_BYTES + middle_end], |_| {});
            }
            Ok(Ok(()))
        } else {
            leaf.replace(new, note)
        };
        let refused = match done {
            Ok(Ok(())) => {
                leaf.finish();
                unsettled.says(undo);
                self.running.note_undo(undo, self.buffers.undo.len(), true);
                let replaced = Replaced {
                    on_way: planned.on_way,
                    entries: leaves_entries,
                    more: external,
                    needed_from: planned.stays.then_some(old_header.txn),
                    passed: if planned.skip.is_some() { self.buffers.skips.passed() } else { &[] },
                };
                self.running.leaves.note_replaced(undo, &replaced);
                return Ok(Attempt::Done(()));
            }
            Ok(Err(no_room)) => Ok(no_room),
            Err(error) => Err(error),
        };
        drop(leaf);
        drop(unsettled);
        self.not_changed(undo);
        let btree::NoRoom = refused?;
        table.primary().tree.make_room(key, new.len())?;
        Ok(Attempt::Again)
    }

    /// Deletes the row of a primary key that was read with [`crate::Read::Exclusive`].
    pub fn delete(&mut self, table: &Arc<Table>, key: &[u8]) -> Result<()> {
        match self.modify(table, key, |_, _| Modify::Delete)? {
            Modified::Deleted => Ok(()),
            _ => Err(Error::corrupt("a locked row vanished")),
        }
    }

    /// Looks at the row of a primary key and changes it as `decide` says, in one descent: the path of UPDATE and DELETE by key.
    ///
    /// `decide` sees the newest version, which this transaction may write, under the leaf's exclusive latch: it computes and never blocks. For
    /// [`Modify::Replace`] it leaves the new row, encoded with the current layout, in the buffer. It is called again
    /// when the row had to be waited for or the page had no room.
    pub fn modify(&mut self, table: &Arc<Table>, key: &[u8], decide: impl FnMut(RowRef<'_>, &mut Vec<u8>) -> Modify) -> Result<Modified> {
        self.modify_columns(table, key, ColumnSet::ALL, decide)
    }

    /// [`Session::modify`] where the new row differs from the old one in some of these columns, and in no others: indexes without them are not looked at.
    pub fn modify_columns(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        changes: ColumnSet,
        mut decide: impl FnMut(RowRef<'_>, &mut Vec<u8>) -> Modify,
    ) -> Result<Modified> {
        self.ensure_writer()?;
        let mark = self.running.last_undo;
        let mut moves = std::mem::take(&mut self.buffers.moves);
        let mut new = std::mem::take(&mut self.buffers.new_row);
        let result = loop {
            match self.try_modify(table, key, changes, &mut decide, &mut new, &mut moves) {
                Ok(Attempt::Done(modified)) => break Ok(modified),
                Ok(Attempt::Again) => {}
                Err(error) => break Err(error),
            }
        };
        let result = match result {
            Ok(modified @ (Modified::Replaced | Modified::Deleted)) => {
                self.owner.add_work(1);
                self.apply_moves(table, key, &moves, OnDuplicate::Report).map(|()| modified)
            }
            other => other,
        };
        self.buffers.moves = moves;
        self.buffers.new_row = new;
        if result.is_err() {
            self.undo_to(mark)?;
        }
        result
    }

    fn try_modify(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        changes: ColumnSet,
        decide: &mut impl FnMut(RowRef<'_>, &mut Vec<u8>) -> Modify,
        new: &mut Vec<u8>,
        moves: &mut EntryMoves,
    ) -> Result<Attempt<Modified>> {
        moves.clear();
        let leaf = table.primary().tree.write(key)?;
        let Some(old) = leaf.found() else {
            drop(leaf);
            let came_to_be = self.locks_gaps() && self.lock_gap_at(table.primary(), key, LockMode::Exclusive)?;
            return Ok(if came_to_be { Attempt::Again } else { Attempt::Done(Modified::NotFound) });
        };
        let old_header = header(old)?;
        if let Some(obstacle) = self.write_obstacle(table, key, old_header)? {
            drop(leaf);
            return self.again_after(table, key, obstacle);
        }
        if old_header.flags & DELETE_MARK != 0 {
            // Nobody is to bring the row back; when purge removes what is left of it, the lock goes to the gap.
            if self.locks_gaps() && !self.lock_in_place(table, key, old_header)? {
                drop(leaf);
                return self.again_after(table, key, Obstacle::Lock);
            }
            return Ok(Attempt::Done(Modified::NotFound));
        }
        let mut buffer = Vec::new();
        let row = self.engine.full_row(table, old, &mut buffer)?;
        new.clear();
        match decide(row, new) {
            Modify::Pass => Ok(Attempt::Done(Modified::NotFound)),
            Modify::Keep => {
                if !self.lock_in_place(table, key, old_header)? {
                    drop(leaf);
                    return self.again_after(table, key, Obstacle::Lock);
                }
                Ok(Attempt::Done(Modified::Kept))
            }
            Modify::Delete => self.delete_in_leaf(table, key, leaf, moves).map(Attempt::Done),
            Modify::Replace => {
                let moves_away = changes.meets(table.primary().columns) && moves_key(table, key, row, new)?;
                if moves_away || self.needs_external(key, new) {
                    return self.replace_the_long_way(table, key, leaf, new);
                }
                Ok(match self.replace_in_leaf(table, key, leaf, new, changes, moves)? {
                    Attempt::Done(()) => Attempt::Done(Modified::Replaced),
                    Attempt::Again => Attempt::Again,
                })
            }
        }
    }

    /// Replaces a row, which nothing stands in the way of, by one that cannot take its place under the latch: with another key, or too large for a leaf, so that its
    /// chain is to be written first. The row is locked, and then goes the long way.
    #[inline(never)]
    fn replace_the_long_way(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        leaf: LeafWrite<'_>,
        new: &mut Vec<u8>,
    ) -> Result<Attempt<Modified>> {
        let old = leaf.found().ok_or_else(|| Error::corrupt("a row vanished under its latch"))?;
        let locked = self.lock_in_place(table, key, header(old)?)?;
        drop(leaf);
        if !locked {
            return self.again_after(table, key, Obstacle::Lock);
        }
        // Its entries move in there: the caller has none to move.
        self.update(table, key, new)?;
        Ok(Attempt::Done(Modified::Replaced))
    }

    /// With no latch held: waits for what stands in the way of a row; then it is to be looked at again.
    fn again_after<T>(&mut self, table: &Table, key: &[u8], obstacle: Obstacle) -> Result<Attempt<T>> {
        self.wait_or_leave(table.primary().id, key, LockMode::Exclusive, obstacle, Wait::Block)?;
        Ok(Attempt::Again)
    }

    fn delete_in_leaf(&mut self, table: &Arc<Table>, key: &[u8], mut leaf: LeafWrite<'_>, moves: &mut EntryMoves) -> Result<Modified> {
        let old = leaf.found().ok_or_else(|| Error::corrupt("a row vanished under its latch"))?;
        let old_header = header(old)?;
        if table.indexes.len() > 1 {
            let mut buffer = Vec::new();
            let row = self.engine.full_row(table, old, &mut buffer)?;
            moves.plan(table, key, Some(row), None, ColumnSet::ALL, false)?;
        }
        let on_way = self.plan_deletion(old_header);
        let external = if old_header.flags & EXTERNAL != 0 { &old[HEADER_BYTES..] } else { &[] };
        let undo = self.append_undo(table, key, Change::Delete { old: OldHeader::from(old_header), external })?;
        let mut new_header = [0u8; HEADER_BYTES];
        RowHeader { flags: old_header.flags | DELETE_MARK, schema_version: old_header.schema_version, txn: self.running.id, undo }
            .write(&mut new_header);
        let unsettled = self.slot.unsettle();
        leaf.patch(0, &new_header, |mtr| note_change(mtr, undo, &self.buffers.undo, None));
        leaf.finish();
        unsettled.says(undo);
        self.running.note_undo(undo, self.buffers.undo.len(), true);
        self.running.leaves.note_deleted(undo, on_way);
        table.rows.fetch_sub(1, Ordering::Relaxed);
        Ok(Modified::Deleted)
    }

    /// Writes an undo record to the store and leaves its bytes in `buffers.undo`.
    pub(crate) fn append_undo(&mut self, table: &Table, key: &[u8], change: Change<'_>) -> Result<UndoPtr> {
        if self.engine.undo_stuck.load(Ordering::Relaxed) {
            return Err(Error::DiskFull);
        }
        self.running.tables.note(table.id);
        // An overflow chain is written before the row is this transaction's to change; the change itself comes by here again.
        if !matches!(change, Change::Chain { .. }) {
            self.note_for_build(table, key);
        }
        let record = UndoRecord { txn: self.running.id, previous: self.running.last_undo, table: table.id, key, change };
        let bytes = &mut self.buffers.undo;
        bytes.clear();
        record.encode(bytes);
        Ok(self.engine.undo.append(self.shard, bytes)?)
    }

    /// Notes a row for an index that is built beside, under the row's latch and before it changes.
    #[inline]
    pub(crate) fn note_for_build(&self, table: &Table, key: &[u8]) {
        if table.watch.is_on() {
            table.watch.note(key, self.running.id, &self.engine.txns);
        }
    }

    /// A row change whose undo record was written was not made after all.
    #[cold]
    fn not_changed(&self, undo: UndoPtr) {
        self.engine.undo.release(undo, self.buffers.undo.len());
    }

    /// The counter to log with this row, when the row has a value that `old` had not: with each such row, so that it is in the log whenever the row is.
    fn counter_to_log(&self, table: &Arc<Table>, old: Option<&[u8]>, row: &[u8]) -> Option<LogOp<'static>> {
        let column = table.auto_increment_column?;
        let next = if row[0] & EXTERNAL != 0 {
            table.auto_increment.load(Ordering::Relaxed)
        } else {
            let new = RowRef::new(table.layout(), row);
            if let Some(old) = old
                && old[0] & (EXTERNAL | DELETE_MARK) == 0
                && table.row_ref(old).is_ok_and(|old| same_column(old, new, column))
            {
                return None;
            }
            let value = table.auto_increment_value(new, column)?;
            table.note_auto_increment(value);
            value.saturating_add(1)
        };
        self.engine.counters.note_moved(table);
        Some(LogOp::AutoIncrement { table: table.id, next })
    }
}

fn same_column(a: RowRef<'_>, b: RowRef<'_>, column: usize) -> bool {
    matches!((a.column_bytes(column), b.column_bytes(column)), (Ok(a), Ok(b)) if a == b)
}

/// Logs a row change, and the counter that it moves, in the mini-transaction that makes it.
pub(crate) fn note_change(mtr: &mut buffer_pool::Mtr<'_>, undo: UndoPtr, record: &[u8], counter: Option<&LogOp<'_>>) {
    Session::note(mtr, &LogOp::RowChange { undo, record });
    if let Some(counter) = counter {
        Session::note(mtr, counter);
    }
}

/// Whether a row that becomes `new` gets another key than `key`. Other bytes of the same collation weight make no other key.
fn moves_key(table: &Table, key: &[u8], old: RowRef<'_>, new: &[u8]) -> Result<bool> {
    let new = RowRef::new(table.layout(), new);
    if same_parts(table.primary(), old, new)? {
        return Ok(false);
    }
    let mut new_key = Vec::with_capacity(key.len());
    table.primary_key(new, &mut new_key)?;
    Ok(new_key != key)
}
