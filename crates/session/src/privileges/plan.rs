//! Plans against the session's rights.

use crate::client_session::ClientSession;
use crate::context::Core;
use crate::privileges::is_open_table;
use crate::statement::plan_cache::CachedPlan;
use crate::virtual_tables::SYS;
use ::accounts::{Privileges, Rights};
use catalog::ViewDef;
use mysql_error::{SqlError, codes};
use planner::Plan;
use planner::accesses::Access;
use std::collections::BTreeSet;
use sync::atomic::{AtomicU64, Ordering};

/// Serial numbers of plans; 0 is none's. (Relaxed: each number is taken once, nothing is found through it.)
static SERIAL: AtomicU64 = AtomicU64::new(1);

/// A number that no other plan of this process has: a session remembers by it what it may run.
pub(crate) fn next_serial() -> u64 {
    SERIAL.fetch_add(1, Ordering::Relaxed)
}

impl ClientSession {
    /// Refuses a plan that goes beyond the session's rights, and remembers one that does not.
    #[inline]
    pub(crate) fn may_run(&mut self, plan: &CachedPlan) -> Result<(), SqlError> {
        let standing = &self.core.standing;
        // Behind a view it is its definer's rights that are asked for, whoever runs it.
        let everything = standing.everything && plan.plan.views.is_empty();
        if (everything || standing.remembers(plan.serial)) && !standing.is_limited() && !standing.sandboxed {
            return Ok(());
        }
        self.ask_for(plan)
    }

    #[cold]
    fn ask_for(&mut self, plan: &CachedPlan) -> Result<(), SqlError> {
        if self.core.standing.sandboxed {
            return Err(codes::must_change_password());
        }
        // A plan that is stale by now is not run; the one that is made in its place counts.
        let is_run = self.shared().catalog.version() == plan.catalog_version;
        if self.core.standing.is_limited() && plan.plan.writes && is_run {
            self.core.standing.count_update(&self.core.shared)?;
        }
        self.core.check_accesses(&plan.plan.accesses)?;
        self.core.standing.remember(plan.serial);
        Ok(())
    }
}

impl Core {
    /// Refuses accesses beyond the session's rights.
    pub(crate) fn check_accesses(&self, accesses: &[Access]) -> Result<(), SqlError> {
        if self.standing.everything && accesses.iter().all(|access| access.rights_of.is_none()) {
            return Ok(());
        }
        accesses.iter().try_for_each(|access| self.check_access(access))
    }

    /// EXPLAIN tells what views are made of: that takes SHOW VIEW on each of them, and SELECT on some part of all that is behind them, whoever defined them.
    pub(crate) fn may_explain(&self, plan: &Plan) -> Result<(), SqlError> {
        if self.standing.everything || plan.views.is_empty() {
            return Ok(());
        }
        let rights = &self.standing.rights;
        let shows = |view: &ViewDef| rights.on_table(&view.database, &view.name).has(Privileges::SHOW_VIEW);
        let reads = |access: &Access| match self.computed_access(&access.database, &access.table) {
            Some(answer) => answer.is_ok(),
            None => rights.on_some_column(&access.database, &access.table).has(Privileges::SELECT),
        };
        let mut behind = plan.accesses.iter().filter(|access| access.behind.is_some() && !access.wants.has(Privileges::EXECUTE));
        match plan.views.iter().all(|used| shows(&used.view.def)) && behind.all(reads) {
            true => Ok(()),
            false => Err(codes::view_no_explain()),
        }
    }

    fn check_access(&self, access: &Access) -> Result<(), SqlError> {
        let asked = self.check_own_access(access);
        match (&access.behind, asked) {
            // What a view is made of is not told.
            (Some(view), Err(error))
                if matches!(
                    error.code,
                    codes::ER_TABLEACCESS_DENIED_ERROR
                        | codes::ER_COLUMNACCESS_DENIED_ERROR
                        | codes::ER_PROCACCESS_DENIED_ERROR
                        | codes::ER_VIEW_INVALID
                ) =>
            {
                Err(codes::view_invalid(&view.0, &view.1))
            }
            (_, asked) => asked,
        }
    }

    fn check_own_access(&self, access: &Access) -> Result<(), SqlError> {
        let definers;
        let rights: &Rights = match &access.rights_of {
            None => &self.standing.rights,
            Some(definer) => {
                if self.shared.accounts.snapshot().get(definer).is_none() {
                    return Err(codes::no_such_user(&definer.user, &definer.host));
                }
                definers = self.shared.accounts.rights(definer, &BTreeSet::new());
                &definers
            }
        };
        let (database, table) = (&*access.database, &*access.table);
        if access.wants.has(Privileges::EXECUTE) {
            return self.may_execute_by(rights, database, &format!("{database}.{table}"));
        }
        if let Some(answer) = self.computed_access(database, table) {
            return answer;
        }
        if database == SYS {
            self.check_table_access(access, rights)?;
            return self.may_read_behind(rights, table);
        }
        self.check_table_access(access, rights)
    }

    fn check_table_access(&self, access: &Access, rights: &Rights) -> Result<(), SqlError> {
        let (database, table) = (&*access.database, &*access.table);
        let on_table = rights.on_table(database, table);
        let of_columns = access.columns.iter().fold(access.wants.with(access.wants_some), |all, column| all.with(column.wants));
        if on_table.has(of_columns) && !access.locks {
            return Ok(());
        }
        let some = rights.on_some_column(database, table);
        let missing = access.wants.without(on_table).with(access.wants_some.without(some));
        if !missing.is_empty() {
            return Err(self.table_denied(missing, table));
        }
        for column in &access.columns {
            let missing = column.wants.without(rights.on_column(database, table, &column.name));
            if missing.is_empty() {
                continue;
            }
            if column.all || some.and(missing).is_empty() && on_table.is_empty() && rights.table(database, table).is_none() {
                return Err(self.table_denied(missing, table));
            }
            let command = missing.names().collect::<Vec<_>>().join(", ");
            let login = &self.login;
            return Err(codes::columnaccess_denied_error(command, &login.account_user, &login.host, &column.name, table));
        }
        let locking = Privileges::UPDATE.with(Privileges::DELETE).with(Privileges::LOCK_TABLES);
        if access.locks && !some.has_some(locking) {
            return Err(codes::tableaccess_denied_error("SELECT with locking clause", &self.login.account_user, &self.login.host, table));
        }
        Ok(())
    }

    fn may_execute_by(&self, rights: &Rights, database: &str, name: &str) -> Result<(), SqlError> {
        if rights.database(database).has(Privileges::EXECUTE) {
            return Ok(());
        }
        let login = &self.login;
        Err(codes::procaccess_denied_error("execute", &login.account_user, &login.account_host, name))
    }

    /// Refuses a stored function that the session may not execute.
    pub(crate) fn may_execute_routine(&self, database: &str, name: &str) -> Result<(), SqlError> {
        if self.standing.everything { Ok(()) } else { self.may_execute_by(&self.standing.rights, database, name) }
    }

    /// Computed tables that everybody may read, or that take a privilege on the server; `None` for all others.
    fn computed_access(&self, database: &str, table: &str) -> Option<Result<(), SqlError>> {
        if database.eq_ignore_ascii_case("information_schema") {
            let innodb = table.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("INNODB_"));
            return Some(if innodb || table.eq_ignore_ascii_case("FILES") { self.require_process() } else { Ok(()) });
        }
        is_open_table(database, table).then_some(Ok(()))
    }

    /// Refuses a table of which the session may do nothing of the kind, before it is looked up.
    pub(crate) fn may_use_table(&self, database: &str, table: &str, wants: Privileges) -> Result<(), SqlError> {
        if self.standing.everything {
            return Ok(());
        }
        if let Some(answer) = self.computed_access(database, table) {
            return answer;
        }
        let missing = wants.without(self.standing.rights.on_some_column(database, table));
        if missing.is_empty() { Ok(()) } else { Err(self.table_denied(missing, table)) }
    }
}
