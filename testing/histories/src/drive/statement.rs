//! Sends statements and reads their rows.

use super::Run;
use crate::history::{Element, Event, Key, Moment};
use crate::place::is_broken;
use mysql::Value;
use mysql::prelude::Queryable;

/// What a statement was answered.
pub(super) struct Answer {
    pub(super) rows: Vec<Vec<Value>>,
    pub(super) affected: u64,
    pub(super) sent: Moment,
    pub(super) answered: Moment,
}

/// Why a statement was not done.
pub(super) enum Failure {
    /// The whole transaction was rolled back (1213).
    Aborted,
    /// The statement was not done, the transaction goes on: 1062, 3572.
    Refused,
    /// The statement was not done after waiting (1205).
    TimedOut,
    /// The statement was not done, as somebody has killed it (1317); the transaction goes on.
    Interrupted,
    /// The statement was not done, for the state of a branch of XA (the error's number and text).
    Branch(u16, String),
    /// The connection is gone since this statement was sent.
    Broken(Moment),
    /// Anything else: a defect.
    Defect(String),
}

pub(super) fn ask(run: &Run<'_>, connection: &mut mysql::Conn, sql: &str, prepared: bool) -> Result<Answer, Failure> {
    run.count_statement();
    let sent = run.now();
    let result = if prepared { connection.exec_iter(sql, ()).and_then(collect) } else { connection.query_iter(sql).and_then(collect) };
    let answered = run.now();
    match result {
        Ok((rows, affected)) => Ok(Answer { rows, affected, sent, answered }),
        Err(mysql::Error::MySqlError(error)) => Err(match error.code {
            1213 => Failure::Aborted,
            1062 | 3572 => Failure::Refused,
            1205 => Failure::TimedOut,
            1397 | 1399 | 1614 => Failure::Branch(error.code, format!("{sql}: {error}")),
            1317 if run.settings.faults => Failure::Interrupted,
            _ => Failure::Defect(format!("{sql}: {error}")),
        }),
        Err(error) if is_broken(&error) => Err(Failure::Broken(sent)),
        Err(error) => Err(Failure::Defect(format!("{sql}: {error}"))),
    }
}

fn collect<P: mysql::prelude::Protocol>(mut result: mysql::QueryResult<'_, '_, '_, P>) -> Result<(Vec<Vec<Value>>, u64), mysql::Error> {
    // After the last row the result no longer knows.
    let affected = result.affected_rows();
    let mut rows = Vec::new();
    for row in result.by_ref() {
        rows.push(row?.unwrap());
    }
    Ok((rows, affected))
}

pub(super) fn number(value: &Value) -> u64 {
    match value {
        Value::Int(number) => *number as u64,
        Value::UInt(number) => *number,
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).parse().unwrap_or(u64::MAX),
        _ => u64::MAX,
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => format!("{other:?}"),
    }
}

/// A row `id, last, v` of a list, and what is odd about it.
pub(super) fn list_row(run: &Run<'_>, row: &[Value]) -> (Key, Vec<Element>, Option<Event>) {
    let key = run.key_of_id(number(&row[0]));
    let last = run.element_of(number(&row[1]));
    let v = text(&row[2]);
    let list: Vec<Element> = v.split(',').filter(|part| !part.is_empty()).map(|part| part.parse().unwrap_or(u64::MAX)).collect();
    let odd = list.last().copied().unwrap_or(0) != last;
    (key, list, odd.then(|| Event::Oddity(format!("list {key} is {v:?} with last = {last}"))))
}
