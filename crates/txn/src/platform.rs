//! What the algorithms take from outside, so that model tests can compile them over a model checker with small sizes.

pub(crate) use std::sync::Arc;
pub(crate) use sync::atomic;
pub(crate) use sync::{CachePadded, futex, hint, thread};

/// Apart, because the futex's model has a `platform::Mutex` of another shape.
pub(crate) mod latch {
    pub(crate) use sync::{Mutex, Rank};
}

/// Ids the ring holds: 64 KiB of bits.
pub(crate) const RING_IDS: u64 = 524_288;
/// Ids by which the ring's window moves on at a time. Each move holds finishers back for the microsecond of clearing 4 KiB.
pub(crate) const BLOCK_IDS: u64 = 32_768;
/// Words of the ring of released bits, 16 ids each: 65,536 ids in 32 KiB.
pub(crate) const RELEASED_WORDS: u64 = 4_096;
/// Words of a view's bitmap, unless very many old transactions run: 16,384 ids in 2 KiB.
pub(crate) const BITMAP_WORDS: usize = 256;
/// Long transactions that a view copies without a latch.
pub(crate) const LONG_INLINE: usize = 64;
/// Copies that may be spoilt by finishers before they are held back for one.
pub(crate) const COPY_ATTEMPTS: u32 = 8;

/// Whether a bug is planted: never outside the model tests, where this function is `models::planted`. The bugs prove that the tests would find them:
/// - `copy_without_recheck`: a copy is taken as it is, without comparing the counters.
/// - `move_without_drain`: the window moves on without waiting for finishers under way.
/// - `reuse_before_publish`: a view is reused although the counter was not compared after publishing.
/// - `copy_before_publish`: a view is copied before its bound is published.
/// - `word_taken_without_list`: a word of released bits goes over to later ids, and those it had released are forgotten.
/// - `drain_unsorted`: queued commits are finished in the order in which they came.
/// - `drain_all`: queued commits are finished whether they are durable or not.
/// - `low_without_recheck`: the low mark is not looked at again after it was moved.
#[inline(always)]
pub(crate) const fn planted(_bug: &str) -> bool {
    false
}
