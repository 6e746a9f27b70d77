//! Who is writing now: one slot per session, read by checkpoints.
//!
//! # Invariants
//! 1. A slot names its transaction from before the first row change is logged until after the record that ends it is logged and the
//!    transaction stands in the history.
//! 2. `ending` is set before the record that ends the transaction is logged. A checkpoint that finds it set waits for the slot to be
//!    cleared: otherwise it could list as running a transaction whose end lies before the place where recovery starts to read.

use base::{TxnId, UndoPtr};
use std::sync::{Arc, Weak};
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{CachePadded, Mutex, Rank};

/// One session's running transaction. Written by its session only.
#[derive(Default)]
pub(crate) struct Slot {
    txn: AtomicU64,
    last_undo: AtomicU64,
    ending: AtomicBool,
}

impl Slot {
    /// A transaction makes its first change.
    pub(crate) fn start(&self, txn: TxnId) {
        self.last_undo.store(0, Ordering::Relaxed);
        self.ending.store(false, Ordering::Relaxed);
        // Release: pairs with the checkpoint's acquire load.
        self.txn.store(txn.0, Ordering::Release);
    }

    /// The newest undo record whose row change is logged.
    pub(crate) fn set_last_undo(&self, undo: UndoPtr) {
        self.last_undo.store(undo.0, Ordering::Release);
    }

    /// The record that ends the transaction is about to be logged.
    pub(crate) fn set_ending(&self) {
        // SeqCst: the checkpoint reads the log position, then this; the session sets this, then appends.
        self.ending.store(true, Ordering::SeqCst);
    }

    /// The transaction has ended.
    pub(crate) fn clear(&self) {
        self.txn.store(0, Ordering::Release);
        self.ending.store(false, Ordering::Release);
    }

    /// The transaction and its newest undo record, when one runs. Waits while one is ending.
    fn running(&self) -> Option<(TxnId, UndoPtr)> {
        loop {
            let txn = self.txn.load(Ordering::Acquire);
            if txn == 0 {
                return None;
            }
            let last_undo = self.last_undo.load(Ordering::Acquire);
            let ending = self.ending.load(Ordering::SeqCst);
            if !ending && self.txn.load(Ordering::Acquire) == txn {
                return Some((TxnId(txn), UndoPtr(last_undo)));
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
        a.start(TxnId(7));
        a.set_last_undo(UndoPtr::new(1, 2));
        b.start(TxnId(8));
        b.set_ending();
        b.clear();
        assert_eq!(slots.running(), [(TxnId(7), UndoPtr::new(1, 2))]);
        drop(a);
        assert!(slots.running().is_empty());
    }
}
