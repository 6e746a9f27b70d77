//! A session: a connection with a thread of its own, so that a statement that waits holds up nobody else.

use super::file::Level;
use super::runner::Place;
use mysql::prelude::Queryable;
use std::sync::mpsc::{Receiver, Sender, channel};

/// A statement's answer, as the file writes it.
pub(super) type Answer = Vec<String>;

/// What the thread is asked to do.
struct Order {
    sql: String,
    times: usize,
}

/// A connection and its thread.
pub(super) struct Session {
    pub(super) id: u32,
    orders: Option<Sender<Order>>,
    answers: Receiver<Answer>,
    thread: Option<std::thread::JoinHandle<()>>,
    /// A statement was sent and has not been answered.
    pub(super) pending: bool,
}

impl Session {
    pub(super) fn open(place: &Place, database: &str, level: Level) -> Result<Session, String> {
        let mut connection = place.connect(Some(database))?;
        // Long enough for the slowest run; waits that are to end by themselves set their own.
        for sql in level.set().into_iter().chain(["SET innodb_lock_wait_timeout = 60, lock_wait_timeout = 60".into()]) {
            connection.query_drop(&sql).map_err(|e| format!("{sql}: {e}"))?;
        }
        let id = connection.connection_id();
        let (orders, taken) = channel::<Order>();
        let (given, answers) = channel();
        let thread = std::thread::spawn(move || {
            while let Ok(order) = taken.recv() {
                let mut answer = Answer::new();
                for _ in 0..order.times {
                    answer = ask(&mut connection, &order.sql);
                }
                if given.send(answer).is_err() {
                    break;
                }
            }
        });
        Ok(Session { id, orders: Some(orders), answers, thread: Some(thread), pending: false })
    }

    pub(super) fn start(&mut self, sql: String, times: usize) -> Result<(), String> {
        if self.pending {
            return Err("the session still waits".into());
        }
        self.pending = true;
        let orders = self.orders.as_ref().ok_or("the session is closed")?;
        orders.send(Order { sql, times }).map_err(|_| "the session's thread has ended".into())
    }

    /// The answer, if it has come.
    pub(super) fn poll(&mut self, patience: std::time::Duration) -> Option<Answer> {
        let answer = self.answers.recv_timeout(patience).ok()?;
        self.pending = false;
        Some(answer)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.orders = None;
        // A session that waits ends with its server, not here.
        if let Some(thread) = self.thread.take().filter(|_| !self.pending) {
            let _ = thread.join();
        }
    }
}

fn ask(connection: &mut mysql::Conn, sql: &str) -> Answer {
    let failed = |error: mysql::Error| match error {
        mysql::Error::MySqlError(e) => vec![format!("error {} {}", e.code, e.state)],
        _ => vec!["disconnected".into()],
    };
    let mut result = match connection.query_iter(sql) {
        Ok(result) => result,
        Err(error) => return failed(error),
    };
    if result.columns().as_ref().is_empty() {
        let word = sql.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
        let changes = matches!(word.as_str(), "INSERT" | "UPDATE" | "DELETE" | "REPLACE");
        return vec![if changes { format!("ok {}", result.affected_rows()) } else { "ok".into() }];
    }
    let mut rows = Vec::new();
    for row in result.by_ref() {
        match row {
            Ok(row) => rows.push(row.unwrap().iter().map(show).collect::<Vec<_>>().join(" | ")),
            Err(error) => {
                rows.extend(failed(error));
                return rows;
            }
        }
    }
    if rows.is_empty() {
        rows.push("(no rows)".into());
    }
    rows
}

fn show(value: &mysql::Value) -> String {
    match value {
        mysql::Value::NULL => "NULL".into(),
        mysql::Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => other.as_sql(true),
    }
}
