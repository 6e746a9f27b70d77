//! Short plans over index ranges: rows go from the page to the wire, or into aggregates, without a frame.

use crate::convert::limit_value;
use crate::errors::{Error, internal};
use crate::exec::Exec;
use crate::execute::Outcome;
use crate::run::Result;
use crate::scan::read_mode;
use crate::short::{KeyState, ShortRun, encode_key, operand};
use catalog::TableEntry;
use engine::{Direction, HandlerCall, KeyRange, Lookup, Read, RowKey, Scan, ScanState, Step, WantedKeys};
use planner::expr::Expr;
use planner::keys::{self, BoundValues};
use planner::plan::{Body, LimitSpec, LockMode, Node, Plan};
use planner::short::{RangeAggregate, ShortRange};
use record::RowRef;
use types::{LocalTime, Value};

/// Rows between two looks at the cancel flag.
const ROUND_ROWS: u32 = 256;

/// An aggregate over all of a table with as many rows is not short.
const LONG_ROWS: u64 = 512;

/// More of a table's first or last rows are read faster by batches.
const FIRST_ROWS_MAX: u64 = 1000;

/// Bounds that stand ready.
struct Operands<'v> {
    params: &'v [Value],
    zone: &'v dyn LocalTime,
}

impl BoundValues for Operands<'_> {
    fn value(&mut self, bound: &Expr) -> Option<Value> {
        operand(bound, self.params).cloned()
    }

    fn zone(&self) -> &dyn LocalTime {
        self.zone
    }
}

/// What a read of ranges finds its rows by.
pub(crate) enum Bounds<'k> {
    /// A key of a secondary index, or its beginning.
    Key(&'k [u8]),
    /// Ranges in the order of the read.
    Ranges(Vec<KeyRange>),
}

/// What bounds a read, where it holds no more than the condition allows; else `None`. A key goes to `key`.
pub(crate) fn exact_bounds<'k>(range: &ShortRange, run: &ShortRun<'_>, key: &'k mut Vec<u8>) -> Option<Bounds<'k>> {
    if let Some(wanted) = &range.key
        && run.session.plain_read() == Read::Snapshot
    {
        let def = &run.plan.tables[range.table as usize].def;
        match encode_key(def, range.index as usize, &wanted.values, run.params, key) {
            KeyState::Ready => return Some(Bounds::Key(key)),
            KeyState::NoRow => return Some(Bounds::Ranges(Vec::new())),
            // A time, for one, which only ranges know how to bring to a time zone.
            KeyState::Misfit => {}
        }
    }
    exact_ranges(range, run.plan, run.params, &*run.context).map(Bounds::Ranges)
}

fn exact_ranges(range: &ShortRange, plan: &Plan, params: &[Value], zone: &dyn LocalTime) -> Option<Vec<KeyRange>> {
    let def = &plan.tables[range.table as usize].def;
    let found = keys::key_ranges(def, range.index as usize, &range.spec, &mut Operands { params, zone })?;
    let mut ranges = found.exact.then_some(found.ranges)?;
    if range.backward {
        ranges.reverse();
    }
    Some(ranges)
}

/// Offset and count of a LIMIT.
pub(crate) fn limits(limit: Option<&LimitSpec>, params: &[Value]) -> Result<(u64, u64)> {
    let Some(limit) = limit else { return Ok((0, u64::MAX)) };
    let bound = |e: &Option<Expr>, absent| match e.as_ref().map(|e| operand(e, params)) {
        None => Ok(absent),
        Some(Some(v)) => limit_value(v),
        Some(None) => Err(internal("LIMIT without value")),
    };
    Ok((bound(&limit.offset, 0)?, bound(&limit.count, u64::MAX)?))
}

/// Calls `f` with each row, under its page's latch. Every few hundred rows, and when `f` asks for it, the page is left and `between` is called: to
/// send what has piled up, if `f` asked (then its argument is true), and to look at the cancel flag. No more than `wanted` rows need be looked for.
pub(crate) fn for_each_row(
    range: &ShortRange,
    bounds: Bounds<'_>,
    wanted: u64,
    plan: &Plan,
    session: &mut engine::Session,
    mut between: impl FnMut(bool) -> Result<()>,
    mut f: impl FnMut(RowRef<'_>, RowKey<'_>) -> Result<Next>,
) -> Result<()> {
    let table = &plan.tables[range.table as usize].storage;
    let direction = if range.backward { Direction::Backward } else { Direction::Forward };
    let ranges = match bounds {
        Bounds::Ranges(ranges) => ranges,
        Bounds::Key(key) => {
            let lookup = session.look_up(table, range.index as usize, key, direction, wanted, range.cover.as_ref())?;
            if let Some(rest) = show_found(lookup, &mut between, &mut f)? {
                show_rows(session.resume(rest), range, &mut between, &mut f)?;
            }
            return Ok(());
        }
    };
    for r in ranges {
        let read = if range.lock == LockMode::None { session.plain_read() } else { read_mode(range.lock) };
        let scan = session.scan(table, range.index as usize, r, direction, read)?.wanting(wanted);
        if show_rows(scan, range, &mut between, &mut f)? == Next::Stop {
            break;
        }
    }
    Ok(())
}

/// Shows `f` the rows of one key, for [`for_each_row`]; a scan for the rest of them, if the key has very many and `f` wants them.
#[inline]
fn show_found(
    mut lookup: Lookup<'_>,
    between: &mut impl FnMut(bool) -> Result<()>,
    f: &mut impl FnMut(RowRef<'_>, RowKey<'_>) -> Result<Next>,
) -> Result<Option<ScanState>> {
    while let Some(next) = lookup.next(&mut *f)? {
        match next? {
            Next::Row => {}
            Next::Pause => between(true)?,
            Next::Stop => {
                lookup.count(false);
                return Ok(None);
            }
        }
    }
    lookup.count(true);
    Ok(lookup.into_rest())
}

/// Shows `f` the rows of one scan, for [`for_each_row`].
fn show_rows(
    mut scan: Scan<'_>,
    range: &ShortRange,
    between: &mut impl FnMut(bool) -> Result<()>,
    f: &mut impl FnMut(RowRef<'_>, RowKey<'_>) -> Result<Next>,
) -> Result<Next> {
    loop {
        let mut in_round = 0;
        let mut outcome = Ok(Next::Row);
        let visit = |row: RowRef<'_>, key: RowKey<'_>| {
            in_round += 1;
            match f(row, key) {
                Ok(Next::Row) if in_round < ROUND_ROWS => Step::Continue,
                other => {
                    outcome = other;
                    Step::Stop
                }
            }
        };
        let more = scan.for_each_with(range.cover.as_ref(), visit)?;
        scan.count(in_round as usize, !more);
        match outcome? {
            Next::Stop => return Ok(Next::Stop),
            _ if !more => return Ok(Next::Row),
            next => between(next == Next::Pause)?,
        }
    }
}

/// What a reader of rows wants next.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// The next row.
    Row,
    /// The next row, but first the page is left.
    Pause,
    /// No more.
    Stop,
}

/// Rows of whole primary keys, from the page to the wire: those of one leaf are found while it is latched.
#[inline(never)]
pub(crate) fn points(range: &ShortRange, run: ShortRun<'_>) -> Result<Option<Outcome>> {
    if range.lock != LockMode::None || range.backward || range.limit.is_some() || run.session.plain_read() != Read::Snapshot {
        return self::range(range, run);
    }
    let ShortRun { plan, params, session, context, consumer, .. } = run;
    let TableEntry { def, storage: table, .. } = &*plan.tables[range.table as usize];
    let found = keys::whole_keys(def, range.index as usize, &range.spec, &mut Operands { params, zone: &*context });
    let Some(found) = found else { return Ok(None) };
    let keys = found.sorted();
    consumer.begin(&plan.columns)?;
    let (mut count, mut from) = (0, 0);
    while from < keys.len() {
        let round = &keys[from..keys.len().min(from + ROUND_ROWS as usize)];
        let (mut looked, mut found, mut outcome) = (round.len(), 0, Ok(false));
        let wanted = WantedKeys { keys: round, whole: true, first: false, restore: None };
        session.for_each_of_keys(table, range.index as usize, wanted, |place, row| {
            found += 1;
            outcome = consumer.record(row, &range.columns);
            if matches!(outcome, Ok(false)) {
                return Step::Continue;
            }
            looked = place.key + 1;
            Step::Stop
        })?;
        session.handler_counts().add(HandlerCall::ReadKey, looked as u64);
        session.handler_counts().add_misses(looked as u64 - found);
        (count, from) = (count + found, from + looked);
        if outcome? {
            consumer.drain()?;
        }
        if context.is_cancelled() {
            return Err(Error::Sql(context.cancel_error()));
        }
    }
    Ok(Some(Outcome::Rows { count }))
}

/// Rows from the page to the wire.
#[inline(never)]
pub(crate) fn range(range: &ShortRange, run: ShortRun<'_>) -> Result<Option<Outcome>> {
    let (skipped, left) = limits(range.limit.as_ref(), run.params)?;
    if left > FIRST_ROWS_MAX && range.is_unbounded() {
        return Ok(None);
    }
    let mut key = std::mem::take(&mut run.scratch.key);
    let Some(bounds) = exact_bounds(range, &run, &mut key) else { return Ok(None) };
    let ShortRun { plan, session, context, scratch, consumer, .. } = run;
    let mut offset = skipped;
    consumer.begin(&plan.columns)?;
    let mut count = 0;
    if left == 0 {
        return Ok(Some(Outcome::Rows { count }));
    }
    let consumer = std::cell::RefCell::new(consumer);
    let between = |full| {
        if full {
            consumer.borrow_mut().drain()?;
        }
        if context.is_cancelled() { Err(Error::Sql(context.cancel_error())) } else { Ok(()) }
    };
    let wanted = skipped.saturating_add(left);
    for_each_row(range, bounds, wanted, plan, session, between, |row, _| {
        if offset > 0 {
            offset -= 1;
            return Ok(Next::Row);
        }
        let full = consumer.borrow_mut().record(row, &range.columns)?;
        count += 1;
        Ok(if count == left {
            Next::Stop
        } else if full {
            Next::Pause
        } else {
            Next::Row
        })
    })?;
    scratch.key = key;
    // What OFFSET passes over counts as found.
    Ok(Some(Outcome::Rows { count: count + skipped - offset }))
}

/// Aggregates of columns.
#[inline(never)]
pub(crate) fn aggregate(aggregate: &RangeAggregate, run: ShortRun<'_>) -> Result<Option<Outcome>> {
    let mut key = std::mem::take(&mut run.scratch.key);
    let Some(bounds) = exact_bounds(&aggregate.range, &run, &mut key) else { return Ok(None) };
    let ShortRun { plan, params, session, context, scratch, consumer } = run;
    let Body::Query(query) = &plan.body else { return Err(internal("aggregates without a query")) };
    let Node::Group(group) = &query.root else { return Err(internal("aggregates without a group")) };
    let storage = &plan.tables[aggregate.range.table as usize].storage;
    // The first one, of MIN or MAX.
    let of_one = aggregate.range.limit.is_some();
    let is_whole = matches!(&bounds, Bounds::Ranges(ranges) if ranges.iter().any(|range| *range == KeyRange::all()));
    if is_whole && !of_one && storage.rows_estimate() >= LONG_ROWS {
        // All rows of a table that has many: by columns.
        return Ok(None);
    }
    let mut x = Exec::new(plan, params, session, context, scratch);
    let Some(session) = x.session.take() else { return Err(internal("engine in use")) };
    let x = std::cell::RefCell::new(x);
    let mut sums = x.borrow().new_sums(group);
    let mut space = Vec::new();
    for_each_row(
        &aggregate.range,
        bounds,
        if of_one { 1 } else { u64::MAX },
        plan,
        session,
        |_| x.borrow().check_cancel(),
        |row, _| {
            let mut x = x.borrow_mut();
            for (((_, a), sum), column) in group.aggregates.iter().zip(sums.iter_mut()).zip(&aggregate.arguments) {
                match column {
                    None => sum.count_row(),
                    Some(column) => x.add_column(a, sum, row.column_in(*column as usize, &mut space)?)?,
                }
            }
            Ok(if of_one { Next::Stop } else { Next::Row })
        },
    )?;
    let mut x = x.into_inner();
    x.session = Some(session);
    x.store_sums(group, sums)?;
    let mut values = Vec::new();
    x.output(query, &mut values)?;
    consumer.begin(&plan.columns)?;
    consumer.row(&values)?;
    x.finish(scratch);
    scratch.key = key;
    Ok(Some(Outcome::Rows { count: 1 }))
}
