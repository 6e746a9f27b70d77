//! Scans of a leaf's entries under one latch: entry by entry, or all at once for those who look at values in tight loops.

use std::ops::{Bound, ControlFlow};

use crate::cursor::{Cursor, Direction, Scanned};
use crate::error::Result;
use crate::node::{KeyRef, Node};

/// Entries of one leaf in the order of a scan, under the leaf's latch.
#[derive(Clone, Copy)]
pub struct Entries<'a> {
    node: Node<'a>,
    /// Slot of the first.
    start: usize,
    count: usize,
    direction: Direction,
}

impl<'a> Entries<'a> {
    /// How many.
    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline]
    fn slot(&self, no: usize) -> usize {
        match self.direction {
            Direction::Forward => self.start + no,
            Direction::Backward => self.start - no,
        }
    }

    /// An entry's value.
    #[inline]
    pub fn value(&self, no: usize) -> &'a [u8] {
        self.node.leaf_value(self.slot(no))
    }

    /// An entry's key in the pieces the page keeps.
    #[inline]
    pub fn key(&self, no: usize) -> KeyRef<'a> {
        self.node.key(self.slot(no))
    }
}

impl Cursor<'_> {
    /// Gives the entries from the current one to the end of this leaf, at most up to `end`, to `f`, under one latch. See [`Scanned`] for where
    /// the cursor is then.
    pub fn scan_leaf(&mut self, end: Bound<&[u8]>, mut f: impl FnMut(KeyRef<'_>, &[u8]) -> ControlFlow<()>) -> Result<Scanned> {
        self.scan_entries(Direction::Forward, end, |entries| one_by_one(entries, &mut f))
    }

    /// The same towards lower keys, down to `end`.
    pub fn scan_leaf_backward(&mut self, end: Bound<&[u8]>, mut f: impl FnMut(KeyRef<'_>, &[u8]) -> ControlFlow<()>) -> Result<Scanned> {
        self.scan_entries(Direction::Backward, end, |entries| one_by_one(entries, &mut f))
    }

    /// The same with all entries at once, which may be none: `f` says after how many it stopped, or `None` when it has seen all.
    ///
    /// # Panics
    /// When `f` claims to have stopped before the first entry, or behind the last.
    #[inline]
    pub fn scan_entries(
        &mut self,
        direction: Direction,
        end: Bound<&[u8]>,
        f: impl FnOnce(Entries<'_>) -> Option<usize>,
    ) -> Result<Scanned> {
        let Some(node) = self.node() else { return Ok(Scanned::EndOfRange) };
        let (start, count) = match direction {
            Direction::Forward => (self.slot, slot_past(node, self.count, end).saturating_sub(self.slot)),
            Direction::Backward => (self.slot, (self.slot + 1).saturating_sub(first_slot(node, end))),
        };
        let entries = Entries { node, start, count, direction };
        if let Some(seen) = f(entries) {
            assert!(seen >= 1 && seen <= count, "stopped after {seen} of {count} entries");
            let slot = entries.slot(seen - 1);
            self.key_is_current = false;
            self.slot = slot;
            return Ok(Scanned::Stopped);
        }
        self.key_is_current = false;
        match direction {
            Direction::Forward => {
                self.slot += count;
                if self.slot < self.count {
                    return Ok(Scanned::EndOfRange);
                }
                self.hop_right(true)?;
            }
            Direction::Backward => {
                if count <= self.slot {
                    self.slot -= count;
                    return Ok(Scanned::EndOfRange);
                }
                self.slot = 0;
                self.prev_leaf()?;
            }
        }
        Ok(if self.valid() { Scanned::NextLeaf } else { Scanned::EndOfRange })
    }
}

#[inline]
fn one_by_one(entries: Entries<'_>, f: &mut impl FnMut(KeyRef<'_>, &[u8]) -> ControlFlow<()>) -> Option<usize> {
    (0..entries.len()).find(|no| f(entries.key(*no), entries.value(*no)).is_break()).map(|no| no + 1)
}

/// The slot behind the last one up to `end`.
#[inline]
fn slot_past(node: Node<'_>, count: usize, end: Bound<&[u8]>) -> usize {
    match end {
        Bound::Unbounded => count,
        Bound::Included(key) => {
            let position = node.find_in_leaf(key);
            position.slot + position.found as usize
        }
        Bound::Excluded(key) => node.find_in_leaf(key).slot,
    }
}

/// The first slot from `end` on.
#[inline]
fn first_slot(node: Node<'_>, end: Bound<&[u8]>) -> usize {
    match end {
        Bound::Unbounded => 0,
        Bound::Included(key) => node.find_in_leaf(key).slot,
        Bound::Excluded(key) => {
            let position = node.find_in_leaf(key);
            position.slot + position.found as usize
        }
    }
}
