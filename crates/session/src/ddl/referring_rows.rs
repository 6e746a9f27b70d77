//! Whether the rows of a table refer to rows that are there, before ALTER TABLE gives it a foreign key.
//!
//! The caller has the table and the parent alone, so nothing changes meanwhile.

use super::FullName;
use crate::client_session::ClientSession;
use crate::error_map::{Outcome, engine_error};
use catalog::{DefaultValue, ForeignKeyDef, TableDef, TableEntry};
use engine::{Direction, Isolation, KeyRange, Read, RowBatch};
use mysql_error::codes;
use record::KeyPart;
use std::collections::HashSet;
use std::sync::Arc;
use types::Value;

const ROWS_AT_ONCE: usize = 256;

/// Where the values of a column that refers come from.
enum Source {
    Old(usize),
    New(Value),
}

impl ClientSession {
    /// 1452 when a row refers to nothing by one of the new keys of `new`. `from` tells where its columns come from.
    pub(super) fn check_referring_rows(
        &mut self,
        entry: &TableEntry,
        new: &TableDef,
        from: &[Option<usize>],
        is_new: impl Fn(&ForeignKeyDef) -> bool,
    ) -> Result<(), Outcome> {
        for key in new.foreign_keys.iter().filter(|key| is_new(key)) {
            self.engine.begin(Isolation::ReadCommitted, true);
            let checked = self.check_key_of_rows(entry, new, from, key);
            let ended = self.engine.commit().map_err(|error| engine_error(error, || self.stop_error()));
            checked?;
            ended?;
        }
        Ok(())
    }

    fn check_key_of_rows(
        &mut self,
        entry: &TableEntry,
        new: &TableDef,
        from: &[Option<usize>],
        key: &ForeignKeyDef,
    ) -> Result<(), Outcome> {
        let own = key.refers_to(&new.database, &new.name);
        let found;
        let parent: &TableEntry = if own {
            entry
        } else {
            found = self.find_table(&FullName { database: key.parent_database.clone(), table: key.parent_table.clone() })?;
            &found
        };
        let mut columns = Vec::with_capacity(key.columns.len());
        for name in &key.parent_columns {
            // Of the table itself, by the names that its columns get.
            let at = if own { new.column_index(name).and_then(|at| from[at]) } else { parent.def.column_index(name) };
            columns.push(at);
        }
        let columns: Option<Vec<usize>> = columns.into_iter().collect();
        let parts: Vec<KeyPart> = columns.iter().flatten().map(|column| KeyPart::ascending(*column)).collect();
        let index = columns.as_ref().and_then(|columns| parent.def.index_on(columns, true).or_else(|| parent.def.index_on(columns, false)));
        let present = match (index, &columns) {
            (Some(_), _) | (_, None) => HashSet::new(),
            (None, Some(columns)) => self.keys_of_rows(parent, columns, &parts)?,
        };
        let sources: Vec<Source> = key.columns.iter().map(|column| source(new, from, *column)).collect();
        let table = Arc::clone(&entry.storage);
        let failed = |error, session: &ClientSession| engine_error(error, || session.stop_error());
        let mut batch = RowBatch::default();
        let mut lookup = RowBatch::default();
        let mut state = match self.engine.scan(&table, 0, KeyRange::all(), Direction::Forward, Read::Snapshot) {
            Ok(scan) => scan.park(),
            Err(error) => return Err(failed(error, self)),
        };
        let mut last: Option<Vec<u8>> = None;
        loop {
            let mut scan = self.engine.resume(state);
            let count = scan.next_batch(&mut batch, ROWS_AT_ONCE);
            state = scan.park();
            let count = count.map_err(|error| failed(error, self))?;
            if count == 0 {
                return Ok(());
            }
            for no in 0..count {
                let row = batch.row(&table, no).map_err(|error| failed(error, self))?;
                let mut values = Vec::with_capacity(sources.len());
                for source in &sources {
                    values.push(match source {
                        Source::Old(at) => {
                            row.value(*at).map_err(|_| mysql_error::SqlError::with_message(1712, "Index is corrupted: a row"))?
                        }
                        Source::New(value) => value.clone(),
                    });
                }
                if values.iter().any(Value::is_null) {
                    continue;
                }
                let values: Vec<&Value> = values.iter().collect();
                let index_parts = index.map_or(parts.as_slice(), |no| parent.def.indexes[no].parts.as_slice());
                let wanted = executor::reference_key(&parent.def, index_parts, &values).map_err(|error| self.executor_outcome(error))?;
                let is_there = match (&wanted, index) {
                    (None, _) => false,
                    (Some(wanted), _) if last.as_ref() == Some(wanted) => true,
                    (Some(wanted), Some(index)) => {
                        let range = KeyRange::prefix(wanted);
                        let scan = self.engine.scan(&parent.storage, index, range, Direction::Forward, Read::Snapshot);
                        let found = scan.and_then(|mut scan| scan.next_batch(&mut lookup, 1));
                        found.map_err(|error| failed(error, self))? > 0
                    }
                    (Some(wanted), None) => present.contains(wanted),
                };
                if !is_there {
                    return Err(codes::no_referenced_row_2(key.described(new)).into());
                }
                last = wanted;
            }
        }
    }

    /// The keys of all rows of a table that has no index on them yet.
    fn keys_of_rows(&mut self, parent: &TableEntry, columns: &[usize], parts: &[KeyPart]) -> Result<HashSet<Vec<u8>>, Outcome> {
        let mut present = HashSet::new();
        let mut batch = RowBatch::default();
        let failed = |error, session: &ClientSession| engine_error(error, || session.stop_error());
        let mut state = match self.engine.scan(&parent.storage, 0, KeyRange::all(), Direction::Forward, Read::Snapshot) {
            Ok(scan) => scan.park(),
            Err(error) => return Err(failed(error, self)),
        };
        loop {
            let mut scan = self.engine.resume(state);
            let count = scan.next_batch(&mut batch, ROWS_AT_ONCE);
            state = scan.park();
            let count = count.map_err(|error| failed(error, self))?;
            if count == 0 {
                return Ok(present);
            }
            for no in 0..count {
                let row = batch.row(&parent.storage, no).map_err(|error| failed(error, self))?;
                let values: Result<Vec<Value>, _> = columns.iter().map(|column| row.value(*column)).collect();
                let values = values.map_err(|_| mysql_error::SqlError::with_message(1712, "Index is corrupted: a row"))?;
                let values: Vec<&Value> = values.iter().collect();
                let key = executor::reference_key(&parent.def, parts, &values).map_err(|error| self.executor_outcome(error))?;
                present.try_reserve(1).map_err(|_| codes::out_of_resources())?;
                present.extend(key);
            }
        }
    }

    fn executor_outcome(&self, error: executor::Error) -> Outcome {
        crate::error_map::executor_error(error, || self.stop_error())
    }
}

fn source(new: &TableDef, from: &[Option<usize>], column: usize) -> Source {
    match (from[column], &new.columns[column].default) {
        (Some(at), _) => Source::Old(at),
        (None, DefaultValue::Constant(value)) => Source::New(value.clone()),
        (None, _) if new.columns[column].ty.nullable => Source::New(Value::Null),
        (None, _) => Source::New(types::implicit_default(&new.columns[column].ty)),
    }
}
