//! DATE_FORMAT and STR_TO_DATE: temporal values written and read by a format; GET_FORMAT.

use crate::functions::bounded::Growing;
use crate::functions::temporal::SECOND;
use crate::locales::Names;
use types::{Date, DateTime, Time};

/// English month names, which STR_TO_DATE reads in every locale.
pub(super) const MONTHS: [&str; 12] =
    ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
/// English day names, Monday first.
pub(super) const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// DATE_FORMAT, with the names of a locale. `None` for a name that there is not, and where there is no memory (which marks the statement).
pub(super) fn format_datetime(at: DateTime, t: Time, format: &str, names: &Names) -> Option<Vec<u8>> {
    use std::fmt::Write;
    let d = at.date();
    // MySQL bounds it not.
    let mut out = Growing::unbounded();
    let hour12 = |h: u32| if h.is_multiple_of(12) { 12 } else { h % 12 };
    let (h, m, s) = (t.hour(), t.minute(), t.second());
    let half = if h % 24 < 12 { "AM" } else { "PM" };
    if t.is_negative() {
        out.push(b"-").ok()?;
    }
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push_char(c).ok()?;
            continue;
        }
        let Some(f) = chars.next() else {
            out.push(b"%").ok()?;
            break;
        };
        let written = match f {
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
                write!(out, "{}", days[usize::from(d.nominal_weekday()?)])
            }
            'w' => write!(out, "{}", (d.nominal_weekday()? + 1) % 7),
            // Padded as a text: `0-1`.
            'j' => write!(out, "{:0>3}", d.nominal_day_of_year().to_string()),
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
            'U' => write!(out, "{:02}", d.nominal_week(0).1),
            'u' => write!(out, "{:02}", d.nominal_week(1).1),
            'V' => write!(out, "{:02}", d.nominal_week(2).1),
            'v' => write!(out, "{:02}", d.nominal_week(3).1),
            'X' => write!(out, "{:04}", d.nominal_week(2).0),
            'x' => write!(out, "{:04}", d.nominal_week(3).0),
            other => write!(out, "{other}"),
        };
        written.ok()?;
    }
    Some(out.into_bytes())
}

/// Whether a format asks for what TIME_FORMAT does not know, even of a value with a date: the day of the week or of the year, the day with its
/// ending, weeks and their years.
pub(super) fn asks_for_days(format: &str) -> bool {
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c == '%' && chars.next().is_some_and(|f| "DWawjUuVvXx".contains(f)) {
            return true;
        }
    }
    false
}

/// Fields that STR_TO_DATE reads.
#[derive(Default)]
pub(super) struct Fields {
    year: i64,
    month: i64,
    day: i64,
    day_of_year: Option<i64>,
    /// 1 is Monday, 7 Sunday.
    weekday: Option<i64>,
    week: Option<Week>,
    /// `%X` or `%x`: the year that a week belongs to, and on which day weeks begin.
    year_of_week: Option<(i64, FirstDay)>,
    hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    pub(super) micros: i64,
    twelve: bool,
    pm: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum FirstDay {
    Sunday,
    Monday,
}

/// The number of a week.
struct Week {
    number: i64,
    first_day: FirstDay,
    /// `%V` and `%v`: of a year of weeks.
    of_year_of_weeks: bool,
}

impl Fields {
    pub(super) fn hour(&self) -> i64 {
        if self.twelve { self.hour % 12 + if self.pm { 12 } else { 0 } } else { self.hour }
    }

    pub(super) fn time(&self) -> Time {
        Time::from_micros((self.hour() * 3600 + self.minute * 60 + self.second) * SECOND + self.micros)
    }

    /// Year, month and day; `None` of a week that no year has. A week and its day come before the day of the year, that before month and day.
    pub(super) fn date(&self) -> Option<(i64, i64, i64)> {
        let fields = |d: Date| (i64::from(d.year()), i64::from(d.month()), i64::from(d.day()));
        if let (Some(week), Some(weekday)) = (&self.week, self.weekday) {
            return self.date_of_week(week, weekday).map(fields);
        }
        if let Some(n) = self.day_of_year
            && let Some(d) = Date::from_fields(self.year as u16, 1, 1).add_days(n - 1)
        {
            return Some(fields(d));
        }
        Some((self.year, self.month, self.day))
    }

    /// Reads from the start of a text what a format says; fields at its end that the text has not are zero.
    fn read(&mut self, rest: &mut &str, format: &str) -> Option<()> {
        let mut chars = format.chars();
        while let Some(c) = chars.next() {
            *rest = rest.trim_start();
            if c.is_whitespace() {
                continue;
            }
            if rest.is_empty() {
                break;
            }
            if c != '%' {
                *rest = rest.strip_prefix(c)?;
                continue;
            }
            let field = chars.next()?;
            match field {
                'Y' => {
                    let d = digits(rest, 4)?;
                    self.year = d.parse().ok()?;
                    if d.len() <= 2 {
                        self.year += if self.year < 70 { 2000 } else { 1900 };
                    }
                }
                'y' => {
                    let n = number(rest, 2, 0, 99)?;
                    self.year = n + if n < 70 { 2000 } else { 1900 };
                }
                'm' | 'c' => self.month = number(rest, 2, 0, 12)?,
                'M' => self.month = name(rest, &MONTHS, false)? + 1,
                'b' => self.month = name(rest, &MONTHS, true)? + 1,
                'd' | 'e' => self.day = number(rest, 2, 0, 31)?,
                'D' => {
                    self.day = number(rest, 2, 0, 31)?;
                    *rest = rest.get(2..)?;
                }
                'j' => self.day_of_year = Some(number(rest, 3, 1, 366)?),
                'W' => self.weekday = Some(name(rest, &DAYS, false)? + 1),
                'a' => self.weekday = Some(name(rest, &DAYS, true)? + 1),
                'w' => {
                    let n = number(rest, 1, 0, 6)?;
                    self.weekday = Some(if n == 0 { 7 } else { n });
                }
                'X' => self.year_of_week = Some((number(rest, 4, 0, 9999)?, FirstDay::Sunday)),
                'x' => self.year_of_week = Some((number(rest, 4, 0, 9999)?, FirstDay::Monday)),
                'U' | 'u' | 'V' | 'v' => {
                    let of_year_of_weeks = matches!(field, 'V' | 'v');
                    let number = number(rest, 2, i64::from(of_year_of_weeks), 53)?;
                    let first_day = if matches!(field, 'U' | 'V') { FirstDay::Sunday } else { FirstDay::Monday };
                    self.week = Some(Week { number, first_day, of_year_of_weeks });
                }
                'H' | 'k' => self.hour = number(rest, 2, 0, 23)?,
                'h' | 'I' | 'l' => {
                    self.hour = number(rest, 2, 1, 12)?;
                    self.twelve = true;
                }
                'i' => self.minute = number(rest, 2, 0, 59)?,
                's' | 'S' => self.second = number(rest, 2, 0, 59)?,
                'f' => {
                    let d = digits(rest, 6)?;
                    self.micros = d.parse::<i64>().ok()? * 10i64.pow(6 - d.len() as u32);
                }
                'p' => {
                    self.pm = half(rest)?;
                    self.twelve = true;
                }
                'T' => self.read(rest, "%H:%i:%s")?,
                'r' => {
                    self.twelve = true;
                    self.read(rest, "%I:%i:%s %p")?;
                }
                // Of these there may be none.
                '.' => *rest = rest.trim_start_matches(|c: char| c.is_ascii_punctuation()),
                '@' => *rest = rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()),
                '#' => *rest = rest.trim_start_matches(|c: char| c.is_ascii_digit()),
                _ => return None,
            }
        }
        Some(())
    }

    fn date_of_week(&self, week: &Week, weekday: i64) -> Option<Date> {
        let year = match (week.of_year_of_weeks, self.year_of_week) {
            (false, None) => self.year,
            (true, Some((year, first_day))) if first_day == week.first_day => year,
            _ => return None,
        };
        let new_year = Date::from_fields(year as u16, 1, 1);
        let (new_years_day, weekday_of_it) = (new_year.to_days()?, i64::from(new_year.weekday()?));
        let days = match week.first_day {
            // The first week is that of the first Sunday.
            FirstDay::Sunday => new_years_day + 6 - weekday_of_it + weekday % 7,
            // The first week has four days of the year, or more.
            FirstDay::Monday if weekday_of_it <= 3 => new_years_day - weekday_of_it + weekday - 1,
            FirstDay::Monday => new_years_day - weekday_of_it + 7 + weekday - 1,
        };
        Date::from_days(days + 7 * (week.number - 1)).filter(|d| d.year() > 0)
    }
}

/// So many digits at most, as a text.
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

/// The name that a word is, or that it alone begins; `short` are names of three letters.
fn name(rest: &mut &str, names: &[&str], short: bool) -> Option<i64> {
    let (word, behind) = rest.split_at(rest.bytes().take_while(u8::is_ascii_alphabetic).count());
    let begins = |name: &&str| name.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    let mut found = names.iter().map(|name| if short { &name[..3] } else { *name }).enumerate().filter(|(_, name)| begins(name));
    let (at, whole) = found.next().filter(|_| !word.is_empty())?;
    if whole.len() != word.len() && found.next().is_some() {
        return None;
    }
    *rest = behind;
    Some(at as i64)
}

/// AM or PM: whether it is PM.
fn half(rest: &mut &str) -> Option<bool> {
    let (word, behind) = rest.split_at_checked(2)?;
    let pm = word.eq_ignore_ascii_case("pm");
    *rest = behind;
    (pm || word.eq_ignore_ascii_case("am")).then_some(pm)
}

/// What a text says by a format, and what of it stands behind that.
pub(super) fn parse_by_format<'t>(text: &'t str, format: &str) -> Option<(Fields, &'t str)> {
    let mut out = Fields::default();
    let mut rest = text;
    out.read(&mut rest, format)?;
    Some((out, rest))
}

/// GET_FORMAT: the format of a region.
pub(super) fn get_format(kind: &[u8], region: &[u8]) -> Option<&'static str> {
    let region = String::from_utf8_lossy(region).to_ascii_uppercase();
    let kind = String::from_utf8_lossy(kind).to_ascii_uppercase();
    Some(match (kind.as_str(), region.as_str()) {
        ("DATE", "USA") => "%m.%d.%Y",
        ("DATE", "JIS" | "ISO") => "%Y-%m-%d",
        ("DATE", "EUR") => "%d.%m.%Y",
        ("DATE", "INTERNAL") => "%Y%m%d",
        ("TIME", "USA") => "%h:%i:%s %p",
        ("TIME", "JIS" | "ISO") => "%H:%i:%s",
        ("TIME", "EUR") => "%H.%i.%s",
        ("TIME", "INTERNAL") => "%H%i%s",
        (_, "USA" | "EUR") => "%Y-%m-%d %H.%i.%s",
        (_, "JIS" | "ISO") => "%Y-%m-%d %H:%i:%s",
        (_, "INTERNAL") => "%Y%m%d%H%i%s",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every day, written with its week and read again.
    #[test]
    fn a_week_and_its_day_are_the_date_that_wrote_them() {
        let names = crate::locales::LOCALES[0].names;
        let mut day = Date::from_fields(1999, 1, 1);
        while day.year() < 2041 {
            for format in ["%X %V %w", "%x %v %W", "%Y %U %a", "%Y %u %w", "%X%V%w", "%Y-%j"] {
                let at = DateTime::from_date(day);
                let text = String::from_utf8(format_datetime(at, at.time(), format, names).expect("a text")).expect("text");
                let read = parse_by_format(&text, format).and_then(|(fields, rest)| fields.date().filter(|_| rest.is_empty()));
                assert_eq!(read, Some((i64::from(day.year()), i64::from(day.month()), i64::from(day.day()))), "{text} by {format}");
            }
            day = day.add_days(1).expect("a day");
        }
    }

    #[test]
    fn spaces_and_missing_ends_are_read_over() {
        let check = |text: &str, format: &str, expect: Option<(i64, i64, i64, i64)>| {
            let read = parse_by_format(text, format).map(|(f, _)| (f.year, f.hour(), f.minute, f.second));
            assert_eq!(read, expect, "{text} by {format}");
        };
        check("2020 - 01 - 02", "%Y-%m-%d", Some((2020, 0, 0, 0)));
        check("12 :30", "%H:%i", Some((0, 12, 30, 0)));
        check("12 ", "%h:%i", Some((0, 0, 0, 0)));
        check("12", "%T", Some((0, 12, 0, 0)));
        check("12:30:", "%T", Some((0, 12, 30, 0)));
        check("12x30", "%T", None);
        check("12:30", "%r", Some((0, 0, 30, 0)));
        check("01:30:05 PM", "%r", Some((0, 13, 30, 5)));
        check("10:00:00 x", "%r", None);
        check("..,2020", "%.%Y", Some((2020, 0, 0, 0)));
        check("ab12.2020", "%@%#%.%Y", Some((2020, 0, 0, 0)));
        check("2020%", "%Y%%", None);
    }
}
