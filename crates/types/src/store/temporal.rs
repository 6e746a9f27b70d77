//! Storing into DATE, TIME, DATETIME, TIMESTAMP.

use super::{StoreContext, is_negative, text_of};
use crate::{
    ColumnType, Date, DateTime, Decimal, SqlMode, Time, Timestamp, TypeKind, Value, datetime_from_number, parse_datetime_full,
    parse_time_full, time_from_number,
};
use mysql_error::{SqlError, codes};

type Result<T> = std::result::Result<T, SqlError>;

/// How a text or number failed to be a date.
#[derive(Clone, Copy, PartialEq)]
enum Failure {
    /// It does not look like one.
    Malformed,
    /// It names a day that does not exist or that the modes refuse.
    NotAllowed,
}

/// A date with time read from anything; the flag tells that something after it was ignored.
fn read(value: &Value, context: &StoreContext<'_>) -> std::result::Result<(DateTime, bool), Failure> {
    let mode = context.mode;
    let failure = |loose: Option<DateTime>| if loose.is_some() { Failure::NotAllowed } else { Failure::Malformed };
    let loose_mode = SqlMode::ALLOW_INVALID_DATES;
    match value {
        Value::DateTime(v) if v.date().is_allowed(mode) => Ok((*v, false)),
        Value::Date(v) if v.is_allowed(mode) => Ok((DateTime::from_date(*v), false)),
        Value::DateTime(_) | Value::Date(_) => Err(Failure::NotAllowed),
        Value::Time(v) => {
            let today = Date::of_instant(context.now_micros, context.zone);
            DateTime::from_date(today).add_micros(v.micros()).map(|value| (value, false)).ok_or(Failure::NotAllowed)
        }
        Value::Bytes(text) => {
            let parsed =
                parse_datetime_full(text, mode).ok_or_else(|| failure(parse_datetime_full(text, loose_mode).map(|parsed| parsed.value)))?;
            let mut value = parsed.value;
            if let Some(offset) = parsed.offset_seconds {
                let utc = value.to_unix_micros().ok_or(Failure::NotAllowed)? - i64::from(offset) * 1_000_000;
                let local = utc + i64::from(context.zone.offset_at_utc(utc)) * 1_000_000;
                value = DateTime::from_unix_micros(local).ok_or(Failure::NotAllowed)?;
            }
            Ok((value, parsed.truncated))
        }
        number => {
            let (whole, micros) = number_parts(number).ok_or(Failure::Malformed)?;
            let (value, _) = datetime_from_number(whole, mode).ok_or_else(|| match whole {
                ..0 => Failure::NotAllowed,
                _ => failure(datetime_from_number(whole, loose_mode).map(|(value, _)| value)),
            })?;
            if value == DateTime::ZERO && !Date::ZERO.is_allowed(mode) {
                return Err(Failure::NotAllowed);
            }
            if value.date().month() == 0 || value.date().day() == 0 {
                return Ok((value, false));
            }
            value.add_micros(micros).map(|value| (value, false)).ok_or(Failure::NotAllowed)
        }
    }
}

/// The integer part of a number and the microseconds of its fraction, both with its sign.
fn number_parts(value: &Value) -> Option<(i64, i64)> {
    let decimal = match value {
        Value::Int(v) => return Some((*v, 0)),
        Value::UInt(v) => return i64::try_from(*v).ok().map(|v| (v, 0)),
        Value::Decimal(v) => v.clone(),
        Value::Double(v) => Decimal::from_f64(*v)?,
        Value::Float(v) => Decimal::from_f64(f64::from(*v))?,
        _ => return None,
    };
    let (micros, _) = decimal.round(6).rescale(6)?.as_i128()?;
    Some((i64::try_from(micros / 1_000_000).ok()?, (micros % 1_000_000) as i64))
}

fn shown(value: &Value) -> Vec<u8> {
    let mut text = Vec::new();
    // The message has the digits of a double.
    if let Value::Float(v) = value {
        crate::format_double(f64::from(*v), &mut text);
        return text;
    }
    text_of(value, &mut text);
    text
}

#[cold]
fn refuse(kind: &str, value: &Value, failure: Failure, context: &mut StoreContext<'_>) -> Result<()> {
    let strict = context.incorrect_temporal(kind, &shown(value));
    let lax = if failure == Failure::Malformed { context.truncated() } else { context.out_of_range() };
    context.fault(strict, lax)
}

/// A part of the value was dropped that the type cannot hold: a note.
#[cold]
fn note_cut(kind: &str, value: &Value, context: &mut StoreContext<'_>) {
    let note = if context.strict { context.incorrect_temporal(kind, &shown(value)) } else { context.truncated() };
    context.note(note);
}

pub(super) fn date(value: Value, context: &mut StoreContext<'_>) -> Result<Value> {
    match read(&value, context) {
        Ok((found, truncated)) => {
            let Some(found) = rounded(found, 0, context)? else { return Ok(Value::Date(Date::ZERO)) };
            if truncated {
                refuse("date", &value, Failure::Malformed, context)?;
            } else if found.micros_of_day() != 0 {
                note_cut("date", &value, context);
            }
            Ok(Value::Date(found.date()))
        }
        Err(failure) => {
            refuse("date", &value, failure, context)?;
            Ok(Value::Date(Date::ZERO))
        }
    }
}

/// Rounded to fraction digits, or cut where the mode says so; `None` past the last year, which has been told of.
fn rounded(found: DateTime, digits: u8, context: &mut StoreContext<'_>) -> Result<Option<DateTime>> {
    let truncate = context.mode.contains(SqlMode::TIME_TRUNCATE_FRACTIONAL);
    let rounded = if truncate { Some(found.truncate(digits)) } else { found.round(digits) };
    if rounded.is_none() {
        let (overflow, out_of_range) = (codes::datetime_function_overflow("datetime"), context.out_of_range());
        context.fault(overflow.clone(), overflow)?;
        context.fault(out_of_range.clone(), out_of_range)?;
    }
    Ok(rounded)
}

pub(super) fn datetime(value: Value, ty: &ColumnType, context: &mut StoreContext<'_>) -> Result<Value> {
    let is_timestamp = ty.kind == TypeKind::Timestamp;
    let truncate = context.mode.contains(SqlMode::TIME_TRUNCATE_FRACTIONAL);
    if let Value::Timestamp(instant) = value {
        // An instant needs no zone; only its fraction may be too fine.
        let unit = 10i64.pow(6 - u32::from(ty.decimals.min(6)));
        let half = if truncate { 0 } else { unit / 2 };
        return Ok(Value::Timestamp(Timestamp::from_micros((instant.micros() + half) / unit * unit)));
    }
    let zero = if is_timestamp { Value::Timestamp(Timestamp::ZERO) } else { Value::DateTime(DateTime::ZERO) };
    let (found, truncated) = match read(&value, context) {
        Ok(found) => found,
        Err(failure) => {
            refuse("datetime", &value, failure, context)?;
            return Ok(zero);
        }
    };
    if truncated {
        refuse("datetime", &value, Failure::Malformed, context)?;
    }
    let Some(rounded) = rounded(found, ty.decimals, context)? else { return Ok(zero) };
    if !is_timestamp {
        return Ok(Value::DateTime(rounded));
    }
    match context.zone.to_timestamp(rounded) {
        Ok(instant) => Ok(Value::Timestamp(instant)),
        Err(_) => {
            refuse("datetime", &value, Failure::NotAllowed, context)?;
            Ok(zero)
        }
    }
}

pub(super) fn time(value: Value, ty: &ColumnType, context: &mut StoreContext<'_>) -> Result<Value> {
    let found = match &value {
        Value::Time(v) => *v,
        Value::DateTime(v) => v.time(),
        Value::Date(_) => Time::default(),
        Value::Bytes(text) if text.iter().all(u8::is_ascii_whitespace) => Time::default(),
        Value::Bytes(text) => match parse_time_full(text) {
            Some(parsed) => {
                if parsed.out_of_range {
                    refuse("time", &value, Failure::NotAllowed, context)?;
                } else if parsed.truncated {
                    refuse("time", &value, Failure::Malformed, context)?;
                } else if parse_datetime_full(text, SqlMode::NONE).is_some_and(|date| date.has_time && text.contains(&b'-')) {
                    note_cut("time", &value, context);
                }
                parsed.value
            }
            None => {
                let failure = if text.first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'-') {
                    Failure::NotAllowed
                } else {
                    Failure::Malformed
                };
                refuse("time", &value, failure, context)?;
                Time::default()
            }
        },
        number => match number_parts(number).and_then(|(whole, micros)| Some((time_from_number(whole)?, micros))) {
            Some(((found, out_of_range), micros)) => {
                if out_of_range {
                    refuse("time", &value, Failure::NotAllowed, context)?;
                }
                Time::from_micros(found.micros() + if out_of_range { 0 } else { micros })
            }
            None => {
                refuse("time", &value, Failure::NotAllowed, context)?;
                match number_parts(number) {
                    // Minutes or seconds past 59.
                    Some((whole, _)) if whole.unsigned_abs() <= crate::temporal::TIME_NUMBER_MAX => Time::default(),
                    _ if is_negative(number) => Time::from_micros(i64::MIN).clamp_range(),
                    _ => Time::from_micros(i64::MAX).clamp_range(),
                }
            }
        },
    };
    let truncate = context.mode.contains(SqlMode::TIME_TRUNCATE_FRACTIONAL);
    let rounded = if truncate { found.truncate(ty.decimals) } else { found.round(ty.decimals) };
    Ok(Value::Time(rounded.clamp_range()))
}
