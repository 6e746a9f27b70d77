//! The table of a hash join: rows as columns, found by their keys.
//!
//! Keys are put down row by row while the right side is read, and linked when all are there ([`HashTable::link`]): so nothing is moved while it grows, and
//! each bucket leads to its rows in the order in which they came. A lone integer is its own word, any other key a hash beside its bytes.
//!
//! # Invariants
//! 1. `entries`, `columns` and, where there are any, `texts` have the same rows.
//! 2. Rows of one bucket are chained in ascending order; [`HashTable::first`] and [`HashTable::following`] pass over those of other keys.

use crate::batch::column::Column;
use crate::hash_key::Key;
use crate::memory::Memory;
use crate::run::Result;
use crate::spill::Divided;
use ::memory::Kind;
use planner::plan::HashJoin;
use std::hash::BuildHasher;
use types::Value;

/// No row.
pub(super) const NO_ROW: u32 = u32::MAX;

/// Keys looked for in one round.
const ROUND: usize = 64;

/// A row's key, and the next row of its bucket.
#[derive(Clone, Copy)]
struct Entry {
    word: u64,
    next: u32,
}

/// The right side.
#[derive(Default)]
pub struct HashTable {
    pub(super) columns: Vec<Column>,
    entries: Vec<Entry>,
    /// The bytes of keys that are no lone integers, empty for those; no row has any as long as all are integers.
    texts: Texts,
    /// First row of each bucket; a power of two of them, once the rows are linked.
    heads: Vec<u32>,
    shift: u32,
    /// Buckets are the top bits: by the fast form's single multiplication, whose factor a process draws once, ascending integers share some of them in one process and none in another.
    hasher: foldhash::quality::RandomState,
    /// A row had no key, so that NOT IN is never true.
    pub(super) has_null: bool,
    /// Some key has several rows.
    pub(super) has_chains: bool,
    /// The rows are on disk, and none is here.
    pub(super) spilled: Option<Divided>,
    /// What of the statement's memory it has taken.
    pub(super) held: usize,
}

/// Bytes of keys, one behind the other.
#[derive(Default)]
struct Texts {
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl Texts {
    #[inline]
    fn get(&self, row: usize) -> &[u8] {
        match self.ends.get(row) {
            Some(end) => &self.bytes[if row == 0 { 0 } else { self.ends[row - 1] }..*end],
            None => &[],
        }
    }

    /// Puts down the bytes of a row's key.
    fn push(&mut self, row: usize, text: &[u8]) -> Result<()> {
        if text.is_empty() && self.ends.is_empty() {
            return Ok(());
        }
        let more = row + 1 - self.ends.len();
        ::memory::reserve(&mut self.ends, more)?;
        self.ends.resize(row, self.bytes.len());
        ::memory::reserve(&mut self.bytes, text.len())?;
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
        Ok(())
    }
}

/// A key that is looked for, hashed.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'k> {
    word: u64,
    bucket: u64,
    text: &'k [u8],
}

impl HashTable {
    pub(super) fn new(join: &HashJoin) -> HashTable {
        HashTable { columns: join.build_slots.iter().map(|_| Column::new()).collect(), ..HashTable::default() }
    }

    /// Nobody looks rows up any more.
    pub(crate) fn release(self, memory: &mut Memory) {
        memory.give_back_for(Kind::Joins, self.held);
    }

    /// Puts down the key of the next row.
    #[inline]
    pub(super) fn add(&mut self, key: Key<'_>) -> Result<()> {
        ::memory::reserve(&mut self.entries, 1)?;
        let row = self.entries.len();
        match key {
            Key::Int(integer) => {
                if !self.texts.ends.is_empty() {
                    self.texts.push(row, &[])?;
                }
                self.entries.push(Entry { word: integer as u64, next: NO_ROW });
            }
            Key::Bytes(bytes) => {
                self.texts.push(row, bytes)?;
                self.entries.push(Entry { word: self.hasher.hash_one(bytes), next: NO_ROW });
            }
        }
        Ok(())
    }

    /// Puts down keys that are integers.
    pub(super) fn add_integers(&mut self, keys: impl ExactSizeIterator<Item = i64>) -> Result<()> {
        if !self.texts.ends.is_empty() {
            return keys.map(Key::Int).try_for_each(|key| self.add(key));
        }
        ::memory::reserve(&mut self.entries, keys.len())?;
        self.entries.extend(keys.map(|integer| Entry { word: integer as u64, next: NO_ROW }));
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && !self.has_null && self.spilled.is_none()
    }

    /// Whether no key is there to be found; some may have been NULL.
    pub(super) fn is_without_rows(&self) -> bool {
        self.entries.is_empty() && self.spilled.is_none()
    }

    #[inline]
    fn bucket(&self, entry: &Entry, row: usize) -> u64 {
        if self.texts.get(row).is_empty() { self.hasher.hash_one(entry.word) } else { entry.word }
    }

    /// Links the rows that were put down: before this nothing is found.
    pub(super) fn link(&mut self) -> Result<()> {
        let buckets = self.entries.len().next_power_of_two().max(2);
        self.shift = 64 - buckets.trailing_zeros();
        self.heads.clear();
        ::memory::reserve(&mut self.heads, buckets)?;
        self.heads.resize(buckets, NO_ROW);
        // From the last row on, so that chains ascend.
        for row in (0..self.entries.len()).rev() {
            let entry = self.entries[row];
            let bucket = (self.bucket(&entry, row) >> self.shift) as usize;
            let head = self.heads[bucket];
            self.entries[row].next = head;
            self.heads[bucket] = row as u32;
            if !self.has_chains && head != NO_ROW {
                self.has_chains = self.following(row as u32) != NO_ROW;
            }
        }
        Ok(())
    }

    /// Makes ready to look for a key.
    #[inline]
    pub(super) fn wanted<'k>(&self, key: Key<'k>) -> Wanted<'k> {
        match key {
            Key::Int(integer) => Wanted { word: integer as u64, bucket: self.hasher.hash_one(integer as u64), text: &[] },
            Key::Bytes(text) => {
                let hash = self.hasher.hash_one(text);
                // As `bucket` has it of a row without bytes.
                let bucket = if text.is_empty() { self.hasher.hash_one(hash) } else { hash };
                Wanted { word: hash, bucket, text }
            }
        }
    }

    /// The first row of the bucket that a key is in.
    #[inline]
    pub(super) fn candidate(&self, wanted: &Wanted<'_>) -> u32 {
        self.heads.get((wanted.bucket >> self.shift) as usize).copied().unwrap_or(NO_ROW)
    }

    /// The first row with the key from a candidate on.
    #[inline]
    pub(super) fn find(&self, wanted: &Wanted<'_>, candidate: u32) -> u32 {
        self.find_word(wanted.word, candidate, |row| self.texts.get(row) == wanted.text)
    }

    /// The first row with a lone integer from a candidate on, in a table of lone integers.
    #[inline(always)]
    fn find_lone(&self, word: u64, candidate: u32) -> u32 {
        let mut row = candidate;
        while let Some(entry) = self.entries.get(row as usize)
            && entry.word != word
        {
            row = entry.next;
        }
        row
    }

    #[inline]
    fn find_word(&self, word: u64, candidate: u32, same_text: impl Fn(usize) -> bool) -> u32 {
        let mut row = candidate;
        while let Some(entry) = self.entries.get(row as usize) {
            if entry.word == word && (self.texts.ends.is_empty() || same_text(row as usize)) {
                break;
            }
            row = entry.next;
        }
        row
    }

    /// Finds the first row with each of the keys at some places. In rounds, so that what is loaded from afar in one does not wait for what the other makes of it:
    /// heads, then their entries, then what is compared.
    pub(super) fn find_integers(&self, keys: &[i64], places: &[u16], mut found: impl FnMut(usize, u32)) {
        let Some(last) = self.entries.len().checked_sub(1) else { return places.iter().for_each(|at| found(usize::from(*at), NO_ROW)) };
        let mut candidates = [NO_ROW; ROUND];
        let mut entries = [Entry { word: 0, next: NO_ROW }; ROUND];
        for places in places.chunks(ROUND) {
            for (candidate, at) in candidates.iter_mut().zip(places) {
                *candidate = self.candidate(&self.wanted(Key::Int(keys[usize::from(*at)])));
            }
            for (entry, candidate) in entries.iter_mut().zip(&candidates[..places.len()]) {
                // Of an empty bucket the last row, and no branch: half of them may be empty.
                *entry = self.entries[(*candidate as usize).min(last)];
            }
            // Those behind them are looked at for every key that has several rows, or shares its bucket.
            let behind = entries[..places.len()].iter().filter_map(|entry| self.entries.get(entry.next as usize));
            std::hint::black_box(behind.fold(0, |all, entry| all ^ entry.word));
            for ((candidate, entry), at) in candidates.iter().zip(&entries).zip(places) {
                let at = usize::from(*at);
                let word = keys[at] as u64;
                let row = if *candidate == NO_ROW {
                    NO_ROW
                } else if !self.texts.ends.is_empty() {
                    self.find_word(word, *candidate, |row| self.texts.get(row).is_empty())
                } else if entry.word == word {
                    *candidate
                } else {
                    self.find_lone(word, entry.next)
                };
                found(at, row);
            }
        }
    }

    /// The first row with a key.
    #[inline]
    pub(super) fn first(&self, key: Key<'_>) -> u32 {
        let wanted = self.wanted(key);
        self.find(&wanted, self.candidate(&wanted))
    }

    /// The next row with the same key.
    #[inline]
    pub(super) fn following(&self, row: u32) -> u32 {
        match self.entries.get(row as usize) {
            Some(entry) if self.texts.ends.is_empty() => self.find_lone(entry.word, entry.next),
            Some(entry) => self.find_word(entry.word, entry.next, |other| self.texts.get(other) == self.texts.get(row as usize)),
            _ => NO_ROW,
        }
    }

    /// Looks at the keys of all rows.
    pub(super) fn for_each_key(&self, mut f: impl FnMut(usize, Key<'_>) -> Result<()>) -> Result<()> {
        self.entries.iter().enumerate().try_for_each(|(row, entry)| match self.texts.get(row) {
            [] => f(row, Key::Int(entry.word as i64)),
            text => f(row, Key::Bytes(text)),
        })
    }

    /// Puts a row's values into the frame.
    pub(super) fn load(&self, row: u32, join: &HashJoin, frame: &mut [Value]) {
        for (slot, column) in join.build_slots.iter().zip(&self.columns) {
            frame[*slot as usize] = column.value(row as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::SplitMix64 as Random;

    #[test]
    fn rows_are_found_by_their_keys_in_the_order_in_which_they_came() {
        let seed = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(100);
        println!("SEED={seed}");
        let mut r = Random::new(seed);
        for _ in 0..200 {
            // Integers, bytes, or both; bytes may look like hashes of others for all the table knows.
            let kinds = r.pick(&[1, 2, 3]);
            let spread = r.pick(&[3, 50, 1 << 40]);
            let mut random = || -> (bool, i64) { (kinds == 1 || kinds == 3 && r.below(2) == 0, r.below(spread) as i64 - 1) };
            let rows: Vec<(bool, i64)> = (0..random().1.rem_euclid(97)).map(|_| random()).collect();
            let others: Vec<(bool, i64)> = (0..20).map(|_| random()).collect();
            let texts: Vec<[u8; 9]> = rows
                .iter()
                .chain(&others)
                .map(|(_, n)| std::array::from_fn(|at| if at == 0 { 5 } else { n.to_le_bytes()[at - 1] }))
                .collect();
            let key = |at: usize| -> Key<'_> {
                let (integer, n) = rows.iter().chain(&others).nth(at).copied().unwrap_or_default();
                if integer { Key::Int(n) } else { Key::Bytes(&texts[at]) }
            };
            let mut table = HashTable::default();
            let mut at = 0;
            while at < rows.len() {
                // Integers that follow each other at once, or one by one.
                let run = rows[at..].iter().take_while(|(integer, _)| *integer).count();
                if run > 1 {
                    table.add_integers(rows[at..at + run].iter().map(|(_, n)| *n)).expect("room");
                    at += run;
                } else {
                    table.add(key(at)).expect("room");
                    at += 1;
                }
            }
            table.link().expect("room");
            let same = |a: usize, b: usize| format!("{:?}", key(a)) == format!("{:?}", key(b));
            let mut chains = false;
            for wanted in 0..rows.len() + others.len() {
                let expect: Vec<u32> = (0..rows.len()).filter(|row| same(*row, wanted)).map(|row| row as u32).collect();
                chains |= expect.len() > 1;
                let mut found = Vec::new();
                let mut row = table.first(key(wanted));
                while row != NO_ROW {
                    found.push(row);
                    row = table.following(row);
                }
                assert_eq!(found, expect, "{:?} of {rows:?}", key(wanted));
                if let Key::Int(n) = key(wanted) {
                    table.find_integers(&[0, n], &[1], |at, row| assert_eq!((at, row), (1, expect.first().copied().unwrap_or(NO_ROW))));
                }
            }
            assert_eq!(table.has_chains, chains, "{rows:?}");
            let mut seen = 0;
            table
                .for_each_key(|row, found| {
                    assert_eq!(format!("{found:?}"), format!("{:?}", key(row)));
                    seen += 1;
                    Ok(())
                })
                .expect("keys");
            assert_eq!(seen, rows.len());
        }
    }

    #[test]
    fn rows_without_key_parts_all_match() {
        let mut table = HashTable::default();
        table.add(Key::Bytes(&[])).expect("room");
        table.add(Key::Bytes(&[])).expect("room");
        table.link().expect("room");
        assert_eq!((table.first(Key::Bytes(&[])), table.following(0), table.following(1)), (0, 1, NO_ROW));
    }
}
