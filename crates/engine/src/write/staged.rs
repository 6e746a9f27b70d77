//! Rows on their way into a table, gathered in one arena so that they can go in in the order of their keys.
//!
//! # Invariants
//! 1. Rows keep the number that they were staged under: whoever has to insert them one by one instead does so in that order.
//! 2. What is held is bounded by [`Staged::BYTES_MAX`] and by what memory the statement may have: past either, [`Staged::is_full`].

use crate::{Error, Result};
use std::cmp::Ordering;

/// Where a row lies in the arena: its bytes, then its key.
#[derive(Debug, Clone, Copy)]
struct Place {
    start: u32,
    key: u32,
    end: u32,
}

/// An entry of an index by the first bytes of its key.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Head {
    word: u128,
    /// The bytes behind it: with them most keys are known as a whole, and the arena need not be asked.
    more: u64,
    pub(crate) no: u32,
}

impl Head {
    #[inline]
    pub(crate) fn of(key: &[u8], no: u32) -> Head {
        let mut bytes = [0; 24];
        match key.first_chunk::<24>() {
            Some(first) => bytes = *first,
            None => bytes[..key.len()].copy_from_slice(key),
        }
        let [word @ .., _, _, _, _, _, _, _, _] = bytes;
        let [.., a, b, c, d, e, f, g, h] = bytes;
        Head { word: u128::from_be_bytes(word), more: u64::from_be_bytes([a, b, c, d, e, f, g, h]), no }
    }

    /// The order of the keys as far as their first bytes tell it.
    #[inline]
    pub(crate) fn cmp(&self, other: &Head) -> Ordering {
        (self.word, self.more).cmp(&(other.word, other.more))
    }
}

/// Fewer entries are sorted by comparing alone.
const BUCKETED_MIN: usize = 64;
/// More, too: for them a second list of as many would take much memory.
const BUCKETED_MAX: usize = 1 << 16;
/// Buckets are numbered by at most so many bits.
const BUCKET_BITS_MAX: u32 = 12;

/// Brings entries into the order of their keys; those of one key into that of their numbers.
///
/// Some of the first bits in which the keys differ number the bucket of each: where keys are spread evenly next to nothing is left to be compared. Where they are not, most
/// of the work is the comparing that it would have been anyhow.
pub(crate) fn sort_heads<'k>(heads: &mut Vec<Head>, key: impl Fn(u32) -> &'k [u8]) {
    let order = |a: &Head, b: &Head| a.cmp(b).then_with(|| key(a.no).cmp(key(b.no))).then(a.no.cmp(&b.no));
    if heads.is_sorted_by(|a, b| order(a, b).is_lt()) {
        return;
    }
    let first = heads.first().map_or(0, |head| head.word);
    let differing = heads.iter().fold(0, |bits, head| bits | (head.word ^ first));
    if !(BUCKETED_MIN..=BUCKETED_MAX).contains(&heads.len()) || differing == 0 {
        return heads.sort_unstable_by(order);
    }
    // Twice as many buckets as entries, about.
    let bits = (heads.len().ilog2() + 1).min(BUCKET_BITS_MAX);
    let bucket = |head: &Head| (head.word << differing.leading_zeros() >> (u128::BITS - bits)) as usize;
    let mut places = vec![0u32; 1 << bits];
    heads.iter().for_each(|head| places[bucket(head)] += 1);
    let mut start = 0;
    for place in &mut places {
        (*place, start) = (start, start + *place);
    }
    let mut sorted = vec![Head::default(); heads.len()];
    for head in heads.iter() {
        let place = &mut places[bucket(head)];
        sorted[*place as usize] = *head;
        *place += 1;
    }
    // Now each place is the end of its bucket.
    let mut start = 0;
    for end in places {
        if end - start > 1 {
            sorted[start as usize..end as usize].sort_unstable_by(order);
        }
        start = end;
    }
    *heads = sorted;
}

/// Rows of one table that wait to be inserted together.
#[derive(Debug)]
pub struct Staged {
    bytes: Vec<u8>,
    rows: Vec<Place>,
    /// In the order of keys, once they were sorted.
    order: Vec<Head>,
    is_full: bool,
    held: memory::Use,
}

impl Default for Staged {
    fn default() -> Staged {
        Staged { bytes: Vec::new(), rows: Vec::new(), order: Vec::new(), is_full: false, held: memory::Use::new(memory::Kind::Rows, 0) }
    }
}

impl Staged {
    /// Bytes of rows and keys that are gathered at most.
    pub const BYTES_MAX: usize = 16 << 20;
    /// Bytes that are kept from one statement to the next.
    const BYTES_KEPT: usize = 256 << 10;

    /// Rows that wait.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no row waits.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether what waits should go in before more is added.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// The bytes of a row, by the number that it was staged under.
    pub fn row(&self, no: usize) -> &[u8] {
        let Place { start, key, .. } = self.rows[no];
        &self.bytes[start as usize..key as usize]
    }

    /// Its primary key; empty before hidden ids were given.
    pub(crate) fn key(&self, no: u32) -> &[u8] {
        let Place { key, end, .. } = self.rows[no as usize];
        &self.bytes[key as usize..end as usize]
    }

    pub(crate) fn push(&mut self, row: &[u8], key: &[u8]) -> Result<()> {
        let more = row.len() + key.len();
        // The statement is marked, and ends as one that was stopped.
        memory::reserve(&mut self.bytes, more).map_err(|_| Error::Killed)?;
        memory::reserve(&mut self.rows, 1).map_err(|_| Error::Killed)?;
        let start = self.bytes.len();
        self.bytes.extend_from_slice(row);
        self.bytes.extend_from_slice(key);
        self.rows.push(Place { start: start as u32, key: (start + row.len()) as u32, end: (start + more) as u32 });
        if self.rows.len().is_multiple_of(1024) {
            self.held.resize((self.bytes.capacity() + self.rows.capacity() * size_of::<Place>()) as u64);
            // Twice as much as is held, and as much again for the keys of an index, may not be to be had.
            self.is_full = memory::excess_with(3 * self.bytes.capacity()) != memory::Excess::None;
        }
        self.is_full |= self.bytes.len() >= Staged::BYTES_MAX;
        Ok(())
    }

    /// Gives each row a key of its own: rows of a table without a declared one.
    pub(crate) fn give_keys(&mut self, mut next: impl FnMut() -> Result<u64>) -> Result<()> {
        let mut bytes = Vec::new();
        let keys = self.rows.len() * size_of::<u64>();
        memory::reserve(&mut bytes, self.bytes.len() + keys).map_err(|_| Error::Killed)?;
        for place in &mut self.rows {
            let start = bytes.len();
            bytes.extend_from_slice(&self.bytes[place.start as usize..place.key as usize]);
            let key = bytes.len();
            bytes.extend_from_slice(&next()?.to_be_bytes());
            *place = Place { start: start as u32, key: key as u32, end: bytes.len() as u32 };
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Writes `head` over the beginning of each row.
    pub(crate) fn put_heads(&mut self, head: &[u8]) {
        for place in &self.rows {
            let start = place.start as usize;
            self.bytes[start..start + head.len()].copy_from_slice(head);
        }
    }

    /// Sorts by key. Returns whether all keys differ.
    pub(crate) fn sort(&mut self) -> Result<bool> {
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        memory::reserve(&mut order, self.rows.len()).map_err(|_| Error::Killed)?;
        order.extend((0..self.rows.len() as u32).map(|no| Head::of(self.key(no), no)));
        let above = |pair: &[Head]| pair[0].cmp(&pair[1]).then_with(|| self.key(pair[0].no).cmp(self.key(pair[1].no))).is_lt();
        if !order.windows(2).all(above) {
            sort_heads(&mut order, |no| self.key(no));
        }
        let differ = order.windows(2).all(above);
        self.order = order;
        Ok(differ)
    }

    /// The row at a place in the order of keys: its number, key and bytes.
    #[inline]
    pub(crate) fn at(&self, place: usize) -> Option<(u32, &[u8], &[u8])> {
        let Head { no, .. } = *self.order.get(place)?;
        let Place { start, key, end } = self.rows[no as usize];
        Some((no, &self.bytes[key as usize..end as usize], &self.bytes[start as usize..key as usize]))
    }

    /// The rows as they were staged: key and bytes.
    pub(crate) fn in_turn(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        (0..self.rows.len()).map(|no| (self.key(no as u32), self.row(no)))
    }

    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.rows.clear();
        self.order.clear();
        self.is_full = false;
    }

    /// Forgets all rows, and gives back what a next statement is unlikely to need.
    pub fn rest(&mut self) {
        self.clear();
        if self.bytes.capacity() > Staged::BYTES_KEPT {
            *self = Staged::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::SplitMix64;

    /// Keys that are spread evenly, crowded, equal in their first bytes, and equal altogether.
    #[test]
    fn entries_are_sorted_as_their_keys_are() {
        for seed in 0..300 {
            let mut random = SplitMix64::new(seed);
            let count = [3, 63, 64, 200, 1000, 5000][random.below(6) as usize];
            let (shape, spread) = (random.below(5), 1 + random.below(64));
            let mut one = || -> Vec<u8> {
                let number = random.next() >> (64 - spread);
                match shape {
                    0 => number.to_be_bytes().to_vec(),
                    1 => [&[7; 20][..], &number.to_be_bytes()].concat(),
                    2 => [&[1; 30][..], &number.to_be_bytes()].concat(),
                    3 => number.to_be_bytes()[..1 + random.below(8) as usize].to_vec(),
                    _ => [&[u8::from(number == 0)][..], &random.below(3).to_be_bytes(), b"text"].concat(),
                }
            };
            let keys: Vec<Vec<u8>> = (0..count).map(|_| one()).collect();
            let mut heads: Vec<Head> = keys.iter().enumerate().map(|(no, key)| Head::of(key, no as u32)).collect();
            sort_heads(&mut heads, |no| &keys[no as usize]);
            let mut expected: Vec<u32> = (0..count as u32).collect();
            expected.sort_by_key(|no| &keys[*no as usize]);
            assert_eq!(heads.iter().map(|head| head.no).collect::<Vec<_>>(), expected, "seed {seed}, shape {shape}, {spread} bits");
        }
    }

    #[test]
    fn rows_come_in_the_order_of_their_keys_and_keep_their_numbers() {
        let mut staged = Staged::default();
        for (row, key) in [("r0", "b"), ("r1", "a long key, second"), ("r2", "a long key, first"), ("r3", ""), ("r4", "a")] {
            staged.push(row.as_bytes(), key.as_bytes()).unwrap();
        }
        assert!(staged.sort().unwrap());
        let rows: Vec<_> = (0..).map_while(|place| staged.at(place)).map(|(no, _, row)| (no, row.to_vec())).collect();
        assert_eq!(rows, [3, 4, 2, 1, 0].map(|no| (no, format!("r{no}").into_bytes())));
        staged.push(b"again", b"a").unwrap();
        assert!(!staged.sort().unwrap());
        assert_eq!((staged.at(1).unwrap().0, staged.at(2).unwrap().0), (4, 5));
        staged
            .give_keys({
                let mut id = 9;
                move || {
                    id += 1;
                    Ok(id)
                }
            })
            .unwrap();
        assert!(staged.sort().unwrap());
        assert_eq!(staged.at(5).unwrap(), (5, &15u64.to_be_bytes()[..], &b"again"[..]));
    }
}
