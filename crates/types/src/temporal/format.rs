//! Temporal values as text and as numbers.

use super::{Date, DateTime, Time};
use std::fmt;

fn two(value: u8) -> [u8; 2] {
    [b'0' + value / 10, b'0' + value % 10]
}

fn push_fraction(microsecond: u32, digits: u8, out: &mut Vec<u8>) {
    if digits == 0 {
        return;
    }
    out.push(b'.');
    let mut rest = microsecond;
    let mut text = [b'0'; 6];
    for byte in text.iter_mut().rev() {
        *byte = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    out.extend_from_slice(&text[..usize::from(digits.min(6))]);
}

impl Date {
    /// Appends `YYYY-MM-DD`.
    #[inline]
    pub fn write_to(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.text());
    }

    /// `YYYY-MM-DD`.
    #[inline]
    pub fn text(self) -> [u8; 10] {
        let year = self.year();
        let ([a, b], [c, d]) = (two((year / 100) as u8), two((year % 100) as u8));
        let ([e, f], [g, h]) = (two(self.month()), two(self.day()));
        [a, b, c, d, b'-', e, f, b'-', g, h]
    }

    /// `20240131`.
    pub fn to_number(self) -> u64 {
        u64::from(self.year()) * 10_000 + u64::from(self.month()) * 100 + u64::from(self.day())
    }
}

impl DateTime {
    /// Appends `YYYY-MM-DD hh:mm:ss` with so many fractional digits.
    #[inline]
    pub fn write_to(self, digits: u8, out: &mut Vec<u8>) {
        self.date().write_to(out);
        let ([a, b], [c, d], [e, f]) = (two(self.hour()), two(self.minute()), two(self.second()));
        out.extend_from_slice(&[b' ', a, b, b':', c, d, b':', e, f]);
        push_fraction(self.microsecond(), digits, out);
    }

    /// `20240131235959`, without the fraction.
    pub fn to_number(self) -> u64 {
        self.date().to_number() * 1_000_000 + u64::from(self.hour()) * 10_000 + u64::from(self.minute()) * 100 + u64::from(self.second())
    }
}

impl Time {
    /// Appends `[-]hh:mm:ss` with so many fractional digits; hours have at least two digits.
    pub fn write_to(self, digits: u8, out: &mut Vec<u8>) {
        if self.is_negative() {
            out.push(b'-');
        }
        let hour = self.hour();
        if hour >= 100 {
            out.push(b'0' + (hour / 100 % 10) as u8);
        }
        let ([a, b], [c, d], [e, f]) = (two((hour % 100) as u8), two(self.minute()), two(self.second()));
        out.extend_from_slice(&[a, b, b':', c, d, b':', e, f]);
        push_fraction(self.microsecond(), digits, out);
    }

    /// `-8385959`: hours, minutes and seconds as one signed number, without the fraction.
    pub fn to_number(self) -> i64 {
        let number = i64::from(self.hour()) * 10_000 + i64::from(self.minute()) * 100 + i64::from(self.second());
        if self.is_negative() { -number } else { number }
    }
}

fn display(out: Vec<u8>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(&String::from_utf8_lossy(&out))
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::with_capacity(10);
        self.write_to(&mut out);
        display(out, f)
    }
}

impl fmt::Display for DateTime {
    /// With six fractional digits where there is a fraction, else none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::with_capacity(26);
        self.write_to(if self.microsecond() == 0 { 0 } else { 6 }, &mut out);
        display(out, f)
    }
}

impl fmt::Display for Time {
    /// With six fractional digits where there is a fraction, else none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::with_capacity(17);
        self.write_to(if self.microsecond() == 0 { 0 } else { 6 }, &mut out);
        display(out, f)
    }
}
