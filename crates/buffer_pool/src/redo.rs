//! Redo: doing the operations of a log record again on the pages that have not seen them.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

use base::{Lsn, Malformed, PageNo};
use page_store::header;

use crate::error::PoolError;
use crate::guard::ExclusiveGuard;
use crate::ops::{Op, ops, redo_own, sets_whole_page};
use crate::pool::BufferPool;
use crate::word::{self, Acquired};

/// Does the operations of one crate on a page.
pub trait RedoHandler: Send + Sync {
    /// Applies `op` to `page`. Deterministic; the payload is not trusted.
    fn redo(&self, op: u8, payload: &[u8], page: &mut [u8]) -> Result<(), Malformed>;
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

/// The operations, record by record, with the place of each record's first.
fn records<'o, 'a>(ops: &'o [RedoOp<'a>]) -> impl Iterator<Item = (usize, &'o [RedoOp<'a>])> {
    let mut at = 0;
    ops.chunk_by(|a, b| a.end == b.end).map(move |record| {
        at += record.len();
        (at - record.len(), record)
    })
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
        let (_, handler) = self.handlers.iter().find(|(codes, _)| codes.contains(&op.op)).ok_or(Malformed)?;
        handler.redo(op.op, op.payload, page)
    }
}

impl std::fmt::Debug for RedoHandlers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.handlers.iter().map(|(codes, _)| codes)).finish()
    }
}

/// Pages whose operations could not be done because the page is not on disk, is broken there, or is too old for them. Right for a page that was freed
/// (and punched out, perhaps half) after the record: its changes were not written any more, so the checkpoint may lie behind some of them. For any
/// other it is a loss. A broken page is left as it is and fails those who ask for it, not the start.
#[derive(Default)]
pub(crate) struct Skipped {
    pages: BTreeSet<PageNo>,
}

impl BufferPool {
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
        let mut rest = &ops[made_anew.unwrap_or(0)..];
        // A record that cannot be applied costs the page its place in memory; what follows is tried on what is on disk. A loop: a batch may hold
        // thousands of such records, and the stacks of those who redo are small.
        while !rest.is_empty() {
            let made_anew = sets_whole_page(rest[0].op);
            let Some(unfit) = self.redo_in_frame(page, rest, made_anew, handlers)? else { return Ok(()) };
            self.skipped.lock().pages.insert(page);
            self.discard(page, 1)?;
            rest = &rest[unfit..];
        }
        Ok(())
    }

    /// Brings the page in and does operations of whole records on it. `Some`: a record could not be applied and the page is spoilt in memory; where the
    /// next record begins.
    fn redo_in_frame(
        &self,
        page: PageNo,
        ops: &[RedoOp<'_>],
        made_anew: bool,
        handlers: &RedoHandlers,
    ) -> Result<Option<usize>, PoolError> {
        let guard = if made_anew { self.exclusive_unread(page)? } else { self.exclusive_or_zero(page)? };
        let (_, _, frame) = guard.into_parts();
        // SAFETY: the latch taken above is held until `release_exclusive` below, and no guard refers to the frame.
        let bytes = unsafe { self.frames().bytes_mut(frame) };
        let cell = self.cell(page)?;
        if header::page_type(bytes) == 0 && !made_anew {
            self.skipped.lock().pages.insert(page);
            self.drop_unread(cell, page, frame);
            return Ok(None);
        }
        let mut changed = false;
        for (at, record) in records(ops) {
            let first = record[0];
            if header::lsn(bytes) >= first.end {
                continue;
            }
            if !changed {
                self.frames().mark_dirty(frame, first.start);
                changed = true;
            }
            if record.iter().any(|op| handlers.apply(page, op, bytes).is_err()) {
                // The page is half changed: it must not be used, nor written.
                self.abandon(page, frame);
                return Ok(Some(at + record.len()));
            }
            header::set_lsn(bytes, first.end);
        }
        if changed && made_anew {
            self.skipped.lock().pages.remove(&page);
        }
        word::release_exclusive(cell, page.0, self.lot(), changed);
        Ok(None)
    }

    /// Pages that redo met unwritten, broken or unfit for a record, and that no later record made anew. Each must be free in the space map, or the data file has lost it: the
    /// caller says so. Reading such a page is an error of the page store.
    pub fn redo_skipped(&self) -> Vec<PageNo> {
        self.skipped.lock().pages.iter().copied().collect()
    }

    fn exclusive_or_zero(&self, page: PageNo) -> Result<ExclusiveGuard<'_>, PoolError> {
        let cell = self.cell(page)?;
        loop {
            if let Acquired::Held(held) = word::exclusive(cell, page.0, self.lot(), None) {
                let frame = held.frame().expect("a held page has a frame");
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
