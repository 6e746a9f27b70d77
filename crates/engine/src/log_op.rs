//! The engine's own operations in the log; the page operations beside them belong to `btree`, `space_map` and `buffer_pool`.
//!
//! | op | payload |
//! |---|---|
//! | `ROW_CHANGE` | undo address varint, then the undo record; stands in the mini-transaction that changes the row |
//! | `COMMIT` | transaction, last undo address, wall time µs: the transaction is finished |
//! | `ROLLED_BACK_TO` | transaction, undo address of its newest record not yet taken back (none = all taken back) |
//! | `ROLLBACK_END` | transaction: finished, without effect |
//! | `AUTO_INCREMENT` | table, next value: the counter is at least this |
//! | `LEFTOVER` | table, index, key of an entry that a rollback marked: purge is to ask for it |
//! | `PREPARE` | transaction, format varint, global part bytes, branch bytes: waits for XA COMMIT or XA ROLLBACK; then, unless they are not named, the tables that it has changed (`changed_tables.rs`) |
//! | `NEXT_IDS` | next table id, next index id: ids below may be in use |

use base::{IndexId, Malformed, PageNo, Reader, TableId, TxnId, UndoPtr, put_bytes, put_u64, put_varint};

pub(crate) const ROW_CHANGE: u8 = 0x40;
pub(crate) const COMMIT: u8 = 0x41;
pub(crate) const ROLLED_BACK_TO: u8 = 0x42;
pub(crate) const ROLLBACK_END: u8 = 0x43;
pub(crate) const AUTO_INCREMENT: u8 = 0x44;
pub(crate) const NEXT_IDS: u8 = 0x45;
pub(crate) const LEFTOVER: u8 = 0x46;
pub(crate) const PREPARE: u8 = 0x47;

/// A decoded operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogOp<'a> {
    RowChange {
        undo: UndoPtr,
        record: &'a [u8],
    },
    Commit {
        txn: TxnId,
        last_undo: UndoPtr,
        wall_micros: u64,
    },
    RolledBackTo {
        txn: TxnId,
        next: UndoPtr,
    },
    RollbackEnd {
        txn: TxnId,
    },
    AutoIncrement {
        table: TableId,
        next: u64,
    },
    NextIds {
        table: u32,
        index: u32,
    },
    Leftover {
        table: TableId,
        index: IndexId,
        key: &'a [u8],
    },
    /// `tables`: a list of [`crate::changed_tables`], or nothing.
    Prepare {
        txn: TxnId,
        format_id: u64,
        gtrid: &'a [u8],
        bqual: &'a [u8],
        tables: &'a [u8],
    },
}

impl<'a> LogOp<'a> {
    /// Codes from here on are the engine's.
    pub(crate) const FIRST_CODE: u8 = ROW_CHANGE;

    /// The code under which [`LogOp::put_payload`]'s bytes are logged.
    pub(crate) fn code(&self) -> u8 {
        match self {
            LogOp::RowChange { .. } => ROW_CHANGE,
            LogOp::Commit { .. } => COMMIT,
            LogOp::RolledBackTo { .. } => ROLLED_BACK_TO,
            LogOp::RollbackEnd { .. } => ROLLBACK_END,
            LogOp::AutoIncrement { .. } => AUTO_INCREMENT,
            LogOp::NextIds { .. } => NEXT_IDS,
            LogOp::Leftover { .. } => LEFTOVER,
            LogOp::Prepare { .. } => PREPARE,
        }
    }

    pub(crate) fn put_payload(&self, out: &mut Vec<u8>) {
        match *self {
            LogOp::RowChange { undo, record } => {
                put_varint(out, undo.0);
                out.extend_from_slice(record);
            }
            LogOp::Commit { txn, last_undo, wall_micros } => {
                put_varint(out, txn.0);
                put_varint(out, last_undo.0);
                put_u64(out, wall_micros);
            }
            LogOp::RolledBackTo { txn, next } => {
                put_varint(out, txn.0);
                put_varint(out, next.0);
            }
            LogOp::RollbackEnd { txn } => put_varint(out, txn.0),
            LogOp::AutoIncrement { table, next } => {
                put_varint(out, u64::from(table.0));
                put_varint(out, next);
            }
            LogOp::Leftover { table, index, key } => {
                put_varint(out, u64::from(table.0));
                put_varint(out, u64::from(index.0));
                out.extend_from_slice(key);
            }
            LogOp::Prepare { txn, format_id, gtrid, bqual, tables } => {
                put_varint(out, txn.0);
                put_varint(out, format_id);
                put_bytes(out, gtrid);
                put_bytes(out, bqual);
                out.extend_from_slice(tables);
            }
            LogOp::NextIds { table, index } => {
                put_varint(out, u64::from(table));
                put_varint(out, u64::from(index));
            }
        }
    }

    /// Leaves the body of a record of its own in `body`.
    pub(crate) fn put_record(&self, body: &mut Vec<u8>) {
        body.clear();
        buffer_pool::put_op(body, self.code(), PageNo::NONE, |out| self.put_payload(out));
    }

    pub(crate) fn decode(code: u8, payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(payload);
        let small = |v: u64| u32::try_from(v).map_err(|_| Malformed);
        Ok(match code {
            ROW_CHANGE => LogOp::RowChange { undo: UndoPtr(r.varint()?), record: r.rest() },
            COMMIT => LogOp::Commit { txn: TxnId(r.varint()?), last_undo: UndoPtr(r.varint()?), wall_micros: r.u64()? },
            ROLLED_BACK_TO => LogOp::RolledBackTo { txn: TxnId(r.varint()?), next: UndoPtr(r.varint()?) },
            ROLLBACK_END => LogOp::RollbackEnd { txn: TxnId(r.varint()?) },
            AUTO_INCREMENT => LogOp::AutoIncrement { table: TableId(small(r.varint()?)?), next: r.varint()? },
            NEXT_IDS => LogOp::NextIds { table: small(r.varint()?)?, index: small(r.varint()?)? },
            LEFTOVER => LogOp::Leftover { table: TableId(small(r.varint()?)?), index: IndexId(small(r.varint()?)?), key: r.rest() },
            PREPARE => {
                let (txn, format_id, gtrid, bqual, tables) = (TxnId(r.varint()?), r.varint()?, r.bytes()?, r.bytes()?, r.rest());
                crate::changed_tables::decode(tables)?;
                LogOp::Prepare { txn, format_id, gtrid, bqual, tables }
            }
            _ => return Err(Malformed),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_round_trip() {
        for op in [
            LogOp::RowChange { undo: UndoPtr::new(3, 4), record: b"xyz" },
            LogOp::Commit { txn: TxnId(9), last_undo: UndoPtr::NONE, wall_micros: 5 },
            LogOp::RolledBackTo { txn: TxnId(9), next: UndoPtr::new(1, 2) },
            LogOp::RollbackEnd { txn: TxnId(1 << 50) },
            LogOp::AutoIncrement { table: TableId(7), next: u64::MAX },
            LogOp::NextIds { table: 3, index: u32::MAX },
            LogOp::Leftover { table: TableId(3), index: IndexId(9), key: b"key" },
            LogOp::Prepare { txn: TxnId(9), format_id: u64::MAX, gtrid: b"global", bqual: b"", tables: b"" },
            LogOp::Prepare { txn: TxnId(9), format_id: 1, gtrid: b"", bqual: b"branch", tables: &[2, 16, 1] },
        ] {
            let mut payload = Vec::new();
            op.put_payload(&mut payload);
            assert_eq!(LogOp::decode(op.code(), &payload), Ok(op));
        }
        assert_eq!(LogOp::decode(0x7f, &[]), Err(Malformed));
    }
}
