//! The data file as images of pages.

use base::{PAGE_BYTES, PageNo};
use env::{AlignedBuf, Disk, File, FileKind, OpenMode};
use page_store::header::{Verdict, inspect};
use std::io;
use std::sync::Arc;

/// Name of the file.
pub(crate) const DATA: &str = "data";

/// The pages of a data file. Any thread may read them.
pub(crate) struct Pages {
    file: Arc<dyn File>,
    /// How many whole pages the file has.
    pub(crate) count: u64,
}

/// Why a page cannot be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// Nothing was ever written there, or it was given back.
    Unwritten,
    /// The checksum does not match.
    Checksum,
    /// Another page lies there.
    Misdirected(PageNo),
    /// The file ends before, or the device fails.
    Io(String),
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unreadable::Unwritten => f.write_str("was never written, or is lost"),
            Unreadable::Checksum => f.write_str("does not fit its checksum"),
            Unreadable::Misdirected(found) => write!(f, "holds page {found}"),
            Unreadable::Io(error) => write!(f, "cannot be read: {error}"),
        }
    }
}

impl Pages {
    pub(crate) fn open(disk: &dyn Disk) -> io::Result<Pages> {
        let file = disk.open(DATA, OpenMode::Existing, FileKind::Buffered)?;
        let count = file.len()? / PAGE_BYTES as u64;
        Ok(Pages { file, count })
    }

    /// Memory for one page.
    pub(crate) fn buffer() -> AlignedBuf {
        AlignedBuf::new(PAGE_BYTES)
    }

    /// Reads a page and judges its checksum and number.
    pub(crate) fn read(&self, page: PageNo, out: &mut [u8]) -> Result<(), Unreadable> {
        if page.0 >= self.count {
            return Err(Unreadable::Io("the file ends before".into()));
        }
        self.file.read_at(out, page.0 * PAGE_BYTES as u64).map_err(|error| Unreadable::Io(error.to_string()))?;
        judge(out, page)
    }

    /// Reads up to `out.len()` bytes of neighbours at once; `false` when that fails and they are to be read one by one.
    pub(crate) fn read_run(&self, first: PageNo, out: &mut [u8]) -> bool {
        self.file.read_at(out, first.0 * PAGE_BYTES as u64).is_ok()
    }
}

/// Judges an image as read from the place of a page.
pub(crate) fn judge(image: &[u8], page: PageNo) -> Result<(), Unreadable> {
    match inspect(image, page) {
        Verdict::Good => Ok(()),
        Verdict::Unwritten => Err(Unreadable::Unwritten),
        Verdict::BadChecksum => Err(Unreadable::Checksum),
        Verdict::Misdirected(found) => Err(Unreadable::Misdirected(found)),
    }
}
