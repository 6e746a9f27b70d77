//! Index joins: the rows of the left side come by chunks, each finds its partners by a key, and the pairs go on as chunks.
//!
//! Where it may pay, the keys of a chunk's rows are looked up together, in their own order (`nested/together.rs`), otherwise one after the other
//! (`nested/one_by_one.rs`). A range that each left row has its own of is scanned by chunks for one left row after the other. `nested/left.rs` puts the
//! rows without a partner between the pairs.
//!
//! # Invariants
//! 1. Only keys that stand ready (columns, constants) are looked up here, so that looking neither warns nor fails for a row that nobody asks for.
//! 2. Pairs come in the order of the left rows, and for each in the order of the index: as row by row.
//! 3. What a key cannot say exactly widens the range; the table's filter has all conditions. What keys do say exactly is not tested ([`TableNode::reading`]).
//! 4. A semi or anti join reads one row of a key where nothing is tested of it. Where something is, a key is left once a row has passed, which is asked
//!    after a few rows ([`Lookup::is_decided`]), or, where many keys are looked up together, not asked.

mod left;
mod one_by_one;
mod together;

use crate::batch::Sink;
use crate::batch::chunk::Chunk;
use crate::batch::column::Column;
use crate::batch::compare::TRUE;
use crate::batch::expression::Vector;
use crate::batch::{harmless, rows};
use crate::errors::internal;
use crate::exec::Exec;
use crate::run::{Flow, Result};
use engine::Read;
use planner::PARTNERS_TOGETHER_MAX;
use planner::expr::{Expr, ExprKind};
use planner::keys::{Fit, fit};
use planner::plan::{Access, JoinKind, KeyBatches, LockMode, Node, PrefixRange, TableNode};
use record::KeyPart;
use std::cell::{Cell, RefCell};
use types::{ColumnType, Value};

/// Rows that a range of each left row is expected to have at least, for chunks of their own.
const SCANNED_MIN: f64 = 32.0;

/// The right side of a join that is looked up by keys.
struct Lookup<'a> {
    node: &'a TableNode,
    index_no: usize,
    backward: bool,
    /// At most one row has a whole key, of the primary index.
    unique: bool,
    /// The parts of the key: what is looked for, and how the index has it.
    parts: Vec<(&'a Expr, bool, &'a ColumnType, &'a KeyPart)>,
    /// Most left rows whose keys are looked up together: fewer once they were too many.
    rows_together: Cell<usize>,
    /// Of a semi or anti join: the left rows of the chunk that have a partner.
    matched: Option<RefCell<Vec<bool>>>,
}

impl Lookup<'_> {
    /// Whether one row of each key is enough, which says all that is asked for (`exact`) or less.
    fn takes_first(&self, exact: bool) -> bool {
        self.matched.is_some() && self.node.reading(exact).filter.is_none()
    }

    /// Whether no further row of a left row's key can tell more.
    fn is_decided(&self, row: u16) -> bool {
        self.matched.as_ref().is_some_and(|matched| matched.borrow().get(usize::from(row)) == Some(&true))
    }
}

/// Rows that each left row is expected to find at least, for chunks although the left rows come one by one: what is joined next gets many.
const FOUND_MIN: f64 = 64.0;

/// What gets the pairs: with the left row of each, and what is left to be tested of the table's conditions and the join's.
type Pass<'p, 'a> = &'p mut dyn FnMut(&mut Exec<'a>, &[u16], &mut Chunk, Option<&'a Expr>) -> Result<Flow>;

/// What a left row asks of the index.
enum Asked {
    /// Nothing can be equal.
    Nothing,
    /// The whole key is in the buffer.
    Key,
    /// All with what is in the buffer, which is less than the key.
    Prefix,
}

/// The one point of each part of an access by key.
fn points(node: &TableNode) -> Option<&PrefixRange> {
    let Access::Index { ranges: Some(spec), first_only: false, .. } = &node.access else { return None };
    let [prefix] = spec.any.as_slice() else { return None };
    let ready = |e: &Expr| matches!(e.kind, ExprKind::Slot(_) | ExprKind::Literal(_) | ExprKind::Param(_));
    let points = prefix.points.iter().all(|p| p.len() == 1 && ready(&p[0]));
    (prefix.interval.is_none() && !prefix.points.is_empty() && points).then_some(prefix)
}

impl<'a> Exec<'a> {
    /// Whether a nested loop is run here.
    pub(super) fn nests_by_batch(&self, node: &Node) -> bool {
        let Node::Nested { outer, inner, kind, on, .. } = node else { return false };
        let Node::Table(table) = &**inner else { return false };
        if self.scans_for_each(node) {
            return true;
        }
        let kinds = match kind {
            JoinKind::Inner => on.is_none(),
            JoinKind::Semi | JoinKind::Anti => {
                let reads_few = table.rows <= PARTNERS_TOGETHER_MAX || table.reading(true).filter.is_none();
                on.is_none() && reads_few && table.filter.as_ref().is_none_or(harmless::is_harmless)
            }
            JoinKind::Left => on.is_none() && table.filter.as_ref().is_none_or(harmless::is_harmless),
        };
        kinds
            && !self.plan.volatile
            && self.kernels
            && table.lock == LockMode::None
            && self.plain_read == Read::Snapshot
            && table.keep_key.is_none()
            && points(table).is_some()
            && (self.prefers_batches(outer) || table.key_batches == KeyBatches::Always || table.rows >= FOUND_MIN)
    }

    /// Whether a nested loop is over ranges that are scanned by chunks: not over keys, whose rows are fewer.
    fn scans_for_each(&self, node: &Node) -> bool {
        let Node::Nested { inner, kind: JoinKind::Inner, on: None, .. } = node else { return false };
        let Node::Table(table) = &**inner else { return false };
        table.rows >= SCANNED_MIN && self.scans_by_batch(table) && points(table).is_none()
    }

    /// Runs a nested loop that [`Exec::scans_for_each`] row of the left side.
    fn scan_for_each(&mut self, outer: &'a Node, inner: &'a Node, sink: Sink<'_, 'a>) -> Result<Flow> {
        let mut slots = Vec::new();
        rows::written_slots(outer, &mut slots);
        self.run_many(outer, &mut |x| {
            let left: Vec<Value> = slots.iter().map(|slot| x.get(*slot).clone()).collect();
            x.run_batches(inner, &mut |x, chunk| {
                for (slot, value) in slots.iter().zip(&left) {
                    let mut column = Column::new();
                    for _ in 0..chunk.len() {
                        column.push(value);
                    }
                    chunk.put(*slot, column);
                }
                let flow = sink(x, chunk)?;
                // The rest of the range is judged by them.
                slots.iter().zip(&left).for_each(|(slot, value)| x.set(*slot, value.clone()));
                Ok(flow)
            })
        })
    }

    fn lookup_of(&self, node: &'a TableNode, kind: JoinKind) -> Option<Lookup<'a>> {
        let Access::Index { index, backward, unique, .. } = &node.access else { return None };
        let plan = self.plan;
        let def = &plan.tables[node.table as usize].def;
        let index_no = *index as usize;
        let own = def.indexes[index_no].parts.iter();
        let all = own.chain(if index_no == 0 { [].iter() } else { def.indexes[0].parts.iter() });
        let prefix = points(node)?;
        let parts = prefix.points.iter().zip(all);
        let parts: Vec<_> = parts.map(|(p, part)| (&p[0], p.is_null_safe(0), &def.columns[part.column].ty, part)).collect();
        let whole = parts.len() == prefix.points.len() && parts.iter().all(|(_, _, _, part)| part.prefix_chars.is_none());
        let unique = *unique && index_no == 0 && whole && parts.len() == def.indexes[0].parts.len();
        let rows_together = Cell::new(if *backward { 0 } else { together::rows_max(node.key_batches) });
        let matched = matches!(kind, JoinKind::Semi | JoinKind::Anti).then(RefCell::default);
        Some(Lookup { node, index_no, backward: *backward, unique, parts, rows_together, matched })
    }

    /// Runs a nested loop that [`Exec::nests_by_batch`].
    #[inline(never)]
    pub(super) fn nested_batches(&mut self, node: &'a Node, sink: Sink<'_, 'a>) -> Result<Flow> {
        let Node::Nested { outer, inner, kind, .. } = node else { return Err(internal("not a nested loop")) };
        let Node::Table(table) = &**inner else { return Err(internal("not a table")) };
        if self.scans_for_each(node) {
            return self.scan_for_each(outer, inner, sink);
        }
        let lookup = self.lookup_of(table, *kind).ok_or_else(|| internal("no key"))?;
        match kind {
            JoinKind::Inner => self.run_batches(outer, &mut |x, chunk| {
                x.pairs_by_key(&lookup, chunk, &mut |x, _, pairs, filter| match filter {
                    Some(filter) => x.filter_chunk(filter, pairs, sink),
                    None => sink(x, pairs),
                })
            }),
            JoinKind::Left => self.run_batches(outer, &mut |x, chunk| x.left_by_key(&lookup, chunk, sink)),
            JoinKind::Semi | JoinKind::Anti => {
                let semi = *kind == JoinKind::Semi;
                let matched = lookup.matched.as_ref().ok_or_else(|| internal("not a semi or anti join"))?;
                self.run_batches(outer, &mut |x, chunk| {
                    matched.borrow_mut().clear();
                    matched.borrow_mut().resize(chunk.len(), false);
                    x.pairs_by_key(&lookup, chunk, &mut |x, left, pairs, filter| {
                        let passing = x.passing(filter, pairs)?;
                        let mut matched = matched.borrow_mut();
                        left.iter().zip(passing).for_each(|(row, passes)| matched[usize::from(*row)] |= passes);
                        Ok(Flow::Continue)
                    })?;
                    let is_kept = |row: &u16| lookup.is_decided(*row) == semi;
                    let kept: Vec<u16> = chunk.rows().iter().copied().filter(is_kept).collect();
                    if kept.is_empty() {
                        return Ok(Flow::Continue);
                    }
                    chunk.select(kept);
                    sink(x, chunk)
                })
            }
        }
    }

    /// Which pairs pass a filter that neither warns nor fails.
    fn passing(&mut self, filter: Option<&'a Expr>, pairs: &Chunk) -> Result<Vec<bool>> {
        let Some(filter) = filter else { return Ok(vec![true; pairs.len()]) };
        if let Some(truths) = self.truths(filter, pairs, pairs.rows()) {
            return Ok(truths.iter().map(|truth| *truth == TRUE).collect());
        }
        let mut passing = Vec::with_capacity(pairs.len());
        for at in 0..pairs.len() {
            self.tick()?;
            pairs.load(at, &mut self.frame);
            passing.push(self.is_true(filter)?);
        }
        self.forget_lookups();
        Ok(passing)
    }

    /// Finds the partners of a chunk's rows; `pass` gets the left row of each pair, and the pairs.
    fn pairs_by_key(&mut self, lookup: &Lookup<'a>, chunk: &Chunk, pass: Pass<'_, 'a>) -> Result<Flow> {
        let mut keys = Vec::with_capacity(lookup.parts.len());
        for (e, ..) in &lookup.parts {
            keys.push(self.vector(e, chunk, chunk.rows()).ok_or_else(|| internal("a key that does not stand ready"))?);
        }
        match lookup.rows_together.get() {
            0 => self.pairs_one_by_one(lookup, &keys, chunk, chunk.rows(), pass),
            _ => self.pairs_together(lookup, &keys, chunk, pass),
        }
    }

    /// Passes pairs on, accounted for while they are on their way.
    fn pass_accounted(&mut self, left: &[u16], pairs: &mut Chunk, filter: Option<&'a Expr>, pass: Pass<'_, 'a>) -> Result<Flow> {
        let bytes = pairs.bytes();
        self.memory.take(bytes)?;
        let flow = pass(self, left, pairs, filter)?;
        self.memory.give_back(bytes);
        Ok(flow)
    }
}

/// Fills the first columns of pairs, those of the left side, from its rows.
fn gather_left(pairs: &mut Chunk, chunk: &Chunk, left: &[u16]) {
    for (to, from) in pairs.columns_mut().iter_mut().zip(chunk.columns()) {
        to.gather(from, left.iter().map(|row| usize::from(*row)));
    }
}

/// The key that a left row asks for.
fn key_of(lookup: &Lookup<'_>, keys: &[Vector<'_>], at: usize, key: &mut Vec<u8>) -> Asked {
    key.clear();
    for ((_, null_safe, ty, part), vector) in lookup.parts.iter().zip(keys) {
        let value = vector.value(at);
        if value.is_null() && !(*null_safe && ty.nullable) {
            return Asked::Nothing;
        }
        let fitted = if value.is_null() { Fit::Exact(Value::Null) } else { fit(ty, &value) };
        match fitted {
            Fit::Exact(value) => {
                let whole = record::key::try_encode_part(ty, part, &value, key).is_ok();
                if !whole || part.prefix_chars.is_some() {
                    return Asked::Prefix;
                }
            }
            Fit::Unusable => return Asked::Prefix,
            _ => return Asked::Nothing,
        }
    }
    Asked::Key
}
