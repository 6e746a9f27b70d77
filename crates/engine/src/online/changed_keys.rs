//! The rows that transactions change while an index is built beside them (`online/build.rs`): primary keys, and who changed each.
//!
//! # Invariants
//! 1. A key is noted under its row's exclusive latch, before the row changes. So whoever sees a transaction finds all that it changed here.
//! 2. Of those who changed a row, all stay noted that had not finished when the last one came. A transaction's place in the order of commits says nothing about who
//!    rolls back: one that changed the row later and took it back may finish before an earlier one is durable.
//! 3. Changes that are taken back are not noted again: no view sees them, before or after.
//! 4. Nothing is taken under the latches here, which are held for a few instructions.

use base::TxnId;
use foldhash::fast::RandomState;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Mutex, Rank, RwLock};
use txn::{Standing, TxnSystem};

const SHARDS: usize = 16;
/// What an entry takes beside its key, about.
const ENTRY_BYTES: u64 = 96;

/// Who changed a row.
pub(crate) type Changers = SmallVec<[TxnId; 2]>;
type Shard = HashMap<Box<[u8]>, Changers, RandomState>;

/// A table's door to the keys that are noted, if any are.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Relaxed: it changes while the table is somebody's alone, who hands it on with release and acquire.
    on: AtomicBool,
    keys: RwLock<Option<Arc<ChangedKeys>>>,
}

impl Watch {
    pub(crate) fn new() -> Watch {
        Watch { on: AtomicBool::new(false), keys: RwLock::new(Rank::Leaf, None) }
    }

    /// Whether changes are to be noted.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Begins or ends noting. To begin, the caller has the table alone.
    pub(crate) fn set(&self, keys: Option<Arc<ChangedKeys>>) {
        self.on.store(keys.is_some(), Ordering::Relaxed);
        *self.keys.write() = keys;
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn note(&self, key: &[u8], txn: TxnId, txns: &TxnSystem) {
        let keys = self.keys.read().clone();
        if let Some(keys) = keys {
            keys.note(key, txn, txns);
        }
    }
}

/// The keys noted since somebody took them last.
pub(crate) struct ChangedKeys {
    shards: [Mutex<Shard>; SHARDS],
    hasher: RandomState,
    count: AtomicU64,
    bytes: AtomicU64,
    bytes_max: u64,
    /// There were more than may be kept: nothing is noted any more, and the build must end.
    overflown: AtomicBool,
}

impl std::fmt::Debug for ChangedKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ChangedKeys({}, {} bytes)", self.count(), self.bytes())
    }
}

impl ChangedKeys {
    pub(crate) fn new(bytes_max: u64) -> ChangedKeys {
        ChangedKeys {
            shards: std::array::from_fn(|_| Mutex::new(Rank::ChangedKeys, Shard::default())),
            hasher: RandomState::default(),
            count: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            bytes_max,
            overflown: AtomicBool::new(false),
        }
    }

    fn note(&self, key: &[u8], txn: TxnId, txns: &TxnSystem) {
        let mut shard = self.shards[self.hasher.hash_one(key) as usize % SHARDS].lock();
        if let Some(changers) = shard.get_mut(key) {
            if !changers.contains(&txn) {
                // Views that are opened from now on see those; and one that was opened before sees this one as little as them.
                changers.retain(|other| txns.standing(*other) != Standing::Finished);
                changers.push(txn);
            }
            return;
        }
        let bytes = key.len() as u64 + ENTRY_BYTES;
        // Relaxed: a figure; the map is under the latch.
        if self.bytes.load(Ordering::Relaxed) + bytes > self.bytes_max {
            self.overflown.store(true, Ordering::Relaxed);
            return;
        }
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
        shard.insert(key.into(), SmallVec::from_slice(&[txn]));
        // The build's memory, not the statement's.
        memory::transfer(bytes as i64);
    }

    /// Takes out all that is noted, in the order of keys.
    pub(crate) fn take(&self) -> Vec<(Box<[u8]>, Changers)> {
        let mut taken = Vec::new();
        for shard in &self.shards {
            let keys = std::mem::take(&mut *shard.lock());
            self.count.fetch_sub(keys.len() as u64, Ordering::Relaxed);
            self.bytes.fetch_sub(keys.keys().map(|key| key.len() as u64 + ENTRY_BYTES).sum(), Ordering::Relaxed);
            taken.extend(keys);
        }
        taken.sort_unstable();
        taken
    }

    /// Puts a key back that has changers who were not seen.
    pub(crate) fn put_back(&self, key: Box<[u8]>, unseen: Changers) {
        let mut shard = self.shards[self.hasher.hash_one(&*key) as usize % SHARDS].lock();
        if let Some(changers) = shard.get_mut(&key) {
            changers.extend(unseen.into_iter().filter(|txn| !changers.contains(txn)).collect::<Changers>());
            return;
        }
        self.bytes.fetch_add(key.len() as u64 + ENTRY_BYTES, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
        shard.insert(key, unseen);
    }

    /// Keys noted.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Memory that they take, about.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whether some were not noted for want of room.
    pub(crate) fn has_overflown(&self) -> bool {
        self.overflown.load(Ordering::Relaxed)
    }
}
