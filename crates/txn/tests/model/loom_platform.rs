//! What `crate::platform` of the product is, over loom and as small as it can be.

pub use models::planted;
pub use std::sync::Arc;
pub use sync::CachePadded;

pub const RING_IDS: u64 = 8;
pub const BLOCK_IDS: u64 = 2;
pub const LOW_STEP: u64 = 1;
pub const COARSE_STEP: u64 = 1;
pub const OLD_FILTER_WORDS: usize = 1;

pub fn zeroed_words() -> Box<[atomic::AtomicU64; RING_IDS as usize]> {
    Box::new(std::array::from_fn(|_| atomic::AtomicU64::new(0)))
}

/// Loom's atomics; who asks for SeqCst gets acquire and release. A planted bug makes all accesses of one kind relaxed:
/// - `loads_relaxed`: loads that ask for acquire (words, the window's and the views' bounds);
/// - `newest_relaxed`: loads that ask for more (the newest number);
/// - `draw_relaxed`: the addition that draws a number;
/// - `take_relaxed`: the one that gives an id out;
/// - `exchanges_relaxed`: what changes a word;
/// - `raise_relaxed`: what raises a low mark;
/// - `stores_relaxed`: stores that ask for release or more.
pub mod atomic {
    use super::planted;
    pub use loom::sync::atomic::Ordering;

    #[derive(Debug)]
    pub struct AtomicU64(loom::sync::atomic::AtomicU64);

    /// The order, no stronger than acquire and release; relaxed with the bug planted.
    fn unless(bug: &str, order: Ordering, of_both: Ordering) -> Ordering {
        match order {
            _ if planted(bug) => Ordering::Relaxed,
            Ordering::SeqCst => of_both,
            other => other,
        }
    }

    impl AtomicU64 {
        pub fn new(value: u64) -> Self {
            AtomicU64(loom::sync::atomic::AtomicU64::new(value))
        }

        pub fn load(&self, order: Ordering) -> u64 {
            let bug = if order == Ordering::SeqCst { "newest_relaxed" } else { "loads_relaxed" };
            self.0.load(unless(bug, order, Ordering::Acquire))
        }

        pub fn store(&self, value: u64, order: Ordering) {
            self.0.store(value, unless("stores_relaxed", order, Ordering::Release));
        }

        pub fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
            let bug = if order == Ordering::SeqCst { "draw_relaxed" } else { "take_relaxed" };
            self.0.fetch_add(value, unless(bug, order, Ordering::AcqRel))
        }

        pub fn fetch_max(&self, value: u64, order: Ordering) -> u64 {
            self.0.fetch_max(value, unless("raise_relaxed", order, Ordering::AcqRel))
        }

        pub fn compare_exchange(&self, current: u64, new: u64, success: Ordering, failure: Ordering) -> Result<u64, u64> {
            let bug = "exchanges_relaxed";
            self.0.compare_exchange(current, new, unless(bug, success, Ordering::AcqRel), unless(bug, failure, Ordering::Acquire))
        }
    }
}

/// A ranked mutex over loom, without ranks.
pub mod latch {
    pub use sync::Rank;

    #[derive(Debug)]
    pub struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub fn with_order(_rank: Rank, _order: u32, value: T) -> Self {
            Mutex(loom::sync::Mutex::new(value))
        }

        pub fn try_lock(&self) -> Option<loom::sync::MutexGuard<'_, T>> {
            self.0.try_lock().ok()
        }

        pub fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
        }
    }
}
