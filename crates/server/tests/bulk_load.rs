//! LOAD DATA and kill -9: of a statement that was cut off nothing is left, of one that was acknowledged everything is, and the directory is sound.

use harness::Server;
use mysql::prelude::Queryable;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_altiplano");
/// Several batches, and several runs of each index.
const ROWS: u64 = 120_000;

fn write_file(path: &Path, first: u64) {
    let mut text = String::new();
    for no in 0..ROWS {
        // Keys in no order.
        let id = first + no * 7_919 % ROWS;
        writeln!(text, "{id}\t{}\tname {:06} and some more text, so that it takes room\t{}", id * 31 % 1009, id * 17 % ROWS, id % 7)
            .expect("text");
    }
    std::fs::write(path, text).expect("a file");
}

/// Rows, as the table and each of its indexes tell.
fn counts(c: &mut mysql::Conn) -> [u64; 3] {
    [
        "SELECT COUNT(*), SUM(id) FROM d.t FORCE INDEX (PRIMARY)",
        "SELECT COUNT(*) FROM d.t FORCE INDEX (a) WHERE a >= 0",
        "SELECT COUNT(*) FROM d.t FORCE INDEX (s) WHERE s > ''",
    ]
    .map(|query| c.query_first::<mysql::Row, _>(query).expect("a count").and_then(|row| row.get(0)).expect("a number"))
}

fn log_bytes(c: &mut mysql::Conn) -> u64 {
    let row: Option<(String, u64)> = c.query_first("SHOW GLOBAL STATUS LIKE 'Innodb_os_log_written'").expect("a status");
    row.expect("a row").1
}

#[test]
fn a_load_that_kill_9_cuts_off_leaves_nothing_and_one_that_was_acknowledged_everything() {
    let mut server = Server::start(PROGRAM, &["--set", "secure_file_priv="]);
    let dir = tempfile::tempdir().expect("a directory");
    let mut c = server.connect();
    c.query_drop("CREATE DATABASE d").expect("a database");
    c.query_drop(
        "CREATE TABLE d.t (id BIGINT PRIMARY KEY, a INT NOT NULL, s VARCHAR(80) NOT NULL, u INT, KEY a (a), KEY s (s(20), a DESC))",
    )
    .expect("a table");
    let mut expected = 0;
    for round in 0..5u64 {
        let file = dir.path().join(format!("{round}.tsv"));
        write_file(&file, round * 1_000_000);
        let load = format!("LOAD DATA INFILE '{}' INTO TABLE d.t", file.display());
        let mut loader = server.connect();
        let before = log_bytes(&mut c);
        let thread = std::thread::spawn(move || match loader.query_drop(load) {
            Ok(()) => true,
            Err(mysql::Error::MySqlError(error)) => panic!("{error}"),
            // The server has gone.
            Err(_) => false,
        });
        // It dies when it has written so much of the log; the last one when it has ended.
        let cut = [200_000, 3_000_000, 6_000_000, 9_000_000, u64::MAX][round as usize];
        while !thread.is_finished() && log_bytes(&mut c) - before < cut {}
        server.kill();
        let done = thread.join().expect("a thread");
        server.restart();
        c = server.connect();
        let found = counts(&mut c);
        println!("round {round}: acknowledged: {done}, rows: {found:?}");
        if done {
            expected += ROWS;
        } else {
            // It may have been committed without anybody having been told.
            assert!(found[0] == expected || found[0] == expected + ROWS, "{found:?}, {expected} before");
            expected = found[0];
        }
        assert_eq!(found, [expected; 3]);
        assert!(done || round < 4, "the last one ends");
    }
    // Nothing that was cut off is left anywhere.
    server.stop();
    let output = Command::new(PROGRAM).args(["check", &server.data_dir().to_string_lossy()]).output().expect("runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
}
