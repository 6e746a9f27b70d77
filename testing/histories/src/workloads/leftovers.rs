//! What a workload leaves behind in the server: nothing may remain.

use crate::place::Place;
use mysql::prelude::Queryable;
use std::time::{Duration, Instant};

/// Connections end a moment after their clients have gone; longer than this is a leak.
const DEADLINE: Duration = Duration::from_secs(20);

/// Threads that the server may keep beyond those it had: 512 for the next connections (for a minute), 16 for logins, some of its own that came
/// later than the first look.
const THREADS_KEPT: u64 = 512 + 16 + 4;

/// What was there before.
#[derive(Debug, Clone, Copy)]
pub struct Baseline {
    threads: Option<u64>,
}

impl Baseline {
    /// Looks at a server that is at rest.
    pub fn of(place: &Place) -> Baseline {
        Baseline { threads: place.pid().and_then(threads) }
    }
}

/// Threads of a process.
fn threads(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Threads:"))?.trim().parse().ok()
}

/// Connections, transactions, locks, versions and threads that remain once all clients have gone; empty when there is nothing.
pub fn leftovers(place: &Place, baseline: Baseline) -> Result<Vec<String>, String> {
    let mut connection = place.connect(None)?;
    let deadline = Instant::now() + DEADLINE;
    loop {
        let left = look(place, baseline, &mut connection)?;
        if left.is_empty() || Instant::now() > deadline {
            return Ok(left);
        }
        std::thread::yield_now();
    }
}

fn look(place: &Place, baseline: Baseline, connection: &mut mysql::Conn) -> Result<Vec<String>, String> {
    let failed = |error: mysql::Error| error.to_string();
    let mut left = Vec::new();
    let own = connection.connection_id();
    let processes: Vec<mysql::Row> = connection.query("SHOW PROCESSLIST").map_err(failed)?;
    let user = |row: &mysql::Row| row.get::<Option<String>, _>("User").flatten().unwrap_or_default();
    let others = processes.iter().filter(|row| row.get::<u32, _>("Id") != Some(own) && user(row) == "root").count();
    if others > 0 {
        left.push(format!("{others} connections"));
    }
    // Views are open only in transactions; all of these are tables of MySQL's.
    for (what, sql) in [
        ("transactions", "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_mysql_thread_id <> CONNECTION_ID()"),
        ("locks", "SELECT COUNT(*) FROM performance_schema.data_locks"),
        ("lock waits", "SELECT COUNT(*) FROM performance_schema.data_lock_waits"),
    ] {
        match connection.query_first::<u64, _>(sql) {
            Ok(count) if count.unwrap_or(0) > 0 => left.push(format!("{} {what}", count.unwrap_or(0))),
            Ok(_) => {}
            // A server that has no such table.
            Err(mysql::Error::MySqlError(error)) if matches!(error.code, 1146 | 1049 | 1109 | 1235) => {}
            Err(error) => return Err(format!("{sql}: {error}")),
        }
    }
    if place.pid().is_some() {
        // Of a server of our own: nothing else runs, and purge comes to its end.
        for (name, expected) in
            [("Threads_connected", 1), ("Threads_running", 1), ("Altiplano_rollbacks_pending", 0), ("Altiplano_admission_queued", 0)]
        {
            let sql = format!("SHOW GLOBAL STATUS LIKE '{name}'");
            let value = connection.query_first::<(String, u64), _>(&sql).map_err(failed)?.map(|row| row.1);
            if value.is_some_and(|value| value != expected) {
                left.push(format!("{name} = {}", value.unwrap_or_default()));
            }
        }
        let status: Option<(String, String, String)> = connection.query_first("SHOW ENGINE INNODB STATUS").map_err(failed)?;
        let length = status.iter().flat_map(|row| row.2.lines()).find_map(|line| line.strip_prefix("History list length "));
        if length.is_some_and(|length| length.trim() != "0") {
            left.push(format!("{} transactions that purge has not cleaned up after", length.unwrap_or_default()));
        }
    }
    if let (Some(before), Some(now)) = (baseline.threads, place.pid().and_then(threads))
        && now > before + THREADS_KEPT
    {
        left.push(format!("{now} threads, {before} before"));
    }
    Ok(left)
}
