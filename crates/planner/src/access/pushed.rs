//! Conditions that an index's entries can be asked before the rows behind them are fetched (MySQL: index condition pushdown).
//!
//! The conditions stay in the table's filter; what is pushed only saves fetching rows that would not pass. So only what neither warns
//! nor fails is pushed: it is evaluated twice for rows that pass.

use super::{Binder, FETCH_COST, Path};
use crate::binder::Relation;
use crate::conditions::conjunction;
use crate::expr::{Expr, ExprKind, Slot};
use crate::logical::slots_of;
use crate::plan::KeyFilter;
use crate::ranges::Said;
use catalog::TableEntry;
use record::KeyRestore;

/// Cost of asking an entry.
const ASKED_ENTRY_COST: f64 = 1.5;
/// A condition that most entries satisfy is not worth asking.
const WORTH_SHARE: f64 = 0.75;

impl Binder<'_> {
    /// Makes a path ask its entries where that is worth it: wherever a query locks rows, for those that are refused are not. (As in MySQL; its UPDATE and DELETE
    /// do not ask.)
    pub(super) fn ask_entries(&self, path: &mut Path, entry: &TableEntry, relation: &Relation, conditions: &[Expr], locks: bool) {
        let (Some(index), Some(ranges)) = (path.index, &path.ranges) else { return };
        let mut share = 1.0;
        for (condition, said) in conditions.iter().zip(&ranges.said) {
            // What the ranges say already is known of every entry.
            if *said == Said::Nothing && self.is_of_entries(entry, index, relation, condition) {
                path.asks_entries |= locks;
                share *= self.shares(relation, std::slice::from_ref(condition)).iter().product::<f64>();
            }
        }
        if share <= WORTH_SHARE && !locks {
            path.asks_entries = true;
            path.cost -= path.rows * (FETCH_COST - ASKED_ENTRY_COST - share * FETCH_COST).max(0.0);
        }
    }

    /// What a path's entries are asked.
    pub(crate) fn key_filter(&self, entry: &TableEntry, index: u32, relation: &Relation, conditions: &[Expr]) -> Option<Box<KeyFilter>> {
        let asked: Vec<Expr> = conditions.iter().filter(|c| self.is_of_entries(entry, index, relation, c)).cloned().collect();
        let mut slots: Vec<Slot> = Vec::new();
        asked.iter().for_each(|condition| slots_of(condition, &self.subplans, &mut slots));
        slots.sort_unstable();
        slots.dedup();
        let columns: Vec<(u32, Slot)> = slots.iter().filter_map(|slot| Some((relation.column_of(*slot)? as u32, *slot))).collect();
        let parts = &entry.storage.indexes[index as usize].full_parts;
        let restore = KeyRestore::new(entry.storage.layout(), parts, columns.iter().map(|(column, _)| *column as usize))?;
        Some(Box::new(KeyFilter { restore, columns, filter: conjunction(asked)? }))
    }

    /// Whether an index's entries alone tell a condition, without a warning or an error.
    fn is_of_entries(&self, entry: &TableEntry, index: u32, relation: &Relation, condition: &Expr) -> bool {
        if !is_plain(condition) {
            return false;
        }
        let mut slots = Vec::new();
        slots_of(condition, &self.subplans, &mut slots);
        let columns: Option<Vec<usize>> = slots.iter().map(|slot| relation.column_of(*slot)).collect();
        let Some(columns) = columns.filter(|columns| !columns.is_empty()) else { return false };
        KeyRestore::is_possible(entry.storage.layout(), &entry.storage.indexes[index as usize].full_parts, columns)
    }
}

/// Comparisons of columns with constants, and what combines them.
fn is_plain(e: &Expr) -> bool {
    let itself = matches!(
        e.kind,
        ExprKind::Literal(_)
            | ExprKind::Param(_)
            | ExprKind::Slot(_)
            | ExprKind::Compare(..)
            | ExprKind::And(_)
            | ExprKind::Or(_)
            | ExprKind::Not(_)
            | ExprKind::IsNull { .. }
            | ExprKind::Between { .. }
            | ExprKind::InList { .. }
            | ExprKind::Like { .. }
    );
    let mut all = itself;
    e.for_each_child(&mut |child| all = all && is_plain(child));
    all
}
