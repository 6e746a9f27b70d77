//! Mini-transactions: changes of several pages that reach the log as one record, all or nothing.

use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Range;

use base::{IndexId, Lsn, PAGE_BYTES, PageNo};
use page_store::header;

use crate::error::PoolError;
use crate::guard::ExclusiveGuard;
use crate::ops::{NEW_PAGE, PAGE_IMAGE, WRITE_BYTES, put_op};
use crate::pool::BufferPool;
use crate::word;

/// A page latched by a mini-transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRef(usize);

#[derive(Clone, Copy)]
struct Held {
    page: PageNo,
    frame: u32,
    changed: bool,
    /// False once released.
    latched: bool,
}

/// What a thread keeps from one mini-transaction to the next, so that none allocates.
#[derive(Default)]
struct Kept {
    pages: Vec<Held>,
    body: Vec<u8>,
}

/// Record bodies larger than this are not kept by the thread.
const BODY_KEPT_BYTES: usize = 256 * 1024;

thread_local! {
    static KEPT: Cell<Option<Box<Kept>>> = const { Cell::new(None) };
}

/// A mini-transaction. It holds its pages exclusively until [`Mtr::commit`]; what it changed must be logged by it.
///
/// Dropped without a change (or after one but before any is made) it just unlatches. Dropped after a change without commit it aborts the process: a page
/// in memory would differ from what its log says. So latch and read everything that can fail first, then change.
///
/// Before the first latch the caller calls `pool.wal().ensure_space()`: commit does not wait for a checkpoint.
pub struct Mtr<'p> {
    pool: &'p BufferPool,
    /// Boxed, so that moving a mini-transaction moves a pointer; taken out only by drop.
    kept: ManuallyDrop<Box<Kept>>,
    /// Some page was changed or something logged.
    changed: bool,
    _thread: PhantomData<*mut ()>,
}

impl<'p> Mtr<'p> {
    /// Begins with no page.
    #[inline]
    pub fn begin(pool: &'p BufferPool) -> Mtr<'p> {
        let kept = ManuallyDrop::new(KEPT.take().unwrap_or_default());
        Mtr { pool, kept, changed: false, _thread: PhantomData }
    }

    /// The pool.
    #[inline]
    pub fn pool(&self) -> &'p BufferPool {
        self.pool
    }

    #[inline]
    fn hold(&mut self, page: PageNo, frame: usize) -> PageRef {
        self.kept.pages.push(Held { page, frame: frame as u32, changed: false, latched: true });
        PageRef(self.kept.pages.len() - 1)
    }

    /// Takes over a page latched outside.
    #[inline]
    pub fn adopt(&mut self, guard: ExclusiveGuard<'p>) -> PageRef {
        let (pool, page, frame) = guard.into_parts();
        assert!(std::ptr::eq(pool, self.pool), "page {page} is of another pool");
        self.hold(page, frame)
    }

    /// The page, if this mini-transaction holds it.
    pub fn find(&self, page: PageNo) -> Option<PageRef> {
        self.kept.pages.iter().position(|held| held.latched && held.page == page).map(PageRef)
    }

    /// Pages held now, in the order of latching.
    pub fn held_pages(&self) -> impl Iterator<Item = PageNo> + '_ {
        self.kept.pages.iter().filter(|held| held.latched).map(|held| held.page)
    }

    /// Latches a page exclusively, unless this mini-transaction holds it already.
    pub fn latch(&mut self, page: PageNo) -> Result<PageRef, PoolError> {
        if let Some(held) = self.find(page) {
            return Ok(held);
        }
        let guard = self.pool.exclusive(page)?;
        Ok(self.adopt(guard))
    }

    /// Latches a page exclusively if nobody has it.
    pub fn try_latch(&mut self, page: PageNo) -> Result<Option<PageRef>, PoolError> {
        if let Some(held) = self.find(page) {
            return Ok(Some(held));
        }
        Ok(self.pool.try_exclusive(page)?.map(|guard| self.adopt(guard)))
    }

    /// Begins a page anew: zeroed, with a header; logged. What was on disk is not read.
    pub fn new_page(&mut self, page: PageNo, page_type: u8, index: IndexId, level: u16) -> Result<PageRef, PoolError> {
        let held = self.latch_unread(page)?;
        self.reset_page(held, page_type, index, level);
        Ok(held)
    }

    /// Latches a page that [`Mtr::reset_page`] or [`Mtr::log_image`] is about to set whole, without reading it from disk. The first half of
    /// [`Mtr::new_page`], for callers that must not fail after their first change. Until it is set its bytes are unspecified, and it may be released unset.
    pub fn latch_unread(&mut self, page: PageNo) -> Result<PageRef, PoolError> {
        if let Some(held) = self.find(page) {
            return Ok(held);
        }
        let guard = self.pool.exclusive_unread(page)?;
        Ok(self.adopt(guard))
    }

    /// Zeroes a held page and gives it a header; logged.
    pub fn reset_page(&mut self, page: PageRef, page_type: u8, index: IndexId, level: u16) {
        assert!(page_type != 0, "page type 0 means unwritten");
        let number = self.page_no(page);
        header::init(self.bytes_mut(page), number, page_type, index, level);
        put_op(&mut self.kept.body, NEW_PAGE, number, |out| {
            base::put_u8(out, page_type);
            base::put_u16(out, level);
            base::put_u32(out, index.0);
        });
    }

    #[inline]
    fn held(&self, page: PageRef) -> &Held {
        let held = &self.kept.pages[page.0];
        assert!(held.latched, "page {} was released", held.page);
        held
    }

    /// The page's number.
    #[inline]
    pub fn page_no(&self, page: PageRef) -> PageNo {
        self.held(page).page
    }

    /// The page's bytes.
    #[inline]
    pub fn bytes(&self, page: PageRef) -> &[u8] {
        let frame = self.held(page).frame as usize;
        // SAFETY: this mini-transaction holds the page exclusively; references for changing borrow it mutably.
        unsafe { self.pool.frames().bytes(frame) }
    }

    /// The page's bytes for changing. The caller logs what it changes.
    #[inline]
    pub fn bytes_mut(&mut self, page: PageRef) -> &mut [u8] {
        let frame = self.held(page).frame as usize;
        self.kept.pages[page.0].changed = true;
        self.changed = true;
        // SAFETY: this mini-transaction holds the page exclusively, and the result borrows it mutably, so no other reference into a page of
        // it lives.
        unsafe { self.pool.frames().bytes_mut(frame) }
    }

    /// Two pages' bytes, both for changing (to move entries between them).
    pub fn bytes_mut_pair(&mut self, a: PageRef, b: PageRef) -> (&mut [u8], &mut [u8]) {
        let (frame_a, frame_b) = (self.held(a).frame as usize, self.held(b).frame as usize);
        assert!(frame_a != frame_b, "one page twice");
        self.kept.pages[a.0].changed = true;
        self.kept.pages[b.0].changed = true;
        self.changed = true;
        // SAFETY: as in `bytes_mut`; the frames differ, so the results do not overlap.
        unsafe { (self.pool.frames().bytes_mut(frame_a), self.pool.frames().bytes_mut(frame_b)) }
    }

    /// Adds an operation to the record. `page` is one of this mini-transaction's.
    #[inline]
    pub fn log(&mut self, op: u8, page: Option<PageNo>, write: impl FnOnce(&mut Vec<u8>)) {
        debug_assert!(page.is_none_or(|page| self.find(page).is_some()), "operation {op:#x} on a page that is not held: {page:?}");
        self.changed = true;
        put_op(&mut self.kept.body, op, page.unwrap_or(PageNo::NONE), write);
    }

    /// The same with the page's bytes at hand, as they are now.
    pub fn log_of_page(&mut self, op: u8, page: PageRef, write: impl FnOnce(&[u8], &mut Vec<u8>)) {
        let held = *self.held(page);
        self.changed = true;
        // SAFETY: as in `bytes`; the body is other memory.
        let bytes = unsafe { self.pool.frames().bytes(held.frame as usize) };
        put_op(&mut self.kept.body, op, held.page, |out| write(bytes, out));
    }

    /// Replaces bytes of a page; logged.
    #[inline]
    pub fn write_bytes(&mut self, page: PageRef, offset: usize, bytes: &[u8]) {
        self.bytes_mut(page)[offset..offset + bytes.len()].copy_from_slice(bytes);
        let number = self.held(page).page;
        put_op(&mut self.kept.body, WRITE_BYTES, number, |out| {
            base::put_u16(out, offset as u16);
            out.extend_from_slice(bytes);
        });
    }

    /// Logs the whole page as it is now, without the bytes of `gap`, which hold nothing; they are zeroed here as redo will.
    pub fn log_image(&mut self, page: PageRef, gap: Range<usize>) {
        assert!(gap.start <= gap.end && gap.end <= PAGE_BYTES && gap.len() <= u16::MAX as usize, "gap {gap:?}");
        self.bytes_mut(page)[gap.clone()].fill(0);
        let held = *self.held(page);
        // SAFETY: as in `bytes`; the body is other memory.
        let bytes = unsafe { self.pool.frames().bytes(held.frame as usize) };
        put_op(&mut self.kept.body, PAGE_IMAGE, held.page, |out| {
            base::put_u16(out, gap.start as u16);
            base::put_u16(out, gap.len() as u16);
            out.extend_from_slice(&bytes[..gap.start]);
            out.extend_from_slice(&bytes[gap.end..]);
        });
    }

    /// Unlatches a page that this mini-transaction did not change.
    pub fn release(&mut self, page: PageRef) {
        let held = &mut self.kept.pages[page.0];
        assert!(held.latched && !held.changed, "page {} is released twice or changed", held.page);
        held.latched = false;
        let held = *held;
        if self.unlatch(held) {
            self.wake(held);
        }
    }

    /// Whether anything was changed or logged.
    #[inline]
    pub fn is_changed(&self) -> bool {
        self.changed
    }

    /// Bytes of the record so far.
    pub fn body_bytes(&self) -> usize {
        self.kept.body.len()
    }

    /// Unlatches a page and wakes nobody; true when somebody waits for it.
    #[inline]
    fn unlatch(&self, held: Held) -> bool {
        let cell = self.pool.cell(held.page).expect("a held page is in the table");
        // SAFETY: the page is still held exclusively, and no reference into it lives here.
        if !held.changed && header::page_type(unsafe { self.pool.frames().bytes(held.frame as usize) }) == 0 {
            // Latched unread, then not set after all: the frame does not hold what is on disk.
            self.pool.drop_unread(cell, held.page, held.frame as usize);
            return false;
        }
        word::release_exclusive_silently(cell, held.changed)
    }

    #[cold]
    fn wake(&self, held: Held) {
        word::wake(self.pool.cell(held.page).expect("a held page is in the table"), held.page.0, self.pool.lot());
    }

    /// Puts the record into the log, stamps the changed pages with its end and unlatches. Returns the record's end, or [`Lsn::NONE`] when nothing
    /// was changed. Durability is asked of the log, by that LSN.
    pub fn commit(mut self) -> Lsn {
        let mut end = Lsn::NONE;
        if self.changed {
            assert!(!self.kept.body.is_empty(), "a page was changed and nothing logged");
            let wal = self.pool.wal();
            let reservation = wal.reserve(self.kept.body.len());
            end = reservation.end;
            for held in self.kept.pages.iter().filter(|held| held.changed) {
                let frame = held.frame as usize;
                // SAFETY: this mini-transaction holds the page exclusively and no reference into it lives here.
                header::set_lsn(unsafe { self.pool.frames().bytes_mut(frame) }, end);
                // Before `fill` marks the range complete: a checkpoint that counts this record as written sees the page dirty.
                self.pool.frames().mark_dirty(frame, reservation.start);
            }
            reservation.fill(wal, &self.kept.body);
            self.changed = false;
        }
        // Unlatches.
        drop(self);
        end
    }
}

impl Drop for Mtr<'_> {
    fn drop(&mut self) {
        if self.changed {
            eprintln!("fatal: a mini-transaction was given up after its first change; the pages in memory are not what the log says");
            std::process::abort();
        }
        // All pages first, then those who wait for them: who is woken may run at once in this thread's place, and hundreds may wait for the parent of a
        // page that was split. Meanwhile `latched` says whom to wake for.
        let mut awaited = false;
        for i in 0..self.kept.pages.len() {
            let held = self.kept.pages[i];
            let wake = held.latched && self.unlatch(held);
            self.kept.pages[i].latched = wake;
            awaited |= wake;
        }
        if awaited {
            self.kept.pages.iter().filter(|held| held.latched).for_each(|held| self.wake(*held));
        }
        self.kept.pages.clear();
        self.kept.body.clear();
        // SAFETY: drop runs once, and nothing uses `kept` after this.
        let kept = unsafe { ManuallyDrop::take(&mut self.kept) };
        if kept.body.capacity() <= BODY_KEPT_BYTES {
            KEPT.set(Some(kept));
        }
    }
}

impl std::fmt::Debug for Mtr<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pages: Vec<_> = self.kept.pages.iter().filter(|held| held.latched).map(|held| held.page).collect();
        f.debug_struct("Mtr").field("pages", &pages).field("body_bytes", &self.kept.body.len()).finish()
    }
}
