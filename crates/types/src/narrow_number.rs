//! Doubles in strings that are shorter than they: MySQL writes fewer digits, with an exponent where that shows more of them.
//!
//! Told by what MySQL 9.7 stores into VARCHAR(1) to VARCHAR(24).

use crate::number_text::{DOUBLE_DIGITS, POINT_MAX};
use std::io::Write;

/// The form of a number.
enum Form {
    /// With so many digits behind the point; `None`: all that there are.
    Point(Option<usize>),
    /// With so many digits and an exponent.
    Exponent(usize),
}

/// Appends a DOUBLE in at most `width` characters. `false`: there was no room for its first digit, point and exponent, and what is there is another number.
pub fn format_double_within(value: f64, width: usize, out: &mut Vec<u8>) -> bool {
    let negative = value.is_sign_negative();
    let room = width.saturating_sub(usize::from(negative)) as i32;
    let (digits, point) = first_digits(value.abs(), room.max(1) as usize);
    let (form, fits) = form_of(digits.len() as i32, point, room);
    let mut text = Vec::new();
    match form {
        Form::Point(None) => write_digits(&digits, point, &mut text),
        Form::Point(Some(decimals)) => {
            // Writing to a Vec cannot fail.
            let _ = write!(text, "{:.decimals$}", value.abs());
            drop_zeros(&mut text);
        }
        Form::Exponent(count) => {
            let (digits, point) = rounded(value.abs(), count);
            let (first, rest) = digits.split_at(digits.len().min(1));
            text.extend_from_slice(first);
            if !rest.is_empty() {
                text.push(b'.');
                text.extend_from_slice(rest);
            }
            let _ = write!(text, "e{}", point - 1);
        }
    }
    if negative && text.iter().any(|byte| (b'1'..=b'9').contains(byte)) {
        text.insert(0, b'-');
    }
    out.extend_from_slice(&text[..text.len().min(width)]);
    fits && text.len() <= width
}

/// How a number of so many digits is written, whose point lies behind so many of them, and whether it may be.
fn form_of(count: i32, point: i32, room: i32) -> (Form, bool) {
    let has_fraction = count > point;
    let whole = match point {
        ..=0 => 2 - point + count,
        _ if has_fraction => count + 1,
        _ => point,
    };
    let in_range = (1 - POINT_MAX..=POINT_MAX).contains(&point) || point > POINT_MAX && has_fraction;
    if in_range && whole <= room {
        return (Form::Point(None), true);
    }
    let exponent = (point - 1).unsigned_abs();
    let of_exponent = 2 + exponent.checked_ilog10().unwrap_or(0) as i32 + i32::from(point < 1);
    // What is left beside the exponent, and how many digits that is: several need a point.
    let left = room - of_exponent;
    let shown = if count == 1 || left <= 1 { left } else { left - 1 };
    let by_point = match point {
        _ if point > POINT_MAX && !has_fraction => false,
        1.. => point <= room,
        -2..=0 => left < 1 || shown <= room - 2 + point,
        _ => false,
    };
    if by_point {
        let decimals = if point <= 0 { room - 2 } else { room - point - 1 };
        return (Form::Point(Some(decimals.max(0) as usize)), point > 0 || decimals >= 0);
    }
    (Form::Exponent(shown.clamp(1, count) as usize), left >= if count == 1 { 1 } else { 2 })
}

/// The shortest digits that tell a number from its neighbours, but no more than so many.
fn first_digits(value: f64, count_max: usize) -> (Vec<u8>, i32) {
    let shortest = digits_of(&format!("{value:e}"));
    match shortest.0.len() {
        count if count <= count_max && count < DOUBLE_DIGITS => shortest,
        // Halfway between two of that length the even one.
        _ => rounded(value, count_max.min(DOUBLE_DIGITS)),
    }
}

/// The first digits of a number, without zeros behind them, and behind how many of them the point lies.
fn rounded(value: f64, count: usize) -> (Vec<u8>, i32) {
    digits_of(&format!("{value:.*e}", count - 1))
}

fn digits_of(text: &str) -> (Vec<u8>, i32) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let mut digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    let kept = digits.iter().rposition(|digit| *digit != b'0').map_or(1, |last| last + 1);
    digits.truncate(kept);
    (digits, exponent.parse().unwrap_or(0) + 1)
}

/// A number without an exponent.
fn write_digits(digits: &[u8], point: i32, out: &mut Vec<u8>) {
    let Some(whole) = usize::try_from(point).ok().filter(|whole| *whole > 0) else {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + point.unsigned_abs() as usize, b'0');
        return out.extend_from_slice(digits);
    };
    out.extend_from_slice(&digits[..whole.min(digits.len())]);
    if digits.len() > whole {
        out.push(b'.');
        out.extend_from_slice(&digits[whole..]);
    }
    out.resize(out.len().max(whole), b'0');
}

fn drop_zeros(text: &mut Vec<u8>) {
    if text.contains(&b'.') {
        let kept = text.iter().rposition(|byte| *byte != b'0').map_or(0, |last| last + usize::from(text[last] != b'.'));
        text.truncate(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts in 1, 2, 3 … characters, `!` where MySQL warns.
    fn check(value: f64, expected: &str) {
        let told = expected.split(' ').enumerate().map(|(at, _)| {
            let mut text = Vec::new();
            let fits = format_double_within(value, at + 1, &mut text);
            String::from_utf8_lossy(&text).into_owned() + if fits { "" } else { "!" }
        });
        assert_eq!(told.collect::<Vec<_>>().join(" "), expected, "{value:e}");
    }

    #[test]
    fn doubles_are_shortened_as_mysql_shortens_them() {
        check(1234567e0, "1! 1e! 1e6! 1e6 1.2e6 1.23e6 1234567 1234567");
        check(-1234567e0, "-! -1! -1e! -1e6! -1e6 -1.2e6 -1.23e6 -1234567");
        check(0.00001234, "1! 1e! 1e-! 1e-5! 1e-5 1.2e-5 1.23e-5 1.234e-5 1.234e-5 0.00001234 0.00001234");
        check(1e100, "1! 1e! 1e1! 1e10! 1e100 1e100");
        check(1.5e-300, "2! 2e! 2e-! 2e-3! 2e-30! 2e-300! 2e-300 1.5e-300");
        check(12345.6, "1! 1e! 1e4! 1e4 12346 12346 12345.6");
        check(99999.9, "1! 1e! 1e5 1e5 1e5 100000 99999.9");
        check(1.0 / 3.0, "0! 0 0.3 0.33 0.333 0.3333");
        check(2.0 / 3.0 * 1e-3, "7! 7e! 7e-! 7e-4! 7e-4 6.7e-4 6.67e-4");
        check(-2.0 / 3.0, "-! -1! -1 -0.7 -0.67");
        check(0.5, "0! 0 0.5 0.5");
        check(-0.5, "0! 0! 0 -0.5");
        check(0.0005, "5! 5e! 5e-! 5e-4 5e-4 0.0005");
        check(0.001234, "0! 0 0 1e-3! 0.001 0.0012 0.00123 0.001234");
        check(-0.001234, "0! 0! 0 0 -1e-3! -0.001 -0.0012");
        check(0.04, "0! 0 0 0.04");
        // Rounded to three digits it is -0.001, which needs no exponent.
        check(-0.0009999, "0! 0! 0 0");
        check(0.095, "0! 0 0.1 0.1 0.095");
        check(9.99, "1! 10 10 9.99");
        check(0.999, "1 1 1 1 0.999");
        check(99.96, "1! 1e! 100 100 99.96");
        check(100.25, "1! 1e! 100 100 100.2 100.25");
        check(2.5, "2 2 2.5");
        check(0.0, "0 0 0");
        check(1e15, "1! 1e! 1e1! 1e15 1e15 1e15 1e15 1e15 1e15 1e15 1e15 1e15 1e15 1e15 1e15 1e15 1e15");
        check(f64::MIN, "-! -2! -2e! -2e3! -2e30! -2e308! -2e308 -1.8e308");
    }

    #[test]
    fn long_doubles_lose_the_last_digits() {
        let within = |value: f64, width: usize| {
            let mut text = Vec::new();
            assert!(format_double_within(value, width, &mut text));
            String::from_utf8(text).expect("ASCII")
        };
        assert_eq!(within(0.1 + 0.2, 18), "0.3");
        assert_eq!(within(0.1 + 0.2, 19), "0.30000000000000004");
        assert_eq!(within(1e16 / 3.0, 16), "3.33333333333e15");
        assert_eq!(within(1e16 / 3.0, 17), "3333333333333334");
        assert_eq!(within(1e16 / 3.0, 18), "3333333333333333.5");
        assert_eq!(within(1.234e-14, 18), "1.234e-14");
        assert_eq!(within(1.234e-14, 19), "0.00000000000001234");
    }
}
