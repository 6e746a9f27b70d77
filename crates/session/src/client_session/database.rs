//! The session's current database. (Another one for a while: [`ClientSession::in_database`].)

use super::ClientSession;
use crate::error_map::{Outcome, catalog_error};
use crate::variables::variable;
use crate::virtual_tables;
use types::Collation;

impl ClientSession {
    /// Makes a database current.
    #[cold]
    pub(crate) fn use_database(&mut self, name: &str) -> Result<(), Outcome> {
        if !self.core.may_use_database(name) {
            return Err(self.core.database_denied(name).into());
        }
        let (name, collation) = match virtual_tables::database(name) {
            Some(database) => (database.name, database.collation),
            None => {
                let found = self.shared().catalog.database(name);
                (name, found.map_err(|error| catalog_error(error, || self.stop_error()))?.collation)
            }
        };
        self.prepared.leave(self.core.database.as_deref(), Some(name));
        self.core.database = Some(name.into());
        self.environment = 0;
        self.changes.note_schema();
        self.set_database_charset(collation);
        let name = name.to_owned();
        self.connection.set_label(|label| label.database = Some(name));
        Ok(())
    }

    /// A database is gone: where it was current, none is.
    pub(crate) fn forget_database(&mut self, name: &str) {
        let own = self.outer_databases.first().unwrap_or(&self.core.database);
        if own.as_deref() == Some(name) {
            self.prepared.leave(Some(name), None);
            self.changes.note_schema();
            let server = Collation::from_name(&self.session_text(variable!("collation_server")));
            self.set_database_charset(server.unwrap_or(Collation::DEFAULT));
            self.connection.set_label(|label| label.database = None);
        }
        for database in self.outer_databases.iter_mut().chain([&mut self.core.database]) {
            database.take_if(|database| **database == *name);
        }
        self.environment = 0;
    }
}
