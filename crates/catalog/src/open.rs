//! From a definition to an open table of the engine.

use crate::def::{ColumnDef, TableDef};
use crate::error::{CatalogError, Result};
use engine::{IndexSpec, TableSpec};
use record::{ColumnSource, RowLayout};
use std::sync::Arc;
use types::ColumnType;

/// What the engine needs to know of a table.
pub fn table_spec(def: &TableDef) -> Result<TableSpec> {
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

/// Layouts of all schema versions that rows may carry, oldest first. Columns are only ever added at the end without a copy, so the rows of
/// version `v` hold the columns that were added in `v` or before, in order.
fn layouts(def: &TableDef) -> Result<Vec<Arc<RowLayout>>> {
    let mut versions: Vec<u16> = def.columns.iter().map(|c| c.added_in).chain([def.schema_version]).collect();
    versions.sort_unstable();
    versions.dedup();
    versions.iter().map(|version| layout(def, *version).map(Arc::new)).collect()
}

fn layout(def: &TableDef, version: u16) -> Result<RowLayout> {
    let all: Vec<ColumnType> = def.columns.iter().map(|c| c.ty.clone()).collect();
    if version == def.schema_version {
        return Ok(RowLayout::new(&all, version));
    }
    let is_stored = |column: &ColumnDef| column.added_in <= version;
    let stored: Vec<ColumnType> = def.columns.iter().filter(|c| is_stored(c)).map(|c| c.ty.clone()).collect();
    let mut at = 0;
    let columns: Vec<(ColumnType, ColumnSource)> = def
        .columns
        .iter()
        .map(|column| {
            let source = if is_stored(column) {
                at += 1;
                ColumnSource::Stored(at - 1)
            } else {
                ColumnSource::Default(column.instant_default.clone())
            };
            (column.ty.clone(), source)
        })
        .collect();
    RowLayout::of_older_version(&stored, version, &columns)
        .map_err(|e| CatalogError::Damaged(format!("table {}.{}: {e}", def.database, def.name)))
}
