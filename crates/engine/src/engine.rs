//! The engine: opening and creating a data directory, the parts it is made of, its background threads, closing.
//!
//! # Start at
//! [`Engine::open`], then `recovery.rs`.

use crate::auto_increment_counters::Counters;
use crate::config::EngineConfig;
use crate::log_op::LogOp;
use crate::open_tables::OpenTables;
use crate::prepared::Branches;
use crate::purge::Postponed;
use crate::purge::ages::Ages;
use crate::purge::history::History;
use crate::purge::leftover::Leftovers;
use crate::purge::prune::Prune;
use crate::purge::rounds::Purging;
use crate::recovery::accounting::Uncounted;
use crate::recovery::redo::RedoReport;
use crate::rollback::Losers;
use crate::slots::{Slots, TransactionInfo};
use crate::table::{Table, TableSpec};
use crate::{Error, Result, recovery};
use base::{IndexId, Lsn, PageNo, TableId, TxnId, UndoPtr};
use btree::BTree;
use buffer_pool::{BufferPool, CleanerHandle};
use env::{Clock, Disk};
use lock_manager::metadata::ExclusiveWait;
use lock_manager::{Cancel, LockManager};
use space_map::SpaceMap;
use std::collections::HashMap;
use std::ops::Bound;
use std::sync::{Arc, OnceLock};
use sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use sync::{Mutex, Rank, RwLock};
use txn::TxnSystem;
use undo::UndoStore;
use wal::{Wal, WalBackground, WalError};

/// Tree of the dictionary table.
pub(crate) const DICTIONARY_INDEX: IndexId = IndexId(1);
/// Rows on a page of a table that cannot be looked at; for estimates.
const ROWS_PER_PAGE_GUESS: u64 = 100;
/// Tree of the AUTO_INCREMENT counters.
pub(crate) const COUNTERS_INDEX: IndexId = IndexId(2);
/// Id of the dictionary table.
pub(crate) const DICTIONARY_TABLE: TableId = TableId(1);
pub(crate) const FIRST_USER_INDEX: u32 = 16;
const FIRST_USER_TABLE: u32 = 16;

/// Threads that roll back what a crash left unfinished: a few, so that a long one does not keep the others waiting.
const ROLLBACK_THREADS: usize = 4;

/// Gives the engine the definitions of tables that it meets by id: in undo records after a restart, and at purge.
pub trait TableSource: Send + Sync {
    /// The committed definition of a table, or `None` when it was dropped.
    fn table_spec(&self, id: TableId) -> Result<Option<TableSpec>>;

    /// The ids of all tables that have a committed definition.
    fn table_ids(&self) -> Result<Vec<TableId>>;

    /// Lets go of open tables that nobody else has, so that the engine can close them: of so many that have not been used for longest, if it has as many.
    fn let_go(&self, count: usize) {
        let _ = count;
    }
}

/// A storage engine on one data directory.
pub struct Engine {
    pub(crate) config: EngineConfig,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) wal: Arc<Wal>,
    pub(crate) pool: Arc<BufferPool>,
    pub(crate) space: Arc<SpaceMap>,
    pub(crate) undo: UndoStore,
    pub(crate) txns: Arc<TxnSystem>,
    pub(crate) locks: LockManager,
    pub(crate) history: History,
    pub(crate) slots: Slots,
    /// The wall clock as of the last [`Engine::set_coarse_time`]: milliseconds since the epoch.
    pub(crate) coarse_ms: sync::CachePadded<AtomicU64>,
    pub(crate) counters: Counters,
    pub(crate) dictionary_root: PageNo,
    dictionary: Arc<Table>,
    pub(crate) next_table_id: AtomicU32,
    pub(crate) next_index_id: AtomicU32,
    pub(crate) tables: OpenTables,
    pub(crate) source: OnceLock<Arc<dyn TableSource>>,
    pub(crate) checkpoint_latch: Mutex<()>,
    /// Held shared by whom moves an unfinished transaction from a list to its session's slot; by a checkpoint while it looks through slots and lists.
    pub(crate) handover: RwLock<()>,
    #[cfg(test)]
    pub(crate) checkpoint_hook: crate::checkpoint::CheckpointHook,
    /// Transactions whose rollback failed; it is tried again, also by a restart.
    pub(crate) abandoned: Mutex<Vec<(TxnId, UndoPtr)>>,
    pub(crate) leftovers: Leftovers,
    /// Branches of distributed transactions, by name.
    pub(crate) branches: Branches,
    pub(crate) prune: Prune,
    pub(crate) ages: Mutex<Ages>,
    /// Transactions whose purge waits for running ones.
    pub(crate) postponed: Mutex<Vec<Postponed>>,
    /// How many of the transactions that a crash left have not been tried yet, and of those whose rollback failed are being tried again.
    pub(crate) recovering: AtomicUsize,
    /// Undo that recovery found and has not counted; `None` when that is done.
    pub(crate) uncounted: Mutex<Option<Uncounted>>,
    /// How many changes of large transactions the restart has found to be rolled back.
    pub(crate) loser_records: Mutex<HashMap<TxnId, u64>>,
    pub(crate) redo: RedoReport,
    /// Transactions that recovery found unfinished, until [`Engine::start_background`] rolls them back.
    pub(crate) losers: Mutex<Losers>,
    /// Times a reply waited for the durability of what it tells of.
    pub(crate) dependency_waits: Arc<AtomicU64>,
    undo_shard: AtomicUsize,
    failed: AtomicBool,
    background: Mutex<Option<Background>>,
    pub(crate) archiver: Mutex<Option<wal::Archiver>>,
    pub(crate) purging: Purging,
    pub(crate) spill_wake: sync::Signal,
    pub(crate) warm: crate::warm::WarmStart,
    /// The undo store has no room, neither in memory nor in its file: rows cannot be changed until it has. Relaxed: looked at before each change.
    pub(crate) undo_stuck: AtomicBool,
}

struct Background {
    cleaner: CleanerHandle,
    read_ahead: buffer_pool::ReadAheadHandle,
    log: WalBackground,
    threads: Vec<sync::thread::JoinHandle<()>>,
    stop: Arc<AtomicBool>,
}

fn lock_manager(config: &EngineConfig) -> LockManager {
    let shards = if config.mechanisms.lock_shards { config.lock_shards } else { 1 };
    match config.lock_seed {
        Some(seed) => LockManager::with_seed(shards, seed),
        None => LockManager::new(shards),
    }
}

impl Engine {
    /// Opens the data directory on `disk`, creating it when there is none, and recovers it to what was committed.
    ///
    /// Sessions may be opened at once. Transactions that a crash left unfinished keep their rows locked until
    /// [`Engine::start_background`] has rolled them back.
    pub fn open(disk: Arc<dyn Disk>, clock: Arc<dyn Clock>, mut config: EngineConfig) -> Result<Arc<Engine>> {
        config.wal.exact_wakeups &= config.mechanisms.exact_wakeups;
        let mut opened = recovery::open(&disk, &config)?;
        let payload = &opened.payload;
        let tree = |index, root| BTree::open(&opened.pool, &opened.space, index, root);
        let dictionary_tree = tree(DICTIONARY_INDEX, payload.dictionary_root);
        let counters = Counters::new(tree(COUNTERS_INDEX, payload.counters_root), std::mem::take(&mut opened.counters));
        let found = opened.transactions;
        let losers = found.losers.iter().map(|(id, _)| *id);
        let mut unfinished: Vec<TxnId> = losers.chain(found.prepared.iter().map(|(id, ..)| *id)).collect();
        unfinished.sort_unstable();
        let engine = Engine {
            txns: Arc::new(match config.mechanisms.hybrid_view {
                true => TxnSystem::new(payload.next_txn, &unfinished),
                false => TxnSystem::with_classic_views(payload.next_txn, &unfinished),
            }),
            locks: lock_manager(&config),
            history: History::new(config.undo.shards, config.history_block_max),
            slots: Slots::new(),
            coarse_ms: sync::CachePadded::new(AtomicU64::new(clock.wall_us() as u64 / 1000)),
            counters,
            dictionary_root: payload.dictionary_root,
            dictionary: Arc::new(Table::dictionary(dictionary_tree)),
            next_table_id: AtomicU32::new(payload.next_table.max(FIRST_USER_TABLE)),
            next_index_id: AtomicU32::new(payload.next_index.max(FIRST_USER_INDEX)),
            tables: OpenTables::new(RwLock::with_order(Rank::Catalog, 5, HashMap::new())),
            source: OnceLock::new(),
            checkpoint_latch: Mutex::new(Rank::Catalog, ()),
            handover: RwLock::with_order(Rank::Catalog, 8, ()),
            #[cfg(test)]
            checkpoint_hook: Mutex::new(Rank::Leaf, None),
            abandoned: Mutex::new(Rank::Leaf, Vec::new()),
            leftovers: Leftovers::new(opened.leftovers),
            branches: Branches::new(),
            prune: Prune::new(),
            ages: Mutex::new(Rank::Leaf, Ages::default()),
            postponed: Mutex::new(Rank::Leaf, Vec::new()),
            recovering: AtomicUsize::new(found.losers.len()),
            uncounted: Mutex::with_order(Rank::Catalog, 7, Some(Uncounted::new(&found))),
            loser_records: Mutex::new(Rank::Leaf, HashMap::new()),
            redo: opened.redo,
            losers: Mutex::new(Rank::Leaf, Losers::default()),
            dependency_waits: Arc::default(),
            undo_shard: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
            background: Mutex::with_order(Rank::Catalog, 1, None),
            archiver: Mutex::with_order(Rank::Catalog, 2, None),
            purging: Purging::new(config.purge_threads),
            spill_wake: sync::Signal::new(),
            warm: crate::warm::WarmStart::new(disk),
            undo_stuck: AtomicBool::new(false),
            wal: opened.wal,
            pool: opened.pool,
            space: opened.space,
            undo: opened.undo,
            clock,
            config,
        };
        engine.wal.set_observer(Arc::new(crate::commit::Finisher { txns: Arc::clone(&engine.txns) }));
        for (id, _) in &found.losers {
            // Found by those who wait for the rows of a loser.
            engine.locks.register(*id);
        }
        for (id, last_undo, xid, named) in found.prepared {
            engine.restore_prepared(id, last_undo, xid, named);
        }
        engine.losers.lock().waiting = found.losers;
        // Every view opened from now on sees all that finished before the crash.
        let seq = engine.txns.purge_limit().finished;
        engine.history.restore(&found.history, seq);
        Ok(Arc::new(engine))
    }

    /// Microseconds since 1970 by the wall clock.
    pub fn wall_micros(&self) -> i64 {
        self.clock.wall_us()
    }

    /// The dictionary table: rows of (key, definition), kept by the catalogue.
    pub fn dictionary(&self) -> &Arc<Table> {
        &self.dictionary
    }

    /// Reads the clock for those who need the time roughly and must not pay for it (when a transaction began). Whoever has a reason to
    /// wake a few times a second calls it.
    pub fn set_coarse_time(&self) {
        self.coarse_ms.store(self.clock.wall_us() as u64 / 1000, Ordering::Relaxed);
    }

    /// Every session's transaction, or what it has been last: a session whose transaction has touched nothing looks like one without.
    /// It takes time in proportion to the sessions: for people and monitors.
    pub fn transactions(&self) -> Vec<TransactionInfo> {
        self.slots.infos()
    }

    /// When the transaction of a client began: milliseconds since the epoch.
    pub fn transaction_begun_ms(&self, client: u64) -> Option<u64> {
        self.slots.begun_ms(client)
    }

    /// Tells the engine where definitions come from. Once, before [`Engine::start_background`].
    pub fn set_table_source(&self, source: Arc<dyn TableSource>) {
        assert!(self.source.set(source).is_ok(), "the table source is set once");
    }

    /// The open tables that some indexes (ascending) belong to; none for those of the dictionary, and of tables that are not open.
    pub fn tables_of_indexes(&self, indexes: &[IndexId]) -> Vec<(IndexId, TableId)> {
        let mut found = Vec::with_capacity(indexes.len());
        for table in self.tables.by_id.read().values() {
            if found.len() == indexes.len() {
                break;
            }
            found.extend(table.indexes.iter().filter(|index| indexes.binary_search(&index.id).is_ok()).map(|index| (index.id, table.id)));
        }
        found
    }

    /// The open table of a definition that is the caller's own, opening it when it is not: no other DDL can end it meanwhile.
    pub fn open_table(&self, spec: TableSpec) -> Result<Arc<Table>> {
        loop {
            if let Some(table) = self.try_open(spec.clone(), || true)? {
                return Ok(table);
            }
        }
    }

    /// The open table of a committed definition, opening it when it is not; `None` when there is none any more.
    ///
    /// `definition` reads it, and does so again when DDL has ended a definition meanwhile: opened behind the DDL that ended it, an old one would count as the table in force, over trees
    /// that are free.
    pub fn open_committed<E: From<Error>>(
        &self,
        mut definition: impl FnMut() -> std::result::Result<Option<TableSpec>, E>,
    ) -> std::result::Result<Option<Arc<Table>>, E> {
        loop {
            let ended = self.tables.ended();
            let is_in_force = || self.tables.ended() == ended;
            let Some(spec) = definition()? else { return Ok(None) };
            match self.try_open(spec, is_in_force) {
                Ok(Some(table)) => return Ok(Some(table)),
                // What was read of trees that may be free by now says nothing.
                Err(error) if is_in_force() => return Err(error.into()),
                Ok(None) | Err(_) => {}
            }
        }
    }

    /// `None`: what was made may be out of date; make it again. `is_in_force` is asked under the latch of the list, whether the definition still is.
    fn try_open(&self, spec: TableSpec, is_in_force: impl Fn() -> bool) -> Result<Option<Arc<Table>>> {
        if let Some(table) = self.open_table_by_id(spec.id) {
            return Ok(Some(table));
        }
        let round = self.tables.round();
        let table = self.make_table(spec, None)?;
        let mut open = self.tables.by_id.write();
        if let Some(table) = open.get(&table.id) {
            return Ok(Some(Arc::clone(table)));
        }
        // If something was closed since its counter was read, somebody else might have opened the table, used it, and it was closed again.
        if self.tables.round() != round || !is_in_force() {
            return Ok(None);
        }
        self.tables.touch(&table);
        open.insert(table.id, Arc::clone(&table));
        drop(open);
        self.note_opened();
        Ok(Some(table))
    }

    /// Replaces the open table by one with a changed definition (ALTER TABLE). Counters and the metadata lock carry over; the caller holds
    /// the lock exclusively.
    pub fn reopen_table(&self, spec: TableSpec) -> Result<Arc<Table>> {
        let old = self.tables.by_id.read().get(&spec.id).cloned();
        let table = self.make_table(spec, old.as_deref())?;
        self.tables.replace(&table);
        Ok(table)
    }

    /// Forgets the table of a copy that failed.
    pub fn close_table_if_copy(&self, id: TableId, original: TableId) {
        if id != original {
            self.close_table(id);
        }
    }

    /// A table handle that nobody else gets: rows read by another definition than the one in force.
    pub fn table_view(&self, spec: TableSpec) -> Result<Arc<Table>> {
        self.make_table(spec, None)
    }

    /// Index ids from this one on have not been given out.
    pub fn next_index_id(&self) -> IndexId {
        IndexId(self.next_index_id.load(Ordering::Acquire))
    }

    /// Forgets an open table (after DROP TABLE). When it returns nobody takes changes back in it, and nobody will: its trees may be freed.
    pub fn close_table(&self, id: TableId) {
        if let Some(table) = self.tables.remove(id) {
            drop(table.taken_back.write());
        }
    }

    /// Forgets the AUTO_INCREMENT counter of a table that was dropped. May wait for log space.
    pub fn forget_counter(&self, id: TableId) -> Result<()> {
        self.counters.forget(id)
    }

    /// Forgets a table that only the caller knows, when purge has let go of it: from then on nobody touches its trees. What transactions have left to do in it
    /// is taken for done, as after DROP TABLE.
    pub fn retire_table(&self, table: &Table) -> Result<()> {
        // Purge shares the lock for one row at a time and waits for nobody meanwhile; a KILL of the owner must not leave the table behind.
        let _alone = table.lock.exclusive(ExclusiveWait::until(None), &Cancel::new())?;
        self.close_table(table.id);
        Ok(())
    }

    fn make_table(&self, spec: TableSpec, old: Option<&Table>) -> Result<Arc<Table>> {
        let trees = spec.indexes.iter().map(|i| BTree::open(&self.pool, &self.space, i.id, i.root)).collect();
        let counter = match old {
            Some(old) => old.auto_increment(),
            None => self.counters.load(spec.id)?,
        };
        let table = Table::new(spec, trees, counter, old);
        if old.is_none() {
            let counted = table.primary().tree.count_estimate(Bound::Unbounded, Bound::Unbounded).map_err(Error::from);
            let rows = match counted {
                // A damaged page fails those who need it. Who drops the table, or looks for rows on other pages, does not.
                Err(Error::Corruption { .. }) => self.space.pages_at_most(table.primary().id) * ROWS_PER_PAGE_GUESS,
                other => other?,
            };
            table.rows.store(rows as i64, Ordering::Relaxed);
        }
        Ok(Arc::new(table))
    }

    /// A table by id that is open.
    pub(crate) fn open_table_by_id(&self, id: TableId) -> Option<Arc<Table>> {
        match id {
            DICTIONARY_TABLE => Some(Arc::clone(&self.dictionary)),
            _ => self.tables.by_id.read().get(&id).inspect(|table| self.tables.touch(table)).cloned(),
        }
    }

    /// A table met by id (purge, rollback after a restart); `None` when it was dropped.
    pub(crate) fn table_by_id(&self, id: TableId) -> Result<Option<Arc<Table>>> {
        if let Some(table) = self.open_table_by_id(id) {
            return Ok(Some(table));
        }
        // Without a source nothing is known: to take the table for dropped would leave what a crash cut off in it.
        let source = self.source.get().ok_or(Error::TableGone(id))?;
        self.open_committed(|| source.table_spec(id))
    }

    /// Whether this is the handle of the table as it is now, seen by a holder of its metadata lock.
    pub(crate) fn is_current(&self, table: &Arc<Table>) -> bool {
        table.id == DICTIONARY_TABLE || self.tables.by_id.read().get(&table.id).is_some_and(|current| Arc::ptr_eq(current, table))
    }

    /// A new table id, durable before it can be used: ids are never given out twice.
    pub fn allocate_table_id(&self) -> TableId {
        let id = self.next_table_id.fetch_add(1, Ordering::AcqRel);
        self.log_next_ids();
        TableId(id)
    }

    /// A new, empty index tree.
    pub fn create_index_tree(&self) -> Result<(IndexId, PageNo)> {
        let id = IndexId(self.next_index_id.fetch_add(1, Ordering::AcqRel));
        self.log_next_ids();
        let tree = BTree::create(&self.pool, &self.space, id)?;
        Ok((id, tree.root))
    }

    /// Gives all pages of an index back. For trees that no committed definition names any more.
    pub fn free_index_tree(&self, id: IndexId) -> Result<()> {
        self.free_index_trees(&[id])
    }

    /// The same for several. Their pages can be had as soon as the log is durable; waits for that only where they are many (`SpaceMap::free_indexes`).
    pub fn free_index_trees(&self, ids: &[IndexId]) -> Result<()> {
        self.space.free_indexes(ids)?;
        Ok(())
    }

    /// Index ids that own pages but that `known` does not name: left by DDL that a crash cut off.
    pub fn orphan_indexes(&self, known: impl Fn(IndexId) -> bool) -> Result<Vec<IndexId>> {
        let own = [DICTIONARY_INDEX, COUNTERS_INDEX];
        Ok(self.space.owners()?.into_iter().filter(|id| !own.contains(id) && !known(*id)).collect())
    }

    fn log_next_ids(&self) {
        let op = LogOp::NextIds { table: self.next_table_id.load(Ordering::Acquire), index: self.next_index_id.load(Ordering::Acquire) };
        self.log(&mut Vec::new(), &op);
    }

    /// Logs one of the engine's own operations as a record of its own, which is made in `body`.
    pub(crate) fn log(&self, body: &mut Vec<u8>, op: &LogOp<'_>) -> Lsn {
        op.put_record(body);
        self.wal.append(body)
    }

    pub(crate) fn next_undo_shard(&self) -> usize {
        self.undo_shard.fetch_add(1, Ordering::Relaxed) % self.config.undo.shards
    }

    /// The next hidden row id of a table: after its last key at first use. The id of a deleted last row may come again.
    pub(crate) fn next_row_id(&self, table: &Table) -> Result<u64> {
        if table.next_row_id.load(Ordering::Relaxed) == 0 {
            let mut cursor = table.primary().tree.cursor();
            cursor.last()?;
            let last = if cursor.valid() { <[u8; 8]>::try_from(cursor.key()).map_or(0, u64::from_be_bytes) } else { 0 };
            let _ = table.next_row_id.compare_exchange(0, last + 1, Ordering::Relaxed, Ordering::Relaxed);
        }
        Ok(table.next_row_id.fetch_add(1, Ordering::Relaxed))
    }

    /// The log failed: nothing more can be acknowledged. The owner of the process is told once.
    pub(crate) fn note_log_failure(&self, error: WalError) -> Error {
        self.note_failure(error.into())
    }

    /// The same for an error that has come up from the log.
    pub(crate) fn note_failure(&self, error: Error) -> Error {
        if error == Error::LogFailed && !self.failed.swap(true, Ordering::SeqCst) {
            (self.config.on_fatal)("the log could not be made durable; nothing more is acknowledged");
        }
        error
    }

    /// After a failed sync nobody knows what is on disk: the owner of the process is told once, whoever met it.
    pub(crate) fn look_for_failed_sync(&self) {
        let file = if self.wal.has_failed() {
            "the log"
        } else if self.pool.store().has_failed() {
            "the data file"
        } else if self.undo.has_failed() {
            "the undo file"
        } else {
            return;
        };
        if !self.failed.swap(true, Ordering::SeqCst) {
            (self.config.on_fatal)(&format!("a sync of {file} failed, or a write of the log; nothing more can be made durable"));
        }
    }

    /// Starts the cleaner, the log's background work, purge, checkpoints, and the rollback of what a crash left unfinished.
    pub fn start_background(self: &Arc<Engine>) -> Result<()> {
        self.share_tables_of_prepared()?;
        let stop = Arc::new(AtomicBool::new(false));
        let io = |e: std::io::Error| Error::Io(e.to_string());
        let mut threads = vec![
            self.spawn("purge", &stop, Engine::purge_loop).map_err(io)?,
            self.spawn("checkpoint", &stop, Engine::checkpoint_loop).map_err(io)?,
            self.spawn("undo-spill", &stop, Engine::spill_loop).map_err(io)?,
        ];
        for worker in 1..self.purging.workers() {
            threads.push(self.spawn("purge-more", &stop, move |engine, stop| engine.purge_more_loop(worker, stop)).map_err(io)?);
        }
        if self.uncounted.lock().is_some() {
            threads.push(self.spawn("undo-count", &stop, |engine, stop| engine.count_undo(stop)).map_err(io)?);
        }
        let losers = self.losers.lock().waiting.len();
        for _ in 0..losers.min(ROLLBACK_THREADS) {
            threads.push(self.spawn("rollback", &stop, Engine::roll_back_losers).map_err(io)?);
        }
        let background = Background {
            cleaner: self.pool.start_cleaner().map_err(io)?,
            read_ahead: self.pool.start_read_ahead().map_err(io)?,
            log: self.wal.start_background().map_err(io)?,
            threads,
            stop,
        };
        *self.background.lock() = Some(background);
        Ok(())
    }

    pub(crate) fn spawn(
        self: &Arc<Engine>,
        name: &str,
        stop: &Arc<AtomicBool>,
        work: impl FnOnce(&Arc<Engine>, &AtomicBool) + Send + 'static,
    ) -> std::io::Result<sync::thread::JoinHandle<()>> {
        let (engine, stop) = (Arc::clone(self), Arc::clone(stop));
        sync::thread::Builder::new().name(name.into()).spawn(move || {
            memory::begin_thread();
            work(&engine, &stop)
        })
    }

    /// Stops the background work. With `clean`, everything is written and a checkpoint taken: the next start has nothing to recover.
    /// Sessions must be gone.
    pub fn close(&self, clean: bool) -> Result<()> {
        self.end_warm_start(clean && !self.failed.load(Ordering::SeqCst));
        let background = self.background.lock().take();
        if let Some(background) = background {
            background.stop.store(true, Ordering::SeqCst);
            self.wake_purge();
            self.wal.pressure().notify();
            self.spill_wake.notify();
            for thread in background.threads {
                let _ = thread.join();
            }
            background.cleaner.stop();
            drop(background.read_ahead);
            drop(background.log);
        }
        if clean && !self.failed.load(Ordering::SeqCst) {
            self.give_out_freed(true);
            self.sharp_checkpoint()?;
        }
        // Last, so that all of the log is archived.
        let archiver = self.archiver.lock().take();
        drop(archiver);
        Ok(())
    }

    /// Bytes of a table's primary index and of its secondary indexes, by pages owned.
    pub fn table_bytes(&self, table: &Table) -> (u64, u64) {
        let bytes = |id| self.space.pages_of(id) * base::PAGE_BYTES as u64;
        (bytes(table.indexes[0].id), table.indexes[1..].iter().map(|index| bytes(index.id)).sum())
    }

    /// What opening has redone.
    pub fn redo_report(&self) -> RedoReport {
        self.redo
    }

    /// The index that owns a page; `None` when nobody does.
    pub fn owner_of_page(&self, page: PageNo) -> Result<Option<IndexId>> {
        Ok(self.space.owner_of(page)?)
    }

    /// Sets who is told of each damaged page, once, with what is wrong with it. It is called by the thread that meets the page, which may hold
    /// latches: it hands on what it hears and touches no page.
    pub fn on_damaged_page(&self, told: impl Fn(PageNo, &str) + Send + Sync + 'static) {
        self.pool.store().set_damage_observer(Box::new(move |page, error| told(page, &error.to_string())));
    }

    /// The buffer pool.
    pub fn pool(&self) -> &Arc<BufferPool> {
        &self.pool
    }

    /// The log.
    pub fn wal(&self) -> &Arc<Wal> {
        &self.wal
    }

    /// The lock table.
    pub fn locks(&self) -> &LockManager {
        &self.locks
    }

    /// Ids and views.
    pub fn txns(&self) -> &TxnSystem {
        &self.txns
    }

    /// Finished transactions that purge has not yet cleaned up after (`History list length`).
    pub fn history_length(&self) -> u64 {
        self.history.len()
    }
}
