//! Statements over data several times their memory: what they do not hold goes to temporary files, of which nothing stays.

use harness::Server;
use mysql::prelude::Queryable;
use mysql::{Conn, Row};

const ROWS: usize = 20_000;

/// A server with a table of some 20 MB, and statements that may hold 4 MB.
fn server() -> (Server, Conn) {
    let server = Server::start(env!("CARGO_BIN_EXE_altiplano"), &[]);
    let mut connection = server.connect();
    for sql in ["CREATE DATABASE d", "USE d", "CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL, s VARCHAR(1000) NOT NULL)"] {
        connection.query_drop(sql).expect("done");
    }
    for from in (0..ROWS).step_by(1000) {
        let rows: Vec<String> =
            (from..from + 1000).map(|id| format!("({id}, {}, CONCAT({}, REPEAT('x', 990)))", id % 7, id * 7919 % 9973)).collect();
        connection.query_drop(format!("INSERT INTO t VALUES {}", rows.join(", "))).expect("inserted");
    }
    (server, connection)
}

fn status(connection: &mut Conn, name: &str) -> u64 {
    connection.query_first::<(String, u64), _>(format!("SHOW GLOBAL STATUS LIKE '{name}'")).expect("a status").expect("a row").1
}

/// A query, whether it says the order of its rows, and the counter that moves.
const LARGE: &[(&str, bool, &str)] = &[
    ("SELECT * FROM t ORDER BY s, n DESC, id", true, "Sort_merge_passes"),
    ("SELECT id, s FROM t ORDER BY s DESC, id LIMIT 15000 OFFSET 1000", true, "Sort_merge_passes"),
    ("SELECT s, id % 3 AS m, COUNT(*), MAX(id), SUM(n) FROM t GROUP BY s, m", false, "Created_tmp_disk_tables"),
    ("SELECT DISTINCT s, n FROM t", false, "Created_tmp_disk_tables"),
    ("SELECT a.id, b.id, b.s FROM t a JOIN t b ON b.s = a.s AND b.n = a.n", false, "Altiplano_spill_joins"),
    ("SELECT a.id, b.s FROM t a LEFT JOIN t b ON b.s = a.s AND b.id > a.id", false, "Altiplano_spill_joins"),
    ("SELECT a.id, b.s FROM t a JOIN t b ON b.s = a.s ORDER BY a.id", false, "Altiplano_spill_joins"),
    ("SELECT id, RANK() OVER (PARTITION BY id % 1000 ORDER BY s) AS r FROM t", false, "Sort_merge_passes"),
    ("SELECT s FROM t UNION SELECT CONCAT(s, n) FROM t", false, "Created_tmp_disk_tables"),
];

#[test]
fn what_is_several_times_the_limit_is_sorted_grouped_and_joined() {
    let (server, mut connection) = server();
    let tmpdir = server.data_dir().join("tmp");
    assert_eq!(connection.query_first::<String, _>("SELECT @@tmpdir").expect("a row"), Some(tmpdir.display().to_string()));
    for (sql, ordered, counter) in LARGE {
        let mut rows = |limit: u64| {
            connection.query_drop(format!("SET SESSION connection_memory_limit = {limit}")).expect("set");
            let before = ["Created_tmp_files", counter].map(|name| status(&mut connection, name));
            let rows: Vec<Row> = connection.query(*sql).unwrap_or_else(|error| panic!("{sql} with {limit}: {error}"));
            let after = ["Created_tmp_files", counter].map(|name| status(&mut connection, name));
            assert_eq!(after[0] > before[0] && after[1] > before[1], limit < 1 << 30, "{sql} with {limit}: {before:?}, {after:?}");
            let mut rows: Vec<String> = rows.into_iter().map(|row| format!("{:?}", row.unwrap())).collect();
            if !ordered {
                rows.sort_unstable();
            }
            rows
        };
        let (all, few) = (rows(1 << 30), rows(4_000_000));
        assert!(all == few, "{sql}: {} and {} rows", all.len(), few.len());
        assert!(all.len() >= 9000, "{sql}");
    }
    assert_eq!(std::fs::read_dir(&tmpdir).expect("a directory").count(), 0);
    assert_eq!(status(&mut connection, "Altiplano_spill_bytes"), 0);
    assert!(status(&mut connection, "Altiplano_spill_bytes_written") > 50 << 20);
}

#[test]
fn a_killed_statement_and_a_killed_server_leave_no_file() {
    let (mut server, mut connection) = server();
    let tmpdir = server.data_dir().join("tmp");
    let mut victim = Conn::new(server.options(Some("d"))).expect("a connection");
    let id = victim.connection_id();
    victim.query_drop("SET SESSION connection_memory_limit = 4000000").expect("set");
    let running = std::thread::spawn(move || victim.query_drop("SELECT a.s, b.s FROM t a, t b ORDER BY b.s, a.s"));
    harness::until("it has gone to disk", || status(&mut connection, "Altiplano_spill_bytes") > 1 << 20);
    connection.query_drop(format!("KILL QUERY {id}")).expect("killed");
    match running.join().expect("no panic") {
        Err(mysql::Error::MySqlError(error)) => assert_eq!(error.code, 1317),
        other => panic!("{other:?}"),
    }
    assert_eq!(status(&mut connection, "Altiplano_spill_bytes"), 0);
    // The server goes in the middle of another one.
    let mut victim = Conn::new(server.options(Some("d"))).expect("a connection");
    victim.query_drop("SET SESSION connection_memory_limit = 4000000").expect("set");
    let running = std::thread::spawn(move || victim.query_drop("SELECT a.s, b.s FROM t a, t b ORDER BY b.s, a.s"));
    harness::until("it has gone to disk", || status(&mut connection, "Altiplano_spill_bytes") > 1 << 20);
    server.kill();
    running.join().expect("no panic").expect_err("gone");
    assert_eq!(std::fs::read_dir(&tmpdir).expect("a directory").count(), 0);
    server.restart();
    assert_eq!(server.connect().query_first::<usize, _>("SELECT COUNT(*) FROM d.t").expect("a row"), Some(ROWS));
}

#[test]
fn a_directory_for_temporary_files_is_chosen_and_must_be_one() {
    let directory = tempfile::tempdir().expect("a directory");
    let chosen = directory.path().join("chosen").display().to_string();
    let server = Server::start(env!("CARGO_BIN_EXE_altiplano"), &["--set", &format!("tmpdir={chosen}")]);
    let mut connection = server.connect();
    assert_eq!(connection.query_first::<String, _>("SELECT @@global.tmpdir").expect("a row"), Some(chosen));
    match connection.query_drop("SET GLOBAL tmpdir = '/tmp'") {
        Err(mysql::Error::MySqlError(error)) => assert_eq!(error.code, 1238),
        other => panic!("{other:?}"),
    }
}
