//! Plans by statement text: one cache for the server, and a small one in front of it in each session.
//!
//! # Invariants
//! 1. A plan is used only while the catalogue's version is the one it was made under; the text's fingerprint, the current database,
//!    the modes and the collation of literals are part of its key.
//! 2. A hit in a session's own cache writes nothing shared: the plan is taken out while it runs, and put back.

use planner::Plan;
use protocol::ColumnBlock;
use std::sync::Arc;
use sync::{CachePadded, Rank, RwLock};

/// What a plan was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PlanKey {
    /// Fingerprint of the text.
    pub text: u128,
    /// Hash of database, modes and collation.
    pub environment: u64,
}

/// A plan, ready to run again and again.
pub struct CachedPlan {
    /// The plan.
    pub plan: Plan,
    /// The head of its result.
    pub columns: ColumnBlock,
    /// [`catalog::Catalog::version`] when it was made.
    pub catalog_version: u64,
    /// It was chosen without knowing the parameters' values, which could have led to a better one: good until the first execution.
    pub provisional: bool,
}

impl CachedPlan {
    /// Whether it may be run: made under this catalogue version, for tables of about this size.
    #[inline]
    pub fn is_fresh(&self, catalog_version: u64) -> bool {
        self.catalog_version == catalog_version && !self.plan.is_outgrown()
    }
}

const SHARDS: usize = 64;
/// Plans of a shard; when it is full it starts anew, which costs each statement in use one planning.
const SHARD_PLANS_MAX: usize = 256;

type Shard = hashbrown::HashMap<PlanKey, Arc<CachedPlan>, foldhash::fast::FixedState>;

/// The server's plans.
pub struct PlanCache {
    shards: Box<[CachePadded<RwLock<Shard>>]>,
}

impl PlanCache {
    /// An empty cache.
    pub fn new() -> PlanCache {
        PlanCache { shards: (0..SHARDS).map(|_| CachePadded::new(RwLock::new(Rank::Leaf, Shard::default()))).collect() }
    }

    fn shard(&self, key: &PlanKey) -> &RwLock<Shard> {
        &self.shards[key.text as usize % SHARDS]
    }

    /// The plan of a key, if it is of this catalogue version.
    pub fn get(&self, key: &PlanKey, catalog_version: u64) -> Option<Arc<CachedPlan>> {
        self.shard(key).read().get(key).filter(|plan| plan.is_fresh(catalog_version)).cloned()
    }

    /// Keeps a plan.
    pub fn put(&self, key: PlanKey, plan: &Arc<CachedPlan>) {
        let mut shard = self.shard(&key).write();
        if shard.len() >= SHARD_PLANS_MAX && !shard.contains_key(&key) {
            shard.clear();
        }
        shard.insert(key, Arc::clone(plan));
    }

    /// Plans held.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.read().len()).sum()
    }

    /// Whether none is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Default for PlanCache {
    fn default() -> Self {
        Self::new()
    }
}

/// Slots of a session's own cache.
const OWN_SLOTS: usize = 32;

/// A session's own plans, found by one look.
#[derive(Default)]
pub struct OwnPlans {
    slots: Vec<Option<(PlanKey, Arc<CachedPlan>)>>,
}

impl OwnPlans {
    fn slot(key: &PlanKey) -> usize {
        (key.text as usize ^ key.environment as usize) % OWN_SLOTS
    }

    /// Takes the plan of a key out, if it is fresh.
    #[inline]
    pub fn take(&mut self, key: &PlanKey, catalog_version: u64) -> Option<Arc<CachedPlan>> {
        let slot = self.slots.get_mut(Self::slot(key))?;
        slot.take_if(|(of, plan)| of == key && plan.is_fresh(catalog_version)).map(|(_, plan)| plan)
    }

    /// Keeps a plan.
    #[inline]
    pub fn put(&mut self, key: PlanKey, plan: Arc<CachedPlan>) {
        if self.slots.is_empty() {
            self.slots.resize_with(OWN_SLOTS, || None);
        }
        self.slots[Self::slot(&key)] = Some((key, plan));
    }
}
