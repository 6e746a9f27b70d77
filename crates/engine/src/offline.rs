//! What tools need that look at a directory which no server runs on: the engine's bytes read one by one, and an engine brought to rest.

use crate::checkpoint::Payload;
use crate::engine::{COUNTERS_INDEX, DICTIONARY_INDEX, Engine};
use crate::log_op::LogOp;
use crate::table::{ENTRY_DELETED, Table, entry_value, split_entry};
use crate::undo_record::UndoRecord;
use crate::version::{header, walk};
use crate::write::external::{EXTERNAL, Place};
use crate::{Error, Result};
use base::{IndexId, PageNo, TxnId, UndoPtr};
use buffer_pool::ops;
use record::RowLayout;
use record::header::HEADER_BYTES;
use std::sync::Arc;
use sync::atomic::{AtomicBool, Ordering};

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
            LogOp::FIRST_CODE.. => match LogOp::decode(op.op, op.payload) {
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
    let place = Place::read(stored.get(HEADER_BYTES..).unwrap_or_default())?;
    Ok(Some(ChainPlace { bytes: place.bytes as u64, first: place.first }))
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

/// Appends how many bytes of a secondary entry's key are the index's own parts: what is compared of rows and entries holds it, for the entry's value
/// says it, too, and readers cut by it.
pub fn put_parts_length(entry: &mut Vec<u8>, parts_bytes: usize) {
    base::put_u32(entry, parts_bytes as u32);
}

/// How far an engine was brought to rest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rest {
    /// What could not be done.
    pub problems: Vec<String>,
    /// Transactions that a crash left unfinished and that are not rolled back: rows may still stand as they left them.
    pub unfinished: Vec<TxnId>,
    /// Whether every page is written, so that all are of one moment.
    pub written: bool,
}

/// Undo records between two looks of who waits for [`Engine::check_undo`].
const LOOK_EVERY: u64 = 1 << 12;

impl Engine {
    /// Brings an engine without background work and sessions to rest: rolls back what a crash left unfinished, purges all that may be
    /// purged, writes every page and a checkpoint. Checkpoints are taken meanwhile, too: rollback may write more log than there is room for.
    pub fn bring_to_rest(self: &Arc<Engine>) -> Rest {
        let stop = Arc::new(AtomicBool::new(false));
        // Whoever waits for room in the log waits for the one, and for memory of undo for the other.
        let helpers = [("checkpoint", Engine::checkpoint_loop as fn(&Arc<Engine>, &AtomicBool)), ("undo-spill", Engine::spill_loop)];
        let mut threads = Vec::new();
        for (name, work) in helpers {
            match self.spawn(name, &stop, work) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    let problem = format!("a thread for {name} cannot be started: {error}");
                    return Rest { problems: vec![problem], unfinished: self.unfinished(), written: false };
                }
            }
        }
        while self.roll_back_loser() {}
        self.purge_all();
        stop.store(true, Ordering::SeqCst);
        self.wal.pressure().notify();
        self.spill_wake.notify();
        for thread in threads {
            let _ = thread.join();
        }
        let mut rest = self.write_all();
        if !rest.unfinished.is_empty() {
            rest.problems.push(format!("{} unfinished transactions cannot be rolled back", rest.unfinished.len()));
        }
        let left = self.history_length();
        if left > 0 && self.prepared_xids().is_empty() {
            rest.problems.push(format!("{left} finished transactions cannot be purged"));
        }
        rest
    }

    /// Writes every page of an engine without background work and sessions, as recovery has left it: nothing is rolled back and nothing purged.
    pub fn write_all(&self) -> Rest {
        let mut problems = Vec::new();
        // What the counters' tree refuses does not keep the pages from being written.
        if let Err(error) = self.counters.write_back() {
            problems.push(format!("the AUTO_INCREMENT counters cannot be written: {error}"));
        }
        let written = match self.pool.flush_all() {
            Ok(_) => true,
            Err(error) => {
                problems.push(format!("the recovered state cannot be written: {error}"));
                false
            }
        };
        if written && let Err(error) = self.checkpoint() {
            problems.push(format!("the checkpoint of the recovered state cannot be written: {error}"));
        }
        Rest { problems, unfinished: self.unfinished(), written }
    }

    /// Transactions that a crash left unfinished and that are not rolled back; not those that are prepared.
    fn unfinished(&self) -> Vec<TxnId> {
        let mut all = self.losers.lock().listed();
        all.extend(self.abandoned.lock().iter().copied());
        all.into_iter().map(|(txn, _)| txn).collect()
    }

    /// Follows every undo chain that rollback or purge may still need, and the versions of each row that they name. `report` gets what is wrong;
    /// `look` is told now and then how many records there were, and says whether to go on. Returns how many there were.
    pub fn check_undo(self: &Arc<Engine>, look: &mut dyn FnMut(u64) -> bool, report: &mut dyn FnMut(String)) -> u64 {
        let mut chains: Vec<(TxnId, UndoPtr)> = self.losers.lock().listed();
        chains.extend(self.branches.detached());
        chains.extend(self.history.snapshot().iter().map(|finished| (finished.txn, finished.last_undo)));
        let mut count = 0;
        for (txn, last) in chains {
            let mut at = last;
            while !at.is_none() {
                count += 1;
                if count % LOOK_EVERY == 0 && !look(count) {
                    return count;
                }
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
            // Gone: purged or rolled back since. There: whatever hangs behind it must be readable, down to where purge has been. The way down begins
            // with the record that the newest version names, and from there only: the others of the row lie on it, and each would walk the rest again.
            if let Some(row) = row
                && let newest = header(&row)?
                && newest.undo == at
            {
                let mut buffer = Vec::new();
                match walk(&self.undo, newest, &row, &mut buffer, |_| false) {
                    Ok(_) | Err(Error::UndoGone) => {}
                    Err(error) => return Err(Error::corrupt(format!("the versions of its row in table {}: {error}", record.table))),
                }
            }
        }
        Ok(record.previous)
    }
}
