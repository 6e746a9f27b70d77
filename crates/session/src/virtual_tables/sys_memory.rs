//! Views of `sys` about memory and figures: what schemas and tables have in the buffer pool, all memory, and `metrics`, which has all counters under one roof.
//! What they compute is in the manual ("sys Schema Views").

use super::buffer_pool::{Usage, usage};
use super::column::{folded, long_folded, long_words, text};
use super::innodb_metrics::figures;
use super::sys::define;
use super::{VirtualTable, listed};
use crate::context::Core;
use crate::show::status_list;
use catalog::{VirtualRequest, VirtualRow};
use executor::{StatementContext, VirtualRows, format_bytes};
use std::collections::{BTreeMap, HashSet};
use types::{ColumnType, Decimal, LocalTime, Timestamp, TypeKind, Value};

pub(super) fn tables() -> Vec<VirtualTable> {
    let stats = |names: &[&'static str], raw: bool| {
        let amount = || if raw { ColumnType::decimal(44, 0) } else { folded(11) };
        let mut list: Vec<(&'static str, ColumnType)> = names.iter().map(|name| (*name, long_folded(TypeKind::Text))).collect();
        list.extend([("allocated", amount()), ("data", amount())]);
        list.extend(["pages", "pages_hashed", "pages_old"].map(|name| (name, ColumnType::bigint().not_null())));
        let rows = ColumnType::decimal(45, 0);
        list.push(("rows_cached", if raw { rows.not_null() } else { rows }));
        list
    };
    let (schema, table): (&[&str], &[&str]) = (&["object_schema"], &["object_schema", "object_name"]);
    let metrics = vec![
        ("Variable_name", text(193).not_null()),
        ("Variable_value", long_words(TypeKind::Text)),
        ("Type", folded(210).not_null()),
        ("Enabled", text(7).not_null()),
    ];
    let total = |ty| vec![("total_allocated", ty)];
    vec![
        VirtualTable { def: define("innodb_buffer_stats_by_schema", stats(schema, false)), rows: |core, _| by_schema(core, false) },
        VirtualTable { def: define("x$innodb_buffer_stats_by_schema", stats(schema, true)), rows: |core, _| by_schema(core, true) },
        VirtualTable { def: define("innodb_buffer_stats_by_table", stats(table, false)), rows: |core, _| by_table(core, false) },
        VirtualTable { def: define("x$innodb_buffer_stats_by_table", stats(table, true)), rows: |core, _| by_table(core, true) },
        VirtualTable { def: define("memory_global_total", total(folded(11))), rows: |_, _| Ok(listed(vec![vec![shown(held())]])) },
        VirtualTable {
            def: define("x$memory_global_total", total(ColumnType::decimal(41, 0))),
            rows: |_, _| Ok(listed(vec![vec![exact(held())]])),
        },
        VirtualTable { def: define("metrics", metrics), rows: metric_rows },
    ]
}

fn shown(bytes: u64) -> Value {
    format_bytes(bytes as f64).into()
}

fn exact(amount: u64) -> Value {
    Value::Decimal(Decimal::from(amount))
}

/// Bytes of all memory, as the sum of `performance_schema.memory_summary_global_by_event_name` is.
fn held() -> u64 {
    let booked = ::memory::Kind::ALL.iter().filter(|kind| !kind.is_heap()).map(|kind| ::memory::figures(*kind).bytes).sum::<u64>();
    booked + ::memory::heap_bytes()
}

/// Sums of what tables have in memory, the largest first.
fn rows_of(sums: Vec<(Vec<Value>, Sum)>, raw: bool) -> VirtualRows {
    let mut sums = sums;
    sums.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.pages));
    let amount = if raw { exact } else { shown };
    let row = |(names, sum): (Vec<Value>, Sum)| -> VirtualRow {
        let mut row = names;
        // Rounded, as MySQL does.
        let per_index = (sum.entries + sum.indexes / 2) / sum.indexes.max(1);
        row.extend([amount(sum.pages * base::PAGE_BYTES as u64), amount(sum.data_bytes)]);
        row.extend([sum.pages, 0, 0].map(|n| Value::Int(n as i64)));
        row.push(exact(per_index));
        row
    };
    listed(sums.into_iter().map(row).collect())
}

/// What is told of a table or a database.
struct Sum {
    pages: u64,
    data_bytes: u64,
    entries: u64,
    /// Different names of indexes.
    indexes: u64,
}

fn by_table(core: &mut Core, raw: bool) -> executor::Result<VirtualRows> {
    core.require_process()?;
    let of_table = |usage: Usage| {
        let def = &usage.entry.def;
        let names = vec![def.database.as_str().into(), def.name.as_str().into()];
        let indexes = usage.indexes.len() as u64;
        (names, Sum { pages: usage.pages, data_bytes: usage.data_bytes, entries: usage.entries, indexes })
    };
    Ok(rows_of(usage(core)?.into_iter().map(of_table).collect(), raw))
}

fn by_schema(core: &mut Core, raw: bool) -> executor::Result<VirtualRows> {
    core.require_process()?;
    let mut schemas: BTreeMap<String, (HashSet<String>, Sum)> = BTreeMap::new();
    for usage in usage(core)? {
        let def = &usage.entry.def;
        let empty = || (HashSet::new(), Sum { pages: 0, data_bytes: 0, entries: 0, indexes: 0 });
        let (names, sum) = schemas.entry(def.database.clone()).or_insert_with(empty);
        let cached = def.indexes.iter().filter(|index| usage.indexes.contains(&index.id));
        names.extend(cached.map(|index| index.name.to_lowercase()));
        sum.pages += usage.pages;
        sum.data_bytes += usage.data_bytes;
        sum.entries += usage.entries;
    }
    let with_names = |(schema, (names, sum)): (String, (HashSet<String>, Sum))| {
        let indexes = names.len() as u64;
        (vec![schema.into()], Sum { indexes, ..sum })
    };
    Ok(rows_of(schemas.into_iter().map(with_names).collect(), raw))
}

/// Figures of the buffer pool and of files that `global_status` tells, too: MySQL's view leaves them out.
const TOLD_TWICE: &[&str] = &["lock_row_lock_waits"];

fn metric_rows(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    core.require_process()?;
    let row = |name: String, value: String, kind: &str| -> VirtualRow { vec![name.into(), value.into(), kind.into(), "YES".into()] };
    let mut rows: Vec<(String, String, VirtualRow)> = Vec::new();
    let mut add = |name: String, value: String, kind: String| rows.push((kind.clone(), name.clone(), row(name, value, &kind)));
    for (name, value) in status_list(core, true).into_iter().filter(|(name, _)| !name.starts_with("Com_")) {
        add(name.to_lowercase(), value, "Global Status".into());
    }
    for (name, subsystem, count) in figures(core) {
        if subsystem != "buffer" && !TOLD_TWICE.contains(&name) {
            add(name.into(), count.to_string(), format!("InnoDB Metrics - {subsystem}"));
        }
    }
    add("memory_current_allocated".into(), held().to_string(), "Performance Schema".into());
    let micros = core.statement_micros();
    let millis = Timestamp::from_micros(micros - micros.rem_euclid(1000));
    let mut now = Vec::new();
    core.settings.zone.to_local(millis).write_to(3, &mut now);
    add("NOW()".into(), String::from_utf8_lossy(&now).into_owned(), "System Time".into());
    add(
        "UNIX_TIMESTAMP()".into(),
        format!("{}.{:03}", micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000) / 1000),
        "System Time".into(),
    );
    rows.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    Ok(listed(rows.into_iter().map(|(_, _, row)| row).collect()))
}
