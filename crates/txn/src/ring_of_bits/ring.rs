//! Ids and who of them has finished: the ring of bits, the list of long transactions, and the counters that order it all.
//!
//! # The ring
//! One bit per id, set when the transaction has finished. The ring holds the ids of the window `[ring_low, ring_high)`. An id is used
//! only below `ring_high`; the allocation that comes near it moves the window on by a block: ids of the block leaving the window that
//! have not finished go to the list of long transactions, and the block's words are cleared for the ids to come. So a word is cleared
//! before any id that uses it can be allocated, and views take `ring_high` as an upper bound, so that nobody reads a bit
//! of an id that is not in the window.
//!
//! # Why a copy is consistent
//! `finish` is: `begun += 1`, set the bit, `ended += 1`. A copier reads `begun`, copies, and reads `begun` again; equal means taken.
//! Suppose the copy holds T2's bit but not T1's, and T2 had seen T1's bit before it began to finish. T1's bit was set after the
//! copier passed it, hence after the copier's first read of `begun`; T2's `begun += 1` comes later still, and before T2's bit, which
//! the copier saw before its second read. So the two reads differ. All it needs is acquire and release: T2's bit (release,
//! read by acquire) carries T2's increment to the second read; and were T2's increment in the first read, that read would carry
//! T1's bit to the copier.
//!
//! Equality alone says nothing about finishers under way at the first read; each of them is in the copy or not, and both are right.
//! A view may be *reused* only while it is what a fresh copy would be: when none was under way during its copy (`ended == begun`), and
//! `begun` has not moved since.
//!
//! # Moving the window
//! A finisher must not set a bit in a word that was cleared for other ids meanwhile. It counts itself in (`begun`), then looks at
//! `hold`; the mover sets `hold`, then waits for `ended == begun`. Both sides are sequentially consistent, so one sees the other; a
//! finisher that sees `hold` counts itself out and waits. Copiers and [`Ring::is_active`] only read; the sequence `shape` (odd while moving)
//! or a second look at `ring_low` tells them to read again. A copier that loses too often raises `hold` as well,
//! without waiting: finishers already in spoil at most one copy each.

use crate::platform::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use crate::platform::latch::{Mutex, Rank};
use crate::platform::{BLOCK_IDS, CachePadded, RING_IDS};
use crate::ring_of_bits::view::BitView;
use base::TxnId;
use sync::{futex, hint, thread};

const RING_WORDS: u64 = RING_IDS / 64;
const RING_MASK: u64 = RING_WORDS - 1;
const FULL: u64 = u64::MAX;

const _: () = assert!(RING_IDS.is_power_of_two() && BLOCK_IDS.is_power_of_two() && BLOCK_IDS >= 64);
const _: () = assert!(RING_IDS >= 2 * BLOCK_IDS + 64 * BITMAP_WORDS as u64, "a view's bitmap lies in the window");

/// Words of a view's bitmap, unless very many old transactions run: 16,384 ids in 2 KiB.
pub(crate) const BITMAP_WORDS: usize = 256;
/// Long transactions that a view copies without a latch.
const LONG_INLINE: usize = 64;
/// Copies that may be spoilt by finishers before they are held back for one.
const COPY_ATTEMPTS: u32 = 8;

/// The counters every finisher writes; one cache line.
struct Counters {
    /// Finishes begun. Paired with copiers' two reads (acquire) and the mover's drain (SeqCst).
    begun: AtomicU64,
    /// Finishes ended. `begun - ended` finishers are under way.
    ended: AtomicU64,
}

/// Ids, finished bits and counters.
pub(crate) struct Ring {
    /// The next id. Written by every first write.
    next: CachePadded<AtomicU64>,
    counters: CachePadded<Counters>,
    /// Read often, written seldom.
    bounds: CachePadded<Bounds>,
    words: Box<[AtomicU64]>,
    /// One bit per ring word: the word is full. Set after the word (so it may lag), cleared when the word is.
    full: Box<[AtomicU64]>,
    /// Unfinished ids below the window, ascending. Only the holder changes the window.
    long: Mutex<Vec<u64>>,
    /// The first of `long`, for copiers; valid under `shape`.
    long_ids: [AtomicU64; LONG_INLINE],
}

struct Bounds {
    /// First id of the window.
    ring_low: AtomicU64,
    /// Past the last id of the window.
    ring_high: AtomicU64,
    /// Word number below which all ids have finished; only grows.
    low_word: AtomicU64,
    /// Odd while the window or the list of long transactions changes.
    shape: AtomicU64,
    /// Length of the list of long transactions; valid under `shape`.
    long_count: AtomicU64,
    /// How many hold finishers back; a futex word.
    hold: AtomicU32,
    /// How many sleep on it, so that nobody is woken in vain. SeqCst pair: a sleeper counts itself, then looks at `hold`;
    /// who lets go changes `hold`, then looks here.
    sleepers: AtomicU32,
}

impl Ring {
    /// Ids from `next` on are free; of those below, all but `unfinished` have finished.
    pub(crate) fn new(next: TxnId, unfinished: &[TxnId]) -> Ring {
        let next = next.0.max(1);
        let ring_high = RING_IDS.max((next / BLOCK_IDS + 2) * BLOCK_IDS);
        let ring_low = ring_high - RING_IDS;
        let mut words = vec![0u64; RING_WORDS as usize];
        for word in ring_low / 64..next.div_ceil(64) {
            let finished = if (word + 1) * 64 <= next { FULL } else { (1 << (next % 64)) - 1 };
            words[(word & RING_MASK) as usize] = finished;
        }
        let mut long = Vec::new();
        for id in unfinished {
            assert!(id.0 > 0 && id.0 < next, "unfinished {id} is not below the next id {next}");
            if id.0 < ring_low {
                long.push(id.0);
            } else {
                words[((id.0 / 64) & RING_MASK) as usize] &= !(1 << (id.0 % 64));
            }
        }
        long.sort_unstable();
        long.dedup();
        let mut full = vec![0u64; RING_WORDS.div_ceil(64) as usize];
        for (at, word) in words.iter().enumerate() {
            full[at / 64] |= u64::from(*word == FULL) << (at % 64);
        }
        let ids = Ring {
            next: CachePadded::new(AtomicU64::new(next)),
            counters: CachePadded::new(Counters { begun: AtomicU64::new(1), ended: AtomicU64::new(1) }),
            bounds: CachePadded::new(Bounds {
                ring_low: AtomicU64::new(ring_low),
                ring_high: AtomicU64::new(ring_high),
                low_word: AtomicU64::new(long.first().map_or(ring_low, |first| *first) / 64),
                shape: AtomicU64::new(0),
                long_count: AtomicU64::new(0),
                hold: AtomicU32::new(0),
                sleepers: AtomicU32::new(0),
            }),
            words: words.into_iter().map(AtomicU64::new).collect(),
            full: full.into_iter().map(AtomicU64::new).collect(),
            long_ids: std::array::from_fn(|_| AtomicU64::new(0)),
            long: Mutex::with_order(Rank::LongTxns, 1, long),
        };
        ids.mirror_long(&ids.long.lock());
        ids.raise_low();
        ids
    }

    /// A new id. One `fetch_add`, and once per block the move of the window.
    #[inline]
    pub(crate) fn allocate(&self) -> TxnId {
        // AcqRel: an id taken before another transaction finished is below the bound of every view that sees that one.
        let id = self.next.fetch_add(1, Ordering::AcqRel);
        // Half a block before it is needed one allocation moves the window, so that the others do not stop for it.
        if id >= self.bounds.ring_high.load(Ordering::Acquire) || id % BLOCK_IDS == BLOCK_IDS / 2 {
            self.make_room(id);
        }
        TxnId(id)
    }

    /// Marks `id` finished, in one step for every reader.
    #[inline]
    pub(crate) fn finish(&self, id: TxnId) {
        let (word_no, bit) = (id.0 / 64, 1u64 << (id.0 % 64));
        loop {
            if self.bounds.hold.load(Ordering::Relaxed) != 0 {
                self.wait_for_hold();
            }
            // SeqCst here and on `hold`: either the mover's drain counts us, or we see its hold.
            self.counters.begun.fetch_add(1, Ordering::SeqCst);
            if self.bounds.hold.load(Ordering::SeqCst) != 0 {
                self.counters.ended.fetch_add(1, Ordering::SeqCst);
                self.wait_for_hold();
                continue;
            }
            // The window stands still while we are counted in.
            if id.0 < self.bounds.ring_low.load(Ordering::Acquire) {
                self.counters.ended.fetch_add(1, Ordering::SeqCst);
                self.finish_long(id);
                return;
            }
            let old = self.words[(word_no & RING_MASK) as usize].fetch_or(bit, Ordering::AcqRel);
            assert!(old & bit == 0, "transaction {id} finished twice");
            let full = old | bit == FULL;
            if full {
                // Flagged while counted in: later the window might have given the word to newer ids.
                let at = word_no & RING_MASK;
                self.full[(at / 64) as usize].fetch_or(1 << (at % 64), Ordering::SeqCst);
            }
            self.counters.ended.fetch_add(1, Ordering::SeqCst);
            // SeqCst pair with `raise_low`: it moves the mark, then looks at the flags; we set the flag, then look at the mark.
            if full && self.bounds.low_word.load(Ordering::SeqCst) == word_no {
                self.raise_low();
            }
            return;
        }
    }

    /// Whether `id` was given out and has not finished.
    pub(crate) fn is_active(&self, id: TxnId) -> bool {
        let id = id.0;
        if id < self.low() {
            return false;
        }
        if id >= self.bounds.ring_high.load(Ordering::Acquire) {
            return id < self.next.load(Ordering::Acquire);
        }
        let bits = self.words[((id / 64) & RING_MASK) as usize].load(Ordering::Acquire);
        // Looked at after the word: the mover raises `ring_low` before it clears the words that leave.
        if id < self.bounds.ring_low.load(Ordering::Acquire) {
            return self.long.lock().binary_search(&id).is_ok();
        }
        bits >> (id % 64) & 1 == 0 && id < self.next.load(Ordering::Acquire)
    }

    /// All ids below have finished.
    #[inline]
    pub(crate) fn low(&self) -> u64 {
        self.bounds.low_word.load(Ordering::SeqCst) * 64
    }

    /// Like [`Self::low`], to the id: on an idle server everything is below.
    pub(crate) fn low_exact(&self) -> u64 {
        let low = self.low();
        let word = self.words[((low / 64) & RING_MASK) as usize].load(Ordering::Acquire);
        // Looked at after the word, as in `is_active`: with a long transaction the mark is below the window.
        let in_window = low >= self.bounds.ring_low.load(Ordering::Acquire) && low < self.bounds.ring_high.load(Ordering::Acquire);
        if in_window { low + u64::from(word.trailing_ones()) } else { low }
    }

    #[inline]
    pub(crate) fn begun(&self) -> u64 {
        self.counters.begun.load(Ordering::SeqCst)
    }

    #[inline]
    pub(crate) fn ended(&self) -> u64 {
        self.counters.ended.load(Ordering::SeqCst)
    }

    /// How many unfinished transactions are older than the window.
    pub(crate) fn long_count(&self) -> u64 {
        self.bounds.long_count.load(Ordering::Acquire)
    }

    /// Makes `view` a consistent copy of who has finished.
    pub(crate) fn copy(&self, view: &mut BitView) {
        let mut attempts = 0u32;
        while !self.try_copy(view) {
            attempts += 1;
            if attempts == COPY_ATTEMPTS {
                self.bounds.hold.fetch_add(1, Ordering::SeqCst);
            }
            if attempts >= COPY_ATTEMPTS {
                thread::yield_now();
            } else {
                hint::spin_loop();
            }
        }
        if attempts >= COPY_ATTEMPTS {
            self.release_hold();
        }
    }

    /// One attempt at a copy. All loads acquire, so that each comes after the one before it.
    fn try_copy(&self, view: &mut BitView) -> bool {
        let bounds = &*self.bounds;
        let shape = bounds.shape.load(Ordering::Acquire);
        if shape % 2 == 1 {
            return false;
        }
        let begun = self.counters.begun.load(Ordering::Acquire);
        let ended = self.counters.ended.load(Ordering::Acquire);
        let low_word = bounds.low_word.load(Ordering::Acquire);
        // An id past the window has not been used yet: whoever took it is still waiting for room.
        let high = self.next.load(Ordering::Acquire).min(bounds.ring_high.load(Ordering::Acquire));
        let high_word = high.div_ceil(64);
        let mut first_word = low_word.max(high_word.saturating_sub(BITMAP_WORDS as u64));
        if low_word < first_word {
            first_word = self.widen(low_word, first_word);
        }

        let bits = view.start(low_word, first_word, high);
        self.copy_words(first_word, bits);
        if low_word < first_word {
            self.copy_old(view, low_word, first_word);
        }

        let begun_after = self.counters.begun.load(Ordering::Acquire);
        let unspoilt = begun == begun_after;
        view.stamp(begun, ended);
        unspoilt && bounds.shape.load(Ordering::Acquire) == shape
    }

    #[inline]
    fn copy_words(&self, first_word: u64, into: &mut [u64]) {
        let at = (first_word & RING_MASK) as usize;
        let straight = into.len().min(RING_WORDS as usize - at);
        let (head, tail) = into.split_at_mut(straight);
        for (to, from) in head.iter_mut().zip(&self.words[at..]) {
            *to = from.load(Ordering::Acquire);
        }
        for (to, from) in tail.iter_mut().zip(&self.words[..]) {
            *to = from.load(Ordering::Acquire);
        }
    }

    /// Where the bitmap should start when there are ids to care for below it: copying 16 words costs as much as noting one apart.
    #[cold]
    fn widen(&self, low_word: u64, first_word: u64) -> u64 {
        let from = low_word.max(self.bounds.ring_low.load(Ordering::Acquire) / 64);
        let partial = self.count_not_full(from, first_word);
        if partial * 16 > first_word.saturating_sub(from) { from } else { first_word }
    }

    /// Copies what lies below the bitmap: long transactions, and ring words that are not full.
    #[cold]
    fn copy_old(&self, view: &mut BitView, low_word: u64, first_word: u64) {
        let count = self.bounds.long_count.load(Ordering::Acquire) as usize;
        if count > LONG_INLINE {
            self.long.lock().iter().for_each(|id| view.add_old_unfinished(*id));
        } else {
            self.long_ids[..count].iter().for_each(|id| view.add_old_unfinished(id.load(Ordering::Acquire)));
        }
        let mut word_no = low_word.max(self.bounds.ring_low.load(Ordering::Acquire) / 64);
        while let Some(partial) = self.next_not_full(word_no, first_word) {
            let bits = self.words[(partial & RING_MASK) as usize].load(Ordering::Acquire);
            if bits != FULL {
                view.add_old_word(partial, bits);
            }
            word_no = partial + 1;
        }
    }

    /// The first word in `[from, end)` that is not known to be full. At most a ring's length apart.
    fn next_not_full(&self, mut from: u64, end: u64) -> Option<u64> {
        while from < end {
            let at = from & RING_MASK;
            let group_bits = (64 - at % 64).min(RING_WORDS - at);
            let missing = !self.full[(at / 64) as usize].load(Ordering::SeqCst) >> (at % 64);
            let skip = u64::from(missing.trailing_zeros()).min(group_bits);
            from += skip;
            if skip < group_bits {
                return (from < end).then_some(from);
            }
        }
        None
    }

    /// How many words in `[from, end)` are not known to be full, counted in whole groups of 64.
    fn count_not_full(&self, from: u64, end: u64) -> u64 {
        let groups = self.full.len() as u64;
        let group = |at: u64| u64::from(self.full[(at % groups) as usize].load(Ordering::Acquire).count_zeros());
        if from >= end { 0 } else { (from / 64..end.div_ceil(64)).map(group).sum() }
    }

    /// Moves the low mark over the full words that follow it.
    fn raise_low(&self) {
        loop {
            let low = self.bounds.low_word.load(Ordering::SeqCst);
            let end = self.bounds.ring_high.load(Ordering::SeqCst) / 64;
            let run = self.next_not_full(low, end).unwrap_or(end);
            // The flags just read belong to [low, run) only while the window has not left `low` behind; looked at after them,
            // because the mover raises `ring_low` before it clears flags. With a long transaction `low` is below the window.
            if run == low || self.bounds.ring_low.load(Ordering::SeqCst) / 64 > low {
                return;
            }
            self.bounds.low_word.fetch_max(run, Ordering::SeqCst);
        }
    }

    #[cold]
    fn wait_for_hold(&self) {
        for _ in 0..64 {
            if self.bounds.hold.load(Ordering::Acquire) == 0 {
                return;
            }
            hint::spin_loop();
        }
        self.bounds.sleepers.fetch_add(1, Ordering::SeqCst);
        loop {
            let hold = self.bounds.hold.load(Ordering::SeqCst);
            if hold == 0 {
                break;
            }
            futex::wait(&self.bounds.hold, hold, None);
        }
        self.bounds.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    fn release_hold(&self) {
        if self.bounds.hold.fetch_sub(1, Ordering::SeqCst) == 1 && self.bounds.sleepers.load(Ordering::SeqCst) != 0 {
            futex::wake(&self.bounds.hold, u32::MAX);
        }
    }

    /// Moves the window on until `id` is in it, with a block to spare.
    #[cold]
    fn make_room(&self, id: u64) {
        let mut long = self.long.lock();
        while self.bounds.ring_high.load(Ordering::Relaxed) < (id / BLOCK_IDS + 2) * BLOCK_IDS {
            self.move_window(&mut long);
        }
    }

    /// Moves the window on by one block.
    fn move_window(&self, long: &mut Vec<u64>) {
        let bounds = &*self.bounds;
        bounds.hold.fetch_add(1, Ordering::SeqCst);
        // `ended` first: equal then means that none was under way when it was read, and newcomers see `hold`.
        while self.counters.ended.load(Ordering::SeqCst) != self.counters.begun.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        self.change_shape(|| {
            let low = bounds.ring_low.load(Ordering::Relaxed);
            let low_new = low + BLOCK_IDS;
            bounds.ring_low.store(low_new, Ordering::SeqCst);
            for word_no in low / 64..low_new / 64 {
                let at = word_no & RING_MASK;
                let word = &self.words[at as usize];
                let mut missing = !word.load(Ordering::Acquire);
                while missing != 0 {
                    long.push(word_no * 64 + u64::from(missing.trailing_zeros()));
                    missing &= missing - 1;
                }
                self.full[(at / 64) as usize].fetch_and(!(1 << (at % 64)), Ordering::SeqCst);
                word.store(0, Ordering::Release);
            }
            self.mirror_long(long);
            bounds.ring_high.store(low_new + RING_IDS, Ordering::SeqCst);
            let low_word = long.first().map_or(low_new, |first| *first) / 64;
            bounds.low_word.fetch_max(low_word, Ordering::SeqCst);
        });
        self.release_hold();
    }

    /// Finish of a transaction that the window has left behind.
    #[cold]
    fn finish_long(&self, id: TxnId) {
        let mut long = self.long.lock();
        let at = long.binary_search(&id.0);
        let at = at.unwrap_or_else(|_| panic!("transaction {id} finished twice or was never given out"));
        // Counted like any other; the mover cannot be waiting for us, because it holds the latch that we hold.
        self.counters.begun.fetch_add(1, Ordering::SeqCst);
        self.change_shape(|| {
            long.remove(at);
            self.mirror_long(&long);
        });
        let low = long.first().copied().unwrap_or(self.bounds.ring_low.load(Ordering::Relaxed));
        self.bounds.low_word.fetch_max(low / 64, Ordering::SeqCst);
        self.counters.ended.fetch_add(1, Ordering::SeqCst);
        let none_left = long.is_empty();
        drop(long);
        if none_left {
            self.raise_low();
        }
    }

    /// Runs `change` with `shape` odd, so that copies taken meanwhile are thrown away. The caller holds the latch of `long`.
    fn change_shape(&self, change: impl FnOnce()) {
        let shape = self.bounds.shape.load(Ordering::Relaxed);
        assert!(shape.is_multiple_of(2), "the latch of the long transactions orders changes");
        self.bounds.shape.store(shape + 1, Ordering::Relaxed);
        // Who reads anything stored by `change` (release stores) and then `shape` sees it odd or moved.
        fence(Ordering::Release);
        change();
        self.bounds.shape.store(shape + 2, Ordering::Release);
    }

    fn mirror_long(&self, long: &[u64]) {
        self.bounds.long_count.store(long.len() as u64, Ordering::Release);
        for (to, from) in self.long_ids.iter().zip(long) {
            to.store(*from, Ordering::Release);
        }
    }
}
