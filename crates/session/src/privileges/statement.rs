//! What statements without a plan take. Those about accounts, SET and KILL ask by themselves, where they know of whom and what.

use crate::client_session::ClientSession;
use crate::error_map::Outcome;
use ::accounts::Privileges;
use mysql_error::{SqlError, codes};
use parser::ast::{self, AlterAction, Maintenance, ObjectName, ProgramKind, Statement};

/// Whether a statement may run while the session's password must be changed first.
fn is_for_sandbox(statement: &Statement<'_>) -> bool {
    matches!(statement, Statement::AlterUser(_) | Statement::SetPassword(_) | Statement::Set(_) | Statement::Empty)
}

/// Refuses a statement that goes beyond the session's rights.
#[inline]
pub(crate) fn authorize(session: &ClientSession, statement: &Statement<'_>) -> Result<(), Outcome> {
    // The words of transactions take none.
    if matches!(statement, Statement::Begin(_) | Statement::Commit(_) | Statement::Rollback(_)) && !session.core.standing.sandboxed {
        return Ok(());
    }
    look_at_rights(session, statement)
}

#[inline(never)]
fn look_at_rights(session: &ClientSession, statement: &Statement<'_>) -> Result<(), Outcome> {
    if session.core.standing.sandboxed && !is_for_sandbox(statement) {
        return Err(codes::must_change_password().into());
    }
    let global = session.core.standing.rights.global;
    let needs = |names: &str, statics: Privileges, dynamic: &str| {
        let held = global.has_some(statics) || session.core.standing.rights.has_dynamic(dynamic);
        if held { Ok(()) } else { Err(codes::specific_access_denied_error(names)) }
    };
    // Dynamic privileges are asked for even of who has all the others.
    match statement {
        Statement::Backup { .. } | Statement::LockInstance | Statement::UnlockInstance => {
            needs("BACKUP_ADMIN", Privileges::NONE, "BACKUP_ADMIN")?;
        }
        Statement::Xa(ast::Xa::Recover { .. }) if !session.core.standing.rights.has_dynamic("XA_RECOVER_ADMIN") => {
            return Err(codes::xaer_rmerr().into());
        }
        _ => {}
    }
    if session.core.standing.everything {
        return Ok(());
    }
    use Privileges as P;
    match statement {
        Statement::CreateDatabase(create) => on_database(session, create.name, P::CREATE)?,
        Statement::AlterDatabase(alter) => {
            if let Some(name) = alter.name.or(session.core.database.as_deref()) {
                on_database(session, name, P::ALTER)?;
            }
        }
        Statement::DropDatabase { name, .. } => on_database(session, name, P::DROP)?,
        Statement::CreateTable(create) => create_table(session, create)?,
        Statement::AlterTable(alter) => {
            let renames = alter.actions.iter().any(|action| matches!(action, AlterAction::Rename(_)));
            on_named(session, &alter.name, if renames { P::ALTER.with(P::DROP) } else { P::ALTER })?;
            for action in alter.actions {
                match action {
                    AlterAction::Rename(to) => on_stored(session, to, P::CREATE.with(P::INSERT))?,
                    AlterAction::AddForeignKey(key) => on_stored(session, &key.references.table, P::REFERENCES)?,
                    _ => {}
                }
            }
        }
        Statement::DropTable(drop) if drop.temporary => {}
        Statement::DropTable(drop) => drop.names.iter().try_for_each(|name| on_named(session, name, P::DROP))?,
        Statement::CreateView(create) => {
            on_stored(session, &create.name, P::CREATE_VIEW)?;
            if create.or_replace || create.alter {
                on_stored(session, &create.name, P::DROP)?;
            }
            let login = &session.core.login;
            let is_another = |definer: ast::Account<'_>| match definer {
                ast::Account::Current => false,
                ast::Account::Named { user, host } => user != login.account_user || !host.eq_ignore_ascii_case(&login.account_host),
            };
            if create.definer.is_some_and(is_another) {
                needs("SUPER or SET_ANY_DEFINER", P::SUPER, "SET_ANY_DEFINER")?;
            }
        }
        Statement::DropView(drop) => drop.names.iter().try_for_each(|name| on_stored(session, name, P::DROP))?,
        Statement::DropProgram { kind: ProgramKind::Event, name, .. } => on_database(session, &database_of(session, name)?, P::EVENT)?,
        Statement::DropProgram { kind: ProgramKind::Procedure | ProgramKind::Function, name, .. } => {
            on_routine(session, name, "alter routine", P::ALTER_ROUTINE)?;
        }
        Statement::Call(call) => on_routine(session, &call.name, "execute", P::EXECUTE)?,
        Statement::RenameTable(pairs) => {
            for (from, to) in *pairs {
                on_stored(session, from, P::ALTER.with(P::DROP))?;
                on_stored(session, to, P::CREATE.with(P::INSERT))?;
            }
        }
        Statement::CreateIndex(create) => on_named(session, &create.table, P::INDEX)?,
        Statement::DropIndex(drop) => on_named(session, &drop.table, P::INDEX)?,
        Statement::Truncate(name) => on_named(session, name, P::DROP)?,
        Statement::TableMaintenance(maintenance) => {
            let wants = match maintenance.kind {
                Maintenance::Check | Maintenance::Checksum => P::SELECT,
                _ => P::SELECT.with(P::INSERT),
            };
            maintenance.tables.iter().try_for_each(|name| on_part_of_named(session, name, wants))?;
        }
        Statement::LockTables(locks) => {
            for lock in *locks {
                if !means_temporary(session, &lock.table)? {
                    on_database(session, &database_of(session, &lock.table)?, P::LOCK_TABLES)?;
                    on_stored(session, &lock.table, P::SELECT)?;
                }
            }
        }
        Statement::Flush(flush) => {
            for what in flush.what {
                let (names, dynamic) = match *what {
                    "TABLES" => ("RELOAD or FLUSH_TABLES", "FLUSH_TABLES"),
                    "PRIVILEGES" => ("RELOAD or FLUSH_PRIVILEGES", "FLUSH_PRIVILEGES"),
                    "STATUS" => ("RELOAD or FLUSH_STATUS", "FLUSH_STATUS"),
                    "USER_RESOURCES" => ("RELOAD or FLUSH_USER_RESOURCES", "FLUSH_USER_RESOURCES"),
                    "OPTIMIZER_COSTS" => ("RELOAD or FLUSH_OPTIMIZER_COSTS", "FLUSH_OPTIMIZER_COSTS"),
                    _ => ("RELOAD", "RELOAD"),
                };
                needs(names, P::RELOAD, dynamic)?;
            }
            if flush.read_lock {
                needs("RELOAD or FLUSH_TABLES", P::RELOAD, "FLUSH_TABLES")?;
            }
        }
        Statement::Describe { table, .. } => on_part_of_named(session, table, P::SELECT)?,
        Statement::Shutdown => needs("SHUTDOWN", P::SHUTDOWN, "SHUTDOWN")?,
        _ => {}
    }
    Ok(())
}

fn database_of(session: &ClientSession, name: &ObjectName<'_>) -> Result<String, SqlError> {
    name.schema.or(session.core.database.as_deref()).map(str::to_owned).ok_or_else(codes::no_db_error)
}

/// 1044 without privileges on a database.
pub(crate) fn on_database(session: &ClientSession, database: &str, wants: Privileges) -> Result<(), SqlError> {
    let core = &session.core;
    if core.standing.everything || core.standing.rights.database(database).has(wants) {
        Ok(())
    } else {
        Err(core.database_denied(database))
    }
}

/// 1370 without a privilege on a database's routines.
fn on_routine(session: &ClientSession, name: &ObjectName<'_>, command: &str, wants: Privileges) -> Result<(), SqlError> {
    let core = &session.core;
    // Without a database each statement has an error of its own.
    if core.standing.everything || (name.schema.is_none() && core.database.is_none()) {
        return Ok(());
    }
    let database = database_of(session, name)?;
    if core.standing.rights.database(&database).has(wants) {
        return Ok(());
    }
    let login = &core.login;
    Err(codes::procaccess_denied_error(command, &login.account_user, &login.account_host, format!("{database}.{}", name.name)))
}

/// 1142 without privileges on a stored table or view, whatever temporary table hides it: for statements that do not act on temporary ones.
fn on_stored(session: &ClientSession, name: &ObjectName<'_>, wants: Privileges) -> Result<(), SqlError> {
    let core = &session.core;
    let database = database_of(session, name)?;
    if core.standing.everything || is_computed(&database) {
        return Ok(());
    }
    let missing = wants.without(core.standing.rights.on_table(&database, name.name));
    if missing.is_empty() { Ok(()) } else { Err(core.table_denied(missing, name.name)) }
}

/// The same for statements that act on the temporary table that a name means, where it means one: that is the session's own.
fn on_named(session: &ClientSession, name: &ObjectName<'_>, wants: Privileges) -> Result<(), SqlError> {
    if means_temporary(session, name)? { Ok(()) } else { on_stored(session, name, wants) }
}

/// The same where a column's privilege is enough.
fn on_part_of_named(session: &ClientSession, name: &ObjectName<'_>, wants: Privileges) -> Result<(), SqlError> {
    let database = database_of(session, name)?;
    if is_computed(&database) || means_temporary(session, name)? {
        return Ok(());
    }
    let missing = wants.without(session.core.standing.rights.on_some_column(&database, name.name));
    if missing.is_empty() { Ok(()) } else { Err(session.core.table_denied(missing, name.name)) }
}

fn means_temporary(session: &ClientSession, name: &ObjectName<'_>) -> Result<bool, SqlError> {
    Ok(session.core.temporary_table(&database_of(session, name)?, name.name).is_some())
}

/// Tables that refuse changes by themselves.
fn is_computed(database: &str) -> bool {
    database.eq_ignore_ascii_case("information_schema")
}

fn create_table(session: &ClientSession, create: &ast::CreateTable<'_>) -> Result<(), SqlError> {
    use Privileges as P;
    if create.temporary {
        on_database(session, &database_of(session, &create.name)?, P::CREATE_TEMPORARY_TABLES)?;
    } else {
        let wants = if create.select.is_some() { P::CREATE.with(P::INSERT) } else { P::CREATE };
        on_stored(session, &create.name, wants)?;
    }
    create.foreign_keys.iter().try_for_each(|key| on_stored(session, &key.references.table, P::REFERENCES))?;
    if let Some(like) = &create.like {
        on_part_of_named(session, like, P::SELECT)?;
    }
    Ok(())
}
