//! Statements that wait for a row without a thread: given up where they would sleep, and run again when the row is theirs.
//!
//! Which: what changes or locks one row that it finds by its primary key or another unique one, INSERT … ON DUPLICATE KEY UPDATE of one row among it, over threads that sessions share, of which nothing was sent and nothing
//! is logged. It has its rights, slot, transaction and metadata locks, and its request stands in the row's queue, so that others meet it as they meet one whose thread sleeps (`data_lock_waits`, deadlocks, KILL, SHOW PROCESSLIST). What is left of it between
//! is its plan and its parameters, in the tools that the session keeps. The engine's half is `engine::Session::allow_left_waits`; who keeps the session meanwhile is `server/src/pool/left.rs`.

use crate::client_session::ClientSession;
use crate::error_map::Outcome;
use crate::front::command::ClientIo;
use crate::statement::plan_cache::CachedPlan;
use crate::statement::run::Ran;
use planner::Plan;
use planner::plan::{Body, InsertColumn, LockMode, Node, TableNode};
use protocol::writer::WriterMark;
use protocol::{PacketWriter, ResultSink, RowFormat};
use std::sync::Arc;

/// What is left of a statement that waits.
pub(crate) struct LeftStatement {
    plan: Arc<CachedPlan>,
    /// Of its reply.
    format: RowFormat,
}

/// Whether a plan locks one row before it does anything else that would be done twice: then little is lost by running it again from its beginning.
pub(crate) fn may_be_left(plan: &Plan) -> bool {
    let tells = !plan.warnings.is_empty() || !plan.told_constants.is_empty();
    if tells || plan.volatile || !plan.subplans.is_empty() || plan.foreign_keys.is_some() {
        return false;
    }
    match &plan.body {
        Body::Query(query) => one_row(&query.root).is_some_and(|table| table.lock != LockMode::None),
        Body::Update(update) => one_row(&update.input).is_some(),
        Body::Delete(delete) => one_row(&delete.input).is_some(),
        Body::Insert(insert) => {
            // Each run of it would take a number of its own.
            let numbers = plan.tables[insert.table as usize].def.auto_increment_column();
            let is_numbered = numbers.is_some_and(|column| matches!(insert.columns[column], InsertColumn::Default));
            insert.source.rows_known() == Some(1) && !insert.on_duplicate.is_empty() && !is_numbered
        }
    }
}

/// The table of which a node reads one row at most, by a unique key. (By another key a row is waited for with its entry, and what was locked is given back by how both stand then; whether a unique one is whole, and no NULL, the engine sees.)
fn one_row(node: &Node) -> Option<&TableNode> {
    let table = match node {
        Node::Table(table) => table,
        Node::Limit { input, .. } => return one_row(input),
        _ => return None,
    };
    table.access.is_of_one_row().then_some(table)
}

impl ClientSession {
    /// Runs a plan whose statement ends with it: nothing is done for it behind this call that a wait for a row could keep from being done.
    #[inline]
    pub(crate) fn run_or_leave(&mut self, plan: &Arc<CachedPlan>, sink: &mut ResultSink<'_>) -> Result<Ran, Outcome> {
        if plan.may_be_left { self.run_and_leave(plan, sink) } else { self.run_cached(plan, sink) }
    }

    fn run_and_leave(&mut self, plan: &Arc<CachedPlan>, sink: &mut ResultSink<'_>) -> Result<Ran, Outcome> {
        // Answers to statements before it in its text, times that a log or a profile tells: such ones wait on their threads.
        let may = sink.may_reply_later() && !self.more_results && self.logged.is_none() && self.core.profiles.is_none();
        let nothing = sink.packets().mark();
        self.engine.allow_left_waits(may);
        let ran = self.run_cached(plan, sink);
        self.engine.allow_left_waits(false);
        if let Ok(Ran::Left) = ran {
            self.forget_run(nothing, sink);
            self.left = Some(Box::new(LeftStatement { plan: Arc::clone(plan), format: sink.format() }));
        }
        ran
    }

    /// What was written and told up to a wait is written and told again: the head of a result, warnings of values.
    fn forget_run(&mut self, nothing: WriterMark, sink: &mut ResultSink<'_>) {
        let rewound = sink.packets().rewind(nothing);
        debug_assert!(rewound, "nothing is sent before the only row is locked");
        self.core.diagnostics.clear();
    }

    /// The wait of the statement that was left is over: it goes on. It may be left once more.
    pub(crate) fn go_on_with_left(&mut self, out: &mut PacketWriter, io: &mut dyn ClientIo) {
        let Some(left) = self.left.take() else { return };
        // Of this thread; the session's part of a statement's beginning was done at the first try.
        memory::begin_statement(self.core.settings.statement_bytes_max);
        self.with_sink(out, io, left.format, |session, sink| match session.run_left(&left.plan, sink) {
            Ok(Ran::Left) => session.left = Some(left),
            Ok(_) => {}
            Err(outcome) => session.fail(sink, outcome),
        });
    }

    fn run_left(&mut self, plan: &Arc<CachedPlan>, sink: &mut ResultSink<'_>) -> Result<Ran, Outcome> {
        let ran = self.run_again_or_fail(plan, sink);
        self.ran_writing(&plan.plan, &ran);
        ran
    }

    fn run_again_or_fail(&mut self, plan: &Arc<CachedPlan>, sink: &mut ResultSink<'_>) -> Result<Ran, Outcome> {
        self.engine.end_left_wait().map_err(|error| self.failed_run(error.into()))?;
        let nothing = sink.packets().mark();
        self.engine.allow_left_waits(sink.may_reply_later());
        let result = self.execute_plan(plan, sink);
        self.engine.allow_left_waits(false);
        match result {
            Ok(outcome) => self.reply_outcome(plan, outcome, sink),
            Err(error) if is_left(&error) => {
                self.forget_run(nothing, sink);
                Ok(Ran::Left)
            }
            Err(error) => Err(self.failed_run(error)),
        }
    }

    /// The session ends, or its statement has met a bug: it waits for nothing any more.
    pub(crate) fn give_up_left(&mut self) {
        self.left = None;
        // Also where the statement was about to go on, and is not here any more.
        self.engine.give_up_left_wait();
    }
}

/// Whether it is no error: the statement waits for a row.
pub(crate) fn is_left(error: &executor::Error) -> bool {
    matches!(error, executor::Error::Engine(engine::Error::Waits))
}
