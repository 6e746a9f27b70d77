//! Reading leaves ahead for a list of keys that are looked up one after the other: those that are not in the pool are named to its read-ahead together, so that one reader has as many reads
//! under way as the disk likes, where it would have one.
//!
//! # Invariants
//! 1. Advice only: nothing is latched or waited for, and a page named wrongly costs a read.
//! 2. Who finds everything in memory pays for one look: the next is made when a read of the pool has missed meanwhile.
//!
//! Not here: asking the processor's caches for what such lookups will read, which runs of INSERT do (`near.rs`). For rows behind secondary entries it cost what it saved (docs/design/bring-near.md).

use std::ops::ControlFlow;

use base::PageNo;
use smallvec::SmallVec;

use crate::near::KEYS_NEAR_MAX;
use crate::search;
use crate::tree::BTree;

/// Fewer keys than these are read as they come.
const KEYS_FEW: usize = 4;
/// Keys that are looked at when perhaps no more are wanted.
const KEYS_AT_FIRST: usize = 8;

/// How far the leaves of a list of keys were read ahead.
#[derive(Debug, Clone)]
pub struct KeysAhead {
    /// The number of the first key that was not looked at.
    until: usize,
    /// Keys that are looked at together next.
    wanted: usize,
    /// Misses of the pool at the last look.
    misses: u64,
    /// Some leaves were not there at the last look.
    absent: bool,
}

impl KeysAhead {
    /// For a list of which all keys are looked up.
    pub fn of_all() -> KeysAhead {
        KeysAhead { until: 0, wanted: KEYS_NEAR_MAX, misses: 0, absent: true }
    }

    /// For a list of which perhaps no more than a few are: nothing is done for the first, then for few, and for ever more.
    pub fn of_some() -> KeysAhead {
        KeysAhead { until: 1, wanted: KEYS_AT_FIRST, ..Self::of_all() }
    }

    /// The list goes on with others, numbered from 0 again.
    pub fn begin_next(&mut self) {
        self.until = usize::from(self.wanted == KEYS_AT_FIRST && self.until <= 1);
    }

    /// To be called before the key with the number `no` is looked up; `key` gives each by its number, in any order.
    #[inline]
    pub fn keep<'k>(&mut self, tree: &BTree, no: usize, key: impl Fn(usize) -> Option<&'k [u8]>) {
        if no >= self.until {
            self.look(tree, no, key);
        }
    }

    fn look<'k>(&mut self, tree: &BTree, no: usize, key: impl Fn(usize) -> Option<&'k [u8]>) {
        let wanted = self.wanted;
        self.until = no + wanted;
        self.wanted = (2 * wanted).min(KEYS_NEAR_MAX);
        let misses = tree.pool().misses();
        let all_there = !self.absent && misses == self.misses;
        self.misses = misses;
        if all_there || key(no + KEYS_FEW).is_none() {
            return;
        }
        let mut keys: SmallVec<[&[u8]; KEYS_NEAR_MAX]> = (no..).map_while(key).take(wanted).collect();
        keys.sort_unstable();
        self.absent = tree.read_ahead_leaves(&keys) > 0;
    }
}

impl BTree {
    /// Names the leaves of these ascending keys to the pool's read-ahead, if they are not in memory. How many.
    fn read_ahead_leaves(&self, keys: &[&[u8]]) -> usize {
        let mut absent: SmallVec<[PageNo; KEYS_NEAR_MAX]> = SmallVec::new();
        self.leaves_of(keys.iter().copied(), |_, parent, slot, is_same| {
            let leaf = PageNo(search::child_at(parent, slot));
            if !is_same && !self.pool().is_resident(leaf) {
                absent.push(leaf);
            }
            ControlFlow::Continue(())
        });
        if !absent.is_empty() {
            self.pool().read_ahead(&absent);
        }
        absent.len()
    }
}
