//! What can go wrong with a page on disk; variants differ by what the caller can do.

use base::{Lsn, PageNo};

/// Error of the page store.
#[derive(Debug)]
pub enum StoreError {
    /// The device failed. A read may be tried again; a write stays pending.
    Io(std::io::Error),
    /// No room on the device. Nothing was changed.
    NoSpace,
    /// The page's bytes do not match its checksum. The file is `data`.
    Checksum {
        /// The broken page.
        page: PageNo,
    },
    /// A whole page, but another one's: a read or a write went to the wrong place.
    Misdirected {
        /// The page asked for.
        page: PageNo,
        /// The page found there.
        found: PageNo,
    },
    /// A whole page, but an older image than this process has written: that write was lost.
    Stale {
        /// The page asked for.
        page: PageNo,
    },
    /// Changes of the page were in the log, and recovery could not do them again on what lies there.
    Behind {
        /// The page asked for.
        page: PageNo,
    },
    /// A whole page with changes that are behind the end of the log as it was when the store was opened: that end is lost, and with it what belongs to them.
    Ahead {
        /// The page asked for.
        page: PageNo,
        /// Up to which position its changes reach.
        lsn: Lsn,
    },
    /// Nothing was ever written there (or it was punched out).
    Unwritten {
        /// The page asked for.
        page: PageNo,
    },
    /// `data` is no data file of ours or of a format this release does not read.
    Format(String),
    /// An earlier sync failed; nothing is written any more.
    Failed,
}

impl std::fmt::Display for StoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StoreError::Io(error) => write!(f, "data file: {error}"),
            StoreError::NoSpace => f.write_str("data file: no space left on device"),
            StoreError::Checksum { page } => write!(f, "data file: page {page} is corrupt (checksum mismatch)"),
            StoreError::Misdirected { page, found } => write!(f, "data file: page {page} holds page {found}"),
            StoreError::Stale { page } => {
                write!(f, "data file: page {page} holds an older image than was written: the device has lost a write")
            }
            StoreError::Behind { page } => {
                write!(f, "data file: page {page} lacks changes that recovery could not do again on what is on disk")
            }
            StoreError::Ahead { page, lsn } => {
                write!(
                    f,
                    "data file: page {page} has changes up to {lsn}, behind the end of the log at the start: that end of the log is lost"
                )
            }
            StoreError::Unwritten { page } => write!(f, "data file: page {page} was never written"),
            StoreError::Format(what) => write!(f, "data file: {what}"),
            StoreError::Failed => f.write_str("data file: an earlier sync failed, no more writes"),
        }
    }
}

impl std::error::Error for StoreError {}

impl From<std::io::Error> for StoreError {
    fn from(error: std::io::Error) -> Self {
        match env::is_disk_full(&error) {
            true => StoreError::NoSpace,
            false => StoreError::Io(error),
        }
    }
}
