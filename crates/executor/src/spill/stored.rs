//! Rows in a temporary file: written by columns, read back block by block in the order in which they were written.

use crate::batch::column::Column;
use crate::errors::internal;
use crate::run::Result;
use ::spill::{BLOCK_HEADER_BYTES, Place, SpillFile, begin_block};
use std::ops::Range;

/// Rows on disk.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    blocks: Vec<Place>,
    /// How many rows.
    pub(crate) rows: u64,
}

/// Rows that are on their way to disk.
#[derive(Debug)]
pub(crate) struct Writer {
    /// Rows that fill no block yet, to be appended to; [`Writer::added`] must follow.
    pub(crate) columns: Vec<Column>,
    rows: usize,
    bytes: usize,
    block_bytes: usize,
    rows_max: usize,
    stored: Stored,
}

impl Writer {
    /// Of so many columns; a block has so many rows at most.
    pub(crate) fn new(columns: usize, block_bytes: usize, rows_max: usize) -> Writer {
        let columns = (0..columns).map(|_| Column::new()).collect();
        Writer { columns, rows: 0, bytes: 0, block_bytes, rows_max, stored: Stored::default() }
    }

    /// Says that each column has one value more, of so many bytes together; writes a block when there are enough.
    #[inline]
    pub(crate) fn added(&mut self, bytes: usize, file: &mut SpillFile, buffer: &mut Vec<u8>) -> Result<()> {
        self.rows += 1;
        self.bytes += bytes;
        if self.rows == self.rows_max || self.bytes >= self.block_bytes { self.flush(file, buffer) } else { Ok(()) }
    }

    /// Writes what there is.
    pub(crate) fn flush(&mut self, file: &mut SpillFile, buffer: &mut Vec<u8>) -> Result<()> {
        if self.rows > 0 {
            let place = write(&self.columns, self.rows, file, buffer)?;
            self.stored.push(place, self.rows)?;
            self.columns.iter_mut().for_each(Column::clear);
            (self.rows, self.bytes) = (0, 0);
        }
        Ok(())
    }

    /// All rows, written.
    pub(crate) fn finish(mut self, file: &mut SpillFile, buffer: &mut Vec<u8>) -> Result<Stored> {
        self.flush(file, buffer)?;
        Ok(self.stored)
    }
}

impl Stored {
    /// Bytes in the file.
    pub(crate) fn bytes(&self) -> usize {
        self.blocks.iter().map(|place| place.bytes()).sum()
    }

    fn push(&mut self, place: Place, rows: usize) -> Result<()> {
        ::memory::reserve(&mut self.blocks, 1)?;
        self.blocks.push(place);
        self.rows += rows as u64;
        Ok(())
    }
}

/// Writes columns as one block.
fn write(columns: &[Column], rows: usize, file: &mut SpillFile, buffer: &mut Vec<u8>) -> Result<Place> {
    begin_block(buffer);
    ::memory::reserve(buffer, columns.iter().map(Column::bytes).sum::<usize>() + 16 * columns.len() + 4)?;
    buffer.extend_from_slice(&(rows as u32).to_le_bytes());
    columns.iter().for_each(|column| column.encode(buffer));
    Ok(file.append(buffer)?)
}

/// Reads rows back.
#[derive(Debug)]
pub(crate) struct Reader {
    next: Range<usize>,
}

impl Reader {
    /// From the first row on.
    pub(crate) fn new(stored: &Stored) -> Reader {
        Reader { next: 0..stored.blocks.len() }
    }

    /// The next block's columns, each with so many values; `None` at the end.
    pub(crate) fn read(
        &mut self,
        stored: &Stored,
        file: &SpillFile,
        columns: usize,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<(Vec<Column>, usize)>> {
        let Some(place) = self.next.next().and_then(|at| stored.blocks.get(at)) else { return Ok(None) };
        // The bytes, and the values made of them.
        ::memory::ask(place.bytes() * 2)?;
        file.read(*place, buffer)?;
        let damaged = || internal("a block of a temporary file that is no rows");
        let mut bytes = &buffer[BLOCK_HEADER_BYTES..];
        let (rows, rest) = bytes.split_first_chunk::<4>().ok_or_else(damaged)?;
        bytes = rest;
        let rows = u32::from_le_bytes(*rows) as usize;
        let columns = (0..columns).map(|_| Column::decode(&mut bytes, rows)).collect::<Option<Vec<_>>>().ok_or_else(damaged)?;
        Ok(Some((columns, rows)))
    }
}
