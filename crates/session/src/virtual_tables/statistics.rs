//! `information_schema.STATISTICS`: the parts of indexes.

use super::attributes::attributes;
use super::column::{bytes_text, folded, information_schema, int, long_text, octets, unsigned_int};
use super::listing::{Listed, failed, tables};
use super::{PERFORMANCE_SCHEMA, VirtualTable};
use crate::context::Core;
use crate::ddl::has_generated_key;
use catalog::{TableDef, VirtualRequest, VirtualRow, VirtualTableDef, Visibility};
use executor::VirtualRows;
use std::sync::Arc;
use types::{ColumnType, TypeKind, Value};

/// Position of CARDINALITY, which needs the table open.
const CARDINALITY: usize = 9;

pub(super) fn table() -> VirtualTable {
    let columns = vec![
        ("TABLE_CATALOG", bytes_text(64).not_null()),
        ("TABLE_SCHEMA", bytes_text(64).not_null()),
        ("TABLE_NAME", bytes_text(64).not_null()),
        ("NON_UNIQUE", int().not_null()),
        ("INDEX_SCHEMA", bytes_text(64).not_null()),
        ("INDEX_NAME", folded(64)),
        ("SEQ_IN_INDEX", unsigned_int().not_null()),
        ("COLUMN_NAME", folded(64)),
        ("COLLATION", folded(1)),
        ("CARDINALITY", ColumnType::bigint()),
        ("SUB_PART", ColumnType::bigint()),
        ("PACKED", octets(0)),
        ("NULLABLE", folded(3).not_null()),
        ("INDEX_TYPE", bytes_text(11).not_null()),
        ("COMMENT", folded(8).not_null()),
        ("INDEX_COMMENT", bytes_text(2048).not_null()),
        ("IS_VISIBLE", folded(3).not_null()),
        ("EXPRESSION", long_text(TypeKind::LongText)),
    ];
    VirtualTable { def: information_schema("STATISTICS", &["TABLE_SCHEMA", "TABLE_NAME"], 3000.0, columns), rows }
}

fn rows(core: &mut Core, request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let shared = Arc::clone(&core.shared);
    let with_rows = request.uses(CARDINALITY);
    let generated_keys = core.tells_generated_keys();
    let of_table = move |listed: executor::Result<Listed>| {
        let made = listed.and_then(|listed| {
            let cardinality = match with_rows {
                true => listed.open(&shared).map_err(failed)?.map(|entry| entry.storage.rows_estimate() as i64),
                false => None,
            };
            Ok(match &listed {
                Listed::Computed(_, def) => of_computed(def),
                listed => listed.def().map_or_else(Vec::new, |def| of_stored(def, cardinality, generated_keys)),
            })
        });
        match made {
            Ok(rows) => rows.into_iter().map(Ok).collect::<Vec<_>>(),
            Err(error) => vec![Err(error)],
        }
    };
    Ok(Box::new(tables(core, request)?.flat_map(of_table)))
}

/// The row of SHOW INDEX: that of the table without catalogue and schemas.
pub(crate) fn index_rows_of_show(def: &TableDef, cardinality: i64, generated_keys: bool) -> impl Iterator<Item = VirtualRow> {
    of_stored(def, Some(cardinality), generated_keys).into_iter().map(without_place)
}

/// The same for a computed table.
pub(crate) fn computed_index_rows_of_show(def: &VirtualTableDef) -> impl Iterator<Item = VirtualRow> {
    of_computed(def).into_iter().map(without_place)
}

fn without_place(mut row: VirtualRow) -> VirtualRow {
    row.remove(4);
    row.drain(..2);
    row
}

/// The keys that MySQL's table has: those of `performance_schema` hash, and have no order.
fn of_computed(def: &VirtualTableDef) -> Vec<VirtualRow> {
    let hashes = def.database == PERFORMANCE_SCHEMA;
    let mut rows = Vec::new();
    for key in &attributes(def).keys {
        for (at, (column, descends)) in key.columns.iter().enumerate() {
            let nullable = def.column_index(column).is_some_and(|at| def.columns[at].ty.nullable);
            rows.push(vec![
                "def".into(),
                def.database.into(),
                def.name.into(),
                Value::Int(i64::from(!key.unique)),
                def.database.into(),
                key.name.into(),
                Value::UInt(at as u64 + 1),
                (*column).into(),
                match (hashes, *descends) {
                    (true, _) => Value::Null,
                    (false, true) => "D".into(),
                    (false, false) => "A".into(),
                },
                Value::Null,
                Value::Null,
                Value::Null,
                if nullable { "YES" } else { "" }.into(),
                if hashes { "HASH" } else { "BTREE" }.into(),
                "".into(),
                "".into(),
                "YES".into(),
                Value::Null,
            ]);
        }
    }
    rows
}

/// Rows of the keys; with `generated_keys` also of a primary one that was generated.
fn of_stored(def: &TableDef, cardinality: Option<i64>, generated_keys: bool) -> Vec<VirtualRow> {
    let mut rows = Vec::new();
    let hides = usize::from(!generated_keys && has_generated_key(def));
    for index in def.indexes[hides..].iter().filter(|index| !index.parts.is_empty()) {
        for (at, part) in index.parts.iter().enumerate() {
            let column = &def.columns[part.column];
            let expression = column.generated.as_ref().filter(|_| column.visibility == Visibility::Hidden);
            rows.push(vec![
                "def".into(),
                def.database.as_str().into(),
                def.name.as_str().into(),
                Value::Int(i64::from(!index.unique)),
                def.database.as_str().into(),
                index.name.as_str().into(),
                Value::UInt(at as u64 + 1),
                if expression.is_some() { Value::Null } else { column.name.as_str().into() },
                if part.descending { "D" } else { "A" }.into(),
                cardinality.into(),
                part.prefix_chars.map(i64::from).into(),
                Value::Null,
                if column.ty.nullable { "YES" } else { "" }.into(),
                "BTREE".into(),
                "".into(),
                index.comment.as_str().into(),
                if index.invisible { "NO" } else { "YES" }.into(),
                expression.map_or(Value::Null, |generated| crate::show::escaped(&generated.text).into()),
            ]);
        }
    }
    rows
}
