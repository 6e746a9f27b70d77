//! The frames: page-sized pieces of one arena, and what is known of each.

use std::ptr::NonNull;

use base::{Lsn, PAGE_BYTES, PageNo};
// Std's, not `sync`'s: these lie over mapped memory, which a model checker's atomics cannot.
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use crate::mapping::Mapping;
use crate::racy::RacyBytes;
use crate::word::FRAMES_MAX;

/// Uses that a frame can collect before the clock takes them away one by one.
const USAGE_MAX: u8 = 3;
/// Of a page that was read ahead and that nobody has asked for yet. One more than this is 0: the reader whom it was read for does not count.
const AHEAD: u8 = u8::MAX;

/// All frames of a pool. Arrays are by frame, so that scans of one field read few cache lines.
pub(crate) struct Frames {
    start: NonNull<u8>,
    count: usize,
    /// The page in the frame; 0 = none. Written by whom has the frame in hand and the page exclusively.
    page: Box<[AtomicU64]>,
    /// Start of the first record that changed the page since it was last copied for writing; 0 = none. See invariant 4 of the crate.
    first_dirty: Box<[AtomicU64]>,
    /// Lowest `first_dirty` of copies that are not yet known to be on disk; 0 = none. Written under the flush lock.
    writing: Box<[AtomicU64]>,
    /// Uses since the clock last passed. Written only while it is not at its maximum, so a hot page's line stays shared.
    usage: Box<[AtomicU8]>,
    /// Whether the frame stands in the main queue, as the clock last left it. Written under the eviction mutex.
    in_main: Box<[AtomicBool]>,
    _arena: Mapping,
}

// SAFETY: `start` points into `_arena`, which is plain memory; the page latches order the accesses.
unsafe impl Send for Frames {}
// SAFETY: as above.
unsafe impl Sync for Frames {}

fn zeros<T: Default>(count: usize) -> std::io::Result<Box<[T]>> {
    let mut list = Vec::new();
    memory::fallible(|| list.try_reserve_exact(count)).map_err(|_| std::io::ErrorKind::OutOfMemory)?;
    list.resize_with(count, T::default);
    Ok(list.into_boxed_slice())
}

impl Frames {
    pub fn new(count: usize) -> std::io::Result<Frames> {
        assert!(count > 0 && count <= FRAMES_MAX, "{count} frames");
        let arena = Mapping::huge(count * PAGE_BYTES)?;
        Ok(Frames {
            start: arena.aligned_start(),
            count,
            page: zeros(count)?,
            first_dirty: zeros(count)?,
            writing: zeros(count)?,
            usage: zeros(count)?,
            in_main: zeros(count)?,
            _arena: arena,
        })
    }

    pub fn count(&self) -> usize {
        self.count
    }

    #[inline(always)]
    fn pointer(&self, frame: usize) -> *mut u8 {
        assert!(frame < self.count, "frame {frame} of {}", self.count);
        // SAFETY: the arena holds `count` pages from `start` on, and the index is checked above.
        unsafe { self.start.as_ptr().add(frame * PAGE_BYTES) }
    }

    /// The page's bytes.
    ///
    /// # Safety
    /// The caller holds the page's latch, shared or exclusive, for as long as the result lives, and calls [`Frames::bytes_mut`] meanwhile on no
    /// account.
    #[inline(always)]
    pub unsafe fn bytes(&self, frame: usize) -> &[u8] {
        // SAFETY: the memory is mapped and initialised (zero) from `new` to drop; the latch keeps writers out.
        unsafe { std::slice::from_raw_parts(self.pointer(frame), PAGE_BYTES) }
    }

    /// The page's bytes for changing.
    ///
    /// # Safety
    /// The caller holds the page's latch exclusively, or has the frame in hand while no page is in it, for as long as the result lives, and has no other
    /// reference into the frame.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn bytes_mut(&self, frame: usize) -> &mut [u8] {
        // SAFETY: as in `bytes`, and the caller is alone. Optimistic readers may load; `word.rs` says why that is put up with.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(frame), PAGE_BYTES) }
    }

    /// The page's bytes for reading without a latch; see [`RacyBytes`].
    #[inline(always)]
    pub fn racy(&self, frame: usize) -> RacyBytes<'_> {
        // SAFETY: the memory stays mapped as long as `self` and is aligned to 16 KiB; racing stores are put up with, see `word.rs`.
        unsafe { RacyBytes::new(&*self.pointer(frame).cast()) }
    }

    /// Asks the processor for what is known of the frame.
    pub fn bring_near(&self, frame: usize) {
        base::bring_near(&self.first_dirty, frame);
    }

    pub fn page(&self, frame: usize) -> PageNo {
        PageNo(self.page[frame].load(Ordering::Acquire))
    }

    pub fn set_page(&self, frame: usize, page: PageNo) {
        self.page[frame].store(page.0, Ordering::Release);
    }

    /// Notes a use. Lossy on purpose: two threads may count one.
    #[inline(always)]
    pub fn touch(&self, frame: usize) {
        let usage = &self.usage[frame];
        let next = usage.load(Ordering::Relaxed).wrapping_add(1);
        if next <= USAGE_MAX {
            usage.store(next, Ordering::Relaxed);
        }
    }

    /// Notes that somebody came who passes by once. On probation that counts as no use, but what was read ahead was wanted; in the main queue for one at most, so that what
    /// scans come by again and again outlives what nobody comes by.
    #[inline(always)]
    pub fn pass(&self, frame: usize) {
        let usage = &self.usage[frame];
        match usage.load(Ordering::Relaxed) {
            AHEAD => usage.store(u8::from(self.in_main[frame].load(Ordering::Relaxed)), Ordering::Relaxed),
            0 if self.in_main[frame].load(Ordering::Relaxed) => usage.store(1, Ordering::Relaxed),
            _ => {}
        }
    }

    pub fn set_in_main(&self, frame: usize, is: bool) {
        self.in_main[frame].store(is, Ordering::Relaxed);
    }

    /// The page was read ahead.
    pub fn set_ahead(&self, frame: usize) {
        self.usage[frame].store(AHEAD, Ordering::Relaxed);
    }

    /// Whether the page was read ahead and nobody has come for it.
    pub fn is_ahead(&self, frame: usize) -> bool {
        self.usage[frame].load(Ordering::Relaxed) == AHEAD
    }

    /// Uses since the clock last passed; none of a page that was read ahead and not asked for.
    pub fn uses(&self, frame: usize) -> u8 {
        match self.usage[frame].load(Ordering::Relaxed) {
            AHEAD => 0,
            uses => uses,
        }
    }

    /// Takes one use away; false when there was none.
    pub fn untouch(&self, frame: usize) -> bool {
        let usage = &self.usage[frame];
        let now = usage.load(Ordering::Relaxed);
        if now == 0 || now == AHEAD {
            return false;
        }
        usage.store(now - 1, Ordering::Relaxed);
        true
    }

    pub fn set_usage(&self, frame: usize, uses: u8) {
        self.usage[frame].store(uses, Ordering::Relaxed);
    }

    /// Start of the first unwritten change.
    pub fn first_dirty(&self, frame: usize) -> Lsn {
        Lsn(self.first_dirty[frame].load(Ordering::Acquire))
    }

    /// Where the record begins of the oldest change that is not on disk. The caller holds the page exclusively.
    pub fn oldest_change(&self, frame: usize) -> Option<Lsn> {
        let lsns = [&self.first_dirty, &self.writing].map(|of| of[frame].load(Ordering::Acquire));
        lsns.into_iter().filter(|lsn| *lsn != 0).min().map(Lsn)
    }

    /// Notes a change by the record that starts at `start`. The caller holds the page exclusively.
    #[inline]
    pub fn mark_dirty(&self, frame: usize, start: Lsn) {
        let first = &self.first_dirty[frame];
        if first.load(Ordering::Relaxed) == 0 {
            // A log starts past position 0, but a tool may redo from the very start: 0 would read as clean.
            first.store(start.0.max(1), Ordering::Release);
        }
    }

    /// Whether the page differs from its place on disk, or a copy is under way.
    pub fn is_clean(&self, frame: usize) -> bool {
        self.first_dirty(frame).is_none() && self.writing[frame].load(Ordering::Acquire) == 0
    }

    /// Moves `first_dirty` to `writing`. The caller holds the page's latch and the flush lock. A reader of both fields that loads `first_dirty` first
    /// never finds both empty.
    pub fn begin_write(&self, frame: usize) {
        let first = self.first_dirty[frame].load(Ordering::Relaxed);
        let writing = self.writing[frame].load(Ordering::Relaxed);
        // Not empty after a failed write: that image's changes are still not on disk.
        let lowest = if writing == 0 { first } else { writing.min(first) };
        self.writing[frame].store(lowest, Ordering::Release);
        self.first_dirty[frame].store(0, Ordering::Release);
    }

    /// The copy is on disk. The caller holds the flush lock.
    pub fn end_write(&self, frame: usize) {
        self.writing[frame].store(0, Ordering::Release);
    }

    /// The copy is not on disk: the page is dirty as before. `writing` stays, so that no checkpoint passes it until a later write succeeds,
    /// whatever `first_dirty` a racing mini-transaction stores. The caller holds the flush lock.
    pub fn fail_write(&self, frame: usize) {
        let lowest = self.writing[frame].load(Ordering::Relaxed);
        let _ = self.first_dirty[frame].compare_exchange(0, lowest, Ordering::Release, Ordering::Relaxed);
    }

    /// Forgets that the page is dirty: it is discarded. The caller holds the page exclusively and the flush lock.
    pub fn forget_dirty(&self, frame: usize) {
        self.first_dirty[frame].store(0, Ordering::Release);
        self.writing[frame].store(0, Ordering::Release);
    }

    /// Lowest LSN of a change that is not on disk.
    pub fn min_dirty(&self) -> Option<Lsn> {
        let mut lowest = u64::MAX;
        for frame in 0..self.count {
            // In this order; see `begin_write`.
            let first = self.first_dirty[frame].load(Ordering::Acquire);
            let writing = self.writing[frame].load(Ordering::Acquire);
            for lsn in [first, writing] {
                if lsn != 0 {
                    lowest = lowest.min(lsn);
                }
            }
        }
        (lowest != u64::MAX).then_some(Lsn(lowest))
    }

    /// Dirty frames.
    pub fn dirty_count(&self) -> usize {
        self.first_dirty.iter().filter(|lsn| lsn.load(Ordering::Relaxed) != 0).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_of_the_dirty_lsns_misses_nothing_while_a_page_is_written() {
        let frames = Frames::new(2).expect("memory");
        frames.mark_dirty(1, Lsn(50));
        frames.mark_dirty(1, Lsn(70));
        assert_eq!(frames.min_dirty(), Some(Lsn(50)));
        frames.begin_write(1);
        assert_eq!((frames.min_dirty(), frames.is_clean(1)), (Some(Lsn(50)), false));
        frames.mark_dirty(1, Lsn(90));
        frames.fail_write(1);
        assert_eq!(frames.min_dirty(), Some(Lsn(50)), "the failed image is not on disk");
        frames.begin_write(1);
        frames.end_write(1);
        assert_eq!((frames.min_dirty(), frames.is_clean(1)), (None, true));
    }
}
