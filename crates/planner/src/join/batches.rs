//! Whether the keys of a nested loop's left rows are looked up together: by hints and `optimizer_switch`, as in MySQL. Unlike there it is the rule: the
//! executor looks up together what comes together, for that keeps the order of the rows; `Always` is what EXPLAIN shows.

use crate::binder::{Binder, Relation};
use crate::plan::{Access, JoinKind, KeyBatches, LockMode, TableNode};
use crate::switches::Switch;

impl Binder<'_> {
    /// For the right side of a nested loop of this kind.
    pub(super) fn key_batches(&self, relation: &Relation, table: &TableNode, kind: JoinKind) -> KeyBatches {
        let switches = self.context.switches();
        let hints = relation.batches;
        let by_hints = hints.keys.or(hints.rows.filter(|rows| !rows));
        if by_hints == Some(false) || by_hints.is_none() && !switches.has(Switch::Mrr) {
            return KeyBatches::Never;
        }
        let by_cost = switches.has(Switch::MrrCostBased) && hints.rows != Some(true);
        let asked = hints.keys == Some(true) || switches.has(Switch::BatchedKeyAccess) && !by_cost;
        let always =
            asked && matches!(kind, JoinKind::Inner | JoinKind::Left) && fetches_rows_of_keys(table) && relation.lock == LockMode::None;
        if always { KeyBatches::Always } else { KeyBatches::ByCost }
    }
}

/// Whether rows are behind entries that keys lead to: what MySQL makes batches for.
fn fetches_rows_of_keys(table: &TableNode) -> bool {
    let Access::Index { index, ranges: Some(spec), backward: false, first_only: false, .. } = &table.access else { return false };
    let [prefix] = spec.any.as_slice() else { return false };
    let keys = prefix.interval.is_none() && !prefix.points.is_empty() && prefix.points.iter().all(|point| point.len() == 1);
    *index != 0 && keys && !table.is_covering() && table.keep_key.is_none()
}
