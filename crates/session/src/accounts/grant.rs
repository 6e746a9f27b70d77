//! GRANT and REVOKE of privileges.
//!
//! A statement is read first into a [`Change`]: privileges and where they are given. Then it is checked whether the session may give them, and then the accounts
//! are changed, all or none.

use super::user::names_of;
use crate::client_session::ClientSession;
use crate::error_map::{Outcome, catalog_error};
use crate::virtual_tables::is_emptied;
use ::accounts::{Account, AccountName, DYNAMIC, Level, Privileges, TableGrant, dynamic_name, is_for_columns, privilege};
use catalog::CatalogError;
use mysql_error::{SqlError, WarningLevel, codes};
use parser::ast::{self, GrantObject, Statement};
use std::collections::BTreeMap;

/// Where privileges are given.
enum Place {
    Global,
    Database(String),
    Table(String, String),
}

/// What a statement gives or takes.
struct Change {
    place: Place,
    privileges: Privileges,
    dynamic: Vec<&'static str>,
    columns: BTreeMap<String, Privileges>,
    with_grant: bool,
    /// ALL was said: of what is taken so, nothing need be there.
    all: bool,
    /// Words that are no privileges, which REVOKE warns of.
    unknown: Vec<String>,
}

/// Carries GRANT or REVOKE out.
pub(crate) fn run(session: &mut ClientSession, statement: &Statement<'_>) -> Result<(), Outcome> {
    match statement {
        Statement::Grant(grant) => give(session, grant),
        Statement::Revoke(revoke) if revoke.on.is_none() && revoke.proxy.is_none() => take_all(session, revoke),
        Statement::Revoke(revoke) => take(session, revoke),
        _ => Err(codes::not_supported_yet("this statement here").into()),
    }
}

fn give(session: &mut ClientSession, grant: &ast::Grant<'_>) -> Result<(), Outcome> {
    let change = read(session, grant, true)?;
    let users = names_of(session, grant.users)?;
    session.refuse_system_user(&users)?;
    may_be_given(session, &change)?;
    check_columns(session, &change)?;
    may_give(session, &change)?;
    let grantor = session.core.standing.account.clone();
    let grantor = format!("{}@{}", grantor.user, grantor.host);
    session.change_accounts(move |accounts| {
        if users.iter().any(|user| !accounts.contains(user)) {
            return Err(codes::cant_create_user_with_grant());
        }
        for user in &users {
            if let Some(account) = accounts.change(user) {
                add(account, &change, &grantor);
            }
        }
        Ok(())
    })
}

fn add(account: &mut Account, change: &Change, grantor: &str) {
    let grant = if change.with_grant { Privileges::GRANT } else { Privileges::NONE };
    let grants = &mut account.grants;
    match &change.place {
        Place::Global => {
            // GRANT OPTION of dynamic privileges is each one's own.
            let only_dynamic = change.privileges.is_empty() && !change.dynamic.is_empty();
            grants.global = grants.global.with(change.privileges).with(if only_dynamic { Privileges::NONE } else { grant });
            for name in &change.dynamic {
                *grants.dynamic.entry((*name).to_owned()).or_default() |= change.with_grant;
            }
        }
        Place::Database(database) => {
            let given = change.privileges.with(grant);
            if !given.is_empty() {
                let of = grants.databases.entry(database.clone()).or_default();
                *of = of.with(given);
            }
        }
        Place::Table(database, table) => {
            let given = change.privileges.with(grant);
            if given.is_empty() && change.columns.is_empty() {
                return;
            }
            let of = grants.tables.entry((database.clone(), table.clone())).or_default();
            of.privileges = of.privileges.with(given);
            of.grantor = grantor.to_owned();
            for (column, privileges) in &change.columns {
                let name = of.column(column).cloned().unwrap_or_else(|| column.clone());
                let of_column = of.columns.entry(name).or_default();
                *of_column = of_column.with(*privileges);
            }
        }
    }
}

fn take(session: &mut ClientSession, revoke: &ast::Grant<'_>) -> Result<(), Outcome> {
    let change = read(session, revoke, false)?;
    let users = names_of(session, revoke.users)?;
    session.refuse_system_user(&users)?;
    may_be_given(session, &change)?;
    may_give(session, &change)?;
    let (if_exists, ignores) = (revoke.if_exists, revoke.ignore_unknown);
    for word in &change.unknown {
        let message = format!("Dynamic privilege '{word}' is not registered with the server.");
        session.core.warn_of_account(SqlError::with_message(3929, message).into_warning(WarningLevel::Warning));
    }
    let warnings = session.change_accounts(move |accounts| {
        let mut warnings = Vec::new();
        for user in &users {
            let Some(account) = accounts.change(user) else {
                if !ignores {
                    return Err(match &change.place {
                        Place::Table(_, table) => codes::nonexisting_table_grant(&user.user, &user.host, table),
                        _ => codes::nonexisting_grant(&user.user, &user.host),
                    });
                }
                warnings.push(codes::user_does_not_exist(&user.user).into_warning(WarningLevel::Warning));
                continue;
            };
            match remove(account, &change) {
                Err(error) if if_exists => warnings.push(error.into_warning(WarningLevel::Warning)),
                other => other?,
            }
        }
        Ok(warnings)
    })?;
    for warning in warnings {
        session.core.warn_of_account(warning);
    }
    Ok(())
}

fn remove(account: &mut Account, change: &Change) -> Result<(), SqlError> {
    let (user, host) = (account.name.user.clone(), account.name.host.clone());
    let taken = change.privileges.with(if change.with_grant { Privileges::GRANT } else { Privileges::NONE });
    let grants = &mut account.grants;
    match &change.place {
        Place::Global => {
            grants.global = grants.global.without(taken);
            for name in &change.dynamic {
                grants.dynamic.remove(*name);
            }
        }
        Place::Database(database) => {
            let held = grants.databases.get_mut(database).filter(|held| held.has_some(taken));
            let held = held.ok_or_else(|| codes::nonexisting_grant(user, host))?;
            *held = held.without(taken);
            if held.is_empty() {
                grants.databases.remove(database);
            }
        }
        Place::Table(database, table) => {
            let key = (database.clone(), table.clone());
            let held = grants.tables.get_mut(&key).filter(|held| change.all || holds_all(held, change, taken));
            let held = held.ok_or_else(|| codes::nonexisting_table_grant(user, host, table))?;
            held.privileges = held.privileges.without(taken);
            for (column, privileges) in &change.columns {
                if let Some(name) = held.column(column).cloned()
                    && let Some(of_column) = held.columns.get_mut(&name)
                {
                    *of_column = of_column.without(*privileges);
                }
            }
            // What is taken for the table is taken for its columns, too.
            held.columns.values_mut().for_each(|of_column| *of_column = of_column.without(change.privileges));
            held.columns.retain(|_, of_column| !of_column.is_empty());
            if held.is_empty() {
                grants.tables.remove(&key);
            }
        }
    }
    Ok(())
}

/// Whether all that is to be taken is there: on the table itself or, of what is taken for the whole table, on some column.
fn holds_all(held: &TableGrant, change: &Change, taken: Privileges) -> bool {
    let of_column = |name: &String| held.column(name).and_then(|name| held.columns.get(name)).copied().unwrap_or_default();
    held.privileges.with(held.of_columns()).has(taken) && change.columns.iter().all(|(name, wanted)| of_column(name).has(*wanted))
}

/// REVOKE ALL PRIVILEGES, GRANT OPTION: everything but roles.
fn take_all(session: &mut ClientSession, revoke: &ast::Grant<'_>) -> Result<(), Outcome> {
    session.require_privilege(Privileges::CREATE_USER, "CREATE USER")?;
    let users = names_of(session, revoke.users)?;
    session.refuse_system_user(&users)?;
    let (if_exists, ignores) = (revoke.if_exists, revoke.ignore_unknown);
    let warnings = session.change_accounts(move |accounts| {
        let mut warnings = Vec::new();
        let are_gone = users.iter().all(|user| !accounts.contains(user));
        for user in &users {
            match accounts.change(user) {
                Some(account) => {
                    let grants = &mut account.grants;
                    grants.global = Privileges::NONE;
                    grants.dynamic.clear();
                    grants.databases.clear();
                    grants.tables.clear();
                }
                None if ignores => warnings.push(codes::user_does_not_exist(&user.user).into_warning(WarningLevel::Warning)),
                // Of some that are there the others are passed over without a word, as in MySQL.
                None if if_exists && !are_gone => {}
                None => return Err(codes::revoke_grants()),
            }
        }
        Ok(warnings)
    })?;
    for warning in warnings {
        session.core.warn_of_account(warning);
    }
    Ok(())
}

/// What a statement gives or takes, checked for what makes sense where.
fn read(session: &ClientSession, grant: &ast::Grant<'_>, gives: bool) -> Result<Change, SqlError> {
    if grant.proxy.is_some() {
        return Err(codes::not_supported_yet("GRANT PROXY"));
    }
    let current = || session.core.database.as_deref().map(str::to_owned).ok_or_else(codes::no_db_error);
    let of = |schema: Option<&str>| schema.map_or_else(current, |schema| Ok(schema.to_owned()));
    let (place, level) = match grant.on.as_ref() {
        Some(GrantObject::Global) | None => (Place::Global, Level::Global),
        Some(GrantObject::CurrentDatabase) => (Place::Database(current()?), Level::Database),
        Some(GrantObject::Database(name)) => (Place::Database((*name).to_owned()), Level::Database),
        Some(GrantObject::Table(name)) => (Place::Table(of(name.schema)?, name.name.to_owned()), Level::Table),
        Some(GrantObject::Procedure(name)) => return Err(codes::sp_does_not_exist("PROCEDURE", name.name)),
        Some(GrantObject::Function(name)) => return Err(codes::sp_does_not_exist("FUNCTION", name.name)),
    };
    if let Place::Database(database) | Place::Table(database, _) = &place
        && database.eq_ignore_ascii_case("information_schema")
    {
        let own = &session.core.standing.account;
        return Err(codes::dbaccess_denied_error(&own.user, &own.host, "information_schema"));
    }
    let mut change = Change {
        place,
        privileges: Privileges::NONE,
        dynamic: Vec::new(),
        columns: BTreeMap::new(),
        with_grant: grant.with_grant_option,
        all: false,
        unknown: Vec::new(),
    };
    for given in grant.privileges {
        if given.name == "ALL" {
            change.all = true;
            change.privileges = change.privileges.with(level.all());
            if level == Level::Global {
                change.dynamic.extend(DYNAMIC);
            }
            continue;
        }
        let Some(one) = privilege(given.name) else {
            match dynamic_name(given.name) {
                Some(name) if level == Level::Global && given.columns.is_empty() => change.dynamic.push(name),
                // MySQL names the table where there is one.
                Some(name) => {
                    return Err(codes::illegal_privilege_level(match &change.place {
                        Place::Table(_, table) => table.as_str(),
                        _ => name,
                    }));
                }
                None if gives => return Err(codes::syntax_error()),
                None => match &change.place {
                    Place::Global => change.unknown.push(given.name.to_uppercase()),
                    Place::Database(_) => return Err(codes::illegal_privilege_level(given.name.to_uppercase())),
                    Place::Table(_, table) => return Err(codes::illegal_privilege_level(table)),
                },
            }
            continue;
        };
        if one == Privileges::GRANT {
            change.with_grant = true;
            continue;
        }
        if given.columns.is_empty() {
            change.privileges = change.privileges.with(one);
            continue;
        }
        if level != Level::Table || !is_for_columns(one) {
            return Err(codes::illegal_grant_for_table());
        }
        for column in given.columns {
            let of_column = change.columns.entry((*column).to_owned()).or_default();
            *of_column = of_column.with(one);
        }
    }
    let beyond = !level.all().has(change.privileges);
    match level {
        Level::Database if beyond => Err(codes::wrong_usage("DB GRANT", "GLOBAL PRIVILEGES")),
        Level::Table if beyond => Err(codes::illegal_grant_for_table()),
        _ => Ok(change),
    }
}

/// A table that is granted on must be there, unless it may be created; columns must be.
fn check_columns(session: &ClientSession, change: &Change) -> Result<(), Outcome> {
    let Place::Table(database, table) = &change.place else { return Ok(()) };
    if let Some(computed) = crate::virtual_tables::database(database) {
        let def = computed.table(table)?;
        let unknown = change.columns.keys().find(|name| !def.columns.iter().any(|column| column.name.eq_ignore_ascii_case(name)));
        return match unknown {
            Some(name) => Err(codes::bad_field_error(name, table).into()),
            None => Ok(()),
        };
    }
    match session.shared().catalog.table(database, table) {
        Ok(entry) => match change.columns.keys().find(|name| entry.def.column_index(name).is_none()) {
            Some(name) => Err(codes::bad_field_error(name, table).into()),
            None => Ok(()),
        },
        Err(CatalogError::UnknownTable { .. } | CatalogError::UnknownDatabase(_)) => {
            let view = session.shared().catalog.view(database, table).map_err(|error| catalog_error(error, || session.stop_error()))?;
            if let Some(view) = view {
                let columns = crate::show::view_columns(session.shared(), &view)?;
                let is_there = |name: &&String| columns.iter().any(|known| known.column.name.eq_ignore_ascii_case(name));
                return match change.columns.keys().find(|name| !is_there(name)) {
                    Some(name) => Err(codes::bad_field_error(name, table).into()),
                    None => Ok(()),
                };
            }
            if change.columns.is_empty() && change.privileges.has(Privileges::CREATE) {
                return Ok(());
            }
            Err(codes::no_such_table(database, table).into())
        }
        Err(error) => Err(catalog_error(error, || session.stop_error())),
    }
}

/// Nobody has more on the tables of `performance_schema` than may be done with them.
fn may_be_given(session: &ClientSession, change: &Change) -> Result<(), SqlError> {
    use Privileges as P;
    const SCHEMA: &str = "performance_schema";
    let (Place::Database(database) | Place::Table(database, _)) = &change.place else { return Ok(()) };
    if database != SCHEMA {
        return Ok(());
    }
    let wanted = change.columns.values().fold(change.privileges, |all, of_column| all.with(*of_column));
    let changes = P::INSERT.with(P::UPDATE).with(P::DELETE).with(P::DROP);
    let own = &session.core.standing.account;
    if !P::SELECT.with(changes).with(P::LOCK_TABLES).has(wanted) {
        return Err(codes::dbaccess_denied_error(&own.user, &own.host, database));
    }
    let Place::Table(_, table) = &change.place else { return Ok(()) };
    let may_do = P::SELECT.with(match table.as_str() {
        "setup_actors" | "setup_objects" => changes,
        "setup_consumers" | "setup_instruments" | "setup_loggers" | "setup_meters" | "setup_threads" | "threads" => P::UPDATE,
        // Summaries, which TRUNCATE may empty.
        name if is_emptied(SCHEMA, name) || matches!(name, "global_status" | "host_cache") => P::DROP,
        _ => P::NONE,
    });
    // Of a table that is not there this is said.
    let is_there = crate::virtual_tables::database(SCHEMA).is_some_and(|schema| schema.table(table).is_ok());
    match may_do.has(wanted) || !is_there {
        true => Ok(()),
        false => Err(session.core.table_denied(wanted.with(P::GRANT), table)),
    }
}

/// Whoever gives or takes privileges has them WITH GRANT OPTION.
fn may_give(session: &ClientSession, change: &Change) -> Result<(), SqlError> {
    let rights = &session.core.standing.rights;
    let own: &AccountName = &session.core.standing.account;
    let wanted = change.privileges.with(Privileges::GRANT);
    match &change.place {
        Place::Global => {
            let statics = !change.privileges.is_empty() || change.dynamic.is_empty();
            if statics && !rights.global.has(wanted) {
                return Err(codes::access_denied_error(&own.user, &own.host, "YES"));
            }
            match change.dynamic.iter().all(|name| rights.dynamic.get(*name) == Some(&true)) {
                true => Ok(()),
                false => Err(codes::specific_access_denied_error("GRANT OPTION")),
            }
        }
        Place::Database(pattern) => match rights.databases_like(pattern).has(wanted) {
            true => Ok(()),
            false => Err(codes::dbaccess_denied_error(&own.user, &own.host, pattern)),
        },
        Place::Table(database, table) => {
            let mut missing = wanted.without(rights.on_table(database, table));
            for (column, privileges) in &change.columns {
                missing = missing.with(privileges.without(rights.on_column(database, table, column)));
            }
            match missing.is_empty() {
                true => Ok(()),
                false => Err(session.core.table_denied(missing, table)),
            }
        }
    }
}
