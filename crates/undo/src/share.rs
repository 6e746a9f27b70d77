//! What the records of one transaction take of a segment: when all lie in one, they are released at once, and none is read for it.

use crate::frame::{INLINE_BYTES_MAX, frame_bytes};
use base::UndoPtr;

/// Bytes that records which were appended one after the other take, with their frames, as long as all lie in one segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SegmentShare {
    /// 0 of nothing, and of what is not known.
    bytes: u32,
}

/// They lie in several segments, or one of them is a chain.
const SPREAD: u32 = u32::MAX;

impl SegmentShare {
    /// Of no record.
    pub const EMPTY: SegmentShare = SegmentShare { bytes: 0 };

    /// A record of so many bytes was appended at `ptr`. `before` is the one before it that counts still; with an empty share it is of somebody who did not count.
    #[inline]
    pub fn add(&mut self, before: UndoPtr, ptr: UndoPtr, record_bytes: usize) {
        let counted = match before.is_none() {
            true => Some(0),
            false => self.bytes().filter(|_| before.segment() == ptr.segment()),
        };
        let fits = counted.filter(|_| record_bytes <= INLINE_BYTES_MAX);
        self.bytes = fits.map_or(SPREAD, |bytes| bytes + frame_bytes(record_bytes) as u32);
    }

    /// The newest record was released by itself.
    pub fn take_back(&mut self, record_bytes: usize) {
        if let Some(bytes) = self.bytes() {
            self.bytes = bytes.saturating_sub(frame_bytes(record_bytes) as u32);
        }
    }

    /// The bytes, when they are known and of one segment.
    #[inline]
    pub fn bytes(self) -> Option<u32> {
        (self.bytes != 0 && self.bytes != SPREAD).then_some(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_of_one_segment_or_of_none() {
        let (first, second, elsewhere) = (UndoPtr::new(7, 64), UndoPtr::new(7, 128), UndoPtr::new(8, 0));
        let mut share = SegmentShare::EMPTY;
        assert_eq!(share.bytes(), None);
        share.add(UndoPtr::NONE, first, 50);
        share.add(first, second, 9);
        assert_eq!(share.bytes(), Some((8 + 56) + (8 + 16)));
        share.take_back(9);
        assert_eq!(share.bytes(), Some(8 + 56));
        let one = share;
        share.add(first, elsewhere, 9);
        assert_eq!(share.bytes(), None);
        // Even when what lies elsewhere is taken back; but not when nothing is left.
        share.take_back(9);
        share.add(first, second, 9);
        assert_eq!(share.bytes(), None);
        share.add(UndoPtr::NONE, first, 50);
        assert_eq!(share, one);
        share.add(first, second, INLINE_BYTES_MAX + 1);
        assert_eq!(share.bytes(), None);
        // Of a transaction that was taken over somebody else has written the first records.
        let mut share = SegmentShare::EMPTY;
        share.add(first, second, 9);
        assert_eq!(share.bytes(), None);
    }
}
