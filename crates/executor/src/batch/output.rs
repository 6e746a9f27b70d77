//! The top of a SELECT: result rows for the consumer.

use crate::batch::block::{Block, Placed, fitted};
use crate::batch::chunk::Chunk;
use crate::exec::Exec;
use crate::execute::{Outcome, RowConsumer};
use crate::output::fits;
use crate::run::{Flow, Result};
use planner::expr::ExprKind;
use planner::plan::{Node, OutputColumn, Query};
use smallvec::SmallVec;
use types::Value;

/// A consumer that is told of the columns when the first row comes, so that an error before it is the whole answer.
pub(super) struct Results<'r> {
    consumer: &'r mut dyn RowConsumer,
    count: u64,
    /// A row's values, for rows that come by themselves.
    values: Vec<Value>,
    /// Places of a chunk's rows.
    places: Vec<u32>,
}

impl Results<'_> {
    pub(super) fn block(&mut self, columns: &[OutputColumn], block: &Block<'_>) -> Result<()> {
        if block.is_empty() {
            return Ok(());
        }
        if self.count == 0 {
            self.consumer.begin(columns)?;
        }
        self.count += block.len() as u64;
        self.consumer.block(block)
    }

    fn row(&mut self, columns: &[OutputColumn], values: &[Value]) -> Result<()> {
        if self.count == 0 {
            self.consumer.begin(columns)?;
        }
        self.count += 1;
        self.consumer.row(values)
    }
}

impl<'a> Exec<'a> {
    /// Runs a query for its result rows.
    pub fn run_output(&mut self, query: &'a Query, consumer: &mut dyn RowConsumer) -> Result<Outcome> {
        let columns = self.plan.columns.as_slice();
        let mut results = Results { consumer, count: 0, values: Vec::new(), places: Vec::new() };
        if let Some(join) = self.join_of_output(query) {
            self.output_join(join, query, &mut results)?;
        } else if self.prefers_batches(&query.root) {
            self.run_batches(&query.root, &mut |x, chunk| x.output_chunk(query, chunk, &mut results))?;
        } else {
            let slots = lendable(query);
            let mut values: Vec<Value> = Vec::with_capacity(query.output.len());
            self.run(&query.root, &mut |x| {
                match &slots {
                    Some(slots) if x.lend(slots, columns, &mut values) => {
                        results.row(columns, &values)?;
                        x.take_back(slots, &mut values);
                    }
                    _ => {
                        x.output(query, &mut values)?;
                        results.row(columns, &values)?;
                    }
                }
                Ok(Flow::Continue)
            })?;
        }
        if results.count == 0 {
            results.consumer.begin(columns)?;
        }
        let passed_over = if passes_over(&query.root) { self.passed_over } else { 0 };
        Ok(Outcome::Rows { count: results.count + passed_over })
    }

    /// Puts the frame's values into the result's row without copying them. False, and nothing is done, where one must be shown in another form.
    fn lend(&mut self, slots: &[usize], columns: &[OutputColumn], values: &mut Vec<Value>) -> bool {
        if slots.len() != columns.len() || !slots.iter().zip(columns).all(|(slot, column)| fits(&self.frame[*slot], &column.ty)) {
            return false;
        }
        values.clear();
        values.extend(slots.iter().map(|slot| std::mem::take(&mut self.frame[*slot])));
        true
    }

    /// Puts lent values back: the next row may share them with this one.
    fn take_back(&mut self, slots: &[usize], values: &mut Vec<Value>) {
        for (slot, value) in slots.iter().zip(values.drain(..)) {
            self.frame[*slot] = value;
        }
    }

    /// Gives out the rows of a chunk: their values by columns, or all of each row before the next one.
    pub(super) fn output_chunk(&mut self, query: &'a Query, chunk: &Chunk, results: &mut Results<'_>) -> Result<Flow> {
        let columns = self.plan.columns.as_slice();
        let mut vectors = Vec::with_capacity(query.output.len());
        for e in &query.output {
            match self.vector(e, chunk, chunk.rows()) {
                Some(vector) => vectors.push(vector),
                None => {
                    let mut values = std::mem::take(&mut results.values);
                    for row in chunk.rows() {
                        self.tick()?;
                        chunk.load(usize::from(*row), &mut self.frame);
                        self.output(query, &mut values)?;
                        results.row(columns, &values)?;
                    }
                    results.values = values;
                    self.forget_lookups();
                    return Ok(Flow::Continue);
                }
            }
        }
        let mut places = std::mem::take(&mut results.places);
        places.clear();
        places.extend(chunk.rows().iter().map(|row| u32::from(*row)));
        let mut placed = Vec::with_capacity(vectors.len());
        for (at, (e, vector)) in query.output.iter().zip(vectors).enumerate() {
            let ty = columns.get(at).map_or(&e.ty, |c| &c.ty);
            placed.push(Placed { values: fitted(vector, &e.ty, ty, chunk.rows(), &*self.context), places: &places });
        }
        results.block(columns, &Block::new(&placed, places.len()))?;
        drop(placed);
        results.places = places;
        Ok(Flow::Continue)
    }
}

/// Most columns of a result whose values are lent: to see that none is shown twice costs the square.
const LENT_MAX: usize = 64;

/// The slots of a query that shows nothing but slots, each once: what their rows show can be lent.
fn lendable(query: &Query) -> Option<SmallVec<[usize; 16]>> {
    if query.output.len() > LENT_MAX {
        return None;
    }
    let mut slots = SmallVec::new();
    for e in &query.output {
        let ExprKind::Slot(slot) = e.kind else { return None };
        let slot = slot as usize;
        if slots.contains(&slot) {
            return None;
        }
        slots.push(slot);
    }
    Some(slots)
}

/// Whether a query has an OFFSET: what it passes over counts as found.
fn passes_over(root: &Node) -> bool {
    match root {
        Node::Project { input, .. } => passes_over(input),
        Node::Limit { limit, .. } | Node::Sort { limit: Some(limit), .. } => limit.offset.is_some(),
        _ => false,
    }
}
