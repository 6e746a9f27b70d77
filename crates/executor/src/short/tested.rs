//! What short plans ask of the one row that they have found, under its latch: whose it is, whether it was deleted, the version that somebody saw.

use crate::exec::Exec;
use crate::execute::{Outcome, RowConsumer};
use crate::run::Result;
use crate::scan::{decode, read_mode};
use crate::short::{KeyState, ShortRun, encode_key, lets_one_through};
use engine::{HandlerCall, Modify, RowLock, Session, Table};
use planner::plan::LockMode;
use planner::short::{PointGet, Tested};
use record::RowRef;
use std::sync::Arc;

/// What becomes of a row that is found by its key and does not pass: where ranges stay as they were read it stays locked, as MySQL leaves it.
#[inline]
pub(crate) fn unwanted(tested: Option<&Tested>, session: &Session) -> Modify {
    if tested.is_some() && session.gives_back() { Modify::Pass } else { Modify::Keep }
}

impl Exec<'_> {
    /// Whether a row passes.
    #[inline]
    pub(crate) fn is_wanted(&mut self, tested: Option<&Tested>, row: RowRef<'_>) -> Result<bool> {
        let Some(tested) = tested else { return Ok(true) };
        decode(row, &tested.columns, None, &[], &mut self.frame)?;
        self.is_true(&tested.filter)
    }
}

/// A read of one row that has to pass.
#[inline(never)]
pub(crate) fn get(get: &PointGet, run: ShortRun<'_>) -> Result<Option<Outcome>> {
    let ShortRun { plan, params, session, context, scratch, consumer } = run;
    if !lets_one_through(get.limit.as_ref(), params)? {
        return Ok(None);
    }
    let entry = &plan.tables[get.row.table as usize];
    let mut key = std::mem::take(&mut scratch.key);
    let outcome = match encode_key(&entry.def, get.row.index as usize, &get.row.key, params, &mut key) {
        KeyState::Misfit => Ok(None),
        KeyState::NoRow => consumer.begin(&plan.columns).map(|()| Some(Outcome::Rows { count: 0 })),
        KeyState::Ready => {
            let mut x = Exec::of_one_row(plan, params, None, context, scratch);
            let shown = consumer.begin(&plan.columns).and_then(|()| show(get, &entry.storage, &key, session, &mut x, consumer));
            x.finish_one_row(scratch);
            if shown.is_err() {
                consumer.forget_begin();
            }
            shown.map(|count| Some(Outcome::Rows { count }))
        }
    };
    scratch.key = key;
    outcome
}

/// Shows the row of a key, if there is one that passes: how many are shown.
fn show(
    get: &PointGet,
    table: &Arc<Table>,
    key: &[u8],
    session: &mut Session,
    x: &mut Exec<'_>,
    consumer: &mut dyn RowConsumer,
) -> Result<u64> {
    let read = if get.lock == LockMode::None { session.plain_read() } else { read_mode(get.lock) };
    session.handler_counts().add(HandlerCall::ReadKey, 1);
    // Whether it is to be sent before more is shown; nothing of a row that does not pass.
    let mut look = |row: RowRef<'_>| -> Result<Option<bool>> {
        x.is_wanted(get.row.tested.as_ref(), row)?.then(|| consumer.record(row, &get.columns)).transpose()
    };
    let found = match get.row.index {
        0 => session.get_locking(table, key, read, look)?.map(|(shown, lock)| (shown, lock, None)),
        index => session.get_unique(table, index as usize, key, read, |row, primary_key, lock| {
            (look(row), lock, (lock == RowLock::New).then(|| primary_key.to_vec()))
        })?,
    };
    let Some((shown, lock, primary_key)) = found else { return Ok(0) };
    match shown? {
        Some(true) => consumer.drain().map(|()| 1),
        Some(false) => Ok(1),
        None => {
            session.give_back(table, primary_key.as_deref().unwrap_or(key), lock);
            Ok(0)
        }
    }
}
