//! CREATE, ALTER and DROP DATABASE.

use super::options::database_collation;
use super::{DdlDone, FullName};
use crate::client_session::ClientSession;
use crate::error_map::Outcome;
use crate::virtual_tables::refuse_change;
use base::TableId;
use catalog::CatalogError;
use mysql_error::{SqlError, codes};
use parser::ast::{AlterDatabase, CreateDatabase};
use protocol::ServerStatus;
use types::Collation;

pub(super) fn create(session: &mut ClientSession, create: &CreateDatabase<'_>) -> Result<DdlDone, Outcome> {
    let name = create.name;
    if name.is_empty() || name.ends_with(' ') || name.contains('\0') {
        return Err(codes::wrong_db_name(name).into());
    }
    refuse_change(&session.core, name)?;
    let collation = database_collation(&create.options, server_collation(session))?;
    let catalog = session.shared().catalog.clone();
    match catalog.create_database(&mut session.engine, name, collation) {
        Ok(()) => Ok(DdlDone::of(1)),
        Err(CatalogError::DatabaseExists(_)) if create.if_not_exists => {
            session.ddl_note(codes::db_create_exists(name));
            Ok(DdlDone::of(1))
        }
        Err(error) => Err(session.catalog_error(error)),
    }
}

/// `collation_server`.
fn server_collation(session: &ClientSession) -> Collation {
    match session.core.variables.get(crate::variables::variable!("collation_server")) {
        types::Value::Bytes(name) => Collation::from_name(&name.to_text()).unwrap_or(Collation::DEFAULT),
        _ => Collation::DEFAULT,
    }
}

pub(super) fn alter(session: &mut ClientSession, alter: &AlterDatabase<'_>) -> Result<DdlDone, Outcome> {
    let name = match alter.name.or(session.core.database.as_deref()) {
        Some(name) => name.to_owned(),
        None => return Err(codes::no_db_error().into()),
    };
    refuse_change(&session.core, &name)?;
    let catalog = session.shared().catalog.clone();
    let def = match catalog.database(&name) {
        Ok(def) => def,
        Err(CatalogError::UnknownDatabase(_)) => {
            let message = format!("Database '{name}' doesn't exist");
            return Err(SqlError { code: 3503, sqlstate: *b"42Y07", message }.into());
        }
        Err(error) => return Err(session.catalog_error(error)),
    };
    let collation = database_collation(&alter.options, def.collation)?;
    if collation != def.collation {
        catalog.alter_database(&mut session.engine, &name, collation).map_err(|error| session.catalog_error(error))?;
    }
    if session.core.database.as_deref() == Some(&*name) {
        session.use_database(&name)?;
    }
    Ok(DdlDone::of(1))
}

pub(super) fn drop(session: &mut ClientSession, name: &str, if_exists: bool) -> Result<DdlDone, Outcome> {
    refuse_change(&session.core, name)?;
    let catalog = session.shared().catalog.clone();
    if let Err(error) = catalog.database(name) {
        return match error {
            CatalogError::UnknownDatabase(_) if if_exists => {
                session.ddl_note(codes::db_drop_exists(name));
                Ok(DdlDone::NOTHING)
            }
            CatalogError::UnknownDatabase(_) => Err(codes::db_drop_exists(name).into()),
            error => Err(session.catalog_error(error)),
        };
    }
    loop {
        let names = table_names(session, name)?;
        let views = session.views_of(&names)?;
        let tables: Vec<FullName> = names.iter().filter(|name| !views.contains(name)).cloned().collect();
        let views = session.lock_views(&views)?;
        let locked = session.lock_tables(&tables)?;
        session.refuse_referenced(&tables)?;
        let ids: Vec<TableId> = views.iter().map(|view| view.entry.def.id).chain(locked.iter().map(|table| table.entry.def.id)).collect();
        // A table made while the others were waited for must be locked, too.
        let Some(dropped) = catalog.drop_database(&mut session.engine, name, &ids).map_err(|error| session.catalog_error(error))? else {
            continue;
        };
        session.forget_database(name);
        session.told_status.insert(ServerStatus::DB_DROPPED);
        return Ok(DdlDone::of(dropped as u64));
    }
}

fn table_names(session: &ClientSession, database: &str) -> Result<Vec<FullName>, Outcome> {
    let names = session.shared().catalog.table_names(database).map_err(|error| session.catalog_error(error))?;
    Ok(names.into_iter().map(|table| FullName { database: database.into(), table }).collect())
}
