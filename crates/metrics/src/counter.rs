//! A counter spread over padded shards.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use sync::CachePadded;

/// Shards of a counter; threads are dealt round robin.
pub const SHARDS: usize = 16;

static NEXT_THREAD: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static SHARD: usize = NEXT_THREAD.fetch_add(1, Ordering::Relaxed) % SHARDS;
}

/// Shard of the calling thread.
#[inline]
pub(crate) fn shard() -> usize {
    // A thread that is ending has lost its local; any shard will do.
    SHARD.try_with(|&shard| shard).unwrap_or(0)
}

/// A growing count.
#[derive(Debug, Default)]
pub struct Counter {
    // Relaxed throughout: a count orders nothing.
    shards: [CachePadded<AtomicU64>; SHARDS],
}

impl Counter {
    /// Zero.
    pub const fn new() -> Self {
        Counter { shards: [const { CachePadded::new(AtomicU64::new(0)) }; SHARDS] }
    }

    /// Adds one.
    #[inline]
    pub fn inc(&self) {
        self.add(1);
    }

    /// Adds `count`.
    #[inline]
    pub fn add(&self, count: u64) {
        self.shards[shard()].fetch_add(count, Ordering::Relaxed);
    }

    /// The sum.
    pub fn get(&self) -> u64 {
        self.shards.iter().map(|shard| shard.load(Ordering::Relaxed)).fold(0, u64::wrapping_add)
    }
}

/// Several counts of seldom events under numbers: each shard holds all of them, so that they take a shard's padding together.
#[derive(Debug)]
pub struct CounterSet<const N: usize> {
    // Relaxed throughout: a count orders nothing.
    shards: Box<[CachePadded<[AtomicU64; N]>]>,
}

impl<const N: usize> Default for CounterSet<N> {
    fn default() -> Self {
        CounterSet { shards: (0..SHARDS).map(|_| CachePadded::new([const { AtomicU64::new(0) }; N])).collect() }
    }
}

impl<const N: usize> CounterSet<N> {
    /// Adds one to the count of a number below `N`.
    #[inline]
    pub fn inc(&self, number: usize) {
        self.shards[shard()][number].fetch_add(1, Ordering::Relaxed);
    }

    /// The sum of a number's counts.
    pub fn get(&self, number: usize) -> u64 {
        self.shards.iter().map(|shard| shard[number].load(Ordering::Relaxed)).fold(0, u64::wrapping_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_all_threads_are_summed() {
        static COUNTER: Counter = Counter::new();
        std::thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| (0..100).for_each(|_| COUNTER.inc()));
            }
        });
        COUNTER.add(5);
        assert_eq!(COUNTER.get(), 2005);
    }

    #[test]
    fn counts_of_a_set_are_kept_apart() {
        let set = CounterSet::<3>::default();
        std::thread::scope(|scope| {
            for n in 0..20 {
                let set = &set;
                scope.spawn(move || (0..100).for_each(|_| set.inc(n % 2)));
            }
        });
        assert_eq!([0, 1, 2].map(|n| set.get(n)), [1000, 1000, 0]);
    }
}
