//! What was measured, to be kept and shown: JSON that reads back what it wrote, CSV for other programs, one HTML file for people.
//!
//! # Invariants
//! 1. `json::read(json::write(r)) == r`; the number of the schema goes up with each change that an older reader cannot read.
//! 2. A page needs nothing but itself: no script, no font, no picture from elsewhere. Text that came from a server or a user is escaped.
//! 3. A file is replaced whole (written beside and renamed), so that a program killed in the middle leaves the last one readable.
//!
//! # Not here
//! What is measured (`run`), in what order (`compare`, `soak`). Figures that follow from others are not kept: they are computed when shown.
//!
//! # Start at
//! [`Report`], then `html/mod.rs`.

pub mod command;
pub mod csv;
pub mod figures;
pub mod html;
pub mod json;
pub mod machine;
pub mod markdown;
pub mod plot;
#[cfg(test)]
pub(crate) mod samples;
pub mod table;

use crate::outcome::Outcome;
use crate::soak::Soak;
use machine::Machine;
use std::collections::BTreeMap;
use std::path::Path;
use types::DateTime;

/// What one call of the program measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The program and its version.
    pub program: String,
    /// The command line, quoted as a shell wants it.
    pub command: String,
    /// When it began, UTC (`2026-11-21 16:30:00`).
    pub begun: String,
    /// Where the client ran.
    pub machine: Machine,
    /// Each workload, server and number of connections.
    pub outcomes: Vec<Outcome>,
    /// Slices by which servers were compared.
    pub comparisons: Vec<Comparison>,
    /// Long runs.
    pub soaks: Vec<Soak>,
    /// What is to be known beside the figures, such as a server that refused so many connections.
    pub notes: Vec<String>,
}

/// One workload with one number of connections on several servers in turns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// The workload.
    pub workload: String,
    /// Settings of its outcomes; none in reports of earlier versions.
    pub settings: BTreeMap<String, String>,
    /// Connections to each server.
    pub connections: usize,
    /// The servers; others are compared with the first.
    pub servers: Vec<String>,
    /// For each round and server, what a slice gave; none where it failed.
    pub rounds: Vec<Vec<Option<SliceFigures>>>,
}

/// What counts of a slice in a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SliceFigures {
    /// Transactions that ended well.
    pub transactions: u64,
    /// Measured time.
    pub seconds: f64,
    /// The server's processor time, user and system, when it is on this machine.
    pub cpu_seconds: Option<f64>,
}

impl SliceFigures {
    /// Those of an outcome.
    pub fn of(outcome: &Outcome) -> SliceFigures {
        let cpu_seconds = outcome.local.map(|local| local.user_seconds + local.system_seconds);
        SliceFigures { transactions: outcome.transactions(), seconds: outcome.seconds, cpu_seconds }
    }

    /// Transactions a second.
    pub fn rate(&self) -> f64 {
        self.transactions as f64 / self.seconds.max(f64::MIN_POSITIVE)
    }

    /// Processor microseconds a transaction.
    pub fn cpu_us_each(&self) -> Option<f64> {
        (self.transactions > 0).then_some(())?;
        Some(self.cpu_seconds? * 1e6 / self.transactions as f64)
    }
}

/// How reports can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// All of it, to be read back.
    Json,
    /// A line for each outcome.
    Csv,
    /// A page.
    Html,
    /// Tables for a text.
    Markdown,
}

impl Form {
    /// By the ending of a file's name.
    pub fn of(path: &Path) -> Result<Form, String> {
        match path.extension().and_then(|e| e.to_str()) {
            Some("json") => Ok(Form::Json),
            Some("csv") => Ok(Form::Csv),
            Some("html" | "htm") => Ok(Form::Html),
            Some("md") => Ok(Form::Markdown),
            _ => Err(format!("{}: a report ends in .json, .csv, .html or .md", path.display())),
        }
    }
}

/// Writes reports in the form that the file's name asks for.
pub fn write(path: &Path, reports: &[Report]) -> Result<(), String> {
    let text = match Form::of(path)? {
        Form::Json => json::write(&merged(reports)),
        Form::Csv => csv::write(reports),
        Form::Html => html::page(reports),
        Form::Markdown => markdown::tables(reports),
    };
    replace(path, &text)
}

/// Reads one that was written as JSON.
pub fn read(path: &Path) -> Result<Report, String> {
    let text = std::fs::read(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    json::read(&text).map_err(|e| format!("{}: {e}", path.display()))
}

/// Several as one: figures of all; of what there can be one only, the first's, and the others' as notes.
pub fn merged(reports: &[Report]) -> Report {
    let Some((first, others)) = reports.split_first() else { return Report::default() };
    let mut all = first.clone();
    for other in others {
        all.notes.push(format!("{} ({}, on {}): {}", other.begun, other.program, other.machine.in_short(), other.command));
        all.outcomes.extend_from_slice(&other.outcomes);
        all.comparisons.extend_from_slice(&other.comparisons);
        all.soaks.extend_from_slice(&other.soaks);
        all.notes.extend_from_slice(&other.notes);
    }
    all
}

/// Writes a file beside and puts it in the place of the old one.
pub fn replace(path: &Path, text: &str) -> Result<(), String> {
    let failed = |what: &str, e: std::io::Error| format!("cannot {what} {}: {e}", path.display());
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|e| failed("make the folder of", e))?;
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    std::fs::write(&beside, text).map_err(|e| failed("write", e))?;
    std::fs::rename(&beside, path).map_err(|e| failed("replace", e))
}

/// Seconds since 1970 as a date and a time, UTC.
pub fn date_and_time(unix_seconds: u64) -> String {
    let micros = i64::try_from(unix_seconds).ok().and_then(|seconds| seconds.checked_mul(1_000_000));
    micros.and_then(DateTime::from_unix_micros).map_or_else(String::new, |at| at.to_string())
}

/// That of now.
pub fn now() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    date_and_time(since.map_or(0, |d| d.as_secs()))
}

/// A number with commas between thousands: whole from 1,000 on, with three digits below.
pub fn shown(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let size = value.abs();
    if size < 1000.0 {
        return match size {
            s if s >= 99.95 => format!("{value:.0}"),
            s if s >= 9.995 => format!("{value:.1}"),
            s if s >= 0.9995 || s == 0.0 => format!("{value:.2}"),
            _ => format!("{value:.3}"),
        };
    }
    let digits = format!("{size:.0}");
    let mut out = String::from(if value < 0.0 { "-" } else { "" });
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// So many connections, in words.
pub fn connections(count: usize) -> String {
    if count == 1 { "1 connection".to_owned() } else { format!("{count} connections") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, right) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_399, "2000-02-28 23:59:59"),
            (951_782_400, "2000-02-29 00:00:00"),
            (1_795_276_800, "2026-11-21 16:00:00"),
            (4_107_542_400, "2100-03-01 00:00:00"),
        ] {
            assert_eq!(date_and_time(seconds), right);
        }
    }

    #[test]
    fn numbers_are_short() {
        for (value, right) in [
            (0.0, "0.00"),
            (0.1234, "0.123"),
            (1.236, "1.24"),
            (12.34, "12.3"),
            (999.4, "999"),
            (1000.0, "1,000"),
            (1234567.8, "1,234,568"),
            (-4321.0, "-4,321"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(shown(value), right);
        }
    }

    #[test]
    fn the_name_says_the_form() {
        assert_eq!(Form::of(Path::new("a/b.html")), Ok(Form::Html));
        assert!(Form::of(Path::new("report.txt")).unwrap_err().contains(".json, .csv, .html"));
    }

    #[test]
    fn a_file_is_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/er/x.json");
        let report = samples::report();
        for _ in 0..2 {
            write(&path, std::slice::from_ref(&report)).unwrap();
            assert_eq!(read(&path).unwrap(), report);
        }
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing stays beside it");
    }
}
