//! What a document is as a number or a moment: for casts, and for columns of these types.

use crate::document::{self, is_moment};
use types::{ByteString, DateTime, Decimal, SqlMode, Time, TypeKind, Value};

/// From here on a double is no signed integer.
pub(crate) const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

/// What a text says to its end as an integer: the number, and what is wrong with it. A negative one is as many bits as MySQL's has.
enum Whole {
    Number(i64),
    /// More digits than 64 bits have.
    TooLarge,
    /// The text only begins with it, or with none.
    Begun(i64),
}

fn whole(text: &[u8]) -> Whole {
    let number = types::leading_integer(text);
    let Some(magnitude) = number.magnitude else { return Whole::TooLarge };
    let bits = if number.negative { magnitude.wrapping_neg() } else { magnitude } as i64;
    if number.is_whole() { Whole::Number(bits) } else { Whole::Begun(bits) }
}

/// The time of a text that is one to its end: with a colon, or of a date with a time.
pub(crate) fn time_of_text(text: &[u8]) -> Option<Time> {
    let parsed = types::parse_time_full(text).filter(|parsed| !parsed.truncated && !parsed.out_of_range && !text.contains(&b'T'))?;
    let is_time = text.contains(&b':') || types::parse_datetime_full(text, SqlMode::NONE).is_some_and(|moment| moment.has_time);
    is_time.then_some(parsed.value)
}

/// The date, with its time where there is one, of a text that is one to its end.
pub(crate) fn moment_of_text(text: &[u8], mode: SqlMode) -> Option<DateTime> {
    types::parse_datetime_full(text, mode).filter(|parsed| !parsed.truncated).map(|parsed| parsed.value)
}

/// What a document is wanted as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Integer,
    Decimal,
    Double,
    Date,
    Time,
    DateTime,
}

impl Wanted {
    /// What a column of such a type wants; `None` for types that take a document's text.
    pub(crate) fn by(kind: TypeKind) -> Option<Wanted> {
        Some(match kind {
            TypeKind::Decimal => Wanted::Decimal,
            TypeKind::Float | TypeKind::Double => Wanted::Double,
            TypeKind::Date => Wanted::Date,
            TypeKind::Time => Wanted::Time,
            TypeKind::DateTime | TypeKind::Timestamp => Wanted::DateTime,
            // As MySQL, in which the one has the text and the other its number.
            TypeKind::Bit | TypeKind::Year => return None,
            kind if kind.is_numeric() => Wanted::Integer,
            _ => return None,
        })
    }

    /// Its word in messages 3155 and 3156.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Wanted::Integer => "INTEGER",
            Wanted::Decimal => "DECIMAL",
            Wanted::Double => "DOUBLE",
            Wanted::Date => "DATE",
            Wanted::Time => "TIME",
            Wanted::DateTime => "DATETIME/TIMESTAMP",
        }
    }
}

/// What a value is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// 3156: no value of the kind; what it begins with, or zero, or NULL is taken.
    None,
    /// 3155: past the kind's range; the end of the range is taken.
    OutOfRange,
}

/// The SQL value that a document is, to be converted on, and what is wrong with it.
pub(crate) fn value_as(document: &[u8], wanted: Wanted, mode: SqlMode) -> (Value, Option<Fault>) {
    let value = document::sql_scalar(document);
    match wanted {
        Wanted::Date | Wanted::Time | Wanted::DateTime => moment(value, wanted == Wanted::Time, mode),
        Wanted::Integer => integer(value),
        Wanted::Decimal | Wanted::Double => number(value, wanted == Wanted::Decimal),
    }
}

fn moment(value: Option<Value>, is_time: bool, mode: SqlMode) -> (Value, Option<Fault>) {
    match value {
        Some(Value::Bytes(text)) if is_time && time_of_text(&text).is_some() => (Value::Bytes(text), None),
        Some(Value::Bytes(text)) if !is_time && moment_of_text(&text, mode).is_some() => (Value::Bytes(text), None),
        Some(v @ Value::Time(_)) if is_time => (v, None),
        Some(v @ (Value::Date(_) | Value::DateTime(_))) if !is_time => (v, None),
        _ => (Value::Null, Some(Fault::None)),
    }
}

fn integer(value: Option<Value>) -> (Value, Option<Fault>) {
    match value {
        Some(Value::Bytes(text)) => match whole(&text) {
            Whole::Number(number) => (Value::Int(number), None),
            Whole::Begun(number) => (Value::Int(number), Some(Fault::None)),
            Whole::TooLarge => (Value::UInt(u64::MAX), Some(Fault::OutOfRange)),
        },
        Some(Value::Double(number)) if !(-TWO_TO_63..TWO_TO_63).contains(&number) => {
            (Value::Int(if number < 0.0 { i64::MIN } else { i64::MAX }), Some(Fault::OutOfRange))
        }
        value => number_or_none(value),
    }
}

fn number(value: Option<Value>, decimal: bool) -> (Value, Option<Fault>) {
    let Some(Value::Bytes(text)) = value else { return number_or_none(value) };
    // An empty text is the double zero, and no decimal; blanks may follow a decimal, and no double.
    let number = if decimal { text.trim_ascii_end() } else { &text };
    let parsed = types::parse_double(number);
    if parsed.consumed < number.len() || decimal && number.is_empty() {
        return (Value::Double(parsed.value), Some(Fault::None));
    }
    if parsed.overflow {
        let largest = Decimal::max_value(Decimal::DIGITS_MAX, 0);
        let largest = if parsed.value < 0.0 { largest.negate() } else { largest };
        return (if decimal { Value::Decimal(largest) } else { Value::Double(parsed.value) }, Some(Fault::OutOfRange));
    }
    if number.is_empty() {
        return (Value::Double(0.0), None);
    }
    (Value::Bytes(ByteString::from(number)), None)
}

/// What is a number, and 0 for what is none: moments, null, containers, bytes.
fn number_or_none(value: Option<Value>) -> (Value, Option<Fault>) {
    match value {
        Some(number) if !is_moment(&number) => (number, None),
        _ => (Value::Int(0), Some(Fault::None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, wanted: Wanted, expect: Value, fault: Option<Fault>) {
        let document = json::encode(&json::parse(text.as_bytes()).unwrap()).unwrap();
        assert_eq!(value_as(&document, wanted, SqlMode::NONE), (expect, fault), "{text} as {wanted:?}");
    }

    #[test]
    fn texts_are_numbers_to_their_end_only() {
        for (text, number, fault) in [
            (r#"" 1""#, 1, None),
            (r#""+1""#, 1, None),
            (r#""-1""#, -1, None),
            (r#""1 ""#, 1, Some(Fault::None)),
            (r#""1.6""#, 1, Some(Fault::None)),
            (r#""1e2""#, 1, Some(Fault::None)),
            (r#""""#, 0, Some(Fault::None)),
            ("null", 0, Some(Fault::None)),
            ("[]", 0, Some(Fault::None)),
            ("9.25e18", i64::MAX, Some(Fault::OutOfRange)),
            ("-1e30", i64::MIN, Some(Fault::OutOfRange)),
        ] {
            check(text, Wanted::Integer, Value::Int(number), fault);
        }
        check(r#""99999999999999999999""#, Wanted::Integer, Value::UInt(u64::MAX), Some(Fault::OutOfRange));
        check(r#""""#, Wanted::Double, Value::Double(0.0), None);
        check(r#""""#, Wanted::Decimal, Value::Double(0.0), Some(Fault::None));
        check(r#""1 ""#, Wanted::Decimal, Value::from("1"), None);
        check(r#""1 ""#, Wanted::Double, Value::Double(1.0), Some(Fault::None));
        let largest = Decimal::max_value(65, 0);
        check(r#""1e400""#, Wanted::Decimal, Value::Decimal(largest.clone()), Some(Fault::OutOfRange));
        check(r#""-1e400""#, Wanted::Decimal, Value::Decimal(largest.negate()), Some(Fault::OutOfRange));
    }

    #[test]
    fn texts_are_moments_to_their_end_only() {
        for text in ["10:11:12", "10:11", "-10:11:12", "1 10:11:12", "2020-01-01 10:11:12", "20200101101112", "838:59:59"] {
            check(&format!("\"{text}\""), Wanted::Time, Value::from(text), None);
        }
        for text in ["", "1", "101112", "2020-01-01", "20200101", "10:11:12x", "839:00:00", "2020-01-01T10:11:12"] {
            check(&format!("\"{text}\""), Wanted::Time, Value::Null, Some(Fault::None));
        }
        for text in ["2020-01-01", "20200101", "2020-01-01T10:11:12", "2020-01-01 10:11:12.5"] {
            check(&format!("\"{text}\""), Wanted::DateTime, Value::from(text), None);
        }
        for text in ["2020-01-01x", "2020-01-01T10:11:12Z", "2020-13-01", "x", "10:11"] {
            check(&format!("\"{text}\""), Wanted::Date, Value::Null, Some(Fault::None));
        }
        check("20200101", Wanted::Date, Value::Null, Some(Fault::None));
    }
}
