//! What connections do. A workload is a list of statements and, for each kind of transaction, code that runs them.

mod single;
mod sysbench;
mod tpcc;

use crate::blocking::Blocking;
use crate::options::{CheckOptions, PrepareOptions, RunOptions, WorkloadName};
use crate::random::Random;
use crate::session::{Done, Session, Statement};
use single::Single;
use sysbench::Sysbench;
use tpcc::Tpcc;

/// Most kinds of transactions that a workload has.
pub const KINDS_MAX: usize = 5;

/// A connection as its workload sees it.
pub struct Client {
    /// Runs statements.
    pub session: Session,
    /// Its own random numbers.
    pub random: Random,
    /// Its number among all.
    pub number: usize,
}

/// A workload with its statements; shared by all connections.
pub enum Workload {
    /// sysbench's.
    Sysbench(Sysbench),
    /// One table of single rows: hot row, bank.
    Single(Single),
    /// TPC-C.
    Tpcc(Tpcc),
}

impl Workload {
    /// As the options say.
    pub fn new(options: &RunOptions) -> Workload {
        match options.workload {
            WorkloadName::HotRow | WorkloadName::HotRowTransaction | WorkloadName::Bank => Workload::Single(Single::new(options)),
            WorkloadName::Tpcc => Workload::Tpcc(Tpcc::new(options)),
            _ => Workload::Sysbench(Sysbench::new(options)),
        }
    }

    /// Names of its kinds of transactions.
    pub fn kinds(&self) -> &'static [&'static str] {
        match self {
            Workload::Tpcc(_) => &tpcc::KINDS,
            _ => &["transaction"],
        }
    }

    /// The kind of a connection's next transaction.
    pub fn choose(&self, client: &mut Client) -> usize {
        match self {
            Workload::Tpcc(_) => tpcc::choose(&mut client.random),
            _ => 0,
        }
    }

    /// Runs one.
    pub async fn transaction(&self, client: &mut Client, kind: usize) -> Done {
        match self {
            Workload::Sysbench(it) => it.transaction(client).await,
            Workload::Single(it) => it.transaction(client).await,
            Workload::Tpcc(it) => it.transaction(client, kind).await,
        }
    }

    /// A number that each acknowledged transaction raises by one, or that none changes; read before and after a run.
    pub fn total(&self, control: &mut Blocking) -> Option<i64> {
        match self {
            Workload::Single(it) => it.total(control),
            _ => None,
        }
    }

    /// What the totals before and after a run say, with so many transactions acknowledged and so many of unknown end.
    pub fn verdict(&self, before: Option<i64>, after: Option<i64>, acknowledged: u64, unknown: u64) -> String {
        match (self, before, after) {
            (Workload::Single(it), Some(before), Some(after)) => it.verdict(before, after, acknowledged, unknown),
            _ => "none".to_owned(),
        }
    }
}

fn statements(texts: &[&str]) -> Vec<Statement> {
    texts.iter().map(|text| Statement::new(*text)).collect()
}

/// Makes the database and loads the workload's tables; those of an earlier time are dropped.
pub fn prepare(options: &PrepareOptions) -> Result<(), String> {
    let server = &options.server;
    let mut control = Blocking::connect(server.server, &server.account(false))?;
    control.must(&format!("CREATE DATABASE IF NOT EXISTS {}", server.database))?;
    drop(control);
    match options.workload {
        WorkloadName::HotRow | WorkloadName::HotRowTransaction | WorkloadName::Bank => single::prepare(options),
        WorkloadName::Tpcc => tpcc::prepare(options),
        _ => sysbench::prepare(options),
    }
}

/// Checks what a workload left.
pub fn check(options: &CheckOptions) -> Result<String, String> {
    let mut control = Blocking::connect(options.server.server, &options.server.account(true))?;
    match options.workload {
        WorkloadName::Tpcc => tpcc::check(&mut control),
        WorkloadName::Bank => single::check_bank(&mut control, options.size.accounts),
        _ => Ok("nothing to check".to_owned()),
    }
}

/// Runs `load` for each of `0..parts` on so many connections at once.
fn in_parallel(options: &PrepareOptions, parts: u64, load: impl Fn(&mut Blocking, u64) -> Result<(), String> + Sync) -> Result<(), String> {
    let next = std::sync::atomic::AtomicU64::new(0);
    let worker = || -> Result<(), String> {
        let mut connection = Blocking::connect(options.server.server, &options.server.account(true))?;
        loop {
            let part = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if part >= parts {
                return Ok(());
            }
            load(&mut connection, part)?;
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..options.loaders.clamp(1, parts.max(1))).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a loader panicked".to_owned())?)
    })
}

/// Rows that are gathered into INSERT statements.
struct Rows<'a> {
    connection: &'a mut Blocking,
    head: String,
    sql: String,
    count: usize,
}

impl<'a> Rows<'a> {
    /// Rows per statement.
    const ROWS_MAX: usize = 500;

    fn new(connection: &'a mut Blocking, table: &str) -> Rows<'a> {
        Rows { connection, head: format!("INSERT INTO {table} VALUES "), sql: String::new(), count: 0 }
    }

    /// Adds a row: values as SQL, with commas between.
    fn add(&mut self, values: std::fmt::Arguments<'_>) -> Result<(), String> {
        use std::fmt::Write;
        self.sql.push_str(if self.count == 0 { &self.head } else { "," });
        let _ = write!(self.sql, "({values})");
        self.count += 1;
        if self.count == Self::ROWS_MAX { self.end() } else { Ok(()) }
    }

    /// Sends what is left.
    fn end(&mut self) -> Result<(), String> {
        if self.count > 0 {
            self.connection.must(&self.sql)?;
        }
        self.sql.clear();
        self.count = 0;
        Ok(())
    }
}
