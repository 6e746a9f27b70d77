//! What kind of run a seed gives.

use crate::cuts::{Cuts, Feature};
use crate::planted::Plant;
use crate::random::Random;
use crate::stories::{ACTORS, Story};
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
    /// Now and then a read fails, or brings a wrong bit.
    Reads,
    /// The medium does wrong and tells nobody: bits flip, writes vanish or go to another place.
    Damage,
}

/// Bytes of a log segment.
pub(crate) const SEGMENT_BYTES: u64 = 512 << 10;

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
    /// Some recoveries crash too.
    pub nested: bool,
    /// What crashes tear by.
    pub sector_bytes: usize,
    pub undo_memory_bytes: u64,
    /// Views that lag by so many finished transactions do not keep what they do not need.
    pub prune_lag: u64,
    /// Some transactions run under true snapshot isolation, some at the other levels than READ COMMITTED and REPEATABLE READ.
    pub levels: bool,
    /// Few rows that change and are taken back again and again under old snapshots, with much purge and few checkpoints: what a rollback leaves to purge
    /// is in the log only.
    pub hot: bool,
    /// Sessions up to this one only look, at old snapshots, two or three beside each other; the others write few rows in short transactions, with purge between them all the while.
    pub watchers: usize,
    /// Stories that are told now and then.
    pub story: Option<Story>,
    /// Tables that refer to each other by foreign keys; no other DDL.
    pub keys: bool,
    /// Sessions have temporary tables.
    pub temporary: bool,
    /// Which pages are in memory is written down, and read by the next life.
    pub warm: bool,
}

impl Options {
    /// Whether few rows change again and again.
    pub(crate) fn is_hot(&self) -> bool {
        self.hot || self.watchers > 0
    }

    pub(crate) fn draw(random: &mut Random, plant: Option<Plant>, cuts: &Cuts) -> Options {
        let mut options = Options {
            frames: random.between(28, 72),
            sessions: random.between(1, 4),
            steps: *random.one_of(&[30, 80, 150, 300]),
            lives: random.between(1, 4),
            tables: random.between(1, 3),
            large_rows: random.percent(40),
            domain: *random.one_of(&[8, 40, 200]),
            faults: match random.below(16) {
                0 | 1 => Faults::Writes,
                2 => Faults::Syncs,
                3 | 4 => Faults::Full,
                5 => Faults::Reads,
                6 | 7 => Faults::Damage,
                _ => Faults::None,
            },
            ddl: random.percent(60),
            lazy_commits: random.percent(20),
            doublewrite: plant != Some(Plant::NoDoublewrite),
            halves: random.percent(60),
            branches: random.percent(40),
            nested: true,
            sector_bytes: *random.one_of(&[512, 512, 4096]),
            undo_memory_bytes: *random.one_of(&[1 << 20, 3 << 20]),
            prune_lag: *random.one_of(&[0, 0, 3, 512]),
            levels: random.percent(50),
            hot: false,
            watchers: 0,
            story: None,
            keys: false,
            temporary: false,
            warm: false,
        };
        if random.percent(20) {
            // More views than purge looks at one by one.
            options.sessions = random.between(6, 9);
        }
        if random.percent(15) {
            options.hot = true;
            options.domain = random.between(2, 6);
            options.sessions = random.between(4, 9);
            options.prune_lag = 0;
            options.tables = 1;
            options.steps = 300;
        }
        // Drawn apart: the seeds that are not of this kind stay what they were.
        let mut apart = random.clone();
        if !options.hot && apart.percent(12) {
            options.watchers = apart.between(2, 3);
            options.sessions = options.watchers + apart.between(1, 2);
            options.domain = apart.between(2, 4);
            options.prune_lag = 0;
            options.tables = 1;
            options.steps = 300;
            (options.ddl, options.branches, options.large_rows) = (false, false, false);
        }
        // Again apart, of seeds that are of no kind yet.
        let mut apart = Random::apart(&apart);
        options.temporary = apart.percent(20) && !options.is_hot();
        if !options.is_hot() {
            match apart.below(100) {
                0..5 => options.tell(Story::BuiltOn, &mut apart),
                5..10 => options.tell(Story::Leftover, &mut apart),
                10..25 => {
                    options.keys = true;
                    options.ddl = false;
                    options.sessions = apart.between(2, 4);
                    options.domain = apart.between(6, 24);
                    options.steps = options.steps.max(150);
                }
                _ => {}
            }
        }
        options.warm = Random::apart(&apart).percent(30) || plant == Some(Plant::NoListSync);
        if plant == Some(Plant::NoPageChecksum) {
            options.faults = Faults::Damage;
        }
        if !cuts.has(Feature::Faults) {
            options.faults = Faults::None;
        }
        options.nested &= cuts.has(Feature::Nested);
        options.ddl &= cuts.has(Feature::Ddl);
        options.branches &= cuts.has(Feature::Branches);
        options.halves &= cuts.has(Feature::Halves);
        options.lazy_commits &= cuts.has(Feature::Lazy);
        options.large_rows &= cuts.has(Feature::Large);
        options.levels &= cuts.has(Feature::Levels);
        if !cuts.has(Feature::Prune) {
            options.prune_lag = 512;
        }
        options.temporary &= cuts.has(Feature::Temporary);
        options.warm &= cuts.has(Feature::Warm);
        if !cuts.has(Feature::Stories) {
            options.story = None;
        }
        options
    }

    fn tell(&mut self, story: Story, random: &mut Random) {
        self.story = Some(story);
        self.tables = 1;
        self.steps = self.steps.max(80);
        self.sessions = self.sessions.max(ACTORS + random.below(3));
        match story {
            Story::BuiltOn => self.halves = true,
            Story::Leftover => (self.prune_lag, self.ddl) = (0, false),
        }
    }

    pub(crate) fn engine(&self, warnings: &Arc<Mutex<Vec<String>>>) -> EngineConfig {
        let warnings = Arc::clone(warnings);
        EngineConfig {
            wal: WalConfig {
                segment_bytes: SEGMENT_BYTES,
                buffer_bytes: 256 << 10,
                capacity_bytes: 8 << 20,
                mark_bytes: 1 << 10,
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
            undo: UndoConfig { shards: 2, memory_bytes_max: self.undo_memory_bytes },
            lock_shards: 4,
            lock_seed: Some(0),
            prune_lag: self.prune_lag,
            on_warning: Arc::new(move |text| warnings.lock().push(text.to_owned())),
            ..EngineConfig::default()
        }
    }
}

/// An empty list of warnings.
pub(crate) fn warnings() -> Arc<Mutex<Vec<String>>> {
    Arc::new(Mutex::new(Rank::Leaf, Vec::new()))
}
