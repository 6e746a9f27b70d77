//! Takes operations out of the log on its way to the disk: changes that were made and not logged. The layout is that of `docs/format/wal.md`.

use crate::planted::Plant;
use base::{Reader, crc32c, crc32c_extend};
use std::collections::BTreeMap;

const HEADER_BYTES: usize = 12;
/// Epochs that a run can reach.
const EPOCH_MAX: u32 = 1000;
/// A code that every reader passes over.
const NOTHING: u8 = 0x0F;

/// Operations with these codes, in one record of `every`.
#[derive(Clone, Copy)]
pub(crate) struct Forgotten {
    from: u8,
    to: u8,
    every: u64,
}

pub(crate) fn forgotten(plant: Plant) -> Option<Forgotten> {
    let (from, to, every) = match plant {
        Plant::UnloggedPageChange => (0x20, 0x3F, 30),
        Plant::UnloggedRun => (0x2C, 0x2C, 3),
        Plant::UnloggedAllocation => (0x10, 0x1F, 10),
        Plant::UnloggedCounter => (0x44, 0x44, 1),
        Plant::UnloggedRollbackStep => (0x42, 0x42, 1),
        Plant::UnloggedLeftover => (0x46, 0x46, 1),
        Plant::UnloggedIds => (0x45, 0x45, 1),
        _ => return None,
    };
    Some(Forgotten { from, to, every })
}

/// What reaches the disk of a write of the log at `start`. `altered` are the bytes of the log that differ so far: a record's end is written again with the
/// next one in its block, and then its beginning is not there to be recognised.
pub(crate) fn forget(buf: &[u8], start: u64, what: Forgotten, altered: &mut BTreeMap<u64, u8>) -> Vec<u8> {
    let mut bytes = buf.to_vec();
    let mut at = 0;
    while at + HEADER_BYTES <= bytes.len() {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let (len, crc, epoch) = (word(at) as usize, word(at + 4), word(at + 8));
        let position = start + at as u64;
        let end = at + HEADER_BYTES + len;
        let tail = u64::from(epoch) << 32 | len as u64;
        let is_record = (1..=EPOCH_MAX).contains(&epoch)
            && end <= bytes.len()
            && crc == crc32c_extend(crc32c(&bytes[at + HEADER_BYTES..end]), position, tail);
        if !is_record {
            at += 8;
            continue;
        }
        if (position / 8).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32 < (1 << 32) / what.every {
            take_out(&mut bytes[at + HEADER_BYTES..end], what);
            let sum = crc32c_extend(crc32c(&bytes[at + HEADER_BYTES..end]), position, tail);
            bytes[at + 4..at + 8].copy_from_slice(&sum.to_le_bytes());
        }
        let range = position..start + end as u64;
        altered.retain(|at, _| !range.contains(at));
        let differs = (at..end).filter(|at| bytes[*at] != buf[*at]);
        altered.extend(differs.map(|at| (start + at as u64, bytes[at])));
        at = end.next_multiple_of(8);
    }
    for (position, byte) in altered.range(start..start + buf.len() as u64) {
        bytes[(position - start) as usize] = *byte;
    }
    bytes
}

/// Makes the operations of a record's body such ones on no page that nobody looks at.
fn take_out(body: &mut [u8], what: Forgotten) {
    let mut at = 0;
    while at < body.len() {
        let code = body[at];
        let total = body.len() - at - 1;
        let mut reader = Reader::new(&body[at + 1..]);
        let Ok(_) = reader.varint() else { return };
        let page_bytes = total - reader.rest().len();
        if reader.bytes().is_err() {
            return;
        }
        let rest = reader.rest().len();
        if (what.from..=what.to).contains(&code) {
            body[at] = NOTHING;
            // Zero in as many bytes.
            for byte in &mut body[at + 1..at + page_bytes] {
                *byte = 0x80;
            }
            body[at + page_bytes] = 0;
        }
        at = body.len() - rest;
    }
}
