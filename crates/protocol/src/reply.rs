//! OK, ERR and EOF packets, the COM_STMT_PREPARE reply, and the LOCAL INFILE request.

use mysql_error::SqlError;

use crate::codec::{Bytes, Malformed, put_lenenc_bytes, put_lenenc_int};
use crate::constants::{Capabilities, ServerStatus};
use crate::writer::PacketWriter;

/// First byte of an OK packet.
pub const OK_HEADER: u8 = 0x00;
/// First byte of an EOF packet, and of the OK packet that replaces it.
pub const EOF_HEADER: u8 = 0xFE;
/// First byte of an ERR packet.
pub const ERR_HEADER: u8 = 0xFF;
/// First byte of a LOCAL INFILE request.
pub const INFILE_HEADER: u8 = 0xFB;
/// An EOF packet is shorter than this; a row that begins with 0xFE is not.
pub const EOF_PAYLOAD_MAX: usize = 9;
/// Longest error message that MySQL clients keep.
pub const MESSAGE_BYTES_MAX: usize = 512;

/// A success.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OkReply<'a> {
    /// Rows changed (or found).
    pub affected_rows: u64,
    /// The first AUTO_INCREMENT value of the statement, or 0.
    pub last_insert_id: u64,
    /// Status after the statement.
    pub status: ServerStatus,
    /// Number of warnings; more than 65,535 are sent as that.
    pub warnings: u32,
    /// Text such as `Rows matched: 1  Changed: 1  Warnings: 0`.
    pub info: &'a [u8],
    /// Encoded session state changes; sent only if the client asked and there are some.
    pub session_state: &'a [u8],
}

impl<'a> OkReply<'a> {
    /// Writes an OK packet that ends a statement without rows.
    pub fn write(&self, capabilities: Capabilities, out: &mut PacketWriter) {
        self.write_with(OK_HEADER, capabilities, out);
    }

    /// Writes the packet that ends rows: EOF, or OK with the EOF mark for clients with DEPRECATE_EOF.
    #[inline]
    pub fn write_end_of_rows(&self, capabilities: Capabilities, out: &mut PacketWriter) {
        if capabilities.contains(Capabilities::DEPRECATE_EOF) {
            self.write_with(EOF_HEADER, capabilities, out);
        } else {
            write_eof(self.status, self.warnings, out);
        }
    }

    #[inline]
    fn write_with(&self, header: u8, capabilities: Capabilities, out: &mut PacketWriter) {
        if self.affected_rows < 251 && self.last_insert_id < 251 && self.info.is_empty() && self.session_state.is_empty() {
            // As most are.
            let mut status = self.status;
            status.remove(ServerStatus::SESSION_STATE_CHANGED);
            let [status, warnings] = [status.bits(), self.warnings.min(0xFFFF) as u16].map(u16::to_le_bytes);
            let (rows, id) = (self.affected_rows as u8, self.last_insert_id as u8);
            return out.small_packet([header, rows, id, status[0], status[1], warnings[0], warnings[1]]);
        }
        self.write_long(header, capabilities, out);
    }

    #[inline(never)]
    fn write_long(&self, header: u8, capabilities: Capabilities, out: &mut PacketWriter) {
        let mut status = self.status;
        let track = capabilities.contains(Capabilities::SESSION_TRACK);
        status.set(ServerStatus::SESSION_STATE_CHANGED, track && !self.session_state.is_empty());
        let payload = out.begin();
        payload.push(header);
        put_lenenc_int(payload, self.affected_rows);
        put_lenenc_int(payload, self.last_insert_id);
        payload.extend_from_slice(&status.bits().to_le_bytes());
        payload.extend_from_slice(&(self.warnings.min(0xFFFF) as u16).to_le_bytes());
        if track {
            if !self.info.is_empty() || status.contains(ServerStatus::SESSION_STATE_CHANGED) {
                put_lenenc_bytes(payload, self.info);
            }
            if status.contains(ServerStatus::SESSION_STATE_CHANGED) {
                put_lenenc_bytes(payload, self.session_state);
            }
        } else if !self.info.is_empty() {
            // MySQL sends the length here too, although the manual describes the rest of the packet.
            put_lenenc_bytes(payload, self.info);
        }
        out.end();
    }

    /// Reads an OK packet's payload.
    pub fn parse(payload: &'a [u8], capabilities: Capabilities) -> Result<Self, Malformed> {
        let mut bytes = Bytes::new(payload);
        bytes.u8()?;
        let affected_rows = bytes.lenenc_int()?;
        let last_insert_id = bytes.lenenc_int()?;
        let status = ServerStatus(bytes.u16()?);
        let warnings = u32::from(bytes.u16()?);
        let info = if bytes.is_empty() { &b""[..] } else { bytes.lenenc_bytes()? };
        let track = capabilities.contains(Capabilities::SESSION_TRACK) && status.contains(ServerStatus::SESSION_STATE_CHANGED);
        let session_state = if track { bytes.lenenc_bytes()? } else { b"" };
        Ok(Self { affected_rows, last_insert_id, status, warnings, info, session_state })
    }
}

/// Writes an EOF packet: after column definitions and rows for clients without DEPRECATE_EOF, after COM_SET_OPTION for all.
pub fn write_eof(status: ServerStatus, warnings: u32, out: &mut PacketWriter) {
    let warnings = (warnings.min(0xFFFF) as u16).to_le_bytes();
    let status = status.bits().to_le_bytes();
    out.small_packet([EOF_HEADER, warnings[0], warnings[1], status[0], status[1]]);
}

/// An error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrReply<'a> {
    /// MySQL's number.
    pub code: u16,
    /// Five characters.
    pub sql_state: [u8; 5],
    /// Text.
    pub message: &'a [u8],
}

impl<'a> ErrReply<'a> {
    /// Writes an ERR packet. Takes back a packet that is open: a statement may fail in the middle of a row.
    pub fn write(&self, out: &mut PacketWriter) {
        out.abandon();
        let payload = out.begin();
        payload.push(ERR_HEADER);
        payload.extend_from_slice(&self.code.to_le_bytes());
        payload.push(b'#');
        payload.extend_from_slice(&self.sql_state);
        payload.extend_from_slice(cut_message(self.message));
        out.end();
    }

    /// Writes an ERR packet before the handshake is through: the client does not know SQLSTATEs yet.
    pub fn write_before_handshake(&self, out: &mut PacketWriter) {
        out.abandon();
        let payload = out.begin();
        payload.push(ERR_HEADER);
        payload.extend_from_slice(&self.code.to_le_bytes());
        payload.extend_from_slice(cut_message(self.message));
        out.end();
    }

    /// Reads an ERR packet's payload, with or without SQLSTATE.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut bytes = Bytes::new(payload);
        if bytes.u8()? != ERR_HEADER {
            return Err(Malformed);
        }
        let code = bytes.u16()?;
        let mut sql_state = *b"HY000";
        if bytes.rest().first() == Some(&b'#') && bytes.rest().len() >= 6 {
            bytes.u8()?;
            sql_state = bytes.array()?;
        }
        Ok(Self { code, sql_state, message: bytes.take_rest() })
    }
}

impl<'a> From<&'a SqlError> for ErrReply<'a> {
    fn from(error: &'a SqlError) -> Self {
        Self { code: error.code, sql_state: error.sqlstate, message: error.message.as_bytes() }
    }
}

/// At most [`MESSAGE_BYTES_MAX`] bytes, not cut inside a UTF-8 character.
fn cut_message(message: &[u8]) -> &[u8] {
    if message.len() <= MESSAGE_BYTES_MAX {
        return message;
    }
    let mut end = MESSAGE_BYTES_MAX;
    while end > 0 && message[end] & 0xC0 == 0x80 {
        end -= 1;
    }
    &message[..end]
}

/// The first packet of the reply to COM_STMT_PREPARE; definitions of parameters and columns follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrepareReply {
    /// The statement's number in this session.
    pub statement_id: u32,
    /// Columns of its result, 0 without one.
    pub column_count: u16,
    /// `?` in its text.
    pub param_count: u16,
    /// Warnings of the preparation.
    pub warnings: u16,
}

impl PrepareReply {
    /// Writes the packet.
    pub fn write(&self, out: &mut PacketWriter) {
        let payload = out.begin();
        payload.push(0);
        payload.extend_from_slice(&self.statement_id.to_le_bytes());
        payload.extend_from_slice(&self.column_count.to_le_bytes());
        payload.extend_from_slice(&self.param_count.to_le_bytes());
        payload.push(0);
        payload.extend_from_slice(&self.warnings.to_le_bytes());
        out.end();
    }
}

/// Writes a LOCAL INFILE request: the client answers with the file's bytes in packets, an empty one last.
pub fn write_infile_request(file_name: &[u8], out: &mut PacketWriter) {
    let payload = out.begin();
    payload.push(INFILE_HEADER);
    payload.extend_from_slice(file_name);
    out.end();
}

/// Session state changes for [`OkReply::session_state`].
pub mod session_state {
    use crate::codec::put_lenenc_bytes;

    fn put_entry(out: &mut Vec<u8>, kind: u8, data: &[u8]) {
        out.push(kind);
        put_lenenc_bytes(out, data);
    }

    /// Appends "system variable `name` is now `value`".
    pub fn put_system_variable(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
        let mut data = Vec::with_capacity(name.len() + value.len() + 4);
        put_lenenc_bytes(&mut data, name);
        put_lenenc_bytes(&mut data, value);
        put_entry(out, 0, &data);
    }

    /// Appends "the current database is now `name`".
    pub fn put_schema(out: &mut Vec<u8>, name: &[u8]) {
        put_text(out, 1, name);
    }

    /// Appends "some session state changed".
    pub fn put_state_change(out: &mut Vec<u8>) {
        put_entry(out, 2, b"1");
    }

    fn put_text(out: &mut Vec<u8>, kind: u8, text: &[u8]) {
        let mut data = Vec::with_capacity(text.len() + 2);
        put_lenenc_bytes(&mut data, text);
        put_entry(out, kind, &data);
    }

    /// Appends "a transaction like this one is begun by `statements`".
    pub fn put_transaction_characteristics(out: &mut Vec<u8>, statements: &[u8]) {
        put_text(out, 4, statements);
    }

    /// Appends "the transaction's state is now that of `letters`".
    pub fn put_transaction_state(out: &mut Vec<u8>, letters: &[u8]) {
        put_text(out, 5, letters);
    }
}
