//! What rows of a large table tell of those they refer to: how many of them lead to rows that pass the conditions on the other table.
//!
//! `keyword = 'sequel'` finds one row of four thousand, and a third of all `movie_keyword` refer to it: the figures of neither table tell that. So some rows of
//! the referring table are looked at, those that they refer to are looked up, and the conditions are judged by what is there (`selectivity.rs`).
//!
//! # Invariants
//! 1. Only estimates hang on it.
//! 2. Looked at only where a column of a table with many rows is joined with another's whole primary key, and that table has conditions of its own: not in
//!    statements of one table, nor where the keys are constants or few rows of the large table are read.

use super::equal::Tag;
use super::search::{FEW_ROWS, Search};
use super::{Item, ItemKind};
use crate::access::Path;
use crate::binder::{Binder, Relation, Source};
use crate::expr::{CmpOp, Expr, ExprKind, Slot};
use crate::plan::JoinKind;
use crate::ranges::{Ranges, is_string};
use types::Collation;

/// Rows that a referring table has at least: of a smaller one the guesses cost little.
const REFERRING_MIN: u64 = 4096;

/// A column whose rows lead to those of another table.
#[derive(Clone, Copy, Debug)]
pub struct Through {
    /// Its table, by its number in the plan.
    pub table: u32,
    /// The column.
    pub column: usize,
}

/// What the rows of a referring table tell of a join with what they refer to.
#[derive(Clone, Copy, Debug)]
pub struct Partners {
    /// Share of the referring rows whose partner passes the conditions on its table.
    pub share: f64,
    /// Share that is joined of all pairs of a referring row and a row that passes.
    pub pairs: f64,
}

/// A column of a table in a group.
#[derive(Clone, Copy)]
struct Column<'s> {
    relation: &'s Relation,
    item: usize,
    slot: Slot,
    through: Through,
}

impl<'s> Search<'s, '_> {
    /// Looks at the rows of what refers to other tables of the group.
    pub(super) fn look_at_partners(&mut self) {
        let group = self.group;
        for (at, conjunct) in group.conjuncts.iter().enumerate() {
            let ExprKind::Compare(CmpOp::Eq, collation, a, b) = &conjunct.kind else { continue };
            let (Some(a), Some(b)) = (self.column(a), self.column(b)) else { continue };
            if a.item == b.item || self.group.tags.get(at) == Some(&Some(Tag::Check)) {
                continue;
            }
            for (referring, referred) in [(a, b), (b, a)] {
                if self.refers(referring, referred, *collation)
                    && let Some(partners) = self.tell_partners(referring, referred)
                {
                    self.binder.partners.borrow_mut().insert((referring.slot, referred.slot), partners);
                    self.told.push(1 << referring.item | 1 << referred.item);
                }
            }
        }
    }

    fn column(&self, e: &Expr) -> Option<Column<'s>> {
        let ExprKind::Slot(slot) = e.kind else { return None };
        let (item, of) = self.group.items.iter().enumerate().find(|(_, item)| item.slots.contains(&slot))?;
        let Item { kind: ItemKind::Relation(r), join: JoinKind::Inner, .. } = of else { return None };
        let relation = &self.relations[*r];
        let Source::Base(table) = relation.source else { return None };
        Some(Column { relation, item, slot, through: Through { table, column: relation.column_of(slot)? } })
    }

    /// Whether a column that many rows have is joined with another table's whole primary key.
    fn refers(&self, referring: Column<'_>, referred: Column<'_>, collation: Collation) -> bool {
        let (from, to) = (&self.binder.tables[referring.through.table as usize], &self.binder.tables[referred.through.table as usize]);
        let [part] = to.def.indexes[0].parts.as_slice() else { return false };
        let ty = &to.def.columns[part.column].ty;
        part.column == referred.through.column
            && part.prefix_chars.is_none()
            && (!is_string(ty) || ty.collation == collation)
            && self.binder.context.rows_estimate(from) >= REFERRING_MIN
            && self.binder.context.rows_estimate(to) > 0
    }

    fn tell_partners(&mut self, referring: Column<'_>, referred: Column<'_>) -> Option<Partners> {
        let is_own = |at: &usize| {
            let subquery = &mut |e: &Expr| matches!(e.kind, ExprKind::Subquery(..));
            self.uses[*at] == 1 << referred.item && !self.group.conjuncts[*at].any(subquery)
        };
        let own: Vec<Expr> = (0..self.uses.len()).filter(is_own).map(|at| self.group.conjuncts[at].clone()).collect();
        // Where constants leave few of the referring rows, little hangs on what these refer to.
        if own.is_empty() || self.path(referring.item, 0, false).rows <= FEW_ROWS {
            return None;
        }
        let share = self.binder.share_through(referred.relation, &own, referring.through)?;
        let passing = self.path(referred.item, 0, false).rows;
        Some(Partners { share, pairs: (share / passing).min(1.0) })
    }

    /// Whether rows have told how many pairs of an item and one of those that are placed belong together.
    pub(super) fn is_told(&self, item: usize, placed: u64) -> bool {
        let bit = 1u64 << item;
        self.told.iter().any(|pair| pair & bit != 0 && pair & !(placed | bit) == 0)
    }
}

impl Binder<'_> {
    /// What rows have told of a join of a column and another table's key.
    pub(crate) fn known_partners(&self, referring: Slot, referred: Slot) -> Option<Partners> {
        self.partners.borrow().get(&(referring, referred)).copied()
    }

    /// What rows of the table that gives the key have told of the row that it finds.
    pub(crate) fn partners_of_row(&self, relation: &Relation, path: &Path) -> Option<Partners> {
        let (own, key) = self.key_column(relation, path.index?, path.ranges.as_ref()?)?;
        self.known_partners(key, own)
    }

    /// Rows of a table that refer to a row of the table that gives the key, where rows have told.
    pub(crate) fn referring_rows(&self, relation: &Relation, index_no: u32, ranges: &Ranges, total: f64) -> Option<f64> {
        if self.partners.borrow().is_empty() {
            return None;
        }
        let (own, key) = self.key_column(relation, index_no, ranges)?;
        Some((total * self.known_partners(own, key)?.pairs).clamp(0.01, total))
    }

    /// Where a range is all keys with the value of another table's column: the column that has it, and the other.
    fn key_column(&self, relation: &Relation, index_no: u32, ranges: &Ranges) -> Option<(Slot, Slot)> {
        let Source::Base(table) = relation.source else { return None };
        let [prefix] = ranges.spec.any.as_slice() else { return None };
        let ([points], None) = (prefix.points.as_slice(), &prefix.interval) else { return None };
        let [value] = &**points else { return None };
        let ExprKind::Slot(key) = value.kind else { return None };
        let part = self.tables[table as usize].def.indexes[index_no as usize].parts.first()?;
        Some((relation.slots[part.column]?, key))
    }
}
