//! ANALYZE, CHECK, OPTIMIZE, REPAIR and CHECKSUM TABLE of computed tables (`virtual_tables`): MySQL answers for its tables of `mysql`, `sys` and
//! `performance_schema` as for others, and tools that go through all databases (`mysqlcheck`) ask. There is nothing to be done here.

use super::{FullName, full_name};
use crate::client_session::ClientSession;
use crate::error_map::Outcome;
use crate::virtual_tables::{self, VirtualDatabase};
use ::accounts::Privileges;
use mysql_error::{SqlError, codes};
use parser::ast::{Maintenance, ObjectName};

/// A table that a maintenance statement names. Of those that MySQL does not let anybody maintain it says who may not.
pub(super) fn maintained_name(session: &ClientSession, name: &ObjectName<'_>, kind: Maintenance) -> Result<FullName, SqlError> {
    let schema = name.schema.or(session.core.database.as_deref());
    let Some(database) = schema.and_then(virtual_tables::database) else { return full_name(session, name) };
    let only_looks = matches!(kind, Maintenance::Check | Maintenance::Checksum);
    let table = match database.table(name.name) {
        _ if database.any_case && !only_looks => return full_name(session, name),
        Ok(def) => def.name,
        Err(error) if database.any_case => return Err(error),
        Err(_) => name.name,
    };
    if is_performance_schema(database) && !only_looks && database.table(table).is_ok() {
        return Err(session.core.table_denied(Privileges::SELECT.with(Privileges::INSERT), table));
    }
    Ok(FullName { database: database.name.into(), table: table.into() })
}

fn is_performance_schema(database: &VirtualDatabase) -> bool {
    database.engine() == Some("PERFORMANCE_SCHEMA")
}

/// Whether a name is of a table that is a view in MySQL.
fn is_view(database: &VirtualDatabase, table: &str) -> bool {
    database.any_case || database.name == virtual_tables::SYS && table != "sys_config"
}

/// Answers for a computed table. `None`: it is none.
pub(super) fn maintain(
    name: &FullName,
    kind: Maintenance,
    options: &[&str],
    say: &mut impl FnMut(&str, String),
) -> Option<Result<(), Outcome>> {
    let database = virtual_tables::database(&name.database)?;
    Some(maintain_in(database, name, kind, options, say))
}

fn maintain_in(
    database: &VirtualDatabase,
    name: &FullName,
    kind: Maintenance,
    options: &[&str],
    say: &mut impl FnMut(&str, String),
) -> Result<(), Outcome> {
    let def = database.table(&name.table)?;
    if is_view(database, &name.table) {
        return match kind {
            Maintenance::Check => {
                say("status", "OK".into());
                Ok(())
            }
            _ => Err(codes::wrong_object(&name.database, &name.table, "BASE TABLE").into()),
        };
    }
    let is_log = virtual_tables::comment_of(def).is_some();
    match kind {
        Maintenance::Check if is_performance_schema(database) && options.is_empty() => {
            say("note", "The storage engine for the table doesn't support check".into());
        }
        Maintenance::Analyze if is_log => say("note", "The storage engine for the table doesn't support analyze".into()),
        Maintenance::Optimize if is_log => say("note", "The storage engine for the table doesn't support optimize".into()),
        Maintenance::Repair if !is_log => say("note", "The storage engine for the table doesn't support repair".into()),
        Maintenance::Optimize => {
            say("note", "Table does not support optimize, doing recreate + analyze instead".into());
            say("status", "OK".into());
        }
        _ => say("status", "OK".into()),
    }
    Ok(())
}

/// CHECKSUM TABLE of a computed table has no sum: its rows are made anew each time.
pub(super) fn checksum(name: &FullName) -> Option<Result<(), Outcome>> {
    let database = virtual_tables::database(&name.database)?;
    Some(match database.table(&name.table) {
        Ok(_) if is_view(database, &name.table) => Err(codes::wrong_object(&name.database, &name.table, "BASE TABLE").into()),
        Ok(_) => Ok(()),
        Err(error) => Err(error.into()),
    })
}

/// What MySQL says of histograms of such a table.
pub(super) fn histogram_refusal(name: &FullName) -> Option<&'static str> {
    let database = virtual_tables::database(&name.database)?;
    Some(match is_view(database, &name.table) {
        true => "Cannot create histogram statistics for a view.",
        false => "Histograms are not supported on the MySQL system schema.",
    })
}
