//! INSERT … SELECT and long VALUES, cut off in the middle: by kill -9, by KILL QUERY, by ROLLBACK. All of the statement is there or nothing, in the table and in both indexes, and the
//! server goes on inserting. (LOAD DATA: `bulk_load.rs`; CREATE TABLE … SELECT: `create_select.rs`.)

use harness::{Server, code, run_all, until};
use mysql::Conn;
use mysql::prelude::Queryable;
use std::fmt::Write;
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

const PROGRAM: &str = env!("CARGO_BIN_EXE_altiplano");
/// Of a statement: several batches, and entries of an index that wait for its end.
const ROWS: u64 = 50_000;
/// What stood in the table before, between the new rows.
const OLD_ROWS: u64 = 4_000;
/// Of its log: when that much is written it has begun, and has most of it to do.
const BEGUN_SHARE: f64 = 0.03;
/// A statement may have ended before it was cut off; so often it is tried to hit it.
const ATTEMPTS: u32 = 8;
/// Where rows lie that show that the table takes more.
const PROBES_FROM: u64 = 1_000_000;

/// What every row follows from; `u` names one of a kind.
fn row(id: u64) -> String {
    format!("({id},{},'{:07} and what makes it longer')", id * 31 % 1009, id * 7_919 % 10_000_019)
}

const WRONG: &str =
    "SELECT COUNT(*) FROM d.t WHERE a <> id * 31 % 1009 OR s <> CONCAT(LPAD(id * 7919 % 10000019, 7, '0'), ' and what makes it longer')";

/// Even ids in no order.
fn new_id(no: u64) -> u64 {
    no * 7_919 % ROWS * 2
}

fn values(table: &str, rows: impl Iterator<Item = String>) -> String {
    let mut text = format!("INSERT INTO {table} VALUES ");
    for (no, row) in rows.enumerate() {
        write!(text, "{}{row}", if no == 0 { "" } else { "," }).expect("text");
    }
    text
}

fn number(c: &mut Conn, sql: &str) -> u64 {
    c.query_first(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).expect("a row")
}

fn log_head(c: &mut Conn) -> u64 {
    let (_, _, text): (String, String, String) = c.query_first("SHOW ENGINE INNODB STATUS").expect("a status").expect("a row");
    let line = text.lines().find_map(|line| line.strip_prefix("Log sequence number")).expect("the log's head");
    line.trim().parse().expect("a number")
}

/// When the statement is cut off.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Moment {
    /// It has begun to write.
    Begun,
    /// Its rows are in, and its entries in an index wait for a gap that another has locked.
    Entries,
    /// It has ended, and its transaction has not.
    BeforeCommit,
    /// Its client was told that it is committed.
    Acknowledged,
}

#[derive(Debug, PartialEq)]
enum Outcome {
    /// The statement was under way, and nothing of it is left.
    Cut,
    /// It had ended, or had not begun to write.
    Missed,
}

/// A client with the statement under way, in steps.
struct Client {
    id: u32,
    go: Sender<()>,
    told: Receiver<()>,
    /// An error's number; 0 for a server that has gone.
    thread: JoinHandle<Result<(), u16>>,
}

impl Client {
    /// Waits for `go` before the statement, and in a transaction before COMMIT; tells when it is there.
    fn start(world: &World, in_transaction: bool, end: &'static str) -> Client {
        let (go, may_go) = channel();
        let (tell, told) = channel();
        let (statement, mark) = (world.statement.clone(), world.mark);
        let mut c = world.server.connect();
        let id = c.connection_id();
        let thread = std::thread::spawn(move || {
            let mut run = || -> mysql::Result<()> {
                if in_transaction {
                    c.query_drop("BEGIN")?;
                    c.query_drop(format!("INSERT INTO d.marks VALUES ({mark})"))?;
                }
                // Whoever waits has gone when the test failed.
                let _ = (tell.send(()), may_go.recv());
                let done = c.query_drop(&statement);
                let _ = (tell.send(()), may_go.recv());
                if in_transaction {
                    c.query_drop(end)?;
                }
                done
            };
            run().map_err(|error| match &error {
                mysql::Error::MySqlError(_) => code(&error),
                _ => 0,
            })
        });
        told.recv().expect("it is about to begin");
        Client { id, go, told, thread }
    }

    fn go(&self) {
        self.go.send(()).expect("it waits");
    }
}

struct World {
    server: Server,
    statement: String,
    old_rows: u64,
    /// Log that the statement writes.
    whole: u64,
    /// Of the next transaction.
    mark: u64,
    /// Commits of others in the middle of statements.
    beside: u64,
    recoveries: usize,
}

impl World {
    fn new(by_select: bool, old_rows: u64) -> World {
        let server = Server::start(PROGRAM, &[]);
        let mut c = server.connect();
        run_all(
            &mut c,
            &[
                "CREATE DATABASE d",
                "CREATE TABLE d.t (id BIGINT PRIMARY KEY, a INT NOT NULL, s VARCHAR(80) NOT NULL, KEY a (a), UNIQUE KEY s (s))",
                "CREATE TABLE d.marks (no INT PRIMARY KEY)",
                "CREATE TABLE d.beside (no INT PRIMARY KEY)",
                // What is written outlasts kill -9. A disk that stands still must not let the statement end before the kill.
                "SET GLOBAL innodb_flush_log_at_trx_commit = 2",
            ],
        );
        let new = values("d.t", (0..ROWS).map(|no| row(new_id(no))));
        if old_rows > 0 {
            c.query_drop(values("d.t", (0..old_rows).map(|no| row(no * (ROWS / old_rows) * 2 + 1)))).expect("old rows");
        }
        if by_select {
            c.query_drop("CREATE TABLE d.source (no INT AUTO_INCREMENT PRIMARY KEY, id BIGINT, a INT, s VARCHAR(80))").expect("made");
            c.query_drop(new.replacen("d.t", "d.source (id, a, s)", 1)).expect("a source");
        }
        let statement = if by_select { "INSERT INTO d.t SELECT id, a, s FROM d.source".to_owned() } else { new };
        World { server, statement, old_rows, whole: 0, mark: 0, beside: 0, recoveries: 0 }
    }

    /// All of it, taken back; tells how much log it writes.
    fn roll_back(&mut self) {
        let client = Client::start(self, true, "ROLLBACK");
        let mut c = self.server.connect();
        let before = log_head(&mut c);
        client.go();
        client.told.recv().expect("it ended");
        self.whole = log_head(&mut c) - before;
        c.query_drop("SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED").expect("set");
        assert_eq!(number(&mut c, "SELECT COUNT(*) FROM d.t"), self.old_rows + ROWS);
        client.go();
        assert_eq!(client.thread.join().expect("a thread"), Ok(()));
        self.check(0, false);
    }

    /// Waits until the statement has come so far, and makes durable what it has done by the commit of another. `None` when it ended before; else whoever holds it up.
    fn reaches(&mut self, client: &Client, moment: Moment) -> Option<Conn> {
        let mut c = self.server.connect();
        c.query_drop("SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED").expect("set");
        let wanted = log_head(&mut c) + (self.whole as f64 * BEGUN_SHARE) as u64;
        client.go();
        let mut ended = false;
        while !ended && log_head(&mut c) < wanted {
            ended = client.told.try_recv().is_ok();
        }
        let mut holder = self.server.connect();
        if moment == Moment::Entries && !ended {
            // Before its entries are in, or not at all: what has them is locked.
            holder.query_drop("BEGIN").expect("begun");
            let locked = holder.query_drop("SELECT id FROM d.t FORCE INDEX (a) WHERE a = 500 FOR UPDATE NOWAIT");
            assert!(locked.as_ref().map_or_else(|error| code(error) == 3572, |()| true), "{locked:?}");
            ended = locked.is_err();
            while !ended && number(&mut c, "SELECT COUNT(*) FROM performance_schema.data_lock_waits") == 0 {
                ended = client.told.try_recv().is_ok();
            }
        }
        let begun: Option<u64> = c.query_first("SELECT id FROM d.t FORCE INDEX (PRIMARY) WHERE id % 2 = 0 LIMIT 1").expect("a look");
        self.beside += 1;
        c.query_drop(format!("INSERT INTO d.beside VALUES ({})", self.beside)).expect("another commits");
        (begun.is_some() && !ended && client.told.try_recv().is_err()).then_some(holder)
    }

    fn kill_once(&mut self, in_transaction: bool, moment: Moment) -> Outcome {
        self.mark += 1;
        let client = Client::start(self, in_transaction, "COMMIT");
        let mut holder = None;
        let in_time = match moment {
            Moment::Begun | Moment::Entries => {
                holder = self.reaches(&client, moment);
                holder.is_some()
            }
            Moment::BeforeCommit | Moment::Acknowledged => {
                client.go();
                client.told.recv().expect("it ended");
                moment == Moment::BeforeCommit && {
                    self.beside += 1;
                    let commit = format!("INSERT INTO d.beside VALUES ({})", self.beside);
                    self.server.connect().query_drop(commit).expect("another commits");
                    true
                }
            }
        };
        let thread = if moment == Moment::Acknowledged {
            client.go();
            let outcome = client.thread.join().expect("a thread");
            self.server.kill();
            outcome
        } else {
            self.server.kill();
            // It may stand before COMMIT.
            drop(client.go);
            client.thread.join().expect("a thread")
        };
        assert!(matches!(thread, Ok(()) | Err(0)), "{thread:?}");
        drop(holder);
        self.server.restart();
        let rolled_back = self.rolled_back_by_this_start();
        let mut c = self.server.connect();
        c.query_drop("SET GLOBAL innodb_flush_log_at_trx_commit = 2").expect("set");
        // A consistent read: what was acknowledged is in it, and what was not either all or nothing.
        let rows = number(&mut c, "SELECT COUNT(*) FROM d.t");
        let all = rows == self.old_rows + ROWS;
        assert!(all || rows == self.old_rows, "{rows} rows, {} before", self.old_rows);
        // It serves while it takes back what it found.
        c.query_drop("SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED").expect("set");
        until("all is taken back", || number(&mut c, "SELECT COUNT(*) FROM d.t FORCE INDEX (PRIMARY)") == rows);
        // In a transaction there are two answers; the last one is what counts.
        assert!(all || thread.is_err() || in_transaction && moment == Moment::BeforeCommit, "acknowledged and lost");
        self.check(if all { ROWS } else { 0 }, all && in_transaction);
        println!(
            "in a transaction: {in_transaction}, {moment:?}: in time {in_time}, client told {thread:?}, {rolled_back} rolled back, all there: {all}"
        );
        if in_time && rolled_back > 0 && !all { Outcome::Cut } else { Outcome::Missed }
    }

    /// Transactions that the last start found without an end.
    fn rolled_back_by_this_start(&mut self) -> u64 {
        let log = self.server.log();
        let told: Vec<&str> = log.lines().filter_map(|line| line.split_once("page operations; ").map(|(_, rest)| rest)).collect();
        assert!(told.len() > self.recoveries, "the start did not say what it found");
        self.recoveries = told.len();
        let (count, _) = told[told.len() - 1].split_once(" transactions to roll back").expect("the recovery's line");
        count.parse().expect("a number")
    }

    /// So many of the statement's rows are there, by every way to them, and what they must be; the directory is sound, the server goes on. Leaves the table as it was before the statement.
    fn check(&mut self, new_rows: u64, marked: bool) {
        let mut c = self.server.connect();
        c.query_drop("SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED").expect("set");
        let ways = |c: &mut Conn| {
            ["PRIMARY", "a", "s"].map(|index| {
                let sql = format!(
                    "SELECT COUNT(*), CAST(COALESCE(SUM(CRC32(CONCAT(id, ',', a, ',', s))), 0) AS UNSIGNED) FROM d.t FORCE INDEX ({index}) WHERE {}",
                    match index {
                        "PRIMARY" => "id >= 0",
                        "a" => "a >= 0",
                        _ => "s > ''",
                    }
                );
                c.query_first::<(u64, u64), _>(sql).expect("a way").expect("a row")
            })
        };
        let found = ways(&mut c);
        assert_eq!(found[0].0, self.old_rows + new_rows, "{found:?}");
        assert!(found.iter().all(|way| *way == found[0]), "{found:?}");
        assert_eq!(number(&mut c, WRONG), 0);
        assert_eq!(number(&mut c, &format!("SELECT COUNT(*) FROM d.marks WHERE no = {}", self.mark)), u64::from(marked));
        assert_eq!(number(&mut c, "SELECT COUNT(*) FROM d.beside"), self.beside);
        // It goes on inserting, in a run of rows and by one.
        c.query_drop(values("d.t", (0..20).map(|no| row(PROBES_FROM + no)))).expect("a run of rows");
        c.query_drop(values("d.t", (20..21).map(|no| row(PROBES_FROM + no)))).expect("a row");
        let with_probes = ways(&mut c);
        assert_eq!(with_probes[0].0, self.old_rows + new_rows + 21, "{with_probes:?}");
        assert!(with_probes.iter().all(|way| *way == with_probes[0]), "{with_probes:?}");
        let checked: Vec<(String, String, String, String)> = c.query("CHECK TABLE d.t, d.marks, d.beside").expect("checks");
        assert!(checked.len() == 3 && checked.iter().all(|row| row.3 == "OK"), "{checked:?}");
        // What was empty shall be.
        if self.old_rows == 0 {
            c.query_drop("TRUNCATE TABLE d.t").expect("emptied");
        } else {
            c.query_drop(format!("DELETE FROM d.t WHERE id % 2 = 0 OR id >= {PROBES_FROM}")).expect("as before");
        }
    }

    fn kill(&mut self, in_transaction: bool, moment: Moment) {
        let hit = (0..ATTEMPTS).any(|_| self.kill_once(in_transaction, moment) == Outcome::Cut);
        assert!(hit, "{moment:?}: the statement had ended each time");
    }

    /// KILL QUERY in the middle: the statement is undone, its transaction stands.
    fn kill_query(&mut self, in_transaction: bool, moment: Moment) {
        for _ in 0..ATTEMPTS {
            self.mark += 1;
            let client = Client::start(self, in_transaction, "COMMIT");
            let holder = self.reaches(&client, moment);
            let in_time = holder.is_some();
            self.server.connect().query_drop(format!("KILL QUERY {}", client.id)).expect("killed");
            // Before COMMIT: a kill that came too late has nothing to end.
            client.go();
            let outcome = client.thread.join().expect("a thread");
            drop(holder);
            println!("in a transaction: {in_transaction}, KILL QUERY, {moment:?}: in time {in_time}, client told {outcome:?}");
            assert!(matches!(outcome, Ok(()) | Err(1317)), "{outcome:?}");
            self.check(if outcome.is_ok() { ROWS } else { 0 }, in_transaction);
            if in_time && outcome == Err(1317) {
                return;
            }
        }
        panic!("the statement had ended each time");
    }

    fn end(mut self) {
        assert_eq!(self.server.stop(), Some(0));
        let output = Command::new(PROGRAM).arg("check").arg(self.server.data_dir()).output().expect("runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
    }
}

/// Kills in the middle of the rows, in the middle of their entries, and between the statement and its end; one behind the end, which must leave everything.
fn cut_off(by_select: bool, old_rows: u64) {
    let mut world = World::new(by_select, old_rows);
    world.roll_back();
    for in_transaction in [false, true] {
        world.kill(in_transaction, Moment::Begun);
        world.kill(in_transaction, Moment::Entries);
    }
    world.kill(true, Moment::BeforeCommit);
    world.kill_query(false, Moment::Entries);
    world.kill_query(true, Moment::Begun);
    for in_transaction in [false, true] {
        world.kill_once(in_transaction, Moment::Acknowledged);
    }
    world.end();
}

#[test]
fn insert_select_into_an_empty_table_is_all_or_nothing() {
    cut_off(true, 0);
}

#[test]
fn insert_select_between_rows_is_all_or_nothing() {
    cut_off(true, OLD_ROWS);
}

#[test]
fn a_long_values_into_an_empty_table_is_all_or_nothing() {
    cut_off(false, 0);
}

#[test]
fn a_long_values_between_rows_is_all_or_nothing() {
    cut_off(false, OLD_ROWS);
}
