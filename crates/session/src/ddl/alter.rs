//! ALTER TABLE, CREATE INDEX, DROP INDEX: the new definition (`alter/draft.rs`), what must be done to the rows for it (`alter/work.rs`), and doing it.

mod draft;
mod work;

pub(super) use draft::Draft;
pub(super) use work::{Wishes, stored_alike};

use super::convert::value_of_new_column;
use super::foreign_keys::{self, WrittenKey};
use super::online::{self, Beside, TableCopy};
use super::{DdlDone, FullName, LockedTable, check_table_name, full_name, virtual_columns};
use crate::client_session::ClientSession;
use crate::error_map::Outcome;
use catalog::{DefaultValue, RowVersions, TableDef};
use engine::format::Feature;
use engine::{Direction, Isolation, KeyRange, Read, Step};
use executor::StatementContext;
use mysql_error::{SqlError, codes};
use parser::ast::{AlterAction, AlterTable, CreateIndex, DropIndex, ObjectName};
use types::{SqlMode, TypeKind, Value};
use work::{FormatAllows, Shape, Work};

pub(super) fn create_index(session: &mut ClientSession, create: &CreateIndex<'_>) -> Result<DdlDone, Outcome> {
    run(session, &create.table, &[AlterAction::AddKey(&create.key)], Wishes { algorithm: create.algorithm, lock: create.lock })
}

pub(super) fn drop_index(session: &mut ClientSession, drop: &DropIndex<'_>) -> Result<DdlDone, Outcome> {
    run(session, &drop.table, &[dropped_index(drop)], Wishes { algorithm: drop.algorithm, lock: drop.lock })
}

/// DROP INDEX as a clause of ALTER TABLE.
pub(super) fn dropped_index<'a>(drop: &DropIndex<'a>) -> AlterAction<'a> {
    if drop.name.eq_ignore_ascii_case("PRIMARY") { AlterAction::DropPrimaryKey } else { AlterAction::DropKey(drop.name) }
}

pub(super) fn alter(session: &mut ClientSession, alter: &AlterTable<'_>) -> Result<DdlDone, Outcome> {
    run(session, &alter.name, alter.actions, Wishes { algorithm: alter.algorithm, lock: alter.lock })
}

fn run(session: &mut ClientSession, name: &ObjectName<'_>, actions: &[AlterAction<'_>], wishes: Wishes<'_>) -> Result<DdlDone, Outcome> {
    let name = full_name(session, name)?;
    let locked = session.lock_related(std::slice::from_ref(&name), |session| related(session, &name, actions))?;
    let is_it = |table: &&LockedTable| table.entry.def.database == name.database && table.entry.def.name == name.table;
    let table = locked.iter().find(is_it).ok_or_else(|| codes::no_such_table(&name.database, &name.table))?;
    let old = &table.entry.def;
    let foreign = foreign_keys::of_alter(session, &name, old, actions)?;
    let children = if table.entry.children.is_empty() { Vec::new() } else { session.children_of(&name)? };
    let mut definer = session.definer(&name.table);
    let draft = Draft::new(&mut definer, old, actions, session.core.database.as_deref());
    let warnings = std::mem::take(&mut definer.warnings);
    let mut draft = draft?;
    session.ddl_warnings(warnings);
    draft.check_primary_key(session, old, actions)?;
    check_new_name(session, &name, &draft)?;
    foreign_keys::check_dropped_columns(old, &draft.columns, &foreign, &children)?;
    let written = draft.keys.len();
    foreign_keys::place_made_keys(&draft.columns, &mut draft.keys, written, &foreign)?;
    let (new, from, warnings) = draft.finish(old, &foreign)?;
    session.ddl_warnings(warnings);
    let _names = session.take_check_names(&new, Some(old))?;
    let is_new = |key: &catalog::ForeignKeyDef| !old.foreign_keys.iter().any(|before| before.name == key.name);
    foreign_keys::check_key_columns(&new)?;
    session.check_altered(old, &new, &from, &children)?;
    session.check_new_keys(&new, is_new)?;
    if draft.new_name.is_some() {
        session.check_awaited(&new)?;
    }
    let adds_keys = new.foreign_keys.iter().any(is_new);
    let checks_rows = adds_keys && session.checks_foreign_keys();
    let allows = |feature| session.engine.engine().allows(feature).is_ok();
    let format = FormatAllows { row_versions: allows(Feature::RowVersions), computed_columns: allows(Feature::ComputedColumns) };
    let mut work = Work::new(old, &new, &from, draft.rebuild, format, session.core.settings.sql_mode);
    if wishes.algorithm == Some("COPY") {
        work.copy_all();
    }
    // What was found of rows that a new foreign key checks must stay true until it is there.
    let writers = work.lets_write && !checks_rows;
    if !work.copies {
        virtual_columns::check_wishes(wishes, &new, &from)?;
    }
    work.check_wishes(wishes, adds_keys, checks_rows, writers)?;
    if checks_rows {
        session.check_referring_rows(&table.entry, &new, &from, is_new)?;
    }
    let awaited = session.missing_parents(&new, is_new)?;
    let zero_date = refused_zero_date(session.core.settings.sql_mode, &new, &from);
    apply(session, table, new, &from, &draft, &work, &Beside { tables: &locked, lock: wishes.lock, writers, zero_date, awaited })
}

/// The tables that a change has to have alone beside its own: new parents, and those whose definitions follow when names change.
fn related(session: &ClientSession, name: &FullName, actions: &[AlterAction<'_>]) -> Result<Vec<FullName>, Outcome> {
    let mut related: Vec<FullName> = WrittenKey::of_alter(actions).map(|key| key.parent(&name.database)).collect();
    let renames =
        |action: &AlterAction<'_>| matches!(action, AlterAction::Rename(_) | AlterAction::RenameColumn(..) | AlterAction::ChangeColumn(..));
    if actions.iter().any(renames) {
        let children = session.children_of(name)?.into_iter();
        related.extend(children.map(|child| FullName { database: child.database, table: child.name }));
    }
    related.retain(|other| other != name);
    Ok(related)
}

fn check_new_name(session: &ClientSession, old: &FullName, draft: &Draft) -> Result<(), Outcome> {
    let Some((database, table)) = &draft.new_name else { return Ok(()) };
    check_table_name(table)?;
    let new = FullName { database: database.clone(), table: table.clone() };
    if &new != old && session.table_exists(&new)? {
        return Err(codes::table_exists_error(table).into());
    }
    Ok(())
}

fn apply(
    session: &mut ClientSession,
    table: &LockedTable,
    mut new: TableDef,
    from: &[Option<usize>],
    draft: &Draft,
    work: &Work,
    beside: &Beside<'_>,
) -> Result<DdlDone, Outcome> {
    let entry = &table.entry;
    let now_micros = session.core.statement_micros();
    let zone = session.core.settings.zone.clone();
    if let Some(error) = &beside.zero_date {
        let has_rows = online::has_rows(&mut session.engine, entry);
        if has_rows.map_err(|error| crate::error_map::engine_error(error, || session.stop_error()))? {
            return Err(error.clone().into());
        }
    }
    let renamed: Vec<catalog::Renamed> = new
        .columns
        .iter()
        .zip(from)
        .filter_map(|(column, from)| from.map(|at| (entry.def.columns[at].name.clone(), column.name.clone())))
        .filter(|(before, after)| before != after)
        .collect();
    let wanted_counter = match draft.options.auto_increment {
        Some(wanted) => {
            let counter = counter_for(&mut session.engine, entry, wanted);
            Some(counter.map_err(|error| crate::error_map::engine_error(error, || session.stop_error()))?)
        }
        None => None,
    };
    if !work.copies && new == entry.def && wanted_counter.is_none() {
        return Ok(DdlDone::NOTHING);
    }
    // The log says that the counter was higher: only a table with another id begins with a lower one after a crash, too.
    let is_lowered =
        entry.def.auto_increment_column().is_some() && wanted_counter.is_some_and(|wanted| wanted < entry.storage.auto_increment());
    if !work.copies && !is_lowered {
        let shape = Shape::of(&entry.def, from);
        if shape != Shape::Same {
            new.schema_version += 1;
        }
        if shape == Shape::Changed || (shape == Shape::Longer && !entry.def.row_versions.is_empty()) {
            new.row_versions = RowVersions::after(&entry.def, from);
        }
        for (column, from) in new.columns.iter_mut().zip(from) {
            (column.added_in, column.instant_default) = match from.map(|at| &entry.def.columns[at]) {
                Some(before) => (before.added_in, before.instant_default.clone()),
                None => (new.schema_version, value_of_new_column(column, now_micros, &*zone)),
            };
        }
        if let Some(counter) = wanted_counter {
            new.auto_increment_start = counter;
        }
        let name = FullName { database: new.database.clone(), table: new.name.clone() };
        online::alter_in_place(session, table, new, &renamed, beside)?;
        if let Some(counter) = wanted_counter {
            let storage = &session.find_table(&name)?.storage;
            match entry.def.auto_increment_column() {
                // Others may have had more numbers while indexes were built.
                Some(_) => storage.note_auto_increment(counter.saturating_sub(1)),
                None => storage.set_auto_increment(counter),
            }
        }
        return Ok(DdlDone::NOTHING);
    }
    let copy = TableCopy { new, from, renamed: &renamed, counter: draft.options.auto_increment };
    let rows = online::copy(session, table, copy, beside)?;
    Ok(DdlDone::of(if work.counts_rows { rows } else { 0 }))
}

/// A new NOT NULL date column without a default would hold zero dates in rows that exist: refused where the mode refuses them.
pub(super) fn check_zero_dates(mode: SqlMode, rows: u64, new: &TableDef, from: &[Option<usize>]) -> Result<(), SqlError> {
    match refused_zero_date(mode, new, from) {
        Some(error) if rows > 0 => Err(error),
        _ => Ok(()),
    }
}

/// Why such a column is refused once there are rows; `None` where nothing is.
fn refused_zero_date(mode: SqlMode, new: &TableDef, from: &[Option<usize>]) -> Option<SqlError> {
    if !mode.is_strict() || !mode.contains(SqlMode::NO_ZERO_DATE) {
        return None;
    }
    new.columns.iter().zip(from).find_map(|(column, from)| {
        let without = from.is_none() && !column.ty.nullable && column.default == DefaultValue::None;
        let (kind, zero) = match column.ty.kind {
            TypeKind::Date => ("date", "0000-00-00"),
            TypeKind::DateTime | TypeKind::Timestamp => ("datetime", "0000-00-00 00:00:00"),
            _ => return None,
        };
        let message = format!("Incorrect {kind} value: '{zero}' for column '{}' at row 1", column.name);
        without.then(|| SqlError::with_message(1292, message))
    })
}

/// The AUTO_INCREMENT counter that ALTER TABLE asks for: not below the largest value in the table.
pub(super) fn counter_for(session: &mut engine::Session, entry: &catalog::TableEntry, wanted: u64) -> engine::Result<u64> {
    let Some(column) = entry.def.auto_increment_column() else { return Ok(wanted.max(1)) };
    let Some(index_no) = entry.def.indexes.iter().position(|index| index.parts.first().is_some_and(|part| part.column == column)) else {
        return Ok(wanted.max(entry.storage.auto_increment()));
    };
    let direction = if entry.def.indexes[index_no].parts[0].descending { Direction::Forward } else { Direction::Backward };
    let mut largest = 0;
    session.begin(Isolation::ReadCommitted, true);
    let scanned = session.scan(&entry.storage, index_no, KeyRange::all(), direction, Read::Snapshot).and_then(|mut scan| {
        scan.for_each(|row, _| {
            largest = match row.value(column) {
                Ok(Value::Int(n)) => u64::try_from(n).unwrap_or(0),
                Ok(Value::UInt(n)) => n,
                _ => 0,
            };
            Step::Stop
        })
    });
    let ended = session.commit();
    scanned?;
    ended?;
    Ok(wanted.max(largest.saturating_add(1)))
}
