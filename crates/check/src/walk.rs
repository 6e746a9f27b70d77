//! Walking a tree of page images from its root, leaf by leaf in key order; a page that cannot be read costs its own range only.
//!
//! # Invariants
//! 1. A level is one below its parent's, so a walk ends however the pages point at each other.

use crate::pages::Pages;
use base::{IndexId, PageNo};
use btree::image::NodeImage;
use std::collections::HashSet;

/// More levels than any tree has.
const LEVELS_MAX: u16 = 32;

/// Who is told what a walk meets.
pub(crate) trait Visitor {
    /// A page is about to be read. `false`: it was reached before, and is not read again.
    fn reach(&mut self, page: PageNo) -> bool;
    /// A leaf, in the order of keys.
    fn leaf(&mut self, page: PageNo, leaf: NodeImage<'_>);
    /// Something is wrong with a page; the walk goes on.
    fn problem(&mut self, page: PageNo, what: String);
    /// Keys from `low` (none: from the first on) to below `high` (none: to the last) cannot be reached.
    fn lost(&mut self, low: Option<&[u8]>, high: Option<&[u8]>);
}

/// A tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tree {
    pub(crate) index: IndexId,
    pub(crate) root: PageNo,
}

/// What the walk has met last on a level.
#[derive(Clone, Copy)]
enum Latest {
    /// Nothing yet: the next page is the first.
    Nothing,
    /// A page, and its right sibling.
    Page(PageNo, PageNo),
    /// A page that could not be read: its neighbours are not judged by it.
    Unknown,
}

struct Walk<'w, V> {
    pages: &'w Pages,
    tree: Tree,
    visitor: &'w mut V,
    latest: Vec<Latest>,
}

/// Walks a tree.
pub(crate) fn walk(pages: &Pages, tree: Tree, visitor: &mut impl Visitor) {
    let mut walk = Walk { pages, tree, visitor, latest: Vec::new() };
    walk.visit(tree.root, None, None, None);
    for latest in std::mem::take(&mut walk.latest) {
        if let Latest::Page(page, right) = latest
            && !right.is_none()
        {
            walk.visitor.problem(page, format!("is the last of its level and has a right sibling, {right}"));
        }
    }
}

impl<V: Visitor> Walk<'_, V> {
    fn visit(&mut self, page: PageNo, level: Option<u16>, low: Option<&[u8]>, high: Option<&[u8]>) {
        if !self.visitor.reach(page) {
            self.visitor.problem(page, "is reached twice".into());
            return self.lose(level, low, high);
        }
        let mut buffer = Pages::buffer();
        let opened = match self.pages.read(page, &mut buffer) {
            Ok(()) => NodeImage::open(&buffer, page, self.tree.index),
            Err(unreadable) => Err(unreadable.to_string()),
        };
        let node = match opened {
            Ok(node) => node,
            Err(what) => {
                self.visitor.problem(page, what);
                return self.lose(level, low, high);
            }
        };
        match level {
            None if node.level() < LEVELS_MAX => self.latest = vec![Latest::Nothing; usize::from(node.level()) + 1],
            Some(level) if node.level() == level => {}
            _ => {
                self.visitor.problem(page, format!("is at level {}, which it cannot be", node.level()));
                return self.lose(level, low, high);
            }
        }
        if let Err(what) = node.check_order(low, high) {
            self.visitor.problem(page, what);
        }
        self.check_siblings(page, &node);
        if node.level() == 0 {
            return self.visitor.leaf(page, node);
        }
        if node.count() == 0 {
            self.visitor.problem(page, "is an inner page without children".into());
            return self.lose(Some(node.level() - 1), low, high);
        }
        let (mut from, mut to) = (Vec::new(), Vec::new());
        for slot in 0..node.count() {
            std::mem::swap(&mut from, &mut to);
            to.clear();
            if slot + 1 < node.count() {
                node.key(slot + 1).append_to(&mut to);
            }
            let low = if slot == 0 { low } else { Some(from.as_slice()) };
            let high = if slot + 1 < node.count() { Some(to.as_slice()) } else { high };
            self.visit(node.child(slot), Some(node.level() - 1), low, high);
        }
    }

    fn lose(&mut self, level: Option<u16>, low: Option<&[u8]>, high: Option<&[u8]>) {
        // The levels below are cut as well.
        let levels = level.map_or(self.latest.len(), |level| usize::from(level) + 1);
        self.latest.iter_mut().take(levels).for_each(|latest| *latest = Latest::Unknown);
        self.visitor.lost(low, high);
    }

    fn check_siblings(&mut self, page: PageNo, node: &NodeImage<'_>) {
        let level = usize::from(node.level());
        let before = std::mem::replace(&mut self.latest[level], Latest::Page(page, node.right()));
        match before {
            Latest::Nothing if !node.left().is_none() => {
                self.visitor.problem(page, format!("is the first of its level and has a left sibling, {}", node.left()));
            }
            Latest::Page(left, right) => {
                if node.left() != left {
                    self.visitor.problem(page, format!("has the left sibling {} where {left} belongs", node.left()));
                }
                if right != page {
                    self.visitor.problem(left, format!("has the right sibling {right} where {page} belongs"));
                }
            }
            Latest::Nothing | Latest::Unknown => {}
        }
    }
}

/// Reads an overflow chain. `reach` is told each page, and says whether it may be read: a chain that goes round is cut where it comes back at the latest.
/// The error names the page.
pub(crate) fn read_chain(
    pages: &Pages,
    index: IndexId,
    place: engine::offline::ChainPlace,
    mut reach: impl FnMut(PageNo) -> bool,
) -> Result<Vec<u8>, (PageNo, String)> {
    let mut chain = Vec::new();
    let mut seen = HashSet::new();
    let mut buffer = Pages::buffer();
    let mut at = place.first;
    loop {
        if !seen.insert(at) {
            return Err((at, "comes twice in an overflow chain".into()));
        }
        if !reach(at) {
            return Err((at, "is in two overflow chains".into()));
        }
        pages.read(at, &mut buffer).map_err(|unreadable| (at, unreadable.to_string()))?;
        let (next, data) = btree::image::overflow_page(&buffer, index).map_err(|what| (at, what))?;
        chain.extend_from_slice(data);
        let length = chain.len() as u64;
        if next.is_none() && length == place.bytes {
            return Ok(chain);
        }
        if next.is_none() || length >= place.bytes || data.is_empty() {
            return Err((at, format!("ends a chain of {length} bytes where there are to be {}", place.bytes)));
        }
        at = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::PAGE_BYTES;
    use engine::offline::ChainPlace;
    use env::{Disk, FileKind, OpenMode, RealDisk};
    use page_store::header;

    #[test]
    fn a_chain_that_goes_round_ends_where_it_comes_back() {
        let dir = tempfile::tempdir().expect("a directory");
        let disk = RealDisk::open(dir.path()).expect("opens");
        let file = disk.open("data", OpenMode::Create, FileKind::Buffered).expect("makes");
        for page in 0..4_u64 {
            let mut image = vec![0; PAGE_BYTES];
            image[header::TYPE] = page_store::PageType::Overflow as u8;
            image[header::PAGE_NO..header::PAGE_NO + 8].copy_from_slice(&page.to_le_bytes());
            image[header::INDEX_ID..header::INDEX_ID + 4].copy_from_slice(&7_u32.to_le_bytes());
            // The next page and how many bytes are on this one.
            image[48..56].copy_from_slice(&(page % 3 + 1).to_le_bytes());
            image[56..60].copy_from_slice(&16_000_u32.to_le_bytes());
            let sum = base::crc32c(&image[header::TYPE..]);
            image[..4].copy_from_slice(&sum.to_le_bytes());
            file.write_at(&image, page * PAGE_BYTES as u64).expect("writes");
        }
        let pages = Pages::open(&disk).expect("opens");
        let read = |bytes| read_chain(&pages, IndexId(7), ChainPlace { bytes, first: PageNo(1) }, |_| true);
        assert_eq!(read(u64::MAX >> 1), Err((PageNo(1), "comes twice in an overflow chain".into())));
        assert!(read(16_000).is_err_and(|(page, what)| page == PageNo(1) && what.contains("16000 bytes")));
    }
}
