//! LOAD DATA: lines of a file as rows of an INSERT.
//!
//! # Invariants
//! 1. A line's fields are stored first, from left to right; then SET is computed, in the order written; then what the table's definition computes.
//! 2. A line whose fields are stored as they stand there, which nobody need be told of, is put into its row without values in between ([`DirectLoad`]); the row is the same.

use crate::change::insert::Inserter;
use crate::change::placed::{NULL, Place, Row};
use crate::document::with_table;
use crate::exec::Exec;
use crate::run::Result;
use catalog::{ColumnDef, DefaultValue, TableDef};
use mysql_error::{SqlError, codes};
use planner::plan::{Load, LoadField};
use types::{Direct, Field, TypeKind, Value};

/// A line of a file.
#[derive(Debug, Default)]
pub struct LoadRow {
    /// Its fields; there may be fewer than the statement names.
    pub fields: Vec<Value>,
    /// It had more.
    pub has_more: bool,
}

/// A field of a line as it stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadText<'l> {
    /// It says NULL.
    Null,
    /// A text, in UTF-8.
    Text(&'l [u8]),
    /// What only [`LoadLines::row`] makes something of.
    Other,
}

/// The lines of a file, one by one.
pub trait LoadLines {
    /// Goes to the next line; false at the end.
    fn next(&mut self) -> Result<bool>;
    /// Whether the line has as many fields as are wanted.
    fn is_whole(&self) -> bool;
    /// One of its fields.
    fn text(&self, field: usize) -> LoadText<'_>;
    /// The line.
    fn row(&self) -> Result<LoadRow>;
}

/// Where the columns of lines that need no values come from.
pub(super) struct DirectLoad {
    columns: Vec<DirectColumn>,
}

enum DirectColumn {
    Field(usize),
    Value(Value),
}

impl DirectLoad {
    /// Finds the columns of a line; `false` where one needs more than is known here.
    fn place<'v>(&'v self, lines: &'v dyn LoadLines, def: &TableDef, row: &mut Row<'v>) -> bool {
        for (source, column) in self.columns.iter().zip(&def.columns) {
            let place = match source {
                DirectColumn::Value(value) => Place::Given(value),
                DirectColumn::Field(no) => match lines.text(*no) {
                    LoadText::Null if column.ty.nullable => Place::Given(&NULL),
                    LoadText::Text(text) => match types::store_directly(Field::Text(text), &column.ty) {
                        Some(Direct::Text(text)) => Place::Text(text),
                        Some(Direct::Value(value)) => row.make(value),
                        None => return false,
                    },
                    LoadText::Null | LoadText::Other => return false,
                },
            };
            row.places.push(place);
        }
        true
    }
}

/// What a column gets of a line that ends before it: never its default, but for NULL.
fn absent(column: &ColumnDef) -> Value {
    match &column.default {
        DefaultValue::Null => Value::Null,
        DefaultValue::None if column.ty.nullable => Value::Null,
        _ => types::implicit_default(&column.ty),
    }
}

impl<'a> Exec<'a> {
    /// What a column gets that no line has.
    fn unread(&mut self, column: &ColumnDef) -> Result<Value> {
        match &column.default {
            // Nobody is told of a column that has no default.
            DefaultValue::None if column.generated.is_none() => Ok(absent(column)),
            _ => self.default_value(column, true),
        }
    }

    /// Where rows of this statement go in together, and hold nothing but fields and defaults.
    pub(super) fn direct_load(&mut self, state: &Inserter<'a>, load: &Load) -> Result<Option<DirectLoad>> {
        let refers = self.keys_of(state.insert.table).is_some_and(|keys| !keys.parents.is_empty());
        if state.together.is_none() || state.auto_column.is_some() || state.insert.rules.is_some() || refers {
            return Ok(None);
        }
        let mut columns = Vec::with_capacity(state.entry.def.columns.len());
        for (at, column) in state.entry.def.columns.iter().enumerate() {
            let mut fields = load.fields.iter().enumerate().filter(|(_, field)| **field == LoadField::Column(at as u32));
            columns.push(match (fields.next(), fields.next()) {
                (None, _) => DirectColumn::Value(self.unread(column)?),
                (Some((no, _)), None) => DirectColumn::Field(no),
                (Some(_), Some(_)) => return Ok(None),
            });
        }
        Ok(Some(DirectLoad { columns }))
    }

    /// Adds the row of a line to those that wait; `false` where the line needs values.
    pub(super) fn load_directly(
        &mut self,
        state: &mut Inserter<'a>,
        direct: &DirectLoad,
        lines: &dyn LoadLines,
        told: u32,
    ) -> Result<bool> {
        if !lines.is_whole() {
            return Ok(false);
        }
        let mut row = Row::new(std::mem::take(&mut state.made), std::mem::take(&mut state.row));
        let encoded = direct.place(lines, &state.entry.def, &mut row) && row.encode(state.entry.storage.layout()).is_ok();
        (state.made, state.row) = row.into_parts();
        if encoded { self.add_encoded(state, None, told) } else { Ok(false) }
    }

    /// Computes the new row of a line.
    pub(super) fn loaded_row(&mut self, state: &mut Inserter<'a>, load: &'a Load, line: LoadRow) -> Result<()> {
        let def = &state.entry.def;
        state.values.clear();
        for (i, column) in def.columns.iter().enumerate() {
            let given = matches!(state.insert.columns[i], planner::plan::InsertColumn::Source(_));
            let value = if Some(i) == state.auto_column || given { Value::Null } else { self.unread(column)? };
            state.values.push(value);
        }
        debug_assert!(line.fields.len() <= load.fields.len());
        let mut fields = line.fields.into_iter();
        for field in &load.fields {
            let value = fields.next();
            match field {
                LoadField::Variable(name) => self.context.set_user_variable(name, value.unwrap_or_default(), None),
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
