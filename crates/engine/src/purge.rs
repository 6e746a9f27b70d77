//! Purge: removing what finished transactions left behind and no view can see.
//!
//! # Invariants
//! 1. A transaction is purged once every open view, and every later one, sees it; or before, when none needs what it has replaced (`prune.rs`).
//! 2. Purging twice does no harm: after a crash the history since the last checkpoint is purged again. A row goes before its overflow chain, and
//!    the undo record of the deletion names the chain, so the second time frees what the first one left.
//! 3. Purge holds the table's metadata lock shared while it works on one record, so DROP TABLE never pulls pages from under it.
//! 4. Records of one row are purged one at a time ([`RowLatches`]), whoever does it: a chain of pages that two records name is freed once.
//! 5. A record whose row was changed since by a transaction that still runs is asked again later: were that one rolled back, what the
//!    record left behind would be garbage again, and nobody else would know of it.
//!
//! # In this room
//! - `leavings.rs`, `ways.rs`: what a running transaction leaves to purge, and by which of its records old views come to rows.
//! - `history.rs`: the finished ones that wait; `blocks.rs`: how checkpoints list them. `leftover.rs`: index entries that rollbacks left.
//! - `prune.rs`: what goes although an old view is open; `skip_plan.rs`: how writers help with it.
//! - `rounds.rs`: who purges, and when; `ages.rs`: how long the oldest has waited.

pub(crate) mod ages;
pub(crate) mod blocks;
pub(crate) mod history;
pub(crate) mod leavings;
pub(crate) mod leftover;
pub(crate) mod prune;
pub(crate) mod rounds;
pub(crate) mod skip_plan;
pub(crate) mod ways;

use crate::engine::Engine;
use crate::locks::gap_lock::Remover;
use crate::purge::history::{Finished, LeftBehind};
use crate::session::Session;
use crate::table::Table;
use crate::undo_record::{Change, UndoRecord, old_keys};
use crate::version::header;
use crate::write::external::EXTERNAL;
use crate::write::secondary::{Remove, Removed};
use crate::{Error, Result};
use base::UndoPtr;
use lock_manager::metadata::Share;
use record::header::DELETE_MARK;
use std::hash::BuildHasher;
use std::sync::Arc;
use sync::{CachePadded, Mutex, Rank};
use undo::Near;

/// Latches for rows, by hash: two workers never purge records of one row at once.
pub(crate) struct RowLatches {
    latches: Box<[CachePadded<Mutex<()>>]>,
    hasher: foldhash::fast::RandomState,
}

/// Enough that workers seldom meet by chance.
const ROW_LATCHES: usize = 256;

impl RowLatches {
    pub(crate) fn new() -> RowLatches {
        let latch = |_| CachePadded::new(Mutex::with_order(Rank::Catalog, 9, ()));
        RowLatches { latches: (0..ROW_LATCHES).map(latch).collect(), hasher: foldhash::fast::RandomState::default() }
    }

    fn of(&self, record: &UndoRecord<'_>) -> &Mutex<()> {
        &self.latches[self.hasher.hash_one((record.table.0, record.key)) as usize % ROW_LATCHES]
    }
}

/// A transaction of which some records could not be purged yet. It stays in the history, with all its records, until they are.
pub(crate) struct Postponed {
    shard: usize,
    pub(crate) finished: Finished,
    pub(crate) records: Vec<(UndoPtr, usize)>,
    postponed: Vec<UndoPtr>,
    /// Whether `records` were purged, but for those postponed.
    begun: bool,
    /// Where its chain goes on below `records`: the record that could not be read yet, or none.
    unread: UndoPtr,
}

impl Postponed {
    /// A transaction of which nothing is purged yet.
    pub(crate) fn new(shard: usize, finished: Finished) -> Postponed {
        Postponed { shard, finished, records: Vec::new(), postponed: Vec::new(), begun: false, unread: finished.last_undo }
    }
}

impl Postponed {
    /// What the history is told of it.
    pub(crate) fn place(&self) -> (usize, Finished) {
        (self.shard, self.finished)
    }
}

/// Why a transaction may be purged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// All views see it.
    SeenByAll,
    /// No view needs what it has replaced (`prune.rs`).
    NeededByNobody,
}

/// Whether an error may be gone another time (a full disk, a failed read). What is given up for such a one is garbage for ever.
fn may_pass(error: &Error) -> bool {
    matches!(error, Error::Io(_) | Error::DiskFull | Error::NoFrames | Error::LogFailed) || is_in_the_way(error)
}

/// Whether who helps between two transactions of its own found somebody in the way, for whom it does not wait.
fn is_in_the_way(error: &Error) -> bool {
    matches!(error, Error::LockNotAvailable | Error::Killed)
}

impl Engine {
    /// Tries again what had to wait for running transactions; returns how many transactions were purged.
    pub(crate) fn purge_postponed(self: &Arc<Engine>, session: &mut Session) -> usize {
        let works = std::mem::take(&mut *self.postponed.lock());
        let mut count = 0;
        for work in works {
            count += usize::from(self.purge_transaction(session, work));
        }
        count
    }

    /// Purges what it can of a transaction; keeps the rest for another round. Returns whether the transaction is done with.
    pub(crate) fn purge_transaction(self: &Arc<Engine>, session: &mut Session, mut work: Postponed) -> bool {
        if !work.begun && self.purge_unread(session, work.shard, work.finished) {
            return true;
        }
        let again = std::mem::take(&mut work.postponed);
        // Of one that is new to purge, all that somebody may have read already.
        let known = if work.begun { work.records.len() } else { 0 };
        work.begun = true;
        self.read_all(session, &mut work);
        let fresh = work.records[known..].iter().map(|(address, _)| *address);
        work.postponed = self.purge_records(session, work.finished, Why::SeenByAll, again.into_iter().chain(fresh));
        let done = work.postponed.is_empty() && work.unread.is_none();
        if done {
            self.end_purge(work);
        } else {
            self.postponed.lock().push(work);
        }
        done
    }

    /// Reads what is not read yet of a transaction's chain; `false` when that cannot be done now.
    pub(crate) fn read_all(&self, session: &mut Session, work: &mut Postponed) -> bool {
        self.read_few(session, work, usize::MAX)
    }

    /// The same for a transaction of up to `max` records; `false` when there are more, too.
    pub(crate) fn read_few(&self, session: &mut Session, work: &mut Postponed, max: usize) -> bool {
        work.unread = self.read_chain(&mut session.buffers.near, work.unread, &mut work.records, max, |_| ());
        work.unread.is_none()
    }

    /// [`Engine::read_all`], with a look at each record that was not read yet.
    pub(crate) fn read_and_look(&self, session: &mut Session, work: &mut Postponed, look: impl FnMut(&UndoRecord<'_>)) -> bool {
        work.unread = self.read_chain(&mut session.buffers.near, work.unread, &mut work.records, usize::MAX, look);
        work.unread.is_none()
    }

    /// Adds a transaction's undo records from `at` on, the newest first, with their lengths, until there are `max`. Ends where the chain was released (before a
    /// crash) or is damaged. Returns the record that cannot be read now but may be later, or none.
    fn read_chain(
        &self,
        near: &mut Near,
        mut at: UndoPtr,
        records: &mut Vec<(UndoPtr, usize)>,
        max: usize,
        mut look: impl FnMut(&UndoRecord<'_>),
    ) -> UndoPtr {
        while !at.is_none() && records.len() < max {
            let read = self.undo.read_near(near, at, |bytes| {
                let record = UndoRecord::decode(bytes)?;
                look(&record);
                Ok((bytes.len(), record.previous))
            });
            match read.map_err(Error::from).and_then(|record| record.map_err(|_: base::Malformed| Error::corrupt("undo record"))) {
                Ok((bytes, previous)) => {
                    records.push((at, bytes));
                    at = previous;
                }
                Err(Error::UndoGone) => return UndoPtr::NONE,
                Err(error) => {
                    if may_pass(&error) {
                        return at;
                    }
                    (self.config.on_warning)(&format!("purge: {error}"));
                    return UndoPtr::NONE;
                }
            }
        }
        at
    }

    /// Purges records of a transaction; returns those to be asked again.
    pub(crate) fn purge_records(
        self: &Arc<Engine>,
        session: &mut Session,
        finished: Finished,
        why: Why,
        records: impl Iterator<Item = UndoPtr>,
    ) -> Vec<UndoPtr> {
        let mut postponed = Vec::new();
        for address in records {
            match self.purge_record(session, address, why) {
                Ok(Removed::Settled) => {}
                Ok(Removed::AskAgain) => postponed.push(address),
                Err(error) if may_pass(&error) => postponed.push(address),
                // Damage in one place does not stop purge elsewhere; what it left behind stays.
                Err(error) => (self.config.on_warning)(&format!("purge of transaction {}: {error}", finished.txn)),
            }
        }
        postponed
    }

    /// Purges a transaction that all see, if its writer has told all that it left behind, and it lies in one segment: none of its other records is read. `false` when that has to be
    /// done, or some of it has to wait.
    fn purge_unread(self: &Arc<Engine>, session: &mut Session, shard: usize, finished: Finished) -> bool {
        match finished.left {
            _ if finished.undo_bytes == 0 => return false,
            LeftBehind::Nothing | LeftBehind::Removed => {}
            LeftBehind::Unknown => return false,
            LeftBehind::Listed => {
                let Some(left) = self.history.take_left(shard, &finished) else { return false };
                if !self.purge_records(session, finished, Why::SeenByAll, left.records(finished.last_undo)).is_empty() {
                    return false;
                }
            }
        }
        self.purge_whole(session, shard, finished);
        true
    }

    /// Purges a transaction of which nothing but undo is left, in one segment: that is given back, and not read.
    pub(crate) fn purge_whole(&self, session: &mut Session, shard: usize, finished: Finished) {
        debug_assert!(self.is_share_right(finished), "{finished:?}");
        if self.undo.forgets_released() {
            // A test wants to know each address.
            let mut work = Postponed::new(shard, finished);
            self.read_all(session, &mut work);
            return self.end_purge(work);
        }
        self.undo.release_share(finished.last_undo, finished.undo_bytes);
        self.history.purged(shard, &finished);
        self.purging.note_purged();
    }

    /// Whether a transaction takes of its segment what it says, and if it says so has left nothing but that, as far as its records are in memory.
    fn is_share_right(&self, finished: Finished) -> bool {
        let (mut at, mut share) = (finished.last_undo, undo::SegmentShare::EMPTY);
        let mut later = UndoPtr::NONE;
        while !at.is_none() {
            let read = self.undo.read_in_memory(at, |bytes| {
                let record = UndoRecord::decode(bytes).ok()?;
                let left = finished.left == LeftBehind::Nothing && leaves_something(&record.change);
                (record.txn == finished.txn && !left).then_some((bytes.len(), record.previous))
            });
            let Ok(Some(record)) = read else { return true };
            let Some((bytes, previous)) = record else { return false };
            share.add(later, at, bytes);
            (later, at) = (at, previous);
        }
        share.bytes() == Some(finished.undo_bytes)
    }

    pub(crate) fn end_purge(&self, work: Postponed) {
        for (address, bytes) in work.records {
            self.undo.release(address, bytes);
        }
        self.history.purged(work.shard, &work.finished);
        self.purging.note_purged();
    }

    fn purge_record(self: &Arc<Engine>, session: &mut Session, address: UndoPtr, why: Why) -> Result<Removed> {
        // Most records leave nothing behind but themselves.
        let bytes = self.undo.read_near(&mut session.buffers.near, address, |bytes| -> Result<Option<Vec<u8>>> {
            let record = UndoRecord::decode(bytes).map_err(|_| Error::corrupt("undo record"))?;
            Ok(leaves_something(&record.change).then(|| bytes.to_vec()))
        })??;
        let Some(bytes) = bytes else { return Ok(Removed::Settled) };
        let record = UndoRecord::decode(&bytes).map_err(|_| Error::corrupt("undo record"))?;
        loop {
            let Some(table) = self.table_to_purge(session, record.table)? else { return Ok(Removed::Settled) };
            let _shared = table.lock.share(Share::Definition, session.shard, session.purge_wait(), &session.cancel)?;
            if self.is_current(&table) {
                let _one = self.purging.rows.of(&record).lock();
                return self.purge_record_in(session, &table, address, &record, why);
            }
            // DDL put another in its place while this thread waited for the lock.
        }
    }

    fn purge_record_in(
        &self,
        session: &mut Session,
        table: &Arc<Table>,
        address: UndoPtr,
        record: &UndoRecord<'_>,
        why: Why,
    ) -> Result<Removed> {
        let remove = match why {
            Why::SeenByAll => Remove::Purged(record.txn),
            Why::NeededByNobody => Remove::Between,
        };
        match record.change {
            Change::Update { old, middle, old_keys: left, .. } => {
                let mut outcome = Removed::Settled;
                for entry in old_keys(left) {
                    let (index, key) = entry.map_err(|_| Error::corrupt("undo record"))?;
                    if let Some(index) = table.index_by_id(index)
                        && session.remove_entry(table, index, key, remove)? == Removed::AskAgain
                    {
                        outcome = Removed::AskAgain;
                    }
                }
                if old.flags & EXTERNAL != 0 {
                    self.free_stored_chain(table, middle)?;
                }
                Ok(outcome)
            }
            Change::Delete { external, .. } => self.purge_deleted_row(session, table, address, record, external),
            Change::Insert | Change::InsertRun { .. } | Change::Chain { .. } => Ok(Removed::Settled),
        }
    }

    fn purge_deleted_row(
        &self,
        session: &mut Session,
        table: &Arc<Table>,
        address: UndoPtr,
        record: &UndoRecord<'_>,
        external: &[u8],
    ) -> Result<Removed> {
        let row = table.primary().tree.get(record.key, |value| value.map(<[u8]>::to_vec))?;
        let Some(row) = row else {
            // Purged before a crash or an error, which may have left its chain.
            if !external.is_empty() {
                self.free_stored_chain(table, external)?;
            }
            return Ok(Removed::Settled);
        };
        let newest = header(&row)?;
        if newest.flags & DELETE_MARK == 0 || newest.txn != record.txn || newest.undo != address {
            // The key lives again; what the deleted row left behind is in the undo record of its successor, if that stays.
            let unfinished = newest.txn != record.txn && self.txns.is_active(newest.txn);
            return Ok(if unfinished { Removed::AskAgain } else { Removed::Settled });
        }
        for index in &table.indexes[1..] {
            let mut entry = Vec::new();
            self.with_full_row(table, &row, |row| table.secondary_key(index, row, record.key, &mut entry))??;
            // Should the row come to life meanwhile, that is seen below.
            session.remove_entry(table, index, &entry, Remove::Purged(record.txn))?;
        }
        let mut leaf = table.primary().tree.write(record.key)?;
        let found = match leaf.found() {
            Some(value) => header(value)?,
            None => return Ok(Removed::Settled),
        };
        if found != newest {
            return Ok(Removed::AskAgain);
        }
        session.leave_gap(&leaf, table.primary(), Remover::Ends)?;
        leaf.remove(|_| {});
        let shrink = leaf.is_underfull();
        leaf.finish();
        if newest.flags & EXTERNAL != 0 {
            self.free_stored_chain(table, &row[record::header::HEADER_BYTES..])?;
        }
        if shrink {
            table.primary().tree.shrink(record.key)?;
        }
        Ok(Removed::Settled)
    }
}

fn leaves_something(change: &Change<'_>) -> bool {
    match change {
        Change::Update { old, old_keys, .. } => !old_keys.is_empty() || old.flags & EXTERNAL != 0,
        Change::Delete { .. } => true,
        Change::Insert | Change::InsertRun { .. } | Change::Chain { .. } => false,
    }
}
