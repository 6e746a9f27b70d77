//! Column definitions: the metadata before the rows of a result.

use crate::codec::{Bytes, Malformed, put_lenenc_bytes};
use crate::constants::{ColumnFlags, ColumnType};
use crate::writer::PacketWriter;

/// One column of a result. Names are bytes in the result's character set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnDefinition<'a> {
    /// Database, or empty for an expression.
    pub schema: &'a [u8],
    /// Table alias, or empty.
    pub table: &'a [u8],
    /// Table, or empty.
    pub org_table: &'a [u8],
    /// Column alias.
    pub name: &'a [u8],
    /// Column, or empty for an expression.
    pub org_name: &'a [u8],
    /// Collation id; [`crate::constants::CHARSET_BINARY`] for numbers and binary strings.
    pub charset: u16,
    /// The longest value in bytes.
    pub length: u32,
    /// Type.
    pub column_type: ColumnType,
    /// Flags.
    pub flags: ColumnFlags,
    /// Digits after the point, or [`crate::constants::DECIMALS_NOT_FIXED`].
    pub decimals: u8,
}

impl<'a> ColumnDefinition<'a> {
    /// An expression's column: only a name and a type.
    pub const fn expression(name: &'a [u8], column_type: ColumnType) -> Self {
        Self {
            schema: b"",
            table: b"",
            org_table: b"",
            name,
            org_name: b"",
            charset: crate::constants::CHARSET_BINARY,
            length: 0,
            column_type,
            flags: ColumnFlags(0),
            decimals: 0,
        }
    }

    /// Appends the payload of a column definition packet.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\x03def");
        put_lenenc_bytes(out, self.schema);
        put_lenenc_bytes(out, self.table);
        put_lenenc_bytes(out, self.org_table);
        put_lenenc_bytes(out, self.name);
        put_lenenc_bytes(out, self.org_name);
        let (charset, length, flags) = (self.charset.to_le_bytes(), self.length.to_le_bytes(), self.flags.bits().to_le_bytes());
        out.extend_from_slice(&[
            0x0C,
            charset[0],
            charset[1],
            length[0],
            length[1],
            length[2],
            length[3],
            self.column_type as u8,
            flags[0],
            flags[1],
            self.decimals,
            0,
            0,
        ]);
    }

    /// Writes the packet.
    pub fn write(&self, out: &mut PacketWriter) {
        self.encode(out.begin());
        out.end();
    }

    /// Writes the packet as COM_FIELD_LIST wants it, with the default value at the end.
    pub fn write_with_default(&self, default: Option<&[u8]>, out: &mut PacketWriter) {
        let payload = out.begin();
        self.encode(payload);
        match default {
            Some(value) => put_lenenc_bytes(payload, value),
            None => payload.push(0xFB),
        }
        out.end();
    }

    /// Reads a column definition packet's payload.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut bytes = Bytes::new(payload);
        bytes.lenenc_bytes()?;
        let schema = bytes.lenenc_bytes()?;
        let table = bytes.lenenc_bytes()?;
        let org_table = bytes.lenenc_bytes()?;
        let name = bytes.lenenc_bytes()?;
        let org_name = bytes.lenenc_bytes()?;
        bytes.lenenc_int()?;
        Ok(Self {
            schema,
            table,
            org_table,
            name,
            org_name,
            charset: bytes.u16()?,
            length: bytes.u32()?,
            column_type: ColumnType::from_byte(bytes.u8()?).ok_or(Malformed)?,
            flags: ColumnFlags(bytes.u16()?),
            decimals: bytes.u8()?,
        })
    }
}

/// The head of a result (column count and definitions) encoded once, when a statement is planned, and copied into each reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnBlock {
    /// Whole packets, numbered from 1 as in the first reply to a command.
    bytes: Box<[u8]>,
    column_count: usize,
    /// Sequence ids that the packets take: a definition with a huge name takes several.
    frame_count: u8,
}

/// The sequence id that the packets of a block begin with.
const BLOCK_SEQUENCE: u8 = 1;

impl ColumnBlock {
    /// Encodes definitions.
    pub fn new(columns: &[ColumnDefinition<'_>]) -> Self {
        let mut out = PacketWriter::new();
        out.set_sequence(BLOCK_SEQUENCE);
        crate::codec::put_lenenc_int(out.begin(), columns.len() as u64);
        out.end();
        for column in columns {
            column.write(&mut out);
        }
        let frame_count = out.sequence().wrapping_sub(BLOCK_SEQUENCE);
        Self { bytes: out.bytes().into(), column_count: columns.len(), frame_count }
    }

    /// Columns of the result.
    pub const fn column_count(&self) -> usize {
        self.column_count
    }

    /// Bytes and sequence ids that the packets take.
    pub(crate) const fn extent(&self) -> (usize, u8) {
        (self.bytes.len(), self.frame_count)
    }

    /// Copies the packets to the end of `out`; they are renumbered when they are not the first of a reply.
    #[inline]
    pub fn write(&self, out: &mut PacketWriter) {
        let first = out.sequence();
        let start = out.append_packets(&self.bytes, self.frame_count);
        if first != BLOCK_SEQUENCE {
            out.renumber(start, first);
        }
    }
}
