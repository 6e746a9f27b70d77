//! Writing dirty pages: copy under a shared latch, force the log, doublewrite batch. One batch at a time.
//!
//! What cannot be written does not keep the rest from it: neither other batches nor, on a full disk, those pages of its batch that have room. Or a few pages
//! in holes of the file would stop the cleaner, which picks the oldest each time, and readers would find no clean frame.

use base::{Lsn, PageNo};
use page_store::{Batch, StoreError, header};
use sync::atomic::Ordering;

use crate::error::PoolError;
use crate::pool::BufferPool;
use crate::word::{self, Acquired};

/// What the holder of the flush lock works with.
pub(crate) struct Flusher {
    batch: Batch,
    /// Frames of the batch's images.
    frames: Vec<u32>,
    /// Highest page LSN in the batch: the log goes first.
    lsn_max: Lsn,
    /// Chosen frames by page.
    chosen: Vec<(PageNo, u32)>,
    /// Frames taken from the eviction queues to be cleaned.
    wanted: Vec<u32>,
}

impl Flusher {
    pub fn new(batch_pages: usize) -> Flusher {
        Flusher {
            batch: Batch::new(batch_pages),
            frames: Vec::with_capacity(batch_pages),
            lsn_max: Lsn::NONE,
            chosen: Vec::new(),
            wanted: Vec::new(),
        }
    }
}

/// What came of writing pages.
#[derive(Debug, Default)]
pub(crate) struct Flushed {
    /// Pages written.
    pub written: usize,
    /// Why others were not; the first of several reasons.
    pub failure: Option<PoolError>,
}

impl Flushed {
    fn add(&mut self, more: Flushed) {
        self.written += more.written;
        self.failure = self.failure.take().or(more.failure);
    }

    /// Pages written; the failure, if there was one.
    pub fn all(self) -> Result<usize, PoolError> {
        self.failure.map_or(Ok(self.written), Err)
    }

    /// Pages written; the failure where it was none.
    pub fn any(self) -> Result<usize, PoolError> {
        if self.written > 0 { Ok(self.written) } else { self.all() }
    }
}

impl BufferPool {
    /// Writes the dirty pages among `chosen`, except those latched exclusively now.
    fn flush_chosen(&self, flusher: &mut Flusher) -> Flushed {
        // Ascending: neighbours go in one write.
        flusher.chosen.sort_unstable();
        let mut flushed = Flushed::default();
        for i in 0..flusher.chosen.len() {
            let (page, frame) = flusher.chosen[i];
            let failure = self.copy_for_write(flusher, page, frame as usize).err();
            flushed.add(Flushed { written: 0, failure });
            if flusher.batch.is_full() {
                flushed.add(self.write_out(flusher));
            }
        }
        flushed.add(self.write_out(flusher));
        flushed
    }

    fn copy_for_write(&self, flusher: &mut Flusher, page: PageNo, frame: usize) -> Result<(), PoolError> {
        let cell = self.cell(page)?;
        let Acquired::Held(_, held) = word::try_shared(cell) else { return Ok(()) };
        if held == frame && !self.frames().first_dirty(frame).is_none() {
            // SAFETY: the page is latched shared until `release_shared` below, and it is in this frame.
            let bytes = unsafe { self.frames().bytes(frame) };
            if header::page_type(bytes) == 0 {
                // Abandoned by a failed redo: never to be written.
                word::release_shared(cell, page.0, self.lot());
                return Err(PoolError::Malformed(page));
            }
            flusher.batch.push(page).copy_from_slice(bytes);
            flusher.lsn_max = flusher.lsn_max.max(header::lsn(bytes));
            flusher.frames.push(frame as u32);
            self.frames().begin_write(frame);
        }
        word::release_shared(cell, page.0, self.lot());
        Ok(())
    }

    fn write_out(&self, flusher: &mut Flusher) -> Flushed {
        let mut flushed = Flushed::default();
        if flusher.frames.is_empty() {
            return flushed;
        }
        let lsn_max = std::mem::replace(&mut flusher.lsn_max, Lsn::NONE);
        let result = match self.wal().wait_durable(lsn_max) {
            Ok(()) => self.store().write_batch(&mut flusher.batch).map_err(PoolError::Store),
            Err(error) => Err(PoolError::Wal(error)),
        };
        match result {
            Ok(()) => self.note_written(&flusher.frames, &mut flushed),
            Err(error) => {
                if matches!(error, PoolError::Store(StoreError::NoSpace)) {
                    self.write_where_room(flusher, &mut flushed);
                }
                flusher.frames.iter().for_each(|frame| self.frames().fail_write(*frame as usize));
                // All may have found room at last.
                flushed.failure = (!flusher.frames.is_empty()).then_some(error);
                self.stats.write_errors.fetch_add(1, Ordering::Relaxed);
            }
        }
        flusher.frames.clear();
        flusher.batch.clear();
        flushed
    }

    fn note_written(&self, frames: &[u32], flushed: &mut Flushed) {
        frames.iter().for_each(|frame| self.frames().end_write(*frame as usize));
        self.stats.writes.fetch_add(frames.len() as u64, Ordering::Relaxed);
        flushed.written += frames.len();
    }

    /// A batch found the disk full: writes those of its pages that have room, and leaves the frames of the others.
    #[cold]
    fn write_where_room(&self, flusher: &mut Flusher, flushed: &mut Flushed) {
        let Flusher { batch, frames, .. } = flusher;
        let (mut having, mut lacking) = (Vec::new(), Vec::new());
        for (place, frame) in frames.drain(..).enumerate() {
            match self.store().reserve(batch.pages()[place], 1) {
                Ok(()) => having.push((place, frame)),
                Err(_) => lacking.push(frame),
            }
        }
        batch.keep(having.iter().map(|(place, _)| *place));
        frames.extend(having.iter().map(|(_, frame)| *frame));
        match self.store().write_batch(batch) {
            Ok(()) => self.note_written(&std::mem::take(frames), flushed),
            // The file system reserves nothing: page by page it is found out.
            Err(StoreError::NoSpace) => {
                let mut alone = Batch::new(1);
                for (place, frame) in std::mem::take(frames).into_iter().enumerate() {
                    alone.clear();
                    alone.push(batch.pages()[place]).copy_from_slice(batch.image(place));
                    match self.store().write_batch(&mut alone) {
                        Ok(()) => self.note_written(&[frame], flushed),
                        Err(_) => lacking.push(frame),
                    }
                }
            }
            Err(_) => {}
        }
        frames.extend(lacking);
    }

    /// Writes dirty pages whose first change is below `below`, the oldest first, at most `pages_max`. Pages latched exclusively are passed over.
    /// Returns pages written. The caller holds no page exclusively that it needs written.
    ///
    /// An error where one of them could not be written; the others are.
    pub fn flush_some(&self, below: Lsn, pages_max: usize) -> Result<usize, PoolError> {
        self.flush_oldest(below, pages_max).all()
    }

    pub(crate) fn flush_oldest(&self, below: Lsn, pages_max: usize) -> Flushed {
        let mut flusher = self.flusher.lock();
        let flusher = &mut *flusher;
        let mut oldest: Vec<(Lsn, u32)> = Vec::new();
        for frame in 0..self.frames().count() {
            let first = self.frames().first_dirty(frame);
            if !first.is_none() && first < below {
                oldest.push((first, frame as u32));
            }
        }
        if oldest.len() > pages_max {
            oldest.select_nth_unstable(pages_max);
            oldest.truncate(pages_max);
        }
        flusher.chosen.clear();
        for (_, frame) in oldest {
            let page = self.frames().page(frame as usize);
            if !page.is_none() {
                flusher.chosen.push((page, frame));
            }
        }
        self.flush_chosen(flusher)
    }

    /// Writes every page that is dirty now (for a sharp checkpoint). Called with no latch held.
    pub fn flush_all(&self) -> Result<(), PoolError> {
        let below = Lsn(self.wal().lsn_head().0 + 1);
        self.flush_some(below, usize::MAX)?;
        let mut frame = 0;
        while frame < self.frames().count() {
            let first = self.frames().first_dirty(frame);
            let page = self.frames().page(frame);
            if first.is_none() || first >= below || page.is_none() {
                frame += 1;
                continue;
            }
            // It was passed over because a writer had it. With our own shared latch on it, it is not passed over again.
            let cell = self.cell(page)?;
            if let Acquired::Held(..) = word::shared(cell, page.0, self.lot(), None) {
                let result = self.flush_some(below, usize::MAX);
                word::release_shared(cell, page.0, self.lot());
                result?;
            }
        }
        Ok(())
    }

    /// Cleans the frames that the clock wants, and gives up their pages. False when another thread is writing.
    pub(crate) fn flush_wanted_now(&self) -> Result<bool, PoolError> {
        let Some(mut flusher) = self.flusher.try_lock() else { return Ok(false) };
        let written = self.clean_wanted(&mut flusher).any()?;
        if written > 0 {
            self.stats.foreground_flushes.fetch_add(1, Ordering::Relaxed);
        }
        Ok(written > 0)
    }

    /// Cleans the frames that the clock wants, evicts their pages if nobody came to use them, and tells those who wait for frames.
    pub(crate) fn clean_wanted(&self, flusher: &mut Flusher) -> Flushed {
        let mut wanted = std::mem::take(&mut flusher.wanted);
        self.replacement.lock().take_wanted(&mut wanted);
        flusher.chosen.clear();
        for &frame in &wanted {
            let page = self.frames().page(frame as usize);
            if !page.is_none() {
                flusher.chosen.push((page, frame));
            }
        }
        let flushed = self.flush_chosen(flusher);
        self.return_wanted(&mut wanted);
        flusher.wanted = wanted;
        self.announce_freed();
        flushed
    }

    fn return_wanted(&self, wanted: &mut Vec<u32>) {
        for frame in wanted.drain(..) {
            let index = frame as usize;
            let evicted = if self.frames().page(index).is_none() { Some(PageNo::NONE) } else { self.try_evict(index) };
            let mut queues = self.replacement.lock();
            match evicted {
                Some(page) => {
                    queues.evicted(page);
                    queues.put_free(index);
                }
                None => queues.give_back(self.frames(), index),
            }
        }
    }
}
