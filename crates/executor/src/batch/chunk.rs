//! A vector of rows: columns by the slot of the frame they stand for, and which of the rows still count.

use crate::batch::column::Column;
use crate::exec::Exec;
use crate::run::Result;
use planner::expr::Slot;
use types::Value;

/// Most rows of a chunk.
pub const CHUNK_ROWS: usize = 1024;
/// Bytes after which a chunk is passed on although it has room for more rows, in a statement with memory enough.
pub const CHUNK_BYTES: usize = 1 << 20;

/// The places 0, 1, 2 …, for a selection of all rows.
static EVERY_ROW: [u16; CHUNK_ROWS] = {
    let mut rows = [0; CHUNK_ROWS];
    let mut at = 0;
    while at < CHUNK_ROWS {
        rows[at] = at as u16;
        at += 1;
    }
    rows
};

/// Up to [`CHUNK_ROWS`] rows.
#[derive(Debug, Default)]
pub struct Chunk {
    slots: Vec<Slot>,
    columns: Vec<Column>,
    len: usize,
    /// Places of the rows that count, ascending; all when `None`.
    selection: Option<Vec<u16>>,
}

impl Chunk {
    /// Begins anew with empty columns for these slots.
    pub fn reset(&mut self, slots: impl Iterator<Item = Slot>) {
        self.slots.clear();
        self.slots.extend(slots);
        self.columns.truncate(self.slots.len());
        self.columns.iter_mut().for_each(Column::clear);
        self.columns.resize_with(self.slots.len(), Column::new);
        self.len = 0;
        self.selection = None;
    }

    /// Becomes these columns, each with `len` values.
    pub fn fill(&mut self, slots: impl Iterator<Item = Slot>, columns: Vec<Column>, len: usize) {
        self.slots.clear();
        self.slots.extend(slots);
        self.columns = columns;
        self.selection = None;
        self.set_len(len);
    }

    /// Rows, whether they count or not.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Places of the rows that count.
    #[inline]
    pub fn rows(&self) -> &[u16] {
        match &self.selection {
            Some(rows) => rows,
            None => &EVERY_ROW[..self.len],
        }
    }

    /// Appends a slot's values at some rows to a column: the chunk's, or where it has no such slot the frame's, which is the same for all.
    pub fn append_rows(&self, rows: &[u16], slot: Slot, x: &Exec<'_>, column: &mut Column) -> Result<()> {
        match self.column(slot) {
            Some(from) if rows.len() == self.len => column.append(from)?,
            Some(from) => {
                let rows = rows.iter().map(|row| usize::from(*row));
                column.reserve_from(from, rows.clone())?;
                column.gather(from, rows);
            }
            None => {
                let value = x.get(slot);
                for _ in rows {
                    column.reserve_for(value)?;
                    column.push(value);
                }
            }
        }
        Ok(())
    }

    /// Leaves only these rows.
    pub fn select(&mut self, rows: Vec<u16>) {
        self.selection = if rows.len() == self.len { None } else { Some(rows) };
    }

    /// Leaves `count` rows after the first `skip`.
    pub fn keep(&mut self, skip: usize, count: usize) {
        let rows = self.rows();
        if skip == 0 && count >= rows.len() {
            return;
        }
        let kept = rows.iter().skip(skip).take(count).copied().collect();
        self.select(kept);
    }

    /// The slots.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The columns, in the order of the slots.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The columns, to append to; [`Chunk::set_len`] must follow.
    pub fn columns_mut(&mut self) -> &mut [Column] {
        &mut self.columns
    }

    /// Takes a column out.
    pub fn take(&mut self, slot: Slot) -> Option<Column> {
        let at = self.slots.iter().position(|s| *s == slot)?;
        self.slots.remove(at);
        Some(self.columns.remove(at))
    }

    /// The column of a slot.
    #[inline]
    pub fn column(&self, slot: Slot) -> Option<&Column> {
        self.slots.iter().position(|s| *s == slot).map(|at| &self.columns[at])
    }

    /// Says how many rows the columns hold now.
    pub fn set_len(&mut self, len: usize) {
        debug_assert!(self.columns.iter().all(|c| c.len() == len));
        self.len = len;
    }

    /// Adds (or replaces) a column; it has a value for each row, counting or not.
    pub fn put(&mut self, slot: Slot, column: Column) {
        debug_assert_eq!(column.len(), self.len);
        match self.slots.iter().position(|s| *s == slot) {
            Some(at) => self.columns[at] = column,
            None => {
                self.slots.push(slot);
                self.columns.push(column);
            }
        }
    }

    /// Adds (or replaces) the value of a chunk's only row.
    pub fn put_value(&mut self, slot: Slot, value: &Value) {
        debug_assert_eq!(self.len, 1);
        let mut column = Column::new();
        column.push(value);
        self.put(slot, column);
    }

    /// Bytes held, for memory accounting.
    pub fn bytes(&self) -> usize {
        self.columns.iter().map(Column::bytes).sum()
    }

    /// Puts a row into the frame.
    #[inline]
    pub fn load(&self, at: usize, frame: &mut [Value]) {
        for (slot, column) in self.slots.iter().zip(&self.columns) {
            frame[*slot as usize] = column.value(at);
        }
    }

    /// Becomes a copy of one row of another chunk.
    pub fn take_row(&mut self, from: &Chunk, at: usize) {
        self.reset(from.slots.iter().copied());
        for (to, column) in self.columns.iter_mut().zip(&from.columns) {
            to.push_from(column, at);
        }
        self.len = 1;
    }
}

impl Exec<'_> {
    /// An empty chunk, with the memory of an earlier one where there is one.
    pub fn take_chunk(&mut self, slots: impl Iterator<Item = Slot>) -> Chunk {
        let mut chunk = self.chunks.pop().unwrap_or_default();
        chunk.reset(slots);
        chunk
    }

    /// Gives a chunk back for the next [`Exec::take_chunk`].
    pub fn return_chunk(&mut self, chunk: Chunk) {
        self.chunks.push(chunk);
    }
}
