//! Where things stand in a B+tree page. The table is in `docs/format/btree.md`; this file is its code.

use base::PAGE_BYTES;

/// A page image.
pub(crate) type Page = [u8; PAGE_BYTES];

pub(crate) use page_store::header::{INDEX_ID, LEVEL, TXN_MAX, TYPE};

/// Slots in use.
pub(crate) const COUNT: usize = 48;
/// Lowest byte of the heap in use; the heap grows down.
pub(crate) const HEAP_TOP: usize = 50;
/// Dead bytes in the heap.
pub(crate) const GARBAGE: usize = 52;
/// Bytes of the prefix that all keys share; it ends the page.
pub(crate) const PREFIX_LEN: usize = 54;
/// Left sibling's page number.
pub(crate) const LEFT: usize = 56;
/// Right sibling's page number.
pub(crate) const RIGHT: usize = 64;
/// Slot of the latest insert; `u16::MAX` before the first.
pub(crate) const HINT: usize = 72;
/// How many inserts in a row went directly behind their predecessor.
pub(crate) const RUN: usize = 74;
/// First eight bytes of the prefix as a number that orders like the bytes, padded with zeros: most prefixes are compared by it alone.
pub(crate) const PREFIX_WORD: usize = 80;
/// First slot.
pub(crate) const SLOTS: usize = 88;
/// Bytes of a slot: heap offset u16, suffix length u16, head u32; read as one little-endian u64 the head is on top.
pub(crate) const SLOT_BYTES: usize = 8;
/// Bytes of a key suffix that the slot itself holds.
pub(crate) const HEAD_BYTES: usize = 4;
/// Bytes of the value length before a leaf entry.
pub(crate) const VALUE_LEN_BYTES: usize = 2;
/// Bytes of the child page number before an inner entry.
pub(crate) const CHILD_BYTES: usize = 8;

/// Largest key plus value that a leaf takes; larger values go to overflow chains.
pub const ENTRY_BYTES_MAX: usize = 4000;

/// How many entries a page has and how many bytes they take, by the 8 bytes behind its header: for who tells of pages without reading them. Wrong numbers, and no more, of a
/// page that is being changed.
pub fn figures_of(body: [u8; 8]) -> (u64, u64) {
    let word = |at: usize| u64::from(u16::from_le_bytes([body[at - COUNT], body[at - COUNT + 1]]));
    let (count, top, garbage, prefix) = (word(COUNT), word(HEAP_TOP), word(GARBAGE), word(PREFIX_LEN));
    let heap = (PAGE_BYTES as u64).saturating_sub(top + garbage + prefix);
    (count, heap)
}

/// Bytes of slots and heap together when nothing is stored, before the prefix.
pub(crate) const CAPACITY: usize = PAGE_BYTES - SLOTS;

/// Fullest that a page may be after a merge: one that a next insert would split again is not worth making.
pub(crate) const MERGED_BYTES_MAX: usize = CAPACITY * 7 / 8;

/// A page filled less than this is worth merging.
pub(crate) const UNDERFULL_BYTES: usize = CAPACITY / 4;

// Any page with three of the largest entries has room for a fourth, so one split always makes room for one entry.
const _: () = assert!(4 * (ENTRY_BYTES_MAX + SLOT_BYTES + CHILD_BYTES + VALUE_LEN_BYTES + 8) < CAPACITY);
const _: () = assert!(SLOTS.is_multiple_of(8) && SLOT_BYTES == 8);

/// Heap bytes of an entry with a suffix of `suffix_len` and a value of `value_len`. Inner entries are padded, so that child numbers stay
/// aligned: optimistic readers load them as one atomic.
#[inline]
pub(crate) const fn entry_bytes(inner: bool, suffix_len: usize, value_len: usize) -> usize {
    let rest = suffix_len.saturating_sub(HEAD_BYTES);
    if inner { CHILD_BYTES + rest.next_multiple_of(8) } else { VALUE_LEN_BYTES + rest + value_len }
}

/// Where the heap begins (its high end) under a prefix of `prefix_len`.
#[inline]
pub(crate) const fn heap_base(prefix_len: usize) -> usize {
    (PAGE_BYTES - prefix_len) & !7
}

/// First bytes of a suffix as a number that orders like the bytes; short ones are padded with zeros.
#[inline]
pub(crate) fn head_of(suffix: &[u8]) -> u32 {
    if let Some(head) = suffix.first_chunk::<4>() {
        return u32::from_be_bytes(*head);
    }
    let mut head = 0;
    for (i, byte) in suffix.iter().enumerate() {
        head |= u32::from(*byte) << (24 - 8 * i);
    }
    head
}

/// First eight bytes as a number that orders like the bytes; short ones are padded with zeros.
#[inline]
pub(crate) fn word_of(bytes: &[u8]) -> u64 {
    if let Some(word) = bytes.first_chunk::<8>() {
        return u64::from_be_bytes(*word);
    }
    let mut word = 0;
    for (i, byte) in bytes.iter().enumerate() {
        word |= u64::from(*byte) << (56 - 8 * i);
    }
    word
}

/// A slot as one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot(pub(crate) u64);

impl Slot {
    #[inline]
    pub(crate) fn new(suffix: &[u8], offset: usize) -> Slot {
        Slot(u64::from(head_of(suffix)) << 32 | (suffix.len() as u64) << 16 | offset as u64)
    }

    #[inline]
    pub(crate) fn head(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline]
    pub(crate) fn suffix_len(self) -> usize {
        (self.0 >> 16 & 0xffff) as usize
    }

    #[inline]
    pub(crate) fn offset(self) -> usize {
        (self.0 & 0xffff) as usize
    }

    /// Bytes of the suffix that are in the heap.
    #[inline]
    pub(crate) fn rest_len(self) -> usize {
        self.suffix_len().saturating_sub(HEAD_BYTES)
    }
}

/// Bytes that both begin with.
pub(crate) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}
