//! Rows that move in their indexes, to other primary keys and back and forth in secondary ones, while others read and lock them: whatever the path to them, a
//! snapshot shows one table, a unique key has one row, what is locked stays as it was read, and what fails or is rolled back leaves no trace.
//!
//! `shapes.rs` has the tables, `shape.rs` makes random statements of what they look like, `transaction.rs` is what a session does, `look.rs` what must be so.
//!
//! `ALTIPLANO_TEST_SEED=N` repeats a run's choices, not its schedule; `ALTIPLANO_TEST_RUNS=N` goes on with the seeds behind it, `ALTIPLANO_TEST_SHAPE=words` looks at one
//! shape only. `ALTIPLANO_TEST_SERVER=HOST:PORT` asks a server that runs already: a MySQL, which all shapes but `families` pass by (9.7.4 leaves rows that refer to
//! nothing there, and has ended by an assertion of its own).

mod look;
mod shape;
mod shapes;
mod transaction;

use env::SplitMix64;
use harness::{Server, Target};
use look::{View, compare, expect_indexes_to_be_read, lost, unless_lost};
use mysql::prelude::Queryable;
use shape::{Shape, below, one_of};
use shapes::SHAPES;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use transaction::{Branches, transaction};

const PROGRAM: &str = env!("CARGO_BIN_EXE_altiplano");
const SESSIONS: u64 = 6;

fn connect(target: &Target) -> mysql::Conn {
    // Longer than this machine's disk stands still.
    target.connect_patiently(None, Duration::from_secs(600)).expect("connects")
}

fn connect_to(target: &Target, shape: &'static Shape) -> mysql::Conn {
    let mut c = connect(target);
    c.query_drop(format!("USE altiplano_moves_{}; SET lock_wait_timeout = 2, innodb_lock_wait_timeout = 1", shape.name)).expect("used");
    c
}

fn create_tables(target: &Target, shape: &'static Shape, seed: u64) {
    let name = format!("altiplano_moves_{}", shape.name);
    let mut c = connect(target);
    c.query_drop(format!("DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name}; USE {name}")).expect("made");
    let mut random = SplitMix64::new(seed);
    for table in shape.tables {
        c.query_drop(format!("CREATE TABLE {} {}", table.name, table.definition)).expect("made");
    }
    expect_indexes_to_be_read(&mut c, shape);
    for _ in 0..150 {
        let change = shape.change(&mut random, None);
        if let Err(error) = c.query_drop(&change) {
            assert!(lost(&error).is_some(), "{change}: {error}");
        }
    }
    assert_eq!(compare(&mut c, shape, View::Shared).expect("reads"), None, "seed {seed}, at first");
}

/// Snapshots of one statement, and of many, until the sessions have ended; and ends branches that are left to others, and statements of `sessions` in the middle.
fn watch(
    c: &mut mysql::Conn,
    shape: &'static Shape,
    branches: &Branches,
    running: &AtomicU64,
    seed: u64,
    sessions: &[u32],
) -> Result<(), mysql::Error> {
    let mut random = SplitMix64::new(seed);
    while running.load(Ordering::Acquire) > 0 {
        c.query_drop("START TRANSACTION WITH CONSISTENT SNAPSHOT")?;
        let mut first = None;
        for _ in 0..5 {
            let shown = compare(c, shape, View::Shared).and_then(|wrong| {
                assert_eq!(wrong, None, "seed {seed}");
                look::all_rows(c, shape)
            });
            let Some(rows) = unless_lost(shown)? else { break };
            assert_eq!(*first.get_or_insert_with(|| rows.clone()), rows, "seed {seed}: a snapshot changed");
        }
        c.query_drop("COMMIT")?;
        assert_eq!(unless_lost(compare(c, shape, View::Shared))?.flatten(), None, "seed {seed}");
        branches.end_one(c, below(&mut random, 2) == 0)?;
        if below(&mut random, 3) == 0 {
            let _ = c.query_drop(format!("KILL QUERY {}", one_of(&mut random, sessions)));
        }
    }
    Ok(())
}

/// Builds indexes, adds columns and copies the tables, beside the sessions, until they have ended; what was built has all rows.
fn define(c: &mut mysql::Conn, shape: &Shape, branches: &Branches, running: &AtomicU64, seed: u64) -> Result<(), mysql::Error> {
    let builds: Vec<_> = shape.tables.iter().flat_map(|table| table.builds.iter().map(move |build| (table, build))).collect();
    let mut random = SplitMix64::new(!seed);
    while running.load(Ordering::Acquire) > 0 {
        let (table, build) = one_of(&mut random, &builds);
        branches.end_one(c, true)?;
        if unless_lost(c.query_drop(format!("ALTER TABLE {} {}", table.name, build.add)))?.is_none() {
            continue;
        }
        if !build.condition.is_empty() {
            let both = format!("SELECT {}, {}", table.sums("x", build.condition), table.sums("PRIMARY", build.condition));
            if let Some(shown) = unless_lost(look::rows(c, &both))? {
                assert_eq!(shown[0][0], shown[0][1], "seed {seed}: {}, after {}", shape.name, build.add);
            }
        }
        while unless_lost(c.query_drop(format!("ALTER TABLE {} {}", table.name, build.drop)))?.is_none() {
            branches.end_one(c, true)?;
        }
    }
    Ok(())
}

/// Takes away what somebody had added when the server was killed, if anything.
fn drop_what_was_added(c: &mut mysql::Conn, shape: &Shape) {
    for table in shape.tables {
        for drop in ["DROP COLUMN extra", "DROP KEY x"] {
            let _ = c.query_drop(format!("ALTER TABLE {} {drop}", table.name));
        }
    }
}

/// Sessions that change the tables, a watcher, and perhaps somebody who defines indexes, until each session has done `transactions`, or the server is killed when
/// all of them together have done `kill_after`.
fn run(
    target: &mut Target,
    shape: &'static Shape,
    branches: &Branches,
    seed: u64,
    transactions: u64,
    defines: bool,
    kill_after: Option<u64>,
) {
    let (running, done) = (AtomicU64::new(SESSIONS), AtomicU64::new(0));
    let expected = |end: Result<(), mysql::Error>| match end {
        Ok(()) => {}
        Err(mysql::Error::MySqlError(error)) if kill_after.is_none() || error.code != 1053 => {
            panic!("seed {seed}: {}: {error}", shape.name)
        }
        Err(error) => assert!(kill_after.is_some(), "seed {seed}: {error}"),
    };
    // A snapshot that stays as long as they work, without a look at the tables until then.
    let mut old = connect_to(target, shape);
    old.query_drop("START TRANSACTION WITH CONSISTENT SNAPSHOT").expect("begun");
    let before = look::all_rows(&mut connect_to(target, shape), shape).expect("reads");
    std::thread::scope(|scope| {
        let connections: Vec<mysql::Conn> = (0..SESSIONS).map(|_| connect_to(target, shape)).collect();
        let sessions: Vec<u32> = connections.iter().map(mysql::Conn::connection_id).collect();
        for (number, mut c) in (0..).zip(connections) {
            let (running, done, expected) = (&running, &done, &expected);
            scope.spawn(move || {
                let _ends = Ends(running);
                let mut random = SplitMix64::new(seed ^ (number << 40));
                expected((0..transactions).try_for_each(|_| {
                    done.fetch_add(1, Ordering::Relaxed);
                    transaction(&mut c, &mut random, shape, branches)
                }));
            });
        }
        let (mut watcher, mut definer, running, expected) = (connect_to(target, shape), connect_to(target, shape), &running, &expected);
        scope.spawn(move || expected(watch(&mut watcher, shape, branches, running, seed, &sessions)));
        if defines {
            scope.spawn(move || expected(define(&mut definer, shape, branches, running, seed)));
        }
        if let (Some(count), Target::Own(server)) = (kill_after, &mut *target) {
            harness::until("much is done", || done.load(Ordering::Relaxed) > count || running.load(Ordering::Acquire) == 0);
            server.kill();
        }
    });
    if kill_after.is_none() {
        let then = compare(&mut old, shape, View::Shared).and_then(|wrong| {
            assert_eq!(wrong, None, "seed {seed}: in an old snapshot");
            look::all_rows(&mut old, shape)
        });
        match then {
            Ok(rows) => assert_eq!(rows, before, "seed {seed}: an old snapshot"),
            Err(error) => assert!(defines && lost(&error).is_some(), "seed {seed}: {error}"),
        }
    }
}

/// Before and after prepared branches are ended.
fn is_whole(target: &Target, shape: &'static Shape, branches: &Branches, seed: u64) {
    let mut c = connect_to(target, shape);
    assert_eq!(compare(&mut c, shape, View::Shared).expect("reads"), None, "seed {seed}, at the end");
    branches.end_all(&mut c, seed);
    assert_eq!(compare(&mut c, shape, View::Shared).expect("reads"), None, "seed {seed}, after all branches");
    for table in shape.tables {
        let checked = look::rows(&mut c, &format!("CHECK TABLE {}", table.name)).expect("checked");
        assert!(checked.iter().all(|row| row[3].as_deref() == Some("OK")), "seed {seed}: {checked:?}");
    }
}

/// The seeds and shapes that the environment asks for, or all shapes by one new seed.
fn each_run(test: &str, run: impl Fn(&'static Shape, u64)) {
    let setting = |name: &str| std::env::var(name).ok();
    let runs = setting("ALTIPLANO_TEST_RUNS").map_or(1, |count| count.parse().expect("a number of runs"));
    let first = histories::seed::announce("server", env!("CARGO_CRATE_NAME"), test);
    for seed in first..first + runs {
        println!("seed {seed}");
        for shape in SHAPES.iter().filter(|shape| setting("ALTIPLANO_TEST_SHAPE").is_none_or(|name| name == shape.name)) {
            let begin = std::time::Instant::now();
            run(shape, seed);
            println!("{}: {:?}", shape.name, begin.elapsed());
        }
    }
}

#[test]
fn rows_that_move_are_seen_once_and_stay_where_they_are_locked() {
    each_run("rows_that_move_are_seen_once_and_stay_where_they_are_locked", |shape, seed| {
        let mut target = match std::env::var("ALTIPLANO_TEST_SERVER") {
            Ok(address) => Target::external(&address).unwrap_or_else(|why| panic!("{why}")),
            Err(_) => Target::Own(Server::start(PROGRAM, &[])),
        };
        let branches = Branches::new();
        create_tables(&target, shape, seed);
        run(&mut target, shape, &branches, seed, 40, false, None);
        is_whole(&target, shape, &branches, seed);
        run(&mut target, shape, &branches, seed ^ 1, 25, true, None);
        is_whole(&target, shape, &branches, seed);
    });
}

#[test]
fn rows_that_move_are_whole_after_kills() {
    each_run("rows_that_move_are_whole_after_kills", |shape, seed| {
        let mut target = Target::Own(Server::start(PROGRAM, &[]));
        let branches = Branches::new();
        create_tables(&target, shape, seed);
        for round in 0..2 {
            run(&mut target, shape, &branches, seed ^ round, 60, (seed + round) % 2 == 1, Some(100 + 50 * round));
            target.restart();
            is_whole(&target, shape, &branches, seed);
            drop_what_was_added(&mut connect_to(&target, shape), shape);
        }
        if let Target::Own(server) = &mut target {
            assert_eq!(server.stop(), Some(0));
        }
    });
}

/// Counts a session off, however it ends.
struct Ends<'a>(&'a AtomicU64);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}
