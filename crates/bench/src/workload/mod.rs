//! What connections do. A workload is a list of statements and, for each kind of transaction, code that runs them.

mod bulk;
mod joins;
mod lookups;
mod queue;
mod readers;
mod single;
mod storm;
mod sysbench;
mod tables;
mod tpcc;

use crate::blocking::Blocking;
use crate::drive::Place;
use crate::options::{CheckOptions, PrepareOptions, RunOptions, WorkloadName};
use crate::random::Random;
use crate::session::{Done, Failure, Session, Statement};
use bulk::Bulk;
use joins::Joins;
use lookups::Lookups;
use queue::Queue;
use readers::Readers;
use single::Single;
use std::time::Duration;
use sysbench::Sysbench;
use tpcc::Tpcc;

pub use bulk::{INSERT_ROWS, LOAD_ROWS};

/// A table that lacks less than this part of its rows at the end has been worked on.
const DELETED_SHARE: u64 = 10;

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
    /// Transactions that it has chosen, for workloads that take turns.
    pub turn: u64,
    /// Where it can rest, and connect again.
    pub place: Place,
}

/// A workload with its statements; shared by all connections.
pub enum Workload {
    /// sysbench's.
    Sysbench(Sysbench),
    /// One table of single rows: hot row, bank.
    Single(Single),
    /// TPC-C.
    Tpcc(Tpcc),
    /// Connect, query, close.
    Storm,
    /// Long readers.
    Readers(Readers),
    /// Many rows in a statement.
    Bulk(Bulk),
    /// Joins and a scan.
    Joins(Joins),
    /// Jobs put and taken.
    Queue(Queue),
    /// Rows by keys other than the primary.
    Lookups(Lookups),
}

impl Workload {
    /// As the options say.
    pub fn new(options: &RunOptions) -> Workload {
        match options.work.workload {
            WorkloadName::HotRow | WorkloadName::HotRowTransaction | WorkloadName::Bank => Workload::Single(Single::new(options)),
            WorkloadName::Tpcc => Workload::Tpcc(Tpcc::new(options)),
            WorkloadName::ConnectionStorm => Workload::Storm,
            WorkloadName::ReadMostly => Workload::Readers(Readers::new(options)),
            WorkloadName::BulkInsert | WorkloadName::LoadData => Workload::Bulk(Bulk::new(options)),
            WorkloadName::Joins => Workload::Joins(Joins::new(options)),
            WorkloadName::Queue => Workload::Queue(Queue::new()),
            WorkloadName::LookupUnique | WorkloadName::LookupKey => Workload::Lookups(Lookups::new(options)),
            _ => Workload::Sysbench(Sysbench::new(options)),
        }
    }

    /// Names of its kinds of transactions.
    pub fn kinds(&self) -> &'static [&'static str] {
        match self {
            Workload::Tpcc(_) => &tpcc::KINDS,
            Workload::Readers(_) => &readers::KINDS,
            Workload::Joins(_) => &joins::KINDS,
            Workload::Queue(_) => &queue::KINDS,
            _ => &["transaction"],
        }
    }

    /// The kind of a connection's next transaction.
    pub fn choose(&self, client: &mut Client) -> usize {
        match self {
            Workload::Tpcc(_) => tpcc::choose(&mut client.random),
            Workload::Readers(it) => it.choose(client),
            Workload::Joins(_) => Joins::choose(client),
            Workload::Queue(_) => Queue::choose(client),
            _ => 0,
        }
    }

    /// Runs one.
    pub async fn transaction(&self, client: &mut Client, kind: usize) -> Done {
        match self {
            Workload::Sysbench(it) => it.transaction(client).await,
            Workload::Single(it) => it.transaction(client).await,
            Workload::Tpcc(it) => it.transaction(client, kind).await,
            Workload::Storm => storm::transaction(client).await,
            Workload::Readers(it) => it.transaction(client, kind).await,
            Workload::Bulk(it) => it.transaction(client).await,
            Workload::Joins(it) => it.transaction(client, kind).await,
            Workload::Queue(it) => it.transaction(client, kind).await,
            Workload::Lookups(it) => it.transaction(client).await,
        }
    }

    /// Keying and think time around a transaction.
    pub fn pauses(&self, kind: usize, random: &mut Random, factor: f64) -> (Duration, Duration) {
        match self {
            Workload::Tpcc(_) => tpcc::pauses(kind, random, factor),
            _ => Default::default(),
        }
    }

    /// Whether the session outlives an error.
    pub fn keeps_session(&self) -> bool {
        !matches!(self, Workload::Storm)
    }

    /// An error for the user when the workload's tables are not there, or are smaller than the options say.
    pub fn probe(&self, control: &mut Blocking, options: &RunOptions) -> Result<(), String> {
        let size = &options.work.size;
        let sbtest = format!("sbtest{}", size.tables);
        let (table, wanted) = match options.work.workload {
            WorkloadName::Tpcc => ("warehouse", Some(("MAX(w_id)", size.warehouses, "warehouses"))),
            WorkloadName::Bank => ("bank", Some(("MAX(id)", size.accounts, "accounts"))),
            WorkloadName::HotRow | WorkloadName::HotRowTransaction => ("hot_row", None),
            WorkloadName::ConnectionStorm => return Ok(()),
            WorkloadName::ReadMostly => ("read_mostly", Some(("MAX(id)", size.table_size, "table-size"))),
            WorkloadName::BulkInsert | WorkloadName::LoadData => ("bulk_rows", None),
            WorkloadName::Joins => ("join_left", Some(("MAX(id)", size.join_rows, "join-rows"))),
            WorkloadName::Queue => ("queue_jobs", None),
            WorkloadName::LookupUnique | WorkloadName::LookupKey => ("people", Some(("MAX(id)", size.table_size, "table-size"))),
            _ => (sbtest.as_str(), Some(("MAX(id)", size.table_size, "table-size"))),
        };
        let name = options.work.workload.name();
        let found = control
            .number(&format!("SELECT {} FROM {table} LIMIT 1", wanted.map_or("1", |wanted| wanted.0)))
            .map_err(|why| format!("{why}; `altiplano bench prepare --workload {name}` makes the tables"))?;
        if let Some((_, count, option)) = wanted {
            let fits = match options.work.workload {
                // What their counts are to be follows from the number of rows.
                WorkloadName::Joins | WorkloadName::LookupUnique | WorkloadName::LookupKey => found as u64 == count,
                WorkloadName::Tpcc | WorkloadName::Bank | WorkloadName::ReadMostly => found as u64 >= count,
                // sysbench's workloads delete and insert rows: the last ones may be missing.
                _ => found as u64 >= count - count / DELETED_SHARE,
            };
            prepared_for(fits, table, option, found, count)?;
        }
        if options.work.workload == WorkloadName::Tpcc { tpcc::probe(control, size) } else { Ok(()) }
    }

    /// A number that acknowledged transactions change by what [`Workload::verdict`] knows; read before and after a run.
    pub fn total(&self, control: &mut Blocking) -> Option<i64> {
        match self {
            Workload::Single(it) => it.total(control),
            Workload::Readers(_) => Readers::total(control),
            Workload::Bulk(_) => Bulk::total(control),
            Workload::Queue(_) => Queue::total(control),
            _ => None,
        }
    }

    /// What the totals before and after a run say, with so many transactions acknowledged and so many of unknown end.
    pub fn verdict(&self, before: Option<i64>, after: Option<i64>, acknowledged: &[u64; KINDS_MAX], unknown: u64) -> Option<String> {
        let (change, sum) = (after? - before?, acknowledged.iter().sum());
        match self {
            Workload::Single(it) => Some(it.verdict(change, sum, unknown)),
            Workload::Readers(_) => Some(Readers::verdict(change, acknowledged, unknown)),
            Workload::Bulk(it) => Some(it.verdict(change, sum, unknown)),
            Workload::Queue(_) => Some(Queue::verdict(change, acknowledged, unknown)),
            _ => None,
        }
    }
}

/// An error for who prepared tables for another size than he runs with.
fn prepared_for(fits: bool, table: &str, option: &str, found: i64, count: u64) -> Result<(), String> {
    // Zero is what a server with canned answers says.
    if fits || found <= 0 { Ok(()) } else { Err(format!("{table} was prepared for --{option} {found}, not {count}")) }
}

/// The last statement changed so many rows.
fn expect_rows(client: &Client, rows: u64, what: &str) -> Done {
    let changed = client.session.reply().affected_rows;
    if changed == rows || client.place.is_canned() {
        Ok(())
    } else {
        Err(Failure::Wrong(format!("{what}: {changed} rows changed, not {rows}")))
    }
}

fn statements(texts: &[&str]) -> Vec<Statement> {
    texts.iter().map(|text| Statement::new(*text)).collect()
}

/// Makes the database and loads the workload's tables; those of an earlier time are dropped.
pub fn prepare(options: &PrepareOptions) -> Result<(), String> {
    let server = &options.server;
    let mut control = server.connect(false)?;
    control.must(&format!("CREATE DATABASE IF NOT EXISTS `{}`", server.login.database.replace('`', "``")))?;
    drop(control);
    match options.workload {
        WorkloadName::HotRow | WorkloadName::HotRowTransaction | WorkloadName::Bank => single::prepare(options),
        WorkloadName::Tpcc => tpcc::prepare(options),
        WorkloadName::ConnectionStorm => Ok(()),
        WorkloadName::ReadMostly => readers::prepare(options),
        WorkloadName::BulkInsert | WorkloadName::LoadData => bulk::prepare(options),
        WorkloadName::Joins => joins::prepare(options),
        WorkloadName::Queue => queue::prepare(options),
        WorkloadName::LookupUnique | WorkloadName::LookupKey => lookups::prepare(options),
        _ => sysbench::prepare(options),
    }
}

/// Checks what a workload left.
pub fn check(options: &CheckOptions) -> Result<String, String> {
    let mut control = options.server.connect(true)?;
    match options.workload {
        WorkloadName::Tpcc => tpcc::check(&mut control),
        WorkloadName::Bank => single::check_bank(&mut control, options.size.accounts),
        WorkloadName::HotRow | WorkloadName::HotRowTransaction => tables::check(&mut control, &["hot_row"]),
        WorkloadName::ConnectionStorm => Ok("connection_storm: has no tables".to_owned()),
        WorkloadName::ReadMostly => tables::check(&mut control, &["read_mostly"]),
        WorkloadName::BulkInsert | WorkloadName::LoadData => tables::check(&mut control, &["bulk_rows"]),
        WorkloadName::Joins => tables::check(&mut control, &["join_left", "join_right", "join_big"]),
        WorkloadName::Queue => tables::check(&mut control, &["queue_jobs"]),
        WorkloadName::LookupUnique | WorkloadName::LookupKey => tables::check(&mut control, &["people"]),
        _ => sysbench::check(&mut control, options.size.tables),
    }
}

/// Runs `load` for each of `0..parts` on so many connections at once.
fn in_parallel(options: &PrepareOptions, parts: u64, load: impl Fn(&mut Blocking, u64) -> Result<(), String> + Sync) -> Result<(), String> {
    let next = std::sync::atomic::AtomicU64::new(0);
    let worker = || -> Result<(), String> {
        let mut connection = options.server.connect(true)?;
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
