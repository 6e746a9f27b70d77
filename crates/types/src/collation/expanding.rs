//! Collations of which a character may have several weights, or none, and which ignore trailing spaces: `unicode_ci` (UCA 4.0.0),
//! `unicode_520_ci` (UCA 5.2.0) and `latin1_german2_ci`. Only primary weights count.
//!
//! A string is the sequence of its weights; a shorter one compares as if it went on with the weight of a space. The ordered key is as that of
//! `pad_space`: weights of two bytes, behind each space's a byte that tells how the weights behind its run of spaces compare with more spaces.

use super::utf8::decode;
use crate::charset::latin1_byte;
use std::cmp::Ordering;
use std::sync::LazyLock;

/// Which weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `latin1_german2_ci`; its characters are numbered by their bytes.
    German2,
    /// UCA 4.0.0.
    Uca400,
    /// UCA 5.2.0.
    Uca520,
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

/// The next number of a generated file; the files are part of the binary, so that a malformed one only ends early.
fn varint(bytes: &mut &[u8]) -> u32 {
    let (mut value, mut shift) = (0, 0);
    while let Some((&byte, rest)) = bytes.split_first() {
        *bytes = rest;
        value |= u32::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 || shift >= 28 {
            break;
        }
        shift += 7;
    }
    value
}

impl Table {
    fn expand(mut file: &[u8]) -> Table {
        let mut table = Table { blocks: vec![0; BLOCK_COUNT], entries: vec![ABSENT; BLOCK], pool: Vec::new() };
        let bytes = &mut file;
        let (mut point, mut weight) = (0u32, 0i32);
        for _ in 0..varint(bytes) {
            point += varint(bytes);
            let start = table.pool.len();
            let count = varint(bytes);
            for _ in 0..count {
                let delta = varint(bytes);
                weight += if delta & 1 == 0 { (delta >> 1) as i32 } else { -((delta >> 1) as i32) - 1 };
                table.pool.push(weight as u16);
            }
            let block = point as usize >> BLOCK_BITS;
            if table.blocks[block] == 0 {
                table.blocks[block] = (table.entries.len() >> BLOCK_BITS) as u16;
                table.entries.resize(table.entries.len() + BLOCK, ABSENT);
            }
            let at = usize::from(table.blocks[block]) << BLOCK_BITS | point as usize & (BLOCK - 1);
            table.entries[at] = (start as u32) << 8 | count;
        }
        table
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
            Kind::Uca400 => &UCA400,
            Kind::Uca520 => &UCA520,
        }
    }

    /// The weight of a space.
    fn space(self) -> u16 {
        match self {
            Kind::German2 => 0x20,
            Kind::Uca400 => 0x0209,
            Kind::Uca520 => 0x020A,
        }
    }

    /// Calls `visit` with each weight of a code point.
    #[inline]
    fn each_weight(self, table: &Table, point: u32, mut visit: impl FnMut(u16)) {
        let point = match self {
            Kind::German2 => match latin1_byte(point) {
                Some(byte) => u32::from(byte),
                // A text of another character set that is compared: behind all that latin1 has.
                None => {
                    visit(0x100 | (point >> 16) as u16);
                    return visit(point as u16);
                }
            },
            _ => point,
        };
        match table.weights(point) {
            Some(weights) => weights.iter().for_each(|weight| visit(*weight)),
            None if self == Kind::German2 => visit(point as u16),
            None if self == Kind::Uca400 && point > 0xFFFF => visit(0xFFFD),
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
            self.each_weight(table, point, |weight| all.push(weight));
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

    /// Appends the ordered key without its end.
    pub(super) fn append_open_key(self, text: &[u8], out: &mut Vec<u8>) {
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
            self.kind.each_weight(self.table, point, |weight| {
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
