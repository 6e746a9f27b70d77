//! What a server answers, and in what two answers differ.

use crate::{parameters, rows};
use mysql::prelude::{Protocol, Queryable};
use mysql::{Conn, Params, QueryResult, Value};

/// A statement's answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Rows in the order of their text, except where the statement asks for one order that tells all apart.
    Rows {
        /// Type, signedness and digits of each column.
        types: Vec<String>,
        /// Values as text, joined.
        rows: Vec<String>,
        /// Level, number and message of each warning.
        warnings: Vec<String>,
    },
    /// A change.
    Changed {
        /// Rows affected.
        count: u64,
        /// The tables afterwards.
        rows: Vec<String>,
        /// Level, number and message of each warning.
        warnings: Vec<String>,
    },
    /// An error.
    Error {
        /// Number.
        code: u16,
        /// SQLSTATE.
        state: String,
        /// Text.
        message: String,
    },
    /// The connection broke.
    Broken(String),
}

/// In what answers differ, the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    /// A broken connection, an internal error.
    Broken,
    /// Other rows or counts.
    Result,
    /// An error here, none there; or another error.
    Error,
    /// Another number of warnings, or other numbers.
    Warnings,
    /// Other types of columns.
    Types,
    /// Other texts of errors or warnings.
    Texts,
}

impl Difference {
    /// All of them, the gravest first.
    pub const ALL: [Difference; 6] =
        [Difference::Broken, Difference::Result, Difference::Error, Difference::Warnings, Difference::Types, Difference::Texts];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Difference::Broken => "broken",
            Difference::Result => "result",
            Difference::Error => "error",
            Difference::Warnings => "warnings",
            Difference::Types => "types",
            Difference::Texts => "texts",
        }
    }

    /// Between our answer and the other server's; the gravest there is.
    pub fn between(ours: &Answer, theirs: &Answer) -> Option<Difference> {
        const INTERNAL_ERROR: u16 = 1815;
        match (ours, theirs) {
            (Answer::Broken(_), _) | (Answer::Error { code: INTERNAL_ERROR, .. }, _) => Some(Difference::Broken),
            // The other server's own trouble is nothing to compare with.
            (_, Answer::Broken(_)) => None,
            (Answer::Error { code, message, .. }, Answer::Error { code: their_code, message: their_message, .. }) => {
                // The text of a syntax error quotes what follows.
                const SYNTAX: u16 = 1064;
                if code != their_code {
                    Some(Difference::Error)
                } else if message != their_message && *code != SYNTAX {
                    Some(Difference::Texts)
                } else {
                    None
                }
            }
            (Answer::Error { .. }, _) | (_, Answer::Error { .. }) => Some(Difference::Error),
            (Answer::Rows { types, rows, warnings }, Answer::Rows { types: their_types, rows: their_rows, warnings: their_warnings }) => {
                if rows != their_rows {
                    return Some(Difference::Result);
                }
                if let Some(difference) = between_warnings(warnings, their_warnings).filter(|found| *found == Difference::Warnings) {
                    return Some(difference);
                }
                if types != their_types {
                    return Some(Difference::Types);
                }
                between_warnings(warnings, their_warnings)
            }
            (
                Answer::Changed { count, rows, warnings },
                Answer::Changed { count: their_count, rows: their_rows, warnings: their_warnings },
            ) => {
                if rows != their_rows || count != their_count {
                    return Some(Difference::Result);
                }
                between_warnings(warnings, their_warnings)
            }
            _ => Some(Difference::Result),
        }
    }
}

fn between_warnings(ours: &[String], theirs: &[String]) -> Option<Difference> {
    // Which row is met first is the plan's affair, and with it which warnings come first of many.
    let numbers = |warnings: &[String]| -> Vec<String> {
        let mut numbers: Vec<String> = warnings.iter().map(|warning| warning.split(": ").next().unwrap_or_default().to_owned()).collect();
        numbers.sort();
        numbers
    };
    let sorted = |warnings: &[String]| {
        let mut warnings = warnings.to_vec();
        warnings.sort();
        warnings
    };
    if numbers(ours) != numbers(theirs) {
        Some(Difference::Warnings)
    } else if sorted(ours) != sorted(theirs) {
        Some(Difference::Texts)
    } else {
        None
    }
}

/// Asks a query.
pub fn query(connection: &mut Conn, sql: &str) -> Answer {
    match connection.query_iter(sql).and_then(gathered) {
        Ok((types, rows)) => answered(connection, sql, types, rows),
        Err(error) => failed(error),
    }
}

/// Asks a query that is prepared for this once; its parameters are in the text.
pub fn prepared(connection: &mut Conn, text: &str) -> Answer {
    let (sql, values) = parameters::split(text);
    let statement = match connection.prep(&sql) {
        Ok(statement) => statement,
        Err(error) => return failed(error),
    };
    let answer = match connection.exec_iter(&statement, Params::Positional(values)).and_then(gathered) {
        Ok((types, rows)) => answered(connection, &sql, types, rows),
        Err(error) => failed(error),
    };
    match connection.close(statement) {
        Ok(()) => answer,
        Err(error) => failed(error),
    }
}

/// Types of columns and rows of an answer.
fn gathered<P: Protocol>(mut result: QueryResult<'_, '_, '_, P>) -> mysql::Result<(Vec<String>, Vec<String>)> {
    let types = result.columns().as_ref().iter().map(described).collect();
    let mut rows = Vec::new();
    for row in result.by_ref() {
        rows.push(row?.unwrap().iter().map(shown).collect::<Vec<_>>().join(" | "));
    }
    Ok((types, rows))
}

fn answered(connection: &mut Conn, sql: &str, types: Vec<String>, mut rows: Vec<String>) -> Answer {
    if !sql.ends_with(rows::TOTAL) {
        rows.sort();
    }
    match warnings(connection) {
        Ok(warnings) => Answer::Rows { types, rows, warnings },
        Err(error) => failed(error),
    }
}

/// Makes a change in a transaction of its own, looks at these tables, and takes it back. The change's parameters are in its text.
pub fn change(connection: &mut Conn, text: &str, tables: &[&str]) -> Answer {
    if let Err(error) = connection.query_drop("BEGIN") {
        return failed(error);
    }
    let (sql, values) = parameters::split(text);
    let changed = if values.is_empty() {
        connection.query_iter(sql).map(|result| result.affected_rows())
    } else {
        connection.prep(sql).and_then(|statement| {
            let count = connection.exec_iter(&statement, Params::Positional(values)).map(|result| result.affected_rows());
            connection.close(statement)?;
            count
        })
    };
    let answer = match changed {
        Err(error) => failed(error),
        Ok(count) => match warnings(connection) {
            Err(error) => failed(error),
            Ok(warnings) => contents(connection, tables, count, warnings),
        },
    };
    match connection.query_drop("ROLLBACK") {
        Ok(()) => answer,
        Err(error) => failed(error),
    }
}

/// What a change has left in these tables.
fn contents(connection: &mut Conn, tables: &[&str], count: u64, warnings: Vec<String>) -> Answer {
    let mut all = Vec::new();
    for table in tables {
        match query(connection, &format!("SELECT '{table}', t.* FROM {table} AS t")) {
            Answer::Rows { rows, .. } => all.extend(rows),
            other => return other,
        }
    }
    Answer::Changed { count, rows: all, warnings }
}

fn warnings(connection: &mut Conn) -> mysql::Result<Vec<String>> {
    let rows: Vec<(String, u32, String)> = connection.query("SHOW WARNINGS")?;
    Ok(rows.into_iter().map(|(level, code, message)| format!("{level} {code}: {message}")).collect())
}

fn failed(error: mysql::Error) -> Answer {
    match error {
        mysql::Error::MySqlError(error) => Answer::Error { code: error.code, state: error.state, message: error.message },
        other => Answer::Broken(other.to_string()),
    }
}

fn described(column: &mysql::Column) -> String {
    let flags = column.flags();
    let unsigned = flags.contains(mysql::consts::ColumnFlags::UNSIGNED_FLAG);
    format!("{:?}{}({})", column.column_type(), if unsigned { " UNSIGNED" } else { "" }, column.decimals())
}

fn shown(value: &Value) -> String {
    match value {
        Value::NULL => "NULL".to_owned(),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => format!("'{}'", text.escape_debug()),
            Err(_) => format!("0x{}", bytes.iter().map(|byte| format!("{byte:02X}")).collect::<String>()),
        },
        other => format!("{other:?}"),
    }
}
