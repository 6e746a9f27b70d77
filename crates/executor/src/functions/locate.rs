//! INSTR, LOCATE, POSITION: where a text stands in another.

use crate::run::Result;
use types::{Collation, utf8};

/// Work, about in bytes compared, between two looks whether the statement is to end.
const WORK_BETWEEN_LOOKS: usize = 1 << 20;
/// Characters that may weigh together.
const JOINED_CHARS: usize = 4;

/// Character position (from 1) of a needle at or after position `from`; 0 when absent. `look` fails when the statement is to end.
pub(super) fn locate(h: &[u8], n: &[u8], from: i64, collation: Collation, look: impl FnMut() -> Result<()>) -> Result<i64> {
    let binary = collation == Collation::Binary;
    let count = |text: &[u8]| if binary { text.len() } else { utf8::char_count(text) } as i64;
    if from < 1 || from > count(h) + 1 {
        return Ok(0);
    }
    if n.is_empty() {
        return Ok(from);
    }
    let start = if binary { from as usize - 1 } else { utf8::chars_prefix_bytes(h, from as usize - 1) };
    if collation.is_binary() {
        return Ok(memchr::memmem::find(&h[start..], n).map_or(0, |at| count(&h[..start + at]) + 1));
    }
    Ok(Needle::new(h, n, collation).find(&h[start..], look)?.map_or(0, |chars| from + chars))
}

/// What is looked for, under a collation that looks at more than bytes.
struct Needle<'n> {
    text: &'n [u8],
    chars: usize,
    collation: Collation,
    /// Its weights, where a character may weigh as several: where the weights begin with these it is found, an 's' in 'ß' as well.
    weights: Option<Weights>,
}

struct Weights {
    levels: Vec<Vec<u16>>,
    /// Characters that have as many weights, or more.
    chars: usize,
}

impl<'n> Needle<'n> {
    fn new(haystack: &[u8], text: &'n [u8], collation: Collation) -> Needle<'n> {
        let chars = utf8::char_count(text);
        let levels = if haystack.is_ascii() && text.is_ascii() { None } else { collation.weight_levels(text) };
        let levels = levels.filter(|levels| levels.first().is_some_and(|primary| !primary.is_empty()));
        let weights = levels.map(|levels| Weights { chars: levels.first().map_or(0, Vec::len).max(chars), levels });
        Needle { text, chars, collation, weights }
    }

    /// How many characters stand before it.
    fn find(&self, h: &[u8], mut look: impl FnMut() -> Result<()>) -> Result<Option<i64>> {
        // A window of the needle's length in characters goes over the text.
        let (mut at, mut end) = (0, utf8::chars_prefix_bytes(h, self.chars));
        let (mut position, mut work) = (0, 0);
        // What is shorter than the needle, at the end, is not made as long by spaces that do not count.
        let last = utf8::char_count(h) as i64 - self.chars as i64;
        while at < h.len() {
            let may = self.may_begin(&h[at..]);
            if may && (position <= last && self.collation.equal(&h[at..end], self.text) || self.begins(&h[at..])) {
                return Ok(Some(position));
            }
            work += if may { 64 + self.text.len() } else { 64 };
            if work > WORK_BETWEEN_LOOKS {
                look()?;
                work = 0;
            }
            at += utf8::chars_prefix_bytes(&h[at..], 1).max(1);
            end = (end + utf8::chars_prefix_bytes(&h[end..], 1)).max(at);
            position += 1;
        }
        Ok(None)
    }

    /// Whether the weights of a text begin with the needle's.
    fn begins(&self, rest: &[u8]) -> bool {
        let Some(needle) = &self.weights else { return false };
        let window = &rest[..utf8::chars_prefix_bytes(rest, needle.chars)];
        let here = self.collation.weight_levels(window).unwrap_or_default();
        here.len() == needle.levels.len() && here.iter().zip(&needle.levels).all(|(here, needle)| here.starts_with(needle))
    }

    /// By its first weight, which costs little: whether the needle may be at the start of a text.
    fn may_begin(&self, rest: &[u8]) -> bool {
        let Some(wanted) = self.weights.as_ref().and_then(|weights| weights.levels.first()?.first()) else { return true };
        let primary = |chars: usize| {
            let window = &rest[..utf8::chars_prefix_bytes(rest, chars)];
            self.collation.weight_levels(window).and_then(|levels| levels.first()?.first().copied())
        };
        match primary(1) {
            // What weighs nothing says nothing of what follows.
            None => true,
            Some(alone) => alone == *wanted || primary(JOINED_CHARS) == Some(*wanted),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needles_are_found_by_weight() {
        let check = |h: &str, n: &str, from: i64, expect: i64| {
            let found = locate(h.as_bytes(), n.as_bytes(), from, Collation::DEFAULT, || Ok(())).expect("nobody ends it");
            assert_eq!(found, expect, "{n} in {h} from {from}");
        };
        check("foobarbar", "bar", 1, 4);
        check("foobarbar", "bar", 5, 7);
        check("foobarbar", "xbar", 1, 0);
        check("straße", "ss", 1, 5);
        check("strasse", "ß", 1, 5);
        check("aé", "É", 1, 2);
        check("xﷺ", "ﷺ", 1, 2);
        check("ﬃ", "ff", 1, 1);
        check("aﬃb", "ffib", 1, 2);
        check("a", "", 2, 2);
        check("a", "", 3, 0);
        let general =
            |h: &str, n: &str| locate(h.as_bytes(), n.as_bytes(), 1, Collation::Utf8mb4GeneralCi, || Ok(())).expect("nobody ends it");
        assert_eq!((general("ab", "b "), general("ab ", "B"), general("Äb ", "äB ")), (0, 2, 1));
    }

    /// A needle that begins otherwise than the text costs a step for each character, not one for each pair.
    #[test]
    fn one_character_tells_most_places_apart() {
        for (h, n) in [("é", "c"), ("ß", "é")] {
            let (h, n) = (h.repeat(20_000), format!("b{}", n.repeat(20_000)));
            let mut looks = 0;
            let found = locate(h.as_bytes(), n.as_bytes(), 1, Collation::Utf8mb40900AsCs, || {
                looks += 1;
                Ok(())
            });
            assert_eq!(found.expect("nobody ends it"), 0);
            assert!(looks <= 2, "{looks} looks");
        }
    }

    /// A search that takes long asks whether it is to end.
    #[test]
    fn a_search_can_be_ended() {
        let (h, n) = ("a".repeat(20_000), format!("{}b", "A".repeat(10_000)));
        let ended = locate(h.as_bytes(), n.as_bytes(), 1, Collation::DEFAULT, || Err(crate::errors::internal("killed")));
        assert!(ended.is_err());
    }
}
