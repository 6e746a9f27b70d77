//! INSERT, REPLACE, ON DUPLICATE KEY UPDATE.

use crate::change::auto_increment::{AutoIncrement, Rows};
use crate::change::duplicate::duplicate_entry;
use crate::change::load::LoadLines;
use crate::change::store::same_no_member;
use crate::change::together::{self, Together};
use crate::document::with_table;
use crate::errors::{Error, internal};
use crate::exec::Exec;
use crate::execute::Changes;
use crate::foreign_keys::Child;
use crate::run::Result;
use catalog::TableEntry;
use engine::OnDuplicate;
use planner::foreign_keys::TableKeys;
use planner::plan::{Insert, InsertColumn, InsertSource, LoadField};
use std::sync::Arc;
use types::Value;

/// State of one INSERT.
pub(crate) struct Inserter<'a> {
    pub(super) insert: &'a Insert,
    pub(super) entry: &'a Arc<TableEntry>,
    pub(super) auto_column: Option<usize>,
    pub(super) row_no: u64,
    counter: AutoIncrement,
    pub(super) row: Vec<u8>,
    pub(super) values: Vec<Value>,
    /// Values of a row that is made of texts.
    pub(super) made: Vec<Value>,
    /// The row before violated a CHECK constraint, and was left out for that.
    refused: bool,
    /// Rows that did, and are not counted.
    left_out: u64,
    /// Rows that wait to go in together, where rows of this statement may.
    pub(super) together: Option<Together<'a>>,
    pub(crate) changes: Changes,
}

impl Inserter<'_> {
    fn is_waiting(&self) -> bool {
        self.together.as_ref().is_some_and(Together::is_waiting)
    }
}

/// How a row goes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// With others, if it may.
    Together,
    /// By itself, those before it being in.
    Alone,
}

impl<'a> Exec<'a> {
    /// Runs an INSERT or REPLACE. `external` yields the rows of LOAD DATA.
    pub(crate) fn run_insert(&mut self, insert: &'a Insert, external: Option<&mut dyn LoadLines>) -> Result<Changes> {
        let plan = self.plan;
        let entry = &plan.tables[insert.table as usize];
        let mode = self.context.sql_mode();
        let rows_known = insert.source.rows_known().unwrap_or(0) as u64;
        self.lenient = insert.ignore || !mode.is_strict();
        // A single-row INSERT refuses NULL even without strict mode.
        self.null_lenient = insert.ignore || (!mode.is_strict() && rows_known != 1);
        // Of LOAD DATA each line is told of.
        self.nulls_told = (!matches!(insert.source, InsertSource::External(_))).then(Vec::new);
        let mut state = Inserter {
            insert,
            entry,
            auto_column: entry.def.auto_increment_column(),
            row_no: 0,
            counter: AutoIncrement::new(if rows_known > 0 { Rows::Known(rows_known) } else { Rows::Bulk }),
            row: Vec::new(),
            values: Vec::with_capacity(entry.def.columns.len()),
            made: Vec::new(),
            refused: false,
            left_out: 0,
            together: None,
            changes: Changes::default(),
        };
        state.together = self.together(insert, entry, rows_known);
        let result = self.insert_rows(insert, external, &mut state);
        if let Some(session) = self.session.as_deref_mut() {
            state.counter.end(entry, session);
        }
        result?;
        state.changes.records = state.row_no - state.left_out;
        Ok(state.changes)
    }

    /// Where rows of this statement may wait for each other.
    fn together(&mut self, insert: &'a Insert, entry: &'a Arc<TableEntry>, rows_known: u64) -> Option<Together<'a>> {
        let enough = match &insert.source {
            InsertSource::Values(_) | InsertSource::Literals(_) => rows_known >= together::ROWS_MIN,
            InsertSource::Query(_) => true,
            InsertSource::External(load) => load.set.is_empty() && load.fields.iter().all(|field| matches!(field, LoadField::Column(_))),
        };
        let changes = insert.replace || !insert.on_duplicate.is_empty();
        // What a row refers to is locked before it waits; but IGNORE may leave it out for that.
        let child = Child { plan: self.plan, table: insert.table };
        let goes_alone =
            |keys: &TableKeys| insert.ignore && !keys.parents.is_empty() || child.refers_by_number(keys) || child.refers_to_itself(keys);
        if !enough || changes || self.keys_of(insert.table).is_some_and(goes_alone) {
            return None;
        }
        Together::new(entry, insert.ignore, self.session.as_deref()?, &*self.context)
    }

    /// Inserts the rows that wait. What was told since `told` is of a row behind them.
    fn put_in_ahead(&mut self, state: &mut Inserter<'a>, told: u32) -> Result<()> {
        let Some(together) = &mut state.together else { return Ok(()) };
        let session = self.session.as_deref_mut().ok_or_else(|| internal("engine in use"))?;
        together.put_in_ahead(told, session, &mut *self.context, &mut state.changes)
    }

    /// The same, of all that was told so far.
    fn put_in(&mut self, state: &mut Inserter<'a>) -> Result<()> {
        let told = self.context.warning_total();
        self.put_in_ahead(state, told)
    }

    /// An error of a row counts only when those before it are in.
    fn unless_before<T>(&mut self, state: &mut Inserter<'a>, told: u32, computed: Result<T>) -> Result<T> {
        if computed.is_err() && state.is_waiting() {
            self.put_in_ahead(state, told)?;
        }
        computed
    }

    fn insert_rows(&mut self, insert: &'a Insert, external: Option<&mut dyn LoadLines>, state: &mut Inserter<'a>) -> Result<()> {
        match &insert.source {
            InsertSource::Values(rows) => {
                self.lock_counter(state)?;
                for row in rows {
                    self.tick()?;
                    state.row_no += 1;
                    // What a row computes may be seen even if one before it fails.
                    let way = if state.together.is_none() || is_plain(row) { Way::Together } else { Way::Alone };
                    if way == Way::Alone {
                        self.put_in(state)?;
                    }
                    let told = self.context.warning_total();
                    let computed = self.values_row(state, row).and_then(|()| self.expression_values(state, row.is_empty()));
                    self.unless_before(state, told, computed)?;
                    self.insert_row(state, way, told)?;
                    state.left_out += u64::from(std::mem::take(&mut state.refused));
                    state.counter.row_done();
                }
            }
            InsertSource::Query(query) => {
                // Rows are collected before the first is written, so that the source is not read while it grows.
                let width = query.output.len();
                let rows = self.collect_query(query, width)?;
                self.lock_counter(state)?;
                for row in rows {
                    self.insert_computed(insert, state, &row)?;
                }
            }
            InsertSource::Literals(rows) => {
                self.lock_counter(state)?;
                for row in 0..rows.len() {
                    self.insert_computed(insert, state, &rows.values(row))?;
                }
            }
            InsertSource::External(load) => {
                let Some(lines) = external else { return Err(internal("INSERT without rows")) };
                self.lock_counter(state)?;
                let direct = self.direct_load(state, load)?;
                loop {
                    let told = self.context.warning_total();
                    let found = lines.next();
                    if !self.unless_before(state, told, found)? {
                        break;
                    }
                    if let Some(direct) = &direct
                        && self.load_directly(state, direct, lines, told)?
                    {
                        self.tick()?;
                        state.row_no += 1;
                        state.counter.row_done();
                        continue;
                    }
                    let line = lines.row();
                    let line = self.unless_before(state, told, line)?;
                    self.tick()?;
                    state.row_no += 1;
                    let has_more = line.has_more;
                    let computed = self.loaded_row(state, load, line).and_then(|()| self.expression_values(state, false));
                    self.unless_before(state, told, computed)?;
                    self.insert_row(state, Way::Together, told)?;
                    state.counter.row_done();
                    if std::mem::take(&mut state.refused) {
                        // As if the line were not there.
                        state.row_no -= 1;
                    } else if has_more {
                        self.put_in(state)?;
                        self.tell_of_more(state)?;
                    }
                }
            }
        }
        let Some(together) = &mut state.together else { return Ok(()) };
        let session = self.session.as_deref_mut().ok_or_else(|| internal("engine in use"))?;
        together.finish(session, &mut *self.context, &mut state.changes)
    }

    /// Inserts a row whose given values are there.
    fn insert_computed(&mut self, insert: &'a Insert, state: &mut Inserter<'a>, row: &[Value]) -> Result<()> {
        self.tick()?;
        state.row_no += 1;
        let told = self.context.warning_total();
        let computed = self.source_row(state, row).and_then(|()| self.expression_values(state, false));
        self.unless_before(state, told, computed)?;
        for (at, slot) in &insert.source_slots {
            self.frame[*slot as usize] = row[*at as usize].clone();
        }
        self.insert_row(state, Way::Together, told)?;
        state.left_out += u64::from(std::mem::take(&mut state.refused));
        state.counter.row_done();
        Ok(())
    }

    /// Before the first row goes in: the AUTO-INC lock, where the mode asks for it.
    fn lock_counter(&mut self, state: &mut Inserter<'a>) -> Result<()> {
        if state.auto_column.is_none() {
            return Ok(());
        }
        let session = self.session.as_deref_mut().ok_or_else(|| internal("engine in use"))?;
        state.counter.begin(state.entry, session, &*self.context)
    }

    /// Computes the new row of a VALUES list.
    fn values_row(&mut self, state: &mut Inserter<'a>, given: &'a [Option<planner::expr::Expr>]) -> Result<()> {
        let def = &state.entry.def;
        let first = state.insert.new_slots;
        state.values.clear();
        // Values may read columns to their left: fill the slots with defaults first where expressions are present.
        let plain = is_plain(given);
        if !plain {
            for (i, c) in def.columns.iter().enumerate() {
                let v = match &c.default {
                    catalog::DefaultValue::Constant(v) => v.clone(),
                    catalog::DefaultValue::None if !c.ty.nullable => types::implicit_default(&c.ty),
                    _ => Value::Null,
                };
                self.set(first + i as u32, v);
            }
        }
        state.values.resize(def.columns.len(), Value::Null);
        // In the order of the statement: an expression reads what was given before it, and of several that are wrong the first is told.
        for nth in 0..def.columns.len() {
            let i = state.insert.nth_column(nth);
            let column = &def.columns[i];
            let value = match &state.insert.columns[i] {
                InsertColumn::Source(at) => match given.get(*at as usize) {
                    Some(Some(e)) => {
                        let v = self.eval(e)?;
                        if v.is_null() && Some(i) == state.auto_column {
                            v
                        } else {
                            self.store_value(v, column, state.row_no).map_err(|e| with_table(e, &def.name))?
                        }
                    }
                    // DEFAULT, or `VALUES ()`.
                    _ if Some(i) == state.auto_column => Value::Null,
                    _ => self.default_value(column, true)?,
                },
                InsertColumn::Default if Some(i) == state.auto_column => Value::Null,
                // That a column has no default is told once.
                InsertColumn::Default => self.default_value(column, state.row_no == 1)?,
            };
            if !plain {
                self.set(first + i as u32, value.clone());
            }
            state.values[i] = value;
        }
        Ok(())
    }

    fn source_row(&mut self, state: &mut Inserter<'a>, row: &[Value]) -> Result<()> {
        let def = &state.entry.def;
        let source = match &state.insert.source {
            InsertSource::Query(query) => Some(&query.output),
            _ => None,
        };
        state.values.clear();
        state.values.resize(def.columns.len(), Value::Null);
        for nth in 0..def.columns.len() {
            let i = state.insert.nth_column(nth);
            let column = &def.columns[i];
            let value = match &state.insert.columns[i] {
                InsertColumn::Source(at) => match row.get(*at as usize) {
                    Some(v) if v.is_null() && Some(i) == state.auto_column => Value::Null,
                    Some(v) => match source.and_then(|of| same_no_member(v, &of[*at as usize].ty, &column.ty)) {
                        Some(same) => same,
                        None => self.store_value(v.clone(), column, state.row_no).map_err(|e| with_table(e, &def.name))?,
                    },
                    None => self.default_value(column, true)?,
                },
                InsertColumn::Default if Some(i) == state.auto_column => Value::Null,
                // That a column has no default is told once.
                InsertColumn::Default => self.default_value(column, state.row_no == 1)?,
            };
            state.values[i] = value;
        }
        Ok(())
    }

    /// Gives the AUTO_INCREMENT column its value; returns it when it was generated.
    fn auto_increment(&mut self, state: &mut Inserter<'a>) -> Result<Option<u64>> {
        let Some(at) = state.auto_column else { return Ok(None) };
        let generated = state.counter.generate(state.entry, at, &state.values[at], &*self.context)?;
        Ok(generated.map(|(id, value)| {
            state.values[at] = value;
            id
        }))
    }

    /// Computes what the table's definition says of the row.
    fn expression_values(&mut self, state: &mut Inserter<'a>, all_missing: bool) -> Result<()> {
        let Some(rules) = &state.insert.rules else { return Ok(()) };
        let (def, columns) = (&state.entry.def, &state.insert.columns);
        let is_missing = |at: usize| all_missing || matches!(columns[at], InsertColumn::Default);
        self.expression_defaults(rules, def, &mut state.values, state.row_no, is_missing)?;
        self.generated_columns(rules, def, &mut state.values, state.row_no)
    }

    /// Locks the rows that the new one refers to; `false` where one is not there and IGNORE leaves the row out, whose number (`generated`) is then the next one's.
    fn has_parents(&mut self, state: &mut Inserter<'a>, generated: Option<u64>) -> Result<bool> {
        if self.keys_of(state.insert.table).is_none_or(|keys| keys.parents.is_empty()) {
            return Ok(true);
        }
        let mark = self.engine()?.savepoint();
        let checked = self.check_parents(state.insert.table, &state.values);
        let there = self.unless_ignored(state.insert.ignore, mark, checked)?.is_some();
        if let (false, Some(id)) = (there, generated) {
            state.counter.not_inserted(state.entry, id);
        }
        Ok(there)
    }

    /// `told`: how many conditions there were before the row was computed.
    fn insert_row(&mut self, state: &mut Inserter<'a>, way: Way, told: u32) -> Result<()> {
        // What is refused here has taken no number, as in MySQL 9.7: the next row gets it. The number itself no CHECK may read.
        if let Some(rules) = &state.insert.rules {
            let asked = self.ask_checks(rules, &state.values);
            match self.unless_before(state, told, asked) {
                Err(Error::Sql(error)) if state.insert.ignore && crate::change::rules::is_ignorable(&error) => {
                    self.warn(error.code, error.message);
                    state.refused = true;
                    return Ok(());
                }
                asked => asked?,
            }
        }
        let child = Child { plan: self.plan, table: state.insert.table };
        let numbered_reference = self.keys_of(child.table).is_some_and(|keys| child.refers_by_number(keys));
        if !numbered_reference {
            let there = self.has_parents(state, None);
            if !self.unless_before(state, told, there)? {
                return Ok(());
            }
        }
        if let (Some(together), Some(at)) = (&state.together, state.auto_column)
            && together.must_be_in(&state.counter, &state.values[at], &*self.context)
        {
            self.put_in_ahead(state, told)?;
        }
        let generated = self.auto_increment(state);
        let generated = self.unless_before(state, told, generated)?;
        let entry = state.entry;
        if state.together.is_some() {
            // The value of a row that IGNORE leaves out is the next one's: that is to be known before.
            let by_itself = way == Way::Alone || state.insert.ignore && generated.is_some();
            if !by_itself && self.gather(state, generated, told)? {
                return Ok(());
            }
            self.put_in_ahead(state, told)?;
        }
        let changes = state.insert.replace || !state.insert.on_duplicate.is_empty();
        let duplicate = if changes { OnDuplicate::Change } else { OnDuplicate::Report };
        if numbered_reference && !self.has_parents(state, generated)? {
            return Ok(());
        }
        loop {
            state.row.clear();
            entry.storage.layout().encode(&state.values, &mut state.row).map_err(|e| internal(&format!("{e:?}")))?;
            let session = self.session.as_deref_mut().ok_or_else(|| internal("engine in use"))?;
            match session.insert_or(duplicate, &entry.storage, &mut state.row) {
                Ok(()) => {
                    state.changes.affected += 1;
                    state.changes.row_id = state.auto_column.and_then(|at| id_of(&state.values[at]));
                    if let Some(id) = generated
                        && state.changes.generated_id.is_none()
                    {
                        state.changes.generated_id = Some(id);
                    }
                    return Ok(());
                }
                Err(engine::Error::DuplicateKey { index_no }) => {
                    if state.insert.replace {
                        if self.replace_row((state.insert, entry), index_no, &state.values, &mut state.changes)? {
                            return Ok(());
                        }
                        continue;
                    }
                    let changed =
                        if state.insert.on_duplicate.is_empty() { Ok(None) } else { self.update_duplicate(state, index_no).map(Some) };
                    if let Ok(Some(false)) = changed {
                        // The other row went away between the two looks.
                        continue;
                    }
                    if let Some(id) = generated {
                        state.counter.not_inserted(entry, id);
                    }
                    if changed? == Some(true) {
                        return Ok(());
                    }
                    let error = duplicate_entry(&entry.def, index_no, &state.values, &*self.context);
                    if state.insert.ignore {
                        self.warn(error.code, error.message);
                        return Ok(());
                    }
                    return Err(error.into());
                }
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Adds the row to those that wait; `false` when it is too large.
    fn gather(&mut self, state: &mut Inserter<'a>, generated: Option<u64>, told: u32) -> Result<bool> {
        state.row.clear();
        state.entry.storage.layout().encode(&state.values, &mut state.row).map_err(|e| internal(&format!("{e:?}")))?;
        self.add_encoded(state, generated, told)
    }

    /// The same for a row whose bytes are there.
    pub(super) fn add_encoded(&mut self, state: &mut Inserter<'a>, generated: Option<u64>, told: u32) -> Result<bool> {
        let Inserter { together: Some(together), row, values, auto_column, changes, .. } = state else { return Ok(false) };
        let session = self.session.as_deref_mut().ok_or_else(|| internal("engine in use"))?;
        let row_id = || auto_column.and_then(|at| id_of(&values[at]));
        if !together.add(row, row_id, told, session, &*self.context)? {
            return Ok(false);
        }
        changes.generated_id = changes.generated_id.or(generated);
        if together.is_due() {
            together.put_in(session, &mut *self.context, changes)?;
        }
        Ok(true)
    }
}

/// Whether a row is of constants and parameters alone.
fn is_plain(given: &[Option<planner::expr::Expr>]) -> bool {
    given.iter().flatten().all(|e| matches!(e.kind, planner::expr::ExprKind::Literal(_) | planner::expr::ExprKind::Param(_)))
}

/// An AUTO_INCREMENT column's value as OK packets tell it.
pub(crate) fn id_of(value: &Value) -> Option<u64> {
    match value {
        Value::Int(i) => Some(*i as u64),
        Value::UInt(u) => Some(*u),
        _ => None,
    }
}

/// Whether no column changes: the representation is the same.
pub(crate) fn same_row(a: &[Value], b: &[Value]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_value(a, b))
}

/// Whether two values of a column are the same in a row: two of a SET with an empty member may have the same text, and are not.
pub(crate) fn same_value(a: &Value, b: &Value) -> bool {
    let is_marked = |value: &Value| matches!(value, Value::Bytes(text) if text.is_marked());
    a == b && is_marked(a) == is_marked(b)
}
