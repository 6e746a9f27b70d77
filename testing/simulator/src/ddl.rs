//! DDL through the catalogue: each operation is there as a whole or not at all.

use crate::schema;
use crate::world::{Result, Rows, State, Stop, Table, World};
use catalog::{CatalogError, Change, ColumnDef, CopiedRows, DefaultValue, RowVersions, TableDef, TableEntry};
use engine::BuildLimits;
use std::collections::BTreeSet;
use std::sync::Arc;
use types::{ColumnType, Value};

/// What the copy of a table may take.
pub(crate) const LIMITS: BuildLimits = BuildLimits { changed_bytes_max: 1 << 20, sort_bytes_max: 1 << 20, directory: None };

/// A row of another table with the same columns.
pub(crate) fn same_row(entry: &TableEntry) -> Box<catalog::Convert<'static>> {
    let target = entry.storage.layout().clone();
    let damaged = |what: &str| CatalogError::Damaged(what.to_owned());
    Box::new(move |row: record::RowRef<'_>, out: &mut Vec<u8>| {
        let mut values = Vec::new();
        row.values(&mut values).map_err(|_| damaged("a row that cannot be decoded"))?;
        target.encode(&values, out).map_err(|_| damaged("a row that cannot be encoded"))
    })
}

impl World {
    /// One random operation, if there is a table that nobody uses.
    pub(crate) fn ddl(&mut self) -> Result<()> {
        let newest = self.newest();
        if newest.tables.is_empty() || (newest.tables.len() < self.options.tables && self.random.percent(50)) {
            return self.create_table();
        }
        let used = self.used_tables();
        let online = self.online_table();
        let free: Vec<String> = newest.tables.keys().filter(|name| !used.contains(*name) && online != Some(name)).cloned().collect();
        if free.is_empty() || self.abandoned {
            return Ok(());
        }
        let name = self.random.one_of(&free).clone();
        match self.random.below(14) {
            0 => self.drop_table(&name),
            1 | 2 => self.truncate_table(&name),
            3 | 4 => self.rename_table(&name),
            // Waits for what recovery has left to roll back, and nobody would do that meanwhile.
            _ if self.unfinished => Ok(()),
            5 if self.random.percent(40) => self.add_column(&name),
            5 | 6 => self.change_columns(&name),
            7..10 => self.create_index(&name),
            10 | 11 => self.alter_by_copy(&name),
            _ => self.drop_index(&name),
        }
    }

    pub(crate) fn create_table(&mut self) -> Result<()> {
        if self.options.keys {
            return self.make_family();
        }
        let name = self.new_name();
        let def = schema::table(&mut self.random, &self.options, &name);
        self.create_table_as(def)
    }

    /// CREATE TABLE of this definition.
    pub(crate) fn create_table_as(&mut self, def: TableDef) -> Result<()> {
        let name = def.name.clone();
        let mut state = self.newest().next();
        let defined_at = state.number;
        state.tables.insert(name.clone(), Table { def: Arc::new(schema::normal(&def)), rows: Arc::default(), defined_at, counter_min: 1 });
        let live = self.live();
        let result = live.catalog.create_table(&mut live.admin, def.clone()).map(drop);
        let indexes: Vec<_> = def.indexes.iter().map(|index| (&index.parts, index.unique)).collect();
        self.finish_ddl(&format!("create table {name} {indexes:?}"), state, result).map(drop)
    }

    fn new_name(&mut self) -> String {
        let newest = self.newest();
        let mut names = (0..).map(|no| format!("t{no}")).filter(|name| !newest.tables.contains_key(name));
        names.next().expect("there is a free name")
    }

    fn drop_table(&mut self, name: &str) -> Result<()> {
        let Some(entry) = self.entry(name)? else { return Ok(()) };
        let mut state = self.newest().next();
        state.tables.remove(name);
        let live = self.live();
        let result = live.catalog.drop_table(&mut live.admin, &entry);
        if self.finish_ddl(&format!("drop table {name}"), state, result)? {
            self.losers.iter_mut().for_each(|loser| loser.table_moved(name, None));
        }
        Ok(())
    }

    fn truncate_table(&mut self, name: &str) -> Result<()> {
        let Some(entry) = self.entry(name)? else { return Ok(()) };
        let mut state = self.newest().next();
        let number = state.number;
        if let Some(table) = state.tables.get_mut(name) {
            table.rows = Arc::default();
            table.defined_at = number;
            table.counter_min = 1;
        }
        let live = self.live();
        let result = live.catalog.truncate_table(&mut live.admin, &entry);
        if self.finish_ddl(&format!("truncate table {name}"), state, result)? {
            self.losers.iter_mut().for_each(|loser| loser.table_moved(name, None));
        }
        Ok(())
    }

    fn rename_table(&mut self, name: &str) -> Result<()> {
        let Some(entry) = self.entry(name)? else { return Ok(()) };
        let new_name = format!("r{}", self.newest().number);
        let mut state = self.newest().next();
        let number = state.number;
        if let Some(mut table) = state.tables.remove(name) {
            let mut def = (*table.def).clone();
            def.name = new_name.clone();
            table.def = Arc::new(def);
            table.defined_at = number;
            state.tables.insert(new_name.clone(), table);
        }
        let live = self.live();
        let mut def = entry.def.clone();
        def.name.clone_from(&new_name);
        let result = live.catalog.rename_table(&mut live.admin, &entry, def);
        if self.finish_ddl(&format!("rename table {name} to {new_name}"), state, result)? {
            self.losers.iter_mut().for_each(|loser| loser.table_moved(name, Some(&new_name)));
        }
        Ok(())
    }

    fn add_column(&mut self, name: &str) -> Result<()> {
        let Some(entry) = self.entry(name)? else { return Ok(()) };
        if entry.def.columns.len() > 8 {
            return Ok(());
        }
        let mut def = entry.def.clone();
        def.schema_version += 1;
        if !entry.def.row_versions.is_empty() {
            // As ALTER TABLE does: those that were listed once are all listed.
            let from: Vec<Option<usize>> = (0..entry.def.columns.len()).map(Some).chain([None]).collect();
            def.row_versions = RowVersions::after(&entry.def, &from);
        }
        let default = if self.random.percent(50) { Value::Int(self.random.below(100) as i64) } else { Value::Null };
        def.columns.push(ColumnDef {
            default: DefaultValue::Null,
            added_in: def.schema_version,
            instant_default: default.clone(),
            ..ColumnDef::new(format!("c{}", def.columns.len()), ColumnType::int())
        });
        let rows = |rows: &Rows| {
            let wider = |row: &schema::Row| Arc::new(row.iter().cloned().chain([default.clone()]).collect::<Vec<_>>());
            rows.iter().map(|(key, row)| (key.clone(), wider(row))).collect()
        };
        let state = self.altered(name, &def, rows);
        let live = self.live();
        let result = live.catalog.alter_table(&mut live.admin, &entry, def, Change::InPlace);
        self.finish_ddl(&format!("add column to {name}"), state, result).map(drop)
    }

    /// Drops a column, or moves one, and adds one somewhere: rows stay as they are. Of the columns that indexes may be over none goes.
    fn change_columns(&mut self, name: &str) -> Result<()> {
        let Some(entry) = self.entry(name)? else { return Ok(()) };
        let old = &entry.def;
        let mut from: Vec<Option<usize>> = (0..old.columns.len()).map(Some).collect();
        let free = schema::INDEXED_MAX;
        if from.len() > free && self.random.percent(60) {
            from.remove(self.random.between(free, from.len() - 1));
        }
        if from.len() > free + 1 && self.random.percent(30) {
            let moved = from.remove(self.random.between(free, from.len() - 1));
            from.insert(self.random.between(free, from.len()), moved);
        }
        let default = if self.random.percent(50) { Value::Int(self.random.below(100) as i64) } else { Value::Null };
        if old.columns.len() < 10 {
            from.insert(self.random.between(free, from.len()), None);
        }
        let mut def = old.clone();
        def.schema_version += 1;
        def.row_versions = RowVersions::after(old, &from);
        let added = ColumnDef {
            default: DefaultValue::Null,
            added_in: def.schema_version,
            instant_default: default.clone(),
            ..ColumnDef::new(format!("v{}", def.schema_version), ColumnType::int())
        };
        def.columns = from.iter().map(|from| from.map_or_else(|| added.clone(), |at| old.columns[at].clone())).collect();
        let changed =
            |row: &schema::Row| Arc::new(from.iter().map(|from| from.map_or_else(|| default.clone(), |at| row[at].clone())).collect());
        let rows = |rows: &Rows| rows.iter().map(|(key, row)| (key.clone(), changed(row))).collect();
        let state = self.altered(name, &def, rows);
        let live = self.live();
        let result = live.catalog.alter_table(&mut live.admin, &entry, def, Change::InPlace);
        self.count("columns changed");
        self.finish_ddl(&format!("change columns of {name}: {from:?}"), state, result).map(drop)
    }

    /// ALTER TABLE that puts every row into new trees; here only the comment changes.
    fn alter_by_copy(&mut self, name: &str) -> Result<()> {
        let Some(entry) = self.entry(name)? else { return Ok(()) };
        let mut def = entry.def.clone();
        def.comment = format!("copied in state {}", self.newest().number);
        let state = self.altered(name, &def, Rows::clone);
        // Sorted by the keys that they have, or not: to the same end.
        let keeps_key = def.has_hidden_key() || self.random.percent(50);
        let live = self.live();
        let rows = CopiedRows { convert: same_row(&entry), keeps_key };
        let begun = live.catalog.begin_copy(&entry, def, rows, LIMITS, Arc::default());
        let result = begun.and_then(|mut alter| match alter.fill(live.admin.cancel()) {
            Ok(()) => live.catalog.finish_online(&mut live.admin, &entry, alter, &[]),
            Err(error) => live.catalog.give_up(alter).and(Err(error)),
        });
        if self.finish_ddl(&format!("copy {name}"), state, result)? {
            self.losers.iter_mut().for_each(|loser| loser.table_moved(name, None));
            self.count("tables copied");
        }
        Ok(())
    }

    /// Adds a random index to a definition: whether it is unique, and its parts.
    pub(crate) fn add_index(&mut self, def: &mut TableDef) -> (bool, Vec<record::KeyPart>) {
        let mut no = def.indexes.len();
        while def.index_no(&format!("i{no}")).is_some() {
            no += 1;
        }
        let index = schema::secondary(&mut self.random, &self.options, def, format!("i{no}"));
        let told = (index.unique, index.parts.clone());
        def.indexes.push(index);
        told
    }

    fn create_index(&mut self, name: &str) -> Result<()> {
        let Some(entry) = self.entry(name)? else { return Ok(()) };
        if entry.def.indexes.len() > 4 {
            return Ok(());
        }
        let mut def = entry.def.clone();
        let (unique, parts) = self.add_index(&mut def);
        let state = self.altered(name, &def, Rows::clone);
        let live = self.live();
        let result = live.catalog.alter_table(&mut live.admin, &entry, def.clone(), Change::InPlace);
        let doing = format!("create index on {name} {parts:?} unique {unique}");
        let mut keys = BTreeSet::new();
        let newest = self.newest();
        let mut rows = newest.tables[name].rows.values().filter(|row| !schema::has_null(&parts, row));
        let has_duplicate = unique && rows.any(|row| !keys.insert(schema::encode(&def, &parts, row)));
        match result {
            Err(CatalogError::DuplicateEntry { .. }) if has_duplicate => {
                self.trace.line(format!("{doing}: duplicate"));
                Ok(())
            }
            Ok(()) if has_duplicate => Err(Stop::Violation(format!("{doing}: done in spite of duplicates"))),
            result => self.finish_ddl(&doing, state, result).map(drop),
        }
    }

    fn drop_index(&mut self, name: &str) -> Result<()> {
        let Some(entry) = self.entry(name)? else { return Ok(()) };
        if entry.def.indexes.len() < 2 {
            return Ok(());
        }
        let mut def = entry.def.clone();
        let dropped = self.random.between(1, def.indexes.len() - 1);
        def.indexes.remove(dropped);
        let state = self.altered(name, &def, Rows::clone);
        let live = self.live();
        let result = live.catalog.alter_table(&mut live.admin, &entry, def, Change::InPlace);
        self.finish_ddl(&format!("drop index {dropped} of {name}"), state, result).map(drop)
    }

    pub(crate) fn altered(&self, name: &str, def: &TableDef, rows: impl Fn(&Rows) -> Rows) -> State {
        let mut state = self.newest().next();
        let number = state.number;
        if let Some(table) = state.tables.get_mut(name) {
            table.def = Arc::new(schema::normal(def));
            table.rows = Arc::new(rows(&table.rows));
            table.defined_at = number;
        }
        state
    }

    /// Whether it was done. An operation that a fault cut off is in doubt until the next recovery.
    pub(crate) fn finish_ddl(&mut self, doing: &str, state: State, result: std::result::Result<(), CatalogError>) -> Result<bool> {
        self.former.clear();
        self.trace.line(format!("{doing}: {}", result.as_ref().map_or_else(ToString::to_string, |()| "ok".into())));
        match result {
            Ok(()) => {
                self.count("ddl");
                self.commits.acknowledge(state);
                Ok(true)
            }
            // A loser may hold rows of the dictionary.
            Err(CatalogError::Engine(engine::Error::LockWaitTimeout)) if self.unfinished => Ok(false),
            Err(error) => {
                self.commits.doubt(state);
                self.excuse_catalog(&error, doing)?;
                Err(Stop::Restart(format!("{doing}: {error}")))
            }
        }
    }
}
