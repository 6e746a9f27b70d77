//! Loose index scans: where only the groups of an index's leading parts are asked for, with the least or largest of the next part, the first or
//! last entry of each group is all that is read (MySQL: `Using index for group-by`).
//!
//! The groups' operator above stays what it is: it gets one row of each group, or two, instead of all.

use super::{Binder, ROW_COST, SEEK_COST};
use crate::binder::{Relation, Source};
use crate::expr::{Expr, ExprKind, Slot};
use crate::logical::slots_of;
use crate::plan::{Access, Aggregate, AggregateKind, GroupEnds, LockMode, Node};
use record::KeyRestore;

/// Finding the next group, beside what reading an entry costs.
const GROUP_COST: f64 = 4.0 * SEEK_COST;

impl Binder<'_> {
    /// Reads one or two entries of each group, where `node` reads a table and nothing but `keys` and ends of a column beside them are asked of it.
    /// `read`: the slots that are read above.
    pub(crate) fn read_loosely(
        &self,
        node: &mut Node,
        relations: &[Relation],
        keys: &[&Expr],
        aggregates: &[(Slot, Aggregate)],
        read: &[Slot],
    ) {
        let Node::Table(t) = node else { return };
        let whole = matches!(t.access, Access::Full { .. } | Access::Index { ranges: None, first_only: false, .. });
        if !whole || t.lock != LockMode::None || t.keep_row.is_some() {
            return;
        }
        let of_table = |r: &&Relation| matches!(r.source, Source::Base(n) if n == t.table) && *r.alias == *t.alias && r.hints.is_empty();
        let Some(relation) = relations.iter().find(of_table) else { return };
        let column = |slot: Slot| relation.column_of(slot);
        let Some(grouped) =
            keys.iter().map(|key| if let ExprKind::Slot(slot) = key.kind { column(slot) } else { None }).collect::<Option<Vec<usize>>>()
        else {
            return;
        };
        let mut filtered = Vec::new();
        t.filter.iter().for_each(|filter| slots_of(filter, &self.subplans, &mut filtered));
        let is_key = |slot: &Slot| column(*slot).is_some_and(|column| grouped.contains(&column));
        let pure = |e: &Expr| {
            !e.any(&mut |x| matches!(x.kind, ExprKind::Subquery(..)) || matches!(x.kind, ExprKind::Func(f, _) if f.is_volatile()))
        };
        if grouped.is_empty()
            || !filtered.iter().chain(read.iter().filter(|slot| column(**slot).is_some())).all(is_key)
            || !t.filter.as_ref().is_none_or(pure)
        {
            return;
        }
        // All of one column, and of nothing else.
        let mut of = None;
        let (mut least, mut largest) = (aggregates.is_empty(), false);
        for (_, aggregate) in aggregates {
            let Some(ExprKind::Slot(slot)) = aggregate.args.first().map(|e| &e.kind) else { return };
            let Some(column) = column(*slot).filter(|column| of.is_none_or(|of| of == *column)) else { return };
            of = Some(column);
            match aggregate.kind {
                // NULL would come first, and counts for nothing.
                AggregateKind::Min if !relation.columns[column].ty.nullable => least = true,
                AggregateKind::Max => largest = true,
                _ => return,
            }
        }
        let entry = &self.tables[t.table as usize];
        let total = self.context.rows_estimate(entry) as f64;
        for (no, index) in entry.def.indexes.iter().enumerate().skip(1) {
            let parts = &index.parts;
            let leading = || parts.iter().take(grouped.len());
            let fits = parts.len() >= grouped.len()
                && leading().all(|part| part.prefix_chars.is_none() && grouped.contains(&part.column))
                && grouped.iter().all(|column| leading().any(|part| part.column == *column));
            let next = parts.get(grouped.len());
            let ends_fit = of.is_none_or(|of| next.is_some_and(|part| part.column == of && part.prefix_chars.is_none()));
            if !fits || !ends_fit || index.invisible {
                continue;
            }
            let full_parts = &entry.storage.indexes[no].full_parts;
            let columns = t.columns.iter().map(|(column, _)| *column as usize);
            let Some(cover) = KeyRestore::new(entry.storage.layout(), full_parts, columns) else { continue };
            let each = self.rows_per_key(entry, no, grouped.len()).unwrap_or(1.0).max(1.0);
            let groups = (total / each).max(1.0);
            let descending = next.is_some_and(|part| part.descending);
            let ends = match (least, largest) {
                (true, true) => GroupEnds::Both,
                (true, false) if !descending => GroupEnds::First,
                (false, true) if descending => GroupEnds::First,
                _ => GroupEnds::Last,
            };
            if groups * GROUP_COST * if ends == GroupEnds::First { 1.0 } else { 2.0 } >= total * ROW_COST / 2.0 {
                continue;
            }
            t.access = Access::Groups { index: no as u32, parts: grouped.len() as u32, ends };
            t.cover = Some(Box::new(cover));
            t.key_filter = None;
            t.rows = groups * if ends == GroupEnds::Both { 2.0 } else { 1.0 };
            return;
        }
    }
}
