//! What can go wrong, by what the caller can do about it.

use base::PageNo;
use buffer_pool::PoolError;

/// Error of the space map.
#[derive(Debug)]
pub enum SpaceError {
    /// The data file cannot grow: no space on the device. Nothing was changed.
    Full,
    /// A map page could not be read, or no frame is free. Nothing was changed.
    Pool(PoolError),
    /// Another mini-transaction holds the map page of this page, and waiting for it could deadlock, because this one holds a later map page. Nothing
    /// was changed; free pages in ascending order, or in mini-transactions of their own.
    Busy(PageNo),
    /// The page is not allocated: a pointer in the caller's data is wrong.
    NotAllocated(PageNo),
    /// A map page holds what no map page can.
    Corrupt(PageNo),
}

impl std::fmt::Display for SpaceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SpaceError::Full => f.write_str("data file: no space left on device"),
            SpaceError::Pool(error) => error.fmt(f),
            SpaceError::Busy(page) => write!(f, "space map: the map page of page {page} is busy"),
            SpaceError::NotAllocated(page) => write!(f, "space map: page {page} is not allocated"),
            SpaceError::Corrupt(page) => write!(f, "space map: map page {page} is corrupt"),
        }
    }
}

impl std::error::Error for SpaceError {}

impl From<PoolError> for SpaceError {
    fn from(error: PoolError) -> Self {
        SpaceError::Pool(error)
    }
}
