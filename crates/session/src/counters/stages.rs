//! What long statements are at, for `SHOW PROCESSLIST` and `performance_schema.events_stages_*`: indexes that are built and tables that are copied beside writers.

use engine::{BuildProgress, BuildStage, StageLook};
use std::collections::VecDeque;
use std::sync::Arc;
use sync::{Mutex, Rank};

/// Builds that have ended and are remembered, of all connections together.
const ENDED_MAX: usize = 100;
/// Events of a connection that `events_stages_history` shows, as MySQL's.
pub(crate) const HISTORY_ROWS: usize = 10;
/// Numbers of events that each build takes: more than it has stages.
const EVENTS_PER_BUILD: u64 = 16;

/// A statement whose stages are told.
#[derive(Clone)]
struct Told {
    connection: u32,
    first_event: u64,
    progress: Arc<BuildProgress>,
}

#[derive(Default)]
struct List {
    next_event: u64,
    running: Vec<Told>,
    ended: VecDeque<Told>,
}

/// The stages of all connections' statements.
pub(crate) struct Stages {
    list: Mutex<List>,
}

/// A stage of a connection's statement.
pub(crate) struct Event {
    pub connection: u32,
    pub number: u64,
    pub stage: StageLook,
}

impl Event {
    /// MySQL's name of the stage.
    pub(crate) fn name(&self) -> &'static str {
        match self.stage.stage {
            BuildStage::Read => "stage/innodb/alter table (read PK and internal sort)",
            BuildStage::Fill => "stage/innodb/alter table (insert)",
            BuildStage::CatchUp | BuildStage::LastRound => "stage/innodb/alter table (log apply index)",
            BuildStage::CatchUpRows => "stage/innodb/alter table (log apply table)",
        }
    }
}

/// Takes a statement out of those that run, when dropped.
pub(crate) struct Shown<'s> {
    stages: &'s Stages,
    first_event: u64,
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        let told = {
            let mut list = self.stages.list.lock();
            let Some(at) = list.running.iter().position(|told| told.first_event == self.first_event) else { return };
            list.running.swap_remove(at)
        };
        // Under no latch: it has its own.
        told.progress.end();
        let mut list = self.stages.list.lock();
        if list.ended.len() == ENDED_MAX {
            list.ended.pop_front();
        }
        list.ended.push_back(told);
    }
}

impl Stages {
    pub(crate) fn new() -> Stages {
        Stages { list: Mutex::new(Rank::Leaf, List::default()) }
    }

    /// A connection's statement begins to build indexes.
    pub(crate) fn begin(&self, connection: u32, progress: &Arc<BuildProgress>) -> Shown<'_> {
        let mut list = self.list.lock();
        let first_event = list.next_event + 1;
        list.next_event += EVENTS_PER_BUILD;
        list.running.push(Told { connection, first_event, progress: Arc::clone(progress) });
        Shown { stages: self, first_event }
    }

    /// What a connection's statement is at, as the process list says it.
    pub(crate) fn state(&self, connection: u32) -> Option<&'static str> {
        self.list.lock().running.iter().any(|told| told.connection == connection).then_some("altering table")
    }

    /// The stages that statements are at.
    pub(crate) fn current(&self) -> Vec<Event> {
        let running = self.list.lock().running.clone();
        running.iter().filter_map(|told| told.events().pop()).collect()
    }

    /// Stages that have ended, the oldest first.
    pub(crate) fn ended(&self) -> Vec<Event> {
        let told: Vec<Told> = {
            let list = self.list.lock();
            list.ended.iter().chain(&list.running).cloned().collect()
        };
        told.iter().flat_map(Told::events).filter(|event| event.stage.ended.is_some()).collect()
    }
}

impl Told {
    fn events(&self) -> Vec<Event> {
        let stages = self.progress.stages().into_iter();
        stages.enumerate().map(|(no, stage)| Event { connection: self.connection, number: self.first_event + no as u64, stage }).collect()
    }
}
