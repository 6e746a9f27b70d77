//! Entries that a rollback marked because older versions seemed to need them: purge asks for them until nobody does.
//!
//! Undo records stay readable for a while after purge has released them, so a rollback that walks a row's older versions may take one for
//! needed whose purge is over. Nobody else would ever remove the entry then, so the rollback itself puts it on this list.
//!
//! # Invariants
//! 1. Each marked entry has somebody answerable for it: the unpurged undo record of the transaction that marked it, or this list.
//! 2. An entry is on the list before its mark is logged, the log record names it, and it leaves the list after its removal is
//!    logged; so the list in a checkpoint's payload with the log from there on has all of them.

use crate::Result;
use crate::engine::Engine;
use crate::session::Session;
use crate::write::secondary::{Remove, Removed};
use base::{IndexId, TableId};
use lock_manager::WaitPolicy;
use lock_manager::metadata::Share;
use std::sync::Arc;
use sync::{Mutex, Rank};

/// A marked entry that is to be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Leftover {
    pub table: TableId,
    pub index: IndexId,
    pub key: Vec<u8>,
}

pub(crate) struct Leftovers {
    all: Mutex<Vec<Leftover>>,
}

impl Leftovers {
    pub(crate) fn new(all: Vec<Leftover>) -> Leftovers {
        Leftovers { all: Mutex::new(Rank::Leaf, all) }
    }

    pub(crate) fn push(&self, leftover: Leftover) {
        self.all.lock().push(leftover);
    }

    pub(crate) fn snapshot(&self) -> Vec<Leftover> {
        self.all.lock().clone()
    }
}

impl Engine {
    /// Asks for each listed entry once; returns how many are dealt with.
    pub(crate) fn purge_leftovers(self: &Arc<Engine>, session: &mut Session) -> usize {
        let mut count = 0;
        for leftover in self.leftovers.snapshot() {
            match self.purge_leftover(session, &leftover) {
                Ok(Removed::AskAgain) => continue,
                Ok(Removed::Settled) => {}
                Err(error) => (self.config.on_warning)(&format!("purge of an entry of index {}: {error}", leftover.index)),
            }
            count += 1;
            let mut all = self.leftovers.all.lock();
            if let Some(at) = all.iter().position(|listed| *listed == leftover) {
                all.swap_remove(at);
            }
        }
        count
    }

    fn purge_leftover(self: &Arc<Engine>, session: &mut Session, leftover: &Leftover) -> Result<Removed> {
        loop {
            let Some(table) = self.table_by_id(leftover.table)? else { return Ok(Removed::Settled) };
            let _shared = table.lock.share(Share::Definition, session.shard, WaitPolicy::Wait(None), &session.cancel)?;
            if self.is_current(&table) {
                let Some(index) = table.index_by_id(leftover.index) else { return Ok(Removed::Settled) };
                let seen_by_all = self.txns.purge_limit().below;
                return session.remove_entry(&table, index, &leftover.key, Remove::Swept { seen_by_all });
            }
        }
    }
}
