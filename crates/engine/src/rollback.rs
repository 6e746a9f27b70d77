//! Taking changes back: a statement's, a savepoint's, a transaction's, and those that a crash left unfinished.
//!
//! # Invariants
//! 1. Secondary entries are set right first, the row last, and the row's mini-transaction logs how far the transaction has been taken back
//!    (`ROLLED_BACK_TO`). A crash in between repeats the secondary steps, which are idempotent.
//! 2. An undo record is released only when no row names it any more.
//! 3. What is taken back within a transaction stays locked until its end: a row that was locked by carrying the transaction's id is locked
//!    explicitly before an older version with another id is put back. (A row that did not exist before is gone; its gap stays locked at
//!    REPEATABLE READ.)
//! 4. Who takes back what a crash or a session without a rollback has left shares no metadata lock: it has `Table::taken_back` for one change at a time, and DDL waits for that
//!    before it frees trees.

use crate::engine::Engine;
use crate::locks::gap_lock::Remover;
use crate::log_op::LogOp;
use crate::session::Session;
use crate::table::{ENTRY_DELETED, Table, entry_value};
use crate::undo_record::{Change, OldHeader, UndoRecord, old_keys, older_body, run_keys};
use crate::version::header;
use crate::write::secondary::Remove;
use crate::{Error, Result};
use base::{TxnId, UndoPtr};
use record::header::{HEADER_BYTES, RowHeader};
use std::sync::Arc;
use std::time::{Duration, Instant};
use sync::atomic::{AtomicBool, Ordering};

/// Changes that are taken back between two looks at whether to stop.
pub(crate) const STRETCH: u64 = 256;
/// How often a long rollback tells how far it is.
const PROGRESS: Duration = if cfg!(test) { Duration::ZERO } else { Duration::from_secs(10) };

/// Transactions that a crash left unfinished and that no session has taken over.
#[derive(Default)]
pub(crate) struct Losers {
    pub(crate) waiting: Vec<(TxnId, UndoPtr)>,
    /// A session is about to take them over: they stand here until its slot names them.
    taken: Vec<(TxnId, UndoPtr)>,
}

impl Losers {
    fn take(&mut self) -> Option<(TxnId, UndoPtr)> {
        let next = self.waiting.pop()?;
        self.taken.push(next);
        Some(next)
    }

    /// All of them, for a checkpoint.
    pub(crate) fn listed(&self) -> Vec<(TxnId, UndoPtr)> {
        self.waiting.iter().chain(&self.taken).copied().collect()
    }
}

/// What becomes of the locks on rows whose changes are taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Locks {
    /// The transaction goes on.
    Stay,
    /// The transaction ends.
    Go,
}

/// A change of a transaction is taken back: `next` is the newest that is left. It is logged with what takes the change back, and the slot says it right behind that, before anything else
/// of the rollback is waited for.
#[derive(Clone, Copy)]
pub(crate) struct StepBack {
    pub(crate) txn: TxnId,
    pub(crate) next: UndoPtr,
}

impl StepBack {
    /// The step that takes back the change of an undo record.
    fn behind(record: &UndoRecord<'_>) -> StepBack {
        StepBack { txn: record.txn, next: record.previous }
    }

    fn op(self) -> LogOp<'static> {
        LogOp::RolledBackTo { txn: self.txn, next: self.next }
    }
}

impl Session {
    /// Takes back all changes newer than `mark`; the transaction goes on.
    pub(crate) fn undo_to(&mut self, mark: UndoPtr) -> Result<()> {
        self.undo(mark, Locks::Stay)
    }

    /// Takes back all changes newer than `mark` that a part of a statement made which nobody was told of: nothing of it stays locked. The statement goes on.
    pub(crate) fn undo_untold(&mut self, mark: UndoPtr) -> Result<()> {
        self.undo(mark, Locks::Go)
    }

    /// Takes back all changes; the transaction is about to end.
    pub(crate) fn undo_all(&mut self) -> Result<()> {
        self.undo(UndoPtr::NONE, Locks::Go)
    }

    fn undo(&mut self, mark: UndoPtr, locks: Locks) -> Result<()> {
        let undone = self.undo_records(mark, locks);
        if undone.is_err() {
            // A later try makes it good, if it goes as far; until then nothing may be committed.
            self.running.owe(mark);
        }
        undone
    }

    fn undo_records(&mut self, mark: UndoPtr, locks: Locks) -> Result<()> {
        while self.running.last_undo != mark && !self.running.last_undo.is_none() {
            self.undo_newest(locks)?;
        }
        Ok(())
    }

    fn undo_newest(&mut self, locks: Locks) -> Result<()> {
        let address = self.running.last_undo;
        let bytes = self.engine.undo.read(address, <[u8]>::to_vec)?;
        let record = UndoRecord::decode(&bytes).map_err(|_| Error::corrupt("undo record"))?;
        self.undo_one(address, &record, locks)?;
        self.running.step_back(record.previous);
        self.engine.undo.release(address, bytes.len());
        self.running.leaves.forget(address, bytes.len());
        Ok(())
    }

    /// Takes back up to `count` changes of a transaction that is to be rolled back whole; returns how many.
    pub(crate) fn undo_stretch(&mut self, count: u64) -> Result<u64> {
        for done in 0..count {
            if self.running.last_undo.is_none() {
                return Ok(done);
            }
            self.undo_newest(Locks::Go)?;
        }
        Ok(count)
    }

    fn undo_one(&mut self, address: UndoPtr, record: &UndoRecord<'_>, locks: Locks) -> Result<()> {
        loop {
            let Some(table) = self.engine.table_by_id(record.table)? else {
                // Dropped: there is nothing to set right.
                self.log_step(StepBack::behind(record));
                return Ok(());
            };
            let _open = self.running.is_adopted.then(|| table.taken_back.read());
            if _open.is_none() || self.engine.is_current(&table) {
                return self.undo_change(&table, address, record, locks);
            }
            // DDL put another in its place, or none, before this thread had it.
        }
    }

    fn undo_change(&mut self, table: &Arc<Table>, address: UndoPtr, record: &UndoRecord<'_>, locks: Locks) -> Result<()> {
        let step = StepBack::behind(record);
        match record.change {
            Change::Insert => self.undo_insert(table, record, Some(step), locks),
            Change::InsertRun { keys } => self.undo_run(table, record, keys, step, locks),
            Change::Update { old, prefix, suffix, middle, old_keys, .. } => {
                self.undo_update(table, address, record, old, (prefix, suffix, middle), old_keys, step, locks)
            }
            Change::Delete { old, .. } => self.undo_delete(table, address, record, old, step, locks),
            Change::Chain { index, first } => {
                self.engine.free_chain(table, index, first, record.txn)?;
                self.log_step(step);
                Ok(())
            }
        }
    }

    /// Logs a step back that changes no row.
    pub(crate) fn log_step(&mut self, step: StepBack) {
        let unsettled = self.slot.unsettle();
        self.engine.log(&mut self.buffers.undo, &step.op());
        unsettled.says(step.next);
    }

    /// Takes the rows of a run back, the first one last: with it the log says that the run is done with. Those that a try before has taken back are not there any more.
    fn undo_run(&mut self, table: &Arc<Table>, record: &UndoRecord<'_>, keys: &[u8], step: StepBack, locks: Locks) -> Result<()> {
        self.undo_run_but_first(table, record, keys, locks)?;
        self.undo_insert(table, &UndoRecord { change: Change::Insert, ..*record }, Some(step), locks)
    }

    fn undo_run_but_first(&mut self, table: &Arc<Table>, record: &UndoRecord<'_>, keys: &[u8], locks: Locks) -> Result<()> {
        let keys = run_keys(record.key, keys).map_err(|_| Error::corrupt("undo record of a run"))?;
        for key in keys.iter().skip(1).rev() {
            self.undo_insert(table, &UndoRecord { key, change: Change::Insert, ..*record }, None, locks)?;
        }
        Ok(())
    }

    /// Begins with the newest change of a transaction that is to be rolled back whole, and leaves off within: a log may end there. How many changes it has met.
    pub(crate) fn undo_newest_in_part(&mut self) -> Result<u64> {
        if self.running.last_undo.is_none() {
            return Ok(0);
        }
        let bytes = self.engine.undo.read(self.running.last_undo, <[u8]>::to_vec)?;
        let record = UndoRecord::decode(&bytes).map_err(|_| Error::corrupt("undo record"))?;
        if let (Some(table), Change::InsertRun { keys }) = (self.engine.table_by_id(record.table)?, record.change) {
            self.undo_run_but_first(&table, &record, keys, Locks::Go)?;
        }
        Ok(1)
    }

    /// Takes an inserted row back; `step` is logged with it. Without one the slot says what it said: it does not have to be unsettled for that.
    fn undo_insert(&mut self, table: &Arc<Table>, record: &UndoRecord<'_>, step: Option<StepBack>, locks: Locks) -> Result<()> {
        let Some(row) = self.own_row(table, record, UndoPtr::NONE)? else {
            if let Some(step) = step {
                self.log_step(step);
            }
            return Ok(());
        };
        for index in &table.indexes[1..] {
            let mut entry = Vec::new();
            self.engine.with_full_row(table, &row, |row| table.secondary_key(index, row, record.key, &mut entry))??;
            self.remove_entry(table, index, &entry, Remove::RolledBack(locks))?;
        }
        let mut leaf = table.primary().tree.write(record.key)?;
        if leaf.found().is_none() {
            return Err(Error::corrupt("row vanished while it was rolled back"));
        }
        self.leave_gap(&leaf, table.primary(), if locks == Locks::Stay { Remover::KeepsKey } else { Remover::Ends })?;
        let unsettled = step.map(|step| (self.slot.unsettle(), step.next));
        leaf.remove(|mtr| step.into_iter().for_each(|step| Self::note(mtr, &step.op())));
        let shrink = leaf.is_underfull();
        leaf.finish();
        if let Some((unsettled, next)) = unsettled {
            unsettled.says(next);
        }
        if shrink {
            // A load that is taken back leaves no empty pages. Should that fail the rows are gone all the same. It may wait for room in the log.
            let _ = table.primary().tree.shrink(record.key);
        }
        table.rows.fetch_sub(1, Ordering::Relaxed);
        Ok(())
    }

    fn undo_update(
        &mut self,
        table: &Arc<Table>,
        address: UndoPtr,
        record: &UndoRecord<'_>,
        old: OldHeader,
        (prefix, suffix, middle): (usize, usize, &[u8]),
        left: &[u8],
        step: StepBack,
        locks: Locks,
    ) -> Result<()> {
        let Some(row) = self.own_row(table, record, address)? else {
            self.log_step(step);
            return Ok(());
        };
        let mut older = row[..HEADER_BYTES].to_vec();
        older_body(&row[HEADER_BYTES..], prefix, suffix, middle, &mut older)
            .ok_or_else(|| Error::corrupt("undo record that does not fit its row"))?;
        RowHeader::from(old).write(&mut older);
        let was_deleted = old.flags & record::header::DELETE_MARK != 0;
        // The entries of the version that comes back live again, the others of the newest version go.
        for left_behind in old_keys(left) {
            let (index, key) = left_behind.map_err(|_| Error::corrupt("undo record"))?;
            let Some(index) = table.index_by_id(index) else { continue };
            if !was_deleted {
                self.unmark_entry(index, key)?;
            }
        }
        for index in &table.indexes[1..] {
            let moved = old_keys(left).any(|entry| entry.is_ok_and(|(id, _)| id == index.id));
            if !moved && !was_deleted {
                continue;
            }
            let mut entry = Vec::new();
            self.engine.with_full_row(table, &row, |row| table.secondary_key(index, row, record.key, &mut entry))??;
            self.remove_entry(table, index, &entry, Remove::RolledBack(locks))?;
        }
        self.put_back(table, record.key, &older, step, locks)?;
        if was_deleted {
            table.rows.fetch_sub(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn undo_delete(
        &mut self,
        table: &Arc<Table>,
        address: UndoPtr,
        record: &UndoRecord<'_>,
        old: OldHeader,
        step: StepBack,
        locks: Locks,
    ) -> Result<()> {
        let Some(mut row) = self.own_row(table, record, address)? else {
            self.log_step(step);
            return Ok(());
        };
        RowHeader::from(old).write(&mut row);
        for index in &table.indexes[1..] {
            let mut entry = Vec::new();
            self.engine.with_full_row(table, &row, |row| table.secondary_key(index, row, record.key, &mut entry))??;
            self.unmark_entry(index, &entry)?;
        }
        self.put_back(table, record.key, &row, step, locks)?;
        table.rows.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// The stored bytes of the row as the change of `record` left it; its header names `undo`. `None` when it is not like that: the change
    /// never reached the page (its mini-transaction was not logged), or is taken back already.
    fn own_row(&self, table: &Table, record: &UndoRecord<'_>, undo: UndoPtr) -> Result<Option<Vec<u8>>> {
        let row = table.primary().tree.get(record.key, |value| value.map(<[u8]>::to_vec))?;
        let Some(row) = row else { return Ok(None) };
        let header = header(&row)?;
        Ok((header.txn == record.txn && header.undo == undo).then_some(row))
    }

    fn unmark_entry(&mut self, index: &crate::table::Index, entry: &[u8]) -> Result<()> {
        let mut leaf = index.tree.write(entry)?;
        if let Some(value) = leaf.found()
            && entry_value(value)?.0 & ENTRY_DELETED != 0
        {
            leaf.patch(0, &[0], |_| {});
            leaf.raise_txn_max(self.running.id);
            leaf.finish();
        }
        Ok(())
    }

    /// Puts an older version in place of the newest.
    fn put_back(&mut self, table: &Table, key: &[u8], row: &[u8], step: StepBack, locks: Locks) -> Result<()> {
        let keep = locks == Locks::Stay && header(row)?.txn != self.running.id;
        loop {
            let mut leaf = table.primary().tree.write(key)?;
            if leaf.found().is_none() {
                return Err(Error::corrupt("row vanished while it was rolled back"));
            }
            if keep {
                self.keep_locked(table, key)?;
            }
            let unsettled = self.slot.unsettle();
            match leaf.replace(row, |mtr| Self::note(mtr, &step.op()))? {
                Ok(()) => {
                    leaf.finish();
                    unsettled.says(step.next);
                    return Ok(());
                }
                Err(btree::NoRoom) => {
                    // Making room may wait for the log.
                    drop(unsettled);
                    drop(leaf);
                    table.primary().tree.make_room(key, row.len())?;
                }
            }
        }
    }

    pub(crate) fn note(mtr: &mut buffer_pool::Mtr<'_>, op: &LogOp<'_>) {
        mtr.log(op.code(), None, |out| op.put_payload(out));
    }
}

impl Engine {
    /// Rolls back what a crash left unfinished, while sessions work already.
    pub(crate) fn roll_back_losers(self: &Arc<Engine>, stop: &AtomicBool) {
        // Those left when it stops stay unfinished, also one in the middle: checkpoints list them and the next start goes on.
        while !stop.load(Ordering::SeqCst) && self.roll_back_next(stop) {}
    }

    /// Rolls back one of the transactions that a crash left unfinished; `false` when there is none (left). The background work of
    /// [`Engine::start_background`] does this by itself.
    pub fn roll_back_loser(self: &Arc<Engine>) -> bool {
        self.roll_back_next(&AtomicBool::new(false))
    }

    /// Rolls back the next one, or a part of it when told to stop; `false` when there is none.
    pub(crate) fn roll_back_next(self: &Arc<Engine>, stop: &AtomicBool) -> bool {
        let next = self.losers.lock().take();
        let Some((txn, last_undo)) = next else { return false };
        let mut session = self.connect();
        {
            let _handover = self.handover.read();
            session.adopt(txn, last_undo);
            self.losers.lock().taken.retain(|(id, _)| *id != txn);
        }
        let undone = self.undo_loser(&mut session, stop);
        if undone == Ok(false) {
            session.leave_unfinished(|last_undo| self.losers.lock().waiting.push((txn, last_undo)));
            return true;
        }
        // Nothing is left to be taken back, or the rollback fails once more and is tried again later.
        if let Err(error) = undone.and_then(|_| session.rollback()) {
            if session.in_transaction() {
                session.abandon();
            }
            (self.config.on_warning)(&format!("rollback of transaction {txn} after the restart: {error}; it is tried again"));
        }
        // What could not be rolled back is pending by now.
        self.recovering.fetch_sub(1, Ordering::AcqRel);
        true
    }

    /// Takes back the changes of an adopted transaction; `false` when told to stop before the end.
    fn undo_loser(&self, session: &mut Session, stop: &AtomicBool) -> Result<bool> {
        let (txn, begun) = (session.running.id, Instant::now());
        let (mut rows, mut next_note) = (0, begun + PROGRESS);
        loop {
            let stretch = session.undo_stretch(STRETCH)?;
            rows += stretch;
            let done = stretch < STRETCH;
            if done && next_note == begun + PROGRESS {
                return Ok(true);
            }
            if done || Instant::now() >= next_note {
                next_note = Instant::now() + PROGRESS;
                let rate = rows as f64 / begun.elapsed().as_secs_f64().max(0.001);
                let share = match self.loser_records.lock().get(&txn) {
                    Some(all) => format!(", {} % of what the restart found", rows * 100 / (*all).max(1)),
                    None => String::new(),
                };
                let verb = if done { "done" } else { "goes on" };
                (self.config.on_note)(&format!(
                    "rollback of transaction {txn} after the restart {verb}: {rows} changes taken back ({rate:.0}/s){share}"
                ));
            }
            if done {
                return Ok(true);
            }
            if stop.load(Ordering::SeqCst) {
                return Ok(false);
            }
        }
    }

    /// Notes a transaction whose rollback failed. Whoever ends a session does not wait for a disk with room: purge tries again.
    pub(crate) fn note_abandoned(&self, txn: TxnId, last_undo: UndoPtr) {
        self.abandoned.lock().push((txn, last_undo));
    }

    /// Transactions whose rollback failed (a full disk, damage). Their rows stay locked until it succeeds.
    pub fn rollbacks_pending(&self) -> usize {
        self.abandoned.lock().len()
    }

    /// Tries each rollback that failed once more; returns how many succeeded. The background work of [`Engine::start_background`] does
    /// this by itself, about once a second.
    pub fn roll_back_abandoned(self: &Arc<Engine>) -> usize {
        if self.wal.has_failed() {
            // Among them are commits that may be durable or not, and others may have built on them: recovery decides.
            return 0;
        }
        let pending = self.abandoned.lock().clone();
        let mut count = 0;
        for (txn, last_undo) in pending {
            // Counted as long as it is in nobody's list.
            self.recovering.fetch_add(1, Ordering::AcqRel);
            let mut session = self.connect();
            {
                let _handover = self.handover.read();
                session.adopt(txn, last_undo);
                self.abandoned.lock().retain(|(id, _)| *id != txn);
            }
            count += usize::from(session.rollback().is_ok());
            self.recovering.fetch_sub(1, Ordering::AcqRel);
        }
        count
    }
}
