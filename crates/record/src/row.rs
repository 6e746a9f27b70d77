//! Reading a row's columns without decoding the row.

use crate::header::RowHeader;
use crate::layout::{NARROW_ROW_BYTES_MAX, Source};
use crate::place::Place;
use crate::{RowLayout, raw};
use base::Malformed;
use types::{ColumnType, Value};

/// A row: its bytes and how to read them. `bytes` is the whole row and nothing more (its length decides the width of offsets).
#[derive(Debug, Clone, Copy)]
pub struct RowRef<'a> {
    layout: &'a RowLayout,
    bytes: &'a [u8],
}

/// A column of a row: its bytes as stored, `None` for NULL.
#[derive(Debug, Clone, Copy)]
pub struct ColumnRef<'a> {
    /// The column's type.
    pub ty: &'a ColumnType,
    /// The stored bytes: see `docs/format/record.md`. Strings are the string itself.
    pub bytes: Option<&'a [u8]>,
}

impl<'a> RowRef<'a> {
    /// A row with the layout of its schema version.
    #[inline]
    pub fn new(layout: &'a RowLayout, bytes: &'a [u8]) -> RowRef<'a> {
        RowRef { layout, bytes }
    }

    /// The layout.
    pub fn layout(&self) -> &'a RowLayout {
        self.layout
    }

    /// The row's bytes, header included.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The header.
    pub fn header(&self) -> Result<RowHeader, Malformed> {
        RowHeader::read(self.bytes)
    }

    /// The stored bytes of a column, `None` for NULL. Of a table's rows any column may be one that is computed: see [`RowRef::bytes_in`].
    ///
    /// # Errors
    /// A row that cannot be read, or one of an older version in which the column has to be computed.
    ///
    /// # Panics
    /// When there is no such column.
    #[inline]
    pub fn column_bytes(&self, column: usize) -> Result<Option<&'a [u8]>, Malformed> {
        match self.layout.source(column) {
            Source::Row(place) => {
                if place.null_mask != 0 && self.bytes.get(place.null_at as usize).ok_or(Malformed)? & place.null_mask != 0 {
                    return Ok(None);
                }
                let bytes =
                    if place.fixed { self.bytes.get(place.at as usize..(place.at + place.bytes) as usize) } else { self.variable(place) };
                Ok(Some(bytes.ok_or(Malformed)?))
            }
            Source::Default(bytes) => Ok(bytes.as_deref()),
            Source::Computed(_) => Err(Malformed),
        }
    }

    /// The bytes of a column as the row holds them, or would hold them if it were not older than the column; `None` for NULL. `space` keeps what is computed:
    /// it is the caller's, so that a loop over rows has no end of life of it in each turn.
    ///
    /// # Errors
    /// A row that cannot be read, or an expression that fails for it.
    ///
    /// # Panics
    /// When there is no such column.
    #[inline]
    pub fn bytes_in<'s>(&self, column: usize, space: &'s mut Vec<u8>) -> Result<Option<&'s [u8]>, Malformed>
    where
        'a: 's,
    {
        // It runs for each row: what is computed is looked for only where the row has no bytes.
        match self.column_bytes(column) {
            Ok(bytes) => Ok(bytes),
            Err(Malformed) => self.compute(column, space),
        }
    }

    #[cold]
    #[inline(never)]
    fn compute<'s>(&self, column: usize, space: &'s mut Vec<u8>) -> Result<Option<&'s [u8]>, Malformed> {
        let Source::Computed(compute) = self.layout.source(column) else { return Err(Malformed) };
        let value = compute.compute(*self)?;
        if value.is_null() {
            return Ok(None);
        }
        space.clear();
        raw::append(self.layout.column_type(column), &value, space).ok_or(Malformed)?;
        Ok(Some(space))
    }

    /// Whether a column has the same bytes in another row of the table.
    ///
    /// # Errors
    /// As [`RowRef::bytes_in`].
    #[inline]
    pub fn same_bytes(&self, other: RowRef<'_>, column: usize) -> Result<bool, Malformed> {
        match (self.column_bytes(column), other.column_bytes(column)) {
            (Ok(own), Ok(other)) => Ok(own == other),
            _ => self.same_computed(other, column),
        }
    }

    #[cold]
    #[inline(never)]
    fn same_computed(&self, other: RowRef<'_>, column: usize) -> Result<bool, Malformed> {
        Ok(self.bytes_in(column, &mut Vec::new())? == other.bytes_in(column, &mut Vec::new())?)
    }

    #[inline]
    fn variable(&self, place: &Place) -> Option<&'a [u8]> {
        let number = place.at as usize;
        let ends = self.bytes.get(self.layout.ends_at()..)?;
        let (width, narrow) = if self.bytes.len() <= NARROW_ROW_BYTES_MAX { (2, true) } else { (4, false) };
        // One load for both ends of a column that has a left neighbour.
        let (start, end) = match (number.checked_sub(1), narrow) {
            (Some(left), true) => {
                let ends = ends.get(left * 2..left * 2 + 4)?;
                (usize::from(u16::from_le_bytes([ends[0], ends[1]])), usize::from(u16::from_le_bytes([ends[2], ends[3]])))
            }
            (Some(left), false) => {
                let ends = ends.get(left * 4..left * 4 + 8)?;
                let end = |at: usize| u32::from_le_bytes([ends[at], ends[at + 1], ends[at + 2], ends[at + 3]]) as usize;
                (end(0), end(4))
            }
            (None, true) => (0, usize::from(u16::from_le_bytes(*ends.first_chunk()?))),
            (None, false) => (0, u32::from_le_bytes(*ends.first_chunk()?) as usize),
        };
        let data = ends.get(self.layout.variable_count() * width..)?;
        data.get(start..end)
    }

    /// A column with its type. As [`RowRef::column_bytes`], it is for columns that are not computed: otherwise [`RowRef::column_in`].
    ///
    /// # Errors
    /// As [`RowRef::column_bytes`].
    #[inline(always)] // For each column of each row of a result.
    pub fn column(&self, column: usize) -> Result<ColumnRef<'a>, Malformed> {
        Ok(ColumnRef { ty: self.layout.column_type(column), bytes: self.column_bytes(column)? })
    }

    /// A column with its type, which may be one that is computed; `space` as in [`RowRef::bytes_in`].
    ///
    /// # Errors
    /// As [`RowRef::bytes_in`].
    #[inline]
    pub fn column_in<'s>(&self, column: usize, space: &'s mut Vec<u8>) -> Result<ColumnRef<'s>, Malformed>
    where
        'a: 's,
    {
        Ok(ColumnRef { ty: self.layout.column_type(column), bytes: self.bytes_in(column, space)? })
    }

    /// A column's value.
    #[inline]
    pub fn value(&self, column: usize) -> Result<Value, Malformed> {
        match self.layout.source(column) {
            Source::Computed(compute) => compute.compute(*self),
            _ => self.column(column)?.value(),
        }
    }

    /// All values, appended.
    pub fn values(&self, out: &mut Vec<Value>) -> Result<(), Malformed> {
        for column in 0..self.layout.column_count() {
            out.push(self.value(column)?);
        }
        Ok(())
    }
}

impl<'a> ColumnRef<'a> {
    /// Whether it is NULL.
    #[inline]
    pub fn is_null(&self) -> bool {
        self.bytes.is_none()
    }

    /// The value.
    #[inline]
    pub fn value(&self) -> Result<Value, Malformed> {
        match self.bytes {
            None => Ok(Value::Null),
            Some(bytes) => raw::to_value(self.ty, bytes),
        }
    }

    /// The integer of a signed integer column; `None` for NULL.
    #[inline]
    pub fn as_i64(&self) -> Result<Option<i64>, Malformed> {
        self.bytes.map(raw::signed).transpose()
    }

    /// The integer of an unsigned integer, BIT, ENUM or SET column; `None` for NULL.
    #[inline]
    pub fn as_u64(&self) -> Result<Option<u64>, Malformed> {
        self.bytes.map(raw::unsigned).transpose()
    }

    /// The bytes of a string column; `None` for NULL.
    #[inline]
    pub fn as_bytes(&self) -> Option<&'a [u8]> {
        self.bytes
    }
}
