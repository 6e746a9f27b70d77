//! Bringing leaves near: what many searches will wait for is asked of memory together.
//!
//! A search of a leaf that is not in the processor's cache waits for memory at nearly each of its steps, and the steps of one search depend on each other. So before a list of
//! keys is worked on one after the other, all are searched for in turns, a step of each, and each step asks for what the next one will read. The searches themselves then find it near.
//!
//! # Invariants
//! 1. Advice only: nothing is latched, waited for or changed, and no result is kept. Leaves that are not in the pool are named to its read-ahead. Pages that change meanwhile, or are no leaves of this tree, give a wrong hint.
//! 2. The steps are those of [`search::search`]: what they read is what it will read.

use std::cmp::Ordering;
use std::hint::select_unpredictable;
use std::ops::ControlFlow;

use base::{CACHE_LINE_BYTES, PAGE_BYTES, PageNo};
use buffer_pool::OptimisticGuard;
use smallvec::SmallVec;

use crate::layout::{COUNT, HEAP_TOP, RIGHT, SLOT_BYTES, SLOTS, head_of};
use crate::search::{self, Bytes};
use crate::tree::BTree;

/// Keys that are searched for together: what all their steps bring fits the nearest cache.
pub const KEYS_NEAR_MAX: usize = 64;

/// Of keys in one leaf the first so many are searched for: they bring most of its slots.
const KEYS_OF_LEAF: usize = 4;

/// A tree with fewer leaves is near anyhow: a megabyte.
const LEAVES_MIN: usize = 64;

/// Slots that lie in one cache line or two: the last steps need not be asked for one by one.
const SLOTS_OF_LINE: usize = CACHE_LINE_BYTES / SLOT_BYTES;

/// Of so few keys the leaves come as they are met.
const KEYS_FEW: usize = 4;
/// Keys in a leaf that find most of it near when they come.
const KEYS_CLOSE: usize = 8;
/// Keys that are passed over after some that lay close together.
const KEYS_LEFT_ALONE: usize = 512;

/// How far the leaves of a list of keys were brought near, which are worked on one after the other.
#[derive(Debug, Default)]
pub struct Near {
    until: usize,
}

impl Near {
    /// Brings the leaves of the keys near that come after the first `done` within the next stretch or two; `key` gives each by its number, ascending. A list whose keys lie close
    /// together is left alone for a while: it stays in a leaf.
    pub fn keep<'k>(&mut self, tree: &BTree, done: usize, key: impl Fn(usize) -> Option<&'k [u8]>) {
        if done + KEYS_NEAR_MAX / 2 <= self.until || key(done + KEYS_FEW).is_none() {
            return;
        }
        let from = self.until.max(done);
        let leaves = tree.bring_near((from..).map_while(&key));
        self.until = from + if leaves * KEYS_CLOSE < KEYS_NEAR_MAX { KEYS_LEFT_ALONE } else { KEYS_NEAR_MAX };
    }
}

/// A search under way: it ends at `low`.
struct Look<'k, P> {
    page: P,
    /// The key; once the header is near, what follows the page's prefix in it.
    suffix: &'k [u8],
    /// The lowest slot with the head of that, as a number.
    bound: u64,
    count: usize,
    /// Among the heads: the slot looked for is `low`, or one of the `size - 1` behind it, or behind these.
    low: usize,
    size: usize,
    /// Among slots with the same head: it is one of those from `low` on below this, or this.
    high: usize,
    asked: Asked,
}

/// What a step among slots with the same head waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// The entry of the first of them, which the search looks at before all others.
    First,
    /// The slot in the middle.
    Slot,
    /// Its entry.
    Entry,
}

type Looks<'p, 'k> = SmallVec<[Look<'k, OptimisticGuard<'p>>; KEYS_NEAR_MAX]>;

impl BTree {
    /// Asks for what looking up these ascending keys, at most [`KEYS_NEAR_MAX`], and inserting at their places will read. Gives the number of leaves that they are in, as far
    /// as it can be told: with many keys in each there was little to gain. 0 for a small tree, of which nothing is asked for. Leaves that are not in the pool are read ahead, all at once.
    pub fn bring_near<'k>(&self, keys: impl Iterator<Item = &'k [u8]>) -> usize {
        let mut looks = Looks::new();
        let leaves = self.leaves_near(keys.take(KEYS_NEAR_MAX), &mut looks);
        for look in &mut looks {
            look.begin();
        }
        // As many steps for all, or nearly; few have more to do then.
        while looks.iter_mut().fold(false, |more, look| look.halve() | more) {}
        let mut left: SmallVec<[u8; KEYS_NEAR_MAX]> =
            (0..looks.len() as u8).filter(|no| looks[usize::from(*no)].first_of_heads()).collect();
        while !left.is_empty() {
            left.retain(|no| looks[usize::from(*no)].step());
        }
        leaves
    }

    /// Finds the leaves, and asks for their headers and the ends of their prefixes.
    fn leaves_near<'p, 'k>(&'p self, keys: impl Iterator<Item = &'k [u8]>, looks: &mut Looks<'p, 'k>) -> usize {
        let mut absent: SmallVec<[PageNo; KEYS_NEAR_MAX]> = SmallVec::new();
        let (mut small, mut of_leaf) = (false, 0);
        let leaves = self.leaves_of(keys, |key, parent, slot, is_same| {
            small = !is_same && looks.is_empty() && parent.page_no() == self.root && (parent.u16_at(COUNT) as usize) < LEAVES_MIN;
            if small {
                return ControlFlow::Break(());
            }
            of_leaf = if is_same { of_leaf + 1 } else { 1 };
            if of_leaf > KEYS_OF_LEAF {
                return ControlFlow::Continue(());
            }
            let leaf = PageNo(search::child_at(parent, slot));
            let Some(page) = self.pool().peek(leaf) else {
                absent.push(leaf);
                return ControlFlow::Continue(());
            };
            if of_leaf == 1 {
                page.bring_near(0);
                page.bring_near(CACHE_LINE_BYTES);
                page.bring_near(PAGE_BYTES - 1);
                page.bring_frame_near();
            }
            looks.push(Look::new(page, key));
            ControlFlow::Continue(())
        });
        absent.dedup();
        if !absent.is_empty() {
            self.pool().read_ahead(&absent);
        }
        if small { 0 } else { leaves }
    }

    /// Calls `f` with each of these ascending keys, the page above its leaf and the slot there, and whether that was the leaf of the key before, until it breaks or an inner page is
    /// not in memory (the first to come brings it). How many leaves; in the latter case as if each key had one of its own.
    pub(crate) fn leaves_of<'k>(
        &self,
        keys: impl Iterator<Item = &'k [u8]>,
        mut f: impl FnMut(&'k [u8], &OptimisticGuard<'_>, usize, bool) -> ControlFlow<()>,
    ) -> usize {
        let mut leaves = 0;
        let mut above: Option<(OptimisticGuard<'_>, usize)> = None;
        for key in keys {
            let is_same = match &mut above {
                Some((parent, slot)) => match search::order_of_next(parent, *slot, key) {
                    Some(Ordering::Greater) => true,
                    Some(_) => {
                        *slot = search::child_slot_from(parent, *slot, key);
                        false
                    }
                    // The last leaf of all takes what is above; behind another one comes a leaf below the next parent.
                    None if parent.u64_at(RIGHT) == PageNo::NONE.0 => true,
                    None => {
                        above = self.parent_hint(key);
                        false
                    }
                },
                None => {
                    above = self.parent_hint(key);
                    false
                }
            };
            let Some((parent, slot)) = &above else { return KEYS_NEAR_MAX };
            leaves += usize::from(!is_same);
            if f(key, parent, *slot, is_same).is_break() {
                return leaves;
            }
        }
        leaves
    }
}

impl<'k, P: Bytes> Look<'k, P> {
    fn new(page: P, key: &'k [u8]) -> Look<'k, P> {
        Look { page, suffix: key, bound: 0, count: 0, low: 0, size: 0, high: 0, asked: Asked::First }
    }

    /// Begins the search, now that the header is near.
    fn begin(&mut self) {
        self.count = (self.page.u16_at(COUNT) as usize).min(search::SLOTS_MAX);
        match search::suffix_in(&self.page, self.suffix) {
            Ok(suffix) => (self.suffix, self.size) = (suffix, self.count),
            Err(Ordering::Less) => {}
            Err(_) => self.low = self.count,
        }
        self.bound = u64::from(head_of(self.suffix)) << 32;
        // The new entry goes there.
        let top = self.page.u16_at(HEAP_TOP) as usize;
        self.page.bring_near(top.saturating_sub(1));
        self.page.bring_near(top.saturating_sub(CACHE_LINE_BYTES));
        self.bring_slot_near(self.low + self.size / 2);
    }

    fn bring_slot_near(&self, slot: usize) {
        self.page.bring_near(SLOTS + slot * SLOT_BYTES);
    }

    /// Halves the slots among which it is, by their heads; whether that is to be asked for once more.
    #[inline]
    fn halve(&mut self) -> bool {
        if self.size <= SLOTS_OF_LINE {
            return false;
        }
        self.leave_half();
        self.bring_slot_near(self.low + self.size / 2);
        self.size > SLOTS_OF_LINE
    }

    #[inline(always)]
    fn leave_half(&mut self) {
        let half = self.size / 2;
        let middle = self.low + half;
        self.low = select_unpredictable(self.page.slot_at(middle).0 < self.bound, middle, self.low);
        self.size -= half;
    }

    /// The first slot whose head is not below the key's; whether it has the same one, so that entries are to be compared.
    fn first_of_heads(&mut self) -> bool {
        if self.size == 0 {
            return false;
        }
        while self.size > 1 {
            self.leave_half();
        }
        self.low += (self.page.slot_at(self.low).0 < self.bound) as usize;
        let slot = self.page.slot_at(self.low);
        // Who puts several keys into a leaf compares the next one with this entry, too.
        self.page.bring_near(slot.offset());
        self.high = self.count;
        self.low < self.count && u64::from(slot.head()) << 32 == self.bound
    }

    /// A step among slots with the same head, for which everything was asked; whether there is another.
    fn step(&mut self) -> bool {
        let at = if self.asked == Asked::First { self.low } else { self.low.midpoint(self.high) };
        let slot = self.page.slot_at(at);
        let by_head = (u64::from(slot.head()) << 32).cmp(&self.bound);
        if self.asked == Asked::Slot && by_head == Ordering::Equal {
            self.asked = Asked::Entry;
            self.page.bring_near(slot.offset());
            return true;
        }
        match by_head.then_with(|| search::compare_rest::<_, false>(&self.page, slot, self.suffix)) {
            Ordering::Less => self.low = at + 1,
            Ordering::Greater if self.asked != Asked::First => self.high = at,
            Ordering::Equal | Ordering::Greater => (self.low, self.high) = (at, at),
        }
        self.asked = Asked::Slot;
        self.bring_slot_near(self.low.midpoint(self.high));
        self.low < self.high
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::{Identity, NodeMut};
    use crate::layout::Page;
    use base::{IndexId, TxnId};
    use proptest::prelude::*;

    fn key() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            (0u64..900).prop_map(|n| n.to_be_bytes().to_vec()),
            // Many with one head.
            (0u8..3, 0u16..400).prop_map(|(head, n)| [&[7, 7, 7, 7, 7, head][..], &n.to_be_bytes()].concat()),
            prop::collection::vec(0u8..3, 0..9),
        ]
    }

    proptest! {
        #[test]
        fn a_search_by_steps_ends_where_the_search_does(keys in prop::collection::btree_set(key(), 0..600), asked in prop::collection::vec(key(), 1..40)) {
            let mut page: Page = [0; PAGE_BYTES];
            let identity = Identity { index: IndexId(5), level: 0, left: PageNo::NONE, right: PageNo::NONE, txn_max: TxnId::NONE, run: 0 };
            let mut node = NodeMut::new(&mut page);
            let shared = keys.first().zip(keys.last()).map_or(0, |(first, last)| crate::layout::common_prefix(first, last));
            node.init(identity, &keys.first().map_or(Vec::new(), |key| key[..shared].to_vec()));
            for (slot, key) in keys.iter().enumerate() {
                node.insert(slot, key, b"v").unwrap();
            }
            for key in &asked {
                let mut look = Look::new(page, key);
                look.begin();
                while look.halve() {}
                if look.first_of_heads() {
                    while look.step() {}
                }
                prop_assert_eq!(look.low, search::search::<_, false>(&page, key).slot);
            }
        }
    }
}
