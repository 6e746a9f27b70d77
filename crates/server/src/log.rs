//! The error log: lines on standard error with MySQL's prefix.
//!
//! `2026-01-02T03:04:05.678901Z 0 [Note] [Server] text`. One write per line, so lines of several threads do not mix.

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};
use types::DateTime;

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
    let (whole, fraction) = (micros / 1_000_000, micros % 1_000_000);
    let at = i64::try_from(whole * 1_000_000).ok().and_then(DateTime::from_unix_micros);
    at.map_or_else(String::new, |at| format!("{}.{fraction:06}Z", at.to_string().replacen(' ', "T", 1)))
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
