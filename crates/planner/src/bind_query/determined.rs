//! Which columns are determined by others: functional dependencies of a block's rows, for ONLY_FULL_GROUP_BY.
//!
//! They come from keys, from equations of a column with a column or a constant, and from derived tables, whose own blocks are asked.
//!
//! # Invariants
//! 1. What is said of the inner side of an outer join holds with the row of NULLs that stands for a missing partner, too. A key does (it is NULL in that row
//!    only), and so does an equation of two columns of that side (both are NULL there).
//! 2. Once all columns are determined that the condition reads of the kept side, a group either has a partner or has none: then an equation with a column of
//!    the kept side holds, and one with a constant, too, where no outer join is around (it would hold if the same were true of those, but MySQL does not say so).
//! 3. A condition that is not true of NULLs makes an inner join of an outer one inside, as the planner does.

use crate::alike::{By, ExprSet};
use crate::binder::{Relation, Source};
use crate::derived::Waiting;
use crate::expr::{CmpOp, Expr, ExprKind, Slot};
use crate::join::null_rejected;
use crate::logical::{Block, JoinTree, slots_of};
use crate::plan::Subplan;
use catalog::TableEntry;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The columns of a block's relations that are known to be determined.
pub(super) struct Dependencies<'b> {
    tables: &'b [Arc<TableEntry>],
    subplans: &'b [Subplan],
    relations: &'b [Relation],
    known: BTreeSet<Slot>,
}

/// Which equations of an inner side hold in all rows: see the module's invariants 1 and 2.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holding {
    /// Those of two columns of this side.
    Own,
    /// Those of two columns.
    Columns,
    /// All: no row of NULLs is in the way.
    All,
}

/// Relations with nothing but inner joins between them, and what is outer joined to them.
#[derive(Default)]
struct Level<'t> {
    relations: Vec<usize>,
    conditions: Vec<&'t Expr>,
    /// Inner sides, with their conditions.
    outer: Vec<(&'t JoinTree, &'t [Expr])>,
    /// Columns that are not NULL in its rows.
    not_null: BTreeSet<Slot>,
    /// It is the inner side of an outer join.
    is_inside: bool,
}

impl<'b> Dependencies<'b> {
    pub(super) fn new(tables: &'b [Arc<TableEntry>], subplans: &'b [Subplan], relations: &'b [Relation], known: BTreeSet<Slot>) -> Self {
        Dependencies { tables, subplans, relations, known }
    }

    /// What is determined in the rows that a block joins.
    pub(super) fn of_block(mut self, block: &Block) -> BTreeSet<Slot> {
        let mut level = Level::default();
        level.conditions.extend(&block.filter);
        let rejected = null_rejected(&block.filter);
        block.from.iter().for_each(|tree| self.gather(tree, &rejected, &mut level));
        level.not_null.extend(rejected);
        loop {
            let before = self.known.len();
            self.learn(&level, Holding::All);
            if self.known.len() == before {
                return self.known;
            }
        }
    }

    fn gather<'t>(&self, tree: &'t JoinTree, rejected: &BTreeSet<Slot>, level: &mut Level<'t>) {
        match tree {
            JoinTree::Relation(r) => level.relations.push(*r),
            JoinTree::Inner { parts, on, .. } => self.gather_inner(parts.iter(), on, rejected, level),
            JoinTree::Left { left, right, on } => {
                let mut is_inner = false;
                right.relations(&mut |r| is_inner |= self.relations[r].slots.iter().flatten().any(|slot| rejected.contains(slot)));
                if is_inner {
                    self.gather_inner([&**left, &**right].into_iter(), on, rejected, level);
                } else {
                    self.gather(left, rejected, level);
                    level.outer.push((right, on));
                }
            }
        }
    }

    fn gather_inner<'t>(
        &self,
        parts: impl Iterator<Item = &'t JoinTree>,
        on: &'t [Expr],
        rejected: &BTreeSet<Slot>,
        level: &mut Level<'t>,
    ) {
        let own = null_rejected(on);
        let rejected: BTreeSet<Slot> = rejected.union(&own).copied().collect();
        level.conditions.extend(on);
        level.not_null.extend(own);
        parts.for_each(|part| self.gather(part, &rejected, level));
    }

    /// Adds what follows from what is known, in one round.
    fn learn(&mut self, level: &Level<'_>, holding: Holding) {
        let own: BTreeSet<Slot> = level.relations.iter().flat_map(|r| self.relations[*r].slots.iter().flatten().copied()).collect();
        for (a, b) in level.conditions.iter().flat_map(|condition| equation(condition)) {
            for (x, y) in [(a, b), (b, a)] {
                let ExprKind::Slot(slot) = x.kind else { continue };
                let holds = own.contains(&slot)
                    && match y.kind {
                        ExprKind::Slot(other) if self.is_of_block(other) => {
                            self.known.contains(&other) && (holding != Holding::Own || own.contains(&other))
                        }
                        _ => holding == Holding::All && self.is_constant(y),
                    };
                if holds {
                    self.known.insert(slot);
                }
            }
        }
        for r in &level.relations {
            let relation = &self.relations[*r];
            let is_set = |column: usize, nullable: bool| relation.slots[column].is_some_and(|s| !nullable || level.not_null.contains(&s));
            match &relation.source {
                Source::Base(table) => {
                    let def = &self.tables[*table as usize].def;
                    let is_known = |column: usize| relation.slots[column].is_some_and(|s| self.known.contains(&s));
                    let keyed = def.indexes.iter().filter(|index| index.unique && !index.parts.is_empty()).any(|index| {
                        let mut parts = index.parts.iter();
                        parts.all(|p| p.prefix_chars.is_none() && is_known(p.column) && is_set(p.column, def.columns[p.column].ty.nullable))
                    });
                    if keyed {
                        self.known.extend(relation.slots.iter().flatten());
                    }
                }
                Source::Waiting(Some(waiting)) => {
                    let Waiting::Block(inner) = &**waiting else { continue };
                    let known: Vec<usize> = (0..relation.slots.len()).filter(|c| self.knows(relation, *c)).collect();
                    // Of a row of NULLs that its side may be here nothing is known, unless it can be told by a column.
                    if holding == Holding::All || known.iter().any(|c| is_set(*c, relation.columns[*c].ty.nullable)) {
                        let found = self.of_derived(inner, &known);
                        self.known.extend(found.into_iter().filter_map(|c| relation.slots[c]));
                    }
                }
                _ => {}
            }
        }
        for (side, on) in &level.outer {
            let mut inside = Level { is_inside: true, ..Level::default() };
            self.gather_inner(std::iter::once(*side), on, &BTreeSet::new(), &mut inside);
            let holding = match (self.decides(side, on), holding) {
                (false, _) => Holding::Own,
                (true, Holding::All) if !level.is_inside => Holding::All,
                (true, _) => Holding::Columns,
            };
            self.learn(&inside, holding);
        }
    }

    /// Whether for a group it is certain whether its rows have partners on an inner side.
    fn decides(&self, side: &JoinTree, on: &[Expr]) -> bool {
        let mut own = BTreeSet::new();
        side.relations(&mut |r| own.extend(self.relations[r].slots.iter().flatten().copied()));
        on.iter().all(|condition| {
            let mut slots = Vec::new();
            slots_of(condition, self.subplans, &mut slots);
            let is_settled = |slot: &Slot| own.contains(slot) || self.known.contains(slot) || !self.is_of_block(*slot);
            self.is_deterministic(condition) && slots.iter().all(is_settled)
        })
    }

    /// Which columns of a derived table are determined by some of them.
    fn of_derived(&self, block: &Block, by: &[usize]) -> Vec<usize> {
        let all = 0..block.items.len();
        if block.rollup.is_some() || !block.scope.outer.is_empty() {
            return Vec::new();
        }
        if block.grouped {
            let known = ExprSet::of(By::Writing, by.iter().map(|c| &block.items[*c].0));
            // Of the one row without GROUP BY a column determines the others, nothing determines none.
            return if !by.is_empty() && block.group_by.iter().all(|key| known.contains(key)) { all.collect() } else { Vec::new() };
        }
        let slot = |c: &usize| if let ExprKind::Slot(slot) = block.items[*c].0.kind { Some(slot) } else { None };
        let inner = Dependencies::new(self.tables, self.subplans, &block.scope.relations, by.iter().filter_map(slot).collect());
        let known = inner.of_block(block);
        let is_found = |c: &usize| {
            let mut slots = Vec::new();
            slots_of(&block.items[*c].0, self.subplans, &mut slots);
            self.is_deterministic(&block.items[*c].0) && slots.iter().all(|slot| known.contains(slot))
        };
        all.filter(is_found).collect()
    }

    fn knows(&self, relation: &Relation, column: usize) -> bool {
        relation.slots[column].is_some_and(|slot| self.known.contains(&slot))
    }

    /// Whether a slot is a column of the block: those of blocks around have one value in it.
    fn is_of_block(&self, slot: Slot) -> bool {
        self.relations.iter().any(|r| r.slots.contains(&Some(slot)))
    }

    fn is_constant(&self, e: &Expr) -> bool {
        let mut slots = Vec::new();
        slots_of(e, self.subplans, &mut slots);
        self.is_deterministic(e) && !slots.iter().any(|slot| self.is_of_block(*slot))
    }

    fn is_deterministic(&self, e: &Expr) -> bool {
        !e.any(&mut |e| match &e.kind {
            ExprKind::UserVariable(_) | ExprKind::AssignVariable(..) => true,
            ExprKind::Func(func, _) => func.is_volatile(),
            ExprKind::Subquery(number, _) => self.subplans[*number as usize].volatile,
            _ => false,
        })
    }
}

/// The sides of an equation.
fn equation(condition: &Expr) -> Option<(&Expr, &Expr)> {
    match &condition.kind {
        ExprKind::Compare(CmpOp::Eq, _, a, b) => Some((a, b)),
        ExprKind::InList { operand, list, negated: false, .. } => match &list[..] {
            [one] => Some((operand, one)),
            _ => None,
        },
        _ => None,
    }
}
