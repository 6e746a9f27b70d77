//! Framing constants that the reader and the writer share.
//!
//! A frame is `[length: u24][sequence: u8][payload]`. A payload of [`FRAME_PAYLOAD_MAX`] bytes or more is sent as
//! frames of exactly that size followed by one shorter frame, which may be empty.

/// Bytes before each payload.
pub const HEADER_BYTES: usize = 4;

/// The longest payload of one frame; a frame of exactly this length is continued by the next.
pub const FRAME_PAYLOAD_MAX: usize = 0xFF_FFFF;

/// Bytes of the first packet of `packets`, headers included; `None` when it is not there wholly.
pub fn logical_packet_bytes(packets: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let header = packets.get(at..at + HEADER_BYTES)?;
        let length = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
        at += HEADER_BYTES + length;
        if length < FRAME_PAYLOAD_MAX {
            return (at <= packets.len()).then_some(at);
        }
    }
}

/// The largest value MySQL allows for `max_allowed_packet`.
pub const PACKET_BYTES_LIMIT: usize = 1 << 30;
