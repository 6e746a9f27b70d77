//! The proleptic Gregorian calendar, day numbers, intervals, rounding.

use super::{Date, DateTime, Time};
use crate::SqlMode;

/// Day number (TO_DAYS) of 1970-01-01.
const EPOCH_DAYS: i64 = 719_528;
/// Day number of 9999-12-31.
const DAYS_MAX: i64 = 3_652_424;
pub(super) const MICROS_PER_SECOND: i64 = 1_000_000;
pub(super) const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// Whether the year has a 29th of February. MySQL's year 0 has none.
pub(super) const fn is_leap(year: u16) -> bool {
    year != 0 && year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

/// Days of a month, 1 to 12.
pub(super) const fn days_in_month(year: u16, month: u8) -> u8 {
    match month {
        2 => 28 + is_leap(year) as u8,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The day number of the 1st of January, also of the years around those that dates have.
fn new_year(year: i64) -> i64 {
    match u16::try_from(year) {
        Ok(year) if year <= 9999 => Date::from_fields(year, 1, 1).to_days().unwrap_or(0),
        Ok(_) => DAYS_MAX + 1,
        // The year before 0.
        Err(_) => 1 - 365,
    }
}

/// Microseconds in a unit of the given fractional digits.
const fn fraction_unit(digits: u8) -> i64 {
    10i64.pow(6 - if digits > 6 { 6 } else { digits as u32 })
}

impl Date {
    /// A date that the modes allow; `None` for one that the calendar or the modes refuse.
    pub fn new(year: u16, month: u8, day: u8, mode: SqlMode) -> Option<Date> {
        if year > 9999 || month > 12 || day > 31 {
            return None;
        }
        let date = Date::from_fields(year, month, day);
        date.is_allowed(mode).then_some(date)
    }

    /// Whether the modes allow the date: NO_ZERO_DATE, NO_ZERO_IN_DATE, ALLOW_INVALID_DATES.
    pub fn is_allowed(self, mode: SqlMode) -> bool {
        if self == Date::ZERO {
            return !mode.contains(SqlMode::NO_ZERO_DATE);
        }
        if self.month() == 0 || self.day() == 0 {
            return !mode.contains(SqlMode::NO_ZERO_IN_DATE);
        }
        mode.contains(SqlMode::ALLOW_INVALID_DATES) || self.day() <= days_in_month(self.year(), self.month())
    }

    /// Whether it names a day: no zero month or day, and the month has that day.
    pub fn is_real(self) -> bool {
        self.month() != 0 && self.day() != 0 && self.day() <= days_in_month(self.year(), self.month())
    }

    /// The day number (TO_DAYS): 1 for 0000-01-01. `None` when month or day is 0; 0000-02-30 counts as a day of March.
    pub fn to_days(self) -> Option<i64> {
        if self.month() == 0 || self.day() == 0 {
            return None;
        }
        // Days of 400-year eras with years that start in March (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
        let month = i64::from(self.month());
        let year = i64::from(self.year()) - i64::from(month <= 2);
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + i64::from(self.day()) - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        // The algorithm's year 0 is a leap year, MySQL's is not.
        let short_year = i64::from(self.year() == 0 && month <= 2);
        Some(era * 146_097 + day_of_era - 719_468 + EPOCH_DAYS + short_year)
    }

    /// The date of a day number; `None` outside years 0 to 9999.
    pub fn from_days(days: i64) -> Option<Date> {
        if !(1..=DAYS_MAX).contains(&days) {
            return None;
        }
        let shifted = days - i64::from(days < 60) - EPOCH_DAYS + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_shifted = (5 * day_of_year + 2) / 153;
        let day = (day_of_year - (153 * month_shifted + 2) / 5 + 1) as u8;
        let month = (if month_shifted < 10 { month_shifted + 3 } else { month_shifted - 9 }) as u8;
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        u16::try_from(year).ok().filter(|year| *year <= 9999).map(|year| Date::from_fields(year, month, day))
    }

    /// Day of the week, Monday 0 to Sunday 6.
    pub fn weekday(self) -> Option<u8> {
        Some(((self.to_days()? + 5) % 7) as u8)
    }

    /// Day of the year from 1.
    pub fn day_of_year(self) -> Option<u16> {
        Some((self.to_days()? - Date::from_fields(self.year(), 1, 1).to_days()? + 1) as u16)
    }

    /// Year and number of the week by the mode of WEEK(): odd modes start weeks on Monday, others on Sunday; in modes 1, 3, 4, 6 week 1 is
    /// the first with four days in the year, in the others the first with its first day; modes 2, 3, 6, 7 count the days before week 1 to
    /// the year before, the others as week 0.
    pub fn week(self, mode: u8) -> Option<(u16, u8)> {
        self.week_in(mode, matches!(mode & 7, 2 | 3 | 6 | 7))
    }

    /// Year and week of YEARWEEK(): as [`Date::week`], never week 0.
    pub fn year_week(self, mode: u8) -> Option<(u16, u8)> {
        self.week_in(mode, true)
    }

    fn week_in(self, mode: u8, by_week_year: bool) -> Option<(u16, u8)> {
        let day = self.to_days()?;
        let start_of_week_1 = |year: u16| -> Option<i64> {
            let new_year = Date::from_fields(year, 1, 1).to_days()?;
            let weekday = (new_year + if mode & 1 == 1 { 5 } else { 6 }) % 7;
            let is_week_1 = if matches!(mode & 7, 1 | 3 | 4 | 6) { weekday <= 3 } else { weekday == 0 };
            Some(new_year - weekday + if is_week_1 { 0 } else { 7 })
        };
        let mut year = self.year();
        if day < start_of_week_1(year)? {
            if !by_week_year || year == 0 {
                return Some((year, 0));
            }
            year -= 1;
        } else if by_week_year && year < 9999 && day >= start_of_week_1(year + 1)? {
            year += 1;
        }
        Some((year, ((day - start_of_week_1(year)?) / 7 + 1) as u8))
    }

    /// The day number of a date whose parts may be 0, as DATE_FORMAT counts: day 0 is the one before a month's first, month 0 has 31 days before
    /// January; 0 in month 0 of year 0.
    fn nominal_days(self) -> i64 {
        match self.month() {
            0 if self.year() == 0 => 0,
            0 => new_year(i64::from(self.year())) - 32 + i64::from(self.day()),
            month => Date::from_fields(self.year(), month, 1).to_days().unwrap_or(0) - 1 + i64::from(self.day()),
        }
    }

    /// Day of the year that DATE_FORMAT tells of any date; not above 0 before January.
    pub fn nominal_day_of_year(self) -> i64 {
        self.nominal_days() - new_year(i64::from(self.year())) + 1
    }

    /// Day of the week that DATE_FORMAT tells of any date, Monday 0 to Sunday 6; `None` in month 0 of year 0.
    pub fn nominal_weekday(self) -> Option<u8> {
        (self.year() != 0 || self.month() != 0).then(|| (self.nominal_days() + 5).rem_euclid(7) as u8)
    }

    /// Year and week by a mode of WEEK() that DATE_FORMAT tells of any date: of real days after the year 0 those of [`Date::week`]. In month 0 MySQL
    /// counts weeks without a sign.
    pub fn nominal_week(self, mode: u8) -> (u32, u32) {
        let by_week_year = matches!(mode & 7, 2 | 3 | 6 | 7);
        let start_of_week_1 = |year: i64| {
            let weekday = (new_year(year) + if mode & 1 == 1 { 5 } else { 6 }).rem_euclid(7);
            let is_week_1 = if matches!(mode & 7, 1 | 3 | 4 | 6) { weekday <= 3 } else { weekday == 0 };
            new_year(year) - weekday + if is_week_1 { 0 } else { 7 }
        };
        let (day, mut year) = (self.nominal_days(), i64::from(self.year()));
        if self.month() == 0 {
            if by_week_year && start_of_week_1(year + 1) <= new_year(year + 1) {
                return (u32::from(self.year()) + 1, 1);
            }
            return (u32::from(self.year()), (day - start_of_week_1(year)) as u32 / 7 + 1);
        }
        if day < start_of_week_1(year) {
            if !by_week_year && start_of_week_1(year) > new_year(year) {
                return (year as u32, 0);
            }
            year -= 1;
        } else if by_week_year && day >= start_of_week_1(year + 1) {
            year += 1;
        }
        (year as u32, ((day - start_of_week_1(year)) / 7 + 1) as u32)
    }

    /// The date so many days later; `None` outside years 0 to 9999.
    pub fn add_days(self, days: i64) -> Option<Date> {
        Date::from_days(self.to_days()?.checked_add(days)?)
    }

    /// The date so many months later; a day past the month's end becomes its last.
    pub fn add_months(self, months: i64) -> Option<Date> {
        if self.month() == 0 || self.day() == 0 {
            return None;
        }
        let total = (i64::from(self.year()) * 12 + i64::from(self.month()) - 1).checked_add(months)?;
        let year = u16::try_from(total.div_euclid(12)).ok().filter(|year| *year <= 9999)?;
        let month = (total.rem_euclid(12) + 1) as u8;
        Some(Date::from_fields(year, month, self.day().min(days_in_month(year, month))))
    }

    /// The last day of its month.
    pub fn last_day(self) -> Option<Date> {
        (self.month() != 0).then(|| Date::from_fields(self.year(), self.month(), days_in_month(self.year(), self.month())))
    }
}

impl DateTime {
    /// Microseconds since 0000-01-01 less one day (day number 0); `None` when month or day is 0.
    pub fn to_micros(self) -> Option<i64> {
        Some(self.date().to_days()? * MICROS_PER_DAY + self.micros_of_day())
    }

    /// The inverse of [`DateTime::to_micros`]; `None` outside years 0 to 9999.
    pub fn from_micros(micros: i64) -> Option<DateTime> {
        let date = Date::from_days(micros.div_euclid(MICROS_PER_DAY))?;
        Some(DateTime::at(date, micros.rem_euclid(MICROS_PER_DAY)))
    }

    /// Microseconds since 1970-01-01 00:00:00, as if the value were UTC; `None` when month or day is 0.
    pub fn to_unix_micros(self) -> Option<i64> {
        Some(self.to_micros()? - EPOCH_DAYS * MICROS_PER_DAY)
    }

    /// The inverse of [`DateTime::to_unix_micros`].
    pub fn from_unix_micros(micros: i64) -> Option<DateTime> {
        DateTime::from_micros(micros.checked_add(EPOCH_DAYS * MICROS_PER_DAY)?)
    }

    /// A date and the microseconds since its midnight (less than a day).
    pub fn at(date: Date, micros_of_day: i64) -> DateTime {
        let seconds = micros_of_day / MICROS_PER_SECOND;
        DateTime::from_fields(
            date,
            (seconds / 3600 % 24) as u8,
            (seconds / 60 % 60) as u8,
            (seconds % 60) as u8,
            (micros_of_day % MICROS_PER_SECOND) as u32,
        )
    }

    /// So many microseconds later; `None` outside years 0 to 9999 or for a date with a zero part.
    pub fn add_micros(self, micros: i64) -> Option<DateTime> {
        DateTime::from_micros(self.to_micros()?.checked_add(micros)?)
    }

    /// So many months later.
    pub fn add_months(self, months: i64) -> Option<DateTime> {
        Some(DateTime::at(self.date().add_months(months)?, self.micros_of_day()))
    }

    /// Rounded half up to so many fractional digits; `None` when that passes the year 9999.
    pub fn round(self, digits: u8) -> Option<DateTime> {
        let unit = fraction_unit(digits);
        let rest = i64::from(self.microsecond()) % unit;
        let down = self.truncate(digits);
        if rest * 2 < unit || unit == 1 {
            return Some(down);
        }
        let micros = down.micros_of_day() + unit;
        if micros < MICROS_PER_DAY {
            return Some(DateTime::at(self.date(), micros));
        }
        down.add_micros(unit)
    }

    /// Cut to so many fractional digits.
    pub fn truncate(self, digits: u8) -> DateTime {
        let micros = self.micros_of_day();
        DateTime::at(self.date(), micros - micros % fraction_unit(digits))
    }
}

impl Time {
    /// A time of fields; minutes and seconds below 60.
    pub fn from_fields(negative: bool, hour: u32, minute: u8, second: u8, microsecond: u32) -> Time {
        let micros = ((i64::from(hour) * 60 + i64::from(minute)) * 60 + i64::from(second)) * MICROS_PER_SECOND + i64::from(microsecond);
        Time::from_micros(if negative { -micros } else { micros })
    }

    /// The nearest time that MySQL stores: within 838:59:59 either way.
    pub fn clamp_range(self) -> Time {
        self.clamp(Time::MIN, Time::MAX)
    }

    /// Rounded half away from zero to so many fractional digits.
    pub fn round(self, digits: u8) -> Time {
        let unit = fraction_unit(digits);
        let (micros, half) = (self.micros(), unit / 2);
        Time::from_micros(if micros < 0 { (micros - half) / unit * unit } else { (micros + half) / unit * unit })
    }

    /// Cut to so many fractional digits.
    pub fn truncate(self, digits: u8) -> Time {
        let unit = fraction_unit(digits);
        Time::from_micros(self.micros() / unit * unit)
    }
}
