//! INSERT of constants and parameters: values go from where they lie into the row's bytes.
//!
//! Errors, warnings and their order are those of the ordinary INSERT (`insert.rs`); both use `store.rs` and `auto_increment.rs`.

use crate::change::auto_increment::{AutoIncrement, Rows};
use crate::change::duplicate::duplicate_entry;
use crate::change::in_place::Assigned;
use crate::change::insert::id_of;
use crate::change::met::key_in;
use crate::change::placed::{NULL, Place, Row};
use crate::change::store::{Leniency, default_value, store_value};
use crate::change::together::{self, Together};
use crate::context::StatementContext;
use crate::document::with_table;
use crate::errors::internal;
use crate::exec::{Exec, Scratch};
use crate::execute::{Changes, Outcome};
use crate::foreign_keys::Child;
use crate::run::Result;
use crate::short::{ShortRun, operand};
use catalog::{ColumnDef, DefaultValue, TableEntry};
use engine::OnDuplicate;
use mysql_error::{Warning, WarningLevel};
use planner::LiteralRows;
use planner::expr::Expr;
use planner::foreign_keys::TableKeys;
use planner::plan::{Body, Insert, InsertColumn, InsertSource, Plan};
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

/// What the rows refer to.
#[derive(Clone, Copy)]
struct References<'v> {
    keys: &'v TableKeys,
    child: Child<'v>,
    /// By the AUTO_INCREMENT column among others: what a row refers to is known when it has its number.
    by_number: bool,
    /// To rows of the table itself, the statement's own perhaps.
    to_itself: bool,
}

/// An INSERT under way.
struct Inserting<'v, 's> {
    plan: &'v Plan,
    insert: &'v Insert,
    entry: &'v Arc<TableEntry>,
    rows: Source<'v>,
    /// How the row is changed that has a new one's key.
    met: Option<Assigned<'v>>,
    params: &'v [Value],
    auto_column: Option<usize>,
    /// By IGNORE.
    leniency: Leniency,
    references: Option<References<'v>>,
    session: &'s mut engine::Session,
    context: &'s mut dyn StatementContext,
    scratch: &'s mut Scratch,
    counter: AutoIncrement,
    changes: Changes,
    /// The row that is being made.
    row: Row<'v>,
}

/// Runs the statement; `None` when the mode is not strict and the ordinary plan must run.
#[inline(never)]
pub(crate) fn run(run: ShortRun<'_>) -> Result<Option<Outcome>> {
    let ShortRun { plan, params, session, context, scratch, .. } = run;
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
    let auto_column = entry.def.auto_increment_column();
    let references = match &plan.foreign_keys {
        Some(keys) if context.foreign_key_checks() => keys.of(insert.table).map(|keys| {
            let child = Child { plan, table: insert.table };
            References { keys, child, by_number: child.refers_by_number(keys), to_itself: child.refers_to_itself(keys) }
        }),
        _ => None,
    };
    let met = Assigned::by_insert(insert);
    // The frame is for the one that is changed, if one may be.
    let made = if met.is_some() { Vec::new() } else { std::mem::take(&mut scratch.frame) };
    let bytes = std::mem::take(&mut scratch.row);
    let mut inserting = Inserting {
        plan,
        insert,
        entry,
        rows,
        met,
        params,
        auto_column,
        leniency: Leniency { values: insert.ignore, nulls: insert.ignore },
        references,
        session,
        context,
        scratch,
        counter: AutoIncrement::new(Rows::Known(rows.len() as u64)),
        changes: Changes { records: rows.len() as u64, ..Changes::default() },
        row: Row::new(made, bytes),
    };
    let result = inserting.run();
    let Inserting { row, changes, scratch, .. } = inserting;
    let (made, bytes) = row.into_parts();
    if met.is_none() {
        scratch.frame = made;
    }
    if bytes.capacity() <= ROW_BYTES_KEPT {
        scratch.row = bytes;
    }
    result.map(|()| Some(Outcome::Changes(changes)))
}

impl<'v> Inserting<'v, '_> {
    fn run(&mut self) -> Result<()> {
        if self.auto_column.is_some() {
            self.counter.begin(self.entry, self.session, &*self.context)?;
        }
        let waits_for_none = self.references.is_none_or(|references| !references.by_number && !references.to_itself);
        let changes = self.met.is_some() || self.insert.replace;
        let many = self.rows.len() as u64 >= together::ROWS_MIN && waits_for_none && !changes;
        let waiting = if many { Together::new(self.entry, false, self.session, &*self.context) } else { None };
        let result = match waiting {
            Some(waiting) => self.insert_together(waiting),
            None => self.insert_one_by_one(),
        };
        self.counter.end(self.entry, self.session);
        result
    }

    /// Each row goes in before the next one is made.
    fn insert_one_by_one(&mut self) -> Result<()> {
        for row_no in 0..self.rows.len() {
            self.look_for_cancel(row_no)?;
            self.place_row(row_no)?;
            self.lock_parents(false)?;
            let generated = self.generate()?;
            let inserted = self.lock_parents(true).and_then(|()| self.insert_or_change(row_no));
            if let (Some(id), Ok(false) | Err(_)) = (generated, &inserted) {
                self.counter.not_inserted(self.entry, id);
            }
            if inserted? {
                self.changes.generated_id = self.changes.generated_id.or(generated);
            }
            self.counter.row_done();
        }
        Ok(())
    }

    /// Rows wait for others, and go in with them. An error of a row is told only when those before it are in.
    #[inline(never)]
    fn insert_together(&mut self, mut waiting: Together<'v>) -> Result<()> {
        for row_no in 0..self.rows.len() {
            self.look_for_cancel(row_no)?;
            let told = self.context.warning_total();
            let mut made = self.place_row(row_no).and_then(|()| self.lock_parents(false));
            if made.is_ok() {
                if let Some(at) = self.auto_column
                    && waiting.must_be_in(&self.counter, self.row.number(at), &*self.context)
                {
                    waiting.put_in_ahead(told, self.session, self.context, &mut self.changes)?;
                }
                made = self.generate().map(|generated| self.changes.generated_id = self.changes.generated_id.or(generated));
            }
            if let Err(error) = made {
                waiting.put_in_ahead(told, self.session, self.context, &mut self.changes)?;
                return Err(error);
            }
            self.encode_row()?;
            let row_id = || self.auto_column.and_then(|at| id_of(self.row.number(at)));
            if !waiting.add(&self.row.bytes, row_id, told, self.session, &*self.context)? {
                waiting.put_in_ahead(told, self.session, self.context, &mut self.changes)?;
                self.insert_row()?;
            }
            self.counter.row_done();
            if waiting.is_due() {
                waiting.put_in(self.session, self.context, &mut self.changes)?;
            }
        }
        waiting.finish(self.session, self.context, &mut self.changes)
    }

    fn look_for_cancel(&self, row_no: usize) -> Result<()> {
        if row_no % ROWS_PER_LOOK == ROWS_PER_LOOK - 1 && self.context.is_cancelled() {
            return Err(self.context.cancel_error().into());
        }
        Ok(())
    }

    /// Finds or makes the value of each column but a generated one.
    #[inline]
    fn place_row(&mut self, row_no: usize) -> Result<()> {
        if self.insert.order.is_some() {
            return self.place_named(row_no);
        }
        self.row.clear();
        match self.rows {
            Source::Values(rows) => self.place_values(&rows[row_no], row_no),
            Source::Literals(rows) => self.place_literals(rows, row_no),
        }
    }

    /// The same where the statement names the columns in another order than the table's: of several values that are wrong, or of which something is to be told, that comes first which is named first.
    #[inline(never)]
    fn place_named(&mut self, row_no: usize) -> Result<()> {
        self.row.clear();
        self.row.make_room(self.entry.def.columns.len());
        for nth in 0..self.entry.def.columns.len() {
            let at = self.insert.nth_column(nth);
            let (column, source) = (&self.entry.def.columns[at], &self.insert.columns[at]);
            self.row.places[at] = match self.rows {
                Source::Values(rows) => self.value_place(&rows[row_no], (at, column, source), row_no)?,
                Source::Literals(rows) => self.literal_place(rows, (at, column, source), row_no)?,
            };
        }
        Ok(())
    }

    fn place_values(&mut self, given: &'v [Option<Expr>], row_no: usize) -> Result<()> {
        let (entry, insert) = (self.entry, self.insert);
        for (at, (column, source)) in entry.def.columns.iter().zip(&insert.columns).enumerate() {
            let place = self.value_place(given, (at, column, source), row_no)?;
            self.row.places.push(place);
        }
        Ok(())
    }

    #[inline(always)]
    fn value_place(
        &mut self,
        given: &'v [Option<Expr>],
        (at, column, source): (usize, &'v ColumnDef, &'v InsertColumn),
        row_no: usize,
    ) -> Result<Place<'v>> {
        // Neither a column that is not named, nor DEFAULT, nor `VALUES ()` gives a value.
        let expr = match source {
            InsertColumn::Source(position) => given.get(*position as usize).and_then(Option::as_ref),
            InsertColumn::Default => None,
        };
        match expr {
            Some(expr) => match operand(expr, self.params).ok_or_else(|| internal("short insert of an expression"))? {
                null @ Value::Null if Some(at) == self.auto_column => Ok(Place::Given(null)),
                value if types::is_stored_as_it_is(value, &column.ty) => Ok(Place::Given(value)),
                value => self.place_converted(value.clone(), column, row_no),
            },
            None => self.place_default(column, Some(at) == self.auto_column),
        }
    }

    /// The same of a row of texts.
    fn place_literals(&mut self, rows: &'v LiteralRows, row_no: usize) -> Result<()> {
        let (entry, insert) = (self.entry, self.insert);
        for (at, (column, source)) in entry.def.columns.iter().zip(&insert.columns).enumerate() {
            let place = self.literal_place(rows, (at, column, source), row_no)?;
            self.row.places.push(place);
        }
        Ok(())
    }

    #[inline(always)]
    fn literal_place(
        &mut self,
        rows: &'v LiteralRows,
        (at, column, source): (usize, &'v ColumnDef, &'v InsertColumn),
        row_no: usize,
    ) -> Result<Place<'v>> {
        let is_auto = Some(at) == self.auto_column;
        match source {
            InsertColumn::Source(position) => match rows.field(row_no, *position as usize) {
                None if column.ty.nullable || is_auto => Ok(Place::Given(&NULL)),
                field => match field.and_then(|field| types::store_directly(field, &column.ty)) {
                    Some(Direct::Text(text)) => Ok(Place::Text(text)),
                    Some(Direct::Value(value)) => Ok(self.row.make(value)),
                    None => self.place_converted(field.map_or(Value::Null, Field::value), column, row_no),
                },
            },
            InsertColumn::Default => self.place_default(column, is_auto),
        }
    }

    /// A place for a value that its column does not store as it is.
    fn place_converted(&mut self, value: Value, column: &ColumnDef, row_no: usize) -> Result<Place<'v>> {
        let stored = store_value(value, column, row_no as u64 + 1, self.leniency, self.context);
        Ok(self.row.make(stored.map_err(|e| with_table(e, &self.entry.def.name))?))
    }

    /// What a column gets that no value is given for.
    fn place_default(&mut self, column: &'v ColumnDef, is_auto: bool) -> Result<Place<'v>> {
        match &column.default {
            _ if is_auto => Ok(Place::Given(&NULL)),
            DefaultValue::Constant(value) => Ok(Place::Given(value)),
            _ => Ok(self.row.make(default_value(column, self.leniency, true, self.context)?)),
        }
    }

    /// Gives the AUTO_INCREMENT column its value; returns it when it was generated.
    fn generate(&mut self) -> Result<Option<u64>> {
        let Some(at) = self.auto_column else { return Ok(None) };
        let generated = self.counter.generate(self.entry, at, self.row.number(at), &*self.context)?;
        Ok(generated.map(|(id, value)| {
            self.row.places[at] = self.row.make(value);
            id
        }))
    }

    /// Locks what the row refers to, before it has its number or behind that.
    #[inline]
    fn lock_parents(&mut self, has_number: bool) -> Result<()> {
        match self.references {
            Some(references) if references.by_number == has_number => {
                references.child.lock_parents(references.keys, |column| self.row.value(column), self.session, self.context)
            }
            _ => Ok(()),
        }
    }

    #[inline]
    fn encode_row(&mut self) -> Result<()> {
        self.row.encode(self.entry.storage.layout()).map_err(|error| internal(&format!("{error:?}")))
    }

    /// Whether the row is in: not where the one is changed that has its key, or IGNORE leaves it out.
    #[inline]
    fn insert_or_change(&mut self, row_no: usize) -> Result<bool> {
        match self.met {
            None if self.insert.replace => self.insert_or(Self::replace_met),
            None => self.insert_row(),
            Some(assigned) => self.insert_or(|row, index_no| row.change_met(row_no, index_no, assigned)),
        }
    }

    /// Whether the row is in. What is to be done about one that has its key is `met`'s: `None` where the row is to be tried again.
    #[inline(never)]
    fn insert_or(&mut self, mut met: impl FnMut(&mut Self, usize) -> Result<Option<bool>>) -> Result<bool> {
        loop {
            self.encode_row()?;
            match self.session.insert_or(OnDuplicate::Change, &self.entry.storage, &mut self.row.bytes) {
                Ok(()) => {
                    self.count_inserted();
                    return Ok(true);
                }
                Err(engine::Error::DuplicateKey { index_no }) => {
                    if let Some(is_in) = met(self, index_no)? {
                        return Ok(is_in);
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Removes the row that has the new one's key, unless it is the same, which stays.
    fn replace_met(&mut self, index_no: usize) -> Result<Option<bool>> {
        let mut x = Exec::of_one_row(self.plan, self.params, Some(&mut *self.session), &mut *self.context, self.scratch);
        let met = (self.insert, &**self.entry);
        let replaced = x.replace_row(met, index_no, &self.row.values(), &mut self.changes);
        x.finish_one_row(self.scratch);
        Ok(replaced?.then_some(true))
    }

    /// Changes the row that has the new one's key, unless it went away between the two looks.
    fn change_met(&mut self, row_no: usize, index_no: usize, assigned: Assigned<'v>) -> Result<Option<bool>> {
        let mut key = std::mem::take(&mut self.scratch.key);
        key.clear();
        let made = key_in(self.entry, index_no, |column| self.row.value(column), &mut key);
        let mut x = Exec::of_one_row(self.plan, self.params, Some(&mut *self.session), &mut *self.context, self.scratch);
        let row = &self.row;
        let changed = made.and_then(|()| {
            let met = (self.insert, &**self.entry);
            x.change_met(met, assigned, (index_no, &key), |column| row.value(column), row_no as u64 + 1, &mut self.changes)
        });
        x.finish_one_row(self.scratch);
        self.scratch.key = key;
        Ok(changed?.then_some(false))
    }

    fn count_inserted(&mut self) {
        self.changes.affected += 1;
        self.changes.row_id = self.auto_column.and_then(|at| id_of(self.row.number(at)));
    }

    /// Whether the row is in; where IGNORE leaves it out, for its key is there, it is told of.
    fn insert_row(&mut self) -> Result<bool> {
        self.encode_row()?;
        match self.session.insert(&self.entry.storage, &mut self.row.bytes) {
            Ok(()) => {
                self.count_inserted();
                Ok(true)
            }
            Err(engine::Error::DuplicateKey { index_no }) => {
                let error = duplicate_entry(&self.entry.def, index_no, &self.row.values(), &*self.context);
                if !self.insert.ignore {
                    return Err(error.into());
                }
                self.context.warn(Warning { level: WarningLevel::Warning, code: error.code, message: error.message });
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }
}
