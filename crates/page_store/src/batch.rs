//! A batch of page images in one aligned buffer, laid out so that the doublewrite copy is one sequential write.
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 4096 | doublewrite header (see `doublewrite.rs`) |
//! | 4096 + 16384·i | 16384 | image i |

use base::{PAGE_BYTES, PageNo};
use env::AlignedBuf;

/// Bytes before the first image.
pub(crate) const BATCH_HEADER_BYTES: usize = 4096;

/// Page images waiting to be written together. Reused from batch to batch; never shrinks or grows.
pub struct Batch {
    buffer: AlignedBuf,
    pages: Vec<PageNo>,
    capacity: usize,
}

impl Batch {
    /// Most pages in one batch: their numbers must fit in the doublewrite header.
    pub const PAGES_MAX: usize = 256;

    /// Room for `capacity` pages, at most [`Batch::PAGES_MAX`].
    pub fn new(capacity: usize) -> Batch {
        assert!((1..=Self::PAGES_MAX).contains(&capacity), "batch capacity {capacity}");
        Batch { buffer: AlignedBuf::new(BATCH_HEADER_BYTES + capacity * PAGE_BYTES), pages: Vec::with_capacity(capacity), capacity }
    }

    /// Pages in the batch.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Whether the batch holds nothing.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Whether no more pages fit.
    pub fn is_full(&self) -> bool {
        self.pages.len() == self.capacity
    }

    /// Forgets the pages.
    pub fn clear(&mut self) {
        self.pages.clear();
    }

    /// Page numbers, in the order of the pushes.
    pub fn pages(&self) -> &[PageNo] {
        &self.pages
    }

    /// Takes a place for `page` and returns its bytes to be filled. Pages pushed in ascending order are written with fewer calls.
    pub fn push(&mut self, page: PageNo) -> &mut [u8] {
        assert!(!self.is_full(), "batch of {} pages is full", self.capacity);
        assert!(!page.is_none(), "page 0 belongs to the store");
        let index = self.pages.len();
        self.pages.push(page);
        self.image_mut(index)
    }

    /// The image at this place in the order of the pushes.
    pub fn image(&self, index: usize) -> &[u8] {
        self.images(index, index + 1)
    }

    /// Forgets all pages but those at these places, which ascend.
    pub fn keep(&mut self, places: impl Iterator<Item = usize>) {
        let mut count = 0;
        for place in places {
            let from = BATCH_HEADER_BYTES + place * PAGE_BYTES;
            self.buffer.copy_within(from..from + PAGE_BYTES, BATCH_HEADER_BYTES + count * PAGE_BYTES);
            self.pages[count] = self.pages[place];
            count += 1;
        }
        self.pages.truncate(count);
    }

    pub(crate) fn image_mut(&mut self, index: usize) -> &mut [u8] {
        let start = BATCH_HEADER_BYTES + index * PAGE_BYTES;
        &mut self.buffer[start..start + PAGE_BYTES]
    }

    /// Images `from..to`, contiguous.
    pub(crate) fn images(&self, from: usize, to: usize) -> &[u8] {
        &self.buffer[BATCH_HEADER_BYTES + from * PAGE_BYTES..BATCH_HEADER_BYTES + to * PAGE_BYTES]
    }

    pub(crate) fn header_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[..BATCH_HEADER_BYTES]
    }

    /// Header and all images.
    pub(crate) fn whole(&self) -> &[u8] {
        &self.buffer[..BATCH_HEADER_BYTES + self.pages.len() * PAGE_BYTES]
    }
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch").field("pages", &self.pages).field("capacity", &self.capacity).finish()
    }
}
