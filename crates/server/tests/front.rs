//! The front over real sockets, with a real client and with bytes no client would send. `front_shared.rs` runs the same with sessions that share threads,
//! `front_rest.rs` with sessions that rest as soon as they hear nothing.

mod canned;

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use canned::Canned;
use harness::code as error_code;
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use protocol::auth;
use server::listener::Listeners;
use server::server::Server;
use session::accounts::AuthPlugin;
use session::service::FrontSettings;

const STOP_TIME: Duration = Duration::from_secs(20);

/// From how many connections on sessions share threads.
fn shared_threads_from() -> u32 {
    if module_path!().starts_with("front_shared") { 0 } else { u32::MAX }
}

/// After what silence sessions give back their threads.
fn rest_after() -> Duration {
    if module_path!().starts_with("front_rest") { Duration::from_millis(1) } else { Duration::ZERO }
}

/// For how long threads look for their clients.
fn look_for_client() -> Duration {
    if module_path!().starts_with("front_looks") { Duration::from_secs(1) } else { FrontSettings::default().look_for_client }
}

/// A server with canned answers.
pub(crate) struct Fixture {
    /// It.
    pub(crate) server: Server<Canned>,
    /// What answers.
    pub(crate) service: Arc<Canned>,
    address: SocketAddr,
    socket: PathBuf,
    _dir: tempfile::TempDir,
}

impl Fixture {
    /// With default settings.
    pub(crate) fn new() -> Self {
        // Where there is a stand-in nobody looks.
        Self::with(FrontSettings { stand_in: !module_path!().starts_with("front_looks"), ..FrontSettings::default() })
    }

    /// With these, but for what this test program is about.
    pub(crate) fn with(settings: FrontSettings) -> Self {
        let settings = FrontSettings {
            shared_threads_from: shared_threads_from(),
            shared_threads_at_work: 0,
            rest_after: rest_after(),
            look_for_client: look_for_client(),
            ..settings
        };
        let dir = tempfile::tempdir().expect("a directory");
        let socket = dir.path().join("s.sock");
        let listeners = Listeners::bind("127.0.0.1", 0, Some(&socket)).expect("a free port");
        let address = listeners.addresses()[0];
        let mut canned = Canned::new(settings);
        for user in ["native", "locked"] {
            canned.accounts.insert(user.to_owned(), (AuthPlugin::Native, auth::native_hash(b"secret").into_bytes()));
        }
        canned.accounts.insert("sha2".to_owned(), (AuthPlugin::CachingSha2, auth::sha2_hash(b"secret", *b"01234567890123456789")));
        let service = Arc::new(canned);
        let server = Server::start(Arc::clone(&service), listeners, Duration::from_millis(20)).expect("threads");
        Self { server, service, address, socket, _dir: dir }
    }

    fn options(&self) -> OptsBuilder {
        OptsBuilder::new()
            .ip_or_hostname(Some("127.0.0.1"))
            .tcp_port(self.address.port())
            .prefer_socket(false)
            .user(Some("root"))
            .max_allowed_packet(Some(1 << 30))
    }

    fn connect(&self) -> Conn {
        Conn::new(self.options()).expect("a connection")
    }

    /// A connection that has said nothing.
    pub(crate) fn raw(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("a connection");
        stream.set_read_timeout(Some(STOP_TIME)).expect("a timeout");
        stream
    }

    /// Waits until so many sessions have no thread.
    #[allow(dead_code)] // where sessions keep their threads nobody asks
    pub(crate) fn until_parked(&self, count: u32) {
        harness::until("all are parked", || self.server.front().thread_counts().parked == count);
    }

    /// Stops and checks that every session ended.
    pub(crate) fn stop(self) {
        assert_eq!(self.server.stop(STOP_TIME), 0);
        assert_eq!(self.service.connections.count(), 0);
    }
}

/// One raw packet.
pub(crate) fn read_packet(stream: &mut TcpStream) -> (u8, Vec<u8>) {
    let mut header = [0; 4];
    stream.read_exact(&mut header).expect("a header");
    let mut payload = vec![0; usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16];
    stream.read_exact(&mut payload).expect("a payload");
    (header[3], payload)
}

/// A command as a client sends it.
pub(crate) fn command(payload: &[u8]) -> Vec<u8> {
    let mut out = protocol::PacketWriter::new();
    out.packet(payload);
    out.bytes().to_vec()
}

/// What root answers to the greeting.
pub(crate) fn login_packet() -> Vec<u8> {
    let response = protocol::HandshakeResponse {
        capabilities: protocol::Capabilities::PROTOCOL_41
            | protocol::Capabilities::SECURE_CONNECTION
            | protocol::Capabilities::PLUGIN_AUTH
            | protocol::Capabilities::TRANSACTIONS,
        max_packet_bytes: 1 << 24,
        charset: 255,
        user: b"root",
        auth_response: b"",
        database: None,
        auth_plugin: Some(b"caching_sha2_password"),
        attributes: b"",
        zstd_level: None,
    };
    let mut out = protocol::PacketWriter::new();
    out.set_sequence(1);
    response.write(&mut out);
    out.bytes().to_vec()
}

/// A raw connection that is logged in as root.
pub(crate) fn raw_login(fixture: &Fixture) -> TcpStream {
    let mut stream = fixture.raw();
    read_packet(&mut stream);
    stream.write_all(&login_packet()).expect("sent");
    assert_eq!(read_packet(&mut stream).1[0], 0);
    stream
}

#[test]
fn text_and_prepared_statements_work() {
    let fixture = Fixture::new();
    let mut conn = fixture.connect();
    let rows: Vec<String> = conn.query("ROWS 3").expect("rows");
    assert_eq!((rows.len(), rows[0].len()), (3, 119));
    let one: Option<String> = conn.exec_first("SELECT c FROM t WHERE id = ?", (7,)).expect("a row");
    assert_eq!(one.map(|text| text.len()), Some(119));
    conn.exec_drop("UPDATE ?, ?", (40, 2)).expect("ok");
    assert_eq!(conn.affected_rows(), 42);
    conn.ping().expect("alive");
    conn.reset().expect("reset");
    assert_eq!(conn.query::<String, _>("ROWS 100000").expect("rows").len(), 100_000);
    drop(conn);
    fixture.stop();
}

#[test]
fn every_way_to_log_in_works_and_wrong_ones_do_not() {
    // The first login by RSA makes the key, which a busy machine may need long for.
    let fixture = Fixture::with(FrontSettings { connect_timeout: Duration::from_secs(600), ..FrontSettings::default() });
    for (user, password, expect) in [
        ("root", None, None),
        ("root", Some("x"), Some(1045)),
        ("native", Some("secret"), None),
        ("native", Some("wrong"), Some(1045)),
        ("native", None, Some(1045)),
        ("sha2", Some("secret"), None),
        ("sha2", Some("secret"), None),
        ("sha2", Some("wrong"), Some(1045)),
        ("sha2", None, Some(1045)),
        ("locked", Some("secret"), Some(3118)),
        ("nobody", None, Some(1045)),
        ("nobody", Some("x"), Some(1045)),
    ] {
        let tcp = fixture.options().user(Some(user)).pass(password);
        let unix = OptsBuilder::new()
            .socket(Some(fixture.socket.to_string_lossy()))
            .user(Some(user))
            .pass(password)
            .max_allowed_packet(Some(1 << 24));
        for options in [tcp, unix] {
            match (Conn::new(options), expect) {
                (Ok(mut conn), None) => conn.query_drop("SELECT 1").expect("alive"),
                (Err(error), Some(code)) => assert_eq!(error_code(&error), code, "{user} {password:?}"),
                (Ok(_), Some(code)) => panic!("{user} {password:?} got in instead of {code}"),
                (Err(error), None) => panic!("{user} {password:?}: {error}"),
            }
        }
    }
    let error = Conn::new(fixture.options().db_name(Some("nowhere"))).expect_err("no such database");
    assert_eq!(error_code(&error), 1049);
    fixture.stop();
}

#[test]
fn who_does_not_finish_its_login_keeps_nobody_out() {
    const MANY: usize = 100;
    let fixture = Fixture::new();
    let mut slow: Vec<_> = (0..MANY).map(|_| fixture.raw()).collect();
    for stream in &mut slow {
        assert_eq!(read_packet(stream).1[0], 10, "a greeting");
    }
    // Who has said nothing takes no thread.
    let counts = fixture.server.front().thread_counts();
    assert!(counts.created < u64::from(counts.shared) + 10, "{counts:?}");
    let answer = login_packet();
    // Who has begun to answer does; others are let in beside them.
    for stream in &mut slow {
        stream.write_all(&answer[..3]).expect("sent");
    }
    let mut quick: Vec<_> = (0..20).map(|_| fixture.connect()).collect();
    quick.iter_mut().for_each(|conn| conn.query_drop("SELECT 1").expect("alive"));
    for stream in &mut slow {
        stream.write_all(&answer[3..]).expect("sent");
        assert_eq!(read_packet(stream).1[0], 0, "let in");
    }
    drop((slow, quick));
    fixture.stop();
}

#[test]
fn change_user_logs_in_anew() {
    let fixture = Fixture::new();
    let mut conn = fixture.connect();
    let options = mysql::ChangeUserOpts::new().with_user(Some("native".to_owned())).with_pass(Some("secret".to_owned()));
    conn.change_user(options).expect("the other user");
    let who: Option<String> = conn.query_first("WHO").expect("a row");
    assert_eq!(who.as_deref(), Some("native@localhost native None"));
    let wrong = mysql::ChangeUserOpts::new().with_user(Some("native".to_owned())).with_pass(Some("wrong".to_owned()));
    assert_eq!(error_code(&conn.change_user(wrong).expect_err("a wrong password")), 1045);
    fixture.stop();
}

#[test]
fn packets_of_more_than_sixteen_megabytes_pass() {
    let fixture = Fixture::new();
    let mut conn = fixture.connect();
    for length in [0xFF_FFFE, 0xFF_FFFF, 0x100_0000, 34_000_000] {
        // The command byte is part of the packet.
        let sql = format!("LENGTH {}", "x".repeat(length - 8));
        conn.query_drop(&sql).expect("ok");
        assert_eq!(conn.affected_rows(), sql.len() as u64);
    }
    let sql = "x".repeat(65 << 20);
    assert_eq!(error_code(&conn.query_drop(&sql).expect_err("over max_allowed_packet")), 1153);
    conn.query_drop("SELECT 1").expect("the connection goes on");
    drop(conn);
    fixture.stop();
}

#[test]
fn files_of_the_client_are_read() {
    let fixture = Fixture::new();
    for bytes in [0usize, 10, 300_000] {
        let handler = mysql::LocalInfileHandler::new(move |_, writer| writer.write_all(&vec![b'a'; bytes]));
        let mut conn = fixture.connect();
        conn.set_local_infile_handler(Some(handler));
        conn.query_drop("LOAD /any").expect("ok");
        assert_eq!(conn.affected_rows(), bytes as u64);
        conn.query_drop("SELECT 1").expect("alive");
    }
    fixture.stop();
}

#[test]
fn kill_stops_statements_and_connections() {
    let fixture = Fixture::new();
    let mut killer = fixture.connect();
    for (kill, dies) in [("KILLQUERY", false), ("KILL", true)] {
        let mut victim = fixture.connect();
        let id = victim.connection_id();
        let waiting = std::thread::spawn(move || {
            let result = victim.query_drop("WAIT");
            (result, victim)
        });
        let connection = fixture.service.connections.find(id).expect("the victim");
        while connection.phase() != session::connections::Phase::Running {
            std::thread::yield_now();
        }
        killer.query_drop(format!("{kill} {id}")).expect("ok");
        let (result, mut victim) = waiting.join().expect("no panic");
        let error = result.expect_err("interrupted");
        // A killed connection is closed without a word.
        assert_eq!(matches!(&error, mysql::Error::MySqlError(e) if e.code == 1317), !dies, "{error}");
        assert_eq!(victim.query_drop("SELECT 1").is_err(), dies);
    }
    killer.query_drop("KILL 4000000000").expect("ok");
    assert_eq!(killer.affected_rows(), 0);
    // An idle connection wakes up and ends.
    let mut idle = fixture.connect();
    killer.query_drop(format!("KILL {}", idle.connection_id())).expect("ok");
    assert!(idle.query_drop("SELECT 1").is_err());
    drop((killer, idle));
    fixture.stop();
}

#[test]
fn a_statement_whose_client_has_gone_is_stopped() {
    let fixture = Fixture::new();
    let mut stream = raw_login(&fixture);
    stream.write_all(&command(b"\x03WAIT")).expect("sent");
    stream.shutdown(Shutdown::Both).expect("closed");
    drop(stream);
    while fixture.service.dropped.load(Ordering::SeqCst) == 0 {
        std::thread::yield_now();
    }
    fixture.stop();
}

#[test]
fn a_stop_ends_idle_and_busy_connections() {
    let fixture = Fixture::new();
    let mut idle = raw_login(&fixture);
    let mut busy = raw_login(&fixture);
    busy.write_all(&command(b"\x03WAIT")).expect("sent");
    let _greeted_only = fixture.raw();
    fixture.stop();
    let (_, farewell) = read_packet(&mut idle);
    assert_eq!((farewell[0], u16::from_le_bytes([farewell[1], farewell[2]])), (0xFF, 1053));
    let mut rest = Vec::new();
    // Either the end or, when the socket was closed with bytes unread, a reset.
    let _ = busy.read_to_end(&mut rest);
}

#[test]
fn a_panic_costs_its_connection_only() {
    let fixture = Fixture::new();
    let mut bystander = fixture.connect();
    let mut conn = fixture.connect();
    assert!(conn.query_drop("BOOM").is_err());
    bystander.query_drop("SELECT 1").expect("alive");
    drop((bystander, conn));
    fixture.stop();
}

#[test]
fn malformed_commands_get_mysqls_errors_and_the_connection_goes_on() {
    let fixture = Fixture::new();
    let mut stream = raw_login(&fixture);
    for (payload, code) in [
        (&b"\xEEx"[..], 1047u16),
        (b"", 1835),
        (b"\x17\x01", 1835),
        (b"\x19\x01", 1835),
        (b"\x1C\x01\0\0\0", 1835),
        (b"\x0C\x01\0\0\0", 1047),
        (b"\x17\x63\0\0\0\0\x01\0\0\0", 1243),
    ] {
        stream.write_all(&command(payload)).expect("sent");
        let (sequence, reply) = read_packet(&mut stream);
        assert_eq!((sequence, reply[0], u16::from_le_bytes([reply[1], reply[2]])), (1, 0xFF, code), "{payload:?}");
    }
    // Commands in one piece, and one in many pieces.
    stream.write_all(&[command(b"\x0E"), command(b"\x0E")].concat()).expect("sent");
    for byte in b"\x09\0\0\0\x03SELECT 1" {
        stream.write_all(&[*byte]).expect("sent");
    }
    assert_eq!(read_packet(&mut stream).1[0], 0);
    assert_eq!(read_packet(&mut stream).1[0], 0);
    assert_eq!(read_packet(&mut stream).1, [1]);
    drop(stream);
    fixture.stop();
}

#[test]
fn packets_out_of_order_end_the_connection() {
    let fixture = Fixture::new();
    let mut stream = raw_login(&fixture);
    stream.write_all(b"\x01\0\0\x07\x0E").expect("sent");
    let (_, reply) = read_packet(&mut stream);
    assert_eq!(u16::from_le_bytes([reply[1], reply[2]]), 1156);
    assert_eq!(stream.read(&mut [0; 10]).expect("the end"), 0);
    fixture.stop();
}

#[test]
fn strangers_bytes_in_the_handshake_end_only_their_connection() {
    let fixture = Fixture::new();
    for bytes in [
        &b""[..],
        b"GET / HTTP/1.0\r\n\r\n",
        b"\x01\0\0\x01\x00",
        b"\xFF\xFF\xFF\x01",
        b"\x20\0\0\x01\0\x0A\0\0\0\0\0\x01\xFF\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
    ] {
        let mut stream = fixture.raw();
        read_packet(&mut stream);
        stream.write_all(bytes).expect("sent");
        stream.shutdown(Shutdown::Write).expect("half closed");
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
    }
    fixture.connect().query_drop("SELECT 1").expect("alive");
    fixture.stop();
}

#[test]
fn timeouts_end_connections_that_do_nothing() {
    let fixture = Fixture::with(FrontSettings {
        connect_timeout: Duration::from_millis(50),
        wait_timeout: Duration::from_secs(1),
        net_read_timeout: Duration::from_millis(50),
        net_write_timeout: Duration::from_millis(50),
        ..FrontSettings::default()
    });
    let mut half_open = fixture.raw();
    let mut idle = raw_login(&fixture);
    let mut half_packet = raw_login(&fixture);
    half_packet.write_all(b"\x05\0\0\0\x03W").expect("sent");
    let mut slow = raw_login(&fixture);
    slow.write_all(&command(b"\x03ROWS 999999")).expect("sent");
    // COM_CHANGE_USER to a plugin that is none: the server asks by another one, and nobody answers.
    let mut asked = raw_login(&fixture);
    asked.write_all(&command(b"\x11native\0\x01x\0\x21\0no_plugin\0")).expect("sent");
    assert_eq!(read_packet(&mut asked).1[0], 0xFE);
    read_packet(&mut half_open);
    assert_eq!(half_open.read(&mut [0; 10]).expect("the end"), 0);
    let (_, reply) = read_packet(&mut idle);
    assert_eq!(u16::from_le_bytes([reply[1], reply[2]]), 4031);
    let (_, reply) = read_packet(&mut half_packet);
    assert_eq!(u16::from_le_bytes([reply[1], reply[2]]), 1159);
    while fixture.service.connections.count() > 0 {
        std::thread::yield_now();
    }
    drop((slow, asked));
    fixture.stop();
}

#[test]
fn connections_over_the_limit_are_refused_but_for_an_administrator() {
    let fixture = Fixture::with(FrontSettings { max_connections: 2, ..FrontSettings::default() });
    let native = || Conn::new(fixture.options().user(Some("native")).pass(Some("secret")));
    let held = [native().expect("the first"), native().expect("the second")];
    assert_eq!(error_code(&native().expect_err("one too many")), 1040);
    // The refused one counts until its thread is through.
    while fixture.server.front().open_connections() > 2 {
        std::thread::yield_now();
    }
    let administrator = fixture.connect();
    assert_eq!(error_code(&Conn::new(fixture.options()).expect_err("two too many")), 1040);
    drop((held, administrator));
    fixture.stop();
}

#[test]
fn a_storm_of_connections_is_served() {
    let fixture = Fixture::new();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for round in 0..40 {
                    let mut conn = fixture.connect();
                    if round % 2 == 0 {
                        conn.query_drop("SELECT 1").expect("a row");
                    }
                }
            });
        }
        scope.spawn(|| {
            let many: Vec<TcpStream> = (0..300).map(|_| fixture.raw()).collect();
            drop(many);
        });
    });
    fixture.stop();
}

#[test]
fn a_busy_port_and_a_busy_socket_are_told() {
    let fixture = Fixture::new();
    let error = Listeners::bind("127.0.0.1", fixture.address.port(), None).expect_err("busy");
    assert!(error.to_string().contains("is in use"), "{error}");
    let error = Listeners::bind("127.0.0.1", 0, Some(&fixture.socket)).expect_err("busy");
    assert!(error.to_string().contains("is in use"), "{error}");
    let path = fixture.socket.clone();
    fixture.stop();
    assert!(!path.exists(), "the socket file goes with its server");
    // A file that a dead server left behind is replaced.
    let dir = tempfile::tempdir().expect("a directory");
    let stale = dir.path().join("stale.sock");
    drop(std::os::unix::net::UnixListener::bind(&stale).expect("bound"));
    Listeners::bind("127.0.0.1", 0, Some(&stale)).expect("replaced");
}
