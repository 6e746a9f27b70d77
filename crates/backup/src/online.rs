//! The server's side: pieces of a running engine, asked for one by one by whoever makes the backup.

use crate::frame::{Begin, Frame, Kind};
use crate::source::{Source, Step};
use crate::{Error, Result};
use base::{EXTENT_PAGES, Lsn, PAGE_BYTES, PageNo, crc32c, put_bytes, put_u64};
use engine::{BackupPoint, Engine};
use env::{AlignedBuf, DIRECT_ALIGN};
use page_store::StoreError;
use std::sync::Arc;
use sync::atomic::{AtomicI64, AtomicU64, Ordering};
use wal::LogPin;

/// Bytes of log in a frame, about.
const LOG_BYTES: usize = 1 << 20;
/// Pages looked at for one frame, empty ones included.
const PAGES_LOOKED_AT_MAX: u64 = 2048;

/// What backups a server has given, for status. All relaxed.
#[derive(Debug, Default)]
pub struct Activity {
    running: AtomicU64,
    completed: AtomicU64,
    bytes: AtomicU64,
    torn_reads: AtomicU64,
    last_end_lsn: AtomicU64,
    last_us: AtomicI64,
}

/// Figures of [`Activity`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ActivityFigures {
    /// Connections that are making one.
    pub running: u64,
    /// Completed since the start.
    pub completed: u64,
    /// Bytes of pages, undo and log sent since the start.
    pub bytes: u64,
    /// Pages that were read while they were written, and read again.
    pub torn_reads: u64,
    /// End LSN of the last one completed.
    pub last_end_lsn: u64,
    /// When it was, in microseconds since 1970; 0 = none since the start.
    pub last_us: i64,
}

impl Activity {
    /// The figures now.
    pub fn figures(&self) -> ActivityFigures {
        ActivityFigures {
            running: self.running.load(Ordering::Relaxed),
            completed: self.completed.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            torn_reads: self.torn_reads.load(Ordering::Relaxed),
            last_end_lsn: self.last_end_lsn.load(Ordering::Relaxed),
            last_us: self.last_us.load(Ordering::Relaxed),
        }
    }
}

/// What is held for the copy while it goes on.
enum Held {
    Point(Box<BackupPoint>),
    /// A resumed one: its undo is copied.
    Log(LogPin),
}

impl Held {
    fn pin(&self) -> &LogPin {
        match self {
            Held::Point(point) => &point.log,
            Held::Log(pin) => pin,
        }
    }
}

/// A backup in the making, of one connection. Dropping it lets go of all it holds.
pub struct Online {
    engine: Arc<Engine>,
    activity: Arc<Activity>,
    held: Option<Held>,
    buffer: AlignedBuf,
    program: String,
    settings: Vec<u8>,
}

impl Online {
    /// For the engine of this process; `program` is what the backup says it was made from.
    pub fn new(engine: Arc<Engine>, activity: Arc<Activity>, program: &str) -> Online {
        let buffer = AlignedBuf::new(EXTENT_PAGES as usize * PAGE_BYTES);
        Online { engine, activity, held: None, buffer, program: program.into(), settings: Vec::new() }
    }

    /// What the file [`crate::SETTINGS`] holds now; the copy has it as of its end.
    pub fn set_settings(&mut self, file: Vec<u8>) {
        self.settings = file;
    }

    fn hold(&mut self, held: Held) {
        if self.held.replace(held).is_none() {
            self.activity.running.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn held(&self) -> Result<&Held> {
        self.held.as_ref().ok_or_else(|| Error::Refused("no backup was started on this connection".into()))
    }

    fn start(&mut self) -> Result<Frame> {
        // What an earlier start held goes first.
        self.release();
        let point = self.engine.begin_backup()?;
        let wal = self.engine.wal();
        let begin = Begin {
            segment_bytes: wal.segment_bytes(),
            epoch: wal.epoch(),
            wall_us: self.engine.wall_micros(),
            program: self.program.clone(),
            payload: point.payload.clone(),
        };
        let pages = self.engine.pool().store().page_count();
        let frame = Frame { kind: Kind::Begin, first: point.redo_lsn.0, next: pages, body: begin.encode() };
        self.hold(Held::Point(Box::new(point)));
        Ok(frame)
    }

    fn resume(&mut self, copied: Lsn) -> Result<Frame> {
        let block = DIRECT_ALIGN as u64;
        let from = Lsn(copied.0.saturating_sub(1) / block * block);
        let gone = Frame { kind: Kind::Gone, first: copied.0, next: copied.0, body: Vec::new() };
        if copied > self.engine.wal().durable() {
            return Ok(gone);
        }
        let Some(pin) = self.engine.wal().pin(from) else { return Ok(gone) };
        self.release();
        self.hold(Held::Log(pin));
        self.log(from)
    }

    fn log(&mut self, from: Lsn) -> Result<Frame> {
        if !from.0.is_multiple_of(DIRECT_ALIGN as u64) {
            return Err(Error::Refused(format!("log is read from a multiple of {DIRECT_ALIGN}")));
        }
        let held = self.held.as_ref().ok_or_else(|| Error::Refused("no backup was started on this connection".into()))?;
        let pin = held.pin();
        let buffer = &mut self.buffer[..LOG_BYTES];
        let count = self.engine.wal().read_durable(from, buffer)?;
        if pin.is_overrun() || from.0 < pin.from().0 / DIRECT_ALIGN as u64 * DIRECT_ALIGN as u64 {
            return Err(Error::LogGone);
        }
        // What was asked for before has arrived: whoever asks for this has it.
        pin.move_to(from);
        self.activity.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(Frame { kind: Kind::Log, first: from.0, next: from.0 + count as u64, body: self.buffer[..count].to_vec() })
    }

    fn undo(&mut self, number: u64) -> Result<Frame> {
        let extent = match self.held()? {
            Held::Point(point) => point.undo.get(number as usize).copied(),
            Held::Log(_) => None,
        };
        let Some(extent) = extent else { return Ok(Frame { kind: Kind::Undo, first: 0, next: number, body: Vec::new() }) };
        let body = self.engine.read_undo(extent)?;
        self.activity.bytes.fetch_add(body.len() as u64, Ordering::Relaxed);
        Ok(Frame { kind: Kind::Undo, first: extent.offset, next: number + 1, body })
    }

    /// Images of the pages in `first..end` that are not empty.
    fn images(&mut self, first: u64, end: u64) -> Result<Vec<u8>> {
        let store = self.engine.pool().store();
        let bytes = (end - first) as usize * PAGE_BYTES;
        let buffer = &mut self.buffer[..bytes];
        store.read_raw(PageNo(first), buffer)?;
        let mut images = Vec::new();
        for (no, image) in buffer.chunks_exact_mut(PAGE_BYTES).enumerate() {
            let page = PageNo(first + no as u64);
            let mut judged = store.judge(page, image);
            if !matches!(judged, Ok(()) | Err(StoreError::Unwritten { .. })) {
                // It was being written, maybe: the store reads it again with no write under way.
                self.activity.torn_reads.fetch_add(1, Ordering::Relaxed);
                judged = store.read(page, image);
            }
            match judged {
                Ok(()) => images.extend_from_slice(image),
                Err(StoreError::Unwritten { .. }) => {}
                Err(StoreError::Checksum { .. } | StoreError::Misdirected { .. } | StoreError::Stale { .. } | StoreError::Ahead { .. }) => {
                    return Err(Error::DamagedPage(page));
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.activity.bytes.fetch_add(images.len() as u64, Ordering::Relaxed);
        Ok(images)
    }

    fn pages(&mut self, first: u64) -> Result<Frame> {
        self.held()?;
        let count = self.engine.pool().store().page_count();
        let mut next = first.min(count);
        let mut body = Vec::new();
        while body.is_empty() && next < count && next - first < PAGES_LOOKED_AT_MAX {
            let end = (next + EXTENT_PAGES).min(count);
            body = self.images(next, end)?;
            next = end;
        }
        Ok(Frame { kind: Kind::Pages, first, next: next.max(first), body })
    }

    fn check(&mut self, first: u64, next: u64, crc: u32) -> Result<Frame> {
        self.held()?;
        let count = self.engine.pool().store().page_count();
        if next <= first || next - first > PAGES_LOOKED_AT_MAX + EXTENT_PAGES || next > count {
            return Err(Error::Refused(format!("pages {first} to {next} of {count}")));
        }
        let mut body = Vec::new();
        let mut at = first;
        while at < next {
            let end = (at + EXTENT_PAGES).min(next);
            body.extend(self.images(at, end)?);
            at = end;
        }
        match crc32c(&body) == crc {
            true => Ok(Frame { kind: Kind::Same, first, next, body: Vec::new() }),
            false => Ok(Frame { kind: Kind::Pages, first, next, body }),
        }
    }

    fn finish(&mut self) -> Result<Frame> {
        self.held()?;
        let wal = self.engine.wal();
        let mut body = Vec::new();
        put_u64(&mut body, self.engine.pool().store().page_count());
        if !self.settings.is_empty() {
            put_bytes(&mut body, &self.settings);
        }
        wal.flush_all()?;
        Ok(Frame { kind: Kind::End, first: wal.durable().0, next: self.engine.wall_micros() as u64, body })
    }

    fn stop(&mut self, end: u64) -> Frame {
        if self.held.is_some() && end > 0 {
            self.activity.completed.fetch_add(1, Ordering::Relaxed);
            self.activity.last_end_lsn.store(end, Ordering::Relaxed);
            self.activity.last_us.store(self.engine.wall_micros(), Ordering::Relaxed);
        }
        self.release();
        Frame { kind: Kind::Stopped, first: end, next: end, body: Vec::new() }
    }

    fn release(&mut self) {
        if self.held.take().is_some() {
            self.activity.running.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Source for Online {
    fn step(&mut self, step: Step) -> Result<Frame> {
        match step {
            Step::Start => self.start(),
            Step::Resume(lsn) => self.resume(Lsn(lsn)),
            Step::Pages(first) => self.pages(first),
            Step::Check(first, next, crc) => self.check(first, next, crc),
            Step::Undo(number) => self.undo(number),
            Step::Log(from) => self.log(Lsn(from)),
            Step::Finish => self.finish(),
            Step::Stop(end) => Ok(self.stop(end)),
        }
    }
}

impl Drop for Online {
    fn drop(&mut self) {
        self.release();
    }
}

impl std::fmt::Debug for Online {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Online(holding: {})", self.held.is_some())
    }
}
