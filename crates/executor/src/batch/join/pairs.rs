//! What a hash join gives out: the rows of a chunk with their partners, as the same chunk with more columns or as chunks of pairs, or the rows alone.

use super::table::NO_ROW;
use super::{HashTable, Head};
use crate::batch::Sink;
use crate::batch::chunk::Chunk;
use crate::batch::column::Column;
use crate::exec::Exec;
use crate::run::{Flow, Result};
use planner::plan::{HashJoin, JoinKind};

/// Rows of a chunk and their partners in the table, pair by pair; [`NO_ROW`] stands for a partner that is not there.
#[derive(Default)]
pub(super) struct Pairs {
    pub(super) left: Vec<u32>,
    pub(super) right: Vec<u32>,
}

impl Pairs {
    #[inline]
    pub(super) fn push(&mut self, left: u16, right: u32) {
        self.left.push(u32::from(left));
        self.right.push(right);
    }

    pub(super) fn len(&self) -> usize {
        self.left.len()
    }

    pub(super) fn clear(&mut self) {
        self.left.clear();
        self.right.clear();
    }
}

impl<'a> Exec<'a> {
    /// Rows with at most one match each: the right side's values become columns of the same chunk.
    pub(super) fn widen(
        &mut self,
        join: &'a HashJoin,
        table: &HashTable,
        chunk: &mut Chunk,
        heads: &[Head],
        sink: Sink<'_, 'a>,
    ) -> Result<Flow> {
        let left = join.kind == JoinKind::Left;
        if !left {
            let kept: Vec<u16> = chunk.rows().iter().copied().filter(|row| matches!(heads[usize::from(*row)], Head::Row(_))).collect();
            if kept.is_empty() {
                return Ok(Flow::Continue);
            }
            chunk.select(kept);
        }
        for (slot, from) in join.build_slots.iter().zip(&table.columns) {
            let mut column = Column::new();
            if from.is_empty() {
                (0..chunk.len()).for_each(|_| column.push_null());
            } else {
                // Who has no match gets any row here; it does not count, or becomes NULL.
                column.gather(from, heads.iter().map(|head| head.row().unwrap_or(0) as usize));
                if left {
                    heads.iter().enumerate().filter(|(_, head)| head.row().is_none()).for_each(|(at, _)| column.set_null(at));
                }
            }
            chunk.put(*slot, column);
        }
        sink(self, chunk)
    }

    /// Rows with several matches: new chunks of all pairs.
    #[inline(never)]
    pub(super) fn pairs(
        &mut self,
        join: &'a HashJoin,
        table: &HashTable,
        chunk: &Chunk,
        heads: &[Head],
        sink: Sink<'_, 'a>,
    ) -> Result<Flow> {
        let mut out = self.take_chunk(std::iter::empty());
        let mut pairs = Pairs::default();
        let flow =
            self.each_pairs(join.kind, table, chunk, heads, &mut pairs, |x, pairs| x.pass_pairs(join, table, chunk, pairs, &mut out, sink));
        self.return_chunk(out);
        flow
    }

    /// Gives out the pairs of a chunk's rows and their matches, as many at a time as a chunk has rows.
    #[inline]
    pub(super) fn each_pairs(
        &mut self,
        kind: JoinKind,
        table: &HashTable,
        chunk: &Chunk,
        heads: &[Head],
        pairs: &mut Pairs,
        mut give: impl FnMut(&mut Self, &Pairs) -> Result<Flow>,
    ) -> Result<Flow> {
        let rows_max = self.chunk_rows_max();
        pairs.clear();
        for row in chunk.rows() {
            let mut at = match heads[usize::from(*row)] {
                Head::Row(first) => first,
                _ if kind == JoinKind::Left => NO_ROW,
                _ => continue,
            };
            loop {
                pairs.push(*row, at);
                if pairs.len() == rows_max {
                    if give(self, pairs)? == Flow::Stop {
                        return Ok(Flow::Stop);
                    }
                    pairs.clear();
                }
                at = if table.has_chains { table.following(at) } else { NO_ROW };
                if at == NO_ROW {
                    break;
                }
            }
        }
        if pairs.len() == 0 { Ok(Flow::Continue) } else { give(self, pairs) }
    }

    pub(super) fn pass_pairs(
        &mut self,
        join: &'a HashJoin,
        table: &HashTable,
        chunk: &Chunk,
        pairs: &Pairs,
        out: &mut Chunk,
        sink: Sink<'_, 'a>,
    ) -> Result<Flow> {
        out.reset(chunk.slots().iter().copied().chain(join.build_slots.iter().copied()));
        let (left, right) = out.columns_mut().split_at_mut(chunk.slots().len());
        for (to, from) in left.iter_mut().zip(chunk.columns()) {
            to.gather(from, pairs.left.iter().map(|row| *row as usize));
        }
        let unmatched = pairs.right.contains(&NO_ROW);
        for (to, from) in right.iter_mut().zip(&table.columns) {
            if unmatched {
                for build in &pairs.right {
                    if *build == NO_ROW { to.push_null() } else { to.push_from(from, *build as usize) }
                }
            } else {
                to.gather(from, pairs.right.iter().map(|build| *build as usize));
            }
        }
        out.set_len(pairs.len());
        self.pass_collected(out, sink)
    }

    pub(super) fn pass_kept(&mut self, chunk: &Chunk, kept: &mut Vec<u16>, out: &mut Chunk, sink: Sink<'_, 'a>) -> Result<Flow> {
        out.reset(chunk.slots().iter().copied());
        for (to, from) in out.columns_mut().iter_mut().zip(chunk.columns()) {
            to.gather(from, kept.iter().map(|row| usize::from(*row)));
        }
        out.set_len(kept.len());
        kept.clear();
        self.pass_collected(out, sink)
    }
}
