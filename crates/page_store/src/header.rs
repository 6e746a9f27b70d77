//! The 48 bytes at the start of every page, and the file header on page 0.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | checksum: crc32c of bytes 4.. |
//! | 4 | 1 | type |
//! | 5 | 1 | flags |
//! | 6 | 2 | level (B+tree; 0 = leaf) |
//! | 8 | 8 | page number |
//! | 16 | 8 | LSN: end of the last record that changed the page |
//! | 24 | 4 | index id |
//! | 28 | 4 | reserved |
//! | 32 | 8 | highest writer transaction id (secondary leaves) |
//! | 40 | 8 | reserved |

use base::{IndexId, Lsn, PAGE_BYTES, PageNo, TxnId, crc32c};

/// Bytes of the page header.
pub const PAGE_HEADER_BYTES: usize = 48;
/// Offset of the checksum.
pub const CHECKSUM: usize = 0;
/// Offset of the page type.
pub const TYPE: usize = 4;
/// Offset of the flags.
pub const FLAGS: usize = 5;
/// Offset of the level.
pub const LEVEL: usize = 6;
/// Offset of the page number.
pub const PAGE_NO: usize = 8;
/// Offset of the page LSN.
pub const LSN: usize = 16;
/// Offset of the index id.
pub const INDEX_ID: usize = 24;
/// Offset of the highest writer transaction id.
pub const TXN_MAX: usize = 32;

/// What a page holds. The numbers are on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PageType {
    /// Page 0.
    FileHeader = 1,
    /// Owners of a region's pages.
    SpaceMap = 2,
    /// B+tree leaf.
    Leaf = 3,
    /// B+tree inner node.
    Inner = 4,
    /// Part of a value too large for a leaf.
    Overflow = 5,
    /// Anything else that its owner interprets (tests, catalogue roots).
    Other = 6,
}

impl PageType {
    /// The type with this number on disk.
    pub const fn from_u8(number: u8) -> Option<PageType> {
        Some(match number {
            1 => PageType::FileHeader,
            2 => PageType::SpaceMap,
            3 => PageType::Leaf,
            4 => PageType::Inner,
            5 => PageType::Overflow,
            6 => PageType::Other,
            _ => return None,
        })
    }
}

const _: () = assert!(TXN_MAX + 16 == PAGE_HEADER_BYTES);
const _: () = assert!(PAGE_BYTES.is_multiple_of(512));

fn u64_at(page: &[u8], offset: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&page[offset..offset + 8]);
    u64::from_le_bytes(bytes)
}

fn u32_at(page: &[u8], offset: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&page[offset..offset + 4]);
    u32::from_le_bytes(bytes)
}

/// Number of the page type; see [`PageType::from_u8`].
pub fn page_type(page: &[u8]) -> u8 {
    page[TYPE]
}

/// Level in a B+tree; 0 is a leaf.
pub fn level(page: &[u8]) -> u16 {
    u16::from_le_bytes([page[LEVEL], page[LEVEL + 1]])
}

/// The page's own number.
pub fn page_no(page: &[u8]) -> PageNo {
    PageNo(u64_at(page, PAGE_NO))
}

/// End of the last record that changed the page.
pub fn lsn(page: &[u8]) -> Lsn {
    Lsn(u64_at(page, LSN))
}

/// Sets the page LSN.
pub fn set_lsn(page: &mut [u8], lsn: Lsn) {
    page[LSN..LSN + 8].copy_from_slice(&lsn.0.to_le_bytes());
}

/// The index that owns the page.
pub fn index_id(page: &[u8]) -> IndexId {
    IndexId(u32_at(page, INDEX_ID))
}

/// Highest id of a transaction that wrote to the page.
pub fn txn_max(page: &[u8]) -> TxnId {
    TxnId(u64_at(page, TXN_MAX))
}

/// Zeroes the page and writes a header with LSN 0.
pub fn init(page: &mut [u8], page_no: PageNo, page_type: u8, index: IndexId, level: u16) {
    page.fill(0);
    page[TYPE] = page_type;
    page[LEVEL..LEVEL + 2].copy_from_slice(&level.to_le_bytes());
    page[PAGE_NO..PAGE_NO + 8].copy_from_slice(&page_no.0.to_le_bytes());
    page[INDEX_ID..INDEX_ID + 4].copy_from_slice(&index.0.to_le_bytes());
}

/// The checksum that the page carries.
pub fn checksum(page: &[u8]) -> u32 {
    u32_at(page, CHECKSUM)
}

/// Computes and stores the checksum.
pub fn seal(page: &mut [u8]) {
    let sum = crc32c(&page[4..PAGE_BYTES]);
    page[CHECKSUM..CHECKSUM + 4].copy_from_slice(&sum.to_le_bytes());
}

/// What [`inspect`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A whole page with the expected number.
    Good,
    /// All bytes are zero: never written, or punched out.
    Unwritten,
    /// The checksum does not match.
    BadChecksum,
    /// A whole page, but of another number.
    Misdirected(PageNo),
}

/// Judges a page image as read from the place of `expected`.
pub fn inspect(page: &[u8], expected: PageNo) -> Verdict {
    if u32_at(page, CHECKSUM) == crc32c(&page[4..PAGE_BYTES]) {
        let found = page_no(page);
        return if found == expected && page[TYPE] != 0 { Verdict::Good } else { Verdict::Misdirected(found) };
    }
    // crc32c of zeros is not zero (its initial value is all ones), so a zero page always comes here.
    if page.iter().all(|&b| b == 0) { Verdict::Unwritten } else { Verdict::BadChecksum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_page_is_good_and_any_flipped_bit_is_found() {
        let mut page = vec![0u8; PAGE_BYTES];
        assert_eq!(inspect(&page, PageNo(7)), Verdict::Unwritten);
        init(&mut page, PageNo(7), PageType::Leaf as u8, IndexId(3), 0);
        page[5000] = 9;
        seal(&mut page);
        assert_eq!(inspect(&page, PageNo(7)), Verdict::Good);
        assert_eq!(inspect(&page, PageNo(8)), Verdict::Misdirected(PageNo(7)));
        for bit in [0usize, 31, 40, 70, 1000, PAGE_BYTES * 8 - 1] {
            page[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(inspect(&page, PageNo(7)), Verdict::BadChecksum, "bit {bit}");
            page[bit / 8] ^= 1 << (bit % 8);
        }
    }
}
