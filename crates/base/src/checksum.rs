//! CRC-32C (Castagnoli), computed with the CPU's instructions where it has them.

/// Bytes up to which one instruction after the other is faster than the ways of many lanes, whose preparation costs more: log records and headers.
const SHORT_BYTES_MAX: usize = 512;

/// CRC-32C of `bytes`.
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    if bytes.len() <= SHORT_BYTES_MAX
        && let Some(crc) = short::crc32c(bytes)
    {
        return crc;
    }
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// CRC-32C of `bytes` followed by the 16 bytes of two words: binds a checksum to a place (an LSN, a page number).
#[inline]
pub fn crc32c_extend(crc_of_body: u32, a: u64, b: u64) -> u32 {
    let mut tail = [0u8; 20];
    tail[..4].copy_from_slice(&crc_of_body.to_le_bytes());
    tail[4..12].copy_from_slice(&a.to_le_bytes());
    tail[12..].copy_from_slice(&b.to_le_bytes());
    crc32c(&tail)
}

#[cfg(target_arch = "x86_64")]
mod short {
    use std::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u16, _mm_crc32_u32, _mm_crc32_u64};

    /// By the processor's instruction; `None` where it has none.
    #[inline]
    pub fn crc32c(bytes: &[u8]) -> Option<u32> {
        // SAFETY: the processor has what `by_words` is compiled for.
        is_x86_feature_detected!("sse4.2").then(|| unsafe { by_words(bytes) })
    }

    #[target_feature(enable = "sse4.2")]
    fn by_words(bytes: &[u8]) -> u32 {
        let (words, rest) = bytes.as_chunks::<8>();
        let crc = words.iter().fold(u64::from(u32::MAX), |crc, word| _mm_crc32_u64(crc, u64::from_le_bytes(*word)));
        // At most one of each.
        let (fours, rest) = rest.as_chunks::<4>();
        let crc = fours.iter().fold(crc as u32, |crc, four| _mm_crc32_u32(crc, u32::from_le_bytes(*four)));
        let (twos, rest) = rest.as_chunks::<2>();
        let crc = twos.iter().fold(crc, |crc, two| _mm_crc32_u16(crc, u16::from_le_bytes(*two)));
        !rest.iter().fold(crc, |crc, byte| _mm_crc32_u8(crc, *byte))
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod short {
    /// Elsewhere there is one way for all lengths.
    #[inline]
    pub fn crc32c(_bytes: &[u8]) -> Option<u32> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc32c_matches_the_published_check_value() {
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
    }

    #[test]
    fn short_and_long_ways_agree_at_all_lengths() {
        let bytes: Vec<u8> = (0..SHORT_BYTES_MAX as u32 + 64).map(|n| (n.wrapping_mul(0x9E37_79B9) >> 24) as u8).collect();
        for length in 0..bytes.len() {
            for start in [0, 1, 7].into_iter().filter(|start| *start <= length) {
                let long = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, &bytes[start..length]) as u32;
                assert_eq!(crc32c(&bytes[start..length]), long, "{start}..{length}");
            }
        }
    }

    #[test]
    fn place_changes_the_checksum() {
        assert_ne!(crc32c_extend(1, 2, 3), crc32c_extend(1, 3, 2));
    }
}
