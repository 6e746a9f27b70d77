//! The table word of a page: where the page is and who latches it, in 64 bits, and the hybrid latch made of it.
//!
//! | bits | field |
//! |---|---|
//! | 0..14 | count of shared holders (at most 16,383; a thread holds a page once, so 10,000 threads fit) |
//! | 14 | exclusive: one thread changes, loads or evicts the page |
//! | 15 | waiters: some thread is parked for this page, a release must look |
//! | 16..42 | frame number + 1; 0 = not in memory (2^26 frames of 16 KiB: a pool of up to 1 TiB) |
//! | 42..64 | version; grows with every release after a change and with every eviction, survives eviction, wraps |
//!
//! # Optimistic reads
//! A reader loads the word (acquire), refuses while it is exclusive or absent, reads the frame through relaxed atomic loads, then issues an
//! acquire fence and loads the word again. Equal frame and version and no exclusive bit mean nothing was written in between:
//! a writer sets the exclusive bit and issues a release fence *before* its first store. If any load of the reader returned such a
//! store, the reader's acquire fence synchronizes with that release fence, hence the second load of the word sees the exclusive bit or a
//! later state, which differs in the bit or in the version. A load that saw a store of the writer *before* (ordered by the version read
//! with acquire, paired with the release at unlock) is what the reader wants. A frame that a page has left is
//! filled for another one by a thread that has taken it since: the old page's word was changed before its frame could be taken (`BufferPool::vacate`), by a mutex
//! or the frame's page number the taker knows of that, and issues a release fence ([`before_filling`]) before its first store: the same pairing. The
//! other page's claim is no such fence: it may come long before the frame is taken. The frame's memory stays mapped for
//! the life of the pool, so a read that loses the race reads garbage, never unmapped memory, and `validate` discards it.
//!
//! The writer's stores are plain, as page code works on `&mut [u8]`. In the letter of the memory model a plain store racing with an
//! atomic load is undefined; it is the one known departure, the one every sequence lock over plain data makes: loads are never torn below
//! their size in effect (single machine moves), and no racing value is used. `tests` hold a loom model of the protocol with atomic data.
//!
//! The version has 22 bits. A reader is deceived only if exactly k·2^22 changes of the same page fall inside one optimistic section, which
//! is a few loads: over 0.5 s of nothing but changes of that one page while the reader is suspended, and then the very residue.
//!
//! # Waiting
//! A thread that finds the latch taken spins a few pauses, then sets the waiters bit and parks (`park.rs`). A release that leaves the latch
//! free and sees the bit wakes the first waiter, or all readers up to the first writer; those who only wait to look (optimistically) are woken on
//! the way, for they take no latch whose release would wake the next. The woken thread competes again (no hand-over: the
//! latch is not idle while a thread is being scheduled).
//!
//! The release that wakes also clears the waiters bit, though others may still be parked: until the woken thread runs, releases wake nobody else. With
//! many more threads than cores the latch changes hands often in that time, and each wake-up would cost two context switches for a thread that finds
//! the latch taken. The woken thread is told that others are parked, and answers for them: it sets the bit when it takes the latch or parks again (then at
//! the head of the queue), and wakes them when the page is gone. Readers that find the bit set while readers hold the latch queue behind the
//! waiting writer, but at most for [`READER_PATIENCE`], so that a thread that (against the rules) latches a page twice only slows down.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// One shared holder.
const SHARED_ONE: u64 = 1;
const SHARED_MASK: u64 = (1 << 14) - 1;
const EXCLUSIVE: u64 = 1 << 14;
const WAITERS: u64 = 1 << 15;
const FRAME_SHIFT: u32 = 16;
const FRAME_BITS: u32 = 26;
const FRAME_MASK: u64 = ((1 << FRAME_BITS) - 1) << FRAME_SHIFT;
const VERSION_ONE: u64 = 1 << 42;
const VERSION_MASK: u64 = !(VERSION_ONE - 1);

/// Frames that the word can number.
pub(crate) const FRAMES_MAX: usize = (1 << FRAME_BITS) - 1;

/// Pauses before parking. Latches are held for about a microsecond; on a machine with fewer cores than runnable threads the holder is
/// likely not running, so more would be waste.
const SPIN_PAUSES: u32 = 12;

/// How long a reader queues behind a waiting writer while readers hold the latch.
pub(crate) const READER_PATIENCE: Duration = Duration::from_millis(2);

/// The atomic operations that the latch needs; std's in the server, loom's in the model.
pub(crate) trait Cell {
    fn load(&self, order: Ordering) -> u64;
    fn exchange(&self, current: u64, new: u64, success: Ordering) -> Result<u64, u64>;
    fn add(&self, value: u64, order: Ordering) -> u64;
    fn clear(&self, bits: u64, order: Ordering) -> u64;
    fn fence(order: Ordering);
    fn pauses() -> u32;
    fn pause();
}

impl Cell for std::sync::atomic::AtomicU64 {
    #[inline(always)]
    fn load(&self, order: Ordering) -> u64 {
        self.load(order)
    }
    #[inline(always)]
    fn exchange(&self, current: u64, new: u64, success: Ordering) -> Result<u64, u64> {
        self.compare_exchange(current, new, success, Ordering::Relaxed)
    }
    #[inline(always)]
    fn add(&self, value: u64, order: Ordering) -> u64 {
        self.fetch_add(value, order)
    }
    #[inline(always)]
    fn clear(&self, bits: u64, order: Ordering) -> u64 {
        self.fetch_and(!bits, order)
    }
    #[inline(always)]
    fn fence(order: Ordering) {
        std::sync::atomic::fence(order);
    }
    #[inline(always)]
    fn pauses() -> u32 {
        SPIN_PAUSES
    }
    #[inline(always)]
    fn pause() {
        std::hint::spin_loop();
    }
}

/// What a parked thread wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    /// Only the end of an exclusive section. Such a thread takes no latch, so no release of its own follows: whoever wakes it wakes the next
    /// waiter too.
    Look,
    /// The latch shared.
    Shared,
    /// The latch alone.
    Exclusive,
}

/// Why a parked thread runs again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parked {
    /// The state had changed before it slept.
    Retry,
    /// A release chose it.
    Chosen {
        /// Others were left parked and depend on it.
        others: bool,
    },
    /// The deadline passed.
    TimedOut,
}

/// Where threads sleep; one queue per key, each under a bucket's mutex.
pub(crate) trait Park {
    /// Sleeps until chosen, if `still_blocked` (called under the bucket's mutex) holds; `again` for a thread that was chosen before and goes to the head of
    /// the queue. `alone` is called under the mutex when this thread
    /// gives up at its deadline and nobody else waits for the key.
    fn park(
        &self,
        key: u64,
        want: Want,
        again: bool,
        deadline: Option<Instant>,
        still_blocked: impl FnOnce() -> bool,
        alone: impl FnOnce(),
    ) -> Parked;
    /// Wakes the first waiter, or all readers up to the first writer, those that only look not counted; `clear` is called under the mutex.
    fn unpark(&self, key: u64, clear: impl FnOnce());
}

/// A value of the word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word(pub u64);

impl Word {
    /// The frame that holds the page.
    #[inline(always)]
    pub fn frame(self) -> Option<usize> {
        (((self.0 & FRAME_MASK) >> FRAME_SHIFT) as usize).checked_sub(1)
    }

    #[inline(always)]
    pub fn is_exclusive(self) -> bool {
        self.0 & EXCLUSIVE != 0
    }

    #[inline(always)]
    pub fn shared_count(self) -> u64 {
        self.0 & SHARED_MASK
    }

    #[inline(always)]
    fn has_waiters(self) -> bool {
        self.0 & WAITERS != 0
    }

    /// In memory and not exclusive.
    #[inline(always)]
    fn is_readable(self) -> bool {
        self.0 & EXCLUSIVE == 0 && self.0 & FRAME_MASK != 0
    }

    /// Not in memory and nobody loads it.
    #[inline(always)]
    fn is_absent(self) -> bool {
        self.0 & (EXCLUSIVE | FRAME_MASK) == 0
    }

    /// Same content as at `earlier`, a readable word.
    #[inline(always)]
    pub fn same_content(self, earlier: Word) -> bool {
        (self.0 ^ earlier.0) & (VERSION_MASK | FRAME_MASK | EXCLUSIVE) == 0
    }
}

impl std::fmt::Debug for Word {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Word")
            .field("frame", &self.frame())
            .field("shared", &self.shared_count())
            .field("exclusive", &self.is_exclusive())
            .field("waiters", &self.has_waiters())
            .field("version", &(self.0 >> VERSION_MASK.trailing_zeros()))
            .finish()
    }
}

/// Outcome of asking for a latch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Acquired {
    /// Held; the page is in this frame. The word is as it was before: it names the version.
    Held(Word, usize),
    /// The page is not in memory.
    Absent,
    /// Taken by others: `try_` gave up, or the deadline passed.
    Busy,
}

/// One attempt to latch shared; the hot path. `None` means: look closer.
#[inline(always)]
pub(crate) fn try_shared_fast(cell: &impl Cell) -> Option<Word> {
    let w = Word(cell.load(Ordering::Relaxed));
    if w.0 & (EXCLUSIVE | WAITERS) == 0 && w.0 & FRAME_MASK != 0 && w.shared_count() < SHARED_MASK {
        // Acquire: pairs with the release of the last writer, and with the load of the page into its frame.
        cell.exchange(w.0, w.0 + SHARED_ONE, Ordering::Acquire).ok().map(Word)
    } else {
        None
    }
}

/// One attempt to latch exclusively; the hot path.
#[inline(always)]
pub(crate) fn try_exclusive_fast<C: Cell>(cell: &C) -> Option<Word> {
    let w = Word(cell.load(Ordering::Relaxed));
    if w.0 & (EXCLUSIVE | SHARED_MASK) == 0 && w.0 & FRAME_MASK != 0 {
        let won = cell.exchange(w.0, w.0 | EXCLUSIVE, Ordering::Acquire).ok()?;
        // Stores into the page must not be seen before the exclusive bit; see "Optimistic reads".
        C::fence(Ordering::Release);
        Some(Word(won))
    } else {
        None
    }
}

/// The word for an optimistic read, if the page is in memory and nobody changes it.
#[inline(always)]
pub(crate) fn peek(cell: &impl Cell) -> Option<Word> {
    let w = Word(cell.load(Ordering::Acquire));
    w.is_readable().then_some(w)
}

/// Whether what was read since `earlier` (from [`peek`]) is one consistent state.
#[inline(always)]
pub(crate) fn validate<C: Cell>(cell: &C, earlier: Word) -> bool {
    C::fence(Ordering::Acquire);
    Word(cell.load(Ordering::Relaxed)).same_content(earlier)
}

/// Latches shared without waiting; passes over a waiting writer.
pub(crate) fn try_shared(cell: &impl Cell) -> Acquired {
    let mut w = Word(cell.load(Ordering::Relaxed));
    loop {
        if w.is_absent() {
            return Acquired::Absent;
        }
        let Some(frame) = w.frame().filter(|_| !w.is_exclusive() && w.shared_count() < SHARED_MASK) else { return Acquired::Busy };
        match cell.exchange(w.0, w.0 + SHARED_ONE, Ordering::Acquire) {
            Ok(before) => return Acquired::Held(Word(before), frame),
            Err(now) => w = Word(now),
        }
    }
}

/// Latches exclusively without waiting.
pub(crate) fn try_exclusive<C: Cell>(cell: &C) -> Acquired {
    let mut w = Word(cell.load(Ordering::Relaxed));
    loop {
        if w.is_absent() {
            return Acquired::Absent;
        }
        let Some(frame) = w.frame().filter(|_| !w.is_exclusive() && w.shared_count() == 0) else { return Acquired::Busy };
        match cell.exchange(w.0, w.0 | EXCLUSIVE, Ordering::Acquire) {
            Ok(before) => {
                C::fence(Ordering::Release);
                return Acquired::Held(Word(before), frame);
            }
            Err(now) => w = Word(now),
        }
    }
}

/// Waits until the latch is free of what `blocked` names, then lets `take` try. The common loop of all waits.
fn wait_for<C: Cell>(
    cell: &C,
    key: u64,
    park: &impl Park,
    want: Want,
    deadline: Option<Instant>,
    blocked: impl Fn(Word, bool) -> bool,
    take: impl Fn(Word) -> Option<u64>,
) -> Acquired {
    let mut pauses = C::pauses();
    // A reader defers to a waiting writer once; after that only to a holder.
    let mut polite = true;
    // Chosen by a release, and whether others were left parked then. Once set it stays: a waiters bit too much costs one look at the queue.
    let (mut chosen, mut answers_for_others) = (false, false);
    let mut w = Word(cell.load(Ordering::Acquire));
    loop {
        if w.is_absent() {
            if answers_for_others {
                wake(cell, key, park);
            }
            return Acquired::Absent;
        }
        // A page without a frame is absent or being loaded, and all wait for that.
        if let Some(frame) = w.frame().filter(|_| !blocked(w, polite)) {
            let Some(next) = take(w) else {
                // `w` may come from a failed exchange, a relaxed load.
                C::fence(Ordering::Acquire);
                return Acquired::Held(w, frame);
            };
            let next = if answers_for_others { next | WAITERS } else { next };
            match cell.exchange(w.0, next, Ordering::Acquire) {
                Ok(before) => {
                    if want == Want::Exclusive {
                        C::fence(Ordering::Release);
                    }
                    return Acquired::Held(Word(before), frame);
                }
                Err(now) => {
                    w = Word(now);
                    continue;
                }
            }
        }
        if pauses > 0 {
            pauses -= 1;
            C::pause();
            w = Word(cell.load(Ordering::Acquire));
            continue;
        }
        if !w.has_waiters()
            && let Err(now) = cell.exchange(w.0, w.0 | WAITERS, Ordering::Relaxed)
        {
            w = Word(now);
            continue;
        }
        let held = blocked(w, false);
        let patience = if held { None } else { Some(Instant::now() + READER_PATIENCE) };
        let until = match (deadline, patience) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let still_blocked = || {
            let now = Word(cell.load(Ordering::Relaxed));
            now.has_waiters() && !now.is_absent() && blocked(now, polite)
        };
        let alone = || {
            cell.clear(WAITERS, Ordering::Relaxed);
        };
        let parked = park.park(key, want, chosen, until, still_blocked, alone);
        if let Parked::Chosen { others } = parked {
            chosen = true;
            answers_for_others |= others;
        }
        if parked == Parked::TimedOut && (patience.is_none() || deadline.is_some_and(|d| d <= Instant::now())) {
            return Acquired::Busy;
        }
        polite = false;
        w = Word(cell.load(Ordering::Acquire));
    }
}

/// Latches shared, waiting for a writer.
#[cold]
pub(crate) fn shared<C: Cell>(cell: &C, key: u64, park: &impl Park, deadline: Option<Instant>) -> Acquired {
    let blocked =
        |w: Word, polite: bool| w.is_exclusive() || w.shared_count() == SHARED_MASK || (polite && w.has_waiters() && w.shared_count() > 0);
    wait_for(cell, key, park, Want::Shared, deadline, blocked, |w| Some(w.0 + SHARED_ONE))
}

/// Latches exclusively, waiting for everybody.
#[cold]
pub(crate) fn exclusive<C: Cell>(cell: &C, key: u64, park: &impl Park, deadline: Option<Instant>) -> Acquired {
    let blocked = |w: Word, _: bool| w.is_exclusive() || w.shared_count() > 0;
    wait_for(cell, key, park, Want::Exclusive, deadline, blocked, |w| Some(w.0 | EXCLUSIVE))
}

/// Waits until nobody changes or loads the page, without latching it.
#[cold]
pub(crate) fn readable<C: Cell>(cell: &C, key: u64, park: &impl Park, deadline: Option<Instant>) -> Acquired {
    wait_for(cell, key, park, Want::Look, deadline, |w: Word, _: bool| w.is_exclusive(), |_| None)
}

/// Claims an absent page for loading: exclusive, no frame. False when another thread was faster.
pub(crate) fn claim_absent(cell: &impl Cell) -> bool {
    let w = Word(cell.load(Ordering::Relaxed));
    w.is_absent() && cell.exchange(w.0, w.0 | EXCLUSIVE, Ordering::Acquire).is_ok()
}

/// Between taking a frame and the first store into it: readers of the page that it held before must find that page's word changed.
#[inline(always)]
pub(crate) fn before_filling<C: Cell>() {
    C::fence(Ordering::Release);
}

/// Gives a claimed page its frame; the latch stays exclusive.
pub(crate) fn set_frame(cell: &impl Cell, frame: usize) {
    assert!(frame < FRAMES_MAX);
    let before = Word(cell.add((frame as u64 + 1) << FRAME_SHIFT, Ordering::Relaxed));
    assert!(before.is_exclusive() && before.frame().is_none(), "page has a frame already: {before:?}");
}

/// Takes the frame away from an exclusively latched page and releases the latch; the version grows.
pub(crate) fn release_evicted(cell: &impl Cell, key: u64, park: &impl Park) {
    let w = Word(cell.load(Ordering::Relaxed));
    debug_assert!(w.is_exclusive());
    let before = Word(cell.add(VERSION_ONE.wrapping_sub(w.0 & FRAME_MASK).wrapping_sub(EXCLUSIVE), Ordering::Release));
    if before.has_waiters() {
        wake(cell, key, park);
    }
}

/// Ends a shared latch.
#[inline(always)]
pub(crate) fn release_shared(cell: &impl Cell, key: u64, park: &impl Park) {
    // Release: the reads of this holder are over before a writer, acquiring, starts to store.
    let before = Word(cell.add(SHARED_ONE.wrapping_neg(), Ordering::Release));
    debug_assert!(before.shared_count() > 0, "release of a latch that is not held: {before:?}");
    if before.has_waiters() && before.shared_count() == 1 {
        wake(cell, key, park);
    }
}

/// Ends an exclusive latch. `changed` grows the version; without it optimistic readers that began before stay valid.
#[inline(always)]
pub(crate) fn release_exclusive(cell: &impl Cell, key: u64, park: &impl Park, changed: bool) {
    if release_exclusive_silently(cell, changed) {
        wake(cell, key, park);
    }
}

/// The same without waking anybody: true when the caller is to [`wake`] afterwards.
#[inline(always)]
#[must_use]
pub(crate) fn release_exclusive_silently(cell: &impl Cell, changed: bool) -> bool {
    let step = if changed { VERSION_ONE } else { 0 };
    let before = Word(cell.add(step.wrapping_sub(EXCLUSIVE), Ordering::Release));
    debug_assert!(before.is_exclusive(), "release of a latch that is not held: {before:?}");
    before.has_waiters()
}

/// Turns an exclusive latch into a shared one without letting a writer in between.
pub(crate) fn downgrade(cell: &impl Cell, key: u64, park: &impl Park, changed: bool) {
    let step = if changed { VERSION_ONE } else { 0 };
    let before = Word(cell.add(step.wrapping_sub(EXCLUSIVE).wrapping_add(SHARED_ONE), Ordering::Release));
    debug_assert!(before.is_exclusive());
    if before.has_waiters() {
        wake(cell, key, park);
    }
}

/// Wakes who waits for a latch that was released.
#[cold]
pub(crate) fn wake(cell: &impl Cell, key: u64, park: &impl Park) {
    // Under the mutex: who sets the bit after this finds the queue as it is, or is found in it.
    park.unpark(key, || {
        cell.clear(WAITERS, Ordering::Relaxed);
    });
}

#[cfg(test)]
#[path = "word_loom.rs"]
mod loom_model;
