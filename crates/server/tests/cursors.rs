//! Cursors kept on the server, packet by packet: what MySQL 9.7 answers to the same.

mod wire_client;

use harness::{Server, run_all};
use protocol::command::byte;
use protocol::{Capabilities, ErrReply, OkReply, ServerStatus};
use wire_client::{BASE, Wire, Wish};

const READ_ONLY: u8 = 1;

/// The server, with three rows in d.t.
fn server(arguments: &[&str]) -> Server {
    let server = Server::start(env!("CARGO_BIN_EXE_altiplano"), arguments);
    run_all(
        &mut server.connect(),
        &["CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY)", "INSERT INTO d.t VALUES (1), (2), (3), (4)"],
    );
    server
}

fn connect(server: &Server, more: Capabilities) -> Wire {
    Wire::connect(server.port(), Wish { capabilities: BASE | more, ..Wish::default() }).expect("a connection")
}

impl Wire {
    /// An end of columns or rows: status and warnings, whichever form it has.
    fn end(&mut self) -> (ServerStatus, u32) {
        let packet = self.read().expect("an end");
        assert_eq!(packet[0], 0xFE, "an end: {packet:?}");
        if self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            let ok = OkReply::parse(&packet, self.capabilities).expect("an end");
            return (ok.status, ok.warnings);
        }
        (ServerStatus(u16::from_le_bytes([packet[3], packet[4]])), u32::from(u16::from_le_bytes([packet[1], packet[2]])))
    }

    fn error(&mut self) -> u16 {
        ErrReply::parse(&self.read().expect("an error")).expect("an error").code
    }

    fn prepare(&mut self, sql: &str) -> Result<u32, u16> {
        self.command(byte::STMT_PREPARE, sql.as_bytes());
        let reply = self.read().expect("a reply");
        if reply[0] == 0xFF {
            return Err(ErrReply::parse(&reply).expect("an error").code);
        }
        let columns = u16::from_le_bytes([reply[5], reply[6]]);
        for _ in 0..columns {
            self.read().expect("a column");
        }
        if columns > 0 && !self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            self.end();
        }
        Ok(u32::from_le_bytes([reply[1], reply[2], reply[3], reply[4]]))
    }

    fn execute(&mut self, id: u32, flags: u8) {
        let mut rest = id.to_le_bytes().to_vec();
        rest.push(flags);
        rest.extend_from_slice(&1u32.to_le_bytes());
        self.command(byte::STMT_EXECUTE, &rest);
    }

    /// Executes with a cursor: status and warnings behind the columns.
    fn open(&mut self, id: u32) -> (ServerStatus, u32) {
        self.execute(id, READ_ONLY);
        let head = self.read().expect("a head");
        assert!(head[0] > 0 && head[0] < 0xFA, "{head:?}");
        for _ in 0..head[0] {
            self.read().expect("a column");
        }
        self.end()
    }

    fn fetch(&mut self, id: u32, rows: u32) {
        let mut rest = id.to_le_bytes().to_vec();
        rest.extend_from_slice(&rows.to_le_bytes());
        self.command(byte::STMT_FETCH, &rest);
    }

    /// Fetches INT rows: values and status.
    fn ints(&mut self, id: u32, rows: u32) -> (Vec<i32>, ServerStatus) {
        self.fetch(id, rows);
        let mut values = Vec::new();
        loop {
            let packet = self.read().expect("a row");
            if packet[0] == 0 {
                values.push(i32::from_le_bytes([packet[2], packet[3], packet[4], packet[5]]));
                continue;
            }
            assert_eq!(packet[0], 0xFE, "{packet:?}");
            // In both forms two bytes lie before it: warnings, or two counts.
            let at = 3;
            return (values, ServerStatus(u16::from_le_bytes([packet[at], packet[at + 1]])));
        }
    }
}

const OPEN: ServerStatus = ServerStatus(ServerStatus::CURSOR_EXISTS.bits() | ServerStatus::AUTOCOMMIT.bits());
const LAST: ServerStatus = ServerStatus(ServerStatus::LAST_ROW_SENT.bits() | ServerStatus::AUTOCOMMIT.bits());

#[test]
fn rows_come_as_they_are_fetched() {
    let server = server(&[]);
    for more in [Capabilities::empty(), Capabilities::DEPRECATE_EOF] {
        let mut wire = connect(&server, more);
        let id = wire.prepare("SELECT a FROM d.t ORDER BY a").expect("prepared");
        assert_eq!(wire.open(id), (OPEN, 0));
        assert_eq!(wire.ints(id, 2), (vec![1, 2], OPEN));
        // Exactly the last ones: that there are no more is not known yet.
        assert_eq!(wire.ints(id, 2), (vec![3, 4], OPEN));
        assert_eq!(wire.ints(id, 2), (vec![], LAST));
        wire.fetch(id, 2);
        assert_eq!(wire.error(), 1421);
        // Fewer than asked for.
        wire.open(id);
        assert_eq!(wire.ints(id, 5), (vec![1, 2, 3, 4], LAST));
        // Two at once; COMMIT and DDL leave them open.
        let other = wire.prepare("SELECT a + 10 FROM d.t WHERE a < 3 ORDER BY a").expect("prepared");
        wire.open(id);
        wire.open(other);
        assert_eq!(wire.ints(id, 1).0, [1]);
        for sql in ["BEGIN", "COMMIT", "CREATE TABLE d.u (a INT PRIMARY KEY)", "DROP TABLE d.u", "BEGIN", "DELETE FROM d.t", "ROLLBACK"] {
            wire.query(sql).expect(sql);
        }
        assert_eq!(wire.ints(id, 2).0, [2, 3]);
        // Executing anew, resetting and closing close it.
        wire.open(id);
        assert_eq!(wire.ints(id, 1).0, [1]);
        wire.command(byte::STMT_RESET, &id.to_le_bytes());
        assert_eq!(wire.read().expect("ok")[0], 0);
        wire.fetch(id, 1);
        assert_eq!(wire.error(), 1421);
        wire.open(id);
        wire.execute(id, 0);
        while wire.read().expect("a packet")[0] != 0xFE {}
        if !more.contains(Capabilities::DEPRECATE_EOF) {
            while wire.read().expect("a packet")[0] != 0xFE {}
        }
        wire.fetch(id, 1);
        assert_eq!(wire.error(), 1421);
        wire.command(byte::STMT_CLOSE, &id.to_le_bytes());
        wire.fetch(id, 1);
        assert_eq!(wire.error(), 1243);
    }
}

#[test]
fn statements_that_open_no_cursor_answer_at_once() {
    let server = server(&[]);
    let mut wire = connect(&server, Capabilities::empty());
    let id = wire.prepare("INSERT INTO d.t VALUES (7)").expect("prepared");
    wire.execute(id, READ_ONLY);
    assert_eq!(OkReply::parse(&wire.read().expect("ok"), BASE).expect("ok").affected_rows, 1);
    wire.fetch(id, 1);
    assert_eq!(wire.error(), 1421);
    wire.execute(id, READ_ONLY);
    assert_eq!(wire.error(), 1062);
    let id = wire.prepare("SELECT 1 INTO @a").expect("prepared");
    wire.execute(id, READ_ONLY);
    assert_eq!(wire.error(), 1323);
    // Warnings are told when it is opened; no rows are a cursor, too.
    let id = wire.prepare("SELECT a FROM d.t WHERE a = 99").expect("prepared");
    assert_eq!(wire.open(id), (OPEN, 0));
    assert_eq!(wire.ints(id, 1), (vec![], LAST));
    let id = wire.prepare("SELECT 1/0").expect("prepared");
    assert_eq!(wire.open(id), (OPEN, 1));
    wire.fetch(99, 1);
    assert_eq!(wire.error(), 1243);
}

#[test]
fn long_rows_and_many_rows_keep_their_order() {
    let server = server(&[]);
    let mut wire = connect(&server, Capabilities::DEPRECATE_EOF);
    let many = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 900) SELECT n, REPEAT('x', 3000) FROM c";
    let id = wire.prepare(many).expect("prepared");
    wire.open(id);
    for round in 0..9 {
        wire.fetch(id, 100);
        for row in 0..100 {
            let packet = wire.read().expect("a row");
            let number = i64::from_le_bytes(packet[2..10].try_into().expect("8 bytes"));
            assert_eq!((number, packet.len()), (round * 100 + row + 1, 3013));
        }
        assert_eq!(wire.end().0, OPEN);
    }
    let id = wire.prepare("SELECT REPEAT('y', 17000000) UNION ALL SELECT 'z'").expect("prepared");
    wire.open(id);
    wire.fetch(id, 1);
    assert_eq!(wire.read().expect("a row").len(), 17_000_000 + 2 + 9);
    assert_eq!(wire.end().0, OPEN);
    wire.fetch(id, 2);
    assert_eq!(wire.read().expect("a row"), [0, 0, 1, b'z']);
    assert_eq!(wire.end().0, LAST);
}

#[test]
fn what_a_cursor_holds_is_bounded() {
    let server = server(&["--set", "connection_memory_limit=4194304"]);
    let mut wire = connect(&server, Capabilities::empty());
    let big = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 900) SELECT REPEAT('x', 30000) FROM c";
    let id = wire.prepare(big).expect("prepared");
    wire.execute(id, READ_ONLY);
    assert_eq!(wire.error(), 1038);
    wire.fetch(id, 1);
    assert_eq!(wire.error(), 1421);
    // Sent at once it is no trouble.
    wire.execute(id, 0);
    let mut ends = 0;
    while ends < 2 {
        let packet = wire.read().expect("a packet");
        ends += u32::from(packet[0] == 0xFE && packet.len() < 9);
        assert_ne!(packet[0], 0xFF);
    }
}

#[test]
fn prepared_statements_of_the_server_are_bounded() {
    let server = server(&["--set", "max_prepared_stmt_count=100"]);
    let (mut one, mut two) = (connect(&server, Capabilities::empty()), connect(&server, Capabilities::empty()));
    let ids: Vec<u32> = (0..60).map(|_| one.prepare("SELECT 1").expect("prepared")).collect();
    for _ in 0..40 {
        two.prepare("SELECT 2").expect("prepared");
    }
    assert_eq!(one.prepare("SELECT 3"), Err(1461));
    assert_eq!(two.query("PREPARE s FROM 'SELECT 4'"), Err(1461));
    one.command(byte::STMT_CLOSE, &ids[0].to_le_bytes());
    one.prepare("SELECT 5").expect("one has gone");
    assert_eq!(one.prepare("SELECT 6"), Err(1461));
    // A connection that ends takes its own along.
    two.command(byte::QUIT, b"");
    harness::until("statements of the other have gone", || one.prepare("SELECT 7").is_ok());
    assert_eq!(one.query("SHOW STATUS LIKE 'Prepared_stmt_count'").expect("a row")[0][1].as_deref(), Some("61"));
}
