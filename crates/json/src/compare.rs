//! The order of documents, and bytes that order (and so hash) as documents do.
//!
//! Kinds order first ([`Kind`]); numbers of all types are one kind and compare exactly. Arrays compare element by element, a shorter one
//! before its continuation. Objects compare by the count of members, then by names and values: MySQL promises only that equal ones are equal.

use crate::{DEPTH_MAX, Error, Json, Kind, Result, View};
use std::cmp::Ordering;
use types::Decimal;

/// Compares two documents.
///
/// # Errors
/// Damage, depth, memory.
pub fn compare(a: View<'_>, b: View<'_>) -> Result<Ordering> {
    compare_at(a, b, 0)
}

fn compare_at(a: View<'_>, b: View<'_>, depth: usize) -> Result<Ordering> {
    if depth > DEPTH_MAX {
        return Err(Error::TooDeep);
    }
    let kind = a.kind()?;
    let by_kind = kind.cmp(&b.kind()?);
    if by_kind.is_ne() {
        return Ok(by_kind);
    }
    match kind {
        Kind::Array => {
            let (mut left, mut right) = (a.iter_elements()?, b.iter_elements()?);
            loop {
                match (left.next(), right.next()) {
                    (None, None) => return Ok(Ordering::Equal),
                    (None, Some(_)) => return Ok(Ordering::Less),
                    (Some(_), None) => return Ok(Ordering::Greater),
                    (Some(x), Some(y)) => {
                        let order = compare_at(x?, y?, depth + 1)?;
                        if order.is_ne() {
                            return Ok(order);
                        }
                    }
                }
            }
        }
        Kind::Object => {
            let by_count = a.len()?.cmp(&b.len()?);
            if by_count.is_ne() {
                return Ok(by_count);
            }
            for (x, y) in a.iter_members()?.zip(b.iter_members()?) {
                let ((name, value), (other_name, other)) = (x?, y?);
                let order = match name.cmp(other_name) {
                    Ordering::Equal => compare_at(value, other, depth + 1)?,
                    order => order,
                };
                if order.is_ne() {
                    return Ok(order);
                }
            }
            Ok(Ordering::Equal)
        }
        _ => Ok(match (a.as_str()?, b.as_str()?) {
            (Some(x), Some(y)) => x.cmp(y),
            _ => compare_scalars(&a.scalar()?.unwrap_or_default(), &b.scalar()?.unwrap_or_default()),
        }),
    }
}

/// A number as a double, and exactly where doubles have room for digits to be lost.
fn number(value: &Json) -> (f64, Option<Decimal>) {
    let (double, exact) = match value {
        Json::Int(v) => (*v as f64, Some(Decimal::from(*v))),
        Json::UInt(v) => (*v as f64, Some(Decimal::from(*v))),
        Json::Decimal(v) => (v.to_f64(), Some(v.normalize())),
        Json::Double(v) => (*v, Decimal::from_f64(*v)),
        _ => (0.0, None),
    };
    // Both zeros are one number; past 35 digits decimals have no common form, so the double alone decides.
    let double = if double == 0.0 { 0.0 } else { double };
    (double, exact.filter(|_| double.abs() < 1e34).and_then(|exact| exact.rescale(30)))
}

fn compare_scalars(a: &Json, b: &Json) -> Ordering {
    match (a, b) {
        (Json::Bool(x), Json::Bool(y)) => x.cmp(y),
        (Json::Int(x), Json::Int(y)) => x.cmp(y),
        (Json::String(x), Json::String(y)) => x.cmp(y),
        (Json::Date(x), Json::Date(y)) => x.packed().cmp(&y.packed()),
        (Json::Time(x), Json::Time(y)) => x.micros().cmp(&y.micros()),
        (Json::DateTime(x), Json::DateTime(y)) => x.packed().cmp(&y.packed()),
        (Json::Opaque(x, left), Json::Opaque(y, right)) => left.cmp(right).then(x.cmp(y)),
        (Json::Null, Json::Null) => Ordering::Equal,
        _ => {
            let ((x, exact_x), (y, exact_y)) = (number(a), number(b));
            x.partial_cmp(&y).unwrap_or(Ordering::Equal).then_with(|| match (exact_x, exact_y) {
                (Some(x), Some(y)) => x.compare(&y),
                _ => Ordering::Equal,
            })
        }
    }
}

/// Appends bytes that order as documents do, and that are equal for equal documents only. No key is the start of another one.
///
/// # Errors
/// Damage, depth, memory.
pub fn append_key(view: View<'_>, out: &mut Vec<u8>) -> Result<()> {
    key_at(view, 0, out)
}

fn key_at(view: View<'_>, depth: usize, out: &mut Vec<u8>) -> Result<()> {
    if depth > DEPTH_MAX {
        return Err(Error::TooDeep);
    }
    let kind = view.kind()?;
    memory::reserve(out, 64)?;
    out.push(kind as u8 + 1);
    match kind {
        Kind::Array => {
            for item in view.iter_elements()? {
                key_at(item?, depth + 1, out)?;
            }
            // Less than any kind: the end of an array orders before an element.
            out.push(0);
        }
        Kind::Object => {
            out.extend_from_slice(&(view.len()? as u64).to_be_bytes());
            for member in view.iter_members()? {
                let (name, value) = member?;
                bytes_key(name.as_bytes(), out)?;
                key_at(value, depth + 1, out)?;
            }
        }
        Kind::String => bytes_key(view.as_str()?.unwrap_or_default().as_bytes(), out)?,
        _ => match view.scalar()?.unwrap_or_default() {
            Json::Bool(v) => out.push(u8::from(v)),
            Json::Date(v) => out.extend_from_slice(&v.packed().to_be_bytes()),
            Json::Time(v) => out.extend_from_slice(&(v.micros() as u64 ^ 1 << 63).to_be_bytes()),
            Json::DateTime(v) => out.extend_from_slice(&v.packed().to_be_bytes()),
            Json::Opaque(ty, bytes) => {
                bytes_key(&bytes, out)?;
                out.push(ty);
            }
            Json::Null | Json::String(_) | Json::Array(_) | Json::Object(_) => {}
            value => {
                let (double, exact) = number(&value);
                let bits = double.to_bits();
                let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
                out.extend_from_slice(&ordered.to_be_bytes());
                if let Some(exact) = exact {
                    exact.encode_ordered(Decimal::DIGITS_MAX, 30, out);
                }
            }
        },
    }
    Ok(())
}

/// Zero bytes doubled with a mark behind them, two at the end: order stays, and no text is the start of another.
fn bytes_key(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    memory::reserve(out, bytes.len() + 16)?;
    for byte in bytes {
        out.push(*byte);
        if *byte == 0 {
            out.push(0xFF);
        }
    }
    out.extend_from_slice(&[0, 0]);
    Ok(())
}
