//! The body of a log record: a sequence of operations, each on one page or on none.
//!
//! | field | bytes |
//! |---|---|
//! | op | 1: 0x01–0x0F buffer pool, 0x10–0x1F space map, 0x20–0x3F B+tree, 0x40–0x7F engine |
//! | page | varint; 0 = none |
//! | length | varint |
//! | payload | length |
//!
//! The buffer pool's own operations:
//!
//! | op | payload |
//! |---|---|
//! | [`WRITE_BYTES`] | offset u16, bytes |
//! | [`NEW_PAGE`] | type u8, level u16, index id u32: the page is zeroed and gets this header |
//! | [`PAGE_IMAGE`] | gap start u16, gap length u16, the page without the gap; the gap is zero |

use base::{IndexId, Malformed, PAGE_BYTES, PageNo, Reader};
use page_store::header;

/// Bytes of a page are replaced.
pub const WRITE_BYTES: u8 = 0x01;
/// A page begins anew.
pub const NEW_PAGE: u8 = 0x02;
/// The whole page.
pub const PAGE_IMAGE: u8 = 0x03;

/// One operation of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Op<'a> {
    /// What to do; the code's range names the crate.
    pub op: u8,
    /// On which page; [`PageNo::NONE`] = on none.
    pub page: PageNo,
    /// With what.
    pub payload: &'a [u8],
}

/// Iterator over the operations of a record's body; ends after the first malformed one.
#[derive(Debug, Clone)]
pub struct Ops<'a> {
    rest: Reader<'a>,
}

/// The operations of a record's body.
pub fn ops(body: &[u8]) -> Ops<'_> {
    Ops { rest: Reader::new(body) }
}

impl<'a> Ops<'a> {
    fn parse(&mut self) -> Result<Op<'a>, Malformed> {
        let op = self.rest.u8()?;
        let page = PageNo(self.rest.varint()?);
        let payload = self.rest.bytes()?;
        Ok(Op { op, page, payload })
    }
}

impl<'a> Iterator for Ops<'a> {
    type Item = Result<Op<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let parsed = self.parse();
        if parsed.is_err() {
            self.rest = Reader::new(&[]);
        }
        Some(parsed)
    }
}

/// Whether the operation sets the whole page, so that what was there before does not matter.
pub(crate) fn sets_whole_page(op: u8) -> bool {
    op == NEW_PAGE || op == PAGE_IMAGE
}

/// Does one of the buffer pool's own operations.
pub(crate) fn redo_own(op: &Op<'_>, page: &mut [u8]) -> Result<(), Malformed> {
    let mut r = Reader::new(op.payload);
    match op.op {
        WRITE_BYTES => {
            let offset = usize::from(r.u16()?);
            let bytes = r.rest();
            page.get_mut(offset..offset + bytes.len()).ok_or(Malformed)?.copy_from_slice(bytes);
        }
        NEW_PAGE => {
            let (page_type, level, index) = (r.u8()?, r.u16()?, IndexId(r.u32()?));
            if page_type == 0 || !r.is_empty() {
                return Err(Malformed);
            }
            header::init(page, op.page, page_type, index, level);
        }
        PAGE_IMAGE => {
            let gap_start = usize::from(r.u16()?);
            let gap = usize::from(r.u16()?);
            let bytes = r.rest();
            if gap_start + gap > PAGE_BYTES || bytes.len() + gap != PAGE_BYTES {
                return Err(Malformed);
            }
            page[..gap_start].copy_from_slice(&bytes[..gap_start]);
            page[gap_start..gap_start + gap].fill(0);
            page[gap_start + gap..].copy_from_slice(&bytes[gap_start..]);
            if header::page_no(page) != op.page || header::page_type(page) == 0 {
                return Err(Malformed);
            }
        }
        _ => return Err(Malformed),
    }
    Ok(())
}

/// Appends an operation whose payload `write` produces.
#[inline]
pub fn put_op(body: &mut Vec<u8>, op: u8, page: PageNo, write: impl FnOnce(&mut Vec<u8>)) {
    body.push(op);
    base::put_varint(body, page.0);
    let length_at = body.len();
    body.push(0);
    write(body);
    let length = body.len() - length_at - 1;
    let width = base::varint_len(length as u64);
    if width == 1 {
        body[length_at] = length as u8;
        return;
    }
    // A longer payload moves up to make room for its length.
    let end = body.len();
    body.resize(end + width - 1, 0);
    body.copy_within(length_at + 1..end, length_at + width);
    let mut value = length;
    for (i, byte) in body[length_at..length_at + width].iter_mut().enumerate() {
        *byte = (value & 0x7f) as u8 | if i + 1 < width { 0x80 } else { 0 };
        value >>= 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ops_round_trip_at_every_length_width() {
        for length in [0usize, 1, 127, 128, 300, 16_383, 16_384, 70_000] {
            let payload: Vec<u8> = (0..length).map(|i| i as u8).collect();
            let mut body = Vec::new();
            put_op(&mut body, 0x20, PageNo(5), |out| out.extend_from_slice(&payload));
            put_op(&mut body, 0x40, PageNo::NONE, |out| out.push(9));
            let parsed: Vec<_> = ops(&body).collect::<Result<_, _>>().expect("well-formed");
            assert_eq!(parsed.len(), 2, "length {length}");
            assert_eq!(parsed[0], Op { op: 0x20, page: PageNo(5), payload: &payload });
            assert_eq!(parsed[1], Op { op: 0x40, page: PageNo::NONE, payload: &[9] });
        }
    }

    #[test]
    fn cut_bodies_and_wild_offsets_are_malformed() {
        let mut body = Vec::new();
        put_op(&mut body, WRITE_BYTES, PageNo(5), |out| out.extend_from_slice(&[0xff, 0xff, 1, 2]));
        for cut in 1..body.len() {
            assert!(ops(&body[..cut]).last().expect("one item").is_err(), "cut at {cut}");
        }
        let mut page = vec![0; PAGE_BYTES];
        let op = ops(&body).next().expect("one").expect("parses");
        assert_eq!(redo_own(&op, &mut page), Err(Malformed));
    }
}
