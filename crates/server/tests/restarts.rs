//! Starts of the real program after `kill -9` in the middle of large transactions: it serves while they are rolled back, and goes on where it was.

use harness::{Server, run_all};
use mysql::Conn;
use mysql::prelude::Queryable;

/// The unfinished transaction changes two to this power rows.
const DOUBLINGS: u32 = 17;
/// Times that the server is killed in the middle of the rollback.
const KILLS: u64 = 3;

fn number(c: &mut Conn, sql: &str) -> u64 {
    c.query_first(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).expect("a row")
}

/// Rows whose change has not been taken back: only READ UNCOMMITTED sees it.
fn left(c: &mut Conn) -> u64 {
    number(c, "SELECT COUNT(*) FROM d.large FORCE INDEX (PRIMARY) WHERE k > 0")
}

#[test]
fn a_start_serves_while_a_large_transaction_is_rolled_back() {
    let mut server = Server::start(env!("CARGO_BIN_EXE_altiplano"), &[]);
    let mut c = server.connect();
    run_all(
        &mut c,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.large (id INT PRIMARY KEY, k INT NOT NULL, KEY (k))",
            "CREATE TABLE d.starts (no INT PRIMARY KEY)",
            "INSERT INTO d.large VALUES (0, 0)",
        ],
    );
    for n in 0..DOUBLINGS {
        c.query_drop(format!("INSERT INTO d.large SELECT id + {}, -id - 1 FROM d.large", 1 << n)).expect("twice as many");
    }
    c.query_drop("BEGIN").expect("begun");
    c.query_drop("UPDATE d.large SET k = k + 1000000").expect("changed");
    // What is durable with this row is all of the log before it.
    server.connect().query_drop("INSERT INTO d.starts VALUES (0)").expect("committed");
    server.kill();

    let (mut most, mut beside) = (1 << DOUBLINGS, 0);
    for no in 1..=KILLS {
        let took = server.restart();
        let mut c = server.connect();
        c.query_drop(format!("INSERT INTO d.starts VALUES ({no})")).expect("others write");
        assert_eq!(left(&mut c), 0, "a consistent read shows what was not committed");
        c.query_drop("SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED").expect("set");
        let found = left(&mut c);
        println!("start {no}: accepting after {took:?}, {found} rows left");
        assert!(found <= most, "{found} rows where {most} were left");
        beside += u64::from(found > 0);
        // A part goes, which a durable commit behind it keeps from coming back.
        harness::until("changes are taken back", || {
            most = left(&mut c);
            most <= found / 2
        });
        c.query_drop(format!("INSERT INTO d.starts VALUES ({})", no + 100)).expect("committed");
        server.kill();
    }
    assert!(beside > 0, "each rollback was over before anybody was served: too few rows");

    server.restart();
    let mut c = server.connect();
    c.query_drop("SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED").expect("set");
    harness::until("all is taken back", || left(&mut c) == 0);
    c.query_drop("UPDATE d.large SET k = 7 WHERE id < 2").expect("nothing is locked");
    assert_eq!(number(&mut c, "SELECT COUNT(*) FROM d.large FORCE INDEX (k) WHERE k < 0"), (1 << DOUBLINGS) - 2);
    assert_eq!(number(&mut c, "SELECT COUNT(*) FROM d.large FORCE INDEX (k) WHERE k > 0"), 2);
    assert_eq!(number(&mut c, "SELECT COUNT(*) FROM d.starts"), 1 + 2 * KILLS);
    let checked: Vec<(String, String, String, String)> = c.query("CHECK TABLE d.large, d.starts").expect("checks");
    assert!(checked.iter().all(|row| row.3 == "OK"), "{checked:?}");
    drop(c);
    // Each start says what it has redone, and what is left to be rolled back.
    let log = server.log();
    let told: Vec<&str> = log.lines().filter(|line| line.contains(" MiB of log redone in ")).collect();
    assert!(told.len() as u64 >= KILLS && told[0].contains("; 1 transactions to roll back"), "{told:?}");
    assert_eq!(server.stop(), Some(0));
}
