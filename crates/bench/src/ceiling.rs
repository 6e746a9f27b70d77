//! The ceiling: a server that speaks the protocol and answers each statement at once with what it has ready, a thread for each connection.
//! What a client reaches against it is what the client, the kernel and threads allow; a real server is measured by how near it comes.
//!
//! | statement | answer |
//! |---|---|
//! | `SELECT VERSION()…` | the version, with [`VERSION`] in it |
//! | another `SELECT`, as text or prepared | one row with one string of 119 bytes, as sysbench's `c` |
//! | `LOAD DATA LOCAL …` | takes the file |
//! | anything else | OK |
//!
//! With `--durable` what changes something (`INSERT`, `UPDATE`, `DELETE`, `REPLACE`, `COMMIT`) is answered once a block has been written and synced: what commits can reach at most, of one connection. It knows of no
//! transactions, and each connection writes for itself.
//!
//! # Invariants
//! 1. Everybody is let in, whatever the password.
//! 2. Nothing is allocated for a statement but at the connection's first; no answer is longer than a packet.
//!
//! # Not here
//! SQL: a statement is known by its first word. Cursors, compression, TLS.

use crate::endpoint::Endpoint;
use crate::options::CeilingOptions;
use crate::session;
use env::{AlignedBuf, DIRECT_ALIGN, Disk, File, FileKind, OpenMode, RealDisk};
use protocol::auth::{self, Challenge};
use protocol::command::byte;
use protocol::handshake::write_auth_more_data;
use protocol::packet::HEADER_BYTES;
use protocol::reply::{ErrReply, PrepareReply, write_eof, write_infile_request};
use protocol::{Capabilities, ColumnDefinition, ColumnType, Greeting, HandshakeResponse, OkReply, PacketWriter, ServerStatus};
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What the version holds.
pub const VERSION: &str = "ceiling";
const VALUE: [u8; 119] = [b'x'; 119];
const STACK_BYTES: usize = 256 << 10;
const BUFFER_BYTES: usize = 64 << 10;
/// Longest packet that is taken.
const PACKET_BYTES_MAX: usize = 64 << 20;
/// Statements that a connection may prepare; numbers go round.
const STATEMENTS_MAX: usize = 65_536;
/// Blocks of the file that is written round and round.
const BLOCKS: u64 = 4096;
/// What changes something, by its first word.
const CHANGES: [&[u8]; 5] = [b"UPDATE", b"INSERT", b"DELETE", b"REPLACE", b"COMMIT"];

/// Serves until the process ends.
pub fn serve(options: &CeilingOptions) -> Result<(), String> {
    let durable = options.durable.as_deref().map(Durable::open).transpose()?;
    let listener = listen(options)?;
    match &options.durable {
        None => eprintln!("listening on {listener}; every statement is answered at once"),
        Some(directory) => eprintln!("listening on {listener}; changes are answered once a block is durable in {}", directory.display()),
    }
    accept(&listener, durable, || ());
    Ok(())
}

/// A file, of which a block is made durable before a change is answered.
#[derive(Clone)]
pub struct Durable(Arc<Blocks>);

struct Blocks {
    /// Holds the directory's lock.
    _disk: Arc<dyn Disk>,
    file: Arc<dyn File>,
    block: AlignedBuf,
    next: AtomicU64,
}

impl Durable {
    /// The file `ceiling` in this directory, which is made when absent; no other process may use it at once.
    pub fn open(directory: &Path) -> Result<Durable, String> {
        let failed = |why: &dyn fmt::Display| format!("cannot write in {}: {why}", directory.display());
        let disk = RealDisk::open(directory).map_err(|e| failed(&e))?;
        Durable::on(Arc::new(disk)).map_err(|e| failed(&e))
    }

    /// The same file on a disk.
    pub fn on(disk: Arc<dyn Disk>) -> io::Result<Durable> {
        let file = disk.open("ceiling", OpenMode::Create, FileKind::Direct)?;
        let blocks = Blocks { _disk: disk, file, block: AlignedBuf::padded_copy(&[7; DIRECT_ALIGN]), next: AtomicU64::new(0) };
        // What is written later has its place on the disk, as a log has.
        (0..BLOCKS).try_for_each(|_| blocks.write()).and_then(|()| blocks.file.sync())?;
        Ok(Durable(Arc::new(blocks)))
    }

    fn commit(&self) -> io::Result<()> {
        self.0.write()?;
        self.0.file.sync()
    }
}

impl Blocks {
    fn write(&self) -> io::Result<()> {
        // Relaxed: who writes which block does not matter.
        let at = self.next.fetch_add(1, Ordering::Relaxed) % BLOCKS;
        self.file.write_at(&self.block, at * DIRECT_ALIGN as u64)
    }
}

/// How a statement is answered.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Row,
    Change,
    Other,
}

impl Kind {
    fn of(text: &[u8]) -> Kind {
        match text {
            text if is_word(text, b"SELECT") => Kind::Row,
            text if CHANGES.iter().any(|word| is_word(text, word)) => Kind::Change,
            _ => Kind::Other,
        }
    }
}

/// What it listens with.
pub enum Listener {
    /// At an address and port.
    Tcp(TcpListener),
    /// At a unix socket, with its path.
    Unix(UnixListener, PathBuf),
}

impl Listener {
    /// The port, where there is one.
    pub fn port(&self) -> Option<u16> {
        match self {
            Listener::Tcp(listener) => listener.local_addr().ok().map(|address| address.port()),
            Listener::Unix(..) => None,
        }
    }
}

impl fmt::Display for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Listener::Tcp(listener) => listener.local_addr().map_err(|_| fmt::Error)?.fmt(f),
            Listener::Unix(_, path) => path.display().fmt(f),
        }
    }
}

/// The listener alone.
pub fn listen(options: &CeilingOptions) -> Result<Listener, String> {
    let failed = |e: io::Error| format!("cannot listen at {}: {e}", options.listen);
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for endpoint in options.listen.resolve()? {
        match endpoint {
            Endpoint::Tcp(address) => addresses.push(address),
            Endpoint::Unix(_) => {
                let path = PathBuf::from(options.listen.to_string());
                return env::outside::bind_unix(&path).map(|listener| Listener::Unix(listener, path)).map_err(failed);
            }
        }
    }
    TcpListener::bind(addresses.as_slice()).map(Listener::Tcp).map_err(failed)
}

/// Takes connections, a thread for each, for as long as the process lives; `before` is called before each answer, so that tests can hold it. With `durable` a change is durable before it is answered.
pub fn accept(listener: &Listener, durable: Option<Durable>, before: impl Fn() + Clone + Send + 'static) {
    let ids = AtomicU32::new(1);
    loop {
        // Out of files or memory: those who are there go on.
        match listener {
            Listener::Tcp(listener) => {
                let Ok((stream, _)) = listener.accept() else { continue };
                let _ = stream.set_nodelay(true);
                serve_one(stream, ids.fetch_add(1, Ordering::Relaxed), durable.clone(), before.clone());
            }
            Listener::Unix(listener, _) => {
                let Ok((stream, _)) = listener.accept() else { continue };
                serve_one(stream, ids.fetch_add(1, Ordering::Relaxed), durable.clone(), before.clone());
            }
        }
    }
}

fn serve_one(stream: impl Read + Write + Send + 'static, id: u32, durable: Option<Durable>, before: impl Fn() + Send + 'static) {
    // A connection whose thread cannot be made is closed; a client that goes away, or talks nonsense, ends its connection only.
    let _ = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || drop(Connection::new(stream, durable).serve(id, before)));
}

/// One connection.
struct Connection<S> {
    stream: S,
    buffer: Vec<u8>,
    /// Of the buffer: received and not taken.
    begin: usize,
    end: usize,
    out: PacketWriter,
    answers: Answers,
    durable: Option<Durable>,
    /// Of each prepared statement.
    kinds: Vec<Kind>,
    next: usize,
}

/// Ready bytes.
#[derive(Default)]
struct Answers {
    ok: Vec<u8>,
    text_row: Vec<u8>,
    binary_row: Vec<u8>,
    capabilities: Capabilities,
}

type Served = Result<(), Ended>;

/// The connection has ended.
struct Ended;

impl From<std::io::Error> for Ended {
    fn from(_: std::io::Error) -> Ended {
        Ended
    }
}

impl From<protocol::Malformed> for Ended {
    fn from(_: protocol::Malformed) -> Ended {
        Ended
    }
}

fn column() -> ColumnDefinition<'static> {
    let mut column = ColumnDefinition::expression(b"c", ColumnType::String);
    (column.schema, column.table, column.org_table, column.org_name) = (b"sbtest", b"sbtest1", b"sbtest1", b"c");
    column
}

fn payload(out: &mut PacketWriter, write: impl FnOnce(&mut Vec<u8>)) {
    write(out.begin());
    out.end();
}

fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    protocol::codec::put_lenenc_bytes(out, text);
}

impl Answers {
    fn new(capabilities: Capabilities) -> Answers {
        let mut answers = Answers { capabilities, ..Answers::default() };
        let mut out = PacketWriter::new();
        out.set_sequence(1);
        answers.finish(false, &mut out);
        answers.ok = out.bytes().to_vec();
        answers.text_row = answers.row(&[&VALUE], false);
        answers.binary_row = answers.row(&[&VALUE], true);
        answers
    }

    fn finish(&self, rows: bool, out: &mut PacketWriter) {
        let ok = OkReply { affected_rows: u64::from(!rows), status: ServerStatus::AUTOCOMMIT, ..OkReply::default() };
        if rows { ok.write_end_of_rows(self.capabilities, out) } else { ok.write(self.capabilities, out) }
    }

    fn ends(&self, out: &mut PacketWriter) {
        if !self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            write_eof(ServerStatus::AUTOCOMMIT, 0, out);
        }
    }

    /// A whole result of one row.
    fn row(&self, values: &[&[u8]], binary: bool) -> Vec<u8> {
        let mut out = PacketWriter::new();
        out.set_sequence(1);
        payload(&mut out, |bytes| bytes.push(values.len() as u8));
        values.iter().for_each(|_| column().write(&mut out));
        self.ends(&mut out);
        payload(&mut out, |bytes| {
            if binary {
                // The row's header, and no NULLs.
                bytes.extend_from_slice(&[0, 0]);
            }
            values.iter().for_each(|value| put_text(bytes, value));
        });
        self.finish(true, &mut out);
        out.bytes().to_vec()
    }
}

fn is_word(text: &[u8], word: &[u8]) -> bool {
    text.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word))
}

impl<S: Read + Write> Connection<S> {
    fn new(stream: S, durable: Option<Durable>) -> Connection<S> {
        Connection {
            stream,
            buffer: vec![0; BUFFER_BYTES],
            begin: 0,
            end: 0,
            out: PacketWriter::new(),
            answers: Answers::default(),
            durable,
            kinds: Vec::new(),
            next: 0,
        }
    }

    /// The next packet: its sequence number, and where its payload lies in the buffer.
    fn packet(&mut self) -> Result<(u8, std::ops::Range<usize>), Ended> {
        loop {
            if let [a, b, c, sequence, ..] = self.buffer[self.begin..self.end] {
                let length = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
                let start = self.begin + HEADER_BYTES;
                if self.end - start >= length {
                    self.begin = start + length;
                    return Ok((sequence, start..start + length));
                }
                if HEADER_BYTES + length > PACKET_BYTES_MAX {
                    return Err(Ended);
                }
                if HEADER_BYTES + length > self.buffer.len() {
                    self.buffer.try_reserve(HEADER_BYTES + length - self.buffer.len()).map_err(|_| Ended)?;
                    self.buffer.resize(HEADER_BYTES + length, 0);
                }
            }
            self.buffer.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
            match self.stream.read(&mut self.buffer[self.end..])? {
                0 => return Err(Ended),
                count => self.end += count,
            }
        }
    }

    fn send(&mut self) -> Served {
        self.stream.write_all(self.out.bytes())?;
        self.out.clear();
        Ok(())
    }

    fn serve(&mut self, id: u32, before: impl Fn()) -> Served {
        self.let_in(id)?;
        loop {
            let (_, at) = self.packet()?;
            let Some((&command, rest)) = self.buffer[at.clone()].split_first() else { return Err(Ended) };
            before();
            match command {
                byte::STMT_EXECUTE => {
                    let number = rest.first_chunk::<4>().map_or(0, |id| u32::from_le_bytes(*id)) as usize;
                    let kind = self.kinds.get(number.wrapping_sub(1)).copied().unwrap_or(Kind::Other);
                    self.answer(kind, true)?;
                }
                byte::QUERY if is_word(rest, b"SELECT VERSION()") => {
                    let version = format!("8.0.40-{VERSION}");
                    let answer = self.answers.row(&[version.as_bytes(), b"canned answers"], false);
                    self.stream.write_all(&answer)?;
                }
                byte::QUERY if is_word(rest, b"LOAD DATA LOCAL") => self.take_file()?,
                byte::QUERY => self.answer(Kind::of(rest), false)?,
                byte::STMT_PREPARE => {
                    let (kind, parameters) = (Kind::of(rest), rest.iter().filter(|b| **b == b'?').count());
                    self.prepare(kind, parameters)?;
                }
                byte::QUIT => return Ok(()),
                // These have no answer.
                byte::STMT_CLOSE | byte::STMT_SEND_LONG_DATA => {}
                _ => self.stream.write_all(&self.answers.ok)?,
            }
        }
    }

    fn let_in(&mut self, id: u32) -> Served {
        let challenge: Challenge = auth::challenge_from_random([b'a' + (id % 26) as u8; auth::CHALLENGE_BYTES]);
        Greeting {
            server_version: format!("8.0.40-{VERSION}").as_bytes(),
            connection_id: id,
            challenge,
            capabilities: session::WANTED,
            charset: protocol::constants::CHARSET_UTF8MB4_0900_AI_CI as u8,
            status: ServerStatus::AUTOCOMMIT,
            // What every client knows, old and new; who does not answers with what it knows.
            auth_plugin: auth::NATIVE_PASSWORD.as_bytes(),
        }
        .write(&mut self.out);
        self.send()?;
        let (sequence, at) = self.packet()?;
        self.out.set_sequence(sequence.wrapping_add(1));
        let packet = &self.buffer[at];
        if protocol::handshake::is_ssl_request(packet) {
            ErrReply { code: 1043, sql_state: *b"08S01", message: b"No TLS here" }.write(&mut self.out);
            self.send()?;
            return Err(Ended);
        }
        let response = HandshakeResponse::parse(packet, session::WANTED)?;
        let sha2 = response.auth_plugin == Some(auth::CACHING_SHA2_PASSWORD.as_bytes());
        self.answers = Answers::new(response.capabilities.intersection(session::WANTED));
        if sha2 {
            write_auth_more_data(&[auth::FAST_AUTH_SUCCESS], &mut self.out);
        }
        self.answers.finish(false, &mut self.out);
        self.send()
    }

    fn answer(&mut self, kind: Kind, binary: bool) -> Served {
        if kind == Kind::Change
            && let Some(durable) = &self.durable
            && let Err(error) = durable.commit()
        {
            self.out.set_sequence(1);
            let message = format!("Error writing file 'ceiling' ({error})");
            ErrReply { code: 1026, sql_state: *b"HY000", message: message.as_bytes() }.write(&mut self.out);
            return self.send();
        }
        let answer = match kind {
            Kind::Row if binary => &self.answers.binary_row,
            Kind::Row => &self.answers.text_row,
            Kind::Change | Kind::Other => &self.answers.ok,
        };
        Ok(self.stream.write_all(answer)?)
    }

    fn prepare(&mut self, kind: Kind, parameters: usize) -> Served {
        let number = self.next % STATEMENTS_MAX;
        self.next += 1;
        if number == self.kinds.len() {
            self.kinds.push(kind);
        } else {
            self.kinds[number] = kind;
        }
        let is_select = kind == Kind::Row;
        let param_count = parameters.min(usize::from(u16::MAX)) as u16;
        self.out.set_sequence(1);
        PrepareReply { statement_id: number as u32 + 1, column_count: u16::from(is_select), param_count, warnings: 0 }.write(&mut self.out);
        if param_count > 0 {
            (0..param_count).for_each(|_| column().write(&mut self.out));
            self.answers.ends(&mut self.out);
        }
        if is_select {
            column().write(&mut self.out);
            self.answers.ends(&mut self.out);
        }
        self.send()
    }

    /// Takes the packets of a file, up to the empty one.
    fn take_file(&mut self) -> Served {
        self.out.set_sequence(1);
        write_infile_request(b"any", &mut self.out);
        self.send()?;
        loop {
            let (sequence, at) = self.packet()?;
            if at.is_empty() {
                self.out.set_sequence(sequence.wrapping_add(1));
                self.answers.finish(false, &mut self.out);
                return self.send();
            }
        }
    }
}
