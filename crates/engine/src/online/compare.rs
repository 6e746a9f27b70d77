//! Whether rows and entries agree, without keeping either: sums of hashes that do not depend on the order.

use foldhash::quality::FixedState;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};

/// Most hashes that one pass of a search keeps.
const HASHES_MAX: u64 = 1 << 20;
/// Most differences that a search tells.
const TOLD_MAX: usize = 100;

/// A hash that two different entries do not share but by a chance of one in 2^128.
pub fn hash(entry: &[u8]) -> u128 {
    let half = |seed| {
        let mut hasher = FixedState::with_seed(seed).build_hasher();
        hasher.write(entry);
        hasher.finish()
    };
    u128::from(half(0x616c_7469)) << 64 | u128::from(half(0x706c_616e))
}

/// A multiset of entries: how many, and the sum of their hashes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fingerprint {
    /// How many.
    pub count: u64,
    sum: u128,
}

impl Fingerprint {
    /// Adds one.
    pub fn add(&mut self, entry: &[u8]) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(hash(entry));
    }
}

/// The hashes of what only one side has. `rows` and `entries` call back with each of theirs, and are called as often as memory asks for: positive
/// numbers are rows without entries. At most a hundred.
pub fn differences(
    count: u64,
    mut rows: impl FnMut(&mut dyn FnMut(&[u8])),
    mut entries: impl FnMut(&mut dyn FnMut(&[u8])),
) -> HashMap<u128, i64> {
    let parts = u128::from(count.div_ceil(HASHES_MAX).max(1));
    let mut found = HashMap::new();
    for part in 0..parts {
        let mut counts: HashMap<u128, i64> = HashMap::new();
        let mut note = |entry: &[u8], by: i64| {
            let hash = hash(entry);
            if hash % parts == part {
                let count = counts.entry(hash).or_default();
                *count += by;
                if *count == 0 {
                    counts.remove(&hash);
                }
            }
        };
        rows(&mut |entry| note(entry, 1));
        entries(&mut |entry| note(entry, -1));
        found.extend(counts.into_iter().take(TOLD_MAX - found.len()));
        if found.len() == TOLD_MAX {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_does_not_matter_and_any_difference_does() {
        let of = |entries: &[&[u8]]| {
            let mut print = Fingerprint::default();
            entries.iter().for_each(|entry| print.add(entry));
            print
        };
        assert_eq!(of(&[b"a", b"b", b""]), of(&[b"", b"b", b"a"]));
        assert_ne!(of(&[b"a", b"b"]), of(&[b"a", b"c"]));
        assert_ne!(of(&[b"a", b"a"]), of(&[b"b", b"b"]));
        let list = |entries: &'static [&[u8]]| move |note: &mut dyn FnMut(&[u8])| entries.iter().for_each(|entry| note(entry));
        let found = differences(3, list(&[b"a", b"b", b"c"]), list(&[b"c", b"d", b"a"]));
        assert_eq!(found, HashMap::from([(hash(b"b"), 1), (hash(b"d"), -1)]));
    }
}
