//! Finished transactions whose undo records still wait for purge.
//!
//! # Invariants
//! 1. A transaction enters the history before it leaves its session's slot, so a checkpoint that reads slots first and history second misses none.
//! 2. Order does not matter to purge: a record is purged once every view sees its transaction.
//!
//! Sharded, so that committers on different undo shards do not meet.

use base::{TxnId, UndoPtr};
use std::collections::VecDeque;
use sync::atomic::{AtomicU64, Ordering};
use sync::{CachePadded, Mutex, Rank};
use txn::FinishSeq;

/// A finished transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Finished {
    pub txn: TxnId,
    /// Its place in the order of finishing: purge compares it with what open views see.
    pub seq: FinishSeq,
    pub last_undo: UndoPtr,
}

#[derive(Default)]
struct Shard {
    waiting: VecDeque<Finished>,
    /// Handed to purge and not yet done: a checkpoint still lists them.
    in_purge: Vec<Finished>,
}

pub(crate) struct History {
    shards: Vec<CachePadded<Place>>,
}

struct Place {
    shard: Mutex<Shard>,
    /// Entries of the shard. Relaxed: a figure for status and for purge's decision to look.
    length: AtomicU64,
}

/// Entries in one shard above which purge is woken instead of coming by itself.
const LONG: u64 = 256;

impl History {
    pub(crate) fn new(shards: usize) -> History {
        let place = |_| CachePadded::new(Place { shard: Mutex::new(Rank::UndoSegments, Shard::default()), length: AtomicU64::new(0) });
        History { shards: (0..shards).map(place).collect() }
    }

    /// Adds a transaction; `true` when its shard is so long that purge should come.
    #[must_use]
    pub(crate) fn push(&self, shard: usize, finished: Finished) -> bool {
        let place = &self.shards[shard % self.shards.len()];
        place.shard.lock().waiting.push_back(finished);
        (place.length.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(LONG)
    }

    pub(crate) fn len(&self) -> u64 {
        self.shards.iter().map(|place| place.length.load(Ordering::Relaxed)).sum()
    }

    pub(crate) fn shard_count(&self) -> usize {
        self.shards.len()
    }

    /// Takes up to `max` entries that `purgeable` accepts from the front of a shard. They stay listed until [`History::purged`].
    pub(crate) fn take(&self, shard: usize, max: usize, purgeable: impl Fn(&Finished) -> bool) -> Vec<Finished> {
        let place = &self.shards[shard];
        if place.length.load(Ordering::Relaxed) == 0 {
            return Vec::new();
        }
        let mut shard = place.shard.lock();
        let count = shard.waiting.iter().take(max).take_while(|f| purgeable(f)).count();
        let taken: Vec<Finished> = shard.waiting.drain(..count).collect();
        shard.in_purge.extend_from_slice(&taken);
        taken
    }

    /// What was taken from a shard is purged.
    pub(crate) fn purged(&self, shard: usize, finished: &Finished) {
        let place = &self.shards[shard];
        place.shard.lock().in_purge.retain(|f| f != finished);
        place.length.fetch_sub(1, Ordering::Relaxed);
    }

    /// The place in the order of finishing of a transaction that waits for purge; `None` when it was purged or left nothing behind.
    pub(crate) fn finish_of(&self, txn: TxnId) -> Option<FinishSeq> {
        self.shards.iter().find_map(|place| {
            let shard = place.shard.lock();
            shard.in_purge.iter().chain(&shard.waiting).find(|f| f.txn == txn).map(|f| f.seq)
        })
    }

    /// All entries, for a checkpoint.
    pub(crate) fn snapshot(&self) -> Vec<Finished> {
        let mut all = Vec::new();
        for place in &self.shards {
            let shard = place.shard.lock();
            all.extend(shard.in_purge.iter().chain(&shard.waiting));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taken_entries_stay_listed_until_purged() {
        let history = History::new(2);
        let entry = |n| Finished { txn: TxnId(n), seq: FinishSeq(n), last_undo: UndoPtr(n) };
        for n in 1..=4 {
            assert!(!history.push(0, entry(n)));
        }
        let taken = history.take(0, 10, |f| f.seq <= FinishSeq(2));
        assert_eq!(taken, [entry(1), entry(2)]);
        assert_eq!(history.snapshot().len(), 4);
        taken.iter().for_each(|finished| history.purged(0, finished));
        assert_eq!(history.snapshot(), [entry(3), entry(4)]);
        assert_eq!(history.len(), 2);
        assert!(history.take(1, 10, |_| true).is_empty());
    }
}
