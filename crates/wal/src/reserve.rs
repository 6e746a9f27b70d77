//! Reservation of stream positions: one `fetch_add`, and one load to know that there is room.

use crate::platform::{AtomicU64, CachePadded, Ordering, planted};

/// Head of the stream and the bound up to which ring and link buffer have room.
pub(crate) struct Reserver {
    /// Relaxed: it orders nothing, the ring's room does.
    head: CachePadded<AtomicU64>,
    /// Written by `fetch_max` (Release) by whoever frees room, read with Acquire: who sees it may overwrite the ring below it.
    limit: CachePadded<AtomicU64>,
}

impl Reserver {
    pub(crate) fn new(start: u64) -> Self {
        Reserver { head: CachePadded::new(AtomicU64::new(start)), limit: CachePadded::new(AtomicU64::new(start)) }
    }

    /// Starts anew, before anyone else uses it.
    pub(crate) fn restart(&self, start: u64) {
        self.head.store(start, Ordering::Relaxed);
        self.limit.store(start, Ordering::Release);
    }

    /// Takes the next `bytes` of the stream; returns where they start. They may be filled once [`Reserver::has_room`] says so.
    #[inline]
    pub(crate) fn take(&self, bytes: u64) -> u64 {
        self.head.fetch_add(bytes, Ordering::Relaxed)
    }

    /// Whether a reservation that ends here may be filled.
    #[inline]
    pub(crate) fn has_room(&self, end: u64) -> bool {
        planted("no_room_check") || end <= self.limit.load(Ordering::Acquire)
    }

    /// Room was freed up to `limit`. The caller has seen (acquire) that what lies a ring below it is written out.
    pub(crate) fn raise_limit(&self, limit: u64) {
        if self.limit.load(Ordering::Relaxed) < limit {
            self.limit.fetch_max(limit, Ordering::AcqRel);
        }
    }

    /// Where the next record will start.
    #[inline]
    pub(crate) fn head(&self) -> u64 {
        self.head.load(Ordering::Relaxed)
    }
}
