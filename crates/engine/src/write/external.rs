//! Rows too large for a leaf: the leaf keeps the header and the place of a chain of overflow pages that holds the rest.
//!
//! # Invariants
//! 1. A stored row with the `EXTERNAL` flag is its header, then total bytes of the rest, first page of the chain, and the transaction that
//!    wrote the chain (u64 each).
//! 2. A chain is written before the row that names it and never changed. The transaction's undo names it from its first page on, so rollback
//!    frees it whether or not the row came to be.
//! 3. A chain is freed by rollback, or by purge when no version names it any more. Its pages carry the transaction that wrote it, so freeing
//!    a second time (after a crash) finds that the pages are another's and leaves them alone.

use crate::engine::Engine;
use crate::session::Session;
use crate::table::Table;
use crate::undo_record::Change;
use crate::write::note_change;
use crate::{Error, Result};
use base::{IndexId, PageNo, Reader, TxnId, put_u64};
use btree::overflow;
use record::RowRef;
use record::header::{HEADER_BYTES, RowHeader};
use std::sync::Arc;

/// Offset in a chain's first page of the transaction that wrote it: the page header's field for the highest writer.
const WRITER_AT: usize = page_store::header::TXN_MAX;

/// Flag of a row header: the columns are in an overflow chain.
pub(crate) const EXTERNAL: u8 = 2;

/// Key and row larger than this together go to a chain: a leaf holds at least four entries.
pub(crate) const INLINE_BYTES_MAX: usize = btree::ENTRY_BYTES_MAX;

/// Place of a chain in a stored row.
pub(crate) struct Place {
    pub(crate) bytes: usize,
    pub(crate) first: PageNo,
    writer: TxnId,
}

impl Place {
    pub(crate) fn read(stored_body: &[u8]) -> Result<Place> {
        let mut r = Reader::new(stored_body);
        let mut word = || r.u64().map_err(|_| Error::corrupt("place of an external row"));
        let (bytes, first, writer) = (word()?, PageNo(word()?), TxnId(word()?));
        let bytes = usize::try_from(bytes).map_err(|_| Error::corrupt("length of an external row"))?;
        Ok(Place { bytes, first, writer })
    }
}

impl Session {
    pub(crate) fn needs_external(&self, key: &[u8], row: &[u8]) -> bool {
        key.len() + row.len() > INLINE_BYTES_MAX
    }

    /// Moves the columns of a row that is too large into a chain; the row becomes its stored form.
    pub(crate) fn store_external(&mut self, table: &Arc<Table>, key: &[u8], row: &mut Vec<u8>) -> Result<()> {
        row[0] = 0;
        if !self.needs_external(key, row) {
            return Ok(());
        }
        let tree = &table.primary().tree;
        let txn = self.running.id;
        let mut failed = Ok(());
        let written = overflow::write(tree, &row[HEADER_BYTES..], |mtr, first| {
            if let Some(page) = mtr.find(first) {
                mtr.write_bytes(page, WRITER_AT, &txn.0.to_le_bytes());
            }
            match self.append_undo(table, key, Change::Chain { index: tree.index, first }) {
                Ok(address) => {
                    note_change(mtr, address, &self.buffers.undo, None);
                    // Before it is logged, and before the rest of the chain is written, which may fail: from here on rollback frees it.
                    // Rolling back a chain that did not reach the page does nothing.
                    self.slot.says_ahead(address);
                    self.running.note_undo(address, self.buffers.undo.len(), true);
                }
                Err(error) => failed = Err(error),
            }
        });
        if let Err(error) = failed {
            // Nobody knows of the chain.
            overflow::free(tree, written?)?;
            return Err(error);
        }
        put_place(row, written?, txn);
        Ok(())
    }
}

/// Turns a whole row into its stored form.
fn put_place(row: &mut Vec<u8>, first: PageNo, writer: TxnId) {
    let bytes = (row.len() - HEADER_BYTES) as u64;
    row.truncate(HEADER_BYTES);
    for word in [bytes, first.0, writer.0] {
        put_u64(row, word);
    }
    row[0] = EXTERNAL;
}

impl Engine {
    /// Calls `f` with the whole row of a stored one.
    #[inline]
    pub(crate) fn with_full_row<R>(&self, table: &Table, stored: &[u8], f: impl FnOnce(RowRef<'_>) -> R) -> Result<R> {
        if stored.first().is_some_and(|flags| flags & EXTERNAL == 0) {
            return Ok(f(table.row_ref(stored)?));
        }
        let mut buffer = Vec::new();
        Ok(f(self.full_row(table, stored, &mut buffer)?))
    }

    /// Like [`Engine::with_full_row`] for a version that perhaps nobody sees any more: `None` when purge has freed its chain, before or meanwhile.
    pub(crate) fn with_version_row<R>(&self, table: &Table, stored: &[u8], f: impl FnOnce(RowRef<'_>) -> R) -> Result<Option<R>> {
        if stored.first().is_some_and(|flags| flags & EXTERNAL == 0) {
            return self.with_full_row(table, stored, f).map(Some);
        }
        let place = Place::read(stored.get(HEADER_BYTES..).unwrap_or_default())?;
        // A freed page may be anything by now, even the secondary leaf that this thread has latched: the map tells it from afar.
        if self.space.owner_of(place.first)? != Some(table.primary().id) {
            return Ok(None);
        }
        let mut buffer = Vec::new();
        let read = self.full_row(table, stored, &mut buffer).map(|_| ());
        // Asked after the reading: a chain that is whole now was whole all the time, because a transaction writes a place at most once.
        if !self.is_chain_of(table.primary().id, place.first, place.writer)? {
            return Ok(None);
        }
        read?;
        Ok(Some(f(table.row_ref(&buffer)?)))
    }

    /// The whole row of a stored one; `buffer` holds it when it is external.
    pub(crate) fn full_row<'r>(&self, table: &'r Table, stored: &'r [u8], buffer: &'r mut Vec<u8>) -> Result<RowRef<'r>> {
        let mut header = RowHeader::read(stored).map_err(|_| Error::corrupt("row shorter than its header"))?;
        if header.flags & EXTERNAL == 0 {
            return table.row_ref(stored);
        }
        let place = Place::read(&stored[HEADER_BYTES..])?;
        header.flags &= !EXTERNAL;
        buffer.clear();
        buffer.extend_from_slice(&header.to_bytes());
        overflow::read(&table.primary().tree, place.first, place.bytes, buffer)?;
        table.row_ref(buffer)
    }

    /// Frees a chain that `txn` wrote, unless it is freed already.
    pub(crate) fn free_chain(&self, table: &Table, index: IndexId, first: PageNo, txn: TxnId) -> Result<()> {
        let tree = &table.primary().tree;
        if tree.index != index || !self.is_chain_of(index, first, txn)? {
            return Ok(());
        }
        Ok(overflow::free(tree, first)?)
    }

    /// Whether `first` is still the first page of the chain that `txn` wrote; not when an earlier purge or rollback, before a crash, has freed it.
    fn is_chain_of(&self, index: IndexId, first: PageNo, txn: TxnId) -> Result<bool> {
        let page = match self.pool.shared(first) {
            Ok(page) => page,
            Err(buffer_pool::PoolError::Store(page_store::StoreError::Unwritten { .. })) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let writer = page[WRITER_AT..].first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let is_overflow = page_store::header::page_type(&page) == page_store::PageType::Overflow as u8;
        Ok(is_overflow && page_store::header::index_id(&page) == index && writer == txn.0)
    }

    /// Writes the chain of a row that is copied into a new tree: the tree is dropped as a whole if the copy fails, so nothing is undone row by row.
    pub(crate) fn store_external_copy(&self, table: &Table, key: &[u8], row: &mut Vec<u8>) -> Result<()> {
        row[0] = 0;
        if key.len() + row.len() <= INLINE_BYTES_MAX {
            return Ok(());
        }
        let first = overflow::write(&table.primary().tree, &row[HEADER_BYTES..], |_, _| {})?;
        put_place(row, first, TxnId::NONE);
        Ok(())
    }

    /// Pages of the chain of a stored row.
    pub(crate) fn chain_pages(&self, table: &Table, stored: &[u8]) -> Result<u64> {
        let place = Place::read(&stored[HEADER_BYTES..])?;
        Ok(overflow::pages(&table.primary().tree, place.first)?.len() as u64)
    }

    /// Frees the chain that a stored body names.
    pub(crate) fn free_stored_chain(&self, table: &Table, stored_body: &[u8]) -> Result<()> {
        let place = Place::read(stored_body)?;
        self.free_chain(table, table.primary().id, place.first, place.writer)
    }
}
