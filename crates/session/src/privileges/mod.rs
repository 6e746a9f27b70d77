//! What statements may do: each asks before it runs.
//!
//! # Invariants
//! 1. A plan is run only when its accesses (`planner::accesses`) are within the session's rights ([`ClientSession::may_run`]); a statement without a plan only
//!    when [`statement::authorize`] or its own code has asked. Whoever has all privileges on `*.*` pays one flag.
//! 2. A refusal tells nothing of what there is: tables are asked for before they are looked up.
//! 3. What lists show is what the session may see: [`Core::sees_database`], [`Core::looks_into_database`], [`Core::sees_table`].

mod plan;
mod show;
mod statement;
mod sys_views;
mod variable;

pub(crate) use plan::next_serial;
pub(crate) use show::Shows;
pub(crate) use statement::{authorize, on_database};

use crate::context::Core;
use ::accounts::Privileges;
use mysql_error::{SqlError, codes};

/// Tables of `performance_schema` that everybody may read.
const OPEN_TABLES: &[&str] = &[
    "global_status",
    "global_variable_attributes",
    "global_variables",
    "persisted_variables",
    "processlist",
    "session_account_connect_attrs",
    "session_status",
    "session_variables",
    "variables_info",
    "variables_metadata",
];

/// Whether a table is one that everybody may read.
fn is_open_table(database: &str, table: &str) -> bool {
    database == "performance_schema" && OPEN_TABLES.contains(&table)
}

impl Core {
    /// 1142: the privileges that are missing for a table.
    pub(crate) fn table_denied(&self, missing: Privileges, table: &str) -> SqlError {
        let names: Vec<&str> = ::accounts::PRIVILEGES
            .iter()
            .filter(|info| missing.has(info.privilege))
            .map(|info| if info.privilege == Privileges::GRANT { "GRANT" } else { info.name })
            .collect();
        codes::tableaccess_denied_error(names.join(", "), &self.login.account_user, &self.login.host, table)
    }

    /// 1044.
    pub(crate) fn database_denied(&self, database: &str) -> SqlError {
        codes::dbaccess_denied_error(&self.login.account_user, &self.login.account_host, database)
    }

    /// Whether a database may be the session's current one.
    pub(crate) fn may_use_database(&self, database: &str) -> bool {
        let standing = &self.standing;
        standing.everything || database.eq_ignore_ascii_case("information_schema") || standing.rights.uses_database(database)
    }

    /// Whether the session may list what is in a database. SHOW DATABASES is not enough.
    pub(crate) fn looks_into_database(&self, database: &str) -> bool {
        let standing = &self.standing;
        standing.everything || database.eq_ignore_ascii_case("information_schema") || standing.rights.looks_into_database(database)
    }

    /// Whether lists show a database.
    pub(crate) fn sees_database(&self, database: &str) -> bool {
        let rights = &self.standing.rights;
        self.looks_into_database(database)
            || database == "performance_schema"
            || rights.sees_database(database)
            || rights.global.has(Privileges::SHOW_DATABASES)
    }

    /// Whether lists show a table.
    pub(crate) fn sees_table(&self, database: &str, table: &str) -> bool {
        self.standing.everything
            || database.eq_ignore_ascii_case("information_schema")
            || is_open_table(database, table)
            || self.standing.rights.sees_table(database, table)
    }

    /// 1227 without PROCESS.
    pub(crate) fn require_process(&self) -> Result<(), SqlError> {
        match self.standing.rights.global.has(Privileges::PROCESS) {
            true => Ok(()),
            false => Err(codes::specific_access_denied_error("PROCESS")),
        }
    }

    /// 1227 without BACKUP_ADMIN.
    pub(crate) fn require_backup_admin(&self) -> Result<(), SqlError> {
        match self.standing.rights.has_dynamic("BACKUP_ADMIN") {
            true => Ok(()),
            false => Err(codes::specific_access_denied_error("BACKUP_ADMIN")),
        }
    }

    /// Looks whether accounts have changed, and what that means here.
    #[inline]
    pub(crate) fn look_at_accounts(&mut self) {
        if !self.standing.is_current(self.shared.accounts.version()) {
            self.renew_standing();
        }
    }

    /// Makes the session's standing anew.
    #[cold]
    pub(crate) fn renew_standing(&mut self) {
        let shared = std::sync::Arc::clone(&self.shared);
        self.standing.renew(&shared);
    }
}
