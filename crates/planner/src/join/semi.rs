//! Subqueries that become joins, and by which way.
//!
//! `[NOT] EXISTS (…)` and `IN (…)` over tables and conditions are an item of the join that is looked up for each row (a semi or anti join); or, where nothing but
//! equalities leads outside, a set: distinct rows that are made once and joined from whichever side is cheaper, also before all others. Which one pays hangs on
//! how many rows ask, and that on all other joins: so where both may pay, a block's joins are looked at both ways ([`Draft`]).
//!
//! # Invariants
//! 1. No two rows of a set equal the same row (`form.rs`), so that it can be joined like any other.
//! 2. Where there is a choice, one way is in the group and of the other nothing is left. Only blocks of base tables without subqueries have a choice: they can be
//!    planned twice.
//!
//! # Not here
//! Statements that change rows, and groups within groups, join by the first way.

use super::{Group, Item, ItemKind, equal, factor};
use crate::access::Wanted;
use crate::alike::same;
use crate::binder::{Binder, RelColumn, Relation, Source};
use crate::conditions::compare_expr;
use crate::expr::{CmpOp, Expr, ExprKind, Slot, SubqueryKind};
use crate::join::form::told_apart;
use crate::logical::{Block, slots_of};
use crate::optimize::has_subquery;
use crate::plan::{JoinKind, LockMode, OutputColumn};
use crate::switches::Switch;
use crate::typing;
use catalog::TableEntry;
use std::collections::BTreeSet;
use std::result::Result;
use types::Collation;

/// Rows of a table below which nobody asks whether to begin with a set instead.
const ASKING_MIN: u64 = 1000;
/// How many times as many rows as a table that leaves none out has one with which it is joined first.
const TIMES_MORE: u64 = 4;
/// Cost of making a set from which on it is asked whether to look its rows up instead.
const MADE_MIN: f64 = 500.0;
/// Cost of a row of a set: it is looked up among the others, and kept.
const KEPT_COST: f64 = 2.0;
/// How much cheaper another way must be expected to be.
const CHEAPER_MIN: f64 = 2.0;

/// By how many ways a subquery may be joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ways {
    /// The usual one.
    #[default]
    One,
    /// Whichever is expected to be cheaper.
    Either,
}

/// A group of which it may not be settled by which way subqueries are joined.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    /// What is joined, by the first ways, without their equalities.
    pub(super) group: Group,
    /// Where those of the ways stand among the conditions.
    pub(super) equalities_at: usize,
    /// Subqueries that may be joined by another way.
    pub(super) choices: Vec<Choice>,
}

/// A subquery that may be joined by either of two ways.
#[derive(Debug)]
pub(super) struct Choice {
    /// Its position in the group.
    pub(super) item: usize,
    /// The ways, the usual one first.
    pub(super) ways: [Way; 2],
}

/// A way to join a subquery.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) item: Item,
    /// Conditions that join it.
    pub(super) equalities: Vec<Expr>,
    /// What is done before: making a set.
    making: f64,
}

/// A subquery that became a join.
#[derive(Debug)]
pub(super) struct Joined {
    pub(super) way: Way,
    pub(super) other: Option<Way>,
}

/// What is known of the rows that ask.
#[derive(Debug, Default)]
pub(super) struct Asking {
    ways: Ways,
    /// Slots of relations that have one row.
    single: BTreeSet<Slot>,
    /// Conditions without subqueries.
    conditions: Vec<Expr>,
    /// The relations' slots.
    slots: BTreeSet<Slot>,
}

impl Draft {
    /// The group, by the usual ways.
    pub(super) fn settled(self, relations: &[Relation]) -> Group {
        let ways = vec![0; self.choices.len()];
        with_ways(self.group, relations, &self.choices, self.equalities_at, &ways)
    }

    /// Notes hints on the order.
    pub(crate) fn hint(&mut self, hints: Vec<(crate::hints::Place, Vec<usize>)>) {
        self.group.hints = hints;
    }
}

fn with_ways(mut group: Group, relations: &[Relation], choices: &[Choice], equalities_at: usize, ways: &[usize]) -> Group {
    let mut equalities = Vec::new();
    for (choice, way) in choices.iter().zip(ways) {
        let way = &choice.ways[*way];
        group.items[choice.item] = way.item.clone();
        equalities.extend(way.equalities.iter().cloned());
    }
    group.conjuncts.splice(equalities_at..equalities_at, equalities);
    if group.items.len() > 1 {
        group.tags = factor::factor(&mut group.conjuncts, relations);
    }
    equal::propagate(&mut group);
    group
}

impl Binder<'_> {
    /// A draft's group, by the ways that are expected to cost least.
    pub(crate) fn choose_ways(&self, relations: &[Relation], draft: Draft, wanted: Option<Wanted<'_>>) -> Group {
        let Draft { group, equalities_at, choices } = draft;
        let blocked = BTreeSet::new();
        let mut ways = vec![0; choices.len()];
        if choices.is_empty() {
            return with_ways(group, relations, &choices, equalities_at, &ways);
        }
        let look = |ways: &[usize]| {
            let group = with_ways(group.clone(), relations, &choices, equalities_at, ways);
            let making: f64 = choices.iter().zip(ways).map(|(choice, way)| choice.ways[*way].making).sum();
            let cost = making + self.join_order(relations, &group, &blocked, wanted).cost;
            (group, cost)
        };
        let mut best = look(&ways);
        for at in 0..choices.len() {
            ways[at] = 1;
            let other = look(&ways);
            if other.1 * CHEAPER_MIN < best.1 {
                best = other;
            } else {
                ways[at] = 0;
            }
        }
        best.0
    }

    /// What is known of the rows of these relations, where some condition asks whether a subquery has such a row.
    pub(super) fn asking(&self, relations: &[Relation], filter: &[Expr], ways: Ways) -> Asking {
        let asks = |e: &Expr, is_it: fn(&SubqueryKind) -> bool| matches!(&e.kind, ExprKind::Subquery(_, kind) if is_it(kind));
        let in_set = filter.iter().any(|e| asks(e, |kind| matches!(kind, SubqueryKind::In { negated: false, .. })));
        let exists = filter.iter().any(|e| asks(e, |kind| matches!(kind, SubqueryKind::Exists { negated: false })));
        if !(in_set || exists && ways == Ways::Either) {
            return Asking::default();
        }
        let slots = |relation: &Relation| -> Vec<Slot> { relation.used_columns().map(|(_, slot)| slot).collect() };
        let all: BTreeSet<Slot> = relations.iter().flat_map(slots).collect();
        let conditions: Vec<Expr> = filter.iter().filter(|e| !has_subquery(e)).cloned().collect();
        let is_single = |relation: &&Relation| {
            matches!(relation.source, Source::Base(_)) && {
                let path = self.best_path(relation, &conditions, &all, None);
                path.unique && path.ranges.is_some_and(|ranges| ranges.constant && ranges.single)
            }
        };
        let single = if in_set { relations.iter().filter(is_single).flat_map(slots).collect() } else { BTreeSet::new() };
        Asking { ways, single, conditions, slots: all }
    }

    /// Turns `[NOT] EXISTS (…)` and `IN (…)` over a simple block into a join.
    pub(super) fn semi_join(&mut self, relations: &mut Vec<Relation>, conjunct: Expr, asking: &Asking) -> Result<Joined, Expr> {
        let ExprKind::Subquery(number, kind) = &conjunct.kind else { return Err(conjunct) };
        let number = *number;
        let switches = self.context.switches();
        if self.views.kept.contains(&number) || !switches.has(Switch::Semijoin) {
            return Err(conjunct);
        }
        let Some(block) = self.pending[number as usize].as_ref().filter(|b| !b.scope.volatile) else { return Err(conjunct) };
        // What groups has rows of its own, which can be joined when they do not depend on the outer row.
        let in_set = matches!(&**kind, SubqueryKind::In { negated: false, .. });
        let own_rows =
            in_set && block.scope.outer.is_empty() && block.limit.is_none() && block.scope.windows.is_empty() && !block.from.is_empty();
        if !(block.is_simple() || own_rows) || relations.len() > 40 {
            return Err(conjunct);
        }
        let simple = block.is_simple();
        let negated = match &**kind {
            SubqueryKind::Exists { negated } => *negated,
            SubqueryKind::In { needle, negated, .. } => {
                let nullable = needle.iter().any(|n| n.ty.nullable) || block.items.iter().any(|(e, _)| e.ty.nullable);
                if *negated && nullable {
                    return Err(conjunct);
                }
                *negated
            }
            _ => return Err(conjunct),
        };
        let Some(block) = self.pending[number as usize].take().map(|block| *block) else { return Err(conjunct) };
        let locks = block.scope.relations.iter().any(|r| r.lock != LockMode::None);
        // Who asks once looks for what is equal, and needs no set.
        let asks_once = |needle: &Expr| matches!(needle.kind, ExprKind::Slot(slot) if asking.single.contains(&slot));
        if let SubqueryKind::In { needle, negated: false, collations } = &**kind
            && block.scope.outer.is_empty()
            && switches.has(Switch::Materialization)
            && !locks
            && !(simple && needle.iter().all(asks_once))
            && let Some(set) = set_of(&block, needle)
        {
            let copy = self.may_be_looked_up(&block, asking).then(|| block.clone());
            let Some(way) = self.set_way(relations, Block { items: set, ..block }, needle, collations) else { return Err(conjunct) };
            let looked_up = copy.filter(|_| way.making > MADE_MIN);
            let other = looked_up.map(|block| self.lookup_way(relations, block, kind, negated));
            return Ok(Joined { way, other });
        }
        if !simple {
            self.pending[number as usize] = Some(Box::new(block));
            return Err(conjunct);
        }
        let is_worth_a_set = matches!(**kind, SubqueryKind::Exists { negated: false })
            && asking.ways == Ways::Either
            && switches.has(Switch::Materialization)
            && self.is_plain(&block);
        let set = if is_worth_a_set { self.set_beside(&block).filter(|set| self.may_begin(relations, set, asking)) } else { None };
        let other = set.and_then(|set| self.set_way(relations, set.block, &set.needles, &set.collations));
        Ok(Joined { way: self.lookup_way(relations, block, kind, negated), other })
    }

    /// A set of its own: its distinct rows are joined, from whichever side is cheaper. The block yields what no two rows of equal the same needle.
    fn set_way(&mut self, relations: &mut Vec<Relation>, mut block: Block, needles: &[Expr], collations: &[Collation]) -> Option<Way> {
        block.distinct |= !is_distinct(&block);
        block.asked_for_one = false;
        block.order.clear();
        for ((e, _), c) in block.items.iter_mut().zip(collations) {
            if typing::is_string_class(&e.ty) {
                e.ty.collation = *c;
            }
        }
        let column = |(e, meta): &(Expr, OutputColumn)| RelColumn {
            name: meta.name.to_string(),
            ty: e.ty.clone(),
            meta: meta.clone(),
            hidden: true,
            invisible: false,
        };
        let columns: Vec<RelColumn> = block.items.iter().map(column).collect();
        let slots: Vec<Slot> = columns.iter().map(|c| self.new_slot(c.ty.clone())).collect();
        let (query, rows) = self.plan_block(block).ok()?;
        let making = self.joined_cost + rows * KEPT_COST;
        let pairs = needles.iter().zip(collations).zip(slots.iter().zip(&columns));
        let equal = |((needle, c), (slot, column)): ((&Expr, &Collation), (&Slot, &RelColumn))| {
            compare_expr(CmpOp::Eq, *c, needle.clone(), Expr::slot(*slot, column.ty.clone()))
        };
        let equalities = pairs.map(equal).collect();
        relations.push(Relation {
            slots: slots.iter().map(|s| Some(*s)).collect(),
            ..Relation::new("<subquery>", Source::Derived(std::sync::Arc::new(query), BTreeSet::new(), rows), columns)
        });
        let kind = ItemKind::Relation(relations.len() - 1);
        let item = Item { kind, join: JoinKind::Inner, on: Vec::new(), slots: slots.into_iter().collect(), is_missing: false };
        Some(Way { item, equalities, making })
    }

    /// A semi or anti join.
    fn lookup_way(&mut self, relations: &mut Vec<Relation>, block: Block, kind: &SubqueryKind, negated: bool) -> Way {
        let mut on = Vec::new();
        if let SubqueryKind::In { needle, collations, .. } = kind {
            for ((n, (e, _)), c) in needle.iter().zip(&block.items).zip(collations) {
                on.push(compare_expr(CmpOp::Eq, *c, n.clone(), e.clone()));
            }
        }
        let offset = relations.len();
        let mut slots = BTreeSet::new();
        for r in &block.scope.relations {
            slots.extend(r.slots.iter().flatten().copied());
            slots.extend(r.also.iter().map(|(_, slot)| *slot));
        }
        relations.extend(block.scope.relations);
        let mut trees = block.from;
        trees.iter_mut().for_each(|t| t.shift(offset));
        // Conditions that reach outside belong to the join, the rest to the block. A subquery may become a join of the block.
        let mut inside = block.filter;
        on.extend(inside.extract_if(.., |c| self.reads_beside(c, &slots) && !matches!(c.kind, ExprKind::Subquery(..))));
        trees.iter_mut().for_each(|t| t.lift(&|c| self.reads_beside(c, &slots), &mut on));
        let mut group = self.build_group(relations, trees, inside, block.straight);
        group.items.iter().for_each(|item| slots.extend(item.slots.iter().copied()));
        // One that became none is tested with the join.
        let conjuncts = std::mem::take(&mut group.conjuncts).into_iter().zip(std::mem::take(&mut group.tags));
        let (outside, own): (Vec<_>, Vec<_>) = conjuncts.partition(|(c, _)| self.reads_beside(c, &slots));
        on.extend(outside.into_iter().map(|(c, _)| c));
        (group.conjuncts, group.tags) = own.into_iter().unzip();
        let kind = match group.items.as_slice() {
            [Item { kind: ItemKind::Relation(r), join: JoinKind::Inner, .. }] if group.conjuncts.is_empty() => ItemKind::Relation(*r),
            _ => ItemKind::Nest(Box::new(group)),
        };
        let join = if negated { JoinKind::Anti } else { JoinKind::Semi };
        Way { item: Item { kind, join, on, slots, is_missing: false }, equalities: Vec::new(), making: 0.0 }
    }

    /// Whether an expression reads other slots than these.
    fn reads_beside(&self, e: &Expr, slots: &BTreeSet<Slot>) -> bool {
        let mut used = Vec::new();
        slots_of(e, &self.subplans, &mut used);
        used.iter().any(|s| !slots.contains(s))
    }

    /// Whether a block can be planned twice.
    fn is_plain(&self, block: &Block) -> bool {
        let is_base = |relation: &Relation| matches!(relation.source, Source::Base(_)) && relation.lock == LockMode::None;
        let mut items = block.items.iter().map(|(e, _)| e);
        block.scope.relations.iter().all(is_base)
            && !block.filter.iter().any(has_subquery)
            && !items.any(has_subquery)
            && block.from.iter().all(|tree| tree.all_on(&mut |on| !on.iter().any(has_subquery)))
    }

    /// Whether rows of a block that yields what is compared may be found by an index, instead of making a set of all.
    fn may_be_looked_up(&self, block: &Block, asking: &Asking) -> bool {
        let is_key = |(e, _): &(Expr, OutputColumn)| self.table_led_by(&block.scope.relations, e).is_some();
        asking.ways == Ways::Either && block.is_simple() && self.is_plain(block) && block.items.iter().any(is_key)
    }

    /// Whether it may pay to begin with a set: its rows lead to few of many by an index.
    fn may_begin(&self, relations: &[Relation], set: &SetBeside, asking: &Asking) -> bool {
        let found = |needle: &Expr| self.table_led_by(relations, needle);
        let rows = |entry: &TableEntry| self.context.rows_estimate(entry);
        set.needles.iter().filter_map(found).any(|(relation, entry)| {
            let asks = rows(entry);
            let is_smaller = |inner: &Relation| match inner.source {
                Source::Base(table) => rows(&self.tables[table as usize]) * TIMES_MORE <= asks,
                _ => false,
            };
            asks >= ASKING_MIN && (!set.block.filter.is_empty() || set.block.scope.relations.iter().any(is_smaller)) && {
                let path = self.best_path(relation, &asking.conditions, &asking.slots, None);
                path.rows * self.passing(relation, &asking.conditions, &path) > super::search::FEW_ROWS
            }
        })
    }

    /// The table an index of which begins with this column.
    fn table_led_by<'r>(&'r self, relations: &'r [Relation], e: &Expr) -> Option<(&'r Relation, &'r TableEntry)> {
        let ExprKind::Slot(slot) = e.kind else { return None };
        let (relation, column) = relations.iter().find_map(|relation| Some((relation, relation.column_of(slot)?)))?;
        let Source::Base(table) = relation.source else { return None };
        let entry = &self.tables[table as usize];
        let leads = |index: &catalog::IndexDef| {
            !index.invisible && index.parts.first().is_some_and(|part| part.column == column && part.prefix_chars.is_none())
        };
        entry.def.indexes.iter().any(leads).then_some((relation, &**entry))
    }

    /// A block of EXISTS as a set of what it compares with the rows around it, where equalities are all that reads those.
    fn set_beside(&self, block: &Block) -> Option<SetBeside> {
        let mut set = block.clone();
        let mut filter = std::mem::take(&mut set.filter);
        let reads_outer = |e: &Expr| self.reads_outer(block, e);
        set.from.iter_mut().for_each(|tree| tree.lift(&reads_outer, &mut filter));
        if !set.from.iter().all(|tree| tree.all_on(&mut |on| !on.iter().any(reads_outer))) {
            return None;
        }
        set.items.clear();
        set.order.clear();
        set.scope.outer.clear();
        let (mut needles, mut collations) = (Vec::new(), Vec::new());
        for condition in filter {
            if !reads_outer(&condition) {
                set.filter.push(condition);
                continue;
            }
            let (collation, inside, outside) = self.sides(block, &condition)?;
            set.items.push((told_apart(inside, &outside.ty)?, self.named_as(block, inside)));
            needles.push(outside.clone());
            collations.push(collation);
        }
        (!needles.is_empty()).then_some(SetBeside { block: set, needles, collations })
    }

    /// A column by the name that it has in a block.
    fn named_as(&self, block: &Block, e: &Expr) -> OutputColumn {
        let name = |slot: Slot| {
            let mut columns = block.scope.relations.iter().filter_map(|relation| Some(&relation.columns[relation.column_of(slot)?].name));
            columns.next().map(|name| name.as_str().into())
        };
        let name = if let ExprKind::Slot(slot) = e.kind { name(slot) } else { None };
        OutputColumn { name: name.unwrap_or_default(), ..OutputColumn::default() }
    }

    /// The sides of an equality of what a block has with what is around it: the inner one first.
    pub(crate) fn sides<'e>(&self, block: &Block, condition: &'e Expr) -> Option<(Collation, &'e Expr, &'e Expr)> {
        let ExprKind::Compare(CmpOp::Eq, collation, a, b) = &condition.kind else { return None };
        let outer = &block.scope.outer;
        let slots = |e: &Expr| {
            let mut slots = Vec::new();
            slots_of(e, &self.subplans, &mut slots);
            slots
        };
        let (of_a, of_b) = (slots(a), slots(b));
        let all_outer = |slots: &[Slot]| slots.iter().all(|slot| outer.contains(slot));
        let none_outer = |slots: &[Slot]| slots.iter().all(|slot| !outer.contains(slot));
        if all_outer(&of_b) && none_outer(&of_a) {
            Some((*collation, a, b))
        } else if all_outer(&of_a) && none_outer(&of_b) {
            Some((*collation, b, a))
        } else {
            None
        }
    }
}

/// A block of EXISTS as a set.
struct SetBeside {
    block: Block,
    /// What its columns are equal to.
    needles: Vec<Expr>,
    /// By these.
    collations: Vec<Collation>,
}

/// What a block yields in a form in which no two rows equal the same needle.
fn set_of(block: &Block, needles: &[Expr]) -> Option<Vec<(Expr, OutputColumn)>> {
    block.items.iter().zip(needles).map(|((e, meta), n)| Some((told_apart(e, &n.ty)?, meta.clone()))).collect()
}

/// Whether the rows of a block are distinct by themselves: it groups by what it selects. Strings may be equal to whom they are compared with
/// and yet be of two groups. (Less than [`equals_are_one`](super::equals_are_one) asks: here no two rows may be equal to the same one.)
fn is_distinct(block: &Block) -> bool {
    let text = |e: &Expr| typing::is_string_class(&e.ty);
    !block.group_by.is_empty()
        && block.rollup.is_none()
        && block.items.iter().all(|(e, _)| !text(e))
        && block.group_by.iter().all(|g| block.items.iter().any(|(e, _)| same(g, e)))
}
