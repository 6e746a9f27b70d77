//! Index merge: rows that several indexes find, each by ranges of its own, taken together by their primary keys.
//!
//! A disjunction over columns of several indexes (`a = 1 OR b = 2`) is their union; a conjunction, where neither index finds few rows and both
//! together do, is their intersection. Each arm is read from its index's entries alone; the rows are fetched once, afterwards, in
//! the order of the primary key. The condition stays in the filter, as with any range.

use super::{Binder, FETCH_COST, Path, SEEK_COST, TableRead, range_parts};
use crate::expr::{Expr, ExprKind};
use crate::hints::Way;
use crate::plan::{LockMode, LockWait, MergeArm, MergeKind};
use crate::ranges::{Ranges, Sargs};
use crate::switches::Switch;
use catalog::{IndexDef, TableEntry};
use std::rc::Rc;

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
    /// Entries that they read together.
    pub found: f64,
}

/// An arm.
struct Arm {
    index: u32,
    ranges: Rc<Ranges>,
}

impl Arm {
    /// Whether its entries come in the order of the primary key: one value for all parts of the index.
    fn is_in_order(&self, entry: &TableEntry) -> bool {
        let parts = entry.def.indexes[self.index as usize].parts.len();
        self.ranges.single && !self.ranges.has_interval && self.ranges.point_parts == parts
    }
}

impl Binder<'_> {
    /// The best union or intersection of indexes, and whether a hint wants one.
    pub(super) fn merge_path(&self, of: &TableRead<'_>) -> Option<(Path, bool)> {
        let TableRead { entry, relation, .. } = of;
        let hinted = !relation.ways.is_empty()
            && (0..entry.def.indexes.len() as u32).any(|no| relation.wants_way(Way::IndexMerge, no) == Some(true));
        let switches = self.context.switches();
        let on = |switch: Switch| hinted || switches.has(switch);
        // Who leaves locked rows out wants few of many: rows that are gathered first would be locked for nobody.
        let skips_locked = matches!(relation.lock, LockMode::Share(LockWait::SkipLocked) | LockMode::Exclusive(LockWait::SkipLocked));
        // To `sql_safe_updates` several indexes are none.
        let refused = relation.keep_key.is_some() && self.context.safe_updates();
        if !on(Switch::IndexMerge) || skips_locked || refused {
            return None;
        }
        let mut best: Option<Path> = None;
        let mut consider = |mut path: Path| {
            if of.locks {
                // Each row that an arm finds is fetched, to be locked.
                path.cost += path.merge.iter().map(|merge| merge.found).sum::<f64>() * FETCH_COST;
            }
            if best.as_ref().is_none_or(|b| path.cost < b.cost) {
                best = Some(path);
            }
        };
        for condition in of.conditions {
            if let ExprKind::Or(branches) = &condition.kind
                && branches.len() <= ARMS_MAX
                && let Some(path) = self.union_path(of, branches, &on)
            {
                consider(path);
            }
        }
        // With the rows of one arm fetched for their locks, the other saves nothing.
        if on(Switch::IndexMergeIntersection) && (hinted || !of.locks) {
            self.intersection_path(of).into_iter().for_each(consider);
        }
        best.map(|path| (path, hinted))
    }

    fn union_path(&self, of: &TableRead<'_>, branches: &[Expr], on: &dyn Fn(Switch) -> bool) -> Option<Path> {
        let found: Vec<Vec<Arm>> =
            branches.iter().map(|branch| arms(of, &Sargs::collect(std::slice::from_ref(branch), of.scope))).collect();
        // Every branch needs an index; and ranges of one index are one scan.
        let first = found.first()?.first()?.index;
        if found.iter().any(Vec::is_empty) || found.iter().flatten().all(|arm| arm.index == first) {
            return None;
        }
        let least = |arms: Vec<Arm>| self.counted(of, arms).into_iter().min_by(|a, b| a.1.total_cmp(&b.1));
        let arms = found.into_iter().map(least).collect::<Option<Vec<(Arm, f64)>>>()?;
        if arms.iter().all(|(arm, _)| arm.index == arms[0].0.index) {
            return None;
        }
        let in_order = arms.iter().all(|(arm, _)| arm.is_in_order(of.entry));
        let (kind, switch) =
            if in_order { (MergeKind::Union, Switch::IndexMergeUnion) } else { (MergeKind::SortUnion, Switch::IndexMergeSortUnion) };
        let rows: f64 = arms.iter().map(|(_, rows)| rows).sum::<f64>().min(of.total);
        on(switch).then(|| path(kind, arms, rows))
    }

    /// Of two indexes whose parts all have one value: more rarely pay.
    fn intersection_path(&self, of: &TableRead<'_>) -> Option<Path> {
        let mut arms = arms(of, of.sargs);
        arms.retain(|arm| arm.index != 0 && arm.is_in_order(of.entry));
        // Before anything is counted: most statements have one index or none.
        if arms.len() < 2 {
            return None;
        }
        let mut arms = self.counted(of, arms);
        arms.sort_by(|a, b| a.1.total_cmp(&b.1));
        let columns = |arm: &Arm| -> Vec<usize> { of.entry.def.indexes[arm.index as usize].parts.iter().map(|part| part.column).collect() };
        // Of the same columns they would say the same.
        let taken = columns(&arms[0].0);
        let second = arms.iter().skip(1).position(|(arm, _)| columns(arm).iter().all(|column| !taken.contains(column)))? + 1;
        let (second, first) = (arms.swap_remove(second), arms.swap_remove(0));
        let rows = (first.1 * second.1 / of.total.max(1.0)).max(1.0);
        Some(path(MergeKind::Intersection, vec![first, second], rows))
    }

    /// Arms with the entries that each reads.
    fn counted(&self, of: &TableRead<'_>, arms: Vec<Arm>) -> Vec<(Arm, f64)> {
        let count = |arm: Arm| {
            let index = &of.entry.def.indexes[arm.index as usize];
            let parts = &index.parts;
            let unique = index.unique
                && arm.ranges.point_parts >= parts.len()
                && parts.iter().all(|part| part.prefix_chars.is_none())
                && super::all_points_not_null(&arm.ranges, parts.len());
            let rows = self.estimate_rows(of.entry, arm.index as usize, &arm.ranges, parts.len(), unique, of.total);
            (arm, rows)
        };
        arms.into_iter().map(count).collect()
    }
}

/// What each index finds.
fn arms(of: &TableRead<'_>, sargs: &Sargs) -> Vec<Arm> {
    let allowed = |no: u32| of.allows(no) && of.relation.wants_way(Way::IndexMerge, no) != Some(false);
    let indexes = of.entry.def.indexes.iter().enumerate().filter(|(no, index)| allowed(*no as u32) && !index.parts.is_empty());
    let arm = |(no, index): (usize, &IndexDef)| Some(Arm { index: no as u32, ranges: sargs.ranges_for(&range_parts(index))? });
    indexes.filter_map(arm).collect()
}

fn path(kind: MergeKind, arms: Vec<(Arm, f64)>, rows: f64) -> Path {
    let found = arms.iter().map(|(_, rows)| rows).sum();
    let gathered: f64 = arms.iter().map(|(arm, rows)| SEEK_COST * arm.ranges.spec.any.len().max(1) as f64 + rows * KEPT_ENTRY_COST).sum();
    let arms = arms.into_iter().map(|(arm, _)| MergeArm { index: arm.index, ranges: arm.ranges.spec.clone() }).collect();
    Path { rows, cost: gathered + rows * FETCH_COST, merge: Some(Merge { kind, arms, found }), ..Path::default() }
}
