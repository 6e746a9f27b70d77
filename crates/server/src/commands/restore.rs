//! `altiplano restore`: from a backup, and perhaps the log archive, to a data directory.

use super::backup::directory;
use super::bar::Bar;
use super::finish;
use backup::{BackupSet, Error, Until};
use base::Lsn;
use clap::Args;
use env::{Clock, Disk, ReadOnlyDisk, RealClock};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use types::{LocalTime, SqlMode, TimeZone, Timestamp, parse_datetime};

/// Options of `restore`.
#[derive(Debug, Args)]
pub struct RestoreOptions {
    /// The backup
    pub backup: PathBuf,
    /// Data directory to make; it must be empty
    #[arg(long, value_name = "DIR")]
    pub to: PathBuf,
    /// The log archive: goes on to its end, or to the point asked for
    #[arg(long, value_name = "DIR")]
    pub archive: Option<PathBuf>,
    /// With what is in the log up to this LSN
    #[arg(long, value_name = "N", requires = "archive", conflicts_with = "until_time")]
    pub until_lsn: Option<u64>,
    /// With what was committed up to this time, as `YYYY-MM-DD hh:mm:ss`
    #[arg(long, value_name = "TIME", requires = "archive")]
    pub until_time: Option<String>,
    /// Time zone of `--until-time`: `SYSTEM`, an offset or a name
    #[arg(long, value_name = "ZONE", default_value = "SYSTEM")]
    pub time_zone: String,
    /// No progress
    #[arg(short, long)]
    pub quiet: bool,
}

/// Restores.
pub fn run(options: RestoreOptions) -> ExitCode {
    finish(restore(&options))
}

fn restore(options: &RestoreOptions) -> Result<String, Error> {
    let refused = |text: String| Error::Refused(text);
    let zone = TimeZone::parse(&options.time_zone).ok_or_else(|| refused(format!("unknown time zone {}", options.time_zone)))?;
    let until = match (options.until_lsn, &options.until_time) {
        (Some(lsn), _) => Until::Lsn(Lsn(lsn)),
        (None, Some(text)) => Until::Time(instant(text, &zone).ok_or_else(|| refused(format!("`{text}` is no YYYY-MM-DD hh:mm:ss")))?),
        (None, None) => Until::Last,
    };
    let mut set = BackupSet::open(reading(&options.backup)?)?;
    let archive = options.archive.as_deref().map(reading).transpose()?;
    let target = directory(&options.to)?;
    let bar = Bar::new("restore", options.quiet);
    let now = RealClock::new().wall_us();
    let restored = backup::restore(&mut set, target, archive.as_deref(), until, now, |done, total| {
        bar.show(done, total, done * base::PAGE_BYTES as u64);
    });
    bar.clear();
    let restored = restored?;
    let commit = restored.last_commit_us.map_or(String::new(), |us| format!(", last commit {}", zone.to_local(Timestamp::from_micros(us))));
    let short = if restored.reached { "" } else { "; the archive has no commit past the time asked for: all of it is restored" };
    Ok(format!("restored to LSN {}{commit}, {} pages in {}{short}", restored.end.0, restored.pages, options.to.display()))
}

/// A directory that is only read; a server may be writing to it.
pub(super) fn reading(path: &Path) -> Result<Arc<dyn Disk>, Error> {
    if !path.is_dir() {
        return Err(Error::Refused(format!("there is no directory {}", path.display())));
    }
    Ok(Arc::new(ReadOnlyDisk::beside_writers(path)))
}

fn instant(text: &str, zone: &TimeZone) -> Option<i64> {
    zone.local_to_utc(parse_datetime(text.as_bytes(), SqlMode::default())?.to_unix_micros()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_local() {
        let zone = TimeZone::parse("+02:00").expect("an offset");
        assert_eq!(instant("1970-01-01 02:00:01", &zone), Some(1_000_000));
        assert_eq!(instant("yesterday", &zone), None);
    }
}
