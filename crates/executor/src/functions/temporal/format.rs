//! DATE_FORMAT and STR_TO_DATE: temporal values written and read by a format.

use crate::functions::temporal::SECOND;
use crate::locales::Names;
use types::{Date, DateTime, Time};

/// English month names, which STR_TO_DATE reads in every locale.
pub(super) const MONTHS: [&str; 12] =
    ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
/// English day names, Monday first.
pub(super) const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// DATE_FORMAT, with the names of a locale.
pub(super) fn format_datetime(at: DateTime, t: Time, format: &str, names: &Names) -> Option<String> {
    use std::fmt::Write;
    let d = at.date();
    let mut out = String::new();
    let hour12 = |h: u32| if h.is_multiple_of(12) { 12 } else { h % 12 };
    let (h, m, s) = (t.hour(), t.minute(), t.second());
    let half = if h % 24 < 12 { "AM" } else { "PM" };
    if t.is_negative() {
        out.push('-');
    }
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let Some(f) = chars.next() else {
            out.push('%');
            break;
        };
        // Writing to a string cannot fail.
        let _ = match f {
            'Y' => write!(out, "{:04}", d.year()),
            'y' => write!(out, "{:02}", d.year() % 100),
            'm' => write!(out, "{:02}", d.month()),
            'c' => write!(out, "{}", d.month()),
            'M' | 'b' => {
                if d.month() == 0 {
                    return None;
                }
                let months = if f == 'M' { &names.months } else { &names.months_short };
                write!(out, "{}", months[usize::from(d.month()) - 1])
            }
            'd' => write!(out, "{:02}", d.day()),
            'e' => write!(out, "{}", d.day()),
            'D' => {
                let suffix = match d.day() {
                    11..=13 => "th",
                    n => match n % 10 {
                        1 => "st",
                        2 => "nd",
                        3 => "rd",
                        _ => "th",
                    },
                };
                write!(out, "{}{suffix}", d.day())
            }
            'W' | 'a' => {
                let days = if f == 'W' { &names.days } else { &names.days_short };
                write!(out, "{}", days[usize::from(d.weekday()?)])
            }
            'w' => write!(out, "{}", (d.weekday()? + 1) % 7),
            'j' => write!(out, "{:03}", d.day_of_year()?),
            'H' => write!(out, "{h:02}"),
            'k' => write!(out, "{h}"),
            'h' | 'I' => write!(out, "{:02}", hour12(h)),
            'l' => write!(out, "{}", hour12(h)),
            'i' => write!(out, "{m:02}"),
            'S' | 's' => write!(out, "{s:02}"),
            'f' => write!(out, "{:06}", t.microsecond()),
            'p' => write!(out, "{half}"),
            'r' => write!(out, "{:02}:{m:02}:{s:02} {half}", hour12(h)),
            'T' => write!(out, "{h:02}:{m:02}:{s:02}"),
            'U' => write!(out, "{:02}", d.week(0)?.1),
            'u' => write!(out, "{:02}", d.week(1)?.1),
            'V' => write!(out, "{:02}", d.week(2)?.1),
            'v' => write!(out, "{:02}", d.week(3)?.1),
            'X' => write!(out, "{:04}", d.week(2)?.0),
            'x' => write!(out, "{:04}", d.week(3)?.0),
            other => write!(out, "{other}"),
        };
    }
    Some(out)
}

/// Fields that STR_TO_DATE reads.
#[derive(Default)]
pub(super) struct Fields {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    pub(super) day_of_year: Option<i64>,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    pub(super) micros: i64,
    pub(super) twelve: bool,
    pub(super) pm: bool,
}

impl Fields {
    pub(super) fn hour(&self) -> i64 {
        if self.twelve { self.hour % 12 + if self.pm { 12 } else { 0 } } else { self.hour }
    }

    pub(super) fn time(&self) -> Time {
        Time::from_micros((self.hour() * 3600 + self.minute * 60 + self.second) * SECOND + self.micros)
    }

    pub(super) fn date(&self) -> (i64, i64, i64) {
        if let Some(n) = self.day_of_year
            && let Some(d) = Date::from_fields(self.year as u16, 1, 1).add_days(n - 1)
        {
            return (i64::from(d.year()), i64::from(d.month()), i64::from(d.day()));
        }
        (self.year, self.month, self.day)
    }
}

pub(super) fn parse_by_format(text: &str, format: &str) -> Option<Fields> {
    let mut out = Fields::default();
    let mut rest = text.trim_start();
    let mut chars = format.chars();
    fn digits<'t>(rest: &mut &'t str, max: usize) -> Option<&'t str> {
        let n = rest.bytes().take(max).take_while(u8::is_ascii_digit).count();
        if n == 0 {
            return None;
        }
        let (d, r) = rest.split_at(n);
        *rest = r;
        Some(d)
    }
    fn number(rest: &mut &str, max: usize, low: i64, high: i64) -> Option<i64> {
        let n: i64 = digits(rest, max)?.parse().ok()?;
        (low..=high).contains(&n).then_some(n)
    }
    fn name(rest: &mut &str, names: &[&str], short: bool) -> Option<usize> {
        for (i, n) in names.iter().enumerate() {
            let n = if short { &n[..3] } else { n };
            if rest.get(..n.len()).is_some_and(|r| r.eq_ignore_ascii_case(n)) {
                *rest = &rest[n.len()..];
                return Some(i);
            }
        }
        None
    }
    while let Some(c) = chars.next() {
        if c.is_whitespace() {
            rest = rest.trim_start();
            continue;
        }
        if rest.is_empty() {
            // Missing trailing fields are zero.
            break;
        }
        if c != '%' {
            rest = rest.strip_prefix(c)?;
            continue;
        }
        rest = rest.trim_start();
        match chars.next()? {
            'Y' => {
                let d = digits(&mut rest, 4)?;
                out.year = d.parse().ok()?;
                if d.len() <= 2 {
                    out.year += if out.year < 70 { 2000 } else { 1900 };
                }
            }
            'y' => {
                let n = number(&mut rest, 2, 0, 99)?;
                out.year = n + if n < 70 { 2000 } else { 1900 };
            }
            'm' | 'c' => out.month = number(&mut rest, 2, 0, 12)?,
            'M' => out.month = name(&mut rest, &MONTHS, false)? as i64 + 1,
            'b' => out.month = name(&mut rest, &MONTHS, true)? as i64 + 1,
            'd' | 'e' => out.day = number(&mut rest, 2, 0, 31)?,
            'D' => {
                out.day = number(&mut rest, 2, 0, 31)?;
                rest = rest.get(2..)?;
            }
            'j' => out.day_of_year = Some(number(&mut rest, 3, 1, 366)?),
            'W' => {
                name(&mut rest, &DAYS, false)?;
            }
            'a' => {
                name(&mut rest, &DAYS, true)?;
            }
            'w' => {
                number(&mut rest, 1, 0, 6)?;
            }
            'H' | 'k' => out.hour = number(&mut rest, 2, 0, 23)?,
            'h' | 'I' | 'l' => {
                out.hour = number(&mut rest, 2, 1, 12)?;
                out.twelve = true;
            }
            'i' => out.minute = number(&mut rest, 2, 0, 59)?,
            's' | 'S' => out.second = number(&mut rest, 2, 0, 59)?,
            'f' => {
                let d = digits(&mut rest, 6)?;
                out.micros = d.parse::<i64>().ok()? * 10i64.pow(6 - d.len() as u32);
            }
            'p' => {
                out.pm = rest.get(..2)?.eq_ignore_ascii_case("pm");
                if !out.pm && !rest.get(..2)?.eq_ignore_ascii_case("am") {
                    return None;
                }
                out.twelve = true;
                rest = &rest[2..];
            }
            'T' | 'r' => {
                out.hour = number(&mut rest, 2, 0, 23)?;
                rest = rest.strip_prefix(':')?;
                out.minute = number(&mut rest, 2, 0, 59)?;
                rest = rest.strip_prefix(':')?;
                out.second = number(&mut rest, 2, 0, 59)?;
            }
            '%' => rest = rest.strip_prefix('%')?,
            _ => return None,
        }
    }
    Some(out)
}
