//! Symbolic ranges to key bytes: what the executor reads and the planner estimates.

mod fit;
mod instants;
mod interval;
mod whole;

pub use fit::{Fit, fit, holds_text};
pub(crate) use instants::local_time;
pub use interval::like_prefix;
pub(crate) use interval::pieces;
pub use whole::{WholeKeys, whole_keys};

use crate::expr::Expr;
use crate::plan::{Points, PrefixRange, RangeSpec};
use catalog::TableDef;
use engine::KeyRange;
use instants::fit_instants;
use interval::{Bounds, except_bytes, interval_bounds};
use record::KeyPart;
use smallvec::{SmallVec, smallvec};
use types::{ColumnType, LocalTime, TypeKind, Value};

/// Point combinations past which a range list is cut to its leading part.
const COMBINATIONS_MAX: usize = 50_000;

/// Values from which on they are sorted before their keys are made.
const SORTED_MIN: usize = 4;

/// Bytes that most keys have room in, so that they do not grow part by part.
const KEY_BYTES: usize = 32;

/// Where the values of bounds come from: an execution, or what planning knows.
pub trait BoundValues {
    /// The value of a bound; `None` where it is not known.
    fn value(&mut self, bound: &Expr) -> Option<Value>;
    /// The time zone in which a TIMESTAMP is compared with dates.
    fn zone(&self) -> &dyn LocalTime;
}

/// Key ranges of one execution.
#[derive(Debug, Default)]
pub struct KeyRanges {
    /// Sorted, without overlap.
    pub ranges: Vec<KeyRange>,
    /// They hold exactly the rows the spec describes, not more.
    pub exact: bool,
}

/// Evaluates and encodes ranges; sorted and without overlap. `None` when a value is not known.
pub fn key_ranges(def: &TableDef, index_no: usize, spec: &RangeSpec, values: &mut dyn BoundValues) -> Option<KeyRanges> {
    ranges_behind(def, index_no, 0, spec, values)
}

/// [`key_ranges`] of the parts of an index that come behind so many leading ones, whose bytes are left out.
pub fn ranges_behind(def: &TableDef, index_no: usize, leading: usize, spec: &RangeSpec, values: &mut dyn BoundValues) -> Option<KeyRanges> {
    let own = def.indexes[index_no].parts.iter();
    let behind: &[KeyPart] = if index_no == 0 { &[] } else { &def.indexes[0].parts };
    let parts = own.chain(behind).skip(leading);
    let mut out = KeyRanges { ranges: Vec::with_capacity(spec.any.len()), exact: true };
    for prefix in &spec.any {
        one_range(def, parts.clone(), prefix, values, &mut out)?;
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

/// Keys that have the same parts: nearly always one.
type Keys = SmallVec<[Vec<u8>; 1]>;

/// The ranges of all keys that begin with these.
fn prefixes(keys: Keys) -> impl Iterator<Item = KeyRange> {
    keys.into_iter().map(|key| KeyRange { upper: engine::after_prefix(&key), lower: key })
}

/// Values of a part: nearly always one.
type PartValues = SmallVec<[Value; 1]>;

/// The values of points as the part has them, numbers in order: `None` where one is not known, and inside where one bounds nothing.
fn fitted_points(ty: &ColumnType, points: &Points, bounds: &mut dyn BoundValues) -> Option<Option<PartValues>> {
    let mut values = PartValues::with_capacity(points.len());
    for (at, point) in points.iter().enumerate() {
        let value = bounds.value(point)?;
        if value.is_null() {
            if points.is_null_safe(at) && ty.nullable {
                values.push(Value::Null);
            }
            continue;
        }
        match fit_point(ty, &value, &*bounds) {
            Fit::Exact(v) => values.push(v),
            Fit::Unusable => return Some(None),
            _ => {}
        }
    }
    sort_numbers(&mut values);
    Some(Some(values))
}

fn one_range<'d>(
    def: &TableDef,
    mut parts: impl Iterator<Item = &'d KeyPart>,
    prefix: &PrefixRange,
    bounds: &mut dyn BoundValues,
    out: &mut KeyRanges,
) -> Option<()> {
    let mut keys: Keys = smallvec![Vec::with_capacity(KEY_BYTES)];
    for points in &prefix.points {
        let Some(part) = parts.next() else { break };
        let ty = &def.columns[part.column].ty;
        let Some(values) = fitted_points(ty, points, bounds)? else {
            // From here on the range is unbounded.
            out.exact = false;
            out.ranges.extend(prefixes(keys));
            return Some(());
        };
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
                out.ranges.extend(prefixes(keys));
            }
            return Some(());
        }
        let is_held = if let [only] = values.as_slice() {
            // An error leaves the key as it was, and the others would fail alike.
            keys.iter_mut().all(|key| record::key::try_encode_part(ty, part, only, key).is_ok())
        } else {
            let mut next = Keys::with_capacity(keys.len() * values.len());
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
            out.ranges.extend(prefixes(keys));
            return Some(());
        }
    }
    let (Some(interval), Some(part)) = (&prefix.interval, parts.next()) else {
        out.ranges.extend(prefixes(keys));
        return Some(());
    };
    let ty = &def.columns[part.column].ty;
    let Some(Bounds { lower, upper }) = interval_bounds(ty, part, interval, bounds, &mut out.exact)? else { return Some(()) };
    let Some(mut except) = except_bytes(ty, part, &interval.except, bounds, &mut out.exact)? else { return Some(()) };
    if keys.len().saturating_mul(except.len()) > COMBINATIONS_MAX {
        except.clear();
        out.exact = false;
    }
    for mut key in keys {
        let upper = match &upper {
            Some(upper) => [key.as_slice(), upper].concat(),
            None => engine::after_prefix(&key),
        };
        let left_out = Vec::from_iter(except.iter().map(|value| [key.as_slice(), value].concat()));
        key.extend_from_slice(&lower);
        push_pieces(KeyRange { lower: key, upper }, left_out, &mut out.ranges);
    }
    Some(())
}

/// What is left of a range without all keys that begin with some others, which come in order.
fn push_pieces(mut left: KeyRange, left_out: Vec<Vec<u8>>, out: &mut Vec<KeyRange>) {
    for key in left_out {
        if !left.upper.is_empty() && key >= left.upper {
            break;
        }
        let after = engine::after_prefix(&key);
        if key > left.lower {
            out.push(KeyRange { lower: left.lower, upper: key });
        } else if !after.is_empty() && after <= left.lower {
            continue;
        }
        if after.is_empty() {
            return;
        }
        left.lower = after;
    }
    if !left.is_empty() {
        out.push(left);
    }
}

/// Sorts a list of whole numbers: that is much cheaper than to sort their keys ([`merge`]), which then are in order, forward or backward.
fn sort_numbers(values: &mut [Value]) {
    if values.len() <= SORTED_MIN {
        return;
    }
    let signed = |value: &Value| if let Value::Int(n) = value { Some(*n) } else { None };
    let unsigned = |value: &Value| if let Value::UInt(n) = value { Some(*n) } else { None };
    if !sort_as(values, signed, Value::Int) {
        sort_as(values, unsigned, Value::UInt);
    }
}

/// Sorts by plain numbers, where all values are of this kind; whether they are.
fn sort_as<N: Ord>(values: &mut [Value], number: impl Fn(&Value) -> Option<N>, value: impl Fn(N) -> Value) -> bool {
    let Some(mut numbers) = values.iter().map(number).collect::<Option<Vec<N>>>() else { return false };
    if !numbers.is_sorted() {
        numbers.sort_unstable();
        values.iter_mut().zip(numbers).for_each(|(to, n)| *to = value(n));
    }
    true
}

/// [`fit`] of a value that a column is to equal.
fn fit_point(ty: &ColumnType, value: &Value, bounds: &dyn BoundValues) -> Fit {
    match fit(ty, value) {
        Fit::Unusable if ty.kind == TypeKind::Timestamp => match fit_instants(ty, value, bounds.zone()) {
            (first, last) if first == last => first,
            _ => Fit::Unusable,
        },
        fitted => fitted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_sorted_and_joined() {
        let range = |l: &[u8], u: &[u8]| KeyRange { lower: l.to_vec(), upper: u.to_vec() };
        let mut list = vec![range(&[5], &[7]), range(&[1], &[3]), range(&[2], &[4]), range(&[6], &[])];
        merge(&mut list);
        assert_eq!(list, [range(&[1], &[4]), range(&[5], &[])]);
    }

    #[test]
    fn what_is_left_out_divides_a_range() {
        let check = |lower: &[u8], upper: &[u8], left_out: &[&[u8]], expect: &[(&[u8], &[u8])]| {
            let mut out = Vec::new();
            let range = KeyRange { lower: lower.to_vec(), upper: upper.to_vec() };
            push_pieces(range, left_out.iter().map(|key| key.to_vec()).collect(), &mut out);
            let expect: Vec<KeyRange> = expect.iter().map(|(l, u)| KeyRange { lower: l.to_vec(), upper: u.to_vec() }).collect();
            assert_eq!(out, expect, "{lower:?} {upper:?} {left_out:?}");
        };
        check(&[], &[], &[&[5]], &[(&[], &[5]), (&[6], &[])]);
        check(&[3], &[9], &[&[1], &[5], &[6], &[9]], &[(&[3], &[5]), (&[7], &[9])]);
        check(&[3], &[9], &[&[3]], &[(&[4], &[9])]);
        check(&[3, 1], &[9], &[&[3]], &[(&[4], &[9])]);
        check(&[3, 1], &[3, 7], &[&[3]], &[]);
        check(&[3], &[], &[&[255]], &[(&[3], &[255])]);
        check(&[3], &[4], &[], &[(&[3], &[4])]);
        check(&[4], &[4], &[&[1]], &[]);
    }
}
