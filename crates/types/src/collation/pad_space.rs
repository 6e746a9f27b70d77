//! Collations with one weight for each character that ignore trailing spaces: `utf8mb4_bin`, `utf8mb4_general_ci`, those of latin1 and their like.
//!
//! A shorter string compares as if it went on with spaces, so "a\t" sorts before "a". The ordered key says the same in bytes: every
//! space is followed by a byte that tells how the text after its run of spaces compares with more spaces: 0 less, 1 it is the end, 2 greater.

use super::utf8::decode;
use crate::charset::latin1_byte;
use std::cmp::Ordering;
use std::sync::LazyLock;

/// Weight of one code point.
pub(super) trait CharWeight {
    fn weight(point: u32) -> u32;
}

/// `utf8mb4_bin`.
pub(super) struct CodePoint;

impl CharWeight for CodePoint {
    #[inline]
    fn weight(point: u32) -> u32 {
        point
    }
}

/// Collations of Unicode that give each character a weight of 16 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Folding {
    /// [`GeneralCi`].
    General,
    /// [`GeneralMysql500`].
    Mysql500,
    /// [`ToLower`].
    Lower,
}

/// Calls a generic function with the weights of a [`Folding`].
macro_rules! with_folding {
    ($folding:expr, $function:ident $arguments:tt) => {
        match $folding {
            $crate::collation::pad_space::Folding::General => {
                $crate::collation::pad_space::$function::<$crate::collation::pad_space::GeneralCi> $arguments
            }
            $crate::collation::pad_space::Folding::Mysql500 => {
                $crate::collation::pad_space::$function::<$crate::collation::pad_space::GeneralMysql500> $arguments
            }
            $crate::collation::pad_space::Folding::Lower => {
                $crate::collation::pad_space::$function::<$crate::collation::pad_space::ToLower> $arguments
            }
        }
    };
}
pub(super) use with_folding;

/// `utf8mb4_general_ci`.
pub(super) struct GeneralCi;

/// `utf8mb3_general_mysql500_ci`: the same, but for the sharp s.
pub(super) struct GeneralMysql500;

/// `utf8mb3_tolower_ci`.
pub(super) struct ToLower;

/// Blocks of 256 weights of the Basic Multilingual Plane; `None` where every weight is the code point.
type Blocks = Vec<Option<Box<[u16; 256]>>>;

static GENERAL: LazyLock<Blocks> = LazyLock::new(|| blocks(include_bytes!("general_ci.bin")));
static LOWER: LazyLock<Blocks> = LazyLock::new(|| blocks(include_bytes!("tolower_ci.bin")));

/// Of pairs of a code point and its weight, for those whose weight is another number.
fn blocks(data: &[u8]) -> Blocks {
    let mut blocks: Blocks = vec![None; 256];
    for pair in data.chunks_exact(4) {
        let (point, weight) = (u16::from_le_bytes([pair[0], pair[1]]), u16::from_le_bytes([pair[2], pair[3]]));
        let block = blocks[usize::from(point >> 8)].get_or_insert_with(|| Box::new(std::array::from_fn(|low| point & 0xFF00 | low as u16)));
        block[usize::from(point & 0xFF)] = weight;
    }
    blocks
}

/// The weight of a character beyond ASCII.
#[inline]
fn wide_weight(blocks: &Blocks, point: u32) -> u32 {
    match point {
        0..0x1_0000 => blocks[point as usize >> 8].as_ref().map_or(point, |block| u32::from(block[point as usize & 0xFF])),
        // All supplementary characters are one weight.
        _ => 0xFFFD,
    }
}

impl CharWeight for GeneralCi {
    #[inline]
    fn weight(point: u32) -> u32 {
        match point {
            0..0x80 => u32::from((point as u8).to_ascii_uppercase()),
            _ => wide_weight(&GENERAL, point),
        }
    }
}

impl CharWeight for GeneralMysql500 {
    #[inline]
    fn weight(point: u32) -> u32 {
        const SHARP_S: u32 = 0xDF;
        if point == SHARP_S { SHARP_S } else { GeneralCi::weight(point) }
    }
}

impl CharWeight for ToLower {
    #[inline]
    fn weight(point: u32) -> u32 {
        match point {
            0..0x80 => u32::from((point as u8).to_ascii_lowercase()),
            _ => wide_weight(&LOWER, point),
        }
    }
}

static LATIN1_DATA: &[u8] = include_bytes!("latin1.bin");

/// A text of another character set that is compared under a collation of latin1: behind all that latin1 has.
const BEHIND_LATIN1: u32 = 0x1_0000;

/// `latin1_bin`.
pub(super) struct Latin1Byte;

impl CharWeight for Latin1Byte {
    #[inline]
    fn weight(point: u32) -> u32 {
        latin1_byte(point).map_or(BEHIND_LATIN1 + point, u32::from)
    }
}

/// One of the tables of `latin1.bin`.
pub(super) struct Latin1Table<const AT: usize>;

impl<const AT: usize> CharWeight for Latin1Table<AT> {
    #[inline]
    fn weight(point: u32) -> u32 {
        latin1_byte(point).map_or(BEHIND_LATIN1 + point, |byte| u32::from(LATIN1_DATA[AT * 256 + usize::from(byte)]))
    }
}

/// Calls a generic function with the weights of a table that is known at run time only.
macro_rules! with_latin1_table {
    ($at:expr, $function:ident $arguments:tt) => {
        match $at {
            0 => $crate::collation::pad_space::$function::<$crate::collation::pad_space::Latin1Table<0>> $arguments,
            1 => $crate::collation::pad_space::$function::<$crate::collation::pad_space::Latin1Table<1>> $arguments,
            2 => $crate::collation::pad_space::$function::<$crate::collation::pad_space::Latin1Table<2>> $arguments,
            3 => $crate::collation::pad_space::$function::<$crate::collation::pad_space::Latin1Table<3>> $arguments,
            4 => $crate::collation::pad_space::$function::<$crate::collation::pad_space::Latin1Table<4>> $arguments,
            _ => $crate::collation::pad_space::$function::<$crate::collation::pad_space::Latin1Table<5>> $arguments,
        }
    };
}
pub(super) use with_latin1_table;

/// The text without trailing spaces.
#[inline]
pub(super) fn trim(text: &[u8]) -> &[u8] {
    let mut end = text.len();
    while end > 0 && text[end - 1] == b' ' {
        end -= 1;
    }
    &text[..end]
}

const SPACE: u32 = 0x20;

pub(super) fn compare<W: CharWeight>(mut a: &[u8], mut b: &[u8]) -> Ordering {
    loop {
        match (a.is_empty(), b.is_empty()) {
            (true, true) => return Ordering::Equal,
            (false, false) => {
                let ((x, x_bytes), (y, y_bytes)) = (decode(a), decode(b));
                if x != y {
                    match W::weight(x).cmp(&W::weight(y)) {
                        Ordering::Equal => {}
                        unequal => return unequal,
                    }
                }
                a = &a[x_bytes..];
                b = &b[y_bytes..];
            }
            (true, false) => return compare_with_spaces::<W>(b).reverse(),
            (false, true) => return compare_with_spaces::<W>(a),
        }
    }
}

/// Compares the rest of a string with nothing but spaces.
fn compare_with_spaces<W: CharWeight>(mut rest: &[u8]) -> Ordering {
    while !rest.is_empty() {
        let (point, bytes) = decode(rest);
        match W::weight(point).cmp(&SPACE) {
            Ordering::Equal => rest = &rest[bytes..],
            unequal => return unequal,
        }
    }
    Ordering::Equal
}

/// Appends the ordered key: weights in the manner of UTF-8, which keeps their order.
pub(super) fn append_key<W: CharWeight>(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = trim(text);
    while !rest.is_empty() {
        let (point, bytes) = decode(rest);
        rest = &rest[bytes..];
        let weight = W::weight(point);
        push_weight(weight, out);
        if weight == SPACE {
            out.push(match compare_with_spaces::<W>(rest) {
                Ordering::Less => 0,
                Ordering::Equal => 1,
                Ordering::Greater => 2,
            });
        }
    }
    out.extend_from_slice(&[SPACE as u8, 1]);
}

#[inline]
fn push_weight(weight: u32, out: &mut Vec<u8>) {
    let low = |shift: u32| (weight >> shift & 0x3F) as u8 | 0x80;
    match weight {
        0..0x80 => out.push(weight as u8),
        0x80..0x800 => out.extend_from_slice(&[(weight >> 6) as u8 | 0xC0, low(0)]),
        0x800..0x1_0000 => out.extend_from_slice(&[(weight >> 12) as u8 | 0xE0, low(6), low(0)]),
        _ => out.extend_from_slice(&[(weight >> 18) as u8 | 0xF0, low(12), low(6), low(0)]),
    }
}

/// Appends the string of an ordered key whose weights are code points, and returns the key's bytes; `None` when its end is missing.
pub(super) fn decode_key(key: &[u8], out: &mut Vec<u8>) -> Option<usize> {
    let mut at = 0;
    loop {
        match *key.get(at)? {
            0x20 => match *key.get(at + 1)? {
                1 => return Some(at + 2),
                0 | 2 => {
                    out.push(0x20);
                    at += 2;
                }
                _ => return None,
            },
            byte => {
                out.push(byte);
                at += 1;
            }
        }
    }
}

/// Whether two code points have the same weight.
pub(super) fn same<W: CharWeight>(a: u32, b: u32) -> bool {
    W::weight(a) == W::weight(b)
}

/// Appends the weights of characters, each in two bytes.
pub(super) fn wide_weight_bytes<W: CharWeight>(points: &[u32], out: &mut Vec<u8>) {
    points.iter().for_each(|point| out.extend_from_slice(&(W::weight(*point) as u16).to_be_bytes()));
}

/// Appends the weights of a text, each in one byte.
pub(super) fn weight_bytes<W: CharWeight>(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while !rest.is_empty() {
        let (point, bytes) = decode(rest);
        rest = &rest[bytes..];
        out.push(W::weight(point) as u8);
    }
}

/// Bytes of the ordered key at the start of `key`; `None` when its end is missing.
pub(super) fn key_bytes(key: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match *key.get(at)? {
            0x20 if *key.get(at + 1)? == 1 => return Some(at + 2),
            0x20 => at += 2,
            0..0x80 => at += 1,
            0x80..0xE0 => at += 2,
            0xE0..0xF0 => at += 3,
            _ => at += 4,
        }
    }
}
