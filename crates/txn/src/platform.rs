//! What the algorithms take from outside, so that model tests can compile them over a model checker with small sizes.

pub(crate) use std::sync::Arc;
pub(crate) use sync::CachePadded;
pub(crate) use sync::atomic;

pub(crate) mod latch {
    pub(crate) use sync::{Mutex, Rank};
}

/// Ids the ring holds: 4 MiB of numbers, which are touched as ids are used.
pub(crate) const RING_IDS: u64 = 524_288;
/// Ids by which the ring's window moves on at a time: 256 KiB of numbers.
pub(crate) const BLOCK_IDS: u64 = 32_768;
/// The low mark is raised in steps of so many ids, where ids finish in order.
pub(crate) const LOW_STEP: u64 = 32;
/// Its coarse copy, in steps of at least so many.
pub(crate) const COARSE_STEP: u64 = 1_024;
/// Words of bits that say which ids may be on the list of old ids: 8 KiB.
pub(crate) const OLD_FILTER_WORDS: usize = 1_024;
/// Words of the ring of released bits, 16 ids each: 65,536 ids in 32 KiB.
pub(crate) const RELEASED_WORDS: u64 = 4_096;
/// The ring's words, all 0. The memory comes zeroed from the system, and is not touched here.
pub(crate) fn zeroed_words() -> Box<[atomic::AtomicU64; RING_IDS as usize]> {
    const _: () = assert!(align_of::<atomic::AtomicU64>() == align_of::<u64>() && size_of::<atomic::AtomicU64>() == size_of::<u64>());
    let words: Box<[u64; RING_IDS as usize]> = vec![0; RING_IDS as usize].try_into().expect("as many words as ids");
    // SAFETY: an `AtomicU64` has the representation of a `u64` (std guarantees it) and, checked above, its alignment, so the box owns as many valid
    // atomics, and is freed with the layout that it was allocated with. Collecting them one by one would touch all 4 MiB at each start.
    unsafe { Box::from_raw(Box::into_raw(words).cast()) }
}

/// Whether a bug is planted: never outside the model tests, where this function is `models::planted`. The bugs prove that the tests would find them:
/// - `number_before_pending`: a finisher draws its number before it says so.
/// - `pending_is_unfinished`: a view takes an id that is being numbered as unfinished.
/// - `pending_is_finished`: who asks whether an id is active is told that it has finished before it has a number.
/// - `low_without_recheck`: the watched id is not looked at again after it was chosen.
/// - `window_not_looked_at_again`: a word is taken for an id's although the window has left the id.
/// - `block_dropped_without_views`: ids that open views do not see leave the window and go nowhere.
/// - `filter_after_window`: the bits of ids that leave the window are set after they have left.
/// - `word_taken_by_store`: a word goes over to a later id without regard to a finisher.
/// - `old_number_before_latch`: an id that the window has left is numbered before the list is latched.
/// - `read_before_publish`: a view reads its number before its bound is published.
/// - `horizon_high_of_the_oldest`: what all but the old views see is bounded by the high bound of the oldest of them, not by the smallest.
/// - `horizon_without_newest`: it is bounded by the views that were found, not by what was newest before they were looked for.
/// - `word_taken_without_list`: a word of released bits goes over to later ids, and those it had released are forgotten.
/// - `drain_unsorted`: queued commits are finished in the order in which they came.
/// - `drain_all`: queued commits are finished whether they are durable or not.
#[inline(always)]
pub(crate) const fn planted(_bug: &str) -> bool {
    false
}
