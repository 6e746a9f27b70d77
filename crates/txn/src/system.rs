//! The transaction system: ids, views and the purge limit behind one surface.

use crate::classic::ClassicSystem;
use crate::commit_queue::{CommitPlace, CommitQueue};
use crate::ids::{FinishSeq, Ids};
use crate::platform::Arc;
use crate::prune::Snapshots;
use crate::released::Released;
use crate::slots::{PurgeLimit, Slots, ViewSlotHandle};
use crate::view::ReadView;
use base::{Lsn, TxnId};

/// How the writer of a row version stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It runs: the row is locked by it.
    Holding,
    /// Its commit record is in the log and its locks are gone; readers see it once the log is durable up to there.
    Released,
    /// It has finished.
    Finished,
}

/// Who is running and who has finished. One per engine.
pub struct TxnSystem {
    ids: Arc<Ids>,
    released: Released,
    queue: CommitQueue,
    slots: Slots,
    /// Views are copies of this list; for measuring.
    classic: Option<Box<ClassicSystem>>,
}

impl TxnSystem {
    /// `next` is the next id to give out; of the ids below, `unfinished` are still running: prepared transactions and losers
    /// that recovery has yet to roll back. All others count as finished.
    pub fn new(next: TxnId, unfinished: &[TxnId]) -> TxnSystem {
        TxnSystem {
            ids: Arc::new(Ids::new(next, unfinished)),
            released: Released::new(),
            queue: CommitQueue::new(),
            slots: Slots::new(),
            classic: None,
        }
    }

    /// The same with views that copy a list of all running transactions under a mutex, and copy it at each opening.
    pub fn with_classic_views(next: TxnId, unfinished: &[TxnId]) -> TxnSystem {
        TxnSystem { classic: Some(Box::new(ClassicSystem::new(next, unfinished))), ..TxnSystem::new(next, unfinished) }
    }

    /// A new id, for a transaction's first write.
    #[inline]
    pub fn allocate_id(&self) -> TxnId {
        match &self.classic {
            None => self.take_id(),
            Some(classic) => classic.allocate_with(|| self.take_id()),
        }
    }

    #[inline]
    fn take_id(&self) -> TxnId {
        let (id, move_window) = self.ids.take_next();
        if move_window {
            self.ids.make_room(id, &self.slots);
        }
        id
    }

    /// Marks a transaction as finished (committed, or rolled back with all its changes undone): from here on its effects are
    /// visible to new views, all at once. Panics when it was finished before.
    #[inline]
    pub fn finish(&self, id: TxnId) -> FinishSeq {
        if let Some(classic) = &self.classic {
            // Before anybody can ask for it and be told that it has finished.
            classic.finish(id);
        }
        self.ids.finish(id)
    }

    /// Whether `id` was given out and has not finished.
    #[inline]
    pub fn is_active(&self, id: TxnId) -> bool {
        self.ids.is_active(id)
    }

    /// Whether a row whose newest version `id` wrote is still locked by it. What stands in the way of a lock asks this;
    /// what a reader sees and what purge may remove ask [`Self::is_active`].
    #[inline]
    pub fn holds_locks(&self, id: TxnId) -> bool {
        self.standing(id) == Standing::Holding
    }

    /// How `id` stands; of one that was [`Standing::Released`] the commit record is in the log.
    #[inline]
    pub fn standing(&self, id: TxnId) -> Standing {
        if !self.ids.is_active(id) {
            Standing::Finished
        } else if self.released.has_released(id.0) {
            Standing::Released
        } else {
            Standing::Holding
        }
    }

    /// A place in the commit queue, one per session.
    pub fn register_committer(&self) -> CommitPlace {
        self.queue.register()
    }

    /// Queues a commit whose record will end at `lsn`; called after the record was reserved and before it is filled.
    /// [`Self::finish_durable`] finishes the transaction. `false`, and nothing is queued, when the session's last commit never became durable.
    #[inline]
    #[must_use = "what is not queued is never finished"]
    pub fn queue_commit(&self, place: &CommitPlace, id: TxnId, lsn: Lsn) -> bool {
        self.queue.push(place, id, lsn)
    }

    /// From here on `id` stands in no writer's way. Its commit record is in the log, and it is queued. Before its explicit locks are given back.
    #[inline]
    pub fn release(&self, id: TxnId) {
        self.released.release(id.0, |id| self.ids.is_active(TxnId(id)));
    }

    /// The log is complete and durable up to `lsn`: finishes the queued commits up to there, in the order of their records. One caller at a
    /// time, with growing positions.
    pub fn finish_durable(&self, lsn: Lsn) {
        self.queue.drain(lsn, |id| {
            self.finish(id);
        });
    }

    /// Position of the newest of all that have finished: at or after that of any transaction known to have.
    pub fn finished_now(&self) -> FinishSeq {
        FinishSeq(self.ids.newest())
    }

    /// The next id to be given out.
    pub fn next_id(&self) -> TxnId {
        self.ids.next()
    }

    /// All ids below have finished.
    pub fn low_id(&self) -> TxnId {
        TxnId(self.ids.low_exact())
    }

    /// Unfinished transactions older than the 524,288 ids of the ring, or than this run.
    pub fn long_count(&self) -> u64 {
        self.ids.long_count()
    }

    /// Ids kept that the ring has left behind: [`Self::long_count`], and those that open views do not see although they are newer.
    pub fn old_count(&self) -> usize {
        self.ids.old_count()
    }

    /// A place to publish views, one per session.
    pub fn register_slot(&self) -> ViewSlotHandle {
        self.slots.register()
    }

    /// Opens `view` at the present: a few loads and stores, whatever runs.
    ///
    /// A view that is open stays protected until [`Self::close_view`]; opening again replaces it.
    #[inline]
    pub fn open_view(&self, view: &mut ReadView, slot: &ViewSlotHandle) {
        if view.reads(&self.ids) {
            self.ids.open(view, slot);
        } else {
            self.open_first(view, slot);
        }
    }

    /// A view that has not been opened yet, or one that copies a list.
    #[cold]
    #[inline(never)]
    fn open_first(&self, view: &mut ReadView, slot: &ViewSlotHandle) {
        match &self.classic {
            None => {
                view.attach(&self.ids);
                self.ids.open(view, slot);
            }
            Some(classic) => {
                // The marks only grow, so what is read here is at or below what the copy will see.
                slot.publish(self.ids.low_exact(), self.ids.newest());
                classic.copy(view);
            }
        }
    }

    /// Closes the view that `slot` publishes: one store.
    #[inline]
    pub fn close_view(&self, slot: &ViewSlotHandle) {
        slot.close();
    }

    /// What purge may take as seen by everybody, now and later.
    pub fn purge_limit(&self) -> PurgeLimit {
        let below = TxnId(self.ids.low_exact());
        // After the mark: all below it have numbers up to this one.
        let mut limit = PurgeLimit { below, finished: FinishSeq(self.ids.newest()) };
        self.slots.lower_to_open_views(&mut limit);
        limit
    }

    /// What the open views need, as of now; see [`Snapshots`]. `None` when that cannot be told just now, or (views that copy a list) ever.
    pub fn snapshots(&self, lag: u64) -> Option<Snapshots> {
        Snapshots::collect(&self.ids, &self.slots, lag)
    }

    /// Places for views: what it costs to look at them all.
    pub fn view_places(&self) -> usize {
        self.slots.count()
    }

    /// How many views are open now; for status.
    pub fn open_view_count(&self) -> usize {
        self.slots.open_count()
    }
}

impl std::fmt::Debug for TxnSystem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TxnSystem(next {}, low {}, long {})", self.next_id(), self.low_id(), self.long_count())
    }
}
