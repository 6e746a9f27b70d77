//! One shard of the lock table: keys, who holds them, who waits. All of it runs under the shard's latch.
//!
//! Entries are found by chains through themselves, one for each remainder of the hash; free ones make a chain, too. A key that nobody else wants,
//! which is nearly every one, is locked and unlocked without allocation: an entry comes off the free chain and goes back to it.

use crate::cancel::WaitState;
use crate::gaps::GapCounts;
use crate::holders::{GapChange, Holders};
use crate::manager::{Granted, LockKeyRef};
use crate::mode::{LockMode, Parts};
use crate::owner::{LockId, Owner};
use crate::platform::{Arc, planted};
use crate::queue::{Queue, Waiter};
use base::{IndexId, Lsn};
use smallvec::SmallVec;
use std::iter::successors;
use std::time::Instant;

/// Waiters to be woken once the latch is dropped.
pub(crate) type Wakes = SmallVec<[Arc<Owner>; 4]>;

/// Slots that an empty shard keeps.
const SLOTS_KEPT_MAX: usize = 4096;

/// Holders whose weight a waiter adds to. With more in its way, none of them holds it up alone.
const CREDITED_MAX: usize = 4;

/// Keys up to so many bytes lie in their entry.
const KEY_BYTES_INLINE: usize = 32;
/// Behind the last slot of a chain. No slot has this number.
const END: u32 = u32::MAX;
/// Chains of a shard that has entries: as many as there were entries in use at a time, and this many at least.
const CHAINS_MIN: usize = 8;

/// A locked key.
#[derive(Default)]
pub(crate) struct Entry {
    hash: u64,
    /// The next slot of its chain.
    next: u32,
    pub(crate) index: IndexId,
    /// The whole key; empty for the end of the index.
    pub(crate) key: SmallVec<[u8; KEY_BYTES_INLINE]>,
    pub(crate) holders: Holders,
    pub(crate) queue: Option<Box<Queue>>,
    /// Marks of the deadlock searches that have looked at the holders for those who wait for the record, and for the gap.
    pub(crate) searched: [u64; 2],
}

/// What became of a request that may not wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Request {
    /// Granted; the owner did not have the key before.
    New,
    /// Granted; what the owner has became more.
    Upgraded,
    /// The owner had it.
    Held,
    /// Somebody is in the way.
    Blocked { upgrade: bool },
}

/// An owner that gets the gap which a removed record leaves, and which of its transactions it is.
pub(crate) struct Heir {
    pub(crate) owner: Arc<Owner>,
    pub(crate) epoch: u64,
    pub(crate) gap: Parts,
}

pub(crate) struct Shard {
    slots: Vec<Entry>,
    /// First slots of the chains; a power of two, or none before the first entry.
    chains: Box<[u32]>,
    /// First of the free slots.
    free: u32,
    /// Entries in use.
    used: u32,
    gaps: Arc<GapCounts>,
    tickets: u64,
    /// The newest commit whose transaction has released a lock here before it was durable. One for all keys: what it costs whoever locks another
    /// key is a wait for the log, and only where a snapshot is opened at that moment.
    released: Lsn,
    number: u32,
}

impl Shard {
    pub(crate) fn new(number: u32, gaps: Arc<GapCounts>) -> Shard {
        Shard { slots: Vec::new(), chains: Box::default(), free: END, used: 0, gaps, tickets: 0, released: Lsn::NONE, number }
    }

    #[inline]
    pub(crate) fn note_released(&mut self, commit: Lsn) {
        if commit > self.released {
            self.released = commit;
        }
    }

    #[inline]
    pub(crate) fn released(&self) -> Lsn {
        self.released
    }

    #[inline]
    fn chain(&self, hash: u64) -> usize {
        hash as usize & self.chains.len().wrapping_sub(1)
    }

    #[inline]
    pub(crate) fn find(&self, hash: u64, index: IndexId, key: &[u8]) -> Option<u32> {
        let mut slot = *self.chains.get(self.chain(hash))?;
        // The end of a chain is no slot's number.
        while let Some(entry) = self.slots.get(slot as usize) {
            if entry.hash == hash && entry.index == index && entry.key[..] == *key {
                return Some(slot);
            }
            slot = entry.next;
        }
        None
    }

    pub(crate) fn find_or_insert(&mut self, hash: u64, index: IndexId, key: &[u8]) -> u32 {
        self.find(hash, index, key).unwrap_or_else(|| self.insert(hash, index, key))
    }

    /// An entry for a key that has none.
    #[inline]
    fn insert(&mut self, hash: u64, index: IndexId, key: &[u8]) -> u32 {
        if self.used as usize >= self.chains.len() {
            self.lengthen();
        }
        let chain = self.chain(hash);
        let first = self.chains[chain];
        let slot = match self.slots.get_mut(self.free as usize) {
            Some(entry) => std::mem::replace(&mut self.free, entry.next),
            None => self.add_slot(),
        };
        let entry = &mut self.slots[slot as usize];
        (entry.hash, entry.next, entry.index) = (hash, first, index);
        if key.len() <= KEY_BYTES_INLINE && !entry.key.spilled() {
            entry.key = SmallVec::from_slice(key);
        } else {
            entry.key.clear();
            entry.key.extend_from_slice(key);
        }
        self.chains[chain] = slot;
        self.used += 1;
        slot
    }

    #[cold]
    fn add_slot(&mut self) -> u32 {
        let slot = u32::try_from(self.slots.len()).ok().filter(|slot| *slot != END);
        self.slots.push(Entry::default());
        slot.expect("fewer than 2^32 locks in a shard")
    }

    /// Twice as many chains.
    #[cold]
    fn lengthen(&mut self) {
        let used: Vec<u32> = self.entries().map(|(slot, _)| slot).collect();
        self.chains = vec![END; (2 * self.chains.len()).max(CHAINS_MIN)].into();
        for slot in used {
            let chain = self.chain(self.slots[slot as usize].hash);
            self.slots[slot as usize].next = std::mem::replace(&mut self.chains[chain], slot);
        }
    }

    /// Grants the first lock on a key that has no entry. The caller lists it with the owner.
    #[inline]
    pub(crate) fn lock_new(&mut self, hash: u64, key: LockKeyRef<'_>, owner: &Arc<Owner>, mode: LockMode) -> u32 {
        let slot = self.insert(hash, key.index, key.key);
        let change = self.slots[slot as usize].holders.add_first(owner, mode.parts());
        self.note(key.index, change);
        slot
    }

    fn note(&self, index: IndexId, change: GapChange) {
        if !planted("gap_not_counted") || change != GapChange::Locked {
            self.gaps.note(index, change, self.released);
        }
    }

    pub(crate) fn entry(&self, slot: u32) -> Option<&Entry> {
        self.slots.get(slot as usize)
    }

    pub(crate) fn entry_mut(&mut self, slot: u32) -> Option<&mut Entry> {
        self.slots.get_mut(slot as usize)
    }

    /// Entries in use, with their slots.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (u32, &Entry)> {
        let chain = |first: &u32| {
            let at = |slot: u32| Some((slot, self.slots.get(slot as usize)?));
            successors(at(*first), move |(_, entry)| at(entry.next))
        };
        self.chains.iter().flat_map(chain)
    }

    fn id(&self, slot: u32) -> LockId {
        LockId { shard: self.number, slot }
    }

    /// Grants the request when nobody is in the way. The caller lists a new key with its owner.
    pub(crate) fn request(&mut self, slot: u32, owner: &Arc<Owner>, mode: LockMode) -> Request {
        let entry = &mut self.slots[slot as usize];
        let own = entry.holders.parts_of(owner);
        let held = own.unwrap_or_default();
        let wanted = mode.parts();
        // Its owner asks, so the row is another's by now: what was noted when it had written the row is to be granted like any other.
        let noted = held.is_implicit() && wanted.has_record() && !planted("noted_is_granted");
        // An intention that was granted once says nothing of gap locks that came after it.
        if held.has_all(wanted) && mode != LockMode::InsertIntention && !noted {
            return Request::Held;
        }
        // What is held of the record already needs nobody's leave.
        let asked = if held.has_all(mode.record_only().parts()) && !noted { mode.gap_only() } else { mode };
        // Strengthening overtakes the queue: those in it wait for the weaker lock's owner anyway, or are compatible with it.
        let upgrade = held.has_record();
        let queued = !upgrade && entry.queue.as_ref().is_some_and(|queue| queue.holds_back(asked));
        if queued || entry.holders.others_block(held, asked) {
            return Request::Blocked { upgrade };
        }
        entry.grant(owner, wanted, &self.gaps);
        match own {
            None => Request::New,
            Some(_) if noted && held.has_all(wanted) => Request::Held,
            Some(_) => Request::Upgraded,
        }
    }

    /// Puts a blocked request into the queue and returns its ticket. `heavier` gets those in its way who wait themselves: they hold up one
    /// more, and may be granted the sooner for it.
    pub(crate) fn enqueue(
        &mut self,
        slot: u32,
        owner: &Arc<Owner>,
        mode: LockMode,
        upgrade: bool,
        since: Instant,
        heavier: &mut Wakes,
    ) -> u64 {
        self.tickets += 1;
        let entry = &mut self.slots[slot as usize];
        entry.queue.get_or_insert_default().push(self.tickets, owner, mode, upgrade, since);
        for grant in in_the_way(&mut entry.holders, mode) {
            grant.credit += 1;
            grant.owner.add_waited_by(1);
            if grant.owner.cell.is_waiting() && !Arc::ptr_eq(&grant.owner, owner) {
                heavier.push(Arc::clone(&grant.owner));
            }
        }
        self.tickets
    }

    /// Notes what was true when the row was looked at: `owner` has the key exclusively. Returns whether it had no lock on it before. Should it wait
    /// for the key itself, having taken its change back since, all others there wait for it from now on: it goes before them.
    pub(crate) fn grant_implicit(&mut self, slot: u32, owner: &Arc<Owner>, waits_here: Option<u64>) -> bool {
        let entry = &mut self.slots[slot as usize];
        if let (Some(queue), Some(ticket)) = (&mut entry.queue, waits_here) {
            queue.make_upgrade(ticket);
        }
        entry.grant(owner, Parts::implicit(), &self.gaps)
    }

    /// Gives an owner a gap; returns whether the key is to be listed with it.
    pub(crate) fn grant_gap(&mut self, slot: u32, owner: &Arc<Owner>, gap: Parts) -> bool {
        let entry = &mut self.slots[slot as usize];
        entry.grant(owner, gap, &self.gaps)
    }

    pub(crate) fn has_waiters(&self, slot: u32) -> bool {
        self.slots[slot as usize].queue.is_some()
    }

    /// Whether anybody holds or awaits the record.
    pub(crate) fn has_record_locks(&self, slot: u32) -> bool {
        let entry = &self.slots[slot as usize];
        entry.holders.has_record_holder() || entry.queue.as_ref().is_some_and(|queue| queue.has_record_waiters())
    }

    /// Takes away a granted lock; `false` when there was none.
    pub(crate) fn revoke(&mut self, slot: u32, owner: &Arc<Owner>) -> bool {
        let entry = &mut self.slots[slot as usize];
        let Some((grant, change)) = entry.holders.remove(owner) else { return false };
        self.gaps.note(entry.index, change, self.released);
        owner.take_waited_by(grant.credit);
        true
    }

    /// Takes away a granted lock on a key that nobody else has or waits for; `false` when it is not such a one.
    #[inline]
    pub(crate) fn release_alone(&mut self, slot: u32, owner: &Arc<Owner>) -> bool {
        let entry = &mut self.slots[slot as usize];
        if entry.queue.is_some() {
            return false;
        }
        let Some((grant, change)) = entry.holders.remove_only(owner) else { return false };
        self.gaps.note(entry.index, change, self.released);
        owner.take_waited_by(grant.credit);
        self.free(slot);
        true
    }

    /// Takes away a granted lock and grants to those who can have it now; `false` when there was none.
    pub(crate) fn release(&mut self, slot: u32, owner: &Arc<Owner>, wakes: &mut Wakes) -> bool {
        let held = self.revoke(slot, owner);
        if held && !planted("release_without_hand_over") {
            self.settle(slot, wakes);
        }
        held
    }

    /// Takes the gap away from what an owner has. Returns whether the key is to be taken off its list, because nothing remains.
    pub(crate) fn revoke_gap(&mut self, slot: u32, owner: &Arc<Owner>) -> bool {
        let entry = &mut self.slots[slot as usize];
        let Some(change) = entry.holders.reduce(owner, LockMode::ExclusiveNextKey.parts().gap()) else { return false };
        self.gaps.note(entry.index, change, self.released);
        entry.recredit(owner);
        entry.holders.parts_of(owner).is_some_and(Parts::is_none) && self.revoke(slot, owner)
    }

    /// Takes the record away from what an owner has, where another one has the key, and grants to those who can have it now. Returns whether
    /// the key is to be taken off its list, because nothing remains.
    pub(crate) fn revoke_record(&mut self, slot: u32, owner: &Arc<Owner>, wakes: &mut Wakes) -> bool {
        let entry = &mut self.slots[slot as usize];
        let had = entry.holders.parts_of(owner).is_some_and(Parts::has_record);
        entry.holders.reduce(owner, LockMode::Exclusive.parts());
        entry.recredit(owner);
        let nothing_left = entry.holders.parts_of(owner).is_some_and(Parts::is_none) && self.revoke(slot, owner);
        if had && !planted("revoked_without_hand_over") {
            self.settle(slot, wakes);
        }
        nothing_left
    }

    /// Takes a waiter out of the queue when it is (still) there.
    pub(crate) fn leave_queue(&mut self, slot: u32, ticket: u64) {
        // The slot may serve another key by now, or be gone: then the ticket is not in its queue.
        if let Some(entry) = self.slots.get_mut(slot as usize)
            && let Some(queue) = &mut entry.queue
            && let Some(waiter) = queue.remove(ticket)
        {
            entry.left(&waiter);
        }
    }

    /// Grants to everybody who can have the lock now, in the queue's order, and frees the entry when nothing is left of it.
    pub(crate) fn settle(&mut self, slot: u32, wakes: &mut Wakes) {
        let id = self.id(slot);
        let Some(entry) = self.slots.get_mut(slot as usize) else { return };
        if entry.queue.is_none() {
            if entry.holders.is_empty() {
                self.free(slot);
            }
            return;
        }
        while let Some(waiter) = entry.next_waiter() {
            entry.left(&waiter);
            // It may have ended its wait by itself (time-out, kill, victim); then it is out of the queue now, and that is all.
            let mut inner = waiter.owner.inner();
            inner.outcome = if entry.holders.parts_of(&waiter.owner).is_some() { Granted::Upgraded } else { Granted::New };
            if !waiter.owner.cell.end(WaitState::Granted) {
                continue;
            }
            if entry.grant(&waiter.owner, waiter.mode.parts(), &self.gaps) {
                inner.locks.push(id);
            }
            drop(inner);
            wakes.push(waiter.owner);
        }
        if entry.queue.as_ref().is_some_and(|queue| queue.is_empty()) {
            entry.queue = None;
        }
        if entry.holders.is_empty() && entry.queue.is_none() {
            self.free(slot);
        }
    }

    /// The record of the key is removed: nobody has anything there any more, and all who wait look again. Returns who gets the gap: all but `except`.
    pub(crate) fn vanish(&mut self, slot: u32, except: Option<&Arc<Owner>>, wakes: &mut Wakes) -> Vec<Heir> {
        let (mut heirs, mut released) = (Vec::new(), self.released);
        let entry = &mut self.slots[slot as usize];
        let mut inherit = |owner: &Arc<Owner>, parts: Parts| {
            let gap = if parts.has_gap() || owner.locks_gaps() { parts.as_gap() } else { Parts::NONE };
            if gap.is_none() || except.is_some_and(|except| Arc::ptr_eq(owner, except)) {
                return;
            }
            let inner = owner.inner();
            // Who gives its locks back at this moment needs no more, but that others come after it.
            if owner.is_releasing() {
                released = released.max(inner.commit);
            } else {
                heirs.push(Heir { owner: Arc::clone(owner), epoch: inner.epoch, gap });
            }
        };
        let mut waiters = entry.queue.take();
        for waiter in waiters.iter_mut().flat_map(|queue| queue.drain()) {
            entry.left(&waiter);
            inherit(&waiter.owner, waiter.mode.parts());
            waiter.owner.inner().outcome = Granted::Vanished;
            if waiter.owner.cell.end(WaitState::Granted) {
                wakes.push(waiter.owner);
            }
        }
        for at in 0..entry.holders.grants().len() {
            let grant = &entry.holders.grants()[at];
            inherit(&grant.owner, grant.parts);
        }
        for at in 0..entry.holders.grants().len() {
            let change = entry.holders.reduce_at(at, LockMode::ExclusiveNextKey.parts().with(Parts::INTENTION));
            self.gaps.note(entry.index, change, released);
        }
        if entry.holders.is_empty() {
            self.free(slot);
        }
        heirs
    }

    /// Frees the entry of a slot, unless it is free.
    #[inline]
    fn free(&mut self, slot: u32) {
        let (hash, next) = (self.slots[slot as usize].hash, self.slots[slot as usize].next);
        let chain = self.chain(hash);
        if self.chains[chain] == slot {
            self.chains[chain] = next;
        } else if !self.unlink(self.chains[chain], slot, next) {
            return;
        }
        self.used -= 1;
        if self.used == 0 && self.slots.len() > SLOTS_KEPT_MAX {
            // A statement locked very many keys; give the memory back.
            (self.slots, self.chains, self.free) = (Vec::new(), Box::default(), END);
        } else {
            self.slots[slot as usize].next = std::mem::replace(&mut self.free, slot);
        }
    }

    /// Takes a slot that is not the first out of its chain; `false` when it is not in it.
    fn unlink(&mut self, first: u32, slot: u32, next: u32) -> bool {
        let mut at = first;
        while let Some(entry) = self.slots.get_mut(at as usize) {
            if entry.next == slot {
                entry.next = next;
                return true;
            }
            at = entry.next;
        }
        false
    }
}

/// The first few holders that a waiter waits for.
fn in_the_way(holders: &mut Holders, mode: LockMode) -> impl Iterator<Item = &mut crate::holders::Grant> {
    holders.grants_mut().iter_mut().take(CREDITED_MAX).filter(move |grant| mode.blocked_by(grant.parts))
}

impl Entry {
    /// Adds to what an owner has; returns whether it had no grant here.
    fn grant(&mut self, owner: &Arc<Owner>, parts: Parts, gaps: &GapCounts) -> bool {
        let (is_new, change) = self.holders.add(owner, parts);
        if !planted("gap_not_counted") || change != GapChange::Locked {
            // Parts are added, no gap is given back.
            gaps.note(self.index, change, Lsn::NONE);
        }
        // A new grant on a key that nobody waits for holds nobody up.
        if !is_new || self.queue.is_some() {
            self.recredit(owner);
        }
        is_new
    }

    /// Sets right how many wait for what an owner has here, after that has changed.
    fn recredit(&mut self, owner: &Arc<Owner>) {
        let queue = self.queue.as_deref();
        let grants = self.holders.grants_mut().iter_mut().take(CREDITED_MAX);
        for grant in grants.filter(|grant| Arc::ptr_eq(&grant.owner, owner)) {
            let waiting = queue.map_or(0, |queue| u32::try_from(queue.waiting_for(grant.parts)).unwrap_or(u32::MAX));
            owner.take_waited_by(grant.credit.saturating_sub(waiting));
            owner.add_waited_by(waiting.saturating_sub(grant.credit));
            grant.credit = waiting;
        }
    }

    /// A waiter is out of the queue: it is held up no longer.
    fn left(&mut self, waiter: &Waiter) {
        for grant in in_the_way(&mut self.holders, waiter.mode) {
            if grant.credit > 0 {
                grant.credit -= 1;
                grant.owner.take_waited_by(1);
            }
        }
    }

    fn next_waiter(&mut self) -> Option<Waiter> {
        let queue = self.queue.as_mut()?;
        queue.next_record(&self.holders).or_else(|| queue.next_inserter(&self.holders))
    }

    /// Calls `f` with the holders that a waiter waits for, directly or because of who waits ahead of it.
    ///
    /// Who waits for the record behind a writer waits for all who have the record. Who waits to share it with nobody but readers waiting has
    /// the writer in its way only.
    pub(crate) fn blockers(&self, waiter: &Waiter, mut f: impl FnMut(&Arc<Owner>)) {
        let behind_writer = self.queue.as_ref().is_some_and(|queue| queue.has_writers());
        let mode = match waiter.mode {
            LockMode::Shared | LockMode::SharedNextKey if behind_writer => LockMode::Exclusive,
            mode => mode,
        };
        for grant in self.holders.grants() {
            if mode.blocked_by(grant.parts) && !Arc::ptr_eq(&grant.owner, &waiter.owner) {
                f(&grant.owner);
            }
        }
    }
}
