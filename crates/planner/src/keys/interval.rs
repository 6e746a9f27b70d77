//! Intervals of one part of a key as bytes.

use super::BoundValues;
use super::fit::{Fit, fit};
use super::fit_point;
use super::instants::fit_instants;
use crate::expr::{Expr, ExprKind};
use crate::plan::Interval;
use record::KeyPart;
use std::cmp::Ordering;
use types::{ColumnType, LocalTime, TypeKind, Value};

/// Bytes of an interval on one part.
pub(super) struct Bounds {
    /// The least that it holds.
    pub(super) lower: Vec<u8>,
    /// The first behind it; `None`: it goes to the end of what the parts before leave.
    pub(super) upper: Option<Vec<u8>>,
}

/// A side of an interval, in the order of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Low,
    High,
}

/// Where an interval ends on a side: the bytes of a value, and whether it is included.
type End = (Vec<u8>, bool);

/// A part of a key, and how its bounds become bytes.
struct Part<'p> {
    ty: &'p ColumnType,
    part: &'p KeyPart,
    /// It holds beginnings only: a value that is not included may have the same one.
    is_prefix: bool,
    /// "ch" sorts behind "h", its beginning before: nothing bounds it.
    is_unordered: bool,
}

impl Part<'_> {
    fn encode(&self, value: &Value) -> Option<Vec<u8>> {
        if self.is_unordered {
            return None;
        }
        let mut out = Vec::new();
        record::key::try_encode_part(self.ty, self.part, value, &mut out).ok().map(|()| out)
    }

    /// The tightest of the bounds of a side, or none. The inner `None` is the empty interval, the outer one a value that is not known.
    fn end(&self, side: Side, bounds: &[(Expr, bool)], values: &mut dyn BoundValues, exact: &mut bool) -> Option<Option<Option<End>>> {
        let mut tightest = None;
        for (e, included) in bounds {
            let value = values.value(e)?;
            if value.is_null() {
                return Some(None);
            }
            let fitted = match fit(self.ty, &value) {
                Fit::Unusable if self.ty.kind == TypeKind::Timestamp => {
                    let (first, last) = fit_instants(self.ty, &value, values.zone());
                    *exact &= first == last;
                    if side == Side::Low { first } else { last }
                }
                fitted => fitted,
            };
            let end = match (fitted, side) {
                (Fit::Exact(v), _) => self.encode(&v).map(|bytes| (bytes, *included || self.is_prefix)),
                (Fit::Above(v), Side::Low) => self.encode(&v).map(|bytes| (bytes, self.is_prefix)),
                (Fit::Above(v), Side::High) => self.encode(&v).map(|bytes| (bytes, true)),
                (Fit::AboveAll, Side::Low) | (Fit::BelowAll, Side::High) => return Some(None),
                (Fit::BelowAll, Side::Low) | (Fit::AboveAll, Side::High) => continue,
                (Fit::Unusable, _) => None,
            };
            match end {
                Some(end) => tighten(&mut tightest, end, self.part.descending, side),
                None => *exact = false,
            }
        }
        Some(Some(tightest))
    }
}

/// The bytes of an interval on a part. The inner `None` is the empty interval, the outer one a value that is not known.
pub(super) fn interval_bounds(
    ty: &ColumnType,
    part: &KeyPart,
    interval: &Interval,
    values: &mut dyn BoundValues,
    exact: &mut bool,
) -> Option<Option<Bounds>> {
    let is_prefix = part.prefix_chars.is_some();
    let is_unordered = is_prefix && ty.kind.is_string() && !ty.collation.beginnings_keep_order();
    let of = Part { ty, part, is_prefix, is_unordered };
    *exact &= !is_prefix && interval.like.is_none();
    let Some(low) = of.end(Side::Low, &interval.low, values, exact)? else { return Some(None) };
    let Some(high) = of.end(Side::High, &interval.high, values, exact)? else { return Some(None) };
    if let Some((pattern, escape)) = &interval.like {
        match values.value(pattern)? {
            Value::Null => return Some(None),
            Value::Bytes(pattern) => {
                if let Some(literal) = like_prefix(&pattern, *escape)
                    && let Some((lower, upper)) = record::key::string_prefix_bounds(ty, part, &literal)
                {
                    // Bounds are in key order already.
                    return Some(Some(Bounds { lower, upper: Some(upper) }));
                }
            }
            _ => {}
        }
    }
    // NULL is below every value.
    let excludes_null = ty.nullable && (interval.not_null || !interval.low.is_empty());
    let low = low.or_else(|| if excludes_null { of.encode(&Value::Null).map(|null| (null, false)) } else { None });
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
    let upper = last.map(|(bytes, included)| if included { engine::after_prefix(&bytes) } else { bytes });
    Some(Some(Bounds { lower, upper: upper.filter(|upper| !upper.is_empty()) }))
}

/// The bytes of values that an interval leaves out, in their order. The inner `None`: one is NULL, and no value is known to differ from it; the outer one: one is not
/// known. What no row can equal leaves nothing out, and neither does what has no key: it stays in the interval.
pub(super) fn except_bytes(
    ty: &ColumnType,
    part: &KeyPart,
    except: &[Expr],
    values: &mut dyn BoundValues,
    exact: &mut bool,
) -> Option<Option<Vec<Vec<u8>>>> {
    let mut all = Vec::with_capacity(except.len());
    for e in except {
        let value = values.value(e)?;
        if value.is_null() {
            return Some(None);
        }
        let mut bytes = Vec::new();
        match fit_point(ty, &value, &*values) {
            Fit::Exact(v) if part.prefix_chars.is_none() && record::key::try_encode_part(ty, part, &v, &mut bytes).is_ok() => {
                all.push(bytes)
            }
            Fit::Exact(_) | Fit::Unusable => *exact = false,
            Fit::Above(_) | Fit::BelowAll | Fit::AboveAll => {}
        }
    }
    all.sort_unstable();
    all.dedup();
    Some(Some(all))
}

fn tighten(so_far: &mut Option<End>, end: End, descending: bool, side: Side) {
    let Some(current) = so_far else {
        *so_far = Some(end);
        return;
    };
    let order = end.0.cmp(&current.0);
    let order = if descending { order.reverse() } else { order };
    let tighter = match order {
        Ordering::Equal => !end.1,
        Ordering::Greater => side == Side::Low,
        Ordering::Less => side == Side::High,
    };
    if tighter {
        *so_far = Some(end);
    }
}

/// The intervals that values leave which it leaves out, in their order, as far as literals tell it.
pub(crate) fn pieces(ty: &ColumnType, part: &KeyPart, interval: &Interval) -> Vec<Interval> {
    let whole = Interval { except: Vec::new(), ..interval.clone() };
    let bounds = interval_bounds(ty, part, &whole, &mut Literals, &mut true).flatten();
    let is_inside = |bytes: &Vec<u8>| match &bounds {
        Some(Bounds { lower, upper }) => *bytes >= *lower && upper.as_ref().is_none_or(|upper| bytes < upper),
        None => true,
    };
    // What is not known is nowhere in that order: it keeps its place behind the others.
    let place = |e: &Expr| match except_bytes(ty, part, std::slice::from_ref(e), &mut Literals, &mut true) {
        None => Some((true, Vec::new(), e.clone())),
        Some(found) => found?.pop().filter(is_inside).map(|bytes| (false, bytes, e.clone())),
    };
    let mut left_out: Vec<(bool, Vec<u8>, Expr)> = interval.except.iter().filter_map(place).collect();
    left_out.sort_by(|a, b| if part.descending { (a.0, &b.1).cmp(&(b.0, &a.1)) } else { (a.0, &a.1).cmp(&(b.0, &b.1)) });
    left_out.dedup_by(|a, b| !a.0 && a.1 == b.1);
    let mut left = whole;
    let mut pieces = Vec::with_capacity(left_out.len() + 1);
    for (.., value) in left_out {
        let below = Interval { high: vec![(value.clone(), false)], ..left.clone() };
        left.low = vec![(value, false)];
        pieces.push(below);
    }
    pieces.push(left);
    pieces
}

/// What literals say of bounds. The zone matters for no order.
struct Literals;

impl BoundValues for Literals {
    fn value(&mut self, bound: &Expr) -> Option<Value> {
        match &bound.kind {
            ExprKind::Literal(value) => Some(value.clone()),
            _ => None,
        }
    }

    fn zone(&self) -> &dyn LocalTime {
        &types::Utc
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
