//! One session, driven without a socket: a packet's payload in, the reply in the packet buffer out.

use catalog::Catalog;
use engine::{Engine, EngineConfig};
use env::{Disk, RealClock, RealDisk};
use protocol::command::byte;
use protocol::{Capabilities, Command, NoClient, PacketWriter};
use session::command::{ClientAddress, Login};
use session::connections::{Connection, Hangup};
use session::service::{Service, Session};
use session::{AccountStore, ClientSession, Shared, SqlService};
use std::path::Path;
use std::sync::Arc;

/// What the client can do.
pub const CAPABILITIES: Capabilities =
    Capabilities(Capabilities::PROTOCOL_41.bits() | Capabilities::TRANSACTIONS.bits() | Capabilities::DEPRECATE_EOF.bits());

/// Bytes of a packet's header.
const HEADER_BYTES: usize = 4;
/// Types of parameters and of columns that are told apart here.
const LONG: u8 = 0x03;
const LONGLONG: u8 = 0x08;
const VAR_STRING: u8 = 0xFD;

/// A client that is never asked.
struct Nobody;

impl Hangup for Nobody {
    fn hang_up(&self, _writes_too: bool) {}

    fn is_gone(&self) -> bool {
        false
    }
}

/// A parameter of an execution.
#[derive(Debug, Clone, Copy)]
pub enum Param<'a> {
    /// A whole number.
    Int(u64),
    /// A string, or a decimal as its text.
    Text(&'a str),
}

/// A session and the buffer that its replies go to.
pub struct Client {
    session: ClientSession,
    out: PacketWriter,
    payload: Vec<u8>,
}

impl Client {
    /// Answers the command whose payload was made last; what follows is in `self.out`.
    pub fn answer(&mut self) {
        self.out.clear();
        self.out.set_sequence(1);
        let command = Command::parse(&self.payload, CAPABILITIES).expect("a command");
        self.session.handle(command, &mut self.out, &mut NoClient::default());
    }

    /// Answers the command of this payload.
    pub fn command(&mut self, payload: &[u8]) {
        self.payload.clear();
        self.payload.extend_from_slice(payload);
        self.answer();
    }

    /// The next command is this text.
    pub fn text(&mut self, sql: &str) {
        self.payload.clear();
        self.payload.push(byte::QUERY);
        self.payload.extend_from_slice(sql.as_bytes());
    }

    /// Runs a statement that must succeed.
    pub fn run(&mut self, sql: &str) {
        self.text(sql);
        self.answer();
        self.succeeded(sql);
    }

    /// The last reply must not be an error.
    pub fn succeeded(&self, what: &str) {
        assert!(self.out.bytes()[HEADER_BYTES] != 0xFF, "{what}: {}", String::from_utf8_lossy(&self.out.bytes()[7..]));
    }

    /// Prepares a statement; its number.
    pub fn prepare(&mut self, sql: &str) -> u32 {
        self.payload.clear();
        self.payload.push(byte::STMT_PREPARE);
        self.payload.extend_from_slice(sql.as_bytes());
        self.answer();
        self.succeeded(sql);
        u32::from_le_bytes(self.out.bytes()[5..9].try_into().expect("four bytes"))
    }

    /// The next command is an execution with whole numbers (4 bytes each) and then strings.
    pub fn execution(&mut self, statement: u32, numbers: &[u32], strings: &[&str]) {
        self.execution_head(statement, numbers.len() + strings.len());
        numbers.iter().for_each(|_| self.payload.extend_from_slice(&[LONG, 0]));
        strings.iter().for_each(|_| self.payload.extend_from_slice(&[VAR_STRING, 0]));
        numbers.iter().for_each(|number| self.payload.extend_from_slice(&number.to_le_bytes()));
        strings.iter().for_each(|string| put_string(&mut self.payload, string));
    }

    /// The same with parameters in any order; whole numbers have 8 bytes.
    pub fn execution_of(&mut self, statement: u32, params: &[Param<'_>]) {
        self.execution_head(statement, params.len());
        for param in params {
            self.payload.extend_from_slice(&[if matches!(param, Param::Int(_)) { LONGLONG } else { VAR_STRING }, 0]);
        }
        for param in params {
            match param {
                Param::Int(number) => self.payload.extend_from_slice(&number.to_le_bytes()),
                Param::Text(string) => put_string(&mut self.payload, string),
            }
        }
    }

    fn execution_head(&mut self, statement: u32, params: usize) {
        self.payload.clear();
        self.payload.push(byte::STMT_EXECUTE);
        self.payload.extend_from_slice(&statement.to_le_bytes());
        self.payload.extend_from_slice(&[0, 1, 0, 0, 0]);
        self.payload.resize(self.payload.len() + params.div_ceil(8), 0);
        self.payload.push(1);
    }

    /// The rows of the last reply, which is an execution's; NULL is empty.
    pub fn rows(&self) -> Vec<Vec<String>> {
        let packets = packets(self.out.bytes());
        let columns = usize::from(packets[0][0]);
        // A definition ends with type (1), flags (2), decimals (1) and two bytes of nothing.
        let types: Vec<u8> = packets[1..=columns].iter().map(|definition| definition[definition.len() - 6]).collect();
        packets[1 + columns..].iter().take_while(|packet| packet[0] == 0).map(|row| values(row, &types)).collect()
    }
}

fn put_string(out: &mut Vec<u8>, string: &str) {
    match u8::try_from(string.len()) {
        Ok(length) if length <= 250 => out.push(length),
        _ => {
            out.push(0xFC);
            out.extend_from_slice(&u16::try_from(string.len()).expect("short").to_le_bytes());
        }
    }
    out.extend_from_slice(string.as_bytes());
}

fn packets(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    while let [a, b, c, _, rest @ ..] = bytes {
        let (packet, after) = rest.split_at(usize::from(*a) | usize::from(*b) << 8 | usize::from(*c) << 16);
        found.push(packet);
        bytes = after;
    }
    found
}

/// The values of a binary row.
fn values(row: &[u8], types: &[u8]) -> Vec<String> {
    let (nulls, mut rest) = row[1..].split_at((types.len() + 9) / 8);
    let mut take = |count: usize| {
        let (taken, after) = rest.split_at(count);
        rest = after;
        taken
    };
    let mut value = |(at, ty): (usize, &u8)| {
        if nulls[(at + 2) / 8] >> ((at + 2) % 8) & 1 == 1 {
            return String::new();
        }
        match *ty {
            LONG => i32::from_le_bytes(take(4).try_into().expect("four bytes")).to_string(),
            LONGLONG => i64::from_le_bytes(take(8).try_into().expect("eight bytes")).to_string(),
            // Strings and decimals, and dates, of which nobody here looks at the bytes.
            _ => {
                let length = match take(1)[0] {
                    0xFC => usize::from(u16::from_le_bytes(take(2).try_into().expect("two bytes"))),
                    length => usize::from(length),
                };
                String::from_utf8_lossy(take(length)).into_owned()
            }
        }
    };
    types.iter().enumerate().map(&mut value).collect()
}

/// An engine without background threads over `directory`, and a service over it.
pub fn open(directory: &Path) -> (Arc<Engine>, SqlService) {
    let mut config = EngineConfig::default();
    config.pool.frames = 4096;
    open_with(directory, config)
}

/// The same of an engine with other settings.
pub fn open_with(directory: &Path, config: EngineConfig) -> (Arc<Engine>, SqlService) {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(directory).expect("a directory"));
    let engine = Engine::open(disk, Arc::new(RealClock::new()), config).expect("an engine");
    let catalog = Catalog::open(&engine).expect("a catalogue");
    let service = {
        let accounts = AccountStore::open(&catalog).expect("accounts");
        SqlService::new(Shared::new(Arc::clone(&engine), catalog, accounts))
    };
    (engine, service)
}

/// A session of `root`.
pub fn connect(service: &SqlService) -> Client {
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
