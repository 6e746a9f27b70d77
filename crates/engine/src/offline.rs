//! What tools need that look at a directory which no server runs on: the engine's bytes read one by one, and an engine brought to rest.

use crate::checkpoint::Payload;
use crate::engine::{COUNTERS_INDEX, DICTIONARY_INDEX, Engine};
use crate::external::EXTERNAL;
use crate::log_op::LogOp;
use crate::table::{ENTRY_DELETED, Table, entry_value, split_entry};
use crate::undo_record::UndoRecord;
use crate::version::{header, walk};
use crate::{Error, Result};
use base::{IndexId, PageNo, Reader, TxnId, UndoPtr};
use buffer_pool::ops;
use record::RowLayout;
use record::header::HEADER_BYTES;
use std::sync::Arc;

/// The dictionary's index.
pub const DICTIONARY: IndexId = DICTIONARY_INDEX;
/// The index of the AUTO_INCREMENT counters.
pub const COUNTERS: IndexId = COUNTERS_INDEX;

/// How the dictionary's rows are laid out: key and value, both binary.
pub fn dictionary_layout() -> Arc<RowLayout> {
    Arc::new(RowLayout::new(&Table::dictionary_types(), 0))
}

/// What a checkpoint's payload says, as far as tools want to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointFacts {
    /// Root page of the dictionary.
    pub dictionary_root: PageNo,
    /// Root page of the AUTO_INCREMENT counters.
    pub counters_root: PageNo,
    /// Transactions that ran.
    pub running: usize,
    /// Finished transactions that purge had not cleaned up after.
    pub history: usize,
    /// Prepared ones among those that ran.
    pub prepared: usize,
    /// Ids from here on had not been given out.
    pub next_txn: TxnId,
}

/// Reads a checkpoint's payload.
pub fn read_checkpoint(payload: &[u8]) -> Result<CheckpointFacts> {
    let payload = Payload::read(payload)?;
    Ok(CheckpointFacts {
        dictionary_root: payload.dictionary_root,
        counters_root: payload.counters_root,
        running: payload.running.len(),
        history: payload.history.len(),
        prepared: payload.prepared.len(),
        next_txn: payload.next_txn,
    })
}

/// Whether a log record's operations can be read; the error says what cannot.
pub fn check_record(body: &[u8]) -> std::result::Result<(), String> {
    for op in ops(body) {
        let op = op.map_err(|_| "operations that run past the record".to_owned())?;
        match op.op {
            0x40.. => match LogOp::decode(op.op, op.payload) {
                Ok(LogOp::RowChange { record, .. }) => {
                    UndoRecord::decode(record).map_err(|_| "a row change with an undo record that cannot be read".to_owned())?;
                }
                Ok(_) => {}
                Err(_) => return Err(format!("operation {:#04x} that cannot be read", op.op)),
            },
            0x01..=0x03 | 0x10..=0x3f if !op.page.is_none() => {}
            // A mark of the log's own: how far it was durable.
            0x0f if op.page.is_none() => {}
            0x01..=0x03 | 0x10..=0x3f => return Err(format!("operation {:#04x} on no page", op.op)),
            _ => return Err(format!("operation {:#04x}, which this program does not know", op.op)),
        }
    }
    Ok(())
}

/// The place of a row's overflow chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainPlace {
    /// Bytes in the chain: the row's, after its header.
    pub bytes: u64,
    /// The chain's first page.
    pub first: PageNo,
}

/// The place of the overflow chain that a stored row names; `None` when the row is whole.
pub fn chain_place(stored: &[u8]) -> Result<Option<ChainPlace>> {
    if header(stored)?.flags & EXTERNAL == 0 {
        return Ok(None);
    }
    let mut r = Reader::new(&stored[HEADER_BYTES..]);
    let mut word = || r.u64().map_err(|_| Error::corrupt("place of an external row"));
    Ok(Some(ChainPlace { bytes: word()?, first: PageNo(word()?) }))
}

/// Makes a row whole again: the header of the stored one, with what its chain holds behind it.
pub fn whole_row(stored: &[u8], chain: &[u8]) -> Result<Vec<u8>> {
    let mut header = header(stored)?;
    header.flags &= !EXTERNAL;
    let mut row = header.to_bytes().to_vec();
    row.extend_from_slice(chain);
    Ok(row)
}

/// Whether a secondary entry is marked as left behind, and the primary key in it.
pub fn secondary_entry<'k>(key: &'k [u8], value: &[u8]) -> Result<(bool, &'k [u8])> {
    let (_, primary_key) = split_entry(key, value)?;
    Ok((entry_value(value)?.0 & ENTRY_DELETED != 0, primary_key))
}

impl Engine {
    /// Brings an engine without background work and sessions to rest: rolls back what a crash left unfinished, purges all that may be
    /// purged, writes every page and a checkpoint. Returns what could not be done.
    pub fn bring_to_rest(self: &Arc<Engine>) -> Vec<String> {
        let mut problems = Vec::new();
        while self.roll_back_loser() {}
        let pending = self.rollbacks_pending();
        if pending > 0 {
            problems.push(format!("{pending} unfinished transactions cannot be rolled back"));
        }
        self.purge_all();
        let left = self.history_length();
        if left > 0 && self.prepared_xids().is_empty() {
            problems.push(format!("{left} finished transactions cannot be purged"));
        }
        if let Err(error) = self.close(true) {
            problems.push(format!("the recovered state cannot be written: {error}"));
        }
        problems
    }

    /// Follows every undo chain that rollback or purge may still need, and the versions of each row that they name. `report` gets what is wrong.
    /// Returns how many records there are.
    pub fn check_undo(self: &Arc<Engine>, report: &mut dyn FnMut(String)) -> u64 {
        let mut chains: Vec<(TxnId, UndoPtr)> = self.losers.lock().listed();
        chains.extend(self.branches.detached());
        chains.extend(self.history.snapshot().iter().map(|finished| (finished.txn, finished.last_undo)));
        let mut count = 0;
        for (txn, last) in chains {
            let mut at = last;
            while !at.is_none() {
                count += 1;
                match self.check_undo_record(txn, at) {
                    Ok(previous) => at = previous,
                    // Purged after the checkpoint that lists it.
                    Err(Error::UndoGone) => break,
                    Err(error) => {
                        report(format!("undo record {at} of transaction {txn}: {error}"));
                        break;
                    }
                }
            }
        }
        count
    }

    fn check_undo_record(self: &Arc<Engine>, txn: TxnId, at: UndoPtr) -> Result<UndoPtr> {
        let bytes = self.undo.read(at, <[u8]>::to_vec)?;
        let record = UndoRecord::decode(&bytes).map_err(|_| Error::corrupt("cannot be read"))?;
        if record.txn != txn {
            return Err(Error::corrupt(format!("is of transaction {}", record.txn)));
        }
        if let Some(table) = self.table_by_id(record.table)? {
            let mut row = None;
            table.primary().tree.get(record.key, |value| row = value.map(<[u8]>::to_vec))?;
            // Gone: purged or rolled back since. There: whatever hangs behind it must be readable, down to where purge has been.
            if let Some(row) = row {
                let mut buffer = Vec::new();
                match walk(&self.undo, header(&row)?, &row, &mut buffer, |_| false) {
                    Ok(_) | Err(Error::UndoGone) => {}
                    Err(error) => return Err(Error::corrupt(format!("the versions of its row in table {}: {error}", record.table))),
                }
            }
        }
        Ok(record.previous)
    }
}
