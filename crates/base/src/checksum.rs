//! CRC-32C (Castagnoli), computed with the CPU's instructions where it has them.

/// CRC-32C of `bytes`.
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// CRC-32C of `bytes` followed by the 16 bytes of two words: binds a checksum to a place (an LSN, a page number).
pub fn crc32c_extend(crc_of_body: u32, a: u64, b: u64) -> u32 {
    let mut tail = [0u8; 20];
    tail[..4].copy_from_slice(&crc_of_body.to_le_bytes());
    tail[4..12].copy_from_slice(&a.to_le_bytes());
    tail[12..].copy_from_slice(&b.to_le_bytes());
    crc32c(&tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc32c_matches_the_published_check_value() {
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
    }

    #[test]
    fn place_changes_the_checksum() {
        assert_ne!(crc32c_extend(1, 2, 3), crc32c_extend(1, 3, 2));
    }
}
