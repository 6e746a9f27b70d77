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
}
