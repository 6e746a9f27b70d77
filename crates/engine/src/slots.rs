//! Who is writing now: one slot per session, read by checkpoints.
//!
//! # Invariants
//! 1. A slot names its transaction from before the first row change is logged until after the record that ends it is logged and the
//!    transaction stands in the history.
//! 2. `unsettled` is set before a record that changes what the slot says is logged (a row change, a step back, the end), and cleared after
//!    the slot says it. A checkpoint that finds it set waits: otherwise it could write down a state from before a record that lies before the
//!    place where recovery starts to read, and the record would be lost. Nothing is waited for while it is set but page latches and the ring.

use base::{TxnId, UndoPtr};
use std::sync::{Arc, Weak};
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{CachePadded, Mutex, Rank};

/// One session's running transaction. Written by its session only.
#[derive(Default)]
pub(crate) struct Slot {
    txn: AtomicU64,
    last_undo: AtomicU64,
    /// Release on set and clear. Who has read the log position past a record has, by that, the `unsettled` that was set before it.
    unsettled: AtomicBool,
}

impl Slot {
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

    pub(crate) fn register(&self) -> Arc<CachePadded<Slot>> {
        let slot = Arc::new(CachePadded::new(Slot::default()));
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
        let (a, b) = (slots.register(), slots.register());
        a.start(TxnId(7), UndoPtr::NONE);
        a.unsettle();
        a.set_last_undo(UndoPtr::new(1, 2));
        b.start(TxnId(8), UndoPtr::NONE);
        b.unsettle();
        b.clear();
        assert_eq!(slots.running(), [(TxnId(7), UndoPtr::new(1, 2))]);
        drop(a);
        assert!(slots.running().is_empty());
    }
}
