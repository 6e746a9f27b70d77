//! Histograms of columns: how their values are spread, for estimates of conditions that no index tells about.
//!
//! # Invariants
//! 1. Buckets are in the order of the column's values, and their shares add up: each tells the share of all rows up to its end, NULLs left out.
//! 2. A histogram says how things were when it was made. It is part of the column's definition, so that it goes when the column does, or gets another
//!    type.

use crate::codec::{Result, put_value, value};
use crate::def::{ColumnDef, TableDef};
use base::{Malformed, Reader, put_u8, put_varint};
use std::cmp::Ordering;
use types::{ColumnType, CompareClass, CompareContext, Utc, Value};

/// Most buckets a histogram may have.
pub const BUCKETS_MAX: u32 = 1024;

const IS_EQUI_HEIGHT: u8 = 1;
const IS_AUTO_UPDATED: u8 = 2;

/// How the values of a column are spread.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// How many buckets were asked for.
    pub buckets_asked: u32,
    /// When it was made: microseconds since the epoch.
    pub updated_micros: i64,
    /// Share of the rows that were looked at.
    pub sampling_rate: f64,
    /// Share of NULLs.
    pub nulls: f64,
    /// ANALYZE TABLE makes it anew.
    pub auto_update: bool,
    /// A bucket may hold several values.
    pub equi_height: bool,
    /// The buckets.
    pub buckets: Vec<Bucket>,
}

/// Values next to each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Bucket {
    /// The smallest.
    pub low: Value,
    /// The largest.
    pub high: Value,
    /// Share of the rows that have it or a smaller one.
    pub cumulative: f64,
    /// How many different values it holds.
    pub distinct: u64,
}

/// Orders values of a column, or a column's values and a constant's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    class: CompareClass,
}

impl Order {
    /// The order of a column's own values.
    pub fn of(ty: &ColumnType) -> Order {
        Order { class: CompareClass::of(ty, ty, ty.collation) }
    }

    /// How the column's values compare with those of another type; `None` where that is another order than their own.
    pub fn with(ty: &ColumnType, other: &ColumnType) -> Option<Order> {
        let class = CompareClass::of(ty, other, ty.collation);
        let is_text = |class| matches!(class, CompareClass::String(_));
        (is_text(class) == is_text(Order::of(ty).class)).then_some(Order { class })
    }

    /// The beginning of a text as a number: texts whose numbers differ compare as these do. `None` of all else.
    pub fn head(self, value: &Value) -> Option<u64> {
        match (self.class, value) {
            (CompareClass::String(collation), Value::Bytes(text)) => Some(collation.key_head(text)),
            _ => None,
        }
    }

    /// Compares two values that are not NULL; instants as they are, whatever the session's zone.
    pub fn compare(self, a: &Value, b: &Value) -> Option<Ordering> {
        types::compare(self.class, a, b, &CompareContext { zone: &Utc, now_micros: 0 })
    }
}

impl Histogram {
    /// Makes one of what was found in a column: `values` without NULLs, in any order.
    pub fn of(ty: &ColumnType, mut values: Vec<Value>, nulls: u64, buckets_asked: u32) -> Histogram {
        let order = Order::of(ty);
        values.sort_by(|a, b| order.compare(a, b).unwrap_or(Ordering::Equal));
        let total = (values.len() as u64 + nulls).max(1) as f64;
        // Runs of equal values: where they begin.
        let mut starts: Vec<usize> = Vec::new();
        for at in 0..values.len() {
            if at == 0 || order.compare(&values[at - 1], &values[at]) != Some(Ordering::Equal) {
                starts.push(at);
            }
        }
        let equi_height = starts.len() > buckets_asked as usize;
        let mut buckets: Vec<Bucket> = Vec::new();
        let mut run = 0;
        while run < starts.len() {
            let end_of = |run: usize| starts.get(run + 1).copied().unwrap_or(values.len());
            let mut last = run;
            if equi_height {
                // As many runs as come nearest to an even share of what is left.
                let left = (buckets_asked as usize).saturating_sub(buckets.len()).max(1);
                let share = (values.len() - starts[run]).div_ceil(left);
                while last + 1 < starts.len() && end_of(last + 1) - starts[run] <= share && starts.len() - (last + 1) > left - 1 {
                    last += 1;
                }
                if left == 1 {
                    last = starts.len() - 1;
                }
            }
            buckets.push(Bucket {
                low: values[starts[run]].clone(),
                high: values[starts[last]].clone(),
                cumulative: end_of(last) as f64 / total,
                distinct: (last - run + 1) as u64,
            });
            run = last + 1;
        }
        let nulls = nulls as f64 / total;
        Histogram { buckets_asked, updated_micros: 0, sampling_rate: 1.0, nulls, auto_update: false, equi_height, buckets }
    }

    /// Share of the rows whose value is just this one.
    pub fn equal(&self, order: Order, value: &Value) -> Option<f64> {
        let mut before = 0.0;
        for bucket in &self.buckets {
            let share = bucket.cumulative - before;
            before = bucket.cumulative;
            if order.compare(&bucket.high, value)? == Ordering::Less {
                continue;
            }
            let inside = order.compare(&bucket.low, value)? != Ordering::Greater;
            return Some(if inside { share / bucket.distinct.max(1) as f64 } else { 0.0 });
        }
        Some(0.0)
    }

    /// Share of the rows whose value is smaller, or (`included`) the same.
    pub fn below(&self, order: Order, value: &Value, included: bool) -> Option<f64> {
        let mut before = 0.0;
        for bucket in &self.buckets {
            let share = bucket.cumulative - before;
            match order.compare(&bucket.high, value)? {
                Ordering::Less => before = bucket.cumulative,
                Ordering::Equal if included => return Some(bucket.cumulative),
                Ordering::Equal => return Some(bucket.cumulative - share / bucket.distinct.max(1) as f64),
                Ordering::Greater => {
                    return Some(match order.compare(&bucket.low, value)? {
                        Ordering::Greater => before,
                        Ordering::Equal if !included => before,
                        Ordering::Equal => before + share / bucket.distinct.max(1) as f64,
                        Ordering::Less => before + share * part(&bucket.low, &bucket.high, value),
                    });
                }
            }
        }
        Some(before)
    }

    /// Share of the rows that are not NULL.
    pub fn not_null(&self) -> f64 {
        1.0 - self.nulls
    }
}

/// Where a value stands between two others, from 0 to 1: in the middle, where it cannot be told.
fn part(low: &Value, high: &Value, value: &Value) -> f64 {
    // Days, not digits: the last of a year and the first of the next are not far from each other.
    let moment = |at: types::DateTime| Some(at.date().to_days()? as f64 + at.micros_of_day() as f64 / 86_400e6);
    let place = |value: &Value| match value {
        Value::Date(date) => date.to_days().map(|days| days as f64),
        Value::DateTime(at) => moment(*at),
        Value::Bytes(text) => match types::parse_datetime(text, types::SqlMode::NONE) {
            Some(at) if matches!(low, Value::Date(_) | Value::DateTime(_)) => moment(at),
            _ => None,
        },
        Value::Null | Value::Json(_) => None,
        number => Some(types::to_f64(number)),
    };
    match (place(low), place(high), place(value)) {
        (Some(low), Some(high), Some(value)) if high > low => ((value - low) / (high - low)).clamp(0.0, 1.0),
        _ => 0.5,
    }
}

/// A histogram in its section: behind the position of its column.
pub(crate) fn encode(ty: &ColumnType, histogram: &Histogram, out: &mut Vec<u8>) {
    let flags = (u8::from(histogram.equi_height) * IS_EQUI_HEIGHT) | (u8::from(histogram.auto_update) * IS_AUTO_UPDATED);
    put_u8(out, flags);
    put_varint(out, u64::from(histogram.buckets_asked));
    put_varint(out, histogram.updated_micros as u64);
    put_share(out, histogram.sampling_rate);
    put_share(out, histogram.nulls);
    put_varint(out, histogram.buckets.len() as u64);
    for bucket in &histogram.buckets {
        put_value(out, ty, &bucket.low);
        if histogram.equi_height {
            put_value(out, ty, &bucket.high);
            put_varint(out, bucket.distinct);
        }
        put_share(out, bucket.cumulative);
    }
}

fn put_share(out: &mut Vec<u8>, share: f64) {
    out.extend_from_slice(&share.to_bits().to_le_bytes());
}

fn share(r: &mut Reader<'_>) -> Result<f64> {
    let mut bits = [0; 8];
    for byte in &mut bits {
        *byte = r.u8()?;
    }
    let share = f64::from_bits(u64::from_le_bytes(bits));
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err(Malformed) }
}

pub(crate) fn decode(r: &mut Reader<'_>, ty: &ColumnType) -> Result<Histogram> {
    let flags = r.u8()?;
    if flags & !(IS_EQUI_HEIGHT | IS_AUTO_UPDATED) != 0 {
        return Err(Malformed);
    }
    let equi_height = flags & IS_EQUI_HEIGHT != 0;
    let buckets_asked = u32::try_from(r.varint()?).map_err(|_| Malformed)?;
    let updated_micros = r.varint()? as i64;
    let (sampling_rate, nulls) = (share(r)?, share(r)?);
    let count = r.varint()?;
    if count > u64::from(BUCKETS_MAX) {
        return Err(Malformed);
    }
    let mut buckets = Vec::new();
    for _ in 0..count {
        let low = value(r, ty)?;
        let (high, distinct) = if equi_height { (value(r, ty)?, r.varint()?) } else { (low.clone(), 1) };
        buckets.push(Bucket { low, high, cumulative: share(r)?, distinct });
    }
    Ok(Histogram { buckets_asked, updated_micros, sampling_rate, nulls, auto_update: flags & IS_AUTO_UPDATED != 0, equi_height, buckets })
}

/// Whether a definition has histograms.
pub fn has_histograms(def: &TableDef) -> bool {
    def.columns.iter().any(|column: &ColumnDef| column.histogram.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(values: impl IntoIterator<Item = i64>) -> Vec<Value> {
        values.into_iter().map(Value::Int).collect()
    }

    #[test]
    fn few_values_have_a_bucket_each() {
        let histogram = Histogram::of(&ColumnType::int(), ints([3, 1, 3, 3]), 4, 8);
        assert!(!histogram.equi_height);
        let shares: Vec<(Value, f64)> = histogram.buckets.iter().map(|b| (b.low.clone(), b.cumulative)).collect();
        assert_eq!(shares, [(Value::Int(1), 0.125), (Value::Int(3), 0.5)]);
        assert_eq!(histogram.nulls, 0.5);
    }

    /// The shares that a histogram tells beside those that are.
    #[test]
    fn shares_are_near_those_of_the_values() {
        let ty = ColumnType::int();
        let order = Order::of(&ty);
        // Many small values, few large ones.
        let values: Vec<i64> = (0..10_000).map(|i: i64| i * i / 10_000).collect();
        for buckets in [1, 7, 100, 1024] {
            let histogram = Histogram::of(&ty, ints(values.iter().copied()), 0, buckets);
            assert!(histogram.equi_height && histogram.buckets.len() <= buckets as usize, "{buckets}");
            assert!((histogram.buckets.last().unwrap().cumulative - 1.0).abs() < 1e-9);
            let distinct: std::collections::BTreeSet<i64> = values.iter().copied().collect();
            assert_eq!(histogram.buckets.iter().map(|b| b.distinct).sum::<u64>(), distinct.len() as u64, "{buckets}");
            for at in [0, 10, 99, 5_000, 9_998, 20_000] {
                let is = values.iter().filter(|v| **v < at).count() as f64 / 10_000.0;
                let told = histogram.below(order, &Value::Int(at), false).unwrap();
                assert!((is - told).abs() <= 1.0 / f64::from(buckets) + 0.01, "{buckets} buckets, below {at}: {told}, not {is}");
            }
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for (ty, values) in [
            (ColumnType::int(), ints(0..50)),
            (ColumnType::varchar(20, types::Collation::DEFAULT), (0..50).map(|i| Value::from(format!("v{i}"))).collect()),
        ] {
            for buckets in [3, 100] {
                let histogram =
                    Histogram { auto_update: buckets == 3, updated_micros: 77, ..Histogram::of(&ty, values.clone(), 3, buckets) };
                let mut bytes = Vec::new();
                encode(&ty, &histogram, &mut bytes);
                assert_eq!(decode(&mut Reader::new(&bytes), &ty), Ok(histogram));
                for end in 0..bytes.len() {
                    assert!(decode(&mut Reader::new(&bytes[..end]), &ty).is_err());
                }
            }
        }
    }
}
