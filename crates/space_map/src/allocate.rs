//! Giving out and taking back single pages, in the caller's mini-transaction.

use base::{EXTENT_PAGES, IndexId, PageNo};
use buffer_pool::{Mtr, PageRef};

use crate::error::SpaceError;
use crate::index::Candidate;
use crate::layout::{self, Change, REGION_EXTENTS, SELF, extent_of, is_map_page, map_page, region_of};
use crate::map::{PageKind, SpaceMap};

/// Looks for a map page held by others before a free gives up.
const TRIES: usize = 64;

impl SpaceMap {
    /// Gives `owner` a page, near `near` if there is room. The page is latched by `mtr`; the caller sets it by [`Mtr::new_page`], which cannot fail then.
    ///
    /// On an error this call changed nothing. A caller that allocated another page before, in the same mini-transaction, cannot just give up then: it
    /// [`SpaceMap::free`]s that page (which cannot fail, all is latched) and commits.
    pub fn allocate(&self, mtr: &mut Mtr<'_>, owner: IndexId, kind: PageKind, near: Option<PageNo>) -> Result<PageNo, SpaceError> {
        assert!(!owner.is_none() && owner != SELF, "index id {owner} owns nothing");
        let mut busy: Vec<u64> = Vec::new();
        if let Some(near) = near {
            // A neighbour is wanted for speed only.
            let _ = self.try_read_region(mtr, region_of(extent_of(near)));
        }
        // Nothing more can be reserved: only what is known to have room is given out.
        let mut is_full = false;
        loop {
            let allowed = |extent| !busy.contains(&region_of(extent)) && (!is_full || self.backed.lock().has(extent));
            let picked = self.index.lock().pick(owner, kind.extent(), near, allowed);
            let Some(candidate) = picked else {
                if is_full {
                    return Err(SpaceError::Full);
                }
                // There may be room that nobody has seen since the start.
                let unread = self.index.lock().last_unread(&busy);
                if let Some(region) = unread {
                    if !matches!(self.try_read_region(mtr, region), Ok(true)) {
                        // Whoever asks for all of the map is told what is wrong with it.
                        busy.push(region);
                    }
                    continue;
                }
                // Past every map page that this mini-transaction holds: in order.
                let from = mtr.held_pages().filter(|&held| is_map_page(held)).map(|held| region_of(extent_of(held)) + 1).max();
                let region = self.index.lock().next_region(from.unwrap_or(0));
                self.make_region(region)?;
                continue;
            };
            let extent = extent_of(candidate.page);
            match self.back(extent) {
                Err(SpaceError::Full) if !is_full => {
                    is_full = true;
                    continue;
                }
                backed => backed?,
            }
            let Some(map) = self.latch_map(mtr, region_of(extent))? else {
                busy.push(region_of(extent));
                continue;
            };
            // The map page's latch keeps the answer true until the commit.
            if self.index.lock().is_available(candidate, owner) {
                // A free page: at most a straggler that follows an old pointer has it, and such a one waits for nothing.
                mtr.latch_unread(candidate.page)?;
                self.take(mtr, map, candidate, owner);
                return Ok(candidate.page);
            }
        }
    }

    fn take(&self, mtr: &mut Mtr<'_>, map: PageRef, candidate: Candidate, owner: IndexId) {
        let extent = extent_of(candidate.page);
        let bit = (candidate.page.0 % EXTENT_PAGES) as u8;
        self.index.lock().take(extent, candidate.kind, 1 << bit, owner);
        let slot = (extent % REGION_EXTENTS) as u8;
        Change { slot, kind: candidate.kind, first: bit, count: 1, owner }.make(mtr, map);
    }

    /// Takes a page back from its owner. The caller holds it exclusively in `mtr`, so that nobody is in it. Nobody gets it before `mtr` is committed.
    /// Several pages in one mini-transaction are freed in ascending order. On an error nothing was changed.
    pub fn free(&self, mtr: &mut Mtr<'_>, page: PageNo) -> Result<(), SpaceError> {
        let extent = extent_of(page);
        self.read_region_patiently(mtr, page)?;
        if !self.index.lock().has_region(region_of(extent)) || is_map_page(page) {
            return Err(SpaceError::NotAllocated(page));
        }
        let map = self.latch_map_patiently(mtr, page)?;
        let (slot, bit) = ((extent % REGION_EXTENTS) as u8, (page.0 % EXTENT_PAGES) as u8);
        let owner = layout::owner(mtr.bytes(map), usize::from(slot), usize::from(bit));
        if owner.is_none() || owner == SELF {
            return Err(SpaceError::NotAllocated(page));
        }
        let mut index = self.index.lock();
        let kind = index.kind_after(extent, 1 << bit);
        index.give_back(extent, 1 << bit, owner, false);
        Change { slot, kind, first: bit, count: 1, owner: IndexId::NONE }.make(mtr, map);
        Ok(())
    }

    /// Latches the map page of `page`, so that a following [`SpaceMap::free`] of it cannot fail for want of a latch. For callers that change other things
    /// first.
    pub fn prepare_free(&self, mtr: &mut Mtr<'_>, page: PageNo) -> Result<(), SpaceError> {
        self.read_region_patiently(mtr, page)?;
        if !self.index.lock().has_region(region_of(extent_of(page))) {
            return Err(SpaceError::NotAllocated(page));
        }
        self.latch_map_patiently(mtr, page).map(drop)
    }

    fn read_region_patiently(&self, mtr: &Mtr<'_>, page: PageNo) -> Result<(), SpaceError> {
        for _ in 0..TRIES {
            if self.try_read_region(mtr, region_of(extent_of(page)))? {
                return Ok(());
            }
            sync::thread::yield_now();
        }
        Err(SpaceError::Busy(page))
    }

    fn latch_map_patiently(&self, mtr: &mut Mtr<'_>, page: PageNo) -> Result<PageRef, SpaceError> {
        for _ in 0..TRIES {
            if let Some(map) = self.latch_map(mtr, region_of(extent_of(page)))? {
                return Ok(map);
            }
            sync::thread::yield_now();
        }
        Err(SpaceError::Busy(page))
    }

    /// Latches a map page: waits when that is in order, else tries.
    fn latch_map(&self, mtr: &mut Mtr<'_>, region: u64) -> Result<Option<PageRef>, SpaceError> {
        let page = map_page(region);
        let out_of_order = mtr.held_pages().any(|held| is_map_page(held) && held > page);
        Ok(if out_of_order { mtr.try_latch(page)? } else { Some(mtr.latch(page)?) })
    }
}
