//! What a running transaction leaves to purge: its undo, and what its changes left behind beside it. Gathered while it writes, taken back with its changes, and given to the history
//! when it has committed (`commit.rs`), or released at once where nobody can need any of it.
//!
//! # Invariants
//! 1. Once anything but plain inserts was noted there is garbage, also after that was taken back: purge walks the chain then.
//! 2. `fresh` lists all records of the transaction, or it is empty and there is garbage.
//! 3. What is noted of a record goes with it ([`Leavings::forget`]): records are taken back newest first.

use crate::purge::history::{Finished, LeftBehind};
use crate::purge::skip_plan::OnWay;
use crate::purge::ways::{Left, Noted, Ways};
use base::{TxnId, UndoPtr};
use txn::FinishSeq;
use undo::SegmentShare;

/// Undo records that a committing transaction releases itself; with more it leaves them to purge.
const FRESH_UNDO_MAX: usize = 1024;
/// Records that a transaction leads past and tells purge of, about: purge finds out about others by itself.
const PASSED_MAX: usize = 1024;

/// See the module.
pub(crate) struct Leavings {
    /// Whether any change left an older version or a delete mark behind: then purge has work after the commit.
    garbage: bool,
    /// Undo records of a transaction that has left no garbage so far: released at once when it commits.
    fresh: Vec<(UndoPtr, u32)>,
    /// What its undo takes.
    share: SegmentShare,
    /// Its records by which old views come to rows, and those that left something behind.
    noted: Noted,
    /// The record by which an old view comes to a row (`prune.rs`), and who wrote the version that it replaced: of those there are, the one longest unchanged.
    needed: (UndoPtr, TxnId),
    /// Records past which those of this transaction lead readers (`prune.rs`), each behind the record that does.
    passed: Vec<(UndoPtr, UndoPtr)>,
}

/// What the replacement of a row left behind beside its undo record.
pub(crate) struct Replaced<'r> {
    /// Who comes by the record; `None` when no view was asked.
    pub(crate) on_way: Option<OnWay>,
    /// Index entries.
    pub(crate) entries: bool,
    /// More than entries: only the record tells what.
    pub(crate) more: bool,
    /// Who wrote the version that was replaced, when an old view comes to the row by the record.
    pub(crate) needed_from: Option<TxnId>,
    /// The records past which it leads readers.
    pub(crate) passed: &'r [UndoPtr],
}

/// Where the garbage of a transaction that has committed goes.
pub(crate) enum Bequest {
    /// It is kept for views: there is nothing but undo.
    Kept(Finished, Option<Ways>),
    /// To purge.
    Purge(Finished, Option<Ways>, Left),
}

impl Leavings {
    pub(crate) fn none() -> Leavings {
        Leavings {
            garbage: false,
            fresh: Vec::new(),
            share: SegmentShare::EMPTY,
            noted: Noted::default(),
            needed: (UndoPtr::NONE, TxnId::NONE),
            passed: Vec::new(),
        }
    }

    /// Whether purge has work after the commit.
    #[inline]
    pub(crate) fn has_garbage(&self) -> bool {
        self.garbage
    }

    /// A record of so many bytes was appended and its change logged; `before` was the newest.
    #[inline]
    pub(crate) fn note(&mut self, before: UndoPtr, address: UndoPtr, bytes: usize, garbage: bool) {
        self.share.add(before, address, bytes);
        self.garbage |= garbage;
        if self.garbage || self.fresh.len() >= FRESH_UNDO_MAX {
            // Purge will walk the chain and release it.
            self.garbage = true;
            self.fresh.clear();
        } else {
            self.fresh.push((address, bytes as u32));
        }
    }

    /// The record that was noted last is of a row that was replaced.
    #[inline]
    pub(crate) fn note_replaced(&mut self, address: UndoPtr, replaced: &Replaced<'_>) {
        self.noted.note(address, replaced.on_way);
        if replaced.entries {
            self.noted.note_entry(address);
        }
        if replaced.more {
            self.noted.note_more();
        }
        if let Some(writer) = replaced.needed_from
            && (self.needed.0.is_none() || writer < self.needed.1)
        {
            self.needed = (address, writer);
        }
        if self.passed.len() < PASSED_MAX {
            self.passed.extend(replaced.passed.iter().map(|record| (address, *record)));
        }
    }

    /// The record that was noted last is of a row that was deleted.
    #[inline]
    pub(crate) fn note_deleted(&mut self, address: UndoPtr, on_way: Option<OnWay>) {
        self.noted.note_deletion(address, on_way);
    }

    /// The newest record, of so many bytes, was taken back and released.
    pub(crate) fn forget(&mut self, address: UndoPtr, bytes: usize) {
        self.share.take_back(bytes);
        self.noted.forget(address);
        if self.needed.0 == address {
            self.needed = (UndoPtr::NONE, TxnId::NONE);
        }
        while self.passed.last().is_some_and(|(by, _)| *by == address) {
            self.passed.pop();
        }
        if self.fresh.last().is_some_and(|(last, _)| *last == address) {
            self.fresh.pop();
        }
    }

    /// The transaction is another session's, and is to be rolled back: there is garbage.
    pub(crate) fn adopt(&mut self) {
        self.garbage = true;
    }

    /// The transaction is another session's, and may commit: any of its records may tell of something.
    pub(crate) fn take_over(&mut self) {
        self.noted.note_more();
        self.garbage = true;
    }

    /// All records past which those of the transaction lead readers.
    pub(crate) fn passed(&self) -> impl ExactSizeIterator<Item = UndoPtr> {
        self.passed.iter().map(|(_, record)| *record)
    }

    /// Takes the records of a transaction without garbage, and what each takes.
    pub(crate) fn drain_fresh(&mut self) -> impl Iterator<Item = (UndoPtr, usize)> {
        self.fresh.drain(..).map(|(address, bytes)| (address, bytes as usize))
    }

    /// Where the garbage of the transaction goes, which has committed.
    #[inline]
    pub(crate) fn bequest(&mut self, txn: TxnId, last_undo: UndoPtr, seq: FinishSeq) -> Bequest {
        let mut finished = self.finished(txn, last_undo, seq);
        let ways = self.ways(&finished);
        // A look now would find only what is known.
        if ways.is_some() && finished.left == LeftBehind::Nothing {
            return Bequest::Kept(finished, ways);
        }
        if let Some(needed) = self.kept_for() {
            finished.needed = needed;
            return Bequest::Kept(finished, None);
        }
        // What readers step over is not left until all that is kept is asked.
        let left = if finished.left == LeftBehind::Listed { self.noted.take_left() } else { Left::default() };
        Bequest::Purge(finished, ways, left)
    }

    /// The transaction for the history.
    fn finished(&self, txn: TxnId, last_undo: UndoPtr, seq: FinishSeq) -> Finished {
        let undo_bytes = self.share.bytes().unwrap_or(0);
        let left = match self.noted.left() {
            left if left.is_nothing() => LeftBehind::Nothing,
            left if undo_bytes != 0 && left.is_known() => LeftBehind::Listed,
            _ => LeftBehind::Unknown,
        };
        Finished::new(txn, seq, last_undo).having_left(left, undo_bytes)
    }

    /// Those of its records by which old views come to rows, when all of them are known, and all else that it left behind, in one segment: it goes when they do.
    fn ways(&self, finished: &Finished) -> Option<Ways> {
        if finished.undo_bytes == 0 || finished.left == LeftBehind::Unknown { None } else { self.noted.ways(self.needed.0) }
    }

    /// The record for which an old view keeps the transaction, when there is nothing but undo that purge could remove.
    fn kept_for(&self) -> Option<UndoPtr> {
        (!self.needed.0.is_none() && self.noted.left().is_nothing()).then_some(self.needed.0)
    }

    /// The transaction has ended; what was allocated stays for the next one.
    pub(crate) fn clear(&mut self) {
        self.garbage = false;
        self.share = SegmentShare::EMPTY;
        self.noted.clear();
        self.needed = (UndoPtr::NONE, TxnId::NONE);
        self.passed.clear();
        self.fresh.clear();
    }

    /// Outside a transaction: gives back what was allocated.
    pub(crate) fn rest(&mut self) {
        self.fresh = Vec::new();
        self.passed = Vec::new();
    }
}
