//! Operators that pass chunks on: filter, projection, LIMIT, DISTINCT, UNION.

use crate::batch::Sink;
use crate::batch::chunk::{CHUNK_ROWS, Chunk};
use crate::batch::compare::{NULL, TRUE, rows_where};
use crate::batch::expression::Vector;
use crate::batch::keys;
use crate::exec::Exec;
use crate::hash_key::KeyTable;
use crate::memory::{Memory, Watch};
use crate::run::{Flow, Result};
use crate::spill::{LEVELS_MAX, Partitions, partition_of, sources};
use ::memory::Kind;
use planner::expr::{Expr, ExprKind, Slot};
use planner::plan::{LimitSpec, Node, Query};
use types::Collation;

impl<'a> Exec<'a> {
    /// Passes on the rows for which the predicate is true.
    pub(super) fn filter_chunk(&mut self, predicate: &'a Expr, chunk: &mut Chunk, sink: Sink<'_, 'a>) -> Result<Flow> {
        let parts = match &predicate.kind {
            ExprKind::And(list) => list.as_slice(),
            _ => std::slice::from_ref(predicate),
        };
        let mut open: Option<Vec<u16>> = None;
        // Rows that a part leaves unknown do not pass, but later parts are evaluated for them: they may warn.
        let mut unknown: Option<Box<[bool; CHUNK_ROWS]>> = None;
        for (number, part) in parts.iter().enumerate() {
            let rows = open.as_deref().unwrap_or(chunk.rows());
            let Some(truths) = self.truths(part, chunk, rows) else {
                if let Some(open) = open {
                    chunk.select(open);
                }
                return self.filter_rows(&parts[number..], unknown.as_deref(), chunk, sink);
            };
            let last = number + 1 == parts.len();
            let left = if last || rows.iter().all(|row| truths[usize::from(*row)] != NULL) {
                rows_where(rows, |at| truths[at] == TRUE)
            } else {
                let mut left = Vec::with_capacity(rows.len());
                for row in rows {
                    match truths[usize::from(*row)] {
                        TRUE => left.push(*row),
                        NULL => {
                            left.push(*row);
                            unknown.get_or_insert_with(|| Box::new([false; CHUNK_ROWS]))[usize::from(*row)] = true;
                        }
                        _ => {}
                    }
                }
                left
            };
            if left.is_empty() {
                return Ok(Flow::Continue);
            }
            open = Some(left);
        }
        if let Some(mut open) = open {
            if let Some(unknown) = unknown {
                open.retain(|row| !unknown[usize::from(*row)]);
                if open.is_empty() {
                    return Ok(Flow::Continue);
                }
            }
            chunk.select(open);
        }
        sink(self, chunk)
    }

    /// The same with the evaluator: each row passes on before the next one is looked at.
    #[inline(never)]
    fn filter_rows(&mut self, parts: &'a [Expr], unknown: Option<&[bool; CHUNK_ROWS]>, chunk: &Chunk, sink: Sink<'_, 'a>) -> Result<Flow> {
        self.one_by_one(chunk, sink, |x, row, single| {
            let mut passes = unknown.is_none_or(|unknown| !unknown[row]);
            for part in parts {
                match x.truth(part)? {
                    Some(true) => {}
                    None => passes = false,
                    Some(false) => {
                        passes = false;
                        break;
                    }
                }
            }
            if passes {
                single.take_row(chunk, row);
            }
            Ok(passes)
        })
    }

    /// Passes rows on one after the other. `make` finds one in the frame, fills the chunk that goes on, and says whether it does.
    fn one_by_one(
        &mut self,
        chunk: &Chunk,
        sink: Sink<'_, 'a>,
        mut make: impl FnMut(&mut Exec<'a>, usize, &mut Chunk) -> Result<bool>,
    ) -> Result<Flow> {
        let mut single = self.take_chunk(std::iter::empty());
        let mut flow = Flow::Continue;
        for row in chunk.rows() {
            self.tick()?;
            let row = usize::from(*row);
            chunk.load(row, &mut self.frame);
            if make(self, row, &mut single)? {
                flow = sink(self, &mut single)?;
                if flow == Flow::Stop {
                    break;
                }
            }
        }
        self.forget_lookups();
        self.return_chunk(single);
        Ok(flow)
    }

    /// Adds computed columns; later expressions may read earlier ones.
    pub(super) fn project_chunk(&mut self, exprs: &'a [(Slot, Expr)], chunk: &mut Chunk, sink: Sink<'_, 'a>) -> Result<Flow> {
        for (slot, expr) in exprs {
            let Some(column) = self.column_of(expr, chunk) else {
                return self.project_rows(exprs.iter().map(|(slot, expr)| (*slot, expr)), chunk, sink);
            };
            chunk.put(*slot, column);
        }
        sink(self, chunk)
    }

    /// The same with the evaluator: each row passes on before the next one is looked at.
    #[inline(never)]
    fn project_rows(&mut self, exprs: impl Iterator<Item = (Slot, &'a Expr)> + Clone, chunk: &Chunk, sink: Sink<'_, 'a>) -> Result<Flow> {
        self.one_by_one(chunk, sink, |x, row, single| {
            single.take_row(chunk, row);
            for (slot, expr) in exprs.clone() {
                let value = x.eval(expr)?;
                single.put_value(slot, &value);
                x.set(slot, value);
            }
            Ok(true)
        })
    }

    #[inline(never)]
    pub(super) fn limit_batches(&mut self, input: &'a Node, limit: &'a LimitSpec, sink: Sink<'_, 'a>) -> Result<Flow> {
        let (skipped, mut left) = self.limits(limit)?;
        let mut offset = skipped;
        if left == 0 {
            return Ok(Flow::Continue);
        }
        let mut stopped_above = false;
        self.run_batches(input, &mut |x, chunk| {
            let count = chunk.rows().len() as u64;
            if offset >= count {
                offset -= count;
                return Ok(Flow::Continue);
            }
            let passed = left.min(count - offset);
            chunk.keep(offset as usize, passed as usize);
            offset = 0;
            left -= passed;
            if sink(x, chunk)? == Flow::Stop {
                stopped_above = true;
                return Ok(Flow::Stop);
            }
            Ok(if left == 0 { Flow::Stop } else { Flow::Continue })
        })?;
        self.passed_over = skipped - offset;
        Ok(if stopped_above { Flow::Stop } else { Flow::Continue })
    }

    #[inline(never)]
    pub(super) fn distinct_batches(
        &mut self,
        input: &'a Node,
        slots: &'a [Slot],
        collations: &'a [Collation],
        sink: Sink<'_, 'a>,
    ) -> Result<Flow> {
        let mut distinct = Distinct::new(input, slots, collations, &self.memory, 0);
        let flow = self.run_batches(input, &mut |x, chunk| distinct.pass(x, chunk, sink))?;
        distinct.finish(self, flow, sink)
    }

    #[inline(never)]
    pub(super) fn union_batches(&mut self, branches: &'a [Query], slots: &'a [Slot], sink: Sink<'_, 'a>) -> Result<Flow> {
        for branch in branches {
            let flow = self.run_batches(&branch.root, &mut |x, chunk| x.projected(&branch.output, slots, chunk, sink))?;
            if flow == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// Runs a derived table's query without keeping its rows.
    #[inline(never)]
    pub(super) fn streamed_batches(&mut self, input: &'a Query, slots: &'a [Slot], sink: Sink<'_, 'a>) -> Result<Flow> {
        self.run_batches(&input.root, &mut |x, chunk| x.projected(&input.output, slots, chunk, sink))
    }

    /// Passes a chunk on with the output of a query in the slots of what reads it.
    pub(super) fn projected(&mut self, output: &'a [Expr], slots: &'a [Slot], chunk: &mut Chunk, sink: Sink<'_, 'a>) -> Result<Flow> {
        let mut columns = Vec::with_capacity(slots.len());
        for expr in output {
            match self.column_of(expr, chunk) {
                Some(column) => columns.push(column),
                None => return self.project_rows(slots.iter().copied().zip(output), chunk, sink),
            }
        }
        for (slot, column) in slots.iter().zip(columns) {
            chunk.put(*slot, column);
        }
        sink(self, chunk)
    }
}

/// DISTINCT at work. When there are too many rows to remember, those that are remembered stay, and rows that none of them equals go to disk, divided by their keys: when the
/// input has ended, each partition is done by itself.
struct Distinct<'a> {
    input: &'a Node,
    slots: &'a [Slot],
    collations: &'a [Collation],
    seen: KeyTable<()>,
    /// Bytes accounted.
    held: usize,
    watch: Watch,
    spilled: Option<Partitions>,
    /// How often the rows were divided.
    level: u32,
    buffer: Vec<u8>,
}

impl<'a> Distinct<'a> {
    fn new(input: &'a Node, slots: &'a [Slot], collations: &'a [Collation], memory: &Memory, level: u32) -> Distinct<'a> {
        let watch = Watch::new(memory);
        Distinct { input, slots, collations, seen: KeyTable::default(), held: 0, watch, spilled: None, level, buffer: Vec::new() }
    }

    /// Passes on the rows of a chunk that are new.
    fn pass(&mut self, x: &mut Exec<'a>, chunk: &mut Chunk, sink: Sink<'_, 'a>) -> Result<Flow> {
        let mut kept = Vec::new();
        let parts: Vec<Vector<'_>> = self.slots.iter().map(|slot| x.slot_vector(*slot, chunk)).collect();
        let mut leaving: Vec<(u16, usize)> = Vec::new();
        for row in chunk.rows() {
            let key = keys::key_at(&parts, self.collations, usize::from(*row), &mut self.buffer);
            if self.seen.get(key).is_none() {
                if self.spilled.is_some() {
                    leaving.push((*row, partition_of(key, self.level)));
                    continue;
                }
                x.memory.take_for(Kind::Groups, key.entry_bytes())?;
                self.held += key.entry_bytes();
                self.seen.insert(key, ())?;
                kept.push(*row);
                if self.watch.is_pressed(self.held, &x.memory) && self.level < LEVELS_MAX {
                    self.spilled = Some(self.freeze(x)?);
                }
            }
        }
        drop(parts);
        if let Some(spilled) = &mut self.spilled {
            let sources = sources(x, spilled.slots(), &[], Some(chunk));
            for (row, partition) in leaving {
                spilled.add(partition, &sources, usize::from(row))?;
            }
        }
        if kept.is_empty() {
            return Ok(Flow::Continue);
        }
        chunk.select(kept);
        sink(x, chunk)
    }

    /// Where rows go from now on that are not remembered.
    #[cold]
    fn freeze(&self, x: &mut Exec<'a>) -> Result<Partitions> {
        let mut slots = Vec::new();
        super::rows::written_slots(self.input, &mut slots);
        let partitions = Partitions::new(x, slots)?;
        partitions.counters().tables.inc();
        Ok(partitions)
    }

    /// Passes on the rows that went to disk.
    fn finish(self, x: &mut Exec<'a>, flow: Flow, sink: Sink<'_, 'a>) -> Result<Flow> {
        x.memory.give_back_for(Kind::Groups, self.held);
        let Some(spilled) = self.spilled else { return Ok(flow) };
        if flow == Flow::Stop {
            return Ok(flow);
        }
        drop(self.seen);
        let divided = spilled.finish(x)?;
        let mut chunk = Chunk::default();
        for mut reader in divided.readers() {
            let mut distinct = Distinct::new(self.input, self.slots, self.collations, &x.memory, self.level + 1);
            let mut flow = Flow::Continue;
            while flow == Flow::Continue && reader.read(x, &mut chunk)? {
                flow = distinct.pass(x, &mut chunk, sink)?;
            }
            if distinct.finish(x, flow, sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }
}
