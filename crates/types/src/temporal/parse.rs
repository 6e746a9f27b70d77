//! Text and numbers to temporal values, by MySQL's rules.
//!
//! A date is `YYYY-MM-DD` with any punctuation between its parts, or undelimited (`YYYYMMDD`, `YYMMDD`); a time may follow after a space or
//! `T`. Years of two digits are 1970 to 2069. A fraction has six digits; a seventh rounds.

use super::calendar::{MICROS_PER_SECOND, days_in_month};
use super::{Date, DateTime, Time};
use crate::{SqlMode, Value};

/// What [`parse_datetime_full`] read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParsedDateTime {
    /// The value; in the zone of `offset_seconds` when there is one.
    pub value: DateTime,
    /// Something after the value was ignored.
    pub truncated: bool,
    /// The text has a time part.
    pub has_time: bool,
    /// Digits after the point, at most 6.
    pub fraction_digits: u8,
    /// `+hh:mm` at the end, in seconds.
    pub offset_seconds: Option<i32>,
}

/// What [`parse_time_full`] read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParsedTime {
    /// The value, within MySQL's range.
    pub value: Time,
    /// Something after the value was ignored.
    pub truncated: bool,
    /// The value was past 838:59:59.
    pub out_of_range: bool,
    /// Digits after the point, at most 6.
    pub fraction_digits: u8,
}

/// A date with or without time; `None` when it is none or the modes refuse it. What follows the value is ignored.
pub fn parse_datetime(text: &[u8], mode: SqlMode) -> Option<DateTime> {
    parse_datetime_full(text, mode).map(|parsed| parsed.value)
}

/// A time, or the time of a date with time; `None` when it is none. What follows the value is ignored, the value is clamped.
pub fn parse_time(text: &[u8]) -> Option<Time> {
    parse_time_full(text).map(|parsed| parsed.value)
}

/// The time that a constant text is beside a column of times; `None` where it is none as a whole: something stands behind one, or there are more hours than a time has.
pub fn time_operand(text: &[u8]) -> Option<Time> {
    parse_time_full(text).filter(|parsed| !parsed.truncated && !parsed.out_of_range).map(|parsed| parsed.value)
}

/// A cursor over the text.
struct Scanner<'a> {
    rest: &'a [u8],
}

impl<'a> Scanner<'a> {
    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    fn skip_spaces(&mut self) -> bool {
        let count = self.rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.rest = &self.rest[count..];
        count > 0
    }

    fn digits(&mut self, most: usize) -> &'a [u8] {
        let count = self.rest.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        digits
    }

    fn eat(&mut self, wanted: impl Fn(u8) -> bool) -> bool {
        let found = self.peek().is_some_and(wanted);
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    /// `.` and digits: microseconds, whether a seventh digit rounds up, count of digits.
    fn fraction(&mut self) -> (u32, bool, u8) {
        if self.peek() != Some(b'.') {
            return (0, false, 0);
        }
        self.rest = &self.rest[1..];
        let digits = self.digits(usize::MAX);
        let micros = (0..6).fold(0, |micros, at| micros * 10 + digits.get(at).map_or(0, |digit| u32::from(digit - b'0')));
        (micros, digits.get(6).is_some_and(|digit| *digit >= b'5'), digits.len().min(6) as u8)
    }

    /// Only spaces are left.
    fn at_end(&mut self) -> bool {
        self.skip_spaces();
        self.rest.is_empty()
    }
}

fn number(digits: &[u8]) -> u32 {
    digits.iter().fold(0u32, |value, digit| value.saturating_mul(10).saturating_add(u32::from(digit - b'0')))
}

fn full_year(year: u32) -> u32 {
    if year < 70 { year + 2000 } else { year + 1900 }
}

fn is_delimiter(byte: u8) -> bool {
    byte.is_ascii_punctuation()
}

/// Fields of a date with time before they are checked.
#[derive(Default)]
struct Fields {
    year: u32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
}

impl Fields {
    fn check(&self, microsecond: u32, round_up: bool, mode: SqlMode) -> Option<DateTime> {
        if self.hour > 23 || self.minute > 59 || self.second > 59 || self.month > 12 || self.day > 31 {
            return None;
        }
        let date = Date::new(u16::try_from(self.year).ok()?, self.month as u8, self.day as u8, mode)?;
        let value = DateTime::from_fields(date, self.hour as u8, self.minute as u8, self.second as u8, microsecond);
        if round_up && !mode.contains(SqlMode::TIME_TRUNCATE_FRACTIONAL) { value.add_micros(1) } else { Some(value) }
    }
}

/// A date with or without time; `None` when it is none or the modes refuse it.
pub fn parse_datetime_full(text: &[u8], mode: SqlMode) -> Option<ParsedDateTime> {
    match date_time_of_usual_text(text) {
        Some(value) => {
            Some(ParsedDateTime { value, truncated: false, has_time: text.len() > 10, fraction_digits: 0, offset_seconds: None })
        }
        None => parse_any_datetime(text, mode),
    }
}

/// [`parse_datetime_full`], whatever form the text has.
pub(super) fn parse_any_datetime(text: &[u8], mode: SqlMode) -> Option<ParsedDateTime> {
    let mut scanner = Scanner { rest: text };
    scanner.skip_spaces();
    let (fields, has_time) = fields_of_text(&mut scanner)?;
    let (microsecond, round_up, fraction_digits) = if has_time { scanner.fraction() } else { (0, false, 0) };
    let offset_seconds = if has_time { offset_suffix(&mut scanner)? } else { None };
    // Punctuation behind a fraction says nothing.
    while fraction_digits > 0 && scanner.eat(|byte| is_delimiter(byte) || byte.is_ascii_whitespace()) {}
    let truncated = !scanner.at_end();
    let value = fields.check(microsecond, round_up, mode)?;
    Some(ParsedDateTime { value, truncated, has_time, fraction_digits, offset_seconds })
}

/// Reads up to the seconds; whether there is a time. Where the text begins with digits (and perhaps `T`) alone, with nothing or a point behind them, it is undelimited: how many they are tells how many the year has, and
/// each further part has two or, before punctuation, fewer. Otherwise each part has the digits that are there. Any punctuation parts them, any number of times, also behind the last one that is there; spaces may stand
/// behind the day, and behind the seconds.
fn fields_of_text(scanner: &mut Scanner<'_>) -> Option<(Fields, bool)> {
    if !scanner.peek().is_some_and(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let run = scanner.rest.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'T').count();
    let (year_most, most) = match (scanner.rest.get(run), run) {
        (None | Some(b'.'), 4 | 8 | 14..) => (4, 2),
        (None | Some(b'.'), _) => (2, 2),
        (Some(_), _) => (4, usize::MAX),
    };
    let year_digits = scanner.digits(year_most);
    if most > 2 && scanner.peek().is_some_and(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let short_year = year_most == 2 || year_digits.len() == 2;
    let (mut parts, mut found) = ([number(year_digits), 0, 0, 0, 0, 0], 1);
    while found < parts.len() {
        let is_time_next = found == 3 && scanner.rest.get(1).is_some_and(u8::is_ascii_digit);
        if !(is_time_next && scanner.eat(|byte| byte == b'T')) {
            // "-05:30" behind a time is an offset, "-05" another delimiter.
            if found > 3 && matches!(scanner.rest, [b'+' | b'-', _, _, b':', ..]) {
                break;
            }
            while scanner.eat(|byte| is_delimiter(byte) || found == 3 && byte.is_ascii_whitespace()) {}
        }
        let digits = scanner.digits(most);
        if digits.is_empty() {
            break;
        }
        parts[found] = number(digits);
        found += 1;
    }
    let ends_early = found < parts.len() && scanner.peek().is_some_and(|byte| byte.is_ascii_whitespace());
    if found < 3 || ends_early {
        return None;
    }
    let [mut year, month, day, hour, minute, second] = parts;
    if short_year && (year != 0 || month != 0 || day != 0) {
        year = full_year(year);
    }
    Some((Fields { year, month, day, hour, minute, second }, found > 3))
}

/// A date, or a date with a time in whole seconds, in the form in which they are printed, of a day that exists: `YYYY-MM-DD[ hh:mm:ss]`. It means that in every mode; `None`
/// says nothing.
pub(crate) fn date_time_of_usual_text(text: &[u8]) -> Option<DateTime> {
    let (date, time) = text.split_first_chunk::<10>()?;
    let [.., b'-', _, _, b'-', _, _] = date else { return None };
    let mut other = false;
    let mut pair = |high: u8, low: u8| {
        let (high, low) = (high.wrapping_sub(b'0'), low.wrapping_sub(b'0'));
        other |= high > 9 || low > 9;
        high.wrapping_mul(10).wrapping_add(low)
    };
    let year = u16::from(pair(date[0], date[1])) * 100 + u16::from(pair(date[2], date[3]));
    let (month, day) = (pair(date[5], date[6]), pair(date[8], date[9]));
    let (hour, minute, second) = match *time {
        [] => (0, 0, 0),
        [b' ', a, b, b':', c, d, b':', e, f] => (pair(a, b), pair(c, d), pair(e, f)),
        _ => return None,
    };
    let real = year > 0 && (1..=12).contains(&month) && day > 0 && (day <= 28 || day <= days_in_month(year, month));
    if other || !real || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    Some(DateTime::from_fields(Date::from_fields(year, month, day), hour, minute, second, 0))
}

/// `+hh:mm` or `-hh:mm` directly after the time. `None`: it looks like one and is wrong.
fn offset_suffix(scanner: &mut Scanner<'_>) -> Option<Option<i32>> {
    let sign = match scanner.peek() {
        Some(sign @ (b'+' | b'-')) => sign,
        _ => return Some(None),
    };
    let [_, a, b, b':', c, d, ..] = *scanner.rest else { return None };
    if ![a, b, c, d].iter().all(u8::is_ascii_digit) {
        return None;
    }
    scanner.rest = &scanner.rest[6..];
    let (hours, minutes) = (number(&[a, b]) as i32, number(&[c, d]) as i32);
    let seconds = (hours * 60 + minutes) * 60 * if sign == b'-' { -1 } else { 1 };
    let in_range = minutes < 60 && ((-14 * 3600 + 60)..=14 * 3600).contains(&seconds) && !(sign == b'-' && seconds == 0);
    in_range.then_some(Some(seconds))
}

/// Whether a text may be a date with a time where a time is wanted: not as `YYYYMMDD.hh`, of which the digits are seconds, minutes and hours there.
fn may_be_dated(text: &[u8]) -> bool {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits >= 12 || text.get(digits) != Some(&b'.') || digits <= 4
}

/// A time: `[-][D ]hh:mm:ss.f`, `hh:mm`, undelimited `hhmmss`, `mmss` or `ss`; a text of a date with time gives its time.
pub fn parse_time_full(text: &[u8]) -> Option<ParsedTime> {
    let mut scanner = Scanner { rest: text };
    scanner.skip_spaces();
    let negative = scanner.eat(|byte| byte == b'-');
    if !scanner.peek().is_some_and(|byte| byte.is_ascii_digit()) && scanner.peek() != Some(b'.') {
        return None;
    }
    if !negative
        && scanner.rest.len() >= 12
        && may_be_dated(scanner.rest)
        && let Some(parsed) = parse_datetime_full(text, SqlMode::NONE).filter(|parsed| parsed.has_time)
        && (!parsed.truncated || !text.contains(&b'T'))
    {
        return Some(ParsedTime {
            value: parsed.value.time(),
            truncated: parsed.truncated,
            out_of_range: false,
            fraction_digits: parsed.fraction_digits,
        });
    }
    let first = scanner.digits(usize::MAX);
    let (mut days, mut minute, mut second) = (0u64, 0u64, 0u64);
    let hour;
    let day_part = scanner.peek() == Some(b' ') && {
        let mut ahead = Scanner { rest: scanner.rest };
        ahead.skip_spaces();
        ahead.peek().is_some_and(|byte| byte.is_ascii_digit())
    };
    if day_part {
        days = u64::from(number(first));
        scanner.skip_spaces();
        hour = u64::from(number(scanner.digits(usize::MAX)));
        if scanner.eat(|byte| byte == b':') {
            minute = u64::from(number(scanner.digits(2)));
            if scanner.eat(|byte| byte == b':') {
                second = u64::from(number(scanner.digits(2)));
            }
        }
    } else if scanner.peek() == Some(b':') && scanner.rest.get(1).is_some_and(u8::is_ascii_digit) {
        hour = u64::from(number(first));
        scanner.rest = &scanner.rest[1..];
        minute = u64::from(number(scanner.digits(2)));
        if scanner.rest.get(1).is_some_and(u8::is_ascii_digit) && scanner.eat(|byte| byte == b':') {
            second = u64::from(number(scanner.digits(2)));
        }
    } else {
        let value = first.iter().fold(0u64, |value, digit| value.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
        (hour, minute, second) = (value / 10_000, value / 100 % 100, value % 100);
    }
    let (microsecond, round_up, fraction_digits) = scanner.fraction();
    if minute > 59 || second > 59 {
        return None;
    }
    let truncated = !scanner.at_end();
    let hours = days.saturating_mul(24).saturating_add(hour);
    let out_of_range = hours > 838;
    let magnitude = if out_of_range {
        Time::MAX.micros()
    } else {
        let seconds = (hours * 60 + minute) * 60 + second;
        seconds as i64 * MICROS_PER_SECOND + i64::from(microsecond) + i64::from(round_up)
    };
    let past_range = magnitude > Time::MAX.micros();
    let magnitude = magnitude.min(Time::MAX.micros());
    let value = Time::from_micros(if negative { -magnitude } else { magnitude });
    Some(ParsedTime { value, truncated, out_of_range: out_of_range || past_range, fraction_digits })
}

/// The date (with time) of a number: YYYYMMDD, YYMMDD, YYYYMMDDhhmmss, YYMMDDhhmmss; the flag tells whether it has a time.
pub fn datetime_from_number(number: i64, mode: SqlMode) -> Option<(DateTime, bool)> {
    let (date, time, has_time) = match number {
        0 => (0, 0, false),
        101..=691_231 => (number + 20_000_000, 0, false),
        700_101..=991_231 => (number + 19_000_000, 0, false),
        10_000_101..=99_991_231 => (number, 0, false),
        101_000_000..=691_231_235_959 => (number / 1_000_000 + 20_000_000, number % 1_000_000, true),
        700_101_000_000..=991_231_235_959 => (number / 1_000_000 + 19_000_000, number % 1_000_000, true),
        10_000_101_000_000..=99_991_231_235_959 => (number / 1_000_000, number % 1_000_000, true),
        _ => return None,
    };
    let fields = Fields {
        year: (date / 10_000) as u32,
        month: (date / 100 % 100) as u32,
        day: (date % 100) as u32,
        hour: (time / 10_000) as u32,
        minute: (time / 100 % 100) as u32,
        second: (time % 100) as u32,
    };
    debug_assert!(fields.month > 12 || fields.month == 0 || days_in_month(fields.year as u16, fields.month as u8) >= 28);
    fields.check(0, false, mode).map(|value| (value, has_time))
}

/// What a number is compared with a column of dates as: the moment whose digits it has, the thirtieth of February included. Zero is a number.
pub fn moment_operand(number: &Value) -> Option<DateTime> {
    let mut micros = 0;
    let digits = match number {
        Value::Int(digits) => *digits,
        // Past 2^53 it may be another number's.
        Value::Double(number) if number.fract() == 0.0 && number.abs() < 9e15 => *number as i64,
        Value::Decimal(number) => {
            let (unscaled, scale) = number.normalize().as_i128()?;
            let unit = 10_i128.checked_pow(u32::from(scale))?;
            micros = (unscaled % unit).checked_mul(1_000_000)? / unit;
            i64::try_from(unscaled / unit).ok()?
        }
        _ => return None,
    };
    let (at, has_time) = datetime_from_number(digits, SqlMode::ALLOW_INVALID_DATES).filter(|_| digits != 0)?;
    // Behind a day's digits a fraction says nothing.
    if has_time { at.add_micros(micros as i64) } else { Some(at) }
}

/// The greatest time as a number.
pub(crate) const TIME_NUMBER_MAX: u64 = 8_385_959;

/// The time of a number hhmmss; a number of a date with time gives its time. The flag tells that it was past the range.
pub fn time_from_number(number: i64) -> Option<(Time, bool)> {
    let magnitude = number.unsigned_abs();
    if magnitude > TIME_NUMBER_MAX {
        if number >= 10_000_000_000 {
            return datetime_from_number(number, SqlMode::NONE).map(|(value, _)| (value.time(), false));
        }
        return Some((if number < 0 { Time::MIN } else { Time::MAX }, true));
    }
    let (hour, minute, second) = (magnitude / 10_000, magnitude / 100 % 100, magnitude % 100);
    if minute > 59 || second > 59 {
        return None;
    }
    Some((Time::from_fields(number < 0, hour as u32, minute as u8, second as u8, 0), false))
}
