//! What can go wrong, by what the operator can do about it.

use base::PageNo;
use std::fmt;

/// Result of this crate's calls.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of a backup or a restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The disk, or the connection to the server.
    Io(String),
    /// The engine refused.
    Engine(String),
    /// The backup, or the log archive, is not what was written. What, and where.
    Damaged(String),
    /// A page of the running server is damaged on its disk: it must be repaired or dropped before there can be a backup.
    DamagedPage(PageNo),
    /// The log was recycled before it was copied: the backup has to begin anew, by being started again.
    LogGone,
    /// The directory, or what was asked for, does not fit.
    Refused(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(text) | Error::Engine(text) | Error::Damaged(text) | Error::Refused(text) => f.write_str(text),
            Error::DamagedPage(page) => write!(f, "page {page} of the server's data file is damaged"),
            Error::LogGone => f.write_str("the server has recycled log that the backup still needs"),
        }
    }
}

impl std::error::Error for Error {}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Error::Io(error.to_string())
    }
}

impl From<wal::WalError> for Error {
    fn from(error: wal::WalError) -> Self {
        match error {
            wal::WalError::Corrupt { .. } => Error::Damaged(error.to_string()),
            other => Error::Io(other.to_string()),
        }
    }
}

impl From<engine::Error> for Error {
    fn from(error: engine::Error) -> Self {
        Error::Engine(error.to_string())
    }
}

impl From<page_store::StoreError> for Error {
    fn from(error: page_store::StoreError) -> Self {
        Error::Io(error.to_string())
    }
}

impl From<base::Malformed> for Error {
    fn from(_: base::Malformed) -> Self {
        Error::Damaged("a frame's contents are malformed".into())
    }
}
