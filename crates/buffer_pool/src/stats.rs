//! Counters of the pool. The one on the hot path is sharded by thread and never shared between threads on purpose.

use std::sync::atomic::{AtomicU64, Ordering};
use sync::CachePadded;

const SHARDS: usize = 64;

/// Counters as they are now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatsSnapshot {
    /// Pages asked for that were in memory.
    pub hits: u64,
    /// Pages asked for that had to be read or made.
    pub misses: u64,
    /// Pages read from the store by who needed them.
    pub reads: u64,
    /// Pages read ahead of need.
    pub reads_ahead: u64,
    /// Of those, pages given up before anybody came for them.
    pub reads_ahead_evicted: u64,
    /// Times a thread had to wait for a frame because none was free or clean.
    pub frame_waits: u64,
    /// Pages written to the store.
    pub writes: u64,
    /// Batches written by threads that needed a frame, not by the cleaner.
    pub foreground_flushes: u64,
    /// Write batches that failed; their pages stay dirty.
    pub write_errors: u64,
    /// Pages given up for others.
    pub evictions: u64,
    /// Times a thread slept for a page latch.
    pub latch_waits: u64,
    /// Frames with nothing in them.
    pub frames_free: u64,
    /// Frames whose page has changes that are not on disk.
    pub pages_dirty: u64,
    /// Frames in all.
    pub frames_total: u64,
}

#[derive(Default)]
pub(crate) struct Stats {
    hits: [CachePadded<AtomicU64>; SHARDS_HALF],
    hits_more: [CachePadded<AtomicU64>; SHARDS_HALF],
    pub misses: AtomicU64,
    pub reads: AtomicU64,
    pub reads_ahead: AtomicU64,
    pub reads_ahead_evicted: AtomicU64,
    pub frame_waits: AtomicU64,
    pub writes: AtomicU64,
    pub foreground_flushes: AtomicU64,
    pub write_errors: AtomicU64,
    pub evictions: AtomicU64,
}

// `Default` for arrays ends at 32.
const SHARDS_HALF: usize = SHARDS / 2;

thread_local! {
    /// Only its address is used: it differs from thread to thread.
    static PLACE: u8 = const { 0 };
}

impl Stats {
    /// Counts a hit. A plain add, not an atomic one: threads that share a shard may lose a count, which costs less than a locked instruction per page.
    #[inline(always)]
    pub fn hit(&self) {
        let shard = PLACE.with(|place| (std::ptr::from_ref(place) as usize).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58);
        let counter = if shard < SHARDS_HALF { &self.hits[shard] } else { &self.hits_more[shard - SHARDS_HALF] };
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    pub fn hits(&self) -> u64 {
        self.hits.iter().chain(&self.hits_more).map(|c| c.load(Ordering::Relaxed)).sum()
    }
}
