//! Which connections wait for a lock at this moment, as the server tells it.
//!
//! Altiplano's process list is exact: a connection whose wait has been ended does not count as waiting, even before it runs again, and who
//! ends waits does so before it answers. MySQL looks for deadlocks in the background and caches what it shows for a tenth of a second, so
//! there the same picture must be seen several times.

use super::runner::Place;
use mysql::prelude::Queryable;
use std::collections::BTreeSet;
use std::time::Duration;

/// Asks a server.
pub(super) struct Waits {
    connection: mysql::Conn,
    is_altiplano: bool,
}

impl Waits {
    pub(super) fn open(place: &Place) -> Result<Waits, String> {
        let mut connection = place.connect(None)?;
        let comment: Option<(String, String)> =
            connection.query_first("SHOW VARIABLES LIKE 'version_comment'").map_err(|e| e.to_string())?;
        let is_altiplano = comment.is_some_and(|(_, value)| value.contains("Altiplano"));
        Ok(Waits { connection, is_altiplano })
    }

    /// How long to wait for an answer before the server is asked (again).
    pub(super) fn patience(&self) -> Duration {
        Duration::from_millis(if self.is_altiplano { 2 } else { 110 })
    }

    /// How often in a row the same picture must be seen.
    pub(super) fn looks(&self) -> usize {
        if self.is_altiplano { 2 } else { 4 }
    }

    /// Connections that wait for a row or metadata lock.
    pub(super) fn waiting(&mut self) -> Result<BTreeSet<u32>, String> {
        if self.is_altiplano {
            let rows: Vec<mysql::Row> = self.connection.query("SHOW PROCESSLIST").map_err(|e| e.to_string())?;
            let waits = |row: &mysql::Row| {
                row.get::<Option<String>, _>("State")
                    .flatten()
                    // Not admission, for which a session may wait that has been granted its lock.
                    .is_some_and(|state| state.starts_with("Waiting for") && state.ends_with("lock") || state == "User lock")
            };
            return Ok(rows.iter().filter(|row| waits(row)).filter_map(|row| row.get::<u32, _>("Id")).collect());
        }
        let sql = "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'
             UNION SELECT id FROM information_schema.processlist WHERE state LIKE 'Waiting for%lock' OR state = 'User lock'";
        self.connection.query::<u32, _>(sql).map(|ids| ids.into_iter().collect()).map_err(|e| e.to_string())
    }

    /// Connections that exist.
    pub(super) fn connections(&mut self) -> Result<BTreeSet<u32>, String> {
        let rows: Vec<mysql::Row> = self.connection.query("SHOW PROCESSLIST").map_err(|e| e.to_string())?;
        Ok(rows.iter().filter_map(|row| row.get::<u32, _>("Id")).collect())
    }

    pub(super) fn run(&mut self, sql: &str) -> Result<(), String> {
        self.connection.query_drop(sql).map_err(|e| format!("{sql}: {e}"))
    }
}
