//! Hash joins whose pairs are the statement's result: the consumer gets values where they lie, those of the left side in its chunk, those of the right side in the
//! table. Nothing is gathered, and a string is copied once, into the packet.
//!
//! # Invariants
//! 1. The rows and their order are those of [`Exec::join_batches`] with the select list above it.
//! 2. What does not fit (keys for the evaluator, values that must be shown in another form, a right side on disk) goes that way.

use super::{HashTable, Pairs};
use crate::batch::block::{Block, Placed, all_fit};
use crate::batch::chunk::Chunk;
use crate::batch::expression::Vector;
use crate::batch::output::Results;
use crate::exec::Exec;
use crate::run::{Flow, Result};
use planner::expr::{ExprKind, Slot};
use planner::plan::{HashJoin, JoinKind, Node, OutputColumn, Query};

/// Tables with more rows are not in the nearest caches: their values are loaded before they are written.
const NEAR_ROWS: usize = 2_048;

/// Where a result column's values are.
enum Origin {
    /// In the chunk of the left side.
    Left(Slot),
    /// In a column of the table.
    Right(usize),
}

impl<'a> Exec<'a> {
    /// The join whose pairs are a query's result: an inner one by its keys alone, of which nothing but columns is shown.
    pub(in crate::batch) fn join_of_output(&self, query: &'a Query) -> Option<&'a HashJoin> {
        let Node::Hash(join) = &query.root else { return None };
        let plain = join.kind == JoinKind::Inner && join.on.is_none() && !self.measures(&query.root) && !self.plan.volatile;
        (plain && query.output.iter().all(|e| matches!(e.kind, ExprKind::Slot(_)))).then_some(join)
    }

    /// Runs such a join for its result rows.
    pub(in crate::batch) fn output_join(&mut self, join: &'a HashJoin, query: &'a Query, results: &mut Results<'_>) -> Result<Flow> {
        let table = self.hash_table(join)?;
        let columns = self.plan.columns.as_slice();
        let origins = if table.spilled.is_some() || table.is_without_rows() { None } else { origins(join, query, columns, &table) };
        let Some(origins) = origins else {
            return self.join_table(join, &table, &mut |x, chunk| x.output_chunk(query, chunk, results));
        };
        let (mut heads, mut pairs) = (Vec::new(), Pairs::default());
        self.run_batches(&join.probe, &mut |x, chunk| {
            if !left_fits(&origins, columns, chunk) || !x.find_heads(join, &table, chunk, None, &mut heads) {
                return x.probe_chunk(join, &table, chunk, None, &mut heads, &mut |x, chunk| x.output_chunk(query, chunk, results));
            }
            x.each_pairs(join.kind, &table, chunk, &heads, &mut pairs, |x, pairs| {
                x.check_cancel()?;
                let place = |origin: &Origin| {
                    Some(match origin {
                        Origin::Left(slot) => Placed { values: Vector::Shared(chunk.column(*slot)?), places: &pairs.left },
                        Origin::Right(column) => Placed { values: Vector::Shared(table.columns.get(*column)?), places: &pairs.right },
                    })
                };
                if table.columns.first().is_some_and(|column| column.len() > NEAR_ROWS) {
                    table.columns.iter().for_each(|column| column.load_ahead(&pairs.right));
                }
                let placed: Option<Vec<Placed<'_>>> = origins.iter().map(place).collect();
                let placed = placed.ok_or_else(|| crate::errors::internal("a column that was there is not"))?;
                results.block(columns, &Block::new(&placed, pairs.len()))?;
                Ok(Flow::Continue)
            })
        })
    }
}

/// Where the values of each result column are; `None` where those of the right side must be shown in another form than they have.
fn origins(join: &HashJoin, query: &Query, columns: &[OutputColumn], table: &HashTable) -> Option<Vec<Origin>> {
    if columns.len() != query.output.len() {
        return None;
    }
    let origin = |(e, column): (&planner::expr::Expr, &OutputColumn)| {
        let ExprKind::Slot(slot) = e.kind else { return None };
        match join.build_slots.iter().position(|own| *own == slot) {
            Some(at) => all_fit(table.columns.get(at)?, &column.ty).then_some(Origin::Right(at)),
            None => Some(Origin::Left(slot)),
        }
    };
    query.output.iter().zip(columns).map(origin).collect()
}

/// Whether the values of a chunk of the left side can be shown as they are.
fn left_fits(origins: &[Origin], columns: &[OutputColumn], chunk: &Chunk) -> bool {
    origins.iter().zip(columns).all(|(origin, column)| match origin {
        Origin::Left(slot) => chunk.column(*slot).is_some_and(|values| all_fit(values, &column.ty)),
        Origin::Right(_) => true,
    })
}
