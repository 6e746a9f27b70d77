//! Bringing leaves near: what many searches will wait for is asked of memory together.
//!
//! A search of a leaf that is not in the processor's cache waits for memory at nearly each of its steps, and the steps of one search depend on each other. So before a list of
//! keys is worked on one after the other, all are searched for in turns, a step of each, and each step asks for what the next one will read. The searches themselves then find it near.
//!
//! # Invariants
//! 1. Advice only: nothing is latched, waited for or changed, and no result is kept. Pages that change meanwhile, or are no leaves of this tree, give a wrong hint.
//! 2. The steps are those of [`search::search`]: what they read is what it will read.

use std::cmp::Ordering;

use base::{CACHE_LINE_BYTES, PAGE_BYTES, PageNo};
use buffer_pool::OptimisticGuard;
use smallvec::SmallVec;

use crate::layout::{COUNT, HEAP_TOP, SLOT_BYTES, SLOTS, Slot, head_of};
use crate::search::{self, Bytes};
use crate::tree::BTree;

/// Keys that are searched for together: what all their steps bring fits the nearest cache.
pub const KEYS_NEAR_MAX: usize = 64;

/// Of keys in one leaf the first so many are searched for: they bring most of its slots.
const KEYS_OF_LEAF: usize = 4;

/// Slots that lie in one cache line or two: the last steps need not be asked for one by one.
const SLOTS_OF_LINE: usize = CACHE_LINE_BYTES / SLOT_BYTES;

/// A search under way.
struct Look<'k, P> {
    page: P,
    key: &'k [u8],
    suffix: &'k [u8],
    count: usize,
    at: Step,
}

#[derive(Clone, Copy)]
enum Step {
    /// Among the heads: the slot looked for is `low`, or one of the `size - 1` behind it.
    Heads { low: usize, size: usize },
    /// The head is that of the slot, and its entry was asked for.
    First(usize),
    /// Among slots with the same head, by their entries; `asked` when the entry in the middle was. The end, where none is left.
    Entries { low: usize, high: usize, asked: bool },
}

type Looks<'p, 'k> = SmallVec<[Look<'k, OptimisticGuard<'p>>; KEYS_NEAR_MAX]>;

impl BTree {
    /// Asks for what looking up these ascending keys, at most [`KEYS_NEAR_MAX`], and inserting at their places will read. Gives the number of leaves that they are in, as far
    /// as it can be told: with a few keys for each there was little to gain.
    pub fn bring_near<'k>(&self, keys: impl Iterator<Item = &'k [u8]>) -> usize {
        let mut looks = Looks::new();
        let leaves = self.leaves_near(keys.take(KEYS_NEAR_MAX), &mut looks);
        for look in &mut looks {
            look.begin();
        }
        while looks.iter_mut().fold(false, |more, look| look.step() | more) {}
        leaves
    }

    /// Finds the leaves, and asks for their headers and the ends of their prefixes.
    fn leaves_near<'p, 'k>(&'p self, keys: impl Iterator<Item = &'k [u8]>, looks: &mut Looks<'p, 'k>) -> usize {
        let (mut leaves, mut of_leaf) = (0, 0);
        let mut above: Option<(OptimisticGuard<'p>, usize)> = None;
        for key in keys {
            let is_same = match &mut above {
                Some((parent, slot)) => match search::order_of_next(parent, *slot, key) {
                    Some(Ordering::Greater) => true,
                    Some(_) => {
                        *slot = search::child_slot_from(parent, *slot, key);
                        false
                    }
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
            let Some((parent, slot)) = &above else { return leaves };
            if !is_same {
                (leaves, of_leaf) = (leaves + 1, 0);
            }
            of_leaf += 1;
            if of_leaf > KEYS_OF_LEAF {
                continue;
            }
            let leaf = PageNo(search::child_at(parent, *slot));
            let Some(page) = self.pool().peek(leaf) else { continue };
            if of_leaf == 1 {
                page.bring_near(0);
                page.bring_near(CACHE_LINE_BYTES);
                page.bring_near(PAGE_BYTES - 1);
                page.bring_frame_near();
            }
            looks.push(Look { page, key, suffix: &[], count: 0, at: Step::end(0) });
        }
        leaves
    }
}

impl Step {
    /// The search ends at this slot.
    fn end(slot: usize) -> Step {
        Step::Entries { low: slot, high: slot, asked: false }
    }
}

impl<P: Bytes> Look<'_, P> {
    /// The header is near.
    fn begin(&mut self) {
        self.count = (self.page.u16_at(COUNT) as usize).min(search::SLOTS_MAX);
        self.suffix = match search::suffix_in(&self.page, self.key) {
            Ok(suffix) if self.count > 0 => suffix,
            Ok(_) | Err(Ordering::Less) => return,
            Err(_) => return self.at = Step::end(self.count),
        };
        // The new entry goes there.
        let top = self.page.u16_at(HEAP_TOP) as usize;
        self.page.bring_near(top.saturating_sub(1));
        self.page.bring_near(top.saturating_sub(CACHE_LINE_BYTES));
        self.go_on(Step::Heads { low: 0, size: self.count });
    }

    fn slot(&self, slot: usize) -> Slot {
        self.page.slot_at(slot)
    }

    fn go_on(&mut self, at: Step) {
        match at {
            Step::Heads { low, size } => self.page.bring_near(SLOTS + (low + size / 2) * SLOT_BYTES),
            Step::Entries { low, high, asked: false } if low < high => self.page.bring_near(SLOTS + low.midpoint(high) * SLOT_BYTES),
            _ => {}
        }
        self.at = at;
    }

    /// One step, for which everything was asked; whether there is another.
    fn step(&mut self) -> bool {
        match self.at {
            Step::Heads { mut low, mut size } => {
                let head = head_of(self.suffix);
                let bound = u64::from(head) << 32;
                loop {
                    let half = size / 2;
                    if half > 0 && self.slot(low + half).0 < bound {
                        low += half;
                    }
                    size -= half;
                    if size > SLOTS_OF_LINE || half == 0 {
                        break;
                    }
                }
                if size > 1 {
                    self.go_on(Step::Heads { low, size });
                    return true;
                }
                low += (self.slot(low).0 < bound) as usize;
                let slot = self.slot(low);
                // Who puts several keys into a leaf compares the next one with this entry, too.
                self.page.bring_near(slot.offset());
                self.at = if low < self.count && slot.head() == head { Step::First(low) } else { Step::end(low) };
            }
            Step::First(slot) => match search::compare_rest::<_, false>(&self.page, self.slot(slot), self.suffix) {
                Ordering::Less => self.go_on(Step::Entries { low: slot + 1, high: self.count, asked: false }),
                Ordering::Equal | Ordering::Greater => self.at = Step::end(slot),
            },
            Step::Entries { low, high, .. } if low >= high => return false,
            Step::Entries { low, high, asked } => {
                let middle = low.midpoint(high);
                let slot = self.slot(middle);
                let order = slot.head().cmp(&head_of(self.suffix));
                if order == Ordering::Equal && !asked {
                    self.page.bring_near(slot.offset());
                    self.at = Step::Entries { low, high, asked: true };
                    return true;
                }
                let order = order.then_with(|| search::compare_rest::<_, false>(&self.page, slot, self.suffix));
                match order {
                    Ordering::Less => self.go_on(Step::Entries { low: middle + 1, high, asked: false }),
                    Ordering::Greater => self.go_on(Step::Entries { low, high: middle, asked: false }),
                    Ordering::Equal => self.at = Step::end(middle),
                }
            }
        }
        true
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
                let mut look = Look { page, key, suffix: &[], count: 0, at: Step::end(0) };
                look.begin();
                while look.step() {}
                let Step::Entries { low, .. } = look.at else { panic!("not at the end") };
                prop_assert_eq!(low, search::search::<_, false>(&page, key).slot);
            }
        }
    }
}
