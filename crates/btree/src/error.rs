//! What can go wrong in a tree; variants differ by what the caller can do.

use base::{IndexId, PageNo};
use buffer_pool::PoolError;
use space_map::SpaceError;
use wal::WalError;

/// Result of the tree's operations.
pub type Result<T> = std::result::Result<T, Error>;

/// Error of a tree.
#[derive(Debug)]
pub enum Error {
    /// A page could not be had; see there.
    Pool(PoolError),
    /// A page could not be allocated or freed; see there.
    Space(SpaceError),
    /// The log refuses changes.
    Wal(WalError),
    /// A page holds what it must not. The index needs repair; other indexes are fine.
    Corrupt {
        /// The index.
        index: IndexId,
        /// The page.
        page: PageNo,
        /// What is wrong.
        what: &'static str,
    },
    /// Key and value are larger than [`crate::ENTRY_BYTES_MAX`] together.
    TooLarge {
        /// Bytes of key and value.
        bytes: usize,
    },
    /// A bulk build was given a key not above its predecessor.
    NotAscending,
    /// A bulk build was started on a tree that has entries.
    NotEmpty,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Pool(error) => error.fmt(f),
            Error::Space(error) => error.fmt(f),
            Error::Wal(error) => error.fmt(f),
            Error::Corrupt { index, page, what } => write!(f, "index {index}: page {page}: {what}"),
            Error::TooLarge { bytes } => write!(f, "an index entry of {bytes} bytes is too large"),
            Error::NotAscending => f.write_str("bulk build: keys are not ascending"),
            Error::NotEmpty => f.write_str("bulk build: the tree is not empty"),
        }
    }
}

impl std::error::Error for Error {}

impl From<PoolError> for Error {
    fn from(error: PoolError) -> Self {
        Error::Pool(error)
    }
}

impl From<SpaceError> for Error {
    fn from(error: SpaceError) -> Self {
        Error::Space(error)
    }
}

impl From<WalError> for Error {
    fn from(error: WalError) -> Self {
        Error::Wal(error)
    }
}
