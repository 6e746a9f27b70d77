//! Compressed connections against the real server: both algorithms, long packets, over TLS, broken frames.

mod wire_client;

use harness::Server;
use mysql::prelude::Queryable;
use protocol::Capabilities;
use protocol::compressed::Algorithm;
use wire_client::{BASE, Refusal, Wire, Wish, trusting};

fn server_with(arguments: &[&str]) -> Server {
    Server::start(env!("CARGO_BIN_EXE_altiplano"), arguments)
}

fn wish(algorithm: Capabilities) -> Wish<'static> {
    let zstd = algorithm == Capabilities::ZSTD_COMPRESSION;
    Wish { capabilities: BASE | algorithm, zstd_level: zstd.then_some(7), ..Wish::default() }
}

#[test]
fn both_algorithms_carry_short_and_long_packets() {
    let server = server_with(&[]);
    for (algorithm, name, level) in [(Capabilities::COMPRESS, "zlib", "6"), (Capabilities::ZSTD_COMPRESSION, "zstd", "7")] {
        for encrypted in [false, true] {
            let tls = encrypted.then(|| trusting(&server.data_dir().join("ca.pem"), None));
            let mut wire = Wire::connect(server.port(), Wish { tls, ..wish(algorithm) }).expect("a connection");
            assert_eq!(wire.value("SELECT 1"), "1");
            let status = wire.query("SHOW STATUS LIKE 'Compression%'").expect("rows");
            let told: Vec<_> = status.iter().map(|row| row[1].clone().unwrap_or_default()).collect();
            assert_eq!(told, ["ON", name, level]);
            assert_eq!(wire.value("SELECT REPEAT('ab', 4000000)"), "ab".repeat(4_000_000));
            // Longer than a frame, both of packets and of compression, and back.
            let long = "x".repeat(17 << 20);
            assert_eq!(wire.value(&format!("SELECT LENGTH('{long}')")), long.len().to_string());
            assert_eq!(wire.value(&format!("SELECT '{long}'")), long);
            // What cannot be compressed.
            let noise: String = wire.value("SELECT GROUP_CONCAT(MD5(n) SEPARATOR '') FROM (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 30) SELECT n FROM c) d");
            assert_eq!(wire.value(&format!("SELECT '{noise}'")), noise);
            assert_eq!(wire.query("SELECT nonsense"), Err(1054));
            assert_eq!(wire.value("SELECT 2"), "2");
        }
    }
}

#[test]
fn what_the_variable_does_not_allow_is_not_offered() {
    let server = server_with(&[]);
    let mut root = server.connect();
    root.query_drop("SET GLOBAL protocol_compression_algorithms = 'zlib,uncompressed'").expect("set");
    let wire = Wire::connect(server.port(), wish(Capabilities::ZSTD_COMPRESSION)).expect("a connection, not compressed");
    assert!(wire.offered.contains(Capabilities::COMPRESS) && !wire.offered.contains(Capabilities::ZSTD_COMPRESSION));
    root.query_drop("SET GLOBAL protocol_compression_algorithms = 'zstd'").expect("set");
    assert_eq!(Wire::connect(server.port(), Wish::default()).err(), Some(Refusal::Code(3922)));
    assert_eq!(Wire::connect(server.port(), wish(Capabilities::ZSTD_COMPRESSION)).expect("a connection").value("SELECT 1"), "1");
    let code = |error: mysql::Error| match error {
        mysql::Error::MySqlError(error) => error.code,
        other => panic!("{other}"),
    };
    assert_eq!(code(root.query_drop("SET GLOBAL protocol_compression_algorithms = 'lz4'").expect_err("unknown")), 1231);
}

#[test]
fn an_upload_comes_through_frames() {
    let server = server_with(&[]);
    let mut root = server.connect();
    root.query_drop("CREATE DATABASE d").expect("a database");
    root.query_drop("CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(20))").expect("a table");
    let capabilities = BASE | Capabilities::COMPRESS | Capabilities::LOCAL_FILES;
    let mut wire = Wire::connect(server.port(), Wish { capabilities, ..Wish::default() }).expect("a connection");
    wire.command(protocol::command::byte::QUERY, b"LOAD DATA LOCAL INFILE 'x' INTO TABLE d.t");
    assert_eq!(wire.read().expect("a request")[0], 0xFB);
    let text: String = (0..20_000).map(|n| format!("{n}\tvalue {n}\n")).collect();
    for piece in text.as_bytes().chunks(50_000) {
        wire.write(piece);
    }
    wire.write(b"");
    assert_eq!(wire.read().expect("done")[0], 0);
    assert_eq!(wire.value("SELECT COUNT(*) FROM d.t"), "20000");
}

#[test]
fn an_upload_whose_packet_is_too_long_says_so() {
    let server = server_with(&["--set", "max_allowed_packet=1048576"]);
    let mut root = server.connect();
    root.query_drop("CREATE DATABASE d").expect("a database");
    root.query_drop("CREATE TABLE d.t (a TEXT)").expect("a table");
    let mut wire = Wire::connect(server.port(), Wish { capabilities: BASE | Capabilities::LOCAL_FILES, ..Wish::default() }).expect("in");
    wire.command(protocol::command::byte::QUERY, b"LOAD DATA LOCAL INFILE 'x' INTO TABLE d.t");
    assert_eq!(wire.read().expect("a request")[0], 0xFB);
    wire.write(&vec![b'a'; 2 << 20]);
    let reply = wire.read().expect("an error");
    assert_eq!(protocol::ErrReply::parse(&reply).map(|error| error.code), Ok(1153));
}

#[test]
fn broken_frames_end_their_connection_only() {
    let server = server_with(&["--set", "max_allowed_packet=1048576"]);
    // The frames below are written by hand.
    let login = || Wire::connect(server.port(), Wish { by_hand: true, ..wish(Capabilities::COMPRESS) }).expect("a connection").stream;
    let frame = |sequence: u8, plain: usize, body: &[u8]| {
        let mut frame = (body.len() as u32).to_le_bytes()[..3].to_vec();
        frame.push(sequence);
        frame.extend_from_slice(&(plain as u32).to_le_bytes()[..3]);
        frame.extend_from_slice(body);
        frame
    };
    // A bomb: 16 MiB of zeros in a few kilobytes, whose first packet is longer than is allowed.
    let mut zeros = vec![0xFE, 0xFF, 0xFF, 0];
    zeros.resize(0xFF_FFFE, 0);
    let mut writer = protocol::compressed::CompressedWriter::new(Algorithm::Zlib);
    let (bomb, _) = writer.frame(&zeros, 0);
    let bomb = bomb.to_vec();
    for bytes in [frame(0, 100, b"not compressed at all"), frame(3, 0, b"\x01\0\0\0\x0e"), [bomb, frame(9, 50, &[0; 30])].concat()] {
        let mut stream = login();
        stream.write_all(&bytes).expect("sent");
        let mut rest = Vec::new();
        // Whether the end or a reset comes: it is over.
        let _ = stream.read_to_end(&mut rest);
    }
    assert_eq!(Wire::connect(server.port(), wish(Capabilities::COMPRESS)).expect("a connection").value("SELECT 1"), "1");
}
