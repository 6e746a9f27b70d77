//! `mysql.engine_cost`, `mysql.server_cost` and `sys.sys_config`: settings that MySQL keeps in tables. Nobody can change them here, so they show what holds where nobody has:
//! costs that nobody has set and MySQL's own, and what the functions of `sys` go by. Our optimizer has costs of its own (`planner`), in other units.

use super::column::{columns, define_in, folded, text};
use super::{MYSQL, SYS, VirtualTable, listed};
use catalog::VirtualRow;
use planner::sys_functions::CONFIG;
use types::{ColumnType, Timestamp, TypeKind, Value};

/// Names and values of `engine_cost`.
const OF_ENGINES: [(&str, f32); 2] = [("io_block_read_cost", 1.0), ("memory_block_read_cost", 0.25)];

/// Names and values of `server_cost`.
const OF_SERVER: [(&str, f32); 6] = [
    ("disk_temptable_create_cost", 20.0),
    ("disk_temptable_row_cost", 0.5),
    ("key_compare_cost", 0.05),
    ("memory_temptable_create_cost", 1.0),
    ("memory_temptable_row_cost", 0.1),
    ("row_evaluate_cost", 0.1),
];

pub(super) fn tables() -> Vec<VirtualTable> {
    let real = || ColumnType::new(TypeKind::Float);
    let moment = || ColumnType::new(TypeKind::Timestamp);
    let cost = || {
        let kept = [("cost_value", real()), ("last_update", moment().not_null()), ("comment", folded(1024)), ("default_value", real())];
        std::iter::once(("cost_name", folded(64).not_null())).chain(kept)
    };
    let of_engine = [("engine_name", folded(64).not_null()), ("device_type", ColumnType::int().not_null())];
    let config = vec![("variable", text(128).not_null()), ("value", text(128)), ("set_time", moment()), ("set_by", text(128))];
    vec![
        VirtualTable {
            def: define_in(MYSQL, "engine_cost", columns(of_engine.into_iter().chain(cost()).collect())),
            rows: |_, _| {
                let row = |(name, value): (&str, f32)| {
                    let mut row: VirtualRow = vec!["default".into(), Value::Int(0)];
                    row.extend(cost_row(name, value));
                    row
                };
                Ok(listed(OF_ENGINES.into_iter().map(row).collect()))
            },
        },
        VirtualTable {
            def: define_in(MYSQL, "server_cost", columns(cost().collect())),
            rows: |_, _| Ok(listed(OF_SERVER.into_iter().map(|(name, value)| cost_row(name, value)).collect())),
        },
        VirtualTable {
            def: define_in(SYS, "sys_config", columns(config)),
            rows: |_, _| {
                let row = |(name, value): &(&str, Option<&str>)| vec![(*name).into(), (*value).into(), never(), Value::Null];
                Ok(listed(CONFIG.iter().map(row).collect()))
            },
        },
    ]
}

/// When it was changed.
fn never() -> Value {
    Value::Timestamp(Timestamp::ZERO)
}

fn cost_row(name: &str, value: f32) -> VirtualRow {
    vec![name.into(), Value::Null, never(), Value::Null, Value::Float(value)]
}
