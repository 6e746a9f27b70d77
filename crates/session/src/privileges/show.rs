//! What SHOW and `information_schema` show to whom.

use crate::client_session::ClientSession;
use crate::context::Core;
use ::accounts::{AccountName, Privileges, Rights};
use catalog::ViewDef;
use mysql_error::SqlError;
use std::sync::Arc;

/// A look at a session's rights that can be taken along: by rows that are made later.
#[derive(Clone)]
pub(crate) struct Shows {
    everything: bool,
    rights: Arc<Rights>,
    account: AccountName,
}

impl Shows {
    /// What [`Shows::column`] says where all is allowed.
    pub const ALL_OF_COLUMN: &str = "select,insert,update,references";

    /// Of who is shown everything.
    pub fn everything(self) -> Shows {
        Shows { everything: true, ..self }
    }

    /// Whether a table is shown.
    pub fn table(&self, database: &str, table: &str) -> bool {
        self.everything || database.eq_ignore_ascii_case("information_schema") || self.rights.sees_table(database, table)
    }

    /// Whether the text of a view is shown: to its definer, and to who has SHOW VIEW and SELECT on it.
    pub fn definition(&self, view: &ViewDef) -> bool {
        let is_definer = self.account.user == view.definer_user && self.account.host.eq_ignore_ascii_case(&view.definer_host);
        self.everything
            || is_definer
            || self.rights.on_table(&view.database, &view.name).has(Privileges::SHOW_VIEW.with(Privileges::SELECT))
    }

    /// What may be done with a column, as the columns named `Privileges` tell it; empty for one that is not shown.
    pub fn column(&self, database: &str, table: &str, column: &str) -> String {
        if self.everything {
            return Shows::ALL_OF_COLUMN.to_owned();
        }
        if database.eq_ignore_ascii_case("information_schema") {
            return "select".to_owned();
        }
        let held = self.rights.on_column(database, table, column).and(Privileges::ALL_COLUMN);
        held.names().map(str::to_lowercase).collect::<Vec<_>>().join(",")
    }
}

impl Core {
    /// What the session is shown.
    pub(crate) fn shows(&self) -> Shows {
        let standing = &self.standing;
        Shows { everything: standing.everything, rights: Arc::clone(&standing.rights), account: standing.account.clone() }
    }
}

impl ClientSession {
    /// SHOW names a database: 1044 for one in which nothing is the session's.
    pub(crate) fn may_show_database(&self, database: &str) -> Result<(), SqlError> {
        match self.core.sees_database(database) {
            true => Ok(()),
            false => Err(self.core.database_denied(database)),
        }
    }

    /// SHOW CREATE TABLE takes a privilege on the whole table.
    pub(crate) fn may_show_definition(&self, database: &str, table: &str) -> Result<(), SqlError> {
        let core = &self.core;
        if core.temporary_table(database, table).is_some() {
            return Ok(());
        }
        if core.standing.everything || database.eq_ignore_ascii_case("information_schema") || database == "performance_schema" {
            return Ok(());
        }
        match core.standing.rights.on_table(database, table).and(Privileges::ALL_TABLE).is_empty() {
            false => Ok(()),
            true => {
                let login = &core.login;
                Err(mysql_error::codes::tableaccess_denied_error("SHOW", &login.account_user, &login.host, table))
            }
        }
    }

    /// The text of a view takes SHOW VIEW, and SELECT on the view.
    pub(crate) fn may_show_view(&self, database: &str, view: &str) -> Result<(), SqlError> {
        let core = &self.core;
        if core.standing.everything {
            return Ok(());
        }
        let held = core.standing.rights.on_table(database, view);
        match [Privileges::SHOW_VIEW, Privileges::SELECT].into_iter().find(|wanted| !held.has(*wanted)) {
            None => Ok(()),
            Some(missing) => Err(core.table_denied(missing, view)),
        }
    }

    /// SHOW COLUMNS and INDEX take SELECT on some part of the table.
    pub(crate) fn may_show_table(&self, database: &str, table: &str) -> Result<(), SqlError> {
        let core = &self.core;
        if core.standing.everything || database.eq_ignore_ascii_case("information_schema") || database == "performance_schema" {
            return Ok(());
        }
        match core.standing.rights.on_some_column(database, table).and(Privileges::ALL_TABLE).is_empty() {
            false => Ok(()),
            true => Err(core.table_denied(Privileges::SELECT, table)),
        }
    }
}
