//! The way from the root to a page, without latching inner pages.
//!
//! # Why the page reached is the right one
//! A child's number counts once the parent is validated. The child is read (or latched) after that, and then the parent is validated again:
//! had a split or merge moved the key's range to another child in between, it would have changed the parent. From the moment the child is
//! latched, moving its range needs that latch.

use std::ops::Deref;

use base::PageNo;
use buffer_pool::{BufferPool, OptimisticGuard, PoolError};

use crate::error::{Error, Result};
use crate::holding;
use crate::layout::{COUNT, INDEX_ID, LEVEL};
use crate::node::Node;
use crate::search;
use crate::tree::BTree;

/// Restarts before a reader latches the inner pages on its way.
const RESTARTS_MAX: usize = 12;

/// Most levels a tree can have; more means a cycle.
const LEVELS_MAX: u16 = 32;

/// Where a descent goes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target<'a> {
    /// To the page responsible for a key.
    Key(&'a [u8]),
    /// To the first page.
    First,
    /// To the last page.
    Last,
}

/// Where an optimistic descent ended.
pub(crate) enum Walk<'t> {
    /// Something changed on the way.
    Restart,
    /// The root stands below the wanted level.
    RootBelow,
    /// A page of the wanted level, read optimistically and not validated since, and its child on the way.
    Parent { guard: OptimisticGuard<'t>, slot: usize, child: PageNo },
}

impl Target<'_> {
    /// Slot of the child to go to.
    #[inline]
    pub(crate) fn child_slot<B: search::Bytes>(self, page: &B) -> usize {
        match self {
            Target::Key(key) => search::child_slot(page, key),
            Target::First => 0,
            Target::Last => (page.u16_at(COUNT) as usize).saturating_sub(1),
        }
    }
}

impl BTree {
    fn corrupt<T>(&self, page: PageNo, what: &'static str) -> Result<T> {
        Err(Error::Corrupt { index: self.index, page, what })
    }

    /// Goes down to a page of `stop_level` (at least 1) without latches.
    #[inline]
    pub(crate) fn walk(&self, target: Target<'_>, stop_level: u16) -> Result<Walk<'_>> {
        holding::assert_none();
        let mut guard = self.pool().optimistic(self.root)?;
        let mut level = guard.u16_at(LEVEL);
        if guard.u32_at(INDEX_ID) != self.index.0 || level > LEVELS_MAX {
            return if guard.validate() { self.corrupt(self.root, "not the root of this index") } else { Ok(Walk::Restart) };
        }
        if level < stop_level {
            return Ok(if guard.validate() { Walk::RootBelow } else { Walk::Restart });
        }
        loop {
            let slot = target.child_slot(&guard);
            let child = PageNo(search::child_at(&guard, slot));
            if level == stop_level {
                return Ok(Walk::Parent { guard, slot, child });
            }
            // An unvalidated number may be anything: do not read that page.
            if !guard.validate() {
                return Ok(Walk::Restart);
            }
            let next = match self.pool().optimistic(child) {
                Ok(next) => next,
                // The page may be free by now.
                Err(_) if !guard.validate() => return Ok(Walk::Restart),
                Err(error) => return Err(error.into()),
            };
            if !guard.validate() {
                return Ok(Walk::Restart);
            }
            if next.u16_at(LEVEL) != level - 1 || next.u32_at(INDEX_ID) != self.index.0 {
                return if next.validate() && guard.validate() {
                    self.corrupt(child, "not the child its parent names")
                } else {
                    Ok(Walk::Restart)
                };
            }
            guard = next;
            level -= 1;
        }
    }

    /// The leaf responsible for `target`, latched by `latch`.
    #[inline]
    pub(crate) fn leaf<'t, G: Deref<Target = [u8]>>(
        &'t self,
        target: Target<'_>,
        latch: impl Fn(&'t BufferPool, PageNo) -> std::result::Result<G, PoolError>,
    ) -> Result<G> {
        for _ in 0..RESTARTS_MAX {
            let (parent, page) = match self.walk(target, 1)? {
                Walk::Restart => continue,
                Walk::RootBelow => (None, self.root),
                Walk::Parent { guard, child, .. } => (Some(guard), child),
            };
            let is_valid = || parent.as_ref().is_none_or(OptimisticGuard::validate);
            if !is_valid() {
                continue;
            }
            let leaf = match latch(self.pool(), page) {
                Ok(leaf) => leaf,
                Err(_) if !is_valid() => continue,
                Err(error) => return Err(error.into()),
            };
            Node::new(&leaf).bring_slots_near();
            if is_valid() {
                let node = Node::open(&leaf, page, self.index)?;
                if !node.is_inner() {
                    return Ok(leaf);
                }
                // The root may have grown meanwhile; below a parent that still names it there is a leaf.
                if parent.is_some() {
                    return self.corrupt(page, "a leaf is expected");
                }
            }
        }
        self.leaf_coupled(target, latch)
    }

    /// The same with shared latches from the root on, each held until the next is had: slower, but nobody can make it start again.
    #[cold]
    fn leaf_coupled<'t, G: Deref<Target = [u8]>>(
        &'t self,
        target: Target<'_>,
        latch: impl Fn(&'t BufferPool, PageNo) -> std::result::Result<G, PoolError>,
    ) -> Result<G> {
        loop {
            let mut parent = self.pool().shared(self.root)?;
            if !Node::open(&parent, self.root, self.index)?.is_inner() {
                drop(parent);
                let leaf = latch(self.pool(), self.root)?;
                if !Node::open(&leaf, self.root, self.index)?.is_inner() {
                    return Ok(leaf);
                }
                continue;
            }
            loop {
                let node = Node::open(&parent, parent.page_no(), self.index)?;
                let level = node.level();
                let child = node.child(target.child_slot(node.0));
                if level == 1 {
                    let leaf = latch(self.pool(), child)?;
                    let node = Node::open(&leaf, child, self.index)?;
                    return if node.is_inner() { self.corrupt(child, "a leaf is expected") } else { Ok(leaf) };
                }
                let next = self.pool().shared(child)?;
                if Node::open(&next, child, self.index)?.level() != level - 1 {
                    return self.corrupt(child, "not the child its parent names");
                }
                parent = next;
            }
        }
    }
}
