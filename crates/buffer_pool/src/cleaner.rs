//! The cleaner: a thread that writes dirty pages before anybody must wait for it.
//!
//! Two duties. *Frames*: a reserve of free frames is kept, so that who reads a page neither writes nor looks for one to give up: the clock is turned, clean
//! pages are given up, dirty ones that it wants to give up are written first (`clean_wanted`). *Log space*: the oldest dirty page
//! bounds how far a checkpoint can move, so as the log's head nears the target age, in each round exactly those pages are written whose first change would
//! pass the target within the next round at the present rate of the log. On an idle server the dirty pages go out a few at a time, so that a
//! restart finds nothing to do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base::Lsn;
use sync::atomic::Ordering;
use sync::{futex, thread};

use crate::error::PoolError;
use crate::pool::BufferPool;

/// Time between two rounds when nobody asks for frames.
const ROUND: Duration = Duration::from_millis(100);
/// Pages of a round on an idle server.
const IDLE_PAGES: usize = 256;
/// A log that grows by less than this in a round counts as idle.
const IDLE_LOG_BYTES: u64 = 64 * 1024;
/// Batches written for the log's sake before a look at who needs frames.
const TURN_BATCHES: usize = 2;
/// Share of dirty frames above which the cleaner writes without other reason, in percent.
const DIRTY_PERCENT_MAX: usize = 75;

/// Keeps the cleaner running; stopping or dropping it ends the thread. Dirty pages stay dirty: a sharp checkpoint calls [`BufferPool::flush_all`].
pub struct CleanerHandle {
    pool: Arc<BufferPool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl CleanerHandle {
    /// Ends the thread after its current batch.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.pool.cleaner_stop.store(true, Ordering::Release);
        self.pool.wake_cleaner();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            eprintln!("page cleaner: ended by a panic");
        }
    }
}

impl Drop for CleanerHandle {
    fn drop(&mut self) {
        self.end();
    }
}

impl std::fmt::Debug for CleanerHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CleanerHandle")
    }
}

impl BufferPool {
    /// Starts the cleaner thread; at most one per pool.
    pub fn start_cleaner(self: &Arc<Self>) -> std::io::Result<CleanerHandle> {
        let pool = Arc::clone(self);
        self.cleaner_stop.store(false, Ordering::Release);
        let thread = thread::Builder::new().name("page-cleaner".into()).spawn(move || {
            memory::begin_thread();
            pool.run_cleaner()
        })?;
        Ok(CleanerHandle { pool: Arc::clone(self), thread: Some(thread) })
    }

    /// Asks the cleaner for a round now.
    pub(crate) fn wake_cleaner(&self) {
        self.cleaner_word.fetch_add(1, Ordering::Release);
        futex::wake(&self.cleaner_word, 1);
    }

    fn run_cleaner(&self) {
        let mut round = Round { head_before: self.wal().lsn_head(), bytes_per_round: 0, failing: false };
        let mut next = Instant::now() + ROUND;
        while !self.cleaner_stop.load(Ordering::Acquire) {
            let seen = self.cleaner_word.load(Ordering::Acquire);
            let outcome = self.clean_for_frames().and_then(|()| {
                if Instant::now() < next {
                    return Ok(());
                }
                next = Instant::now() + ROUND;
                self.clean_for_log(&mut round)
            });
            match outcome {
                // Said once, not each round; the counter `write_errors` goes on.
                Err(error) if !round.failing => {
                    eprintln!("page cleaner: {error}; the pages stay in memory and are tried again");
                    round.failing = true;
                }
                Err(_) => {}
                Ok(()) => round.failing = false,
            }
            let until = if round.failing { Instant::now() + ROUND } else { next };
            // After a failure a request for frames does not shorten the wait: it would spin on a broken disk.
            let expected = if round.failing { self.cleaner_word.load(Ordering::Acquire) } else { seen };
            if !self.cleaner_stop.load(Ordering::Acquire) {
                futex::wait(&self.cleaner_word, expected, Some(until));
            }
        }
    }

    fn clean_for_frames(&self) -> Result<(), PoolError> {
        // Before it is looked at what there is to do: who asks after this wakes the cleaner again.
        self.cleaner_asked.store(false, Ordering::Release);
        let mut failure = None;
        loop {
            if self.fill_reserve() {
                self.announce_freed();
            }
            let (wanted, short) = {
                let queues = self.replacement.lock();
                (queues.has_wanted(), queues.free_count() < queues.reserve())
            };
            let mut written = 0;
            if wanted {
                let flushed = self.clean_wanted(&mut self.flusher.lock());
                written = flushed.written;
                failure = failure.or(flushed.failure);
            }
            if !short || written == 0 || self.cleaner_stop.load(Ordering::Acquire) {
                return failure.map_or(Ok(()), Err);
            }
        }
    }

    /// Writes pages for the log's sake in several goes, between which those who need frames are served.
    fn flush_in_turns(&self, below: Lsn, pages_max: usize) -> Result<usize, PoolError> {
        let mut written = 0;
        let mut failure = None;
        while written < pages_max && !self.cleaner_stop.load(Ordering::Acquire) {
            let flushed = self.flush_oldest(below, (pages_max - written).min(TURN_BATCHES * self.config().batch_pages));
            failure = failure.or(flushed.failure);
            if flushed.written == 0 {
                break;
            }
            written += flushed.written;
            failure = failure.or(self.clean_for_frames().err());
        }
        failure.map_or(Ok(written), Err)
    }

    fn clean_for_log(&self, round: &mut Round) -> Result<(), PoolError> {
        let head = self.wal().lsn_head();
        let grown = head.0 - round.head_before.0;
        round.head_before = head;
        // Follows a rise at once and a fall slowly.
        round.bytes_per_round = grown.max((round.bytes_per_round * 7 + grown) / 8);
        let target_age = self.wal().capacity() / 100 * self.config().age_target_percent;
        let below = Lsn((head.0 + round.bytes_per_round).saturating_sub(target_age));
        let mut written = 0;
        if !below.is_none() {
            written = self.flush_in_turns(below, usize::MAX)?;
        }
        let dirty = self.frames().dirty_count();
        let allowed = self.frames().count() * DIRTY_PERCENT_MAX / 100;
        if dirty > allowed {
            written += self.flush_in_turns(Lsn(u64::MAX), dirty - allowed)?;
        }
        if written == 0 && grown < IDLE_LOG_BYTES && dirty > 0 {
            self.flush_some(Lsn(u64::MAX), IDLE_PAGES)?;
        }
        Ok(())
    }
}

struct Round {
    head_before: Lsn,
    /// What the log grows by in a round, smoothed.
    bytes_per_round: u64,
    failing: bool,
}
