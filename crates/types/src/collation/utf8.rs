//! UTF-8: checks, counts, and a decoder that never fails.

/// Whether the bytes are UTF-8.
#[inline]
pub fn is_utf8(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok()
}

/// Bytes of the longest valid prefix.
pub fn valid_prefix_bytes(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Ok(_) => bytes.len(),
        Err(error) => error.valid_up_to(),
    }
}

/// Characters: every byte that does not continue one.
#[inline]
pub fn char_count(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| (**byte as i8) >= -64).count()
}

/// Bytes of the first `chars` characters (all, when there are fewer).
pub fn chars_prefix_bytes(bytes: &[u8], chars: usize) -> usize {
    if bytes.len() <= chars {
        return bytes.len();
    }
    let mut seen = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if (*byte as i8) >= -64 {
            if seen == chars {
                return at;
            }
            seen += 1;
        }
    }
    bytes.len()
}

/// Points past Unicode stand for bytes that are not UTF-8, so that every string has an order.
const INVALID_BASE: u32 = 0x11_0000;

/// The first code point and its bytes. A byte that is not UTF-8 yields a point past U+10FFFF. The string must not be empty.
#[inline]
pub(super) fn decode(bytes: &[u8]) -> (u32, usize) {
    let lead = bytes[0];
    if lead < 0x80 {
        return (u32::from(lead), 1);
    }
    let continuation = |at: usize| bytes.get(at).filter(|byte| **byte & 0xC0 == 0x80).map(|byte| u32::from(byte & 0x3F));
    let decoded = match lead {
        0xC2..=0xDF => continuation(1).map(|b| (u32::from(lead & 0x1F) << 6 | b, 2)),
        0xE0..=0xEF => match (continuation(1), continuation(2)) {
            (Some(b), Some(c)) => Some((u32::from(lead & 0x0F) << 12 | b << 6 | c, 3)),
            _ => None,
        },
        0xF0..=0xF4 => match (continuation(1), continuation(2), continuation(3)) {
            (Some(b), Some(c), Some(d)) => Some((u32::from(lead & 0x07) << 18 | b << 12 | c << 6 | d, 4)),
            _ => None,
        },
        _ => None,
    };
    decoded.unwrap_or((INVALID_BASE + u32::from(lead), 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_char_decodes() {
        let mut buffer = [0; 4];
        for c in (0..=0x10_FFFF).filter_map(char::from_u32) {
            let bytes = c.encode_utf8(&mut buffer).as_bytes();
            assert_eq!(decode(bytes), (u32::from(c), bytes.len()));
        }
        assert_eq!(decode(b"\xFFa"), (0x11_00FF, 1));
        assert_eq!(decode(b"\xE4\xB8"), (0x11_00E4, 1));
    }

    #[test]
    fn counts_and_prefixes() {
        let text = "aé漢😀b".as_bytes();
        assert_eq!(char_count(text), 5);
        for (chars, bytes) in [(0, 0), (1, 1), (2, 3), (3, 6), (4, 10), (5, 11), (6, 11)] {
            assert_eq!(chars_prefix_bytes(text, chars), bytes);
        }
        assert_eq!(valid_prefix_bytes(b"ab\xFFc"), 2);
    }
}
