//! [`PacketWriter`]: packets built in place in one reusable buffer.
//!
//! `begin` leaves room for the header, the payload is appended, `end` patches the length. The common case (a payload
//! below 16 MiB − 1) costs four stores; a longer payload is cut into frames afterwards, which moves its bytes once.

use crate::packet::{FRAME_PAYLOAD_MAX, HEADER_BYTES};

/// Marks that no packet is open.
const CLOSED: usize = usize::MAX;

/// Longest length in front of a value.
const LENGTH_BYTES_MAX: usize = 9;

/// Builds packets one after another in one buffer that the connection sends and reuses.
#[derive(Debug)]
pub struct PacketWriter {
    buffer: Vec<u8>,
    /// Where the open packet's header is, or `CLOSED`.
    start: usize,
    sequence: u8,
    /// How often the buffer was cleared: bytes from before cannot be taken back.
    cleared: u32,
    /// A value of the open packet found no memory: the packet is of no use.
    starved: bool,
}

impl Default for PacketWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl PacketWriter {
    /// An empty writer; its buffer grows at first use.
    pub const fn new() -> Self {
        Self { buffer: Vec::new(), start: CLOSED, sequence: 0, cleared: 0, starved: false }
    }

    /// An empty writer with room for `bytes`.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { buffer: Vec::with_capacity(bytes), start: CLOSED, sequence: 0, cleared: 0, starved: false }
    }

    /// The sequence id of the next packet; the reply to a command goes on from the command's last frame.
    pub const fn sequence(&self) -> u8 {
        self.sequence
    }

    /// The sequence id of the first packet that is here, and has not been sent; of the next one where none is.
    pub fn first_sequence(&self) -> u8 {
        self.buffer.get(HEADER_BYTES - 1).copied().unwrap_or(self.sequence)
    }

    /// Sets the sequence id of the next packet.
    pub const fn set_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// Opens a packet and returns the buffer to append its payload to.
    ///
    /// The caller may only append; [`PacketWriter::end`] must follow.
    #[inline]
    pub fn begin(&mut self) -> &mut Vec<u8> {
        debug_assert_eq!(self.start, CLOSED, "a packet is already open");
        self.start = self.buffer.len();
        self.buffer.extend_from_slice(&[0; HEADER_BYTES]);
        &mut self.buffer
    }

    /// Opens a packet whose payload begins with so many zeros, and returns where they lie in [`PacketWriter::payload`].
    #[inline]
    pub(crate) fn begin_with_zeros(&mut self, bytes: usize) -> usize {
        const AT_ONCE: usize = 16;
        debug_assert_eq!(self.start, CLOSED, "a packet is already open");
        self.start = self.buffer.len();
        let payload = self.start + HEADER_BYTES;
        if HEADER_BYTES + bytes <= AT_ONCE {
            // Cheaper than to set a number of bytes that is only known now.
            self.buffer.extend_from_slice(&[0; AT_ONCE]);
            self.buffer.truncate(payload + bytes);
        } else {
            self.buffer.resize(payload + bytes, 0);
        }
        payload
    }

    /// The buffer of the open packet, to append to.
    #[inline]
    pub const fn payload(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Makes room for a value of so many bytes in the open packet. False when there is no memory for it: nothing need be appended any more, the packet
    /// will not be sent, and [`PacketWriter::take_starved`] tells.
    #[inline]
    pub fn room_for_value(&mut self, bytes: usize) -> bool {
        bytes < memory::LARGE_BYTES || self.room_for_large(bytes)
    }

    #[cold]
    fn room_for_large(&mut self, bytes: usize) -> bool {
        self.starved |= memory::reserve(&mut self.buffer, bytes + LENGTH_BYTES_MAX).is_err();
        !self.starved
    }

    /// Whether a packet was given up because there was no memory for it.
    #[inline]
    pub const fn take_starved(&mut self) -> bool {
        std::mem::replace(&mut self.starved, false)
    }

    /// Payload bytes of the open packet so far.
    pub const fn payload_bytes(&self) -> usize {
        self.buffer.len() - self.start - HEADER_BYTES
    }

    /// Where the payload of the open packet begins in [`PacketWriter::payload`].
    pub const fn payload_start(&self) -> usize {
        self.start + HEADER_BYTES
    }

    /// Closes the open packet: writes its length and sequence id.
    #[inline]
    pub fn end(&mut self) {
        let start = self.start;
        assert!(start != CLOSED, "no packet is open");
        let length = self.buffer.len() - start - HEADER_BYTES;
        if length >= FRAME_PAYLOAD_MAX {
            return self.end_long(start, length);
        }
        let header = (length as u32) | u32::from(self.sequence) << 24;
        self.buffer[start..start + HEADER_BYTES].copy_from_slice(&header.to_le_bytes());
        self.sequence = self.sequence.wrapping_add(1);
        self.start = CLOSED;
    }

    /// Closes a packet that was written from `start` on without having been opened.
    #[cold]
    pub(crate) fn end_from(&mut self, start: usize) {
        self.start = start;
        self.end();
    }

    /// Closes the open packet, a row; one without all its values is dropped.
    #[inline]
    pub(crate) fn end_row(&mut self) {
        if self.starved { self.abandon() } else { self.end() }
    }

    /// Cuts a long payload into frames, from the last to the first so that each byte moves once.
    #[cold]
    fn end_long(&mut self, start: usize, length: usize) {
        let full_frames = length / FRAME_PAYLOAD_MAX;
        let first = start + HEADER_BYTES;
        self.buffer.resize(self.buffer.len() + full_frames * HEADER_BYTES, 0);
        for frame in (0..=full_frames).rev() {
            let from = first + frame * FRAME_PAYLOAD_MAX;
            let bytes = FRAME_PAYLOAD_MAX.min(length - frame * FRAME_PAYLOAD_MAX);
            let to = from + frame * HEADER_BYTES;
            self.buffer.copy_within(from..from + bytes, to);
            let header = (bytes as u32) | u32::from(self.sequence.wrapping_add(frame as u8)) << 24;
            self.buffer[to - HEADER_BYTES..to].copy_from_slice(&header.to_le_bytes());
        }
        self.sequence = self.sequence.wrapping_add(full_frames as u8).wrapping_add(1);
        self.start = CLOSED;
    }

    /// Drops the open packet, if any: a statement that fails in the middle of a row takes it back and sends its error.
    pub fn abandon(&mut self) {
        if self.start != CLOSED {
            self.buffer.truncate(self.start);
            self.start = CLOSED;
        }
    }

    /// Writes one whole packet of a few bytes.
    #[inline]
    pub fn small_packet<const N: usize>(&mut self, payload: [u8; N]) {
        const { assert!(N < FRAME_PAYLOAD_MAX) };
        debug_assert_eq!(self.start, CLOSED, "a packet is open");
        let header = N as u32 | u32::from(self.sequence) << 24;
        self.buffer.reserve(HEADER_BYTES + N);
        self.buffer.extend_from_slice(&header.to_le_bytes());
        self.buffer.extend_from_slice(&payload);
        self.sequence = self.sequence.wrapping_add(1);
    }

    /// Writes one whole packet.
    pub fn packet(&mut self, payload: &[u8]) {
        self.begin().extend_from_slice(payload);
        self.end();
    }

    /// Appends packets that were encoded before and took `frame_count` sequence ids, counted as these are; returns where they begin.
    #[inline]
    pub(crate) fn append_packets(&mut self, packets: &[u8], frame_count: u8) -> usize {
        debug_assert_eq!(self.start, CLOSED, "a packet is open");
        let start = self.buffer.len();
        self.buffer.extend_from_slice(packets);
        self.sequence = self.sequence.wrapping_add(frame_count);
        start
    }

    /// Appends packets that were encoded before, numbered on from here.
    pub fn append_numbered(&mut self, packets: &[u8]) {
        debug_assert_eq!(self.start, CLOSED, "a packet is open");
        let mut at = self.buffer.len();
        self.buffer.extend_from_slice(packets);
        while at + HEADER_BYTES <= self.buffer.len() {
            let header = &mut self.buffer[at..at + HEADER_BYTES];
            header[3] = self.sequence;
            at += HEADER_BYTES + (usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16);
            self.sequence = self.sequence.wrapping_add(1);
        }
    }

    /// Numbers the packets from `start` to the end, `first` being the first one's id.
    #[cold]
    pub(crate) fn renumber(&mut self, start: usize, first: u8) {
        let (mut at, mut sequence) = (start, first);
        while at + HEADER_BYTES <= self.buffer.len() {
            let header = &mut self.buffer[at..at + HEADER_BYTES];
            header[3] = sequence;
            let length = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
            at += HEADER_BYTES + length;
            sequence = sequence.wrapping_add(1);
        }
    }

    /// Takes back the last `bytes`, which are whole packets that took `frame_count` sequence ids and have not been sent; and the open packet behind them.
    #[cold]
    pub(crate) fn take_back(&mut self, bytes: usize, frame_count: u8) {
        self.abandon();
        let length = self.buffer.len().checked_sub(bytes).expect("only what is still here is taken back");
        self.buffer.truncate(length);
        self.sequence = self.sequence.wrapping_sub(frame_count);
    }

    /// A point to which [`PacketWriter::rewind`] can take the buffer back, while nothing has been sent since.
    pub const fn mark(&self) -> WriterMark {
        WriterMark { length: self.buffer.len(), sequence: self.sequence, cleared: self.cleared }
    }

    /// Takes back everything written since `mark`. Returns whether that was possible: it is not once bytes were sent.
    pub fn rewind(&mut self, mark: WriterMark) -> bool {
        if mark.cleared != self.cleared {
            return false;
        }
        self.buffer.truncate(mark.length);
        self.sequence = mark.sequence;
        self.start = CLOSED;
        true
    }

    /// The whole packets written and not yet sent.
    pub fn bytes(&self) -> &[u8] {
        debug_assert_eq!(self.start, CLOSED, "a packet is open");
        &self.buffer
    }

    /// How many bytes wait to be sent, an open packet included.
    #[inline]
    pub const fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether nothing waits to be sent.
    pub const fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Forgets the bytes (they were sent) and keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        debug_assert_eq!(self.start, CLOSED, "a packet is open");
        self.buffer.clear();
        self.cleared = self.cleared.wrapping_add(1);
    }

    /// Bytes of memory held.
    pub const fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    /// Gives memory above `bytes` back; used when a connection that sent a large result is idle.
    pub fn shrink_to(&mut self, bytes: usize) {
        self.buffer.shrink_to(bytes);
    }
}

/// See [`PacketWriter::mark`].
#[derive(Debug, Clone, Copy)]
pub struct WriterMark {
    length: usize,
    sequence: u8,
    cleared: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::PacketReader;

    /// Feeds everything to a reader and returns the payloads.
    fn split(bytes: &[u8], limit: usize) -> Vec<Vec<u8>> {
        let mut reader = PacketReader::new();
        let mut packets = Vec::new();
        let mut rest = bytes;
        loop {
            while let Some(packet) = reader.next(limit).expect("well framed") {
                packets.push(reader.payload(&packet).to_vec());
            }
            if rest.is_empty() {
                return packets;
            }
            let room = reader.room();
            let count = room.len().min(rest.len());
            room[..count].copy_from_slice(&rest[..count]);
            reader.filled(count);
            rest = &rest[count..];
        }
    }

    #[test]
    fn payloads_of_every_interesting_size_come_back() {
        let max = FRAME_PAYLOAD_MAX;
        for size in [0, 1, 250, 65_536, max - 1, max, max + 1, 2 * max, 2 * max + 5] {
            let payload: Vec<u8> = (0..size).map(|i| (i % 251) as u8).collect();
            let mut writer = PacketWriter::new();
            writer.packet(b"before");
            writer.packet(&payload);
            writer.packet(b"after");
            let packets = split(writer.bytes(), usize::MAX);
            assert_eq!(packets.len(), 3, "size {size}");
            assert!(packets[1] == payload, "size {size}");
            assert_eq!(packets[2], b"after");
            assert_eq!(usize::from(writer.sequence()), 3 + size / max);
        }
    }

    #[test]
    fn an_abandoned_packet_leaves_no_byte() {
        let mut writer = PacketWriter::new();
        writer.packet(b"kept");
        writer.begin().extend_from_slice(b"half a row");
        writer.abandon();
        writer.packet(b"error");
        assert_eq!(split(writer.bytes(), 100), [b"kept".to_vec(), b"error".to_vec()]);
        assert_eq!(writer.sequence(), 2);
    }

    #[test]
    fn rewind_takes_back_whole_packets() {
        let mut writer = PacketWriter::new();
        writer.set_sequence(1);
        writer.packet(b"a");
        let mark = writer.mark();
        writer.packet(b"b");
        assert!(writer.rewind(mark));
        assert_eq!((writer.len(), writer.sequence()), (5, 2));
        writer.clear();
        assert!(!writer.rewind(mark), "bytes that were sent cannot be taken back");
    }
}
