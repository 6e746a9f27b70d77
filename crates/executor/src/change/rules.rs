//! What a table's definition computes of a row and asks of it, when a statement writes the row: see [`RowRules`].
//!
//! # Invariants
//! 1. Expression defaults are computed first, generated columns then, in the order of columns; CHECK constraints see the whole row.
//! 2. A value computed is stored as one given is: converted to its column, under the statement's strictness.

use crate::context::StatementContext;
use crate::document_cast::Fault;
use crate::errors::Error;
use crate::exec::{Exec, IndexCast, Scratch};
use crate::run::Result;
use catalog::{TableDef, Visibility};
use mysql_error::{SqlError, codes};
use planner::{Plan, RowRules};
use types::Value;

impl Exec<'_> {
    /// Shows the expressions a row.
    fn show_row(&mut self, rules: &RowRules, values: &[Value]) {
        for column in &rules.reads {
            self.frame[(rules.first_slot + column) as usize] = values[*column as usize].clone();
        }
    }

    /// Fills in the expression defaults of the columns that `is_missing` names.
    pub(crate) fn expression_defaults(
        &mut self,
        rules: &RowRules,
        def: &TableDef,
        values: &mut [Value],
        row_no: u64,
        is_missing: impl Fn(usize) -> bool,
    ) -> Result<()> {
        if rules.defaults.is_empty() {
            return Ok(());
        }
        self.show_row(rules, values);
        for (at, e) in &rules.defaults {
            if is_missing(*at as usize) {
                self.compute(rules, def, *at, e, values, row_no)?;
            }
        }
        Ok(())
    }

    /// Computes the generated columns of a row.
    pub(crate) fn generated_columns(&mut self, rules: &RowRules, def: &TableDef, values: &mut [Value], row_no: u64) -> Result<()> {
        if rules.generated.is_empty() {
            return Ok(());
        }
        self.show_row(rules, values);
        for (at, e) in &rules.generated {
            self.compute(rules, def, *at, e, values, row_no)?;
        }
        Ok(())
    }

    fn compute(
        &mut self,
        rules: &RowRules,
        def: &TableDef,
        at: u32,
        e: &planner::expr::Expr,
        values: &mut [Value],
        row_no: u64,
    ) -> Result<()> {
        let column = &def.columns[at as usize];
        let computed = if column.visibility == Visibility::Hidden { self.index_value(def, at, e) } else { self.eval(e) };
        let value = computed.map_err(|error| match error {
            Error::Sql(error) if column.visibility == Visibility::Hidden && error.code == codes::ER_TRUNCATED_WRONG_VALUE => {
                Error::Sql(of_index(index_of(def, at), row_no, &error))
            }
            error => error,
        })?;
        let value = self.store_value(value, column, row_no).map_err(|error| match error {
            Error::Sql(error) if column.visibility == Visibility::Hidden => Error::Sql(of_index(index_of(def, at), row_no, &error)),
            error => error,
        })?;
        self.frame[(rules.first_slot + at) as usize] = value.clone();
        values[at as usize] = value;
        Ok(())
    }

    /// The value that a functional index has of a row: of a document that is none of its type what a cast makes of it, with a warning.
    fn index_value(&mut self, def: &TableDef, at: u32, e: &planner::expr::Expr) -> Result<Value> {
        self.index_cast = IndexCast::Runs;
        let value = self.eval(e);
        if let IndexCast::Told(fault) = std::mem::take(&mut self.index_cast) {
            let error = match fault {
                Fault::None => codes::invalid_json_value_for_func_index(index_of(def, at)),
                Fault::OutOfRange => codes::json_value_out_of_range_for_func_index(index_of(def, at)),
            };
            self.warn(error.code, error.message);
        }
        value
    }

    /// Asks the CHECK constraints of a whole row; the first that it violates is the error (3819). Then what the view asks that is written through (1369).
    pub(crate) fn ask_checks(&mut self, rules: &RowRules, values: &[Value]) -> Result<()> {
        if !rules.checks.is_empty() {
            self.show_row(rules, values);
        }
        for (name, condition) in &rules.checks {
            if self.truth(condition)? == Some(false) {
                return Err(codes::check_constraint_violated(name).into());
            }
        }
        if let Some(check) = &rules.view_check {
            for (at, value) in values.iter().enumerate() {
                self.frame[check.first_slot as usize + at] = value.clone();
            }
            if self.truth(&check.condition)? != Some(true) {
                return Err(codes::view_check_failed(&check.database, &check.view).into());
            }
        }
        Ok(())
    }
}

/// Whether IGNORE makes a warning of the error of a row's rules, and leaves the row.
pub(crate) fn is_ignorable(error: &SqlError) -> bool {
    matches!(error.code, codes::ER_CHECK_CONSTRAINT_VIOLATED | codes::ER_VIEW_CHECK_FAILED)
}

/// The name of the index that has a hidden column.
pub(crate) fn index_of(def: &TableDef, column: u32) -> &str {
    let has = |index: &&catalog::IndexDef| index.parts.iter().any(|part| part.column == column as usize);
    def.indexes.iter().find(has).map_or("", |index| index.name.as_str())
}

/// An error of a hidden column, in the words of its index.
pub(crate) fn of_index(name: &str, row_no: u64, error: &SqlError) -> SqlError {
    match error.code {
        codes::ER_DATA_OUT_OF_RANGE | codes::ER_DIVISION_BY_ZERO => error.clone(),
        codes::ER_WARN_DATA_OUT_OF_RANGE => codes::warn_data_out_of_range_functional_index(name, row_no),
        _ => codes::warn_data_truncated_functional_index(name, row_no),
    }
}

/// Rules without a statement, for rows that DDL writes.
pub struct RuleRun<'a> {
    def: &'a TableDef,
    plan: &'a Plan,
    rules: &'a RowRules,
    scratch: Scratch,
}

impl<'a> RuleRun<'a> {
    /// Over what [`planner::plan_row_rules`] made of the definition.
    pub fn new(def: &'a TableDef, plan: &'a Plan, rules: &'a RowRules) -> RuleRun<'a> {
        RuleRun { def, plan, rules, scratch: Scratch::default() }
    }

    /// Completes a row and judges it. `is_new` says which columns have no value yet.
    pub fn complete(
        &mut self,
        values: &mut [Value],
        row_no: u64,
        is_new: impl Fn(usize) -> bool,
        context: &mut dyn StatementContext,
    ) -> Result<()> {
        let lenient = !context.sql_mode().is_strict();
        let mut x = Exec::without_engine(self.plan, &[], context, &mut self.scratch);
        (x.lenient, x.null_lenient) = (lenient, lenient);
        let result = x
            .expression_defaults(self.rules, self.def, values, row_no, is_new)
            .and_then(|()| x.generated_columns(self.rules, self.def, values, row_no))
            .and_then(|()| x.ask_checks(self.rules, values));
        x.finish(&mut self.scratch);
        result
    }
}
