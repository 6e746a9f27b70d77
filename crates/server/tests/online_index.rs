//! Indexes built, and tables copied, beside readers and writers: what they hold afterwards, what ends a build, and what is left of one that was ended.

use env::SplitMix64 as Random;
use harness::{Server, until};
use mysql::prelude::Queryable;
use mysql::{Conn, Error};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::SetAtEnd;

const PROGRAM: &str = env!("CARGO_BIN_EXE_altiplano");
/// Rows whose indexes take long enough to build that others come in between.
const ROWS: u64 = 60_000;

/// A seed: `ONLINE_SEED` to replay a run's statements (not their order), else another one each time.
fn seed() -> u64 {
    let fresh = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(1, |t| t.as_nanos() as u64 | 1);
    let seed = std::env::var("ONLINE_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or_else(fresh);
    println!("replay: ONLINE_SEED={seed}");
    seed
}

fn server(rows: u64) -> Server {
    let server = Server::start(PROGRAM, &[]);
    let mut c = server.connect();
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id BIGINT PRIMARY KEY AUTO_INCREMENT, a INT NOT NULL, b VARCHAR(60) NOT NULL, c BIGINT, d INT NOT NULL, \
         v INT AS (a % 100) VIRTUAL, long_one TEXT)",
        "SET cte_max_recursion_depth = 100000000",
    ] {
        c.query_drop(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    let sql = format!(
        "INSERT INTO d.t (id, a, b, c, d) WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < {rows}) \
         SELECT i, (i * 7919) % 100003, CONCAT('word ', (i * 31) % 997), i * 10, i % 1000 FROM n"
    );
    c.query_drop(sql).expect("rows");
    server
}

fn connect(server: &Server) -> Conn {
    Conn::new(server.options(Some("d"))).expect("a connection")
}

fn code(error: &Error) -> u16 {
    match error {
        Error::MySqlError(error) => error.code,
        other => panic!("{other}"),
    }
}

fn state(watcher: &mut Conn, id: u32) -> String {
    let sql = format!("SELECT state FROM performance_schema.processlist WHERE id = {id}");
    watcher.query_first::<Option<String>, _>(sql).expect("an answer").flatten().unwrap_or_default()
}

fn indexes(c: &mut Conn) -> Vec<String> {
    c.query("SELECT DISTINCT index_name FROM information_schema.statistics WHERE table_schema = 'd' AND table_name = 't' ORDER BY 1")
        .expect("a list")
}

fn is_sound(c: &mut Conn) {
    let lines: Vec<(String, String, String, String)> = c.query("CHECK TABLE t").expect("an answer");
    assert!(lines.iter().all(|line| line.3 == "OK"), "{lines:?}");
}

/// `altiplano check` of a directory whose server has ended finds nothing.
fn directory_is_sound(server: &Server) {
    let output = Command::new(PROGRAM).args(["check", &server.data_dir().to_string_lossy()]).output().expect("runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
}

/// What another session would see of the table's definition.
fn definition(c: &mut Conn) -> Vec<String> {
    c.query(
        "SELECT CONCAT(column_name, ' ', is_nullable) FROM information_schema.columns WHERE table_schema = 'd' AND table_name = 't' UNION ALL \
         SELECT CONCAT(index_name, ' ', column_name) FROM information_schema.statistics WHERE table_schema = 'd' AND table_name = 't'",
    )
    .expect("a list")
}

/// A statement that builds, as others see it.
struct Build {
    /// Its connection's.
    id: u32,
    watcher: Conn,
    before: Vec<String>,
}

impl Build {
    /// Begins a transaction of `c` that keeps the statement from its end, which waits for all who use the table. `false`: it had come to its end before.
    fn hold(&mut self, c: &mut Conn) -> bool {
        c.query_drop("BEGIN").expect("begun");
        c.query_drop("SELECT 1 FROM t LIMIT 1").expect("read");
        let in_time = definition(&mut self.watcher) == self.before;
        if !in_time {
            c.query_drop("ROLLBACK").expect("ended");
        }
        in_time
    }

    /// Until it waits for those who hold it.
    fn waits(&mut self) {
        until("the build waits", || state(&mut self.watcher, self.id) == "Waiting for table metadata lock");
    }
}

/// Runs `ddl` on a connection of its own. While it builds (or waits for its last moment), `meanwhile` is called, once; when that comes too late (`None`), or the build was
/// too quick for it, everything is done again with more rows, after `undo`.
fn beside<T>(
    server: &Server,
    ddl: &str,
    settings: &[&str],
    undo: &str,
    mut meanwhile: impl FnMut(&mut Build) -> Option<T>,
) -> (Result<(), Error>, T) {
    let mut build = Build { id: 0, watcher: connect(server), before: Vec::new() };
    build.before = definition(&mut build.watcher);
    loop {
        let mut c = connect(server);
        settings.iter().for_each(|sql| c.query_drop(sql).expect("a setting"));
        build.id = c.connection_id();
        let is_over = AtomicBool::new(false);
        let (result, met) = std::thread::scope(|scope| {
            let run = scope.spawn(|| {
                let _over = SetAtEnd(&is_over);
                c.query_drop(ddl)
            });
            let mut builds = false;
            until("the build", || {
                builds = state(&mut build.watcher, build.id) == "altering table";
                builds || is_over.load(Ordering::Acquire)
            });
            let met = if builds { meanwhile(&mut build) } else { None };
            (run.join().expect("no panic"), met)
        });
        if let Some(met) = met {
            return (result, met);
        }
        result.expect("nobody was in the way");
        build.watcher.query_drop(undo).expect("undone");
        let more = "INSERT INTO t (a, b, c, d) SELECT a, b, last.c + id * 10, d FROM t, (SELECT MAX(c) AS c FROM t) AS last";
        while let Err(error) = build.watcher.query_drop(more) {
            assert!([1213, 1205].contains(&code(&error)), "{error}");
        }
    }
}

/// Runs `ddl` and, while it builds, `changes` in a transaction of another session that it waits for.
fn with_changes(server: &Server, ddl: &str, settings: &[&str], undo: &str, changes: &[&str]) -> Result<(), Error> {
    let mut other = connect(server);
    other.query_drop("SET foreign_key_checks = 0").expect("set");
    let (result, ()) = beside(server, ddl, settings, undo, |build| {
        if !build.hold(&mut other) {
            return None;
        }
        changes.iter().for_each(|sql| other.query_drop(sql).expect("changed"));
        build.waits();
        other.query_drop("COMMIT").expect("committed");
        Some(())
    });
    result
}

/// One writer's transaction; what others are in the way of is taken back.
fn write(c: &mut Conn, random: &mut Random, fresh: &AtomicU64) -> Result<(), Error> {
    c.query_drop("BEGIN")?;
    let row = |random: &mut Random| random.below(ROWS) + 1;
    for _ in 0..=random.below(4) {
        let (id, other, n) = (row(random), row(random), random.below(100_000));
        match random.below(12) {
            0..3 => {
                let id = fresh.fetch_add(1, Ordering::Relaxed);
                let long = if random.below(8) == 0 { "x".repeat(20_000) } else { String::new() };
                c.query_drop(format!("INSERT INTO t (id, a, b, c, d, long_one) VALUES ({id}, {n}, 'new {n}', {id}0, {n}, '{long}')"))?;
            }
            3 => c.query_drop(format!("UPDATE t SET a = {n}, d = d + 1 WHERE id = {id}"))?,
            // The same weight, other bytes.
            4 => c.query_drop(format!("UPDATE t SET b = UPPER(b) WHERE id = {id}"))?,
            5 => c.query_drop(format!("UPDATE t SET long_one = REPEAT('y', {}) WHERE id = {id}", n % 9000))?,
            6 => c.query_drop(format!("DELETE FROM t WHERE id = {id}"))?,
            7 => {
                // A value of a unique column goes from one row to another.
                let value: Option<Option<i64>> = c.query_first(format!("SELECT c FROM t WHERE id = {id} FOR UPDATE"))?;
                if let (Some(Some(value)), true) = (value, id != other) {
                    c.query_drop(format!("UPDATE t SET c = NULL WHERE id = {id}"))?;
                    c.query_drop(format!("UPDATE t SET c = {value} WHERE id = {other}"))?;
                }
            }
            8 => {
                c.query_drop("SAVEPOINT s")?;
                c.query_drop(format!("UPDATE t SET a = -a, b = 'taken back' WHERE id IN ({id}, {other})"))?;
                c.query_drop("ROLLBACK TO SAVEPOINT s")?;
            }
            9 => c.query_drop(format!("UPDATE t SET id = {} WHERE id = {id}", fresh.fetch_add(1, Ordering::Relaxed)))?,
            10 => c.query_drop(format!("UPDATE t SET d = {n} WHERE id BETWEEN {id} AND {id} + 20"))?,
            _ => c.query_drop(format!("DELETE FROM t WHERE id = {id}")).and_then(|()| {
                // The deleted row's place is taken again.
                c.query_drop(format!("INSERT INTO t (id, a, b, d) VALUES ({id}, {n}, 'again', {n})"))
            })?,
        }
    }
    c.query_drop(if random.below(4) == 0 { "ROLLBACK" } else { "COMMIT" })
}

/// A writer: one transaction after another, those counted in `during` that end while `busy` is set.
fn write_until(
    server: &Server,
    seed: u64,
    stop: &AtomicBool,
    busy: &AtomicBool,
    during: &AtomicU64,
    mut write: impl FnMut(&mut Conn, &mut Random) -> Result<(), Error>,
) {
    let mut random = Random::new(seed);
    let mut c = connect(server);
    while !stop.load(Ordering::Acquire) {
        match write(&mut c, &mut random) {
            Ok(()) if busy.load(Ordering::Acquire) => _ = during.fetch_add(1, Ordering::Relaxed),
            Ok(()) => {}
            // Deadlocks, waits for each other; a key that is there.
            Err(error) if [1213, 1205, 1062].contains(&code(&error)) => c.query_drop("ROLLBACK").expect("taken back"),
            Err(error) => panic!("{error}"),
        }
    }
}

/// What each index finds is what a scan of the rows finds, in one snapshot.
fn compare(c: &mut Conn, of_rows: bool) {
    c.query_drop("START TRANSACTION WITH CONSISTENT SNAPSHOT").expect("a snapshot");
    let figures = |c: &mut Conn, hint: &str, condition: &str| -> (u64, u64) {
        let sql = format!("SELECT COUNT(*), BIT_XOR(CRC32(CONCAT_WS('|', id, a, b, c, d, w))) FROM t {hint} WHERE {condition}");
        c.query_first(sql).expect("figures").expect("a row")
    };
    let all = "IGNORE INDEX (i_a, i_d, i_v, i_w, u_c)";
    let functional = of_rows.then_some(("i_f", "a % 77 > -1000"));
    let columns =
        [("i_a", "a > -1000000"), ("i_d", "d > -1"), ("i_v", "v > -1000"), ("i_w", "w > -8"), ("u_c", "c > -1"), ("u_c", "c IS NULL")];
    for (index, condition) in columns.into_iter().chain(functional) {
        let hint = format!("FORCE INDEX ({index})");
        assert_eq!(figures(c, &hint, condition), figures(c, all, condition), "{index}: {condition}");
    }
    c.query_drop("COMMIT").expect("the end");
}

#[test]
fn indexes_built_beside_writers_hold_what_a_full_scan_finds() {
    let server = server(ROWS);
    let seed = seed();
    let (stop, building) = (AtomicBool::new(false), AtomicBool::new(false));
    let (fresh, during) = (AtomicU64::new(ROWS * 10), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let _stop = SetAtEnd(&stop);
        for no in 0..3 {
            let (server, stop, building, fresh, during) = (&server, &stop, &building, &fresh, &during);
            scope.spawn(move || write_until(server, seed + no, stop, building, during, |c, random| write(c, random, fresh)));
        }
        let mut c = connect(&server);
        // Rows that nobody changes until the end have no value of it.
        c.query_drop("ALTER TABLE t ADD COLUMN w INT AS (d * 2 - 7) VIRTUAL, ALGORITHM=INSTANT").expect("added");
        for round in 0..4 {
            building.store(true, Ordering::Release);
            // With an index on an expression a LOCK=NONE is refused, as in MySQL; writers need not wait all the same.
            let of_rows = round % 2 == 1;
            let lock = if of_rows { "ADD INDEX i_f ((a % 77)), LOCK=DEFAULT" } else { "ALGORITHM=INPLACE, LOCK=NONE" };
            // A transaction that begins before the build ends, and ends while the build waits for it.
            let ddl = format!(
                "ALTER TABLE t ADD INDEX i_a (a, b(3)), ADD INDEX i_d (d DESC), ADD INDEX i_v (v), ADD INDEX i_w (w), ADD UNIQUE u_c (c), {lock}"
            );
            let more = if of_rows { ", DROP INDEX i_f" } else { "" };
            let undo = format!("ALTER TABLE t DROP INDEX i_a, DROP INDEX i_d, DROP INDEX i_v, DROP INDEX i_w, DROP INDEX u_c{more}");
            let (built, ()) = beside(&server, &ddl, &[], &undo, |build| {
                let mut long = connect(&server);
                if !build.hold(&mut long) {
                    return None;
                }
                let all = ["UPDATE t SET a = a + 1, d = d + 1 WHERE id % 2000 = 5", "DELETE FROM t WHERE id % 2000 = 6"];
                if all.iter().try_for_each(|sql| long.query_drop(sql)).is_err() {
                    long.query_drop("ROLLBACK").expect("a deadlock");
                    return Some(());
                }
                build.waits();
                long.query_drop(if round == 3 { "ROLLBACK" } else { "COMMIT" }).expect("ended");
                Some(())
            });
            building.store(false, Ordering::Release);
            built.expect("no duplicates");
            compare(&mut c, of_rows);
            if round < 3 {
                c.query_drop(&undo).expect("dropped");
            }
        }
    });
    let mut c = connect(&server);
    compare(&mut c, true);
    is_sound(&mut c);
    println!("{} transactions beside the builds", during.load(Ordering::Relaxed));
    assert!(during.into_inner() > 0, "writers waited for all of the builds");
}

#[test]
fn a_duplicate_that_somebody_commits_meanwhile_ends_the_build() {
    let server = server(ROWS);
    let mut c = connect(&server);
    for (before, change, expected) in [
        ("DO 0", "UPDATE t SET c = 70 WHERE id = 3", Some("Duplicate entry '70' for key 't.u_c'")),
        // Two rows exchange their values: each is there before the other has let go of it.
        ("UPDATE t SET c = 30 WHERE id = 3", "UPDATE t SET c = 100 - c WHERE id IN (3, 7)", None),
        ("DO 0", "INSERT INTO t (a, b, c, d) VALUES (1, 'x', 50, 1)", Some("Duplicate entry '50' for key 't.u_c'")),
    ] {
        c.query_drop(before).expect("prepared");
        let result = with_changes(&server, "CREATE UNIQUE INDEX u_c ON t (c)", &[], "DROP INDEX u_c ON t", &[change]);
        match (result, expected) {
            (Ok(()), None) => {
                assert_eq!(indexes(&mut c), ["PRIMARY", "u_c"]);
                is_sound(&mut c);
                c.query_drop("DROP INDEX u_c ON t").expect("dropped");
            }
            (Err(Error::MySqlError(error)), Some(text)) => {
                assert_eq!((error.code, error.message.as_str()), (1062, text));
                assert_eq!(indexes(&mut c), ["PRIMARY"]);
            }
            (result, _) => panic!("{change}: {result:?}"),
        }
        is_sound(&mut c);
    }
}

#[test]
fn kill_timeout_and_too_many_changes_leave_the_table_as_it_was() {
    let mut server = server(ROWS);
    for (ddl, first) in [
        ("ALTER TABLE t ADD INDEX i_b (b), ADD INDEX i_d (d)", "i_b"),
        ("ALTER TABLE t FORCE, ADD INDEX i_b (b), ADD INDEX i_d (d)", "PRIMARY"),
    ] {
        ends_leave_the_table_as_it_was(&server, ddl, first);
    }
    server.stop();
    directory_is_sound(&server);
}

/// The ways to an early end of a statement that makes `i_b` and `i_d`; `first` is the first index that it makes.
fn ends_leave_the_table_as_it_was(server: &Server, ddl: &str, first: &str) {
    let mut c = connect(server);
    let undo = "ALTER TABLE t DROP INDEX i_b, DROP INDEX i_d";
    // At work.
    let (result, ()) = beside(server, ddl, &[], undo, |build| {
        c.query_drop(format!("KILL QUERY {}", build.id)).expect("killed");
        Some(())
    });
    if let Err(error) = &result {
        assert_eq!(code(error), 1317);
        assert_eq!(indexes(&mut c), ["PRIMARY"]);
    } else {
        c.query_drop(undo).expect("the KILL came too late");
    }
    // In its last wait: killed, and by itself.
    for (settings, expected) in [(&[][..], 1317), (&["SET lock_wait_timeout = 1"][..], 1205)] {
        let mut other = connect(server);
        let (result, ()) = beside(server, ddl, settings, undo, |build| {
            if !build.hold(&mut other) {
                return None;
            }
            other.query_drop("UPDATE t SET b = 'changed' WHERE id = 9").expect("changed");
            if expected == 1317 {
                build.waits();
                let kill = format!("KILL QUERY {}", build.id);
                build.watcher.query_drop(kill).expect("killed");
            }
            Some(())
        });
        assert_eq!(result.as_ref().map_err(code), Err(expected));
        assert_eq!(indexes(&mut c), ["PRIMARY"]);
        other.query_drop("COMMIT").expect("committed");
    }
    // More changes than may be noted.
    c.query_drop("SET GLOBAL innodb_online_alter_log_max_size = 65536").expect("set");
    let mut other = connect(server);
    let (result, ()) = beside(server, ddl, &[], undo, |build| {
        if !build.hold(&mut other) {
            return None;
        }
        other.query_drop("UPDATE t SET d = d + 1 WHERE id < 5000").expect("changed");
        other.query_drop("COMMIT").expect("committed");
        Some(())
    });
    match result {
        Err(Error::MySqlError(error)) => {
            let text = format!(
                "Creating index '{first}' required more than 'innodb_online_alter_log_max_size' bytes of modification log. Please try again."
            );
            assert_eq!((error.code, error.message), (1799, text));
        }
        other => panic!("{other:?}"),
    }
    c.query_drop("SET GLOBAL innodb_online_alter_log_max_size = DEFAULT").expect("set");
    assert_eq!(indexes(&mut c), ["PRIMARY"]);
    is_sound(&mut c);
    c.query_drop(ddl).expect("nobody is in the way any more");
    is_sound(&mut c);
    c.query_drop(undo).expect("dropped");
}

#[test]
fn lock_shared_keeps_writers_out_and_readers_in() {
    let server = server(ROWS);
    let mut reader = connect(&server);
    let (result, ()) = beside(&server, "ALTER TABLE t ADD INDEX i_b (b), LOCK=SHARED", &[], "DROP INDEX i_b ON t", |build| {
        if !build.hold(&mut reader) {
            return None;
        }
        let count: Option<u64> = reader.query_first("SELECT COUNT(*) FROM t WHERE id < 100").expect("read");
        assert_eq!(count, Some(99));
        let mut writer = connect(&server);
        let kind = format!(
            "SELECT lock_type FROM performance_schema.metadata_locks WHERE owner_thread_id = {} AND lock_status = 'GRANTED' AND object_type = 'TABLE'",
            build.id
        );
        let kind: Option<String> = writer.query_first(kind).expect("locks");
        assert_eq!(kind.as_deref(), Some("SHARED_NO_WRITE"));
        writer.query_drop("SET lock_wait_timeout = 1").expect("set");
        assert_eq!(writer.query_drop("DELETE FROM t WHERE id = 1").as_ref().map_err(code), Err(1205));
        reader.query_drop("COMMIT").expect("ended");
        Some(())
    });
    result.expect("built");
    let mut c = connect(&server);
    assert_eq!(c.query_first::<u64, _>("SELECT COUNT(*) FROM t WHERE id = 1").expect("read"), Some(1));
}

#[test]
fn progress_is_shown_while_it_builds_and_remembered_afterwards() {
    let server = server(ROWS);
    let mut other = connect(&server);
    let mut watcher = connect(&server);
    let stages = |c: &mut Conn, table: &str, id: u32| -> Vec<(String, Option<u64>, Option<u64>)> {
        c.query(format!(
            "SELECT event_name, work_completed, work_estimated FROM performance_schema.{table} WHERE thread_id = {id} ORDER BY event_id"
        ))
        .expect("stages")
    };
    for (ddl, last) in
        [("ALTER TABLE t ADD INDEX i_b (b)", "log apply index)"), ("ALTER TABLE t FORCE, ADD INDEX i_b (b)", "log apply table)")]
    {
        let (result, (id, current)) = beside(&server, ddl, &[], "DROP INDEX i_b ON t", |build| {
            if !build.hold(&mut other) {
                return None;
            }
            other.query_drop("UPDATE t SET b = 'changed' WHERE id = 9").expect("changed");
            build.waits();
            let current = stages(&mut watcher, "events_stages_current", build.id);
            other.query_drop("COMMIT").expect("committed");
            Some((build.id, current))
        });
        result.expect("built");
        assert_eq!(current.len(), 1, "{current:?}");
        assert_eq!(current[0].0, format!("stage/innodb/alter table ({last}"));
        let ended = stages(&mut watcher, "events_stages_history_long", id);
        let names: Vec<&str> = ended.iter().map(|stage| stage.0.rsplit('(').next().expect("a name")).collect();
        assert_eq!(names[..3], ["read PK and internal sort)", "insert)", last], "{ended:?}");
        assert!(ended[0].1 >= Some(ROWS) && ended[0].1 == ended[0].2, "{ended:?}");
        assert_eq!(stages(&mut watcher, "events_stages_current", id), []);
        watcher.query_drop("DROP INDEX i_b ON t").expect("dropped");
    }
}

#[test]
fn a_kill_during_a_build_leaves_nothing_behind() {
    dies_during("ALTER TABLE t ADD INDEX i_b (b), ADD UNIQUE u_c (c)", "ALTER TABLE t DROP INDEX i_b, DROP INDEX u_c");
}

#[test]
fn a_kill_during_a_copy_leaves_nothing_behind() {
    dies_during(
        "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (a, id), ADD INDEX i_id (id), ADD UNIQUE u_c (c)",
        "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (id), DROP INDEX i_id, DROP INDEX u_c",
    );
}

fn dies_during(ddl: &str, undo: &str) {
    let mut server = server(ROWS);
    let mut c = connect(&server);
    let mut other = connect(&server);
    // The transaction that it waits for keeps the build from its end.
    let pid = server.pid();
    let (result, ()) = beside(&server, ddl, &[], undo, |build| {
        let mut holder = connect(&server);
        if !build.hold(&mut holder) {
            return None;
        }
        other.query_drop("UPDATE t SET b = 'kept' WHERE id = 9").expect("changed");
        other.query_drop("BEGIN").expect("begun");
        other.query_drop("UPDATE t SET b = 'lost' WHERE id = 10").expect("changed");
        Command::new("kill").args(["-9", &pid.to_string()]).status().expect("killed");
        Some(())
    });
    assert!(result.is_err(), "the server is gone");
    drop((c, other));
    server.restart();
    c = connect(&server);
    assert_eq!(indexes(&mut c), ["PRIMARY"]);
    let words: Vec<String> = c.query("SELECT b FROM t WHERE id IN (9, 10) ORDER BY id").expect("rows");
    assert_eq!(words, ["kept", "word 310"]);
    is_sound(&mut c);
    c.query_drop(ddl).expect("built");
    is_sound(&mut c);
    drop(c);
    server.stop();
    directory_is_sound(&server);
}

/// One transaction of a writer, in a table and in the one that stays as it is: they are the same whenever it has ended.
fn write_both(c: &mut Conn, random: &mut Random, fresh: &AtomicU64, rows: u64) -> Result<(), Error> {
    c.query_drop("BEGIN")?;
    for _ in 0..=random.below(3) {
        let (id, other, n) = (random.below(rows) + 1, random.below(rows) + 1, random.below(100_000));
        let new = fresh.fetch_add(2, Ordering::Relaxed);
        let statements = match random.below(10) {
            0 | 1 => {
                let bytes = if random.below(32) == 0 { 100_000 } else { n % 50 };
                vec![format!("INSERT INTO # (id, k, n, b, c, long_one) VALUES ({new}, {n}, {n}, 'new {n}', {new}, REPEAT('n', {bytes}))")]
            }
            2 => vec![format!("UPDATE # SET k = {n} WHERE id = {id}")],
            3 => vec![format!("UPDATE # SET n = n + 1, b = UPPER(b) WHERE id = {id}")],
            4 => vec![format!("UPDATE # SET long_one = REPEAT('u', {}) WHERE id = {id}", if n % 40 == 0 { 100_000 } else { n % 900 })],
            5 => vec![format!("DELETE FROM # WHERE id = {id}")],
            6 => vec![format!("UPDATE # SET id = {new}, c = NULL WHERE id = {id}")],
            7 => vec![format!("DELETE FROM # WHERE id = {id}"), format!("INSERT INTO # (id, k, n, b) VALUES ({id}, {n}, {n}, 'again')")],
            8 => vec![
                "SAVEPOINT s".into(),
                format!("UPDATE # SET k = -k, long_one = REPEAT('t', 50000) WHERE id IN ({id}, {other})"),
                "ROLLBACK TO SAVEPOINT s".into(),
            ],
            // A value of a unique column goes from one row to another.
            _ => vec![format!("UPDATE # SET c = NULL WHERE id = {id}"), format!("UPDATE # SET c = {} WHERE id = {other}", new + 1)],
        };
        for sql in statements {
            c.query_drop(sql.replace('#', "w"))?;
            if sql.contains('#') {
                c.query_drop(sql.replace('#', "same"))?;
            }
        }
    }
    c.query_drop(if random.below(4) == 0 { "ROLLBACK" } else { "COMMIT" })
}

/// In one snapshot the tables hold the same, by whichever index.
fn are_the_same(c: &mut Conn, what: &str) {
    c.query_drop("START TRANSACTION WITH CONSISTENT SNAPSHOT").expect("a snapshot");
    let columns = "COUNT(*), BIT_XOR(CRC32(CONCAT_WS('|', id, k, n, b, c, v, s, long_one)))";
    let mut figures =
        |from: &str| -> (u64, u64) { c.query_first(format!("SELECT {columns} FROM {from}")).expect("figures").expect("a row") };
    let same = figures("same");
    for from in ["w", "w FORCE INDEX (i_id) WHERE id > 0", "w FORCE INDEX (i_k) WHERE k > -1000000", "w FORCE INDEX (i_v) WHERE v > -1000"]
    {
        assert_eq!(figures(from), same, "{what}: {from}");
    }
    let part = |c: &mut Conn, from: &str| -> (u64, u64) {
        c.query_first(format!("SELECT {columns} FROM {from} WHERE c > 0")).expect("figures").expect("a row")
    };
    assert_eq!(part(c, "w FORCE INDEX (u_c)"), part(c, "same IGNORE INDEX (u_c)"), "{what}: u_c");
    c.query_drop("COMMIT").expect("the end");
    let lines: Vec<(String, String, String, String)> = c.query("CHECK TABLE w").expect("an answer");
    assert!(lines.iter().all(|line| line.3 == "OK"), "{what}: {lines:?}");
}

#[test]
fn tables_copied_beside_writers_hold_what_the_writers_wrote() {
    const COPIED: u64 = 1_000;
    let mut server = Server::start(PROGRAM, &[]);
    let seed = seed();
    let mut c = server.connect();
    for sql in ["CREATE DATABASE d", "USE d", "SET cte_max_recursion_depth = 100000000"] {
        c.query_drop(sql).expect(sql);
    }
    for name in ["w", "same"] {
        let columns = "id BIGINT NOT NULL, k INT NOT NULL, n INT NOT NULL, b VARCHAR(60) NOT NULL, c BIGINT, v INT AS (k % 100) VIRTUAL, s BIGINT AS (n + 1) STORED, \
                       long_one MEDIUMTEXT, KEY i_id (id), KEY i_k (k, b(3)), KEY i_v (v), UNIQUE u_c (c)";
        c.query_drop(format!("CREATE TABLE {name} ({columns})")).expect("made");
        let rows = format!(
            "INSERT INTO {name} (id, k, n, b, c, long_one) WITH RECURSIVE i AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM i WHERE i < {COPIED}) \
             SELECT i, (i * 7919) % 10007, i, CONCAT('word ', (i * 31) % 997), i * 10000000, IF(i % 400 = 0, REPEAT('l', 100000), 'short') FROM i"
        );
        c.query_drop(rows).expect("rows");
    }
    let (stop, copying) = (AtomicBool::new(false), AtomicBool::new(false));
    let (fresh, during) = (AtomicU64::new(COPIED * 10), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let _stop = SetAtEnd(&stop);
        for no in 0..3 {
            let (server, stop, copying, fresh, during) = (&server, &stop, &copying, &fresh, &during);
            scope.spawn(move || write_until(server, seed + no, stop, copying, during, |c, random| write_both(c, random, fresh, COPIED)));
        }
        let (mut killer, killed) = (connect(&server), c.connection_id());
        for ddl in [
            // Without a primary key, to the same without one, and to one that has.
            "ALTER TABLE w FORCE, ALGORITHM=INPLACE, LOCK=NONE",
            "ALTER TABLE w ADD PRIMARY KEY (id), ALGORITHM=INPLACE, LOCK=NONE",
            "ALTER TABLE w MODIFY n INT NULL, LOCK=NONE",
            "ALTER TABLE w DROP PRIMARY KEY, ADD PRIMARY KEY (k, id), LOCK=NONE",
            "ALTER TABLE w MODIFY n INT NOT NULL, ALGORITHM=INPLACE, LOCK=NONE",
            "KILL",
            "ALTER TABLE w DROP PRIMARY KEY, ADD PRIMARY KEY (id DESC), ENGINE=InnoDB, LOCK=NONE",
            "OPTIMIZE TABLE w",
        ] {
            copying.store(true, Ordering::Release);
            if ddl == "KILL" {
                let over = AtomicBool::new(false);
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        until("the copy", || state(&mut killer, killed) == "altering table" || over.load(Ordering::Acquire));
                        killer.query_drop(format!("KILL QUERY {killed}")).expect("killed");
                    });
                    let ended = c.query_drop("ALTER TABLE w DROP PRIMARY KEY, ADD PRIMARY KEY (b, id), LOCK=NONE");
                    over.store(true, Ordering::Release);
                    // Or it came too late.
                    assert!(matches!(ended.as_ref().map_err(code), Ok(()) | Err(1317)), "{ended:?}");
                });
            } else {
                c.query_drop(ddl).unwrap_or_else(|error| panic!("{ddl}: {error}"));
            }
            copying.store(false, Ordering::Release);
            are_the_same(&mut c, ddl);
        }
    });
    are_the_same(&mut c, "the end");
    println!("{} transactions beside the copies", during.load(Ordering::Relaxed));
    assert!(during.into_inner() > 0, "writers waited for all of the copies");
    drop(c);
    server.stop();
    directory_is_sound(&server);
}

#[test]
fn what_somebody_commits_meanwhile_may_end_a_copy() {
    let server = server(ROWS);
    let mut c = connect(&server);
    let another_key = "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (c), ADD INDEX i_id (id), LOCK=NONE";
    let old_key = "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (id), DROP INDEX i_id, MODIFY c BIGINT";
    for (ddl, undo, change, expected) in [
        (another_key, old_key, "UPDATE t SET c = 70 WHERE id = 3", Some((1062, "Duplicate entry '70' for key 't.PRIMARY'"))),
        (another_key, old_key, "UPDATE t SET c = NULL WHERE id = 3", Some((1138, "Invalid use of NULL value"))),
        (
            "ALTER TABLE t FORCE, ADD UNIQUE u_c (c)",
            "ALTER TABLE t DROP INDEX u_c",
            "UPDATE t SET c = 70 WHERE id = 3",
            Some((1062, "Duplicate entry '70' for key 't.u_c'")),
        ),
        (
            "ALTER TABLE t MODIFY c BIGINT NOT NULL, LOCK=NONE",
            "ALTER TABLE t MODIFY c BIGINT",
            "UPDATE t SET c = NULL WHERE id = 4",
            Some((1138, "Invalid use of NULL value")),
        ),
        // Two rows exchange their values.
        (another_key, old_key, "UPDATE t SET c = 100 - c WHERE id IN (3, 7)", None),
    ] {
        c.query_drop("UPDATE t SET c = id * 10 WHERE id < 10").expect("prepared");
        match (with_changes(&server, ddl, &[], undo, &[change]), expected) {
            (Ok(()), None) => assert_eq!(indexes(&mut c), ["i_id", "PRIMARY"]),
            (Err(Error::MySqlError(error)), Some(expected)) => {
                assert_eq!((error.code, error.message.as_str()), expected, "{ddl}");
                assert_eq!(indexes(&mut c), ["PRIMARY"]);
            }
            (result, _) => panic!("{ddl} beside {change}: {result:?}"),
        }
        is_sound(&mut c);
    }
    let first: Vec<(u64, u64)> = c.query("SELECT id, c FROM t WHERE c < 80 ORDER BY c").expect("rows");
    assert_eq!(first, [(1, 10), (2, 20), (7, 30), (4, 40), (5, 50), (6, 60), (3, 70)]);
}

#[test]
fn a_counter_that_is_asked_for_beside_an_index_does_not_go_back_behind_others() {
    let server = server(ROWS);
    let mut c = connect(&server);
    let counter = |c: &mut Conn| -> u64 {
        c.query_drop("INSERT INTO t (a, b, d) VALUES (1, 'next', 1)").expect("added");
        c.last_insert_id()
    };
    // Others have taken more numbers by then, or fewer.
    for (row, asked) in [(20_000_000, 10_000_000), (5_000_000, 30_000_000)] {
        let ddl = format!("ALTER TABLE t ADD INDEX i_b (b), AUTO_INCREMENT = {asked}, ALGORITHM=INPLACE, LOCK=NONE");
        let insert = format!("REPLACE INTO t (id, a, b, d) VALUES ({row}, 1, 'far', 1)");
        with_changes(&server, &ddl, &[], "DROP INDEX i_b ON t", &[&insert]).expect("built");
        let largest: u64 = c.query_first("SELECT MAX(id) FROM t").expect("an answer").expect("a row");
        assert!(largest >= row);
        assert_eq!(counter(&mut c), asked.max(largest + 1));
        is_sound(&mut c);
        c.query_drop("DROP INDEX i_b ON t").expect("dropped");
    }
}

#[test]
fn a_foreign_key_that_nobody_checks_comes_beside_writers() {
    let server = server(ROWS);
    let mut c = connect(&server);
    c.query_drop("CREATE TABLE p (id INT PRIMARY KEY)").expect("made");
    c.query_drop("INSERT INTO p VALUES (1), (2)").expect("rows");
    let off = ["SET foreign_key_checks = 0"];
    let ddl = "ALTER TABLE t ADD INDEX i_b (b), ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES p (id), ALGORITHM=INPLACE, LOCK=NONE";
    let undo = "ALTER TABLE t DROP FOREIGN KEY f, DROP INDEX f, DROP INDEX i_b";
    let changes = ["UPDATE t SET a = 77 WHERE id = 5", "DELETE FROM p WHERE id = 2", "REPLACE INTO p VALUES (3)"];
    with_changes(&server, ddl, &off, undo, &changes).expect("built");
    is_sound(&mut c);
    assert_eq!(indexes(&mut c), ["f", "i_b", "PRIMARY"]);
    for (sql, expected) in [
        ("UPDATE t SET a = 3 WHERE id = 6", None),
        ("UPDATE t SET a = 2 WHERE id = 6", Some(1452)),
        ("DELETE FROM p WHERE id = 3", Some(1451)),
    ] {
        assert_eq!(c.query_drop(sql).err().as_ref().map(code), expected, "{sql}");
    }
    c.query_drop(undo).expect("dropped");
    // A parent that comes meanwhile is looked at.
    let ddl = "ALTER TABLE t ADD INDEX i_b (b), ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES late (id), LOCK=NONE";
    for (parent, expected) in [("id BIGINT PRIMARY KEY", Some(3780)), ("id INT PRIMARY KEY", None)] {
        let mut other = connect(&server);
        let create = format!("CREATE TABLE late ({parent})");
        let (result, ()) = beside(&server, ddl, &off, undo, |build| {
            let mut holder = connect(&server);
            if !build.hold(&mut holder) {
                return None;
            }
            other.query_drop(&create).expect("made");
            holder.query_drop("COMMIT").expect("ended");
            Some(())
        });
        assert_eq!(result.err().as_ref().map(code), expected, "{parent}");
        is_sound(&mut c);
        assert_eq!(indexes(&mut c), if expected.is_none() { vec!["f", "i_b", "PRIMARY"] } else { vec!["PRIMARY"] });
        if expected.is_some() {
            c.query_drop("DROP TABLE late").expect("dropped");
        }
    }
}

#[test]
fn a_zero_date_that_only_an_empty_table_may_have_is_refused_when_rows_come_meanwhile() {
    let server = server(ROWS);
    let (mut c, mut old) = (connect(&server), connect(&server));
    // Deleted rows that somebody's snapshot sees take time to pass.
    old.query_drop("START TRANSACTION WITH CONSISTENT SNAPSHOT").expect("a snapshot");
    c.query_drop("DELETE FROM t").expect("deleted");
    let ddl = "ALTER TABLE t ADD COLUMN z DATE NOT NULL, ADD INDEX i_b (b), LOCK=NONE";
    let undo = "ALTER TABLE t DROP COLUMN z, DROP INDEX i_b";
    let result = with_changes(&server, ddl, &[], undo, &["INSERT INTO t (id, a, b, d) VALUES (1000000, 1, 'x', 1)"]);
    match result {
        Err(Error::MySqlError(error)) => {
            assert_eq!((error.code, error.message.as_str()), (1292, "Incorrect date value: '0000-00-00' for column 'z' at row 1"));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(indexes(&mut c), ["PRIMARY"]);
    is_sound(&mut c);
    let rows = ["INSERT INTO t (id, a, b, d) VALUES (1000001, 1, 'x', 1)", "DELETE FROM t"];
    c.query_drop(rows[0]).expect("added");
    assert_eq!(c.query_drop(ddl).as_ref().map_err(code), Err(1292), "a row is there from the start");
    c.query_drop(rows[1]).expect("deleted");
    with_changes(&server, ddl, &["SET sql_mode = 'STRICT_ALL_TABLES'"], undo, &rows[..1]).expect("zero dates are allowed");
    let dates: Vec<String> = c.query("SELECT CAST(z AS CHAR) FROM t FORCE INDEX (i_b) WHERE b > ''").expect("rows");
    assert_eq!(dates, ["0000-00-00"]);
    is_sound(&mut c);
}

#[test]
fn another_collation_comes_beside_writers_where_nothing_follows_from_it() {
    let server = server(ROWS);
    let mut c = connect(&server);
    // Nothing to copy: it is there at once, and rows that others write meanwhile are compared by it afterwards.
    for (ddl, changes) in [
        (
            "ALTER TABLE t MODIFY b VARCHAR(60) COLLATE utf8mb4_bin NOT NULL, FORCE, ALGORITHM=INPLACE, LOCK=NONE",
            "UPDATE t SET b = 'Mixed' WHERE id = 9",
        ),
        (
            "ALTER TABLE t MODIFY b VARCHAR(60) COLLATE utf8mb4_general_ci NOT NULL, ADD INDEX i_d (d), ALGORITHM=INPLACE, LOCK=NONE",
            "UPDATE t SET b = 'MIXED' WHERE id = 10",
        ),
    ] {
        let undo = if ddl.contains("i_d") { "DROP INDEX i_d ON t" } else { "DO 0" };
        with_changes(&server, ddl, &[], undo, &[changes]).expect("changed");
        // Of these rows: a build that was too quick has been done again with copies of all that were there.
        let count = "SELECT COUNT(*) FROM t WHERE b = 'mixed' AND id IN (9, 10)";
        let found: u64 = c.query_first(count).expect("a count").expect("a row");
        assert_eq!(found, if ddl.contains("_bin") { 0 } else { 2 }, "{ddl}");
        is_sound(&mut c);
    }
}
