//! `INNODB_METRICS` counts what happens, and says what `SHOW GLOBAL STATUS` says.

use harness::Server;
use mysql::Conn;
use mysql::prelude::Queryable;
use std::collections::BTreeMap;

fn metrics(connection: &mut Conn) -> BTreeMap<String, (i64, String)> {
    let rows: Vec<(String, i64, String)> =
        connection.query("SELECT NAME, COUNT, COMMENT FROM information_schema.INNODB_METRICS").expect("rows");
    rows.into_iter().map(|(name, count, comment)| (name, (count, comment))).collect()
}

fn status(connection: &mut Conn) -> BTreeMap<String, String> {
    connection
        .query::<(String, String), _>("SHOW GLOBAL STATUS")
        .expect("rows")
        .into_iter()
        .map(|(name, value)| (name.to_lowercase(), value))
        .collect()
}

fn code(result: mysql::Result<()>) -> u16 {
    match result {
        Err(mysql::Error::MySqlError(error)) => error.code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn metrics_count_what_happens_and_agree_with_the_status() {
    let server = Server::start(env!("CARGO_BIN_EXE_altiplano"), &[]);
    let mut connection = server.connect();
    for sql in
        ["CREATE DATABASE d", "USE d", "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(200))", "INSERT INTO t VALUES (1, 'a'), (2, 'b')"]
    {
        connection.query_drop(sql).expect("done");
    }
    let mut other = Conn::new(server.options(Some("d"))).expect("a connection");
    other.query_drop("SET SESSION innodb_lock_wait_timeout = 1").expect("set");
    let count = |connection: &mut Conn, name: &str| metrics(connection).get(name).unwrap_or_else(|| panic!("{name}")).0;
    let names = ["lock_timeouts", "lock_row_lock_waits", "lock_deadlocks", "buffer_pool_read_requests"];
    let before = names.map(|name| count(&mut connection, name));
    // One wait that ends by its timeout.
    connection.query_drop("BEGIN").expect("begun");
    connection.query_drop("UPDATE t SET s = 'c' WHERE id = 1").expect("updated");
    assert_eq!(code(other.query_drop("UPDATE t SET s = 'd' WHERE id = 1")), 1205);
    let after = names.map(|name| count(&mut connection, name));
    assert_eq!((after[0] - before[0], after[1] - before[1], after[2] - before[2]), (1, 1, 0));
    assert!(after[3] > before[3], "pages were asked for");
    assert!(count(&mut connection, "altiplano_undo_live_bytes") > 0);
    connection.query_drop("COMMIT").expect("committed");
    // One deadlock: both wait for each other, one gets 1213.
    for (client, id) in [(&mut connection, 1), (&mut other, 2)] {
        client.query_drop("BEGIN").expect("begun");
        client.query_drop(format!("UPDATE t SET s = 'e' WHERE id = {id}")).expect("updated");
    }
    other.query_drop("SET SESSION innodb_lock_wait_timeout = 50").expect("set");
    let codes = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| other.query_drop("UPDATE t SET s = 'f' WHERE id = 1"));
        let own = connection.query_drop("UPDATE t SET s = 'f' WHERE id = 2");
        if own.is_err() {
            connection.query_drop("ROLLBACK").expect("rolled back");
        }
        let theirs = waiting.join().expect("no panic");
        [own, theirs].map(|result| result.err().map(|error| code(Err(error))))
    });
    assert!(codes == [Some(1213), None] || codes == [None, Some(1213)], "{codes:?}");
    connection.query_drop("ROLLBACK").expect("rolled back");
    assert_eq!(count(&mut connection, "lock_deadlocks") - before[2], 1);
    other.query_drop("ROLLBACK").expect("rolled back");
    // Whatever names a status variable has its value between two looks at that.
    let (low, all, high) = (status(&mut connection), metrics(&mut connection), status(&mut connection));
    let mut compared = 0;
    for (name, (count, comment)) in &all {
        let Some((_, variable)) = comment.trim_end_matches(')').rsplit_once('(') else { continue };
        let of = |status: &BTreeMap<String, String>| -> i64 {
            status.get(variable).unwrap_or_else(|| panic!("{name}: no status variable {variable}")).parse().expect("a number")
        };
        let (low, high) = (of(&low), of(&high));
        assert!((low.min(high)..=low.max(high)).contains(count), "{name}: {count}, and {variable} went from {low} to {high}");
        compared += 1;
    }
    assert!(compared >= 11, "{compared} of {all:?}");
}

/// While a snapshot is open, and afterwards, with nobody doing anything: the server purges to zero.
#[test]
fn the_length_and_the_age_of_the_history_are_shown() {
    const ROWS: i64 = 20;
    let server = Server::start(env!("CARGO_BIN_EXE_altiplano"), &[]);
    let mut connection = server.connect();
    connection.query_drop("CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL)").expect("made");
    let rows: Vec<String> = (0..ROWS).map(|id| format!("({id}, 0)")).collect();
    connection.query_drop(format!("INSERT INTO t VALUES {}", rows.join(","))).expect("rows");
    let mut idle = Conn::new(server.options(Some("d"))).expect("a connection");
    idle.query_drop("START TRANSACTION WITH CONSISTENT SNAPSHOT").expect("a snapshot");
    for id in 0..ROWS {
        connection.query_drop(format!("UPDATE t SET n = n + 1 WHERE id = {id}")).expect("updated");
    }
    let shown = |connection: &mut Conn| {
        let (status, metrics) = (status(connection), metrics(connection));
        let of = |name: &str| status.get(name).and_then(|value| value.parse::<i64>().ok()).unwrap_or_else(|| panic!("{name}"));
        let length = [of("altiplano_history_length"), of("innodb_history_list_length"), metrics["trx_rseg_history_len"].0];
        (length, [of("altiplano_history_age_seconds"), metrics["altiplano_history_age_seconds"].0], of("altiplano_undo_bytes_live"))
    };
    harness::until("the history is a second old", || shown(&mut connection).1.iter().all(|age| *age >= 1));
    let (length, _, undo) = shown(&mut connection);
    assert!(length.iter().all(|length| *length >= ROWS) && undo > 0, "{length:?}, {undo} bytes of undo");
    let (_, _, text): (String, String, String) = connection.query_first("SHOW ENGINE INNODB STATUS").expect("an answer").expect("a row");
    let after = |what: &str| text.split(what).nth(1).and_then(|rest| rest.split_whitespace().next()?.parse::<i64>().ok());
    assert!(after("History list length ") >= Some(ROWS) && after("History: the oldest of it is ") >= Some(1), "{text}");
    let old: Option<i64> = idle.query_first("SELECT SUM(n) FROM t").expect("a read");
    assert_eq!(old, Some(0));
    idle.query_drop("COMMIT").expect("committed");
    harness::until("it is purged", || shown(&mut connection) == ([0; 3], [0; 2], 0));
}
