//! A disk in memory that crashes, tears and fails on demand, repeatable from a seed.
//!
//! # Model
//! - A write, `set_len`, `reserve` or `punch_hole` is visible to readers at once and *unsynced* until [`File::sync`] of that file.
//! - [`SimDisk::crash`] decides for each unsynced change: kept, dropped, or (a write) torn: each sector for itself.
//!   Changes may thus reach the disk in any order. A kept write beyond the durable length grows the file.
//! - Names (create, rename, remove) are journalled per directory: of the unsynced ones a prefix survives. `sync_dir` makes all
//!   of that directory's durable. A removed file whose removal is lost comes back with its contents.
//! - A failed sync loses some of the unsynced changes for good, although readers still see them and a later sync succeeds:
//!   that is what Linux does. A file in the page cache shows what the device has after [`File::forget_cached`].
//! - Room is taken by blocks that were written or reserved: what `set_len` adds and `punch_hole` gives back takes none until it is written.
//! - Sectors are of 512 bytes, or as [`SimDisk::set_sector_bytes`] says.
//! - What goes wrong on demand is in `sim_faults.rs`.
//! - After the operation on which a crash was planned, everything fails until [`SimDisk::crash`]; handles opened before stay dead.

use crate::entropy::SplitMix64;
use crate::sim_faults::{self, Damage, Planned, ReadFault, WriteFault, without_flips};
use crate::sim_file::{Change, Inode, SimFile};
use crate::{Disk, File, FileKind, OpenMode};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use sync::{Mutex, Rank};

/// How many operations there have been. `changes` counts everything that a crash can be planned at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimCounts {
    /// Writes, syncs, and changes of length or names.
    pub changes: u64,
    /// Calls of `read_at`.
    pub reads: u64,
    /// Calls of `write_at`.
    pub writes: u64,
    /// Calls of `sync` and `sync_dir`.
    pub syncs: u64,
    /// Calls of `reserve`.
    pub reserves: u64,
}

/// What [`SimDisk::crash`] did with the unsynced changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CrashReport {
    /// Changes of file contents that survived whole.
    pub kept: u64,
    /// Changes that vanished.
    pub dropped: u64,
    /// Writes of which some sectors survived.
    pub torn: u64,
}

/// A simulated disk; clones are the same disk.
#[derive(Clone)]
pub struct SimDisk {
    shared: Arc<Mutex<State>>,
}

pub(crate) enum NameChange {
    Set(String, u64),
    Remove(String),
    Rename(String, String),
}

pub(crate) struct State {
    rng: SplitMix64,
    pub(crate) inodes: BTreeMap<u64, Inode>,
    next_inode: u64,
    names: BTreeMap<String, u64>,
    durable_names: BTreeMap<String, u64>,
    dirs: BTreeSet<String>,
    pending_names: BTreeMap<String, Vec<NameChange>>,
    counts: SimCounts,
    /// Grows at each crash; handles of an earlier one are dead.
    pub(crate) generation: u64,
    down: bool,
    crash_at: Option<u64>,
    write_fault: Option<Planned<WriteFault>>,
    sync_fault: Option<Planned<()>>,
    read_fault: Option<Planned<ReadFault>>,
    pub(crate) before_read: Option<Box<dyn FnOnce() + Send>>,
    capacity: Option<u64>,
    /// Files whose paths begin so take no more room.
    full: Option<String>,
    removes_fail: bool,
    damage: Vec<Damage>,
    pub(crate) sector_bytes: usize,
    /// All files are read and written through the page cache.
    refuses_direct: bool,
}

fn down() -> io::Error {
    io::Error::other("simulated crash: the disk is down")
}

fn not_found(path: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("{path}: no such simulated file"))
}

pub(crate) fn dir_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(dir, _)| dir)
}

impl State {
    /// Counts one change and fails it when the crash comes here: then the change may still reach the disk, unacknowledged.
    fn step(&mut self) -> io::Result<bool> {
        self.check_up()?;
        self.counts.changes += 1;
        if self.crash_at.is_some_and(|at| self.counts.changes >= at) {
            self.down = true;
            return Ok(false);
        }
        Ok(true)
    }

    pub(crate) fn check_up(&self) -> io::Result<()> {
        if self.down { Err(down()) } else { Ok(()) }
    }

    fn used(&self) -> u64 {
        let named: BTreeSet<u64> = self.names.values().chain(self.durable_names.values()).copied().collect();
        named.iter().filter_map(|inode| self.inodes.get(inode)).map(|inode| inode.current.used()).sum()
    }

    fn forget_planned(&mut self) {
        self.crash_at = None;
        self.write_fault = None;
        self.sync_fault = None;
        self.read_fault = None;
    }

    fn check_capacity(&self, inode: u64, path: &str, change: &Change) -> io::Result<()> {
        let wants = self.inodes.get(&inode).map_or(0, |file| file.current.wants(change));
        if wants > 0 && self.full.as_ref().is_some_and(|full| path.starts_with(full)) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        match self.capacity {
            Some(capacity) if wants > 0 && self.used() + wants > capacity => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(()),
        }
    }

    pub(crate) fn change(&mut self, inode: u64, path: &str, change: Change) -> io::Result<()> {
        self.check_up()?;
        self.counts.reserves += u64::from(matches!(change, Change::Reserve(_)));
        if matches!(change, Change::Write { .. }) {
            self.counts.writes += 1;
            if let Some(fault) = Planned::meets(&mut self.write_fault, path) {
                return self.faulty_write(inode, fault, change);
            }
        }
        self.check_capacity(inode, path, &change)?;
        let alive = self.step()?;
        let file = self.inodes.get_mut(&inode).ok_or_else(down)?;
        file.change(change);
        if alive { Ok(()) } else { Err(down()) }
    }

    fn faulty_write(&mut self, inode: u64, fault: WriteFault, change: Change) -> io::Result<()> {
        let Change::Write { offset, bytes } = change else { return Ok(()) };
        let State { rng, inodes, damage, .. } = self;
        let file = inodes.get_mut(&inode).ok_or_else(down)?;
        let mut written = Vec::new();
        let in_place = |file: &Inode, offset, len| without_flips(&file.flips, offset, file.current.at(offset, len));
        let outcome = match fault {
            WriteFault::Error => Err(io::Error::other("simulated write error")),
            WriteFault::Torn => {
                written = Change::Write { offset, bytes }.torn(rng, self.sector_bytes);
                Err(io::Error::other("simulated write error"))
            }
            WriteFault::Short | WriteFault::Full => {
                let sectors = bytes.len() as u64 / self.sector_bytes as u64;
                let part = rng.below(sectors + 1) as usize * self.sector_bytes;
                written.push(Change::Write { offset, bytes: bytes[..part.min(bytes.len())].into() });
                Err(match fault {
                    WriteFault::Full => io::ErrorKind::StorageFull.into(),
                    _ => io::Error::other("simulated short write"),
                })
            }
            WriteFault::Lost => {
                sim_faults::note(damage, inode, offset, &bytes, &in_place(file, offset, bytes.len()));
                Ok(())
            }
            WriteFault::Misdirected => {
                let len = bytes.len() as u64;
                let aligned = if rng.coin() && offset.is_multiple_of(16 * 1024) { 16 * 1024 } else { 4096 };
                let places = file.current.len().saturating_sub(len) / aligned + 1;
                let fits = |other: &u64| other + len <= file.current.len() && (*other >= offset + len || offset >= other + len);
                let other = (0..16).map(|_| rng.below(places) * aligned).find(fits);
                // Where there is no other place it goes to its own.
                if other.is_none() {
                    written.push(Change::Write { offset, bytes: bytes.clone() });
                }
                if let Some(other) = other {
                    sim_faults::note(damage, inode, offset, &bytes, &in_place(file, offset, bytes.len()));
                    sim_faults::note(damage, inode, other, &in_place(file, other, bytes.len()), &bytes);
                    written.push(Change::Write { offset: other, bytes });
                }
                Ok(())
            }
        };
        written.into_iter().for_each(|change| file.change(change));
        outcome
    }

    pub(crate) fn sync_file(&mut self, inode: u64, path: &str) -> io::Result<()> {
        self.check_up()?;
        self.counts.syncs += 1;
        if Planned::meets(&mut self.sync_fault, path).is_some() {
            let State { rng, inodes, .. } = self;
            if let Some(file) = inodes.get_mut(&inode) {
                file.settle(rng, self.sector_bytes);
            }
            return Err(io::Error::other("simulated sync error"));
        }
        if !self.step()? {
            return Err(down());
        }
        self.inodes.get_mut(&inode).ok_or_else(down)?.sync();
        Ok(())
    }

    /// One more read of a file; whether it brings a wrong bit, and which.
    pub(crate) fn count_read(&mut self, path: &str) -> io::Result<Option<u64>> {
        self.check_up()?;
        self.counts.reads += 1;
        match Planned::meets(&mut self.read_fault, path) {
            Some(ReadFault::Error) => Err(io::Error::other("simulated read error")),
            Some(ReadFault::Garbled) => Ok(Some(self.rng.next())),
            None => Ok(None),
        }
    }

    fn change_name(&mut self, change: NameChange) -> io::Result<()> {
        let alive = self.step()?;
        let dir = match &change {
            NameChange::Set(path, _) | NameChange::Remove(path) | NameChange::Rename(_, path) => dir_of(path).to_owned(),
        };
        apply_name(&mut self.names, &change);
        self.pending_names.entry(dir).or_default().push(change);
        if alive { Ok(()) } else { Err(down()) }
    }

    fn drop_nameless(&mut self) {
        let named: BTreeSet<u64> = self.durable_names.values().copied().collect();
        self.inodes.retain(|inode, _| named.contains(inode));
    }
}

fn apply_name(names: &mut BTreeMap<String, u64>, change: &NameChange) {
    match change {
        NameChange::Set(path, inode) => {
            names.insert(path.clone(), *inode);
        }
        NameChange::Remove(path) => {
            names.remove(path);
        }
        NameChange::Rename(from, to) => {
            if let Some(inode) = names.remove(from) {
                names.insert(to.clone(), inode);
            }
        }
    }
}

impl SimDisk {
    /// An empty disk. The seed decides what each crash does.
    pub fn new(seed: u64) -> Self {
        let state = State {
            rng: SplitMix64::new(seed),
            inodes: BTreeMap::new(),
            next_inode: 1,
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            dirs: BTreeSet::from([String::new()]),
            pending_names: BTreeMap::new(),
            counts: SimCounts::default(),
            generation: 0,
            down: false,
            crash_at: None,
            write_fault: None,
            sync_fault: None,
            read_fault: None,
            before_read: None,
            capacity: None,
            full: None,
            removes_fail: false,
            damage: Vec::new(),
            sector_bytes: 512,
            refuses_direct: false,
        };
        SimDisk { shared: Arc::new(Mutex::new(Rank::Leaf, state)) }
    }

    /// Power loss now: each unsynced change is kept, dropped or torn; the disk is then up again, planned faults are forgotten.
    pub fn crash(&self) -> CrashReport {
        let state = &mut *self.shared.lock();
        let mut report = CrashReport::default();
        for changes in std::mem::take(&mut state.pending_names).into_values() {
            let survivors = state.rng.below(changes.len() as u64 + 1) as usize;
            for change in &changes[..survivors] {
                apply_name(&mut state.durable_names, change);
            }
        }
        for inode in state.inodes.values_mut() {
            let settled = inode.settle(&mut state.rng, state.sector_bytes);
            report.kept += settled.kept;
            report.dropped += settled.dropped;
            report.torn += settled.torn;
            inode.lose_the_rest();
        }
        state.names = state.durable_names.clone();
        state.drop_nameless();
        state.down = false;
        state.generation += 1;
        state.forget_planned();
        report
    }

    /// The process dies and the machine stays up: nothing is lost, but old handles are dead and planned faults are forgotten.
    pub fn kill(&self) {
        let state = &mut *self.shared.lock();
        state.generation += 1;
        state.down = false;
        state.forget_planned();
    }

    /// What happened so far.
    pub fn counts(&self) -> SimCounts {
        self.shared.lock().counts
    }

    /// Plans a crash at the `n`-th change from now (1 = the next): that one and all later operations fail, until [`SimDisk::crash`].
    pub fn crash_at(&self, n: u64) {
        let state = &mut *self.shared.lock();
        state.crash_at = Some(state.counts.changes + n);
    }

    /// Whether the planned crash has come.
    pub fn is_down(&self) -> bool {
        self.shared.lock().down
    }

    /// Lets the `n`-th `write_at` from now fail.
    pub fn fail_write(&self, n: u64) {
        self.plan_write("", n, WriteFault::Error);
    }

    /// Lets the `n`-th `write_at` from now fail after some of its sectors were written.
    pub fn tear_write(&self, n: u64) {
        self.plan_write("", n, WriteFault::Torn);
    }

    /// Plans a fault for the `n`-th `write_at` from now to a file whose path begins with `path`.
    pub fn plan_write(&self, path: &str, n: u64, fault: WriteFault) {
        self.shared.lock().write_fault = Planned::new(path, n, fault);
    }

    /// Lets the `n`-th `sync` from now fail, losing some of what it should have kept.
    pub fn fail_sync(&self, n: u64) {
        self.plan_sync("", n);
    }

    /// Lets the `n`-th `sync` from now of a file (or `sync_dir` of a directory) whose path begins with `path` fail.
    pub fn plan_sync(&self, path: &str, n: u64) {
        self.shared.lock().sync_fault = Planned::new(path, n, ());
    }

    /// Lets the `n`-th `read_at` from now fail.
    pub fn fail_read(&self, n: u64) {
        self.plan_read("", n, ReadFault::Error);
    }

    /// Plans a fault for the `n`-th `read_at` from now of a file whose path begins with `path`.
    pub fn plan_read(&self, path: &str, n: u64, fault: ReadFault) {
        self.shared.lock().read_fault = Planned::new(path, n, fault);
    }

    /// Runs `meanwhile` on the reader's thread before the next `read_at`: what others do while a read waits for the disk, at a moment that is known.
    pub fn before_read(&self, meanwhile: impl FnOnce() + Send + 'static) {
        self.shared.lock().before_read = Some(Box::new(meanwhile));
    }

    /// Lets files whose paths begin so take no more room (`""`: all); `None` takes that away.
    pub fn set_full(&self, path: Option<&str>) {
        self.shared.lock().full = path.map(str::to_owned);
    }

    /// Whether removing a file fails.
    pub fn set_removes_fail(&self, fail: bool) {
        self.shared.lock().removes_fail = fail;
    }

    /// Files opened from here on go through the page cache, as on a file system without O_DIRECT.
    pub fn set_refuses_direct(&self, refuses: bool) {
        self.shared.lock().refuses_direct = refuses;
    }

    /// What crashes tear by: 512 bytes or 4 KiB.
    pub fn set_sector_bytes(&self, bytes: usize) {
        assert!(bytes.is_power_of_two() && bytes >= 512, "sectors of {bytes} bytes");
        self.shared.lock().sector_bytes = bytes;
    }

    /// Other choices from here on, whatever was chosen before.
    pub fn reseed(&self, seed: u64) {
        self.shared.lock().rng = SplitMix64::new(seed);
    }

    /// Whether a place holds other bytes than were written there, as far as the disk knows; it may have been written since.
    pub fn is_damaged(&self) -> bool {
        let state = self.shared.lock();
        let mut flips = state.inodes.values().flat_map(|file| &file.flips);
        !state.damage.is_empty() || flips.any(|flip| flip.in_current || flip.in_durable)
    }

    /// Puts the right bytes where damage was done, unless they were written since; forgets the damage. Returns how many places were still wrong.
    pub fn heal(&self) -> u64 {
        let state = &mut *self.shared.lock();
        sim_faults::heal(std::mem::take(&mut state.damage), &mut state.inodes)
    }

    /// Forgets what damage was done, and leaves it.
    pub fn forget_damage(&self) {
        let state = &mut *self.shared.lock();
        state.damage.clear();
        state.inodes.values_mut().for_each(|file| file.flips.clear());
    }

    /// Bounds the room that files take; what needs more is `StorageFull`. `None` takes the bound away.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.shared.lock().capacity = bytes;
    }

    /// The room that files take: blocks written or reserved, and not punched out since.
    pub fn used(&self) -> u64 {
        self.shared.lock().used()
    }

    /// Flips one bit of a file, durably: a fault of the medium that checksums must find.
    pub fn flip_bit(&self, path: &str, offset: u64, bit: u8) -> io::Result<()> {
        let state = &mut *self.shared.lock();
        let inode = *state.names.get(path).ok_or_else(|| not_found(path))?;
        let file = state.inodes.get_mut(&inode).ok_or_else(|| not_found(path))?;
        if offset < file.current.len() {
            file.flip(offset, 1 << (bit % 8));
        }
        Ok(())
    }
}

impl Disk for SimDisk {
    fn open(&self, path: &str, mode: OpenMode, kind: FileKind) -> io::Result<Arc<dyn File>> {
        let state = &mut *self.shared.lock();
        state.check_up()?;
        let inode = match (state.names.get(path).copied(), mode) {
            (Some(_), OpenMode::CreateNew) => return Err(io::ErrorKind::AlreadyExists.into()),
            (Some(inode), _) => inode,
            (None, OpenMode::Existing) => return Err(not_found(path)),
            (None, _) => {
                if !state.dirs.contains(dir_of(path)) {
                    return Err(not_found(dir_of(path)));
                }
                let inode = state.next_inode;
                state.next_inode += 1;
                state.inodes.insert(inode, Inode::default());
                state.change_name(NameChange::Set(path.to_owned(), inode))?;
                inode
            }
        };
        let direct = kind == FileKind::Direct && !state.refuses_direct;
        Ok(Arc::new(SimFile { shared: self.shared.clone(), inode, path: path.into(), generation: state.generation, direct }))
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        let state = self.shared.lock();
        state.check_up()?;
        Ok(state.names.contains_key(path) || state.dirs.contains(path))
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        let state = self.shared.lock();
        state.check_up()?;
        if !state.dirs.contains(dir) {
            return Err(not_found(dir));
        }
        let inside = |path: &&String| dir_of(path) == dir && !path.is_empty();
        let files = state.names.keys().filter(inside);
        let dirs = state.dirs.iter().filter(inside);
        let name = |path: &String| path.rsplit_once('/').map_or(path.as_str(), |(_, name)| name).to_owned();
        let mut names: Vec<String> = files.chain(dirs).map(name).collect();
        names.sort();
        Ok(names)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let state = &mut *self.shared.lock();
        state.check_up()?;
        if !state.names.contains_key(from) {
            return Err(not_found(from));
        }
        state.change_name(NameChange::Rename(from.to_owned(), to.to_owned()))
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        let state = &mut *self.shared.lock();
        state.check_up()?;
        if !state.names.contains_key(path) {
            return Err(not_found(path));
        }
        if state.removes_fail {
            return Err(io::Error::other("a planned failure to remove"));
        }
        state.change_name(NameChange::Remove(path.to_owned()))
    }

    fn create_dir_all(&self, dir: &str) -> io::Result<()> {
        let state = &mut *self.shared.lock();
        state.check_up()?;
        let mut rest = dir;
        while !rest.is_empty() {
            state.dirs.insert(rest.to_owned());
            rest = dir_of(rest);
        }
        Ok(())
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        let state = &mut *self.shared.lock();
        state.check_up()?;
        state.counts.syncs += 1;
        if Planned::meets(&mut state.sync_fault, dir).is_some() {
            return Err(io::Error::other("simulated sync error"));
        }
        if !state.step()? {
            return Err(down());
        }
        for change in state.pending_names.remove(dir).unwrap_or_default() {
            apply_name(&mut state.durable_names, &change);
        }
        Ok(())
    }
}

impl std::fmt::Debug for SimDisk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SimDisk({:?})", self.counts())
    }
}

#[cfg(test)]
#[path = "sim_disk_tests.rs"]
mod tests;
