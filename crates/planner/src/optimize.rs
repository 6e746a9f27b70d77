//! From a bound block to operators: joins, then grouping, HAVING, DISTINCT, ORDER BY, LIMIT.

use crate::access::Wanted;
use crate::alike::{By, ExprMap};
use crate::binder::{Binder, Relation, Result, check_stack};
use crate::conditions::bool_type;
use crate::distinct_rows::are_told_apart;
use crate::expr::{Expr, ExprKind, Slot};
use crate::join::{Group, Ways, key_form, told_apart, with_filter};
use crate::logical::{Block, BoundRollup, JoinTree, slots_of};
use crate::plan::{self, Access, Aggregate, AggregateKind, LimitSpec, LockMode, Lookup, Node, Query, SortKey};
use crate::switches::Switch;
use crate::window::{BoundWindow, Window};
use std::collections::BTreeSet;
use types::Value;

/// Executions of a subquery about which nothing is known.
const EXECUTIONS: f64 = 100.0;
/// Cost of finding the answer of one row in the table of a grouped run.
const LOOKUP_COST: f64 = 1.0;

/// Rows that are expected to be read for each that is unlike those before.
const DISTINCT_EACH: f64 = 16.0;

/// How many groups are expected of so many rows.
pub(crate) fn groups_of(rows: f64) -> f64 {
    rows.sqrt().max(1.0) * 3.0
}

impl<'c> Binder<'c> {
    /// Plans a block: (plan, expected rows).
    pub fn plan_block(&mut self, mut block: Block) -> Result<(Query, f64)> {
        check_stack()?;
        let computed = self.merge_derived(&mut block);
        let Block {
            scope,
            from,
            filter,
            items,
            group_by,
            rollup,
            grouped,
            having,
            mut order,
            distinct,
            limit,
            straight,
            implicit,
            asked_for_one,
            ..
        } = block;
        let (aggregates, windows) = (scope.aggregates, scope.windows);
        let mut relations = scope.relations;
        let exprs: Vec<Expr> = items.into_iter().map(|(e, _)| e).collect();
        let distinct = distinct && (grouped || !are_told_apart(&self.tables, &relations, &from, &filter, &exprs));
        order.retain(|k| !k.expr.is_constant() || matches!(k.expr.kind, ExprKind::Subquery(..)));
        let limit_rows = match &limit {
            Some(limit) => self.limit_rows(limit),
            None => asked_for_one.then_some(1.0),
        };
        let order_on_rows = !grouped && !distinct && windows.is_empty() && !order.is_empty();
        let wanted = if order_on_rows {
            Some(Wanted { order: &order, limit: limit_rows, sort_cost: 0.3 })
        } else {
            // Any rows will do, as soon as there are enough.
            let takes_first = !grouped && having.is_none() && windows.is_empty() && order.is_empty();
            let limit = limit_rows.filter(|_| takes_first).map(|limit| if distinct { limit * DISTINCT_EACH } else { limit });
            limit.map(|limit| Wanted { order: &[], limit: Some(limit), sort_cost: 0.0 })
        };
        if let (Some(limit), Some(rows)) = (&limit, wanted.and_then(|wanted| wanted.limit).and(limit_rows)) {
            self.note_limit(limit, rows);
        }
        let ways = if straight || !scope.join_hints.is_empty() { Ways::One } else { Ways::Either };
        let mut draft = self.draft_group(&mut relations, from, filter, straight, ways);
        draft.hint(scope.join_hints);
        let mut group = self.choose_ways(&relations, draft, wanted);
        self.plan_waiting(&mut relations, &mut group)?;
        self.note_only_tested(&mut relations, &group, &|f| {
            let keys = order.iter().map(|key| &key.expr);
            let evaluated = exprs.iter().chain(&group_by).chain(&having).chain(keys).chain(computed.iter().map(|(_, e)| e));
            evaluated.for_each(&mut *f);
            for (_, a) in &aggregates {
                a.args.iter().chain(a.order.iter().map(|key| &key.expr)).for_each(&mut *f);
            }
            windows.iter().for_each(|window| window.for_each_expr(&mut |e| f(e)));
        });

        // MIN or MAX alone is the first row in the column's order.
        // Rows that have NULL are passed over, where one group comes of no rows as well.
        let first_of_all = |key: &SortKey| implicit || !key.expr.ty.nullable;
        let extreme = if grouped && group_by.is_empty() && having.is_none() { extreme_key(&aggregates).filter(first_of_all) } else { None };
        let mut extreme_used = false;
        let blocked = BTreeSet::new();
        let planned = if let (Some(key), 1) = (&extreme, group.items.len()) {
            let mut narrowed = group.clone();
            if let Some(e) = not_null(key) {
                narrowed.conjuncts.push(e);
            }
            let keys = std::slice::from_ref(key);
            let wanted = Wanted { order: keys, limit: Some(1.0), sort_cost: 0.2 };
            let planned = self.plan_group(&relations, &narrowed, &blocked, Some(wanted))?;
            if planned.ordered && reads_index(&planned.node) {
                extreme_used = true;
                planned
            } else {
                self.plan_group(&relations, &group, &blocked, None)?
            }
        } else {
            self.plan_group(&relations, &group, &blocked, wanted)?
        };
        self.joined_cost = planned.cost;
        group.items.clear();
        let (mut node, mut rows, sorted) = (planned.node, planned.rows, planned.ordered);
        if !computed.is_empty() {
            node = Node::Project { input: Box::new(node), exprs: computed, replaces: false };
        }
        if extreme_used {
            if let Node::Table(t) = &mut node {
                t.rows_hint = Some(1);
                if let Access::Index { first_only, .. } = &mut t.access {
                    *first_only = true;
                }
            }
            let one = Expr::literal(Value::Int(1), types::ColumnType::bigint());
            node = Node::Limit { input: Box::new(node), limit: LimitSpec { count: Some(one), offset: None } };
        }

        // A condition is tested on what the others leave, a value computed for what is left in the end.
        let passing: f64 = group.conjuncts.iter().filter(|c| has_subquery(c)).map(crate::selectivity::selectivity).product();
        for c in &group.conjuncts {
            self.note_executions(c, rows / passing);
        }
        // What is only yielded is computed of as many rows as the limit takes.
        let yielded = if distinct { rows } else { limit_rows.map_or(rows, |limit| rows.min(limit)) };
        exprs.iter().for_each(|e| self.note_executions(e, yielded));
        for e in having.iter().chain(order.iter().map(|k| &k.expr)).chain(&group_by) {
            self.note_executions(e, rows);
        }
        for e in aggregates.iter().flat_map(|(_, a)| &a.args) {
            self.note_executions(e, rows);
        }
        windows.iter().for_each(|w| w.for_each_expr(&mut |e| self.note_executions(e, rows)));

        // Slots that are read above the joins.
        let mut above = Vec::new();
        for e in exprs.iter().chain(having.iter()).chain(order.iter().map(|k| &k.expr)) {
            slots_of(e, &self.subplans, &mut above);
        }
        windows.iter().for_each(|w| w.for_each_expr(&mut |e| slots_of(e, &self.subplans, &mut above)));
        above.sort_unstable();
        above.dedup();

        if rollup.is_none() && windows.is_empty() {
            let keys: Option<Vec<&Expr>> = match (grouped, distinct) {
                (true, _) => Some(group_by.iter().collect()),
                (false, true) => Some(exprs.iter().collect()),
                (false, false) => None,
            };
            if let Some(keys) = keys {
                self.read_loosely(&mut node, &relations, &keys, &aggregates, &above);
            }
        }
        if grouped {
            rows = if group_by.is_empty() { 1.0 } else { groups_of(rows) };
            let groups = self.grouped(node, &relations, &group_by, rollup, aggregates, &above);
            node = Node::Group(Box::new(plan::Group { implicit, ..groups }));
        }
        if let Some(having) = having {
            let mut list = Vec::new();
            having.into_conjuncts(&mut list);
            node = with_filter(node, list);
            rows *= 0.5;
        }
        if !windows.is_empty() {
            node = self.with_windows(node, windows, exprs.iter().chain(order.iter().map(|k| &k.expr)));
        }
        let mut output = exprs;
        if distinct {
            node = self.distinct(node, &mut output, &mut order);
            above = output.iter().filter_map(|e| if let ExprKind::Slot(s) = e.kind { Some(s) } else { None }).collect();
        }
        let one_row = grouped && group_by.is_empty();
        let ordered = order.is_empty() || (order_on_rows && sorted);
        let needs_sort = !ordered && !one_row;
        if needs_sort {
            let mut saved: Vec<Slot> = Vec::new();
            for e in &output {
                slots_of(e, &self.subplans, &mut saved);
            }
            saved.sort_unstable();
            saved.dedup();
            saved.retain(|s| above.contains(s) || distinct);
            node = Node::Sort { input: Box::new(node), keys: crate::members::sorting(order), saved, limit: limit.clone() };
        } else if let Some(limit) = &limit {
            let simple = !grouped && !distinct && !matches!(node, Node::Window(_));
            if let Node::Table(t) = &mut node
                && simple
            {
                t.rows_hint = if t.lock == LockMode::None { limit_rows.map(|r| r as u64) } else { Some(1) };
            }
            node = Node::Limit { input: Box::new(node), limit: limit.clone() };
        }
        if let Some(l) = limit_rows {
            rows = rows.min(l);
        }
        Ok((Query { root: node, output }, rows.max(0.01)))
    }

    /// Groups the rows of a block; `above`: the slots that are read behind.
    fn grouped(
        &mut self,
        mut node: Node,
        relations: &[Relation],
        group_by: &[Expr],
        rollup: Option<BoundRollup>,
        aggregates: Vec<(Slot, Aggregate)>,
        above: &[Slot],
    ) -> plan::Group {
        let own: BTreeSet<Slot> = relations.iter().flat_map(|r| r.slots.iter().flatten().copied()).collect();
        let rolled = |s: &Slot| rollup.as_ref().is_some_and(|rollup| rollup.slots.contains(s));
        let carried: Vec<Slot> = above.iter().copied().filter(|s| own.contains(s) && !rolled(s)).collect();
        let mut keys = Vec::with_capacity(group_by.len());
        for (at, g) in group_by.iter().enumerate() {
            let slot = match &rollup {
                Some(rollup) => rollup.slots[at],
                None => self.new_slot(g.ty.clone()),
            };
            keys.push((slot, g.clone()));
        }
        let collations = group_by.iter().map(|g| g.ty.collation).collect();
        let rollup = rollup.map(|rollup| plan::Rollup { groupings: rollup.groupings });
        if rollup.is_some() {
            let mut saved = carried.clone();
            group_by.iter().for_each(|e| slots_of(e, &self.subplans, &mut saved));
            aggregates.iter().for_each(|(_, a)| {
                a.args.iter().chain(a.order.iter().map(|k| &k.expr)).for_each(|e| slots_of(e, &self.subplans, &mut saved));
            });
            saved.sort_unstable();
            saved.dedup();
            saved.retain(|s| own.contains(s));
            let by = |g: &Expr| SortKey { expr: g.clone(), descending: false, collation: g.ty.collation };
            let keys = crate::members::sorting(group_by.iter().map(by).collect());
            node = Node::Sort { input: Box::new(node), keys, saved, limit: None };
        }
        let ordered = rollup.is_some();
        plan::Group { input: node, keys, collations, aggregates, carried, ordered, implicit: false, rollup }
    }

    /// Leaves each of the rows that a block yields once. What it yields and orders by are the slots of those then.
    fn distinct(&mut self, node: Node, output: &mut [Expr], order: &mut [SortKey]) -> Node {
        let mut slots = Vec::with_capacity(output.len());
        let mut collations = Vec::with_capacity(output.len());
        let mut targets = Vec::with_capacity(output.len());
        let mut made = ExprMap::new(By::Value);
        for e in output {
            let slot = self.new_slot(e.ty.clone());
            let as_slot = Expr::slot(slot, e.ty.clone());
            collations.push(e.ty.collation);
            slots.push(slot);
            made.insert(e, as_slot.clone());
            targets.push((slot, std::mem::replace(e, as_slot)));
        }
        // What the rows do not tell is made with each and not compared: the first of those alike orders them (without ONLY_FULL_GROUP_BY; with it
        // they agree, in what a subquery makes of columns that are selected).
        for key in order {
            replace_known(&mut key.expr, &made);
            let mut read = Vec::new();
            slots_of(&key.expr, &self.subplans, &mut read);
            if read.iter().any(|slot| !slots.contains(slot)) {
                let slot = self.new_slot(key.expr.ty.clone());
                let as_slot = Expr::slot(slot, key.expr.ty.clone());
                targets.push((slot, std::mem::replace(&mut key.expr, as_slot)));
            }
        }
        let node = Node::Project { input: Box::new(node), exprs: targets, replaces: false };
        Node::Distinct { input: Box::new(node), slots, collations }
    }

    /// Puts the windows of a block over its rows, one after the other.
    fn with_windows<'e>(&self, mut node: Node, windows: Vec<BoundWindow>, above: impl Iterator<Item = &'e Expr>) -> Node {
        // What is read above a window: by the block's output, and by the windows that follow.
        let mut wanted = Vec::new();
        above.for_each(|e| slots_of(e, &self.subplans, &mut wanted));
        let mut needed = Vec::with_capacity(windows.len());
        for window in windows.iter().rev() {
            let mut saved = wanted.clone();
            window.calls.iter().for_each(|(_, call)| call.for_each_expr(&mut |e| slots_of(e, &self.subplans, &mut saved)));
            saved.sort_unstable();
            saved.dedup();
            saved.retain(|slot| window.calls.iter().all(|(written, _)| written != slot));
            window.for_each_expr(&mut |e| slots_of(e, &self.subplans, &mut wanted));
            needed.push(saved);
        }
        // A slot that a later window writes has nothing to be kept before.
        let mut written: Vec<Slot> = Vec::new();
        for (saved, window) in needed.iter_mut().zip(windows.iter().rev()) {
            saved.retain(|slot| !written.contains(slot));
            written.extend(window.calls.iter().map(|(slot, _)| *slot));
        }
        for (window, saved) in windows.into_iter().zip(needed.into_iter().rev()) {
            let partition_keys = window.partition.len();
            let keys = window.partition.into_iter().chain(window.order).collect();
            node = Node::Window(Box::new(Window { input: node, keys, partition_keys, calls: window.calls, saved }));
        }
        node
    }

    /// Notes how often the subqueries of an expression are asked.
    fn note_executions(&mut self, e: &Expr, rows: f64) {
        e.walk_computed(&mut |e| {
            if let ExprKind::Subquery(n, _) = &e.kind {
                let known = self.executions.entry(*n).or_insert(0.0);
                *known = known.max(rows * self.block_executions);
            }
        });
    }

    /// Rows a LIMIT takes, offset included, as far as it is known.
    fn limit_rows(&self, limit: &LimitSpec) -> Option<f64> {
        let known = |e: &Option<Expr>| match e.as_ref().map(|e| &e.kind) {
            None => Some(0.0),
            Some(ExprKind::Literal(v)) => number(v),
            Some(ExprKind::Param(n)) => self.context.params().get(*n as usize).and_then(number).or(Some(20.0)),
            _ => None,
        };
        Some(known(&limit.count)? + known(&limit.offset)?)
    }

    /// Plans the subqueries that stayed expressions.
    pub fn plan_pending(&mut self) -> Result<()> {
        let mut n = 0;
        while n < self.pending.len() {
            if let Some(block) = self.pending[n].take() {
                let executions = self.executions.get(&(n as u32)).copied().unwrap_or(EXECUTIONS);
                if let Some(lookup) = self.decorrelate(&block, executions)? {
                    self.subplans[n].lookup = Some(lookup);
                }
                let enclosing = std::mem::replace(&mut self.block_executions, executions);
                let planned = self.plan_block(*block);
                self.block_executions = enclosing;
                self.subplans[n].query = planned?.0;
            }
            n += 1;
        }
        Ok(())
    }

    /// Whether a subquery that reads rows around it may be computed once for all of them, grouped by what it compares with theirs: it gives one row, of aggregates, and nothing but its
    /// conditions looks outside.
    fn may_be_grouped(&self, block: &Block) -> bool {
        let scope = &block.scope;
        let is_one_row = block.grouped && block.group_by.is_empty() && block.having.is_none() && !block.distinct && block.limit.is_none();
        if scope.outer.is_empty() || scope.volatile || !is_one_row || block.from.is_empty() {
            return false;
        }
        let aggregate_slots: BTreeSet<Slot> = scope.aggregates.iter().map(|(s, _)| *s).collect();
        let is_of_aggregates = |e: &Expr| {
            let mut slots = Vec::new();
            slots_of(e, &self.subplans, &mut slots);
            slots.iter().all(|s| aggregate_slots.contains(s))
        };
        let mut read = scope.aggregates.iter().flat_map(|(_, a)| a.args.iter().chain(a.order.iter().map(|k| &k.expr)));
        block.items.iter().all(|(e, _)| is_of_aggregates(e))
            && !read.any(|e| self.reads_outer(block, e))
            && scope.relations.iter().all(|r| r.source.outer_slots().next().is_none())
    }

    /// Whether an expression of a block reads rows around it.
    pub(crate) fn reads_outer(&self, block: &Block, e: &Expr) -> bool {
        let mut slots = Vec::new();
        slots_of(e, &self.subplans, &mut slots);
        slots.iter().any(|s| block.scope.outer.contains(s))
    }

    /// `(SELECT agg(…) FROM … WHERE inner = outer AND …)` as one grouped run, where that pays.
    fn decorrelate(&mut self, block: &Block, executions: f64) -> Result<Option<Lookup>> {
        let switches = self.context.switches();
        if !switches.has(Switch::Materialization) || !self.may_be_grouped(block) {
            return Ok(None);
        }
        // Conditions of joins must not reach outside; inner ones are moved to the filter first.
        let mut filter = block.filter.clone();
        let mut from = block.from.clone();
        from.iter_mut().for_each(|t| t.lift(&|_| true, &mut filter));
        fn outer_in_left(tree: &JoinTree, test: &dyn Fn(&Expr) -> bool) -> bool {
            match tree {
                JoinTree::Relation(_) => false,
                JoinTree::Inner { parts, .. } => parts.iter().any(|p| outer_in_left(p, test)),
                JoinTree::Left { left, right, on } => on.iter().any(test) || outer_in_left(left, test) || outer_in_left(right, test),
            }
        }
        if from.iter().any(|t| outer_in_left(t, &|e| self.reads_outer(block, e))) {
            return Ok(None);
        }
        let (mut probe, mut group_by, mut collations, mut forms) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut kept = Vec::new();
        for c in filter {
            if !self.reads_outer(block, &c) {
                kept.push(c);
                continue;
            }
            let Some((collation, inside, outside)) = self.sides(block, &c) else { return Ok(None) };
            // No two groups answer the same row.
            let Some(key) = told_apart(inside, &outside.ty) else { return Ok(None) };
            let Some(form) = key_form(&key.ty, &outside.ty) else { return Ok(None) };
            probe.push(outside.clone());
            group_by.push(key);
            collations.push(collation);
            forms.push(form);
        }
        if probe.is_empty() {
            return Ok(None);
        }
        // What does one correlated run cost, and what the grouped one?
        let cost = |b: &mut Self, block: Block| -> Result<f64> {
            let mut relations = block.scope.relations;
            let pending: Vec<_> = b.pending.clone();
            let mut group: Group = b.build_group(&mut relations, block.from, block.filter, block.straight);
            b.plan_waiting(&mut relations, &mut group)?;
            let planned = b.plan_group(&relations, &group, &BTreeSet::new(), None)?;
            b.pending = pending;
            Ok(planned.cost)
        };
        let correlated = cost(self, block.clone())?;
        let mut once = block.clone();
        once.from = from;
        once.filter = kept;
        let grouped_cost = cost(self, once.clone())?;
        let cost_based = switches.has(Switch::SubqueryMaterializationCostBased);
        if cost_based && correlated * executions < grouped_cost + LOOKUP_COST * executions {
            return Ok(None);
        }
        let mut empty = block.clone();
        empty.from = Vec::new();
        empty.filter = vec![Expr::literal(Value::Int(0), types::ColumnType::bigint())];
        empty.scope.relations = Vec::new();
        let (empty, _) = self.plan_block(empty)?;
        // The keys come first in the output; grouping under the comparison's collation.
        let items = group_by
            .iter()
            .zip(&collations)
            .map(|(g, c)| {
                let mut g = g.clone();
                if crate::typing::is_string_class(&g.ty) {
                    g.ty.collation = *c;
                }
                (g, plan::OutputColumn::default())
            })
            .collect::<Vec<_>>();
        once.implicit = false;
        once.group_by = items.iter().map(|(g, _)| g.clone()).collect();
        once.items = items.into_iter().chain(once.items).collect();
        once.scope.outer = BTreeSet::new();
        once.order = Vec::new();
        // Pending subqueries inside stay for the correlated plan, too: plan this copy from clones.
        let pending = self.pending.clone();
        let (grouped, _) = self.plan_block(once)?;
        self.pending = pending;
        Ok(Some(Lookup { grouped, empty, probe, collations, forms }))
    }
}

pub(crate) fn has_subquery(e: &Expr) -> bool {
    e.any_computed(&mut |e| matches!(e.kind, ExprKind::Subquery(..)))
}

pub(crate) fn number(v: &Value) -> Option<f64> {
    match v {
        Value::Int(i) => Some(*i as f64),
        Value::UInt(u) => Some(*u as f64),
        _ => None,
    }
}

/// The order in which the first row answers a lone MIN or MAX.
fn extreme_key(aggregates: &[(Slot, Aggregate)]) -> Option<SortKey> {
    let [(_, a)] = aggregates else { return None };
    let descending = match a.kind {
        AggregateKind::Min => false,
        AggregateKind::Max => true,
        _ => return None,
    };
    let expr = a.args.first()?.clone();
    let ordered = !by_text_only(&expr.ty);
    (ordered && matches!(expr.kind, ExprKind::Slot(_))).then_some(SortKey { collation: a.collation, expr, descending })
}

/// Whether MIN and MAX of a type compare texts, while its keys are in the order of numbers: ENUM and SET.
pub(crate) fn by_text_only(ty: &types::ColumnType) -> bool {
    matches!(ty.kind, types::TypeKind::Enum | types::TypeKind::Set)
}

fn not_null(key: &SortKey) -> Option<Expr> {
    key.expr
        .ty
        .nullable
        .then(|| Expr { kind: ExprKind::IsNull { operand: Box::new(key.expr.clone()), negated: true }, ty: bool_type(false) })
}

/// Whether the node is a table read through an index or in primary order.
fn reads_index(node: &Node) -> bool {
    matches!(node, Node::Table(_))
}

/// Puts what is known of expressions in their place where they stand in one.
fn replace_known(e: &mut Expr, known: &ExprMap<Expr>) {
    match known.get(e) {
        Some(by) => *e = by.clone(),
        None => e.for_each_child_mut(&mut |child| replace_known(child, known)),
    }
}
