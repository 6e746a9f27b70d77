//! Time zones: `SYSTEM`, offsets such as `+05:30`, names of the time zone database.

use super::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND};
use super::{DateTime, Timestamp};
use crate::{Date, SqlMode};

/// Turns instants into local times and back; what a TIMESTAMP needs of a session.
pub trait LocalTime {
    /// Seconds east of UTC at an instant (microseconds since the epoch).
    fn offset_at_utc(&self, utc_micros: i64) -> i32;
    /// The instant of a local time (microseconds since the epoch, as if it were UTC). `None` when clocks were set forward over it.
    fn local_to_utc(&self, local_micros: i64) -> Option<i64>;

    /// The local time of an instant; the zero timestamp is the zero date in every zone.
    fn to_local(&self, instant: Timestamp) -> DateTime {
        if instant == Timestamp::ZERO {
            return DateTime::ZERO;
        }
        let micros = instant.micros();
        DateTime::from_unix_micros(micros + i64::from(self.offset_at_utc(micros)) * MICROS_PER_SECOND).unwrap_or(DateTime::ZERO)
    }

    /// The instant of a local time; `Err` when the local time does not exist or is past TIMESTAMP's range.
    fn to_timestamp(&self, local: DateTime) -> Result<Timestamp, OutsideTimestamp> {
        if local == DateTime::ZERO {
            return Ok(Timestamp::ZERO);
        }
        let local_micros = local.to_unix_micros().ok_or(OutsideTimestamp)?;
        let micros = self.local_to_utc(local_micros).ok_or(OutsideTimestamp)?;
        if (Timestamp::MIN.micros()..=Timestamp::MAX.micros()).contains(&micros) {
            Ok(Timestamp::from_micros(micros))
        } else {
            Err(OutsideTimestamp)
        }
    }

    /// Between which instants a local time lies (all in microseconds since the epoch): what is earlier than the first shows an earlier time, what is later than the
    /// last a later one. They are one and the same, but where clocks are set back and show the time twice, or are set forward over it.
    fn instants_of(&self, local_micros: i64) -> (i64, i64) {
        let with = |offset: i32| local_micros - i64::from(offset) * MICROS_PER_SECOND;
        // Nowhere are clocks set twice in two days.
        let (before, after) = (self.offset_at_utc(local_micros - MICROS_PER_DAY), self.offset_at_utc(local_micros + MICROS_PER_DAY));
        let shows = |offset: i32| self.offset_at_utc(with(offset)) == offset;
        match (shows(before), shows(after)) {
            (true, false) => (with(before), with(before)),
            (false, true) => (with(after), with(after)),
            _ => (with(before.max(after)), with(before.min(after))),
        }
    }
}

/// The zone of clocks that show UTC.
#[derive(Debug, Clone, Copy, Default)]
pub struct Utc;

impl LocalTime for Utc {
    fn offset_at_utc(&self, _: i64) -> i32 {
        0
    }

    fn local_to_utc(&self, local_micros: i64) -> Option<i64> {
        Some(local_micros)
    }
}

/// A local time that is no TIMESTAMP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutsideTimestamp;

impl Timestamp {
    /// 1970-01-01 00:00:01 UTC.
    pub const MIN: Timestamp = Timestamp::from_micros(MICROS_PER_SECOND);
    /// 2038-01-19 03:14:07.999999 UTC.
    pub const MAX: Timestamp = Timestamp::from_micros(i32::MAX as i64 * MICROS_PER_SECOND + 999_999);
}

/// From when on clocks of a zone show what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneChange {
    /// Seconds since the epoch.
    pub at: i64,
    /// Seconds east of UTC.
    pub offset: i32,
    /// Whether it is summer time.
    pub summer: bool,
    /// Its short name.
    pub abbreviation: String,
}

/// A time zone by MySQL's name.
#[derive(Debug, Clone)]
pub struct TimeZone {
    name: String,
    rule: Rule,
}

#[derive(Debug, Clone)]
enum Rule {
    Offset(i32),
    Database(jiff::tz::TimeZone),
}

impl TimeZone {
    /// UTC as an offset.
    pub fn utc() -> TimeZone {
        TimeZone { name: "+00:00".to_owned(), rule: Rule::Offset(0) }
    }

    /// The zone of the machine.
    pub fn system() -> TimeZone {
        TimeZone { name: "SYSTEM".to_owned(), rule: Rule::Database(jiff::tz::TimeZone::system()) }
    }

    /// The zone of a name: `SYSTEM`, an offset from `-13:59` to `+14:00`, or a name of the time zone database; `None` when it is unknown.
    pub fn parse(name: &str) -> Option<TimeZone> {
        if name.eq_ignore_ascii_case("SYSTEM") {
            return Some(TimeZone::system());
        }
        let first = name.bytes().next()?;
        if first == b'+' || first == b'-' {
            let (hours, minutes) = name[1..].split_once(':')?;
            let in_form =
                (1..=2).contains(&hours.len()) && minutes.len() == 2 && (hours.to_owned() + minutes).bytes().all(|b| b.is_ascii_digit());
            if !in_form {
                return None;
            }
            let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
            let seconds = (hours * 60 + minutes) * 60 * if first == b'-' { -1 } else { 1 };
            let in_range = minutes < 60 && (-(13 * 60 + 59) * 60..=14 * 3600).contains(&seconds);
            let sign = if first == b'-' { '-' } else { '+' };
            return in_range.then(|| TimeZone { name: format!("{sign}{hours:02}:{minutes:02}"), rule: Rule::Offset(seconds) });
        }
        let zone = jiff::tz::TimeZone::get(name).ok()?;
        Some(TimeZone { name: zone.iana_name().unwrap_or(name).to_owned(), rule: Rule::Database(zone) })
    }

    /// Names of the time zone database, sorted.
    pub fn known_names() -> Vec<String> {
        let mut names: Vec<String> = jiff::tz::db().available().map(|name| name.as_str().to_owned()).collect();
        names.sort_unstable();
        names
    }

    /// What clocks show in the beginning, and each change of it that a signed 32-bit count of seconds reaches.
    pub fn changes(&self) -> Vec<ZoneChange> {
        let Rule::Database(zone) = &self.rule else { return Vec::new() };
        let first = jiff::Timestamp::from_second(i32::MIN.into()).unwrap_or(jiff::Timestamp::MIN);
        let at_first = zone.to_offset_info(first);
        let mut changes = vec![ZoneChange {
            at: first.as_second(),
            offset: at_first.offset().seconds(),
            summer: at_first.dst().is_dst(),
            abbreviation: at_first.abbreviation().to_owned(),
        }];
        let following = zone.following(first).take_while(|change| change.timestamp().as_second() <= i32::MAX.into());
        changes.extend(following.map(|change| ZoneChange {
            at: change.timestamp().as_second(),
            offset: change.offset().seconds(),
            summer: change.dst().is_dst(),
            abbreviation: change.abbreviation().to_owned(),
        }));
        changes
    }

    /// What `@@time_zone` shows.
    pub fn name(&self) -> &str {
        &self.name
    }
}

fn jiff_timestamp(micros: i64) -> Option<jiff::Timestamp> {
    jiff::Timestamp::from_microsecond(micros).ok()
}

impl LocalTime for TimeZone {
    fn offset_at_utc(&self, utc_micros: i64) -> i32 {
        match &self.rule {
            Rule::Offset(seconds) => *seconds,
            Rule::Database(zone) => jiff_timestamp(utc_micros).map_or(0, |instant| zone.to_offset(instant).seconds()),
        }
    }

    fn local_to_utc(&self, local_micros: i64) -> Option<i64> {
        let zone = match &self.rule {
            Rule::Offset(seconds) => return Some(local_micros - i64::from(*seconds) * MICROS_PER_SECOND),
            Rule::Database(zone) => zone,
        };
        let local = DateTime::from_unix_micros(local_micros)?;
        let civil = jiff::civil::DateTime::new(
            i16::try_from(local.year()).ok()?,
            local.month() as i8,
            local.day() as i8,
            local.hour() as i8,
            local.minute() as i8,
            local.second() as i8,
            local.microsecond() as i32 * 1000,
        )
        .ok()?;
        let offset = match zone.to_ambiguous_timestamp(civil).offset() {
            jiff::tz::AmbiguousOffset::Unambiguous { offset } => offset,
            // Clocks set back: MySQL takes the first of the two instants.
            jiff::tz::AmbiguousOffset::Fold { before, .. } => before,
            jiff::tz::AmbiguousOffset::Gap { .. } => return None,
        };
        Some(local_micros - i64::from(offset.seconds()) * MICROS_PER_SECOND)
    }
}

impl Date {
    /// Today's date and the time of an instant in a zone, for converting TIME to DATETIME.
    pub fn of_instant(utc_micros: i64, zone: &dyn LocalTime) -> Date {
        let date = zone.to_local(Timestamp::from_micros(utc_micros)).date();
        if date.is_allowed(SqlMode::NO_ZERO_DATE) { date } else { Date::from_fields(1970, 1, 1) }
    }
}
