//! One connection's handle to the engine: its transaction, its view, its locks.
//!
//! # Invariants
//! 1. A transaction has an id only from its first write on; until then it has touched nothing that others write.
//! 2. What ends a transaction happens in this order: the slot is marked as ending, the ending record is logged (and made durable for a
//!    commit), the transaction is finished for views, it enters the history, the slot is cleared. Locks go last after a rollback, and
//!    once the record is in the log at a commit (`commit.rs`).
//!
//! # Start at
//! [`Session::begin`], [`Session::commit`]; rows are read in `read.rs` and `scan.rs`, written in `write.rs`, taken back in `rollback.rs`; commits go on in `commit.rs`.

use crate::changed_tables::Touched;
use crate::commit::Dependencies;
use crate::engine::Engine;
use crate::handler_counts::HandlerCounts;
use crate::locks::ahead::{Dealing, LockedAhead};
use crate::locks::left_wait::LeftWaits;
use crate::locks::row_lock::{Read, Wait};
use crate::log_op::LogOp;
use crate::purge::leavings::Leavings;
use crate::slots::Slot;
use crate::table::Table;
use crate::write::secondary::EntryMoves;
use crate::{Error, Result};
use base::{Lsn, TxnId, UndoPtr, bring_all_near};
use lock_manager::{Asker, Cancel, Owner};
use std::sync::Arc;
use std::time::{Duration, Instant};
use sync::CachePadded;
use sync::atomic::Ordering;
use txn::{CommitPlace, ReadView, ViewSlotHandle};
use wal::FlushPolicy;

/// Isolation level of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// No snapshot: the newest version of each row, whether its writer has finished or not.
    ReadUncommitted,
    /// A fresh snapshot for each statement.
    ReadCommitted,
    /// One snapshot from the first read on; locking reads and writes lock gaps.
    RepeatableRead,
    /// The same, and plain reads lock what they show: [`Session::plain_read`].
    Serializable,
}

impl Isolation {
    /// Whether what was read may change before the transaction's next statement: READ COMMITTED and below.
    #[inline]
    pub fn is_per_statement(self) -> bool {
        matches!(self, Isolation::ReadUncommitted | Isolation::ReadCommitted)
    }
}

/// A place in a transaction to roll back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Savepoint {
    txn: TxnId,
    undo: UndoPtr,
}

/// The running transaction.
pub(crate) struct Running {
    active: bool,
    isolation: Isolation,
    read_only: bool,
    /// Writes are an error: a READ ONLY transaction that was not let write to a temporary table.
    refuses_writes: bool,
    pub(crate) id: TxnId,
    /// Newest undo record.
    pub(crate) last_undo: UndoPtr,
    /// Newest undo record when the statement began.
    statement_mark: UndoPtr,
    /// What it leaves to purge when it commits.
    pub(crate) leaves: Leavings,
    /// Taken over from a crash, or from a session whose rollback failed: it shares no metadata locks.
    pub(crate) is_adopted: bool,
    /// How far changes were to be taken back where that failed: until all of these places are reached the transaction must not commit as it is.
    owed: Vec<UndoPtr>,
    view_open: bool,
    /// Whether rows changed since the snapshot are refused to writes and locking reads.
    pub(crate) first_updater_wins: bool,
    /// The statement that runs is the first to read or write, and the snapshot its own: see [`Session::may_restart`].
    snapshot_is_new: bool,
    /// Gaps are locked for the time being, though its level locks none: [`Session::close_gaps`].
    pub(crate) closes_gaps: bool,
    /// A batch of a locking read is being locked: [`crate::Scan::next_batch_ahead`].
    pub(crate) reads_ahead: bool,
    /// Either: then what is granted is noted.
    pub(crate) notes_locks: bool,
    /// Whether the owner may hold explicit locks.
    pub(crate) may_hold_locks: bool,
    /// They were given back with the commit record.
    pub(crate) locks_are_gone: bool,
    /// The end of its commit record, between the halves of its commit; else none.
    pub(crate) appended: Lsn,
    /// It was prepared: a crash must not bring back a branch that was ended, be it without a change.
    is_prepared: bool,
    /// What PREPARE names.
    pub(crate) tables: Touched,
}

/// One connection's handle to the engine. Used by one thread at a time.
pub struct Session {
    pub(crate) engine: Arc<Engine>,
    pub(crate) view: Box<ReadView>,
    view_slot: ViewSlotHandle,
    pub(crate) commit_place: CommitPlace,
    pub(crate) dependencies: Arc<Dependencies>,
    /// What `owner` says that it comes after, when that was last waited for.
    pub(crate) earlier_holders_durable: Lsn,
    pub(crate) slot: Arc<CachePadded<Slot>>,
    pub(crate) shard: usize,
    pub(crate) running: Running,
    /// Reused by one transaction after the other.
    pub(crate) owner: Arc<Owner>,
    pub(crate) cancel: Arc<Cancel>,
    /// See [`Session::set_client`].
    pub(crate) client: u64,
    lock_wait_timeout: Duration,
    pub(crate) left: LeftWaits,
    pub(crate) flush_policy: FlushPolicy,
    /// It purges between two transactions of its own (`purge/rounds.rs`): it waits for nobody then.
    pub(crate) helps: bool,
    /// See [`Session::keep_remade`].
    pub(crate) remade: Option<Vec<crate::online::remade::Remade>>,
    /// What is asked of tables.
    pub(crate) handler_counts: Arc<HandlerCounts>,
    /// Reused buffers of the write path.
    pub(crate) buffers: Box<Buffers>,
}

/// Buffers that live as long as the session, so that a statement allocates nothing. Sessions that take turns on one thread may share a set: see [`Session::exchange_buffers`].
#[derive(Default)]
pub struct Buffers {
    pub(crate) key: Vec<u8>,
    /// Of a secondary index.
    pub(crate) entry: Vec<u8>,
    pub(crate) old_keys: Vec<u8>,
    pub(crate) undo: Vec<u8>,
    pub(crate) new_row: Vec<u8>,
    pub(crate) version: Vec<u8>,
    pub(crate) moves: EntryMoves,
    pub(crate) covered: crate::scan::covered::Buffers,
    pub(crate) lookup: crate::scan::lookup::Buffers,
    pub(crate) skips: crate::purge::skip_plan::SkipBuffers,
    pub(crate) chain: crate::version::ChainBuffers,
    pub(crate) near: undo::Near,
    pub(crate) run: btree::RunPlan,
    /// Keys before which [`Session::close_gaps`] has locked the gap.
    pub(crate) closed: Vec<(base::IndexId, Box<[u8]>)>,
    /// Keys that [`crate::Scan::next_batch_ahead`] has locked.
    pub(crate) ahead: LockedAhead,
    /// Batches whose rows are dealt with: of the tables of a join one in the other.
    pub(crate) dealing: Vec<Dealing>,
}

impl Engine {
    /// A handle for one connection.
    pub fn connect(self: &Arc<Engine>) -> Session {
        let (view_slot, owner) = (self.txns.register_slot(), self.locks.new_owner());
        Session {
            engine: Arc::clone(self),
            view: Box::default(),
            slot: self.slots.register(owner.number(), view_slot.observer()),
            view_slot,
            commit_place: self.txns.register_committer(),
            dependencies: Arc::new(Dependencies::new(Arc::clone(&self.wal), Arc::clone(&self.dependency_waits))),
            earlier_holders_durable: Lsn::NONE,
            shard: self.next_undo_shard(),
            running: Running::idle(),
            owner,
            cancel: Arc::new(Cancel::new()),
            client: 0,
            lock_wait_timeout: Duration::from_secs(50),
            left: LeftWaits::default(),
            flush_policy: FlushPolicy::Durable,
            helps: false,
            remade: None,
            handler_counts: Arc::default(),
            buffers: Box::default(),
        }
    }
}

impl Running {
    fn idle() -> Running {
        Running {
            active: false,
            isolation: Isolation::RepeatableRead,
            read_only: false,
            refuses_writes: false,
            id: TxnId::NONE,
            last_undo: UndoPtr::NONE,
            statement_mark: UndoPtr::NONE,
            leaves: Leavings::none(),
            view_open: false,
            is_adopted: false,
            owed: Vec::new(),
            first_updater_wins: false,
            snapshot_is_new: false,
            closes_gaps: false,
            reads_ahead: false,
            notes_locks: false,
            may_hold_locks: false,
            locks_are_gone: false,
            appended: Lsn::NONE,
            is_prepared: false,
            tables: Touched::new(),
        }
    }

    /// A record of so many bytes was appended and its change logged.
    #[inline]
    pub(crate) fn note_undo(&mut self, address: UndoPtr, bytes: usize, garbage: bool) {
        self.leaves.note(self.last_undo, address, bytes, garbage);
        self.last_undo = address;
    }

    /// Whether the statement that runs has changed nothing.
    pub(crate) fn has_changed_nothing(&self) -> bool {
        self.last_undo == self.statement_mark
    }

    /// The newest change is taken back, and with it what may have been owed.
    pub(crate) fn step_back(&mut self, next: UndoPtr) {
        self.last_undo = next;
        self.owed.retain(|mark| *mark != next);
    }

    /// Changes newer than `mark` could not all be taken back: one perhaps in part only.
    pub(crate) fn owe(&mut self, mark: UndoPtr) {
        self.owed.push(mark);
    }

    /// Whether something of it was to be taken back and is not.
    #[inline]
    pub(crate) fn is_half_undone(&self) -> bool {
        !self.owed.is_empty()
    }

    #[inline]
    fn reset(&mut self) {
        // A branch that was taken over may have no id.
        if !self.id.is_none() || self.leaves.has_garbage() {
            self.forget_changes();
        }
        self.active = false;
        self.statement_mark = UndoPtr::NONE;
        self.view_open = false;
        self.is_adopted = false;
        self.owed.clear();
        self.first_updater_wins = false;
        self.snapshot_is_new = false;
        self.closes_gaps = false;
        self.may_hold_locks = false;
        self.locks_are_gone = false;
        self.appended = Lsn::NONE;
        self.is_prepared = false;
    }

    /// Whether it has an id and nothing to show for it: a row was to be changed to what it is, was not there, or all changes were taken back.
    #[inline]
    pub(crate) fn is_without_effect(&self) -> bool {
        self.last_undo.is_none() && !self.id.is_none() && !self.is_prepared
    }

    /// What only a transaction that has written has noted.
    #[inline(never)]
    fn forget_changes(&mut self) {
        self.id = TxnId::NONE;
        self.last_undo = UndoPtr::NONE;
        self.leaves.clear();
        self.tables.clear();
    }
}

impl Session {
    /// Asks the processor's caches for what a statement touches of the session and lies apart from it. It is about to run one, and others have run theirs since its last.
    #[inline]
    pub fn bring_near(&self) {
        bring_all_near(&*self.dependencies);
        bring_all_near(&*self.view);
        bring_all_near(&**self.slot);
        bring_all_near(&*self.owner);
        bring_all_near(&*self.cancel);
        bring_all_near(&*self.handler_counts);
        self.view_slot.bring_near();
        self.commit_place.bring_near();
    }

    /// Exchanges its buffers for these. Between statements only; nothing in them is of one session rather than another.
    pub fn exchange_buffers(&mut self, buffers: &mut Box<Buffers>) {
        std::mem::swap(&mut self.buffers, buffers);
    }

    /// The session falls silent: what it would make again goes. Between statements only.
    pub fn rest(&mut self) {
        *self.buffers = Buffers::default();
        if !self.running.active {
            self.running.leaves.rest();
            self.running.tables = Touched::new();
        }
    }

    /// Starts a transaction. Nothing shared is touched. A transaction that runs already is the caller's to end first.
    pub fn begin(&mut self, isolation: Isolation, read_only: bool) {
        assert!(!self.running.active, "begin inside a transaction");
        self.running.active = true;
        self.running.isolation = isolation;
        self.running.read_only = read_only;
        self.running.refuses_writes = read_only;
        self.owner.set_locks_gaps(!isolation.is_per_statement());
        self.slot.begin(self.engine.coarse_ms.load(Ordering::Relaxed), isolation, read_only);
    }

    /// A READ ONLY transaction may write from here on: the caller answers for it that it writes to tables only that nobody else ever sees.
    pub fn let_write_temporary(&mut self) {
        self.running.refuses_writes = false;
    }

    /// Makes the transaction that has just begun at REPEATABLE READ one of true snapshot isolation: the first of two who change a row wins,
    /// and a write or a locking read of a row that was changed since the snapshot is [`Error::Changed`]. See [`Session::may_restart`].
    pub fn let_first_updater_win(&mut self) {
        debug_assert!(self.running.active && self.running.id.is_none());
        self.running.first_updater_wins = self.running.isolation == Isolation::RepeatableRead;
    }

    /// With no latch held, before rows are locked: opens the view that they are compared with.
    #[inline]
    pub(crate) fn before_locks(&mut self) {
        if self.running.first_updater_wins {
            self.open_snapshot();
        }
    }

    /// Whether a row written by `txn`, which no longer has it locked, may not be changed or locked by this transaction.
    #[inline]
    pub(crate) fn refuses_changed(&self, txn: TxnId) -> bool {
        self.running.first_updater_wins && !self.view.sees(txn, self.running.id)
    }

    /// Whether a statement that fails with [`Error::Changed`] may be run again by [`Session::restart_statement`]: its transaction has neither
    /// read nor written anything before it, so nothing needs the snapshot that it began with.
    #[inline]
    pub fn may_restart(&self) -> bool {
        self.running.snapshot_is_new
    }

    /// Takes the statement's changes back and lets go of its snapshot, so that it can be run again with one that shows what it has met: that is
    /// waited for, until it is durable. Locks stay, so whoever has waited for a row finds it unchanged the next time.
    pub fn restart_statement(&mut self) -> Result<()> {
        assert!(self.running.snapshot_is_new, "a transaction whose snapshot was used keeps it");
        self.statement_rollback()?;
        self.close_view();
        self.settle()
    }

    /// How a statement reads that asks for no lock.
    #[inline]
    pub fn plain_read(&self) -> Read {
        match self.running.isolation {
            Isolation::Serializable => Read::Share(Wait::Block),
            _ => Read::Snapshot,
        }
    }

    /// Whether a transaction runs.
    pub fn in_transaction(&self) -> bool {
        self.running.active && self.running.appended.is_none()
    }

    /// Whether the running transaction refuses writes.
    pub fn is_read_only(&self) -> bool {
        self.running.read_only
    }

    /// Isolation level of the running transaction.
    pub fn isolation(&self) -> Isolation {
        self.running.isolation
    }

    /// Whether the running transaction has come to change something: it has an id.
    pub fn has_writes(&self) -> bool {
        !self.running.id.is_none()
    }

    /// Whether nothing is left of what it has come to change: such a one commits as one that has only read.
    pub fn is_without_effect(&self) -> bool {
        self.running.is_without_effect()
    }

    /// The running transaction's id; none before its first write.
    pub fn txn_id(&self) -> TxnId {
        self.running.id
    }

    /// What was changed so far stays when the next statement fails, even before it begins to read or write.
    #[inline]
    pub fn keep_changes(&mut self) {
        self.running.statement_mark = self.running.last_undo;
    }

    /// A statement begins: its changes can be taken back alone, and under READ COMMITTED it reads a fresh snapshot.
    pub fn statement_start(&mut self) {
        self.running.statement_mark = self.running.last_undo;
        if self.running.isolation.is_per_statement() {
            self.close_view();
        } else if self.running.first_updater_wins {
            self.running.snapshot_is_new = self.is_untouched();
        }
    }

    /// Takes back the statement's changes; locks stay.
    pub fn statement_rollback(&mut self) -> Result<()> {
        let mark = self.running.statement_mark;
        self.undo_to(mark)
    }

    /// Takes back what a statement has changed since `mark`, which it has set itself; it goes on. Locks stay.
    pub fn take_back(&mut self, mark: Savepoint) -> Result<()> {
        self.undo_to(mark.undo)
    }

    /// A place to return to with [`Session::rollback_to`].
    pub fn savepoint(&self) -> Savepoint {
        Savepoint { txn: self.running.id, undo: self.running.last_undo }
    }

    /// Takes back all changes since the savepoint; locks stay.
    pub fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        // A savepoint made before the first write has no transaction id, and everything is after it.
        if !savepoint.txn.is_none() && savepoint.txn != self.running.id {
            return Err(Error::NoSavepoint);
        }
        self.undo_to(savepoint.undo)?;
        self.running.statement_mark = savepoint.undo;
        Ok(())
    }

    /// Whether the transaction's snapshot, kept over statements, is older than the end of the transaction `txn`.
    pub fn snapshot_predates(&self, txn: TxnId) -> bool {
        self.running.view_open && !self.running.isolation.is_per_statement() && !self.view.sees(txn, self.running.id)
    }

    /// Opens the snapshot of a consistent read by an index, unless it is older than the index: then that holds too little for it.
    #[inline]
    pub(crate) fn ensure_view_by(&mut self, table: &Table, index_no: usize) -> Result<()> {
        self.ensure_view()?;
        let added_by = table.indexes[index_no].added_by();
        if !added_by.is_none() && self.snapshot_predates(added_by) { Err(Error::TableGone(table.id)) } else { Ok(()) }
    }

    /// Opens the transaction's snapshot now, whatever it comes after: [`Session::ensure_view`] is for what a client is to see.
    pub fn open_snapshot(&mut self) {
        if self.running.isolation == Isolation::ReadUncommitted {
            // Newest versions stay where they are while their leaf is latched: nothing needs to be kept for this reader.
            self.view.see_all();
        } else if !self.running.view_open {
            self.engine.txns.open_view(&mut self.view, &self.view_slot);
            self.running.view_open = true;
        }
    }

    /// Rolls the whole transaction back. Changes that could not be taken back (damage, a full disk) are reported; the transaction then stays
    /// unfinished, its rows locked, until a later try succeeds ([`Engine::roll_back_abandoned`]).
    pub fn rollback(&mut self) -> Result<()> {
        if !self.running.id.is_none() {
            let undone = self.undo_all();
            if let Err(error) = undone {
                self.abandon();
                return Err(error);
            }
            self.end_without_effect();
            return Ok(());
        }
        self.end();
        Ok(())
    }

    /// Ends a transaction with an id of which nothing is left. Nobody waits for the log: who finds it cut before this finds nothing of it, either.
    pub(crate) fn end_without_effect(&mut self) {
        let unsettled = self.slot.unsettle();
        self.engine.log(&mut self.buffers.undo, &LogOp::RollbackEnd { txn: self.running.id });
        unsettled.until_cleared();
        self.engine.txns.finish(self.running.id);
        self.end();
    }

    /// Takes over a transaction that a crash left unfinished, to roll it back.
    pub(crate) fn adopt(&mut self, txn: TxnId, last_undo: UndoPtr) {
        self.begin(Isolation::RepeatableRead, false);
        self.running.id = txn;
        self.running.last_undo = last_undo;
        self.running.leaves.adopt();
        self.running.is_adopted = true;
        self.slot.start(txn, last_undo);
        self.owner = self.engine.locks.find_owner(txn).unwrap_or_else(|| self.engine.locks.register(txn));
        self.tell_owner();
    }

    /// Lets go of the running transaction without ending it; what it held goes with it. The session is outside a transaction then; its slot
    /// still names the transaction, until [`Session::leave_slot`].
    pub(crate) fn detach(&mut self) -> (TxnId, UndoPtr, Arc<Owner>) {
        let (txn, last_undo) = (self.running.id, self.running.last_undo);
        if txn.is_none() && self.running.may_hold_locks {
            // Nothing that it has done can be seen, so nothing needs its locks any more.
            self.engine.locks.release_all(&self.owner);
        }
        let owner = std::mem::replace(&mut self.owner, self.engine.locks.new_owner());
        owner.set_client(0);
        self.set_client(self.client);
        self.tell_owner();
        self.close_view();
        self.running.reset();
        (txn, last_undo, owner)
    }

    /// What [`Session::detach`] let go of stands where checkpoints find it.
    pub(crate) fn leave_slot(&mut self) {
        self.slot.clear();
    }

    /// Takes over a transaction that another session has let go of.
    pub(crate) fn attach(&mut self, txn: TxnId, last_undo: UndoPtr, owner: Arc<Owner>) {
        self.begin(Isolation::RepeatableRead, false);
        self.running.id = txn;
        self.running.last_undo = last_undo;
        self.running.leaves.take_over();
        self.running.is_prepared = true;
        self.running.may_hold_locks = true;
        if !txn.is_none() {
            self.slot.start(txn, last_undo);
        }
        self.owner = owner;
        self.set_client(self.client);
        self.tell_owner();
    }

    /// Waits until the log is durable up to `lsn`, as far as the flush policy demands, and up to whatever the transaction has built on: another
    /// session may commit it, which does not know of that. When that fails recovery decides what becomes of the transaction.
    pub(crate) fn make_durable(&mut self, lsn: Lsn) -> Result<()> {
        let durable = self.engine.wal.commit(lsn, self.flush_policy).map_err(Error::from).and_then(|()| self.settle());
        durable.map_err(|error| {
            let error = self.engine.note_failure(error);
            self.abandon();
            error
        })
    }

    /// The same for all that the log has so far, outside a transaction.
    pub(crate) fn make_log_durable(&self) -> Result<()> {
        let engine = &self.engine;
        engine.wal.commit(engine.wal.lsn_head(), self.flush_policy).map_err(|error| engine.note_log_failure(error))
    }

    /// Clears what the ended transaction held.
    #[inline]
    pub(crate) fn end(&mut self) {
        if !self.running.id.is_none() {
            self.slot.clear();
        }
        self.release_locks(Lsn::NONE);
        self.close_view();
        self.running.reset();
    }

    /// Gives all locks back, if they are not gone yet. `commit`: up to where the log must be durable for others to see the transaction; none when they see it.
    #[inline]
    pub(crate) fn release_locks(&mut self, commit: Lsn) {
        let holds = !self.running.id.is_none() || self.running.may_hold_locks;
        if holds && !self.running.locks_are_gone {
            self.engine.locks.release_before_durable(&self.owner, commit);
            self.running.locks_are_gone = true;
        }
    }

    /// Leaves a transaction behind that could not be rolled back: unfinished, its rows locked, until another try.
    pub(crate) fn abandon(&mut self) {
        let engine = Arc::clone(&self.engine);
        let txn = self.running.id;
        self.leave_unfinished(|last_undo| engine.note_abandoned(txn, last_undo));
    }

    /// Lets go of a transaction that stays unfinished. `list` puts it, with its newest change, where checkpoints find it; after that the slot forgets it.
    pub(crate) fn leave_unfinished(&mut self, list: impl FnOnce(UndoPtr)) {
        list(self.running.last_undo);
        // The owner stays with the transaction, so that those who wait for its rows wait for somebody.
        self.owner.set_client(0);
        self.owner = self.engine.locks.new_owner();
        self.set_client(self.client);
        self.tell_owner();
        self.slot.clear();
        self.close_view();
        self.running.reset();
    }

    /// Prepares for a write: gives the transaction its id at the first one.
    #[inline]
    pub(crate) fn ensure_writer(&mut self) -> Result<TxnId> {
        assert!(self.running.active, "a write outside a transaction");
        if self.running.refuses_writes {
            return Err(Error::ReadOnlyTransaction);
        }
        self.before_locks();
        if self.running.id.is_none() {
            self.wait_for_purge();
            let id = self.engine.txns.allocate_id();
            self.running.id = id;
            self.slot.start(id, UndoPtr::NONE);
            self.engine.locks.set_txn(&self.owner, id);
        }
        Ok(self.running.id)
    }

    /// Opens the transaction's snapshot unless it has one. No latch may be held.
    ///
    /// What the transaction has built on stands in rows that it has written, and these it sees as they are. A snapshot without the rest of it
    /// would show it in part: a new one waits until that is durable, and so finished (`commit.rs`). The reply with its rows would wait as long.
    /// And whoever had its locks before it comes before it: that its snapshot shows all that was committed under a lock is what a lock is taken for.
    #[inline]
    pub fn ensure_view(&mut self) -> Result<()> {
        if !self.running.view_open && self.running.isolation != Isolation::ReadUncommitted {
            self.settle()?;
            self.await_earlier_holders()?;
        }
        self.open_snapshot();
        Ok(())
    }

    /// Whether the transaction's snapshot, which is open, sees another transaction.
    pub(crate) fn sees(&self, txn: TxnId) -> bool {
        self.view.sees(txn, self.running.id)
    }

    fn close_view(&mut self) {
        if self.running.view_open {
            self.engine.txns.close_view(&self.view_slot);
            self.running.view_open = false;
        }
    }

    /// The cancel flag that KILL sets.
    pub fn cancel(&self) -> &Arc<Cancel> {
        &self.cancel
    }

    /// Who holds the session's locks. Another one when the transaction was prepared, or when the session has ended a prepared one.
    pub fn lock_owner(&self) -> &Arc<Owner> {
        &self.owner
    }

    /// The session as one who asks for metadata locks.
    pub fn asker(&self) -> Asker<'_> {
        Asker::new(&self.engine.locks, &self.owner, &self.cancel)
    }

    /// Whether the running transaction has done nothing yet: neither read nor locked nor written. Plain reads at READ UNCOMMITTED, which need no view, leave no trace here.
    pub fn is_untouched(&self) -> bool {
        self.running.id.is_none() && !self.running.view_open && !self.running.may_hold_locks
    }

    /// Whom the session works for, by a number that means something above: what lists of locks and transactions show. 0 for nobody.
    pub fn set_client(&mut self, client: u64) {
        self.client = client;
        self.owner.set_client(client);
        self.slot.set_client(client, self.owner.number());
    }

    /// Where calls are counted.
    #[inline]
    pub fn handler_counts(&self) -> &HandlerCounts {
        &self.handler_counts
    }

    /// Counts calls where others can see them, from now on.
    pub fn count_calls_in(&mut self, counts: Arc<HandlerCounts>) {
        self.handler_counts = counts;
    }

    /// `innodb_lock_wait_timeout`.
    pub fn set_lock_wait_timeout(&mut self, timeout: Duration) {
        self.lock_wait_timeout = timeout;
    }

    pub(crate) fn lock_deadline(&self) -> Option<Instant> {
        Some(Instant::now() + self.lock_wait_timeout)
    }

    /// `innodb_flush_log_at_trx_commit`.
    pub fn set_flush_policy(&mut self, policy: FlushPolicy) {
        self.flush_policy = policy;
    }

    /// The engine.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.give_up_left_wait();
        if !self.running.appended.is_none() {
            // An error leaves it to recovery.
            let _ = self.finish_commit();
        } else if self.running.active {
            // An error leaves the transaction to `Engine::roll_back_abandoned`.
            let _ = self.rollback();
        }
    }
}
