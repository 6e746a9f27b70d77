//! CREATE TABLE … SELECT is one transaction: a crash at any moment, a failure, a KILL leave the table with all its rows, or none; nobody sees it before.

use harness::{Server, code};
use mysql::prelude::Queryable;
use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_altiplano");
const ROWS: i64 = 3_000;

fn populated() -> Server {
    let server = Server::start(PROGRAM, &[]);
    let mut c = server.connect();
    c.query_drop("CREATE DATABASE d; CREATE TABLE d.source (id INT PRIMARY KEY, s VARCHAR(300) NOT NULL, n INT NOT NULL)").expect("made");
    for start in (0..ROWS).step_by(500) {
        let rows: Vec<String> = (start..start + 500).map(|id| format!("({id}, REPEAT('{}', 200), {})", id % 10, id % 7)).collect();
        c.query_drop(format!("INSERT INTO d.source VALUES {}", rows.join(","))).expect("rows");
    }
    server
}

/// Holds the last row of the source, begins a CREATE TABLE … SELECT that stops there with nearly all its rows in, and gives what `during` does with the server.
fn while_it_runs(server: &mut Server, during: impl FnOnce(&mut Server, u32)) -> Result<(), u16> {
    let mut holder = server.connect();
    holder.query_drop(format!("BEGIN; UPDATE d.source SET n = 1 WHERE id = {}", ROWS - 1)).expect("held");
    let options = server.options(Some("d"));
    let (sender, id) = std::sync::mpsc::channel();
    let creator = std::thread::spawn(move || {
        let mut c = mysql::Conn::new(options).expect("a connection");
        sender.send(c.connection_id()).expect("heard");
        c.query_drop("CREATE TABLE made (PRIMARY KEY (id), KEY (n)) SELECT * FROM source")
    });
    let id = id.recv().expect("its id");
    let mut c = server.connect();
    harness::until("the rows are in but the last", || {
        let waits: Option<u64> = c.query_first("SELECT COUNT(*) FROM performance_schema.data_lock_waits").expect("reads");
        waits == Some(1)
    });
    drop(c);
    during(server, id);
    drop(holder);
    match creator.join().expect("no panic") {
        Ok(()) => Ok(()),
        Err(mysql::Error::MySqlError(error)) => Err(error.code),
        Err(_) => Err(0),
    }
}

/// The table has all its rows, in both indexes.
fn check_made(server: &Server) {
    let mut c = server.connect();
    let counts: Option<(i64, i64)> = c
        .query_first("SELECT COUNT(*), (SELECT COUNT(*) FROM d.made FORCE INDEX (n) WHERE n >= 0) FROM d.made FORCE INDEX (PRIMARY)")
        .expect("reads");
    assert_eq!(counts, Some((ROWS, ROWS)));
}

/// There is no trace of the table: its name is free, and its pages are, too.
fn check_not_made(server: &mut Server) {
    let mut c = server.connect();
    assert_eq!(code(&c.query_drop("SELECT * FROM d.made").expect_err("not there")), 1146);
    let tables: Vec<String> = c.query("SHOW TABLES FROM d").expect("lists");
    assert_eq!(tables, ["source"]);
    drop(c);
    assert_eq!(server.stop(), Some(0));
    let output = Command::new(PROGRAM).arg("check").arg(server.data_dir()).output().expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let leaves = harness::data_file::pages(&server.data_dir(), |kind, index| kind == harness::data_file::LEAF && index > 16).len();
    server.restart();
    assert!(leaves < 10 || server.log().contains("freed"), "{leaves} leaves of the table that was not made");
}

#[test]
fn a_crash_before_the_end_leaves_no_table() {
    let mut server = populated();
    let outcome = while_it_runs(&mut server, |server, _| {
        let mut other = server.connect();
        // Nobody sees it.
        assert_eq!(code(&other.query_drop("SELECT * FROM d.made").expect_err("not there yet")), 1146);
        assert_eq!(other.query::<String, _>("SHOW TABLES FROM d").expect("lists"), ["source"]);
        // Makes the log durable with all that the statement has done.
        other.query_drop("CREATE TABLE d.beside (id INT); DROP TABLE d.beside").expect("another definition");
        server.kill();
    });
    assert_eq!(outcome, Err(0), "the connection ended");
    server.restart();
    check_not_made(&mut server);
    server.connect().query_drop("CREATE TABLE d.made (PRIMARY KEY (id), KEY (n)) SELECT * FROM d.source").expect("made now");
    check_made(&server);
    server.kill();
    server.restart();
    check_made(&server);
}

#[test]
fn a_failure_or_a_kill_leaves_no_table() {
    let mut server = populated();
    let killed = while_it_runs(&mut server, |server, id| {
        server.connect().query_drop(format!("KILL QUERY {id}")).expect("killed");
    });
    assert_eq!(killed, Err(1317));
    check_not_made(&mut server);
    let mut c = server.connect();
    // A duplicate after some rows; a query that cannot be run; a session that had a transaction.
    assert_eq!(code(&c.query_drop("CREATE TABLE d.made (PRIMARY KEY (n)) SELECT * FROM d.source").expect_err("duplicate")), 1062);
    assert_eq!(code(&c.query_drop("CREATE TABLE d.made SELECT * FROM d.missing").expect_err("no such table")), 1146);
    drop(c);
    check_not_made(&mut server);
    let outcome = while_it_runs(&mut server, |_, _| {});
    assert_eq!(outcome, Ok(()));
    check_made(&server);
    assert_eq!(code(&server.connect().query_drop("CREATE TABLE d.made SELECT 1").expect_err("there")), 1050);
    // Somebody else was first, and has the name.
    server.connect().query_drop("DROP TABLE d.made").expect("dropped");
    let outcome = while_it_runs(&mut server, |server, _| {
        server.connect().query_drop("CREATE TABLE d.made (other INT)").expect("does not wait");
    });
    assert_eq!(outcome, Err(1050));
    assert_eq!(server.connect().query_first::<i64, _>("SELECT COUNT(other) FROM d.made").expect("theirs"), Some(0));
}

/// What it takes is asked of the name that the table gets, not of the place where it is filled: CREATE and INSERT, and of a temporary one neither.
#[test]
fn who_may_create_and_insert_may_create_from_a_query() {
    let server = populated();
    let mut root = server.connect();
    let sql = "CREATE USER maker, creator, temporary; GRANT CREATE, INSERT, SELECT ON d.* TO maker; GRANT CREATE, SELECT ON d.* TO creator; GRANT CREATE TEMPORARY TABLES, SELECT ON d.* TO temporary";
    root.query_drop(sql).expect("accounts");
    let connect = |user| mysql::Conn::new(mysql::OptsBuilder::from_opts(server.options(Some("d"))).user(Some(user))).expect("a connection");
    let mut maker = connect("maker");
    maker.query_drop("CREATE TABLE made (PRIMARY KEY (id)) SELECT id, n FROM source").expect("may");
    assert_eq!(maker.query_first::<i64, _>("SELECT COUNT(*) FROM made").expect("reads"), Some(ROWS));
    maker.query_drop("CREATE TABLE IF NOT EXISTS other REPLACE SELECT n FROM source").expect("may");
    let refused = connect("creator").query_drop("CREATE TABLE third SELECT 1 AS x").expect_err("INSERT is missing");
    assert_eq!(code(&refused), 1142);
    let mut temporary = connect("temporary");
    temporary.query_drop("CREATE TEMPORARY TABLE own SELECT id FROM source").expect("may");
    assert_eq!(temporary.query_first::<i64, _>("SELECT COUNT(*) FROM own").expect("reads"), Some(ROWS));
}
