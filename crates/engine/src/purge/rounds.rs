//! Who purges, and when: workers, each with its part of the history's shards; and committers, where workers fall behind.
//!
//! A worker is one thread beside all those that write, and gets the processor as often as one of them. So writers purge as well: who commits, and finds the shard of the history
//! that it adds to behind, purges some transactions of it itself, more than the one that it has added. So purge is faster than writing whatever the number of threads,
//! and who writes pays for it. A history that is long because a view needs it asks nothing of them.
//!
//! # Invariants
//! 1. Entries are taken out of a shard under its latch: no transaction is purged by two at once. What two do to one row they do one after the other (`purge.rs`).
//! 2. The first worker alone looks for lagging views, after entries that rollbacks left, and after what had to be postponed.
//! 3. Who helps holds no latch and waits for nobody: it leaves tables that are not open, or that DDL has, and transactions of many changes, to the workers.
//!
//! `innodb_max_purge_lag` delays writers by sleeping, as MySQL does; it is off unless set.

use crate::engine::Engine;
use crate::purge::history::LeftBehind;
use crate::purge::{Postponed, RowLatches};
use crate::session::Session;
use crate::table::Table;
use crate::{Error, Result};
use base::TableId;
use lock_manager::WaitPolicy;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Mutex, Rank, Signal};
use txn::{FinishSeq, PurgeLimit, Snapshots};

/// Transactions of one history shard that are purged between two looks at the views.
pub(crate) const BATCH: usize = 64;
/// How long purge sleeps when there is nothing, or little, that it may remove.
const PAUSE: Duration = Duration::from_millis(20);
/// Transactions that are worth a round: it looks at each shard of the history, whatever it finds there.
const ROUND_MIN: usize = 32;
/// How often the age of the history is looked at.
const AGE_PAUSE: Duration = Duration::from_secs(1);
/// How often the AUTO_INCREMENT counters that moved are written to their tree.
const COUNTERS_PAUSE: Duration = Duration::from_secs(10);
/// How often rollbacks that failed are tried again.
const ROLLBACK_PAUSE: Duration = Duration::from_secs(1);
/// Entries of a shard that could be purged, or at least be looked at, from which on those who add to it purge as well. What a view needs does not count: a
/// snapshot that idles for an hour would have every commit look in vain.
const HELP_FROM: u64 = 512;
/// Transactions that one who commits purges then: a history that may go gets shorter by two for each that is added.
const HELP_TRANSACTIONS: usize = 3;
/// Undo records of a transaction that is purged so, at most.
const HELP_RECORDS_MAX: usize = 64;
/// Transactions that finish between two looks at the views, at least, for those who purge all the while.
const LOOK_AFTER: u64 = 128;
/// Longest delay by `innodb_max_purge_lag`.
const DELAY_MAX: Duration = Duration::from_secs(10);

/// What workers and helpers share.
pub(crate) struct Purging {
    /// One for each worker.
    wake: Box<[Signal]>,
    pub(crate) rows: RowLatches,
    /// Transactions purged in all; relaxed, like the others.
    purged: AtomicU64,
    /// By those who committed.
    helped: AtomicU64,
    /// All views see what finished up to here, as of some round.
    limit: AtomicU64,
    /// The same of any transaction: with no view taken by itself, its settled ones are those that all see.
    horizon: Mutex<Option<Arc<Snapshots>>>,
    /// The newest that had finished when somebody last looked at the views because it was time.
    looked: AtomicU64,
    /// `innodb_max_purge_lag`, and how long it may delay in microseconds; 0: not at all, and no bound.
    lag_max: AtomicU64,
    delay_max_us: AtomicU64,
    delays: AtomicU64,
}

impl Purging {
    pub(crate) fn new(workers: usize) -> Purging {
        Purging {
            wake: (0..workers.clamp(1, 32)).map(|_| Signal::new()).collect(),
            rows: RowLatches::new(),
            purged: AtomicU64::new(0),
            helped: AtomicU64::new(0),
            limit: AtomicU64::new(0),
            horizon: Mutex::new(Rank::Leaf, None),
            looked: AtomicU64::new(0),
            lag_max: AtomicU64::new(0),
            delay_max_us: AtomicU64::new(0),
            delays: AtomicU64::new(0),
        }
    }

    pub(crate) fn workers(&self) -> usize {
        self.wake.len()
    }

    /// What all views see, as of some round.
    pub(crate) fn horizon(&self) -> Option<Arc<Snapshots>> {
        self.horizon.lock().clone()
    }

    pub(crate) fn note_purged(&self) {
        self.purged.fetch_add(1, Ordering::Relaxed);
    }
}

/// A worker: its number, and how many there are.
#[derive(Clone, Copy)]
struct Worker(usize, usize);

impl Engine {
    /// The first worker.
    pub(crate) fn purge_loop(self: &Arc<Engine>, stop: &AtomicBool) {
        let mut session = self.connect();
        let worker = Worker(0, self.purging.workers());
        let mut counters_next = Instant::now() + COUNTERS_PAUSE;
        let mut rollback_next = Instant::now() + ROLLBACK_PAUSE;
        let mut age_next = Instant::now();
        while !stop.load(Ordering::SeqCst) {
            if self.purge_round(&mut session, worker) < ROUND_MIN {
                self.purging.wake[0].wait(Some(Instant::now() + PAUSE));
            }
            if Instant::now() >= age_next {
                let (newest, oldest) = (self.txns.finished_now(), self.history.oldest());
                self.ages.lock().note(Instant::now(), newest, oldest);
                age_next = Instant::now() + AGE_PAUSE;
            }
            if Instant::now() >= counters_next {
                if let Err(error) = self.counters.write_back() {
                    (self.config.on_warning)(&format!("AUTO_INCREMENT counters: {error}; checkpoints carry them on"));
                }
                counters_next = Instant::now() + COUNTERS_PAUSE;
            }
            if self.rollbacks_pending() > 0 && Instant::now() >= rollback_next {
                self.roll_back_abandoned();
                rollback_next = Instant::now() + ROLLBACK_PAUSE;
            }
        }
    }

    /// One of the other workers.
    pub(crate) fn purge_more_loop(self: &Arc<Engine>, number: usize, stop: &AtomicBool) {
        let mut session = self.connect();
        let worker = Worker(number, self.purging.workers());
        while !stop.load(Ordering::SeqCst) {
            if self.purge_shards(&mut session, worker) < ROUND_MIN {
                self.purging.wake[number].wait(Some(Instant::now() + PAUSE));
            }
        }
    }

    /// There is more to purge than is left to chance.
    pub(crate) fn wake_purge(&self) {
        self.purging.wake.iter().for_each(Signal::notify);
    }

    /// Purges all that may be purged now; for tests and for an orderly shutdown.
    pub fn purge_all(self: &Arc<Engine>) {
        self.count_undo(&AtomicBool::new(false));
        let mut session = self.connect();
        self.history.look_again_at_all();
        while self.purge_round(&mut session, Worker(0, 1)) > 0 {}
        self.release_emptied_blocks();
    }

    /// What a worker does until there is nothing left to do for now; for tests.
    #[cfg(test)]
    pub(crate) fn purge_as_worker(self: &Arc<Engine>) {
        let mut session = self.connect();
        while self.purge_round(&mut session, Worker(0, 1)) > 0 {}
    }

    /// One batch of each of the worker's shards, and what only the first does; returns how many transactions (and entries that rollbacks left) were purged.
    fn purge_round(self: &Arc<Engine>, session: &mut Session, worker: Worker) -> usize {
        self.release_emptied_blocks();
        let mut count = self.purge_leftovers(session);
        if self.history.len() == 0 {
            self.prune.off();
            return count;
        }
        count += self.purge_postponed(session);
        self.look_for_lagging_views();
        count + self.purge_shards(session, worker)
    }

    fn purge_shards(self: &Arc<Engine>, session: &mut Session, worker: Worker) -> usize {
        let Worker(number, of) = worker;
        let shards = || (number..self.history.shard_count()).step_by(of);
        if shards().all(|shard| self.history.shard_len(shard) == 0) {
            return 0;
        }
        let limit = self.tell_purge_limit();
        let mut count = 0;
        for shard in shards() {
            let taken = self.history.take(shard, BATCH, limit.finished);
            for finished in taken {
                count += usize::from(self.purge_transaction(session, Postponed::new(shard, finished)));
            }
        }
        count + self.prune_shards(session, shards())
    }

    /// Finds out what all views see, and tells those who help, who would take long to find it out. It only grows.
    pub(crate) fn tell_purge_limit(&self) -> PurgeLimit {
        let limit = self.txns.purge_limit();
        self.purging.limit.fetch_max(limit.finished.0, Ordering::Relaxed);
        // None: a view is just being opened. What all saw a moment ago they still see.
        if let Some(horizon) = self.txns.snapshots(Snapshots::NO_LAG) {
            *self.purging.horizon.lock() = Some(Arc::new(horizon));
        }
        limit
    }

    /// Looks at the views when many have finished since somebody did. By a copy that is old, rows seem to be changed by many that are not settled, and all behind
    /// them to be needed: who purges slowly because there is much would find less to purge for it.
    pub(crate) fn look_at_views_again(&self) {
        let (now, looked) = (self.txns.finished_now().0, self.purging.looked.load(Ordering::Relaxed));
        if now.saturating_sub(looked) >= LOOK_AFTER
            && self.purging.looked.compare_exchange(looked, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            self.tell_purge_limit();
            self.look_for_lagging_views();
        }
    }

    /// Purges one small transaction of the session's shard, as its session helps; `false` when there is none.
    fn purge_one(self: &Arc<Engine>, session: &mut Session) -> bool {
        self.look_at_views_again();
        let shard = session.shard % self.history.shard_count();
        let limit = FinishSeq(self.purging.limit.load(Ordering::Relaxed));
        let seen_by_all = self.history.take(shard, 1, limit).pop();
        let (finished, views) = match seen_by_all {
            Some(finished) => (finished, None),
            None => {
                let Some(views) = self.lagging_views() else { return false };
                if self.notice_passed(session, shard, &views) > 0 {
                    return true;
                }
                let between = self.history.take_between(shard, 1, |finished| views.settled(finished.txn)).pop();
                let Some(finished) = between else { return false };
                if let Some(purged) = self.prune_unread(session, &views, shard, finished) {
                    self.purging.helped.fetch_add(u64::from(purged), Ordering::Relaxed);
                    return true;
                }
                if self.is_still_needed(session, &views, shard, finished) {
                    return true;
                }
                (finished, Some(views))
            }
        };
        let mut work = Postponed::new(shard, finished);
        // Of these none but what they left behind is read.
        let is_short = finished.undo_bytes != 0 && finished.left != LeftBehind::Unknown;
        if views.is_none() && is_short {
            let purged = self.purge_transaction(session, work);
            self.purging.helped.fetch_add(u64::from(purged), Ordering::Relaxed);
            return true;
        }
        if !self.read_few(session, &mut work, HELP_RECORDS_MAX) {
            self.history.put_back(shard, &finished);
            return false;
        }
        let purged = match views {
            None => self.purge_transaction(session, work),
            Some(views) => self.prune_or_keep(session, &views, work),
        };
        self.purging.helped.fetch_add(u64::from(purged), Ordering::Relaxed);
        true
    }

    /// The table of a record that is to be purged; `None` when it was dropped.
    pub(crate) fn table_to_purge(&self, session: &Session, id: TableId) -> Result<Option<Arc<Table>>> {
        if !session.helps {
            return self.table_by_id(id);
        }
        // Opening one asks the catalogue, which may be in the middle of what this session is doing.
        self.open_table_by_id(id).map(Some).ok_or(Error::LockNotAvailable)
    }

    /// Sets `innodb_max_purge_lag`, transactions in the history past which each that begins to write is delayed, and `innodb_max_purge_lag_delay`, the
    /// longest delay in microseconds. 0: none; no bound.
    pub fn set_max_purge_lag(&self, transactions: u64, delay_us: u64) {
        self.purging.delay_max_us.store(delay_us, Ordering::Relaxed);
        self.purging.lag_max.store(transactions, Ordering::Relaxed);
    }

    /// How long a transaction waits that begins to write.
    pub(crate) fn purge_delay(&self) -> Duration {
        let lag_max = self.purging.lag_max.load(Ordering::Relaxed);
        let length = self.history.len();
        if lag_max == 0 || length <= lag_max {
            return Duration::ZERO;
        }
        // The formula of MySQL's manual, in microseconds.
        let delay = ((length as f64 / lag_max as f64 - 0.9995) * 10_000.0).round() as u64;
        let bound = match self.purging.delay_max_us.load(Ordering::Relaxed) {
            0 => DELAY_MAX,
            bound => Duration::from_micros(bound).min(DELAY_MAX),
        };
        Duration::from_micros(delay).min(bound)
    }

    #[cold]
    fn delay_for_purge(&self) {
        let delay = self.purge_delay();
        if delay > Duration::ZERO {
            self.purging.delays.fetch_add(1, Ordering::Relaxed);
            self.wake_purge();
            Signal::new().wait(Some(Instant::now() + delay));
        }
    }

    /// Finished transactions that were purged since the start, between snapshots or when all views saw them.
    pub fn purged(&self) -> u64 {
        self.purging.purged.load(Ordering::Relaxed)
    }

    /// Those of them that writers have purged, because purge was behind.
    pub fn purged_by_writers(&self) -> u64 {
        self.purging.helped.load(Ordering::Relaxed)
    }

    /// Times that `innodb_max_purge_lag` delayed a transaction.
    pub fn purge_delays(&self) -> u64 {
        self.purging.delays.load(Ordering::Relaxed)
    }
}

impl Session {
    /// After a commit: purges a little when purge is behind with its shard of the history.
    #[inline]
    pub(crate) fn help_purge(&mut self) {
        // Sessions without a client may belong to somebody who holds a latch: the catalogue.
        if self.client == 0 {
            return;
        }
        if self.engine.prune.is_on() {
            self.engine.refresh_lagging_views();
        }
        if self.engine.history.backlog(self.shard) > HELP_FROM {
            self.help_purge_now();
        }
    }

    #[cold]
    fn help_purge_now(&mut self) {
        let engine = Arc::clone(&self.engine);
        self.helps = true;
        let _ = (0..HELP_TRANSACTIONS).all(|_| engine.purge_one(self));
        // There may be thousands of sessions.
        self.buffers.near.clear();
        self.helps = false;
    }

    /// How purge waits for a table's metadata lock.
    pub(crate) fn purge_wait(&self) -> WaitPolicy {
        if self.helps { WaitPolicy::NoWait } else { WaitPolicy::Wait(None) }
    }

    /// Before the first write of a transaction, with no latch held: `innodb_max_purge_lag`.
    #[inline]
    pub(crate) fn wait_for_purge(&self) {
        if self.client != 0 && self.engine.purging.lag_max.load(Ordering::Relaxed) != 0 {
            self.engine.delay_for_purge();
        }
    }
}
