//! Decimal to and from text.

use super::wide::{U256, Uint};
use super::{Cut, Decimal, Repr};
use std::fmt;

/// What [`Decimal::parse`] read.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedDecimal {
    /// The number; on overflow the bound (65 nines).
    pub value: Decimal,
    /// Bytes read, leading spaces included; 0 when there is no number.
    pub consumed: usize,
    /// The number has more than 65 digits before the point.
    pub overflow: bool,
    /// Nonzero digits past the thirtieth after the point were rounded away.
    pub rounded: bool,
}

impl Decimal {
    /// Reads a number at the start of a string: spaces, sign, digits with a point, exponent. Never fails: without a number the value is 0
    /// and nothing is consumed.
    pub fn parse(text: &[u8]) -> ParsedDecimal {
        let none = ParsedDecimal { value: Decimal::ZERO, consumed: 0, overflow: false, rounded: false };
        let mut at = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
        let negative = match text.get(at) {
            Some(b'-') => {
                at += 1;
                true
            }
            Some(b'+') => {
                at += 1;
                false
            }
            _ => false,
        };
        let integer = digits_at(text, at);
        at += integer.len();
        let mut fraction: &[u8] = &[];
        if text.get(at) == Some(&b'.') {
            fraction = digits_at(text, at + 1);
            if integer.is_empty() && fraction.is_empty() {
                return none;
            }
            at += 1 + fraction.len();
        }
        if integer.is_empty() && fraction.is_empty() {
            return none;
        }
        let (exponent, exponent_bytes) = exponent_at(&text[at..]);
        let mut parsed = if exponent == 0 && integer.len() + fraction.len() <= 38 && fraction.len() <= usize::from(Decimal::SCALE_MAX) {
            let unscaled = integer.iter().chain(fraction).fold(0i128, |value, digit| value * 10 + i128::from(digit - b'0'));
            ParsedDecimal { value: Decimal::new(if negative { -unscaled } else { unscaled }, fraction.len() as u8), ..none }
        } else {
            assemble(negative, integer, fraction, exponent)
        };
        parsed.consumed = at + exponent_bytes;
        parsed
    }

    /// Reads text that must be a number as a whole (spaces around it allowed).
    pub fn parse_exact(text: &[u8]) -> Option<Decimal> {
        let parsed = Decimal::parse(text);
        let rest_is_blank = text[parsed.consumed..].iter().all(u8::is_ascii_whitespace);
        (parsed.consumed > 0 && rest_is_blank && !parsed.overflow).then_some(parsed.value)
    }

    /// Appends the text: all digits after the point, a zero before it where there is none.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        let mut buffer = [0u8; 80];
        let start = self.format(&mut buffer);
        out.extend_from_slice(&buffer[start..]);
    }

    /// Writes the text to the end of the buffer and returns where it starts. 78 digits, point and sign are the most.
    fn format(&self, buffer: &mut [u8; 80]) -> usize {
        let end = buffer.len();
        let mut at = end;
        let mut push = |mut chunk: u64, least: usize| {
            let stop = at - least;
            while chunk > 0 || at > stop {
                at -= 1;
                buffer[at] = b'0' + (chunk % 10) as u8;
                chunk /= 10;
            }
            at
        };
        const CHUNK: u64 = 10u64.pow(19);
        let digits = match &self.0 {
            Repr::Small { .. } => {
                let mut rest = self.small_unscaled().unsigned_abs();
                while rest > u128::from(u64::MAX) {
                    push((rest % u128::from(CHUNK)) as u64, 19);
                    rest /= u128::from(CHUNK);
                }
                end - push(rest as u64, 0)
            }
            Repr::Wide(wide) => {
                let mut rest = wide.magnitude;
                while rest.bits() > 64 {
                    let (quotient, chunk) = rest.div_rem_u64(CHUNK);
                    push(chunk, 19);
                    rest = quotient;
                }
                end - push(rest.0[0], 0)
            }
        };
        let scale = usize::from(self.scale());
        // Zeros up to one digit before the point.
        at = push(0, (scale + 1).saturating_sub(digits));
        if scale > 0 {
            buffer.copy_within(at..end - scale, at - 1);
            buffer[end - scale - 1] = b'.';
            at -= 1;
        }
        if self.is_negative() {
            at -= 1;
            buffer[at] = b'-';
        }
        at
    }
}

fn digits_at(text: &[u8], at: usize) -> &[u8] {
    let rest = &text[at.min(text.len())..];
    &rest[..rest.iter().take_while(|b| b.is_ascii_digit()).count()]
}

/// The exponent at the start of `rest` and the bytes it takes; without digits after `e` there is none.
fn exponent_at(rest: &[u8]) -> (i64, usize) {
    if !matches!(rest.first(), Some(b'e' | b'E')) {
        return (0, 0);
    }
    let (negative, sign_bytes) = match rest.get(1) {
        Some(b'-') => (true, 1),
        Some(b'+') => (false, 1),
        _ => (false, 0),
    };
    let digits = digits_at(rest, 1 + sign_bytes);
    if digits.is_empty() {
        return (0, 0);
    }
    let value = digits.iter().fold(0i64, |value, digit| (value * 10 + i64::from(digit - b'0')).min(1_000_000));
    (if negative { -value } else { value }, 1 + sign_bytes + digits.len())
}

/// The general case: leading zeros, long digit strings, exponents.
fn assemble(negative: bool, integer: &[u8], fraction: &[u8], exponent: i64) -> ParsedDecimal {
    let none = ParsedDecimal { value: Decimal::ZERO, consumed: 0, overflow: false, rounded: false };
    let leading_zeros = integer.iter().chain(fraction).take_while(|digit| **digit == b'0').count();
    // `point` digits of what follows stand before the point; it may be negative.
    let point = integer.len() as i64 - leading_zeros as i64 + exponent;
    let digit_count = integer.len() + fraction.len() - leading_zeros;
    let digits = integer.iter().chain(fraction).skip(leading_zeros).copied();
    if digit_count == 0 {
        let scale = (fraction.len() as i64 - exponent).clamp(0, i64::from(Decimal::SCALE_MAX));
        return ParsedDecimal { value: Decimal::new(0, scale as u8), ..none };
    }
    if point > i64::from(Decimal::DIGITS_MAX) {
        let bound = Decimal::max_value(Decimal::DIGITS_MAX, 0);
        return ParsedDecimal { value: if negative { bound.negate() } else { bound }, overflow: true, ..none };
    }
    let scale_given = (digit_count as i64 - point).max(0);
    let scale_room = (i64::from(Decimal::DIGITS_MAX) - point.max(0)).min(i64::from(Decimal::SCALE_MAX));
    let scale = scale_given.min(scale_room);
    // Digits kept: those before the point and `scale` after it; one more decides the rounding.
    let kept_count = point + scale;
    let mut magnitude = U256::ZERO;
    let mut cut = Cut::Nothing;
    for (position, digit) in digits.enumerate() {
        if (position as i64) < kept_count {
            magnitude = magnitude.checked_mul_add_u64(10, u64::from(digit - b'0')).unwrap_or(magnitude);
        } else if position as i64 == kept_count {
            cut = match digit {
                b'0' => Cut::Nothing,
                b'1'..=b'4' => Cut::BelowHalf,
                _ => Cut::HalfOrMore,
            };
        } else if digit != b'0' && cut == Cut::Nothing {
            cut = Cut::BelowHalf;
        }
    }
    // An integer such as 12e5: the exponent's zeros.
    let zeros = (kept_count - digit_count as i64).max(0) as u32;
    magnitude = magnitude.checked_mul_pow10(zeros).unwrap_or(magnitude);
    if kept_count < 0 {
        magnitude = U256::ZERO;
        cut = Cut::BelowHalf;
    }
    if cut == Cut::HalfOrMore {
        magnitude = magnitude.checked_add(&Uint::from_u128(1)).unwrap_or(magnitude);
    }
    let overflow = magnitude.digits() > Decimal::DIGITS_MAX;
    let value =
        if overflow { Decimal::max_value(Decimal::DIGITS_MAX, scale as u8) } else { Decimal::from_parts(false, magnitude, scale as u8) };
    ParsedDecimal { value: if negative { value.negate() } else { value }, consumed: 0, overflow, rounded: cut != Cut::Nothing }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut buffer = [0u8; 80];
        let start = self.format(&mut buffer);
        f.write_str(std::str::from_utf8(&buffer[start..]).unwrap_or("?"))
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
