//! Marks: records by which the log says how far it has been durable.
//!
//! A record that is not valid ends the log: a crash has torn it, or it was never written. If a bit of a durable record flips, or the device has lost a
//! write that it had acknowledged, recovery would see the same and take all behind it for never committed. A mark further on tells the two apart: it
//! names a position up to which the log was durable before the mark was written, and an invalid record below that position is damage.
//!
//! A mark is an operation on no page with a code that every reader passes over, so that programs that know no marks read logs that have them.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 1 | code `0x0F` |
//! | 1 | 1 | page: 0 |
//! | 2 | 1 | length: 8 |
//! | 3 | 8 | position |
//!
//! Marks are appended by who has waited for a sync (a durable commit), and once a second by the log's background thread after its flush, so also where
//! commits wait for no sync and while one transaction writes much.
//!
//! What is not found: damage of what became durable after the newest durable mark: the last [`MARK_BYTES`] or so under durable commits, the last two
//! seconds or so of writing without.

use crate::frame::ALIGN;
use crate::wal::Wal;
use base::Lsn;
use sync::atomic::Ordering;

const CODE: u8 = 0x0F;
/// Bytes of a mark's body.
pub(crate) const BODY_BYTES: usize = 11;
/// Bytes of log that become durable from one mark to the next.
pub const MARK_BYTES: u64 = 16 << 10;

fn body(position: u64) -> [u8; BODY_BYTES] {
    let mut body = [CODE, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0];
    body[3..].copy_from_slice(&position.to_le_bytes());
    body
}

/// The position that a record's body names, if it is a mark.
pub(crate) fn position(body: &[u8]) -> Option<u64> {
    let (head, position) = body.split_first_chunk::<3>()?;
    (*head == [CODE, 0, 8]).then_some(u64::from_le_bytes(position.try_into().ok()?))
}

/// Where in `bytes`, which begin where a record may, the first header of a record of a mark's length is; or would be, its body cut off.
pub(crate) fn find_header(bytes: &[u8]) -> Option<usize> {
    const LEN: [u8; 4] = (BODY_BYTES as u32).to_le_bytes();
    let at = bytes.chunks_exact(ALIGN).position(|chunk| chunk[..4] == LEN)?;
    Some(at * ALIGN)
}

impl Wal {
    /// Says in the log how far it is durable, when much has become so since that was said last. Two loads when not. For who has just waited for
    /// durability, and for who flushes by himself, with no latch held.
    #[inline]
    pub fn mark_durable(&self) {
        let marked = self.positions.marked.load(Ordering::Relaxed);
        if self.positions.durable.load(Ordering::Relaxed).saturating_sub(marked) >= self.mark_bytes {
            self.append_mark(marked);
        }
    }

    #[cold]
    fn append_mark(&self, marked: u64) {
        // Relaxed: one of those who come at once is to append it, no matter who.
        let durable = self.positions.durable.load(Ordering::Relaxed);
        if !self.has_failed() && self.positions.marked.compare_exchange(marked, durable, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            let end = self.append(&body(durable));
            self.positions.mark_end.store(end.0, Ordering::Relaxed);
        }
    }

    /// The position that the newest durable mark names, or one below it: damage of the log before it is found. For tests.
    pub fn marked(&self) -> Lsn {
        let known = self.durable().0 >= self.positions.mark_end.load(Ordering::Relaxed);
        Lsn(if known { self.positions.marked.load(Ordering::Relaxed) } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_known_by_its_body() {
        assert_eq!(position(&body(1 << 40)), Some(1 << 40));
        assert_eq!(position(&[CODE, 0, 8, 0]), None);
        assert_eq!(position(&[0x01, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0]), None);
    }
}
