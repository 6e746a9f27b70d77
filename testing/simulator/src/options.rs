//! What kind of run a seed gives.

use crate::planted::Plant;
use crate::random::Random;
use buffer_pool::PoolConfig;
use engine::EngineConfig;
use page_store::StoreConfig;
use std::sync::Arc;
use std::time::Duration;
use sync::{Mutex, Rank};
use undo::UndoConfig;
use wal::WalConfig;

/// Faults beyond crashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Faults {
    /// Crashes only.
    None,
    /// Now and then a write fails.
    Writes,
    /// Now and then a sync fails.
    Syncs,
    /// The disk is full for a while.
    Full,
    /// Now and then a read fails.
    Reads,
}

#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub frames: usize,
    pub sessions: usize,
    /// Operations between two crashes, at most.
    pub steps: usize,
    /// Crashes, at least.
    pub lives: usize,
    pub tables: usize,
    pub large_rows: bool,
    /// Keys and integers are drawn from so many.
    pub domain: usize,
    pub faults: Faults,
    pub ddl: bool,
    /// Some commits are acknowledged before they are durable.
    pub lazy_commits: bool,
    pub doublewrite: bool,
    /// Some commits come in two halves, between which others work.
    pub halves: bool,
    /// Some transactions are branches of distributed ones.
    pub branches: bool,
}

impl Options {
    pub(crate) fn draw(random: &mut Random, plant: Option<Plant>) -> Options {
        Options {
            frames: random.between(28, 72),
            sessions: random.between(1, 4),
            steps: *random.one_of(&[30, 80, 150, 300]),
            lives: random.between(1, 4),
            tables: random.between(1, 3),
            large_rows: random.percent(40),
            domain: *random.one_of(&[8, 40, 200]),
            faults: match random.below(12) {
                0 => Faults::Writes,
                1 => Faults::Syncs,
                2 => Faults::Full,
                3 => Faults::Reads,
                _ => Faults::None,
            },
            ddl: random.percent(60),
            lazy_commits: random.percent(20),
            doublewrite: plant != Some(Plant::NoDoublewrite),
            halves: random.percent(60),
            branches: random.percent(40),
        }
    }

    pub(crate) fn engine(&self, warnings: &Arc<Mutex<Vec<String>>>) -> EngineConfig {
        let warnings = Arc::clone(warnings);
        EngineConfig {
            wal: WalConfig {
                segment_bytes: 512 << 10,
                buffer_bytes: 256 << 10,
                capacity_bytes: 8 << 20,
                space_margin_bytes: 128 << 10,
                ..WalConfig::small()
            },
            pool: PoolConfig {
                frames: self.frames,
                pages_max: 1 << 16,
                frame_wait: Duration::from_secs(5),
                batch_pages: 16,
                ..PoolConfig::default()
            },
            store: StoreConfig { doublewrite: self.doublewrite },
            undo: UndoConfig { shards: 2, memory_bytes_max: 3 << 20 },
            lock_shards: 4,
            on_warning: Arc::new(move |text| warnings.lock().push(text.to_owned())),
            ..EngineConfig::default()
        }
    }
}

/// An empty list of warnings.
pub(crate) fn warnings() -> Arc<Mutex<Vec<String>>> {
    Arc::new(Mutex::new(Rank::Leaf, Vec::new()))
}
