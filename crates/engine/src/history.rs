//! Finished transactions whose undo records still wait for purge.
//!
//! # Invariants
//! 1. A transaction enters the history before it leaves its session's slot, so a checkpoint that reads slots first and history second misses none.
//! 2. Order does not matter to purge: a record is purged once every view sees its transaction.
//!
//! Sharded, so that committers on different undo shards do not meet.

use base::{TxnId, UndoPtr};
use std::collections::VecDeque;
use std::time::{Duration, Instant};
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
    /// Older than those that wait: looked at by `prune.rs`, and needed by a view.
    kept: VecDeque<Finished>,
    /// How many were kept when they were last looked at again, and the oldest view then.
    kept_before: usize,
    oldest_view: Option<u64>,
    waiting: VecDeque<Finished>,
    /// Handed to purge and not yet done: a checkpoint still lists them.
    in_purge: Vec<Finished>,
}

/// When transactions finished, by samples, so that the age of the oldest that waits can be told.
#[derive(Default)]
pub(crate) struct Ages {
    /// Newest number then, and when; ascending. The first is the oldest entry's, about.
    samples: VecDeque<(FinishSeq, Instant)>,
}

impl Ages {
    /// Samples kept: past that every second one goes.
    const MAX: usize = 4096;

    /// Notes the present, and forgets what was before the oldest entry.
    pub(crate) fn note(&mut self, now: Instant, newest: FinishSeq, oldest: Option<FinishSeq>) {
        let Some(oldest) = oldest else { return self.samples.clear() };
        self.samples.push_back((newest, now));
        while self.samples.get(1).is_some_and(|(seq, _)| *seq <= oldest) {
            self.samples.pop_front();
        }
        if self.samples.len() > Self::MAX {
            let mut odd = false;
            self.samples.retain(|_| {
                odd = !odd;
                odd
            });
        }
    }

    /// How long the oldest entry has waited.
    pub(crate) fn oldest(&self, now: Instant) -> Duration {
        self.samples.front().map_or(Duration::ZERO, |(_, at)| now.saturating_duration_since(*at))
    }
}

/// So many more are kept than half as many again as before until they are looked at again.
const KEPT_MORE: usize = 128;

impl Shard {
    fn look_again(&mut self) {
        self.kept_before = self.kept.len();
        self.kept.append(&mut self.waiting);
        std::mem::swap(&mut self.kept, &mut self.waiting);
    }
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
        let Shard { kept, waiting, in_purge, .. } = &mut *shard;
        let mut taken = Vec::new();
        for list in [kept, waiting] {
            let count = list.iter().take(max - taken.len()).take_while(|f| purgeable(f)).count();
            taken.extend(list.drain(..count));
        }
        in_purge.extend_from_slice(&taken);
        taken
    }

    /// Takes entries that have not been looked at yet, as [`History::take`] does; each ends in [`History::purged`] or [`History::keep`].
    pub(crate) fn take_between(&self, shard: usize, max: usize, settled: impl Fn(&Finished) -> bool) -> Vec<Finished> {
        let place = &self.shards[shard];
        if place.length.load(Ordering::Relaxed) == 0 {
            return Vec::new();
        }
        let mut shard = place.shard.lock();
        let count = shard.waiting.iter().take(max).take_while(|f| settled(f)).count();
        let taken: Vec<Finished> = shard.waiting.drain(..count).collect();
        shard.in_purge.extend_from_slice(&taken);
        taken
    }

    /// What [`History::take_between`] gave is needed by a view.
    pub(crate) fn keep(&self, shard: usize, finished: Finished) {
        let mut shard = self.shards[shard].shard.lock();
        shard.in_purge.retain(|f| *f != finished);
        shard.kept.push_back(finished);
    }

    /// Lets those that were kept be looked at again when they have become half as many again, or the oldest view is another.
    pub(crate) fn look_again(&self, shard: usize, oldest_view: Option<u64>) {
        let place = &self.shards[shard];
        if place.length.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut shard = place.shard.lock();
        if shard.oldest_view != oldest_view || shard.kept.len() > shard.kept_before + shard.kept_before / 2 + KEPT_MORE {
            shard.oldest_view = oldest_view;
            shard.look_again();
        }
    }

    /// Lets all that were kept be looked at again.
    pub(crate) fn look_again_at_all(&self) {
        self.shards.iter().for_each(|place| place.shard.lock().look_again());
    }

    /// The place in the order of finishing of the oldest entry, about: shards are looked at one after the other.
    pub(crate) fn oldest(&self) -> Option<FinishSeq> {
        let oldest = |place: &CachePadded<Place>| {
            let shard = place.shard.lock();
            let fronts = [shard.kept.front(), shard.waiting.front()];
            fronts.into_iter().flatten().chain(&shard.in_purge).map(|f| f.seq).min()
        };
        self.shards.iter().filter(|place| place.length.load(Ordering::Relaxed) > 0).filter_map(oldest).min()
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
            shard.in_purge.iter().chain(&shard.kept).chain(&shard.waiting).find(|f| f.txn == txn).map(|f| f.seq)
        })
    }

    /// All entries, for a checkpoint.
    pub(crate) fn snapshot(&self) -> Vec<Finished> {
        let mut all = Vec::new();
        for place in &self.shards {
            let shard = place.shard.lock();
            all.extend(shard.in_purge.iter().chain(&shard.kept).chain(&shard.waiting));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_age_is_that_of_the_oldest_entry_about() {
        let (mut ages, start) = (Ages::default(), Instant::now());
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        // One number a second; the oldest entry stays for a day.
        for second in 0..86_400u64 {
            ages.note(at(second), FinishSeq(100 + second), Some(FinishSeq(105)));
        }
        assert!(ages.samples.len() <= Ages::MAX + 1);
        let age = ages.oldest(at(86_400)).as_secs();
        assert!((86_300..=86_400).contains(&age), "{age}");
        ages.note(at(86_400), FinishSeq(90_000), Some(FinishSeq(86_000)));
        let age = ages.oldest(at(86_400)).as_secs();
        assert!((400..=700).contains(&age), "{age}");
        ages.note(at(86_401), FinishSeq(90_001), None);
        assert_eq!(ages.oldest(at(86_500)), Duration::ZERO);
    }

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
