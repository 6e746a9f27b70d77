//! Encrypted connections against the real server: certificates of the first start, what is asked of clients, hostile handshakes.

mod wire_client;

use harness::Server;
use mysql::prelude::Queryable;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use tls::rustls::ClientConfig;
use wire_client::{BASE, Refusal, Wire, Wish, tcp, trusting};

fn server_with(arguments: &[&str]) -> Server {
    Server::start(env!("CARGO_BIN_EXE_altiplano"), arguments)
}

fn client(directory: &Path) -> Arc<ClientConfig> {
    trusting(&directory.join("ca.pem"), None)
}

fn try_connect(server: &Server, config: &Arc<ClientConfig>) -> Result<Wire, Refusal> {
    Wire::connect(server.port(), Wish { tls: Some(Arc::clone(config)), ..Wish::default() })
}

fn connect(server: &Server, config: &Arc<ClientConfig>) -> Wire {
    try_connect(server, config).expect("a connection")
}

#[test]
fn a_first_start_makes_certificates_and_clients_may_encrypt() {
    let server = server_with(&[]);
    let directory = server.data_dir();
    let config = client(&directory);
    let mut wire = connect(&server, &config);
    assert_eq!(wire.value("SELECT 6 * 7"), "42");
    assert_eq!(wire.query("SHOW STATUS LIKE 'Ssl_version'").expect("a row")[0][1].as_deref(), Some("TLSv1.3"));
    assert!(wire.query("SHOW STATUS LIKE 'Ssl_cipher'").expect("a row")[0][1].as_ref().is_some_and(|name| name.starts_with("TLS_")));
    // Replies of many records, and a statement longer than a packet.
    assert_eq!(wire.value("SELECT LENGTH(REPEAT('x', 3000000))"), "3000000");
    assert_eq!(wire.value("SELECT REPEAT('y', 3000000)").len(), 3_000_000);
    let long = format!("SELECT LENGTH('{}')", "z".repeat(20 << 20));
    assert_eq!(wire.value(&long), (20 << 20).to_string());
    // Others are not affected, and see that they are not encrypted.
    let mut plain = server.connect();
    assert_eq!(plain.query_first::<(String, String), _>("SHOW STATUS LIKE 'Ssl_version'").expect("a row").expect("a row").1, "");
    assert_eq!(plain.query_first::<(String, String), _>("SHOW STATUS LIKE 'Ssl_finished_accepts'").expect("a row").expect("a row").1, "1");
    assert_eq!(plain.query_first::<String, _>("SELECT @@have_ssl").expect("a row").expect("a row"), "YES");
}

#[test]
fn plain_connections_are_refused_where_encryption_is_required() {
    let server = server_with(&["--set", "require_secure_transport=ON"]);
    // The harness waits on the unix socket or by ping; only a raw client can tell.
    assert_eq!(Wire::connect(server.port(), Wish::default()).err(), Some(Refusal::Code(3159)));
}

#[test]
fn a_clients_certificate_is_checked_and_its_names_are_known() {
    let server = server_with(&[]);
    let directory = server.data_dir();
    let own = (directory.join("client-cert.pem"), directory.join("client-key.pem"));
    let config = trusting(&directory.join("ca.pem"), Some((&own.0, &own.1)));
    assert_eq!(connect(&server, &config).value("SELECT 1"), "1");
    // One that another authority has signed.
    let elsewhere = tempfile::tempdir().expect("a directory");
    tls::make_missing(elsewhere.path(), "").expect("made");
    let own = (elsewhere.path().join("client-cert.pem"), elsewhere.path().join("client-key.pem"));
    let config = trusting(&directory.join("ca.pem"), Some((&own.0, &own.1)));
    assert_eq!(try_connect(&server, &config).err(), Some(Refusal::Broken), "a certificate of a stranger was taken");
    assert_eq!(connect(&server, &client(&directory)).value("SELECT 1"), "1");
}

#[test]
fn reloading_exchanges_certificates_or_leaves_them() {
    let server = server_with(&[]);
    let directory = server.data_dir();
    let (mut plain, old) = (server.connect(), client(&directory));
    let mut open = connect(&server, &old);
    let code = |error: mysql::Error| match error {
        mysql::Error::MySqlError(error) => error.code,
        other => panic!("{other}"),
    };
    plain.query_drop("SET GLOBAL ssl_ca = 'nonsuch.pem'").expect("set");
    assert_eq!(code(plain.query_drop("ALTER INSTANCE RELOAD TLS").expect_err("there is none")), 3888);
    assert_eq!(connect(&server, &old).value("SELECT 1"), "1");
    plain.query_drop("ALTER INSTANCE RELOAD TLS NO ROLLBACK ON ERROR").expect("done");
    assert_eq!(plain.warnings(), 1);
    let refused = Wire::connect(server.port(), Wish::default()).expect("a connection");
    assert!(!refused.offered.contains(protocol::Capabilities::SSL));
    // New ones in place of the old: who trusts the old authority does not believe them.
    for file in ["ca.pem", "server-cert.pem", "server-key.pem"] {
        std::fs::remove_file(directory.join(file)).expect("removed");
    }
    tls::make_missing(&directory, "").expect("made");
    plain.query_drop("SET GLOBAL ssl_ca = 'ca.pem'").expect("set");
    plain.query_drop("ALTER INSTANCE RELOAD TLS").expect("loaded");
    assert_eq!(try_connect(&server, &old).err(), Some(Refusal::Broken), "the old certificate is still shown");
    assert_eq!(connect(&server, &client(&directory)).value("SELECT 1"), "1");
    assert_eq!(open.value("SELECT 2"), "2");
    assert_eq!(code(plain.query_drop("SET GLOBAL tls_version = 'TLSv1.1'").expect_err("too old")), 1231);
}

#[test]
fn a_broken_handshake_ends_its_connection_only() {
    let server = server_with(&["--set", "connect_timeout=2"]);
    let directory = server.data_dir();
    let config = client(&directory);
    let mut request = vec![32, 0, 0, 1];
    request.extend_from_slice(&(BASE | protocol::Capabilities::SSL).bits().to_le_bytes());
    request.resize(36, 0);
    let read_greeting = |stream: &mut std::net::TcpStream| {
        let mut header = [0; 4];
        stream.read_exact(&mut header).expect("a header");
        let mut payload = vec![0; usize::from(header[0])];
        stream.read_exact(&mut payload).expect("a greeting");
    };
    let mut rest = Vec::new();
    for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0x16, 3, 1, 0xFF, 0xFF, 1, 0, 0], &[0; 64], &[0xFF; 5000]] {
        let mut stream = tcp(server.port());
        read_greeting(&mut stream);
        stream.write_all(&request).expect("sent");
        // The server may hang up while this is sent.
        let _ = stream.write_all(garbage);
        rest.clear();
        // Whether by an alert, by the end or by a reset: it is over before long.
        let _ = stream.read_to_end(&mut rest);
    }
    // Silent ones are ended by connect_timeout.
    let mut silent: Vec<_> = (0..50)
        .map(|_| {
            let mut stream = tcp(server.port());
            read_greeting(&mut stream);
            stream.write_all(&request).expect("sent");
            stream
        })
        .collect();
    assert_eq!(connect(&server, &config).value("SELECT 1"), "1");
    for stream in &mut silent {
        rest.clear();
        let _ = stream.read_to_end(&mut rest);
    }
    // Garbage inside an encrypted connection.
    let mut wire = connect(&server, &config);
    wire.sequence = 7;
    wire.write(b"\x03SELECT 1");
    wire.sequence = 0;
    let reply = wire.read().expect("an error");
    assert_eq!(u16::from_le_bytes([reply[1], reply[2]]), 1156);
    assert_eq!(connect(&server, &config).value("SELECT 1"), "1");
}
