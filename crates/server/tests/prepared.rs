//! Prepared statements packet by packet: handles, and values that come in pieces (COM_STMT_SEND_LONG_DATA), which client libraries seldom send.

mod wire_client;

use harness::Server;
use protocol::command::byte;
use protocol::{Capabilities, ErrReply};
use wire_client::{BASE, Wire, Wish};

const VAR_STRING: u8 = 0xFD;

fn connect(arguments: &[&str]) -> (Server, Wire) {
    let server = Server::start(env!("CARGO_BIN_EXE_altiplano"), arguments);
    let wish = Wish { capabilities: BASE | Capabilities::DEPRECATE_EOF, ..Wish::default() };
    let wire = Wire::connect(server.port(), wish).expect("a connection");
    (server, wire)
}

impl Wire {
    fn prepare(&mut self, sql: &str) -> u32 {
        self.command(byte::STMT_PREPARE, sql.as_bytes());
        let reply = self.read().expect("a reply");
        assert_eq!(reply[0], 0, "{sql}: {reply:?}");
        let counts = [[reply[5], reply[6]], [reply[7], reply[8]]].map(u16::from_le_bytes);
        (0..counts[0] + counts[1]).for_each(|_| drop(self.read().expect("a column or parameter")));
        u32::from_le_bytes([reply[1], reply[2], reply[3], reply[4]])
    }

    /// Nothing answers.
    fn send_piece(&mut self, handle: u32, param: u16, data: &str) {
        let mut rest = handle.to_le_bytes().to_vec();
        rest.extend_from_slice(&param.to_le_bytes());
        rest.extend_from_slice(data.as_bytes());
        self.command(byte::STMT_SEND_LONG_DATA, &rest);
    }

    /// The text in the only row, or an error. No value is sent for a parameter that came in pieces.
    fn execute(&mut self, handle: u32, params: &[Option<&str>]) -> Result<String, u16> {
        let mut rest = handle.to_le_bytes().to_vec();
        rest.extend_from_slice(&[0, 1, 0, 0, 0]);
        if !params.is_empty() {
            rest.extend(std::iter::repeat_n(0, params.len().div_ceil(8)));
            rest.push(1);
            params.iter().for_each(|_| rest.extend_from_slice(&[VAR_STRING, 0]));
            for text in params.iter().flatten() {
                rest.push(text.len() as u8);
                rest.extend_from_slice(text.as_bytes());
            }
        }
        self.command(byte::STMT_EXECUTE, &rest);
        self.answer()
    }

    fn answer(&mut self) -> Result<String, u16> {
        let head = self.read().expect("a reply");
        match head[0] {
            0xFF => return Err(ErrReply::parse(&head).expect("an error").code),
            0 => return Ok(String::new()),
            columns => assert_eq!(columns, 1),
        }
        self.read().expect("a column");
        let row = self.read().expect("a row");
        assert_eq!(self.read().expect("the end")[0], 0xFE);
        // A byte of the row, one of NULLs, one of the length.
        Ok(String::from_utf8(row[3..].to_vec()).expect("text"))
    }

    fn reset(&mut self, handle: u32) -> Result<String, u16> {
        self.command(byte::STMT_RESET, &handle.to_le_bytes());
        self.answer()
    }
}

#[test]
fn values_that_come_in_pieces_are_put_together_for_one_execution() {
    let (_server, mut wire) = connect(&[]);
    let handle = wire.prepare("SELECT CONCAT(?, '-', ?)");
    wire.send_piece(handle, 0, "ab");
    wire.send_piece(handle, 0, "cd");
    assert_eq!(wire.execute(handle, &[None, Some("x")]).as_deref(), Ok("abcd-x"));
    assert_eq!(wire.execute(handle, &[Some("y"), Some("x")]).as_deref(), Ok("y-x"));
    // An empty piece is a value; another statement has nothing of it.
    let other = wire.prepare("SELECT CONCAT(?, '+', ?)");
    wire.send_piece(handle, 1, "");
    assert_eq!(wire.execute(other, &[Some("1"), Some("2")]).as_deref(), Ok("1+2"));
    assert_eq!(wire.execute(handle, &[Some("y"), None]).as_deref(), Ok("y-"));
    wire.send_piece(handle, 1, "forgotten");
    assert_eq!(wire.reset(handle).as_deref(), Ok(""));
    assert_eq!(wire.execute(handle, &[Some("a"), Some("b")]).as_deref(), Ok("a-b"));
}

#[test]
fn what_is_wrong_with_a_value_in_pieces_is_told_at_each_execution_until_the_statement_is_reset() {
    let (_server, mut wire) = connect(&["--set", "max_allowed_packet=2048"]);
    let handle = wire.prepare("SELECT CONCAT(?, '')");
    let piece = "p".repeat(1500);
    // As MySQL 9.7 answers: one that is too long, one of a parameter that is not there.
    for (param, code) in [(0, 1105), (7, 1210)] {
        wire.send_piece(handle, param, &piece);
        wire.send_piece(handle, param, &piece);
        assert_eq!(wire.execute(handle, &[None]), Err(code));
        assert_eq!(wire.execute(handle, &[Some("value")]), Err(code));
        assert_eq!(wire.reset(handle).as_deref(), Ok(""));
        assert_eq!(wire.execute(handle, &[Some("short")]).as_deref(), Ok("short"));
    }
}

#[test]
fn an_execution_without_all_its_values_is_refused() {
    let (_server, mut wire) = connect(&[]);
    let handle = wire.prepare("SELECT CONCAT(?, ?)");
    assert_eq!(wire.execute(handle, &[]), Err(1835));
    assert_eq!(wire.execute(handle, &[Some("a"), None]), Err(1835));
    assert_eq!(wire.execute(handle, &[Some("a"), Some("b")]).as_deref(), Ok("ab"));
}

#[test]
fn moments_out_of_range_and_types_that_are_none_are_told_as_such() {
    const TIME: u8 = 0x0B;
    const DATE: u8 = 0x0A;
    const DATETIME: u8 = 0x0C;
    let (_server, mut wire) = connect(&[]);
    let handle = wire.prepare("SELECT CONCAT(?)");
    let year = 2020u16.to_le_bytes();
    let date = |month: u8, day: u8| vec![4, year[0], year[1], month, day];
    let moment = |hour: u8, minute: u8, second: u8| vec![7, year[0], year[1], 1, 1, hour, minute, second];
    let time = |days: u8, hour: u8, minute: u8, second: u8| vec![8, 0, days, 0, 0, 0, hour, minute, second];
    let cases: [(u8, Vec<u8>, Result<&str, u16>); 14] = [
        (DATE, date(2, 29), Ok("2020-02-29")),
        (DATE, date(13, 1), Err(1690)),
        (DATE, date(1, 32), Err(1690)),
        (DATETIME, moment(23, 59, 59), Ok("2020-01-01 23:59:59.000000")),
        (DATETIME, moment(24, 0, 0), Err(1690)),
        (DATETIME, moment(0, 0, 60), Err(1690)),
        (DATETIME, vec![4, 0x10, 0x27, 1, 1], Err(1690)),
        (DATETIME, vec![5, year[0], year[1], 1, 1, 0], Err(1835)),
        (TIME, time(34, 22, 59, 59), Ok("838:59:59.000000")),
        (TIME, time(34, 23, 0, 0), Err(1690)),
        (TIME, time(255, 0, 0, 0), Err(1690)),
        (TIME, time(0, 0, 60, 0), Err(1690)),
        (TIME, vec![8, 0, 1], Err(1835)),
        (200, vec![1, b'a'], Err(1210)),
    ];
    for (ty, value, answer) in cases {
        let mut rest = handle.to_le_bytes().to_vec();
        rest.extend_from_slice(&[0, 1, 0, 0, 0, 0, 1, ty, 0]);
        rest.extend_from_slice(&value);
        wire.command(byte::STMT_EXECUTE, &rest);
        assert_eq!(wire.answer().as_deref().map_err(|code| *code), answer, "type {ty}, {value:?}");
    }
    // No types, neither now nor before.
    let handle = wire.prepare("SELECT CONCAT(?)");
    let mut rest = handle.to_le_bytes().to_vec();
    rest.extend_from_slice(&[0, 1, 0, 0, 0, 0, 0, 1, b'a']);
    wire.command(byte::STMT_EXECUTE, &rest);
    assert_eq!(wire.answer(), Err(1210));
}

#[test]
fn errors_of_commands_that_are_no_statements_are_listed_by_show_warnings() {
    let (_server, mut wire) = connect(&[]);
    for (command, rest, code) in [(byte::INIT_DB, &b"nosuch"[..], 1049), (byte::STMT_RESET, &[7, 0, 0, 0], 1243)] {
        wire.query("SELECT 1 / 0").expect("a row");
        wire.command(command, rest);
        assert_eq!(wire.answer(), Err(code));
        let listed = wire.query("SHOW WARNINGS").expect("conditions");
        let numbers: Vec<_> = listed.iter().map(|row| row[1].as_deref().unwrap_or_default().to_owned()).collect();
        assert_eq!(numbers, ["1365".to_owned(), code.to_string()], "command {command}");
    }
}

#[test]
fn nothing_but_another_password_is_asked_for_with_one_that_has_expired() {
    let (server, mut root) = connect(&[]);
    for sql in ["CREATE USER old IDENTIFIED BY ''", "GRANT ALL ON *.* TO old", "ALTER USER old PASSWORD EXPIRE"] {
        root.query(sql).expect(sql);
    }
    let capabilities = BASE | Capabilities::DEPRECATE_EOF | Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS;
    let mut wire = Wire::connect(server.port(), Wish { user: "old", capabilities, ..Wish::default() }).expect("let in");
    let commands: [(u8, &[u8]); 5] = [
        (byte::INIT_DB, b"mysql"),
        (byte::FIELD_LIST, b"mysql.user\0"),
        (byte::STATISTICS, b""),
        (byte::RESET_CONNECTION, b""),
        (byte::SET_OPTION, &[0, 0]),
    ];
    for (command, rest) in commands {
        wire.command(command, rest);
        assert_eq!(wire.answer(), Err(1820), "command {command}");
    }
    wire.command(byte::PING, b"");
    assert_eq!(wire.answer().as_deref(), Ok(""));
    wire.query("SET PASSWORD = 'new'").expect("another password");
    wire.command(byte::RESET_CONNECTION, b"");
    assert_eq!(wire.answer().as_deref(), Ok(""));
}

#[test]
fn pieces_are_read_in_the_character_set_of_the_client() {
    let (_server, mut wire) = connect(&[]);
    wire.query("SET NAMES latin1").expect("set");
    let handle = wire.prepare("SELECT HEX(CONVERT(? USING utf8mb4))");
    let mut piece = handle.to_le_bytes().to_vec();
    piece.extend_from_slice(&[0, 0, 0xE9]);
    wire.command(byte::STMT_SEND_LONG_DATA, &piece);
    assert_eq!(wire.execute(handle, &[None]).as_deref(), Ok("C3A9"));
}

#[test]
fn the_handle_of_a_closed_statement_is_nobodys() {
    let (_server, mut wire) = connect(&[]);
    let [one, two] = ["SELECT CONCAT('one', '')", "SELECT CONCAT('two', '')"].map(|sql| wire.prepare(sql));
    assert_eq!([one, two], [1, 2]);
    wire.command(byte::STMT_CLOSE, &one.to_le_bytes());
    let three = wire.prepare("SELECT CONCAT('three', '')");
    assert!(three != one && three != two);
    assert_eq!(wire.execute(one, &[]), Err(1243));
    assert_eq!(wire.reset(one), Err(1243));
    // Neither does any harm to who has its place.
    wire.send_piece(one, 0, "x");
    wire.command(byte::STMT_CLOSE, &one.to_le_bytes());
    assert_eq!(wire.execute(three, &[]).as_deref(), Ok("three"));
    assert_eq!(wire.execute(two, &[]).as_deref(), Ok("two"));
    for none in [0, 99, u32::MAX] {
        assert_eq!(wire.execute(none, &[]), Err(1243));
    }
    // Nor does a new beginning give out what a client may still have and close.
    wire.command(byte::RESET_CONNECTION, b"");
    assert_eq!(wire.answer().as_deref(), Ok(""));
    let after = wire.prepare("SELECT CONCAT('after', '')");
    for old in [one, two, three] {
        assert_ne!(after, old);
        wire.command(byte::STMT_CLOSE, &old.to_le_bytes());
        assert_eq!(wire.execute(old, &[]), Err(1243));
    }
    assert_eq!(wire.execute(after, &[]).as_deref(), Ok("after"));
}

#[test]
fn a_statement_stays_in_the_database_in_which_it_was_prepared() {
    let (server, mut wire) = connect(&[]);
    let mut root = server.connect();
    for database in ["a", "b"] {
        harness::run_all(
            &mut root,
            &[
                &*format!("CREATE DATABASE {database}"),
                &*format!("CREATE TABLE {database}.t (id INT PRIMARY KEY, name VARCHAR(10))"),
                &*format!("INSERT INTO {database}.t VALUES (1, 'of {database}')"),
            ],
        );
    }
    let make_current = |wire: &mut Wire, database: &str| {
        wire.command(byte::INIT_DB, database.as_bytes());
        assert_eq!(wire.answer().as_deref(), Ok(""));
    };
    make_current(&mut wire, "a");
    let texts = [
        "SELECT CONCAT(DATABASE(), ': ', name) FROM t WHERE id = ?",
        "SELECT /*+ SET_VAR(sort_buffer_size = 100000) */ CONCAT(DATABASE(), ': ', name) FROM t WHERE id = ?",
    ];
    let before = texts.map(|sql| wire.prepare(sql));
    // Planned by the first execution in one of them, and by the first after DDL.
    let run = wire.prepare(texts[0]);
    assert_eq!(wire.execute(run, &[Some("1")]).as_deref(), Ok("a: of a"));
    let changing = wire.prepare("UPDATE t SET name = CONCAT(name, '!') WHERE id = ?");
    for (current, ddl) in
        [("b", None), ("b", Some("CREATE TABLE a.more (id INT)")), ("a", Some("CREATE TABLE b.more (id INT)")), ("b", None)]
    {
        make_current(&mut wire, current);
        ddl.into_iter().for_each(|ddl| harness::run_all(&mut root, &[ddl]));
        for handle in before.into_iter().chain([run]) {
            assert_eq!(wire.execute(handle, &[Some("1")]).as_deref(), Ok("a: of a"), "{current} {ddl:?}");
        }
        let here = wire.prepare(texts[0]);
        assert_eq!(wire.execute(here, &[Some("1")]), Ok(format!("{current}: of {current}")));
    }
    assert_eq!(wire.execute(changing, &[Some("1")]).as_deref(), Ok(""));
    assert_eq!(wire.execute(run, &[Some("1")]).as_deref(), Ok("a: of a!"));
    harness::run_all(&mut root, &["DROP DATABASE a"]);
    assert_eq!(wire.execute(run, &[Some("1")]), Err(1049));
}

/// The text is written down once for several runs in a row: never another's.
#[test]
fn the_process_list_shows_the_prepared_statement_that_runs() {
    let (_server, mut wire) = connect(&[]);
    let shows = |alias: &str| format!("SELECT info AS {alias} FROM information_schema.processlist WHERE id = CONNECTION_ID()");
    let (one, other) = (wire.prepare(&shows("one")), wire.prepare(&shows("other")));
    for (handle, alias) in [(one, "one"), (one, "one"), (other, "other"), (one, "one"), (one, "one"), (other, "other")] {
        assert_eq!(wire.execute(handle, &[]), Ok(shows(alias)));
    }
    for _ in 0..2 {
        wire.command(byte::QUERY, b"SELECT 1");
        // How many columns, one, a row, the end.
        (0..4).for_each(|_| drop(wire.read().expect("a packet")));
        assert_eq!(wire.execute(other, &[]), Ok(shows("other")));
    }
    let third = wire.prepare(&shows("third"));
    assert_eq!(wire.execute(other, &[]), Ok(shows("other")));
    assert_eq!(wire.execute(third, &[]), Ok(shows("third")));
}
