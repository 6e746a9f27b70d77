//! Who holds locks: a transaction, known by a number of its own and, once it has written, by its transaction id.

use crate::cancel::{WaitCell, WaitOver, WaitState};
use crate::manager::Granted;
use crate::mode::LockMode;
use crate::outside::{Outside, OutsideWait};
use crate::platform::Arc;
use crate::platform::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use crate::platform::latch::{Mutex, MutexGuard, Rank};
use crate::shares::Hold;
use base::{IndexId, Lsn, TxnId};
use std::time::Instant;

/// Place of a locked key: stays the same while anybody holds or awaits the lock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct LockId {
    pub(crate) shard: u32,
    pub(crate) slot: u32,
}

/// A wait that has begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wait {
    pub(crate) id: LockId,
    pub(crate) mode: LockMode,
    /// Its place in the key's queue.
    pub(crate) ticket: u64,
    /// Counts the owner's waits, to tell one from the next.
    pub(crate) seq: u64,
    /// When it began.
    pub(crate) since: Instant,
}

/// Holder of locks. One per session; used again for its next transaction after [`crate::LockManager::release_all`].
pub struct Owner {
    number: u64,
    /// See [`Owner::client`].
    client: AtomicU64,
    /// Rows changed: how much is lost when this one is the victim of a deadlock.
    work: AtomicU64,
    /// Waiters that this owner's locks hold up, by the keys' own books. Relaxed: it only orders queues.
    waited_by: AtomicU32,
    /// Whether its transaction locks gaps (REPEATABLE READ and above). Relaxed: only its own thread writes, between transactions.
    locks_gaps: AtomicBool,
    /// The locks are being given back: none may be added. Set under the latch of `inner`, and asked under it by others. Cleared without it, with
    /// nothing held any more; who meets a lock of the next transaction has the shard's latch from it, and so sees that.
    releasing: AtomicBool,
    /// See [`Owner::comes_after`]. Relaxed: only its own thread uses it.
    comes_after: AtomicU64,
    /// Mark of the deadlock search; only used under the detector's latch.
    pub(crate) visited: AtomicU64,
    pub(crate) cell: Arc<WaitCell>,
    inner: Mutex<OwnerInner>,
    /// Locks other than those of rows: see `outside.rs`.
    outside: Mutex<Outside>,
    /// Whether it waits there. SeqCst, as the state of `cell`: of two who begin to wait for each other at least one sees the other wait.
    waits_outside: AtomicBool,
    /// Whether it has ever taken a lock with a name.
    names: AtomicBool,
}

#[derive(Default)]
pub(crate) struct OwnerInner {
    /// Set at the first write, cleared when the release begins: what decides whether an implicit lock can still be made explicit.
    pub(crate) txn: TxnId,
    pub(crate) locks: Vec<LockId>,
    /// Indexes in which it has spans (`spans.rs`).
    pub(crate) spans: Vec<IndexId>,
    pub(crate) waiting: Option<Wait>,
    pub(crate) wait_seq: u64,
    /// How the wait was granted, set by who grants it.
    pub(crate) outcome: Granted,
    /// Counts releases of all locks: which transaction of the owner's it is.
    pub(crate) epoch: u64,
    /// Where the commit of the last such release ends in the log, if readers did not see it yet.
    pub(crate) commit: Lsn,
    /// Counts gaps that removed records left to it.
    pub(crate) inherited: u64,
}

/// A moment in an owner's transaction: as long as it is not over nothing was added to its locks but what it asked for itself.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LockMark {
    epoch: u64,
    inherited: u64,
}

impl OwnerInner {
    pub(crate) fn mark(&self) -> LockMark {
        LockMark { epoch: self.epoch, inherited: self.inherited }
    }

    /// Takes a lock that was revoked off the list.
    pub(crate) fn forget(&mut self, id: LockId) {
        let at = self.locks.iter().rposition(|held| *held == id).expect("a granted lock is in its owner's list");
        self.locks.swap_remove(at);
    }
}

impl Owner {
    pub(crate) fn new(number: u64) -> Owner {
        Owner {
            number,
            client: AtomicU64::new(0),
            work: AtomicU64::new(0),
            waited_by: AtomicU32::new(0),
            locks_gaps: AtomicBool::new(true),
            releasing: AtomicBool::new(false),
            comes_after: AtomicU64::new(0),
            visited: AtomicU64::new(0),
            cell: Arc::new(WaitCell::new()),
            inner: Mutex::new(Rank::Leaf, OwnerInner::default()),
            outside: Mutex::new(Rank::Leaf, Outside::default()),
            waits_outside: AtomicBool::new(false),
            names: AtomicBool::new(false),
        }
    }

    /// A number no other owner has.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whom it works for, by a number that means something above (a connection's id); 0 for nobody.
    pub fn client(&self) -> u64 {
        // Relaxed: a label, nothing is read through it.
        self.client.load(Ordering::Relaxed)
    }

    /// Sets whom it works for.
    pub fn set_client(&self, client: u64) {
        self.client.store(client, Ordering::Relaxed);
    }

    /// The transaction id, `NONE` before the first write and after the release.
    pub fn txn(&self) -> TxnId {
        self.inner.lock().txn
    }

    /// Adds rows changed.
    #[inline]
    pub fn add_work(&self, rows: u64) {
        // Only its own thread writes; the detector reads. A plain store is cheaper than a locked add.
        self.work.store(self.work.load(Ordering::Relaxed) + rows, Ordering::Relaxed);
    }

    /// Rows changed since the last release.
    pub fn work(&self) -> u64 {
        self.work.load(Ordering::Relaxed)
    }

    /// How far the log must be durable for readers to see all transactions that have had this owner's locks before it, those of earlier
    /// transactions of its own included. It may be too far, never too near.
    #[inline]
    pub fn comes_after(&self) -> Lsn {
        Lsn(self.comes_after.load(Ordering::Relaxed))
    }

    #[inline]
    pub(crate) fn come_after(&self, released: Lsn) {
        if released.0 > self.comes_after.load(Ordering::Relaxed) {
            self.comes_after.store(released.0, Ordering::Relaxed);
        }
    }

    /// Tells whether the transaction that begins locks gaps: at READ COMMITTED and below a removed record leaves its lockers nothing.
    #[inline]
    pub fn set_locks_gaps(&self, locks_gaps: bool) {
        self.locks_gaps.store(locks_gaps, Ordering::Relaxed);
    }

    pub(crate) fn locks_gaps(&self) -> bool {
        self.locks_gaps.load(Ordering::Relaxed)
    }

    pub(crate) fn set_releasing(&self, releasing: bool) {
        self.releasing.store(releasing, Ordering::Release);
    }

    pub(crate) fn is_releasing(&self) -> bool {
        self.releasing.load(Ordering::Acquire)
    }

    /// How many wait for what this owner holds: the more, the sooner its own waits are granted.
    pub fn waited_by(&self) -> u32 {
        self.waited_by.load(Ordering::Relaxed)
    }

    pub(crate) fn add_waited_by(&self, waiters: u32) {
        if waiters > 0 {
            self.waited_by.fetch_add(waiters, Ordering::Relaxed);
        }
    }

    pub(crate) fn take_waited_by(&self, waiters: u32) {
        if waiters > 0 {
            self.waited_by.fetch_sub(waiters, Ordering::Relaxed);
        }
    }

    /// How many locks it holds.
    pub fn lock_count(&self) -> usize {
        self.inner.lock().locks.len()
    }

    pub(crate) fn inner(&self) -> MutexGuard<'_, OwnerInner> {
        self.inner.lock()
    }

    pub(crate) fn reset_work(&self) {
        self.work.store(0, Ordering::Relaxed);
    }

    pub(crate) fn waiting(&self) -> Option<Wait> {
        self.inner.lock().waiting
    }

    /// Sets who is told when a wait for a row is over that was left. `false` where another one is.
    pub fn tell(&self, told: &std::sync::Arc<dyn WaitOver>) -> bool {
        self.cell.tell(told)
    }

    /// Whether no wait goes on that was left.
    pub fn wait_is_over(&self) -> bool {
        self.cell.state() != WaitState::Waiting
    }

    /// What tells the queue in which it waits for a row apart from others in which somebody waits; 0 where it waits in none. Asked by who has left the wait.
    pub fn queue(&self) -> u64 {
        self.waiting().map_or(0, |wait| u64::from(wait.id.shard) << 32 | u64::from(wait.id.slot))
    }

    /// The time of a left wait is over; `false` where it has ended by itself. The caller sees to it that [`crate::LockManager::end_left_wait`] follows: nobody is told.
    pub fn time_out(&self) -> bool {
        self.cell.end(WaitState::TimedOut)
    }

    pub(crate) fn outside(&self) -> MutexGuard<'_, Outside> {
        self.outside.lock()
    }

    pub(crate) fn add_hold(&self, hold: &Arc<Hold>) {
        self.outside.lock().holds.push(Arc::clone(hold));
    }

    pub(crate) fn remove_holds(&self, is_gone: impl Fn(&Arc<Hold>) -> bool) {
        self.outside.lock().holds.retain(|hold| !is_gone(hold));
    }

    /// Its session falls silent: lists that are empty give their memory back, and that of what it keeps is made anew, of its size.
    pub fn pack(&self) {
        {
            let mut inner = self.inner.lock();
            if inner.locks.is_empty() {
                inner.locks = Vec::new();
            }
            if inner.spans.is_empty() {
                inner.spans = Vec::new();
            }
        }
        let mut outside = self.outside.lock();
        let mut holds = Vec::with_capacity(outside.holds.len());
        holds.append(&mut outside.holds);
        outside.holds = holds;
    }

    /// It has a lock with a name, or had one.
    pub fn note_name(&self) {
        self.names.store(true, Ordering::Relaxed);
    }

    /// Whether others may wait for it. Asked by its own thread.
    pub(crate) fn holds_something(&self) -> bool {
        let rows = {
            let inner = self.inner.lock();
            !inner.locks.is_empty() || !inner.txn.is_none()
        };
        rows || self.names.load(Ordering::Relaxed) || self.outside.lock().holds.iter().any(|hold| hold.is_held())
    }

    pub(crate) fn begin_outside(&self, wait: OutsideWait) {
        self.outside.lock().waiting = Some(wait);
        self.waits_outside.store(true, Ordering::SeqCst);
    }

    pub(crate) fn end_outside(&self) {
        self.waits_outside.store(false, Ordering::SeqCst);
        self.outside.lock().waiting = None;
    }

    /// Whether it waits for anything at this moment.
    pub(crate) fn waits(&self) -> bool {
        self.cell.is_waiting() || self.waits_outside.load(Ordering::SeqCst)
    }
}

impl std::fmt::Debug for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Owner({}, txn {})", self.number, self.txn())
    }
}
