//! What can go wrong in the engine, by what the caller can do about it. `session/error_map.rs` turns it into MySQL's terms.

use crate::format::Feature;
use base::{PageNo, TableId};

/// Result of an engine call.
pub type Result<T> = std::result::Result<T, Error>;

/// An engine error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A unique index holds the key already. `index_no` is the position in [`crate::Table::indexes`].
    DuplicateKey {
        /// Position of the index; 0 is the primary.
        index_no: usize,
    },
    /// Chosen as the victim of a deadlock: the whole transaction is to be rolled back.
    Deadlock,
    /// The row was changed since the transaction's snapshot, which is to be true (`snapshot_isolation`): the transaction must roll back.
    Changed,
    /// A row lock was not granted in time: the statement is to be rolled back.
    LockWaitTimeout,
    /// `NOWAIT` met a locked row.
    LockNotAvailable,
    /// No error: the statement stands in a row's queue, is given up and is to be run again when the wait is over ([`crate::Session::end_left_wait`]). Only where
    /// [`crate::Session::allow_left_waits`] allows it.
    Waits,
    /// KILL, or the client has gone.
    Killed,
    /// The row or one of its index keys is larger than a page can hold.
    RowTooLarge,
    /// The table was dropped or rebuilt since the handle was taken, or an index was added since the snapshot was.
    TableGone(TableId),
    /// The disk has no room for more pages or log.
    DiskFull,
    /// The log could not be made durable; nothing more is acknowledged.
    LogFailed,
    /// Bytes on disk are not what was written.
    Corruption {
        /// The page, when it is known.
        page: PageNo,
        /// What was found.
        what: String,
    },
    /// The data directory was written by another version of the program.
    DataFormat {
        /// Its format.
        found: u64,
        /// The format that this program reads.
        reads: u64,
    },
    /// The directory's format does not have this feature; `altiplano seal` gives it a newer one.
    NotSealed {
        /// What was wanted.
        feature: Feature,
        /// The directory's format.
        has: u32,
    },
    /// Every frame of the buffer pool is in use.
    NoFrames,
    /// Input or output failed.
    Io(String),
    /// A write in a read-only transaction.
    ReadOnlyTransaction,
    /// An undo record was released: no view needs what it holds.
    UndoGone,
    /// The savepoint belongs to another transaction.
    NoSavepoint,
}

impl Error {
    /// Damage found in bytes that do not name their page.
    pub(crate) fn corrupt(what: impl Into<String>) -> Error {
        Error::Corruption { page: PageNo::NONE, what: what.into() }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::DuplicateKey { index_no } => write!(f, "duplicate key in index {index_no}"),
            Error::Deadlock => f.write_str("deadlock"),
            Error::Changed => f.write_str("a row was changed since the snapshot"),
            Error::LockWaitTimeout => f.write_str("lock wait timeout"),
            Error::LockNotAvailable => f.write_str("lock not available"),
            Error::Killed => f.write_str("killed"),
            Error::Waits => f.write_str("waits for a row"),
            Error::RowTooLarge => f.write_str("row or key too large"),
            Error::TableGone(id) => write!(f, "table {id} is gone"),
            Error::DiskFull => f.write_str("disk full"),
            Error::LogFailed => f.write_str("the log could not be made durable"),
            Error::Corruption { page, what } if page.is_none() => write!(f, "corruption: {what}"),
            Error::Corruption { page, what } => write!(f, "corruption in page {page}: {what}"),
            Error::DataFormat { found, reads } if found == reads => {
                write!(f, "data directory format {found} of another layout, written by a development version of this program")
            }
            Error::DataFormat { found, reads } => write!(f, "data directory format {found}, this program reads {reads}"),
            Error::NotSealed { feature, has } => {
                let (name, needs) = (feature.name(), feature.format());
                write!(f, "{name} in a data directory of format {has}: it needs format {needs}, see altiplano seal")
            }
            Error::NoFrames => f.write_str("every frame of the buffer pool is in use"),
            Error::Io(text) => write!(f, "input/output error: {text}"),
            Error::ReadOnlyTransaction => f.write_str("write in a read-only transaction"),
            Error::UndoGone => f.write_str("an old row version is gone"),
            Error::NoSavepoint => f.write_str("no such savepoint"),
        }
    }
}

impl std::error::Error for Error {}

impl From<buffer_pool::PoolError> for Error {
    fn from(error: buffer_pool::PoolError) -> Error {
        use buffer_pool::PoolError;
        match error {
            PoolError::Store(error) => error.into(),
            PoolError::Wal(error) => error.into(),
            PoolError::NoFrames => Error::NoFrames,
            PoolError::PageNumber(page) => Error::Corruption { page, what: "page number out of range".into() },
            PoolError::Malformed(page) => Error::Corruption { page, what: "log record does not fit the page".into() },
        }
    }
}

impl From<page_store::StoreError> for Error {
    fn from(error: page_store::StoreError) -> Error {
        use page_store::StoreError;
        let page = match &error {
            StoreError::NoSpace => return Error::DiskFull,
            StoreError::Failed => return Error::LogFailed,
            StoreError::Checksum { page }
            | StoreError::Misdirected { page, .. }
            | StoreError::Stale { page }
            | StoreError::Behind { page }
            | StoreError::Ahead { page, .. }
            | StoreError::Unwritten { page } => *page,
            StoreError::Io(_) | StoreError::Format(_) => return Error::Io(error.to_string()),
        };
        Error::Corruption { page, what: error.to_string() }
    }
}

impl From<wal::WalError> for Error {
    fn from(error: wal::WalError) -> Error {
        match error {
            wal::WalError::Failed => Error::LogFailed,
            wal::WalError::DiskFull => Error::DiskFull,
            other => Error::Io(other.to_string()),
        }
    }
}

impl From<btree::Error> for Error {
    fn from(error: btree::Error) -> Error {
        match error {
            btree::Error::Pool(error) => error.into(),
            btree::Error::Space(error) => error.into(),
            btree::Error::Wal(error) => error.into(),
            btree::Error::TooLarge { .. } => Error::RowTooLarge,
            btree::Error::Corrupt { page, .. } => Error::Corruption { page, what: error.to_string() },
            btree::Error::NotAscending | btree::Error::NotEmpty => Error::corrupt(error.to_string()),
        }
    }
}

impl From<space_map::SpaceError> for Error {
    fn from(error: space_map::SpaceError) -> Error {
        use space_map::SpaceError;
        match error {
            SpaceError::Full => Error::DiskFull,
            SpaceError::Pool(error) => error.into(),
            SpaceError::Busy(page) | SpaceError::NotAllocated(page) | SpaceError::Corrupt(page) => {
                Error::Corruption { page, what: error.to_string() }
            }
        }
    }
}

impl From<undo::UndoError> for Error {
    fn from(error: undo::UndoError) -> Error {
        match error {
            undo::UndoError::Released => Error::UndoGone,
            undo::UndoError::Full => Error::DiskFull,
            undo::UndoError::Corrupt { .. } => Error::corrupt(error.to_string()),
            undo::UndoError::Io(error) if env::is_disk_full(&error) => Error::DiskFull,
            other => Error::Io(other.to_string()),
        }
    }
}
