//! Values and stored columns as fields of a row, text or binary.

use crate::reply::charsets::conversion;
use base::Malformed;
use executor::Field;
use protocol::{IntBytes, RowWriter};
use record::ColumnRef;
use types::{Charset, ColumnType, DateTime, LocalTime, TypeKind, Value};

/// Bytes of an integer kind on the wire.
pub fn width(kind: TypeKind) -> IntBytes {
    match kind {
        TypeKind::TinyInt => IntBytes::One,
        TypeKind::SmallInt | TypeKind::Year => IntBytes::Two,
        TypeKind::MediumInt | TypeKind::Int => IntBytes::Four,
        _ => IntBytes::Eight,
    }
}

/// Writes a value as a column of type `ty`, which is what the client was told. `zone` shows timestamps.
pub fn put_value(row: &mut impl RowWriter, ty: &ColumnType, value: &Value, zone: &dyn LocalTime) {
    match value {
        Value::Null => row.null(),
        Value::Int(n) => put_int(row, ty, *n),
        Value::UInt(n) => put_uint(row, ty, *n),
        Value::Float(_) | Value::Double(_) | Value::Decimal(_) if ty.zerofill => put_filled(row, ty, value, zone),
        Value::Float(n) => match ty.kind {
            TypeKind::Double => row.double(f64::from(*n), ty.decimals),
            _ => row.float(*n, ty.decimals),
        },
        Value::Double(n) => match ty.kind {
            TypeKind::Float => row.float(*n as f32, ty.decimals),
            TypeKind::Double => row.double(*n, ty.decimals),
            kind if kind.is_integer() => put_int(row, ty, *n as i64),
            _ => row.bytes_with(|out| types::format_double(*n, out)),
        },
        Value::Decimal(d) => match ty.kind {
            TypeKind::Double | TypeKind::Float => row.double(d.to_f64(), ty.decimals),
            kind if kind.is_integer() => put_int(row, ty, d.to_i64().unwrap_or_else(|clamped| clamped)),
            _ => row.bytes_with(|out| d.write_to(out)),
        },
        Value::Bytes(bytes) => row.bytes(bytes),
        Value::Json(document) => row.bytes_with(|out| executor::append_json_text(document, out)),
        Value::Date(date) => match ty.kind {
            TypeKind::DateTime | TypeKind::Timestamp => row.datetime(DateTime::from_date(*date), ty.decimals),
            TypeKind::Date => row.date(*date),
            _ => row.bytes_with(|out| date.write_to(out)),
        },
        Value::Time(time) => match ty.kind {
            TypeKind::Time => row.time(*time, ty.decimals),
            _ => row.bytes_with(|out| time.write_to(ty.decimals.min(6), out)),
        },
        Value::DateTime(datetime) => put_datetime(row, ty, *datetime),
        Value::Timestamp(instant) => put_datetime(row, ty, zone.to_local(*instant)),
    }
}

/// The same with a field of a block.
#[inline]
pub fn put_field(row: &mut impl RowWriter, ty: &ColumnType, field: Field<'_>, zone: &dyn LocalTime) {
    match field {
        Field::Null => row.null(),
        Field::Int(n) => put_int(row, ty, n),
        Field::UInt(n) => put_uint(row, ty, n),
        Field::Bytes(text) => row.bytes(text),
        Field::Value(value) => put_value(row, ty, &value, zone),
    }
}

/// The same in a client's character set.
pub fn put_converted(row: &mut impl RowWriter, ty: &ColumnType, value: &Value, zone: &dyn LocalTime, results: Option<Charset>) {
    match (value, conversion(ty, results)) {
        (Value::Bytes(text), Some(to)) if !text.is_ascii() => row.bytes_with(|out| to.encode(text, out)),
        (Value::Json(document), Some(to)) => row.bytes_with(|out| {
            let mut text = Vec::new();
            executor::append_json_text(document, &mut text);
            to.encode(&text, out);
        }),
        _ => put_value(row, ty, value, zone),
    }
}

/// A number of a ZEROFILL column that is not of whole numbers.
#[cold]
fn put_filled(row: &mut impl RowWriter, ty: &ColumnType, value: &Value, zone: &dyn LocalTime) {
    match (ty.kind, value) {
        (TypeKind::Decimal, Value::Decimal(d)) => row.bytes_with(|out| protocol::filled(ty, |out| d.write_to(out), out)),
        (TypeKind::Float, Value::Float(n)) => row.zerofill_float(*n, ty),
        (TypeKind::Double, Value::Double(n)) => row.zerofill_double(*n, ty),
        _ => put_value(row, &ColumnType { zerofill: false, ..ty.clone() }, value, zone),
    }
}

fn put_datetime(row: &mut impl RowWriter, ty: &ColumnType, datetime: DateTime) {
    match ty.kind {
        TypeKind::DateTime | TypeKind::Timestamp => row.datetime(datetime, ty.decimals),
        TypeKind::Date => row.date(datetime.date()),
        TypeKind::Time => row.time(datetime.time(), ty.decimals),
        _ => row.bytes_with(|out| datetime.write_to(ty.decimals.min(6), out)),
    }
}

#[inline]
fn put_int(row: &mut impl RowWriter, ty: &ColumnType, n: i64) {
    match ty.kind {
        TypeKind::Float => row.float(n as f32, ty.decimals),
        TypeKind::Double => row.double(n as f64, ty.decimals),
        kind if kind.is_integer() || kind == TypeKind::Year => {
            if ty.zerofill {
                row.zerofill(n as u64, width(kind), ty.length.min(255) as u8)
            } else {
                row.int(n, width(kind))
            }
        }
        _ => row.bytes_with(|out| types::write_i64(n, out)),
    }
}

#[inline]
fn put_uint(row: &mut impl RowWriter, ty: &ColumnType, n: u64) {
    match ty.kind {
        TypeKind::Float => row.float(n as f32, ty.decimals),
        TypeKind::Double => row.double(n as f64, ty.decimals),
        TypeKind::Year if ty.zerofill => row.zerofill(n, IntBytes::Two, 4),
        TypeKind::Year => row.uint(n, IntBytes::Two),
        TypeKind::Bit => {
            let bytes = (ty.length as usize).div_ceil(8).clamp(1, 8);
            row.bytes(&n.to_be_bytes()[8 - bytes..]);
        }
        kind if kind.is_integer() => {
            if ty.zerofill {
                row.zerofill(n, width(kind), ty.length.min(255) as u8)
            } else {
                row.uint(n, width(kind))
            }
        }
        _ => row.bytes_with(|out| types::write_u64(n, out)),
    }
}

/// Writes a stored column: integers and strings straight from the row's bytes, the rest by value.
#[inline]
pub fn put_column(row: &mut impl RowWriter, column: ColumnRef<'_>, zone: &dyn LocalTime) -> Result<(), Malformed> {
    let Some(bytes) = column.bytes else {
        row.null();
        return Ok(());
    };
    let ty = column.ty;
    match ty.kind {
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::MediumInt | TypeKind::Int | TypeKind::BigInt if !ty.zerofill => {
            if ty.unsigned {
                row.uint(column.as_u64()?.ok_or(Malformed)?, width(ty.kind));
            } else {
                row.int(column.as_i64()?.ok_or(Malformed)?, width(ty.kind));
            }
        }
        kind if kind.is_string() && kind != TypeKind::Binary => row.bytes(bytes),
        TypeKind::Json => row.bytes_with(|out| executor::append_json_text(bytes, out)),
        _ => put_value(row, ty, &column.value()?, zone),
    }
    Ok(())
}
