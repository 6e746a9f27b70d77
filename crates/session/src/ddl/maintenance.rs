//! ANALYZE, CHECK, OPTIMIZE, REPAIR and CHECKSUM TABLE: a result with a few rows for each table.

use super::{FullName, full_name};
use crate::client_session::ClientSession;
use crate::error_map::Outcome;
use crate::result_columns::plain;
use catalog::{CatalogError, Change};
use mysql_error::codes;
use parser::ast::{Maintenance, TableMaintenance};
use planner::plan::OutputColumn;
use protocol::ResultSink;
use types::{Collation, ColumnType, Value};

fn columns() -> Vec<OutputColumn> {
    let text = |chars| ColumnType::varchar(chars, Collation::DEFAULT);
    vec![plain("Table", text(128)), plain("Op", text(10)), plain("Msg_type", text(10)), plain("Msg_text", text(98_304))]
}

/// Carries out a maintenance statement and writes its result.
pub(crate) fn maintain(session: &mut ClientSession, statement: &TableMaintenance<'_>, sink: &mut ResultSink<'_>) -> Result<(), Outcome> {
    if statement.histogram.is_some() {
        return Err(codes::not_supported_yet("histograms").into());
    }
    session.implicit_commit()?;
    let mut names = Vec::with_capacity(statement.tables.len());
    for table in statement.tables {
        names.push(full_name(session, table)?);
    }
    if statement.kind == Maintenance::Checksum {
        return Err(codes::not_supported_yet("CHECKSUM TABLE").into());
    }
    let mut rows = Vec::new();
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
        match maintain_one(session, name, statement.kind, &mut say) {
            Ok(()) => {}
            Err(outcome) if outcome.error.code == 1317 => return Err(outcome),
            Err(outcome) => {
                say("Error", outcome.error.message);
                say("status", "Operation failed".into());
            }
        }
    }
    session.send_rows(&columns(), &rows, sink);
    Ok(())
}

fn maintain_one(
    session: &mut ClientSession,
    name: &FullName,
    kind: Maintenance,
    say: &mut impl FnMut(&str, String),
) -> Result<(), Outcome> {
    session.refuse_unlocked(name)?;
    let entry = match session.shared().catalog.table(&name.database, &name.table) {
        Ok(entry) => entry,
        Err(CatalogError::UnknownDatabase(_)) => return Err(codes::no_such_table(&name.database, &name.table).into()),
        Err(error) => return Err(session.catalog_error(error)),
    };
    match kind {
        // Statistics are read from the trees when a statement is planned; none are kept that could be old.
        Maintenance::Analyze => say("status", "OK".into()),
        Maintenance::Check => {
            drop(entry);
            check(session, name, say)?;
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

fn check(session: &mut ClientSession, name: &FullName, say: &mut impl FnMut(&str, String)) -> Result<(), Outcome> {
    let table = session.lock_table(name)?;
    match session.engine.engine().check_table(&table.entry.storage) {
        Ok(_) => say("status", "OK".into()),
        Err(error) => {
            say("Error", error.to_string());
            say("error", "Corrupt".into());
        }
    }
    Ok(())
}

/// Writes all rows into new trees.
fn rebuild(session: &mut ClientSession, name: &FullName) -> Result<(), Outcome> {
    let table = session.lock_table(name)?;
    let mut new = table.entry.def.clone();
    super::create_table::forget_history(&mut new);
    for index in &mut new.indexes {
        (index.id, index.root) = (base::IndexId::NONE, base::PageNo::NONE);
    }
    let target = new.clone();
    let from: Vec<Option<usize>> = (0..new.columns.len()).map(Some).collect();
    let zone = session.core.settings.zone.clone();
    let mode = session.core.settings.sql_mode;
    let mut converter = super::convert::RowConverter::new(&table.entry.def, &target, &from, mode, &*zone, 0);
    let catalog = session.shared().catalog.clone();
    let changed = {
        let mut convert = |row: record::RowRef<'_>, out: &mut Vec<u8>| converter.convert(row, out);
        catalog.alter_table(&mut session.engine, &table.entry, new, Change::Copy(&mut convert))
    };
    changed.map_err(|error| converter.explain(session.catalog_error(error)))
}
