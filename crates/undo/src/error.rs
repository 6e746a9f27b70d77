//! What can go wrong, by what the caller can do about it.

/// An undo record cannot be read, kept or written out.
#[derive(Debug)]
pub enum UndoError {
    /// The record was released: the caller follows an address that purge was entitled to drop. Restart the read from the row.
    Released,
    /// Bytes on disk are not what was written there.
    Corrupt {
        /// Where.
        what: &'static str,
    },
    /// All segments hold live records, or the record is longer than [`crate::RECORD_BYTES_MAX`].
    Full,
    /// The disk failed.
    Io(std::io::Error),
}

impl std::fmt::Display for UndoError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            UndoError::Released => f.write_str("undo record was released"),
            UndoError::Corrupt { what } => write!(f, "undo is corrupt: {what}"),
            UndoError::Full => f.write_str("undo space is full"),
            UndoError::Io(error) => write!(f, "undo file: {error}"),
        }
    }
}

impl std::error::Error for UndoError {}

impl From<std::io::Error> for UndoError {
    fn from(error: std::io::Error) -> Self {
        UndoError::Io(error)
    }
}

impl From<base::Malformed> for UndoError {
    fn from(_: base::Malformed) -> Self {
        UndoError::Corrupt { what: "malformed directory or record" }
    }
}
