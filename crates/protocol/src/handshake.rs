//! The first packets of a connection: greeting, handshake response, authentication switch, COM_CHANGE_USER.

use crate::auth::{CHALLENGE_BYTES, Challenge};
use crate::codec::{Bytes, Malformed, put_lenenc_bytes, put_lenenc_int, put_nul_string};
use crate::constants::{Capabilities, ServerStatus};
use crate::writer::PacketWriter;

/// Version of the handshake.
pub const PROTOCOL_VERSION: u8 = 10;
/// First byte of an authentication switch request.
pub const AUTH_SWITCH_HEADER: u8 = 0xFE;
/// First byte of auth more data.
pub const AUTH_MORE_DATA_HEADER: u8 = 0x01;

/// The server's first packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting<'a> {
    /// Text such as `8.0.40-altiplano`.
    pub server_version: &'a [u8],
    /// Connection id.
    pub connection_id: u32,
    /// Random bytes that the password is mixed with.
    pub challenge: Challenge,
    /// What the server can.
    pub capabilities: Capabilities,
    /// Low byte of the default collation's id.
    pub charset: u8,
    /// Status.
    pub status: ServerStatus,
    /// Default authentication plugin.
    pub auth_plugin: &'a [u8],
}

impl<'a> Greeting<'a> {
    /// Writes the packet.
    pub fn write(&self, out: &mut PacketWriter) {
        let capabilities = self.capabilities.bits().to_le_bytes();
        let (head, tail) = self.challenge.split_at(8);
        let payload = out.begin();
        payload.push(PROTOCOL_VERSION);
        put_nul_string(payload, self.server_version);
        payload.extend_from_slice(&self.connection_id.to_le_bytes());
        payload.extend_from_slice(head);
        payload.push(0);
        payload.extend_from_slice(&capabilities[..2]);
        payload.push(self.charset);
        payload.extend_from_slice(&self.status.bits().to_le_bytes());
        payload.extend_from_slice(&capabilities[2..]);
        payload.push(CHALLENGE_BYTES as u8 + 1);
        payload.extend_from_slice(&[0; 10]);
        payload.extend_from_slice(tail);
        payload.push(0);
        put_nul_string(payload, self.auth_plugin);
        out.end();
    }

    /// Reads the packet's payload (client side).
    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut bytes = Bytes::new(payload);
        if bytes.u8()? != PROTOCOL_VERSION {
            return Err(Malformed);
        }
        let server_version = bytes.nul_string()?;
        let connection_id = bytes.u32()?;
        let mut challenge = [0; CHALLENGE_BYTES];
        challenge[..8].copy_from_slice(bytes.take(8)?);
        bytes.u8()?;
        let low = bytes.u16()?;
        let charset = bytes.u8()?;
        let status = ServerStatus(bytes.u16()?);
        let high = bytes.u16()?;
        let capabilities = Capabilities(u32::from(high) << 16 | u32::from(low));
        bytes.u8()?;
        bytes.take(10)?;
        challenge[8..].copy_from_slice(bytes.take(12)?);
        bytes.u8()?;
        let auth_plugin = if bytes.is_empty() { &b""[..] } else { bytes.nul_string_or_rest() };
        Ok(Self { server_version, connection_id, challenge, capabilities, charset, status, auth_plugin })
    }
}

/// The client's answer to the greeting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandshakeResponse<'a> {
    /// What the client can and wants.
    pub capabilities: Capabilities,
    /// Longest packet the client takes.
    pub max_packet_bytes: u32,
    /// Collation id of the connection.
    pub charset: u16,
    /// User name.
    pub user: &'a [u8],
    /// Answer to the challenge.
    pub auth_response: &'a [u8],
    /// Current database, if one was asked for.
    pub database: Option<&'a [u8]>,
    /// The plugin `auth_response` is for.
    pub auth_plugin: Option<&'a [u8]>,
    /// Connection attributes: length-encoded names and values in turn.
    pub attributes: &'a [u8],
    /// Level of zstd, where that was agreed on.
    pub zstd_level: Option<u8>,
}

/// Length of the part of a handshake response before the user name; an SSL request is just that.
pub const RESPONSE_HEAD_BYTES: usize = 32;

impl<'a> HandshakeResponse<'a> {
    /// Reads a packet's payload. `server` is what the greeting offered; bits that it did not offer are cleared before
    /// anything is read by them, except that a client without PROTOCOL_41 is refused.
    pub fn parse(payload: &'a [u8], server: Capabilities) -> Result<Self, Malformed> {
        let mut bytes = Bytes::new(payload);
        let wanted = Capabilities(bytes.u32()?);
        if !wanted.contains(Capabilities::PROTOCOL_41) {
            return Err(Malformed);
        }
        let capabilities = wanted.intersection(server);
        let max_packet_bytes = bytes.u32()?;
        let charset = u16::from(bytes.u8()?);
        // The 23 bytes of filler are zero by the manual; some clients put the high byte of the collation there.
        bytes.take(23)?;
        let user = bytes.nul_string()?;
        let auth_response = if capabilities.contains(Capabilities::PLUGIN_AUTH_LENENC_DATA) {
            bytes.lenenc_bytes()?
        } else if capabilities.contains(Capabilities::SECURE_CONNECTION) {
            let length = bytes.u8()?;
            bytes.take(usize::from(length))?
        } else {
            bytes.nul_string()?
        };
        let database = if wanted.contains(Capabilities::CONNECT_WITH_DB) && !bytes.is_empty() {
            Some(bytes.nul_string_or_rest()).filter(|name| !name.is_empty())
        } else {
            None
        };
        let auth_plugin =
            if capabilities.contains(Capabilities::PLUGIN_AUTH) && !bytes.is_empty() { Some(bytes.nul_string_or_rest()) } else { None };
        let attributes = read_attributes(&mut bytes, capabilities)?;
        let zstd_level = if capabilities.contains(Capabilities::ZSTD_COMPRESSION) { bytes.u8().ok() } else { None };
        Ok(Self { capabilities, max_packet_bytes, charset, user, auth_response, database, auth_plugin, attributes, zstd_level })
    }

    /// Writes the packet (client side); the fields present must agree with `capabilities`.
    pub fn write(&self, out: &mut PacketWriter) {
        let mut capabilities = self.capabilities;
        capabilities.set(Capabilities::CONNECT_WITH_DB, self.database.is_some());
        let payload = out.begin();
        payload.extend_from_slice(&capabilities.bits().to_le_bytes());
        payload.extend_from_slice(&self.max_packet_bytes.to_le_bytes());
        payload.push(self.charset as u8);
        payload.extend_from_slice(&[0; 23]);
        put_nul_string(payload, self.user);
        if capabilities.contains(Capabilities::PLUGIN_AUTH_LENENC_DATA) {
            put_lenenc_bytes(payload, self.auth_response);
        } else {
            payload.push(self.auth_response.len() as u8);
            payload.extend_from_slice(self.auth_response);
        }
        if let Some(database) = self.database {
            put_nul_string(payload, database);
        }
        if capabilities.contains(Capabilities::PLUGIN_AUTH) {
            put_nul_string(payload, self.auth_plugin.unwrap_or_default());
        }
        if capabilities.contains(Capabilities::CONNECT_ATTRS) {
            put_lenenc_bytes(payload, self.attributes);
        }
        if let Some(level) = self.zstd_level {
            payload.push(level);
        }
        out.end();
    }
}

/// Whether a packet asks for TLS: it has a handshake response's head and nothing more.
pub fn is_ssl_request(payload: &[u8]) -> bool {
    payload.len() == RESPONSE_HEAD_BYTES && Bytes::new(payload).u32().is_ok_and(|bits| Capabilities(bits).contains(Capabilities::SSL))
}

fn read_attributes<'a>(bytes: &mut Bytes<'a>, capabilities: Capabilities) -> Result<&'a [u8], Malformed> {
    if !capabilities.contains(Capabilities::CONNECT_ATTRS) || bytes.is_empty() {
        return Ok(b"");
    }
    let attributes = bytes.lenenc_bytes()?;
    for pair in attribute_pairs(attributes) {
        pair?;
    }
    Ok(attributes)
}

/// Names and values of connection attributes.
pub fn attribute_pairs(attributes: &[u8]) -> impl Iterator<Item = Result<(&[u8], &[u8]), Malformed>> {
    let mut bytes = Bytes::new(attributes);
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let pair = bytes.lenenc_bytes().and_then(|name| Ok((name, bytes.lenenc_bytes()?)));
        if pair.is_err() {
            bytes.take_rest();
        }
        Some(pair)
    })
}

/// Appends a connection attribute (client side).
pub fn put_attribute(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    put_lenenc_bytes(out, name);
    put_lenenc_bytes(out, value);
}

/// COM_CHANGE_USER after its command byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeUser<'a> {
    /// User name.
    pub user: &'a [u8],
    /// Answer to the connection's first challenge.
    pub auth_response: &'a [u8],
    /// Current database; empty for none.
    pub database: &'a [u8],
    /// Collation id; absent in old clients.
    pub charset: Option<u16>,
    /// The plugin `auth_response` is for.
    pub auth_plugin: Option<&'a [u8]>,
    /// Connection attributes.
    pub attributes: &'a [u8],
}

impl<'a> ChangeUser<'a> {
    /// Reads what follows the command byte.
    pub fn parse(payload: &'a [u8], capabilities: Capabilities) -> Result<Self, Malformed> {
        let mut bytes = Bytes::new(payload);
        let user = bytes.nul_string()?;
        let auth_response = if capabilities.contains(Capabilities::SECURE_CONNECTION) {
            let length = bytes.u8()?;
            bytes.take(usize::from(length))?
        } else {
            bytes.nul_string()?
        };
        let database = bytes.nul_string_or_rest();
        let charset = if bytes.rest().len() >= 2 { Some(bytes.u16()?) } else { None };
        let auth_plugin =
            if capabilities.contains(Capabilities::PLUGIN_AUTH) && !bytes.is_empty() { Some(bytes.nul_string_or_rest()) } else { None };
        let attributes = read_attributes(&mut bytes, capabilities)?;
        Ok(Self { user, auth_response, database, charset, auth_plugin, attributes })
    }

    /// Appends what follows the command byte (client side).
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nul_string(out, self.user);
        out.push(self.auth_response.len() as u8);
        out.extend_from_slice(self.auth_response);
        put_nul_string(out, self.database);
        if let Some(charset) = self.charset {
            out.extend_from_slice(&charset.to_le_bytes());
            if let Some(plugin) = self.auth_plugin {
                put_nul_string(out, plugin);
                put_lenenc_int(out, self.attributes.len() as u64);
                out.extend_from_slice(self.attributes);
            }
        }
    }
}

/// Writes an authentication switch request: answer this challenge with that plugin.
pub fn write_auth_switch(plugin: &str, challenge: &Challenge, out: &mut PacketWriter) {
    let payload = out.begin();
    payload.push(AUTH_SWITCH_HEADER);
    put_nul_string(payload, plugin.as_bytes());
    payload.extend_from_slice(challenge);
    payload.push(0);
    out.end();
}

/// Reads an authentication switch request (client side): plugin and challenge.
pub fn parse_auth_switch(payload: &[u8]) -> Result<(&[u8], Challenge), Malformed> {
    let mut bytes = Bytes::new(payload);
    if bytes.u8()? != AUTH_SWITCH_HEADER {
        return Err(Malformed);
    }
    let plugin = bytes.nul_string()?;
    Ok((plugin, bytes.array()?))
}

/// Writes auth more data.
pub fn write_auth_more_data(data: &[u8], out: &mut PacketWriter) {
    let payload = out.begin();
    payload.push(AUTH_MORE_DATA_HEADER);
    payload.extend_from_slice(data);
    out.end();
}
