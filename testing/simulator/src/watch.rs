//! What locking reads hold: as long as their transaction runs, nobody else changes a row that they have seen, and nobody brings a row to a place where they
//! have seen none. And what true snapshots promise: who changes or locks a row finds it as it was in the snapshot.
//!
//! # Invariant
//! A watch is noted only of a read that has locked what it names: one that ended, that skipped nothing, and (of ranges, and of rows that are not there) at a
//! level that locks gaps.

use crate::read::outcome;
use crate::schema::{self, Row};
use crate::world::{Client, Result, Stop, Table, World};
use engine::{KeyRange, Read, Wait};
use std::sync::Arc;

/// What a locking read holds.
pub(crate) enum Watch {
    /// A row, there or not, by its primary key.
    Row { table: String, key: Vec<u8> },
    /// All of a range of an index, by full keys.
    Range { table: String, index_no: usize, range: KeyRange },
}

/// The full key of a row in an index.
fn full_key(table: &Table, index_no: usize, key: &[u8], row: &Row) -> Vec<u8> {
    let mut full = match index_no {
        0 => Vec::new(),
        _ => schema::encode(&table.def, &table.def.indexes[index_no].parts, row),
    };
    full.extend_from_slice(key);
    full
}

/// Whether both are the same version of a row.
fn same(one: Option<&Row>, other: Option<&Row>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        _ => false,
    }
}

impl World {
    fn locks_gaps(client: &Client) -> bool {
        client.txn.as_ref().is_some_and(|txn| !txn.isolation.is_per_statement())
    }

    fn holds_all(read: Read) -> bool {
        matches!(read, Read::Share(wait) | Read::Exclusive(wait) if wait != Wait::SkipLocked)
    }

    /// A read of one row has ended.
    pub(crate) fn watch_row(&self, client: &mut Client, name: &str, key: &[u8], read: Read, is_there: bool) {
        if !Self::holds_all(read) || (!is_there && !Self::locks_gaps(client)) {
            return;
        }
        if let Some(txn) = &mut client.txn
            // Where gaps are not locked, nothing is left of an insertion that is taken back.
            && !(txn.isolation.is_per_statement() && txn.model.changed(name, key))
        {
            txn.watches.push(Watch::Row { table: name.to_owned(), key: key.to_vec() });
        }
    }

    /// A read of a range has come to its end.
    pub(crate) fn watch_range(&self, client: &mut Client, name: &str, index_no: usize, range: KeyRange, read: Read) {
        if !Self::holds_all(read) || !Self::locks_gaps(client) {
            return;
        }
        if let Some(txn) = &mut client.txn {
            txn.watches.push(Watch::Range { table: name.to_owned(), index_no, range });
        }
    }

    /// A client has changed a row: nobody else may have hold of it, as it was or as it is.
    pub(crate) fn check_watches(&self, no: usize, name: &str, key: &[u8], old: Option<&Row>, new: Option<&Row>) -> Result<()> {
        let Some(table) = self.commits.newest().tables.get(name) else { return Ok(()) };
        for txn in self.other_transactions(no) {
            for watch in &txn.watches {
                let hit = match watch {
                    Watch::Row { table, key: watched } => table == name && watched == key,
                    Watch::Range { table: watched, index_no, range } => {
                        let inside = |row: &Row| {
                            let full = full_key(table, *index_no, key, row);
                            full >= range.lower && range.below_upper(&full)
                        };
                        watched == name && (old.is_some_and(inside) || new.is_some_and(inside))
                    }
                };
                if hit {
                    let what = match watch {
                        Watch::Row { .. } => "the row".to_owned(),
                        Watch::Range { index_no, range, .. } => {
                            format!("[{:02x?}, {:02x?}) of index {index_no}", range.lower, range.upper)
                        }
                    };
                    return Err(Stop::Violation(format!(
                        "{name} {key:02x?}: written although a transaction at {:?} has locked {what}",
                        txn.isolation
                    )));
                }
            }
        }
        Ok(())
    }

    /// Before rows are locked or changed by a transaction with a true snapshot: opens it. `false` when the table is younger.
    pub(crate) fn before_locks(&mut self, client: &mut Client, name: &str) -> bool {
        let Some(txn) = client.txn.as_ref().filter(|txn| txn.true_snapshot) else { return true };
        if txn.model.snapshot().is_none() {
            let _ = engine::simulation::settle_for_a_snapshot(&mut client.session);
        }
        let visible = self.visible();
        let defined_at = self.commits.newest().tables.get(name).map(|table| table.defined_at);
        let Some(txn) = &mut client.txn else { return true };
        // One that is older than the table is met by the engine's own refusal, which is tried elsewhere.
        let snapshot = Arc::clone(txn.model.snapshot().unwrap_or(&visible));
        let fits = defined_at.is_some_and(|defined_at| snapshot.number >= defined_at);
        if fits {
            txn.model.open_snapshot(&visible);
        }
        fits
    }

    /// A transaction with a true snapshot has locked or changed a row, or found none: it is as it was in the snapshot.
    pub(crate) fn check_unchanged(&self, client: &Client, name: &str, key: &[u8]) -> Result<()> {
        let Some(txn) = client.txn.as_ref().filter(|txn| txn.true_snapshot) else { return Ok(()) };
        let Some(snapshot) = txn.model.snapshot() else { return Ok(()) };
        let row_in = |state: &crate::world::State| state.tables.get(name).and_then(|table| table.rows.get(key).cloned());
        match same(row_in(snapshot).as_ref(), row_in(self.commits.newest()).as_ref()) {
            true => Ok(()),
            false => Err(Stop::Violation(format!("{name} {key:02x?}: locked or changed although it is not as it was in the snapshot"))),
        }
    }

    /// The same for all rows of a range, by the snapshot and as they are now.
    pub(crate) fn check_range_unchanged(&self, client: &Client, name: &str, index_no: usize, range: &KeyRange) -> Result<()> {
        let Some(snapshot) = client.txn.as_ref().filter(|txn| txn.true_snapshot).and_then(|txn| txn.model.snapshot()) else {
            return Ok(());
        };
        for state in [snapshot, self.commits.newest()] {
            let Some(table) = state.tables.get(name) else { continue };
            for (key, row) in table.rows.iter() {
                let full = full_key(table, index_no, key, row);
                if full >= range.lower && range.below_upper(&full) {
                    self.check_unchanged(client, name, key)?;
                }
            }
        }
        Ok(())
    }

    /// A statement was refused because a row is not as it was in the snapshot: it is run again with another one, or the client rolls back.
    pub(crate) fn first_updater_won(&mut self, client: &mut Client, name: &str) -> Result<()> {
        self.count("statements refused because a row had changed since the snapshot");
        let newest = self.newest();
        let Some(txn) = &mut client.txn else { return Ok(()) };
        let rows = |state: &crate::world::State| state.tables.get(name).map(|table| Arc::clone(&table.rows));
        let is_same = match (txn.model.snapshot().and_then(|snapshot| rows(snapshot)), rows(&newest)) {
            (Some(before), Some(now)) => Arc::ptr_eq(&before, &now),
            _ => false,
        };
        if !txn.true_snapshot || is_same {
            return Err(Stop::Violation(format!("{name}: a row is said to have changed since the snapshot, and none has")));
        }
        if !client.session.may_restart() || self.random.percent(40) {
            return self.rollback(client);
        }
        let result = client.session.restart_statement();
        self.trace.line(format!("c{} runs the statement again: {}", client.no, outcome(&result)));
        self.count("statements run again with another snapshot");
        match result {
            Ok(()) => {
                txn.model.rollback_to(0);
                txn.model.close_snapshot();
                Ok(())
            }
            Err(error) => {
                self.excuse(&error, "run a statement again")?;
                self.give_up(client)
            }
        }
    }
}
