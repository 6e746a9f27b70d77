//! Entry points: runs a plan.

use crate::batch::Block;
use crate::change::load::LoadLines;
use crate::compared_params::{as_compared, may_differ};
use crate::context::{StatementContext, UserVariable};
use crate::errors::internal;
use crate::exec::{Exec, Scratch};
use crate::run::{Flow, Result};
use crate::short::ShortRun;
use planner::plan::{Body, OutputColumn, Plan};
use record::RowRef;
use types::Value;

/// Receives result rows; the session writes them to the client.
pub trait RowConsumer {
    /// Before the first row, and once even without rows.
    fn begin(&mut self, columns: &[OutputColumn]) -> Result<()>;
    /// Takes [`RowConsumer::begin`] back, nothing having come after it: the statement fails before its first row.
    fn forget_begin(&mut self) {}
    /// A row of values, of the columns' types (or NULL).
    fn row(&mut self, values: &[Value]) -> Result<()>;
    /// Rows of such values, as they are in columns.
    fn block(&mut self, block: &Block<'_>) -> Result<()> {
        let mut values = Vec::new();
        for row in 0..block.len() {
            block.values(row, &mut values);
            self.row(&values)?;
        }
        Ok(())
    }
    /// Columns of a row as it is stored. Called under a page latch: encodes and does not block.
    /// True asks for [`RowConsumer::drain`] before the next row.
    fn record(&mut self, row: RowRef<'_>, columns: &[u32]) -> Result<bool>;
    /// Sends what has piled up.
    fn drain(&mut self) -> Result<()>;
}

/// What a statement did.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Rows were given to the consumer.
    Rows {
        /// How many.
        count: u64,
    },
    /// Rows were changed.
    Changes(Changes),
}

/// Counts of a changing statement.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Changes {
    /// Rows inserted, changed (twice for ON DUPLICATE KEY UPDATE) or deleted: ROW_COUNT().
    pub affected: u64,
    /// Rows an UPDATE found.
    pub matched: u64,
    /// Rows given to an INSERT.
    pub records: u64,
    /// Rows that an INSERT changed or removed because a new one was their duplicate. (Those that IGNORE left out: `records` less what `affected` tells.)
    pub duplicates: u64,
    /// Rows that REPLACE removed.
    pub deleted: u64,
    /// Rows that ON DUPLICATE KEY UPDATE left as they were: a client that counts found rows counts them.
    pub unchanged: u64,
    /// First generated AUTO_INCREMENT value (or LAST_INSERT_ID(expr)): LAST_INSERT_ID() and the OK packet.
    pub generated_id: Option<u64>,
    /// AUTO_INCREMENT value of the last row that was inserted or changed as a duplicate: what the OK packet tells where none was generated.
    pub row_id: Option<u64>,
}

/// Executes a plan.
pub fn execute(
    plan: &Plan,
    params: &[Value],
    session: &mut engine::Session,
    context: &mut dyn StatementContext,
    scratch: &mut Scratch,
    consumer: &mut dyn RowConsumer,
) -> Result<Outcome> {
    if params.len() < plan.param_count as usize {
        return Err(mysql_error::codes::wrong_arguments("EXECUTE").into());
    }
    let compared;
    let params = match may_differ(plan, params) {
        true => {
            compared = as_compared(plan, params, context)?;
            &compared
        }
        false => params,
    };
    if let Some(short) = &plan.short
        && let Some(outcome) = crate::short::run(short, ShortRun { plan, params, session, context, scratch, consumer })?
    {
        return Ok(outcome);
    }
    run_operators(plan, params, session, context, scratch, consumer)
}

/// Runs the ordinary plan. Not inlined: a short plan shall not touch the stack that this takes.
#[inline(never)]
fn run_operators(
    plan: &Plan,
    params: &[Value],
    session: &mut engine::Session,
    context: &mut dyn StatementContext,
    scratch: &mut Scratch,
    consumer: &mut dyn RowConsumer,
) -> Result<Outcome> {
    let mut x = Exec::new(plan, params, session, context, scratch);
    let outcome = match &plan.body {
        Body::Query(query) if !plan.into.is_empty() => x.run_into(query),
        Body::Query(query) => match &plan.counted {
            None => x.run_output(query, consumer),
            Some(limit) => x.run_counted(query, limit.as_ref().as_ref(), consumer),
        },
        Body::Insert(insert) => {
            x.read_as_source();
            x.run_insert(insert, None).map(Outcome::Changes)
        }
        Body::Update(update) => {
            x.read_as_source();
            x.run_update(update).map(Outcome::Changes)
        }
        Body::Delete(delete) => {
            x.read_as_source();
            x.run_delete(delete).map(Outcome::Changes)
        }
    };
    let outcome = outcome.map(|o| x.with_explicit_id(o));
    x.finish(scratch);
    outcome
}

/// Executes an INSERT whose rows are handed in (LOAD DATA).
pub fn execute_load(
    plan: &Plan,
    session: &mut engine::Session,
    context: &mut dyn StatementContext,
    scratch: &mut Scratch,
    lines: &mut dyn LoadLines,
) -> Result<Changes> {
    let Body::Insert(insert) = &plan.body else { return Err(internal("not a load plan")) };
    let mut x = Exec::new(plan, &[], session, context, scratch);
    x.read_as_source();
    let result = x.run_insert(insert, Some(lines));
    x.finish(scratch);
    result
}

/// Evaluates the expressions of [`planner::plan_expressions`].
pub fn evaluate(
    plan: &Plan,
    params: &[Value],
    session: &mut engine::Session,
    context: &mut dyn StatementContext,
    scratch: &mut Scratch,
) -> Result<Vec<Value>> {
    let Body::Query(query) = &plan.body else { return Err(internal("not a query")) };
    let params = as_compared(plan, params, context)?;
    let mut x = Exec::new(plan, &params, session, context, scratch);
    let result = query.output.iter().map(|e| x.eval(e)).collect();
    x.finish(scratch);
    result
}

/// Which of some rows the only value of a plan is true of; it reads them from the beginning of its frame.
pub fn matching(
    plan: &Plan,
    rows: &[Vec<Value>],
    params: &[Value],
    session: &mut engine::Session,
    context: &mut dyn StatementContext,
    scratch: &mut Scratch,
) -> Result<Vec<bool>> {
    let Body::Query(query) = &plan.body else { return Err(internal("not a query")) };
    let [condition] = query.output.as_slice() else { return Err(internal("not a condition")) };
    let mut x = Exec::new(plan, params, session, context, scratch);
    let matches = |row: &Vec<Value>| {
        row.iter().enumerate().for_each(|(slot, value)| x.set(slot as u32, value.clone()));
        x.forget_lookups();
        x.is_true(condition)
    };
    let result = rows.iter().map(matches).collect();
    x.finish(scratch);
    result
}

impl<'a> Exec<'a> {
    /// The result's values of the row in the frame.
    pub(crate) fn output(&mut self, query: &'a planner::plan::Query, values: &mut Vec<Value>) -> Result<()> {
        values.clear();
        for (i, e) in query.output.iter().enumerate() {
            let v = self.eval(e)?;
            let ty = self.plan.columns.get(i).map_or(&e.ty, |c| &c.ty);
            values.push(crate::output::shown(v, &e.ty, ty, &*self.context));
        }
        Ok(())
    }

    /// SELECT … INTO @a, @b: at most one row.
    fn run_into(&mut self, query: &'a planner::plan::Query) -> Result<Outcome> {
        let plan = self.plan;
        let mut rows = 0;
        self.run(&query.root, &mut |x| {
            if rows > 0 {
                return Err(mysql_error::codes::too_many_rows().into());
            }
            rows += 1;
            // The first row's values stay, whatever comes behind it.
            let values = query.output.iter().map(|e| x.eval(e)).collect::<Result<Vec<Value>>>()?;
            for ((name, v), e) in plan.into.iter().zip(values).zip(&query.output) {
                x.context.set_user_variable(name, v, UserVariable::collation_of(&e.ty));
            }
            Ok(Flow::Continue)
        })?;
        if rows == 0 {
            let note = mysql_error::codes::sp_fetch_no_data();
            self.warn(note.code, note.message);
        }
        Ok(Outcome::Changes(Changes { affected: rows, ..Changes::default() }))
    }
}

impl Exec<'_> {
    fn with_explicit_id(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Changes(mut c) => {
                c.generated_id = c.generated_id.or(self.explicit_insert_id);
                Outcome::Changes(c)
            }
            rows => rows,
        }
    }
}
