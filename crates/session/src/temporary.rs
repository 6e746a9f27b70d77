//! A session's temporary tables: found before the catalogue's, dropped when the session ends.
//!
//! # Invariants
//! 1. Nobody but the session knows the tables. Their metadata locks are not taken by statements, LOCK TABLES or DDL: only purge shares them.
//! 2. While a session has any, its plans are kept under a number of their own ([`Settings::temporary`](crate::context::Settings)) that changes with each CREATE, DROP and ALTER of one: no
//!    plan of another moment is found, and none of these is found by another session. Who has none pays for that with nothing.
//! 3. A transaction that has changed temporary tables only waits for no disk when it commits, and for no lock of the server: nothing of it outlives the session.
//!
//! The statements that make and change them are in `ddl/temporary.rs`; why they are stored as they are: `docs/design/temporary-tables.md`.

use crate::client_session::ClientSession;
use crate::context::Core;
use crate::error_map::Outcome;
use catalog::TableEntry;
use executor::StatementContext;
use lock_manager::metadata::Share;
use memory::{Kind, Tally};
use mysql_error::{SqlError, WarningLevel, codes};
use planner::Plan;
use planner::plan::Body;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use sync::atomic::{AtomicU64, Ordering};
use sync::{Mutex, Rank};

/// Numbers of [`Settings::temporary`](crate::context::Settings); 0 is for who has no temporary table. (Relaxed: they only differ.)
static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// The temporary tables of a session; there is at least one.
pub struct TemporaryTables {
    /// By database and name. The database need not exist any more.
    tables: HashMap<String, HashMap<String, Arc<TableEntry>>>,
    count: usize,
    /// What their definitions take.
    held: Tally,
    /// A rollback has failed that the engine tries again (a full disk, a damaged page): it may be at work in one of the tables at any time.
    unfinished: bool,
}

impl TemporaryTables {
    fn new() -> TemporaryTables {
        TemporaryTables { tables: HashMap::new(), count: 0, held: Tally::new(Kind::Temporary), unfinished: false }
    }

    fn find(&self, database: &str, name: &str) -> Option<&Arc<TableEntry>> {
        self.tables.get(database)?.get(name)
    }

    fn add(&mut self, entry: &Arc<TableEntry>) {
        self.held.add(definition_bytes(entry));
        let names = self.tables.entry(entry.def.database.clone()).or_default();
        if names.insert(entry.def.name.clone(), Arc::clone(entry)).is_none() {
            self.count += 1;
        }
    }

    fn remove(&mut self, database: &str, name: &str) -> Option<Arc<TableEntry>> {
        let names = self.tables.get_mut(database)?;
        let entry = names.remove(name)?;
        if names.is_empty() {
            self.tables.remove(database);
        }
        self.count -= 1;
        self.held.remove(definition_bytes(&entry));
        Some(entry)
    }
}

/// About what a definition and its open table take.
fn definition_bytes(entry: &TableEntry) -> usize {
    const TABLE: usize = 2048;
    const PART: usize = 512;
    TABLE + PART * (entry.def.columns.len() + entry.def.indexes.len())
}

/// The temporary tables of all sessions, for `INNODB_TEMP_TABLE_INFO`.
pub struct TemporaryList(Mutex<BTreeMap<u32, Listed>>);

/// One of them.
#[derive(Debug, Clone, Copy)]
pub struct Listed {
    /// The connection whose it is.
    pub connection: u32,
    /// Columns that were defined.
    pub columns: usize,
}

impl TemporaryList {
    /// An empty list.
    pub fn new() -> TemporaryList {
        TemporaryList(Mutex::new(Rank::Leaf, BTreeMap::new()))
    }

    /// All of them, by table id.
    pub fn all(&self) -> Vec<(u32, Listed)> {
        self.0.lock().iter().map(|(id, listed)| (*id, *listed)).collect()
    }
}

impl Default for TemporaryList {
    fn default() -> Self {
        Self::new()
    }
}

/// What a statement changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// Nothing, and it locks no row exclusively.
    Nothing,
    /// Temporary tables alone.
    Temporary,
    /// What others see.
    Stored,
}

impl Changed {
    /// What a plan changes.
    pub(crate) fn by(plan: &Plan) -> Changed {
        let is_temporary = |table: u32| plan.tables[table as usize].temporary;
        let temporary = match &plan.body {
            Body::Query(_) if !plan.locks_exclusively => return Changed::Nothing,
            // Which of its tables a query locks is not noted.
            Body::Query(_) => !plan.tables.is_empty() && plan.tables.iter().all(|table| table.temporary),
            Body::Insert(insert) => is_temporary(insert.table),
            Body::Update(update) => update.targets.iter().all(|target| is_temporary(target.table)),
            Body::Delete(delete) => delete.targets.iter().all(|target| is_temporary(target.table)),
        };
        if temporary { Changed::Temporary } else { Changed::Stored }
    }
}

impl Core {
    /// A temporary table of the session.
    #[inline]
    pub fn temporary_table(&self, database: &str, name: &str) -> Option<&Arc<TableEntry>> {
        self.temporary.as_ref()?.find(database, name)
    }
}

impl ClientSession {
    /// A statement that changes temporary tables only is about to run.
    #[cold]
    pub(crate) fn begin_temporary_change(&mut self) {
        if !self.engine.has_writes() {
            self.transaction.temporary_only = true;
        }
    }

    /// Uses a temporary table in a statement.
    #[cold]
    pub(crate) fn use_temporary(&mut self, share: Share) -> Result<(), Outcome> {
        if self.transaction.xa.is_some() {
            return Err(codes::xa_temp_table().into());
        }
        if share == Share::Write && self.engine.is_read_only() {
            self.engine.let_write_temporary();
        }
        Ok(())
    }

    /// A new temporary table.
    pub(crate) fn add_temporary(&mut self, entry: Arc<TableEntry>) {
        let listed = Listed { connection: self.connection.id(), columns: entry.def.user_columns() };
        self.shared().temporary.0.lock().insert(entry.def.id.0, listed);
        self.core.temporary.get_or_insert_with(|| Box::new(TemporaryTables::new())).add(&entry);
        self.temporary_changed();
    }

    /// A table in the place of another, maybe under another name.
    pub(crate) fn replace_temporary(&mut self, old: &TableEntry, new: Arc<TableEntry>) -> Result<(), Outcome> {
        if let Some(tables) = &mut self.core.temporary {
            tables.remove(&old.def.database, &old.def.name);
        }
        self.add_temporary(new);
        self.free_temporary(old, self.is_temporary_unfinished())
    }

    /// Forgets a temporary table. Its trees are the caller's to free.
    fn remove_temporary(&mut self, entry: &TableEntry) {
        if let Some(tables) = &mut self.core.temporary {
            tables.remove(&entry.def.database, &entry.def.name);
            if tables.count == 0 {
                self.core.temporary = None;
            }
        }
        self.temporary_changed();
    }

    /// Gives the pages of a table back that the session has forgotten.
    fn free_temporary(&self, entry: &TableEntry, unfinished: bool) -> Result<(), Outcome> {
        let catalog = &self.shared().catalog;
        // What a rollback may be at work in is left to the next start.
        let freed = if unfinished { catalog.leave_temporary(entry) } else { catalog.free_temporary(entry) };
        // Listed until its pages are free.
        self.shared().temporary.0.lock().remove(&entry.def.id.0);
        freed.map_err(|error| crate::error_map::catalog_error(error, || self.stop_error()))
    }

    /// Whether a rollback of the session's is still to be done.
    pub(crate) fn is_temporary_unfinished(&self) -> bool {
        self.core.temporary.as_ref().is_some_and(|tables| tables.unfinished)
    }

    /// A rollback has failed.
    #[cold]
    pub(crate) fn note_unfinished(&mut self) {
        if let Some(tables) = &mut self.core.temporary {
            tables.unfinished = true;
        }
    }

    /// Drops a temporary table. The running transaction goes on: what it has written to the table is gone, whatever becomes of it.
    pub(crate) fn drop_temporary(&mut self, entry: &TableEntry) -> Result<(), Outcome> {
        let unfinished = self.is_temporary_unfinished();
        self.remove_temporary(entry);
        self.free_temporary(entry, unfinished)
    }

    /// Names mean other tables from here on: no plan that was made before may be found.
    fn temporary_changed(&mut self) {
        self.core.settings.temporary = match self.core.temporary {
            Some(_) => NUMBERS.fetch_add(1, Ordering::Relaxed),
            None => 0,
        };
        self.environment = 0;
    }

    /// Drops all temporary tables: the session ends, or begins anew. Its transaction is rolled back first.
    #[cold]
    pub(crate) fn drop_all_temporary(&mut self) {
        // What cannot be taken back goes with the tables; what else fails, the engine tries again.
        let _ = self.rollback();
        while let Some(entry) =
            self.core.temporary.as_ref().and_then(|tables| tables.tables.values().flat_map(HashMap::values).next().cloned())
        {
            // Where a page cannot be read or written now, the next start frees the rest.
            let _ = self.drop_temporary(&entry);
        }
    }

    /// Says of a rollback what it could not take back.
    pub(crate) fn warn_of_lasting_tables(&mut self, lasting: Lasting) {
        let said: [(bool, fn() -> SqlError); 2] = [
            (lasting.made, codes::warning_not_complete_rollback_with_created_temp_table),
            (lasting.dropped, codes::warning_not_complete_rollback_with_dropped_temp_table),
        ];
        for (_, warning) in said.into_iter().filter(|(happened, _)| *happened) {
            self.core.warn(warning().into_warning(WarningLevel::Warning));
        }
    }
}

/// What a transaction did that its rollback leaves as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lasting {
    /// CREATE TEMPORARY TABLE.
    pub made: bool,
    /// DROP TEMPORARY TABLE.
    pub dropped: bool,
}
