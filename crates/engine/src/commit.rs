//! Commit: the record, early lock release, durability, and what is left for purge. Why it is right: `docs/design/early-lock-release.md`.
//!
//! # Invariants
//! 1. A transaction with flush policy `Durable` stands in the commit queue before its commit record is filled; whoever makes the log durable up
//!    to the record finishes it (`Finisher`), in the order of the records. So who finds the log durable up to a commit finds it finished.
//! 2. Its locks go when the record is in the log: first for writers who look at its rows (`TxnSystem::release`), then the explicit ones. From
//!    there on it can only commit, or be lost in a crash together with all that came after.
//! 3. A session that meets a version whose writer has released and not finished notes the log's head ([`Dependencies`]). Nothing that tells of
//!    the version leaves the session, and no commit of it is acknowledged or seen, before the log is durable up to there.
//! 4. Other policies release when they finish, which their own thread does once it has waited for what it depends on.
//! 5. A transaction of which nothing is left ends without a commit record and without waiting, as if rolled back, unless what it has seen is not durable yet.
//! 6. Between [`Session::commit_to_log`] and [`Session::finish_commit`] the session runs nothing; dropped there, it finishes.

use crate::log_op::LogOp;
use crate::purge::leavings::Bequest;
use crate::session::Session;
use crate::{Error, Result};
use base::{Lsn, TxnId};
use std::sync::Arc;
use sync::atomic::{AtomicU64, Ordering};
use txn::{Standing, TxnSystem};
use wal::{DurableObserver, FlushPolicy, Wal};

/// Finishes what the log has made durable.
pub(crate) struct Finisher {
    pub(crate) txns: Arc<TxnSystem>,
}

impl DurableObserver for Finisher {
    fn durable(&self, up_to: Lsn) {
        self.txns.finish_durable(up_to);
    }
}

/// How far the log must be durable before the session may tell what it has seen.
///
/// Shared with whoever sends replies: those that carry rows, and those after which no commit of the transaction follows, wait for
/// [`Dependencies::settle`]. One load when nothing is open.
pub struct Dependencies {
    /// 0: nothing is open. Relaxed: only the session's own thread uses it.
    up_to: AtomicU64,
    wal: Arc<Wal>,
    /// Of all sessions; relaxed.
    waits: Arc<AtomicU64>,
}

impl Dependencies {
    pub(crate) fn new(wal: Arc<Wal>, waits: Arc<AtomicU64>) -> Dependencies {
        Dependencies { up_to: AtomicU64::new(0), wal, waits }
    }

    /// A version was met whose writer has released and not finished: its commit record lies below the log's head.
    #[cold]
    pub(crate) fn note(&self) {
        self.up_to.store(self.wal.lsn_head().0, Ordering::Relaxed);
    }

    /// Returns when everything that the session has seen is durable. No latch may be held.
    #[inline]
    pub fn settle(&self) -> Result<()> {
        if self.up_to.load(Ordering::Relaxed) == 0 { Ok(()) } else { self.wait() }
    }

    #[cold]
    fn wait(&self) -> Result<()> {
        self.wait_for(Lsn(self.up_to.load(Ordering::Relaxed)))?;
        self.clear();
        Ok(())
    }

    /// Returns when the log is durable up to `lsn`. No latch may be held.
    fn wait_for(&self, lsn: Lsn) -> Result<()> {
        self.waits.fetch_add(1, Ordering::Relaxed);
        Ok(self.wal.wait_durable(lsn)?)
    }

    /// The log is durable up to a record that was reserved after all that was noted.
    pub(crate) fn clear(&self) {
        self.up_to.store(0, Ordering::Relaxed);
    }

    /// Whether something seen is not known to be durable.
    pub fn is_open(&self) -> bool {
        self.up_to.load(Ordering::Relaxed) != 0
    }
}

impl std::fmt::Debug for Dependencies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Dependencies({})", self.up_to.load(Ordering::Relaxed))
    }
}

impl Session {
    /// Whether the writer of a row's newest version has it locked. One that has let go of it but is not durable yet is noted: this session
    /// depends on it from here on.
    #[inline]
    pub(crate) fn locked_by_writer(&self, writer: TxnId) -> bool {
        match self.engine.txns.standing(writer) {
            Standing::Finished => false,
            Standing::Holding => true,
            Standing::Released => {
                self.dependencies.note();
                false
            }
        }
    }

    /// Commits. When it returns, the transaction is durable as far as the flush policy demands, and whatever it has seen is durable.
    ///
    /// [`Error::LogFailed`] leaves the outcome to recovery: the process must stop.
    ///
    /// A transaction of which something could not be taken back before (a full disk) is rolled back instead, which is an error.
    pub fn commit(&mut self) -> Result<()> {
        if self.running.is_half_undone() {
            self.rollback()?;
            return Err(Error::Io("a statement of the transaction could not be taken back; the transaction was rolled back".into()));
        }
        if self.running.id.is_none() {
            // Its locks protect nothing any more; what it has read may still have to become durable.
            self.end();
            return self.settle().map_err(|error| self.engine.note_failure(error));
        }
        if self.ends_without_record() {
            self.end_without_effect();
            return Ok(());
        }
        self.commit_by_record()
    }

    /// Whether the transaction has an id that no commit record has to name.
    #[inline]
    fn ends_without_record(&self) -> bool {
        self.running.is_without_effect() && !self.dependencies.is_open()
    }

    /// [`Session::commit`] of a transaction with an id.
    fn commit_by_record(&mut self) -> Result<()> {
        let committed = match self.flush_policy {
            FlushPolicy::Durable => self.append_commit().and_then(|lsn| self.await_durable(lsn)),
            policy => self.commit_by(policy),
        };
        self.committed(committed)
    }

    /// The first half of a commit: the record is in the log and the locks are gone, but nothing is durable yet. Returns how far the log must be before anybody is told;
    /// then [`Session::finish_commit`] follows, on any thread. `None` when the transaction has ended, as [`Session::commit`] says: where there is nothing to wait for, or what
    /// is to be done may not be put off.
    pub fn commit_to_log(&mut self) -> Result<Option<Lsn>> {
        let waits = self.flush_policy == FlushPolicy::Durable && self.engine.config.mechanisms.early_lock_release;
        if !waits || self.running.is_half_undone() || self.running.id.is_none() || self.ends_without_record() {
            return self.commit().map(|()| None);
        }
        match self.append_commit() {
            Ok(lsn) => {
                self.running.appended = lsn;
                Ok(Some(lsn))
            }
            Err(error) => self.committed(Err(error)).map(|()| None),
        }
    }

    /// Between the halves of a commit: how far the log must be durable before it is finished; else none.
    #[inline]
    pub fn awaits_log(&self) -> Lsn {
        self.running.appended
    }

    /// The second half, if there is one to be done: waits for the log unless that is durable already. Errors as of [`Session::commit`].
    pub fn finish_commit(&mut self) -> Result<()> {
        let lsn = std::mem::take(&mut self.running.appended);
        if lsn.is_none() {
            return Ok(());
        }
        let durable = self.await_durable(lsn);
        self.committed(durable)
    }

    /// [`Session::commit`], durable whatever the session's flush policy: definitions are. So is then all that the log had before.
    pub fn commit_durably(&mut self) -> Result<()> {
        let policy = std::mem::replace(&mut self.flush_policy, FlushPolicy::Durable);
        let has_record = !self.running.id.is_none() && !self.running.is_half_undone();
        let committed = if has_record { self.commit_by_record() } else { self.commit() };
        self.flush_policy = policy;
        committed
    }

    /// After the wait for the log.
    pub(crate) fn committed(&mut self, outcome: Result<()>) -> Result<()> {
        if let Err(error) = outcome {
            let error = self.engine.note_failure(error);
            // Neither committed nor to be rolled back: recovery decides. No checkpoint may wait for it until then.
            self.abandon();
            return Err(error);
        }
        self.leave_to_purge();
        self.end();
        self.help_purge();
        Ok(())
    }

    /// What replies wait for; see [`Dependencies`].
    pub fn dependencies(&self) -> &Arc<Dependencies> {
        &self.dependencies
    }

    /// Waits until everything that this session has seen is durable.
    #[inline]
    pub fn settle(&self) -> Result<()> {
        self.dependencies.settle()
    }

    /// Waits until those who had this session's locks before it are seen by new snapshots. A version that they have left is noted where it is met, but they need
    /// not have changed what they had locked.
    #[inline]
    pub(crate) fn await_earlier_holders(&mut self) -> Result<()> {
        if self.owner.comes_after() <= self.earlier_holders_durable { Ok(()) } else { self.await_holders() }
    }

    #[cold]
    fn await_holders(&mut self) -> Result<()> {
        let up_to = self.owner.comes_after();
        if self.engine.wal.durable() < up_to {
            self.dependencies.wait_for(up_to)?;
        }
        self.earlier_holders_durable = up_to;
        Ok(())
    }

    /// Puts the commit record into the log and lets go of all locks. What becomes of the transaction is decided from here on.
    pub(crate) fn append_commit(&mut self) -> Result<Lsn> {
        let id = self.running.id;
        self.encode_commit();
        let unsettled = self.slot.unsettle();
        let engine = &*self.engine;
        let record = engine.wal.reserve(self.buffers.undo.len());
        let lsn = record.end;
        // Before the record is filled: who finds the log complete up to it finds the transaction in the queue.
        let queued = engine.txns.queue_commit(&self.commit_place, id, lsn);
        record.fill(&engine.wal, &self.buffers.undo);
        if !queued {
            return Err(Error::LogFailed);
        }
        unsettled.commit_logged();
        if engine.config.mechanisms.early_lock_release {
            engine.txns.release(id);
            self.release_locks(lsn);
        }
        Ok(lsn)
    }

    /// Waits until the commit record is durable; whoever saw to that has finished the transaction.
    pub(crate) fn await_durable(&mut self, lsn: Lsn) -> Result<()> {
        self.engine.wal.wait_durable(lsn)?;
        self.engine.wal.mark_durable();
        // All that it has built on has earlier records.
        self.dependencies.clear();
        Ok(())
    }

    /// Commits with one of the policies that acknowledge before the log is durable.
    fn commit_by(&mut self, policy: FlushPolicy) -> Result<()> {
        // Those that it comes after are seen first.
        self.await_earlier_holders()?;
        self.encode_commit();
        let unsettled = self.slot.unsettle();
        let engine = &*self.engine;
        let lsn = engine.wal.append(&self.buffers.undo);
        unsettled.commit_logged();
        engine.wal.commit(lsn, policy)?;
        // What others were promised to be durable is not shown before, by way of what was built on it.
        self.settle()?;
        engine.txns.finish(self.running.id);
        Ok(())
    }

    /// Leaves the commit record's body in `buffers.undo`.
    fn encode_commit(&mut self) {
        let wall_micros = self.engine.clock.wall_us() as u64;
        let op = LogOp::Commit { txn: self.running.id, last_undo: self.running.last_undo, wall_micros };
        op.put_record(&mut self.buffers.undo);
    }

    /// The transaction has finished: what it left behind goes to purge, or at once.
    fn leave_to_purge(&mut self) {
        let (engine, shard, running) = (&*self.engine, self.shard, &mut self.running);
        if !running.leaves.has_garbage() {
            for (address, bytes) in running.leaves.drain_fresh() {
                engine.undo.release(address, bytes);
            }
            return;
        }
        // Somebody else finished it, maybe; a later position only keeps purge a little.
        let seq = engine.txns.finished_now();
        engine.history.note_passed(shard, running.id, running.leaves.passed());
        match running.leaves.bequest(running.id, running.last_undo, seq) {
            Bequest::Kept(finished, ways) => engine.history.push_kept(shard, finished, ways),
            Bequest::Purge(finished, ways, left) => {
                if engine.history.push_known(shard, finished, ways, left) {
                    engine.wake_purge();
                }
            }
        }
    }
}
