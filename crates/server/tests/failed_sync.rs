//! A sync that fails under the real program: it says so and stops, and what was acknowledged is there at the next start.
//!
//! Syncs fail by a filter of system calls (scripts/sync_filter.c), which needs a C compiler and the right to filter; without them the test says so and
//! does nothing.

use harness::Server;
use mysql::prelude::Queryable;
use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_altiplano");

/// Fails syncs of `which` under a load of commits; the server is to stop with `message`, and to lose nothing.
fn check(which: &str, message: &str) {
    let dir = tempfile::tempdir().expect("a directory");
    let trigger = dir.path().join("trigger");
    let settings = [("SYNC_FAIL_WHEN", trigger.to_str().expect("a path in UTF-8")), ("SYNC_FAIL_FILE", which)];
    let Some(program) = harness::with_sync_filter(PROGRAM, dir.path(), &settings) else { return };
    let mut server = Server::start(&program, &[]);
    let mut c = server.connect();
    c.query_drop("CREATE DATABASE d").expect("made");
    c.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY, s VARCHAR(2000))").expect("made");
    let mut acknowledged = 0;
    while acknowledged < 200 {
        c.exec_drop("INSERT INTO d.t VALUES (?, REPEAT('x', 2000))", (acknowledged,)).expect("a row");
        acknowledged += 1;
    }
    std::fs::write(&trigger, "").expect("written");
    // Commits go on for a while when it is not the log whose syncs fail; the cleaner and the checkpoint write within seconds.
    while c.exec_drop("INSERT INTO d.t VALUES (?, REPEAT('y', 2000))", (acknowledged,)).is_ok() {
        acknowledged += 1;
        assert!(acknowledged < 200_000, "the server goes on after a failed sync");
    }
    harness::until("the server stops and says why", || server.log().contains("nothing unsafe is acknowledged"));
    let log = server.log();
    assert!(log.contains("[ERROR]") && log.contains(message), "{log}");
    // Nobody can connect any more.
    harness::until("nobody is served", || mysql::Conn::new(server.options(None)).is_err());
    std::fs::remove_file(&trigger).expect("removed");
    server.restart();
    let mut c = server.connect();
    let found: Option<(i64, i64)> = c.query_first("SELECT COUNT(*), MAX(id) FROM d.t").expect("reads");
    let (count, last) = found.expect("a row");
    // The commit that was not acknowledged may be there or not.
    assert!(count == last + 1 && (count == acknowledged || count == acknowledged + 1), "{count} rows, {acknowledged} acknowledged");
    let checked: Vec<(String, String, String, String)> = c.query("CHECK TABLE d.t").expect("checks");
    assert_eq!(checked[0].3, "OK");
    drop(c);
    assert_eq!(server.stop(), Some(0));
    let output = Command::new(PROGRAM).arg("check").arg(server.data_dir()).output().expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_failed_sync_of_the_log_stops_the_server() {
    check("log/segment", "the log");
}

#[test]
fn a_failed_sync_of_the_data_file_stops_the_server() {
    check("data/data", "the data file");
}

#[test]
fn a_failed_sync_of_the_doublewrite_area_stops_the_server() {
    check("data/doublewrite", "the data file");
}

#[test]
fn a_failed_sync_of_the_undo_file_stops_the_server() {
    check("undo/segments", "the undo file");
}

#[test]
fn a_failed_sync_of_the_control_file_stops_the_server() {
    check("log/control", "the log");
}
