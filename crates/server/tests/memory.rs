//! Limits of memory: a statement that takes too much gets an error of its own, everybody else goes on, and the server shows what it holds.

use harness::Server;
use mysql::Conn;
use mysql::prelude::Queryable;

const ROWS: usize = 20_000;

/// A server with a table of some 20 MB.
fn server(arguments: &[&str]) -> (Server, Conn) {
    let server = Server::start(env!("CARGO_BIN_EXE_altiplano"), arguments);
    let mut connection = server.connect();
    for sql in ["CREATE DATABASE d", "USE d", "CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL, s VARCHAR(1000) NOT NULL)"] {
        connection.query_drop(sql).expect("done");
    }
    for from in (0..ROWS).step_by(1000) {
        let rows: Vec<String> = (from..from + 1000).map(|id| format!("({id}, {}, REPEAT('x', 1000))", id % 7)).collect();
        connection.query_drop(format!("INSERT INTO t VALUES {}", rows.join(", "))).expect("inserted");
    }
    (server, connection)
}

fn code(connection: &mut Conn, sql: &str) -> u16 {
    match connection.query_drop(sql) {
        Err(mysql::Error::MySqlError(error)) => error.code,
        other => panic!("{sql}: {other:?}"),
    }
}

fn status(connection: &mut Conn, name: &str) -> u64 {
    connection.query_first::<(String, u64), _>(format!("SHOW GLOBAL STATUS LIKE '{name}'")).expect("a status").expect("a row").1
}

/// What is done with disk where memory does not do, of [`GREEDY`]: `spill.rs` looks at that.
const SPILLED: usize = 2;

/// What takes much: a sort, a hash join, the values of one group, and lists that no operator accounts for.
const GREEDY: [&str; 4] = [
    "SELECT * FROM t ORDER BY s, n DESC, id",
    "SELECT SUM(LENGTH(a.s) + LENGTH(b.s)) FROM t a JOIN t b ON a.id * 10 + a.n = b.id * 10 + b.n",
    "SELECT COUNT(DISTINCT CONCAT(id, s)) FROM t",
    "UPDATE t SET n = n + 1, id = id + 1000000 ORDER BY s, id",
];

#[test]
fn a_greedy_statement_gets_an_error_and_nobody_else_does() {
    let (server, mut connection) = server(&[]);
    let mut other = Conn::new(server.options(Some("d"))).expect("a connection");
    connection.query_drop("SET SESSION connection_memory_limit = 4000000").expect("set");
    connection.query_drop("BEGIN").expect("a transaction");
    connection.query_drop("UPDATE t SET n = 100 WHERE id = 5").expect("updated");
    for sql in &GREEDY[..SPILLED] {
        connection.query_drop(sql).unwrap_or_else(|error| panic!("with disk: {sql}: {error}"));
    }
    for sql in &GREEDY[SPILLED..] {
        assert_eq!(code(&mut connection, sql), 1038, "{sql}");
        // The transaction is still there, and the connection.
        assert_eq!(connection.query_first::<u32, _>("SELECT n FROM t WHERE id = 5").expect("a read"), Some(100), "{sql}");
        assert_eq!(other.query_first::<u32, _>("SELECT n FROM t WHERE id = 5").expect("a read"), Some(5), "{sql}");
    }
    connection.query_drop("COMMIT").expect("committed");
    assert_eq!(other.query_first::<(usize, usize), _>("SELECT COUNT(*), SUM(n = 100) FROM t").expect("a read"), Some((ROWS, 1)));
    for sql in GREEDY {
        other.query_drop(sql).unwrap_or_else(|error| panic!("with the default: {sql}: {error}"));
    }
}

#[test]
fn past_the_servers_limit_who_grows_gets_an_error_and_small_statements_go_on() {
    let (server, mut connection) = server(&[]);
    let mut other = Conn::new(server.options(Some("d"))).expect("a connection");
    let used = status(&mut connection, "Altiplano_memory_heap") + status(&mut connection, "Altiplano_memory_mapped");
    connection.query_drop(format!("SET GLOBAL altiplano_memory_limit = {}", used + (4 << 20))).expect("set");
    for sql in &GREEDY[..SPILLED] {
        connection.query_drop(sql).unwrap_or_else(|error| panic!("with disk: {sql}: {error}"));
    }
    for sql in &GREEDY[SPILLED..] {
        assert_eq!(code(&mut connection, sql), 1041, "{sql}");
        assert_eq!(other.query_first::<usize, _>("SELECT COUNT(*) FROM t").expect("a read"), Some(ROWS));
        other.query_drop("UPDATE t SET n = n + 1 WHERE id = 7").expect("updated");
    }
    assert!(status(&mut connection, "Altiplano_memory_refusals") >= (GREEDY.len() - SPILLED) as u64);
    connection.query_drop("SET GLOBAL altiplano_memory_limit = 0").expect("set");
    for sql in GREEDY {
        connection.query_drop(sql).unwrap_or_else(|error| panic!("without it: {sql}: {error}"));
    }
}

#[test]
fn texts_that_functions_make_are_held_to_the_limit() {
    let server = Server::start(env!("CARGO_BIN_EXE_altiplano"), &[]);
    let mut connection = server.connect();
    connection.query_drop("SET SESSION connection_memory_limit = 8000000").expect("set");
    for sql in [
        "SELECT LENGTH(HEX(HEX(HEX(REPEAT('a', 2000000)))))",
        "SELECT LENGTH(MAKE_SET(-1, REPEAT('a', 3000000), REPEAT('b', 3000000), REPEAT('c', 3000000)))",
        "SELECT LENGTH(REPLACE(REPEAT('a', 10000), 'a', REPEAT('b', 3000)))",
        "SELECT LENGTH(DATE_FORMAT('2020-01-01', REPEAT('%W', 1500000)))",
        "SELECT LENGTH(REGEXP_REPLACE(REPEAT('a', 2000), '.*', REPEAT('$0', 20000)))",
        "SELECT LENGTH(QUOTE(QUOTE(QUOTE(REPEAT('''', 1000000)))))",
        "SELECT LENGTH(CONCAT(REPEAT('a', 3000000), REPEAT('b', 3000000), REPEAT('c', 3000000)))",
    ] {
        assert_eq!(code(&mut connection, sql), 1038, "{sql}");
        assert_eq!(connection.query_first::<u32, _>("SELECT 1").expect("a read"), Some(1), "{sql}");
    }
}

#[test]
fn what_is_held_is_shown_and_goes_back() {
    let (_server, mut connection) = server(&[]);
    let held = "SELECT EVENT_NAME, CURRENT_NUMBER_OF_BYTES_USED FROM performance_schema.memory_summary_global_by_event_name";
    let rows: Vec<(String, u64)> = connection.query(held).expect("rows");
    let of = |name: &str| rows.iter().find(|row| row.0 == name).unwrap_or_else(|| panic!("{name} in {rows:?}")).1;
    assert_eq!(of("memory/innodb/buf_buf_pool"), 64 << 20);
    assert_eq!(of("memory/innodb/log_buffer_memory"), 64 << 20);
    assert!(of("memory/sql/plan_cache") > 1000 && of("memory/sql/heap") > 1 << 20, "{rows:?}");
    // Nothing large runs any more, so nothing of that is held.
    connection.query_drop(GREEDY[0]).expect("sorted");
    let rows: Vec<(String, u64, u64)> =
        connection.query(held.replace("BYTES_USED FROM", "BYTES_USED, HIGH_NUMBER_OF_BYTES_USED FROM")).expect("rows");
    let sorts = rows.iter().find(|row| row.0 == "memory/sql/Filesort_buffer::sort_keys").expect("a row");
    assert!(sorts.1 == 0 && sorts.2 > 10 << 20, "{sorts:?}");
}

#[test]
fn the_rows_of_the_memory_table_are_consistent_and_add_up() {
    let (_server, mut connection) = server(&[]);
    for sql in GREEDY {
        connection.query_drop(sql).expect("done");
    }
    connection.query_drop("ALTER TABLE t ADD COLUMN more INT NOT NULL FIRST, ALGORITHM=COPY").expect("altered");
    connection.query_drop("CREATE INDEX s ON t (s(700))").expect("made");
    type Row = (String, u64, u64, u64, u64, i64, i64, i64);
    let sql = "SELECT EVENT_NAME, COUNT_ALLOC, COUNT_FREE, SUM_NUMBER_OF_BYTES_ALLOC, SUM_NUMBER_OF_BYTES_FREE, CURRENT_COUNT_USED, \
               CURRENT_NUMBER_OF_BYTES_USED, HIGH_NUMBER_OF_BYTES_USED FROM performance_schema.memory_summary_global_by_event_name";
    let rows: Vec<Row> = connection.query(sql).expect("rows");
    for (name, allocated, freed, bytes_allocated, bytes_freed, count, bytes, high) in &rows {
        assert_eq!(allocated - freed, *count as u64, "{name}");
        assert_eq!(bytes_allocated - bytes_freed, *bytes as u64, "{name}");
        assert!(high >= bytes, "{name}");
        assert_eq!(*count == 0, *bytes == 0, "{name}: {count} uses of {bytes} bytes");
    }
    let large = ["sql/Filesort_buffer::sort_keys", "sql/hash_join", "sql/hash_aggregation", "sql/index_build"];
    for (name, least) in large.map(|name| (name, 10 << 20)) {
        let row = rows.iter().find(|row| row.0 == format!("memory/{name}")).unwrap_or_else(|| panic!("{name} in {rows:?}"));
        assert!(row.7 >= least && row.6 == 0, "{row:?}");
    }
    let sum: i64 = rows.iter().map(|row| row.6).sum();
    let held = ["Altiplano_memory_heap", "Altiplano_memory_mapped", "Altiplano_undo_bytes_memory"]
        .map(|name| status(&mut connection, name))
        .iter()
        .sum::<u64>() as i64;
    assert!((sum - held).abs() < held / 10, "{sum} and {held}");
}

#[test]
fn the_plan_cache_is_bounded_by_bytes_and_counts_hits() {
    let (_server, mut connection) = server(&[]);
    let (hits, misses) = (status(&mut connection, "Altiplano_plan_cache_hits"), status(&mut connection, "Altiplano_plan_cache_misses"));
    for id in 0..50 {
        connection.query_drop(format!("SELECT n FROM t WHERE id = {id}")).expect("a read");
    }
    assert_eq!(status(&mut connection, "Altiplano_plan_cache_misses") - misses, 1);
    assert_eq!(status(&mut connection, "Altiplano_plan_cache_hits") - hits, 49);
    // A plan that nobody ran yet is no hit, nor does it take one back.
    let hits = status(&mut connection, "Altiplano_plan_cache_hits");
    for no in 0..20 {
        connection.prep(format!("SELECT n + {no} FROM t WHERE id = ?")).expect("prepared");
    }
    assert_eq!(status(&mut connection, "Altiplano_plan_cache_hits") - hits, 0);
    // Many plans of some size: what is kept stays below the bound.
    let columns = |from: usize| (0..200).map(|no| format!("n + id AS c{}", from * 1000 + no)).collect::<Vec<_>>().join(", ");
    for from in 0..2000 {
        connection.query_drop(format!("SELECT {} FROM t WHERE id = 1", columns(from))).expect("a read");
    }
    let (bytes, plans) = (status(&mut connection, "Altiplano_plan_cache_bytes"), status(&mut connection, "Altiplano_plan_cache_plans"));
    println!("{plans} plans, {} KiB each", (bytes / plans.max(1)) >> 10);
    assert!(bytes <= 128 << 20 && plans > 100, "{bytes} bytes, {plans} plans");
}

#[test]
fn optimize_is_bounded_by_the_servers_limit_and_ends_as_a_whole() {
    let (_server, mut connection) = server(&[]);
    connection.query_drop("CREATE TABLE small (id INT PRIMARY KEY)").expect("created");
    connection.query_drop("SET SESSION connection_memory_limit = 4000000").expect("set");
    let told = |connection: &mut Conn| -> Vec<(String, String, String)> {
        let rows: Vec<(String, String, String, String)> = connection.query("OPTIMIZE TABLE t, small").expect("rows");
        rows.into_iter().map(|row| (row.0, row.2, row.3)).collect()
    };
    let statuses = |rows: Vec<(String, String, String)>| -> Vec<(String, String)> {
        rows.into_iter().filter(|row| row.1 == "status").map(|row| (row.0, row.2)).collect()
    };
    let expect = [("d.t".to_owned(), "OK".to_owned()), ("d.small".to_owned(), "OK".to_owned())];
    assert_eq!(statuses(told(&mut connection)), expect, "its own limit does not count");
    let limit = |connection: &mut Conn, more: u64| {
        let used = status(connection, "Altiplano_memory_heap") + status(connection, "Altiplano_memory_mapped");
        connection.query_drop(format!("SET GLOBAL altiplano_memory_limit = {}", used + more)).expect("set");
    };
    limit(&mut connection, 12 << 20);
    assert_eq!(statuses(told(&mut connection)), expect, "rows are not held in memory");
    connection.query_drop("SET GLOBAL altiplano_memory_limit = 0").expect("set");
    connection.query_drop("CREATE INDEX s ON t (s(400))").expect("made");
    // Keys that are sorted are, while they are few.
    limit(&mut connection, 4 << 20);
    assert_eq!(code(&mut connection, "OPTIMIZE TABLE t, small"), 1041, "not a row that tells of it, and the next table");
    assert_eq!(code(&mut connection, "ALTER TABLE t ADD COLUMN more INT NOT NULL FIRST, ALGORITHM=COPY"), 1041);
    connection.query_drop("OPTIMIZE TABLE small").expect("the next statement is not marked");
    connection.query_drop("SET GLOBAL altiplano_memory_limit = 0").expect("set");
    assert_eq!(statuses(told(&mut connection)), expect);
    let checked: Vec<(String, String, String, String)> = connection.query("CHECK TABLE t, small").expect("rows");
    assert!(checked.iter().all(|row| row.3 == "OK"), "{checked:?}");
}

#[test]
fn prepared_statements_and_packets_are_booked() {
    let (server, mut connection) = server(&[]);
    let held = |connection: &mut Conn, name: &str| -> u64 {
        let sql = format!(
            "SELECT CURRENT_NUMBER_OF_BYTES_USED FROM performance_schema.memory_summary_global_by_event_name WHERE EVENT_NAME = 'memory/sql/{name}'"
        );
        connection.query_first(sql).expect("a row").expect("a row")
    };
    assert_eq!(held(&mut connection, "Prepared_statement"), 0);
    let mut other = Conn::new(server.options(Some("d"))).expect("a connection");
    let text = format!("SELECT ? + {}", "1 + ".repeat(200).repeat(200) + "1");
    let statement = other.prep(&text);
    // Whatever the limits of expressions say, a text that was taken is booked.
    match statement {
        Ok(statement) => {
            assert!(held(&mut connection, "Prepared_statement") >= text.len() as u64);
            other.close(statement).expect("closed");
        }
        Err(_) => {
            let list = format!("SELECT n FROM t WHERE id IN ({}?)", "1,".repeat(50_000));
            let statement = other.prep(&list).expect("prepared");
            assert!(held(&mut connection, "Prepared_statement") >= list.len() as u64);
            other.close(statement).expect("closed");
        }
    }
    // Closing has no reply; the next command has.
    other.ping().expect("there");
    assert_eq!(held(&mut connection, "Prepared_statement"), 0);
    other.query_drop(format!("SELECT LENGTH('{}')", "x".repeat(3 << 20))).expect("a long packet");
    assert!(held(&mut connection, "NET::buff") >= 3 << 20);
    drop(other);
    harness::until("the connection ended", || held(&mut connection, "NET::buff") < 3 << 20);
}

#[test]
fn a_pool_past_the_limit_is_refused_at_the_start_and_a_limit_below_the_pool_while_running() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_altiplano"))
        .args(["--port", "0", "--buffer-pool-size", "128M", "--set", "altiplano_memory_limit=160M", "--data-dir"])
        .arg(directory.path().join("data"))
        .output()
        .expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{told}");
    assert!(told.contains("of altiplano_memory_limit, 160 MiB, the buffer pool takes 128 MiB and the log 64 MiB"), "{told}");
    let (_server, mut connection) = server(&[]);
    assert_eq!(code(&mut connection, "SET GLOBAL altiplano_memory_limit = 100000000"), 1231);
    connection.query_drop("SELECT * FROM t ORDER BY s, n DESC, id").expect("as before");
}
