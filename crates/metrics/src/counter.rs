//! A counter spread over padded shards.
//!
//! # Invariants
//! 1. Of the shards behind the first [`SHARED`] each has one thread at most that counts there: it reads and writes, which no other does between, and needs no locked instruction (some twenty
//!    cycles, three times a statement). Threads that come when all are taken share the others, atomically.
//!    They take the lowest that is free, and sums pass over what nobody has ever had: each shard is a line of the cache, and there are many counters.
//! 2. Who takes a shard sees what its last owner counted there: it is given back by a release and taken by an acquire of one word.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use sync::CachePadded;

/// Shards that are shared by threads, which are dealt to them round robin: the first ones.
const SHARED: usize = 4;
/// Shards that a thread has for itself.
const OWNED: usize = 24;
/// Shards of a counter.
pub const SHARDS: usize = SHARED + OWNED;

/// Which of the owned shards have an owner: bit by bit.
static TAKEN: AtomicU32 = AtomicU32::new(0);
/// How many of the owned shards have ever had an owner. Relaxed: raised before anything is counted there.
static USED: AtomicUsize = AtomicUsize::new(0);
static NEXT_THREAD: AtomicUsize = AtomicUsize::new(0);

/// No shard yet.
const UNDEALT: usize = usize::MAX;

thread_local! {
    static SHARD: Cell<usize> = const { Cell::new(UNDEALT) };
    /// Told when the thread ends.
    static OWN: Own = Own::take();
}

/// The shard that a thread has for itself, if there is one.
struct Own(Option<u32>);

impl Own {
    fn take() -> Own {
        let mut taken = TAKEN.load(Ordering::Relaxed);
        loop {
            let free = (!taken).trailing_zeros();
            if free >= OWNED as u32 {
                return Own(None);
            }
            match TAKEN.compare_exchange_weak(taken, taken | 1 << free, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => {
                    USED.fetch_max(free as usize + 1, Ordering::Relaxed);
                    return Own(Some(free));
                }
                Err(now) => taken = now,
            }
        }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        // What the thread still counts while it ends is counted on a shared one.
        SHARD.set(next_shared());
        if let Some(own) = self.0 {
            TAKEN.fetch_and(!(1 << own), Ordering::Release);
        }
    }
}

fn next_shared() -> usize {
    NEXT_THREAD.fetch_add(1, Ordering::Relaxed) % SHARED
}

/// Deals the calling thread its shard.
#[cold]
fn deal() -> usize {
    // A thread that is ending has lost its local.
    let own = OWN.try_with(|own| own.0).ok().flatten();
    let shard = own.map_or_else(next_shared, |own| SHARED + own as usize);
    SHARD.set(shard);
    shard
}

/// Adds to the cell of the calling thread's shard.
#[inline]
fn add<'a>(cell: impl FnOnce(usize) -> &'a AtomicU64, count: u64) {
    let shard = match SHARD.get() {
        UNDEALT => deal(),
        shard => shard,
    };
    let cell = cell(shard);
    if shard >= SHARED {
        cell.store(cell.load(Ordering::Relaxed).wrapping_add(count), Ordering::Relaxed);
    } else {
        cell.fetch_add(count, Ordering::Relaxed);
    }
}

/// How many shards somebody may have counted on.
fn used() -> usize {
    SHARED + USED.load(Ordering::Relaxed)
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
        add(|shard| &self.shards[shard], count);
    }

    /// The sum.
    pub fn get(&self) -> u64 {
        self.shards[..used()].iter().map(|shard| shard.load(Ordering::Relaxed)).fold(0, u64::wrapping_add)
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
        add(|shard| &self.shards[shard][number], 1);
    }

    /// The sum of a number's counts.
    pub fn get(&self, number: usize) -> u64 {
        self.shards[..used()].iter().map(|shard| shard[number].load(Ordering::Relaxed)).fold(0, u64::wrapping_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads that come and go, more at once than there are shards for each.
    #[test]
    fn counts_of_all_threads_are_summed() {
        static COUNTER: Counter = Counter::new();
        for _ in 0..20 {
            std::thread::scope(|scope| {
                for _ in 0..2 * SHARDS {
                    scope.spawn(|| (0..100).for_each(|_| COUNTER.inc()));
                }
            });
        }
        COUNTER.add(5);
        assert_eq!(COUNTER.get(), 20 * 2 * SHARDS as u64 * 100 + 5);
    }

    /// Two threads at one owned shard would lose counts.
    #[test]
    fn an_owned_shard_has_one_owner_and_goes_to_another_behind_it() {
        let own: Vec<Own> = std::iter::repeat_with(Own::take).take_while(|own| own.0.is_some()).collect();
        assert!(!own.is_empty() && own.len() <= OWNED, "other tests may have some, for a moment");
        let mut numbers: Vec<_> = own.iter().map(|own| own.0).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), own.len());
        // Another test's thread may be the next owner, for a moment.
        drop(own);
        assert!(std::iter::repeat_with(Own::take).any(|own| own.0.is_some()));
    }

    #[test]
    fn a_thread_that_ends_counts_on() {
        static COUNTER: Counter = Counter::new();
        struct Late;
        impl Drop for Late {
            fn drop(&mut self) {
                COUNTER.inc();
            }
        }
        thread_local! {
            static LATE: Late = const { Late };
        }
        // Locals end in an order of the library's: before the shard's owner, and behind it.
        for counts_first in [true, false] {
            std::thread::spawn(move || {
                if counts_first {
                    COUNTER.inc();
                }
                LATE.with(|_| COUNTER.inc());
            })
            .join()
            .expect("it ends well");
        }
        assert_eq!(COUNTER.get(), 5);
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
