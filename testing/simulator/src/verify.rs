//! Comparing the whole database with the model: after a recovery, and when nothing runs.

use crate::read::{in_order, scan, show};
use crate::schema::{self, DATABASE, Row};
use crate::world::{Result, Rows, State, Stop, World};
use catalog::{TableDef, TableEntry};
use engine::{Direction, Isolation, KeyRange, Read, TableCheck};
use std::collections::BTreeMap;
use std::sync::Arc;
use types::Value;

type Found = BTreeMap<String, (TableDef, BTreeMap<Vec<u8>, Vec<Value>>)>;

impl World {
    /// Which of the states that the crash may have left is there. Losers are not rolled back yet: readers must not see them.
    pub(crate) fn settle(&mut self) -> Result<()> {
        let found = self.read_everything()?;
        let candidates = self.commits.candidates(self.power_lost);
        let differs = |state: &State| self.branch_difference(state).or_else(|| difference(state, &found));
        let fitting: Vec<&Arc<State>> = candidates.iter().filter(|state| differs(state).is_none()).collect();
        let Some(first) = fitting.first() else {
            let mut text = String::new();
            for state in &candidates {
                let difference = differs(state).unwrap_or_default();
                text.push_str(&format!("\n  not state {}: {difference}", state.number));
            }
            return Err(Stop::Violation(format!("after recovery the database is in none of the states that it may be in:{text}")));
        };
        // What a branch has changed nobody reads: of several whose names are those found, one has the locks.
        let state = match fitting.len() {
            1 => first,
            _ => self.locked_as_in(&fitting)?.unwrap_or(first),
        };
        // Of several states with the same contents each may be the one; their counters differ.
        let mut counters: BTreeMap<String, u64> = BTreeMap::new();
        for (name, table) in fitting.iter().flat_map(|state| &state.tables) {
            let least = counters.entry(name.clone()).or_insert(table.counter_min);
            *least = (*least).min(table.counter_min);
        }
        let was_in_doubt = self.commits.settle(Arc::clone(state));
        self.power_lost = false;
        self.commits.lower_counters(&counters);
        self.trace.line(format!("settled on state {}{}", state.number, if was_in_doubt { ", which was in doubt" } else { "" }));
        self.count(if was_in_doubt { "doubts settled as committed" } else { "recoveries" });
        Ok(())
    }

    fn read_everything(&mut self) -> Result<Found> {
        let catalog = Arc::clone(&self.live().catalog);
        let names = match catalog.table_names(DATABASE) {
            Ok(names) => names,
            Err(error) => {
                self.excuse_catalog(&error, "list tables")?;
                return Err(Stop::Restart("list tables".into()));
            }
        };
        let mut found = Found::new();
        for name in names {
            let Some(entry) = self.entry(&name)? else { return Err(Stop::Restart("open a table".into())) };
            let rows = self.read_table(&entry, 0, Direction::Forward)?;
            found.insert(name, (schema::normal(&entry.def), rows.into_iter().collect()));
        }
        Ok(found)
    }

    fn read_table(&mut self, entry: &TableEntry, index_no: usize, direction: Direction) -> Result<Vec<(Vec<u8>, Vec<Value>)>> {
        let mut session = self.engine().connect();
        session.begin(Isolation::RepeatableRead, true);
        let rows = scan(&mut session, entry, index_no, KeyRange::all(), direction, Read::Snapshot, usize::MAX, false);
        let ended = session.commit();
        match rows.and_then(|rows| ended.map(|()| rows)) {
            Ok(rows) => Ok(rows),
            Err(error) => {
                self.excuse(&error, &format!("read {}.{index_no} {direction:?}", entry.def.name))?;
                Err(Stop::Restart(format!("read: {error}")))
            }
        }
    }

    /// Every index of every table shows exactly the rows that readers may see, in both directions; counters are not behind.
    pub(crate) fn check_contents(&mut self) -> Result<()> {
        let visible = self.visible();
        self.check_references(&visible)?;
        for (name, table) in &visible.tables {
            let Some(entry) = self.entry(name)? else { return Ok(()) };
            let counter = entry.storage.auto_increment();
            if table.def.auto_increment_column().is_some() && counter < table.counter_min {
                return Err(Stop::Violation(format!("{name}: AUTO_INCREMENT is {counter} after {} was used", table.counter_min - 1)));
            }
            for index_no in 0..table.def.indexes.len() {
                for direction in [Direction::Forward, Direction::Backward] {
                    let mut expected = in_order(table, index_no, &table.rows);
                    if direction == Direction::Backward {
                        expected.reverse();
                    }
                    let found = self.read_table(&entry, index_no, direction)?;
                    let wrong = expected.iter().zip(&found).find(|((_, key, row), (k, r))| *key != k || ***row != *r);
                    if let Some(((_, key, row), (found_key, found_row))) = wrong {
                        return Err(Stop::Violation(format!(
                            "{name}.{index_no} {direction:?}: {found_key:02x?} {} where {key:02x?} {} is",
                            show(found_row),
                            show(row)
                        )));
                    }
                    if expected.len() != found.len() {
                        let (expected, found) = (expected.len(), found.len());
                        return Err(Stop::Violation(format!("{name}.{index_no} {direction:?}: {found} rows where {expected} are")));
                    }
                }
            }
        }
        Ok(())
    }

    /// With nothing running: purge leaves no garbage, every page is reached, no undo is kept.
    pub(crate) fn check_idle(&mut self) -> Result<()> {
        self.engine().purge_all();
        self.check_warnings()?;
        self.free_orphans()?;
        self.check_tables()?;
        let engine = Arc::clone(self.engine());
        let (undo, history) = (engine.undo_live_bytes(), engine.history_length());
        if undo != 0 || history != 0 {
            return Err(Stop::Violation(format!("idle, but {undo} bytes of undo are live and {history} transactions wait for purge")));
        }
        self.trace.line("idle check passed".into());
        self.count("idle checks");
        Ok(())
    }

    /// Rows, indexes and the space map agree.
    pub(crate) fn check_tables(&mut self) -> Result<()> {
        let engine = Arc::clone(self.engine());
        let mut known = Vec::new();
        let newest = self.newest();
        let dictionary = Arc::clone(engine.dictionary());
        let mut storages = vec![("dictionary".to_owned(), dictionary, None)];
        for (name, table) in &newest.tables {
            let Some(entry) = self.entry(name)? else { return Ok(()) };
            // What a prepared branch has inserted is stored, and nobody sees it; so is what cannot be rolled back for damage of undo, which is told.
            let all_ended = self.branches.is_empty() && engine.rollbacks_pending() == 0;
            let rows = all_ended.then_some(table.rows.len() as u64);
            storages.push((name.clone(), Arc::clone(&entry.storage), rows));
        }
        for temporary in self.live().clients.iter().flatten().filter_map(|client| client.temporary.as_ref()) {
            storages.push((temporary.name.clone(), Arc::clone(&temporary.entry.storage), Some(temporary.rows.len() as u64)));
        }
        for (name, storage, rows) in storages {
            let check = match engine.check_table(&storage) {
                Ok(check) => check,
                Err(error) => return self.excuse(&error, &format!("check {name}")),
            };
            known.extend(check.indexes.iter().map(|index| index.id));
            check_clean(&name, &check, rows, self.scarred)?;
        }
        match engine.check_counters() {
            Ok(counters) if counters.pages_owned == counters.pages_reached => known.push(counters.id),
            Ok(counters) => return Err(Stop::Violation(format!("counters: {counters:?}"))),
            Err(error) => return self.excuse(&error, "check counters"),
        }
        // The space map's own pages carry the last number.
        known.push(base::IndexId(u32::MAX));
        match engine.check_space() {
            Ok(owners) => {
                if let Some(owner) = owners.iter().find(|owner| !known.contains(owner)) {
                    return Err(Stop::Violation(format!("index {owner} owns pages and belongs to no table")));
                }
            }
            Err(error) => return self.excuse(&error, "check the space map"),
        }
        Ok(())
    }
}

fn check_clean(name: &str, check: &TableCheck, rows: Option<u64>, scarred: bool) -> Result<()> {
    if let Some(rows) = rows
        && check.rows != rows
    {
        return Err(Stop::Violation(format!("{name}: {} rows stored where {rows} are", check.rows)));
    }
    for index in &check.indexes {
        if index.entries_deleted != 0 && !scarred {
            return Err(Stop::Violation(format!("{name}: purge has left garbage: {check:?}")));
        }
        if index.pages_owned < index.pages_reached || (index.pages_owned != index.pages_reached && !scarred) {
            return Err(Stop::Violation(format!("{name}: pages leak: {check:?}")));
        }
    }
    Ok(())
}

/// What tells a state from what is there.
fn difference(state: &State, found: &Found) -> Option<String> {
    for name in state.tables.keys() {
        if !found.contains_key(name) {
            return Some(format!("table {name} is not there"));
        }
    }
    for (name, (def, rows)) in found {
        let Some(table) = state.tables.get(name) else { return Some(format!("there is a table {name}")) };
        if *def != *table.def {
            return Some(format!("{name} is defined as {def:?}, not as {:?}", table.def));
        }
        if let Some(difference) = row_difference(&table.rows, rows) {
            return Some(format!("{name}: {difference}"));
        }
    }
    None
}

fn row_difference(expected: &Rows, found: &BTreeMap<Vec<u8>, Vec<Value>>) -> Option<String> {
    let describe = |row: Option<&Row>| row.map_or("nothing".into(), |row| show(row));
    for (key, row) in found {
        if expected.get(key).is_none_or(|expected| **expected != *row) {
            return Some(format!("{key:02x?} {} where {} is", show(row), describe(expected.get(key))));
        }
    }
    expected.iter().find(|(key, _)| !found.contains_key(*key)).map(|(key, row)| format!("{key:02x?} nothing where {} is", show(row)))
}
