//! Symbolic ranges to key bytes: what the executor reads and the planner estimates.

use crate::expr::Expr;
use crate::plan::{Interval, PrefixRange, RangeSpec};
use catalog::TableDef;
use engine::KeyRange;
use record::KeyPart;
use std::cmp::Ordering;
use types::{ColumnType, TypeKind, Value};

/// Point combinations past which a range list is cut to its leading part.
const COMBINATIONS_MAX: usize = 50_000;

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

/// Key ranges of one execution.
#[derive(Debug, Default)]
pub struct KeyRanges {
    /// Sorted, without overlap.
    pub ranges: Vec<KeyRange>,
    /// They hold exactly the rows the spec describes, not more.
    pub exact: bool,
}

/// Evaluates and encodes ranges; sorted and without overlap. `None` when `eval` does not know a value.
pub fn key_ranges(def: &TableDef, index_no: usize, spec: &RangeSpec, eval: &mut dyn FnMut(&Expr) -> Option<Value>) -> Option<KeyRanges> {
    ranges_behind(def, index_no, 0, spec, eval)
}

/// [`key_ranges`] of the parts of an index that come behind so many leading ones, whose bytes are left out.
pub fn ranges_behind(
    def: &TableDef,
    index_no: usize,
    leading: usize,
    spec: &RangeSpec,
    eval: &mut dyn FnMut(&Expr) -> Option<Value>,
) -> Option<KeyRanges> {
    let mut parts: Vec<KeyPart> = def.indexes[index_no].parts.clone();
    if index_no != 0 {
        parts.extend_from_slice(&def.indexes[0].parts);
    }
    parts.drain(..leading.min(parts.len()));
    let mut out = KeyRanges { ranges: Vec::new(), exact: true };
    for prefix in &spec.any {
        one_range(def, &parts, prefix, eval, &mut out)?;
    }
    merge(&mut out.ranges);
    Some(out)
}

/// Sorts ranges and joins those that touch.
fn merge(ranges: &mut Vec<KeyRange>) {
    if ranges.len() < 2 {
        return;
    }
    ranges.sort_by(|a, b| a.lower.cmp(&b.lower));
    let mut merged: Vec<KeyRange> = Vec::with_capacity(ranges.len());
    for r in ranges.drain(..) {
        match merged.last_mut() {
            Some(last) if last.upper.is_empty() || r.lower < last.upper => {
                if !last.upper.is_empty() && (r.upper.is_empty() || r.upper > last.upper) {
                    last.upper = r.upper;
                }
            }
            _ => merged.push(r),
        }
    }
    *ranges = merged;
}

fn one_range(
    def: &TableDef,
    parts: &[KeyPart],
    prefix: &PrefixRange,
    eval: &mut dyn FnMut(&Expr) -> Option<Value>,
    out: &mut KeyRanges,
) -> Option<()> {
    let mut keys: Vec<Vec<u8>> = vec![Vec::new()];
    for (points, part) in prefix.points.iter().zip(parts) {
        let ty = &def.columns[part.column].ty;
        let mut values = Vec::with_capacity(points.len());
        for point in points {
            let value = eval(&point.value)?;
            if value.is_null() {
                if point.null_safe && ty.nullable {
                    values.push(Value::Null);
                }
                continue;
            }
            match fit(ty, &value) {
                Fit::Exact(v) => values.push(v),
                Fit::Unusable => {
                    // From here on the range is unbounded.
                    out.exact = false;
                    out.ranges.extend(keys.iter().map(|k| KeyRange::prefix(k)));
                    return Some(());
                }
                _ => {}
            }
        }
        if values.is_empty() {
            return Some(());
        }
        if keys.len() * values.len() > COMBINATIONS_MAX || part.prefix_chars.is_some() && values.iter().any(|v| !v.is_null()) {
            out.exact = false;
            if part.prefix_chars.is_some() {
                for key in &keys {
                    for v in &values {
                        let mut k = key.clone();
                        // What the column cannot hold leaves the range open from here on.
                        let _ = record::key::try_encode_part(ty, part, v, &mut k);
                        out.ranges.push(KeyRange::prefix(&k));
                    }
                }
            } else {
                out.ranges.extend(keys.iter().map(|k| KeyRange::prefix(k)));
            }
            return Some(());
        }
        let is_held = if let [only] = values.as_slice() {
            // An error leaves the key as it was, and the others would fail alike.
            keys.iter_mut().all(|key| record::key::try_encode_part(ty, part, only, key).is_ok())
        } else {
            let mut next = Vec::with_capacity(keys.len() * values.len());
            let all = keys.iter().all(|key| {
                values.iter().all(|v| {
                    let mut k = key.clone();
                    let encoded = record::key::try_encode_part(ty, part, v, &mut k);
                    next.push(k);
                    encoded.is_ok()
                })
            });
            if all {
                keys = next;
            }
            all
        };
        if !is_held {
            // [`fit`] promises more than the column holds: from here on the range is unbounded.
            out.exact = false;
            out.ranges.extend(keys.iter().map(|k| KeyRange::prefix(k)));
            return Some(());
        }
    }
    let Some(interval) = &prefix.interval else {
        out.ranges.extend(keys.iter().map(|k| KeyRange::prefix(k)));
        return Some(());
    };
    let Some(part) = parts.get(prefix.points.len()) else {
        out.ranges.extend(keys.iter().map(|k| KeyRange::prefix(k)));
        return Some(());
    };
    let ty = &def.columns[part.column].ty;
    let Some(bounds) = interval_bounds(ty, part, interval, eval, &mut out.exact)? else { return Some(()) };
    for key in &keys {
        let mut lower = key.clone();
        lower.extend_from_slice(&bounds.0);
        let upper = match &bounds.1 {
            Some(high) => {
                let mut upper = key.clone();
                upper.extend_from_slice(high);
                upper
            }
            None => engine::after_prefix(key),
        };
        let range = KeyRange { lower, upper };
        if !range.is_empty() {
            out.ranges.push(range);
        }
    }
    Some(())
}

/// Bytes of an interval on one part: inclusive lower bytes, exclusive upper bytes (`None`: to the end of the prefix).
/// The inner `None` is the empty interval.
#[allow(clippy::type_complexity)]
fn interval_bounds(
    ty: &ColumnType,
    part: &KeyPart,
    interval: &Interval,
    eval: &mut dyn FnMut(&Expr) -> Option<Value>,
    exact: &mut bool,
) -> Option<Option<(Vec<u8>, Option<Vec<u8>>)>> {
    let prefix = part.prefix_chars.is_some();
    // "ch" sorts behind "h", its beginning before.
    let unordered = prefix && ty.kind.is_string() && !ty.collation.beginnings_keep_order();
    let encode = |v: &Value| {
        if unordered {
            return None;
        }
        let mut out = Vec::new();
        record::key::try_encode_part(ty, part, v, &mut out).ok().map(|()| out)
    };
    // In value order: (bytes of the value, included).
    let mut low: Option<(Vec<u8>, bool)> = None;
    let mut high: Option<(Vec<u8>, bool)> = None;
    *exact &= !prefix && interval.like.is_none();
    for (e, included) in &interval.low {
        let value = eval(e)?;
        if value.is_null() {
            return Some(None);
        }
        let (bytes, included) = match fit(ty, &value) {
            Fit::Exact(v) => (encode(&v), *included || prefix),
            Fit::Above(v) => (encode(&v), prefix),
            Fit::AboveAll => return Some(None),
            Fit::BelowAll => continue,
            Fit::Unusable => (None, false),
        };
        match bytes {
            Some(bytes) => tighten(&mut low, (bytes, included), part.descending, true),
            None => *exact = false,
        }
    }
    for (e, included) in &interval.high {
        let value = eval(e)?;
        if value.is_null() {
            return Some(None);
        }
        let (bytes, included) = match fit(ty, &value) {
            Fit::Exact(v) => (encode(&v), *included || prefix),
            Fit::Above(v) => (encode(&v), true),
            Fit::BelowAll => return Some(None),
            Fit::AboveAll => continue,
            Fit::Unusable => (None, false),
        };
        match bytes {
            Some(bytes) => tighten(&mut high, (bytes, included), part.descending, false),
            None => *exact = false,
        }
    }
    if let Some((pattern, escape)) = &interval.like {
        match eval(pattern)? {
            Value::Null => return Some(None),
            Value::Bytes(pattern) => {
                if let Some(literal) = like_prefix(&pattern, *escape)
                    && let Some((lower, upper)) = record::key::string_prefix_bounds(ty, part, &literal)
                {
                    // Bounds are in key order already.
                    return Some(Some((lower, Some(upper))));
                }
            }
            _ => {}
        }
    }
    // NULL is below every value.
    let low = low.or_else(|| {
        (ty.nullable && (interval.not_null || !interval.low.is_empty())).then(|| encode(&Value::Null)).flatten().map(|null| (null, false))
    });
    let (first, last) = if part.descending { (high, low) } else { (low, high) };
    let lower = match first {
        None => Vec::new(),
        Some((bytes, true)) => bytes,
        Some((bytes, false)) => {
            let after = engine::after_prefix(&bytes);
            if after.is_empty() {
                return Some(None);
            }
            after
        }
    };
    let upper = match last {
        None => None,
        Some((bytes, true)) => Some(engine::after_prefix(&bytes)),
        Some((bytes, false)) => Some(bytes),
    };
    Some(Some((lower, upper.filter(|u| !u.is_empty()))))
}

fn tighten(so_far: &mut Option<(Vec<u8>, bool)>, bound: (Vec<u8>, bool), descending: bool, low: bool) {
    let Some(current) = so_far else {
        *so_far = Some(bound);
        return;
    };
    let order = bound.0.cmp(&current.0);
    let order = if descending { order.reverse() } else { order };
    let tighter = match order {
        Ordering::Equal => !bound.1,
        Ordering::Greater => low,
        Ordering::Less => !low,
    };
    if tighter {
        *so_far = Some(bound);
    }
}

/// The literal start of a LIKE pattern; `None` when it starts with a wildcard.
pub fn like_prefix(pattern: &[u8], escape: Option<char>) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(pattern).ok()?;
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if Some(c) == escape {
            out.push(chars.next().unwrap_or(c));
        } else if c == '%' || c == '_' {
            break;
        } else {
            out.push(c);
        }
    }
    (!out.is_empty()).then(|| out.into_bytes())
}

/// Brings a value to a column's type without changing how it compares.
pub fn fit(ty: &ColumnType, value: &Value) -> Fit {
    use TypeKind as K;
    match ty.kind {
        k if k.is_integer() => fit_integer(ty, value),
        K::Year => fit_year(value),
        K::Char | K::VarChar | K::TinyText | K::Text | K::MediumText | K::LongText => match value {
            Value::Bytes(_) => Fit::Exact(value.clone()),
            Value::Date(_) | Value::Time(_) | Value::DateTime(_) | Value::Timestamp(_) => Fit::Unusable,
            _ => Fit::Unusable,
        },
        K::Binary | K::VarBinary | K::TinyBlob | K::Blob | K::MediumBlob | K::LongBlob => match value {
            Value::Bytes(b) if ty.kind != K::Binary || b.len() == ty.length as usize => Fit::Exact(value.clone()),
            Value::Bytes(_) => Fit::Unusable,
            _ => Fit::Unusable,
        },
        K::Double => match number(value) {
            Some(Number::Int(i)) if i.unsigned_abs() <= 1 << 53 => Fit::Exact(Value::Double(i as f64)),
            Some(Number::Float(f)) => Fit::Exact(Value::Double(f)),
            _ => Fit::Unusable,
        },
        K::Decimal => match value {
            Value::Int(_) | Value::UInt(_) | Value::Decimal(_) => match types::exact_decimal(ty, value) {
                Some(v) => Fit::Exact(v),
                None => Fit::Unusable,
            },
            _ => Fit::Unusable,
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
            Value::Time(t) if ty.decimals == 6 || t.micros() % 10i64.pow(6 - u32::from(ty.decimals)) == 0 => Fit::Exact(value.clone()),
            Value::Bytes(b) => match types::parse_time(b) {
                Some(t) if ty.decimals == 6 || t.micros() % 10i64.pow(6 - u32::from(ty.decimals)) == 0 => Fit::Exact(Value::Time(t)),
                _ => Fit::Unusable,
            },
            _ => Fit::Unusable,
        },
        K::Timestamp => match value {
            Value::Timestamp(t) if ty.decimals == 6 || t.micros() % 10i64.pow(6 - u32::from(ty.decimals)) == 0 => Fit::Exact(value.clone()),
            _ => Fit::Unusable,
        },
        _ => Fit::Unusable,
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
        Value::Decimal(d) => {
            let floor = d.floor();
            let exact = floor.compare(d) == Ordering::Equal;
            match floor.normalize().rescale(0).and_then(|f| f.as_i128()) {
                Some((integer, 0)) if exact => Number::Int(integer),
                _ => Number::Float(d.to_f64()),
            }
        }
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

fn fit_integer(ty: &ColumnType, value: &Value) -> Fit {
    let Some((low, high)) = ty.integer_range() else { return Fit::Unusable };
    let make = |i: i128| if ty.unsigned { Value::UInt(i as u64) } else { Value::Int(i as i64) };
    let floor = match number(value) {
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
    use types::{Collation, Decimal};

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
        check(ColumnType::int(), Value::from("12abc"), Fit::Exact(Value::Int(12)));
        check(ColumnType::varchar(5, Collation::DEFAULT), Value::Int(1), Fit::Unusable);
    }

    #[test]
    fn dates_are_fitted_to_their_columns() {
        let date = ColumnType::new(TypeKind::Date);
        let day = types::Date::from_fields(2024, 2, 29);
        assert_eq!(fit(&date, &Value::from("2024-02-29")), Fit::Exact(Value::Date(day)));
        assert_eq!(fit(&date, &Value::from("2024-02-29 10:00:00")), Fit::Above(Value::Date(day)));
        assert_eq!(fit(&date, &Value::from("x")), Fit::Unusable);
    }

    #[test]
    fn literal_starts_of_patterns() {
        let check = |p: &str, expect: Option<&str>| {
            assert_eq!(like_prefix(p.as_bytes(), Some('\\')), expect.map(|e| e.as_bytes().to_vec()), "{p}");
        };
        check("abc%", Some("abc"));
        check("a_c", Some("a"));
        check("%abc", None);
        check("a\\%b%", Some("a%b"));
        check("abc", Some("abc"));
    }

    #[test]
    fn ranges_are_sorted_and_joined() {
        let range = |l: &[u8], u: &[u8]| KeyRange { lower: l.to_vec(), upper: u.to_vec() };
        let mut list = vec![range(&[5], &[7]), range(&[1], &[3]), range(&[2], &[4]), range(&[6], &[])];
        merge(&mut list);
        assert_eq!(list, [range(&[1], &[4]), range(&[5], &[])]);
    }
}
