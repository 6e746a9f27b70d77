//! One temporary file: blocks one behind the other.
//!
//! A block is its length (4 bytes), a crc32c of its bytes and of its offset (4 bytes), and the bytes. The header is there for the check alone: who reads
//! knows place and length.

use crate::directory::Directory;
use std::io;
use std::sync::Arc;
use sync::atomic::Ordering;

/// Bytes in front of a block's own.
pub const BLOCK_HEADER_BYTES: usize = 8;

/// What was being done when something went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A file was to be made.
    Create,
    /// Read.
    Read,
    /// Written.
    Write,
}

/// Something went wrong with a temporary file.
#[derive(Debug, Clone)]
pub struct Failure {
    /// In doing what.
    pub operation: Operation,
    /// The directory.
    pub path: String,
    /// What the system, or the check of a block, says.
    pub error: Arc<io::Error>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "temporary file in {}: {}", self.path, self.error)
    }
}

impl std::error::Error for Failure {}

/// Where a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    offset: u64,
    /// With its header.
    len: u32,
}

impl Place {
    /// Bytes on disk.
    pub fn bytes(self) -> usize {
        self.len as usize
    }
}

/// A temporary file; gone when dropped.
pub struct SpillFile {
    file: Arc<dyn env::File>,
    directory: Arc<Directory>,
    end: u64,
}

impl std::fmt::Debug for SpillFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SpillFile({} bytes in {})", self.end, self.directory.path())
    }
}

/// Begins a block: `block` becomes a header to be filled in, behind which the block's bytes are appended.
pub fn begin_block(block: &mut Vec<u8>) {
    block.clear();
    block.extend_from_slice(&[0; BLOCK_HEADER_BYTES]);
}

impl SpillFile {
    pub(crate) fn new(file: Arc<dyn env::File>, directory: Arc<Directory>) -> SpillFile {
        SpillFile { file, directory, end: 0 }
    }

    /// The directory it was made in.
    pub fn directory(&self) -> &Arc<Directory> {
        &self.directory
    }

    /// Bytes written.
    pub fn len(&self) -> u64 {
        self.end
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.end == 0
    }

    fn failure(&self, operation: Operation, error: io::Error) -> Failure {
        Failure { operation, path: self.directory.path().to_owned(), error: Arc::new(error) }
    }

    /// Appends a block that [`begin_block`] began.
    pub fn append(&mut self, block: &mut [u8]) -> Result<Place, Failure> {
        let (header, bytes) = match block.split_at_mut_checked(BLOCK_HEADER_BYTES) {
            Some(parts) => parts,
            None => return Err(self.failure(Operation::Write, io::ErrorKind::InvalidInput.into())),
        };
        let Ok(len) = u32::try_from(bytes.len() + BLOCK_HEADER_BYTES) else {
            return Err(self.failure(Operation::Write, io::ErrorKind::FileTooLarge.into()));
        };
        header[..4].copy_from_slice(&len.to_le_bytes());
        header[4..].copy_from_slice(&check(bytes, self.end).to_le_bytes());
        if let Err(error) = self.file.write_at(block, self.end) {
            return Err(self.failure(Operation::Write, error));
        }
        let place = Place { offset: self.end, len };
        self.end += u64::from(len);
        let counters = self.directory.counters();
        counters.bytes_written.add(u64::from(len));
        counters.bytes_now.fetch_add(u64::from(len), Ordering::Relaxed);
        Ok(place)
    }

    /// Reads a block into `block`, header first.
    pub fn read(&self, place: Place, block: &mut Vec<u8>) -> Result<(), Failure> {
        block.clear();
        block.resize(place.len as usize, 0);
        self.file.read_at(block, place.offset).map_err(|error| self.failure(Operation::Read, error))?;
        self.directory.counters().bytes_read.add(u64::from(place.len));
        let (header, bytes) = block.split_at(BLOCK_HEADER_BYTES);
        let whole = header[..4] == place.len.to_le_bytes() && header[4..] == check(bytes, place.offset).to_le_bytes();
        match whole {
            true => Ok(()),
            false => Err(self.failure(Operation::Read, io::Error::new(io::ErrorKind::InvalidData, "checksum mismatch"))),
        }
    }
}

fn check(bytes: &[u8], offset: u64) -> u32 {
    base::crc32c_extend(base::crc32c(bytes), offset, bytes.len() as u64)
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        self.directory.counters().bytes_now.fetch_sub(self.end, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::{Disk, ReadFault, SimDisk, WriteFault};

    fn put(file: &mut SpillFile, bytes: &[u8]) -> Result<Place, Failure> {
        let mut block = Vec::new();
        begin_block(&mut block);
        block.extend_from_slice(bytes);
        file.append(&mut block)
    }

    fn get(file: &SpillFile, place: Place) -> Result<Vec<u8>, Failure> {
        let mut block = Vec::new();
        file.read(place, &mut block)?;
        Ok(block.split_off(BLOCK_HEADER_BYTES))
    }

    #[test]
    fn blocks_come_back_and_files_leave_no_name() {
        let real = tempfile::tempdir().expect("a directory");
        let disk = Arc::new(SimDisk::new(7));
        let simulated: Arc<dyn Disk> = disk.clone();
        for directory in [Directory::real(&real.path().join("tmp")), Directory::on(simulated, "tmp")] {
            let directory = Arc::new(directory.expect("a directory"));
            let mut file = directory.create().expect("a file");
            let blocks: Vec<Vec<u8>> = (0..50u32).map(|n| n.to_le_bytes().repeat(n as usize * 7)).collect();
            let places: Vec<Place> = blocks.iter().map(|bytes| put(&mut file, bytes).expect("written")).collect();
            for (bytes, place) in blocks.iter().zip(&places).rev() {
                assert_eq!(get(&file, *place).expect("read"), *bytes);
            }
            let counters = directory.counters();
            assert_eq!((counters.files.get(), counters.bytes_now(), counters.bytes_written.get()), (1, file.len(), file.len()));
            drop(file);
            assert_eq!(counters.bytes_now(), 0);
        }
        assert_eq!(std::fs::read_dir(real.path().join("tmp")).expect("names").count(), 0);
        assert_eq!(disk.list("tmp").expect("names"), Vec::<String>::new());
    }

    #[test]
    fn what_the_disk_does_wrong_is_told() {
        let disk = Arc::new(SimDisk::new(7));
        let directory = Arc::new(Directory::on(disk.clone() as Arc<dyn Disk>, "tmp").expect("a directory"));
        for (fault, operation) in [
            (WriteFault::Error, Operation::Write),
            (WriteFault::Full, Operation::Write),
            (WriteFault::Lost, Operation::Read),
            (WriteFault::Misdirected, Operation::Read),
        ] {
            let mut file = directory.create().expect("a file");
            put(&mut file, &[1; 9000]).expect("written");
            disk.plan_write("tmp", 1, fault);
            let outcome = put(&mut file, &[2; 9000]).and_then(|place| get(&file, place));
            let failure = outcome.expect_err("told");
            assert_eq!(failure.operation, operation, "{fault:?}: {failure}");
            assert_eq!(env::is_disk_full(&failure.error), fault == WriteFault::Full);
        }
        for fault in [ReadFault::Error, ReadFault::Garbled] {
            let mut file = directory.create().expect("a file");
            let place = put(&mut file, &[1; 9000]).expect("written");
            disk.plan_read("tmp", 1, fault);
            assert_eq!(get(&file, place).expect_err("told").operation, Operation::Read, "{fault:?}");
            assert_eq!(get(&file, place).expect("the next is right"), [1; 9000]);
        }
    }
}
