//! Whose a directory is: a flock on a file in it.
//!
//! # Invariants
//! 1. The lock is free once the value is dropped, whatever this process does beside that. A flock belongs to the open file and not to the number that
//!    names it: a child that another thread is just making has that number, too, until it runs its own program, and would keep the lock that long.
//!    So it is given back by name, not by closing (flock(2), "Locks created by flock() are associated with an open file description").

use crate::real_disk::OpenError;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::Path;

/// A directory's lock, held while the value lives.
#[derive(Debug)]
pub(crate) struct DirectoryLock(OwnedFd);

impl DirectoryLock {
    /// Locks `dir` by the open file `file`; [`OpenError::Locked`] when somebody else has it.
    pub(crate) fn take(dir: &Path, file: impl Into<OwnedFd>) -> Result<DirectoryLock, OpenError> {
        let file = file.into();
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(DirectoryLock(file)),
            Err(Errno::WOULDBLOCK) => Err(OpenError::Locked(dir.to_path_buf())),
            Err(error) => Err(OpenError::Io(error.into())),
        }
    }
}

impl Drop for DirectoryLock {
    fn drop(&mut self) {
        // What is closed next gives it back as well, if nobody else has the file.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn it_is_free_when_dropped_though_a_child_has_the_file_open_still() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = File::create(dir.path().join("lock")).expect("made");
        // What a child is born with.
        let inherited = file.try_clone().expect("the same open file");
        let again = || DirectoryLock::take(dir.path(), File::open(dir.path().join("lock")).expect("opens"));
        let lock = DirectoryLock::take(dir.path(), file).expect("free");
        assert!(matches!(again(), Err(OpenError::Locked(of)) if of == dir.path()));
        drop(lock);
        again().expect("free again");
        drop(inherited);
    }
}
