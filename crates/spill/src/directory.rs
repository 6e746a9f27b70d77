//! Where temporary files are made, and what is counted of them.

use crate::file::{Failure, Operation, SpillFile};
use env::{Disk, File, FileKind, OpenMode};
use metrics::Counter;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sync::atomic::{AtomicU64, Ordering};

/// What temporary files have been used for, since the start.
#[derive(Default)]
pub struct Counters {
    /// Files.
    pub files: Counter,
    /// Groups, sets and materialised rows that went to disk.
    pub tables: Counter,
    /// Sorts that went to disk.
    pub sorts: Counter,
    /// Merges of sorted runs.
    pub merge_passes: Counter,
    /// Hash joins that went to disk.
    pub joins: Counter,
    /// Bytes written.
    pub bytes_written: Counter,
    /// Bytes read.
    pub bytes_read: Counter,
    /// Bytes in files that are open now.
    pub(crate) bytes_now: AtomicU64,
}

impl Counters {
    /// Bytes in files that are open now.
    pub fn bytes_now(&self) -> u64 {
        // Relaxed: a figure, which orders nothing.
        self.bytes_now.load(Ordering::Relaxed)
    }
}

enum Source {
    Real(PathBuf),
    /// Files of another disk get a name, which is removed at once.
    Disk(Arc<dyn Disk>, AtomicU64),
}

/// A directory in which temporary files are made.
pub struct Directory {
    /// As error messages name it.
    path: String,
    source: Source,
    counters: Counters,
}

impl Directory {
    /// A directory of this machine; made when absent.
    pub fn real(path: &Path) -> io::Result<Directory> {
        std::fs::create_dir_all(path)?;
        // Files can be made here, or whoever starts the server is told now.
        env::open_unnamed(path)?;
        Ok(Directory { path: path.display().to_string(), source: Source::Real(path.to_owned()), counters: Counters::default() })
    }

    /// A directory of any disk (tests: of one that fails on demand).
    pub fn on(disk: Arc<dyn Disk>, path: &str) -> io::Result<Directory> {
        disk.create_dir_all(path)?;
        Ok(Directory { path: path.to_owned(), source: Source::Disk(disk, AtomicU64::new(0)), counters: Counters::default() })
    }

    /// Its path.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What has been counted.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Makes an empty file.
    pub fn create(self: &Arc<Directory>) -> Result<SpillFile, Failure> {
        let file =
            self.open().map_err(|error| Failure { operation: Operation::Create, path: self.path.clone(), error: Arc::new(error) })?;
        self.counters.files.inc();
        Ok(SpillFile::new(file, Arc::clone(self)))
    }

    fn open(&self) -> io::Result<Arc<dyn File>> {
        match &self.source {
            Source::Real(path) => env::open_unnamed(path),
            Source::Disk(disk, next) => {
                let name = format!("{}/{}", self.path, next.fetch_add(1, Ordering::Relaxed));
                let file = disk.open(&name, OpenMode::CreateNew, FileKind::Buffered)?;
                disk.remove(&name)?;
                Ok(file)
            }
        }
    }
}
