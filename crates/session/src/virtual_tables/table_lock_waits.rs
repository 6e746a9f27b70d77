//! `sys.schema_table_lock_waits` and its `x$` twin: who waits for a table's metadata lock, and beside each such wait everybody who holds one on the table.

use super::VirtualTable;
use super::column::{count, long_words, text};
use super::listed;
use super::metadata_locks::{TableLock, table_locks};
use super::sys::define;
use crate::context::Core;
use crate::show::{Process, processes};
use catalog::{VirtualRequest, VirtualRow};
use executor::VirtualRows;
use std::collections::HashMap;
use types::{ColumnType, TypeKind, Value};

/// Longest statement that the view shows whole, and what it shows of both ends of a longer one.
const STATEMENT_CHARS_MAX: usize = 64;
const STATEMENT_END_CHARS: usize = 30;

pub(super) fn tables() -> Vec<VirtualTable> {
    vec![
        VirtualTable { def: define("schema_table_lock_waits", columns()), rows: |core, request| rows(core, request, shortened) },
        VirtualTable { def: define("x$schema_table_lock_waits", columns()), rows: |core, request| rows(core, request, |whole| whole) },
    ]
}

fn columns() -> Vec<(&'static str, ColumnType)> {
    let account = || long_words(TypeKind::Text);
    vec![
        ("object_schema", text(64)),
        ("object_name", text(64)),
        ("waiting_thread_id", count().not_null()),
        ("waiting_pid", count()),
        ("waiting_account", account()),
        ("waiting_lock_type", text(32).not_null()),
        ("waiting_lock_duration", text(32).not_null()),
        ("waiting_query", long_words(TypeKind::LongText)),
        ("waiting_query_secs", ColumnType::bigint()),
        ("waiting_query_rows_affected", count()),
        ("waiting_query_rows_examined", count()),
        ("blocking_thread_id", count().not_null()),
        ("blocking_pid", count()),
        ("blocking_account", account()),
        ("blocking_lock_type", text(32).not_null()),
        ("blocking_lock_duration", text(32).not_null()),
        ("sql_kill_blocking_query", text(31)),
        ("sql_kill_blocking_connection", text(25)),
    ]
}

fn rows(core: &mut Core, _request: &VirtualRequest, query: fn(String) -> String) -> executor::Result<VirtualRows> {
    let locks = table_locks(core)?;
    let processes: HashMap<u64, Process> = processes(core).map(|process| (process.id, process)).collect();
    let mut rows = Vec::new();
    for waiting in locks.iter().filter(|lock| lock.is_awaited) {
        let Some(waiter) = processes.get(&waiting.client) else { continue };
        for blocking in locks.iter().filter(|lock| !lock.is_awaited && lock.database == waiting.database && lock.name == waiting.name) {
            if let Some(blocker) = processes.get(&blocking.client) {
                rows.push(row(waiting, waiter, blocking, blocker, query));
            }
        }
    }
    Ok(listed(rows))
}

fn row(waiting: &TableLock, waiter: &Process, blocking: &TableLock, blocker: &Process, query: fn(String) -> String) -> VirtualRow {
    // Without the port, as accounts are named.
    let account = |process: &Process| format!("{}@{}", process.user, process.host.split(':').next().unwrap_or_default());
    vec![
        waiting.database.as_str().into(),
        waiting.name.as_str().into(),
        Value::UInt(waiter.id),
        Value::UInt(waiter.id),
        account(waiter).into(),
        waiting.kind.into(),
        waiting.duration.into(),
        waiter.info.clone().map(query).into(),
        Value::Int(waiter.seconds),
        // Not counted while a statement runs.
        Value::Null,
        Value::Null,
        Value::UInt(blocker.id),
        Value::UInt(blocker.id),
        account(blocker).into(),
        blocking.kind.into(),
        blocking.duration.into(),
        format!("KILL QUERY {}", blocker.id).into(),
        format!("KILL {}", blocker.id).into(),
    ]
}

/// A statement as `sys.format_statement` shows it: on one line, the middle of a long one left out.
fn shortened(statement: String) -> String {
    let line = statement.replace('\n', " ");
    let chars = line.chars().count();
    if chars <= STATEMENT_CHARS_MAX {
        return line;
    }
    let head: String = line.chars().take(STATEMENT_END_CHARS).collect();
    let tail: String = line.chars().skip(chars - STATEMENT_END_CHARS).collect();
    format!("{head} ... {tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_statements_lose_their_middle_as_in_mysql() {
        assert_eq!(shortened("a\nb".into()), "a b");
        assert_eq!(shortened("a".repeat(64)), "a".repeat(64));
        assert_eq!(shortened("abcdefghij".repeat(10)), format!("{0} ... {0}", "abcdefghij".repeat(3)));
    }
}
