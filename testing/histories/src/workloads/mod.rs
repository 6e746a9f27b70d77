//! Workloads of many connections whose totals must be exact, and after which nothing may be left behind.
//!
//! - [`counter()`]: all increment one row; what is there at the end is what was acknowledged.
//! - [`deadlocks()`]: transactions change few rows in random order; every wait ends, the totals are exact.
//! - [`bank()`]: transfers with a ledger outside of the server; with kill -9 and readers that note what they saw.
//! - [`queue()`]: workers take jobs by SKIP LOCKED; each job is done once.
//! - [`leftovers`]: connections, threads, transactions, locks and waits that remain: none may.
//!
//! Work is bounded by counts, not by time.

mod bank;
mod counter;
mod deadlocks;
mod leftovers;
mod queue;

pub use bank::bank;
pub use counter::counter;
pub use deadlocks::deadlocks;
pub use leftovers::{Baseline, leftovers};
pub use queue::queue;

use crate::levels::Level;
use crate::place::{Place, is_broken};
use mysql::prelude::Queryable;
use std::time::{Duration, Instant};

/// The database that workloads make anew.
pub const DATABASE: &str = "altiplano_workload";

/// Stack of a client's thread: there may be a thousand.
const STACK_BYTES: usize = 512 << 10;

/// How much to do.
#[derive(Debug, Clone)]
pub struct Load {
    /// Connections at work.
    pub connections: usize,
    /// Transactions of each.
    pub txns: usize,
    /// Their level; several: each connection has one of them.
    pub levels: Vec<Level>,
    /// What is chosen follows from it.
    pub seed: u64,
    /// How often the server is killed meanwhile (the bank only).
    pub kills: usize,
}

/// What was done.
#[derive(Debug, Clone, Default)]
pub struct Done {
    /// Transactions whose commit was acknowledged.
    pub committed: u64,
    /// Transactions that were victims of deadlocks, and tried again.
    pub deadlocks: u64,
    /// Statements that gave up waiting, and whose transactions were tried again.
    pub timeouts: u64,
    /// Commits without an answer.
    pub unanswered: u64,
    /// From the first to the last.
    pub elapsed: Duration,
}

impl Done {
    fn add(&mut self, other: &Done) {
        self.committed += other.committed;
        self.deadlocks += other.deadlocks;
        self.timeouts += other.timeouts;
        self.unanswered += other.unanswered;
    }
}

/// What came of a try of a transaction.
enum Tried<T> {
    Done(T),
    /// The connection broke.
    Broken,
}

/// A client of a workload.
struct Client<'p> {
    place: &'p Place,
    level: Level,
    connection: mysql::Conn,
    /// Of the server, when the connection was made.
    lives: u64,
    done: Done,
}

impl<'p> Client<'p> {
    fn new(place: &'p Place, level: Level) -> Result<Client<'p>, String> {
        let (connection, lives) = connect(place, level)?;
        Ok(Client { place, level, connection, lives, done: Done::default() })
    }

    /// Runs a transaction, again after each deadlock or timeout, and commits it.
    fn transaction<T>(&mut self, mut work: impl FnMut(&mut mysql::Conn) -> Result<T, mysql::Error>) -> Result<Tried<T>, String> {
        loop {
            let mut committing = false;
            let connection = &mut self.connection;
            let tried = connection.query_drop("BEGIN").and_then(|()| work(connection)).and_then(|value| {
                committing = true;
                connection.query_drop("COMMIT").map(|()| value)
            });
            match tried {
                Ok(value) => {
                    self.done.committed += 1;
                    return Ok(Tried::Done(value));
                }
                Err(mysql::Error::MySqlError(error)) if error.code == 1213 => self.done.deadlocks += 1,
                Err(mysql::Error::MySqlError(error)) if error.code == 1205 => {
                    self.done.timeouts += 1;
                    self.connection.query_drop("ROLLBACK").map_err(|error| format!("ROLLBACK: {error}"))?;
                }
                Err(error) if is_broken(&error) => {
                    let lives = self.lives;
                    (self.connection, self.lives) = connect(self.place, self.level)?;
                    if lives == self.lives {
                        return Err(format!("a connection broke, and the server was not killed: {error}"));
                    }
                    self.done.unanswered += u64::from(committing);
                    return Ok(Tried::Broken);
                }
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}

/// A connection at a level, once the server accepts them.
fn connect(place: &Place, level: Level) -> Result<(mysql::Conn, u64), String> {
    loop {
        let lives = place.lives();
        let attempt = place.connect_patiently(Some(DATABASE)).and_then(|mut connection| {
            for sql in level.set() {
                connection.query_drop(&sql).map_err(|error| format!("{sql}: {error}"))?;
            }
            Ok((connection, lives))
        });
        match attempt {
            Err(_) if lives % 2 == 1 || lives != place.lives() => {}
            other => return other,
        }
    }
}

/// Runs a client on each of `load.connections` threads and adds up what they did.
fn in_parallel(place: &Place, load: &Load, work: impl Fn(usize, &mut Client<'_>) -> Result<(), String> + Sync) -> Result<Done, String> {
    let begin = Instant::now();
    let mut all = Done::default();
    let results: Vec<Result<Done, String>> = std::thread::scope(|scope| {
        let work = &work;
        let run = move |number: usize| {
            let mut client = Client::new(place, load.levels[number % load.levels.len()])?;
            work(number, &mut client)?;
            Ok(client.done)
        };
        let threads: Vec<_> = (0..load.connections)
            .map(|number| std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, move || run(number)).expect("a thread"))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err("a client failed".into()))).collect()
    });
    for result in results {
        all.add(&result?);
    }
    all.elapsed = begin.elapsed();
    Ok(all)
}

/// Makes the database anew, with tables and rows.
fn create(place: &Place, statements: &[String]) -> Result<mysql::Conn, String> {
    let mut connection = place.connect_patiently(None)?;
    let database = [format!("DROP DATABASE IF EXISTS {DATABASE}"), format!("CREATE DATABASE {DATABASE}"), format!("USE {DATABASE}")];
    for sql in database.iter().chain(statements) {
        connection.query_drop(sql).map_err(|error| format!("{sql}: {error}"))?;
    }
    Ok(connection)
}

fn one<T: mysql::prelude::FromValue>(connection: &mut mysql::Conn, sql: &str) -> Result<T, String> {
    connection.query_first(sql).map_err(|error| format!("{sql}: {error}"))?.ok_or(format!("{sql}: no row"))
}
