//! Frames: the pieces that a server answers with and that a backup is made of.
//!
//! On the wire a frame is kind, numbers and body. In a part file a header of 44 bytes stands before the body, which may be compressed:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | `ALBF` |
//! | 4 | 1 | kind |
//! | 5 | 1 | 0 = stored as it is, 1 = zstd |
//! | 6 | 2 | zero |
//! | 8 | 8 | first |
//! | 16 | 8 | next |
//! | 24 | 4 | bytes of the body |
//! | 28 | 4 | bytes stored |
//! | 32 | 4 | crc32c of the bytes stored |
//! | 36 | 4 | number of the frame in its part |
//! | 40 | 4 | crc32c of bytes 0–39 |

use crate::{Error, Result};
use base::{Lsn, Reader, crc32c, put_bytes, put_u8, put_u32, put_u64};

/// Bytes of a frame's header in a part file.
pub(crate) const HEADER_BYTES: usize = 44;
/// No frame's body is longer.
pub(crate) const BODY_BYTES_MAX: usize = 256 << 20;
const MAGIC: u32 = u32::from_le_bytes(*b"ALBF");

/// What a frame holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The checkpoint: first = redo LSN, next = pages of the data file now. Body: [`Begin`].
    Begin = 1,
    /// Pages `first..next`: images of those that are not empty, each with its number in its header.
    Pages = 2,
    /// Pages `first..next` are those copied before this backup began anew.
    Same = 3,
    /// Bytes at `first` of the undo file; `next` is the number of the extent after it. Without a body: there are no more.
    Undo = 4,
    /// The log from `first` (a multiple of 4096) up to `next`.
    Log = 5,
    /// first = end LSN, next = the server's wall clock in microseconds. Body: pages of the data file as u64; then, where there is one, the file [`crate::SETTINGS`].
    End = 6,
    /// The log asked for is not there any more.
    Gone = 7,
    /// Done.
    Stopped = 8,
}

impl Kind {
    fn from_u8(number: u8) -> Option<Kind> {
        Some(match number {
            1 => Kind::Begin,
            2 => Kind::Pages,
            3 => Kind::Same,
            4 => Kind::Undo,
            5 => Kind::Log,
            6 => Kind::End,
            7 => Kind::Gone,
            8 => Kind::Stopped,
            _ => return None,
        })
    }
}

/// A piece of a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What it holds.
    pub kind: Kind,
    /// By kind.
    pub first: u64,
    /// By kind.
    pub next: u64,
    /// By kind.
    pub body: Vec<u8>,
}

impl Frame {
    /// For the wire.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(17 + self.body.len());
        put_u8(&mut out, self.kind as u8);
        put_u64(&mut out, self.first);
        put_u64(&mut out, self.next);
        out.extend_from_slice(&self.body);
        out
    }

    /// From the wire.
    pub fn decode(bytes: &[u8]) -> Result<Frame> {
        let mut r = Reader::new(bytes);
        let kind = Kind::from_u8(r.u8()?).ok_or_else(|| Error::Damaged("a frame of an unknown kind".into()))?;
        Ok(Frame { kind, first: r.u64()?, next: r.u64()?, body: r.rest().to_vec() })
    }
}

/// A frame's header as it stands in a part file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) compressed: bool,
    pub(crate) first: u64,
    pub(crate) next: u64,
    pub(crate) body_bytes: u32,
    pub(crate) stored_bytes: u32,
    pub(crate) stored_crc: u32,
    /// Number in its part.
    pub(crate) number: u32,
}

impl Header {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER_BYTES);
        put_u32(&mut out, MAGIC);
        put_u8(&mut out, self.kind as u8);
        put_u8(&mut out, u8::from(self.compressed));
        out.extend_from_slice(&[0, 0]);
        put_u64(&mut out, self.first);
        put_u64(&mut out, self.next);
        for number in [self.body_bytes, self.stored_bytes, self.stored_crc, self.number] {
            put_u32(&mut out, number);
        }
        let crc = crc32c(&out);
        put_u32(&mut out, crc);
        out
    }

    /// `None` for bytes that are no header.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Header> {
        let mut r = Reader::new(bytes);
        if r.u32().ok()? != MAGIC || bytes.len() < HEADER_BYTES {
            return None;
        }
        let (kind, compressed, _) = (r.u8().ok()?, r.u8().ok()?, r.u16().ok()?);
        let header = Header {
            kind: Kind::from_u8(kind)?,
            compressed: compressed != 0,
            first: r.u64().ok()?,
            next: r.u64().ok()?,
            body_bytes: r.u32().ok()?,
            stored_bytes: r.u32().ok()?,
            stored_crc: r.u32().ok()?,
            number: r.u32().ok()?,
        };
        let fits = r.u32().ok()? == crc32c(&bytes[..HEADER_BYTES - 4]);
        let sane = compressed < 2 && header.body_bytes as usize <= BODY_BYTES_MAX && header.stored_bytes as usize <= BODY_BYTES_MAX;
        (fits && sane).then_some(header)
    }

    /// The body out of what is stored.
    pub(crate) fn body(&self, stored: Vec<u8>) -> Result<Vec<u8>> {
        if stored.len() != self.stored_bytes as usize || crc32c(&stored) != self.stored_crc {
            return Err(Error::Damaged("a frame does not fit its checksum".into()));
        }
        let body = match self.compressed {
            false => stored,
            true => zstd::bulk::decompress(&stored, self.body_bytes as usize)
                .map_err(|error| Error::Damaged(format!("a compressed frame: {error}")))?,
        };
        if body.len() != self.body_bytes as usize {
            return Err(Error::Damaged("a frame is shorter than it says".into()));
        }
        Ok(body)
    }
}

/// What a backup starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begin {
    /// Bytes of a log segment.
    pub segment_bytes: u64,
    /// Epoch of the log.
    pub epoch: u32,
    /// The server's wall clock, in microseconds.
    pub wall_us: i64,
    /// The program that the server is.
    pub program: String,
    /// The checkpoint's payload.
    pub payload: Vec<u8>,
}

impl Begin {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64 + self.payload.len());
        put_u8(&mut out, 1);
        put_u64(&mut out, self.segment_bytes);
        put_u32(&mut out, self.epoch);
        put_u64(&mut out, self.wall_us as u64);
        put_bytes(&mut out, self.program.as_bytes());
        put_bytes(&mut out, &self.payload);
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Begin> {
        let mut r = Reader::new(bytes);
        let version = r.u8()?;
        if version != 1 {
            return Err(Error::Refused(format!("the backup has format {version}; this program reads format 1")));
        }
        Ok(Begin {
            segment_bytes: r.u64()?,
            epoch: r.u32()?,
            wall_us: r.u64()? as i64,
            program: String::from_utf8_lossy(r.bytes()?).into_owned(),
            payload: r.bytes()?.to_vec(),
        })
    }

    /// Where the copy of the log begins: the block of the redo LSN.
    pub(crate) fn log_start(redo_lsn: Lsn) -> Lsn {
        let block = env::DIRECT_ALIGN as u64;
        Lsn(redo_lsn.0 / block * block)
    }
}

/// The file of settings in the body of an [`Kind::End`] frame; backups made before it was copied have none.
pub(crate) fn settings_of_end(body: &[u8]) -> Result<&[u8]> {
    let mut r = Reader::new(body);
    r.u64()?;
    Ok(if r.is_empty() { &[] } else { r.bytes()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_and_headers_round_trip_and_a_flipped_bit_is_found() {
        let frame = Frame { kind: Kind::Log, first: 4096, next: 5000, body: b"log".to_vec() };
        assert_eq!(Frame::decode(&frame.encode()), Ok(frame));
        assert!(Frame::decode(&[99; 40]).is_err());
        let header =
            Header { kind: Kind::Pages, compressed: true, first: 64, next: 128, body_bytes: 9, stored_bytes: 4, stored_crc: 7, number: 3 };
        let bytes = header.encode();
        assert_eq!((bytes.len(), Header::decode(&bytes)), (HEADER_BYTES, Some(header)));
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Header::decode(&damaged), None, "bit {bit}");
        }
        let begin = Begin { segment_bytes: 1 << 20, epoch: 7, wall_us: -5, program: "x".into(), payload: vec![1, 2] };
        assert_eq!(Begin::decode(&begin.encode()), Ok(begin));
    }
}
