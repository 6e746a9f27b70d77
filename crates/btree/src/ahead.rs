//! Where a walk over leaves will come next, so that the pool can read those pages ahead.
//!
//! A cursor that has gone from leaf to leaf a few times is taken for a scan. It then looks, now and then, into the inner page above its leaf, which names the
//! leaves that follow in their order, wherever they lie. The look takes no latch and waits for nobody, so it may be done with a leaf in hand; what it finds is
//! advice: a page named wrongly costs a read.
//!
//! A scan that has come far claims no place in the pool for the pages that it passes: it would push out what is in use.

use base::PageNo;

use crate::cursor::Cursor;
use crate::layout::{COUNT, INDEX_ID, LEVEL, RIGHT};
use crate::search;
use crate::tree::BTree;

/// Leaves in a row after which a walk is taken for a scan.
const SCAN_LEAVES: u32 = 3;
/// Leaves that are asked for ahead at first, and by a walk that has passed many: as many as it takes to keep a device busy with long reads.
const WINDOW: usize = 64;
const WINDOW_MAX: usize = 256;
/// At most one in this many of the pool's frames is filled with leaves asked for ahead by one scan.
const WINDOW_SHARE: usize = 32;
/// A scan that has passed one leaf for so many frames of the pool claims no place for more.
const PASSING_SHARE: usize = 32;

/// How far a walk has come: to be handed on when another cursor continues it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pace {
    /// Leaves passed in a row.
    leaves: u32,
    /// Leaves ahead that the pool was asked for.
    asked: u32,
    /// The count of leaves at which to look again.
    look_at: u32,
}

impl Cursor<'_> {
    /// How far this walk has come.
    pub fn pace(&self) -> Pace {
        self.pace
    }

    /// Continues the walk of another cursor, which has come so far.
    pub fn set_pace(&mut self, pace: Pace) {
        self.pace = pace;
        self.passing |= pace.leaves as usize > self.leaves_until_passing();
    }

    fn leaves_until_passing(&self) -> usize {
        (self.tree.pool().config().frames / PASSING_SHARE).max(16)
    }

    /// Notes that the next leaf was entered.
    #[inline]
    pub(crate) fn pass_leaf(&mut self) {
        let pace = &mut self.pace;
        pace.leaves = pace.leaves.saturating_add(1);
        pace.asked = pace.asked.saturating_sub(1);
        if pace.leaves >= SCAN_LEAVES.max(pace.look_at) {
            self.look_ahead();
        }
    }

    #[cold]
    fn look_ahead(&mut self) {
        self.passing |= self.pace.leaves as usize > self.leaves_until_passing();
        let pool = self.tree.pool();
        let window = (self.pace.leaves as usize).clamp(WINDOW, WINDOW_MAX).min(pool.config().frames / WINDOW_SHARE);
        let mut pages = Vec::new();
        if window > 0
            && let Some(node) = self.node()
            && node.count() > 0
        {
            let mut key = Vec::new();
            node.key(0).append_to(&mut key);
            self.tree.leaves_after(&key, window, &mut pages);
        }
        pool.read_ahead(pages.get(self.pace.asked as usize..).unwrap_or_default());
        self.pace.asked = pages.len() as u32;
        self.pace.look_at = self.pace.leaves + (pages.len() as u32 / 2).max(SCAN_LEAVES);
    }
}

impl BTree {
    /// The leaf responsible for a key, as far as it can be told without waiting.
    pub fn leaf_hint(&self, key: &[u8]) -> Option<PageNo> {
        let (parent, slot) = self.parent_hint(key)?;
        let leaf = PageNo(search::child_at(&parent, slot));
        parent.validate().then_some(leaf)
    }

    /// The inner page above the leaf responsible for a key, not validated, and the leaf's slot in it. `None` when that cannot be told without waiting.
    pub(crate) fn parent_hint(&self, key: &[u8]) -> Option<(buffer_pool::OptimisticGuard<'_>, usize)> {
        let mut page = self.pool().peek(self.root)?;
        let mut level = page.u16_at(LEVEL);
        if page.u32_at(INDEX_ID) != self.index.0 || level == 0 {
            return None;
        }
        loop {
            let slot = search::child_slot(&page, key);
            if level == 1 {
                return Some((page, slot));
            }
            let child = PageNo(search::child_at(&page, slot));
            if !page.validate() {
                return None;
            }
            let next = self.pool().peek(child)?;
            if next.u16_at(LEVEL) != level - 1 || next.u32_at(INDEX_ID) != self.index.0 {
                return None;
            }
            page = next;
            level -= 1;
        }
    }

    /// Appends up to `max` leaves that follow the one responsible for `key`. Where the inner page that names them is not in memory, that page.
    fn leaves_after(&self, key: &[u8], max: usize, pages: &mut Vec<PageNo>) {
        let Some((mut parent, slot)) = self.parent_hint(key) else { return };
        let mut slot = slot + 1;
        loop {
            let known = pages.len();
            let end = (parent.u16_at(COUNT) as usize).min(slot + max - known);
            pages.extend((slot..end).map(|slot| PageNo(search::child_at(&parent, slot))));
            let right = PageNo(parent.u64_at(RIGHT));
            if !parent.validate() {
                pages.truncate(known);
                return;
            }
            if pages.len() >= max || right.is_none() {
                return;
            }
            match self.pool().peek(right) {
                Some(next) if next.u16_at(LEVEL) == 1 && next.u32_at(INDEX_ID) == self.index.0 => parent = next,
                Some(_) => return,
                None => {
                    pages.push(right);
                    return;
                }
            }
            slot = 0;
        }
    }
}
