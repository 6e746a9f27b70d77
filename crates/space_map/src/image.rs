//! Map pages as images, outside of a buffer pool: for tools that look at a directory which no server runs on.

use base::{EXTENT_PAGES, IndexId, PageNo};

use crate::layout::{self, ExtentKind, REGION_EXTENTS, REGION_PAGES, SELF};

/// The map page of a region.
#[derive(Debug, Clone, Copy)]
pub struct MapImage<'a> {
    map: &'a [u8],
}

impl<'a> MapImage<'a> {
    /// Pages of a region.
    pub const REGION_PAGES: u64 = REGION_PAGES;
    /// Owner of map pages, and of page 0.
    pub const MAP_OWNER: IndexId = SELF;

    /// Number of the map page of a region.
    pub fn page_of(region: u64) -> PageNo {
        layout::map_page(region)
    }

    /// Takes an image whose checksum was right.
    pub fn new(map: &'a [u8]) -> MapImage<'a> {
        assert_eq!(map.len(), base::PAGE_BYTES);
        MapImage { map }
    }

    /// Owner of a page of the region, by its place in the region; 0 is nobody.
    pub fn owner(&self, place: u64) -> IndexId {
        layout::owner(self.map, (place / EXTENT_PAGES) as usize, (place % EXTENT_PAGES) as usize)
    }

    /// What breaks the rules of a map page: extents of no kind, free ones with owners, and those of one index with pages of another.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for slot in 0..REGION_EXTENTS as usize {
            let Some(kind) = layout::kind(self.map, slot) else {
                problems.push(format!("extent {slot} has a kind that there is not"));
                continue;
            };
            let owners = || (0..EXTENT_PAGES as usize).map(|page| layout::owner(self.map, slot, page)).filter(|owner| !owner.is_none());
            let Some(first) = owners().next() else { continue };
            match kind {
                ExtentKind::Free => problems.push(format!("extent {slot} is free and has pages of index {first}")),
                ExtentKind::Leaf | ExtentKind::Inner => {
                    if let Some(other) = owners().find(|owner| *owner != first) {
                        problems.push(format!("extent {slot} is of index {first} and has pages of index {other}"));
                    }
                }
                ExtentKind::Mixed => {}
            }
        }
        problems
    }
}
