//! Comparing values of any two types by MySQL's rules, where the types are known before: histograms. (The executor compares values whose
//! classes are known only when it runs: its `convert.rs`.)
//!
//! Which rule holds depends on the operands' types, so it is chosen once ([`CompareClass::of`]) and then applied value by value ([`compare`]): integers and decimals compare exactly, a number with a string as doubles, a temporal value with a string
//! or number as temporal values, strings by collation.

use crate::{
    Collation, ColumnType, Date, DateTime, Decimal, LocalTime, SqlMode, Time, TypeKind, Value, datetime_from_number, parse_datetime,
    parse_time,
};
use std::cmp::Ordering;

/// How two operands are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompareClass {
    /// Exactly, as integers and decimals.
    Exact,
    /// As doubles.
    Double,
    /// As strings.
    String(Collation),
    /// As dates with time.
    DateTime,
    /// As times.
    Time,
}

impl CompareClass {
    /// The rule for operands of two types; `collation` is the one that the comparison of strings was resolved to.
    pub fn of(a: &ColumnType, b: &ColumnType, collation: Collation) -> CompareClass {
        use TypeKind as K;
        // NULL compares as NULL whatever the rule: the other operand decides.
        let (x, y) = match (a.kind, b.kind) {
            (K::Null, other) | (other, K::Null) => (other, other),
            pair => pair,
        };
        let exact = |kind: K| kind.is_integer() || matches!(kind, K::Decimal | K::Bit | K::Year | K::Null);
        if exact(x) && exact(y) {
            return CompareClass::Exact;
        }
        if x.has_date() || y.has_date() {
            return CompareClass::DateTime;
        }
        if x == K::Time || y == K::Time {
            return CompareClass::Time;
        }
        if x.is_numeric() || y.is_numeric() { CompareClass::Double } else { CompareClass::String(collation) }
    }
}

/// A value as a double: strings by their numeric start, temporal values as the number of their digits, NULL as 0.
pub fn to_f64(value: &Value) -> f64 {
    match value {
        Value::Null => 0.0,
        Value::Int(v) => *v as f64,
        Value::UInt(v) => *v as f64,
        Value::Float(v) => f64::from(*v),
        Value::Double(v) => *v,
        Value::Decimal(v) => v.to_f64(),
        Value::Bytes(v) => crate::parse_double_prefix(v),
        Value::Date(v) => v.to_number() as f64,
        Value::Time(v) => v.to_number() as f64 + (v.micros() % 1_000_000) as f64 / 1e6,
        Value::DateTime(v) => v.to_number() as f64 + f64::from(v.microsecond()) / 1e6,
        Value::Timestamp(v) => v.micros() as f64 / 1e6,
        // Documents are read by a crate above this one.
        Value::Json(_) => 0.0,
    }
}

/// What comparing temporal values needs to know of the session.
pub struct CompareContext<'a> {
    /// The time zone in which a TIMESTAMP is seen.
    pub zone: &'a dyn LocalTime,
    /// Start of the statement, microseconds since the epoch: the date of a TIME compared with a date.
    pub now_micros: i64,
}

impl CompareContext<'_> {
    fn datetime(&self, value: &Value) -> Option<DateTime> {
        match value {
            Value::DateTime(v) => Some(*v),
            Value::Date(v) => Some(DateTime::from_date(*v)),
            Value::Timestamp(v) => Some(self.zone.to_local(*v)),
            Value::Time(v) => DateTime::from_date(Date::of_instant(self.now_micros, self.zone)).add_micros(v.micros()),
            Value::Bytes(text) => parse_datetime(text, SqlMode::NONE),
            Value::Int(v) => datetime_from_number(*v, SqlMode::NONE).map(|(value, _)| value),
            Value::UInt(v) => datetime_from_number(i64::try_from(*v).ok()?, SqlMode::NONE).map(|(value, _)| value),
            Value::Decimal(v) => datetime_from_number(v.truncate(0).to_i64().ok()?, SqlMode::NONE).map(|(value, _)| value),
            _ => None,
        }
    }

    fn time(&self, value: &Value) -> Option<Time> {
        match value {
            Value::Time(v) => Some(*v),
            Value::DateTime(v) => Some(v.time()),
            Value::Date(_) => Some(Time::default()),
            Value::Timestamp(v) => Some(self.zone.to_local(*v).time()),
            Value::Bytes(text) => parse_time(text),
            Value::Int(v) => crate::time_from_number(*v).map(|(time, _)| time),
            _ => None,
        }
    }
}

fn exact_decimal_of(value: &Value) -> Decimal {
    match value {
        Value::Int(v) => Decimal::from(*v),
        Value::UInt(v) => Decimal::from(*v),
        Value::Decimal(v) => v.clone(),
        other => Decimal::from_f64(to_f64(other)).unwrap_or(Decimal::ZERO),
    }
}

fn compare_exact(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => x.cmp(y),
        (Value::UInt(x), Value::UInt(y)) => x.cmp(y),
        (Value::Int(x), Value::UInt(y)) => i128::from(*x).cmp(&i128::from(*y)),
        (Value::UInt(x), Value::Int(y)) => i128::from(*x).cmp(&i128::from(*y)),
        (Value::Decimal(x), Value::Decimal(y)) => x.compare(y),
        _ => exact_decimal_of(a).compare(&exact_decimal_of(b)),
    }
}

fn compare_doubles(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

/// Compares two values by a rule; `None` when either is NULL (or names no moment where moments are compared, as MySQL does with a
/// string that is no date: it never equals one, here it is as NULL).
#[inline]
pub fn compare(class: CompareClass, a: &Value, b: &Value, context: &CompareContext<'_>) -> Option<Ordering> {
    if a.is_null() || b.is_null() {
        return None;
    }
    Some(match class {
        CompareClass::Exact => compare_exact(a, b),
        CompareClass::Double => compare_doubles(to_f64(a), to_f64(b)),
        CompareClass::String(collation) => match (a, b) {
            (Value::Bytes(x), Value::Bytes(y)) => collation.compare(x, y),
            _ => compare_doubles(to_f64(a), to_f64(b)),
        },
        CompareClass::DateTime => match (a, b) {
            (Value::Date(x), Value::Date(y)) => x.cmp(y),
            (Value::DateTime(x), Value::DateTime(y)) => x.cmp(y),
            (Value::Timestamp(x), Value::Timestamp(y)) => x.cmp(y),
            _ => context.datetime(a)?.cmp(&context.datetime(b)?),
        },
        CompareClass::Time => context.time(a)?.cmp(&context.time(b)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TimeZone;
    use proptest::prelude::*;

    fn number() -> impl Strategy<Value = Value> {
        prop_oneof![
            (-3i64..3).prop_map(Value::Int),
            any::<i64>().prop_map(Value::Int),
            (0u64..3).prop_map(Value::UInt),
            any::<u64>().prop_map(Value::UInt),
            (-300i128..300, 0u8..3).prop_map(|(v, s)| Value::Decimal(Decimal::new(v, s))),
            (-3i32..3).prop_map(|v| Value::Double(f64::from(v))),
            prop::sample::select(vec!["1", "1.0", "abc", "-2e0", "1x", " 1"]).prop_map(Value::from),
        ]
    }

    fn context<'a>(zone: &'a TimeZone) -> CompareContext<'a> {
        CompareContext { zone, now_micros: 1_700_000_000_000_000 }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 12 * ProptestConfig::default().cases, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn comparisons_mirror(a in number(), b in number()) {
            let zone = TimeZone::utc();
            let context = context(&zone);
            let is_exact = |v: &Value| matches!(v, Value::Int(_) | Value::UInt(_) | Value::Decimal(_));
            let class = if is_exact(&a) && is_exact(&b) { CompareClass::Exact } else { CompareClass::Double };
            let ordering = compare(class, &a, &b, &context).unwrap();
            prop_assert_eq!(compare(class, &b, &a, &context), Some(ordering.reverse()));
            prop_assert_eq!(compare(class, &a, &a, &context), Some(Ordering::Equal));
        }
    }

    #[test]
    fn rules_by_hand() {
        let zone = TimeZone::utc();
        let check = |x: ColumnType, a: Value, y: ColumnType, b: Value, expect: Option<Ordering>| {
            let class = CompareClass::of(&x, &y, Collation::DEFAULT);
            assert_eq!(compare(class, &a, &b, &context(&zone)), expect, "{a:?} {b:?} {class:?}");
        };
        let text = || ColumnType::varchar(20, Collation::DEFAULT);
        let day = || ColumnType::new(TypeKind::Date);
        use Ordering::*;
        check(ColumnType::int(), Value::Int(-1), ColumnType::bigint_unsigned(), Value::UInt(u64::MAX), Some(Less));
        check(ColumnType::int(), Value::Int(1), text(), Value::from("1abc"), Some(Equal));
        check(text(), Value::from("A"), text(), Value::from("a"), Some(Equal));
        check(text(), Value::from("10"), text(), Value::from("9"), Some(Less));
        check(day(), Value::Date(Date::from_fields(2024, 1, 2)), text(), Value::from("2024-1-2"), Some(Equal));
        check(day(), Value::Date(Date::from_fields(2024, 1, 2)), ColumnType::int(), Value::Int(20_240_103), Some(Less));
        check(day(), Value::Date(Date::from_fields(2024, 1, 2)), text(), Value::from("x"), None);
        check(ColumnType::int(), Value::Int(1), ColumnType::new(TypeKind::Null), Value::Null, None);
        check(
            ColumnType::decimal(20, 1),
            Value::Decimal(Decimal::new(90071992547409931, 1)),
            ColumnType::bigint(),
            Value::Int(9007199254740993),
            Some(Greater),
        );
    }
}
