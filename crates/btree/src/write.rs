//! Looking and changing under one exclusive leaf latch.

use base::{Lsn, TxnId};
use buffer_pool::{ExclusiveGuard, Mtr, PageRef};

use crate::descend::Target;
use crate::edit::{NoRoom, NodeMut};
use crate::error::{Error, Result};
use crate::holding::{self, Holding};
use crate::layout::{ENTRY_BYTES_MAX, INDEX_ID, LEVEL, RIGHT, UNDERFULL_BYTES};
use crate::node::{KeyRef, Node};
use crate::ops;
use crate::search::{self, Position};
use crate::tree::BTree;

/// Inserts in ascending order after which the rightmost leaf is remembered.
pub(crate) const APPEND_RUN: u16 = 4;

/// A leaf latched exclusively, positioned at the key sought. Everything changed through it is one mini-transaction.
///
/// There are two positions: the *sought* one, where [`LeafWrite::found`] and [`LeafWrite::insert`] work, and the *current* one, which starts there and
/// is moved over the leaf's entries by [`LeafWrite::next`] and [`LeafWrite::prev`]; [`LeafWrite::replace`], [`LeafWrite::patch`] and
/// [`LeafWrite::remove`] change the current entry.
///
/// While it lives its thread calls no tree (but this value's methods) and waits for nothing. Dropped unchanged it only unlatches. Once something was changed it must be [`LeafWrite::finish`]ed.
pub struct LeafWrite<'t> {
    tree: &'t BTree,
    key: &'t [u8],
    mtr: Mtr<'t>,
    page: PageRef,
    sought: Position,
    current: usize,
    _holding: Holding,
}

impl BTree {
    /// Latches the leaf responsible for `key` for changing. Called with no latch held: it may wait for log space.
    pub fn write<'t>(&'t self, key: &'t [u8]) -> Result<LeafWrite<'t>> {
        holding::assert_none();
        self.pool().wal().ensure_space()?;
        let leaf = match self.leaf_for_append(key) {
            Some(leaf) => leaf,
            None => self.leaf(Target::Key(key), |pool, page| pool.exclusive(page))?,
        };
        let sought = Node::new(&leaf).find_in_leaf(key);
        let mut mtr = Mtr::begin(self.pool());
        let page = mtr.adopt(leaf);
        Ok(LeafWrite { tree: self, key, mtr, page, sought, current: sought.slot, _holding: Holding::new() })
    }

    /// The rightmost leaf, if it is remembered and the key belongs behind its last entry.
    pub(crate) fn leaf_for_append(&self, key: &[u8]) -> Option<ExclusiveGuard<'_>> {
        let page = self.append_leaf();
        if page.is_none() {
            return None;
        }
        // Look before latching: most keys of a mixed load belong elsewhere. The answer is not validated, as it is asked again below.
        let Ok(look) = self.pool().optimistic(page) else {
            self.set_append_leaf(base::PageNo::NONE);
            return None;
        };
        if look.u64_at(RIGHT) != 0 || look.u16_at(LEVEL) != 0 || look.u32_at(INDEX_ID) != self.index.0 {
            self.set_append_leaf(base::PageNo::NONE);
            return None;
        }
        if !search::is_above_all(&look, key) {
            return None;
        }
        let leaf = self.pool().exclusive(page).ok()?;
        let node = Node::new(&leaf);
        // A leaf of this tree without a right sibling takes all keys above any key it has.
        let right_one = node.is_of(self.index) && !node.is_inner() && node.right().is_none() && search::is_above_all(node.0, key);
        right_one.then_some(leaf)
    }
}

impl<'t> LeafWrite<'t> {
    #[inline]
    fn node(&self) -> Node<'_> {
        Node::new(self.mtr.bytes(self.page))
    }

    /// The key sought.
    pub fn sought_key(&self) -> &'t [u8] {
        self.key
    }

    /// The value of the key sought, if the tree has it.
    #[inline]
    pub fn found(&self) -> Option<&[u8]> {
        self.sought.found.then(|| self.node().leaf_value(self.sought.slot))
    }

    /// Whether the current position has an entry; if not it is behind the last entry of the leaf (or before the first, after [`LeafWrite::prev`]).
    #[inline]
    pub fn valid(&self) -> bool {
        self.current < self.node().count()
    }

    /// The current entry's key.
    pub fn key(&self) -> Option<KeyRef<'_>> {
        self.valid().then(|| self.node().key(self.current))
    }

    /// The current entry's value.
    pub fn value(&self) -> Option<&[u8]> {
        self.valid().then(|| self.node().leaf_value(self.current))
    }

    /// Moves to the next entry of this leaf; false behind the last one. The next leaf is reached by writing at a key beyond.
    #[allow(clippy::should_implement_trait)] // entries are borrowed from the leaf: no iterator
    pub fn next(&mut self) -> bool {
        let count = self.node().count();
        self.current = if self.current == usize::MAX { 0 } else { (self.current + 1).min(count) };
        self.current < count
    }

    /// Moves to the previous entry of this leaf; false before the first one.
    pub fn prev(&mut self) -> bool {
        self.current = if self.current == usize::MAX { usize::MAX } else { self.current.wrapping_sub(1) };
        self.valid()
    }

    /// Moves back to the sought position: the entry with the key sought or, when there is none, the first one above it.
    pub fn reset(&mut self) {
        self.current = self.sought.slot;
    }

    /// Whether this is the last leaf of the tree.
    pub fn is_last_leaf(&self) -> bool {
        self.node().right().is_none()
    }

    /// Calls `f` with the first key above the key sought, or `None` when there is none, while its leaf is latched, too. Whoever locks the gap
    /// before that key, or moves the lock because the key goes, has the key's leaf latched.
    pub fn with_next_key<R>(&self, f: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        let mut next = Vec::new();
        let node = self.node();
        let slot = self.sought.slot + self.sought.found as usize;
        if slot < node.count() {
            node.key(slot).append_to(&mut next);
            return Ok(f(Some(&next)));
        }
        let mut right = node.right();
        // Leaves passed on the way stay latched, left to right: nothing comes between.
        let mut held = Vec::new();
        while !right.is_none() {
            let leaf = self.tree.pool().shared(right)?;
            let node = Node::open(&leaf, right, self.tree.index)?;
            if node.count() > 0 {
                node.key(0).append_to(&mut next);
                return Ok(f(Some(&next)));
            }
            right = node.right();
            held.push(leaf);
        }
        Ok(f(None))
    }

    /// The mini-transaction, for more operations in the same record.
    pub fn mtr(&mut self) -> &mut Mtr<'t> {
        &mut self.mtr
    }

    /// The highest writer transaction id noted on the leaf.
    pub fn txn_max(&self) -> TxnId {
        self.node().txn_max()
    }

    /// Whether the leaf is empty enough for [`BTree::shrink`] to be worth calling.
    pub fn is_underfull(&self) -> bool {
        self.node().used_bytes() < UNDERFULL_BYTES
    }

    /// Inserts the key sought, which is not there, and makes the new entry current. `note` adds what belongs to the change to the same
    /// record. When there is no room, nothing was done: drop this, call [`BTree::make_room`], begin again.
    pub fn insert(&mut self, value: &[u8], note: impl FnOnce(&mut Mtr<'t>)) -> Result<std::result::Result<(), NoRoom>> {
        assert!(!self.sought.found, "insert of a key that is there");
        let bytes = self.key.len() + value.len();
        if bytes > ENTRY_BYTES_MAX {
            return Err(Error::TooLarge { bytes });
        }
        let slot = self.sought.slot;
        if self.node().fit(slot, self.key, value.len()) == crate::node::Fit::NoRoom {
            return Ok(Err(NoRoom));
        }
        ops::insert(&mut self.mtr, self.page, slot, self.key, value);
        note(&mut self.mtr);
        self.sought.found = true;
        self.current = slot;
        let node = self.node();
        if node.right().is_none() && slot + 1 == node.count() && node.run() >= APPEND_RUN {
            self.tree.set_append_leaf(self.mtr.page_no(self.page));
        }
        Ok(Ok(()))
    }

    /// Gives the current entry another value.
    pub fn replace(&mut self, value: &[u8], note: impl FnOnce(&mut Mtr<'t>)) -> Result<std::result::Result<(), NoRoom>> {
        let node = self.node();
        assert!(self.current < node.count(), "replace without a current entry");
        let bytes = node.key(self.current).len() + value.len();
        if bytes > ENTRY_BYTES_MAX {
            return Err(Error::TooLarge { bytes });
        }
        if !NodeMut::can_replace(node, self.current, value.len()) {
            return Ok(Err(NoRoom));
        }
        ops::replace(&mut self.mtr, self.page, self.current, value);
        note(&mut self.mtr);
        Ok(Ok(()))
    }

    /// Overwrites bytes inside the current entry's value.
    pub fn patch(&mut self, offset: usize, bytes: &[u8], note: impl FnOnce(&mut Mtr<'t>)) {
        assert!(self.valid(), "patch without a current entry");
        ops::patch(&mut self.mtr, self.page, self.current, offset, bytes);
        note(&mut self.mtr);
    }

    /// Removes the current entry; the one behind it becomes current.
    pub fn remove(&mut self, note: impl FnOnce(&mut Mtr<'t>)) {
        assert!(self.valid(), "remove without a current entry");
        ops::remove(&mut self.mtr, self.page, self.current);
        note(&mut self.mtr);
        if self.current < self.sought.slot {
            self.sought.slot -= 1;
        } else if self.current == self.sought.slot {
            self.sought.found = false;
        }
    }

    /// Notes a writer on the leaf, if it is newer than those noted.
    pub fn raise_txn_max(&mut self, txn: TxnId) {
        if txn > self.txn_max() {
            ops::raise_txn_max(&mut self.mtr, self.page, txn);
        }
    }

    /// Commits the mini-transaction and unlatches. Returns the end of its record, [`Lsn::NONE`] when nothing was changed.
    pub fn finish(self) -> Lsn {
        self.mtr.commit()
    }
}

impl std::fmt::Debug for LeafWrite<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LeafWrite")
            .field("page", &self.mtr.page_no(self.page))
            .field("sought", &self.sought)
            .field("current", &self.current)
            .finish()
    }
}
