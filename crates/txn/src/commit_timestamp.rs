//! The third way to make snapshots, beside the ring of bits and the classic list, for benches and tests: each finished transaction has a
//! number in the order of finishing, and a view is the newest number. What each costs, and why the ring of bits was chosen: `docs/design/snapshots.md`.
//!
//! A ring holds the number of each recent id, 0 while it has not finished. Opening a view is a few loads whatever is active; a test of a recent id is a
//! look into the shared ring, which finishers write, where the ring of bits is looked at in a private copy. Finishers number themselves one at a time, as
//! the leader of a batch does. Ids that the ring's window leaves behind go on a list as long as they are unfinished, or some open view does not
//! see them although it is newer than they are: a view held open for long keeps those that were active when it was opened.

use crate::platform::atomic::{AtomicU64, Ordering, fence};
use crate::platform::latch::{Mutex, Rank};
use crate::platform::{Arc, BLOCK_IDS, CachePadded, RING_IDS};
use base::TxnId;

const MASK: u64 = RING_IDS - 1;
const CLOSED: u64 = u64::MAX;

/// Ids and the order of finishing.
pub struct TimestampSystem {
    next: CachePadded<AtomicU64>,
    /// The newest finish. Release after its number is in the ring.
    newest: CachePadded<AtomicU64>,
    bounds: CachePadded<Bounds>,
    numbers: Box<[AtomicU64]>,
    /// Finishers and the move of the window.
    state: Mutex<State>,
    views: Mutex<Vec<Arc<CachePadded<Published>>>>,
}

struct Bounds {
    ring_low: AtomicU64,
    ring_high: AtomicU64,
    /// All ids below have finished.
    low: AtomicU64,
}

#[derive(Default)]
struct State {
    /// Ids below the window and their numbers, ascending.
    old: Vec<(u64, u64)>,
}

struct Published {
    /// At or below the view's number.
    number: AtomicU64,
    /// The view's upper bound, once it is known.
    high: AtomicU64,
}

/// A session's place to publish its view.
pub struct TimestampSlot(Arc<CachePadded<Published>>);

/// What a reader sees: all that had finished up to a number.
#[derive(Debug, Default, Clone, Copy)]
pub struct TimestampView {
    number: u64,
    low: u64,
    high: u64,
}

impl TimestampSystem {
    /// See [`crate::TxnSystem::new`].
    pub fn new(next: TxnId, unfinished: &[TxnId]) -> TimestampSystem {
        let next = next.0.max(1);
        let ring_high = RING_IDS.max((next / BLOCK_IDS + 2) * BLOCK_IDS);
        let ring_low = ring_high - RING_IDS;
        let numbers: Box<[AtomicU64]> = (0..RING_IDS).map(|_| AtomicU64::new(0)).collect();
        for id in ring_low..next {
            numbers[(id & MASK) as usize].store(1, Ordering::Relaxed);
        }
        let mut old = Vec::new();
        for id in unfinished {
            if id.0 < ring_low {
                old.push((id.0, 0));
            } else {
                numbers[(id.0 & MASK) as usize].store(0, Ordering::Relaxed);
            }
        }
        old.sort_unstable();
        old.dedup();
        let low = unfinished.iter().map(|id| id.0).min().unwrap_or(next);
        TimestampSystem {
            next: CachePadded::new(AtomicU64::new(next)),
            newest: CachePadded::new(AtomicU64::new(1)),
            bounds: CachePadded::new(Bounds {
                ring_low: AtomicU64::new(ring_low),
                ring_high: AtomicU64::new(ring_high),
                low: AtomicU64::new(low),
            }),
            numbers,
            state: Mutex::new(Rank::LongTxns, State { old }),
            views: Mutex::new(Rank::Leaf, Vec::new()),
        }
    }

    /// A place to publish views.
    pub fn register_slot(&self) -> TimestampSlot {
        let slot = Arc::new(CachePadded::new(Published { number: AtomicU64::new(CLOSED), high: AtomicU64::new(CLOSED) }));
        self.views.lock().push(Arc::clone(&slot));
        TimestampSlot(slot)
    }

    /// A new id.
    pub fn allocate_id(&self) -> TxnId {
        let id = self.next.fetch_add(1, Ordering::AcqRel);
        if id >= self.bounds.ring_high.load(Ordering::Acquire) || id % BLOCK_IDS == BLOCK_IDS / 2 {
            let mut state = self.state.lock();
            while self.bounds.ring_high.load(Ordering::Relaxed) < (id / BLOCK_IDS + 2) * BLOCK_IDS {
                self.move_window(&mut state);
            }
        }
        TxnId(id)
    }

    #[cold]
    fn move_window(&self, state: &mut State) {
        let open: Vec<(u64, u64)> = {
            let mut views = self.views.lock();
            views.retain(|view| Arc::strong_count(view) > 1);
            fence(Ordering::SeqCst);
            views.iter().map(|view| (view.number.load(Ordering::Acquire), view.high.load(Ordering::Acquire))).collect()
        };
        let is_asked =
            |id: u64, number: u64| number == 0 || open.iter().any(|(view, high)| *view != CLOSED && number > *view && id < *high);
        state.old.retain(|(id, number)| is_asked(*id, *number));
        let low = self.bounds.ring_low.load(Ordering::Relaxed);
        for id in low..low + BLOCK_IDS {
            let number = self.numbers[(id & MASK) as usize].load(Ordering::Relaxed);
            if is_asked(id, number) {
                state.old.push((id, number));
            }
        }
        // Readers look at it after the ring: what they read there was still theirs.
        self.bounds.ring_low.store(low + BLOCK_IDS, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        for id in low..low + BLOCK_IDS {
            self.numbers[(id & MASK) as usize].store(0, Ordering::Release);
        }
        self.bounds.ring_high.store(low + BLOCK_IDS + RING_IDS, Ordering::Release);
    }

    /// Marks `id` finished.
    pub fn finish(&self, id: TxnId) {
        let mut state = self.state.lock();
        let number = self.newest.load(Ordering::Relaxed) + 1;
        if id.0 < self.bounds.ring_low.load(Ordering::Relaxed) {
            let at = state.old.binary_search_by_key(&id.0, |(id, _)| *id).expect("an active transaction");
            state.old[at].1 = number;
        } else {
            self.numbers[(id.0 & MASK) as usize].store(number, Ordering::Release);
        }
        self.newest.store(number, Ordering::Release);
        if id.0 == self.bounds.low.load(Ordering::Relaxed) {
            self.raise_low(&state);
        }
    }

    fn raise_low(&self, state: &State) {
        let (low, end) = (self.bounds.ring_low.load(Ordering::Relaxed), self.bounds.ring_high.load(Ordering::Relaxed));
        let from = self.bounds.low.load(Ordering::Relaxed).max(low);
        let oldest = state.old.iter().find(|(_, number)| *number == 0).map(|(id, _)| *id);
        let end = end.min(self.next.load(Ordering::Acquire));
        let is_open = |id: &u64| self.numbers[(id & MASK) as usize].load(Ordering::Relaxed) == 0;
        let low = oldest.unwrap_or_else(|| (from..end).find(is_open).unwrap_or(end));
        self.bounds.low.store(low, Ordering::Release);
    }

    /// Opens `view` at the present.
    #[inline]
    pub fn open_view(&self, view: &mut TimestampView, slot: &TimestampSlot) {
        slot.0.high.store(CLOSED, Ordering::Relaxed);
        slot.0.number.store(self.newest.load(Ordering::Acquire), Ordering::Release);
        fence(Ordering::SeqCst);
        // In this order: all below `low` have numbers up to the one read after it, and those have ids below what is read last.
        view.low = self.bounds.low.load(Ordering::Acquire);
        view.number = self.newest.load(Ordering::Acquire);
        view.high = self.next.load(Ordering::Acquire).min(self.bounds.ring_high.load(Ordering::Acquire));
        slot.0.high.store(view.high, Ordering::Release);
    }

    /// Closes the view that `slot` publishes.
    #[inline]
    pub fn close_view(&self, slot: &TimestampSlot) {
        slot.0.number.store(CLOSED, Ordering::Release);
    }

    /// See [`crate::ReadView::sees`]; `view` is open.
    #[inline]
    pub fn sees(&self, view: &TimestampView, writer: TxnId, own: TxnId) -> bool {
        writer.0 < view.low || writer == own || writer.0 < view.high && self.sees_recent(view, writer.0)
    }

    #[inline]
    fn sees_recent(&self, view: &TimestampView, id: u64) -> bool {
        let number = self.numbers[(id & MASK) as usize].load(Ordering::Acquire);
        if id < self.bounds.ring_low.load(Ordering::SeqCst) {
            return self.sees_old(view, id);
        }
        number != 0 && number <= view.number
    }

    #[cold]
    fn sees_old(&self, view: &TimestampView, id: u64) -> bool {
        let state = self.state.lock();
        match state.old.binary_search_by_key(&id, |(id, _)| *id) {
            Ok(at) => (1..=view.number).contains(&state.old[at].1),
            Err(_) => true,
        }
    }

    /// Ids kept that the window has left behind.
    pub fn old_count(&self) -> usize {
        self.state.lock().old.len()
    }
}
