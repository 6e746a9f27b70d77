//! What statements without a plan take: [`authorize`] decides for each kind. Those about accounts, SET and KILL ask by themselves, where they know of whom and what.

use crate::accounts::{SYSTEM_USER, roles_at_login};
use crate::client_session::ClientSession;
use crate::ddl::WrittenKey;
use crate::error_map::Outcome;
use ::accounts::{AccountName, Privileges};
use mysql_error::{SqlError, codes};
use parser::ast::{self, AlterAction, Maintenance, ObjectName, ProgramKind, Statement};

/// Whether a statement may run while the session's password must be changed first. SET may not: its values are expressions, which read tables.
fn is_for_sandbox(statement: &Statement<'_>) -> bool {
    matches!(statement, Statement::AlterUser(_) | Statement::SetPassword(_) | Statement::Empty)
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

/// What each kind of statement takes. There is no arm for the rest: a new one is not compiled before somebody has decided.
#[inline(never)]
fn look_at_rights(session: &ClientSession, statement: &Statement<'_>) -> Result<(), Outcome> {
    if session.core.standing.sandboxed && !is_for_sandbox(statement) {
        return Err(codes::must_change_password().into());
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
        Statement::AlterTable(alter) => alter_table(session, alter)?,
        Statement::DropTable(drop) if drop.temporary => {}
        Statement::DropTable(drop) => drop.names.iter().try_for_each(|name| on_named(session, name, P::DROP))?,
        Statement::CreateView(create) => create_view(session, create)?,
        Statement::DropView(drop) => drop.names.iter().try_for_each(|name| on_stored(session, name, P::DROP))?,
        Statement::DropProgram { kind: ProgramKind::Event, name, .. } => on_database_of(session, name, P::EVENT)?,
        Statement::DropProgram { kind: ProgramKind::Procedure | ProgramKind::Function, name, .. } => {
            on_routine(session, name, "alter routine", P::ALTER_ROUTINE)?;
        }
        Statement::Call(call) => on_routine(session, &call.name, "execute", P::EXECUTE)?,
        Statement::RenameTable(pairs) => pairs.iter().try_for_each(|(from, to)| {
            on_stored(session, from, P::ALTER.with(P::DROP))?;
            on_stored(session, to, P::CREATE.with(P::INSERT))
        })?,
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
        Statement::LockTables(locks) => locks.iter().try_for_each(|lock| lock_table(session, lock))?,
        Statement::Flush(what) => flush(session, what)?,
        Statement::Shutdown => on_server(session, "SHUTDOWN", P::SHUTDOWN, "SHUTDOWN")?,
        Statement::ReloadTls { .. } => on_server(session, "CONNECTION_ADMIN", P::NONE, "CONNECTION_ADMIN")?,
        Statement::Backup { .. } | Statement::LockInstance | Statement::UnlockInstance => {
            on_server(session, "BACKUP_ADMIN", P::NONE, "BACKUP_ADMIN")?;
        }
        Statement::Xa(ast::Xa::Recover { .. }) if !session.core.standing.rights.has_dynamic("XA_RECOVER_ADMIN") => {
            return Err(codes::xaer_rmerr().into());
        }
        // The accesses of their plans are asked for.
        Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) | Statement::Do(_) | Statement::Explain(_) => {}
        // They ask by themselves, where they know of whom and what.
        Statement::LoadData(_)
        | Statement::Show(_)
        | Statement::Describe { .. }
        | Statement::Use(_)
        | Statement::Set(_)
        | Statement::SetTransaction(_)
        | Statement::SetPassword(_)
        | Statement::CreateUser(_)
        | Statement::AlterUser(_)
        | Statement::DropUser { .. }
        | Statement::RenameUser(_)
        | Statement::CreateRole { .. }
        | Statement::DropRole { .. }
        | Statement::Grant(_)
        | Statement::Revoke(_)
        | Statement::GrantRole(_)
        | Statement::RevokeRole(_)
        | Statement::SetRole(_)
        | Statement::SetDefaultRole { .. }
        | Statement::Component { .. }
        | Statement::Kill { .. } => {}
        // What they run asks.
        Statement::Prepare { .. } | Statement::Execute { .. } => {}
        // Everybody may: they are about the session and its transaction, or do nothing here.
        Statement::Empty
        | Statement::Begin(_)
        | Statement::Commit(_)
        | Statement::Rollback(_)
        | Statement::RollbackTo(_)
        | Statement::Savepoint(_)
        | Statement::ReleaseSavepoint(_)
        | Statement::UnlockTables
        | Statement::Deallocate(_)
        | Statement::Xa(_)
        | Statement::GetDiagnostics(_)
        | Statement::Signal(_)
        | Statement::Help
        | Statement::Unsupported(_)
        // As in MySQL: what it removes is only what the next start would read.
        | Statement::ResetPersist { .. }
        // There is no trigger that could be dropped.
        | Statement::DropProgram { kind: ProgramKind::Trigger, .. } => {}
    }
    Ok(())
}

/// 1227 without a static privilege on `*.*` or a dynamic one. (Dynamic ones are asked for even of who has all the static ones.)
fn on_server(session: &ClientSession, names: &str, statics: Privileges, dynamic: &str) -> Result<(), SqlError> {
    let rights = &session.core.standing.rights;
    let held = rights.global.has_some(statics) || rights.has_dynamic(dynamic);
    if held { Ok(()) } else { Err(codes::specific_access_denied_error(names)) }
}

impl ClientSession {
    /// Whether the session may make something that runs by the rights of an account: its own, or with SET_ANY_DEFINER another's.
    pub(crate) fn may_be_definer(&self, user: &str, host: &str) -> Result<(), SqlError> {
        let login = &self.core.login;
        if user == login.account_user && host.eq_ignore_ascii_case(&login.account_host) {
            return Ok(());
        }
        on_server(self, "SUPER or SET_ANY_DEFINER", Privileges::SUPER, "SET_ANY_DEFINER")?;
        let (definer, accounts) = (AccountName::new(user, host), self.shared().accounts.snapshot());
        if !accounts.contains(&definer) {
            on_server(self, "SUPER or ALLOW_NONEXISTENT_DEFINER", Privileges::SUPER, "ALLOW_NONEXISTENT_DEFINER")?;
        }
        // Here, and not where accounts are changed, by its roles, too.
        let roles = roles_at_login(self.shared(), &accounts, &definer);
        match self.shared().accounts.rights(&definer, &roles).has_dynamic(SYSTEM_USER) {
            true => on_server(self, SYSTEM_USER, Privileges::NONE, SYSTEM_USER),
            false => Ok(()),
        }
    }
}

fn database_of<'a>(session: &'a ClientSession, name: &ObjectName<'a>) -> Result<&'a str, SqlError> {
    name.schema.or(session.core.database.as_deref()).ok_or_else(codes::no_db_error)
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

/// The same on the database of a name.
fn on_database_of(session: &ClientSession, name: &ObjectName<'_>, wants: Privileges) -> Result<(), SqlError> {
    if session.core.standing.everything { Ok(()) } else { on_database(session, database_of(session, name)?, wants) }
}

/// 1370 without a privilege on a database's routines.
fn on_routine(session: &ClientSession, name: &ObjectName<'_>, command: &str, wants: Privileges) -> Result<(), SqlError> {
    let core = &session.core;
    // Without a database each statement has an error of its own.
    if core.standing.everything || (name.schema.is_none() && core.database.is_none()) {
        return Ok(());
    }
    let database = database_of(session, name)?;
    if core.standing.rights.database(database).has(wants) {
        return Ok(());
    }
    let login = &core.login;
    Err(codes::procaccess_denied_error(command, &login.account_user, &login.account_host, format!("{database}.{}", name.name)))
}

/// 1142 without privileges on a stored table or view, whatever temporary table hides it: for statements that do not act on temporary ones.
fn on_stored(session: &ClientSession, name: &ObjectName<'_>, wants: Privileges) -> Result<(), SqlError> {
    let core = &session.core;
    if core.standing.everything {
        return Ok(());
    }
    let database = database_of(session, name)?;
    if is_computed(database) {
        return Ok(());
    }
    let missing = wants.without(core.standing.rights.on_table(database, name.name));
    if missing.is_empty() { Ok(()) } else { Err(core.table_denied(missing, name.name)) }
}

/// The same for statements that act on the temporary table that a name means, where it means one: that is the session's own.
fn on_named(session: &ClientSession, name: &ObjectName<'_>, wants: Privileges) -> Result<(), SqlError> {
    if session.core.standing.everything || means_temporary(session, name)? { Ok(()) } else { on_stored(session, name, wants) }
}

/// The same where a column's privilege is enough.
fn on_part_of_named(session: &ClientSession, name: &ObjectName<'_>, wants: Privileges) -> Result<(), SqlError> {
    if session.core.standing.everything || means_temporary(session, name)? {
        return Ok(());
    }
    let database = database_of(session, name)?;
    if is_computed(database) {
        return Ok(());
    }
    let missing = wants.without(session.core.standing.rights.on_some_column(database, name.name));
    if missing.is_empty() { Ok(()) } else { Err(session.core.table_denied(missing, name.name)) }
}

fn means_temporary(session: &ClientSession, name: &ObjectName<'_>) -> Result<bool, SqlError> {
    Ok(session.core.temporary_table(database_of(session, name)?, name.name).is_some())
}

/// Tables that refuse changes by themselves.
fn is_computed(database: &str) -> bool {
    database.eq_ignore_ascii_case("information_schema")
}

/// 1142 without REFERENCES on the tables that a table's new keys refer to, itself among them.
fn refer<'s>(session: &ClientSession, own: &ObjectName<'_>, mut keys: impl Iterator<Item = WrittenKey<'s>>) -> Result<(), SqlError> {
    let core = &session.core;
    if core.standing.everything {
        return Ok(());
    }
    let database = database_of(session, own)?;
    keys.try_for_each(|key| {
        let parent = key.parent(database);
        match core.standing.rights.on_table(&parent.database, &parent.table).has(Privileges::REFERENCES) {
            true => Ok(()),
            false => Err(core.table_denied(Privileges::REFERENCES, &parent.dotted())),
        }
    })
}

fn create_table(session: &ClientSession, create: &ast::CreateTable<'_>) -> Result<(), SqlError> {
    use Privileges as P;
    if create.temporary {
        on_database_of(session, &create.name, P::CREATE_TEMPORARY_TABLES)?;
    } else {
        let wants = if create.select.is_some() { P::CREATE.with(P::INSERT) } else { P::CREATE };
        on_stored(session, &create.name, wants)?;
    }
    refer(session, &create.name, WrittenKey::of_create(create))?;
    if let Some(like) = &create.like {
        on_part_of_named(session, like, P::SELECT)?;
    }
    Ok(())
}

fn alter_table(session: &ClientSession, alter: &ast::AlterTable<'_>) -> Result<(), SqlError> {
    use Privileges as P;
    let renames = alter.actions.iter().any(|action| matches!(action, AlterAction::Rename(_)));
    on_named(session, &alter.name, if renames { P::ALTER.with(P::DROP) } else { P::ALTER })?;
    for action in alter.actions {
        if let AlterAction::Rename(to) = action {
            on_stored(session, to, P::CREATE.with(P::INSERT))?;
        }
    }
    refer(session, &alter.name, WrittenKey::of_alter(alter.actions))
}

fn create_view(session: &ClientSession, create: &ast::CreateView<'_>) -> Result<(), SqlError> {
    on_stored(session, &create.name, Privileges::CREATE_VIEW)?;
    if create.or_replace || create.alter {
        on_stored(session, &create.name, Privileges::DROP)?;
    }
    match create.definer {
        Some(ast::Account::Named { user, host }) => session.may_be_definer(user, host),
        _ => Ok(()),
    }
}

fn lock_table(session: &ClientSession, lock: &ast::TableLock<'_>) -> Result<(), SqlError> {
    if means_temporary(session, &lock.table)? {
        return Ok(());
    }
    on_database_of(session, &lock.table, Privileges::LOCK_TABLES)?;
    on_stored(session, &lock.table, Privileges::SELECT)
}

fn flush(session: &ClientSession, flush: &ast::Flush<'_>) -> Result<(), SqlError> {
    for what in flush.what {
        let (names, dynamic) = match *what {
            "TABLES" => ("RELOAD or FLUSH_TABLES", "FLUSH_TABLES"),
            "PRIVILEGES" => ("RELOAD or FLUSH_PRIVILEGES", "FLUSH_PRIVILEGES"),
            "STATUS" => ("RELOAD or FLUSH_STATUS", "FLUSH_STATUS"),
            "USER_RESOURCES" => ("RELOAD or FLUSH_USER_RESOURCES", "FLUSH_USER_RESOURCES"),
            "OPTIMIZER_COSTS" => ("RELOAD or FLUSH_OPTIMIZER_COSTS", "FLUSH_OPTIMIZER_COSTS"),
            _ => ("RELOAD", "RELOAD"),
        };
        on_server(session, names, Privileges::RELOAD, dynamic)?;
    }
    if flush.read_lock {
        on_server(session, "RELOAD or FLUSH_TABLES", Privileges::RELOAD, "FLUSH_TABLES")?;
    }
    Ok(())
}
