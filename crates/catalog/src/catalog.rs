//! The catalogue's surface for statements: looking up databases and tables, and the cache behind it.

use crate::codec;
use crate::def::{DatabaseDef, TableDef};
use crate::dictionary;
use crate::error::{CatalogError, Result};
use crate::open::table_spec;
use crate::references::{self, TableName};
use crate::view::{self, ViewEntry};
use base::{IndexId, TableId};
use engine::{Engine, Isolation, Read, Session, Table, TableSource, TableSpec};
use lock_manager::metadata::TableLock;
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use sync::atomic::{AtomicU64, Ordering};
use sync::{Mutex, Rank, RwLock};

/// A table: its definition and its storage. Immutable; DDL makes a new one.
#[derive(Debug)]
pub struct TableEntry {
    /// Definition.
    pub def: TableDef,
    /// Storage.
    pub storage: Arc<engine::Table>,
    /// The tables whose foreign keys refer to this one, in the order of their names; itself among them.
    pub children: Vec<TableName>,
    /// One session's own, in no dictionary (`temporary.rs`): nobody else finds it.
    pub temporary: bool,
}

impl TableEntry {
    /// Whether foreign keys have a say in changes of its rows.
    pub fn has_foreign_keys(&self) -> bool {
        !self.children.is_empty() || !self.def.foreign_keys.is_empty()
    }

    /// Where the AUTO_INCREMENT counter of a copy begins that goes on as this table would.
    pub fn counter_of_copy(&self) -> u64 {
        self.def.auto_increment_start.max(self.storage.auto_increment())
    }
}

type Names = HashMap<String, HashMap<String, Arc<TableEntry>>>;

/// The data dictionary of one engine.
pub struct Catalog {
    engine: Arc<Engine>,
    /// Changes with every DDL.
    version: AtomicU64,
    /// Tables by database and name.
    tables: RwLock<Names>,
    databases: RwLock<HashMap<String, Arc<DatabaseDef>>>,
    /// Times that a table was asked for by its name and had to be looked up. Relaxed.
    misses: AtomicU64,
    /// Views by database and name.
    pub(crate) views: RwLock<HashMap<String, HashMap<String, Arc<ViewEntry>>>>,
    /// Locks of the views that were looked up.
    pub(crate) view_locks: Mutex<HashMap<TableId, Arc<TableLock>>>,
    /// Reads the dictionary for lookups, so that they see what is committed whatever the caller's snapshot.
    reader: Mutex<Session>,
}

impl Catalog {
    /// The catalogue of an engine. Makes itself the engine's source of definitions.
    pub fn open(engine: &Arc<Engine>) -> Result<Arc<Catalog>> {
        let catalog = Arc::new(Catalog {
            engine: Arc::clone(engine),
            version: AtomicU64::new(1),
            tables: RwLock::with_order(Rank::Catalog, 3, HashMap::new()),
            databases: RwLock::with_order(Rank::Catalog, 4, HashMap::new()),
            misses: AtomicU64::new(0),
            views: RwLock::with_order(Rank::Catalog, 5, HashMap::new()),
            view_locks: Mutex::with_order(Rank::Catalog, 6, HashMap::new()),
            reader: Mutex::with_order(Rank::Catalog, 2, engine.connect()),
        });
        engine.set_table_source(Arc::new(Source { catalog: Arc::downgrade(&catalog) }));
        Ok(catalog)
    }

    /// The engine.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Times that a table was asked for by its name and was not in the list of open ones.
    pub fn table_misses(&self) -> u64 {
        self.misses.load(Ordering::Relaxed)
    }

    /// Changes with every DDL: what was planned under another version is to be looked at again.
    #[inline]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// A database.
    pub fn database(&self, name: &str) -> Result<Arc<DatabaseDef>> {
        if let Some(def) = self.databases.read().get(name) {
            return Ok(Arc::clone(def));
        }
        self.load(
            |session| Ok(dictionary::database(session, name, Read::Snapshot)?.map(Arc::new)),
            |def, is_current| {
                let mut databases = self.databases.write();
                if is_current() {
                    databases.insert(name.into(), Arc::clone(def));
                }
            },
        )?
        .ok_or_else(|| CatalogError::UnknownDatabase(name.into()))
    }

    /// Names of all databases, ascending.
    pub fn database_names(&self) -> Result<Vec<String>> {
        self.read_committed(|session| {
            let rows = dictionary::list(session, b"D", Read::Snapshot)?;
            rows.into_iter().map(|(name, _)| text(name)).collect()
        })
    }

    /// A table. [`CatalogError::UnknownDatabase`] when not even the database is there.
    pub fn table(&self, database: &str, name: &str) -> Result<Arc<TableEntry>> {
        if let Some(entry) = self.tables.read().get(database).and_then(|names| names.get(name)) {
            self.engine.note_table_hit(&entry.storage);
            return Ok(Arc::clone(entry));
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        self.database(database)?;
        self.load(
            |session| {
                let Some((def, storage)) = self.open_definition(session, |session| definition_of(session, database, name))? else {
                    return Ok(None);
                };
                let children = references::children(session, database, name, Read::Snapshot)?;
                Ok(Some(Arc::new(TableEntry { def, storage, children, temporary: false })))
            },
            |entry, is_current| self.publish(entry, is_current),
        )?
        .ok_or_else(|| CatalogError::UnknownTable { database: database.into(), table: name.into() })
    }

    /// A table that is open already.
    pub fn open_table(&self, database: &str, name: &str) -> Option<Arc<TableEntry>> {
        self.tables.read().get(database).and_then(|names| names.get(name)).cloned()
    }

    /// The definition of a table, without opening it; `None` when there is none.
    pub fn definition(&self, database: &str, name: &str) -> Result<Option<TableDef>> {
        self.read_committed(|session| match dictionary::table_id(session, database, name, Read::Snapshot)? {
            Some(id) => dictionary::table(session, id, Read::Snapshot),
            None => Ok(None),
        })
    }

    /// The tables that refer to one of this name by foreign keys, whether it is there or not.
    pub fn children(&self, database: &str, name: &str) -> Result<Vec<TableName>> {
        self.read_committed(|session| references::children(session, database, name, Read::Snapshot))
    }

    /// A table by its id; `None` when no committed definition has it.
    pub fn table_by_id(&self, id: TableId) -> Result<Option<Arc<TableEntry>>> {
        match self.read_committed(|session| dictionary::table(session, id, Read::Snapshot))? {
            Some(def) => self.table(&def.database, &def.name).map(Some),
            None => Ok(None),
        }
    }

    /// Names of a database's tables and views, ascending.
    pub fn table_names(&self, database: &str) -> Result<Vec<String>> {
        self.read_committed(|session| {
            let rows = dictionary::list(session, &dictionary::name_key(database, ""), Read::Snapshot)?;
            rows.into_iter().map(|(name, _)| text(name)).collect()
        })
    }

    /// Reads with `read`, and caches what it found with `keep` unless DDL came in between: `keep` asks for that under the latch of its list, by which DDL comes past it
    /// ([`Catalog::changed`]). What was read before DDL must not be found under the version behind it: plans would be taken for made behind it, over trees that are gone.
    pub(crate) fn load<T>(
        &self,
        mut read: impl FnMut(&mut Session) -> Result<Option<T>>,
        mut keep: impl FnMut(&T, &dyn Fn() -> bool),
    ) -> Result<Option<T>> {
        loop {
            let version = self.version();
            let Some(found) = self.read_committed(&mut read)? else { return Ok(None) };
            keep(&found, &|| self.version() == version);
            if self.version() == version {
                return Ok(Some(found));
            }
        }
    }

    /// Runs `read` on the newest committed state of the dictionary.
    pub(crate) fn read_committed<T>(&self, read: impl FnOnce(&mut Session) -> Result<T>) -> Result<T> {
        let mut session = self.reader.lock();
        session.begin(Isolation::ReadCommitted, true);
        let result = read(&mut session);
        session.commit()?;
        result
    }

    /// The table of the definition that `read` gives, by its session's newest snapshot.
    fn open_definition(
        &self,
        session: &mut Session,
        mut read: impl FnMut(&mut Session) -> Result<Option<TableDef>>,
    ) -> Result<Option<(TableDef, Arc<Table>)>> {
        let mut found = None;
        let storage = self.engine.open_committed(|| {
            // What is read again must not be what the snapshot from before DDL still shows.
            session.statement_start();
            found = read(session)?;
            found.as_ref().map(table_spec).transpose()
        })?;
        Ok(found.zip(storage))
    }

    fn publish(&self, entry: &Arc<TableEntry>, is_current: &dyn Fn() -> bool) {
        let mut tables = self.tables.write();
        if is_current() {
            tables.entry(entry.def.database.clone()).or_default().insert(entry.def.name.clone(), Arc::clone(entry));
        }
    }

    /// DDL has committed: plans made before are stale. Under all latches at once: who knows the new version finds nothing from before it.
    pub(crate) fn changed(&self) {
        let (mut tables, mut databases, mut views) = (self.tables.write(), self.databases.write(), self.views.write());
        self.version.fetch_add(1, Ordering::AcqRel);
        tables.clear();
        databases.clear();
        views.clear();
    }

    /// Frees trees that belong to no definition: DDL that a crash cut off. `before` is [`Catalog::orphan_horizon`] of the start, so
    /// that trees of running DDL are left alone. Returns how many trees were freed.
    pub fn free_orphans(&self, before: IndexId) -> Result<usize> {
        let mut known: Vec<IndexId> = Vec::new();
        self.for_each_definition(|bytes| {
            let def = codec::decode_table(bytes).map_err(|_| CatalogError::Damaged("table definition".into()))?;
            known.extend(def.indexes.iter().map(|index| index.id));
            Ok(true)
        })?;
        known.sort_unstable();
        let orphans = self.engine.orphan_indexes(|id| id >= before || known.binary_search(&id).is_ok())?;
        self.engine.free_index_trees(&orphans)?;
        Ok(orphans.len())
    }

    /// Database, table and name of an index; `None` when no committed definition names it. It reads all definitions: for messages that are rare.
    pub fn index_name(&self, id: IndexId) -> Result<Option<(String, String, String)>> {
        let mut found = None;
        self.for_each_definition(|bytes| {
            // A definition that cannot be read is not this one's concern.
            let Ok(def) = codec::decode_table(bytes) else { return Ok(true) };
            found =
                def.indexes.iter().find(|index| index.id == id).map(|index| (def.database.clone(), def.name.clone(), index.name.clone()));
            Ok(found.is_none())
        })?;
        Ok(found)
    }

    /// Names of the CHECK constraints of a database, with their tables.
    pub fn check_names(&self, database: &str) -> Result<Vec<(TableId, String)>> {
        let mut names = Vec::new();
        self.for_each_definition(|bytes| add_check_names(bytes, database, &mut names).map(|()| true))?;
        Ok(names)
    }

    /// Calls `f` with the bytes of each committed definition, all of one moment, until it says that it has enough. In a session of its own: those who look a table up
    /// do not wait for it, however many there are.
    fn for_each_definition(&self, mut f: impl FnMut(&[u8]) -> Result<bool>) -> Result<()> {
        let mut session = self.engine.connect();
        session.begin(Isolation::RepeatableRead, true);
        let result = dictionary::for_each(&mut session, b"T", |_, bytes| f(bytes));
        session.commit()?;
        result
    }

    /// Index ids from here on are given out after this call.
    pub fn orphan_horizon(&self) -> IndexId {
        self.engine.next_index_id()
    }
}

impl std::fmt::Debug for Catalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Catalog(version {})", self.version())
    }
}

/// The definition of a table by name; `None` when there is none, or a view of that name.
fn definition_of(session: &mut Session, database: &str, name: &str) -> Result<Option<TableDef>> {
    let Some(id) = dictionary::table_id(session, database, name, Read::Snapshot)? else { return Ok(None) };
    match dictionary::table(session, id, Read::Snapshot)? {
        None if !view::is_view(session, id)? => Err(CatalogError::Damaged(format!("table {database}.{name} has a name but no definition"))),
        def => Ok(def),
    }
}

/// Lets go of so many tables that nobody has, those that were not used for longest: under the latch by which anybody could come to have one.
fn close_unused(tables: &mut Names, count: usize) {
    let entries = tables.iter().flat_map(|(database, names)| names.iter().map(move |(name, entry)| (database, name, entry)));
    let unused = entries
        .filter(|(_, _, entry)| Arc::strong_count(entry) == 1)
        .map(|(database, name, entry)| ((database.clone(), name.clone()), Arc::clone(&entry.storage)));
    for (database, name) in Engine::least_used(unused, count) {
        tables.get_mut(&database).and_then(|names| names.remove(&name));
    }
}

/// Adds the names of a definition's CHECK constraints when it is of this database.
pub(crate) fn add_check_names(definition: &[u8], database: &str, names: &mut Vec<(TableId, String)>) -> Result<()> {
    let def = codec::decode_table(definition).map_err(|_| CatalogError::Damaged("table definition".into()))?;
    if def.database == database {
        names.extend(def.checks.into_iter().map(|check| (def.id, check.name)));
    }
    Ok(())
}

fn text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| CatalogError::Damaged("name".into()))
}

fn engine_error(error: CatalogError) -> engine::Error {
    match error {
        CatalogError::Engine(error) => error,
        other => engine::Error::Corruption { page: base::PageNo::NONE, what: other.to_string() },
    }
}

/// Definitions by id, for purge and for rollback after a restart.
struct Source {
    catalog: Weak<Catalog>,
}

impl TableSource for Source {
    fn table_spec(&self, id: TableId) -> engine::Result<Option<TableSpec>> {
        let Some(catalog) = self.catalog.upgrade() else { return Ok(None) };
        let found = catalog.read_committed(|session| match dictionary::table(session, id, Read::Snapshot)? {
            Some(def) => table_spec(&def).map(Some),
            None => Ok(None),
        });
        found.map_err(engine_error)
    }

    fn table_ids(&self) -> engine::Result<Vec<TableId>> {
        let Some(catalog) = self.catalog.upgrade() else { return Ok(Vec::new()) };
        let mut ids = Vec::new();
        let listed = catalog.for_each_definition(|bytes| {
            let def = codec::decode_table(bytes).map_err(|_| CatalogError::Damaged("table definition".into()))?;
            ids.push(def.id);
            Ok(true)
        });
        listed.map(|()| ids).map_err(engine_error)
    }

    fn let_go(&self, count: usize) {
        if let Some(catalog) = self.catalog.upgrade() {
            close_unused(&mut catalog.tables.write(), count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::EngineConfig;
    use env::{Disk, SimClock, SimDisk};

    fn start() -> (Arc<Engine>, Arc<Catalog>) {
        let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(1));
        let engine = Engine::open(disk, Arc::new(SimClock::new(0)), EngineConfig::small()).expect("an engine");
        let catalog = Catalog::open(&engine).expect("a catalogue");
        (engine, catalog)
    }

    /// A new database with a table `t`.
    fn with_table(catalog: &Catalog, ddl: &mut Session, database: &str) -> Arc<TableEntry> {
        catalog.create_database(ddl, database, types::Collation::DEFAULT).expect("a database");
        let columns = vec![crate::ColumnDef::new("id", types::ColumnType::bigint().not_null())];
        let primary = crate::IndexDef::new("PRIMARY", true, vec![record::KeyPart::ascending(0)]);
        catalog.create_table(ddl, TableDef::new(database, "t", columns, vec![primary])).expect("a table")
    }

    #[test]
    fn what_was_read_before_ddl_is_not_kept() {
        let (_engine, catalog) = start();
        let (mut reads, mut kept) = (0, Vec::new());
        let read = |_: &mut Session| {
            reads += 1;
            if reads == 1 {
                // DDL ends after the first read, before it could be kept.
                catalog.changed();
            }
            Ok(Some(reads))
        };
        let found = catalog.load(read, |found, is_current| kept.push((*found, is_current()))).expect("read");
        assert_eq!(found, Some(2));
        assert_eq!(kept, [(1, false), (2, true)]);
    }

    #[test]
    fn a_definition_that_ends_behind_its_reader_is_read_by_a_new_snapshot() {
        let (engine, catalog) = start();
        let (mut ddl, mut session) = (engine.connect(), engine.connect());
        let entry = with_table(&catalog, &mut ddl, "d");
        // As if nobody had used it for long.
        engine.close_table(entry.def.id);
        let mut reads = 0;
        session.begin(Isolation::ReadCommitted, true);
        let opened = catalog.open_definition(&mut session, |session| {
            let read = definition_of(session, "d", "t")?;
            reads += 1;
            if reads == 1 {
                assert!(read.is_some());
                catalog.drop_table(&mut ddl, &entry)?;
            }
            Ok(read)
        });
        assert!(opened.expect("read").is_none(), "a table over trees that are free");
        assert_eq!((reads, engine.open_tables().open), (2, 0));
    }

    #[test]
    fn dropping_a_database_asks_for_nothing_of_the_next_one() {
        let (engine, catalog) = start();
        let (mut ddl, mut other) = (engine.connect(), engine.connect());
        let [table, _] = ["a", "b"].map(|database| with_table(&catalog, &mut ddl, database).def.id);
        // DDL of another, in the first table of the next database.
        other.begin(Isolation::ReadCommitted, false);
        let locked = dictionary::get(&mut other, &dictionary::name_key("b", "t"), Read::Exclusive(engine::Wait::Block));
        assert!(locked.expect("read").is_some());
        ddl.set_lock_wait_timeout(std::time::Duration::ZERO);
        assert_eq!(catalog.drop_database(&mut ddl, "a", &[table]).expect("dropped"), Some(1));
    }
}
