//! What an item of a group reads beside its own columns: of other items, which come before it then, and of what encloses the group.
//!
//! An item's own condition is tested by whoever joins it. What is *inside* an item is read by the item itself: the columns that a LATERAL relation is made of,
//! and in a nest the conditions of its joins, those of subqueries that became joins in it included.
//!
//! # Invariants
//! 1. An item comes after all that it reads, by its condition or inside.
//! 2. An item that reads another one inside has other rows for each of that one's: no table of a hash join is made of them.

use super::{Group, Item, ItemKind};
use crate::binder::Relation;
use crate::expr::{Expr, Slot};
use crate::logical::slots_of;
use crate::plan::{JoinKind, Subplan};

impl Item {
    /// The slots that are read inside the item, its own among them.
    pub(super) fn read_inside(&self, relations: &[Relation], subplans: &[Subplan], out: &mut Vec<Slot>) {
        match &self.kind {
            ItemKind::Relation(r) => out.extend(relations[*r].source.outer_slots()),
            ItemKind::Nest(group) => {
                group.conjuncts.iter().for_each(|c| slots_of(c, subplans, out));
                for item in &group.items {
                    item.on.iter().for_each(|c| slots_of(c, subplans, out));
                    item.read_inside(relations, subplans, out);
                }
            }
        }
    }
}

impl Group {
    /// The items that each item reads inside.
    pub(super) fn inside(&self, relations: &[Relation], subplans: &[Subplan]) -> Vec<u64> {
        let of = |(at, item): (usize, &Item)| {
            let mut slots = Vec::new();
            item.read_inside(relations, subplans, &mut slots);
            self.items_of(&slots) & !(1 << at)
        };
        self.items.iter().enumerate().map(of).collect()
    }

    /// The items that come before each item, of which `inside` are those that it reads inside.
    pub(super) fn needs(&self, inside: &[u64], subplans: &[Subplan]) -> Vec<u64> {
        let of = |(at, item): (usize, &Item)| {
            let bit = 1u64 << at;
            let mut mask = item.on.iter().fold(0, |mask, c| mask | item_mask(c, self, subplans)) & !bit;
            if item.join != JoinKind::Inner && mask == 0 {
                // Nothing to hold on to: after all inner items written before it.
                mask = bit - 1;
            }
            let left = self.sequences.iter().filter(|(_, right)| right.contains(&at)).flat_map(|(left, _)| left.clone());
            left.fold(mask | inside[at], |mask, at| mask | 1 << at)
        };
        self.items.iter().enumerate().map(of).collect()
    }

    /// The items that have some of these slots.
    fn items_of(&self, slots: &[Slot]) -> u64 {
        let has = |item: &Item| slots.iter().any(|s| item.slots.contains(s));
        self.items.iter().enumerate().filter(|(_, item)| has(item)).fold(0, |mask, (at, _)| mask | 1 << at)
    }
}

/// Items of the group whose slots an expression reads.
pub(super) fn item_mask(e: &Expr, group: &Group, subplans: &[Subplan]) -> u64 {
    let mut slots = Vec::new();
    slots_of(e, subplans, &mut slots);
    group.items_of(&slots)
}
