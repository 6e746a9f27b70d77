//! Redo: one pass over the log. The thread that opens reads and parses; page operations are done by workers, each for its share of the pages.
//!
//! ```text
//! log ─▶ LogReader::read_ahead ─▶ reader ─┬─ row changes, commits, … ──▶ Learned, UndoStore     (in the order of the log)
//!                                         └─ operations on pages, by page number ──▶ worker 0 … n ──▶ BufferPool::redo_page
//!                                                                                       └─ pages it will want ──▶ BufferPool::read_ahead
//! ```
//!
//! # Invariants
//! 1. All operations on a page go to one worker, in the order of the log. Pages do not depend on each other: a mini-transaction logs what it did to
//!    each, and nobody looks at any page before all workers are done.
//! 2. A batch holds whole records as far as one page is concerned: a worker sees all operations of a record on its page at once.
//! 3. The log is known to be durable up to what was read before its operations are handed out ([`Wal::read_up_to`]): a worker that runs out of frames
//!    may write any page.
//!
//! Without workers the reader does it all, batch by batch, always in the same order: a simulated crash is repeatable.

use crate::log_op::LogOp;
use crate::recovery::learned::Learned;
use crate::{Error, Result};
use base::{CACHE_LINE_BYTES, Lsn, PageNo, bring_near};
use buffer_pool::{BufferPool, RedoHandlers, RedoOp, makes_page_anew, ops};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};
use sync::{Mutex, Rank};
use undo::UndoStore;
use wal::{LogReader, Wal};

/// Operations' bytes in a batch before it is done. Large enough that a page that changes often is latched, and fetched from memory, once for many changes;
/// small enough for a processor's own cache: of 1, 2 and 4 MiB two took the least time, by a little (docs/reliability.md, Seconds a GiB).
const BATCH_BYTES: usize = 2 << 20;
/// Operations in a batch.
const BATCH_OPS: usize = 1 << 16;
/// Batches that wait for one worker.
const BATCHES_WAITING: usize = 2;
/// Pages that a worker asks for ahead, at most.
const PAGES_AHEAD_MAX: usize = 256;
/// Pages that it names at once.
const PAGES_NAMED: usize = 32;
/// How often progress is told; in tests each time that it might be.
const PROGRESS: Duration = if cfg!(test) { Duration::ZERO } else { Duration::from_secs(2) };

/// What redo did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RedoReport {
    /// Where the log ended.
    pub end: Lsn,
    /// Bytes of log read.
    pub log_bytes: u64,
    /// Records.
    pub records: u64,
    /// Operations on pages.
    pub page_ops: u64,
    /// How long it took.
    pub elapsed: Duration,
}

/// Operations on pages of one worker.
#[derive(Default)]
struct Batch {
    /// The operations' payloads.
    bytes: Vec<u8>,
    ops: Vec<Item>,
    /// For [`Batch::sort`].
    keys: Vec<u64>,
    sorted: Vec<Item>,
}

#[derive(Clone, Copy)]
struct Item {
    page: PageNo,
    /// Where the record starts, and its length.
    start: Lsn,
    record_bytes: u32,
    /// Where the payload lies, and its length.
    at: u32,
    len: u32,
    op: u8,
}

impl Batch {
    /// With room for all that a batch takes: growing, it would be copied, and its memory fetched from the system, twice over.
    fn with_room() -> Batch {
        Batch {
            // The record that fills it may be larger than what is left; then it grows after all.
            bytes: Vec::with_capacity(BATCH_BYTES + (BATCH_BYTES >> 3)),
            ops: Vec::with_capacity(BATCH_OPS),
            keys: Vec::with_capacity(BATCH_OPS),
            sorted: Vec::with_capacity(BATCH_OPS),
        }
    }

    fn push(&mut self, page: PageNo, start: Lsn, end: Lsn, op: u8, payload: &[u8]) {
        let record_bytes = (end.0 - start.0) as u32;
        self.ops.push(Item { page, start, record_bytes, at: self.bytes.len() as u32, len: payload.len() as u32, op });
        self.bytes.extend_from_slice(payload);
    }

    fn is_full(&self) -> bool {
        self.bytes.len() >= BATCH_BYTES || self.ops.len() >= BATCH_OPS
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ops.clear();
    }

    /// Brings the operations on each page together, in the order of the log. By small keys: page and place in the batch in one number.
    fn sort(&mut self) {
        const PLACE_BITS: u32 = 20;
        let fits = self.ops.len() < 1 << PLACE_BITS && self.ops.iter().all(|item| item.page.0 >> (64 - PLACE_BITS) == 0);
        if !fits {
            // A huge record, or a page number that is none of ours, which whoever looks it up will say.
            return self.ops.sort_by_key(|item| item.page);
        }
        self.keys.clear();
        self.keys.extend(self.ops.iter().enumerate().map(|(place, item)| item.page.0 << PLACE_BITS | place as u64));
        self.keys.sort_unstable();
        self.sorted.clear();
        self.sorted.extend(self.keys.iter().map(|key| self.ops[(key & ((1 << PLACE_BITS) - 1)) as usize]));
        std::mem::swap(&mut self.ops, &mut self.sorted);
    }

    fn ops_of<'b>(&'b self, of_page: &'b [Item]) -> impl Iterator<Item = RedoOp<'b>> {
        of_page.iter().map(|item| {
            let payload = &self.bytes[item.at as usize..][..item.len as usize];
            RedoOp { start: item.start, end: Lsn(item.start.0 + u64::from(item.record_bytes)), op: item.op, payload }
        })
    }

    /// Asks the processor for operations. The thread that filled the batch ran on another one, and in the order of the pages it foresees nothing.
    fn bring_payloads_near(&self, of_page: &[Item]) {
        for item in of_page {
            bring_near(&self.bytes, item.at as usize);
            bring_near(&self.bytes, item.at as usize + CACHE_LINE_BYTES);
        }
    }

    /// Does everything, page by page. Pages are named to those who read ahead before they are wanted, and what the processor will wait for is asked for some pages ahead: first
    /// the operations, then by them the words of the page that say where their places are, then by those the places.
    fn apply(&mut self, pool: &BufferPool, handlers: &RedoHandlers, pages_ahead: usize) -> Result<()> {
        self.sort();
        let pages = || self.ops.chunk_by(|a, b| a.page == b.page);
        let wants_reading = |of_page: &&[Item]| !of_page.iter().any(|item| makes_page_anew(item.op));
        let mut coming = pages();
        let mut named = Vec::new();
        let mut name = |count: usize| {
            named.clear();
            named.extend(coming.by_ref().take(count).filter(wants_reading).map(|of_page| of_page[0].page));
            pool.read_ahead(&named);
        };
        name(pages_ahead);
        let stride = pages_ahead.min(PAGES_NAMED);
        let (mut far, mut nearer, mut near) = (pages(), pages(), pages());
        let mut come_nearer = |words: bool, places: bool| {
            if let Some(of_page) = far.next() {
                self.bring_payloads_near(of_page);
            }
            if words && let Some(of_page) = nearer.next() {
                pool.bring_words_near(of_page[0].page, self.ops_of(of_page), handlers);
            }
            if places && let Some(of_page) = near.next() {
                pool.bring_places_near(of_page[0].page, self.ops_of(of_page), handlers);
            }
        };
        come_nearer(false, false);
        come_nearer(true, false);
        come_nearer(true, true);
        let mut of_one = Vec::new();
        for (at, of_page) in pages().enumerate() {
            if stride > 0 && at.is_multiple_of(stride) {
                name(stride);
            }
            come_nearer(true, true);
            of_one.clear();
            of_one.extend(self.ops_of(of_page));
            pool.redo_page(of_page[0].page, &of_one, handlers)?;
        }
        Ok(())
    }
}

/// Reads the log to its end and does it all again.
pub(crate) struct Redo<'a> {
    pub(crate) wal: &'a Wal,
    pub(crate) pool: &'a Arc<BufferPool>,
    pub(crate) undo: &'a UndoStore,
    pub(crate) handlers: &'a RedoHandlers,
    /// Threads that change pages; 0: the calling thread does.
    pub(crate) workers: usize,
    /// Undo may take so much memory when it cannot be written out.
    pub(crate) undo_bytes_max: u64,
    /// Told of progress.
    pub(crate) note: &'a (dyn Fn(&str) + Sync),
    /// Told what an operator should know.
    pub(crate) warn: &'a (dyn Fn(&str) + Sync),
}

/// Where batches go.
trait Hands {
    /// Takes a full batch of a share; leaves an empty one. `false` when there is no use in going on.
    fn hand_over(&mut self, share: usize, batch: &mut Batch) -> Result<bool>;
}

impl Redo<'_> {
    pub(crate) fn run(&self, reader: &mut LogReader, learned: &mut Learned) -> Result<RedoReport> {
        if self.workers == 0 {
            return self.read(reader, learned, 1, &mut Alone { redo: self });
        }
        let failed = Mutex::new(Rank::Leaf, None);
        let _reading_ahead = self.pool.start_read_ahead().map_err(|error| Error::Io(error.to_string()))?;
        let report = sync::thread::scope(|scope| {
            let (empty_sender, empty) = channel();
            let workers = (0..self.workers)
                .map(|_| {
                    let (sender, batches) = sync_channel::<Batch>(BATCHES_WAITING);
                    let (done, failed) = (empty_sender.clone(), &failed);
                    let worker = move || {
                        memory::begin_thread();
                        if let Err(error) = self.work(&batches, &done) {
                            failed.lock().get_or_insert(error);
                        }
                    };
                    sync::thread::Builder::new()
                        .name("redo".into())
                        .spawn_scoped(scope, worker)
                        .map_err(|error| Error::Io(error.to_string()))?;
                    Ok(sender)
                })
                .collect::<Result<_>>()?;
            reader.read_ahead().map_err(|error| Error::Io(error.to_string()))?;
            // The queues end with their senders, and the threads with the queues.
            self.read(reader, learned, self.workers, &mut Shared { workers, empty })
        });
        match failed.into_inner() {
            Some(error) => Err(error),
            None => report,
        }
    }

    fn read(&self, reader: &mut LogReader, learned: &mut Learned, shares: usize, hands: &mut dyn Hands) -> Result<RedoReport> {
        let begun = Instant::now();
        let (first, bytes_max) = (reader.first(), reader.bytes_max());
        let mut report = RedoReport::default();
        let mut next_note = begun + PROGRESS;
        let mut spill_failed = false;
        let mut batches: Vec<Batch> = (0..shares).map(|_| Batch::default()).collect();
        while let Some(entry) = reader.next()? {
            self.wal.read_up_to(entry.end);
            report.records += 1;
            for op in ops(entry.body) {
                let op = op.map_err(|_| Error::corrupt("log record"))?;
                if op.op >= LogOp::FIRST_CODE {
                    let op = LogOp::decode(op.op, op.payload).map_err(|_| Error::corrupt("log operation"))?;
                    learned.apply(op, self.undo)?;
                }
                if !op.page.is_none() {
                    batches[share_of(op.page, shares)].push(op.page, entry.start, entry.end, op.op, op.payload);
                    report.page_ops += 1;
                }
            }
            report.log_bytes = entry.end.0 - first.0;
            for (share, batch) in batches.iter_mut().enumerate() {
                if batch.is_full() && !hands.hand_over(share, batch)? {
                    return Ok(report);
                }
            }
            if report.records.is_multiple_of(1024) {
                self.spill(&mut spill_failed)?;
                if Instant::now() >= next_note {
                    next_note += PROGRESS;
                    (self.note)(&progress(report.log_bytes, bytes_max, begun.elapsed()));
                }
            }
        }
        for (share, batch) in batches.iter_mut().enumerate() {
            if !batch.ops.is_empty() && !hands.hand_over(share, batch)? {
                break;
            }
        }
        report.end = reader.end_of_valid();
        report.elapsed = begun.elapsed();
        Ok(report)
    }

    /// Writes undo out when it takes more memory than it should. Redo does not need that: where there is no room for it, undo stays in memory, up to a
    /// bound, and the start is not refused for a full disk that serving would live with.
    fn spill(&self, failed: &mut bool) -> Result<()> {
        if !self.undo.wants_spill() {
            return Ok(());
        }
        match self.undo.spill().map_err(Error::from) {
            Err(Error::DiskFull) if self.undo.memory_bytes() <= self.undo_bytes_max => {
                if !std::mem::replace(failed, true) {
                    (self.warn)("recovery: no room to write undo out; it stays in memory");
                }
                Ok(())
            }
            other => other.map(drop),
        }
    }

    fn work(&self, batches: &Receiver<Batch>, done: &Sender<Batch>) -> Result<()> {
        // What is brought in must not push out what is to be used next.
        let frames = self.pool.config().frames;
        let pages_ahead = (frames / (8 * self.workers)).clamp(1, PAGES_AHEAD_MAX);
        for mut batch in batches {
            batch.apply(self.pool, self.handlers, pages_ahead)?;
            batch.clear();
            // The reader may have ended.
            let _ = done.send(batch);
        }
        Ok(())
    }
}

/// Which worker has the page. Neighbours go to one: a split touches them together, and they lie together on disk.
fn share_of(page: PageNo, shares: usize) -> usize {
    ((page.0 >> 3).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % shares
}

fn progress(bytes: u64, bytes_max: u64, elapsed: Duration) -> String {
    let (mib, percent) = (bytes >> 20, bytes * 100 / bytes_max.max(1));
    let rate = mib as f64 / elapsed.as_secs_f64().max(0.001);
    format!("recovery: {mib} MiB of log redone ({rate:.0} MiB/s), {percent} % of what there may be")
}

struct Alone<'r> {
    redo: &'r Redo<'r>,
}

impl Hands for Alone<'_> {
    fn hand_over(&mut self, _: usize, batch: &mut Batch) -> Result<bool> {
        batch.apply(self.redo.pool, self.redo.handlers, 0)?;
        batch.clear();
        Ok(true)
    }
}

struct Shared {
    workers: Vec<SyncSender<Batch>>,
    /// Batches that are done, to be filled again.
    empty: Receiver<Batch>,
}

impl Hands for Shared {
    fn hand_over(&mut self, share: usize, batch: &mut Batch) -> Result<bool> {
        let next = self.empty.try_recv().unwrap_or_else(|_| Batch::with_room());
        // A worker that has failed takes no more; its error is told when all have ended.
        Ok(self.workers[share].send(std::mem::replace(batch, next)).is_ok())
    }
}
