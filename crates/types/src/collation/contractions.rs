//! Characters that together weigh something of their own: Czech "ch", Hungarian "dzs", a Japanese length mark behind its syllable.
//!
//! They are found as MySQL finds them: from left to right, the longest that starts at a character, nothing ignored in between.

use super::utf8::decode;

/// Contractions of a language, each with its weights.
pub(super) struct Contractions<T> {
    /// A bit for the low bits of every first character, so that others are told at once.
    heads: [u64; 8],
    /// First character, the others, weights; by the first character, of one the longest first.
    all: Vec<(u32, Box<[u32]>, T)>,
}

impl<T> Contractions<T> {
    pub(super) fn new(all: impl IntoIterator<Item = (Vec<u32>, T)>) -> Contractions<T> {
        let split = |(points, weights): (Vec<u32>, T)| points.split_first().map(|(head, tail)| (*head, Box::from(tail), weights));
        let mut all: Vec<(u32, Box<[u32]>, T)> = all.into_iter().filter_map(split).collect();
        all.sort_by_key(|(head, tail, _)| (*head, std::cmp::Reverse(tail.len())));
        let mut heads = [0; 8];
        for (head, ..) in &all {
            heads[*head as usize >> 6 & 7] |= 1 << (head & 63);
        }
        Contractions { heads, all }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The longest contraction that starts with `head` and goes on at the start of `rest`, and the bytes of `rest` that it takes.
    #[inline]
    pub(super) fn longest(&self, head: u32, rest: &[u8]) -> Option<(&T, usize)> {
        if self.heads[head as usize >> 6 & 7] >> (head & 63) & 1 == 0 {
            return None;
        }
        let from = self.all.partition_point(|(first, ..)| *first < head);
        self.all[from..]
            .iter()
            .take_while(|(first, ..)| *first == head)
            .find_map(|(_, tail, weights)| Some((weights, bytes_of(tail, rest)?)))
    }

    /// The contractions, in order of code points.
    #[cfg(test)]
    pub(super) fn sequences(&self) -> Vec<String> {
        let mut all: Vec<Vec<u32>> = self.all.iter().map(|(head, tail, _)| [&[*head], tail.as_ref()].concat()).collect();
        all.sort();
        all.iter().map(|points| points.iter().filter_map(|point| char::from_u32(*point)).collect()).collect()
    }

    /// The part of a text that no contraction joins with what may follow, also when its characters are replaced by others that `same` takes
    /// for them: what matches the text as a pattern of LIKE starts with the weights of this part.
    pub(super) fn firm_prefix<'t>(&self, text: &'t [u8], same: impl Fn(u32, u32) -> bool) -> &'t [u8] {
        if self.is_empty() {
            return text;
        }
        let heads = |point| self.all.iter().any(|(head, ..)| same(*head, point));
        let follows = |point| self.all.iter().any(|(_, tail, _)| tail.iter().any(|other| same(*other, point)));
        let mut at = 0;
        while at < text.len() {
            let (point, bytes) = decode(&text[at..]);
            let next = &text[at + bytes..];
            if heads(point) && (next.is_empty() || follows(decode(next).0)) {
                break;
            }
            at += bytes;
        }
        &text[..at]
    }
}

/// Bytes at the start of `text` that are these code points.
#[inline]
fn bytes_of(points: &[u32], text: &[u8]) -> Option<usize> {
    let mut at = 0;
    for expect in points {
        let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
        let (point, bytes) = decode(rest);
        if point != *expect {
            return None;
        }
        at += bytes;
    }
    Some(at)
}
