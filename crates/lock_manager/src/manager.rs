//! The lock manager: locking, waiting, releasing.

use crate::cancel::{Cancel, WaitState, WaitsFor};
use crate::deadlock::Detector;
use crate::mode::LockMode;
use crate::owner::{LockId, Owner, Wait};
use crate::platform::atomic::{AtomicU64, Ordering};
use crate::platform::latch::{Mutex, MutexGuard, Rank};
use crate::platform::{Arc, CachePadded, planted};
use crate::registry::Registry;
use crate::table::{Request, Shard, Wakes};
use base::{IndexId, TxnId};
use std::hash::{BuildHasher, Hasher};
use std::time::Instant;

/// What is locked: a key of an index. Page splits move nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockKeyRef<'a> {
    /// The index.
    pub index: IndexId,
    /// The whole key.
    pub key: &'a [u8],
}

/// What to do when somebody is in the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitPolicy {
    /// Wait until then, or as long as it takes.
    Wait(Option<Instant>),
    /// `NOWAIT`: [`LockError::WouldBlock`].
    NoWait,
    /// `SKIP LOCKED`: [`LockError::WouldBlock`] too; the caller leaves the row out.
    SkipLocked,
}

/// The lock is granted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Granted {
    /// The owner did not have it: it may be given back alone by [`LockManager::release`].
    New,
    /// The owner had a weaker lock, which became this one.
    Upgraded,
    /// The owner had it before.
    Held,
}

/// The lock is not granted. What the owner holds is untouched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockError {
    /// The owner is the victim of a deadlock: its transaction must roll back.
    Deadlock,
    /// The deadline passed.
    Timeout,
    /// Somebody is in the way and the policy is not to wait.
    WouldBlock,
    /// Cancelled by [`Cancel::cancel`].
    Killed,
}

impl std::fmt::Display for LockError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            LockError::Deadlock => "victim of a deadlock",
            LockError::Timeout => "lock wait timed out",
            LockError::WouldBlock => "the lock is taken",
            LockError::Killed => "cancelled while waiting for a lock",
        })
    }
}

impl std::error::Error for LockError {}

/// Counts since the start. Only waits are counted: a lock without wait writes no shared line.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LockStats {
    /// Waits begun.
    pub waits: u64,
    /// Waiters at present.
    pub waiting: u64,
    /// Victims of deadlocks.
    pub deadlocks: u64,
    /// Waits that timed out.
    pub timeouts: u64,
}

/// See the crate's documentation.
pub struct LockManager {
    pub(crate) shards: Box<[CachePadded<Mutex<Shard>>]>,
    hasher: foldhash::fast::RandomState,
    registry: Registry,
    next_owner: CachePadded<AtomicU64>,
    pub(crate) detector: Detector,
    pub(crate) counts: CachePadded<Counts>,
}

/// Relaxed counters.
#[derive(Default)]
pub(crate) struct Counts {
    waits: AtomicU64,
    ended: AtomicU64,
    pub(crate) deadlocks: AtomicU64,
    timeouts: AtomicU64,
}

impl LockManager {
    /// A table of `shards` (rounded up to a power of two) parts.
    pub fn new(shards: usize) -> LockManager {
        let count = shards.clamp(1, 1 << 16).next_power_of_two();
        let shard = |number| CachePadded::new(Mutex::with_order(Rank::LockShard, number as u32, Shard::default()));
        LockManager {
            shards: (0..count).map(shard).collect(),
            hasher: foldhash::fast::RandomState::default(),
            registry: Registry::new(count.min(64)),
            next_owner: CachePadded::new(AtomicU64::new(1)),
            detector: Detector::new(),
            counts: CachePadded::new(Counts::default()),
        }
    }

    /// An owner without a transaction id: what a locking read needs before the first write. A session keeps one for good.
    pub fn new_owner(&self) -> Arc<Owner> {
        Arc::new(Owner::new(self.next_owner.fetch_add(1, Ordering::Relaxed)))
    }

    /// Tells the transaction id of `owner`, before the first row that carries it can be seen by others: the row then is
    /// locked implicitly, and others find the owner by the id. Undone by [`Self::release_all`].
    pub fn set_txn(&self, owner: &Arc<Owner>, txn: TxnId) {
        assert!(!txn.is_none(), "NONE owns nothing");
        {
            let mut inner = owner.inner();
            assert!(inner.txn.is_none(), "owner {} is transaction {} already", owner.number(), inner.txn);
            inner.txn = txn;
        }
        self.registry.insert(txn, owner);
    }

    /// A new owner with a transaction id: for prepared transactions and for the losers that recovery rolls back.
    pub fn register(&self, txn: TxnId) -> Arc<Owner> {
        let owner = self.new_owner();
        self.set_txn(&owner, txn);
        owner
    }

    /// The owner of an unfinished transaction that has written.
    pub fn find_owner(&self, txn: TxnId) -> Option<Arc<Owner>> {
        self.registry.find(txn)
    }

    /// Locks a key.
    pub fn lock(
        &self,
        owner: &Arc<Owner>,
        key: LockKeyRef<'_>,
        mode: LockMode,
        policy: WaitPolicy,
        cancel: &Cancel,
    ) -> Result<Granted, LockError> {
        let (hash, shard_no) = self.place(key);
        let mut shard = self.shards[shard_no as usize].lock();
        let slot = shard.find_or_insert(hash, key.index, key.key);
        self.request(shard, LockId { shard: shard_no, slot }, owner, mode, policy, cancel)
    }

    /// Locks a key whose row was written by `holder`, which was unfinished when the caller looked. The holder's implicit exclusive lock is
    /// made explicit first, if it has not begun to release; then the caller waits behind it like behind any other.
    ///
    /// A lock that the caller holds on the key itself is given up first: the row proves that it was granted too late to count.
    ///
    /// After a grant the caller must look at the row again: who holds the lock knows that `holder` has begun to release, and must
    /// find out whether the row's writer is another one by now. `still_active` is asked under the shard's latch; it must not lock anything
    /// but the transaction system's own latches.
    pub fn lock_after_implicit(
        &self,
        owner: &Arc<Owner>,
        key: LockKeyRef<'_>,
        mode: LockMode,
        holder: TxnId,
        still_active: impl Fn() -> bool,
        policy: WaitPolicy,
        cancel: &Cancel,
    ) -> Result<Granted, LockError> {
        let Some(holding) = self.registry.find(holder).filter(|holding| !Arc::ptr_eq(holding, owner)) else {
            return self.lock(owner, key, mode, policy, cancel);
        };
        let (hash, shard_no) = self.place(key);
        let mut shard = self.shards[shard_no as usize].lock();
        let slot = shard.find_or_insert(hash, key.index, key.key);
        let id = LockId { shard: shard_no, slot };
        if still_active() {
            let mut inner = holding.inner();
            // `release_all` clears the id under this latch before it looks at the list. Either it has, and the holder's lock is
            // about to vanish (the owner may even serve another transaction), or it will find the lock in the list.
            let holding_still = inner.txn == holder || planted("implicit_without_recheck");
            if holding_still {
                let is_new = shard.grant_implicit(slot, &holding);
                if is_new {
                    inner.locks.push(id);
                }
                drop(inner);
                // A lock that the caller has here itself was granted to it after it had let the row's page go and before `holder` wrote the
                // row, finding no lock: it came too late to count. Were it kept, the caller would not wait.
                if shard.revoke(slot, owner) {
                    owner.inner().forget(id);
                }
                if is_new && shard.has_waiters(slot) {
                    // Those who wait here already wait for the holder, too, from now on. That may close a cycle whose members all wait: nobody
                    // else would look for it.
                    drop(shard);
                    self.resolve_deadlocks(&holding);
                    return self.lock(owner, key, mode, policy, cancel);
                }
            }
        }
        self.request(shard, id, owner, mode, policy, cancel)
    }

    /// Gives one lock back: what READ COMMITTED does with rows that do not match. `false` when the owner did not hold it.
    pub fn release(&self, owner: &Arc<Owner>, key: LockKeyRef<'_>) -> bool {
        let (hash, shard_no) = self.place(key);
        let mut wakes = Wakes::new();
        let mut shard = self.shards[shard_no as usize].lock();
        let Some(slot) = shard.find(hash, key.index, key.key) else { return false };
        if !shard.revoke(slot, owner) {
            return false;
        }
        let id = LockId { shard: shard_no, slot };
        owner.inner().forget(id);
        shard.settle(slot, &mut wakes);
        drop(shard);
        wake(&wakes);
        true
    }

    /// Gives all locks back and forgets the transaction id: the end of a transaction, after it is finished for readers. The owner can
    /// be used again.
    pub fn release_all(&self, owner: &Arc<Owner>) {
        let (txn, mut locks) = {
            let mut inner = owner.inner();
            let spare = std::mem::take(&mut inner.spare);
            (std::mem::take(&mut inner.txn), std::mem::replace(&mut inner.locks, spare))
        };
        let mut wakes = Wakes::new();
        for id in &locks {
            let mut shard = self.shards[id.shard as usize].lock();
            let held = shard.revoke(id.slot, owner);
            assert!(held, "{owner:?} lists a lock that it does not hold");
            if !planted("release_without_hand_over") {
                shard.settle(id.slot, &mut wakes);
            }
            drop(shard);
            // Woken one lock at a time: those behind the first need not wait for the release of the thousandth.
            wake(&wakes);
            wakes.clear();
        }
        if !txn.is_none() {
            self.registry.remove(txn);
        }
        owner.reset_work();
        locks.clear();
        // A transaction with very many locks is rare; its list is not kept for the session's life.
        locks.shrink_to(1024);
        owner.inner().spare = locks;
    }

    /// Whether nobody holds or awaits a lock on `key`. The answer stands only while the caller keeps others from locking (by a latch).
    #[inline]
    pub fn is_free(&self, key: LockKeyRef<'_>) -> bool {
        let (hash, shard_no) = self.place(key);
        let shard = self.shards[shard_no as usize].lock();
        shard.find(hash, key.index, key.key).is_none()
    }

    /// Counts since the start.
    pub fn stats(&self) -> LockStats {
        let ended = self.counts.ended.load(Ordering::Relaxed);
        let waits = self.counts.waits.load(Ordering::Relaxed);
        LockStats {
            waits,
            waiting: waits.saturating_sub(ended),
            deadlocks: self.counts.deadlocks.load(Ordering::Relaxed),
            timeouts: self.counts.timeouts.load(Ordering::Relaxed),
        }
    }

    #[inline]
    fn place(&self, key: LockKeyRef<'_>) -> (u64, u32) {
        let mut hasher = self.hasher.build_hasher();
        hasher.write_u32(key.index.0);
        hasher.write(key.key);
        let hash = hasher.finish();
        // The table inside a shard uses the low bits and the top seven; the shard number comes from those between.
        (hash, (hash >> 32) as u32 & (self.shards.len() as u32 - 1))
    }

    #[inline]
    fn request(
        &self,
        mut shard: MutexGuard<'_, Shard>,
        id: LockId,
        owner: &Arc<Owner>,
        mode: LockMode,
        policy: WaitPolicy,
        cancel: &Cancel,
    ) -> Result<Granted, LockError> {
        match shard.request(id.slot, owner, mode) {
            Request::New => {
                drop(shard);
                owner.inner().locks.push(id);
                Ok(Granted::New)
            }
            Request::Upgraded => Ok(Granted::Upgraded),
            Request::Held => Ok(Granted::Held),
            Request::Blocked { upgrade } => match policy {
                WaitPolicy::NoWait | WaitPolicy::SkipLocked => Err(LockError::WouldBlock),
                WaitPolicy::Wait(deadline) => self.wait(shard, id, owner, mode, upgrade, deadline, cancel),
            },
        }
    }

    #[cold]
    #[inline(never)]
    fn wait(
        &self,
        mut shard: MutexGuard<'_, Shard>,
        id: LockId,
        owner: &Arc<Owner>,
        mode: LockMode,
        upgrade: bool,
        deadline: Option<Instant>,
        cancel: &Cancel,
    ) -> Result<Granted, LockError> {
        owner.cell.begin();
        shard.enqueue(id.slot, owner, mode, upgrade);
        let could_close = {
            let mut inner = owner.inner();
            inner.wait_seq += 1;
            inner.waiting = Some(Wait { id, mode, seq: inner.wait_seq });
            // Whoever has nothing that others could wait for closes no cycle.
            !inner.locks.is_empty() || !inner.txn.is_none()
        };
        drop(shard);
        self.counts.waits.fetch_add(1, Ordering::Relaxed);
        if could_close && !planted("no_detection") {
            self.resolve_deadlocks(owner);
        }
        let state = cancel.sleep(&owner.cell, WaitsFor::RowLock, deadline);
        self.counts.ended.fetch_add(1, Ordering::Relaxed);

        let mut inner = owner.inner();
        inner.waiting = None;
        if state == WaitState::Granted {
            if !upgrade {
                inner.locks.push(id);
            }
            return Ok(if upgrade { Granted::Upgraded } else { Granted::New });
        }
        drop(inner);
        let mut wakes = Wakes::new();
        let mut shard = self.shards[id.shard as usize].lock();
        shard.leave_queue(id.slot, owner);
        if !planted("timeout_without_hand_over") {
            // Those behind may have been held up by this request alone.
            shard.settle(id.slot, &mut wakes);
        }
        drop(shard);
        wake(&wakes);
        Err(match state {
            WaitState::Victim => LockError::Deadlock,
            WaitState::Killed => LockError::Killed,
            WaitState::TimedOut => {
                self.counts.timeouts.fetch_add(1, Ordering::Relaxed);
                LockError::Timeout
            }
            WaitState::Granted | WaitState::Idle | WaitState::Waiting => unreachable!("the wait has ended as {state:?}"),
        })
    }
}

/// Wakes those whose wait was ended, with no latch held.
pub(crate) fn wake(owners: &Wakes) {
    for owner in owners {
        owner.cell.wake();
    }
}

impl std::fmt::Debug for LockManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LockManager({} shards, {:?})", self.shards.len(), self.stats())
    }
}
