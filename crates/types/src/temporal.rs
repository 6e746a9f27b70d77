//! DATE, TIME, DATETIME, TIMESTAMP: packed values that order as numbers do.
//!
//! The types are here; `calendar` counts days and adds intervals, `parse` and `format` convert text and numbers, `zone` turns instants into
//! local times.

mod calendar;
mod format;
mod parse;
mod zone;

#[cfg(test)]
mod tests;

pub use parse::{
    ParsedDateTime, ParsedTime, datetime_from_number, moment_operand, parse_datetime, parse_datetime_full, parse_time, parse_time_full,
    time_from_number, time_operand,
};
pub(crate) use parse::{TIME_NUMBER_MAX, date_time_of_usual_text};
pub use zone::{LocalTime, TimeZone, Utc, ZoneChange};

/// A calendar date, packed as `year << 9 | month << 5 | day`; month and day may be 0. `0000-00-00` is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Date(u32);

impl Date {
    /// `0000-00-00`.
    pub const ZERO: Date = Date(0);

    /// Packs without checking the calendar; fields past their range are an error of the caller.
    #[inline]
    pub const fn from_fields(year: u16, month: u8, day: u8) -> Date {
        debug_assert!(year <= 9999 && month <= 12 && day <= 31);
        Date((year as u32) << 9 | (month as u32) << 5 | day as u32)
    }

    /// 0 to 9999.
    #[inline]
    pub const fn year(self) -> u16 {
        (self.0 >> 9) as u16
    }

    /// 0 to 12.
    #[inline]
    pub const fn month(self) -> u8 {
        (self.0 >> 5 & 15) as u8
    }

    /// 0 to 31.
    #[inline]
    pub const fn day(self) -> u8 {
        (self.0 & 31) as u8
    }

    /// The packed number (23 bits), for storage.
    #[inline]
    pub const fn packed(self) -> u32 {
        self.0
    }

    /// The date of a packed number; `None` when a field is out of range.
    #[inline]
    pub const fn from_packed(packed: u32) -> Option<Date> {
        let date = Date(packed);
        if date.year() <= 9999 && date.month() <= 12 && packed < 1 << 23 { Some(date) } else { None }
    }
}

/// A signed time in microseconds, at most 838:59:59.999999 either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(i64);

impl Time {
    /// The largest TIME that MySQL stores, 838:59:59.
    pub const MAX: Time = Time((838 * 3600 + 59 * 60 + 59) * 1_000_000);
    /// The smallest, -838:59:59.
    pub const MIN: Time = Time(-Time::MAX.0);

    /// A time of so many microseconds; not clamped.
    #[inline]
    pub const fn from_micros(micros: i64) -> Time {
        Time(micros)
    }

    /// Signed microseconds.
    #[inline]
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Whether it prints with a minus sign.
    pub const fn is_negative(self) -> bool {
        self.0 < 0
    }

    /// Hours without sign (up to 838).
    pub const fn hour(self) -> u32 {
        (self.0.unsigned_abs() / 3_600_000_000) as u32
    }

    /// Minutes, 0 to 59.
    pub const fn minute(self) -> u8 {
        (self.0.unsigned_abs() / 60_000_000 % 60) as u8
    }

    /// Seconds, 0 to 59.
    pub const fn second(self) -> u8 {
        (self.0.unsigned_abs() / 1_000_000 % 60) as u8
    }

    /// Microseconds of the second.
    pub const fn microsecond(self) -> u32 {
        (self.0.unsigned_abs() % 1_000_000) as u32
    }
}

/// A date and a time of day without zone, packed as `date << 37 | hour << 32 | minute << 26 | second << 20 | microsecond`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DateTime(u64);

impl DateTime {
    /// `0000-00-00 00:00:00`.
    pub const ZERO: DateTime = DateTime(0);

    /// A date and a time of day; fields past their range are an error of the caller.
    #[inline]
    pub const fn from_fields(date: Date, hour: u8, minute: u8, second: u8, microsecond: u32) -> DateTime {
        debug_assert!(hour < 24 && minute < 60 && second < 60 && microsecond < 1_000_000);
        DateTime((date.0 as u64) << 37 | (hour as u64) << 32 | (minute as u64) << 26 | (second as u64) << 20 | microsecond as u64)
    }

    /// Midnight of a date.
    #[inline]
    pub const fn from_date(date: Date) -> DateTime {
        DateTime((date.0 as u64) << 37)
    }

    /// The date part.
    #[inline]
    pub const fn date(self) -> Date {
        Date((self.0 >> 37) as u32)
    }

    /// 0 to 9999.
    pub const fn year(self) -> u16 {
        self.date().year()
    }

    /// 0 to 12.
    pub const fn month(self) -> u8 {
        self.date().month()
    }

    /// 0 to 31.
    pub const fn day(self) -> u8 {
        self.date().day()
    }

    /// 0 to 23.
    pub const fn hour(self) -> u8 {
        (self.0 >> 32 & 31) as u8
    }

    /// 0 to 59.
    pub const fn minute(self) -> u8 {
        (self.0 >> 26 & 63) as u8
    }

    /// 0 to 59.
    pub const fn second(self) -> u8 {
        (self.0 >> 20 & 63) as u8
    }

    /// Microseconds of the second.
    pub const fn microsecond(self) -> u32 {
        (self.0 & 0xF_FFFF) as u32
    }

    /// The time of day as a [`Time`].
    pub const fn time(self) -> Time {
        Time(self.micros_of_day())
    }

    /// Microseconds since midnight.
    pub const fn micros_of_day(self) -> i64 {
        ((self.hour() as i64 * 60 + self.minute() as i64) * 60 + self.second() as i64) * 1_000_000 + self.microsecond() as i64
    }

    /// The packed number (60 bits), for storage.
    #[inline]
    pub const fn packed(self) -> u64 {
        self.0
    }

    /// The value of a packed number; `None` when a field is out of range.
    #[inline]
    pub const fn from_packed(packed: u64) -> Option<DateTime> {
        let value = DateTime(packed);
        let in_range = packed < 1 << 60
            && Date::from_packed((packed >> 37) as u32).is_some()
            && value.hour() < 24
            && value.minute() < 60
            && value.second() < 60
            && value.microsecond() < 1_000_000;
        if in_range { Some(value) } else { None }
    }
}

/// An instant: microseconds since 1970-01-01 00:00:00 UTC. Zero is MySQL's `0000-00-00 00:00:00`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The zero timestamp, shown as `0000-00-00 00:00:00` in every zone.
    pub const ZERO: Timestamp = Timestamp(0);

    /// An instant.
    #[inline]
    pub const fn from_micros(micros: i64) -> Timestamp {
        Timestamp(micros)
    }

    /// Microseconds since the epoch.
    #[inline]
    pub const fn micros(self) -> i64 {
        self.0
    }
}
