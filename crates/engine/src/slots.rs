//! Who is writing now: one slot per session, read by checkpoints.
//!
//! # Invariants
//! 1. A slot names its transaction from before the first row change is logged until after the record that ends it is logged and the
//!    transaction stands in the history.
//! 2. `unsettled` is set before a record that changes what the slot says is logged (a row change, a step back, the end), and cleared after
//!    the slot says it. A checkpoint that finds it set waits: otherwise it could write down a state from before a record that lies before the
//!    place where recovery starts to read, and the record would be lost. Nothing is waited for while it is set but page latches and the ring.

use crate::session::Isolation;
use base::{TxnId, UndoPtr};
use std::sync::{Arc, Weak};
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{CachePadded, Mutex, Rank};
use txn::ViewObserver;

/// One session's running transaction. Written by its session only.
#[derive(Default)]
pub(crate) struct Slot {
    txn: AtomicU64,
    last_undo: AtomicU64,
    /// Release on set and clear. Who has read the log position past a record has, by that, the `unsettled` that was set before it.
    unsettled: AtomicBool,
    /// When the transaction began, its level and kind; see [`Slot::begin`]. For lists only: relaxed, like the two below.
    begun: AtomicU64,
    client: AtomicU64,
    owner: AtomicU64,
    /// Whether the session has a view open.
    view: Option<ViewObserver>,
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

    /// A record is about to be logged after which the slot will be set to something else.
    #[inline]
    pub(crate) fn unsettle(&self) {
        self.unsettled.store(true, Ordering::Release);
    }

    /// It was not logged after all.
    #[inline]
    pub(crate) fn settle(&self) {
        self.unsettled.store(false, Ordering::Release);
    }

    /// The newest undo record whose row change is logged and not taken back.
    #[inline]
    pub(crate) fn set_last_undo(&self, undo: UndoPtr) {
        self.last_undo.store(undo.0, Ordering::Release);
        self.unsettled.store(false, Ordering::Release);
    }

    /// The transaction has ended.
    pub(crate) fn clear(&self) {
        self.txn.store(0, Ordering::Release);
        self.unsettled.store(false, Ordering::Release);
    }

    /// The transaction and its newest undo record, when one runs. Waits while that is about to change.
    fn running(&self) -> Option<(TxnId, UndoPtr)> {
        loop {
            let txn = self.txn.load(Ordering::Acquire);
            if txn == 0 {
                return None;
            }
            if !self.unsettled.load(Ordering::Acquire) {
                // Acquire and after the flag: at least what the last settled record left. A newer one lies past the log position that
                // the checkpoint has read, and recovery learns it from the log.
                let last_undo = self.last_undo.load(Ordering::Acquire);
                if self.txn.load(Ordering::Acquire) == txn {
                    return Some((TxnId(txn), UndoPtr(last_undo)));
                }
            }
            sync::thread::yield_now();
        }
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

    /// Whether a slot still names the transaction: it runs, or is about to enter the history.
    pub(crate) fn names(&self, txn: TxnId) -> bool {
        self.all.lock().iter().filter_map(Weak::upgrade).any(|slot| slot.txn.load(Ordering::Acquire) == txn.0)
    }

    /// Every session as it is now, whether it has a transaction or not.
    pub(crate) fn infos(&self) -> Vec<TransactionInfo> {
        let slots: Vec<_> = self.all.lock().iter().filter_map(Weak::upgrade).collect();
        slots.iter().map(|slot| slot.info()).collect()
    }

    /// Every running transaction with its newest undo record.
    pub(crate) fn running(&self) -> Vec<(TxnId, UndoPtr)> {
        let slots: Vec<_> = self.all.lock().iter().filter_map(Weak::upgrade).collect();
        slots.iter().filter_map(|slot| slot.running()).collect()
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
        a.unsettle();
        a.set_last_undo(UndoPtr::new(1, 2));
        b.start(TxnId(8), UndoPtr::NONE);
        b.unsettle();
        b.clear();
        assert_eq!(slots.running(), [(TxnId(7), UndoPtr::new(1, 2))]);
        a.set_client(5, 1);
        for level in LEVELS {
            a.begin(1234, level, level == Isolation::ReadCommitted);
            let info = slots.infos()[0];
            assert_eq!((info.client, info.owner, info.txn, info.begun_ms, info.isolation), (5, 1, TxnId(7), 1234, level));
            assert_eq!((info.read_only, info.view_open), (level == Isolation::ReadCommitted, false));
        }
        drop(a);
        assert!(slots.running().is_empty());
    }
}
