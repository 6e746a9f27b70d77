//! Workloads of many connections whose totals must be exact, and after which nothing may be left behind.
//!
//! - [`counter()`]: all increment one row; what is there at the end is what was acknowledged.
//! - [`deadlocks()`]: transactions change few rows in random order; every wait ends, the totals are exact.
//! - [`bank()`]: transfers with a ledger outside of the server; with kill -9 and readers that note what they saw.
//! - [`numbers()`]: a lock on one row guards others, which are counted by plain reads; each has its number.
//! - [`seats()`]: a locked gap guards a row elsewhere, which is read plainly; nothing is taken behind a closed gate.
//! - [`queue()`]: workers take jobs by SKIP LOCKED; each job is done once.
//! - [`leftovers`]: connections, threads, transactions, locks and waits that remain: none may.
//!
//! Work is bounded by counts, not by time.

mod bank;
mod counter;
mod deadlocks;
mod leftovers;
mod numbers;
mod queue;
mod seats;

pub use bank::bank;
pub use counter::counter;
pub use deadlocks::deadlocks;
pub use leftovers::{Baseline, leftovers};
pub use numbers::numbers;
pub use queue::queue;
pub use seats::seats;

use crate::disturb::{Disturber, Wire};
use crate::levels::Level;
use crate::place::{Place, is_broken};
use mysql::prelude::Queryable;
use std::time::{Duration, Instant};
use sync::Arc;

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
    /// Statements and connections are killed, and clients vanish.
    pub faults: bool,
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
    /// Statements that somebody has killed.
    pub interrupted: u64,
    /// Commits without an answer.
    pub unanswered: u64,
    /// From the first to the last.
    pub elapsed: Duration,
}

impl Done {
    /// Whether a count of transactions fits: those without an answer may have happened or not.
    fn explains(&self, count: u64) -> bool {
        (self.committed..=self.committed + self.unanswered).contains(&count)
    }

    fn add(&mut self, other: &Done) {
        self.committed += other.committed;
        self.deadlocks += other.deadlocks;
        self.timeouts += other.timeouts;
        self.interrupted += other.interrupted;
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
    disturber: Option<&'p Disturber>,
    number: usize,
    level: Level,
    connection: mysql::Conn,
    wire: Option<Arc<Wire>>,
    /// Of the server, when the connection was made.
    lives: u64,
    done: Done,
}

impl<'p> Client<'p> {
    fn new(place: &'p Place, disturber: Option<&'p Disturber>, number: usize, level: Level) -> Result<Client<'p>, String> {
        let (connection, lives) = connect(place, level)?;
        let wire = disturber.map(|disturber| disturber.register(number, &connection, lives));
        Ok(Client { place, disturber, number, level, connection, wire, lives, done: Done::default() })
    }

    /// One statement outside of a transaction.
    fn single(&mut self, sql: &str) -> Result<Tried<()>, String> {
        loop {
            if let Some(disturber) = self.disturber {
                disturber.count_statement(self.place);
            }
            let answer = self.connection.query_drop(sql);
            if let Some(tried) = self.judge(answer, true)? {
                return Ok(tried);
            }
        }
    }

    /// What an answer at the end of a transaction means; `None`: it is to be tried again. A connection that broke is made anew.
    fn judge<T>(&mut self, answer: Result<T, mysql::Error>, committing: bool) -> Result<Option<Tried<T>>, String> {
        match answer {
            Ok(value) => {
                self.done.committed += 1;
                return Ok(Some(Tried::Done(value)));
            }
            Err(mysql::Error::MySqlError(error)) if error.code == 1213 => self.done.deadlocks += 1,
            Err(mysql::Error::MySqlError(error)) if error.code == 1205 => self.done.timeouts += 1,
            Err(mysql::Error::MySqlError(error)) if error.code == 1317 && self.disturber.is_some() => self.done.interrupted += 1,
            Err(error) if is_broken(&error) => {
                let (lives, doomed) = (self.lives, self.wire.as_ref().is_some_and(|wire| wire.is_doomed()));
                (self.connection, self.lives) = connect(self.place, self.level)?;
                self.wire = self.disturber.map(|disturber| disturber.register(self.number, &self.connection, self.lives));
                if lives == self.lives && !doomed {
                    return Err(format!("a connection broke, and neither it nor the server was killed: {error}"));
                }
                self.done.unanswered += u64::from(committing);
                return Ok(Some(Tried::Broken));
            }
            Err(error) => return Err(error.to_string()),
        }
        Ok(None)
    }

    /// Runs a transaction, again after each deadlock or timeout, and commits it.
    fn transaction<T>(&mut self, mut work: impl FnMut(&mut mysql::Conn) -> Result<T, mysql::Error>) -> Result<Tried<T>, String> {
        loop {
            if let Some(disturber) = self.disturber {
                disturber.count_statement(self.place);
            }
            let mut committing = false;
            let connection = &mut self.connection;
            let tried = connection.query_drop("BEGIN").and_then(|()| work(connection)).and_then(|value| {
                committing = true;
                connection.query_drop("COMMIT").map(|()| value)
            });
            let interrupted = matches!(&tried, Err(mysql::Error::MySqlError(error)) if matches!(error.code, 1205 | 1317));
            if interrupted && committing {
                return Err("COMMIT was interrupted".into());
            }
            if let Some(tried) = self.judge(tried, committing)? {
                return Ok(tried);
            }
            if interrupted {
                // Only the statement was taken back. The transaction may end by a broken connection, too.
                match self.connection.query_drop("ROLLBACK") {
                    Err(error) if is_broken(&error) => {
                        self.judge::<()>(Err(error), false)?;
                    }
                    Err(mysql::Error::MySqlError(error)) if error.code == 1317 => {
                        self.connection.query_drop("ROLLBACK").map_err(|error| format!("ROLLBACK: {error}"))?;
                    }
                    other => other.map_err(|error| format!("ROLLBACK: {error}"))?,
                }
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

/// What clients that have vanished had sent may still be done: until their sessions have ended.
fn wait_for_sessions(load: &Load, connection: &mut mysql::Conn) -> Result<(), String> {
    const DEADLINE: Duration = Duration::from_secs(120);
    let deadline = Instant::now() + DEADLINE;
    let sql = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'root' AND id <> CONNECTION_ID()";
    while load.faults && one::<u64>(connection, sql)? > 0 {
        if Instant::now() > deadline {
            return Err(format!("sessions have not ended after {DEADLINE:?}"));
        }
        std::thread::yield_now();
    }
    Ok(())
}

/// Runs a client on each of `load.connections` threads and adds up what they did.
fn in_parallel(place: &Place, load: &Load, work: impl Fn(usize, &mut Client<'_>) -> Result<(), String> + Sync) -> Result<Done, String> {
    let begin = Instant::now();
    let mut all = Done::default();
    let disturber = load.faults.then(|| Disturber::new(load.seed, load.connections));
    let results: Vec<Result<Done, String>> = std::thread::scope(|scope| {
        let (work, disturber) = (&work, disturber.as_ref());
        let run = move |number: usize| {
            let mut client = Client::new(place, disturber, number, load.levels[number % load.levels.len()])?;
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
