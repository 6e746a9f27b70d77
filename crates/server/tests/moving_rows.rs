//! Rows that move in their indexes, to other primary keys and back and forth in secondary ones, while others read and lock them: whatever the path to them, a
//! snapshot shows one table, a unique key has one row, and what is locked stays as it was read.
//!
//! `ALTIPLANO_TEST_SEED=N` repeats a run's choices, not its schedule. `ALTIPLANO_TEST_SERVER=HOST:PORT` asks a server that runs already (a MySQL).

use env::SplitMix64;
use harness::{Server, Target};
use mysql::prelude::Queryable;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const PROGRAM: &str = env!("CARGO_BIN_EXE_altiplano");
const LEVELS: [&str; 4] = ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];
const SESSIONS: u64 = 6;
const IDS: u64 = 80;
const KEYS: u64 = 40;
const GROUPS: u64 = 4;
const NUMBERS: u64 = 50;

fn seed(test: &str) -> u64 {
    histories::seed::announce("server", env!("CARGO_CRATE_NAME"), test)
}

fn below(random: &mut SplitMix64, count: u64) -> u64 {
    random.next() % count
}

/// One statement, and so one snapshot: how many rows each path shows, and what is in them.
fn paths() -> String {
    let sums = "CONCAT(COUNT(*), ' ', COALESCE(SUM(id * 31 + n * 7 + a), 0))";
    let one = |index: &str, condition: &str| format!("(SELECT {sums} FROM t FORCE INDEX ({index}) WHERE {condition})");
    format!(
        "SELECT {}, {}, {}, {}, {}, (SELECT CONCAT(COUNT(u), ' ', COUNT(DISTINCT u)) FROM t FORCE INDEX (PRIMARY))",
        one("PRIMARY", "v >= 0"),
        one("an", "a >= 0 AND v >= 0"),
        one("s", "s >= '' AND v >= 0"),
        one("PRIMARY", "u IS NOT NULL AND v >= 0"),
        one("u", "u >= 0 AND v >= 0"),
    )
}

/// What is wrong with what the paths show, if anything is. A transaction whose snapshot is older than what it has written since may see a key twice: as it was, and as it has given it.
fn compare(c: &mut mysql::Conn, writes_on_old: bool) -> Result<Option<String>, mysql::Error> {
    type Sums = (String, String, String, String, String, String);
    let (whole, by_group, by_text, with_key, by_key, keys): Sums = c.query_first(paths())?.expect("a row");
    let (count, distinct) = keys.split_once(' ').expect("two numbers");
    let differs = whole != by_group || whole != by_text || with_key != by_key || count != distinct && !writes_on_old;
    Ok(differs.then(|| format!("primary {whole}, groups {by_group}, texts {by_text}; with a key {with_key}, by it {by_key}; keys {keys}")))
}

type Found = (u64, Option<u64>, u64, u64);

/// A locking read by an index; all that it shows must fit, and stay.
fn lock_some(c: &mut mysql::Conn, random: &mut SplitMix64, level: &str) -> Result<Vec<Found>, mysql::Error> {
    let columns = "SELECT id, u, a, n FROM t FORCE INDEX";
    let (a, u, n) = (below(random, GROUPS), below(random, KEYS), below(random, NUMBERS));
    let (from, condition, order) = match below(random, 4) {
        0 => (format!("{columns} (u)"), format!("u = {u}"), ""),
        1 => (format!("{columns} (an)"), format!("a = {a} AND n >= {n}"), " ORDER BY a DESC, n DESC"),
        2 => (format!("{columns} (an)"), format!("a = {a} AND n BETWEEN {n} AND {}", n + 10), ""),
        _ => (format!("{columns} (an)"), format!("a = {a} AND v % 2 = 0"), ""),
    };
    let how = if below(random, 3) == 0 { "SHARE" } else { "UPDATE" };
    let statement = format!("{from} WHERE {condition}{order} FOR {how}");
    let found: Vec<Found> = c.query(&statement)?;
    let locks_gaps = matches!(level, "REPEATABLE READ" | "SERIALIZABLE");
    // By other paths: what is locked is as it was shown, and at the levels that lock gaps nothing has come to it.
    let again = match (&found[..], locks_gaps) {
        (_, true) if below(random, 4) == 0 => Some(format!("SELECT id, u, a, n FROM t FORCE INDEX (PRIMARY) WHERE {condition} FOR SHARE")),
        (_, true) => Some(statement.clone()),
        ([], false) => None,
        (found, false) => {
            let ids: Vec<String> = found.iter().map(|row| row.0.to_string()).collect();
            Some(format!("SELECT id, u, a, n FROM t FORCE INDEX (PRIMARY) WHERE id IN ({}) AND {condition} FOR SHARE", ids.join(", ")))
        }
    };
    if let Some(again) = again {
        let mut second: Vec<Found> = c.query(&again)?;
        let mut first = found.clone();
        first.sort();
        second.sort();
        assert_eq!(first, second, "{level}: {statement}, then {again}");
    }
    let mut keys: Vec<u64> = found.iter().filter_map(|row| row.1).collect();
    keys.sort();
    assert!(keys.windows(2).all(|pair| pair[0] != pair[1]), "{level}: {statement} shows one key twice: {found:?}");
    Ok(found)
}

/// A random change of the table; rows that were locked before are what it changes most.
fn change(random: &mut SplitMix64, held: &[Found]) -> String {
    let held = (!held.is_empty() && below(random, 3) > 0).then(|| &held[below(random, held.len() as u64) as usize]);
    let id = held.map_or_else(|| below(random, IDS), |row| row.0);
    let (other, a, n) = (below(random, IDS), below(random, GROUPS), below(random, NUMBERS));
    let u = if below(random, 5) == 0 { "NULL".to_owned() } else { below(random, KEYS).to_string() };
    let row = format!("({other}, {u}, {a}, {n}, {other}, 's{n}')");
    match below(random, 16) {
        0 => format!("INSERT INTO t VALUES {row}"),
        1 => format!("INSERT IGNORE INTO t VALUES {row}"),
        2 => format!("REPLACE INTO t VALUES {row}"),
        3 => format!("INSERT INTO t VALUES {row} ON DUPLICATE KEY UPDATE n = {n}, a = {a}"),
        4 => format!("INSERT INTO t VALUES {row} ON DUPLICATE KEY UPDATE id = {}", below(random, IDS)),
        5 => format!("DELETE FROM t WHERE id = {id}"),
        6 => format!("DELETE FROM t WHERE u = {u}"),
        7 => format!("DELETE FROM t WHERE a = {a} ORDER BY n LIMIT 2"),
        8..=9 => format!("UPDATE t SET id = {other} WHERE id = {id}"),
        10 => format!("UPDATE t SET id = {other}, n = {n}, u = {u} WHERE id = {id}"),
        11 => format!("UPDATE t SET u = {u} WHERE id = {id}"),
        12 => format!("UPDATE t SET n = {n}, s = 's{n}' WHERE id = {id}"),
        13 => format!("UPDATE t SET a = {a} WHERE id = {id}"),
        14 => format!("UPDATE t SET n = (n + 17) % {NUMBERS} WHERE a = {a} AND n > {n}"),
        _ => format!("UPDATE IGNORE t SET u = u + 1 WHERE a = {a}"),
    }
}

/// Whether a transaction or statement may end so: as a deadlock's victim (`true`: all of it is gone), by a time-out, a duplicate, or a table that was made anew.
fn lost(error: &mysql::Error) -> Option<bool> {
    match error {
        mysql::Error::MySqlError(error) if error.code == 1213 => Some(true),
        mysql::Error::MySqlError(error) if [1205, 1062, 1412].contains(&error.code) => Some(false),
        _ => None,
    }
}

fn transaction(c: &mut mysql::Conn, random: &mut SplitMix64) -> Result<(), mysql::Error> {
    let level = LEVELS[below(random, 4) as usize];
    c.query_drop(format!("SET TRANSACTION ISOLATION LEVEL {level}"))?;
    c.query_drop("BEGIN")?;
    let mut held = Vec::new();
    let mut has_savepoint = false;
    for _ in 0..1 + below(random, 5) {
        let done = match below(random, 12) {
            0..=3 => lock_some(c, random, level).map(|found| held = found),
            // At READ UNCOMMITTED rows are read one by one.
            4 if level != "READ UNCOMMITTED" => compare(c, level == "REPEATABLE READ").map(|wrong| assert_eq!(wrong, None, "{level}")),
            5 if has_savepoint => c.query_drop("ROLLBACK TO SAVEPOINT s").map(|()| held.clear()),
            5 => c.query_drop("SAVEPOINT s").map(|()| has_savepoint = true),
            _ => c.query_drop(change(random, &held)),
        };
        match done.as_ref().map_err(lost) {
            Ok(()) | Err(Some(false)) => {}
            Err(Some(true)) => return Ok(()),
            Err(None) => return done,
        }
    }
    c.query_drop(if below(random, 5) == 0 { "ROLLBACK" } else { "COMMIT" })
}

fn connect(target: &Target) -> mysql::Conn {
    // Longer than this machine's disk stands still.
    target.connect_patiently(None, Duration::from_secs(600)).expect("connects")
}

fn create_table(c: &mut mysql::Conn) {
    c.query_drop(
        "DROP DATABASE IF EXISTS altiplano_moves; CREATE DATABASE altiplano_moves; USE altiplano_moves;
        CREATE TABLE t (id INT PRIMARY KEY, u INT, a INT NOT NULL, n INT NOT NULL, v INT NOT NULL, s VARCHAR(20) NOT NULL, UNIQUE KEY u (u), KEY an (a, n), KEY s (s))",
    )
    .expect("made");
    for id in 0..IDS / 2 {
        c.query_drop(format!("INSERT INTO t VALUES ({id}, {id}, {}, {id}, {id}, 's{id}')", id % GROUPS)).expect("inserted");
    }
}

/// Snapshots of one statement, and of many, until the sessions have ended.
fn watch(c: &mut mysql::Conn, running: &AtomicU64, seed: u64) -> Result<(), mysql::Error> {
    while running.load(Ordering::Acquire) > 0 {
        c.query_drop("START TRANSACTION WITH CONSISTENT SNAPSHOT")?;
        let mut first = None;
        for _ in 0..5 {
            let shown = compare(c, false).and_then(|wrong| {
                assert_eq!(wrong, None, "seed {seed}");
                c.query::<Found, _>("SELECT id, u, a, n FROM t ORDER BY id")
            });
            match shown {
                Ok(rows) => assert_eq!(*first.get_or_insert_with(|| rows.clone()), rows, "seed {seed}: a snapshot changed"),
                Err(error) if lost(&error).is_some() => break,
                Err(error) => return Err(error),
            }
        }
        c.query_drop("COMMIT")?;
        assert_eq!(compare(c, false)?, None, "seed {seed}");
    }
    Ok(())
}

/// Builds indexes and copies the table, beside the sessions, until they have ended; what was built has all rows.
fn define(c: &mut mysql::Conn, running: &AtomicU64, seed: u64) -> Result<(), mysql::Error> {
    let mut number = 0;
    while running.load(Ordering::Acquire) > 0 {
        number += 1;
        let ddl = match number % 4 {
            0 => "ALTER TABLE t ADD KEY x (n, s)",
            1 => "ALTER TABLE t ADD UNIQUE KEY x (id, n)",
            2 => "ALTER TABLE t ENGINE = InnoDB, ADD KEY x (n)",
            _ => "ALTER TABLE t ADD KEY x (v, a), ALGORITHM = COPY",
        };
        match c.query_drop(ddl) {
            Ok(()) => {}
            Err(error) if lost(&error).is_some() => continue,
            Err(error) => return Err(error),
        }
        let both = "SELECT (SELECT CONCAT(COUNT(*), ' ', SUM(id * 31 + n)) FROM t FORCE INDEX (x) WHERE v >= 0 AND n >= 0 AND id >= 0), \
            (SELECT CONCAT(COUNT(*), ' ', SUM(id * 31 + n)) FROM t FORCE INDEX (PRIMARY) WHERE v >= 0)";
        let (by_index, whole): (String, String) = c.query_first(both)?.expect("a row");
        assert_eq!(by_index, whole, "seed {seed}: after {ddl}");
        while let Err(error) = c.query_drop("ALTER TABLE t DROP KEY x") {
            if lost(&error).is_none() {
                return Err(error);
            }
        }
    }
    Ok(())
}

/// Sessions that change the table, a watcher, and perhaps somebody who defines indexes, until each session has done `transactions`, or the server is killed when
/// all of them together have done `kill_after`.
fn run(target: &mut Target, seed: u64, transactions: u64, defines: bool, kill_after: Option<u64>) {
    let (running, done) = (AtomicU64::new(SESSIONS), AtomicU64::new(0));
    let expected = |end: Result<(), mysql::Error>| match end {
        Ok(()) => {}
        Err(mysql::Error::MySqlError(error)) => panic!("seed {seed}: {error}"),
        Err(error) => assert!(kill_after.is_some(), "seed {seed}: {error}"),
    };
    std::thread::scope(|scope| {
        for number in 0..SESSIONS {
            let (mut c, running, done, expected) = (connect(target), &running, &done, &expected);
            scope.spawn(move || {
                let _ends = Ends(running);
                let mut random = SplitMix64::new(seed ^ (number << 40));
                expected(c.query_drop("USE altiplano_moves; SET innodb_lock_wait_timeout = 1"));
                expected((0..transactions).try_for_each(|_| {
                    done.fetch_add(1, Ordering::Relaxed);
                    transaction(&mut c, &mut random)
                }));
            });
        }
        for other in [watch, define].into_iter().take(1 + usize::from(defines)) {
            let (mut c, running, expected) = (connect(target), &running, &expected);
            scope.spawn(move || {
                expected(c.query_drop("USE altiplano_moves; SET lock_wait_timeout = 2"));
                expected(other(&mut c, running, seed));
            });
        }
        if let (Some(count), Target::Own(server)) = (kill_after, &mut *target) {
            harness::until("much is done", || done.load(Ordering::Relaxed) > count || running.load(Ordering::Acquire) == 0);
            server.kill();
        }
    });
}

fn is_whole(target: &Target, seed: u64) {
    let mut c = connect(target);
    c.query_drop("USE altiplano_moves").expect("used");
    assert_eq!(compare(&mut c, false).expect("reads"), None, "seed {seed}, at the end");
    let checked: Vec<(String, String, String, String)> = c.query("CHECK TABLE t").expect("checked");
    assert!(checked.iter().all(|row| row.3 == "OK"), "seed {seed}: {checked:?}");
}

#[test]
fn rows_that_move_are_seen_once_and_stay_where_they_are_locked() {
    let seed = seed("rows_that_move_are_seen_once_and_stay_where_they_are_locked");
    let mut target = match std::env::var("ALTIPLANO_TEST_SERVER") {
        Ok(address) => Target::external(&address).unwrap_or_else(|why| panic!("{why}")),
        Err(_) => Target::Own(Server::start(PROGRAM, &[])),
    };
    create_table(&mut connect(&target));
    run(&mut target, seed, 500, false, None);
    is_whole(&target, seed);
    run(&mut target, seed ^ 1, 250, true, None);
    is_whole(&target, seed);
}

#[test]
fn rows_that_move_are_whole_after_kills() {
    let seed = seed("rows_that_move_are_whole_after_kills");
    let mut target = Target::Own(Server::start(PROGRAM, &[]));
    create_table(&mut connect(&target));
    for round in 0..4 {
        run(&mut target, seed ^ round, 400, round % 2 == 1, Some(300 + 100 * round));
        target.restart();
        is_whole(&target, seed);
        // The index that somebody was about to drop, if it is there.
        let _ = connect(&target).query_drop("ALTER TABLE altiplano_moves.t DROP KEY x");
    }
    if let Target::Own(server) = &mut target {
        assert_eq!(server.stop(), Some(0));
    }
}

/// Counts a session off, however it ends.
struct Ends<'a>(&'a AtomicU64);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}
