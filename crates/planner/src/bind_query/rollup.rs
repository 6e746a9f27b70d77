//! GROUP BY … WITH ROLLUP, and GROUPING().
//!
//! A grouping expression that is a column stays in its slot, which the grouping sets to NULL in the rows that sum it up: so what stands above, subqueries included,
//! reads it there. Any other gets a slot of its own, and takes the place of the same expression in the select list, HAVING, ORDER BY and windows.

use crate::alike::{By, ExprMap, same};
use crate::binder::{Binder, Result};
use crate::expr::{CastTo, Expr, ExprKind, Slot};
use crate::logical::{Block, BoundRollup};
use crate::plan::Kept;
use crate::typing;
use mysql_error::codes;
use parser::ast;
use types::{ColumnType, Value};

/// A call of GROUPING: slot, positions of the grouping expressions that it asks for.
pub(super) type GroupingCall = (Slot, Vec<usize>);

impl<'c> Binder<'c> {
    /// `GROUPING(…)`: what its arguments are is known once GROUP BY is bound.
    pub(crate) fn grouping(&mut self, args: &[ast::Expr<'_>]) -> Result<Expr> {
        if !self.scopes.last().is_some_and(|scope| scope.aggregates_allowed) {
            return Err(codes::invalid_group_func_use());
        }
        let args = self.exprs(args)?;
        let ty = ColumnType::bigint().not_null();
        let slot = self.new_slot(ty.clone());
        self.scope().groupings.push((slot, args));
        Ok(Expr::slot(slot, ty))
    }

    /// Whether an expression calls GROUPING.
    pub(super) fn calls_grouping(&self, expr: &Expr) -> bool {
        let calls = self.scopes.last().map_or(&[][..], |scope| &scope.groupings);
        !calls.is_empty() && expr.any(&mut |e| matches!(e.kind, ExprKind::Slot(s) if calls.iter().any(|(slot, _)| *slot == s)))
    }

    /// The calls of GROUPING; 1111 without GROUP BY, 3602 when an argument is no grouping expression.
    pub(super) fn grouping_calls(&mut self, block: &Block) -> Result<Vec<GroupingCall>> {
        let calls = std::mem::take(&mut self.scope().groupings);
        let position = |(at, arg): (usize, &Expr)| {
            let found = block.group_by.iter().position(|key| same(key, arg));
            found.ok_or_else(|| codes::field_in_grouping_not_group_by(at + 1))
        };
        let mut found = Vec::with_capacity(calls.len());
        for (slot, args) in calls {
            if !block.grouped || block.implicit {
                return Err(codes::invalid_group_func_use());
            }
            found.push((slot, args.iter().enumerate().map(position).collect::<Result<Vec<usize>>>()?));
        }
        // The rows that an aggregate adds up are not summed up yet.
        let args = self.scope().aggregates.iter_mut().flat_map(|(_, aggregate)| &mut aggregate.args);
        args.for_each(|e| replace(e, &mut |e| zero(e, &found)));
        Ok(found)
    }

    /// Columns that are bound from now on may be NULL: in a row that sums them up.
    pub(super) fn let_columns_be_null(&mut self) {
        self.scope().relations.iter_mut().for_each(|relation| relation.nullable = true);
    }

    /// Without ROLLUP nothing is summed up: GROUPING is 0.
    pub(super) fn no_rollup(&mut self, block: &mut Block, calls: &[GroupingCall]) {
        if calls.is_empty() {
            return;
        }
        self.replace_above(block, &mut |e| zero(e, calls));
    }

    /// Makes a block's grouping one with rows that sum up.
    pub(super) fn roll_up(&mut self, block: &mut Block, groupings: Vec<GroupingCall>) {
        let mut slots = Vec::with_capacity(block.group_by.len());
        let mut made: ExprMap<Slot> = ExprMap::new(By::Value);
        for key in &block.group_by {
            slots.push(match key.kind {
                ExprKind::Slot(slot) if !slots.contains(&slot) => slot,
                _ => {
                    let slot = self.new_slot(ColumnType { nullable: true, ..key.ty.clone() });
                    // A column that is named twice is read where its first key is.
                    if !matches!(key.kind, ExprKind::Slot(_)) {
                        made.insert(key, slot);
                    }
                    slot
                }
            });
        }
        self.replace_above(block, &mut |e| {
            let slot = made.get(e)?;
            Some(Expr::slot(*slot, ColumnType { nullable: true, ..e.ty.clone() }))
        });
        for (expr, column) in &mut block.items {
            let is_summed_up = |e: &Expr| matches!(e.kind, ExprKind::Slot(s) if slots.contains(&s));
            column.ty.nullable |= expr.any(&mut |e| is_summed_up(e));
        }
        // What is sorted or DISTINCT MySQL keeps in a temporary table before: of the keys, whole numbers as INT or BIGINT, members as their text.
        if !block.order.is_empty() || block.distinct {
            for (expr, column) in &mut block.items {
                column.kept = match expr.kind {
                    ExprKind::Literal(_) => continue,
                    ExprKind::Slot(slot) if slots.contains(&slot) => Kept::Widened,
                    _ => Kept::ByDigits,
                };
            }
            for key in &mut block.order {
                if matches!(key.expr.kind, ExprKind::Slot(slot) if slots.contains(&slot)) && typing::has_members(&key.expr.ty) {
                    members_as_text(&mut key.expr);
                }
            }
        }
        block.rollup = Some(BoundRollup { slots, groupings });
    }

    /// Replaces parts of what is computed above the grouping.
    fn replace_above(&mut self, block: &mut Block, with: &mut dyn FnMut(&Expr) -> Option<Expr>) {
        let items = block.items.iter_mut().map(|(e, _)| e);
        items.chain(&mut block.having).chain(block.order.iter_mut().map(|key| &mut key.expr)).for_each(|e| replace(e, with));
        self.scope().windows.iter_mut().for_each(|window| window.for_each_expr_mut(&mut |e| replace(e, with)));
    }
}

/// An ENUM or SET that is sorted by its text.
fn members_as_text(e: &mut Expr) {
    let collation = e.ty.collation;
    let ty = ColumnType { nullable: true, ..typing::string(u64::from(typing::display_chars(&e.ty)), collation) };
    let member = std::mem::replace(e, Expr::literal(Value::Null, ty.clone()));
    *e = Expr { kind: ExprKind::Cast(Box::new(member), CastTo::Char { length: None, collation }), ty };
}

/// What stands for a call of GROUPING where nothing is summed up.
fn zero(e: &Expr, calls: &[GroupingCall]) -> Option<Expr> {
    let is_call = matches!(e.kind, ExprKind::Slot(s) if calls.iter().any(|(slot, _)| *slot == s));
    is_call.then(|| Expr::literal(Value::Int(0), e.ty.clone()))
}

fn replace(e: &mut Expr, with: &mut dyn FnMut(&Expr) -> Option<Expr>) {
    match with(e) {
        Some(new) => *e = new,
        None => e.for_each_child_mut(&mut |child| replace(child, with)),
    }
}
