//! Sessions against the real server: stops at any point, clients that vanish, large packets, uploads, shutdown in the middle of work.

mod numbers;

use harness::{Server, code, until};
use mysql::prelude::Queryable;
use mysql::{Conn, Error, LocalInfileHandler, OptsBuilder};
use numbers::connect;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Runs for hours if nobody stops it.
const ENDLESS: &str = "SELECT COUNT(*) FROM n a JOIN n b JOIN n c JOIN n d WHERE a.v + b.v + c.v + d.v < 0";

fn server() -> Server {
    server_with(&[])
}

fn server_with(arguments: &[&str]) -> Server {
    numbers::server(arguments, 1000)
}

type Process = (u32, String, String, Option<String>, String, i64, Option<String>, Option<String>);

fn process(watcher: &mut Conn, id: u32) -> Option<Process> {
    watcher.query::<Process, _>("SHOW FULL PROCESSLIST").expect("a list").into_iter().find(|process| process.0 == id)
}

/// Waits until a connection runs a command with this text. (While a text is prepared it is shown as well: a kill would hit that.)
fn until_running(watcher: &mut Conn, id: u32, command: &str, text: &str) {
    until(text, || process(watcher, id).is_some_and(|process| process.4 == command && process.7.is_some_and(|info| info.contains(text))));
}

#[test]
fn shutdown_ends_the_server_for_those_who_may() {
    let mut server = server();
    let mut root = connect(&server);
    for sql in ["CREATE USER low IDENTIFIED BY 'x'", "CREATE USER high IDENTIFIED BY 'x'", "GRANT SHUTDOWN ON *.* TO high"] {
        root.query_drop(sql).expect(sql);
    }
    let login = |user: &str| Conn::new(OptsBuilder::from_opts(server.options(None)).user(Some(user)).pass(Some("x"))).expect(user);
    assert_eq!(code(&login("low").query_drop("SHUTDOWN").expect_err("refused")), 1227);
    // Answered first, then done.
    login("high").query_drop("SHUTDOWN").expect("an answer");
    assert_eq!(server.wait(), Some(0), "{}", server.log());
    assert!(server.log().contains("SHUTDOWN by high"), "{}", server.log());
}

#[test]
fn kill_reaches_statements_that_compute_wait_or_idle() {
    let server = server();
    let (mut watcher, mut victim, mut holder) = (connect(&server), connect(&server), connect(&server));
    let id = victim.connection_id();
    // Computing, as text and prepared.
    for (prepared, command) in [(false, "Query"), (true, "Execute")] {
        std::thread::scope(|scope| {
            let statement = scope.spawn(|| if prepared { victim.exec_drop(ENDLESS, ()) } else { victim.query_drop(ENDLESS) });
            until_running(&mut watcher, id, command, "JOIN n d");
            watcher.query_drop(format!("KILL QUERY {id}")).expect("a kill");
            assert_eq!(code(&statement.join().expect("no panic").expect_err("stopped")), 1317);
        });
        assert_eq!(victim.query_first::<u8, _>("SELECT 1").expect("the connection lives"), Some(1));
    }
    // Waiting for a row lock.
    holder.query_drop("BEGIN").expect("a transaction");
    holder.query_drop("UPDATE n SET v = 2 WHERE id = 1").expect("a lock");
    std::thread::scope(|scope| {
        let statement = scope.spawn(|| victim.query_drop("UPDATE n SET v = 3 WHERE id = 1"));
        until_running(&mut watcher, id, "Query", "v = 3");
        watcher.query_drop(format!("KILL QUERY {id}")).expect("a kill");
        assert_eq!(code(&statement.join().expect("no panic").expect_err("stopped")), 1317);
    });
    // Idle in a transaction: its locks go with it.
    watcher.query_drop(format!("KILL {}", holder.connection_id())).expect("a kill");
    victim.query_drop("UPDATE n SET v = 4 WHERE id = 1").expect("the lock is free");
    assert!(holder.query_drop("SELECT 1").is_err());
    assert_eq!(code(&watcher.query_drop("KILL 4294967295").expect_err("nobody")), 1094);
}

#[test]
fn a_client_that_vanishes_takes_its_statement_and_locks_along() {
    let server = server();
    let mut watcher = connect(&server);
    let mut holder = connect(&server);
    holder.query_drop("BEGIN").expect("a transaction");
    holder.query_drop("UPDATE n SET v = 2 WHERE id = 1").expect("a lock");
    for statement in [ENDLESS, "UPDATE n SET v = 3 WHERE id = 1"] {
        // A client that can be cut off in the middle: another process.
        let mut client = std::process::Command::new(env!("CARGO_BIN_EXE_altiplano"))
            .args(["sql", "-P", &server.port().to_string(), "-e", &format!("BEGIN; UPDATE n SET v = 9 WHERE id = 5; {statement}"), "d"])
            .spawn()
            .expect("a client");
        let mark = &statement[statement.len() - 12..];
        let mut id = None;
        until(mark, || {
            let list: Vec<Process> = watcher.query("SHOW FULL PROCESSLIST").expect("a list");
            id = list.iter().find(|p| p.7.as_ref().is_some_and(|info| info.ends_with(mark))).map(|p| p.0);
            id.is_some()
        });
        client.kill().expect("a kill");
        client.wait().expect("it ended");
        let id = id.expect("found above");
        until("the statement ends", || process(&mut watcher, id).is_none());
        watcher.query_drop("UPDATE n SET v = 1 WHERE id = 5").expect("its lock is free");
    }
}

#[test]
fn values_and_statements_of_many_megabytes_pass() {
    let server = server();
    let mut connection = connect(&server);
    connection.query_drop("CREATE TABLE b (id INT PRIMARY KEY, x LONGBLOB)").expect("a table");
    // Around the length of a full frame, and over it.
    for (id, bytes) in [(1, (1 << 24) - 40), (2, (1 << 24) - 1), (3, 20 << 20)] {
        let blob: Vec<u8> = (0..bytes as u32).map(|n| (n >> 3) as u8 ^ n as u8).collect();
        connection.exec_drop("INSERT INTO b VALUES (?, ?)", (id, &blob)).expect("a blob goes in");
        assert!(connection.exec_first::<Vec<u8>, _, _>("SELECT x FROM b WHERE id = ?", (id,)).expect("it comes out") == Some(blob));
    }
    for length in (1 << 24) - 8..(1 << 24) + 1 {
        let text: Option<String> = connection.query_first(format!("SELECT REPEAT('z', {length})")).expect("a long value");
        assert_eq!(text.map(|t| t.len()), Some(length));
    }
    // A statement with a huge literal, whose text would be the column's name.
    let length: Option<usize> = connection.query_first(format!("SELECT LENGTH('{}')", "x".repeat(40 << 20))).expect("a long statement");
    assert_eq!(length, Some(40 << 20));
}

/// Resident memory of the server's process.
fn resident_bytes(server: &Server) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("facts about the process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("resident memory");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") << 10
}

#[test]
fn a_statement_of_a_hundred_megabytes_passes_and_its_memory_comes_back() {
    const BYTES: usize = 100_000_000;
    let server = server_with(&["--set", "max_allowed_packet=268435456"]);
    let mut connection = connect(&server);
    connection.query_drop("CREATE TABLE h (id INT PRIMARY KEY, x LONGTEXT)").expect("a table");
    // The pool and the ring of the log are touched for the first time below.
    let kept = resident_bytes(&server) + (64 << 20) + (64 << 20);
    // Seven frames; the text says at its ends whether it is whole.
    let literal = format!("begin{}end", "m".repeat(BYTES - 8));
    let length: Option<usize> = connection.query_first(format!("SELECT LENGTH('{literal}')")).expect("a long statement");
    assert_eq!(length, Some(BYTES));
    connection.query_drop(format!("INSERT INTO h VALUES (1, '{literal}')")).expect("a long row");
    let facts: Option<(usize, String, String)> =
        connection.query_first("SELECT LENGTH(x), LEFT(x, 6), RIGHT(x, 4) FROM h WHERE id = 1").expect("a read");
    assert_eq!(facts, Some((BYTES, "beginm".to_owned(), "mend".to_owned())));
    let back: Option<String> = connection.query_first("SELECT x FROM h").expect("a long result");
    assert!(back.as_deref() == Some(&literal), "what came back differs");
    // An idle connection keeps none of it.
    drop(back);
    until("the memory comes back", || resident_bytes(&server) < kept + (48 << 20));
    assert_eq!(connection.query_first::<u8, _>("SELECT 1").expect("the connection lives"), Some(1));
}

#[test]
fn a_statement_over_the_packet_limit_costs_itself_only() {
    const LIMIT: usize = 1 << 20;
    let server = server();
    connect(&server).query_drop(format!("SET GLOBAL max_allowed_packet = {LIMIT}")).expect("a limit");
    // The client must not refuse by itself.
    let options = OptsBuilder::from_opts(server.options(Some("d"))).max_allowed_packet(Some(1 << 30));
    let mut limited = Conn::new(options).expect("a connection");
    let text = |bytes: usize| format!("SELECT LENGTH('{}')", "x".repeat(bytes - "_SELECT LENGTH('')".len()));
    // MySQL's limit is the first length that does not pass.
    for (bytes, passes) in [(LIMIT - 1, true), (LIMIT, false), (LIMIT + 1, false), (17 << 20, false), (100_000_000, false)] {
        match limited.query_drop(text(bytes)) {
            Ok(()) => assert!(passes, "{bytes} bytes passed"),
            Err(error) => assert!(!passes && code(&error) == 1153, "{bytes} bytes: {error}"),
        }
        assert_eq!(limited.query_first::<u8, _>("SELECT 1").expect("the connection lives"), Some(1));
    }
    // Nor does a function make more than the limit: NULL and a warning.
    assert_eq!(limited.query_first::<Option<String>, _>(format!("SELECT REPEAT('z', {})", LIMIT + 1)).expect("a result"), Some(None));
    let warnings: Vec<(String, u16, String)> = limited.query("SHOW WARNINGS").expect("a list");
    assert_eq!(warnings.iter().map(|w| w.1).collect::<Vec<_>>(), [1301]);
    assert_eq!(connect(&server).query_first::<u8, _>("SELECT 1").expect("the server goes on"), Some(1));
}

#[test]
fn the_process_list_tells_what_connections_do_and_for_how_long() {
    let server = server();
    let (mut watcher, mut holder, mut victim) = (connect(&server), connect(&server), connect(&server));
    let (id, own) = (victim.connection_id(), watcher.connection_id());
    holder.query_drop("BEGIN").expect("a transaction");
    holder.query_drop("UPDATE n SET v = 2 WHERE id = 1").expect("a lock");
    let tail = "x".repeat(5000);
    let text = format!("UPDATE n SET v = 3 WHERE id = 1 /* {tail} */");
    for (prepared, command) in [(false, "Query"), (true, "Execute")] {
        std::thread::scope(|scope| {
            let statement = scope.spawn(|| if prepared { victim.exec_drop(&text, ()) } else { victim.query_drop(&text) });
            until("it waits", || process(&mut watcher, id).is_some_and(|process| process.6.as_deref() == Some("Waiting for row lock")));
            // The time goes on while it waits, so the watcher need not be waited for.
            until("the time of the statement is told", || process(&mut watcher, id).is_some_and(|process| process.5 >= 1));
            let (_, user, host, database, was, seconds, _, info) = process(&mut watcher, id).expect("it is listed");
            assert_eq!(
                (user.as_str(), database.as_deref(), was.as_str(), info.as_deref()),
                ("root", Some("d"), command, Some(text.as_str()))
            );
            assert!(host.starts_with("localhost:") && (1..30).contains(&seconds), "{host} {seconds}");
            let short: Vec<Process> = watcher.query("SHOW PROCESSLIST").expect("a list");
            let cut = short.into_iter().find(|process| process.0 == id).and_then(|process| process.7);
            assert_eq!(cut.as_deref(), Some(&text[..100]));
            watcher.query_drop(format!("KILL QUERY {id}")).expect("a kill");
            assert_eq!(code(&statement.join().expect("no panic").expect_err("stopped")), 1317);
        });
        // The reply and the next look cross; then it sleeps, with no text.
        until("it sleeps", || process(&mut watcher, id).is_some_and(|process| process.4 == "Sleep"));
        let (_, _, _, _, _, _, state, info) = process(&mut watcher, id).expect("it is listed");
        assert_eq!((state.as_deref(), info), (Some(""), None));
    }
    let (_, _, _, _, was, seconds, state, info) = process(&mut watcher, own).expect("it is listed");
    assert_eq!((was.as_str(), seconds, state.as_deref(), info.as_deref()), ("Query", 0, Some("init"), Some("SHOW FULL PROCESSLIST")));
    // Who has only connected is there as well, without a name.
    let stranger = std::net::TcpStream::connect(("127.0.0.1", server.port())).expect("a connection");
    until("the stranger is listed", || {
        let list: Vec<Process> = watcher.query("SHOW PROCESSLIST").expect("a list");
        list.iter().any(|p| p.1 == "unauthenticated user" && p.4 == "Connect" && p.6.as_deref() == Some("Receiving from client"))
    });
    drop(stranger);
}

#[test]
fn deep_nesting_is_an_error_and_long_chains_are_not() {
    let server = server();
    let mut connection = connect(&server);
    let deep = |open: &str, close: &str| format!("SELECT {}1{}", open.repeat(20_000), close.repeat(20_000));
    // Parentheses that only stand around an expression nest nothing.
    assert_eq!(connection.query_first::<u8, _>(deep("(", ")")).expect("answered"), Some(1));
    for text in [deep("1+(", ")"), deep("IF(1,", ",2)"), deep("(SELECT ", ")"), deep("-", ""), deep("NOT ", "")] {
        let code = code(&connection.query_drop(&text).expect_err("too deep"));
        // Of queries in queries MySQL has a message of its own.
        assert!([1064, 1436].contains(&code) || code == 1473 && text.contains("(SELECT "), "{code}: {}", &text[..30]);
        assert_eq!(connection.query_first::<u8, _>("SELECT 1").expect("the connection lives"), Some(1));
    }
    let chain = vec!["v = 1"; 20_000].join(" OR ");
    assert_eq!(connection.query_first::<u32, _>(format!("SELECT COUNT(*) FROM n WHERE {chain}")).expect("long"), Some(1000));
}

/// Conditions that a program nests one into the next: MySQL takes some two thousand levels of arithmetic, and more of AND and OR.
#[test]
fn what_nests_deeper_than_a_connections_stack_is_run_on_a_larger_one() {
    let server = server();
    let mut connection = connect(&server);
    let nested = |open: &str, inner: &str, close: &str, levels: usize| format!("{}{inner}{}", open.repeat(levels), close.repeat(levels));
    let shapes = [
        (nested("(1+", "id", ")", 2_000), 2_007),
        (nested("(id = 0 OR ", "id = 7", ")", 3_000), 1),
        (nested("(id = 7 AND (id = 0 OR ", "id = 7", "))", 1_500), 1),
        (nested("NOT (", "id", ")", 3_000), 1),
        (nested("IF(id = 0, 1, ", "id", ")", 1_800), 7),
        (nested("CASE WHEN id = 0 THEN 1 ELSE ", "id", " END", 1_800), 7),
        (nested("GREATEST(id, ", "id", ")", 6_000), 7),
    ];
    for (expression, expected) in &shapes {
        let begins = &expression[..20];
        let select = format!("SELECT CAST({expression} AS SIGNED) FROM n WHERE id = 7");
        for _ in 0..2 {
            assert_eq!(connection.query_first(&select).expect(begins), Some(*expected), "{begins}");
            assert_eq!(connection.exec_first(format!("{select} AND id > ?"), (0,)).expect(begins), Some(*expected), "{begins}, prepared");
        }
        connection.query_drop(format!("EXPLAIN {select}")).expect(begins);
        connection.query_drop(format!("SET @deep = (SELECT {expression} FROM n WHERE id = 7)")).expect(begins);
        assert_eq!(connection.query_first("SELECT CAST(@deep AS SIGNED)").expect(begins), Some(*expected), "{begins}, in a variable");
        connection.query_drop(format!("UPDATE n SET v = 2 WHERE id = 7 AND {expression} = {expected}")).expect(begins);
        // What definitions keep is read again by whoever opens the table.
        for definition in [format!("CREATE VIEW deep AS {select}"), format!("CREATE TABLE deep (id INT, w INT AS ({expression}))")] {
            assert_eq!(code(&connection.query_drop(&definition).expect_err(begins)), 1436, "{begins}");
        }
    }
    // Other sessions prepare the same text, and go with it.
    for _ in 0..2 {
        let select = format!("SELECT {} FROM n WHERE id = 7", shapes[0].0);
        let mut other = connect(&server);
        assert_eq!(other.exec_first(&select, ()).expect("a row"), Some(2_007));
        other.query_drop("ALTER TABLE n COMMENT = 'planned again'").expect("altered");
        assert_eq!(other.exec_first(&select, ()).expect("a row"), Some(2_007));
    }
    // As many queries within queries as MySQL takes.
    for (levels, expected) in [(63, 0), (64, 1473)] {
        for text in [nested("(SELECT ", "1", ")", levels), nested("EXISTS (SELECT 1 FROM n WHERE ", "id = 7", ")", levels)] {
            let answer = connection.query_drop(format!("SELECT {text} FROM n"));
            assert_eq!(answer.as_ref().map_or_else(code, |()| 0), expected, "{levels} levels: {answer:?}");
        }
    }
}

#[test]
fn queries_that_are_made_of_queries_are_answered_or_refused() {
    let server = server();
    let mut connection = connect(&server);
    let ctes = |first: &str, next: &str, levels: usize| {
        let list: Vec<String> =
            (1..levels).map(|level| format!("c{level} AS ({})", next.replace('@', &format!("c{}", level - 1)))).collect();
        format!("WITH c0 AS ({first}){}{} SELECT COUNT(*) FROM c{}", if levels > 1 { "," } else { "" }, list.join(","), levels - 1)
    };
    let nest = |open: &str, close: &str, levels: usize| {
        format!("SELECT COUNT(*) FROM n WHERE {}v = 1{}", open.repeat(levels), close.repeat(levels))
    };
    let shapes: [&dyn Fn(usize) -> String; 9] = [
        &|levels| ctes("SELECT 1 x", "SELECT SUM(x) x FROM @", levels),
        &|levels| ctes("SELECT 1 x", "SELECT x x FROM @", levels),
        &|levels| ctes("SELECT 1 x", "SELECT x FROM @ UNION SELECT 2", levels),
        &|levels| ctes("SELECT v x FROM n", "SELECT DISTINCT x + 1 x FROM @ ORDER BY x LIMIT 3", levels),
        &|levels| ctes("SELECT 1 x", "SELECT (SELECT MAX(x) FROM @) x", levels),
        &|levels| format!("SELECT COUNT(*) FROM (SELECT 1 UNION SELECT 2 {}) t", " UNION ALL SELECT 1 UNION SELECT 3".repeat(levels)),
        &|levels| format!("SELECT COUNT(*) FROM (SELECT 1 x EXCEPT SELECT 2 {}) t", " UNION SELECT 1 EXCEPT SELECT 3".repeat(levels)),
        &|levels| nest("v IN (SELECT v FROM n WHERE ", ")", levels),
        &|levels| nest("EXISTS (SELECT * FROM n n WHERE n.v >= 0 AND ", ")", levels),
    ];
    for (no, shape) in shapes.iter().enumerate() {
        let mut answered = 0;
        for levels in [5, 12, 30, 60, 120, 400] {
            for explain in ["", "EXPLAIN ", "EXPLAIN FORMAT=JSON "] {
                match connection.query_drop(format!("{explain}{}", shape(levels))) {
                    Ok(()) => answered = answered.max(levels),
                    Err(error) => assert!([1064, 1436, 1473].contains(&code(&error)), "shape {no} of {levels} levels: {error}"),
                }
            }
            assert_eq!(connection.query_first::<u8, _>("SELECT 1").expect("the server lives"), Some(1));
        }
        assert!(answered >= 12, "shape {no}: {answered} levels");
    }
}

#[test]
fn a_file_of_the_client_is_loaded() {
    let server = server();
    let file: Vec<u8> = (0..20_000).flat_map(|n| format!("{n}\tname {n}\t{}.25\t\\N\n", n / 4).into_bytes()).collect();
    let handler = LocalInfileHandler::new(move |_, out| out.write_all(&file));
    let options = OptsBuilder::from_opts(server.options(Some("d"))).local_infile_handler(Some(handler));
    let mut connection = Conn::new(options).expect("a connection");
    connection.query_drop("SET GLOBAL local_infile = ON").expect("allowed");
    connection.query_drop("CREATE TABLE l (id INT PRIMARY KEY, s VARCHAR(40), d DECIMAL(12,2), x INT, KEY (s))").expect("a table");
    connection.query_drop("LOAD DATA LOCAL INFILE 'f' INTO TABLE l").expect("a load");
    assert_eq!(connection.affected_rows(), 20_000);
    let sums: Option<(u64, u64, String, u64)> = connection.query_first("SELECT COUNT(*), SUM(id), SUM(d), COUNT(x) FROM l").expect("sums");
    assert_eq!(sums, Some((20_000, 199_990_000, "49995000.00".to_owned(), 0)));
}

#[test]
fn a_prepared_statement_is_planned_a_few_times_not_at_each_execution() {
    let server = server();
    let mut connection = connect(&server);
    let planned = |connection: &mut Conn| {
        let row: Option<(String, u64)> =
            connection.query_first("SHOW GLOBAL STATUS LIKE 'Altiplano_plan_cache_misses'").expect("a counter");
        row.expect("it is there").1
    };
    let statement = connection
        .prep("SELECT COUNT(*) FROM n a JOIN n b ON b.id = a.v WHERE a.id BETWEEN ? AND ? OR a.id BETWEEN ? AND ?")
        .expect("prepared");
    let before = planned(&mut connection);
    for n in 1..50 {
        let count: Option<u32> = connection.exec_first(&statement, (n, n + 4, 500 + n, 500 + n)).expect("it runs");
        assert_eq!(count, Some(6));
    }
    let after = planned(&mut connection);
    assert!(after - before <= 2, "planned {} times", after - before);
}

#[test]
fn a_stop_in_the_middle_of_work_keeps_what_was_acknowledged() {
    let mut server = server();
    connect(&server).query_drop("CREATE TABLE w (worker INT, n INT, PRIMARY KEY (worker, n))").expect("a table");
    let acknowledged: Vec<AtomicU32> = (0..8).map(|_| AtomicU32::new(0)).collect();
    let stopping = AtomicBool::new(false);
    let mut connections: Vec<Conn> = (0..8).map(|_| connect(&server)).collect();
    std::thread::scope(|scope| {
        for (worker, (connection, done)) in connections.iter_mut().zip(&acknowledged).enumerate() {
            let stopping = &stopping;
            scope.spawn(move || {
                for n in 1.. {
                    match connection.exec_drop("INSERT INTO w VALUES (?, ?)", (worker, n)) {
                        Ok(()) => done.store(n, Ordering::SeqCst),
                        Err(error) => {
                            assert!(stopping.load(Ordering::SeqCst), "{error}");
                            return;
                        }
                    }
                }
            });
        }
        until("everybody works", || acknowledged.iter().all(|done| done.load(Ordering::SeqCst) >= 10));
        stopping.store(true, Ordering::SeqCst);
        assert_eq!(server.stop(), Some(0));
    });
    server.restart();
    let mut connection = connect(&server);
    for (worker, done) in acknowledged.iter().enumerate() {
        let done = done.load(Ordering::SeqCst);
        let found: Option<(u32, u32)> = connection.exec_first("SELECT COUNT(*), MAX(n) FROM w WHERE worker = ?", (worker,)).expect("rows");
        let (count, max) = found.expect("a row");
        assert!(count == max && (done..=done + 1).contains(&max), "worker {worker}: {done} acknowledged, {count} rows up to {max}");
    }
}

#[test]
fn a_full_server_says_so_and_lets_one_administrator_in() {
    const LIMIT: usize = 5;
    let server = Server::start(env!("CARGO_BIN_EXE_altiplano"), &["--set", &format!("max_connections={LIMIT}")]);
    // The one beyond the limit is kept for an administrator, which root is.
    let mut held: Vec<Conn> = (0..=LIMIT).map(|_| server.connect()).collect();
    let refused = Conn::new(server.options(None)).expect_err("the server is full");
    assert_eq!(code(&refused), 1040);
    for connection in &mut held {
        assert_eq!(connection.query_first::<u8, _>("SELECT 1").expect("those inside work on"), Some(1));
    }
    held.pop();
    until("a place is free again", || Conn::new(server.options(None)).is_ok());
}

#[test]
fn bytes_that_are_no_text_are_refused_by_text_columns_only() {
    let server = server();
    let mut connection = connect(&server);
    connection.query_drop("CREATE TABLE u (id INT PRIMARY KEY, s VARCHAR(20), b VARBINARY(20))").expect("a table");
    for bytes in [&b"\xff"[..], b"ab\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"] {
        let refused = connection.exec_drop("INSERT INTO u (id, s) VALUES (1, ?)", (bytes,)).expect_err("no text");
        assert_eq!(code(&refused), 1366, "{bytes:?}");
        connection.exec_drop("REPLACE INTO u (id, b) VALUES (1, ?)", (bytes,)).expect("any bytes");
        assert_eq!(connection.query_first::<Vec<u8>, _>("SELECT b FROM u").expect("a read").as_deref(), Some(bytes));
    }
}

#[test]
fn a_result_comes_before_the_next_statement_has_run() {
    let server = server();
    let (mut holder, mut client) = (connect(&server), connect(&server));
    holder.query_drop("DO GET_LOCK('later', 0)").expect("a lock");
    let mut results =
        client.query_iter("SELECT 1; SELECT GET_LOCK('later', 30)").expect("the first result, while the second statement waits");
    assert_eq!(results.next().expect("a row").expect("a row").get::<u8, _>(0), Some(1));
    holder.query_drop("DO RELEASE_LOCK('later')").expect("no lock");
    // At the end of the first result the client reads the head of the second.
    assert!(results.next().is_none());
    let second: Vec<u8> = results.iter().expect("a second result").map(|row| row.expect("a row").get(0).expect("a value")).collect();
    assert_eq!(second, [1]);
}

#[test]
fn clients_that_leave_without_a_word_are_counted() {
    let server = server();
    let mut watcher = connect(&server);
    let aborted = |watcher: &mut Conn| {
        watcher.query_first::<(String, u64), _>("SHOW GLOBAL STATUS LIKE 'Aborted_clients'").expect("a counter").expect("a row").1
    };
    let before = aborted(&mut watcher);
    drop(connect(&server)); // this client says COM_QUIT
    let mut killed = connect(&server);
    watcher.query_drop(format!("KILL {}", killed.connection_id())).expect("a kill");
    until("the count", || aborted(&mut watcher) == before + 1);
    assert!(killed.query_drop("SELECT 1").is_err());
    assert_eq!(aborted(&mut watcher), before + 1);
}

#[test]
fn who_is_not_an_administrator_does_not_get_past_a_wrong_init_connect() {
    let server = server();
    let mut admin = connect(&server);
    admin.query_drop("CREATE USER ic IDENTIFIED BY 'pw'").expect("made");
    let raw = || {
        let options = OptsBuilder::from_opts(server.options(None)).user(Some("ic")).pass(Some("pw"));
        Conn::new(options)
    };
    // The client is let in, and told at its first statement, which drivers send at once; then it is hung up.
    for text in ["nothing that can be read", "SET @a = 1; ; SET @a = 2", " ", "SET @a = 1; SELECT * FROM nowhere.t", "KILL CONNECTION_ID()"]
    {
        admin.exec_drop("SET GLOBAL init_connect = ?", (text,)).expect("set");
        let refused = raw().and_then(|mut conn| conn.query_drop("SELECT 1"));
        match refused.expect_err(text) {
            Error::MySqlError(error) => {
                assert_eq!((error.code, &*error.state), (1184, "08S01"), "{text}");
                assert!(
                    error.message.ends_with("to db: 'unconnected' user: 'ic' host: 'localhost' (init_connect command failed)"),
                    "{error}"
                );
            }
            // Killed by itself: hung up without a word.
            other => assert!(text.starts_with("KILL"), "{text}: {other}"),
        }
        connect(&server).query_drop("SELECT 1").expect("an administrator mends it");
    }
    // One that takes its time keeps nobody out but who waits for it.
    admin.exec_drop("SET GLOBAL init_connect = ?", ("SELECT GET_LOCK('held', 600)",)).expect("set");
    admin.query_drop("DO GET_LOCK('held', 0)").expect("got");
    std::thread::scope(|scope| {
        // Each has the lock until it ends.
        let waiting: Vec<_> = (0..4).map(|_| scope.spawn(|| drop(raw().expect("let in")))).collect();
        until("they wait", || {
            let count = "SELECT COUNT(*) FROM information_schema.processlist WHERE USER = 'ic' AND STATE = 'User lock'";
            admin.query_first::<u32, _>(count).expect("a count") == Some(4)
        });
        connect(&server).query_drop("SELECT 1").expect("let in beside them");
        admin.query_drop("DO RELEASE_LOCK('held')").expect("given back");
        waiting.into_iter().for_each(|thread| thread.join().expect("no panic"));
    });
}

#[test]
fn a_statement_that_sleeps_over_rows_ends_with_its_time() {
    let server = server();
    let mut client = connect(&server);
    let error = client.query_drop("SELECT /*+ MAX_EXECUTION_TIME(1) */ id, SLEEP(100) FROM n WHERE id = 1").expect_err("too late");
    assert_eq!(code(&error), 3024);
    // Without a table there is no next row: the sleep says that it was cut short.
    assert_eq!(client.query_first::<u8, _>("SELECT /*+ MAX_EXECUTION_TIME(1) */ SLEEP(100)").expect("an answer"), Some(1));
}

#[test]
fn each_statement_of_a_text_has_its_own_time() {
    let server = server();
    let mut client = connect(&server);
    client.query_drop("SET max_execution_time = 1500").expect("a limit");
    // A sleep that is cut short is 1.
    let mut results = client.query_iter(["SELECT SLEEP(0.6)"; 4].join("; ")).expect("answers");
    let mut count = 0;
    while let Some(rows) = results.iter() {
        rows.for_each(|row| assert_eq!(row.expect("a row").get::<u8, _>(0), Some(0), "{count}"));
        count += 1;
    }
    assert_eq!(count, 4);
}

#[test]
fn a_parameter_that_is_selected_is_signed_as_it_is_bound() {
    let server = server();
    let mut clients = [connect(&server), connect(&server)];
    // The second client finds the first one's plan of the text.
    for client in &mut clients {
        let statement = client.prep("SELECT ? AS v").expect("a statement");
        for (value, unsigned) in [(mysql::Value::Int(-1), false), (mysql::Value::UInt(u64::MAX), true), (mysql::Value::Int(7), false)] {
            let result = client.exec_iter(&statement, (value,)).expect("a result");
            let flags = result.columns().as_ref()[0].flags();
            assert_eq!(flags.contains(mysql::consts::ColumnFlags::UNSIGNED_FLAG), unsigned);
        }
    }
}

/// EXPLAIN FOR CONNECTION shows what EXPLAIN of the statement shows that the other session runs, in its database, in each format; an idle session has nothing to explain.
#[test]
fn explain_for_connection_shows_the_plan_of_what_another_session_runs() {
    let server = server();
    let (mut watcher, mut holder) = (server.connect(), connect(&server));
    holder.query_drop("CREATE TABLE keyed (id INT PRIMARY KEY, k INT, KEY (k))").expect("a table");
    holder.query_drop("INSERT INTO keyed SELECT id, id % 10 FROM n").expect("rows");
    holder.query_drop("BEGIN").expect("a transaction");
    holder.query_drop("UPDATE keyed SET k = k").expect("locks");
    for sql in [
        "SELECT * FROM keyed WHERE k = 3 AND id > 100 FOR UPDATE",
        "SELECT n.v, keyed.id FROM keyed JOIN n ON n.id = keyed.k WHERE keyed.id BETWEEN 5 AND 9 FOR SHARE OF keyed",
        "UPDATE keyed SET k = k + 1 WHERE id = 7",
        "DELETE FROM keyed WHERE k = 4",
        "INSERT INTO keyed SELECT id, v FROM n WHERE id < 5",
        "REPLACE INTO keyed VALUES (1, 1)",
    ] {
        let mut victim = connect(&server);
        let id = victim.connection_id();
        let running = std::thread::spawn(move || victim.query::<mysql::Row, _>(sql).expect_err("it is stopped"));
        until_running(&mut watcher, id, "Query", sql);
        let mut beside = connect(&server);
        let rows = |conn: &mut Conn, explain: String| -> Vec<String> {
            let rows: Vec<mysql::Row> = conn.query(&explain).unwrap_or_else(|error| panic!("{explain}: {error}"));
            rows.into_iter().map(|row| format!("{:?}", row.unwrap())).collect()
        };
        for format in ["TRADITIONAL", "TREE", "JSON"] {
            let own = rows(&mut beside, format!("EXPLAIN FORMAT={format} {sql}"));
            assert!(!own.is_empty(), "{sql}");
            assert_eq!(rows(&mut watcher, format!("EXPLAIN FORMAT={format} FOR CONNECTION {id}")), own, "{sql}");
        }
        watcher.query_drop(format!("KILL QUERY {id}")).expect("a kill");
        assert_eq!(code(&running.join().expect("no panic")), 1317, "{sql}");
    }
    let id = holder.connection_id();
    let idle: Vec<mysql::Row> = watcher.query(format!("EXPLAIN FORMAT=TRADITIONAL FOR CONNECTION {id}")).expect("nothing");
    assert_eq!(idle.len(), 0);
}
