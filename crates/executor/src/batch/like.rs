//! LIKE over a column of strings.
//!
//! A pattern that begins with `%` and goes on with characters of ASCII is looked for in all strings of the chunk at once, where they lie one behind the other:
//! strings that cannot match need no closer look.

use crate::batch::column::Strings;
use types::{Collation, LikeLead};

/// Bytes that are looked at in one round.
const ROUND: usize = 64;
/// The string has what every match has.
const FOUND: u8 = 1;
/// The string has a byte that is no printable character of ASCII.
const ODD: u8 = 2;

/// The pattern of a LIKE.
pub(super) struct Pattern<'p> {
    pub(super) collation: Collation,
    pub(super) text: &'p [u8],
    pub(super) escape: Option<u32>,
}

impl Pattern<'_> {
    fn matches(&self, text: &[u8]) -> bool {
        self.collation.like(text, self.text, self.escape)
    }

    /// Calls `matched` for each of the rows.
    pub(super) fn look(&self, texts: &Strings, rows: &[u16], mut matched: impl FnMut(usize, bool)) {
        let lead = if rows.len() * 4 < texts.len() { None } else { self.collation.like_lead(self.text, self.escape) };
        let Some(lead) = lead else {
            return rows.iter().map(|row| usize::from(*row)).for_each(|at| matched(at, self.matches(texts.get(at))));
        };
        let marks = marks(texts, &lead);
        for row in rows {
            let at = usize::from(*row);
            let mark = marks[at];
            let quick = if mark == 0 { Some(false) } else { (mark & FOUND != 0 && lead.is_all).then_some(true) };
            matched(at, quick.unwrap_or_else(|| self.matches(texts.get(at))));
        }
    }
}

/// What is found in each string.
fn marks(texts: &Strings, lead: &LikeLead) -> Vec<u8> {
    let bytes = texts.arena();
    let mut marks = vec![0; texts.len()];
    let mut row = 0;
    let mut mark = |at: usize, kind: u8| {
        while texts.end(row).is_some_and(|end| end <= at) {
            row += 1;
        }
        // A pair of characters that are in two strings is none.
        let inside = kind != FOUND || lead.second.is_none() || texts.end(row).is_some_and(|end| at + 1 < end);
        if let Some(mark) = marks.get_mut(row)
            && inside
        {
            *mark |= kind;
        }
    };
    let [a, b] = lead.first;
    let [c, d] = lead.second.unwrap_or_default();
    let mut start = 0;
    while start < bytes.len() {
        let here = &bytes[start..];
        let mut kinds = [0u8; ROUND];
        if let (Some(here), Some(next)) = (here.first_chunk::<ROUND>(), here.get(1..).and_then(|next| next.first_chunk::<ROUND>())) {
            look_at(here, next, &mut kinds, [a, b, c, d], lead.second.is_some());
        } else {
            let mut last = [[0u8; ROUND]; 2];
            let count = here.len().min(ROUND);
            last[0][..count].copy_from_slice(&here[..count]);
            let behind = &here[1..here.len().min(ROUND + 1)];
            last[1][..behind.len()].copy_from_slice(behind);
            look_at(&last[0], &last[1], &mut kinds, [a, b, c, d], lead.second.is_some());
            // What fills the round up is odd, and nobody's.
            kinds[count..].fill(0);
        }
        for (word_no, word) in kinds.as_chunks::<8>().0.iter().enumerate() {
            let mut word = u64::from_le_bytes(*word);
            while word != 0 {
                let byte = word.trailing_zeros() / 8;
                mark(start + 8 * word_no + byte as usize, (word >> (8 * byte)) as u8);
                word &= !(0xff << (8 * byte));
            }
        }
        start += ROUND;
    }
    marks
}

/// What each byte is: one loop of vector instructions.
#[inline(always)]
fn look_at(here: &[u8; ROUND], next: &[u8; ROUND], kinds: &mut [u8; ROUND], [a, b, c, d]: [u8; 4], pair: bool) {
    let single = u8::from(!pair);
    for at in 0..ROUND {
        let first = u8::from(here[at] == a) | u8::from(here[at] == b);
        let second = u8::from(next[at] == c) | u8::from(next[at] == d) | single;
        let odd = u8::from(here[at].wrapping_sub(b' ') > b'~' - b' ');
        kinds[at] = (FOUND * (first & second)) | (ODD * odd);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::column::{Column, Data};
    use env::SplitMix64 as Random;

    #[test]
    fn a_look_at_all_strings_is_a_look_at_each() {
        let seed = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(77);
        println!("SEED={seed}");
        let mut r = Random::new(seed);
        let (mut found, mut rounds) = (0, 0);
        for _ in 0..400 {
            let text = |r: &mut Random, pieces: &[&str], most: u64| -> String { (0..r.below(most)).map(|_| r.pick(pieces)).collect() };
            let mut column = Column::new();
            for _ in 0..r.below(60) {
                let text = text(&mut r, &["7", "7", "a", "A", "b", " ", "long and longer", "ä", "\u{1}", "７"], 9);
                column.push_bytes(text.as_bytes());
            }
            let pattern = format!("{}{}", r.pick(&["%", "%", "%%", ""]), text(&mut r, &["7", "77", "a", "B", "%", "_", "\\%", "ä"], 4));
            let pattern = Pattern {
                collation: r.pick(&[Collation::DEFAULT, Collation::Utf8mb4Bin, Collation::Binary, Collation::Utf8mb4GeneralCi]),
                text: pattern.as_bytes(),
                escape: Some(u32::from(b'\\')),
            };
            let Data::Bytes(texts) = column.data() else { continue };
            let rows: Vec<u16> = (0..column.len() as u16).filter(|_| r.below(8) > 0).collect();
            let mut seen = Vec::new();
            pattern.look(texts, &rows, |at, matched| seen.push((at, matched)));
            let expect: Vec<_> = rows.iter().map(|row| (usize::from(*row), pattern.matches(texts.get(usize::from(*row))))).collect();
            assert_eq!(seen, expect, "{:?} {:?}", String::from_utf8_lossy(pattern.text), pattern.collation);
            found += seen.iter().filter(|(_, matched)| *matched).count();
            rounds += seen.len();
        }
        assert!(found * 10 > rounds && found < rounds, "{found} of {rounds} match");
    }
}
