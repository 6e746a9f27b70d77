//! Which frame is given up: a small probation queue in front of a clock (after S3-FIFO), so that a scan passes through without pushing out the hot set.
//!
//! A page enters the probation queue. At its head, used again since: it moves to the main queue; not used: it is evicted and remembered as a
//! ghost. A page that is read again while a ghost enters the main queue at once. The main queue is a clock: each pass takes one use away, a page
//! without uses is evicted. A page that would be evicted but is dirty goes to `wanted`, which the cleaner (or a thread in need) writes out.
//!
//! What a scan reads again while a ghost has no such claim, or a scan that is repeated would drive out what is in use. It takes one use from the page that the clock
//! comes to, and that page's place only if it had none: so a table that is read over and over comes to stay where others are not used, and is let go of where they are.
//!
//! Each frame is in exactly one of: free, probation, main, wanted, or the hand of one thread.

use std::collections::VecDeque;

use base::PageNo;

use crate::frames::Frames;

/// The queues; under the pool's eviction mutex.
pub(crate) struct Replacement {
    free: Vec<u32>,
    probation: VecDeque<u32>,
    main: VecDeque<u32>,
    wanted: Vec<u32>,
    wanted_max: usize,
    reserve: usize,
    /// Fingerprints of recently evicted pages, one per slot of a hash; a newer one overwrites, which ages them.
    ghosts: Box<[u32]>,
}

/// What one look at the head of a queue gave.
pub(crate) enum Step {
    /// Free, nothing in it: take it.
    Free(usize),
    /// Not used and clean: the caller tries to evict it, then calls `evicted` or `give_back`.
    Candidate(usize),
    /// Used since; moved on.
    Passed,
    /// Unused but dirty; moved to `wanted` or on.
    Dirty,
    /// All frames are in other hands.
    Nothing,
}

/// Share of the pool that the probation queue keeps: one in this many.
const PROBATION_SHARE: usize = 10;

/// Share of the pool that the cleaner keeps free: one frame in this many.
const RESERVE_SHARE: usize = 64;
/// Most frames that it keeps free.
const RESERVE_MAX: usize = 1024;

impl Replacement {
    pub fn new(frames: usize) -> Replacement {
        Replacement {
            free: (0..frames as u32).rev().collect(),
            probation: VecDeque::with_capacity(frames),
            main: VecDeque::with_capacity(frames),
            wanted: Vec::with_capacity(frames.min(256)),
            wanted_max: (frames / 4).clamp(1, 256),
            reserve: (frames / RESERVE_SHARE).min(RESERVE_MAX),
            ghosts: vec![0; frames.next_power_of_two()].into(),
        }
    }

    fn ghost_slot(&self, page: PageNo) -> (usize, u32) {
        let hash = page.0.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        ((hash >> 32) as usize & (self.ghosts.len() - 1), (page.0 as u32).wrapping_add(1).max(1))
    }

    /// Queues a frame that a page was just loaded into; `wanted` by somebody who does not pass by.
    pub fn loaded(&mut self, frames: &Frames, frame: usize, page: PageNo, wanted: bool) {
        let (slot, tag) = self.ghost_slot(page);
        if self.ghosts[slot] == tag && (wanted || self.main_gives_way(frames)) {
            self.ghosts[slot] = 0;
            self.put_main(frames, frame);
            if !wanted && !frames.is_ahead(frame) {
                // For this coming by, which for a page that is read ahead is still to come. Without a use it would be gone at the clock's next turn, before the scan comes by again, and each of its pages would drive out another.
                frames.pass(frame);
            }
        } else {
            self.put_probation(frames, frame);
        }
    }

    /// One turn of the clock: whether the page that it comes to had no use left. That one goes to the head of the probation queue, as the next to be evicted.
    fn main_gives_way(&mut self, frames: &Frames) -> bool {
        let Some(frame) = self.main.pop_front() else { return true };
        let is_used = frames.untouch(frame as usize);
        if is_used {
            self.main.push_back(frame);
        } else {
            frames.set_in_main(frame as usize, false);
            self.probation.push_front(frame);
        }
        !is_used
    }

    fn put_main(&mut self, frames: &Frames, frame: usize) {
        frames.set_in_main(frame, true);
        self.main.push_back(frame as u32);
    }

    fn put_probation(&mut self, frames: &Frames, frame: usize) {
        frames.set_in_main(frame, false);
        self.probation.push_back(frame as u32);
    }

    /// Queues a frame with a page that was in use when the server ran last. It was judged then, so it is not on probation again; pages come with those that were in
    /// use most first, so each goes before those that came earlier.
    pub fn kept(&mut self, frames: &Frames, frame: usize) {
        frames.set_in_main(frame, true);
        self.main.push_front(frame as u32);
    }

    /// A free frame that the cleaner does not keep in reserve: to take it makes nobody give up a page.
    pub fn take_spare(&mut self) -> Option<usize> {
        if self.free.len() <= self.reserve {
            return None;
        }
        self.free.pop().map(|frame| frame as usize)
    }

    /// Looks at one frame.
    pub fn step(&mut self, frames: &Frames) -> Step {
        match self.free.pop() {
            Some(frame) => Step::Free(frame as usize),
            None => self.step_queued(frames),
        }
    }

    /// Looks at one frame that is not free.
    pub fn step_queued(&mut self, frames: &Frames) -> Step {
        let from_probation = self.probation.len() > frames.count() / PROBATION_SHARE || self.main.is_empty();
        let Some(frame) = (if from_probation { self.probation.pop_front() } else { self.main.pop_front() }) else { return Step::Nothing };
        let index = frame as usize;
        if frames.page(index).is_none() {
            return Step::Free(index); // discarded where it stood
        }
        if from_probation && frames.untouch(index) {
            frames.set_usage(index, 0);
            self.put_main(frames, index);
            return Step::Passed;
        }
        if !from_probation && frames.untouch(index) {
            self.main.push_back(frame);
            return Step::Passed;
        }
        if !frames.is_clean(index) {
            if self.wanted.len() < self.wanted_max {
                self.wanted.push(frame);
            } else {
                self.put_main(frames, index);
            }
            return Step::Dirty;
        }
        Step::Candidate(index)
    }

    /// The candidate was evicted; the caller keeps the frame.
    pub fn evicted(&mut self, page: PageNo) {
        let (slot, tag) = self.ghost_slot(page);
        self.ghosts[slot] = tag;
    }

    /// The candidate could not be evicted: it is latched, so it is in use.
    pub fn give_back(&mut self, frames: &Frames, frame: usize) {
        self.put_main(frames, frame);
    }

    /// A frame with nothing in it.
    pub fn put_free(&mut self, frame: usize) {
        self.free.push(frame as u32);
    }

    /// Hands out the dirty frames that are wanted clean; the caller returns each by `give_back` or `put_free`.
    pub fn take_wanted(&mut self, out: &mut Vec<u32>) {
        out.append(&mut self.wanted);
    }

    /// Whether so many dirty frames are wanted, or so few are free, that the cleaner should not wait for its round.
    pub fn wants_cleaning(&self) -> bool {
        self.wanted.len() >= self.wanted_max.div_ceil(4) || self.free.len() < self.reserve / 2
    }

    /// Free frames that the cleaner keeps in reserve, so that whoever reads a page has where to put it.
    pub fn reserve(&self) -> usize {
        self.reserve
    }

    pub fn wanted_is_full(&self) -> bool {
        self.wanted.len() >= self.wanted_max
    }

    pub fn has_wanted(&self) -> bool {
        !self.wanted.is_empty()
    }

    pub fn free_count(&self) -> usize {
        self.free.len()
    }

    /// Frames in any queue; used to bound a search.
    pub fn queued(&self) -> usize {
        self.free.len() + self.probation.len() + self.main.len()
    }
}
