//! The pool: page table, and the ways to get at a page.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base::{Lsn, PageNo};
use page_store::PageStore;
use sync::atomic::{AtomicBool, AtomicU32};
use sync::{Mutex, Rank};
use wal::Wal;

use crate::error::PoolError;
use crate::flush::Flusher;
use crate::frames::Frames;
use crate::guard::{ExclusiveGuard, OptimisticGuard, SharedGuard};
use crate::mapping::Mapping;
use crate::park::ParkingLot;
use crate::read_ahead::ReadAhead;
use crate::redo::{NewestMet, Skipped};
use crate::replacement::Replacement;
use crate::stats::{Stats, StatsSnapshot};
use crate::word::{self, Acquired, Word};

/// Settings of the pool.
#[derive(Debug, Clone)]
pub struct PoolConfig {
    /// Frames of 16 KiB.
    pub frames: usize,
    /// Pages that the table can address. 8 bytes of address space each; memory is used only for pages that were touched.
    pub pages_max: u64,
    /// How long a thread looks for a free frame before [`PoolError::NoFrames`].
    pub frame_wait: Duration,
    /// Pages that the cleaner and others write in one batch.
    pub batch_pages: usize,
    /// Part of the log's capacity, in percent, that the age of the oldest dirty page may reach before the cleaner keeps pace with the log.
    pub age_target_percent: u64,
    /// Threads that read pages ahead; 0 = none, and nothing is read ahead.
    pub read_ahead_threads: usize,
}

impl Default for PoolConfig {
    fn default() -> Self {
        PoolConfig {
            frames: 8192,
            pages_max: 1 << 32,
            frame_wait: Duration::from_secs(10),
            batch_pages: 128,
            age_target_percent: 50,
            read_ahead_threads: 2,
        }
    }
}

/// The buffer pool; see the crate's documentation.
pub struct BufferPool {
    table: Mapping,
    frames: Frames,
    lot: ParkingLot,
    pub(crate) replacement: Mutex<Replacement>,
    /// Grows when frames became free or clean; threads in need sleep on it.
    pub(crate) freed: AtomicU32,
    /// Only the holder writes pages: an older image must not land after a newer one.
    pub(crate) flusher: Mutex<Flusher>,
    /// Wakes the cleaner.
    pub(crate) cleaner_word: AtomicU32,
    pub(crate) cleaner_stop: AtomicBool,
    /// Somebody has woken the cleaner because frames run short, and it has not begun yet.
    pub(crate) cleaner_asked: AtomicBool,
    pub(crate) ahead: ReadAhead,
    pub(crate) skipped: Skipped,
    pub(crate) newest_met: NewestMet,
    pub(crate) stats: Stats,
    store: Arc<PageStore>,
    wal: Arc<Wal>,
    config: PoolConfig,
}

/// How an attempt to have a page ended.
enum Found<'p> {
    /// It was in memory: latched as asked, in this frame; the word is as it was seen.
    There(Word, usize),
    /// It was not: this thread brought it, and has it exclusively.
    Brought(ExclusiveGuard<'p>),
    /// Others have it, and the attempt does not wait.
    Busy,
}

impl BufferPool {
    /// Reserves table and frames. Fails when the kernel refuses the address space.
    pub fn new(store: Arc<PageStore>, wal: Arc<Wal>, config: PoolConfig) -> Result<Arc<BufferPool>, std::io::Error> {
        assert!(config.pages_max > 0 && config.frames > 0, "{config:?}");
        let table_bytes =
            usize::try_from(config.pages_max).ok().and_then(|pages| pages.checked_mul(8)).ok_or(std::io::ErrorKind::OutOfMemory)?;
        Ok(Arc::new(BufferPool {
            table: Mapping::reserve(table_bytes)?,
            frames: Frames::new(config.frames)?,
            lot: ParkingLot::new(),
            replacement: Mutex::new(Rank::Eviction, Replacement::new(config.frames)),
            freed: AtomicU32::new(0),
            flusher: Mutex::new(Rank::Flush, Flusher::new(config.batch_pages)),
            cleaner_word: AtomicU32::new(0),
            cleaner_stop: AtomicBool::new(false),
            cleaner_asked: AtomicBool::new(false),
            ahead: ReadAhead::new(config.frames),
            skipped: Skipped::new(),
            newest_met: NewestMet::new(),
            stats: Stats::default(),
            store,
            wal,
            config,
        }))
    }

    /// The table word of a page.
    #[inline(always)]
    pub(crate) fn cell(&self, page: PageNo) -> Result<&AtomicU64, PoolError> {
        // Page 0 is the store's and would look like "no page" in a frame.
        if page.0.wrapping_sub(1) < self.config.pages_max - 1 {
            // SAFETY: the table has `pages_max` zeroed words and lives as long as `self`; it is accessed only as atomics.
            Ok(unsafe { &*self.table.start().cast::<AtomicU64>().add(page.0 as usize).as_ptr() })
        } else {
            Err(PoolError::PageNumber(page))
        }
    }

    #[inline(always)]
    pub(crate) fn frames(&self) -> &Frames {
        &self.frames
    }

    #[inline(always)]
    pub(crate) fn lot(&self) -> &ParkingLot {
        &self.lot
    }

    #[inline(always)]
    fn hit(&self, frame: usize) {
        self.frames.touch(frame);
        self.stats.hit();
    }

    /// Attempts to have a page until it is had or others keep it. An absent page is claimed by one thread, which `bring`s it into a frame.
    fn come_by<'p>(
        &'p self,
        cell: &'p AtomicU64,
        page: PageNo,
        attempt: impl Fn() -> Acquired,
        bring: impl Fn() -> Result<usize, PoolError>,
    ) -> Result<Found<'p>, PoolError> {
        loop {
            match attempt() {
                Acquired::Held(word, frame) => {
                    self.hit(frame);
                    return Ok(Found::There(word, frame));
                }
                Acquired::Busy => return Ok(Found::Busy),
                Acquired::Absent if word::claim_absent(cell) => {
                    let frame = bring()?;
                    return Ok(Found::Brought(ExclusiveGuard::new(self, cell, page, frame)));
                }
                Acquired::Absent => {}
            }
        }
    }

    /// Latches a page for reading, reading it in when absent.
    #[inline]
    pub fn shared(&self, page: PageNo) -> Result<SharedGuard<'_>, PoolError> {
        let cell = self.cell(page)?;
        if let Some(frame) = word::try_shared_fast(cell).and_then(|w| w.frame()) {
            self.hit(frame);
            return Ok(SharedGuard::new(self, cell, page, frame));
        }
        self.shared_slow(cell, page)
    }

    #[cold]
    fn shared_slow<'p>(&'p self, cell: &'p AtomicU64, page: PageNo) -> Result<SharedGuard<'p>, PoolError> {
        let wait = || word::shared(cell, page.0, &self.lot, None);
        match self.come_by(cell, page, wait, || self.load_claimed(cell, page, false))? {
            Found::There(_, frame) => Ok(SharedGuard::new(self, cell, page, frame)),
            Found::Brought(guard) => Ok(guard.downgrade()),
            Found::Busy => unreachable!("a wait without a deadline gave up"),
        }
    }

    /// Like [`BufferPool::shared`] for a reader that passes by once (a scan): the page gains no claim to stay before what others use.
    pub fn shared_once(&self, page: PageNo) -> Result<SharedGuard<'_>, PoolError> {
        let cell = self.cell(page)?;
        if let Some(frame) = word::try_shared_fast(cell).and_then(|w| w.frame()) {
            self.stats.hit();
            self.frames.pass(frame);
            return Ok(SharedGuard::new(self, cell, page, frame));
        }
        self.shared_once_slow(cell, page)
    }

    #[cold]
    fn shared_once_slow<'p>(&'p self, cell: &'p AtomicU64, page: PageNo) -> Result<SharedGuard<'p>, PoolError> {
        loop {
            match word::shared(cell, page.0, &self.lot, None) {
                Acquired::Held(_, frame) => {
                    self.stats.hit();
                    self.frames.pass(frame);
                    return Ok(SharedGuard::new(self, cell, page, frame));
                }
                Acquired::Absent if word::claim_absent(cell) => {
                    let frame = self.load_claimed(cell, page, true)?;
                    return Ok(ExclusiveGuard::new(self, cell, page, frame).downgrade());
                }
                Acquired::Absent => {}
                Acquired::Busy => unreachable!("a wait without a deadline gave up"),
            }
        }
    }

    /// Latches a page for changing, reading it in when absent.
    #[inline]
    pub fn exclusive(&self, page: PageNo) -> Result<ExclusiveGuard<'_>, PoolError> {
        let cell = self.cell(page)?;
        if let Some(frame) = word::try_exclusive_fast(cell).and_then(|w| w.frame()) {
            self.hit(frame);
            return Ok(ExclusiveGuard::new(self, cell, page, frame));
        }
        self.exclusive_slow(cell, page, || self.load_claimed(cell, page, false))
    }

    #[cold]
    fn exclusive_slow<'p>(
        &'p self,
        cell: &'p AtomicU64,
        page: PageNo,
        bring: impl Fn() -> Result<usize, PoolError>,
    ) -> Result<ExclusiveGuard<'p>, PoolError> {
        let wait = || word::exclusive(cell, page.0, &self.lot, None);
        match self.come_by(cell, page, wait, bring)? {
            Found::There(_, frame) => Ok(ExclusiveGuard::new(self, cell, page, frame)),
            Found::Brought(guard) => Ok(guard),
            Found::Busy => unreachable!("a wait without a deadline gave up"),
        }
    }

    /// A page whose old content does not matter: latched exclusively, not read from disk, bytes unspecified until the caller sets them.
    pub(crate) fn exclusive_unread(&self, page: PageNo) -> Result<ExclusiveGuard<'_>, PoolError> {
        let cell = self.cell(page)?;
        self.exclusive_slow(cell, page, || self.place_claimed(cell, page))
    }

    /// A page for reading without a latch; read in when absent. Waits while a writer has it, and keeps no writer waiting.
    #[inline]
    pub fn optimistic(&self, page: PageNo) -> Result<OptimisticGuard<'_>, PoolError> {
        let cell = self.cell(page)?;
        if let Some(seen) = word::peek(cell)
            && let Some(frame) = seen.frame()
        {
            self.hit(frame);
            return Ok(OptimisticGuard::new(self, cell, page, seen, frame));
        }
        self.optimistic_slow(cell, page)
    }

    #[cold]
    fn optimistic_slow<'p>(&'p self, cell: &'p AtomicU64, page: PageNo) -> Result<OptimisticGuard<'p>, PoolError> {
        let wait = || word::readable(cell, page.0, &self.lot, None);
        loop {
            match self.come_by(cell, page, wait, || self.load_claimed(cell, page, false))? {
                Found::There(seen, frame) => return Ok(OptimisticGuard::new(self, cell, page, seen, frame)),
                Found::Brought(guard) => drop(guard),
                Found::Busy => unreachable!("a wait without a deadline gave up"),
            }
        }
    }

    /// Latches shared unless a writer has the page: then `None`. Reads the page in when absent.
    pub fn try_shared(&self, page: PageNo) -> Result<Option<SharedGuard<'_>>, PoolError> {
        let cell = self.cell(page)?;
        Ok(match self.come_by(cell, page, || word::try_shared(cell), || self.load_claimed(cell, page, false))? {
            Found::There(_, frame) => Some(SharedGuard::new(self, cell, page, frame)),
            Found::Brought(guard) => Some(guard.downgrade()),
            Found::Busy => None,
        })
    }

    /// Latches exclusively unless anybody has the page: then `None`. Reads the page in when absent.
    pub fn try_exclusive(&self, page: PageNo) -> Result<Option<ExclusiveGuard<'_>>, PoolError> {
        let cell = self.cell(page)?;
        Ok(match self.come_by(cell, page, || word::try_exclusive(cell), || self.load_claimed(cell, page, false))? {
            Found::There(_, frame) => Some(ExclusiveGuard::new(self, cell, page, frame)),
            Found::Brought(guard) => Some(guard),
            Found::Busy => None,
        })
    }

    /// Latches a page for changing if it is in memory and nobody has it now: never waits.
    #[inline]
    pub fn exclusive_if_free(&self, page: PageNo) -> Option<ExclusiveGuard<'_>> {
        let cell = self.cell(page).ok()?;
        let frame = word::try_exclusive_fast(cell)?.frame()?;
        self.hit(frame);
        Some(ExclusiveGuard::new(self, cell, page, frame))
    }

    /// A page for reading without a latch, if it is in memory and nobody changes it now: never waits, and counts as no use.
    #[inline]
    pub fn peek(&self, page: PageNo) -> Option<OptimisticGuard<'_>> {
        let cell = self.cell(page).ok()?;
        let seen = word::peek(cell)?;
        seen.frame().map(|frame| OptimisticGuard::new(self, cell, page, seen, frame))
    }

    /// Whether the page is in memory now.
    pub fn is_resident(&self, page: PageNo) -> bool {
        self.cell(page).is_ok_and(|cell| Word(cell.load(Ordering::Relaxed)).frame().is_some())
    }

    /// The log.
    #[inline]
    pub fn wal(&self) -> &Arc<Wal> {
        &self.wal
    }

    /// The page store.
    pub fn store(&self) -> &Arc<PageStore> {
        &self.store
    }

    /// Settings.
    pub fn config(&self) -> &PoolConfig {
        &self.config
    }

    /// Start of the oldest record whose change is not on disk. For a checkpoint read `wal().written_contiguous()` first, then this, and take the lower.
    pub fn min_dirty_lsn(&self) -> Option<Lsn> {
        self.frames.min_dirty()
    }

    /// Pages that were asked for and not in memory: whoever sees it stand still has all in memory.
    pub fn misses(&self) -> u64 {
        self.stats.misses.load(Ordering::Relaxed)
    }

    /// Counters; counts the dirty frames, so not for every statement.
    pub fn stats(&self) -> StatsSnapshot {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        StatsSnapshot {
            hits: self.stats.hits(),
            misses: load(&self.stats.misses),
            reads: load(&self.stats.reads),
            reads_ahead: load(&self.stats.reads_ahead),
            reads_ahead_evicted: load(&self.stats.reads_ahead_evicted),
            frame_waits: load(&self.stats.frame_waits),
            writes: load(&self.stats.writes),
            foreground_flushes: load(&self.stats.foreground_flushes),
            write_errors: load(&self.stats.write_errors),
            evictions: load(&self.stats.evictions),
            latch_waits: self.lot.parked_total(),
            frames_free: self.replacement.lock().free_count() as u64,
            pages_dirty: self.frames.dirty_count() as u64,
            frames_total: self.frames.count() as u64,
        }
    }
}

impl std::fmt::Debug for BufferPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BufferPool").field("config", &self.config).finish_non_exhaustive()
    }
}
