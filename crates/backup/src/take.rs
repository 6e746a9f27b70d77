//! Making a backup: asks a source for pieces, throttled, and writes them; goes on where an interrupted one ended.
//!
//! Order: begin, undo (what is held for it is let go early), then pages with the log between them, then the end LSN and the log up to it.

use crate::frame::{Begin, Frame, Kind};
use crate::manifest::Manifest;
use crate::parts::Writer;
use crate::set::{BackupSet, check_page, write_manifest};
use crate::source::{Source, Step, unexpected};
use crate::{Error, Result};
use base::{Lsn, PAGE_BYTES, crc32c};
use env::{Clock, DIRECT_ALIGN, Disk};
use std::sync::Arc;
use std::time::Duration;

/// Frames of log that are copied between two of pages, at most: a log that grows faster than pages are read must not keep them from ever coming.
const LOG_FRAMES_MAX: usize = 8;
/// A throttled backup looks after the log at least so often.
const SLEEP_MAX: Duration = Duration::from_millis(500);
const BLOCK: u64 = DIRECT_ALIGN as u64;

/// How a backup is made.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Bytes of pages per second that are read from the server, at most. The log comes on top.
    pub rate: Option<u64>,
    /// Level of zstd's compression; none = stored as it is.
    pub compression: Option<i32>,
}

/// How far it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Pages looked at.
    pub pages_done: u64,
    /// Pages of the data file, as far as is known.
    pub pages: u64,
    /// Bytes read from the server.
    pub bytes_read: u64,
    /// Bytes written to the backup.
    pub bytes_written: u64,
}

/// A backup that is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// What it is.
    pub manifest: Manifest,
    /// Bytes read from the server, and written.
    pub progress: Progress,
    /// It went on where an interrupted one had ended.
    pub resumed: bool,
}

/// Makes a backup in a directory, or goes on with one.
pub fn take(
    source: &mut dyn Source,
    target: Arc<dyn Disk>,
    options: &Options,
    clock: &dyn Clock,
    progress: &mut dyn FnMut(Progress),
) -> Result<Outcome> {
    let set = BackupSet::load(Arc::clone(&target), true)?;
    if set.manifest().is_some() {
        return Err(Error::Refused("there is a complete backup here already".into()));
    }
    if set.parts.is_empty() && target.list("")?.iter().any(|name| name != "lock" && !name.starts_with("part-")) {
        return Err(Error::Refused("the directory is neither empty nor a backup that was interrupted".into()));
    }
    let mut taking = Taking::new(source, set, options, clock, progress)?;
    let resumed = taking.begin()?;
    taking.undo()?;
    taking.pages()?;
    let (end, wall_us, pages) = taking.end()?;
    let begin = taking.begin.clone();
    let (redo_lsn, figures) = (taking.redo_lsn, taking.figures);
    let Taking { writer, source, .. } = taking;
    let parts = writer.finish()?;
    let manifest = Manifest {
        program: begin.program,
        redo_lsn,
        end_lsn: end,
        begin_us: begin.wall_us,
        end_us: wall_us,
        segment_bytes: begin.segment_bytes,
        pages,
        parts,
    };
    // What was damaged at the server already is better heard of now than when it is needed.
    BackupSet::load(Arc::clone(&target), false)?.check_records(&manifest)?;
    write_manifest(&*target, &manifest)?;
    // The backup is complete whether the server hears of it or not.
    let _ = source.step(Step::Stop(end.0));
    Ok(Outcome { manifest, progress: figures, resumed })
}

/// Images are whole when they arrive.
fn check_pages(frame: &Frame) -> Result<()> {
    // How far the log will reach is not known yet.
    let end = Lsn(u64::MAX);
    frame.body.chunks(PAGE_BYTES).try_for_each(|image| check_page(image, frame.first..frame.next, end).map(drop))
}

struct Taking<'a> {
    source: &'a mut dyn Source,
    set: BackupSet,
    writer: Writer,
    clock: &'a dyn Clock,
    report: &'a mut dyn FnMut(Progress),
    rate: Option<u64>,
    began_ns: u64,
    redo_lsn: Lsn,
    begin: Begin,
    next_page: u64,
    /// Pages of the server's file when this backup began; it only grows while the server runs.
    pages_at_begin: u64,
    next_log: u64,
    undo_complete: bool,
    /// Of what was read.
    log_bytes: u64,
    figures: Progress,
}

impl<'a> Taking<'a> {
    fn new(
        source: &'a mut dyn Source,
        set: BackupSet,
        options: &Options,
        clock: &'a dyn Clock,
        report: &'a mut dyn FnMut(Progress),
    ) -> Result<Taking<'a>> {
        let writer = Writer::new(Arc::clone(&set.disk), options.compression, set.parts.clone())?;
        Ok(Taking {
            source,
            set,
            writer,
            clock,
            report,
            rate: options.rate.filter(|rate| *rate > 0),
            began_ns: clock.monotonic_ns(),
            redo_lsn: Lsn(0),
            begin: Begin { segment_bytes: 0, epoch: 0, wall_us: 0, program: String::new(), payload: Vec::new() },
            next_page: 0,
            pages_at_begin: 0,
            next_log: 0,
            undo_complete: false,
            log_bytes: 0,
            figures: Progress::default(),
        })
    }

    fn ask(&mut self, step: Step, kind: Kind) -> Result<Frame> {
        let frame = self.source.step(step)?;
        self.figures.bytes_read += frame.body.len() as u64;
        if frame.kind == kind { Ok(frame) } else { Err(unexpected(&frame, step)) }
    }

    fn keep(&mut self, frame: &Frame) -> Result<()> {
        self.writer.append(frame)?;
        self.figures.bytes_written = self.writer.written;
        self.figures.pages_done = self.next_page;
        (self.report)(self.figures);
        Ok(())
    }

    /// Starts, or goes on with what there is; whether it goes on.
    fn begin(&mut self) -> Result<bool> {
        if self.set.index.begin.is_some() && self.set.index.undo_complete && self.resume()? {
            return Ok(true);
        }
        let frame = self.ask(Step::Start, Kind::Begin)?;
        self.redo_lsn = Lsn(frame.first);
        self.begin = Begin::decode(&frame.body)?;
        (self.figures.pages, self.pages_at_begin) = (frame.next, frame.next);
        self.next_log = Begin::log_start(self.redo_lsn).0;
        self.keep(&frame)?;
        let known = self.set.index.begin.is_some();
        if known {
            // Whatever was copied before now counts as far as it is the same still.
            let mut earlier = std::mem::take(&mut self.set.index.earlier);
            earlier.append(&mut self.set.index.pages);
            self.set.index.earlier = earlier;
        }
        Ok(known)
    }

    /// Goes on with the same start, if the server has the log still and it is the one that was copied.
    fn resume(&mut self) -> Result<bool> {
        let Some(copied) = self.set.index.next_log() else { return Ok(false) };
        let frame = self.source.step(Step::Resume(copied))?;
        if frame.kind == Kind::Gone {
            return Ok(false);
        }
        let mut same = frame.kind == Kind::Log && frame.next >= copied;
        if same {
            let places = self.set.index.log.clone();
            let mut ours = vec![0; (copied - frame.first) as usize];
            for place in places.iter().filter(|place| place.header.next > frame.first) {
                let body = self.set.reader.body(place)?;
                for (no, byte) in body.iter().enumerate() {
                    let at = place.header.first + no as u64;
                    if at >= frame.first && at < copied {
                        ours[(at - frame.first) as usize] = *byte;
                    }
                }
            }
            same = frame.body[..ours.len()] == ours;
        }
        if !same {
            // Another server, or another history of it.
            return Err(Error::Refused("the directory holds a backup of another server that was interrupted".into()));
        }
        (self.redo_lsn, self.begin) = self.set.begin()?;
        self.next_page = self.set.index.next_page();
        self.pages_at_begin = self.set.index.begin.map_or(0, |begin| begin.header.next);
        self.undo_complete = true;
        self.next_log = frame.next;
        self.figures.pages = self.next_page;
        self.keep(&frame)?;
        Ok(true)
    }

    fn undo(&mut self) -> Result<()> {
        let mut number = 0;
        while !self.undo_complete {
            let frame = self.ask(Step::Undo(number), Kind::Undo)?;
            self.undo_complete = frame.body.is_empty();
            number = frame.next;
            self.keep(&frame)?;
            self.throttle()?;
        }
        Ok(())
    }

    /// Copies log that has become durable, up to `frames` pieces; whether it has caught up.
    fn log(&mut self, frames: usize) -> Result<bool> {
        for _ in 0..frames {
            let from = self.next_log / BLOCK * BLOCK;
            let frame = self.ask(Step::Log(from), Kind::Log)?;
            if frame.next <= self.next_log {
                self.log_bytes += frame.body.len() as u64;
                return Ok(true);
            }
            self.next_log = frame.next;
            self.log_bytes += frame.body.len() as u64;
            self.keep(&frame)?;
        }
        Ok(false)
    }

    fn pages(&mut self) -> Result<()> {
        loop {
            self.log(LOG_FRAMES_MAX)?;
            let first = self.next_page;
            let frame = match self.copied(first)? {
                Some((next, crc)) => {
                    let step = Step::Check(first, next, crc);
                    let frame = self.source.step(step)?;
                    match frame.kind {
                        Kind::Same => {
                            // Read at the server, not sent.
                            self.figures.bytes_read += (next - first) * PAGE_BYTES as u64;
                        }
                        Kind::Pages => self.figures.bytes_read += frame.body.len() as u64,
                        _ => return Err(unexpected(&frame, step)),
                    }
                    frame
                }
                None => self.ask(Step::Pages(first), Kind::Pages)?,
            };
            if frame.first != first || frame.next < first {
                return Err(unexpected(&frame, Step::Pages(first)));
            }
            if frame.next == first {
                return Ok(());
            }
            if frame.kind == Kind::Pages {
                check_pages(&frame)?;
            }
            self.next_page = frame.next;
            self.figures.pages = self.figures.pages.max(self.next_page);
            self.keep(&frame)?;
            self.throttle()?;
        }
    }

    /// A piece from `first` on that was copied before the backup began anew: up to where, and the checksum of its images.
    fn copied(&mut self, first: u64) -> Result<Option<(u64, u32)>> {
        let Some(place) = self.set.index.earlier.remove(&first) else { return Ok(None) };
        // A server whose file ended earlier after a crash has no such pages any more.
        if place.header.next > self.pages_at_begin {
            return Ok(None);
        }
        let body = self.set.reader.body(&place)?;
        Ok(Some((place.header.next, crc32c(&body))))
    }

    /// The end LSN, the server's time, and the pages of the file.
    fn end(&mut self) -> Result<(Lsn, i64, u64)> {
        let frame = self.ask(Step::Finish, Kind::End)?;
        let pages = base::Reader::new(&frame.body).u64()?;
        while self.next_log < frame.first {
            if self.log(1)? {
                return Err(Error::Damaged(format!("the server's log ends at {}, before {}", self.next_log, frame.first)));
            }
        }
        self.keep(&frame)?;
        // Pages that the file has got since the last were never written before the end of the log began.
        Ok((Lsn(frame.first), frame.next as i64, pages.min(self.next_page)))
    }

    /// Waits until the rate allows what was read, but for the log: that is copied as fast as it grows, so that the server need not keep it.
    fn throttle(&mut self) -> Result<()> {
        let Some(rate) = self.rate else { return Ok(()) };
        loop {
            let caught_up = self.log(LOG_FRAMES_MAX)?;
            let bytes = self.figures.bytes_read - self.log_bytes;
            let due_ns = (u128::from(bytes) * 1_000_000_000 / u128::from(rate)) as u64;
            let passed_ns = self.clock.monotonic_ns().saturating_sub(self.began_ns);
            if due_ns <= passed_ns {
                return Ok(());
            }
            if caught_up {
                #[expect(clippy::disallowed_methods, reason = "what a rate leaves to wait for is time")]
                sync::thread::sleep(Duration::from_nanos(due_ns - passed_ns).min(SLEEP_MAX));
            }
        }
    }
}
