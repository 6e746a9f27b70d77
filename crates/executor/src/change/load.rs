//! LOAD DATA: lines of a file as rows of an INSERT.
//!
//! # Invariants
//! 1. A line's fields are stored first, from left to right; then SET is computed, in the order written; then what the table's definition computes.

use crate::change::insert::Inserter;
use crate::document::with_table;
use crate::exec::Exec;
use crate::run::Result;
use catalog::{ColumnDef, DefaultValue};
use mysql_error::{SqlError, codes};
use planner::plan::{Load, LoadField};
use types::{TypeKind, Value};

/// A line of a file.
#[derive(Debug, Default)]
pub struct LoadRow {
    /// Its fields; there may be fewer than the statement names.
    pub fields: Vec<Value>,
    /// It had more.
    pub has_more: bool,
}

/// Yields the lines of a file, one by one.
pub type LoadRows<'r> = dyn FnMut() -> Result<Option<LoadRow>> + 'r;

/// What a column gets of a line that ends before it: never its default, but for NULL.
fn absent(column: &ColumnDef) -> Value {
    match &column.default {
        DefaultValue::Null => Value::Null,
        DefaultValue::None if column.ty.nullable => Value::Null,
        _ => types::implicit_default(&column.ty),
    }
}

impl<'a> Exec<'a> {
    /// Computes the new row of a line.
    pub(super) fn loaded_row(&mut self, state: &mut Inserter<'a>, load: &'a Load, line: LoadRow) -> Result<()> {
        let def = &state.entry.def;
        state.values.clear();
        for (i, column) in def.columns.iter().enumerate() {
            let given = matches!(state.insert.columns[i], planner::plan::InsertColumn::Source(_));
            let value = match &column.default {
                _ if Some(i) == state.auto_column || given => Value::Null,
                // Nobody is told of a column that has no default.
                DefaultValue::None if column.generated.is_none() => absent(column),
                _ => self.default_value(column)?,
            };
            state.values.push(value);
        }
        debug_assert!(line.fields.len() <= load.fields.len());
        let mut fields = line.fields.into_iter();
        for field in &load.fields {
            let value = fields.next();
            match field {
                LoadField::Variable(name) => self.context.set_user_variable(name, value.unwrap_or_default()),
                LoadField::Column(at) => {
                    if value.is_none() {
                        self.forgive(codes::warn_too_few_records(state.row_no))?;
                    }
                    let at = *at as usize;
                    state.values[at] = self.loaded_value(state, at, value)?;
                }
            }
        }
        if load.set.is_empty() {
            return Ok(());
        }
        for (at, value) in state.values.iter().enumerate() {
            self.frame[state.insert.new_slots as usize + at] = value.clone();
        }
        for (at, value) in &load.set {
            let at = *at as usize;
            let value = self.eval(value)?;
            let value = match value {
                Value::Null if Some(at) == state.auto_column => value,
                value => self.store_value(value, &def.columns[at], state.row_no).map_err(|e| with_table(e, &def.name))?,
            };
            self.frame[state.insert.new_slots as usize + at] = value.clone();
            state.values[at] = value;
        }
        Ok(())
    }

    /// What a field becomes in its column; `None` for one that the line does not have.
    fn loaded_value(&mut self, state: &Inserter<'a>, at: usize, value: Option<Value>) -> Result<Value> {
        let def = &state.entry.def;
        let column = &def.columns[at];
        match value {
            _ if Some(at) == state.auto_column && value.as_ref().is_none_or(Value::is_null) => Ok(Value::Null),
            Some(Value::Null) if !column.ty.nullable => {
                self.forgive(codes::warn_null_to_notnull(&column.name, state.row_no))?;
                match column.ty.kind {
                    TypeKind::Timestamp => Ok(self.current_timestamp(column)),
                    _ => Ok(types::implicit_default(&column.ty)),
                }
            }
            Some(value) => self.store_value(value, column, state.row_no).map_err(|e| with_table(e, &def.name)),
            None if column.ty.kind == TypeKind::Timestamp && !column.ty.nullable => Ok(self.current_timestamp(column)),
            None => Ok(absent(column)),
        }
    }

    /// The line had more fields than are wanted: told when its row is in.
    pub(super) fn tell_of_more(&mut self, state: &Inserter<'a>) -> Result<()> {
        self.forgive(codes::warn_too_many_records(state.row_no))
    }

    /// An error in strict mode, a warning otherwise.
    fn forgive(&mut self, error: SqlError) -> Result<()> {
        if self.context.sql_mode().is_strict() && !self.lenient {
            return Err(error.into());
        }
        self.warn(error.code, error.message);
        Ok(())
    }
}
