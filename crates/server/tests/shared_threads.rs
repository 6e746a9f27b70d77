//! Sessions that share threads, against the real server: what they keep while they are parked, how they end, that who holds something is served, and that nobody waits behind
//! statements of others.

mod numbers;

use harness::{Server, code, run_all, until};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use numbers::connect;
use std::collections::HashMap;
use std::sync::Barrier;

/// Runs for hours if nobody stops it.
const ENDLESS: &str = "SELECT COUNT(*) FROM n a JOIN n b JOIN n c JOIN n d WHERE a.v + b.v + c.v + d.v < 0";

fn server(shared_from: u32) -> Server {
    let setting = format!("altiplano_shared_threads_from={shared_from}");
    // Who has a thread of its own keeps it: `idle.rs` is about silence, and one test here about sessions at work.
    let kept = ["--set", "altiplano_rest_after=0", "--set", "altiplano_shared_threads_at_work=0"];
    let settings = ["--set", &setting, "--set", "max_connections=5000"];
    numbers::server(&[&settings[..], &kept].concat(), 1000)
}

fn counters(watcher: &mut Conn) -> HashMap<String, u64> {
    let list: Vec<(String, u64)> = watcher
        .query("SHOW GLOBAL STATUS WHERE Variable_name LIKE 'Altiplano_sessions%' OR Variable_name LIKE 'Altiplano_threads%' OR Variable_name LIKE 'Threads_c%'")
        .expect("counters");
    list.into_iter().collect()
}

/// Waits until so many sessions are parked. The watcher itself is not: it asks.
fn until_parked(watcher: &mut Conn, count: u64) {
    until("they are parked", || counters(watcher)["Altiplano_sessions_parked"] == count);
}

/// Waits until they have also given back memory.
fn until_resting(watcher: &mut Conn, count: u64) {
    until("they rest", || counters(watcher)["Altiplano_sessions_resting"] == count);
}

#[test]
fn the_variable_is_shown_and_fixed() {
    let server = server(7);
    let mut connection = connect(&server);
    let shown: Option<(String, u32)> = connection.query_first("SHOW VARIABLES LIKE 'altiplano_shared_threads_from'").expect("a variable");
    assert_eq!(shown, Some(("altiplano_shared_threads_from".to_owned(), 7)));
    assert_eq!(code(&connection.query_drop("SET GLOBAL altiplano_shared_threads_from = 8").expect_err("only at start")), 1238);
}

/// Off, each reply is sent for itself; either way each client gets its own.
#[test]
fn replies_go_together_unless_that_is_off() {
    for together in [0, 1] {
        let setting = format!("altiplano_replies_together={together}");
        let server = numbers::server(&["--set", &setting, "--set", "altiplano_shared_threads_from=0"], 1000);
        let mut watcher = connect(&server);
        assert_eq!(code(&watcher.query_drop("SET GLOBAL altiplano_replies_together = 0").expect_err("only at start")), 1238);
        let sent = |watcher: &mut Conn| {
            let list: Vec<(String, u64)> = watcher.query("SHOW GLOBAL STATUS LIKE 'Altiplano_repl%'").expect("counters");
            list.into_iter().collect::<HashMap<_, _>>()
        };
        let mut clients: Vec<Conn> = (0..32).map(|_| connect(&server)).collect();
        until("all have been answered many times, and together", || {
            std::thread::scope(|scope| {
                for (client, connection) in clients.iter_mut().enumerate() {
                    scope.spawn(move || {
                        for n in 0..20 {
                            let id = 1 + (client * 20 + n) as u64;
                            let found = connection.exec_first::<u64, _, _>("SELECT id FROM n WHERE id = ?", (id,)).expect("a row");
                            assert_eq!(found, Some(id));
                            connection.exec_drop("UPDATE n SET v = v + 1 WHERE id = ?", (id,)).expect("an update");
                        }
                    });
                }
            });
            let sent = sent(&mut watcher);
            assert!(sent["Altiplano_replies_together"] >= 2 * sent["Altiplano_reply_batches"]);
            sent["Altiplano_replies_together"] > 100 || together == 0 || env::Sends::new().is_none()
        });
        assert_eq!(sent(&mut watcher)["Altiplano_replies_together"] > 0, together == 1 && env::Sends::new().is_some());
        let uneven: Option<u64> = watcher.query_first("SELECT COUNT(DISTINCT v) FROM n WHERE id <= 640").expect("a count");
        assert_eq!(uneven, Some(1), "each row was changed as often as all others");
    }
}

#[test]
fn sessions_are_parked_from_that_many_connections_on_and_no_longer_below() {
    let server = server(20);
    let mut watcher = connect(&server);
    let mut few: Vec<Conn> = (0..10).map(|_| connect(&server)).collect();
    for connection in &mut few {
        connection.query_drop("SELECT 1").expect("an answer");
    }
    assert_eq!(counters(&mut watcher)["Altiplano_sessions_parked"], 0);
    let mut more: Vec<Conn> = (0..50).map(|_| connect(&server)).collect();
    // Those that were there have threads of their own until they are asked.
    for connection in few.iter_mut().chain(&mut more) {
        assert_eq!(connection.query_first::<u8, _>("SELECT 1").expect("an answer"), Some(1));
    }
    until_parked(&mut watcher, 60);
    drop(more);
    until("they have gone", || counters(&mut watcher)["Threads_connected"] == 11);
    for _ in 0..3 {
        for connection in &mut few {
            assert_eq!(connection.query_first::<u8, _>("SELECT 1").expect("an answer"), Some(1));
        }
    }
    assert_eq!(counters(&mut watcher)["Altiplano_sessions_parked"], 0);
}

/// Four that ask all the time share threads though they are few; one of them that goes on has one of its own again.
#[test]
fn few_sessions_share_threads_while_many_of_them_are_at_work() {
    if std::thread::available_parallelism().is_ok_and(|processors| processors.get() == 1) {
        return;
    }
    let server = numbers::server(&["--set", "altiplano_rest_after=0"], 10);
    let mut watcher = connect(&server);
    let mut connections: Vec<Conn> = (0..4).map(|_| connect(&server)).collect();
    let mut parked_after = |connections: &mut [Conn]| {
        for _ in 0..1000 {
            for connection in &mut *connections {
                assert_eq!(connection.query_first::<u8, _>("SELECT 1").expect("an answer"), Some(1));
            }
        }
        counters(&mut watcher)["Altiplano_sessions_parked"]
    };
    assert_eq!(parked_after(&mut connections[..1]), 0);
    until("all are parked between two commands", || parked_after(&mut connections) == 4);
    until("one is not any more", || parked_after(&mut connections[..1]) == 3);
}

#[test]
fn a_parked_session_keeps_what_it_has() {
    let server = server(0);
    let mut watcher = connect(&server);
    // More than there are threads, so that they change hands.
    let mut connections: Vec<Conn> = (0..60).map(|_| connect(&server)).collect();
    let mut statements = Vec::new();
    watcher.query_drop("CREATE DATABASE e").expect("another database");
    watcher.query_drop("CREATE TABLE e.only_here (v INT)").expect("a table");
    for (n, connection) in connections.iter_mut().enumerate() {
        connection.query_drop(format!("SET @a = {n}, @b = 'text {n}', SESSION group_concat_max_len = {}", 100_000 + n)).expect("variables");
        connection
            .query_drop("SET SESSION transaction_isolation = 'READ-COMMITTED', sql_mode = 'ANSI_QUOTES', time_zone = '+05:00'")
            .expect("settings");
        connection.query_drop(format!("PREPARE p FROM 'SELECT ? + {n}'")).expect("prepared by text");
        statements.push(connection.prep("SELECT v + ? FROM d.n WHERE id = ?").expect("prepared"));
        connection.query_drop("INSERT INTO n (v) VALUES (5)").expect("a row");
        if n % 2 == 0 {
            connection.query_drop("USE e").expect("the other database");
        }
        connection.query_drop("SELECT CAST('x' AS SIGNED)").expect("with a warning");
    }
    until_parked(&mut watcher, 60);
    until_resting(&mut watcher, 60);
    let mut inserted = Vec::new();
    for (n, (connection, statement)) in connections.iter_mut().zip(&statements).enumerate() {
        let warnings: Vec<(String, u16, String)> = connection.query("SHOW WARNINGS").expect("a list");
        assert_eq!(warnings.iter().map(|w| w.1).collect::<Vec<_>>(), [1292]);
        let kept: Option<(usize, String, usize, String, String, String)> = connection
            .query_first("SELECT @a, @b, @@group_concat_max_len, @@transaction_isolation, @@sql_mode, @@time_zone")
            .expect("an answer");
        let expect = (n, format!("text {n}"), 100_000 + n, "READ-COMMITTED".to_owned(), "ANSI_QUOTES".to_owned(), "+05:00".to_owned());
        assert_eq!(kept, Some(expect));
        assert_eq!(connection.query_first::<usize, _>("EXECUTE p USING @a").expect("an answer"), Some(2 * n));
        assert_eq!(connection.exec_first::<u32, _, _>(statement, (n, 7)).expect("an answer"), Some(n as u32 + 1));
        inserted.push(connection.query_first::<u64, _>("SELECT LAST_INSERT_ID()").expect("an answer").expect("a number"));
        let database: Option<String> = connection.query_first("SELECT DATABASE()").expect("an answer");
        assert_eq!(database.as_deref(), Some(if n % 2 == 0 { "e" } else { "d" }));
        assert_eq!(connection.query_drop("SELECT * FROM only_here").is_ok(), n % 2 == 0);
    }
    assert_eq!(inserted, (1001..=1060).collect::<Vec<u64>>());
}

#[test]
fn who_holds_what_others_may_wait_for_is_parked_and_goes_on() {
    let server = server(0);
    let (mut watcher, mut holder, _bystander) = (connect(&server), connect(&server), connect(&server));
    watcher.query_drop("CREATE TABLE m (id INT PRIMARY KEY)").expect("a table");
    for (takes, gives) in [
        (&["BEGIN", "SELECT * FROM n WHERE id = 1"][..], &["COMMIT"][..]),
        (&["BEGIN"], &["ROLLBACK"]),
        (&["START TRANSACTION WITH CONSISTENT SNAPSHOT"], &["COMMIT"]),
        (&["SET autocommit = 0", "SELECT * FROM n WHERE id = 1"], &["COMMIT", "SET autocommit = 1"]),
        (&["BEGIN", "UPDATE n SET v = 2 WHERE id = 1"], &["COMMIT AND CHAIN", "COMMIT"]),
        (&["DO GET_LOCK('l', 0)"], &["DO RELEASE_LOCK('l')"]),
        (&["LOCK TABLES n READ"], &["UNLOCK TABLES"]),
        (&["LOCK TABLES n WRITE, m READ"], &["UNLOCK TABLES"]),
        (&["FLUSH TABLES n WITH READ LOCK"], &["UNLOCK TABLES"]),
        (&["FLUSH TABLES WITH READ LOCK"], &["UNLOCK TABLES"]),
        (&["LOCK INSTANCE FOR BACKUP"], &["UNLOCK INSTANCE"]),
        (&["XA START 'x'", "UPDATE n SET v = 3 WHERE id = 1"], &["XA END 'x'", "XA COMMIT 'x' ONE PHASE"]),
        (&["XA START 'y'", "UPDATE n SET v = 3 WHERE id = 1", "XA END 'y'"], &["XA ROLLBACK 'y'"]),
    ] {
        until_parked(&mut watcher, 2);
        run_all(&mut holder, takes);
        until_parked(&mut watcher, 2);
        assert_eq!(watcher.query_first::<u8, _>("SELECT 1").expect("an answer"), Some(1));
        run_all(&mut holder, gives);
    }
    until_parked(&mut watcher, 2);
}

/// Many more wait for what a parked session holds than there are posts, or slots: it is served all the same, and then they.
#[test]
fn a_parked_session_for_whose_row_many_wait_is_served() {
    const COUNT: usize = 60;
    let server = server(0);
    let (mut watcher, mut holder) = (connect(&server), connect(&server));
    let mut waiters: Vec<Conn> = (0..COUNT).map(|_| connect(&server)).collect();
    for round in 1..=3u64 {
        run_all(&mut holder, &["BEGIN", "UPDATE n SET v = v + 1 WHERE id = 1"]);
        std::thread::scope(|scope| {
            for connection in &mut waiters {
                std::thread::Builder::new()
                    .stack_size(256 << 10)
                    .spawn_scoped(scope, move || run_all(connection, &["BEGIN", "UPDATE n SET v = v + 1 WHERE id = 1", "COMMIT"]))
                    .expect("a thread");
            }
            until("many wait", || {
                let sql = "SELECT COUNT(*) FROM performance_schema.data_lock_waits";
                watcher.query_first::<u64, _>(sql).expect("a count") > Some(8)
            });
            assert_eq!(holder.query_first::<u32, _>("SELECT COUNT(*) FROM n WHERE id < 10").expect("an answer"), Some(9));
            holder.query_drop("COMMIT").expect("a commit");
        });
        let changed = watcher.query_first::<u64, _>("SELECT v FROM n WHERE id = 1").expect("a row");
        assert_eq!(changed, Some(1 + round * (COUNT as u64 + 1)));
    }
}

#[test]
fn parked_sessions_are_killed_time_out_and_end_with_their_clients() {
    let server = server(0);
    let (mut watcher, mut victim, mut other) = (connect(&server), connect(&server), connect(&server));
    until_parked(&mut watcher, 2);
    // A KILL QUERY of a session that runs nothing stops nothing.
    watcher.query_drop(format!("KILL QUERY {}", victim.connection_id())).expect("a kill");
    until_parked(&mut watcher, 2);
    assert_eq!(victim.query_first::<u32, _>("SELECT COUNT(*) FROM n").expect("an answer"), Some(1000));
    until_parked(&mut watcher, 2);
    watcher.query_drop(format!("KILL {}", victim.connection_id())).expect("a kill");
    until("it has gone", || counters(&mut watcher)["Threads_connected"] == 2);
    assert!(victim.query_drop("SELECT 1").is_err());
    // wait_timeout, which begins anew with each command, and interactive_timeout.
    let ids = |watcher: &mut Conn| watcher.query::<u32, _>("SELECT ID FROM information_schema.PROCESSLIST ORDER BY ID").expect("a list");
    other.query_drop("SET SESSION wait_timeout = 1").expect("a time");
    until("it has timed out", || ids(&mut watcher) == [watcher.connection_id()]);
    assert!(other.query_drop("SELECT 1").is_err());
    watcher.query_drop("SET GLOBAL interactive_timeout = 1").expect("a time");
    let capabilities = mysql::consts::CapabilityFlags::CLIENT_INTERACTIVE;
    let mut interactive =
        Conn::new(OptsBuilder::from_opts(server.options(None)).additional_capabilities(capabilities)).expect("a connection");
    assert_eq!(interactive.query_first::<u32, _>("SELECT @@wait_timeout").expect("an answer"), Some(1));
    let patient = connect(&server);
    until("it has timed out", || ids(&mut watcher) == [watcher.connection_id(), patient.connection_id()]);
    drop((interactive, patient));
    until("the client's end is seen", || counters(&mut watcher)["Threads_connected"] == 1);
    assert_eq!(counters(&mut watcher)["Altiplano_sessions_parked"], 0);
}

#[test]
fn a_stop_ends_parked_sessions() {
    let mut server = server(0);
    let mut watcher = connect(&server);
    let connections: Vec<Conn> = (0..300).map(|_| connect(&server)).collect();
    until_parked(&mut watcher, 300);
    assert_eq!(server.stop(), Some(0));
    for mut connection in connections {
        assert!(connection.query_drop("SELECT 1").is_err());
    }
}

/// More sessions than the crew has members wait for a lock with a name, and as many for a row, which only a session among the parked gives back.
#[test]
fn waits_of_many_members_block_nobody() {
    const WAITING: u64 = 150;
    let server = server(0);
    let mut watcher = connect(&server);
    let (mut holder, mut quick) = (connect(&server), connect(&server));
    holder.query_drop("DO GET_LOCK('gate', 0)").expect("the lock");
    holder.query_drop("BEGIN").expect("a transaction");
    holder.query_drop("UPDATE n SET v = 2 WHERE id = 1").expect("a row");
    let mut waiting: Vec<Conn> = (0..WAITING).map(|_| connect(&server)).collect();
    until_parked(&mut watcher, WAITING + 2);
    let all = Barrier::new(WAITING as usize + 1);
    std::thread::scope(|scope| {
        for (n, connection) in waiting.iter_mut().enumerate() {
            let all = &all;
            std::thread::Builder::new()
                .stack_size(256 << 10)
                .spawn_scoped(scope, move || {
                    all.wait();
                    let statement =
                        if n % 2 == 0 { "DO GET_LOCK('gate', 1000), RELEASE_LOCK('gate')" } else { "UPDATE n SET v = v + 1 WHERE id = 1" };
                    connection.query_drop(statement).expect("in the end");
                })
                .expect("a thread");
        }
        all.wait();
        until("all wait", || {
            let sql = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE IN ('User lock', 'Waiting for row lock')";
            watcher.query_first::<u64, _>(sql).expect("a count") == Some(WAITING)
        });
        // Who waits for the row needs no thread (`row_waits.rs`).
        assert!(counters(&mut watcher)["Altiplano_threads_shared"] >= WAITING / 2);
        assert_eq!(counters(&mut watcher)["Altiplano_sessions_waiting_for_rows"], WAITING / 2);
        for n in 0..20 {
            for statement in ["BEGIN".to_owned(), format!("UPDATE n SET v = 3 WHERE id = {}", n + 2), "COMMIT".to_owned()] {
                quick.query_drop(statement).expect("a short transaction");
            }
        }
        holder.query_drop("COMMIT").expect("the row is free");
        holder.query_drop("DO RELEASE_LOCK('gate')").expect("the lock is free");
    });
    assert_eq!(watcher.query_first::<u64, _>("SELECT v FROM n WHERE id = 1").expect("a row"), Some(2 + WAITING / 2));
    until_parked(&mut watcher, WAITING + 2);
}

/// The same with statements that compute, and sleep.
#[test]
fn long_statements_of_many_members_block_nobody() {
    const LONG: u64 = 80;
    let server = server(0);
    let mut watcher = connect(&server);
    let mut quick = connect(&server);
    let mut long: Vec<Conn> = (0..LONG).map(|_| connect(&server)).collect();
    until_parked(&mut watcher, LONG + 1);
    std::thread::scope(|scope| {
        for (n, connection) in long.iter_mut().enumerate() {
            std::thread::Builder::new()
                .stack_size(256 << 10)
                .spawn_scoped(scope, move || {
                    let stopped = connection.query_first::<u64, _>(if n % 2 == 0 { ENDLESS } else { "SELECT SLEEP(1000)" });
                    assert!(matches!(&stopped, Ok(Some(1))) || matches!(&stopped, Err(error) if code(error) == 1317), "{stopped:?}");
                })
                .expect("a thread");
        }
        let running = "SELECT ID FROM information_schema.PROCESSLIST WHERE COMMAND = 'Query' AND ID <> CONNECTION_ID()";
        until("all run", || watcher.query::<u32, _>(running).expect("a list").len() as u64 == LONG);
        for n in 0..20 {
            for statement in ["BEGIN".to_owned(), format!("UPDATE n SET v = 3 WHERE id = {}", n + 2), "COMMIT".to_owned()] {
                quick.query_drop(statement).expect("a short transaction");
            }
        }
        for id in watcher.query::<u32, _>(running).expect("a list") {
            watcher.query_drop(format!("KILL QUERY {id}")).expect("a kill");
        }
    });
    until_parked(&mut watcher, LONG + 1);
}

/// Sessions that a thread serves one after the other use its buffers and plans: the same text means to each what it means to it.
#[test]
fn one_text_means_to_each_session_what_its_own_state_says() {
    let server = server(0);
    let mut watcher = connect(&server);
    for name in ["d0", "d1"] {
        watcher.query_drop(format!("CREATE DATABASE {name}")).expect("a database");
        watcher.query_drop(format!("CREATE TABLE {name}.t (id INT PRIMARY KEY, v VARCHAR(10))")).expect("a table");
        watcher.query_drop(format!("INSERT INTO {name}.t VALUES (1, '{name}')")).expect("a row");
    }
    watcher.query_drop("CREATE USER reader IDENTIFIED BY ''").expect("an account");
    watcher.query_drop("GRANT SELECT ON d0.* TO reader").expect("a right");
    // More than there are threads, and all kinds on each of them.
    let mut connections: Vec<Conn> = (0..70)
        .map(|n| {
            let options = server.options(Some(if n % 2 == 0 { "d0" } else { "d1" }));
            let options = OptsBuilder::from_opts(options);
            let options = if n % 14 == 0 { options.user(Some("reader")).pass(Some("")) } else { options };
            Conn::new(options).expect("a connection")
        })
        .collect();
    for (n, connection) in connections.iter_mut().enumerate() {
        if n % 3 == 0 {
            connection.query_drop("SET sql_mode = 'ANSI_QUOTES'").expect("a mode");
        }
        if n % 5 == 0 && n % 7 != 0 {
            connection.query_drop("CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, v VARCHAR(10))").expect("a table of its own");
            connection.query_drop("INSERT INTO t VALUES (1, 'own')").expect("a row");
        }
        connection.query_drop(if n % 2 == 0 { "SET @u = 1" } else { "SET @u = '1x'" }).expect("a variable");
    }
    for _ in 0..3 {
        for (n, connection) in connections.iter_mut().enumerate() {
            let v: Option<String> = connection.query_first("SELECT v FROM t WHERE id = 1").expect("an answer");
            let expected = if n % 5 == 0 && n % 7 != 0 { "own".to_owned() } else { format!("d{}", n % 2) };
            assert_eq!(v, Some(expected), "session {n}");
            let quoted = connection.query_first::<String, _>(r#"SELECT "v" FROM t WHERE id = 1"#).expect("an answer");
            assert_eq!(quoted.as_deref() == Some("v"), n % 3 != 0, "session {n}");
            let sum: Option<String> = connection
                .query_first("SELECT @u + 1, 'which reads the variable'")
                .map(|row: Option<(String, String)>| row.map(|r| r.0))
                .expect("an answer");
            assert_eq!(sum.as_deref(), Some("2"), "session {n}");
            let written = connection.query_drop("UPDATE t SET v = v WHERE id = 1");
            match n % 14 == 0 {
                true => assert_eq!(code(&written.expect_err("it may only read")), 1142, "session {n}"),
                false => written.expect("it may write"),
            }
        }
    }
}

/// Those who would wait for a slot of admission wait on their seats: a thread for each would be what sharing is to spare.
#[test]
fn a_crew_does_not_grow_for_those_who_would_wait_for_admission() {
    const CLIENTS: usize = 200;
    let server = server(0);
    let mut watcher = connect(&server);
    watcher.query_drop("SET GLOBAL altiplano_admission = 'fixed:4'").expect("a limit");
    let mut connections: Vec<Conn> = (0..CLIENTS).map(|_| connect(&server)).collect();
    until_parked(&mut watcher, CLIENTS as u64);
    let most = std::sync::atomic::AtomicU64::new(0);
    let (start, left) = (Barrier::new(CLIENTS), std::sync::atomic::AtomicUsize::new(CLIENTS));
    std::thread::scope(|scope| {
        for connection in &mut connections {
            let (start, left) = (&start, &left);
            scope.spawn(move || {
                start.wait();
                for _ in 0..20 {
                    connection.query_drop("SELECT COUNT(*) FROM n WHERE v + id > 5").expect("an answer");
                }
                left.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
            });
        }
        while left.load(std::sync::atomic::Ordering::SeqCst) > 0 {
            let shared = counters(&mut watcher)["Altiplano_threads_shared"];
            most.fetch_max(shared, std::sync::atomic::Ordering::SeqCst);
        }
    });
    let most = most.into_inner();
    // 32 at least; while a test beside takes the processors a few more.
    assert!((1..CLIENTS as u64 / 2).contains(&most), "{most} threads for {CLIENTS} clients and four slots");
}

/// Who has begun a transaction before stands outside until there is a slot, so that hardly anybody waits for one with a thread; and what idle transactions hold is taken from them for those outside.
#[test]
fn who_begins_transactions_is_let_in_when_there_is_a_slot() {
    const CLIENTS: u64 = 24;
    const EACH: u64 = 40;
    let server = server(0);
    let mut watcher = connect(&server);
    watcher.query_drop("SET GLOBAL altiplano_admission = 'fixed:3'").expect("a limit");
    let admission = |watcher: &mut Conn| {
        let list: Vec<(String, u64)> = watcher.query("SHOW STATUS LIKE 'Altiplano_admission%'").expect("counters");
        HashMap::from_iter(list)
    };
    let transaction = |connection: &mut Conn, id: u64| {
        for statement in ["BEGIN".to_owned(), format!("UPDATE n SET v = v + 1 WHERE id = {id}"), "COMMIT".to_owned()] {
            connection.query_drop(statement).expect("a short transaction");
        }
    };
    let mut connections: Vec<Conn> = (0..CLIENTS).map(|_| connect(&server)).collect();
    // From now on each is known to ask for a slot.
    connections.iter_mut().zip(1..).for_each(|(connection, id)| transaction(connection, id));
    let mut idle: Vec<Conn> = (0..3).map(|_| connect(&server)).collect();
    idle.iter_mut().for_each(|connection| connection.query_drop("BEGIN").expect("a slot"));
    let before: HashMap<String, u64> = admission(&mut watcher);
    std::thread::scope(|scope| {
        for (connection, id) in connections.iter_mut().zip(1..) {
            scope.spawn(move || (0..EACH).for_each(|_| transaction(connection, id)));
        }
    });
    let after = admission(&mut watcher);
    let grown = |name: &str| after[name] - before[name];
    assert!(grown("Altiplano_admission_revoked") >= 3, "the idle ones' slots");
    let waits = grown("Altiplano_admission_waits");
    assert!(waits < CLIENTS * EACH / 2, "{waits} of {} transactions waited inside", CLIENTS * EACH);
    let sum: Option<u64> = watcher.query_first(format!("SELECT SUM(v) FROM n WHERE id <= {CLIENTS}")).expect("a sum");
    assert_eq!(sum, Some(CLIENTS * (EACH + 2)));
    idle.iter_mut().for_each(|connection| connection.query_drop("COMMIT").expect("it goes on"));
}

/// The answer to the last statement of a text may wait for the log when those to the others have been sent.
#[test]
fn packets_of_several_results_are_numbered_on_over_a_wait_for_the_log() {
    let server = server(0);
    let mut clients: Vec<Conn> = (0..4).map(|_| connect(&server)).collect();
    std::thread::scope(|scope| {
        for (client, connection) in clients.iter_mut().enumerate() {
            scope.spawn(move || {
                let first = 1 + 3 * client;
                let text =
                    format!("UPDATE n SET v = v + 1 WHERE id = {first}; UPDATE n SET v = v + 1 WHERE id IN ({}, {})", first + 1, first + 2);
                for _ in 0..25 {
                    let mut results = connection.query_iter(&text).expect("an answer whose packets are in order");
                    let mut changed = Vec::new();
                    while let Some(result) = results.iter() {
                        changed.push(result.affected_rows());
                    }
                    drop(results);
                    assert_eq!(changed, [1, 2]);
                }
            });
        }
    });
}
