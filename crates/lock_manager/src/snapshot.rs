//! A list of locks and waits, for `performance_schema.data_locks`, `data_lock_waits` and the status text.

use crate::manager::{AUTO_INCREMENT_BIT, LockManager};
use crate::mode::LockMode;
use crate::owner::Owner;
use crate::table::Entry;
use base::{IndexId, TxnId};
use std::time::Instant;

/// Blocking locks that are listed for a waiting one.
const BLOCKING_MAX: usize = 16;

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
    /// The key; empty for the end of the index.
    pub key: Vec<u8>,
    /// The mode.
    pub mode: LockMode,
    /// Granted, or waiting.
    pub granted: bool,
    /// Since when it waits.
    pub since: Option<Instant>,
}

impl LockInfo {
    /// Whether a table's AUTO_INCREMENT counter is locked.
    pub fn is_auto_increment(&self) -> bool {
        self.index.0 & AUTO_INCREMENT_BIT != 0
    }

    /// The index, of an AUTO_INCREMENT counter its table's primary one.
    pub fn table_index(&self) -> IndexId {
        IndexId(self.index.0 & !AUTO_INCREMENT_BIT)
    }

    /// Whether the end of the index is locked, not a record: "supremum pseudo-record".
    pub fn is_supremum(&self) -> bool {
        self.key.is_empty()
    }

    /// The mode as `performance_schema.data_locks` spells it. At the end of an index there is no record, so the gap is not said.
    pub fn mode_name(&self) -> &'static str {
        match self.mode {
            _ if self.is_auto_increment() => "AUTO_INC",
            LockMode::SharedGap if self.is_supremum() => "S",
            LockMode::ExclusiveGap if self.is_supremum() => "X",
            LockMode::InsertIntention if self.is_supremum() => "X,INSERT_INTENTION",
            mode => mode.name(),
        }
    }
}

/// Who waits for whom: positions in [`LockSnapshot::locks`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockWait {
    /// The lock that is awaited.
    pub waiting: usize,
    /// A lock that is in its way: a granted one or, when none is, the next that is awaited earlier.
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

impl LockManager {
    /// Lists locks and waits, at most `locks_max`.
    pub fn snapshot(&self, locks_max: usize) -> LockSnapshot {
        let mut list = LockSnapshot::default();
        for shard in &self.shards {
            let shard = shard.lock();
            for (_, entry) in shard.entries() {
                if list.locks.len() >= locks_max {
                    return list;
                }
                list.add(entry, locks_max);
            }
        }
        // A span is told as a lock on its last record.
        for (owner, index, last, gap) in self.spans.all() {
            let room = locks_max.saturating_sub(list.locks.len());
            list.locks.extend(gap.modes().take(room).map(|mode| LockInfo {
                owner: owner.number(),
                client: owner.client(),
                txn: owner.txn(),
                index,
                key: last.to_vec(),
                mode,
                granted: true,
                since: None,
            }));
        }
        list
    }
}

impl LockSnapshot {
    fn add(&mut self, entry: &Entry, locks_max: usize) {
        let first = self.locks.len();
        let info = |owner: &Owner, mode, since: Option<Instant>| LockInfo {
            owner: owner.number(),
            client: owner.client(),
            txn: owner.txn(),
            index: entry.index,
            key: entry.key.to_vec(),
            mode,
            granted: since.is_none(),
            since,
        };
        for grant in entry.holders.grants() {
            self.locks.extend(grant.parts.modes().map(|mode| info(&grant.owner, mode, None)));
        }
        let granted = self.locks.len();
        let room = locks_max.saturating_sub(granted);
        let waiters = entry.queue.iter().flat_map(|queue| queue.iter()).take(room);
        self.locks.extend(waiters.map(|waiter| info(&waiter.owner, waiter.mode, Some(waiter.since))));
        for waiting in granted..self.locks.len() {
            let in_the_way = |blocking: &usize| {
                let (a, b) = (&self.locks[waiting], &self.locks[*blocking]);
                a.owner != b.owner && a.mode.waits_for(b.mode)
            };
            let before = self.waits.len();
            let waits = (first..granted).filter(in_the_way).take(BLOCKING_MAX).map(|blocking| LockWait { waiting, blocking });
            self.waits.extend(waits);
            if self.waits.len() == before {
                let ahead = (granted..waiting).rev().find(in_the_way);
                self.waits.extend(ahead.map(|blocking| LockWait { waiting, blocking }));
            }
        }
    }
}
