//! Join groups: what is joined with what, in which order, by which method.

mod batches;
mod equal;
mod factor;
mod form;
mod partners;
mod reads;
mod search;
mod semi;
mod turned;

pub(crate) use self::equal::Tag;
pub(crate) use self::form::equals_are_one;
pub use self::form::{key_form, told_apart};
pub use self::partners::{Partners, Through};
use self::reads::item_mask;
use self::search::{Found, Search};
pub(crate) use self::semi::Ways;
use self::semi::{Choice, Draft, Joined};
use crate::access::{Path, Wanted, Ways as ReadWays};
use crate::binder::{Binder, Relation, Result, Source};
use crate::conditions::conjunction;
use crate::expr::{CmpOp, Expr, ExprKind, Slot};
use crate::logical::{JoinTree, slots_of};
use crate::plan::{Access, ExactRead, HashJoin, JoinKind, KeyBatches, KeyForm, LockMode, Named, Node, SortKey, TableNode};
use crate::ranges::{Ranges, Said};
use crate::switches::Switch;
use crate::typing::{self, Class};
use catalog::TableEntry;
use mysql_error::codes;
use record::KeyRestore;
use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;
use types::Collation;

/// Items up to which all orders are tried.
const EXHAUSTIVE_MAX: usize = 10;
/// Cost of putting a row into a hash table.
const BUILD_COST: f64 = 2.0;
/// Cost of probing it.
const PROBE_COST: f64 = 1.5;

/// A semi or anti join whose left rows have more partners than this, of which something is tested, looks them up one by one, and stops at the first that passes;
/// fewer are read together.
pub const PARTNERS_TOGETHER_MAX: f64 = 64.0;

/// Relations that are inner-joined, with what hangs on them by outer, semi and anti joins.
#[derive(Debug, Clone, Default)]
pub struct Group {
    /// What is joined.
    pub items: Vec<Item>,
    /// Conditions of WHERE and of inner joins.
    pub conjuncts: Vec<Expr>,
    /// Keep the order as written.
    pub straight: bool,
    /// Sides of STRAIGHT_JOINs: the items up to a number, from a first one on, come before those from there up to a last one.
    pub sequences: Vec<(Range<usize>, Range<usize>)>,
    /// Hints on the order: relations by number.
    pub hints: Vec<(crate::hints::Place, Vec<usize>)>,
    /// What the first conjuncts have to do with classes of equal columns (`equal.rs`).
    pub tags: Vec<Option<equal::Tag>>,
}

/// One part of a group.
#[derive(Debug, Clone)]
pub struct Item {
    /// What it is.
    pub kind: ItemKind,
    /// How it is joined.
    pub join: JoinKind,
    /// Condition of an outer, semi or anti join.
    pub on: Vec<Expr>,
    /// Slots of the relations in it.
    pub slots: BTreeSet<Slot>,
    /// An outer join of which only the rows without partners are asked for: an anti join, above which the item's columns are NULL.
    pub is_missing: bool,
}

/// What an item is.
#[derive(Debug, Clone)]
pub enum ItemKind {
    /// A relation, by its number.
    Relation(usize),
    /// A group of its own.
    Nest(Box<Group>),
}

/// A chosen step.
#[derive(Clone, Debug)]
struct Step {
    item: usize,
    hash: bool,
    /// Rows after it.
    rows: f64,
    /// What the search found of reading the item so.
    found: Option<Rc<Found>>,
}

/// How a relation is read.
#[derive(Clone, Debug)]
struct ItemRead {
    path: Path,
    /// Indexes that had usable conditions.
    possible: Vec<u32>,
    /// Share of the path's rows that go on.
    share: f64,
    /// The conditions, by where they stand among the group's, or among the item's own.
    at: Vec<usize>,
}

impl Step {
    /// How the search found that the item is read under these conditions, if it has asked for just these.
    fn read(&self, at: &[usize]) -> Option<ItemRead> {
        self.found.as_ref()?.read.as_ref().filter(|read| read.at == at).cloned()
    }
}

/// In which order a group is joined.
struct JoinOrder<'w> {
    steps: Vec<Step>,
    /// What is wanted of the first item.
    wanted: Option<Wanted<'w>>,
    /// What it costs, with sorting the rows where that is wanted.
    cost: f64,
}

/// A planned group.
#[derive(Debug)]
pub struct PlannedGroup {
    /// Its operator.
    pub node: Node,
    /// Rows.
    pub rows: f64,
    /// Cost.
    pub cost: f64,
    /// The rows come in the wanted order.
    pub ordered: bool,
}

impl Item {
    /// Whether rows of it are locked, or kept to be changed: only those that are asked for may be read then.
    fn is_locked(&self, relations: &[Relation]) -> bool {
        match &self.kind {
            ItemKind::Relation(r) => relations[*r].lock != LockMode::None || relations[*r].keep_key.is_some(),
            ItemKind::Nest(group) => group.items.iter().any(|item| item.is_locked(relations)),
        }
    }
}

impl Group {
    /// The keys of rows that are to be changed travel in slots of their own. They belong to all nests around the relation, too: where such a nest has no partner there is no row.
    /// The slots.
    pub fn keep_keys(&mut self, relations: &[Relation]) -> Vec<Slot> {
        let mut all = Vec::new();
        for item in &mut self.items {
            let kept = match &mut item.kind {
                ItemKind::Relation(r) => relations[*r].keep_key.into_iter().collect(),
                ItemKind::Nest(nest) => nest.keep_keys(relations),
            };
            item.slots.extend(&kept);
            all.extend(kept);
        }
        all
    }
}

impl<'c> Binder<'c> {
    /// Builds a group of FROM trees and WHERE conjuncts. Relations of subqueries that become joins are added to `relations`.
    pub fn build_group(&mut self, relations: &mut Vec<Relation>, trees: Vec<JoinTree>, filter: Vec<Expr>, straight: bool) -> Group {
        self.draft_group(relations, trees, filter, straight, Ways::One).settled(relations)
    }

    /// [`Binder::build_group`], where it may be open yet by which way subqueries are joined.
    pub(crate) fn draft_group(
        &mut self,
        relations: &mut Vec<Relation>,
        trees: Vec<JoinTree>,
        filter: Vec<Expr>,
        straight: bool,
        ways: Ways,
    ) -> Draft {
        let mut draft = Draft { group: Group { straight, ..Group::default() }, ..Draft::default() };
        let mut conjuncts = Vec::with_capacity(filter.len());
        let mut joined = Vec::new();
        let asking = self.asking(relations, &filter, ways);
        for conjunct in filter {
            if self.is_always_true(&conjunct) {
                continue;
            }
            match self.semi_join(relations, conjunct, &asking) {
                Ok(found) => joined.push(found),
                Err(conjunct) => conjuncts.push(conjunct),
            }
        }
        let mut rejected = null_rejected(&conjuncts);
        joined.iter().for_each(|found| rejected.extend(null_rejected(&found.way.equalities)));
        for found in &mut joined {
            // Those of a choice come and go with it.
            if found.other.is_none() {
                conjuncts.append(&mut found.way.equalities);
            }
        }
        let equalities_at = conjuncts.len();
        draft.group.conjuncts = conjuncts;
        for tree in trees {
            self.flatten(relations, tree, &rejected, &mut draft.group);
        }
        // Conditions may be taken away meanwhile.
        draft.equalities_at = equalities_at.min(draft.group.conjuncts.len());
        for Joined { way, other } in joined {
            match other {
                None => draft.group.items.push(way.item),
                Some(other) => {
                    draft.group.items.push(way.item.clone());
                    draft.choices.push(Choice { item: draft.group.items.len() - 1, ways: [way, other] });
                }
            }
        }
        draft
    }

    fn flatten(&mut self, relations: &mut Vec<Relation>, tree: JoinTree, rejected: &BTreeSet<Slot>, group: &mut Group) {
        match tree {
            JoinTree::Relation(r) => {
                let slots = relations[r].used_columns().map(|(_, slot)| slot).collect();
                group.items.push(Item { kind: ItemKind::Relation(r), join: JoinKind::Inner, on: Vec::new(), slots, is_missing: false });
            }
            JoinTree::Inner { parts, on, straight } => {
                let mut rejected = rejected.clone();
                rejected.extend(null_rejected(&on));
                let first = group.items.len();
                for part in parts {
                    let middle = group.items.len();
                    self.flatten(relations, part, &rejected, group);
                    if straight && middle > first {
                        group.sequences.push((first..middle, middle..group.items.len()));
                    }
                }
                group.conjuncts.extend(on.into_iter().filter(|conjunct| !self.is_always_true(conjunct)));
            }
            JoinTree::Left { left, right, on } => {
                let mut slots = BTreeSet::new();
                right.relations(&mut |r| {
                    slots.extend(relations[r].slots.iter().flatten().copied());
                    slots.extend(relations[r].also.iter().map(|(_, slot)| *slot));
                });
                if slots.iter().any(|s| rejected.contains(s)) {
                    // A row of NULLs would not pass the conditions: the join is an inner one.
                    self.flatten(relations, JoinTree::Inner { parts: vec![*left, *right], on, straight: false }, rejected, group);
                    return;
                }
                self.flatten(relations, *left, rejected, group);
                let is_missing = self.asks_for_missing(relations, &right, &on, &mut group.conjuncts);
                let kind = match *right {
                    JoinTree::Relation(r) => ItemKind::Relation(r),
                    right => ItemKind::Nest(Box::new(self.build_group(relations, vec![right], Vec::new(), false))),
                };
                group.items.push(Item { kind, join: if is_missing { JoinKind::Anti } else { JoinKind::Left }, on, slots, is_missing });
            }
        }
    }

    /// Whether a condition is one of literals that holds: `1 = 1`, to which programs append others.
    fn is_always_true(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Literal(_) => is_true_literal(e),
            ExprKind::Compare(_, _, a, b) => {
                let are_literals = matches!((&a.kind, &b.kind), (ExprKind::Literal(_), ExprKind::Literal(_)));
                are_literals && matches!(self.context.value_now(e), Some(types::Value::Int(holds)) if holds != 0)
            }
            _ => false,
        }
    }

    /// Whether of an outer join only the rows without partners are asked for: a condition has a column of the right side NULL that is not in any
    /// partner. The condition is taken away then.
    fn asks_for_missing(&self, relations: &[Relation], right: &JoinTree, on: &[Expr], conjuncts: &mut Vec<Expr>) -> bool {
        let JoinTree::Relation(r) = *right else { return false };
        let relation = &relations[r];
        if relation.lock != LockMode::None || relation.keep_key.is_some() || !matches!(relation.source, Source::Base(_)) {
            return false;
        }
        let compared = null_rejected(on);
        let is_never_null = |slot: Slot| {
            let Some(column) = relation.column_of(slot) else { return false };
            let ty = &relation.columns[column].ty;
            // A zero date that is NOT NULL counts as NULL.
            let class = typing::class(ty);
            (!ty.nullable || compared.contains(&slot)) && matches!(class, Class::Int | Class::Decimal | Class::Double | Class::String)
        };
        let asks = |e: &Expr| match &e.kind {
            ExprKind::IsNull { operand, negated: false } => matches!(operand.kind, ExprKind::Slot(slot) if is_never_null(slot)),
            _ => false,
        };
        let Some(at) = conjuncts.iter().position(asks) else { return false };
        conjuncts.remove(at);
        true
    }

    /// Plans a group. `blocked` are slots of relations outside that are not read yet.
    pub fn plan_group(
        &mut self,
        relations: &[Relation],
        group: &Group,
        blocked: &BTreeSet<Slot>,
        wanted: Option<Wanted<'_>>,
    ) -> Result<PlannedGroup> {
        if group.items.is_empty() {
            let node = with_filter(Node::Unit, group.conjuncts.clone());
            return Ok(PlannedGroup { node, rows: 1.0, cost: 0.0, ordered: true });
        }
        let order = self.join_order(relations, group, blocked, wanted);
        self.build(relations, group, blocked, &order.steps, order.wanted)
    }

    /// Whether a relation is a table that is estimated to have no rows.
    fn is_empty(&self, relation: &Relation) -> bool {
        matches!(relation.source, Source::Base(table) if self.context.rows_estimate(&self.tables[table as usize]) == 0)
    }

    /// The order of the items, and what is wanted of the first: its rows come as far as a limit needs them only where no table is made of any.
    fn join_order<'w>(&self, relations: &[Relation], group: &Group, blocked: &BTreeSet<Slot>, wanted: Option<Wanted<'w>>) -> JoinOrder<'w> {
        let n = group.items.len();
        let mut search = Search::new(self, relations, group, blocked, wanted);
        search.follow_hints();
        if n == 1 {
            let (step, cost, _) = search.step(0, 0, 1.0);
            return JoinOrder { steps: vec![step], wanted, cost };
        }
        let unlimited = wanted.map(|wanted| Wanted { limit: None, ..wanted });
        search.wanted = unlimited;
        let whole = if group.straight {
            search.in_order()
        } else {
            search.look_at_partners();
            if n <= EXHAUSTIVE_MAX { search.exhaustive() } else { search.greedy() }
        };
        search.wanted = wanted;
        match search.until_limit(&whole) {
            Some((cost, order)) => JoinOrder { steps: order.steps, wanted, cost },
            None => JoinOrder { cost: whole.with_sorting(wanted), steps: whole.steps, wanted: unlimited },
        }
    }

    fn build(
        &mut self,
        relations: &[Relation],
        group: &Group,
        blocked: &BTreeSet<Slot>,
        order: &[Step],
        wanted: Option<Wanted<'_>>,
    ) -> Result<PlannedGroup> {
        let mut placed: u64 = 0;
        let mut used = vec![false; group.conjuncts.len()];
        let masks: Vec<u64> = group.conjuncts.iter().map(|c| item_mask(c, group, &self.subplans)).collect();
        let mut node: Option<Node> = None;
        let mut rows = 1.0;
        let mut cost = 0.0;
        let mut ordered = false;
        let asked_last: Vec<bool> = group.conjuncts.iter().map(|c| self.is_asked_last(c)).collect();
        // Conditions without any relation are tested once, before everything.
        let mut first = Vec::new();
        for (i, c) in group.conjuncts.iter().enumerate().filter(|(i, _)| masks[*i] == 0 && !asked_last[*i]) {
            if !is_true_literal(c) {
                first.push(c.clone());
            }
            used[i] = true;
        }
        for (at, step) in order.iter().enumerate() {
            let item = &group.items[step.item];
            let bit = 1u64 << step.item;
            let now = placed | bit;
            let is_last = at + 1 == order.len();
            let is_ready = |i: &usize| !used[*i] && if asked_last[*i] { is_last } else { masks[*i] & !now == 0 };
            let now_ready: Vec<usize> = (0..masks.len()).filter(is_ready).collect();
            now_ready.iter().for_each(|i| used[*i] = true);
            let (mut ready, mut ready_at, mut checks) = (Vec::new(), Vec::new(), Vec::new());
            for (i, counts) in group.tested(now_ready.into_iter(), step.item) {
                // What is asked last is asked of joined rows: what finds the item's rows may keep them, with whether they pass.
                let counts = counts && !(asked_last[i] && order.len() > 1);
                if counts {
                    ready_at.push(i);
                }
                if counts { &mut ready } else { &mut checks }.push(group.conjuncts[i].clone());
            }
            // Slots that are not available while this item is read.
            let mut later = blocked.clone();
            for (i, other) in group.items.iter().enumerate() {
                if placed & (1 << i) == 0 {
                    later.extend(other.slots.iter().copied());
                }
            }
            let inner = item.join == JoinKind::Inner;
            let (conditions, conditions_at, after) =
                if inner { (ready, ready_at, Vec::new()) } else { (item.on.clone(), (0..item.on.len()).collect(), ready) };
            let step_wanted = if at == 0 { wanted } else { None };
            if !step.hash {
                let known = step.read(&conditions_at);
                let (mut inner_node, r, c, o) = self.item_node(relations, item, conditions, &later, step_wanted, known)?;
                if let (Some(_), ItemKind::Relation(at), Node::Table(table)) = (&node, &item.kind, &mut inner_node) {
                    table.key_batches = self.key_batches(&relations[*at], table, item.join);
                }
                if at == 0 {
                    ordered = o && wanted.is_some_and(|w| !w.order.is_empty());
                }
                cost += rows * c;
                rows = if order.len() == 1 && inner { r } else { step.rows };
                node = Some(match node.take() {
                    None if inner => inner_node,
                    outer => Node::Nested {
                        outer: Box::new(outer.unwrap_or(Node::Unit)),
                        inner: Box::new(inner_node),
                        kind: item.join,
                        on: None,
                        null_slots: if item.join == JoinKind::Left { item.slots.iter().copied().collect() } else { Vec::new() },
                    },
                });
            } else {
                let outer = PlannedGroup { node: node.take().unwrap_or(Node::Unit), rows, cost, ordered };
                let joined = self.hash_step(relations, group, blocked, placed, step, (conditions, conditions_at), outer)?;
                (rows, cost) = (joined.rows, joined.cost);
                node = Some(joined.node);
            }
            if item.is_missing {
                let null = |slot: &Slot| {
                    let ty = types::ColumnType { nullable: true, ..self.slot_types[*slot as usize].clone() };
                    (*slot, Expr::literal(types::Value::Null, ty))
                };
                let exprs = item.slots.iter().map(null).collect();
                node = node.map(|input| Node::Project { input: Box::new(input), exprs, replaces: true });
            }
            if !after.is_empty() {
                rows *= after.iter().map(crate::selectivity::selectivity).product::<f64>();
                node = node.map(|n| with_filter(n, after));
            }
            if !checks.is_empty() {
                node = node.map(|n| with_filter(n, checks));
            }
            placed = now;
        }
        let mut node = node.unwrap_or(Node::Unit);
        if let Some(condition) = conjunction(first) {
            node = Node::Nested {
                outer: Box::new(Node::Filter { input: Box::new(Node::Unit), predicate: condition }),
                inner: Box::new(node),
                kind: JoinKind::Inner,
                on: None,
                null_slots: Vec::new(),
            };
        }
        Ok(PlannedGroup { node, rows: rows.max(0.0), cost, ordered })
    }

    /// A step by a hash table: the item's rows make it, and the rows so far look into it; or the other way round, where these are few.
    fn hash_step(
        &mut self,
        relations: &[Relation],
        group: &Group,
        blocked: &BTreeSet<Slot>,
        placed: u64,
        step: &Step,
        (conditions, conditions_at): (Vec<Expr>, Vec<usize>),
        outer: PlannedGroup,
    ) -> Result<PlannedGroup> {
        let item = &group.items[step.item];
        let bit = 1u64 << step.item;
        // The build side reads nothing of what is placed.
        let mut own_blocked = blocked.clone();
        group.items.iter().for_each(|item| own_blocked.extend(item.slots.iter().copied()));
        let is_own = |c: &Expr| item_mask(c, group, &self.subplans) & !bit == 0 && !self.is_asked_last(c);
        let (mut own, mut own_at, mut joint) = (Vec::new(), Vec::new(), Vec::new());
        for (c, at) in conditions.into_iter().zip(conditions_at) {
            if is_own(&c) {
                own.push(c);
                own_at.push(at);
            } else {
                joint.push(c);
            }
        }
        let mut build_exprs = own.clone();
        let (build, build_rows, build_cost, _) = self.item_node(relations, item, own, &own_blocked, None, step.read(&own_at))?;
        let mut probe_keys = Vec::new();
        let mut build_keys = Vec::new();
        let mut collations = Vec::new();
        let mut key_forms = Vec::new();
        let mut rest = Vec::new();
        for c in joint {
            match self.hash_key(&c, group, bit) {
                Some((probe, own, collation, form)) => {
                    probe_keys.push(probe);
                    build_keys.push(own);
                    collations.push(collation);
                    key_forms.push(form);
                }
                None => rest.push(c),
            }
        }
        let turned = !outer.ordered && group.turns(relations, placed, step.item, outer.rows, build_rows);
        let cost = outer.cost + (build_cost + turned::hash_cost(outer.rows, build_rows, turned));
        build_exprs.extend(build_keys.iter().cloned());
        let outer_slots = self.foreign_slots(relations, item, group, &build_exprs);
        let join = HashJoin {
            probe: outer.node,
            build,
            probe_keys,
            build_keys,
            collations,
            key_forms,
            // Of who is only to be there, or not, the keys are enough.
            build_slots: if matches!(item.join, JoinKind::Semi | JoinKind::Anti) && rest.is_empty() {
                Vec::new()
            } else {
                item.slots.iter().copied().collect()
            },
            on: conjunction(rest),
            kind: item.join,
            null_aware: false,
            null_safe: false,
            cache: self.new_cache(),
            outer_slots,
            order: outer.ordered.then(|| self.number_key()),
            rows: step.rows,
        };
        let join = if turned { self.turn(join, relations, group, placed) } else { join };
        Ok(PlannedGroup { node: Node::Hash(Box::new(join)), rows: step.rows, cost, ordered: outer.ordered })
    }

    /// Whether a condition is tested of each row that all others leave, as it may tell otherwise each time: it calls for random numbers, assigns a variable, or
    /// reads one that the statement assigns.
    pub(crate) fn is_asked_last(&self, condition: &Expr) -> bool {
        condition.any_computed(&mut |e| e.is_volatile_call() || matches!(e.kind, ExprKind::AssignVariable(..)) || self.is_reassigned(e))
    }

    /// A slot for numbers of rows, to sort by.
    fn number_key(&mut self) -> SortKey {
        let ty = types::ColumnType::bigint();
        let slot = self.new_slot(ty.clone());
        SortKey { expr: Expr::slot(slot, ty), descending: false, collation: Collation::Binary }
    }

    /// Slots outside the group that the build side of a hash join reads: its table is valid while they stay the same.
    fn foreign_slots(&self, relations: &[Relation], item: &Item, group: &Group, exprs: &[Expr]) -> Vec<Slot> {
        let mut used = Vec::new();
        exprs.iter().for_each(|k| slots_of(k, &self.subplans, &mut used));
        item.read_inside(relations, &self.subplans, &mut used);
        used.retain(|s| !group.items.iter().any(|i| i.slots.contains(s)));
        used.sort_unstable();
        used.dedup();
        used
    }

    fn hash_key(&self, c: &Expr, group: &Group, bit: u64) -> Option<(Expr, Expr, Collation, KeyForm)> {
        let ExprKind::Compare(CmpOp::Eq, collation, a, b) = &c.kind else { return None };
        if self.is_asked_last(c) {
            return None;
        }
        let (ma, mb) = (item_mask(a, group, &self.subplans), item_mask(b, group, &self.subplans));
        let (probe, own) = if mb == bit && ma & bit == 0 {
            (a, b)
        } else if ma == bit && mb & bit == 0 {
            (b, a)
        } else {
            return None;
        };
        let form = key_form(&probe.ty, &own.ty)?;
        Some(((**probe).clone(), (**own).clone(), *collation, form))
    }

    /// How a relation is read under conditions, which stand `at` these places.
    fn item_read(
        &self,
        relation: &Relation,
        conditions: &[Expr],
        at: &[usize],
        blocked: &BTreeSet<Slot>,
        wanted: Option<Wanted<'_>>,
        ways: &ReadWays,
    ) -> ItemRead {
        let (path, possible) = self.paths(relation, conditions, blocked, wanted, ways);
        let share = self.passing(relation, conditions, &path);
        ItemRead { path, possible, share, at: at.to_vec() }
    }

    /// The operator that reads an item under conditions: (node, rows, cost, ordered). `known`: how it is read, if that is known.
    fn item_node(
        &mut self,
        relations: &[Relation],
        item: &Item,
        conditions: Vec<Expr>,
        blocked: &BTreeSet<Slot>,
        wanted: Option<Wanted<'_>>,
        known: Option<ItemRead>,
    ) -> Result<(Node, f64, f64, bool)> {
        match &item.kind {
            ItemKind::Relation(r) => {
                let relation = &relations[*r];
                let read = known.unwrap_or_else(|| self.item_read(relation, &conditions, &[], blocked, wanted, &ReadWays::default()));
                let ItemRead { path, possible, share, .. } = read;
                let (rows, cost, ordered) = (path.rows, path.cost, path.ordered);
                let node = match relation.source {
                    Source::Virtual(table) => {
                        let node = self.virtual_node(table, relation, &path, &conditions, blocked);
                        with_filter(Node::Virtual(Box::new(node)), conditions)
                    }
                    _ => self.relation_node(relation, path, possible, conditions, share)?,
                };
                Ok((node, (rows * share).max(0.01), cost, ordered))
            }
            ItemKind::Nest(group) => {
                let mut group = (**group).clone();
                group.conjuncts.extend(conditions);
                // The nest's own slots are not blocked from outside: it plans them itself.
                let outside: BTreeSet<Slot> = blocked.difference(&item.slots).copied().collect();
                let planned = self.plan_group(relations, &group, &outside, None)?;
                Ok((planned.node, planned.rows, planned.cost, false))
            }
        }
    }

    /// Share of the rows of a path that go on.
    fn passing(&self, relation: &Relation, conditions: &[Expr], path: &Path) -> f64 {
        match self.context.switches().has(Switch::ConditionFanoutFilter) {
            true => self.filtered_share(relation, conditions, path),
            false => 1.0,
        }
    }

    /// What is left to do where the ranges of a path come out exact, if that is less than otherwise; the columns that are read then come to stand first.
    fn exact_read(
        &self,
        entry: &TableEntry,
        relation: &Relation,
        path: &Path,
        conditions: &[Expr],
        columns: &mut [(u32, Slot)],
    ) -> Option<Box<ExactRead>> {
        let (Some(index), Some(ranges)) = (path.index, &path.ranges) else { return None };
        // A row that is looked up by its whole primary key is tested as it comes.
        let is_looked_up = index == 0 && path.unique && ranges.single;
        if is_looked_up || !ranges.left.contains(&true) {
            return None;
        }
        let tested = conditions.iter().zip(&ranges.left).filter(|(_, left)| !**left).map(|(condition, _)| condition.clone());
        let filter = conjunction(tested.collect());
        if relation.lock != LockMode::None || relation.keep_key.is_some() {
            // One that is locked is needed.
            return Some(Box::new(ExactRead { columns: columns.len(), cover: None, filter }));
        }
        let read = self.read_where_exact(relation, conditions, ranges);
        columns.sort_by_key(|(column, _)| !read.contains(column));
        // What gives all columns back gives these.
        let covers_less = path.covering && read.len() < columns.len();
        let cover = if covers_less { restore(entry, index, &columns[..read.len()]) } else { None };
        Some(Box::new(ExactRead { columns: read.len(), cover, filter }))
    }

    fn relation_node(&mut self, relation: &Relation, path: Path, possible: Vec<u32>, conditions: Vec<Expr>, share: f64) -> Result<Node> {
        let used: Vec<Slot> = relation.slots.iter().map(|s| s.unwrap_or(Slot::MAX)).collect();
        let named = || {
            let columns = relation.columns.iter().map(|c| c.name.as_str().into()).collect();
            Box::new(Named { alias: relation.alias.as_str().into(), columns })
        };
        let slots_or_new = |b: &mut Self| -> Vec<Slot> {
            used.iter().zip(&relation.columns).map(|(s, c)| if *s == Slot::MAX { b.new_slot(c.ty.clone()) } else { *s }).collect()
        };
        match &relation.source {
            Source::Base(table) => {
                let mut columns: Vec<(u32, Slot)> = relation.used_columns().collect();
                let entry = &self.tables[*table as usize];
                let cover = path.index.filter(|_| path.covering).and_then(|index| restore(entry, index, &columns).map(Box::new));
                let exact = self.exact_read(entry, relation, &path, &conditions, &mut columns);
                let key_filter =
                    path.index.filter(|_| path.asks_entries).and_then(|index| self.key_filter(entry, index, relation, &conditions));
                let is_said = |ranges: &Rc<Ranges>| ranges.said.iter().all(|said| *said == Said::All);
                let filter_is_ranges = conditions.is_empty() || path.ranges.as_ref().is_some_and(is_said);
                let access = match path.index {
                    _ if let Some(groups) = path.groups => Access::Groups(groups),
                    None if let Some(merge) = path.merge => Access::Merge { kind: merge.kind, arms: merge.arms },
                    None => Access::Full { backward: path.backward, ordered: path.ordered },
                    Some(index) => Access::Index {
                        index,
                        ranges: path.ranges.map(|r| Rc::try_unwrap(r).map_or_else(|r| r.spec.clone(), |r| r.spec)),
                        backward: path.backward,
                        unique: path.unique,
                        first_only: false,
                    },
                };
                let id = self.new_table_node();
                Ok(Node::Table(Box::new(TableNode {
                    id,
                    table: *table,
                    alias: relation.alias.as_str().into(),
                    access,
                    cover,
                    key_filter,
                    columns,
                    filter: conjunction(conditions),
                    filter_is_ranges,
                    exact,
                    lock: relation.lock,
                    rows: path.rows,
                    filtered: (share * 100.0).clamp(0.0, 100.0),
                    possible,
                    rows_hint: None,
                    keep_key: relation.keep_key,
                    columns_tested: None,
                    key_batches: KeyBatches::ByCost,
                })))
            }
            Source::JsonTable(table, _) => Ok(with_filter(Node::JsonTable(Box::new(table.node(relation))), conditions)),
            Source::Derived(query, outer, _) => {
                let slots = slots_or_new(self);
                let cache = self.new_cache();
                let outer_slots = outer.iter().copied().collect();
                let node = Node::Materialize { input: query.clone(), cache, slots, outer_slots, shared: false, of: named() };
                Ok(with_filter(node, conditions))
            }
            Source::Cte(query, cache, _, outer) => {
                let slots = slots_or_new(self);
                let outer_slots = outer.iter().copied().collect();
                let node = Node::Materialize { input: query.clone(), cache: *cache, slots, outer_slots, shared: true, of: named() };
                Ok(with_filter(node, conditions))
            }
            Source::RecursiveScan(cache) => {
                let slots = slots_or_new(self);
                Ok(with_filter(Node::RecursiveScan { cache: *cache, slots, of: named() }, conditions))
            }
            Source::Recursive(parts) => {
                let slots = slots_or_new(self);
                let node = Node::Recursive {
                    seed: parts.seed.clone(),
                    step: parts.step.clone(),
                    distinct: parts.distinct,
                    limit: parts.limit.clone(),
                    cache: parts.cache,
                    slots,
                    columns: parts.columns.clone(),
                    result_cache: parts.result_cache,
                    outer_slots: parts.outer.iter().copied().collect(),
                    of: named(),
                };
                Ok(with_filter(node, conditions))
            }
            // Computed tables have a node of their own, merged views are in no join tree, what waits is planned with the group.
            Source::Virtual(_) | Source::Merged(_) | Source::Waiting(_) => {
                Err(codes::internal_error(format!("{} is no relation of a join", relation.alias)))
            }
        }
    }
}

/// How columns of a table come back from the entries of one of its indexes, where all of them do.
fn restore(entry: &TableEntry, index: u32, columns: &[(u32, Slot)]) -> Option<KeyRestore> {
    let parts = &entry.storage.indexes[index as usize].full_parts;
    KeyRestore::new(entry.storage.layout(), parts, columns.iter().map(|(column, _)| *column as usize))
}

/// Slots whose being NULL makes some conjunct not true.
pub(crate) fn null_rejected(conjuncts: &[Expr]) -> BTreeSet<Slot> {
    fn strict(e: &Expr, out: &mut BTreeSet<Slot>) {
        match &e.kind {
            ExprKind::Slot(s) => {
                out.insert(*s);
            }
            ExprKind::Arith(_, a, b) => {
                strict(a, out);
                strict(b, out);
            }
            ExprKind::Run(..) => e.for_each_child(&mut |operand| strict(operand, out)),
            ExprKind::Neg(a) | ExprKind::Collate(a, _) => strict(a, out),
            _ => {}
        }
    }
    let mut out = BTreeSet::new();
    for c in conjuncts {
        match &c.kind {
            ExprKind::Compare(op, _, a, b) if *op != CmpOp::NullSafeEq => {
                strict(a, &mut out);
                strict(b, &mut out);
            }
            ExprKind::Between { operand, .. } | ExprKind::InList { operand, .. } | ExprKind::Like { operand, .. } => {
                strict(operand, &mut out)
            }
            ExprKind::IsNull { operand, negated: true } => strict(operand, &mut out),
            ExprKind::Slot(s) => {
                out.insert(*s);
            }
            ExprKind::Or(list) => {
                // Rejected by every branch.
                let mut common: Option<BTreeSet<Slot>> = None;
                for branch in list {
                    let r = null_rejected(std::slice::from_ref(branch));
                    common = Some(match common {
                        None => r,
                        Some(c) => c.intersection(&r).copied().collect(),
                    });
                }
                out.extend(common.unwrap_or_default());
            }
            ExprKind::And(list) => out.extend(null_rejected(list)),
            _ => {}
        }
    }
    out
}

/// A filter over a node; filters are merged into table nodes.
pub fn with_filter(node: Node, conditions: Vec<Expr>) -> Node {
    let conditions: Vec<Expr> = conditions.into_iter().filter(|c| !is_true_literal(c)).collect();
    match conjunction(conditions) {
        None => node,
        Some(predicate) => Node::Filter { input: Box::new(node), predicate },
    }
}

fn is_true_literal(e: &Expr) -> bool {
    matches!(&e.kind, ExprKind::Literal(types::Value::Int(n)) if *n != 0)
}
