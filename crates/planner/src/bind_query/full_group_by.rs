//! ONLY_FULL_GROUP_BY: which columns are determined by the grouping.

use super::determined::Dependencies;
use crate::alike::{By, ExprSet};
use crate::binder::{Binder, Result};
use crate::expr::{Expr, ExprKind, Slot};
use crate::logical::Block;
use crate::plan::OutputColumn;
use crate::typing::is_string_class;
use mysql_error::codes;
use std::collections::BTreeSet;

impl<'c> Binder<'c> {
    pub(super) fn check_full_group_by(&mut self, block: &Block) -> Result<()> {
        let determined = self.determined_slots(block);
        // In a row that sums up, what stands for no key has no value.
        let keys = ExprSet::of(if block.rollup.is_some() { By::Value } else { By::Writing }, &block.group_by);
        let implicit = block.implicit;
        let exprs = block.items.iter().enumerate().map(|(i, (e, _))| (i, e, "SELECT list"));
        let order = block.order.iter().enumerate().map(|(i, k)| (i, &k.expr, "ORDER BY clause"));
        let windows = self.scopes.last().map_or(&[][..], |scope| &scope.windows);
        let mut parts: Vec<(usize, &Expr, &str)> = Vec::new();
        for (i, expr, clause) in exprs.chain(order) {
            parts.push((i, expr, clause));
            // The arguments of its window functions are the item's.
            for (slot, call) in windows.iter().flat_map(|w| &w.calls) {
                if expr.any(&mut |e| matches!(e.kind, ExprKind::Slot(s) if s == *slot)) {
                    call.function.for_each_argument(&mut |argument| parts.push((i, argument, clause)));
                }
            }
        }
        let clauses: Vec<String> = windows.iter().map(|w| format!("PARTITION BY or ORDER BY clause of window '{}'", w.name)).collect();
        for (window, clause) in windows.iter().zip(&clauses) {
            parts.extend(window.keys().enumerate().map(|(i, key)| (i, &key.expr, clause.as_str())));
        }
        for (i, expr, clause) in parts {
            if let Some(slot) = self.undetermined(expr, &keys, &determined) {
                let name = self.slot_name(slot);
                return Err(if implicit && clause != "ORDER BY clause" {
                    codes::mix_of_group_func_and_fields(i + 1, clause, name)
                } else if implicit {
                    continue;
                } else {
                    codes::wrong_field_with_group(i + 1, clause, name)
                });
            }
        }
        Ok(())
    }

    /// A column of the block that an ORDER BY of a DISTINCT query depends on, and which its rows do not tell.
    pub(super) fn not_selected(&self, key: &Expr, items: &[(Expr, OutputColumn)], selected: &ExprSet) -> Option<Slot> {
        if selected.contains(key) {
            return None;
        }
        // All but columns of outer queries, which are the same for each row.
        let outside = &self.scopes[..self.scopes.len() - 1];
        let own = |slot: &Slot| !outside.iter().flat_map(|scope| &scope.relations).any(|r| r.slots.contains(&Some(*slot)));
        match &key.kind {
            ExprKind::Slot(slot) => own(slot).then_some(*slot),
            ExprKind::Subquery(n, _) => {
                let outer = &self.subplans[*n as usize].outer_slots;
                // Rows that DISTINCT takes for one may differ in text that a collation folds; a subquery could tell them apart.
                let told =
                    |slot: &Slot| items.iter().any(|(e, _)| matches!(e.kind, ExprKind::Slot(s) if s == *slot) && !is_string_class(&e.ty));
                let mut bad = outer.iter().find(|slot| own(slot) && !told(slot)).copied();
                key.for_each_child(&mut |child| bad = bad.or_else(|| self.not_selected(child, items, selected)));
                bad
            }
            _ => {
                let mut bad = None;
                key.for_each_child(&mut |child| bad = bad.or_else(|| self.not_selected(child, items, selected)));
                bad
            }
        }
    }

    pub(super) fn slot_name(&self, slot: Slot) -> String {
        for (depth, scope) in self.scopes.iter().enumerate().rev() {
            for r in &scope.relations {
                if let Some(c) = r.slots.iter().position(|s| *s == Some(slot)) {
                    // What a view has is named as the view names it.
                    let shown = if r.of_view { self.view_column_of(depth, slot, "") } else { None };
                    let (r, c) = shown.map_or((r, c), |(r, c)| (&scope.relations[r], c));
                    let meta = &r.columns[c].meta;
                    return if meta.database.is_empty() {
                        format!("{}.{}", r.alias, r.columns[c].name)
                    } else {
                        format!("{}.{}.{}", meta.database, r.alias, r.columns[c].name)
                    };
                }
            }
        }
        String::new()
    }

    fn undetermined(&self, expr: &Expr, keys: &ExprSet, determined: &BTreeSet<Slot>) -> Option<Slot> {
        if keys.contains(expr) {
            return None;
        }
        match &expr.kind {
            ExprKind::Slot(s) => {
                let scope = self.scopes.last()?;
                let own = scope.relations.iter().any(|r| r.slots.contains(&Some(*s)));
                (own && !determined.contains(s)).then_some(*s)
            }
            ExprKind::Func(crate::func::Func::AnyValue, _) => None,
            _ => {
                let mut bad = None;
                if let ExprKind::Subquery(n, _) = &expr.kind {
                    let scope = self.scopes.last()?;
                    bad = self.subplans[*n as usize]
                        .outer_slots
                        .iter()
                        .find(|s| scope.relations.iter().any(|r| r.slots.contains(&Some(**s))) && !determined.contains(s))
                        .copied();
                }
                expr.for_each_child(&mut |c| bad = bad.or_else(|| self.undetermined(c, keys, determined)));
                bad
            }
        }
    }

    /// Slots that have one value per group: grouped ones, constants, and what these determine.
    fn determined_slots(&self, block: &Block) -> BTreeSet<Slot> {
        let grouped = block.group_by.iter().filter_map(|g| if let ExprKind::Slot(s) = g.kind { Some(s) } else { None }).collect();
        // A row that sums up a key has one value of it, not of what the key determines.
        if block.rollup.is_some() {
            return grouped;
        }
        let relations = self.scopes.last().map_or(&[][..], |scope| &scope.relations);
        Dependencies::new(&self.tables, &self.subplans, relations, grouped).of_block(block)
    }
}
