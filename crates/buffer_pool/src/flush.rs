//! Writing dirty pages: copy under a shared latch, force the log, doublewrite batch. One batch at a time.

use base::{Lsn, PageNo};
use page_store::{Batch, header};
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

impl BufferPool {
    /// Writes the dirty pages among `chosen`, except those latched exclusively now. Returns pages written.
    fn flush_chosen(&self, flusher: &mut Flusher) -> Result<usize, PoolError> {
        // Ascending: neighbours go in one write.
        flusher.chosen.sort_unstable();
        let mut written = 0;
        let mut outcome = Ok(());
        for i in 0..flusher.chosen.len() {
            let (page, frame) = flusher.chosen[i];
            // A page that cannot be written does not keep the others from it.
            if let Err(error) = self.copy_for_write(flusher, page, frame as usize) {
                outcome = Err(error);
            }
            if flusher.batch.is_full() {
                written += self.write_out(flusher)?;
            }
        }
        written += self.write_out(flusher)?;
        outcome.map(|()| written)
    }

    fn copy_for_write(&self, flusher: &mut Flusher, page: PageNo, frame: usize) -> Result<(), PoolError> {
        let cell = self.cell(page)?;
        let Acquired::Held(held) = word::try_shared(cell) else { return Ok(()) };
        if held.frame() == Some(frame) && !self.frames().first_dirty(frame).is_none() {
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

    fn write_out(&self, flusher: &mut Flusher) -> Result<usize, PoolError> {
        let count = flusher.frames.len();
        if count == 0 {
            return Ok(0);
        }
        let result = match self.wal().wait_durable(flusher.lsn_max) {
            Ok(()) => self.store().write_batch(&mut flusher.batch).map_err(PoolError::Store),
            Err(error) => Err(PoolError::Wal(error)),
        };
        for &frame in &flusher.frames {
            match &result {
                Ok(()) => self.frames().end_write(frame as usize),
                Err(_) => self.frames().fail_write(frame as usize),
            }
        }
        flusher.frames.clear();
        flusher.batch.clear();
        flusher.lsn_max = Lsn::NONE;
        match result {
            Ok(()) => {
                self.stats.writes.fetch_add(count as u64, Ordering::Relaxed);
                Ok(count)
            }
            Err(error) => {
                self.stats.write_errors.fetch_add(1, Ordering::Relaxed);
                Err(error)
            }
        }
    }

    /// Writes dirty pages whose first change is below `below`, the oldest first, at most `pages_max`. Pages latched exclusively are passed over.
    /// Returns pages written. The caller holds no page exclusively that it needs written.
    pub fn flush_some(&self, below: Lsn, pages_max: usize) -> Result<usize, PoolError> {
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
            if let Acquired::Held(_) = word::shared(cell, page.0, self.lot(), None) {
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
        let written = self.clean_wanted(&mut flusher)?;
        if written > 0 {
            self.stats.foreground_flushes.fetch_add(1, Ordering::Relaxed);
        }
        Ok(written > 0)
    }

    /// Cleans the frames that the clock wants, evicts their pages if nobody came to use them, and tells those who wait for frames.
    pub(crate) fn clean_wanted(&self, flusher: &mut Flusher) -> Result<usize, PoolError> {
        let mut wanted = std::mem::take(&mut flusher.wanted);
        self.replacement.lock().take_wanted(&mut wanted);
        flusher.chosen.clear();
        for &frame in &wanted {
            let page = self.frames().page(frame as usize);
            if !page.is_none() {
                flusher.chosen.push((page, frame));
            }
        }
        let written = self.flush_chosen(flusher);
        self.return_wanted(&mut wanted);
        flusher.wanted = wanted;
        self.announce_freed();
        written
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
                None => queues.give_back(index),
            }
        }
    }
}
