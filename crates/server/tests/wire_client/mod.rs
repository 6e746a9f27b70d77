//! A client that speaks the protocol packet by packet, so that a test can say each byte: plain or over TLS.

#![allow(dead_code)] // each user takes what it needs

use protocol::auth::{self, Challenge};
use protocol::compressed::{Algorithm, CompressedReader, CompressedWriter};
use protocol::{Capabilities, ErrReply, Greeting, HandshakeResponse, PacketWriter};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tls::rustls::pki_types::pem::PemObject;
use tls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, crypto};

pub trait Stream: Read + Write + Send {}
impl<S: Read + Write + Send> Stream for S {}

/// How to log in.
pub struct Wish<'a> {
    pub user: &'a str,
    pub password: &'a str,
    pub capabilities: Capabilities,
    pub tls: Option<Arc<ClientConfig>>,
    pub attributes: Vec<u8>,
    pub zstd_level: Option<u8>,
    /// Compression is agreed on, and the test makes the frames.
    pub by_hand: bool,
}

pub const BASE: Capabilities = Capabilities(
    Capabilities::PROTOCOL_41.bits()
        | Capabilities::SECURE_CONNECTION.bits()
        | Capabilities::PLUGIN_AUTH.bits()
        | Capabilities::TRANSACTIONS.bits()
        | Capabilities::MULTI_RESULTS.bits()
        | Capabilities::PS_MULTI_RESULTS.bits()
        | Capabilities::PLUGIN_AUTH_LENENC_DATA.bits(),
);

impl Default for Wish<'_> {
    fn default() -> Self {
        Self { user: "root", password: "", capabilities: BASE, tls: None, attributes: Vec::new(), zstd_level: None, by_hand: false }
    }
}

/// What a server answered instead of letting the client in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    Code(u16),
    Broken,
}

/// A TLS client that trusts one authority, and shows a certificate if there is one.
pub fn trusting(ca: &Path, own: Option<(&Path, &Path)>) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(ca).expect("a certificate")).expect("an authority");
    let builder = ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots);
    Arc::new(match own {
        None => builder.with_no_client_auth(),
        Some((cert, key)) => {
            let cert = CertificateDer::from_pem_file(cert).expect("a certificate");
            builder.with_client_auth_cert(vec![cert], PrivateKeyDer::from_pem_file(key).expect("a key")).expect("a pair")
        }
    })
}

/// Frames over another stream.
pub struct Compressed {
    pub below: Box<dyn Stream>,
    reader: CompressedReader,
    writer: CompressedWriter,
}

impl Compressed {
    pub fn new(algorithm: Algorithm, below: Box<dyn Stream>) -> Self {
        Self { below, reader: CompressedReader::new(algorithm, Vec::new()), writer: CompressedWriter::new(algorithm) }
    }
}

impl Read for Compressed {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let count = self.reader.take(room);
            if count > 0 {
                return Ok(count);
            }
            if !self.reader.decode().expect("a good frame") {
                let count = self.below.read(self.reader.room().expect("room"))?;
                if count == 0 {
                    return Ok(0);
                }
                self.reader.filled(count);
            }
        }
    }
}

impl Write for Compressed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // A packet with sequence id 0 begins a command, and so do its frames.
        let mut sequence = if bytes[3] == 0 { 0 } else { self.reader.reply_sequence() };
        let mut rest = bytes;
        while !rest.is_empty() {
            let (frame, count) = self.writer.frame(rest, sequence);
            self.below.write_all(frame)?;
            sequence = sequence.wrapping_add(1);
            rest = &rest[count..];
        }
        self.reader.set_sequence(sequence);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.below.flush()
    }
}

/// A connection.
pub struct Wire {
    pub stream: Box<dyn Stream>,
    pub sequence: u8,
    pub capabilities: Capabilities,
    /// What the server's last greeting offered.
    pub offered: Capabilities,
}

pub fn tcp(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(120))).expect("a timeout");
    stream.set_nodelay(true).expect("no delay");
    stream
}

impl Wire {
    pub fn connect(port: u16, wish: Wish<'_>) -> Result<Self, Refusal> {
        let mut wire = Self { stream: Box::new(tcp(port)), sequence: 0, capabilities: wish.capabilities, offered: Capabilities::empty() };
        let greeting = wire.read()?;
        if greeting[0] == 0xFF {
            return Err(Refusal::Code(u16::from_le_bytes([greeting[1], greeting[2]])));
        }
        let (challenge, offered) =
            Greeting::parse(&greeting).map(|greeting| (greeting.challenge, greeting.capabilities)).expect("a greeting");
        wire.offered = offered;
        if let Some(config) = wish.tls {
            wire.capabilities.insert(Capabilities::SSL);
            let mut request = wire.capabilities.bits().to_le_bytes().to_vec();
            request.extend_from_slice(&(1u32 << 24).to_le_bytes());
            request.push(255);
            request.resize(32, 0);
            wire.write(&request);
            let client = ClientConnection::new(config, ServerName::try_from("localhost").expect("a name")).expect("a client");
            // The socket is replaced by what encrypts it.
            let plain = std::mem::replace(&mut wire.stream, Box::new(std::io::Cursor::new(Vec::new())));
            wire.stream = Box::new(StreamOwned::new(client, plain));
        }
        let answer = auth::sha2_scramble(wish.password.as_bytes(), &challenge);
        let response = HandshakeResponse {
            capabilities: wire.capabilities,
            max_packet_bytes: 1 << 24,
            charset: 255,
            user: wish.user.as_bytes(),
            auth_response: &answer,
            database: None,
            auth_plugin: Some(auth::CACHING_SHA2_PASSWORD.as_bytes()),
            attributes: &wish.attributes,
            zstd_level: wish.zstd_level,
        };
        let mut out = PacketWriter::new();
        response.write(&mut out);
        wire.write(&out.bytes()[4..]);
        wire.finish_login(wish.password, &challenge)?;
        wire.capabilities = wire.capabilities.intersection(offered);
        let algorithm = if wire.capabilities.contains(Capabilities::COMPRESS) {
            Some(Algorithm::Zlib)
        } else {
            wire.capabilities.contains(Capabilities::ZSTD_COMPRESSION).then(|| Algorithm::Zstd(wish.zstd_level.unwrap_or(3)))
        };
        if let Some(algorithm) = algorithm
            && !wish.by_hand
        {
            let below = std::mem::replace(&mut wire.stream, Box::new(std::io::Cursor::new(Vec::new())));
            wire.stream = Box::new(Compressed::new(algorithm, below));
        }
        Ok(wire)
    }

    fn finish_login(&mut self, password: &str, _challenge: &Challenge) -> Result<(), Refusal> {
        loop {
            let packet = self.read()?;
            match packet.first() {
                Some(0) => return Ok(()),
                Some(1) if packet[1] == auth::PERFORM_FULL_AUTHENTICATION => {
                    let mut clear = password.as_bytes().to_vec();
                    clear.push(0);
                    self.write(&clear);
                }
                Some(1) => {}
                Some(0xFF) => return Err(Refusal::Code(u16::from_le_bytes([packet[1], packet[2]]))),
                other => panic!("unexpected in a login: {other:?}"),
            }
        }
    }

    pub fn write(&mut self, payload: &[u8]) {
        let mut out = PacketWriter::new();
        out.set_sequence(self.sequence);
        out.packet(payload);
        self.sequence = out.sequence();
        // A server that has hung up is found out by the read that follows.
        let _ = self.stream.write_all(out.bytes()).and_then(|()| self.stream.flush());
    }

    /// One packet.
    pub fn read(&mut self) -> Result<Vec<u8>, Refusal> {
        let mut whole = Vec::new();
        loop {
            let mut header = [0; 4];
            self.stream.read_exact(&mut header).map_err(|_| Refusal::Broken)?;
            let length = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
            assert_eq!(header[3], self.sequence, "sequence id of a reply");
            self.sequence = header[3].wrapping_add(1);
            let at = whole.len();
            whole.resize(at + length, 0);
            self.stream.read_exact(&mut whole[at..]).map_err(|_| Refusal::Broken)?;
            if length < 0xFF_FFFF {
                return Ok(whole);
            }
        }
    }

    /// Sends a command; what it answers is read packet by packet.
    pub fn command(&mut self, byte: u8, rest: &[u8]) {
        self.sequence = 0;
        let mut payload = vec![byte];
        payload.extend_from_slice(rest);
        self.write(&payload);
    }

    /// A statement's rows as text (NULL is `None`), or the error's number.
    pub fn query(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, u16> {
        let mut rest = Vec::new();
        if self.capabilities.contains(Capabilities::QUERY_ATTRIBUTES) {
            rest.extend_from_slice(&[0, 1]);
        }
        rest.extend_from_slice(sql.as_bytes());
        self.command(protocol::command::byte::QUERY, &rest);
        self.rows()
    }

    /// The rows of a text result.
    pub fn rows(&mut self) -> Result<Vec<Vec<Option<String>>>, u16> {
        let head = self.read().expect("a reply");
        match head[0] {
            0 => return Ok(Vec::new()),
            0xFF => return Err(ErrReply::parse(&head).expect("an error").code),
            _ => {}
        }
        let columns = usize::from(head[0]);
        for _ in 0..columns {
            self.read().expect("a column");
        }
        if !self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            assert_eq!(self.read().expect("the end of the columns")[0], 0xFE);
        }
        let mut rows = Vec::new();
        loop {
            let packet = self.read().expect("a row");
            match packet[0] {
                0xFE if packet.len() < 9 => return Ok(rows),
                0xFF => return Err(ErrReply::parse(&packet).expect("an error").code),
                _ => {}
            }
            let mut bytes = protocol::Bytes::new(&packet);
            let value = |bytes: Option<&[u8]>| bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            rows.push((0..columns).map(|_| value(bytes.lenenc_nullable().expect("a value"))).collect());
        }
    }

    /// The one value of a statement.
    pub fn value(&mut self, sql: &str) -> String {
        self.query(sql).unwrap_or_else(|code| panic!("{sql}: {code}")).remove(0).pop().flatten().unwrap_or_default()
    }
}
