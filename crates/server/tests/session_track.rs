//! What OK packets tell of the session's state, and what clients say of themselves: expectations are MySQL 9.7's.

mod wire_client;

use harness::Server;
use mysql::prelude::Queryable;
use protocol::command::byte;
use protocol::handshake::put_attribute;
use protocol::{Bytes, Capabilities, OkReply};
use wire_client::{BASE, Wire, Wish};

fn server() -> Server {
    let server = Server::start(env!("CARGO_BIN_EXE_altiplano"), &[]);
    server.connect().query_drop("CREATE DATABASE d").expect("a database");
    server
}

/// The entries of an OK packet, in words.
fn told(wire: &mut Wire) -> Vec<String> {
    let packet = wire.read().expect("an OK packet");
    assert_eq!(packet[0], 0, "{packet:?}");
    entries(&packet, wire.capabilities)
}

fn entries(packet: &[u8], capabilities: Capabilities) -> Vec<String> {
    let ok = OkReply::parse(packet, capabilities).expect("an OK packet");
    let mut bytes = Bytes::new(ok.session_state);
    let mut entries = Vec::new();
    while !bytes.is_empty() {
        let kind = bytes.u8().expect("a kind");
        let whole = bytes.lenenc_bytes().expect("data");
        let mut data = Bytes::new(whole);
        let mut text = || String::from_utf8_lossy(data.lenenc_bytes().expect("text")).into_owned();
        entries.push(match kind {
            0 => format!("{}={}", text(), text()),
            1 => format!("schema {}", text()),
            // No length of its own, as in MySQL.
            2 => format!("state {}", String::from_utf8_lossy(whole)),
            4 => format!("again {}", text()),
            5 => format!("transaction {}", text()),
            other => panic!("entry {other}"),
        });
    }
    entries
}

fn run(wire: &mut Wire, sql: &str) -> Vec<String> {
    wire.command(byte::QUERY, sql.as_bytes());
    told(wire)
}

/// The same where rows may come before it, of a client that gets an OK packet behind them; an error is its number.
fn run_any(wire: &mut Wire, sql: &str) -> Vec<String> {
    wire.command(byte::QUERY, sql.as_bytes());
    let first = wire.read().expect("a packet");
    match first[0] {
        0 => return entries(&first, wire.capabilities),
        0xFF => return vec![u16::from_le_bytes([first[1], first[2]]).to_string()],
        columns => (0..columns).for_each(|_| drop(wire.read().expect("a column"))),
    }
    loop {
        let packet = wire.read().expect("a row or the end");
        // Rows of these tests begin with short texts or NULL.
        if packet[0] == 0xFE {
            return entries(&packet, wire.capabilities);
        }
    }
}

#[test]
fn changes_are_told_with_the_statement_that_made_them() {
    let server = server();
    let wish = |more: Capabilities| Wish { capabilities: BASE | more, ..Wish::default() };
    let mut wire = Wire::connect(server.port(), wish(Capabilities::SESSION_TRACK)).expect("a connection");
    for (sql, expect) in [
        ("USE d", &["schema d"][..]),
        ("USE d", &["schema d"]),
        ("CREATE DATABASE e", &[]),
        ("USE e", &["schema e"]),
        ("DROP DATABASE e", &["schema "]),
        ("SET autocommit = 0", &["autocommit=OFF"]),
        ("SET autocommit = 0", &["autocommit=OFF"]),
        ("SET autocommit = 1", &["autocommit=ON"]),
        ("SET NAMES utf8mb4", &["character_set_client=utf8mb4", "character_set_connection=utf8mb4", "character_set_results=utf8mb4"]),
        ("SET time_zone = '+01:00'", &["time_zone=+01:00"]),
        ("SET sql_mode = ''", &[]),
        ("SET @a = 1", &[]),
        ("SET time_zone = 'SYSTEM', autocommit = 1", &["autocommit=ON", "time_zone=SYSTEM"]),
        ("SET session_track_state_change = ON", &["state 1"]),
        ("SET @a = 2", &["state 1"]),
        ("USE d", &["schema d", "state 1"]),
        ("PREPARE s FROM 'SELECT 1'", &["state 1"]),
        ("DO 1", &[]),
        ("SET session_track_state_change = OFF", &[]),
        ("SET session_track_system_variables = 'sql_mode, div_precision_increment'", &[]),
        ("SET sql_mode = '', div_precision_increment = 5", &["div_precision_increment=5", "sql_mode="]),
        ("SET session_track_system_variables = '*'", &["session_track_system_variables=*"]),
        ("SET session_track_system_variables = ''", &[]),
        ("SET sql_mode = 'ANSI_QUOTES'", &[]),
        ("SET session_track_schema = OFF", &[]),
        ("USE d", &[]),
        ("SET session_track_schema = ON", &[]),
    ] {
        assert_eq!(run(&mut wire, sql), expect, "{sql}");
    }
    // What a failed statement changed is not told later.
    wire.command(byte::QUERY, b"SET autocommit = 1, nonsense = 2");
    assert_eq!(wire.read().expect("an error")[0], 0xFF);
    assert_eq!(run(&mut wire, "DO 1"), [""; 0]);
    wire.command(byte::INIT_DB, b"d");
    assert_eq!(told(&mut wire), ["schema d"]);
    wire.command(byte::RESET_CONNECTION, b"");
    assert_eq!(told(&mut wire), [""; 0]);
    wire.command(byte::QUERY, b"SET session_track_system_variables = 'nonsuch'");
    let reply = wire.read().expect("ok");
    assert_eq!(OkReply::parse(&reply, wire.capabilities).expect("ok").warnings, 1);
    // Who does not listen is told nothing.
    let mut deaf = Wire::connect(server.port(), wish(Capabilities::empty())).expect("a connection");
    deaf.command(byte::QUERY, b"SET autocommit = 0");
    assert_eq!(deaf.read().expect("ok").len(), 7);
    assert_eq!(deaf.query("SET resultset_metadata = NONE"), Err(3640));
}

#[test]
fn transactions_are_told_with_what_they_have_used() {
    let server = server();
    let capabilities = BASE | Capabilities::SESSION_TRACK | Capabilities::DEPRECATE_EOF;
    let mut wire = Wire::connect(server.port(), Wish { capabilities, ..Wish::default() }).expect("a connection");
    for (sql, expect) in [
        ("USE d", &["schema d"][..]),
        ("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a DOUBLE)", &[]),
        ("CREATE TABLE u (a DOUBLE)", &[]),
        ("SET session_track_transaction_info = 'STATE'", &[]),
        // The example of MySQL's manual.
        ("START TRANSACTION", &["transaction T_______"]),
        ("SELECT 1", &["transaction T_____S_"]),
        ("INSERT INTO t () VALUES ()", &["transaction T___W_S_"]),
        ("INSERT INTO t VALUES (NULL, RAND())", &["transaction T___WsS_"]),
        ("COMMIT", &["transaction ________"]),
        // A transaction of one statement is over when it is told.
        ("INSERT INTO t () VALUES ()", &[]),
        ("SELECT * FROM t", &[]),
        ("BEGIN", &["transaction T_______"]),
        ("SELECT a FROM t", &["transaction T_R___S_"]),
        ("SELECT a FROM t FOR UPDATE", &["transaction T_R_W_S_"]),
        ("ROLLBACK", &["transaction ________"]),
        ("BEGIN", &["transaction T_______"]),
        ("UPDATE t SET a = 1 WHERE id = 1", &["transaction T___W___"]),
        ("DELETE FROM t WHERE id = 1", &[]),
        ("INSERT INTO u SELECT a FROM t", &["transaction T_R_W___"]),
        ("UPDATE t SET a = 3 LIMIT 1", &["transaction T_R_Ws__"]),
        ("ROLLBACK", &["transaction ________"]),
        ("BEGIN", &["transaction T_______"]),
        ("DO RAND()", &["transaction T____s__"]),
        ("DO (SELECT COUNT(*) FROM t)", &["transaction T_R__s__"]),
        ("SHOW WARNINGS", &["transaction T_R__sS_"]),
        ("ROLLBACK", &["transaction ________"]),
        ("BEGIN", &["transaction T_______"]),
        ("SELECT COUNT(*) FROM performance_schema.threads", &["transaction Tr____S_"]),
        ("SELECT COUNT(*) FROM information_schema.tables", &["transaction TrR___S_"]),
        ("ROLLBACK", &["transaction ________"]),
        ("BEGIN", &["transaction T_______"]),
        ("SHOW TABLES", &["transaction T_R___S_"]),
        ("SELECT nonsense", &["1054"]),
        ("SAVEPOINT s", &[]),
        // It commits what runs.
        ("CREATE TABLE v (a INT)", &["transaction ________"]),
        ("BEGIN", &["transaction T_______"]),
        ("INSERT INTO t VALUES (100, 1)", &["transaction T___W___"]),
        ("BEGIN", &["transaction T_______"]),
        ("COMMIT AND CHAIN", &[]),
        ("INSERT INTO t () VALUES ()", &["transaction T___W___"]),
        ("COMMIT AND CHAIN", &["transaction T_______"]),
        ("ROLLBACK", &["transaction ________"]),
        ("SET autocommit = 0", &["autocommit=OFF"]),
        ("SELECT 1", &[]),
        ("SELECT a FROM u", &["transaction I_R___S_"]),
        ("COMMIT", &["transaction ________"]),
        ("INSERT INTO t () VALUES ()", &["transaction I___W___"]),
        ("SET autocommit = 1", &["autocommit=ON", "transaction ________"]),
        ("LOCK TABLES t WRITE", &["transaction _______L"]),
        ("INSERT INTO t () VALUES ()", &[]),
        ("UNLOCK TABLES", &["transaction ________"]),
        ("CREATE TEMPORARY TABLE tt (a INT)", &[]),
        ("BEGIN", &["transaction T_______"]),
        ("INSERT INTO tt VALUES (1)", &["transaction T___W___"]),
        ("SELECT a FROM tt", &["transaction T_R_W_S_"]),
        ("ROLLBACK", &["transaction ________"]),
        ("SET session_track_transaction_info = 'STATE'", &[]),
        ("SET session_track_transaction_info = 'CHARACTERISTICS'", &["again "]),
        ("START TRANSACTION READ ONLY", &["transaction T_______", "again START TRANSACTION READ ONLY;"]),
        ("COMMIT", &["transaction ________", "again "]),
        ("START TRANSACTION READ WRITE", &["transaction T_______", "again START TRANSACTION READ WRITE;"]),
        ("SELECT 1", &["transaction T_____S_"]),
        ("COMMIT", &["transaction ________", "again "]),
        (
            "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
            &["transaction T_R_____", "again START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY;"],
        ),
        ("COMMIT", &["transaction ________", "again "]),
        ("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", &["again SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;"]),
        ("START TRANSACTION", &["transaction T_______", "again SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; START TRANSACTION;"]),
        ("COMMIT", &["transaction ________", "again "]),
        (
            "SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY",
            &["again SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET TRANSACTION READ ONLY;"],
        ),
        ("SELECT a FROM u", &["again "]),
        ("SET TRANSACTION ISOLATION LEVEL READ COMMITTED", &["again SET TRANSACTION ISOLATION LEVEL READ COMMITTED;"]),
        (
            "START TRANSACTION READ WRITE, WITH CONSISTENT SNAPSHOT",
            &[
                "transaction T_R_____",
                "again SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION WITH CONSISTENT SNAPSHOT, READ WRITE;",
            ],
        ),
        (
            "COMMIT AND CHAIN",
            &["transaction T_______", "again SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION READ WRITE;"],
        ),
        ("COMMIT", &["transaction ________", "again "]),
        ("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", &[]),
        ("BEGIN", &["transaction T_______", "again START TRANSACTION;"]),
        ("COMMIT AND CHAIN", &["again START TRANSACTION;"]),
        ("INSERT INTO t VALUES (200, 1)", &["transaction T___W___"]),
        ("INSERT INTO t VALUES (200, 1)", &["1062"]),
        ("COMMIT", &["transaction ________", "again "]),
        ("SET autocommit = 0", &["autocommit=OFF"]),
        ("SET TRANSACTION READ WRITE", &["again SET TRANSACTION READ WRITE;"]),
        ("SELECT a FROM u", &["transaction I_R___S_"]),
        ("COMMIT", &["transaction ________", "again "]),
        ("SET autocommit = 1", &["autocommit=ON"]),
    ] {
        assert_eq!(run_any(&mut wire, sql), expect, "{sql}");
    }
    wire.command(byte::RESET_CONNECTION, b"");
    assert_eq!(told(&mut wire), [""; 0]);
    assert_eq!(run_any(&mut wire, "BEGIN"), [""; 0]);
}

#[test]
fn attributes_of_connections_are_shown_and_bounded() {
    let server = server();
    let login = |attributes: Vec<u8>| {
        let capabilities = BASE | Capabilities::CONNECT_ATTRS;
        Wire::connect(server.port(), Wish { capabilities, attributes, ..Wish::default() }).expect("a connection")
    };
    let mut attributes = Vec::new();
    put_attribute(&mut attributes, b"program_name", b"wire");
    put_attribute(&mut attributes, b"empty", b"");
    let mut wire = login(attributes);
    let mine = "SELECT ATTR_NAME, ATTR_VALUE, ORDINAL_POSITION FROM performance_schema.session_account_connect_attrs WHERE PROCESSLIST_ID = CONNECTION_ID()";
    let row = |name: &str, value: Option<&str>, at: &str| vec![Some(name.to_owned()), value.map(str::to_owned), Some(at.to_owned())];
    assert_eq!(wire.query(mine).expect("rows"), [row("program_name", Some("wire"), "0"), row("empty", None, "1")]);
    // What does not fit is left out, and counted.
    let mut attributes = Vec::new();
    put_attribute(&mut attributes, b"short", b"x");
    put_attribute(&mut attributes, b"long", &[b'y'; 600]);
    let mut other = login(attributes);
    assert_eq!(other.query(mine).expect("rows"), [row("short", Some("x"), "0")]);
    let lost = other.query("SHOW STATUS LIKE 'Performance_schema_session_connect_attrs_lost'").expect("a row");
    assert_eq!(lost[0][1].as_deref(), Some("1"));
    let all = wire.query("SELECT ATTR_NAME FROM performance_schema.session_connect_attrs").expect("rows");
    assert_eq!(all.len(), 3);
}

#[test]
fn what_is_said_of_a_statement_is_told_once_the_component_is_installed() {
    let server = server();
    let wish = Wish { capabilities: BASE | Capabilities::QUERY_ATTRIBUTES, ..Wish::default() };
    let mut wire = Wire::connect(server.port(), wish).expect("a connection");
    // Names, types and values as they go over the wire.
    let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    let attributes = [("name", 0xFD, text("vALUE")), ("number", 0x03, 5i32.to_le_bytes().to_vec()), ("", 0xFD, text("nameless"))];
    let ask = |wire: &mut Wire, with: &[(&str, u8, Vec<u8>)], sql: &str| {
        let mut packet = vec![with.len() as u8, 1];
        if !with.is_empty() {
            // None is NULL; types and names follow.
            packet.extend([0, 1]);
            for (name, kind, _) in with {
                packet.extend([*kind, 0, name.len() as u8]);
                packet.extend(name.as_bytes());
            }
            with.iter().for_each(|(_, _, value)| packet.extend(value));
        }
        packet.extend(sql.as_bytes());
        wire.command(byte::QUERY, &packet);
        wire.rows()
    };
    let sql = "SELECT mysql_query_attribute_string('name'), mysql_query_attribute_string('number'), mysql_query_attribute_string(''), \
               mysql_query_attribute_string('Name')";
    assert_eq!(ask(&mut wire, &attributes, sql), Err(1046));
    ask(&mut wire, &[], "INSTALL COMPONENT 'file://component_query_attributes'").expect("installed");
    let told = |values: [Option<&str>; 4]| Ok(vec![values.map(|value| value.map(str::to_owned)).to_vec()]);
    assert_eq!(ask(&mut wire, &attributes, sql), told([Some("vALUE"), Some("5"), Some("nameless"), None]));
    // They are of one statement.
    assert_eq!(ask(&mut wire, &[], sql), told([None; 4]));
    assert_eq!(ask(&mut wire, &attributes[..1], sql), told([Some("vALUE"), None, None, None]));
    // Moments have six fractional digits, as in MySQL: Connector/Python's tests compare them.
    let moments = [("day", 0x0C, vec![7, 0xE5, 0x07, 3, 11, 19, 27, 30]), ("time", 0x0B, vec![8, 0, 0, 0, 0, 0, 19, 27, 30])];
    let sql = "SELECT mysql_query_attribute_string('day'), mysql_query_attribute_string('time')";
    let expected = vec![vec![Some("2021-03-11 19:27:30.000000".to_owned()), Some("19:27:30.000000".to_owned())]];
    assert_eq!(ask(&mut wire, &moments, sql), Ok(expected));
    ask(&mut wire, &[], "UNINSTALL COMPONENT 'file://component_query_attributes'").expect("gone");
}
