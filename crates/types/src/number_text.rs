//! Floating point to text and back as MySQL does it.
//!
//! DOUBLE prints its shortest digits, FLOAT at most six; both go without exponent while the point lies within 15 digits, and as `1e15`,
//! `1.5e-20` past that; a DOUBLE of sixteen digits with a fraction (`1145921377135377.2`) has none either. With fixed decimals (M,D) the digits are exactly D.

use crate::{DECIMALS_NOT_FIXED, Decimal, Value};
use std::io::Write;

/// Digits that FLOAT prints.
const FLOAT_DIGITS: usize = 6;
/// Digits that tell every DOUBLE from its neighbours.
pub(crate) const DOUBLE_DIGITS: usize = 17;
/// The point may lie so many digits to the right of the first digit (or one less to the left) before an exponent is used.
pub(crate) const POINT_MAX: i32 = 15;
/// `9223372036854775807`, a sign, a point and an exponent fit well.
const BUFFER_BYTES: usize = 40;

/// Appends a DOUBLE.
pub fn format_double(value: f64, out: &mut Vec<u8>) {
    let mut buffer = [0u8; BUFFER_BYTES];
    let mut room = &mut buffer[..];
    // Shortest digits that read back as the same double, as d.ddde±x.
    let mut written = write!(room, "{value:e}").is_ok();
    let mut left = room.len();
    if digits_of(&buffer[..BUFFER_BYTES - left]) == DOUBLE_DIGITS {
        // Halfway between two of that length (…377.25) the even one is printed, not the upper.
        let mut room = &mut buffer[..];
        written = write!(room, "{value:.16e}").is_ok();
        left = room.len();
    }
    arrange(&buffer[..BUFFER_BYTES - left], written, out);
}

/// Appends a FLOAT.
pub fn format_float(value: f32, out: &mut Vec<u8>) {
    let mut buffer = [0u8; BUFFER_BYTES];
    let mut room = &mut buffer[..];
    let mut written = write!(room, "{value:e}").is_ok();
    let mut left = room.len();
    if digits_of(&buffer[..BUFFER_BYTES - left]) > FLOAT_DIGITS {
        let mut room = &mut buffer[..];
        written = write!(room, "{value:.5e}").is_ok();
        left = room.len();
    }
    arrange(&buffer[..BUFFER_BYTES - left], written, out);
}

/// Digits before the exponent.
fn digits_of(text: &[u8]) -> usize {
    text.iter().take_while(|byte| **byte != b'e').filter(|byte| byte.is_ascii_digit()).count()
}

/// Appends a number with exactly so many digits after the point (FLOAT(M,D), DOUBLE(M,D), ROUND(x, D)).
pub fn format_fixed(value: f64, decimals: u8, out: &mut Vec<u8>) {
    // Writing to a Vec cannot fail.
    let _ = write!(out, "{value:.*}", usize::from(decimals));
}

/// Appends a value of a DOUBLE column with so many decimals, or with [`DECIMALS_NOT_FIXED`].
pub fn write_double(value: f64, decimals: u8, out: &mut Vec<u8>) {
    if decimals >= DECIMALS_NOT_FIXED { format_double(value, out) } else { format_fixed(value, decimals, out) }
}

/// Appends a value of a FLOAT column with so many decimals, or with [`DECIMALS_NOT_FIXED`].
pub fn write_float(value: f32, decimals: u8, out: &mut Vec<u8>) {
    if decimals >= DECIMALS_NOT_FIXED { format_float(value, out) } else { format_fixed(f64::from(value), decimals, out) }
}

/// Appends a whole number with zeros before it up to `width` digits (ZEROFILL).
pub fn write_padded(value: u64, width: u8, out: &mut Vec<u8>) {
    let digits = value.checked_ilog10().map_or(1, |log| log as usize + 1);
    out.resize(out.len() + usize::from(width).saturating_sub(digits), b'0');
    write_u64(value, out);
}

/// Turns `-d.ddde-x` into MySQL's form.
fn arrange(text: &[u8], written: bool, out: &mut Vec<u8>) {
    let split = text.iter().position(|byte| *byte == b'e').filter(|_| written);
    let Some(split) = split else {
        // Infinities and NaN do not occur in MySQL; print what there is.
        out.extend_from_slice(text);
        return;
    };
    let (mantissa, exponent) = (&text[..split], &text[split + 1..]);
    let exponent: i32 = std::str::from_utf8(exponent).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let (negative, mantissa) = match mantissa {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, mantissa),
    };
    let mut digits = [b'0'; BUFFER_BYTES];
    let mut count = 0;
    for byte in mantissa.iter().filter(|byte| byte.is_ascii_digit()) {
        digits[count] = *byte;
        count += 1;
    }
    while count > 1 && digits[count - 1] == b'0' {
        count -= 1;
    }
    let digits = &digits[..count];
    if negative {
        out.push(b'-');
    }
    // The value is 0.d1d2… × 10^point.
    let point = exponent + 1;
    let has_fraction = usize::try_from(point).is_ok_and(|point| point < count);
    if !(1 - POINT_MAX..=POINT_MAX).contains(&point) && !has_fraction {
        out.push(digits[0]);
        if count > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        let _ = write!(out, "e{exponent}");
    } else if point <= 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + point.unsigned_abs() as usize, b'0');
        out.extend_from_slice(digits);
    } else {
        let point = point as usize;
        out.extend_from_slice(&digits[..count.min(point)]);
        if count > point {
            out.push(b'.');
            out.extend_from_slice(&digits[point..]);
        } else {
            out.resize(out.len() + point - count, b'0');
        }
    }
}

/// Appends an integer.
#[inline]
pub fn write_i64(value: i64, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    write_u64(value.unsigned_abs(), out);
}

/// Appends an unsigned integer.
#[inline]
pub fn write_u64(mut value: u64, out: &mut Vec<u8>) {
    static PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849\
5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";
    let mut buffer = [0u8; 20];
    let mut at = buffer.len();
    while value >= 100 {
        let pair = (value % 100) as usize * 2;
        value /= 100;
        at -= 2;
        buffer[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if value >= 10 {
        at -= 2;
        buffer[at..at + 2].copy_from_slice(&PAIRS[value as usize * 2..value as usize * 2 + 2]);
    } else {
        at -= 1;
        buffer[at] = b'0' + value as u8;
    }
    out.extend_from_slice(&buffer[at..]);
}

/// What [`parse_double`] read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParsedDouble {
    /// The number; the largest double on overflow.
    pub value: f64,
    /// Bytes read, leading spaces included; 0 when there is no number.
    pub consumed: usize,
    /// The number is past the largest double.
    pub overflow: bool,
}

/// Reads the number at the start of a string.
pub fn parse_double(text: &[u8]) -> ParsedDouble {
    let digits_from = |at: usize| text[at.min(text.len())..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let start = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let mut at = start + usize::from(matches!(text.get(start), Some(b'-' | b'+')));
    let integer = digits_from(at);
    at += integer;
    let mut fraction = 0;
    if text.get(at) == Some(&b'.') {
        fraction = digits_from(at + 1);
        at += 1 + fraction;
    }
    if integer + fraction == 0 {
        return ParsedDouble { value: 0.0, consumed: 0, overflow: false };
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(at + 1), Some(b'-' | b'+')));
        let exponent = digits_from(at + 1 + sign);
        if exponent > 0 {
            at += 1 + sign + exponent;
        }
    }
    let value: f64 = std::str::from_utf8(&text[start..at]).ok().and_then(|text| text.parse().ok()).unwrap_or(0.0);
    let overflow = value.is_infinite();
    let value = if overflow { f64::MAX.copysign(value) } else { value };
    ParsedDouble { value, consumed: at, overflow }
}

/// The number at the start of a string; 0 without one.
pub fn parse_double_prefix(text: &[u8]) -> f64 {
    parse_double(text).value
}

/// The whole number that a text begins with, behind spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeadingInteger<'t> {
    /// It has a minus.
    pub negative: bool,
    /// Its digits as a number: 0 where there are none, `None` past 64 bits.
    pub magnitude: Option<u64>,
    /// How many digits it has.
    pub digits: usize,
    /// What follows them.
    pub rest: &'t [u8],
}

impl LeadingInteger<'_> {
    /// Whether the text is a number to its end.
    pub fn is_whole(&self) -> bool {
        self.digits > 0 && self.rest.is_empty()
    }
}

/// The whole number that a text begins with. What is made of one that is too large, and of what follows, differs by who asks.
pub fn leading_integer(text: &[u8]) -> LeadingInteger<'_> {
    let text = text.trim_ascii_start();
    let (negative, unsigned) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let digits = unsigned.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = unsigned.split_at(digits);
    let magnitude = number.iter().try_fold(0_u64, |n, digit| n.checked_mul(10)?.checked_add(u64::from(digit - b'0')));
    LeadingInteger { negative, magnitude, digits, rest }
}

/// What a text counts as beside a column of whole numbers, or of decimals: the number at its start, where that is one of the kind (MySQL converts the constant to
/// the column's type once). `None` where it is not, as `1.5` beside whole numbers: then both are compared as DOUBLE.
pub fn number_operand(text: &[u8], decimal: bool) -> Option<Value> {
    let parsed = Decimal::parse(text);
    if parsed.overflow || parsed.rounded {
        return None;
    }
    match parsed.value.normalize().as_i128() {
        Some((whole, 0)) => match (i64::try_from(whole), u64::try_from(whole)) {
            (Ok(whole), _) => Some(Value::Int(whole)),
            (_, Ok(whole)) => Some(Value::UInt(whole)),
            _ => decimal.then_some(Value::Decimal(parsed.value)),
        },
        _ => decimal.then_some(Value::Decimal(parsed.value)),
    }
}

/// A text as a number that stands to every whole number of 64 bits as the number at the text's start does, with all of its digits: that number where it is whole, one a
/// half behind it where it has a fraction, a bound where it is past all of them. It has the type DECIMAL(21, 1).
pub fn whole_text(text: &[u8]) -> Decimal {
    /// Ten times a number past all of 64 bits, and a half.
    const BOUND: i128 = 999_999_999_999_999_999_995;
    let number = leading_integer(text);
    if let (Some(magnitude), true) = (number.magnitude, number.rest.first().is_none_or(|byte| !matches!(byte, b'.' | b'e' | b'E'))) {
        let tenfold = 10 * i128::from(magnitude);
        return Decimal::new(if number.negative { -tenfold } else { tenfold }, 1);
    }
    let parsed = Decimal::parse(text);
    let negative = if parsed.value.is_zero() { number.negative } else { parsed.value.is_negative() };
    let (whole, fraction) = match parsed.value.truncate(0).normalize().as_i128() {
        Some((whole, 0)) if !parsed.overflow && whole.abs() <= BOUND / 10 => {
            (whole, parsed.rounded || parsed.value.compare(&Decimal::new(whole, 0)).is_ne())
        }
        _ => return Decimal::new(if negative { -BOUND } else { BOUND }, 1),
    };
    let half = match (fraction, negative) {
        (false, _) => 0,
        (true, false) => 5,
        (true, true) => -5,
    };
    Decimal::new(10 * whole + half, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stand_to_whole_numbers_as_their_numbers_do() {
        let check = |text: &str, expect: &str| assert_eq!(whole_text(text.as_bytes()).to_string(), expect, "{text}");
        check("9007199254740993", "9007199254740993.0");
        check("18446744073709551615", "18446744073709551615.0");
        check(" -7x", "-7.0");
        check("-9223372036854775808", "-9223372036854775808.0");
        check("12e2", "1200.0");
        check("7.000", "7.0");
        check("7e", "7.0");
        check("1.25", "1.5");
        check("-1.25", "-1.5");
        check("-0.1", "-0.5");
        check(".1", "0.5");
        check("1e-40", "0.5");
        check("18446744073709551616", "18446744073709551616.0");
        check("1e30", "99999999999999999999.5");
        check("-1e30", "-99999999999999999999.5");
        check("1e90", "99999999999999999999.5");
        check("-1e90", "-99999999999999999999.5");
        check("99999999999999999999999", "99999999999999999999.5");
        check("", "0.0");
        check("abc", "0.0");
    }

    #[test]
    fn texts_beside_whole_numbers_are_whole_numbers_or_nothing() {
        let operand = |text: &str, decimal| number_operand(text.as_bytes(), decimal);
        for (text, value) in
            [("9007199254740993", 9_007_199_254_740_993), (" -7.00x", -7), ("12e2", 1200), ("abc", 0), ("", 0), ("1.20e1", 12)]
        {
            assert_eq!(operand(text, false), Some(Value::Int(value)), "{text}");
            assert_eq!(operand(text, true), Some(Value::Int(value)), "{text}");
        }
        assert_eq!(operand("18446744073709551615", false), Some(Value::UInt(u64::MAX)));
        for text in ["1.5", "18446744073709551616", "-9223372036854775809", "1e-1"] {
            assert_eq!(operand(text, false), None, "{text}");
            assert_eq!(operand(text, true), Decimal::parse_exact(text.as_bytes()).map(Value::Decimal), "{text}");
        }
        assert_eq!(operand("1e80", true), None);
    }

    #[test]
    fn texts_begin_with_whole_numbers() {
        let check = |text: &str, negative, magnitude, is_whole, rest: &str| {
            let number = leading_integer(text.as_bytes());
            assert_eq!((number.negative, number.magnitude, number.is_whole()), (negative, magnitude, is_whole), "{text}");
            assert_eq!(number.rest, rest.as_bytes(), "{text}");
        };
        check(" \t+12", false, Some(12), true, "");
        check("-7 ", true, Some(7), false, " ");
        check("12.5", false, Some(12), false, ".5");
        check("", false, Some(0), false, "");
        check("- 1", true, Some(0), false, " 1");
        check("18446744073709551615", false, Some(u64::MAX), true, "");
        check("18446744073709551616x", false, None, false, "x");
        check(&format!("{:050}", 5), false, Some(5), true, "");
    }

    #[test]
    fn integers_print_as_the_standard_library_prints_them() {
        let text = |write: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            write(&mut out);
            String::from_utf8_lossy(&out).into_owned()
        };
        for value in [0, 1, 9, 10, 99, 100, 12_345, -1, -10, i64::MAX, i64::MIN] {
            assert_eq!(text(&|out| write_i64(value, out)), value.to_string());
        }
        for value in (0..64).flat_map(|shift| [1u64 << shift, (1u64 << shift) - 1]).chain([u64::MAX]) {
            assert_eq!(text(&|out| write_u64(value, out)), value.to_string());
        }
    }

    #[test]
    fn doubles_print_as_mysql_prints_them() {
        let check = |value: f64, expect: &str| {
            let mut out = Vec::new();
            format_double(value, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), expect);
        };
        check(0.0, "0");
        check(-0.0, "-0");
        check(1.0, "1");
        check(-1.5, "-1.5");
        check(0.1, "0.1");
        check(1e14, "100000000000000");
        check(123_456_789_012_345.0, "123456789012345");
        check(1e15, "1e15");
        check(1.5e15, "1.5e15");
        check(1e20, "1e20");
        check(1e-5, "0.00001");
        check(1e-15, "0.000000000000001");
        check(1e-16, "1e-16");
        check(1.5e-20, "1.5e-20");
        check(0.1 + 0.2, "0.30000000000000004");
        check(f64::MAX, "1.7976931348623157e308");
        check(1_145_921_377_135_377.0 + 0.25, "1145921377135377.2");
        check(-1_234_567_890_123_456.0 - 0.75, "-1234567890123456.8");
    }

    #[test]
    fn floats_print_six_digits() {
        let check = |value: f32, expect: &str| {
            let mut out = Vec::new();
            format_float(value, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), expect);
        };
        check(3.4, "3.4");
        check(16_777_216.0, "16777200");
        check(1_234_567.0, "1234570");
        check(0.1, "0.1");
        check(1e20, "1e20");
        check(1.0 / 3.0, "0.333333");
    }

    #[test]
    fn integers_print() {
        for value in [0, 7, 10, 99, 100, 12_345, i64::MAX, i64::MIN, -1] {
            let mut out = Vec::new();
            write_i64(value, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), value.to_string());
        }
        let mut out = Vec::new();
        write_u64(u64::MAX, &mut out);
        assert_eq!(out, u64::MAX.to_string().as_bytes());
    }

    #[test]
    fn numbers_at_the_start_of_strings() {
        let check = |text: &str, value: f64, consumed: usize| {
            let parsed = parse_double(text.as_bytes());
            assert_eq!((parsed.value, parsed.consumed), (value, consumed), "{text}");
        };
        check("1.5abc", 1.5, 3);
        check("  -2e3x", -2000.0, 6);
        check("1e", 1.0, 1);
        check(".5", 0.5, 2);
        check("5.", 5.0, 2);
        check("abc", 0.0, 0);
        check("inf", 0.0, 0);
        check("+", 0.0, 0);
        assert!(parse_double(b"1e999").overflow);
    }
}
