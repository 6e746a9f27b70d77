//! One shard of the lock table: keys, who holds them, who waits, and the rule of who is next. All of it runs under the shard's latch.

use crate::cancel::WaitState;
use crate::mode::{LockMode, ModeSet};
use crate::owner::Owner;
use crate::platform::Arc;
use base::IndexId;
use hashbrown::HashTable;
use smallvec::SmallVec;
use std::collections::VecDeque;

/// Waiters to be woken once the latch is dropped.
pub(crate) type Wakes = SmallVec<[Arc<Owner>; 4]>;

/// Slots that an empty shard keeps.
const SLOTS_KEPT_MAX: usize = 4096;

pub(crate) struct Grant {
    pub(crate) owner: Arc<Owner>,
    pub(crate) mode: LockMode,
}

pub(crate) struct Waiter {
    pub(crate) owner: Arc<Owner>,
    pub(crate) mode: LockMode,
    /// The owner holds a weaker lock on the key.
    pub(crate) upgrade: bool,
}

/// A locked key.
#[derive(Default)]
pub(crate) struct Entry {
    hash: u64,
    pub(crate) index: IndexId,
    pub(crate) key: SmallVec<[u8; 32]>,
    pub(crate) granted: SmallVec<[Grant; 1]>,
    pub(crate) queue: VecDeque<Waiter>,
}

/// What became of a request that may not wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Request {
    /// Granted; the owner did not have the key before.
    New,
    /// Granted; a weaker lock of the owner became stronger.
    Upgraded,
    /// The owner had it.
    Held,
    /// Somebody is in the way.
    Blocked { upgrade: bool },
}

#[derive(Default)]
pub(crate) struct Shard {
    slots: Vec<Entry>,
    free: Vec<u32>,
    by_key: HashTable<u32>,
}

impl Shard {
    pub(crate) fn find(&self, hash: u64, index: IndexId, key: &[u8]) -> Option<u32> {
        let same = |slot: &u32| {
            let entry = &self.slots[*slot as usize];
            entry.index == index && entry.key[..] == *key
        };
        self.by_key.find(hash, same).copied()
    }

    pub(crate) fn find_or_insert(&mut self, hash: u64, index: IndexId, key: &[u8]) -> u32 {
        if let Some(slot) = self.find(hash, index, key) {
            return slot;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Entry::default());
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 locks in a shard")
        });
        let entry = &mut self.slots[slot as usize];
        entry.hash = hash;
        entry.index = index;
        entry.key.clear();
        entry.key.extend_from_slice(key);
        self.by_key.insert_unique(hash, slot, |slot| self.slots[*slot as usize].hash);
        slot
    }

    pub(crate) fn entry(&self, slot: u32) -> Option<&Entry> {
        self.slots.get(slot as usize)
    }

    /// Entries in use, with their slots.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (u32, &Entry)> {
        self.by_key.iter().map(|slot| (*slot, &self.slots[*slot as usize]))
    }

    /// Grants the request when nobody is in the way.
    pub(crate) fn request(&mut self, slot: u32, owner: &Arc<Owner>, mode: LockMode) -> Request {
        let entry = &mut self.slots[slot as usize];
        if let Some(own) = entry.granted.iter().position(|grant| Arc::ptr_eq(&grant.owner, owner)) {
            if entry.granted[own].mode.covers(mode) {
                return Request::Held;
            }
            // Strengthening overtakes the queue: those in it wait for the weaker lock's owner anyway, or are compatible with it.
            if entry.conflicts_with_granted(owner, mode) {
                return Request::Blocked { upgrade: true };
            }
            entry.granted[own].mode = mode;
            return Request::Upgraded;
        }
        let queued = entry.queue.iter().any(|waiter| waiter.mode.conflicts_with(mode));
        if queued || entry.conflicts_with_granted(owner, mode) {
            return Request::Blocked { upgrade: false };
        }
        entry.granted.push(Grant { owner: Arc::clone(owner), mode });
        Request::New
    }

    /// Puts a blocked request into the queue: at the end, or behind the other upgrades in front.
    pub(crate) fn enqueue(&mut self, slot: u32, owner: &Arc<Owner>, mode: LockMode, upgrade: bool) {
        let queue = &mut self.slots[slot as usize].queue;
        let at = if upgrade { queue.iter().take_while(|waiter| waiter.upgrade).count() } else { queue.len() };
        queue.insert(at, Waiter { owner: Arc::clone(owner), mode, upgrade });
    }

    /// Notes what is true already: `owner` has the key exclusively. Returns whether it had no lock on it before.
    pub(crate) fn grant_implicit(&mut self, slot: u32, owner: &Arc<Owner>) -> bool {
        let entry = &mut self.slots[slot as usize];
        if let Some(own) = entry.granted.iter_mut().find(|grant| Arc::ptr_eq(&grant.owner, owner)) {
            own.mode = LockMode::Exclusive;
            return false;
        }
        entry.granted.push(Grant { owner: Arc::clone(owner), mode: LockMode::Exclusive });
        true
    }

    pub(crate) fn has_waiters(&self, slot: u32) -> bool {
        !self.slots[slot as usize].queue.is_empty()
    }

    /// Takes away a granted lock; `false` when there was none.
    pub(crate) fn revoke(&mut self, slot: u32, owner: &Arc<Owner>) -> bool {
        let granted = &mut self.slots[slot as usize].granted;
        let at = granted.iter().position(|grant| Arc::ptr_eq(&grant.owner, owner));
        at.is_some_and(|at| {
            granted.swap_remove(at);
            true
        })
    }

    /// Takes a waiter out of the queue when it is (still) there.
    pub(crate) fn leave_queue(&mut self, slot: u32, owner: &Arc<Owner>) {
        // The slot may serve another key by now, or be gone: then the owner is not in its queue.
        if let Some(entry) = self.slots.get_mut(slot as usize) {
            entry.queue.retain(|waiter| !Arc::ptr_eq(&waiter.owner, owner));
        }
    }

    /// Grants to every waiter in order who is in nobody's way, and frees the entry when nothing is left of it.
    pub(crate) fn settle(&mut self, slot: u32, wakes: &mut Wakes) {
        let Some(entry) = self.slots.get_mut(slot as usize) else { return };
        let mut at = 0;
        // Modes that those passed over wait for: nobody behind overtakes them.
        let mut passed = ModeSet::default();
        while at < entry.queue.len() {
            let (mode, upgrade) = (entry.queue[at].mode, entry.queue[at].upgrade);
            let owner = &entry.queue[at].owner;
            if mode.conflicts_any(passed) || entry.conflicts_with_granted(owner, mode) {
                passed.add(mode);
                if passed.excludes_all() {
                    break;
                }
                at += 1;
                continue;
            }
            let waiter = entry.queue.remove(at).expect("looked at above");
            // It may have ended its wait by itself (time-out, kill, victim); then it is out of the queue now, and that is all.
            if !waiter.owner.cell.end(WaitState::Granted) {
                continue;
            }
            if upgrade {
                let own = entry.granted.iter_mut().find(|grant| Arc::ptr_eq(&grant.owner, &waiter.owner));
                own.expect("an upgrade's owner holds the weaker lock").mode = mode;
            } else {
                entry.granted.push(Grant { owner: Arc::clone(&waiter.owner), mode });
            }
            wakes.push(waiter.owner);
        }
        if entry.granted.is_empty() && entry.queue.is_empty() {
            self.free(slot);
        }
    }

    fn free(&mut self, slot: u32) {
        let hash = self.slots[slot as usize].hash;
        let Ok(found) = self.by_key.find_entry(hash, |other| *other == slot) else { return };
        found.remove();
        if self.by_key.is_empty() && self.slots.len() > SLOTS_KEPT_MAX {
            // A statement locked very many keys; give the memory back.
            *self = Shard::default();
        } else {
            self.free.push(slot);
        }
    }
}

impl Entry {
    fn conflicts_with_granted(&self, owner: &Arc<Owner>, mode: LockMode) -> bool {
        self.granted.iter().any(|grant| grant.mode.conflicts_with(mode) && !Arc::ptr_eq(&grant.owner, owner))
    }

    pub(crate) fn position(&self, owner: &Arc<Owner>) -> Option<usize> {
        self.queue.iter().position(|waiter| Arc::ptr_eq(&waiter.owner, owner))
    }

    /// Those whose waits or locks the waiter at `at` depends on: calls `holder` for granted locks in the way of it, or of a waiter
    /// ahead that is in its way (and so on); `ahead` for those waiters.
    pub(crate) fn blockers(&self, at: usize, mut holder: impl FnMut(&Arc<Owner>), mut ahead: impl FnMut(&Arc<Owner>)) {
        let mut pending = ModeSet::default();
        for position in (0..=at).rev() {
            let waiter = &self.queue[position];
            if position == at {
                pending.add(waiter.mode);
            } else if waiter.mode.conflicts_any(pending) {
                pending.add(waiter.mode);
                ahead(&waiter.owner);
            }
        }
        // Its own weaker lock is not in its way; to an upgrade ahead it is, but that one's owner is a holder in the way as well.
        for grant in &self.granted {
            if grant.mode.conflicts_any(pending) && !Arc::ptr_eq(&grant.owner, &self.queue[at].owner) {
                holder(&grant.owner);
            }
        }
    }
}
