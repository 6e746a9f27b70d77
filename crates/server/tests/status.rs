//! Status counters that monitors read: that they count what they are named for.

use harness::Server;
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

/// A counter of the whole server.
fn counter(client: &mut Conn, name: &str) -> u64 {
    let (_, value): (String, String) =
        client.query_first(format!("SHOW GLOBAL STATUS LIKE '{name}'")).expect("a status").unwrap_or_else(|| panic!("no {name}"));
    value.parse().unwrap_or_else(|_| panic!("{name} is {value}"))
}

/// One of the connection that asks.
fn own(client: &mut Conn, name: &str) -> u64 {
    let (_, value): (String, String) =
        client.query_first(format!("SHOW SESSION STATUS LIKE '{name}'")).expect("a status").expect("a counter");
    value.parse().expect("a number")
}

fn start() -> Server {
    Server::start(env!("CARGO_BIN_EXE_altiplano"), &[])
}

#[test]
fn bytes_are_counted_for_the_connection_and_over_its_end() {
    let server = start();
    let mut client = server.connect();
    let (received, sent) = (own(&mut client, "Bytes_received"), own(&mut client, "Bytes_sent"));
    let text = "x".repeat(100_000);
    let _: Option<String> = client.query_first(format!("SELECT '{text}'")).expect("a row");
    assert!(own(&mut client, "Bytes_received") >= received + 100_000);
    assert!(own(&mut client, "Bytes_sent") >= sent + 100_000);
    let mut other = server.connect();
    let (all_received, all_sent) = (counter(&mut other, "Bytes_received"), counter(&mut other, "Bytes_sent"));
    assert!(all_received >= received + 100_000 && all_sent >= sent + 100_000, "{all_received} {all_sent}");
    drop(client);
    // Whether the connection has ended already or not, its bytes are not lost.
    assert!(counter(&mut other, "Bytes_received") >= all_received && counter(&mut other, "Bytes_sent") >= all_sent);
    assert!(own(&mut other, "Bytes_received") < 100_000);
}

#[test]
fn statements_are_counted_by_kind() {
    let server = start();
    let mut client = server.connect();
    client.query_drop("CREATE DATABASE d").expect("a database");
    let names = [
        ("Com_create_table", "CREATE TABLE d.t (id INT PRIMARY KEY, a INT)"),
        ("Com_change_db", "USE d"),
        ("Com_insert", "INSERT INTO t VALUES (1, 1)"),
        ("Com_insert_select", "INSERT INTO t SELECT id + 1, a FROM t"),
        ("Com_replace", "REPLACE INTO t VALUES (1, 2)"),
        ("Com_replace_select", "REPLACE INTO t SELECT 9, 9"),
        ("Com_update", "UPDATE t SET a = 3"),
        ("Com_update_multi", "UPDATE t JOIN t u USING (id) SET t.a = 4, u.a = 5"),
        ("Com_delete", "DELETE FROM t WHERE id = 1"),
        ("Com_delete_multi", "DELETE t, u FROM t JOIN t u ON t.id = u.id + 100"),
        ("Com_show_tables", "SHOW TABLES"),
        ("Com_show_fields", "DESCRIBE t"),
        ("Com_truncate", "TRUNCATE t"),
        ("Com_begin", "BEGIN"),
        ("Com_savepoint", "SAVEPOINT a"),
        ("Com_rollback_to_savepoint", "ROLLBACK TO a"),
        ("Com_release_savepoint", "RELEASE SAVEPOINT a"),
        ("Com_commit", "COMMIT"),
        ("Com_analyze", "ANALYZE TABLE t"),
        ("Com_flush", "FLUSH TABLES"),
        ("Com_drop_table", "DROP TABLE t"),
    ];
    for (name, sql) in names {
        let before = counter(&mut client, name);
        client.query_drop(sql).expect(sql);
        assert_eq!(counter(&mut client, name), before + 1, "{name}: {sql}");
    }
    // Questions first: the one for the second counter comes between.
    let mut others = || {
        let questions = counter(&mut client, "Questions");
        counter(&mut client, "Queries") - questions
    };
    let before = others();
    let mut prepare = server.connect();
    let between = others();
    let statement = prepare.prep("SELECT ?").expect("a statement");
    prepare.close(statement).expect("closed");
    let asked: i64 = prepare.query_first("SELECT 1").expect("an answer").expect("a row");
    assert_eq!(asked, 1);
    // Preparing and closing are commands, not questions.
    assert!(between >= before);
    assert_eq!(others(), between + 2);
}

#[test]
fn slow_statements_and_refused_logins_are_counted() {
    let server = start();
    let mut client = server.connect();
    assert_eq!(counter(&mut client, "Slow_queries"), 0);
    let mut slow = server.connect();
    slow.query_drop("SET long_query_time = 0.2").expect("set");
    slow.query_drop("DO SLEEP(1.5)").expect("slept");
    slow.query_drop("DO SLEEP(0)").expect("slept");
    client.query_drop("DO SLEEP(1.5)").expect("slept, but not as long as its own long_query_time");
    assert_eq!(counter(&mut client, "Slow_queries"), 1);

    let refused = counter(&mut client, "Aborted_connects");
    let opts = OptsBuilder::new().ip_or_hostname(Some("127.0.0.1")).tcp_port(server.port()).user(Some("nobody")).pass(Some("x"));
    Conn::new(opts).expect_err("nobody may log in by that name");
    assert_eq!(counter(&mut client, "Aborted_connects"), refused + 1);

    let most = counter(&mut client, "Max_used_connections");
    let more: Vec<Conn> = (0..5).map(|_| server.connect()).collect();
    assert!(counter(&mut client, "Max_used_connections") >= most.max(7));
    drop(more);
    assert!(counter(&mut client, "Max_used_connections") >= 7, "it is the most there were");
}

#[test]
fn how_tables_are_read_and_rows_change_is_counted() {
    let server = start();
    let mut client = server.connect();
    client.query_drop("CREATE DATABASE d").expect("a database");
    client.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY, a INT, b INT, KEY (a))").expect("a table");
    client.query_drop("USE d").expect("a database");
    let check = |client: &mut Conn, sql: &str, expect: &[(&str, u64)]| {
        let names = [
            "Select_scan",
            "Select_range",
            "Select_full_join",
            "Sort_scan",
            "Sort_range",
            "Created_tmp_tables",
            "Innodb_rows_inserted",
            "Innodb_rows_updated",
            "Innodb_rows_deleted",
        ];
        let before: Vec<u64> = names.iter().map(|name| counter(client, name)).collect();
        let _: Vec<mysql::Row> = client.query(sql).expect(sql);
        for (name, before) in names.iter().zip(before) {
            let expect = expect.iter().find(|(other, _)| other == name).map_or(0, |(_, count)| *count);
            assert_eq!(counter(client, name) - before, expect, "{name} of {sql}");
        }
    };
    check(&mut client, "INSERT INTO t VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3)", &[("Innodb_rows_inserted", 3)]);
    check(
        &mut client,
        "INSERT INTO t VALUES (3, 3, 3), (4, 4, 4) ON DUPLICATE KEY UPDATE b = 5",
        &[("Innodb_rows_inserted", 1), ("Innodb_rows_updated", 1)],
    );
    check(&mut client, "REPLACE INTO t VALUES (4, 4, 5), (5, 5, 5)", &[("Innodb_rows_inserted", 2), ("Innodb_rows_deleted", 1)]);
    check(&mut client, "UPDATE t SET b = b + 1 WHERE id = 1", &[("Innodb_rows_updated", 1)]);
    check(&mut client, "DELETE FROM t WHERE id = 5", &[("Innodb_rows_deleted", 1)]);
    check(&mut client, "SELECT * FROM t WHERE id = 1", &[]);
    check(&mut client, "SELECT * FROM t WHERE a = 1", &[]);
    check(&mut client, "SELECT * FROM t", &[("Select_scan", 1)]);
    check(&mut client, "SELECT * FROM t WHERE id > 1", &[("Select_range", 1)]);
    check(&mut client, "SELECT b FROM t ORDER BY b", &[("Select_scan", 1), ("Sort_scan", 1)]);
    check(&mut client, "SELECT x.b FROM t x, t y WHERE x.b < y.b", &[("Select_scan", 1), ("Select_full_join", 1)]);
    check(&mut client, "SELECT DISTINCT b FROM t", &[("Select_scan", 1), ("Created_tmp_tables", 1)]);
}

#[test]
fn the_time_that_row_locks_are_waited_for_is_told() {
    let server = start();
    let (mut holder, mut waiter) = (server.connect(), server.connect());
    holder.query_drop("CREATE DATABASE d").expect("a database");
    holder.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY)").expect("a table");
    holder.query_drop("INSERT INTO d.t VALUES (1)").expect("a row");
    assert_eq!(counter(&mut holder, "Innodb_row_lock_time"), 0);
    holder.query_drop("BEGIN").expect("begun");
    holder.query_drop("DELETE FROM d.t").expect("deleted");
    waiter.query_drop("SET innodb_lock_wait_timeout = 1").expect("set");
    waiter.query_drop("DELETE FROM d.t WHERE id = 1").expect_err("1205");
    for name in ["Innodb_row_lock_time", "Innodb_row_lock_time_avg", "Innodb_row_lock_time_max"] {
        let millis = counter(&mut holder, name);
        assert!((1000..60_000).contains(&millis), "{name} is {millis}");
    }
}
