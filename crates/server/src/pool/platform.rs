//! What `seats.rs` and `listening.rs` take from outside, so that their model test can compile them over a model checker.

pub(crate) use std::sync::OnceLock;
pub(crate) use sync::{CachePadded, Mutex, Rank, Signal, atomic};

/// Whether a bug is planted: never outside the model test, where this function is `models::planted`. The bugs prove that the test would find them:
/// - `arm_before_sitting`: the socket is watched before the guest is on its seat.
/// - `lost_refusal`: a guest that cannot be watched stays on its seat.
/// - `seat_of_another`: two guests get one seat.
/// - `silent_leave`: the last member that stops listening does not tell the monitor.
/// - `look_before_sleeping`: the monitor looks for listeners before it says that it sleeps.
#[inline(always)]
pub(crate) const fn planted(_bug: &str) -> bool {
    false
}
