//! Where sessions publish their open views, and what follows for purge.
//!
//! A slot is written by its session only. A session publishes a bound that is at or below what its view will see, *then* copies (or, for a
//! view to be reused, *then* compares the counter). Purge reads the global marks first, *then* the slots. With a sequentially
//! consistent fence between the two steps on both sides, a view whose publication purge missed was copied after purge read the marks, so
//! it sees at least what they cover.

use crate::ids::FinishSeq;
use crate::platform::atomic::{AtomicU64, Ordering, fence};
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
    /// `ended` at or before the copy, or `CLOSED`. Stored after `low`.
    ended: AtomicU64,
    /// Low mark at or before the copy.
    low: AtomicU64,
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
            let slot = |_| CachePadded::new(Slot { ended: AtomicU64::new(CLOSED), low: AtomicU64::new(0) });
            registry.chunks.push(Arc::new(std::array::from_fn(slot)));
            registry.free.extend((0..CHUNK_SLOTS as u32).rev().map(|at| (number, at)));
        }
        let place = registry.free.pop().expect("filled above");
        let chunk = Arc::clone(&registry.chunks[place.0 as usize]);
        drop(registry);
        ViewSlotHandle { chunk, place, registry: Arc::clone(&self.registry) }
    }

    /// Lowers `limit` to what all open views see. The caller has read the global marks into it before.
    pub(crate) fn lower_to_open_views(&self, limit: &mut PurgeLimit) {
        let chunks = self.registry.lock().chunks.clone();
        fence(Ordering::SeqCst);
        for slot in chunks.iter().flat_map(|chunk| chunk.iter()) {
            let ended = slot.ended.load(Ordering::Acquire);
            if ended != CLOSED {
                limit.finished = limit.finished.min(FinishSeq(ended));
                limit.below = limit.below.min(TxnId(slot.low.load(Ordering::Acquire)));
            }
        }
    }

    /// How many views are open now.
    pub(crate) fn open_count(&self) -> usize {
        let chunks = self.registry.lock().chunks.clone();
        let slots = chunks.iter().flat_map(|chunk| chunk.iter());
        slots.filter(|slot| slot.ended.load(Ordering::Relaxed) != CLOSED).count()
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
        &self.chunk[self.place.1 as usize]
    }

    /// Publishes that a view at or above these bounds is open, before anything that the view depends on is read.
    #[inline]
    pub(crate) fn publish(&self, low: u64, ended: u64) {
        self.slot().low.store(low, Ordering::Relaxed);
        // Release: who reads it reads the low mark of this view or of a later one. Pairs with the acquire load of purge.
        self.slot().ended.store(ended, Ordering::Release);
        fence(Ordering::SeqCst);
    }

    /// Whether the slot holds exactly these bounds, so that nothing needs to be published again.
    #[inline]
    pub(crate) fn holds(&self, low: u64, ended: u64) -> bool {
        // Relaxed: only this session writes the slot.
        self.slot().ended.load(Ordering::Relaxed) == ended && self.slot().low.load(Ordering::Relaxed) == low
    }

    #[inline]
    pub(crate) fn close(&self) {
        self.slot().ended.store(CLOSED, Ordering::Release);
    }

    /// A look from outside at whether a view is published.
    pub fn observer(&self) -> ViewObserver {
        ViewObserver { chunk: Arc::clone(&self.chunk), at: self.place.1 }
    }

    /// Whether a view is published.
    pub fn is_open(&self) -> bool {
        self.slot().ended.load(Ordering::Relaxed) != CLOSED
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
        self.chunk[self.at as usize].ended.load(Ordering::Relaxed) != CLOSED
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
