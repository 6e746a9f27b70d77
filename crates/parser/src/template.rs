//! Texts that differ from a known one in its literals only: found by comparing, without reading tokens.
//!
//! Most clients send few texts, over and over, with other literals. What stands between the lifted literals of a text is kept as it is; a new text
//! that has the same bytes there, and literals of the same kinds (decimals of the same scale, where that counts), has the fingerprint of the first.
//!
//! # Why that is so
//! The lexer stands in the same state before a literal in both texts, because all before it was read alike; the literal itself is read by the
//! lexer. What follows a literal is compared from where the lexer left off. Nothing the lexer reads before a literal depends on more of it than that
//! it begins with a digit or a quotation mark, and what is lifted depends on the kinds of tokens alone (`lift.rs`), but for
//! an alias behind a subquery and what stands beside a number that a condition begins with, which are among what is compared. Tokens of one kind of
//! literal are alike to it, but for `1.` and a whole number past BIGINT, both decimals: texts with `1.` have no template and match none.

use crate::fingerprint::{LiftedLiteral, LiteralKind, lifted};
use crate::lexer::{Lexer, Tok};
use crate::mode::SqlMode;

/// Longest text that is kept.
const TEXT_BYTES_MAX: usize = 4096;

/// A text and where its lifted literals stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    text: Box<[u8]>,
    literals: Box<[Place]>,
    /// Commas outside of literals.
    commas: u32,
}

/// Bytes from which on a text is counted through by long vectors, whose preparation and whose rest cost more than a short text takes by words.
const LONG_TEXT_BYTES: usize = 512;
const ONES: u64 = 0x0101_0101_0101_0101;

/// Commas of a text, those within literals included. Texts that differ in the length of a list only differ in it.
#[inline]
#[must_use]
pub fn commas(sql: &[u8]) -> u32 {
    if sql.len() >= LONG_TEXT_BYTES {
        return memchr::memchr_iter(b',', sql).count() as u32;
    }
    let (words, rest) = sql.as_chunks::<8>();
    // Of so many words the sum of all bytes fits a byte.
    let of_block = |block: &[[u8; 8]]| block.iter().map(|word| commas_of(u64::from_le_bytes(*word))).sum::<u64>().wrapping_mul(ONES) >> 56;
    let in_rest = rest.iter().filter(|byte| **byte == b',').count();
    words.chunks(31).map(of_block).sum::<u64>() as u32 + in_rest as u32
}

/// A one in each byte of a word that is a comma.
#[inline]
fn commas_of(word: u64) -> u64 {
    const LOW_BITS: u64 = 0x7F * ONES;
    let others = word ^ (ONES * b',' as u64);
    !(((others & LOW_BITS) + LOW_BITS) | others | LOW_BITS) >> 7
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    kind: LiteralKind,
    /// Where it counts: see [`LiftedLiteral::scale`].
    scale: Option<u8>,
    start: u32,
    end: u32,
}

/// A literal may stand here: one that begins with a point depends on what is before it.
#[inline]
fn begins_literal(byte: Option<&u8>) -> bool {
    matches!(byte, Some(b'0'..=b'9' | b'\'' | b'"'))
}

/// A literal that ends so is of the kind of a whole number past BIGINT, and yet another token: what is lifted may tell them apart.
#[inline]
fn ends_in_point(sql: &[u8], end: u32) -> bool {
    (end as usize).checked_sub(1).and_then(|last| sql.get(last)) == Some(&b'.')
}

/// Most digits of which no number is too large for an `i64`.
const DIGITS_MAX: usize = 18;

/// A whole number of few digits before what can be no part of it, as the lexer reads it: most literals are such.
#[inline]
fn plain_number(sql: &[u8], start: usize) -> Option<LiftedLiteral> {
    let rest = sql.get(start..)?;
    let (mut int, mut digits) = (0, 0);
    for byte in rest {
        match byte {
            b'0'..=b'9' if digits < DIGITS_MAX => int = 10 * int + u64::from(byte - b'0'),
            b' ' | b',' | b')' | b';' | b'\n' => break,
            _ => return None,
        }
        digits += 1;
    }
    let end = start + digits;
    (digits > 0).then_some(LiftedLiteral { kind: LiteralKind::Int, escaped: false, scale: None, start: start as u32, end: end as u32, int })
}

impl Template {
    /// Keeps a text whose [`crate::fingerprint`] is cacheable and reaches to its end, with the literals that it lifted. `None` when it is too long or unusual.
    #[must_use]
    pub fn new(sql: &[u8], literals: &[LiftedLiteral]) -> Option<Template> {
        let is_usual = |literal: &LiftedLiteral| begins_literal(sql.get(literal.start as usize)) && !ends_in_point(sql, literal.end);
        if sql.len() > TEXT_BYTES_MAX || !literals.iter().all(is_usual) {
            return None;
        }
        // One that is lifted again for the length of its list stands in the text once.
        let is_repeated = |at: usize| at > 0 && literals[at - 1].start == literals[at].start;
        let once = (0..literals.len()).filter(|at| !is_repeated(*at)).map(|at| &literals[at]);
        let within: u32 = once.filter_map(|literal| sql.get(literal.start as usize..literal.end as usize)).map(commas).sum();
        let literals = literals
            .iter()
            .map(|literal| Place { kind: literal.kind, scale: literal.scale, start: literal.start, end: literal.end })
            .collect();
        Some(Template { text: sql.into(), literals, commas: commas(sql) - within })
    }

    /// The text that was kept.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Commas of all texts like this, but for those within their literals.
    #[must_use]
    pub fn commas(&self) -> u32 {
        self.commas
    }

    /// Whether `sql` differs in its literals only; they are then in `params` (cleared first), as [`crate::fingerprint`] would give them under the same mode.
    #[must_use]
    pub fn matches(&self, sql: &[u8], mode: SqlMode, params: &mut Vec<LiftedLiteral>) -> bool {
        params.clear();
        let mut lexer = Lexer::new(sql, mode);
        let mut of = 0;
        for (at, place) in self.literals.iter().enumerate() {
            if at > 0 && self.literals[at - 1].start == place.start {
                params.extend(params.last().copied());
                continue;
            }
            let between = &self.text[of..place.start as usize];
            if !sql[lexer.pos..].starts_with(between) {
                return false;
            }
            lexer.pos += between.len();
            if !begins_literal(sql.get(lexer.pos)) {
                return false;
            }
            let mut literal = match plain_number(sql, lexer.pos) {
                Some(number) => {
                    lexer.pos = number.end as usize;
                    number
                }
                None => {
                    let token = lexer.next();
                    if !matches!(token.tok, Tok::Int | Tok::Decimal | Tok::Float | Tok::String) || ends_in_point(sql, token.end) {
                        return false;
                    }
                    lifted(sql, &token)
                }
            };
            if literal.kind != place.kind || place.scale.is_some() && place.scale != literal.scale {
                return false;
            }
            literal.scale = place.scale;
            params.push(literal);
            of = place.end as usize;
        }
        sql[lexer.pos..] == self.text[of..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_are_counted_at_all_lengths() {
        // Bytes that differ from a comma in one bit, or are one with the top bit set, are none.
        let text: Vec<u8> =
            (0..LONG_TEXT_BYTES as u32 * 2).map(|n| b",,-.,$l\xAC,\x2B"[n.wrapping_mul(0x9E37_79B9) as usize >> 7 & 7]).collect();
        for end in 0..text.len() {
            let naive = text[..end].iter().filter(|byte| **byte == b',').count();
            assert_eq!(commas(&text[..end]) as usize, naive, "{end}");
        }
        assert_eq!(commas(&[b','; LONG_TEXT_BYTES - 1]), LONG_TEXT_BYTES as u32 - 1);
    }
}
