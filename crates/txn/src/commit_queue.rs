//! Commits on their way to being durable: who makes the log durable finishes them, in the order of their records.
//!
//! A committer puts itself on a stack *before* it fills its commit record in the log. Whoever then knows the log to be complete, and
//! durable, up to some position takes the whole stack, sorts it by position, and finishes the transactions up to there.
//!
//! # Why that keeps views closed
//! T2 builds on T1 by a row lock that T1 has let go of, hence after T1's commit record was in the log; so T2's record lies behind it.
//! Who has learnt that the log is complete up to T2's record has seen both on the stack, because each was on it before its
//! record was filled. So T1 is finished before T2 is begun to be finished, which is what `ids.rs` asks for: a view that sees T2 sees T1.
//!
//! # Bounds
//! A session commits one transaction at a time, so there are as many places as sessions; the stack is made of them and never full.

use crate::platform::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use crate::platform::latch::{Mutex, Rank};
use crate::platform::{Arc, CachePadded, planted};
use base::{Lsn, TxnId};

const CHUNK_PLACES: usize = 64;
/// The end of the stack; places count from 1.
const NONE: u32 = 0;

/// One session's commit.
#[derive(Default)]
struct Place {
    /// The place below on the stack. Relaxed, as are the next two: the stack's head carries them.
    next: AtomicU32,
    txn: AtomicU64,
    /// End of the commit record.
    lsn: AtomicU64,
    /// On the stack. Released by who takes it off, before the session can commit again.
    queued: AtomicBool,
}

type Chunk = [CachePadded<Place>; CHUNK_PLACES];

pub(crate) struct CommitQueue {
    /// The newest place. Pushed with release, taken as a whole with acquire; nobody takes a single one, so a place that comes back meanwhile
    /// does no harm.
    head: CachePadded<AtomicU32>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    chunks: Vec<Arc<Chunk>>,
    free: Vec<u32>,
    /// Taken off the stack, not durable yet.
    pending: Vec<(u64, u64)>,
}

/// A session's place in the queue; given back when dropped.
pub struct CommitPlace {
    chunk: Arc<Chunk>,
    number: u32,
    state: Arc<Mutex<State>>,
}

impl CommitPlace {
    fn place(&self) -> &Place {
        &self.chunk[(self.number as usize - 1) % CHUNK_PLACES]
    }

    /// Asks the processor's caches for the place, which other sessions' turns have driven out.
    #[inline]
    pub fn bring_near(&self) {
        base::bring_all_near(self.place());
    }
}

impl CommitQueue {
    pub(crate) fn new() -> CommitQueue {
        CommitQueue { head: CachePadded::new(AtomicU32::new(NONE)), state: Arc::new(Mutex::new(Rank::CommitQueue, State::default())) }
    }

    pub(crate) fn register(&self) -> CommitPlace {
        let mut state = self.state.lock();
        if state.free.is_empty() {
            let first = (state.chunks.len() * CHUNK_PLACES) as u32 + 1;
            state.chunks.push(Arc::new(std::array::from_fn(|_| CachePadded::new(Place::default()))));
            state.free.extend((first..first + CHUNK_PLACES as u32).rev());
        }
        let number = state.free.pop().expect("filled above");
        let chunk = Arc::clone(&state.chunks[(number as usize - 1) / CHUNK_PLACES]);
        drop(state);
        CommitPlace { chunk, number, state: Arc::clone(&self.state) }
    }

    /// Puts a transaction on the stack, before its commit record, which ends at `lsn`, is filled. `false` when the session's last commit
    /// never became durable: the log has failed.
    #[inline]
    pub(crate) fn push(&self, own: &CommitPlace, txn: TxnId, lsn: Lsn) -> bool {
        let place = own.place();
        if place.queued.load(Ordering::Acquire) {
            return false;
        }
        place.queued.store(true, Ordering::Relaxed);
        place.txn.store(txn.0, Ordering::Relaxed);
        place.lsn.store(lsn.0, Ordering::Relaxed);
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            place.next.store(head, Ordering::Relaxed);
            match self.head.compare_exchange_weak(head, own.number, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => head = now,
            }
        }
    }

    /// Calls `finish` for each queued transaction whose record ends at or below `up_to`, in the order of the records. The caller knows that
    /// all records up to there are filled and durable, and that nobody else drains to another position meanwhile.
    pub(crate) fn drain(&self, up_to: Lsn, mut finish: impl FnMut(TxnId)) {
        let mut state = self.state.lock();
        let State { chunks, pending, .. } = &mut *state;
        let mut at = self.head.swap(NONE, Ordering::Acquire);
        while at != NONE {
            let index = at as usize - 1;
            let place = &chunks[index / CHUNK_PLACES][index % CHUNK_PLACES];
            pending.push((place.lsn.load(Ordering::Relaxed), place.txn.load(Ordering::Relaxed)));
            at = place.next.load(Ordering::Relaxed);
            // The session may use the place again, and its thread may be gone, from here on.
            place.queued.store(false, Ordering::Release);
        }
        if pending.len() > 1 && !planted("drain_unsorted") {
            pending.sort_unstable();
        }
        let due = if planted("drain_all") { pending.len() } else { pending.partition_point(|(lsn, _)| *lsn <= up_to.0) };
        pending.drain(..due).for_each(|(_, txn)| finish(TxnId(txn)));
    }
}

impl Drop for CommitPlace {
    fn drop(&mut self) {
        // One whose log has failed stays on the stack for good.
        if !self.place().queued.load(Ordering::Acquire) {
            self.state.lock().free.push(self.number);
        }
    }
}

impl std::fmt::Debug for CommitPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CommitPlace({})", self.number)
    }
}
