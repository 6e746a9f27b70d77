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
    /// Views are the number of the newest finish (the name is that of what came before); off: copies of a sorted list of running transactions,
    /// made under a mutex.
    pub hybrid_view: bool,
    /// The lock table has shards; off: one.
    pub lock_shards: bool,
    /// A batch of committers is woken on its own word; off: all batches share one.
    pub exact_wakeups: bool,
    /// Row locks go with the commit record, not with its durability.
    pub early_lock_release: bool,
    /// Who waits for the one row that its statement needs does so without a thread, where sessions share threads.
    pub left_waits: bool,
    /// Admission bounds how many transactions work at once. The engine does not look at it.
    pub admission: bool,
}

impl Default for Mechanisms {
    fn default() -> Self {
        Mechanisms {
            hybrid_view: true,
            lock_shards: true,
            exact_wakeups: true,
            early_lock_release: true,
            left_waits: true,
            admission: true,
        }
    }
}

impl Mechanisms {
    /// What [`Mechanisms::switch_off`] knows.
    pub const NAMES: [&'static str; 6] = ["hybrid-view", "lock-shards", "exact-wakeups", "early-lock-release", "left-waits", "admission"];

    /// Switches one off by its name; `false` when there is none of that name.
    pub fn switch_off(&mut self, name: &str) -> bool {
        let switch = match name {
            "hybrid-view" => &mut self.hybrid_view,
            "lock-shards" => &mut self.lock_shards,
            "exact-wakeups" => &mut self.exact_wakeups,
            "early-lock-release" => &mut self.early_lock_release,
            "left-waits" => &mut self.left_waits,
            "admission" => &mut self.admission,
            _ => return false,
        };
        *switch = false;
        true
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
    /// Which rows share a shard: with the same seed the same ones, in every process, for runs that are to repeat. Else nobody can know.
    pub lock_seed: Option<u64>,
    /// What is switched off for measuring.
    pub mechanisms: Mechanisms,
    /// A view that is more than so many finished transactions behind does not keep versions that it does not need (`prune.rs`). Younger ones are left alone: they
    /// will be closed before it pays.
    pub prune_lag: u64,
    /// Threads that purge (`innodb_purge_threads`).
    pub purge_threads: usize,
    /// Entries of the history that a checkpoint writes as one block.
    pub history_block_max: usize,
    /// Format of a directory that is made; an older one for those who may want to go back to an earlier release.
    pub new_format: u32,
    /// Longest time between two checkpoints.
    pub checkpoint_interval: Duration,
    /// Threads that redo pages beside the one that reads the log; 0: that one does it, always in the same order.
    pub redo_workers: usize,
    /// Told once when nothing more can be made durable: the process is to stop.
    pub on_fatal: Arc<dyn Fn(&str) + Send + Sync>,
    /// Told what an operator should know.
    pub on_warning: Arc<dyn Fn(&str) + Send + Sync>,
    /// Told what an operator may like to know: how recovery goes on.
    pub on_note: Arc<dyn Fn(&str) + Send + Sync>,
}

impl Default for EngineConfig {
    fn default() -> Self {
        EngineConfig {
            wal: WalConfig::default(),
            pool: PoolConfig::default(),
            store: StoreConfig::default(),
            undo: UndoConfig::default(),
            lock_shards: 256,
            lock_seed: None,
            mechanisms: Mechanisms::default(),
            prune_lag: 512,
            purge_threads: 1,
            history_block_max: 4096,
            new_format: page_store::FORMAT_NEWEST,
            checkpoint_interval: Duration::from_secs(5),
            redo_workers: 0,
            on_fatal: Arc::new(|_| {}),
            on_warning: Arc::new(|_| {}),
            on_note: Arc::new(|_| {}),
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
            prune_lag: 0,
            history_block_max: 8,
            ..EngineConfig::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mechanism_has_a_name() {
        let mut switched = Mechanisms::default();
        for name in Mechanisms::NAMES {
            let before = switched;
            assert!(switched.switch_off(name) && switched != before, "{name}");
        }
        assert!(!switched.switch_off("gravity"));
    }
}
