//! ORDER BY: rows are kept as columns beside their memory-comparable keys, and given out in the order of the keys. With a LIMIT only the first rows
//! are kept. What is too much for memory goes to disk in sorted runs, which are merged in the end (`spill/merge.rs`).

use crate::batch::Sink;
use crate::batch::chunk::Chunk;
use crate::batch::column::{Column, Data};
use crate::batch::compare::{FALSE, rows_where};
use crate::batch::expression::Vector;
use crate::exec::Exec;
use crate::memory::{Memory, Watch};
use crate::run::{Flow, Result};
use crate::spill::Runs;
use ::memory::Kind;
use planner::expr::{CmpOp, Slot};
use planner::plan::{LimitSpec, Node, SortKey};
use types::Value;

/// Rows above what a LIMIT wants that are gathered before the surplus is thrown away.
const SURPLUS_ROWS: usize = 1024;
/// Bytes of a row's bookkeeping, for memory accounting.
const ROW_BYTES: usize = 32;
/// Rows between two looks at whether the statement is cancelled.
const CANCEL_ROWS: usize = 1024;

/// Rows and their keys.
pub(super) struct Sorter<'a, 's> {
    keys: &'a [SortKey],
    saved: &'s [Slot],
    columns: Vec<Column>,
    key_ends: Vec<usize>,
    key_bytes: Vec<u8>,
    /// How many rows are wanted.
    keep: usize,
    /// Once there are enough: the key that a row must be below.
    bound: Option<Vec<u8>>,
    /// The first part of that key as a value, and those of the rows that are here; with a LIMIT only.
    bound_first: Value,
    firsts: Column,
    held: usize,
    watch: Watch,
    /// Rows that went to disk.
    runs: Option<Runs>,
    buffer: Vec<u8>,
    /// Places of the rows of the chunk at hand that are kept.
    kept: Vec<u16>,
}

impl<'a> Exec<'a> {
    #[inline(never)]
    pub(super) fn sort_batches(
        &mut self,
        input: &'a Node,
        keys: &'a [SortKey],
        saved: &'a [Slot],
        limit: Option<&'a LimitSpec>,
        sink: Sink<'_, 'a>,
    ) -> Result<Flow> {
        let (offset, count) = match limit {
            Some(limit) => self.limits(limit)?,
            None => (0, u64::MAX),
        };
        if count == 0 {
            return Ok(Flow::Continue);
        }
        let mut sorter = Sorter::new(keys, saved, usize::try_from(offset.saturating_add(count)).unwrap_or(usize::MAX), &self.memory);
        if self.prefers_batches(input) {
            self.run_batches(input, &mut |x, chunk| {
                sorter.add_chunk(x, chunk)?;
                Ok(Flow::Continue)
            })?;
        } else {
            self.run(input, &mut |x| {
                sorter.add_row(x)?;
                Ok(Flow::Continue)
            })?;
        }
        sorter.give_out(self, offset, sink)
    }
}

impl<'a, 's> Sorter<'a, 's> {
    /// No rows; the first `keep` are wanted.
    pub(super) fn new(keys: &'a [SortKey], saved: &'s [Slot], keep: usize, memory: &Memory) -> Sorter<'a, 's> {
        Sorter {
            keys,
            saved,
            columns: saved.iter().map(|_| Column::new()).collect(),
            key_ends: Vec::new(),
            key_bytes: Vec::new(),
            keep,
            bound: None,
            bound_first: Value::Null,
            firsts: Column::new(),
            held: 0,
            watch: Watch::new(memory),
            runs: None,
            buffer: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// Gives the rows out, without the first `offset`.
    pub(super) fn give_out(self, x: &mut Exec<'a>, offset: u64, sink: Sink<'_, 'a>) -> Result<Flow> {
        x.check_cancel()?;
        x.forget_lookups();
        if self.runs.is_some() {
            return self.merge(x, offset, sink);
        }
        let order = self.order()?;
        let passed_over = offset.min(order.len() as u64);
        let mut order = order.get(offset as usize..).unwrap_or_default();
        let mut chunk = x.take_chunk(self.saved.iter().copied());
        let mut flow = Flow::Continue;
        while !order.is_empty() && flow == Flow::Continue {
            let (now, later) = order.split_at(order.len().min(x.chunk_rows_max()));
            for (to, from) in chunk.columns_mut().iter_mut().zip(&self.columns) {
                to.gather(from, now.iter().map(|row| *row as usize));
            }
            chunk.set_len(now.len());
            flow = x.pass_collected(&mut chunk, sink)?;
            chunk.reset(self.saved.iter().copied());
            order = later;
        }
        x.passed_over = passed_over;
        x.return_chunk(chunk);
        x.memory.give_back_for(Kind::Sorts, self.held);
        Ok(flow)
    }

    fn len(&self) -> usize {
        self.key_ends.len()
    }

    fn key(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.key_ends[row - 1] };
        &self.key_bytes[start..self.key_ends[row]]
    }

    /// Whether the row with the key in `buffer` is wanted.
    #[inline]
    fn wants(&self) -> bool {
        // Of equal keys the earlier ones stay.
        self.bound.as_ref().is_none_or(|bound| self.buffer.as_slice() < bound.as_slice())
    }

    /// Keeps the key in `buffer` for a new row of so many bytes, when there is room for both.
    #[inline]
    fn push_key(&mut self, x: &mut Exec<'a>, row_bytes: usize) -> Result<()> {
        let bytes = self.buffer.len() + ROW_BYTES + row_bytes;
        x.memory.take_for(Kind::Sorts, bytes)?;
        self.held += bytes;
        ::memory::reserve(&mut self.key_bytes, self.buffer.len())?;
        ::memory::reserve(&mut self.key_ends, 1)?;
        self.key_bytes.extend_from_slice(&self.buffer);
        self.key_ends.push(self.key_bytes.len());
        Ok(())
    }

    /// Adds the row in the frame.
    fn add_row(&mut self, x: &mut Exec<'a>) -> Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        x.sort_key(self.keys, &mut buffer)?;
        self.buffer = buffer;
        if self.wants() {
            let bytes = self.saved.iter().map(|slot| crate::memory::value_bytes(x.get(*slot))).sum();
            self.push_key(x, bytes)?;
            // Not at hand any more: rows that come one by one are not compared by it.
            if self.keep != usize::MAX {
                self.firsts.push_null();
            }
            for (slot, column) in self.saved.iter().zip(&mut self.columns) {
                let value = x.get(*slot);
                column.reserve_for(value)?;
                column.push(value);
            }
            self.make_room(x)?;
        }
        Ok(())
    }

    /// Adds the rows of a chunk.
    pub(super) fn add_chunk(&mut self, x: &mut Exec<'a>, chunk: &Chunk) -> Result<()> {
        let mut parts = Vec::with_capacity(self.keys.len());
        for key in self.keys {
            match x.vector(&key.expr, chunk, chunk.rows()) {
                Some(vector) => parts.push(vector),
                None => {
                    for row in chunk.rows() {
                        chunk.load(usize::from(*row), &mut x.frame);
                        self.add_row(x)?;
                    }
                    return Ok(());
                }
            }
        }
        let share = chunk.bytes() / chunk.len().max(1);
        let mut kept = std::mem::take(&mut self.kept);
        kept.clear();
        let near = self.near_rows(x, &parts, chunk);
        for row in near.as_deref().unwrap_or(chunk.rows()) {
            let at = usize::from(*row);
            self.buffer.clear();
            for (key, part) in self.keys.iter().zip(&parts) {
                let start = self.buffer.len();
                match part.column() {
                    Some(column) => column.append_ordered(at, key.collation, &mut self.buffer),
                    None => crate::hash_key::append_ordered(&part.value(at), key.collation, &mut self.buffer),
                }
                if key.descending {
                    self.buffer[start..].iter_mut().for_each(|b| *b = !*b);
                }
            }
            if self.wants() {
                self.push_key(x, share)?;
                if self.keep != usize::MAX
                    && let Some(first) = parts.first()
                {
                    self.firsts.push(&first.value(at));
                }
                kept.push(*row);
                if self.watch.is_pressed(self.held, &x.memory) {
                    self.append(x, chunk, &mut kept)?;
                    self.spill(x)?;
                }
            }
        }
        if !kept.is_empty() {
            self.append(x, chunk, &mut kept)?;
            self.make_room(x)?;
        }
        self.kept = kept;
        Ok(())
    }

    /// The rows of a chunk that a look at the first part of their keys leaves; `None` where that is not known.
    fn near_rows(&self, x: &Exec<'a>, parts: &[Vector<'_>], chunk: &Chunk) -> Option<Vec<u16>> {
        let (key, first) = (self.keys.first()?, parts.first()?);
        // Types whose order is that of their keys, without a closer look.
        let same = match (first.column()?.data(), &self.bound_first) {
            (Data::Decimal(_, scale), Value::Decimal(bound)) => *scale == bound.scale(),
            (Data::Int(_), Value::Int(_)) | (Data::UInt(_), Value::UInt(_)) | (Data::Date(_), Value::Date(_)) => true,
            (Data::DateTime(_), Value::DateTime(_)) | (Data::Time(_), Value::Time(_)) | (Data::Timestamp(_), Value::Timestamp(_)) => true,
            _ => false,
        };
        if !same {
            return None;
        }
        let op = if key.descending { CmpOp::Ge } else { CmpOp::Le };
        let mut truths = vec![FALSE; chunk.len()];
        x.compare_vectors(op, key.collation, first, &Vector::Constant(self.bound_first.clone()), chunk.rows(), &mut truths)?;
        Some(rows_where(chunk.rows(), |at| truths[at] != FALSE))
    }

    /// Adds the values of rows whose keys are there.
    fn append(&mut self, x: &Exec<'a>, chunk: &Chunk, rows: &mut Vec<u16>) -> Result<()> {
        for (slot, column) in self.saved.iter().zip(&mut self.columns) {
            chunk.append_rows(rows, *slot, x, column)?;
        }
        rows.clear();
        Ok(())
    }

    /// Rows in the order of their keys; equal ones in the order in which they came. At most those wanted.
    fn order(&self) -> Result<Vec<u32>> {
        if self.len() == 0 {
            return Ok(Vec::new());
        }
        // Keys often begin alike (the tag, the leading zeros of numbers). The eight bytes behind that decide most comparisons.
        let first = self.key(0);
        let mut common = first.len();
        for row in 1..self.len() {
            let key = self.key(row);
            if key.get(..common) != Some(&first[..common]) {
                common = key.iter().zip(first).take_while(|(a, b)| a == b).count();
            }
        }
        let head = |row: usize| {
            let key = &self.key(row)[common..];
            match key.first_chunk::<8>() {
                Some(head) => u64::from_be_bytes(*head),
                None => {
                    let mut head = [0; 8];
                    head[..key.len()].copy_from_slice(key);
                    u64::from_be_bytes(head)
                }
            }
        };
        let mut order: Vec<(u64, u32)> = Vec::new();
        ::memory::reserve(&mut order, self.len())?;
        order.extend((0..self.len()).map(|row| (head(row), row as u32)));
        let by_key = |a: &(u64, u32), b: &(u64, u32)| {
            a.0.cmp(&b.0).then_with(|| self.key(a.1 as usize).cmp(self.key(b.1 as usize))).then_with(|| a.1.cmp(&b.1))
        };
        if self.keep < order.len() {
            order.select_nth_unstable_by(self.keep, by_key);
            order.truncate(self.keep);
        }
        order.sort_unstable_by(by_key);
        // In place.
        Ok(order.into_iter().map(|(_, row)| row).collect())
    }

    /// Throws rows away that are not wanted any more, or brings all to disk.
    #[inline]
    fn make_room(&mut self, x: &mut Exec<'a>) -> Result<()> {
        self.drop_surplus(x)?;
        if self.watch.is_pressed(self.held, &x.memory) { self.spill(x) } else { Ok(()) }
    }

    /// Writes the rows as a run, and goes on with none.
    #[cold]
    #[inline(never)]
    fn spill(&mut self, x: &mut Exec<'a>) -> Result<()> {
        let order = self.order()?;
        let mut runs = match self.runs.take() {
            Some(runs) => runs,
            None => Runs::new(x, self.saved.len())?,
        };
        let mut rows = order.iter().enumerate();
        runs.write(|columns| {
            let Some((at, row)) = rows.next() else { return Ok(None) };
            if at.is_multiple_of(CANCEL_ROWS) {
                x.check_cancel()?;
            }
            let row = *row as usize;
            let key = self.key(row);
            columns[0].push_bytes(key);
            let mut bytes = key.len();
            for (to, from) in columns[1..].iter_mut().zip(&self.columns) {
                to.push_from(from, row);
                bytes += from.value_bytes(row);
            }
            Ok(Some(bytes))
        })?;
        self.runs = Some(runs);
        if order.len() == self.keep
            && let Some(last) = order.last()
        {
            self.bound = Some(self.key(*last as usize).to_vec());
            self.bound_first = self.firsts.value(*last as usize);
        }
        self.firsts = Column::new();
        (self.key_ends, self.key_bytes) = (Vec::new(), Vec::new());
        self.columns.iter_mut().for_each(|column| *column = Column::new());
        x.memory.give_back_for(Kind::Sorts, std::mem::take(&mut self.held));
        self.watch = Watch::new(&x.memory);
        Ok(())
    }

    /// Gives out what is on disk, and the rest.
    #[cold]
    #[inline(never)]
    fn merge(mut self, x: &mut Exec<'a>, offset: u64, sink: Sink<'_, 'a>) -> Result<Flow> {
        if self.len() > 0 {
            self.spill(x)?;
        }
        let Some(runs) = self.runs.take() else { return Ok(Flow::Continue) };
        let (saved, rows_max) = (self.saved, x.chunk_rows_max());
        let block_bytes = x.spill_block_bytes();
        let mut chunk = x.take_chunk(saved.iter().copied());
        let (mut skip, mut count, mut bytes) = (offset, 0, 0);
        let mut flow = runs.merge(x, self.keep as u64, &mut |x, columns, at| {
            if skip > 0 {
                skip -= 1;
                return Ok(Flow::Continue);
            }
            for (to, from) in chunk.columns_mut().iter_mut().zip(&columns[1..]) {
                to.push_from(from, at);
                bytes += from.value_bytes(at);
            }
            count += 1;
            if count < rows_max && bytes < block_bytes {
                return Ok(Flow::Continue);
            }
            chunk.set_len(count);
            (count, bytes) = (0, 0);
            let flow = x.pass_collected(&mut chunk, sink)?;
            chunk.reset(saved.iter().copied());
            Ok(flow)
        })?;
        if flow == Flow::Continue && count > 0 {
            chunk.set_len(count);
            flow = x.pass_collected(&mut chunk, sink)?;
        }
        x.passed_over = offset - skip;
        x.return_chunk(chunk);
        Ok(flow)
    }

    /// Throws rows past the LIMIT away, once there are many of them.
    fn drop_surplus(&mut self, x: &mut Exec<'a>) -> Result<()> {
        if self.len() < self.keep.saturating_add(self.keep.max(SURPLUS_ROWS)) {
            return Ok(());
        }
        let order = self.order()?;
        let (mut key_ends, mut key_bytes) = (Vec::new(), Vec::new());
        ::memory::reserve(&mut key_ends, order.len())?;
        ::memory::reserve(&mut key_bytes, order.iter().map(|row| self.key(*row as usize).len()).sum())?;
        for row in &order {
            key_bytes.extend_from_slice(self.key(*row as usize));
            key_ends.push(key_bytes.len());
        }
        for column in &mut self.columns {
            let mut sorted = Column::new();
            sorted.reserve_from(column, order.iter().map(|row| *row as usize))?;
            sorted.gather(column, order.iter().map(|row| *row as usize));
            *column = sorted;
        }
        (self.key_ends, self.key_bytes) = (key_ends, key_bytes);
        let mut firsts = Column::new();
        firsts.reserve_from(&self.firsts, order.iter().map(|row| *row as usize))?;
        firsts.gather(&self.firsts, order.iter().map(|row| *row as usize));
        self.firsts = firsts;
        if let Some(last) = order.len().checked_sub(1) {
            self.bound = Some(self.key(last).to_vec());
            self.bound_first = self.firsts.value(last);
        }
        let held = self.columns.iter().map(Column::bytes).sum::<usize>() + self.key_bytes.len() + ROW_BYTES * order.len();
        x.memory.give_back_for(Kind::Sorts, self.held.saturating_sub(held));
        self.held = self.held.min(held);
        Ok(())
    }
}
