//! Binding of the statements that change rows: what INSERT, UPDATE and DELETE have in common.

mod delete;
pub(crate) mod in_place;
mod insert;
mod update;

use crate::access::Wanted;
use crate::bind_query::Ordered;
use crate::binder::{Binder, Clause, InOn, Relation, Result};
use crate::expr::{Expr, ExprKind, Slot};
use crate::func::Func;
use crate::logical::JoinTree;
use crate::plan::{LockMode, LockWait, Node};
use catalog::{ColumnDef, DefaultValue, TableDef};
use mysql_error::{SqlError, codes};
use parser::ast;
use std::collections::BTreeSet;
use types::{Collation, ColumnType, TypeKind, Value};

/// The expression of a column's DEFAULT. An ENUM without one has its first member, in strict mode, too.
pub fn default_expr(column: &ColumnDef) -> Expr {
    match &column.default {
        DefaultValue::None if column.ty.nullable => Expr::literal(Value::Null, column.ty.clone()),
        DefaultValue::None if column.ty.kind == TypeKind::Enum => Expr::literal(types::implicit_default(&column.ty), column.ty.clone()),
        DefaultValue::None => Expr { kind: ExprKind::NoDefault(column.name.as_str().into()), ty: column.ty.clone() },
        DefaultValue::Null => Expr::literal(Value::Null, column.ty.clone()),
        DefaultValue::Constant(v) => Expr::literal(v.clone(), column.ty.clone()),
        DefaultValue::CurrentTimestamp => now_expr(&column.ty),
        // Bound to the row by whoever can (`row_rules.rs`).
        DefaultValue::Expression(_) => Expr { kind: ExprKind::NoDefault(column.name.as_str().into()), ty: column.ty.clone() },
    }
}

/// NOW() with the precision of a column.
pub fn now_expr(ty: &ColumnType) -> Expr {
    let digits = Expr::literal(Value::Int(i64::from(ty.decimals)), ColumnType::bigint().not_null());
    let now = ColumnType::temporal(types::TypeKind::DateTime, ty.decimals).not_null();
    Expr { kind: ExprKind::Func(Func::Now, vec![digits]), ty: now }
}

/// A condition that no row meets.
fn never() -> Expr {
    Expr::literal(types::Value::bool(false), crate::conditions::bool_type(false))
}

impl Binder<'_> {
    /// Binds what an UPDATE or DELETE reads: tables of views with all their columns, for they may be changed.
    fn changed_tables(&mut self, tables: &[ast::TableRef<'_>], hints: &[&str], command: &'static str) -> Result<Vec<JoinTree>> {
        (self.views.command, self.views.whole_rows) = (command, true);
        self.in_on = InOn { of_change: true, ..InOn::default() };
        let trees: Result<Vec<JoinTree>> = tables.iter().map(|t| self.table_ref(t)).collect();
        self.in_on.of_change = false;
        self.views.whole_rows = false;
        if trees.is_ok() && !hints.is_empty() {
            self.hints.fixed_order = self.take_hints(hints);
        }
        trees
    }

    /// 1093 where a subquery in the condition of a join reads a table that the statement changes.
    fn refuse_changed_in_on(&self) -> Result<()> {
        match self.changed.iter().find(|(id, _)| self.in_on.read.contains(id)) {
            Some((_, name)) => Err(self.changed_table_used(name)),
            None => Ok(()),
        }
    }

    /// Has a relation keep the keys of its rows, which are locked: they are to be changed. Gives the slot of a row's key.
    fn keep_key(&mut self, depth: usize, r: usize) -> Slot {
        let slot = self.new_slot(ColumnType::varchar(65_535, Collation::Binary));
        let relation = &mut self.scopes[depth].relations[r];
        relation.keep_key = Some(slot);
        relation.lock = LockMode::Exclusive(LockWait::Block);
        self.locks = true;
        self.changes_read_rows = true;
        slot
    }

    /// Plans what an UPDATE or DELETE reads.
    fn dml_input(
        &mut self,
        mut trees: Vec<JoinTree>,
        mut filter: Vec<Expr>,
        order_by: &[ast::OrderItem<'_>],
        limit: Option<ast::Limit<'_>>,
        multi: bool,
    ) -> Result<(Node, Option<Expr>)> {
        if multi && !order_by.is_empty() {
            return Err(codes::wrong_usage("UPDATE", "ORDER BY"));
        }
        if multi && limit.is_some() {
            return Err(codes::wrong_usage("UPDATE", "LIMIT"));
        }
        self.scope().clause = Clause::OrderBy;
        let mut order = self.order_keys(order_by, &[], Ordered::Groups)?;
        if limit.is_some() {
            // The rows that a view shows first.
            self.order_of_changed(&mut order);
        }
        let limit = self.limit(limit)?.and_then(|l| l.count);
        let replaced = std::mem::take(&mut self.replaced_slots);
        if !replaced.is_empty() {
            let new = |slot: Slot| replaced.iter().find(|(old, _)| *old == slot).map(|(_, new)| *new);
            let rename = |e: &mut Expr| e.rename_slots(&mut |slot| new(slot));
            filter.iter_mut().for_each(rename);
            trees.iter_mut().for_each(|tree| tree.for_each_on_mut(&mut |on| on.iter_mut().for_each(rename)));
        }
        self.pad_conditions(&mut trees, &mut filter, &mut order);
        let mut relations: Vec<Relation> = self.scope().relations.clone();
        let mut group = self.build_group(&mut relations, trees, filter, self.hints.fixed_order);
        group.hints = std::mem::take(&mut self.scope().join_hints);
        self.plan_waiting(&mut relations, &mut group)?;
        group.keep_keys(&relations);
        let wanted = Wanted { order: &order, limit: limit.as_ref().map(|_| 1000.0), sort_cost: 0.3 };
        let planned = self.plan_group(&relations, &group, &BTreeSet::new(), (!order.is_empty()).then_some(wanted))?;
        let mut node = planned.node;
        if !order.is_empty() && !planned.ordered {
            let mut saved: Vec<Slot> = group.items.iter().flat_map(|i| i.slots.iter().copied()).collect();
            saved.sort_unstable();
            saved.dedup();
            node = Node::Sort { input: Box::new(node), keys: crate::members::sorting(order), saved, limit: None };
        }
        Ok((node, limit))
    }
}

/// What says that a generated column takes no value from a statement.
fn generated_given(def: &TableDef, at: usize) -> SqlError {
    codes::non_default_value_for_generated_column(&def.columns[at].name, &def.name)
}

/// With LIMIT no row beyond the last may be locked: read one at a time.
fn hint_one(node: &mut Node) {
    if let Node::Table(t) = node {
        t.rows_hint = Some(1);
    }
}
