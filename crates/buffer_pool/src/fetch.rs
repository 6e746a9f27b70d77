//! Bringing a page in, and finding the frame for it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use base::PageNo;
use page_store::StoreError;
use page_store::header::PAGE_HEADER_BYTES;
use sync::{MutexGuard, futex};

use crate::error::PoolError;
use crate::pool::BufferPool;
use crate::replacement::{Replacement, Step};
use crate::word::{self, Acquired};

/// Queue steps under one hold of the eviction mutex.
const STEPS_PER_HOLD: usize = 256;
/// How often a thread in need looks again when nobody tells it of free frames: latches that are released do not.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// For whom a page comes into its frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Somebody wants it.
    Wanted,
    /// Somebody who passes by once.
    Passing,
    /// Nobody yet.
    Ahead,
    /// Nobody yet, but it was in use before the server started anew.
    Kept,
}

/// Outcome of one search for a frame.
enum Search {
    Found(usize),
    /// All that could go is dirty or latched.
    Stuck,
}

impl BufferPool {
    /// Reads a page that the caller claimed. On success the page is in the returned frame, latched exclusively; on error the claim is given up.
    /// For somebody who passes by once when `passing`.
    pub(crate) fn load_claimed(&self, cell: &AtomicU64, page: PageNo, passing: bool) -> Result<usize, PoolError> {
        let arrival = if passing { Arrival::Passing } else { Arrival::Wanted };
        self.fill_claimed(cell, page, arrival, |buffer| {
            self.stats.reads.fetch_add(1, Ordering::Relaxed);
            self.store().read(page, buffer)
        })
    }

    /// Gives a claimed page a frame without reading it. Its header is zero, which marks it as not set.
    pub(crate) fn place_claimed(&self, cell: &AtomicU64, page: PageNo) -> Result<usize, PoolError> {
        self.fill_claimed(cell, page, Arrival::Wanted, |buffer| {
            buffer[..PAGE_HEADER_BYTES].fill(0);
            Ok(())
        })
    }

    /// Takes an exclusively latched, clean page whose frame does not hold what is on disk out of memory, and releases it. The frame stays in its queue.
    pub(crate) fn drop_unread(&self, cell: &AtomicU64, page: PageNo, frame: usize) {
        assert!(self.frames().is_clean(frame), "page {page} was changed");
        self.vacate(cell, page, frame);
    }

    /// Reads a claimed page for redo: one that was never written, was punched out or is broken comes as zeros.
    pub(crate) fn load_claimed_or_zero(&self, cell: &AtomicU64, page: PageNo) -> Result<usize, PoolError> {
        self.fill_claimed(cell, page, Arrival::Wanted, |buffer| {
            self.stats.reads.fetch_add(1, Ordering::Relaxed);
            match self.store().read(page, buffer) {
                Err(
                    StoreError::Unwritten { .. }
                    | StoreError::Checksum { .. }
                    | StoreError::Misdirected { .. }
                    | StoreError::Stale { .. }
                    | StoreError::Behind { .. }
                    | StoreError::Ahead { .. },
                ) => {
                    buffer.fill(0);
                    Ok(())
                }
                other => other,
            }
        })
    }

    fn fill_claimed(
        &self,
        cell: &AtomicU64,
        page: PageNo,
        arrival: Arrival,
        fill: impl FnOnce(&mut [u8]) -> Result<(), StoreError>,
    ) -> Result<usize, PoolError> {
        self.stats.misses.fetch_add(1, Ordering::Relaxed);
        let frame = match self.take_frame() {
            Ok(frame) => frame,
            Err(error) => {
                word::release_exclusive(cell, page.0, self.lot(), false);
                return Err(error);
            }
        };
        debug_assert!(self.frames().is_clean(frame));
        word::before_filling::<AtomicU64>();
        // SAFETY: `take_frame` put the frame in this thread's hand and no page is in it.
        let filled = fill(unsafe { self.frames().bytes_mut(frame) });
        if let Err(error) = filled {
            self.replacement.lock().put_free(frame);
            word::release_exclusive(cell, page.0, self.lot(), false);
            return Err(error.into());
        }
        self.install(cell, page, frame, arrival);
        Ok(frame)
    }

    /// A page arrives: its bytes are in a frame that this thread has in hand, and it is claimed. It stays latched exclusively.
    pub(crate) fn install(&self, cell: &AtomicU64, page: PageNo, frame: usize, arrival: Arrival) {
        match arrival {
            Arrival::Wanted | Arrival::Passing | Arrival::Kept => self.frames().set_usage(frame, 0),
            Arrival::Ahead => self.frames().set_ahead(frame),
        }
        self.frames().set_page(frame, page);
        word::set_frame(cell, frame);
        // From here on the clock sees the frame.
        let mut queues = self.replacement.lock();
        match arrival {
            Arrival::Kept => queues.kept(self.frames(), frame),
            other => queues.loaded(self.frames(), frame, page, other == Arrival::Wanted),
        }
    }

    /// A page departs, which the caller has latched exclusively and which is clean: the latch is released. The word first, then the frame: who finds no page in the
    /// frame may fill it, and readers of the old page must learn of it by the word.
    fn vacate(&self, cell: &AtomicU64, page: PageNo, frame: usize) {
        word::release_evicted(cell, page.0, self.lot());
        self.frames().set_page(frame, PageNo::NONE);
    }

    /// A frame with nothing in it, in the caller's hand.
    fn take_frame(&self) -> Result<usize, PoolError> {
        let mut deadline = None;
        let mut failure = None;
        loop {
            let epoch = self.freed.load(Ordering::Acquire);
            if let Some(frame) = self.try_take_frame() {
                return Ok(frame);
            }
            let now = Instant::now();
            if deadline.is_none() {
                self.stats.frame_waits.fetch_add(1, Ordering::Relaxed);
            }
            let deadline = *deadline.get_or_insert(now + self.config().frame_wait);
            if now >= deadline {
                return Err(failure.unwrap_or(PoolError::NoFrames));
            }
            self.wake_cleaner();
            // Whoever comes first writes, the cleaner or a thread in need; the others wait for its batch.
            let progress = match self.flush_wanted_now() {
                // A page that cannot be written is not what this thread is after: others may go, and be it none is told in the end.
                Err(error @ PoolError::Store(StoreError::NoSpace | StoreError::Io(_))) => {
                    failure = Some(error);
                    false
                }
                other => other?,
            };
            if !progress {
                futex::wait(&self.freed, epoch, Some(deadline.min(now + LOOK_AGAIN)));
            }
        }
    }

    /// The same when one can be had without writing a page.
    pub(crate) fn try_take_frame(&self) -> Option<usize> {
        match self.search_frame() {
            Search::Found(frame) => Some(frame),
            Search::Stuck => None,
        }
    }

    fn search_frame(&self) -> Search {
        let mut since_progress = 0;
        // A frame can be passed as often as it has uses, and each pass takes one.
        let mut steps_left = 5 * self.frames().count() + STEPS_PER_HOLD;
        while steps_left > 0 {
            let mut queues = self.replacement.lock();
            for _ in 0..STEPS_PER_HOLD.min(steps_left) {
                steps_left -= 1;
                match queues.step(self.frames()) {
                    Step::Free(frame) => {
                        self.ask_for_cleaning(queues);
                        return Search::Found(frame);
                    }
                    Step::Nothing => return Search::Stuck,
                    Step::Passed => since_progress = 0,
                    Step::Dirty => since_progress += 1,
                    Step::Candidate(frame) => match self.try_evict(frame) {
                        Some(page) => {
                            queues.evicted(page);
                            self.ask_for_cleaning(queues);
                            return Search::Found(frame);
                        }
                        None => {
                            queues.give_back(self.frames(), frame);
                            since_progress += 1;
                        }
                    },
                }
                if since_progress > queues.queued().min(8 * STEPS_PER_HOLD) {
                    return Search::Stuck;
                }
            }
        }
        Search::Stuck
    }

    /// Lets the cleaner begin before somebody finds no clean frame.
    fn ask_for_cleaning(&self, queues: MutexGuard<'_, Replacement>) {
        let ask = queues.wants_cleaning();
        drop(queues);
        // Once: it forgets that it was asked when it begins.
        if ask && !self.cleaner_asked.load(Ordering::Relaxed) && !self.cleaner_asked.swap(true, Ordering::AcqRel) {
            self.wake_cleaner();
        }
    }

    /// Evicts clean pages that are not in use until the reserve of free frames is full, and puts dirty ones on the list of those wanted clean.
    /// Ends early when that list is full of them, or nothing can go. Returns whether frames became free.
    pub(crate) fn fill_reserve(&self) -> bool {
        let (mut freed, mut fruitless) = (false, 0);
        loop {
            let mut queues = self.replacement.lock();
            for _ in 0..STEPS_PER_HOLD {
                if queues.free_count() >= queues.reserve() || queues.wanted_is_full() || fruitless > queues.queued() {
                    return freed;
                }
                fruitless += 1;
                match queues.step_queued(self.frames()) {
                    Step::Free(frame) => {
                        queues.put_free(frame);
                        (freed, fruitless) = (true, 0);
                    }
                    Step::Candidate(frame) => match self.try_evict(frame) {
                        Some(page) => {
                            queues.evicted(page);
                            queues.put_free(frame);
                            (freed, fruitless) = (true, 0);
                        }
                        None => queues.give_back(self.frames(), frame),
                    },
                    Step::Passed | Step::Dirty => {}
                    Step::Nothing => return freed,
                }
            }
        }
    }

    /// Takes the page out of a frame in the caller's hand, if it is clean and nobody latches it. Returns the page that was there.
    pub(crate) fn try_evict(&self, frame: usize) -> Option<PageNo> {
        let page = self.frames().page(frame);
        let cell = self.cell(page).ok()?;
        let Acquired::Held(_, held) = word::try_exclusive(cell) else { return None };
        // Under the latch nobody dirties the page. The frame is in this thread's hand, so the page can be nowhere else; a page just being
        // loaded into it is latched by its loader.
        if held != frame || !self.frames().is_clean(frame) {
            word::release_exclusive(cell, page.0, self.lot(), false);
            return None;
        }
        if self.frames().is_ahead(frame) {
            self.stats.reads_ahead_evicted.fetch_add(1, Ordering::Relaxed);
        }
        self.vacate(cell, page, frame);
        self.stats.evictions.fetch_add(1, Ordering::Relaxed);
        Some(page)
    }

    /// Tells threads in need that frames may be had.
    pub(crate) fn announce_freed(&self) {
        self.freed.fetch_add(1, Ordering::Release);
        futex::wake(&self.freed, u32::MAX);
    }

    /// Forgets pages that are free by a durable record: their changes need not reach the disk, and no write of them is under way when this
    /// returns. Nobody may use them meanwhile. Frames still queued are found empty by the clock.
    pub fn discard(&self, first: PageNo, count: u64) -> Result<(), PoolError> {
        for page in (first.0..first.0.saturating_add(count)).map(PageNo) {
            let cell = self.cell(page)?;
            loop {
                let flusher = self.flusher.lock();
                match word::try_exclusive(cell) {
                    Acquired::Held(_, frame) => {
                        self.frames().forget_dirty(frame);
                        self.vacate(cell, page, frame);
                        break;
                    }
                    Acquired::Absent => break,
                    Acquired::Busy => {
                        // A straggler looks at the page before it learns that it is free. Wait without the flush lock.
                        drop(flusher);
                        if let Acquired::Held(..) = word::exclusive(cell, page.0, self.lot(), None) {
                            word::release_exclusive(cell, page.0, self.lot(), false);
                        }
                    }
                }
            }
        }
        Ok(())
    }
}
