//! How many entries a range has, from two descents that latch nothing; how many pages are above the leaves.

use std::ops::Bound;

use base::PageNo;

use crate::descend::Target;
use crate::error::{Error, Result};
use crate::holding;
use crate::layout::{CAPACITY, COUNT, INDEX_ID, LEVEL, SLOT_BYTES};
use crate::node::Node;
use crate::search;
use crate::tree::BTree;

/// Dives that may fail before an estimate is given up: it is no reason to hold a statement up.
const TRIES_MAX: usize = 100;

/// Subtrees between the two ways that are looked into, for the number of entries in those that are not.
const SAMPLES: u64 = 6;

/// More slots than any page has.
const SLOTS_MAX: usize = CAPACITY / SLOT_BYTES;

/// A position on the way to a bound.
#[derive(Debug, Clone, Copy)]
struct Place {
    page: PageNo,
    /// Slot of the child, or of the first entry behind the bound.
    slot: u64,
    /// Slots of the page.
    count: u64,
}

impl BTree {
    /// About how many entries are between two bounds. Exact when both lie on one leaf.
    pub fn count_estimate(&self, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Result<u64> {
        let (mut from, mut to) = (Vec::new(), Vec::new());
        for _ in 0..TRIES_MAX {
            if self.dive(low, true, &mut from)? && self.dive(high, false, &mut to)? && from.len() == to.len() {
                return Ok(self.between(&from, &to));
            }
        }
        Ok(0)
    }

    /// About how many pages are above the leaves: exact while nothing changes. Latches nothing; only pages that are two levels above the leaves, or higher,
    /// are read, of which there are few.
    pub fn inner_pages(&self) -> u64 {
        let Some((mut level, children)) = self.look_at(self.root) else { return 0 };
        let (mut inner, mut below) = (u64::from(level > 0), children);
        while level > 1 {
            inner += below.len() as u64;
            level -= 1;
            if level > 1 {
                let next = below.iter().filter_map(|page| self.look_at(*page)).filter(|(seen, _)| *seen == level);
                below = next.flat_map(|(_, children)| children).collect();
            }
        }
        inner
    }

    /// The level of a page of this index and its children; `None` where it cannot be read, is another's by now, or changes again and again.
    fn look_at(&self, page: PageNo) -> Option<(u16, Vec<PageNo>)> {
        holding::assert_none();
        for _ in 0..TRIES_MAX {
            let guard = self.pool().optimistic(page).ok()?;
            let (level, count) = (guard.u16_at(LEVEL), usize::from(guard.u16_at(COUNT)));
            let is_own = guard.u32_at(INDEX_ID) == self.index.0;
            // Once the page is changed its count may be anything: no more slots are read than a page can have.
            let slots = if level == 0 || !is_own { 0 } else { count.min(SLOTS_MAX) };
            let children = (0..slots).map(|slot| PageNo(search::child_at(&guard, slot))).collect();
            if guard.validate() {
                return is_own.then_some((level, children));
            }
        }
        None
    }

    /// A key at about this share of the way through the tree, for samples; `None` for an empty leaf. Latches one page after the other.
    pub fn key_near(&self, share: f64) -> Result<Option<Vec<u8>>> {
        self.leaf_near(share, |node, slot| node.key_vec(slot))
    }

    /// Shows values of up to `count_max` entries next to each other, at about this share of the way through the tree, for samples. Latches one page
    /// after the other; `f` runs under the leaf's latch.
    pub fn values_near(&self, share: f64, count_max: usize, f: &mut dyn FnMut(&[u8])) -> Result<()> {
        let shown = self.leaf_near(share, |node, slot| {
            // The last ones of the leaf, where the share is near its end.
            let from = slot.min(node.count().saturating_sub(count_max));
            (from..node.count()).take(count_max).for_each(|slot| f(node.leaf_value(slot)));
        });
        shown.map(|_| ())
    }

    /// What `f` makes of the leaf, and the slot in it, at about this share of the way; `None` where that is empty.
    fn leaf_near<R>(&self, share: f64, f: impl FnOnce(Node<'_>, usize) -> R) -> Result<Option<R>> {
        holding::assert_none();
        let mut share = share.clamp(0.0, 1.0);
        let mut page = self.root;
        let mut guard = self.pool().shared(page)?;
        loop {
            let node = Node::open(&guard, page, self.index)?;
            let count = node.count();
            if count == 0 {
                return Ok(None);
            }
            let at = share * count as f64;
            let slot = (at as usize).min(count - 1);
            if !node.is_inner() {
                return Ok(Some(f(node, slot)));
            }
            share = (at - slot as f64).clamp(0.0, 1.0);
            page = node.child(slot);
            // The child is latched before its parent is let go: nobody can free it in between.
            guard = self.pool().shared(page)?;
        }
    }

    /// Notes the way to a bound, root first; false when something changed on the way.
    fn dive(&self, bound: Bound<&[u8]>, is_low: bool, way: &mut Vec<Place>) -> Result<bool> {
        holding::assert_none();
        way.clear();
        let (target, behind) = match bound {
            Bound::Unbounded => (if is_low { Target::First } else { Target::Last }, false),
            // A low bound that is excluded and a high one that is included stand behind their key.
            Bound::Included(key) => (Target::Key(key), !is_low),
            Bound::Excluded(key) => (Target::Key(key), is_low),
        };
        let mut guard = self.pool().optimistic(self.root)?;
        loop {
            let level = guard.u16_at(LEVEL);
            let count = u64::from(guard.u16_at(COUNT));
            if guard.u32_at(INDEX_ID) != self.index.0 {
                let error = Error::Corrupt { index: self.index, page: guard.page_no(), what: "not a page of this index" };
                return if guard.validate() { Err(error) } else { Ok(false) };
            }
            if level == 0 {
                let slot = match target {
                    Target::First => 0,
                    Target::Last => count,
                    Target::Key(key) => {
                        let position = search::search::<_, false>(&guard, key);
                        position.slot as u64 + u64::from(behind && position.found)
                    }
                };
                way.push(Place { page: guard.page_no(), slot, count });
                return Ok(guard.validate());
            }
            let slot = target.child_slot(&guard);
            let child = PageNo(search::child_at(&guard, slot));
            way.push(Place { page: guard.page_no(), slot: slot as u64, count });
            if !guard.validate() {
                return Ok(false);
            }
            let next = match self.pool().optimistic(child) {
                Ok(next) => next,
                Err(_) if !guard.validate() => return Ok(false),
                Err(error) => return Err(error.into()),
            };
            let next_level = next.u16_at(LEVEL);
            if !guard.validate() || next_level + 1 != level {
                return Ok(false);
            }
            guard = next;
        }
    }

    /// Entries between two ways. Where they part, whole subtrees lie between; those have as many children as the pages looked at have on average.
    fn between(&self, from: &[Place], to: &[Place]) -> u64 {
        let Some(parting) = from.iter().zip(to).position(|(a, b)| a.slot != b.slot) else { return 0 };
        let leaf = from.len() - 1;
        let mut subtrees = to[parting].slot as f64 - from[parting].slot as f64;
        if parting == leaf || subtrees < 0.0 {
            return subtrees.max(0.0) as u64;
        }
        // The subtrees of the ways themselves are counted by their parts below.
        subtrees -= 1.0;
        let mut samples = None;
        for (level, (a, b)) in from.iter().zip(to).enumerate().skip(parting + 1) {
            let whole = if level == leaf { a.count.saturating_sub(a.slot) } else { a.count.saturating_sub(a.slot + 1) };
            if subtrees > 0.0 {
                let samples = samples.get_or_insert_with(|| self.sample(from, to, parting));
                let seen = samples.iter().filter_map(|counts| counts.get(level - parting - 1).copied().flatten());
                let (sum, number) = seen.fold((0, 0), |(sum, number), count| (sum + count, number + 1));
                subtrees *= if number > 0 { sum as f64 / number as f64 } else { (a.count + b.count) as f64 / 2.0 };
            }
            subtrees += whole as f64 + b.slot as f64;
        }
        subtrees.max(0.0) as u64
    }

    /// Slot counts on ways down from the page where the two ways part, at even distances between them; what changes meanwhile is left out, and so are pages of the ways,
    /// which say little: the last leaf of a tree that grows at its end is as likely empty as full.
    fn sample(&self, from: &[Place], to: &[Place], parting: usize) -> Vec<Vec<Option<u64>>> {
        let whole = from[parting].slot as f64 + 1.0..to[parting].slot as f64;
        let range = if whole.start < whole.end { whole } else { shares(from, to, parting) };
        let (size, levels) = (range.end - range.start, from.len() - 1 - parting);
        // Leaves right below are looked at once each.
        let wanted = if levels == 1 { SAMPLES.min(size.ceil() as u64) } else { SAMPLES };
        let mut samples = Vec::new();
        for i in 0..wanted {
            let mut counts = Vec::new();
            let mut at = range.start + size * (i as f64 + 0.5) / wanted as f64;
            let mut page = from[parting].page;
            for (a, b) in from.iter().zip(to).skip(parting + 1) {
                let Ok(parent) = self.pool().optimistic(page) else { break };
                let slot = (at as usize).min(usize::from(parent.u16_at(COUNT)).saturating_sub(1));
                page = PageNo(search::child_at(&parent, slot));
                if parent.u32_at(INDEX_ID) != self.index.0 || !parent.validate() {
                    break;
                }
                let Ok(child) = self.pool().optimistic(page) else { break };
                let count = u64::from(child.u16_at(COUNT));
                if child.u32_at(INDEX_ID) != self.index.0 || !child.validate() || !parent.validate() {
                    break;
                }
                counts.push((page != a.page && page != b.page).then_some(count));
                at = (at - slot as f64).clamp(0.0, 1.0) * count as f64;
            }
            samples.push(counts);
        }
        samples
    }
}

/// Where the two ways lie among the children of the page where they part, as fractions of them.
fn shares(from: &[Place], to: &[Place], parting: usize) -> std::ops::Range<f64> {
    let share = |way: &[Place]| {
        let below = way[parting + 1..].iter().rev().fold(0.0, |share, place| (place.slot as f64 + share) / place.count.max(1) as f64);
        way[parting].slot as f64 + below.clamp(0.0, 1.0)
    };
    share(from)..share(to)
}
