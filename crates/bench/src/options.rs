//! The command line.

use crate::address::{Address, Server};
use crate::compare::command::CompareCommand;
use crate::compare::plain::PlainCommand;
use crate::distribution::Keys;
use crate::ledger::Ledger;
use crate::report::command::ReportCommand;
use crate::soak::command::SoakCommand;
use crate::workload::{INSERT_ROWS, LOAD_ROWS};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A load client for MySQL-speaking servers.
#[derive(Debug, Parser)]
#[command(name = "altiplano bench", version, about)]
pub struct CommandLine {
    /// What to do.
    #[command(subcommand)]
    pub action: Action,
}

/// What the program does.
// There is one in the program's life.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Make the database and load the workload's tables
    Prepare(PrepareOptions),
    /// Run a workload, with one number of connections after the other
    Run(RunCommand),
    /// Compare servers: short slices in turns, ratios with confidence intervals
    Compare(CompareCommand),
    /// Does the rate hold? One server with several numbers of connections: short slices in turns, ratios with confidence intervals
    Plain(PlainCommand),
    /// Load a server for hours and judge whether it stays what it was
    Soak(SoakCommand),
    /// Put reports side by side, in another form
    Report(ReportCommand),
    /// Check what the workload left: totals, TPC-C's consistency conditions
    Check(CheckOptions),
    /// Be a server that answers at once and does nothing: what a client could reach at most
    Ceiling(CeilingOptions),
    /// List the workloads and what each does
    Workloads,
}

/// What connections do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum WorkloadName {
    /// TPC-C's five transactions, 45/43/4/4/4
    Tpcc,
    /// sysbench: one row by primary key
    #[value(alias = "point_select")]
    OltpPointSelect,
    /// sysbench: ten rows by primary key and four ranges in a transaction
    #[value(alias = "read_only")]
    OltpReadOnly,
    /// sysbench: the same and four writes
    #[value(alias = "read_write")]
    OltpReadWrite,
    /// sysbench: the four writes alone
    #[value(alias = "write_only")]
    OltpWriteOnly,
    /// sysbench: one row by primary key, an indexed column
    #[value(alias = "update_index")]
    OltpUpdateIndex,
    /// sysbench: one row by primary key, a column without index
    #[value(alias = "update_non_index")]
    OltpUpdateNonIndex,
    /// sysbench: one row at the end
    #[value(alias = "insert")]
    OltpInsert,
    /// sysbench: one row by primary key, which may be gone
    #[value(alias = "delete")]
    OltpDelete,
    /// sysbench: ten values of an indexed column, by IN
    SelectRandomPoints,
    /// sysbench: ten ranges of an indexed column, by OR
    SelectRandomRanges,
    /// All update one row, autocommit
    HotRow,
    /// All update one row in BEGIN … COMMIT
    HotRowTransaction,
    /// Transfers between two accounts with SELECT … FOR UPDATE
    Bank,
    /// Connect, one query, close
    ConnectionStorm,
    /// Point reads and few writes beside connections that hold snapshots for seconds
    ReadMostly,
    /// INSERT of many rows in a statement
    BulkInsert,
    /// LOAD DATA LOCAL INFILE of many rows, streamed
    LoadData,
    /// Joins of 100,000 with 100,000 rows by hash and by key, and a scan of 1,000,000
    Joins,
    /// Jobs put in and taken out with SELECT … FOR UPDATE SKIP LOCKED
    Queue,
    /// One row by an e-mail address, a unique key beside the primary one
    LookupUnique,
    /// The ten rows of one key of an index
    LookupKey,
}

impl WorkloadName {
    /// Its name on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// How big the tables are.
#[derive(Debug, Clone, Args)]
pub struct Size {
    /// sysbench's tables
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub tables: u64,
    /// Rows of each
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub table_size: u64,
    /// Accounts of the bank
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(2..=1_000_000_000))]
    pub accounts: u64,
    /// Warehouses of TPC-C
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub warehouses: u64,
    /// Items of TPC-C (100,000 in the standard): the stock of each warehouse
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(100..=100_000))]
    pub items: u64,
    /// Customers of each district (3,000 in the standard), and its orders at the beginning
    #[arg(long, default_value_t = 3000, value_parser = clap::value_parser!(u64).range(10..=3000))]
    pub customers: u64,
    /// Rows of each side of the joins; the scan has ten times as many
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(10..=100_000_000))]
    pub join_rows: u64,
    /// Jobs that wait in the queue at the beginning
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(0..=10_000_000))]
    pub jobs: u64,
}

/// Options of `prepare`.
#[derive(Debug, Clone, Args)]
pub struct PrepareOptions {
    /// Server
    #[command(flatten)]
    pub server: Server,
    /// Workload
    #[arg(long, value_enum)]
    pub workload: WorkloadName,
    /// Size
    #[command(flatten)]
    pub size: Size,
    /// Connections that load
    #[arg(long, default_value_t = 4)]
    pub loaders: u64,
}

/// Options of `check`.
#[derive(Debug, Clone, Args)]
pub struct CheckOptions {
    /// Server
    #[command(flatten)]
    pub server: Server,
    /// Workload
    #[arg(long, value_enum)]
    pub workload: WorkloadName,
    /// Size
    #[command(flatten)]
    pub size: Size,
}

/// Options of `ceiling`.
#[derive(Debug, Clone, Args)]
pub struct CeilingOptions {
    /// Where to listen; a path that begins with a slash is a unix socket
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:3307")]
    pub listen: Address,
    /// Answer what changes something (INSERT, UPDATE, DELETE, REPLACE, COMMIT) once a block is written and synced to a file in this directory
    #[arg(long, value_name = "DIR")]
    pub durable: Option<PathBuf>,
}

/// Isolation level of each session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Isolation {
    /// READ COMMITTED
    Rc,
    /// REPEATABLE READ
    Rr,
    /// SERIALIZABLE
    Serializable,
    /// As the server has it
    Default,
}

impl Isolation {
    /// The level's name in SQL.
    pub fn level(self) -> Option<&'static str> {
        match self {
            Isolation::Rc => Some("READ COMMITTED"),
            Isolation::Rr => Some("REPEATABLE READ"),
            Isolation::Serializable => Some("SERIALIZABLE"),
            Isolation::Default => None,
        }
    }
}

/// A time in seconds that a run can last: not negative, and of days at most.
fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(n) if (0.0..=1e7).contains(&n) => Ok(n),
        _ => Err("not a number of seconds".to_owned()),
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(n) if n > 0.0 && n <= 1e9 => Ok(n),
        _ => Err("not a number above 0".to_owned()),
    }
}

/// What is done to a server, whichever it is and however many connections do it: shared by the commands that load servers.
#[derive(Debug, Clone, Args)]
pub struct Work {
    /// Workload
    #[arg(long, value_enum)]
    pub workload: WorkloadName,
    /// Size
    #[command(flatten)]
    pub size: Size,
    /// Threads that drive the connections
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub threads: u16,
    /// Measured time
    #[arg(long, value_name = "S", default_value = "5", value_parser = seconds)]
    pub seconds: f64,
    /// Time before it
    #[arg(long, value_name = "S", default_value = "1", value_parser = seconds)]
    pub warmup: f64,
    /// Transactions a second, of all connections together; each is timed from the moment at which it was to begin [default: as many as go]
    #[arg(long, value_name = "N", value_parser = positive)]
    pub rate: Option<f64>,
    /// TPC-C: the standard's keying and think times, multiplied by this
    #[arg(long, value_name = "FACTOR", num_args = 0..=1, default_missing_value = "1", value_parser = positive, conflicts_with = "rate")]
    pub think: Option<f64>,
    /// Keys: uniform, pareto, zipf, zipf:EXPONENT, special, gaussian
    #[arg(long, default_value = "uniform")]
    pub keys: Keys,
    /// Isolation level
    #[arg(long, value_enum, default_value = "default")]
    pub isolation: Isolation,
    /// Statements as text instead of prepared
    #[arg(long)]
    pub text: bool,
    /// TPC-C: each transaction at a random warehouse instead of the connection's own
    #[arg(long)]
    pub roaming: bool,
    /// bulk_insert, load_data: rows of a statement [default: 1000; 10000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=50_000))]
    pub batch_rows: Option<u64>,
    /// read_mostly: one connection in so many holds a snapshot
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..))]
    pub long_readers: u64,
    /// read_mostly: how long it holds it
    #[arg(long, value_name = "S", default_value = "2", value_parser = seconds)]
    pub long_seconds: f64,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Logins under way at once, for each thread; a large number is a storm
    #[arg(long, default_value_t = 64)]
    pub logins: usize,
    /// Longest time for all to log in
    #[arg(long, value_name = "S", default_value = "60", value_parser = seconds)]
    pub login_seconds: f64,
    /// Longest time to wait for transactions that are under way at the end
    #[arg(long, value_name = "S", default_value = "20", value_parser = seconds)]
    pub drain_seconds: f64,
    /// Status counters whose growth is reported, by the beginnings of their names, with commas between
    #[arg(long, value_name = "PREFIXES", default_value = "")]
    pub status: String,
}

impl Work {
    /// Rows of a statement of the workloads that send many.
    pub fn batch_rows(&self) -> u64 {
        let default = if self.workload == WorkloadName::LoadData { LOAD_ROWS } else { INSERT_ROWS };
        self.batch_rows.unwrap_or(default)
    }

    /// Options that change what is done, as the command line spells them.
    pub fn settings(&self) -> BTreeMap<String, String> {
        let (size, mut settings) = (&self.size, BTreeMap::new());
        let mut set = |name: &str, value: String| drop(settings.insert(name.to_owned(), value));
        set("isolation", self.isolation.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default());
        set("statements", if self.text { "text" } else { "prepared" }.to_owned());
        match self.workload {
            WorkloadName::Tpcc => {
                set("warehouses", size.warehouses.to_string());
                set("items", size.items.to_string());
                set("customers", size.customers.to_string());
                set("roaming", self.roaming.to_string());
                self.think.iter().for_each(|factor| set("think", factor.to_string()));
            }
            WorkloadName::Bank => {
                set("accounts", size.accounts.to_string());
                set("keys", self.keys.to_string());
            }
            WorkloadName::HotRow | WorkloadName::HotRowTransaction | WorkloadName::ConnectionStorm => {}
            WorkloadName::ReadMostly => {
                set("table-size", size.table_size.to_string());
                set("keys", self.keys.to_string());
                set("long-readers", self.long_readers.to_string());
                set("long-seconds", self.long_seconds.to_string());
            }
            WorkloadName::BulkInsert | WorkloadName::LoadData => set("batch-rows", self.batch_rows().to_string()),
            WorkloadName::Joins => set("join-rows", size.join_rows.to_string()),
            WorkloadName::Queue => set("jobs", size.jobs.to_string()),
            WorkloadName::LookupUnique | WorkloadName::LookupKey => {
                set("table-size", size.table_size.to_string());
                set("keys", self.keys.to_string());
            }
            _ => {
                set("tables", size.tables.to_string());
                set("table-size", size.table_size.to_string());
                set("keys", self.keys.to_string());
            }
        }
        self.rate.iter().for_each(|rate| set("rate", rate.to_string()));
        settings
    }
}

/// One run: a workload on a server with one number of connections.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Server
    pub server: Server,
    /// What is done to it
    pub work: Work,
    /// Connections
    pub connections: usize,
    /// The server's process; found by itself where it is not given
    pub pid: Option<u32>,
    /// What the user calls the server; empty for its address
    pub label: String,
    /// TPC-C: notes what was acknowledged (for programs that look afterwards)
    pub ledger: Option<Arc<Ledger>>,
}

/// The `run` command.
#[derive(Debug, Clone, Args)]
pub struct RunCommand {
    /// Server
    #[command(flatten)]
    pub server: Server,
    /// What is done to it
    #[command(flatten)]
    pub work: Work,
    /// Connections: one number, or several with commas between, one run after the other
    #[arg(long, short, value_name = "N,…", value_delimiter = ',', default_value = "16", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub connections: Vec<u32>,
    /// The server's process, to tell its processor time, context switches and memory [default: found by itself when it is on this machine]
    #[arg(long)]
    pub pid: Option<u32>,
    /// A word for the report, such as the server's name
    #[arg(long, default_value = "")]
    pub label: String,
    /// Write a report of all runs here; the name's end says how: .json, .csv, .html, .md
    #[arg(long, value_name = "FILE")]
    pub output: Vec<PathBuf>,
    /// One line of JSON for each run on stdout, and the table on stderr
    #[arg(long)]
    pub json: bool,
}

impl RunCommand {
    /// The run with so many connections.
    pub fn options(&self, connections: usize) -> RunOptions {
        RunOptions {
            server: self.server.clone(),
            work: self.work.clone(),
            connections,
            pid: self.pid,
            label: self.label.clone(),
            ledger: None,
        }
    }
}
