//! Derived tables that become part of the block they stand in: their tables are joined with the block's own, in whichever order is best, by whichever
//! index there is. Names, types and rights have been settled when the block was bound; nothing of that changes.
//!
//! # Invariants
//! 1. Only what is joins and conditions is merged, evaluates without effects and reads nothing of outside.
//! 2. A column that is a table's goes to the derived table's slot as well, or in place of its own. What is computed is put into its slot above the joins,
//!    and put in its place in the conditions below.
//! 3. On the inner side of an outer join all columns that are read are tables' columns: anything else would not be NULL there.

use crate::binder::{Binder, Relation, Source};
use crate::derived::Waiting;
use crate::expr::{Expr, ExprKind, Slot};
use crate::logical::{Block, JoinTree};
use crate::plan::LockMode;
use crate::switches::Switch;
use std::collections::HashMap;

/// Relations of a block past which nothing more is merged into it.
const RELATIONS_MAX: usize = 40;

/// What is to be computed above the joins of a block.
pub(crate) type Computed = Vec<(Slot, Expr)>;

impl Binder<'_> {
    /// Merges what can be merged into a block.
    pub(crate) fn merge_derived(&mut self, block: &mut Block) -> Computed {
        let mut computed = Computed::new();
        if !self.merges || self.locks || !self.context.switches().has(Switch::DerivedMerge) {
            return computed;
        }
        for at in 0..block.scope.relations.len() {
            let Source::Waiting(Some(waiting)) = &block.scope.relations[at].source else { continue };
            let Waiting::Block(inner) = &**waiting else { continue };
            if !self.is_mergeable(&block.scope.relations[at], inner)
                || block.scope.relations.len() + inner.scope.relations.len() > RELATIONS_MAX
            {
                continue;
            }
            // What stands in it comes first.
            let Source::Waiting(Some(waiting)) = std::mem::replace(&mut block.scope.relations[at].source, Source::Waiting(None)) else {
                continue;
            };
            let Waiting::Block(mut inner) = *waiting else { continue };
            let own = self.merge_derived(&mut inner);
            inner.items.iter_mut().for_each(|(item, _)| put_in_place(item, &own));
            if let Some(inner) = self.merge_one(block, at, inner, &mut computed) {
                // Those that its own merging has left to be computed are in its items now: it is a whole block again.
                block.scope.relations[at].source = Source::Waiting(Some(Box::new(Waiting::Block(inner))));
            }
        }
        computed
    }

    /// Whether MySQL would merge a derived table, whatever becomes of it here: its columns then head results by their own names.
    pub(crate) fn would_merge(&self, relation: &Relation, waiting: &Waiting) -> bool {
        let Waiting::Block(block) = waiting else { return false };
        let assigns = |e: &Expr| e.any(&mut |e| matches!(e.kind, ExprKind::AssignVariable(..)));
        relation.merges
            && block.is_simple()
            && !block.distinct
            && !block.items.iter().any(|(item, _)| assigns(item))
            && self.context.switches().has(Switch::DerivedMerge)
    }

    /// Invariant 1.
    fn is_mergeable(&self, relation: &Relation, block: &Block) -> bool {
        let settled = |e: &Expr| {
            !e.any(&mut |e| match &e.kind {
                ExprKind::Subquery(..) | ExprKind::UserVariable(_) | ExprKind::AssignVariable(..) | ExprKind::NoDefault(_) => true,
                ExprKind::Func(f, _) => f.is_volatile(),
                _ => false,
            })
        };
        relation.merges
            // A view that is not merged is not to be, or could not be.
            && relation.database.is_empty()
            && relation.also.is_empty()
            && block.is_simple()
            && !block.distinct
            && !block.straight
            && block.order.is_empty()
            && !block.scope.volatile
            && block.scope.outer.is_empty()
            && block.scope.join_hints.is_empty()
            && block.scope.relations.iter().all(|r| r.lock == LockMode::None && r.keep_key.is_none())
            && block.items.iter().all(|(e, _)| settled(e))
            && block.filter.iter().all(settled)
            && block.from.iter().all(|tree| tree.all_on(&mut |on| on.iter().all(settled)))
    }

    /// Merges one; gives it back where that cannot be.
    fn merge_one(&mut self, block: &mut Block, at: usize, mut inner: Box<Block>, computed: &mut Computed) -> Option<Box<Block>> {
        let Some(is_outer) = block.from.iter().find_map(|tree| place(tree, at, false)) else { return Some(inner) };
        let read: Vec<(Slot, usize)> =
            block.scope.relations[at].slots.iter().enumerate().filter_map(|(column, slot)| Some(((*slot)?, column))).collect();
        let mut own = Computed::new();
        let mut renamed: HashMap<Slot, Slot> = HashMap::new();
        let mut also: Vec<(usize, u32, Slot)> = Vec::new();
        for (slot, column) in &read {
            let item = &inner.items[*column].0;
            let found = match item.kind {
                ExprKind::Slot(from) => column_of(&inner.scope.relations, from).map(|place| (from, place)),
                _ => None,
            };
            match found {
                Some((from, (relation, column)))
                    if inner.scope.relations[relation].slots[column] == Some(from) && !renamed.contains_key(&from) =>
                {
                    renamed.insert(from, *slot);
                }
                Some((_, (relation, column))) => also.push((relation, column as u32, *slot)),
                None if is_outer => return Some(inner),
                None => own.push((*slot, item.clone())),
            }
        }
        // A subquery reads what is there when it is asked for: in a condition, before anything is computed.
        let is_read_below = |slot: &Slot| {
            self.subplans.iter().any(|plan| plan.outer_slots.contains(slot))
                || block.scope.relations.iter().any(|r| r.source.outer_slots().any(|s| s == slot))
        };
        if own.iter().any(|(slot, _)| is_read_below(slot)) {
            return Some(inner);
        }
        let rename = |e: &mut Expr| e.rename_slots(&mut |slot| renamed.get(&slot).copied());
        inner.filter.iter_mut().for_each(rename);
        inner.from.iter_mut().for_each(|tree| tree.for_each_on_mut(&mut |on| on.iter_mut().for_each(rename)));
        own.iter_mut().for_each(|(_, e)| rename(e));
        for relation in &mut inner.scope.relations {
            relation.slots.iter_mut().flatten().for_each(|slot| {
                if let Some(new) = renamed.get(slot) {
                    *slot = *new;
                }
            });
        }
        for (relation, column, slot) in also {
            inner.scope.relations[relation].also.push((column, slot));
        }
        if !own.is_empty() {
            let put = |e: &mut Expr| put_in_place(e, &own);
            block.filter.iter_mut().for_each(put);
            block.from.iter_mut().for_each(|tree| tree.for_each_on_mut(&mut |on| on.iter_mut().for_each(put)));
            computed.iter_mut().for_each(|(_, e)| put(e));
        }
        computed.extend(own);
        let Block { scope, mut from, filter, .. } = *inner;
        let offset = block.scope.relations.len();
        let nullable = block.scope.relations[at].nullable;
        block.scope.relations.extend(scope.relations.into_iter().map(|r| Relation { nullable: r.nullable || nullable, ..r }));
        from.iter_mut().for_each(|tree| tree.shift(offset));
        let on = if is_outer {
            filter
        } else {
            block.filter.extend(filter);
            Vec::new()
        };
        let mut merged = Some(match from.len() {
            1 if on.is_empty() => from.remove(0),
            _ => JoinTree::Inner { parts: from, on, straight: false },
        });
        block.from.iter_mut().for_each(|tree| replace(tree, at, &mut merged));
        None
    }
}

/// The column of a stored table whose value a slot holds: (relation, column).
fn column_of(relations: &[Relation], slot: Slot) -> Option<(usize, usize)> {
    relations.iter().enumerate().filter(|(_, r)| matches!(r.source, Source::Base(_))).find_map(|(at, r)| {
        let own = r.slots.iter().position(|s| *s == Some(slot));
        let column = own.or_else(|| r.also.iter().find(|(_, s)| *s == slot).map(|(column, _)| *column as usize))?;
        Some((at, column))
    })
}

fn put_in_place(e: &mut Expr, of: &[(Slot, Expr)]) {
    e.replace_slots(&mut |slot| of.iter().find(|(s, _)| *s == slot).map(|(_, by)| by.clone()));
}

/// Where a relation stands: whether on the inner side of an outer join. `None` when it is not in the tree.
fn place(tree: &JoinTree, relation: usize, outer: bool) -> Option<bool> {
    match tree {
        JoinTree::Relation(r) => (*r == relation).then_some(outer),
        JoinTree::Inner { parts, .. } => parts.iter().find_map(|part| place(part, relation, outer)),
        JoinTree::Left { left, right, .. } => place(left, relation, outer).or_else(|| place(right, relation, true)),
    }
}

/// Puts a tree where a relation stands.
fn replace(tree: &mut JoinTree, relation: usize, by: &mut Option<JoinTree>) {
    match tree {
        JoinTree::Relation(r) if *r == relation => {
            if let Some(by) = by.take() {
                *tree = by;
            }
        }
        JoinTree::Relation(_) => {}
        JoinTree::Inner { parts, .. } => parts.iter_mut().for_each(|part| replace(part, relation, by)),
        JoinTree::Left { left, right, on } => {
            replace(left, relation, by);
            let was_it = matches!(**right, JoinTree::Relation(r) if r == relation);
            replace(right, relation, by);
            // The conditions of one table are the join's: so it is found by a key.
            if let JoinTree::Inner { parts, on: own, straight: false } = &mut **right
                && was_it
                && let [JoinTree::Relation(table)] = parts[..]
            {
                on.append(own);
                **right = JoinTree::Relation(table);
            }
        }
    }
}
