//! Stretches of keys that are locked against insertions as a whole: one entry for a run of deleted records, instead of a gap lock on each.
//!
//! Deleted records that an old snapshot needs stay in their index, thousands in a row at the front of a queue, and each locking read of the range comes by them. Nobody changes
//! or locks such a record for what it holds; only somebody who brings its key back, or comes between two of them, is to wait.
//!
//! # Invariants
//! 1. A span is there before its taker lets go of the latch of the leaf that all of it lies on, and counts as a gap lock of its index: so an insertion, which looks
//!    with its leaf latched exclusively, sees it, or the reader has seen the record (`docs/design/gap-locks.md`).
//! 2. A span is by keys: no split, merge, insertion or removal inside it changes what it covers.
//! 3. Nobody waits for a span: who is to wait first makes it a gap lock of the table, on behalf of its owner ([`Heir`]), and waits for that. A span of a
//!    transaction that has begun to release makes none.

use crate::mode::Parts;
use crate::owner::Owner;
use crate::platform::latch::{Mutex, Rank};
use crate::platform::{Arc, CachePadded};
use crate::table::Heir;
use base::IndexId;
use smallvec::SmallVec;

/// Lists of spans; several indexes may share one.
const LISTS: usize = 64;

struct Span {
    index: IndexId,
    owner: Arc<Owner>,
    /// Which of its owner's transactions has it.
    epoch: u64,
    /// Keys behind this one are covered,
    after: Box<[u8]>,
    /// up to this one.
    last: Box<[u8]>,
    gap: Parts,
}

pub(crate) struct Spans {
    lists: Box<[CachePadded<Mutex<Vec<Span>>>]>,
}

impl Spans {
    pub(crate) fn new() -> Spans {
        Spans { lists: (0..LISTS).map(|_| CachePadded::new(Mutex::new(Rank::Leaf, Vec::new()))).collect() }
    }

    fn list(&self, index: IndexId) -> &Mutex<Vec<Span>> {
        &self.lists[index.0 as usize % LISTS]
    }

    /// Adds a span of `owner`, of its transaction `epoch`; `false` where one that it has there grew by it, or held it. Who comes by the same records again and again, such as one that
    /// waits for a queue, has no more spans for that.
    pub(crate) fn add(&self, owner: &Arc<Owner>, epoch: u64, index: IndexId, after: &[u8], last: &[u8], gap: Parts) -> bool {
        let mut list = self.list(index).lock();
        let own =
            list.iter_mut().filter(|span| span.index == index && span.epoch == epoch && span.gap == gap && Arc::ptr_eq(&span.owner, owner));
        // Two that overlap, or touch, are one stretch.
        if let Some(span) = own.into_iter().find(|span| &*span.after <= last && after <= &*span.last) {
            if after < &*span.after {
                span.after = after.into();
            }
            if last > &*span.last {
                span.last = last.into();
            }
            return false;
        }
        list.push(Span { index, owner: Arc::clone(owner), epoch, after: after.into(), last: last.into(), gap });
        true
    }

    /// Removes the spans of `owner`; returns how many there were.
    pub(crate) fn remove(&self, owner: &Arc<Owner>, index: IndexId) -> usize {
        let mut list = self.list(index).lock();
        let before = list.len();
        list.retain(|span| span.index != index || !Arc::ptr_eq(&span.owner, owner));
        before - list.len()
    }

    /// The others whose spans cover a key.
    pub(crate) fn others(&self, owner: &Arc<Owner>, index: IndexId, key: &[u8]) -> SmallVec<[Heir; 2]> {
        let covers = |span: &&Span| span.index == index && &*span.after < key && key <= &*span.last && !Arc::ptr_eq(&span.owner, owner);
        let heir = |span: &Span| Heir { owner: Arc::clone(&span.owner), epoch: span.epoch, gap: span.gap };
        self.list(index).lock().iter().filter(covers).map(heir).collect()
    }

    /// All of them: whose, in which index, the last key, and how strong.
    pub(crate) fn all(&self) -> Vec<(Arc<Owner>, IndexId, Box<[u8]>, Parts)> {
        let of = |list: &CachePadded<Mutex<Vec<Span>>>| -> Vec<_> {
            list.lock().iter().map(|span| (Arc::clone(&span.owner), span.index, span.last.clone(), span.gap)).collect()
        };
        self.lists.iter().flat_map(of).collect()
    }
}
