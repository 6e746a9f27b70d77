//! `performance_schema.memory_summary_global_by_event_name`: what memory is used for. Kinds of the heap are booked in steps, so small uses are in
//! the row of the rest; the sum of the rows is what the server holds.

use super::column::{count, performance_schema, text};
use super::{VirtualTable, listed};
use crate::context::Core;
use ::memory::{self as heap, Figures, Kind};
use catalog::VirtualRequest;
use executor::VirtualRows;
use types::{ColumnType, Value};

/// The row of what no kind has booked.
const REST: &str = "sql/heap";

pub(super) fn table() -> VirtualTable {
    let signed = ColumnType::bigint;
    let columns = vec![
        ("EVENT_NAME", text(128).not_null()),
        ("COUNT_ALLOC", count().not_null()),
        ("COUNT_FREE", count().not_null()),
        ("SUM_NUMBER_OF_BYTES_ALLOC", count().not_null()),
        ("SUM_NUMBER_OF_BYTES_FREE", count().not_null()),
        ("LOW_COUNT_USED", signed().not_null()),
        ("CURRENT_COUNT_USED", signed().not_null()),
        ("HIGH_COUNT_USED", signed().not_null()),
        ("LOW_NUMBER_OF_BYTES_USED", signed().not_null()),
        ("CURRENT_NUMBER_OF_BYTES_USED", signed().not_null()),
        ("HIGH_NUMBER_OF_BYTES_USED", signed().not_null()),
    ];
    VirtualTable { def: performance_schema("memory_summary_global_by_event_name", Kind::ALL.len() as f64, columns), rows }
}

fn rows(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let held = |bytes: u64| Figures { bytes, bytes_max: bytes, booked: u64::from(bytes > 0), booked_bytes: bytes, unbooked: 0 };
    let mut rest = heap::heap_bytes();
    let mut rows = Vec::new();
    for kind in Kind::ALL.iter().copied() {
        // Who knows its size need not book it.
        let figures = match kind {
            Kind::Plans => held(core.shared.plans.bytes() + core.shared.samples.bytes()),
            kind => heap::figures(kind),
        };
        if kind.is_heap() {
            rest = rest.saturating_sub(figures.bytes);
        }
        rows.push(row(kind.name(), figures));
    }
    rows.push(row(REST, Figures { bytes_max: heap::heap_bytes_max(), ..held(rest) }));
    Ok(listed(rows))
}

fn row(name: &str, figures: Figures) -> Vec<Value> {
    let used = figures.booked.saturating_sub(figures.unbooked) as i64;
    vec![
        format!("memory/{name}").into(),
        Value::UInt(figures.booked),
        Value::UInt(figures.unbooked),
        Value::UInt(figures.booked_bytes),
        Value::UInt(figures.booked_bytes.saturating_sub(figures.bytes)),
        Value::Int(0),
        Value::Int(used),
        Value::Int(used),
        Value::Int(0),
        Value::Int(figures.bytes as i64),
        Value::Int(figures.bytes_max as i64),
    ]
}
