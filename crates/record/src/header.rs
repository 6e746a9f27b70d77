//! The first bytes of every row: who wrote it and where its older version is.

use base::{Malformed, TxnId, UndoPtr};

/// Bytes of the header.
pub const HEADER_BYTES: usize = 19;
/// Offset of the flags, one byte.
pub const FLAGS_AT: usize = 0;
/// Offset of the schema version, two bytes.
pub const SCHEMA_VERSION_AT: usize = 1;
/// Offset of the writer's transaction id, eight bytes.
pub const TXN_AT: usize = 3;
/// Offset of the undo pointer, eight bytes.
pub const UNDO_AT: usize = 11;

/// Flag: the row is deleted, and kept for those who still see it.
pub const DELETE_MARK: u8 = 1;

/// The header of a row. Flags other than [`DELETE_MARK`] are the engine's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowHeader {
    /// Flag bits.
    pub flags: u8,
    /// Version of the table's columns that the row is laid out by.
    pub schema_version: u16,
    /// The transaction that wrote this version.
    pub txn: TxnId,
    /// The version before it.
    pub undo: UndoPtr,
}

impl RowHeader {
    /// Reads the header of a row.
    #[inline]
    pub fn read(row: &[u8]) -> Result<RowHeader, Malformed> {
        let (bytes, _) = row.split_first_chunk::<HEADER_BYTES>().ok_or(Malformed)?;
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        Ok(RowHeader {
            flags: bytes[FLAGS_AT],
            schema_version: u16::from_le_bytes([bytes[SCHEMA_VERSION_AT], bytes[SCHEMA_VERSION_AT + 1]]),
            txn: TxnId(word(TXN_AT)),
            undo: UndoPtr(word(UNDO_AT)),
        })
    }

    /// The header's bytes.
    #[inline]
    pub fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[FLAGS_AT] = self.flags;
        bytes[SCHEMA_VERSION_AT..TXN_AT].copy_from_slice(&self.schema_version.to_le_bytes());
        bytes[TXN_AT..UNDO_AT].copy_from_slice(&self.txn.0.to_le_bytes());
        bytes[UNDO_AT..].copy_from_slice(&self.undo.0.to_le_bytes());
        bytes
    }

    /// Overwrites the header of a row.
    ///
    /// # Panics
    /// When the row is shorter than a header: the caller has made or read it.
    #[inline]
    pub fn write(&self, row: &mut [u8]) {
        row[..HEADER_BYTES].copy_from_slice(&self.to_bytes());
    }

    /// Whether the row is deleted.
    #[inline]
    pub fn is_deleted(&self) -> bool {
        self.flags & DELETE_MARK != 0
    }
}
