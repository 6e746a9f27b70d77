//! What OK packets tell beside the result: affected rows and the words about records, duplicates and matches, with and without CLIENT_FOUND_ROWS; and types of
//! columns that MySQL keeps before it sends them.
//! `ASK=HOST:PORT cargo test -p server --test replies` asks a MySQL (root without password) whether it says the same.

use harness::{Server, Target};
use mysql::consts::CapabilityFlags;
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

/// Statements, each after a fresh `t` of three rows: affected rows and words, then the same for a client that counts found rows.
const CASES: &[(&str, (u64, &str), (u64, &str))] = &[
    (
        "INSERT IGNORE INTO t VALUES (1,9,9),(4,4,4) ON DUPLICATE KEY UPDATE u=2",
        (1, "Records: 2  Duplicates: 1  Warnings: 1"),
        (1, "Records: 2  Duplicates: 1  Warnings: 1"),
    ),
    (
        "INSERT IGNORE INTO t VALUES (1,9,9),(5,5,5) ON DUPLICATE KEY UPDATE v=v+1",
        (3, "Records: 2  Duplicates: 0  Warnings: 0"),
        (3, "Records: 2  Duplicates: 0  Warnings: 0"),
    ),
    (
        "INSERT IGNORE INTO t VALUES (1,9,9),(6,6,6) ON DUPLICATE KEY UPDATE v=v",
        (1, "Records: 2  Duplicates: 1  Warnings: 0"),
        (2, "Records: 2  Duplicates: 1  Warnings: 0"),
    ),
    (
        "INSERT IGNORE INTO t VALUES (1,9,9),(2,9,9) ON DUPLICATE KEY UPDATE u=3",
        (0, "Records: 2  Duplicates: 2  Warnings: 2"),
        (0, "Records: 2  Duplicates: 2  Warnings: 2"),
    ),
    (
        "INSERT IGNORE INTO t VALUES (1,9,9),(2,9,9),(7,7,7)",
        (1, "Records: 3  Duplicates: 2  Warnings: 2"),
        (1, "Records: 3  Duplicates: 2  Warnings: 2"),
    ),
    (
        "INSERT INTO t VALUES (1,9,9),(2,9,9) ON DUPLICATE KEY UPDATE v=v+1",
        (4, "Records: 2  Duplicates: 2  Warnings: 0"),
        (4, "Records: 2  Duplicates: 2  Warnings: 0"),
    ),
    (
        "INSERT INTO t VALUES (1,9,9),(20,9,9) ON DUPLICATE KEY UPDATE v=v",
        (1, "Records: 2  Duplicates: 0  Warnings: 0"),
        (2, "Records: 2  Duplicates: 1  Warnings: 0"),
    ),
    (
        "INSERT IGNORE INTO t SELECT 1,50,3 UNION ALL SELECT 23,23,22 ON DUPLICATE KEY UPDATE u=2",
        (1, "Records: 2  Duplicates: 1  Warnings: 1"),
        (1, "Records: 2  Duplicates: 1  Warnings: 1"),
    ),
    (
        "REPLACE INTO t VALUES (1,2,3),(30,30,30)",
        (4, "Records: 2  Duplicates: 2  Warnings: 0"),
        (4, "Records: 2  Duplicates: 2  Warnings: 0"),
    ),
    ("UPDATE t SET v=2", (2, "Rows matched: 3  Changed: 2  Warnings: 0"), (3, "Rows matched: 3  Changed: 2  Warnings: 0")),
    ("DELETE FROM t WHERE id < 3", (2, ""), (2, "")),
    ("INSERT INTO t VALUES (8,8,8)", (1, ""), (1, "")),
];

#[test]
fn replies_tell_what_mysql_tells() {
    let asked = std::env::var("ASK").ok();
    let server = asked.is_none().then(|| Server::start(env!("CARGO_BIN_EXE_altiplano"), &[]));
    let options = |found_rows: bool| {
        let options = match (&server, asked.as_deref().and_then(|address| address.split_once(':'))) {
            (Some(server), _) => OptsBuilder::from_opts(server.options(None)),
            (None, Some((host, port))) => {
                let port = port.parse().expect("a port");
                OptsBuilder::new().ip_or_hostname(Some(host)).tcp_port(port).user(Some("root")).prefer_socket(false)
            }
            (None, None) => panic!("ASK is HOST:PORT"),
        };
        options.additional_capabilities(if found_rows { CapabilityFlags::CLIENT_FOUND_ROWS } else { CapabilityFlags::empty() })
    };
    for found_rows in [false, true] {
        let mut connection = Conn::new(options(found_rows)).expect("a connection");
        connection.query_drop("DROP DATABASE IF EXISTS replies").expect("no database");
        connection.query_drop("CREATE DATABASE replies").expect("a database");
        connection.query_drop("USE replies").expect("used");
        connection.query_drop("CREATE TABLE t (id INT PRIMARY KEY, u INT UNIQUE, v INT)").expect("a table");
        for (sql, plain, found) in CASES {
            connection.query_drop("DELETE FROM t").expect("emptied");
            connection.query_drop("INSERT INTO t VALUES (1,1,1),(2,2,2),(3,3,3)").expect("rows");
            connection.query_drop(*sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
            let told = (connection.affected_rows(), connection.info_str().into_owned());
            let (affected, info) = if found_rows { found } else { plain };
            assert_eq!(told, (*affected, (*info).to_owned()), "{sql}, found rows: {found_rows}");
        }
        connection.query_drop("DROP DATABASE replies").expect("dropped");
    }
}

/// GET DIAGNOSTICS counts what it has added to the conditions, not those that it tells of.
#[test]
fn get_diagnostics_counts_its_own_conditions() {
    let server = Server::start(env!("CARGO_BIN_EXE_altiplano"), &[]);
    let mut connection = Conn::new(server.options(None)).expect("a connection");
    connection.query_drop("DROP DATABASE IF EXISTS nothing").expect("a note");
    assert_eq!(connection.warnings(), 1, "the note");
    for (sql, own, all) in [
        ("GET DIAGNOSTICS @n = NUMBER", 0, 1),
        ("GET DIAGNOSTICS CONDITION 1 @m = MESSAGE_TEXT", 0, 1),
        ("GET DIAGNOSTICS CONDITION 2 @m = MESSAGE_TEXT", 1, 2),
        ("GET DIAGNOSTICS CONDITION 3 @m = MESSAGE_TEXT", 1, 3),
        ("GET DIAGNOSTICS CONDITION 3 @m = MESSAGE_TEXT", 0, 3),
    ] {
        connection.query_drop(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let counted = connection.warnings();
        let conditions: Vec<(String, u16, String)> = connection.query("SHOW WARNINGS").expect("conditions");
        assert_eq!((counted, conditions.len()), (own, all), "{sql}");
    }
    let message: Option<String> = connection.query_first("SELECT @m").expect("a variable");
    assert_eq!(message.as_deref(), Some("Invalid condition number"));
}

/// Queries, and of each column of the result its type, signedness and decimals: of what MySQL keeps in temporary tables before it sends it, and of `information_schema`, whose
/// tables are views.
const TOLD: &[(&str, &[&str])] = &[
    ("SELECT s FROM kept UNION SELECT 'x'", &["MYSQL_TYPE_VAR_STRING 0"]),
    ("SELECT 1 UNION SELECT 'a'", &["MYSQL_TYPE_VAR_STRING 0"]),
    ("SELECT CONCAT(s, 'x') FROM kept", &["MYSQL_TYPE_VAR_STRING 31"]),
    (
        "SELECT DISTINCT CONCAT(s, 'x'), i = 1, i + 1, 'abc', s FROM kept",
        &["MYSQL_TYPE_VAR_STRING 0", "MYSQL_TYPE_LONG 0", "MYSQL_TYPE_LONGLONG 0", "MYSQL_TYPE_VAR_STRING 31", "MYSQL_TYPE_VAR_STRING 0"],
    ),
    (
        "SELECT LAG(p) OVER (), MAX(i) OVER (), FIRST_VALUE(y) OVER (), LAG(e) OVER (), LAST_VALUE(c) OVER (), LAG(s) OVER (), RANK() OVER () FROM kept",
        &[
            "MYSQL_TYPE_LONG 0",
            "MYSQL_TYPE_LONGLONG 0",
            "MYSQL_TYPE_LONG unsigned 0",
            "MYSQL_TYPE_VAR_STRING 0",
            "MYSQL_TYPE_VAR_STRING 0",
            "MYSQL_TYPE_VAR_STRING 0",
            "MYSQL_TYPE_LONGLONG unsigned 0",
        ],
    ),
    (
        "SELECT p, i, y, e, CONCAT(s, 'x'), COUNT(*) OVER () FROM kept",
        &[
            "MYSQL_TYPE_SHORT 0",
            "MYSQL_TYPE_LONG 0",
            "MYSQL_TYPE_YEAR unsigned 0",
            "MYSQL_TYPE_STRING 0",
            "MYSQL_TYPE_VAR_STRING 0",
            "MYSQL_TYPE_LONGLONG 0",
        ],
    ),
    (
        "SELECT NUMERIC_PRECISION, NUMERIC_SCALE, DATETIME_PRECISION, ORDINAL_POSITION FROM information_schema.COLUMNS WHERE TABLE_NAME = 'kept'",
        &["MYSQL_TYPE_LONG unsigned 0", "MYSQL_TYPE_LONG unsigned 0", "MYSQL_TYPE_LONG unsigned 0", "MYSQL_TYPE_LONG unsigned 0"],
    ),
    (
        "SELECT NON_UNIQUE, SEQ_IN_INDEX, CARDINALITY, SUB_PART FROM information_schema.STATISTICS WHERE TABLE_NAME = 'kept'",
        &["MYSQL_TYPE_LONGLONG 0", "MYSQL_TYPE_LONG unsigned 0", "MYSQL_TYPE_LONGLONG 0", "MYSQL_TYPE_LONGLONG 0"],
    ),
    (
        "SELECT VERSION, TABLE_ROWS, CHECKSUM FROM information_schema.TABLES WHERE TABLE_NAME = 'kept'",
        &["MYSQL_TYPE_LONGLONG 0", "MYSQL_TYPE_LONGLONG unsigned 0", "MYSQL_TYPE_LONGLONG 0"],
    ),
    (
        "SELECT PARTITION_ORDINAL_POSITION, SUBPARTITION_ORDINAL_POSITION, SUBPARTITION_EXPRESSION FROM information_schema.PARTITIONS WHERE TABLE_NAME = 'kept'",
        &["MYSQL_TYPE_LONGLONG unsigned 0", "MYSQL_TYPE_LONGLONG unsigned 0", "MYSQL_TYPE_VAR_STRING 0"],
    ),
    ("SELECT SQL_PATH FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'replies_kept'", &["MYSQL_TYPE_NULL 0"]),
];

#[test]
fn columns_have_the_types_that_mysql_tells() {
    let server = match std::env::var("ASK") {
        Ok(address) => Target::external(&address).expect("a MySQL"),
        Err(_) => Target::Own(Server::start(env!("CARGO_BIN_EXE_altiplano"), &[])),
    };
    let mut connection = server.connect(None).expect("a connection");
    for sql in [
        "DROP DATABASE IF EXISTS replies_kept",
        "CREATE DATABASE replies_kept",
        "USE replies_kept",
        "CREATE TABLE kept (p SMALLINT, i INT, y YEAR, e ENUM('a','bc'), c CHAR(3), s VARCHAR(9), UNIQUE KEY (p))",
        "INSERT INTO kept VALUES (1, 2, 2024, 'a', 'x', 'y'), (3, 4, 1999, 'bc', 'z', 'w')",
    ] {
        connection.query_drop(sql).expect(sql);
    }
    for (sql, expected) in TOLD {
        // Prepared, values have the form of their type: text and binary rows must agree.
        let text: Vec<mysql::Row> = connection.query(*sql).expect(sql);
        let binary: Vec<mysql::Row> = connection.exec(*sql, ()).expect(sql);
        let value = |value: mysql::Value| value.as_sql(true).replace('\'', "");
        let as_text = |rows: Vec<mysql::Row>| -> Vec<Vec<String>> {
            rows.into_iter().map(|row| row.unwrap().into_iter().map(value).collect()).collect()
        };
        let types: Vec<String> = text.first().map_or_else(Vec::new, |row| row.columns_ref().iter().map(told).collect());
        assert_eq!(types, *expected, "{sql}");
        assert_eq!(as_text(text), as_text(binary), "{sql}");
    }
    connection.query_drop("DROP DATABASE replies_kept").expect("gone");
}

fn told(column: &mysql::Column) -> String {
    let unsigned = if column.flags().contains(mysql::consts::ColumnFlags::UNSIGNED_FLAG) { " unsigned" } else { "" };
    format!("{:?}{unsigned} {}", column.column_type(), column.decimals())
}

/// The numbers of the results of some statements in one text, and of the error that ends them.
fn results_of(connection: &mut Conn, sql: &str) -> (usize, Option<u16>) {
    let code = |error| match error {
        mysql::Error::MySqlError(error) => error.code,
        other => panic!("{other}"),
    };
    let mut results = match connection.query_iter(sql) {
        Ok(results) => results,
        Err(error) => return (0, Some(code(error))),
    };
    let mut count = 0;
    while let Some(result) = results.iter() {
        count += 1;
        for row in result {
            if let Err(error) = row {
                return (count, Some(code(error)));
            }
        }
    }
    (count, None)
}

#[test]
fn an_empty_statement_is_one_only_where_nothing_follows() {
    let server = match std::env::var("ASK") {
        Ok(address) => Target::external(&address).expect("a MySQL"),
        Err(_) => Target::Own(Server::start(env!("CARGO_BIN_EXE_altiplano"), &[])),
    };
    let mut connection = server.connect(None).expect("a connection");
    for (sql, expected) in [
        ("SELECT 1;;", (1, None)),
        ("SELECT 1; SELECT 2;", (2, None)),
        (";SELECT 1", (0, Some(1064))),
        ("/* x */;SELECT 1", (0, Some(1064))),
        (";", (0, Some(1065))),
        // A comment is one that does nothing.
        ("-- x", (1, None)),
        ("SELECT 1; -- x", (2, None)),
        ("SELECT 1; /* x */", (2, None)),
        ("SELECT 1; # x\n ; ", (2, None)),
        ("DO 1; SELECT 1; -- x\n", (3, None)),
        ("SELECT 1 /* x */ ; ", (1, None)),
        ("SELECT 1 -- x", (1, None)),
    ] {
        assert_eq!(results_of(&mut connection, sql), expected, "{sql}");
    }
    // The first result is there before the second statement is looked at.
    let (count, error) = results_of(&mut connection, "SELECT 1;; SELECT 2");
    assert_eq!(error, Some(1064));
    assert!(count >= 1);
}

#[test]
fn a_login_with_a_wrong_sequence_id_is_told_so() {
    use std::io::{Read, Write};
    let server = Server::start(env!("CARGO_BIN_EXE_altiplano"), &[]);
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", server.port())).expect("a connection");
    let packet = |stream: &mut std::net::TcpStream| {
        let mut header = [0; 4];
        stream.read_exact(&mut header).expect("a header");
        let mut payload = vec![0; usize::from(header[0]) | usize::from(header[1]) << 8];
        stream.read_exact(&mut payload).expect("a payload");
        payload
    };
    packet(&mut stream);
    // The greeting was 0, so that 1 is due.
    stream.write_all(&[3, 0, 0, 5, 0, 0, 0]).expect("sent");
    assert_eq!(packet(&mut stream), b"\xFF\x84\x04#08S01Got packets out of order");
}
