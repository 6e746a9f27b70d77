//! Locks that users name (`GET_LOCK`): nothing but names, held by a session until it gives them back or ends.
//!
//! # Invariants
//! 1. A name has one holder, who may hold it several times. A released name goes to the one who has waited longest.
//! 2. An owner waits for one name at a time. A deadlock among such waits is found by the last to begin waiting, who is the victim.
//!
//! # Lock order
//! who waits for what → shard of names.

use crate::cancel::{Cancel, WaitCell, WaitState, WaitsFor};
use crate::manager::{LockError, WaitPolicy};
use crate::platform::latch::{Mutex, Rank};
use crate::platform::{Arc, CachePadded};
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;

const SHARDS: usize = 32;

struct Named {
    holder: u64,
    count: u64,
    queue: VecDeque<(u64, Arc<WaitCell>)>,
}

/// What [`UserLocks::release`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Released {
    /// Given back, once.
    Yes,
    /// Somebody else holds it.
    NotHolder,
    /// Nobody holds it.
    Free,
}

/// A held name, for lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserLockInfo {
    /// The name as it is compared.
    pub name: Box<str>,
    /// Who holds it.
    pub holder: u64,
    /// How many times.
    pub count: u64,
    /// Who waits for it, longest first.
    pub waiters: Vec<u64>,
}

/// All named locks of a server. Owners are numbers that the caller gives out; names come folded to one case.
pub struct UserLocks {
    shards: Box<[CachePadded<Mutex<HashMap<Box<str>, Named>>>]>,
    hasher: foldhash::fast::RandomState,
    /// Who waits for which name. Only those who wait come here.
    waiting: Mutex<HashMap<u64, Box<str>>>,
}

impl UserLocks {
    /// No lock is held.
    pub fn new() -> UserLocks {
        let shard = |number| CachePadded::new(Mutex::with_order(Rank::LockShard, number as u32, HashMap::new()));
        UserLocks {
            shards: (0..SHARDS).map(shard).collect(),
            hasher: foldhash::fast::RandomState::default(),
            waiting: Mutex::new(Rank::LockDetector, HashMap::new()),
        }
    }

    fn shard(&self, name: &str) -> &Mutex<HashMap<Box<str>, Named>> {
        &self.shards[self.hasher.hash_one(name) as usize % SHARDS]
    }

    /// Takes a name, once more if `owner` holds it already.
    pub fn acquire(&self, owner: u64, name: &str, policy: WaitPolicy, cancel: &Cancel) -> Result<(), LockError> {
        let cell = {
            let mut shard = self.shard(name).lock();
            let Some(named) = shard.get_mut(name) else {
                shard.insert(name.into(), Named { holder: owner, count: 1, queue: VecDeque::new() });
                return Ok(());
            };
            if named.holder == owner {
                named.count += 1;
                return Ok(());
            }
            let WaitPolicy::Wait(_) = policy else { return Err(LockError::WouldBlock) };
            let cell = Arc::new(WaitCell::new());
            cell.begin();
            named.queue.push_back((owner, Arc::clone(&cell)));
            cell
        };
        if self.closes_cycle(owner, name) && cell.end(WaitState::Victim) {
            self.give_up(owner, name, &cell);
            return Err(LockError::Deadlock);
        }
        let WaitPolicy::Wait(deadline) = policy else { unreachable!("returned above") };
        let state = cancel.sleep(&cell, WaitsFor::UserLock, deadline);
        if state == WaitState::Granted {
            self.waiting.lock().remove(&owner);
            return Ok(());
        }
        self.give_up(owner, name, &cell);
        Err(if state == WaitState::Killed { LockError::Killed } else { LockError::Timeout })
    }

    /// Notes the wait; whether its holder, or whom that one waits for and so on, waits for `owner`.
    fn closes_cycle(&self, owner: u64, name: &str) -> bool {
        // Held to the end: of two who close one cycle, the second sees the first.
        let mut waiting = self.waiting.lock();
        waiting.insert(owner, name.into());
        let mut name: &str = name;
        for step in 0..=waiting.len() {
            match self.holder(name) {
                Some(holder) if holder == owner => return step > 0,
                Some(holder) => match waiting.get(&holder) {
                    Some(next) => name = next,
                    None => return false,
                },
                None => return false,
            }
        }
        false
    }

    fn give_up(&self, owner: u64, name: &str, cell: &Arc<WaitCell>) {
        self.waiting.lock().remove(&owner);
        if let Some(named) = self.shard(name).lock().get_mut(name) {
            named.queue.retain(|(_, other)| !Arc::ptr_eq(other, cell));
        }
    }

    /// Gives a name back, once.
    pub fn release(&self, owner: u64, name: &str) -> Released {
        let woken = {
            let mut shard = self.shard(name).lock();
            let Some(named) = shard.get_mut(name) else { return Released::Free };
            if named.holder != owner {
                return Released::NotHolder;
            }
            named.count -= 1;
            if named.count > 0 {
                return Released::Yes;
            }
            loop {
                let Some((next, cell)) = named.queue.pop_front() else {
                    shard.remove(name);
                    break None;
                };
                // Who gives up at this moment is passed over.
                if cell.end(WaitState::Granted) {
                    (named.holder, named.count) = (next, 1);
                    break Some(cell);
                }
            }
        };
        if let Some(cell) = woken {
            cell.wake();
        }
        Released::Yes
    }

    /// Who holds a name.
    pub fn holder(&self, name: &str) -> Option<u64> {
        self.shard(name).lock().get(name).map(|named| named.holder)
    }

    /// All names that are held, in order.
    pub fn list(&self) -> Vec<UserLockInfo> {
        let mut all = Vec::new();
        for shard in &self.shards {
            all.extend(shard.lock().iter().map(|(name, named)| UserLockInfo {
                name: name.clone(),
                holder: named.holder,
                count: named.count,
                waiters: named.queue.iter().map(|(owner, _)| *owner).collect(),
            }));
        }
        all.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        all
    }
}

impl Default for UserLocks {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for UserLocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "UserLocks({} held)", self.list().len())
    }
}
