//! Which statements ask for a slot to work in (crate `admission`), and when they give it back.
//!
//! - A statement of a plan asks, unless it is brief and a transaction of its own: a read or change of one row by its key, an insert of a few rows. Such a
//!   one costs less than the sleep and wake-up that queueing costs.
//! - A transaction of several statements keeps its slot from its first one on; between statements the slot may be taken away when others wait.
//! - During waits for locks and for time (told by `lock_manager::Cancel`) and for the client ([`Connection::client_wait_begins`](crate::front::connections::Connection::client_wait_begins))
//!   likewise; commit gives it back (`transaction.rs`) before the log is waited for.
//! - What has no plan (SHOW, DDL, SET without a subquery that reads tables) does not ask.

use crate::client_session::ClientSession;
use crate::error_map::Outcome;
use crate::statement::plan_cache::CachedPlan;
use admission::Work;
use planner::Plan;
use planner::plan::{Body, InsertSource};
use planner::short::ShortPlan;

/// Rows of an INSERT that count as brief.
const BRIEF_ROWS_MAX: usize = 8;

/// Whether a plan costs less than a context switch, as far as the plan can tell.
pub(crate) fn work_of(plan: &Plan) -> Work {
    let brief = match &plan.short {
        Some(ShortPlan::PointGet(_) | ShortPlan::PointUpdate(_) | ShortPlan::PointDelete(_)) => true,
        Some(ShortPlan::Range(range)) => range.is_of_one_row(),
        Some(ShortPlan::Insert) => {
            matches!(&plan.body, Body::Insert(insert) if matches!(&insert.source, InsertSource::Values(rows) if rows.len() <= BRIEF_ROWS_MAX))
        }
        // Reads no table: SELECT 1, SELECT @@version; but for what sleeps or computes for long, which has its own plan nodes or gives its slot back.
        None => plan.table_nodes == 0 && plan.tables.is_empty() && !plan.volatile && plan.subplans.is_empty(),
        _ => false,
    };
    if brief { Work::Brief } else { Work::Long }
}

impl ClientSession {
    /// Before a plan is run, and before its metadata locks are taken.
    #[inline]
    pub(crate) fn admit(&mut self, plan: &CachedPlan) -> Result<(), Outcome> {
        self.admit_work(plan.work)
    }

    /// The same for what runs without a cached plan.
    #[inline]
    pub(crate) fn admit_work(&mut self, work: Work) -> Result<(), Outcome> {
        let goes_on = self.transaction_goes_on();
        match self.core.ticket.begin(work, goes_on, &self.core.cancel) {
            Ok(()) => Ok(()),
            Err(admission::Killed) => Err(self.stop_error().into()),
        }
    }

    /// After a command: nothing works until the next one.
    #[inline]
    pub(crate) fn command_done(&self) {
        if self.engine.in_transaction() { self.core.ticket.rest() } else { self.core.ticket.leave() }
    }
}
