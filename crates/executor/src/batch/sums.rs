//! Loops of aggregates over the values of a chunk.
//!
//! What is here needs no more than machine operations: it neither warns nor fails, and says when it has done nothing because a value would.

use crate::aggregate::{Accumulator, Sum, add_number};
use crate::batch::column::{Column, Data};
use crate::batch::expression::Vector;
use crate::convert;
use planner::plan::{Aggregate, AggregateKind};
use std::cmp::Ordering;
use types::{Decimal, Value};

/// Adds one row's value where that needs no more than a machine operation. Whether it did.
#[inline]
pub(super) fn add_one(a: &Aggregate, sum: &mut Accumulator, argument: &Vector<'_>, at: usize) -> bool {
    if a.kind == AggregateKind::CountStar {
        sum.count_row();
        return true;
    }
    if argument.has_nulls() && argument.is_null(at) {
        // But for COUNT(DISTINCT) of several, which is not here, no aggregate looks at NULL.
        return true;
    }
    match (&mut sum.value, argument.column().map(Column::data)) {
        (Sum::Count(n), _) => *n += 1,
        (Sum::Integers { sum, count }, Some(Data::Int(values))) => {
            *sum += i128::from(values[at]);
            *count += 1;
        }
        (Sum::Doubles { sum, count }, Some(Data::Double(values))) => {
            *sum += values[at];
            *count += 1;
        }
        (Sum::Decimals { sum, count }, Some(Data::Decimal(values, scale))) => match sum.add(&Decimal::new(values[at], *scale)) {
            Some(total) => {
                *sum = total;
                *count += 1;
            }
            None => return false,
        },
        (Sum::Extreme(Some(best)), Some(data)) => return is_no_better(a, best, data, at),
        _ => return false,
    }
    true
}

/// Whether a value leaves MIN or MAX as it is; false also where that takes a closer look.
#[inline]
fn is_no_better(a: &Aggregate, best: &Value, data: &Data, at: usize) -> bool {
    let order = match (data, best) {
        (Data::Int(values), Value::Int(best)) => values[at].cmp(best),
        (Data::UInt(values), Value::UInt(best)) => values[at].cmp(best),
        (Data::Date(values), Value::Date(best)) => values[at].cmp(best),
        (Data::DateTime(values), Value::DateTime(best)) => values[at].cmp(best),
        (Data::Decimal(values, scale), Value::Decimal(best)) => match best.as_i128() {
            Some((best, own)) if own == *scale => values[at].cmp(&best),
            _ => return false,
        },
        (Data::Bytes(texts), Value::Bytes(best)) => a.collation.compare(texts.get(at), best),
        _ => return false,
    };
    match a.kind {
        AggregateKind::Min => order != Ordering::Less,
        AggregateKind::Max => order != Ordering::Greater,
        AggregateKind::AnyValue => true,
        _ => false,
    }
}

/// Calls `f` with the values at some places that are not NULL, in order.
#[inline(always)]
fn each<T: Copy>(values: &[T], argument: &Vector<'_>, rows: &[u16], mut f: impl FnMut(T)) {
    if argument.has_nulls() {
        rows.iter().map(|row| usize::from(*row)).filter(|at| !argument.is_null(*at)).for_each(|at| f(values[at]));
    } else if rows.len() == values.len() {
        values.iter().for_each(|value| f(*value));
    } else {
        rows.iter().for_each(|row| f(values[usize::from(*row)]));
    }
}

/// How many of the values at some places are not NULL.
fn count(argument: &Vector<'_>, rows: &[u16]) -> u64 {
    if argument.has_nulls() { rows.iter().filter(|row| !argument.is_null(usize::from(**row))).count() as u64 } else { rows.len() as u64 }
}

/// Adds the rows of a chunk to the only group: COUNT, SUM and AVG. Whether it did.
pub(super) fn add_run(a: &Aggregate, sum: &mut Accumulator, argument: &Vector<'_>, rows: &[u16]) -> bool {
    match (a.kind, &mut sum.value) {
        (AggregateKind::CountStar, Sum::Count(n)) => {
            *n += rows.len() as i64;
            return true;
        }
        (AggregateKind::Count, Sum::Count(n)) => {
            *n += count(argument, rows) as i64;
            return true;
        }
        (AggregateKind::Sum | AggregateKind::Avg, _) => {}
        _ => return false,
    }
    match argument.column().map(Column::data) {
        Some(Data::Int(values)) => {
            let mut total = 0i128;
            each(values, argument, rows, |value| total += i128::from(value));
            let count = count(argument, rows);
            match &mut sum.value {
                Sum::Integers { sum, count: n } => {
                    *sum += total;
                    *n += count;
                }
                Sum::Nothing if count == 0 => {}
                Sum::Nothing => sum.value = Sum::Integers { sum: total, count },
                _ => return false,
            }
            true
        }
        Some(Data::Decimal(values, scale)) => {
            let mut total = 0i128;
            let mut overflow = false;
            each(values, argument, rows, |value| {
                let (sum, over) = total.overflowing_add(value);
                total = sum;
                overflow |= over;
            });
            if overflow {
                return false;
            }
            let count = count(argument, rows);
            if count == 0 {
                return true;
            }
            let total = Decimal::new(total, *scale);
            match &mut sum.value {
                Sum::Decimals { sum, count: n } => match sum.add(&total) {
                    Some(more) => {
                        *sum = more;
                        *n += count;
                        true
                    }
                    None => false,
                },
                Sum::Nothing => {
                    sum.value = Sum::Decimals { sum: total, count };
                    true
                }
                _ => false,
            }
        }
        Some(Data::Double(values)) => {
            let mut added = true;
            each(values, argument, rows, |value| {
                // One after the other: a sum of doubles depends on the order.
                added = added && add_number(&mut sum.value, convert::Number::Double(value)).is_ok();
            });
            added
        }
        _ => false,
    }
}

/// The least or greatest of the values at some places, where they are of a type whose equal values are the same; NULL where all are. `None` for other
/// aggregates and types.
pub(super) fn extreme(a: &Aggregate, argument: &Vector<'_>, rows: &[u16]) -> Option<Value> {
    let least = match a.kind {
        AggregateKind::Min => true,
        AggregateKind::Max => false,
        _ => return None,
    };
    macro_rules! best {
        ($values:expr, $value:expr) => {
            best($values, argument, rows, least).map_or(Value::Null, $value)
        };
    }
    Some(match argument.column()?.data() {
        Data::Int(values) => best!(values, Value::Int),
        Data::UInt(values) => best!(values, Value::UInt),
        Data::Date(values) => best!(values, Value::Date),
        Data::Time(values) => best!(values, Value::Time),
        Data::DateTime(values) => best!(values, Value::DateTime),
        Data::Timestamp(values) => best!(values, Value::Timestamp),
        Data::Decimal(values, scale) => best!(values, |best| Value::Decimal(Decimal::new(best, *scale))),
        _ => return None,
    })
}

#[inline(always)]
fn best<T: Copy + Ord>(values: &[T], argument: &Vector<'_>, rows: &[u16], least: bool) -> Option<T> {
    let mut best = None;
    if least {
        each(values, argument, rows, |value| best = Some(best.map_or(value, |best: T| best.min(value))));
    } else {
        each(values, argument, rows, |value| best = Some(best.map_or(value, |best: T| best.max(value))));
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::column::Column;
    use env::SplitMix64 as Random;
    use types::{Collation, ColumnType, Date};

    fn aggregate(kind: AggregateKind) -> Aggregate {
        Aggregate {
            kind,
            args: Vec::new(),
            distinct: false,
            collation: Collation::DEFAULT,
            ty: ColumnType::bigint(),
            order: Vec::new(),
            separator: Default::default(),
        }
    }

    #[test]
    fn a_run_is_its_values_one_by_one() {
        let seed = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(5);
        println!("SEED={seed}");
        let mut r = Random::new(seed);
        for _ in 0..2_000 {
            let kind = r.below(4);
            let mut column = Column::new();
            for _ in 0..r.below(50) {
                let n = r.below(2_000) as i64 - 1_000;
                match kind {
                    _ if r.below(9) == 0 && kind != 3 => column.push_null(),
                    0 => column.push_int(n * r.pick(&[1, 1 << 50])),
                    1 => column.push_decimal(Decimal::new(i128::from(n) * r.pick(&[1, 1, 1, i128::MAX / 1_001]), 2)),
                    2 => column.push_date(Date::from_fields(2024, 1, (n & 15) as u8 + 1)),
                    _ => column.push_double(n as f64 / 3.0),
                }
            }
            let rows: Vec<u16> = (0..column.len() as u16).filter(|_| r.below(4) > 0).collect();
            let rows = if r.below(2) == 0 { rows } else { (0..column.len() as u16).collect() };
            let of = |at: &u16| column.value(usize::from(*at));
            let values: Vec<Value> = rows.iter().map(of).filter(|value| !value.is_null()).collect();
            let argument = Vector::Shared(&column);
            let mut count = Accumulator::new(&aggregate(AggregateKind::Count));
            assert!(add_run(&aggregate(AggregateKind::Count), &mut count, &argument, &rows));
            assert!(matches!(count.value, Sum::Count(n) if n == values.len() as i64));
            let mut by_run = Accumulator::new(&aggregate(AggregateKind::Sum));
            let mut by_one = by_run.snapshot();
            let added = add_run(&aggregate(AggregateKind::Sum), &mut by_run, &argument, &rows);
            let number = |value: &Value| match value {
                Value::Int(i) => convert::Number::Int(*i),
                Value::Decimal(d) => convert::Number::Decimal(d.clone()),
                Value::Double(d) => convert::Number::Double(*d),
                other => panic!("{other:?}"),
            };
            if kind != 2 && added {
                values.iter().for_each(|value| add_number(&mut by_one.value, number(value)).expect("a sum"));
                match (by_run.value, by_one.value) {
                    (Sum::Integers { sum, count }, Sum::Integers { sum: other, count: n }) => assert_eq!((sum, count), (other, n)),
                    (Sum::Decimals { sum, count }, Sum::Decimals { sum: other, count: n }) => {
                        assert_eq!((sum.compare(&other), count), (Ordering::Equal, n))
                    }
                    (Sum::Doubles { sum, count }, Sum::Doubles { sum: other, count: n }) => {
                        assert_eq!((sum.to_bits(), count), (other.to_bits(), n))
                    }
                    (Sum::Nothing, Sum::Nothing) => assert!(values.is_empty()),
                    _ => panic!("sums of two kinds"),
                }
            } else if !added {
                assert!(kind == 1 || kind == 2 || values.is_empty(), "kind {kind}");
                assert!(matches!(by_run.value, Sum::Nothing), "nothing is done");
            }
            for (kind, least) in [(AggregateKind::Min, true), (AggregateKind::Max, false)] {
                let Some(best) = extreme(&aggregate(kind), &argument, &rows) else { continue };
                let order = |a: &&Value, b: &&Value| match (a, b) {
                    (Value::Int(a), Value::Int(b)) => a.cmp(b),
                    (Value::Decimal(a), Value::Decimal(b)) => a.compare(b),
                    (Value::Date(a), Value::Date(b)) => a.cmp(b),
                    other => panic!("{other:?}"),
                };
                let expect = if least { values.iter().min_by(order) } else { values.iter().max_by(order) };
                assert_eq!(&best, expect.unwrap_or(&Value::Null));
            }
        }
    }
}
