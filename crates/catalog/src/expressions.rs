//! Who computes generated columns of rows that are older than the column.
//!
//! A VIRTUAL column is added without touching the rows: rows that are written from then on hold its value, older ones do not, and there it follows from
//! the row's other columns. Expressions are bound and evaluated by higher crates; they come here once, when the program starts.
//!
//! # Invariants
//! 1. A column gives the same value for the same bytes of a row, whoever asks: entries of indexes are found again by it.

use crate::def::TableDef;
use record::{Compute, EncodeError};
use std::sync::{Arc, OnceLock};

/// Binds the expressions of generated columns.
pub trait Expressions: Send + Sync {
    /// What gives a generated column of a table its value. The error says why its expression cannot be bound.
    fn generated(&self, def: &TableDef, column: usize) -> Result<Arc<dyn Compute>, String>;
}

static EXPRESSIONS: OnceLock<&'static dyn Expressions> = OnceLock::new();

/// Says who binds expressions, before the first table is opened. Later calls change nothing.
pub fn set_expressions(expressions: &'static dyn Expressions) {
    let _ = EXPRESSIONS.set(expressions);
}

/// What computes a generated column.
pub(crate) fn generated(def: &TableDef, column: usize) -> Result<Arc<dyn Compute>, EncodeError> {
    let expressions = EXPRESSIONS.get().ok_or(EncodeError { column })?;
    expressions.generated(def, column).map_err(|_| EncodeError { column })
}
