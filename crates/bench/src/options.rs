//! The command line.

use crate::distribution::Keys;
use crate::ledger::Ledger;
use crate::session::Account;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::net::SocketAddrV4;
use std::sync::Arc;

/// A load client for MySQL-speaking servers.
#[derive(Debug, Parser)]
#[command(name = "load", version, about)]
pub struct CommandLine {
    /// What to do.
    #[command(subcommand)]
    pub action: Action,
}

/// What the program does.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Make the database and load the workload's tables
    Prepare(PrepareOptions),
    /// Run a workload; a summary on stderr, one line of JSON on stdout
    Run(RunOptions),
    /// Check what the workload left: totals, TPC-C's consistency conditions
    Check(CheckOptions),
}

/// Where the server is and who logs in.
#[derive(Debug, Clone, Args)]
pub struct Server {
    /// Address and port of the server
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:3306")]
    pub server: SocketAddrV4,
    /// User
    #[arg(long, default_value = "root")]
    pub user: String,
    /// Password
    #[arg(long, default_value = "")]
    pub password: String,
    /// Database
    #[arg(long, default_value = "sbtest")]
    pub database: String,
}

impl Server {
    /// The account, with or without the database.
    pub fn account(&self, with_database: bool) -> Account {
        let database = if with_database { self.database.clone() } else { String::new() };
        Account { user: self.user.clone(), password: self.password.clone(), database }
    }
}

/// What connections do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum WorkloadName {
    /// One row by primary key
    PointSelect,
    /// sysbench's oltp_read_only
    ReadOnly,
    /// sysbench's oltp_read_write
    ReadWrite,
    /// sysbench's oltp_write_only
    WriteOnly,
    /// sysbench's oltp_update_index
    UpdateIndex,
    /// sysbench's oltp_insert
    Insert,
    /// All update one row, autocommit
    HotRow,
    /// All update one row in BEGIN … COMMIT
    HotRowTransaction,
    /// Transfers between two accounts with SELECT … FOR UPDATE
    Bank,
    /// TPC-C's five transactions
    Tpcc,
}

/// How big the tables are.
#[derive(Debug, Clone, Args)]
pub struct Size {
    /// sysbench's tables
    #[arg(long, default_value_t = 4)]
    pub tables: u64,
    /// Rows of each
    #[arg(long, default_value_t = 100_000)]
    pub table_size: u64,
    /// Accounts of the bank
    #[arg(long, default_value_t = 1000)]
    pub accounts: u64,
    /// Warehouses of TPC-C
    #[arg(long, default_value_t = 10)]
    pub warehouses: u64,
    /// Items of TPC-C (100,000 in the standard): the stock of each warehouse
    #[arg(long, default_value_t = 100_000)]
    pub items: u64,
    /// Customers of each district (3,000 in the standard), and its orders at the beginning
    #[arg(long, default_value_t = 3000)]
    pub customers: u64,
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

/// Options of `run`.
#[derive(Debug, Clone, Args)]
pub struct RunOptions {
    /// Server
    #[command(flatten)]
    pub server: Server,
    /// Workload
    #[arg(long, value_enum)]
    pub workload: WorkloadName,
    /// Size
    #[command(flatten)]
    pub size: Size,
    /// Connections
    #[arg(long, short, default_value_t = 16)]
    pub connections: usize,
    /// Threads that drive them
    #[arg(long, default_value_t = 2)]
    pub threads: usize,
    /// Measured time
    #[arg(long, value_name = "S", default_value_t = 5.0)]
    pub seconds: f64,
    /// Time before it
    #[arg(long, value_name = "S", default_value_t = 1.0)]
    pub warmup: f64,
    /// Keys: uniform, pareto, zipf, zipf:EXPONENT
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
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The server's process, to tell its processor time, context switches and memory
    #[arg(long)]
    pub pid: Option<u32>,
    /// Logins under way at once, for each thread; a large number is a storm
    #[arg(long, default_value_t = 64)]
    pub logins: usize,
    /// Longest time for all to log in
    #[arg(long, value_name = "S", default_value_t = 60.0)]
    pub login_seconds: f64,
    /// Longest time to wait for transactions that are under way at the end
    #[arg(long, value_name = "S", default_value_t = 20.0)]
    pub drain_seconds: f64,
    /// Status counters whose growth is reported, by the beginnings of their names, with commas between
    #[arg(long, value_name = "PREFIXES", default_value = "")]
    pub status: String,
    /// A word for the report, such as the server's name
    #[arg(long, default_value = "")]
    pub label: String,
    /// TPC-C: notes what was acknowledged (for programs that look afterwards)
    #[arg(skip)]
    pub ledger: Option<Arc<Ledger>>,
}
