//! LIKE: `%` any characters, `_` one, an escape character. Characters match when the collation gives them equal weights.

use super::Collation;
use super::uca900_codes::ASCII_CODES;
use super::utf8::decode;

/// How every match of a pattern that begins with `%` goes on, for those who look through many texts at once: see [`Collation::like_lead`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LikeLead {
    /// The first character, in either case.
    pub first: [u8; 2],
    /// The one behind it, where it is one of these, too.
    pub second: Option<[u8; 2]>,
    /// Whether whatever has them matches.
    pub is_all: bool,
}

/// With what every match of a pattern begins: most texts begin otherwise that are looked through for a beginning. See [`Collation::like_start`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LikeStart(u8);

impl LikeStart {
    /// Whether a text begins with another character of ASCII. Of others it is not told.
    #[inline]
    fn rules_out(self, text: &[u8]) -> bool {
        let code = |byte: &u8| ASCII_CODES.get(usize::from(*byte));
        text.first().and_then(code).is_some_and(|code| *code != self.0)
    }
}

impl Collation {
    /// The first character of a pattern, where it is one of ASCII and stands for itself; under the default collation only.
    #[inline]
    fn like_start(self, pattern: &[u8], escape: Option<u32>) -> Option<LikeStart> {
        let first = pattern.first().filter(|_| self == Collation::DEFAULT)?;
        let is_itself = !matches!(first, b'%' | b'_') && escape != Some(u32::from(*first));
        ASCII_CODES.get(usize::from(*first)).filter(|_| is_itself).map(|code| LikeStart(*code))
    }

    /// Whether the text matches the pattern. `escape` is a code point (a byte for [`Collation::Binary`]); `None` turns escaping off.
    pub fn like(self, text: &[u8], pattern: &[u8], escape: Option<u32>) -> bool {
        if self.like_start(pattern, escape).is_some_and(|start| start.rules_out(text)) {
            return false;
        }
        let next = if self == Collation::Binary { |bytes: &[u8]| (u32::from(bytes[0]), 1) } else { decode };
        let (mut text_at, mut pattern_at) = (0, 0);
        // Where to go on after a mismatch: behind the last `%`, one more character of the text given to it.
        let mut retry: Option<(usize, usize)> = None;
        loop {
            if pattern_at < pattern.len() {
                let (mut point, mut bytes) = next(&pattern[pattern_at..]);
                // An escape character stands for the one behind it, at the pattern's end for itself.
                let escaped = escape == Some(point);
                if escaped && pattern_at + bytes < pattern.len() {
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

    /// The printable ASCII characters that follow a pattern's leading `%`, if they are that: a text of printable ASCII characters that has them nowhere does not match.
    pub fn like_lead(self, pattern: &[u8], escape: Option<u32>) -> Option<LikeLead> {
        let any = b"%".as_slice();
        if escape == Some(u32::from(b'%')) {
            return None;
        }
        let mut rest = pattern.strip_prefix(any)?;
        while let Some(more) = rest.strip_prefix(any) {
            rest = more;
        }
        let literal = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'%' && byte != b'_' && escape != Some(u32::from(byte));
        let of = |at: usize| rest.get(at).copied().filter(|byte| literal(*byte)).and_then(|byte| self.both_cases(byte));
        let first = of(0)?;
        let second = of(1);
        let behind = rest.get(1 + usize::from(second.is_some())..).unwrap_or_default();
        Some(LikeLead { first, second, is_all: !behind.is_empty() && behind.iter().all(|byte| *byte == b'%') })
    }

    /// A printable ASCII character in both cases, or twice where they differ; `None` when others of those characters match it as well.
    fn both_cases(self, byte: u8) -> Option<[u8; 2]> {
        let same = |other: u8| other == byte || self.same_weight(u32::from(other), u32::from(byte));
        let (lower, upper) = (byte.to_ascii_lowercase(), byte.to_ascii_uppercase());
        if (b' '..=b'~').any(|other| other != lower && other != upper && same(other)) {
            return None;
        }
        Some(if same(lower) && same(upper) { [lower, upper] } else { [byte, byte] })
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
            } else if escape == Some(point) {
                prefix.extend_from_slice(&pattern[at..]);
                at = pattern.len();
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
    fn a_beginning_tells_the_same_as_all_of_the_text() {
        let escape = Some(u32::from(b'\\'));
        let rules_out =
            |text: &[u8], pattern: &[u8]| Collation::DEFAULT.like_start(pattern, escape).is_some_and(|start| start.rules_out(text));
        for a in 0..=127u8 {
            for b in 0..=127u8 {
                let special = matches!(b, b'%' | b'_' | b'\\');
                let same = Collation::DEFAULT.same_weight(u32::from(a), u32::from(b));
                assert_eq!(rules_out(&[a, b'x'], &[b, b'%']), !special && !same, "{a} {b}");
                let found = Collation::DEFAULT.like(&[a, b'x'], &[b, b'%'], escape);
                assert_eq!(found, b != b'\\' && same || matches!(b, b'%' | b'_'), "{a} {b}");
            }
        }
        for (text, pattern) in [("", "a"), ("a", ""), ("ä", "o"), ("o", "ä"), ("b", "ba"), ("%", "\\%")] {
            assert!(!rules_out(text.as_bytes(), pattern.as_bytes()), "{text} {pattern}");
        }
    }

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
    fn an_escape_character_at_the_end_stands_for_itself() {
        for collation in [Collation::DEFAULT, Collation::Utf8mb4Bin, Collation::Utf8mb4GeneralCi, Collation::Binary] {
            let check = |text: &str, pattern: &str, escape: char, expect: bool| {
                let found = collation.like(text.as_bytes(), pattern.as_bytes(), Some(u32::from(escape)));
                assert_eq!(found, expect, "{text} LIKE {pattern} ESCAPE {escape} under {collation:?}");
            };
            check("ab", "a%", '%', false);
            check("a%", "a%", '%', true);
            check("ab", "%", '%', false);
            check("%", "%", '%', true);
            check("ab", "a_", '_', false);
            check("a_", "a_", '_', true);
            check("a%", "a%%", '%', true);
            check("ab", "a%%", '%', false);
            check("axb", "a%xb", '%', true);
            check("b%", "_%", '%', true);
            check("bc", "_%", '%', false);
            check("a\\", "a\\", '\\', true);
        }
        let percent = Some(u32::from(b'%'));
        assert_eq!(Collation::DEFAULT.like_lead(b"%a%", percent), None);
        assert_eq!(Collation::like_prefix(b"a%", percent), (b"a%".to_vec(), true));
        assert_eq!(Collation::like_prefix(b"a%%", percent), (b"a%".to_vec(), true));
        assert_eq!(Collation::like_prefix(b"a_", Some(u32::from(b'_'))), (b"a_".to_vec(), true));
    }

    #[test]
    fn what_follows_a_percent_sign() {
        let escape = Some(u32::from(b'\\'));
        let lead = |collation: Collation, pattern: &str| collation.like_lead(pattern.as_bytes(), escape);
        let of = |first: &[u8; 2], second: Option<&[u8; 2]>, is_all| Some(LikeLead { first: *first, second: second.copied(), is_all });
        let ci = Collation::DEFAULT;
        assert_eq!(lead(ci, "%77%"), of(b"77", Some(b"77"), true));
        assert_eq!(lead(ci, "%%aB%%"), of(b"aA", Some(b"bB"), true));
        assert_eq!(lead(ci, "%abc%"), of(b"aA", Some(b"bB"), false));
        assert_eq!(lead(ci, "%ab"), of(b"aA", Some(b"bB"), false));
        assert_eq!(lead(ci, "%a%"), of(b"aA", None, true));
        assert_eq!(lead(ci, "%a"), of(b"aA", None, false));
        assert_eq!(lead(ci, "%a_"), of(b"aA", None, false));
        assert_eq!(lead(ci, "%a\\%"), of(b"aA", None, false));
        assert_eq!(lead(Collation::Utf8mb4Bin, "%aB%"), of(b"aa", Some(b"BB"), true));
        for none in ["", "%", "%%", "a%", "_a", "%_a", "%\\%", "%ä"] {
            assert_eq!(lead(ci, none), None, "{none}");
        }
    }

    #[test]
    fn a_text_without_the_lead_does_not_match() {
        for collation in Collation::ALL {
            for byte in b' '..=b'~' {
                let Some(lead) = collation.like_lead(&[b'%', byte, b'%'], None) else { continue };
                for other in b' '..=b'~' {
                    let found = collation.like(&[b'.', other], &[b'%', byte, b'%'], None);
                    assert_eq!(found, lead.first.contains(&other) || lead.first.contains(&b'.'), "{collation:?} {byte} {other}");
                }
            }
        }
    }

    #[test]
    fn prefix_by_hand() {
        let escape = Some(u32::from(b'\\'));
        assert_eq!(Collation::like_prefix(b"ab%c", escape), (b"ab".to_vec(), false));
        assert_eq!(Collation::like_prefix(b"a\\%b", escape), (b"a%b".to_vec(), true));
        assert_eq!(Collation::like_prefix(b"%", escape), (Vec::new(), false));
    }
}
