//! A client connection: connect, log in, run statements.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use protocol::auth::{self, Challenge};
use protocol::codec::Bytes;
use protocol::command::byte;
use protocol::handshake::{AUTH_MORE_DATA_HEADER, AUTH_SWITCH_HEADER, Greeting, HandshakeResponse, parse_auth_switch, put_attribute};
use protocol::packet::PACKET_BYTES_LIMIT;
use protocol::reply::{EOF_HEADER, EOF_PAYLOAD_MAX, ERR_HEADER, ErrReply, INFILE_HEADER, OK_HEADER, OkReply};
use protocol::{Capabilities, ColumnDefinition, ColumnType, PacketReader, PacketWriter, ServerStatus};
use rsa::pkcs8::DecodePublicKey;

/// Where the server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Host and port.
    Tcp(String, u16),
    /// Unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// How to log in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Where.
    pub place: Place,
    /// User.
    pub user: String,
    /// Password, empty for none.
    pub password: String,
    /// Database.
    pub database: Option<String>,
    /// Send files that the server asks for.
    pub local_infile: bool,
}

/// What went wrong.
#[derive(Debug)]
pub enum ClientError {
    /// The server refused; the connection goes on.
    Server {
        /// Number.
        code: u16,
        /// SQLSTATE.
        sql_state: String,
        /// Text.
        message: String,
    },
    /// The connection is lost, or never was.
    Lost(String),
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server { code, sql_state, message } => write!(f, "ERROR {code} ({sql_state}): {message}"),
            Self::Lost(why) => write!(f, "ERROR 2013 (HY000): {why}"),
        }
    }
}

impl std::error::Error for ClientError {}

impl From<io::Error> for ClientError {
    fn from(error: io::Error) -> Self {
        Self::Lost(format!("lost connection to the server: {error}"))
    }
}

impl From<protocol::Malformed> for ClientError {
    fn from(_: protocol::Malformed) -> Self {
        Self::Lost("the server sent a malformed packet".to_owned())
    }
}

/// A result's column, as much as printing needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Printed to the right.
    pub is_number: bool,
    /// Holds bytes that are no text.
    pub is_binary: bool,
}

/// What one statement gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// No rows.
    Done {
        /// Rows changed.
        affected_rows: u64,
        /// Warnings.
        warnings: u32,
        /// Such as `Rows matched: 1  Changed: 1  Warnings: 0`.
        info: String,
    },
    /// Rows.
    Rows {
        /// Columns.
        columns: Vec<Column>,
        /// Values; `None` is NULL.
        rows: Vec<Vec<Option<Vec<u8>>>>,
        /// Warnings.
        warnings: u32,
    },
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// A connection to a server.
pub struct ClientConnection {
    stream: Box<dyn Stream>,
    reader: PacketReader,
    out: PacketWriter,
    capabilities: Capabilities,
    local_infile: bool,
    is_unix: bool,
    /// The server's version.
    pub server_version: String,
    /// The connection's id.
    pub id: u32,
}

const WANTED: Capabilities = Capabilities(
    Capabilities::LONG_PASSWORD.bits()
        | Capabilities::LONG_FLAG.bits()
        | Capabilities::PROTOCOL_41.bits()
        | Capabilities::INTERACTIVE.bits()
        | Capabilities::TRANSACTIONS.bits()
        | Capabilities::SECURE_CONNECTION.bits()
        | Capabilities::MULTI_STATEMENTS.bits()
        | Capabilities::MULTI_RESULTS.bits()
        | Capabilities::PLUGIN_AUTH.bits()
        | Capabilities::PLUGIN_AUTH_LENENC_DATA.bits()
        | Capabilities::CONNECT_ATTRS.bits()
        | Capabilities::DEPRECATE_EOF.bits(),
);

impl ClientConnection {
    /// Connects and logs in.
    pub fn connect(target: &Target) -> Result<Self, ClientError> {
        let cannot = |error: io::Error| ClientError::Lost(format!("cannot connect to {}: {error}", target.place));
        let (stream, is_unix): (Box<dyn Stream>, bool) = match &target.place {
            Place::Tcp(host, port) => {
                let stream = TcpStream::connect((host.as_str(), *port)).map_err(cannot)?;
                stream.set_nodelay(true).map_err(cannot)?;
                (Box::new(stream), false)
            }
            Place::Unix(path) => (Box::new(UnixStream::connect(path).map_err(cannot)?), true),
        };
        let mut connection = Self {
            stream,
            reader: PacketReader::new(),
            out: PacketWriter::new(),
            capabilities: WANTED,
            local_infile: target.local_infile,
            is_unix,
            server_version: String::new(),
            id: 0,
        };
        connection.log_in(target)?;
        Ok(connection)
    }

    fn log_in(&mut self, target: &Target) -> Result<(), ClientError> {
        let payload = self.receive()?;
        if payload.first() == Some(&ERR_HEADER) {
            return Err(server_error(&payload)?);
        }
        let greeting = Greeting::parse(&payload)?;
        self.server_version = String::from_utf8_lossy(greeting.server_version).into_owned();
        self.id = greeting.connection_id;
        let mut wanted = WANTED;
        wanted.set(Capabilities::CONNECT_WITH_DB, target.database.is_some());
        wanted.set(Capabilities::LOCAL_FILES, target.local_infile);
        self.capabilities = wanted.intersection(greeting.capabilities);
        let mut challenge = greeting.challenge;
        let mut plugin = match greeting.auth_plugin {
            name if name == auth::NATIVE_PASSWORD.as_bytes() => auth::NATIVE_PASSWORD,
            _ => auth::CACHING_SHA2_PASSWORD,
        };
        let mut attributes = Vec::new();
        put_attribute(&mut attributes, b"_client_name", b"altiplano");
        put_attribute(&mut attributes, b"program_name", b"altiplano sql");
        let answer = scramble(plugin, &target.password, &challenge);
        HandshakeResponse {
            capabilities: self.capabilities,
            max_packet_bytes: 1 << 30,
            charset: protocol::constants::CHARSET_UTF8MB4_0900_AI_CI,
            user: target.user.as_bytes(),
            auth_response: &answer,
            database: target.database.as_deref().map(str::as_bytes),
            auth_plugin: Some(plugin.as_bytes()),
            attributes: &attributes,
            zstd_level: None,
        }
        .write(&mut self.out);
        self.send()?;
        loop {
            let payload = self.receive()?;
            match payload.first() {
                Some(&OK_HEADER) => return Ok(()),
                Some(&ERR_HEADER) => return Err(server_error(&payload)?),
                Some(&AUTH_SWITCH_HEADER) => {
                    let (name, fresh) = parse_auth_switch(&payload)?;
                    challenge = fresh;
                    plugin = match name {
                        name if name == auth::NATIVE_PASSWORD.as_bytes() => auth::NATIVE_PASSWORD,
                        name if name == auth::CACHING_SHA2_PASSWORD.as_bytes() => auth::CACHING_SHA2_PASSWORD,
                        other => {
                            let other = String::from_utf8_lossy(other);
                            return Err(ClientError::Lost(format!("the server asks for authentication by {other}")));
                        }
                    };
                    self.out.packet(&scramble(plugin, &target.password, &challenge));
                    self.send()?;
                }
                Some(&AUTH_MORE_DATA_HEADER) => self.more_authentication(&payload[1..], &target.password, &challenge)?,
                _ => return Err(protocol::Malformed.into()),
            }
        }
    }

    /// caching_sha2_password beyond the first answer.
    fn more_authentication(&mut self, data: &[u8], password: &str, challenge: &Challenge) -> Result<(), ClientError> {
        match data {
            [auth::FAST_AUTH_SUCCESS] => return Ok(()),
            [auth::PERFORM_FULL_AUTHENTICATION] => {}
            _ => return Err(protocol::Malformed.into()),
        }
        let mut secret = password.as_bytes().to_vec();
        secret.push(0);
        if !self.is_unix {
            self.out.packet(&[auth::REQUEST_PUBLIC_KEY]);
            self.send()?;
            let payload = self.receive()?;
            let [AUTH_MORE_DATA_HEADER, pem @ ..] = payload.as_slice() else { return Err(protocol::Malformed.into()) };
            auth::xor_with_challenge(&mut secret, challenge);
            let broken = || ClientError::Lost("the server's public key cannot be used".to_owned());
            let key = std::str::from_utf8(pem).ok().and_then(|pem| rsa::RsaPublicKey::from_public_key_pem(pem).ok()).ok_or_else(broken)?;
            secret = key.encrypt(&mut rsa::rand_core::OsRng, rsa::Oaep::new::<sha1::Sha1>(), &secret).map_err(|_| broken())?;
        }
        self.out.packet(&secret);
        self.send()
    }

    /// Runs statement text; one outcome for each statement in it, as far as they succeed. `each` gets them one by one.
    ///
    /// A file that cannot be sent is an error, too, but only of its own statement: the server carries out those behind it, and their outcomes
    /// are read before it is told.
    pub fn query(&mut self, sql: &[u8], mut each: impl FnMut(Outcome)) -> Result<(), ClientError> {
        self.command(byte::QUERY, sql)?;
        let mut unsent: Option<ClientError> = None;
        loop {
            let mut is_unsent = false;
            let mut payload = self.receive()?;
            if let Some((&INFILE_HEADER, name)) = payload.split_first() {
                let complaint = self.upload(name)?;
                is_unsent = complaint.is_some();
                unsent = unsent.or(complaint);
                payload = self.receive()?;
            }
            let (outcome, status) = match payload.first() {
                Some(&ERR_HEADER) => {
                    let error = server_error(&payload)?;
                    return Err(unsent.unwrap_or(error));
                }
                Some(&OK_HEADER) => self.done(&payload)?,
                Some(_) => self.rows(&payload)?,
                None => return Err(protocol::Malformed.into()),
            };
            // The server's own reply to an empty file is overtaken by the reason for it.
            if !is_unsent {
                each(outcome);
            }
            if !status.contains(ServerStatus::MORE_RESULTS_EXISTS) {
                return unsent.map_or(Ok(()), Err);
            }
        }
    }

    /// Whether the server answers.
    pub fn ping(&mut self) -> Result<(), ClientError> {
        self.command(byte::PING, b"")?;
        let payload = self.receive()?;
        if payload.first() == Some(&OK_HEADER) { Ok(()) } else { Err(server_error(&payload)?) }
    }

    /// Says goodbye.
    pub fn quit(mut self) {
        // A server that has gone already needs no goodbye.
        let _ = self.command(byte::QUIT, b"");
    }

    fn done(&self, payload: &[u8]) -> Result<(Outcome, ServerStatus), ClientError> {
        let ok = OkReply::parse(payload, self.capabilities)?;
        let info = String::from_utf8_lossy(ok.info).into_owned();
        Ok((Outcome::Done { affected_rows: ok.affected_rows, warnings: ok.warnings, info }, ok.status))
    }

    fn rows(&mut self, payload: &[u8]) -> Result<(Outcome, ServerStatus), ClientError> {
        let count = usize::try_from(Bytes::new(payload).lenenc_int()?).map_err(|_| protocol::Malformed)?;
        let mut columns = Vec::new();
        for _ in 0..count {
            let payload = self.receive()?;
            let column = ColumnDefinition::parse(&payload)?;
            let binary = column.charset == protocol::constants::CHARSET_BINARY;
            let is_binary = binary
                && matches!(
                    column.column_type,
                    ColumnType::Blob | ColumnType::String | ColumnType::VarString | ColumnType::Bit | ColumnType::Geometry
                );
            columns.push(Column {
                name: String::from_utf8_lossy(column.name).into_owned(),
                is_number: column.column_type.is_number(),
                is_binary,
            });
        }
        let old = !self.capabilities.contains(Capabilities::DEPRECATE_EOF);
        if old {
            self.receive()?;
        }
        let mut rows = Vec::new();
        loop {
            let payload = self.receive()?;
            match payload.first() {
                Some(&ERR_HEADER) => return Err(server_error(&payload)?),
                Some(&EOF_HEADER) if old && payload.len() < EOF_PAYLOAD_MAX => {
                    let mut bytes = Bytes::new(&payload[1..]);
                    let warnings = u32::from(bytes.u16()?);
                    let status = ServerStatus(bytes.u16()?);
                    return Ok((Outcome::Rows { columns, rows, warnings }, status));
                }
                Some(&EOF_HEADER) if !old && payload.len() < protocol::packet::FRAME_PAYLOAD_MAX => {
                    let ok = OkReply::parse(&payload, self.capabilities)?;
                    return Ok((Outcome::Rows { columns, rows, warnings: ok.warnings }, ok.status));
                }
                _ => {}
            }
            let mut bytes = Bytes::new(&payload);
            let mut row = Vec::with_capacity(count.min(payload.len()));
            for _ in 0..count {
                row.push(bytes.lenenc_nullable()?.map(<[u8]>::to_vec));
            }
            rows.push(row);
        }
    }

    /// Sends a file, or nothing when that is not allowed or the file cannot be read, and why. The server's reply follows.
    fn upload(&mut self, name: &[u8]) -> Result<Option<ClientError>, ClientError> {
        let complaint = if self.local_infile {
            let path = Path::new(OsStr::from_bytes(name));
            self.send_file(path)?.map(|error| format!("{}: {error}", path.display()))
        } else {
            Some("LOAD DATA LOCAL is off; start the client with --local-infile".to_owned())
        };
        self.out.packet(b"");
        self.send()?;
        Ok(complaint.map(|message| ClientError::Server { code: 2068, sql_state: "HY000".to_owned(), message }))
    }

    /// Sends what a file holds; why it could not be read.
    fn send_file(&mut self, path: &Path) -> Result<Option<io::Error>, ClientError> {
        let mut file = match std::fs::File::open(path) {
            Ok(file) => file,
            Err(error) => return Ok(Some(error)),
        };
        let mut piece = vec![0; 1 << 20];
        loop {
            match file.read(&mut piece) {
                Ok(0) => return Ok(None),
                Ok(count) => {
                    self.out.packet(&piece[..count]);
                    self.send()?;
                }
                Err(error) => return Ok(Some(error)),
            }
        }
    }

    fn command(&mut self, command: u8, argument: &[u8]) -> Result<(), ClientError> {
        self.out.set_sequence(0);
        let payload = self.out.begin();
        payload.push(command);
        payload.extend_from_slice(argument);
        self.out.end();
        self.send()
    }

    /// Sends what was written; the reply's sequence ids follow.
    fn send(&mut self) -> Result<(), ClientError> {
        self.stream.write_all(self.out.bytes())?;
        self.out.clear();
        self.reader.expect_sequence(self.out.sequence());
        Ok(())
    }

    fn receive(&mut self) -> Result<Vec<u8>, ClientError> {
        loop {
            match self.reader.next(PACKET_BYTES_LIMIT) {
                Ok(Some(place)) => {
                    self.out.set_sequence(place.reply_sequence());
                    return Ok(self.reader.payload(&place).to_vec());
                }
                Ok(None) => {}
                Err(_) => return Err(ClientError::Lost("the server's packets are out of order".to_owned())),
            }
            let count = self.stream.read(self.reader.room())?;
            if count == 0 {
                return Err(ClientError::Lost("lost connection to the server".to_owned()));
            }
            self.reader.filled(count);
        }
    }
}

fn scramble(plugin: &str, password: &str, challenge: &Challenge) -> Vec<u8> {
    if plugin == auth::NATIVE_PASSWORD {
        auth::native_scramble(password.as_bytes(), challenge)
    } else {
        auth::sha2_scramble(password.as_bytes(), challenge)
    }
}

fn server_error(payload: &[u8]) -> Result<ClientError, ClientError> {
    let error = ErrReply::parse(payload)?;
    Ok(ClientError::Server {
        code: error.code,
        sql_state: String::from_utf8_lossy(&error.sql_state).into_owned(),
        message: String::from_utf8_lossy(error.message).into_owned(),
    })
}
