//! ANALYZE, CHECK, OPTIMIZE, REPAIR and CHECKSUM TABLE: a result with a few rows for each table.

use super::checksum::{RowSum, Unreadable};
use super::foreign_keys::AwaitedParents;
use super::online::{self, Beside, TableCopy};
use super::{FullName, change_definitions, computed_tables, histogram};
use crate::client_session::ClientSession;
use crate::error_map::{Outcome, Undo, engine_error};
use crate::reply::fixed_columns::{Columns, lists};
use catalog::{CatalogError, TableEntry};
use engine::{Depth, Direction, Isolation, KeyRange, Step};
use executor::StatementContext;
use lock_manager::metadata::Share;
use mysql_error::WarningLevel;
use mysql_error::codes;
use parser::ast::{Maintenance, TableMaintenance};
use protocol::ResultSink;
use std::sync::Arc;
use types::Value;

/// Findings about one table that are told one by one.
const WARNINGS_MAX: u32 = 50;

/// Carries out a maintenance statement and writes its result.
pub(crate) fn maintain(session: &mut ClientSession, statement: &TableMaintenance<'_>, sink: &mut ResultSink<'_>) -> Result<(), Outcome> {
    if let Some(change) = &statement.histogram {
        histogram::check(change)?;
    }
    // CHECKSUM TABLE is a read within the transaction; the others end it.
    match statement.kind {
        Maintenance::Checksum => session.refuse_in_ended_branch()?,
        _ => session.implicit_commit()?,
    }
    let mut names = Vec::with_capacity(statement.tables.len());
    for table in statement.tables {
        names.push(computed_tables::maintained_name(session, table, statement.kind)?);
    }
    if statement.kind == Maintenance::Checksum {
        return checksum(session, &names, statement.options.contains(&"QUICK"), sink);
    }
    if statement.kind == Maintenance::Optimize {
        super::lift_statement_limit();
    }
    let mut rows = Vec::new();
    if let Some(change) = &statement.histogram {
        let row = |table: String, kind: &str, text: String| {
            vec![Value::from(table), Value::from("histogram"), Value::from(kind), Value::from(text)]
        };
        let mut say = |table: String, kind: &str, text: String| rows.push(row(table, kind, text));
        match names.as_slice() {
            [name] if computed_tables::histogram_refusal(name).is_some() => {
                say(name.dotted(), "Error", computed_tables::histogram_refusal(name).unwrap_or_default().into());
            }
            [name] => match change_definitions(session, |session| histogram::change(session, name, change, &mut say)) {
                Ok(()) => {}
                Err(outcome) if ends_statement(&outcome) => return Err(outcome),
                // Nothing was done, whatever was said of single columns before.
                Err(outcome) => rows = vec![row(name.dotted(), "Error", outcome.error.message)],
            },
            _ => say(String::new(), "Error", "Only one table can be specified while modifying histogram statistics.".into()),
        }
        session.send_rows(&Columns::of(&[lists::TABLE_MAINTENANCE]), &rows, sink);
        return Ok(());
    }
    for name in &names {
        let op = match statement.kind {
            Maintenance::Analyze => "analyze",
            Maintenance::Check => "check",
            Maintenance::Optimize => "optimize",
            Maintenance::Repair | Maintenance::Checksum => "repair",
        };
        let mut say = |kind: &str, text: String| {
            rows.push(vec![Value::from(name.dotted()), Value::from(op), Value::from(kind), Value::from(text)]);
        };
        match maintain_one(session, name, statement.kind, statement.options, &mut say) {
            Ok(()) => {}
            Err(outcome) if ends_statement(&outcome) => return Err(outcome),
            Err(outcome) => {
                say("Error", outcome.error.message);
                say("status", "Operation failed".into());
            }
        }
    }
    session.send_rows(&Columns::of(&[lists::TABLE_MAINTENANCE]), &rows, sink);
    Ok(())
}

/// CHECKSUM TABLE: MySQL's sum over the rows that the transaction sees (`checksum.rs`), NULL for a table that there is not, and with QUICK, which only
/// tables with a kept sum have.
fn checksum(session: &mut ClientSession, names: &[FullName], quick: bool, sink: &mut ResultSink<'_>) -> Result<(), Outcome> {
    let mut rows = Vec::new();
    for name in names {
        let sum = match table_checksum(session, name, quick) {
            Ok(sum) => sum,
            Err(outcome) if ends_statement(&outcome) => return Err(outcome),
            Err(outcome) => {
                session.core.warn(outcome.error.into_warning(WarningLevel::Error));
                Value::Null
            }
        };
        rows.push(vec![Value::from(name.dotted()), sum]);
    }
    session.statement_done()?;
    session.settle()?;
    session.send_rows(&Columns::of(&[lists::CHECKSUM_TABLE]), &rows, sink);
    Ok(())
}

/// What ends the statement and does not only cost one table its answer: it was stopped, or has lost its transaction.
fn ends_statement(outcome: &Outcome) -> bool {
    outcome.is_stop() || outcome.undo == Undo::Transaction
}

fn table_checksum(session: &mut ClientSession, name: &FullName, quick: bool) -> Result<Value, Outcome> {
    if let Some(answered) = computed_tables::checksum(name) {
        return answered.map(|()| Value::Null);
    }
    if !session.find_named(name).is_ok_and(|entry| entry.temporary) {
        session.refuse_unlocked(name)?;
    }
    session.find_named(name)?;
    if quick {
        return Ok(Value::Null);
    }
    session.ensure_transaction();
    let entry = share_table(session, name)?;
    let mut sum = RowSum::new(&entry.def);
    session.engine.statement_start();
    let read = session.engine.plain_read();
    let mut unreadable = None;
    let scanned = session.engine.scan(&entry.storage, 0, KeyRange::all(), Direction::Forward, read).and_then(|mut scan| {
        loop {
            let more = scan.for_each(|row, _| match sum.add(row) {
                Ok(()) => Step::Continue,
                Err(error) => {
                    unreadable = Some(error);
                    Step::Stop
                }
            })?;
            // A locking read comes back before it waits: there is more then.
            if !more || unreadable.is_some() {
                return Ok(());
            }
        }
    });
    scanned.map_err(|error| engine_error(error, || session.stop_error()))?;
    match unreadable {
        None => Ok(Value::Int(i64::from(sum.sum()))),
        Some(Unreadable) => {
            if let Some(failure) = executor::take_failure() {
                return Err(failure.into());
            }
            let error = engine::Error::Corruption { page: base::PageNo::NONE, what: format!("a row of {} cannot be read", name.dotted()) };
            Err(engine_error(error, || session.stop_error()))
        }
    }
}

/// Takes a table as a reading statement does, until the transaction ends.
pub(super) fn share_table(session: &mut ClientSession, name: &FullName) -> Result<Arc<TableEntry>, Outcome> {
    loop {
        let entry = session.find_named(name)?;
        session.use_table(&entry, Share::Read)?;
        // DDL may have replaced the table while this waited.
        let found = session.find_named(name)?;
        if Arc::ptr_eq(&found.storage, &entry.storage) {
            return Ok(found);
        }
    }
}

fn maintain_one(
    session: &mut ClientSession,
    name: &FullName,
    kind: Maintenance,
    options: &[&str],
    say: &mut impl FnMut(&str, String),
) -> Result<(), Outcome> {
    if let Some(answered) = computed_tables::maintain(name, kind, options, say) {
        return answered;
    }
    if session.core.temporary_table(&name.database, &name.table).is_some() {
        return maintain_temporary(session, name, kind, options, say);
    }
    session.refuse_unlocked(name)?;
    if let Some(view) = session.find_view(name)? {
        if kind != Maintenance::Check {
            return Err(codes::wrong_object(&name.database, &name.table, "BASE TABLE").into());
        }
        match crate::show::view_columns(session.shared(), &view) {
            Ok(_) => say("status", "OK".into()),
            Err(error) => {
                say("Error", error.message);
                say("error", "Corrupt".into());
            }
        }
        return Ok(());
    }
    let entry = match session.shared().catalog.table(&name.database, &name.table) {
        Ok(entry) => entry,
        Err(CatalogError::UnknownDatabase(_)) => return Err(codes::no_such_table(&name.database, &name.table).into()),
        Err(error) => return Err(session.catalog_error(error)),
    };
    // As MySQL's, which may write what it finds into the dictionary.
    let _shared = match kind {
        Maintenance::Analyze | Maintenance::Check | Maintenance::Repair => Some(session.share_definitions()?),
        Maintenance::Optimize | Maintenance::Checksum => None,
    };
    match kind {
        // Statistics are read from the trees when a statement is planned; only histograms, and for a moment samples of rows, are kept, and could be old.
        Maintenance::Analyze => {
            session.shared().samples.forget(entry.def.id);
            drop(entry);
            histogram::update(session, name)?;
            say("status", "OK".into());
        }
        Maintenance::Check => {
            drop(entry);
            check(session, name, options, say)?;
        }
        Maintenance::Optimize => {
            drop(entry);
            super::change_definitions(session, |session| rebuild(session, name))?;
            say("note", "Table does not support optimize, doing recreate + analyze instead".into());
            say("status", "OK".into());
        }
        Maintenance::Repair | Maintenance::Checksum => say("note", "The storage engine for the table doesn't support repair".into()),
    }
    Ok(())
}

/// The same for a temporary table, which nobody else has a say in.
fn maintain_temporary(
    session: &mut ClientSession,
    name: &FullName,
    kind: Maintenance,
    options: &[&str],
    say: &mut impl FnMut(&str, String),
) -> Result<(), Outcome> {
    match kind {
        Maintenance::Analyze => say("status", "OK".into()),
        Maintenance::Check => check(session, name, options, say)?,
        Maintenance::Optimize => {
            super::temporary::rebuild(session, name)?;
            say("note", "Table does not support optimize, doing recreate + analyze instead".into());
            say("status", "OK".into());
        }
        Maintenance::Repair | Maintenance::Checksum => say("note", "The storage engine for the table doesn't support repair".into()),
    }
    Ok(())
}

/// CHECK TABLE. QUICK looks at each tree by itself; the others compare rows and entries, too: there is nothing that would make a table not need it.
/// Others may write meanwhile: it looks at what one snapshot sees.
fn check(session: &mut ClientSession, name: &FullName, options: &[&str], say: &mut impl FnMut(&str, String)) -> Result<(), Outcome> {
    // The statement has ended the transaction that was; this one is for the check alone, whatever the session's level.
    session.engine.begin(Isolation::RepeatableRead, true);
    let checked = share_table(session, name).and_then(|entry| check_shared(session, &entry, options, say));
    // What it had in its hands goes before the next table; there is nothing to be made durable or taken back.
    session.commit()?;
    checked
}

fn check_shared(
    session: &mut ClientSession,
    entry: &TableEntry,
    options: &[&str],
    say: &mut impl FnMut(&str, String),
) -> Result<(), Outcome> {
    let depth = if options.contains(&"QUICK") { Depth::Trees } else { Depth::Rows };
    let mut told = 0;
    let mut report = |index_no: usize, error: engine::Error| {
        told += 1;
        if told <= WARNINGS_MAX {
            let index = entry.def.indexes.get(index_no).map_or("", |index| index.name.as_str());
            say("Warning", format!("InnoDB: Index {index}: {error}"));
        }
    };
    let checked = session.engine.check_table(&entry.storage, depth, &mut report);
    match checked {
        Ok(()) if told == 0 => say("status", "OK".into()),
        Ok(()) => say("error", "Corrupt".into()),
        Err(error @ engine::Error::Corruption { .. }) => {
            say("Warning", format!("InnoDB: {error}"));
            say("error", "Corrupt".into());
        }
        Err(error) => {
            // What was found before stands; of the rest nothing is known.
            if told > 0 {
                say("error", "Corrupt".into());
            }
            return Err(engine_error(error, || session.stop_error()));
        }
    }
    Ok(())
}

/// Writes all rows into new trees, beside others.
fn rebuild(session: &mut ClientSession, name: &FullName) -> Result<(), Outcome> {
    let tables = [session.lock_table(name)?];
    let new = tables[0].entry.def.clone();
    let from: Vec<Option<usize>> = (0..new.columns.len()).map(Some).collect();
    let copy = TableCopy { new, from: &from, renamed: &[], counter: None };
    let beside = Beside { tables: &tables, lock: None, writers: true, zero_date: None, awaited: AwaitedParents::default() };
    online::copy(session, &tables[0], copy, &beside).map(drop)
}
