//! Hash joins whose table is made of what is placed already, because that is much less than the item that joins it: the item's rows probe then.

use super::{BUILD_COST, Group, ItemKind, PROBE_COST};
use crate::binder::{Binder, Relation};
use crate::expr::{Expr, Slot};
use crate::plan::{HashJoin, JoinKind};

/// Rows of an item from which on it pays to look.
const ITEM_ROWS_MIN: f64 = 1000.0;
/// How many times more an item has at least: the number of rows that are placed is an estimate of estimates, and more columns are kept of each.
const TIMES_MORE: f64 = 4.0;

/// Cost of a hash join beside that of reading both sides.
pub(super) fn hash_cost(rows: f64, item_rows: f64, turned: bool) -> f64 {
    let (build, probe) = if turned { (rows, item_rows) } else { (item_rows, rows) };
    build * BUILD_COST + probe * PROBE_COST
}

impl Group {
    /// Whether a hash join of so many rows of `placed` items with an item is turned. The order in which tables are read changes: nobody may have asked for it.
    pub(super) fn turns(&self, relations: &[Relation], placed: u64, item: usize, rows: f64, item_rows: f64) -> bool {
        let reads = |at: usize| matches!(self.items[at].kind, ItemKind::Relation(_)) && !self.items[at].is_locked(relations);
        let members = (0..self.items.len()).filter(|at| placed >> at & 1 == 1 || *at == item);
        self.items[item].join == JoinKind::Inner
            && item_rows >= ITEM_ROWS_MIN
            && rows * TIMES_MORE <= item_rows
            && !self.straight
            && self.sequences.is_empty()
            && self.hints.is_empty()
            && members.into_iter().all(reads)
    }
}

impl Binder<'_> {
    /// Turns a hash join with an item: the table is made of what is `placed`.
    pub(super) fn turn(&self, join: HashJoin, relations: &[Relation], group: &Group, placed: u64) -> HashJoin {
        let items = || group.items.iter().enumerate().filter(|(at, _)| placed >> at & 1 == 1).map(|(_, item)| item);
        let mut exprs: Vec<Expr> = group.conjuncts.clone();
        items().for_each(|item| exprs.extend(item.on.iter().cloned()));
        let mut outer_slots: Vec<Slot> = items().flat_map(|item| self.foreign_slots(relations, item, group, &exprs)).collect();
        outer_slots.sort_unstable();
        outer_slots.dedup();
        HashJoin {
            probe: join.build,
            build: join.probe,
            probe_keys: join.build_keys,
            build_keys: join.probe_keys,
            // Of who was only to be there, or not, nothing is left; of who was missing, NULL.
            build_slots: items()
                .filter(|item| matches!(item.join, JoinKind::Inner | JoinKind::Left) || item.is_missing)
                .flat_map(|item| item.slots.iter().copied())
                .collect(),
            outer_slots,
            ..join
        }
    }
}
