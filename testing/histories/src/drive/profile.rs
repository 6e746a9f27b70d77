//! What kind of history a seed makes: how many rows meet, and what is mostly done with them.

use crate::history::Key;
use env::SplitMix64;

/// What statements are mostly about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Focus {
    /// Both.
    All,
    /// Rows found by their keys.
    Lists,
    /// Rows found by ranges: predicates and their phantoms.
    Sets,
}

/// What the clients of a history have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Profile {
    /// Lists: names are below this.
    pub(super) lists: Key,
    /// Lists that are there from the beginning; the others come by an upsert or INSERT.
    pub(crate) preset: Key,
    /// Groups of members.
    pub(super) groups: u32,
    /// What is mostly done.
    pub(super) focus: Focus,
    /// One transaction in so many reads for long.
    pub(super) long_one_in: u64,
}

impl Profile {
    pub(super) fn of(seed: u64) -> Profile {
        let mut random = SplitMix64::new(seed ^ 0x70F1_1E00);
        let lists = random.pick(&[2, 3, 6, super::LISTS, super::LISTS, super::LISTS]);
        let absent = (lists / 3).min(random.below(4) as Key);
        Profile {
            lists,
            preset: lists - absent,
            groups: random.pick(&[2, 3, super::GROUPS, super::GROUPS]),
            focus: random.pick(&[Focus::All, Focus::All, Focus::Lists, Focus::Sets]),
            long_one_in: random.pick(&[10, 30, 100]),
        }
    }
}
