//! `information_schema.TABLE_CONSTRAINTS`, `KEY_COLUMN_USAGE` and `CHECK_CONSTRAINTS`: primary and unique keys, and CHECK constraints. There are no foreign keys.

use super::VirtualTable;
use super::column::{bytes_text, folded, information_schema, long_text, unsigned_int};
use super::listing::each_table;
use crate::context::Core;
use crate::show;
use catalog::{CheckDef, IndexDef, TableDef, VirtualRequest};
use executor::VirtualRows;
use types::{TypeKind, Value};

pub(super) fn table_constraints() -> VirtualTable {
    let columns = vec![
        ("CONSTRAINT_CATALOG", bytes_text(64).not_null()),
        ("CONSTRAINT_SCHEMA", bytes_text(64).not_null()),
        ("CONSTRAINT_NAME", folded(64)),
        ("TABLE_SCHEMA", bytes_text(64).not_null()),
        ("TABLE_NAME", bytes_text(64).not_null()),
        ("CONSTRAINT_TYPE", bytes_text(11).not_null()),
        ("ENFORCED", bytes_text(3).not_null()),
    ];
    VirtualTable { def: information_schema("TABLE_CONSTRAINTS", &["TABLE_SCHEMA", "TABLE_NAME"], 1500.0, columns), rows: constraints }
}

pub(super) fn key_column_usage() -> VirtualTable {
    let columns = vec![
        ("CONSTRAINT_CATALOG", bytes_text(64).not_null()),
        ("CONSTRAINT_SCHEMA", bytes_text(64).not_null()),
        ("CONSTRAINT_NAME", folded(64)),
        ("TABLE_CATALOG", bytes_text(64).not_null()),
        ("TABLE_SCHEMA", bytes_text(64).not_null()),
        ("TABLE_NAME", bytes_text(64).not_null()),
        ("COLUMN_NAME", folded(64)),
        ("ORDINAL_POSITION", unsigned_int().not_null()),
        ("POSITION_IN_UNIQUE_CONSTRAINT", unsigned_int()),
        ("REFERENCED_TABLE_SCHEMA", bytes_text(64)),
        ("REFERENCED_TABLE_NAME", bytes_text(64)),
        ("REFERENCED_COLUMN_NAME", folded(64)),
    ];
    VirtualTable { def: information_schema("KEY_COLUMN_USAGE", &["TABLE_SCHEMA", "TABLE_NAME"], 2000.0, columns), rows: key_columns }
}

fn unique_keys(def: &TableDef) -> impl Iterator<Item = &IndexDef> {
    def.indexes.iter().filter(|index| index.unique && !index.parts.is_empty())
}

fn constraints(core: &mut Core, request: &VirtualRequest) -> executor::Result<VirtualRows> {
    each_table(core, request, |listed| {
        let Some(def) = listed.def() else { return Vec::new() };
        let row = |index: &IndexDef| {
            vec![
                "def".into(),
                def.database.as_str().into(),
                index.name.as_str().into(),
                def.database.as_str().into(),
                def.name.as_str().into(),
                if index.name == "PRIMARY" { "PRIMARY KEY" } else { "UNIQUE" }.into(),
                "YES".into(),
            ]
        };
        let of_check = |check: &CheckDef| {
            vec![
                "def".into(),
                def.database.as_str().into(),
                check.name.as_str().into(),
                def.database.as_str().into(),
                def.name.as_str().into(),
                "CHECK".into(),
                if check.enforced { "YES" } else { "NO" }.into(),
            ]
        };
        unique_keys(def).map(row).chain(def.checks.iter().map(of_check)).collect()
    })
}

pub(super) fn check_constraints() -> VirtualTable {
    let columns = vec![
        ("CONSTRAINT_CATALOG", bytes_text(64).not_null()),
        ("CONSTRAINT_SCHEMA", bytes_text(64).not_null()),
        ("CONSTRAINT_NAME", folded(64).not_null()),
        ("CHECK_CLAUSE", long_text(TypeKind::LongText).not_null()),
    ];
    // A constraint does not say its table, so that no column leads to rows.
    VirtualTable { def: information_schema("CHECK_CONSTRAINTS", &[], 1500.0, columns), rows: checks }
}

fn checks(core: &mut Core, request: &VirtualRequest) -> executor::Result<VirtualRows> {
    each_table(core, request, |listed| {
        let Some(def) = listed.def() else { return Vec::new() };
        let row = |check: &CheckDef| {
            vec!["def".into(), def.database.as_str().into(), check.name.as_str().into(), show::escaped(&check.text).into()]
        };
        def.checks.iter().map(row).collect()
    })
}

fn key_columns(core: &mut Core, request: &VirtualRequest) -> executor::Result<VirtualRows> {
    each_table(core, request, |listed| {
        let Some(def) = listed.def() else { return Vec::new() };
        let mut rows = Vec::new();
        for index in unique_keys(def) {
            for (at, part) in index.parts.iter().enumerate() {
                rows.push(vec![
                    "def".into(),
                    def.database.as_str().into(),
                    index.name.as_str().into(),
                    "def".into(),
                    def.database.as_str().into(),
                    def.name.as_str().into(),
                    def.columns[part.column].name.as_str().into(),
                    Value::UInt(at as u64 + 1),
                    Value::Null,
                    Value::Null,
                    Value::Null,
                    Value::Null,
                ]);
            }
        }
        rows
    })
}
