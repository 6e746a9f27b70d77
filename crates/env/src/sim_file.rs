//! A file of the simulated disk: what is durable, what readers see, and the changes between.

use crate::entropy::SplitMix64;
use crate::sim_disk::{CrashReport, State};
use crate::{DIRECT_ALIGN, File};
use std::io;
use std::sync::Arc;
use sync::Mutex;

/// One unsynced change of a file.
pub(crate) enum Change {
    Write { offset: u64, bytes: Box<[u8]> },
    SetLen(u64),
    Grow(u64),
    Punch { offset: u64, len: u64 },
}

impl Change {
    /// Length the file must have to hold the change.
    pub(crate) fn end(&self) -> u64 {
        match self {
            Change::Write { offset, bytes } => offset + bytes.len() as u64,
            Change::SetLen(len) | Change::Grow(len) => *len,
            Change::Punch { .. } => 0,
        }
    }

    pub(crate) fn apply(&self, file: &mut Vec<u8>) {
        match self {
            Change::Write { offset, bytes } => write(file, *offset as usize, bytes),
            Change::SetLen(len) => file.resize(*len as usize, 0),
            Change::Grow(len) => {
                if file.len() < *len as usize {
                    file.resize(*len as usize, 0);
                }
            }
            Change::Punch { offset, len } => {
                let end = offset.saturating_add(*len).min(file.len() as u64) as usize;
                let start = (*offset as usize).min(end);
                file[start..end].fill(0);
            }
        }
    }

    /// Some of the sectors of a write, by the toss of a coin each.
    pub(crate) fn torn(&self, rng: &mut SplitMix64, sector_bytes: usize) -> Vec<Change> {
        let Change::Write { offset, bytes } = self else { return Vec::new() };
        let mut sectors = Vec::new();
        for (no, sector) in bytes.chunks(sector_bytes).enumerate() {
            if rng.coin() {
                sectors.push(Change::Write { offset: offset + (no * sector_bytes) as u64, bytes: sector.into() });
            }
        }
        sectors
    }

    /// Applies each sector of a write by the toss of a coin; returns how many of how many.
    fn apply_torn(&self, file: &mut Vec<u8>, rng: &mut SplitMix64, sector_bytes: usize) -> (u64, u64) {
        let Change::Write { offset, bytes } = self else {
            self.apply(file);
            return (1, 1);
        };
        let (mut kept, mut total) = (0, 0);
        let mut at = 0;
        while at < bytes.len() {
            let place = *offset as usize + at;
            let next = (at + sector_bytes - place % sector_bytes).min(bytes.len());
            total += 1;
            if rng.coin() {
                write(file, place, &bytes[at..next]);
                kept += 1;
            }
            at = next;
        }
        (kept, total)
    }
}

fn write(file: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if file.len() < end {
        file.resize(end, 0);
    }
    file[offset..end].copy_from_slice(bytes);
}

#[derive(Default)]
pub(crate) struct Inode {
    pub(crate) durable: Vec<u8>,
    pub(crate) current: Vec<u8>,
    pub(crate) pending: Vec<Change>,
}

impl Inode {
    pub(crate) fn sync(&mut self) {
        for change in self.pending.drain(..) {
            change.apply(&mut self.durable);
        }
    }

    /// Decides the fate of each unsynced change.
    pub(crate) fn settle(&mut self, rng: &mut SplitMix64, sector_bytes: usize) -> CrashReport {
        let mut report = CrashReport::default();
        for change in self.pending.drain(..) {
            match rng.below(3) {
                0 => report.dropped += 1,
                1 => {
                    change.apply(&mut self.durable);
                    report.kept += 1;
                }
                _ => match change.apply_torn(&mut self.durable, rng, sector_bytes) {
                    (0, total) if total > 0 => report.dropped += 1,
                    (kept, total) if kept == total => report.kept += 1,
                    _ => report.torn += 1,
                },
            }
        }
        report
    }
}

pub(crate) struct SimFile {
    pub(crate) shared: Arc<Mutex<State>>,
    pub(crate) inode: u64,
    /// Under which it was opened: faults are planned by it.
    pub(crate) path: Box<str>,
    pub(crate) generation: u64,
    pub(crate) direct: bool,
}

impl SimFile {
    fn with<R>(&self, f: impl FnOnce(&mut State) -> io::Result<R>) -> io::Result<R> {
        let state = &mut *self.shared.lock();
        state.check_up()?;
        if state.generation != self.generation {
            return Err(io::Error::other("simulated crash: the handle was opened before it"));
        }
        f(state)
    }

    /// Direct access must be aligned here too, so that tests find what the real disk would refuse.
    fn check_aligned(&self, offset: u64, len: usize) -> io::Result<()> {
        if self.direct && (!offset.is_multiple_of(DIRECT_ALIGN as u64) || !len.is_multiple_of(DIRECT_ALIGN)) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("unaligned direct access: {len} bytes at {offset}")));
        }
        Ok(())
    }
}

fn stale() -> io::Error {
    io::Error::other("simulated file is gone")
}

impl File for SimFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.check_aligned(offset, buf.len())?;
        let meanwhile = self.shared.lock().before_read.take();
        if let Some(meanwhile) = meanwhile {
            meanwhile();
        }
        self.with(|state| {
            let garbled = state.count_read(&self.path)?;
            let file = &state.inodes.get(&self.inode).ok_or_else(stale)?.current;
            let start = usize::try_from(offset).unwrap_or(usize::MAX);
            let end = start.saturating_add(buf.len());
            buf.copy_from_slice(file.get(start..end).ok_or(io::ErrorKind::UnexpectedEof)?);
            if let Some(random) = garbled.filter(|_| !buf.is_empty()) {
                buf[(random / 8) as usize % buf.len()] ^= 1 << (random % 8);
            }
            Ok(())
        })
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.check_aligned(offset, buf.len())?;
        self.with(|state| state.change(self.inode, &self.path, Change::Write { offset, bytes: buf.into() }))
    }

    fn sync(&self) -> io::Result<()> {
        self.with(|state| state.sync_file(self.inode, &self.path))
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        self.with(|state| state.change(self.inode, &self.path, Change::Grow(len)))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.with(|state| state.change(self.inode, &self.path, Change::SetLen(len)))
    }

    fn len(&self) -> io::Result<u64> {
        self.with(|state| Ok(state.inodes.get(&self.inode).ok_or_else(stale)?.current.len() as u64))
    }

    fn punch_hole(&self, offset: u64, len: u64) -> io::Result<()> {
        self.with(|state| state.change(self.inode, &self.path, Change::Punch { offset, len }))
    }
}
