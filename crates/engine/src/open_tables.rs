//! Which tables are open, and closing those that nobody uses when there are many (`table_open_cache`).
//!
//! # Invariants
//! 1. A table is closed only while nobody has it, nor its metadata lock, and under the latch by which anybody could come to have it: so there are never two of one table.
//! 2. What an open table knows and its definition does not is not lost: it stays open while its AUTO_INCREMENT counter is ahead of what a later opening would find, and while some view
//!    may not see the DDL that made it what it is (`Table::defined_by`).
//! 3. A definition that DDL has ended is not opened any more: it is counted under the latch that one was ended, after the DDL is committed and before trees are freed; who opens a table
//!    compares the count, under the latch, with that before it read the definition ([`Engine::open_committed`]).
//! 4. Using an open table writes nothing shared but, once after each round of closing, that it was used.
//!
//! # Not here
//! The catalogue's own list, by name: it is asked to let go of as many as are to be closed ([`TableSource::let_go`](crate::TableSource::let_go)). Plans and sessions hold what they use.

use crate::engine::Engine;
use crate::table::Table;
use base::TableId;
use metrics::Counter;
use std::collections::HashMap;
use std::sync::Arc;
use sync::RwLock;
use sync::atomic::{AtomicU64, Ordering};
use txn::PurgeLimit;

/// Default of `table_open_cache`.
pub const OPEN_TABLES_MAX: u64 = 4_000;

/// Open tables by id, and counts of what was opened and closed. All of them relaxed: figures, and hints when to look.
pub(crate) struct OpenTables {
    pub(crate) by_id: RwLock<HashMap<TableId, Arc<Table>>>,
    max: AtomicU64,
    /// The number of openings from which on it is looked again for some to close: 0 unless too few could be.
    look_at: AtomicU64,
    /// Rounds of closing: tables note the one that they were used in last.
    round: AtomicU64,
    /// Tables that DDL took out of the list or replaced.
    ended: AtomicU64,
    opened: AtomicU64,
    overflows: AtomicU64,
    hits: Counter,
}

/// Open tables, and what became of asking for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpenTablesStatus {
    /// Open now.
    pub open: u64,
    /// Opened since the start.
    pub opened: u64,
    /// Times that a table was asked for by its name and found open.
    pub hits: u64,
    /// Times that there were more open than `table_open_cache` and too few of them could be closed.
    pub overflows: u64,
}

impl OpenTables {
    pub(crate) fn new(by_id: RwLock<HashMap<TableId, Arc<Table>>>) -> OpenTables {
        let count = AtomicU64::new;
        OpenTables {
            by_id,
            max: count(OPEN_TABLES_MAX),
            look_at: count(0),
            round: count(1),
            ended: count(0),
            opened: count(0),
            overflows: count(0),
            hits: Counter::new(),
        }
    }

    /// Changes, under the latch of the list, before tables are closed.
    pub(crate) fn round(&self) -> u64 {
        self.round.load(Ordering::Acquire)
    }

    /// Changes, under the latch of the list, when DDL ends a definition.
    pub(crate) fn ended(&self) -> u64 {
        self.ended.load(Ordering::Acquire)
    }

    /// DDL has ended the definition of a table.
    pub(crate) fn remove(&self, id: TableId) -> Option<Arc<Table>> {
        let mut open = self.by_id.write();
        self.ended.fetch_add(1, Ordering::AcqRel);
        open.remove(&id)
    }

    /// DDL has put another definition in the place of a table's.
    pub(crate) fn replace(&self, table: &Arc<Table>) {
        let mut open = self.by_id.write();
        self.ended.fetch_add(1, Ordering::AcqRel);
        open.insert(table.id, Arc::clone(table));
    }

    /// Notes that a table is used.
    #[inline]
    pub(crate) fn touch(&self, table: &Table) {
        let round = self.round.load(Ordering::Relaxed);
        if table.used_in.load(Ordering::Relaxed) != round {
            table.used_in.store(round, Ordering::Relaxed);
        }
    }
}

impl Engine {
    /// `table_open_cache`: open tables past which those that nobody uses are closed.
    pub fn set_open_tables_max(&self, max: u64) {
        self.tables.max.store(max.max(1), Ordering::Relaxed);
        self.tables.look_at.store(0, Ordering::Relaxed);
    }

    /// See [`Engine::set_open_tables_max`].
    pub fn open_tables_max(&self) -> u64 {
        self.tables.max.load(Ordering::Relaxed)
    }

    /// Counts of open tables.
    pub fn open_tables(&self) -> OpenTablesStatus {
        let tables = &self.tables;
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        OpenTablesStatus {
            open: tables.by_id.read().len() as u64,
            opened: of(&tables.opened),
            hits: tables.hits.get(),
            overflows: of(&tables.overflows),
        }
    }

    /// A table was asked for by its name, and found open. Not on the way of statements whose plan is known.
    pub fn note_table_hit(&self, table: &Table) {
        self.tables.touch(table);
        self.tables.hits.inc();
    }

    /// Of tables that somebody else lists and could let go, those that have not been used for longest: `count` of them.
    pub fn least_used<K: Clone>(listed: impl Iterator<Item = (K, Arc<Table>)>, count: usize) -> Vec<K> {
        let mut listed: Vec<(u64, K)> = listed.map(|(key, table)| (table.used_in.load(Ordering::Relaxed), key)).collect();
        listed.sort_by_key(|(used_in, _)| *used_in);
        listed.into_iter().take(count).map(|(_, key)| key).collect()
    }

    /// A table was opened: closes others when there are too many.
    pub(crate) fn note_opened(&self) {
        let opened = self.tables.opened.fetch_add(1, Ordering::Relaxed) + 1;
        if opened >= self.tables.look_at.load(Ordering::Relaxed) && self.tables.by_id.read().len() as u64 > self.open_tables_max() {
            self.close_unused(opened);
        }
    }

    #[cold]
    fn close_unused(&self, opened: u64) {
        // Before the latch; it only grows.
        let limit = self.txns.purge_limit();
        let (tables, max) = (&self.tables, self.open_tables_max());
        // Some more than must go, so that not each opening looks.
        let excess = |open: usize| (open as u64).saturating_sub(max - max / 8) as usize;
        let count = tables.by_id.read().len();
        if let Some(source) = self.source.get() {
            // Without the latch: what it lets go of is found below, unless somebody has come for it.
            source.let_go(excess(count));
        }
        let mut open = tables.by_id.write();
        tables.round.fetch_add(1, Ordering::AcqRel);
        let excess = excess(open.len());
        let unused = open.iter().filter(|(_, table)| self.is_closable(table, &limit)).map(|(id, table)| (*id, Arc::clone(table)));
        for id in Engine::least_used(unused, excess) {
            open.remove(&id);
        }
        let left = open.len() as u64;
        drop(open);
        if left > max {
            tables.overflows.fetch_add(1, Ordering::Relaxed);
        }
        // What is in use now may be so for long: a look at all of them for each eighth that is added.
        tables.look_at.store(if left > max { opened + left / 8 } else { 0 }, Ordering::Relaxed);
    }

    /// Under the latch of the list: whether a table can be opened again as it is now, and nobody has it.
    fn is_closable(&self, table: &Arc<Table>, limit: &PurgeLimit) -> bool {
        if Arc::strong_count(table) > 1 || Arc::strong_count(&table.lock) > 1 {
            return false;
        }
        let is_seen = |txn: base::TxnId| txn.is_none() || limit.covers(txn);
        if !is_seen(table.defined_by()) || !table.indexes.iter().all(|index| is_seen(index.added_by())) {
            return false;
        }
        if table.auto_increment.load(Ordering::SeqCst) > table.counter_stored.load(Ordering::SeqCst) {
            // Written back before long; then it can be closed.
            self.counters.note_moved(table);
            return false;
        }
        true
    }
}
