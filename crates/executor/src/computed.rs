//! Generated columns of rows that are older than the column: computed when somebody asks a row for them ([`catalog::Expressions`]).
//!
//! As in MySQL, a reader gets what the column can hold of the value, and NULL or zero where there is none; who builds an index is told
//! what does not fit ([`strictly`]).
//!
//! # Invariants
//! 1. What a row gives depends on its bytes and the definition, and on nothing of a session: entries of indexes are found again by it. Of what is computed
//!    strictly that holds as well: it is the same value, or an error.
//! 2. No warning is given: a reader may be purge, or a rollback. Why a row has no value at all [`take_failure`] tells.

use crate::change::rules::{index_of, of_index};
use crate::context::{StatementContext, UserVariable};
use crate::errors::Error;
use crate::exec::{Exec, Scratch};
use crate::run::Result;
use base::Malformed;
use catalog::{ColumnDef, Expressions, TableDef, Visibility};
use mysql_error::{SqlError, Warning, WarningLevel, codes};
use planner::expr::VariableScope;
use planner::{Plan, RowRules};
use record::{Compute, RowRef};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::Arc;
use types::{Collation, LocalTime, SqlMode, Value};

/// Binds generated columns for the catalogue; to be given to [`catalog::set_expressions`] when the program starts.
pub struct GeneratedColumns;

impl Expressions for GeneratedColumns {
    fn generated(&self, def: &TableDef, column: usize) -> std::result::Result<Arc<dyn Compute>, String> {
        let (plan, rules) = planner::plan_generated(def, column).map_err(|error| error.message)?;
        let index = index_of(def, column as u32).to_owned();
        Ok(Arc::new(Computed { column: def.columns[column].clone(), plan, rules, index }))
    }
}

thread_local! {
    /// Why the last expression failed that did on this thread.
    static FAILURE: RefCell<Option<SqlError>> = const { RefCell::new(None) };
    /// Whether values that do not fit their columns are errors.
    static STRICT: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f`, to which a value that does not fit its generated column is an error: [`take_failure`] has it then.
pub fn strictly<R>(f: impl FnOnce() -> R) -> R {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            STRICT.set(self.0);
        }
    }
    take_failure();
    let _before = Before(STRICT.replace(true));
    f()
}

/// Why the last generated column failed that was computed on this thread; `None` when none did since this was asked.
pub fn take_failure() -> Option<SqlError> {
    FAILURE.take()
}

/// A generated column, bound.
struct Computed {
    column: ColumnDef,
    plan: Plan,
    /// The column's expression only.
    rules: Box<RowRules>,
    /// The index that a hidden column is of.
    index: String,
}

impl fmt::Debug for Computed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "generated column {}", self.column.name)
    }
}

impl Compute for Computed {
    #[cold]
    fn compute(&self, row: RowRef<'_>) -> std::result::Result<Value, Malformed> {
        // Columns first: one of them may be computed, too.
        let mut read = Vec::with_capacity(self.rules.reads.len());
        for column in &self.rules.reads {
            read.push(row.value(*column as usize)?);
        }
        let (mut alone, mut scratch) = (Alone { told: None }, Scratch::default());
        let lenient = !STRICT.get();
        let mut x = Exec::without_engine(&self.plan, &[], &mut alone, &mut scratch);
        (x.lenient, x.null_lenient) = (lenient, lenient);
        for (column, value) in self.rules.reads.iter().zip(read) {
            x.frame[(self.rules.first_slot + column) as usize] = value;
        }
        let Some((_, e)) = self.rules.generated.first() else { return Ok(Value::Null) };
        let value = x.eval(e).and_then(|value| x.store_value(value, &self.column, 1));
        drop(x);
        let value = match alone.told {
            Some(told) if !lenient => Err(told.into()),
            _ => value,
        };
        value.map_err(|error| {
            if let Error::Sql(error) = error {
                let hidden = self.column.visibility == Visibility::Hidden;
                FAILURE.set(Some(if hidden { of_index(&self.index, 1, &error) } else { error }));
            }
            Malformed
        })
    }
}

/// Nobody's session: UTC, and every setting as it is when nobody has set it.
struct Alone {
    /// The first warning.
    told: Option<SqlError>,
}

impl LocalTime for Alone {
    fn offset_at_utc(&self, _: i64) -> i32 {
        0
    }
    fn local_to_utc(&self, local_micros: i64) -> Option<i64> {
        Some(local_micros)
    }
}

/// Most of it is asked by functions that a generated column cannot call.
impl StatementContext for Alone {
    fn statement_micros(&self) -> i64 {
        0
    }
    fn current_micros(&self) -> i64 {
        0
    }
    fn sql_mode(&self) -> SqlMode {
        SqlMode::default()
    }
    fn database(&self) -> Option<&str> {
        None
    }
    fn user(&self) -> String {
        String::new()
    }
    fn current_user(&self) -> String {
        String::new()
    }
    fn version(&self) -> String {
        String::new()
    }
    fn connection_id(&self) -> u64 {
        0
    }
    fn last_insert_id(&self) -> u64 {
        0
    }
    fn set_last_insert_id(&mut self, _: u64) {}
    fn row_count(&self) -> i64 {
        0
    }
    fn found_rows(&self) -> u64 {
        0
    }
    fn user_variable(&self, _: &str) -> UserVariable {
        UserVariable::default()
    }
    fn set_user_variable(&mut self, _: &str, _: Value, _: Option<Collation>) {}
    fn system_variable(&self, _: VariableScope, name: &str) -> Result<Value> {
        Err(codes::unknown_system_variable(name).into())
    }
    fn warn(&mut self, warning: Warning) {
        if warning.level == WarningLevel::Warning {
            self.told.get_or_insert_with(|| SqlError::with_message(warning.code, warning.message));
        }
    }
    fn random(&mut self) -> f64 {
        0.0
    }
    fn sleep(&mut self, _: f64) -> bool {
        false
    }
    fn is_cancelled(&self) -> bool {
        false
    }
    fn cancel_error(&self) -> SqlError {
        codes::query_interrupted()
    }
}
