//! `information_schema.TABLE_CONSTRAINTS`, `KEY_COLUMN_USAGE`, `REFERENTIAL_CONSTRAINTS` and `CHECK_CONSTRAINTS`: primary, unique and foreign keys, and CHECK
//! constraints.

use super::VirtualTable;
use super::attributes::{DeclaredKey, attributes};
use super::column::{bytes_text, folded, information_schema, long_text, one_of, unsigned_int};
use super::listing::{Listed, each_table};
use crate::context::Core;
use crate::ddl::has_generated_key;
use crate::privileges::Shows;
use crate::show;
use catalog::{CheckDef, ForeignKeyDef, IndexDef, TableDef, VirtualRequest, VirtualRow, VirtualTableDef, Visibility};
use executor::VirtualRows;
use types::{Collation, TypeKind, Value};

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

/// Unique keys; with `generated_keys` also a primary one that was generated.
fn unique_keys(def: &TableDef, generated_keys: bool) -> impl Iterator<Item = &IndexDef> {
    let hides = usize::from(!generated_keys && has_generated_key(def));
    def.indexes[hides..].iter().filter(|index| index.unique && !index.parts.is_empty())
}

fn constraints(core: &mut Core, request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let generated_keys = core.tells_generated_keys();
    each_table(core, request, move |listed| {
        if let Listed::Computed(_, def) = listed {
            return declared_constraints(def);
        }
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
        let foreign = |key: &ForeignKeyDef| {
            vec![
                "def".into(),
                def.database.as_str().into(),
                key.name.as_str().into(),
                def.database.as_str().into(),
                def.name.as_str().into(),
                "FOREIGN KEY".into(),
                "YES".into(),
            ]
        };
        unique_keys(def, generated_keys)
            .map(row)
            .chain(def.checks.iter().map(of_check))
            .chain(def.foreign_keys.iter().map(foreign))
            .collect()
    })
}

/// The unique keys that MySQL's table of a name has.
fn declared_keys(def: &VirtualTableDef) -> impl Iterator<Item = &'static DeclaredKey> {
    attributes(def).keys.iter().filter(|key| key.unique)
}

fn declared_constraints(def: &VirtualTableDef) -> Vec<VirtualRow> {
    let row = |key: &DeclaredKey| {
        vec![
            "def".into(),
            def.database.into(),
            key.name.into(),
            def.database.into(),
            def.name.into(),
            if key.is_primary() { "PRIMARY KEY" } else { "UNIQUE" }.into(),
            "YES".into(),
        ]
    };
    declared_keys(def).map(row).collect()
}

fn declared_columns(def: &VirtualTableDef, shows: &Shows) -> Vec<VirtualRow> {
    let mut rows = Vec::new();
    for key in declared_keys(def) {
        for (at, (column, _)) in key.columns.iter().enumerate() {
            if shows.column(def.database, def.name, column).is_empty() {
                continue;
            }
            let mut row: VirtualRow = vec![
                "def".into(),
                def.database.into(),
                key.name.into(),
                "def".into(),
                def.database.into(),
                def.name.into(),
                (*column).into(),
                Value::UInt(at as u64 + 1),
            ];
            // It refers to nothing.
            row.resize(12, Value::Null);
            rows.push(row);
        }
    }
    rows
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
    let generated_keys = core.tells_generated_keys();
    let shows = core.shows();
    each_table(core, request, move |listed| {
        if let Listed::Computed(_, def) = listed {
            return declared_columns(def, &shows);
        }
        let Some(def) = listed.def() else { return Vec::new() };
        let is_shown = |def: &TableDef, at: usize| !shows.column(&def.database, &def.name, &def.columns[at].name).is_empty();
        let mut rows = Vec::new();
        for index in unique_keys(def, generated_keys) {
            for (at, part) in index.parts.iter().enumerate() {
                // An expression of a key is no column, but it has its place.
                if def.columns[part.column].visibility == Visibility::Hidden || !is_shown(def, part.column) {
                    continue;
                }
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
        for key in &def.foreign_keys {
            for (at, (column, parent_column)) in key.columns.iter().zip(&key.parent_columns).enumerate() {
                if !is_shown(def, *column) {
                    continue;
                }
                rows.push(vec![
                    "def".into(),
                    def.database.as_str().into(),
                    key.name.as_str().into(),
                    "def".into(),
                    def.database.as_str().into(),
                    def.name.as_str().into(),
                    def.columns[*column].name.as_str().into(),
                    Value::UInt(at as u64 + 1),
                    Value::UInt(at as u64 + 1),
                    key.parent_database.as_str().into(),
                    key.parent_table.as_str().into(),
                    parent_column.as_str().into(),
                ]);
            }
        }
        rows
    })
}

pub(super) fn referential_constraints() -> VirtualTable {
    let actions = ["NO ACTION", "RESTRICT", "CASCADE", "SET NULL", "SET DEFAULT"];
    let columns = vec![
        ("CONSTRAINT_CATALOG", bytes_text(64).not_null()),
        ("CONSTRAINT_SCHEMA", bytes_text(64).not_null()),
        ("CONSTRAINT_NAME", folded(64)),
        ("UNIQUE_CONSTRAINT_CATALOG", bytes_text(64).not_null()),
        ("UNIQUE_CONSTRAINT_SCHEMA", bytes_text(64).not_null()),
        ("UNIQUE_CONSTRAINT_NAME", folded(64)),
        ("MATCH_OPTION", one_of(&["NONE", "PARTIAL", "FULL"], Collation::Utf8mb3Bin).not_null()),
        ("UPDATE_RULE", one_of(&actions, Collation::Utf8mb3Bin).not_null()),
        ("DELETE_RULE", one_of(&actions, Collation::Utf8mb3Bin).not_null()),
        ("TABLE_NAME", bytes_text(64).not_null()),
        ("REFERENCED_TABLE_NAME", bytes_text(64).not_null()),
    ];
    VirtualTable {
        def: information_schema("REFERENTIAL_CONSTRAINTS", &["CONSTRAINT_SCHEMA", "TABLE_NAME"], 500.0, columns),
        rows: references,
    }
}

fn references(core: &mut Core, request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let catalog = core.shared.catalog.clone();
    each_table(core, request, move |listed| {
        let Some(def) = listed.def() else { return Vec::new() };
        let row = |key: &ForeignKeyDef| {
            let own = key.refers_to(&def.database, &def.name);
            let found = if own { None } else { catalog.definition(&key.parent_database, &key.parent_table).ok().flatten() };
            let parent = if own { Some(def) } else { found.as_ref() };
            let unique = parent.and_then(|parent| {
                let columns: Option<Vec<usize>> = key.parent_columns.iter().map(|name| parent.column_index(name)).collect();
                parent.index_on(&columns?, true).map(|no| parent.indexes[no].name.clone())
            });
            vec![
                "def".into(),
                def.database.as_str().into(),
                key.name.as_str().into(),
                "def".into(),
                key.parent_database.as_str().into(),
                unique.map_or(Value::Null, |name| name.as_str().into()),
                "NONE".into(),
                key.on_update.words().into(),
                key.on_delete.words().into(),
                def.name.as_str().into(),
                key.parent_table.as_str().into(),
            ]
        };
        def.foreign_keys.iter().map(row).collect()
    })
}
