//! Reading pages ahead of who will need them: a scan names the pages it will come to, and a few threads bring them in, many at once.
//!
//! # Invariants
//! 1. Who names pages never waits; what does not fit the queue is forgotten. It is advice.
//! 2. A page that is being read ahead is claimed as by any reader, so whoever comes for it waits for that read and does not read it twice.
//! 3. A thread that has claimed pages waits for nothing but the disk: frames it takes only where no page must be written for them.
//! 4. A page that was read ahead for nobody has no claim to its frame.

use std::collections::VecDeque;
use std::sync::Arc;
// Std's, as the table's words are.
use std::sync::atomic::AtomicU64;

use base::PageNo;
use page_store::PageRead;
use sync::atomic::{AtomicBool, AtomicU32, Ordering};
use sync::{Mutex, Rank, futex, thread};

use crate::fetch::Arrival;
use crate::guard::ExclusiveGuard;
use crate::pool::BufferPool;
use crate::word;

/// Pages that one thread has in flight at most.
const BATCH_PAGES: usize = 32;
/// Pages that may wait to be read at most.
const QUEUE_PAGES_MAX: usize = 1024;
/// Part of the pool that what is read ahead and not used yet may take: one frame in this many waits or is in flight.
const POOL_SHARE: usize = 16;

/// Pages to be read.
pub(crate) struct ReadAhead {
    queue: Mutex<VecDeque<PageNo>>,
    /// Grows when pages were queued; the threads sleep on it.
    word: AtomicU32,
    /// Threads at work or asleep; without any nothing is queued.
    threads: AtomicU32,
    stop: AtomicBool,
    queue_max: usize,
    batch_max: usize,
}

impl ReadAhead {
    pub(crate) fn new(frames: usize) -> ReadAhead {
        ReadAhead {
            queue: Mutex::new(Rank::Leaf, VecDeque::new()),
            word: AtomicU32::new(0),
            threads: AtomicU32::new(0),
            stop: AtomicBool::new(false),
            queue_max: (frames / POOL_SHARE).min(QUEUE_PAGES_MAX),
            batch_max: (frames / POOL_SHARE / 2).clamp(1, BATCH_PAGES),
        }
    }
}

/// Keeps the threads that read ahead running; dropping it ends them.
pub struct ReadAheadHandle {
    pool: Arc<BufferPool>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Drop for ReadAheadHandle {
    fn drop(&mut self) {
        let ahead = &self.pool.ahead;
        ahead.threads.store(0, Ordering::Relaxed);
        ahead.stop.store(true, Ordering::Release);
        ahead.word.fetch_add(1, Ordering::Release);
        futex::wake(&ahead.word, u32::MAX);
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                eprintln!("read-ahead: ended by a panic");
            }
        }
    }
}

impl std::fmt::Debug for ReadAheadHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ReadAheadHandle({} threads)", self.threads.len())
    }
}

impl BufferPool {
    /// Starts the threads that read ahead, as many as [`crate::PoolConfig::read_ahead_threads`] says.
    pub fn start_read_ahead(self: &Arc<Self>) -> std::io::Result<ReadAheadHandle> {
        let mut handle = ReadAheadHandle { pool: Arc::clone(self), threads: Vec::new() };
        self.ahead.stop.store(false, Ordering::Release);
        for _ in 0..self.config().read_ahead_threads {
            let pool = Arc::clone(self);
            handle.threads.push(thread::Builder::new().name("read-ahead".into()).spawn(move || {
                memory::begin_thread();
                pool.run_read_ahead()
            })?);
        }
        self.ahead.threads.store(handle.threads.len() as u32, Ordering::Relaxed);
        Ok(handle)
    }

    /// Names pages that somebody will soon ask for, in the order in which he will. Those that are in memory are passed over. Never waits.
    pub fn read_ahead(&self, pages: &[PageNo]) {
        let ahead = &self.ahead;
        if ahead.threads.load(Ordering::Relaxed) == 0 || pages.iter().all(|page| self.is_resident(*page)) {
            return;
        }
        {
            let mut queue = ahead.queue.lock();
            let room = ahead.queue_max.saturating_sub(queue.len());
            queue.extend(pages.iter().filter(|page| !self.is_resident(**page)).take(room));
        }
        ahead.word.fetch_add(1, Ordering::Release);
        // One thread for each batch's worth.
        futex::wake(&ahead.word, pages.len().div_ceil(ahead.batch_max) as u32);
    }

    fn run_read_ahead(&self) {
        let ahead = &self.ahead;
        let mut batch = Vec::with_capacity(ahead.batch_max);
        while !ahead.stop.load(Ordering::Acquire) {
            let seen = ahead.word.load(Ordering::Acquire);
            {
                let mut queue = ahead.queue.lock();
                let count = queue.len().min(ahead.batch_max);
                batch.extend(queue.drain(..count));
            }
            if batch.is_empty() {
                futex::wait(&ahead.word, seen, None);
            } else {
                self.read_batch_ahead(&batch);
                batch.clear();
            }
        }
    }

    fn read_batch_ahead(&self, pages: &[PageNo]) {
        let read = self.read_batch(pages, Arrival::Ahead, || self.try_take_frame()).read;
        self.stats.reads_ahead.fetch_add(read as u64, Ordering::Relaxed);
    }

    /// Reads those of some pages that nobody has or brings, at once, into frames that `take_frame` gives; where it gives none the rest is left.
    pub(crate) fn read_batch(&self, pages: &[PageNo], arrival: Arrival, take_frame: impl Fn() -> Option<usize>) -> Brought {
        let mut claimed = Vec::with_capacity(pages.len());
        let mut out_of_frames = false;
        for &page in pages {
            let Ok(cell) = self.cell(page) else { continue };
            if self.is_resident(page) || !word::claim_absent(cell) {
                continue;
            }
            match take_frame() {
                Some(frame) => claimed.push((cell, page, frame)),
                None => {
                    word::release_exclusive(cell, page.0, self.lot(), false);
                    out_of_frames = true;
                    break;
                }
            }
        }
        // Neighbours in the file are read as one.
        claimed.sort_unstable_by_key(|(_, page, _)| *page);
        word::before_filling::<AtomicU64>();
        let mut reads: Vec<PageRead<'_>> = claimed
            .iter()
            .map(|(_, page, frame)| {
                // SAFETY: `take_frame` put the frame in this thread's hand and no page is in it; each frame is in the list once.
                let buffer = unsafe { self.frames().bytes_mut(*frame) };
                PageRead { page: *page, buffer, result: Ok(()) }
            })
            .collect();
        self.store().read_many(&mut reads);
        let good: Vec<bool> = reads.into_iter().map(|read| read.result.is_ok()).collect();
        let mut brought = Brought { read: 0, out_of_frames };
        for ((cell, page, frame), good) in claimed.into_iter().zip(good) {
            if !good {
                // Whoever needs the page reads it and meets the error.
                self.replacement.lock().put_free(frame);
                word::release_exclusive(cell, page.0, self.lot(), false);
                continue;
            }
            brought.read += 1;
            self.install(cell, page, frame, arrival);
            drop(ExclusiveGuard::new(self, cell, page, frame));
        }
        brought
    }
}

/// What became of pages that were to be read before anybody asks for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Brought {
    /// How many are in memory now that were not.
    pub read: usize,
    /// The rest was left: there was no frame for it.
    pub out_of_frames: bool,
}
