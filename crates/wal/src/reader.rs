//! Reading the log back: record by record from the checkpoint to where it stops being valid.

use crate::WalError;
use crate::control::Slot;
use crate::frame::{ALIGN, BODY_BYTES_MAX, HEADER_BYTES, Header, record_bytes};
use crate::mark;
use crate::prefetch::{Prefetch, ROOM_BYTES};
use crate::segments::Segments;
use base::Lsn;
use env::{AlignedBuf, DIRECT_ALIGN};
use std::sync::Arc;

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
    segments: Arc<Segments>,
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
    /// `window[window_at..][..window_len]` is what lies at `window_start`.
    window: AlignedBuf,
    window_at: usize,
    window_start: u64,
    window_len: usize,
    /// What comes next, once [`LogReader::read_ahead`] was called, until something else is wanted.
    ahead: Option<Prefetch>,
}

impl LogReader {
    pub(crate) fn new(segments: Segments, slot: &Slot) -> Self {
        LogReader {
            segments: Arc::new(segments),
            first: slot.redo,
            at: slot.redo,
            epoch: 1,
            epoch_max: slot.epoch,
            durable: slot.durable,
            finished: false,
            ended: false,
            window: AlignedBuf::new(CHUNK_BYTES),
            window_at: 0,
            window_start: 0,
            window_len: 0,
            ahead: None,
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
            (self.window_len, self.ahead) = (0, None);
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
        let body = &self.window_from(start)[HEADER_BYTES..HEADER_BYTES + body_len];
        Ok(Some(LogEntry { start: Lsn(start), end: Lsn(self.at), body }))
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
        let Some(bytes) = self.window_from(self.at).first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let header = Header::parse(bytes);
        if !header.plausible(self.epoch, self.epoch_max) || !self.fetch(self.at, HEADER_BYTES + header.body_len)? {
            return Ok(None);
        }
        if !header.fits(self.at, &self.window_from(self.at)[HEADER_BYTES..HEADER_BYTES + header.body_len]) {
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
            && header.fits(end, &self.window_from(end)[HEADER_BYTES..HEADER_BYTES + body_len])
        {
            return Ok(true);
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
            let Some(skip) = mark::find_header(self.window_from(at)) else {
                at = self.window_start + (self.window_len / ALIGN * ALIGN) as u64;
                continue;
            };
            at += skip as u64;
            if let Some((header, body_len)) = self.header_at(at)?
                && header.plausible(self.epoch, self.epoch_max)
                && self.fetch(at, HEADER_BYTES + body_len)?
            {
                let body = &self.window_from(at)[HEADER_BYTES..HEADER_BYTES + body_len];
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
        let header = self.window_from(at).first_chunk::<HEADER_BYTES>().map(Header::parse);
        Ok(header.map(|header| (header, header.body_len)))
    }

    /// Lets a thread read what comes after the window while that is parsed. What it cannot read, or what is wanted in another order, is read without it.
    pub fn read_ahead(&mut self) -> std::io::Result<()> {
        if self.window_len == 0 {
            self.window_start = self.at / DIRECT_ALIGN as u64 * DIRECT_ALIGN as u64;
        }
        let start = self.window_start + self.window_len as u64;
        self.ahead = Some(Prefetch::start(Arc::clone(&self.segments), start)?);
        Ok(())
    }

    /// Brings `[at, at + len)` into the window; `false` when the files end before.
    #[inline]
    fn fetch(&mut self, at: u64, len: usize) -> Result<bool, WalError> {
        let end = at + len as u64;
        if at >= self.window_start && end <= self.window_start + self.window_len as u64 {
            return Ok(true);
        }
        self.fetch_next(at, end)
    }

    #[cold]
    fn fetch_next(&mut self, at: u64, end: u64) -> Result<bool, WalError> {
        if self.take_piece(at, end) {
            return Ok(true);
        }
        let start = at / DIRECT_ALIGN as u64 * DIRECT_ALIGN as u64;
        let needed = (end - start) as usize;
        if needed > self.window.len() {
            self.window = AlignedBuf::new(needed.next_multiple_of(CHUNK_BYTES));
        }
        (self.window_start, self.window_at) = (start, 0);
        self.window_len = self.segments.read_on(&mut self.window, start)?;
        Ok(needed <= self.window_len)
    }

    /// Makes the next piece that was read ahead the window, if it follows the present one and has the end of `[at, end)`. What the present window has
    /// from `at` on goes into the room before the piece.
    fn take_piece(&mut self, at: u64, end: u64) -> bool {
        let window_end = self.window_start + self.window_len as u64;
        let kept = window_end.saturating_sub(at) as usize;
        let follows = at >= self.window_start && kept <= ROOM_BYTES;
        let Some(ahead) = &self.ahead else { return false };
        let next = if follows { ahead.next() } else { None };
        let Some(mut piece) = next.filter(|piece| piece.start == window_end && piece.start + piece.len as u64 >= end) else {
            // Out of step: the rest is read without it.
            self.ahead = None;
            return false;
        };
        let from = self.window_at + self.window_len - kept;
        piece.buf[ROOM_BYTES - kept..ROOM_BYTES].copy_from_slice(&self.window[from..from + kept]);
        ahead.reuse(std::mem::replace(&mut self.window, piece.buf));
        (self.window_at, self.window_start, self.window_len) = (ROOM_BYTES - kept, window_end - kept as u64, kept + piece.len);
        true
    }

    /// What the window has from `at` on, which lies in it.
    fn window_from(&self, at: u64) -> &[u8] {
        &self.window[self.window_at..self.window_at + self.window_len][(at - self.window_start) as usize..]
    }
}

impl std::fmt::Debug for LogReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LogReader(at {})", self.at)
    }
}
