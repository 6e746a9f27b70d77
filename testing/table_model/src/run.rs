//! A run: statements one after the other, each to the server and to the model.

use crate::check::check;
use crate::database::Database;
use crate::draw::Draw;
use crate::model::{Codes, Counter};
use crate::statement::Statement;
use harness::Target;
use mysql::Conn;
use mysql::prelude::Queryable;
use std::collections::BTreeMap;

const DATABASE: &str = "table_model";
/// Statements between two looks at everything.
const BETWEEN_CHECKS: usize = 8;
/// Statements that are shown when something differs.
const SHOWN: usize = 60;
/// Of a hundred statements that are not in a transaction, those before which a server of our own is killed.
const KILLS: u64 = 1;

/// What a run has done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Statements that did what they should.
    pub done: u64,
    /// Errors that were due, by number.
    pub refused: BTreeMap<u16, u64>,
    /// Times that the server was killed and started again.
    pub kills: u64,
}

/// The model beside the server.
struct Run<'t> {
    target: &'t mut Target,
    conn: Conn,
    /// What is committed.
    committed: Database,
    /// What the client sees.
    current: Database,
    in_transaction: bool,
    savepoints: Vec<(String, Database)>,
    /// Counters as they were when rows were last committed: those that a crash must leave.
    durable: BTreeMap<String, Counter>,
    said: Vec<String>,
    counts: Counts,
}

/// So many statements; the text tells where server and model differ, and what was said before.
pub fn survey(target: &mut Target, seed: u64, statements: usize) -> Result<Counts, String> {
    let mut conn = target.connect_patiently(None, std::time::Duration::from_secs(60)).map_err(|error| error.to_string())?;
    for sql in [
        "SET information_schema_stats_expiry = 0".to_owned(),
        format!("DROP DATABASE IF EXISTS {DATABASE}"),
        format!("CREATE DATABASE {DATABASE}"),
        format!("USE {DATABASE}"),
    ] {
        conn.query_drop(sql).map_err(|error| error.to_string())?;
    }
    let mut run = Run {
        target,
        conn,
        committed: Database::default(),
        current: Database::default(),
        in_transaction: false,
        savepoints: Vec::new(),
        durable: BTreeMap::new(),
        said: Vec::new(),
        counts: Counts::default(),
    };
    let mut draw = Draw::new(seed);
    for no in 0..statements {
        let step = run.step(&mut draw).and_then(|()| match no % BETWEEN_CHECKS == BETWEEN_CHECKS - 1 || no + 1 == statements {
            true => check(&mut run.conn, &run.current, &mut draw),
            false => Ok(()),
        });
        step.map_err(|what| format!("seed {seed}, statement {no}: {what}\nafter\n{}", run.last_said()))?;
    }
    Ok(run.counts)
}

impl Run<'_> {
    fn last_said(&self) -> String {
        let from = self.said.len().saturating_sub(SHOWN);
        self.said[from..].iter().map(|sql| format!("  {sql};\n")).collect()
    }

    fn step(&mut self, draw: &mut Draw) -> Result<(), String> {
        if draw.percent(KILLS) {
            self.kill()?;
        }
        let savepoints: Vec<String> = self.savepoints.iter().map(|(name, _)| name.clone()).collect();
        let statement = draw.statement(&self.current, self.in_transaction, &savepoints);
        let sql = statement.to_string();
        self.said.push(sql.clone());
        let expected = self.expected(&statement);
        let found = self.conn.query_drop(&sql);
        match (found, expected) {
            (Ok(()), Ok(affected)) => {
                self.counts.done += 1;
                match affected {
                    Some(affected) if affected != self.conn.affected_rows() => {
                        Err(format!("{sql}\n{} rows affected, expected {affected}", self.conn.affected_rows()))
                    }
                    _ => Ok(()),
                }
            }
            (Err(mysql::Error::MySqlError(error)), Err(codes)) if codes.contains(&error.code) => {
                *self.counts.refused.entry(error.code).or_default() += 1;
                Ok(())
            }
            (Ok(()), Err(codes)) => Err(format!("{sql}\ndone, expected one of the errors {codes:?}")),
            (Err(error), Ok(_)) => Err(format!("{sql}\n{error}, expected that it is done")),
            (Err(error), Err(codes)) => Err(format!("{sql}\n{error}, expected one of the errors {codes:?}")),
        }
    }

    /// What the model does.
    fn expected(&mut self, statement: &Statement) -> Result<Option<u64>, Codes> {
        if statement.commits_first() {
            self.end(true);
        }
        match statement {
            Statement::Begin => self.in_transaction = true,
            Statement::Commit => self.end(true),
            Statement::Rollback => self.end(false),
            Statement::Savepoint(name) => self.savepoints.push((name.clone(), self.current.clone())),
            Statement::RollbackTo(name) => {
                let at = self.savepoints.iter().position(|(known, _)| known == name).expect("it was drawn from them");
                self.savepoints.truncate(at + 1);
                let counters = std::mem::take(&mut self.current.counters);
                self.current = Database { counters, ..self.savepoints[at].1.clone() };
            }
            change => {
                let applied = self.current.apply(change);
                if !self.in_transaction {
                    self.commit();
                }
                return applied;
            }
        }
        Ok(None)
    }

    fn end(&mut self, commits: bool) {
        match commits {
            true => self.commit(),
            // Numbers that were given stay given.
            false => {
                let counters = std::mem::take(&mut self.current.counters);
                self.current = Database { counters, ..self.committed.clone() };
            }
        }
        self.in_transaction = false;
        self.savepoints.clear();
    }

    fn commit(&mut self) {
        if self.committed.tables != self.current.tables {
            self.durable = self.current.counters.clone();
        }
        self.committed = self.current.clone();
    }

    /// Kill -9 of a server of our own, and a new start: what was not committed is gone.
    fn kill(&mut self) -> Result<(), String> {
        if self.target.is_external() {
            return Ok(());
        }
        self.target.restart();
        self.end(false);
        // Numbers that nobody's commit has made durable may be given again.
        for (name, counter) in &mut self.current.counters {
            if self.durable.get(name) != Some(counter) {
                *counter = None;
            }
        }
        self.said.push("-- kill -9".into());
        self.counts.kills += 1;
        self.conn = self.target.connect(Some(DATABASE)).map_err(|error| error.to_string())?;
        self.conn.query_drop("SET information_schema_stats_expiry = 0").map_err(|error| error.to_string())
    }
}
