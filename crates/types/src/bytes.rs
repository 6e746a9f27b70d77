//! An owned byte string that keeps short contents inline.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;

/// Longest content that needs no allocation.
const INLINE_BYTES_MAX: usize = 22;
/// Where the mark of a shorter text is; zero without it.
const MARK_AT: usize = INLINE_BYTES_MAX - 1;
const MARK: u8 = 1;

/// Owned, immutable bytes; up to 22 of them live in the value itself.
#[derive(Clone)]
pub struct ByteString(Repr);

#[derive(Clone)]
enum Repr {
    Inline { len: u8, bytes: [u8; INLINE_BYTES_MAX] },
    Heap(Box<[u8]>),
}

const _: () = assert!(size_of::<ByteString>() == 24);

impl ByteString {
    /// The empty string.
    pub const fn new() -> Self {
        ByteString(Repr::Inline { len: 0, bytes: [0; INLINE_BYTES_MAX] })
    }

    /// The bytes.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline { len, bytes } => &bytes[..usize::from(*len)],
            Repr::Heap(bytes) => bytes,
        }
    }

    /// The bytes as text, where they are UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(self).ok()
    }

    /// Whether all bytes are ASCII.
    #[inline]
    pub fn is_ascii(&self) -> bool {
        is_ascii(self)
    }

    /// The bytes as text for messages; what is not UTF-8 is replaced.
    pub fn to_text(&self) -> std::borrow::Cow<'_, str> {
        // Nearly all of it is: asked first, since the lossy way looks at one character after the other.
        std::str::from_utf8(self).map_or_else(|_| String::from_utf8_lossy(self), std::borrow::Cow::Borrowed)
    }

    /// The same text with a mark beside it that is no part of it: equality, order and hash do not see it, copies of the bytes do not have it. It tells
    /// apart values of SET and ENUM whose texts are the same (`members.rs`). Texts of more than 21 bytes have no room for it and stay as they are.
    #[must_use]
    pub fn marked(mut self) -> Self {
        if let Repr::Inline { len, bytes } = &mut self.0
            && usize::from(*len) <= MARK_AT
        {
            bytes[MARK_AT] = MARK;
        }
        self
    }

    /// Whether [`ByteString::marked`] made it, or what it is a clone of.
    #[inline]
    pub fn is_marked(&self) -> bool {
        matches!(&self.0, Repr::Inline { len, bytes } if usize::from(*len) <= MARK_AT && bytes[MARK_AT] == MARK)
    }

    /// The bytes as a vector.
    pub fn into_vec(self) -> Vec<u8> {
        match self.0 {
            Repr::Inline { len, bytes } => bytes[..usize::from(len)].to_vec(),
            Repr::Heap(bytes) => bytes.into_vec(),
        }
    }
}

/// Copies at most 22 bytes by two overlapping words: a call of `memcpy` would cost more than the copy.
#[inline]
fn copy_short(source: &[u8]) -> [u8; INLINE_BYTES_MAX] {
    let mut bytes = [0; INLINE_BYTES_MAX];
    let len = source.len();
    let mut overlap = |head: &[u8], tail: &[u8]| {
        bytes[..head.len()].copy_from_slice(head);
        bytes[len - tail.len()..len].copy_from_slice(tail);
    };
    if let (Some(head), Some(tail)) = (source.first_chunk::<16>(), source.last_chunk::<16>()) {
        overlap(head, tail);
    } else if let (Some(head), Some(tail)) = (source.first_chunk::<8>(), source.last_chunk::<8>()) {
        overlap(head, tail);
    } else if let (Some(head), Some(tail)) = (source.first_chunk::<4>(), source.last_chunk::<4>()) {
        overlap(head, tail);
    } else {
        for (to, from) in bytes.iter_mut().zip(source) {
            *to = *from;
        }
    }
    bytes
}

/// Whether all bytes are ASCII. The standard library's function looks at the last bytes, up to 31, one by one.
#[inline]
pub fn is_ascii(bytes: &[u8]) -> bool {
    if let Some(last) = bytes.last_chunk::<16>() {
        let all = bytes.as_chunks().0.iter().fold(u128::from_ne_bytes(*last), |all, word| all | u128::from_ne_bytes(*word));
        return all & u128::from_ne_bytes([0x80; 16]) == 0;
    }
    if let (Some(head), Some(tail)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return (u64::from_ne_bytes(*head) | u64::from_ne_bytes(*tail)) & u64::from_ne_bytes([0x80; 8]) == 0;
    }
    bytes.iter().fold(0, |all, byte| all | byte) < 0x80
}

impl Default for ByteString {
    fn default() -> Self {
        Self::new()
    }
}

impl From<&[u8]> for ByteString {
    #[inline]
    fn from(source: &[u8]) -> Self {
        if source.len() <= INLINE_BYTES_MAX {
            ByteString(Repr::Inline { len: source.len() as u8, bytes: copy_short(source) })
        } else {
            ByteString(Repr::Heap(source.into()))
        }
    }
}

impl<const N: usize> From<&[u8; N]> for ByteString {
    fn from(source: &[u8; N]) -> Self {
        Self::from(source.as_slice())
    }
}

impl From<&str> for ByteString {
    fn from(source: &str) -> Self {
        Self::from(source.as_bytes())
    }
}

impl From<Vec<u8>> for ByteString {
    fn from(source: Vec<u8>) -> Self {
        if source.len() <= INLINE_BYTES_MAX { Self::from(source.as_slice()) } else { ByteString(Repr::Heap(source.into_boxed_slice())) }
    }
}

impl From<String> for ByteString {
    fn from(source: String) -> Self {
        Self::from(source.into_bytes())
    }
}

impl Deref for ByteString {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl AsRef<[u8]> for ByteString {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Borrow<[u8]> for ByteString {
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl PartialEq for ByteString {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for ByteString {}

impl PartialOrd for ByteString {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByteString {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

impl std::hash::Hash for ByteString {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl fmt::Debug for ByteString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_str() {
            Some(text) => fmt::Debug::fmt(text, f),
            None => write!(f, "x'{}'", self.iter().map(|b| format!("{b:02x}")).collect::<String>()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_beyond_ascii_are_seen_at_each_place() {
        for len in 0..70 {
            let mut bytes = vec![0x7F; len];
            assert!(is_ascii(&bytes), "{len}");
            for at in 0..len {
                bytes[at] = 0x80;
                assert!(!is_ascii(&bytes), "{at} of {len}");
                bytes[at] = 0x7F;
            }
        }
    }

    #[test]
    fn a_mark_is_no_part_of_the_text() {
        for len in 0..=INLINE_BYTES_MAX + 1 {
            // The last byte is the mark's own value: a text that fills its place has none.
            let plain = ByteString::from(vec![MARK; len]);
            let marked = plain.clone().marked();
            assert!(!plain.is_marked(), "{len}");
            assert_eq!(marked.is_marked(), len <= MARK_AT, "{len}");
            assert_eq!(marked.clone().is_marked(), marked.is_marked());
            assert_eq!((marked.as_slice(), marked.cmp(&plain)), (plain.as_slice(), std::cmp::Ordering::Equal));
        }
    }

    #[test]
    fn contents_survive_on_both_sides_of_the_inline_bound() {
        for len in (0..=INLINE_BYTES_MAX + 2).chain([1000]) {
            let source: Vec<u8> = (0..len).map(|i| i as u8).collect();
            assert_eq!(&*ByteString::from(source.as_slice()), source.as_slice());
            assert_eq!(ByteString::from(source.clone()).clone().into_vec(), source);
        }
    }
}
