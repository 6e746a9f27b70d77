//! Records past which a later version's readers are led: told by who leads them (the engine's pruning), asked by who purges.
//!
//! # Invariants
//! 1. A record is noted by its address, which is given out once ([`crate`], 1): a note is never of another record.
//! 2. Notes are hints in memory. They go with the segment, and none is there after a restart: who finds no note knows nothing.

use crate::frame::SEGMENT_BYTES;
use base::UndoPtr;
use std::collections::HashMap;
use sync::{CachePadded, Mutex, Rank};

/// A frame has at least so many bytes, so that a bit for each as many bytes of the segment is one for each record.
const GRAIN: usize = 16;
const WORDS: usize = SEGMENT_BYTES / GRAIN / 64;
const SHARDS: usize = 64;

/// Bits of the records of one segment.
type Bits = Box<[u64; WORDS]>;

#[derive(Default)]
struct Shard {
    segments: HashMap<u64, Bits, foldhash::fast::FixedState>,
}

/// The notes of all segments, by number; few share a latch.
pub(crate) struct Passed {
    shards: Box<[CachePadded<Mutex<Shard>>]>,
}

fn place(ptr: UndoPtr) -> (usize, u64) {
    let grain = ptr.offset() as usize / GRAIN;
    (grain / 64, 1 << (grain % 64))
}

impl Passed {
    pub(crate) fn new() -> Passed {
        let shard = |_| CachePadded::new(Mutex::new(Rank::Leaf, Shard::default()));
        Passed { shards: (0..SHARDS).map(shard).collect() }
    }

    fn shard(&self, segment: u64) -> &Mutex<Shard> {
        // Slots follow each other: the low bits of a number.
        &self.shards[segment as usize % SHARDS]
    }

    /// Notes a record of a segment that `is_in_use` says is there still: asked under the latch that [`Passed::forget`] takes, so that nothing stays of one that is gone.
    pub(crate) fn note(&self, ptr: UndoPtr, is_in_use: impl FnOnce() -> bool) {
        let mut shard = self.shard(ptr.segment()).lock();
        if is_in_use() {
            let (word, bit) = place(ptr);
            let bits = shard.segments.entry(ptr.segment()).or_insert_with(|| Box::new([0; WORDS]));
            bits[word] |= bit;
        }
    }

    pub(crate) fn is_noted(&self, ptr: UndoPtr) -> bool {
        let (word, bit) = place(ptr);
        self.shard(ptr.segment()).lock().segments.get(&ptr.segment()).is_some_and(|bits| bits[word] & bit != 0)
    }

    /// A segment is gone; its slot says so already.
    pub(crate) fn forget(&self, segment: u64) {
        self.shard(segment).lock().segments.remove(&segment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_of_one_record_and_goes_with_its_segment() {
        let passed = Passed::new();
        // Two numbers of one shard, and records as close as they can be.
        let (one, other) = (UndoPtr::new(7, 64), UndoPtr::new(7 + SHARDS as u64, 64));
        let beside = UndoPtr::new(7, 64 + GRAIN as u32);
        let last = UndoPtr::new(7, (SEGMENT_BYTES - GRAIN) as u32);
        passed.note(one, || true);
        passed.note(last, || true);
        assert_eq!([one, beside, last, other].map(|ptr| passed.is_noted(ptr)), [true, false, true, false]);
        passed.note(other, || false);
        assert!(!passed.is_noted(other), "nothing is noted of a segment that is gone");
        passed.forget(7);
        assert_eq!([one, last].map(|ptr| passed.is_noted(ptr)), [false, false]);
        assert!(passed.shards.iter().all(|shard| shard.lock().segments.is_empty()));
    }
}
