//! A row on its way from where its values lie, in a plan, a statement's text or a line of a file, into bytes.

use record::{Cell, EncodeError, RowLayout};
use smallvec::SmallVec;
use std::borrow::Cow;
use types::Value;

pub(crate) static NULL: Value = Value::Null;

/// Where a column's value lies.
pub(crate) enum Place<'v> {
    /// In the plan or among the parameters.
    Given(&'v Value),
    /// Among the values made for this row.
    Made(usize),
    /// A string column: in the statement's text.
    Text(&'v [u8]),
}

/// The row being built.
pub(crate) struct Row<'v> {
    /// By column.
    pub places: SmallVec<[Place<'v>; 16]>,
    /// Values that had to be converted or generated.
    made: Vec<Value>,
    /// The row's bytes.
    pub bytes: Vec<u8>,
}

impl<'v> Row<'v> {
    /// An empty row, in the memory of an earlier one.
    pub fn new(mut made: Vec<Value>, bytes: Vec<u8>) -> Row<'v> {
        made.clear();
        Row { places: SmallVec::new(), made, bytes }
    }

    /// Its memory.
    pub fn into_parts(self) -> (Vec<Value>, Vec<u8>) {
        (self.made, self.bytes)
    }

    /// Forgets the columns.
    pub fn clear(&mut self) {
        self.places.clear();
        self.made.clear();
    }

    /// Makes room for so many columns, which may get their values in any order.
    #[inline]
    pub fn make_room(&mut self, columns: usize) {
        self.places.resize_with(columns, || Place::Given(&NULL));
    }

    /// What the row is to hold.
    #[inline]
    pub fn cell(&self, column: usize) -> Cell<'_> {
        match self.places[column] {
            Place::Given(value) => Cell::Value(value),
            Place::Made(at) => Cell::Value(&self.made[at]),
            Place::Text(text) => Cell::Text(text),
        }
    }

    /// Makes its bytes.
    #[inline]
    pub fn encode(&mut self, layout: &RowLayout) -> Result<(), EncodeError> {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        let encoded = layout.encode_cells(|column| self.cell(column), &mut bytes);
        self.bytes = bytes;
        encoded
    }

    /// The value of a column that is no string.
    pub fn number(&self, column: usize) -> &Value {
        match self.cell(column) {
            Cell::Value(value) => value,
            Cell::Text(_) => &NULL,
        }
    }

    /// The value of a column.
    pub fn value(&self, column: usize) -> Cow<'_, Value> {
        match self.cell(column) {
            Cell::Value(value) => Cow::Borrowed(value),
            Cell::Text(text) => Cow::Owned(Value::bytes(text)),
        }
    }

    /// All of them.
    pub fn values(&self) -> Vec<Value> {
        (0..self.places.len()).map(|column| self.value(column).into_owned()).collect()
    }

    /// A place for a value of this row's own.
    pub fn make(&mut self, value: Value) -> Place<'v> {
        self.made.push(value);
        Place::Made(self.made.len() - 1)
    }
}
