//! Reading the running log's bytes, for who copies it.

use crate::pins::LogPin;
use crate::{Wal, WalError};
use base::Lsn;
use env::DIRECT_ALIGN;
use sync::atomic::Ordering;

impl Wal {
    /// Keeps the log from a position on; `None` when it is not there any more. Its holder is overrun rather than that writers wait.
    pub fn pin(&self, from: Lsn) -> Option<LogPin> {
        // First the pin: what is there after it stays. Who retires segments looks at the pins while the table is latched, so that this look at the
        // table comes either before, and the pin counts, or after, and the segments are gone.
        let pin = self.pins.add(from);
        let there = self.segments.live_from().is_some_and(|start| start <= from.0) && from <= self.lsn_head();
        (there && !pin.is_overrun()).then_some(pin)
    }

    /// The disk is full, and somebody needs room for data: gives up the log that is kept only for backups and the archive. Whether that freed any.
    pub fn give_up_kept(&self) -> bool {
        self.segments.give_up_kept().removed > 0
    }

    /// The same for a checkpoint, without which the log cannot go on: segments that it has in reserve go, too, but for one.
    pub fn make_room(&self) -> bool {
        self.give_up_kept() || self.segments.trim_spare(1).unwrap_or(0) > 0
    }

    /// How many pins there are.
    pub fn pin_count(&self) -> usize {
        self.pins.count()
    }

    /// Reads the stream from `from`, a multiple of 4096, as far as it is durable and `buf`, whole blocks, reaches. The bytes are the log's
    /// if a pin at or below `from` is not overrun afterwards.
    pub fn read_durable(&self, from: Lsn, buf: &mut [u8]) -> Result<usize, WalError> {
        assert!(from.0.is_multiple_of(DIRECT_ALIGN as u64) && buf.len().is_multiple_of(DIRECT_ALIGN), "whole blocks from {from}");
        let count = self.durable().0.saturating_sub(from.0).min(buf.len() as u64) as usize;
        let segment_bytes = self.segments.segment_bytes();
        let mut done = 0;
        while done < count {
            let at = from.0 + done as u64;
            let in_segment = (segment_bytes - at % segment_bytes) as usize;
            let piece = (count - done).next_multiple_of(DIRECT_ALIGN).min(in_segment);
            let got = self.segments.read(&mut buf[done..done + piece], at)?;
            done += got;
            if got < piece {
                break;
            }
        }
        Ok(done.min(count))
    }

    /// Bytes of a segment.
    pub fn segment_bytes(&self) -> u64 {
        self.segments.segment_bytes()
    }

    /// Epoch of the records written now.
    pub fn epoch(&self) -> u32 {
        self.positions.epoch.load(Ordering::Relaxed)
    }
}
