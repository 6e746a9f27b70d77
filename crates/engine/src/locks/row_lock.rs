//! Row locks as writers and locking readers take them.
//!
//! # Invariants
//! 1. A row whose newest version was written by a running transaction is locked by it (implicitly). An explicit lock on an existing row
//!    counts once it was taken, or found held, under the latch of the row's leaf; so a writer that finds no explicit lock of others under the
//!    exclusive latch may write, and its transaction id in the row is the lock.
//! 2. Nobody waits for a lock with a latch held: callers drop the leaf, call [`Session::wait_for_row`], and look again. What such a wait was
//!    granted does not count if the row has a running writer by then: it may have found the lock free just before. The next wait, for
//!    that writer, gives it up (`LockManager::lock_after_implicit`).
//! 3. At READ COMMITTED a locking read keeps the rows that its statement wants, and those that it waited for.

use crate::session::Session;
use crate::table::Table;
use crate::{Error, Result};
use base::{IndexId, TxnId};
use lock_manager::{Granted, LockError, LockKeyRef, LockMode, WaitPolicy};
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
    /// Wait only if the row's last committed version matches: a scan of the primary index shows that version as [`RowLock::Unlocked`],
    /// and its reader asks for the row by its key when it wants it. Elsewhere the same as `Block`.
    IfMatches,
}

/// How the row that a locking read shows is locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowLock {
    /// By this look at it: [`Session::give_back`] may unlock it when it is not wanted.
    New,
    /// By this transaction before, or after a wait: it stays locked.
    #[default]
    Held,
    /// Not at all: somebody else has it. See [`Wait::IfMatches`].
    Unlocked,
}

impl From<Granted> for RowLock {
    fn from(granted: Granted) -> RowLock {
        match granted {
            Granted::New => RowLock::New,
            Granted::Upgraded | Granted::Held | Granted::Vanished => RowLock::Held,
        }
    }
}

/// What stands in the way of a row.
pub(crate) enum Obstacle {
    /// The row's newest version belongs to this running transaction.
    Writer(TxnId),
    /// Somebody holds an explicit lock.
    Lock,
}

impl Session {
    /// Whether this transaction wrote the version. Rows that DDL has copied have no writer, and a transaction that only reads has no id: they are not its own.
    #[inline]
    fn wrote(&self, row: RowHeader) -> bool {
        row.txn == self.txn_id() && !row.txn.is_none()
    }

    /// Under the leaf's latch: is there anything that forbids this session to write the row? Takes no lock where none is needed.
    pub(crate) fn write_obstacle(&mut self, table: &Table, key: &[u8], row: RowHeader) -> Result<Option<Obstacle>> {
        if self.wrote(row) {
            return Ok(None);
        }
        if self.locked_by_writer(row.txn) {
            return Ok(Some(Obstacle::Writer(row.txn)));
        }
        let lock = LockKeyRef { index: table.primary().id, key };
        if self.refuses_changed(row.txn) {
            return self.changed_since(lock, LockMode::Exclusive).map(Some);
        }
        if self.engine.locks.is_free(lock, &self.owner) {
            return Ok(None);
        }
        self.try_lock(lock, LockMode::Exclusive).map(|granted| granted.is_none().then_some(Obstacle::Lock))
    }

    /// Under the leaf's latch: takes an explicit lock on an existing row unless something stands in the way.
    pub(crate) fn lock_seen(
        &mut self,
        table: &Table,
        key: &[u8],
        row: RowHeader,
        mode: LockMode,
    ) -> Result<std::result::Result<RowLock, Obstacle>> {
        let lock = LockKeyRef { index: table.primary().id, key };
        if self.wrote(row) {
            if mode.has_gap() {
                self.try_lock(lock, mode.gap_only())?;
            }
            return Ok(Ok(RowLock::Held));
        }
        if self.locked_by_writer(row.txn) {
            return Ok(Err(Obstacle::Writer(row.txn)));
        }
        if self.refuses_changed(row.txn) {
            return self.changed_since(lock, mode).map(Err);
        }
        self.try_lock(lock, mode).map(|granted| granted.map(RowLock::from).ok_or(Obstacle::Lock))
    }

    /// Under the leaf's latch, the row having been changed since the snapshot: fails. A statement that may be run again locks the row before, or
    /// waits for it, so that nobody changes it once more meanwhile.
    #[cold]
    fn changed_since(&mut self, lock: LockKeyRef<'_>, mode: LockMode) -> Result<Obstacle> {
        if self.may_restart() && self.try_lock(lock, mode)?.is_none() { Ok(Obstacle::Lock) } else { Err(Error::Changed) }
    }

    /// Under the leaf's exclusive latch, while the row carries this transaction's id: keeps it locked when an older version is
    /// put back. Somebody who was granted the lock too late to count may have it at this moment; then it is theirs.
    pub(crate) fn keep_locked(&mut self, table: &Table, key: &[u8]) -> Result<()> {
        self.try_lock(LockKeyRef { index: table.primary().id, key }, LockMode::Exclusive).map(|_| ())
    }

    /// Whether rows that a locking read met and its statement does not want are unlocked: at READ COMMITTED and below.
    #[inline]
    pub fn gives_back(&self) -> bool {
        self.isolation().is_per_statement() && !self.running.closes_gaps
    }

    /// Unlocks a row that was shown as [`RowLock::New`] and is not wanted, where [`Session::gives_back`] says so.
    #[inline]
    pub fn give_back(&mut self, table: &Table, key: &[u8], lock: RowLock) {
        if lock == RowLock::New && self.gives_back() {
            self.engine.locks.release(&self.owner, LockKeyRef { index: table.primary().id, key });
        }
    }

    /// Under the leaf's exclusive latch, when nothing stood in the way: locks the row explicitly, to stay as it is. `false` when somebody who
    /// had waited for it outside the latch was granted it just now; then it is to be waited for.
    pub(crate) fn lock_in_place(&mut self, table: &Table, key: &[u8], row: RowHeader) -> Result<bool> {
        if self.wrote(row) {
            return Ok(true);
        }
        self.try_lock(LockKeyRef { index: table.primary().id, key }, LockMode::Exclusive).map(|granted| granted.is_some())
    }

    /// Takes a lock if nobody is in the way.
    pub(crate) fn try_lock(&mut self, lock: LockKeyRef<'_>, mode: LockMode) -> Result<Option<Granted>> {
        self.running.may_hold_locks = true;
        match self.engine.locks.lock(&self.owner, lock, mode, WaitPolicy::NoWait, &self.cancel) {
            Ok(granted) => {
                self.note_granted(lock, mode, granted);
                Ok(Some(granted))
            }
            Err(LockError::WouldBlock) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// [`Session::wait_for_row`] by somebody who has locked the gap before the row under the latch: nothing comes before it meanwhile. A gap that was
    /// locked for this wait only, on a key of which this transaction had nothing, is given back when the wait comes to nothing.
    pub(crate) fn wait_behind_gap(
        &mut self,
        index: IndexId,
        key: &[u8],
        mode: LockMode,
        obstacle: Obstacle,
        wait: Wait,
        gap_is_new: bool,
    ) -> Result<bool> {
        let waited = self.wait_for_row(index, key, mode, obstacle, wait);
        if gap_is_new && !matches!(waited, Ok(true)) {
            self.engine.locks.release_gap(&self.owner, LockKeyRef { index, key });
        }
        waited
    }

    /// With no latch held: waits until the obstacle is gone and this session holds the lock. `Ok(false)` when the row is to be skipped.
    pub(crate) fn wait_for_row(&mut self, index: IndexId, key: &[u8], mode: LockMode, obstacle: Obstacle, wait: Wait) -> Result<bool> {
        self.wait_for_grant(index, key, mode, obstacle, wait).map(|granted| granted.is_some())
    }

    /// With no latch held: asks for a lock, up to `innodb_lock_wait_timeout`. If it is to be waited for, what the statement has locked ahead is given back first.
    pub(crate) fn waiting(
        &mut self,
        ask: impl Fn(&Session, WaitPolicy) -> std::result::Result<Granted, LockError>,
    ) -> std::result::Result<Granted, LockError> {
        if self.is_ahead() {
            match ask(self, WaitPolicy::NoWait) {
                Err(LockError::WouldBlock) => self.let_go_ahead(),
                answer => return answer,
            }
        }
        let until = self.lock_deadline();
        let answer = ask(self, self.wait_policy(until));
        if answer == Err(LockError::Queued) {
            self.left.until = until;
        }
        answer
    }

    /// [`Session::wait_for_row`] that tells what was granted.
    pub(crate) fn wait_for_grant(
        &mut self,
        index: IndexId,
        key: &[u8],
        mode: LockMode,
        obstacle: Obstacle,
        wait: Wait,
    ) -> Result<Option<Granted>> {
        let lock = LockKeyRef { index, key };
        self.running.may_hold_locks = true;
        let ask = |session: &Session, policy: WaitPolicy| {
            let Session { engine, owner, cancel, .. } = session;
            match obstacle {
                Obstacle::Writer(holder) => {
                    engine.locks.lock_after_implicit(owner, lock, mode, holder, || engine.txns.holds_locks(holder), policy, cancel)
                }
                Obstacle::Lock => engine.locks.lock(owner, lock, mode, policy, cancel),
            }
        };
        let granted = match wait {
            Wait::Block | Wait::IfMatches => self.waiting(ask),
            Wait::NoWait | Wait::SkipLocked => ask(self, WaitPolicy::NoWait),
        };
        match granted {
            Ok(granted) => {
                self.note_granted(lock, mode, granted);
                Ok(Some(granted))
            }
            Err(LockError::WouldBlock) if wait == Wait::SkipLocked => Ok(None),
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
            LockError::Queued => Error::Waits,
        }
    }
}
