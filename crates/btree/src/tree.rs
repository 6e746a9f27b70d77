//! A tree: its identity, and reading one key.

use std::ops::ControlFlow;
use std::sync::Arc;

use base::{IndexId, PageNo, TxnId};
use buffer_pool::{BufferPool, Mtr};
use page_store::PageType;
use space_map::{PageKind, SpaceMap};
use sync::atomic::{AtomicU64, Ordering};

use crate::cursor::Direction;
use crate::descend::Target;
use crate::edit::Identity;
use crate::error::Result;
use crate::node::{KeyRef, Node};
use crate::ops::{self, Load};

/// A B+tree. Clones are handles of the same tree; an index that is in use is opened once and cloned.
#[derive(Clone)]
pub struct BTree {
    /// The index whose pages these are.
    pub index: IndexId,
    /// The root page. It stays the root: when the root splits, its content moves down.
    pub root: PageNo,
    shared: Arc<Shared>,
}

struct Shared {
    pool: Arc<BufferPool>,
    space: Arc<SpaceMap>,
    /// The rightmost leaf, when the latest inserts went to its end; 0 otherwise. Only a hint (relaxed): who follows it checks under the latch.
    append_leaf: AtomicU64,
    /// Pages retired since opening. Written (release) while the retired page is latched exclusively, read (acquire) by a cursor that wants
    /// to come back to a page: see `cursor.rs`.
    retired: AtomicU64,
}

impl BTree {
    /// Makes an empty tree in a mini-transaction of its own.
    pub fn create(pool: &Arc<BufferPool>, space: &Arc<SpaceMap>, index: IndexId) -> Result<BTree> {
        pool.wal().ensure_space()?;
        let mut mtr = Mtr::begin(pool);
        let root = BTree::create_in(&mut mtr, space, index)?;
        mtr.commit();
        Ok(BTree::open(pool, space, index, root))
    }

    /// Makes an empty tree as part of a mini-transaction; returns its root.
    pub fn create_in(mtr: &mut Mtr<'_>, space: &SpaceMap, index: IndexId) -> Result<PageNo> {
        let root = space.allocate(mtr, index, PageKind::Inner, None)?;
        let identity = Identity { index, level: 0, left: PageNo::NONE, right: PageNo::NONE, txn_max: TxnId::NONE, run: 0 };
        match mtr.latch_unread(root) {
            Ok(page) => {
                ops::load_page(mtr, page, &Load::empty(identity), true);
                Ok(root)
            }
            Err(error) => {
                space.free(mtr, root)?;
                Err(error.into())
            }
        }
    }

    /// A handle of an existing tree. Reads nothing.
    pub fn open(pool: &Arc<BufferPool>, space: &Arc<SpaceMap>, index: IndexId, root: PageNo) -> BTree {
        let shared =
            Shared { pool: pool.clone(), space: space.clone(), append_leaf: AtomicU64::new(PageNo::NONE.0), retired: AtomicU64::new(0) };
        BTree { index, root, shared: Arc::new(shared) }
    }

    /// The pool its pages are in.
    #[inline]
    pub fn pool(&self) -> &BufferPool {
        &self.shared.pool
    }

    /// The map its pages come from.
    pub fn space(&self) -> &SpaceMap {
        &self.shared.space
    }

    /// Calls `f` with the value of `key`, under the leaf's shared latch: `f` must be short and must not touch the tree.
    #[inline]
    pub fn get<R>(&self, key: &[u8], f: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        let leaf = self.leaf(Target::Key(key), |pool, page| pool.shared(page))?;
        let node = Node::new(&leaf);
        let position = node.find_in_leaf(key);
        Ok(f(if position.found { Some(node.leaf_value(position.slot)) } else { None }))
    }

    /// Like [`BTree::get`], for a thread that holds a leaf of another tree.
    ///
    /// Callers owe an order of trees: who holds a leaf of this one never waits for a page of the other. Then whoever waits here waits for
    /// threads that do not wait for it. The engine's order: secondary index before the primary index of the same table.
    pub fn get_nested<R>(&self, key: &[u8], f: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        crate::holding::apart(|| self.get(key, f))
    }

    /// Like [`BTree::get`], with the leaf's highest writer transaction id.
    #[inline]
    pub fn get_with_txn_max<R>(&self, key: &[u8], f: impl FnOnce(Option<&[u8]>, TxnId) -> R) -> Result<R> {
        let leaf = self.leaf(Target::Key(key), |pool, page| pool.shared(page))?;
        let node = Node::new(&leaf);
        let position = node.find_in_leaf(key);
        Ok(f(if position.found { Some(node.leaf_value(position.slot)) } else { None }, node.txn_max()))
    }

    /// Shows `f` the entries from `key` on (backward: those below it, from the last one back) that lie on one leaf, with the leaf's highest writer transaction id, under the leaf's
    /// shared latch, until it breaks: `f` must be short and must not touch the tree. `false` when the leaf has ended before: more entries may follow on others, and a
    /// [`Cursor`](crate::Cursor) finds them.
    #[inline]
    pub fn scan_one_leaf(
        &self,
        key: &[u8],
        direction: Direction,
        mut f: impl FnMut(KeyRef<'_>, &[u8], TxnId) -> ControlFlow<()>,
    ) -> Result<bool> {
        let leaf = self.leaf(Target::Key(key), |pool, page| pool.shared(page))?;
        let node = Node::new(&leaf);
        let at = node.find_in_leaf(key).slot;
        let breaks = |slot| f(node.key(slot), node.leaf_value(slot), node.txn_max()).is_break();
        Ok(match direction {
            Direction::Forward => (at..node.count()).any(breaks) || node.right().is_none(),
            Direction::Backward => (0..at).rev().any(breaks) || node.left().is_none(),
        })
    }

    /// Levels of the tree: 1 when the root is a leaf.
    pub fn height(&self) -> Result<u16> {
        let root = self.pool().shared(self.root)?;
        Ok(Node::open(&root, self.root, self.index)?.level() + 1)
    }

    #[inline]
    pub(crate) fn append_leaf(&self) -> PageNo {
        PageNo(self.shared.append_leaf.load(Ordering::Relaxed))
    }

    /// Remembers or forgets the rightmost leaf. Writes only what changes: the line is shared by all threads.
    pub(crate) fn set_append_leaf(&self, page: PageNo) {
        if self.append_leaf() != page {
            self.shared.append_leaf.store(page.0, Ordering::Relaxed);
        }
    }

    pub(crate) fn retired(&self) -> u64 {
        self.shared.retired.load(Ordering::Acquire)
    }

    /// Called while the page is latched exclusively, before the mini-transaction that retires it commits.
    pub(crate) fn note_retired(&self) {
        self.shared.retired.fetch_add(1, Ordering::Release);
    }

    /// Whether leaves may go into the log by what differs from entry to entry.
    pub(crate) fn logs_deltas(&self) -> bool {
        self.pool().store().format() >= ops::DELTAS_FROM_FORMAT
    }

    /// The page type that a page of this level has on disk.
    pub(crate) fn page_type(level: u16) -> PageType {
        if level == 0 { PageType::Leaf } else { PageType::Inner }
    }

    /// Where pages of this level are allocated.
    pub(crate) fn page_kind(level: u16) -> PageKind {
        if level == 0 { PageKind::Leaf } else { PageKind::Inner }
    }
}

impl std::fmt::Debug for BTree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BTree").field("index", &self.index).field("root", &self.root).finish_non_exhaustive()
    }
}
