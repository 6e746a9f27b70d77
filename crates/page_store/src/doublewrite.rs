//! The doublewrite area: the images of the last batch, so that a page torn in place can be restored.
//!
//! Header (4096 bytes at offset 0 of the file `doublewrite`), then the images:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 8 | magic `ALTIDBLW` |
//! | 8 | 4 | crc32c of bytes 12..24+8·count |
//! | 12 | 4 | count of pages |
//! | 16 | 8 | batch number |
//! | 24 | 8·count | page numbers |
//!
//! A header may survive from the last batch over images of a batch that was being copied when the machine died. That does no harm: each
//! image carries its own checksum and page number, and pages of that unfinished batch were not yet touched in place.

use base::{PAGE_BYTES, PageNo, crc32c};
use env::{AlignedBuf, File};

use crate::batch::{BATCH_HEADER_BYTES, Batch};
use crate::error::StoreError;
use crate::header::{Verdict, inspect};

const MAGIC: &[u8; 8] = b"ALTIDBLW";
const NUMBERS: usize = 24;

const _: () = assert!(NUMBERS + 8 * Batch::PAGES_MAX <= BATCH_HEADER_BYTES);

/// Writes the header of `batch`, whose images are sealed, for copying to the area.
pub(crate) fn seal_header(batch: &mut Batch, batch_number: u64) {
    let numbers: [PageNo; Batch::PAGES_MAX] = std::array::from_fn(|i| batch.pages().get(i).copied().unwrap_or_default());
    let count = batch.len();
    let header = batch.header_mut();
    header.fill(0);
    header[..8].copy_from_slice(MAGIC);
    header[12..16].copy_from_slice(&(count as u32).to_le_bytes());
    header[16..24].copy_from_slice(&batch_number.to_le_bytes());
    for (i, page) in numbers.iter().take(count).enumerate() {
        header[NUMBERS + 8 * i..NUMBERS + 8 * i + 8].copy_from_slice(&page.0.to_le_bytes());
    }
    let sum = crc32c(&header[12..NUMBERS + 8 * count]);
    header[8..12].copy_from_slice(&sum.to_le_bytes());
}

/// Page numbers of a valid header; `None` when the area was never used or its last copy was cut off.
fn parse_header(header: &[u8]) -> Option<(u64, Vec<PageNo>)> {
    let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let wide = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
    let count = word(12) as usize;
    if &header[..8] != MAGIC || count > Batch::PAGES_MAX || word(8) != crc32c(&header[12..NUMBERS + 8 * count]) {
        return None;
    }
    Some((wide(16), (0..count).map(|i| PageNo(wide(NUMBERS + 8 * i))).collect()))
}

/// Makes the area one that was never used, durably.
pub(crate) fn clear(area: &dyn File) -> Result<(), StoreError> {
    if area.len()? >= BATCH_HEADER_BYTES as u64 {
        area.write_at(&AlignedBuf::new(BATCH_HEADER_BYTES), 0)?;
    }
    Ok(area.sync()?)
}

/// What a repair found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Repair {
    /// Torn pages that were restored.
    pub restored: usize,
    /// Number of the last batch, to continue from.
    pub batch_number: u64,
}

/// Restores pages of the last batch that are torn in place; the caller syncs `data`. Pages with a good image, or that were never written, stay as
/// they are.
pub(crate) fn repair(area: &dyn File, data: &dyn File) -> Result<Repair, StoreError> {
    let area_bytes = area.len()?;
    if area_bytes < BATCH_HEADER_BYTES as u64 {
        return Ok(Repair::default());
    }
    let mut header = AlignedBuf::new(BATCH_HEADER_BYTES);
    area.read_at(&mut header, 0)?;
    if parse_header(&header).is_none() {
        area.read_at(&mut header, 0)?;
    }
    let Some((batch_number, pages)) = parse_header(&header) else { return Ok(Repair::default()) };
    let data_bytes = data.len()?;
    let mut report = Repair { restored: 0, batch_number };
    let mut copy = AlignedBuf::new(PAGE_BYTES);
    let mut place = AlignedBuf::new(PAGE_BYTES);
    for (i, &page) in pages.iter().enumerate() {
        let offset = page.0 * PAGE_BYTES as u64;
        let copy_offset = (BATCH_HEADER_BYTES + i * PAGE_BYTES) as u64;
        if copy_offset + PAGE_BYTES as u64 > area_bytes || offset + PAGE_BYTES as u64 > data_bytes {
            continue;
        }
        data.read_at(&mut place, offset)?;
        if matches!(inspect(&place, page), Verdict::Good | Verdict::Unwritten) {
            continue;
        }
        area.read_at(&mut copy, copy_offset)?;
        if inspect(&copy, page) != Verdict::Good {
            // It may be good all the same, and spoilt on its way: what is not restored now is lost.
            area.read_at(&mut copy, copy_offset)?;
        }
        if inspect(&copy, page) == Verdict::Good {
            match data.write_at(&copy, offset) {
                // A place that has no room for a page has never held a whole one: it was a hole, the page is new and dirty, and the log makes it anew. Nobody else
                // must wait for room there.
                Err(error) if env::is_disk_full(&error) => data.punch_hole(offset, PAGE_BYTES as u64)?,
                written => {
                    written?;
                    report.restored += 1;
                }
            }
        }
    }
    Ok(report)
}
