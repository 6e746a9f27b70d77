//! Row locks as writers and locking readers take them.
//!
//! # Invariants
//! 1. A row whose newest version was written by a running transaction is locked by it (implicitly). An explicit lock on an existing row
//!    counts once it was taken, or found held, under the latch of the row's leaf; so a writer that finds no explicit lock of others under the
//!    exclusive latch may write, and its transaction id in the row is the lock.
//! 2. Nobody waits for a lock with a latch held: callers drop the leaf, call [`Session::wait_for_row`], and look again. What such a wait was
//!    granted does not count if the row has a running writer by then: it may have found the lock free just before. The next wait, for
//!    that writer, gives it up (`LockManager::lock_after_implicit`).

use crate::session::Session;
use crate::table::Table;
use crate::{Error, Result};
use base::{IndexId, TxnId};
use lock_manager::{LockError, LockKeyRef, LockMode, WaitPolicy};
use record::header::RowHeader;

/// How a read locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// A consistent read: the version that the transaction's view sees, no lock.
    Snapshot,
    /// The newest committed version, locked against change (`FOR SHARE`).
    Share(Wait),
    /// The newest committed version, locked against change and locking reads (`FOR UPDATE`, and the reads of UPDATE and DELETE).
    Exclusive(Wait),
}

/// What to do about a row that somebody else has locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Wait up to `innodb_lock_wait_timeout`.
    Block,
    /// Fail at once.
    NoWait,
    /// Leave the row out.
    SkipLocked,
}

/// What stands in the way of a row.
pub(crate) enum Obstacle {
    /// The row's newest version belongs to this running transaction.
    Writer(TxnId),
    /// Somebody holds an explicit lock.
    Lock,
}

impl Session {
    /// Under the leaf's latch: is there anything that forbids this session to write the row? Takes no lock where none is needed.
    pub(crate) fn write_obstacle(&mut self, table: &Table, key: &[u8], row: RowHeader) -> Result<Option<Obstacle>> {
        if row.txn == self.txn_id() {
            return Ok(None);
        }
        if self.engine.txns.is_active(row.txn) {
            return Ok(Some(Obstacle::Writer(row.txn)));
        }
        let lock = LockKeyRef { index: table.primary().id, key };
        if self.engine.locks.is_free(lock) {
            return Ok(None);
        }
        self.try_lock(lock, LockMode::Exclusive).map(|granted| (!granted).then_some(Obstacle::Lock))
    }

    /// Under the leaf's latch: takes an explicit lock on an existing row unless something stands in the way.
    pub(crate) fn read_obstacle(&mut self, table: &Table, key: &[u8], row: RowHeader, mode: LockMode) -> Result<Option<Obstacle>> {
        if row.txn == self.txn_id() {
            return Ok(None);
        }
        if self.engine.txns.is_active(row.txn) {
            return Ok(Some(Obstacle::Writer(row.txn)));
        }
        let lock = LockKeyRef { index: table.primary().id, key };
        self.try_lock(lock, mode).map(|granted| (!granted).then_some(Obstacle::Lock))
    }

    /// Under the leaf's exclusive latch, when nothing stood in the way: locks the row explicitly, to stay as it is. `false` when somebody who
    /// had waited for it outside the latch was granted it just now; then it is to be waited for.
    pub(crate) fn lock_in_place(&mut self, table: &Table, key: &[u8], row: RowHeader) -> Result<bool> {
        if row.txn == self.txn_id() {
            return Ok(true);
        }
        self.try_lock(LockKeyRef { index: table.primary().id, key }, LockMode::Exclusive)
    }

    fn try_lock(&mut self, lock: LockKeyRef<'_>, mode: LockMode) -> Result<bool> {
        self.running.may_hold_locks = true;
        match self.engine.locks.lock(&self.owner, lock, mode, WaitPolicy::NoWait, &self.cancel) {
            Ok(_) => Ok(true),
            Err(LockError::WouldBlock) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// With no latch held: waits until the obstacle is gone and this session holds the lock. `Ok(false)` when the row is to be skipped.
    pub(crate) fn wait_for_row(&mut self, index: IndexId, key: &[u8], mode: LockMode, obstacle: Obstacle, wait: Wait) -> Result<bool> {
        let lock = LockKeyRef { index, key };
        let policy = match wait {
            Wait::Block => WaitPolicy::Wait(self.lock_deadline()),
            Wait::NoWait => WaitPolicy::NoWait,
            Wait::SkipLocked => WaitPolicy::NoWait,
        };
        self.running.may_hold_locks = true;
        let engine = &self.engine;
        let granted = match obstacle {
            Obstacle::Writer(holder) => {
                engine.locks.lock_after_implicit(&self.owner, lock, mode, holder, || engine.txns.is_active(holder), policy, &self.cancel)
            }
            Obstacle::Lock => engine.locks.lock(&self.owner, lock, mode, policy, &self.cancel),
        };
        match granted {
            Ok(_) => Ok(true),
            Err(LockError::WouldBlock) if wait == Wait::SkipLocked => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl From<LockError> for Error {
    fn from(error: LockError) -> Error {
        match error {
            LockError::Deadlock => Error::Deadlock,
            LockError::Timeout => Error::LockWaitTimeout,
            LockError::WouldBlock => Error::LockNotAvailable,
            LockError::Killed => Error::Killed,
        }
    }
}
