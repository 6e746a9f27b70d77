//! Damaged files under the real program: bits flipped in data pages, log, control file, doublewrite and undo of a stopped server, which is
//! then started. What needs a damaged page fails with MySQL's number, is named in the log once, and everything else is served; nothing is written over.

use harness::Server;
use harness::data_file::{LEAF, PAGE_BYTES, flip, pages};
use mysql::prelude::Queryable;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
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
    for statement in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY, s VARCHAR(200) NOT NULL, n INT NOT NULL, KEY k (n))",
        "CREATE TABLE d.other (id INT PRIMARY KEY, n INT)",
        "INSERT INTO d.other VALUES (1, 1), (2, 2)",
    ] {
        c.query_drop(statement).expect(statement);
    }
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

/// Starts the program on a directory, which is to fail; what it says.
fn refused(dir: &Path) -> String {
    let output = Command::new(PROGRAM)
        .args(["serve", "--port", "0", "--buffer-pool-size", "64M", "--data-dir"])
        .arg(dir)
        .stdin(Stdio::null())
        .output()
        .expect("runs");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stderr).into_owned()
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
fn a_damaged_log_is_refused_with_its_place_and_nothing_is_changed() {
    let mut server = populated();
    server.kill();
    let dir = server.data_dir();
    // Two starts: the second slot of the control file says how far the log was durable.
    server.restart();
    server.kill();
    let segment = std::fs::read_dir(dir.join("log")).expect("lists").map(|entry| entry.expect("an entry").path());
    let segment = segment.filter(|path| path.to_string_lossy().contains("segment-")).min().expect("a segment");
    let bytes = std::fs::read(&segment).expect("reads");
    let used = bytes.iter().rposition(|byte| *byte != 0).expect("records");
    flip(&segment, used as u64 / 2);
    let before = std::fs::read(dir.join("data")).expect("reads");
    let said = refused(&dir);
    assert!(said.contains("log is corrupt at"), "{said}");
    assert!(std::fs::read(dir.join("data")).expect("reads") == before, "the data file was changed");
    // Back to what it was, it starts and has everything.
    flip(&segment, used as u64 / 2);
    server.restart();
    assert_eq!(server.connect().query_first::<i64, _>("SELECT COUNT(*) FROM d.t").expect("reads"), Some(2_000));
}

#[test]
fn control_file_doublewrite_and_undo_are_judged_by_their_checksums() {
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
    // Undo of a transaction that a crash left: what cannot be read cannot be rolled back, and its rows are not served as if it could.
    let mut c = server.connect();
    c.query_drop("BEGIN; UPDATE d.t SET s = REPEAT('y', 150)").expect("runs");
    let undo = dir.join("undo/segments");
    harness::until("a checkpoint writes the undo", || std::fs::metadata(&undo).is_ok_and(|file| file.len() > 100_000));
    server.kill();
}
