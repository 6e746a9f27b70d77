//! Ways: the records of a transaction by which old views come to rows, as its writer knows them (docs/design/pruning.md).
//!
//! Who changes a row while a view lags finds out whether an old view comes by his record (`skip_plan.rs`); later ones tell when they lead past it (`undo::UndoStore::note_passed`). So a
//! transaction that has left nothing but undo goes when nobody comes by any of its records, and neither a row nor a record is read for it.
//!
//! # Invariant
//! What is not listed no view came by that was asked, and none does that was not: a view that was opened since, or had not lagged, is found by its number
//! ([`Ways::asked_all_blind`]).

use crate::purge::skip_plan::OnWay;
use base::{TxnId, UndoPtr};
use smallvec::SmallVec;
use txn::Snapshots;

/// More records than this are not listed: the transaction is looked at.
const RECORDS_MAX: usize = 64;

/// Where records lie in their segment. Not on the heap as a rule: what is kept for an hour would lie among what lives for a statement.
type Offsets = SmallVec<[u32; 16]>;

/// What a running transaction knows of its records.
#[derive(Default)]
pub(crate) struct Noted {
    /// Those on ways, the newest last.
    offsets: Offsets,
    /// Those that left something behind beside themselves.
    left: Left,
    /// Changes whose views were asked.
    asked: bool,
    /// A change of which nobody knows, or too many.
    unknown: bool,
    asked_below: u64,
}

/// The records of a transaction that have left an index entry or a deleted row behind: only these need be read to purge it, by any purge. No more than [`RECORDS_MAX`].
#[derive(Default, Debug)]
pub(crate) struct Left {
    /// Ascending.
    offsets: SmallVec<[u32; 4]>,
    /// There are others.
    unknown: bool,
}

impl Left {
    fn note(&mut self, record: UndoPtr) {
        match self.offsets.len() {
            0..RECORDS_MAX => self.offsets.push(record.offset()),
            _ => self.unknown = true,
        }
    }

    pub(crate) fn is_nothing(&self) -> bool {
        self.offsets.is_empty() && !self.unknown
    }

    /// Whether all such records are listed.
    pub(crate) fn is_known(&self) -> bool {
        !self.unknown
    }

    /// The records, the newest first. They lie in one segment, which `one` is in.
    pub(crate) fn records(&self, one: UndoPtr) -> impl Iterator<Item = UndoPtr> {
        self.offsets.iter().rev().map(move |offset| UndoPtr::new(one.segment(), *offset))
    }
}

impl Noted {
    /// A change left an index entry behind.
    pub(crate) fn note_entry(&mut self, record: UndoPtr) {
        self.left.note(record);
    }

    /// A change left more behind than entries: only its record tells what.
    pub(crate) fn note_more(&mut self) {
        self.left.unknown = true;
    }

    /// A row was deleted.
    pub(crate) fn note_deletion(&mut self, record: UndoPtr, on_way: Option<OnWay>) {
        self.left.note(record);
        match on_way {
            // Nobody tells when the row may go that a view sees: it is looked at.
            Some(OnWay { some: true, .. }) | None => self.unknown = true,
            Some(way) => self.note_asked(record, way),
        }
    }

    /// What was left behind.
    pub(crate) fn left(&self) -> &Left {
        &self.left
    }

    /// The same, for the history.
    pub(crate) fn take_left(&mut self) -> Left {
        std::mem::take(&mut self.left)
    }

    /// A row was replaced; `None` when no view lagged that anybody knew of.
    #[inline]
    pub(crate) fn note(&mut self, record: UndoPtr, on_way: Option<OnWay>) {
        match on_way {
            None => self.unknown = true,
            Some(way) => self.note_asked(record, way),
        }
    }

    fn note_asked(&mut self, record: UndoPtr, way: OnWay) {
        self.asked_below = if self.asked { self.asked_below.min(way.asked_below) } else { way.asked_below };
        self.asked = true;
        match self.offsets.len() {
            _ if !way.some => {}
            0..RECORDS_MAX => self.offsets.push(record.offset()),
            _ => self.unknown = true,
        }
    }

    /// A record was taken back.
    pub(crate) fn forget(&mut self, record: UndoPtr) {
        if self.offsets.last() == Some(&record.offset()) {
            self.offsets.pop();
        }
        if self.left.offsets.last() == Some(&record.offset()) {
            self.left.offsets.pop();
        }
    }

    /// With `stays` the last to be passed, as far as its writer knows: it is asked first. `None` when not all is known.
    pub(crate) fn ways(&self, stays: UndoPtr) -> Option<Ways> {
        if !self.asked || self.unknown {
            return None;
        }
        let mut offsets = Offsets::from_slice(&self.offsets);
        if let Some(at) = offsets.iter().position(|offset| !stays.is_none() && *offset == stays.offset()) {
            let last = offsets.len() - 1;
            offsets.swap(at, last);
        }
        Some(Ways { offsets, asked_below: self.asked_below })
    }

    pub(crate) fn clear(&mut self) {
        self.offsets.clear();
        (self.asked, self.unknown) = (false, false);
        self.left.offsets.clear();
        self.left.unknown = false;
    }
}

/// Those of a finished transaction that are left.
#[derive(Debug)]
pub(crate) struct Ways {
    offsets: Offsets,
    asked_below: u64,
}

impl Ways {
    /// Forgets the records past which readers are led; whether there are others. They lie in one segment, which `one` is in.
    pub(crate) fn are_left(&mut self, one: UndoPtr, is_passed: impl Fn(UndoPtr) -> bool) -> bool {
        while let Some(record) = self.last(one) {
            if !is_passed(record) {
                return true;
            }
            self.offsets.pop();
        }
        false
    }

    /// The record that is asked next.
    pub(crate) fn last(&self, one: UndoPtr) -> Option<UndoPtr> {
        let last = self.offsets.last()?;
        Some(UndoPtr::new(one.segment(), *last))
    }

    /// Whether all views that do not see the transaction were asked when it changed its rows.
    pub(crate) fn asked_all_blind(&self, views: &Snapshots, txn: TxnId) -> bool {
        views.blind_are_below(txn, self.asked_below)
    }
}
