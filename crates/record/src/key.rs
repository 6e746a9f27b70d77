//! Keys that compare by bytes as their values compare.
//!
//! A nullable column's part starts with 0 (NULL, nothing follows) or 1. Integers and temporal values are big-endian with the sign bit
//! flipped, decimals and floats in their order-preserving forms, strings as [`types::Collation::append_key`] says. The bytes of a
//! descending part are inverted.

use crate::{RowRef, raw};
use base::Malformed;
use types::{ColumnType, Date, DateTime, Decimal, Time, Timestamp, TypeKind, Value};

/// A part of an index's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyPart {
    /// Position of the column.
    pub column: usize,
    /// Only so many characters (bytes of a binary string) are indexed.
    pub prefix_chars: Option<u32>,
    /// DESC.
    pub descending: bool,
}

impl KeyPart {
    /// A whole column, ascending.
    pub fn ascending(column: usize) -> KeyPart {
        KeyPart { column, prefix_chars: None, descending: false }
    }

    /// Whether a column of this type can be read back from the key.
    pub fn reversible(&self, ty: &ColumnType) -> bool {
        self.prefix_chars.is_none() && is_reversible(ty)
    }
}

/// Whether the key of a whole column of this type gives the value back. Collations that fold characters do not; floats neither
/// (negative zero is one with zero). A CHAR is kept without the spaces at its end, so keys that pad with them lose nothing.
pub fn is_reversible(ty: &ColumnType) -> bool {
    match ty.kind {
        TypeKind::Float | TypeKind::Double | TypeKind::Json | TypeKind::Null => false,
        TypeKind::Char => ty.collation.key_is_reversible_but_for_padding(),
        kind if kind.is_string() => ty.collation.key_is_reversible(),
        _ => true,
    }
}

pub(crate) const NULL_LEAD: u8 = 0;
pub(crate) const VALUE_LEAD: u8 = 1;

/// Appends the parts of a row's key.
pub fn encode_columns(row: RowRef<'_>, parts: &[KeyPart], out: &mut Vec<u8>) -> Result<(), Malformed> {
    for part in parts {
        match row.column_bytes(part.column) {
            Ok(bytes) => encode_bytes(row.layout().column_type(part.column), *part, bytes, out)?,
            Err(Malformed) => encode_computed(row, *part, out)?,
        }
    }
    Ok(())
}

#[cold]
fn encode_computed(row: RowRef<'_>, part: KeyPart, out: &mut Vec<u8>) -> Result<(), Malformed> {
    encode_bytes(row.layout().column_type(part.column), part, row.bytes_in(part.column, &mut Vec::new())?, out)
}

/// Appends one part from the bytes that a row holds; `None` is NULL.
#[inline]
pub fn encode_bytes(ty: &ColumnType, part: KeyPart, bytes: Option<&[u8]>, out: &mut Vec<u8>) -> Result<(), Malformed> {
    let start = out.len();
    if ty.nullable {
        out.push(if bytes.is_none() { NULL_LEAD } else { VALUE_LEAD });
    }
    match bytes {
        Some(bytes) => append_ordered(ty, part, bytes, out)?,
        None if ty.nullable => {}
        None => return Err(Malformed),
    }
    if part.descending {
        invert(&mut out[start..]);
    }
    Ok(())
}

/// Appends one part from a value of the column's type (see `types::store_convert`). NULL is allowed for nullable columns.
///
/// # Panics
/// When the value is not of the column's type: the caller converts first. [`try_encode_part`] returns an error instead.
pub fn encode_part(ty: &ColumnType, part: &KeyPart, value: &Value, out: &mut Vec<u8>) {
    let encoded = try_encode_part(ty, part, value, out);
    assert!(encoded.is_ok(), "{value:?} is not a value of {ty}");
}

/// Most bytes that a row holds of a value that is no string: a DECIMAL(65).
const STORED_BYTES_MAX: usize = 40;

/// Appends one part from a whole number if the column is of an integer type that holds it: what [`try_encode_part`] appends, without the way
/// by the bytes of a row. `false`, and `out` as before, where that has to look.
#[inline]
pub fn try_encode_int(ty: &ColumnType, part: &KeyPart, value: i64, out: &mut Vec<u8>) -> bool {
    let bytes = match ty.kind {
        TypeKind::Int => 4,
        TypeKind::BigInt => 8,
        TypeKind::TinyInt => 1,
        TypeKind::SmallInt => 2,
        TypeKind::MediumInt => 3,
        _ => return false,
    };
    let unused = 64 - 8 * bytes as u32;
    let fits = if ty.unsigned { value >= 0 && value as u64 <= u64::MAX >> unused } else { value << unused >> unused == value };
    if !fits {
        return false;
    }
    let sign = if ty.unsigned { 0 } else { 1 << 63 };
    let ordered = (value as u64) << unused ^ sign;
    let invert = if part.descending { u64::MAX } else { 0 };
    if ty.nullable {
        out.push(VALUE_LEAD ^ invert as u8);
    }
    // All eight bytes at once, and back to those of the column: cheaper than a copy of a length that is only known now.
    out.extend_from_slice(&(ordered ^ invert).to_be_bytes());
    out.truncate(out.len() - (8 - bytes));
    true
}

/// Appends one part from a value of the column's type; on error `out` is as before.
pub fn try_encode_part(ty: &ColumnType, part: &KeyPart, value: &Value, out: &mut Vec<u8>) -> Result<(), Malformed> {
    if let Value::Int(value) = value
        && try_encode_int(ty, part, *value, out)
    {
        return Ok(());
    }
    let start = out.len();
    let result = match value {
        Value::Null => encode_bytes(ty, *part, None, out),
        // A string's bytes are what a row holds: no copy.
        Value::Bytes(text) if ty.kind.is_string() => encode_bytes(ty, *part, Some(text), out),
        _ => {
            // What a row would hold goes to the end of `out` first, and from there to the stack: nothing is allocated for a key.
            let mut stored = [0; STORED_BYTES_MAX];
            let appended = raw::append(ty, value, out);
            let bytes = out.len() - start;
            match (appended, stored.get_mut(..bytes)) {
                (Some(()), Some(stored)) => {
                    stored.copy_from_slice(&out[start..]);
                    out.truncate(start);
                    encode_bytes(ty, *part, Some(stored), out)
                }
                _ => Err(Malformed),
            }
        }
    };
    if result.is_err() {
        out.truncate(start);
    }
    result
}

#[inline]
fn append_ordered(ty: &ColumnType, part: KeyPart, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    match ty.kind {
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::MediumInt | TypeKind::Int | TypeKind::BigInt => {
            append_reversed(bytes, !ty.unsigned, out)
        }
        TypeKind::Time | TypeKind::Timestamp => append_reversed(bytes, true, out),
        TypeKind::Date | TypeKind::DateTime | TypeKind::Year | TypeKind::Bit | TypeKind::Enum | TypeKind::Set => {
            append_reversed(bytes, false, out)
        }
        TypeKind::Decimal => out.extend_from_slice(bytes),
        TypeKind::Float => {
            let bits = u32::from_le_bytes(bytes.try_into().map_err(|_| Malformed)?);
            let bits = if bits == 1 << 31 { 0 } else { bits };
            let ordered = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
            out.extend_from_slice(&ordered.to_be_bytes());
        }
        TypeKind::Double => {
            let bits = u64::from_le_bytes(bytes.try_into().map_err(|_| Malformed)?);
            let bits = if bits == 1 << 63 { 0 } else { bits };
            let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
            out.extend_from_slice(&ordered.to_be_bytes());
        }
        TypeKind::Json | TypeKind::Null => return Err(Malformed),
        _ => {
            let text = match part.prefix_chars {
                Some(chars) => &bytes[..ty.collation.chars_prefix_bytes(bytes, chars as usize)],
                None => bytes,
            };
            ty.collation.append_key(text, out);
        }
    }
    Ok(())
}

/// A little-endian number as a big-endian one; a signed one with its sign bit flipped.
#[inline]
fn append_reversed(bytes: &[u8], signed: bool, out: &mut Vec<u8>) {
    let start = out.len();
    match *bytes {
        [a, b, c, d] => out.extend_from_slice(&[d, c, b, a]),
        [a, b, c, d, e, f, g, h] => out.extend_from_slice(&[h, g, f, e, d, c, b, a]),
        _ => out.extend(bytes.iter().rev()),
    }
    if signed && let Some(first) = out.get_mut(start) {
        *first ^= 0x80;
    }
}

fn invert(bytes: &mut [u8]) {
    for byte in bytes {
        *byte = !*byte;
    }
}

/// Bytes of the part that starts at `key`.
pub fn part_bytes(ty: &ColumnType, part: &KeyPart, key: &[u8]) -> Result<usize, Malformed> {
    let mut at = 0;
    if ty.nullable {
        match key.first().map(|lead| if part.descending { !lead } else { *lead }) {
            Some(NULL_LEAD) => return Ok(1),
            Some(VALUE_LEAD) => at = 1,
            _ => return Err(Malformed),
        }
    }
    let rest = &key[at..];
    let bytes = match raw::fixed_bytes(ty) {
        Some(bytes) => bytes,
        None if ty.kind == TypeKind::Json => return Err(Malformed),
        None if !part.descending => ty.collation.key_bytes(rest).ok_or(Malformed)?,
        None => {
            let mut upright = rest.to_vec();
            invert(&mut upright);
            ty.collation.key_bytes(&upright).ok_or(Malformed)?
        }
    };
    if rest.len() < bytes {
        return Err(Malformed);
    }
    Ok(at + bytes)
}

/// Reads the part at the start of `key` and moves past it. An irreversible part is an error; skip it with [`part_bytes`].
pub fn decode_part(ty: &ColumnType, part: &KeyPart, key: &mut &[u8]) -> Result<Value, Malformed> {
    if !part.reversible(ty) {
        return Err(Malformed);
    }
    let bytes = part_bytes(ty, part, key)?;
    let (own, rest) = key.split_at(bytes);
    *key = rest;
    let upright;
    let mut own = own;
    if part.descending {
        upright = own.iter().map(|byte| !byte).collect::<Vec<u8>>();
        own = &upright;
    }
    if ty.nullable {
        let (lead, rest) = own.split_first().ok_or(Malformed)?;
        if *lead == NULL_LEAD {
            return Ok(Value::Null);
        }
        own = rest;
    }
    let number = |signed: bool| {
        let value = own.iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
        let bits = 8 * own.len() as u32;
        if signed { (((value ^ 1 << (bits - 1)) << (64 - bits)) as i64) >> (64 - bits) } else { value as i64 }
    };
    Ok(match ty.kind {
        kind if kind.is_integer() && !ty.unsigned => Value::Int(number(true)),
        kind if kind.is_integer() => Value::UInt(number(false) as u64),
        TypeKind::Time => Value::Time(Time::from_micros(number(true))),
        TypeKind::Timestamp => Value::Timestamp(Timestamp::from_micros(number(true))),
        TypeKind::Date => Value::Date(Date::from_packed(number(false) as u32).ok_or(Malformed)?),
        TypeKind::DateTime => Value::DateTime(DateTime::from_packed(number(false) as u64).ok_or(Malformed)?),
        TypeKind::Decimal => Value::Decimal(Decimal::decode_ordered(own, ty.decimals).ok_or(Malformed)?),
        TypeKind::Year | TypeKind::Bit | TypeKind::Enum | TypeKind::Set => {
            let stored: Vec<u8> = own.iter().rev().copied().collect();
            raw::to_value(ty, &stored)?
        }
        _ => {
            let mut text = Vec::with_capacity(own.len());
            ty.collation.decode_key(own, &mut text).ok_or(Malformed)?;
            Value::Bytes(text.into())
        }
    })
}

/// Overwrites `out` with the bytes that a row holds for a fixed-width column whose key bytes (upright, without the lead) are `key`; they are
/// as many. The inverse of what encoding does to them.
#[inline]
pub(crate) fn stored_of_fixed(ty: &ColumnType, key: &[u8], out: &mut [u8]) {
    match ty.kind {
        TypeKind::Decimal => out.copy_from_slice(key),
        kind => {
            let signed = kind.is_integer() && !ty.unsigned || matches!(kind, TypeKind::Time | TypeKind::Timestamp);
            match *key {
                [a, b, c, d] => out.copy_from_slice(&[d, c, b, a]),
                [a, b, c, d, e, f, g, h] => out.copy_from_slice(&[h, g, f, e, d, c, b, a]),
                _ => out.iter_mut().zip(key.iter().rev()).for_each(|(to, from)| *to = *from),
            }
            if signed && let Some(last) = out.last_mut() {
                *last ^= 0x80;
            }
        }
    }
}

/// Bounds of the part's keys of strings that start with `literal`: from the first inclusive to the second exclusive, in key order.
/// `None` where there are no such bounds.
pub fn string_prefix_bounds(ty: &ColumnType, part: &KeyPart, literal: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    if !ty.kind.is_string() {
        return None;
    }
    let literal = match part.prefix_chars {
        Some(chars) => &literal[..ty.collation.chars_prefix_bytes(literal, chars as usize)],
        None => literal,
    };
    let mut lower = Vec::new();
    if ty.nullable {
        lower.push(VALUE_LEAD);
    }
    ty.collation.append_prefix_key(literal, &mut lower)?;
    if part.descending {
        invert(&mut lower);
    }
    let upper = successor(&lower)?;
    Some((lower, upper))
}

/// The least byte string greater than every string that starts with `prefix`; `None` when there is none.
pub fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != 0xFF)?;
    let mut next = prefix[..=last].to_vec();
    next[last] += 1;
    Some(next)
}
