//! UPDATE: what it assigns, and whether it may change rows as it finds them.

use super::{generated_given, hint_one, never};
use crate::binder::{Binder, Clause, Relation, Result, Scope, Source};
use crate::expr::{Expr, ExprKind, Slot};
use crate::logical::slots_of;
use crate::members::stored_in;
use crate::plan::{Access, Body, Node, TableNode, Update, UpdateTarget};
use crate::virtual_table::is_setup;
use accounts::Privileges;
use mysql_error::codes;
use parser::ast;
use std::collections::BTreeSet;

impl Binder<'_> {
    /// UPDATE.
    pub fn update(&mut self, u: &ast::Update<'_>) -> Result<Body> {
        let ctes = self.ctes.len();
        let bound = self.bind_with(u.with);
        let result = bound.and_then(|()| self.enter(Scope::new(), |b| b.update_in_scope(u)).1);
        self.changed.clear();
        self.ctes.truncate(ctes);
        result.map(|u| Body::Update(Box::new(u)))
    }

    fn update_in_scope(&mut self, u: &ast::Update<'_>) -> Result<Update> {
        self.accesses.next = matches!(u.tables, [ast::TableRef::Table(_)]).then_some(Privileges::UPDATE);
        let trees = self.changed_tables(u.tables, u.hints, "UPDATE")?;
        self.check_using()?;
        let depth = self.scopes.len() - 1;
        let multi = self.has_several(depth);
        let targets = self.update_targets(u);
        // What is wrong with WHERE is told first.
        let mut filter = self.where_clause(u.filter)?;
        let mut targets = targets?;
        self.refuse_changed_in_on()?;
        if targets.is_empty() {
            filter = vec![never()];
        }
        self.note_shared(&mut targets)?;
        self.pad_targets(&mut targets);
        let (mut input, limit) = self.dml_input(trees, filter, u.order_by, u.limit, multi)?;
        // Changing what the scan is ordered by could make it meet a row again.
        let moved = moves_rows(&input, &targets, self);
        let sorted = matches!(input, Node::Sort { .. });
        if limit.is_some() {
            hint_one(&mut input);
        }
        let shown = shown_target(&input, &targets, self);
        Ok(Update { input, targets, buffered: (moved || multi) && !sorted, in_place: None, shown, limit, ignore: u.ignore })
    }

    /// The tables that an UPDATE changes, with what it assigns.
    fn update_targets(&mut self, u: &ast::Update<'_>) -> Result<Vec<UpdateTarget>> {
        let depth = self.scopes.len() - 1;
        // Resolve the targets of the assignments first: they decide which tables are locked and kept.
        let mut resolved: Vec<(usize, u32, &ast::Assignment<'_>)> = Vec::with_capacity(u.assignments.len());
        self.scope().clause = Clause::FieldList;
        for a in u.assignments {
            let (r, c) = self.find_target(depth, &a.column)?;
            let (r, c) = self.assigned_column(depth, r, c)?;
            resolved.push((r, c, a));
        }
        let mut target_relations: Vec<usize> = resolved.iter().map(|(r, ..)| *r).collect();
        target_relations.sort_unstable();
        target_relations.dedup();
        self.refuse_several(depth, &target_relations)?;
        let mut targets = Vec::new();
        for r in &target_relations {
            if let Source::Virtual(table) = self.scopes[depth].relations[*r].source {
                if target_relations.len() == 1 && is_setup(table, "UPDATE") {
                    for (.., a) in &resolved {
                        self.expr(&a.value)?;
                    }
                    return Ok(Vec::new());
                }
                return Err(self.context.virtual_table_denied(table, "UPDATE"));
            }
            let Source::Base(table) = self.scopes[depth].relations[*r].source else {
                let alias = self.scopes[depth].relations[*r].alias.clone();
                return Err(codes::non_updatable_table(alias, "UPDATE"));
            };
            let entry = self.tables[table as usize].clone();
            let first_slot = self.target_slots(depth, *r);
            let key_slot = self.keep_key(depth, *r);
            let (name, check) = self.target_view(depth, *r);
            self.changed.push((entry.def.id, name));
            let rules = self.rules_with(&entry, check)?;
            targets.push(UpdateTarget { table, first_slot, set: Vec::new(), key_slot, rules, shared: false });
        }
        for (r, c, a) in resolved {
            self.access_assigned(depth, r, c as usize);
            // Each assignment's relation is one of them, and they are sorted.
            let at = target_relations.partition_point(|target| *target < r);
            let entry = self.tables[targets[at].table as usize].clone();
            let value = match a.value.kind {
                ast::ExprKind::Default if entry.def.columns[c as usize].generated.is_some() => continue,
                ast::ExprKind::Default => self.default_of_row(&entry.def, &entry.def.columns[c as usize], targets[at].first_slot)?,
                _ if entry.def.columns[c as usize].generated.is_some() => return Err(generated_given(&entry.def, c as usize)),
                _ => {
                    let ty = &entry.def.columns[c as usize].ty;
                    crate::charsets::stored(stored_in(self.expr(&a.value)?, ty), ty)
                }
            };
            targets[at].set.push((c, value));
        }
        Ok(targets)
    }

    /// Finds the targets that are one table under several names. None of them may move its rows: the others would not find them again.
    fn note_shared(&self, targets: &mut [UpdateTarget]) -> Result<()> {
        for later in 1..targets.len() {
            for earlier in 0..later {
                // What is changed stands in the order of the targets.
                let [(id, name), (other_id, other_name)] = [&self.changed[earlier], &self.changed[later]];
                if id != other_id {
                    continue;
                }
                let key = &self.tables[targets[later].table as usize].def.indexes[0].parts;
                let moves = |target: &UpdateTarget| target.set.iter().any(|(c, _)| key.iter().any(|part| part.column == *c as usize));
                if moves(&targets[earlier]) || moves(&targets[later]) {
                    return Err(codes::multi_update_key_conflict(name, other_name));
                }
                (targets[earlier].shared, targets[later].shared) = (true, true);
            }
        }
        Ok(())
    }

    /// Whether a block has more than one table.
    fn has_several(&self, depth: usize) -> bool {
        self.scopes[depth].relations.iter().filter(|r| !matches!(r.source, Source::Merged(_))).count() > 1
    }

    /// The column that an assignment names: (relation, column).
    fn find_target(&self, depth: usize, c: &ast::ColumnRef<'_>) -> Result<(usize, u32)> {
        let mut found = None;
        if c.table.is_none() && !self.scopes[depth].joins.is_empty() {
            let shown = self.scopes[depth].shown_column(c.column)?;
            return shown.map(|(r, at)| (r, at as u32)).ok_or_else(|| codes::bad_field_error(c.column, "field list"));
        }
        for (r, relation) in self.scopes[depth].relations.iter().enumerate().filter(|(_, r)| !r.of_view) {
            if c.table.is_some_and(|t| t != relation.alias) || c.schema.is_some_and(|s| s != relation.database) {
                continue;
            }
            if let Some(at) = relation.columns.iter().position(|x| x.name.eq_ignore_ascii_case(c.column)) {
                if found.is_some() {
                    return Err(codes::non_uniq_error(c.column, "field list"));
                }
                found = Some((r, at as u32));
            }
        }
        found.ok_or_else(|| codes::bad_field_error(crate::binder::spelled(c.schema, c.table, c.column), "field list"))
    }

    /// Gives a relation one slot per column, in order, before any of them is used.
    fn target_slots(&mut self, depth: usize, r: usize) -> Slot {
        let relation = &self.scopes[depth].relations[r];
        if relation.of_view
            && let Some(first) = relation.slots.first().copied().flatten()
        {
            // A view's table has them already.
            return first;
        }
        let columns = relation.columns.clone();
        let first = self.slot_count;
        for c in &columns {
            self.new_slot(c.ty.clone());
        }
        // ON conditions of a multi-table update may have taken slots already. They are bound anew; what stands in subqueries and LATERAL tables is not: for it
        // the slots that it reads are filled, too.
        let relations = &mut self.scopes[depth].relations;
        let lateral = relations.iter().flat_map(|relation| relation.source.outer_slots());
        let read_within: BTreeSet<Slot> = lateral.chain(self.subplans.iter().flat_map(|subplan| &subplan.outer_slots)).copied().collect();
        let Relation { slots, also, .. } = &mut relations[r];
        for (i, slot) in slots.iter_mut().enumerate() {
            if let Some(old) = slot.replace(first + i as Slot) {
                self.replaced_slots.push((old, first + i as Slot));
                if read_within.contains(&old) {
                    also.push((i as u32, old));
                }
            }
        }
        first
    }
}

/// Whether an UPDATE changes columns of the index it reads. A list of keys, or a scan that goes on behind each row, would meet such a row again.
fn moves_rows(input: &Node, targets: &[UpdateTarget], b: &Binder<'_>) -> bool {
    let Node::Table(t) = input else { return true };
    moves_rows_of(t, targets, b)
}

fn moves_rows_of(t: &TableNode, targets: &[UpdateTarget], b: &Binder<'_>) -> bool {
    let def = &b.tables[t.table as usize].def;
    let index = match &t.access {
        Access::Full { .. } | Access::Merge { .. } => 0,
        Access::Groups(groups) => groups.index as usize,
        Access::Index { index, .. } => *index as usize,
    };
    let mut parts: Vec<usize> = def.indexes[index].parts.iter().map(|p| p.column).collect();
    parts.extend(def.indexes[0].parts.iter().map(|p| p.column));
    // ON UPDATE CURRENT_TIMESTAMP columns change, too. Subqueries on the same table would see half-done changes.
    targets.iter().any(|target| {
        let moves = |(column, value): &(u32, Expr)| {
            parts.contains(&(*column as usize)) || value.any(&mut |x| matches!(x.kind, ExprKind::Subquery(..)))
        };
        target.set.iter().any(moves) || parts.iter().any(|p| def.columns[*p].on_update_now || def.columns[*p].generated.is_some())
    })
}

/// The target that is shown to those behind it ([`Update::shown`]): MySQL changes the rows of such a table as it meets them.
fn shown_target(input: &Node, targets: &[UpdateTarget], b: &Binder<'_>) -> Option<usize> {
    let first = first_table(input)?;
    let at = targets.iter().position(|target| first.keep_key == Some(target.key_slot))?;
    let (target, behind) = (&targets[at], &targets[at + 1..]);
    let changed: Vec<Slot> = target.set.iter().map(|(column, _)| target.first_slot + column).collect();
    let reads = |e: &Expr| {
        let mut slots = Vec::new();
        slots_of(e, &b.subplans, &mut slots);
        slots.iter().any(|slot| changed.contains(slot))
    };
    let is_read = behind.iter().flat_map(|target| &target.set).any(|(_, e)| reads(e));
    let stays = first.access.is_of_one_row() || !moves_rows_of(first, std::slice::from_ref(target), b);
    (is_read && stays && !goes_by(input, first, &reads)).then_some(at)
}

/// The table that a nested loop begins with.
fn first_table(node: &Node) -> Option<&TableNode> {
    match node {
        Node::Table(table) => Some(table),
        Node::Nested { outer: input, .. } | Node::Filter { input, .. } => first_table(input),
        _ => None,
    }
}

/// Whether anything in a nested loop behind its first table reads what `reads` tells of, as far as that is known.
fn goes_by(node: &Node, first: &TableNode, reads: &dyn Fn(&Expr) -> bool) -> bool {
    match node {
        Node::Table(table) if std::ptr::eq(&**table, first) => false,
        Node::Table(table) => {
            let by_key = match &table.access {
                Access::Full { .. } | Access::Index { ranges: None, .. } => false,
                Access::Index { ranges: Some(spec), .. } => spec.expressions().any(reads),
                Access::Groups(_) | Access::Merge { .. } => true,
            };
            by_key || table.filter.as_ref().is_some_and(reads)
        }
        Node::Nested { outer, inner, on, .. } => {
            on.as_ref().is_some_and(reads) || goes_by(outer, first, reads) || goes_by(inner, first, reads)
        }
        Node::Filter { input, predicate } => reads(predicate) || goes_by(input, first, reads),
        _ => true,
    }
}
