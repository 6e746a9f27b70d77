//! The error log: lines on standard error with MySQL's prefix.
//!
//! `2026-01-02T03:04:05.678901Z 0 [Note] [Server] text`. One write per line, so lines of several threads do not mix.

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

/// Weight of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Start and stop.
    System,
    /// Something failed.
    Error,
    /// Something needs an eye.
    Warning,
    /// For information.
    Note,
}

impl Level {
    const fn name(self) -> &'static str {
        match self {
            Self::System => "System",
            Self::Error => "ERROR",
            Self::Warning => "Warning",
            Self::Note => "Note",
        }
    }
}

/// Writes a line about a connection, or about the server as a whole with connection 0.
pub fn write(level: Level, connection: u32, text: &str) {
    let micros = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64);
    let line = format!("{} {connection} [{}] [Server] {text}\n", timestamp(micros), level.name());
    // A log that cannot be written has nowhere to complain.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// A line about the server as a whole.
pub fn note(text: &str) {
    write(Level::Note, 0, text);
}

/// A warning about the server as a whole.
pub fn warning(text: &str) {
    write(Level::Warning, 0, text);
}

/// ISO 8601 in UTC with microseconds.
fn timestamp(micros: u64) -> String {
    let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
    let (days, second_of_day) = (seconds / 86_400, seconds % 86_400);
    // Days to a civil date, with years that begin in March so that the leap day is the last of its year.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = (era * 400 + year_of_era + u64::from(month >= 10), if month < 10 { month + 3 } else { month - 9 });
    let (hour, minute, second) = (second_of_day / 3_600, second_of_day / 60 % 60, second_of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:06}Z")
}

#[cfg(test)]
mod tests {
    use super::timestamp;

    #[test]
    fn timestamps_know_the_calendar() {
        for (seconds, expect) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (951_782_400, "2000-02-29T00:00:00.000000Z"),
            (1_709_251_199, "2024-02-29T23:59:59.000000Z"),
            (4_102_444_800, "2100-01-01T00:00:00.000000Z"),
        ] {
            assert_eq!(timestamp(seconds * 1_000_000), expect);
        }
    }
}
