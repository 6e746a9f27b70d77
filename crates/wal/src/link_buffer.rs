//! Which records are completely in the ring: a "recent written" buffer that needs no latch.
//!
//! Each record that has been copied leaves its end in the slot of its start. Whoever wants to know how far the stream is
//! complete follows the links. A slot needs no clearing: records are at most a window long, so an end left by a record one or
//! more windows earlier is never inside `(start, start + window]`, and by a later one always past it.

use crate::platform::{AtomicU64, CachePadded, Ordering, planted};

const UNIT: u64 = 8;

/// The links of the last `window` bytes of the stream.
pub(crate) struct LinkBuffer {
    slots: Box<[AtomicU64]>,
    window: u64,
    /// Everything below is complete. Written by `fetch_max` (AcqRel), read with Acquire: who sees a tail sees the bytes below it.
    tail: CachePadded<AtomicU64>,
}

impl LinkBuffer {
    /// `window_bytes` is a power of two. Everything below `start` counts as complete.
    pub(crate) fn new(window_bytes: u64, start: u64) -> Self {
        let slots = (0..window_bytes / UNIT).map(|_| AtomicU64::new(0)).collect();
        LinkBuffer { slots, window: window_bytes, tail: CachePadded::new(AtomicU64::new(start)) }
    }

    /// Bytes past the tail that may be marked.
    pub(crate) fn window(&self) -> u64 {
        self.window
    }

    /// Starts anew at `start`, before anyone else uses the buffer.
    pub(crate) fn restart(&self, start: u64) {
        self.tail.store(start, Ordering::Release);
    }

    fn slot(&self, start: u64) -> &AtomicU64 {
        &self.slots[((start / UNIT) & (self.slots.len() as u64 - 1)) as usize]
    }

    /// The record `[start, end)` is in the ring. The caller knows that `end ≤ tail + window`.
    #[inline]
    pub(crate) fn mark(&self, start: u64, end: u64) {
        let order = if planted("mark_relaxed") { Ordering::Relaxed } else { Ordering::Release };
        // Release: pairs with the acquire load in `advance`, which thereby sees the record's bytes.
        self.slot(start).store(end, order);
    }

    /// The record that begins at the tail and is too long for a link is in the ring. Only its owner may say so: nobody else can move the tail.
    pub(crate) fn mark_at_tail(&self, start: u64, end: u64) {
        let before = self.tail.fetch_max(end, Ordering::AcqRel);
        assert_eq!(before, start, "a record past the window is marked when all before it are");
    }

    /// Follows the links; returns how far the stream is complete.
    #[inline]
    pub(crate) fn advance(&self) -> u64 {
        let from = self.tail.load(Ordering::Acquire);
        let mut at = from;
        loop {
            let end = self.slot(at).load(Ordering::Acquire);
            // Also right when `at` is stale and the slot was marked again since: then `end` is past the window.
            if end <= at || (end - at > self.window && !planted("no_lap_check")) {
                break;
            }
            at = end;
        }
        if at == from {
            return at;
        }
        // AcqRel: release what this walk acquired, acquire what another walker that is further saw.
        self.tail.fetch_max(at, Ordering::AcqRel).max(at)
    }
}
