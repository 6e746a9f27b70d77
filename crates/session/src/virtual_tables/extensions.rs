//! `information_schema.TABLES_EXTENSIONS`, `COLUMNS_EXTENSIONS`, `TABLE_CONSTRAINTS_EXTENSIONS` and `SCHEMATA_EXTENSIONS`: attributes for engines, of which
//! no object here has any.

use super::column::{bytes_text, folded, information_schema};
use super::listing::{Listed, database_names, each_table};
use super::{VirtualTable, listed};
use crate::context::Core;
use crate::show;
use catalog::{HIDDEN_PRIMARY, IndexDef, VirtualRequest, VirtualRow, Visibility};
use executor::VirtualRows;
use std::sync::Arc;
use types::{ColumnType, TypeKind, Value};

/// All of them.
pub(super) fn definitions() -> Vec<VirtualTable> {
    let json = || ColumnType::new(TypeKind::Json);
    let attributes = || [("ENGINE_ATTRIBUTE", json()), ("SECONDARY_ENGINE_ATTRIBUTE", json())];
    let place = || {
        vec![
            ("TABLE_CATALOG", bytes_text(64).not_null()),
            ("TABLE_SCHEMA", bytes_text(64).not_null()),
            ("TABLE_NAME", bytes_text(64).not_null()),
        ]
    };
    let keys = &["TABLE_SCHEMA", "TABLE_NAME"];
    let mut of_tables = place();
    of_tables.extend(attributes());
    let mut of_columns = place();
    of_columns.push(("COLUMN_NAME", folded(64)));
    of_columns.extend(attributes());
    let mut of_constraints = vec![
        ("CONSTRAINT_CATALOG", bytes_text(64).not_null()),
        ("CONSTRAINT_SCHEMA", bytes_text(64).not_null()),
        ("CONSTRAINT_NAME", folded(64).not_null()),
        ("TABLE_NAME", bytes_text(64).not_null()),
    ];
    of_constraints.extend(attributes());
    let of_schemata =
        vec![("CATALOG_NAME", bytes_text(64).not_null()), ("SCHEMA_NAME", bytes_text(64).not_null()), ("OPTIONS", folded(256))];
    vec![
        VirtualTable { def: information_schema("TABLES_EXTENSIONS", keys, 1000.0, of_tables), rows: table_rows },
        VirtualTable { def: information_schema("COLUMNS_EXTENSIONS", keys, 10_000.0, of_columns), rows: column_rows },
        VirtualTable {
            def: information_schema("TABLE_CONSTRAINTS_EXTENSIONS", &["CONSTRAINT_SCHEMA", "TABLE_NAME"], 1500.0, of_constraints),
            rows: constraint_rows,
        },
        VirtualTable { def: information_schema("SCHEMATA_EXTENSIONS", &["SCHEMA_NAME"], 10.0, of_schemata), rows: schema_rows },
    ]
}

/// Database and name of what is listed.
fn place(listed: &Listed) -> (&str, &str) {
    match listed {
        Listed::Open(entry) => (&entry.def.database, &entry.def.name),
        Listed::Stored(def) => (&def.database, &def.name),
        Listed::View(view) => (&view.def.database, &view.def.name),
        Listed::Computed(database, def) => (database.name, def.name),
    }
}

/// A row: where the object is, and no attributes.
fn row(parts: &[&str]) -> VirtualRow {
    parts.iter().map(|part| Value::from(*part)).chain([Value::Null, Value::Null]).collect()
}

fn table_rows(core: &mut Core, request: &VirtualRequest) -> executor::Result<VirtualRows> {
    each_table(core, request, |listed| {
        let (database, name) = place(listed);
        vec![row(&["def", database, name])]
    })
}

fn column_rows(core: &mut Core, request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let shared = Arc::clone(&core.shared);
    let shows = core.shows();
    each_table(core, request, move |listed| {
        let (database, name) = place(listed);
        let may_see = |column: &str| !shows.column(database, name, column).is_empty();
        let columns: Vec<&str> = match listed {
            // Its definition names columns only where the statement did. An invalid one has none.
            Listed::View(view) => {
                let columns = show::view_columns(&shared, view).unwrap_or_default().into_iter().map(|shown| shown.column.name);
                return columns.filter(|column| may_see(column)).map(|column| row(&["def", database, name, &column])).collect();
            }
            Listed::Computed(_, def) => def.columns.iter().map(|column| column.name).collect(),
            Listed::Open(_) | Listed::Stored(_) => {
                let columns = listed.def().into_iter().flat_map(|def| &def.columns);
                let seen = columns.filter(|column| column.visibility != Visibility::Hidden && may_see(&column.name));
                seen.map(|column| column.name.as_str()).collect()
            }
        };
        columns.into_iter().map(|column| row(&["def", database, name, column])).collect()
    })
}

/// As in MySQL, of all indexes, whether they constrain anything or not; the index of a table without a primary key is called like one.
fn constraint_rows(core: &mut Core, request: &VirtualRequest) -> executor::Result<VirtualRows> {
    each_table(core, request, |listed| {
        let Some(def) = listed.def() else { return Vec::new() };
        let name = |index: &IndexDef| if index.name == HIDDEN_PRIMARY { "PRIMARY".to_owned() } else { index.name.clone() };
        def.indexes.iter().map(|index| row(&["def", &def.database, &name(index), &def.name])).collect()
    })
}

fn schema_rows(core: &mut Core, request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let names = database_names(core, request)?;
    Ok(listed(names.into_iter().map(|name| vec!["def".into(), name.into(), "".into()]).collect()))
}
