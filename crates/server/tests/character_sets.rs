//! Clients that do not speak UTF-8, over a real socket: statements, parameters, results, heads of results, names and errors in latin1; the character
//! set of the handshake; LOAD DATA. `ASK=HOST:PORT cargo test -p server --test character_sets` asks a MySQL (root without password) whether
//! it answers the same.

use harness::Server;
use mysql::prelude::Queryable;
use mysql::{Conn, LocalInfileHandler, OptsBuilder, Row, Value};
use std::io::Write;

/// The server to ask and what keeps it running.
fn server() -> (Option<Server>, OptsBuilder) {
    match std::env::var("ASK") {
        Ok(place) => {
            let (host, port) = place.split_once(':').expect("HOST:PORT");
            let options = OptsBuilder::new().ip_or_hostname(Some(host)).tcp_port(port.parse().expect("a port")).user(Some("root"));
            (None, options.prefer_socket(false))
        }
        Err(_) => {
            let server = Server::start(env!("CARGO_BIN_EXE_altiplano"), &[]);
            let options = OptsBuilder::from_opts(server.options(None));
            (Some(server), options)
        }
    }
}

/// A connection in a database of its own.
fn connect(options: &OptsBuilder, database: &str) -> Conn {
    let mut c = Conn::new(options.clone()).expect("connects");
    c.query_drop(format!("DROP DATABASE IF EXISTS {database}")).expect("dropped");
    c.query_drop(format!("CREATE DATABASE {database}")).expect("made");
    c.query_drop(format!("USE {database}")).expect("used");
    c
}

const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, l VARCHAR(20) CHARSET latin1, u VARCHAR(20), b VARBINARY(20))";

#[test]
fn a_client_may_speak_latin1() {
    let (_server, options) = server();
    let mut utf8 = connect(&options, "charset_speak");
    utf8.query_drop(TABLE).expect("made");
    // The same text is planned for a client that speaks UTF-8 and, below, for one that does not.
    let select = "SELECT l, u, b FROM t ORDER BY id";
    let _: Vec<Row> = utf8.query(select).expect("answers");
    let mut c = raw::Client::connect(&options, 255);
    c.ask("USE charset_speak");
    c.ask("SET NAMES latin1");
    c.ask(b"INSERT INTO t (l, u, b) VALUES ('\xE9\x80', '\xE9\x80', '\xE9\x80')");
    for (sql, expected) in [
        (&b"SELECT HEX(l) FROM t"[..], &b"E980"[..]),
        (b"SELECT HEX(u) FROM t", b"C3A9E282AC"),
        (b"SELECT HEX(b) FROM t", b"E980"),
        (b"SELECT HEX('\xE9')", b"E9"),
        (b"SELECT HEX(_utf8mb4'\xC3\xA9')", b"C3A9"),
        (b"SELECT HEX(_binary'\xE9\xFF')", b"E9FF"),
        (b"SELECT '\xE9\xA0'", b"\xE9\xA0"),
        (b"SELECT id FROM t WHERE l = '\xC9\x80'", b"1"),
        (b"SELECT id FROM t WHERE u LIKE '\xE9%'", b"1"),
        (b"SELECT CONVERT(x'E6BCA2' USING utf8mb4)", b"?"),
    ] {
        assert_eq!(c.ask(sql).first(), expected, "{}", String::from_utf8_lossy(sql));
    }
    // Rows straight from the page, and computed ones.
    for sql in [select, "SELECT CONCAT(l, ''), CONCAT(u, ''), b FROM t"] {
        assert_eq!(c.ask(sql).rows, [vec![b"\xE9\x80".to_vec(); 3]], "{sql}");
    }
    // Heads: names, charset, length.
    let heads = c.ask(b"SELECT l, u, b, 'x' AS `\xE9` FROM t").heads;
    let expected: [(&[u8], u16, u32); 4] = [(b"l", 8, 20), (b"u", 8, 20), (b"b", 63, 20), (b"\xE9", 8, 1)];
    assert_eq!(heads, expected.map(|(name, charset, length)| (name.to_vec(), charset, length)));
    // Without conversion each text comes in its own character set.
    for wish in ["NULL", "binary"] {
        c.ask(format!("SET character_set_results = {wish}"));
        let own = [&b"\xE9\x80"[..], "é€".as_bytes(), b"\xE9\x80"].map(<[u8]>::to_vec);
        assert_eq!(c.ask(select).rows, [own], "{wish}");
    }
    c.ask("SET NAMES utf8mb4");
    assert_eq!(c.ask(select).rows, [["é€".as_bytes(), "é€".as_bytes(), b"\xE9\x80"].map(<[u8]>::to_vec)]);
    c.ask("SET NAMES utf8mb3");
    c.ask("INSERT INTO t (u) VALUES (x'F09F9880')");
    assert_eq!(c.ask("SELECT u FROM t WHERE id = 2").first(), b"?");
    utf8.query_drop("DROP DATABASE charset_speak").expect("dropped");
}

#[test]
fn parameters_come_in_the_clients_character_set() {
    let (_server, options) = server();
    let mut c = connect(&options, "charset_params");
    c.query_drop(TABLE).expect("made");
    c.query_drop("SET NAMES latin1").expect("set");
    let text = || Value::Bytes(b"\xE9\x80".to_vec());
    c.exec_drop("INSERT INTO t (l, u) VALUES (?, ?)", (text(), text())).expect("inserted");
    let hex: Option<String> = c.query_first("SELECT HEX(CONCAT(CONVERT(l USING utf8mb4), u)) FROM t").expect("answers");
    assert_eq!(hex.as_deref(), Some("C3A9E282ACC3A9E282AC"));
    let id: Option<i64> = c.exec_first("SELECT id FROM t WHERE l = ? AND u = ?", (text(), text())).expect("answers");
    assert_eq!(id, Some(1));
    // A plan that was made for this client's wish is made anew for another.
    let statement = c.prep("SELECT l FROM t").expect("prepared");
    let first = |c: &mut Conn| -> Value { c.exec_first::<Row, _, _>(&statement, ()).expect("answers").expect("a row").unwrap().remove(0) };
    assert_eq!(first(&mut c), text());
    c.query_drop("SET NAMES utf8mb4").expect("set");
    assert_eq!(first(&mut c), Value::Bytes("é€".as_bytes().to_vec()));
    // Bytes are as strong as a column: what is joined of both is bytes.
    let joined: Option<Vec<u8>> = c.exec_first("SELECT CONCAT(u, ?) FROM t", (Value::Bytes(b"\0\xFF".to_vec()),)).expect("answers");
    assert_eq!(joined, Some("é€".bytes().chain([0, 0xFF]).collect()));
    c.query_drop("DROP DATABASE charset_params").expect("dropped");
}

#[test]
fn errors_are_told_in_the_clients_character_set() {
    let (_server, options) = server();
    let mut utf8 = connect(&options, "charset_errors");
    utf8.query_drop("CREATE TABLE `é` (`ü` INT)").expect("made");
    let mut c = raw::Client::connect(&options, 8);
    c.ask("USE charset_errors");
    assert_eq!(c.ask("SHOW TABLES").first(), b"\xE9");
    assert_eq!(c.ask(b"SELECT COUNT(`\xFC`) FROM `\xE9`").first(), b"0");
    assert_eq!(c.ask(b"SELECT * FROM `\xE8`").error, Some((1146, b"Table 'charset_errors.\xE8' doesn't exist".to_vec())));
    utf8.query_drop("DROP DATABASE charset_errors").expect("dropped");
}

#[test]
fn load_data_reads_files_in_latin1() {
    let (_server, options) = server();
    let mut c = connect(&options, "charset_load");
    c.query_drop(TABLE).expect("made");
    c.query_drop("SET GLOBAL local_infile = ON").expect("allowed");
    let load = |c: &mut Conn, charset: &str| {
        c.set_local_infile_handler(Some(LocalInfileHandler::new(|_, out| out.write_all(b"\xE9\x80\t\xE9\x80\t\xE9\x80\n"))));
        c.query_drop(format!("LOAD DATA LOCAL INFILE 'f' INTO TABLE t {charset} (l, u, b)"))
    };
    load(&mut c, "CHARACTER SET latin1").expect("loaded");
    let row: Row = c.query_first("SELECT HEX(l), HEX(u), HEX(b) FROM t").expect("answers").expect("a row");
    assert_eq!(row.unwrap(), ["E980", "C3A9E282AC", "E980"].map(|hex| Value::Bytes(hex.into())));
    c.query_drop("TRUNCATE t; SET sql_mode = ''").expect("emptied");
    c.query_drop("ALTER DATABASE charset_load CHARACTER SET latin1; USE charset_load").expect("altered");
    load(&mut c, "").expect("loaded");
    assert_eq!(c.query_first::<String, _>("SELECT CONCAT(l, u) FROM t").expect("answers").as_deref(), Some("é€é€"));
    let Err(mysql::Error::MySqlError(error)) = load(&mut c, "CHARACTER SET nothing") else { panic!("no such character set") };
    assert_eq!(error.code, 1115);
    c.query_drop("DROP DATABASE charset_load").expect("dropped");
}

#[test]
fn the_handshake_names_a_character_set() {
    let (_server, options) = server();
    let mut c = connect(&options, "charset_hello");
    c.query_drop("CREATE TABLE t (l VARCHAR(20) CHARSET latin1); INSERT INTO t VALUES ('é')").expect("made");
    for (collation, answer) in
        [(8u8, &b"\xE9"[..]), (48, b"\xE9"), (33, "é".as_bytes()), (46, "é".as_bytes()), (255, "é".as_bytes()), (63, b"\xE9")]
    {
        let mut raw = raw::Client::connect(&options, collation);
        assert_eq!(raw.ask("SELECT l FROM charset_hello.t").first(), answer, "collation {collation}");
        let names = raw.ask("SELECT CONCAT_WS(' ', @@character_set_client, @@collation_connection, @@character_set_results)");
        // Texts are told by the collation that the client has named.
        assert_eq!(names.heads[0].1, u16::from(collation), "collation {collation}");
        let expected = match collation {
            8 => "latin1 latin1_swedish_ci latin1",
            48 => "latin1 latin1_general_ci latin1",
            33 => "utf8mb3 utf8mb3_general_ci utf8mb3",
            63 => "binary binary binary",
            46 => "utf8mb4 utf8mb4_bin utf8mb4",
            _ => "utf8mb4 utf8mb4_0900_ai_ci utf8mb4",
        };
        assert_eq!(String::from_utf8_lossy(names.first()), expected);
    }
    c.query_drop("DROP DATABASE charset_hello").expect("dropped");
}

#[test]
fn a_login_with_a_character_set_that_no_client_may_have_is_refused() {
    let (_server, options) = server();
    // ucs2, utf16, utf16le, utf32, ucs2 by other orders.
    for collation in [35, 54, 55, 56, 60, 90, 101, 128, 160] {
        assert_eq!(raw::Client::log_in(&options, collation).err(), Some(1231), "collation {collation}");
    }
    // big5, sjis, gbk, cp1251, cp932, gb18030: not here, as SET NAMES says.
    for collation in [1, 13, 28, 51, 87, 95, 248] {
        assert_eq!(raw::Client::log_in(&options, collation).err(), Some(1115), "collation {collation}");
    }
    for collation in [8, 45, 255] {
        assert!(raw::Client::log_in(&options, collation).is_ok(), "collation {collation}");
    }
}

/// A small client that sends the handshake and the bytes that it is told to.
mod raw {
    use mysql::{Opts, OptsBuilder};
    use std::io::{Read, Write};
    use std::net::TcpStream;

    pub struct Client(TcpStream);

    /// What a statement was answered.
    #[derive(Default)]
    pub struct Answer {
        /// Name, character set and length of each column.
        pub heads: Vec<(Vec<u8>, u16, u32)>,
        pub rows: Vec<Vec<Vec<u8>>>,
        pub error: Option<(u16, Vec<u8>)>,
    }

    impl Answer {
        /// The first field of the first row.
        pub fn first(&self) -> &[u8] {
            assert_eq!(self.error, None);
            &self.rows[0][0]
        }
    }

    /// Takes a string with its length before it (all are short here).
    fn field(rest: &mut &[u8]) -> Vec<u8> {
        let length = usize::from(rest[0]);
        assert!(length < 251);
        let field = rest[1..=length].to_vec();
        *rest = &rest[1 + length..];
        field
    }

    impl Client {
        /// Logs in as root, without a password.
        pub fn connect(options: &OptsBuilder, collation: u8) -> Client {
            Client::log_in(options, collation).unwrap_or_else(|error| panic!("{error}"))
        }

        /// The same, or the number of the error that the server answers.
        pub fn log_in(options: &OptsBuilder, collation: u8) -> Result<Client, u16> {
            let options: Opts = options.clone().into();
            let place = (&*options.get_ip_or_hostname(), options.get_tcp_port());
            let mut client = Client(TcpStream::connect(place).expect("connects"));
            client.read();
            // PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH; 16 MiB packets; no authentication data.
            let mut reply = vec![0x00, 0x82, 0x08, 0x00, 0, 0, 0, 1, collation];
            reply.resize(32, 0);
            reply.extend_from_slice(b"root\0\0caching_sha2_password\0");
            client.write(1, &reply);
            loop {
                let answer = client.read();
                match answer.first() {
                    Some(0) => return Ok(client),
                    Some(1) => {}
                    // An empty password is an empty packet.
                    Some(0xFE) => client.write(3, &[]),
                    Some(0xFF) => return Err(u16::from_le_bytes([answer[1], answer[2]])),
                    other => panic!("{other:?}"),
                }
            }
        }

        fn write(&mut self, sequence: u8, payload: &[u8]) {
            let mut packet = (payload.len() as u32).to_le_bytes()[..3].to_vec();
            packet.push(sequence);
            packet.extend_from_slice(payload);
            self.0.write_all(&packet).expect("sent");
        }

        fn read(&mut self) -> Vec<u8> {
            let mut head = [0; 4];
            self.0.read_exact(&mut head).expect("a packet");
            let mut payload = vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize];
            self.0.read_exact(&mut payload).expect("its payload");
            payload
        }

        /// Runs a statement.
        pub fn ask(&mut self, sql: impl AsRef<[u8]>) -> Answer {
            self.write(0, &[&[3], sql.as_ref()].concat());
            let mut answer = Answer::default();
            let head = self.read();
            match head[0] {
                0 => return answer,
                0xFF => {
                    // Number, '#', SQLSTATE, text.
                    answer.error = Some((u16::from_le_bytes([head[1], head[2]]), head[9..].to_vec()));
                    return answer;
                }
                _ => {}
            }
            for _ in 0..head[0] {
                let packet = self.read();
                let mut rest = &packet[..];
                let names: Vec<Vec<u8>> = (0..6).map(|_| field(&mut rest)).collect();
                let (charset, length) = (u16::from_le_bytes([rest[1], rest[2]]), u32::from_le_bytes([rest[3], rest[4], rest[5], rest[6]]));
                answer.heads.push((names[4].clone(), charset, length));
            }
            let end = |packet: &[u8]| packet[0] == 0xFE && packet.len() < 9;
            assert!(end(&self.read()));
            loop {
                let packet = self.read();
                if end(&packet) {
                    return answer;
                }
                let mut rest = &packet[..];
                answer.rows.push((0..head[0]).map(|_| field(&mut rest)).collect());
            }
        }
    }
}
