//! UCA 9.0.0 weights of every code point, as order-preserving codes.
//!
//! A primary weight becomes one byte when an ASCII character has it (so all Latin letters, digits, common punctuation), two bytes for the
//! letters of other scripts, four for an ideograph, three for the rest. The codes form a prefix-free set that sorts as the weights do
//! and never holds a leading zero byte, so comparing code strings is comparing weight strings, and sort keys of ASCII text are no longer
//! than the text. Secondary weights take one or two bytes, tertiary ones one.
//!
//! Weights are those of MySQL's `utf8mb4_0900_*`: DUCET without contractions, variable weights not ignored, Hangul syllables by
//! their letters, implicit weights for ideographs and unassigned code points. Equality with MySQL 9.7 for every code point is a test.

use super::code_buffer::CodeBuffer;
use super::numbers::Numbers;
use super::uca900_codes::{EXACT, GAPS, IMPLICIT_LEAD, LAST_LEAD, PAGE_FIRST, PAGE_LAST, PAGE_LEAD};
use std::sync::LazyLock;

static DATA: &[u8] = include_bytes!("uca900.bin");

/// Code points are grouped in blocks of 128.
const BLOCK_BITS: u32 = 7;
const BLOCK: usize = 1 << BLOCK_BITS;
const BLOCK_COUNT: usize = 0x11_0000 >> BLOCK_BITS;
/// An entry with this value: the code point is not in the table (a Hangul syllable or implicit).
const ABSENT: u32 = u32::MAX;

/// Code strings of one level.
struct Level {
    /// Per code point of a present block: offset << 8 | length in `pool`, or `ABSENT`.
    entries: Vec<u32>,
    pool: Vec<u8>,
}

/// The expanded table.
pub(super) struct Uca {
    /// Index of a block in the levels' entries; block 0 is all absent.
    blocks: Vec<u16>,
    levels: [Level; 3],
}

/// The table, expanded at first use (about 30,000 code points, a millisecond).
pub(super) static UCA: LazyLock<Uca> = LazyLock::new(Uca::expand);

/// The levels of a collation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strength {
    /// Accents and case do not count.
    Primary = 1,
    /// Case does not count.
    Secondary = 2,
    /// All count.
    Tertiary = 3,
    /// Also whether a syllable is in Hiragana or Katakana; only the Japanese one.
    Kana = 4,
}

/// MySQL's table gives the last 164 Hangul syllables the tertiary weight 3.
pub(super) const HANGUL_TERTIARY_3: u32 = 0xD700;

/// One collation element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) primary: u16,
    pub(super) secondary: u16,
    pub(super) tertiary: u8,
}

/// Appends the code of a primary weight; `after_implicit` carries over between the elements of one code point.
pub(super) fn push_primary(primary: u16, after_implicit: &mut bool, out: &mut CodeBuffer) {
    let [high, low] = primary.to_be_bytes();
    if *after_implicit {
        *after_implicit = false;
        out.extend(&[high, low]);
    } else if high == 0xFB {
        *after_implicit = true;
        out.extend(&[IMPLICIT_LEAD, low]);
    } else if let Ok(at) = EXACT.binary_search_by_key(&primary, |(weight, _)| *weight) {
        out.extend(&[EXACT[at].1]);
    } else if let Some((_, _, lead)) = GAPS.iter().find(|(first, last, _)| (*first..=*last).contains(&primary)) {
        out.extend(&[*lead, high, low]);
    } else if (PAGE_FIRST..=PAGE_LAST).contains(&high) {
        out.extend(&[PAGE_LEAD + (high - PAGE_FIRST), low]);
    } else {
        out.extend(&[LAST_LEAD, high, low]);
    }
}

/// Appends the code of a secondary weight.
pub(super) fn push_secondary(weight: u16, out: &mut CodeBuffer) {
    let [high, low] = weight.to_be_bytes();
    if high == 0 && low < 0xF0 { out.extend(&[low]) } else { out.extend(&[0xF0 | high, low]) }
}

fn push_codes(elements: &[Element], level: usize, out: &mut CodeBuffer) {
    let mut after_implicit = false;
    for element in elements {
        match level {
            0 if element.primary != 0 => push_primary(element.primary, &mut after_implicit, out),
            1 if element.secondary != 0 => push_secondary(element.secondary, out),
            2 if element.tertiary != 0 => out.extend(&[element.tertiary]),
            _ => {}
        }
    }
}

/// Calls `visit` with each code point of the file and its elements.
pub(super) fn for_each_in_file(mut visit: impl FnMut(u32, &[Element])) {
    let mut bytes = Numbers(DATA);
    let count = bytes.varint();
    let (mut point, mut primary) = (0u32, 0i32);
    let mut elements = Vec::with_capacity(8);
    for _ in 0..count {
        point += bytes.varint();
        elements.clear();
        for _ in 0..bytes.varint() {
            primary += bytes.zigzag();
            elements.push(Element { primary: primary as u16, secondary: bytes.varint() as u16, tertiary: bytes.varint() as u8 });
        }
        visit(point, &elements);
    }
}

/// The implicit weights of a code point that the table does not have.
pub(super) fn implicit(point: u32) -> [Element; 2] {
    let base = match point {
        0x17000..=0x18AFF => None,
        0x4E00..=0x9FD5 | 0xFA0E | 0xFA0F | 0xFA11 | 0xFA13 | 0xFA14 | 0xFA1F | 0xFA21 | 0xFA23 | 0xFA24 | 0xFA27..=0xFA29 => Some(0xFB40),
        0x3400..=0x4DB5 | 0x20000..=0x2A6D6 | 0x2A700..=0x2B734 | 0x2B740..=0x2B81D | 0x2B820..=0x2CEA1 => Some(0xFB80),
        _ => Some(0xFBC0),
    };
    let (first, second) = match base {
        Some(base) => (base + (point >> 15), point & 0x7FFF | 0x8000),
        // Tangut.
        None => (0xFB00, (point - 0x17000) | 0x8000),
    };
    [Element { primary: first as u16, secondary: 0x20, tertiary: 2 }, Element { primary: second as u16, secondary: 0, tertiary: 0 }]
}

/// Hangul syllables; the twelve unassigned points behind them go by the same formula in MySQL.
pub(super) const HANGUL: std::ops::RangeInclusive<u32> = 0xAC00..=0xD7AF;

/// The two or three letters of a Hangul syllable.
pub(super) fn hangul_letters(point: u32) -> ([u32; 3], usize) {
    let index = point - 0xAC00;
    let tail = index % 28;
    ([0x1100 + index / 588, 0x1161 + index % 588 / 28, 0x11A7 + tail], if tail == 0 { 2 } else { 3 })
}

impl Uca {
    fn expand() -> Uca {
        let mut uca = Uca::empty();
        for_each_in_file(|point, elements| uca.insert(point, |level, codes| push_codes(elements, level, codes)));
        uca
    }

    /// A table without code points.
    pub(super) fn empty() -> Uca {
        Uca {
            blocks: vec![0; BLOCK_COUNT],
            levels: std::array::from_fn(|_| Level { entries: vec![ABSENT; BLOCK], pool: Vec::with_capacity(1 << 10) }),
        }
    }

    /// Adds or replaces a code point; `codes_of` gives its codes at a level.
    pub(super) fn insert(&mut self, point: u32, codes_of: impl Fn(usize, &mut CodeBuffer)) {
        let block = point as usize >> BLOCK_BITS;
        if self.blocks[block] == 0 {
            self.blocks[block] = (self.levels[0].entries.len() >> BLOCK_BITS) as u16;
            for level in &mut self.levels {
                level.entries.resize(level.entries.len() + BLOCK, ABSENT);
            }
        }
        let at = usize::from(self.blocks[block]) << BLOCK_BITS | point as usize & (BLOCK - 1);
        for (number, level) in self.levels.iter_mut().enumerate() {
            let start = level.pool.len();
            let mut codes = CodeBuffer::default();
            codes_of(number, &mut codes);
            level.pool.extend_from_slice(codes.as_slice());
            level.entries[at] = (start as u32) << 8 | (level.pool.len() - start) as u32;
        }
    }

    #[inline]
    pub(super) fn present(&self, level: usize, point: u32) -> Option<&[u8]> {
        let block = usize::from(*self.blocks.get(point as usize >> BLOCK_BITS)?);
        let entry = self.levels[level].entries[block << BLOCK_BITS | point as usize & (BLOCK - 1)];
        if entry == ABSENT {
            return None;
        }
        let start = (entry >> 8) as usize;
        Some(&self.levels[level].pool[start..start + (entry & 0xFF) as usize])
    }

    /// The codes of a code point at a level (0 to 2). `scratch` holds those that are computed.
    #[inline]
    pub(super) fn codes<'a>(&'a self, level: usize, point: u32, scratch: &'a mut CodeBuffer) -> &'a [u8] {
        match self.present(level, point) {
            Some(codes) => codes,
            None => {
                *scratch = self.computed(level, point);
                scratch.as_slice()
            }
        }
    }

    fn computed(&self, level: usize, point: u32) -> CodeBuffer {
        let mut out = CodeBuffer::default();
        if !HANGUL.contains(&point) {
            push_codes(&implicit(point), level, &mut out);
            return out;
        }
        let (letters, count) = hangul_letters(point);
        for letter in &letters[..count] {
            out.extend(self.present(level, *letter).unwrap_or(&[]));
        }
        if level == 2 && point >= HANGUL_TERTIARY_3 {
            out.fill(3);
        }
        out
    }
}

/// Bytes of the level-one code that starts with a byte; 0 ends the level.
pub(super) fn code_bytes(lead: u8) -> usize {
    if lead == IMPLICIT_LEAD {
        4
    } else if (PAGE_LEAD..IMPLICIT_LEAD).contains(&lead) {
        2
    } else if lead == LAST_LEAD || GAPS.iter().any(|(_, _, gap)| *gap == lead) {
        3
    } else {
        1
    }
}

/// Calls `visit` with the primary weights of codes.
pub(super) fn each_primary(mut codes: &[u8], mut visit: impl FnMut(u16)) {
    let weight = |high: u8, low: u8| u16::from_be_bytes([high, low]);
    while let Some(&lead) = codes.first() {
        let bytes = code_bytes(lead).min(codes.len());
        match &codes[..bytes] {
            [_, low, high_behind, low_behind] => {
                visit(weight(0xFB, *low));
                visit(weight(*high_behind, *low_behind));
            }
            [_, high, low] => visit(weight(*high, *low)),
            [_, low] => visit(weight(PAGE_FIRST + (lead - PAGE_LEAD), *low)),
            _ => EXACT.iter().filter(|(_, code)| *code == lead).for_each(|(weight, _)| visit(*weight)),
        }
        codes = &codes[bytes..];
    }
}

/// Calls `visit` with the secondary weights of codes.
pub(super) fn each_secondary(mut codes: &[u8], mut visit: impl FnMut(u16)) {
    while let Some((&lead, rest)) = codes.split_first() {
        codes = rest;
        match rest.split_first() {
            Some((&low, rest)) if lead >= 0xF0 => {
                visit(u16::from_be_bytes([lead & 0x0F, low]));
                codes = rest;
            }
            _ => visit(u16::from(lead)),
        }
    }
}

/// The 16-bit weights of a code point, as WEIGHT_STRING() shows them: levels after each other, separated by zero.
pub(super) fn raw_weights(points: &[u32], strength: Strength, out: &mut Vec<u8>) {
    static ELEMENTS: LazyLock<Vec<(u32, Vec<Element>)>> = LazyLock::new(|| {
        let mut all = Vec::new();
        for_each_in_file(|point, elements| all.push((point, elements.to_vec())));
        all
    });
    let find = |point: u32| ELEMENTS.binary_search_by_key(&point, |(p, _)| *p).ok().map(|at| ELEMENTS[at].1.as_slice());
    let mut elements = Vec::new();
    for &point in points {
        match find(point) {
            Some(found) => elements.extend_from_slice(found),
            None if HANGUL.contains(&point) => {
                let (letters, count) = hangul_letters(point);
                let tertiary = if point >= HANGUL_TERTIARY_3 { 3 } else { 2 };
                let found = letters[..count].iter().filter_map(|letter| find(*letter)).flatten();
                elements.extend(found.map(|element| Element { tertiary, ..*element }));
            }
            None => elements.extend_from_slice(&implicit(point)),
        }
    }
    for level in 0..strength as usize {
        if level > 0 {
            out.extend_from_slice(&[0, 0]);
        }
        for element in &elements {
            let weight = [element.primary, element.secondary, u16::from(element.tertiary)][level];
            if weight != 0 {
                out.extend_from_slice(&weight.to_be_bytes());
            }
        }
    }
}
