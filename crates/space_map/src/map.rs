//! The space map: opening, and what can be asked.

use std::sync::Arc;

use base::{EXTENT_PAGES, IndexId, PageNo};
use buffer_pool::{BufferPool, Mtr, PoolError};
use page_store::{PageType, StoreError};
use sync::atomic::{AtomicBool, Ordering};
use sync::{Mutex, Rank};

use crate::backed::Backed;
use crate::drop_index::Freed;
use crate::error::SpaceError;
use crate::index::Index;
use crate::layout::{
    self, Change, ExtentKind, MAP_PAGE, REGION_EXTENTS, REGION_PAGES, SELF, extent_of, first_page, is_map_page, map_page, region_of,
};

/// Map pages that are read ahead when all are wanted.
const REGIONS_AHEAD: usize = 32;

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
    /// Leaf latch.
    pub(crate) backed: Mutex<Backed>,
    /// Leaf latch.
    pub(crate) freed: Mutex<Freed>,
    /// Room was asked for in vain since an index was freed last. Relaxed: who sees it late gives out the same pages a moment later.
    pub(crate) was_full: AtomicBool,
}

impl SpaceMap {
    /// Makes the first map page of an empty file. Durable with the log, as any change.
    pub fn create(pool: Arc<BufferPool>) -> Result<Arc<SpaceMap>, SpaceError> {
        let map = SpaceMap::with(pool, Index::default());
        map.pool.wal().ensure_space().map_err(PoolError::Wal)?;
        map.make_region(0)?;
        Ok(Arc::new(map))
    }

    /// Opens the map after redo. It reads the first map page, and of the others those that are wanted when they are: how long it takes does not depend on
    /// the size of the file.
    pub fn open(pool: Arc<BufferPool>) -> Result<Arc<SpaceMap>, SpaceError> {
        let pages = pool.store().page_count();
        let mut regions = pages.saturating_sub(MAP_PAGE).div_ceil(REGION_PAGES).max(1);
        // A region may be in the log and in memory only, and the file not yet reach to it.
        while map_exists(&pool, regions)? {
            regions += 1;
        }
        let map = SpaceMap::with(pool, Index::unread(regions));
        map.read_region(0)?;
        if !map.index.lock().has_region(0) {
            return Err(SpaceError::Pool(PoolError::Store(StoreError::Unwritten { page: map_page(0) })));
        }
        Ok(Arc::new(map))
    }

    fn with(pool: Arc<BufferPool>, index: Index) -> SpaceMap {
        SpaceMap {
            pool,
            index: Mutex::new(Rank::SpaceMap, index),
            backed: Mutex::new(Rank::Leaf, Backed::default()),
            freed: Mutex::new(Rank::Leaf, Freed::default()),
            was_full: AtomicBool::new(false),
        }
    }

    /// Reads a region's map page if nobody has. Called with no map page latched but lower ones.
    pub(crate) fn read_region(&self, region: u64) -> Result<(), SpaceError> {
        if !self.index.lock().is_unread(region) {
            return Ok(());
        }
        match self.pool.shared(map_page(region)) {
            Ok(map) => self.fill_in(region, Some(&map)),
            Err(PoolError::Store(StoreError::Unwritten { .. })) => self.fill_in(region, None),
            Err(error) => Err(error.into()),
        }
    }

    /// The same for a mini-transaction that may hold map pages, higher ones too: then it does not wait. `false` when somebody else has the map page.
    pub(crate) fn try_read_region(&self, mtr: &Mtr<'_>, region: u64) -> Result<bool, SpaceError> {
        let page = map_page(region);
        if !self.index.lock().is_unread(region) {
            return Ok(true);
        }
        if !mtr.held_pages().any(|held| is_map_page(held) && held > page) {
            return self.read_region(region).map(|()| true);
        }
        match self.pool.try_shared(page) {
            Ok(Some(map)) => self.fill_in(region, Some(&map))?,
            Ok(None) => return Ok(false),
            Err(PoolError::Store(StoreError::Unwritten { .. })) => self.fill_in(region, None)?,
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    }

    /// `map`, which the caller has latched, becomes known, unless somebody else was faster. Nobody changes the page before it is: who does looks here first.
    fn fill_in(&self, region: u64, map: Option<&[u8]>) -> Result<(), SpaceError> {
        map.map_or(Ok(()), |map| check_region(region, map))?;
        let mut index = self.index.lock();
        if index.is_unread(region) {
            index.fill_in(region, map.is_some());
            if let Some(map) = map {
                take_region(&mut index, region, map);
            }
        }
        Ok(())
    }

    /// Reads all map pages that nobody has read.
    pub(crate) fn read_all(&self) -> Result<(), SpaceError> {
        loop {
            let next = self.index.lock().unread_from(0, REGIONS_AHEAD);
            let Some(first) = next.first() else { return Ok(()) };
            if next.len() > 1 {
                self.pool.read_ahead(&next.iter().map(|region| map_page(*region)).collect::<Vec<_>>());
            }
            self.read_region(*first)?;
        }
    }

    /// Begins a region, in a mini-transaction of its own: the caller's may still have to give up without a change.
    pub(crate) fn make_region(&self, region: u64) -> Result<(), SpaceError> {
        let page = map_page(region);
        self.back(extent_of(page))?;
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

    /// Whether the page is one of the map's own.
    pub fn is_map_page(&self, page: PageNo) -> bool {
        layout::is_map_page(page)
    }

    /// Owner of a page, from its map page; `None` when free or past the mapped regions.
    pub fn owner_of(&self, page: PageNo) -> Result<Option<IndexId>, SpaceError> {
        let extent = extent_of(page);
        self.read_region(region_of(extent))?;
        if !self.index.lock().has_region(region_of(extent)) {
            return Ok(None);
        }
        let map = self.pool.shared(map_page(region_of(extent)))?;
        let owner = layout::owner(&map, (extent % REGION_EXTENTS) as usize, (page.0 % EXTENT_PAGES) as usize);
        Ok((!owner.is_none()).then_some(owner))
    }

    /// Indexes that own pages; the engine frees those that its catalogue does not know. Reads all of the map.
    pub fn owners(&self) -> Result<Vec<IndexId>, SpaceError> {
        self.read_all()?;
        let mut owners: Vec<_> = self.index.lock().owners().map(|(id, _)| id).collect();
        owners.sort_unstable();
        Ok(owners)
    }

    /// Pages that an index owns; as far as the map can be read.
    pub fn pages_of(&self, owner: IndexId) -> u64 {
        let _ = self.read_all();
        self.index.lock().owner(owner).map_or(0, |known| known.pages)
    }

    /// No more pages than an index owns; all there are while not all of the map was read. It reads nothing.
    pub fn pages_at_most(&self, owner: IndexId) -> u64 {
        let index = self.index.lock();
        match index.last_unread(&[]) {
            Some(_) => index.regions() * REGION_PAGES,
            None => index.owner(owner).map_or(0, |known| known.pages),
        }
    }

    /// How the file is used; as far as the map can be read.
    pub fn usage(&self) -> SpaceUsage {
        let _ = self.read_all();
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
        self.give_out_freed(true)?;
        self.read_all()?;
        let expected = SpaceMap::open(Arc::clone(&self.pool))?;
        expected.read_all()?;
        let expected = expected.index.lock().clone();
        let index = self.index.lock();
        if *index != expected {
            return Err(SpaceError::Corrupt(map_page(0)));
        }
        Ok(())
    }

    /// Sees to it that the file reaches over an extent, and has room for all of it. One call of the system for an extent that was punched out, or was there
    /// when the server started.
    pub(crate) fn back(&self, extent: u64) -> Result<(), SpaceError> {
        let begun = {
            let backed = self.backed.lock();
            if backed.has(extent) {
                return Ok(());
            }
            backed.begin()
        };
        self.grow_to((extent + 1) * EXTENT_PAGES)?;
        if !self.backed.lock().has(extent) {
            self.with_room(|| self.pool.store().reserve(first_page(extent), EXTENT_PAGES))?;
            self.backed.lock().reserved(begun, extent..extent + 1);
        }
        Ok(())
    }

    /// Makes the file reach to `pages`, in steps that get larger with it.
    fn grow_to(&self, pages: u64) -> Result<(), SpaceError> {
        const STEP_MIN: u64 = 256; // 4 MiB
        const STEP_MAX: u64 = 4096; // 64 MiB
        let store = self.pool.store();
        let now = store.page_count();
        if pages <= now {
            return Ok(());
        }
        let begun = self.backed.lock().begin();
        let step = (now / 8).clamp(STEP_MIN, STEP_MAX);
        let added = match store.grow(pages.max(now + step)) {
            // A little may fit where the step does not.
            Err(StoreError::NoSpace) => self.with_room(|| store.grow(pages))?,
            other => other.map_err(PoolError::Store)?,
        };
        self.backed.lock().reserved(begun, added.start.div_ceil(EXTENT_PAGES)..added.end / EXTENT_PAGES);
        Ok(())
    }

    /// Asks for room; log that only backups and the archive want gives way.
    fn with_room<T>(&self, ask: impl Fn() -> Result<T, StoreError>) -> Result<T, SpaceError> {
        let got = match ask() {
            Err(StoreError::NoSpace) if self.pool.wal().give_up_kept() => ask(),
            other => other,
        };
        got.map_err(|error| match error {
            StoreError::NoSpace => {
                self.was_full.store(true, Ordering::Relaxed);
                SpaceError::Full
            }
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

fn map_exists(pool: &BufferPool, region: u64) -> Result<bool, SpaceError> {
    match pool.shared(map_page(region)) {
        Ok(_) => Ok(true),
        Err(PoolError::Store(StoreError::Unwritten { .. })) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether a map page says what can be.
fn check_region(region: u64, map: &[u8]) -> Result<(), SpaceError> {
    for slot in 0..REGION_EXTENTS as usize {
        let kind = layout::kind(map, slot).ok_or(SpaceError::Corrupt(map_page(region)))?;
        let mut owners = (0..EXTENT_PAGES as usize).map(|page| layout::owner(map, slot, page)).filter(|owner| !owner.is_none());
        let fits = match kind {
            ExtentKind::Free => owners.next().is_none(),
            ExtentKind::Mixed => true,
            ExtentKind::Leaf | ExtentKind::Inner => match owners.next() {
                Some(first) => owners.all(|owner| owner == first),
                None => true,
            },
        };
        if !fits {
            return Err(SpaceError::Corrupt(map_page(region)));
        }
    }
    Ok(())
}

/// Notes the owners of a map page that [`check_region`] has passed. The index knows the region as free.
fn take_region(index: &mut Index, region: u64, map: &[u8]) {
    for slot in 0..REGION_EXTENTS as usize {
        let kind = layout::kind(map, slot).unwrap_or(ExtentKind::Free);
        for page in 0..EXTENT_PAGES as usize {
            let owner = layout::owner(map, slot, page);
            if !owner.is_none() {
                index.take(region * REGION_EXTENTS + slot as u64, kind, 1 << page, owner);
            }
        }
    }
}
