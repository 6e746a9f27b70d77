//! Columns from stored rows: of one row, or of a run of rows that are laid out alike, column by column.

use crate::batch::column::{Column, Fixed};
use base::Malformed;
use planner::expr::Slot;
use record::{ColumnRef, FixedPlace, RowLayout, RowRef, TextPlace};
use types::{ColumnType, Date, DateTime, Decimal, Time, Timestamp, TypeKind};

/// How the stored bytes of a column become a value of a chunk: decided once for a scan.
#[derive(Clone, Copy)]
enum Decoder {
    Signed,
    Unsigned,
    Decimal,
    Text,
    Date,
    DateTime,
    Time,
    Timestamp,
    Float,
    Double,
    Other,
}

/// Where a column is in rows of a layout.
#[derive(Clone, Copy)]
enum Place {
    Fixed(FixedPlace),
    Text(TextPlace),
    /// Not in them.
    None,
}

/// A used column.
#[derive(Clone, Copy)]
pub(super) struct Reader<'t> {
    number: usize,
    ty: &'t ColumnType,
    decoder: Decoder,
    place: Place,
}

/// For (column, slot) of used columns.
pub(super) fn readers<'t>(columns: &[(u32, Slot)], layout: &'t RowLayout) -> Vec<Reader<'t>> {
    columns.iter().map(|(number, _)| reader(*number as usize, layout)).collect()
}

/// The used columns of a table in rows of all its layouts.
pub(super) struct Readers<'t> {
    layout: &'t RowLayout,
    today: Vec<Reader<'t>>,
    /// The same in rows of older versions, made when a scan first meets such rows.
    older: Vec<(u16, Vec<Reader<'t>>)>,
}

impl<'t> Readers<'t> {
    pub(super) fn new(columns: &[(u32, Slot)], layout: &'t RowLayout) -> Readers<'t> {
        Readers { layout, today: readers(columns, layout), older: Vec::new() }
    }

    /// Appends the used columns of a row; returns how many bytes of strings that were.
    #[inline]
    pub(super) fn append_row(&self, row: RowRef<'_>, columns: &mut [Column]) -> Result<usize, Malformed> {
        append_row(row, self.layout, &self.today, columns)
    }

    /// Appends the used columns of rows of a layout; returns how many bytes of strings that were.
    #[inline]
    pub(super) fn append_run(&mut self, rows: &[&[u8]], layout: &RowLayout, columns: &mut [Column]) -> Result<usize, Malformed> {
        if std::ptr::eq(layout, self.layout) {
            return append_run(rows, layout, &self.today, columns);
        }
        let version = layout.schema_version();
        let at = match self.older.iter().position(|(known, _)| *known == version) {
            Some(at) => at,
            None => {
                let placed = self.today.iter().map(|reader| Reader { place: place(reader.number, layout), ..*reader }).collect();
                self.older.push((version, placed));
                self.older.len() - 1
            }
        };
        append_run(rows, layout, &self.older[at].1, columns)
    }
}

fn reader(number: usize, layout: &RowLayout) -> Reader<'_> {
    let ty = layout.column_type(number);
    let decoder = match ty.kind {
        kind if kind.is_integer() && ty.unsigned => Decoder::Unsigned,
        kind if kind.is_integer() => Decoder::Signed,
        kind if kind.is_string() => Decoder::Text,
        TypeKind::Decimal => Decoder::Decimal,
        TypeKind::Date => Decoder::Date,
        TypeKind::DateTime => Decoder::DateTime,
        TypeKind::Time => Decoder::Time,
        TypeKind::Timestamp => Decoder::Timestamp,
        TypeKind::Float => Decoder::Float,
        TypeKind::Double => Decoder::Double,
        _ => Decoder::Other,
    };
    Reader { number, ty, decoder, place: place(number, layout) }
}

fn place(number: usize, layout: &RowLayout) -> Place {
    match (layout.fixed_place(number), layout.text_place(number)) {
        (Some(place), _) => Place::Fixed(place),
        (None, Some(place)) => Place::Text(place),
        (None, None) => Place::None,
    }
}

/// Appends the used columns of a row; returns how many bytes of strings that were.
#[inline]
pub(super) fn append_row(row: RowRef<'_>, layout: &RowLayout, readers: &[Reader<'_>], columns: &mut [Column]) -> Result<usize, Malformed> {
    let mut text_bytes = 0;
    let current = std::ptr::eq(row.layout(), layout);
    for (reader, column) in readers.iter().zip(columns) {
        text_bytes += append_value(row, current, reader, column)?;
    }
    Ok(text_bytes)
}

#[inline]
fn append_value(row: RowRef<'_>, current: bool, reader: &Reader<'_>, column: &mut Column) -> Result<usize, Malformed> {
    match &reader.place {
        Place::Fixed(place) if current => append_bytes(place.bytes(row.bytes())?, reader, column),
        _ => match row.column_bytes(reader.number) {
            Ok(bytes) => append_bytes(bytes, reader, column),
            Err(Malformed) => append_computed(row, reader, column),
        },
    }
}

#[cold]
fn append_computed(row: RowRef<'_>, reader: &Reader<'_>, column: &mut Column) -> Result<usize, Malformed> {
    append_bytes(row.bytes_in(reader.number, &mut Vec::new())?, reader, column)
}

#[inline]
fn append_bytes(bytes: Option<&[u8]>, reader: &Reader<'_>, column: &mut Column) -> Result<usize, Malformed> {
    let Some(raw) = bytes else {
        column.push_null();
        return Ok(0);
    };
    let stored = ColumnRef { ty: reader.ty, bytes };
    match reader.decoder {
        Decoder::Signed => column.push_int(stored.as_i64()?.unwrap_or_default()),
        Decoder::Unsigned => column.push_uint(stored.as_u64()?.unwrap_or_default()),
        Decoder::Text => {
            column.push_bytes(raw);
            return Ok(raw.len());
        }
        Decoder::Decimal => match Decimal::decode_ordered(raw, reader.ty.decimals) {
            Some(decimal) => column.push_decimal(decimal),
            None => column.push(&stored.value()?),
        },
        Decoder::Date => column.push_date(stored.as_u64()?.and_then(|packed| Date::from_packed(packed as u32)).ok_or(Malformed)?),
        _ => column.push(&stored.value()?),
    }
    Ok(0)
}

/// Appends the used columns of rows of `layout`; returns how many bytes of strings that were.
pub(super) fn append_run(rows: &[&[u8]], layout: &RowLayout, readers: &[Reader<'_>], columns: &mut [Column]) -> Result<usize, Malformed> {
    let mut text_bytes = 0;
    for (reader, column) in readers.iter().zip(columns) {
        let run = match &reader.place {
            Place::Fixed(place) => FixedRun { rows, place, column }.append(reader)?,
            Place::Text(place) if matches!(reader.decoder, Decoder::Text) => Some(append_texts(rows, place, column)?),
            _ => None,
        };
        match run {
            Some(bytes) => text_bytes += bytes,
            None => {
                for row in rows {
                    text_bytes += append_value(RowRef::new(layout, row), true, reader, column)?;
                }
            }
        }
    }
    Ok(text_bytes)
}

/// A column of fixed width of a run of rows.
struct FixedRun<'r, 'c> {
    rows: &'r [&'r [u8]],
    place: &'r FixedPlace,
    column: &'c mut Column,
}

/// Runs `$body` with `$n` as the width, where it is one of those named.
macro_rules! with_width {
    ($width:expr, $([$($one:literal)*], $n:ident => $body:expr),*) => {
        match $width {
            $($($one => {
                const $n: usize = $one;
                $body
            })*)*
            _ => return Ok(None),
        }
    };
}

impl FixedRun<'_, '_> {
    /// Appends the column's values; `None` (and nothing done) where there is no loop for them.
    fn append(mut self, reader: &Reader<'_>) -> Result<Option<usize>, Malformed> {
        let width = self.place.width();
        match reader.decoder {
            Decoder::Signed => with_width!(width, [4 8 1 2 3], N => self.take(|b: [u8; N]| Some(signed(b)))?),
            Decoder::Unsigned => with_width!(width, [4 8 1 2 3], N => self.take(|b: [u8; N]| Some(unsigned(b)))?),
            Decoder::Decimal => {
                let scale = reader.ty.decimals;
                with_width!(width, [1 2 3 4 5 6 7 8], N => self.take_decimals(scale, |b: [u8; N]| i128::from(decimal(b)))?,
                    [9 10 11 12 13 14 15 16], N => self.take_decimals(scale, wide_decimal::<N>)?)
            }
            Decoder::Date => with_width!(width, [3], N => self.take(|b: [u8; N]| Date::from_packed(unsigned(b) as u32))?),
            Decoder::DateTime => with_width!(width, [8], N => self.take(|b: [u8; N]| DateTime::from_packed(unsigned(b)))?),
            Decoder::Time => with_width!(width, [6], N => self.take(|b: [u8; N]| Some(Time::from_micros(signed(b))))?),
            Decoder::Timestamp => with_width!(width, [8], N => self.take(|b: [u8; N]| Some(Timestamp::from_micros(signed(b))))?),
            Decoder::Float => with_width!(width, [4], N => self.take(|b: [u8; N]| Some(f32::from_bits(unsigned(b) as u32)))?),
            Decoder::Double => with_width!(width, [8], N => self.take(|b: [u8; N]| Some(f64::from_bits(unsigned(b))))?),
            Decoder::Text | Decoder::Other => return Ok(None),
        }
        Ok(Some(0))
    }

    /// Appends what `value` makes of each row's bytes.
    #[inline(always)]
    fn take<const N: usize, T: Fixed>(&mut self, value: impl Fn([u8; N]) -> Option<T>) -> Result<(), Malformed> {
        let (start, place) = (self.column.len(), self.place);
        let mut sound = true;
        let value = |row: &&[u8]| {
            place.array(row).and_then(&value).unwrap_or_else(|| {
                sound = false;
                T::default()
            })
        };
        T::extend(self.column, self.rows.iter().map(value));
        self.finish(start, sound)
    }

    /// The same with decimals.
    #[inline(always)]
    fn take_decimals<const N: usize>(&mut self, scale: u8, value: impl Fn([u8; N]) -> i128) -> Result<(), Malformed> {
        let (start, place) = (self.column.len(), self.place);
        let mut sound = true;
        let value = |row: &&[u8]| match place.array(row) {
            // NULL, whose place is filled with zeros: no decimal has these bytes.
            Some(bytes) if bytes == [0; N] => 0,
            Some(bytes) => value(bytes),
            None => {
                sound = false;
                0
            }
        };
        self.column.extend_decimals(scale, self.rows.iter().map(value));
        self.finish(start, sound)
    }

    #[inline(always)]
    fn finish(&mut self, start: usize, sound: bool) -> Result<(), Malformed> {
        if !sound {
            return Err(Malformed);
        }
        if self.place.is_nullable() {
            for (no, row) in self.rows.iter().enumerate() {
                if self.place.is_null(row) {
                    self.column.set_null(start + no);
                }
            }
        }
        Ok(())
    }
}

/// A little-endian integer.
#[inline(always)]
fn unsigned<const N: usize>(bytes: [u8; N]) -> u64 {
    let mut all = [0; 8];
    all[..N].copy_from_slice(&bytes);
    u64::from_le_bytes(all)
}

/// The same, sign-extended.
#[inline(always)]
fn signed<const N: usize>(bytes: [u8; N]) -> i64 {
    let mut all = [0; 8];
    all[8 - N..].copy_from_slice(&bytes);
    i64::from_le_bytes(all) >> (64 - 8 * N)
}

/// The unscaled number of a decimal of up to 18 digits: see [`Decimal::encode_ordered`].
#[inline(always)]
fn decimal<const N: usize>(bytes: [u8; N]) -> i64 {
    let mut all = [0; 8];
    all[..N].copy_from_slice(&bytes);
    (i64::from_be_bytes(all) ^ i64::MIN) >> (64 - 8 * N)
}

/// The same of up to 38 digits.
#[inline(always)]
fn wide_decimal<const N: usize>(bytes: [u8; N]) -> i128 {
    let mut all = [0; 16];
    all[..N].copy_from_slice(&bytes);
    (i128::from_be_bytes(all) ^ i128::MIN) >> (128 - 8 * N)
}

/// Appends a string column's values; returns how many bytes they have.
fn append_texts(rows: &[&[u8]], place: &TextPlace, column: &mut Column) -> Result<usize, Malformed> {
    let mut text_bytes = 0;
    for row in rows {
        match place.bytes(row)? {
            Some(text) => {
                text_bytes += text.len();
                column.push_bytes(text);
            }
            None => column.push_null(),
        }
    }
    Ok(text_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::SplitMix64 as Random;
    use record::ColumnSource;
    use types::{Collation, Value};

    fn value(r: &mut Random, ty: &ColumnType) -> Value {
        let random = r.below(1 << 40) as i64 - (1 << 39);
        let number = r.pick(&[0, 1, -1, 100, -128, 77, random]);
        match ty.kind {
            _ if ty.nullable && r.below(4) == 0 => Value::Null,
            kind if kind.is_integer() => {
                let bits = match kind {
                    TypeKind::TinyInt => 8,
                    TypeKind::SmallInt => 16,
                    TypeKind::MediumInt => 24,
                    TypeKind::Int => 32,
                    _ => 64,
                };
                let (signed, unsigned) = (number << (64 - bits) >> (64 - bits), (number as u64) << (64 - bits) >> (64 - bits));
                if ty.unsigned { Value::UInt(unsigned) } else { Value::Int(signed) }
            }
            TypeKind::Decimal => {
                let most = 10i128.pow(ty.length.min(38)) - 1;
                let wide = i128::from(number).wrapping_mul(r.pick(&[1, 1, most / 3]));
                Value::Decimal(Decimal::new(r.pick(&[wide % most, most, -most, 0]), ty.decimals))
            }
            TypeKind::Float => Value::Float(number as f32 / 4.0),
            TypeKind::Double => Value::Double(number as f64 / 4.0),
            TypeKind::Date => Value::Date(Date::from_fields(2024, r.below(13) as u8, r.below(32) as u8)),
            TypeKind::DateTime => Value::DateTime(DateTime::from_fields(Date::from_fields(1999, 12, 31), r.below(24) as u8, 59, 1, 999)),
            TypeKind::Time => Value::Time(Time::from_micros(number % 1_000_000_000)),
            TypeKind::Timestamp => Value::Timestamp(Timestamp::from_micros(number.abs())),
            TypeKind::Year => Value::UInt(r.pick(&[0, 1901, 2024])),
            TypeKind::Bit => Value::UInt(r.below(512)),
            _ => Value::from(r.pick(&["", "a", "some text", "ä"])),
        }
    }

    #[test]
    fn a_run_gives_the_values_of_its_rows() {
        let seed = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(20_261_121);
        println!("SEED={seed}");
        let mut r = Random::new(seed);
        use TypeKind as K;
        let kinds = [
            K::TinyInt,
            K::SmallInt,
            K::MediumInt,
            K::Int,
            K::BigInt,
            K::Decimal,
            K::Decimal,
            K::Decimal,
            K::Float,
            K::Double,
            K::Date,
            K::DateTime,
            K::Time,
            K::Timestamp,
            K::Year,
            K::Bit,
            K::VarChar,
            K::VarChar,
        ];
        for _ in 0..400 {
            let types: Vec<ColumnType> = (0..1 + r.below(7))
                .map(|_| {
                    let ty = match r.pick(&kinds) {
                        K::Decimal => {
                            let digits = r.pick(&[1, 4, 9, 12, 18, 19, 30, 38]);
                            ColumnType::decimal(digits, r.below(u64::from(digits.min(30)) + 1) as u8)
                        }
                        K::VarChar => ColumnType::varchar(40, Collation::DEFAULT),
                        K::Bit => ColumnType { length: 9, ..ColumnType::new(K::Bit) },
                        kind => ColumnType { unsigned: kind.is_integer() && r.below(2) == 0, ..ColumnType::new(kind) },
                    };
                    if r.below(2) == 0 { ty.not_null() } else { ty }
                })
                .collect();
            let layout = RowLayout::new(&types, 1);
            let rows: Vec<Vec<Value>> = (0..r.below(70)).map(|_| types.iter().map(|ty| value(&mut r, ty)).collect()).collect();
            let stored: Vec<Vec<u8>> = rows
                .iter()
                .map(|row| {
                    let mut bytes = Vec::new();
                    layout.encode(row, &mut bytes).expect("a row");
                    bytes
                })
                .collect();
            let stored: Vec<&[u8]> = stored.iter().map(Vec::as_slice).collect();
            let readers: Vec<Reader<'_>> = (0..types.len()).map(|number| reader(number, &layout)).collect();
            let mut columns: Vec<Column> = types.iter().map(|_| Column::new()).collect();
            let middle = r.below(stored.len() as u64 + 1) as usize;
            let mut bytes = append_run(&stored[..middle], &layout, &readers, &mut columns).expect("rows");
            bytes += append_run(&stored[middle..], &layout, &readers, &mut columns).expect("rows");
            let mut single: Vec<Column> = types.iter().map(|_| Column::new()).collect();
            let mut single_bytes = 0;
            for (at, row) in stored.iter().enumerate() {
                single_bytes += append_row(RowRef::new(&layout, row), &layout, &readers, &mut single).expect("a row");
                for (number, ty) in types.iter().enumerate() {
                    assert_eq!(columns[number].value(at), rows[at][number], "{ty:?}");
                    assert_eq!(single[number].value(at), rows[at][number], "{ty:?}");
                }
            }
            assert_eq!((bytes, columns.iter().all(|column| column.len() == stored.len())), (single_bytes, true));
            // The same of rows from before a column was dropped, another added, and the order changed.
            let dropped = ColumnType::varchar(9, Collation::DEFAULT);
            let former: Vec<ColumnType> = std::iter::once(&dropped).chain(types.iter().skip(1).rev()).cloned().collect();
            let sources = types.iter().enumerate().map(|(number, ty)| {
                let added = if ty.nullable { Value::Null } else { types::implicit_default(ty) };
                (ty.clone(), if number == 0 { ColumnSource::Default(added) } else { ColumnSource::Stored(types.len() - number) })
            });
            let sources: Vec<_> = sources.collect();
            let older = RowLayout::of_older_version(&former, 0, &sources).expect("a layout");
            let placed: Vec<Reader<'_>> = readers.iter().map(|reader| Reader { place: place(reader.number, &older), ..*reader }).collect();
            let encoder = RowLayout::new(&former, 0);
            let former: Vec<Vec<u8>> = rows
                .iter()
                .map(|row| {
                    let (gone, mut bytes) = (Value::from("gone"), Vec::new());
                    let values: Vec<&Value> = std::iter::once(&gone).chain(row.iter().skip(1).rev()).collect();
                    encoder.encode_from(|column| values[column], &mut bytes).expect("a row");
                    bytes
                })
                .collect();
            let former: Vec<&[u8]> = former.iter().map(Vec::as_slice).collect();
            let mut columns: Vec<Column> = types.iter().map(|_| Column::new()).collect();
            append_run(&former, &older, &placed, &mut columns).expect("rows");
            for (at, row) in rows.iter().enumerate() {
                let ColumnSource::Default(added) = &sources[0].1 else { unreachable!("the first column was added") };
                assert_eq!(columns[0].value(at), *added);
                (1..types.len()).for_each(|number| assert_eq!(columns[number].value(at), row[number], "{:?}", types[number]));
            }
            let mut columns: Vec<Column> = types.iter().map(|_| Column::new()).collect();
            // Cut short, rows are malformed, or have the column still.
            for row in stored.iter().take(3) {
                for end in 0..row.len() {
                    let _ = append_run(&[&row[..end]], &layout, &readers, &mut columns);
                    columns.iter_mut().for_each(Column::clear);
                }
            }
        }
    }
}
