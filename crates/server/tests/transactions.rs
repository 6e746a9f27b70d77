//! What only a server's start-up options, its log or a connection that ends show of transactions: `innodb_rollback_on_timeout`, `innodb_print_all_deadlocks`,
//! `sys.innodb_lock_waits`, RELEASE.

use harness::Server;
use mysql::prelude::Queryable;
use mysql::{Conn, Value};
use std::time::{Duration, Instant};

fn server(arguments: &[&str]) -> Server {
    let server = Server::start(env!("CARGO_BIN_EXE_altiplano"), arguments);
    let mut connection = server.connect();
    connection.query_drop("CREATE DATABASE d").expect("a database");
    connection.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY, v INT)").expect("a table");
    connection.query_drop("INSERT INTO d.t VALUES (1, 1), (2, 2), (3, 3)").expect("rows");
    server
}

fn connect(server: &Server) -> Conn {
    Conn::new(server.options(Some("d"))).expect("a connection")
}

fn error_of(result: mysql::Result<()>) -> u16 {
    match result {
        Err(mysql::Error::MySqlError(error)) => error.code,
        other => panic!("expected an error of the server, got {other:?}"),
    }
}

/// What is left of a transaction whose second statement timed out, and whether it is still open.
fn after_timeout(arguments: &[&str]) -> (Vec<(i32, i32)>, bool) {
    let server = server(arguments);
    let (mut holder, mut other) = (connect(&server), connect(&server));
    holder.query_drop("BEGIN").expect("a transaction");
    holder.query_drop("UPDATE t SET v = 10 WHERE id = 1").expect("a row");
    other.query_drop("SET innodb_lock_wait_timeout = 1").expect("a setting");
    other.query_drop("BEGIN").expect("a transaction");
    other.query_drop("UPDATE t SET v = 20 WHERE id = 2").expect("a row");
    assert_eq!(error_of(other.query_drop("UPDATE t SET v = v + 1 ORDER BY id DESC")), 1205);
    let open: u64 = other
        .query_first(
            "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = CONNECTION_ID() AND trx_rows_modified > 0",
        )
        .expect("an answer")
        .expect("a count");
    other.query_drop("COMMIT").expect("the end");
    holder.query_drop("ROLLBACK").expect("the end");
    (holder.query("SELECT id, v FROM t ORDER BY id").expect("rows"), open == 1)
}

#[test]
fn a_lock_wait_timeout_takes_the_statement_back_and_with_the_option_the_transaction() {
    assert_eq!(after_timeout(&[]), (vec![(1, 1), (2, 20), (3, 3)], true));
    let option = ["--set", "innodb_rollback_on_timeout=ON"];
    assert_eq!(after_timeout(&option), (vec![(1, 1), (2, 2), (3, 3)], false));
}

/// Makes a deadlock; who is its victim is told 1213.
fn deadlock(server: &Server) {
    let (mut a, mut b) = (connect(server), connect(server));
    for (connection, id) in [(&mut a, 1), (&mut b, 2)] {
        connection.query_drop("BEGIN").expect("a transaction");
        connection.query_drop(format!("SELECT * FROM t WHERE id = {id} FOR UPDATE")).expect("a row");
    }
    std::thread::scope(|scope| {
        let first = scope.spawn(|| a.query_drop("UPDATE t SET v = 0 WHERE id = 2"));
        let second = b.query_drop("UPDATE t SET v = 0 WHERE id = 1");
        if second.is_err() {
            b.query_drop("ROLLBACK").expect("the end");
        }
        let results = [first.join().expect("no panic"), second];
        assert_eq!(results.into_iter().filter(|result| result.is_err()).map(error_of).collect::<Vec<_>>(), [1213]);
    });
}

#[test]
fn a_deadlock_of_point_reads_is_an_error_before_the_head_of_the_result() {
    let server = server(&[]);
    let (mut a, mut b) = (connect(&server), connect(&server));
    for connection in [&mut a, &mut b] {
        connection.query_drop("BEGIN").expect("a transaction");
    }
    a.query_drop("UPDATE t SET v = 0 WHERE id = 1").expect("a row");
    assert_eq!(error_of(b.query_drop("SELECT * FROM t WHERE id = 1 FOR SHARE NOWAIT")), 3572);
    assert_eq!(error_of(b.exec_drop("SELECT * FROM t WHERE id = ? FOR UPDATE NOWAIT", (1,))), 3572);
    // The connection is in step: the next statement gets its own answer.
    assert_eq!(b.query_first::<i32, _>("SELECT v FROM t WHERE id = 2").expect("an answer"), Some(2));
}

#[test]
fn lock_waits_are_told_by_sys_and_deadlocks_counted() {
    let server = server(&["--set", "innodb_print_all_deadlocks=ON"]);
    let (mut watcher, mut holder, mut waiter) = (connect(&server), connect(&server), connect(&server));
    holder.query_drop("BEGIN").expect("a transaction");
    holder.query_drop("UPDATE t SET v = 1 WHERE id = 2").expect("a row");
    let (waiting_id, blocking_id) = (waiter.connection_id(), holder.connection_id());
    std::thread::scope(|scope| {
        let blocked = scope.spawn(|| waiter.query_drop("UPDATE t SET v = 2 WHERE id = 2"));
        let sql = "SELECT waiting_pid, blocking_pid, locked_table, locked_index, waiting_lock_mode, waiting_query,
            sql_kill_blocking_connection, wait_age_secs >= 0 FROM sys.innodb_lock_waits";
        let deadline = Instant::now() + Duration::from_secs(30);
        let row: (u32, u32, String, String, String, String, String, Value) = loop {
            if let Some(row) = watcher.query_first(sql).expect("an answer") {
                break row;
            }
            assert!(Instant::now() < deadline, "no lock wait after 30 s");
            std::thread::yield_now();
        };
        assert_eq!((row.0, row.1), (waiting_id, blocking_id));
        assert_eq!((row.2.as_str(), row.3.as_str(), row.4.as_str()), ("`d`.`t`", "PRIMARY", "X,REC_NOT_GAP"));
        assert_eq!(row.5, "UPDATE t SET v = 2 WHERE id = 2");
        assert_eq!(row.6, format!("KILL {blocking_id}"));
        holder.query_drop("ROLLBACK").expect("the end");
        blocked.join().expect("no panic").expect("the change");
    });
    deadlock(&server);
}

/// COMMIT and ROLLBACK that say RELEASE, or do it by `completion_type`, answer and then end the connection; what they say of the transaction is done, locks are free.
/// Those that say NO RELEASE, or that fail, do not.
#[test]
fn release_ends_the_connection_after_the_transaction() {
    let server = server(&[]);
    let mut other = connect(&server);
    other.query_drop("SET innodb_lock_wait_timeout = 30").expect("a setting");
    let mut expected = 3;
    for (setup, end, commits) in [
        ("DO 0", "COMMIT RELEASE", true),
        ("DO 0", "COMMIT WORK AND NO CHAIN RELEASE", true),
        ("DO 0", "ROLLBACK RELEASE", false),
        ("SET completion_type = 'RELEASE'", "COMMIT", true),
        ("SET completion_type = 2", "ROLLBACK", false),
        ("SET completion_type = 2", "COMMIT WORK RELEASE", true),
        ("SET completion_type = 2", "COMMIT AND CHAIN", true),
        ("SET completion_type = 2", "ROLLBACK AND CHAIN", false),
    ] {
        let mut connection = connect(&server);
        let id: u64 = connection.query_first("SELECT CONNECTION_ID()").expect("an id").expect("one");
        connection.query_drop(setup).expect(setup);
        connection.query_drop("BEGIN").expect("a transaction");
        connection.query_drop("UPDATE t SET v = v + 1 WHERE id = 3").expect("a row");
        connection.query_drop(end).expect(end);
        let after = connection.query_drop("DO 1");
        assert!(matches!(after, Err(mysql::Error::IoError(_) | mysql::Error::DriverError(_))), "{setup}; {end}: {after:?}");
        expected += i32::from(commits);
        other.query_drop("UPDATE t SET v = v WHERE id = 3").expect("the lock is free");
        assert_eq!(other.query_first::<i32, _>("SELECT v FROM t WHERE id = 3").expect("a row"), Some(expected), "{setup}; {end}");
        harness::until("it is gone from the list", || {
            let there: Option<u64> =
                other.query_first(format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id}")).expect("a list");
            there == Some(0)
        });
    }
    for (setup, end) in [
        ("DO 0", "COMMIT NO RELEASE"),
        ("SET completion_type = 2", "COMMIT NO RELEASE"),
        ("SET completion_type = 2", "CREATE TABLE made (id INT)"),
    ] {
        let mut connection = connect(&server);
        connection.query_drop(setup).expect(setup);
        connection.query_drop("BEGIN").expect("a transaction");
        connection.query_drop(end).expect(end);
        connection.query_drop("DO 1").unwrap_or_else(|error| panic!("{setup}; {end}: {error}"));
        connection.query_drop("DROP TABLE IF EXISTS made").expect("none");
    }
    let mut connection = connect(&server);
    assert_eq!(error_of(connection.query_drop("COMMIT AND CHAIN RELEASE")), 1064);
    connection.query_drop("DO 1").expect("still there");
}
