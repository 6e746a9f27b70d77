//! Where sessions publish their open views, and what follows for purge and for the ring of numbers.
//!
//! A slot is written by its session only. A session publishes a bound that is at or below what its view will see, *then* reads `newest`, which is
//! what the view sees. Purge, and who moves the ring's window, read `newest` first, *then* the slots. All four are sequentially consistent, so a view
//! whose publication they missed has read `newest` after they did, and sees at least what they go by.

use crate::ids::FinishSeq;
use crate::platform::atomic::{AtomicU64, Ordering};
use crate::platform::latch::{Mutex, Rank};
use crate::platform::{Arc, CachePadded};
use base::TxnId;

const CHUNK_SLOTS: usize = 64;
const CLOSED: u64 = u64::MAX;

/// What every open view, and every view opened later, sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PurgeLimit {
    /// All transactions with a lower id have finished and are seen.
    pub below: TxnId,
    /// All transactions that finished up to here are seen, whatever their ids.
    pub finished: FinishSeq,
}

impl PurgeLimit {
    /// Whether the effects of `id` are seen by all, judged by its id alone: an unfinished older transaction hides it.
    pub fn covers(&self, id: TxnId) -> bool {
        id < self.below
    }

    /// Whether the effects of a transaction whose [`crate::TxnSystem::finish`] returned `seq` are seen by all.
    pub fn covers_finish(&self, seq: FinishSeq) -> bool {
        seq <= self.finished
    }
}

/// One session's open view. On its own cache line.
struct Slot {
    /// A number at or below the view's, or `CLOSED`. Stored after `low`, and after `high` was put out of the way.
    number: AtomicU64,
    /// A low mark at or below the view's.
    low: AtomicU64,
    /// The view's upper bound, once it is known; larger before.
    high: AtomicU64,
    /// The view's number, once it is known; `CLOSED` before. Stored after `high`.
    exact: AtomicU64,
}

type Chunk = [CachePadded<Slot>; CHUNK_SLOTS];

/// All slots; grows by chunks, never shrinks. A slot given back is given out again.
pub(crate) struct Slots {
    registry: Arc<Mutex<Registry>>,
}

struct Registry {
    chunks: Vec<Arc<Chunk>>,
    free: Vec<(u32, u32)>,
}

impl Slots {
    pub(crate) fn new() -> Slots {
        Slots { registry: Arc::new(Mutex::new(Rank::Leaf, Registry { chunks: Vec::new(), free: Vec::new() })) }
    }

    pub(crate) fn register(&self) -> ViewSlotHandle {
        let mut registry = self.registry.lock();
        if registry.free.is_empty() {
            let number = registry.chunks.len() as u32;
            let slot = |_| {
                CachePadded::new(Slot {
                    number: AtomicU64::new(CLOSED),
                    low: AtomicU64::new(0),
                    high: AtomicU64::new(u64::MAX),
                    exact: AtomicU64::new(CLOSED),
                })
            };
            registry.chunks.push(Arc::new(std::array::from_fn(slot)));
            registry.free.extend((0..CHUNK_SLOTS as u32).rev().map(|at| (number, at)));
        }
        let place = registry.free.pop().expect("filled above");
        let chunk = Arc::clone(&registry.chunks[place.0 as usize]);
        drop(registry);
        ViewSlotHandle { chunk, place, registry: Arc::clone(&self.registry) }
    }

    /// Lowers `limit` to what all open views see. The caller has read `newest` into it before.
    pub(crate) fn lower_to_open_views(&self, limit: &mut PurgeLimit) {
        let chunks = self.registry.lock().chunks.clone();
        for slot in chunks.iter().flat_map(|chunk| chunk.iter()) {
            let number = slot.number.load(Ordering::SeqCst);
            if number != CLOSED {
                limit.finished = limit.finished.min(FinishSeq(number));
                limit.below = limit.below.min(TxnId(slot.low.load(Ordering::Acquire)));
            }
        }
    }

    /// The views that are open; the caller has read `newest` before.
    pub(crate) fn open_views(&self, newest: u64) -> OpenViews {
        let chunks = self.registry.lock().chunks.clone();
        let mut by_number = Vec::new();
        for slot in chunks.iter().flat_map(|chunk| chunk.iter()) {
            let number = slot.number.load(Ordering::SeqCst);
            if number != CLOSED {
                // Of this view, or it has grown since: then the number is low for it, which does no harm.
                by_number.push((number, slot.high.load(Ordering::Acquire)));
            }
        }
        by_number.sort_unstable();
        let mut highest = 0;
        for (_, high) in &mut by_number {
            highest = highest.max(*high);
            *high = highest;
        }
        OpenViews { newest, by_number }
    }

    /// Number, low mark and upper bound of each open view, ascending; the caller has read `newest` before. `None` while one is being opened.
    pub(crate) fn exact_views(&self) -> Option<Vec<(u64, u64, u64)>> {
        let chunks = self.registry.lock().chunks.clone();
        let mut views = Vec::new();
        for slot in chunks.iter().flat_map(|chunk| chunk.iter()) {
            if slot.number.load(Ordering::SeqCst) == CLOSED {
                continue;
            }
            let exact = slot.exact.load(Ordering::Acquire);
            let (low, high) = (slot.low.load(Ordering::Acquire), slot.high.load(Ordering::Acquire));
            // Looked at again: bounds of a view that followed are stored (release) after this was put out of the way.
            if exact == CLOSED || slot.exact.load(Ordering::Acquire) != exact {
                return None;
            }
            views.push((exact, low, high));
        }
        views.sort_unstable();
        Some(views)
    }

    /// Slots that there are, used or not.
    pub(crate) fn count(&self) -> usize {
        self.registry.lock().chunks.len() * CHUNK_SLOTS
    }

    /// How many views are open now.
    pub(crate) fn open_count(&self) -> usize {
        let chunks = self.registry.lock().chunks.clone();
        let slots = chunks.iter().flat_map(|chunk| chunk.iter());
        slots.filter(|slot| slot.number.load(Ordering::Relaxed) != CLOSED).count()
    }
}

/// What the open views do not see.
pub(crate) struct OpenViews {
    /// Views that are not here see all numbers up to this.
    newest: u64,
    /// Ascending by number; with it the highest upper bound of the views up to here.
    by_number: Vec<(u64, u64)>,
}

impl OpenViews {
    /// Whether some view, open or to be opened, may ask for the id and not see its number.
    pub(crate) fn may_ask(&self, id: u64, number: u64) -> bool {
        if number > self.newest {
            return true;
        }
        let blind = self.by_number.partition_point(|(view, _)| *view < number);
        blind > 0 && id < self.by_number[blind - 1].1
    }
}

/// A session's place to publish its open view; given back when dropped.
pub struct ViewSlotHandle {
    chunk: Arc<Chunk>,
    place: (u32, u32),
    registry: Arc<Mutex<Registry>>,
}

impl ViewSlotHandle {
    #[inline]
    fn slot(&self) -> &Slot {
        // The remainder says that the number is in range.
        &self.chunk[self.place.1 as usize % CHUNK_SLOTS]
    }

    /// Asks the processor's caches for the place, which other sessions' turns have driven out.
    #[inline]
    pub fn bring_near(&self) {
        base::bring_all_near(self.slot());
    }

    /// Publishes that a view at or above these bounds is open, before `newest` is read for it.
    #[inline]
    pub(crate) fn publish(&self, low: u64, number: u64) {
        let slot = self.slot();
        slot.exact.store(CLOSED, Ordering::Relaxed);
        // Release: who finds these finds the number out of the way.
        slot.low.store(low, Ordering::Release);
        slot.high.store(u64::MAX, Ordering::Release);
        // Carries the two above as well: who reads it reads the bounds of this view or of a later one.
        slot.number.store(number, Ordering::SeqCst);
    }

    /// Number and upper bound of the view that is published.
    #[inline]
    pub(crate) fn publish_bounds(&self, number: u64, high: u64) {
        let slot = self.slot();
        slot.high.store(high, Ordering::Release);
        slot.exact.store(number, Ordering::Release);
    }

    #[inline]
    pub(crate) fn close(&self) {
        self.slot().number.store(CLOSED, Ordering::Release);
    }

    /// A look from outside at whether a view is published.
    pub fn observer(&self) -> ViewObserver {
        ViewObserver { chunk: Arc::clone(&self.chunk), at: self.place.1 }
    }

    /// Whether a view is published.
    pub fn is_open(&self) -> bool {
        self.slot().number.load(Ordering::Relaxed) != CLOSED
    }
}

/// Sees whether a session has a view open. Of a session that has ended it sees the one that uses its slot next.
pub struct ViewObserver {
    chunk: Arc<Chunk>,
    at: u32,
}

impl ViewObserver {
    /// Whether a view is published.
    pub fn is_open(&self) -> bool {
        self.chunk[self.at as usize].number.load(Ordering::Relaxed) != CLOSED
    }
}

impl Drop for ViewSlotHandle {
    fn drop(&mut self) {
        self.close();
        self.registry.lock().free.push(self.place);
    }
}

impl std::fmt::Debug for ViewSlotHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ViewSlotHandle({:?}, open: {})", self.place, self.is_open())
    }
}
