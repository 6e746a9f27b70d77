//! Which pages are in memory, for who looks after a server.
//!
//! # Invariants
//! 1. It is looked at without latches: a page may be given up, or be changed, while it is described. Nothing but what is told rests on it.

use crate::pool::BufferPool;
use base::{IndexId, Lsn, PageNo};
use page_store::header;

/// A page in memory, as it was when it was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CachedPage {
    /// Its frame.
    pub frame: usize,
    /// Its number.
    pub page: PageNo,
    /// What it holds; `None` for what no page of a store is.
    pub kind: Option<header::PageType>,
    /// Level in its tree; 0 for leaves.
    pub level: u16,
    /// Whose it is.
    pub index: IndexId,
    /// End of the last record that changed it.
    pub newest: Lsn,
    /// Start of the first one that is not on disk; [`Lsn::NONE`] where all are.
    pub oldest: Lsn,
    /// The first bytes behind the header, for who knows what kind of page it is.
    pub body: [u8; BODY_BYTES],
}

/// Bytes of [`CachedPage::body`].
pub const BODY_BYTES: usize = 8;

impl BufferPool {
    /// How many frames there are.
    pub fn frame_count(&self) -> usize {
        self.frames().count()
    }

    /// The page in a frame; `None` where there is none, and past the last frame.
    pub fn cached_page(&self, frame: usize) -> Option<CachedPage> {
        if frame >= self.frames().count() {
            return None;
        }
        let page = self.frames().page(frame);
        if page.is_none() {
            return None;
        }
        let bytes = self.frames().racy(frame);
        let mut body = [0; BODY_BYTES];
        bytes.copy(header::PAGE_HEADER_BYTES, &mut body);
        Some(CachedPage {
            frame,
            page,
            kind: header::PageType::from_u8(bytes.u8_at(header::TYPE)),
            level: bytes.u16_at(header::LEVEL),
            index: IndexId(bytes.u32_at(header::INDEX_ID)),
            newest: Lsn(bytes.u64_at(header::LSN)),
            oldest: self.frames().first_dirty(frame),
            body,
        })
    }
}
