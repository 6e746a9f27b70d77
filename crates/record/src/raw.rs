//! One value as a row holds it: fixed-width little-endian numbers, order-preserving decimals, strings as they are.

use base::Malformed;
use types::{ColumnType, Date, DateTime, Decimal, Time, Timestamp, TypeKind, Value};

/// YEAR holds one byte: 0, or the year less this.
const YEAR_BASE: u64 = 1900;
/// Bytes of a TIME: microseconds reach 42 bits.
const TIME_BYTES: usize = 6;

/// Bytes of a type whose values all take the same room; `None` for variable ones.
pub(crate) fn fixed_bytes(ty: &ColumnType) -> Option<usize> {
    Some(match ty.kind {
        TypeKind::TinyInt | TypeKind::Year => 1,
        TypeKind::SmallInt | TypeKind::Enum => 2,
        TypeKind::MediumInt | TypeKind::Date => 3,
        TypeKind::Int | TypeKind::Float => 4,
        TypeKind::BigInt | TypeKind::Double | TypeKind::DateTime | TypeKind::Timestamp | TypeKind::Set => 8,
        TypeKind::Time => TIME_BYTES,
        TypeKind::Bit => (ty.length.clamp(1, 64) as usize).div_ceil(8),
        TypeKind::Decimal => Decimal::ordered_bytes(ty.length),
        TypeKind::Null => 0,
        _ => return None,
    })
}

/// A little-endian integer of one to eight bytes.
#[inline]
pub(crate) fn unsigned(bytes: &[u8]) -> Result<u64, Malformed> {
    Ok(match *bytes {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ if bytes.len() < 8 => bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)),
        _ => return Err(Malformed),
    })
}

/// The same, sign-extended.
#[inline]
pub(crate) fn signed(bytes: &[u8]) -> Result<i64, Malformed> {
    match *bytes {
        [a, b, c, d] => return Ok(i64::from(i32::from_le_bytes([a, b, c, d]))),
        [a, b, c, d, e, f, g, h] => return Ok(i64::from_le_bytes([a, b, c, d, e, f, g, h])),
        _ => {}
    }
    let value = unsigned(bytes)?;
    // At most eight bytes here; an empty slice is 0 however it is shifted.
    let shift = (64 - 8 * bytes.len() as u32) & 63;
    Ok(((value << shift) as i64) >> shift)
}

/// The value of a column's bytes.
pub(crate) fn to_value(ty: &ColumnType, bytes: &[u8]) -> Result<Value, Malformed> {
    Ok(match ty.kind {
        kind if kind.is_integer() => {
            if ty.unsigned {
                Value::UInt(unsigned(bytes)?)
            } else {
                Value::Int(signed(bytes)?)
            }
        }
        TypeKind::Decimal => Value::Decimal(Decimal::decode_ordered(bytes, ty.decimals).ok_or(Malformed)?),
        TypeKind::Float => Value::Float(f32::from_le_bytes(bytes.try_into().map_err(|_| Malformed)?)),
        TypeKind::Double => Value::Double(f64::from_le_bytes(bytes.try_into().map_err(|_| Malformed)?)),
        TypeKind::Bit => Value::UInt(unsigned(bytes)?),
        TypeKind::Year => Value::UInt(match unsigned(bytes)? {
            0 => 0,
            year => year + YEAR_BASE,
        }),
        TypeKind::Date => Value::Date(Date::from_packed(unsigned(bytes)? as u32).ok_or(Malformed)?),
        TypeKind::Time => Value::Time(Time::from_micros(signed(bytes)?)),
        TypeKind::DateTime => Value::DateTime(DateTime::from_packed(unsigned(bytes)?).ok_or(Malformed)?),
        TypeKind::Timestamp => Value::Timestamp(Timestamp::from_micros(signed(bytes)?)),
        TypeKind::Enum => Value::Bytes(ty.enum_text(unsigned(bytes)?).ok_or(Malformed)?),
        TypeKind::Set => Value::Bytes(ty.set_text(unsigned(bytes)?).ok_or(Malformed)?),
        TypeKind::Null => Value::Null,
        TypeKind::Json => Value::Json(bytes.into()),
        _ => Value::Bytes(bytes.into()),
    })
}

/// An integer value of a type that is stored as one (integers, BIT, YEAR, ENUM, SET), in the type's width.
pub(crate) fn integer_of(ty: &ColumnType, value: &Value) -> Option<i128> {
    Some(match value {
        Value::Int(v) => i128::from(*v),
        Value::UInt(v) => i128::from(*v),
        Value::Bytes(text) if matches!(ty.kind, TypeKind::Enum | TypeKind::Set) => i128::from(ty.member_number(text)?),
        _ => return None,
    })
}

/// Appends a value of the column's type (see [`types::store_convert`]); `None` when it is not one. NULL is the caller's.
pub(crate) fn append(ty: &ColumnType, value: &Value, out: &mut Vec<u8>) -> Option<()> {
    match (ty.kind, value) {
        // What most rows hold, without the wide arithmetic of the general case.
        (TypeKind::Int, Value::Int(v)) if !ty.unsigned => out.extend_from_slice(&i32::try_from(*v).ok()?.to_le_bytes()),
        (TypeKind::BigInt, Value::Int(v)) if !ty.unsigned => out.extend_from_slice(&v.to_le_bytes()),
        (kind, _) if kind.is_integer() || matches!(kind, TypeKind::Bit | TypeKind::Year | TypeKind::Enum | TypeKind::Set) => {
            let mut integer = integer_of(ty, value)?;
            if kind == TypeKind::Year && integer != 0 {
                integer -= i128::from(YEAR_BASE);
            }
            let bytes = fixed_bytes(ty)?;
            let bits = 8 * bytes as u32;
            let (least, most) = if kind.is_integer() && !ty.unsigned {
                (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
            } else {
                (0, (1i128 << bits) - 1)
            };
            if !(least..=most).contains(&integer) {
                return None;
            }
            out.extend_from_slice(&integer.to_le_bytes()[..bytes]);
        }
        (TypeKind::Decimal, Value::Decimal(decimal)) => return decimal.encode_ordered(ty.length, ty.decimals, out).then_some(()),
        (TypeKind::Decimal, Value::Int(v)) => return Decimal::from(*v).encode_ordered(ty.length, ty.decimals, out).then_some(()),
        (TypeKind::Decimal, Value::UInt(v)) => return Decimal::from(*v).encode_ordered(ty.length, ty.decimals, out).then_some(()),
        (TypeKind::Float, Value::Float(v)) => out.extend_from_slice(&v.to_le_bytes()),
        (TypeKind::Double, Value::Double(v)) => out.extend_from_slice(&v.to_le_bytes()),
        (TypeKind::Date, Value::Date(v)) => out.extend_from_slice(&v.packed().to_le_bytes()[..3]),
        (TypeKind::Time, Value::Time(v)) => out.extend_from_slice(&v.micros().to_le_bytes()[..TIME_BYTES]),
        (TypeKind::DateTime, Value::DateTime(v)) => out.extend_from_slice(&v.packed().to_le_bytes()),
        (TypeKind::Timestamp, Value::Timestamp(v)) => out.extend_from_slice(&v.micros().to_le_bytes()),
        (kind, Value::Bytes(v)) if kind.is_string() => out.extend_from_slice(v),
        (TypeKind::Json, Value::Json(v)) => out.extend_from_slice(v),
        _ => return None,
    }
    Some(())
}
