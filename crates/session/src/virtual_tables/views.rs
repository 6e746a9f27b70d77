//! `information_schema.VIEWS` and `VIEW_TABLE_USAGE`.

use super::VirtualTable;
use super::column::{bytes_text, folded, information_schema, long_text, one_of};
use super::listing::{Listed, each_table};
use crate::context::Core;
use catalog::{VirtualRequest, VirtualRow};
use executor::VirtualRows;
use types::{Collation, TypeKind};

pub(super) fn views() -> VirtualTable {
    let columns = vec![
        ("TABLE_CATALOG", bytes_text(64).not_null()),
        ("TABLE_SCHEMA", bytes_text(64).not_null()),
        ("TABLE_NAME", bytes_text(64).not_null()),
        ("VIEW_DEFINITION", long_text(TypeKind::LongText)),
        ("CHECK_OPTION", one_of(&["NONE", "LOCAL", "CASCADED"], Collation::Utf8mb3Bin)),
        ("IS_UPDATABLE", one_of(&["NO", "YES"], Collation::Utf8mb3Bin)),
        ("DEFINER", bytes_text(288)),
        ("SECURITY_TYPE", bytes_text(7)),
        ("CHARACTER_SET_CLIENT", folded(64).not_null()),
        ("COLLATION_CONNECTION", folded(64).not_null()),
    ];
    VirtualTable { def: information_schema("VIEWS", &["TABLE_SCHEMA", "TABLE_NAME"], 100.0, columns), rows: view_rows }
}

pub(super) fn view_table_usage() -> VirtualTable {
    let columns = vec![
        ("VIEW_CATALOG", bytes_text(64).not_null()),
        ("VIEW_SCHEMA", bytes_text(64).not_null()),
        ("VIEW_NAME", bytes_text(64).not_null()),
        ("TABLE_CATALOG", bytes_text(64).not_null()),
        ("TABLE_SCHEMA", bytes_text(64).not_null()),
        ("TABLE_NAME", bytes_text(64).not_null()),
    ];
    VirtualTable { def: information_schema("VIEW_TABLE_USAGE", &["VIEW_SCHEMA", "VIEW_NAME"], 200.0, columns), rows: usage_rows }
}

fn view_rows(core: &mut Core, request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let shows = core.shows();
    each_table(core, request, move |listed| {
        let Listed::View(view) = listed else { return Vec::new() };
        let def = &view.def;
        vec![vec![
            "def".into(),
            def.database.as_str().into(),
            def.name.as_str().into(),
            if shows.definition(def) { def.query.as_str() } else { "" }.into(),
            def.check.word().into(),
            if def.updatable { "YES" } else { "NO" }.into(),
            format!("{}@{}", def.definer_user, def.definer_host).into(),
            if def.invoker { "INVOKER" } else { "DEFINER" }.into(),
            def.client_charset.as_str().into(),
            def.connection_collation.as_str().into(),
        ]]
    })
}

fn usage_rows(core: &mut Core, request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let shows = core.shows();
    each_table(core, request, move |listed| {
        let Listed::View(view) = listed else { return Vec::new() };
        let def = &view.def;
        if !shows.definition(def) {
            return Vec::new();
        }
        let row = |(database, table): &(String, String)| -> VirtualRow {
            let (view_database, view_name) = (def.database.as_str(), def.name.as_str());
            vec!["def".into(), view_database.into(), view_name.into(), "def".into(), database.as_str().into(), table.as_str().into()]
        };
        def.tables.iter().filter(|(database, table)| shows.table(database, table)).map(row).collect()
    })
}
