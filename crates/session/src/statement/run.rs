//! Running a plan: by the way that `enter.rs` tells into the executor, and to the reply (`replies.rs`).

use crate::client_session::ClientSession;
use crate::error_map::Outcome;
use crate::reply::output::Output;
use crate::statement::enter::refusal_of;
use crate::statement::left::is_left;
use crate::statement::plan_cache::CachedPlan;
use crate::transaction::lock_tables::share_of;
use engine::HandlerCall;
use executor::StatementContext;
use planner::Plan;
use planner::plan::{Body, InsertSource};
use protocol::{Capabilities, OkReply, ResultSink, ServerStatus};
use std::sync::Arc;

/// How far a plan got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ran {
    /// It ran, and the reply is written.
    Done,
    /// The catalogue has changed since it was made: nothing was done, plan again.
    Stale,
    /// It waits for a row, for which no thread waits (`left.rs`). Only by [`ClientSession::run_or_leave`].
    Left,
}

/// How far it got in the executor.
enum Run {
    Ended(executor::Outcome),
    Stale,
    Left,
}

impl ClientSession {
    /// Runs a plan with the parameter values in `self.tools.params` and writes the reply.
    pub(crate) fn run_cached(&mut self, plan: &Arc<CachedPlan>, sink: &mut ResultSink<'_>) -> Result<Ran, Outcome> {
        let ran = self.run_and_reply(plan, sink);
        self.ran_writing(&plan.plan, &ran);
        ran
    }

    /// What a change has announced is taken back, unless it is still to be done, or to be made durable.
    #[inline(always)]
    pub(crate) fn ran_writing(&mut self, plan: &Plan, ran: &Result<Ran, Outcome>) {
        if plan.writes && self.engine.awaits_log().is_none() && !matches!(ran, Ok(Ran::Left)) {
            self.server_locks.withdraw();
        }
    }

    #[inline]
    fn run_and_reply(&mut self, plan: &Arc<CachedPlan>, sink: &mut ResultSink<'_>) -> Result<Ran, Outcome> {
        self.core.diagnostics.clear();
        if !plan.plan.warnings.is_empty() && !plan.prepared {
            self.warn_of(&plan.plan);
        }
        if !plan.plan.told_constants.is_empty() {
            self.tell_odd_constants(&plan.plan)?;
        }
        self.count_statement(&plan.plan.body);
        if let Some(shape) = &plan.shape {
            self.shared().status.count_shape(shape);
            self.told_status.set(ServerStatus::NO_INDEX_USED, shape.no_index);
            if let Some(logged) = &mut self.logged {
                logged.add_shape(shape);
            }
        }
        if self.planned.take() {
            self.shared().status.plan_first_runs.inc();
        }
        match self.run_plan(plan, sink)? {
            Run::Ended(outcome) => self.reply_outcome(plan, outcome, sink),
            Run::Stale => Ok(Ran::Stale),
            Run::Left => Ok(Ran::Left),
        }
    }

    /// Ends the statement of a plan that ran, and writes the reply.
    #[inline(always)]
    pub(crate) fn reply_outcome(
        &mut self,
        plan: &Arc<CachedPlan>,
        outcome: executor::Outcome,
        sink: &mut ResultSink<'_>,
    ) -> Result<Ran, Outcome> {
        self.stage("query end", "run_and_reply");
        if self.changes.tells_transaction() {
            self.note_use(&plan.plan);
            if matches!(outcome, executor::Outcome::Rows { .. }) {
                self.note_rows_sent();
            }
        }
        if plan.uses_tables && self.transaction_goes_on() {
            self.engine.handler_counts().add(HandlerCall::Commit, 1);
        }
        match outcome {
            executor::Outcome::Rows { count } => {
                self.core.row_count = -1;
                self.core.found_rows = count;
                if let Some(logged) = &mut self.logged {
                    logged.rows_found = count;
                }
                self.statement_done()?;
                self.settle()?;
                let session_state = self.session_state_behind_rows(sink);
                let (status, warnings) = (self.server_status(), self.core.diagnostics.warning_count());
                sink.finish(&OkReply { status, warnings, session_state: &session_state, ..OkReply::default() });
            }
            executor::Outcome::Changes(changes) => {
                if !self.transaction_goes_on() {
                    self.commit_before_reply(sink)?;
                }
                self.reply_changes(&plan.plan.body, &changes, sink);
            }
        }
        Ok(Ran::Done)
    }

    /// Runs a plan inside the session's transaction, by the steps of `enter.rs`; rows go to the sink, the statement is not ended.
    fn run_plan(&mut self, plan: &Arc<CachedPlan>, sink: &mut ResultSink<'_>) -> Result<Run, Outcome> {
        self.stage("checking permissions", "run_plan");
        self.may_run(plan)?;
        self.may_go_on(&plan.plan, plan.changed)?;
        if plan.plan.refused {
            return Err(refusal_of(&plan.plan).into());
        }
        self.announce_change(plan.changed)?;
        if plan.uses_tables {
            self.ensure_transaction();
        }
        self.stage("Opening tables", "run_plan");
        // Before the metadata locks: who waits for a slot stands in nobody's way.
        self.admit(plan)?;
        for (no, table) in plan.plan.tables.iter().enumerate() {
            self.use_table(table, share_of(&plan.plan, no))?;
        }
        // Taken and let go.
        self.engine.handler_counts().add(HandlerCall::ExternalLock, 2 * plan.plan.tables.len() as u64);
        self.use_views(&plan.plan)?;
        if self.shared().catalog.version() != plan.catalog_version {
            // DDL came between planning and the metadata locks; nothing was read yet.
            return Ok(Run::Stale);
        }
        self.limit_time(&plan.plan);
        self.stage("executing", "run_plan");
        self.engine.statement_start();
        let beginning = self.engine.may_restart().then(|| self.note_beginning(sink));
        if beginning.is_some() {
            self.engine.allow_left_waits(false);
        }
        let mut result = self.execute_plan(plan, sink);
        if let Some(beginning) = beginning {
            result = self.run_again(plan, &beginning, result, sink)?;
        }
        if self.core.lock_picture.is_some() {
            self.core.lock_picture = None;
        }
        match result {
            Ok(outcome) => Ok(Run::Ended(outcome)),
            Err(error) if is_left(&error) => Ok(Run::Left),
            Err(error) => Err(self.failed_run(error)),
        }
    }

    /// Bounds the time of a query from here on, by its hint, else by the session's setting. The next statement's beginning takes it back.
    #[inline]
    pub(crate) fn limit_time(&self, plan: &Plan) {
        let time_limit_ms = plan.max_execution_time_ms.unwrap_or(self.core.settings.max_execution_time_ms);
        if time_limit_ms > 0 && matches!(plan.body, Body::Query(_)) {
            self.end_within(time_limit_ms);
        }
    }

    #[cold]
    fn end_within(&self, time_limit_ms: u32) {
        self.connection.set_deadline_ms(self.shared().connections.now_ms() + u64::from(time_limit_ms));
    }

    #[inline]
    pub(crate) fn execute_plan(&mut self, plan: &CachedPlan, sink: &mut ResultSink<'_>) -> executor::Result<executor::Outcome> {
        // Later clients are told after the rows.
        let told_first = !sink.capabilities().contains(Capabilities::DEPRECATE_EOF);
        let mut output = Output {
            sink,
            block: &plan.columns,
            columns: &plan.plan.columns,
            zone: &self.zone,
            results: plan.written_in,
            status: if told_first { self.server_status() } else { ServerStatus::default() },
            begun: false,
            dependencies: Some(&self.dependencies),
        };
        executor::execute(&plan.plan, &self.tools.params, &mut self.engine, &mut self.core, &mut self.tools.scratch, &mut output)
    }

    /// Says what the plan is warned of.
    #[cold]
    pub(crate) fn warn_of(&mut self, plan: &Plan) {
        for warning in &plan.warnings {
            self.core.warn(warning.clone());
        }
    }

    /// 1292 for constants that are none of what they are compared with: an error where a strict statement changes rows.
    #[inline(never)]
    fn tell_odd_constants(&mut self, plan: &Plan) -> Result<(), Outcome> {
        for told in executor::odd_constants(plan, &self.tools.params, &self.core)? {
            self.core.warn(told);
        }
        Ok(())
    }

    fn count_statement(&self, body: &Body) {
        let status = &self.shared().status;
        match body {
            Body::Query(_) => status.com_select.inc(),
            Body::Insert(insert) => match (&insert.source, insert.replace) {
                (InsertSource::Values(_) | InsertSource::Literals(_), false) => status.com_insert.inc(),
                (InsertSource::Values(_) | InsertSource::Literals(_), true) => status.com_replace.inc(),
                (_, false) => status.com_insert_select.inc(),
                (_, true) => status.com_replace_select.inc(),
            },
            Body::Update(update) if update.targets.len() <= 1 => status.com_update.inc(),
            Body::Update(_) => status.com_update_multi.inc(),
            Body::Delete(delete) if delete.targets.len() <= 1 => status.com_delete.inc(),
            Body::Delete(_) => status.com_delete_multi.inc(),
        }
    }
}
