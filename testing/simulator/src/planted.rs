//! Bugs planted on purpose, between engine and disk, or into the commit and the prepared branches (`engine::simulation`): a simulator that does not
//! find them is worth nothing.

use env::{Disk, File, FileKind, OpenMode, SimDisk};
use std::io;
use std::sync::Arc;
use sync::atomic::{AtomicU64, Ordering};

/// A planted bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plant {
    /// Syncs of log segments do nothing: a commit is acknowledged before it is durable.
    NoLogSync,
    /// Syncs of the data file do nothing: a checkpoint trusts pages that may be lost.
    NoDataSync,
    /// Syncs of the checkpoint's files do nothing: the log is reused before the checkpoint that allows it is durable.
    NoCheckpointSync,
    /// Syncs of the undo file do nothing.
    NoUndoSync,
    /// Syncs of directories do nothing.
    NoDirectorySync,
    /// The engine runs without doublewrite on a disk that tears pages.
    NoDoublewrite,
    /// What is written to the doublewrite file vanishes.
    LostDoublewrite,
    /// Now and then a page write vanishes: what a checkpoint with too new a redo position does.
    LostPageWrite,
    /// Now and then a log write vanishes: a change that was not logged.
    LostLogWrite,
    /// Rows that were changed by a commit that is not durable are told without waiting for it.
    ToldTooEarly,
    /// A commit with a policy that need not wait is shown without waiting for the durable one that it was built on.
    LazyOverUndurable,
    /// Plain snapshots see a commit before it is durable.
    UndurableShown,
    /// Row locks go before the commit record is in the log.
    UnlockedEarly,
    /// A prepared branch is acknowledged before it is durable.
    PrepareNotSynced,
    /// The rollback of a prepared branch is acknowledged before it is durable.
    BranchRollbackNotSynced,
    /// A restart does not lock the rows of prepared branches again.
    PreparedUnlocked,
}

impl Plant {
    /// All of them.
    pub const ALL: [Plant; 16] = [
        Plant::NoLogSync,
        Plant::NoDataSync,
        Plant::NoCheckpointSync,
        Plant::NoUndoSync,
        Plant::NoDirectorySync,
        Plant::NoDoublewrite,
        Plant::LostDoublewrite,
        Plant::LostPageWrite,
        Plant::LostLogWrite,
        Plant::ToldTooEarly,
        Plant::LazyOverUndurable,
        Plant::UndurableShown,
        Plant::UnlockedEarly,
        Plant::PrepareNotSynced,
        Plant::BranchRollbackNotSynced,
        Plant::PreparedUnlocked,
    ];

    /// Its name on the command line.
    pub fn name(self) -> String {
        format!("{self:?}")
    }

    /// The bug of a name.
    pub fn from_name(name: &str) -> Option<Plant> {
        Plant::ALL.into_iter().find(|plant| plant.name().eq_ignore_ascii_case(name))
    }

    fn skips_sync(self, path: &str) -> bool {
        match self {
            Plant::NoLogSync => is_segment(path),
            Plant::NoDataSync => path == "data",
            Plant::NoCheckpointSync => path == "log/control" || path.starts_with("log/checkpoint"),
            Plant::NoUndoSync => path.starts_with("undo/"),
            _ => false,
        }
    }

    /// One write in how many vanishes.
    fn loses_one_in(self, path: &str) -> Option<u64> {
        match self {
            Plant::LostDoublewrite if path == "doublewrite" => Some(1),
            Plant::LostPageWrite if path == "data" => Some(10),
            Plant::LostLogWrite if is_segment(path) => Some(40),
            _ => None,
        }
    }
}

fn is_segment(path: &str) -> bool {
    path.starts_with("log/") && path != "log/control" && !path.starts_with("log/checkpoint")
}

/// A simulated disk with a bug in front of it.
pub(crate) struct PlantedDisk {
    pub disk: SimDisk,
    pub plant: Plant,
    pub writes: Arc<AtomicU64>,
}

struct PlantedFile {
    file: Arc<dyn File>,
    skips_sync: bool,
    loses_one_in: Option<u64>,
    writes: Arc<AtomicU64>,
}

impl Disk for PlantedDisk {
    fn open(&self, path: &str, mode: OpenMode, kind: FileKind) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(PlantedFile {
            file: self.disk.open(path, mode, kind)?,
            skips_sync: self.plant.skips_sync(path),
            loses_one_in: self.plant.loses_one_in(path),
            writes: Arc::clone(&self.writes),
        }))
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        self.disk.exists(path)
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        self.disk.list(dir)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn create_dir_all(&self, dir: &str) -> io::Result<()> {
        self.disk.create_dir_all(dir)
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        if self.plant == Plant::NoDirectorySync { Ok(()) } else { self.disk.sync_dir(dir) }
    }
}

impl File for PlantedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        if let Some(every) = self.loses_one_in
            && self.writes.fetch_add(1, Ordering::Relaxed) % every == every - 1
        {
            return Ok(());
        }
        self.file.write_at(buf, offset)
    }

    fn sync(&self) -> io::Result<()> {
        if self.skips_sync { Ok(()) } else { self.file.sync() }
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        self.file.allocate(len)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn punch_hole(&self, offset: u64, len: u64) -> io::Result<()> {
        self.file.punch_hole(offset, len)
    }
}
