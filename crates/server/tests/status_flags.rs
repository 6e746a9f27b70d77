//! Status flags of replies that tell of the statement: no index was used, the columns are others than when it was prepared, a database was dropped. `ASK=HOST:PORT`
//! asks a MySQL instead.

mod wire_client;

use harness::{Server, Target};
use protocol::ServerStatus;
use protocol::command::byte;
use wire_client::{Wire, Wish};

/// The flags of a reply's last packet, and how many columns it has.
fn flags(wire: &mut Wire) -> (ServerStatus, usize) {
    let head = wire.read().expect("a reply");
    let status = |packet: &[u8], at: usize| ServerStatus(u16::from_le_bytes([packet[at], packet[at + 1]]));
    assert_ne!(head[0], 0xFF, "{}", String::from_utf8_lossy(&head));
    if head[0] == 0 {
        // Counts of changed rows and identifiers have a byte each here.
        return (status(&head, 3), 0);
    }
    let mut ends = 0;
    loop {
        let packet = wire.read().expect("a packet");
        if packet[0] == 0xFE && packet.len() < 9 {
            ends += 1;
            if ends == 2 {
                return (status(&packet, 3), usize::from(head[0]));
            }
        }
    }
}

fn ask(wire: &mut Wire, sql: &str) -> ServerStatus {
    wire.command(byte::QUERY, sql.as_bytes());
    flags(wire).0
}

#[test]
fn replies_tell_of_indexes_columns_and_databases() {
    let server = match std::env::var("ASK") {
        Ok(address) => Target::external(&address).expect("a MySQL"),
        Err(_) => Target::Own(Server::start(env!("CARGO_BIN_EXE_altiplano"), &[])),
    };
    let port = match &server {
        Target::Own(server) => server.port(),
        Target::External { port, .. } => *port,
    };
    let mut wire = Wire::connect(port, Wish::default()).expect("a login");
    for sql in [
        "DROP DATABASE IF EXISTS flags",
        "CREATE DATABASE flags",
        "USE flags",
        "CREATE TABLE t (id INT PRIMARY KEY, b INT, c INT, KEY (b))",
        "INSERT INTO t VALUES (1, 1, 1), (2, 2, 2)",
    ] {
        ask(&mut wire, sql);
    }
    for (sql, whole) in [
        ("SELECT * FROM t", true),
        ("SELECT * FROM t WHERE id = 1", false),
        ("SELECT * FROM t ORDER BY id LIMIT 1", false),
        ("SELECT * FROM t ORDER BY id DESC", false),
        ("SELECT * FROM t ORDER BY c", true),
        ("SELECT MAX(id) FROM t", false),
        ("SELECT * FROM t WHERE c = 1", true),
        ("SELECT * FROM t WHERE b = 1", false),
        ("SELECT x.c FROM t x JOIN t y ON y.c = x.c WHERE x.id = 1", true),
        ("SELECT (SELECT MAX(c) FROM t)", true),
        ("SELECT 1", false),
        ("UPDATE t SET c = 2 WHERE c = 1", true),
        ("UPDATE t SET c = 2 WHERE id = 1", false),
        ("DELETE FROM t WHERE c = 9", true),
        ("INSERT INTO t SELECT id + 10, b, c FROM t WHERE c = 9", true),
        ("SET @a = 1", false),
    ] {
        assert_eq!(ask(&mut wire, sql).contains(ServerStatus::NO_INDEX_USED), whole, "{sql}");
    }
    wire.command(byte::STMT_PREPARE, b"SELECT * FROM t WHERE id = 1");
    let prepared = wire.read().expect("a statement");
    assert_eq!(prepared[0], 0);
    let statement = [&prepared[1..5], &[0, 1, 0, 0, 0]].concat();
    for _ in 0..4 {
        wire.read().expect("a column or their end");
    }
    let mut run = |ddl: &str| {
        if !ddl.is_empty() {
            ask(&mut wire, ddl);
        }
        wire.command(byte::STMT_EXECUTE, &statement);
        let (status, columns) = flags(&mut wire);
        (status.contains(ServerStatus::METADATA_CHANGED), columns)
    };
    assert_eq!(run(""), (false, 3));
    assert_eq!(run("ALTER TABLE t ADD d INT"), (true, 4));
    assert_eq!(run(""), (false, 4));
    assert_eq!(run("ALTER TABLE t MODIFY d BIGINT"), (false, 4));
    assert_eq!(run("ALTER TABLE t DROP COLUMN d"), (true, 3));
    assert!(ask(&mut wire, "DROP DATABASE flags").contains(ServerStatus::DB_DROPPED));
    assert!(!ask(&mut wire, "SET @a = 1").contains(ServerStatus::DB_DROPPED));
}
