//! The space map: opening, and what can be asked.

use std::sync::Arc;

use base::{EXTENT_PAGES, IndexId, PageNo};
use buffer_pool::{BufferPool, Mtr, PoolError};
use page_store::{PageType, StoreError};
use sync::{Mutex, Rank};

use crate::error::SpaceError;
use crate::index::Index;
use crate::layout::{self, Change, ExtentKind, MAP_PAGE, REGION_EXTENTS, REGION_PAGES, SELF, extent_of, map_page, region_of};

/// What a page is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageKind {
    /// Leaves and overflow pages: read in runs.
    Leaf,
    /// Inner nodes.
    Inner,
}

impl PageKind {
    pub(crate) fn extent(self) -> ExtentKind {
        match self {
            PageKind::Leaf => ExtentKind::Leaf,
            PageKind::Inner => ExtentKind::Inner,
        }
    }
}

/// How the file is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpaceUsage {
    /// Pages that regions cover.
    pub pages_mapped: u64,
    /// Pages owned by indexes.
    pub pages_used: u64,
    /// Extents of which no page is used.
    pub extents_free: u64,
    /// Indexes that own pages.
    pub owners: u64,
}

/// The space map; see the crate's documentation.
pub struct SpaceMap {
    pub(crate) pool: Arc<BufferPool>,
    pub(crate) index: Mutex<Index>,
}

impl SpaceMap {
    /// Makes the first map page of an empty file. Durable with the log, as any change.
    pub fn create(pool: Arc<BufferPool>) -> Result<Arc<SpaceMap>, SpaceError> {
        let map = SpaceMap { pool, index: Mutex::new(Rank::SpaceMap, Index::default()) };
        map.pool.wal().ensure_space().map_err(PoolError::Wal)?;
        map.make_region(0)?;
        Ok(Arc::new(map))
    }

    /// Reads all map pages. Called after redo.
    pub fn open(pool: Arc<BufferPool>) -> Result<Arc<SpaceMap>, SpaceError> {
        let index = read_index(&pool)?;
        if index.regions() == 0 {
            return Err(SpaceError::Pool(PoolError::Store(StoreError::Unwritten { page: map_page(0) })));
        }
        Ok(Arc::new(SpaceMap { pool, index: Mutex::new(Rank::SpaceMap, index) }))
    }

    /// Begins a region, in a mini-transaction of its own: the caller's may still have to give up without a change.
    pub(crate) fn make_region(&self, region: u64) -> Result<(), SpaceError> {
        let page = map_page(region);
        self.grow_to(page.0 + 1)?;
        let mut mtr = Mtr::begin(&self.pool);
        let map = mtr.latch_unread(page)?;
        let mut index = self.index.lock();
        if index.has_region(region) {
            // Another thread made it while this one waited for the latch. The page may have been evicted since and not be read: the drop of `mtr` lets it go.
            return Ok(());
        }
        mtr.reset_page(map, PageType::SpaceMap as u8, IndexId::NONE, 0);
        // Page 0 of the file is the page store's; of other regions the first page is like any other.
        let (first, count) = if region == 0 { (0, 2) } else { (MAP_PAGE as u8, 1) };
        Change { slot: 0, kind: ExtentKind::Mixed, first, count, owner: SELF }.make(&mut mtr, map);
        index.add_region(region, true);
        index.take(region * REGION_EXTENTS, ExtentKind::Mixed, run(first, count), SELF);
        drop(index);
        mtr.commit();
        Ok(())
    }

    /// Owner of a page, from its map page; `None` when free or past the mapped regions.
    pub fn owner_of(&self, page: PageNo) -> Result<Option<IndexId>, SpaceError> {
        let extent = extent_of(page);
        if !self.index.lock().has_region(region_of(extent)) {
            return Ok(None);
        }
        let map = self.pool.shared(map_page(region_of(extent)))?;
        let owner = layout::owner(&map, (extent % REGION_EXTENTS) as usize, (page.0 % EXTENT_PAGES) as usize);
        Ok((!owner.is_none()).then_some(owner))
    }

    /// Indexes that own pages; the engine frees those that its catalogue does not know.
    pub fn owners(&self) -> Vec<IndexId> {
        let mut owners: Vec<_> = self.index.lock().owners().map(|(id, _)| id).collect();
        owners.sort_unstable();
        owners
    }

    /// Pages that an index owns.
    pub fn pages_of(&self, owner: IndexId) -> u64 {
        self.index.lock().owner(owner).map_or(0, |known| known.pages)
    }

    /// How the file is used.
    pub fn usage(&self) -> SpaceUsage {
        let index = self.index.lock();
        SpaceUsage {
            pages_mapped: index.regions() * REGION_PAGES,
            pages_used: index.owners().map(|(_, known)| known.pages).sum(),
            extents_free: index.free_extents(),
            owners: index.owners().count() as u64,
        }
    }

    /// Compares the index in memory with the map pages. For tests and tools; nothing else may use the map meanwhile.
    pub fn check(&self) -> Result<(), SpaceError> {
        let expected = read_index(&self.pool)?;
        let index = self.index.lock();
        if *index != expected {
            return Err(SpaceError::Corrupt(map_page(0)));
        }
        Ok(())
    }

    /// Makes the file reach to `pages`, in steps that get larger with it.
    pub(crate) fn grow_to(&self, pages: u64) -> Result<(), SpaceError> {
        const STEP_MIN: u64 = 256; // 4 MiB
        const STEP_MAX: u64 = 4096; // 64 MiB
        let store = self.pool.store();
        let now = store.page_count();
        if pages <= now {
            return Ok(());
        }
        let step = (now / 8).clamp(STEP_MIN, STEP_MAX);
        let grown = match store.grow(pages.max(now + step)) {
            // A little may fit where the step does not; and log that only backups and the archive want gives way.
            Err(StoreError::NoSpace) => match store.grow(pages) {
                Err(StoreError::NoSpace) if self.pool.wal().give_up_kept() => store.grow(pages),
                other => other,
            },
            other => other,
        };
        grown.map_err(|error| match error {
            StoreError::NoSpace => SpaceError::Full,
            other => SpaceError::Pool(PoolError::Store(other)),
        })
    }
}

impl std::fmt::Debug for SpaceMap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.usage().fmt(f)
    }
}

/// The set of `count` pages from `first` on.
pub(crate) fn run(first: u8, count: u8) -> u64 {
    assert!(count > 0 && u64::from(first) + u64::from(count) <= EXTENT_PAGES);
    (u64::MAX >> (EXTENT_PAGES - u64::from(count))) << first
}

fn read_index(pool: &BufferPool) -> Result<Index, SpaceError> {
    let mut index = Index::default();
    let pages = pool.store().page_count();
    // A region may be in the log and in memory only, and the file not yet reach to it.
    let mut region = 0;
    loop {
        match pool.shared(map_page(region)) {
            Ok(map) => {
                index.add_region(region, true);
                read_region(&mut index, region, &map)?;
            }
            Err(PoolError::Store(StoreError::Unwritten { .. })) if map_page(region).0 < pages => {}
            Err(PoolError::Store(StoreError::Unwritten { .. })) => return Ok(index),
            Err(error) => return Err(error.into()),
        }
        region += 1;
    }
}

fn read_region(index: &mut Index, region: u64, map: &[u8]) -> Result<(), SpaceError> {
    for slot in 0..REGION_EXTENTS as usize {
        let extent = region * REGION_EXTENTS + slot as u64;
        let kind = layout::kind(map, slot).ok_or(SpaceError::Corrupt(map_page(region)))?;
        for page in 0..EXTENT_PAGES as usize {
            let owner = layout::owner(map, slot, page);
            if owner.is_none() {
                continue;
            }
            let known = index.extent(extent).map_or(IndexId::NONE, |known| known.owner);
            let alien = kind != ExtentKind::Mixed && !known.is_none() && known != owner;
            if kind == ExtentKind::Free || alien {
                return Err(SpaceError::Corrupt(map_page(region)));
            }
            index.take(extent, kind, 1 << page, owner);
        }
    }
    Ok(())
}
