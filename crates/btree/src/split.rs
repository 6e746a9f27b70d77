//! Making room: a page is split, its parent first if that has no room for the new separator.
//!
//! # Invariants
//! 1. Each split is one mini-transaction that latches page → right sibling → space-map page → parent, and leaves a whole tree. The parent is above, so it
//!    is only tried; and it comes last, so that who has it waits for nothing any more: hundreds may want to pass it. When it cannot be had the new
//!    page is given back, and the descent begins again. A parent without room is split before, in a mini-transaction of its own.
//! 2. A separator is the shortest key above everything left of it and not above anything right of it.

use base::{PageNo, TxnId};
use buffer_pool::{Mtr, PageRef};

use crate::descend::{Target, Walk};
use crate::edit::{Identity, NodeMut};
use crate::error::{Error, Result};
use crate::layout::{CAPACITY, CHILD_BYTES, ENTRY_BYTES_MAX, SLOT_BYTES, common_prefix, entry_bytes};
use crate::node::{Fit, Node};
use crate::ops::{self, Load};
use crate::tree::BTree;

/// Inserts in ascending order after which a page is split at the insert position instead of the middle.
const ASCENDING_RUN: usize = 16;

/// Where to split a page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SplitPoint {
    /// Slots below stay.
    pub(crate) keep: usize,
    /// First key that belongs to the right page.
    pub(crate) separator: Vec<u8>,
    /// The split follows a run of ascending inserts, which goes on in the right page.
    pub(crate) ascending: bool,
}

/// The pages of a split.
struct Family {
    parent: PageRef,
    /// The left page's place in the parent.
    slot: usize,
    /// The page that is too full.
    left: PageRef,
    /// The new page.
    right: PageRef,
    /// The left page's right sibling so far.
    beyond: Option<PageRef>,
}

impl BTree {
    /// Makes room for an entry with this key and a value of this size, by splitting the leaf that is responsible for it if need be. Called
    /// with no latch held, after an insert or replace said [`crate::NoRoom`]; then the caller writes again (another writer may have taken
    /// the room: then it comes back here).
    pub fn make_room(&self, key: &[u8], value_bytes: usize) -> Result<()> {
        let bytes = key.len() + value_bytes;
        if bytes > ENTRY_BYTES_MAX {
            return Err(Error::TooLarge { bytes });
        }
        self.make_room_at(0, key, value_bytes)
    }

    /// The same at any level; the value of an inner entry is a page number.
    fn make_room_at(&self, level: u16, key: &[u8], value_bytes: usize) -> Result<()> {
        loop {
            self.pool().wal().ensure_space()?;
            match self.walk(Target::Key(key), level + 1)? {
                Walk::Restart => {}
                Walk::RootBelow => {
                    let mut mtr = Mtr::begin(self.pool());
                    let root = mtr.latch(self.root)?;
                    let node = Node::open(mtr.bytes(root), self.root, self.index)?;
                    if node.level() > level {
                        continue;
                    }
                    if node.level() < level || split_point(node, key, value_bytes).is_none() {
                        return Ok(());
                    }
                    self.grow_root(mtr, root)?;
                }
                Walk::Parent { guard, slot, child } => {
                    // The page first: those who found it full wait for it in line, and all but one find room when it is their turn. Waiting for the
                    // parent instead would wake them all whenever anybody lets it go. The parent is above, so it is only tried.
                    let mut mtr = Mtr::begin(self.pool());
                    let latched = mtr.latch(child);
                    if !guard.validate() {
                        continue; // the page may not be the parent's child any more, or no page at all
                    }
                    let page = latched?;
                    let node = Node::open(mtr.bytes(page), child, self.index)?;
                    if node.level() != level {
                        return Err(Error::Corrupt { index: self.index, page: child, what: "not the child its parent names" });
                    }
                    let Some(point) = split_point(node, key, value_bytes) else { return Ok(()) };
                    let beyond = node.right();
                    let beyond = if beyond.is_none() { None } else { Some(mtr.latch(beyond)?) };
                    if !guard.validate() {
                        continue; // nothing was allocated yet
                    }
                    let right = match self.allocate(&mut mtr, level, Some(child)) {
                        Ok(right) => right,
                        Err(error) => {
                            // What allocation changed and gave back is still to be logged.
                            mtr.commit();
                            return Err(error);
                        }
                    };
                    let above = guard.page_no();
                    let Some(parent) = guard.try_upgrade_exclusive() else {
                        self.give_page_back(mtr, right)?;
                        // Somebody has the parent, who may wait for this page in turn, as CHECK TABLE does. Trying again at once would take it before they
                        // can, log an allocation each time, and fill the log. A parent that has gone meanwhile, or cannot be read, is met by the next walk.
                        drop(self.pool().exclusive(above));
                        continue;
                    };
                    let parent = mtr.adopt(parent);
                    if Node::new(mtr.bytes(parent)).fit(slot + 1, &point.separator, CHILD_BYTES) == Fit::NoRoom {
                        self.give_page_back(mtr, right)?;
                        self.make_room_at(level + 1, &point.separator, CHILD_BYTES)?;
                        continue;
                    }
                    self.split(mtr, Family { parent, slot, left: page, right, beyond }, &point);
                    return Ok(());
                }
            }
        }
    }

    /// Gets a page for this tree into the mini-transaction, unread. Before any other change, as it may fail.
    pub(crate) fn allocate<'t>(&'t self, mtr: &mut Mtr<'t>, level: u16, near: Option<PageNo>) -> Result<PageRef> {
        let number = self.space().allocate(mtr, self.index, BTree::page_kind(level), near)?;
        match mtr.latch_unread(number) {
            Ok(page) => Ok(page),
            Err(error) => {
                self.space().free(mtr, number)?;
                Err(error.into())
            }
        }
    }

    /// Frees a page that was allocated by the same mini-transaction and not used, and commits that.
    fn give_page_back<'t>(&'t self, mut mtr: Mtr<'t>, page: PageRef) -> Result<()> {
        let number = mtr.page_no(page);
        let freed = self.space().free(&mut mtr, number);
        mtr.commit();
        Ok(freed?)
    }

    /// Splits. Everything is latched, so it neither waits nor fails.
    fn split<'t>(&'t self, mut mtr: Mtr<'t>, family: Family, point: &SplitPoint) {
        let Family { parent, slot, left, right, beyond } = family;
        let (left_no, right_no) = (mtr.page_no(left), mtr.page_no(right));
        let node = Node::new(mtr.bytes(left));
        let identity = Identity {
            index: self.index,
            level: node.level(),
            left: left_no,
            right: node.right(),
            txn_max: node.txn_max(),
            run: if point.ascending { node.run() } else { 0 },
        };
        ops::load_upper(&mut mtr, right, left, point.keep, identity, self.logs_deltas());
        ops::truncate(&mut mtr, left, point.keep, right_no);
        if let Some(beyond) = beyond {
            ops::set_left(&mut mtr, beyond, right_no);
        }
        ops::insert(&mut mtr, parent, slot + 1, &point.separator, &right_no.0.to_le_bytes());
        mtr.commit();
    }

    /// Moves the root's content into a new page, its only child.
    fn grow_root<'t>(&'t self, mut mtr: Mtr<'t>, root: PageRef) -> Result<()> {
        let level = Node::new(mtr.bytes(root)).level();
        let child = match self.allocate(&mut mtr, level, Some(self.root)) {
            Ok(child) => child,
            Err(error) => {
                mtr.commit();
                return Err(error);
            }
        };
        let child_no = mtr.page_no(child);
        let node = Node::new(mtr.bytes(root));
        let none = PageNo::NONE;
        let identity = Identity { index: self.index, level, left: none, right: none, txn_max: node.txn_max(), run: node.run() };
        let content = Load::copy_of(node, 0..node.count(), identity);
        ops::load_page(&mut mtr, child, &content, true);
        let mut above = Load::empty(Identity { level: level + 1, txn_max: TxnId::NONE, run: 0, ..identity });
        above.push(&[], &child_no.0.to_le_bytes());
        ops::load_page(&mut mtr, root, &above, false);
        mtr.commit();
        Ok(())
    }
}

/// Where to split `node` so that an entry fits; `None` when it fits as it is.
pub(crate) fn split_point(node: Node<'_>, key: &[u8], value_bytes: usize) -> Option<SplitPoint> {
    let position = node.find(key);
    if position.found {
        if node.is_inner() || NodeMut::can_replace(node, position.slot, value_bytes) {
            return None;
        }
        return Some(split_around_growing(node, position.slot, value_bytes));
    }
    if node.fit(position.slot, key, value_bytes) != Fit::NoRoom {
        return None;
    }
    Some(if node.is_inner() { split_inner(node, position.slot, key) } else { split_leaf(node, position.slot, key, value_bytes) })
}

fn sizes(node: Node<'_>) -> impl Iterator<Item = usize> {
    (0..node.count()).map(move |slot| SLOT_BYTES + node.entry_bytes(slot))
}

/// Whether an insert at `slot` goes on with a run of ascending ones.
fn is_ascending(node: Node<'_>, slot: usize) -> bool {
    let first = node.first_keyed();
    let run = ASCENDING_RUN.min(node.count().saturating_sub(first + 1));
    slot > first && slot == node.hint().wrapping_add(1) as usize && node.run() as usize >= run
}

fn split_leaf(node: Node<'_>, slot: usize, key: &[u8], value_bytes: usize) -> SplitPoint {
    let count = node.count();
    let new = SLOT_BYTES + entry_bytes(false, key.len().saturating_sub(node.prefix_len()), value_bytes);
    let ascending = is_ascending(node, slot);
    let behind = if ascending { sizes(node).skip(slot).sum::<usize>() } else { 0 };
    // `keep` slots stay, and the new entry goes left or right.
    let (keep, left) = if !key.starts_with(node.prefix()) {
        // The key would cost all others their prefix: it gets a page of its own. It stands before or behind all of them.
        if slot == 0 { (0, true) } else { (count, false) }
    } else if ascending && behind <= CAPACITY / 16 {
        (slot, false)
    } else if ascending && behind >= new {
        // Much stands behind: it gets a page of its own once, instead of taking half of every page that the run fills.
        (slot, true)
    } else {
        let half = (node.all_entry_bytes() + new) / 2;
        let mut best = (usize::MAX, 0, true);
        let mut consider = |bytes: usize, keep: usize, left: bool| best = best.min((bytes.abs_diff(half), keep, left));
        let mut before = 0usize;
        for (keep, size) in sizes(node).chain([0]).enumerate() {
            if slot <= keep && keep < count {
                consider(before + new, keep, true);
            }
            if slot >= keep && keep > 0 {
                consider(before, keep, false);
            }
            if before >= half {
                break; // the left page would only become larger
            }
            before += size;
        }
        (best.1, best.2)
    };
    let new_is_last_left = left && slot == keep;
    let new_is_first_right = !left && slot == keep;
    let below = if new_is_last_left { key.to_vec() } else { node.key_vec(keep - 1) };
    let above = if new_is_first_right { key.to_vec() } else { node.key_vec(keep) };
    SplitPoint { keep, separator: separator(&below, above), ascending }
}

/// An entry's value grows: as if the page had the larger one.
fn split_around_growing(node: Node<'_>, growing: usize, value_bytes: usize) -> SplitPoint {
    let grown = |(slot, size): (usize, usize)| if slot == growing { size - node.leaf_value(slot).len() + value_bytes } else { size };
    let half = sizes(node).enumerate().map(grown).sum::<usize>() / 2;
    let mut before = 0usize;
    let mut best = (usize::MAX, 1);
    for (keep, size) in sizes(node).enumerate().map(grown).enumerate() {
        if keep > 0 {
            best = best.min((before.abs_diff(half), keep));
        }
        before += size;
    }
    let keep = best.1;
    SplitPoint { keep, separator: separator(&node.key_vec(keep - 1), node.key_vec(keep)), ascending: false }
}

/// An inner page is split before a child, whose separator moves up; both pages have a child.
fn split_inner(node: Node<'_>, slot: usize, key: &[u8]) -> SplitPoint {
    let count = node.count();
    let ascending = is_ascending(node, slot);
    let keep = if !key.starts_with(node.prefix()) {
        if slot <= 1 { 1 } else { count - 1 }
    } else if ascending {
        // The child that was split just now comes along, so that what is inserted next finds its page.
        slot - 1
    } else {
        let half = sizes(node).sum::<usize>() / 2;
        let mut before = 0usize;
        sizes(node)
            .take_while(|size| {
                before += size;
                before <= half
            })
            .count()
    };
    let keep = keep.clamp(1, count - 1);
    SplitPoint { keep, separator: node.key_vec(keep), ascending }
}

/// The shortest key above `below` and not above `above`.
fn separator(below: &[u8], mut above: Vec<u8>) -> Vec<u8> {
    debug_assert!(below < above.as_slice());
    above.truncate(common_prefix(below, &above) + 1);
    above
}
