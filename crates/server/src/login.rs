//! The dialogue by which a client logs in: greeting, response, switch of plugin, full exchange of caching_sha2_password.

use std::sync::Arc;

use hashbrown::HashMap;
use mysql_error::{SqlError, codes};
use protocol::auth::{self, Challenge, FastDigest};
use protocol::handshake::{self, ChangeUser, Greeting, HandshakeResponse, attribute_pairs};
use protocol::{Capabilities, ServerStatus};
use session::accounts::{Account, Accounts, Attempt, AuthPlugin, Certificate, Transport};
use session::command::{ClientAddress, Login};
use session::connections::Phase;
use session::service::FrontSettings;
use sync::{Mutex, Rank, blocking};
use tls::Tls;
use tls::rustls::ServerConfig;

use crate::channel::{Channel, Received};
use crate::keys::Keys;

/// What this server can.
pub const SERVER_CAPABILITIES: Capabilities = Capabilities(
    Capabilities::LONG_PASSWORD.bits()
        | Capabilities::FOUND_ROWS.bits()
        | Capabilities::LONG_FLAG.bits()
        | Capabilities::CONNECT_WITH_DB.bits()
        | Capabilities::NO_SCHEMA.bits()
        | Capabilities::ODBC.bits()
        | Capabilities::LOCAL_FILES.bits()
        | Capabilities::IGNORE_SPACE.bits()
        | Capabilities::PROTOCOL_41.bits()
        | Capabilities::INTERACTIVE.bits()
        | Capabilities::IGNORE_SIGPIPE.bits()
        | Capabilities::TRANSACTIONS.bits()
        | Capabilities::RESERVED.bits()
        | Capabilities::SECURE_CONNECTION.bits()
        | Capabilities::MULTI_STATEMENTS.bits()
        | Capabilities::MULTI_RESULTS.bits()
        | Capabilities::PS_MULTI_RESULTS.bits()
        | Capabilities::PLUGIN_AUTH.bits()
        | Capabilities::CONNECT_ATTRS.bits()
        | Capabilities::PLUGIN_AUTH_LENENC_DATA.bits()
        | Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS.bits()
        | Capabilities::SESSION_TRACK.bits()
        | Capabilities::DEPRECATE_EOF.bits()
        | Capabilities::QUERY_ATTRIBUTES.bits(),
);

/// Longest packet taken from somebody who has not logged in.
const LOGIN_PACKET_BYTES_MAX: usize = 64 * 1024;
/// Most logins remembered for the fast path; beyond that the memory begins anew.
const REMEMBERED_MAX: usize = 100_000;

/// A stored form that no password has: what those are checked against who are nobody.
const NOBODYS_PASSWORD: &[u8] = b"$A$005$nobody.nobody.nobody.0000000000000000000000000000000000000000000";

/// How well a connection is protected.
fn transport_of(connection: &session::connections::Connection) -> Transport<'_> {
    let certificate = connection.peer_certificate().map(|peer| Certificate { subject: &peer.subject, issuer: &peer.issuer });
    let secured = connection.secured();
    Transport { tls: secured.is_some(), certificate, cipher: secured.map_or("", |secured| secured.cipher) }
}

/// What authentication keeps between logins.
#[derive(Debug)]
pub struct Authenticator {
    /// By (user, host) of the account: its stored password at that time, and the digest for the fast path.
    remembered: Mutex<HashMap<(String, String), (Vec<u8>, FastDigest)>>,
    keys: Keys,
}

impl Default for Authenticator {
    fn default() -> Self {
        Self { remembered: Mutex::new(Rank::Leaf, HashMap::new()), keys: Keys::default() }
    }
}

/// A login that went no further.
#[derive(Debug)]
pub enum Refused {
    /// Tell the client.
    Error(SqlError),
    /// Tell the client in the form that is used before it is known to speak the 4.1 protocol.
    EarlyError(SqlError),
    /// The client has gone.
    Gone,
}

/// What a client was told in its greeting.
#[derive(Debug)]
pub struct Greeted {
    challenge: Challenge,
    offered: Capabilities,
    /// How it may go on encrypted.
    tls: Option<Arc<ServerConfig>>,
}

/// What a client claims.
struct Claim<'a> {
    user: &'a [u8],
    answer: &'a [u8],
    plugin: Option<&'a [u8]>,
    /// Ask again with a fresh challenge, unless there is no password.
    ask_again: bool,
}

/// Random bytes from the system.
fn random<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    // So few bytes come in one piece; the call neither blocks (once the machine is up) nor is it interrupted.
    let count = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    if count == N { Ok(bytes) } else { Err(std::io::ErrorKind::UnexpectedEof.into()) }
}

fn make_challenge() -> Result<Challenge, Refused> {
    random().map(auth::challenge_from_random).map_err(|error| Refused::Error(codes::internal_error(format!("no random bytes: {error}"))))
}

impl Authenticator {
    /// Writes the greeting.
    pub fn greet(&self, channel: &mut Channel, settings: &FrontSettings, tls: Option<&Tls>) -> Result<Greeted, Refused> {
        let challenge = make_challenge()?;
        let tls = tls.and_then(|tls| tls.current().config.clone());
        let mut offered = SERVER_CAPABILITIES;
        offered.set(Capabilities::SSL, tls.is_some());
        offered.insert(settings.compression.offered());
        let greeting = Greeting {
            server_version: settings.server_version.as_bytes(),
            connection_id: channel.connection.id(),
            challenge,
            capabilities: offered,
            charset: protocol::constants::CHARSET_UTF8MB4_0900_AI_CI as u8,
            status: ServerStatus::AUTOCOMMIT,
            auth_plugin: AuthPlugin::CachingSha2.name().as_bytes(),
        };
        greeting.write(&mut channel.out);
        channel.reader.expect_sequence(1);
        Ok(Greeted { challenge, offered, tls })
    }

    /// Logs in a client that has been greeted.
    pub fn log_in(
        &self,
        channel: &mut Channel,
        accounts: &dyn Accounts,
        settings: &FrontSettings,
        greeted: &Greeted,
        tls: Option<&Tls>,
        address: &ClientAddress,
    ) -> Result<Login, Refused> {
        let &Greeted { challenge, offered, .. } = greeted;
        let mut payload = read(channel, |error| match error.code {
            codes::ER_NET_PACKETS_OUT_OF_ORDER => Refused::Error(error),
            _ => Refused::EarlyError(codes::handshake_error()),
        })?;
        if let (Some(tls), Some(config)) = (tls, &greeted.tls)
            && handshake::is_ssl_request(&payload)
        {
            encrypt(channel, tls, config)?;
            payload = read(channel, |_| Refused::Error(codes::handshake_error()))?;
        }
        let Ok(response) = HandshakeResponse::parse(&payload, offered) else {
            return Err(Refused::EarlyError(codes::handshake_error()));
        };
        if settings.require_secure_transport && !channel.connection.secure_transport() {
            return Err(Refused::Error(codes::secure_transport_required()));
        }
        let compression = settings.compression.choose(&response).map_err(Refused::Error)?;
        if let Some(algorithm) = compression {
            channel.connection.set_compression(algorithm);
        }
        let claim = Claim { user: response.user, answer: response.auth_response, plugin: response.auth_plugin, ask_again: false };
        let account = self.check(channel, accounts, address, response.capabilities, &challenge, &claim)?;
        let login = Login {
            user: text(response.user),
            host: address.host(),
            account_user: account.user,
            account_host: account.host,
            database: response.database.map(text),
            charset: response.charset,
            capabilities: response.capabilities,
            address: address.clone(),
            attributes: attributes(response.attributes),
        };
        Ok(login)
    }

    /// Authenticates a COM_CHANGE_USER. The client's answer is to a challenge that clients disagree on after a switch of
    /// plugin (the first or the last one), so it gets a new one.
    pub fn change_user(&self, channel: &mut Channel, accounts: &dyn Accounts, old: &Login, payload: &[u8]) -> Result<Login, Refused> {
        let Ok(change) = ChangeUser::parse(payload, old.capabilities) else {
            return Err(Refused::Error(codes::malformed_packet()));
        };
        let claim = Claim { user: change.user, answer: change.auth_response, plugin: change.auth_plugin, ask_again: true };
        let challenge = make_challenge()?;
        let account = self.check(channel, accounts, &old.address, old.capabilities, &challenge, &claim)?;
        Ok(Login {
            user: text(change.user),
            host: old.host.clone(),
            account_user: account.user,
            account_host: account.host,
            database: (!change.database.is_empty()).then(|| text(change.database)),
            charset: change.charset.unwrap_or(old.charset),
            capabilities: old.capabilities,
            address: old.address.clone(),
            attributes: attributes(change.attributes),
        })
    }

    /// Finds the account and checks the client's answer, asking for more where needed.
    fn check(
        &self,
        channel: &mut Channel,
        accounts: &dyn Accounts,
        address: &ClientAddress,
        capabilities: Capabilities,
        challenge: &Challenge,
        claim: &Claim<'_>,
    ) -> Result<Account, Refused> {
        let user = text(claim.user);
        let account = accounts.find(&user, address);
        // Somebody unknown goes through the default plugin's dialogue too, so that names cannot be probed.
        let plugin = account.as_ref().map_or(AuthPlugin::CachingSha2, |account| account.plugin);
        let named = claim.plugin.unwrap_or(auth::NATIVE_PASSWORD.as_bytes());
        let mut answer = claim.answer.to_vec();
        let mut challenge = *challenge;
        if named != plugin.name().as_bytes() || (claim.ask_again && !claim.answer.is_empty()) {
            if !capabilities.contains(Capabilities::PLUGIN_AUTH) {
                return Err(Refused::Error(codes::not_supported_auth_mode()));
            }
            challenge = make_challenge()?;
            handshake::write_auth_switch(plugin.name(), &challenge, &mut channel.out);
            send(channel)?;
            answer = read(channel, Refused::Error)?;
        }
        let with_password = !(answer.is_empty() || answer == [0]);
        let passed = match (&account, plugin) {
            (Some(account), _) if account.stored.is_empty() && !with_password => address.is_local(),
            (Some(account), AuthPlugin::Native) if !account.stored.is_empty() => {
                // Both are looked at, whichever it is.
                let new = auth::native_check(&account.stored, &challenge, &answer);
                let old = !account.retained.is_empty() && auth::native_check(&account.retained, &challenge, &answer);
                new || old
            }
            (Some(account), AuthPlugin::CachingSha2) if !account.stored.is_empty() => {
                with_password && self.check_sha2(channel, account, &challenge, &answer)?
            }
            // Who is unknown, or gives a password where there is none, sees the dialogue and takes the time of a wrong password.
            _ => {
                if with_password
                    && plugin == AuthPlugin::CachingSha2
                    && let Some(password) = self.ask_password(channel, &challenge)?
                {
                    std::hint::black_box(auth::sha2_check(NOBODYS_PASSWORD, &password));
                }
                false
            }
        };
        let connection = Arc::clone(&channel.connection);
        let attempt = Attempt {
            user: &user,
            host: &address.host(),
            with_password,
            passed,
            transport: transport_of(&connection),
            handles_expired: capabilities.contains(Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS),
        };
        accounts.settle(account.as_ref(), &attempt).map_err(Refused::Error)?;
        // Nobody unknown gets here.
        account.ok_or_else(|| Refused::Error(codes::access_denied_error(&user, address.host(), "YES")))
    }

    fn check_sha2(&self, channel: &mut Channel, account: &Account, challenge: &Challenge, answer: &[u8]) -> Result<bool, Refused> {
        let key = (account.user.clone(), account.host.clone());
        let known = self.remembered.lock().get(&key).filter(|(stored, _)| *stored == account.stored).map(|(_, digest)| *digest);
        if known.is_some_and(|digest| digest.check(challenge, answer)) {
            handshake::write_auth_more_data(&[auth::FAST_AUTH_SUCCESS], &mut channel.out);
            return Ok(true);
        }
        let Some(password) = self.ask_password(channel, challenge)? else { return Ok(false) };
        if !account.retained.is_empty() && auth::sha2_check(&account.retained, &password) {
            return Ok(true);
        }
        let passed = auth::sha2_check(&account.stored, &password);
        if passed {
            let mut remembered = self.remembered.lock();
            if remembered.len() >= REMEMBERED_MAX {
                remembered.clear();
            }
            remembered.insert(key, (account.stored.clone(), FastDigest::of(&password)));
        }
        Ok(passed)
    }

    /// Asks for the password itself: in the clear over the unix socket and TLS, under the server's key otherwise.
    fn ask_password(&self, channel: &mut Channel, challenge: &Challenge) -> Result<Option<Vec<u8>>, Refused> {
        // The password takes long to check, the server's key longer to make.
        blocking::begins();
        handshake::write_auth_more_data(&[auth::PERFORM_FULL_AUTHENTICATION], &mut channel.out);
        send(channel)?;
        let mut sent = read(channel, Refused::Error)?;
        if channel.connection.secure_transport() {
            return Ok((sent.pop() == Some(0)).then_some(sent));
        }
        if sent == [auth::REQUEST_PUBLIC_KEY] {
            let Some(pem) = self.keys.public_pem() else {
                return Err(Refused::Error(codes::internal_error("no RSA key could be made")));
            };
            handshake::write_auth_more_data(pem.as_bytes(), &mut channel.out);
            send(channel)?;
            sent = read(channel, Refused::Error)?;
        }
        Ok(self.keys.decrypt_password(&sent, challenge))
    }
}

/// The TLS handshake, after the client has asked for it.
fn encrypt(channel: &mut Channel, tls: &Tls, config: &Arc<ServerConfig>) -> Result<(), Refused> {
    tls.figures.accepts.inc();
    let Channel { socket, layers, connection, reader, .. } = channel;
    let arrived = reader.take_unread();
    blocking::begins();
    let Some(secured) = layers.encrypt(socket, connection, config, &arrived) else { return Err(Refused::Gone) };
    tls.figures.finished.inc();
    if secured.resumed {
        tls.figures.resumed.inc();
    }
    connection.set_secured(secured);
    // What follows counts on from the request.
    reader.expect_sequence(2);
    Ok(())
}

fn send(channel: &mut Channel) -> Result<(), Refused> {
    if channel.send() { Ok(()) } else { Err(Refused::Gone) }
}

/// The client's next packet of the dialogue, copied: it is small, and the channel is needed meanwhile.
fn read(channel: &mut Channel, refused: impl FnOnce(SqlError) -> Refused) -> Result<Vec<u8>, Refused> {
    // Within a session a command waits for its client, as long as for the rest of a packet.
    let in_session = channel.connection.phase() == Phase::Running;
    if in_session {
        channel.connection.enter(Phase::Reading);
    }
    let received = match channel.read_ready(LOGIN_PACKET_BYTES_MAX) {
        Err(crate::channel::Lost::NotYet) => {
            blocking::begins();
            channel.read(LOGIN_PACKET_BYTES_MAX)
        }
        received => received,
    };
    if in_session {
        channel.connection.enter(Phase::Running);
    }
    match received {
        Ok(Received::Packet(place)) => {
            channel.out.set_sequence(place.reply_sequence());
            // The next packet of the client follows our next one.
            channel.reader.expect_sequence(place.reply_sequence().wrapping_add(1));
            Ok(channel.reader.payload(&place).to_vec())
        }
        Ok(Received::TooLarge(sequence)) => {
            channel.out.set_sequence(sequence);
            Err(refused(codes::net_packet_too_large()))
        }
        Ok(Received::NoMemory(sequence)) => {
            channel.out.set_sequence(sequence);
            Err(refused(codes::out_of_resources()))
        }
        Err(crate::channel::Lost::OutOfOrder) => Err(refused(codes::net_packets_out_of_order())),
        Err(crate::channel::Lost::End | crate::channel::Lost::NotYet) => Err(Refused::Gone),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn attributes(bytes: &[u8]) -> Vec<(String, String)> {
    attribute_pairs(bytes).map_while(Result::ok).map(|(name, value)| (text(name), text(value))).collect()
}

/// Shared by all connections.
pub type SharedAuthenticator = Arc<Authenticator>;
