//! Where the columns of a row are, and reading one column of many rows of one layout.

use crate::layout::NARROW_ROW_BYTES_MAX;
use base::Malformed;

/// Place of a stored column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// Byte of the null bits, from the start of the row.
    pub(crate) null_at: u32,
    /// Bit in that byte; 0 for a column that cannot be NULL.
    pub(crate) null_mask: u8,
    /// Whether the bytes have a fixed place.
    pub(crate) fixed: bool,
    /// Fixed: offset from the start of the row. Variable: number among the variable columns.
    pub(crate) at: u32,
    /// Bytes of a fixed column.
    pub(crate) bytes: u32,
}

/// Where a column of fixed width stands in every row of one layout: for those who read a column of many rows.
#[derive(Debug, Clone, Copy)]
pub struct FixedPlace(pub(crate) Place);

impl FixedPlace {
    /// The column's bytes in a row of the layout, `None` for NULL.
    #[inline(always)]
    pub fn bytes<'r>(&self, row: &'r [u8]) -> Result<Option<&'r [u8]>, Malformed> {
        let place = &self.0;
        if place.null_mask != 0 && row.get(place.null_at as usize).ok_or(Malformed)? & place.null_mask != 0 {
            return Ok(None);
        }
        row.get(place.at as usize..(place.at + place.bytes) as usize).map(Some).ok_or(Malformed)
    }

    /// How many bytes that are.
    pub fn width(&self) -> usize {
        self.0.bytes as usize
    }

    /// The bytes of a column of this width in a row, zeros for NULL; `None` where the row is too short.
    #[inline(always)]
    pub fn array<const N: usize>(&self, row: &[u8]) -> Option<[u8; N]> {
        let at = self.0.at as usize;
        row.get(at..at + N).and_then(|bytes| bytes.first_chunk().copied())
    }

    /// Whether any row may have NULL there.
    pub fn is_nullable(&self) -> bool {
        self.0.null_mask != 0
    }

    /// Whether a row has NULL there; a row that is too short has none.
    #[inline(always)]
    pub fn is_null(&self, row: &[u8]) -> bool {
        row.get(self.0.null_at as usize).is_some_and(|bits| bits & self.0.null_mask != 0)
    }
}

/// Where a column of variable length is found in every row of one layout that is no longer than a page (whose offsets take two bytes each).
#[derive(Debug, Clone, Copy)]
pub struct TextPlace {
    null_at: u32,
    null_mask: u8,
    is_first: bool,
    /// Where its end is, from the start of the row.
    end_at: u32,
    /// Where the data of all of them begin.
    data_at: u32,
}

impl TextPlace {
    pub(crate) fn new(place: &Place, ends_at: u32, variable_count: u32) -> TextPlace {
        TextPlace {
            null_at: place.null_at,
            null_mask: place.null_mask,
            is_first: place.at == 0,
            end_at: ends_at + 2 * place.at,
            data_at: ends_at + 2 * variable_count,
        }
    }

    /// The column's bytes in a row of the layout, `None` for NULL.
    #[inline(always)]
    pub fn bytes<'r>(&self, row: &'r [u8]) -> Result<Option<&'r [u8]>, Malformed> {
        debug_assert!(row.len() <= NARROW_ROW_BYTES_MAX, "offsets of four bytes");
        if self.null_mask != 0 && row.get(self.null_at as usize).ok_or(Malformed)? & self.null_mask != 0 {
            return Ok(None);
        }
        let end_at = self.end_at as usize;
        let offset = |at: usize| row.get(at..at + 2).and_then(|b| b.first_chunk().map(|b| usize::from(u16::from_le_bytes(*b))));
        let start = if self.is_first { 0 } else { offset(end_at - 2).ok_or(Malformed)? };
        let end = offset(end_at).ok_or(Malformed)?;
        let data_at = self.data_at as usize;
        row.get(data_at + start..data_at + end).map(Some).ok_or(Malformed)
    }
}
