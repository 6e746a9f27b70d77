//! Pages that lack changes which the log had and recovery could not do again, because what is on disk is broken or too old for them.
//!
//! A broken page says so itself, as long as it is broken. One that comes back from a backup, or whose device finds its bytes again, is whole and old, and
//! only this list tells it from the page that should be there.

use base::{Lsn, PageNo};
use std::collections::BTreeMap;
use sync::atomic::{AtomicUsize, Ordering};
use sync::{Mutex, Rank};

/// A page, and which part of the log it lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lacking {
    /// Which.
    pub page: PageNo,
    /// Where the first record begins that it may lack; none when the log is not kept for it (any more).
    pub from: Lsn,
    /// The LSN of the page when it has them all.
    pub to: Lsn,
}

/// All such pages. Leaf latch; who reads a page looks at a counter first, which is zero on a healthy server.
pub(crate) struct LackingPages {
    count: AtomicUsize,
    pages: Mutex<BTreeMap<PageNo, Lacking>>,
}

impl LackingPages {
    pub fn new() -> LackingPages {
        LackingPages { count: AtomicUsize::new(0), pages: Mutex::new(Rank::Leaf, BTreeMap::new()) }
    }

    pub fn add(&self, lacking: Lacking) {
        let mut pages = self.pages.lock();
        pages.insert(lacking.page, lacking);
        // Release: who reads the page later was told of the recovery's end by other means.
        self.count.store(pages.len(), Ordering::Release);
    }

    pub fn remove(&self, page: PageNo) {
        if self.count.load(Ordering::Acquire) > 0 {
            let mut pages = self.pages.lock();
            pages.remove(&page);
            self.count.store(pages.len(), Ordering::Release);
        }
    }

    /// Whether an image of this LSN is too old for the page.
    pub fn is_behind(&self, page: PageNo, lsn: Lsn) -> bool {
        self.count.load(Ordering::Acquire) > 0 && self.pages.lock().get(&page).is_some_and(|lacking| lsn < lacking.to)
    }

    pub fn list(&self) -> Vec<Lacking> {
        if self.count.load(Ordering::Acquire) == 0 { Vec::new() } else { self.pages.lock().values().copied().collect() }
    }
}
