//! Settings of the engine.

use buffer_pool::PoolConfig;
use page_store::StoreConfig;
use std::sync::Arc;
use std::time::Duration;
use undo::UndoConfig;
use wal::WalConfig;

/// Settings of an engine. [`Default`] serves a small machine; tests use [`EngineConfig::small`].
#[derive(Clone)]
pub struct EngineConfig {
    /// The log.
    pub wal: WalConfig,
    /// The buffer pool.
    pub pool: PoolConfig,
    /// The page store.
    pub store: StoreConfig,
    /// The undo store.
    pub undo: UndoConfig,
    /// Shards of the lock table.
    pub lock_shards: usize,
    /// Longest time between two checkpoints.
    pub checkpoint_interval: Duration,
    /// Told once when nothing more can be made durable: the process is to stop.
    pub on_fatal: Arc<dyn Fn(&str) + Send + Sync>,
    /// Told what an operator should know.
    pub on_warning: Arc<dyn Fn(&str) + Send + Sync>,
}
