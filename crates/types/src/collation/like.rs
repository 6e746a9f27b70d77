//! LIKE: `%` any characters, `_` one, an escape character. Characters match when the collation gives them equal weights.

use super::Collation;
use super::utf8::decode;

impl Collation {
    /// Whether the text matches the pattern. `escape` is a code point (a byte for [`Collation::Binary`]); `None` turns escaping off.
    pub fn like(self, text: &[u8], pattern: &[u8], escape: Option<u32>) -> bool {
        let next = if self == Collation::Binary { |bytes: &[u8]| (u32::from(bytes[0]), 1) } else { decode };
        let (mut text_at, mut pattern_at) = (0, 0);
        // Where to go on after a mismatch: behind the last `%`, one more character of the text given to it.
        let mut retry: Option<(usize, usize)> = None;
        loop {
            if pattern_at < pattern.len() {
                let (mut point, mut bytes) = next(&pattern[pattern_at..]);
                let escaped = escape == Some(point) && pattern_at + bytes < pattern.len();
                if escaped {
                    let (literal, more) = next(&pattern[pattern_at + bytes..]);
                    point = literal;
                    bytes += more;
                }
                if !escaped && point == u32::from(b'%') {
                    pattern_at += bytes;
                    if pattern_at == pattern.len() {
                        return true;
                    }
                    text_at += self.passed_by(&text[text_at..], &pattern[pattern_at..], escape);
                    retry = Some((text_at, pattern_at));
                    continue;
                }
                if text_at < text.len() {
                    let (own, own_bytes) = next(&text[text_at..]);
                    if (!escaped && point == u32::from(b'_')) || own == point || self.same_weight(own, point) {
                        text_at += own_bytes;
                        pattern_at += bytes;
                        continue;
                    }
                }
            } else if text_at == text.len() {
                return true;
            }
            match retry {
                Some((from, after)) if from < text.len() => {
                    let from = from + next(&text[from..]).1;
                    let from = from + self.passed_by(&text[from..], &pattern[after..], escape);
                    text_at = from;
                    pattern_at = after;
                    retry = Some((from, after));
                }
                _ => return false,
            }
        }
    }

    /// Bytes of a text behind a `%` at which what follows it cannot begin: ASCII characters that are not the first of the pattern.
    #[inline]
    fn passed_by(self, text: &[u8], pattern: &[u8], escape: Option<u32>) -> usize {
        let first = pattern[0];
        let special = !first.is_ascii_graphic() || first == b'%' || first == b'_' || escape == Some(u32::from(first));
        // A language may take two letters for one another.
        if special || self != Collation::DEFAULT && self.is_tailored() {
            return 0;
        }
        let (lower, upper) = (first.to_ascii_lowercase(), first.to_ascii_uppercase());
        let both = lower == upper || self.same_weight(u32::from(lower), u32::from(upper));
        let (a, b) = if both { (lower, upper) } else { (first, first) };
        // Control characters may have the weights of others.
        text.iter().position(|byte| *byte == a || *byte == b || !matches!(byte, b' '..=b'~')).unwrap_or(text.len())
    }

    /// The literal start of a pattern and whether the whole pattern is that literal. A range scan over keys of strings that start with
    /// it finds every match.
    pub fn like_prefix(pattern: &[u8], escape: Option<u32>) -> (Vec<u8>, bool) {
        let mut prefix = Vec::new();
        let mut at = 0;
        while at < pattern.len() {
            let (point, bytes) = decode(&pattern[at..]);
            if escape == Some(point) && at + bytes < pattern.len() {
                let (_, more) = decode(&pattern[at + bytes..]);
                prefix.extend_from_slice(&pattern[at + bytes..at + bytes + more]);
                at += bytes + more;
            } else if point == u32::from(b'%') || point == u32::from(b'_') {
                return (prefix, false);
            } else {
                prefix.extend_from_slice(&pattern[at..at + bytes]);
                at += bytes;
            }
        }
        (prefix, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_by_hand() {
        let check = |collation: Collation, text: &str, pattern: &str, expect: bool| {
            assert_eq!(collation.like(text.as_bytes(), pattern.as_bytes(), Some(u32::from(b'\\'))), expect, "{text} LIKE {pattern}");
        };
        let ci = Collation::DEFAULT;
        check(ci, "abc", "ABC", true);
        check(ci, "Äbc", "a%", true);
        check(ci, "abc", "a_c", true);
        check(ci, "abc", "_b", false);
        check(ci, "", "%", true);
        check(ci, "", "_", false);
        check(ci, "100%", "100\\%", true);
        check(ci, "1000", "100\\%", false);
        check(ci, "aXbXc", "%x%c", true);
        check(ci, "mississippi", "%iss%ip%", true);
        check(ci, "mississippi", "%iss%ipx", false);
        check(ci, "漢字", "_字", true);
        check(ci, "a ", "a", false);
        check(ci, "note 7\u{1}Xä seventy", "%xÄ%VENT_", true);
        check(ci, "äöü", "%u", true);
        check(ci, "abc", "%d", false);
        check(Collation::Utf8mb4Bin, "xAa", "%a", true);
        check(Collation::Utf8mb4Bin, "xAb", "%a%", false);
        check(Collation::Utf8mb4Bin, "abc", "ABC", false);
        check(Collation::Binary, "é", "__", true);
        check(Collation::Utf8mb4GeneralCi, "ß", "S", true);
    }

    #[test]
    fn prefix_by_hand() {
        let escape = Some(u32::from(b'\\'));
        assert_eq!(Collation::like_prefix(b"ab%c", escape), (b"ab".to_vec(), false));
        assert_eq!(Collation::like_prefix(b"a\\%b", escape), (b"a%b".to_vec(), true));
        assert_eq!(Collation::like_prefix(b"%", escape), (Vec::new(), false));
    }
}
