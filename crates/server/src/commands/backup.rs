//! `altiplano backup`: copies a running server to a directory of this machine, over an ordinary connection.

use super::bar::Bar;
use super::finish;
use crate::client::connection::{ClientConnection, ClientError, Outcome, Target};
use crate::options::ServerOptions;
use backup::{BackupSet, Error, Frame, Options, Progress, Source, Step};
use clap::Args;
use env::{Disk, OpenError, ReadOnlyDisk, RealClock, RealDisk};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Options of `backup`.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct BackupOptions {
    /// Where the server is
    #[command(flatten)]
    pub server: ServerOptions,
    /// Password
    #[arg(short, long, env = "ALTIPLANO_PASSWORD", default_value = "", hide_env_values = true)]
    pub password: String,
    /// Directory for the backup; an interrupted one goes on
    #[arg(long, value_name = "DIR", required_unless_present = "verify")]
    pub to: Option<PathBuf>,
    /// Read at most so many megabytes of pages a second; the log that is written meanwhile comes on top
    #[arg(long, value_name = "MB/S", value_parser = clap::value_parser!(u64).range(1..))]
    pub rate: Option<u64>,
    /// Compress with zstd [levels 1 to 19; 1 when no level is given]
    #[arg(long, value_name = "LEVEL", num_args = 0..=1, default_missing_value = "1", require_equals = true, value_parser = clap::value_parser!(i32).range(1..=19))]
    pub compress: Option<i32>,
    /// Only check the backup in a directory: every checksum of it
    #[arg(long, value_name = "DIR", conflicts_with_all = ["to", "rate", "compress"])]
    pub verify: Option<PathBuf>,
    /// No progress
    #[arg(short, long)]
    pub quiet: bool,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    pub help: Option<bool>,
}

/// Makes or checks a backup.
pub fn run(options: BackupOptions) -> ExitCode {
    let done = match &options.verify {
        Some(directory) => verify(directory, options.quiet),
        None => make(&options),
    };
    finish(done)
}

/// A directory of this machine that nobody else writes.
pub(super) fn directory(path: &Path) -> Result<Arc<dyn Disk>, Error> {
    match RealDisk::open(path) {
        Ok(disk) => Ok(Arc::new(disk)),
        Err(OpenError::Locked(_)) => Err(Error::Refused(format!("{} is in use by another process", path.display()))),
        Err(error) => Err(Error::Io(format!("{}: {error}", path.display()))),
    }
}

fn make(options: &BackupOptions) -> Result<String, Error> {
    let path = options.to.as_deref().unwrap_or(Path::new("."));
    let ServerOptions { place, user } = options.server.clone();
    let target = Target { place, user, password: options.password.clone(), database: None, local_infile: false };
    let mut server = Server(ClientConnection::connect(&target).map_err(|error| Error::Io(error.to_string()))?);
    let directory = directory(path)?;
    let how = Options { rate: options.rate.map(|megabytes| megabytes.saturating_mul(1_000_000)), compression: options.compress };
    let bar = Bar::new("backup", options.quiet);
    let outcome = backup::take(&mut server, directory, &how, &RealClock::new(), &mut |progress: Progress| {
        bar.show(progress.pages_done, progress.pages, progress.bytes_read);
    });
    bar.clear();
    let outcome = outcome.map_err(|error| match error {
        // To try again does not help.
        Error::Refused(_) | Error::DamagedPage(_) | Error::Damaged(_) => error,
        error => Error::Io(format!("{error}; the same command goes on where it ended")),
    })?;
    server.0.quit();
    let (manifest, progress) = (outcome.manifest, outcome.progress);
    Ok(format!(
        "backup complete{}: LSN {} to {}, {:.1} MB read, {:.1} MB written to {}",
        if outcome.resumed { " (it went on)" } else { "" },
        manifest.redo_lsn.0,
        manifest.end_lsn.0,
        progress.bytes_read as f64 / 1e6,
        progress.bytes_written as f64 / 1e6,
        path.display()
    ))
}

fn verify(path: &Path, quiet: bool) -> Result<String, Error> {
    let mut set = BackupSet::open(Arc::new(ReadOnlyDisk::beside_writers(path)))?;
    let total = set.manifest().map_or(0, |manifest| manifest.parts.iter().map(|part| part.bytes).sum());
    let bar = Bar::new("verify", quiet);
    let verified = set.verify(|bytes| bar.show(bytes, total, bytes));
    bar.clear();
    let verified = verified?;
    let end = set.manifest().map_or(0, |manifest| manifest.end_lsn.0);
    Ok(format!("the backup is whole: {} pages, {:.1} MB, to LSN {end}", verified.pages, verified.bytes as f64 / 1e6))
}

/// A server behind a connection.
struct Server(ClientConnection);

impl Source for Server {
    fn step(&mut self, step: Step) -> Result<Frame, Error> {
        let mut answer = None;
        let asked = self.0.query(step.statement().as_bytes(), |outcome| {
            if let Outcome::Rows { mut rows, .. } = outcome {
                answer = rows.pop().and_then(|mut row| row.pop().flatten());
            }
        });
        asked.map_err(|error| match error {
            ClientError::Server { code: 1064 | 1235, .. } => Error::Refused("the server does not know BACKUP".into()),
            // No right to, or a damaged page of the server: nothing that the next attempt would not meet.
            ClientError::Server { code: 1227 | 1712, message, .. } => Error::Refused(format!("the server says: {message}")),
            ClientError::Server { message, .. } => Error::Engine(format!("the server says: {message}")),
            lost => Error::Io(lost.to_string()),
        })?;
        Frame::decode(&answer.ok_or_else(|| Error::Damaged("the server's answer has no rows".into()))?)
    }
}
