//! A page's bytes, read without its latch: whoever has the page exclusively may be changing them.
//!
//! # Invariants
//! 1. Each read is of atomics, so a torn page is a wrong value and nothing worse; `word.rs` says why racing with plain stores is put up with.
//! 2. Any offset may be asked for: past the page are zeros.

use base::PAGE_BYTES;
// Std's, not `sync`'s: these lie over mapped memory, which a model checker's atomics cannot.
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Where a page's bytes begin is found once, not for each read: a search makes dozens.
#[derive(Clone, Copy)]
pub(crate) struct RacyBytes<'p> {
    bytes: &'p [AtomicU8; PAGE_BYTES],
}

impl<'p> RacyBytes<'p> {
    /// # Safety
    /// The bytes are aligned to 8.
    #[inline(always)]
    pub unsafe fn new(bytes: &'p [AtomicU8; PAGE_BYTES]) -> RacyBytes<'p> {
        RacyBytes { bytes }
    }

    /// Asks the processor for the line of this offset.
    #[inline(always)]
    pub fn bring_near(self, offset: usize) {
        base::bring_near(self.bytes, offset);
    }

    /// One byte.
    #[inline(always)]
    pub fn u8_at(self, offset: usize) -> u8 {
        self.bytes.get(offset).map_or(0, |byte| byte.load(Ordering::Relaxed))
    }

    /// Two bytes.
    #[inline(always)]
    pub fn u16_at(self, offset: usize) -> u16 {
        if offset.is_multiple_of(2) && offset < PAGE_BYTES {
            // SAFETY: inside the page, whose alignment and whose length are multiples of 2, as the offset is.
            let value = unsafe { AtomicU16::from_ptr(self.bytes.as_ptr().add(offset).cast_mut().cast()) }.load(Ordering::Relaxed);
            return u16::from_le(value);
        }
        u16::from_le_bytes(std::array::from_fn(|i| self.u8_at(offset.saturating_add(i))))
    }

    /// Four bytes.
    #[inline(always)]
    pub fn u32_at(self, offset: usize) -> u32 {
        if offset.is_multiple_of(4) && offset < PAGE_BYTES {
            // SAFETY: as in `u16_at`, with 4.
            let value = unsafe { AtomicU32::from_ptr(self.bytes.as_ptr().add(offset).cast_mut().cast()) }.load(Ordering::Relaxed);
            return u32::from_le(value);
        }
        u32::from_le_bytes(std::array::from_fn(|i| self.u8_at(offset.saturating_add(i))))
    }

    /// Eight bytes.
    #[inline(always)]
    pub fn u64_at(self, offset: usize) -> u64 {
        if offset.is_multiple_of(8) {
            return self.word_at(offset);
        }
        // Of the two words that they lie in.
        let (start, bits) = (offset & !7, 8 * (offset as u32 & 7));
        self.word_at(start) >> bits | self.word_at(start.saturating_add(8)) << (64 - bits)
    }

    /// Eight bytes at a multiple of 8.
    #[inline(always)]
    fn word_at(self, offset: usize) -> u64 {
        if offset >= PAGE_BYTES {
            return 0;
        }
        debug_assert!(offset.is_multiple_of(8));
        // SAFETY: as in `u16_at`, with 8: both callers ask for multiples of 8.
        let value = unsafe { AtomicU64::from_ptr(self.bytes.as_ptr().add(offset).cast_mut().cast()) }.load(Ordering::Relaxed);
        u64::from_le(value)
    }

    /// Copies from `offset` on.
    pub fn copy(self, offset: usize, out: &mut [u8]) {
        let (words, rest) = out.as_chunks_mut::<8>();
        let mut at = offset;
        for word in words {
            *word = self.u64_at(at).to_le_bytes();
            at = at.saturating_add(8);
        }
        rest.copy_from_slice(&self.u64_at(at).to_le_bytes()[..rest.len()]);
    }

    /// How the bytes from `offset` on compare with others, of which there are as many.
    #[inline]
    pub fn compare(self, offset: usize, other: &[u8]) -> std::cmp::Ordering {
        let (words, rest) = other.as_chunks::<8>();
        let mut at = offset;
        for word in words {
            let (ours, theirs) = (self.u64_at(at).swap_bytes(), u64::from_be_bytes(*word));
            if ours != theirs {
                return ours.cmp(&theirs);
            }
            at = at.saturating_add(8);
        }
        if rest.is_empty() {
            return std::cmp::Ordering::Equal;
        }
        self.u64_at(at).to_le_bytes()[..rest.len()].cmp(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::Frames;

    #[test]
    fn racy_reads_equal_the_bytes_at_any_offset_and_give_zeros_past_the_page() {
        let frames = Frames::new(2).expect("memory");
        // SAFETY: nobody else knows these frames.
        let bytes = unsafe { frames.bytes_mut(1) };
        bytes.iter_mut().enumerate().for_each(|(i, byte)| *byte = (i * 7 + 1) as u8);
        let expected: Vec<u8> = bytes.iter().copied().chain([0; 64]).collect();
        let page = frames.racy(1);
        for offset in (0..40).chain(PAGE_BYTES - 20..PAGE_BYTES + 10) {
            let at = |i: usize| expected[offset + i];
            assert_eq!(page.u8_at(offset), at(0), "offset {offset}");
            assert_eq!(page.u16_at(offset), u16::from_le_bytes([at(0), at(1)]), "offset {offset}");
            assert_eq!(page.u32_at(offset), u32::from_le_bytes(std::array::from_fn(at)), "offset {offset}");
            assert_eq!(page.u64_at(offset), u64::from_le_bytes(std::array::from_fn(at)), "offset {offset}");
            let mut copy = [0xEE; 29];
            page.copy(offset, &mut copy);
            assert_eq!(copy[..], expected[offset..offset + 29], "offset {offset}");
            for length in 0..29 {
                let same = &expected[offset..offset + length];
                assert_eq!(page.compare(offset, same), std::cmp::Ordering::Equal, "{length} at {offset}");
                for other in 0..length {
                    let mut other_bytes = same.to_vec();
                    other_bytes[other] ^= 0x81;
                    assert_eq!(page.compare(offset, &other_bytes), same.cmp(&other_bytes), "{length} at {offset}, other at {other}");
                }
            }
        }
        assert_eq!(page.u64_at(usize::MAX), 0);
        assert_eq!(frames.racy(0).u8_at(0), 0, "the other frame is untouched");
    }
}
