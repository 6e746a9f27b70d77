//! Values that planning asks for: expressions evaluated where no statement runs yet, for estimates.
//!
//! # Invariants
//! 1. Nothing is left of it: no warning is added, no variable set, no function called that waits or counts. The statement evaluates the expression again when
//!    it runs, and tells then what there is to tell.

use crate::context::{StatementContext, UserVariable};
use crate::exec::{Exec, Scratch};
use crate::run::Result;
use mysql_error::{SqlError, Warning, codes};
use planner::Plan;
use planner::expr::{Expr, VariableScope};
use types::{Collation, LocalTime, SqlMode, Value};

/// What an expression gives now that [is settled](Expr::is_settled); `None` where it fails, or nests deeper than the stack is.
pub fn value_now(e: &Expr, params: &[Value], context: &dyn StatementContext) -> Option<Value> {
    let (plan, mut scratch) = (Plan::default(), Scratch::default());
    let mut quiet = Quiet(context);
    Exec::without_engine(&plan, params, &mut quiet, &mut scratch).eval(e).ok()
}

/// A session that is looked at: what is said to it is not heard.
struct Quiet<'c>(&'c dyn StatementContext);

impl LocalTime for Quiet<'_> {
    fn offset_at_utc(&self, utc_micros: i64) -> i32 {
        self.0.offset_at_utc(utc_micros)
    }
    fn local_to_utc(&self, local_micros: i64) -> Option<i64> {
        self.0.local_to_utc(local_micros)
    }
}

impl StatementContext for Quiet<'_> {
    fn statement_micros(&self) -> i64 {
        self.0.statement_micros()
    }
    fn current_micros(&self) -> i64 {
        self.0.current_micros()
    }
    fn sql_mode(&self) -> SqlMode {
        self.0.sql_mode()
    }
    fn database(&self) -> Option<&str> {
        self.0.database()
    }
    fn user(&self) -> String {
        self.0.user()
    }
    fn current_user(&self) -> String {
        self.0.current_user()
    }
    fn current_role(&self) -> String {
        self.0.current_role()
    }
    fn version(&self) -> String {
        self.0.version()
    }
    fn connection_id(&self) -> u64 {
        self.0.connection_id()
    }
    fn last_insert_id(&self) -> u64 {
        self.0.last_insert_id()
    }
    fn set_last_insert_id(&mut self, _: u64) {}
    fn row_count(&self) -> i64 {
        self.0.row_count()
    }
    fn found_rows(&self) -> u64 {
        self.0.found_rows()
    }
    fn user_variable(&self, name: &str) -> UserVariable {
        self.0.user_variable(name)
    }
    fn set_user_variable(&mut self, _: &str, _: Value, _: Option<Collation>) {}
    fn system_variable(&self, scope: VariableScope, name: &str) -> Result<Value> {
        self.0.system_variable(scope, name)
    }
    fn warn(&mut self, _: Warning) {}
    /// Nothing settled asks for it.
    fn random(&mut self) -> f64 {
        0.0
    }
    /// Nothing settled asks for it.
    fn sleep(&mut self, _: f64) -> bool {
        false
    }
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
    fn cancel_error(&self) -> SqlError {
        codes::query_interrupted()
    }
    fn max_allowed_packet(&self) -> usize {
        self.0.max_allowed_packet()
    }
    fn statement_memory_max(&self) -> usize {
        self.0.statement_memory_max()
    }
    fn lc_time_names(&self) -> usize {
        self.0.lc_time_names()
    }
    fn default_week_format(&self) -> u8 {
        self.0.default_week_format()
    }
}
