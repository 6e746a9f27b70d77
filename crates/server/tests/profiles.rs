//! `profiling`: what SHOW PROFILES and SHOW PROFILE keep of a session's statements. Which statements, and how they are shown, was asked of MySQL 9.7.

use harness::Server;
use mysql::prelude::Queryable;
use mysql::{Conn, Row};

fn profiles(client: &mut Conn) -> Vec<(u32, f64, String)> {
    client.query("SHOW PROFILES").expect("profiles")
}

fn texts(client: &mut Conn) -> Vec<String> {
    profiles(client).into_iter().map(|(_, _, text)| text).collect()
}

fn start() -> Server {
    Server::start(env!("CARGO_BIN_EXE_altiplano"), &[])
}

/// Runs all statements of a text, up to one that fails.
fn run(client: &mut Conn, text: &str) {
    if let Ok(mut result) = client.query_iter(text) {
        while result.iter().is_some() {}
    }
}

#[test]
fn statements_are_kept_as_mysql_keeps_them() {
    let server = start();
    let mut client = server.connect();
    client.query_drop("SET profiling_history_size = 100").expect("history");
    let long = format!("SELECT '{}'", "x".repeat(400));
    // What is sent, and what of it is kept.
    let statements: &[(&str, &[&str])] = &[
        ("SELECT 'before'", &[]),
        ("SET profiling = 1", &[]),
        ("SELECT 1", &["SELECT 1"]),
        (&long, &[&long[..300]]),
        ("/* c */ SELECT 2 -- hi", &["/* c */ SELECT 2 -- hi"]),
        ("SET profiling = 0", &[]),
        ("SELECT 'while off'", &[]),
        ("SET profiling = 1", &[]),
        ("SELECT 4; SELECT 5;  SELECT  6 ", &["SELECT 4; SELECT 5;  SELECT  6", "SELECT 5;  SELECT  6", "SELECT  6"]),
        ("PREPARE p FROM 'SELECT ?'", &["PREPARE p FROM 'SELECT ?'"]),
        ("SET @a = 7", &["SET @a = 7"]),
        ("EXECUTE p USING @a", &["EXECUTE p USING @a"]),
        ("SELECT * FROM test.no_such_table", &["SELECT * FROM test.no_such_table"]),
        ("SELEC 1", &["SELEC 1"]),
        ("/* only */", &["/* only */"]),
        ("SELECT 1; SELEC 2; SELECT 3", &["SELECT 1; SELEC 2; SELECT 3", "SELEC 2; SELECT 3"]),
        ("SHOW PROFILES LIKE 'a'", &["SHOW PROFILES LIKE 'a'"]),
        ("SHOW PROFILE FOR QUERY -1", &["SHOW PROFILE FOR QUERY -1"]),
        ("PREPARE p FROM 'SHOW PROFILE'", &[]),
        ("EXECUTE p", &["EXECUTE p"]),
        ("SHOW PROFILE", &[]),
        ("/* c */ SHOW PROFILES", &[]),
        ("SET profiling = 1", &["SET profiling = 1"]),
        ("SELECT 4 ;", &["SELECT 4"]),
    ];
    for (statement, _) in statements {
        run(&mut client, statement);
    }
    let expected: Vec<&str> = statements.iter().flat_map(|(_, kept)| kept.iter().copied()).collect();
    let kept = profiles(&mut client);
    assert_eq!(kept.iter().map(|(_, _, text)| text.as_str()).collect::<Vec<_>>(), expected);
    assert!(kept.iter().map(|(id, _, _)| *id).eq(1..=expected.len() as u32), "{kept:?}");

    // With the protocol's own prepared statements, too: the statement as it was prepared, once for each time it ran.
    let _: Option<i64> = client.exec_first("SELECT ? + 1", (41,)).expect("execute");
    assert_eq!(texts(&mut client).last().map(String::as_str), Some("SELECT ? + 1"));

    // The newest stay.
    client.query_drop("SET profiling_history_size = 2").expect("history");
    assert_eq!(texts(&mut client), ["SELECT ? + 1", "SET profiling_history_size = 2"]);
    client.query_drop("SET profiling_history_size = 0").expect("history");
    assert!(texts(&mut client).is_empty());

    // Nobody else's, and of a session that begins anew none.
    assert!(texts(&mut server.connect()).is_empty());
    client.query_drop("SET profiling_history_size = 15").expect("history");
    client.query_drop("SELECT 8").expect("select");
    assert_eq!(texts(&mut client), ["SET profiling_history_size = 15", "SELECT 8"]);
    client.reset().expect("reset");
    client.query_drop("SELECT 9").expect("select");
    assert!(texts(&mut client).is_empty());
}

#[test]
fn what_follows_in_a_text_that_switches_it_on_is_kept() {
    let server = start();
    let mut client = server.connect();
    run(&mut client, "SET profiling = 1; SELECT 1; SELECT 2");
    assert_eq!(texts(&mut client), ["SELECT 1; SELECT 2", "SELECT 2"]);
}

#[test]
fn stages_add_up_and_say_where_the_time_went() {
    let server = start();
    let mut client = server.connect();
    for statement in [
        "CREATE DATABASE test",
        "CREATE TABLE test.t (a INT PRIMARY KEY, b INT)",
        "SET profiling = 1",
        "INSERT INTO test.t VALUES (1, 2)",
        "SELECT SLEEP(0.2)",
        "SELECT COUNT(*) FROM test.t a, test.t b WHERE a.b = b.b",
    ] {
        client.query_drop(statement).expect(statement);
    }
    let all = profiles(&mut client);
    for (id, seconds, text) in &all {
        let stages: Vec<(String, f64)> = client.query(format!("SHOW PROFILE FOR QUERY {id}")).expect("profile");
        let sum: f64 = stages.iter().map(|(_, seconds)| seconds).sum();
        // Each is cut to microseconds.
        let lost = *seconds - sum;
        assert!((-1e-6..stages.len() as f64 * 1e-6).contains(&lost), "{text}: {seconds} {stages:?}");
        assert_eq!(stages.first().map(|(name, _)| name.as_str()), Some("starting"), "{text}");
        let rows: Vec<(u32, u32, String, f64)> = client
            .query(format!("SELECT QUERY_ID, SEQ, STATE, DURATION FROM information_schema.PROFILING WHERE QUERY_ID = {id} ORDER BY SEQ"))
            .expect("rows");
        let of_table: Vec<(String, f64)> = rows.iter().map(|(_, _, name, seconds)| (name.clone(), *seconds)).collect();
        assert_eq!(of_table, stages, "{text}");
        assert!(rows.iter().map(|(_, seq, ..)| *seq).eq(2..2 + rows.len() as u32), "{rows:?}");
    }
    let stages_of =
        |client: &mut Conn, id: u32| -> Vec<(String, f64)> { client.query(format!("SHOW PROFILE FOR QUERY {id}")).expect("profile") };
    let insert = stages_of(&mut client, 1);
    assert!(insert.iter().any(|(name, _)| name == "waiting for handler commit"), "{insert:?}");
    let sleep = stages_of(&mut client, 2);
    assert!(sleep.iter().any(|(name, seconds)| name == "executing" && *seconds >= 0.2), "{sleep:?}");
    // All columns; of the first stage nobody says where it began.
    let whole: Vec<Row> = client.query("SHOW PROFILE ALL FOR QUERY 2").expect("profile");
    assert_eq!(whole[0].len(), 16);
    let source =
        |row: &Row| (row.get::<Option<String>, _>("Source_function").flatten(), row.get::<Option<String>, _>("Source_file").flatten());
    assert_eq!(source(&whole[0]), (None, None));
    assert!(whole[1..].iter().all(|row| source(row).1.is_some_and(|file| file.ends_with(".rs"))), "{whole:?}");
    let waits: i64 = whole.iter().filter_map(|row| row.get::<i64, _>("Context_voluntary")).sum();
    assert!(waits >= 1, "a statement that sleeps waits: {whole:?}");
    let limited: Vec<Row> = client.query("SHOW PROFILE FOR QUERY 2 LIMIT 2 OFFSET 1").expect("profile");
    assert_eq!(limited.len(), 2);
    assert_eq!(limited[0].get::<String, _>("Status"), whole[1].get::<String, _>("Status"));
    assert!(stages_of(&mut client, 999).is_empty());
}
