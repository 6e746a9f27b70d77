//! Whole statements of one session, from a packet's payload to the reply in the packet buffer.

use crate::window::{Random, count_apart};
use catalog::Catalog;
use engine::{Engine, EngineConfig};
use env::{Disk, RealClock, RealDisk};
use protocol::command::byte;
use protocol::{Capabilities, Command, NoClient, PacketWriter};
use session::command::{ClientAddress, Login};
use session::connections::{Connection, Hangup};
use session::service::{Service, Session};
use session::{AccountStore, ClientSession, Shared, SqlService};
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

/// Rows of the table, which is sysbench's.
const ROWS: u64 = 10_000;
const CAPABILITIES: Capabilities =
    Capabilities(Capabilities::PROTOCOL_41.bits() | Capabilities::TRANSACTIONS.bits() | Capabilities::DEPRECATE_EOF.bits());

/// A client that is never asked.
struct Nobody;

impl Hangup for Nobody {
    fn hang_up(&self, _writes_too: bool) {}

    fn is_gone(&self) -> bool {
        false
    }
}

/// A session and the buffer that its replies go to.
struct Client {
    session: ClientSession,
    out: PacketWriter,
    payload: Vec<u8>,
}

impl Client {
    /// Answers the command whose payload is `self.payload`; what follows is in `self.out`.
    fn answer(&mut self) {
        self.out.clear();
        self.out.set_sequence(1);
        let command = Command::parse(&self.payload, CAPABILITIES).expect("a command");
        self.session.handle(command, &mut self.out, &mut NoClient::default());
    }

    fn text(&mut self, sql: &str) {
        self.payload.clear();
        self.payload.push(byte::QUERY);
        self.payload.extend_from_slice(sql.as_bytes());
    }

    /// Runs a statement that must succeed.
    fn run(&mut self, sql: &str) {
        self.text(sql);
        self.answer();
        self.succeeded(sql);
    }

    fn succeeded(&self, what: &str) {
        assert!(self.out.bytes()[4] != 0xFF, "{what}: {}", String::from_utf8_lossy(&self.out.bytes()[7..]));
    }

    fn prepare(&mut self, sql: &str) -> u32 {
        self.payload.clear();
        self.payload.push(byte::STMT_PREPARE);
        self.payload.extend_from_slice(sql.as_bytes());
        self.answer();
        self.succeeded(sql);
        u32::from_le_bytes(self.out.bytes()[5..9].try_into().expect("four bytes"))
    }

    /// An execution with whole numbers (4 bytes each) and then strings.
    fn execution(&mut self, statement: u32, numbers: &[u32], strings: &[&str]) {
        let count = numbers.len() + strings.len();
        self.payload.clear();
        self.payload.push(byte::STMT_EXECUTE);
        self.payload.extend_from_slice(&statement.to_le_bytes());
        self.payload.extend_from_slice(&[0, 1, 0, 0, 0]);
        self.payload.resize(self.payload.len() + count.div_ceil(8), 0);
        self.payload.push(1);
        numbers.iter().for_each(|_| self.payload.extend_from_slice(&[0x03, 0]));
        strings.iter().for_each(|_| self.payload.extend_from_slice(&[0xFD, 0]));
        numbers.iter().for_each(|number| self.payload.extend_from_slice(&number.to_le_bytes()));
        for string in strings {
            self.payload.push(u8::try_from(string.len()).expect("short"));
            self.payload.extend_from_slice(string.as_bytes());
        }
    }
}

/// Counts all statements; the data lies in `directory`.
pub fn run(directory: &Path) {
    let (engine, service) = open(directory);
    let client = RefCell::new(connect(&service));
    load(&mut client.borrow_mut());
    selects(&client);
    changes(&client, &engine);
    transactions(&client);
}

fn open(directory: &Path) -> (Arc<Engine>, SqlService) {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(directory).expect("a directory"));
    let mut config = EngineConfig::default();
    config.pool.frames = 4096;
    let engine = Engine::open(disk, Arc::new(RealClock::new()), config).expect("an engine");
    let catalog = Catalog::open(&engine).expect("a catalogue");
    let service = {
        let accounts = AccountStore::open(&catalog).expect("accounts");
        SqlService::new(Shared::new(Arc::clone(&engine), catalog, accounts))
    };
    (engine, service)
}

fn connect(service: &SqlService) -> Client {
    let connection = Connection::new(service.connections().allocate_id(), "localhost".to_owned(), Box::new(Nobody));
    service.connections().add(Arc::clone(&connection));
    let login = Login {
        user: "root".to_owned(),
        host: "localhost".to_owned(),
        account_user: "root".to_owned(),
        account_host: "localhost".to_owned(),
        database: None,
        charset: 255,
        capabilities: CAPABILITIES,
        address: ClientAddress::Unix,
        attributes: Vec::new(),
    };
    let session = service.begin(connection, login).expect("a session");
    Client { session, out: PacketWriter::new(), payload: Vec::new() }
}

fn load(client: &mut Client) {
    client.run("CREATE DATABASE sbtest");
    client.run("USE sbtest");
    client.run(
        "CREATE TABLE sbtest1 (id INT NOT NULL AUTO_INCREMENT, k INT NOT NULL DEFAULT 0, c CHAR(120) NOT NULL DEFAULT '', \
         pad CHAR(60) NOT NULL DEFAULT '', PRIMARY KEY (id), KEY k_1 (k))",
    );
    let mut random = Random::new(1);
    for first in (1..=ROWS).step_by(100) {
        let rows: Vec<String> = (first..first + 100)
            .map(|id| format!("({id},{},'{}','{}')", random.below(ROWS) + 1, text(&mut random, 10), text(&mut random, 5)))
            .collect();
        client.run(&format!("INSERT INTO sbtest1 (id, k, c, pad) VALUES {}", rows.join(",")));
    }
}

/// Groups of eleven digits with dashes between, as sysbench makes them.
fn text(random: &mut Random, groups: usize) -> String {
    let group = |_| format!("{:011}", random.below(1 << 30) * 93 % 100_000_000_000);
    (0..groups).map(group).collect::<Vec<_>>().join("-")
}

fn selects(client: &RefCell<Client>) {
    let mut random = Random::new(2);
    // Literals of equal length, so that no key costs a digit more than another.
    let text = |_| client.borrow_mut().text(&format!("SELECT c FROM sbtest1 WHERE id={:05}", random.below(ROWS) + 1));
    count_apart("point_select_text", 1000, text, |_| client.borrow_mut().answer());
    client.borrow().succeeded("point select");

    let statement = client.borrow_mut().prepare("SELECT c FROM sbtest1 WHERE id=?");
    let mut random = Random::new(3);
    let execution = |_| client.borrow_mut().execution(statement, &[random.below(ROWS) as u32 + 1], &[]);
    count_apart("point_select_prepared", 1000, execution, |_| client.borrow_mut().answer());
    client.borrow().succeeded("point select");

    let statement = client.borrow_mut().prepare("SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?");
    let mut random = Random::new(4);
    let range = |_| {
        let first = random.below(ROWS - 100) as u32 + 1;
        client.borrow_mut().execution(statement, &[first, first + 99], &[]);
    };
    count_apart("range_of_100_prepared", 100, range, |_| client.borrow_mut().answer());
}

/// What changes rows. Purge runs in between, as it does beside a server's writers: they do its work only where it is behind.
fn changes(client: &RefCell<Client>, engine: &Arc<Engine>) {
    let statement = client.borrow_mut().prepare("UPDATE sbtest1 SET k=k+1 WHERE id=?");
    let mut random = Random::new(5);
    let execution = |_| client.borrow_mut().execution(statement, &[random.below(ROWS) as u32 + 1], &[]);
    count_apart("update_index_prepared", 1000, purged(engine, execution), |_| client.borrow_mut().answer());
    client.borrow().succeeded("update");

    let mut random = Random::new(6);
    let mut value = Random::new(7);
    let update = |_| {
        let sql = format!("UPDATE sbtest1 SET c='{}' WHERE id={:05}", text(&mut value, 10), random.below(ROWS) + 1);
        client.borrow_mut().text(&sql);
    };
    count_apart("update_non_index_text", 1000, purged(engine, update), |_| client.borrow_mut().answer());
    client.borrow().succeeded("update");

    let statement = client.borrow_mut().prepare("INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, ?, ?, ?)");
    let mut random = Random::new(8);
    let insert = |n| {
        let (c, pad) = (text(&mut random, 10), text(&mut random, 5));
        let numbers = [(ROWS + 1 + n) as u32, random.below(ROWS) as u32 + 1];
        client.borrow_mut().execution(statement, &numbers, &[&c, &pad]);
    };
    count_apart("insert_prepared", 1000, purged(engine, insert), |_| client.borrow_mut().answer());
    client.borrow().succeeded("insert");

    let statement = client.borrow_mut().prepare("SELECT c FROM sbtest1 WHERE id=? FOR UPDATE");
    let mut random = Random::new(9);
    let execution = |_| client.borrow_mut().execution(statement, &[random.below(ROWS) as u32 + 1], &[]);
    count_apart("select_for_update_prepared", 1000, execution, |_| client.borrow_mut().answer());
}

/// Has purge run now and then before what is prepared.
fn purged<'e>(engine: &'e Arc<Engine>, mut prepare: impl FnMut(u64) + 'e) -> impl FnMut(u64) + 'e {
    move |n| {
        if n % 64 == 0 {
            engine.purge_all();
        }
        prepare(n);
    }
}

fn transactions(client: &RefCell<Client>) {
    let text = |sql: &'static str| move |_| client.borrow_mut().text(sql);
    count_apart("begin_text", 1000, text("BEGIN"), |_| client.borrow_mut().answer());
    let commit = text("COMMIT");
    let begin = |n| {
        client.borrow_mut().run("BEGIN");
        commit(n);
    };
    count_apart("commit_empty_text", 1000, begin, |_| client.borrow_mut().answer());
}
