//! Where the columns of a row are: computed once for a table's schema version.

use crate::header::{HEADER_BYTES, RowHeader};
use crate::place::{FixedPlace, Place, TextPlace};
use crate::raw;
use crate::row::RowRef;
use base::Malformed;
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;
use types::{ColumnType, Value};

/// Rows up to this length have two-byte end offsets, longer ones four-byte ones; the length itself tells which.
pub(crate) const NARROW_ROW_BYTES_MAX: usize = 65_535;

/// A value that a row of the layout cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncodeError {
    /// Position of the column.
    pub column: usize,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the value of column {} is not of its type", self.column)
    }
}

impl std::error::Error for EncodeError {}

/// What a column of a new row is to hold.
#[derive(Debug, Clone, Copy)]
pub enum Cell<'v> {
    /// A value of the column's type, or NULL.
    Value(&'v Value),
    /// A string column: these bytes.
    Text(&'v [u8]),
}

impl<'v> Cell<'v> {
    /// The bytes of a variable column; `None` for NULL and for what is no string.
    #[inline]
    fn text(self) -> Option<&'v [u8]> {
        match self {
            Cell::Text(text) => Some(text),
            Cell::Value(Value::Bytes(text) | Value::Json(text)) => Some(text),
            Cell::Value(_) => None,
        }
    }
}

/// What gives a column its value in rows that are older than the column: a generated one, whose expression reads the row's other columns.
///
/// It gives the same for the same row at all times: entries of indexes are made, and found again, by it.
pub trait Compute: fmt::Debug + Send + Sync {
    /// The value, of the column's type.
    ///
    /// # Errors
    /// A row that cannot be read, or one whose expression fails.
    fn compute(&self, row: RowRef<'_>) -> Result<Value, Malformed>;
}

/// Where a column of today's table comes from in rows of an older schema version.
#[derive(Debug, Clone)]
pub enum ColumnSource {
    /// The stored column at this position.
    Stored(usize),
    /// The row is older than the column: this value, already of the column's type.
    Default(Value),
    /// The row is older than the column, and the column's value follows from the row.
    Computed(Arc<dyn Compute>),
}

/// Where a column is read from.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    Row(Place),
    /// Bytes as a row would hold them; `None` is NULL.
    Default(Option<Box<[u8]>>),
    /// Nowhere: whoever asks for it has it computed.
    Computed(Arc<dyn Compute>),
}

/// The decode plan of a table's rows of one schema version.
#[derive(Debug, Clone)]
pub struct RowLayout {
    schema_version: u16,
    /// Types by column of the table as it is seen now.
    types: Vec<ColumnType>,
    sources: Vec<Source>,
    /// Places of the stored columns, in stored order; the same as `sources` unless the layout is of an older version.
    stored: Vec<(ColumnType, Place)>,
    /// Whether rows can be written with it (its columns are the stored ones).
    is_current: bool,
    /// Offset of the fixed columns.
    fixed_at: u32,
    /// Offset of the end offsets.
    ends_at: u32,
    variable_count: u32,
}

/// What a column becomes, if it is among the changes: the last one counts.
#[inline]
fn changed<'v>(changes: &[(usize, &'v Value)], column: usize) -> Option<&'v Value> {
    changes.iter().rev().find(|(at, _)| *at == column).map(|(_, value)| *value)
}

fn places(types: &[ColumnType]) -> (Vec<Place>, u32, u32, u32) {
    let nullable = types.iter().filter(|ty| ty.nullable).count();
    let fixed_at = HEADER_BYTES + nullable.div_ceil(8);
    let (mut offset, mut variable, mut bit) = (fixed_at as u32, 0u32, 0usize);
    let places = types
        .iter()
        .map(|ty| {
            let (mut null_at, mut null_mask) = (0, 0);
            if ty.nullable {
                null_at = (HEADER_BYTES + bit / 8) as u32;
                null_mask = 1 << (bit % 8);
                bit += 1;
            }
            match raw::fixed_bytes(ty) {
                Some(bytes) => {
                    let at = offset;
                    offset += bytes as u32;
                    Place { null_at, null_mask, fixed: true, at, bytes: bytes as u32 }
                }
                None => {
                    variable += 1;
                    Place { null_at, null_mask, fixed: false, at: variable - 1, bytes: 0 }
                }
            }
        })
        .collect();
    (places, fixed_at as u32, offset, variable)
}

impl RowLayout {
    /// The layout of rows with these columns.
    pub fn new(types: &[ColumnType], schema_version: u16) -> RowLayout {
        let (places, fixed_at, ends_at, variable_count) = places(types);
        RowLayout {
            schema_version,
            types: types.to_vec(),
            sources: places.iter().copied().map(Source::Row).collect(),
            stored: types.iter().cloned().zip(places).collect(),
            is_current: true,
            fixed_at,
            ends_at,
            variable_count,
        }
    }

    /// The layout by which rows of an older schema version are read as rows of the current one: `stored` are the columns that the old rows
    /// hold, `columns` says for each current column where it comes from. A stored column has today's type but for its name and place
    /// (instant DDL changes no bytes; members may have been appended to an ENUM).
    ///
    /// # Errors
    /// When a default is not of its column's type or a source is past the stored columns.
    pub fn of_older_version(
        stored: &[ColumnType],
        schema_version: u16,
        columns: &[(ColumnType, ColumnSource)],
    ) -> Result<RowLayout, EncodeError> {
        let mut layout = RowLayout::new(stored, schema_version);
        layout.types = columns.iter().map(|(ty, _)| ty.clone()).collect();
        layout.is_current = false;
        layout.sources = columns
            .iter()
            .enumerate()
            .map(|(column, (ty, source))| match source {
                ColumnSource::Stored(at) => layout.stored.get(*at).map(|(_, place)| Source::Row(*place)).ok_or(EncodeError { column }),
                ColumnSource::Computed(compute) => Ok(Source::Computed(Arc::clone(compute))),
                ColumnSource::Default(Value::Null) if ty.nullable => Ok(Source::Default(None)),
                ColumnSource::Default(value) => {
                    let mut bytes = Vec::new();
                    raw::append(ty, value, &mut bytes).ok_or(EncodeError { column })?;
                    Ok(Source::Default(Some(bytes.into())))
                }
            })
            .collect::<Result<_, _>>()?;
        Ok(layout)
    }

    /// The schema version of its rows.
    pub fn schema_version(&self) -> u16 {
        self.schema_version
    }

    /// Columns of the table.
    pub fn column_count(&self) -> usize {
        self.types.len()
    }

    /// Types of the columns.
    pub fn types(&self) -> &[ColumnType] {
        &self.types
    }

    /// Type of a column.
    pub fn column_type(&self, column: usize) -> &ColumnType {
        &self.types[column]
    }

    /// Where a column is, if it is at the same place in all rows of this layout.
    pub fn fixed_place(&self, column: usize) -> Option<FixedPlace> {
        match self.sources.get(column)? {
            Source::Row(place) if place.fixed => Some(FixedPlace(*place)),
            _ => None,
        }
    }

    /// Where a column's end offset is, if the rows of this layout have the column and it is of variable length.
    pub fn text_place(&self, column: usize) -> Option<TextPlace> {
        match self.sources.get(column)? {
            Source::Row(place) if !place.fixed => Some(TextPlace::new(place, self.ends_at, self.variable_count)),
            _ => None,
        }
    }

    /// Whether rows of this layout are older than the column, and its value follows from them.
    pub fn is_computed(&self, column: usize) -> bool {
        matches!(self.sources.get(column), Some(Source::Computed(_)))
    }

    /// The first column that has to be computed in rows of this layout and is not among `changes`.
    fn first_computed(&self, changes: &[(usize, &Value)]) -> Option<usize> {
        if self.is_current {
            return None;
        }
        (0..self.sources.len())
            .filter(|column| self.is_computed(*column))
            .find(|column| changes.iter().all(|(changed, _)| changed != column))
    }

    #[inline]
    pub(crate) fn source(&self, column: usize) -> &Source {
        &self.sources[column]
    }

    /// Where a column of a current row is; `None` for a layout of an older version's rows.
    pub(crate) fn place(&self, column: usize) -> Option<Place> {
        match self.sources.get(column)? {
            Source::Row(place) if self.is_current => Some(*place),
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn ends_at(&self) -> usize {
        self.ends_at as usize
    }

    #[inline]
    pub(crate) fn variable_count(&self) -> usize {
        self.variable_count as usize
    }

    /// Bytes of the longest row with two-byte offsets before any variable data; what the columns' lengths allow is the catalogue's check.
    pub fn fixed_row_bytes(&self) -> usize {
        self.ends_at() + 2 * self.variable_count()
    }

    /// Appends a row: a header with this schema version and no writer, then the columns. Values are of the columns' types
    /// (see `types::store_convert`). On error `out` is as before.
    ///
    /// # Errors
    /// A value that is not of its column's type, or NULL where it may not be.
    ///
    /// # Panics
    /// When the count of values is not that of the columns, or the layout is one of an older version.
    pub fn encode(&self, values: &[Value], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        assert_eq!(values.len(), self.types.len(), "one value a column");
        self.encode_from(|column| &values[column], out)
    }

    /// The same with values that lie here and there: `value` gives that of a column, and is asked several times.
    ///
    /// # Errors
    /// As [`RowLayout::encode`].
    ///
    /// # Panics
    /// When the layout is one of an older version.
    #[inline]
    pub fn encode_from<'v>(&self, value: impl Fn(usize) -> &'v Value, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.encode_cells(|column| Cell::Value(value(column)), out)
    }

    /// The same, of what is not all values.
    ///
    /// # Errors
    /// As [`RowLayout::encode`].
    ///
    /// # Panics
    /// When the layout is one of an older version.
    #[inline]
    pub fn encode_cells<'v>(&self, cell: impl Fn(usize) -> Cell<'v>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        assert!(self.is_current, "rows are written with the current layout");
        let start = out.len();
        let result = self.encode_columns(cell, out, start);
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    /// Appends `row` with the columns of `changes` set to new values; all others are copied as they are stored. The header is that of a fresh row.
    /// On error `out` is as before.
    ///
    /// # Errors
    /// As [`RowLayout::encode`], and a row that cannot be read.
    ///
    /// # Panics
    /// When the layout is one of an older version.
    pub fn encode_changed(&self, row: RowRef<'_>, changes: &[(usize, &Value)], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        assert!(self.is_current, "rows are written with the current layout");
        if let Some(column) = row.layout().first_computed(changes) {
            let value = row.value(column).map_err(|_| EncodeError { column })?;
            let changes: Vec<(usize, &Value)> = changes.iter().copied().chain([(column, &value)]).collect();
            return self.encode_changed(row, &changes, out);
        }
        let start = out.len();
        let result = if std::ptr::eq(row.layout(), self) { self.patch(row, changes, out) } else { self.encode_pieces(row, changes, out) };
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    pub(crate) fn fresh_header(&self) -> [u8; HEADER_BYTES] {
        RowHeader { schema_version: self.schema_version, ..RowHeader::default() }.to_bytes()
    }

    /// A copy of a row of this layout: what has a fixed place is overwritten there, and only where a text changes those are put together anew.
    fn patch(&self, row: RowRef<'_>, changes: &[(usize, &Value)], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let start = out.len();
        let ends_at = self.ends_at();
        let fixed = row.bytes().get(HEADER_BYTES..ends_at).ok_or(EncodeError { column: 0 })?;
        out.extend_from_slice(&self.fresh_header());
        out.extend_from_slice(fixed);
        let mut texts_change = false;
        for (column, value) in changes {
            let (ty, place) = &self.stored[*column];
            texts_change |= !place.fixed;
            let null_bits = &mut out[start + place.null_at as usize];
            if !value.is_null() {
                *null_bits &= !place.null_mask;
            } else if place.null_mask != 0 {
                *null_bits |= place.null_mask;
            } else {
                return Err(EncodeError { column: *column });
            }
            if place.fixed {
                self.overwrite(ty, place, value, start, out).ok_or(EncodeError { column: *column })?;
            }
        }
        if texts_change {
            return self.append_texts(row, changes, out);
        }
        out.extend_from_slice(&row.bytes()[ends_at..]);
        Ok(())
    }

    /// Puts a value to its place in the row that begins at `start` and has its fixed columns, and nothing behind them, yet.
    fn overwrite(&self, ty: &ColumnType, place: &Place, value: &Value, start: usize, out: &mut Vec<u8>) -> Option<()> {
        let (at, end) = (start + place.at as usize, out.len());
        if value.is_null() {
            out[at..at + place.bytes as usize].fill(0);
            return Some(());
        }
        // Encoded behind the row, then moved to its place.
        raw::append(ty, value, out)?;
        out.copy_within(end.., at);
        out.truncate(end);
        Some(())
    }

    /// The row put together from stored and new columns.
    fn encode_pieces(&self, row: RowRef<'_>, changes: &[(usize, &Value)], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let start = out.len();
        out.extend_from_slice(&self.fresh_header());
        out.resize(start + self.fixed_at as usize, 0);
        for (column, (ty, place)) in self.stored.iter().enumerate() {
            let stored = || row.column_bytes(column).map_err(|_| EncodeError { column });
            let is_null = match changed(changes, column) {
                Some(value) if value.is_null() => true,
                None => stored()?.is_none(),
                Some(_) => false,
            };
            if is_null && place.null_mask == 0 {
                return Err(EncodeError { column });
            }
            if is_null {
                out[start + place.null_at as usize] |= place.null_mask;
            }
            if place.fixed {
                let end = out.len() + place.bytes as usize;
                match changed(changes, column) {
                    _ if is_null => {}
                    Some(value) => raw::append(ty, value, out).ok_or(EncodeError { column })?,
                    None => out.extend_from_slice(stored()?.unwrap_or_default()),
                }
                out.resize(end, 0);
            }
        }
        self.append_texts(row, changes, out)
    }

    /// The end offsets and the bytes of the variable columns, stored and new.
    fn append_texts(&self, row: RowRef<'_>, changes: &[(usize, &Value)], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut texts: SmallVec<[&[u8]; 16]> = SmallVec::new();
        let mut bytes = 0;
        for (column, _) in self.stored.iter().enumerate().filter(|(_, (_, place))| !place.fixed) {
            let text = match changed(changes, column) {
                None => row.column_bytes(column).map_err(|_| EncodeError { column })?.unwrap_or_default(),
                Some(Value::Null) => &[],
                Some(Value::Bytes(text) | Value::Json(text)) => text.as_slice(),
                Some(_) => return Err(EncodeError { column }),
            };
            bytes += text.len();
            texts.push(text);
        }
        let narrow = self.ends_at() + 2 * texts.len() + bytes <= NARROW_ROW_BYTES_MAX;
        let mut end = 0;
        for text in &texts {
            end += text.len();
            if narrow {
                out.extend_from_slice(&(end as u16).to_le_bytes());
            } else {
                // Four gigabytes in one row are past what a statement may hold.
                let end = u32::try_from(end).map_err(|_| EncodeError { column: 0 })?;
                out.extend_from_slice(&end.to_le_bytes());
            }
        }
        texts.iter().for_each(|text| out.extend_from_slice(text));
        Ok(())
    }

    #[inline]
    fn encode_columns<'v>(&self, cell: impl Fn(usize) -> Cell<'v>, out: &mut Vec<u8>, start: usize) -> Result<(), EncodeError> {
        out.extend_from_slice(&self.fresh_header());
        out.resize(start + self.fixed_at as usize, 0);
        let mut variable_bytes = 0;
        for (column, (ty, place)) in self.stored.iter().enumerate() {
            match cell(column) {
                Cell::Value(Value::Null) => {
                    if place.null_mask == 0 {
                        return Err(EncodeError { column });
                    }
                    out[start + place.null_at as usize] |= place.null_mask;
                    if place.fixed {
                        out.resize(out.len() + place.bytes as usize, 0);
                    }
                }
                Cell::Value(value) if place.fixed => raw::append(ty, value, out).ok_or(EncodeError { column })?,
                Cell::Text(_) if place.fixed => return Err(EncodeError { column }),
                text => variable_bytes += text.text().ok_or(EncodeError { column })?.len(),
            }
        }
        let count = self.variable_count();
        let narrow = self.ends_at() + 2 * count + variable_bytes <= NARROW_ROW_BYTES_MAX;
        let variable = || self.stored.iter().enumerate().filter(|(_, (_, place))| !place.fixed).map(|(column, _)| column);
        let mut end = 0usize;
        for column in variable() {
            end += cell(column).text().map_or(0, <[u8]>::len);
            if narrow {
                out.extend_from_slice(&(end as u16).to_le_bytes());
            } else {
                // Four gigabytes in one row are past what a statement may hold.
                let end = u32::try_from(end).map_err(|_| EncodeError { column })?;
                out.extend_from_slice(&end.to_le_bytes());
            }
        }
        for column in variable() {
            if let Some(text) = cell(column).text() {
                out.extend_from_slice(text);
            }
        }
        Ok(())
    }
}
