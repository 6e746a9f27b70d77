//! The lock manager: locking, waiting, releasing.

use crate::cancel::{Cancel, WaitState, WaitsFor};
use crate::deadlock::Detector;
use crate::gaps::GapCounts;
use crate::holders::GapChange;
use crate::mode::LockMode;
use crate::owner::{LockId, LockMark, Owner, Wait};
use crate::platform::atomic::{AtomicU64, Ordering};
use crate::platform::latch::{Mutex, MutexGuard, Rank};
use crate::platform::{Arc, CachePadded, Weak, planted};
use crate::registry::Registry;
use crate::spans::Spans;
use crate::table::{Heir, Request, Shard, Wakes};
use base::{IndexId, Lsn, TxnId};
use foldhash::SharedSeed;
use foldhash::fast::SeedableRandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::Instant;

/// What is locked: a key of an index. Page splits move nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockKeyRef<'a> {
    /// The index.
    pub index: IndexId,
    /// The whole key; empty for the end of the index, behind its last record ("supremum"). No record's key is empty.
    pub key: &'a [u8],
}

impl LockKeyRef<'_> {
    /// The AUTO_INCREMENT counter of the table with this primary index.
    pub fn auto_increment(primary: IndexId) -> LockKeyRef<'static> {
        LockKeyRef { index: IndexId(primary.0 | AUTO_INCREMENT_BIT), key: &[] }
    }

    /// The end of an index: the gap behind its last record is locked there.
    pub fn supremum(index: IndexId) -> LockKeyRef<'static> {
        LockKeyRef { index, key: &[] }
    }
}

/// Set in the number of an index: not its keys are locked but its table's AUTO_INCREMENT counter. Indexes are numbered from 1 on and never so high.
pub const AUTO_INCREMENT_BIT: u32 = 1 << 31;

/// What to do when somebody is in the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitPolicy {
    /// Wait until then, or as long as it takes.
    Wait(Option<Instant>),
    /// `NOWAIT`: [`LockError::WouldBlock`].
    NoWait,
    /// `SKIP LOCKED`: [`LockError::WouldBlock`] too; the caller leaves the row out.
    SkipLocked,
    /// Wait without this thread: [`LockError::Queued`]. Only where somebody is told when it is over ([`crate::Owner::tell`]), who has
    /// [`LockManager::end_left_wait`] called; nobody but the caller looks at the time.
    Leave,
}

/// The lock is granted.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Granted {
    /// The owner did not have it: it may be given back alone by [`LockManager::release`].
    #[default]
    New,
    /// The owner had less of this key, which became this.
    Upgraded,
    /// The owner had it before.
    Held,
    /// The wait is over because the record was removed: nothing is locked but perhaps the gap it left. Look again.
    Vanished,
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
    /// It stands in the queue: [`WaitPolicy::Leave`].
    Queued,
}

impl std::fmt::Display for LockError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            LockError::Deadlock => "victim of a deadlock",
            LockError::Timeout => "lock wait timed out",
            LockError::WouldBlock => "the lock is taken",
            LockError::Killed => "cancelled while waiting for a lock",
            LockError::Queued => "waits for a lock",
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
    /// Microseconds that waits took that are over.
    pub wait_micros: u64,
    /// The longest of them.
    pub wait_micros_max: u64,
    /// Searches for deadlocks: waits that could have closed a cycle.
    pub searches: u64,
    /// Holders that waits and searches looked at.
    pub looked_at: u64,
}

/// Locks that are released without their list being moved.
const FEW_LOCKS: usize = 8;

/// See the crate's documentation.
pub struct LockManager {
    pub(crate) shards: Box<[CachePadded<Mutex<Shard>>]>,
    hasher: SeedableRandomState,
    registry: Registry,
    next_owner: CachePadded<AtomicU64>,
    /// Numbers waits for something else than a row.
    arrivals: AtomicU64,
    /// All of them, for those who look who waits.
    owners: Mutex<Vec<Weak<Owner>>>,
    pub(crate) detector: Detector,
    pub(crate) counts: CachePadded<Counts>,
    gaps: Arc<GapCounts>,
    pub(crate) spans: Spans,
}

/// Relaxed counters.
#[derive(Default)]
pub(crate) struct Counts {
    waits: AtomicU64,
    ended: AtomicU64,
    pub(crate) deadlocks: AtomicU64,
    timeouts: AtomicU64,
    wait_micros: AtomicU64,
    wait_micros_max: AtomicU64,
    pub(crate) searches: AtomicU64,
    pub(crate) looked_at: AtomicU64,
}

impl LockManager {
    /// A table of `shards` (rounded up to a power of two) parts. Nobody can know which rows share one of them.
    pub fn new(shards: usize) -> LockManager {
        LockManager::with_hasher(shards, SeedableRandomState::random())
    }

    /// [`Self::new`] for runs that are to repeat: with the same `seed` the same rows share a part. Who has a lock next is told of the commits of all rows
    /// of its part ([`Owner::comes_after`]), so what it waits for hangs on it.
    pub fn with_seed(shards: usize, seed: u64) -> LockManager {
        LockManager::with_hasher(shards, SeedableRandomState::with_seed(seed, SharedSeed::global_fixed()))
    }

    fn with_hasher(shards: usize, hasher: SeedableRandomState) -> LockManager {
        let count = shards.clamp(1, 1 << 16).next_power_of_two();
        let gaps = Arc::new(GapCounts::new());
        let shard = |number| {
            let shard = Shard::new(number as u32, Arc::clone(&gaps));
            CachePadded::new(Mutex::with_order(Rank::LockShard, number as u32, shard))
        };
        LockManager {
            shards: (0..count).map(shard).collect(),
            hasher,
            registry: Registry::new(count.min(64)),
            next_owner: CachePadded::new(AtomicU64::new(1)),
            arrivals: AtomicU64::new(0),
            owners: Mutex::new(Rank::Leaf, Vec::new()),
            detector: Detector::new(),
            counts: CachePadded::new(Counts::default()),
            gaps: Arc::clone(&gaps),
            spans: Spans::new(),
        }
    }

    /// An owner without a transaction id: what a locking read needs before the first write. A session keeps one for good.
    pub fn new_owner(&self) -> Arc<Owner> {
        let owner = Arc::new(Owner::new(self.next_owner.fetch_add(1, Ordering::Relaxed)));
        let mut owners = self.owners.lock();
        if owners.len() == owners.capacity() {
            owners.retain(|owner| owner.strong_count() > 0);
            let live = owners.len();
            owners.reserve(live);
        }
        owners.push(Arc::downgrade(&owner));
        drop(owners);
        owner
    }

    /// The number of a wait for something else than a row that begins.
    pub(crate) fn next_arrival(&self) -> u64 {
        // Relaxed: nothing else hangs on the order.
        self.arrivals.fetch_add(1, Ordering::Relaxed)
    }

    /// Those who are there and `wanted`, which takes no latch.
    pub(crate) fn owners(&self, wanted: impl Fn(&Owner) -> bool) -> Vec<Arc<Owner>> {
        let owners = self.owners.lock();
        // What is not wanted is let go under the latch: its last reference may be this one, but then it holds nothing.
        owners.iter().filter_map(Weak::upgrade).filter(|owner| wanted(owner)).collect()
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
        let Some(slot) = shard.find(hash, key.index, key.key) else {
            // Nobody has anything there or waits.
            let slot = shard.lock_new(hash, key, owner, mode);
            owner.come_after(shard.released());
            drop(shard);
            owner.inner().locks.push(LockId { shard: shard_no, slot });
            return Ok(Granted::New);
        };
        self.request(shard, LockId { shard: shard_no, slot }, owner, mode, policy, cancel)
    }

    /// Locks a key whose row was written by `holder`, which was unfinished when the caller looked. The holder's implicit exclusive lock is
    /// made explicit first, if it has not begun to release; then the caller waits behind it like behind any other.
    ///
    /// The holder may have taken its change back since the caller looked, and somebody else may have the row: what is noted for it counts
    /// when it asks for it, and nobody else has it then (`Parts::implicit`).
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
                let waits_here = inner.waiting.filter(|wait| wait.id == id).map(|wait| wait.ticket);
                let is_new = shard.grant_implicit(slot, &holding, waits_here);
                if is_new {
                    inner.locks.push(id);
                }
                drop(inner);
                // A lock that the caller has here itself was granted to it after it had let the row's page go and before `holder` wrote the
                // row, finding no lock: it came too late to count. Were it kept, the caller would not wait. It may have been in the way of
                // `holder`, which has taken its change back meanwhile and makes another.
                let mut granted = Wakes::new();
                if shard.revoke_record(slot, owner, &mut granted) {
                    owner.inner().forget(id);
                }
                let others_wait = is_new && shard.has_waiters(slot);
                if others_wait || !granted.is_empty() {
                    drop(shard);
                    wake(&granted);
                    if others_wait {
                        // Those who wait here already wait for the holder, too, from now on. That may close a cycle whose members all wait: nobody
                        // else would look for it.
                        self.reweigh(&holding);
                        self.resolve_deadlocks(&holding);
                    }
                    return self.lock(owner, key, mode, policy, cancel);
                }
            }
        }
        self.request(shard, id, owner, mode, policy, cancel)
    }

    /// Gives one lock back: what READ COMMITTED does with rows that do not match. `false` when the owner did not hold it.
    pub fn release(&self, owner: &Arc<Owner>, key: LockKeyRef<'_>) -> bool {
        self.release_if(owner, key, || true)
    }

    /// The moment for [`Self::release_since`].
    pub fn mark(&self, owner: &Arc<Owner>) -> LockMark {
        owner.inner().mark()
    }

    /// Gives a lock back that the owner has asked for since, and had nothing of before. `false` when it did not hold it, or has inherited gaps since: one may be on this key, and stays.
    pub fn release_since(&self, owner: &Arc<Owner>, key: LockKeyRef<'_>, since: LockMark) -> bool {
        self.release_if(owner, key, || owner.inner().mark() == since)
    }

    /// `allowed` is asked under the latch of the key's shard.
    fn release_if(&self, owner: &Arc<Owner>, key: LockKeyRef<'_>, allowed: impl Fn() -> bool) -> bool {
        let (hash, shard_no) = self.place(key);
        let mut wakes = Wakes::new();
        let mut shard = self.shards[shard_no as usize].lock();
        let Some(slot) = shard.find(hash, key.index, key.key).filter(|_| allowed()) else { return false };
        if !shard.release_alone(slot, owner) && !shard.release(slot, owner, &mut wakes) {
            return false;
        }
        // Before the slot can serve another key.
        owner.inner().forget(LockId { shard: shard_no, slot });
        drop(shard);
        wake(&wakes);
        true
    }

    /// Gives the gap before a key back and keeps what the owner has of the record: when the wait for the record behind the gap failed, or the gap was locked for a while only.
    pub fn release_gap(&self, owner: &Arc<Owner>, key: LockKeyRef<'_>) {
        let (hash, shard_no) = self.place(key);
        let mut wakes = Wakes::new();
        let mut shard = self.shards[shard_no as usize].lock();
        let Some(slot) = shard.find(hash, key.index, key.key) else { return };
        if shard.revoke_gap(slot, owner) {
            // Before the slot can serve another key.
            owner.inner().forget(LockId { shard: shard_no, slot });
        }
        shard.settle(slot, &mut wakes);
        drop(shard);
        wake(&wakes);
    }

    /// Whether there may be a lock on any gap of `index`. Two loads; see `gaps.rs` for when the answer can be relied on. The owner, who goes on if there is none, comes after
    /// whoever had one before.
    #[inline]
    pub fn has_gap_locks(&self, index: IndexId, owner: &Owner) -> bool {
        let (any, released) = self.gaps.look(index);
        owner.come_after(released);
        any
    }

    /// Locks all keys behind `after` up to `last` against insertions: deleted records that somebody's locking read comes by, one behind the other on one leaf, which is latched.
    pub fn lock_span(&self, owner: &Arc<Owner>, index: IndexId, after: &[u8], last: &[u8], mode: LockMode) {
        let epoch = {
            let mut inner = owner.inner();
            if !inner.spans.contains(&index) {
                inner.spans.push(index);
            }
            inner.epoch
        };
        if self.spans.add(owner, epoch, index, after, last, mode.parts().as_gap()) {
            self.gaps.note(index, GapChange::Locked, Lsn::NONE);
        }
    }

    /// Whether others have locked `new_key` as part of a span. Then they have the gap before `next` from now on, so that it can be waited for. The latches of both keys'
    /// leaves are the caller's.
    pub fn make_spans_explicit(&self, owner: &Arc<Owner>, next: LockKeyRef<'_>, new_key: &[u8]) -> bool {
        let others = self.spans.others(owner, next.index, new_key);
        let mut closing = Wakes::new();
        others.iter().for_each(|heir| self.inherit(heir, next, &mut closing));
        for heir in &closing {
            self.reweigh(heir);
            self.resolve_deadlocks(heir);
        }
        !others.is_empty()
    }

    /// A record is about to be inserted before `next`, by `owner`, with the new record's leaf latched exclusively and that of `next` latched:
    /// `false` when somebody else has the gap. Otherwise who has the gap, which is `owner` alone, has both halves of it from now on.
    pub fn enter_gap(&self, owner: &Arc<Owner>, next: LockKeyRef<'_>, new_key: &[u8]) -> bool {
        if self.make_spans_explicit(owner, next, new_key) {
            return false;
        }
        let own = {
            let (hash, shard_no) = self.place(next);
            let shard = self.shards[shard_no as usize].lock();
            owner.come_after(shard.released());
            let Some(entry) = shard.find(hash, next.index, next.key).and_then(|slot| shard.entry(slot)) else { return true };
            let own = entry.holders.parts_of(owner).unwrap_or_default();
            if entry.holders.others_block(own, LockMode::InsertIntention) && !planted("gap_entered") {
                return false;
            }
            own.gap()
        };
        if own.has_gap() {
            let (hash, shard_no) = self.place(LockKeyRef { index: next.index, key: new_key });
            let mut shard = self.shards[shard_no as usize].lock();
            let slot = shard.find_or_insert(hash, next.index, new_key);
            if shard.grant_gap(slot, owner, own) {
                owner.inner().locks.push(LockId { shard: shard_no, slot });
            }
        }
        true
    }

    /// A record is removed (by a rollback, or purge), with its leaf latched exclusively and that of the key behind it latched. Whoever had
    /// it locked, or waited for it, has the gap before `next` instead, as far as its transaction locks gaps; all who waited look again.
    /// `ending`: whose transaction is being taken back as a whole, and needs no gap any more. (Who takes back a part keeps those that it has read.)
    pub fn record_removed(&self, ending: Option<&Arc<Owner>>, key: LockKeyRef<'_>, next: LockKeyRef<'_>) {
        let (hash, shard_no) = self.place(key);
        let mut wakes = Wakes::new();
        let mut shard = self.shards[shard_no as usize].lock();
        let Some(slot) = shard.find(hash, key.index, key.key) else { return };
        let heirs = shard.vanish(slot, ending, &mut wakes);
        drop(shard);
        let mut closing = Wakes::new();
        if !planted("gap_not_inherited") {
            for heir in heirs {
                self.inherit(&heir, next, &mut closing);
            }
        }
        // Those who wait to insert before `next` wait for the heirs from now on.
        for heir in &closing {
            self.reweigh(heir);
            self.resolve_deadlocks(heir);
        }
        wake(&wakes);
    }

    fn inherit(&self, heir: &Heir, next: LockKeyRef<'_>, closing: &mut Wakes) {
        let (hash, shard_no) = self.place(next);
        let mut shard = self.shards[shard_no as usize].lock();
        let slot = shard.find_or_insert(hash, next.index, next.key);
        let mut inner = heir.owner.inner();
        // Its transaction may have ended meanwhile.
        if inner.epoch == heir.epoch && !heir.owner.is_releasing() {
            inner.inherited += 1;
            if shard.grant_gap(slot, &heir.owner, heir.gap) {
                inner.locks.push(LockId { shard: shard_no, slot });
            }
            if shard.has_waiters(slot) {
                closing.push(Arc::clone(&heir.owner));
            }
            return;
        }
        self.gaps.note_released(next.index, inner.commit);
        drop(inner);
        shard.settle(slot, &mut Wakes::new());
    }

    /// Gives all locks back and forgets the transaction id: the end of a transaction, after it is finished for readers. The owner can
    /// be used again.
    pub fn release_all(&self, owner: &Arc<Owner>) {
        self.release_before_durable(owner, Lsn::NONE);
    }

    /// [`Self::release_all`] of a transaction that readers do not see before the log is durable up to `commit`. Whoever has one of the locks
    /// next is told ([`Owner::comes_after`]).
    pub fn release_before_durable(&self, owner: &Arc<Owner>, commit: Lsn) {
        let mut few = [LockId { shard: 0, slot: 0 }; FEW_LOCKS];
        let (txn, count, many, spans) = {
            let mut inner = owner.inner();
            inner.epoch += 1;
            inner.commit = commit;
            let spans = std::mem::take(&mut inner.spans);
            let count = inner.locks.len();
            if count > 0 {
                owner.set_releasing(true);
            }
            let many = if count <= FEW_LOCKS {
                // The list stays where it is, for the next transaction.
                few.iter_mut().zip(&inner.locks).for_each(|(to, from)| *to = *from);
                inner.locks.clear();
                None
            } else {
                Some(std::mem::take(&mut inner.locks))
            };
            (std::mem::take(&mut inner.txn), count, many, spans)
        };
        for index in spans {
            (0..self.spans.remove(owner, index)).for_each(|_| self.gaps.note(index, GapChange::Unlocked, commit));
        }
        for id in many.as_deref().unwrap_or(&few[..count.min(FEW_LOCKS)]) {
            let mut shard = self.shards[id.shard as usize].lock();
            shard.note_released(commit);
            if !shard.release_alone(id.slot, owner) {
                self.release_among_others(shard, *id, owner);
            }
        }
        if !txn.is_none() {
            self.registry.remove(txn);
        }
        owner.reset_work();
        if count > 0 {
            owner.set_releasing(false);
        }
        if let Some(mut locks) = many {
            locks.clear();
            // A transaction with very many locks is rare; its list is not kept for the session's life.
            locks.shrink_to(1024);
            owner.inner().locks = locks;
        }
    }

    /// One lock of a release of all, on a key that others have or want. Those who get it are woken at once: they need not wait for the
    /// release of the thousandth.
    #[cold]
    fn release_among_others(&self, mut shard: MutexGuard<'_, Shard>, id: LockId, owner: &Arc<Owner>) {
        let mut wakes = Wakes::new();
        let held = shard.release(id.slot, owner, &mut wakes);
        drop(shard);
        assert!(held, "{owner:?} lists a lock that it does not hold");
        wake(&wakes);
    }

    /// Whether nobody holds or awaits the record `key`. The answer stands only while the caller keeps others from locking (by a latch). The owner, who goes on as if
    /// it had the lock, comes after whoever had it before.
    #[inline]
    pub fn is_free(&self, key: LockKeyRef<'_>, owner: &Owner) -> bool {
        let (hash, shard_no) = self.place(key);
        let shard = self.shards[shard_no as usize].lock();
        owner.come_after(shard.released());
        shard.find(hash, key.index, key.key).is_none_or(|slot| !shard.has_record_locks(slot))
    }

    /// Whether anybody holds or awaits a lock on `key`, its record or its gap. As for [`Self::is_free`], a latch makes the answer stand.
    pub fn is_locked(&self, key: LockKeyRef<'_>) -> bool {
        let (hash, shard_no) = self.place(key);
        let shard = self.shards[shard_no as usize].lock();
        shard.find(hash, key.index, key.key).is_some()
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
            wait_micros: self.counts.wait_micros.load(Ordering::Relaxed),
            wait_micros_max: self.counts.wait_micros_max.load(Ordering::Relaxed),
            searches: self.counts.searches.load(Ordering::Relaxed),
            looked_at: self.counts.looked_at.load(Ordering::Relaxed),
        }
    }

    #[inline]
    fn place(&self, key: LockKeyRef<'_>) -> (u64, u32) {
        let mut hasher = self.hasher.build_hasher();
        hasher.write_u32(key.index.0);
        hasher.write(key.key);
        let hash = hasher.finish();
        // The chains inside a shard are told by the low bits.
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
                owner.come_after(shard.released());
                drop(shard);
                owner.inner().locks.push(id);
                Ok(Granted::New)
            }
            Request::Upgraded => {
                owner.come_after(shard.released());
                Ok(Granted::Upgraded)
            }
            Request::Held => Ok(Granted::Held),
            Request::Blocked { upgrade } => match policy {
                WaitPolicy::NoWait | WaitPolicy::SkipLocked => Err(LockError::WouldBlock),
                WaitPolicy::Wait(deadline) => {
                    let wait = self.begin_wait(shard, id, owner, mode, upgrade, false);
                    let state = cancel.sleep(&owner.cell, WaitsFor::RowLock, deadline);
                    self.end_wait(wait, owner, state)
                }
                WaitPolicy::Leave => {
                    self.begin_wait(shard, id, owner, mode, upgrade, true);
                    cancel.leave(&owner.cell);
                    Err(LockError::Queued)
                }
            },
        }
    }

    /// Ends the wait of an owner's request that was [`LockError::Queued`], on the thread that goes on with its statement: it is over, or is given up now as if killed.
    pub fn end_left_wait(&self, owner: &Arc<Owner>, cancel: &Cancel) -> Result<Granted, LockError> {
        // Without one nothing is locked either: the row is to be looked at again, as after a wait that came to that.
        let Some(wait) = owner.waiting() else { return Ok(Granted::Vanished) };
        owner.cell.end(WaitState::Killed);
        cancel.come_back(wait.since);
        self.end_wait(wait, owner, owner.cell.state())
    }

    /// Queues a blocked request and breaks the deadlock that it may close. `left`: nobody sleeps for it.
    #[cold]
    #[inline(never)]
    pub(crate) fn begin_wait(
        &self,
        mut shard: MutexGuard<'_, Shard>,
        id: LockId,
        owner: &Arc<Owner>,
        mode: LockMode,
        upgrade: bool,
        left: bool,
    ) -> Wait {
        if left {
            owner.cell.begin_left()
        } else {
            owner.cell.begin()
        }
        let (mut heavier, since) = (Wakes::new(), Instant::now());
        let ticket = shard.enqueue(id.slot, owner, mode, upgrade, since, &mut heavier);
        let (wait, could_close) = {
            let mut inner = owner.inner();
            inner.wait_seq += 1;
            let wait = Wait { id, mode, ticket, seq: inner.wait_seq, since };
            inner.waiting = Some(wait);
            // Whoever has nothing that others could wait for closes no cycle.
            (wait, !inner.locks.is_empty() || !inner.txn.is_none())
        };
        let could_close = could_close && self.has_waiting_blocker(&shard, id.slot, ticket);
        drop(shard);
        for holder in &heavier {
            self.reweigh(holder);
        }
        if could_close && !planted("no_detection") && self.may_close(owner) {
            self.resolve_deadlocks(owner);
        }
        // Relaxed: a count. Last, so that tests can tell that all of the above is done.
        self.counts.waits.fetch_add(1, Ordering::Relaxed);
        wait
    }

    /// Ends a wait, by the thread of the statement that waits.
    pub(crate) fn end_wait(&self, wait: Wait, owner: &Arc<Owner>, state: WaitState) -> Result<Granted, LockError> {
        let Wait { id, ticket, since, .. } = wait;
        let micros = since.elapsed().as_micros() as u64;
        self.counts.wait_micros.fetch_add(micros, Ordering::Relaxed);
        self.counts.wait_micros_max.fetch_max(micros, Ordering::Relaxed);
        self.counts.ended.fetch_add(1, Ordering::Relaxed);
        let mut inner = owner.inner();
        inner.waiting = None;
        let outcome = inner.outcome;
        drop(inner);
        if state == WaitState::Granted {
            owner.come_after(self.shards[id.shard as usize].lock().released());
            return Ok(outcome);
        }
        let mut wakes = Wakes::new();
        let mut shard = self.shards[id.shard as usize].lock();
        shard.leave_queue(id.slot, ticket);
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

    /// A request that does not queue, with the shard still latched.
    #[cfg(test)]
    pub(crate) fn request_for_test(
        &self,
        owner: &Arc<Owner>,
        key: LockKeyRef<'_>,
        mode: LockMode,
    ) -> (LockId, MutexGuard<'_, Shard>, Request) {
        let (hash, shard_no) = self.place(key);
        let mut shard = self.shards[shard_no as usize].lock();
        let slot = shard.find_or_insert(hash, key.index, key.key);
        let request = shard.request(slot, owner, mode);
        (LockId { shard: shard_no, slot }, shard, request)
    }

    /// Moves a waiter to the place in its queue that it has for what it holds up.
    fn reweigh(&self, owner: &Arc<Owner>) {
        let Some(wait) = owner.waiting() else { return };
        let mut shard = self.shards[wait.id.shard as usize].lock();
        // The slot may serve another key by now, but the ticket is of this wait alone.
        if let Some(queue) = shard.entry_mut(wait.id.slot).and_then(|entry| entry.queue.as_mut()) {
            queue.reweigh(wait.ticket);
        }
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
