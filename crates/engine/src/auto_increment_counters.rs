//! AUTO_INCREMENT counters that survive restarts and never go back, not even after the largest row was deleted.
//!
//! A row that moves its table's counter on carries the new value in its mini-transaction's log record. The counters that moved are listed here;
//! a checkpoint's payload carries the list, so that the log before it can be cut, and from time to time a background thread writes them into a
//! tree of their own (table id → next value), which empties the list. Whoever takes checkpoints never writes the tree: that may wait for log
//! space, and log space waits for checkpoints.
//!
//! # Invariants
//! 1. The tree, overlaid with a checkpoint's list and the log from its redo position on, is at least what any logged row used.
//! 2. A counter leaves the list only after the tree has it.
//! 3. A counter found at recovery never makes a stored one smaller.

use crate::table::Table;
use crate::{Error, Result};
use base::{PageNo, TableId};
use btree::BTree;
use std::collections::HashMap;
use std::sync::Arc;
use sync::atomic::Ordering;
use sync::{Mutex, Rank};

pub(crate) struct Counters {
    tree: BTree,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Tables whose counter moved since the tree was written.
    moved: Vec<Arc<Table>>,
    /// Found at recovery in the checkpoint and the log, until the tree has them.
    recovered: HashMap<TableId, u64>,
}

impl Counters {
    pub(crate) fn new(tree: BTree, recovered: HashMap<TableId, u64>) -> Counters {
        Counters { tree, state: Mutex::with_order(Rank::Catalog, 6, State { moved: Vec::new(), recovered }) }
    }

    pub(crate) fn root(&self) -> PageNo {
        self.tree.root
    }

    /// The counter of a table that is being opened.
    pub(crate) fn load(&self, table: TableId) -> Result<u64> {
        // The list first: what leaves it is in the tree by then.
        let recovered = self.state.lock().recovered.get(&table).copied().unwrap_or(0);
        Ok(self.stored(table)?.max(recovered))
    }

    fn stored(&self, table: TableId) -> Result<u64> {
        Ok(self.tree.get(&table.0.to_be_bytes(), |value| value.map(decode))?.transpose()?.unwrap_or(0))
    }

    /// A table's counter has moved: lists the table, unless it is listed. Called before the move is logged.
    #[inline]
    pub(crate) fn note_moved(&self, table: &Arc<Table>) {
        // SeqCst: pairs with `write_back`. Set only when the list has it, so that who finds it set may log.
        if !table.counter_noted.load(Ordering::SeqCst) {
            let mut state = self.state.lock();
            if !table.counter_noted.load(Ordering::SeqCst) {
                state.moved.push(Arc::clone(table));
                table.counter_noted.store(true, Ordering::SeqCst);
            }
        }
    }

    /// The counters that the tree does not have yet, for a checkpoint.
    pub(crate) fn snapshot(&self) -> Vec<(TableId, u64)> {
        let state = self.state.lock();
        let mut all = state.recovered.clone();
        for table in &state.moved {
            let next = all.entry(table.id).or_default();
            *next = (*next).max(table.auto_increment.load(Ordering::SeqCst));
        }
        let mut all: Vec<_> = all.into_iter().collect();
        all.sort_unstable();
        all
    }

    /// Writes the counters that moved into the tree. May wait for log space.
    pub(crate) fn write_back(&self) -> Result<()> {
        let (moved, mut recovered) = {
            let state = self.state.lock();
            (state.moved.clone(), state.recovered.iter().map(|(table, next)| (*table, *next)).collect::<Vec<_>>())
        };
        // In one order on every run: a simulated crash is repeatable.
        recovered.sort_unstable();
        for (table, next) in recovered {
            if next > self.stored(table)? {
                self.put(table, next)?;
            }
            self.state.lock().recovered.remove(&table);
        }
        for table in moved {
            let written = table.auto_increment.load(Ordering::SeqCst);
            self.put(table.id, written)?;
            table.counter_stored.store(written, Ordering::SeqCst);
            let mut state = self.state.lock();
            // SeqCst, and cleared before the value is read again: who moves the counter after that finds the flag cleared, and comes for the latch.
            table.counter_noted.store(false, Ordering::SeqCst);
            if table.auto_increment.load(Ordering::SeqCst) == written {
                state.moved.retain(|listed| !Arc::ptr_eq(listed, &table));
            } else {
                table.counter_noted.store(true, Ordering::SeqCst);
            }
        }
        Ok(())
    }

    /// Forgets the counter of a table that is not there any more.
    pub(crate) fn forget(&self, table: TableId) -> Result<()> {
        {
            let mut state = self.state.lock();
            state.moved.retain(|listed| listed.id != table);
            state.recovered.remove(&table);
        }
        let key = table.0.to_be_bytes();
        let mut leaf = self.tree.write(&key)?;
        if leaf.found().is_some() {
            leaf.remove(|_| {});
        }
        leaf.finish();
        Ok(())
    }

    /// Sets one counter.
    fn put(&self, table: TableId, next: u64) -> Result<()> {
        let key = table.0.to_be_bytes();
        let value = next.to_le_bytes();
        loop {
            let mut leaf = self.tree.write(&key)?;
            let done = if leaf.found().is_some() { leaf.replace(&value, |_| {})? } else { leaf.insert(&value, |_| {})? };
            match done {
                Ok(()) => {
                    leaf.finish();
                    return Ok(());
                }
                Err(btree::NoRoom) => {
                    drop(leaf);
                    self.tree.make_room(&key, value.len())?;
                }
            }
        }
    }
}

fn decode(value: &[u8]) -> Result<u64> {
    value.try_into().map(u64::from_le_bytes).map_err(|_| Error::corrupt("AUTO_INCREMENT counter"))
}
