//! The operators: each node runs by pushing its rows, one by one, into a continuation.
//!
//! A row is the state of the frame when the continuation is called. Operators that keep rows (sort,
//! hash, materialise) save the slots that are used above them and put them back.

use crate::exec::{Cache, Exec};
use crate::hash_key::{self, Key, KeyTable};
use crate::memory::value_bytes;
use planner::expr::{ExprKind, Slot};
use planner::plan::{HashJoin, JoinKind, KeyForm, LimitSpec, Node, Query, SortKey};
use std::collections::BinaryHeap;
use std::rc::Rc;
use std::sync::Arc;
use types::{Collation, Value};

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
        match node {
            Node::Unit => next(self),
            Node::Empty => Ok(Flow::Continue),
            Node::Table(table) => self.run_table(table, next),
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
            Node::Project { input, exprs } => self.run(input, &mut |x| {
                for (slot, expr) in exprs {
                    let value = x.eval(expr)?;
                    x.set(*slot, value);
                }
                next(x)
            }),
            Node::Nested { outer, inner, kind, on, null_slots } => self.run(outer, &mut |x| {
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
            Node::Hash(join) => self.run_hash(join, next),
            Node::Group(group) => self.run_group(group, next),
            Node::Sort { input, keys, saved, limit } => match limit {
                Some(limit) => self.run_top(input, keys, saved, limit, next),
                None => self.run_sort(input, keys, saved, next),
            },
            Node::Limit { input, limit } => self.run_limit(input, limit, next),
            Node::Distinct { input, slots, collations } => {
                let mut seen = hash_key::KeySet::default();
                let mut key = Vec::new();
                let before = self.memory.used();
                let flow = self.run(input, &mut |x| {
                    key.clear();
                    for (slot, collation) in slots.iter().zip(collations) {
                        hash_key::append(x.get(*slot), *collation, &mut key);
                    }
                    if seen.contains(key.as_slice()) {
                        return Ok(Flow::Continue);
                    }
                    x.memory.take(key.len() + 48)?;
                    seen.insert(key.as_slice().into());
                    next(x)
                })?;
                self.memory.give_back_to(before);
                Ok(flow)
            }
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
                let rows = self.set_operation(branches, collations, *except, *all)?;
                self.replay(&Rc::new(rows), slots, next)
            }
            Node::Materialize { input, cache, slots, outer_slots } => {
                let rows = self.materialized(input, *cache, slots, outer_slots)?;
                self.replay(&rows, slots, next)
            }
            Node::Recursive { seed, step, distinct, cache, slots, types, result_cache } => {
                let rows = match &self.caches[*result_cache as usize] {
                    Some(Cache { rows, .. }) => rows.clone(),
                    None => {
                        let rows = self.run_recursive(seed, step, *distinct, *cache, types)?;
                        self.caches[*result_cache as usize] = Some(Cache { rows: rows.clone(), outer: Vec::new(), table: None });
                        rows
                    }
                };
                self.replay(&rows, slots, next)
            }
            Node::RecursiveScan { cache, slots } => {
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

    fn replay(&mut self, rows: &Rc<Vec<Box<[Value]>>>, slots: &[Slot], next: Next<'_, 'a>) -> Result<Flow> {
        for (i, row) in rows.iter().enumerate() {
            if i % 256 == 0 {
                self.check_cancel()?;
            }
            for (slot, value) in slots.iter().zip(row.iter()) {
                self.set(*slot, value.clone());
            }
            if next(self)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    fn materialized(&mut self, input: &'a Arc<Query>, cache: u32, slots: &[Slot], outer: &[Slot]) -> Result<Rc<Vec<Box<[Value]>>>> {
        let key: Vec<Value> = outer.iter().map(|s| self.get(*s).clone()).collect();
        if let Some(cache) = &self.caches[cache as usize]
            && same_values(&cache.outer, &key)
        {
            return Ok(cache.rows.clone());
        }
        let rows = Rc::new(self.collect_query(input, slots.len())?);
        self.caches[cache as usize] = Some(Cache { rows: rows.clone(), outer: key, table: None });
        Ok(rows)
    }

    fn set_operation(&mut self, branches: &'a [Query], collations: &[Collation], except: bool, all: bool) -> Result<Vec<Box<[Value]>>> {
        let key_of = |row: &[Value]| {
            let mut key = Vec::new();
            row.iter().zip(collations).for_each(|(v, c)| hash_key::append(v, *c, &mut key));
            key
        };
        let mut rows = self.collect_query(&branches[0], collations.len())?;
        for branch in &branches[1..] {
            let mut counts: hash_key::KeyMap<u64> = hash_key::KeyMap::default();
            for row in self.collect_query(branch, collations.len())? {
                *counts.entry(key_of(&row).into()).or_insert(0) += 1;
            }
            rows.retain(|row| match counts.get_mut(key_of(row).as_slice()) {
                None | Some(0) => except,
                Some(left) => {
                    if all {
                        *left -= 1;
                    }
                    !except
                }
            });
        }
        if !all {
            let mut seen = hash_key::KeySet::default();
            rows.retain(|row| seen.insert(key_of(row).into()));
        }
        Ok(rows)
    }

    /// All rows of a query.
    pub fn collect_query(&mut self, query: &'a Query, width: usize) -> Result<Vec<Box<[Value]>>> {
        let mut rows: Vec<Box<[Value]>> = Vec::new();
        self.run(&query.root, &mut |x| {
            let mut row = Vec::with_capacity(width);
            let mut bytes = 24;
            for expr in &query.output {
                let value = x.eval(expr)?;
                bytes += value_bytes(&value);
                row.push(value);
            }
            x.memory.take(bytes)?;
            rows.push(row.into_boxed_slice());
            Ok(Flow::Continue)
        })?;
        Ok(rows)
    }

    fn run_recursive(
        &mut self,
        seed: &'a Arc<Query>,
        step: &'a Arc<Query>,
        distinct: bool,
        cache: u32,
        types: &[types::ColumnType],
    ) -> Result<Rc<Vec<Box<[Value]>>>> {
        let mut seen = hash_key::KeySet::default();
        let mut all: Vec<Box<[Value]>> = Vec::new();
        let mut round = self.collect_query(seed, types.len())?;
        let depth_max = self.context.cte_max_recursion_depth();
        let mut depth = 0;
        loop {
            if distinct {
                let mut key = Vec::new();
                round.retain(|row| {
                    key.clear();
                    for (value, ty) in row.iter().zip(types) {
                        hash_key::append(value, ty.collation, &mut key);
                    }
                    !seen.contains(key.as_slice()) && seen.insert(key.as_slice().into())
                });
            }
            if round.is_empty() {
                return Ok(Rc::new(all));
            }
            depth += 1;
            if depth > depth_max {
                return Err(crate::errors::cte_recursion(depth_max + 1));
            }
            all.extend(round.iter().cloned());
            self.caches[cache as usize] = Some(Cache { rows: Rc::new(round), outer: Vec::new(), table: None });
            // What was built of the last round is void.
            let caches = &mut self.caches;
            step.root.for_each_cache(&mut |c| caches[c as usize] = None);
            round = self.collect_query(step, types.len())?;
        }
    }

    fn run_limit(&mut self, input: &'a Node, limit: &'a LimitSpec, next: Next<'_, 'a>) -> Result<Flow> {
        let (mut offset, count) = self.limits(limit)?;
        let mut left = count;
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

    fn run_sort(&mut self, input: &'a Node, keys: &'a [SortKey], saved: &[Slot], next: Next<'_, 'a>) -> Result<Flow> {
        let before = self.memory.used();
        let mut rows: Vec<(Box<[u8]>, Box<[Value]>)> = Vec::new();
        let mut key = Vec::new();
        self.run(input, &mut |x| {
            x.sort_key(keys, &mut key)?;
            let row = x.save(saved);
            x.memory.take(key.len() + 64 + row.iter().map(value_bytes).sum::<usize>())?;
            rows.push((key.as_slice().into(), row));
            Ok(Flow::Continue)
        })?;
        self.check_cancel()?;
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        self.emit_sorted(rows.into_iter().map(|(_, row)| row), saved, before, next)
    }

    fn run_top(&mut self, input: &'a Node, keys: &'a [SortKey], saved: &[Slot], limit: &'a LimitSpec, next: Next<'_, 'a>) -> Result<Flow> {
        let (offset, count) = self.limits(limit)?;
        let keep = offset.saturating_add(count);
        if count == 0 {
            return Ok(Flow::Continue);
        }
        let before = self.memory.used();
        // A heap with the largest kept key on top; `sequence` keeps equal keys in input order.
        let mut heap: BinaryHeap<(Box<[u8]>, u64, Saved)> = BinaryHeap::new();
        let mut key = Vec::new();
        let mut sequence = 0;
        self.run(input, &mut |x| {
            x.sort_key(keys, &mut key)?;
            sequence += 1;
            if heap.len() as u64 >= keep {
                if heap.peek().is_none_or(|top| key.as_slice() >= &*top.0) {
                    return Ok(Flow::Continue);
                }
                heap.pop();
            } else {
                x.memory.take(key.len() + 96)?;
            }
            heap.push((key.as_slice().into(), sequence, Saved(x.save(saved))));
            Ok(Flow::Continue)
        })?;
        let rows = heap.into_sorted_vec();
        self.emit_sorted(rows.into_iter().skip(offset as usize).map(|(_, _, row)| row.0), saved, before, next)
    }

    fn emit_sorted(&mut self, rows: impl Iterator<Item = Box<[Value]>>, saved: &[Slot], before: usize, next: Next<'_, 'a>) -> Result<Flow> {
        self.forget_lookups();
        for (i, row) in rows.enumerate() {
            if i % 256 == 0 {
                self.check_cancel()?;
            }
            self.restore(saved, row);
            if next(self)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        self.memory.give_back_to(before);
        Ok(Flow::Continue)
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

    /// Copies slots out of the frame.
    pub fn save(&mut self, slots: &[Slot]) -> Box<[Value]> {
        slots.iter().map(|s| self.get(*s).clone()).collect()
    }

    /// Puts saved slots back.
    pub fn restore(&mut self, slots: &[Slot], row: Box<[Value]>) {
        for (slot, value) in slots.iter().zip(row.into_vec()) {
            self.set(*slot, value);
        }
    }

    fn run_hash(&mut self, join: &'a HashJoin, next: Next<'_, 'a>) -> Result<Flow> {
        let table = self.hash_table(join)?;
        if join.kind == JoinKind::Anti && join.null_aware && table.has_null {
            // x NOT IN (…, NULL) is never true.
            return Ok(Flow::Continue);
        }
        let mut buffer = Vec::new();
        self.run(&join.probe, &mut |x| {
            let key = x.join_key(&join.probe_keys, join, &mut buffer)?;
            let has_null = key.is_none();
            let mut matched = false;
            if has_null && join.null_aware && join.kind == JoinKind::Anti && !table.is_empty() {
                return Ok(Flow::Continue);
            }
            if let Some(key) = key {
                let mut at = table.first(key);
                while let Some(i) = at {
                    for (slot, value) in join.build_slots.iter().zip(table.row(i)) {
                        x.set(*slot, value.clone());
                    }
                    at = table.following(i);
                    if let Some(on) = &join.on
                        && !x.is_true(on)?
                    {
                        continue;
                    }
                    matched = true;
                    match join.kind {
                        JoinKind::Inner | JoinKind::Left => {
                            if next(x)? == Flow::Stop {
                                return Ok(Flow::Stop);
                            }
                        }
                        JoinKind::Semi | JoinKind::Anti => break,
                    }
                }
            }
            match join.kind {
                JoinKind::Left if !matched => {
                    for slot in &join.build_slots {
                        x.set(*slot, Value::Null);
                    }
                    next(x)
                }
                JoinKind::Semi if matched => next(x),
                JoinKind::Anti if !matched => next(x),
                _ => Ok(Flow::Continue),
            }
        })
    }

    fn hash_table(&mut self, join: &'a HashJoin) -> Result<Rc<HashTable>> {
        let outer: Vec<Value> = join.outer_slots.iter().map(|s| self.get(*s).clone()).collect();
        if let Some(Cache { table: Some(table), outer: of, .. }) = &self.caches[join.cache as usize]
            && same_values(of, &outer)
        {
            return Ok(table.clone());
        }
        let mut table = HashTable { width: join.build_slots.len(), ..HashTable::default() };
        let mut buffer = Vec::new();
        self.run(&join.build, &mut |x| {
            let Some(key) = x.join_key(&join.build_keys, join, &mut buffer)? else {
                table.has_null = true;
                return Ok(Flow::Continue);
            };
            let mut bytes = key.entry_bytes();
            for slot in &join.build_slots {
                let value = x.get(*slot).clone();
                bytes += value_bytes(&value);
                table.values.push(value);
            }
            x.memory.take(bytes)?;
            table.add(key);
            Ok(Flow::Continue)
        })?;
        self.forget_lookups();
        let table = Rc::new(table);
        self.caches[join.cache as usize] = Some(Cache { rows: Rc::default(), outer, table: Some(table.clone()) });
        Ok(table)
    }

    /// The join key of the current row; `None` when a part is NULL and the join is not NULL-safe.
    fn join_key<'k>(&mut self, exprs: &'a [planner::expr::Expr], join: &'a HashJoin, key: &'k mut Vec<u8>) -> Result<Option<Key<'k>>> {
        key.clear();
        if let ([expr], [KeyForm::Same]) = (exprs, join.key_forms.as_slice()) {
            if let ExprKind::Slot(slot) = expr.kind
                && let Value::Int(i) = self.get(slot)
            {
                return Ok(Some(Key::Int(*i)));
            }
            let value = self.eval(expr)?;
            if value.is_null() && !join.null_safe {
                return Ok(None);
            }
            return Ok(Some(hash_key::lone_key(&value, join.collations[0], key)));
        }
        for ((expr, collation), form) in exprs.iter().zip(&join.collations).zip(&join.key_forms) {
            let value = self.eval(expr)?;
            if matches!(value, Value::Null) {
                if !join.null_safe {
                    return Ok(None);
                }
                hash_key::append(&value, *collation, key);
                continue;
            }
            match form {
                KeyForm::Same => hash_key::append(&value, *collation, key),
                KeyForm::Double => {
                    let double = crate::convert::to_f64(&value);
                    hash_key::append(&Value::Double(double), *collation, key);
                }
                KeyForm::Temporal => match crate::convert::to_datetime(&value, self.context) {
                    Some(at) => hash_key::append(&Value::DateTime(at), *collation, key),
                    None => return Ok(None),
                },
            }
        }
        Ok(Some(Key::Bytes(key)))
    }
}

/// A row in the top-N heap: takes no part in the order.
struct Saved(Box<[Value]>);

impl PartialEq for Saved {
    fn eq(&self, _: &Saved) -> bool {
        true
    }
}
impl Eq for Saved {}
impl PartialOrd for Saved {
    fn partial_cmp(&self, other: &Saved) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Saved {
    fn cmp(&self, _: &Saved) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

fn same_values(a: &[Value], b: &[Value]) -> bool {
    let mut left = Vec::new();
    let mut right = Vec::new();
    a.iter().for_each(|v| hash_key::append(v, Collation::Binary, &mut left));
    b.iter().for_each(|v| hash_key::append(v, Collation::Binary, &mut right));
    left == right
}

/// Build side of a hash join: rows in one flat vector, chained by key in insertion order.
#[derive(Default)]
pub struct HashTable {
    width: usize,
    values: Vec<Value>,
    next: Vec<u32>,
    heads: KeyTable<(u32, u32)>,
    has_null: bool,
}

impl HashTable {
    fn add(&mut self, key: Key<'_>) {
        let row = self.next.len() as u32;
        self.next.push(u32::MAX);
        match self.heads.get_mut(key) {
            Some((_, last)) => {
                self.next[*last as usize] = row;
                *last = row;
            }
            None => {
                self.heads.insert(key, (row, row));
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.next.is_empty() && !self.has_null
    }

    fn first(&self, key: Key<'_>) -> Option<u32> {
        self.heads.get(key).map(|(first, _)| *first)
    }

    fn following(&self, row: u32) -> Option<u32> {
        let next = self.next[row as usize];
        (next != u32::MAX).then_some(next)
    }

    fn row(&self, row: u32) -> &[Value] {
        let start = row as usize * self.width;
        &self.values[start..start + self.width]
    }
}
