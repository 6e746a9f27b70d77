//! Settings of the engine.

use buffer_pool::PoolConfig;
use page_store::StoreConfig;
use std::sync::Arc;
use std::time::Duration;
use undo::UndoConfig;
use wal::WalConfig;

/// Mechanisms that can be switched off to measure what each is worth. All on is what a server runs with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mechanisms {
    /// Row locks go with the commit record, not with its durability.
    pub early_lock_release: bool,
}

impl Default for Mechanisms {
    fn default() -> Self {
        Mechanisms { early_lock_release: true }
    }
}

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
    /// What is switched off for measuring.
    pub mechanisms: Mechanisms,
    /// Longest time between two checkpoints.
    pub checkpoint_interval: Duration,
    /// Told once when nothing more can be made durable: the process is to stop.
    pub on_fatal: Arc<dyn Fn(&str) + Send + Sync>,
    /// Told what an operator should know.
    pub on_warning: Arc<dyn Fn(&str) + Send + Sync>,
}

impl Default for EngineConfig {
    fn default() -> Self {
        EngineConfig {
            wal: WalConfig::default(),
            pool: PoolConfig::default(),
            store: StoreConfig::default(),
            undo: UndoConfig::default(),
            lock_shards: 256,
            mechanisms: Mechanisms::default(),
            checkpoint_interval: Duration::from_secs(5),
            on_fatal: Arc::new(|_| {}),
            on_warning: Arc::new(|_| {}),
        }
    }
}

impl EngineConfig {
    /// A small engine for tests: 4 MiB of log, 64 frames. The ring holds the largest mini-transaction, a split's page images, twice.
    pub fn small() -> Self {
        EngineConfig {
            wal: WalConfig {
                segment_bytes: 512 << 10,
                buffer_bytes: 256 << 10,
                capacity_bytes: 4 << 20,
                space_margin_bytes: 128 << 10,
                ..WalConfig::small()
            },
            pool: PoolConfig { frames: 64, pages_max: 1 << 20, ..PoolConfig::default() },
            undo: UndoConfig { shards: 4, ..UndoConfig::default() },
            lock_shards: 16,
            ..EngineConfig::default()
        }
    }
}
