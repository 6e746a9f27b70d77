//! What `seats.rs`, `posts.rs`, `late.rs`, `left.rs`, `behind.rs`, `outbox.rs` and `logins/crew.rs` take from outside, so that their model tests can compile them over a model checker.

pub(crate) use std::sync::OnceLock;
pub(crate) use sync::{Arc, AtomicCell, CachePadded, Moment, Mutex, Rank, Signal, atomic};

/// Until when somebody waits who waits for so long. Never in the model, for ever.
pub(crate) fn patience(time: std::time::Duration) -> Option<std::time::Instant> {
    Some(std::time::Instant::now() + time)
}

/// Whether a bug is planted: never outside the model test, where this function is `models::planted`. The bugs prove that the test would find them:
/// - `sits_without_a_look`: who has laid down a guest does not look whether there was a report meanwhile.
/// - `report_without_a_second_look`: who leaves a report does not look whether a guest was laid down meanwhile.
/// - `lost_refusal`: a guest that cannot be watched stays on its seat.
/// - `seat_of_another`: two guests get one seat.
/// - `forgotten_report`: a report that finds nobody on its seat is dropped.
/// - `forgotten_end`: that a client has gone counts as told when the guest was taken, which may read only what it said before.
/// - `silent_turn`: who waits no more does not tell the monitor.
/// - `look_before_sleeping`: the monitor looks who waits before it says that it sleeps.
/// - `rests_beside_a_vacant_post`: who comes to rest does not look whether its post is vacant.
/// - `late_told_too_early`: who waits for the log tells so before its guest is there.
/// - `left_looks_before`: who hands in a guest that waits for a row looks whether the wait is over before it has the latch.
/// - `left_taken_too_early`: who is told of an earlier wait takes out a guest that waits for another.
/// - `stands_by_an_old_look`: who stands behind a row has looked how many are inside before it has the latch.
/// - `replies_not_taken_over`: who begins to hold a post does not send the replies that its last holder has left.
/// - `last_reply_left`: who has lost its post does not send the reply of the statement that it was at.
/// - `place_not_passed_on`: who leaves its place among those who log clients in does not look who stands in line.
/// - `left_without_another`: it leaves although there is no thread for its place.
#[inline(always)]
pub(crate) const fn planted(_bug: &str) -> bool {
    false
}
