//! Gap locks: how readers keep rows from appearing, and how insertions ask for leave. The argument is in `docs/design/gap-locks.md`.
//!
//! # Invariants
//! 1. A gap is locked at the key behind it (delete-marked or not), or at the end of the index.
//! 2. Who locks a gap looks at all leaves that it spans after the lock is there: what was inserted before is seen, what comes later waits.
//!    Under one leaf's latch both are one; where the key behind lies on another leaf, the search is made again.
//! 3. Deleted rows behind a deleted row on its leaf are locked as one span (`lock_manager/src/spans.rs`), which who inserts a key, or brings one back, asks for.
//! 4. Who inserts a key, or removes one, deals with the gap locks of the key behind it under the latches of both.

use crate::Result;
use crate::scan::{Direction, Place, ScanState};
use crate::session::Session;
use crate::table::Index;
use crate::version::header;
use btree::{LeafWrite, Seek};
use lock_manager::{Granted, LockKeyRef, LockMode, WaitPolicy};
use record::header::{DELETE_MARK, RowHeader};
use txn::Standing;

/// Whether a bug is planted: never outside the tests, which must find each:
/// - `no_second_look`: a gap whose key behind lies on another leaf is taken for locked without another look at what is in it.
/// - `range_end_open`: the gap that a range ends in is not locked.
/// - `insert_without_asking`: an insertion does not look for gap locks.
/// - `back_without_asking`: who brings a deleted row's key back does not look for spans.
/// - `gap_stays_behind`: the gap locks of a key that is removed go with it.
/// - `own_gap_stays_behind`: so do those of a transaction that takes a part of its changes back, and goes on.
#[cfg(not(test))]
#[inline(always)]
pub(crate) const fn planted(_bug: &str) -> bool {
    false
}

/// A point at which tests let others come in between: `hop`, when a search has come over to another leaf, before it locks what it found.
#[cfg(not(test))]
#[inline(always)]
pub(crate) const fn reached(_point: &str) {}

#[cfg(test)]
pub(crate) use crate::tests::gaps::{planted, reached};

/// Who removes a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remover {
    /// A transaction that ends, or purge: it keeps nothing.
    Ends,
    /// A transaction that goes on, and keeps the gaps that it has locked.
    GoesOn,
    /// The same; it made the key, and keeps others from making it.
    KeepsKey,
}

impl Session {
    /// Whether this transaction locks gaps: at REPEATABLE READ and above.
    #[inline]
    pub(crate) fn locks_gaps(&self) -> bool {
        !self.gives_back()
    }

    /// From here to [`Session::open_gaps`] locking scans keep rows from coming into their ranges, at READ COMMITTED and below too: for who must see all rows that have a
    /// key. Without it a row that is waited for may move to a place that the scan has passed. (MySQL's manual has gap locks there "for foreign-key constraint checking".)
    pub fn close_gaps(&mut self) {
        self.running.closes_gaps = self.isolation().is_per_statement();
        self.running.notes_locks |= self.running.closes_gaps;
        // The buffers may be those of a session that ended in between.
        self.buffers.closed.clear();
    }

    /// Gives the gaps back that were locked since [`Session::close_gaps`]; records stay locked. A gap whose key was removed meanwhile stays locked at the key behind.
    pub fn open_gaps(&mut self) {
        self.running.closes_gaps = false;
        self.running.notes_locks = self.running.reads_ahead;
        for (index, key) in self.buffers.closed.drain(..) {
            self.engine.locks.release_gap(&self.owner, LockKeyRef { index, key: &key });
        }
    }

    /// A lock was granted; if it may have to be given back, that is noted.
    #[inline]
    pub(crate) fn note_granted(&mut self, lock: LockKeyRef<'_>, mode: LockMode, granted: Granted) {
        if self.running.notes_locks && granted != Granted::Held {
            self.note_lock(lock, mode, granted);
        }
    }

    #[inline(never)]
    fn note_lock(&mut self, lock: LockKeyRef<'_>, mode: LockMode, granted: Granted) {
        if self.running.closes_gaps && mode.has_gap() {
            self.buffers.closed.push((lock.index, lock.key.into()));
        }
        if self.running.reads_ahead && granted == Granted::New {
            self.buffers.ahead.push(lock);
        }
    }

    /// With no latch held: locks the gap before the first key that is not below `bound`. Returns whether `bound` itself is a key.
    pub(crate) fn lock_gap_at(&mut self, index: &Index, bound: &[u8], mode: LockMode) -> Result<bool> {
        let mut locked: Option<Vec<u8>> = None;
        loop {
            let mut cursor = index.tree.cursor();
            // Without a bound the gap is the one behind everything.
            if !bound.is_empty() {
                cursor.seek(bound, Seek::AtOrAfter)?;
            }
            let on_one_leaf = bound.is_empty() || cursor.valid() && !cursor.hopped();
            let next = if cursor.valid() { cursor.key() } else { &[] };
            if locked.as_deref() == Some(next) {
                return Ok(next == bound);
            }
            if !on_one_leaf {
                reached("hop");
            }
            self.try_lock(LockKeyRef { index: index.id, key: next }, mode.gap_only())?;
            if on_one_leaf || planted("no_second_look") {
                return Ok(next == bound);
            }
            locked = Some(next.to_vec());
        }
    }

    /// With no latch held: the gap above a range, with which a backward scan of it begins.
    pub(crate) fn lock_gap_above(&mut self, index: &Index, state: &ScanState, mode: LockMode) -> Result<()> {
        if state.direction == Direction::Backward && matches!(state.place, Place::Start) {
            self.lock_gap_at(index, &state.range.upper, mode)?;
        }
        Ok(())
    }

    /// Under the exclusive latch of the leaf that a new key goes into: whether somebody else has locked the gap. Then the key behind it is returned;
    /// see [`Session::wait_to_insert`].
    #[inline]
    pub(crate) fn gap_obstacle(&mut self, leaf: &LeafWrite<'_>, index: &Index) -> Result<Option<Vec<u8>>> {
        if self.engine.locks.has_gap_locks(index.id, &self.owner) && !planted("insert_without_asking") {
            self.look_for_gap_lock(leaf, index)
        } else {
            Ok(None)
        }
    }

    #[cold]
    fn look_for_gap_lock(&mut self, leaf: &LeafWrite<'_>, index: &Index) -> Result<Option<Vec<u8>>> {
        let blocked = leaf.with_next_key(|next| {
            let next = next.unwrap_or_default();
            let free = self.engine.locks.enter_gap(&self.owner, LockKeyRef { index: index.id, key: next }, leaf.sought_key());
            (!free).then(|| next.to_vec())
        })?;
        Ok(blocked)
    }

    /// Under the exclusive latch of the leaf of a deleted row whose key is to come back: whether somebody else has it in a span; see [`Session::wait_to_insert`].
    #[inline]
    pub(crate) fn span_obstacle(&mut self, index: &Index, key: &[u8]) -> bool {
        self.engine.locks.has_gap_locks(index.id, &self.owner)
            && !planted("back_without_asking")
            && self.engine.locks.make_spans_explicit(&self.owner, LockKeyRef { index: index.id, key }, key)
    }

    /// Whether nobody can have a lock on a deleted row for what it holds: its deletion is durable, and not this transaction's own.
    #[inline]
    pub(crate) fn is_long_gone(&self, row: RowHeader) -> bool {
        row.flags & DELETE_MARK != 0 && self.engine.txns.standing(row.txn) == Standing::Finished && !self.refuses_changed(row.txn)
    }

    /// From a deleted row on, under its leaf's latch: the cursor goes to the last of the deleted rows of the range that follow on the leaf, and their keys are locked against
    /// insertions as one span. They stay there as long as an old snapshot needs them, and a queue has them all at its front.
    pub(crate) fn lock_long_gone(
        &mut self,
        index: &Index,
        cursor: &mut btree::Cursor<'_>,
        state: &ScanState,
        mode: LockMode,
    ) -> Result<()> {
        let mut after: Option<Vec<u8>> = None;
        while !cursor.is_last_on_leaf() {
            let from = after.is_none().then(|| cursor.key().to_vec());
            cursor.next()?;
            let (key, value) = cursor.entry();
            if !state.in_range(key) || !self.is_long_gone(header(value)?) {
                cursor.prev()?;
                break;
            }
            after = after.or(from);
        }
        if let Some(after) = after {
            self.running.may_hold_locks = true;
            self.engine.locks.lock_span(&self.owner, index.id, &after, cursor.key(), mode);
        }
        Ok(())
    }

    /// With no latch held: waits until nobody else has the gap before `next`. Then the place is to be looked for again.
    #[cold]
    pub(crate) fn wait_to_insert(&mut self, index: &Index, next: &[u8]) -> Result<()> {
        self.running.may_hold_locks = true;
        let key = LockKeyRef { index: index.id, key: next };
        self.waiting(|session, policy| session.engine.locks.lock(&session.owner, key, LockMode::InsertIntention, policy, &session.cancel))?;
        Ok(())
    }

    /// Under the exclusive latch of a leaf whose sought key is about to be removed: its locks go to the gap that it leaves.
    pub(crate) fn leave_gap(&mut self, leaf: &LeafWrite<'_>, index: &Index, remover: Remover) -> Result<()> {
        let key = LockKeyRef { index: index.id, key: leaf.sought_key() };
        let keeps = remover == Remover::KeepsKey && self.locks_gaps();
        if !keeps && !self.engine.locks.is_locked(key) || planted("gap_stays_behind") {
            return Ok(());
        }
        self.running.may_hold_locks |= keeps;
        leaf.with_next_key(|next| {
            let next = LockKeyRef { index: index.id, key: next.unwrap_or_default() };
            if keeps {
                let kept = self.engine.locks.lock(&self.owner, next, LockMode::ExclusiveGap, WaitPolicy::NoWait, &self.cancel);
                kept.expect("nobody is in the way of a gap lock");
            }
            self.engine.locks.record_removed((remover == Remover::Ends).then_some(&self.owner), key, next);
        })?;
        Ok(())
    }
}
