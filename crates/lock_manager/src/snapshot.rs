//! A list of locks and waits, for `performance_schema.data_locks`, `data_lock_waits` and the status text.

use crate::manager::LockManager;
use crate::mode::LockMode;
use crate::owner::Owner;
use base::{IndexId, TxnId};

/// A lock granted or awaited.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockInfo {
    /// [`Owner::number`].
    pub owner: u64,
    /// [`Owner::client`].
    pub client: u64,
    /// Its transaction id; `NONE` when it has not written.
    pub txn: TxnId,
    /// Index of the key.
    pub index: IndexId,
    /// The key.
    pub key: Vec<u8>,
    /// The mode.
    pub mode: LockMode,
    /// Granted, or waiting.
    pub granted: bool,
}

/// Who waits for whom: positions in [`LockSnapshot::locks`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockWait {
    /// The lock that is awaited.
    pub waiting: usize,
    /// A lock, granted or awaited earlier, that is in its way.
    pub blocking: usize,
}

/// Locks and waits. Each shard is read at one moment, different shards at different ones.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct LockSnapshot {
    /// All locks, those of one key together.
    pub locks: Vec<LockInfo>,
    /// All waits.
    pub waits: Vec<LockWait>,
}

/// Locks in the way of one waiter that are listed: the granted ones, then waiters from the first in line on. Of ten thousand waiters for one row
/// each waits for all before it.
const BLOCKERS_MAX: usize = 64;

impl LockManager {
    /// Lists locks and waits, at most `locks_max` and the rest of the last key.
    pub fn snapshot(&self, locks_max: usize) -> LockSnapshot {
        let mut list = LockSnapshot::default();
        for shard in &self.shards {
            let shard = shard.lock();
            for (_, entry) in shard.entries() {
                if list.locks.len() >= locks_max {
                    return list;
                }
                let first = list.locks.len();
                let info = |owner: &Owner, mode, granted| {
                    let (index, key) = (entry.index, entry.key.to_vec());
                    LockInfo { owner: owner.number(), client: owner.client(), txn: owner.txn(), index, key, mode, granted }
                };
                list.locks.extend(entry.granted.iter().map(|grant| info(&grant.owner, grant.mode, true)));
                list.locks.extend(entry.queue.iter().map(|waiter| info(&waiter.owner, waiter.mode, false)));
                for waiting in first + entry.granted.len()..list.locks.len() {
                    let in_the_way = |blocking: &usize| {
                        let (a, b) = (&list.locks[waiting], &list.locks[*blocking]);
                        a.owner != b.owner && a.mode.conflicts_with(b.mode)
                    };
                    let waits = (first..waiting).filter(in_the_way).take(BLOCKERS_MAX).map(|blocking| LockWait { waiting, blocking });
                    list.waits.extend(waits);
                }
            }
        }
        list
    }
}
