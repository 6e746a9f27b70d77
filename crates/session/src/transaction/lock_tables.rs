//! LOCK TABLES and UNLOCK TABLES.
//!
//! # Invariants
//! 1. A session under LOCK TABLES uses the tables it has locked, under the names it has locked them by, and no others.
//! 2. Locks are taken in the order of the tables' names, after the transaction was committed and earlier locks were given back.
//!
//! FLUSH TABLES … WITH READ LOCK of named tables is LOCK TABLES READ of them.

use crate::client_session::ClientSession;
use crate::ddl::{FullName, full_name};
use crate::error_map::Outcome;
use base::TableId;
use catalog::{TableEntry, ViewEntry};
use engine::Remade;
use lock_manager::WaitsFor;
use lock_manager::metadata::{ExclusiveGuard, ExclusiveWait, Protects, ReadOnlyGuard, Share, TableLock};
use mysql_error::{SqlError, codes};
use parser::ast;
use planner::plan::{Body, Plan};
use std::sync::Arc;
use std::time::Instant;

/// Views that LOCK TABLES goes through.
const VIEWS_MAX: usize = 256;

/// What LOCK TABLES has locked, if it is in force. What else says that it is follows where this changes: [`ClientSession::set_locked`].
#[derive(Default)]
pub(crate) struct TableLocks(Option<Box<LockedTables>>);

impl TableLocks {
    /// Whether LOCK TABLES is in force.
    pub(crate) fn in_force(&self) -> bool {
        self.0.is_some()
    }
}

struct LockedTables {
    /// (name in statements, which table, WRITE).
    names: Vec<(String, usize, bool)>,
    tables: Vec<Locked>,
    /// Views that were named, and those that they name: they have no locks of their own.
    views: Vec<TableId>,
}

struct Locked {
    name: FullName,
    guard: Guard,
    /// WRITE under any name.
    write: bool,
}

enum Guard {
    ReadOnly(ReadOnlyGuard),
    Alone(ExclusiveGuard),
}

impl Guard {
    fn lock(&self) -> &Arc<TableLock> {
        match self {
            Guard::ReadOnly(guard) => guard.lock(),
            Guard::Alone(guard) => guard.lock(),
        }
    }
}

/// A table that LOCK TABLES WRITE has locked, while the same session's DDL has all of it.
pub(crate) struct Upgraded(Arc<TableLock>);

impl Drop for Upgraded {
    fn drop(&mut self) {
        self.0.downgrade();
    }
}

impl ClientSession {
    /// LOCK TABLES.
    pub(crate) fn lock_tables_statement(&mut self, locks: &[ast::TableLock<'_>]) -> Result<(), Outcome> {
        self.refuse_in_branch()?;
        // Temporary tables need no lock, and get none.
        let is_temporary = |lock: &&ast::TableLock<'_>| {
            let database = lock.table.schema.or(self.core.database.as_deref());
            database.is_some_and(|database| self.core.temporary_table(database, lock.table.name).is_some())
        };
        let stored: Vec<ast::TableLock<'_>> = locks.iter().filter(|lock| !is_temporary(lock)).copied().collect();
        self.lock_stored_tables(&stored)
    }

    fn lock_stored_tables(&mut self, locks: &[ast::TableLock<'_>]) -> Result<(), Outcome> {
        for (no, lock) in locks.iter().enumerate() {
            let name = lock.alias.unwrap_or(lock.table.name);
            if locks[..no].iter().any(|other| other.alias.unwrap_or(other.table.name) == name && other.table.schema == lock.table.schema) {
                return Err(codes::nonuniq_table(name).into());
            }
        }
        self.commit()?;
        self.unlock_tables();
        let mut wanted: Vec<(FullName, bool)> = Vec::new();
        let mut names = Vec::new();
        let mut views = Vec::new();
        for lock in locks {
            let database = lock.table.schema.or(self.core.database.as_deref()).unwrap_or_default();
            if crate::virtual_tables::log_of(database, lock.table.name).is_some() {
                return Err(codes::cant_lock_log_table().into());
            }
            let name = full_name(self, &lock.table)?;
            if let Some(view) = self.find_view(&name)? {
                // A view has no lock of its own: its tables are locked, by their names.
                let mut tables = Vec::new();
                self.tables_of_view(&view, &mut tables, &mut views)?;
                for name in tables {
                    if !names.iter().any(|(alias, of, _): &(String, FullName, bool)| *alias == name.table && *of == name) {
                        names.push((name.table.clone(), name.clone(), lock.write));
                    }
                    match wanted.iter_mut().find(|(other, _)| *other == name) {
                        Some((_, write)) => *write |= lock.write,
                        None => wanted.push((name, lock.write)),
                    }
                }
                continue;
            }
            self.find_table(&name)?;
            names.push((lock.alias.unwrap_or(lock.table.name).to_owned(), name.clone(), lock.write));
            match wanted.iter_mut().find(|(other, _)| *other == name) {
                Some((_, write)) => *write |= lock.write,
                None => wanted.push((name, lock.write)),
            }
        }
        wanted.sort();
        if locks.iter().any(|lock| lock.write) {
            self.announce(WaitsFor::GlobalReadLock)?;
        }
        let taken = self.take_tables_alone(wanted, names, views);
        self.server_locks.withdraw();
        taken
    }

    /// The tables that a view reads, and those of the views that it names.
    fn tables_of_view(&self, view: &ViewEntry, out: &mut Vec<FullName>, views: &mut Vec<TableId>) -> Result<(), Outcome> {
        views.push(view.def.id);
        for (database, table) in &view.def.tables {
            let name = FullName { database: database.clone(), table: table.clone() };
            if out.contains(&name) || crate::virtual_tables::database(database).is_some() {
                continue;
            }
            match self.find_view(&name)? {
                // Whether it leads back to itself is told when it is read.
                Some(below) if views.contains(&below.def.id) => {}
                Some(below) if views.len() < VIEWS_MAX => self.tables_of_view(&below, out, views)?,
                Some(_) => return Err(codes::view_invalid(&view.def.database, &view.def.name).into()),
                None if self.find_table(&name).is_ok() => out.push(name),
                None => return Err(codes::view_invalid(&view.def.database, &view.def.name).into()),
            }
        }
        Ok(())
    }

    fn take_tables_alone(
        &mut self,
        wanted: Vec<(FullName, bool)>,
        names: Vec<(String, FullName, bool)>,
        views: Vec<TableId>,
    ) -> Result<(), Outcome> {
        let deadline = self.metadata_deadline();
        let mut tables = Vec::with_capacity(wanted.len());
        for (name, write) in wanted {
            let guard = self.lock_whole_table(&name, write, deadline)?;
            tables.push(Locked { name, guard, write });
        }
        let position = |(alias, name, write): (String, FullName, bool)| {
            let at = tables.iter().position(|table| table.name == name);
            at.map(|at| (alias, at, write)).ok_or_else(|| codes::internal_error(format!("{}.{} is not locked", name.database, name.table)))
        };
        let names = names.into_iter().map(position).collect::<Result<_, _>>()?;
        self.set_locked(Some(Box::new(LockedTables { names, tables, views })));
        Ok(())
    }

    fn lock_whole_table(&self, name: &FullName, write: bool, deadline: Instant) -> Result<Guard, Outcome> {
        loop {
            let lock = Arc::clone(&self.find_table(name)?.storage.lock);
            let (wait, asker) = (ExclusiveWait::until(Some(deadline)), self.engine.asker());
            let taken = if write { lock.rows(wait, asker).map(Guard::Alone) } else { lock.read_only(wait, asker).map(Guard::ReadOnly) };
            let guard = taken.map_err(|error| self.metadata_error(error))?;
            // DDL may have replaced the table while this one waited.
            if Arc::ptr_eq(&self.find_table(name)?.storage.lock, &lock) {
                return Ok(guard);
            }
        }
    }

    /// UNLOCK TABLES: commits if tables were locked.
    pub(crate) fn unlock_tables_statement(&mut self) -> Result<(), Outcome> {
        if self.transaction.has_locked_tables() {
            self.commit()?;
            self.unlock_tables();
        }
        self.release_read_lock();
        Ok(())
    }

    /// FLUSH TABLES of some tables WITH READ LOCK.
    pub(crate) fn flush_tables_and_lock(&mut self, tables: &[ast::ObjectName<'_>]) -> Result<(), Outcome> {
        if self.transaction.has_locked_tables() {
            return Err(codes::lock_or_active_transaction().into());
        }
        let locks: Vec<ast::TableLock<'_>> =
            tables.iter().map(|table| ast::TableLock { table: *table, alias: None, write: false, local: false }).collect();
        let _shared = self.share_definitions()?;
        self.refuse_in_branch()?;
        self.lock_stored_tables(&locks)
    }

    /// Refuses FLUSH TABLES of all tables (none named) or some where LOCK TABLES forbids it.
    pub(crate) fn refuse_flush_of_locked(&self, tables: &[ast::ObjectName<'_>]) -> Result<(), Outcome> {
        let Some(locked) = &self.transaction.locked.0 else { return Ok(()) };
        if tables.is_empty() {
            return match locked.tables.iter().find(|table| !table.write) {
                Some(table) => Err(codes::table_not_locked_for_write(&table.name.table).into()),
                None => Ok(()),
            };
        }
        for table in tables {
            let name = full_name(self, table)?;
            match locked.tables.iter().find(|locked| locked.name == name) {
                None => return Err(codes::table_not_locked(&name.table).into()),
                Some(locked) if !locked.write => return Err(codes::table_not_locked_for_write(&name.table).into()),
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Gives back what LOCK TABLES has locked.
    pub(crate) fn unlock_tables(&mut self) {
        if self.transaction.locked.in_force() {
            self.set_locked(None);
        }
    }

    /// LOCK TABLES comes into force or goes; what it had locked. (There is no branch of XA then, which restricts, too.)
    fn set_locked(&mut self, locked: Option<Box<LockedTables>>) -> Option<Box<LockedTables>> {
        self.transaction.restricted = locked.is_some();
        self.core.tables_locked = locked.is_some();
        std::mem::replace(&mut self.transaction.locked.0, locked)
    }

    /// Whether the session itself is the one who has the table alone.
    pub(crate) fn has_locked(&self, lock: &Arc<TableLock>) -> bool {
        self.transaction.locked.0.as_ref().is_some_and(|locked| locked.tables.iter().any(|table| Arc::ptr_eq(table.guard.lock(), lock)))
    }

    /// Refuses a plan that uses tables which LOCK TABLES has not locked, or not for that.
    pub(crate) fn check_locked_tables(&self, plan: &Plan) -> Result<(), SqlError> {
        let Some(locked) = &self.transaction.locked.0 else { return Ok(()) };
        let mut used = vec![false; locked.names.len()];
        for (table, alias) in &plan.references {
            let entry = &plan.tables[*table as usize];
            if entry.temporary {
                continue;
            }
            let found = locked.names.iter().enumerate().position(|(no, (name, of, _))| {
                !used[no] && **name == **alias && Arc::ptr_eq(locked.tables[*of].guard.lock(), &entry.storage.lock)
            });
            let Some(no) = found else { return Err(codes::table_not_locked(alias)) };
            used[no] = true;
            if is_changed(plan, *table, alias) && !locked.names[no].2 {
                return Err(codes::table_not_locked_for_write(alias));
            }
        }
        for used in plan.views.iter().filter(|used| used.within.is_none()) {
            if !locked.views.contains(&used.view.def.id) {
                return Err(codes::table_not_locked(&used.alias));
            }
        }
        for (table, alias, _) in &plan.view_tables {
            let entry = &plan.tables[*table as usize];
            let table_of = locked.tables.iter().find(|table| Arc::ptr_eq(table.guard.lock(), &entry.storage.lock));
            match table_of {
                None => return Err(codes::table_not_locked(alias)),
                Some(locked) if !locked.write && writes_table(plan, *table) => return Err(codes::table_not_locked_for_write(alias)),
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Refuses a table that LOCK TABLES has not locked, when it is in force.
    pub(crate) fn refuse_unlocked(&self, name: &FullName) -> Result<(), SqlError> {
        match &self.transaction.locked.0 {
            Some(locked) if !locked.tables.iter().any(|table| table.name == *name) => Err(codes::table_not_locked(&name.table)),
            _ => Ok(()),
        }
    }

    /// For DDL on a table under LOCK TABLES: all of the table, when it is locked for that. `None` when LOCK TABLES is not in force.
    pub(crate) fn upgrade_for_ddl(&self, name: &FullName) -> Result<Option<Upgraded>, Outcome> {
        let Some(locked) = &self.transaction.locked.0 else { return Ok(None) };
        let table = locked.tables.iter().find(|table| table.name == *name).ok_or_else(|| codes::table_not_locked(&name.table))?;
        if !table.write {
            return Err(codes::table_not_locked_for_write(&name.table).into());
        }
        let lock = Arc::clone(table.guard.lock());
        lock.upgrade(self.engine.cancel()).map_err(|_| self.stop_error())?;
        Ok(Some(Upgraded(lock)))
    }

    /// A locked table after DDL, under the name that it has now; statements use that name from here on.
    fn find_again(
        &self,
        table: &mut Locked,
        names: &mut [(String, usize, bool)],
        no: usize,
        remade: &mut Vec<Remade>,
    ) -> Option<Arc<TableEntry>> {
        let catalog = &self.core.shared.catalog;
        let old = table.guard.lock().protects();
        if let Some(at) = remade.iter().position(|remade| Protects::Table(remade.old) == old) {
            // Whoever waits for the old one finds, once that is given back, that the new one is locked.
            table.guard = Guard::Alone(remade.swap_remove(at).guard);
        }
        if let Protects::Table(id) = table.guard.lock().protects()
            && let Ok(Some(entry)) = catalog.table_by_id(id)
        {
            for (name, _, _) in names.iter_mut().filter(|(name, of, _)| *of == no && *name == table.name.table) {
                name.clone_from(&entry.def.name);
            }
            table.name = FullName { database: entry.def.database.clone(), table: entry.def.name.clone() };
            return Some(entry);
        }
        self.find_table(&table.name).ok()
    }

    /// After DDL under LOCK TABLES: tables that are gone are locked no more, and those that took the place of others (`remade`) are locked as those were. One
    /// that cannot be locked again is not; the others are.
    pub(crate) fn relock_tables(&mut self, mut remade: Vec<Remade>) -> Result<(), Outcome> {
        let Some(mut locked) = self.set_locked(None) else { return Ok(()) };
        let deadline = self.metadata_deadline();
        let (mut kept, mut failed) = (Vec::new(), None);
        for (no, mut table) in locked.tables.drain(..).enumerate() {
            let Some(entry) = self.find_again(&mut table, &mut locked.names, no, &mut remade) else { continue };
            if Arc::ptr_eq(&entry.storage.lock, table.guard.lock()) {
                kept.push((no, table));
                continue;
            }
            match self.lock_whole_table(&table.name, table.write, deadline) {
                Ok(guard) => kept.push((no, Locked { guard, ..table })),
                Err(outcome) => failed = failed.or(Some(outcome)),
            }
        }
        locked.names.retain_mut(|(_, of, _)| match kept.iter().position(|(no, _)| no == of) {
            Some(at) => {
                *of = at;
                true
            }
            None => false,
        });
        locked.tables = kept.into_iter().map(|(_, table)| table).collect();
        self.set_locked((!locked.tables.is_empty()).then_some(locked));
        failed.map_or(Ok(()), Err)
    }
}

/// How a statement shares one of its plan's tables.
#[inline]
pub(crate) fn share_of(plan: &Plan, table: usize) -> Share {
    if plan.writes && writes_table(plan, table as u32) { Share::Write } else { Share::Read }
}

/// Whether a statement changes a table, or locks its rows against others' reads.
fn writes_table(plan: &Plan, table: u32) -> bool {
    if plan.foreign_keys.as_ref().is_some_and(|keys| keys.may_change(table)) {
        return true;
    }
    match &plan.body {
        Body::Query(_) => plan.locks_exclusively,
        Body::Insert(insert) => insert.table == table,
        Body::Update(update) => update.targets.iter().any(|target| target.table == table),
        Body::Delete(delete) => delete.targets.iter().any(|target| target.table == table),
    }
}

/// The same for a reference: an INSERT reads its own table under other names.
fn is_changed(plan: &Plan, table: u32, alias: &str) -> bool {
    match &plan.body {
        Body::Query(_) => plan.locks_exclusively,
        Body::Insert(insert) => insert.table == table && plan.tables[table as usize].def.name == *alias,
        _ => writes_table(plan, table),
    }
}
