//! Expressions that belong to no plan of their own: of SET, DO, KILL, and conditions of SHOW … WHERE. Each is planned and run by itself.

use crate::client_session::ClientSession;
use crate::context::Planning;
use crate::error_map::Outcome;
use admission::Work;
use executor::{Scratch, StatementContext, UserVariable};
use mysql_error::SqlError;
use parser::ast;
use planner::Plan;
use types::{Collation, ColumnType, Value};

impl ClientSession {
    /// Values of expressions without a table.
    pub(crate) fn evaluate(&mut self, exprs: &[ast::Expr<'_>], sql: &[u8]) -> Result<Vec<Value>, Outcome> {
        self.compute(&|planning| planner::plan_expressions(exprs, sql, planning), executor::evaluate)
    }

    /// The value of an expression, and the collation that a user variable has which is given it.
    pub(crate) fn evaluate_for_variable(&mut self, expr: &ast::Expr<'_>, sql: &[u8]) -> Result<(Value, Option<Collation>), Outcome> {
        let plan = |planning: &Planning<'_>| planner::plan_expressions(std::slice::from_ref(expr), sql, planning);
        self.compute(&plan, |plan, params, session, context, scratch| {
            let value = executor::evaluate(plan, params, session, context, scratch)?.pop().unwrap_or_default();
            Ok((value, plan.columns.first().and_then(|column| UserVariable::collation_of(&column.ty))))
        })
    }

    /// Which rows of a result with these columns satisfy a condition.
    pub(crate) fn matching(
        &mut self,
        condition: &ast::Expr<'_>,
        columns: &[(&str, ColumnType)],
        rows: &[Vec<Value>],
        sql: &[u8],
    ) -> Result<Vec<bool>, Outcome> {
        let plan = |planning: &Planning<'_>| planner::plan_condition(condition, columns, sql, planning);
        self.compute(&plan, |plan, params, session, context, scratch| executor::matching(plan, rows, params, session, context, scratch))
    }

    fn compute<T>(
        &mut self,
        plan: &dyn Fn(&Planning<'_>) -> Result<Plan, SqlError>,
        run: impl FnOnce(&Plan, &[Value], &mut engine::Session, &mut dyn StatementContext, &mut Scratch) -> executor::Result<T>,
    ) -> Result<T, Outcome> {
        // One that this is a part of may have announced, and goes on.
        let announced = self.server_locks.is_announced();
        let values = self.compute_values(plan, run);
        if !announced {
            self.server_locks.withdraw();
        }
        values
    }

    fn compute_values<T>(
        &mut self,
        plan: &dyn Fn(&Planning<'_>) -> Result<Plan, SqlError>,
        run: impl FnOnce(&Plan, &[Value], &mut engine::Session, &mut dyn StatementContext, &mut Scratch) -> executor::Result<T>,
    ) -> Result<T, Outcome> {
        let long = |plan: &Plan| plan.uses_tables().then_some(Work::Long);
        let plan = self.plan_and_enter(long, |session, _| {
            let planning = Planning { core: &session.core, engine: &session.engine, params: &session.tools.params, param_types: &[] };
            let plan = plan(&planning)?;
            session.core.check_accesses(&plan.accesses)?;
            if session.changes.tells_transaction() {
                session.note_use(&plan);
            }
            Ok(plan)
        })?;
        self.warn_of(&plan);
        if !plan.uses_tables() {
            let values = run(&plan, &self.tools.params, &mut self.engine, &mut self.core, &mut self.tools.scratch);
            return values.map_err(|error| self.failed_run(error));
        }
        // A subquery reads tables.
        let values = self.run_entered(|params, engine, core, scratch| run(&plan, params, engine, core, scratch));
        let values = values.map_err(|error| self.failed_run(error))?;
        self.statement_done()?;
        Ok(values)
    }
}
