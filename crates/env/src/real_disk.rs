//! The operating system's files under one directory.

use crate::directory_lock::DirectoryLock;
use crate::ring::{Rings, Transfer};
use crate::{AlignedBuf, DIRECT_ALIGN, Disk, File, FileKind, OpenMode, ReadPiece};
use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::Errno;
use std::fs;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Why a data directory could not be opened.
#[derive(Debug)]
pub enum OpenError {
    /// Another process has it.
    Locked(PathBuf),
    /// The operating system refused.
    Io(io::Error),
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            OpenError::Locked(dir) => write!(f, "data directory {} is in use by another process", dir.display()),
            OpenError::Io(error) => write!(f, "cannot open the data directory: {error}"),
        }
    }
}

impl std::error::Error for OpenError {}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        OpenError::Io(error)
    }
}

/// A data directory of this machine, locked while the value lives.
#[derive(Debug)]
pub struct RealDisk {
    root: PathBuf,
    /// Cleared (relaxed, it is only advice) at the first file whose file system refuses O_DIRECT.
    direct: AtomicBool,
    rings: Arc<Rings>,
    _lock: DirectoryLock,
}

impl RealDisk {
    /// Opens the directory, makes it when absent, and locks it.
    pub fn open(dir: impl AsRef<Path>) -> Result<RealDisk, OpenError> {
        RealDisk::lock(dir.as_ref(), "lock")
    }

    /// Opens the directory beside the process that has it open: for work on files that are not that one's any more. One such process at a time.
    pub fn beside_owner(dir: impl AsRef<Path>) -> Result<RealDisk, OpenError> {
        RealDisk::lock(dir.as_ref(), "lock.beside")
    }

    fn lock(dir: &Path, name: &str) -> Result<RealDisk, OpenError> {
        let root = dir.to_path_buf();
        make_directory(&root)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
        let lock = rustix::fs::open(root.join(name), flags, Mode::from_raw_mode(0o640)).map_err(io::Error::from)?;
        let lock = DirectoryLock::take(&root, lock)?;
        Ok(RealDisk { root, direct: AtomicBool::new(true), rings: Arc::new(Rings::new()), _lock: lock })
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether O_DIRECT works here as far as was tried.
    pub fn direct_io(&self) -> bool {
        self.direct.load(Ordering::Relaxed)
    }

    fn open_fd(&self, path: &str, flags: OFlags, kind: FileKind) -> io::Result<(OwnedFd, bool)> {
        let full = self.root.join(path);
        let mode = Mode::from_raw_mode(0o640);
        if kind == FileKind::Direct && self.direct_io() {
            match rustix::fs::open(&full, flags | OFlags::DIRECT, mode) {
                // Linux creates the file and then refuses the flag; the second open below must not trip over it.
                Err(Errno::INVAL) => {
                    if self.direct.swap(false, Ordering::Relaxed) {
                        eprintln!("warning: {} does not support O_DIRECT; reads and writes go through the page cache", self.root.display());
                    }
                    let fd = rustix::fs::open(&full, flags.difference(OFlags::EXCL), mode)?;
                    return Ok((fd, false));
                }
                other => return Ok((other?, true)),
            }
        }
        Ok((rustix::fs::open(&full, flags, mode)?, false))
    }
}

impl Disk for RealDisk {
    fn open(&self, path: &str, mode: OpenMode, kind: FileKind) -> io::Result<Arc<dyn File>> {
        let create = match mode {
            OpenMode::Existing => OFlags::empty(),
            OpenMode::Create => OFlags::CREATE,
            OpenMode::CreateNew => OFlags::CREATE | OFlags::EXCL,
        };
        let (fd, direct) = self.open_fd(path, OFlags::RDWR | OFlags::CLOEXEC | create, kind)?;
        Ok(Arc::new(RealFile { fd, direct, rings: Arc::clone(&self.rings) }))
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        self.root.join(path).try_exists()
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        list_names(&self.root.join(dir))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.root.join(from), self.root.join(to))
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        fs::remove_file(self.root.join(path))
    }

    fn create_dir_all(&self, dir: &str) -> io::Result<()> {
        let full = self.root.join(dir);
        fs::create_dir_all(&full)?;
        // The directories' names are entries of their parents, up to the data directory. Also those that were there: who made them may have been killed before this.
        let mut parent = Path::new(dir);
        while let Some(up) = parent.parent() {
            fs::File::open(self.root.join(up))?.sync_all()?;
            parent = up;
        }
        Ok(())
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        fs::File::open(self.root.join(dir))?.sync_all()
    }
}

struct RealFile {
    fd: OwnedFd,
    direct: bool,
    rings: Arc<Rings>,
}

impl RealFile {
    /// Whether a transfer needs no copy, and reaches the device without the page cache: only then do many at once gain.
    fn suits_ring(&self, memory: *const u8) -> bool {
        self.direct && is_aligned(memory)
    }
}

fn is_aligned(memory: *const u8) -> bool {
    (memory as usize).is_multiple_of(DIRECT_ALIGN)
}

impl File for RealFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        if self.direct && !is_aligned(buf.as_ptr()) {
            let mut aligned = AlignedBuf::new(buf.len());
            self.read_at(&mut aligned, offset)?;
            buf.copy_from_slice(&aligned);
            return Ok(());
        }
        sync::blocking::begins();
        let mut done = 0;
        while done < buf.len() {
            match rustix::io::pread(&self.fd, &mut buf[done..], offset + done as u64) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => done += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        if self.direct && !is_aligned(buf.as_ptr()) {
            let mut aligned = AlignedBuf::new(buf.len());
            aligned.copy_from_slice(buf);
            return self.write_at(&aligned, offset);
        }
        sync::blocking::begins();
        let mut done = 0;
        while done < buf.len() {
            match rustix::io::pwrite(&self.fd, &buf[done..], offset + done as u64) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => done += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn read_many(&self, pieces: &mut [ReadPiece<'_>]) {
        let mut done = vec![0; pieces.len()];
        if pieces.len() > 1 && pieces.iter().all(|piece| self.suits_ring(piece.buf.as_ptr())) {
            let mut transfers: Vec<_> = pieces.iter_mut().map(|piece| Transfer::Read(&mut *piece.buf, piece.offset)).collect();
            sync::blocking::begins();
            self.rings.run(&self.fd, &mut transfers, &mut done);
        }
        for (piece, done) in pieces.iter_mut().zip(done) {
            // What came short, or failed, is done again the plain way, which tells why.
            piece.result = if done == piece.buf.len() { Ok(()) } else { self.read_at(piece.buf, piece.offset) };
        }
    }

    fn write_many(&self, pieces: &[(&[u8], u64)]) -> io::Result<()> {
        let mut done = vec![0; pieces.len()];
        if pieces.len() > 1 && pieces.iter().all(|(buf, _)| self.suits_ring(buf.as_ptr())) {
            let mut transfers: Vec<_> = pieces.iter().map(|(buf, offset)| Transfer::Write(buf, *offset)).collect();
            sync::blocking::begins();
            self.rings.run(&self.fd, &mut transfers, &mut done);
        }
        let rest = pieces.iter().zip(done).filter(|((buf, _), done)| buf.len() != *done);
        rest.map(|(piece, _)| piece).try_for_each(|(buf, offset)| self.write_at(buf, *offset))
    }

    fn sync(&self) -> io::Result<()> {
        sync::blocking::begins();
        // Not repeated on EINTR either: after any failure the kernel may have dropped the pages.
        Ok(rustix::fs::fdatasync(&self.fd)?)
    }

    fn forget_cached(&self) -> io::Result<()> {
        if !self.direct {
            // Advice: what somebody else has mapped or is writing stays.
            rustix::fs::fadvise(&self.fd, 0, None, rustix::fs::Advice::DontNeed)?;
        }
        Ok(())
    }

    fn reserve(&self, range: Range<u64>) -> io::Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        loop {
            return match rustix::fs::fallocate(&self.fd, FallocateFlags::empty(), range.start, range.end - range.start) {
                // Where fallocate is unknown the file grows sparse, and a full disk shows at the write.
                Err(Errno::OPNOTSUPP | Errno::NOSYS) if self.len()? < range.end => self.set_len(range.end),
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
                // Long ones can be told of a signal; what they have reserved stays.
                Err(Errno::INTR) => continue,
                other => Ok(other?),
            };
        }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        Ok(rustix::fs::ftruncate(&self.fd, len)?)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(rustix::fs::fstat(&self.fd)?.st_size as u64)
    }

    fn punch_hole(&self, offset: u64, len: u64) -> io::Result<()> {
        if len == 0 {
            return Ok(());
        }
        match rustix::fs::fallocate(&self.fd, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, len) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            other => Ok(other?),
        }
    }
}

/// Makes a directory and its parents; fine when it exists. Durable at once: what is synced in a directory that has no name after a loss of power is lost with it.
pub fn make_directory(path: &Path) -> io::Result<()> {
    make_directory_with(path, &mut |parent| fs::File::open(parent)?.sync_all())
}

fn make_directory_with(path: &Path, sync: &mut dyn FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
    let parent = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return Ok(()),
    };
    if !path.is_dir() {
        make_directory_with(parent, sync)?;
        match fs::create_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
            made => made?,
        }
        return sync(parent);
    }
    // Who made it may have been killed before the sync. A parent that is not ours to open was made by somebody else, long ago.
    let _ = sync(parent);
    Ok(())
}

/// How the names of files begin that have one for a moment.
const UNNAMED_PREFIX: &str = "altiplano-temporary-";

/// Makes a file without a name in a directory, for reading and writing through the page cache: it is gone with the value, and with the process.
pub fn open_unnamed(dir: &Path) -> io::Result<Arc<dyn File>> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let (flags, mode) = (OFlags::RDWR | OFlags::CLOEXEC, Mode::from_raw_mode(0o600));
    let fd = match rustix::fs::open(dir, flags | OFlags::TMPFILE, mode) {
        // Where the file system has no files without names.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
            let path = dir.join(format!("{UNNAMED_PREFIX}{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
            let fd = rustix::fs::open(&path, flags | OFlags::CREATE | OFlags::EXCL, mode)?;
            fs::remove_file(path)?;
            fd
        }
        other => other?,
    };
    Ok(Arc::new(RealFile { fd, direct: false, rings: Arc::new(Rings::new()) }))
}

/// Names in a directory, sorted. Names that are not UTF-8 are not ours.
pub(crate) fn list_names(dir: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        if let Ok(name) = entry?.file_name().into_string() {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk() -> (tempfile::TempDir, RealDisk) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let disk = RealDisk::open(dir.path()).expect("opens");
        (dir, disk)
    }

    #[test]
    fn a_second_open_is_refused_until_the_first_is_dropped() {
        let (dir, disk) = disk();
        assert!(matches!(RealDisk::open(dir.path()), Err(OpenError::Locked(_))));
        drop(disk);
        RealDisk::open(dir.path()).expect("free again");
    }

    #[test]
    fn many_pieces_at_once_are_all_written_and_read_and_fail_one_by_one() {
        let (_dir, disk) = disk();
        for (name, kind) in [("direct", FileKind::Direct), ("buffered", FileKind::Buffered)] {
            let file = disk.open(name, OpenMode::CreateNew, kind).expect("creates");
            let mut bytes = AlignedBuf::new(300 * 4096);
            bytes.chunks_mut(4096).enumerate().for_each(|(no, block)| block.fill(no as u8));
            // Every second block, the last first, more than a ring holds.
            let pieces: Vec<_> = bytes.chunks(4096).enumerate().map(|(no, block)| (block, (299 - no as u64) * 8192)).collect();
            file.write_many(&pieces).expect("writes");
            file.sync().expect("syncs");
            let mut back = AlignedBuf::new(301 * 4096);
            let mut reads: Vec<_> = back.chunks_mut(4096).enumerate().map(|(no, block)| ReadPiece::new(block, no as u64 * 8192)).collect();
            file.read_many(&mut reads);
            let past = reads.pop().expect("one more than was written");
            assert_eq!(past.result.expect_err("past the end").kind(), io::ErrorKind::UnexpectedEof);
            assert!(reads.iter().all(|piece| piece.result.is_ok()));
            assert!(back.chunks(4096).take(300).enumerate().all(|(no, block)| block.iter().all(|b| *b == (299 - no) as u8)), "{name}");
        }
    }

    #[test]
    fn reads_of_neighbours_are_put_together_and_told_apart() {
        let (_dir, disk) = disk();
        for (name, kind) in [("direct", FileKind::Direct), ("buffered", FileKind::Buffered)] {
            let file = disk.open(name, OpenMode::CreateNew, kind).expect("creates");
            const BLOCKS: usize = 400;
            let mut bytes = AlignedBuf::new(BLOCKS * 4096);
            bytes.chunks_mut(4096).enumerate().for_each(|(no, block)| block.fill((no % 251) as u8));
            file.write_at(&bytes, 0).expect("writes");
            // Long and short runs, gaps between them, one block twice, and the file's end in the middle of a run.
            let places: Vec<usize> =
                (0..150).chain([7, 3, 4, 5, 5, 9, 8]).chain((200..BLOCKS + 3).filter(|no| no % 7 != 0)).chain([0]).collect();
            let mut back = AlignedBuf::new(places.len() * 4096);
            back.fill(255);
            let mut reads: Vec<_> =
                back.chunks_mut(4096).zip(&places).map(|(block, no)| ReadPiece::new(block, *no as u64 * 4096)).collect();
            file.read_many(&mut reads);
            for (read, no) in reads.iter().zip(&places) {
                match &read.result {
                    Ok(()) => assert!(*no < BLOCKS && read.buf.iter().all(|b| *b == (no % 251) as u8), "{name}, block {no}"),
                    Err(error) => assert!(*no >= BLOCKS && error.kind() == io::ErrorKind::UnexpectedEof, "{name}, block {no}: {error}"),
                }
            }
        }
    }

    #[test]
    fn a_file_without_a_name_keeps_what_was_written_and_leaves_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = open_unnamed(dir.path()).expect("a file");
        file.write_at(b"abcdef", 3).expect("written");
        let mut back = [0; 4];
        file.read_at(&mut back, 5).expect("read");
        assert_eq!((&back, file.len().expect("a length")), (b"cdef", 9));
        assert_eq!(list_names(dir.path()).expect("names"), Vec::<String>::new());
        assert!(open_unnamed(&dir.path().join("absent")).is_err());
    }

    #[test]
    fn the_names_of_directories_that_are_made_are_synced_from_the_top_down() {
        let dir = tempfile::tempdir().expect("a directory");
        let names = |synced: &[PathBuf]| -> Vec<String> {
            synced.iter().map(|path| path.strip_prefix(dir.path()).expect("inside").display().to_string()).collect()
        };
        let mut synced = Vec::new();
        let mut sync = |parent: &Path| {
            synced.push(parent.to_path_buf());
            Ok(())
        };
        make_directory_with(&dir.path().join("a/b/c"), &mut sync).expect("made");
        assert!(dir.path().join("a/b/c").is_dir());
        // The first is the parent of what was there.
        assert_eq!(names(&synced[1..]), ["", "a", "a/b"]);
    }

    #[test]
    fn a_directory_is_not_made_when_its_name_cannot_be_synced() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("new");
        make_directory_with(&path, &mut |_| Err(io::Error::other("refused"))).expect_err("is told");
        // What is there already was made by others.
        make_directory_with(&path, &mut |_| Err(io::Error::other("refused"))).expect("made");
    }

    #[test]
    fn what_is_forgotten_is_read_again() {
        let (_dir, disk) = disk();
        for (name, kind) in [("direct", FileKind::Direct), ("buffered", FileKind::Buffered)] {
            let file = disk.open(name, OpenMode::CreateNew, kind).expect("creates");
            file.write_at(&AlignedBuf::new(8192), 0).expect("writes");
            file.write_at(&[7; 4096], 4096).expect("writes");
            file.sync().expect("syncs");
            file.forget_cached().expect("forgets");
            let mut back = AlignedBuf::new(8192);
            file.read_at(&mut back, 0).expect("reads");
            assert!(back[..4096].iter().all(|byte| *byte == 0) && back[4096..].iter().all(|byte| *byte == 7), "{name}");
        }
    }

    #[test]
    fn room_is_reserved_for_the_range_alone() {
        use std::os::unix::fs::MetadataExt;
        let (dir, disk) = disk();
        let file = disk.open("f", OpenMode::CreateNew, FileKind::Direct).expect("creates");
        let taken = || fs::metadata(dir.path().join("f")).expect("is there").blocks() * 512;
        file.reserve(0..8 << 20).expect("there is room");
        if taken() < 8 << 20 {
            // A file system that reserves nothing, or tells nothing of it.
            return;
        }
        file.punch_hole(1 << 20, 6 << 20).expect("punches");
        let punched = taken();
        file.reserve(8 << 20..9 << 20).expect("there is room");
        assert_eq!(file.len().expect("len"), 9 << 20);
        let grown = taken() - punched;
        assert!((1 << 20..2 << 20).contains(&grown), "{grown} bytes for a growth of a MiB");
        file.reserve(2 << 20..3 << 20).expect("there is room");
        assert!((2 << 20..3 << 20).contains(&(taken() - punched)), "a hole is filled when it is asked for");
        assert_eq!(file.len().expect("len"), 9 << 20);
    }

    #[test]
    fn files_keep_what_was_written_in_both_kinds() {
        let (_dir, disk) = disk();
        disk.create_dir_all("a/b").expect("makes");
        for (name, kind) in [("a/b/direct", FileKind::Direct), ("a/b/buffered", FileKind::Buffered)] {
            let file = disk.open(name, OpenMode::CreateNew, kind).expect("creates");
            assert!(disk.open(name, OpenMode::CreateNew, kind).is_err());
            // An odd address goes through the copy.
            let odd = vec![3u8; 8193];
            file.write_at(&odd[1..], 4096).expect("writes");
            file.sync().expect("syncs");
            assert_eq!(file.len().expect("len"), 12288);
            let mut back = AlignedBuf::new(12288);
            file.read_at(&mut back, 0).expect("reads");
            assert!(back[..4096].iter().all(|&b| b == 0) && back[4096..].iter().all(|&b| b == 3));
            let past = file.read_at(&mut back, 4096).expect_err("past the end");
            assert_eq!(past.kind(), io::ErrorKind::UnexpectedEof);
            file.punch_hole(4096, 4096).expect("punches");
            file.reserve(12288..16384).expect("reserves");
            assert_eq!(file.len().expect("len"), 16384);
            file.set_len(4096).expect("cuts");
            assert_eq!(file.len().expect("len"), 4096);
        }
        assert_eq!(disk.list("a/b").expect("lists"), ["buffered", "direct"]);
        disk.rename("a/b/direct", "a/b/other").expect("renames");
        disk.sync_dir("a/b").expect("syncs");
        disk.remove("a/b/buffered").expect("removes");
        assert!(disk.exists("a/b/other").expect("asks") && !disk.exists("a/b/buffered").expect("asks"));
        assert!(disk.open("a/b/none", OpenMode::Existing, FileKind::Direct).is_err());
    }
}
