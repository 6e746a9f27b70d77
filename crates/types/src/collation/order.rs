//! Comparing, hashing and ordered keys of strings.

use super::code_buffer::CodeBuffer;
use super::pad_space::{self, CodePoint, GeneralCi, Latin1Byte, with_folding, with_latin1_table};
use super::uca::{self, Strength, UCA, Uca};
use super::uca900_codes::ASCII_CODES;
use super::utf8::decode;
use super::{Collation, Method, utf8};
use crate::Charset;
use std::cmp::Ordering;
use std::hash::{BuildHasher, Hasher};

impl Collation {
    fn strength(self) -> Strength {
        match self.method() {
            Method::Uca900(strength) | Method::Tailored(_, strength) => strength,
            _ => Strength::Primary,
        }
    }

    /// How two strings sort.
    #[inline]
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        if self == Collation::Utf8mb40900AiCi { compare_primary(a, b) } else { self.compare_others(a, b) }
    }

    fn compare_others(self, a: &[u8], b: &[u8]) -> Ordering {
        match self.method() {
            Method::Bytes => a.cmp(b),
            Method::CodePoints => {
                let at = a.iter().zip(b).take_while(|(x, y)| x == y).count();
                match (a.get(at), b.get(at)) {
                    (None, None) => Ordering::Equal,
                    (Some(x), Some(y)) if *x < 0x80 && *y < 0x80 => x.cmp(y),
                    _ => pad_space::compare::<CodePoint>(a, b),
                }
            }
            Method::Folding(folding) => with_folding!(folding, compare(a, b)),
            Method::Latin1Bytes => pad_space::compare::<Latin1Byte>(a, b),
            Method::Latin1(at) => with_latin1_table!(at, compare(a, b)),
            Method::Expanding(kind) => kind.compare(a, b),
            Method::Tailored(language, strength) => language.tailored().compare(strength, a, b),
            Method::Uca900(strength) => {
                if a == b {
                    return Ordering::Equal;
                }
                (0..strength as usize).map(|level| compare_level(level, a, b)).find(|ordering| ordering.is_ne()).unwrap_or(Ordering::Equal)
            }
        }
    }

    /// Whether two strings are equal.
    #[inline]
    pub fn equal(self, a: &[u8], b: &[u8]) -> bool {
        match self {
            Collation::Binary | Collation::Utf8mb40900Bin => a == b,
            _ => a == b || self.compare(a, b).is_eq(),
        }
    }

    /// A hash; equal strings hash equally. The same in every process (fixed seed).
    pub fn hash(self, text: &[u8]) -> u64 {
        let mut hasher = foldhash::fast::FixedState::default().build_hasher();
        match self {
            Collation::Binary | Collation::Utf8mb40900Bin => hasher.write(text),
            Collation::Utf8mb40900AiCi if text.len() <= 64 && text.is_ascii() => {
                let mut codes = [0u8; 64];
                let mut count = 0;
                for &byte in text {
                    let code = ASCII_CODES[usize::from(byte & 0x7F)];
                    codes[count] = code;
                    count += usize::from(code != 0);
                }
                hasher.write(&codes[..count]);
            }
            _ if self.is_binary() => hasher.write(pad_space::trim(text)),
            _ => {
                let mut key = Vec::with_capacity(text.len() * 2 + 4);
                self.append_key(text, &mut key);
                // The terminator of a primary key is left out, so that the short way above gives the same.
                let end = if self == Collation::Utf8mb40900AiCi { key.len() - 1 } else { key.len() };
                hasher.write(&key[..end]);
            }
        }
        hasher.finish()
    }

    /// Appends the ordered key: keys compare by bytes as strings compare, equal strings have equal keys, and no key is a prefix of
    /// another, so that keys can stand one after the other in a composite key. The bytes are described in `docs/format/record.md`.
    #[inline]
    pub fn append_key(self, text: &[u8], out: &mut Vec<u8>) {
        if self == Collation::Utf8mb40900AiCi {
            append_primary(text, out);
            out.push(0);
        } else {
            self.append_other_key(text, out);
        }
    }

    fn append_other_key(self, text: &[u8], out: &mut Vec<u8>) {
        match self.method() {
            Method::Bytes => append_escaped(text, out),
            Method::CodePoints => pad_space::append_key::<CodePoint>(text, out),
            Method::Folding(folding) => with_folding!(folding, append_key(text, out)),
            Method::Latin1Bytes => pad_space::append_key::<Latin1Byte>(text, out),
            Method::Latin1(at) => with_latin1_table!(at, append_key(text, out)),
            Method::Expanding(kind) => kind.append_key(text, out),
            Method::Tailored(language, strength) => language.tailored().append_key(strength, text, out),
            Method::Uca900(strength) => {
                append_primary(text, out);
                out.push(0);
                for level in 1..strength as usize {
                    append_level(level, text, out);
                    out.push(0);
                }
            }
        }
    }

    /// The first eight bytes of the ordered key as a number, filled up with zeros: numbers that differ order as the strings do.
    #[inline]
    pub fn key_head(self, text: &[u8]) -> u64 {
        if self == Collation::Utf8mb40900AiCi {
            let (mut head, mut free) = (0, 64);
            for &byte in text {
                if byte >= 0x80 {
                    return self.key_head_of_any(text);
                }
                // An ignored character has no code.
                let code = u64::from(ASCII_CODES[usize::from(byte)]);
                if code != 0 {
                    free -= 8;
                    head |= code << free;
                    if free == 0 {
                        break;
                    }
                }
            }
            return head;
        }
        self.key_head_of_any(text)
    }

    fn key_head_of_any(self, text: &[u8]) -> u64 {
        // Enough for eight bytes of key in most texts.
        const BEGINNING_BYTES: usize = 16;
        let mut cut = BEGINNING_BYTES.min(text.len());
        while cut > 0 && text.get(cut).is_some_and(|byte| byte & 0xC0 == 0x80) {
            cut -= 1;
        }
        let mut key = Vec::new();
        let begun = cut < text.len() && self.append_prefix_key(&text[..cut], &mut key).is_some() && key.len() >= 8;
        if !begun {
            key.clear();
            self.append_key(text, &mut key);
        }
        let mut head = [0; 8];
        let count = key.len().min(8);
        head[..count].copy_from_slice(&key[..count]);
        u64::from_be_bytes(head)
    }

    /// Appends the ordered key of the strings that *start* with `text`: the key without its end. Every string that starts with `text`
    /// (in the collation's eyes) has a key that starts with these bytes. `None` where keys do not work that way.
    pub fn append_prefix_key(self, text: &[u8], out: &mut Vec<u8>) -> Option<()> {
        match self.method() {
            Method::CodePoints | Method::Folding(_) | Method::Latin1Bytes | Method::Latin1(_) => {
                // Spaces at the end are followed by a byte that depends on what comes after them: leave them out.
                self.append_key(pad_space::trim(text), out);
                out.truncate(out.len() - 2);
            }
            Method::Expanding(kind) => kind.append_prefix_key(text, out),
            Method::Tailored(language, _) => language.tailored().append_prefix_key(text, out),
            Method::Uca900(strength) if strength != Strength::Primary => append_primary(text, out),
            Method::Bytes | Method::Uca900(_) => {
                self.append_key(text, out);
                out.pop();
            }
        }
        Some(())
    }

    /// Bytes of the ordered key that starts at `key`; `None` when it is cut short.
    pub fn key_bytes(self, key: &[u8]) -> Option<usize> {
        match self.method() {
            Method::CodePoints | Method::Folding(_) | Method::Latin1Bytes | Method::Latin1(_) => pad_space::key_bytes(key),
            Method::Expanding(kind) => kind.key_bytes(key),
            Method::Bytes => Some(key.iter().position(|byte| *byte == 0)? + 1),
            Method::Uca900(_) | Method::Tailored(..) => {
                let plain = matches!(self.method(), Method::Tailored(language, _) if language.is_plain());
                let mut at = 0;
                loop {
                    match *key.get(at)? {
                        0 => break,
                        _ if plain => at += 2,
                        lead => at += uca::code_bytes(lead),
                    }
                }
                at += 1;
                for level in 1..self.strength() as usize {
                    loop {
                        match *key.get(at)? {
                            0 => break,
                            lead if level == 1 && lead >= 0xF0 => at += 2,
                            _ => at += 1,
                        }
                    }
                    at += 1;
                }
                Some(at)
            }
        }
    }

    /// Whether [`Collation::decode_key`] gives the string back.
    pub fn key_is_reversible(self) -> bool {
        matches!(self.method(), Method::Bytes)
    }

    /// Whether [`Collation::decode_key`] gives back a string that does not end with a space.
    pub fn key_is_reversible_but_for_padding(self) -> bool {
        matches!(self.method(), Method::Bytes | Method::CodePoints)
    }

    /// Appends the string of an ordered key at the start of `key`, for `utf8mb4_bin` without the spaces at its end, and returns the key's
    /// bytes. `None`: the key is malformed or the collation's keys are not reversible.
    pub fn decode_key(self, key: &[u8], out: &mut Vec<u8>) -> Option<usize> {
        if self.method() == Method::CodePoints {
            return pad_space::decode_key(key, out);
        }
        if !self.key_is_reversible() {
            return None;
        }
        let mut at = 0;
        loop {
            match *key.get(at)? {
                0 => return Some(at + 1),
                1 => {
                    out.push(match *key.get(at + 1)? {
                        1 => 0,
                        2 => 1,
                        _ => return None,
                    });
                    at += 2;
                }
                byte => {
                    out.push(byte);
                    at += 1;
                }
            }
        }
    }

    /// What WEIGHT_STRING() shows.
    pub fn weight_string(self, text: &[u8], out: &mut Vec<u8>) {
        let mut points = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (point, bytes) = decode(rest);
            points.push(point);
            rest = &rest[bytes..];
        }
        let wide = |point: u32, out: &mut Vec<u8>| match self.charset() {
            Charset::Ascii => out.push(point as u8),
            Charset::Utf8mb3 => out.extend_from_slice(&(point as u16).to_be_bytes()),
            _ => out.extend_from_slice(&point.to_be_bytes()[1..]),
        };
        match self.method() {
            Method::Bytes => out.extend_from_slice(text),
            Method::CodePoints => points.iter().for_each(|point| wide(*point, out)),
            Method::Folding(_) if self.charset() == Charset::Ascii => pad_space::weight_bytes::<GeneralCi>(text, out),
            Method::Folding(folding) => with_folding!(folding, wide_weight_bytes(&points, out)),
            Method::Latin1Bytes => pad_space::weight_bytes::<Latin1Byte>(text, out),
            Method::Latin1(at) => with_latin1_table!(at, weight_bytes(text, out)),
            Method::Expanding(kind) => kind.weight_string(text, out),
            Method::Uca900(strength) => uca::raw_weights(&points, strength, out),
            Method::Tailored(language, strength) => language.tailored().weight_string(strength, text, out),
        }
    }

    /// Most bytes of weights for each byte of a text, as MySQL reckons them before it makes any.
    pub fn weight_bytes_max(self) -> usize {
        const LEVEL: usize = 16;
        match self.method() {
            Method::Bytes if self == Collation::Binary => 1,
            Method::Bytes => 4,
            Method::CodePoints => 3,
            Method::Folding(_) if self.charset() == Charset::Ascii => 1,
            Method::Folding(_) => 2,
            Method::Latin1Bytes | Method::Latin1(_) => 1,
            Method::Expanding(_) if self.charset() == Charset::Latin1 => 2,
            Method::Expanding(_) => 32,
            Method::Tailored(super::tailored::Language::Japanese, _) => 4 * LEVEL,
            Method::Uca900(strength) | Method::Tailored(_, strength) => strength as usize * LEVEL,
        }
    }

    /// The weights of a string, level by level; `None` where each character has one of its own.
    pub fn weight_levels(self, text: &[u8]) -> Option<Vec<Vec<u16>>> {
        let mut weights = Vec::new();
        match self.method() {
            Method::Uca900(_) | Method::Tailored(..) => {
                self.weight_string(text, &mut weights);
                let weights: Vec<u16> = weights.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
                // A zero stands between levels.
                Some(weights.split(|weight| *weight == 0).map(<[u16]>::to_vec).collect())
            }
            Method::Expanding(_) if self.charset() == Charset::Latin1 => {
                self.weight_string(text, &mut weights);
                Some(vec![weights.into_iter().map(u16::from).collect()])
            }
            Method::Expanding(_) => {
                self.weight_string(text, &mut weights);
                Some(vec![weights.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect()])
            }
            _ => None,
        }
    }

    /// Whether two code points have the same weights (LIKE compares character by character).
    pub(super) fn same_weight(self, a: u32, b: u32) -> bool {
        if a == b {
            return true;
        }
        match self.method() {
            Method::Bytes | Method::CodePoints | Method::Latin1Bytes => false,
            Method::Folding(folding) => with_folding!(folding, same(a, b)),
            Method::Latin1(at) => with_latin1_table!(at, same(a, b)),
            Method::Expanding(kind) => kind.same(a, b),
            Method::Uca900(Strength::Primary) if a < 0x80 && b < 0x80 => ASCII_CODES[a as usize] == ASCII_CODES[b as usize],
            Method::Tailored(language, strength) => language.tailored().same(strength, a, b),
            Method::Uca900(strength) => (0..strength as usize).all(|level| {
                let (mut x, mut y) = (CodeBuffer::default(), CodeBuffer::default());
                UCA.codes(level, a, &mut x) == UCA.codes(level, b, &mut y)
            }),
        }
    }

    /// Whether the bytes are legal in the collation's character set.
    pub fn is_valid(self, bytes: &[u8]) -> bool {
        self.charset().valid_prefix_bytes(bytes) == bytes.len()
    }

    /// Characters (bytes for [`Collation::Binary`]).
    pub fn char_count(self, bytes: &[u8]) -> usize {
        if self == Collation::Binary { bytes.len() } else { utf8::char_count(bytes) }
    }

    /// Bytes of the first `chars` characters.
    pub fn chars_prefix_bytes(self, bytes: &[u8], chars: usize) -> usize {
        if self == Collation::Binary { bytes.len().min(chars) } else { utf8::chars_prefix_bytes(bytes, chars) }
    }
}

/// Bytes that are the same at the start of both, counted by words.
#[inline]
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let mut at = 0;
    for (x, y) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        if x != y {
            break;
        }
        at += 8;
    }
    at
}

#[inline]
fn compare_primary(a: &[u8], b: &[u8]) -> Ordering {
    let mut at = common_prefix(a, b);
    // Equal bytes have equal weights; step back to where a character starts.
    let continues = |text: &[u8], at: usize| text.get(at).is_some_and(|byte| byte & 0xC0 == 0x80);
    while at > 0 && (continues(a, at) || continues(b, at)) {
        at -= 1;
    }
    let shorter = a.len().min(b.len());
    while at < shorter {
        let (x, y) = (a[at], b[at]);
        if (x | y) >= 0x80 {
            return compare_level(0, &a[at..], &b[at..]);
        }
        let (x, y) = (ASCII_CODES[usize::from(x)], ASCII_CODES[usize::from(y)]);
        if x != y {
            if x == 0 || y == 0 {
                return compare_level(0, &a[at..], &b[at..]);
            }
            return x.cmp(&y);
        }
        at += 1;
    }
    if a.len() == b.len() { Ordering::Equal } else { compare_level(0, &a[at..], &b[at..]) }
}

/// The codes of a string at one level, byte by byte.
struct CodeStream<'a> {
    uca: &'static Uca,
    level: usize,
    rest: &'a [u8],
    current: CodeBuffer,
    at: usize,
}

impl CodeStream<'_> {
    #[inline]
    fn next(&mut self) -> Option<u8> {
        loop {
            if let Some(&code) = self.current.as_slice().get(self.at) {
                self.at += 1;
                return Some(code);
            }
            if self.rest.is_empty() {
                return None;
            }
            let (point, bytes) = decode(self.rest);
            self.rest = &self.rest[bytes..];
            let mut scratch = CodeBuffer::default();
            let codes = self.uca.codes(self.level, point, &mut scratch);
            let mut current = CodeBuffer::default();
            current.extend(codes);
            self.current = current;
            self.at = 0;
        }
    }
}

fn compare_level(level: usize, a: &[u8], b: &[u8]) -> Ordering {
    let stream = |rest| CodeStream { uca: &UCA, level, rest, current: CodeBuffer::default(), at: 0 };
    let (mut a, mut b) = (stream(a), stream(b));
    loop {
        // A string that ends sorts before one that goes on: None is less than Some.
        match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (x, y) if x != y => return x.cmp(&y),
            _ => {}
        }
    }
}

/// Appends the primary codes without an end.
#[inline]
fn append_primary(text: &[u8], out: &mut Vec<u8>) {
    let ascii = if text.is_ascii() { text.len() } else { text.iter().position(|byte| *byte >= 0x80).unwrap_or(text.len()) };
    let start = out.len();
    out.reserve(text.len() + 1);
    out.resize(start + ascii, 0);
    // Every character writes its code; one that is ignored has code 0, and the next one takes its place.
    let codes = &mut out[start..];
    let mut count = 0;
    for byte in &text[..ascii] {
        let code = ASCII_CODES[usize::from(*byte & 0x7F)];
        codes[count] = code;
        count += usize::from(code != 0);
    }
    out.truncate(start + count);
    if ascii < text.len() {
        append_level(0, &text[ascii..], out);
    }
}

fn append_level(level: usize, mut text: &[u8], out: &mut Vec<u8>) {
    let uca: &Uca = &UCA;
    let mut scratch = CodeBuffer::default();
    while !text.is_empty() {
        let (point, bytes) = decode(text);
        text = &text[bytes..];
        out.extend_from_slice(uca.codes(level, point, &mut scratch));
    }
}

/// Bytes as they are, 0 and 1 escaped by 1, ended by 0.
fn append_escaped(text: &[u8], out: &mut Vec<u8>) {
    out.reserve(text.len() + 1);
    for &byte in text {
        if byte <= 1 {
            out.push(1);
        }
        out.push(if byte <= 1 { byte + 1 } else { byte });
    }
    out.push(0);
}
