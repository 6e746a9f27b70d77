//! The two ways between rows and chunks.

use crate::batch::Sink;
use crate::batch::chunk::Chunk;
use crate::exec::Exec;
use crate::run::{Flow, Next, Result};
use planner::expr::Slot;
use planner::plan::Node;
use types::Value;

/// Rows of the first chunk that is collected from rows; chunks double in size.
const FIRST_ROWS: usize = 16;

impl<'a> Exec<'a> {
    /// Runs a node by chunks and puts its rows into the frame one by one.
    pub fn batches_as_rows(&mut self, node: &'a Node, next: Next<'_, 'a>) -> Result<Flow> {
        self.run_batches(node, &mut |x, chunk| {
            let mut flow = Flow::Continue;
            for at in 0..chunk.rows().len() {
                let row = chunk.rows()[at];
                chunk.load(usize::from(row), &mut x.frame);
                flow = next(x)?;
                if flow == Flow::Stop {
                    break;
                }
            }
            // The slots of lookups may have been overwritten.
            x.forget_lookups();
            Ok(flow)
        })
    }

    /// Runs a node in whichever form it has, for a consumer of rows that expects many.
    pub fn run_many(&mut self, node: &'a Node, next: Next<'_, 'a>) -> Result<Flow> {
        if self.prefers_batches(node) { self.batches_as_rows(node, next) } else { self.run(node, next) }
    }

    /// Runs a node row by row and collects its rows in chunks.
    #[inline(never)]
    pub(super) fn rows_as_batches(&mut self, node: &'a Node, sink: Sink<'_, 'a>) -> Result<Flow> {
        let mut slots = Vec::new();
        written_slots(node, &mut slots);
        // Rows whose evaluation may warn or fail are passed on at once, so that what is above sees them first.
        let rows_limit = if super::harmless::node_is_harmless(node) { self.chunk_rows_max() } else { 1 };
        let mut rows_max = FIRST_ROWS.min(rows_limit);
        let bytes_max = self.chunk_bytes_max();
        let mut chunk = self.take_chunk(slots.iter().copied());
        let mut count = 0;
        let mut bytes = 0;
        let flow = self.run(node, &mut |x| {
            for (slot, column) in slots.iter().zip(chunk.columns_mut()) {
                let value = &x.frame[*slot as usize];
                if let Value::Bytes(text) = value {
                    bytes += text.len();
                }
                column.push(value);
            }
            count += 1;
            if count < rows_max && bytes < bytes_max {
                return Ok(Flow::Continue);
            }
            chunk.set_len(count);
            let flow = x.pass_beside_row(slots.iter().copied(), &mut chunk, sink)?;
            chunk.reset(slots.iter().copied());
            (count, bytes) = (0, 0);
            rows_max = (rows_max * 2).min(rows_limit);
            Ok(flow)
        })?;
        if flow == Flow::Stop || count == 0 {
            self.return_chunk(chunk);
            return Ok(flow);
        }
        chunk.set_len(count);
        let flow = self.pass_collected(&mut chunk, sink)?;
        self.return_chunk(chunk);
        Ok(flow)
    }

    /// Passes a chunk on, accounted while it is on its way.
    pub(super) fn pass_collected(&mut self, chunk: &mut Chunk, sink: Sink<'_, 'a>) -> Result<Flow> {
        self.check_cancel()?;
        let bytes = chunk.bytes();
        self.memory.take(bytes)?;
        let flow = sink(self, chunk)?;
        self.memory.give_back(bytes);
        Ok(flow)
    }

    /// The same while a row is in the frame with which what is below goes on: what is above may use these slots, too.
    pub(super) fn pass_beside_row(
        &mut self,
        slots: impl Iterator<Item = Slot> + Clone,
        chunk: &mut Chunk,
        sink: Sink<'_, 'a>,
    ) -> Result<Flow> {
        let row: Vec<Value> = slots.clone().map(|slot| self.get(slot).clone()).collect();
        let flow = self.pass_collected(chunk, sink)?;
        slots.zip(row).for_each(|(slot, value)| self.set(slot, value));
        Ok(flow)
    }
}

/// The slots that a node gives values to, as far as those above it read them.
pub(super) fn written_slots(node: &Node, out: &mut Vec<Slot>) {
    match node {
        Node::Unit | Node::Empty => {}
        Node::Table(table) => {
            out.extend(table.columns.iter().map(|(_, slot)| *slot));
            out.extend(table.keep_key);
        }
        Node::Virtual(table) => out.extend(table.columns.iter().map(|(_, slot)| *slot)),
        Node::JsonTable(table) => out.extend(table.slots.iter().flatten()),
        Node::Values { slots, .. }
        | Node::Union { slots, .. }
        | Node::SetOperation { slots, .. }
        | Node::Materialize { slots, .. }
        | Node::Recursive { slots, .. }
        | Node::RecursiveScan { slots, .. } => out.extend(slots),
        Node::Nested { outer, inner, kind, .. } => {
            written_slots(outer, out);
            if matches!(kind, planner::plan::JoinKind::Inner | planner::plan::JoinKind::Left) {
                written_slots(inner, out);
            }
        }
        Node::Hash(join) => {
            written_slots(&join.probe, out);
            if matches!(join.kind, planner::plan::JoinKind::Inner | planner::plan::JoinKind::Left) {
                out.extend(&join.build_slots);
            }
        }
        Node::Filter { input, .. } | Node::Limit { input, .. } | Node::Distinct { input, .. } => written_slots(input, out),
        Node::Project { input, exprs, .. } => {
            written_slots(input, out);
            out.extend(exprs.iter().map(|(slot, _)| *slot));
        }
        Node::Group(group) => {
            out.extend(group.keys.iter().map(|(slot, _)| *slot));
            out.extend(group.aggregates.iter().map(|(slot, _)| *slot));
            out.extend(&group.carried);
            out.extend(group.rollup.iter().flat_map(|rollup| &rollup.groupings).map(|(slot, _)| *slot));
        }
        Node::Sort { saved, .. } => out.extend(saved),
        Node::Window(window) => {
            out.extend(&window.saved);
            out.extend(window.calls.iter().map(|(slot, _)| *slot));
        }
    }
}
