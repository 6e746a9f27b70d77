//! How far a build beside writers (`online/build.rs`) is: its stages, for others to look at.

use std::time::Instant;
use sync::{Mutex, Rank};

/// What a build does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildStage {
    /// Rows are read.
    Read,
    /// Keys are sorted and merged, and put into the trees.
    Fill,
    /// What was changed meanwhile is carried over.
    CatchUp,
    /// The same, while nobody else has the table.
    LastRound,
    /// Both, of a table that is copied.
    CatchUpRows,
}

/// How far a build is, for others to look at.
#[derive(Debug)]
pub struct BuildProgress {
    stages: Mutex<Vec<StageLook>>,
}

/// A stage of a build.
#[derive(Debug, Clone, Copy)]
pub struct StageLook {
    /// Which.
    pub stage: BuildStage,
    /// Since when.
    pub begun: Instant,
    /// Until when.
    pub ended: Option<Instant>,
    /// Rows, entries or keys that are done.
    pub done: u64,
    /// Of so many, as far as is known.
    pub of: u64,
}

impl Default for BuildProgress {
    fn default() -> BuildProgress {
        BuildProgress { stages: Mutex::new(Rank::Leaf, Vec::new()) }
    }
}

impl BuildProgress {
    /// Begins a stage, or goes on with it.
    pub(crate) fn begin(&self, stage: BuildStage, of: u64) {
        let mut stages = self.stages.lock();
        match stages.last_mut() {
            Some(last) if last.stage == stage => {
                // What there was is done.
                last.done = last.of;
                last.of += of;
            }
            last => {
                let now = Instant::now();
                if let Some(last) = last {
                    last.finish(now);
                }
                stages.push(StageLook { stage, begun: now, ended: None, done: 0, of });
            }
        }
    }

    /// So much more is done.
    pub(crate) fn add(&self, done: u64) {
        if let Some(last) = self.stages.lock().last_mut() {
            last.done += done;
            last.of = last.of.max(last.done);
        }
    }

    /// The build has ended, one way or another.
    pub fn end(&self) {
        if let Some(last) = self.stages.lock().last_mut() {
            last.ended.get_or_insert_with(Instant::now);
        }
    }

    /// All stages so far; the last one is the one it is at.
    pub fn stages(&self) -> Vec<StageLook> {
        self.stages.lock().clone()
    }
}

impl StageLook {
    fn finish(&mut self, now: Instant) {
        self.of = self.of.max(self.done);
        if self.stage == BuildStage::Read {
            // The rows were guessed.
            self.of = self.done;
        }
        self.done = self.of;
        self.ended = Some(now);
    }
}
