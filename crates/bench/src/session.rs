//! What a connection's task can do: log in, run statements as text or prepared, look at what came back.

use crate::link::Link;
use crate::reply::{Reply, ServerError, is_ok};
use protocol::auth::{self, Challenge};
use protocol::codec::put_lenenc_bytes;
use protocol::command::byte;
use protocol::handshake::{AUTH_MORE_DATA_HEADER, AUTH_SWITCH_HEADER, Greeting, HandshakeResponse, parse_auth_switch};
use protocol::packet::HEADER_BYTES;
use protocol::reply::{ERR_HEADER, ErrReply};
use protocol::{Capabilities, ColumnType, PacketWriter};
use rsa::pkcs8::DecodePublicKey;
use std::cell::Ref;
use std::fmt;
use std::fmt::Write;
use std::rc::Rc;

/// Why a statement has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The server answered an error; the connection goes on.
    Server(ServerError),
    /// The connection is gone.
    Lost(String),
    /// The answer is not what it must be.
    Wrong(String),
    /// What the transaction has locked is newer than its snapshot: it is taken back and tried again.
    Stale,
    /// Work was paused while the transaction waited for what others were to do: it counts as nothing.
    Ended,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Server(error) => write!(f, "error {}: {}", error.code, error.message),
            Failure::Lost(why) | Failure::Wrong(why) => f.write_str(why),
            Failure::Stale => f.write_str("what was locked is newer than the snapshot"),
            Failure::Ended => f.write_str("the run has ended"),
        }
    }
}

/// Result of a statement or a transaction.
pub type Done = Result<(), Failure>;

/// Who logs in, and how statements are sent.
#[derive(Debug, Clone)]
pub struct Account {
    /// User.
    pub user: String,
    /// Password, empty for none.
    pub password: String,
    /// Database, empty for none.
    pub database: String,
}

/// A statement with `?` for its parameters.
#[derive(Debug, Clone)]
pub struct Statement {
    text: String,
    /// The text between the question marks.
    pieces: Vec<String>,
    /// Goes as text always: BEGIN cannot be prepared in MySQL (1295).
    as_text: bool,
}

impl Statement {
    /// Of a text without literals that hold `?`.
    pub fn new(text: impl Into<String>) -> Statement {
        let text = text.into();
        let as_text = ["BEGIN", "COMMIT", "ROLLBACK"].contains(&text.as_str()) || text.starts_with("START TRANSACTION");
        Statement { pieces: text.split('?').map(str::to_owned).collect(), text, as_text }
    }
}

/// A parameter.
#[derive(Debug, Clone, Copy)]
pub enum Param<'a> {
    /// Whole number.
    Int(i64),
    /// String without quotes or backslashes in it.
    Text(&'a str),
    /// A decimal as text.
    Decimal(&'a str),
}

impl From<u64> for Param<'_> {
    fn from(n: u64) -> Self {
        Param::Int(n as i64)
    }
}

impl From<i64> for Param<'_> {
    fn from(n: i64) -> Self {
        Param::Int(n)
    }
}

/// What this client asks of a server, and what the canned one offers.
pub(crate) const WANTED: Capabilities = Capabilities(
    Capabilities::LONG_PASSWORD.bits()
        | Capabilities::LONG_FLAG.bits()
        | Capabilities::PROTOCOL_41.bits()
        | Capabilities::CONNECT_WITH_DB.bits()
        | Capabilities::TRANSACTIONS.bits()
        | Capabilities::SECURE_CONNECTION.bits()
        | Capabilities::PLUGIN_AUTH.bits()
        | Capabilities::PLUGIN_AUTH_LENENC_DATA.bits()
        | Capabilities::LOCAL_FILES.bits()
        | Capabilities::DEPRECATE_EOF.bits(),
);

/// A connection that is logged in.
pub struct Session {
    link: Rc<Link>,
    /// Numbers of the prepared statements, by the workload's; 0 where it was not prepared yet.
    prepared: Vec<u32>,
    /// Statements are prepared, each at its first use.
    binary: bool,
}

impl Session {
    /// Logs in on a link that has begun to connect.
    pub async fn log_in(link: Rc<Link>, account: &Account, binary: bool) -> Result<Session, Failure> {
        link.done().await.map_err(Failure::Lost)?;
        let greeting = link.reply().packet.clone();
        refused(&greeting)?;
        let malformed = |_| Failure::Lost("the server's greeting is malformed".to_owned());
        let greeting = Greeting::parse(&greeting).map_err(malformed)?;
        let mut capabilities = WANTED.intersection(greeting.capabilities);
        capabilities.set(Capabilities::CONNECT_WITH_DB, !account.database.is_empty());
        link.reply_mut().eof_packets = !capabilities.contains(Capabilities::DEPRECATE_EOF);
        let mut plugin = known_plugin(greeting.auth_plugin).unwrap_or(auth::CACHING_SHA2_PASSWORD);
        let mut challenge = greeting.challenge;
        let mut writer = PacketWriter::new();
        HandshakeResponse {
            capabilities,
            max_packet_bytes: 1 << 24,
            charset: protocol::constants::CHARSET_UTF8MB4_0900_AI_CI,
            user: account.user.as_bytes(),
            auth_response: &scramble(plugin, &account.password, &challenge),
            database: Some(account.database.as_bytes()).filter(|name| !name.is_empty()),
            auth_plugin: Some(plugin.as_bytes()),
            attributes: b"",
            zstd_level: None,
        }
        .write(&mut writer);
        let mut answer = Some(writer.bytes()[HEADER_BYTES..].to_vec());
        loop {
            let sequence = link.reply().sequence.wrapping_add(1);
            link.reply_mut().expect_packet();
            if let Some(answer) = answer.take() {
                link.send(sequence, |out| out.extend_from_slice(&answer));
            }
            link.done().await.map_err(Failure::Lost)?;
            let packet = link.reply().packet.clone();
            refused(&packet)?;
            match packet.as_slice() {
                packet if is_ok(packet) => return Ok(Session { link, prepared: Vec::new(), binary }),
                [AUTH_SWITCH_HEADER, ..] => {
                    let (name, fresh) = parse_auth_switch(&packet).map_err(malformed)?;
                    plugin = known_plugin(name).ok_or_else(|| {
                        Failure::Lost(format!("no such user, or one of {}, which is not known here", String::from_utf8_lossy(name)))
                    })?;
                    challenge = fresh;
                    answer = Some(scramble(plugin, &account.password, &challenge));
                }
                [AUTH_MORE_DATA_HEADER, auth::FAST_AUTH_SUCCESS] => {}
                [AUTH_MORE_DATA_HEADER, auth::PERFORM_FULL_AUTHENTICATION] if link.is_private() => {
                    answer = Some([account.password.as_bytes(), b"\0"].concat());
                }
                [AUTH_MORE_DATA_HEADER, auth::PERFORM_FULL_AUTHENTICATION] => answer = Some(vec![auth::REQUEST_PUBLIC_KEY]),
                [AUTH_MORE_DATA_HEADER, pem @ ..] => answer = Some(encrypt(pem, &account.password, &challenge)?),
                _ => return Err(Failure::Lost("the login was answered by an unknown packet".to_owned())),
            }
        }
    }

    async fn finish(&self) -> Done {
        self.link.done().await.map_err(Failure::Lost)?;
        let reply = self.link.reply();
        match &reply.error {
            None if reply.infile => Err(Failure::Lost("the server asks for a file".to_owned())),
            None => Ok(()),
            Some(error) => Err(Failure::Server(error.clone())),
        }
    }

    /// Runs a LOAD DATA LOCAL INFILE, and streams what `rows` appends, piece by piece, until it says that there are no more.
    pub async fn load(&mut self, sql: &str, mut rows: impl FnMut(&mut Vec<u8>) -> bool) -> Done {
        self.link.reply_mut().expect_result(false, false);
        self.link.send(0, |out| {
            out.push(byte::QUERY);
            out.extend_from_slice(sql.as_bytes());
        });
        self.link.done().await.map_err(Failure::Lost)?;
        if !self.link.reply().infile {
            return self.finish().await;
        }
        let mut sequence = self.link.reply().sequence;
        // A server that gives up in the middle says so at the end.
        self.link.reply_mut().expect_result(false, false);
        let (mut piece, mut more) = (Vec::new(), true);
        while more {
            piece.clear();
            more = rows(&mut piece);
            if !piece.is_empty() {
                sequence = sequence.wrapping_add(1);
                self.link.send(sequence, |out| out.extend_from_slice(&piece));
                self.link.sent().await.map_err(Failure::Lost)?;
            }
        }
        self.link.send(sequence.wrapping_add(1), |_| {});
        self.finish().await
    }

    /// Runs a text; its rows are kept.
    pub async fn query(&mut self, sql: &str) -> Done {
        self.link.reply_mut().expect_result(false, true);
        self.link.send(0, |out| {
            out.push(byte::QUERY);
            out.extend_from_slice(sql.as_bytes());
        });
        self.finish().await
    }

    /// Runs a statement of the workload; its rows are counted, not kept.
    pub async fn run(&mut self, statements: &[Statement], number: usize, params: &[Param<'_>]) -> Done {
        self.execute(statements, number, params, false).await
    }

    /// Runs a statement of the workload and keeps its rows.
    pub async fn rows(&mut self, statements: &[Statement], number: usize, params: &[Param<'_>]) -> Done {
        self.execute(statements, number, params, true).await
    }

    async fn execute(&mut self, statements: &[Statement], number: usize, params: &[Param<'_>], keep: bool) -> Done {
        let statement = &statements[number];
        debug_assert_eq!(statement.pieces.len(), params.len() + 1, "{}", statement.text);
        if !self.binary || statement.as_text {
            self.link.reply_mut().expect_result(false, keep);
            self.link.send(0, |out| write_text(statement, params, out));
            return self.finish().await;
        }
        if self.prepared.len() < statements.len() {
            self.prepared.resize(statements.len(), 0);
        }
        if self.prepared[number] == 0 {
            self.link.reply_mut().expect_prepared();
            self.link.send(0, |out| {
                out.push(byte::STMT_PREPARE);
                out.extend_from_slice(statement.text.as_bytes());
            });
            self.finish().await?;
            self.prepared[number] = self.link.reply().statement;
        }
        let id = self.prepared[number];
        self.link.reply_mut().expect_result(true, keep);
        self.link.send(0, |out| write_execution(id, params, out));
        self.finish().await
    }

    /// The last reply.
    pub fn reply(&self) -> Ref<'_, Reply> {
        self.link.reply()
    }

    /// Says goodbye.
    pub fn quit(self) {
        self.link.send(0, |out| out.push(byte::QUIT));
    }

    /// Says goodbye and waits until the server has closed the connection: the port that is held for a minute is the server's, not one of ours.
    pub async fn close(&mut self) {
        self.link.send(0, |out| out.push(byte::QUIT));
        self.link.closed().await;
    }
}

fn write_text(statement: &Statement, params: &[Param<'_>], out: &mut Vec<u8>) {
    out.push(byte::QUERY);
    for (index, piece) in statement.pieces.iter().enumerate() {
        if index > 0 {
            match params[index - 1] {
                Param::Int(n) => push_int(n, out),
                Param::Text(text) => {
                    out.push(b'\'');
                    out.extend_from_slice(text.as_bytes());
                    out.push(b'\'');
                }
                Param::Decimal(text) => out.extend_from_slice(text.as_bytes()),
            }
        }
        out.extend_from_slice(piece.as_bytes());
    }
}

fn push_int(n: i64, out: &mut Vec<u8>) {
    let mut text = String::new();
    let _ = write!(text, "{n}");
    out.extend_from_slice(text.as_bytes());
}

fn write_execution(id: u32, params: &[Param<'_>], out: &mut Vec<u8>) {
    out.push(byte::STMT_EXECUTE);
    out.extend_from_slice(&id.to_le_bytes());
    out.extend_from_slice(&[0, 1, 0, 0, 0]);
    if params.is_empty() {
        return;
    }
    out.resize(out.len() + params.len().div_ceil(8), 0);
    out.push(1);
    for param in params {
        let column_type = match param {
            Param::Int(_) => ColumnType::LongLong,
            Param::Text(_) => ColumnType::VarString,
            Param::Decimal(_) => ColumnType::NewDecimal,
        };
        out.extend_from_slice(&[column_type as u8, 0]);
    }
    for param in params {
        match param {
            Param::Int(n) => out.extend_from_slice(&n.to_le_bytes()),
            Param::Text(text) | Param::Decimal(text) => put_lenenc_bytes(out, text.as_bytes()),
        }
    }
}

fn refused(packet: &[u8]) -> Done {
    if packet.first() != Some(&ERR_HEADER) {
        return Ok(());
    }
    match ErrReply::parse(packet) {
        Ok(error) => Err(Failure::Server(ServerError { code: error.code, message: String::from_utf8_lossy(error.message).into_owned() })),
        Err(_) => Err(Failure::Lost("the server's error is malformed".to_owned())),
    }
}

fn known_plugin(name: &[u8]) -> Option<&'static str> {
    [auth::NATIVE_PASSWORD, auth::CACHING_SHA2_PASSWORD].into_iter().find(|known| known.as_bytes() == name)
}

fn scramble(plugin: &str, password: &str, challenge: &Challenge) -> Vec<u8> {
    if plugin == auth::NATIVE_PASSWORD {
        auth::native_scramble(password.as_bytes(), challenge)
    } else {
        auth::sha2_scramble(password.as_bytes(), challenge)
    }
}

/// The password under the server's public key, as caching_sha2_password wants it the first time.
fn encrypt(pem: &[u8], password: &str, challenge: &Challenge) -> Result<Vec<u8>, Failure> {
    let mut secret = password.as_bytes().to_vec();
    secret.push(0);
    auth::xor_with_challenge(&mut secret, challenge);
    let key = std::str::from_utf8(pem).ok().and_then(|pem| rsa::RsaPublicKey::from_public_key_pem(pem).ok());
    let secret = key.and_then(|key| key.encrypt(&mut rsa::rand_core::OsRng, rsa::Oaep::new::<sha1::Sha1>(), &secret).ok());
    secret.ok_or_else(|| Failure::Lost("the server's public key cannot be used".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_become_literals() {
        let statement = Statement::new("UPDATE t SET a=?, b = ? WHERE c=?");
        let mut out = Vec::new();
        write_text(&statement, &[Param::Int(-5), Param::Text("x y"), Param::Decimal("1.50")], &mut out);
        assert_eq!(&out[1..], b"UPDATE t SET a=-5, b = 'x y' WHERE c=1.50");
    }

    #[test]
    fn the_server_understands_executions() {
        let mut out = Vec::new();
        write_execution(7, &[Param::Int(-5), Param::Text("xyz"), Param::Decimal("1.5")], &mut out);
        let Ok(protocol::Command::StmtExecute(execute)) = protocol::Command::parse(&out, Capabilities::PROTOCOL_41) else {
            panic!("no execution")
        };
        assert_eq!(execute.statement_id, 7);
        let (mut types, mut values) = (protocol::ParamTypes::new(), Vec::new());
        execute.params(3, &mut types, |_| false, |_, param| values.push(format!("{:?}", param.value))).expect("well formed");
        assert_eq!(values, ["Int(-5)", "Bytes([120, 121, 122])", "Bytes([49, 46, 53])"]);
    }
}
