//! Short plans: key from the parameters, row from the page, columns to the wire.

pub(crate) mod insert;
mod range;
pub(crate) mod sorted_range;
pub(crate) mod tested;

use crate::change::in_place::Assigned;
use crate::context::StatementContext;
use crate::errors::internal;
use crate::exec::{Exec, Scratch};
use crate::execute::{Changes, Outcome, RowConsumer};
use crate::run::Result;
use crate::scan::read_mode;
use crate::short::tested::unwanted;
use catalog::TableDef;
use engine::{HandlerCall, Modified, Modify, Session, Table};
use planner::expr::{Expr, ExprKind};
use planner::keys::{self, Fit};
use planner::plan::{Body, LimitSpec, LockMode, Plan};
use planner::short::{PointGet, PointWrite, ShortPlan};
use record::{ColumnSet, RowRef};
use std::sync::Arc;
use types::Value;

/// What a short plan runs with.
pub(crate) struct ShortRun<'r> {
    pub plan: &'r Plan,
    pub params: &'r [Value],
    pub session: &'r mut engine::Session,
    pub context: &'r mut dyn StatementContext,
    pub scratch: &'r mut Scratch,
    pub consumer: &'r mut dyn RowConsumer,
}

/// Runs a short plan; `None` when a parameter does not fit, or a LIMIT keeps the only row out, and the ordinary plan must run.
///
/// The kinds are not inlined: with a thousand connections each cache line of stack that a statement touches is a miss, and together they have a frame of a
/// kilobyte and more.
pub(crate) fn run(short: &ShortPlan, run: ShortRun<'_>) -> Result<Option<Outcome>> {
    match short {
        ShortPlan::PointGet(get) if get.row.tested.is_some() => tested::get(get, run),
        ShortPlan::PointGet(get) if get.row.index == 0 => point_get::<true>(get, run),
        ShortPlan::PointGet(get) => point_get::<false>(get, run),
        ShortPlan::MultiPointGet(range) => range::points(range, run),
        ShortPlan::Range(range) => range::range(range, run),
        ShortPlan::SortedRange(sorted) => sorted_range::run(sorted, run),
        ShortPlan::RangeAggregate(aggregate) => range::aggregate(aggregate, run),
        ShortPlan::PointUpdate(write) => point_update(write, run),
        ShortPlan::PointDelete(write) => point_delete(write, run),
        ShortPlan::Insert => insert::run(run),
    }
}

#[inline]
pub(crate) fn operand<'v>(e: &'v Expr, params: &'v [Value]) -> Option<&'v Value> {
    match &e.kind {
        ExprKind::Literal(v) => Some(v),
        ExprKind::Param(n) => params.get(*n as usize),
        _ => None,
    }
}

enum KeyState {
    Ready,
    NoRow,
    Misfit,
}

/// Encodes a key of an index, or its leading parts. What the column could not hold is left to the ordinary plan.
#[inline]
fn encode_key(def: &TableDef, index: usize, exprs: &[Expr], params: &[Value], key: &mut Vec<u8>) -> KeyState {
    key.clear();
    for (e, part) in exprs.iter().zip(&def.indexes[index].parts) {
        let Some(v) = operand(e, params) else { return KeyState::Misfit };
        let ty = &def.columns[part.column].ty;
        let encoded = match v {
            Value::Null => return KeyState::NoRow,
            // A whole number that the column holds, and a string, need no conversion.
            Value::Int(i) if record::key::try_encode_int(ty, part, *i, key) => Ok(()),
            Value::Bytes(_) if keys::holds_text(ty) => record::key::try_encode_part(ty, part, v, key),
            _ => match keys::fit(ty, v) {
                Fit::Exact(v) => record::key::try_encode_part(ty, part, &v, key),
                Fit::Unusable => return KeyState::Misfit,
                _ => return KeyState::NoRow,
            },
        };
        if encoded.is_err() {
            return KeyState::Misfit;
        }
    }
    KeyState::Ready
}

/// Whether a LIMIT lets the only row through. Otherwise the ordinary plan runs.
#[inline]
fn lets_one_through(limit: Option<&LimitSpec>, params: &[Value]) -> Result<bool> {
    Ok(limit.is_none() || matches!(range::limits(limit, params)?, (0, 1..)))
}

/// By the primary key, or by another one.
#[inline(never)]
fn point_get<const PRIMARY: bool>(get: &PointGet, run: ShortRun<'_>) -> Result<Option<Outcome>> {
    let ShortRun { plan, params, session, scratch, consumer, .. } = run;
    if !lets_one_through(get.limit.as_ref(), params)? {
        return Ok(None);
    }
    let entry = &plan.tables[get.row.table as usize];
    let index = if PRIMARY { 0 } else { get.row.index as usize };
    match encode_key(&entry.def, index, &get.row.key, params, &mut scratch.key) {
        KeyState::Misfit => return Ok(None),
        KeyState::NoRow => {
            consumer.begin(&plan.columns)?;
            return Ok(Some(Outcome::Rows { count: 0 }));
        }
        KeyState::Ready => {}
    }
    let read = if get.lock == LockMode::None { session.plain_read() } else { read_mode(get.lock) };
    consumer.begin(&plan.columns)?;
    session.handler_counts().add(HandlerCall::ReadKey, 1);
    let found = if PRIMARY {
        session.get(&entry.storage, &scratch.key, read, |row| consumer.record(row, &get.columns))
    } else {
        session.get_unique(&entry.storage, index, &scratch.key, read, |row, _, _| consumer.record(row, &get.columns))
    };
    let found = match found {
        Ok(found) => found,
        // As MySQL, which reads a row by its whole key before it says what the columns are.
        Err(error) => {
            consumer.forget_begin();
            return Err(error.into());
        }
    };
    let count = match found {
        Some(full) => {
            if full? {
                consumer.drain()?;
            }
            1
        }
        None => 0,
    };
    Ok(Some(Outcome::Rows { count }))
}

#[inline(never)]
fn point_update(write: &PointWrite, run: ShortRun<'_>) -> Result<Option<Outcome>> {
    let ShortRun { plan, params, session, context, scratch, .. } = run;
    if !lets_one_through(write.limit.as_ref(), params)? {
        return Ok(None);
    }
    let entry = &plan.tables[write.row.table as usize];
    let Body::Update(update) = &plan.body else { return Err(internal("point update without UPDATE")) };
    let Some(assigned) = Assigned::by_update(update) else { return Err(internal("point update of no row")) };
    let mut key = std::mem::take(&mut scratch.key);
    let outcome = match encode_key(&entry.def, write.row.index as usize, &write.row.key, params, &mut key) {
        KeyState::Misfit => Ok(None),
        KeyState::NoRow => Ok(Some(Changes::default())),
        KeyState::Ready => {
            let mut x = Exec::of_one_row(plan, params, Some(session), context, scratch);
            let mode = x.context.sql_mode();
            x.lenient = !mode.is_strict();
            x.null_lenient = x.lenient;
            x.count_calls(HandlerCall::ReadKey, 1);
            let result = x.change_in_place(entry, assigned, (write.row.index, &key), write.row.tested.as_ref(), 1);
            x.finish_one_row(scratch);
            result.map(|change| {
                let mut changes = Changes::default();
                changes.count(change);
                Some(changes)
            })
        }
    };
    scratch.key = key;
    Ok(outcome?.map(Outcome::Changes))
}

#[inline(never)]
fn point_delete(write: &PointWrite, run: ShortRun<'_>) -> Result<Option<Outcome>> {
    let ShortRun { plan, params, session, context, scratch, .. } = run;
    if !lets_one_through(write.limit.as_ref(), params)? {
        return Ok(None);
    }
    let (entry, index) = (&plan.tables[write.row.table as usize], write.row.index as usize);
    let mut key = std::mem::take(&mut scratch.key);
    let outcome = match encode_key(&entry.def, index, &write.row.key, params, &mut key) {
        KeyState::Misfit => Ok(None),
        KeyState::NoRow => Ok(Some(Changes::default())),
        KeyState::Ready => {
            session.handler_counts().add(HandlerCall::ReadKey, 1);
            let deleted = match &write.row.tested {
                None => delete(session, &entry.storage, (index, &key), |_| Modify::Delete),
                Some(tested) => {
                    let unwanted = unwanted(Some(tested), session);
                    let mut x = Exec::of_one_row(plan, params, None, context, scratch);
                    let (mut failed, told) = (None, x.context.warning_total());
                    let deleted = delete(session, &entry.storage, (index, &key), |row| {
                        // Where the row had to be waited for what is to be told is told again.
                        x.context.take_warnings(told);
                        let is_wanted = x.is_wanted(Some(tested), row);
                        failed = is_wanted.as_ref().err().cloned();
                        match is_wanted {
                            Ok(true) => Modify::Delete,
                            Ok(false) => unwanted,
                            Err(_) => Modify::Keep,
                        }
                    });
                    x.finish_one_row(scratch);
                    failed.map_or(deleted, Err)
                }
            };
            deleted.map(|affected| Some(Changes { affected, ..Changes::default() }))
        }
    };
    scratch.key = key;
    Ok(outcome?.map(Outcome::Changes))
}

/// Deletes the row of a whole key of a unique index, if it is to be; how many it were.
#[inline]
fn delete(
    session: &mut Session,
    table: &Arc<Table>,
    (index, key): (usize, &[u8]),
    mut decide: impl FnMut(RowRef<'_>) -> Modify,
) -> Result<u64> {
    let decide = |row: RowRef<'_>, _: &mut Vec<u8>| decide(row);
    let modified = match index {
        0 => session.modify(table, key, decide)?,
        _ => session.modify_unique(table, index, key, ColumnSet::ALL, decide)?,
    };
    Ok(u64::from(modified == Modified::Deleted))
}
