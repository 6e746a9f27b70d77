//! Index merge: rows that several indexes find, each by ranges of its own, taken together by their primary keys.
//!
//! A disjunction over columns of several indexes (`a = 1 OR b = 2`) is their union; a conjunction, where neither index finds few rows and both
//! together do, is their intersection. Each arm is read from its index's entries alone; the rows are fetched once, afterwards, in
//! the order of the primary key. The condition stays in the filter, as with any range.

use super::{Binder, FETCH_COST, Path, SEEK_COST, TableScope};
use crate::expr::{Expr, ExprKind};
use crate::plan::{MergeArm, MergeKind};
use crate::ranges::{Ranges, Sargs};
use crate::switches::Switch;
use catalog::TableEntry;

/// Cost of an entry that an arm reads, keeps and sorts.
const KEPT_ENTRY_COST: f64 = 1.5;
/// Arms of a disjunction past which nobody would look through so many indexes.
const ARMS_MAX: usize = 16;

/// How a path merges indexes.
#[derive(Clone, Debug)]
pub struct Merge {
    /// Whether a row is in any arm, or in all.
    pub kind: MergeKind,
    /// What each index reads.
    pub arms: Vec<MergeArm>,
}

/// An arm, and how many entries it reads.
struct Arm {
    index: u32,
    ranges: Ranges,
    rows: f64,
    /// Its entries come in the order of the primary key: one value for all parts of the index.
    in_order: bool,
}

impl Binder<'_> {
    /// The best union or intersection of indexes; `allowed` says which may be used.
    pub(super) fn merge_path(
        &self,
        entry: &TableEntry,
        conditions: &[Expr],
        scope: &TableScope<'_>,
        total: f64,
        allowed: &dyn Fn(u32) -> bool,
    ) -> Option<Path> {
        let switches = self.context.switches();
        if !switches.has(Switch::IndexMerge) {
            return None;
        }
        let mut best: Option<Path> = None;
        let mut consider = |path: Path| {
            if best.as_ref().is_none_or(|b| path.cost < b.cost) {
                best = Some(path);
            }
        };
        for condition in conditions {
            if let ExprKind::Or(branches) = &condition.kind
                && branches.len() <= ARMS_MAX
                && let Some(path) = self.union_path(entry, branches, scope, total, allowed)
            {
                consider(path);
            }
        }
        if switches.has(Switch::IndexMergeIntersection) {
            self.intersection_path(entry, conditions, scope, total, allowed).into_iter().for_each(consider);
        }
        best
    }

    fn union_path(
        &self,
        entry: &TableEntry,
        branches: &[Expr],
        scope: &TableScope<'_>,
        total: f64,
        allowed: &dyn Fn(u32) -> bool,
    ) -> Option<Path> {
        let switches = self.context.switches();
        let arms = branches
            .iter()
            .map(|branch| {
                let arms = self.arms(entry, std::slice::from_ref(branch), scope, total, allowed);
                arms.into_iter().min_by(|a, b| a.rows.total_cmp(&b.rows))
            })
            .collect::<Option<Vec<Arm>>>()?;
        // Ranges of one index are one scan.
        if arms.iter().all(|arm| arm.index == arms[0].index) {
            return None;
        }
        let in_order = arms.iter().all(|arm| arm.in_order);
        let (kind, switch) =
            if in_order { (MergeKind::Union, Switch::IndexMergeUnion) } else { (MergeKind::SortUnion, Switch::IndexMergeSortUnion) };
        let rows: f64 = arms.iter().map(|arm| arm.rows).sum::<f64>().min(total);
        switches.has(switch).then(|| path(kind, arms, rows))
    }

    /// Of two indexes whose parts all have one value: more rarely pay.
    fn intersection_path(
        &self,
        entry: &TableEntry,
        conditions: &[Expr],
        scope: &TableScope<'_>,
        total: f64,
        allowed: &dyn Fn(u32) -> bool,
    ) -> Option<Path> {
        let mut arms = self.arms(entry, conditions, scope, total, &|no| no != 0 && allowed(no));
        arms.retain(|arm| arm.in_order);
        arms.sort_by(|a, b| a.rows.total_cmp(&b.rows));
        let first = arms.first()?;
        let columns = |arm: &Arm| -> Vec<usize> { entry.def.indexes[arm.index as usize].parts.iter().map(|part| part.column).collect() };
        // Of the same columns they would say the same.
        let taken = columns(first);
        let second = arms.iter().skip(1).position(|arm| columns(arm).iter().all(|column| !taken.contains(column)))? + 1;
        let (second, first) = (arms.swap_remove(second), arms.swap_remove(0));
        let rows = (first.rows * second.rows / total.max(1.0)).max(1.0);
        Some(path(MergeKind::Intersection, vec![first, second], rows))
    }

    /// What each index finds by these conditions.
    fn arms(&self, entry: &TableEntry, conditions: &[Expr], scope: &TableScope<'_>, total: f64, allowed: &dyn Fn(u32) -> bool) -> Vec<Arm> {
        let sargs = Sargs::collect(conditions, scope);
        let mut arms = Vec::new();
        for (no, index) in entry.def.indexes.iter().enumerate() {
            if !allowed(no as u32) || index.parts.is_empty() {
                continue;
            }
            let parts: Vec<(u32, bool)> = index.parts.iter().map(|part| (part.column as u32, part.prefix_chars.is_some())).collect();
            let Some(ranges) = sargs.ranges_for(&parts) else { continue };
            let unique = index.unique && ranges.point_parts >= parts.len() && parts.iter().all(|part| !part.1);
            let unique = unique && super::all_points_not_null(&ranges, parts.len());
            let rows = self.estimate_rows(entry, no, &ranges, parts.len(), unique, total);
            let in_order = ranges.single && !ranges.has_interval && ranges.point_parts == parts.len();
            arms.push(Arm { index: no as u32, ranges, rows, in_order });
        }
        arms
    }
}

fn path(kind: MergeKind, arms: Vec<Arm>, rows: f64) -> Path {
    let gathered: f64 = arms.iter().map(|arm| SEEK_COST * arm.ranges.spec.any.len().max(1) as f64 + arm.rows * KEPT_ENTRY_COST).sum();
    let arms = arms.into_iter().map(|arm| MergeArm { index: arm.index, ranges: arm.ranges.spec }).collect();
    Path {
        index: None,
        ranges: None,
        covering: false,
        unique: false,
        rows,
        cost: gathered + rows * FETCH_COST,
        backward: false,
        ordered: false,
        merge: Some(Merge { kind, arms }),
        asks_entries: false,
    }
}
