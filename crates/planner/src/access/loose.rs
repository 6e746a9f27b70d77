//! Loose index scans: where only the groups of an index's leading parts are asked for, with the least or largest of a part behind them, the first or
//! last entry of each group is all that is read (MySQL: `Using index for group-by`).
//!
//! Without groups all rows are one: `SELECT MIN(a), MAX(a)` reads an entry at either end.
//!
//! Conditions may bound the parts that make the groups (those groups are read), give parts behind them one value each, and bound the part whose ends
//! are asked for: each group is then entered where its range begins or ends.
//!
//! The groups' operator above stays what it is: it gets one row of each group, or two, instead of all.

use super::skip::GROUP_COST;
use super::{Binder, ENTRY_COST, FETCH_COST, ROW_COST, TableScope, allows};
use crate::binder::{Relation, Source};
use crate::explain::parts_used;
use crate::expr::{Expr, ExprKind, Slot};
use crate::logical::slots_of;
use crate::optimize::by_text_only;
use crate::plan::{
    Access, Aggregate, AggregateKind, GroupEnds, Groups, Interval, LockMode, Node, Points, PrefixRange, RangeSpec, TableNode,
};
use crate::ranges::{Ranges, Sargs, comparable_by_key, is_string};
use crate::switches::Switch;
use catalog::TableEntry;
use record::KeyRestore;
use std::collections::BTreeSet;
use std::rc::Rc;
use types::{Collation, ColumnType};

/// What is asked of a table's groups.
struct Asked {
    /// Columns that make the groups.
    grouped: Vec<usize>,
    /// The column whose ends are asked for.
    of: Option<usize>,
    least: bool,
    largest: bool,
    /// NULL may be among what the least is taken of; it counts for nothing, and would come first.
    nullable: bool,
    /// Columns that are read above.
    read: Vec<usize>,
    /// Columns that the filter reads.
    filtered: Vec<usize>,
    /// It may tell rows apart whose keys are the same.
    sees_more: bool,
}

/// A way to answer it, and how many groups there are.
struct Found {
    groups: Groups,
    cover: Option<Box<KeyRestore>>,
    count: f64,
    cost: f64,
}

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
        let of_table = |r: &&Relation| matches!(r.source, Source::Base(n) if n == t.table) && *r.alias == *t.alias;
        let Some(relation) = relations.iter().find(of_table).filter(|_| is_replaceable(t)) else { return };
        let Some(asked) = self.asked(t, relation, keys, aggregates, read) else { return };
        let own: BTreeSet<Slot> = relation.slots.iter().flatten().copied().collect();
        let scope = TableScope { relation, blocked: &own, binder: self };
        let sargs = Sargs::collect(t.filter.as_slice(), &scope);
        let entry = &self.tables[t.table as usize];
        let sees_invisible = self.context.switches().has(Switch::UseInvisibleIndexes);
        let indexes = (0..entry.def.indexes.len()).filter(|no| allows(relation, entry, *no as u32, sees_invisible));
        let found = indexes.filter_map(|no| self.loose_index(t, no, &sargs, &asked)).min_by(|a, b| a.cost.total_cmp(&b.cost));
        let Some(found) = found.filter(|found| found.cost < present_cost(t, self.context.rows_estimate(entry) as f64, &found.groups))
        else {
            return;
        };
        let index = found.groups.index;
        if found.groups.ranges.is_some() || !found.groups.within.is_empty() {
            t.filtered = 100.0;
            if !t.possible.contains(&index) {
                t.possible.push(index);
                t.possible.sort_unstable();
            }
        }
        t.rows = found.count * if found.groups.ends == GroupEnds::Both { 2.0 } else { 1.0 };
        t.access = Access::Groups(found.groups);
        t.filter_is_ranges = t.filter.is_none();
        t.cover = found.cover;
        t.exact = None;
        t.key_filter = None;
        // Of each range one row is wanted.
        t.rows_hint = Some(1);
    }

    /// What is asked, if entries of an index may tell it.
    fn asked(&self, t: &TableNode, relation: &Relation, keys: &[&Expr], aggregates: &[(Slot, Aggregate)], read: &[Slot]) -> Option<Asked> {
        let column = |slot: Slot| relation.column_of(slot);
        let of_key = |key: &&Expr| if let ExprKind::Slot(slot) = key.kind { column(slot) } else { None };
        let grouped = keys.iter().map(of_key).collect::<Option<Vec<usize>>>()?;
        if grouped.is_empty() && aggregates.is_empty() {
            return None;
        }
        // What runs a query for each row, or may answer otherwise whatever the row is.
        let is_asked_of_each = |e: &Expr| self.is_asked_last(e) || e.any(&mut |e| matches!(e.kind, ExprKind::Subquery(..)));
        if t.filter.as_ref().is_some_and(is_asked_of_each) {
            return None;
        }
        let mut filtered = Vec::new();
        t.filter.iter().for_each(|filter| slots_of(filter, &self.subplans, &mut filtered));
        let filtered = filtered.into_iter().filter_map(column).collect();
        let sees_more = t.filter.as_ref().is_some_and(|filter| sees_more_than_keys(filter, relation));
        let read = read.iter().filter_map(|slot| column(*slot)).collect();
        let least = aggregates.is_empty();
        let mut asked = Asked { grouped, of: None, least, largest: false, nullable: false, read, filtered, sees_more };
        // All of one column, and of nothing else.
        for (_, aggregate) in aggregates {
            let Some(ExprKind::Slot(slot)) = aggregate.args.first().map(|e| &e.kind) else { return None };
            let column = column(*slot).filter(|column| asked.of.is_none_or(|of| of == *column))?;
            if by_text_only(&relation.columns[column].ty) {
                return None;
            }
            asked.of = Some(column);
            match aggregate.kind {
                AggregateKind::Min => {
                    asked.least = true;
                    asked.nullable = relation.columns[column].ty.nullable;
                }
                AggregateKind::Max => asked.largest = true,
                _ => return None,
            }
        }
        Some(asked)
    }

    /// How an index answers it, if it does.
    fn loose_index(&self, t: &TableNode, no: usize, sargs: &Sargs, asked: &Asked) -> Option<Found> {
        let entry = &self.tables[t.table as usize];
        let parts = self.entry_parts(entry, no);
        let (common, end) = group_parts(&parts, sargs, asked)?;
        let behind = if asked.of.is_some() { &parts[common..=end] } else { &parts[common..] };
        let within = within(sargs.ranges_for(behind).as_deref(), end - common, asked)?;
        let told = common + within.first().map_or(0, parts_used);
        let is_among = |parts: &[(u32, bool)], column: &usize| parts.iter().any(|part| part.0 as usize == *column);
        let alike = asked.filtered.iter().all(|column| is_among(&parts[..common], column));
        let is_told = asked.filtered.iter().all(|column| is_among(&parts[..told], column));
        if !is_told || alike && asked.sees_more || !asked.read.iter().all(|column| is_among(&parts[..end], column)) {
            return None;
        }
        let columns = t.columns.iter().map(|(column, _)| *column as usize);
        let cover = if no == 0 { None } else { KeyRestore::new(entry.storage.layout(), &entry.storage.indexes[no].full_parts, columns) };
        // Texts under a collation that folds are not in the entries: the row is fetched of which the entry is, by groups and not by rows.
        let fetches = no != 0 && cover.is_none();
        let leading = sargs.ranges_for(&parts[..common]);
        let is_descending = || entry.storage.indexes[no].full_parts.get(end).is_some_and(|part| part.descending);
        let ends = ends(asked, asked.of.is_some() && is_descending());
        let count = self.loose_groups(entry, no, leading.as_deref(), common);
        let looks = match (within.first(), ends) {
            (None, GroupEnds::First) => 0,
            (None, _) => 1,
            (Some(spec), GroupEnds::Both) => 2 * spec.any.len(),
            (Some(spec), _) => spec.any.len(),
        };
        let cost = count * (GROUP_COST + if fetches { FETCH_COST } else { 0.0 }) * (1 + looks) as f64;
        let groups =
            Groups { index: no as u32, parts: common as u32, alike, ranges: leading.map(|ranges| ranges.spec.clone()), within, ends };
        Some(Found { groups, cover: cover.map(Box::new), count, cost })
    }

    /// How many groups are read.
    fn loose_groups(&self, entry: &TableEntry, no: usize, leading: Option<&Ranges>, common: usize) -> f64 {
        if common == 0 {
            return 1.0;
        }
        let total = self.context.rows_estimate(entry) as f64;
        let declared = entry.def.indexes[no].parts.len();
        let among = leading.map_or(total, |ranges| self.estimate_rows(entry, no, ranges, declared, false, total.max(1.0)));
        (among / self.rows_per_key(entry, no, common).unwrap_or(1.0).max(1.0)).max(1.0)
    }
}

/// Whether a way to read a table may give way to a loose scan.
fn is_replaceable(t: &TableNode) -> bool {
    let reads_many = match &t.access {
        Access::Full { .. } | Access::Groups(_) => true,
        Access::Index { unique, first_only, .. } => !unique && !first_only,
        Access::Merge { .. } => false,
    };
    reads_many && t.lock == LockMode::None && t.keep_key.is_none()
}

/// What the rows cost that are read now, by half: they come in batches.
fn present_cost(t: &TableNode, total: f64, instead: &Groups) -> f64 {
    match &t.access {
        Access::Full { .. } | Access::Index { ranges: None, .. } => total * ROW_COST / 2.0,
        Access::Index { index: 0, .. } => t.rows * ROW_COST / 2.0,
        Access::Index { .. } if t.is_covering() => t.rows * ENTRY_COST.0,
        Access::Index { .. } | Access::Merge { .. } => t.rows * FETCH_COST / 2.0,
        // The same groups, and more of each.
        Access::Groups(present) if present.index == instead.index => f64::INFINITY,
        Access::Groups(_) => t.rows * ENTRY_COST.0,
    }
}

/// How many leading parts of an index make the groups, and where the part is whose ends are asked for (behind them, if none's are): between those that
/// are asked for there are only parts with one value.
fn group_parts(parts: &[(u32, bool)], sargs: &Sargs, asked: &Asked) -> Option<(usize, usize)> {
    let column = |at: usize| parts.get(at).filter(|(_, is_prefix)| !is_prefix).map(|(column, _)| *column as usize);
    let has_one_value = |column: usize| {
        let one = |ranges: Rc<Ranges>| ranges.single && !ranges.has_interval && ranges.point_parts == 1;
        sargs.ranges_for(&[(column as u32, false)]).is_some_and(one)
    };
    let (mut common, mut met) = (0, 0);
    while met < asked.grouped.len() {
        let column = column(common)?;
        let count = asked.grouped.iter().filter(|grouped| **grouped == column).count();
        if count == 0 && (met > 0 || !has_one_value(column)) {
            return None;
        }
        met += count;
        common += 1;
    }
    let mut end = common;
    if let Some(of) = asked.of {
        while column(end)? != of {
            if !has_one_value(column(end)?) {
                return None;
            }
            end += 1;
        }
    }
    Some((common, end))
}

/// Which entries of a group tell what is asked of a part.
fn ends(asked: &Asked, descending: bool) -> GroupEnds {
    match (asked.least, asked.largest) {
        (true, true) => GroupEnds::Both,
        (true, false) if !descending => GroupEnds::First,
        (false, true) if descending => GroupEnds::First,
        _ => GroupEnds::Last,
    }
}

/// Whether a condition may tell rows apart whose keys are the same: it reads a column whose keys do not give its values back (`'x'` and `'X'`), and does not
/// just compare it as they do.
fn sees_more_than_keys(e: &Expr, relation: &Relation) -> bool {
    let folded = |e: &Expr| match e.kind {
        ExprKind::Slot(slot) => relation.column_of(slot).map(|at| &relation.columns[at].ty).filter(|ty| !record::key::is_reversible(ty)),
        _ => None,
    };
    let as_keys = |column: &Expr, with: &Expr, collation: Collation| {
        // What a parameter of unknown type will be nobody knows yet.
        let is_alike = |ty: &ColumnType| !is_string(ty) || is_string(&with.ty);
        folded(column).is_some_and(|ty| is_alike(ty) && comparable_by_key(ty, with, collation))
    };
    let sees = |e: &Expr| sees_more_than_keys(e, relation);
    match &e.kind {
        ExprKind::Slot(_) => folded(e).is_some(),
        ExprKind::IsNull { operand, .. } if folded(operand).is_some() => false,
        ExprKind::Compare(_, collation, a, b) if as_keys(a, b, *collation) => sees(b),
        ExprKind::Compare(_, collation, a, b) if as_keys(b, a, *collation) => sees(a),
        ExprKind::Between { operand, low, high, collation, .. }
            if as_keys(operand, low, *collation) && as_keys(operand, high, *collation) =>
        {
            sees(low) || sees(high)
        }
        ExprKind::InList { operand, list, collation, .. } if list.iter().all(|value| as_keys(operand, value, *collation)) => {
            list.iter().any(sees)
        }
        _ => {
            let mut any = false;
            e.for_each_child(&mut |child| any |= sees(child));
            any
        }
    }
}

/// What is read of each group: nothing is said of all of it. `infix`: so many parts have one value before the one whose ends are asked for.
fn within(behind: Option<&Ranges>, infix: usize, asked: &Asked) -> Option<Vec<RangeSpec>> {
    let spec = behind.map(|ranges| ranges.spec.clone());
    if asked.of.is_none() {
        return Some(spec.into_iter().collect());
    }
    let one_value = |any: &PrefixRange| any.points.len() >= infix && any.points[..infix].iter().all(|points| points.len() == 1);
    if infix > 0 && !spec.as_ref().is_some_and(|spec| matches!(spec.any.as_slice(), [any] if one_value(any))) {
        return None;
    }
    let is_bounded = |any: &PrefixRange| any.points.len() > infix || any.interval.is_some();
    match spec {
        Some(spec) if spec.any.iter().all(is_bounded) => {
            let is_single = spec.any.len() == 1 && spec.any[0].points.iter().all(|points| points.len() == 1);
            let has_null = |any: &PrefixRange| any.points.get(infix).is_some_and(Points::has_null_safe);
            // NULL and values: the least is none of the ends.
            if asked.nullable && !is_single && spec.any.iter().any(has_null) { None } else { Some(vec![spec]) }
        }
        spec if asked.nullable => {
            // Where there are only NULLs, one of them.
            let all = spec.map_or_else(PrefixRange::default, |spec| spec.any.into_iter().next().unwrap_or_default());
            let values = PrefixRange { points: all.points.clone(), interval: Some(Interval { not_null: true, ..Interval::default() }) };
            Some(vec![RangeSpec { any: vec![values] }, RangeSpec { any: vec![all] }])
        }
        spec => Some(spec.into_iter().collect()),
    }
}
