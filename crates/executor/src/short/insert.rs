//! INSERT of constants and parameters: values go from where they lie into the row's bytes.
//!
//! Errors, warnings and their order are those of the ordinary INSERT (`insert.rs`); both use `store.rs` and `auto_increment.rs`.

use crate::change::auto_increment::{AutoIncrement, Rows};
use crate::change::insert::id_of;
use crate::change::placed::{NULL, Place, Row};
use crate::change::store::{Leniency, default_value, duplicate_entry, store_value};
use crate::change::together::{self, Together};
use crate::context::StatementContext;
use crate::document::with_table;
use crate::errors::internal;
use crate::exec::Scratch;
use crate::execute::{Changes, Outcome};
use crate::run::Result;
use crate::short::operand;
use catalog::{ColumnDef, DefaultValue, TableEntry};
use planner::LiteralRows;
use planner::expr::Expr;
use planner::plan::{Body, InsertColumn, InsertSource, Plan};
use std::sync::Arc;
use types::{Direct, Field, Value};

/// Rows between two looks at the cancel flag.
const ROWS_PER_LOOK: usize = 256;

/// Bytes of a row's buffer that a session keeps.
const ROW_BYTES_KEPT: usize = 64 << 10;

/// The rows of the statement.
#[derive(Clone, Copy)]
enum Source<'v> {
    /// Constants and parameters.
    Values(&'v [Vec<Option<Expr>>]),
    /// Texts.
    Literals(&'v LiteralRows),
}

impl Source<'_> {
    fn len(&self) -> usize {
        match self {
            Source::Values(rows) => rows.len(),
            Source::Literals(rows) => rows.len(),
        }
    }
}

/// Runs the statement; `None` when the mode is not strict and the ordinary plan must run.
#[inline(never)]
pub(crate) fn run(
    plan: &Plan,
    params: &[Value],
    session: &mut engine::Session,
    context: &mut dyn StatementContext,
    scratch: &mut Scratch,
) -> Result<Option<Outcome>> {
    let Body::Insert(insert) = &plan.body else { return Err(internal("short insert without INSERT")) };
    let rows = match &insert.source {
        InsertSource::Values(rows) => Source::Values(rows),
        InsertSource::Literals(rows) => Source::Literals(rows),
        InsertSource::Query(_) | InsertSource::External(_) => return Err(internal("short insert without VALUES")),
    };
    if !context.sql_mode().is_strict() {
        return Ok(None);
    }
    let entry = &plan.tables[insert.table as usize];
    let mut row = Row::new(std::mem::take(&mut scratch.frame), std::mem::take(&mut scratch.row));
    let result = insert_rows(entry, rows, &insert.columns, params, session, context, &mut row);
    let (made, bytes) = row.into_parts();
    scratch.frame = made;
    if bytes.capacity() <= ROW_BYTES_KEPT {
        scratch.row = bytes;
    }
    result.map(|changes| Some(Outcome::Changes(changes)))
}

fn insert_rows<'v>(
    entry: &'v Arc<TableEntry>,
    rows: Source<'v>,
    columns: &[InsertColumn],
    params: &'v [Value],
    session: &mut engine::Session,
    context: &mut dyn StatementContext,
    row: &mut Row<'v>,
) -> Result<Changes> {
    let mut counter = AutoIncrement::new(Rows::Known(rows.len() as u64));
    if entry.def.auto_increment_column().is_some() {
        counter.begin(entry, session, context)?;
    }
    let result = insert_all(entry, rows, columns, params, &mut counter, session, context, row);
    counter.end(entry, session);
    result
}

fn insert_all<'v>(
    entry: &'v Arc<TableEntry>,
    rows: Source<'v>,
    columns: &[InsertColumn],
    params: &'v [Value],
    counter: &mut AutoIncrement,
    session: &mut engine::Session,
    context: &mut dyn StatementContext,
    row: &mut Row<'v>,
) -> Result<Changes> {
    if rows.len() as u64 >= together::ROWS_MIN
        && let Some(mut waiting) = Together::new(entry, false, session, context)
    {
        return insert_together(entry, rows, columns, params, counter, session, context, row, &mut waiting);
    }
    let mut changes = Changes { records: rows.len() as u64, ..Changes::default() };
    let auto_column = entry.def.auto_increment_column();
    for row_no in 0..rows.len() {
        if row_no % ROWS_PER_LOOK == ROWS_PER_LOOK - 1 && context.is_cancelled() {
            return Err(context.cancel_error().into());
        }
        place_row(entry, rows, row_no, columns, auto_column, params, context, row)?;
        let mut generated = None;
        if let Some(at) = auto_column
            && let Some((id, value)) = counter.generate(entry, at, row.number(at), context)?
        {
            row.places[at] = row.make(value);
            generated = Some(id);
        }
        if let Err(error) = insert_row(entry, session, context, row) {
            if let Some(id) = generated {
                counter.not_inserted(entry, id);
            }
            return Err(error);
        }
        changes.affected += 1;
        changes.generated_id = changes.generated_id.or(generated);
        changes.row_id = auto_column.and_then(|at| id_of(row.number(at)));
        counter.row_done();
    }
    Ok(changes)
}

/// The same for many rows. An error of a later row is told only when those before it are in.
#[inline(never)]
fn insert_together<'v>(
    entry: &'v Arc<TableEntry>,
    rows: Source<'v>,
    columns: &[InsertColumn],
    params: &'v [Value],
    counter: &mut AutoIncrement,
    session: &mut engine::Session,
    context: &mut dyn StatementContext,
    row: &mut Row<'v>,
    waiting: &mut Together<'_>,
) -> Result<Changes> {
    let mut changes = Changes { records: rows.len() as u64, ..Changes::default() };
    let auto_column = entry.def.auto_increment_column();
    for row_no in 0..rows.len() {
        if row_no % ROWS_PER_LOOK == ROWS_PER_LOOK - 1 && context.is_cancelled() {
            return Err(context.cancel_error().into());
        }
        let told = context.warning_total();
        if let Err(error) = place_row(entry, rows, row_no, columns, auto_column, params, context, row) {
            waiting.put_in_ahead(told, session, context, &mut changes)?;
            return Err(error);
        }
        if let Some(at) = auto_column {
            if waiting.must_be_in(counter, row.number(at), context) {
                waiting.put_in_ahead(told, session, context, &mut changes)?;
            }
            match counter.generate(entry, at, row.number(at), context) {
                Ok(Some((id, value))) => {
                    row.places[at] = row.make(value);
                    changes.generated_id = changes.generated_id.or(Some(id));
                }
                Ok(None) => {}
                Err(error) => {
                    waiting.put_in_ahead(told, session, context, &mut changes)?;
                    return Err(error);
                }
            }
        }
        let mut bytes = std::mem::take(&mut row.bytes);
        bytes.clear();
        let encoded = entry.storage.layout().encode_cells(|column| row.cell(column), &mut bytes);
        row.bytes = bytes;
        encoded.map_err(|error| internal(&format!("{error:?}")))?;
        let row_id = || auto_column.and_then(|at| id_of(row.number(at)));
        if !waiting.add(&row.bytes, row_id, told, session, context)? {
            waiting.put_in_ahead(told, session, context, &mut changes)?;
            insert_row(entry, session, context, row)?;
            changes.affected += 1;
            changes.row_id = auto_column.and_then(|at| id_of(row.number(at)));
        }
        counter.row_done();
        if waiting.is_due() {
            waiting.put_in(session, context, &mut changes)?;
        }
    }
    waiting.finish(session, context, &mut changes)?;
    Ok(changes)
}

/// Finds or makes the value of each column but a generated one.
#[inline]
fn place_row<'v>(
    entry: &'v Arc<TableEntry>,
    rows: Source<'v>,
    row_no: usize,
    columns: &[InsertColumn],
    auto_column: Option<usize>,
    params: &'v [Value],
    context: &mut dyn StatementContext,
    row: &mut Row<'v>,
) -> Result<()> {
    row.clear();
    match rows {
        Source::Values(rows) => place_values(entry, &rows[row_no], columns, auto_column, params, row_no as u64 + 1, context, row),
        Source::Literals(rows) => place_literals(entry, rows, row_no, columns, auto_column, context, row),
    }
}

fn place_values<'v>(
    entry: &'v Arc<TableEntry>,
    given: &'v [Option<Expr>],
    columns: &[InsertColumn],
    auto_column: Option<usize>,
    params: &'v [Value],
    row_no: u64,
    context: &mut dyn StatementContext,
    row: &mut Row<'v>,
) -> Result<()> {
    for (at, (column, source)) in entry.def.columns.iter().zip(columns).enumerate() {
        // Neither a column that is not named, nor DEFAULT, nor `VALUES ()` gives a value.
        let expr = match source {
            InsertColumn::Source(position) => given.get(*position as usize).and_then(Option::as_ref),
            InsertColumn::Default => None,
        };
        let place = match expr {
            Some(expr) => match operand(expr, params).ok_or_else(|| internal("short insert of an expression"))? {
                null @ Value::Null if Some(at) == auto_column => Place::Given(null),
                value if types::is_stored_as_it_is(value, &column.ty) => Place::Given(value),
                value => row
                    .make(store_value(value.clone(), column, row_no, Leniency::NONE, context).map_err(|e| with_table(e, &entry.def.name))?),
            },
            None => place_default(column, Some(at) == auto_column, context, row)?,
        };
        row.places.push(place);
    }
    Ok(())
}

/// The same of a row of texts.
fn place_literals<'v>(
    entry: &'v Arc<TableEntry>,
    rows: &'v LiteralRows,
    row_no: usize,
    columns: &[InsertColumn],
    auto_column: Option<usize>,
    context: &mut dyn StatementContext,
    row: &mut Row<'v>,
) -> Result<()> {
    for (at, (column, source)) in entry.def.columns.iter().zip(columns).enumerate() {
        let place = match source {
            InsertColumn::Source(position) => match rows.field(row_no, *position as usize) {
                None if column.ty.nullable || Some(at) == auto_column => Place::Given(&NULL),
                field => match field.and_then(|field| types::store_directly(field, &column.ty)) {
                    Some(Direct::Text(text)) => Place::Text(text),
                    Some(Direct::Value(value)) => row.make(value),
                    None => {
                        let value = field.map_or(Value::Null, Field::value);
                        let stored = store_value(value, column, row_no as u64 + 1, Leniency::NONE, context);
                        row.make(stored.map_err(|e| with_table(e, &entry.def.name))?)
                    }
                },
            },
            InsertColumn::Default => place_default(column, Some(at) == auto_column, context, row)?,
        };
        row.places.push(place);
    }
    Ok(())
}

/// What a column gets that no value is given for.
fn place_default<'v>(column: &'v ColumnDef, is_auto: bool, context: &mut dyn StatementContext, row: &mut Row<'v>) -> Result<Place<'v>> {
    match &column.default {
        _ if is_auto => Ok(Place::Given(&NULL)),
        DefaultValue::Constant(value) => Ok(Place::Given(value)),
        _ => Ok(row.make(default_value(column, Leniency::NONE, context)?)),
    }
}

fn insert_row(entry: &TableEntry, session: &mut engine::Session, context: &mut dyn StatementContext, row: &mut Row<'_>) -> Result<()> {
    let mut bytes = std::mem::take(&mut row.bytes);
    bytes.clear();
    let encoded = entry.storage.layout().encode_cells(|column| row.cell(column), &mut bytes);
    let result = match encoded {
        Ok(()) => session.insert(&entry.storage, &mut bytes).map_err(|error| match error {
            engine::Error::DuplicateKey { index_no } => duplicate_entry(&entry.def, index_no, &row.values(), context).into(),
            error => error.into(),
        }),
        Err(error) => Err(internal(&format!("{error:?}"))),
    };
    row.bytes = bytes;
    result
}
