//! Looks into indexes that a plan's choice rests on, and whether they tell about as much of other values.
//!
//! A plan is kept for all values of its parameters, as its estimates are of one: where an index has two rows of that one, and half of the table of another, another
//! plan is many times better. So the looks are kept with the plan and made again before it runs with other values: a descent or two for each.
//!
//! LIMITs by parameters are kept with it, too: a plan that joins all rows takes hundreds of times as long as one that ends with the third.
//!
//! # Invariants
//! 1. Only looks by parameters are noted. What else estimates rest on is as it was (`Plan::is_outgrown`, `Plan::drifts`).
//! 2. That a plan does not suit costs planning again, and nothing else: plans are right for all values.

use crate::Plan;
use crate::binder::Binder;
use crate::context::PlanContext;
use crate::expr::{Expr, ExprKind};
use crate::keys::{self, BoundValues};
use crate::optimize::number;
use crate::plan::{Access, LimitSpec, PrefixRange, RangeSpec};
use catalog::TableEntry;
use engine::KeyRange;
use types::{LocalTime, Value};

/// Ranges that are looked up in the index for an estimate; the rest is extrapolated.
const RANGES_MAX: usize = 16;
/// Looks, and LIMITs, that are kept with a plan.
const KEPT_MAX: usize = 8;
/// A plan is for values of which there are at most so many times as many rows, or as few.
const FACTOR: f64 = 16.0;
/// Fewer rows than this do not matter.
const ROWS_MIN: f64 = 32.0;

/// A look into an index, by parameters.
#[derive(Clone, Debug)]
pub struct Dive {
    /// Position in [`Plan::tables`].
    pub table: u32,
    /// Index of the table.
    pub index: u32,
    /// Where it looked.
    pub spec: RangeSpec,
    /// Rows that there were.
    pub rows: f64,
}

/// A LIMIT by parameters: whether rows are looked up one by one or joined by hash tables hangs on how many are asked for.
#[derive(Clone, Debug)]
pub struct Limited {
    /// Its bounds.
    pub limit: LimitSpec,
    /// Rows that it took, those that are passed over included.
    pub rows: f64,
}

impl Limited {
    /// Whether about as many rows are asked for by these parameters.
    fn is_near(&self, params: &[Value]) -> bool {
        let known = |e: &Option<Expr>| match e.as_ref().map(|e| &e.kind) {
            None => Some(0.0),
            Some(ExprKind::Literal(value)) => number(value),
            Some(ExprKind::Param(n)) => params.get(*n as usize).and_then(number),
            _ => None,
        };
        let (Some(count), Some(offset)) = (known(&self.limit.count), known(&self.limit.offset)) else { return true };
        is_near(self.rows, count + offset)
    }
}

/// Whether a plan that was made for so many rows is one for so many now.
fn is_near(then: f64, now: f64) -> bool {
    let (then, now) = (then.max(ROWS_MIN), now.max(ROWS_MIN));
    now <= then * FACTOR && then <= now * FACTOR
}

impl Binder<'_> {
    /// Notes a LIMIT that a choice rests on, if it is by parameters.
    pub(crate) fn note_limit(&mut self, limit: &LimitSpec, rows: f64) {
        let is_param = |e: &Expr| matches!(e.kind, ExprKind::Param(_));
        if self.limits.len() < KEPT_MAX && limit.count.iter().chain(&limit.offset).any(is_param) {
            self.limits.push(Limited { limit: limit.clone(), rows });
        }
    }

    /// Notes a look into an index, if it was by parameters.
    pub(crate) fn note_dive(&self, entry: &TableEntry, index: usize, spec: &RangeSpec, rows: f64) {
        let is_by_params = |e: &Expr| e.any(&mut |e| matches!(e.kind, ExprKind::Param(_)));
        let Some(table) = self.tables.iter().position(|known| std::ptr::eq(&**known, entry)) else { return };
        let mut dives = self.dives.borrow_mut();
        // The search asks several times.
        let is_known = |dive: &Dive| (dive.table, dive.index, dive.rows) == (table as u32, index as u32, rows);
        if dives.len() < KEPT_MAX && spec.expressions().any(is_by_params) && !dives.iter().any(is_known) {
            dives.push(Dive { table: table as u32, index: index as u32, spec: spec.clone(), rows });
        }
    }
}

impl Plan {
    /// Forgets looks that decide nothing: of one table alone a range of the primary key is never worse than all rows, however many are in it.
    pub(crate) fn forget_needless_dives(&mut self) {
        let mut is_primary = self.table_nodes == 1;
        self.for_each_table(&mut |node| is_primary &= matches!(node.access, Access::Index { index: 0, .. }));
        if is_primary {
            self.dives = Vec::new();
        }
    }

    /// Whether the indexes tell about as much of the parameters' values at hand as of those that it was made for. Short plans suit all: they read what has to be
    /// read, one row after the other.
    pub fn suits_values(&self, context: &dyn PlanContext) -> bool {
        self.dives.iter().all(|dive| {
            let entry = &self.tables[dive.table as usize];
            let rows = rows_in(context, entry, dive.index as usize, &dive.spec, &mut Given(context));
            is_near(dive.rows, rows.unwrap_or(dive.rows))
        }) && self.limits.iter().all(|limited| limited.is_near(context.params()))
    }
}

/// About how many rows are in ranges of an index; `None` where their bounds are not known.
pub(crate) fn rows_in(
    context: &dyn PlanContext,
    entry: &TableEntry,
    index: usize,
    spec: &RangeSpec,
    values: &mut dyn BoundValues,
) -> Option<f64> {
    if let Some((some, of)) = thinned(spec) {
        return Some(rows_in(context, entry, index, &some, values)? * of);
    }
    let ranges = keys::key_ranges(&entry.def, index, spec, values)?.ranges;
    if ranges.len() > RANGES_MAX && spec.any.iter().any(PrefixRange::is_divided) {
        return rows_around(context, entry, index, &ranges);
    }
    let looked = ranges.len().min(RANGES_MAX);
    let mut rows = 0.0;
    for range in &ranges[..looked] {
        rows += context.estimate(entry, index, range)? as f64;
    }
    Some(if looked > 0 { rows * ranges.len() as f64 / looked as f64 } else { rows })
}

/// Some of a long list of values, or of rows of values, and how many times as many there are: keys need not be made of all to look at a few.
fn thinned(spec: &RangeSpec) -> Option<(RangeSpec, f64)> {
    let is_long = |length: usize| length > 2 * RANGES_MAX;
    if let [prefix] = spec.any.as_slice() {
        let at = prefix.points.iter().position(|points| is_long(points.len()))?;
        let (all, step) = (&prefix.points[at], prefix.points[at].len().div_ceil(RANGES_MAX));
        let some = all.thinned(step);
        let of = all.len() as f64 / some.len() as f64;
        let points = prefix.points.iter().enumerate().map(|(no, points)| if no == at { some.clone() } else { points.clone() });
        let thin = PrefixRange { points: points.collect(), interval: prefix.interval.clone() };
        return Some((RangeSpec { any: vec![thin] }, of));
    }
    if !is_long(spec.any.len()) {
        return None;
    }
    let any: Vec<PrefixRange> = spec.any.iter().step_by(spec.any.len().div_ceil(RANGES_MAX)).cloned().collect();
    let of = spec.any.len() as f64 / any.len() as f64;
    Some((RangeSpec { any }, of))
}

/// About how many rows are in what values leave of a range that they divide: most are before the first and behind the last of them.
fn rows_around(context: &dyn PlanContext, entry: &TableEntry, index: usize, ranges: &[KeyRange]) -> Option<f64> {
    let [first, between @ .., last] = ranges else { return None };
    let ends = context.estimate(entry, index, first)? as f64 + context.estimate(entry, index, last)? as f64;
    let step = between.len().div_ceil(RANGES_MAX - 2).max(1);
    let (mut looked, mut rows) = (0usize, 0.0);
    for range in between.iter().step_by(step) {
        rows += context.estimate(entry, index, range)? as f64;
        looked += 1;
    }
    Some(ends + rows * between.len() as f64 / looked.max(1) as f64)
}

/// Bounds by the parameters at hand.
struct Given<'c>(&'c dyn PlanContext);

impl BoundValues for Given<'_> {
    fn value(&mut self, bound: &Expr) -> Option<Value> {
        match &bound.kind {
            ExprKind::Literal(value) => Some(value.clone()),
            ExprKind::Param(n) => self.0.params().get(*n as usize).cloned(),
            _ if bound.is_settled() => self.0.value_now(bound),
            _ => None,
        }
    }

    fn zone(&self) -> &dyn LocalTime {
        self.0.zone()
    }
}
