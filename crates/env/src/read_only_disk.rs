//! A data directory that is looked at and never changed.
//!
//! # Invariants
//! 1. No file is opened for writing, made, renamed or removed; every call that would is refused.
//! 2. The directory's lock is held while the value lives, so no server writes what is being read, but for [`ReadOnlyDisk::beside_writers`].

use crate::directory_lock::DirectoryLock;
use crate::real_disk::{OpenError, list_names};
use crate::{Disk, File, FileKind, OpenMode};
use std::fs;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A directory of this machine, for reading.
#[derive(Debug)]
pub struct ReadOnlyDisk {
    root: PathBuf,
    /// A directory without the file (a copy, a snapshot) has nobody who could write it by our rules.
    _lock: Option<DirectoryLock>,
}

impl ReadOnlyDisk {
    /// Opens the directory, which must exist, and locks it.
    pub fn open(dir: impl AsRef<Path>) -> Result<ReadOnlyDisk, OpenError> {
        let root = dir.as_ref().to_path_buf();
        if !fs::metadata(&root)?.is_dir() {
            return Err(OpenError::Io(io::Error::new(io::ErrorKind::NotADirectory, format!("{} is not a directory", root.display()))));
        }
        let lock = match fs::File::open(root.join("lock")) {
            Ok(file) => Some(DirectoryLock::take(&root, file)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        Ok(ReadOnlyDisk { root, _lock: lock })
    }

    /// The same without the lock, for files that a reader can judge by themselves while others add to them (an archive of the log).
    pub fn beside_writers(dir: impl AsRef<Path>) -> ReadOnlyDisk {
        ReadOnlyDisk { root: dir.as_ref().to_path_buf(), _lock: None }
    }
}

fn refused() -> io::Error {
    io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "the directory is open for reading only")
}

impl Disk for ReadOnlyDisk {
    fn open(&self, path: &str, mode: OpenMode, _kind: FileKind) -> io::Result<Arc<dyn File>> {
        match fs::File::open(self.root.join(path)) {
            Ok(_) if mode == OpenMode::CreateNew => Err(io::ErrorKind::AlreadyExists.into()),
            Ok(file) => Ok(Arc::new(ReadOnlyFile(file))),
            Err(error) if error.kind() == io::ErrorKind::NotFound && mode != OpenMode::Existing => Err(refused()),
            Err(error) => Err(error),
        }
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        self.root.join(path).try_exists()
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        list_names(&self.root.join(dir))
    }

    fn rename(&self, _from: &str, _to: &str) -> io::Result<()> {
        Err(refused())
    }

    fn remove(&self, _path: &str) -> io::Result<()> {
        Err(refused())
    }

    fn create_dir_all(&self, dir: &str) -> io::Result<()> {
        if self.root.join(dir).is_dir() { Ok(()) } else { Err(refused()) }
    }

    fn sync_dir(&self, _dir: &str) -> io::Result<()> {
        Ok(())
    }
}

struct ReadOnlyFile(fs::File);

impl File for ReadOnlyFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_exact_at(buf, offset)
    }

    fn write_at(&self, _buf: &[u8], _offset: u64) -> io::Result<()> {
        Err(refused())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn reserve(&self, range: Range<u64>) -> io::Result<()> {
        if range.end <= self.len()? { Ok(()) } else { Err(refused()) }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        if len == self.len()? { Ok(()) } else { Err(refused()) }
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn punch_hole(&self, _offset: u64, _len: u64) -> io::Result<()> {
        Err(refused())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RealDisk;

    #[test]
    fn reads_what_is_there_and_refuses_what_would_change_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let real = RealDisk::open(dir.path()).expect("opens");
        real.open("a", OpenMode::Create, FileKind::Buffered).expect("makes").write_at(b"abc", 0).expect("writes");
        assert!(matches!(ReadOnlyDisk::open(dir.path()), Err(OpenError::Locked(_))));
        drop(real);
        let disk = ReadOnlyDisk::open(dir.path()).expect("opens");
        assert!(matches!(RealDisk::open(dir.path()), Err(OpenError::Locked(_))));
        let file = disk.open("a", OpenMode::Create, FileKind::Direct).expect("opens");
        let mut bytes = [0; 3];
        file.read_at(&mut bytes, 0).expect("reads");
        assert_eq!(&bytes, b"abc");
        assert!(file.write_at(b"x", 0).is_err() && file.reserve(0..9).is_err() && file.set_len(0).is_err());
        assert!(disk.open("b", OpenMode::Create, FileKind::Buffered).is_err());
        assert!(disk.rename("a", "b").is_err() && disk.remove("a").is_err() && disk.create_dir_all("d").is_err());
        assert_eq!(disk.list("").expect("lists"), ["a", "lock"]);
    }

    #[test]
    fn a_directory_that_is_not_there_is_not_made() {
        let dir = tempfile::tempdir().expect("a directory");
        assert!(ReadOnlyDisk::open(dir.path().join("none")).is_err());
        assert!(!dir.path().join("none").exists());
    }
}
