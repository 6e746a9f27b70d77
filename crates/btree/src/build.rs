//! Building a tree from sorted entries, bottom up: each page is written once, nearly full.
//!
//! # Crash
//! Pages are logged as they are filled, and hang together only when the root is set by [`Builder::finish`]. Until then they are owned by the index
//! and reachable from nowhere: whoever builds an index frees the whole index if the build did not end (`SpaceMap::free_index`).

use base::{PAGE_BYTES, PageNo, TxnId};
use buffer_pool::Mtr;

use crate::edit::{Identity, NoRoom, NodeMut};
use crate::error::{Error, Result};
use crate::layout::{CAPACITY, ENTRY_BYTES_MAX, Page, common_prefix};
use crate::node::Node;
use crate::ops::{self, Load};
use crate::tree::BTree;

/// Bytes after which a page is called full: a sixteenth is left for what comes later.
const FILL_BYTES: usize = CAPACITY - CAPACITY / 16;

/// The page being filled of one level.
struct Level {
    image: Box<Page>,
    /// Separator of the page being filled; empty for the first.
    separator: Vec<u8>,
    /// The page's number, allocated with its predecessor.
    number: Option<PageNo>,
    left: PageNo,
}

/// A bulk build; see [`BTree::builder`].
pub struct Builder<'t> {
    tree: &'t BTree,
    levels: Vec<Level>,
    last_key: Vec<u8>,
    entries: u64,
    txn_max: TxnId,
}

impl BTree {
    /// Begins a bulk build of an empty tree, which nobody else uses. `txn_max` is noted on all leaves.
    pub fn builder(&self, txn_max: TxnId) -> Result<Builder<'_>> {
        let root = self.pool().shared(self.root)?;
        let node = Node::open(&root, self.root, self.index)?;
        if node.is_inner() || node.count() > 0 {
            return Err(Error::NotEmpty);
        }
        let mut builder = Builder { tree: self, levels: Vec::new(), last_key: Vec::new(), entries: 0, txn_max };
        builder.add_level();
        Ok(builder)
    }

    /// Builds an empty tree from entries in ascending order of keys; returns how many.
    pub fn build<K: AsRef<[u8]>, V: AsRef<[u8]>>(&self, entries: impl IntoIterator<Item = (K, V)>) -> Result<u64> {
        let mut builder = self.builder(TxnId::NONE)?;
        for (key, value) in entries {
            builder.push(key.as_ref(), value.as_ref())?;
        }
        builder.finish()
    }
}

impl Builder<'_> {
    fn add_level(&mut self) {
        let mut level = Level { image: Box::new([0; PAGE_BYTES]), separator: Vec::new(), number: None, left: PageNo::NONE };
        NodeMut::new(&mut *level.image).init(self.identity(self.levels.len(), PageNo::NONE, PageNo::NONE), &[]);
        self.levels.push(level);
    }

    fn identity(&self, level: usize, left: PageNo, right: PageNo) -> Identity {
        let txn_max = if level == 0 { self.txn_max } else { TxnId::NONE };
        Identity { index: self.tree.index, level: level as u16, left, right, txn_max, run: 0 }
    }

    /// Adds an entry above all before it.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let bytes = key.len() + value.len();
        if bytes > ENTRY_BYTES_MAX {
            return Err(Error::TooLarge { bytes });
        }
        if self.entries > 0 && key <= self.last_key.as_slice() {
            return Err(Error::NotAscending);
        }
        if self.append(0, key, value).is_err() {
            let separator = key[..common_prefix(&self.last_key, key) + 1].to_vec();
            self.close(0, Some(separator))?;
            assert!(self.append(0, key, value).is_ok(), "an entry does not fit an empty page");
        }
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        self.entries += 1;
        Ok(())
    }

    fn append(&mut self, level: usize, key: &[u8], value: &[u8]) -> std::result::Result<(), NoRoom> {
        let mut node = NodeMut::new(&mut *self.levels[level].image);
        let count = node.node().count();
        if count > 0 && node.node().used_bytes() > FILL_BYTES {
            return Err(NoRoom);
        }
        if level > 0 && count == 0 { node.push(&[], value) } else { node.insert(count, key, value) }
    }

    /// Writes out the page being filled and begins the next one, if there is one (which begins at a separator).
    fn close(&mut self, level: usize, next: Option<Vec<u8>>) -> Result<()> {
        let tree = self.tree;
        tree.pool().wal().ensure_space()?;
        let mut mtr = Mtr::begin(tree.pool());
        let written = self.write_out(&mut mtr, level, next.is_some());
        // After an error the allocation alone is logged; the caller frees the index.
        mtr.commit();
        let (number, right) = written?;
        let identity = self.identity(level, number, PageNo::NONE);
        let current = &mut self.levels[level];
        let separator = std::mem::replace(&mut current.separator, next.unwrap_or_default());
        current.left = number;
        current.number = (!right.is_none()).then_some(right);
        NodeMut::new(&mut *current.image).init(identity, &[]);
        // The parent's entry.
        let above = level + 1;
        if self.levels.len() == above {
            self.add_level();
        }
        let child = number.0.to_le_bytes();
        if self.append(above, &separator, &child).is_err() {
            self.close(above, Some(separator.clone()))?;
            assert!(self.append(above, &separator, &child).is_ok(), "a separator does not fit an empty page");
        }
        Ok(())
    }

    /// Returns the page's number and its right sibling's.
    fn write_out<'m>(&mut self, mtr: &mut Mtr<'m>, level: usize, more: bool) -> Result<(PageNo, PageNo)> {
        let tree = self.tree;
        let current = &self.levels[level];
        let kind = BTree::page_kind(level as u16);
        let number = match current.number {
            Some(number) => number,
            None => tree.space().allocate(mtr, tree.index, kind, None)?,
        };
        let right = if more { tree.space().allocate(mtr, tree.index, kind, Some(number))? } else { PageNo::NONE };
        let page = mtr.latch_unread(number)?;
        let identity = self.identity(level, current.left, right);
        ops::load_image(mtr, page, Node(&current.image), identity, tree.logs_deltas());
        Ok((number, right))
    }

    /// Writes what is left and sets the root. Returns the number of entries.
    pub fn finish(mut self) -> Result<u64> {
        let mut level = 0;
        // A level with more than one page is closed and has a level above; the first with one page becomes the root.
        while !self.levels[level].left.is_none() {
            self.close(level, None)?;
            level += 1;
        }
        let tree = self.tree;
        tree.pool().wal().ensure_space()?;
        let mut mtr = Mtr::begin(tree.pool());
        let root = mtr.latch(tree.root)?;
        let node = Node(&self.levels[level].image);
        let content = Load::copy_of(node, 0..node.count(), self.identity(level, PageNo::NONE, PageNo::NONE));
        ops::load_page(&mut mtr, root, &content, false);
        mtr.commit();
        Ok(self.entries)
    }
}

impl std::fmt::Debug for Builder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder").field("tree", self.tree).field("levels", &self.levels.len()).field("entries", &self.entries).finish()
    }
}
