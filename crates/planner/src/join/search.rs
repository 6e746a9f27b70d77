//! The order of a join: all orders of few items, the cheapest next one of many.

use super::reads::item_mask;
use super::turned::hash_cost;
use super::{Group, ItemKind, ItemRead, PARTNERS_TOGETHER_MAX, Step};
use crate::access::{Path, Wanted, Ways};
use crate::binder::{Binder, Relation};
use crate::expr::{Expr, Slot};
use crate::hints::Place;
use crate::plan::JoinKind;
use crate::switches::Switch;
use foldhash::fast::FixedState;
use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// How much less a table that is empty now counts in a join than a small one.
const EMPTY_SHARE: f64 = 0.001;

/// Rows below which what comes before is taken to have none.
const NO_ROWS: f64 = 0.005;

/// Rows up to which a join is by keys: they are found one by one, and the tables may grow.
pub(super) const FEW_ROWS: f64 = 50.0;

/// How much cheaper reading until a limit is reached must be expected to be: which rows pass may have to do with the order.
const LIMITED_MIN: f64 = 2.0;

/// An order of a group's items.
pub(super) struct Order {
    pub(super) steps: Vec<Step>,
    /// What it costs.
    cost: f64,
    /// Rows in the end.
    rows: f64,
}

impl Order {
    /// What it costs with sorting its rows, as many as are wanted of them.
    pub(super) fn with_sorting(&self, wanted: Option<Wanted<'_>>) -> f64 {
        let Some(wanted) = wanted else { return self.cost };
        let sorted = self.rows.max(1.0);
        self.cost + sorted * (wanted.limit.map_or(sorted, |limit| sorted.min(limit)) + 1.0).log2() * wanted.sort_cost
    }
}

/// What reading an item once comes to.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// How, if it is a relation.
    pub(super) read: Option<ItemRead>,
    pub(super) cost: f64,
    pub(super) rows: f64,
}

impl Found {
    fn path(&self) -> Option<&Path> {
        self.read.as_ref().map(|read| &read.path)
    }
}

/// What is asked of an item when some others are placed, and what was found.
#[derive(Default)]
struct Asked {
    conditions: Vec<Expr>,
    /// Where they stand: among the group's conjuncts, or among the item's own conditions.
    at: Vec<usize>,
    /// Slots that have no value yet.
    blocked: BTreeSet<Slot>,
    /// What is known of the ways to read it.
    ways: Ways,
    /// In no order, in the wanted one as far as all rows are asked for, and up to a limit.
    found: [OnceCell<Rc<Found>>; 3],
}

/// The search of an order: what it works on, and what it keeps.
pub(super) struct Search<'s, 'c> {
    pub(super) binder: &'s Binder<'c>,
    pub(super) relations: &'s [Relation],
    pub(super) group: &'s Group,
    pub(super) blocked: &'s BTreeSet<Slot>,
    pub(super) wanted: Option<Wanted<'s>>,
    /// What was asked, by item and placed items that its conditions mention.
    asked: HashMap<(usize, u64), Rc<Asked>, FixedState>,
    pub(super) uses: Vec<u64>,
    pub(super) needs: Vec<u64>,
    /// Items that an item reads inside (`reads.rs`).
    inside: Vec<u64>,
    /// Pairs of items of which rows have told how many belong together (`partners.rs`).
    pub(super) told: Vec<u64>,
    /// No hash tables are made: who joins reads no more than is asked for.
    one_by_one: bool,
}

impl<'s, 'c> Search<'s, 'c> {
    pub(super) fn new(
        binder: &'s Binder<'c>,
        relations: &'s [Relation],
        group: &'s Group,
        blocked: &'s BTreeSet<Slot>,
        wanted: Option<Wanted<'s>>,
    ) -> Search<'s, 'c> {
        // What is asked after all joins tells nothing of their order.
        let used = |c: &Expr| if binder.is_asked_last(c) { 0 } else { item_mask(c, group, &binder.subplans) };
        let uses = group.conjuncts.iter().map(used).collect();
        let inside = group.inside(relations, &binder.subplans);
        let needs = group.needs(&inside, &binder.subplans);
        Search {
            binder,
            relations,
            group,
            blocked,
            wanted,
            asked: HashMap::default(),
            told: Vec::new(),
            uses,
            needs,
            inside,
            one_by_one: false,
        }
    }
}

impl Search<'_, '_> {
    /// Cost of adding an item to what is placed: (step, cost, rows).
    pub(super) fn step(&mut self, item: usize, placed: u64, rows: f64) -> (Step, f64, f64) {
        let relevant = self.relevant(item) & placed;
        let found = self.path(item, relevant, placed == 0);
        let (path, per_row, each) = (found.path(), found.cost, found.rows);
        // An index on the joined columns tells how many rows a key finds.
        let is_keyed = path.and_then(|path| path.ranges.as_ref()).is_some_and(|ranges| !ranges.constant);
        let join = self.group.items[item].join;
        let per_row = match path {
            Some(path) if is_keyed => {
                let read = match join {
                    JoinKind::Semi | JoinKind::Anti if path.tests_nothing() => path.rows.min(1.0),
                    JoinKind::Semi | JoinKind::Anti => rows_until_found(path.rows, each),
                    JoinKind::Inner | JoinKind::Left => path.rows,
                };
                let per_row = if read < path.rows { per_row * read / path.rows } else { per_row };
                if rows > FEW_ROWS { per_row.max(path.probe_cost(read)) } else { per_row }
            }
            _ => per_row,
        };
        let locked = self.group.items[item].is_locked(self.relations);
        // Where all rows are read for each row, it is once at least, whatever the estimate: but for a table without rows nothing is.
        let executions = if is_keyed || rows < NO_ROWS { rows } else { rows.max(1.0) };
        let mut cost = executions * per_row;
        let mut step = Step { item, hash: false, rows: 0.0, found: Some(found) };
        let mut out_rows = match join {
            JoinKind::Inner => rows * each,
            JoinKind::Left => rows * each.max(1.0),
            JoinKind::Semi | JoinKind::Anti => rows * 0.5,
        };
        if placed != 0
            && !self.one_by_one
            && self.binder.context.switches().has(Switch::BlockNestedLoop)
            && let Some(joined) = self.hashable(item, placed)
        {
            let build = self.path(item, 0, false);
            let (build_cost, build_rows) = (build.cost, build.rows);
            if join == JoinKind::Inner && !is_keyed && joined && !self.is_told(item, placed) {
                // As if each row of the larger side had its own key.
                out_rows = out_rows.min((rows * build_rows / rows.max(build_rows).max(1.0)).max(1.0));
            }
            let met = if joined { 0.0 } else { rows * build_rows };
            let turned = self.group.turns(self.relations, placed, item, rows, build_rows);
            let hash = build_cost + hash_cost(rows, build_rows, turned) + met;
            if hash < cost && !locked {
                cost = hash;
                (step.hash, step.found) = (true, Some(build));
            }
        }
        let now = placed | 1 << item;
        out_rows *= self.group.given((0..self.uses.len()).filter(|at| self.uses[*at] & !now == 0 && self.uses[*at] & !placed != 0));
        step.rows = out_rows.max(0.01);
        let rows = step.rows;
        (step, cost, rows)
    }

    fn relevant(&self, item: usize) -> u64 {
        let bit = 1u64 << item;
        let mut mask = self.needs[item];
        for u in &self.uses {
            if u & bit != 0 {
                mask |= u;
            }
        }
        mask & !bit
    }

    /// Whether a table of an item's rows can be probed, and if so whether by a column of what is placed: by constants alone each row meets all of it.
    fn hashable(&self, item: usize, placed: u64) -> Option<bool> {
        let bit = 1u64 << item;
        if self.inside[item] != 0 {
            // Other rows for each row: there is nothing to build a table of.
            return None;
        }
        let list = if self.group.items[item].join == JoinKind::Inner { &self.group.conjuncts } else { &self.group.items[item].on };
        let mut found = None;
        for c in list {
            let mask = item_mask(c, self.group, &self.binder.subplans);
            if mask & bit != 0 && mask & !(placed | bit) == 0 && self.binder.hash_key(c, self.group, bit).is_some() {
                found = Some(found == Some(true) || mask & placed != 0);
            }
        }
        found
    }

    /// What reading an item once comes to when `available` is placed.
    pub(super) fn path(&mut self, item: usize, available: u64, first: bool) -> Rc<Found> {
        let wanted = if first { self.wanted } else { None };
        let known = self.asked.get(&(item, available)).map(Rc::clone);
        let asked = known.unwrap_or_else(|| {
            let asked = Rc::new(self.asked_of(item, available));
            self.asked.insert((item, available), Rc::clone(&asked));
            asked
        });
        let order = wanted.map_or(0, |wanted| if wanted.limit.is_none() { 1 } else { 2 });
        Rc::clone(asked.found[order].get_or_init(|| Rc::new(self.find(item, &asked, wanted))))
    }

    fn asked_of(&self, item: usize, available: u64) -> Asked {
        let bit = 1u64 << item;
        let it = &self.group.items[item];
        let (list, at): (&[Expr], Vec<usize>) = if it.join == JoinKind::Inner {
            let ready = (0..self.uses.len()).filter(|at| self.uses[*at] & bit != 0 && self.uses[*at] & !(available | bit) == 0);
            let counted = self.group.tested(ready, item).into_iter().filter(|(_, counts)| *counts);
            (&self.group.conjuncts, counted.map(|(at, _)| at).collect())
        } else {
            let is_ready = |at: &usize| item_mask(&it.on[*at], self.group, &self.binder.subplans) & !(available | bit) == 0;
            (&it.on, (0..it.on.len()).filter(is_ready).collect())
        };
        let mut blocked = self.blocked.clone();
        for (i, other) in self.group.items.iter().enumerate() {
            if available & (1 << i) == 0 {
                blocked.extend(other.slots.iter().copied());
            }
        }
        Asked { conditions: at.iter().map(|at| list[*at].clone()).collect(), at, blocked, ..Asked::default() }
    }

    fn find(&self, item: usize, asked: &Asked, wanted: Option<Wanted<'_>>) -> Found {
        let Asked { conditions, at, blocked, ways, .. } = asked;
        let it = &self.group.items[item];
        match &it.kind {
            ItemKind::Relation(r) => {
                let relation = &self.relations[*r];
                let read = self.binder.item_read(relation, conditions, at, blocked, wanted, ways);
                let (mut cost, mut rows) = (read.path.cost, (read.path.rows * read.share).max(0.01));
                if self.group.items.len() > 1 && it.join == JoinKind::Inner && self.binder.is_empty(relation) {
                    // Nothing is read after a table without rows. Should it fill, the plan is made anew (`Plan::is_outgrown`).
                    (cost, rows) = (cost * EMPTY_SHARE, rows * EMPTY_SHARE);
                }
                Found { read: Some(read), cost, rows }
            }
            ItemKind::Nest(group) => {
                let mut group = (**group).clone();
                group.conjuncts.extend(conditions.iter().cloned());
                let outside: BTreeSet<Slot> = blocked.difference(&it.slots).copied().collect();
                let mut inner = Search::new(self.binder, self.relations, &group, &outside, None);
                let (cost, rows) = inner.greedy_cost();
                Found { read: None, cost, rows }
            }
        }
    }

    /// Has hints decide which items come before which, as far as the joins allow it.
    pub(super) fn follow_hints(&mut self) {
        let items = &self.group.items;
        for (place, relations) in &self.group.hints {
            let at = |r: &usize| items.iter().position(|item| matches!(item.kind, ItemKind::Relation(own) if own == *r));
            let named: Vec<usize> = relations.iter().filter_map(at).collect();
            let mask = named.iter().fold(0u64, |mask, at| mask | 1 << at);
            let mut needs = self.needs.clone();
            for pair in named.windows(2) {
                needs[pair[1]] |= 1 << pair[0];
            }
            for (at, needs) in needs.iter_mut().enumerate() {
                match place {
                    Place::Prefix if mask >> at & 1 == 0 => *needs |= mask,
                    Place::Suffix if mask >> at & 1 == 1 => *needs |= !mask & ((1u64 << items.len()) - 1),
                    _ => {}
                }
            }
            if can_be_met(&needs) {
                self.needs = needs;
            }
        }
    }

    fn allowed(&self, item: usize, placed: u64) -> bool {
        placed & (1 << item) == 0 && self.needs[item] & !placed == 0
    }

    pub(super) fn in_order(&mut self) -> Order {
        let mut placed = 0;
        let mut order = Order { steps: Vec::new(), cost: 0.0, rows: 1.0 };
        for i in 0..self.group.items.len() {
            let (step, cost, rows) = self.step(i, placed, order.rows);
            placed |= 1 << i;
            order.steps.push(step);
            order.cost += cost;
            order.rows = rows;
        }
        order
    }

    /// The cheapest order that begins with a table in the wanted order, or with any where none is wanted, and finds the others' rows one by one until
    /// the limit is reached, where that is expected to cost much less than `whole`, the order in which all rows are joined and sorted.
    pub(super) fn until_limit(&mut self, whole: &Order) -> Option<(f64, Order)> {
        let wanted = self.wanted?;
        let takes_first = wanted.order.is_empty();
        let limit = wanted.limit.filter(|_| takes_first || self.binder.context.switches().has(Switch::PreferOrderingIndex))?;
        let whole_cost = whole.with_sorting(Some(wanted));
        self.one_by_one = true;
        let mut best: Option<(f64, Order)> = None;
        let firsts = if self.group.straight { 1 } else { self.group.items.len() };
        for first in 0..firsts {
            let begins = self.group.items[first].join == JoinKind::Inner && self.allowed(first, 0);
            if begins && (takes_first || self.path(first, 0, true).path().is_some_and(|path| path.ordered)) {
                let order = if self.group.straight { self.in_order() } else { self.greedy_from(Some(first)) };
                let cost = order.cost * (limit / order.rows.max(1.0)).min(1.0);
                if cost * LIMITED_MIN < whole_cost && best.as_ref().is_none_or(|(least, _)| cost < *least) {
                    best = Some((cost, order));
                }
            }
        }
        self.one_by_one = false;
        best
    }

    pub(super) fn exhaustive(&mut self) -> Order {
        let n = self.group.items.len();
        let single = self.single_rows();
        // The cheapest way to each set of items: cost, rows, and the last step.
        let mut best: HashMap<u64, (f64, f64, Option<Step>), FixedState> = HashMap::default();
        best.insert(0, (0.0, 1.0, None));
        let full = (1u64 << n) - 1;
        for mask in 0..full {
            let Some((cost, rows)) = best.get(&mask).map(|(cost, rows, _)| (*cost, *rows)) else { continue };
            // Cross products only where nothing is connected.
            let connected: Vec<usize> = (0..n).filter(|i| self.allowed(*i, mask) && (mask == 0 || self.relevant(*i) & mask != 0)).collect();
            let candidates: Vec<usize> = if connected.is_empty() || mask != 0 && self.small_cross(&connected) {
                (0..n).filter(|i| self.allowed(*i, mask)).collect()
            } else {
                connected
            };
            // Single rows found by constants come first, whatever follows: they cost one look each, and never more.
            let first: Vec<usize> = candidates.iter().copied().filter(|i| single >> i & 1 == 1).collect();
            for i in if first.is_empty() { candidates } else { first } {
                let (step, c, r) = self.step(i, mask, rows);
                let next = mask | 1 << i;
                let total = cost + c;
                if best.get(&next).is_none_or(|(b, _, _)| total < *b) {
                    best.insert(next, (total, r, Some(step)));
                }
            }
        }
        let Some((cost, rows)) = best.get(&full).map(|(cost, rows, _)| (*cost, *rows)) else { return self.greedy() };
        let (mut steps, mut mask) = (Vec::with_capacity(n), full);
        while let Some((_, _, Some(step))) = best.remove(&mask) {
            mask &= !(1 << step.item);
            steps.push(step);
        }
        steps.reverse();
        Order { steps, cost, rows }
    }

    /// Items of which at most one row is read, which constants tell.
    fn single_rows(&mut self) -> u64 {
        let is_single = |path: &Path| path.unique && path.ranges.as_ref().is_some_and(|ranges| ranges.constant && ranges.single);
        (0..self.group.items.len())
            .filter(|i| self.group.items[*i].join == JoinKind::Inner && self.path(*i, 0, false).path().is_some_and(is_single))
            .fold(0, |mask, i| mask | 1 << i)
    }

    /// With few items a cross product of single rows (constants) is worth trying.
    fn small_cross(&self, _connected: &[usize]) -> bool {
        self.group.items.len() <= 5
    }

    pub(super) fn greedy(&mut self) -> Order {
        self.greedy_from(None)
    }

    /// The cheapest next item after each other, from a given one on.
    fn greedy_from(&mut self, first: Option<usize>) -> Order {
        let n = self.group.items.len();
        let mut placed = 0u64;
        let mut order = Order { steps: Vec::with_capacity(n), cost: 0.0, rows: 1.0 };
        while order.steps.len() < n {
            let mut best: Option<(f64, Step, f64, f64)> = None;
            for i in 0..n {
                if !self.allowed(i, placed) || placed == 0 && first.is_some_and(|first| first != i) {
                    continue;
                }
                let (step, cost, out) = self.step(i, placed, order.rows);
                let connected = placed == 0 || self.relevant(i) & placed != 0;
                let score = cost + out * if connected { 1.0 } else { 1000.0 };
                if best.as_ref().is_none_or(|(b, ..)| score < *b) {
                    best = Some((score, step, cost, out));
                }
            }
            let Some((_, step, cost, out)) = best else {
                // Needs that cannot be met in any order do not occur; place the rest as written.
                for i in 0..n {
                    if placed & (1 << i) == 0 {
                        order.steps.push(Step { item: i, hash: false, rows: order.rows, found: None });
                        placed |= 1 << i;
                    }
                }
                break;
            };
            placed |= 1 << step.item;
            order.cost += cost;
            order.rows = out;
            order.steps.push(step);
        }
        order
    }

    fn greedy_cost(&mut self) -> (f64, f64) {
        let n = self.group.items.len();
        let (mut placed, mut rows, mut total) = (0u64, 1.0, 0.0);
        for _ in 0..n {
            let mut best: Option<(f64, usize, f64)> = None;
            for i in 0..n {
                if self.allowed(i, placed) {
                    let (_, cost, out) = self.step(i, placed, rows);
                    if best.as_ref().is_none_or(|(b, _, _)| cost + out < *b) {
                        best = Some((cost + out, i, out));
                    }
                }
            }
            let Some((cost, i, out)) = best else { break };
            placed |= 1 << i;
            total += cost - out;
            rows = out;
        }
        (total.max(1.0), rows)
    }
}

/// How many of a key's rows are read by who asks only whether one passes, of which so many are expected to.
fn rows_until_found(rows: f64, passing: f64) -> f64 {
    if rows <= PARTNERS_TOGETHER_MAX { rows } else { rows.min(rows / passing.max(0.01)) }
}

/// Whether some order gives each item what it needs before it.
fn can_be_met(needs: &[u64]) -> bool {
    let mut placed = 0u64;
    for _ in needs {
        match (0..needs.len()).find(|at| placed >> at & 1 == 0 && needs[*at] & !placed == 0) {
            Some(at) => placed |= 1 << at,
            None => return false,
        }
    }
    true
}
