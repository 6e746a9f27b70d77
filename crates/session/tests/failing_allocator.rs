//! Failing allocations: each statement of a list is run again and again, the n-th large allocation of its thread failing, for every n that it makes.
//!
//! It may fail with 1041 and leave everything as it was, or succeed and do what it does without failures; nothing else, and the process goes on.
//! Then the tables are checked. Allocations that can fail are told so; all others live off what the heap has set aside (crate `memory`).

use catalog::Catalog;
use engine::{Engine, EngineConfig};
use env::{Disk, RealClock, RealDisk};
use protocol::{Capabilities, ClientGone, ClientIo, Command, PacketWriter};
use session::command::{ClientAddress, Login};
use session::connections::{Connection, Hangup};
use session::service::{Service, Session};
use session::{AccountStore, ClientSession, Shared, SqlService};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

/// Smaller allocations do not fail.
const LARGE_BYTES: usize = 64 << 10;

thread_local! {
    /// Large allocations until one fails; 0: none does. Without a destructor, so that the allocator may look at any time.
    static COUNTDOWN: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, or none.
struct Failing;

fn fails(bytes: usize) -> bool {
    bytes >= LARGE_BYTES
        && COUNTDOWN.with(|left| {
            let now = left.get();
            left.set(now.saturating_sub(1));
            now == 1
        })
}

// SAFETY: calls are handed on unchanged, or answered with null, which means that nothing has happened.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if fails(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if fails(size) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static HEAP: memory::Heap<Failing> = memory::Heap::new(Failing);

struct Nobody;

impl Hangup for Nobody {
    fn hang_up(&self, _writes_too: bool) {}

    fn is_gone(&self) -> bool {
        false
    }
}

/// Keeps what is sent; its own memory never fails.
#[derive(Default)]
struct Collector {
    sent: Vec<u8>,
}

impl ClientIo for Collector {
    fn flush(&mut self, out: &mut PacketWriter) -> Result<(), ClientGone> {
        let left = COUNTDOWN.replace(0);
        self.sent.extend_from_slice(out.bytes());
        COUNTDOWN.set(left);
        out.clear();
        Ok(())
    }

    fn read_packet(&mut self) -> Result<&[u8], ClientGone> {
        Err(ClientGone::Disconnected)
    }

    fn reply_sequence(&self) -> u8 {
        0
    }
}

struct Client {
    session: ClientSession,
}

impl Client {
    /// The reply's bytes, or the number of its error, with the n-th large allocation failing; and whether one failed.
    fn run_failing(&mut self, sql: &str, nth: u64) -> (Result<Vec<u8>, u16>, bool) {
        HEAP.set_aside();
        let (mut out, mut io) = (PacketWriter::new(), Collector::default());
        let command = Command::Query { sql: sql.as_bytes(), attributes: Default::default() };
        COUNTDOWN.set(nth);
        self.session.handle(command, &mut out, &mut io);
        let failed = COUNTDOWN.replace(0) == 0 && nth > 0;
        let mut sent = io.sent;
        sent.extend_from_slice(out.bytes());
        (error_of(&sent).map_or(Ok(sent), Err), failed)
    }

    #[track_caller]
    fn run(&mut self, sql: &str) -> Vec<u8> {
        self.run_failing(sql, 0).0.unwrap_or_else(|code| panic!("{sql}: error {code}"))
    }
}

/// The number of the error that a reply ends with.
fn error_of(mut sent: &[u8]) -> Option<u16> {
    let mut error = None;
    while let [a, b, c, _, rest @ ..] = sent {
        let bytes = usize::from(*a) | usize::from(*b) << 8 | usize::from(*c) << 16;
        let (packet, after) = rest.split_at(bytes);
        error = match packet {
            [0xFF, low, high, ..] => Some(u16::from_le_bytes([*low, *high])),
            _ => error,
        };
        sent = after;
    }
    error
}

fn server(directory: &std::path::Path) -> Arc<Shared> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(directory).expect("a directory"));
    let mut config = EngineConfig::small();
    config.pool.frames = 2048;
    let engine = Engine::open(disk, Arc::new(RealClock::new()), config).expect("an engine");
    // Checkpoints make room in the log. Other threads' allocations do not fail.
    engine.start_background().expect("threads");
    let catalog = Catalog::open(&engine).expect("a catalogue");
    {
        let accounts = AccountStore::open(&catalog).expect("accounts");
        Shared::new(engine, catalog, accounts)
    }
}

fn connect(shared: &Arc<Shared>) -> Client {
    let service = SqlService::new(Arc::clone(shared));
    let connection = Connection::new(shared.connections.allocate_id(), "localhost".into(), Box::new(Nobody));
    let login = Login {
        user: "root".into(),
        host: "localhost".into(),
        account_user: "root".into(),
        account_host: "localhost".into(),
        database: None,
        charset: 255,
        capabilities: Capabilities::PROTOCOL_41 | Capabilities::DEPRECATE_EOF,
        address: ClientAddress::Unix,
        attributes: Vec::new(),
    };
    Client { session: service.begin(connection, login).expect("a session") }
}

/// Rows of the larger table, of about half a kilobyte each.
const ROWS: usize = 1500;
/// The first allocations of a statement fail one after the other; later ones further and further apart.
const EACH_UP_TO: u64 = 30;

/// What a statement does, and how that is taken back.
struct Case {
    before: &'static str,
    sql: String,
    after: &'static str,
}

fn cases() -> Vec<Case> {
    let case = |sql: &str| Case { before: "", sql: sql.to_owned(), after: "" };
    let values: Vec<String> = (0..1000).map(|id| format!("({id}, {}, REPEAT('y', 400))", id % 7)).collect();
    let long: Vec<String> = (0..100).map(|id| format!("({id}, 0, '{}')", "z".repeat(2000))).collect();
    vec![
        case("SELECT * FROM t ORDER BY s, id DESC"),
        case("SELECT s, id FROM t ORDER BY k, s LIMIT 400"),
        case("SELECT a.id, b.s FROM t a JOIN t b ON a.k * 100 = b.id ORDER BY a.id"),
        case("SELECT COUNT(*), SUM(LENGTH(b.s)) FROM t a LEFT JOIN t b ON CONCAT(a.s, 'x') = CONCAT(b.s, 'x')"),
        case("SELECT s, COUNT(*), MAX(id), MIN(s) FROM t GROUP BY s ORDER BY s"),
        case("SELECT DISTINCT s, k FROM t ORDER BY s, k"),
        case("SELECT COUNT(DISTINCT s, id) FROM t"),
        case("SELECT id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY s, id), MAX(s) OVER (ORDER BY s) FROM t ORDER BY id"),
        case("SELECT id FROM t WHERE s IN (SELECT CONCAT(s, '') FROM t WHERE k > 3) ORDER BY id"),
        case("SELECT s FROM t WHERE k = 1 UNION SELECT s FROM t WHERE k = 2 ORDER BY 1"),
        case("SELECT REPEAT('x', 300000), id FROM t ORDER BY id LIMIT 3"),
        case("SELECT * FROM t ORDER BY id"),
        case(
            "WITH RECURSIVE n (i, s) AS (SELECT 1, CAST(REPEAT('a', 100) AS CHAR(200)) UNION ALL SELECT i + 1, s FROM n WHERE i < 900) SELECT * FROM n ORDER BY i",
        ),
        Case { before: "", sql: "INSERT INTO u SELECT * FROM t".into(), after: "DELETE FROM u" },
        Case { before: "", sql: format!("INSERT INTO u VALUES {}", values.join(", ")), after: "DELETE FROM u" },
        Case { before: "", sql: format!("INSERT INTO u VALUES {}", long.join(", ")), after: "DELETE FROM u" },
        Case { before: "", sql: "UPDATE t SET k = k + 10 ORDER BY s, id".into(), after: "UPDATE t SET k = k - 10" },
        Case { before: "", sql: "UPDATE t a JOIN t b ON a.id = b.id SET a.k = b.k + 10".into(), after: "UPDATE t SET k = k - 10" },
        Case { before: "INSERT INTO u SELECT * FROM t", sql: "DELETE FROM u ORDER BY s, id".into(), after: "DELETE FROM u" },
        Case {
            before: "INSERT INTO u SELECT * FROM t",
            sql: "ALTER TABLE u ADD COLUMN more INT NOT NULL DEFAULT 3 FIRST, ALGORITHM=COPY".into(),
            after: "DROP TABLE u; CREATE TABLE u LIKE t",
        },
        Case {
            before: "INSERT INTO u SELECT * FROM t",
            sql: "CREATE INDEX extra ON u (s(500), k)".into(),
            after: "DROP TABLE u; CREATE TABLE u LIKE t",
        },
        Case { before: "INSERT INTO u SELECT * FROM t", sql: "TRUNCATE TABLE u".into(), after: "DELETE FROM u" },
        case("OPTIMIZE TABLE t"),
        case("CHECK TABLE t"),
        case("SELECT * FROM information_schema.columns"),
    ]
}

fn run_all(client: &mut Client, list: &str) {
    list.split("; ").filter(|sql| !sql.is_empty()).for_each(|sql| drop(client.run(sql)));
}

/// What there is: rows and definitions, byte for byte.
fn state(client: &mut Client) -> Vec<Vec<u8>> {
    ["SELECT * FROM t ORDER BY id", "SELECT * FROM u ORDER BY id", "SHOW CREATE TABLE t", "SHOW CREATE TABLE u"]
        .map(|sql| client.run(sql))
        .to_vec()
}

/// Two tables alike, empty, in a database of their own.
fn make_tables(client: &mut Client) {
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (id INT PRIMARY KEY, k INT NOT NULL, s VARCHAR(2000) NOT NULL, KEY k (k))",
        "CREATE TABLE u LIKE t",
    ] {
        client.run(sql);
    }
}

fn check_tables(client: &mut Client, sql: &str) {
    let told = client.run("CHECK TABLE t, u");
    let oks = told.windows(3).filter(|bytes| *bytes == [2, b'O', b'K']).count();
    assert_eq!(oks, 2, "{sql}: {}", String::from_utf8_lossy(&told));
}

#[test]
fn a_statement_whose_allocation_fails_answers_an_error_or_does_all_it_should() {
    let directory = tempfile::tempdir().expect("a directory");
    let shared = server(directory.path());
    let mut client = connect(&shared);
    make_tables(&mut client);
    for from in (0..ROWS).step_by(500) {
        let rows: Vec<String> =
            (from..from + 500).map(|id| format!("({id}, {}, CONCAT('{}', REPEAT('s', 400)))", id % 9, id * 7919 % 1009)).collect();
        client.run(&format!("INSERT INTO t VALUES {}", rows.join(", ")));
    }
    let (mut tries, mut errors, mut saved) = (0, 0, 0);
    for Case { before, sql, after } in cases() {
        let shown = &sql[..sql.len().min(100)];
        run_all(&mut client, before);
        let old = state(&mut client);
        let expect = client.run(&sql);
        let new = state(&mut client);
        run_all(&mut client, after);
        run_all(&mut client, before);
        assert!(state(&mut client) == old, "{shown}: it cannot be taken back");
        let (mut nth, mut step) = (1, 1);
        loop {
            let (reply, failed) = client.run_failing(&sql, nth);
            let now = state(&mut client);
            match reply {
                Err(code) => {
                    assert!([1038, 1041].contains(&code), "{shown}: error {code} at allocation {nth}");
                    assert!(now == old, "{shown}: failed at allocation {nth}, and something is left");
                    errors += u64::from(failed);
                }
                Ok(reply) => {
                    assert!(reply == expect, "{shown}: another answer at allocation {nth}");
                    assert!(now == new, "{shown}: done otherwise at allocation {nth}");
                    saved += u64::from(failed);
                    run_all(&mut client, after);
                    run_all(&mut client, before);
                }
            }
            if !failed {
                break;
            }
            tries += 1;
            if nth >= EACH_UP_TO {
                step += step / 4 + 1;
            }
            nth += step;
        }
        check_tables(&mut client, shown);
        run_all(&mut client, after);
        println!("{shown}: {nth}");
    }
    println!("{tries} failures: {errors} errors, {saved} statements that went on");
    assert!(errors > 50 && memory::rescues() > 0, "{tries} failures, {errors} errors, {} times what was set aside", memory::rescues());
    // All of it once more after a start.
    let old = state(&mut client);
    drop(client);
    shared.engine.close(true).expect("a clean stop");
    drop(shared);
    let shared = server(directory.path());
    let mut client = connect(&shared);
    client.run("USE d");
    assert!(state(&mut client) == old);
    check_tables(&mut client, "after a restart");
    drop(client);
    shared.engine.close(true).expect("a clean stop");
}

#[test]
fn a_rollback_goes_on_where_an_allocation_fails() {
    let directory = tempfile::tempdir().expect("a directory");
    let shared = server(directory.path());
    let mut client = connect(&shared);
    make_tables(&mut client);
    let rows: Vec<String> = (0..500).map(|id| format!("({id}, {}, REPEAT('s', 600))", id % 9)).collect();
    client.run(&format!("INSERT INTO t VALUES {}", rows.join(", ")));
    let old = state(&mut client);
    for nth in 1..20 {
        for sql in
            ["BEGIN", "INSERT INTO u SELECT * FROM t", "UPDATE t SET s = CONCAT(s, 'more'), k = k + 1", "DELETE FROM t WHERE id % 3 = 0"]
        {
            client.run(sql);
        }
        let (reply, failed) = client.run_failing("ROLLBACK", nth);
        reply.unwrap_or_else(|code| panic!("ROLLBACK: error {code} at allocation {nth}"));
        assert!(state(&mut client) == old, "at allocation {nth}");
        if !failed {
            break;
        }
    }
    check_tables(&mut client, "ROLLBACK");
    drop(client);
    shared.engine.close(true).expect("a clean stop");
}
