//! Query blocks between binding and optimisation.

use crate::binder::Scope;
use crate::expr::{Expr, ExprKind, Slot};
use crate::plan::{LimitSpec, OutputColumn, SortKey, Subplan};

/// A bound SELECT that is not planned yet.
#[derive(Debug, Clone)]
pub struct Block {
    /// Its relations and aggregates.
    pub scope: Scope,
    /// FROM: joined by comma.
    pub from: Vec<JoinTree>,
    /// WHERE, as conjuncts.
    pub filter: Vec<Expr>,
    /// Select list.
    pub items: Vec<(Expr, OutputColumn)>,
    /// GROUP BY.
    pub group_by: Vec<Expr>,
    /// WITH ROLLUP.
    pub rollup: Option<BoundRollup>,
    /// GROUP BY or aggregates are present.
    pub grouped: bool,
    /// Grouped without GROUP BY: all rows are one group, even where there are none. Under a GROUP BY of constants they are one group, too (`group_by` is
    /// empty), but no rows are none.
    pub implicit: bool,
    /// HAVING.
    pub having: Option<Expr>,
    /// ORDER BY.
    pub order: Vec<SortKey>,
    /// DISTINCT.
    pub distinct: bool,
    /// LIMIT.
    pub limit: Option<LimitSpec>,
    /// STRAIGHT_JOIN.
    pub straight: bool,
    /// Nobody asks for more than one of its rows: it is an EXISTS.
    pub asked_for_one: bool,
}

/// WITH ROLLUP in a bound block.
#[derive(Debug, Clone)]
pub struct BoundRollup {
    /// Where each grouping expression is read above the grouping: a column where it was, NULL in the rows that sum it up.
    pub slots: Vec<Slot>,
    /// Calls of GROUPING: slot, positions of the grouping expressions.
    pub groupings: Vec<(Slot, Vec<usize>)>,
}

impl Block {
    /// Whether it is only joins and conditions, so that it can become part of another block.
    pub fn is_simple(&self) -> bool {
        !self.grouped
            && self.having.is_none()
            && self.limit.is_none()
            && self.scope.aggregates.is_empty()
            && self.scope.windows.is_empty()
            && !self.from.is_empty()
    }
}

/// FROM as written.
#[derive(Debug, Clone)]
pub enum JoinTree {
    /// A relation, by its number in the scope.
    Relation(usize),
    /// Inner join (or a list in parentheses).
    Inner {
        /// Parts.
        parts: Vec<JoinTree>,
        /// Conditions.
        on: Vec<Expr>,
        /// STRAIGHT_JOIN: keep the order.
        straight: bool,
    },
    /// LEFT JOIN (RIGHT JOIN with exchanged sides).
    Left {
        /// Kept side.
        left: Box<JoinTree>,
        /// Side that may be NULL.
        right: Box<JoinTree>,
        /// Conditions.
        on: Vec<Expr>,
    },
}

impl JoinTree {
    /// Calls `f` with each relation number.
    pub fn relations(&self, f: &mut dyn FnMut(usize)) {
        match self {
            JoinTree::Relation(r) => f(*r),
            JoinTree::Inner { parts, .. } => parts.iter().for_each(|p| p.relations(f)),
            JoinTree::Left { left, right, .. } => {
                left.relations(f);
                right.relations(f);
            }
        }
    }

    /// Moves conditions of inner joins to where they are tested of all that the tree yields: not from below the side of an outer join that may be NULL.
    pub fn lift(&mut self, test: &dyn Fn(&Expr) -> bool, out: &mut Vec<Expr>) {
        match self {
            JoinTree::Relation(_) => {}
            JoinTree::Inner { parts, on, .. } => {
                out.extend(on.extract_if(.., |c| test(c)));
                parts.iter_mut().for_each(|p| p.lift(test, out));
            }
            JoinTree::Left { left, .. } => left.lift(test, out),
        }
    }

    /// Whether the conditions of all joins pass.
    pub fn all_on(&self, test: &mut dyn FnMut(&[Expr]) -> bool) -> bool {
        match self {
            JoinTree::Relation(_) => true,
            JoinTree::Inner { parts, on, .. } => test(on) && parts.iter().all(|part| part.all_on(test)),
            JoinTree::Left { left, right, on } => test(on) && left.all_on(test) && right.all_on(test),
        }
    }

    /// Changes the conditions of all joins.
    pub fn for_each_on_mut(&mut self, change: &mut dyn FnMut(&mut Vec<Expr>)) {
        match self {
            JoinTree::Relation(_) => {}
            JoinTree::Inner { parts, on, .. } => {
                change(on);
                parts.iter_mut().for_each(|part| part.for_each_on_mut(change));
            }
            JoinTree::Left { left, right, on } => {
                change(on);
                left.for_each_on_mut(change);
                right.for_each_on_mut(change);
            }
        }
    }

    /// Adds an offset to the relation numbers.
    pub fn shift(&mut self, by: usize) {
        match self {
            JoinTree::Relation(r) => *r += by,
            JoinTree::Inner { parts, .. } => parts.iter_mut().for_each(|p| p.shift(by)),
            JoinTree::Left { left, right, .. } => {
                left.shift(by);
                right.shift(by);
            }
        }
    }
}

/// The slots an expression reads, those of its subqueries included.
pub fn slots_of(expr: &Expr, subplans: &[Subplan], out: &mut Vec<Slot>) {
    expr.walk_computed(&mut |e| match &e.kind {
        ExprKind::Slot(s) => out.push(*s),
        ExprKind::Subquery(n, _) => out.extend(subplans[*n as usize].outer_slots.iter().copied()),
        _ => {}
    });
}
