//! The leader's own state: from the ring through an aligned staging buffer to the segment files.
//!
//! A block that is not full yet is written padded with zeros and again later; its bytes stay at the front of the staging buffer, so
//! that the ring is free up to the last byte written. Staging costs one copy and saves the kernel from reading memory that others fill.

use crate::WalError;
use crate::ring::Ring;
use crate::segments::Segments;
use crate::stats::Counters;
use env::{AlignedBuf, DIRECT_ALIGN, File};
use std::sync::Arc;

const STAGING_BYTES_MAX: usize = 1 << 20;
const BLOCK: u64 = DIRECT_ALIGN as u64;

pub(crate) struct Writer {
    staging: AlignedBuf,
    /// `staging` holds nothing but zeros from here on: what pads a block need not be written again for each record in it.
    zeros_from: usize,
    /// Everything below is written; its last partial block is at the front of `staging`.
    written: u64,
    current: Option<(u64, Arc<dyn File>)>,
    /// Segments written since the last sync, oldest first.
    unsynced: Vec<(u64, Arc<dyn File>)>,
}

/// Reads of the last block in pairs, until both of a pair are alike.
const BLOCK_READS_MAX: usize = 3;

impl Writer {
    pub(crate) fn new(ring_bytes: usize) -> Self {
        let staging = AlignedBuf::new(ring_bytes.min(STAGING_BYTES_MAX));
        Writer { staging, zeros_from: 0, written: 0, current: None, unsynced: Vec::new() }
    }

    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// The stream goes on at `end`; the bytes of its block come from the file.
    pub(crate) fn resume_at(&mut self, segments: &Segments, end: u64) -> Result<(), WalError> {
        let block = end / BLOCK * BLOCK;
        if block < end {
            self.zeros_from = self.zeros_from.max(BLOCK as usize);
            let head = (end - block) as usize;
            let mut again = AlignedBuf::new(BLOCK as usize);
            // These bytes are written back with the next record: a bit that is wrong in one read must not get to the disk so.
            let mut reads = 0;
            loop {
                let count = segments.read(&mut self.staging[..BLOCK as usize], block)?;
                if count < head || segments.read(&mut again[..], block)? < head {
                    return Err(WalError::Corrupt { what: "the last block is missing", lsn: base::Lsn(end) });
                }
                if self.staging[..head] == again[..head] {
                    break;
                }
                reads += 1;
                if reads == BLOCK_READS_MAX {
                    return Err(WalError::Corrupt { what: "the last block is read as something else each time", lsn: base::Lsn(end) });
                }
            }
        }
        self.written = end;
        Ok(())
    }

    /// Writes `[written, to)`. The caller leads and has seen (acquire) that the ring holds all of it.
    pub(crate) fn write(&mut self, ring: &Ring, segments: &Segments, counters: &Counters, to: u64) -> Result<(), WalError> {
        let segment_bytes = segments.segment_bytes();
        while self.written < to {
            let from = self.written;
            let number = from / segment_bytes;
            let block = from / BLOCK * BLOCK;
            let head = (from - block) as usize;
            let end = to.min((number + 1) * segment_bytes).min(block + self.staging.len() as u64);
            let filled = (end - block) as usize;
            // SAFETY: `[written, to)` is complete (contract of this function) and the ring is free only below `written`, which the
            // caller publishes after this returns.
            unsafe { ring.copy_out(from, &mut self.staging[head..filled]) };
            let padded = filled.next_multiple_of(DIRECT_ALIGN);
            if self.zeros_from > filled {
                self.staging[filled..self.zeros_from].fill(0);
            }
            self.zeros_from = filled;
            let file = self.segment(segments, number)?;
            file.write_at(&self.staging[..padded], block % segment_bytes)?;
            counters.writes.inc();
            counters.write_bytes.add(padded as u64);
            if self.unsynced.last().is_none_or(|(last, _)| *last != number) {
                self.unsynced.push((number, file));
            }
            self.written = end;
            let partial = end / BLOCK * BLOCK;
            let start = (partial - block) as usize;
            if partial < end && start > 0 {
                self.staging.copy_within(start..filled, 0);
            }
        }
        Ok(())
    }

    /// Makes everything written durable.
    pub(crate) fn sync(&mut self, counters: &Counters) -> Result<(), WalError> {
        for (_, file) in self.unsynced.drain(..) {
            file.sync()?;
            counters.syncs.inc();
        }
        Ok(())
    }

    fn segment(&mut self, segments: &Segments, number: u64) -> Result<Arc<dyn File>, WalError> {
        if let Some((current, file)) = &self.current
            && *current == number
        {
            return Ok(file.clone());
        }
        let file = match segments.file(number) {
            Some(file) => file,
            None => {
                // Writers that were past `ensure_space` used up its margin: grow now rather than deadlock.
                segments.prepare(number * segments.segment_bytes())?;
                segments.file(number).ok_or(WalError::Failed)?
            }
        };
        self.current = Some((number, file.clone()));
        Ok(file)
    }
}
