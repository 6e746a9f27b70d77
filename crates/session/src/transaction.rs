//! Transactions as statements see them: autocommit, BEGIN, savepoints, implicit commits, and the metadata locks that they hold.
//!
//! # Invariants
//! 1. A table's metadata lock is shared from the first statement that uses the table until the transaction ends.
//! 2. From the first half of a commit to the second ([`ClientSession::commit_before_reply`]) a session does nothing; what others may wait for goes with the second.
//! 3. A failed statement undoes its own changes, or the whole transaction where MySQL does (deadlock).
//!
//! # In this room
//! - Here: begin, commit and rollback, for the statements that say so and for those that imply it; `words.rs`: the texts of these, known without the parser. `xa.rs`: branches.
//! - `admit.rs`: the slot that a transaction works in, and when it gives it back.
//! - `lock_tables.rs`, `server_locks.rs`, `user_locks.rs`: locks on tables, on the server and on names. They are the session's: the end of a transaction lets go of none (BEGIN lets go of tables).
//!
//! # Start at
//! [`ClientSession::ensure_transaction`], [`ClientSession::statement_done`].

pub(crate) mod admit;
pub(crate) mod lock_tables;
pub(crate) mod server_locks;
pub(crate) mod user_locks;
pub(crate) mod words;
pub(crate) mod xa;

use crate::client_session::ClientSession;
use crate::error_map::{Outcome, Undo, engine_error};
use crate::temporary::Lasting;
use crate::transaction::lock_tables::TableLocks;
use crate::transaction::xa::XaBranch;
use crate::variables::variable;
use admission::Work;
use base::Lsn;
use catalog::TableEntry;
use engine::{FlushPolicy, HandlerCall, Isolation, Savepoint};
use executor::StatementContext;
use lock_manager::metadata::{Share, TableLock};
use lock_manager::shares::SharedTables;
use lock_manager::{LockError, Owner, WaitsFor};
use mysql_error::{SqlError, Warning, WarningLevel, codes};
use parser::ast;
use planner::Plan;
use protocol::ResultSink;
use std::sync::Arc;
use types::Collation;

/// Transaction state of a session beyond the engine's.
pub struct TransactionState {
    /// BEGIN was said: the transaction goes on over statements whatever `autocommit` is.
    pub explicit: bool,
    /// SET TRANSACTION without scope: for the next transaction only, so they go when one ends.
    pub next_isolation: Option<Isolation>,
    /// The same for READ ONLY.
    pub next_read_only: Option<bool>,
    /// Savepoints in order; `None` where the transaction had done nothing by then, nor read.
    savepoints: Vec<(String, Option<Savepoint>)>,
    /// Tables in use, and some that were.
    tables: SharedTables,
    /// The XA branch whose transaction this is.
    pub(crate) xa: Option<Box<XaBranch>>,
    /// All that it has changed so far are temporary tables, if anything.
    pub(crate) temporary_only: bool,
    /// What its rollback would leave as it is.
    pub(crate) lasting: Lasting,
    /// A statement that uses tables must ask [`ClientSession::check_restrictions`] first.
    pub(crate) restricted: bool,
    /// What LOCK TABLES has locked.
    pub(crate) locked: TableLocks,
}

impl TransactionState {
    /// Asks the processor's caches for the list of tables.
    #[inline]
    pub(crate) fn bring_near(&self) {
        self.tables.bring_near();
    }

    /// No transaction; its locks will be `owner`'s.
    pub(crate) fn new(owner: &Arc<Owner>) -> TransactionState {
        TransactionState {
            explicit: false,
            next_isolation: None,
            next_read_only: None,
            savepoints: Vec::new(),
            tables: SharedTables::new(owner),
            xa: None,
            temporary_only: false,
            lasting: Lasting::default(),
            restricted: false,
            locked: TableLocks::default(),
        }
    }

    /// The shares of metadata locks that the transaction holds, to be kept beyond it by the owner of its locks.
    pub(crate) fn take_tables(&mut self, owner: &Arc<Owner>) -> SharedTables {
        std::mem::replace(&mut self.tables, SharedTables::new(owner))
    }

    /// What is shared from here on is `owner`'s.
    pub(crate) fn set_lock_owner(&mut self, owner: &Arc<Owner>) {
        debug_assert_eq!(self.tables.held_count(), 0, "the transaction has ended");
        self.tables = SharedTables::new(owner);
    }

    /// Forgets what SET TRANSACTION without scope said: a transaction ends.
    #[inline]
    pub(crate) fn forget_next(&mut self) {
        self.next_isolation = None;
        self.next_read_only = None;
    }

    /// The session falls silent: what it would make again goes.
    pub(crate) fn rest(&mut self) {
        self.tables.rest();
        if self.savepoints.is_empty() {
            self.savepoints = Vec::new();
        }
    }

    /// Whether LOCK TABLES is in force.
    pub(crate) fn has_locked_tables(&self) -> bool {
        self.locked.in_force()
    }
}

/// What follows the end of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Completion {
    Nothing,
    /// Another one begins, with the level and the access mode of the one that ran.
    Chain(Option<(Isolation, bool)>),
    /// The connection ends.
    Release,
}

impl ClientSession {
    /// Starts the engine's transaction unless one runs.
    pub(crate) fn ensure_transaction(&mut self) {
        if !self.engine.in_transaction() {
            let mut isolation = self.transaction.next_isolation.unwrap_or(self.core.settings.isolation);
            if isolation == Isolation::Serializable && !self.transaction_goes_on() {
                // A transaction of one statement is in order with all others by its snapshot alone.
                isolation = Isolation::RepeatableRead;
            }
            let read_only = self.transaction.next_read_only.unwrap_or(self.core.settings.read_only);
            self.engine.begin(isolation, read_only);
            if self.core.settings.snapshot_isolation {
                self.engine.let_first_updater_win();
            }
        }
    }

    /// Whether the client is inside a transaction that goes on after the statement.
    pub(crate) fn transaction_goes_on(&self) -> bool {
        self.transaction.explicit || !self.core.settings.autocommit
    }

    /// Shares a table's metadata lock until the transaction ends.
    #[inline]
    pub(crate) fn use_table(&mut self, table: &TableEntry, share: Share) -> Result<(), Outcome> {
        if table.temporary {
            return self.use_temporary(share);
        }
        // Without a wait first: only a wait needs the time.
        if self.transaction.tables.share_now(&table.storage.lock, share, sync::lane()) {
            Ok(self.check_snapshot(table)?)
        } else {
            self.wait_for_table(table, share)
        }
    }

    /// Waits for DDL or LOCK TABLES to let go of a table.
    #[cold]
    fn wait_for_table(&mut self, table: &TableEntry, share: Share) -> Result<(), Outcome> {
        let lock = &table.storage.lock;
        if !self.has_locked(lock) {
            self.wait_for_lock(lock, share)?;
        }
        Ok(self.check_snapshot(table)?)
    }

    /// Shares the metadata locks of a plan's views until the transaction ends.
    #[inline(always)] // Most plans have none.
    pub(crate) fn use_views(&mut self, plan: &Plan) -> Result<(), Outcome> {
        if plan.views.is_empty() { Ok(()) } else { self.share_views(plan) }
    }

    fn share_views(&mut self, plan: &Plan) -> Result<(), Outcome> {
        for used in &plan.views {
            if !self.transaction.tables.share_now(&used.view.lock, Share::Read, sync::lane()) {
                self.wait_for_lock(&used.view.lock, Share::Read)?;
            }
        }
        Ok(())
    }

    #[cold]
    fn wait_for_lock(&mut self, lock: &Arc<TableLock>, share: Share) -> Result<(), Outcome> {
        let (spread, deadline) = (sync::lane(), Some(self.metadata_deadline()));
        let may_back_off = !self.transaction_goes_on() && self.engine.is_untouched();
        let mut shared = self.transaction.tables.share(lock, share, spread, deadline, self.engine.asker());
        if shared == Err(LockError::Deadlock) && may_back_off {
            // Nothing was done yet: the statement gives way, waits without anything in hand, and takes its tables again.
            shared = self.transaction.tables.give_way(lock, share, spread, deadline, self.engine.asker());
        }
        shared.map_err(|error| self.metadata_error(error))
    }

    /// Refuses a table that DDL has made or rebuilt since the transaction's snapshot, as MySQL does: its rows are not those of the snapshot.
    #[inline]
    fn check_snapshot(&self, table: &TableEntry) -> Result<(), SqlError> {
        let defined_by = table.storage.defined_by();
        if !defined_by.is_none() && self.engine.snapshot_predates(defined_by) {
            return Err(SqlError::with_message(1412, "Table definition has changed, please retry transaction"));
        }
        Ok(())
    }

    /// Refuses a statement that uses tables where an XA branch or LOCK TABLES forbids it.
    #[cold]
    pub(crate) fn check_restrictions(&mut self, plan: &Plan) -> Result<(), SqlError> {
        self.check_branch()?;
        self.check_locked_tables(plan)
    }

    /// START TRANSACTION.
    pub(crate) fn begin(&mut self, consistent_snapshot: bool, read_only: Option<bool>) -> Result<(), Outcome> {
        self.refuse_in_branch()?;
        // Where nothing runs, what SET TRANSACTION said is for this one.
        self.commit()?;
        self.unlock_tables();
        self.transaction.explicit = true;
        // Here, and not at its first statement, where there are more sessions than slots: so there are never more open ones than slots, and some whose clients have fallen silent.
        if self.shared().connections.count() > self.shared().admission.slots()
            && let Err(outcome) = self.admit_work(Work::Long)
        {
            self.transaction.explicit = false;
            return Err(outcome);
        }
        if read_only.is_some() {
            self.transaction.next_read_only = read_only;
        }
        if self.changes.tells_transaction() {
            self.note_begin(consistent_snapshot);
        }
        self.ensure_transaction();
        if consistent_snapshot {
            match self.engine.isolation() {
                Isolation::RepeatableRead => self.engine.ensure_view().map_err(|error| engine_error(error, || self.stop_error()))?,
                _ => self.core.warn(snapshot_ignored()),
            }
        }
        Ok(())
    }

    /// COMMIT.
    #[inline]
    pub(crate) fn commit_statement(&mut self, completion: &ast::Completion, sink: &mut ResultSink<'_>) -> Result<(), Outcome> {
        self.shared().status.com_commit.inc();
        self.refuse_in_branch()?;
        let next = self.completion(completion);
        if matches!(next, Completion::Nothing) {
            self.commit_before_reply(sink)?
        } else {
            self.commit()?
        }
        self.transaction.forget_next();
        self.complete(next, sink)
    }

    /// ROLLBACK.
    #[inline]
    pub(crate) fn rollback_statement(&mut self, completion: &ast::Completion, sink: &mut ResultSink<'_>) -> Result<(), Outcome> {
        self.shared().status.com_rollback.inc();
        self.refuse_in_branch()?;
        let next = self.completion(completion);
        let lasting = self.transaction.lasting;
        self.rollback()?;
        self.warn_of_lasting_tables(lasting);
        self.transaction.forget_next();
        self.complete(next, sink)
    }

    /// What a COMMIT or ROLLBACK does after it: what it says itself, else `completion_type`.
    fn completion(&self, written: &ast::Completion) -> Completion {
        let by_default = self.core.settings.completion_type;
        // Each word decides its own: AND CHAIN does not keep a session that is to end.
        if written.release.unwrap_or(by_default == 2) {
            Completion::Release
        } else if written.chain.unwrap_or(by_default == 1) {
            let running = self.engine.in_transaction();
            Completion::Chain(running.then(|| (self.engine.isolation(), self.engine.is_read_only())))
        } else {
            Completion::Nothing
        }
    }

    /// Does it, and replies.
    fn complete(&mut self, completion: Completion, sink: &mut ResultSink<'_>) -> Result<(), Outcome> {
        match completion {
            Completion::Nothing => self.reply_ok(0, sink),
            Completion::Chain(characteristics) => {
                // What was running has been committed: nothing forgets these any more.
                if let Some((isolation, read_only)) = characteristics {
                    self.transaction.next_isolation = Some(isolation);
                    self.transaction.next_read_only = Some(read_only);
                }
                let begun = self.changes.transaction.begun();
                if let Err(outcome) = self.begin(false, None) {
                    self.transaction.forget_next();
                    return Err(outcome);
                }
                self.note_chain(begun);
                self.reply_ok(0, sink);
            }
            Completion::Release => {
                self.reply_ok(0, sink);
                // As after a KILL of itself: the reply is sent, then the connection ends.
                self.killed_itself = true;
            }
        }
        Ok(())
    }

    /// Commits what runs, if anything.
    pub(crate) fn commit(&mut self) -> Result<(), Outcome> {
        self.commit_by(|engine| engine.commit().map(|()| None))
    }

    /// The same, durably whatever `innodb_flush_log_at_trx_commit` says: a definition is among the changes.
    pub(crate) fn commit_durably(&mut self) -> Result<(), Outcome> {
        self.commit_by(|engine| engine.commit_durably().map(|()| None))
    }

    /// The same where a reply is all that follows. If that may go later, what waits for the log is left to [`ClientSession::finish_commit`].
    #[inline]
    pub(crate) fn commit_before_reply(&mut self, sink: &ResultSink<'_>) -> Result<(), Outcome> {
        if sink.may_reply_later() { self.commit_to_log() } else { self.commit() }
    }

    #[inline(never)]
    fn commit_to_log(&mut self) -> Result<(), Outcome> {
        // A log of statements tells how long they took, and so does a profile.
        if self.more_results || self.logged.is_some() || self.core.profiles.is_some() {
            return self.commit();
        }
        self.commit_by(engine::Session::commit_to_log)
    }

    /// The second half of a commit, if one is to be done; waits for the log if need be.
    pub(crate) fn finish_commit(&mut self) -> Result<(), Outcome> {
        let result = self.engine.finish_commit();
        self.connection.set_committing(false);
        self.server_locks.withdraw();
        self.transaction.tables.release();
        result.map_err(|error| {
            self.note_unfinished();
            engine_error(error, || self.stop_error())
        })
    }

    #[inline]
    fn commit_by(&mut self, commit: impl FnOnce(&mut engine::Session) -> engine::Result<Option<Lsn>>) -> Result<(), Outcome> {
        // What follows is waiting for the disk, and giving locks to others: it neither needs a slot nor should it keep one from others.
        self.core.ticket.leave();
        let temporary_only = self.transaction.temporary_only;
        let announces = self.engine.has_writes() && !temporary_only && !self.server_locks.is_announced();
        if announces && let Err(outcome) = self.announce(WaitsFor::CommitLock) {
            // As MySQL does: what could not be committed is no more.
            self.rollback()?;
            return Err(outcome);
        }
        let result = if self.engine.in_transaction() {
            // The policy may have changed since the session began.
            let policy = if temporary_only { FlushPolicy::Lazy } else { self.core.shared.flush_policy() };
            self.engine.set_flush_policy(policy);
            self.transaction.forget_next();
            self.count_end(HandlerCall::Commit);
            self.connection.set_committing(true);
            self.stage("waiting for handler commit", "commit_by");
            let result = commit(&mut self.engine);
            if let Ok(Some(_)) = result {
                self.forget_transaction();
                return Ok(());
            }
            self.connection.set_committing(false);
            result.map(drop)
        } else {
            Ok(())
        };
        if announces {
            self.server_locks.withdraw();
        }
        if let Err(error) = result {
            // The log failed: the process stops. Nothing is acknowledged. Or the transaction was rolled back instead.
            self.note_unfinished();
            if !self.engine.in_transaction() {
                self.transaction_ended();
            }
            return Err(engine_error(error, || self.stop_error()));
        }
        self.transaction_ended();
        Ok(())
    }

    /// Counts what happens to a transaction that has used tables.
    #[inline]
    fn count_end(&self, call: HandlerCall) {
        if !self.engine.is_untouched() {
            self.engine.handler_counts().add(call, 1);
        }
    }

    /// Rolls back what runs, if anything.
    pub(crate) fn rollback(&mut self) -> Result<(), Outcome> {
        let result = if self.engine.in_transaction() {
            self.transaction.forget_next();
            self.count_end(HandlerCall::Rollback);
            self.engine.rollback()
        } else {
            Ok(())
        };
        if result.is_err() {
            self.note_unfinished();
        }
        self.transaction_ended();
        result.map_err(|error| engine_error(error, || self.stop_error()))
    }

    pub(crate) fn transaction_ended(&mut self) {
        self.core.ticket.leave();
        self.forget_transaction();
        self.transaction.tables.release();
    }

    /// What only the transaction's own statements ask for goes.
    #[inline]
    fn forget_transaction(&mut self) {
        self.transaction.explicit = false;
        self.transaction.temporary_only = false;
        self.transaction.lasting = Lasting::default();
        if !self.transaction.savepoints.is_empty() {
            self.transaction.savepoints.clear();
        }
    }

    /// Ends a statement that succeeded: under autocommit its transaction commits.
    #[inline]
    pub(crate) fn statement_done(&mut self) -> Result<(), Outcome> {
        if self.transaction_goes_on() { Ok(()) } else { self.commit() }
    }

    /// Whether the client is told that a transaction is open: after BEGIN, and without autocommit from the first use of a table on.
    #[inline]
    pub(crate) fn is_in_transaction(&self) -> bool {
        self.transaction.explicit
            || (!self.core.settings.autocommit && (self.engine.in_transaction() || self.transaction.has_locked_tables()))
    }

    /// Refuses a statement that writes, or locks rows exclusively, in a READ ONLY transaction: the one that runs, or the one that it would begin.
    #[inline]
    pub(crate) fn refuse_read_only(&self) -> Result<(), SqlError> {
        let read_only = match self.engine.in_transaction() {
            true => self.engine.is_read_only(),
            false => self.transaction.next_read_only.unwrap_or(self.core.settings.read_only),
        };
        if read_only { Err(codes::cant_execute_in_read_only_transaction()) } else { Ok(()) }
    }

    /// Before a reply that tells of rows, or ends a transaction: waits until all that the session has seen is durable.
    ///
    /// The OK of a change inside a transaction that goes on does not wait: its commit will, and a crash before takes it back with all it was told.
    #[inline]
    pub(crate) fn settle(&mut self) -> Result<(), Outcome> {
        self.dependencies.settle().map_err(|error| engine_error(error, || self.stop_error()))
    }

    /// Ends a statement that failed.
    pub(crate) fn statement_failed(&mut self, undo: Undo) -> Result<(), Outcome> {
        if self.engine.in_transaction() {
            self.undo_failed(undo)?;
        }
        // An error may tell of rows, too: of a duplicate key.
        if self.engine.in_transaction() { Ok(()) } else { self.settle() }
    }

    fn undo_failed(&mut self, undo: Undo) -> Result<(), Outcome> {
        let undo = match undo {
            Undo::OnTimeout if self.core.shared.number(variable!("innodb_rollback_on_timeout")) == 1 => Undo::Transaction,
            Undo::OnTimeout => Undo::Statement,
            other => other,
        };
        match undo {
            Undo::Statement if self.transaction_goes_on() => {
                self.count_end(HandlerCall::Rollback);
                let undone = self.engine.statement_rollback();
                undone.map_err(|error| engine_error(error, || self.stop_error()))
            }
            Undo::Statement | Undo::OnTimeout | Undo::Transaction => {
                if undo == Undo::Transaction && self.core.shared.number(variable!("innodb_print_all_deadlocks")) == 1 {
                    self.core.shared.deadlock_log.write_new(&self.core);
                }
                // After a deadlock the client is outside a transaction; its next statement starts one.
                self.branch_rolled_back();
                self.rollback()
            }
        }
    }

    /// SAVEPOINT.
    pub(crate) fn savepoint(&mut self, name: &str) -> Result<(), Outcome> {
        self.refuse_in_ended_branch()?;
        if !self.transaction_goes_on() {
            return Ok(());
        }
        // A branch is one transaction from its start on; what READ UNCOMMITTED has read leaves the engine untouched.
        let has_begun = !self.engine.is_untouched() || self.transaction.xa.is_some() || self.transaction.tables.held_count() > 0;
        let savepoint = has_begun.then(|| self.engine.savepoint());
        self.count_end(HandlerCall::Savepoint);
        self.transaction.savepoints.retain(|(other, _)| !same_name(other, name));
        self.transaction.savepoints.push((name.into(), savepoint));
        Ok(())
    }

    /// ROLLBACK TO SAVEPOINT.
    pub(crate) fn rollback_to(&mut self, name: &str) -> Result<(), Outcome> {
        let at = self.find_savepoint(name)?;
        self.refuse_in_ended_branch()?;
        let savepoint = self.transaction.savepoints[at].1;
        self.warn_of_lasting_tables(self.transaction.lasting);
        self.transaction.savepoints.truncate(at + 1);
        if !self.engine.in_transaction() {
            return Ok(());
        }
        let Some(savepoint) = savepoint else { return self.begin_over() };
        self.count_end(HandlerCall::SavepointRollback);
        let result = self.engine.rollback_to(savepoint);
        result.map_err(|error| engine_error(error, || self.stop_error()))
    }

    /// Takes back all that the transaction has done, which goes on as if it had done nothing: as in MySQL its row locks go, and its snapshot.
    fn begin_over(&mut self) -> Result<(), Outcome> {
        if self.engine.is_untouched() {
            return Ok(());
        }
        self.count_end(HandlerCall::Rollback);
        let (isolation, read_only) = (self.engine.isolation(), self.engine.is_read_only());
        if let Err(error) = self.engine.rollback() {
            self.note_unfinished();
            self.transaction_ended();
            return Err(engine_error(error, || self.stop_error()));
        }
        self.transaction.next_isolation = Some(isolation);
        self.transaction.next_read_only = Some(read_only);
        self.ensure_transaction();
        Ok(())
    }

    /// RELEASE SAVEPOINT.
    pub(crate) fn release_savepoint(&mut self, name: &str) -> Result<(), Outcome> {
        let at = self.find_savepoint(name)?;
        self.refuse_in_ended_branch()?;
        self.transaction.savepoints.truncate(at);
        Ok(())
    }

    fn find_savepoint(&self, name: &str) -> Result<usize, Outcome> {
        self.transaction
            .savepoints
            .iter()
            .position(|(other, _)| same_name(other, name))
            .ok_or_else(|| codes::sp_does_not_exist("SAVEPOINT", name).into())
    }
}

/// What SQL calls an isolation level.
pub(crate) fn level_name(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadUncommitted => "READ UNCOMMITTED",
        Isolation::ReadCommitted => "READ COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE READ",
        Isolation::Serializable => "SERIALIZABLE",
    }
}

/// Whether two names are of one savepoint: without case and accents.
fn same_name(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b) || Collation::Utf8mb4GeneralCi.compare(a.as_bytes(), b.as_bytes()).is_eq()
}

/// Levels other than REPEATABLE READ have no snapshot that could be taken at the start.
fn snapshot_ignored() -> Warning {
    let text = "InnoDB: WITH CONSISTENT SNAPSHOT was ignored because this phrase can only be used with REPEATABLE READ isolation level.";
    SqlError::with_message(138, text).into_warning(WarningLevel::Warning)
}
