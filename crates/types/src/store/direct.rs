//! Fields of a text that a column stores without a doubt: digits for numbers, dates and times as they are usually written, strings that fit.
//!
//! What is not obvious is left to [`super::store_convert`]; what is found here is what that would give, with neither error, warning nor note, in every mode.

use crate::temporal::date_time_of_usual_text;
use crate::{Charset, ColumnType, Decimal, TypeKind, Value};

/// A field as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field<'t> {
    /// An integer or decimal constant: digits, perhaps with a sign and a point.
    Number(&'t [u8]),
    /// A text, in UTF-8.
    Text(&'t [u8]),
}

impl Field<'_> {
    /// The value that an expression would give, for [`super::store_convert`].
    pub fn value(self) -> Value {
        match self {
            Field::Text(text) => Value::bytes(text),
            Field::Number(digits) => match std::str::from_utf8(digits) {
                // What is a digit more is a decimal.
                Ok(text) if !digits.contains(&b'.') => match (text.parse(), text.parse()) {
                    (Ok(signed), _) => Value::Int(signed),
                    (_, Ok(unsigned)) => Value::UInt(unsigned),
                    _ => Value::Decimal(Decimal::parse(digits).value),
                },
                _ => Value::Decimal(Decimal::parse(digits).value),
            },
        }
    }
}

/// What a column stores.
#[derive(Debug, Clone, PartialEq)]
pub enum Direct<'t> {
    /// A value of the column's type.
    Value(Value),
    /// A string column: these bytes.
    Text(&'t [u8]),
}

/// What a column stores of a field; `None` says nothing.
#[inline]
pub fn store_directly<'t>(field: Field<'t>, ty: &ColumnType) -> Option<Direct<'t>> {
    let (text, quoted) = match field {
        Field::Number(text) => (text, false),
        Field::Text(text) => (text, true),
    };
    match ty.kind {
        kind if kind.is_integer() => integer(text, ty).map(Direct::Value),
        TypeKind::Decimal => decimal(text, ty).map(Direct::Value),
        TypeKind::DateTime if quoted => date_time_of_usual_text(text).map(|value| Direct::Value(Value::DateTime(value))),
        TypeKind::Date if quoted && text.len() == 10 => date_time_of_usual_text(text).map(|value| Direct::Value(Value::Date(value.date()))),
        _ if quoted && is_string_as_it_is(text, ty) => Some(Direct::Text(text)),
        _ => None,
    }
}

fn is_string_as_it_is(text: &[u8], ty: &ColumnType) -> bool {
    let kind = match ty.kind {
        TypeKind::VarChar | TypeKind::TinyText | TypeKind::Text | TypeKind::MediumText | TypeKind::LongText => true,
        TypeKind::Char => text.last() != Some(&b' '),
        _ => false,
    };
    kind && text.len() <= ty.length as usize
        && (text.is_ascii() || ty.collation.charset() == Charset::Utf8mb4 && std::str::from_utf8(text).is_ok())
}

/// Digits behind an optional minus, up to so many; `None` for anything else.
#[inline]
fn signed_digits(text: &[u8], digits_max: usize) -> Option<(bool, &[u8])> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    (!digits.is_empty() && digits.len() <= digits_max).then_some((negative, digits))
}

/// The number that digits name; `None` when one is none. There are no more than eighteen.
#[inline]
fn number(digits: &[u8], before: i64) -> Option<i64> {
    let mut value = before;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(value)
}

/// Most digits that surely fit an `i64`.
const DIGITS_MAX: usize = 18;

fn integer(text: &[u8], ty: &ColumnType) -> Option<Value> {
    let (negative, digits) = signed_digits(text, DIGITS_MAX)?;
    let magnitude = number(digits, 0)?;
    if ty.unsigned {
        let bits = match ty.kind {
            TypeKind::TinyInt => 8,
            TypeKind::SmallInt => 16,
            TypeKind::MediumInt => 24,
            TypeKind::Int => 32,
            _ => 63,
        };
        return (!negative && magnitude >> bits == 0).then_some(Value::UInt(magnitude as u64));
    }
    let bits = match ty.kind {
        TypeKind::TinyInt => 7,
        TypeKind::SmallInt => 15,
        TypeKind::MediumInt => 23,
        TypeKind::Int => 31,
        _ => 63,
    };
    // The least value is left to the long way.
    (magnitude >> bits == 0).then_some(Value::Int(if negative { -magnitude } else { magnitude }))
}

fn decimal(text: &[u8], ty: &ColumnType) -> Option<Value> {
    let (negative, digits) = signed_digits(text, DIGITS_MAX + 1)?;
    let scale = usize::from(ty.decimals);
    let point = digits.iter().position(|byte| *byte == b'.');
    let (whole, fraction) = match point {
        Some(at) => (&digits[..at], &digits[at + 1..]),
        None => (digits, &[][..]),
    };
    // The precision counts leading zeros here: what fits with them fits without.
    let fits = !whole.is_empty() && fraction.len() <= scale && whole.len() + scale <= (ty.length as usize).min(DIGITS_MAX);
    if !fits || negative && ty.unsigned || point.is_some() && fraction.is_empty() {
        return None;
    }
    let mut unscaled = number(fraction, number(whole, 0)?)?;
    for _ in fraction.len()..scale {
        unscaled *= 10;
    }
    Some(Value::Decimal(Decimal::new(i128::from(if negative { -unscaled } else { unscaled }), ty.decimals)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{StoreContext, store_convert};
    use crate::{Collation, SqlMode, TimeZone};

    /// Columns of every kind, with lengths at which things stop to fit.
    fn columns() -> Vec<ColumnType> {
        let mut columns = Vec::new();
        for kind in [TypeKind::TinyInt, TypeKind::SmallInt, TypeKind::MediumInt, TypeKind::Int, TypeKind::BigInt] {
            let ty = ColumnType::new(kind);
            columns.push(ColumnType { unsigned: true, ..ty.clone() });
            columns.push(ty);
        }
        for (precision, scale) in [(1, 0), (5, 2), (12, 2), (18, 6), (18, 18), (19, 2), (30, 10), (65, 30)] {
            let ty = ColumnType::decimal(precision, scale);
            columns.push(ColumnType { unsigned: true, ..ty.clone() });
            columns.push(ty);
        }
        for kind in [TypeKind::DateTime, TypeKind::Timestamp, TypeKind::Time] {
            columns.extend([0, 3, 6].map(|decimals| ColumnType::temporal(kind, decimals)));
        }
        for kind in [TypeKind::Date, TypeKind::Year, TypeKind::Double, TypeKind::Float, TypeKind::Bit, TypeKind::LongText, TypeKind::Blob] {
            columns.push(ColumnType::new(kind));
        }
        for kind in [TypeKind::Char, TypeKind::VarChar, TypeKind::TinyText, TypeKind::Binary, TypeKind::VarBinary] {
            for collation in [Collation::DEFAULT, Collation::Utf8mb3GeneralCi, Collation::Latin1SwedishCi] {
                columns.extend([1, 3, 10, 19].map(|length| ColumnType { length, collation, ..ColumnType::new(kind) }));
            }
        }
        columns
    }

    /// Numbers, dates, words and what is near to them.
    fn texts(random: &mut impl FnMut(u64) -> u64) -> Vec<u8> {
        let mut text = match random(8) {
            0 => format!("{}", random(u64::MAX) as i64 >> random(64)),
            1 => format!("{}{}.{}", if random(3) == 0 { "-" } else { "" }, random(u64::MAX) >> random(64), random(u64::MAX) >> random(64)),
            2 => format!("{:04}-{:02}-{:02}", random(10_000), random(14), random(33)),
            3 | 4 => {
                format!("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", random(2100), random(13), random(32), random(25), random(61), random(61))
            }
            5 => {
                ["0", "-0", "-0.0", "00", "0.5", ".5", "5.", "-", "", " ", "1e3", "0x10", "+1", " 1", "1 "][random(15) as usize].to_owned()
            }
            6 => "9".repeat(1 + random(20) as usize) + &".".repeat(random(2) as usize) + &"9".repeat(random(8) as usize),
            _ => ["abc", "é", "日本", "abc ", "a\u{10348}", "longer than ten"][random(6) as usize].to_owned(),
        }
        .into_bytes();
        // One in four has a byte that does not belong there.
        if random(4) == 0 && !text.is_empty() {
            let at = random(text.len() as u64) as usize;
            text[at] = b"0 -.:aT/\xC3\xFF"[random(10) as usize];
        }
        text
    }

    /// Whether a text may stand as a number.
    fn is_number(text: &[u8]) -> bool {
        let digits = text.strip_prefix(b"-").unwrap_or(text);
        let mut parts = digits.split(|byte| *byte == b'.');
        let all = parts.clone().all(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit));
        all && parts.by_ref().count() <= 2
    }

    #[test]
    fn what_is_stored_directly_is_what_the_long_way_stores_in_silence() {
        let seed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64) | 1;
        println!("seed {seed}");
        let mut state = seed;
        let mut random = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.wrapping_mul(0x2545_F491_4F6C_DD1D) % below
        };
        let (columns, zone) = (columns(), TimeZone::utc());
        let mut direct = vec![0; columns.len()];
        for _ in 0..20_000 {
            let text = texts(&mut random);
            let fields = [Some(Field::Text(&text)), is_number(&text).then_some(Field::Number(&text))];
            for field in fields.into_iter().flatten() {
                for (no, ty) in columns.iter().enumerate() {
                    let Some(found) = store_directly(field, ty) else { continue };
                    direct[no] += 1;
                    let found = match found {
                        Direct::Value(value) => value,
                        Direct::Text(text) => Value::bytes(text),
                    };
                    for mode in [SqlMode::DEFAULT, SqlMode::NONE, SqlMode::DEFAULT | SqlMode::ALLOW_INVALID_DATES] {
                        let mut warnings = Vec::new();
                        let mut context = StoreContext {
                            mode,
                            strict: mode.is_strict(),
                            column: "c",
                            row: 1,
                            zone: &zone,
                            now_micros: 0,
                            warnings: &mut warnings,
                        };
                        let stored = store_convert(field.value(), ty, &mut context);
                        assert_eq!(stored.as_ref().ok(), Some(&found), "{ty} <- {field:?}: {stored:?}");
                        assert!(warnings.is_empty(), "{ty} <- {field:?}: {warnings:?}");
                    }
                }
            }
        }
        let some = columns.iter().zip(&direct).filter(|(_, count)| **count > 0).count();
        assert!(some >= 35, "{some} of {} columns take something directly", columns.len());
    }
}
