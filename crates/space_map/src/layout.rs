//! Bytes of a map page, and the one operation that changes them.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 48 | page header |
//! | 48 | 63 | kind of each extent: 0 free, 1 mixed, 2 leaves, 3 inner nodes |
//! | 111 | 1 | zero |
//! | 112 | 63·256 | owners: for each extent 64 index ids of 4 bytes; 0 free, `u32::MAX` the space map (and the file header) |
//!
//! Operation [`SET_OWNER`]: extent's slot u8, its kind from now on u8, first page u8, count of pages u8, owner u32.

use base::{EXTENT_PAGES, IndexId, Malformed, PAGE_BYTES, PageNo, Reader};
use buffer_pool::{Mtr, PageRef, RedoHandler};
use page_store::header::PAGE_HEADER_BYTES;

/// Sets the kind of an extent and the owner of a run of its pages.
pub(crate) const SET_OWNER: u8 = 0x10;

/// Extents whose owners fit in one map page.
pub(crate) const REGION_EXTENTS: u64 = 63;
/// Pages of a region.
pub(crate) const REGION_PAGES: u64 = REGION_EXTENTS * EXTENT_PAGES;
/// Place of the map page in its region. (Page 0 of the file is the page store's.)
pub(crate) const MAP_PAGE: u64 = 1;
/// Owner of map pages and of page 0.
pub(crate) const SELF: IndexId = IndexId(u32::MAX);

const KINDS: usize = PAGE_HEADER_BYTES;
const OWNERS: usize = 112;
const OWNER_BYTES: usize = 4;
const EXTENT_BYTES: usize = EXTENT_PAGES as usize * OWNER_BYTES;

const _: () = assert!(KINDS + REGION_EXTENTS as usize <= OWNERS);
const _: () = assert!(OWNERS + REGION_EXTENTS as usize * EXTENT_BYTES <= PAGE_BYTES);
const _: () = assert!(EXTENT_PAGES == 64, "a u64 is the set of an extent's pages");

/// What an extent is used for. The numbers are on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum ExtentKind {
    Free = 0,
    Mixed = 1,
    Leaf = 2,
    Inner = 3,
}

impl ExtentKind {
    fn from_u8(number: u8) -> Option<ExtentKind> {
        Some(match number {
            0 => ExtentKind::Free,
            1 => ExtentKind::Mixed,
            2 => ExtentKind::Leaf,
            3 => ExtentKind::Inner,
            _ => return None,
        })
    }
}

pub(crate) fn extent_of(page: PageNo) -> u64 {
    page.0 / EXTENT_PAGES
}

pub(crate) fn first_page(extent: u64) -> PageNo {
    PageNo(extent * EXTENT_PAGES)
}

pub(crate) fn region_of(extent: u64) -> u64 {
    extent / REGION_EXTENTS
}

pub(crate) fn map_page(region: u64) -> PageNo {
    PageNo(region * REGION_PAGES + MAP_PAGE)
}

pub(crate) fn is_map_page(page: PageNo) -> bool {
    page.0 % REGION_PAGES == MAP_PAGE
}

/// Kind of an extent; `None` when the byte is none.
pub(crate) fn kind(map: &[u8], slot: usize) -> Option<ExtentKind> {
    ExtentKind::from_u8(map[KINDS + slot])
}

/// Owner of a page.
pub(crate) fn owner(map: &[u8], slot: usize, page: usize) -> IndexId {
    let at = OWNERS + slot * EXTENT_BYTES + page * OWNER_BYTES;
    IndexId(u32::from_le_bytes([map[at], map[at + 1], map[at + 2], map[at + 3]]))
}

/// A change of one extent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Change {
    pub slot: u8,
    pub kind: ExtentKind,
    pub first: u8,
    pub count: u8,
    pub owner: IndexId,
}

impl Change {
    fn apply(&self, map: &mut [u8]) {
        let slot = usize::from(self.slot);
        map[KINDS + slot] = self.kind as u8;
        let start = OWNERS + slot * EXTENT_BYTES + usize::from(self.first) * OWNER_BYTES;
        let bytes = &mut map[start..start + usize::from(self.count) * OWNER_BYTES];
        for place in bytes.chunks_exact_mut(OWNER_BYTES) {
            place.copy_from_slice(&self.owner.0.to_le_bytes());
        }
    }

    fn parse(payload: &[u8]) -> Result<Change, Malformed> {
        let mut r = Reader::new(payload);
        let (slot, kind, first, count) = (r.u8()?, r.u8()?, r.u8()?, r.u8()?);
        let change = Change { slot, kind: ExtentKind::from_u8(kind).ok_or(Malformed)?, first, count, owner: IndexId(r.u32()?) };
        let fits = u64::from(slot) < REGION_EXTENTS && u64::from(first) + u64::from(count) <= EXTENT_PAGES && r.is_empty();
        fits.then_some(change).ok_or(Malformed)
    }

    /// Does the change on a latched map page and logs it.
    pub fn make(&self, mtr: &mut Mtr<'_>, map: PageRef) {
        self.apply(mtr.bytes_mut(map));
        let page = mtr.page_no(map);
        mtr.log(SET_OWNER, Some(page), |out| {
            for byte in [self.slot, self.kind as u8, self.first, self.count] {
                base::put_u8(out, byte);
            }
            base::put_u32(out, self.owner.0);
        });
    }
}

/// Redo of the space map's operations, codes 0x10 to 0x1F.
#[derive(Debug, Clone, Copy, Default)]
pub struct Redo;

impl RedoHandler for Redo {
    fn redo(&self, op: u8, payload: &[u8], page: &mut [u8]) -> Result<(), Malformed> {
        if op != SET_OWNER {
            return Err(Malformed);
        }
        Change::parse(payload)?.apply(page);
        Ok(())
    }
}
