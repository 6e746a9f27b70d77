//! `information_schema.SCHEMATA`: the databases.

use super::column::{bytes_text, folded, information_schema, octets, one_of};
use super::listing::database_names;
use super::{VirtualTable, database};
use crate::context::Core;
use catalog::{CatalogError, VirtualRequest};
use executor::VirtualRows;
use std::sync::Arc;
use types::{Collation, Value};

pub(super) fn table() -> VirtualTable {
    let columns = vec![
        ("CATALOG_NAME", bytes_text(64).not_null()),
        ("SCHEMA_NAME", bytes_text(64).not_null()),
        ("DEFAULT_CHARACTER_SET_NAME", folded(64).not_null()),
        ("DEFAULT_COLLATION_NAME", folded(64).not_null()),
        ("SQL_PATH", octets(0)),
        ("DEFAULT_ENCRYPTION", one_of(&["NO", "YES"], Collation::Utf8mb3Bin).not_null()),
    ];
    VirtualTable { def: information_schema("SCHEMATA", &["SCHEMA_NAME"], 20.0, columns), rows }
}

fn rows(core: &mut Core, request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let shared = Arc::clone(&core.shared);
    let names = database_names(core, request)?;
    Ok(Box::new(names.into_iter().filter_map(move |name| {
        let collation = match database(&name) {
            Some(database) => database.collation,
            None => match shared.catalog.database(&name) {
                Ok(def) => def.collation,
                // Dropped meanwhile.
                Err(CatalogError::UnknownDatabase(_)) => return None,
                Err(error) => return Some(Err(super::listing::failed(error))),
            },
        };
        Some(Ok(vec!["def".into(), name.into(), collation.charset().name().into(), collation.name().into(), Value::Null, "NO".into()]))
    })))
}
