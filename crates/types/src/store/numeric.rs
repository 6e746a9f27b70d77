//! Storing into integers, DECIMAL, FLOAT, DOUBLE, BIT, YEAR.

use super::{StoreContext, is_negative, text_of};
use crate::{ColumnType, DECIMALS_NOT_FIXED, Decimal, TypeKind, Value, parse_double};
use mysql_error::SqlError;

type Result<T> = std::result::Result<T, SqlError>;

/// A temporal value as the number of its digits; a fraction makes it a decimal. Others as they are.
fn temporal_as_number(value: Value) -> Value {
    let with_fraction = |number: i64, microsecond: u32| {
        if microsecond == 0 {
            return Value::Int(number);
        }
        let micros = i128::from(number.unsigned_abs()) * 1_000_000 + i128::from(microsecond);
        Value::Decimal(Decimal::new(if number < 0 { -micros } else { micros }, 6))
    };
    match value {
        Value::Date(v) => Value::Int(v.to_number() as i64),
        Value::DateTime(v) => with_fraction(v.to_number() as i64, v.microsecond()),
        Value::Time(v) => with_fraction(v.to_number(), v.microsecond()),
        other => other,
    }
}

fn rest_is_blank(text: &[u8], consumed: usize) -> bool {
    text[consumed..].iter().all(u8::is_ascii_whitespace)
}

/// The number at the start of a string, rounded to an integer: half away from zero.
fn integer_text(text: &[u8], context: &mut StoreContext<'_>) -> Result<Whole> {
    let parsed = Decimal::parse(text);
    if parsed.consumed == 0 {
        let error = context.incorrect("integer", text);
        context.fault(error.clone(), error)?;
    }
    let bound = if parsed.value.is_negative() { i128::MIN } else { i128::MAX };
    let number = parsed.value.round(0).as_i128().map_or(bound, |(value, _)| value);
    Ok(Whole { number, is_cut: parsed.consumed > 0 && !rest_is_blank(text, parsed.consumed) })
}

/// A whole number on its way into a column.
struct Whole {
    number: i128,
    /// It is the beginning of a string that goes on with something else. That is told if the column takes the number.
    is_cut: bool,
}

impl Whole {
    fn tell(&self, context: &mut StoreContext<'_>) -> Result<()> {
        if self.is_cut {
            let error = context.truncated();
            context.fault(error.clone(), error)?;
        }
        Ok(())
    }
}

/// The nearest integer of a double, halves to even.
fn integer_double(value: f64) -> i128 {
    value.round_ties_even() as i128
}

fn as_integer(value: Value, context: &mut StoreContext<'_>) -> Result<Whole> {
    // Seconds round before they are digits, whatever `sql_mode` says of fractions.
    let value = match value {
        Value::DateTime(at) => Value::DateTime(at.round(0).unwrap_or(at)),
        Value::Time(time) => Value::Time(time.round(0)),
        other => other,
    };
    let number = match temporal_as_number(value) {
        Value::Int(v) => i128::from(v),
        Value::UInt(v) => i128::from(v),
        Value::Float(v) => integer_double(f64::from(v)),
        Value::Double(v) => integer_double(v),
        Value::Decimal(v) => {
            let bound = if v.is_negative() { i128::MIN } else { i128::MAX };
            v.round(0).as_i128().map_or(bound, |(value, _)| value)
        }
        Value::Bytes(text) => return integer_text(&text, context),
        // NULL and TIMESTAMP were dealt with before, the rest by the line above.
        _ => 0,
    };
    Ok(Whole { number, is_cut: false })
}

/// The same for BIT and YEAR: what is behind the point of a double is cut.
fn cut_to_integer(value: Value, context: &mut StoreContext<'_>) -> Result<Whole> {
    match value {
        Value::Float(v) => Ok(Whole { number: v as i128, is_cut: false }),
        Value::Double(v) => Ok(Whole { number: v as i128, is_cut: false }),
        other => as_integer(other, context),
    }
}

pub(super) fn integer(value: Value, ty: &ColumnType, context: &mut StoreContext<'_>) -> Result<Value> {
    // Of a decimal the sign counts, though it may round to 0.
    if let Value::Decimal(v) = &value
        && ty.unsigned
        && v.is_negative()
    {
        return context.no_sign();
    }
    let whole = as_integer(value, context)?;
    let (least, most) = ty.integer_range().unwrap_or((0, 0));
    if (least..=most).contains(&whole.number) {
        whole.tell(context)?;
    } else {
        let error = context.out_of_range();
        context.fault(error.clone(), error)?;
    }
    let number = whole.number.clamp(least, most);
    Ok(if ty.unsigned { Value::UInt(number as u64) } else { Value::Int(number as i64) })
}

pub(super) fn decimal(value: Value, ty: &ColumnType, context: &mut StoreContext<'_>) -> Result<Value> {
    let mut overflow = false;
    let mut lost = false;
    let number = match temporal_as_number(value) {
        Value::Decimal(v) => v,
        Value::Int(v) => Decimal::from(v),
        Value::UInt(v) => Decimal::from(v),
        Value::Bytes(text) => {
            let parsed = Decimal::parse(&text);
            let is_whole = rest_is_blank(&text, parsed.consumed);
            if parsed.consumed == 0 || (context.strict && (!is_whole || parsed.overflow)) {
                let error = context.incorrect("decimal", &text);
                context.fault(error.clone(), error)?;
            } else {
                if !is_whole {
                    let note = context.truncated();
                    context.note(note);
                }
                lost = parsed.rounded;
                overflow = parsed.overflow;
            }
            parsed.value
        }
        other => {
            let double = match other {
                Value::Float(v) => f64::from(v),
                Value::Double(v) => v,
                _ => 0.0,
            };
            Decimal::from_f64(double).unwrap_or_else(|| {
                overflow = true;
                let most = Decimal::max_value(Decimal::DIGITS_MAX, 0);
                if double < 0.0 { most.negate() } else { most }
            })
        }
    };
    let rounded = number.round(i32::from(ty.decimals));
    lost |= number.scale() > ty.decimals && rounded.compare(&number).is_ne();
    let negative_unsigned = ty.unsigned && number.is_negative();
    if overflow || negative_unsigned || !rounded.fits(ty.length, ty.decimals) {
        let error = context.out_of_range();
        context.fault(error.clone(), error)?;
        let most = Decimal::max_value(ty.length, ty.decimals);
        return Ok(Value::Decimal(match (number.is_negative(), ty.unsigned) {
            (true, true) => Decimal::new(0, ty.decimals),
            (true, false) => most.negate(),
            (false, _) => most,
        }));
    }
    if lost {
        let note = context.truncated();
        context.note(note);
    }
    // It fits the precision, so padding to the scale fits, too.
    Ok(Value::Decimal(rounded.rescale(ty.decimals).unwrap_or(rounded)))
}

pub(super) fn floating(value: Value, ty: &ColumnType, context: &mut StoreContext<'_>) -> Result<Value> {
    let mut overflow = false;
    let number = match temporal_as_number(value) {
        Value::Float(v) => f64::from(v),
        Value::Double(v) => v,
        Value::Int(v) => v as f64,
        Value::UInt(v) => v as f64,
        Value::Decimal(v) => v.to_f64(),
        Value::Bytes(text) => {
            let parsed = parse_double(&text);
            if parsed.consumed == 0 || !rest_is_blank(&text, parsed.consumed) {
                let error = context.incorrect(if ty.kind == TypeKind::Float { "FLOAT" } else { "DOUBLE" }, &text);
                context.fault(error.clone(), error)?;
            }
            overflow = parsed.overflow;
            parsed.value
        }
        _ => 0.0,
    };
    let mut most = if ty.kind == TypeKind::Float { f64::from(f32::MAX) } else { f64::MAX };
    let mut rounded = number;
    if ty.decimals != DECIMALS_NOT_FIXED {
        let unit = 10f64.powi(i32::from(ty.decimals));
        most = most.min((10f64.powi(ty.length as i32) - 1.0) / unit);
        // Large numbers have no digits after the point to round, and would overflow.
        if (number * unit).is_finite() && number.abs() < 1e15 {
            rounded = (number * unit).round_ties_even() / unit;
        }
    }
    let least = if ty.unsigned { 0.0 } else { -most };
    if overflow || rounded.is_nan() || rounded < least || rounded > most {
        let error = context.out_of_range();
        context.fault(error.clone(), error)?;
        rounded = if rounded.is_nan() { 0.0 } else { rounded.clamp(least, most) };
    }
    Ok(if ty.kind == TypeKind::Float { Value::Float(rounded as f32) } else { Value::Double(rounded) })
}

pub(super) fn bit(value: Value, ty: &ColumnType, context: &mut StoreContext<'_>) -> Result<Value> {
    let bits = ty.length.clamp(1, 64);
    let most = u64::MAX >> (64 - bits);
    let number = match value {
        // A string is its bytes, the last one lowest.
        Value::Bytes(text) => {
            let significant = &text[text.iter().take_while(|byte| **byte == 0).count()..];
            (significant.len() <= 8).then(|| significant.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte)))
        }
        Value::Decimal(v) if v.is_negative() => return context.no_sign(),
        other => u64::try_from(cut_to_integer(other, context)?.number).ok(),
    };
    match number.filter(|number| *number <= most) {
        Some(number) => Ok(Value::UInt(number)),
        None => {
            let strict = context.too_long();
            // As MySQL: under IGNORE it says what the strict mode would have.
            let lax = if context.mode.is_strict() { strict.clone() } else { context.out_of_range() };
            context.fault(strict, lax)?;
            Ok(Value::UInt(most))
        }
    }
}

pub(super) fn year(value: Value, ty: &ColumnType, context: &mut StoreContext<'_>) -> Result<Value> {
    // The string '0' is 2000, the number 0 and the string '0000' are the zero year.
    let zero = match &value {
        Value::Bytes(text) if text.len() != 4 && Decimal::parse(text).consumed > 0 => 2000,
        _ => 0,
    };
    let is_negative = is_negative(&value);
    let whole = match value {
        Value::DateTime(v) => Whole { number: i128::from(v.year()), is_cut: false },
        Value::Date(v) => Whole { number: i128::from(v.year()), is_cut: false },
        other => cut_to_integer(other, context)?,
    };
    let year = match whole.number {
        0 if !is_negative => zero,
        number @ 1..=69 => 2000 + number,
        number @ 70..=99 => 1900 + number,
        number @ 1901..=2155 => number,
        _ => {
            let error = context.out_of_range();
            context.fault(error.clone(), error)?;
            return Ok(Value::UInt(0));
        }
    };
    whole.tell(context)?;
    debug_assert!(ty.kind == TypeKind::Year);
    Ok(Value::UInt(year as u64))
}

/// What a constant is compared with a YEAR as: the year that it names (1 is 2001, '0' is 2000), or itself where it names none.
pub fn year_operand(value: Value) -> Value {
    let (number, digits) = match &value {
        Value::Int(i) => (i128::from(*i), 0),
        Value::UInt(u) => (i128::from(*u), 0),
        Value::Decimal(d) if d.is_negative() => return value,
        Value::Decimal(d) => (d.to_i64().map_or(-1, i128::from), 0),
        Value::Double(d) if d.abs() < 1e6 => (d.round_ties_even() as i128, 0),
        Value::Date(d) => (i128::from(d.year()), 0),
        Value::DateTime(at) => (i128::from(at.year()), 0),
        // Of a text the number that it begins with, whatever stands behind it.
        Value::Bytes(text) => match text.iter().take_while(|b| b.is_ascii_digit()).count() {
            digits @ 1..=4 => (crate::parse_double_prefix(text).round() as i128, digits),
            _ => return value,
        },
        _ => return value,
    };
    Value::UInt(match number {
        0 if (1..=2).contains(&digits) => 2000,
        0 => 0,
        1..=69 => 2000 + number as u64,
        70..=99 => 1900 + number as u64,
        1901..=2155 => number as u64,
        _ => return value,
    })
}

/// The text of a value in a string of so many characters; `false` where a double has no room for its first digit and its exponent.
pub(super) fn text_within(value: &Value, width: usize, out: &mut Vec<u8>) -> bool {
    let double = match value {
        Value::Double(v) => *v,
        Value::Float(v) => f64::from(*v),
        _ => {
            text_of(value, out);
            return true;
        }
    };
    crate::format_double(double, out);
    if out.len() <= width {
        return true;
    }
    out.clear();
    crate::format_double_within(double, width, out)
}
