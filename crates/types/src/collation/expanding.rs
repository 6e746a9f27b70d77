//! Collations of which a character may have several weights, or none, and which ignore trailing spaces: `unicode_ci` (UCA 4.0.0),
//! `unicode_520_ci` (UCA 5.2.0), `latin1_german2_ci`, and the older ones of languages (`swedish_ci` and its like: UCA 4.0.0 with what
//! `scripts/generate_tailorings.py` has found them to have of their own). Only primary weights count.
//!
//! A string is the sequence of its weights; a shorter one compares as if it went on with the weight of a space. The ordered key is as that of
//! `pad_space`: weights of two bytes, behind each space's a byte that tells how the weights behind its run of spaces compare with more spaces.

use super::contractions::Contractions;
use super::language_file::LanguageFile;
use super::numbers::Numbers;
use super::utf8::decode;
use crate::charset::latin1_byte;
use std::cmp::Ordering;
use std::sync::{LazyLock, OnceLock};

/// Which weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `latin1_german2_ci`; its characters are numbered by their bytes.
    German2,
    /// UCA 4.0.0.
    Uca400,
    /// UCA 5.2.0.
    Uca520,
    /// UCA 4.0.0 with a language.
    Tailored(Language),
}

/// A language; the number is its place in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Croatian,
    Czech,
    Danish,
    Esperanto,
    Estonian,
    GermanPhonebook,
    Hungarian,
    Icelandic,
    Latvian,
    Lithuanian,
    Persian,
    Polish,
    Roman,
    Romanian,
    Sinhala,
    Slovak,
    Slovenian,
    Spanish,
    SpanishTraditional,
    Swedish,
    Turkish,
    Vietnamese,
}

const LANGUAGES: usize = Language::Vietnamese as usize + 1;

/// What a language has of its own.
struct Tailored {
    table: Table,
    contractions: Contractions<Box<[u16]>>,
}

static TAILORED: [OnceLock<Tailored>; LANGUAGES] = [const { OnceLock::new() }; LANGUAGES];

impl Language {
    #[inline]
    fn tailored(self) -> &'static Tailored {
        TAILORED[self as usize].get_or_init(|| {
            let mut file = LanguageFile::open(include_bytes!("tailored400.bin"), self as usize, 1);
            let mut table = Table::empty();
            file.each_point(|point, weights| table.insert(point, &weights[0]));
            let mut contractions = Vec::new();
            file.each_contraction(|points, weights| contractions.push((points, Box::from(weights[0].as_slice()))));
            Tailored { table, contractions: Contractions::new(contractions) }
        })
    }
}

const BLOCK_BITS: u32 = 8;
const BLOCK: usize = 1 << BLOCK_BITS;
const BLOCK_COUNT: usize = 0x11_0000 >> BLOCK_BITS;
/// Not in the table: computed.
const ABSENT: u32 = u32::MAX;

struct Table {
    /// Index of a block of entries; block 0 is all absent.
    blocks: Vec<u16>,
    /// Offset << 8 | count in `pool`, or `ABSENT`.
    entries: Vec<u32>,
    pool: Vec<u16>,
}

static GERMAN2: LazyLock<Table> = LazyLock::new(|| Table::expand(include_bytes!("german2.bin")));
static UCA400: LazyLock<Table> = LazyLock::new(|| Table::expand(include_bytes!("uca400.bin")));
static UCA520: LazyLock<Table> = LazyLock::new(|| Table::expand(include_bytes!("uca520.bin")));

impl Table {
    fn expand(file: &'static [u8]) -> Table {
        let mut table = Table::empty();
        let mut numbers = Numbers(file);
        let (mut point, mut weight) = (0u32, 0i32);
        let mut weights = Vec::new();
        for _ in 0..numbers.varint() {
            point += numbers.varint();
            weights.clear();
            for _ in 0..numbers.varint() {
                weight += numbers.zigzag();
                weights.push(weight as u16);
            }
            table.insert(point, &weights);
        }
        table
    }

    fn empty() -> Table {
        Table { blocks: vec![0; BLOCK_COUNT], entries: vec![ABSENT; BLOCK], pool: Vec::new() }
    }

    fn insert(&mut self, point: u32, weights: &[u16]) {
        let block = point as usize >> BLOCK_BITS;
        if self.blocks[block] == 0 {
            self.blocks[block] = (self.entries.len() >> BLOCK_BITS) as u16;
            self.entries.resize(self.entries.len() + BLOCK, ABSENT);
        }
        let at = usize::from(self.blocks[block]) << BLOCK_BITS | point as usize & (BLOCK - 1);
        self.entries[at] = (self.pool.len() as u32) << 8 | weights.len() as u32;
        self.pool.extend_from_slice(weights);
    }

    #[inline]
    fn weights(&self, point: u32) -> Option<&[u16]> {
        let block = usize::from(*self.blocks.get(point as usize >> BLOCK_BITS)?);
        let entry = self.entries[block << BLOCK_BITS | point as usize & (BLOCK - 1)];
        if entry == ABSENT {
            return None;
        }
        let start = (entry >> 8) as usize;
        self.pool.get(start..start + (entry & 0xFF) as usize)
    }
}

/// The weights of ideographs and of what is not assigned, by UCA's formula.
fn implicit(point: u32) -> [u16; 2] {
    let base = match point {
        0x4E00..=0x9FA5 => 0xFB40,
        0x3400..=0x4DB5 => 0xFB80,
        _ => 0xFBC0,
    };
    [(base + (point >> 15)) as u16, (point & 0x7FFF | 0x8000) as u16]
}

impl Kind {
    fn table(self) -> &'static Table {
        match self {
            Kind::German2 => &GERMAN2,
            Kind::Uca400 | Kind::Tailored(_) => &UCA400,
            Kind::Uca520 => &UCA520,
        }
    }

    /// The weight of a space.
    fn space(self) -> u16 {
        match self {
            Kind::German2 => 0x20,
            Kind::Uca400 | Kind::Tailored(_) => 0x0209,
            Kind::Uca520 => 0x020A,
        }
    }

    /// Calls `visit` with each weight of a code point by itself.
    #[inline]
    fn each_weight(self, table: &Table, point: u32, visit: impl FnMut(u16)) {
        let mut nothing: &[u8] = &[];
        self.each_weight_of_next(table, point, &mut nothing, visit);
    }

    /// Calls `visit` with each weight of a code point, or of the contraction that starts with it: what that takes of `rest` is cut off.
    #[inline]
    fn each_weight_of_next(self, table: &Table, point: u32, rest: &mut &[u8], mut visit: impl FnMut(u16)) {
        let point = match self {
            Kind::German2 => match latin1_byte(point) {
                Some(byte) => u32::from(byte),
                // A text of another character set that is compared: behind all that latin1 has.
                None => {
                    visit(0x100 | (point >> 16) as u16);
                    return visit(point as u16);
                }
            },
            Kind::Tailored(language) => {
                let own = language.tailored();
                if let Some((weights, bytes)) = own.contractions.longest(point, rest) {
                    *rest = &rest[bytes..];
                    return weights.iter().for_each(|weight| visit(*weight));
                }
                if let Some(weights) = own.table.weights(point) {
                    return weights.iter().for_each(|weight| visit(*weight));
                }
                point
            }
            _ => point,
        };
        match table.weights(point) {
            Some(weights) => weights.iter().for_each(|weight| visit(*weight)),
            None if self == Kind::German2 => visit(point as u16),
            None if self != Kind::Uca520 && point > 0xFFFF => visit(0xFFFD),
            None => implicit(point).into_iter().for_each(visit),
        }
    }

    /// All weights of a text.
    fn weights(self, text: &[u8]) -> Vec<u16> {
        let table = self.table();
        let mut all = Vec::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            let (point, bytes) = decode(rest);
            rest = &rest[bytes..];
            self.each_weight_of_next(table, point, &mut rest, |weight| all.push(weight));
        }
        all
    }

    pub(super) fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        let (mut x, mut y) = (Stream::new(self, a), Stream::new(self, b));
        let space = self.space();
        loop {
            let (p, q) = (x.next(), y.next());
            match (p, q) {
                (None, None) => return Ordering::Equal,
                _ => match p.unwrap_or(space).cmp(&q.unwrap_or(space)) {
                    Ordering::Equal => {}
                    unequal => return unequal,
                },
            }
        }
    }

    /// Whether two code points have the same weights.
    pub(super) fn same(self, a: u32, b: u32) -> bool {
        let of = |point| {
            let (mut weights, mut count) = ([0u16; 16], 0);
            self.each_weight(self.table(), point, |weight| {
                if let Some(place) = weights.get_mut(count) {
                    *place = weight;
                    count += 1;
                }
            });
            (weights, count)
        };
        of(a) == of(b)
    }

    /// What the keys of all strings begin with that start with a text, or with what LIKE takes for it.
    pub(super) fn append_prefix_key(self, text: &[u8], out: &mut Vec<u8>) {
        let text = match self {
            Kind::Tailored(language) => language.tailored().contractions.firm_prefix(text, |a, b| self.same(a, b)),
            _ => text,
        };
        self.append_open_key(text, out);
    }

    #[cfg(test)]
    pub(super) fn contractions(self) -> Vec<String> {
        match self {
            Kind::Tailored(language) => language.tailored().contractions.sequences(),
            _ => Vec::new(),
        }
    }

    /// Whether characters may weigh otherwise together than each by itself.
    pub(super) fn joins(self) -> bool {
        matches!(self, Kind::Tailored(language) if !language.tailored().contractions.is_empty())
    }

    /// Appends the ordered key without its end.
    fn append_open_key(self, text: &[u8], out: &mut Vec<u8>) {
        let mut weights = self.weights(text);
        let space = self.space();
        while weights.last() == Some(&space) {
            weights.pop();
        }
        out.reserve(2 * weights.len() + 3);
        let mut at = 0;
        while at < weights.len() {
            if weights[at] != space {
                out.extend_from_slice(&weights[at].to_be_bytes());
                at += 1;
                continue;
            }
            let run = weights[at..].iter().take_while(|weight| **weight == space).count();
            // What follows a run is no space, and there is something: spaces at the end are gone.
            let follows = u8::from(weights[at + run] > space) * 2;
            for _ in 0..run {
                out.extend_from_slice(&space.to_be_bytes());
                out.push(follows);
            }
            at += run;
        }
    }

    /// Appends the ordered key.
    pub(super) fn append_key(self, text: &[u8], out: &mut Vec<u8>) {
        self.append_open_key(text, out);
        out.extend_from_slice(&self.space().to_be_bytes());
        out.push(1);
    }

    /// Bytes of the ordered key at the start of `key`; `None` when its end is missing.
    pub(super) fn key_bytes(self, key: &[u8]) -> Option<usize> {
        let mut at = 0;
        loop {
            let weight = u16::from_be_bytes([*key.get(at)?, *key.get(at + 1)?]);
            at += 2;
            if weight == self.space() {
                at += 1;
                if *key.get(at - 1)? == 1 {
                    return Some(at);
                }
            }
        }
    }

    /// What WEIGHT_STRING() shows.
    pub(super) fn weight_string(self, text: &[u8], out: &mut Vec<u8>) {
        for weight in self.weights(text) {
            match self {
                Kind::German2 => out.push(weight as u8),
                _ => out.extend_from_slice(&weight.to_be_bytes()),
            }
        }
    }
}

/// The weights of a text, one after the other.
struct Stream<'a> {
    kind: Kind,
    table: &'static Table,
    rest: &'a [u8],
    /// Weights of the last code point that are still to come.
    waiting: [u16; 8],
    at: u8,
    count: u8,
}

impl<'a> Stream<'a> {
    fn new(kind: Kind, rest: &'a [u8]) -> Self {
        Stream { kind, table: kind.table(), rest, waiting: [0; 8], at: 0, count: 0 }
    }

    #[inline]
    fn next(&mut self) -> Option<u16> {
        while self.at == self.count {
            if self.rest.is_empty() {
                return None;
            }
            let (point, bytes) = decode(self.rest);
            self.rest = &self.rest[bytes..];
            let (waiting, mut count) = (&mut self.waiting, 0);
            self.kind.each_weight_of_next(self.table, point, &mut self.rest, |weight| {
                if let Some(place) = waiting.get_mut(count) {
                    *place = weight;
                    count += 1;
                }
            });
            (self.at, self.count) = (0, count as u8);
        }
        self.at += 1;
        Some(self.waiting[usize::from(self.at) - 1])
    }
}
