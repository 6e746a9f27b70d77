//! The log archive: what is durable is copied to another directory, and kept in the log until it is there.
//!
//! The directory holds `segment-N`, the log's own segment files as far as they are copied, and `archive`, a few lines of text that say how far;
//! `pruned` says up to where old segments were removed ([`prune`]).
//! Copying is no part of a commit: nobody waits for it, and when it fails the log goes on and keeps segments, up to the bound of pins.
//!
//! # Invariants
//! 1. Bytes below the position in `archive` were synced before it was written.
//! 2. An archive holds one history: what it has must be what the log has, where both have something.

use crate::pins::LogPin;
use crate::segments::{read_whole, segment_name, segment_numbers};
use crate::{Wal, WalError};
use base::{Lsn, crc32c};
use env::{AlignedBuf, DIRECT_ALIGN, Disk, File, FileKind, OpenMode};
use std::sync::Arc;
use std::time::{Duration, Instant};
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::thread::{self, JoinHandle};
use sync::{Mutex, Rank, Signal};

const STATE: &str = "archive";
const PRUNED: &str = "pruned";
const PRUNED_HEAD: &str = "altiplano log archive pruned 1";
const HEAD: &str = "altiplano log archive 1";
const PIECE_BYTES: usize = 1 << 20;
const INTERVAL: Duration = Duration::from_secs(1);
/// Archiving passes within one interval while the log is far ahead.
const BEHIND_BYTES: u64 = 4 << 20;
const BLOCK: u64 = DIRECT_ALIGN as u64;

/// What an archive holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveState {
    /// Bytes of a segment.
    pub segment_bytes: u64,
    /// Where the stretch without a gap begins that ends at `to`.
    pub from: Lsn,
    /// Everything below, from `from`, is in the archive.
    pub to: Lsn,
}

impl ArchiveState {
    /// Reads the state of the archive in a directory; `None` when there is none. What was pruned does not count.
    pub fn read(disk: &dyn Disk) -> Result<Option<ArchiveState>, WalError> {
        let damaged = WalError::Corrupt { what: "the state of the log archive", lsn: Lsn(0) };
        let Some(text) = read_text(disk, STATE)? else { return Ok(None) };
        let mut state = Self::parse(&text).ok_or(damaged)?;
        state.from = state.from.max(pruned_below(disk)?).min(state.to);
        Ok(Some(state))
    }

    fn parse(text: &str) -> Option<ArchiveState> {
        let mut lines = checked_lines(text, HEAD)?;
        let mut number = |name: &str| lines.next()?.strip_prefix(name)?.trim().parse().ok();
        let state = ArchiveState { segment_bytes: number("segment_bytes")?, from: Lsn(number("from")?), to: Lsn(number("to")?) };
        (state.segment_bytes > 0).then_some(state)
    }

    fn text(&self) -> String {
        with_checksum(&format!("{HEAD}\nsegment_bytes {}\nfrom {}\nto {}", self.segment_bytes, self.from.0, self.to.0))
    }

    fn write(&self, disk: &dyn Disk) -> Result<(), WalError> {
        write_text(disk, STATE, &self.text())
    }

    /// From where the log has to be kept until the archive goes on: the start of the segment that is being copied.
    pub fn keep_from(&self) -> Lsn {
        Lsn(self.to.0 / self.segment_bytes * self.segment_bytes)
    }

    /// From where the log is to be kept at a start, so that it can be compared with what the archive has: of an archive that ends with a segment,
    /// its last block.
    pub fn compare_from(&self) -> Lsn {
        let last_block = self.to.0.saturating_sub(BLOCK);
        Lsn(self.keep_from().0.min(last_block)).max(self.from.min(self.to))
    }
}

/// The lines behind the first of a small text file, when its checksum fits.
fn checked_lines<'t>(text: &'t str, head: &str) -> Option<std::str::Lines<'t>> {
    let (body, crc) = text.trim_end().rsplit_once("\ncrc ")?;
    let mut lines = body.lines();
    (u32::from_str_radix(crc, 16).ok()? == crc32c(body.as_bytes()) && lines.next()? == head).then_some(lines)
}

fn with_checksum(body: &str) -> String {
    format!("{body}\ncrc {:08x}\n", crc32c(body.as_bytes()))
}

fn read_text(disk: &dyn Disk, path: &str) -> Result<Option<String>, WalError> {
    if !disk.exists(path)? {
        return Ok(None);
    }
    let text = read_whole(&*disk.open(path, OpenMode::Existing, FileKind::Buffered)?)?;
    Ok(Some(String::from_utf8_lossy(&text).into_owned()))
}

/// Replaces a small text file: after a crash it is the old or the new one.
fn write_text(disk: &dyn Disk, path: &str, text: &str) -> Result<(), WalError> {
    let new = format!("{path}.new");
    let file = disk.open(&new, OpenMode::Create, FileKind::Buffered)?;
    file.set_len(text.len() as u64)?;
    file.write_at(text.as_bytes(), 0)?;
    file.sync()?;
    disk.rename(&new, path)?;
    disk.sync_dir("")?;
    Ok(())
}

/// Below this, segments may have been removed by [`prune`].
fn pruned_below(disk: &dyn Disk) -> Result<Lsn, WalError> {
    let Some(text) = read_text(disk, PRUNED)? else { return Ok(Lsn(0)) };
    let below = || checked_lines(&text, PRUNED_HEAD)?.next()?.strip_prefix("below ")?.parse().ok();
    below().map(Lsn).ok_or(WalError::Corrupt { what: "what says how far the log archive was pruned", lsn: Lsn(0) })
}

/// Removes segments of an archive that lie wholly below a position, but for what its server compares at its start; how many. The server may go on
/// archiving: what says how far the archive reaches is its own, and what says how far it was pruned is this function's.
pub fn prune(disk: &dyn Disk, below: Lsn) -> Result<u64, WalError> {
    let Some(state) = ArchiveState::read(disk)? else { return Err(WalError::Missing) };
    let first = below.min(state.compare_from()).0 / state.segment_bytes;
    let numbers = segment_numbers(&disk.list("")?);
    let old: Vec<u64> = numbers.into_iter().filter(|number| *number < first).collect();
    if old.is_empty() {
        return Ok(0);
    }
    // First it is said, then done: what is not there is never claimed.
    let below = pruned_below(disk)?.max(Lsn(first * state.segment_bytes));
    write_text(disk, PRUNED, &with_checksum(&format!("{PRUNED_HEAD}\nbelow {}", below.0)))?;
    for number in &old {
        disk.remove(&segment_name(*number))?;
    }
    disk.sync_dir("")?;
    Ok(old.len() as u64)
}

/// How the archive stands, for status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ArchiveStatus {
    /// Everything below is archived.
    pub lsn: Lsn,
    /// Durable bytes that are not archived yet.
    pub lag_bytes: u64,
    /// Passes that failed since the start.
    pub failures: u64,
    /// Whether the last pass failed.
    pub failing: bool,
    /// Times that the log was given up before it was archived.
    pub gaps: u64,
}

/// Copies one log into one archive.
pub struct LogArchive {
    wal: Arc<Wal>,
    disk: Arc<dyn Disk>,
    state: ArchiveState,
    pin: LogPin,
    buffer: AlignedBuf,
    file: Option<(u64, Arc<dyn File>)>,
    figures: Arc<Figures>,
}

#[derive(Default)]
pub(crate) struct Figures {
    lsn: AtomicU64,
    failures: AtomicU64,
    failing: AtomicBool,
    gaps: AtomicU64,
}

impl LogArchive {
    /// Goes on with the archive in a directory, or begins one. Refused when it holds another history than the log.
    pub fn open(wal: &Arc<Wal>, disk: Arc<dyn Disk>) -> Result<LogArchive, WalError> {
        let segment_bytes = wal.segment_bytes();
        let found = ArchiveState::read(&*disk)?;
        let other = |what| Err(WalError::Corrupt { what, lsn: found.map_or(Lsn(0), |state| state.to) });
        let mut gaps = 0;
        let kept = wal.kept_at_open.lock().take();
        let (state, pin) = match found {
            Some(state) if state.segment_bytes != segment_bytes => return other("the archive is of a log with another segment size"),
            Some(state) if state.to > wal.durable() => return other("the archive is ahead of the log: it holds another history"),
            found => match found.and_then(|state| Some((state, wal.pin(state.keep_from())?))) {
                Some(kept) => kept,
                None => {
                    gaps = u64::from(found.is_some());
                    begin(wal)?
                }
            },
        };
        drop(kept);
        let figures = Arc::new(Figures::default());
        figures.gaps.store(gaps, Ordering::Relaxed);
        figures.lsn.store(state.to.0, Ordering::Relaxed);
        let mut archive = LogArchive { wal: Arc::clone(wal), disk, state, pin, buffer: AlignedBuf::new(PIECE_BYTES), file: None, figures };
        if gaps == 0 && found.is_some() && !archive.agrees()? {
            return other("the archive holds another history than the log");
        }
        *wal.archive.lock() = Some(Arc::clone(&archive.figures));
        Ok(archive)
    }

    /// What it holds.
    pub fn state(&self) -> ArchiveState {
        self.state
    }

    /// Whether the bytes of the segment in the works are the log's; where the archive ends with a segment, the last block of that, if the log has it.
    fn agrees(&mut self) -> Result<bool, WalError> {
        let mut at = self.state.compare_from();
        if at == self.state.to {
            return Ok(true);
        }
        let kept_before = match at < self.pin.from() {
            true => self.wal.pin(at),
            false => None,
        };
        if at < self.pin.from() && kept_before.is_none() {
            return Ok(true);
        }
        let name = segment_name(at.0 / self.state.segment_bytes);
        if !self.disk.exists(&name)? {
            return Ok(false);
        }
        let file = self.disk.open(&name, OpenMode::Existing, FileKind::Buffered)?;
        let mut theirs = vec![0; PIECE_BYTES];
        while at < self.state.to {
            let ours = self.wal.read_durable(at, &mut self.buffer)?;
            let in_segment = self.state.segment_bytes - at.0 % self.state.segment_bytes;
            let count = (ours as u64).min(self.state.to.0 - at.0).min(in_segment) as usize;
            let offset = at.0 % self.state.segment_bytes;
            if count == 0 || file.len()? < offset + count as u64 {
                return Ok(false);
            }
            file.read_at(&mut theirs[..count], offset)?;
            if theirs[..count] != self.buffer[..count] {
                // What was given up while it was read tells nothing.
                return Ok(kept_before.is_some_and(|pin| pin.is_overrun()));
            }
            at = Lsn(at.0 + count as u64);
        }
        Ok(true)
    }

    /// Copies what has become durable. When this returns, it is in the archive for good.
    pub fn catch_up(&mut self) -> Result<(), WalError> {
        let done = self.copy();
        if done.is_err() {
            self.figures.failures.fetch_add(1, Ordering::Relaxed);
            // A file whose write or sync failed is opened again, and its segment copied from the start: the pin has moved only past what was synced.
            self.file = None;
            self.state.to = self.state.to.min(self.pin.from());
        }
        self.figures.failing.store(done.is_err(), Ordering::Relaxed);
        done
    }

    fn copy(&mut self) -> Result<(), WalError> {
        loop {
            if self.pin.is_overrun() {
                // The log was given up before it was here: a gap. The archive begins anew behind it.
                self.figures.gaps.fetch_add(1, Ordering::Relaxed);
                let (state, pin) = begin(&self.wal)?;
                (self.state, self.pin, self.file) = (state, pin, None);
            }
            let end = self.wal.durable();
            if self.state.to >= end {
                return Ok(());
            }
            let segment_bytes = self.state.segment_bytes;
            let begun_at = self.state.to;
            let stop = end.0.min((begun_at.0 / segment_bytes + 1) * segment_bytes);
            while self.state.to.0 < stop {
                let block = self.state.to.0 / BLOCK * BLOCK;
                let count = self.wal.read_durable(Lsn(block), &mut self.buffer)?.min((stop - block) as usize);
                if self.pin.is_overrun() || block + count as u64 <= self.state.to.0 {
                    break;
                }
                let file = self.file(block / segment_bytes)?;
                file.write_at(&self.buffer[..count], block % segment_bytes)?;
                self.state.to = Lsn(block + count as u64);
            }
            if self.pin.is_overrun() {
                continue;
            }
            if self.state.to == begun_at {
                return Err(WalError::Corrupt { what: "a segment is shorter than the log", lsn: begun_at });
            }
            if let Some((_, file)) = &self.file {
                file.sync()?;
            }
            self.state.write(&*self.disk)?;
            self.figures.lsn.store(self.state.to.0, Ordering::Relaxed);
            self.pin.move_to(self.state.keep_from());
        }
    }

    fn file(&mut self, number: u64) -> Result<Arc<dyn File>, WalError> {
        if let Some((open, file)) = &self.file
            && *open == number
        {
            return Ok(Arc::clone(file));
        }
        let file = self.disk.open(&segment_name(number), OpenMode::Create, FileKind::Buffered)?;
        self.disk.sync_dir("")?;
        self.file = Some((number, Arc::clone(&file)));
        Ok(file)
    }
}

/// The state and the pin of an archive that begins with the log that is there.
fn begin(wal: &Wal) -> Result<(ArchiveState, LogPin), WalError> {
    let segment_bytes = wal.segment_bytes();
    loop {
        // The first record of a log begins a block later than its first segment.
        let from = Lsn(wal.redo_lsn().0 / segment_bytes * segment_bytes);
        if let Some(pin) = wal.pin(from) {
            return Ok((ArchiveState { segment_bytes, from, to: from }, pin));
        }
        // A checkpoint came between the two lines, or the log has failed.
        if wal.has_failed() {
            return Err(WalError::Failed);
        }
    }
}

/// The thread that archives; dropping it copies once more and ends it.
pub struct Archiver {
    stop: Arc<AtomicBool>,
    wake: Arc<Signal>,
    thread: Option<JoinHandle<()>>,
}

impl LogArchive {
    /// Copies once a second, and more often while the log is ahead. `on_warning` is told when it begins to fail, and when it goes on.
    pub fn start(mut self, on_warning: Arc<dyn Fn(&str) + Send + Sync>) -> std::io::Result<Archiver> {
        let (stop, wake) = (Arc::new(AtomicBool::new(false)), Arc::new(Signal::new()));
        let (stopped, woken) = (Arc::clone(&stop), Arc::clone(&wake));
        let work = move || {
            let mut failing = false;
            let mut gaps = 0;
            loop {
                let ending = stopped.load(Ordering::Acquire);
                match self.catch_up() {
                    Ok(()) if failing => {
                        failing = false;
                        on_warning("log archive: it goes on");
                    }
                    Ok(()) => {}
                    Err(error) if !failing => {
                        failing = true;
                        on_warning(&format!("log archive: {error}; segments are kept and it is tried again"));
                    }
                    Err(_) => {}
                }
                let gaps_now = self.figures.gaps.load(Ordering::Relaxed);
                if gaps_now > gaps {
                    gaps = gaps_now;
                    on_warning(
                        "log archive: the log was given up before it was archived; a point in time can be reached from backups taken from now on",
                    );
                }
                if ending {
                    return;
                }
                if failing || self.wal.durable().0.saturating_sub(self.state.to.0) < BEHIND_BYTES {
                    woken.wait(Some(Instant::now() + INTERVAL));
                }
            }
        };
        let thread = thread::Builder::new().name("log-archive".into()).stack_size(256 << 10).spawn(work)?;
        Ok(Archiver { stop, wake, thread: Some(thread) })
    }
}

impl Drop for Archiver {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.wake.notify();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed by its hook; there is nothing to add while dropping.
            let _ = thread.join();
        }
    }
}

impl Wal {
    /// How the archive stands; `None` without one.
    pub fn archive_status(&self) -> Option<ArchiveStatus> {
        let figures = self.archive.lock().clone()?;
        let lsn = Lsn(figures.lsn.load(Ordering::Relaxed));
        Some(ArchiveStatus {
            lsn,
            lag_bytes: self.durable().0.saturating_sub(lsn.0),
            failures: figures.failures.load(Ordering::Relaxed),
            failing: figures.failing.load(Ordering::Relaxed),
            gaps: figures.gaps.load(Ordering::Relaxed),
        })
    }
}

pub(crate) type ArchiveFigures = Mutex<Option<Arc<Figures>>>;

pub(crate) fn no_archive() -> ArchiveFigures {
    Mutex::new(Rank::Leaf, None)
}

impl std::fmt::Debug for LogArchive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LogArchive({:?})", self.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_round_trips_and_a_damaged_one_is_told() {
        let state = ArchiveState { segment_bytes: 65536, from: Lsn(4096), to: Lsn(99_000) };
        assert_eq!(ArchiveState::parse(&state.text()), Some(state));
        assert_eq!(ArchiveState::parse(&state.text().replace("99000", "99001")), None);
        assert_eq!(ArchiveState::parse(""), None);
        assert_eq!((state.keep_from(), state.compare_from()), (Lsn(65536), Lsn(65536)));
        let at_boundary = ArchiveState { to: Lsn(131_072), ..state };
        assert_eq!((at_boundary.keep_from(), at_boundary.compare_from()), (Lsn(131_072), Lsn(131_072 - BLOCK)));
        let empty = ArchiveState { from: Lsn(131_072), ..at_boundary };
        assert_eq!((empty.keep_from(), empty.compare_from()), (Lsn(131_072), Lsn(131_072)));
    }
}
