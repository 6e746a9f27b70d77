//! Small files of the data directory that are replaced as a whole.
//!
//! # Invariants
//! 1. After a crash a file is the old one or the new one; once [`replace`] has returned it is the new one.

use env::{Disk, FileKind, OpenMode};
use std::io;

/// What a file holds; `None` where there is none. One with more than `bytes_max` bytes is not what was written here.
pub(super) fn read(disk: &dyn Disk, name: &str, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    if !disk.exists(name)? {
        return Ok(None);
    }
    let file = disk.open(name, OpenMode::Existing, FileKind::Buffered)?;
    let length = file.len()?;
    if length > bytes_max {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{name} has {length} bytes, more than it can have")));
    }
    let mut bytes = vec![0; length as usize];
    file.read_at(&mut bytes, 0)?;
    Ok(Some(bytes))
}

/// Writes a file anew, durably, by way of another one of the same name with `.new` behind it.
pub(super) fn replace(disk: &dyn Disk, name: &str, bytes: &[u8]) -> io::Result<()> {
    let new = format!("{name}.new");
    let file = disk.open(&new, OpenMode::Create, FileKind::Buffered)?;
    file.set_len(bytes.len() as u64)?;
    file.write_at(bytes, 0)?;
    file.sync()?;
    disk.rename(&new, name)?;
    disk.sync_dir("")
}
