//! Result rows as they are in chunks and tables of joins, for consumers that write them without making values of them.

use crate::batch::column::{Column, Data};
use crate::batch::expression::{Filler, Vector};
use crate::context::StatementContext;
use crate::output::{fits, shown};
use types::{ColumnType, Decimal, Value};

/// Result rows of the types that the columns' metadata promise.
pub struct Block<'b> {
    columns: &'b [Placed<'b>],
    len: usize,
}

/// A result column: its values, and at which place among them each row's is. Columns of a join may lie in different places.
pub struct Placed<'b> {
    pub(super) values: Vector<'b>,
    pub(super) places: &'b [u32],
}

impl Placed<'_> {
    /// The values, where they are not the same for all rows.
    #[inline]
    pub fn column(&self) -> Option<&Column> {
        self.values.column()
    }

    /// The places of the rows' values in the column.
    #[inline]
    pub fn places(&self) -> &[u32] {
        self.places
    }

    #[inline]
    fn place(&self, row: usize) -> usize {
        self.places[row] as usize
    }
}

/// A field of a result row.
#[derive(Debug)]
pub enum Field<'b> {
    /// NULL.
    Null,
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// A string.
    Bytes(&'b [u8]),
    /// Anything.
    Value(Value),
}

impl<'b> Block<'b> {
    /// The columns have been through [`fitted`] and have places for `len` rows.
    pub(super) fn new(columns: &'b [Placed<'b>], len: usize) -> Block<'b> {
        debug_assert!(columns.iter().all(|column| column.places.len() == len));
        Block { columns, len }
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Columns.
    pub fn columns(&self) -> &[Placed<'b>] {
        self.columns
    }

    /// A field of a row.
    #[inline]
    pub fn field(&self, row: usize, column: usize) -> Field<'_> {
        let placed = &self.columns[column];
        match &placed.values {
            Vector::Shared(column) => column_field(column, placed.place(row)),
            Vector::Owned(column) => column_field(column, placed.place(row)),
            Vector::Constant(value) => match value {
                Value::Null => Field::Null,
                Value::Bytes(text) => Field::Bytes(text),
                other => Field::Value(other.clone()),
            },
        }
    }

    /// A row's values.
    pub fn values(&self, row: usize, values: &mut Vec<Value>) {
        values.clear();
        values.extend(self.columns.iter().map(|placed| placed.values.value(placed.place(row))));
    }
}

#[inline]
fn column_field(column: &Column, at: usize) -> Field<'_> {
    if column.has_nulls() && column.is_null(at) {
        return Field::Null;
    }
    match column.data() {
        Data::Int(values) => Field::Int(values[at]),
        Data::UInt(values) => Field::UInt(values[at]),
        Data::Bytes(texts) => Field::Bytes(texts.get(at)),
        Data::Decimal(values, scale) => Field::Value(Value::Decimal(Decimal::new(values[at], *scale))),
        _ => match column.value(at) {
            Value::Null => Field::Null,
            value => Field::Value(value),
        },
    }
}

/// The values of a result column in a form that its wire type can carry.
pub(super) fn fitted<'c>(
    vector: Vector<'c>,
    from: &ColumnType,
    ty: &ColumnType,
    rows: &[u16],
    context: &dyn StatementContext,
) -> Vector<'c> {
    let column = match vector {
        Vector::Constant(value) => return Vector::Constant(shown(value, from, ty, context)),
        Vector::Shared(column) if all_fit(column, ty) => return Vector::Shared(column),
        Vector::Owned(column) if all_fit(&column, ty) => return Vector::Owned(column),
        other => other,
    };
    let mut out = Filler::new(column.column().map_or(0, Column::len));
    for row in rows {
        let at = usize::from(*row);
        out.put(at, &shown(column.value(at), from, ty, context));
    }
    Vector::Owned(out.finish())
}

/// Whether all values of a column fit as they are, by its type.
pub(super) fn all_fit(column: &Column, ty: &ColumnType) -> bool {
    let sample = match column.data() {
        Data::Untyped => Value::Null,
        Data::Int(_) => Value::Int(0),
        Data::UInt(_) => Value::UInt(0),
        Data::Float(_) => Value::Float(0.0),
        Data::Double(_) => Value::Double(0.0),
        Data::Decimal(_, scale) => Value::Decimal(Decimal::new(0, *scale)),
        Data::Bytes(_) => Value::Bytes(Default::default()),
        Data::Date(_) => Value::Date(Default::default()),
        Data::Time(_) => Value::Time(Default::default()),
        Data::DateTime(_) => Value::DateTime(Default::default()),
        Data::Timestamp(_) => Value::Timestamp(Default::default()),
        Data::Values(_) => return false,
    };
    fits(&sample, ty)
}
