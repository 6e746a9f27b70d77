//! COM_FIELD_LIST, which old clients and the `mysql` program's completion send: the columns that are like a pattern, with their defaults. COM_DEBUG, which
//! `mysqladmin debug` sends.

mod wire_client;

use harness::Server;
use protocol::command::byte;
use protocol::{ColumnDefinition, ErrReply};
use wire_client::{Wire, Wish};

/// Names and defaults of a table's columns.
fn fields(wire: &mut Wire, table: &str, pattern: &str) -> Vec<(String, Option<Vec<u8>>)> {
    wire.command(byte::FIELD_LIST, format!("{table}\0{pattern}").as_bytes());
    let mut fields = Vec::new();
    loop {
        let packet = wire.read().expect("a packet");
        if packet[0] == 0xFE && packet.len() < 9 {
            return fields;
        }
        assert_ne!(packet[0], 0xFF, "{}", String::from_utf8_lossy(&packet));
        let column = ColumnDefinition::parse(&packet).expect("a column");
        let name = String::from_utf8_lossy(column.name).into_owned();
        fields.push((name, default_of(&packet)));
    }
}

/// What stands behind six strings and the fixed part.
fn default_of(packet: &[u8]) -> Option<Vec<u8>> {
    let mut rest = packet;
    for _ in 0..6 {
        rest = &rest[1 + usize::from(rest[0])..];
    }
    let rest = &rest[13..];
    if rest[0] == 0xFB {
        return None;
    }
    assert_eq!(usize::from(rest[0]), rest.len() - 1);
    Some(rest[1..].to_vec())
}

#[test]
fn columns_like_the_pattern_are_told_with_their_defaults() {
    let server = Server::start(env!("CARGO_BIN_EXE_altiplano"), &[]);
    let mut wire = Wire::connect(server.port(), Wish::default()).expect("a connection");
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (a INT PRIMARY KEY AUTO_INCREMENT, b INT DEFAULT 5, bc VARCHAR(5) DEFAULT 'x', d DATETIME DEFAULT CURRENT_TIMESTAMP, e DATETIME DEFAULT '2020-01-01', g DECIMAL(5, 2) DEFAULT 1.5, bits BIT(3) DEFAULT b'101', j INT DEFAULT (1 + 1), bd BINARY(3) DEFAULT 'a', n INT AS (b + 1), z CHAR(3) NOT NULL DEFAULT '')",
    ] {
        wire.query(sql).expect(sql);
    }
    // As MySQL 9.7 answers.
    let expected: [(&str, Option<&[u8]>); 11] = [
        ("a", Some(b"0")),
        ("b", Some(b"5")),
        ("bc", Some(b"x")),
        ("d", None),
        ("e", Some(b"2020-01-01 00:00:00")),
        ("g", Some(b"1.50")),
        ("bits", Some(b"\x05")),
        ("j", None),
        ("bd", Some(b"a\0\0")),
        ("n", None),
        ("z", Some(b"")),
    ];
    let expected: Vec<(String, Option<Vec<u8>>)> =
        expected.into_iter().map(|(name, default)| (name.to_owned(), default.map(<[u8]>::to_vec))).collect();
    assert_eq!(fields(&mut wire, "t", ""), expected);
    assert_eq!(fields(&mut wire, "t", "%"), expected);
    let names = |fields: Vec<(String, Option<Vec<u8>>)>| fields.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names(fields(&mut wire, "t", "B_")), ["bc", "bd"]);
    assert_eq!(names(fields(&mut wire, "t", "b")), ["b"]);
    assert_eq!(names(fields(&mut wire, "t", "b\\%")), [""; 0]);
    assert_eq!(names(fields(&mut wire, "t", "nosuch")), [""; 0]);
}

#[test]
fn debug_is_answered_by_an_eof_and_a_line_in_the_log() {
    let mut server = Server::start(env!("CARGO_BIN_EXE_altiplano"), &[]);
    let mut root = Wire::connect(server.port(), Wish::default()).expect("a connection");
    root.query("CREATE USER low").expect("an account");
    let mut low = Wire::connect(server.port(), Wish { user: "low", ..Wish::default() }).expect("a connection");
    low.command(byte::DEBUG, b"");
    let refused = low.read().expect("an answer");
    assert_eq!(ErrReply::parse(&refused).expect("an error").code, 1227);
    // As MySQL 9.7 answers: how many conditions the statement before has left, and the status.
    root.query("CREATE DATABASE d").expect("a database");
    root.query("DROP TABLE IF EXISTS d.nosuch, d.nosuch_either").expect("notes");
    root.command(byte::DEBUG, b"");
    assert_eq!(root.read().expect("an answer"), [0xFE, 2, 0, 2, 0]);
    assert_eq!(root.query("SHOW GLOBAL STATUS LIKE 'Com_admin_commands'").expect("a row")[0][1].as_deref(), Some("2"));
    // Lines come into the log a moment later; all are there when the server has ended.
    assert_eq!(server.stop(), Some(0));
    let log = server.log();
    assert!(log.contains("status for root@") && !log.contains("status for low"), "{log}");
}
