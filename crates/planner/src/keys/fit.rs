//! Values of conditions beside those that a column can hold.

use std::cmp::Ordering;
use types::{ColumnType, Decimal, Time, Timestamp, TypeKind, Value};

/// How a value compares to the values a column can hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Fit {
    /// The column can hold exactly this.
    Exact(Value),
    /// The next smaller value the column can hold; nothing equals.
    Above(Value),
    /// Below everything the column can hold.
    BelowAll,
    /// Above everything the column can hold.
    AboveAll,
    /// No key order: the condition cannot bound the range.
    Unusable,
}

/// Whether a column is one of text, with which [`fit`] leaves strings as they are.
#[inline]
pub fn holds_text(ty: &ColumnType) -> bool {
    use TypeKind as K;
    matches!(ty.kind, K::Char | K::VarChar | K::TinyText | K::Text | K::MediumText | K::LongText)
}

/// Brings a value to a column's type without changing how it compares.
pub fn fit(ty: &ColumnType, value: &Value) -> Fit {
    use TypeKind as K;
    match ty.kind {
        k if k.is_integer() => fit_integer(ty, value),
        K::Year => fit_year(value),
        K::Bit => fit_bits(ty, value),
        K::Enum => fit_member(ty, value),
        K::Set => fit_members(ty, value),
        _ if holds_text(ty) => match value {
            Value::Bytes(_) => Fit::Exact(value.clone()),
            _ => Fit::Unusable,
        },
        K::Binary | K::VarBinary | K::TinyBlob | K::Blob | K::MediumBlob | K::LongBlob => match value {
            Value::Bytes(b) if ty.kind != K::Binary || b.len() == ty.length as usize => Fit::Exact(value.clone()),
            _ => Fit::Unusable,
        },
        K::Double => match number(value) {
            Some(Number::Int(i)) if i.unsigned_abs() <= 1 << 53 => Fit::Exact(Value::Double(i as f64)),
            Some(Number::Float(f)) => Fit::Exact(Value::Double(f)),
            _ => Fit::Unusable,
        },
        K::Decimal => match types::exact_decimal(ty, value) {
            Some(v) => Fit::Exact(v),
            None => fit_decimal(ty, value),
        },
        K::Date => match value {
            Value::Date(_) => Fit::Exact(value.clone()),
            Value::DateTime(at) => date_fit(*at),
            Value::Bytes(b) => match types::parse_datetime(b, types::SqlMode::NONE) {
                Some(at) => date_fit(at),
                None => Fit::Unusable,
            },
            _ => Fit::Unusable,
        },
        K::DateTime => match value {
            Value::Date(d) => datetime_fit(ty, types::DateTime::from_date(*d)),
            Value::DateTime(at) => datetime_fit(ty, *at),
            Value::Bytes(b) => match types::parse_datetime(b, types::SqlMode::NONE) {
                Some(at) => datetime_fit(ty, at),
                None => Fit::Unusable,
            },
            _ => Fit::Unusable,
        },
        K::Time => match value {
            Value::Time(t) => fit_micros(ty, t.micros(), |micros| Value::Time(Time::from_micros(micros))),
            Value::Bytes(b) => match types::time_operand(b) {
                Some(t) => fit_micros(ty, t.micros(), |micros| Value::Time(Time::from_micros(micros))),
                None => Fit::Unusable,
            },
            _ => Fit::Unusable,
        },
        K::Timestamp => match value {
            Value::Timestamp(t) => fit_micros(ty, t.micros(), |micros| Value::Timestamp(Timestamp::from_micros(micros))),
            _ => Fit::Unusable,
        },
        _ => Fit::Unusable,
    }
}

/// A number of microseconds, of which the column may keep fewer digits.
pub(super) fn fit_micros(ty: &ColumnType, micros: i64, make: impl Fn(i64) -> Value) -> Fit {
    let cut = micros - micros.rem_euclid(10i64.pow(6 - u32::from(ty.decimals.min(6))));
    if cut == micros { Fit::Exact(make(micros)) } else { Fit::Above(make(cut)) }
}

/// A number that the column does not hold: one with more digits, or out of its range.
fn fit_decimal(ty: &ColumnType, value: &Value) -> Fit {
    let number = match value {
        Value::Int(i) => Decimal::from(*i),
        Value::UInt(u) => Decimal::from(*u),
        Value::Decimal(d) => d.clone(),
        _ => return Fit::Unusable,
    };
    let cut = number.truncate(i32::from(ty.decimals));
    let is_cut = cut.compare(&number) != Ordering::Equal;
    // The next one down, which below zero is farther from it.
    let below = if is_cut && number.is_negative() { cut.sub(&Decimal::new(1, ty.decimals)) } else { Some(cut) };
    match below {
        Some(below) if ty.unsigned && below.is_negative() || !below.fits(ty.length, ty.decimals) => {
            if number.is_negative() {
                Fit::BelowAll
            } else {
                Fit::AboveAll
            }
        }
        Some(below) => below.rescale(ty.decimals).map_or(Fit::Unusable, |held| Fit::Above(Value::Decimal(held))),
        None => Fit::Unusable,
    }
}

fn date_fit(at: types::DateTime) -> Fit {
    if at.micros_of_day() == 0 { Fit::Exact(Value::Date(at.date())) } else { Fit::Above(Value::Date(at.date())) }
}

fn datetime_fit(ty: &ColumnType, at: types::DateTime) -> Fit {
    let step = 10u32.pow(6 - u32::from(ty.decimals.min(6)));
    if at.microsecond().is_multiple_of(step) {
        return Fit::Exact(Value::DateTime(at));
    }
    let cut = at.microsecond() / step * step;
    Fit::Above(Value::DateTime(types::DateTime::from_fields(at.date(), at.hour(), at.minute(), at.second(), cut)))
}

enum Number {
    Int(i128),
    Float(f64),
}

fn number(value: &Value) -> Option<Number> {
    Some(match value {
        Value::Int(i) => Number::Int(i128::from(*i)),
        Value::UInt(u) => Number::Int(i128::from(*u)),
        Value::Float(f) => Number::Float(f64::from(*f)),
        Value::Double(d) => Number::Float(*d),
        Value::Decimal(d) => Number::Float(d.to_f64()),
        Value::Bytes(b) => Number::Float(types::parse_double_prefix(b)),
        _ => return None,
    })
}

/// Years are 0 and 1901 to 2155; the numbers between compare with them, too.
fn fit_year(value: &Value) -> Fit {
    const LEAST: u64 = 1901;
    const MOST: u64 = 2155;
    match fit_integer(&ColumnType::bigint_unsigned(), value) {
        Fit::Exact(Value::UInt(1..LEAST)) | Fit::Above(Value::UInt(0..LEAST)) => Fit::Above(Value::UInt(0)),
        Fit::Above(Value::UInt(MOST)) => Fit::AboveAll,
        Fit::Exact(Value::UInt(year)) | Fit::Above(Value::UInt(year)) if year > MOST => Fit::AboveAll,
        other => other,
    }
}

/// The bits of a number that has no others.
fn fit_bits(ty: &ColumnType, value: &Value) -> Fit {
    if matches!(value, Value::Bytes(_)) {
        return Fit::Unusable;
    }
    let most = u64::MAX >> (64 - ty.length.clamp(1, 64));
    match fit_integer(&ColumnType::bigint_unsigned(), value) {
        Fit::Exact(Value::UInt(bits)) | Fit::Above(Value::UInt(bits)) if bits > most => Fit::AboveAll,
        other => other,
    }
}

/// The number of the member that a text equals: 0 is that of the text without characters, which stands for what was no member. For points only.
fn fit_member(ty: &ColumnType, value: &Value) -> Fit {
    let Value::Bytes(text) = value else { return Fit::Unusable };
    let members = ty.member_list().iter().map(|member| &member[..]);
    let mut equal = (0..).zip(std::iter::once(&b""[..]).chain(members)).filter(|(_, member)| ty.collation.equal(member, text));
    match (equal.next(), equal.next()) {
        (Some((number, _)), None) => Fit::Exact(Value::UInt(number)),
        (None, _) => Fit::AboveAll,
        // A member of its own without characters, or one that is there twice.
        (Some(_), Some(_)) => Fit::Unusable,
    }
}

/// The bits of the members that a text names one behind the other, as a SET's own text does. For points only. Only where no other bits can have an equal text: members of printable
/// ASCII have neither characters that a collation passes over nor one that equals the comma.
fn fit_members(ty: &ColumnType, value: &Value) -> Fit {
    let Value::Bytes(text) = value else { return Fit::Unusable };
    let members = ty.member_list();
    let is_plain = |member: &types::ByteString| !member.is_empty() && member.iter().all(u8::is_ascii_graphic);
    if !members.iter().all(is_plain) {
        return Fit::Unusable;
    }
    let named = |part: &[u8]| members.iter().position(|member| ty.collation.equal(member, part));
    let parts = text.split(|byte| *byte == b',').filter(|_| !text.is_empty());
    let bits = parts.map(named).try_fold(0u64, |bits, number| {
        let bit = 1u64.checked_shl(number? as u32)?;
        // Each is behind those before it.
        (bits < bit).then_some(bits | bit)
    });
    match bits {
        Some(bits) if ty.set_text(bits).is_some_and(|own| ty.collation.equal(&own, text)) => Fit::Exact(Value::UInt(bits)),
        _ => Fit::Unusable,
    }
}

fn fit_integer(ty: &ColumnType, value: &Value) -> Fit {
    let Some((low, high)) = ty.integer_range() else { return Fit::Unusable };
    let make = |i: i128| if ty.unsigned { Value::UInt(i as u64) } else { Value::Int(i as i64) };
    let floor = match value {
        // As a double it might become whole.
        Value::Decimal(d) => {
            let floor = d.floor();
            match floor.normalize().rescale(0).and_then(|whole| whole.as_i128()) {
                Some((whole, 0)) => (whole, floor.compare(d) == Ordering::Equal),
                // More digits than 128 bits have.
                _ if d.is_negative() => return Fit::BelowAll,
                _ => return Fit::AboveAll,
            }
        }
        _ => match number(value) {
            Some(Number::Int(i)) => (i, true),
            Some(Number::Float(f)) if f.is_finite() => {
                if f >= 1e30 {
                    return Fit::AboveAll;
                }
                if f <= -1e30 {
                    return Fit::BelowAll;
                }
                // Near 2^63 a double compares equal to several integers.
                if f.abs() > 9.0e15 && f.fract() == 0.0 {
                    return Fit::Unusable;
                }
                (f.floor() as i128, f.fract() == 0.0)
            }
            _ => return Fit::Unusable,
        },
    };
    match floor {
        (i, _) if i < low => Fit::BelowAll,
        (i, _) if i > high => Fit::AboveAll,
        (i, true) => Fit::Exact(make(i)),
        (i, false) => Fit::Above(make(i)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Collation;

    #[test]
    fn texts_are_fitted_to_members() {
        let of = |members: &[&str]| {
            let members = members.iter().map(|member| types::ByteString::from(member.as_bytes()));
            ColumnType::with_members(TypeKind::Enum, members, Collation::DEFAULT)
        };
        let ty = of(&["new", "Öl"]);
        assert_eq!(fit(&ty, &Value::from("OL")), Fit::Exact(Value::UInt(2)));
        assert_eq!(fit(&ty, &Value::from("")), Fit::Exact(Value::UInt(0)));
        assert_eq!(fit(&ty, &Value::from("none")), Fit::AboveAll);
        assert_eq!(fit(&ty, &Value::Int(1)), Fit::Unusable);
        assert_eq!(fit(&of(&["x", ""]), &Value::from("")), Fit::Unusable, "of two numbers");
    }

    #[test]
    fn texts_are_fitted_to_sets() {
        let of = |members: &[&str]| {
            let members = members.iter().map(|member| types::ByteString::from(member.as_bytes()));
            ColumnType::with_members(TypeKind::Set, members, Collation::DEFAULT)
        };
        let ty = of(&["a", "b", "c"]);
        for (text, bits) in [("", 0), ("a", 1), ("A,c", 5), ("a,b,c", 7)] {
            assert_eq!(fit(&ty, &Value::from(text)), Fit::Exact(Value::UInt(bits)), "{text}");
        }
        for text in ["b,a", "a,a", "a,", ",", "d", "a b"] {
            assert_eq!(fit(&ty, &Value::from(text)), Fit::Unusable, "{text}");
        }
        assert_eq!(fit(&ty, &Value::Int(1)), Fit::Unusable);
        assert_eq!(fit(&of(&["a，b", "a", "b"]), &Value::from("a,b")), Fit::Unusable, "of two sets");
    }

    #[test]
    fn numbers_are_fitted_to_bits() {
        let ty = ColumnType { length: 3, ..ColumnType::new(TypeKind::Bit) };
        assert_eq!(fit(&ty, &Value::Int(7)), Fit::Exact(Value::UInt(7)));
        assert_eq!(fit(&ty, &Value::Int(8)), Fit::AboveAll);
        assert_eq!(fit(&ty, &Value::Int(-1)), Fit::BelowAll);
        assert_eq!(fit(&ty, &Value::Double(6.5)), Fit::Above(Value::UInt(6)));
        assert_eq!(fit(&ty, &Value::Double(7.5)), Fit::Above(Value::UInt(7)));
        assert_eq!(fit(&ty, &Value::from("7")), Fit::Unusable);
    }

    #[test]
    fn values_are_fitted_to_integer_columns() {
        let check = |ty: ColumnType, v: Value, expect: Fit| assert_eq!(fit(&ty, &v), expect, "{v:?} for {ty}");
        check(ColumnType::int(), Value::Int(5), Fit::Exact(Value::Int(5)));
        check(ColumnType::int().unsigned(), Value::Int(5), Fit::Exact(Value::UInt(5)));
        check(ColumnType::int().unsigned(), Value::Int(-1), Fit::BelowAll);
        check(ColumnType::int(), Value::Int(1 << 40), Fit::AboveAll);
        check(ColumnType::int(), Value::Decimal(Decimal::new(25, 1)), Fit::Above(Value::Int(2)));
        check(ColumnType::int(), Value::Decimal(Decimal::new(-25, 1)), Fit::Above(Value::Int(-3)));
        check(ColumnType::int(), Value::Decimal(Decimal::new(20, 1)), Fit::Exact(Value::Int(2)));
        let decimal = |text: &str| Value::Decimal(Decimal::parse(text.as_bytes()).value);
        check(ColumnType::int(), decimal("0.99999999999999999999"), Fit::Above(Value::Int(0)));
        check(ColumnType::int(), decimal("-0.00000000000000000001"), Fit::Above(Value::Int(-1)));
        check(ColumnType::bigint(), decimal("9007199254740993.00000000000000000001"), Fit::Above(Value::Int(9_007_199_254_740_993)));
        check(ColumnType::bigint(), decimal(&"9".repeat(65)), Fit::AboveAll);
        check(ColumnType::bigint(), decimal(&format!("-{}", "9".repeat(65))), Fit::BelowAll);
        check(ColumnType::new(TypeKind::Year), decimal("2024.00000000000000000001"), Fit::Above(Value::UInt(2024)));
        check(ColumnType::int(), Value::from("12abc"), Fit::Exact(Value::Int(12)));
        check(ColumnType::varchar(5, Collation::DEFAULT), Value::Int(1), Fit::Unusable);
        let price = ColumnType::decimal(5, 2);
        let number = |digits: i128, scale| Value::Decimal(Decimal::new(digits, scale));
        check(price.clone(), Value::Int(7), Fit::Exact(number(700, 2)));
        check(price.clone(), number(33_333, 4), Fit::Above(number(333, 2)));
        check(price.clone(), number(-33_333, 4), Fit::Above(number(-334, 2)));
        check(price.clone(), number(999_995, 3), Fit::Above(number(99_999, 2)));
        check(price.clone(), number(-999_995, 3), Fit::BelowAll);
        check(price.clone(), Value::UInt(1000), Fit::AboveAll);
        check(price.clone().unsigned(), number(-1, 3), Fit::BelowAll);
        check(price, Value::Double(0.5), Fit::Unusable);
    }

    #[test]
    fn dates_are_fitted_to_their_columns() {
        let date = ColumnType::new(TypeKind::Date);
        let day = types::Date::from_fields(2024, 2, 29);
        assert_eq!(fit(&date, &Value::from("2024-02-29")), Fit::Exact(Value::Date(day)));
        assert_eq!(fit(&date, &Value::from("2024-02-29 10:00:00")), Fit::Above(Value::Date(day)));
        assert_eq!(fit(&date, &Value::from("x")), Fit::Unusable);
        let time = |micros| Value::Time(Time::from_micros(micros));
        assert_eq!(fit(&ColumnType::temporal(TypeKind::Time, 1), &time(1_500_000)), Fit::Exact(time(1_500_000)));
        assert_eq!(fit(&ColumnType::temporal(TypeKind::Time, 0), &time(1_500_000)), Fit::Above(time(1_000_000)));
        assert_eq!(fit(&ColumnType::temporal(TypeKind::Time, 0), &time(-1_500_000)), Fit::Above(time(-2_000_000)));
    }
}
