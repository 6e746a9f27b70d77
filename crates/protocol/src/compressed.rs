//! The compressed protocol: the stream of packets is cut into frames, each compressed by itself or not at all.
//!
//! | bytes | of a frame |
//! |---|---|
//! | 3 | length of what follows the head |
//! | 1 | sequence id, counted by itself: from 0 at each command |
//! | 3 | length before compression; 0: it is not compressed |
//!
//! # Invariants
//! 1. A frame is handed on only when all of it was decoded to exactly the length it announced: a broken one hands on nothing.
//! 2. Memory grows with bytes that arrived, and with one frame decoded: never beyond [`FRAME_PAYLOAD_MAX`], whatever is announced.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use crate::packet::FRAME_PAYLOAD_MAX;

/// Bytes before each frame.
const HEAD_BYTES: usize = 7;
/// What is shorter is not worth it.
const COMPRESS_BYTES_MIN: usize = 50;
/// Bytes that go into one frame where there is no memory for more. Otherwise as many as fit: mysql-connector-python takes a packet in several
/// frames only if all but the last are full.
const PIECE_BYTES_MIN: usize = 64 * 1024;
/// Bytes a reader asks for at least.
const ROOM_MIN: usize = 4 * 1024;
/// What an idle connection keeps in each buffer.
const IDLE_BYTES: usize = 8 * 1024;
/// Level of zlib, as MySQL's.
pub const ZLIB_LEVEL: u8 = 6;
/// Level of zstd for clients that say none.
pub const ZSTD_LEVEL: u8 = 3;
/// The highest level of zstd.
pub const ZSTD_LEVEL_MAX: u8 = 22;
/// What the states of compression and decompression take, roughly.
const STATE_BYTES: usize = 384 * 1024;

/// How frames are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// CLIENT_COMPRESS.
    Zlib,
    /// CLIENT_ZSTD_COMPRESSION_ALGORITHM, with its level.
    Zstd(u8),
}

impl Algorithm {
    /// The name in variables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zlib => "zlib",
            Self::Zstd(_) => "zstd",
        }
    }

    /// The level.
    pub const fn level(self) -> u8 {
        match self {
            Self::Zlib => ZLIB_LEVEL,
            Self::Zstd(level) => level,
        }
    }
}

/// Why frames cannot be decoded; the connection is of no use any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// Bytes that are not what they announce, or out of order.
    Frame,
    /// There is no memory for it.
    NoMemory,
}

fn length(bytes: &[u8]) -> usize {
    usize::from(bytes[0]) | usize::from(bytes[1]) << 8 | usize::from(bytes[2]) << 16
}

/// Bytes that were decoded and not yet taken.
#[derive(Debug, Clone, Copy)]
enum Waiting {
    None,
    /// Not compressed: they lie where they arrived.
    Arrived {
        start: usize,
        end: usize,
    },
    /// In `plain`, from here on.
    Decoded(usize),
}

/// Decodes what arrives.
///
/// Use: `take`; when it yields nothing, `decode`; when that finds no whole frame, receive into `room`, and tell `filled`.
pub struct CompressedReader {
    algorithm: Algorithm,
    raw: Vec<u8>,
    start: usize,
    end: usize,
    plain: Vec<u8>,
    waiting: Waiting,
    /// Sequence id of the next frame, unless a command begins.
    sequence: u8,
    inflate: Option<Decompress>,
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl std::fmt::Debug for CompressedReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompressedReader").field("algorithm", &self.algorithm).field("waiting", &self.waiting).finish_non_exhaustive()
    }
}

impl CompressedReader {
    /// A reader of what `arrived` already.
    pub fn new(algorithm: Algorithm, arrived: Vec<u8>) -> Self {
        let end = arrived.len();
        let (plain, waiting) = (Vec::new(), Waiting::None);
        Self { algorithm, raw: arrived, start: 0, end, plain, waiting, sequence: 0, inflate: None, zstd: None }
    }

    /// Copies decoded bytes out; 0 when none wait.
    pub fn take(&mut self, room: &mut [u8]) -> usize {
        let (from, left) = match self.waiting {
            Waiting::None => return 0,
            Waiting::Arrived { start, end } => (&self.raw[start..end], end),
            Waiting::Decoded(taken) => (&self.plain[taken..], self.plain.len()),
        };
        let count = room.len().min(from.len());
        room[..count].copy_from_slice(&from[..count]);
        self.waiting = match self.waiting {
            Waiting::Arrived { start, .. } if start + count < left => Waiting::Arrived { start: start + count, end: left },
            Waiting::Decoded(taken) if taken + count < left => Waiting::Decoded(taken + count),
            _ => Waiting::None,
        };
        count
    }

    /// Whether `take` or `decode` has something without more bytes from the client.
    pub fn has_input(&self) -> bool {
        let raw = &self.raw[self.start..self.end];
        !matches!(self.waiting, Waiting::None) || (raw.len() >= HEAD_BYTES && raw.len() >= HEAD_BYTES + length(raw))
    }

    /// The sequence id that the next frame to the client carries.
    pub const fn reply_sequence(&self) -> u8 {
        self.sequence
    }

    /// Frames were sent: the client counts on from here.
    pub const fn set_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// Decodes the next frame, if it has arrived wholly; all decoded before was taken. True when it did.
    pub fn decode(&mut self) -> Result<bool, Broken> {
        debug_assert!(matches!(self.waiting, Waiting::None), "bytes wait to be taken");
        let raw = &self.raw[self.start..self.end];
        if raw.len() < HEAD_BYTES {
            return Ok(false);
        }
        let (packed, plain) = (length(raw), length(&raw[4..]));
        // A command begins at 0; all else counts on.
        if raw[3] != self.sequence && raw[3] != 0 {
            return Err(Broken::Frame);
        }
        if raw.len() < HEAD_BYTES + packed {
            return Ok(false);
        }
        self.sequence = raw[3].wrapping_add(1);
        let body = self.start + HEAD_BYTES;
        self.start = body + packed;
        if plain == 0 {
            self.waiting = if packed == 0 { Waiting::None } else { Waiting::Arrived { start: body, end: body + packed } };
            return Ok(true);
        }
        self.plain.clear();
        memory::reserve_shared(&mut self.plain, plain).map_err(|_| Broken::NoMemory)?;
        let body = &self.raw[body..body + packed];
        let whole = match self.algorithm {
            Algorithm::Zlib => {
                let inflate = self.inflate.get_or_insert_with(|| Decompress::new(true));
                inflate.reset(true);
                // Not a byte more than announced: the vector takes what it has room for.
                self.plain.shrink_to(plain);
                let done = inflate.decompress_vec(body, &mut self.plain, FlushDecompress::Finish);
                matches!(done, Ok(Status::StreamEnd)) && inflate.total_in() == packed as u64
            }
            Algorithm::Zstd(_) => {
                if self.zstd.is_none() {
                    self.zstd = Some(zstd::bulk::Decompressor::new().map_err(|_| Broken::NoMemory)?);
                }
                self.plain.resize(plain, 0);
                let zstd = self.zstd.as_mut().ok_or(Broken::NoMemory)?;
                zstd.decompress_to_buffer(body, &mut self.plain[..]).is_ok_and(|count| count == plain)
            }
        };
        if !whole || self.plain.len() != plain {
            return Err(Broken::Frame);
        }
        self.waiting = Waiting::Decoded(0);
        Ok(true)
    }

    /// Free space to receive into.
    pub fn room(&mut self) -> Result<&mut [u8], Broken> {
        if self.start > 0 && matches!(self.waiting, Waiting::None) {
            self.raw.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.raw.len() - self.end < ROOM_MIN {
            // Twice as much as has arrived, and never more than a frame.
            let more = self.end.clamp(ROOM_MIN, FRAME_PAYLOAD_MAX);
            let growth = self.end + more - self.raw.len();
            memory::reserve_shared(&mut self.raw, growth).map_err(|_| Broken::NoMemory)?;
            self.raw.resize(self.end + more, 0);
        }
        Ok(&mut self.raw[self.end..])
    }

    /// So many bytes were received.
    pub fn filled(&mut self, count: usize) {
        self.end += count;
        assert!(self.end <= self.raw.len(), "more bytes than there was room for");
    }

    /// Gives back what an idle connection does not need.
    pub fn shrink(&mut self) {
        if matches!(self.waiting, Waiting::None) {
            self.plain = Vec::new();
            if self.start == self.end && self.raw.len() > IDLE_BYTES {
                self.raw = Vec::new();
                (self.start, self.end) = (0, 0);
            }
        }
    }

    /// Memory held.
    pub fn bytes(&self) -> usize {
        self.raw.capacity() + self.plain.capacity() + if self.inflate.is_some() || self.zstd.is_some() { STATE_BYTES } else { 0 }
    }
}

/// Makes frames.
pub struct CompressedWriter {
    algorithm: Algorithm,
    deflate: Option<Compress>,
    zstd: Option<zstd::bulk::Compressor<'static>>,
    out: Vec<u8>,
}

impl std::fmt::Debug for CompressedWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompressedWriter").field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}

impl CompressedWriter {
    /// A writer.
    pub const fn new(algorithm: Algorithm) -> Self {
        Self { algorithm, deflate: None, zstd: None, out: Vec::new() }
    }

    /// Makes one frame of the first bytes; the frame, and how many bytes are in it.
    pub fn frame(&mut self, bytes: &[u8], sequence: u8) -> (&[u8], usize) {
        self.out.clear();
        let most = bytes.len().min(FRAME_PAYLOAD_MAX);
        let there_is_room = memory::reserve_shared(&mut self.out, HEAD_BYTES + most).is_ok();
        let piece = &bytes[..if there_is_room { most } else { most.min(PIECE_BYTES_MIN) }];
        self.out.resize(HEAD_BYTES, 0);
        let packed = piece.len() >= COMPRESS_BYTES_MIN && self.pack(piece);
        if !packed {
            self.out.truncate(HEAD_BYTES);
            self.out.extend_from_slice(piece);
        }
        let length = (self.out.len() - HEAD_BYTES) as u32 | u32::from(sequence) << 24;
        let plain = if packed { piece.len() as u32 } else { 0 };
        self.out[..4].copy_from_slice(&length.to_le_bytes());
        self.out[4..HEAD_BYTES].copy_from_slice(&plain.to_le_bytes()[..3]);
        (&self.out, piece.len())
    }

    /// Appends a piece compressed; false when it is not shorter then.
    fn pack(&mut self, piece: &[u8]) -> bool {
        self.out.resize(HEAD_BYTES + piece.len() - 1, 0);
        let room = &mut self.out[HEAD_BYTES..];
        let length = match self.algorithm {
            Algorithm::Zlib => {
                let deflate = self.deflate.get_or_insert_with(|| Compress::new(Compression::new(ZLIB_LEVEL.into()), true));
                deflate.reset();
                match deflate.compress(piece, room, FlushCompress::Finish) {
                    Ok(Status::StreamEnd) => Some(deflate.total_out() as usize),
                    _ => None,
                }
            }
            Algorithm::Zstd(level) => {
                if self.zstd.is_none() {
                    self.zstd = zstd::bulk::Compressor::new(level.into()).ok();
                }
                self.zstd.as_mut().and_then(|zstd| zstd.compress_to_buffer(piece, room).ok())
            }
        };
        let Some(length) = length else { return false };
        self.out.truncate(HEAD_BYTES + length);
        true
    }

    /// Gives back what an idle connection does not need.
    pub fn shrink(&mut self) {
        self.out = Vec::new();
    }

    /// Memory held.
    pub fn bytes(&self) -> usize {
        self.out.capacity() + if self.deflate.is_some() || self.zstd.is_some() { STATE_BYTES } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(algorithm: Algorithm, mut bytes: &[u8]) -> Vec<u8> {
        let (mut writer, mut frames, mut sequence) = (CompressedWriter::new(algorithm), Vec::new(), 0u8);
        while !bytes.is_empty() {
            let (frame, count) = writer.frame(bytes, sequence);
            frames.extend_from_slice(frame);
            bytes = &bytes[count..];
            sequence = sequence.wrapping_add(1);
        }
        frames
    }

    /// Decodes what comes in pieces of so many bytes.
    fn decode(algorithm: Algorithm, frames: &[u8], piece: usize) -> Result<Vec<u8>, Broken> {
        let mut reader = CompressedReader::new(algorithm, Vec::new());
        let (mut plain, mut room) = (Vec::new(), [0; 1000]);
        for part in frames.chunks(piece) {
            let mut part = part;
            while !part.is_empty() {
                let into = reader.room()?;
                let count = into.len().min(part.len());
                into[..count].copy_from_slice(&part[..count]);
                reader.filled(count);
                part = &part[count..];
                while reader.decode()? {
                    loop {
                        match reader.take(&mut room) {
                            0 => break,
                            count => plain.extend_from_slice(&room[..count]),
                        }
                    }
                }
            }
        }
        Ok(plain)
    }

    fn sample(length: usize) -> Vec<u8> {
        // Half of it can be compressed.
        let mut state = 7u32;
        let noise = std::iter::repeat_with(move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        });
        noise.take(length / 2).chain(std::iter::repeat_n(b'x', length - length / 2)).collect()
    }

    #[test]
    fn what_is_encoded_comes_back_however_it_arrives() {
        for algorithm in [Algorithm::Zlib, Algorithm::Zstd(3), Algorithm::Zstd(19)] {
            for length in [0, 1, 49, 50, 1_000, 700_000] {
                let plain = sample(length);
                let frames = encode(algorithm, &plain);
                assert!(length < 1_000 || frames.len() < length * 3 / 4, "{algorithm:?} {length} {}", frames.len());
                for piece in [1, 7, 4096, 1 << 20] {
                    if piece > 1 || length < 10_000 {
                        assert_eq!(decode(algorithm, &frames, piece).as_deref(), Ok(&plain[..]), "{algorithm:?} {length} {piece}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_frame_that_is_not_what_it_announces_is_refused() {
        for algorithm in [Algorithm::Zlib, Algorithm::Zstd(3)] {
            let frames = encode(algorithm, &[b'x'; 5_000]);
            for (at, new) in [(4, 0x87), (4, 0x89), (5, 0xFF), (3, 9), (HEAD_BYTES + 6, 0xAA)] {
                let mut broken = frames.clone();
                assert_ne!(broken[at], new);
                broken[at] = new;
                assert_eq!(decode(algorithm, &broken, 1 << 20), Err(Broken::Frame), "{algorithm:?} byte {at}");
            }
            // Cut, with a head that fits.
            let mut short = frames[..frames.len() - 3].to_vec();
            short[0] -= 3;
            assert_eq!(decode(algorithm, &short, 1 << 20), Err(Broken::Frame), "{algorithm:?}");
        }
    }

    #[test]
    fn memory_is_bounded_by_a_frame_whatever_is_inside() {
        // 16 MiB of zeros announce a thousandth of themselves.
        for (algorithm, packed) in [
            (Algorithm::Zlib, {
                let mut packed = vec![0; 1 << 20];
                let mut deflate = Compress::new(Compression::new(9), true);
                deflate.compress(&vec![0; 64 << 20], &mut packed, FlushCompress::Finish).expect("packed");
                packed.truncate(deflate.total_out() as usize);
                packed
            }),
            (Algorithm::Zstd(3), zstd::bulk::compress(&vec![0; 64 << 20], 3).expect("packed")),
        ] {
            let mut frame = (packed.len() as u32).to_le_bytes()[..3].to_vec();
            frame.extend_from_slice(&[0, 100, 0, 0]);
            frame.extend_from_slice(&packed);
            let mut reader = CompressedReader::new(algorithm, frame);
            assert_eq!(reader.decode(), Err(Broken::Frame));
            assert!(reader.bytes() < 2 << 20, "{}", reader.bytes());
        }
    }
}
