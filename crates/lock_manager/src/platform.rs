//! What the algorithms take from outside, so that model tests can compile them over a model checker.

pub(crate) use std::sync::{Arc, Weak};
pub(crate) use sync::atomic;
pub(crate) use sync::{CachePadded, futex};

/// Apart, because the futex's model has a `platform::Mutex` of another shape.
pub(crate) mod latch {
    pub(crate) use sync::{Mutex, MutexGuard, Rank};
}

/// Whether a bug is planted: never outside the model tests, where this function is `models::planted`. The bugs prove that the tests would find them:
/// - `release_without_hand_over`: a release drops the lock but grants it to nobody.
/// - `timeout_without_hand_over`: a timed-out waiter leaves without granting those behind it.
/// - `implicit_without_recheck`: an implicit lock is made explicit without looking whether its holder has begun to release.
/// - `noted_is_granted`: what others have noted for the writer of a row counts as a lock of its own, whoever else has one by then.
/// - `revoked_without_hand_over`: a lock that came too late to count is taken away, but those who waited for it are not looked at.
/// - `left_not_told`: who ends a wait that nobody sleeps for tells nobody.
/// - `no_detection`: the deadlock search is left out.
/// - `gap_not_told`: an insertion is not told whose gap was given back before it was durable.
/// - `gap_not_counted`: a gap lock is granted without being counted.
/// - `gap_entered`: an insertion enters a gap that somebody else has.
/// - `gap_not_inherited`: a removed record leaves its lockers nothing.
/// - `shared_without_recheck`: a metadata reader does not look at the gate after counting itself in.
/// - `announced_without_look`: a writer announces itself and does not look whether it may.
/// - `no_outside_detection`: the same for waits outside of the row locks.
/// - `read_only_beside_writers`: LOCK TABLES READ does not wait for the writers that are there.
#[inline(always)]
pub(crate) const fn planted(_bug: &str) -> bool {
    false
}
