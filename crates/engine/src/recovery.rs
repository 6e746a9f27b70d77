//! From what is on disk to a running engine: repair torn pages, redo the log, learn who had not finished.
//!
//! # Invariants
//! 1. Nothing is served before all redo is applied. Transactions without an ending record are losers, unless they are prepared; their row changes are in
//!    the pages, their undo records in the undo store at the addresses the rows name.
//! 2. Recovery changes nothing durable that a second recovery would miss: redo is idempotent, and the first new record carries a new epoch.
//!    The log is read once (`redo.rs`). Redo of more pages than there are frames writes pages before the log's end is known: what can be read of the log
//!    was made durable when it was opened.
//! 3. The time until sessions are served depends on the log to redo, not on the number of tables, nor on how much is to be rolled back or purged: that is found
//!    out (`accounting.rs`) and done while the engine serves.
//! 4. A page that redo needs and that is broken, gone or too old costs those who need it, not the start: it is left as it is, redo passes over it, reading
//!    it is an error, and checkpoints keep the log from its first missing change on (up to a share of the log's capacity; then they name it). Pages of the
//!    engine itself (space map, dictionary, counters) refuse the start.
//! 5. No page has changes from behind the log's end. One that redo meets refuses the start before the log goes on; any other is damaged for who reads it.
//!
//! # In this room
//! - `redo.rs`: the one pass over the log; `learned.rs`: what it tells of transactions.
//! - `accounting.rs`: which undo records are still needed, found out while the engine serves.

pub(crate) mod accounting;
pub(crate) mod learned;
pub(crate) mod redo;

use crate::background::UNDO_MEMORY_TIMES_MAX;
use crate::checkpoint::Payload;
use crate::config::EngineConfig;
use crate::engine::{COUNTERS_INDEX, DICTIONARY_INDEX};
use crate::files;
use crate::format::Feature;
use crate::purge::leftover::Leftover;
use crate::recovery::learned::{Learned, Transactions};
use crate::recovery::redo::{Redo, RedoReport};
use crate::{Error, Result};
use base::{Lsn, TableId, TxnId};
use btree::BTree;
use buffer_pool::{BufferPool, RedoHandlers};
use env::{Disk, FileKind, OpenMode};
use page_store::{Lacking, PageStore, StoreError};
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
    pub transactions: Transactions,
    pub counters: HashMap<TableId, u64>,
    pub leftovers: Vec<Leftover>,
    pub redo: RedoReport,
}

pub(crate) fn open(disk: &Arc<dyn Disk>, config: &EngineConfig) -> Result<Opened> {
    // First of all, so that a directory of another format is called that, whatever else of it cannot be read. Damage is told where it matters.
    if disk.exists(page_store::DATA).map_err(io)?
        && let Err(error @ StoreError::Format(_)) = PageStore::check_format(&**disk)
    {
        return Err(error.into());
    }
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
    let store = Arc::new(PageStore::create_with_format(disk, config.store.clone(), config.new_format)?);
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
        history_blocks: Vec::new(),
        lacking: Vec::new(),
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
        transactions: Transactions { losers: Vec::new(), prepared: Vec::new(), history: Vec::new() },
        counters: HashMap::new(),
        leftovers: Vec::new(),
        redo: RedoReport::default(),
    })
}

/// Makes room for a new data directory. Files may lie there only from a creation that a crash cut off, which [`CREATING`] tells; anything
/// else is somebody's data whose log is missing, and is not touched.
fn begin_creation(disk: &Arc<dyn Disk>) -> Result<()> {
    let interrupted = disk.exists(CREATING).map_err(io)?;
    if !interrupted && disk.exists(page_store::DATA).map_err(io)? {
        return Err(Error::Io("the data directory has a data file but no log with a checkpoint; nothing was changed".into()));
    }
    disk.open(CREATING, OpenMode::Create, FileKind::Buffered).map_err(io)?.sync().map_err(io)?;
    disk.sync_dir("").map_err(io)?;
    for directory in files::DIRECTORIES {
        for file in disk.list(directory).unwrap_or_default() {
            disk.remove(&format!("{directory}/{file}")).map_err(io)?;
        }
    }
    for file in files::IN_ROOT {
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

fn recover(
    disk: &Arc<dyn Disk>,
    config: &EngineConfig,
    wal: Arc<Wal>,
    checkpoint: Checkpoint,
    mut reader: wal::LogReader,
) -> Result<Opened> {
    let mut payload = Payload::read(&checkpoint.payload)?;
    let lacking = std::mem::take(&mut payload.lacking);
    let store = Arc::new(PageStore::open(disk, config.store.clone())?);
    let repaired = store.stats().pages_restored.load(Ordering::Relaxed);
    if repaired > 0 {
        (config.on_warning)(&format!("recovery: {repaired} torn pages repaired from the doublewrite file"));
    }
    for (page, to) in lacking {
        store.note_lacking(Lacking { page, from: Lsn::NONE, to });
    }
    let pool = BufferPool::new(store, Arc::clone(&wal), config.pool.clone()).map_err(io)?;
    let undo = UndoStore::new(Arc::clone(disk), config.undo)?;
    undo.load(&payload.undo_directory)?;
    payload.read_history_blocks(&undo)?;
    let handlers = RedoHandlers::new().with(0x10..=0x1F, Arc::new(space_map::Redo)).with(0x20..=0x3F, Arc::new(btree::Redo));
    let mut learned = Learned::new(&mut payload);
    let note = &*config.on_note;
    let redo = Redo {
        wal: &wal,
        pool: &pool,
        undo: &undo,
        handlers: &handlers,
        workers: config.redo_workers,
        undo_bytes_max: UNDO_MEMORY_TIMES_MAX * config.undo.memory_bytes_max,
        note,
        warn: &*config.on_warning,
    };
    let report = redo.run(&mut reader, &mut learned)?;
    refuse_lost_end(&pool, reader.end_of_valid())?;
    pool.store().log_ended_at(reader.end_of_valid());
    wal.start_after_recovery(reader.end_of_valid())?;
    let space = SpaceMap::open(Arc::clone(&pool))?;
    leave_damaged(&pool, &space, &*config.on_warning)?;
    let transactions = learned.finish(&mut payload);
    if report.log_bytes > 0 {
        tell(note, &report, &transactions);
    }
    Ok(Opened { wal, pool, space, undo, payload, transactions, counters: learned.counters, leftovers: learned.leftovers, redo: report })
}

/// A page may be on disk only when the log is durable up to its LSN. One from behind the log's end says that the end was lost: commits that were acknowledged, and
/// going on would lose new ones, too, as redo would take their changes of that page for done. Pages that redo has not met are judged when they are read
/// ([`PageStore::log_ended_at`]).
fn refuse_lost_end(pool: &BufferPool, end: Lsn) -> Result<()> {
    let (page, lsn) = pool.redo_newest();
    if lsn <= end {
        return Ok(());
    }
    let what = format!(
        "the log ends at {end}, and page {page} of the file data has changes up to {lsn}: the last part of the log is lost or damaged, and what was committed there; the log was left as it is. Put the files of the directory log back as they were, restore from a backup (altiplano restore), or read what can be read (altiplano salvage)"
    );
    Err(Error::Corruption { page, what })
}

/// Judges the pages that redo has passed over, and those that a start before could do nothing for. Redo may pass over a page that was freed, and perhaps punched out
/// of the file, after the records that changed it; any other is damaged, and only those who need it fail.
fn leave_damaged(pool: &BufferPool, space: &SpaceMap, warn: &(dyn Fn(&str) + Sync)) -> Result<()> {
    let store = pool.store();
    let mut damaged = pool.redo_lacking();
    let known = store.lacking();
    damaged.extend(known.iter().filter(|known| !damaged.iter().any(|lacking| lacking.page == known.page)).copied().collect::<Vec<_>>());
    for mut lacking in damaged {
        let page = lacking.page;
        let Some(owner) = (if space.is_map_page(page) { Some(base::IndexId::NONE) } else { space.owner_of(page)? }) else {
            store.forget_lacking(page);
            continue;
        };
        let whose = match owner {
            base::IndexId::NONE => "of the space map".to_owned(),
            DICTIONARY_INDEX => "of the table definitions".to_owned(),
            COUNTERS_INDEX => "of the AUTO_INCREMENT counters".to_owned(),
            owner => format!("of index {owner}"),
        };
        let refused = |why: &str| {
            let what = format!(
                "page {page} of the file data, {whose}, is damaged, and the log has changes of it that cannot be done again; {why}, restore it from a backup (altiplano restore), or read what can be read (altiplano salvage)"
            );
            Err(Error::Corruption { page, what })
        };
        if owner <= COUNTERS_INDEX {
            return refused("the server cannot work without it");
        }
        if Feature::LackingPages.format() > store.format() {
            return refused("to serve the other pages, give the directory the newest format (altiplano seal)");
        }
        // What had no log before this start still has none for the older part.
        let listed = known.iter().find(|known| known.page == page);
        if listed.is_some() {
            if pool.shared(page).is_ok() {
                // Mended meanwhile.
                store.forget_lacking(page);
                continue;
            }
            lacking.from = Lsn::NONE;
            lacking.to = lacking.to.max(listed.map_or(Lsn::NONE, |listed| listed.to));
        }
        // What was read ahead may have brought the old image in.
        pool.discard(page, 1)?;
        store.note_lacking(lacking);
        let kept = match lacking.from.is_none() {
            true => "the log is not kept for them any more".to_owned(),
            false => format!("the log is kept from {} on, for a start after the page has been mended", lacking.from),
        };
        warn(&format!("recovery: page {page}, {whose}, is damaged and lacks changes up to {}; {kept}; all else is served", lacking.to));
    }
    Ok(())
}

/// What recovery has done and what is left to do beside the service.
fn tell(note: &dyn Fn(&str), report: &RedoReport, left: &Transactions) {
    let (mib, seconds) = (report.log_bytes as f64 / f64::from(1 << 20), report.elapsed.as_secs_f64());
    note(&format!(
        "recovery: {mib:.1} MiB of log redone in {seconds:.2} s, {} records, {} page operations; {} transactions to roll back, {} prepared, {} to purge",
        report.records,
        report.page_ops,
        left.losers.len(),
        left.prepared.len(),
        left.history.len()
    ));
}
