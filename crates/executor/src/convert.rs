//! Values seen as other types, and comparison of values of any two types, by MySQL's rules for expressions.

#[cfg(test)]
mod tests;

use crate::context::StatementContext;
use crate::document;
use crate::errors::internal;
use crate::run::Result;
use crate::subquery::holds;
use planner::expr::CmpOp;
use std::borrow::Cow;
use std::cmp::Ordering;
use types::{Charset, Collation, ColumnType, DateTime, Decimal, SqlMode, Time, Timestamp, TypeKind, Value};

/// A value as DOUBLE; strings by their numeric start, temporal values as the number of their digits, NULL as 0.
pub fn to_f64(v: &Value, context: &dyn StatementContext) -> f64 {
    match v {
        Value::Null => 0.0,
        Value::Int(i) => *i as f64,
        Value::UInt(u) => *u as f64,
        Value::Float(f) => f64::from(*f),
        Value::Double(d) => *d,
        Value::Decimal(d) => d.to_f64(),
        Value::Bytes(b) => types::parse_double_prefix(b),
        Value::Date(d) => d.to_number() as f64,
        Value::DateTime(at) => at.to_number() as f64 + f64::from(at.microsecond()) / 1e6,
        Value::Time(t) => t.to_number() as f64 + (t.micros() % 1_000_000) as f64 / 1e6,
        Value::Timestamp(t) => to_f64(&Value::DateTime(local_time(*t, context)), context),
        Value::Json(document) => document::to_f64(document, context),
    }
}

/// The number that an ENUM or SET value counts as.
pub fn member_number(v: &Value, ty: &ColumnType) -> Option<u64> {
    match v {
        Value::Bytes(text) if matches!(ty.kind, TypeKind::Enum | TypeKind::Set) => ty.member_number(text),
        _ => None,
    }
}

/// What an ENUM or SET value is compared as beside a number: the number that it counts as. `None` of others, and beside others.
pub fn member_beside(v: &Value, ty: &ColumnType, other: &Value) -> Option<Value> {
    if is_number(other) { member_number(v, ty).map(Value::UInt) } else { None }
}

/// Whether a value is a number.
pub fn is_number(v: &Value) -> bool {
    matches!(v, Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::Double(_) | Value::Decimal(_))
}

/// Whether a value is a string that says no number, or more than one. An empty string counts as 0.
pub fn is_odd_number(v: &Value) -> bool {
    let Value::Bytes(text) = v else { return false };
    let parsed = types::parse_double(text);
    parsed.overflow || text[parsed.consumed..].iter().any(|byte| !byte.is_ascii_whitespace())
}

/// A number, for arithmetic.
#[derive(Clone, Debug)]
pub enum Number {
    /// Signed.
    Int(i64),
    /// Unsigned.
    UInt(u64),
    /// Exact.
    Decimal(Decimal),
    /// Floating.
    Double(f64),
}

/// A value as a number: strings become doubles, temporal values the number of their digits.
pub fn number(v: &Value, context: &dyn StatementContext) -> Option<Number> {
    Some(match v {
        Value::Null => return None,
        Value::Int(i) => Number::Int(*i),
        Value::UInt(u) => Number::UInt(*u),
        Value::Float(f) => Number::Double(f64::from(*f)),
        Value::Double(d) => Number::Double(*d),
        Value::Decimal(d) => Number::Decimal(d.clone()),
        Value::Bytes(b) => Number::Double(types::parse_double_prefix(b)),
        Value::Date(d) => Number::Int(d.to_number() as i64),
        Value::DateTime(at) if at.microsecond() == 0 => Number::Int(at.to_number() as i64),
        Value::DateTime(at) => Number::Decimal(Decimal::new(i128::from(at.to_number()) * 1_000_000 + i128::from(at.microsecond()), 6)),
        Value::Time(t) if t.micros() % 1_000_000 == 0 => Number::Int(t.to_number()),
        Value::Time(t) => {
            let micros = (t.micros() % 1_000_000).unsigned_abs();
            let n = i128::from(t.to_number().unsigned_abs()) * 1_000_000 + i128::from(micros);
            Number::Decimal(Decimal::new(if t.is_negative() { -n } else { n }, 6))
        }
        Value::Timestamp(t) => return number(&Value::DateTime(local_time(*t, context)), context),
        Value::Json(document) => return number(&document::sql_number(document).unwrap_or(Value::FALSE), context),
    })
}

/// The digits of a date, a moment or a time that is written as text.
pub fn moment_number(text: &[u8], context: &dyn StatementContext) -> Option<f64> {
    let value = if text.get(4) == Some(&b'-') {
        let parsed = types::parse_datetime_full(text, SqlMode::NONE)?;
        if parsed.has_time { Value::DateTime(parsed.value) } else { Value::Date(parsed.value.date()) }
    } else {
        Value::Time(types::parse_time(text)?)
    };
    number(&value, context).as_ref().map(number_f64)
}

/// A moment or a time with a fraction as a whole number of its digits: the fraction rounds its seconds, which carry (`23:59:59.5` is 240000), and is cut where
/// `sql_mode` says so.
fn whole_moment(v: &Value, context: &dyn StatementContext) -> Option<i64> {
    // Most values are no moments, and need not ask.
    let cut = || context.sql_mode().contains(SqlMode::TIME_TRUNCATE_FRACTIONAL);
    match v {
        Value::DateTime(at) if at.microsecond() != 0 => {
            // Past the last year the fraction is cut.
            let at = if cut() { *at } else { at.round(0).unwrap_or(*at) };
            Some(at.to_number() as i64)
        }
        Value::Time(t) if t.microsecond() != 0 => Some(if cut() { t.to_number() } else { t.round(0).to_number() }),
        Value::Timestamp(t) => whole_moment(&Value::DateTime(local_time(*t, context)), context),
        _ => None,
    }
}

/// A number as a decimal; `None` past 65 digits.
pub fn number_decimal(n: &Number) -> Option<Decimal> {
    match n {
        Number::Int(i) => Some(Decimal::new(i128::from(*i), 0)),
        Number::UInt(u) => Some(Decimal::new(i128::from(*u), 0)),
        Number::Decimal(d) => Some(d.clone()),
        Number::Double(d) => Decimal::from_f64(*d),
    }
}

/// A number as a double.
pub fn number_f64(n: &Number) -> f64 {
    match n {
        Number::Int(i) => *i as f64,
        Number::UInt(u) => *u as f64,
        Number::Decimal(d) => d.to_f64(),
        Number::Double(d) => *d,
    }
}

/// A value as a signed integer, rounded; values out of range stop at the end.
pub fn to_i64(v: &Value, context: &dyn StatementContext) -> i64 {
    if let Some(whole) = whole_moment(v, context) {
        return whole;
    }
    match number(v, context) {
        None => 0,
        Some(Number::Int(i)) => i,
        Some(Number::UInt(u)) => i64::try_from(u).unwrap_or(i64::MAX),
        Some(Number::Decimal(d)) => d.to_i64().unwrap_or_else(|bound| bound),
        Some(Number::Double(d)) => d.round_ties_even() as i64,
    }
}

/// A value as 64 bits for bit operators.
pub fn to_u64(v: &Value, context: &dyn StatementContext) -> u64 {
    if let Value::Bytes(text) = v {
        return integer_prefix(text, true).0;
    }
    if let Some(whole) = whole_moment(v, context) {
        return whole as u64;
    }
    match number(v, context) {
        None => 0,
        Some(Number::Int(i)) => i as u64,
        Some(Number::UInt(u)) => u,
        // Past BIGINT they stop at its end.
        Some(Number::Decimal(d)) => d.to_i64().unwrap_or_else(|end| end) as u64,
        Some(Number::Double(d)) => (d.round_ties_even() as i64) as u64,
    }
}

/// The integer at the start of a string: its 64 bits, and whether the whole string was one.
pub fn integer_prefix(b: &[u8], unsigned: bool) -> (u64, bool) {
    let number = types::leading_integer(b.trim_ascii_end());
    // Past the range: the smallest value; all bits for an unsigned target, the largest signed value otherwise.
    let (max, end) = match number.negative {
        true => (1 << 63, i64::MIN as u64),
        false if unsigned => (u64::MAX, u64::MAX),
        false => (i64::MAX as u64, i64::MAX as u64),
    };
    let Some(magnitude) = number.magnitude.filter(|n| *n <= max) else { return (end, false) };
    (if number.negative { magnitude.wrapping_neg() } else { magnitude }, number.is_whole())
}

/// Truth of a value: `None` for NULL.
pub fn truth(v: &Value) -> Option<bool> {
    Some(match v {
        Value::Null => return None,
        Value::Int(i) => *i != 0,
        Value::UInt(u) => *u != 0,
        Value::Decimal(d) => !d.is_zero(),
        Value::Date(d) => d.packed() != 0,
        Value::Time(t) => t.micros() != 0,
        Value::DateTime(at) => at.packed() != 0,
        // All but the zero date.
        Value::Timestamp(t) => *t != Timestamp::ZERO,
        Value::Float(f) => *f != 0.0,
        Value::Double(d) => *d != 0.0,
        Value::Bytes(text) => types::parse_double_prefix(text) != 0.0,
        Value::Json(document) => document::truth(document),
    })
}

/// Local time of an instant in the session's zone.
pub fn local_time(t: Timestamp, context: &dyn StatementContext) -> DateTime {
    context.to_local(t)
}

/// Civil date and time of microseconds since 1970.
pub fn datetime_of_micros(micros: i64) -> DateTime {
    DateTime::from_unix_micros(micros).unwrap_or(DateTime::ZERO)
}

/// A value as a date and time.
pub fn to_datetime(v: &Value, context: &dyn StatementContext) -> Option<DateTime> {
    match v {
        Value::DateTime(at) => Some(*at),
        Value::Date(d) => Some(DateTime::from_date(*d)),
        Value::Timestamp(t) => Some(local_time(*t, context)),
        Value::Time(t) => {
            // A time is taken of today.
            DateTime::from_date(local_time(Timestamp::from_micros(context.statement_micros()), context).date()).add_micros(t.micros())
        }
        Value::Bytes(b) => types::parse_datetime(b, context.sql_mode()),
        Value::Null => None,
        Value::Json(document) => to_datetime(&document::sql_scalar(document)?, context),
        Value::Decimal(_) | Value::Double(_) | Value::Float(_) => fractional_datetime(v, context),
        number => types::datetime_from_number(to_i64(number, context), context.sql_mode()).map(|(at, _)| at),
    }
}

/// The date and time of a number with a fraction, which is one of its seconds.
fn fractional_datetime(v: &Value, context: &dyn StatementContext) -> Option<DateTime> {
    let cut = context.sql_mode().contains(SqlMode::TIME_TRUNCATE_FRACTIONAL);
    let number = number(v, context).as_ref().and_then(number_decimal)?;
    let micros = if cut { number.truncate(6) } else { number.round(6) };
    let (micros, _) = micros.rescale(6)?.as_i128()?;
    let whole = i64::try_from(micros / 1_000_000).ok()?;
    let (at, has_time) = types::datetime_from_number(whole, context.sql_mode())?;
    let fraction = (micros % 1_000_000).unsigned_abs() as u32;
    let time = at.time();
    Some(if has_time { DateTime::from_fields(at.date(), time.hour() as u8, time.minute(), time.second(), fraction) } else { at })
}

/// A value as a time.
pub fn to_time(v: &Value, context: &dyn StatementContext) -> Option<Time> {
    match v {
        Value::Time(t) => Some(*t),
        Value::DateTime(at) => Some(at.time()),
        Value::Date(_) => Some(Time::from_micros(0)),
        Value::Timestamp(t) => Some(local_time(*t, context).time()),
        Value::Bytes(b) => types::parse_time(b),
        Value::Null => None,
        Value::Json(document) => to_time(&document::sql_scalar(document)?, context),
        Value::Decimal(_) | Value::Double(_) | Value::Float(_) => {
            let mut text = Vec::new();
            append_text(v, 6, context, &mut text);
            types::parse_time_full(&text).filter(|parsed| !parsed.out_of_range && !text.contains(&b'e')).map(|parsed| parsed.value)
        }
        number => types::time_from_number(to_i64(number, context)).filter(|(_, past_range)| !past_range).map(|(t, _)| t),
    }
}

/// Appends the text of a value; `decimals` are the fraction digits of its type.
pub fn append_text(v: &Value, decimals: u8, context: &dyn StatementContext, out: &mut Vec<u8>) {
    use std::io::Write;
    // Writing to a vector cannot fail.
    match v {
        Value::Null => {}
        Value::Int(i) => {
            let _ = write!(out, "{i}");
        }
        Value::UInt(u) => {
            let _ = write!(out, "{u}");
        }
        Value::Float(f) => types::format_float(*f, out),
        Value::Double(d) if decimals < types::DECIMALS_NOT_FIXED && decimals > 0 => {
            let _ = write!(out, "{d:.*}", usize::from(decimals));
        }
        Value::Double(d) => types::format_double(*d, out),
        Value::Decimal(d) => d.write_to(out),
        Value::Bytes(b) => out.extend_from_slice(b),
        Value::Date(d) => d.write_to(out),
        Value::Time(t) => t.write_to(decimals.min(6), out),
        Value::DateTime(at) => at.write_to(decimals.min(6), out),
        Value::Timestamp(t) => local_time(*t, context).write_to(decimals.min(6), out),
        Value::Json(document) => document::append_json_text(document, out),
    }
}

/// A value's text.
pub fn text<'v>(v: &'v Value, ty: &ColumnType, context: &dyn StatementContext) -> Cow<'v, [u8]> {
    match v {
        Value::Bytes(b) => Cow::Borrowed(b),
        Value::UInt(n) if ty.is_year_column() || ty.zerofill || ty.kind == TypeKind::Bit => Cow::Owned(number_text(*n, ty)),
        Value::Decimal(_) | Value::Float(_) | Value::Double(_) if ty.zerofill => {
            let mut out = Vec::new();
            match v {
                Value::Float(n) => types::write_float(*n, ty.decimals, &mut out),
                Value::Double(n) => types::write_double(*n, ty.decimals, &mut out),
                other => append_text(other, ty.decimals, context, &mut out),
            }
            ty.fill_up(0, &mut out);
            Cow::Owned(out)
        }
        // Quotients carry more digits than their type shows.
        Value::Decimal(d) if ty.kind == TypeKind::Decimal && d.scale() != ty.decimals => {
            let mut out = Vec::new();
            d.rescale(ty.decimals).as_ref().unwrap_or(d).write_to(&mut out);
            Cow::Owned(out)
        }
        _ => {
            let mut out = Vec::new();
            append_text(v, shown_decimals(v, ty), context, &mut out);
            Cow::Owned(out)
        }
    }
}

/// A text of a type as text of a character set, with `?` for what that has not; for `binary` the text's bytes in its own.
pub fn to_charset(text: Vec<u8>, from: &ColumnType, to: Charset) -> Vec<u8> {
    let own = charset_of(from);
    if to.holds_all_of(own) || text.is_ascii() {
        return text;
    }
    match (own, to) {
        (Charset::Binary, Charset::Latin1) => to.decode_lossy(&text).into_owned(),
        (Charset::Binary, Charset::Ascii) => to.decode_lossy(&text).into_owned(),
        (Charset::Binary, _) => text,
        (_, Charset::Binary) if own.is_utf8_bytes() => text,
        (_, Charset::Binary) => {
            let mut out = Vec::with_capacity(text.len());
            own.encode(&text, &mut out);
            out
        }
        _ => to.fit(&text).into_owned(),
    }
}

/// The character set of a value's text; that of a BIT is bytes.
pub fn charset_of(ty: &ColumnType) -> Charset {
    match ty.kind {
        TypeKind::Bit => Charset::Binary,
        _ if planner::typing::is_string_class(ty) => ty.collation.charset(),
        _ => Charset::Utf8mb4,
    }
}

/// What of bytes that are cast to a character set is no text of it, as messages show it.
pub fn no_text(bytes: &[u8], from: &ColumnType, to: Charset) -> Option<String> {
    if charset_of(from) != Charset::Binary || bytes.is_ascii() {
        return None;
    }
    let at = to.decode(bytes).err()?;
    Some(bytes[at..].iter().take(3).map(|byte| format!("{byte:02X}")).collect())
}

/// The text of a YEAR, of a number that is filled up with zeros, or of a BIT: four digits, as many as the column shows, the bytes.
pub(crate) fn number_text(n: u64, ty: &ColumnType) -> Vec<u8> {
    if ty.kind == TypeKind::Year {
        return format!("{n:04}").into_bytes();
    }
    if ty.zerofill {
        let mut text = Vec::new();
        types::write_u64(n, &mut text);
        ty.fill_up(0, &mut text);
        return text;
    }
    let bytes = (ty.length as usize).div_ceil(8).clamp(1, 8);
    n.to_be_bytes()[8 - bytes..].to_vec()
}

/// Fraction digits to show of a value whose static type is `ty`.
pub fn shown_decimals(v: &Value, ty: &ColumnType) -> u8 {
    match v {
        Value::Time(_) | Value::DateTime(_) | Value::Timestamp(_) if !ty.kind.is_temporal() => {
            // The static type says nothing (a parameter, a string function): show what there is.
            let micros = match v {
                Value::Time(t) => t.micros() % 1_000_000,
                Value::DateTime(at) => i64::from(at.microsecond()),
                Value::Timestamp(t) => t.micros() % 1_000_000,
                _ => 0,
            };
            if micros == 0 { 0 } else { 6 }
        }
        _ => ty.decimals,
    }
}

/// Compares two values; `None` when either is NULL.
pub fn compare(a: &Value, b: &Value, collation: Collation, context: &dyn StatementContext) -> Option<Ordering> {
    use Value as V;
    Some(match (a, b) {
        (V::Int(x), V::Int(y)) => x.cmp(y),
        (V::Bytes(x), V::Bytes(y)) => collation.compare(x, y),
        (V::Null, _) | (_, V::Null) => return None,
        (V::Json(_), _) | (_, V::Json(_)) => return document::compare(a, b, context),
        (V::UInt(x), V::UInt(y)) => x.cmp(y),
        (V::Int(x), V::UInt(y)) => {
            if *x < 0 {
                Ordering::Less
            } else {
                (*x as u64).cmp(y)
            }
        }
        (V::UInt(_), V::Int(_)) => compare(b, a, collation, context)?.reverse(),
        (V::Decimal(x), V::Decimal(y)) => x.compare(y),
        (V::Date(x), V::Date(y)) => x.packed().cmp(&y.packed()),
        (V::DateTime(x), V::DateTime(y)) => x.packed().cmp(&y.packed()),
        (V::Time(x), V::Time(y)) => x.micros().cmp(&y.micros()),
        (V::Timestamp(x), V::Timestamp(y)) => x.micros().cmp(&y.micros()),
        (V::Double(x), V::Double(y)) => float_order(*x, *y),
        (V::Date(_) | V::DateTime(_) | V::Timestamp(_), V::Date(_) | V::DateTime(_) | V::Timestamp(_) | V::Time(_))
        | (V::Time(_), V::Date(_) | V::DateTime(_) | V::Timestamp(_)) => {
            let x = to_datetime(a, context)?;
            let y = to_datetime(b, context)?;
            x.packed().cmp(&y.packed())
        }
        (V::Date(_) | V::DateTime(_) | V::Timestamp(_), V::Bytes(text)) => {
            let x = to_datetime(a, context)?;
            // A text that is no date counts as zero.
            let y = types::parse_datetime(text, SqlMode::NONE).unwrap_or(DateTime::ZERO);
            x.packed().cmp(&y.packed())
        }
        (V::Bytes(_), V::Date(_) | V::DateTime(_) | V::Timestamp(_) | V::Time(_)) => compare(b, a, collation, context)?.reverse(),
        (V::Time(x), V::Bytes(text)) => match types::time_operand(text) {
            Some(y) => x.micros().cmp(&y.micros()),
            None => as_strings(a, b, collation, context),
        },
        _ => {
            let (x, y) = (number(a, context)?, number(b, context)?);
            match (&x, &y) {
                (Number::Double(_), _) | (_, Number::Double(_)) => float_order(number_f64(&x), number_f64(&y)),
                _ => match (number_decimal(&x), number_decimal(&y)) {
                    (Some(x), Some(y)) => x.compare(&y),
                    _ => float_order(number_f64(&x), number_f64(&y)),
                },
            }
        }
    })
}

fn float_order(x: f64, y: f64) -> Ordering {
    x.partial_cmp(&y).unwrap_or(Ordering::Equal)
}

fn as_strings(a: &Value, b: &Value, collation: Collation, context: &dyn StatementContext) -> Ordering {
    let (mut x, mut y) = (Vec::new(), Vec::new());
    append_text(a, 0, context, &mut x);
    append_text(b, 0, context, &mut y);
    collation.compare(&x, &y)
}

/// `a op b` for rows, in three values.
pub fn compare_rows(op: CmpOp, a: &[Value], b: &[Value], collations: &[Collation], context: &dyn StatementContext) -> Value {
    let pairs = a.iter().zip(b).zip(collations);
    match op {
        CmpOp::Eq | CmpOp::Ne => {
            let mut unknown = false;
            for ((x, y), c) in pairs {
                match compare(x, y, *c, context) {
                    None => unknown = true,
                    Some(Ordering::Equal) => {}
                    Some(_) => return Value::bool(op == CmpOp::Ne),
                }
            }
            if unknown { Value::Null } else { Value::bool(op == CmpOp::Eq) }
        }
        CmpOp::NullSafeEq => {
            let equal = pairs.into_iter().all(|((x, y), c)| match (x.is_null(), y.is_null()) {
                (true, true) => true,
                (false, false) => compare(x, y, *c, context) == Some(Ordering::Equal),
                _ => false,
            });
            Value::bool(equal)
        }
        _ => {
            for ((x, y), c) in pairs {
                match compare(x, y, *c, context) {
                    None => return Value::Null,
                    Some(Ordering::Equal) => {}
                    Some(order) => return Value::bool(holds(op, order)),
                }
            }
            Value::bool(matches!(op, CmpOp::Le | CmpOp::Ge))
        }
    }
}

/// A bound of LIMIT. Clients that know one kind of number only (JavaScript's) bind a DOUBLE; NULL is no row.
pub fn limit_value(v: &Value) -> Result<u64> {
    match v {
        Value::Null => Ok(0),
        Value::Int(i) if *i >= 0 => Ok(*i as u64),
        Value::UInt(u) => Ok(*u),
        Value::Double(d) if *d >= 0.0 && d.fract() == 0.0 && *d < 9_007_199_254_740_992.0 => Ok(*d as u64),
        Value::Decimal(d) => d.to_u64().map_err(|_| internal("LIMIT out of range")),
        Value::Bytes(b) => match b.as_str().and_then(|s| s.trim().parse().ok()) {
            Some(n) => Ok(n),
            None => Err(mysql_error::codes::wrong_arguments("LIMIT").into()),
        },
        _ => Err(mysql_error::codes::wrong_arguments("LIMIT").into()),
    }
}

/// A text as messages show it: bytes that are no text, and control characters, by their digits.
pub fn shown_text(text: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(text) {
        Ok(shown) if !shown.bytes().any(|b| b.is_ascii_control() && !b.is_ascii_whitespace()) => Cow::Borrowed(shown),
        _ => Cow::Owned(shown_bytes(text)),
    }
}

/// Bytes in an error message.
pub fn shown_bytes(bytes: &[u8]) -> String {
    bytes.iter().map(|b| if (b' '..=b'~').contains(b) { char::from(*b).to_string() } else { format!("\\x{b:02X}") }).collect()
}

/// Brings a result to the type that an expression with several sources promises.
pub fn coerce(v: Value, from: &ColumnType, ty: &ColumnType, context: &dyn StatementContext) -> Value {
    if v.is_null() {
        return v;
    }
    match ty.kind {
        TypeKind::Null => v,
        k if k.is_integer() => match v {
            Value::Int(_) | Value::UInt(_) => v,
            _ if ty.unsigned => Value::UInt(to_u64(&v, context)),
            _ => Value::Int(to_i64(&v, context)),
        },
        TypeKind::Decimal => match &v {
            Value::Decimal(d) if d.scale() == ty.decimals => v,
            Value::Double(_) | Value::Float(_) | Value::Bytes(_) => {
                let d = match &v {
                    Value::Bytes(b) => Some(Decimal::parse(b).value),
                    other => Decimal::from_f64(to_f64(other, context)),
                };
                d.and_then(|d| d.rescale(ty.decimals)).map_or(v, Value::Decimal)
            }
            _ => number(&v, context).as_ref().and_then(number_decimal).and_then(|d| d.rescale(ty.decimals)).map_or(v, Value::Decimal),
        },
        TypeKind::Double => match v {
            Value::Double(_) => v,
            _ => Value::Double(to_f64(&v, context)),
        },
        // One of FLOATs and integers: shown as a FLOAT, whole to who computes with it.
        TypeKind::Float => match v {
            Value::Float(_) | Value::Double(_) => v,
            _ => Value::Double(to_f64(&v, context)),
        },
        TypeKind::Date => match &v {
            Value::Date(_) => v,
            _ => to_datetime(&v, context).map_or(Value::Null, |at| Value::Date(at.date())),
        },
        TypeKind::DateTime => match &v {
            Value::DateTime(_) => v,
            _ => to_datetime(&v, context).map_or(Value::Null, Value::DateTime),
        },
        TypeKind::Time => match &v {
            Value::Time(_) => v,
            _ => to_time(&v, context).map_or(Value::Null, Value::Time),
        },
        TypeKind::Timestamp | TypeKind::Year | TypeKind::Bit | TypeKind::Json => v,
        _ => match v {
            Value::Bytes(text) if from.collation.charset() == Charset::Latin1 && ty.collation.charset() == Charset::Binary => {
                Value::Bytes(to_charset(text.into_vec(), from, Charset::Binary).into())
            }
            Value::Bytes(_) => v,
            Value::UInt(n) if from.is_year_column() || from.zerofill || from.kind == TypeKind::Bit => {
                Value::from(&number_text(n, from)[..])
            }
            _ => {
                let mut out = Vec::new();
                append_text(&v, shown_decimals(&v, from), context, &mut out);
                if from.zerofill {
                    from.fill_up(0, &mut out);
                }
                Value::from(out.as_slice())
            }
        },
    }
}
