//! Locks on entries of secondary indexes: who has read that a row is there, or is not, asks that it stay so.
//!
//! # Invariants
//! 1. Who is told that a unique key is there locks its entry (`write/unique.rs`), and who locks gaps locks each entry that it comes by (`scan/next_key.rs`); rows are locked besides,
//!    but for those behind entries that they have left.
//! 2. Who makes a row leave an entry of a unique index asks for those locks when the row has been changed already and before the entry is marked; who brings an entry back asks
//!    under its leaf's exclusive latch.

use crate::Result;
use crate::locks::row_lock::{Obstacle, Wait};
use crate::session::Session;
use crate::table::Index;
use lock_manager::{Granted, LockKeyRef, LockMode};

impl Session {
    /// Whether somebody else has an entry locked, who has read that its row is not there, or is. With the entry's leaf latched exclusively, or with the row changed already (who
    /// locks the entry after that looks at the row behind it once more), the answer stands. One load where nobody has locked gaps of the index, as those do who lock entries.
    #[inline]
    pub(crate) fn entry_obstacle(&mut self, index: &Index, entry: &[u8]) -> Result<bool> {
        Ok(self.engine.locks.has_gap_locks(index.id, &self.owner) && self.entry_is_locked(index, entry)?)
    }

    #[cold]
    fn entry_is_locked(&mut self, index: &Index, entry: &[u8]) -> Result<bool> {
        let lock = LockKeyRef { index: index.id, key: entry };
        Ok(!self.engine.locks.is_free(lock, &self.owner) && self.try_lock(lock, LockMode::Exclusive)?.is_none())
    }

    /// Before the entry of a row that has been changed is marked: waits for those who were told that the key is there.
    #[inline]
    pub(crate) fn wait_to_leave(&mut self, index: &Index, entry: &[u8]) -> Result<()> {
        if self.entry_obstacle(index, entry)? {
            self.wait_for_row(index.id, entry, LockMode::Exclusive, Obstacle::Lock, Wait::Block)?;
        }
        Ok(())
    }

    /// Whether this transaction has locked an entry so that nobody takes it away.
    pub(crate) fn holds_entry(&mut self, index: &Index, entry: &[u8]) -> Result<bool> {
        let lock = LockKeyRef { index: index.id, key: entry };
        let granted = self.try_lock(lock, LockMode::Shared)?;
        if granted == Some(Granted::New) {
            self.engine.locks.release(&self.owner, lock);
        }
        Ok(granted == Some(Granted::Held))
    }
}
