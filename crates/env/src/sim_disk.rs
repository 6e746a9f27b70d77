//! A disk in memory that crashes, tears and fails on demand, repeatable from a seed.
//!
//! # Model
//! - A write, `set_len`, `allocate` or `punch_hole` is visible to readers at once and *unsynced* until [`File::sync`] of that file.
//! - [`SimDisk::crash`] decides for each unsynced change: kept, dropped, or (a write) torn: each 512-byte sector for itself.
//!   Changes may thus reach the disk in any order. A kept write beyond the durable length grows the file.
//! - Names (create, rename, remove) are journalled per directory: of the unsynced ones a prefix survives. `sync_dir` makes all
//!   of that directory's durable. A removed file whose removal is lost comes back with its contents.
//! - A failed sync loses some of the unsynced changes for good, although readers still see them and a later sync succeeds:
//!   that is what Linux does.
//! - After the operation on which a crash was planned, everything fails until [`SimDisk::crash`]; handles opened before stay dead.

use crate::entropy::SplitMix64;
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
    fail_write_at: Option<u64>,
    tear_write_at: Option<u64>,
    fail_sync_at: Option<u64>,
    fail_read_at: Option<u64>,
    capacity: Option<u64>,
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
        named.iter().filter_map(|inode| self.inodes.get(inode)).map(|inode| inode.current.len() as u64).sum()
    }

    fn check_capacity(&self, inode: u64, new_len: u64) -> io::Result<()> {
        let old_len = self.inodes.get(&inode).map_or(0, |i| i.current.len() as u64);
        match self.capacity {
            Some(capacity) if new_len > old_len && self.used() + (new_len - old_len) > capacity => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(()),
        }
    }

    pub(crate) fn change(&mut self, inode: u64, change: Change) -> io::Result<()> {
        self.check_up()?;
        if matches!(change, Change::Write { .. }) {
            self.counts.writes += 1;
            if self.fail_write_at == Some(self.counts.writes) {
                return Err(io::Error::other("simulated write error"));
            }
            if self.tear_write_at == Some(self.counts.writes) {
                let State { rng, inodes, .. } = self;
                let file = inodes.get_mut(&inode).ok_or_else(down)?;
                for sector in change.torn(rng) {
                    sector.apply(&mut file.current);
                    file.pending.push(sector);
                }
                return Err(io::Error::other("simulated write error"));
            }
        }
        self.check_capacity(inode, change.end())?;
        let alive = self.step()?;
        let file = self.inodes.get_mut(&inode).ok_or_else(down)?;
        change.apply(&mut file.current);
        file.pending.push(change);
        if alive { Ok(()) } else { Err(down()) }
    }

    pub(crate) fn sync_file(&mut self, inode: u64) -> io::Result<()> {
        self.check_up()?;
        self.counts.syncs += 1;
        if self.fail_sync_at == Some(self.counts.syncs) {
            let State { rng, inodes, .. } = self;
            if let Some(file) = inodes.get_mut(&inode) {
                file.settle(rng);
            }
            return Err(io::Error::other("simulated sync error"));
        }
        if !self.step()? {
            return Err(down());
        }
        self.inodes.get_mut(&inode).ok_or_else(down)?.sync();
        Ok(())
    }

    pub(crate) fn count_read(&mut self) -> io::Result<()> {
        self.check_up()?;
        self.counts.reads += 1;
        if self.fail_read_at == Some(self.counts.reads) {
            return Err(io::Error::other("simulated read error"));
        }
        Ok(())
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
            fail_write_at: None,
            tear_write_at: None,
            fail_sync_at: None,
            fail_read_at: None,
            capacity: None,
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
            let settled = inode.settle(&mut state.rng);
            report.kept += settled.kept;
            report.dropped += settled.dropped;
            report.torn += settled.torn;
            inode.current.clone_from(&inode.durable);
        }
        state.names = state.durable_names.clone();
        state.drop_nameless();
        state.down = false;
        state.generation += 1;
        state.crash_at = None;
        state.fail_write_at = None;
        state.tear_write_at = None;
        state.fail_sync_at = None;
        state.fail_read_at = None;
        report
    }

    /// The process dies and the machine stays up: nothing is lost, but old handles are dead and planned faults are forgotten.
    pub fn kill(&self) {
        let state = &mut *self.shared.lock();
        state.generation += 1;
        state.down = false;
        state.crash_at = None;
        state.fail_write_at = None;
        state.tear_write_at = None;
        state.fail_sync_at = None;
        state.fail_read_at = None;
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
        let state = &mut *self.shared.lock();
        state.fail_write_at = Some(state.counts.writes + n);
    }

    /// Lets the `n`-th `write_at` from now fail after some of its sectors were written.
    pub fn tear_write(&self, n: u64) {
        let state = &mut *self.shared.lock();
        state.tear_write_at = Some(state.counts.writes + n);
    }

    /// Lets the `n`-th `sync` from now fail, losing some of what it should have kept.
    pub fn fail_sync(&self, n: u64) {
        let state = &mut *self.shared.lock();
        state.fail_sync_at = Some(state.counts.syncs + n);
    }

    /// Lets the `n`-th `read_at` from now fail.
    pub fn fail_read(&self, n: u64) {
        let state = &mut *self.shared.lock();
        state.fail_read_at = Some(state.counts.reads + n);
    }

    /// Bounds the sum of file lengths; growth beyond is `StorageFull`. `None` takes the bound away.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.shared.lock().capacity = bytes;
    }

    /// Flips one bit of a file, durably: a fault of the medium that checksums must find.
    pub fn flip_bit(&self, path: &str, offset: u64, bit: u8) -> io::Result<()> {
        let state = &mut *self.shared.lock();
        let inode = *state.names.get(path).ok_or_else(|| not_found(path))?;
        let file = state.inodes.get_mut(&inode).ok_or_else(|| not_found(path))?;
        for bytes in [&mut file.current, &mut file.durable] {
            if let Some(byte) = bytes.get_mut(offset as usize) {
                *byte ^= 1 << (bit % 8);
            }
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
        Ok(Arc::new(SimFile { shared: self.shared.clone(), inode, generation: state.generation, direct: kind == FileKind::Direct }))
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
        if state.fail_sync_at == Some(state.counts.syncs) {
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
