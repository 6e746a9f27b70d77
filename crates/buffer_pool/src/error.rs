//! What can go wrong when a page is asked for; variants differ by what the caller can do.

use base::PageNo;
use page_store::StoreError;
use wal::WalError;

/// Error of the buffer pool.
#[derive(Debug)]
pub enum PoolError {
    /// The page could not be read or written. A broken page fails only those who need it.
    Store(StoreError),
    /// The log failed; nothing can be written any more.
    Wal(WalError),
    /// Every frame is latched or cannot be cleaned: the pool is too small for what runs at once. Release latches and try again.
    NoFrames,
    /// The number is past what the pool is configured for; a pointer in a page is wrong.
    PageNumber(PageNo),
    /// A log record does not parse or does not fit the page it names.
    Malformed(PageNo),
}

impl std::fmt::Display for PoolError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PoolError::Store(error) => error.fmt(f),
            PoolError::Wal(error) => error.fmt(f),
            PoolError::NoFrames => f.write_str("buffer pool: no frame can be freed, all are in use"),
            PoolError::PageNumber(page) => write!(f, "buffer pool: page number {page} is out of range"),
            PoolError::Malformed(page) => write!(f, "log record of page {page} is malformed"),
        }
    }
}

impl std::error::Error for PoolError {}

impl From<StoreError> for PoolError {
    fn from(error: StoreError) -> Self {
        PoolError::Store(error)
    }
}

impl From<WalError> for PoolError {
    fn from(error: WalError) -> Self {
        PoolError::Wal(error)
    }
}
