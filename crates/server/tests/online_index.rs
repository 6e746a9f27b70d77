//! Indexes built beside readers and writers: what they hold afterwards, what ends a build, and what is left of one that was ended.

use env::SplitMix64 as Random;
use harness::{Server, until};
use mysql::prelude::Queryable;
use mysql::{Conn, Error};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

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

/// Runs `ddl` on a connection of its own. While it builds (or waits for its last moment), `meanwhile` is called with its connection's id, once; when the build was too quick for
/// that, everything is done again with more rows.
fn beside<T>(server: &Server, ddl: &str, settings: &[&str], undo: &str, mut meanwhile: impl FnMut(u32) -> T) -> (Result<(), Error>, T) {
    let mut watcher = connect(server);
    loop {
        let mut c = connect(server);
        settings.iter().for_each(|sql| c.query_drop(sql).expect("a setting"));
        let id = c.connection_id();
        let is_over = AtomicBool::new(false);
        let (result, met) = std::thread::scope(|scope| {
            let run = scope.spawn(|| {
                let result = c.query_drop(ddl);
                is_over.store(true, Ordering::Release);
                result
            });
            let mut met = None;
            until("the build", || {
                if state(&mut watcher, id) == "altering table" {
                    met = Some(meanwhile(id));
                }
                met.is_some() || is_over.load(Ordering::Acquire)
            });
            (run.join().expect("no panic"), met)
        });
        if let Some(met) = met {
            return (result, met);
        }
        result.expect("nobody was in the way");
        watcher.query_drop(undo).expect("undone");
        watcher.query_drop("INSERT INTO t (a, b, c, d) SELECT a, b, NULL, d FROM t").expect("more rows");
    }
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

/// What each index finds is what a scan of the rows finds, in one snapshot.
fn compare(c: &mut Conn) {
    c.query_drop("START TRANSACTION WITH CONSISTENT SNAPSHOT").expect("a snapshot");
    let figures = |c: &mut Conn, hint: &str, condition: &str| -> (u64, u64) {
        let sql = format!("SELECT COUNT(*), BIT_XOR(CRC32(CONCAT_WS('|', id, a, b, c, d))) FROM t {hint} WHERE {condition}");
        c.query_first(sql).expect("figures").expect("a row")
    };
    let all = "IGNORE INDEX (i_a, i_d, i_v, u_c)";
    for (index, condition) in [("i_a", "a > -1000000"), ("i_d", "d > -1"), ("i_v", "v > -1000"), ("u_c", "c > -1"), ("u_c", "c IS NULL")] {
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
        for no in 0..3 {
            let (server, stop, building, fresh, during) = (&server, &stop, &building, &fresh, &during);
            scope.spawn(move || {
                let mut random = Random::new(seed + no);
                let mut c = connect(server);
                while !stop.load(Ordering::Acquire) {
                    match write(&mut c, &mut random, fresh) {
                        Ok(()) if building.load(Ordering::Acquire) => _ = during.fetch_add(1, Ordering::Relaxed),
                        Ok(()) => {}
                        // Deadlocks, waits for each other; a key of the unique index.
                        Err(error) if [1213, 1205, 1062].contains(&code(&error)) => c.query_drop("ROLLBACK").expect("taken back"),
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
        let mut c = connect(&server);
        for round in 0..4 {
            building.store(true, Ordering::Release);
            let lock = if round % 2 == 0 { "ALGORITHM=INPLACE, LOCK=NONE" } else { "LOCK=DEFAULT" };
            // A transaction that begins before the build ends, and ends while the build waits for it.
            let ddl =
                format!("ALTER TABLE t ADD INDEX i_a (a, b(3)), ADD INDEX i_d (d DESC), ADD INDEX i_v (v), ADD UNIQUE u_c (c), {lock}");
            let undo = "ALTER TABLE t DROP INDEX i_a, DROP INDEX i_d, DROP INDEX i_v, DROP INDEX u_c";
            let (built, ()) = beside(&server, &ddl, &[], undo, |id| {
                let (mut long, mut watcher) = (connect(&server), connect(&server));
                long.query_drop("BEGIN").expect("begun");
                let all = ["UPDATE t SET a = a + 1, d = d + 1 WHERE id % 2000 = 5", "DELETE FROM t WHERE id % 2000 = 6"];
                if all.iter().try_for_each(|sql| long.query_drop(sql)).is_err() {
                    return long.query_drop("ROLLBACK").expect("a deadlock");
                }
                until("the build waits", || state(&mut watcher, id) == "Waiting for table metadata lock");
                long.query_drop(if round == 3 { "ROLLBACK" } else { "COMMIT" }).expect("ended");
            });
            building.store(false, Ordering::Release);
            built.expect("no duplicates");
            compare(&mut c);
            if round < 3 {
                c.query_drop(undo).expect("dropped");
            }
        }
        stop.store(true, Ordering::Release);
    });
    let mut c = connect(&server);
    compare(&mut c);
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
        let mut other = connect(&server);
        let (result, ()) = beside(&server, "CREATE UNIQUE INDEX u_c ON t (c)", &[], "DROP INDEX u_c ON t", |id| {
            other.query_drop("BEGIN").expect("begun");
            other.query_drop(change).expect("changed");
            let mut watcher = connect(&server);
            until("the build waits", || state(&mut watcher, id) == "Waiting for table metadata lock");
            other.query_drop("COMMIT").expect("committed");
        });
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
    let mut c = connect(&server);
    let ddl = "ALTER TABLE t ADD INDEX i_b (b), ADD INDEX i_d (d)";
    let undo = "ALTER TABLE t DROP INDEX i_b, DROP INDEX i_d";
    // At work.
    let (result, ()) = beside(&server, ddl, &[], undo, |id| c.query_drop(format!("KILL QUERY {id}")).expect("killed"));
    if let Err(error) = &result {
        assert_eq!(code(error), 1317);
        assert_eq!(indexes(&mut c), ["PRIMARY"]);
    } else {
        c.query_drop(undo).expect("the KILL came too late");
    }
    // In its last wait: killed, and by itself.
    for (settings, expected) in [(&[][..], 1317), (&["SET lock_wait_timeout = 1"][..], 1205)] {
        let mut other = connect(&server);
        let (result, ()) = beside(&server, ddl, settings, undo, |id| {
            other.query_drop("BEGIN").expect("begun");
            other.query_drop("UPDATE t SET b = 'changed' WHERE id = 9").expect("changed");
            if expected == 1317 {
                let mut watcher = connect(&server);
                until("the build waits", || state(&mut watcher, id) == "Waiting for table metadata lock");
                watcher.query_drop(format!("KILL QUERY {id}")).expect("killed");
            }
        });
        assert_eq!(result.as_ref().map_err(code), Err(expected));
        assert_eq!(indexes(&mut c), ["PRIMARY"]);
        other.query_drop("COMMIT").expect("committed");
    }
    // More changes than may be noted.
    c.query_drop("SET GLOBAL innodb_online_alter_log_max_size = 65536").expect("set");
    let mut other = connect(&server);
    let (result, ()) = beside(&server, ddl, &[], undo, |_| {
        other.query_drop("BEGIN").expect("begun");
        other.query_drop("UPDATE t SET d = d + 1 WHERE id < 5000").expect("changed");
        other.query_drop("COMMIT").expect("committed");
    });
    match result {
        Err(Error::MySqlError(error)) => {
            let text =
                "Creating index 'i_b' required more than 'innodb_online_alter_log_max_size' bytes of modification log. Please try again.";
            assert_eq!((error.code, error.message.as_str()), (1799, text));
        }
        other => panic!("{other:?}"),
    }
    c.query_drop("SET GLOBAL innodb_online_alter_log_max_size = DEFAULT").expect("set");
    assert_eq!(indexes(&mut c), ["PRIMARY"]);
    is_sound(&mut c);
    c.query_drop(ddl).expect("nobody is in the way any more");
    is_sound(&mut c);
    drop((c, other));
    server.stop();
    directory_is_sound(&server);
}

#[test]
fn lock_shared_keeps_writers_out_and_readers_in() {
    let server = server(ROWS);
    let mut reader = connect(&server);
    let (result, ()) = beside(&server, "ALTER TABLE t ADD INDEX i_b (b), LOCK=SHARED", &[], "DROP INDEX i_b ON t", |id| {
        reader.query_drop("BEGIN").expect("begun");
        let count: Option<u64> = reader.query_first("SELECT COUNT(*) FROM t WHERE id < 100").expect("read");
        assert_eq!(count, Some(99));
        let mut writer = connect(&server);
        let kind = format!(
            "SELECT lock_type FROM performance_schema.metadata_locks WHERE owner_thread_id = {id} AND lock_status = 'GRANTED' AND object_type = 'TABLE'"
        );
        let kind: Option<String> = writer.query_first(kind).expect("locks");
        assert_eq!(kind.as_deref(), Some("SHARED_NO_WRITE"));
        writer.query_drop("SET lock_wait_timeout = 1").expect("set");
        assert_eq!(writer.query_drop("DELETE FROM t WHERE id = 1").as_ref().map_err(code), Err(1205));
        reader.query_drop("COMMIT").expect("ended");
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
    let id = {
        let (result, (id, current)) = beside(&server, "ALTER TABLE t ADD INDEX i_b (b)", &[], "DROP INDEX i_b ON t", |id| {
            other.query_drop("BEGIN").expect("begun");
            other.query_drop("UPDATE t SET b = 'changed' WHERE id = 9").expect("changed");
            until("the build waits", || state(&mut watcher, id) == "Waiting for table metadata lock");
            let current = stages(&mut watcher, "events_stages_current", id);
            other.query_drop("COMMIT").expect("committed");
            (id, current)
        });
        result.expect("built");
        assert_eq!(current.len(), 1, "{current:?}");
        assert_eq!(current[0].0, "stage/innodb/alter table (log apply index)");
        id
    };
    let ended = stages(&mut watcher, "events_stages_history_long", id);
    let names: Vec<&str> = ended.iter().map(|stage| stage.0.rsplit('(').next().expect("a name")).collect();
    assert_eq!(names[..3], ["read PK and internal sort)", "insert)", "log apply index)"], "{ended:?}");
    assert!(ended[0].1 >= Some(ROWS) && ended[0].1 == ended[0].2, "{ended:?}");
    assert_eq!(stages(&mut watcher, "events_stages_current", id), []);
}

#[test]
fn a_kill_during_a_build_leaves_nothing_behind() {
    let mut server = server(ROWS);
    let mut c = connect(&server);
    let mut other = connect(&server);
    // The transaction that it waits for keeps the build from its end.
    let ddl = "ALTER TABLE t ADD INDEX i_b (b), ADD UNIQUE u_c (c)";
    let pid = server.pid();
    let (result, ()) = beside(&server, ddl, &[], "ALTER TABLE t DROP INDEX i_b, DROP INDEX u_c", |_| {
        other.query_drop("UPDATE t SET b = 'kept' WHERE id = 9").expect("changed");
        other.query_drop("BEGIN").expect("begun");
        other.query_drop("UPDATE t SET b = 'lost' WHERE id = 10").expect("changed");
        Command::new("kill").args(["-9", &pid.to_string()]).status().expect("killed");
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
