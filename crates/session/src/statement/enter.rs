//! The way into a plan: what is asked and taken between planning and the first row, in one order for all who run plans.
//!
//! 1. rights: the caller's, by [`ClientSession::may_run`] for a plan that is kept, by `Core::check_accesses` for others
//! 2. restrictions: an XA branch that has ended, LOCK TABLES
//! 3. READ ONLY
//! 4. what the plan itself is refused for ([`refusal_of`]), where the caller asks
//! 5. the change is announced
//! 6. the transaction
//! 7. a slot: before the metadata locks, since who waits for one then stands in nobody's way
//! 8. metadata locks of the tables, then of the views
//! 9. the catalogue's version: what was waited for may have been DDL, and then all begins again with another plan. Nothing was read yet.
//!
//! Who comes this way: `run.rs` (plans that are kept: its `run_plan` has steps 6 to 9 itself, with its counts), `evaluate.rs` (expressions of SET, DO, KILL,
//! SHOW … WHERE), `explain.rs`, `files/`, `ddl/create_select.rs`.

use crate::client_session::ClientSession;
use crate::context::Core;
use crate::error_map::{Outcome, executor_error};
use crate::temporary::Changed;
use crate::transaction::lock_tables::share_of;
use admission::Work;
use executor::Scratch;
use lock_manager::WaitsFor;
use mysql_error::{SqlError, codes};
use planner::Plan;
use types::Value;

/// Attempts to run a statement whose plans turn stale by DDL of others, before it gives up.
pub(crate) const STALE_PLANS_MAX: usize = 16;

/// 1615.
pub(crate) fn too_stale() -> Outcome {
    codes::need_reprepare().into()
}

/// Why a plan does not run.
#[cold]
pub(crate) fn refusal_of(plan: &Plan) -> SqlError {
    if plan.unsafe_change { codes::update_without_key_in_safe_mode("") } else { codes::too_big_select() }
}

impl ClientSession {
    /// Steps 2 and 3.
    #[inline(always)]
    pub(crate) fn may_go_on(&mut self, plan: &Plan, changed: Changed) -> Result<(), Outcome> {
        if self.transaction.restricted && !(plan.tables.is_empty() && plan.views.is_empty()) {
            self.check_restrictions(plan)?;
        }
        if changed == Changed::Stored {
            self.refuse_read_only()?;
        }
        Ok(())
    }

    /// Step 5.
    #[inline(always)]
    pub(crate) fn announce_change(&mut self, changed: Changed) -> Result<(), Outcome> {
        match changed {
            Changed::Nothing => {}
            Changed::Stored => self.announce(WaitsFor::GlobalReadLock)?,
            Changed::Temporary => self.begin_temporary_change(),
        }
        Ok(())
    }

    /// Steps 6 to 9: takes what a plan needs that is run here and nowhere else. `false` when the catalogue is not any more as it was at `version`, before the
    /// plan was made: who waited for DDL has a plan over trees that are gone.
    #[cold]
    pub(crate) fn enter(&mut self, plan: &Plan, version: u64, work: Option<Work>) -> Result<bool, Outcome> {
        self.ensure_transaction();
        if let Some(work) = work {
            self.admit_work(work)?;
        }
        for (no, table) in plan.tables.iter().enumerate() {
            self.use_table(table, share_of(plan, no))?;
        }
        self.use_views(plan)?;
        if self.changes.tells_transaction() {
            self.note_use(plan);
        }
        Ok(self.shared().catalog.version() == version)
    }

    /// Plans, and goes on up to the plan's first row. `make` makes the plan, asks for the rights (step 1), and says what else the statement has against its plan.
    /// It is called again where DDL of others came between, and told how often it was: what it warns of is said at the first try. `work` says whether the plan
    /// asks for a slot. One that uses no tables goes by steps 6, 8 and 9.
    #[cold]
    pub(crate) fn plan_and_enter<P: AsRef<Plan>>(
        &mut self,
        work: impl Fn(&P) -> Option<Work>,
        mut make: impl FnMut(&mut ClientSession, usize) -> Result<P, Outcome>,
    ) -> Result<P, Outcome> {
        for tries in 0..STALE_PLANS_MAX {
            let version = self.shared().catalog.version();
            let made = make(self, tries)?;
            let plan = made.as_ref();
            let changed = Changed::by(plan);
            self.may_go_on(plan, changed)?;
            self.announce_change(changed)?;
            let work = work(&made);
            if plan.uses_tables() {
                if self.enter(plan, version, work)? {
                    return Ok(made);
                }
            } else {
                if let Some(work) = work {
                    self.admit_work(work)?;
                }
                return Ok(made);
            }
        }
        Err(too_stale())
    }

    /// Runs what has entered.
    pub(crate) fn run_entered<T>(
        &mut self,
        run: impl FnOnce(&[Value], &mut engine::Session, &mut Core, &mut Scratch) -> executor::Result<T>,
    ) -> executor::Result<T> {
        self.engine.statement_start();
        let done = run(&self.tools.params, &mut self.engine, &mut self.core, &mut self.tools.scratch);
        self.core.lock_picture = None;
        done
    }

    /// An executor's failure in MySQL's terms.
    #[cold]
    pub(crate) fn failed_run(&self, error: executor::Error) -> Outcome {
        executor_error(error, || self.core.stop_error())
    }
}
