//! [`ResultSink`]: through which a statement writes its reply.
//!
//! A reply is either `ok`, or `error`, or column definitions, rows and `finish`. Rows are opened with
//! [`ResultSink::text_row`] or [`ResultSink::binary_row`] (or many at a time with [`ResultSink::rows`]), written with [`crate::row::RowWriter`], and followed by [`ResultSink::row_done`],
//! which sends what has piled up once it is worth a system call. So a short result leaves in one write together with its
//! end, and a long one never takes more memory than the threshold plus one row.

use mysql_error::SqlError;

use crate::client_io::{ClientGone, ClientIo};
use crate::column::{ColumnBlock, ColumnDefinition};
use crate::constants::{Capabilities, ServerStatus};
use crate::reply::{ErrReply, OkReply, write_eof};
use crate::row::{BinaryRow, TextRow};
use crate::rows::RowRun;
use crate::writer::PacketWriter;

/// Bytes after which rows are sent while the statement goes on.
pub const FLUSH_BYTES: usize = 64 * 1024;

/// An EOF packet with its header.
const EOF_PACKET_BYTES: usize = 9;

/// How rows are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowFormat {
    /// COM_QUERY.
    Text,
    /// COM_STMT_EXECUTE.
    Binary,
}

/// Writes one reply; see the module's text.
pub struct ResultSink<'a> {
    out: &'a mut PacketWriter,
    io: &'a mut dyn ClientIo,
    capabilities: Capabilities,
    format: RowFormat,
    column_count: usize,
    row_count: u64,
}

impl<'a> ResultSink<'a> {
    /// A sink over the connection's buffer.
    #[inline]
    pub fn new(out: &'a mut PacketWriter, io: &'a mut dyn ClientIo, capabilities: Capabilities, format: RowFormat) -> Self {
        Self { out, io, capabilities, format, column_count: 0, row_count: 0 }
    }

    /// Text or binary rows.
    pub const fn format(&self) -> RowFormat {
        self.format
    }

    /// What client and server agreed on.
    pub const fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// Rows written since the last column definitions.
    pub const fn row_count(&self) -> u64 {
        self.row_count
    }

    /// Counts rows anew, for a statement that may have none of its own.
    pub const fn forget_rows(&mut self) {
        self.row_count = 0;
    }

    /// The packet buffer, for replies of another shape (COM_STATISTICS, prepared statements).
    pub const fn packets(&mut self) -> &mut PacketWriter {
        self.out
    }

    /// The client's connection, for LOCAL INFILE.
    pub fn client(&mut self) -> (&mut PacketWriter, &mut dyn ClientIo) {
        (self.out, self.io)
    }

    /// See [`ClientIo::may_reply_later`].
    #[inline]
    pub fn may_reply_later(&self) -> bool {
        self.io.may_reply_later()
    }

    /// Writes the head of a result: column count, definitions, and the EOF that older clients want.
    pub fn columns(&mut self, columns: &[ColumnDefinition<'_>], status: ServerStatus) {
        self.begin_result(columns.len());
        for column in columns {
            column.write(self.out);
        }
        self.end_columns(status);
    }

    /// The same from definitions that were encoded when the statement was planned: one copy.
    #[inline]
    pub fn column_block(&mut self, block: &ColumnBlock, status: ServerStatus) {
        self.column_count = block.column_count();
        self.row_count = 0;
        block.write(self.out);
        self.end_columns(status);
    }

    /// Takes the head of a result back that [`ResultSink::column_block`] has just written, so that an error comes in its place.
    #[cold]
    pub fn take_back_block(&mut self, block: &ColumnBlock) {
        let (mut bytes, mut frames) = block.extent();
        if !self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            bytes += EOF_PACKET_BYTES;
            frames = frames.wrapping_add(1);
        }
        self.out.take_back(bytes, frames);
    }

    fn begin_result(&mut self, column_count: usize) {
        self.column_count = column_count;
        self.row_count = 0;
        crate::codec::put_lenenc_int(self.out.begin(), column_count as u64);
        self.out.end();
    }

    #[inline]
    fn end_columns(&mut self, status: ServerStatus) {
        if !self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            write_eof(status, 0, self.out);
        }
    }

    /// Opens a text row.
    #[inline]
    pub fn text_row(&mut self) -> TextRow<'_> {
        debug_assert_eq!(self.format, RowFormat::Text);
        TextRow::begin(self.out)
    }

    /// Opens a binary row.
    #[inline]
    pub fn binary_row(&mut self) -> BinaryRow<'_> {
        debug_assert_eq!(self.format, RowFormat::Binary);
        BinaryRow::begin(self.out, self.column_count)
    }

    /// Opens a run of rows. When it ends, and whenever it is full, [`ResultSink::rows_done`] must follow.
    pub fn rows(&mut self) -> RowRun<'_> {
        RowRun::begin(self.out, self.column_count)
    }

    /// After so many rows of a run: as [`ResultSink::row_done`].
    #[inline]
    pub fn rows_done(&mut self, count: u64) -> Result<(), ClientGone> {
        self.row_count += count;
        if self.out.len() >= FLUSH_BYTES { self.flush() } else { self.look_starved() }
    }

    /// After each row: sends what has piled up if that is much. Fails also where the row found no memory; it has been taken back then.
    #[inline]
    pub fn row_done(&mut self) -> Result<(), ClientGone> {
        self.rows_done(1)
    }

    /// Fails when the last row found no memory; it has been taken back then.
    #[inline]
    pub fn look_starved(&mut self) -> Result<(), ClientGone> {
        if self.out.take_starved() { Err(ClientGone::NoMemory) } else { Ok(()) }
    }

    /// Sends everything written so far.
    #[cold]
    pub fn flush(&mut self) -> Result<(), ClientGone> {
        self.look_starved()?;
        self.io.flush(self.out)
    }

    /// Ends the rows. Only `status` and `warnings` of `ok` reach older clients.
    #[inline]
    pub fn finish(&mut self, ok: &OkReply<'_>) {
        ok.write_end_of_rows(self.capabilities, self.out);
    }

    /// The reply of a statement without rows.
    #[inline]
    pub fn ok(&mut self, ok: &OkReply<'_>) {
        ok.write(self.capabilities, self.out);
    }

    /// The statement failed; an open row is taken back. Allowed at any point of a result.
    pub fn error(&mut self, error: &SqlError) {
        ErrReply::from(error).write(self.out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client_io::NoClient;
    use crate::constants::ColumnType;
    use crate::row::{IntBytes, RowWriter};

    #[test]
    fn a_block_with_a_huge_name_takes_as_many_sequence_ids_as_it_has_frames() {
        let name = vec![b'n'; 20 << 20];
        let block = ColumnBlock::new(&[ColumnDefinition::expression(&name, ColumnType::LongLong)]);
        let (mut out, mut client) = (PacketWriter::new(), NoClient::default());
        out.set_sequence(1);
        ResultSink::new(&mut out, &mut client, Capabilities::PROTOCOL_41, RowFormat::Text).column_block(&block, ServerStatus::AUTOCOMMIT);
        // The count, two frames of the definition, the end of the head.
        assert_eq!(out.sequence(), 5);
    }

    #[test]
    fn a_long_result_is_sent_in_pieces_and_a_block_equals_definitions() {
        let columns = [ColumnDefinition::expression(b"a", ColumnType::LongLong), ColumnDefinition::expression(b"b", ColumnType::VarString)];
        let run = |block: Option<&ColumnBlock>, first_sequence: u8| {
            let (mut out, mut client) = (PacketWriter::new(), NoClient::default());
            out.set_sequence(first_sequence);
            let mut sink = ResultSink::new(&mut out, &mut client, Capabilities::PROTOCOL_41, RowFormat::Text);
            match block {
                Some(block) => sink.column_block(block, ServerStatus::AUTOCOMMIT),
                None => sink.columns(&columns, ServerStatus::AUTOCOMMIT),
            }
            for number in 0..2_000 {
                let mut row = sink.text_row();
                row.int(number, IntBytes::Eight);
                row.bytes(&[b'x'; 100]);
                row.end();
                sink.row_done().expect("nobody hangs up");
            }
            assert_eq!(sink.row_count(), 2_000);
            sink.finish(&OkReply::default());
            assert!(client.sent.len() > FLUSH_BYTES && out.capacity() < 4 * FLUSH_BYTES);
            client.flush(&mut out).expect("nobody hangs up");
            client.sent
        };
        let block = ColumnBlock::new(&columns);
        for first_sequence in [1, 2, 200, 254, 255] {
            assert!(run(None, first_sequence) == run(Some(&block), first_sequence));
        }
    }

    #[test]
    fn a_head_that_is_taken_back_leaves_no_trace() {
        let block = ColumnBlock::new(&[ColumnDefinition::expression(b"a", ColumnType::LongLong)]);
        for capabilities in [Capabilities::PROTOCOL_41, Capabilities::PROTOCOL_41 | Capabilities::DEPRECATE_EOF] {
            let (mut out, mut client) = (PacketWriter::new(), NoClient::default());
            out.set_sequence(1);
            out.packet(b"the reply before");
            let (length, sequence) = (out.len(), out.sequence());
            let mut sink = ResultSink::new(&mut out, &mut client, capabilities, RowFormat::Text);
            sink.column_block(&block, ServerStatus::AUTOCOMMIT);
            sink.text_row().bytes(b"half a row");
            sink.take_back_block(&block);
            assert_eq!((out.len(), out.sequence()), (length, sequence));
        }
    }

    #[test]
    fn an_error_in_the_middle_of_a_row_takes_the_row_back() {
        let (mut out, mut client) = (PacketWriter::new(), NoClient::default());
        let mut sink = ResultSink::new(&mut out, &mut client, Capabilities::PROTOCOL_41, RowFormat::Text);
        let mut row = sink.text_row();
        row.bytes(b"half a row");
        sink.error(&SqlError::with_message(1317, "stop"));
        assert_eq!(out.bytes()[..5], [13, 0, 0, 0, 0xFF]);
        assert_eq!(out.len(), 17);
    }
}
