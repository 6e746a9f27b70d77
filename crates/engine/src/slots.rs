//! Who is writing now: one slot per session, read by checkpoints.
//!
//! # Invariants
//! 1. A slot names its transaction from before the first row change is logged until after the record that ends it is logged and the
//!    transaction stands in the history.
//! 2. A slot is unsettled before a record that changes what it says is logged (a row change, a step back, the end), and settled when
//!    it says it ([`Unsettled`]). A checkpoint that finds it set waits: otherwise it could write down a state from before a record that lies before the
//!    place where recovery starts to read, and the record would be lost. Nothing is waited for while it is unsettled but page latches and the ring
//!    (`sync::spun_for`, debug builds): above all not room in the log, which only the waiting checkpoint can make.
//! 3. Whose commit record is logged is `committed` until its slot is cleared, which is after the wait for the disk: a checkpoint does not wait for that. It lists the
//!    transaction in the history, for no checkpoint is written before the log is durable up to its head.

use crate::session::Isolation;
use base::{TxnId, UndoPtr};
use std::sync::{Arc, Weak};
use sync::atomic::{AtomicU8, AtomicU64, Ordering};
use sync::{CachePadded, Mutex, Rank};
use txn::ViewObserver;

/// One session's running transaction. Written by its session only.
#[derive(Default)]
pub(crate) struct Slot {
    txn: AtomicU64,
    last_undo: AtomicU64,
    /// [`SETTLED`], [`UNSETTLED`] or [`COMMITTED`]. Release on each change. Who has read the log position past a record has, by that, the
    /// `UNSETTLED` that was set before it.
    state: AtomicU8,
    /// When the transaction began, its level and kind; see [`Slot::begin`]. For lists only: relaxed, like the two below.
    begun: AtomicU64,
    client: AtomicU64,
    owner: AtomicU64,
    /// Whether the session has a view open.
    view: Option<ViewObserver>,
}

const SETTLED: u8 = 0;
const UNSETTLED: u8 = 1;
const COMMITTED: u8 = 2;

/// A transaction that a slot names, as a checkpoint writes it down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) txn: TxnId,
    pub(crate) last_undo: UndoPtr,
    /// Its commit record is logged.
    pub(crate) committed: bool,
}

/// A transaction that has done something: it has written, has locks, or has a view open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransactionInfo {
    /// What [`crate::Session::set_client`] was given; 0 for the engine's own.
    pub client: u64,
    /// Number of its lock owner.
    pub owner: u64,
    /// Its id; none before its first write.
    pub txn: TxnId,
    /// When it began: milliseconds since the epoch by the clock of [`crate::Engine::set_coarse_time`].
    pub begun_ms: u64,
    /// Its isolation level.
    pub isolation: Isolation,
    /// READ ONLY.
    pub read_only: bool,
    /// It has a view open.
    pub view_open: bool,
}

const LEVELS: [Isolation; 4] = [Isolation::ReadUncommitted, Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable];
const LEVEL_BITS: u32 = 3;
const READ_ONLY: u64 = 1 << LEVEL_BITS;
const FLAG_BITS: u32 = LEVEL_BITS + 1;

impl Slot {
    /// A transaction begins; nothing shared is touched.
    #[inline]
    pub(crate) fn begin(&self, coarse_ms: u64, isolation: Isolation, read_only: bool) {
        let flags = isolation as u64 | if read_only { READ_ONLY } else { 0 };
        self.begun.store(coarse_ms << FLAG_BITS | flags, Ordering::Relaxed);
    }

    /// Whom the session works for, and the number of its lock owner.
    pub(crate) fn set_client(&self, client: u64, owner: u64) {
        self.client.store(client, Ordering::Relaxed);
        self.owner.store(owner, Ordering::Relaxed);
    }

    fn info(&self) -> TransactionInfo {
        let begun = self.begun.load(Ordering::Relaxed);
        let level = (begun & ((1 << LEVEL_BITS) - 1)) as usize;
        TransactionInfo {
            client: self.client.load(Ordering::Relaxed),
            owner: self.owner.load(Ordering::Relaxed),
            txn: TxnId(self.txn.load(Ordering::Relaxed)),
            begun_ms: begun >> FLAG_BITS,
            isolation: LEVELS.into_iter().find(|l| *l as usize == level).unwrap_or(Isolation::RepeatableRead),
            read_only: begun & READ_ONLY != 0,
            view_open: self.view.as_ref().is_some_and(ViewObserver::is_open),
        }
    }

    /// A transaction makes its first change, or one that a crash left is taken over at `last_undo`.
    pub(crate) fn start(&self, txn: TxnId, last_undo: UndoPtr) {
        self.last_undo.store(last_undo.0, Ordering::Relaxed);
        // Release: pairs with the checkpoint's acquire load.
        self.txn.store(txn.0, Ordering::Release);
    }

    /// A record is about to be logged after which the slot will say something else.
    #[inline]
    pub(crate) fn unsettle(&self) -> Unsettled<'_> {
        sync::spun_for::begin();
        self.state.store(UNSETTLED, Ordering::Release);
        Unsettled(self)
    }

    #[inline]
    fn settle(&self) {
        self.state.store(SETTLED, Ordering::Release);
        sync::spun_for::end();
    }

    /// Of a record that is not logged yet and may never be: rolling back what it tells of does nothing then. So the slot may say it early, and nobody waits.
    #[inline]
    pub(crate) fn says_ahead(&self, undo: UndoPtr) {
        self.last_undo.store(undo.0, Ordering::Release);
    }

    /// The transaction has ended.
    pub(crate) fn clear(&self) {
        self.txn.store(0, Ordering::Release);
        self.settle();
    }

    /// The transaction and its newest undo record, when there is one. Waits while that is about to change.
    fn named(&self) -> Option<Named> {
        loop {
            let txn = self.txn.load(Ordering::Acquire);
            if txn == 0 {
                return None;
            }
            let state = self.state.load(Ordering::Acquire);
            if state != UNSETTLED {
                // Acquire and after the flag: at least what the last settled record left. A newer one lies past the log position that
                // the checkpoint has read, and recovery learns it from the log.
                let last_undo = self.last_undo.load(Ordering::Acquire);
                if self.txn.load(Ordering::Acquire) == txn {
                    return Some(Named { txn: TxnId(txn), last_undo: UndoPtr(last_undo), committed: state == COMMITTED });
                }
            }
            sync::thread::yield_now();
        }
    }
}

/// A slot from before a record is logged until it says what that made of it: meanwhile checkpoints wait. Dropped, it says what it said before.
#[must_use = "checkpoints wait until the slot says what became of the record"]
pub(crate) struct Unsettled<'s>(&'s Slot);

impl Unsettled<'_> {
    /// The record is logged: `undo` is the newest undo record whose row change is logged and not taken back.
    #[inline]
    pub(crate) fn says(self, undo: UndoPtr) {
        self.0.last_undo.store(undo.0, Ordering::Release);
    }

    /// The commit record is logged.
    #[inline]
    pub(crate) fn commit_logged(self) {
        self.0.state.store(COMMITTED, Ordering::Release);
        sync::spun_for::end();
        std::mem::forget(self);
    }

    /// The transaction's last record is logged: what the slot says holds no more, until [`Slot::clear`], which follows at once.
    #[inline]
    pub(crate) fn until_cleared(self) {
        std::mem::forget(self);
    }
}

impl Drop for Unsettled<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.settle();
    }
}

/// All slots.
pub(crate) struct Slots {
    all: Mutex<Vec<Weak<CachePadded<Slot>>>>,
}

impl Slots {
    pub(crate) fn new() -> Slots {
        Slots { all: Mutex::new(Rank::Leaf, Vec::new()) }
    }

    /// A session's slot.
    pub(crate) fn register(&self, owner: u64, view: ViewObserver) -> Arc<CachePadded<Slot>> {
        self.add(Slot { owner: AtomicU64::new(owner), view: Some(view), ..Slot::default() })
    }

    /// The slot of a transaction without a session.
    pub(crate) fn register_detached(&self, owner: u64) -> Arc<CachePadded<Slot>> {
        self.add(Slot { owner: AtomicU64::new(owner), ..Slot::default() })
    }

    fn add(&self, slot: Slot) -> Arc<CachePadded<Slot>> {
        let slot = Arc::new(CachePadded::new(slot));
        let mut all = self.all.lock();
        if all.len() == all.capacity() {
            all.retain(|weak| weak.strong_count() > 0);
        }
        all.push(Arc::downgrade(&slot));
        slot
    }

    /// Every session as it is now, whether it has a transaction or not.
    pub(crate) fn infos(&self) -> Vec<TransactionInfo> {
        let slots: Vec<_> = self.all.lock().iter().filter_map(Weak::upgrade).collect();
        slots.iter().map(|slot| slot.info()).collect()
    }

    /// When the transaction of a client began; `None` where there is none. For who holds latches: nothing is made.
    pub(crate) fn begun_ms(&self, client: u64) -> Option<u64> {
        let all = self.all.lock();
        let slot = all.iter().filter_map(Weak::upgrade).find(|slot| slot.client.load(Ordering::Relaxed) == client)?;
        Some(slot.info().begun_ms)
    }

    /// Every transaction that runs, or waits for its commit record to be durable.
    pub(crate) fn named(&self) -> Vec<Named> {
        let slots: Vec<_> = self.all.lock().iter().filter_map(Weak::upgrade).collect();
        slots.iter().filter_map(|slot| slot.named()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_running_transactions_are_listed() {
        let slots = Slots::new();
        let txns = txn::TxnSystem::new(TxnId(1), &[]);
        let view = txns.register_slot();
        let (a, b) = (slots.register(1, view.observer()), slots.register(2, view.observer()));
        a.start(TxnId(7), UndoPtr::NONE);
        a.unsettle().says(UndoPtr::new(1, 2));
        b.start(TxnId(8), UndoPtr::NONE);
        b.unsettle().until_cleared();
        b.clear();
        let named = |committed| [Named { txn: TxnId(7), last_undo: UndoPtr::new(1, 2), committed }];
        assert_eq!(slots.named(), named(false));
        // Nothing was logged after all.
        drop(a.unsettle());
        assert_eq!(slots.named(), named(false));
        a.unsettle().commit_logged();
        assert_eq!(slots.named(), named(true));
        a.set_client(5, 1);
        for level in LEVELS {
            a.begin(1234, level, level == Isolation::ReadCommitted);
            let info = slots.infos()[0];
            assert_eq!((info.client, info.owner, info.txn, info.begun_ms, info.isolation), (5, 1, TxnId(7), 1234, level));
            assert_eq!((slots.begun_ms(5), slots.begun_ms(6)), (Some(1234), None));
            assert_eq!((info.read_only, info.view_open), (level == Isolation::ReadCommitted, false));
        }
        drop(a);
        assert!(slots.named().is_empty());
    }
}
