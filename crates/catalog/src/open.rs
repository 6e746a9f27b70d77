//! From a definition to an open table of the engine.

use crate::def::TableDef;
use crate::error::{CatalogError, Result};
use crate::row_versions::{self, RowVersions};
use engine::{IndexSpec, TableSpec};
use record::RowLayout;
use std::sync::Arc;

/// What the engine needs to know of a table. [`CatalogError::Damaged`] when the definition names what it does not have: the engine relies on its
/// indexes' columns.
pub fn table_spec(def: &TableDef) -> Result<TableSpec> {
    if let Some(what) = disagreement(def) {
        return Err(CatalogError::Damaged(format!("table {}.{}: {what}", def.database, def.name)));
    }
    Ok(TableSpec {
        id: def.id,
        layouts: layouts(def)?,
        indexes: def
            .indexes
            .iter()
            .map(|index| IndexSpec { id: index.id, root: index.root, parts: index.parts.clone(), unique: index.unique })
            .collect(),
        auto_increment_start: def.auto_increment_start,
        auto_increment_column: def.auto_increment_column(),
    })
}

/// What a definition that can be decoded says against itself.
fn disagreement(def: &TableDef) -> Option<String> {
    if def.indexes.is_empty() {
        return Some("it has no primary index".into());
    }
    let columns = def.columns.len();
    for index in &def.indexes {
        if let Some(part) = index.parts.iter().find(|part| part.column >= columns) {
            return Some(format!("index {} is on column {} of {columns}", index.name, part.column + 1));
        }
    }
    if let Some(newer) = def.columns.iter().find(|column| column.added_in > def.schema_version) {
        return Some(format!("column {} is of schema version {}, after {}", newer.name, newer.added_in, def.schema_version));
    }
    RowVersions::disagreement(def)
}

/// Layouts of all schema versions that rows may carry, oldest first.
fn layouts(def: &TableDef) -> Result<Vec<Arc<RowLayout>>> {
    let layouts = row_versions::layouts(def).map_err(|e| CatalogError::Damaged(format!("table {}.{}: {e}", def.database, def.name)))?;
    Ok(layouts.into_iter().map(Arc::new).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::def::{ColumnDef, IndexDef};
    use base::{IndexId, PageNo, TableId};
    use record::KeyPart;
    use types::{ColumnType, Value};

    fn table(part: usize, added_in: u16, indexes: usize) -> TableDef {
        let column =
            |name: &str| ColumnDef { added_in, instant_default: Value::Int(0), ..ColumnDef::new(name, ColumnType::bigint().not_null()) };
        let index = |no: usize| IndexDef {
            id: IndexId(20 + no as u32),
            root: PageNo(900 + no as u64),
            ..IndexDef::new(format!("i{no}"), true, vec![KeyPart::ascending(if no == 0 { 0 } else { part })])
        };
        let indexes = (0..indexes).map(index).collect();
        TableDef { id: TableId(7), schema_version: 3, ..TableDef::new("d", "t", vec![column("c"), column("d")], indexes) }
    }

    #[test]
    fn a_definition_that_names_what_it_does_not_have_is_damaged() {
        assert!(table_spec(&table(1, 3, 2)).is_ok());
        for (part, added_in, indexes, what) in [
            (2, 3, 2, "damaged definition: table d.t: index i1 is on column 3 of 2"),
            (usize::MAX - 1, 3, 2, "damaged definition: table d.t: index i1 is on column 18446744073709551615 of 2"),
            (1, 4, 2, "damaged definition: table d.t: column c is of schema version 4, after 3"),
            (1, 3, 0, "damaged definition: table d.t: it has no primary index"),
        ] {
            assert_eq!(table_spec(&table(part, added_in, indexes)).unwrap_err().to_string(), what);
        }
    }
}
