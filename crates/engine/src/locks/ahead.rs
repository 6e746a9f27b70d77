//! Locks that a locking read is ahead of its statement with: rows come in batches, and the statement deals with one after the other.
//!
//! # Invariants
//! 1. Nobody waits for a row that a statement has not come to, where that one waits itself or has failed: then what was locked behind the row that it deals with is given back, and
//!    read again if the statement goes on.
//! 2. Only what this transaction had nothing of before is noted, and given back. Where gaps have been inherited since, which may be on the same keys, nothing is.
//! 3. Notes are in the order in which the locks were taken, and what a row is locked for comes with it: the gap and the entry before the row, what lies between two rows before the second.

use crate::Result;
use crate::scan::{Place, RowBatch, Scan};
use crate::session::Session;
use base::IndexId;
use lock_manager::{LockKeyRef, LockMark};

/// Locks that are noted for a batch: many deleted rows may lie between its rows, and the rest of those stays locked.
const NOTED_MAX: usize = 4096;

/// Keys that were locked for a batch, in one arena.
#[derive(Debug, Default)]
pub(crate) struct LockedAhead {
    bytes: Vec<u8>,
    /// The index of each, and where it ends.
    keys: Vec<(IndexId, usize)>,
    /// By row: how many there are up to it.
    rows: Vec<usize>,
    /// A row comes with an entry that the scan has passed: where to go on behind it is not known.
    pub(crate) is_disordered: bool,
    /// What the transaction was when the first was noted.
    mark: LockMark,
}

/// A batch whose rows are dealt with.
#[derive(Debug)]
pub(crate) struct Dealing {
    locked: LockedAhead,
    /// The one that it is at.
    row: usize,
    /// Whether nothing else of the statement may have come to rely on what is locked ahead.
    may_let_go: bool,
    /// What was locked behind the row was given back.
    let_go: bool,
}

impl LockedAhead {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.keys.clear();
        self.rows.clear();
        self.is_disordered = false;
    }

    pub(crate) fn push(&mut self, lock: LockKeyRef<'_>) {
        if self.keys.len() < NOTED_MAX {
            self.bytes.extend_from_slice(lock.key);
            self.keys.push((lock.index, self.bytes.len()));
        }
    }

    /// Bytes that it occupies.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.capacity() + self.keys.capacity() * size_of::<(IndexId, usize)>() + self.rows.capacity() * size_of::<usize>()
    }

    fn start_of(&self, no: usize) -> usize {
        no.checked_sub(1).map_or(0, |before| self.keys[before].1)
    }
}

impl Scan<'_> {
    /// [`Scan::next_batch`] of a locking read whose rows are dealt with one after the other: between [`Session::deal_with`] and [`Session::dealt_with`].
    pub fn next_batch_ahead(&mut self, batch: &mut RowBatch, rows_max: usize) -> Result<usize> {
        let Session { buffers, running, engine, owner, .. } = &mut *self.session;
        batch.ahead.clear();
        batch.ahead.mark = engine.locks.mark(owner);
        // The notes are the session's meanwhile, for it is the session that locks.
        std::mem::swap(&mut batch.ahead, &mut buffers.ahead);
        (running.reads_ahead, running.notes_locks) = (true, true);
        let count = self.next_batch(batch, rows_max);
        let Session { buffers, running, .. } = &mut *self.session;
        (running.reads_ahead, running.notes_locks) = (false, running.closes_gaps);
        std::mem::swap(&mut batch.ahead, &mut buffers.ahead);
        count
    }

    /// Goes on behind a row of the batch that was read last: what came behind it was let go.
    pub fn go_back_to(&mut self, batch: &RowBatch, row: usize) -> Result<()> {
        let table = &self.state.table;
        let primary_key = batch.key(row);
        let key = match self.state.index_no {
            0 => primary_key.to_vec(),
            index_no => {
                let mut entry = Vec::new();
                table.secondary_key(&table.indexes[index_no], batch.row(table, row)?, primary_key, &mut entry)?;
                entry
            }
        };
        self.state.forget_entries();
        self.state.place = Place::After(key);
        Ok(())
    }
}

impl Session {
    /// A row was shown, for which the locks so far were noted.
    #[inline]
    pub(crate) fn note_shown(&mut self) {
        if self.running.reads_ahead {
            let ahead = &mut self.buffers.ahead;
            ahead.rows.push(ahead.keys.len());
        }
    }

    /// From here to [`Session::dealt_with`] a statement deals with the rows of a batch of [`Scan::next_batch_ahead`]. `may_let_go`: nothing else in the statement locks what the
    /// scan locks, so what is behind the row that it is at may be given back when it waits.
    pub fn deal_with(&mut self, batch: &mut RowBatch, may_let_go: bool) {
        let locked = std::mem::take(&mut batch.ahead);
        let may_let_go = may_let_go && !locked.is_disordered;
        self.buffers.dealing.push(Dealing { locked, row: 0, may_let_go, let_go: false });
    }

    /// It comes to a row of the batch. `false` when that was let go of: the scan goes on behind the row before ([`Scan::go_back_to`]).
    #[inline]
    pub fn comes_to(&mut self, row: usize) -> bool {
        match self.buffers.dealing.last_mut() {
            Some(dealing) if !dealing.let_go => {
                dealing.row = row;
                true
            }
            _ => false,
        }
    }

    /// The statement is done with the batch, or has failed at the row that it has come to. Whether what is behind the row was given back.
    pub fn dealt_with(&mut self, batch: &mut RowBatch, has_failed: bool) -> bool {
        let Some(mut dealing) = self.buffers.dealing.pop() else { return false };
        if has_failed {
            self.let_go_behind(&mut dealing);
        }
        batch.ahead = dealing.locked;
        dealing.let_go
    }

    /// Whether a statement deals with rows of batches.
    pub(crate) fn is_ahead(&self) -> bool {
        !self.buffers.dealing.is_empty()
    }

    /// The statement is about to wait: gives back what was locked behind the rows that it is at.
    #[cold]
    pub(crate) fn let_go_ahead(&mut self) {
        let mut all = std::mem::take(&mut self.buffers.dealing);
        all.iter_mut().filter(|dealing| dealing.may_let_go).for_each(|dealing| self.let_go_behind(dealing));
        self.buffers.dealing = all;
    }

    #[cold]
    fn let_go_behind(&self, dealing: &mut Dealing) {
        let Dealing { locked, row, let_go, .. } = dealing;
        // Of a row that is not noted nothing is known.
        let Some(kept) = locked.rows.get(*row).copied() else { return };
        for no in kept..locked.keys.len() {
            let (index, end) = locked.keys[no];
            let key = &locked.bytes[locked.start_of(no)..end];
            *let_go |= self.engine.locks.release_since(&self.owner, LockKeyRef { index, key }, locked.mark);
        }
        locked.bytes.truncate(locked.start_of(kept));
        locked.keys.truncate(kept);
    }
}
