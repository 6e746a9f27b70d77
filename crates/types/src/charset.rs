//! Character sets, and text on its way between them.
//!
//! # Invariants
//! 1. Inside the server text is UTF-8 whatever its character set is; the character set is a property of the type, which says what a value may hold
//!    and how many bytes a character counts. Bytes of a character set come and go at the edges: statements, results, casts to and from binary.
//! 2. latin1 is MySQL's: Windows-1252 with its five undefined bytes as the control characters of their numbers. So each byte is a character and back.
//!
//! Why: `docs/design/character-sets.md`.

use crate::Collation;
use std::borrow::Cow;

/// A character set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Charset {
    /// Bytes.
    Binary,
    /// UTF-8, up to four bytes a character.
    Utf8mb4,
    /// UTF-8, up to three bytes a character: the Basic Multilingual Plane.
    Utf8mb3,
    /// Windows-1252.
    Latin1,
    /// 7 bits.
    Ascii,
}

/// The characters of latin1's bytes 0x80 to 0x9F.
const LATIN1_80: [u16; 32] = [
    0x20AC, 0x81, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D, 0x017D, 0x8F, 0x90, 0x2018,
    0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D, 0x017E, 0x0178,
];

/// The latin1 byte of a code point.
#[inline]
pub(crate) fn latin1_byte(point: u32) -> Option<u8> {
    match point {
        0..0x80 | 0xA0..0x100 => Some(point as u8),
        _ => LATIN1_80.iter().position(|c| u32::from(*c) == point).map(|at| 0x80 + at as u8),
    }
}

/// The character of a latin1 byte.
#[inline]
fn latin1_char(byte: u8) -> char {
    match byte {
        0x80..0xA0 => char::from_u32(u32::from(LATIN1_80[usize::from(byte - 0x80)])).unwrap_or('?'),
        _ => char::from(byte),
    }
}

impl Charset {
    /// All of them.
    pub const ALL: [Charset; 5] = [Charset::Binary, Charset::Utf8mb4, Charset::Utf8mb3, Charset::Latin1, Charset::Ascii];

    /// MySQL's name.
    pub fn name(self) -> &'static str {
        match self {
            Charset::Binary => "binary",
            Charset::Utf8mb4 => "utf8mb4",
            Charset::Utf8mb3 => "utf8mb3",
            Charset::Latin1 => "latin1",
            Charset::Ascii => "ascii",
        }
    }

    /// What SHOW CHARACTER SET says of it.
    pub fn description(self) -> &'static str {
        match self {
            Charset::Binary => "Binary pseudo charset",
            Charset::Utf8mb4 | Charset::Utf8mb3 => "UTF-8 Unicode",
            Charset::Latin1 => "cp1252 West European",
            Charset::Ascii => "US ASCII",
        }
    }

    /// The character set of a name, in any case; `utf8` is `utf8mb3`.
    pub fn from_name(name: &str) -> Option<Charset> {
        if name.eq_ignore_ascii_case("utf8") {
            return Some(Charset::Utf8mb3);
        }
        Charset::ALL.into_iter().find(|charset| charset.name().eq_ignore_ascii_case(name))
    }

    /// The collation used when only the character set is named.
    pub fn default_collation(self) -> Collation {
        match self {
            Charset::Binary => Collation::Binary,
            Charset::Utf8mb4 => Collation::DEFAULT,
            Charset::Utf8mb3 => Collation::Utf8mb3GeneralCi,
            Charset::Latin1 => Collation::Latin1SwedishCi,
            Charset::Ascii => Collation::AsciiGeneralCi,
        }
    }

    /// Its collation that orders by character numbers.
    pub fn binary_collation(self) -> Collation {
        match self {
            Charset::Binary => Collation::Binary,
            Charset::Utf8mb4 => Collation::Utf8mb4Bin,
            Charset::Utf8mb3 => Collation::Utf8mb3Bin,
            Charset::Latin1 => Collation::Latin1Bin,
            Charset::Ascii => Collation::AsciiBin,
        }
    }

    /// Most bytes of one character.
    pub fn bytes_per_char_max(self) -> u32 {
        match self {
            Charset::Binary | Charset::Latin1 | Charset::Ascii => 1,
            Charset::Utf8mb4 => 4,
            Charset::Utf8mb3 => 3,
        }
    }

    /// Whether text has the same bytes here as inside the server.
    #[inline]
    pub fn is_utf8_bytes(self) -> bool {
        self != Charset::Latin1
    }

    /// Whether it has characters of several bytes.
    pub fn is_unicode(self) -> bool {
        matches!(self, Charset::Utf8mb4 | Charset::Utf8mb3)
    }

    /// Whether this one holds every character of the other.
    pub fn holds_all_of(self, other: Charset) -> bool {
        self == other
            || match self {
                Charset::Utf8mb4 => other != Charset::Binary,
                Charset::Utf8mb3 => matches!(other, Charset::Latin1 | Charset::Ascii),
                Charset::Latin1 => other == Charset::Ascii,
                Charset::Ascii | Charset::Binary => false,
            }
    }

    /// Whether it has the character.
    #[inline]
    pub fn holds(self, c: char) -> bool {
        match self {
            Charset::Binary | Charset::Utf8mb4 => true,
            Charset::Utf8mb3 => u32::from(c) < 0x1_0000,
            Charset::Latin1 => latin1_byte(u32::from(c)).is_some(),
            Charset::Ascii => c.is_ascii(),
        }
    }

    /// Bytes at the start of `text` (as the server holds it) that are text of this character set.
    pub fn valid_prefix_bytes(self, text: &[u8]) -> usize {
        if self == Charset::Binary {
            return text.len();
        }
        let valid = crate::utf8::valid_prefix_bytes(text);
        if self == Charset::Utf8mb4 || text.is_ascii() {
            return valid;
        }
        let Ok(known) = std::str::from_utf8(&text[..valid]) else { return 0 };
        known.char_indices().find(|(_, c)| !self.holds(*c)).map_or(valid, |(at, _)| at)
    }

    /// Text of the server with `?` for each character (or byte that is none) that this character set has not.
    pub fn fit(self, text: &[u8]) -> Cow<'_, [u8]> {
        if self.valid_prefix_bytes(text) == text.len() {
            return Cow::Borrowed(text);
        }
        let mut out = Vec::with_capacity(text.len());
        for chunk in text.utf8_chunks() {
            let mut buffer = [0; 4];
            for c in chunk.valid().chars() {
                out.extend_from_slice(if self.holds(c) { c.encode_utf8(&mut buffer).as_bytes() } else { b"?" });
            }
            out.extend(chunk.invalid().iter().map(|_| b'?'));
        }
        Cow::Owned(out)
    }

    /// Appends text of the server in the bytes of this character set; `?` for what it has not.
    pub fn encode(self, text: &[u8], out: &mut Vec<u8>) {
        if self != Charset::Latin1 {
            out.extend_from_slice(&self.fit(text));
            return;
        }
        for chunk in text.utf8_chunks() {
            out.extend(chunk.valid().chars().map(|c| latin1_byte(u32::from(c)).unwrap_or(b'?')));
            out.extend(chunk.invalid().iter().map(|_| b'?'));
        }
    }

    /// Bytes of this character set as text of the server. `Err` with where the first byte is that is no character of it.
    pub fn decode(self, bytes: &[u8]) -> Result<Cow<'_, [u8]>, usize> {
        if self == Charset::Latin1 && !bytes.is_ascii() {
            let mut out = String::with_capacity(bytes.len() + bytes.len() / 2);
            out.extend(bytes.iter().map(|byte| latin1_char(*byte)));
            return Ok(Cow::Owned(out.into_bytes()));
        }
        let valid = self.valid_prefix_bytes(bytes);
        if valid == bytes.len() { Ok(Cow::Borrowed(bytes)) } else { Err(valid) }
    }

    /// As [`Charset::decode`], with `?` for what is no character.
    pub fn decode_lossy(self, bytes: &[u8]) -> Cow<'_, [u8]> {
        self.decode(bytes).unwrap_or_else(|_| self.fit(bytes))
    }

    /// Bytes that text of the server takes in this character set.
    #[inline]
    pub fn encoded_bytes(self, text: &[u8]) -> usize {
        if self == Charset::Latin1 { crate::utf8::char_count(text) } else { text.len() }
    }

    /// Bytes of `text` (of the server) whose encoding takes at most `limit` bytes; no character is cut in two.
    pub fn prefix_of_encoded(self, text: &[u8], limit: usize) -> usize {
        match self {
            _ if text.len() <= limit => text.len(),
            Charset::Latin1 => crate::utf8::chars_prefix_bytes(text, limit),
            Charset::Binary => limit,
            _ => crate::utf8::valid_prefix_bytes(&text[..limit]),
        }
    }

    /// `text` in upper or lower case by the character set's own rules, where they differ from Unicode's.
    pub fn keeps_case_of(self, c: char) -> bool {
        // Windows-1252 has both cases of these, or only one; MySQL's latin1 changes none of them.
        self == Charset::Latin1
            && matches!(u32::from(c), 0xB5 | 0xDF | 0xFF | 0x178 | 0x160 | 0x161 | 0x152 | 0x153 | 0x17D | 0x17E | 0x192)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_latin1_byte_comes_back() {
        let all: Vec<u8> = (0..=255).collect();
        let text = Charset::Latin1.decode(&all).unwrap();
        assert_eq!(crate::utf8::char_count(&text), 256);
        let mut back = Vec::new();
        Charset::Latin1.encode(&text, &mut back);
        assert_eq!(back, all);
    }

    #[test]
    fn what_a_character_set_has_not_becomes_a_question_mark() {
        let check = |charset: Charset, text: &str, expect: &[u8]| {
            let mut out = Vec::new();
            charset.encode(text.as_bytes(), &mut out);
            assert_eq!(out, expect, "{} {text}", charset.name());
        };
        check(Charset::Latin1, "a€é漢", b"a\x80\xE9?");
        check(Charset::Ascii, "aé漢", b"a??");
        check(Charset::Utf8mb3, "é😀", b"\xC3\xA9?");
        check(Charset::Utf8mb4, "é😀", "é😀".as_bytes());
        assert_eq!(Charset::Ascii.decode(b"ab\xE9"), Err(2));
        assert_eq!(Charset::Utf8mb3.decode("a😀".as_bytes()), Err(1));
        assert_eq!(&*Charset::Latin1.fit("漢é".as_bytes()), "?é".as_bytes());
        assert_eq!(&*Charset::Utf8mb4.fit(b"a\xFF"), b"a?");
    }

    #[test]
    fn lengths_are_counted_in_the_character_sets_bytes() {
        assert_eq!(Charset::Latin1.encoded_bytes("é€".as_bytes()), 2);
        assert_eq!(Charset::Utf8mb3.encoded_bytes("é€".as_bytes()), 5);
        assert_eq!(Charset::Latin1.prefix_of_encoded("éab".as_bytes(), 2), 3);
        assert_eq!(Charset::Utf8mb4.prefix_of_encoded("aé".as_bytes(), 2), 1);
    }
}
