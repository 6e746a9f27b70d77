//! Temporary tables: each client has one at most, which takes part in its transactions, and which nobody else sees.
//!
//! # Invariants
//! 1. In the model a temporary table is a name that no state has: what a transaction changes in it stands beside its other changes, and is taken back with them.
//!    What has been committed is the client's (`Temporary::rows`).
//! 2. Nothing of it outlives the client: after a crash no table of the dictionary, no page of the space map and no undo is left of it ([`World::check_idle`]).

use crate::ddl::{LIMITS, same_row};
use crate::planted::Plant;
use crate::read::{outcome, scan, show};
use crate::schema::{self, Row};
use crate::world::{Client, Result, Rows, Stop, Table, Transaction, World};
use catalog::{CatalogError, CopiedRows, TableDef, TableEntry};
use engine::{Direction, Error, KeyRange, Modified, Modify, Read};
use std::sync::Arc;

/// Rows of one, at most.
const ROWS_MAX: usize = 120;

/// A client's temporary table.
pub(crate) struct Temporary {
    /// In the model: names are never used again.
    pub name: String,
    pub entry: Arc<TableEntry>,
    def: Arc<TableDef>,
    /// As they are committed.
    pub rows: Rows,
}

impl Temporary {
    /// A transaction of its client commits.
    pub(crate) fn keep(&mut self, model: &Transaction) {
        self.rows = self.seen_by(model);
    }

    fn seen_by(&self, model: &Transaction) -> Rows {
        let mut rows = self.rows.clone();
        for (key, row) in model.changes_of(&self.name) {
            match row {
                Some(row) => rows.insert(key.clone(), Arc::clone(row)),
                None => rows.remove(key),
            };
        }
        rows
    }

    /// As checks of rows want it.
    fn table(&self) -> Table {
        Table { def: Arc::clone(&self.def), rows: Arc::default(), defined_at: 0, counter_min: 1 }
    }
}

impl World {
    /// Something with the client's temporary table, within its transaction; `false` when this transaction has nothing to do with one.
    pub(crate) fn temporary_statement(&mut self, client: &mut Client) -> Result<bool> {
        if client.txn.as_ref().is_none_or(|txn| txn.idle || txn.read_only || txn.branch.is_some()) {
            return Ok(false);
        }
        client.session.statement_start();
        if client.txn.as_ref().is_some_and(|txn| txn.true_snapshot) {
            self.open_snapshot_of(client)?;
        }
        if client.txn.is_none() {
            return Ok(true);
        }
        if client.temporary.is_none() {
            self.make_temporary(client)?;
            return Ok(true);
        }
        let mark = client.txn.as_ref().map_or(0, |txn| txn.model.savepoint());
        match self.random.below(20) {
            0 => return self.drop_temporary(client).map(|()| true),
            1..12 => {
                for _ in 0..*self.random.one_of(&[1, 1, 3, 20]) {
                    self.insert_temporary(client)?;
                }
            }
            12..17 => self.modify_temporary(client)?,
            _ => self.read_temporary(client)?,
        }
        if client.txn.is_some() && self.random.percent(10) {
            self.statement_rollback(client, mark)?;
        }
        Ok(true)
    }

    /// The same outside a transaction: ALTER, DROP.
    pub(crate) fn temporary_between(&mut self, client: &mut Client) -> Result<()> {
        match client.temporary {
            None => self.make_temporary(client),
            Some(_) if self.random.percent(50) => self.copy_temporary(client),
            Some(_) => self.drop_temporary(client),
        }
    }

    /// Sessions end, or die with theirs.
    pub(crate) fn end_temporary(&mut self) -> Result<()> {
        for no in 0..self.options.sessions {
            let mut client = self.live().clients[no].take().expect("put back after each step");
            let ended = self.drop_temporary(&mut client);
            self.live().clients[no] = Some(client);
            ended?;
        }
        Ok(())
    }

    fn named(&mut self, entry: Arc<TableEntry>, rows: Rows) -> Temporary {
        self.temporary_made += 1;
        let def = Arc::new(entry.def.clone());
        Temporary { name: format!("#{}", self.temporary_made), entry, def, rows }
    }

    fn make_temporary(&mut self, client: &mut Client) -> Result<()> {
        let mut def = schema::table(&mut self.random, &self.options, "#temporary");
        while def.has_hidden_key() {
            def = schema::table(&mut self.random, &self.options, "#temporary");
        }
        def.columns[0].auto_increment = false;
        let made = self.live().catalog.temporary_table(def);
        self.trace.line(format!("c{} creates a temporary table: {}", client.no, told(&made)));
        match made {
            Ok(entry) => {
                self.count("temporary tables");
                client.temporary = Some(self.named(entry, Rows::new()));
                Ok(())
            }
            // What is left of its trees goes at the next start.
            Err(error) => self.excuse_catalog(&error, "create a temporary table"),
        }
    }

    fn copy_temporary(&mut self, client: &mut Client) -> Result<()> {
        let Some(temporary) = client.temporary.take() else { return Ok(()) };
        let mut def = temporary.entry.def.clone();
        def.indexes.truncate(1 + self.random.below(def.indexes.len()));
        let catalog = Arc::clone(&self.live().catalog);
        let rows = CopiedRows { convert: same_row(&temporary.entry), keeps_key: self.random.percent(50) };
        let made = catalog.copy_temporary(&client.session, &temporary.entry, def, rows, LIMITS);
        self.trace.line(format!("c{} copies its temporary table: {}", client.no, told(&made)));
        match made {
            Ok(entry) => {
                let copy = self.named(entry, temporary.rows.clone());
                client.temporary = Some(temporary);
                self.drop_temporary(client)?;
                client.temporary = Some(copy);
                self.count("temporary tables copied");
                Ok(())
            }
            Err(error) => {
                client.temporary = Some(temporary);
                self.excuse_catalog(&error, "copy a temporary table")?;
                Err(Stop::Restart("a temporary table was copied in part".into()))
            }
        }
    }

    /// DROP TEMPORARY TABLE, which does not end the transaction: what that has written to the table needs neither to be taken back nor purged.
    fn drop_temporary(&mut self, client: &mut Client) -> Result<()> {
        let Some(temporary) = client.temporary.take() else { return Ok(()) };
        let freed = self.live().catalog.free_temporary(&temporary.entry);
        self.trace.line(format!("c{} drops its temporary table: {}", client.no, told(&freed)));
        match freed {
            Ok(()) => Ok(()),
            Err(error) => {
                self.excuse_catalog(&error, "drop a temporary table")?;
                Err(Stop::Restart("a temporary table was dropped in part".into()))
            }
        }
    }

    /// The table as the running transaction has it.
    fn seen(client: &Client) -> Option<(String, Arc<TableEntry>, Table, Rows)> {
        let (temporary, txn) = (client.temporary.as_ref()?, client.txn.as_ref()?);
        Some((temporary.name.clone(), Arc::clone(&temporary.entry), temporary.table(), temporary.seen_by(&txn.model)))
    }

    /// An error: nobody else is there, so it is a fault's.
    fn failed(&mut self, client: &mut Client, error: &Error, doing: &str) -> Result<()> {
        self.excuse(error, doing)?;
        self.give_up(client)
    }

    fn note(client: &mut Client, name: &str, key: &[u8], row: Option<Row>) {
        if let Some(txn) = &mut client.txn {
            txn.model.write(name, key, row);
        }
    }

    fn insert_temporary(&mut self, client: &mut Client) -> Result<()> {
        let Some((name, entry, table, rows)) = Self::seen(client) else { return Ok(()) };
        if rows.len() >= ROWS_MAX {
            return Ok(());
        }
        let row = schema::row(&mut self.random, &self.options, &table.def);
        let mut bytes = Vec::new();
        if let Err(error) = entry.storage.layout().encode(&row, &mut bytes) {
            return Err(Stop::Violation(format!("{name}: encode {}: {error:?}", show(&row))));
        }
        let result = client.session.insert(&entry.storage, &mut bytes);
        self.trace.line(format!("c{} insert {name} {}: {}", client.no, show(&row), outcome(&result)));
        match result {
            Ok(()) => {
                self.count("rows of temporary tables");
                let key = schema::encode(&table.def, &table.def.indexes[0].parts, &row);
                self.check_no_rival(client, &name, &table, &rows, &key, &row, None)?;
                Self::note(client, &name, &key, Some(Arc::new(row)));
                Ok(())
            }
            Err(Error::DuplicateKey { index_no }) => self.check_duplicate(&table, &rows, index_no, &row, None, &name),
            Err(error) => self.failed(client, &error, "insert into a temporary table"),
        }
    }

    fn modify_temporary(&mut self, client: &mut Client) -> Result<()> {
        let Some((name, entry, table, rows)) = Self::seen(client) else { return Ok(()) };
        if rows.is_empty() {
            return Ok(());
        }
        let (key, old) = rows.iter().nth(self.random.below(rows.len())).map(|(key, row)| (key.clone(), Arc::clone(row))).expect("counted");
        let new_row = self.random.percent(70).then(|| self.changed_row(&name, &key, &table, &old));
        let mut wrong = None;
        let result = client.session.modify(&entry.storage, &key, |row, out| {
            if crate::read::values(row).as_ref() != Ok(&*old) {
                wrong = Some("another row");
            }
            match &new_row {
                Some(new_row) if entry.storage.layout().encode(new_row, out).is_ok() => Modify::Replace,
                Some(_) => Modify::Keep,
                None => Modify::Delete,
            }
        });
        self.trace.line(format!(
            "c{} modify {name} {key:02x?} {}: {}",
            client.no,
            new_row.as_deref().map_or(String::new(), show),
            outcome(&result)
        ));
        if let Some(wrong) = wrong {
            return Err(Stop::Violation(format!("modify of {name} {key:02x?} saw {wrong}")));
        }
        match (result, new_row) {
            (Ok(Modified::Deleted), None) => {
                Self::note(client, &name, &key, None);
                Ok(())
            }
            (Ok(Modified::Replaced), Some(row)) => {
                let new_key = self.key_of(&table, &key, &row);
                self.check_no_rival(client, &name, &table, &rows, &new_key, &row, Some(&key))?;
                if new_key != key {
                    Self::note(client, &name, &key, None);
                }
                Self::note(client, &name, &new_key, Some(Arc::new(row)));
                Ok(())
            }
            (Err(Error::DuplicateKey { index_no }), Some(row)) => self.check_duplicate(&table, &rows, index_no, &row, Some(&key), &name),
            (Err(error), _) => self.failed(client, &error, "modify a temporary table"),
            (Ok(modified), _) => Err(Stop::Violation(format!("modify of {name} {key:02x?}: {modified:?}"))),
        }
    }

    fn read_temporary(&mut self, client: &mut Client) -> Result<()> {
        let Some((name, entry, table, rows)) = Self::seen(client) else { return Ok(()) };
        let index_no = self.random.below(table.def.indexes.len());
        self.open_snapshot_of(client)?;
        let found = scan(&mut client.session, &entry, index_no, KeyRange::all(), Direction::Forward, Read::Snapshot, usize::MAX, false);
        self.trace.line(format!("c{} scan {name}.{index_no}: {}", client.no, outcome(&found)));
        let found = match found {
            Ok(found) => found,
            Err(error) => return self.failed(client, &error, "read a temporary table"),
        };
        let expected = crate::read::in_order(&table, index_no, &rows);
        let same = expected.len() == found.len() && expected.iter().zip(&found).all(|((_, key, row), (k, r))| *key == k && ***row == *r);
        match same {
            true => Ok(()),
            false => Err(Stop::Violation(format!("{name}.{index_no}: {} rows, not the {} that it has", found.len(), expected.len()))),
        }
    }

    /// The snapshot that the engine opens at such a read, or at the first write under a true snapshot.
    fn open_snapshot_of(&mut self, client: &mut Client) -> Result<()> {
        if client.txn.as_ref().is_none_or(|txn| txn.isolation.is_per_statement() || txn.model.snapshot().is_some()) {
            return Ok(());
        }
        if let Err(error) = engine::simulation::settle_for_a_snapshot(&mut client.session) {
            return self.failed(client, &error, "settle");
        }
        let visible = self.visible();
        client.session.open_snapshot();
        if let Some(txn) = &mut client.txn {
            txn.model.open_snapshot(&visible);
        }
        Ok(())
    }

    /// Trees that belong to no table are freed, of those from before the start.
    pub(crate) fn free_orphans(&mut self) -> Result<()> {
        if self.plant == Some(Plant::TemporaryLeft) {
            return Ok(());
        }
        let (catalog, horizon) = (Arc::clone(&self.live().catalog), self.live().horizon);
        match catalog.free_orphans(horizon) {
            Ok(freed) => {
                self.count_by("trees that a crash left and a start freed", freed as u64);
                Ok(())
            }
            Err(error) => self.excuse_catalog(&error, "free orphans"),
        }
    }
}

fn told<T>(result: &std::result::Result<T, CatalogError>) -> String {
    result.as_ref().map_or_else(ToString::to_string, |_| "ok".into())
}
