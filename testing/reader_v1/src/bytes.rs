//! Numbers, varints and the checksum.

use crate::Problem;

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// CRC-32C (Castagnoli, reflected, all ones at the beginning and inverted at the end), going on from `before`.
pub(crate) fn crc32c(bytes: &[u8], before: u32) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut n = 0;
        while n < 256 {
            let mut value = n as u32;
            let mut bit = 0;
            while bit < 8 {
                value = if value & 1 == 1 { value >> 1 ^ 0x82f6_3b78 } else { value >> 1 };
                bit += 1;
            }
            table[n] = value;
            n += 1;
        }
        table
    };
    !bytes.iter().fold(!before, |sum, byte| sum >> 8 ^ TABLE[((sum ^ u32::from(*byte)) & 255) as usize])
}

/// Reads from the front.
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(rest: &'a [u8]) -> Cursor<'a> {
        Cursor { rest }
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Problem> {
        let (first, rest) = self.rest.split_first().ok_or("bytes end too early")?;
        self.rest = rest;
        Ok(*first)
    }

    pub(crate) fn varint(&mut self) -> Result<u64, Problem> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.byte()?;
            value |= u64::from(byte & 127).checked_shl(shift).ok_or("a varint too long")?;
            shift += 7;
            if byte & 128 == 0 {
                return Ok(value);
            }
        }
    }

    /// Bytes with their length before them.
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Problem> {
        let length = self.varint()? as usize;
        let (first, rest) = self.rest.split_at_checked(length).ok_or("bytes end too early")?;
        self.rest = rest;
        Ok(first)
    }

    pub(crate) fn text(&mut self) -> Result<String, Problem> {
        String::from_utf8(self.bytes()?.to_vec()).map_err(|_| "text that is no UTF-8".into())
    }
}
