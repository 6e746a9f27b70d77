//! Columns that nothing of a block reads but conditions. Where ranges say those conditions whole, nobody reads the column: an index need not give its value
//! back to be all that is read (`type = 'post'`: the key of a text whose collation folds has no way back to the text).
//!
//! What is noted here once for a block is asked with each path: [`Binder::read_where_exact`] of the conditions that are tested where the table is read, and of
//! what its ranges leave of them.
//!
//! # Invariants
//! 1. A column that is not noted counts as read. So does one that a condition reads which is not tested where the table is read: behind an outer join, after
//!    all joins, in a subquery.
//! 2. A condition that reads other tables too is tested once, with one of them, or joined by. Only a path whose conditions have all of a column's reads it not.
//!
//! # Not here
//! Changes and locking reads: they need the row.

use crate::binder::{Binder, Relation, Source};
use crate::expr::{Expr, Slot};
use crate::join::{Group, ItemKind, Tag};
use crate::logical::slots_of;
use crate::plan::{JoinKind, LockMode};
use crate::ranges::Ranges;
use record::KeyRestore;

/// A column that only conditions read.
#[derive(Clone, Copy, Debug)]
pub struct OnlyTested {
    /// Its position.
    pub column: u32,
    /// How many of those conditions read other tables, or rows of enclosing queries, too.
    pub beside: u32,
}

/// A column that may turn out to be [`OnlyTested`].
struct Candidate {
    relation: usize,
    told: OnlyTested,
    /// Something else reads it.
    read: bool,
}

impl Binder<'_> {
    /// Notes the columns of a block's tables that only conditions of its group read. `above` calls what it is given with all else that the block evaluates.
    pub(crate) fn note_only_tested(&self, relations: &mut [Relation], group: &Group, above: &dyn Fn(&mut dyn FnMut(&Expr))) {
        if group.items.len() == 1 && group.conjuncts.is_empty() {
            return;
        }
        let mut candidates = self.candidates(relations);
        if candidates.is_empty() {
            return;
        }
        let mut slots = Vec::new();
        above(&mut |e| slots_of(e, &self.subplans, &mut slots));
        relations.iter().for_each(|relation| slots.extend(relation.source.outer_slots()));
        for candidate in &mut candidates {
            candidate.read = slots.iter().any(|slot| candidate.is_read_by(relations, *slot));
        }
        self.note_group(&mut candidates, relations, group);
        for Candidate { relation, told, read } in candidates {
            if !read {
                relations[relation].only_tested.push(told);
            }
        }
    }

    /// Used columns that are parts of indexes whose entries do not give them back.
    fn candidates(&self, relations: &[Relation]) -> Vec<Candidate> {
        let mut candidates: Vec<Candidate> = Vec::new();
        for (number, relation) in relations.iter().enumerate() {
            let Source::Base(table) = relation.source else { continue };
            if relation.lock != LockMode::None || relation.keep_key.is_some() {
                continue;
            }
            let entry = &self.tables[table as usize];
            for index in entry.storage.indexes.iter().skip(1) {
                let is_lost = |column: usize| !KeyRestore::is_possible(entry.storage.layout(), &index.full_parts, [column]);
                for part in &index.full_parts {
                    let column = part.column as u32;
                    let is_known = candidates.iter().any(|known| known.relation == number && known.told.column == column);
                    if part.prefix_chars.is_none() && uses(relation, column) && !is_known && is_lost(part.column) {
                        candidates.push(Candidate { relation: number, told: OnlyTested { column, beside: 0 }, read: false });
                    }
                }
            }
        }
        candidates
    }

    /// Notes what the conditions of a group read.
    fn note_group(&self, candidates: &mut [Candidate], relations: &[Relation], group: &Group) {
        let is_inner = |r: usize| {
            let is_it = |kind: &ItemKind| matches!(kind, ItemKind::Relation(own) if *own == r);
            group.items.iter().any(|item| item.join == JoinKind::Inner && is_it(&item.kind))
        };
        for (at, condition) in group.conjuncts.iter().enumerate() {
            // Others are tested of what has been joined.
            let is_tested_below = !matches!(group.tags.get(at), Some(Some(Tag::Check | Tag::Given(_))));
            self.note_condition(candidates, relations, condition, &|r| is_tested_below && is_inner(r));
        }
        for item in &group.items {
            for condition in &item.on {
                self.note_condition(candidates, relations, condition, &|r| matches!(item.kind, ItemKind::Relation(own) if own == r));
            }
            if let ItemKind::Nest(nest) = &item.kind {
                self.note_group(candidates, relations, nest);
            }
        }
    }

    /// Notes what a condition reads, which may be tested where some relations are read.
    fn note_condition(
        &self,
        candidates: &mut [Candidate],
        relations: &[Relation],
        condition: &Expr,
        is_tested_with: &dyn Fn(usize) -> bool,
    ) {
        let mut slots = Vec::new();
        slots_of(condition, &self.subplans, &mut slots);
        let asked_last = self.is_asked_last(condition);
        for candidate in candidates {
            if !slots.iter().any(|slot| candidate.is_read_by(relations, *slot)) {
                continue;
            }
            candidate.read |= asked_last || !is_tested_with(candidate.relation);
            candidate.told.beside += u32::from(reads_beside(&slots, &relations[candidate.relation]));
        }
    }

    /// The columns that are read of a table where its ranges come out exact and the conditions that they say whole are not tested. `conditions` are those that are
    /// tested where it is read.
    pub(crate) fn read_where_exact(&self, relation: &Relation, conditions: &[Expr], ranges: &Ranges) -> Vec<u32> {
        let mut unread = relation.only_tested.clone();
        let mut slots = Vec::new();
        for (condition, left) in conditions.iter().zip(&ranges.left) {
            if unread.is_empty() {
                break;
            }
            slots.clear();
            slots_of(condition, &self.subplans, &mut slots);
            let beside = u32::from(reads_beside(&slots, relation));
            unread.retain_mut(|told| {
                if !slots.iter().any(|slot| relation.column_of(*slot) == Some(told.column as usize)) {
                    return true;
                }
                // One that is not counted was not there when they were noted.
                told.beside = told.beside.wrapping_sub(beside);
                *left
            });
        }
        let is_read = |column: &u32| !unread.iter().any(|told| told.column == *column && told.beside == 0);
        relation.used_columns().map(|(column, _)| column).filter(is_read).collect()
    }
}

impl Candidate {
    fn is_read_by(&self, relations: &[Relation], slot: Slot) -> bool {
        relations[self.relation].column_of(slot) == Some(self.told.column as usize)
    }
}

fn uses(relation: &Relation, column: u32) -> bool {
    relation.used_columns().any(|(used, _)| used == column)
}

/// Whether some of what is read is not of this relation.
fn reads_beside(slots: &[Slot], relation: &Relation) -> bool {
    slots.iter().any(|slot| relation.column_of(*slot).is_none())
}
