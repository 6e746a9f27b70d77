//! The row form of the operators: each node runs by pushing its rows, one by one, into a continuation.
//!
//! A row is the state of the frame when the continuation is called. What reads many rows has a batch form (see `batch/mod.rs`); joins by hash,
//! groups, sorts and DISTINCT have only that one.

use crate::change::store::{Leniency, store_as};
use crate::exec::{Cache, Exec};
use crate::hash_key;
use crate::set_operation::SetOperation;
use crate::spill::{Keeper, Kept, Row, row_bytes};
use planner::expr::Slot;
use planner::plan::{JoinKind, LimitSpec, Node, Query, RecursiveColumn, SortKey};
use std::rc::Rc;
use std::sync::Arc;
use types::Value;

/// What a continuation wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// More rows.
    Continue,
    /// No further row.
    Stop,
}

/// Result of most executor functions.
pub type Result<T> = std::result::Result<T, crate::errors::Error>;

/// A consumer of rows: called with the row in the frame.
pub type Next<'n, 'a> = &'n mut dyn FnMut(&mut Exec<'a>) -> Result<Flow>;

impl<'a> Exec<'a> {
    /// Runs a node.
    pub fn run(&mut self, node: &'a Node, next: Next<'_, 'a>) -> Result<Flow> {
        if self.measures(node) {
            return self.run_measured(node, next);
        }
        if !matches!(node, Node::Table(_)) {
            planner::check_stack()?;
        }
        match node {
            Node::Unit => next(self),
            Node::Empty => Ok(Flow::Continue),
            Node::Table(table) => self.run_table(table, next),
            Node::Virtual(table) => self.run_virtual(table, next),
            Node::JsonTable(table) => self.run_json_table(table, next),
            Node::Values { rows, slots } => {
                for row in rows {
                    self.check_cancel()?;
                    for (slot, expr) in slots.iter().zip(row) {
                        let value = self.eval(expr)?;
                        self.set(*slot, value);
                    }
                    if next(self)? == Flow::Stop {
                        return Ok(Flow::Stop);
                    }
                }
                Ok(Flow::Continue)
            }
            Node::Filter { input, predicate } => self.run(input, &mut |x| if x.is_true(predicate)? { next(x) } else { Ok(Flow::Continue) }),
            Node::Project { input, exprs, replaces } => self.run(input, &mut |x| {
                for (slot, expr) in exprs {
                    let value = x.eval(expr)?;
                    x.set(*slot, value);
                }
                if *replaces {
                    x.forget_lookups();
                }
                next(x)
            }),
            Node::Nested { outer, inner, kind, on, null_slots } => self.run_many(outer, &mut |x| {
                let mut matched = false;
                let flow = x.run(inner, &mut |x| {
                    if let Some(on) = on
                        && !x.is_true(on)?
                    {
                        return Ok(Flow::Continue);
                    }
                    matched = true;
                    match kind {
                        JoinKind::Inner | JoinKind::Left => next(x),
                        JoinKind::Semi | JoinKind::Anti => Ok(Flow::Stop),
                    }
                })?;
                match kind {
                    JoinKind::Inner => Ok(flow),
                    JoinKind::Left if matched => Ok(flow),
                    JoinKind::Left => {
                        for slot in null_slots {
                            x.set(*slot, Value::Null);
                        }
                        x.forget_lookups();
                        next(x)
                    }
                    JoinKind::Semi if matched => next(x),
                    JoinKind::Anti if !matched => next(x),
                    JoinKind::Semi | JoinKind::Anti => Ok(Flow::Continue),
                }
            }),
            Node::Hash(_) | Node::Group(_) | Node::Sort { .. } | Node::Distinct { .. } => self.batches_as_rows(node, next),
            Node::Window(window) => self.run_window(window, next),
            Node::Limit { input, limit } => self.run_limit(input, limit, next),
            Node::Union { branches, slots } => {
                for branch in branches {
                    let flow = self.run(&branch.root, &mut |x| {
                        x.project(&branch.output, slots)?;
                        next(x)
                    })?;
                    if flow == Flow::Stop {
                        return Ok(Flow::Stop);
                    }
                }
                Ok(Flow::Continue)
            }
            Node::SetOperation { branches, slots, collations, except, all } => {
                self.run_set_operation(branches, &SetOperation { slots, collations, except: *except, all: *all }, next)
            }
            Node::Materialize { input, cache, slots, outer_slots, .. } => {
                let rows = self.materialized(input, *cache, slots, outer_slots)?;
                self.replay(&rows, slots, next)
            }
            Node::Recursive { seed, step, distinct, limit, cache, slots, columns, result_cache, outer_slots, .. } => {
                let outer: Vec<Value> = outer_slots.iter().map(|s| self.get(*s).clone()).collect();
                let rows = match &self.caches[*result_cache as usize] {
                    Some(cache) if same_values(&cache.outer, &outer) => cache.rows.clone(),
                    _ => {
                        let limits = limit.as_ref().map_or(Ok((0, u64::MAX)), |limit| self.limits(limit))?;
                        let rows = self.run_recursive(seed, step, *distinct, limits, *cache, columns)?;
                        self.drop_cache(*result_cache);
                        self.caches[*result_cache as usize] = Some(Cache { rows: rows.clone(), outer, table: None });
                        rows
                    }
                };
                self.replay(&rows, slots, next)
            }
            Node::RecursiveScan { cache, slots, .. } => {
                let rows = match &self.caches[*cache as usize] {
                    Some(cache) => cache.rows.clone(),
                    None => return Ok(Flow::Continue),
                };
                self.replay(&rows, slots, next)
            }
        }
    }

    /// Evaluates expressions into slots; all are evaluated before any is stored.
    fn project(&mut self, exprs: &'a [planner::expr::Expr], slots: &[Slot]) -> Result<()> {
        for (expr, slot) in exprs.iter().zip(slots) {
            let value = self.eval(expr)?;
            self.set(*slot, value);
        }
        Ok(())
    }

    fn materialized(&mut self, input: &'a Arc<Query>, cache: u32, slots: &[Slot], outer: &[Slot]) -> Result<Rc<Kept>> {
        let key: Vec<Value> = outer.iter().map(|s| self.get(*s).clone()).collect();
        if let Some(cache) = &self.caches[cache as usize]
            && same_values(&cache.outer, &key)
        {
            return Ok(cache.rows.clone());
        }
        self.drop_cache(cache);
        let rows = Rc::new(self.keep_query(input, slots.len())?);
        self.caches[cache as usize] = Some(Cache { rows: rows.clone(), outer: key, table: None });
        Ok(rows)
    }

    /// Empties a cache; what it held is given back unless somebody reads it.
    pub(crate) fn drop_cache(&mut self, cache: u32) {
        let Some(Cache { rows, table, .. }) = self.caches[cache as usize].take() else { return };
        if let Ok(kept) = Rc::try_unwrap(rows) {
            kept.release(self);
        }
        if let Some(Ok(table)) = table.map(Rc::try_unwrap) {
            table.release(&mut self.memory);
        }
    }

    /// All rows of a query.
    pub fn collect_query(&mut self, query: &'a Query, width: usize) -> Result<Vec<Box<[Value]>>> {
        self.collect_rows(query, width, usize::MAX)
    }

    /// The first rows of a query, so many at most.
    fn collect_rows(&mut self, query: &'a Query, width: usize, most: usize) -> Result<Vec<Row>> {
        let mut rows: Vec<Row> = Vec::new();
        if most == 0 {
            return Ok(rows);
        }
        self.run_many(&query.root, &mut |x| {
            let row = x.row_of(&query.output, width)?;
            x.memory.take(row_bytes(&row))?;
            ::memory::reserve(&mut rows, 1)?;
            rows.push(row);
            Ok(if rows.len() == most { Flow::Stop } else { Flow::Continue })
        })?;
        Ok(rows)
    }

    fn run_recursive(
        &mut self,
        seed: &'a Arc<Query>,
        step: &'a Arc<Query>,
        distinct: bool,
        (offset, count): (u64, u64),
        cache: u32,
        columns: &[RecursiveColumn],
    ) -> Result<Rc<Kept>> {
        let mut seen = hash_key::KeySet::default();
        let mut all = Keeper::new(self, columns.len());
        let mut there = 0;
        let wanted = if count == 0 { 0 } else { usize::try_from(offset.saturating_add(count)).unwrap_or(usize::MAX) };
        let passed_over = usize::try_from(offset).unwrap_or(usize::MAX);
        // Of rows some of which may have been seen nobody knows how many are needed.
        let most = |there: usize| if distinct && wanted > 0 { usize::MAX } else { wanted - there };
        let bytes_of = |rows: &[Row]| rows.iter().map(|row| row_bytes(row)).sum::<usize>();
        let mut round = self.collect_rows(seed, columns.len(), most(0))?;
        let mut taken = bytes_of(&round);
        let depth_max = self.context.cte_max_recursion_depth();
        let mut depth = 0;
        loop {
            if distinct {
                let mut key = Vec::new();
                round.retain(|row| {
                    key.clear();
                    for (value, column) in row.iter().zip(columns) {
                        hash_key::append(value, column.ty.collation, &mut key);
                    }
                    !seen.contains(key.as_slice()) && seen.insert(key.as_slice().into())
                });
            }
            round.truncate(wanted - there);
            for row in &round {
                there += 1;
                if there > passed_over {
                    all.push(self, row.clone())?;
                }
            }
            if round.is_empty() || there == wanted {
                self.memory.give_back(taken);
                return Ok(Rc::new(all.finish(self)?));
            }
            depth += 1;
            if depth > depth_max {
                return Err(crate::errors::cte_recursion(depth_max + 1));
            }
            self.drop_cache(cache);
            self.caches[cache as usize] = Some(Cache { rows: Rc::new(Kept::of_rows(round, taken)), outer: Vec::new(), table: None });
            // What was built of the last round is void.
            let mut void = Vec::new();
            step.root.for_each_cache(&mut |c| void.push(c));
            void.into_iter().for_each(|c| self.drop_cache(c));
            round = self.collect_rows(step, columns.len(), most(there))?;
            taken = bytes_of(&round);
            self.store_round(&mut round, columns)?;
        }
    }

    /// Makes the values of a step those of the recursion's columns, as storing them in a table would.
    fn store_round(&mut self, round: &mut [Box<[Value]>], columns: &[RecursiveColumn]) -> Result<()> {
        for row in round {
            for (value, column) in row.iter_mut().zip(columns) {
                let Some(name) = &column.stored_as else { continue };
                let made = std::mem::replace(value, Value::Null);
                *value = store_as(made, &column.ty, name, 1, Leniency::NONE, self.context)?;
            }
        }
        Ok(())
    }

    fn run_limit(&mut self, input: &'a Node, limit: &'a LimitSpec, next: Next<'_, 'a>) -> Result<Flow> {
        let (skipped, count) = self.limits(limit)?;
        let (mut offset, mut left) = (skipped, count);
        if left == 0 {
            return Ok(Flow::Continue);
        }
        let mut stopped_above = false;
        self.run(input, &mut |x| {
            if offset > 0 {
                offset -= 1;
                return Ok(Flow::Continue);
            }
            left -= 1;
            if next(x)? == Flow::Stop {
                stopped_above = true;
                return Ok(Flow::Stop);
            }
            Ok(if left == 0 { Flow::Stop } else { Flow::Continue })
        })?;
        self.passed_over = skipped - offset;
        Ok(if stopped_above { Flow::Stop } else { Flow::Continue })
    }

    /// (offset, count) of a LIMIT.
    pub fn limits(&mut self, limit: &'a LimitSpec) -> Result<(u64, u64)> {
        let mut bound = |e: &'a Option<planner::expr::Expr>, absent: u64| match e {
            None => Ok(absent),
            Some(e) => {
                let value = self.eval(e)?;
                crate::convert::limit_value(&value)
            }
        };
        Ok((bound(&limit.offset, 0)?, bound(&limit.count, u64::MAX)?))
    }

    /// Memory-comparable bytes of the sort keys of the current row.
    pub fn sort_key(&mut self, keys: &'a [SortKey], out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        for key in keys {
            let value = self.eval(&key.expr)?;
            let start = out.len();
            hash_key::append_ordered(&value, key.collation, out);
            if key.descending {
                out[start..].iter_mut().for_each(|b| *b = !*b);
            }
        }
        Ok(())
    }
}

/// Whether two lists hold the same values: not only equal ones, of which more can be told apart than by a comparison.
pub fn same_values(a: &[Value], b: &[Value]) -> bool {
    let mut left = Vec::new();
    let mut right = Vec::new();
    a.iter().for_each(|v| hash_key::append_exact(v, &mut left));
    b.iter().for_each(|v| hash_key::append_exact(v, &mut right));
    left == right
}
