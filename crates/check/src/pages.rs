//! The data file as images of pages.

use base::{PAGE_BYTES, PageNo};
use env::{AlignedBuf, Disk, File, FileKind, OpenMode};
pub(crate) use page_store::DATA;
use page_store::header::{Verdict, inspect};
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Pages that are read at once.
const RUN_PAGES: u64 = 64;

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

    /// Reads pages, many at once, and gives each to `each` with the verdict on it; `told` is told how many after each stretch.
    pub(crate) fn each(&self, pages: Range<u64>, mut each: impl FnMut(PageNo, &[u8], Result<(), Unreadable>), mut told: impl FnMut(u64)) {
        let mut run = AlignedBuf::new(RUN_PAGES as usize * PAGE_BYTES);
        let mut at = pages.start;
        while at < pages.end {
            let end = (at + RUN_PAGES).min(pages.end);
            let bytes = &mut run[..(end - at) as usize * PAGE_BYTES];
            // Where that fails they are read one by one.
            let at_once = self.file.read_at(bytes, at * PAGE_BYTES as u64).is_ok();
            for (page, image) in (at..end).map(PageNo).zip(bytes.chunks_exact_mut(PAGE_BYTES)) {
                let verdict = if at_once { judge(image, page) } else { self.read(page, image) };
                each(page, image, verdict);
            }
            told(end - at);
            at = end;
        }
    }
}

/// Judges an image as read from the place of a page.
fn judge(image: &[u8], page: PageNo) -> Result<(), Unreadable> {
    match inspect(image, page) {
        Verdict::Good => Ok(()),
        Verdict::Unwritten => Err(Unreadable::Unwritten),
        Verdict::BadChecksum => Err(Unreadable::Checksum),
        Verdict::Misdirected(found) => Err(Unreadable::Misdirected(found)),
    }
}
