//! What the log tells of transactions: who had not finished, who had and waits for purge, and the counters.
//!
//! # Invariant
//! What the checkpoint lists as running is overridden by what the log tells of the same transaction.

use crate::changed_tables::{self, Named};
use crate::checkpoint::Payload;
use crate::log_op::LogOp;
use crate::prepared::Xid;
use crate::purge::leftover::Leftover;
use crate::undo_record::UndoRecord;
use crate::{Error, Result};
use base::{TableId, TxnId, UndoPtr};
use foldhash::HashMap;
use undo::UndoStore;

pub(crate) struct Learned {
    running: HashMap<TxnId, UndoPtr>,
    /// Those of `running` that are prepared. May name others, which have ended since.
    prepared: HashMap<TxnId, (Xid, Named)>,
    /// Who has committed, in the order in which that was learnt; later ones count. A list, for there are as many as the log has commits.
    history: Vec<(TxnId, UndoPtr)>,
    pub(crate) counters: std::collections::HashMap<TableId, u64>,
    pub(crate) leftovers: Vec<Leftover>,
    next_txn: TxnId,
    next_table: u32,
    next_index: u32,
}

/// The transactions that the end of the log leaves, each kind in order: a simulated crash is repeatable.
pub(crate) struct Transactions {
    /// To be rolled back.
    pub(crate) losers: Vec<(TxnId, UndoPtr)>,
    /// They wait for XA COMMIT or XA ROLLBACK.
    pub(crate) prepared: Vec<(TxnId, UndoPtr, Xid, Named)>,
    /// To be purged.
    pub(crate) history: Vec<(TxnId, UndoPtr)>,
}

impl Learned {
    /// What the checkpoint knew.
    pub(crate) fn new(payload: &mut Payload) -> Learned {
        Learned {
            running: payload.running.iter().copied().collect(),
            prepared: std::mem::take(&mut payload.prepared).into_iter().map(|(txn, xid, named)| (txn, (xid, named))).collect(),
            history: std::mem::take(&mut payload.history),
            counters: payload.counters.iter().copied().collect(),
            leftovers: std::mem::take(&mut payload.leftovers),
            next_txn: payload.next_txn,
            next_table: payload.next_table,
            next_index: payload.next_index,
        }
    }

    /// The next operation of the log.
    pub(crate) fn apply(&mut self, op: LogOp<'_>, undo: &UndoStore) -> Result<()> {
        match op {
            LogOp::RowChange { undo: address, record } => {
                // Most are never read again; what is wrong with one is told to who reads it.
                let txn = UndoRecord::txn_of(record).map_err(|_| Error::corrupt("row change in the log"))?;
                undo.restore(address, record)?;
                self.running.insert(txn, address);
                self.seen(txn);
            }
            LogOp::RolledBackTo { txn, next } => {
                self.running.insert(txn, next);
                // Somebody was rolling it back after all.
                self.prepared.remove(&txn);
                self.seen(txn);
            }
            LogOp::Prepare { txn, format_id, gtrid, bqual, tables } => {
                let named = changed_tables::decode(tables).map_err(|_| Error::corrupt("tables of a prepared transaction in the log"))?;
                self.running.entry(txn).or_insert(UndoPtr::NONE);
                self.prepared.insert(txn, (Xid { format_id, gtrid: gtrid.into(), bqual: bqual.into() }, named));
                self.seen(txn);
            }
            LogOp::Commit { txn, last_undo, .. } => {
                self.running.remove(&txn);
                self.history.push((txn, last_undo));
                self.seen(txn);
            }
            LogOp::RollbackEnd { txn } => {
                self.running.remove(&txn);
                self.seen(txn);
            }
            LogOp::AutoIncrement { table, next } => {
                let counter = self.counters.entry(table).or_default();
                *counter = (*counter).max(next);
            }
            LogOp::Leftover { table, index, key } => self.leftovers.push(Leftover { table, index, key: key.to_vec() }),
            LogOp::NextIds { table, index } => {
                self.next_table = self.next_table.max(table);
                self.next_index = self.next_index.max(index);
            }
        }
        Ok(())
    }

    fn seen(&mut self, txn: TxnId) {
        self.next_txn = self.next_txn.max(TxnId(txn.0 + 1));
    }

    /// The log has ended: brings the payload's ids up to it, and says who is left.
    pub(crate) fn finish(&mut self, payload: &mut Payload) -> Transactions {
        payload.next_txn = self.next_txn;
        payload.next_table = self.next_table;
        payload.next_index = self.next_index;
        let (mut losers, mut prepared) = (Vec::new(), Vec::new());
        for (txn, last_undo) in self.running.drain() {
            match self.prepared.remove(&txn) {
                Some((xid, named)) => prepared.push((txn, last_undo, xid, named)),
                None => losers.push((txn, last_undo)),
            }
        }
        losers.sort_unstable();
        prepared.sort_unstable();
        // Stable, so that of one transaction what the log says comes after what the checkpoint said.
        let mut history = std::mem::take(&mut self.history);
        history.sort_by_key(|(txn, _)| *txn);
        history.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                *kept = *later;
            }
            same
        });
        history.retain(|(_, undo)| !undo.is_none());
        Transactions { losers, prepared, history }
    }
}
