//! Ids, and the order in which they finish: each finished transaction has a number, and a view is the newest number at its opening.
//!
//! # The ring of numbers
//! One word for each recent id, of the window `[low, high)` of 524,288 ids. An id is used only below `high`; `old_ids.rs` moves it on. A word says
//! - which lap of the ring it serves, while its id has not finished: a small number, 0 in fresh memory;
//! - the same with [`PENDING`]: the id is about to be numbered;
//! - the number of its id, counted down from the largest (`!number`), once it has finished.
//!
//! So "numbered up to v" is one comparison, `word >= !v`, and whoever wants to change the word of an id that has not finished compares the lap
//! with it: a word that has gone over to a later id is never hurt, and the window moves without stopping anybody.
//!
//! # Finishing
//! `finish`: the word becomes pending; the counter `newest` gives the next number; the word becomes that number. Who meets a pending word in
//! between does not wait: it draws a number itself and exchanges it in, and whichever number comes first stands. So finishing and testing are
//! lock-free, and a finisher that the kernel has stopped stops nobody. A number that was drawn in vain is nobody's.
//!
//! # Why a view does not change
//! A view reads `newest`, v, and then looks at words. A number up to v was drawn after its word became pending, and v, read later from the same counter
//! (each step of which releases what the ones before released), carries that to the reader: it finds the word pending or numbered. If pending, the reader's own
//! draw, and anybody's that it loses against and that is not on the way to v already, is above v. So a word that the view once found without a number up to v never gets one.
//!
//! # Why a view is closed under "had seen"
//! Let view V see T2, and T2 have seen T1: by a view of its own, or by [`Ids::is_active`], which numbers what is pending before it answers. So T1's number was drawn
//! before T2 began to finish. T2's number is drawn, by T2 or by a helper, after T2's word became pending: the same counter, later, hence a larger number.
//! V sees numbers up to one that is at least T2's, so it sees T1's.
//!
//! # The low mark
//! All ids below `low` are numbered, so views need not look at their words. It is raised by whoever finishes the `watched` id: the last of the 32 ids
//! that `low` is among, or, where that has finished too early, the first unfinished one. Raising is to store `watched` and then to look at its word again;
//! finishing is to number the word and then to look at `watched`; all four in one order (SeqCst), so that one sees the other. A word is passed
//! once. `low` may lag by 31 ids on a quiet server, and by more while the one who is to raise it is stopped: that costs looks into the ring, nothing else.

use crate::old_ids::OldIds;
use crate::platform::atomic::{AtomicU64, Ordering};
use crate::platform::{BLOCK_IDS, COARSE_STEP, CachePadded, LOW_STEP, RING_IDS, planted, zeroed_words};
use crate::slots::ViewSlotHandle;
use crate::view::ReadView;
use base::TxnId;

const RING_MASK: u64 = RING_IDS - 1;
const RING_SHIFT: u32 = RING_IDS.trailing_zeros();
/// The id of the word is being numbered.
const PENDING: u64 = 1 << 62;
/// Words from here on are numbers, counted down; numbers stay below 1 << 62.
pub(crate) const NUMBERED: u64 = 1 << 63;
/// Before so many ids are left the window moves on, so that nobody stops for it.
pub(crate) const ROOM_IDS: u64 = BLOCK_IDS + BLOCK_IDS / 2;

const _: () =
    assert!(RING_IDS.is_power_of_two() && LOW_STEP.is_power_of_two() && RING_IDS >= 2 * ROOM_IDS && RING_IDS.is_multiple_of(BLOCK_IDS));

/// Position of a transaction in the order in which transactions finished. A view opened when `n` had finished sees all up to `n`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FinishSeq(pub u64);

/// Ids and their numbers.
pub(crate) struct Ids {
    /// The next id. Written by every first write.
    next: CachePadded<AtomicU64>,
    order: CachePadded<Order>,
    pub(crate) window: CachePadded<Window>,
    pub(crate) old: OldIds,
}

/// What finishers write and views are opened from; one cache line.
struct Order {
    /// The newest number. SeqCst: pairs with published views (`slots.rs`).
    newest: AtomicU64,
    /// All ids below are numbered; only grows.
    low: AtomicU64,
    /// Who finishes this id raises `low`.
    watched: AtomicU64,
}

/// Read often, written seldom.
pub(crate) struct Window {
    words: Box<[AtomicU64; RING_IDS as usize]>,
    /// First id of this run: laps are counted from it.
    base: u64,
    /// First id of the window. Raised before words go over to later ids; looked at after a word was read.
    pub(crate) low: AtomicU64,
    /// Past its last id. Raised after the words have gone over.
    pub(crate) high: AtomicU64,
    /// The id from which on the next move is due.
    pub(crate) move_from: AtomicU64,
    /// A copy of the low mark, up to [`COARSE_STEP`] behind it, for those who should not touch what finishers write.
    coarse_low: AtomicU64,
}

impl Ids {
    /// Ids from `next` on are free; of those below, all but `unfinished` have finished.
    pub(crate) fn new(next: TxnId, unfinished: &[TxnId]) -> Ids {
        let base = next.0.max(1);
        for id in unfinished {
            assert!(id.0 > 0 && id.0 < base, "unfinished {id} is not below the next id {base}");
        }
        let low = unfinished.iter().map(|id| id.0).min().unwrap_or(base);
        let ids = Ids {
            next: CachePadded::new(AtomicU64::new(base)),
            order: CachePadded::new(Order { newest: AtomicU64::new(1), low: AtomicU64::new(low), watched: AtomicU64::new(base) }),
            window: CachePadded::new(Window {
                words: zeroed_words(),
                base,
                low: AtomicU64::new(base),
                high: AtomicU64::new(base + RING_IDS),
                move_from: AtomicU64::new(base + RING_IDS - ROOM_IDS),
                coarse_low: AtomicU64::new(low),
            }),
            // Unfinished ids of an earlier run are like those that the window has left behind.
            old: OldIds::new(unfinished),
        };
        if unfinished.is_empty() {
            ids.raise_low();
        }
        ids
    }

    /// The next id, which is the caller's, and whether the window must move for it ([`Ids::make_room`]).
    #[inline]
    pub(crate) fn take_next(&self) -> (TxnId, bool) {
        // AcqRel: an id taken before another transaction finished is below the bound of every view that sees that one.
        let id = self.next.fetch_add(1, Ordering::AcqRel);
        (TxnId(id), id >= self.window.move_from.load(Ordering::Acquire))
    }

    pub(crate) fn next(&self) -> TxnId {
        TxnId(self.next.load(Ordering::Acquire))
    }

    #[inline]
    pub(crate) fn word(&self, id: u64) -> &AtomicU64 {
        &self.window.words[(id & RING_MASK) as usize]
    }

    /// What the word of an unfinished id holds. Of an id before this run something that no word ever holds.
    #[inline]
    pub(crate) fn lap(&self, id: u64) -> u64 {
        id.wrapping_sub(self.window.base) >> RING_SHIFT
    }

    /// Marks `id` finished, in one step for every reader, and returns a position at or after its place in the order.
    #[inline]
    pub(crate) fn finish(&self, id: TxnId) -> FinishSeq {
        let (word, lap) = (self.word(id.0), self.lap(id.0));
        if planted("number_before_pending") {
            let number = self.draw_number();
            let _ = word.compare_exchange(lap, lap | PENDING, Ordering::AcqRel, Ordering::Acquire);
            let _ = word.compare_exchange(lap | PENDING, !number, Ordering::SeqCst, Ordering::SeqCst);
            return FinishSeq(number);
        }
        // Release: who finds it pending, and draws a number, has all that the transaction has seen before that number.
        if word.compare_exchange(lap, lap | PENDING, Ordering::AcqRel, Ordering::Acquire).is_err() {
            return self.finish_old(id.0);
        }
        let number = self.draw_number();
        let seq = match word.compare_exchange(lap | PENDING, !number, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => number,
            // Somebody else was faster, with a number that was drawn before now.
            Err(_) => self.newest(),
        };
        if self.order.watched.load(Ordering::SeqCst) == id.0 {
            self.raise_low();
        }
        FinishSeq(seq)
    }

    /// A number that is larger than all drawn before. AcqRel: who has read it, or a later one, finds the word pending for which it was drawn.
    #[inline]
    pub(crate) fn draw_number(&self) -> u64 {
        self.order.newest.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// The newest number.
    #[inline]
    pub(crate) fn newest(&self) -> u64 {
        self.order.newest.load(Ordering::SeqCst)
    }

    /// The word of an id of the window, numbered if it was pending. It may have gone over to a later id.
    #[cold]
    #[inline(never)]
    pub(crate) fn settle(&self, id: u64) -> u64 {
        let (word, lap) = (self.word(id), self.lap(id));
        let now = word.load(Ordering::Acquire);
        if now != lap | PENDING {
            return now;
        }
        let number = self.draw_number();
        match word.compare_exchange(now, !number, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => !number,
            Err(other) => other,
        }
    }

    /// Whether `id` has a number up to `!floor`. The asker's view is open, and `id` was given out before it was opened.
    #[inline]
    pub(crate) fn is_numbered_to(&self, id: u64, floor: u64) -> bool {
        let word = self.word(id).load(Ordering::Acquire);
        // After the word: it was this id's if the window has not left it even now.
        if id < self.window.low.load(Ordering::Acquire) || word >> 62 == PENDING >> 62 {
            return self.is_numbered_to_slowly(id, floor);
        }
        word >= floor
    }

    #[cold]
    #[inline(never)]
    fn is_numbered_to_slowly(&self, id: u64, floor: u64) -> bool {
        loop {
            let word = self.word(id).load(Ordering::Acquire);
            if id < self.window.low.load(Ordering::Acquire) && !planted("window_not_looked_at_again") {
                return self.is_old_numbered_to(id, floor);
            }
            if word >> 62 != PENDING >> 62 || planted("pending_is_unfinished") {
                return word >= floor;
            }
            self.settle(id);
        }
    }

    /// Whether `id` was given out and has not finished. When not, its number has been drawn.
    #[inline]
    pub(crate) fn is_active(&self, id: TxnId) -> bool {
        let id = id.0;
        if id < self.window.coarse_low.load(Ordering::Acquire) {
            return false;
        }
        if id >= self.window.high.load(Ordering::Acquire) {
            return id < self.next.load(Ordering::Acquire);
        }
        let mut word = self.word(id).load(Ordering::Acquire);
        if word >> 62 == PENDING >> 62 {
            if planted("pending_is_finished") {
                return false;
            }
            word = self.settle(id);
        }
        // After the word, as above.
        if id < self.window.low.load(Ordering::Acquire) {
            return self.is_old_active(id);
        }
        word < NUMBERED && id < self.next.load(Ordering::Acquire)
    }

    /// Opens `view` at the present, published in `slot`.
    #[inline]
    pub(crate) fn open(&self, view: &mut ReadView, slot: &ViewSlotHandle) {
        let order = &*self.order;
        let early = planted("read_before_publish").then(|| self.newest());
        // In this order: all below `low` have numbers up to the one read last of `newest`, and those have ids below what is read after it. All of these
        // only grow, so what is published is at or below what the view will see.
        let low = order.low.load(Ordering::Acquire);
        slot.publish(low, self.newest());
        let newest = early.unwrap_or_else(|| self.newest());
        let high = self.next.load(Ordering::Acquire);
        slot.publish_bounds(newest, high);
        view.start_numbers(low, newest, high);
    }

    /// The low mark, to the id: on an idle server everything is below.
    pub(crate) fn low_exact(&self) -> u64 {
        let low = self.order.low.load(Ordering::SeqCst);
        self.first_unfinished(low).unwrap_or(low)
    }

    /// Moves the low mark, and the watch that keeps it moving, over the numbered ids that follow it.
    #[inline(never)]
    pub(crate) fn raise_low(&self) {
        let order = &*self.order;
        loop {
            // None: an id that the window has left behind is the lowest, or who moves the window is about to raise the mark.
            let Some(low) = self.first_unfinished(order.low.load(Ordering::SeqCst)) else { return };
            self.raise_low_to(low);
            let last = low | (LOW_STEP - 1);
            let watched = if self.is_unfinished(last) { last } else { low };
            order.watched.store(watched, Ordering::SeqCst);
            if self.is_unfinished(watched) || planted("low_without_recheck") {
                return;
            }
        }
    }

    /// All ids below are numbered.
    pub(crate) fn raise_low_to(&self, low: u64) {
        self.order.low.fetch_max(low, Ordering::SeqCst);
        let coarse = &self.window.coarse_low;
        if low >= coarse.load(Ordering::Relaxed) + COARSE_STEP {
            coarse.fetch_max(low, Ordering::AcqRel);
        }
    }

    /// The first id from `from` on, all below which are numbered, that is not. `None` when the window has left `from`.
    fn first_unfinished(&self, from: u64) -> Option<u64> {
        let window = &*self.window;
        let (words, high) = (&*window.words, window.high.load(Ordering::SeqCst));
        let mut id = from;
        while id < high && words[(id & RING_MASK) as usize].load(Ordering::SeqCst) >= NUMBERED {
            id += 1;
        }
        // After the words, as in `is_numbered_to`.
        (from >= window.low.load(Ordering::SeqCst)).then_some(id)
    }

    /// Whether an id in the window or past it has no number.
    fn is_unfinished(&self, id: u64) -> bool {
        if id >= self.window.high.load(Ordering::SeqCst) {
            return true;
        }
        let word = self.word(id).load(Ordering::SeqCst);
        word < NUMBERED && id >= self.window.low.load(Ordering::SeqCst)
    }
}
