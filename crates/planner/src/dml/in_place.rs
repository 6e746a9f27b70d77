//! Whether an UPDATE may change each row where it lies: its new values follow from the row alone, by expressions that may run under the row's latch. Then the
//! read that finds a row hands on its key and nothing else of it, and of its columns reads those that the condition tests.
//!
//! # Not here
//! What a table's definition computes and asks of a changed row, foreign keys, IGNORE, and rows that move in the index they are found by: for these the new row
//! is made of all its values.

use crate::expr::{Expr, ExprKind, Slot};
use crate::logical::slots_of;
use crate::plan::{Body, InPlace, Node, Plan, UpdateTarget};
use std::collections::BTreeSet;

/// Notes it in the plan of an UPDATE.
pub(crate) fn note(plan: &mut Plan) {
    let in_place = in_place(plan);
    let Body::Update(update) = &mut plan.body else { return };
    if let (Some(_), Node::Table(table)) = (&in_place, &mut update.input) {
        let mut tested = Vec::new();
        table.filter.iter().for_each(|filter| slots_of(filter, &plan.subplans, &mut tested));
        // Those that are tested come first; the others stay for EXPLAIN.
        table.columns.sort_by_key(|(_, slot)| !tested.contains(slot));
        table.columns_tested = Some(table.columns.iter().filter(|(_, slot)| tested.contains(slot)).count());
    }
    update.in_place = in_place;
}

/// What rows need that may be changed where they lie.
fn in_place(plan: &Plan) -> Option<InPlace> {
    // Checks and actions of foreign keys read and write other rows.
    if !plan.subplans.is_empty() || plan.foreign_keys.is_some() {
        return None;
    }
    let Body::Update(update) = &plan.body else { return None };
    let (Node::Table(table), [target], false, false) = (&update.input, update.targets.as_slice(), update.buffered, update.ignore) else {
        return None;
    };
    let def = &plan.tables[table.table as usize].def;
    let moves = target.set.iter().any(|(column, _)| def.indexes[0].parts.iter().any(|part| part.column == *column as usize));
    if moves || target.rules.is_some() || !target.set.iter().all(|(_, value)| may_run_latched(value)) {
        return None;
    }
    let column = |slot: Slot| slot.checked_sub(target.first_slot).filter(|column| (*column as usize) < def.columns.len());
    let reads = slots_read(target).into_iter().map(column).collect::<Option<Vec<u32>>>()?;
    let set = target.set.iter().map(|(column, _)| *column as usize);
    let stamped = def.columns.iter().enumerate().filter(|(_, column)| column.on_update_now).map(|(at, _)| at);
    Some(InPlace { reads, changes: set.chain(stamped).collect() })
}

/// Whether an expression neither waits nor reads tables, nor leaves anything behind: it may be evaluated again, when the row had to be waited for.
pub(crate) fn may_run_latched(e: &Expr) -> bool {
    !e.any(&mut |x| match &x.kind {
        ExprKind::Subquery(..) | ExprKind::AssignVariable(..) | ExprKind::NoDefault(_) => true,
        ExprKind::Func(func, _) => func.is_volatile(),
        _ => false,
    })
}

/// The slots that assignments read.
fn slots_read(target: &UpdateTarget) -> BTreeSet<Slot> {
    let mut slots = BTreeSet::new();
    for (_, value) in &target.set {
        value.any(&mut |x| {
            if let ExprKind::Slot(slot) = x.kind {
                slots.insert(slot);
            }
            false
        });
    }
    slots
}
