//! Two servers with the same tables.

use crate::answer::{self, Answer, Difference};
use crate::generate::{Generator, Kind};
use crate::node::Node;
use crate::{schema, stores, writes};
use env::SplitMix64 as Random;
use harness::Target;
use mysql::Conn;
use mysql::prelude::Queryable;

const DATABASE: &str = "differential";

/// A server that is asked, and the connection to it.
pub struct Side {
    target: Target,
    database: String,
    connection: Option<Conn>,
    settings: Vec<String>,
}

impl Side {
    /// Makes the tables of a seed on a server. What it leaves there is the database `differential`.
    pub fn new(target: Target, seed: u64, sql_mode: Option<&str>) -> Result<Side, String> {
        Side::with_tables(target, DATABASE, &schema::statements(&mut Random::new(seed), 1), sql_mode)
    }

    /// Makes a database by these statements. Rows that are refused are left out.
    pub fn with_tables(target: Target, database: &str, statements: &[String], sql_mode: Option<&str>) -> Result<Side, String> {
        let mut settings = vec!["SET time_zone = '+00:00', timestamp = 1700000000".to_owned()];
        settings.extend(sql_mode.map(|mode| format!("SET sql_mode = '{mode}'")));
        let mut connection = target.connect(None).map_err(|error| error.to_string())?;
        for statement in [format!("DROP DATABASE IF EXISTS {database}"), format!("CREATE DATABASE {database}"), format!("USE {database}")] {
            connection.query_drop(statement).map_err(|error| error.to_string())?;
        }
        connection.query_drop(&settings[0]).map_err(|error| error.to_string())?;
        let mut side = Side { target, database: database.to_owned(), connection: Some(connection), settings };
        side.run(statements)?;
        // The tables are made in the default mode, the statements asked in the one that is wanted.
        side.connection = None;
        Ok(side)
    }

    /// Has the server end what takes longer than this (error 3024), before a client's patience does.
    pub fn limit(&mut self, milliseconds: u32) {
        self.settings.push(format!("SET max_execution_time = {milliseconds}"));
        self.connection = None;
    }

    /// Runs statements, of which an INSERT may be refused.
    pub fn run(&mut self, statements: &[String]) -> Result<(), String> {
        let connection = self.connection()?;
        for statement in statements {
            match connection.query_drop(statement) {
                Ok(()) => {}
                // A row that is refused by one server is missed by the first SELECT of it.
                Err(mysql::Error::MySqlError(_)) if statement.starts_with("INSERT") => {}
                Err(error) => return Err(format!("{statement}: {error}")),
            }
        }
        Ok(())
    }

    fn connection(&mut self) -> Result<&mut Conn, String> {
        if self.connection.is_none() {
            let mut connection = self.target.connect(Some(&self.database)).map_err(|error| error.to_string())?;
            for setting in &self.settings {
                connection.query_drop(setting).map_err(|error| error.to_string())?;
            }
            self.connection = Some(connection);
        }
        self.connection.as_mut().ok_or_else(|| "no connection".to_owned())
    }

    /// The answer to a statement; changes are taken back.
    pub fn ask(&mut self, kind: Kind, sql: &str) -> Answer {
        let connection = match self.connection() {
            Ok(connection) => connection,
            Err(error) => return Answer::Broken(error),
        };
        let answer = match kind {
            Kind::Writes => answer::change(connection, sql, writes::TABLES),
            Kind::Stores => answer::change(connection, sql, stores::TABLES),
            Kind::Parameters if sql.starts_with("SELECT") => answer::prepared(connection, sql),
            Kind::Changes | Kind::Parameters => answer::change(connection, sql, if sql.contains("t1") { &["t1"] } else { &["t2"] }),
            _ => answer::query(connection, sql),
        };
        if matches!(answer, Answer::Broken(_)) {
            self.connection = None;
        }
        answer
    }
}

/// Ours and the reference.
pub struct Pair {
    /// Ours.
    pub ours: Side,
    /// The reference.
    pub theirs: Side,
}

impl Pair {
    /// Asks both. `None` when they agree.
    pub fn compare(&mut self, kind: Kind, statement: &Node) -> Option<(Difference, Answer, Answer)> {
        let sql = statement.text();
        let (ours, theirs) = (self.ours.ask(kind, &sql), self.theirs.ask(kind, &sql));
        Difference::between(&ours, &theirs).map(|difference| (difference, ours, theirs))
    }
}

/// Asks a server alone: the first statement that broke its connection, or met an internal error, with what was answered.
pub fn survive(side: &mut Side, seed: u64, statements: usize) -> Option<(String, Answer)> {
    let mut generator = Generator::new(seed, Vec::new());
    for at in 0..statements {
        let kind = Kind::ALL[at % Kind::ALL.len()];
        let sql = generator.statement(kind).text();
        let answer = side.ask(kind, &sql);
        if Difference::between(&answer, &answer) == Some(Difference::Broken) {
            return Some((sql, answer));
        }
    }
    None
}
