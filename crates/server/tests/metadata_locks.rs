//! Metadata locks between sessions: who is told to wait for what, what ends a wait, how long a waiting ALTER TABLE stops others.

use harness::Server;
use harness::until;
use mysql::Conn;
use mysql::prelude::Queryable;

fn server() -> Server {
    let server = Server::start(env!("CARGO_BIN_EXE_altiplano"), &[]);
    let mut connection = server.connect();
    connection.query_drop("CREATE DATABASE d").expect("a database");
    connection.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY, v INT)").expect("a table");
    server
}

fn connect(server: &Server) -> Conn {
    Conn::new(server.options(Some("d"))).expect("a connection")
}

/// State of a connection in the process list.
fn state(watcher: &mut Conn, id: u32) -> String {
    let sql = format!("SELECT state FROM performance_schema.processlist WHERE id = {id}");
    watcher.query_first::<Option<String>, _>(sql).expect("an answer").flatten().unwrap_or_default()
}

/// What a connection waits for, by `metadata_locks`.
fn pending(watcher: &mut Conn, id: u32) -> Option<(String, Option<String>, String, String)> {
    let sql = format!(
        "SELECT object_type, object_name, lock_type, lock_duration FROM performance_schema.metadata_locks
         WHERE owner_thread_id = {id} AND lock_status = 'PENDING'"
    );
    watcher.query_first(sql).expect("an answer")
}

#[test]
fn each_wait_is_told_by_its_name() {
    let server = server();
    let (mut watcher, mut holder, mut waiter) = (connect(&server), connect(&server), connect(&server));
    let id = waiter.connection_id();
    let global = |kind: &str, duration: &str| ("GLOBAL".to_owned(), None, kind.to_owned(), duration.to_owned());
    let cases: Vec<(&[&str], &[&str], &str, &str, (String, Option<String>, String, String))> = vec![
        (
            &["FLUSH TABLES WITH READ LOCK"],
            &[],
            "INSERT INTO t VALUES (1, 1)",
            "Waiting for global read lock",
            global("INTENTION_EXCLUSIVE", "STATEMENT"),
        ),
        (
            &["FLUSH TABLES WITH READ LOCK"],
            &["BEGIN", "INSERT INTO t VALUES (2, 2)"],
            "COMMIT",
            "Waiting for commit lock",
            ("COMMIT".into(), None, "INTENTION_EXCLUSIVE".into(), "EXPLICIT".into()),
        ),
        (
            &["LOCK INSTANCE FOR BACKUP"],
            &[],
            "CREATE TABLE other (id INT)",
            "Waiting for backup lock",
            ("BACKUP LOCK".into(), None, "INTENTION_EXCLUSIVE".into(), "TRANSACTION".into()),
        ),
        (
            &["LOCK INSTANCE FOR BACKUP"],
            &[],
            "ANALYZE TABLE t",
            "Waiting for backup lock",
            ("BACKUP LOCK".into(), None, "INTENTION_EXCLUSIVE".into(), "TRANSACTION".into()),
        ),
        (
            &["LOCK TABLES t WRITE"],
            &[],
            "SELECT * FROM t",
            "Waiting for table metadata lock",
            ("TABLE".into(), Some("t".into()), "SHARED_READ".into(), "TRANSACTION".into()),
        ),
        (
            &["LOCK TABLES t READ"],
            &[],
            "ALTER TABLE t ADD COLUMN w INT",
            "Waiting for table metadata lock",
            ("TABLE".into(), Some("t".into()), "EXCLUSIVE".into(), "TRANSACTION".into()),
        ),
        (
            &["DO GET_LOCK('n', 0)"],
            &[],
            "DO GET_LOCK('n', 100)",
            "User lock",
            ("USER LEVEL LOCK".into(), Some("n".into()), "EXCLUSIVE".into(), "EXPLICIT".into()),
        ),
    ];
    for (holds, before, waits, told, lock) in cases {
        // What the waiter has done comes first: the lock would stop that, too.
        before.iter().for_each(|sql| waiter.query_drop(sql).expect("nobody is in the way"));
        holds.iter().for_each(|sql| holder.query_drop(sql).expect("the lock"));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| waiter.query_drop(waits));
            until(told, || state(&mut watcher, id) == told);
            until("the list shows it", || pending(&mut watcher, id).as_ref() == Some(&lock));
            for sql in ["UNLOCK TABLES", "UNLOCK INSTANCE", "DO RELEASE_ALL_LOCKS()"] {
                holder.query_drop(sql).expect("the end");
            }
            waiting.join().expect("no panic").expect("nobody is in the way any more");
        });
        waiter.query_drop("DO RELEASE_ALL_LOCKS()").expect("the end");
        assert_eq!(pending(&mut watcher, id), None);
    }
    let left = "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE object_name = 't'";
    assert_eq!(watcher.query_first(left).expect("an answer"), Some(0));
}

#[test]
fn a_waiting_alter_lets_newcomers_pass() {
    let server = server();
    let (mut watcher, mut idle, mut ddl) = (connect(&server), connect(&server), connect(&server));
    idle.query_drop("BEGIN").expect("a transaction");
    idle.query_drop("SELECT * FROM t").expect("no rows");
    let id = ddl.connection_id();
    std::thread::scope(|scope| {
        let altering = scope.spawn(|| ddl.query_drop("ALTER TABLE t ADD COLUMN w INT"));
        until("ALTER TABLE waits", || state(&mut watcher, id) == "Waiting for table metadata lock");
        // `lock_wait_timeout` is a minute: were they stopped for good they would fail.
        for n in 0..10 {
            let mut newcomer = connect(&server);
            newcomer.query_drop("SELECT * FROM t").expect("a reader passes");
            newcomer.query_drop(format!("INSERT INTO t (id) VALUES ({n})")).expect("a writer passes");
        }
        assert_eq!(state(&mut watcher, id), "Waiting for table metadata lock");
        idle.query_drop("COMMIT").expect("the end");
        altering.join().expect("no panic").expect("the table is free");
    });
}

#[test]
fn nothing_is_committed_under_the_read_lock() {
    let server = server();
    let (mut keeper, stop) = (connect(&server), std::sync::atomic::AtomicBool::new(false));
    keeper.query_drop("INSERT INTO t VALUES (1, 0), (2, 0), (3, 0), (4, 0)").expect("rows");
    std::thread::scope(|scope| {
        let _stop = sync::SetAtEnd(&stop);
        for n in 1..=4 {
            let (mut writer, stop) = (connect(&server), &stop);
            scope.spawn(move || {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    if n % 2 == 0 {
                        writer.query_drop("BEGIN").expect("a transaction");
                    }
                    writer.query_drop(format!("UPDATE t SET v = v + 1 WHERE id = {n}")).expect("its own row");
                    writer.query_drop("COMMIT").expect("the end");
                }
            });
        }
        let mut reader = connect(&server);
        let mut sum = || reader.query_first::<u64, _>("SELECT SUM(v) FROM t").expect("an answer").expect("a sum");
        for _ in 0..5 {
            let before = sum();
            until("the writers work", || sum() > before + 8);
            keeper.query_drop("FLUSH TABLES WITH READ LOCK").expect("the lock");
            let moment = sum();
            for _ in 0..50 {
                assert_eq!(sum(), moment, "somebody has committed");
            }
            keeper.query_drop("UNLOCK TABLES").expect("the end");
        }
    });
}

#[test]
fn a_client_that_has_gone_leaves_no_lock() {
    let server = server();
    let mut watcher = connect(&server);
    for lock in ["FLUSH TABLES WITH READ LOCK", "LOCK INSTANCE FOR BACKUP", "LOCK TABLES t WRITE"] {
        let mut holder = connect(&server);
        holder.query_drop(lock).expect("the lock");
        let mut waiter = connect(&server);
        let id = waiter.connection_id();
        let gone = std::thread::spawn(move || waiter.query_drop("ALTER TABLE t COMMENT = 'x'"));
        until("it waits", || state(&mut watcher, id).starts_with("Waiting for"));
        watcher.query_drop(format!("KILL {id}")).expect("it is there");
        gone.join().expect("no panic").expect_err("killed");
        drop(holder);
        until("both are forgotten", || {
            let sql =
                format!("SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE owner_thread_id <> {}", watcher.connection_id());
            watcher.query_first::<u64, _>(sql).expect("an answer") == Some(0)
        });
        watcher.query_drop("ALTER TABLE t COMMENT = 'y'").expect("nobody is in the way");
    }
}

#[test]
fn who_waits_for_a_table_is_told_beside_who_holds_it() {
    let server = server();
    let (mut watcher, mut holder, mut waiter) = (connect(&server), connect(&server), connect(&server));
    let (held_by, id) = (holder.connection_id(), waiter.connection_id());
    let waits = "SELECT object_schema, object_name, waiting_pid, waiting_account, waiting_query, blocking_pid, blocking_lock_type,
                        blocking_lock_duration, sql_kill_blocking_connection
                 FROM sys.schema_table_lock_waits WHERE blocking_pid <> waiting_pid";
    type Wait = (String, String, u32, String, String, u32, String, String, String);
    assert_eq!(watcher.query::<Wait, _>(waits).expect("an answer"), Vec::new());
    holder.query_drop("BEGIN").expect("begun");
    holder.query_drop("SELECT * FROM t").expect("read");
    std::thread::scope(|scope| {
        let alter = scope.spawn(|| waiter.query_drop("ALTER TABLE t ADD COLUMN a_column_with_a_long_name_to_be_cut_in_the_middle INT"));
        until("the wait is listed", || pending(&mut watcher, id).is_some());
        let expected: Wait = (
            "d".to_owned(),
            "t".to_owned(),
            id,
            String::new(),
            "ALTER TABLE t ADD COLUMN a_col ... me_to_be_cut_in_the_middle INT".to_owned(),
            held_by,
            "SHARED_READ".to_owned(),
            "TRANSACTION".to_owned(),
            format!("KILL {held_by}"),
        );
        let mut told = watcher.query::<Wait, _>(waits).expect("an answer");
        let account = std::mem::take(&mut told[0].3);
        assert!(account.starts_with("root@"), "{account}");
        assert_eq!(told, [expected]);
        let whole: Option<String> = watcher.query_first("SELECT waiting_query FROM sys.x$schema_table_lock_waits").expect("an answer");
        assert!(whole.is_some_and(|query| query.ends_with("a_column_with_a_long_name_to_be_cut_in_the_middle INT")));
        holder.query_drop("COMMIT").expect("committed");
        alter.join().expect("no panic").expect("altered");
    });
    assert_eq!(watcher.query::<Wait, _>(waits).expect("an answer"), Vec::new());
}

/// A statement that waits for a table is planned before DDL and runs after it: over the trees that are there then.
#[test]
fn who_has_waited_for_ddl_reads_and_writes_the_new_table() {
    let server = server();
    let (mut watcher, mut holder, mut waiter) = (connect(&server), connect(&server), connect(&server));
    watcher.query_drop("SET GLOBAL local_infile = 1").expect("set");
    waiter.set_local_infile_handler(Some(mysql::LocalInfileHandler::new(|_, writer| std::io::Write::write_all(writer, b"7\t7\n"))));
    let id = waiter.connection_id();
    let plain = "SELECT GROUP_CONCAT(id ORDER BY id) FROM t";
    let statements = [
        ("SET @a = (SELECT GROUP_CONCAT(id ORDER BY id) FROM t)", "SELECT @a", "1,2,3"),
        ("DO (SELECT COUNT(*) FROM t)", plain, "1,2,3"),
        ("CREATE TABLE made SELECT id FROM t", "SELECT GROUP_CONCAT(id ORDER BY id) FROM made", "1,2,3"),
        ("CREATE TEMPORARY TABLE made SELECT id FROM t", "SELECT GROUP_CONCAT(id ORDER BY id) FROM made", "1,2,3"),
        ("LOAD DATA LOCAL INFILE 'f' INTO TABLE t (id, v)", plain, "1,2,3,7"),
        ("EXPLAIN ANALYZE SELECT COUNT(*) FROM t", plain, "1,2,3"),
    ];
    for (statement, asks, expected) in statements {
        for drops in [false, true] {
            holder.query_drop("DROP TABLE IF EXISTS t, made").expect("dropped");
            holder.query_drop("CREATE TABLE t (id INT PRIMARY KEY, v INT)").expect("a table");
            holder.query_drop("INSERT INTO t VALUES (1, 1), (2, 2)").expect("rows");
            holder.query_drop("LOCK TABLES t WRITE").expect("locked");
            let waits = std::thread::spawn(move || {
                let outcome = waiter.query_drop(statement);
                (outcome, waiter)
            });
            until("it waits", || state(&mut watcher, id) == "Waiting for table metadata lock");
            match drops {
                true => holder.query_drop("DROP TABLE t").expect("dropped"),
                false => {
                    holder.query_drop("ALTER TABLE t ADD COLUMN w INT, ALGORITHM=COPY").expect("copied");
                    holder.query_drop("INSERT INTO t VALUES (3, 3, 3)").expect("a row");
                }
            }
            holder.query_drop("UNLOCK TABLES").expect("unlocked");
            let outcome;
            (outcome, waiter) = waits.join().expect("no panic");
            match outcome {
                Ok(()) => {
                    assert!(!drops, "{statement}: there is no such table");
                    assert_eq!(waiter.query_first::<String, _>(asks).expect("answers").as_deref(), Some(expected), "{statement}");
                }
                Err(mysql::Error::MySqlError(error)) => assert!(drops && error.code == 1146, "{statement}: {error}"),
                Err(other) => panic!("{statement}: {other}"),
            }
            waiter.query_drop("DROP TEMPORARY TABLE IF EXISTS made").expect("dropped");
        }
    }
}

/// What EXPLAIN ANALYZE has seen of locks is not what the statement after it sees.
#[test]
fn each_statement_looks_at_locks_anew() {
    let server = server();
    let (mut watcher, mut holder) = (connect(&server), connect(&server));
    let locks = |watcher: &mut Conn| watcher.query_first::<u64, _>("SELECT COUNT(*) FROM performance_schema.data_locks").expect("answers");
    assert_eq!(locks(&mut watcher), Some(0));
    watcher.query_drop("EXPLAIN ANALYZE SELECT COUNT(*) FROM performance_schema.data_locks").expect("answers");
    holder.query_drop("INSERT INTO t VALUES (1, 1)").expect("a row");
    holder.query_drop("BEGIN").expect("begun");
    holder.query_drop("SELECT * FROM t FOR UPDATE").expect("locked");
    assert_ne!(locks(&mut watcher), Some(0));
}
