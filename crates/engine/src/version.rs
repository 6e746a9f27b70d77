//! Which version of a row a reader sees.
//!
//! # Invariants
//! 1. The chain is walked under the leaf's latch: what purge may release is never on the walked part, because every version up to and
//!    including the one that is seen was written by a transaction that the reader's view does not see, or is the seen one.
//! 2. A row whose header has no undo address has no older version.

use crate::undo_record::{Change, UndoRecord, older_body};
use crate::{Error, Result};
use base::TxnId;
use record::header::{DELETE_MARK, HEADER_BYTES, RowHeader};
use txn::ReadView;
use undo::UndoStore;

/// Reads the header of a row value.
#[inline]
pub(crate) fn header(value: &[u8]) -> Result<RowHeader> {
    RowHeader::read(value).map_err(|_| Error::corrupt("row shorter than its header"))
}

/// The bytes of the version that `view` sees, or `None` when for this reader there is no such row. Older versions are built in `buffer`.
#[inline]
pub(crate) fn visible<'v>(
    undo: &UndoStore,
    view: &ReadView,
    own: TxnId,
    value: &'v [u8],
    buffer: &'v mut Vec<u8>,
) -> Result<Option<&'v [u8]>> {
    let newest = header(value)?;
    if view.sees(newest.txn, own) {
        return Ok((newest.flags & DELETE_MARK == 0).then_some(value));
    }
    let found = walk(undo, newest, value, buffer, |version| view.sees(version.txn, own))?;
    Ok(match found {
        Some(version) if version.flags & DELETE_MARK == 0 => Some(buffer),
        _ => None,
    })
}

/// The bytes of a row's newest version whose writer holds no locks any more, given that the newest one's does: `None` when there is no such row.
/// Older versions are built in `buffer`. [`Error::UndoGone`] when that writer has finished meanwhile: look again.
pub(crate) fn last_committed<'b>(
    undo: &UndoStore,
    holds_locks: impl Fn(TxnId) -> bool,
    value: &[u8],
    buffer: &'b mut Vec<u8>,
) -> Result<Option<&'b [u8]>> {
    let newest = header(value)?;
    // That writer may finish at any moment: what it wrote on the way to its newest version is nobody's to see then either.
    let found = walk(undo, newest, value, buffer, |version| version.txn != newest.txn && !holds_locks(version.txn))?;
    Ok(found.filter(|version| version.flags & DELETE_MARK == 0).map(|_| buffer.as_slice()))
}

/// Walks from the newest version to older ones until `stop` accepts one, and leaves that version's bytes in `buffer`.
/// `None` when the chain ends first.
pub(crate) fn walk(
    undo: &UndoStore,
    newest: RowHeader,
    value: &[u8],
    buffer: &mut Vec<u8>,
    mut stop: impl FnMut(&RowHeader) -> bool,
) -> Result<Option<RowHeader>> {
    buffer.clear();
    buffer.extend_from_slice(value);
    let mut version = newest;
    let mut scratch = Vec::new();
    while !version.undo.is_none() {
        let Some(older) = step_back(undo, version, buffer, &mut scratch)? else { return Ok(None) };
        version = older;
        if stop(&version) {
            version.write(buffer);
            return Ok(Some(version));
        }
    }
    Ok(None)
}

/// Turns the version in `buffer` into the one before it. `None` when the row did not exist before.
pub(crate) fn step_back(undo: &UndoStore, version: RowHeader, buffer: &mut Vec<u8>, scratch: &mut Vec<u8>) -> Result<Option<RowHeader>> {
    let older = undo.read(version.undo, |bytes| -> Result<Option<RowHeader>> {
        let record = UndoRecord::decode(bytes).map_err(|_| Error::corrupt("undo record"))?;
        if record.txn != version.txn {
            return Err(Error::corrupt(format!("undo record of transaction {} behind a row of {}", record.txn, version.txn)));
        }
        match record.change {
            Change::Update { old, prefix, suffix, middle, .. } => {
                scratch.clear();
                scratch.extend_from_slice(&buffer[..HEADER_BYTES]);
                older_body(&buffer[HEADER_BYTES..], prefix, suffix, middle, scratch)
                    .ok_or_else(|| Error::corrupt("undo record that does not fit its row"))?;
                std::mem::swap(buffer, scratch);
                Ok(Some(old.into()))
            }
            Change::Delete { old, .. } => Ok(Some(old.into())),
            Change::Insert | Change::Chain { .. } => Ok(None),
        }
    })??;
    if let Some(header) = older {
        header.write(buffer);
    }
    Ok(older)
}
