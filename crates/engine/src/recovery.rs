//! From what is on disk to a running engine: repair torn pages, redo the log, learn who had not finished.
//!
//! # Invariants
//! 1. Nothing is served before all redo is applied. Transactions without an ending record are losers, unless they are prepared; their row changes are in
//!    the pages, their undo records in the undo store at the addresses the rows name.
//! 2. Recovery changes nothing durable that a second recovery would miss: redo is idempotent, and the first new record carries a new epoch.
//!    The log is read twice: to its end, where it goes on, and then for the pages; redo of more pages than there are frames writes
//!    pages, and no page is written before a running log has made its changes durable.
//! 3. What the checkpoint lists as running is overridden by what the log tells of the same transaction.

use crate::checkpoint::Payload;
use crate::config::EngineConfig;
use crate::engine::{COUNTERS_INDEX, DICTIONARY_INDEX};
use crate::leftover::Leftover;
use crate::log_op::LogOp;
use crate::prepared::Xid;
use crate::undo_record::UndoRecord;
use crate::{Error, Result};
use base::{TableId, TxnId, UndoPtr};
use btree::BTree;
use buffer_pool::{BufferPool, RedoHandlers, ops};
use env::{Disk, FileKind, OpenMode};
use page_store::PageStore;
use space_map::SpaceMap;
use std::collections::HashMap;
use std::sync::Arc;
use sync::atomic::Ordering;
use undo::UndoStore;
use wal::{Checkpoint, Wal};

/// File that exists while a data directory is being created.
const CREATING: &str = "creating";

/// An engine's parts after recovery.
pub(crate) struct Opened {
    pub wal: Arc<Wal>,
    pub pool: Arc<BufferPool>,
    pub space: Arc<SpaceMap>,
    pub undo: UndoStore,
    /// The newest checkpoint's payload, brought up to the end of the log.
    pub payload: Payload,
    pub losers: Vec<(TxnId, UndoPtr)>,
    /// Transactions that wait for XA COMMIT or XA ROLLBACK.
    pub prepared: Vec<(TxnId, UndoPtr, Xid)>,
    pub history: Vec<(TxnId, UndoPtr)>,
    pub counters: HashMap<TableId, u64>,
    pub leftovers: Vec<Leftover>,
}

pub(crate) fn open(disk: &Arc<dyn Disk>, config: &EngineConfig) -> Result<Opened> {
    match Wal::open(Arc::clone(disk), config.wal.clone()) {
        Ok((wal, Some(checkpoint), reader)) => {
            if disk.exists(CREATING).map_err(io)? {
                end_creation(disk)?;
            }
            recover(disk, config, Arc::new(wal), checkpoint, reader)
        }
        // A log without a checkpoint is a creation that a crash cut off: nothing was ever acknowledged.
        Ok((_, None, _)) | Err(wal::WalError::Missing) => create(disk, config),
        Err(error) => Err(error.into()),
    }
}

fn create(disk: &Arc<dyn Disk>, config: &EngineConfig) -> Result<Opened> {
    begin_creation(disk)?;
    let store = Arc::new(PageStore::create(disk, config.store.clone())?);
    let wal = Arc::new(Wal::create(Arc::clone(disk), config.wal.clone())?);
    let pool = BufferPool::new(store, Arc::clone(&wal), config.pool.clone()).map_err(io)?;
    let space = SpaceMap::create(Arc::clone(&pool))?;
    let undo = UndoStore::new(Arc::clone(disk), config.undo)?;
    let dictionary = BTree::create(&pool, &space, DICTIONARY_INDEX)?;
    let counters = BTree::create(&pool, &space, COUNTERS_INDEX)?;
    let payload = Payload {
        next_txn: TxnId(1),
        next_table: 0,
        next_index: 0,
        dictionary_root: dictionary.root,
        counters_root: counters.root,
        running: Vec::new(),
        history: Vec::new(),
        counters: Vec::new(),
        leftovers: Vec::new(),
        undo_directory: undo.checkpoint()?,
        prepared: Vec::new(),
    };
    pool.flush_all()?;
    wal.flush_to(wal.lsn_head())?;
    wal.write_checkpoint(Checkpoint { redo_lsn: wal.lsn_head(), payload: payload.encode() })?;
    undo.checkpoint_written();
    end_creation(disk)?;
    Ok(Opened {
        wal,
        pool,
        space,
        undo,
        payload,
        losers: Vec::new(),
        prepared: Vec::new(),
        history: Vec::new(),
        counters: HashMap::new(),
        leftovers: Vec::new(),
    })
}

/// Makes room for a new data directory. Files may lie there only from a creation that a crash cut off, which [`CREATING`] tells; anything
/// else is somebody's data whose log is missing, and is not touched.
fn begin_creation(disk: &Arc<dyn Disk>) -> Result<()> {
    let interrupted = disk.exists(CREATING).map_err(io)?;
    if !interrupted && disk.exists("data").map_err(io)? {
        return Err(Error::Io("the data directory has a data file but no log with a checkpoint; nothing was changed".into()));
    }
    disk.open(CREATING, OpenMode::Create, FileKind::Buffered).map_err(io)?.sync().map_err(io)?;
    disk.sync_dir("").map_err(io)?;
    for directory in ["log", "undo"] {
        for file in disk.list(directory).unwrap_or_default() {
            disk.remove(&format!("{directory}/{file}")).map_err(io)?;
        }
    }
    for file in ["data", "doublewrite"] {
        if disk.exists(file).map_err(io)? {
            disk.remove(file).map_err(io)?;
        }
    }
    Ok(())
}

/// The first checkpoint is durable: from here on the directory is somebody's data.
fn end_creation(disk: &Arc<dyn Disk>) -> Result<()> {
    disk.remove(CREATING).map_err(io)?;
    disk.sync_dir("").map_err(io)
}

fn io(error: std::io::Error) -> Error {
    Error::Io(error.to_string())
}

/// What the log tells of transactions.
struct Learned {
    running: HashMap<TxnId, UndoPtr>,
    /// Those of `running` that are prepared. May name others, which have ended since.
    prepared: HashMap<TxnId, Xid>,
    history: HashMap<TxnId, UndoPtr>,
    counters: HashMap<TableId, u64>,
    leftovers: Vec<Leftover>,
    next_txn: TxnId,
    next_table: u32,
    next_index: u32,
}

impl Learned {
    fn apply(&mut self, op: LogOp<'_>, undo: &UndoStore) -> Result<()> {
        match op {
            LogOp::RowChange { undo: address, record } => {
                let decoded = UndoRecord::decode(record).map_err(|_| Error::corrupt("row change in the log"))?;
                undo.restore(address, record)?;
                self.running.insert(decoded.txn, address);
                self.seen(decoded.txn);
            }
            LogOp::RolledBackTo { txn, next } => {
                self.running.insert(txn, next);
                // Somebody was rolling it back after all.
                self.prepared.remove(&txn);
                self.seen(txn);
            }
            LogOp::Prepare { txn, format_id, gtrid, bqual } => {
                self.running.entry(txn).or_insert(UndoPtr::NONE);
                self.prepared.insert(txn, Xid { format_id, gtrid: gtrid.into(), bqual: bqual.into() });
                self.seen(txn);
            }
            LogOp::Commit { txn, last_undo, .. } => {
                self.running.remove(&txn);
                self.history.insert(txn, last_undo);
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
}

fn recover(
    disk: &Arc<dyn Disk>,
    config: &EngineConfig,
    wal: Arc<Wal>,
    checkpoint: Checkpoint,
    mut reader: wal::LogReader,
) -> Result<Opened> {
    let mut payload = Payload::read(&checkpoint.payload)?;
    let store = Arc::new(PageStore::open(disk, config.store.clone())?);
    let repaired = store.stats().pages_restored.load(Ordering::Relaxed);
    if repaired > 0 {
        (config.on_warning)(&format!("recovery: {repaired} torn pages repaired from the doublewrite file"));
    }
    let pool = BufferPool::new(store, Arc::clone(&wal), config.pool.clone()).map_err(io)?;
    let undo = UndoStore::new(Arc::clone(disk), config.undo)?;
    undo.load(&payload.undo_directory)?;
    let handlers = RedoHandlers::new().with(0x10..=0x1F, Arc::new(space_map::Redo)).with(0x20..=0x3F, Arc::new(btree::Redo));
    let mut learned = Learned {
        running: payload.running.iter().copied().collect(),
        prepared: std::mem::take(&mut payload.prepared).into_iter().collect(),
        history: payload.history.iter().copied().collect(),
        counters: payload.counters.iter().copied().collect(),
        leftovers: std::mem::take(&mut payload.leftovers),
        next_txn: payload.next_txn,
        next_table: payload.next_table,
        next_index: payload.next_index,
    };
    while let Some(entry) = reader.next()? {
        for op in ops(entry.body) {
            let op = op.map_err(|_| Error::corrupt("log record"))?;
            if op.op >= 0x40 {
                learned.apply(LogOp::decode(op.op, op.payload).map_err(|_| Error::corrupt("log operation"))?, &undo)?;
            }
        }
    }
    wal.start_after_recovery(reader.end_of_valid())?;
    reader.rewind();
    while let Some(entry) = reader.next()? {
        pool.redo_record(entry.start, entry.end, entry.body, &handlers)?;
    }
    let space = SpaceMap::open(Arc::clone(&pool))?;
    for page in pool.redo_skipped() {
        // Redo may pass over a page that was freed, and perhaps punched out of the file, after the records that changed it.
        if let Some(owner) = space.owner_of(page)? {
            return Err(Error::Corruption {
                page,
                what: format!("the data file has lost a page of index {owner}, which the log cannot make anew"),
            });
        }
    }
    payload.next_txn = learned.next_txn;
    payload.next_table = learned.next_table;
    payload.next_index = learned.next_index;
    let (mut losers, mut prepared) = (Vec::new(), Vec::new());
    for (txn, last_undo) in learned.running {
        match learned.prepared.remove(&txn) {
            Some(xid) => prepared.push((txn, last_undo, xid)),
            None => losers.push((txn, last_undo)),
        }
    }
    losers.sort_unstable();
    prepared.sort_unstable();
    let mut history: Vec<_> = learned.history.into_iter().filter(|(_, undo)| !undo.is_none()).collect();
    // In one order on every run: a simulated crash is repeatable.
    history.sort_unstable();
    let chains = losers.iter().chain(&history).map(|(_, last)| *last).chain(prepared.iter().map(|(_, last, _)| *last));
    retain_undo(&undo, chains)?;
    Ok(Opened { wal, pool, space, undo, payload, losers, prepared, history, counters: learned.counters, leftovers: learned.leftovers })
}

/// Keeps the undo records that rollback or purge still need, and recycles the rest.
fn retain_undo(undo: &UndoStore, chains: impl Iterator<Item = UndoPtr>) -> Result<()> {
    let mut live = Vec::new();
    for mut at in chains {
        while !at.is_none() {
            let found = undo.read(at, |bytes| UndoRecord::decode(bytes).map(|record| (bytes.len(), record.previous)));
            let (bytes, previous) = match found {
                Ok(found) => found.map_err(|_| Error::corrupt("undo record"))?,
                // Purged after the checkpoint that lists it.
                Err(undo::UndoError::Released) => break,
                Err(error) => return Err(error.into()),
            };
            live.push((at, bytes));
            at = previous;
        }
    }
    Ok(undo.retain(&live)?)
}
