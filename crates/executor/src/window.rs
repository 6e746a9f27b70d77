//! Window functions: all rows are read and ordered, then each partition is computed as a whole and its rows are given out.
//!
//! # Invariants
//! 1. The frame of a row begins and ends no earlier than that of the row before ([`planner::window`]): a sum over moving frames adds what comes in
//!    and takes away what goes out, an extreme keeps only the values that can still become it.
//! 2. Rows past the share of memory go to disk in sorted runs; a partition is in memory as a whole while it is computed.
//! 3. What is kept is taken from the statement's memory, and given back when the last row is out.

use crate::aggregate::Accumulator;
use crate::convert::compare;
use crate::exec::Exec;
use crate::memory::{Watch, value_bytes};
use crate::run::{Flow, Next, Result};
use crate::spill::Runs;
use mysql_error::codes;
use planner::expr::Expr;
use planner::plan::{Aggregate, AggregateKind};
use planner::window::{Bound, Frame, Window, WindowCall, WindowFunction};
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ops::Range;
use types::Value;

mod documents;

use documents::Documents;

/// Rows between two looks at whether the statement is cancelled.
const CANCEL_ROWS: usize = 256;

/// A row of the input.
struct Row {
    /// Ordered bytes of PARTITION BY and ORDER BY.
    key: Box<[u8]>,
    /// How many of them are PARTITION BY's.
    partition_bytes: usize,
    /// Of the saved slots.
    values: Box<[Value]>,
}

impl Row {
    /// Bytes it holds, for memory accounting.
    fn bytes(&self) -> usize {
        size_of::<Row>() + self.key.len() + self.values.iter().map(value_bytes).sum::<usize>()
    }

    fn partition(&self) -> &[u8] {
        &self.key[..self.partition_bytes]
    }
}

/// The rows of one partition, in order.
struct Partition<'r> {
    rows: &'r [Row],
    /// For each row the rows that ORDER BY does not tell from it.
    peers: Vec<Range<usize>>,
}

/// What a call gives the rows of a partition.
enum Column {
    Values(Vec<Value>),
    Documents(Documents),
}

impl Column {
    /// Bytes it holds, for memory accounting.
    fn bytes(&self) -> usize {
        match self {
            Column::Values(values) => values.iter().map(value_bytes).sum(),
            Column::Documents(documents) => documents.bytes,
        }
    }

    /// A row's value, which is asked for once.
    fn take(&mut self, at: usize) -> Result<Value> {
        match self {
            Column::Values(values) => Ok(std::mem::take(&mut values[at])),
            Column::Documents(documents) => documents.of_row(at),
        }
    }
}

impl<'a> Exec<'a> {
    /// Runs a window over its input.
    pub(crate) fn run_window(&mut self, window: &'a Window, next: Next<'_, 'a>) -> Result<Flow> {
        let (rows, bytes, runs) = self.window_rows(window)?;
        let flow = match runs {
            Some(runs) => self.window_runs(window, runs, next),
            None => {
                let flow = self.window_partitions(window, &rows, next);
                self.memory.give_back(bytes);
                flow
            }
        };
        // The rows came in another order than the input's lookups found them.
        self.forget_lookups();
        flow
    }

    /// The same for rows on disk: a partition is in memory while it is computed.
    #[cold]
    #[inline(never)]
    fn window_runs(&mut self, window: &'a Window, runs: Runs, next: Next<'_, 'a>) -> Result<Flow> {
        let mut rows: Vec<Row> = Vec::new();
        let mut taken = 0;
        let flow = runs.merge(self, u64::MAX, &mut |x, columns, at| {
            let Some((partition_bytes, columns_of)) = columns.get(1).zip(columns.get(2..)) else { return Ok(Flow::Continue) };
            let partition_bytes = partition_bytes.integer(at).and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0);
            let row = Row {
                key: columns[0].bytes_at(at).into(),
                partition_bytes,
                values: columns_of.iter().map(|column| column.value(at)).collect(),
            };
            if rows.last().is_some_and(|last| last.partition() != row.partition()) {
                let flow = x.window_partitions(window, &rows, next)?;
                rows.clear();
                x.memory.give_back(std::mem::take(&mut taken));
                if flow == Flow::Stop {
                    return Ok(flow);
                }
            }
            let size = row.bytes();
            x.memory.take(size)?;
            taken += size;
            ::memory::reserve(&mut rows, 1)?;
            rows.push(row);
            Ok(Flow::Continue)
        })?;
        let flow = if flow == Flow::Continue { self.window_partitions(window, &rows, next)? } else { flow };
        self.memory.give_back(taken);
        Ok(flow)
    }

    /// The input's rows in order, and the bytes taken for them; all of them in runs where they are too many.
    fn window_rows(&mut self, window: &'a Window) -> Result<(Vec<Row>, usize, Option<Runs>)> {
        let (by, order) = window.keys.split_at(window.partition_keys);
        let mut rows: Vec<Row> = Vec::new();
        let mut taken = 0;
        let mut key = Vec::new();
        let mut runs: Option<Runs> = None;
        let mut watch = Watch::new(&self.memory);
        self.run_many(&window.input, &mut |x| {
            x.sort_key(by, &mut key)?;
            let mut bytes = key.clone();
            let partition_bytes = bytes.len();
            x.sort_key(order, &mut key)?;
            bytes.extend_from_slice(&key);
            let values: Box<[Value]> = window.saved.iter().map(|slot| x.get(*slot).clone()).collect();
            let row = Row { key: bytes.into(), partition_bytes, values };
            let size = row.bytes();
            x.memory.take(size)?;
            taken += size;
            ::memory::reserve(&mut rows, 1)?;
            rows.push(row);
            if watch.is_pressed(taken, &x.memory) {
                write_run(x, window, &mut runs, &mut rows)?;
                x.memory.give_back(std::mem::take(&mut taken));
                watch = Watch::new(&x.memory);
            }
            Ok(Flow::Continue)
        })?;
        if runs.is_some() {
            write_run(self, window, &mut runs, &mut rows)?;
            self.memory.give_back(std::mem::take(&mut taken));
        }
        // Stable: rows that the keys do not tell apart stay as they came.
        rows.sort_by(|a, b| a.key.cmp(&b.key));
        Ok((rows, taken, runs))
    }

    fn window_partitions(&mut self, window: &'a Window, rows: &[Row], next: Next<'_, 'a>) -> Result<Flow> {
        let mut left = rows;
        while let Some(first) = left.first() {
            let count = left.partition_point(|row| row.partition() <= first.partition());
            let (rows, rest) = left.split_at(count);
            left = rest;
            let partition = Partition { rows, peers: peers(rows) };
            let mut columns = Vec::with_capacity(window.calls.len());
            let mut taken = 0;
            for (_, call) in &window.calls {
                let column = self.window_column(window, call, &partition)?;
                let bytes = column.bytes();
                self.memory.take(bytes)?;
                taken += bytes;
                columns.push(column);
            }
            for (at, row) in rows.iter().enumerate() {
                if at % CANCEL_ROWS == 0 {
                    self.check_cancel()?;
                }
                self.load_row(window, row);
                for ((slot, _), column) in window.calls.iter().zip(&mut columns) {
                    let value = column.take(at)?;
                    self.set(*slot, value);
                }
                if next(self)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            self.memory.give_back(taken);
        }
        Ok(Flow::Continue)
    }

    fn load_row(&mut self, window: &Window, row: &Row) {
        for (slot, value) in window.saved.iter().zip(&row.values) {
            self.set(*slot, value.clone());
        }
    }

    /// An expression's value on one row.
    fn value_on(&mut self, window: &Window, row: &Row, e: &'a Expr) -> Result<Value> {
        self.load_row(window, row);
        self.eval(e)
    }

    /// An expression's values on all rows of a partition.
    fn values_on(&mut self, window: &Window, partition: &Partition<'_>, e: &'a Expr) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(partition.rows.len());
        for (at, row) in partition.rows.iter().enumerate() {
            if at % CANCEL_ROWS == 0 {
                self.check_cancel()?;
            }
            values.push(self.value_on(window, row, e)?);
        }
        Ok(values)
    }

    /// A call's values, one for each row of the partition.
    fn window_column(&mut self, window: &'a Window, call: &'a WindowCall, partition: &Partition<'_>) -> Result<Column> {
        let Partition { rows, peers } = partition;
        let count = rows.len();
        Ok(Column::Values(match &call.function {
            WindowFunction::RowNumber => (1..=count as u64).map(Value::UInt).collect(),
            WindowFunction::Rank => peers.iter().map(|p| Value::UInt(p.start as u64 + 1)).collect(),
            WindowFunction::DenseRank => {
                let mut rank = 0;
                let step = |(at, p): (usize, &Range<usize>)| {
                    rank += u64::from(p.start == at);
                    Value::UInt(rank)
                };
                peers.iter().enumerate().map(step).collect()
            }
            WindowFunction::PercentRank => {
                let others = (count - 1).max(1) as f64;
                peers.iter().map(|p| Value::Double(p.start as f64 / others)).collect()
            }
            WindowFunction::CumeDist => peers.iter().map(|p| Value::Double(p.end as f64 / count as f64)).collect(),
            WindowFunction::Ntile(buckets) => {
                let buckets = self.value_on(window, &rows[0], buckets)?;
                match whole(&buckets) {
                    Some(buckets) if buckets > 0 => ntile(count, buckets),
                    _ => return Err(codes::wrong_arguments("ntile").into()),
                }
            }
            WindowFunction::Neighbour { value, distance, default, ahead } => {
                let distance = match distance {
                    None => 1,
                    Some(distance) => {
                        let distance = self.value_on(window, &rows[0], distance)?;
                        let name = if *ahead { "lead" } else { "lag" };
                        whole(&distance).ok_or_else(|| codes::wrong_arguments(name))?
                    }
                };
                let values = self.values_on(window, partition, value)?;
                let mut column = Vec::with_capacity(count);
                for at in 0..count {
                    let neighbour = if *ahead { at.checked_add(distance) } else { at.checked_sub(distance) };
                    column.push(match (neighbour.and_then(|at| values.get(at)), default) {
                        (Some(value), _) => value.clone(),
                        (None, Some(default)) => self.value_on(window, &rows[at], default)?,
                        (None, None) => Value::Null,
                    });
                }
                column
            }
            WindowFunction::First(value) => {
                let frames = self.frames(window, call, partition)?;
                let values = self.values_on(window, partition, value)?;
                frames.into_iter().map(|f| if f.is_empty() { Value::Null } else { values[f.start].clone() }).collect()
            }
            WindowFunction::Last(value) => {
                let frames = self.frames(window, call, partition)?;
                let values = self.values_on(window, partition, value)?;
                frames.into_iter().map(|f| if f.is_empty() { Value::Null } else { values[f.end - 1].clone() }).collect()
            }
            WindowFunction::Nth(value, number) => {
                let number = self.value_on(window, &rows[0], number)?;
                let number = match whole(&number) {
                    _ if number.is_null() => None,
                    Some(number) if number > 0 => Some(number - 1),
                    _ => return Err(codes::wrong_arguments("nth_value").into()),
                };
                let frames = self.frames(window, call, partition)?;
                let values = self.values_on(window, partition, value)?;
                let nth = |f: Range<usize>| {
                    let at = f.start.checked_add(number?).filter(|at| f.contains(at))?;
                    values.get(at).cloned()
                };
                frames.into_iter().map(|f| nth(f).unwrap_or_default()).collect()
            }
            WindowFunction::Aggregate(aggregate) => {
                let frames = self.frames(window, call, partition)?;
                if matches!(aggregate.kind, AggregateKind::JsonArray | AggregateKind::JsonObject) {
                    return Ok(Column::Documents(self.window_documents(window, aggregate, partition, frames)?));
                }
                let values = match aggregate.args.first() {
                    Some(argument) => self.values_on(window, partition, argument)?,
                    // COUNT(*) counts every row.
                    None => vec![Value::Int(1); count],
                };
                match aggregate.kind {
                    AggregateKind::Min | AggregateKind::Max => self.extremes(aggregate, &frames, &values),
                    _ => self.sums(aggregate, &frames, &values)?,
                }
            }
        }))
    }

    /// The frame of each row.
    fn frames(&mut self, window: &'a Window, call: &'a WindowCall, partition: &Partition<'_>) -> Result<Vec<Range<usize>>> {
        let Frame { start, end } = &call.frame;
        let starts = self.bounds(window, call, partition, start, false)?;
        let ends = self.bounds(window, call, partition, end, true)?;
        Ok(starts.into_iter().zip(ends).map(|(start, end)| start..end.max(start)).collect())
    }

    /// Where the frames begin, or end: of each row the first of its frame, or the one after the last.
    fn bounds(
        &mut self,
        window: &'a Window,
        call: &'a WindowCall,
        partition: &Partition<'_>,
        bound: &'a Bound,
        end: bool,
    ) -> Result<Vec<usize>> {
        let count = partition.rows.len();
        let each = 0..count;
        let after = usize::from(end);
        Ok(match bound {
            Bound::Unbounded => vec![if end { count } else { 0 }; count],
            Bound::Row => each.map(|at| at + after).collect(),
            Bound::Peers => partition.peers.iter().map(|p| if end { p.end } else { p.start }).collect(),
            Bound::Preceding(amount) => {
                let amount = self.frame_rows(window, call, partition, amount)?;
                each.map(|at| (at + after).saturating_sub(amount)).collect()
            }
            Bound::Following(amount) => {
                let amount = self.frame_rows(window, call, partition, amount)?;
                each.map(|at| (at + after).saturating_add(amount).min(count)).collect()
            }
            Bound::Value { limit, after } => self.value_bounds(window, partition, limit, *after, end)?,
        })
    }

    fn frame_rows(&mut self, window: &'a Window, call: &'a WindowCall, partition: &Partition<'_>, amount: &'a Expr) -> Result<usize> {
        let amount = self.value_on(window, &partition.rows[0], amount)?;
        whole(&amount).ok_or_else(|| codes::window_frame_illegal(&call.window).into())
    }

    /// Bounds by value: the rows whose ORDER BY value is not past the limit computed from each row's own.
    fn value_bounds(
        &mut self,
        window: &'a Window,
        partition: &Partition<'_>,
        limit: &'a Expr,
        after: bool,
        end: bool,
    ) -> Result<Vec<usize>> {
        let Some(key) = window.keys.last() else { return Ok(vec![0; partition.rows.len()]) };
        let values = self.values_on(window, partition, &key.expr)?;
        let mut bounds = Vec::with_capacity(values.len());
        for (at, row) in partition.rows.iter().enumerate() {
            if values[at].is_null() {
                // Nothing is within a distance of NULL but NULL.
                let peers = &partition.peers[at];
                bounds.push(if end { peers.end } else { peers.start });
                continue;
            }
            let limit = self.value_on(window, row, limit)?;
            let context = &*self.context;
            // Whether a row stands before all that is within the limit (or, at the end, is within it or before). NULL is less than all.
            let before = |value: &Value| {
                let order = match (value.is_null(), limit.is_null()) {
                    (true, _) => Ordering::Less,
                    // Past what the type can say.
                    (false, true) => return after,
                    _ => compare(value, &limit, key.collation, context).unwrap_or(Ordering::Equal),
                };
                let order = if key.descending { order.reverse() } else { order };
                order == Ordering::Less || end && order == Ordering::Equal
            };
            bounds.push(values.partition_point(before));
        }
        Ok(bounds)
    }

    /// Sums and counts over frames that move.
    fn sums(&mut self, aggregate: &Aggregate, frames: &[Range<usize>], values: &[Value]) -> Result<Vec<Value>> {
        let mut column: Vec<Value> = Vec::with_capacity(frames.len());
        let mut sum = Accumulator::new(aggregate);
        let mut at = 0..0;
        for (row, frame) in frames.iter().enumerate() {
            if row % CANCEL_ROWS == 0 {
                self.check_cancel()?;
            }
            if row > 0 && *frame == at {
                column.push(column[row - 1].clone());
                continue;
            }
            let kept = frame.start < at.end && values[at.start..frame.start].iter().all(|v| sum.take_away(v, &*self.context));
            if !kept {
                self.check_cancel()?;
                sum = Accumulator::new(aggregate);
                at = frame.start..frame.start;
            }
            for value in &values[at.end..frame.end.max(at.end)] {
                self.add_value(aggregate, &mut sum, value.clone())?;
            }
            at = frame.clone();
            column.push(self.result(aggregate, sum.snapshot())?);
        }
        Ok(column)
    }

    /// MIN and MAX over frames that move: of the values in the frame those are kept that no later one beats.
    fn extremes(&self, aggregate: &Aggregate, frames: &[Range<usize>], values: &[Value]) -> Vec<Value> {
        let wanted = if aggregate.kind == AggregateKind::Min { Ordering::Less } else { Ordering::Greater };
        let beats = |a: &Value, b: &Value| compare(a, b, aggregate.collation, &*self.context) == Some(wanted);
        let mut kept: VecDeque<usize> = VecDeque::new();
        let mut seen = 0;
        let next = |frame: &Range<usize>| {
            for (at, value) in values.iter().enumerate().take(frame.end).skip(seen) {
                if !value.is_null() {
                    while kept.back().is_some_and(|last| beats(value, &values[*last])) {
                        kept.pop_back();
                    }
                    kept.push_back(at);
                }
            }
            seen = seen.max(frame.end);
            while kept.front().is_some_and(|first| *first < frame.start) {
                kept.pop_front();
            }
            if frame.is_empty() { Value::Null } else { kept.front().map_or(Value::Null, |at| values[*at].clone()) }
        };
        frames.iter().map(next).collect()
    }
}

/// Writes rows as a run, in order; they are gone then. Behind the key stands how much of it is the partition's.
#[cold]
#[inline(never)]
fn write_run(x: &Exec<'_>, window: &Window, runs: &mut Option<Runs>, rows: &mut Vec<Row>) -> Result<()> {
    rows.sort_by(|a, b| a.key.cmp(&b.key));
    let to = match runs {
        Some(runs) => runs,
        None => runs.insert(Runs::new(x, window.saved.len() + 1)?),
    };
    let mut left = rows.iter().enumerate();
    to.write(|columns| {
        let Some((at, row)) = left.next() else { return Ok(None) };
        if at.is_multiple_of(CANCEL_ROWS) {
            x.check_cancel()?;
        }
        columns[0].push_bytes(&row.key);
        columns[1].push_int(row.partition_bytes as i64);
        for (column, value) in columns[2..].iter_mut().zip(&row.values) {
            column.push(value);
        }
        Ok(Some(row.bytes()))
    })?;
    *rows = Vec::new();
    Ok(())
}

/// For each row the rows with its key.
fn peers(rows: &[Row]) -> Vec<Range<usize>> {
    let mut peers = Vec::with_capacity(rows.len());
    for group in rows.chunk_by(|a, b| a.key == b.key) {
        let start = peers.len();
        peers.extend(std::iter::repeat_n(start..start + group.len(), group.len()));
    }
    peers
}

/// A whole number that is not negative.
fn whole(value: &Value) -> Option<usize> {
    match value {
        Value::Int(n) => usize::try_from(*n).ok(),
        Value::UInt(n) => usize::try_from(*n).ok(),
        _ => None,
    }
}

/// Buckets of as many rows each, the first ones with one more.
fn ntile(rows: usize, buckets: usize) -> Vec<Value> {
    let (each, more) = (rows / buckets, rows % buckets);
    let sizes = (0..buckets.min(rows)).map(|bucket| each + usize::from(bucket < more));
    sizes.enumerate().flat_map(|(bucket, size)| std::iter::repeat_n(Value::UInt(bucket as u64 + 1), size)).collect()
}
