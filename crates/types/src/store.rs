//! Converting a value to a column's type for storing, with MySQL's errors in strict mode and its adjustments and warnings otherwise.
//!
//! Every rule here was observed on MySQL 9.7; the cases are in `store/tests.rs`.

mod direct;
mod numeric;
mod strings;
mod temporal;

pub use direct::{Direct, Field, store_directly};
pub use numeric::year_operand;

#[cfg(test)]
mod tests;

use crate::{ByteString, ColumnType, DECIMALS_NOT_FIXED, Date, DateTime, Decimal, LocalTime, SqlMode, Time, Timestamp, TypeKind, Value};
use mysql_error::{SqlError, Warning, WarningLevel, codes};

/// What storing a value needs to know beside its type.
pub struct StoreContext<'a> {
    /// Modes in force.
    pub mode: SqlMode,
    /// Wrong values are errors: a strict mode without IGNORE.
    pub strict: bool,
    /// Name of the column, for messages.
    pub column: &'a str,
    /// Number of the row in the statement from 1, for messages.
    pub row: u64,
    /// The session's time zone.
    pub zone: &'a dyn LocalTime,
    /// Start of the statement, microseconds since the epoch: the date of a TIME stored as DATETIME.
    pub now_micros: i64,
    /// Warnings and notes are added here.
    pub warnings: &'a mut Vec<Warning>,
}

impl StoreContext<'_> {
    /// A wrong value: the first error in strict mode, else a warning with the second one's number and text.
    #[cold]
    fn fault(&mut self, strict: SqlError, lax: SqlError) -> Result<(), SqlError> {
        if self.strict {
            return Err(strict);
        }
        self.warnings.push(lax.into_warning(WarningLevel::Warning));
        Ok(())
    }

    #[cold]
    fn note(&mut self, note: SqlError) {
        self.warnings.push(note.into_warning(WarningLevel::Note));
    }

    fn out_of_range(&self) -> SqlError {
        codes::warn_data_out_of_range(self.column, self.row)
    }

    /// A negative decimal, though it may round to 0, where there are no negative numbers: 0.
    #[cold]
    fn no_sign(&mut self) -> Result<Value, SqlError> {
        let error = self.out_of_range();
        self.fault(error.clone(), error)?;
        Ok(Value::UInt(0))
    }

    fn truncated(&self) -> SqlError {
        codes::data_truncated(self.column, self.row)
    }

    fn too_long(&self) -> SqlError {
        codes::data_too_long(self.column, self.row)
    }

    /// 1366: Incorrect {kind} value.
    fn incorrect(&self, kind: &str, value: &[u8]) -> SqlError {
        codes::truncated_wrong_value_for_field(kind, shown(value), self.column, self.row)
    }

    /// The same text under 1292, for temporal columns.
    fn incorrect_temporal(&self, kind: &str, value: &[u8]) -> SqlError {
        SqlError::with_message(codes::ER_TRUNCATED_WRONG_VALUE, self.incorrect(kind, value).message)
    }
}

fn is_negative(number: &Value) -> bool {
    match number {
        Value::Int(v) => *v < 0,
        Value::Decimal(v) => v.is_negative(),
        Value::Double(v) => *v < 0.0,
        Value::Float(v) => *v < 0.0,
        _ => false,
    }
}

/// A value in a message: bytes that are no text, and zeros, by their digits; so much of it as MySQL shows.
fn shown(value: &[u8]) -> String {
    const SHOWN: usize = 128;
    let mut text = match std::str::from_utf8(value) {
        Ok(text) if !text.contains('\0') => text.to_owned(),
        _ => {
            let escaped = |byte: &u8| match byte {
                b' '..=b'~' => char::from(*byte).to_string(),
                other => format!("\\x{other:02X}"),
            };
            value.iter().map(escaped).collect()
        }
    };
    if text.len() > SHOWN {
        text.truncate((0..=SHOWN).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0));
    }
    text
}

/// Converts a value to a column's type. What comes back is exactly what `record` stores: in range, rounded to the scale, padded or cut.
///
/// # Errors
/// In strict mode 1264 (range), 1265 (truncated), 1366 and 1292 (incorrect value), 1406 (too long); 1048 for NULL where it may not be.
/// (MySQL refuses NULL even in non-strict mode when an INSERT without IGNORE has a single row: set `strict` for that, the caller knows.)
#[inline]
pub fn store_convert(value: Value, ty: &ColumnType, context: &mut StoreContext<'_>) -> Result<Value, SqlError> {
    if is_stored_as_it_is(&value, ty) { Ok(value) } else { convert(value, ty, context) }
}

/// Whether a value is stored unchanged, without error or warning: what most statements store. `false` says nothing.
#[inline(always)]
#[must_use]
pub fn is_stored_as_it_is(value: &Value, ty: &ColumnType) -> bool {
    match (value, ty.kind) {
        (Value::Int(_), TypeKind::BigInt) => !ty.unsigned,
        (Value::Int(v), TypeKind::Int) => !ty.unsigned && i32::try_from(*v).is_ok(),
        (Value::Int(v), TypeKind::SmallInt) => !ty.unsigned && i16::try_from(*v).is_ok(),
        (Value::Int(v), TypeKind::TinyInt) => !ty.unsigned && i8::try_from(*v).is_ok(),
        (Value::Double(v), TypeKind::Double) => v.is_finite() && !ty.unsigned && ty.decimals == DECIMALS_NOT_FIXED,
        (Value::Bytes(v), TypeKind::VarChar) => v.len() <= ty.length as usize && v.is_ascii(),
        (Value::Bytes(v), TypeKind::Char) => v.len() <= ty.length as usize && v.is_ascii() && v.last() != Some(&b' '),
        (Value::Bytes(v), TypeKind::Text | TypeKind::MediumText | TypeKind::LongText) => v.len() <= ty.length as usize && v.is_ascii(),
        // A longer one may have a name that no column takes.
        (Value::Json(v), TypeKind::Json) => v.len() <= usize::from(u16::MAX),
        (Value::Null, _) => ty.nullable,
        _ => false,
    }
}

fn convert(value: Value, ty: &ColumnType, context: &mut StoreContext<'_>) -> Result<Value, SqlError> {
    let value = match value {
        Value::Null if ty.nullable => return Ok(Value::Null),
        Value::Null => {
            let error = codes::bad_null_error(context.column);
            context.fault(error.clone(), error)?;
            return Ok(implicit_default(ty));
        }
        // A TIMESTAMP column keeps the instant; all else sees the local time.
        Value::Timestamp(instant) if ty.kind != TypeKind::Timestamp => Value::DateTime(context.zone.to_local(instant)),
        other => other,
    };
    match ty.kind {
        kind if kind.is_integer() => numeric::integer(value, ty, context),
        TypeKind::Decimal => numeric::decimal(value, ty, context),
        TypeKind::Float | TypeKind::Double => numeric::floating(value, ty, context),
        TypeKind::Bit => numeric::bit(value, ty, context),
        TypeKind::Year => numeric::year(value, ty, context),
        TypeKind::Date => temporal::date(value, context),
        TypeKind::Time => temporal::time(value, ty, context),
        TypeKind::DateTime | TypeKind::Timestamp => temporal::datetime(value, ty, context),
        TypeKind::Enum => strings::enumeration(value, ty, context),
        TypeKind::Set => strings::set(value, ty, context),
        // Who stores has made a document of the value; what is none is refused whatever the mode.
        TypeKind::Json => match value {
            Value::Json(_) => Ok(value),
            _ => Err(codes::invalid_json_text("not a JSON text, may need CAST", 0, context.column)),
        },
        TypeKind::Null => Ok(Value::Null),
        _ => strings::string(value, ty, context),
    }
}

/// What a NOT NULL column without DEFAULT gets in non-strict mode: zero, the empty string, the zero date, the first ENUM member.
pub fn implicit_default(ty: &ColumnType) -> Value {
    match ty.kind {
        kind if kind.is_integer() => {
            if ty.unsigned {
                Value::UInt(0)
            } else {
                Value::Int(0)
            }
        }
        TypeKind::Null => Value::Null,
        TypeKind::Bit | TypeKind::Year => Value::UInt(0),
        TypeKind::Decimal => Value::Decimal(Decimal::new(0, ty.decimals)),
        TypeKind::Float => Value::Float(0.0),
        TypeKind::Double => Value::Double(0.0),
        TypeKind::Date => Value::Date(Date::ZERO),
        TypeKind::Time => Value::Time(Time::default()),
        TypeKind::DateTime => Value::DateTime(DateTime::ZERO),
        TypeKind::Timestamp => Value::Timestamp(Timestamp::ZERO),
        TypeKind::Enum => Value::Bytes(ty.member_list().first().cloned().unwrap_or_default()),
        TypeKind::Binary => Value::Bytes(vec![0; ty.length as usize].into()),
        // The JSON null, in its binary form.
        TypeKind::Json => Value::Json(ByteString::from(&[0])),
        _ => Value::Bytes(ByteString::new()),
    }
}

/// A number or decimal as a value of a DECIMAL column when the column holds it without rounding; `None` otherwise.
pub fn exact_decimal(ty: &ColumnType, value: &Value) -> Option<Value> {
    let decimal = match value {
        Value::Int(v) => Decimal::from(*v),
        Value::UInt(v) => Decimal::from(*v),
        Value::Decimal(v) => v.normalize(),
        _ => return None,
    };
    let allowed = decimal.fits(ty.length, ty.decimals) && !(ty.unsigned && decimal.is_negative());
    if allowed { decimal.rescale(ty.decimals).map(Value::Decimal) } else { None }
}

/// The text of a value for a message or a string column: temporal values with the fractional digits that they need.
pub fn text_of(value: &Value, out: &mut Vec<u8>) {
    let digits = |micros: u32| (0..=6u8).find(|digits| micros.is_multiple_of(10u32.pow(6 - u32::from(*digits)))).unwrap_or(6);
    match value {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Int(v) => crate::write_i64(*v, out),
        Value::UInt(v) => crate::write_u64(*v, out),
        Value::Float(v) => crate::format_float(*v, out),
        Value::Double(v) => crate::format_double(*v, out),
        Value::Decimal(v) => v.write_to(out),
        Value::Bytes(v) => out.extend_from_slice(v),
        Value::Date(v) => v.write_to(out),
        Value::Time(v) => v.write_to(digits(v.microsecond()), out),
        Value::DateTime(v) => v.write_to(digits(v.microsecond()), out),
        Value::Timestamp(v) => crate::write_i64(v.micros(), out),
        Value::Json(_) => {}
    }
}
