//! What the algorithms take from outside, so that model tests can compile them over a model checker.

pub(crate) use lock_manager::{Cancel, WaitCell, WaitState, WaitsFor};
pub(crate) use std::sync::Arc;
pub(crate) use sync::atomic;

/// Apart, because the futex's model has a `platform::Mutex` of another shape.
pub(crate) mod latch {
    pub(crate) use sync::{Mutex, Rank};
}

/// Whether a bug is planted: never outside the model tests, where this function is `models::planted`. The bugs prove that the tests would find them:
/// - `no_look_after_queueing`: who queues does not look whether a slot has become free meanwhile.
/// - `leave_without_serving`: a leaver frees its slot and looks for no waiter.
/// - `repay_without_serving`: an overdraft is made good and nobody is let in.
/// - `grant_to_the_killed`: a slot is given to a waiter that was killed, and lost.
/// - `newcomers_first`: newcomers are served before open transactions.
/// - `killed_stays_counted`: a killed waiter stays in the count of those who wait.
/// - `silent_leaver`: a leaver frees its slot and does not tell those outside.
/// - `full_after_looking`: who found no slot says so after it has looked, not before.
/// - `rest_overwrites`: who rests a second time writes its word without looking whether the slot is still its own.
#[inline(always)]
pub(crate) const fn planted(_bug: &str) -> bool {
    false
}
