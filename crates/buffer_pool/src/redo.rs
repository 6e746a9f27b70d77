//! Redo: doing the operations of a log record again on the pages that have not seen them.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use base::{Lsn, Malformed, PageNo};
use page_store::{Lacking, header};
use sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use sync::{Mutex, Rank};

use crate::error::PoolError;
use crate::guard::ExclusiveGuard;
use crate::ops::{Op, ops, redo_own, sets_whole_page};
use crate::pool::BufferPool;
use crate::racy::RacyBytes;
use crate::word::{self, Acquired};

/// Does the operations of one crate on a page.
pub trait RedoHandler: Send + Sync {
    /// Applies `op` to `page`. Deterministic; the payload is not trusted.
    fn redo(&self, op: u8, payload: &[u8], page: &mut [u8]) -> Result<(), Malformed>;

    /// Where in the page the eight bytes lie by which the operation finds its place. Asked, as [`RedoHandler::place`], before the page is latched, to have both fetched from
    /// memory meanwhile: any answer is right, and the payload is not trusted.
    fn place_word(&self, op: u8, payload: &[u8]) -> Option<usize> {
        let (_, _) = (op, payload);
        None
    }

    /// Where the place is, by those eight bytes (little-endian).
    fn place(&self, word: u64) -> usize {
        word as usize
    }
}

/// An operation of the log on a page, with the place of its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RedoOp<'a> {
    /// Where the record starts.
    pub start: Lsn,
    /// Where it ends.
    pub end: Lsn,
    /// What to do.
    pub op: u8,
    /// With what.
    pub payload: &'a [u8],
}

/// Whether redo of the operation needs nothing of what the page was before.
pub fn makes_page_anew(op: u8) -> bool {
    sets_whole_page(op)
}

/// Who does which operations.
#[derive(Clone, Default)]
pub struct RedoHandlers {
    handlers: Vec<(RangeInclusive<u8>, Arc<dyn RedoHandler>)>,
}

impl RedoHandlers {
    /// Only the buffer pool's own operations.
    pub fn new() -> RedoHandlers {
        RedoHandlers::default()
    }

    /// Adds a crate's range of codes.
    #[must_use]
    pub fn with(mut self, codes: RangeInclusive<u8>, handler: Arc<dyn RedoHandler>) -> RedoHandlers {
        assert!(*codes.start() > 0x0F, "codes up to 0x0F are the buffer pool's");
        assert!(
            self.handlers.iter().all(|(other, _)| other.end() < codes.start() || codes.end() < other.start()),
            "operation codes {codes:?} are taken"
        );
        self.handlers.push((codes, handler));
        self
    }

    fn apply(&self, page_no: PageNo, op: &RedoOp<'_>, page: &mut [u8]) -> Result<(), Malformed> {
        if op.op <= 0x0F {
            return redo_own(&Op { op: op.op, page: page_no, payload: op.payload }, page);
        }
        self.of(op.op).ok_or(Malformed)?.redo(op.op, op.payload, page)
    }

    #[inline]
    fn of(&self, op: u8) -> Option<&dyn RedoHandler> {
        self.handlers.iter().find(|(codes, _)| codes.contains(&op)).map(|(_, handler)| &**handler)
    }
}

impl std::fmt::Debug for RedoHandlers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.handlers.iter().map(|(codes, _)| codes)).finish()
    }
}

/// Pages whose operations could not be done because the page is not on disk, is broken there, or is too old for them. Right for a page that was freed
/// (and punched out, perhaps half) after the record: its changes were not written any more, so the checkpoint may lie behind some of them. For any
/// other it is a loss, of the page, not of the start. A broken page is left as it is: nothing is done to it, in memory or on disk, until a record makes it anew.
pub(crate) struct Skipped {
    /// Read without the latch by those who have never skipped anything.
    count: AtomicUsize,
    pages: Mutex<BTreeMap<PageNo, Lacking>>,
}

impl Skipped {
    pub(crate) fn new() -> Skipped {
        Skipped { count: AtomicUsize::new(0), pages: Mutex::new(Rank::Leaf, BTreeMap::new()) }
    }

    fn add(&self, page: PageNo, from: Lsn, to: Lsn) {
        let mut pages = self.pages.lock();
        let lacking = pages.entry(page).or_insert(Lacking { page, from, to });
        lacking.from = lacking.from.min(from);
        lacking.to = lacking.to.max(to);
        self.count.store(pages.len(), Ordering::Relaxed);
    }

    fn remove(&self, page: PageNo) {
        if self.count.load(Ordering::Relaxed) > 0 {
            let mut pages = self.pages.lock();
            pages.remove(&page);
            self.count.store(pages.len(), Ordering::Relaxed);
        }
    }

    /// Relaxed: one thread redoes a page, and asks what it has noted itself.
    fn has(&self, page: PageNo) -> bool {
        self.count.load(Ordering::Relaxed) > 0 && self.pages.lock().contains_key(&page)
    }
}

/// The highest LSN of the pages that redo has met, and whose it is.
pub(crate) struct NewestMet {
    /// Looked at without the latch. Relaxed: redo is over when the answer is asked for.
    lsn: AtomicU64,
    page: Mutex<(Lsn, PageNo)>,
}

impl NewestMet {
    pub(crate) fn new() -> NewestMet {
        NewestMet { lsn: AtomicU64::new(0), page: Mutex::new(Rank::Leaf, (Lsn::NONE, PageNo::NONE)) }
    }

    fn note(&self, page: PageNo, lsn: Lsn) {
        if lsn.0 > self.lsn.load(Ordering::Relaxed) {
            let mut newest = self.page.lock();
            if lsn > newest.0 {
                *newest = (lsn, page);
                self.lsn.store(lsn.0, Ordering::Relaxed);
            }
        }
    }
}

impl BufferPool {
    /// The page with the highest LSN that redo has met, and that LSN. One behind the end of the log says that an end of the log was lost which had been
    /// durable: a page is written only after what it holds is in the log.
    pub fn redo_newest(&self) -> (PageNo, Lsn) {
        let (lsn, page) = *self.newest_met.page.lock();
        (page, lsn)
    }

    /// Does a whole record again: for each page it names, all its operations if the page's LSN is below the record's end. `start` and `end` are the
    /// record's place in the log. Operations on no page are the engine's and are passed over.
    pub fn redo_record(&self, start: Lsn, end: Lsn, body: &[u8], handlers: &RedoHandlers) -> Result<(), PoolError> {
        let mut all = Vec::new();
        for op in ops(body) {
            let op = op.map_err(|Malformed| PoolError::Malformed(PageNo::NONE))?;
            if !op.page.is_none() {
                all.push((op.page, RedoOp { start, end, op: op.op, payload: op.payload }));
            }
        }
        // Stable: operations on one page stay in order.
        all.sort_by_key(|(page, _)| *page);
        for of_page in all.chunk_by(|a, b| a.0 == b.0) {
            let ops: Vec<RedoOp<'_>> = of_page.iter().map(|(_, op)| *op).collect();
            self.redo_page(of_page[0].0, &ops, handlers)?;
        }
        Ok(())
    }

    /// Does operations of one or more records on one page again: those of each record whose end is above the page's LSN. All operations that the log has for a
    /// page must come in its order, those of one record in one call; different pages may be redone by different threads.
    ///
    /// A page that is made anew is not read: whatever was on disk, all that came after it is in the log and done again, too.
    pub fn redo_page(&self, page: PageNo, ops: &[RedoOp<'_>], handlers: &RedoHandlers) -> Result<(), PoolError> {
        let made_anew = ops.iter().rposition(|op| sets_whole_page(op.op));
        // What came before is overwritten.
        let rest = &ops[made_anew.unwrap_or(0)..];
        let (Some(first), Some(last)) = (rest.first(), rest.last()) else { return Ok(()) };
        if made_anew.is_none() && self.skipped.has(page) {
            // It lacks what came before: a record that seems to fit what is on disk would hide that.
            self.skipped.add(page, first.start, last.end);
            return Ok(());
        }
        if let Some(oldest) = self.redo_in_frame(page, rest, made_anew.is_some(), handlers)? {
            self.skipped.add(page, oldest, last.end);
            self.discard(page, 1)?;
        }
        Ok(())
    }

    /// Asks the processor for what redo of these operations will read first of the page, if it is in memory: its header, and the words by which they find their places.
    pub fn bring_words_near<'o>(&self, page: PageNo, ops: impl Iterator<Item = RedoOp<'o>>, handlers: &RedoHandlers) {
        let Some((frame, bytes)) = self.in_memory(page) else { return };
        self.frames().bring_near(frame);
        bytes.bring_near(0);
        bytes.bring_near(base::CACHE_LINE_BYTES);
        for op in ops {
            if let Some(at) = handlers.of(op.op).and_then(|handler| handler.place_word(op.op, op.payload)) {
                bytes.bring_near(at);
            }
        }
    }

    /// Asks the processor for the places that these operations will change. Waits for what [`BufferPool::bring_words_near`] asked for.
    pub fn bring_places_near<'o>(&self, page: PageNo, ops: impl Iterator<Item = RedoOp<'o>>, handlers: &RedoHandlers) {
        let Some((_, bytes)) = self.in_memory(page) else { return };
        for op in ops {
            let Some(handler) = handlers.of(op.op) else { continue };
            if let Some(at) = handler.place_word(op.op, op.payload) {
                bytes.bring_near(handler.place(bytes.u64_at(at)));
            }
        }
    }

    fn in_memory(&self, page: PageNo) -> Option<(usize, RacyBytes<'_>)> {
        let frame = word::peek(self.cell(page).ok()?)?.frame()?;
        Some((frame, self.frames().racy(frame)))
    }

    /// Brings the page in and does operations of whole records on it. `Some`: a record could not be applied and the page is spoilt in memory; where the
    /// oldest record begins whose changes are not on disk.
    fn redo_in_frame(&self, page: PageNo, ops: &[RedoOp<'_>], made_anew: bool, handlers: &RedoHandlers) -> Result<Option<Lsn>, PoolError> {
        let guard = if made_anew { self.exclusive_unread(page)? } else { self.exclusive_or_zero(page)? };
        let (_, _, frame) = guard.into_parts();
        // SAFETY: the latch taken above is held until `release_exclusive` below, and no guard refers to the frame.
        let bytes = unsafe { self.frames().bytes_mut(frame) };
        let cell = self.cell(page)?;
        if header::page_type(bytes) == 0 && !made_anew {
            self.drop_unread(cell, page, frame);
            return Ok(ops.first().map(|op| op.start));
        }
        self.newest_met.note(page, header::lsn(bytes));
        let mut changed = false;
        for record in ops.chunk_by(|a, b| a.end == b.end) {
            let first = record[0];
            if header::lsn(bytes) >= first.end {
                continue;
            }
            if !changed {
                self.frames().mark_dirty(frame, first.start);
                changed = true;
            }
            if record.iter().any(|op| handlers.apply(page, op, bytes).is_err()) {
                let oldest = self.frames().oldest_change(frame).unwrap_or(first.start);
                // The page is half changed: it must not be used, nor written.
                self.abandon(page, frame);
                return Ok(Some(oldest));
            }
            header::set_lsn(bytes, first.end);
        }
        if changed && made_anew {
            self.skipped.remove(page);
        }
        word::release_exclusive(cell, page.0, self.lot(), changed);
        Ok(None)
    }

    /// Pages that redo met unwritten, broken or unfit for a record, and that no later record made anew. Each must be free in the space map, or the data file has lost it: the
    /// caller says so. Reading such a page is an error of the page store, or gives an old image of it: see [`page_store::PageStore::note_lacking`].
    pub fn redo_skipped(&self) -> Vec<PageNo> {
        self.redo_lacking().iter().map(|lacking| lacking.page).collect()
    }

    /// The same with the part of the log that each lacks.
    pub fn redo_lacking(&self) -> Vec<Lacking> {
        self.skipped.pages.lock().values().copied().collect()
    }

    fn exclusive_or_zero(&self, page: PageNo) -> Result<ExclusiveGuard<'_>, PoolError> {
        let cell = self.cell(page)?;
        loop {
            if let Acquired::Held(_, frame) = word::exclusive(cell, page.0, self.lot(), None) {
                self.frames().touch(frame);
                return Ok(ExclusiveGuard::new(self, cell, page, frame));
            }
            if word::claim_absent(cell) {
                let frame = self.load_claimed_or_zero(cell, page)?;
                return Ok(ExclusiveGuard::new(self, cell, page, frame));
            }
        }
    }

    /// Gives up an exclusively latched page that redo left half changed. It becomes a page of type 0, which the flusher refuses: nothing of it
    /// reaches the disk.
    fn abandon(&self, page: PageNo, frame: usize) {
        let Ok(cell) = self.cell(page) else { return };
        // SAFETY: the caller holds the page exclusively and has no reference into it.
        unsafe { self.frames().bytes_mut(frame) }.fill(0);
        word::release_exclusive(cell, page.0, self.lot(), true);
    }
}
