//! Waits for rows that no thread sleeps for, against the real server with shared threads: who waits is seen as one whose thread sleeps, and every end of such a wait is what it is there.

mod numbers;

use harness::{Server, code, run_all, until};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use numbers::connect;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

fn server() -> Server {
    numbers::server(&["--set", "altiplano_shared_threads_from=0", "--set", "max_connections=2000"], 1000)
}

/// Rows that have a name of their own beside their number.
const NAMED: &str = "CREATE TABLE u (id INT PRIMARY KEY, name VARCHAR(20) UNIQUE, v INT NOT NULL)";

fn counter(watcher: &mut Conn, name: &str) -> u64 {
    let shown: Option<(String, u64)> = watcher.query_first(format!("SHOW GLOBAL STATUS LIKE '{name}'")).expect("an answer");
    shown.expect("a counter").1
}

/// Waits until all sessions but the watcher's are parked. One whose client has spoken at the very end of its login has a thread of its own until its client pauses, and waits on that.
fn until_parked(watcher: &mut Conn) {
    until("they are parked", || counter(watcher, "Altiplano_sessions_parked") + 1 == counter(watcher, "Threads_connected"));
}

/// Waits until so many statements wait for rows without a thread.
#[track_caller]
fn until_waiting(watcher: &mut Conn, count: u64) {
    until("they wait", || counter(watcher, "Altiplano_sessions_waiting_for_rows") == count);
}

/// Waits until this statement waits: without a thread, unless it says otherwise.
fn until_one_waits(watcher: &mut Conn, sql: &str) {
    let sleeps = sql.contains("on its thread");
    let listed = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'Waiting for row lock'";
    until(sql, || watcher.query_first::<u64, _>(listed).expect("a count") == Some(1));
    // It says so a moment before it has left its thread.
    until_waiting(watcher, u64::from(!sleeps));
}

/// A client on a thread with a small stack: there are hundreds.
fn client<'s, T: Send + 's>(scope: &'s Scope<'s, '_>, run: impl FnOnce() -> T + Send + 's) -> ScopedJoinHandle<'s, T> {
    Builder::new().stack_size(256 << 10).spawn_scoped(scope, run).expect("a thread")
}

fn value_of(watcher: &mut Conn, id: u32) -> Option<u64> {
    watcher.query_first(format!("SELECT v FROM n WHERE id = {id}")).expect("an answer")
}

/// Three hundred wait for one row, in every way that needs no thread, and hardly a thread more is there. Each then does its work once.
#[test]
fn hundreds_wait_for_a_row_without_threads() {
    const WAITING: u64 = 300;
    let server = server();
    let (mut watcher, mut holder) = (connect(&server), connect(&server));
    let mut waiting: Vec<Conn> = (0..WAITING).map(|_| connect(&server)).collect();
    until_parked(&mut watcher);
    for isolation in ["REPEATABLE READ", "READ COMMITTED"] {
        let (before, updates) = (value_of(&mut watcher, 1).expect("a row"), counter(&mut watcher, "Com_update"));
        run_all(&mut holder, &["BEGIN", "UPDATE n SET v = v + 1 WHERE id = 1"]);
        std::thread::scope(|scope| {
            for (n, connection) in waiting.iter_mut().enumerate() {
                client(scope, move || {
                    connection.query_drop(format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")).expect("a level");
                    match n % 5 {
                        0 => connection.query_drop("UPDATE n SET v = v + 1 WHERE id = 1").expect("in the end"),
                        1 => connection.exec_drop("UPDATE n SET v = v + ? WHERE id = ?", (1, 1)).expect("in the end"),
                        2 => {
                            connection.query_drop("BEGIN").expect("a transaction");
                            let seen: u64 = connection
                                .query_first("SELECT v FROM n WHERE id = 1 LIMIT 1 FOR UPDATE")
                                .expect("in the end")
                                .expect("a row");
                            connection.query_drop(format!("UPDATE n SET v = {} WHERE id = 1", seen + 1)).expect("its own");
                            connection.query_drop("COMMIT").expect("a commit");
                        }
                        3 => {
                            connection.query_drop("BEGIN").expect("a transaction");
                            let own = n + 100;
                            connection.query_drop(format!("UPDATE n SET v = 7 WHERE id = {own}")).expect("its own");
                            let seen: u64 =
                                connection.exec_first("SELECT v FROM n WHERE id = ? FOR UPDATE", (1,)).expect("in the end").expect("a row");
                            connection.exec_drop("UPDATE n SET v = ? WHERE id = 1", (seen + 1,)).expect("its own");
                            assert_eq!(value_of(connection, own as u32), Some(7), "what it did before it waited stands");
                            connection.query_drop("COMMIT").expect("a commit");
                        }
                        _ => {
                            let seen: Option<u64> = connection.query_first("SELECT v FROM n WHERE id = 1 FOR SHARE").expect("in the end");
                            assert!(seen > Some(before), "what the holder has done is seen");
                        }
                    }
                });
            }
            until_waiting(&mut watcher, WAITING);
            assert!(
                counter(&mut watcher, "Altiplano_threads_shared") < WAITING / 3,
                "those of sessions that wait for slots stay for a while"
            );
            let sql = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'Waiting for row lock'";
            assert_eq!(watcher.query_first::<u64, _>(sql).expect("a count"), Some(WAITING));
            let sql = "SELECT COUNT(DISTINCT REQUESTING_ENGINE_LOCK_ID) FROM performance_schema.data_lock_waits";
            assert_eq!(watcher.query_first::<u64, _>(sql).expect("a count"), Some(WAITING));
            let sql = "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'";
            assert_eq!(watcher.query_first::<u64, _>(sql).expect("a count"), Some(WAITING));
            run_all(&mut holder, &["COMMIT"]);
        });
        until_waiting(&mut watcher, 0);
        assert_eq!(value_of(&mut watcher, 1), Some(before + 1 + WAITING / 5 * 4));
        // The holder's, one of each that changes the row, and one more of those that changed another before.
        assert_eq!(counter(&mut watcher, "Com_update") - updates, 1 + WAITING / 5 * 5, "a statement that waits is counted once");
    }
}

/// KILL QUERY, KILL, the time limit of the wait, that of a query, and a client that goes end a wait; what the transaction did before stands, where it does so in MySQL.
#[test]
fn waits_end_as_those_of_threads_do() {
    let server = server();
    let (mut watcher, mut holder) = (connect(&server), connect(&server));
    run_all(&mut holder, &["BEGIN", "UPDATE n SET v = 5 WHERE id = 1"]);
    let begun = |watcher: &mut Conn, id: u32| {
        let mut connection = connect(&server);
        until_parked(watcher);
        run_all(&mut connection, &["BEGIN", &format!("UPDATE n SET v = 2 WHERE id = {id}")]);
        connection
    };
    let update = "UPDATE n SET v = v + 1 WHERE id = 1";
    // KILL QUERY.
    let mut killed = begun(&mut watcher, 10);
    let id = killed.connection_id();
    std::thread::scope(|scope| {
        let waits = client(scope, || killed.query_drop(update));
        until_waiting(&mut watcher, 1);
        watcher.query_drop(format!("KILL QUERY {id}")).expect("a kill");
        assert_eq!(code(&waits.join().expect("no panic").expect_err("killed")), 1317);
    });
    assert_eq!(value_of(&mut killed, 10), Some(2), "its transaction goes on");
    killed.query_drop("COMMIT").expect("a commit");
    // KILL: its transaction is rolled back.
    let mut ended = begun(&mut watcher, 11);
    let id = ended.connection_id();
    std::thread::scope(|scope| {
        let waits = client(scope, || ended.query_drop(update));
        until_waiting(&mut watcher, 1);
        watcher.query_drop(format!("KILL {id}")).expect("a kill");
        assert!(waits.join().expect("no panic").is_err());
    });
    // The time of the wait, of a change and of a read; then the statement can be run again.
    let mut impatient = begun(&mut watcher, 12);
    impatient.query_drop("SET innodb_lock_wait_timeout = 1").expect("a time");
    for sql in [update, "SELECT v FROM n WHERE id = 1 FOR UPDATE", "DELETE FROM n WHERE id = 1"] {
        assert_eq!(code(&impatient.query_drop(sql).expect_err("late")), 1205, "{sql}");
    }
    assert_eq!(code(&impatient.exec_drop("UPDATE n SET v = ? WHERE id = 1", (1,)).expect_err("late")), 1205);
    assert_eq!(value_of(&mut impatient, 12), Some(2), "its transaction goes on");
    // The time of a query.
    let late = impatient.query_drop("SELECT /*+ MAX_EXECUTION_TIME(300) */ v FROM n WHERE id = 1 FOR UPDATE").expect_err("late");
    assert!([3024, 1205].contains(&code(&late)), "{late}");
    // A client that goes: seen at a look of the watcher.
    let mut gone =
        Conn::new(OptsBuilder::from_opts(server.options(Some("d"))).read_timeout(Some(Duration::from_millis(500)))).expect("a connection");
    let id = gone.connection_id();
    until_parked(&mut watcher);
    run_all(&mut gone, &["BEGIN", "UPDATE n SET v = 2 WHERE id = 13"]);
    assert!(gone.query_drop(update).is_err(), "nobody answers");
    drop(gone);
    let listed = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {id}");
    until("it has gone", || watcher.query_first::<u64, _>(&listed).expect("a count") == Some(0));
    until_waiting(&mut watcher, 0);
    run_all(&mut holder, &["COMMIT"]);
    run_all(&mut impatient, &[update, "COMMIT"]);
    assert_eq!([1, 10, 11, 12, 13].map(|id| value_of(&mut watcher, id)), [Some(6), Some(2), Some(1), Some(2), Some(1)]);
}

/// Whatever finds one row by a unique key waits for it without a thread, and is as if it had slept: what it tells is told once, and it has done its work once. What reads ranges does so as well, on its thread.
#[test]
fn statements_of_one_row_wait_without_threads() {
    let server = server();
    let (mut watcher, mut holder, mut waits) = (connect(&server), connect(&server), connect(&server));
    let table = "CREATE TABLE u (id INT PRIMARY KEY, name VARCHAR(20) UNIQUE, v TINYINT NOT NULL, at DATETIME(6))";
    let others = "INSERT INTO u SELECT id + 10, CONCAT('n', id), 1, NULL FROM n";
    run_all(&mut watcher, &[table, "INSERT INTO u VALUES (1, 'one', 1, NULL), (2, 'two', 1, NULL)", others]);
    run_all(&mut waits, &["SET SESSION sql_mode = ''"]);
    until_parked(&mut watcher);
    let statements = [
        ("UPDATE u FORCE INDEX (name) SET v = v + 1 WHERE name BETWEEN 'one' AND 'onf' /* on its thread */", 1, 0),
        ("UPDATE u SET v = v + 1 WHERE name = 'one'", 1, 0),
        ("UPDATE u SET v = v + 1, at = NOW(6) WHERE name = 'one' AND v < 100 LIMIT 1", 1, 0),
        ("UPDATE u SET v = v + 1 WHERE id = 1 AND v < 100", 1, 0),
        ("UPDATE u SET v = v + 1 WHERE id = 1 LIMIT 1", 1, 0),
        ("UPDATE u SET v = v + 1, at = NOW(6) WHERE id = 1", 1, 0),
        ("UPDATE u SET v = v + 1, name = 'a name that is far too long for it' WHERE id = 2 AND v >= 0", 0, 1),
        ("UPDATE u SET v = v + 1, name = 'two' WHERE id = 2", 0, 0),
        ("UPDATE u SET v = v + 200 WHERE id = 2", 0, 1),
        ("INSERT INTO u VALUES (1, 'other', 9, NULL) ON DUPLICATE KEY UPDATE v = v + 1", 1, 0),
        ("INSERT INTO u (id, v) VALUES (1, 900) ON DUPLICATE KEY UPDATE v = v + 1", 1, 1),
    ];
    for isolation in ["REPEATABLE READ", "READ COMMITTED"] {
        waits.query_drop(format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")).expect("a level");
        for (sql, adds, warnings) in statements {
            run_all(&mut watcher, &["UPDATE u SET v = 1, name = ELT(id, 'one', 'two') WHERE id <= 2"]);
            run_all(&mut holder, &["BEGIN", "UPDATE u SET v = v + 10 WHERE id <= 2"]);
            std::thread::scope(|scope| {
                let client = client(scope, || waits.query_drop(sql).map(|()| waits.warnings()));
                until_one_waits(&mut watcher, sql);
                run_all(&mut holder, &["COMMIT"]);
                assert_eq!(client.join().expect("no panic").expect(sql), warnings, "{isolation}: {sql}");
            });
            let shown: Option<u32> = watcher.query_first("SELECT v FROM u WHERE id = 1").expect("an answer");
            assert_eq!(shown, Some(11 + adds), "{isolation}: {sql}");
        }
        let reads = [
            "SELECT v, id FROM u FORCE INDEX (name) WHERE name BETWEEN 'one' AND 'onf' /* on its thread */ FOR UPDATE",
            "SELECT v, id FROM u WHERE name = 'one' FOR UPDATE",
            "SELECT v, id FROM u WHERE name = 'one' AND v > 0 LIMIT 1 FOR SHARE",
            "SELECT v, id FROM u WHERE id = 1 FOR UPDATE",
            "SELECT v, id FROM u WHERE id = 1 ORDER BY id LIMIT 1 FOR UPDATE",
            "SELECT v, id FROM u WHERE id = 1 AND v > 0 FOR SHARE",
        ];
        for sql in reads {
            run_all(&mut watcher, &["UPDATE u SET v = 1 WHERE id <= 2"]);
            run_all(&mut holder, &["BEGIN", "UPDATE u SET v = v + 10 WHERE id <= 2"]);
            std::thread::scope(|scope| {
                let client = client(scope, || (waits.query::<(u32, u32), _>(sql), waits.exec::<(u32, u32), _, _>(sql, ())));
                until_one_waits(&mut watcher, sql);
                run_all(&mut holder, &["COMMIT"]);
                let (text, prepared) = client.join().expect("no panic");
                assert_eq!((text.expect(sql), prepared.expect(sql)), (vec![(11, 1)], vec![(11, 1)]), "{isolation}: {sql}");
            });
        }
    }
}

/// Whoever prepares a statement for one run, as web pages do: also where its plan is made at that run, since it rests on what is bound. Behind SQL's EXECUTE something else may follow, and it waits on its thread.
#[test]
fn first_runs_of_prepared_statements_wait_without_threads() {
    let server = server();
    let (mut watcher, mut holder) = (connect(&server), connect(&server));
    run_all(&mut watcher, &[NAMED, "INSERT INTO u VALUES (1, 'one', 1), (2, 'two', 1)"]);
    for (sql, adds) in [
        ("UPDATE u SET v = v + ? WHERE name = 'one' AND v < 100", 1),
        ("UPDATE u SET v = v + ? WHERE id = 1 AND v BETWEEN 0 AND 100 AND name LIKE 'o%'", 1),
        ("UPDATE u FORCE INDEX (name) SET v = v + ? WHERE name BETWEEN 'one' AND 'onf' /* on its thread */", 1),
    ] {
        // The second finds the first one's plan.
        for _ in 0..2 {
            run_all(&mut watcher, &["UPDATE u SET v = 1"]);
            run_all(&mut holder, &["BEGIN", "UPDATE u SET v = v + 10 WHERE id = 1"]);
            let mut waits = connect(&server);
            until_parked(&mut watcher);
            std::thread::scope(|scope| {
                let client = client(scope, || waits.exec_drop(sql, (1,)).map(|()| waits.affected_rows()));
                until_one_waits(&mut watcher, sql);
                run_all(&mut holder, &["COMMIT"]);
                assert_eq!(client.join().expect("no panic").expect(sql), 1, "{sql}");
            });
            let shown: Option<u32> = watcher.query_first("SELECT v FROM u WHERE id = 1").expect("an answer");
            assert_eq!(shown, Some(11 + adds), "{sql}");
        }
    }
    run_all(&mut holder, &["BEGIN", "UPDATE u SET v = 1 WHERE id = 1"]);
    let mut waits = connect(&server);
    run_all(&mut waits, &["PREPARE s FROM 'UPDATE u SET v = v + 1 WHERE id = 1'"]);
    until_parked(&mut watcher);
    std::thread::scope(|scope| {
        let client = client(scope, || waits.query_drop("EXECUTE s"));
        until_one_waits(&mut watcher, "EXECUTE s /* on its thread */");
        run_all(&mut holder, &["COMMIT"]);
        client.join().expect("no panic").expect("in the end");
    });
    assert_eq!(watcher.query_first::<u32, _>("SELECT v FROM u WHERE id = 1").expect("an answer"), Some(2));
}

/// A packet: its sequence id and payload.
fn read_packet(stream: &mut TcpStream) -> (u8, Vec<u8>) {
    let mut header = [0; 4];
    stream.read_exact(&mut header).expect("a header");
    let [low, middle, high, sequence] = header;
    let mut payload = vec![0; u32::from_le_bytes([low, middle, high, 0]) as usize];
    stream.read_exact(&mut payload).expect("a payload");
    (sequence, payload)
}

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let [low, middle, high, _] = (payload.len() as u32).to_le_bytes();
    [&[low, middle, high, sequence], payload].concat()
}

/// A client that need not wait for a reply before it sends the next command, in the database `d`.
fn hasty_client(server: &Server) -> TcpStream {
    const PROTOCOL_41_WITH_DATABASE: u32 = 0x0008_8208;
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).expect("a connection");
    read_packet(&mut stream);
    let head = [&PROTOCOL_41_WITH_DATABASE.to_le_bytes()[..], &(1u32 << 24).to_le_bytes(), &[45], &[0; 23]].concat();
    stream.write_all(&packet(1, &[&head[..], b"root\0\0d\0caching_sha2_password\0"].concat())).expect("sent");
    while read_packet(&mut stream).1[0] != 0 {}
    stream
}

/// Whose client has sent the next statement before its session is parked keeps this thread, though it has laid down what was lent to it. A statement that then waits for a row has its
/// parameters in what it has, and goes on with those.
#[test]
fn who_has_spoken_before_it_is_parked_keeps_its_parameters() {
    let server = server();
    let (mut watcher, mut holder, mut locks) = (connect(&server), connect(&server), connect(&server));
    run_all(&mut watcher, &[NAMED, "INSERT INTO u VALUES (1, 'one', 1)"]);
    let mut hasty = hasty_client(&server);
    for round in 0..20 {
        until_parked(&mut watcher);
        run_all(&mut watcher, &["UPDATE n SET v = 1"]);
        run_all(&mut holder, &["BEGIN", "UPDATE n SET v = 2 WHERE id = 1"]);
        run_all(&mut locks, &["LOCK TABLES u WRITE"]);
        // Too long a reply to go with others.
        hasty.write_all(&packet(0, b"\x03SELECT REPEAT('x', 20000) FROM u")).expect("sent");
        let sql = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'Waiting for table metadata lock'";
        until("it waits for the table", || watcher.query_first::<u64, _>(sql).expect("a count") == Some(1));
        hasty.write_all(&packet(0, b"\x03UPDATE n SET v = v + 30 WHERE id = 1")).expect("sent");
        // Its post is told that it has spoken.
        watcher.query_drop("SELECT 1").expect("an answer");
        run_all(&mut locks, &["UNLOCK TABLES"]);
        // How many columns, one, the end of them, a row, the end.
        assert_eq!([(); 5].map(|()| read_packet(&mut hasty).0), [1, 2, 3, 4, 5]);
        until_waiting(&mut watcher, 1);
        // What is lent lies ready with parameters of others.
        run_all(&mut watcher, &["UPDATE n SET v = 500 WHERE id = 50"]);
        run_all(&mut holder, &["COMMIT"]);
        let (sequence, reply) = read_packet(&mut hasty);
        assert_eq!((sequence, &reply[..3]), (1, &[0, 1, 0][..]), "round {round}: {reply:?}");
        assert_eq!([1, 50].map(|id| value_of(&mut watcher, id)), [Some(32), Some(500)], "round {round}");
    }
}

/// Two who wait for each other, both without threads: one is the victim, and the other goes on.
#[test]
fn a_deadlock_of_two_that_wait_without_threads_is_broken() {
    let server = server();
    let (mut watcher, mut one, mut other) = (connect(&server), connect(&server), connect(&server));
    until_parked(&mut watcher);
    for round in 0..50 {
        run_all(&mut one, &["BEGIN", "UPDATE n SET v = 20 WHERE id = 1"]);
        run_all(&mut other, &["BEGIN", "UPDATE n SET v = 20 WHERE id = 2"]);
        let outcomes = std::thread::scope(|scope| {
            let (one, other) = (&mut one, &mut other);
            let first =
                client(scope, move || one.query_drop("UPDATE n SET v = v + 1 WHERE id = 2").and_then(|()| one.query_drop("COMMIT")));
            let second =
                client(scope, move || other.query_drop("UPDATE n SET v = v + 1 WHERE id = 1").and_then(|()| other.query_drop("COMMIT")));
            [first.join().expect("no panic"), second.join().expect("no panic")]
        });
        let codes: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).map(code).collect();
        assert_eq!(codes, [1213], "round {round}");
    }
    until_waiting(&mut watcher, 0);
}

/// What was waited for may be gone, or be another row, when the wait is over.
#[test]
fn who_has_waited_looks_again() {
    let server = server();
    let (mut watcher, mut holder, mut waits) = (connect(&server), connect(&server), connect(&server));
    until_parked(&mut watcher);
    for (change, expected) in
        [("DELETE FROM n WHERE id = 5", None), ("INSERT INTO n VALUES (5, 40)", Some(41)), ("UPDATE n SET v = 7 WHERE id = 5", Some(8))]
    {
        for rolled_back in [true, false] {
            let before = value_of(&mut watcher, 5);
            run_all(&mut holder, &["BEGIN", change]);
            std::thread::scope(|scope| {
                let client = client(scope, || {
                    waits.query_drop("UPDATE n SET v = v + 1 WHERE id = 5").expect("in the end");
                    waits.affected_rows()
                });
                until_waiting(&mut watcher, 1);
                holder.query_drop(if rolled_back { "ROLLBACK" } else { "COMMIT" }).expect("an end");
                let after = if rolled_back { before.map(|value| value + 1) } else { expected };
                assert_eq!(client.join().expect("no panic"), u64::from(after.is_some()), "{change}");
                assert_eq!(value_of(&mut watcher, 5), after, "{change}");
            });
        }
    }
}

/// A unique key may have gone to another row by then, and is looked for from the beginning.
#[test]
fn who_has_waited_by_a_unique_key_looks_for_it_again() {
    let server = server();
    let (mut watcher, mut holder, mut waits) = (connect(&server), connect(&server), connect(&server));
    run_all(&mut watcher, &[NAMED]);
    until_parked(&mut watcher);
    let cases: [(&[&str], Option<u32>); 5] = [
        (&["UPDATE u SET v = 5 WHERE id = 1"], Some(1)),
        (&["UPDATE u SET name = 'gone' WHERE id = 1"], None),
        (&["UPDATE u SET name = 'gone' WHERE id = 1", "UPDATE u SET name = 'one' WHERE id = 2"], Some(2)),
        (&["DELETE FROM u WHERE id = 1", "INSERT INTO u VALUES (3, 'one', 0)"], Some(3)),
        (&["DELETE FROM u WHERE id = 1"], None),
    ];
    let sleeps = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'Waiting for row lock'";
    for isolation in ["REPEATABLE READ", "READ COMMITTED"] {
        waits.query_drop(format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")).expect("a level");
        for (changes, then) in cases {
            for (end, expected) in [("ROLLBACK", Some(1)), ("COMMIT", then)] {
                run_all(&mut watcher, &["DELETE FROM u", "INSERT INTO u VALUES (1, 'one', 0), (2, 'two', 0)"]);
                run_all(&mut holder, &[&["BEGIN"], changes].concat());
                std::thread::scope(|scope| {
                    let client = client(scope, || {
                        waits.query_drop("UPDATE u FORCE INDEX (name) SET v = v + 100 WHERE name = 'one'").expect("in the end");
                        waits.affected_rows()
                    });
                    // Behind an entry that is about to go a thread waits, in some cases.
                    until("it waits", || watcher.query_first::<u64, _>(sleeps).expect("a count") == Some(1));
                    holder.query_drop(end).expect("an end");
                    assert_eq!(client.join().expect("no panic"), u64::from(expected.is_some()), "{isolation}: {changes:?}, {end}");
                });
                let changed: Option<u32> = watcher.query_first("SELECT id FROM u WHERE v >= 100").expect("an answer");
                assert_eq!(changed, expected, "{isolation}: {changes:?}, {end}");
            }
        }
    }
}

/// Of those who find the row by a unique key the first waits for the row, and, where gaps are locked, the others for its entry.
#[test]
fn a_hundred_wait_by_a_unique_key_without_threads() {
    const WAITING: u64 = 100;
    let server = server();
    let (mut watcher, mut holder) = (connect(&server), connect(&server));
    run_all(&mut watcher, &[NAMED, "INSERT INTO u SELECT id + 10, CONCAT('n', id), 0 FROM n", "INSERT INTO u VALUES (1, 'one', 0)"]);
    let mut waiting: Vec<Conn> = (0..WAITING).map(|_| connect(&server)).collect();
    until_parked(&mut watcher);
    // Who runs a statement first makes its plan, and waits on a thread, if it must.
    let add = "UPDATE u SET v = v + ? WHERE name = ?";
    waiting.iter_mut().for_each(|connection| connection.exec_drop(add, (0, "n5")).expect("another row"));
    for (round, isolation) in (1..).zip(["REPEATABLE READ", "READ COMMITTED"]) {
        run_all(&mut holder, &["BEGIN", "UPDATE u SET v = v + 1 WHERE id = 1"]);
        std::thread::scope(|scope| {
            for connection in &mut waiting {
                client(scope, move || {
                    connection.query_drop(format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")).expect("a level");
                    connection.exec_drop(add, (1, "one")).expect("in the end");
                });
            }
            until_waiting(&mut watcher, WAITING);
            assert!(
                counter(&mut watcher, "Altiplano_threads_shared") < WAITING / 3,
                "those of sessions that wait for slots stay for a while"
            );
            run_all(&mut holder, &["COMMIT"]);
        });
        let sum: Option<u64> = watcher.query_first("SELECT SUM(v) FROM u").expect("an answer");
        assert_eq!(sum, Some(round * (WAITING + 1)), "{isolation}");
    }
}

#[test]
fn a_stop_ends_those_who_wait_for_rows() {
    let mut server = server();
    let (mut watcher, mut holder) = (connect(&server), connect(&server));
    run_all(&mut holder, &["BEGIN", "UPDATE n SET v = 5 WHERE id = 1"]);
    let mut waiting: Vec<Conn> = (0..50).map(|_| connect(&server)).collect();
    until_parked(&mut watcher);
    std::thread::scope(|scope| {
        let clients: Vec<_> =
            waiting.iter_mut().map(|connection| client(scope, || connection.query_drop("DELETE FROM n WHERE id = 1"))).collect();
        until_waiting(&mut watcher, 50);
        assert_eq!(server.stop(), Some(0));
        // Some may have had the row, when the holder's transaction was rolled back, before they were stopped.
        clients.into_iter().for_each(|client| drop(client.join().expect("no panic")));
    });
}

/// A row that is wanted by more than are let to it at once: who has waited for it once stands behind it the next time, its statement unread. Each does its work once all the same; where the row stalls all come in, and who
/// wants something else by then has it.
#[test]
fn who_would_only_lengthen_a_queue_stands_behind_it() {
    const ADD: &str = "UPDATE n SET v = v + 1 WHERE id = 1";
    let posts = std::thread::available_parallelism().map_or(1, usize::from);
    let count = (64 * posts + 100) as u64;
    let mut server = server();
    let (mut watcher, mut holder) = (connect(&server), connect(&server));
    let mut waiting: Vec<Conn> = (0..count).map(|_| connect(&server)).collect();
    until_parked(&mut watcher);
    let mut rounds = 0;
    let round = |holder: &mut Conn, watcher: &mut Conn, waiting: &mut [Conn]| {
        run_all(holder, &["BEGIN", ADD]);
        std::thread::scope(|scope| {
            for connection in waiting.iter_mut() {
                client(scope, || connection.query_drop(ADD).expect("in the end"));
            }
            // Also those behind it in the end, for nobody is done with it.
            until_waiting(watcher, count);
            run_all(holder, &["COMMIT"]);
        });
    };
    until("some stand behind", || {
        rounds += 1;
        round(&mut holder, &mut watcher, &mut waiting);
        assert_eq!(value_of(&mut watcher, 1), Some(1 + rounds * (count + 1)));
        counter(&mut watcher, "Altiplano_sessions_stood_behind_rows") > 0
    });
    assert_eq!(counter(&mut watcher, "Altiplano_sessions_behind_rows"), 0);
    // Without anybody who holds it: they pass it on.
    std::thread::scope(|scope| {
        for connection in &mut waiting {
            client(scope, || (0..10).for_each(|_| connection.query_drop(ADD).expect("in the end")));
        }
    });
    assert_eq!(value_of(&mut watcher, 1), Some(1 + rounds * (count + 1) + 10 * count));
    // All but the first hundred wait for the row, and those who are used to want another one: they have it while the first is held.
    run_all(&mut holder, &["BEGIN", ADD]);
    let (others, queue) = waiting.split_at_mut(100);
    std::thread::scope(|scope| {
        for connection in queue.iter_mut() {
            client(scope, || connection.query_drop(ADD).expect("in the end"));
        }
        until_waiting(&mut watcher, count - 100);
        for (connection, id) in others.iter_mut().zip(2..) {
            connection.query_drop(format!("UPDATE n SET v = v + 1 WHERE id = {id}")).expect("a row that nobody holds");
        }
        run_all(&mut holder, &["COMMIT"]);
    });
    // A stop ends those in the queue and those behind it.
    run_all(&mut holder, &["BEGIN", ADD]);
    std::thread::scope(|scope| {
        let clients: Vec<_> =
            waiting.iter_mut().map(|connection| client(scope, || connection.query_drop("UPDATE n SET v = 0 WHERE id = 1"))).collect();
        until("some wait", || counter(&mut watcher, "Altiplano_sessions_waiting_for_rows") > 50);
        assert_eq!(server.stop(), Some(0));
        clients.into_iter().for_each(|client| drop(client.join().expect("no panic")));
    });
}
