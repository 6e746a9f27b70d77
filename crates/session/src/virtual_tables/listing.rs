//! Going through databases and tables, as far as a request wants them: one table that is named costs one look.

use super::{DATABASES, VirtualDatabase, database};
use crate::context::Core;
use crate::error_map::catalog_error;
use crate::privileges::Shows;
use crate::shared::Shared;
use catalog::{CatalogError, TableDef, TableEntry, ViewEntry, VirtualRequest, VirtualRow, VirtualTableDef};
use executor::VirtualRows;
use mysql_error::codes;
use std::sync::Arc;

/// Position of the database among the keys of tables that are gone through here.
const DATABASE_KEY: usize = 0;
/// Position of the table.
const TABLE_KEY: usize = 1;

/// A table that is listed.
pub(super) enum Listed {
    /// A table that has been used: it is open.
    Open(Arc<TableEntry>),
    /// Its definition only: to list tables opens none.
    Stored(Box<TableDef>),
    /// A view.
    View(Arc<ViewEntry>),
    /// A computed one.
    Computed(&'static VirtualDatabase, &'static VirtualTableDef),
}

impl Listed {
    /// The definition of a stored table.
    pub fn def(&self) -> Option<&TableDef> {
        match self {
            Listed::Open(entry) => Some(&entry.def),
            Listed::Stored(def) => Some(def),
            Listed::View(_) | Listed::Computed(..) => None,
        }
    }

    /// The open table, opened when it is not. `None` for computed ones, and when it was dropped meanwhile.
    pub fn open(&self, shared: &Shared) -> catalog::Result<Option<Arc<TableEntry>>> {
        match self {
            Listed::Open(entry) => Ok(Some(Arc::clone(entry))),
            Listed::Stored(def) => existing(shared.catalog.table(&def.database, &def.name)),
            Listed::View(_) | Listed::Computed(..) => Ok(None),
        }
    }
}

/// What was found, if it (still) exists.
fn existing<T>(found: catalog::Result<T>) -> catalog::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(CatalogError::UnknownDatabase(_) | CatalogError::UnknownTable { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// An error of the catalogue among rows.
pub(super) fn failed(error: CatalogError) -> executor::Error {
    catalog_error(error, codes::query_interrupted).error.into()
}

/// The databases that a request wants and the session sees, by name.
pub(super) fn database_names(core: &Core, request: &VirtualRequest) -> executor::Result<Vec<String>> {
    let mut names = all_database_names(core, request)?;
    names.retain(|name| core.sees_database(name));
    Ok(names)
}

/// The databases that a request wants, whoever asks.
fn all_database_names(core: &Core, request: &VirtualRequest) -> executor::Result<Vec<String>> {
    let catalog = &core.shared.catalog;
    let mut names = match request.values(DATABASE_KEY) {
        Some(values) => {
            let mut names = Vec::with_capacity(values.len());
            for name in values {
                // A computed one is named as it is here, not in any case: names are compared by their bytes.
                let exists = match database(name) {
                    Some(database) => database.name == name,
                    None => existing(catalog.database(name)).map_err(failed)?.is_some(),
                };
                if exists {
                    names.push(name.clone());
                }
            }
            names
        }
        None => {
            let mut names = catalog.database_names().map_err(failed)?;
            names.extend(DATABASES.iter().map(|database| database.name.to_owned()));
            names
        }
    };
    names.sort_unstable();
    // One of an older directory may be named like a computed one, and is hidden by it.
    names.dedup();
    Ok(names)
}

type ListedTables = Box<dyn Iterator<Item = executor::Result<Listed>>>;

/// The tables that a request wants and the session is shown, one after the other.
pub(super) fn tables(core: &Core, request: &VirtualRequest) -> executor::Result<ListedTables> {
    Ok(tables_of(core, database_names(core, request)?, request, core.shows()))
}

/// The tables that a request wants, whoever asks: for tables that MySQL keeps as others, which who may read them reads whole.
pub(super) fn all_tables(core: &Core, request: &VirtualRequest) -> executor::Result<ListedTables> {
    Ok(tables_of(core, all_database_names(core, request)?, request, core.shows().everything()))
}

fn tables_of(core: &Core, names: Vec<String>, request: &VirtualRequest, shows: Shows) -> ListedTables {
    let shared = Arc::clone(&core.shared);
    let wanted: Option<Vec<String>> = request.values(TABLE_KEY).map(<[String]>::to_vec);
    let of_database = move |name: String| -> ListedTables {
        if let Some(database) = database(&name) {
            let mut tables = database.tables();
            tables.retain(|def| shows.table(def.database, def.name));
            tables.retain(|def| wanted.as_ref().is_none_or(|wanted| wanted.iter().any(|name| name == def.name)));
            return Box::new(tables.into_iter().map(move |def| Ok(Listed::Computed(database, def))));
        }
        let names = match &wanted {
            Some(wanted) => Ok(wanted.clone()),
            None => shared.catalog.table_names(&name),
        };
        match names {
            Ok(names) => {
                let (shared, shows) = (Arc::clone(&shared), shows.clone());
                Box::new(names.into_iter().filter_map(move |table| match shows.table(&name, &table) {
                    true => look_up(&shared, &name, &table).map_err(failed).transpose(),
                    false => None,
                }))
            }
            Err(error) => Box::new(std::iter::once(Err(failed(error)))),
        }
    };
    Box::new(names.into_iter().flat_map(of_database))
}

fn look_up(shared: &Shared, database: &str, table: &str) -> catalog::Result<Option<Listed>> {
    if let Some(entry) = shared.catalog.open_table(database, table) {
        return Ok(Some(Listed::Open(entry)));
    }
    if let Some(view) = shared.catalog.view(database, table)? {
        return Ok(Some(Listed::View(view)));
    }
    Ok(shared.catalog.definition(database, table)?.map(|def| Listed::Stored(Box::new(def))))
}

/// The rows that a function makes of each table.
pub(super) fn each_table(
    core: &Core,
    request: &VirtualRequest,
    make: impl Fn(&Listed) -> Vec<VirtualRow> + 'static,
) -> executor::Result<VirtualRows> {
    let rows = move |listed: executor::Result<Listed>| -> Vec<executor::Result<VirtualRow>> {
        match listed {
            Ok(listed) => make(&listed).into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        }
    };
    Ok(Box::new(tables(core, request)?.flat_map(rows)))
}
