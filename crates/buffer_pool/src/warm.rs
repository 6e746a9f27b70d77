//! What a server that starts anew needs to go on as warm as it was: which pages are in memory, and reading such pages again.
//!
//! # Invariants
//! 1. Nobody is stopped to be listed: the list is of no one moment. It is advice, wherever it comes from; no page number in it is trusted.
//! 2. A page that was listed takes only a frame that is free and past the cleaner's reserve: no page that statements have brought goes for its sake.
//!
//! # Not here
//! Where the list is kept, when it is written, who loads it, and which pages belong to somebody: the engine's `warm.rs`.

use base::PageNo;

use crate::fetch::Arrival;
use crate::pool::BufferPool;
use crate::read_ahead::Brought;

/// Bits of a listed page below those of its uses.
const PAGE_BITS: u32 = 60;
/// Uses are told apart up to so many; a page that nobody has asked for has none.
const RANKS_MAX: u8 = 7;

impl BufferPool {
    /// The pages in memory: those with most uses first, those with equally many by number, so that they are read in the order of the file.
    pub fn resident_pages(&self) -> Vec<PageNo> {
        let frames = self.frames();
        let mut ranked: Vec<u64> = Vec::with_capacity(frames.count());
        for frame in 0..frames.count() {
            let page = frames.page(frame);
            if !page.is_none() && page.0 >> PAGE_BITS == 0 {
                let rank = RANKS_MAX - frames.uses(frame).min(RANKS_MAX);
                ranked.push(u64::from(rank) << PAGE_BITS | page.0);
            }
        }
        ranked.sort_unstable();
        ranked.into_iter().map(|ranked| PageNo(ranked & ((1 << PAGE_BITS) - 1))).collect()
    }

    /// Reads those of some listed pages that are not in memory, at once, where there are frames that nobody needs. Pages that are not there, are broken or are being
    /// brought by others are passed over.
    pub fn bring_kept(&self, pages: &[PageNo]) -> Brought {
        let page_count = self.store().page_count();
        // Not even their words in the table are looked at otherwise: they would take memory.
        let there: Vec<PageNo> = pages.iter().copied().filter(|page| page.0 < page_count).collect();
        self.read_batch(&there, Arrival::Kept, || self.replacement.lock().take_spare())
    }
}
