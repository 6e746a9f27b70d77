//! CREATE, ALTER and DROP VIEW; RENAME TABLE of views.
//!
//! # Invariants
//! 1. A view changes only under its exclusive metadata lock, and what is replaced is looked at under it.
//! 2. The text that is kept is the normal form that the planner made while it bound the query: it means the same whoever reads it.

use super::{DdlDone, FullName, check_table_name, full_name};
use crate::client_session::ClientSession;
use crate::context::Planning;
use crate::error_map::Outcome;
use crate::variables::variable;
use crate::virtual_tables::refuse_drop;
use catalog::{CatalogError, CheckOption, ViewAlgorithm, ViewDef, ViewEntry};
use lock_manager::metadata::{ExclusiveGuard, ExclusiveWait};
use mysql_error::{SqlError, WarningLevel, codes};
use parser::ast::{Account, CreateView, DropTable, ViewCheck};
use std::sync::Arc;

/// A view that this session has alone.
pub(super) struct LockedView {
    pub(super) entry: Arc<ViewEntry>,
    _guard: ExclusiveGuard,
}

pub(super) fn create(session: &mut ClientSession, create: &CreateView<'_>, sql: &[u8]) -> Result<DdlDone, Outcome> {
    let name = full_name(session, &create.name)?;
    check_table_name(&name.table)?;
    let catalog = session.shared().catalog.clone();
    catalog.database(&name.database).map_err(|error| session.catalog_error(error))?;
    if session.transaction.has_locked_tables() {
        return Err(codes::table_not_locked(&name.table).into());
    }
    let is_there = session.find_view(&name)?.is_some();
    let replaces = create.or_replace || create.alter;
    if !is_there {
        if session.table_exists(&name)? {
            return match (replaces, create.if_not_exists) {
                (true, _) => Err(codes::wrong_object(&name.database, &name.table, "VIEW").into()),
                (false, _) => exists(session, create, &name),
            };
        }
        if create.alter {
            return Err(codes::no_such_table(&name.database, &name.table).into());
        }
    } else if !replaces {
        return exists(session, create, &name);
    }
    // ALTER keeps what it does not name, as it is once nobody else changes it.
    let altered = if create.alter { session.lock_view(&name)? } else { None };
    if create.alter && altered.is_none() {
        return Err(codes::no_such_table(&name.database, &name.table).into());
    }
    let kept = altered.as_ref().map(|view| &view.entry.def);
    if let Some(kept) = kept
        && create.definer.is_none()
    {
        session.may_be_definer(&kept.definer_user, &kept.definer_host)?;
    }
    session.core.view_being_made = Some((name.database.clone(), name.table.clone()));
    let def =
        session.lending((), |session, ()| session.core.view_being_made = None, |session| define(session, create, &name, sql, kept))?;
    let old = match altered {
        None if is_there => session.lock_view(&name)?,
        altered => altered,
    };
    match catalog.define_view(&mut session.engine, def, old.as_ref().map(|old| &*old.entry)) {
        Ok(()) => Ok(DdlDone::NOTHING),
        Err(CatalogError::TableExists(_)) => exists(session, create, &name),
        Err(error) => Err(session.catalog_error(error)),
    }
}

fn exists(session: &mut ClientSession, create: &CreateView<'_>, name: &FullName) -> Result<DdlDone, Outcome> {
    let error = codes::table_exists_error(&name.table);
    if !create.if_not_exists {
        return Err(error.into());
    }
    session.ddl_note(error);
    Ok(DdlDone::NOTHING)
}

/// A view as a statement defines it; what ALTER does not name is that of the view as it was.
fn define(
    session: &mut ClientSession,
    create: &CreateView<'_>,
    name: &FullName,
    sql: &[u8],
    kept: Option<&ViewDef>,
) -> Result<ViewDef, Outcome> {
    let core = &session.core;
    let under = parser::WrittenUnder {
        charset: core.settings.collation.charset().name(),
        week_format: core.number(variable!("default_week_format")) as u8,
    };
    let planning = Planning { core, engine: &session.engine, params: &[], param_types: &[] };
    let defined = planner::views::define_view(create, sql, &name.database, under, &planning)?;
    let mut algorithm = match create.algorithm {
        Some("MERGE") => ViewAlgorithm::Merge,
        Some("TEMPTABLE") => ViewAlgorithm::TempTable,
        // UNDEFINED is as good as nothing to ALTER.
        _ => kept.map_or(ViewAlgorithm::Undefined, |kept| kept.algorithm),
    };
    let check = match create.check {
        None => CheckOption::None,
        Some(ViewCheck::Local) => CheckOption::Local,
        Some(ViewCheck::Cascaded) => CheckOption::Cascaded,
    };
    if check != CheckOption::None && !defined.updatable {
        let message = format!("CHECK OPTION on non-updatable view '{}'", name.dotted());
        return Err(SqlError::with_message(1368, message).into());
    }
    let (definer_user, definer_host) = match (create.definer, kept) {
        (Some(Account::Named { user, host }), _) => (user.to_owned(), host.to_owned()),
        (None, Some(kept)) => (kept.definer_user.clone(), kept.definer_host.clone()),
        (None | Some(Account::Current), _) => (core.login.account_user.clone(), core.login.account_host.clone()),
    };
    let client_charset = match core.variables.get(variable!("character_set_client")) {
        types::Value::Bytes(text) => String::from_utf8_lossy(text).into_owned(),
        _ => under.charset.to_owned(),
    };
    let connection_collation = core.settings.collation.name().to_owned();
    if algorithm == ViewAlgorithm::Merge && !defined.mergeable {
        algorithm = ViewAlgorithm::Undefined;
        let message = "View merge algorithm can't be used here for now (assumed undefined algorithm)";
        session.ddl_warnings(vec![SqlError::with_message(1354, message).into_warning(WarningLevel::Warning)]);
    }
    Ok(ViewDef {
        id: base::TableId(0),
        database: name.database.clone(),
        name: name.table.clone(),
        columns: if create.columns.is_empty() { Vec::new() } else { defined.columns },
        query: defined.query,
        query_shown: defined.query_shown,
        algorithm,
        check,
        definer_user,
        definer_host,
        invoker: create.invoker.unwrap_or(kept.is_some_and(|kept| kept.invoker)),
        updatable: defined.updatable,
        client_charset,
        connection_collation,
        tables: defined.tables,
        created_micros: session.engine.engine().wall_micros(),
    })
}

/// Drops all the views or none: when one is missing without IF EXISTS, or a table.
pub(super) fn drop(session: &mut ClientSession, drop: &DropTable<'_>) -> Result<DdlDone, Outcome> {
    let (mut present, mut missing): (Vec<FullName>, Vec<FullName>) = (Vec::new(), Vec::new());
    for name in drop.names {
        if let Some(database) = name.schema.or(session.core.database.as_deref()) {
            refuse_drop(&session.core, database, name.name)?;
        }
        let name = full_name(session, name)?;
        if present.contains(&name) || missing.contains(&name) {
            return Err(codes::nonuniq_table(&name.table).into());
        }
        if session.transaction.has_locked_tables() {
            return Err(codes::table_not_locked(&name.table).into());
        }
        if session.find_view(&name)?.is_some() {
            present.push(name);
            continue;
        }
        match session.shared().catalog.table(&name.database, &name.table) {
            Ok(_) if drop.if_exists => session.ddl_note(codes::wrong_object(&name.database, &name.table, "VIEW")),
            Ok(_) => return Err(codes::wrong_object(&name.database, &name.table, "VIEW").into()),
            Err(CatalogError::UnknownTable { .. } | CatalogError::UnknownDatabase(_)) => missing.push(name),
            Err(error) => return Err(session.catalog_error(error)),
        }
    }
    if !missing.is_empty() && !drop.if_exists {
        let names: Vec<String> = missing.iter().map(FullName::dotted).collect();
        return Err(codes::bad_table_error(names.join(",")).into());
    }
    for name in &missing {
        session.ddl_note(codes::bad_table_error(name.dotted()));
    }
    let locked = session.lock_views(&present)?;
    let defs: Vec<&ViewDef> = locked.iter().map(|view| &view.entry.def).collect();
    let catalog = session.shared().catalog.clone();
    catalog.drop_views(&mut session.engine, &defs).map_err(|error| session.catalog_error(error))?;
    Ok(DdlDone::NOTHING)
}

/// RENAME TABLE of a view, in the transaction that runs.
pub(super) fn rename(session: &mut ClientSession, def: &ViewDef, new: &FullName) -> Result<(), Outcome> {
    if def.database != new.database {
        let message = format!("Changing schema from '{}' to '{}' is not allowed.", def.database, new.database);
        return Err(SqlError::with_message(1450, message).into());
    }
    let catalog = session.shared().catalog.clone();
    catalog.rename_view_within(&mut session.engine, def, &new.table).map_err(|error| session.catalog_error(error))
}

impl ClientSession {
    /// Looks a view up.
    pub(crate) fn find_view(&self, name: &FullName) -> Result<Option<Arc<ViewEntry>>, Outcome> {
        self.shared().catalog.view(&name.database, &name.table).map_err(|error| self.catalog_error(error))
    }

    /// Takes a view for this session alone; `None` when it is gone by then.
    pub(super) fn lock_view(&self, name: &FullName) -> Result<Option<LockedView>, Outcome> {
        let deadline = self.metadata_deadline();
        loop {
            let Some(entry) = self.find_view(name)? else { return Ok(None) };
            let guard = entry.lock.exclusive(ExclusiveWait::until(Some(deadline)), self.engine.asker());
            let guard = guard.map_err(|error| self.metadata_error(error))?;
            // Other DDL may have dropped the view, or made another of its name, while this one waited.
            match self.find_view(name)? {
                Some(now) if Arc::ptr_eq(&now.lock, &entry.lock) => return Ok(Some(LockedView { entry: now, _guard: guard })),
                _ => {}
            }
        }
    }

    /// Takes several views alone, in the order of their names.
    pub(super) fn lock_views(&self, names: &[FullName]) -> Result<Vec<LockedView>, Outcome> {
        let mut sorted: Vec<&FullName> = names.iter().collect();
        sorted.sort();
        sorted.dedup();
        let mut locked = Vec::with_capacity(sorted.len());
        for name in sorted {
            let gone = || codes::bad_table_error(name.dotted());
            locked.push(self.lock_view(name)?.ok_or_else(gone)?);
        }
        Ok(locked)
    }

    /// Those of some names that are views'.
    pub(super) fn views_of(&self, names: &[FullName]) -> Result<Vec<FullName>, Outcome> {
        let mut views = Vec::new();
        for name in names {
            if self.find_view(name)?.is_some() {
                views.push(name.clone());
            }
        }
        Ok(views)
    }
}
