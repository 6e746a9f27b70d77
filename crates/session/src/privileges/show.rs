//! What SHOW and `information_schema` show to whom.

use crate::client_session::ClientSession;
use crate::context::Core;
use crate::privileges::is_open_table;
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
        self.everything
            || database.eq_ignore_ascii_case("information_schema")
            || is_open_table(database, table)
            || self.rights.sees_table(database, table)
    }

    /// Whether the text of a view is shown: to its definer, and to who has SHOW VIEW on it and SELECT on some of it.
    pub fn definition(&self, view: &ViewDef) -> bool {
        let is_definer = self.account.user == view.definer_user && self.account.host.eq_ignore_ascii_case(&view.definer_host);
        let reads = || self.rights.on_some_column(&view.database, &view.name).has(Privileges::SELECT);
        self.everything || is_definer || self.rights.on_table(&view.database, &view.name).has(Privileges::SHOW_VIEW) && reads()
    }

    /// What may be done with a column, as the columns named `Privileges` tell it; empty for one that is not shown.
    pub fn column(&self, database: &str, table: &str, column: &str) -> String {
        if database.eq_ignore_ascii_case("information_schema") {
            return "select".to_owned();
        }
        if self.everything {
            return Shows::ALL_OF_COLUMN.to_owned();
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
    /// SHOW lists what is in a database: 1044 for one in which nothing is the session's.
    pub(crate) fn may_show_database(&self, database: &str) -> Result<(), SqlError> {
        match self.core.looks_into_database(database) {
            true => Ok(()),
            false => Err(self.core.database_denied(database)),
        }
    }

    /// SHOW CREATE TABLE takes a privilege on the whole table: of a view, too, whose text takes SHOW VIEW beside it.
    pub(crate) fn may_show_definition(&self, database: &str, table: &str) -> Result<(), SqlError> {
        let core = &self.core;
        if core.temporary_table(database, table).is_some() {
            return Ok(());
        }
        if core.standing.everything || database.eq_ignore_ascii_case("information_schema") || is_open_table(database, table) {
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

    /// The text of a view takes SHOW VIEW.
    pub(crate) fn may_show_view(&self, database: &str, view: &str) -> Result<(), SqlError> {
        let core = &self.core;
        match core.standing.everything || core.standing.rights.on_table(database, view).has(Privileges::SHOW_VIEW) {
            true => Ok(()),
            false => Err(core.table_denied(Privileges::SHOW_VIEW, view)),
        }
    }

    /// SHOW CREATE VIEW takes SELECT on some part of the view before it is looked up.
    pub(crate) fn may_read_some(&self, database: &str, view: &str) -> Result<(), SqlError> {
        let core = &self.core;
        match core.standing.everything || core.standing.rights.on_some_column(database, view).has(Privileges::SELECT) {
            true => Ok(()),
            false => Err(core.table_denied(Privileges::SELECT, view)),
        }
    }

    /// SHOW COLUMNS and INDEX take SELECT, or anything that is granted on the table itself: each shows what may be seen.
    pub(crate) fn may_show_table(&self, database: &str, table: &str) -> Result<(), SqlError> {
        let core = &self.core;
        if core.standing.everything || database.eq_ignore_ascii_case("information_schema") || database == "performance_schema" {
            return Ok(());
        }
        let rights = &core.standing.rights;
        match rights.database(database).has(Privileges::SELECT) || rights.names_table(database, table) {
            true => Ok(()),
            false => Err(core.table_denied(Privileges::SELECT, table)),
        }
    }
}
