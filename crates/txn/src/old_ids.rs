//! Ids that the ring's window has left behind, and how it moves on.
//!
//! # Who stays on the list
//! An id that has not finished, until it has; and one that some open view does not see although it was given out before that view was opened, until
//! all such views are closed. All others count as finished and seen by everybody. The list is under a latch, but who asks for an id that is not on
//! it does not take it: 65,536 bits, one for the ids that end alike, say which may be. With one writer that sleeps for a day all ids since
//! then are asked for here, and all but one in 65,536 cost a look at one bit.
//!
//! # Moving the window
//! By blocks, by the thread whose new id comes near the end of the window, under the latch of the list:
//! 1. read `newest`, then the open views; put the ids of the block that must stay on the list, and set their bits;
//! 2. raise `low` of the window: from here on who asks for them comes to the list, and waits for the latch;
//! 3. let the words go over to the lap that follows, each by one exchange: a finisher that is about to number the old id either comes first, and the list
//!    takes the number over, or finds the word gone and comes to the list as well. What is pending is numbered on the way;
//! 4. raise `high`, and the low mark.
//!
//! Nobody is held back by it but those who ask for ids of the list meanwhile. A view that step 1 has missed was opened at a number at or above the one it has read
//! (`slots.rs`), so it sees whatever was dropped.
//!
//! # Finishing
//! Under the latch, which is taken before the number is drawn: a view that is opened with that number or a later one, and asks, waits for it.
//! This and the list's readers are the only ones who wait for others; ids of more than 430,000 transactions ago that are still in question are few.

use crate::ids::{FinishSeq, Ids, NUMBERED, ROOM_IDS};
use crate::platform::atomic::{AtomicU64, Ordering};
use crate::platform::latch::{Mutex, Rank};
use crate::platform::{BLOCK_IDS, OLD_FILTER_WORDS, RING_IDS, planted};
use crate::slots::Slots;
use base::TxnId;

/// An id with its number, 0 while it has none.
type OldId = (u64, u64);

pub(crate) struct OldIds {
    /// Ascending. Its latch orders moves of the window.
    list: Mutex<Vec<OldId>>,
    /// Bit = an id that ends like this may be on the list. Set before the window's `low` leaves the id, cleared when the id is dropped.
    filter: Box<[AtomicU64]>,
}

impl OldIds {
    pub(crate) fn new(unfinished: &[TxnId]) -> OldIds {
        let mut list: Vec<OldId> = unfinished.iter().map(|id| (id.0, 0)).collect();
        list.sort_unstable();
        list.dedup();
        let filter = (0..OLD_FILTER_WORDS).map(|_| AtomicU64::new(0)).collect();
        let old = OldIds { list: Mutex::with_order(Rank::LongTxns, 1, Vec::new()), filter };
        old.set_filter(&list);
        *old.list.lock() = list;
        old
    }

    fn filter_bit(id: u64) -> (usize, u64) {
        ((id / 64) as usize % OLD_FILTER_WORDS, 1 << (id % 64))
    }

    fn set_filter(&self, list: &[OldId]) {
        let mut words = vec![0u64; OLD_FILTER_WORDS];
        for (id, _) in list {
            let (at, bit) = Self::filter_bit(*id);
            words[at] |= bit;
        }
        for (word, bits) in self.filter.iter().zip(words) {
            if word.load(Ordering::Relaxed) != bits {
                word.store(bits, Ordering::Release);
            }
        }
    }

    #[inline]
    fn may_hold(&self, id: u64) -> bool {
        let (at, bit) = Self::filter_bit(id);
        self.filter[at].load(Ordering::Acquire) & bit != 0
    }
}

fn number_of(list: &[OldId], id: u64) -> Option<u64> {
    list.binary_search_by_key(&id, |(id, _)| *id).ok().map(|at| list[at].1)
}

impl Ids {
    /// See [`Ids::is_numbered_to`]; the window has left `id`.
    #[inline(never)]
    pub(crate) fn is_old_numbered_to(&self, id: u64, floor: u64) -> bool {
        // Not there: dropped because all views see it.
        !self.old.may_hold(id) || number_of(&self.old.list.lock(), id).is_none_or(|number| number != 0 && !number >= floor)
    }

    /// See [`Ids::is_active`]; the window has left `id`.
    #[inline(never)]
    pub(crate) fn is_old_active(&self, id: u64) -> bool {
        self.old.may_hold(id) && number_of(&self.old.list.lock(), id) == Some(0)
    }

    /// How many unfinished transactions are older than the window.
    pub(crate) fn long_count(&self) -> u64 {
        self.old.list.lock().iter().filter(|(_, number)| *number == 0).count() as u64
    }

    /// How many ids are kept that the window has left behind.
    pub(crate) fn old_count(&self) -> usize {
        self.old.list.lock().len()
    }

    /// Finish of a transaction that the window has left behind.
    #[cold]
    pub(crate) fn finish_old(&self, id: u64) -> FinishSeq {
        let early = planted("old_number_before_latch").then(|| self.draw_number());
        let mut list = self.old.list.lock();
        let at = list.binary_search_by_key(&id, |(id, _)| *id);
        let at = at.ok().filter(|at| list[*at].1 == 0).unwrap_or_else(|| panic!("transaction {id} finished twice or was never given out"));
        let number = early.unwrap_or_else(|| self.draw_number());
        list[at].1 = number;
        self.raise_low_past(&list);
        FinishSeq(number)
    }

    /// Raises the low mark to what the list lets it. The caller holds the list's latch.
    fn raise_low_past(&self, list: &[OldId]) {
        match list.iter().find(|(_, number)| *number == 0) {
            Some((unfinished, _)) => self.raise_low_to(*unfinished),
            None => {
                self.raise_low_to(self.window.low.load(Ordering::SeqCst));
                self.raise_low();
            }
        }
    }

    /// Moves the window on until `id` is in it, with room to spare.
    #[cold]
    pub(crate) fn make_room(&self, id: TxnId, slots: &Slots) {
        let window = &*self.window;
        let mut list = if id.0 < window.high.load(Ordering::Acquire) {
            // There is room still; one thread is enough.
            let Some(list) = self.old.list.try_lock() else { return };
            list
        } else {
            self.old.list.lock()
        };
        while id.0 >= window.move_from.load(Ordering::Relaxed) {
            self.move_window(&mut list, slots);
        }
    }

    /// Moves the window on by one block.
    fn move_window(&self, list: &mut Vec<OldId>, slots: &Slots) {
        let window = &*self.window;
        let low = window.low.load(Ordering::Relaxed);
        let block = low..low + BLOCK_IDS;
        let newest = self.newest();
        let views = slots.open_views(newest);
        list.retain(|(id, number)| *number == 0 || views.may_ask(*id, *number));
        let mut at = list.len();
        for id in block.clone() {
            let word = self.word(id).load(Ordering::Acquire);
            if word < NUMBERED {
                list.push((id, 0));
            } else if views.may_ask(id, !word) && !planted("block_dropped_without_views") {
                list.push((id, !word));
            }
        }
        let late = planted("filter_after_window");
        if !late {
            self.old.set_filter(list);
        }
        window.low.store(block.end, Ordering::SeqCst);
        for id in block.clone() {
            let number = self.pass_word_on(id);
            if list.get(at).is_some_and(|(listed, _)| *listed == id) {
                list[at].1 = number;
                at += 1;
            }
        }
        if late {
            self.old.set_filter(list);
        }
        window.high.store(block.end + RING_IDS, Ordering::SeqCst);
        window.move_from.store(block.end + RING_IDS - ROOM_IDS, Ordering::Release);
        self.raise_low_past(list);
    }

    /// Gives the word of `id` to the id that follows a lap later. Returns the number that `id` has, or 0.
    fn pass_word_on(&self, id: u64) -> u64 {
        let (word, lap) = (self.word(id), self.lap(id));
        loop {
            let now = self.settle(id);
            if now >= NUMBERED || planted("word_taken_by_store") {
                // Nobody changes it any more.
                word.store(lap + 1, Ordering::Release);
                return if now >= NUMBERED { !now } else { 0 };
            }
            if word.compare_exchange(lap, lap + 1, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                return 0;
            }
        }
    }
}
