//! Owners by transaction id, so that the holder of an implicit lock can be found.

use crate::owner::Owner;
use crate::platform::latch::{Mutex, Rank};
use crate::platform::{Arc, CachePadded};
use base::TxnId;
use std::collections::HashMap;

type OwnerMap = HashMap<u64, Arc<Owner>, foldhash::fast::FixedState>;

/// Sharded by id; neighbours in id order fall on different shards.
pub(crate) struct Registry {
    shards: Box<[CachePadded<Mutex<OwnerMap>>]>,
}

impl Registry {
    /// `shard_count` is a power of two.
    pub(crate) fn new(shard_count: usize) -> Registry {
        let shard = |_| CachePadded::new(Mutex::new(Rank::Leaf, OwnerMap::default()));
        Registry { shards: (0..shard_count).map(shard).collect() }
    }

    fn shard(&self, txn: TxnId) -> &Mutex<OwnerMap> {
        &self.shards[txn.0 as usize & (self.shards.len() - 1)]
    }

    pub(crate) fn insert(&self, txn: TxnId, owner: &Arc<Owner>) {
        let old = self.shard(txn).lock().insert(txn.0, Arc::clone(owner));
        assert!(old.is_none(), "transaction {txn} has two lock owners");
    }

    pub(crate) fn remove(&self, txn: TxnId) {
        self.shard(txn).lock().remove(&txn.0);
    }

    pub(crate) fn find(&self, txn: TxnId) -> Option<Arc<Owner>> {
        self.shard(txn).lock().get(&txn.0).cloned()
    }
}
