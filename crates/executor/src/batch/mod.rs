//! Batch execution: operators that work on vectors of rows instead of one row at a time.
//!
//! # How a query flows
//! A [`Chunk`](chunk::Chunk) holds up to 1,024 rows as typed columns, by the slot of the frame that each stands for, and a selection: which of
//! the rows still count. [`Exec::run_batches`] runs a node by giving chunks to a sink, as [`Exec::run`] gives rows to a continuation:
//!
//! 1. `scan.rs` takes the used columns straight from the page into a chunk, with the loops of `decode.rs`.
//! 2. `filter.rs` narrows the selection, adds computed columns, drops duplicates, stops at a LIMIT.
//! 3. `join.rs` probes a hash table with a chunk; `group.rs` and `sort.rs` take chunks up and give out chunks of their own.
//! 4. `nested.rs` finds the partners of a chunk's rows by an index; derived tables that are read once are passed through.
//! 5. `output.rs` evaluates the select list over a chunk and gives the rows to the consumer, as a [`Block`](block::Block). Where the rows are pairs of a hash
//!    join, the block shows the values where they lie in both sides, and no chunk of pairs is made (`join/output.rs`).
//!
//! `expression.rs` evaluates expressions over a chunk with the loops of `compare.rs` and `numbers.rs`.
//!
//! # Rows and chunks mix
//! Some nodes have only a row form: nested loops, recursive CTEs, locking reads, tables without storage. `rows.rs` turns the rows of any node
//! into chunks and chunks into rows of the frame, so that any node can stand above any other. [`Exec::prefers_batches`] says which form a node
//! has of its own: who can take both asks it.
//!
//! # Invariants
//! 1. **Kernels have no effects.** A kernel neither warns nor fails nor calls anything volatile. One that would have to gives up (`None`), and the
//!    operator sends the chunk's rows one after the other through the evaluator and through everything above: errors, warnings and their order
//!    are those of row by row execution, also under LIMIT.
//! 2. A statement with volatile expressions ([`planner::plan::Plan::volatile`]) has chunks of one row.
//! 3. A slot that a node writes is in its chunks; a slot that is not in a chunk belongs to an enclosing query and is read from the frame.
//! 4. What a chunk holds is accounted while it is on its way, what operators keep until they are done.

mod block;
pub mod chunk;
pub mod column;
mod compare;
mod decode;
pub(crate) mod expression;
mod filter;
mod group;
mod grouped;
mod harmless;
mod join;
mod keys;
mod like;
mod nested;
mod numbers;
mod output;
mod rollup;
mod rows;
mod scan;
mod sort;
mod sums;
#[cfg(test)]
pub(crate) mod tests;

use crate::exec::Exec;
use crate::run::{Flow, Result};
pub use block::{Block, Field, Placed};
use chunk::Chunk;
pub(crate) use grouped::Grouped;
pub use join::HashTable;
use planner::plan::{Body, Node};

/// A consumer of chunks. It may change the chunk, and finds another one's memory in it the next time.
pub type Sink<'s, 'a> = &'s mut dyn FnMut(&mut Exec<'a>, &mut Chunk) -> Result<Flow>;

impl<'a> Exec<'a> {
    /// Runs a node, giving its rows out in chunks.
    pub fn run_batches(&mut self, node: &'a Node, sink: Sink<'_, 'a>) -> Result<Flow> {
        if self.measures(node) {
            return self.run_batches_measured(node, sink);
        }
        planner::check_stack()?;
        match node {
            Node::Table(table) if self.scans_by_batch(table) => self.scan_batches(table, sink),
            Node::Filter { input, predicate } => self.run_batches(input, &mut |x, chunk| x.filter_chunk(predicate, chunk, sink)),
            Node::Project { input, exprs, .. } => self.run_batches(input, &mut |x, chunk| x.project_chunk(exprs, chunk, sink)),
            Node::Limit { input, limit } => self.limit_batches(input, limit, sink),
            Node::Distinct { input, slots, collations } => self.distinct_batches(input, slots, collations, sink),
            Node::Union { branches, slots } => self.union_batches(branches, slots, sink),
            Node::Hash(join) => self.join_batches(join, sink),
            Node::Nested { .. } if self.nests_by_batch(node) => self.nested_batches(node, sink),
            Node::Materialize { input, cache, slots, .. } if self.streams(node) => {
                self.streamed[*cache as usize] = true;
                self.streamed_batches(input, slots, sink)
            }
            Node::Group(group) => self.group_batches(group, sink),
            Node::Sort { input, keys, saved, limit } => self.sort_batches(input, keys, saved, limit.as_ref(), sink),
            _ => self.rows_as_batches(node, sink),
        }
    }

    /// Whether a node gives out chunks by itself. For scans also: whether that is expected to pay.
    pub fn prefers_batches(&self, node: &Node) -> bool {
        match node {
            Node::Table(table) => self.scans_by_batch(table),
            Node::Filter { input, .. } | Node::Project { input, .. } | Node::Limit { input, .. } => self.prefers_batches(input),
            Node::Union { branches, .. } => branches.iter().any(|branch| self.prefers_batches(&branch.root)),
            Node::Distinct { .. } | Node::Hash(_) | Node::Group(_) | Node::Sort { .. } => true,
            Node::Nested { .. } => self.nests_by_batch(node),
            Node::Materialize { input, .. } => self.streams(node) && self.prefers_batches(&input.root),
            _ => false,
        }
    }

    /// Bytes after which a chunk is passed on: fewer where the statement has little memory.
    fn chunk_bytes_max(&self) -> usize {
        (self.memory.limit() / 16).clamp(4 << 10, chunk::CHUNK_BYTES)
    }

    /// Whether the rows of a derived table go on as they come: the first time that they are asked for. Who asks again has them kept.
    fn streams(&self, node: &Node) -> bool {
        let Node::Materialize { cache, outer_slots, shared, .. } = node else { return false };
        let cache = *cache as usize;
        // The second time a subquery would find what the statement has changed since the first.
        let may_change = self.subquery_depth > 0 && !matches!(self.plan.body, Body::Query(_));
        !*shared && outer_slots.is_empty() && !self.plan.volatile && !may_change && !self.streamed[cache] && self.caches[cache].is_none()
    }

    /// Most rows of a chunk in this statement.
    fn chunk_rows_max(&self) -> usize {
        if self.plan.volatile { 1 } else { chunk::CHUNK_ROWS }
    }
}
