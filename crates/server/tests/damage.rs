//! Damaged files under the real program: bits flipped in data pages, log, control file, doublewrite and undo of a stopped server, which is
//! then started. What needs a damaged page fails with MySQL's number, is named in the log once, and everything else is served; nothing is written over.

use harness::data_file::{LEAF, PAGE_BYTES, flip, pages};
use harness::{Server, run_all};
use mysql::prelude::Queryable;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_altiplano");

/// Leaves of an index.
fn leaves(dir: &Path, index: u32) -> Vec<u64> {
    pages(dir, |kind, of| kind == LEAF && of == index)
}

fn page(dir: &Path, page: u64) -> Vec<u8> {
    let mut image = vec![0; PAGE_BYTES as usize];
    File::open(dir.join("data")).expect("opens").read_exact_at(&mut image, page * PAGE_BYTES).expect("reads");
    image
}

/// Two tables; the primary index of `t` has many leaves. The index ids are 16 (t), 17 (k of t), 18 (other).
fn populated() -> Server {
    let server = Server::start(PROGRAM, &[]);
    let mut c = server.connect();
    run_all(
        &mut c,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (id INT PRIMARY KEY, s VARCHAR(200) NOT NULL, n INT NOT NULL, KEY k (n))",
            "CREATE TABLE d.other (id INT PRIMARY KEY, n INT)",
            "INSERT INTO d.other VALUES (1, 1), (2, 2)",
        ],
    );
    for start in (0..2_000).step_by(500) {
        let rows: Vec<String> = (start..start + 500).map(|id| format!("({id}, '{}', {})", "x".repeat(100), id % 9)).collect();
        c.query_drop(format!("INSERT INTO d.t VALUES {}", rows.join(","))).expect("rows");
    }
    server
}

fn code(error: mysql::Error) -> (u16, String) {
    match error {
        mysql::Error::MySqlError(error) => (error.code, error.state),
        other => panic!("not an error of the server: {other}"),
    }
}

fn refused(dir: &Path) -> String {
    harness::refused(PROGRAM, dir)
}

/// Whether `altiplano check` finds all well in a directory, and what it says.
fn check(dir: &Path) -> (bool, String) {
    let output = Command::new(PROGRAM).arg("check").arg(dir).stdin(Stdio::null()).output().expect("runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), said)
}

#[test]
fn a_damaged_leaf_costs_the_statements_that_need_it() {
    let mut server = populated();
    assert_eq!(server.stop(), Some(0));
    let dir = server.data_dir();
    let all = leaves(&dir, 16);
    assert!(all.len() > 5, "{all:?}");
    let victim = all[all.len() / 2];
    // Nobody has a copy of the page: the last batch of writes may be in the doublewrite area, from which a start would mend it.
    flip(&dir.join("doublewrite"), 10);
    flip(&dir.join("data"), victim * PAGE_BYTES + 9_000);
    let damaged = page(&dir, victim);
    server.restart();
    let mut c = server.connect();
    let corrupt = (1712, "HY000".to_owned());
    for _ in 0..20 {
        assert_eq!(code(c.query_drop("SELECT MAX(s) FROM d.t").expect_err("needs the page")), corrupt);
    }
    assert_eq!(code(c.query_drop("UPDATE d.t SET n = n + 1").expect_err("needs the page")), corrupt);
    // All else is served: rows of the same table on other pages, its other index, other tables, new rows.
    let mut served = 0;
    for id in 0..2_000 {
        match c.query_first::<i64, _>(format!("SELECT id FROM d.t WHERE id = {id}")) {
            Ok(found) => {
                assert_eq!(found, Some(id));
                served += 1;
            }
            Err(error) => assert_eq!(code(error), corrupt),
        }
    }
    assert!((1_000..2_000).contains(&served), "{served}");
    assert_eq!(c.query_first::<i64, _>("SELECT COUNT(*) FROM d.t FORCE INDEX (k) WHERE n >= 0").expect("by the other index"), Some(2_000));
    assert_eq!(c.query_first::<i64, _>("SELECT SUM(n) FROM d.other").expect("another table"), Some(3));
    c.query_drop("INSERT INTO d.t VALUES (5000, 'new', 1); UPDATE d.t SET n = 99 WHERE id = 5000; INSERT INTO d.other VALUES (3, 3)")
        .expect("rows on other pages");
    c.query_drop("SELECT 1").expect("the connection is well");
    // CHECK TABLE names it, and says that the other table is well.
    let rows: Vec<(String, String, String, String)> = c.query("CHECK TABLE d.t, d.other").expect("checks");
    assert_eq!(rows.last(), Some(&("d.other".into(), "check".into(), "status".into(), "OK".into())));
    assert_eq!(rows[rows.len() - 2], ("d.t".into(), "check".into(), "error".into(), "Corrupt".into()));
    assert!(rows[0].2 == "Warning" && rows[0].3.contains(&format!("page {victim}")) && rows[0].3.contains("PRIMARY"), "{rows:?}");
    // The log names it once, with its table and index.
    let said = format!("page {victim} is corrupt");
    harness::until("the log names the page", || server.log().contains(&said));
    let log = server.log();
    assert_eq!(log.matches(&said).count(), 1, "{log}");
    let line = log.lines().find(|line| line.contains(&said)).expect("found above");
    assert!(line.contains("[ERROR]") && line.contains("data file") && line.contains("index PRIMARY of table d.t"), "{line}");
    // A stop and a death later it is as it was, and so is everything else.
    assert_eq!(server.stop(), Some(0));
    assert!(page(&dir, victim) == damaged, "the page was written over");
    server.restart();
    server.connect().query_drop("UPDATE d.other SET n = 10 WHERE id = 1").expect("goes on");
    server.kill();
    server.restart();
    assert_eq!(server.connect().query_first::<i64, _>("SELECT SUM(n) FROM d.other").expect("reads"), Some(15));
    assert!(page(&dir, victim) == damaged, "the page was written over");
}

#[test]
fn a_damaged_page_that_redo_needs_costs_the_statements_that_need_it() {
    let mut server = populated();
    assert_eq!(server.stop(), Some(0));
    let dir = server.data_dir();
    server.restart();
    let mut c = server.connect();
    c.query_drop("UPDATE d.t SET n = n + 10; INSERT INTO d.other VALUES (3, 3)").expect("acknowledged");
    // Somebody who does not end: its changes are on every leaf, and on another table before.
    let mut unfinished = server.connect();
    unfinished.query_drop("BEGIN; UPDATE d.other SET n = 100 WHERE id = 1; UPDATE d.t SET n = n + 500").expect("runs");
    c.query_drop("INSERT INTO d.other VALUES (4, 4)").expect("makes the log durable");
    server.kill();
    let all = leaves(&dir, 16);
    let victim = all[all.len() / 2];
    let at = victim * PAGE_BYTES + 9_000;
    flip(&dir.join("doublewrite"), 10);
    flip(&dir.join("data"), at);
    let damaged = page(&dir, victim);
    let expected_sum: i64 = (0..2_000).map(|id| id % 9 + 10).sum();
    let corrupt = (1712, "HY000".to_owned());
    // Each start redoes the same; after the second it closes as an operator would.
    for start in 0..3 {
        let logged = server.log().len();
        server.restart();
        let mut c = server.connect();
        c.query_drop("SET innodb_lock_wait_timeout = 1").expect("sets");
        assert_eq!(code(c.query_drop("SELECT MAX(s) FROM d.t").expect_err("needs the page")), corrupt, "start {start}");
        let mut served = 0;
        for id in 0..2_000 {
            match c.query_first::<i64, _>(format!("SELECT n FROM d.t WHERE id = {id}")) {
                Ok(n) => {
                    assert_eq!(n, Some(id % 9 + 10), "row {id}, start {start}");
                    served += 1;
                }
                Err(error) => assert_eq!(code(error), corrupt),
            }
        }
        assert!((1_000..2_000).contains(&served), "{served}");
        assert_eq!(c.query_first::<i64, _>("SELECT SUM(n) FROM d.other").expect("another table"), Some(10));
        c.query_drop(format!(
            "UPDATE d.other SET n = n + {start} WHERE id = 2; UPDATE d.other SET n = n - {start} WHERE id = 2; \
                              INSERT INTO d.t VALUES ({}, 'new', 1)",
            5_000 + start
        ))
        .expect("other rows are written");
        // What the rollback has not come to stays locked: it goes from the newest change back, and stops at the page.
        assert_eq!(code(c.query_drop("UPDATE d.other SET n = 5 WHERE id = 1").expect_err("locked")).0, 1205);
        assert_eq!(code(c.query_drop("UPDATE d.t SET n = 5 WHERE id = 0").expect_err("locked")).0, 1205);
        harness::until("the log says what it is about", || {
            let log = server.log();
            let log = &log[logged..];
            log.contains(&format!("recovery: page {victim}, of index 16, is damaged")) && log.contains("rollback of transaction")
        });
        let log = server.log();
        let named: Vec<&str> = log[logged..].lines().filter(|line| line.contains("[ERROR]")).collect();
        assert!(matches!(&named[..], [line] if line.contains("index PRIMARY of table d.t")), "{named:?}");
        drop(c);
        match start {
            0 => server.kill(),
            _ => assert_eq!(server.stop(), Some(0)),
        }
        assert!(page(&dir, victim) == damaged, "the page was written over");
    }
    // Mended, as by a copy of the page from a backup: the log has been kept for it.
    flip(&dir.join("data"), at);
    server.restart();
    let mut c = server.connect();
    harness::until("the rollback is done", || {
        c.query_drop("SET innodb_lock_wait_timeout = 1").expect("sets");
        c.query_drop("UPDATE d.other SET n = 1 WHERE id = 1").is_ok() && c.query_drop("UPDATE d.t SET n = 10 WHERE id = 0").is_ok()
    });
    assert_eq!(c.query_first::<i64, _>("SELECT SUM(n) FROM d.t WHERE id < 2000").expect("reads"), Some(expected_sum));
    assert_eq!(c.query_first::<i64, _>("SELECT COUNT(*) FROM d.t").expect("reads"), Some(2_003));
    let rows: Vec<(String, String, String, String)> = c.query("CHECK TABLE d.t, d.other").expect("checks");
    assert!(rows.iter().all(|row| row.3 == "OK"), "{rows:?}");
    drop(c);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn damage_of_the_servers_own_pages_that_redo_needs_refuses_the_start_and_says_which() {
    let mut server = Server::start(PROGRAM, &["--new-format", "2"]);
    server
        .connect()
        .query_drop("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, n INT); INSERT INTO d.t VALUES (1, 1)")
        .expect("made");
    assert_eq!(server.stop(), Some(0));
    server.restart();
    server.connect().query_drop("CREATE TABLE d.u (id INT PRIMARY KEY); UPDATE d.t SET n = 2").expect("acknowledged");
    server.kill();
    let dir = server.data_dir();
    flip(&dir.join("doublewrite"), 10);
    let dictionary = leaves(&dir, 1)[0];
    flip(&dir.join("data"), dictionary * PAGE_BYTES + 9_000);
    let before = std::fs::read(dir.join("data")).expect("reads");
    let said = refused(&dir);
    assert!(
        said.contains(&format!("page {dictionary} of the file data, of the table definitions")) && said.contains("altiplano restore"),
        "{said}"
    );
    assert!(std::fs::read(dir.join("data")).expect("reads") == before, "the data file was changed");
    flip(&dir.join("data"), dictionary * PAGE_BYTES + 9_000);
    // A directory of an older format has no word for pages that lack changes: it is told how it gets one.
    let leaf = leaves(&dir, 16)[0];
    flip(&dir.join("data"), leaf * PAGE_BYTES + 9_000);
    let said = refused(&dir);
    assert!(said.contains(&format!("page {leaf} of the file data, of index 16")) && said.contains("altiplano seal"), "{said}");
    assert!(Command::new(PROGRAM).arg("seal").arg(&dir).status().expect("runs").success());
    server.restart();
    let mut c = server.connect();
    assert_eq!(code(c.query_drop("SELECT n FROM d.t").expect_err("damaged")).0, 1712);
    assert_eq!(c.query_first::<i64, _>("SELECT COUNT(*) FROM d.u").expect("reads"), Some(0));
    // Without the table nothing is missing, and the next start has nothing to say.
    run_all(&mut c, &["DROP TABLE d.t", "CREATE TABLE d.t (id INT PRIMARY KEY, n INT)", "INSERT INTO d.t VALUES (1, 3)"]);
    drop(c);
    server.kill();
    let logged = server.log().len();
    server.restart();
    assert_eq!(server.connect().query_first::<i64, _>("SELECT n FROM d.t").expect("reads"), Some(3));
    assert!(!server.log()[logged..].contains("is damaged"), "{}", &server.log()[logged..]);
}

/// Damages a byte of the log that a start needs, if there is one, and tells where.
fn damage_needed_byte(dir: &Path) -> Option<(PathBuf, u64)> {
    let segment = std::fs::read_dir(dir.join("log")).expect("lists").map(|entry| entry.expect("an entry").path());
    let segment = segment.filter(|path| path.to_string_lossy().contains("segment-")).min().expect("a segment");
    let bytes = std::fs::read(&segment).expect("reads");
    let used = bytes.iter().rposition(|byte| *byte != 0).expect("records") as u64;
    // Half of what it holds, if the last checkpoint needs that; where one was taken late, what is nearer to the end.
    let mut place = used / 2;
    while used - place > 128 {
        flip(&segment, place);
        if !check(dir).0 {
            return Some((segment, place));
        }
        flip(&segment, place);
        place += (used - place) / 2;
    }
    None
}

#[test]
fn a_damaged_log_is_refused_with_its_place_and_nothing_is_changed() {
    let mut server = populated();
    server.connect().query_drop("CREATE TABLE d.more (a INT)").expect("creates");
    server.kill();
    let dir = server.data_dir();
    let damaged = (0..32).find_map(|_| {
        // Two starts: the second slot of the control file says how far the log was durable.
        server.restart();
        server.kill();
        let damaged = damage_needed_byte(&dir);
        if damaged.is_none() {
            // The checkpoint that follows a start came before the kill, so nothing of the log is needed: once more, with something in it.
            server.restart();
            server.connect().query_drop("INSERT INTO d.more SELECT 1 FROM d.t").expect("inserts");
            server.kill();
        }
        damaged
    });
    let (segment, place_in_segment) = damaged.expect("no byte of the log is ever needed");
    let before = std::fs::read(dir.join("data")).expect("reads");
    let said = refused(&dir);
    assert!(said.contains("log is corrupt at"), "{said}");
    let place = said.split("log is corrupt at ").nth(1).and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()).expect("a place");
    let (well, told) = check(&dir);
    assert!(!well && told.contains(place), "{told}");
    assert!(std::fs::read(dir.join("data")).expect("reads") == before, "the data file was changed");
    // Back to what it was, it starts and has everything.
    flip(&segment, place_in_segment);
    let (well, told) = check(&dir);
    assert!(well, "{told}");
    server.restart();
    assert_eq!(server.connect().query_first::<i64, _>("SELECT COUNT(*) FROM d.t").expect("reads"), Some(2_000));
}

#[test]
fn control_file_and_doublewrite_are_judged_by_their_checksums() {
    let mut server = populated();
    assert_eq!(server.stop(), Some(0));
    let dir = server.data_dir();
    // What the doublewrite area holds after a clean stop is needed by nobody.
    flip(&dir.join("doublewrite"), 20);
    flip(&dir.join("doublewrite"), 9_000);
    server.restart();
    assert_eq!(server.connect().query_first::<i64, _>("SELECT COUNT(*) FROM d.t").expect("reads"), Some(2_000));
    assert_eq!(server.stop(), Some(0));
    // Both slots of the control file: there is no log then, and somebody's data is not taken for an empty directory.
    let control = dir.join("log/control");
    flip(&control, 20);
    flip(&control, 4_096 + 20);
    let before = std::fs::read(dir.join("data")).expect("reads");
    let said = refused(&dir);
    assert!(said.contains("no log with a checkpoint; nothing was changed"), "{said}");
    assert!(std::fs::read(dir.join("data")).expect("reads") == before, "the data file was changed");
    flip(&control, 20);
    flip(&control, 4_096 + 20);
    // A checkpoint that does not fit its checksum.
    let checkpoints: Vec<_> =
        ["log/checkpoint-0", "log/checkpoint-1"].iter().map(|path| dir.join(path)).filter(|path| path.exists()).collect();
    checkpoints.iter().for_each(|path| flip(path, 2));
    let said = refused(&dir);
    assert!(said.contains("checkpoint"), "{said}");
    checkpoints.iter().for_each(|path| flip(path, 2));
    server.restart();
    assert_eq!(server.connect().query_first::<i64, _>("SELECT COUNT(*) FROM d.t").expect("reads"), Some(2_000));
}

/// A server with a prepared branch that has changed all rows of a table, stopped: what it needs of undo is in the undo file alone. With the places of records in it.
fn prepared_and_stopped() -> (Server, Vec<u64>) {
    let mut server = populated();
    let mut c = server.connect();
    c.query_drop("XA START 'b'; UPDATE d.t SET s = REPEAT('y', 150); XA END 'b'; XA PREPARE 'b'").expect("prepared");
    drop(c);
    assert_eq!(server.stop(), Some(0));
    let bytes = std::fs::read(server.data_dir().join("undo/segments")).expect("reads");
    // Old values lie in it as they were.
    let found: Vec<u64> =
        bytes.windows(40).enumerate().filter(|(_, window)| window.iter().all(|byte| *byte == b'x')).map(|(at, _)| at as u64).collect();
    assert!(found.len() > 10_000, "{} places", found.len());
    (server, found)
}

#[test]
fn damaged_undo_costs_who_needs_it_and_is_never_passed_over() {
    let (mut server, places) = prepared_and_stopped();
    let undo = server.data_dir().join("undo/segments");
    let at = places[places.len() / 2];
    let (well, told) = check(&server.data_dir());
    assert!(well, "{told}");
    flip(&undo, at);
    let (well, told) = check(&server.data_dir());
    assert!(!well && told.contains("error: undo/segments: undo record "), "{told}");
    let damaged = std::fs::read(&undo).expect("reads");
    server.restart();
    let mut c = server.connect();
    c.query_drop("SET innodb_lock_wait_timeout = 1").expect("sets");
    // One old version cannot be read: the statement that needs it says so. No row is shown as the branch has left it.
    let (mut good, mut failed) = (0, Vec::new());
    for id in 0..2_000 {
        match c.query_first::<String, _>(format!("SELECT s FROM d.t WHERE id = {id}")) {
            Ok(text) => {
                assert_eq!(text, Some("x".repeat(100)), "row {id}");
                good += 1;
            }
            Err(error) => failed.push((id, code(error))),
        }
    }
    println!("{good} rows read, {failed:?}");
    assert!(!failed.is_empty() && failed.len() < 2_000, "{failed:?}");
    assert_eq!(c.query_first::<i64, _>("SELECT SUM(n) FROM d.other").expect("another table"), Some(3));
    c.query_drop("INSERT INTO d.other VALUES (3, 3); INSERT INTO d.t VALUES (5000, 'new', 1)").expect("others write");
    // The branch cannot be rolled back, and says so; its rows stay locked.
    let error = c.query_drop("XA ROLLBACK 'b'").expect_err("undo is damaged");
    println!("XA ROLLBACK: {error}");
    let row = failed[0].0;
    assert_eq!(code(c.query_drop(format!("UPDATE d.t SET n = 5 WHERE id = {row}")).expect_err("locked")).0, 1205);
    drop(c);
    server.kill();
    // Mended, the rollback is done.
    let now = std::fs::read(&undo).expect("reads");
    assert!(now[at as usize] == damaged[at as usize], "the damaged place was written over");
    flip(&undo, at);
    server.restart();
    let mut c = server.connect();
    harness::until("all is rolled back", || {
        c.query_first::<i64, _>("SELECT COUNT(*) FROM d.t WHERE s = REPEAT('x', 100) FOR UPDATE").is_ok_and(|rows| rows == Some(2_000))
    });
    let rows: Vec<(String, String, String, String)> = c.query("CHECK TABLE d.t").expect("checks");
    assert_eq!(rows[0].3, "OK");
    drop(c);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_prepared_branch_with_damaged_undo_can_be_committed() {
    let (mut server, places) = prepared_and_stopped();
    flip(&server.data_dir().join("undo/segments"), places[places.len() / 2]);
    server.restart();
    let mut c = server.connect();
    // Its tables are known without its undo: DDL of others does not wait for it, DDL of its own does.
    c.query_drop("SET lock_wait_timeout = 1; ALTER TABLE d.other ADD COLUMN m INT").expect("another table");
    assert_eq!(code(c.query_drop("ALTER TABLE d.t ADD COLUMN m INT").expect_err("the branch waits")).0, 1205);
    c.query_drop("XA COMMIT 'b'").expect("needs no undo");
    assert_eq!(c.query_first::<i64, _>("SELECT COUNT(*) FROM d.t WHERE s = REPEAT('y', 150)").expect("reads"), Some(2_000));
    c.query_drop("UPDATE d.t SET n = n + 1").expect("nothing is locked");
    drop(c);
    assert_eq!(server.stop(), Some(0));
    server.restart();
    assert_eq!(server.connect().query_first::<i64, _>("SELECT COUNT(*) FROM d.t WHERE s = REPEAT('y', 150)").expect("reads"), Some(2_000));
}
