//! The sum that CHECKSUM TABLE tells: MySQL's number for the same rows.
//!
//! It was found by asking MySQL 9.7 about tables of every type (`tests/sql/ddl/checksum_table.slt` asks it again). The sum is that of one CRC-32 for each
//! row, so the order of rows does not matter; and a row is, for this purpose:
//!
//! 1. One bit for each column that may be NULL, in order, set where it is; a bit that is always set stands before them unless some column is of
//!    varying length or the table says `ROW_FORMAT=DYNAMIC`. What is left of the last byte is set; a last byte that is just full is set whole, whatever
//!    is NULL. No byte when there is no bit.
//! 2. Each column as MySQL's row in memory has it (below). A column that is NULL has its default there, or the zero of its type; JSON has `null`.
//!
//! | type | bytes |
//! |---|---|
//! | integers, FLOAT, DOUBLE, YEAR | little-endian; YEAR is one byte, 0 or the year less 1900 |
//! | ENUM, SET | the number: 1 or 2, and 1, 2, 3, 4 or 8 bytes, little-endian |
//! | BIT | big-endian |
//! | DECIMAL | nine digits in four big-endian bytes, fewer in fewer; the first bit flipped; all bits flipped below zero |
//! | DATE | three bytes little-endian: year, month (4 bits), day (5 bits) |
//! | DATETIME, TIMESTAMP, TIME | big-endian fields with an offset that makes them sort; fractions in one byte for two digits |
//! | CHAR, BINARY | padded with spaces or zero bytes to their longest |
//! | VARCHAR, TEXT, JSON and the like | the text |

use catalog::{DefaultValue, TableDef};
use record::{RowLayout, RowRef};
use types::{ByteString, ColumnType, Date, DateTime, Decimal, Time, Timestamp, TypeKind, Value};

/// Adds up a table's rows.
pub(super) struct RowSum {
    columns: Vec<Column>,
    /// The bytes of the bits, all set.
    bits: Vec<u8>,
    /// What is set in the last of them in any case.
    last_mask: u8,
    image: Vec<u8>,
    sum: u32,
}

struct Column {
    ty: ColumnType,
    /// Its bit, where it may be NULL.
    bit: Option<usize>,
    /// What stands in its place when it is NULL.
    when_null: Vec<u8>,
}

/// A value that cannot be read, or is not of its column's type.
#[derive(Debug)]
pub(super) struct Unreadable;

impl RowSum {
    pub(super) fn new(def: &TableDef) -> RowSum {
        let varies = |ty: &ColumnType| ty.kind.is_blob() || matches!(ty.kind, TypeKind::VarChar | TypeKind::VarBinary | TypeKind::Json);
        let dynamic =
            def.shown_options.iter().any(|(name, value)| name.eq_ignore_ascii_case("ROW_FORMAT") && value.eq_ignore_ascii_case("DYNAMIC"));
        let mut bits = usize::from(!dynamic && !def.columns.iter().any(|column| varies(&column.ty)));
        let columns = def.columns.iter().map(|column| {
            let bit = column.ty.nullable.then(|| {
                bits += 1;
                bits - 1
            });
            Column { ty: column.ty.clone(), bit, when_null: when_null(&column.ty, &column.default) }
        });
        let columns = columns.collect();
        // A full byte counts as one with no bit: so MySQL.
        let last_mask = 0_u8.wrapping_sub(1 << (bits % 8));
        RowSum { columns, bits: vec![0xff; bits.div_ceil(8)], last_mask, image: Vec::new(), sum: 0 }
    }

    pub(super) fn sum(&self) -> u32 {
        self.sum
    }

    pub(super) fn add(&mut self, row: RowRef<'_>) -> Result<(), Unreadable> {
        let RowSum { columns, bits, last_mask, image, sum } = self;
        image.clear();
        image.extend_from_slice(bits);
        let mut space = Vec::new();
        for (no, column) in columns.iter().enumerate() {
            match row.bytes_in(no, &mut space).map_err(|_| Unreadable)? {
                None => image.extend_from_slice(&column.when_null),
                Some(bytes) => {
                    if let Some(bit) = column.bit {
                        image[bit / 8] &= !(1 << (bit % 8));
                    }
                    put(&column.ty, bytes, row, no, image)?;
                }
            }
        }
        if let Some(last) = bits.len().checked_sub(1) {
            image[last] |= *last_mask;
        }
        *sum = sum.wrapping_add(executor::crc32(image));
        Ok(())
    }
}

/// Appends a column's bytes. Most are what our rows hold, too.
fn put(ty: &ColumnType, bytes: &[u8], row: RowRef<'_>, no: usize, out: &mut Vec<u8>) -> Result<(), Unreadable> {
    match ty.kind {
        TypeKind::Enum | TypeKind::Set => {
            out.extend_from_slice(&bytes[..ty.packed_bytes().map_or(bytes.len(), |packed| bytes.len().min(packed as usize))])
        }
        TypeKind::Bit => out.extend(bytes.iter().rev()),
        TypeKind::Char | TypeKind::Binary => put_padded(ty, bytes, out),
        TypeKind::Decimal | TypeKind::DateTime | TypeKind::Timestamp | TypeKind::Time => {
            let value = row.value(no).map_err(|_| Unreadable)?;
            put_value(ty, &value, out)?;
        }
        TypeKind::Json => executor::append_json_text(bytes, out),
        kind if kind.is_string() => put_text(ty, bytes, out),
        _ => out.extend_from_slice(bytes),
    }
    Ok(())
}

/// A text in the bytes of its character set.
fn put_text(ty: &ColumnType, text: &[u8], out: &mut Vec<u8>) {
    let charset = ty.collation.charset();
    if charset.is_utf8_bytes() { out.extend_from_slice(text) } else { charset.encode(text, out) }
}

fn put_padded(ty: &ColumnType, bytes: &[u8], out: &mut Vec<u8>) {
    let (longest, fill) = match ty.kind {
        TypeKind::Binary => (ty.length as usize, 0),
        _ => (ty.length as usize * ty.collation.charset().bytes_per_char_max() as usize, b' '),
    };
    let begin = out.len();
    put_text(ty, bytes, out);
    let end = (begin + longest).max(out.len());
    out.resize(end, fill);
}

fn put_value(ty: &ColumnType, value: &Value, out: &mut Vec<u8>) -> Result<(), Unreadable> {
    match value {
        Value::Decimal(number) => put_decimal(number, ty.length as usize, usize::from(ty.decimals), out),
        Value::DateTime(at) => put_datetime(*at, ty.decimals, out),
        Value::Timestamp(at) => {
            let micros = at.micros();
            out.extend_from_slice(&(micros.div_euclid(1_000_000) as u32).to_be_bytes());
            put_fraction(micros.rem_euclid(1_000_000) as u64, ty.decimals, out);
        }
        Value::Time(time) => put_time(*time, ty.decimals, out),
        _ => return Err(Unreadable),
    }
    Ok(())
}

/// Bytes of the fraction of a second.
fn fraction_bytes(digits: u8) -> usize {
    usize::from(digits).div_ceil(2)
}

/// What the fraction is a multiple of, in microseconds.
fn fraction_unit(digits: u8) -> u64 {
    10_u64.pow(6 - 2 * fraction_bytes(digits) as u32)
}

fn put_fraction(micros: u64, digits: u8, out: &mut Vec<u8>) {
    let bytes = fraction_bytes(digits);
    out.extend_from_slice(&(micros / fraction_unit(digits)).to_be_bytes()[8 - bytes..]);
}

fn put_datetime(at: DateTime, digits: u8, out: &mut Vec<u8>) {
    let date = at.date();
    let day = (u64::from(date.year()) * 13 + u64::from(date.month())) << 5 | u64::from(date.day());
    let time = u64::from(at.hour()) << 12 | u64::from(at.minute()) << 6 | u64::from(at.second());
    let packed = 0x80_0000_0000 + (day << 17 | time);
    out.extend_from_slice(&packed.to_be_bytes()[3..]);
    put_fraction(u64::from(at.microsecond()), digits, out);
}

/// Hours, minutes, seconds and fraction as one number, negative ones as its complement.
fn put_time(time: Time, digits: u8, out: &mut Vec<u8>) {
    let magnitude = time.micros().unsigned_abs();
    let (seconds, micros) = (magnitude / 1_000_000, magnitude % 1_000_000);
    let fields = (seconds / 3600) << 12 | (seconds / 60 % 60) << 6 | (seconds % 60);
    let fraction = 8 * fraction_bytes(digits) as u32;
    let number = ((fields << fraction) | (micros / fraction_unit(digits))) as i64;
    let number = if time.micros() < 0 { -number } else { number } + (0x80_0000_i64 << fraction);
    out.extend_from_slice(&number.to_be_bytes()[5 - fraction as usize / 8..]);
}

/// Bytes of so many digits, fewer than nine.
const DIGIT_BYTES: [usize; 9] = [0, 1, 1, 2, 2, 3, 3, 4, 4];

fn put_decimal(number: &Decimal, precision: usize, scale: usize, out: &mut Vec<u8>) {
    let mut text = Vec::new();
    number.write_to(&mut text);
    let text = text.strip_prefix(b"-").unwrap_or(&text);
    let point = text.iter().position(|byte| *byte == b'.').unwrap_or(text.len());
    let (whole, fraction) = (&text[..point], text.get(point + 1..).unwrap_or_default());
    let whole_digits = precision - scale.min(precision);
    // As many digits as the type has, before and behind the point.
    let mut digits = vec![b'0'; whole_digits.saturating_sub(whole.len())];
    digits.extend_from_slice(&whole[whole.len().saturating_sub(whole_digits)..]);
    digits.extend_from_slice(&fraction[..fraction.len().min(scale)]);
    digits.resize(whole_digits + scale, b'0');
    let (whole, fraction) = digits.split_at(whole_digits);
    let begin = out.len();
    let mut put_group = |group: &[u8]| {
        let value = group.iter().fold(0_u32, |value, digit| value * 10 + u32::from(digit - b'0'));
        let bytes = DIGIT_BYTES.get(group.len()).copied().unwrap_or(4);
        out.extend_from_slice(&value.to_be_bytes()[4 - bytes..]);
    };
    let (first, rest) = whole.split_at(whole_digits % 9);
    put_group(first);
    rest.chunks(9).chain(fraction.chunks(9)).for_each(put_group);
    let negative = number.is_negative();
    if let Some(first) = out.get_mut(begin) {
        *first ^= 0x80;
    }
    if negative {
        out[begin..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// What MySQL's row has where the column is NULL.
fn when_null(ty: &ColumnType, default: &DefaultValue) -> Vec<u8> {
    if ty.kind == TypeKind::Json {
        return b"null".to_vec();
    }
    if ty.kind.is_blob() {
        return Vec::new();
    }
    let zero = || match ty.kind {
        TypeKind::Decimal => Value::Decimal(Decimal::from(0_i64)),
        TypeKind::Float => Value::Float(0.0),
        TypeKind::Double => Value::Double(0.0),
        TypeKind::Date => Value::Date(Date::ZERO),
        TypeKind::Time => Value::Time(Time::from_micros(0)),
        TypeKind::DateTime => Value::DateTime(DateTime::ZERO),
        TypeKind::Timestamp => Value::Timestamp(Timestamp::ZERO),
        kind if kind.is_string() || matches!(kind, TypeKind::Enum | TypeKind::Set) => Value::Bytes(ByteString::new()),
        _ if ty.unsigned => Value::UInt(0),
        _ => Value::Int(0),
    };
    let value = match default {
        DefaultValue::Constant(value) if !value.is_null() => value.clone(),
        _ => zero(),
    };
    let layout = RowLayout::new(std::slice::from_ref(ty), 0);
    let (mut row, mut out) = (Vec::new(), Vec::new());
    if layout.encode(&[value], &mut row).is_ok() {
        let row = RowRef::new(&layout, &row);
        if let Ok(Some(bytes)) = row.column_bytes(0) {
            // What was just encoded can be read.
            let _ = put(ty, bytes, row, 0, &mut out);
        }
    }
    out
}
