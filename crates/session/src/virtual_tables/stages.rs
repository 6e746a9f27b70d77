//! `performance_schema.events_stages_current`, `events_stages_history` and `events_stages_history_long`: how far builds of indexes are. Other statements tell no stages.

use super::column::{count, one_of, performance_schema, text};
use super::{VirtualTable, listed};
use crate::context::Core;
use crate::counters::stages::{Event, HISTORY_ROWS};
use catalog::{VirtualRequest, VirtualRow};
use executor::VirtualRows;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use types::{Collation, Value};

pub(super) fn tables() -> Vec<VirtualTable> {
    let columns = || {
        vec![
            ("THREAD_ID", count().not_null()),
            ("EVENT_ID", count().not_null()),
            ("END_EVENT_ID", count()),
            ("EVENT_NAME", text(128).not_null()),
            ("SOURCE", text(64)),
            ("TIMER_START", count()),
            ("TIMER_END", count()),
            ("TIMER_WAIT", count()),
            ("WORK_COMPLETED", count()),
            ("WORK_ESTIMATED", count()),
            ("NESTING_EVENT_ID", count()),
            ("NESTING_EVENT_TYPE", one_of(&["TRANSACTION", "STATEMENT", "STAGE", "WAIT"], Collation::DEFAULT)),
        ]
    };
    let table = |name, rows| VirtualTable { def: performance_schema(name, 100.0, columns()), rows };
    vec![
        table("events_stages_current", current),
        table("events_stages_history", history),
        table("events_stages_history_long", history_long),
    ]
}

fn current(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    Ok(rows(core, core.shared.stages.current()))
}

/// The last of each connection that is there.
fn history(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let mut left: HashMap<u32, usize> = core.shared.connections.list().iter().map(|connection| (connection.id(), HISTORY_ROWS)).collect();
    let mut events = core.shared.stages.ended();
    events.reverse();
    events.retain(|event| match left.get_mut(&event.connection) {
        Some(left) if *left > 0 => {
            *left -= 1;
            true
        }
        _ => false,
    });
    events.reverse();
    Ok(rows(core, events))
}

fn history_long(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    Ok(rows(core, core.shared.stages.ended()))
}

fn rows(core: &Core, events: Vec<Event>) -> VirtualRows {
    let started = core.shared.started;
    listed(events.iter().map(|event| row(event, started)).collect())
}

/// Times are picoseconds since the start.
fn row(event: &Event, started: Instant) -> VirtualRow {
    let picoseconds = |time: Duration| Value::UInt(u64::try_from(time.as_nanos().saturating_mul(1000)).unwrap_or(u64::MAX));
    let since_start = |at: Instant| picoseconds(at.saturating_duration_since(started));
    let stage = &event.stage;
    let number = Value::UInt(event.number);
    let until = stage.ended.unwrap_or_else(Instant::now);
    vec![
        Value::UInt(event.connection.into()),
        number.clone(),
        if stage.ended.is_some() { number } else { Value::Null },
        event.name().into(),
        Value::Null,
        since_start(stage.begun),
        since_start(until),
        picoseconds(until.saturating_duration_since(stage.begun)),
        Value::UInt(stage.done),
        Value::UInt(stage.of),
        Value::Null,
        Value::Null,
    ]
}
