//! Checking a whole tree: order, ranges, links, page accounting.

use base::{PAGE_BYTES, PageNo};

use crate::error::Error;
use crate::layout::{self, SLOT_BYTES, SLOTS, VALUE_LEN_BYTES, heap_base};
use crate::node::Node;
use crate::tree::BTree;

/// What a tree consists of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TreeStats {
    /// Levels; 1 when the root is a leaf.
    pub height: u16,
    /// Pages with entries.
    pub leaf_pages: u64,
    /// Pages with children.
    pub inner_pages: u64,
    /// Entries.
    pub entries: u64,
    /// Bytes in use on leaves.
    pub leaf_bytes: u64,
}

/// A tree is not as it must be.
#[derive(Debug)]
pub enum CheckError {
    /// A page could not be read.
    Error(Error),
    /// A page breaks a rule.
    Broken {
        /// The page.
        page: PageNo,
        /// The rule and what was found.
        what: String,
    },
    /// Whoever asked for the check wants no more of it.
    Stopped,
}

impl std::fmt::Display for CheckError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CheckError::Error(error) => error.fmt(f),
            CheckError::Broken { page, what } => write!(f, "page {page}: {what}"),
            CheckError::Stopped => f.write_str("stopped"),
        }
    }
}

impl std::error::Error for CheckError {}

impl<E: Into<Error>> From<E> for CheckError {
    fn from(error: E) -> Self {
        CheckError::Error(error.into())
    }
}

/// What the walk has seen on each level: the latest page and its right link.
struct Seen<'s> {
    latest: Vec<Option<(PageNo, PageNo)>>,
    stats: TreeStats,
    stop: &'s dyn Fn() -> bool,
}

macro_rules! require {
    ($page:expr, $condition:expr, $($what:tt)+) => {
        if !$condition {
            return Err(CheckError::Broken { page: $page, what: format!($($what)+) });
        }
    };
}

impl BTree {
    /// Checks every page of the tree. Readers may go on; writers may make it fail, so it is for tests and for tables locked against writing.
    pub fn check(&self) -> Result<TreeStats, CheckError> {
        self.check_until(&|| false)
    }

    /// The same; it ends when `stop`, asked at each page, says so.
    pub fn check_until(&self, stop: &dyn Fn() -> bool) -> Result<TreeStats, CheckError> {
        let height = self.height()?;
        let mut seen = Seen { latest: vec![None; height as usize], stats: TreeStats { height, ..TreeStats::default() }, stop };
        self.check_page(self.root, height - 1, None, None, &mut seen)?;
        for latest in seen.latest.into_iter().flatten() {
            require!(latest.0, latest.1.is_none(), "the last page of a level has a right sibling, {}", latest.1);
        }
        Ok(seen.stats)
    }

    fn check_page(&self, page: PageNo, level: u16, low: Option<&[u8]>, high: Option<&[u8]>, seen: &mut Seen<'_>) -> Result<(), CheckError> {
        if (seen.stop)() {
            return Err(CheckError::Stopped);
        }
        let guard = self.pool().shared(page)?;
        let node = Node::open(&guard, page, self.index)?;
        require!(page, node.level() == level, "level {} where {level} belongs", node.level());
        check_layout(node, page)?;
        check_order(node, page, low, high)?;
        let left = seen.latest[level as usize].map_or(PageNo::NONE, |(page, _)| page);
        require!(page, node.left() == left, "left sibling {} where {left} belongs", node.left());
        if let Some((left, right)) = seen.latest[level as usize].replace((page, node.right())) {
            require!(left, right == page, "right sibling {right} where {page} belongs");
        }
        if level == 0 {
            seen.stats.leaf_pages += 1;
            seen.stats.entries += node.count() as u64;
            seen.stats.leaf_bytes += node.used_bytes() as u64;
            return Ok(());
        }
        seen.stats.inner_pages += 1;
        require!(page, node.count() > 0, "an inner page without children");
        let separators: Vec<Vec<u8>> = (1..node.count()).map(|slot| node.key_vec(slot)).collect();
        for slot in 0..node.count() {
            let low = if slot == 0 { low } else { Some(separators[slot - 1].as_slice()) };
            let high = separators.get(slot).map_or(high, |separator| Some(separator.as_slice()));
            // The latch on this page stays: no child of it is split or merged meanwhile.
            self.check_page(node.child(slot), level - 1, low, high, seen)?;
        }
        Ok(())
    }
}

/// Slots and heap account for every byte.
pub(crate) fn check_layout(node: Node<'_>, page: PageNo) -> Result<(), CheckError> {
    require!(page, node.header_is_sound(), "counts and offsets of the header contradict each other");
    let base = heap_base(node.prefix_len());
    let mut extents = Vec::with_capacity(node.count());
    for slot in 0..node.count() {
        let offset = node.slot(slot).offset();
        require!(page, offset >= node.heap_top() && offset + 2 <= base, "slot {slot} points outside the heap, to {offset}");
        let Some(bytes) = entry_bytes(node, slot) else {
            return Err(CheckError::Broken { page, what: format!("the entry of slot {slot} does not end on the page") });
        };
        let end = offset + bytes;
        require!(page, end <= base, "the entry of slot {slot} ends outside the heap, at {end}");
        extents.push((offset, end));
    }
    extents.sort_unstable();
    require!(page, extents.windows(2).all(|pair| pair[0].1 <= pair[1].0), "entries overlap");
    let used: usize = extents.iter().map(|(start, end)| end - start).sum();
    require!(
        page,
        used + node.garbage() == base - node.heap_top(),
        "{used} bytes of entries and {} of garbage in a heap of {}",
        node.garbage(),
        base - node.heap_top()
    );
    debug_assert!(SLOTS + node.count() * SLOT_BYTES <= node.heap_top());
    Ok(())
}

/// Heap bytes of an entry whose lengths are not believed yet; `None` when they lead off the page.
fn entry_bytes(node: Node<'_>, slot: usize) -> Option<usize> {
    let slot = node.slot(slot);
    let (at, rest) = (slot.offset(), slot.rest_len());
    let bytes = if node.is_inner() {
        layout::entry_bytes(true, slot.suffix_len(), 0)
    } else {
        let length = node.0.get(at..at + VALUE_LEN_BYTES)?;
        VALUE_LEN_BYTES + rest + usize::from(u16::from_le_bytes([length[0], length[1]]))
    };
    (at + bytes <= PAGE_BYTES).then_some(bytes)
}

/// Keys ascend and are in the page's range.
pub(crate) fn check_order(node: Node<'_>, page: PageNo, low: Option<&[u8]>, high: Option<&[u8]>) -> Result<(), CheckError> {
    let mut before: Option<Vec<u8>> = None;
    for slot in node.first_keyed()..node.count() {
        let key = node.key_vec(slot);
        require!(page, low.is_none_or(|low| low <= key.as_slice()), "the key of slot {slot} is below the page's range");
        require!(page, high.is_none_or(|high| key.as_slice() < high), "the key of slot {slot} is above the page's range");
        require!(page, before.is_none_or(|before| before < key), "the keys of slots {} and {slot} are out of order", slot.wrapping_sub(1));
        require!(page, node.find(&key).found, "the key of slot {slot} is not found by searching");
        before = Some(key);
    }
    Ok(())
}
