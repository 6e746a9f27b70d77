//! Locks that users name (`GET_LOCK`): nothing but names, held by a session until it gives them back or ends.
//!
//! # Invariants
//! 1. A name has one holder, who may hold it several times. A released name goes to the one who has waited longest.
//! 2. An owner waits for one name at a time. Its wait is part of the graph that deadlocks are searched in (`outside.rs`); there, an owner
//!    here is known by its client.

use crate::cancel::{WaitCell, WaitState, WaitsFor};
use crate::manager::{LockError, WaitPolicy};
use crate::outside::{Asker, Awaited};
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
    names: Arc<Names>,
}

/// Who has which name, and who waits for it.
pub(crate) struct Names {
    shards: Box<[CachePadded<Mutex<HashMap<Box<str>, Named>>>]>,
    hasher: foldhash::fast::RandomState,
}

impl Names {
    fn shard(&self, name: &str) -> &Mutex<HashMap<Box<str>, Named>> {
        &self.shards[self.hasher.hash_one(name) as usize % SHARDS]
    }

    /// Who holds a name.
    pub(crate) fn holder(&self, name: &str) -> Option<u64> {
        self.shard(name).lock().get(name).map(|named| named.holder)
    }
}

impl UserLocks {
    /// No lock is held.
    pub fn new() -> UserLocks {
        let shard = |number| CachePadded::new(Mutex::with_order(Rank::LockShard, number as u32, HashMap::new()));
        let names = Names { shards: (0..SHARDS).map(shard).collect(), hasher: foldhash::fast::RandomState::default() };
        UserLocks { names: Arc::new(names) }
    }

    fn shard(&self, name: &str) -> &Mutex<HashMap<Box<str>, Named>> {
        self.names.shard(name)
    }

    /// Takes a name, once more if `owner` holds it already. Who asks as a member of the graph is an owner whose client is `owner`.
    pub fn acquire<'a>(&self, owner: u64, name: &str, policy: WaitPolicy, asker: impl Into<Asker<'a>>) -> Result<(), LockError> {
        let asker = asker.into().waiting_for(WaitsFor::UserLock);
        if let Some(member) = asker.owner() {
            debug_assert_eq!(member.client(), owner);
            member.note_name();
        }
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
        let WaitPolicy::Wait(deadline) = policy else { unreachable!("returned above") };
        let awaited = || Awaited::Name { names: Arc::clone(&self.names), name: name.into() };
        match asker.sleep(&cell, awaited, || true, deadline) {
            WaitState::Granted => Ok(()),
            state => {
                self.give_up(name, &cell);
                Err(match state {
                    WaitState::Killed => LockError::Killed,
                    WaitState::Victim => LockError::Deadlock,
                    _ => LockError::Timeout,
                })
            }
        }
    }

    fn give_up(&self, name: &str, cell: &Arc<WaitCell>) {
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
        self.names.holder(name)
    }

    /// All names that are held, in order.
    pub fn list(&self) -> Vec<UserLockInfo> {
        let mut all = Vec::new();
        for shard in &self.names.shards {
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
