//! The AUTO-INC lock of a table: who holds it is alone in taking AUTO_INCREMENT values, to the end of its statement (`innodb_autoinc_lock_mode` 0 and 1).
//!
//! It lives in the lock table like a row's lock, so that waiting, deadlocks and `data_locks` are those of all locks. Its key is the end of an index
//! that does not exist: the primary index's number with [`lock_manager::AUTO_INCREMENT_BIT`].

use crate::error::Result;
use crate::session::Session;
use crate::table::Table;
use lock_manager::{LockKeyRef, LockMode};

impl Session {
    /// Takes the lock, waiting up to `innodb_lock_wait_timeout`. `false` when the session has it already.
    pub fn lock_auto_increment(&mut self, table: &Table) -> Result<bool> {
        let key = LockKeyRef::auto_increment(table.primary().id);
        self.running.may_hold_locks = true;
        let granted =
            self.waiting(|session, policy| session.engine.locks.lock(&session.owner, key, LockMode::Exclusive, policy, &session.cancel))?;
        Ok(granted == lock_manager::Granted::New)
    }

    /// Whether somebody holds the lock or waits for it.
    pub fn is_auto_increment_locked(&self, table: &Table) -> bool {
        self.engine.locks.is_locked(LockKeyRef::auto_increment(table.primary().id))
    }

    /// Gives it back: the statement is done.
    pub fn unlock_auto_increment(&mut self, table: &Table) {
        // Not held any more when the transaction was rolled back meanwhile.
        self.engine.locks.release(&self.owner, LockKeyRef::auto_increment(table.primary().id));
    }
}
