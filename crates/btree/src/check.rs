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
struct Seen {
    latest: Vec<Option<(PageNo, PageNo)>>,
    stats: TreeStats,
}

macro_rules! require {
    ($page:expr, $condition:expr, $($what:tt)+) => {
        if !$condition {
            return Err(CheckError::Broken { page: $page, what: format!($($what)+) });
        }
    };
}

impl BTree {
    /// Checks every page of the tree. Readers may go on; writers may make it fail, so it is for tests.
    pub fn check(&self) -> Result<TreeStats, CheckError> {
        let height = self.height()?;
        let mut seen = Seen { latest: vec![None; height as usize], stats: TreeStats { height, ..TreeStats::default() } };
        self.check_page(self.root, height - 1, None, None, &mut seen)?;
        for latest in seen.latest.into_iter().flatten() {
            require!(latest.0, latest.1.is_none(), "the last page of a level has a right sibling, {}", latest.1);
        }
        Ok(seen.stats)
    }

    fn check_page(&self, page: PageNo, level: u16, low: Option<&[u8]>, high: Option<&[u8]>, seen: &mut Seen) -> Result<(), CheckError> {
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

/// Pages that were seen beside each other and did not name each other: a split or merge may have come between the two looks.
struct Suspects {
    level: u16,
    left: PageNo,
    right: PageNo,
}

/// Most splits that come between two looks at neighbours.
const SPLITS_MAX: usize = 1000;

/// A check that lets writers work: no more than a page over leaves and one of those are latched at a time.
struct Beside<'s> {
    stats: TreeStats,
    /// What was seen last on each level: a page and its right link.
    latest: Vec<Option<(PageNo, PageNo)>>,
    suspects: Vec<Suspects>,
    stop: &'s dyn Fn() -> bool,
}

impl Beside<'_> {
    /// Checks a page of a level that is met for the first time, in the order of keys. Its latch and its parent's are held.
    fn page(&mut self, node: Node<'_>, page: PageNo, low: Option<&[u8]>, high: Option<&[u8]>) -> Result<(), CheckError> {
        if (self.stop)() {
            return Err(CheckError::Stopped);
        }
        check_layout(node, page)?;
        check_order(node, page, low, high)?;
        let level = usize::from(node.level());
        if self.latest.len() <= level {
            self.latest.resize(level + 1, None);
        }
        match self.latest[level].replace((page, node.right())) {
            None if low.is_none() => require!(page, node.left().is_none(), "the first page of a level has a left sibling, {}", node.left()),
            // The tree has grown a level since the check began.
            None => {}
            Some((left, right)) if left != node.left() || right != page => {
                self.suspects.push(Suspects { level: node.level(), left, right: page });
            }
            Some(_) => {}
        }
        if high.is_none() {
            require!(page, node.right().is_none(), "the last page of a level has a right sibling, {}", node.right());
        }
        if node.is_inner() {
            require!(page, node.count() > 0, "an inner page without children");
            self.stats.inner_pages += 1;
        } else {
            self.stats.leaf_pages += 1;
            self.stats.entries += node.count() as u64;
            self.stats.leaf_bytes += node.used_bytes() as u64;
        }
        Ok(())
    }
}

/// The range of a child: its first key and the one past it, where its parent says more than the parent's own range.
fn child_range(node: Node<'_>, slot: usize, low: Option<&[u8]>, high: Option<&[u8]>) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    let from = if slot == 0 { low.map(<[u8]>::to_vec) } else { Some(node.key_vec(slot)) };
    let to = if slot + 1 < node.count() { Some(node.key_vec(slot + 1)) } else { high.map(<[u8]>::to_vec) };
    (from, to)
}

impl BTree {
    /// Checks every page of the tree while others write. What is told was so at the moment that the page was looked at; the sums are of different
    /// moments. It ends when `stop`, asked at each page, says so.
    pub fn check_beside_writers(&self, stop: &dyn Fn() -> bool) -> Result<TreeStats, CheckError> {
        let mut beside = Beside { stats: TreeStats::default(), latest: Vec::new(), suspects: Vec::new(), stop };
        let mut next = self.check_under_one_parent(None, &mut beside)?;
        while let Some(key) = next {
            next = self.check_under_one_parent(Some(&key), &mut beside)?;
        }
        for Suspects { level, left, right } in std::mem::take(&mut beside.suspects) {
            require!(left, self.are_neighbours(level, left, right), "the right siblings of this page do not lead to {right}, or not back");
        }
        Ok(beside.stats)
    }

    /// Checks the leaves under the lowest inner page that has `low`, and the inner pages above them that begin there. Returns where the next one begins.
    fn check_under_one_parent(&self, low: Option<&[u8]>, beside: &mut Beside<'_>) -> Result<Option<Vec<u8>>, CheckError> {
        let (mut page, mut from, mut to) = (self.root, None::<Vec<u8>>, None::<Vec<u8>>);
        let mut guard = self.pool().shared(page)?;
        let root = Node::open(&guard, page, self.index)?;
        beside.stats.height = root.level() + 1;
        if low.is_none() {
            beside.page(root, page, None, None)?;
        }
        while Node::open(&guard, page, self.index)?.level() > 1 {
            let node = Node::open(&guard, page, self.index)?;
            require!(page, node.count() > 0, "an inner page without children");
            let after = low.map_or(1, |low| (1..node.count()).take_while(|slot| node.key_vec(*slot).as_slice() <= low).count() + 1);
            let (child_from, child_to) = child_range(node, after - 1, from.as_deref(), to.as_deref());
            let child = node.child(after - 1);
            // From parent to child: the parent's latch stays until the child's is there.
            let child_guard = self.pool().shared(child)?;
            let child_node = Node::open(&child_guard, child, self.index)?;
            require!(child, child_node.level() + 1 == node.level(), "level {} below one of level {}", child_node.level(), node.level());
            if child_from.as_deref() == low {
                beside.page(child_node, child, child_from.as_deref(), child_to.as_deref())?;
            }
            (guard, page, from, to) = (child_guard, child, child_from, child_to);
        }
        let node = Node::open(&guard, page, self.index)?;
        if node.level() == 0 {
            return Ok(None);
        }
        for slot in 0..node.count() {
            let (child_from, child_to) = child_range(node, slot, from.as_deref(), to.as_deref());
            // A merge may have put what was seen before in front of this.
            if low.is_some_and(|low| child_to.as_deref().is_some_and(|to| to <= low)) {
                continue;
            }
            let child = node.child(slot);
            let leaf = self.pool().shared(child)?;
            let leaf = Node::open(&leaf, child, self.index)?;
            require!(child, leaf.level() == 0, "level {} below one of level 1", leaf.level());
            beside.page(leaf, child, child_from.as_deref(), child_to.as_deref())?;
        }
        require!(page, to.as_deref().is_none_or(|to| low.is_none_or(|low| low < to)), "the range of this page ends before it begins");
        Ok(to)
    }

    /// Whether the right siblings of `left` lead to `right`, and each names the one before; or one of the two has gone since. Nothing is latched.
    fn are_neighbours(&self, level: u16, left: PageNo, right: PageNo) -> bool {
        // What cannot be read was told when it was first looked at.
        let is_node = |guard: &[u8], page| Node::open(guard, page, self.index).is_ok_and(|node| node.level() == level);
        let (mut at, Ok(mut guard)) = (left, self.pool().shared(left)) else { return true };
        for _ in 0..SPLITS_MAX {
            if !is_node(&guard, at) {
                return true;
            }
            let next = Node::new(&guard[..]).right();
            if next.is_none() {
                break;
            }
            // From left to right, as all who take two.
            let Ok(next_guard) = self.pool().shared(next) else { return true };
            if !is_node(&next_guard, next) || Node::new(&next_guard[..]).left() != at {
                return false;
            }
            if next == right {
                return true;
            }
            (at, guard) = (next, next_guard);
        }
        self.pool().shared(right).is_ok_and(|guard| !is_node(&guard, right))
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
