//! SQL logic tests: statements with their errors, row counts and results, as text.
//!
//! ```text
//! # description: what the file shows
//! statement ok                       statement that succeeds
//! statement count 2                  … and affects two rows
//! statement error 1062 23000         … or fails with this number and SQLSTATE
//! query [rowsort]                    rows follow after ----, one a line, values separated by " | "
//! connection NAME                    what follows runs on that connection (opened at first use, in the same database)
//! restart                            kill -9 and start again; all connections are opened anew
//! ```
//!
//! Blocks are separated by blank lines. `UPDATE_EXPECT=1` writes what the server answered into the file instead of failing.

use crate::Server;
use mysql::prelude::Queryable;
use std::collections::HashMap;
use std::path::Path;

/// Runs one file in a fresh database; `Err` lists every difference.
pub fn run_file(server: &mut Server, path: &Path) -> Result<usize, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut runner = Runner { server, connections: HashMap::new(), current: "default".into(), failures: Vec::new(), blocks_run: 0 };
    runner.fresh_database();
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let mut output = Vec::new();
    let mut line_no = 1;
    for block in text.trim_end().split("\n\n") {
        output.push(runner.block(block, &format!("{}:{line_no}", path.display())));
        line_no += block.lines().count() + 1;
    }
    let (failures, count) = (runner.failures, runner.blocks_run);
    if update {
        let new = output.join("\n\n") + "\n";
        if new != text {
            std::fs::write(path, new).map_err(|e| e.to_string())?;
        }
        return Ok(count);
    }
    if failures.is_empty() { Ok(count) } else { Err(failures.join("\n")) }
}

const DATABASE: &str = "slt";

struct Runner<'s> {
    server: &'s mut Server,
    connections: HashMap<String, mysql::Conn>,
    current: String,
    failures: Vec<String>,
    blocks_run: usize,
}

/// What the server answered.
enum Answer {
    Rows(Vec<String>),
    Count(u64),
    Error(u16, String, String),
    /// The connection broke or the client failed.
    Broken(String),
}

impl Runner<'_> {
    fn fresh_database(&mut self) {
        let mut connection = self.server.connect();
        for statement in [format!("DROP DATABASE IF EXISTS {DATABASE}"), format!("CREATE DATABASE {DATABASE}")] {
            connection.query_drop(&statement).unwrap_or_else(|e| panic!("{statement}: {e}"));
        }
    }

    fn connection(&mut self) -> &mut mysql::Conn {
        let options = self.server.options(Some(DATABASE));
        self.connections.entry(self.current.clone()).or_insert_with(|| mysql::Conn::new(options).expect("a connection"))
    }

    /// Runs a block and returns it as it should read.
    fn block(&mut self, block: &str, place: &str) -> String {
        let comments: Vec<&str> = block.lines().take_while(|l| l.starts_with('#') || l.is_empty()).collect();
        let mut rest = block.lines().skip(comments.len());
        let Some(directive) = rest.next() else { return block.into() };
        let words: Vec<&str> = directive.split_whitespace().collect();
        let body: Vec<&str> = rest.collect();
        match words.as_slice() {
            ["connection", name] => self.current = (*name).into(),
            ["restart"] => {
                self.connections.clear();
                self.server.restart();
            }
            ["statement", ..] => return self.statement(&comments, directive, &words[1..], &body.join("\n"), place),
            ["query", ..] => return self.query(&comments, directive, words.contains(&"rowsort"), &body, place),
            _ => self.failures.push(format!("{place}: unknown directive {directive:?}")),
        }
        block.into()
    }

    fn statement(&mut self, comments: &[&str], directive: &str, expected: &[&str], sql: &str, place: &str) -> String {
        self.blocks_run += 1;
        let answer = self.ask(sql);
        let got = match &answer {
            Answer::Rows(_) => "ok".to_string(),
            Answer::Count(count) if expected.first() == Some(&"count") => format!("count {count}"),
            Answer::Count(_) => "ok".to_string(),
            Answer::Error(code, state, _) => format!("error {code} {state}"),
            Answer::Broken(what) => format!("broken {what}"),
        };
        if got != expected.join(" ") {
            let message = if let Answer::Error(_, _, message) = &answer { message.as_str() } else { "" };
            self.failures.push(format!("{place}: {sql}\n  expected {directive:?}, got {got:?} {message}"));
        }
        let mut lines: Vec<String> = comments.iter().map(ToString::to_string).collect();
        lines.extend([format!("statement {got}"), sql.to_string()]);
        lines.join("\n")
    }

    fn query(&mut self, comments: &[&str], directive: &str, rowsort: bool, body: &[&str], place: &str) -> String {
        self.blocks_run += 1;
        let split = body.iter().position(|l| *l == "----").unwrap_or(body.len());
        let sql = body[..split].join("\n");
        let expected: Vec<String> = body.get(split + 1..).unwrap_or(&[]).iter().map(ToString::to_string).collect();
        let mut got = match self.ask(&sql) {
            Answer::Rows(rows) => rows,
            Answer::Count(count) => vec![format!("(no rows; {count} affected)")],
            Answer::Error(code, state, message) => vec![format!("error {code} {state} {message}")],
            Answer::Broken(what) => vec![format!("broken {what}")],
        };
        if rowsort {
            got.sort();
        }
        if got != expected {
            self.failures.push(format!("{place}: {sql}\n  expected:\n    {}\n  got:\n    {}", expected.join("\n    "), got.join("\n    ")));
        }
        let mut lines: Vec<String> = comments.iter().map(ToString::to_string).collect();
        lines.extend([directive.to_string(), sql, "----".to_string()]);
        lines.extend(got);
        lines.join("\n")
    }

    fn ask(&mut self, sql: &str) -> Answer {
        let connection = self.connection();
        let failed = |e: mysql::Error| match e {
            mysql::Error::MySqlError(e) => Answer::Error(e.code, e.state, e.message),
            other => Answer::Broken(other.to_string()),
        };
        let mut result = match connection.query_iter(sql) {
            Ok(result) => result,
            Err(e) => return failed(e),
        };
        if result.columns().as_ref().is_empty() {
            return Answer::Count(result.affected_rows());
        }
        let mut rows = Vec::new();
        for row in result.by_ref() {
            match row {
                Ok(row) => rows.push(row.unwrap().iter().map(show).collect::<Vec<_>>().join(" | ")),
                Err(e) => return failed(e),
            }
        }
        Answer::Rows(rows)
    }
}

/// A value as the text protocol carries it; an empty string shows as (empty), line breaks as \n, bytes that are not text as hex.
fn show(value: &mysql::Value) -> String {
    match value {
        mysql::Value::NULL => "NULL".into(),
        mysql::Value::Bytes(bytes) if bytes.is_empty() => "(empty)".into(),
        mysql::Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.replace('\\', "\\\\").replace('\n', "\\n"),
            Err(_) => format!("0x{}", bytes.iter().map(|b| format!("{b:02X}")).collect::<String>()),
        },
        other => other.as_sql(true),
    }
}
