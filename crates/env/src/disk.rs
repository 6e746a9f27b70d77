//! The two traits all disk access goes through.

use std::io;
use std::ops::Range;
use std::sync::Arc;

/// What to do about a file that exists or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// It must exist.
    Existing,
    /// It is made when absent.
    Create,
    /// It must not exist.
    CreateNew,
}

/// How reads and writes reach the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Past the page cache where the file system allows: offsets and lengths are multiples of [`crate::DIRECT_ALIGN`]. Memory should
    /// be an [`crate::AlignedBuf`] (other memory works through a copy).
    Direct,
    /// Through the page cache.
    Buffered,
}

/// Whether an error says that there is no room: on the device, or for this user of it.
pub fn is_disk_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// A data directory.
pub trait Disk: Send + Sync {
    /// Opens a file for reading and writing.
    fn open(&self, path: &str, mode: OpenMode, kind: FileKind) -> io::Result<Arc<dyn File>>;
    /// Whether there is a file or directory of this name.
    fn exists(&self, path: &str) -> io::Result<bool>;
    /// Names (not paths) in a directory, sorted. The data directory itself is `""`.
    fn list(&self, dir: &str) -> io::Result<Vec<String>>;
    /// Gives a file another name, replacing what has it. Durable after [`Disk::sync_dir`] of both directories.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file. Durable after [`Disk::sync_dir`].
    fn remove(&self, path: &str) -> io::Result<()>;
    /// Makes a directory and its parents; fine when it exists. Durable at once.
    fn create_dir_all(&self, dir: &str) -> io::Result<()>;
    /// Makes the names in a directory durable: creations, renames, removals.
    fn sync_dir(&self, dir: &str) -> io::Result<()>;
}

/// One of many reads.
#[derive(Debug)]
pub struct ReadPiece<'b> {
    /// Filled when the result is good.
    pub buf: &'b mut [u8],
    /// Where in the file.
    pub offset: u64,
    /// What became of it.
    pub result: io::Result<()>,
}

impl<'b> ReadPiece<'b> {
    /// A read to be done.
    pub fn new(buf: &'b mut [u8], offset: u64) -> ReadPiece<'b> {
        ReadPiece { buf, offset, result: Ok(()) }
    }
}

/// An open file. All methods may be called from many threads; concurrent writes to one place are the caller's to order.
pub trait File: Send + Sync {
    /// Fills `buf` from `offset`; `UnexpectedEof` when the file ends before.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()>;
    /// Writes all of `buf` at `offset`; the file grows as needed.
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()>;
    /// Reads many places, at once where the system can; each piece has its own result.
    fn read_many(&self, pieces: &mut [ReadPiece<'_>]) {
        for piece in pieces {
            piece.result = self.read_at(piece.buf, piece.offset);
        }
    }
    /// Writes many places that do not overlap, in any order, at once where the system can. On an error any of them may be written, wholly or in part.
    fn write_many(&self, pieces: &[(&[u8], u64)]) -> io::Result<()> {
        pieces.iter().try_for_each(|(buf, offset)| self.write_at(buf, *offset))
    }
    /// Makes what was written so far, and the length, durable (fdatasync). A failure is final: the data may be gone.
    fn sync(&self) -> io::Result<()>;
    /// Makes later reads come from the device, where it has been [`File::sync`]ed and reads go through the page cache. After a sync that failed in a process that is no
    /// more, the page cache may hold what the device has not, as if it did; a sync says nothing of that.
    fn forget_cached(&self) -> io::Result<()> {
        Ok(())
    }
    /// Reserves room for a range and grows the file to its end if shorter; a full disk is told here. Holes outside the range stay holes.
    fn reserve(&self, range: Range<u64>) -> io::Result<()>;
    /// Cuts or grows (with zeros, which have no room of their own) the file.
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Whether the length is zero.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Gives the space of a range back; it then reads as zeros. Where the file system cannot, zeros are written or the range is left alone.
    fn punch_hole(&self, offset: u64, len: u64) -> io::Result<()>;
}
