//! Figures of all parts in one place, for SHOW STATUS.

use crate::engine::Engine;
use buffer_pool::StatsSnapshot;
use lock_manager::LockStats;
use undo::UndoStats;
use wal::WalStats;

/// What [`Engine::status`] tells. Figures of different parts are not of one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineStatus {
    /// The log.
    pub wal: WalStats,
    /// Bytes of log that a restart would read now.
    pub wal_age_bytes: u64,
    /// Bytes of log past which writers wait for a checkpoint.
    pub wal_capacity_bytes: u64,
    /// The buffer pool.
    pub pool: StatsSnapshot,
    /// Row locks.
    pub locks: LockStats,
    /// The undo store.
    pub undo: UndoStats,
    /// Transactions with changes that have finished, committed or rolled back.
    pub finished: u64,
    /// Times a reply waited until what it tells of was durable: it had met a row whose lock was released early.
    pub dependency_waits: u64,
    /// Finished transactions that purge has not cleaned up after (`History list length`).
    pub history_length: u64,
    /// Open read views.
    pub views_open: u64,
    /// The next transaction id.
    pub next_txn_id: u64,
    /// All transactions below have finished.
    pub low_txn_id: u64,
    /// Transactions that a crash left and that are not rolled back yet.
    pub recovering: u64,
}

impl Engine {
    /// Transactions with changes that have finished since the start.
    pub fn finished_count(&self) -> u64 {
        // The first position is 1.
        self.txns.finished_now().0.saturating_sub(1)
    }

    /// How long the oldest transaction has waited for purge, to the second: how old the oldest view is that keeps it.
    pub fn history_age(&self) -> std::time::Duration {
        self.ages.lock().oldest(std::time::Instant::now())
    }

    /// Sizes and counts of the undo store.
    pub fn undo_stats(&self) -> UndoStats {
        self.undo.stats()
    }

    /// See [`EngineStatus::dependency_waits`].
    pub fn dependency_waits(&self) -> u64 {
        self.dependency_waits.load(sync::atomic::Ordering::Relaxed)
    }

    /// The figures now. It looks at every shard and segment: for people and monitors, not for statements.
    pub fn status(&self) -> EngineStatus {
        EngineStatus {
            wal: self.wal.stats(),
            wal_age_bytes: self.wal.age(),
            wal_capacity_bytes: self.wal.capacity(),
            pool: self.pool.stats(),
            locks: self.locks.stats(),
            undo: self.undo.stats(),
            finished: self.finished_count(),
            dependency_waits: self.dependency_waits(),
            history_length: self.history_length(),
            views_open: self.txns.open_view_count() as u64,
            next_txn_id: self.txns.next_id().0,
            low_txn_id: self.txns.low_id().0,
            recovering: self.recovering.load(sync::atomic::Ordering::Relaxed) as u64,
        }
    }
}
