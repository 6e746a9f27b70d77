//! Latched access to a page: shared, exclusive, optimistic.

use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::sync::atomic::AtomicU64;

use base::{Lsn, PageNo};
use page_store::header;

use crate::pool::BufferPool;
use crate::racy::RacyBytes;
use crate::word::{self, Acquired, Word};

/// Guards stay on their thread: a latch has an owner.
type NotSend = PhantomData<*mut ()>;

/// A page that others may read and nobody changes, until dropped.
pub struct SharedGuard<'p> {
    pool: &'p BufferPool,
    cell: &'p AtomicU64,
    page: PageNo,
    frame: u32,
    _thread: NotSend,
}

impl<'p> SharedGuard<'p> {
    /// Takes over a shared latch that the caller holds.
    #[inline(always)]
    pub(crate) fn new(pool: &'p BufferPool, cell: &'p AtomicU64, page: PageNo, frame: usize) -> Self {
        SharedGuard { pool, cell, page, frame: frame as u32, _thread: PhantomData }
    }

    /// The page's number.
    #[inline]
    pub fn page_no(&self) -> PageNo {
        self.page
    }

    /// End of the last record that changed the page.
    pub fn lsn(&self) -> Lsn {
        header::lsn(self)
    }
}

impl Deref for SharedGuard<'_> {
    type Target = [u8];
    #[inline(always)]
    fn deref(&self) -> &[u8] {
        // SAFETY: this guard holds the page's latch shared, and the page is in this frame as long as it does.
        unsafe { self.pool.frames().bytes(self.frame as usize) }
    }
}

impl Drop for SharedGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        word::release_shared(self.cell, self.page.0, self.pool.lot());
    }
}

impl std::fmt::Debug for SharedGuard<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SharedGuard({})", self.page)
    }
}

/// A page that nobody else latches, until dropped. Changes go through an [`crate::Mtr`], which adopts the guard.
pub struct ExclusiveGuard<'p> {
    pool: &'p BufferPool,
    cell: &'p AtomicU64,
    page: PageNo,
    frame: u32,
    _thread: NotSend,
}

impl<'p> ExclusiveGuard<'p> {
    /// Takes over an exclusive latch that the caller holds.
    #[inline(always)]
    pub(crate) fn new(pool: &'p BufferPool, cell: &'p AtomicU64, page: PageNo, frame: usize) -> Self {
        ExclusiveGuard { pool, cell, page, frame: frame as u32, _thread: PhantomData }
    }

    /// The page's number.
    #[inline]
    pub fn page_no(&self) -> PageNo {
        self.page
    }

    /// End of the last record that changed the page.
    pub fn lsn(&self) -> Lsn {
        header::lsn(self)
    }

    /// Gives up writing but keeps reading; no writer comes in between.
    pub fn downgrade(self) -> SharedGuard<'p> {
        let (pool, cell, page, frame) = (self.pool, self.cell, self.page, self.frame as usize);
        std::mem::forget(self);
        word::downgrade(cell, page.0, pool.lot(), false);
        SharedGuard::new(pool, cell, page, frame)
    }

    /// Hands the latch over to the caller: pool, frame.
    #[inline]
    pub(crate) fn into_parts(self) -> (&'p BufferPool, PageNo, usize) {
        let parts = (self.pool, self.page, self.frame as usize);
        std::mem::forget(self);
        parts
    }
}

impl Deref for ExclusiveGuard<'_> {
    type Target = [u8];
    #[inline(always)]
    fn deref(&self) -> &[u8] {
        // SAFETY: this guard holds the page's latch exclusively; it hands out no reference for changing.
        unsafe { self.pool.frames().bytes(self.frame as usize) }
    }
}

impl Drop for ExclusiveGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // Nothing was changed under this guard, so optimistic readers stay valid.
        word::release_exclusive(self.cell, self.page.0, self.pool.lot(), false);
    }
}

impl std::fmt::Debug for ExclusiveGuard<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ExclusiveGuard({})", self.page)
    }
}

/// A page read without latching it. What is read counts only after [`OptimisticGuard::validate`] said yes; until then it may be any bytes,
/// so offsets taken from it must be treated as hostile. Reads past the page give zeros. Dropping it costs nothing.
#[derive(Clone, Copy)]
pub struct OptimisticGuard<'p> {
    pool: &'p BufferPool,
    cell: &'p AtomicU64,
    page: PageNo,
    seen: Word,
    bytes: RacyBytes<'p>,
}

impl<'p> OptimisticGuard<'p> {
    /// `seen` is readable and names `frame`.
    #[inline(always)]
    pub(crate) fn new(pool: &'p BufferPool, cell: &'p AtomicU64, page: PageNo, seen: Word, frame: usize) -> Self {
        OptimisticGuard { pool, cell, page, seen, bytes: pool.frames().racy(frame) }
    }

    /// The page's number.
    #[inline]
    pub fn page_no(&self) -> PageNo {
        self.page
    }

    /// Asks the processor for the line of this offset, if the page has it.
    #[inline(always)]
    pub fn bring_near(&self, offset: usize) {
        self.bytes.bring_near(offset);
    }

    /// Asks the processor for what who latches and changes the page will note beside it.
    #[inline]
    pub fn bring_frame_near(&self) {
        if let Some(frame) = self.seen.frame() {
            self.pool.frames().bring_near(frame);
        }
    }

    /// The byte at `offset`.
    #[inline(always)]
    pub fn u8_at(&self, offset: usize) -> u8 {
        self.bytes.u8_at(offset)
    }

    /// The little-endian integer at `offset`; fastest where the offset is even.
    #[inline(always)]
    pub fn u16_at(&self, offset: usize) -> u16 {
        self.bytes.u16_at(offset)
    }

    /// The little-endian integer at `offset`; fastest where the offset is a multiple of 4.
    #[inline(always)]
    pub fn u32_at(&self, offset: usize) -> u32 {
        self.bytes.u32_at(offset)
    }

    /// The little-endian integer at `offset`; fastest where the offset is a multiple of 8.
    #[inline(always)]
    pub fn u64_at(&self, offset: usize) -> u64 {
        self.bytes.u64_at(offset)
    }

    /// How the bytes from `offset` on compare with others, of which there are as many.
    #[inline]
    pub fn compare(&self, offset: usize, other: &[u8]) -> std::cmp::Ordering {
        self.bytes.compare(offset, other)
    }

    /// Copies the bytes of `range` to the start of `out`.
    #[inline]
    pub fn copy(&self, range: Range<usize>, out: &mut [u8]) {
        self.bytes.copy(range.start, &mut out[..range.len()]);
    }

    /// Whether everything read so far is one state of the page, and the page is still in it.
    #[inline(always)]
    #[must_use]
    pub fn validate(&self) -> bool {
        word::validate(self.cell, self.seen)
    }

    /// Latches shared, waiting for a writer if need be; `None` when the page is no longer what was read.
    pub fn upgrade_shared(self) -> Option<SharedGuard<'p>> {
        if !self.validate() {
            return None;
        }
        let held = match word::try_shared_fast(self.cell) {
            Some(held) => held,
            None => match word::shared(self.cell, self.page.0, self.pool.lot(), None) {
                Acquired::Held(held, _) => held,
                Acquired::Absent | Acquired::Busy => return None,
            },
        };
        let guard = SharedGuard::new(self.pool, self.cell, self.page, held.frame()?);
        held.same_content(self.seen).then_some(guard)
    }

    /// Latches exclusively if nobody has the page now and it is still what was read. Never waits: for who holds pages below this one.
    pub fn try_upgrade_exclusive(self) -> Option<ExclusiveGuard<'p>> {
        let held = word::try_exclusive_fast(self.cell)?;
        let guard = ExclusiveGuard::new(self.pool, self.cell, self.page, held.frame()?);
        held.same_content(self.seen).then_some(guard)
    }

    /// Latches exclusively, waiting for readers and writers if need be; `None` when the page is no longer what was read.
    pub fn upgrade_exclusive(self) -> Option<ExclusiveGuard<'p>> {
        if !self.validate() {
            return None;
        }
        let held = match word::try_exclusive_fast(self.cell) {
            Some(held) => held,
            None => match word::exclusive(self.cell, self.page.0, self.pool.lot(), None) {
                Acquired::Held(held, _) => held,
                Acquired::Absent | Acquired::Busy => return None,
            },
        };
        let guard = ExclusiveGuard::new(self.pool, self.cell, self.page, held.frame()?);
        held.same_content(self.seen).then_some(guard)
    }
}

impl std::fmt::Debug for OptimisticGuard<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OptimisticGuard({}, {:?})", self.page, self.seen)
    }
}
