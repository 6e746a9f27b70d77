//! Whether an UPDATE may change each row where it lies: its new values follow from the row alone, by expressions that may run under the row's latch. Then the
//! read that finds a row hands on its key and nothing else of it, and of its columns reads those that the condition tests. Likewise the row that ON DUPLICATE KEY UPDATE
//! finds in the place of a new one, whose values follow from both.
//!
//! # Not here
//! What a table's definition computes and asks of a changed row, foreign keys that the change has to do with, IGNORE, and rows that move in the index they are found by: for these the
//! new row is made of all its values.

use crate::expr::{Expr, ExprKind, Slot};
use crate::logical::slots_of;
use crate::plan::{Body, InPlace, Met, Node, Plan};
use catalog::TableDef;
use std::collections::BTreeSet;

/// Notes it in the plan of an UPDATE.
pub(crate) fn note(plan: &mut Plan) {
    let met = met(plan);
    if let Body::Insert(insert) = &mut plan.body {
        insert.met = met;
        return;
    }
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
    if target.rules.is_some() || !may_be_set_latched(def, &target.set) {
        return None;
    }
    let reads = slots_read(&target.set).into_iter().map(|slot| column_of(def, target.first_slot, slot)).collect::<Option<Vec<u32>>>()?;
    Some(InPlace { reads, changes: columns_changed(def, &target.set).collect() })
}

/// What the row needs that is in the place of a new one.
fn met(plan: &Plan) -> Option<Met> {
    let Body::Insert(insert) = &plan.body else { return None };
    let def = &plan.tables[insert.table as usize].def;
    let set = insert.on_duplicate.as_slice();
    if set.is_empty() || insert.ignore || insert.rules.is_some() || !may_be_set_latched(def, set) {
        return None;
    }
    // Checks and actions of foreign keys read and write other rows.
    let keys = plan.foreign_keys.as_deref().and_then(|keys| keys.of(insert.table));
    if keys.is_some_and(|keys| columns_changed(def, set).any(|column| keys.have(def, column))) {
        return None;
    }
    let slots = slots_read(set);
    let columns = |first: Slot| slots.iter().filter_map(move |slot| column_of(def, first, *slot));
    // A reply tells the number that the row has.
    let number = def.auto_increment_column().map(|column| column as u32);
    let reads: BTreeSet<u32> = columns(insert.existing_slots).chain(number).collect();
    let in_place = InPlace { reads: reads.into_iter().collect(), changes: columns_changed(def, set).collect() };
    Some(Met { in_place, new_reads: columns(insert.new_slots).collect() })
}

/// Whether assignments leave a row where it is, and may be computed under its latch.
fn may_be_set_latched(def: &TableDef, set: &[(u32, Expr)]) -> bool {
    let moves = set.iter().any(|(column, _)| def.indexes[0].parts.iter().any(|part| part.column == *column as usize));
    !moves && set.iter().all(|(_, value)| may_run_latched(value))
}

/// The column of a row whose first one has a slot.
fn column_of(def: &TableDef, first: Slot, slot: Slot) -> Option<u32> {
    slot.checked_sub(first).filter(|column| (*column as usize) < def.columns.len())
}

/// Columns that are set, and those that tell when that was.
fn columns_changed(def: &TableDef, set: &[(u32, Expr)]) -> impl Iterator<Item = usize> {
    let stamped = def.columns.iter().enumerate().filter(|(_, column)| column.on_update_now).map(|(at, _)| at);
    set.iter().map(|(column, _)| *column as usize).chain(stamped)
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
fn slots_read(set: &[(u32, Expr)]) -> BTreeSet<Slot> {
    let mut slots = BTreeSet::new();
    for (_, value) in set {
        value.any(&mut |x| {
            if let ExprKind::Slot(slot) = x.kind {
                slots.insert(slot);
            }
            false
        });
    }
    slots
}
