//! A file of the simulated disk: what is durable, what readers see, and the changes between.

use crate::entropy::SplitMix64;
use crate::sim_contents::Contents;
use crate::sim_disk::{CrashReport, State};
use crate::sim_faults::Flip;
use crate::{DIRECT_ALIGN, File};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use sync::Mutex;

/// One unsynced change of a file.
pub(crate) enum Change {
    Write { offset: u64, bytes: Box<[u8]> },
    SetLen(u64),
    Reserve(Range<u64>),
    Punch { offset: u64, len: u64 },
}

impl Change {
    /// Whether this byte of a file is another than before, or gone.
    fn covers(&self, place: u64) -> bool {
        match self {
            Change::Write { offset, bytes } => (*offset..offset + bytes.len() as u64).contains(&place),
            Change::SetLen(len) => place >= *len,
            Change::Reserve(_) => false,
            Change::Punch { offset, len } => (*offset..offset.saturating_add(*len)).contains(&place),
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
}

#[derive(Default)]
pub(crate) struct Inode {
    pub(crate) durable: Contents,
    pub(crate) current: Contents,
    pub(crate) pending: Vec<Change>,
    /// Bits that the medium has turned over, and nobody has written since.
    pub(crate) flips: Vec<Flip>,
}

impl Inode {
    /// A change that readers see, and that is not synced.
    pub(crate) fn change(&mut self, change: Change) {
        self.current.apply(&change);
        self.flips.iter_mut().for_each(|flip| flip.in_current &= !change.covers(flip.offset));
        self.pending.push(change);
    }

    fn make_durable(&mut self, change: &Change) {
        self.durable.apply(change);
        self.flips.iter_mut().for_each(|flip| flip.in_durable &= !change.covers(flip.offset));
    }

    pub(crate) fn sync(&mut self) {
        for change in std::mem::take(&mut self.pending) {
            self.make_durable(&change);
        }
    }

    /// What is not waiting for a sync is read from the device.
    fn forget_cached(&mut self) {
        if self.pending.is_empty() {
            self.lose_the_rest();
        }
    }

    /// Power was lost, and what was pending is settled: readers see what is durable.
    pub(crate) fn lose_the_rest(&mut self) {
        self.current.clone_from(&self.durable);
        self.flips.retain(|flip| flip.in_durable);
        self.flips.iter_mut().for_each(|flip| flip.in_current = true);
    }

    /// Turns a bit over, wherever there is such a byte.
    pub(crate) fn flip(&mut self, offset: u64, mask: u8) {
        let (in_current, in_durable) = (self.current.turn_over(offset, mask), self.durable.turn_over(offset, mask));
        self.flips.push(Flip { offset, mask, in_current, in_durable });
    }

    /// Turns flipped bits back that are still wrong; returns how many.
    pub(crate) fn turn_back_flips(&mut self) -> u64 {
        let mut wrong = 0;
        for Flip { offset, mask, in_current, in_durable } in std::mem::take(&mut self.flips) {
            for contents in [in_current.then_some(&mut self.current), in_durable.then_some(&mut self.durable)].into_iter().flatten() {
                contents.turn_over(offset, mask);
            }
            wrong += u64::from(in_current || in_durable);
        }
        wrong
    }

    /// Some of a write's sectors reach the disk, by the toss of a coin each; returns how many of how many.
    fn make_durable_torn(&mut self, change: &Change, rng: &mut SplitMix64, sector_bytes: usize) -> (u64, u64) {
        let Change::Write { offset, bytes } = change else {
            self.make_durable(change);
            return (1, 1);
        };
        let (mut kept, mut total) = (0, 0);
        let mut at = 0;
        while at < bytes.len() {
            let place = *offset as usize + at;
            let next = (at + sector_bytes - place % sector_bytes).min(bytes.len());
            total += 1;
            if rng.coin() {
                self.make_durable(&Change::Write { offset: place as u64, bytes: bytes[at..next].into() });
                kept += 1;
            }
            at = next;
        }
        (kept, total)
    }

    /// Decides the fate of each unsynced change.
    pub(crate) fn settle(&mut self, rng: &mut SplitMix64, sector_bytes: usize) -> CrashReport {
        let mut report = CrashReport::default();
        for change in std::mem::take(&mut self.pending) {
            match rng.below(3) {
                0 => report.dropped += 1,
                1 => {
                    self.make_durable(&change);
                    report.kept += 1;
                }
                _ => match self.make_durable_torn(&change, rng, sector_bytes) {
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
            if !file.read(buf, offset) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
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

    fn forget_cached(&self) -> io::Result<()> {
        self.with(|state| {
            if !self.direct
                && let Some(file) = state.inodes.get_mut(&self.inode)
            {
                file.forget_cached();
            }
            Ok(())
        })
    }

    fn reserve(&self, range: Range<u64>) -> io::Result<()> {
        self.with(|state| state.change(self.inode, &self.path, Change::Reserve(range)))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.with(|state| state.change(self.inode, &self.path, Change::SetLen(len)))
    }

    fn len(&self) -> io::Result<u64> {
        self.with(|state| Ok(state.inodes.get(&self.inode).ok_or_else(stale)?.current.len()))
    }

    fn punch_hole(&self, offset: u64, len: u64) -> io::Result<()> {
        self.with(|state| state.change(self.inode, &self.path, Change::Punch { offset, len }))
    }
}
