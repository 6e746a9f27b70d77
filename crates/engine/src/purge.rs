//! Purge: removing what finished transactions left behind and no view can see.
//!
//! # Invariants
//! 1. A transaction is purged once every open view, and every later one, sees it.
//! 2. Purging twice does no harm: after a crash the history since the last checkpoint is purged again.
//! 3. Purge holds the table's metadata lock shared while it works on one record, so DROP TABLE never pulls pages from under it.

use crate::engine::Engine;
use crate::external::EXTERNAL;
use crate::history::Finished;
use crate::session::Session;
use crate::table::Table;
use crate::undo_record::{Change, UndoRecord, old_keys};
use crate::version::header;
use crate::{Error, Result};
use base::UndoPtr;
use lock_manager::WaitPolicy;
use record::header::DELETE_MARK;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sync::atomic::{AtomicBool, Ordering};

/// Transactions of one history shard that are purged between two looks at the limit.
const BATCH: usize = 64;
/// How long purge sleeps when there is nothing it may remove.
const PAUSE: Duration = Duration::from_millis(20);

impl Engine {
    pub(crate) fn purge_loop(self: &Arc<Engine>, stop: &AtomicBool) {
        let mut session = self.connect();
        while !stop.load(Ordering::SeqCst) {
            if self.purge_round(&mut session) == 0 {
                self.purge_wake.wait(Some(Instant::now() + PAUSE));
            }
        }
    }

    /// Purges all that may be purged now; for tests and for an orderly shutdown.
    pub fn purge_all(self: &Arc<Engine>) {
        let mut session = self.connect();
        while self.purge_round(&mut session) > 0 {}
    }

    /// One batch of each shard; returns how many transactions were purged.
    fn purge_round(self: &Arc<Engine>, session: &mut Session) -> usize {
        if self.history.len() == 0 {
            return 0;
        }
        let limit = self.txns.purge_limit();
        let mut count = 0;
        for shard in 0..self.history.shard_count() {
            let taken = self.history.take(shard, BATCH, |finished| limit.covers_finish(finished.seq));
            for finished in &taken {
                if let Err(error) = self.purge_transaction(session, finished) {
                    // Damage in one place does not stop purge elsewhere; what it left behind stays.
                    (self.config.on_warning)(&format!("purge of transaction {}: {error}", finished.txn));
                }
            }
            self.history.purged(shard, &taken);
            count += taken.len();
        }
        count
    }

    fn purge_transaction(self: &Arc<Engine>, session: &mut Session, finished: &Finished) -> Result<()> {
        let mut at = finished.last_undo;
        let mut released: Vec<(UndoPtr, usize)> = Vec::new();
        let mut outcome = Ok(());
        while !at.is_none() {
            let bytes = match self.undo.read(at, <[u8]>::to_vec) {
                Ok(bytes) => bytes,
                Err(error) => {
                    outcome = Err(error.into());
                    break;
                }
            };
            let record = UndoRecord::decode(&bytes).map_err(|_| Error::corrupt("undo record"))?;
            if let Err(error) = self.purge_record(session, at, &record) {
                outcome = Err(error);
            }
            released.push((at, bytes.len()));
            at = record.previous;
        }
        for (address, bytes) in released {
            self.undo.release(address, bytes);
        }
        outcome
    }

    fn purge_record(self: &Arc<Engine>, session: &mut Session, address: UndoPtr, record: &UndoRecord<'_>) -> Result<()> {
        if matches!(record.change, Change::Insert | Change::Chain { .. }) {
            return Ok(());
        }
        let Some(table) = self.table_by_id(record.table)? else { return Ok(()) };
        let _shared = table.lock.shared(session.shard, WaitPolicy::Wait(None), &session.cancel)?;
        match record.change {
            Change::Update { old, middle, old_keys: left, .. } => {
                for entry in old_keys(left) {
                    let (index, key) = entry.map_err(|_| Error::corrupt("undo record"))?;
                    if let Some(index) = table.index_by_id(index) {
                        session.remove_entry(&table, index, key, false, |txn| txn == record.txn)?;
                    }
                }
                if old.flags & EXTERNAL != 0 {
                    self.free_stored_chain(&table, middle)?;
                }
                Ok(())
            }
            Change::Delete { .. } => self.purge_deleted_row(session, &table, address, record),
            Change::Insert | Change::Chain { .. } => Ok(()),
        }
    }

    fn purge_deleted_row(&self, session: &mut Session, table: &Arc<Table>, address: UndoPtr, record: &UndoRecord<'_>) -> Result<()> {
        let row = table.primary().tree.get(record.key, |value| value.map(<[u8]>::to_vec))?;
        let Some(row) = row else { return Ok(()) };
        let newest = header(&row)?;
        if newest.flags & DELETE_MARK == 0 || newest.txn != record.txn || newest.undo != address {
            // The key lives again; what the deleted row left behind is in the undo record of its successor.
            return Ok(());
        }
        for index in &table.indexes[1..] {
            let mut entry = Vec::new();
            self.with_full_row(table, &row, |row| table.secondary_key(index, row, record.key, &mut entry))??;
            session.remove_entry(table, index, &entry, false, |txn| txn == record.txn)?;
        }
        let mut leaf = table.primary().tree.write(record.key)?;
        let unchanged = match leaf.found() {
            Some(value) => header(value)? == newest,
            None => false,
        };
        if unchanged {
            leaf.remove(|_| {});
            leaf.finish();
            if newest.flags & EXTERNAL != 0 {
                self.free_stored_chain(table, &row[record::header::HEADER_BYTES..])?;
            }
            table.primary().tree.shrink(record.key)?;
        }
        Ok(())
    }
}
