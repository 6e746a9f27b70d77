//! How a record lies in a segment, in memory and on disk alike.
//!
//! | bytes | what |
//! |---|---|
//! | 0–3 | length of the record, little-endian; the top bit marks the head of a chain |
//! | 4–7 | CRC-32C of the record, bound to segment number and offset |
//! | 8… | the record, then zeros to a multiple of 8 |
//!
//! Frames start at multiples of 8. The head of a chain: total length u64, then the address of each chunk u64; chunks are full but the last.

use crate::error::UndoError;
use base::{UndoPtr, crc32c, crc32c_extend, put_u64};

/// Bytes of a segment.
pub(crate) const SEGMENT_BYTES: usize = 1 << UndoPtr::OFFSET_BITS;
pub(crate) const HEADER_BYTES: usize = 8;
/// The longest record that fits a segment.
pub(crate) const INLINE_BYTES_MAX: usize = SEGMENT_BYTES - HEADER_BYTES;
/// The longest record there is.
pub const RECORD_BYTES_MAX: usize = 1 << 30;

const CHAIN_BIT: u32 = 1 << 31;

/// A decoded frame header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    pub(crate) bytes: usize,
    pub(crate) chain: bool,
    crc: u32,
}

impl Header {
    pub(crate) fn of(record: &[u8], ptr: UndoPtr, chain: bool) -> Header {
        Header { bytes: record.len(), chain, crc: crc32c_extend(crc32c(record), ptr.segment(), u64::from(ptr.offset())) }
    }

    pub(crate) fn to_word(self) -> u64 {
        let bytes = self.bytes as u32 | if self.chain { CHAIN_BIT } else { 0 };
        u64::from(bytes) | u64::from(self.crc) << 32
    }

    pub(crate) fn from_word(word: u64) -> Header {
        let bytes = word as u32;
        Header { bytes: (bytes & !CHAIN_BIT) as usize, chain: bytes & CHAIN_BIT != 0, crc: (word >> 32) as u32 }
    }

    /// Whether nothing was written here: what recovery does not restore reads as zeros.
    pub(crate) fn is_gap(self) -> bool {
        self.to_word() == 0
    }

    /// Whether the record is the one that was framed at this place. The checksum says nothing of the bit that marks heads of chains, but not every record can be one.
    pub(crate) fn matches(self, record: &[u8], ptr: UndoPtr) -> bool {
        self == Header::of(record, ptr, self.chain) && (!self.chain || chain_bytes(record).is_some())
    }

    /// Whether the record looks like the head of a chain and is not marked as one. A record may, so this is no damage; but where it was read from a file, the bit may have got lost on the way.
    pub(crate) fn is_doubtful(self, record: &[u8]) -> bool {
        !self.chain && chain_bytes(record).is_some()
    }

    /// Whether a frame of this length can lie at the offset in a segment filled up to `tail`.
    pub(crate) fn fits(self, offset: usize, tail: usize) -> bool {
        self.bytes <= INLINE_BYTES_MAX && offset + frame_bytes(self.bytes) <= tail
    }
}

/// Bytes of a frame around a record of this length.
pub(crate) const fn frame_bytes(record_bytes: usize) -> usize {
    HEADER_BYTES + record_bytes.next_multiple_of(8)
}

/// Lengths of the chunks of a record that does not fit a segment.
pub(crate) fn chunk_lengths(record_bytes: usize) -> impl ExactSizeIterator<Item = usize> {
    let count = record_bytes.div_ceil(INLINE_BYTES_MAX);
    (0..count).map(move |at| (record_bytes - at * INLINE_BYTES_MAX).min(INLINE_BYTES_MAX))
}

/// Bytes of the head record of a chain.
pub(crate) fn chain_head_bytes(record_bytes: usize) -> usize {
    8 + 8 * chunk_lengths(record_bytes).len()
}

/// Length of the record whose chain's head this is, if it can be one: chains are of records that fit no segment, and a head's length follows from theirs.
fn chain_bytes(head: &[u8]) -> Option<usize> {
    let total = usize::try_from(u64::from_le_bytes(*head.first_chunk()?)).ok()?;
    let is_chained = (INLINE_BYTES_MAX + 1..=RECORD_BYTES_MAX).contains(&total);
    (is_chained && chain_head_bytes(total) == head.len()).then_some(total)
}

pub(crate) fn encode_chain_head(record_bytes: usize, chunks: &[UndoPtr]) -> Vec<u8> {
    let mut head = Vec::with_capacity(8 + 8 * chunks.len());
    put_u64(&mut head, record_bytes as u64);
    chunks.iter().for_each(|chunk| put_u64(&mut head, chunk.0));
    head
}

/// Total length and chunk addresses.
pub(crate) fn decode_chain_head(head: &[u8]) -> Result<(usize, Vec<UndoPtr>), UndoError> {
    let total = chain_bytes(head).ok_or(base::Malformed)?;
    let mut reader = base::Reader::new(&head[8..]);
    let chunks = chunk_lengths(total).map(|_| Ok(UndoPtr(reader.u64()?))).collect::<Result<_, base::Malformed>>()?;
    Ok((total, chunks))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every bit of a header counts, also the one that its checksum says nothing of: what has lost or got one is refused, or asks for another read.
    #[test]
    fn a_flipped_bit_of_a_header_is_noticed() {
        let ptr = UndoPtr::new(3, 64);
        let chunks = [UndoPtr::new(3, 128), UndoPtr::new(4, 8)];
        let head = encode_chain_head(INLINE_BYTES_MAX + 5, &chunks);
        for (record, chain) in [(&b"a record like any other"[..], false), (&[0; 24], false), (&head, true)] {
            let header = Header::of(record, ptr, chain);
            assert!(header.matches(record, ptr) && !header.is_doubtful(record));
            for bit in 0..64 {
                let flipped = Header::from_word(header.to_word() ^ 1 << bit);
                let noticed = flipped.bytes != record.len() || !flipped.matches(record, ptr) || flipped.is_doubtful(record);
                assert!(noticed, "bit {bit} of a header, chain: {chain}");
            }
        }
        // A record that looks like the head of a chain is one all the same.
        let header = Header::of(&head, ptr, false);
        assert!(header.matches(&head, ptr) && header.is_doubtful(&head));
    }
}
