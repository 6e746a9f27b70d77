//! A directory that is only read, without its lock: another process may be writing to it.

use env::{Disk, File, FileKind, OpenMode};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reads; everything else is refused.
pub(super) struct Reading {
    root: PathBuf,
}

impl Reading {
    pub(super) fn new(root: &Path) -> Reading {
        Reading { root: root.to_path_buf() }
    }
}

fn refused<T>() -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "the directory is only read"))
}

impl Disk for Reading {
    fn open(&self, path: &str, mode: OpenMode, _kind: FileKind) -> io::Result<Arc<dyn File>> {
        match mode {
            OpenMode::Existing => Ok(Arc::new(ReadingFile(std::fs::File::open(self.root.join(path))?))),
            OpenMode::Create | OpenMode::CreateNew => refused(),
        }
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        self.root.join(path).try_exists()
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        let entries = std::fs::read_dir(self.root.join(dir))?;
        let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        Ok(names)
    }

    fn rename(&self, _from: &str, _to: &str) -> io::Result<()> {
        refused()
    }

    fn remove(&self, _path: &str) -> io::Result<()> {
        refused()
    }

    fn create_dir_all(&self, _dir: &str) -> io::Result<()> {
        refused()
    }

    fn sync_dir(&self, _dir: &str) -> io::Result<()> {
        refused()
    }
}

struct ReadingFile(std::fs::File);

impl File for ReadingFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_exact_at(buf, offset)
    }

    fn write_at(&self, _buf: &[u8], _offset: u64) -> io::Result<()> {
        refused()
    }

    fn sync(&self) -> io::Result<()> {
        refused()
    }

    fn allocate(&self, _len: u64) -> io::Result<()> {
        refused()
    }

    fn set_len(&self, _len: u64) -> io::Result<()> {
        refused()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn punch_hole(&self, _offset: u64, _len: u64) -> io::Result<()> {
        refused()
    }
}
