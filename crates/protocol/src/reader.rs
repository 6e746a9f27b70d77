//! [`PacketReader`]: the receive buffer of a connection, cut into packets.
//!
//! A packet of one frame is never copied: the caller gets its place in the buffer. Frames of a longer packet are moved
//! together in place. The buffer grows only with bytes that really arrived, so a header that announces 16 MiB costs nothing.

use crate::packet::{FRAME_PAYLOAD_MAX, HEADER_BYTES};

/// Bytes a reader asks for at least when it reads from the socket.
const ROOM_MIN: usize = 2 * 1024;
/// What an idle connection keeps.
pub const IDLE_BYTES: usize = 4 * 1024;

/// Why a stream of bytes is not a stream of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadError {
    /// A frame's sequence id is not the expected one (1156); the connection is of no use any more.
    OutOfOrder,
    /// A packet is longer than `max_allowed_packet` (1153). It is skipped while it arrives and the next packet is whole
    /// again; `sequence` is that of its last frame.
    TooLarge {
        /// Sequence id of the reply.
        sequence: u8,
    },
    /// There is no memory to receive the packet (1041). It is skipped as one that is too long.
    NoMemory {
        /// Sequence id of the reply.
        sequence: u8,
    },
}

/// Where a packet lies in its reader's buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketPlace {
    start: usize,
    end: usize,
    sequence: u8,
}

impl PacketPlace {
    /// The sequence id of the reply's first packet.
    pub const fn reply_sequence(&self) -> u8 {
        self.sequence.wrapping_add(1)
    }

    /// Bytes of payload.
    pub const fn len(&self) -> usize {
        self.end - self.start
    }

    /// Whether the payload is empty.
    pub const fn is_empty(&self) -> bool {
        self.start == self.end
    }
}

/// Cuts received bytes into packets.
///
/// Use: `next`; when it yields nothing, read from the socket into `room` and report with `filled`; repeat.
/// A place that `next` gave is valid until `next` or `room` is called again.
#[derive(Debug, Default)]
pub struct PacketReader {
    buffer: Vec<u8>,
    /// First byte of the packet that is being put together.
    start: usize,
    /// Payload bytes of earlier frames of this packet, joined at `start`; the next header is at `header`.
    joined: usize,
    /// Where the next frame header is or will be.
    header: usize,
    /// End of received bytes.
    end: usize,
    /// Sequence id of the next frame.
    sequence: u8,
    /// In the middle of a packet of several frames.
    continued: bool,
    /// A packet over the limit is being thrown away: bytes of the current frame still to come.
    skipping: Option<Skip>,
    /// It is thrown away because there was no memory for it.
    starved: bool,
    /// Sequence ids are taken as they come.
    any_sequence: bool,
}

#[derive(Debug, Clone, Copy)]
struct Skip {
    bytes_left: usize,
    /// Another frame of the packet follows.
    continued: bool,
}

impl PacketReader {
    /// An empty reader; its buffer grows at first use.
    pub const fn new() -> Self {
        Self {
            buffer: Vec::new(),
            start: 0,
            joined: 0,
            header: 0,
            end: 0,
            sequence: 0,
            continued: false,
            skipping: None,
            starved: false,
            any_sequence: false,
        }
    }

    /// Exchanges its buffer for this one, unless something is in it.
    pub fn exchange_buffer(&mut self, buffer: &mut Vec<u8>) {
        if self.has_bytes() || self.continued || self.skipping.is_some() {
            return;
        }
        (self.start, self.header, self.end) = (0, 0, 0);
        std::mem::swap(&mut self.buffer, buffer);
    }

    /// The next frame must carry this sequence id: 0 for each command, more inside a dialogue.
    pub const fn expect_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// From now on packets may carry any sequence id. In compressed frames clients count as they like (MySQL's own takes the frames' count
    /// over into its packets); there the frames keep the order.
    pub const fn accept_any_sequence(&mut self) {
        self.any_sequence = true;
    }

    /// The next packet, if it has arrived wholly. `limit` is `max_allowed_packet`: as in MySQL, a packet must be shorter.
    #[inline]
    pub fn next(&mut self, limit: usize) -> Result<Option<PacketPlace>, ReadError> {
        let available = self.end - self.header;
        if available < HEADER_BYTES || self.continued || self.skipping.is_some() {
            return self.next_slow(limit);
        }
        let header = &self.buffer[self.header..self.header + HEADER_BYTES];
        let length = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
        if length >= FRAME_PAYLOAD_MAX || length >= limit || header[3] != self.sequence || available < HEADER_BYTES + length {
            return self.next_slow(limit);
        }
        let start = self.header + HEADER_BYTES;
        let place = PacketPlace { start, end: start + length, sequence: self.sequence };
        self.sequence = self.sequence.wrapping_add(1);
        self.header = place.end;
        self.start = place.end;
        Ok(Some(place))
    }

    /// Everything but a whole packet of one frame.
    #[cold]
    fn next_slow(&mut self, limit: usize) -> Result<Option<PacketPlace>, ReadError> {
        loop {
            if self.skipping.is_some() {
                if !self.skip_step() {
                    return Ok(None);
                }
                if self.skipping.is_none() {
                    let sequence = self.sequence;
                    return Err(match std::mem::take(&mut self.starved) {
                        true => ReadError::NoMemory { sequence },
                        false => ReadError::TooLarge { sequence },
                    });
                }
            }
            if self.end - self.header < HEADER_BYTES {
                return Ok(None);
            }
            let header = &self.buffer[self.header..self.header + HEADER_BYTES];
            let length = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
            if header[3] != self.sequence {
                if !self.any_sequence {
                    return Err(ReadError::OutOfOrder);
                }
                self.sequence = header[3];
            }
            if self.joined + length >= limit {
                self.skip_packet(length);
                continue;
            }
            if self.end - self.header < HEADER_BYTES + length {
                return Ok(None);
            }
            let payload = self.header + HEADER_BYTES;
            if !self.continued {
                self.start = payload;
            } else {
                self.buffer.copy_within(payload..payload + length, self.start + self.joined);
            }
            self.joined += length;
            self.header = payload + length;
            let sequence = self.sequence;
            self.sequence = self.sequence.wrapping_add(1);
            self.continued = length == FRAME_PAYLOAD_MAX;
            if !self.continued {
                let place = PacketPlace { start: self.start, end: self.start + self.joined, sequence };
                self.start = self.header;
                self.joined = 0;
                return Ok(Some(place));
            }
        }
    }

    /// Begins to throw a packet away whose frame at `header` has so many bytes.
    fn skip_packet(&mut self, length: usize) {
        self.header += HEADER_BYTES;
        self.sequence = self.sequence.wrapping_add(1);
        self.joined = 0;
        self.continued = false;
        self.skipping = Some(Skip { bytes_left: length, continued: length == FRAME_PAYLOAD_MAX });
    }

    /// Throws away received bytes of an over-long packet; false when more must arrive first.
    fn skip_step(&mut self) -> bool {
        let Some(mut skip) = self.skipping else { return true };
        loop {
            let gone = skip.bytes_left.min(self.end - self.header);
            self.header += gone;
            skip.bytes_left -= gone;
            self.start = self.header;
            self.skipping = Some(skip);
            if skip.bytes_left > 0 {
                return false;
            }
            if !skip.continued {
                self.skipping = None;
                return true;
            }
            if self.end - self.header < HEADER_BYTES {
                return false;
            }
            let header = &self.buffer[self.header..self.header + HEADER_BYTES];
            let length = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
            self.header += HEADER_BYTES;
            self.sequence = self.sequence.wrapping_add(1);
            skip = Skip { bytes_left: length, continued: length == FRAME_PAYLOAD_MAX };
        }
    }

    /// The bytes of a packet.
    #[inline]
    pub fn payload(&self, place: &PacketPlace) -> &[u8] {
        &self.buffer[place.start..place.end]
    }

    /// Whether bytes wait that belong to a packet not yet complete or not yet taken.
    #[inline]
    pub const fn has_bytes(&self) -> bool {
        self.end > self.header || self.continued || self.skipping.is_some()
    }

    /// Received bytes that no packet has used yet. Empty when the client waits for its reply.
    pub fn unread(&self) -> &[u8] {
        &self.buffer[self.header..self.end]
    }

    /// Takes received bytes away that no packet has used yet: they were not packets. A handshake of TLS follows its request at once.
    pub fn take_unread(&mut self) -> Vec<u8> {
        let bytes = self.unread().to_vec();
        (self.start, self.header, self.end) = (0, 0, 0);
        bytes
    }

    /// Free space to receive into; never empty.
    #[inline]
    pub fn room(&mut self) -> &mut [u8] {
        if !self.continued && self.header == self.end {
            // Everything was used: begin again at the front, no bytes to move.
            (self.start, self.header, self.end) = (0, 0, 0);
        }
        if self.buffer.len() - self.end < ROOM_MIN {
            self.make_room();
        }
        &mut self.buffer[self.end..]
    }

    #[cold]
    fn make_room(&mut self) {
        let keep_from = if self.continued { self.start } else { self.header };
        if keep_from > 0 {
            self.buffer.copy_within(keep_from..self.end, 0);
            self.start -= keep_from.min(self.start);
            self.header -= keep_from;
            self.end -= keep_from;
        }
        // Close the gap that joined frames leave before the next header, so that the buffer holds no dead bytes.
        if self.continued && self.header > self.start + self.joined {
            let gap = self.header - (self.start + self.joined);
            self.buffer.copy_within(self.header..self.end, self.start + self.joined);
            self.header -= gap;
            self.end -= gap;
        }
        if self.buffer.len() - self.end < ROOM_MIN {
            let more = self.buffer.len().max(IDLE_BYTES);
            if memory::reserve_shared(&mut self.buffer, more).is_err() && self.starve() {
                return;
            }
            self.buffer.resize(self.buffer.len() + more, 0);
        }
    }

    /// There is no memory for the packet that is being put together: it is thrown away, and its bytes make room. False when none has begun; the
    /// little that a header needs is then taken all the same.
    #[cold]
    fn starve(&mut self) -> bool {
        if self.skipping.is_some() || self.end - self.header < HEADER_BYTES {
            return false;
        }
        let header = &self.buffer[self.header..self.header + HEADER_BYTES];
        let length = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
        self.skip_packet(length);
        self.starved = true;
        if let Some(skip) = &mut self.skipping {
            // All there is belongs to this frame: a whole one would have been taken.
            skip.bytes_left -= self.end - self.header;
            (self.start, self.header, self.end) = (0, 0, 0);
        }
        true
    }

    /// `count` bytes were received into `room`.
    #[inline]
    pub fn filled(&mut self, count: usize) {
        assert!(count <= self.buffer.len() - self.end, "more bytes received than there was room");
        self.end += count;
    }

    /// Bytes of memory held.
    pub const fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    /// Gives all memory back, unless it holds bytes. Places given before become invalid.
    pub fn release(&mut self) {
        if !self.has_bytes() {
            (self.start, self.header, self.end) = (0, 0, 0);
            self.buffer = Vec::new();
        }
    }

    /// Gives memory back that an idle connection does not need. Places given before become invalid.
    pub fn shrink(&mut self) {
        if self.buffer.len() > IDLE_BYTES && !self.has_bytes() {
            (self.start, self.header, self.end) = (0, 0, 0);
            self.buffer.truncate(IDLE_BYTES);
            self.buffer.shrink_to_fit();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(reader: &mut PacketReader, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = reader.room();
            let count = room.len().min(bytes.len());
            room[..count].copy_from_slice(&bytes[..count]);
            reader.filled(count);
            bytes = &bytes[count..];
        }
    }

    #[test]
    fn bytes_one_by_one_make_the_same_packets() {
        let mut reader = PacketReader::new();
        let stream = [3, 0, 0, 0, 1, 2, 3, 0, 0, 0, 1, 1, 0, 0, 2, 9];
        let mut seen = Vec::new();
        for byte in stream {
            feed(&mut reader, &[byte]);
            while let Some(place) = reader.next(100).expect("in order") {
                seen.push(reader.payload(&place).to_vec());
            }
        }
        assert_eq!(seen, [vec![1, 2, 3], vec![], vec![9]]);
        assert!(!reader.has_bytes());
    }

    #[test]
    fn a_wrong_sequence_id_is_out_of_order() {
        let mut reader = PacketReader::new();
        feed(&mut reader, &[1, 0, 0, 5, 1]);
        assert_eq!(reader.next(100), Err(ReadError::OutOfOrder));
    }

    #[test]
    fn a_packet_over_the_limit_is_skipped_and_the_next_is_whole() {
        let mut reader = PacketReader::new();
        let mut stream = vec![200, 0, 0, 0];
        stream.extend([7; 200]);
        stream.extend([2, 0, 0, 0, 4, 5]);
        feed(&mut reader, &stream[..50]);
        assert_eq!(reader.next(100), Ok(None));
        feed(&mut reader, &stream[50..]);
        assert_eq!(reader.next(100), Err(ReadError::TooLarge { sequence: 1 }));
        reader.expect_sequence(0);
        let place = reader.next(100).expect("in order").expect("whole");
        assert_eq!(reader.payload(&place), [4, 5]);
    }

    #[test]
    fn an_over_long_packet_of_many_frames_is_skipped_without_memory() {
        let mut reader = PacketReader::new();
        let frame = vec![1u8; FRAME_PAYLOAD_MAX];
        for sequence in 0..3u8 {
            for piece in [&[0xFF, 0xFF, 0xFF, sequence][..], &frame] {
                for part in piece.chunks(60_000) {
                    feed(&mut reader, part);
                    assert_eq!(reader.next(1 << 20), Ok(None));
                }
            }
        }
        feed(&mut reader, &[0, 0, 0, 3]);
        assert_eq!(reader.next(1 << 20), Err(ReadError::TooLarge { sequence: 4 }));
        assert!(reader.capacity() < 1 << 20, "{}", reader.capacity());
        assert!(!reader.has_bytes());
    }

    #[test]
    fn memory_is_given_back() {
        let mut reader = PacketReader::new();
        let mut stream = vec![0x40, 0x42, 0x0F, 0];
        stream.resize(1_000_004, 1);
        feed(&mut reader, &stream);
        let place = reader.next(1 << 24).expect("in order").expect("whole");
        assert_eq!(place.len(), 1_000_000);
        reader.shrink();
        assert!(reader.capacity() <= 2 * IDLE_BYTES);
        reader.expect_sequence(0);
        feed(&mut reader, &[1, 0, 0, 0, 3]);
        let place = reader.next(100).expect("in order").expect("whole");
        assert_eq!(reader.payload(&place), [3]);
    }
}
