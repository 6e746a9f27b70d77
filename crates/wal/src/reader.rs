//! Reading the log back: record by record from the checkpoint to where it stops being valid.

use crate::WalError;
use crate::control::Slot;
use crate::frame::{ALIGN, BODY_BYTES_MAX, HEADER_BYTES, Header, record_bytes};
use crate::mark;
use crate::segments::Segments;
use base::Lsn;
use env::{AlignedBuf, DIRECT_ALIGN};

const CHUNK_BYTES: usize = 1 << 20;
/// A slot of the control file that is lost takes at most so many epochs along.
const EPOCHS_MISSED_MAX: u32 = 16;

/// A record of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry<'a> {
    /// Where it starts.
    pub start: Lsn,
    /// Where the next one starts.
    pub end: Lsn,
    /// What was appended.
    pub body: &'a [u8],
}

/// Reads records in order. The first one that is incomplete, does not fit its checksum, or has a smaller epoch than the one before ends the log.
pub struct LogReader {
    segments: Segments,
    /// Where the first record starts.
    first: u64,
    at: u64,
    epoch: u32,
    epoch_max: u32,
    /// The log was once durable up to here.
    durable: u64,
    finished: bool,
    /// The end was found, and it is one.
    ended: bool,
    window: AlignedBuf,
    window_start: u64,
    window_len: usize,
}

impl LogReader {
    pub(crate) fn new(segments: Segments, slot: &Slot) -> Self {
        LogReader {
            segments,
            first: slot.redo,
            at: slot.redo,
            epoch: 1,
            epoch_max: slot.epoch,
            durable: slot.durable,
            finished: false,
            ended: false,
            window: AlignedBuf::new(CHUNK_BYTES),
            window_start: 0,
            window_len: 0,
        }
    }

    /// The next record; `None` at the end of the valid log. `Corrupt` when the log ends before what was durable at the last checkpoint, or by what lies behind
    /// was durable (`mark.rs`).
    #[allow(clippy::should_implement_trait)] // it lends from the reader and can fail
    pub fn next(&mut self) -> Result<Option<LogEntry<'_>>, WalError> {
        if self.finished {
            return Ok(None);
        }
        let start = self.at;
        let mut found = self.validate()?;
        if found.is_none() {
            // Spoilt on its way from the device, maybe: what is taken for the end is written over.
            self.window_len = 0;
            found = self.validate()?;
        }
        let Some(body_len) = found else {
            self.finished = true;
            if start < self.durable || (!self.ended && self.goes_on_behind(start)?) {
                return Err(WalError::Corrupt { what: "a record that was durable is invalid", lsn: Lsn(start) });
            }
            self.ended = true;
            return Ok(None);
        };
        self.at = start + record_bytes(body_len) as u64;
        let offset = (start - self.window_start) as usize + HEADER_BYTES;
        Ok(Some(LogEntry { start: Lsn(start), end: Lsn(self.at), body: &self.window[offset..offset + body_len] }))
    }

    /// Starts again at the first record.
    pub fn rewind(&mut self) {
        self.at = self.first;
        self.epoch = 1;
        self.finished = false;
    }

    /// Where the first record starts.
    pub fn first(&self) -> Lsn {
        Lsn(self.first)
    }

    /// Bytes that there may be to read, at most: to the end of the last segment.
    pub fn bytes_max(&self) -> u64 {
        self.segments.live_end().saturating_sub(self.first)
    }

    /// Where the next record would start: after the last one, the end of the valid log.
    pub fn end_of_valid(&self) -> Lsn {
        Lsn(self.at)
    }

    /// Epoch of the last record read.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Length of the body at `at` when there is a valid record; it is then in the window.
    fn validate(&mut self) -> Result<Option<usize>, WalError> {
        if !self.at.is_multiple_of(ALIGN as u64) || !self.fetch(self.at, HEADER_BYTES)? {
            return Ok(None);
        }
        let offset = (self.at - self.window_start) as usize;
        let Some(bytes) = self.window[offset..].first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let header = Header::parse(bytes);
        if !header.plausible(self.epoch, self.epoch_max) || !self.fetch(self.at, HEADER_BYTES + header.body_len)? {
            return Ok(None);
        }
        let offset = (self.at - self.window_start) as usize + HEADER_BYTES;
        if !header.fits(self.at, &self.window[offset..offset + header.body_len]) {
            return Ok(None);
        }
        self.epoch = header.epoch;
        Ok(Some(header.body_len))
    }

    /// Whether something says that the log does not end at `end`: a record there of an epoch that the control file does not know, or a mark behind.
    fn goes_on_behind(&mut self, end: u64) -> Result<bool, WalError> {
        if let Some((header, body_len)) = self.header_at(end)?
            && header.epoch > self.epoch_max
            && header.epoch - self.epoch_max <= EPOCHS_MISSED_MAX
            && body_len <= BODY_BYTES_MAX
            && self.fetch(end, HEADER_BYTES + body_len)?
        {
            let at = (end - self.window_start) as usize + HEADER_BYTES;
            if header.fits(end, &self.window[at..at + body_len]) {
                return Ok(true);
            }
        }
        self.mark_behind(end)
    }

    /// Whether a mark lies behind `end` that says that the log was durable further than that. Looks to the end of the last segment: marks can be far
    /// apart where commits wait for no sync. A segment that is missing or cut short is no end of the look, for it may be what the log lacks.
    fn mark_behind(&mut self, end: u64) -> Result<bool, WalError> {
        let (files_end, segment_bytes) = (self.segments.live_end(), self.segments.segment_bytes());
        let mut at = end.next_multiple_of(ALIGN as u64);
        while at < files_end {
            if !self.fetch(at, ALIGN)? {
                at = (at / segment_bytes + 1) * segment_bytes;
                continue;
            }
            let from = (at - self.window_start) as usize;
            let Some(skip) = mark::find_header(&self.window[from..self.window_len]) else {
                at = self.window_start + (self.window_len / ALIGN * ALIGN) as u64;
                continue;
            };
            at += skip as u64;
            if let Some((header, body_len)) = self.header_at(at)?
                && header.plausible(self.epoch, self.epoch_max)
                && self.fetch(at, HEADER_BYTES + body_len)?
            {
                let from = (at - self.window_start) as usize + HEADER_BYTES;
                let body = &self.window[from..from + body_len];
                if header.fits(at, body) && mark::position(body).is_some_and(|position| position > end) {
                    return Ok(true);
                }
            }
            at += ALIGN as u64;
        }
        Ok(false)
    }

    /// What would be the header of a record at this place, and the length of its body; `None` where the files end.
    fn header_at(&mut self, at: u64) -> Result<Option<(Header, usize)>, WalError> {
        if !self.fetch(at, HEADER_BYTES)? {
            return Ok(None);
        }
        let offset = (at - self.window_start) as usize;
        let header = self.window[offset..].first_chunk::<HEADER_BYTES>().map(Header::parse);
        Ok(header.map(|header| (header, header.body_len)))
    }

    /// Brings `[at, at + len)` into the window; `false` when the files end before.
    fn fetch(&mut self, at: u64, len: usize) -> Result<bool, WalError> {
        let end = at + len as u64;
        if at >= self.window_start && end <= self.window_start + self.window_len as u64 {
            return Ok(true);
        }
        let start = at / DIRECT_ALIGN as u64 * DIRECT_ALIGN as u64;
        let needed = (end - start) as usize;
        if needed > self.window.len() {
            self.window = AlignedBuf::new(needed.next_multiple_of(CHUNK_BYTES));
        }
        self.window_start = start;
        self.window_len = 0;
        let segment_bytes = self.segments.segment_bytes();
        while self.window_len < self.window.len() {
            let position = start + self.window_len as u64;
            let in_segment = (segment_bytes - position % segment_bytes) as usize;
            let count = in_segment.min(self.window.len() - self.window_len);
            let got = self.segments.read(&mut self.window[self.window_len..self.window_len + count], position)?;
            self.window_len += got;
            if got < count {
                break;
            }
        }
        Ok(needed <= self.window_len)
    }
}

impl std::fmt::Debug for LogReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LogReader(at {})", self.at)
    }
}
