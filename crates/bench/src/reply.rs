//! The reply to one command, read packet by packet as it arrives. Rows are kept only where a transaction looks at them.

use protocol::codec::{Bytes, Malformed};
use protocol::constants::ColumnType;
use protocol::execute::{ParamType, ParamValue, value};
use protocol::reply::{EOF_HEADER, EOF_PAYLOAD_MAX, ERR_HEADER, ErrReply, INFILE_HEADER, OK_HEADER};
use protocol::{ColumnDefinition, ColumnFlags, OkReply};

/// What is expected next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    /// Nothing: the reply is complete.
    #[default]
    Done,
    /// One packet of the login, whatever it is.
    Packet,
    /// OK, ERR or the number of columns.
    First,
    /// So many definitions of columns.
    Columns(u64),
    /// The EOF after them.
    ColumnsEnd,
    /// Rows or their end.
    Rows,
    /// The first packet of the reply to a preparation.
    Prepared,
    /// So many packets of definitions of it.
    Definitions(u32),
}

/// An error that the server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    /// MySQL's number.
    pub code: u16,
    /// Text.
    pub message: String,
}

/// The last reply, or as much of it as has arrived.
#[derive(Debug, Default)]
pub struct Reply {
    state: State,
    /// The client has no DEPRECATE_EOF: definitions and rows end with EOF packets.
    pub eof_packets: bool,
    /// Rows are binary.
    binary: bool,
    /// Rows are kept.
    keep: bool,
    /// Sequence id of the last packet.
    pub sequence: u8,
    /// A packet of the login.
    pub packet: Vec<u8>,
    /// The error, if it is one.
    pub error: Option<ServerError>,
    /// The server asks for the file of a LOAD DATA LOCAL.
    pub infile: bool,
    /// Rows changed.
    pub affected_rows: u64,
    /// Number of the prepared statement.
    pub statement: u32,
    row_count: usize,
    types: Vec<ParamType>,
    rows: Vec<u8>,
    starts: Vec<usize>,
}

impl Reply {
    fn begin(&mut self, state: State) {
        self.state = state;
        self.error = None;
        self.infile = false;
        self.affected_rows = 0;
        self.row_count = 0;
        self.types.clear();
        self.rows.clear();
        self.starts.clear();
    }

    /// One packet of the login is expected.
    pub fn expect_packet(&mut self) {
        self.begin(State::Packet);
    }

    /// A statement's result is expected.
    pub fn expect_result(&mut self, binary: bool, keep: bool) {
        (self.binary, self.keep) = (binary, keep);
        self.begin(State::First);
    }

    /// The reply to a preparation is expected.
    pub fn expect_prepared(&mut self) {
        self.begin(State::Prepared);
    }

    /// Whether all of it has arrived.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Takes the next packet.
    pub fn take(&mut self, payload: &[u8], sequence: u8) -> Result<(), Malformed> {
        self.sequence = sequence;
        let first = *payload.first().ok_or(Malformed)?;
        self.state = match self.state {
            State::Done => return Err(Malformed),
            State::Packet => {
                self.packet.clear();
                self.packet.extend_from_slice(payload);
                State::Done
            }
            _ if first == ERR_HEADER => {
                let error = ErrReply::parse(payload)?;
                self.error = Some(ServerError { code: error.code, message: String::from_utf8_lossy(error.message).into_owned() });
                State::Done
            }
            State::First if first == OK_HEADER => {
                let mut bytes = Bytes::new(&payload[1..]);
                self.affected_rows = bytes.lenenc_int()?;
                State::Done
            }
            State::First if first == INFILE_HEADER => {
                self.infile = true;
                State::Done
            }
            State::First => State::Columns(Bytes::new(payload).lenenc_int()?),
            State::Columns(left) => {
                if self.keep {
                    let column = ColumnDefinition::parse(payload)?;
                    self.types.push(ParamType {
                        column_type: if self.binary { column.column_type } else { ColumnType::VarString },
                        unsigned: column.flags.contains(ColumnFlags::UNSIGNED),
                    });
                }
                match left {
                    1 if self.eof_packets => State::ColumnsEnd,
                    1 => State::Rows,
                    _ => State::Columns(left - 1),
                }
            }
            State::ColumnsEnd => State::Rows,
            State::Rows if first == EOF_HEADER && (!self.eof_packets || payload.len() < EOF_PAYLOAD_MAX) => State::Done,
            State::Rows => {
                self.row_count += 1;
                if self.keep {
                    self.starts.push(self.rows.len());
                    self.rows.extend_from_slice(payload);
                }
                State::Rows
            }
            State::Prepared => {
                let mut bytes = Bytes::new(&payload[1..]);
                self.statement = bytes.u32()?;
                let groups = [bytes.u16()?, bytes.u16()?];
                let ends = u32::from(self.eof_packets);
                match groups.iter().filter(|n| **n > 0).map(|n| u32::from(*n) + ends).sum() {
                    0 => State::Done,
                    left => State::Definitions(left),
                }
            }
            State::Definitions(1) => State::Done,
            State::Definitions(left) => State::Definitions(left - 1),
        };
        Ok(())
    }

    /// Rows of the result.
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// A value of a kept row as a whole number; 0 for what is not there, is NULL or no number (a canned answer has other columns).
    pub fn int(&self, row: usize, column: usize) -> i64 {
        let of_bytes = |bytes: &[u8]| std::str::from_utf8(bytes).ok()?.parse::<f64>().ok().map(|n| n as i64);
        self.with_value(row, column, |value| match value {
            ParamValue::Int(n) => n,
            ParamValue::UInt(n) => n as i64,
            ParamValue::Float(n) => f64::from(n) as i64,
            ParamValue::Double(n) => n as i64,
            ParamValue::Bytes(bytes) => of_bytes(bytes).unwrap_or(0),
            _ => 0,
        })
        .unwrap_or(0)
    }

    /// A value of a kept row as text; empty for what is not there or NULL.
    pub fn text(&self, row: usize, column: usize) -> String {
        self.with_value(row, column, |value| match value {
            ParamValue::Int(n) => n.to_string(),
            ParamValue::UInt(n) => n.to_string(),
            ParamValue::Float(n) => n.to_string(),
            ParamValue::Double(n) => n.to_string(),
            ParamValue::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            _ => String::new(),
        })
        .unwrap_or_default()
    }

    fn with_value<R>(&self, row: usize, column: usize, with: impl FnOnce(ParamValue<'_>) -> R) -> Option<R> {
        let (start, end) = (*self.starts.get(row)?, self.starts.get(row + 1).copied().unwrap_or(self.rows.len()));
        let (payload, wanted) = (&self.rows[start..end], self.types.get(column)?);
        if !self.binary {
            let mut bytes = Bytes::new(payload);
            for _ in 0..column {
                bytes.lenenc_nullable().ok()?;
            }
            return bytes.lenenc_nullable().ok()?.map(|text| with(ParamValue::Bytes(text)));
        }
        let mut bytes = Bytes::new(payload.get(1..)?);
        let nulls = bytes.take((self.types.len() + 9) / 8).ok()?;
        let is_null = |column: usize| nulls[(column + 2) / 8] & 1 << ((column + 2) % 8) != 0;
        for (before, kind) in self.types[..column].iter().enumerate() {
            if !is_null(before) {
                value(&mut bytes, *kind).ok()?;
            }
        }
        if is_null(column) { None } else { value(&mut bytes, *wanted).ok().map(with) }
    }
}

/// Of an OK packet that ends a login; here so that the login need not know the state machine.
pub fn is_ok(packet: &[u8]) -> bool {
    packet.first() == Some(&OK_HEADER) && OkReply::parse(packet, protocol::Capabilities::PROTOCOL_41).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{Capabilities, IntBytes, NoClient, PacketWriter, ResultSink, RowFormat, RowWriter, ServerStatus};

    fn feed(reply: &mut Reply, writer: &PacketWriter) {
        let mut bytes = writer.bytes();
        while let [a, b, c, sequence, rest @ ..] = bytes {
            let length = usize::from(*a) | usize::from(*b) << 8 | usize::from(*c) << 16;
            assert!(!reply.is_done());
            reply.take(&rest[..length], *sequence).expect("well formed");
            bytes = &rest[length..];
        }
        assert!(reply.is_done());
    }

    fn result(format: RowFormat, capabilities: Capabilities) -> PacketWriter {
        let columns = [ColumnDefinition::expression(b"a", ColumnType::LongLong), ColumnDefinition::expression(b"b", ColumnType::VarString)];
        let (mut out, mut client) = (PacketWriter::new(), NoClient::default());
        let mut sink = ResultSink::new(&mut out, &mut client, capabilities, format);
        sink.columns(&columns, ServerStatus::AUTOCOMMIT);
        for n in 0..3 {
            let text = format!("row {n}");
            if format == RowFormat::Text {
                let mut row = sink.text_row();
                row.int(n - 1, IntBytes::Eight);
                row.bytes(text.as_bytes());
                row.end();
            } else {
                let mut row = sink.binary_row();
                if n == 2 {
                    row.null()
                } else {
                    row.int(n - 1, IntBytes::Eight)
                }
                row.bytes(text.as_bytes());
                row.end();
            }
            sink.row_done().expect("a client");
        }
        sink.finish(&OkReply::default());
        out
    }

    #[test]
    fn rows_are_read_in_both_formats_with_and_without_eof_packets() {
        for eof_packets in [false, true] {
            let capabilities = if eof_packets { Capabilities::PROTOCOL_41 } else { Capabilities::DEPRECATE_EOF };
            for format in [RowFormat::Text, RowFormat::Binary] {
                let mut reply = Reply { eof_packets, ..Reply::default() };
                reply.expect_result(format == RowFormat::Binary, true);
                feed(&mut reply, &result(format, capabilities));
                assert_eq!((reply.row_count(), reply.int(0, 0), reply.text(1, 1)), (3, -1, "row 1".to_owned()));
                assert_eq!(reply.int(2, 0), if format == RowFormat::Text { 1 } else { 0 });
                assert_eq!((reply.int(3, 0), reply.int(0, 2), reply.text(0, 9)), (0, 0, String::new()));
                reply.expect_result(format == RowFormat::Binary, false);
                feed(&mut reply, &result(format, capabilities));
                assert_eq!((reply.row_count(), reply.int(0, 0)), (3, 0));
            }
        }
    }

    #[test]
    fn errors_and_ok_end_a_reply() {
        let mut reply = Reply::default();
        let mut out = PacketWriter::new();
        OkReply { affected_rows: 7, ..OkReply::default() }.write(Capabilities::PROTOCOL_41, &mut out);
        reply.expect_result(false, false);
        feed(&mut reply, &out);
        assert_eq!(reply.affected_rows, 7);
        out.clear();
        ErrReply { code: 1213, sql_state: *b"40001", message: b"Deadlock" }.write(&mut out);
        reply.expect_result(true, false);
        feed(&mut reply, &out);
        assert_eq!(reply.error, Some(ServerError { code: 1213, message: "Deadlock".to_owned() }));
    }
}
