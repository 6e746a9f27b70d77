//! Changing the dictionary: each operation is one engine transaction of the caller's session, which runs none when it calls
//! ([`Catalog::define_table`], and what `rename.rs` has, are parts of one that runs).
//!
//! # Invariants
//! 1. New trees are made first, the definition is committed second, old trees are freed last; a crash leaves orphans, never a definition
//!    without its trees.
//! 2. The caller holds the metadata lock of a table that it changes exclusively, until after the call.
//! 3. A table knows the transaction that made its trees or appended columns ([`engine::Table::defined_by`]).

use crate::catalog::{Catalog, TableEntry};
use crate::codec;
use crate::def::{DatabaseDef, TableDef, WrittenColumn, WrittenIndex};
use crate::dictionary::{self, LOCKED};
use crate::error::{CatalogError, Result};
use crate::online::OnlineAlter;
use crate::open::table_spec;
use crate::references::{self, Renamed};
use crate::row_versions;
use crate::sections;
use crate::view;
use base::{IndexId, TableId};
use engine::format::Feature;
use engine::{BuildError, BuildLimits, IndexSpec, Isolation, Session, Table, TableSpec};
use record::RowRef;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use types::Collation;

/// How long DDL waits for transactions that a crash left unfinished.
pub(crate) const RECOVERED_WAIT: Duration = Duration::from_secs(60);

/// How a table's rows get from the old definition to the new one.
pub enum Change<'a, 'c> {
    /// Rows stand: columns appended, renamed, defaults, comments; indexes added (built from the rows, in memory) or dropped.
    InPlace,
    /// The new indexes have been built, or the rows been copied into new trees, but for the last round: see [`Catalog::finish_online`].
    Built(&'a mut OnlineAlter<'c>),
}

impl Catalog {
    /// Runs `work` in a transaction of `session` and commits it, durably whatever `innodb_flush_log_at_trx_commit` says, as MySQL does; any error rolls it back.
    pub(crate) fn transaction<T>(&self, session: &mut Session, work: impl FnOnce(&mut Session) -> Result<T>) -> Result<T> {
        session.begin(Isolation::ReadCommitted, false);
        session.statement_start();
        match work(session) {
            Ok(result) => {
                session.commit_durably()?;
                Ok(result)
            }
            Err(error) => {
                session.rollback()?;
                Err(error)
            }
        }
    }

    /// CREATE DATABASE.
    pub fn create_database(&self, session: &mut Session, name: &str, collation: Collation) -> Result<()> {
        self.admit_collation(collation)?;
        let def = DatabaseDef { name: name.into(), charset: collation.charset(), collation };
        self.transaction(session, |session| {
            match dictionary::add(session, &dictionary::database_key(name), &codec::encode_database(&def))? {
                true => Ok(()),
                false => Err(CatalogError::DatabaseExists(name.into())),
            }
        })?;
        self.changed();
        Ok(())
    }

    /// ALTER DATABASE: its default collation.
    pub fn alter_database(&self, session: &mut Session, name: &str, collation: Collation) -> Result<()> {
        self.admit_collation(collation)?;
        let def = DatabaseDef { name: name.into(), charset: collation.charset(), collation };
        self.transaction(session, |session| {
            dictionary::database(session, name, LOCKED)?.ok_or_else(|| CatalogError::UnknownDatabase(name.into()))?;
            dictionary::set(session, &dictionary::database_key(name), &codec::encode_database(&def))
        })?;
        self.changed();
        Ok(())
    }

    /// DROP DATABASE with all its tables and views, whose metadata locks the caller holds: `locked` are their ids. Returns how many of them there were;
    /// `None`, with nothing done, when there is another one, which somebody may use already.
    pub fn drop_database(&self, session: &mut Session, name: &str, locked: &[TableId]) -> Result<Option<usize>> {
        let dropped = self.transaction(session, |session| {
            // Whoever adds a table shares this row until he has committed: from here on there are no more of them.
            dictionary::database(session, name, LOCKED)?.ok_or_else(|| CatalogError::UnknownDatabase(name.into()))?;
            let mut tables = Vec::new();
            for (table, id) in dictionary::list(session, &dictionary::name_key(name, ""), LOCKED)? {
                tables.push((String::from_utf8_lossy(&table).into_owned(), dictionary::id_from(&id)?));
            }
            if tables.iter().any(|(_, id)| !locked.contains(id)) {
                return Ok(None);
            }
            dictionary::remove(session, &dictionary::database_key(name))?;
            let mut dropped = Vec::new();
            let mut views = 0;
            for (table, id) in tables {
                if view::remove(session, name, &table, id)? {
                    views += 1;
                } else {
                    dropped.push(remove_table(session, name, &table, id)?);
                }
            }
            Ok(Some((dropped, views)))
        })?;
        let Some((dropped, views)) = dropped else { return Ok(None) };
        self.changed();
        for def in &dropped {
            self.free_table(def)?;
        }
        Ok(Some(dropped.len() + views))
    }

    /// Refuses what the directory's format cannot hold, and names the newest format that it needs: what came later is looked at first.
    /// What is only written and shown goes from the definition where the format has no place for it: nobody is refused a table for that.
    pub(crate) fn admit(&self, def: &mut TableDef) -> Result<()> {
        if self.engine().allows(Feature::WrittenOptions).is_err() {
            def.columns.iter_mut().for_each(|column| column.written = WrittenColumn::default());
            def.indexes.iter_mut().for_each(|index| index.written = WrittenIndex::default());
        }
        let def = &*def;
        if row_versions::older_rows_lack_generated(def) {
            self.engine().allows(Feature::ComputedColumns)?;
        }
        if !def.row_versions.is_empty() {
            self.engine().allows(Feature::RowVersions)?;
        }
        if crate::histogram::has_histograms(def) {
            self.engine().allows(Feature::Histograms)?;
        }
        self.admit_collation(def.collation)?;
        def.columns.iter().try_for_each(|column| self.admit_collation(column.ty.collation))?;
        if sections::has_sections(def) {
            self.engine().allows(Feature::DefinitionSections)?;
        }
        if def.columns.iter().any(|column| column.ty.kind == types::TypeKind::Json) {
            self.engine().allows(Feature::JsonColumns)?;
        }
        Ok(())
    }

    /// Refuses a collation that earlier formats do not know.
    fn admit_collation(&self, collation: Collation) -> Result<()> {
        if collation.is_of_first_formats() { Ok(()) } else { Ok(self.engine().allows(Feature::Collations)?) }
    }

    /// CREATE TABLE … SELECT: a table without a definition, which nobody else finds. The caller's transaction puts rows into it, then calls
    /// [`Catalog::define_table`] and commits, and [`Catalog::definitions_committed`] follows; after a rollback [`Catalog::discard_table`] does.
    pub fn undefined_table(&self, mut def: TableDef) -> Result<Arc<TableEntry>> {
        self.admit(&mut def)?;
        def.id = self.engine().allocate_table_id();
        self.make_trees(&mut def, |_| true)?;
        match table_spec(&def).and_then(|spec| Ok(self.engine().open_table(spec)?)) {
            Ok(storage) => Ok(Arc::new(TableEntry { def, storage, children: Vec::new(), temporary: false })),
            Err(error) => {
                self.free_table(&def)?;
                Err(error)
            }
        }
    }

    /// Adds the definition of a table to the transaction that runs. Last of all: what it locks of the dictionary keeps other DDL waiting.
    pub fn define_table(&self, session: &mut Session, entry: &TableEntry) -> Result<()> {
        self.add_definition(session, &entry.def)?;
        // Snapshots of others that do not see the transaction must not read the table.
        entry.storage.set_defined_by(session.txn_id());
        Ok(())
    }

    /// A transaction of the caller's that changed definitions has committed.
    pub fn definitions_committed(&self) {
        self.changed();
    }

    /// The transaction that made the table was rolled back.
    pub fn discard_table(&self, entry: &TableEntry) -> Result<()> {
        self.free_table(&entry.def)
    }

    fn add_definition(&self, session: &mut Session, def: &TableDef) -> Result<()> {
        // Locked, so that the database is not dropped meanwhile.
        dictionary::database(session, &def.database, engine::Read::Share(engine::Wait::Block))?
            .ok_or_else(|| CatalogError::UnknownDatabase(def.database.clone()))?;
        if !dictionary::add(session, &dictionary::name_key(&def.database, &def.name), &def.id.0.to_be_bytes())? {
            return Err(CatalogError::TableExists(def.name.clone()));
        }
        references::replace(session, None, Some(def))?;
        dictionary::set(session, &dictionary::table_key(def.id), &codec::encode_table(def))
    }

    /// CREATE TABLE. Ids and root pages of `def` are filled in. Returns the new table.
    pub fn create_table(&self, session: &mut Session, mut def: TableDef) -> Result<Arc<TableEntry>> {
        self.admit(&mut def)?;
        def.id = self.engine().allocate_table_id();
        self.make_trees(&mut def, |_| true)?;
        let (database, name) = (def.database.clone(), def.name.clone());
        let created = self.transaction(session, |session| {
            self.add_definition(session, &def)?;
            self.open_new(session, &def, None)
        });
        if let Err(error) = created {
            self.free_table(&def)?;
            return Err(error);
        }
        self.changed();
        self.table(&database, &name)
    }

    /// DROP TABLE.
    pub fn drop_table(&self, session: &mut Session, entry: &TableEntry) -> Result<()> {
        self.drop_tables(session, &[entry])
    }

    /// DROP TABLE of several, all or none.
    pub fn drop_tables(&self, session: &mut Session, entries: &[&TableEntry]) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        self.transaction(session, |session| {
            entries.iter().try_for_each(|TableEntry { def, .. }| remove_table(session, &def.database, &def.name, def.id).map(drop))
        })?;
        self.changed();
        entries.iter().try_for_each(|entry| self.free_table(&entry.def))
    }

    /// TRUNCATE TABLE: the same definition over new, empty trees, with a new id, its counter at the start.
    pub fn truncate_table(&self, session: &mut Session, entry: &TableEntry) -> Result<()> {
        let mut def = entry.def.clone();
        def.id = self.engine().allocate_table_id();
        def.auto_increment_start = 1;
        self.make_trees(&mut def, |_| true)?;
        let replaced = self.transaction(session, |session| {
            remove_table(session, &def.database, &def.name, entry.def.id)?;
            dictionary::set(session, &dictionary::name_key(&def.database, &def.name), &def.id.0.to_be_bytes())?;
            dictionary::set(session, &dictionary::table_key(def.id), &codec::encode_table(&def))?;
            references::replace(session, None, Some(&def))?;
            self.open_new(session, &def, Some(entry.def.id))
        });
        if let Err(error) = replaced {
            self.free_table(&def)?;
            return Err(error);
        }
        self.changed();
        self.free_table(&entry.def)
    }

    /// ALTER TABLE, CREATE INDEX, DROP INDEX: `new` replaces the definition of `entry`. Indexes of `new` without an id are built; those of the
    /// old definition that `new` does not name are freed. `new.schema_version` must have grown if columns were appended, and the table keeps its id, but for
    /// one whose rows were copied ([`Catalog::begin_copy`]): that has got a new one.
    ///
    /// Foreign keys of others, and the table's own, follow its new name.
    pub fn alter_table(&self, session: &mut Session, entry: &TableEntry, new: TableDef, change: Change<'_, '_>) -> Result<()> {
        self.alter_table_renaming(session, entry, new, change, &[])
    }

    /// [`Catalog::alter_table`] where columns get other names (`renamed`), which foreign keys follow, too.
    pub fn alter_table_renaming(
        &self,
        session: &mut Session,
        entry: &TableEntry,
        mut new: TableDef,
        change: Change<'_, '_>,
        renamed: &[Renamed],
    ) -> Result<()> {
        let ready = self.admit(&mut new).and_then(|()| Ok(self.engine().wait_for_recovered(RECOVERED_WAIT)?));
        let (is_new, copies) = match &change {
            Change::Built(alter) => (alter.is_new.clone(), alter.target.is_some()),
            Change::InPlace => {
                ready.clone()?;
                let is_new: HashSet<usize> = (0..new.indexes.len()).filter(|no| new.indexes[*no].id.is_none()).collect();
                self.make_trees(&mut new, |no| is_new.contains(&no))?;
                (is_new, false)
            }
        };
        let filled = ready.and_then(|()| match change {
            Change::InPlace => self.build(session, entry, &new, &is_new),
            Change::Built(alter) => {
                alter.finish(session.cancel())?;
                if let Some(counter) = alter.counter_of_copy(entry) {
                    new.auto_increment_start = counter;
                }
                Ok(())
            }
        });
        let committed = filled.and_then(|()| {
            self.transaction(session, |session| {
                if copies {
                    dictionary::remove(session, &dictionary::table_key(entry.def.id))?;
                }
                if (&new.database, &new.name) != (&entry.def.database, &entry.def.name) {
                    dictionary::remove(session, &dictionary::name_key(&entry.def.database, &entry.def.name))?;
                    if !dictionary::add(session, &dictionary::name_key(&new.database, &new.name), &new.id.0.to_be_bytes())? {
                        return Err(CatalogError::TableExists(new.name.clone()));
                    }
                } else if copies {
                    dictionary::set(session, &dictionary::name_key(&new.database, &new.name), &new.id.0.to_be_bytes())?;
                }
                references::rename_parent(session, &entry.def, &mut new, renamed)?;
                references::replace(session, Some(&entry.def), Some(&new))?;
                dictionary::set(session, &dictionary::table_key(new.id), &codec::encode_table(&new))?;
                if copies {
                    self.open_new(session, &new, Some(entry.def.id))?;
                }
                Ok(session.txn_id())
            })
        });
        let grows = new.schema_version != entry.def.schema_version;
        let txn = match committed {
            Ok(txn) => txn,
            Err(error) => {
                self.engine().close_table_if_copy(new.id, entry.def.id);
                self.free_trees(&new, |no| is_new.contains(&no))?;
                return Err(error);
            }
        };
        if !copies {
            let reopened = table_spec(&new).and_then(|spec| Ok(self.engine().reopen_table(spec)?));
            let table = reopened.inspect_err(|_| {
                // The definition is in force all the same: who needs the table next opens it by that.
                self.engine().close_table(new.id);
                self.changed();
            })?;
            if grows {
                table.set_defined_by(txn);
            }
            let added: HashSet<IndexId> = is_new.iter().map(|no| new.indexes[*no].id).collect();
            table.set_added_by(|id| added.contains(&id), txn);
        }
        self.changed();
        if copies {
            return self.free_table(&entry.def);
        }
        let kept: HashSet<IndexId> = new.indexes.iter().map(|i| i.id).collect();
        self.free_trees(&entry.def, |no| !kept.contains(&entry.def.indexes[no].id))
    }

    /// Opens a table whose definition the running transaction of `session` brings, before anybody else can find it: snapshots that do not
    /// see the transaction must not read it. `old`: the table that it takes the place of.
    fn open_new(&self, session: &mut Session, def: &TableDef, old: Option<TableId>) -> Result<()> {
        let table = self.engine().open_table(table_spec(def)?)?;
        table.set_defined_by(session.txn_id());
        if let Some(old) = old {
            session.note_remade(old, &table).map_err(|_| engine::Error::Killed)?;
        }
        Ok(())
    }

    /// Builds new indexes while nobody else uses the table, in memory.
    fn build(&self, session: &Session, entry: &TableEntry, new: &TableDef, is_new: &HashSet<usize>) -> Result<()> {
        if is_new.is_empty() {
            return Ok(());
        }
        let (numbers, wanted, reader) = self.wanted_indexes(new, is_new)?;
        let limits = BuildLimits { changed_bytes_max: 0, sort_bytes_max: usize::MAX, directory: None };
        let mut build = self.engine().begin_online_build(&entry.storage, reader, wanted, limits, Arc::default())?;
        let built = build.build(session.cancel()).and_then(|()| build.finish(session.cancel()));
        built.map(drop).map_err(|error| match error {
            BuildError::Duplicate { index_no, row } => duplicate(new, numbers[index_no], &row),
            error => error.into(),
        })
    }

    /// The positions of new indexes, ascending; what they are; and the rows, read by the new layouts: an index may name a column that is added in the same statement.
    pub(crate) fn wanted_indexes(&self, new: &TableDef, is_new: &HashSet<usize>) -> Result<(Vec<usize>, Vec<IndexSpec>, Arc<Table>)> {
        let numbers: Vec<usize> = (0..new.indexes.len()).filter(|no| is_new.contains(no)).collect();
        let spec = table_spec(new)?;
        let wanted = numbers.iter().map(|no| spec.indexes[*no].clone()).collect();
        let reader = self.engine().table_view(TableSpec { indexes: vec![spec.indexes[0].clone()], ..spec })?;
        Ok((numbers, wanted, reader))
    }

    /// Makes the trees of the indexes that `wanted` names by position.
    pub(crate) fn make_trees(&self, def: &mut TableDef, wanted: impl Fn(usize) -> bool) -> Result<()> {
        for no in 0..def.indexes.len() {
            if wanted(no) {
                match self.engine().create_index_tree() {
                    Ok((id, root)) => (def.indexes[no].id, def.indexes[no].root) = (id, root),
                    Err(error) => {
                        self.free_trees(def, |made| made < no && wanted(made))?;
                        return Err(error.into());
                    }
                }
            }
        }
        Ok(())
    }

    pub(crate) fn free_trees(&self, def: &TableDef, wanted: impl Fn(usize) -> bool) -> Result<()> {
        let trees = def.indexes.iter().enumerate().filter(|(no, _)| wanted(*no)).map(|(_, index)| index.id);
        Ok(self.engine().free_index_trees(&trees.collect::<Vec<_>>())?)
    }

    fn free_table(&self, def: &TableDef) -> Result<()> {
        self.engine().close_table(def.id);
        // The trees first: a counter that cannot be forgotten (a full disk) is a few bytes.
        self.free_trees(def, |_| true)?;
        if def.columns.iter().any(|column| column.auto_increment) {
            self.engine().forget_counter(def.id)?;
        }
        Ok(())
    }
}

fn remove_table(session: &mut Session, database: &str, name: &str, id: TableId) -> Result<TableDef> {
    let unknown = || CatalogError::UnknownTable { database: database.into(), table: name.into() };
    let def = dictionary::table(session, id, LOCKED)?.ok_or_else(unknown)?;
    dictionary::remove(session, &dictionary::table_key(id))?;
    references::replace(session, Some(&def), None)?;
    if dictionary::remove(session, &dictionary::name_key(database, name))? { Ok(def) } else { Err(unknown()) }
}

/// Describes two rows with one key; `row` is one of them in the new layout.
pub(crate) fn duplicate(new: &TableDef, index_no: usize, row: &[u8]) -> CatalogError {
    let index = &new.indexes[index_no];
    let key = table_spec(new)
        .ok()
        .and_then(|spec| {
            let version = record::RowHeader::read(row).ok()?.schema_version;
            let layout = spec.layouts.iter().find(|l| l.schema_version() == version)?;
            let row = RowRef::new(layout, row);
            let part_of =
                |part: &record::KeyPart| Some((row.value(part.column).ok()?, new.columns[part.column].ty.clone(), part.prefix_chars));
            index.parts.iter().map(part_of).collect::<Option<Vec<_>>>()
        })
        .unwrap_or_default();
    CatalogError::DuplicateEntry { index: format!("{}.{}", new.name, index.name), key }
}
