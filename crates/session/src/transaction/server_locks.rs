//! Locks of the whole server: FLUSH TABLES WITH READ LOCK and LOCK INSTANCE FOR BACKUP.
//!
//! # Invariants
//! 1. While somebody has the read lock, no statement that changes or locks rows runs, and nothing commits: who does so announces itself first
//!    ([`Announcement`]: one exchange of a word of its own and one load of a word that is seldom written), and who takes the lock waits for all
//!    who are announced.
//! 2. What is announced ends with its statement. An open transaction that runs no statement is in nobody's way until it commits.
//! 3. DDL shares the lock on definitions from before it looks at them until it is done.
//! 4. Both locks are the session's, not a transaction's.

use crate::client_session::ClientSession;
use crate::error_map::{Outcome, Undo};
use crate::shared::Shared;
use lock_manager::metadata::{ExclusiveWait, ReadOnlyGuard, Share, TableLock};
use lock_manager::shares::{Announcement, SharedTables};
use lock_manager::{LockError, Owner, WaitsFor};
use mysql_error::codes;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A session's part in them.
pub(crate) struct ServerLocks {
    changes: Announcement,
    /// FLUSH TABLES WITH READ LOCK.
    read_lock: Option<ReadOnlyGuard>,
    /// LOCK INSTANCE FOR BACKUP.
    backup: Option<ReadOnlyGuard>,
}

/// DDL is at work: no backup begins that forbids it.
pub(crate) struct DefinitionsShared(#[allow(dead_code)] SharedTables);

impl ServerLocks {
    pub(crate) fn new(shared: &Shared, owner: &Arc<Owner>) -> ServerLocks {
        ServerLocks { changes: Announcement::new(&shared.changes, owner), read_lock: None, backup: None }
    }

    /// Takes part under the session's new lock owner.
    pub(crate) fn renew(&mut self, shared: &Shared, owner: &Arc<Owner>) {
        self.changes = Announcement::new(&shared.changes, owner);
    }

    /// Asks the processor's caches for the session's sign.
    #[inline]
    pub(crate) fn bring_near(&self) {
        self.changes.bring_near();
    }

    /// Whether the session's work is announced.
    #[inline]
    pub(crate) fn is_announced(&self) -> bool {
        self.changes.is_entered()
    }

    /// Whether neither lock is held, nor any work announced.
    pub(crate) fn holds_nothing(&self) -> bool {
        self.read_lock.is_none() && self.backup.is_none() && !self.is_announced()
    }

    /// The work is done.
    #[inline]
    pub(crate) fn withdraw(&self) {
        if self.changes.is_entered() {
            self.changes.leave();
        }
    }

    /// Gives everything back.
    pub(crate) fn release(&mut self) {
        self.withdraw();
        self.read_lock = None;
        self.backup = None;
    }
}

impl ClientSession {
    /// Announces that the session is about to change something, or to commit it; [`ServerLocks::withdraw`] ends that.
    #[inline]
    pub(crate) fn announce(&mut self, what: WaitsFor) -> Result<(), Outcome> {
        self.transaction.temporary_only = false;
        if self.server_locks.is_announced() || self.server_locks.changes.enter_now() { Ok(()) } else { self.wait_to_announce(what) }
    }

    #[cold]
    fn wait_to_announce(&mut self, what: WaitsFor) -> Result<(), Outcome> {
        if self.server_locks.read_lock.is_some() {
            if what == WaitsFor::CommitLock {
                // A branch that another session has prepared.
                self.server_locks.changes.enter_regardless();
                return Ok(());
            }
            return Err(codes::cant_update_with_readlock().into());
        }
        let deadline = self.metadata_deadline();
        let entered = self.server_locks.changes.enter(Some(deadline), self.engine.asker().waiting_for(what));
        entered.map_err(|error| self.metadata_error(error))
    }

    /// When waits for metadata locks give up.
    pub(crate) fn metadata_deadline(&self) -> Instant {
        Instant::now() + Duration::from_secs(self.core.settings.lock_wait_timeout_s)
    }

    /// Why a metadata lock was not granted.
    pub(crate) fn metadata_error(&self, error: LockError) -> Outcome {
        match error {
            LockError::Killed => self.stop_error().into(),
            LockError::Deadlock => Outcome { error: codes::lock_deadlock(), undo: Undo::Transaction },
            // Only requests for rows are queued and left.
            LockError::Timeout | LockError::WouldBlock | LockError::Queued => codes::lock_wait_timeout().into(),
        }
    }

    /// Takes a lock of the whole server against writers; waits as long as for metadata.
    fn keep_writers_away(&self, lock: &Arc<TableLock>, what: WaitsFor) -> Result<ReadOnlyGuard, Outcome> {
        let wait = ExclusiveWait::until(Some(self.metadata_deadline()));
        lock.read_only(wait, self.engine.asker().waiting_for(what)).map_err(|error| self.metadata_error(error))
    }

    /// FLUSH TABLES WITH READ LOCK.
    pub(crate) fn take_read_lock(&mut self) -> Result<(), Outcome> {
        if self.transaction.has_locked_tables() {
            return Err(codes::lock_or_active_transaction().into());
        }
        self.implicit_commit()?;
        if self.server_locks.read_lock.is_none() {
            let lock = Arc::clone(&self.shared().changes);
            self.server_locks.read_lock = Some(self.keep_writers_away(&lock, WaitsFor::GlobalReadLock)?);
        }
        Ok(())
    }

    /// Ends it, when the session has it.
    pub(crate) fn release_read_lock(&mut self) {
        self.server_locks.read_lock = None;
    }

    /// LOCK INSTANCE FOR BACKUP.
    pub(crate) fn lock_instance(&mut self) -> Result<(), Outcome> {
        if self.server_locks.backup.is_none() {
            let lock = Arc::clone(&self.shared().definitions);
            self.server_locks.backup = Some(self.keep_writers_away(&lock, WaitsFor::BackupLock)?);
        }
        Ok(())
    }

    /// UNLOCK INSTANCE.
    pub(crate) fn unlock_instance(&mut self) {
        self.server_locks.backup = None;
    }

    /// Keeps backups that forbid DDL away for as long as what is returned lives. Who has forbidden it to others may do it.
    pub(crate) fn share_definitions(&mut self) -> Result<DefinitionsShared, Outcome> {
        let mut shared = SharedTables::new(self.engine.lock_owner());
        let (lock, spread) = (&self.core.shared.definitions, sync::lane());
        if self.server_locks.backup.is_none() && !shared.share_now(lock, Share::Write, spread) {
            let deadline = Some(self.metadata_deadline());
            let asker = self.engine.asker().waiting_for(WaitsFor::BackupLock);
            shared.share(lock, Share::Write, spread, deadline, asker).map_err(|error| self.metadata_error(error))?;
        }
        Ok(DefinitionsShared(shared))
    }

    /// The session's transaction was prepared, or it has ended one that was: its locks have another owner now.
    pub(crate) fn renew_lock_owner(&mut self) {
        let owner = Arc::clone(self.engine.lock_owner());
        if !self.core.user_locks.is_empty() {
            owner.note_name();
        }
        self.transaction.set_lock_owner(&owner);
        self.server_locks.renew(&self.core.shared, &owner);
        self.core.lock_owner = owner;
    }
}
