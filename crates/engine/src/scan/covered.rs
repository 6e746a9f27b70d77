//! Scans of a secondary index that take the wanted columns from its entries and leave the rows alone.
//!
//! A leaf notes the highest transaction id that wrote to it (`raise_txn_max`, logged with the write; a split and a merge keep the maximum).
//! When the reader's view sees every id up to that one, the leaf is *settled* for this reader, and its entries answer for their rows: one
//! that is not marked deleted is a row that the reader sees, with this key; one that is marked is none. On a leaf that is not settled each
//! entry leads to its row, as in every other scan.
//!
//! # Why a settled leaf tells the truth
//! Let E be an entry of row R with key K on a settled leaf, read under the leaf's latch, and T the last transaction that inserted E, marked it, or
//! took its mark off. T noted itself on the leaf before it let go of it, and what the leaf notes only grows, so T is not above what is noted:
//! the view sees T, and T has finished, also with taking back, if that is how it ended.
//!
//! When T let go of its lock on R (with its commit record, or when it had rolled back), E was right about R's newest version: unmarked if that version
//! lives and has the key K, else marked. For a transaction
//! changes the entries of a row with the row (`apply_moves`), before it ends, and rolling back sets them right before it ends (`rollback.rs`). Let
//! U be a transaction that changed this since: gave R another key, deleted it, or gave K back to it. U writes R first and E after it, before
//! it lets go and finishes; E has not been written since T, so U has not finished. So no view sees U (U is not the reader itself: its
//! statements' changes are complete before it reads on, so it would have written E). Whatever versions of R were written since T let go and have
//! finished too have the same answer for K as the one that T left. The version of R that the view sees is that one or one of
//! those, because the view sees T. Hence E says what the row would say.
//!
//! Two readings of R in one scan cannot disagree: the view is one, the version that it sees has one key in this index, and the entry of that
//! key is there for as long as the view is (`secondary.rs`, invariant 1).
//!
//! An index that DDL has built notes nobody on its leaves. It holds what was current then; views that do not see that DDL are refused the
//! index ([`Table::set_added_by`](crate::Table::set_added_by)), and the others see all that was finished before it.
//!
//! # Not here
//! Locking reads: they lock rows, so they fetch them. Which columns come back from keys is [`KeyRestore`]'s.

use crate::scan::{Direction, EntryBatch, Place, RowBatch, RowKey, Scan, Step};
use crate::table::{ENTRY_DELETED, entry_value};
use crate::{Error, Result};
use btree::{Cursor, KeyRef, Scanned};
use record::{KeyRestore, RestoreBuffer, RowRef};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

/// What covering scans of a session use again.
#[derive(Default)]
pub(crate) struct Buffers {
    pub(crate) key: Vec<u8>,
    pub(crate) row: RestoreBuffer,
    entries: EntryBatch,
}

/// How a look at one leaf ended.
enum Leaf {
    /// The closure wants no more now.
    Stopped,
    /// The range ends here.
    End,
    /// Entries were put aside whose rows are to be looked at, with no leaf latched.
    Aside,
    /// The cursor is on the next leaf.
    Next,
}

impl Scan<'_> {
    /// [`Scan::for_each`] for those who want only columns that `restore` puts back from the index's entries: most rows are made of their
    /// entry. A row has then NULL or zero in all other columns. Some rows may be whole ones, and all are when the read locks.
    pub fn for_each_covered(&mut self, restore: &KeyRestore, mut f: impl FnMut(RowRef<'_>, RowKey<'_>) -> Step) -> Result<bool> {
        if self.state.index_no == 0 || self.state.read.lock().is_some() {
            return self.for_each(f);
        }
        let mut buffers = std::mem::take(&mut self.session.buffers.covered);
        restore.begin(&mut buffers.row);
        let result = self.covered(restore, &mut buffers, &mut f);
        self.session.buffers.covered = buffers;
        result
    }

    /// [`Scan::for_each_covered`] where there is what puts columns back, else [`Scan::for_each`].
    #[inline]
    pub fn for_each_with(&mut self, restore: Option<&KeyRestore>, f: impl FnMut(RowRef<'_>, RowKey<'_>) -> Step) -> Result<bool> {
        match restore {
            Some(restore) => self.for_each_covered(restore, f),
            None => self.for_each(f),
        }
    }

    /// [`Scan::next_batch`] over [`Scan::for_each_covered`].
    pub fn next_batch_covered(&mut self, restore: &KeyRestore, batch: &mut RowBatch, rows_max: usize) -> Result<usize> {
        batch.clear();
        if rows_max > 0 {
            self.for_each_covered(restore, |row, key| {
                batch.push(row, key);
                if batch.is_full(rows_max) { Step::Stop } else { Step::Continue }
            })?;
        }
        Ok(batch.len())
    }

    fn covered(&mut self, restore: &KeyRestore, buffers: &mut Buffers, f: &mut impl FnMut(RowRef<'_>, RowKey<'_>) -> Step) -> Result<bool> {
        let table = Arc::clone(&self.state.table);
        loop {
            let mut cursor = table.indexes[self.state.index_no].tree.cursor();
            if !Scan::position(&self.state, &mut cursor)? {
                self.state.place = Place::End;
                return Ok(false);
            }
            loop {
                match self.leaf(&mut cursor, restore, buffers, f)? {
                    Leaf::Stopped => {
                        self.state.pass(cursor.key().to_vec())?;
                        return Ok(true);
                    }
                    Leaf::End => {
                        self.state.place = Place::End;
                        return Ok(false);
                    }
                    Leaf::Next => {}
                    Leaf::Aside => break,
                }
            }
            drop(cursor);
            if self.fetch_all(&table, &buffers.entries, f)? == Step::Stop {
                return Ok(true);
            }
        }
    }

    /// Reports the entries of a settled leaf, or puts those of another aside.
    fn leaf(
        &mut self,
        cursor: &mut Cursor<'_>,
        restore: &KeyRestore,
        buffers: &mut Buffers,
        f: &mut impl FnMut(RowRef<'_>, RowKey<'_>) -> Step,
    ) -> Result<Leaf> {
        if self.session.cancel.is_cancelled() {
            return Err(Error::Killed);
        }
        let Buffers { key: whole, row: restored, entries } = buffers;
        entries.clear();
        let direction = self.state.direction;
        let end = self.state.end();
        if self.session.view.sees_all_to(cursor.leaf_txn_max()) {
            return Ok(match scan_leaf(cursor, direction, end, |entry, value| report(entry, value, restore, whole, restored, f))? {
                Scanned::Stopped => Leaf::Stopped,
                Scanned::EndOfRange => Leaf::End,
                Scanned::NextLeaf => Leaf::Next,
            });
        }
        let entries_max = self.state.next_entries_max();
        scan_leaf(cursor, direction, self.state.end(), |entry, value| {
            let full = entries.len() + 1 >= entries_max;
            entries.push(entry, value).map(|()| if full { Step::Stop } else { Step::Continue })
        })?;
        Ok(if entries.is_empty() { Leaf::End } else { Leaf::Aside })
    }
}

/// Shows `visit` the entries of this leaf from the cursor to the end of a range, until it stops or fails.
#[inline]
pub(crate) fn scan_leaf(
    cursor: &mut Cursor<'_>,
    direction: Direction,
    end: Bound<&[u8]>,
    mut visit: impl FnMut(KeyRef<'_>, &[u8]) -> Result<Step>,
) -> Result<Scanned> {
    let mut failed = None;
    let step = |entry: KeyRef<'_>, value: &[u8]| go_on(visit(entry, value), &mut failed);
    let scanned = match direction {
        Direction::Forward => cursor.scan_leaf(end, step)?,
        Direction::Backward => cursor.scan_leaf_backward(end, step)?,
    };
    failed.map_or(Ok(scanned), Err)
}

/// An entry of a settled leaf.
#[inline]
pub(crate) fn report(
    entry: KeyRef<'_>,
    value: &[u8],
    restore: &KeyRestore,
    whole: &mut Vec<u8>,
    restored: &mut RestoreBuffer,
    f: &mut impl FnMut(RowRef<'_>, RowKey<'_>) -> Step,
) -> Result<Step> {
    let (flags, user_bytes) = entry_value(value)?;
    if flags & ENTRY_DELETED != 0 {
        return Ok(Step::Continue);
    }
    if !restore.is_empty() {
        whole.clear();
        entry.append_to(whole);
    }
    let row = restore.row(whole, restored).map_err(|_| Error::corrupt("secondary key that is not made of its parts"))?;
    Ok(f(row, RowKey::EndOf(entry, user_bytes)))
}

/// What goes on after a step, and keeps its error.
#[inline]
pub(crate) fn go_on(step: Result<Step>, failed: &mut Option<Error>) -> ControlFlow<()> {
    match step {
        Ok(Step::Continue) => ControlFlow::Continue(()),
        Ok(Step::Stop) => ControlFlow::Break(()),
        Err(error) => {
            *failed = Some(error);
            ControlFlow::Break(())
        }
    }
}
