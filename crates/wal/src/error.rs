//! What can go wrong, by what the caller can do about it.

use base::Lsn;
use std::fmt;
use std::io;
use std::sync::Arc;

/// An error of the log.
#[derive(Debug, Clone)]
pub enum WalError {
    /// A write or sync failed earlier or now: nothing more will be durable. Acknowledge nothing, say so, stop.
    Failed,
    /// No room for another segment. Nothing is broken; a statement gets the error, later ones may succeed.
    DiskFull,
    /// The operating system refused something that leaves the log as it was (reading, opening, making a segment).
    Io(Arc<io::Error>),
    /// The log or its control file is damaged where it was once durable.
    Corrupt {
        /// What does not fit.
        what: &'static str,
        /// Where, if in the stream.
        lsn: Lsn,
    },
    /// There is no log here.
    Missing,
    /// [`crate::Wal::create`] found a log.
    Exists,
}

impl fmt::Display for WalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WalError::Failed => f.write_str("the log failed on an earlier write or sync; nothing more can be made durable"),
            WalError::DiskFull => f.write_str("no disk space for another log segment"),
            WalError::Io(error) => write!(f, "log: {error}"),
            WalError::Corrupt { what, lsn } => write!(f, "log is corrupt at {lsn}: {what}"),
            WalError::Missing => f.write_str("there is no log"),
            WalError::Exists => f.write_str("there is a log already"),
        }
    }
}

impl std::error::Error for WalError {}

impl From<io::Error> for WalError {
    fn from(error: io::Error) -> Self {
        match env::is_disk_full(&error) {
            true => WalError::DiskFull,
            false => WalError::Io(Arc::new(error)),
        }
    }
}
