//! `altiplano prune-archive`: removes archived log that the backups that are left do not need.

use super::finish;
use super::restore::reading;
use backup::{BackupSet, Error};
use clap::Args;
use env::{Disk, RealDisk};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Options of `prune-archive`.
#[derive(Debug, Args)]
pub struct PruneArchiveOptions {
    /// The log archive; a server may be writing to it
    pub archive: PathBuf,
    /// A backup that is kept: log that is older than it goes. Several: log that is older than all of them goes
    #[arg(long, value_name = "DIR", required = true)]
    pub before_backup: Vec<PathBuf>,
}

/// Prunes.
pub fn run(options: PruneArchiveOptions) -> ExitCode {
    finish(prune(&options))
}

fn prune(options: &PruneArchiveOptions) -> Result<String, Error> {
    let mut backups = options.before_backup.iter().map(|path| BackupSet::open(reading(path)?)).collect::<Result<Vec<_>, Error>>()?;
    let archive = beside_its_server(&options.archive)?;
    let pruned = backup::prune_archive(&*archive, &mut backups)?;
    Ok(format!("{} segments removed; the archive reaches from LSN {} to {}", pruned.segments, pruned.from.0, pruned.to.0))
}

/// The archive's directory, without the lock that its server holds.
fn beside_its_server(path: &Path) -> Result<Arc<dyn Disk>, Error> {
    reading(path)?;
    let disk = RealDisk::beside_owner(path).map_err(|error| Error::Io(format!("{}: {error}", path.display())))?;
    Ok(Arc::new(disk))
}
