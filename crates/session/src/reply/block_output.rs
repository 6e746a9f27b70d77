//! Rows of a block as rows of a result: how a column's fields are written is found out once for all of them.

use crate::reply::charsets::conversion;
use crate::reply::row_output::{put_converted, put_field, width};
use executor::{Block, Column, Data, Field, Strings};
use protocol::rows::TEXT_WINDOW;
use protocol::{IntBytes, RowFormat, RowRun, RowWriter};
use types::{Charset, ColumnType, Date, TimeZone, TypeKind};

/// The fields of a column.
enum Fields<'b> {
    Int(&'b [i64], IntBytes),
    UInt(&'b [u64], IntBytes),
    /// DECIMAL, as whole numbers and their scale.
    Decimal(&'b [i128], u8),
    Text(&'b Strings),
    Date(&'b [Date]),
    /// Whatever else: field by field.
    Other,
}

/// A column, and where its rows' fields are.
struct Source<'b> {
    fields: Fields<'b>,
    /// The column where it has NULLs.
    nulls: Option<&'b Column>,
    places: &'b [u32],
    number: usize,
    ty: &'b ColumnType,
    /// What its texts are converted to, if they are.
    form: Option<Charset>,
}

/// The rows of a block, to be written.
pub struct BlockRows<'b> {
    block: &'b Block<'b>,
    sources: Vec<Source<'b>>,
    zone: &'b TimeZone,
}

impl<'b> BlockRows<'b> {
    /// A block whose columns are of these types, for a client that wants texts in `results`.
    pub fn new(block: &'b Block<'b>, types: impl Iterator<Item = &'b ColumnType>, zone: &'b TimeZone, results: Option<Charset>) -> Self {
        let source = |(number, ty): (usize, &'b ColumnType)| {
            let placed = block.columns().get(number)?;
            let column = placed.column();
            let fields = column.map_or(Fields::Other, |column| fields(column.data(), ty));
            let (nulls, form) = (column.filter(|column| column.has_nulls()), conversion(ty, results));
            Some(Source { fields, nulls, places: placed.places(), number, ty, form })
        };
        Self { block, sources: types.enumerate().map_while(source).collect(), zone }
    }

    /// Writes rows from one on, until there is enough to be sent; returns the row that it stopped at.
    pub fn write(&self, run: &mut RowRun<'_>, format: RowFormat, from: usize) -> usize {
        for row in from..self.block.len() {
            match format {
                RowFormat::Text => self.put_row(run.text_row(), row),
                RowFormat::Binary => self.put_row(run.binary_row(), row),
            }
            if run.is_full() {
                return row + 1;
            }
        }
        self.block.len()
    }

    #[inline(always)]
    fn put_row(&self, mut out: impl RowWriter, row: usize) {
        for source in &self.sources {
            let at = source.places[row] as usize;
            if source.nulls.is_some_and(|column| column.is_null(at)) {
                out.null();
                continue;
            }
            match &source.fields {
                Fields::Int(values, width) => out.int(values[at], *width),
                Fields::UInt(values, width) => out.uint(values[at], *width),
                Fields::Decimal(values, scale) => {
                    let short = i64::try_from(values[at]).is_ok_and(|unscaled| out.decimal(unscaled, *scale));
                    if !short {
                        self.put_other(&mut out, source, row);
                    }
                }
                Fields::Date(values) => out.date(values[at]),
                Fields::Text(strings) => match strings.window::<TEXT_WINDOW>(at) {
                    // ASCII is the same in all of them.
                    Some((window, length)) if source.form.is_none() || window.is_ascii() => out.short_bytes(window, length),
                    _ => put_text(&mut out, strings.get(at), source.form),
                },
                Fields::Other => self.put_other(&mut out, source, row),
            }
        }
        out.end();
    }

    #[inline(never)]
    fn put_other(&self, out: &mut impl RowWriter, source: &Source<'_>, row: usize) {
        match (self.block.field(row, source.number), source.form) {
            (Field::Bytes(text), form) => put_text(out, text, form),
            (Field::Value(value), Some(form)) => put_converted(out, source.ty, &value, self.zone, Some(form)),
            (field, _) => put_field(out, source.ty, field, self.zone),
        }
    }
}

/// Writes a text, converted if it must be.
#[inline(never)]
fn put_text(out: &mut impl RowWriter, text: &[u8], form: Option<Charset>) {
    match form {
        Some(to) if !text.is_ascii() => out.bytes_with(|out| to.encode(text, out)),
        _ => out.bytes(text),
    }
}

/// How fields are written that the client was told are of type `ty`, as [`put_field`] writes them.
fn fields<'b>(data: &'b Data, ty: &ColumnType) -> Fields<'b> {
    let is_integer = ty.kind.is_integer() && !ty.zerofill;
    match data {
        Data::Int(values) if is_integer => Fields::Int(values, width(ty.kind)),
        Data::UInt(values) if is_integer => Fields::UInt(values, width(ty.kind)),
        Data::Decimal(values, scale) if ty.kind == TypeKind::Decimal && !ty.zerofill => Fields::Decimal(values, *scale),
        Data::Bytes(strings) => Fields::Text(strings),
        Data::Date(values) if ty.kind == TypeKind::Date => Fields::Date(values),
        _ => Fields::Other,
    }
}
