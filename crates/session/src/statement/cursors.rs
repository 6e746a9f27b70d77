//! Cursors that the server keeps: a result is made whole at execution and handed out by COM_STMT_FETCH.
//!
//! # Invariants
//! 1. A cursor holds the rows as packets, made under the statement's memory limit (1038); they are booked while it is open.
//! 2. It depends on nothing any more: COMMIT, ROLLBACK and DDL leave it open, as in MySQL. Executing, resetting or closing its statement closes it.

use crate::client_session::ClientSession;
use crate::statement::prepared::CursorUse;
use memory::{Kind, Use};
use mysql_error::codes;
use protocol::command::Execute;
use protocol::execute::{CURSOR_FOR_UPDATE, CURSOR_READ_ONLY, CURSOR_SCROLLABLE};
use protocol::packet::logical_packet_bytes;
use protocol::reply::{ERR_HEADER, OK_HEADER};
use protocol::{Bytes, Capabilities, ClientGone, ClientIo, OkReply, PacketWriter, ResultSink, RowFormat, ServerStatus};

/// Rows of an executed statement that its client fetches.
pub(crate) struct Cursor {
    /// Packets of rows.
    rows: Vec<u8>,
    /// Where the next one begins.
    at: usize,
    /// Books what it holds.
    _held: Use,
}

/// Collects what would be sent.
#[derive(Default)]
struct Collector {
    bytes: Vec<u8>,
}

impl ClientIo for Collector {
    fn flush(&mut self, out: &mut PacketWriter) -> Result<(), ClientGone> {
        memory::reserve(&mut self.bytes, out.len()).map_err(|_| ClientGone::NoMemory)?;
        self.bytes.extend_from_slice(out.bytes());
        out.clear();
        Ok(())
    }

    fn read_packet(&mut self) -> Result<&[u8], ClientGone> {
        // No statement that opens a cursor uploads anything.
        Err(ClientGone::Disconnected)
    }

    fn reply_sequence(&self) -> u8 {
        0
    }
}

/// Where in a collected result rows begin, and where they end.
struct Parts {
    head_end: usize,
    rows_start: usize,
    rows_end: usize,
}

/// Takes a result apart; `None` when it is not one with rows.
fn parts(reply: &[u8], deprecate_eof: bool) -> Option<Parts> {
    let first = logical_packet_bytes(reply)?;
    let payload = reply.get(protocol::packet::HEADER_BYTES..first)?;
    if matches!(payload.first(), None | Some(&(OK_HEADER | ERR_HEADER))) {
        return None;
    }
    let columns = Bytes::new(payload).lenenc_int().ok()?;
    let mut head_end = first;
    for _ in 0..columns {
        head_end += logical_packet_bytes(&reply[head_end..])?;
    }
    let rows_start = if deprecate_eof { head_end } else { head_end + logical_packet_bytes(&reply[head_end..])? };
    let (mut at, mut rows_end) = (rows_start, rows_start);
    while let Some(bytes) = logical_packet_bytes(&reply[at..]) {
        rows_end = at;
        at += bytes;
    }
    Some(Parts { head_end, rows_start, rows_end })
}

impl ClientSession {
    /// COM_STMT_EXECUTE, with or without a cursor.
    pub(crate) fn execute_command(&mut self, execute: &Execute<'_>, out: &mut PacketWriter, io: &mut dyn ClientIo) {
        self.prepared.set_cursor(execute.statement_id, None);
        let wanted = execute.flags & (CURSOR_READ_ONLY | CURSOR_FOR_UPDATE | CURSOR_SCROLLABLE) == CURSOR_READ_ONLY;
        match if wanted { self.prepared.cursor_use(execute.statement_id) } else { None } {
            Some(CursorUse::Opens) => self.open_cursor(execute, out, io),
            Some(CursorUse::Refused) => {
                let mut sink = ResultSink::new(out, io, self.core.login.capabilities, RowFormat::Binary);
                self.fail(&mut sink, codes::sp_bad_cursor_select().into());
            }
            _ => {
                let mut sink = ResultSink::new(out, io, self.core.login.capabilities, RowFormat::Binary);
                self.execute_prepared(execute, &mut sink);
            }
        }
    }

    #[inline(never)]
    fn open_cursor(&mut self, execute: &Execute<'_>, out: &mut PacketWriter, io: &mut dyn ClientIo) {
        let capabilities = self.core.login.capabilities;
        let (mut collected, mut collector) = (PacketWriter::new(), Collector::default());
        let mut sink = ResultSink::new(&mut collected, &mut collector, capabilities, RowFormat::Binary);
        let done = self.try_execute_prepared(execute, &mut sink);
        collected.abandon();
        if let Err(outcome) = done {
            let mut sink = ResultSink::new(out, io, capabilities, RowFormat::Binary);
            return self.fail(&mut sink, outcome);
        }
        let gathered = collector.flush(&mut collected);
        let mut reply = collector.bytes;
        if gathered.is_err() {
            let error = self.stop_error();
            let mut sink = ResultSink::new(out, io, capabilities, RowFormat::Binary);
            return self.fail(&mut sink, error.into());
        }
        let Some(parts) = parts(&reply, capabilities.contains(Capabilities::DEPRECATE_EOF)) else {
            return out.append_numbered(&reply);
        };
        out.append_numbered(&reply[..parts.head_end]);
        let mut status = self.server_status();
        status.insert(ServerStatus::CURSOR_EXISTS);
        let warnings = self.core.diagnostics.warning_count();
        OkReply { status, warnings, ..OkReply::default() }.write_end_of_rows(capabilities, out);
        reply.truncate(parts.rows_end);
        reply.drain(..parts.rows_start);
        let held = Use::new(Kind::Prepared, reply.capacity() as u64);
        self.prepared.set_cursor(execute.statement_id, Some(Cursor { rows: reply, at: 0, _held: held }));
    }

    /// COM_STMT_FETCH.
    pub(crate) fn fetch(&mut self, id: u32, row_count: u32, out: &mut PacketWriter, io: &mut dyn ClientIo) {
        self.shared().status.com_stmt_fetch.inc();
        let capabilities = self.core.login.capabilities;
        let mut status = self.server_status();
        let error = match self.prepared.cursor(id) {
            None => codes::unknown_stmt_handler(id, "mysql_stmt_precheck"),
            Some(None) => codes::stmt_has_no_open_cursor(id),
            Some(Some(cursor)) => {
                let mut left = row_count;
                while left > 0 {
                    let Some(bytes) = logical_packet_bytes(&cursor.rows[cursor.at..]) else { break };
                    out.append_numbered(&cursor.rows[cursor.at..cursor.at + bytes]);
                    cursor.at += bytes;
                    left -= 1;
                    if out.len() >= protocol::result::FLUSH_BYTES && io.flush(out).is_err() {
                        // The client has gone; the reply that is sent next finds it out.
                        break;
                    }
                }
                // A client learns that there are no more rows by getting fewer than it asked for.
                if left > 0 {
                    status.insert(ServerStatus::LAST_ROW_SENT);
                    self.prepared.set_cursor(id, None);
                } else {
                    status.insert(ServerStatus::CURSOR_EXISTS);
                }
                return OkReply { status, ..OkReply::default() }.write_end_of_rows(capabilities, out);
            }
        };
        ResultSink::new(out, io, capabilities, RowFormat::Binary).error(&error);
    }
}
