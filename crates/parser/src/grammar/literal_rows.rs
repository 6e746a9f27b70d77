//! VALUES lists of nothing but plain literals, read byte by byte without a token or an expression for each.
//!
//! # Invariants
//! 1. What is read here means what the grammar's rules make of it. Whatever else stands in a list, a hexadecimal number, an expression, a comment, leaves the whole of it to
//!    them: nothing has been read then.

use super::Parser;
use crate::ast::{LiteralRows, PlainLiteral};
use crate::lexer::Tok;
use crate::mode::SqlMode;
use crate::text;
use bumpalo::collections::Vec as ArenaVec;

/// Fewer rows are not worth a form of their own.
const ROWS_MIN: usize = 8;

/// Most fields that room is made for before they are read.
const FIELDS_AHEAD_MAX: usize = 1 << 16;

/// Longer numbers have rules of their own.
const NUMBER_BYTES_MAX: usize = 36;

/// How many of eight bytes, from the lowest on, are digits before one that is none.
#[inline]
fn leading_digits(word: u64) -> usize {
    const ZEROS: u64 = u64::from_ne_bytes([b'0'; 8]);
    const SIXES: u64 = u64::from_ne_bytes([6; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0xF0; 8]);
    // A digit has the upper half of '0', and keeps it when six are added. A carry reaches only what stands behind a byte that is no digit.
    let others = (word ^ ZEROS | word.wrapping_add(SIXES) ^ ZEROS) & HIGH;
    others.trailing_zeros() as usize / 8
}

/// Reads fields.
struct Scanner<'a> {
    sql: &'a [u8],
    at: usize,
    mode: SqlMode,
}

impl<'a> Parser<'a> {
    /// Rows of literals from the parenthesis looked at on, up to the token behind them; `None` when there are others or only few.
    #[inline]
    pub(super) fn literal_rows(&mut self) -> Option<LiteralRows<'a>> {
        if self.lifter.is_some() || !self.at_tok(Tok::LParen) || self.lexer.is_in_comment() {
            return None;
        }
        // Nearly all have one row: they are not to be read twice.
        let rest = self.lexer.sql.get(self.lexer.pos..)?;
        if memchr::memchr_iter(b'(', rest).take(ROWS_MIN - 1).count() < ROWS_MIN - 1 {
            return None;
        }
        self.many_literal_rows()
    }

    /// The same, where there may be enough of them.
    #[inline(never)]
    fn many_literal_rows(&mut self) -> Option<LiteralRows<'a>> {
        let mut scanner = Scanner { sql: self.lexer.sql, at: self.lexer.pos, mode: self.lexer.mode };
        let mut fields = ArenaVec::new_in(self.arena);
        let (mut rows, mut width) = (0, 0);
        loop {
            self.literal_row(&mut scanner, &mut fields)?;
            rows += 1;
            if rows == 1 {
                width = fields.len();
                // As many fields as such rows would make of the text that is left, if that is not too many.
                let row_bytes = scanner.at - self.tok.start as usize;
                fields.reserve(((scanner.sql.len() - scanner.at) / row_bytes.max(1) * width).min(FIELDS_AHEAD_MAX));
            }
            if fields.len() != rows * width {
                return None;
            }
            let end = scanner.at;
            if scanner.behind_spaces() != Some(b',') {
                scanner.at = end;
                break;
            }
            scanner.at += 1;
            if scanner.behind_spaces()? != b'(' {
                return None;
            }
            scanner.at += 1;
        }
        if rows < ROWS_MIN {
            return None;
        }
        self.lexer.go_to(scanner.at);
        self.tok.end = scanner.at as u32;
        self.bump();
        Some(LiteralRows { width, fields: fields.into_bump_slice() })
    }

    /// The fields of a row, and the parenthesis behind them.
    #[inline]
    fn literal_row(&self, scanner: &mut Scanner<'a>, fields: &mut ArenaVec<'a, PlainLiteral<'a>>) -> Option<()> {
        loop {
            fields.push(self.literal_field(scanner)?);
            let end = scanner.behind_spaces()?;
            scanner.at += 1;
            match end {
                b',' => {}
                b')' => return Some(()),
                _ => return None,
            }
        }
    }

    #[inline]
    fn literal_field(&self, scanner: &mut Scanner<'a>) -> Option<PlainLiteral<'a>> {
        match scanner.behind_spaces()? {
            b'0'..=b'9' | b'-' => scanner.number(),
            b'\'' => {
                let (inside, escaped) = scanner.string()?;
                let inside = if escaped { text::unescape_in(inside, b'\'', scanner.mode, self.arena) } else { inside };
                // What is not UTF-8 is a binary string.
                let known = inside.is_ascii() || std::str::from_utf8(inside).is_ok();
                known.then_some(PlainLiteral::String(inside))
            }
            _ => scanner.null(),
        }
    }
}

impl<'a> Scanner<'a> {
    /// The byte behind spaces.
    #[inline]
    fn behind_spaces(&mut self) -> Option<u8> {
        loop {
            let byte = *self.sql.get(self.at)?;
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    /// Whether a literal may end here.
    #[inline]
    fn is_end(&self) -> bool {
        matches!(self.sql.get(self.at), Some(b',' | b')' | b' ' | b'\n' | b'\r' | b'\t'))
    }

    #[inline]
    fn skip_digits(&mut self) -> bool {
        let from = self.at;
        while let Some(word) = self.sql.get(self.at..).and_then(|rest| rest.first_chunk()) {
            let digits = leading_digits(u64::from_le_bytes(*word));
            self.at += digits;
            if digits < size_of::<u64>() {
                return self.at > from;
            }
        }
        while self.sql.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        self.at > from
    }

    /// Digits, perhaps behind a minus, perhaps with a point and more of them.
    #[inline]
    fn number(&mut self) -> Option<PlainLiteral<'a>> {
        let from = self.at;
        self.at += usize::from(self.sql[from] == b'-');
        if !self.skip_digits() {
            return None;
        }
        if self.sql.get(self.at) == Some(&b'.') {
            self.at += 1;
            if !self.skip_digits() {
                return None;
            }
        }
        let text = &self.sql[from..self.at];
        (self.is_end() && text.len() <= NUMBER_BYTES_MAX).then_some(PlainLiteral::Number(text))
    }

    /// What stands between quotes, and whether there is something to be resolved.
    #[inline]
    fn string(&mut self) -> Option<(&'a [u8], bool)> {
        let from = self.at + 1;
        let backslash = if self.mode.has(SqlMode::NO_BACKSLASH_ESCAPES) { b'\'' } else { b'\\' };
        let (mut escaped, mut at) = (false, from);
        loop {
            at += memchr::memchr2(b'\'', backslash, self.sql.get(at..)?)?;
            if self.sql[at] == b'\'' && self.sql.get(at + 1) != Some(&b'\'') {
                break;
            }
            escaped = true;
            at += 2;
        }
        self.at = at + 1;
        self.is_end().then(|| (&self.sql[from..at], escaped))
    }

    fn null(&mut self) -> Option<PlainLiteral<'a>> {
        let word = self.sql.get(self.at..self.at + 4)?;
        self.at += 4;
        (word.eq_ignore_ascii_case(b"NULL") && self.is_end()).then_some(PlainLiteral::Null)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_counted_up_to_the_first_other_byte() {
        for at in 0..8 {
            for other in 0..=255u8 {
                for behind in [b'0', b'9', 0, 0x2F, 0x3A, 0xFF] {
                    let mut bytes = *b"90817263";
                    bytes[at] = other;
                    bytes[at + 1..].fill(behind);
                    let expected = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
                    assert_eq!(leading_digits(u64::from_le_bytes(bytes)), expected, "{bytes:?}");
                }
            }
        }
    }
}
