//! ANALYZE TABLE … UPDATE HISTOGRAM and DROP HISTOGRAM.
//!
//! The rows are read as one snapshot sees them, beside writers; then the definition gets what was found, as by an ALTER TABLE. Where the rows are too many
//! for `histogram_generation_max_mem_size`, each has the same chance to be among those that are kept.

use super::FullName;
use super::maintenance::share_table;
use crate::client_session::ClientSession;
use crate::error_map::{Outcome, engine_error};
use crate::variables::variable;
use catalog::histogram::{BUCKETS_MAX, Histogram};
use catalog::{Change, TableDef};
use engine::{Direction, Isolation, KeyRange, Step};
use env::SplitMix64;
use executor::StatementContext;
use mysql_error::{SqlError, codes};
use parser::ast::HistogramChange;
use std::sync::Arc;
use types::{TypeKind, Value};

/// Buckets of a histogram whose statement says no number.
const BUCKETS: u32 = 100;
/// Characters of a string that are looked at.
const TEXT_CHARS: usize = 42;
/// Rows that are kept however little memory there may be.
const SAMPLE_MIN: usize = 100;

/// Who is told what of which table.
pub(super) type Say<'s> = dyn FnMut(String, &str, String) + 's;

/// Refuses what MySQL refuses before it looks at a table.
pub(super) fn check(change: &HistogramChange<'_>) -> Result<(), SqlError> {
    if change.buckets.is_some_and(|count| !(1..=u64::from(BUCKETS_MAX)).contains(&count)) {
        return Err(SqlError::with_message(1690, "Number of buckets value is out of range in 'ANALYZE TABLE'"));
    }
    for (at, name) in change.columns.iter().enumerate() {
        if change.columns[..at].iter().any(|before| before.eq_ignore_ascii_case(name)) {
            return Err(codes::dup_fieldname(name));
        }
    }
    if change.data { Err(codes::not_supported_yet("USING DATA")) } else { Ok(()) }
}

/// Makes or drops histograms of one table.
pub(super) fn change(session: &mut ClientSession, name: &FullName, change: &HistogramChange<'_>, say: &mut Say<'_>) -> Result<(), Outcome> {
    let mut refuse = |what: &str| say(name.dotted(), "Error", format!("Cannot create histogram statistics for a {what}."));
    if session.core.temporary_table(&name.database, &name.table).is_some() {
        refuse("temporary table");
        return Ok(());
    }
    session.refuse_unlocked(name)?;
    if session.find_view(name)?.is_some() {
        refuse("view");
        return Ok(());
    }
    let entry = session.find_named(name)?;
    let mut columns: Vec<&str> = change.columns.to_vec();
    columns.sort_unstable_by_key(|column| column.to_lowercase());
    let mut wanted = Vec::new();
    for column in columns {
        match if change.update { can_have(&entry.def, column) } else { has(&entry.def, column) } {
            Ok(at) => {
                let named = entry.def.columns[at].name.clone();
                let done = if change.update { "created" } else { "removed" };
                say(name.dotted(), "status", format!("Histogram statistics {done} for column '{named}'."));
                wanted.push(at);
            }
            Err(why) => say(name.dotted(), "Error", why),
        }
    }
    drop(entry);
    if wanted.is_empty() {
        return Ok(());
    }
    let asked = change.buckets.map_or(BUCKETS, |count| count as u32);
    let made = match change.update {
        true => made_of(session, name, &wanted, asked, change.auto_update.unwrap_or(false))?,
        false => wanted.iter().map(|_| None).collect(),
    };
    set(session, name, &wanted, made)
}

/// ANALYZE TABLE makes anew what is to be updated by it.
pub(super) fn update(session: &mut ClientSession, name: &FullName) -> Result<(), Outcome> {
    let entry = session.find_named(name)?;
    let of = |at: usize| entry.def.columns[at].histogram.as_ref().filter(|histogram| histogram.auto_update);
    let wanted: Vec<usize> = (0..entry.def.columns.len()).filter(|at| of(*at).is_some()).collect();
    let mut made = Vec::with_capacity(wanted.len());
    for at in &wanted {
        let asked = of(*at).map_or(BUCKETS, |histogram| histogram.buckets_asked);
        made.extend(made_of(session, name, &[*at], asked, true)?);
    }
    if wanted.is_empty() { Ok(()) } else { set(session, name, &wanted, made) }
}

fn can_have(def: &TableDef, column: &str) -> Result<usize, String> {
    let at = def.column_index(column).ok_or_else(|| format!("The column '{column}' does not exist."))?;
    let is_key = |index: &catalog::IndexDef| {
        index.unique && matches!(index.parts.as_slice(), [part] if part.column == at && part.prefix_chars.is_none())
    };
    if def.indexes.iter().any(is_key) {
        return Err(format!("The column '{}' is covered by a single-part unique index.", def.columns[at].name));
    }
    if def.columns[at].ty.kind == TypeKind::Json {
        return Err(format!("The column '{}' has an unsupported data type.", def.columns[at].name));
    }
    Ok(at)
}

fn has(def: &TableDef, column: &str) -> Result<usize, String> {
    let at = def.column_index(column).ok_or_else(|| format!("The column '{column}' does not exist."))?;
    match &def.columns[at].histogram {
        Some(_) => Ok(at),
        None => Err(format!("No histogram statistics found for column '{}'.", def.columns[at].name)),
    }
}

/// Reads the table, and makes a histogram of each of the columns.
fn made_of(
    session: &mut ClientSession,
    name: &FullName,
    columns: &[usize],
    asked: u32,
    auto_update: bool,
) -> Result<Vec<Option<Arc<Histogram>>>, Outcome> {
    let budget = session.core.number(variable!("histogram_generation_max_mem_size")) as usize;
    // The statement has ended the transaction that was; this one is for the reading alone, whatever the session's level.
    session.engine.begin(Isolation::RepeatableRead, true);
    let read = share_table(session, name).and_then(|entry| {
        let mut sample = Sample { rows: Vec::new(), rows_max: usize::MAX, budget, held: 0, seen: 0, random: SplitMix64::new(42) };
        session.engine.statement_start();
        let plain = session.engine.plain_read();
        let mut unreadable = None;
        let scanned = session.engine.scan(&entry.storage, 0, KeyRange::all(), Direction::Forward, plain).and_then(|mut scan| {
            loop {
                let more = scan.for_each(|row, _| match columns.iter().map(|at| row.value(*at)).collect() {
                    Ok(values) => match sample.add(values) {
                        true => Step::Continue,
                        false => Step::Stop,
                    },
                    Err(error) => {
                        unreadable = Some(error);
                        Step::Stop
                    }
                })?;
                if !more || sample.rows_max == 0 || unreadable.is_some() {
                    return Ok(());
                }
            }
        });
        scanned.map_err(|error| engine_error(error, || session.stop_error()))?;
        if unreadable.is_some() {
            if let Some(failure) = executor::take_failure() {
                return Err(failure.into());
            }
            let what = format!("a row of {} cannot be read", name.dotted());
            let error = engine::Error::Corruption { page: base::PageNo::NONE, what };
            return Err(engine_error(error, || session.stop_error()));
        }
        if sample.rows_max == 0 {
            return Err(session.stop_error().into());
        }
        Ok((entry, sample))
    });
    session.commit()?;
    let (entry, mut sample) = read?;
    let updated_micros = session.core.statement_micros();
    let sampling_rate = if sample.seen == 0 { 1.0 } else { sample.rows.len() as f64 / sample.seen as f64 };
    let mut made = Vec::with_capacity(columns.len());
    for (no, at) in columns.iter().enumerate() {
        let mut values = Vec::new();
        memory::reserve(&mut values, sample.rows.len()).map_err(|_| Outcome::from(session.stop_error()))?;
        let mut nulls = 0;
        for row in &mut sample.rows {
            match std::mem::take(&mut row[no]) {
                Value::Null => nulls += 1,
                value => values.push(value),
            }
        }
        let histogram = Histogram::of(&entry.def.columns[*at].ty, values, nulls, asked);
        made.push(Some(Arc::new(Histogram { updated_micros, sampling_rate, auto_update, ..histogram })));
    }
    Ok(made)
}

/// Rows that stand for all.
struct Sample {
    rows: Vec<Box<[Value]>>,
    /// So many are kept; 0 when there is no memory for more.
    rows_max: usize,
    budget: usize,
    held: usize,
    seen: u64,
    random: SplitMix64,
}

impl Sample {
    /// Takes a row, or not; false when memory has run out.
    fn add(&mut self, mut row: Box<[Value]>) -> bool {
        row.iter_mut().for_each(shorten);
        self.seen += 1;
        if self.rows.len() >= self.rows_max {
            let at = self.random.below(self.seen) as usize;
            if let Some(place) = self.rows.get_mut(at) {
                *place = row;
            }
            return true;
        }
        if memory::reserve(&mut self.rows, 1).is_err() {
            self.rows_max = 0;
            return false;
        }
        let text = |value: &Value| if let Value::Bytes(text) = value { text.len() } else { 0 };
        self.held += row.iter().map(|value| size_of::<Value>() + text(value)).sum::<usize>() + size_of::<Box<[Value]>>();
        self.rows.push(row);
        if self.held > self.budget && self.rows.len() >= SAMPLE_MIN {
            self.rows_max = self.rows.len();
        }
        true
    }
}

fn shorten(value: &mut Value) {
    let Value::Bytes(text) = value else { return };
    let end = match std::str::from_utf8(text) {
        Ok(text) => text.char_indices().nth(TEXT_CHARS).map(|(at, _)| at),
        Err(_) => Some(TEXT_CHARS).filter(|end| *end < text.len()),
    };
    if let Some(end) = end {
        *value = Value::bytes(&text[..end]);
    }
}

/// Gives columns their histograms.
fn set(session: &mut ClientSession, name: &FullName, columns: &[usize], made: Vec<Option<Arc<Histogram>>>) -> Result<(), Outcome> {
    let table = session.lock_table(name)?;
    let mut new = table.entry.def.clone();
    let names: Vec<String> = columns.iter().map(|at| table.entry.def.columns[*at].name.clone()).collect();
    for (name, histogram) in names.iter().zip(made) {
        if let Some(at) = new.column_index(name) {
            new.columns[at].histogram = histogram;
        }
    }
    let catalog = session.shared().catalog.clone();
    catalog.alter_table(&mut session.engine, &table.entry, new, Change::InPlace).map_err(|error| session.catalog_error(error))
}
