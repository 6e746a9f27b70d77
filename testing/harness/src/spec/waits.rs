//! Which connections wait for a lock at this moment, as the server tells it.
//!
//! Altiplano's process list is exact: a connection whose wait has been ended does not count as waiting, even before it runs again, and who
//! ends waits does so before it answers. MySQL looks for deadlocks in the background, so there the same picture must be seen several times.

use super::runner::Place;
use mysql::prelude::Queryable;
use std::collections::BTreeSet;
use std::time::Duration;

/// Where a server says who waits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// Altiplano's process list.
    Own,
    /// MySQL's `performance_schema`.
    LockWaits,
    /// MySQL's `INNODB_TRX`, where `performance_schema` is off: up to a tenth of a second old.
    Transactions,
}

/// Asks a server.
pub(super) struct Waits {
    connection: mysql::Conn,
    source: Source,
}

impl Waits {
    pub(super) fn open(place: &Place) -> Result<Waits, String> {
        let mut connection = place.connect(None)?;
        let told: Option<(String, bool)> =
            connection.query_first("SELECT @@version_comment, @@performance_schema").map_err(|e| e.to_string())?;
        let source = match told {
            Some((comment, _)) if comment.contains("Altiplano") => Source::Own,
            Some((_, true)) => Source::LockWaits,
            _ => Source::Transactions,
        };
        Ok(Waits { connection, source })
    }

    /// How long to wait for an answer before the server is asked (again).
    pub(super) fn patience(&self) -> Duration {
        Duration::from_millis(match self.source {
            Source::Own => 2,
            Source::LockWaits => 20,
            Source::Transactions => 110,
        })
    }

    /// How often in a row the same picture must be seen.
    pub(super) fn looks(&self) -> usize {
        match self.source {
            Source::Own => 2,
            Source::LockWaits => 3,
            Source::Transactions => 4,
        }
    }

    /// Connections that wait for a row or metadata lock.
    pub(super) fn waiting(&mut self) -> Result<BTreeSet<u32>, String> {
        if self.source == Source::Own {
            let rows: Vec<mysql::Row> = self.connection.query("SHOW PROCESSLIST").map_err(|e| e.to_string())?;
            let waits = |row: &mysql::Row| {
                row.get::<Option<String>, _>("State")
                    .flatten()
                    // Not admission, for which a session may wait that has been granted its lock.
                    .is_some_and(|state| state.starts_with("Waiting for") && state.ends_with("lock") || state == "User lock")
            };
            return Ok(rows.iter().filter(|row| waits(row)).filter_map(|row| row.get::<u32, _>("Id")).collect());
        }
        let for_rows = match self.source {
            Source::LockWaits => {
                "SELECT thread.processlist_id FROM performance_schema.data_lock_waits AS wait
                   JOIN performance_schema.threads AS thread ON thread.thread_id = wait.requesting_thread_id"
            }
            _ => "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'",
        };
        let sql = format!(
            "{for_rows}
             UNION SELECT id FROM information_schema.processlist WHERE state LIKE 'Waiting for%lock' OR state = 'User lock'"
        );
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
