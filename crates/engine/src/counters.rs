//! AUTO_INCREMENT counters that survive restarts and never go back, not even after the largest row was deleted.
//!
//! A row that moves its table's counter on carries the new value in its mini-transaction's log record. Checkpoints write the counters
//! that moved into a tree of their own (table id → next value), so that the log before them can be cut.
//!
//! # Invariants
//! 1. The tree, overlaid with the log from the checkpoint's redo position on, is at least what any logged row used.

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
    /// Tables whose counter moved since the last write-back.
    moved: Vec<Arc<Table>>,
    /// Found in the log at recovery, until the table is opened or the next write-back.
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
        let recovered = self.state.lock().recovered.get(&table).copied().unwrap_or(0);
        let stored = self.tree.get(&table.0.to_be_bytes(), |value| value.map(decode))?.transpose()?.unwrap_or(0);
        Ok(stored.max(recovered))
    }

    /// A table's counter moved for the first time since the last write-back.
    pub(crate) fn note_moved(&self, table: &Arc<Table>) {
        self.state.lock().moved.push(Arc::clone(table));
    }

    /// Writes the counters that moved into the tree.
    pub(crate) fn write_back(&self) -> Result<()> {
        let (moved, recovered) = {
            let mut state = self.state.lock();
            (std::mem::take(&mut state.moved), std::mem::take(&mut state.recovered))
        };
        let mut recovered: Vec<_> = recovered.into_iter().collect();
        recovered.sort_unstable();
        for (table, next) in recovered {
            self.put(table, next)?;
        }
        for table in moved {
            // Cleared before the value is read: a counter that moves after the read is noted again.
            table.counter_noted.store(false, Ordering::SeqCst);
            self.put(table.id, table.auto_increment.load(Ordering::SeqCst))?;
        }
        Ok(())
    }

    /// Sets one counter, up or down; DDL's way to start a table anew.
    pub(crate) fn put(&self, table: TableId, next: u64) -> Result<()> {
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
