//! INSERT of constants and parameters: values go from where they lie into the row's bytes.
//!
//! Errors, warnings and their order are those of the ordinary INSERT (`insert.rs`); both use `store.rs` and `auto_increment.rs`.

use crate::change::auto_increment::{AutoIncrement, Rows};
use crate::change::insert::id_of;
use crate::change::store::{Leniency, default_value, duplicate_entry, store_value};
use crate::change::together::{self, Together};
use crate::context::StatementContext;
use crate::document::with_table;
use crate::errors::internal;
use crate::exec::Scratch;
use crate::execute::{Changes, Outcome};
use crate::run::Result;
use crate::short::operand;
use catalog::{DefaultValue, TableEntry};
use planner::expr::Expr;
use planner::plan::{Body, InsertColumn, InsertSource, Plan};
use smallvec::SmallVec;
use std::sync::Arc;
use types::Value;

/// Rows between two looks at the cancel flag.
const ROWS_PER_LOOK: usize = 256;

/// Bytes of a row's buffer that a session keeps.
const ROW_BYTES_KEPT: usize = 64 << 10;

static NULL: Value = Value::Null;

/// Where a column's value lies.
enum Place<'v> {
    /// In the plan or among the parameters.
    Given(&'v Value),
    /// Among the values made for this row.
    Made(usize),
}

/// The row being built.
struct Row<'v> {
    places: SmallVec<[Place<'v>; 16]>,
    /// Values that had to be converted or generated.
    made: Vec<Value>,
    bytes: Vec<u8>,
}

impl<'v> Row<'v> {
    fn value(&self, column: usize) -> &Value {
        match self.places[column] {
            Place::Given(value) => value,
            Place::Made(at) => &self.made[at],
        }
    }

    fn make(&mut self, value: Value) -> Place<'v> {
        self.made.push(value);
        Place::Made(self.made.len() - 1)
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
    let InsertSource::Values(rows) = &insert.source else { return Err(internal("short insert without VALUES")) };
    if !context.sql_mode().is_strict() {
        return Ok(None);
    }
    let entry = &plan.tables[insert.table as usize];
    let mut row = Row { places: SmallVec::new(), made: std::mem::take(&mut scratch.frame), bytes: std::mem::take(&mut scratch.row) };
    let result = insert_rows(entry, rows, &insert.columns, params, session, context, &mut row);
    let Row { mut made, bytes, .. } = row;
    made.clear();
    scratch.frame = made;
    if bytes.capacity() <= ROW_BYTES_KEPT {
        scratch.row = bytes;
    }
    result.map(|changes| Some(Outcome::Changes(changes)))
}

fn insert_rows<'v>(
    entry: &'v Arc<TableEntry>,
    rows: &'v [Vec<Option<Expr>>],
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
    rows: &'v [Vec<Option<Expr>>],
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
    for (row_no, given) in rows.iter().enumerate() {
        if row_no % ROWS_PER_LOOK == ROWS_PER_LOOK - 1 && context.is_cancelled() {
            return Err(context.cancel_error().into());
        }
        place_values(entry, given, columns, auto_column, params, row_no as u64 + 1, context, row)?;
        let mut generated = None;
        if let Some(at) = auto_column
            && let Some((id, value)) = counter.generate(entry, at, row.value(at), context)?
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
        changes.row_id = auto_column.and_then(|at| id_of(row.value(at)));
        counter.row_done();
    }
    Ok(changes)
}

/// The same for many rows. An error of a later row is told only when those before it are in.
#[inline(never)]
fn insert_together<'v>(
    entry: &'v Arc<TableEntry>,
    rows: &'v [Vec<Option<Expr>>],
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
    for (row_no, given) in rows.iter().enumerate() {
        if row_no % ROWS_PER_LOOK == ROWS_PER_LOOK - 1 && context.is_cancelled() {
            return Err(context.cancel_error().into());
        }
        let told = context.warning_total();
        if let Err(error) = place_values(entry, given, columns, auto_column, params, row_no as u64 + 1, context, row) {
            waiting.put_in_ahead(told, session, context, &mut changes)?;
            return Err(error);
        }
        if let Some(at) = auto_column {
            if waiting.must_be_in(counter, row.value(at), context) {
                waiting.put_in_ahead(told, session, context, &mut changes)?;
            }
            match counter.generate(entry, at, row.value(at), context) {
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
        let encoded = entry.storage.layout().encode_from(|column| row.value(column), &mut bytes);
        row.bytes = bytes;
        encoded.map_err(|error| internal(&format!("{error:?}")))?;
        let row_id = || auto_column.and_then(|at| id_of(row.value(at)));
        if !waiting.add(&row.bytes, row_id, told, session, context)? {
            waiting.put_in_ahead(told, session, context, &mut changes)?;
            insert_row(entry, session, context, row)?;
            changes.affected += 1;
            changes.row_id = auto_column.and_then(|at| id_of(row.value(at)));
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
    row.places.clear();
    row.made.clear();
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
            None if Some(at) == auto_column => Place::Given(&NULL),
            None => match &column.default {
                DefaultValue::Constant(value) => Place::Given(value),
                _ => row.make(default_value(column, Leniency::NONE, context)?),
            },
        };
        row.places.push(place);
    }
    Ok(())
}

fn insert_row(entry: &TableEntry, session: &mut engine::Session, context: &mut dyn StatementContext, row: &mut Row<'_>) -> Result<()> {
    let mut bytes = std::mem::take(&mut row.bytes);
    bytes.clear();
    let encoded = entry.storage.layout().encode_from(|column| row.value(column), &mut bytes);
    let result = match encoded {
        Ok(()) => session.insert(&entry.storage, &mut bytes).map_err(|error| match error {
            engine::Error::DuplicateKey { index_no } => {
                let values: Vec<Value> = (0..row.places.len()).map(|column| row.value(column).clone()).collect();
                duplicate_entry(&entry.def, index_no, &values, context).into()
            }
            error => error.into(),
        }),
        Err(error) => Err(internal(&format!("{error:?}"))),
    };
    row.bytes = bytes;
    result
}
