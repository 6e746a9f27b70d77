//! Files of users and operators: what LOAD DATA reads, SELECT … INTO OUTFILE writes, the logs of statements, and sockets that have a path.
//!
//! # Invariants
//! 1. Only regular files are opened, and opening one never waits (for the other end of a pipe, say).
//! 2. A file that is made was not there before, and one that is appended to keeps what it has: nothing of anybody's is overwritten.
//! 3. What a socket takes the place of is a socket that nobody listens at.
//!
//! # Not here
//! Who may name which path: the session knows. Crashes are not simulated, for nothing that the server needs lies here.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Opens a file for reading.
///
/// # Errors
/// As the operating system says; what is no regular file is an invalid argument.
pub fn open(path: &Path) -> io::Result<File> {
    let nonblock = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(nonblock).open(path)?;
    match file.metadata()? {
        metadata if metadata.is_file() => Ok(file),
        metadata if metadata.is_dir() => Err(io::Error::from_raw_os_error(rustix::io::Errno::ISDIR.raw_os_error())),
        _ => Err(io::Error::from_raw_os_error(rustix::io::Errno::INVAL.raw_os_error())),
    }
}

/// Makes a file that its owner may write and the owner's group read.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`], and what else the operating system says.
pub fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o640).open(path)
}

/// Binds a unix socket that every user of the system may connect to, whatever the process's umask: who comes in is for accounts to say, as behind a TCP port. One that a server which died
/// has left is replaced; one with a listener is not, nor what is no socket.
///
/// # Errors
/// [`io::ErrorKind::AddrInUse`] where somebody listens, or may, [`io::ErrorKind::AlreadyExists`] where no socket is, and what else the operating system says.
pub fn bind_unix(path: &Path) -> io::Result<UnixListener> {
    let listener = bind_or_replace(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o777))?;
    Ok(listener)
}

fn bind_or_replace(path: &Path) -> io::Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            if !fs::symlink_metadata(path)?.file_type().is_socket() {
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, "what is there is no socket"));
            }
            // Only one that refuses has no listener; others may not let this process in.
            match UnixStream::connect(path) {
                Err(refusal) if refusal.kind() == io::ErrorKind::ConnectionRefused => {}
                _ => return Err(error),
            }
            fs::remove_file(path)?;
            UnixListener::bind(path)
        }
        other => other,
    }
}

/// Opens a file so that each write goes behind what is there, whoever wrote it; makes it as [`create`] does where there is none.
///
/// # Errors
/// As [`open`].
pub fn append(path: &Path) -> io::Result<File> {
    let nonblock = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new().append(true).create(true).mode(0o640).custom_flags(nonblock).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::from_raw_os_error(rustix::io::Errno::INVAL.raw_os_error())) }
}

/// Removes a file that a statement has begun and not finished.
///
/// # Errors
/// As the operating system says.
pub fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}

/// The path without links and dots, of what is there.
///
/// # Errors
/// As the operating system says.
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path)
}

/// Whether it is a directory.
pub fn is_directory(path: &Path) -> bool {
    path.is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn only_regular_files_are_opened_and_none_is_overwritten() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("f");
        assert_eq!(open(&path).expect_err("absent").kind(), io::ErrorKind::NotFound);
        create(&path).expect("made").write_all(b"x").expect("written");
        assert_eq!(create(&path).expect_err("there").kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(open(&path).expect("there").metadata().expect("known").len(), 1);
        append(&path).expect("there").write_all(b"y").expect("written");
        assert_eq!(std::fs::read(&path).expect("there"), b"xy");
        append(&dir.path().join("new")).expect("made").write_all(b"z").expect("written");
        assert!(append(dir.path()).is_err() && append(Path::new("/dev/null")).is_err());
        assert!(open(dir.path()).is_err());
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|s| s.success());
        // Would wait for a writer.
        assert!(made && open(&pipe).is_err());
    }
}
