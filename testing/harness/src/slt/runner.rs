//! Runs the blocks of a file and compares, or writes down, the answers.

use super::block::{self, Block};
use super::values::show;
use crate::Target;
use mysql::prelude::Queryable;
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

/// What to do with an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// A difference is a failure.
    Check,
    /// The file is rewritten.
    Update,
    /// What the file says is MySQL's answer: where ours differs, both are written.
    Known,
}

impl Mode {
    /// By the environment's `UPDATE_EXPECT`: `known`, anything else to update, or absent to check.
    pub fn from_env() -> Mode {
        match std::env::var("UPDATE_EXPECT").as_deref() {
            Ok("known") => Mode::Known,
            Ok(_) => Mode::Update,
            Err(_) => Mode::Check,
        }
    }
}

/// How statements travel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// COM_QUERY and text rows.
    Text,
    /// COM_STMT_PREPARE, COM_STMT_EXECUTE and binary rows, where a statement can be prepared.
    Prepared,
}

const DATABASE: &str = "slt";

/// Runs one file in a fresh database and returns how many statements it has; `Err` lists every difference.
pub fn run_file(target: &mut Target, path: &Path, mode: Mode, protocol: Protocol) -> Result<usize, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let ours_only = text.lines().take(5).any(|l| l == "# only: altiplano") || path.components().any(|c| c.as_os_str() == "known");
    if ours_only && target.is_external() {
        return Ok(0);
    }
    if protocol == Protocol::Prepared && text.lines().take(5).any(|l| l == "# only: text") {
        return Ok(0);
    }
    let mut runner = Runner {
        target,
        lines: HashMap::new(),
        users: HashMap::new(),
        current: "default".into(),
        mode,
        protocol,
        failures: Vec::new(),
        statements: 0,
        files: format!("/tmp/slt-{}-{}", std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed)),
    };
    runner.fresh_database().map_err(|e| format!("{}: {e}", path.display()))?;
    let blocks: Vec<Block> = block::parse(&text)
        .into_iter()
        .map(|mut block| {
            let place = format!("{}:{}", path.display(), block.line);
            runner.block(&mut block, &place);
            block
        })
        .collect();
    runner.remove_files();
    if mode != Mode::Check {
        let new = block::print(&blocks);
        if new != text {
            std::fs::write(path, new).map_err(|e| e.to_string())?;
        }
        runner.failures.retain(|f| f.contains("broken"));
    }
    if runner.failures.is_empty() { Ok(runner.statements) } else { Err(runner.failures.join("\n")) }
}

/// A connection of a file.
enum Line {
    Idle(Box<mysql::Conn>),
    Busy(JoinHandle<(Box<mysql::Conn>, Answer)>),
}

struct Runner<'s> {
    target: &'s mut Target,
    lines: HashMap<String, Line>,
    /// Connections that are not root's: user and password.
    users: HashMap<String, (String, Option<String>)>,
    current: String,
    mode: Mode,
    protocol: Protocol,
    failures: Vec<String>,
    statements: usize,
    /// What `$FILES` stands for: how the paths of this run's files begin.
    files: String,
}

/// Tells runs of files apart.
static RUNS: AtomicUsize = AtomicUsize::new(0);
/// In a statement: how the paths of files begin that no run before this one has made.
const FILES: &str = "$FILES";

/// What the server answered.
enum Answer {
    Rows {
        names: String,
        rows: Vec<String>,
    },
    Count(u64),
    Error {
        code: u16,
        state: String,
        message: String,
    },
    /// The connection broke or the client failed.
    Broken(String),
}

impl Runner<'_> {
    fn fresh_database(&mut self) -> Result<(), String> {
        let mut connection = match self.target.connect(None) {
            Ok(connection) => connection,
            Err(_) => {
                // The file before this one may have taken the server down: it has failed for that, this one need not.
                self.target.restart();
                self.target.connect(None).map_err(|e| e.to_string())?
            }
        };
        for statement in [format!("DROP DATABASE IF EXISTS {DATABASE}"), format!("CREATE DATABASE {DATABASE}")] {
            connection.query_drop(&statement).map_err(|e| format!("{statement}: {e}"))?;
        }
        Ok(())
    }

    /// Runs a block and, when updating, makes it read as it should.
    fn block(&mut self, block: &mut Block, place: &str) {
        let directive: Vec<&str> = block.directive.iter().map(String::as_str).collect();
        match directive.as_slice() {
            ["connection", name] => self.current = (*name).into(),
            ["connection", name, user, password @ ..] => {
                self.current = (*name).into();
                let password = password.first().map(|password| (*password).to_owned());
                self.users.insert((*name).into(), ((*user).to_owned(), password));
            }
            ["disconnect", name] => {
                self.lines.remove(*name);
            }
            ["restart"] => {
                self.lines.clear();
                self.target.restart();
            }
            ["send"] => self.send(&block.sql, place),
            ["reap", ..] => {
                let answer = self.reap();
                let words = block.directive.split_off(1);
                block.directive = words;
                self.judge(block, &answer, place);
                block.directive.insert(0, "reap".into());
            }
            ["statement" | "query", ..] => {
                let answer = self.ask(&block.sql);
                self.judge(block, &answer, place);
            }
            [] if block.sql.is_empty() => {}
            [] if self.mode != Mode::Check => {
                let answer = self.ask(&block.sql);
                self.judge(block, &answer, place);
            }
            _ => self.failures.push(format!("{place}: no directive in front of {:?}{:?}", block.directive.join(" "), block.sql)),
        }
    }

    /// Compares the answer with the block, or puts it there.
    fn judge(&mut self, block: &mut Block, answer: &Answer, place: &str) {
        self.statements += 1;
        if let Answer::Broken(what) = answer {
            self.failures.push(format!("{place}: {}\n  broken: {what}", block.sql));
            return;
        }
        if self.mode == Mode::Known && !self.target.is_external() {
            let (directive, expected) = block.mysql.take().unwrap_or_else(|| (block.directive.clone(), block.expected.clone()));
            let reference = Block { directive, expected, ..block.clone() };
            let ours = written(&reference, answer);
            *block = match agrees(&reference, &ours, answer) {
                true => reference,
                false => Block { mysql: Some((reference.directive, reference.expected)), ..ours },
            };
            return;
        }
        let mysql_side = self.target.is_external().then(|| block.mysql.clone()).flatten();
        let said = match mysql_side.clone() {
            Some((directive, expected)) => Block { directive, expected, ..block.clone() },
            None => block.clone(),
        };
        let new = written(&said, answer);
        if agrees(&said, &new, answer) {
            return;
        }
        let show = |b: &Block| format!("{}\n    {}", b.directive.join(" "), b.expected.clone().unwrap_or_default().join("\n    "));
        self.failures.push(format!("{place}: {}\n  expected: {}\n  got: {}", block.sql, show(&said), show(&new)));
        if self.mode == Mode::Update {
            match mysql_side {
                Some(_) => block.mysql = Some((new.directive, new.expected)),
                None => *block = new,
            }
        }
    }

    fn send(&mut self, sql: &str, place: &str) {
        match self.take_idle() {
            Ok(mut connection) => {
                let (sql, protocol) = (sql.to_string(), self.protocol);
                let handle = std::thread::spawn(move || {
                    let answer = ask(&mut connection, &sql, protocol);
                    (connection, answer)
                });
                self.lines.insert(self.current.clone(), Line::Busy(handle));
            }
            Err(why) => self.failures.push(format!("{place}: {why}")),
        }
    }

    fn reap(&mut self) -> Answer {
        match self.lines.remove(&self.current) {
            Some(Line::Busy(handle)) => {
                let (connection, answer) = handle.join().expect("the thread of a connection does not panic");
                self.keep(connection, &answer);
                answer
            }
            _ => Answer::Broken("nothing was sent on this connection".into()),
        }
    }

    fn take_idle(&mut self) -> Result<Box<mysql::Conn>, String> {
        match self.lines.remove(&self.current) {
            Some(Line::Idle(connection)) => Ok(connection),
            Some(busy) => {
                self.lines.insert(self.current.clone(), busy);
                Err("the connection is busy: reap first".into())
            }
            None => {
                let connected = match self.users.get(&self.current) {
                    Some((user, password)) => self.target.connect_as(user, password.as_deref()),
                    None => self.target.connect(Some(DATABASE)),
                };
                connected.map(Box::new).map_err(|e| e.to_string())
            }
        }
    }

    /// Those of a MySQL lie where it has put them, which may be another machine.
    fn remove_files(&self) {
        let Some((directory, name)) = self.files.rsplit_once('/') else { return };
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().strip_prefix(name).is_some_and(|rest| rest.starts_with('-')) {
                // Somebody may have removed it.
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// A broken connection is not used again.
    fn keep(&mut self, connection: Box<mysql::Conn>, answer: &Answer) {
        if !matches!(answer, Answer::Broken(_)) {
            self.lines.insert(self.current.clone(), Line::Idle(connection));
        }
    }

    fn ask(&mut self, sql: &str) -> Answer {
        let mut connection = match self.take_idle() {
            Ok(connection) => connection,
            Err(why) => {
                self.target.restart();
                return Answer::Broken(why);
            }
        };
        let mut answer = ask(&mut connection, &sql.replace(FILES, &self.files), self.protocol);
        if let Answer::Error { message, .. } = &mut answer {
            *message = message.replace(&self.files, FILES);
        }
        if let Answer::Rows { names, rows } = &mut answer {
            rows.iter_mut().chain([names]).for_each(|text| *text = text.replace(&self.files, FILES));
        }
        self.keep(connection, &answer);
        answer
    }
}

/// Whether an answer is as the block says. The message of an error counts where the block has one.
fn agrees(said: &Block, new: &Block, answer: &Answer) -> bool {
    let message_ignored = said.expected.is_none() && matches!(answer, Answer::Error { .. });
    said.directive == new.directive && (message_ignored || said.expected == new.expected)
}

/// The block as it reads with this answer; options of a query that has them are kept.
fn written(block: &Block, answer: &Answer) -> Block {
    let was_query = block.directive.first().is_some_and(|d| d == "query");
    let words = |text: &str| text.split_whitespace().map(ToString::to_string).collect::<Vec<_>>();
    let (directive, expected) = match answer {
        Answer::Rows { names, rows } => {
            let directive = if was_query { block.directive.clone() } else { words(query_directive(&block.sql, rows)) };
            let has = |option: &str| directive.iter().any(|w| w == option);
            let mut rows = rows.clone();
            if has("rowsort") {
                rows.sort();
            }
            if has("names") {
                rows.insert(0, names.clone());
            }
            (directive, Some(rows))
        }
        Answer::Count(count) => {
            let counted = ["insert", "replace", "update", "delete"].iter().any(|verb| starts_with(&block.sql, verb));
            let says_ok = block.directive.get(1).is_some_and(|w| w == "ok");
            let counts = block.directive.get(1).is_some_and(|w| w == "count");
            (if counts || counted && !says_ok { words(&format!("statement count {count}")) } else { words("statement ok") }, None)
        }
        Answer::Error { code, state, message } => {
            // The text of a syntax error quotes what follows: where a parser notices is its own affair.
            let expected = if *code == 1064 { None } else { Some(vec![message.replace('\n', "\\n")]) };
            (words(&format!("statement error {code} {state}")), expected)
        }
        Answer::Broken(_) => (block.directive.clone(), block.expected.clone()),
    };
    Block { directive, expected, ..block.clone() }
}

fn starts_with(sql: &str, verb: &str) -> bool {
    sql.get(..verb.len()).is_some_and(|start| start.eq_ignore_ascii_case(verb))
}

/// Rows of a query without ORDER BY come in any order.
fn query_directive(sql: &str, rows: &[String]) -> &'static str {
    let ordered = sql.to_ascii_lowercase().contains("order by");
    let selects = ["select", "with", "(", "table", "values"].iter().any(|verb| starts_with(sql, verb));
    if selects && !ordered && rows.len() > 1 { "query rowsort" } else { "query" }
}

fn ask(connection: &mut mysql::Conn, sql: &str, protocol: Protocol) -> Answer {
    // SHOW WARNINGS would show what preparing it had to say; and the file's own placeholders are no parameters.
    let prepared = ["select", "insert", "replace", "update", "delete", "with", "(", "values", "table"];
    if protocol == Protocol::Prepared && prepared.iter().any(|verb| starts_with(sql, verb)) && !sql.contains('?') {
        match connection.prep(sql) {
            Ok(statement) => {
                let answer = collect(connection.exec_iter(&statement, ()));
                let _ = connection.close(statement);
                return answer;
            }
            // What cannot be prepared goes as text.
            Err(mysql::Error::MySqlError(e)) if e.code == NOT_PREPARABLE => {}
            Err(e) => return failed(e),
        }
    }
    collect(connection.query_iter(sql))
}

/// ER_UNSUPPORTED_PS.
const NOT_PREPARABLE: u16 = 1295;

fn failed(e: mysql::Error) -> Answer {
    match e {
        mysql::Error::MySqlError(e) => Answer::Error { code: e.code, state: e.state, message: e.message },
        other => Answer::Broken(other.to_string()),
    }
}

fn collect<P: mysql::prelude::Protocol>(result: mysql::Result<mysql::QueryResult<'_, '_, '_, P>>) -> Answer {
    let mut result = match result {
        Ok(result) => result,
        Err(e) => return failed(e),
    };
    let columns = result.columns().as_ref().to_vec();
    if columns.is_empty() {
        return Answer::Count(result.affected_rows());
    }
    let names = columns.iter().map(|c| c.name_str().into_owned()).collect::<Vec<_>>().join(" | ");
    let mut rows = Vec::new();
    for row in result.by_ref() {
        match row {
            Ok(row) => rows.push(row.unwrap().iter().zip(&columns).map(|(v, c)| show(v, c)).collect::<Vec<_>>().join(" | ")),
            Err(e) => return failed(e),
        }
    }
    Answer::Rows { names, rows }
}
