//! Merging under-filled pages with a sibling, and giving the emptied pages back.
//!
//! # Invariants
//! 1. Each merge is one mini-transaction that latches parent → left page → right page → the page beyond. The left page takes everything; the
//!    right one is retired, so that nobody who remembers its number takes it for what it was, and freed.
//! 2. Only children of one parent are merged; a lone child waits until its parent has been merged.

use base::PageNo;
use buffer_pool::{Mtr, PageRef};

use crate::descend::{Target, Walk};
use crate::edit::Identity;
use crate::error::{Error, Result};
use crate::layout::{CHILD_BYTES, MERGED_BYTES_MAX, SLOT_BYTES, UNDERFULL_BYTES, common_prefix, entry_bytes, heap_base};
use crate::node::Node;
use crate::ops::{self, Load};
use crate::tree::BTree;

impl BTree {
    /// Merges the leaf responsible for `key` with a sibling if it is under-filled, then its parents likewise. Called with no latch held, by
    /// whoever removed entries. Does nothing where there is nothing to do.
    pub fn shrink(&self, key: &[u8]) -> Result<()> {
        self.shrink_at(0, key).map(|_merged| ())
    }

    /// True when two pages of this level were merged.
    fn shrink_at(&self, level: u16, key: &[u8]) -> Result<bool> {
        loop {
            self.pool().wal().ensure_space()?;
            let (guard, slot) = match self.walk(Target::Key(key), level + 1)? {
                Walk::Restart => continue,
                Walk::RootBelow => return Ok(false),
                Walk::Parent { guard, slot, .. } => (guard, slot),
            };
            let Some(parent) = guard.upgrade_exclusive() else { continue };
            let mut mtr = Mtr::begin(self.pool());
            let parent = mtr.adopt(parent);
            let node = Node::open(mtr.bytes(parent), mtr.page_no(parent), self.index)?;
            let count = node.count();
            if slot >= count {
                return Err(Error::Corrupt { index: self.index, page: mtr.page_no(parent), what: "an inner page without children" });
            }
            let is_root = mtr.page_no(parent) == self.root;
            if count == 1 {
                if is_root {
                    self.collapse_root(mtr, parent)?;
                    return Ok(false);
                }
                // Merging the parent gives the page siblings.
                drop(mtr);
                if self.shrink_at(level + 1, key)? {
                    continue;
                }
                return Ok(false);
            }
            // The right neighbour first, then the left one.
            let pairs = [(slot + 1 < count).then_some(slot), slot.checked_sub(1)];
            let numbers = pairs.map(|left| left.map(|left| (left, node.child(left), node.child(left + 1))));
            for (left_slot, left_no, right_no) in numbers.into_iter().flatten() {
                let (left, right) = (mtr.latch(left_no)?, mtr.latch(right_no)?);
                let (a, b) = (Node::open(mtr.bytes(left), left_no, self.index)?, Node::open(mtr.bytes(right), right_no, self.index)?);
                if a.level() != level || b.level() != level || a.right() != right_no || b.left() != left_no {
                    return Err(Error::Corrupt { index: self.index, page: left_no, what: "siblings do not name each other" });
                }
                let mine = if left_slot == slot { a } else { b };
                if mine.used_bytes() >= UNDERFULL_BYTES {
                    return Ok(false);
                }
                let separator = Node::new(mtr.bytes(parent)).key_vec(left_slot + 1);
                if let Some(prefix_len) = merged_prefix(a, b, &separator) {
                    let few_left = self.merge(mtr, parent, left_slot, left, right, prefix_len, &separator)?;
                    if is_root && count == 2 {
                        // The merged page may go on to become the root.
                        return self.shrink_at(level, key).map(|_| true);
                    }
                    if few_left && !is_root {
                        self.shrink_at(level + 1, key)?;
                    }
                    return Ok(true);
                }
                // Latches go left to right: give these back before the other pair is tried.
                mtr.release(right);
                mtr.release(left);
            }
            return Ok(false);
        }
    }

    /// Returns whether the parent is now under-filled itself.
    fn merge<'t>(
        &'t self,
        mut mtr: Mtr<'t>,
        parent: PageRef,
        left_slot: usize,
        left: PageRef,
        right: PageRef,
        prefix_len: usize,
        separator: &[u8],
    ) -> Result<bool> {
        let (left_no, right_no) = (mtr.page_no(left), mtr.page_no(right));
        let node = Node::new(mtr.bytes(right));
        let (beyond, txn_max) = (node.right(), node.txn_max());
        let beyond = if beyond.is_none() { None } else { Some(mtr.latch(beyond)?) };
        // The first change, as it may fail.
        self.space().free(&mut mtr, right_no)?;
        ops::append_page(&mut mtr, left, right, prefix_len, separator);
        if txn_max > Node::new(mtr.bytes(left)).txn_max() {
            ops::raise_txn_max(&mut mtr, left, txn_max);
        }
        if let Some(beyond) = beyond {
            ops::set_left(&mut mtr, beyond, left_no);
        }
        ops::remove(&mut mtr, parent, left_slot + 1);
        ops::retire(&mut mtr, right);
        let node = Node::new(mtr.bytes(parent));
        let few_left = node.count() == 1 || node.used_bytes() < UNDERFULL_BYTES;
        self.note_retired();
        mtr.commit();
        Ok(few_left)
    }

    /// The root has one child: takes over its content, again and again.
    fn collapse_root<'t>(&'t self, mut mtr: Mtr<'t>, root: PageRef) -> Result<()> {
        let child_no = Node::new(mtr.bytes(root)).child(0);
        let child = mtr.latch(child_no)?;
        let node = Node::open(mtr.bytes(child), child_no, self.index)?;
        let level = node.level();
        if level + 1 != Node::new(mtr.bytes(root)).level() || !node.left().is_none() || !node.right().is_none() {
            return Err(Error::Corrupt { index: self.index, page: child_no, what: "a lone child has siblings" });
        }
        self.space().free(&mut mtr, child_no)?;
        let node = Node::new(mtr.bytes(child));
        let none = PageNo::NONE;
        let identity = Identity { index: self.index, level, left: none, right: none, txn_max: node.txn_max(), run: node.run() };
        let content = Load::copy_of(node, 0..node.count(), identity);
        let again = level > 0 && node.count() == 1;
        ops::load_page(&mut mtr, root, &content, false);
        ops::retire(&mut mtr, child);
        self.note_retired();
        mtr.commit();
        if again {
            self.pool().wal().ensure_space()?;
            let mut mtr = Mtr::begin(self.pool());
            let root = mtr.latch(self.root)?;
            let node = Node::open(mtr.bytes(root), self.root, self.index)?;
            if node.is_inner() && node.count() == 1 {
                return self.collapse_root(mtr, root);
            }
        }
        Ok(())
    }
}

/// Length of the prefix of the page that both would make; `None` when they are too much for one.
fn merged_prefix(left: Node<'_>, right: Node<'_>, separator: &[u8]) -> Option<usize> {
    let inner = left.is_inner();
    let first_keyed = left.first_keyed();
    let keys = |node: Node<'_>| node.count().saturating_sub(first_keyed);
    let total_keys = keys(left) + keys(right) + inner as usize;
    let first = if keys(left) > 0 {
        left.key_vec(first_keyed)
    } else if inner {
        separator.to_vec()
    } else if keys(right) > 0 {
        right.key_vec(0)
    } else {
        return Some(0);
    };
    let last = if keys(right) > 0 {
        right.key_vec(right.count() - 1)
    } else if inner {
        separator.to_vec()
    } else {
        left.key_vec(left.count() - 1)
    };
    let prefix_len = if total_keys == 1 { first.len().saturating_sub(4) } else { common_prefix(&first, &last) };
    let prefix_bytes = base::PAGE_BYTES - heap_base(prefix_len);
    let mut total =
        left.rewritten_bytes(0..left.count(), prefix_len) + right.rewritten_bytes(first_keyed..right.count(), prefix_len) - prefix_bytes;
    if inner {
        total += SLOT_BYTES + entry_bytes(true, separator.len() - prefix_len, CHILD_BYTES);
    }
    // An empty page always goes: what the other holds fits, under the prefix it has.
    (total <= MERGED_BYTES_MAX || (!inner && (keys(left) == 0 || keys(right) == 0) && total <= crate::layout::CAPACITY))
        .then_some(prefix_len)
}
