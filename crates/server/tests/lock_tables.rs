//! What sessions are told of each other's locks: `performance_schema.data_locks`, `data_lock_waits`, `information_schema.INNODB_TRX`,
//! `SHOW ENGINE INNODB STATUS`.

use harness::Server;
use mysql::prelude::{FromRow, Queryable};
use mysql::{Conn, Value};
use std::time::{Duration, Instant};

fn server() -> Server {
    let server = Server::start(env!("CARGO_BIN_EXE_altiplano"), &[]);
    let mut connection = server.connect();
    connection.query_drop("CREATE DATABASE d").expect("a database");
    connection
        .query_drop("CREATE TABLE d.t (id INT PRIMARY KEY, name VARCHAR(20) COLLATE utf8mb4_bin, v INT, KEY (name))")
        .expect("a table");
    connection.query_drop("INSERT INTO d.t VALUES (1, 'one', 0), (2, 'two', 0), (3, 'three', 0)").expect("rows");
    server
}

fn connect(server: &Server) -> Conn {
    Conn::new(server.options(Some("d"))).expect("a connection")
}

/// Asks until there is an answer: waits of others are told by the server only.
fn until_first<T: FromRow>(connection: &mut Conn, sql: &str) -> T {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(row) = connection.query_first(sql).expect("an answer") {
            return row;
        }
        assert!(Instant::now() < deadline, "not after 30 s: {sql}");
        std::thread::yield_now();
    }
}

const WAITS: &str =
    "SELECT r.trx_mysql_thread_id, b.trx_mysql_thread_id, rl.lock_data, rl.lock_mode, bl.lock_status, rl.object_name, rl.index_name
    FROM performance_schema.data_lock_waits w
    JOIN performance_schema.data_locks rl ON rl.engine_lock_id = w.requesting_engine_lock_id
    JOIN performance_schema.data_locks bl ON bl.engine_lock_id = w.blocking_engine_lock_id
    JOIN information_schema.innodb_trx r ON r.trx_id = w.requesting_engine_transaction_id
    JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking_engine_transaction_id";

type Waiting = (u32, u32, String, String, String, String, String);

#[test]
fn who_waits_for_whom_is_told_by_tables() {
    let server = server();
    let (mut watcher, mut holder, mut waiter) = (connect(&server), connect(&server), connect(&server));
    holder.query_drop("BEGIN").expect("a transaction");
    holder.query_drop("UPDATE t SET v = 1 WHERE id = 2").expect("a row");
    assert_eq!(watcher.query::<Waiting, _>(WAITS).expect("an answer"), []);
    std::thread::scope(|scope| {
        let blocked = scope.spawn(|| waiter.query_drop("UPDATE t SET v = 2 WHERE id = 2"));
        let waiting: Waiting = until_first(&mut watcher, WAITS);
        assert_ne!(waiting.0, waiting.1);
        assert_eq!((waiting.1, waiting.2.as_str(), waiting.3.as_str()), (holder.connection_id(), "2", "X,REC_NOT_GAP"));
        assert_eq!((waiting.4.as_str(), waiting.5.as_str(), waiting.6.as_str()), ("GRANTED", "t", "PRIMARY"));
        // The same, prepared, and for one transaction.
        let sql = "SELECT trx_state, trx_query, trx_rows_modified, trx_requested_lock_id IS NOT NULL, trx_isolation_level,
            trx_started > NOW() - INTERVAL 10 MINUTE AND COALESCE(trx_wait_started, NOW()) > NOW() - INTERVAL 10 MINUTE FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id = ?";
        type Transaction = (String, Option<String>, u64, bool, String, bool);
        let of_waiter: Transaction = watcher.exec_first(sql, (waiting.0,)).expect("an answer").expect("a transaction");
        let query = Some("UPDATE t SET v = 2 WHERE id = 2".into());
        assert_eq!(of_waiter, ("LOCK WAIT".into(), query, 0, true, "REPEATABLE READ".into(), true));
        let of_holder: Transaction = watcher.exec_first(sql, (holder.connection_id(),)).expect("an answer").expect("a transaction");
        assert_eq!(of_holder, ("RUNNING".into(), None, 1, false, "REPEATABLE READ".into(), true));
        holder.query_drop("COMMIT").expect("the end");
        blocked.join().expect("no panic").expect("the lock is free");
    });
    assert_eq!(watcher.query_first("SELECT COUNT(*) FROM performance_schema.data_locks").expect("an answer"), Some(0));
    assert_eq!(watcher.query_first("SELECT COUNT(*) FROM information_schema.innodb_trx").expect("an answer"), Some(0));
}

#[test]
fn a_deadlock_is_told_with_both_statements() {
    let server = server();
    let (mut watcher, mut a, mut b) = (connect(&server), connect(&server), connect(&server));
    let status = "SHOW ENGINE INNODB STATUS";
    let report = |watcher: &mut Conn| watcher.query_first::<(String, String, String), _>(status).expect("an answer").expect("a row").2;
    assert!(!report(&mut watcher).contains("LATEST DETECTED DEADLOCK"));
    for (connection, id) in [(&mut a, 1), (&mut b, 2)] {
        connection.query_drop("BEGIN").expect("a transaction");
        connection.query_drop(format!("UPDATE t SET v = 5 WHERE id = {id}")).expect("a row");
    }
    // The one with less work is the victim.
    a.query_drop("UPDATE t SET v = 5 WHERE id = 3").expect("a row");
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| a.query_drop("UPDATE t SET v = 6 WHERE id = 2"));
        let _: Waiting = until_first(&mut watcher, WAITS);
        let text = report(&mut watcher);
        assert!(text.contains("LOCK WAIT") && text.contains("TRX HAS BEEN WAITING"), "{text}");
        let error = b.query_drop("UPDATE t SET v = 6 WHERE id = 1").expect_err("the victim");
        assert!(matches!(&error, mysql::Error::MySqlError(e) if e.code == 1213), "{error}");
        waits.join().expect("no panic").expect("the other goes on");
    });
    let text = report(&mut watcher);
    let sections = [
        "INNODB MONITOR OUTPUT",
        "BACKGROUND THREAD",
        "SEMAPHORES",
        "LATEST DETECTED DEADLOCK",
        "TRANSACTIONS",
        "FILE I/O",
        "LOG",
        "BUFFER POOL AND MEMORY",
        "ROW OPERATIONS",
        "END OF INNODB MONITOR OUTPUT",
    ];
    let mut rest = text.as_str();
    for section in sections {
        let at = rest.find(section).unwrap_or_else(|| panic!("no {section} (any more) in {text}"));
        rest = &rest[at..];
    }
    for line in [
        "UPDATE t SET v = 6 WHERE id = 2",
        "UPDATE t SET v = 6 WHERE id = 1",
        "RECORD LOCKS space id 0 page no 0 n bits 0 index PRIMARY of table `d`.`t` trx id ",
        ", ACTIVE 0 sec",
        ", query id 0 localhost 127.0.0.1 root",
        "Record lock, key 1",
        "Record lock, key 2",
        "HOLDS THE LOCK(S):",
        "WE ROLL BACK TRANSACTION (",
        "Log flushed up to ",
        "History list length ",
    ] {
        assert!(text.contains(line), "no {line} in {text}");
    }
    let victim = text.split("WE ROLL BACK TRANSACTION (").nth(1).and_then(|rest| rest.split(')').next()).expect("a victim");
    let of_victim = text.split(&format!("*** ({victim}) TRANSACTION:")).nth(1).expect("its part");
    assert!(of_victim.contains(&format!("MySQL thread id {},", b.connection_id())), "{text}");
    let rows: Vec<(String, String, String)> = watcher.query("SHOW ENGINE INNODB MUTEX").expect("an answer");
    assert_eq!(rows, []);
}

#[test]
fn connections_are_listed_in_both_databases() {
    let server = server();
    let mut connection = connect(&server);
    let id = connection.connection_id();
    for table in ["information_schema.processlist", "performance_schema.processlist"] {
        let sql = format!("SELECT user, db, command, info FROM {table} WHERE id = {id}");
        let row: (String, String, String, String) = connection.query_first(&sql).expect("an answer").expect("itself");
        assert_eq!(row, ("root".into(), "d".into(), "Query".into(), sql));
    }
    let sql =
        "SELECT t.type FROM performance_schema.threads t JOIN information_schema.processlist p ON p.id = t.processlist_id WHERE p.id = ?";
    assert_eq!(connection.exec::<String, _, _>(sql, (id,)).expect("an answer"), ["FOREGROUND"]);
}

#[test]
fn locks_of_readers_are_listed_with_the_values_of_their_keys() {
    let server = server();
    let (mut watcher, mut reader) = (connect(&server), connect(&server));
    reader.query_drop("BEGIN").expect("a transaction");
    let _: Option<Value> = reader.query_first("SELECT v FROM t WHERE name = 'two' FOR UPDATE").expect("a row");
    let sql = format!(
        "SELECT index_name, lock_data, object_schema FROM performance_schema.data_locks
         WHERE thread_id = {} AND lock_type = 'RECORD' AND lock_status = 'GRANTED'",
        reader.connection_id()
    );
    let rows: Vec<(String, String, String)> = watcher.query(sql).expect("an answer");
    assert!(rows.contains(&("PRIMARY".into(), "2".into(), "d".into())), "{rows:?}");
    reader.query_drop("ROLLBACK").expect("the end");
    // A snapshot alone is a transaction, too.
    reader.query_drop("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY").expect("a snapshot");
    let sql = "SELECT trx_mysql_thread_id, trx_is_read_only, trx_rows_locked FROM information_schema.innodb_trx";
    let rows: Vec<(u32, u8, u64)> = watcher.query(sql).expect("an answer");
    assert_eq!(rows, [(reader.connection_id(), 1, 0)]);
}

#[test]
fn tables_of_locked_rows_are_listed_with_their_intention() {
    let server = server();
    let (mut watcher, mut holder) = (connect(&server), connect(&server));
    holder.query_drop("CREATE TABLE u (id INT PRIMARY KEY, v INT)").expect("a table");
    holder.query_drop("INSERT INTO u VALUES (1, 1), (2, 2)").expect("rows");
    let of_tables = "SELECT object_name, lock_mode, lock_status, index_name, lock_data FROM performance_schema.data_locks
        WHERE lock_type = 'TABLE' AND object_schema = 'd' ORDER BY object_name, lock_mode";
    // What is done in a transaction, and what MySQL lists of tables.
    let cases: [(&str, &[(&str, &str)]); 9] = [
        ("SELECT * FROM t", &[]),
        ("SELECT * FROM t WHERE id = 1 FOR SHARE", &[("t", "IS")]),
        ("SELECT * FROM t WHERE id = 5 FOR UPDATE", &[("t", "IX")]),
        ("UPDATE t SET v = 9 WHERE id = 1", &[("t", "IX")]),
        ("DELETE FROM t WHERE id = 2", &[("t", "IX")]),
        ("INSERT INTO t VALUES (20, 'twenty', 0)", &[("t", "IX")]),
        ("INSERT INTO t SELECT id + 100, 'x', v FROM u", &[("t", "IX"), ("u", "IS")]),
        ("UPDATE t SET v = v + 1 WHERE id IN (SELECT v FROM u WHERE id = 1)", &[("t", "IX"), ("u", "IS")]),
        ("SELECT t.id FROM t JOIN u USING (id) WHERE t.id = 1 FOR UPDATE", &[("t", "IX"), ("u", "IX")]),
    ];
    type Row = (String, String, String, Option<String>, Option<String>);
    for (sql, expected) in cases {
        holder.query_drop("BEGIN").expect("a transaction");
        holder.query_drop(sql).expect("done");
        let expected: Vec<Row> =
            expected.iter().map(|(table, mode)| ((*table).into(), (*mode).into(), "GRANTED".into(), None, None)).collect();
        assert_eq!(watcher.query::<Row, _>(of_tables).expect("an answer"), expected, "{sql}");
        holder.query_drop("ROLLBACK").expect("the end");
        assert_eq!(watcher.query::<Row, _>(of_tables).expect("an answer"), [], "after {sql}");
    }
    // Both, of one transaction, with ids of their own; and the transaction is that of the rows.
    holder.query_drop("BEGIN").expect("a transaction");
    holder.query_drop("SELECT * FROM t WHERE id = 1 FOR SHARE").expect("done");
    holder.query_drop("SELECT * FROM t WHERE id = 2 FOR UPDATE").expect("done");
    let sql = format!(
        "SELECT COUNT(*), COUNT(DISTINCT engine_lock_id), COUNT(DISTINCT engine_transaction_id), SUM(lock_type = 'TABLE')
            FROM performance_schema.data_locks WHERE thread_id = {}",
        holder.connection_id()
    );
    assert_eq!(watcher.query_first::<(u64, u64, u64, u64), _>(sql).expect("an answer"), Some((4, 4, 1, 2)));
}
