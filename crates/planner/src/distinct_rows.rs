//! Whether the rows of a block are told apart by what it selects, so that DISTINCT has nothing to do: each of its tables' rows is known by a unique key.
//!
//! A key is known when its columns are selected as they are, or are equal to such columns. Programs write DISTINCT beside ids all the time; without it, rows in
//! the order of an index end at a LIMIT.
//!
//! # Invariants
//! 1. Only equations count whose sides cannot be equal to two values of the other: of numbers of one kind, and of texts of one collation (two keys that it takes
//!    for equal are not in one unique index).
//! 2. From the kept side of an outer join to its other side they hold, too: a row has one partner with that key, or none, which is one row as well. Not the
//!    other way round.

use crate::binder::{Relation, Source};
use crate::expr::{CmpOp, Expr, ExprKind, Slot};
use crate::logical::JoinTree;
use catalog::TableEntry;
use std::collections::BTreeSet;
use std::sync::Arc;
use types::{ColumnType, TypeKind};

/// What an equation says: the second column is known where the first is.
type Follows = (Slot, Slot);

/// Whether no two rows of these joins can have the same output.
pub(crate) fn are_told_apart(
    tables: &[Arc<TableEntry>],
    relations: &[Relation],
    from: &[JoinTree],
    filter: &[Expr],
    output: &[Expr],
) -> bool {
    let (mut read, mut follows) = (Vec::new(), Vec::new());
    filter.iter().for_each(|e| equal_columns(e, &mut follows));
    from.iter().for_each(|tree| gather(tree, &mut read, &mut follows, relations));
    let mut known: BTreeSet<Slot> = output.iter().filter_map(slot_of).collect();
    loop {
        let before = known.len();
        let found: Vec<Slot> = follows.iter().filter(|(of, _)| known.contains(of)).map(|(_, slot)| *slot).collect();
        known.extend(found);
        let (told, left): (Vec<usize>, Vec<usize>) = read.iter().partition(|r| has_known_key(tables, &relations[**r], &known));
        if left.is_empty() {
            return !told.is_empty();
        }
        // Of a row that is known all columns are.
        told.iter().for_each(|r| known.extend(relations[*r].slots.iter().flatten()));
        if known.len() == before {
            return false;
        }
    }
}

fn gather(tree: &JoinTree, read: &mut Vec<usize>, follows: &mut Vec<Follows>, relations: &[Relation]) {
    match tree {
        JoinTree::Relation(r) => read.push(*r),
        JoinTree::Inner { parts, on, .. } => {
            on.iter().for_each(|e| equal_columns(e, follows));
            parts.iter().for_each(|part| gather(part, read, follows, relations));
        }
        JoinTree::Left { left, right, on } => {
            let mut inside = BTreeSet::new();
            right.relations(&mut |r| inside.extend(relations[r].slots.iter().flatten().copied()));
            let mut equal = Vec::new();
            on.iter().for_each(|e| equal_columns(e, &mut equal));
            follows.extend(equal.into_iter().filter(|(_, slot)| inside.contains(slot)));
            gather(left, read, follows, relations);
            gather(right, read, follows, relations);
        }
    }
}

/// Notes two columns that a condition says to be equal.
fn equal_columns(e: &Expr, follows: &mut Vec<Follows>) {
    let ExprKind::Compare(CmpOp::Eq, collation, a, b) = &e.kind else { return };
    let (Some(x), Some(y)) = (slot_of(a), slot_of(b)) else { return };
    let is_text = |ty: &ColumnType| matches!(ty.kind, TypeKind::Char | TypeKind::VarChar) && ty.collation == *collation;
    if a.ty.kind.is_integer() && b.ty.kind.is_integer() || is_text(&a.ty) && is_text(&b.ty) {
        follows.extend([(x, y), (y, x)]);
    }
}

fn slot_of(e: &Expr) -> Option<Slot> {
    if let ExprKind::Slot(slot) = e.kind { Some(slot) } else { None }
}

/// Whether the columns of one of a table's unique keys are known, none of which can be NULL.
fn has_known_key(tables: &[Arc<TableEntry>], relation: &Relation, known: &BTreeSet<Slot>) -> bool {
    let Source::Base(table) = relation.source else { return false };
    let def = &tables[table as usize].def;
    let is_known = |column: usize| relation.slots[column].is_some_and(|slot| known.contains(&slot));
    def.indexes.iter().filter(|index| index.unique && !index.parts.is_empty()).any(|index| {
        let mut parts = index.parts.iter();
        parts.all(|part| part.prefix_chars.is_none() && !def.columns[part.column].ty.nullable && is_known(part.column))
    })
}
