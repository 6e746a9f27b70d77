//! A sync that fails under the real program: it says so and stops, and what was acknowledged is there at the next start.
//!
//! Syncs fail by a filter of system calls (scripts/fail_sync.c), which needs a C compiler and the right to filter; without them the test says so and
//! does nothing.

use harness::Server;
use mysql::prelude::Queryable;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_altiplano");

/// A program that is the server with the filter: it fails syncs of files with `which` in their path while `trigger` exists.
fn filtered(dir: &Path, which: &str) -> Option<(PathBuf, PathBuf)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/fail_sync.c");
    let library = dir.join("fail_sync.so");
    let compiled = Command::new("cc").args(["-O1", "-shared", "-fPIC", "-pthread"]).arg(&source).arg("-o").arg(&library).output();
    if !compiled.as_ref().is_ok_and(|output| output.status.success()) {
        println!("left out: no C compiler here: {compiled:?}");
        return None;
    }
    let trigger = dir.join("trigger");
    let script = dir.join("altiplano");
    let text = format!(
        "#!/bin/sh\nFAIL_SYNC_WHEN={} FAIL_SYNC_FILE={which} LD_PRELOAD={} exec {PROGRAM} \"$@\"\n",
        trigger.display(),
        library.display()
    );
    std::fs::write(&script, text).expect("written");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("made executable");
    Some((script, trigger))
}

/// Fails syncs of `which` under a load of commits; the server is to stop with `message`, and to lose nothing.
fn check(which: &str, message: &str) {
    let dir = tempfile::tempdir().expect("a directory");
    let Some((program, trigger)) = filtered(dir.path(), which) else { return };
    let mut server = Server::start(&program, &[]);
    if server.log().contains("no filter") {
        println!("left out: no right to filter system calls");
        return;
    }
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
fn a_failed_sync_of_the_control_file_stops_the_server() {
    check("log/control", "the log");
}
