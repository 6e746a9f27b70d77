//! A disk over another one that is only read: what is written stays apart, in a scratch file. So a directory can be recovered and looked at
//! as a server would see it, and nothing in it changes.
//!
//! # Invariants
//! 1. Nothing is written to the disk below, made, renamed or removed there.
//! 2. A block (4 KiB) that was written is read from the scratch file, any other from below, and past what is below it is zero.
//! 3. Memory is 16 bytes or so for each block written; blocks of zeros where nothing is below take none.

use crate::{Disk, File, FileKind, OpenMode};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use sync::atomic::{AtomicU64, Ordering};
use sync::{Mutex, Rank};

const BLOCK: u64 = 4096;

/// Where written blocks go: a file without a name, gone with the value.
#[derive(Debug)]
struct Scratch {
    file: std::fs::File,
    /// The next free place, in blocks. Relaxed: the number is all that is shared.
    next: AtomicU64,
    /// The first write or read of it that failed.
    failure: Mutex<Option<(io::ErrorKind, String)>>,
}

impl Scratch {
    fn note<T>(&self, outcome: io::Result<T>) -> io::Result<T> {
        outcome.inspect_err(|error| {
            self.failure.lock().get_or_insert_with(|| (error.kind(), error.to_string()));
        })
    }

    fn write(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.note(self.file.write_all_at(bytes, at))
    }

    fn read(&self, out: &mut [u8], at: u64) -> io::Result<()> {
        self.note(self.file.read_exact_at(out, at))
    }
}

/// A disk that reads from another and keeps what is written to itself.
pub struct OverlayDisk {
    base: Arc<dyn Disk>,
    scratch: Arc<Scratch>,
    names: Mutex<Names>,
}

#[derive(Default)]
struct Names {
    /// Files opened, made or moved here; `None`: removed here, whatever is below.
    files: BTreeMap<String, Option<Arc<OverlayFile>>>,
    directories: BTreeSet<String>,
}

impl OverlayDisk {
    /// Over `base`; what is written goes to a file without a name in `scratch_dir`.
    pub fn new(base: Arc<dyn Disk>, scratch_dir: &Path) -> io::Result<OverlayDisk> {
        use rustix::fs::{Mode, OFlags};
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let fd = match rustix::fs::open(scratch_dir, flags | OFlags::TMPFILE, Mode::from_raw_mode(0o600)) {
            Ok(fd) => fd,
            // Where the file system has no files without names.
            Err(_) => {
                let path = scratch_dir.join(format!("altiplano-scratch-{}", std::process::id()));
                let fd = rustix::fs::open(&path, flags | OFlags::CREATE | OFlags::EXCL, Mode::from_raw_mode(0o600))?;
                std::fs::remove_file(path)?;
                fd
            }
        };
        let scratch = Arc::new(Scratch { file: fd.into(), next: AtomicU64::new(0), failure: Mutex::new(Rank::Leaf, None) });
        Ok(OverlayDisk { base, scratch, names: Mutex::new(Rank::Leaf, Names::default()) })
    }

    /// Bytes of the scratch file.
    pub fn written_bytes(&self) -> u64 {
        self.scratch.next.load(Ordering::Relaxed) * BLOCK
    }

    /// The first failure of the scratch file (no room, mostly): from then on what is read here says nothing of the disk below.
    pub fn scratch_failure(&self) -> Option<io::Error> {
        self.scratch.failure.lock().as_ref().map(|(kind, text)| io::Error::new(*kind, text.clone()))
    }

    /// The file of this name, if there is one.
    fn find(&self, path: &str) -> io::Result<Option<Arc<OverlayFile>>> {
        if let Some(known) = self.names.lock().files.get(path) {
            return Ok(known.clone());
        }
        if !self.base.exists(path)? {
            return Ok(None);
        }
        let base = self.base.open(path, OpenMode::Existing, FileKind::Buffered)?;
        let len = base.len()?;
        let file = Arc::new(self.file(Some(base), len));
        // Somebody may have been faster; all must write to the same one.
        Ok(self.names.lock().files.entry(path.to_owned()).or_insert(Some(file)).clone())
    }

    fn file(&self, base: Option<Arc<dyn File>>, len: u64) -> OverlayFile {
        let state = State { len, base_len: len, blocks: HashMap::new() };
        OverlayFile { base, scratch: Arc::clone(&self.scratch), state: Mutex::new(Rank::Leaf, state) }
    }
}

fn missing(path: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("{path}: no such file"))
}

impl Disk for OverlayDisk {
    fn open(&self, path: &str, mode: OpenMode, _kind: FileKind) -> io::Result<Arc<dyn File>> {
        match (self.find(path)?, mode) {
            (Some(_), OpenMode::CreateNew) => Err(io::ErrorKind::AlreadyExists.into()),
            (Some(file), _) => Ok(file),
            (None, OpenMode::Existing) => Err(missing(path)),
            (None, _) => {
                let file = Arc::new(self.file(None, 0));
                self.names.lock().files.insert(path.to_owned(), Some(Arc::clone(&file)));
                Ok(file)
            }
        }
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        {
            let names = self.names.lock();
            if let Some(known) = names.files.get(path) {
                return Ok(known.is_some());
            }
            if names.directories.contains(path) {
                return Ok(true);
            }
        }
        self.base.exists(path)
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        let made_here = self.names.lock().directories.contains(dir);
        let mut all: BTreeSet<String> = match self.base.list(dir) {
            Ok(names) => names.into_iter().collect(),
            Err(error) if made_here && error.kind() == io::ErrorKind::NotFound => BTreeSet::new(),
            Err(error) => return Err(error),
        };
        let prefix = if dir.is_empty() { String::new() } else { format!("{dir}/") };
        for (path, file) in &self.names.lock().files {
            let Some(name) = path.strip_prefix(&prefix).filter(|name| !name.contains('/')) else { continue };
            match file {
                Some(_) => all.insert(name.to_owned()),
                None => all.remove(name),
            };
        }
        Ok(all.into_iter().collect())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let file = self.find(from)?.ok_or_else(|| missing(from))?;
        let mut names = self.names.lock();
        names.files.insert(from.to_owned(), None);
        names.files.insert(to.to_owned(), Some(file));
        Ok(())
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        if !self.exists(path)? {
            return Err(missing(path));
        }
        self.names.lock().files.insert(path.to_owned(), None);
        Ok(())
    }

    fn create_dir_all(&self, dir: &str) -> io::Result<()> {
        self.names.lock().directories.insert(dir.to_owned());
        Ok(())
    }

    fn sync_dir(&self, _dir: &str) -> io::Result<()> {
        Ok(())
    }
}

struct OverlayFile {
    base: Option<Arc<dyn File>>,
    scratch: Arc<Scratch>,
    state: Mutex<State>,
}

struct State {
    len: u64,
    /// What is below counts up to here.
    base_len: u64,
    /// Block number → its place in the scratch file, in blocks.
    blocks: HashMap<u64, u64>,
}

impl OverlayFile {
    /// Fills `out`, which lies within a run of blocks, from below and with zeros past it.
    fn read_base(&self, out: &mut [u8], offset: u64, base_len: u64) -> io::Result<()> {
        let there = base_len.saturating_sub(offset).min(out.len() as u64) as usize;
        let (from_base, zeros) = out.split_at_mut(there);
        zeros.fill(0);
        match &self.base {
            Some(base) if !from_base.is_empty() => base.read_at(from_base, offset),
            _ => {
                from_base.fill(0);
                Ok(())
            }
        }
    }

    /// Writes one block, or a part of it.
    fn write_block(&self, block: u64, within: usize, bytes: &[u8]) -> io::Result<()> {
        let (place, base_len) = {
            let state = self.state.lock();
            (state.blocks.get(&block).copied(), state.base_len)
        };
        if let Some(place) = place {
            return self.scratch.write(bytes, place * BLOCK + within as u64);
        }
        if block * BLOCK >= base_len && bytes.iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        let mut whole = [0; BLOCK as usize];
        if bytes.len() < whole.len() {
            self.read_base(&mut whole, block * BLOCK, base_len)?;
        }
        whole[within..within + bytes.len()].copy_from_slice(bytes);
        let place = self.scratch.next.fetch_add(1, Ordering::Relaxed);
        self.scratch.write(&whole, place * BLOCK)?;
        self.state.lock().blocks.insert(block, place);
        Ok(())
    }
}

impl File for OverlayFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let blocks = offset / BLOCK..(offset + buf.len() as u64).div_ceil(BLOCK);
        let blocks_read = blocks.end - blocks.start;
        let (base_len, places) = {
            let state = self.state.lock();
            if offset + buf.len() as u64 > state.len {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let places: Vec<(u64, u64)> = match state.blocks.is_empty() {
                true => Vec::new(),
                false => blocks.filter_map(|block| state.blocks.get(&block).map(|place| (block, *place))).collect(),
            };
            (state.base_len, places)
        };
        if (places.len() as u64) < blocks_read {
            self.read_base(buf, offset, base_len)?;
        }
        let end = offset + buf.len() as u64;
        for (block, place) in places {
            let (from, to) = ((block * BLOCK).max(offset), ((block + 1) * BLOCK).min(end));
            let out = &mut buf[(from - offset) as usize..(to - offset) as usize];
            self.scratch.read(out, place * BLOCK + (from - block * BLOCK))?;
        }
        Ok(())
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let end = offset + buf.len() as u64;
        let mut at = offset;
        while at < end {
            let block = at / BLOCK;
            let to = ((block + 1) * BLOCK).min(end);
            self.write_block(block, (at % BLOCK) as usize, &buf[(at - offset) as usize..(to - offset) as usize])?;
            at = to;
        }
        let mut state = self.state.lock();
        state.len = state.len.max(end);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn reserve(&self, range: Range<u64>) -> io::Result<()> {
        let mut state = self.state.lock();
        state.len = state.len.max(range.end);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        if !len.is_multiple_of(BLOCK) && len < self.len()? {
            // What is cut off reads as zeros should the file grow again.
            let end = len.next_multiple_of(BLOCK).min(self.len()?);
            self.write_at(&vec![0; (end - len) as usize], len)?;
        }
        let mut state = self.state.lock();
        if len < state.len {
            state.blocks.retain(|block, _| block * BLOCK < len);
        }
        state.base_len = state.base_len.min(len.next_multiple_of(BLOCK));
        state.len = len;
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.state.lock().len)
    }

    fn punch_hole(&self, offset: u64, len: u64) -> io::Result<()> {
        let end = (offset + len).min(self.len()?);
        let zeros = [0; BLOCK as usize];
        let mut at = offset;
        while at < end {
            let to = ((at / BLOCK + 1) * BLOCK).min(end);
            self.write_block(at / BLOCK, (at % BLOCK) as usize, &zeros[..(to - at) as usize])?;
            at = to;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RealDisk, SplitMix64};

    /// The same random calls on a plain file and on one over a disk that has half of the contents.
    #[test]
    fn behaves_like_a_file_and_leaves_what_is_below_alone() {
        let (below, beside) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
        let base: Arc<dyn Disk> = Arc::new(RealDisk::open(below.path()).expect("opens"));
        let model = RealDisk::open(beside.path()).expect("opens");
        let before: Vec<u8> = (0..50_000_u32).map(|n| (n * 7 % 251) as u8 + 1).collect();
        for disk in [&*base, &model] {
            disk.open("f", OpenMode::Create, FileKind::Buffered).expect("makes").write_at(&before, 0).expect("writes");
        }
        let overlay = OverlayDisk::new(Arc::clone(&base), beside.path()).expect("makes");
        let files = [
            overlay.open("f", OpenMode::Existing, FileKind::Direct).expect("opens"),
            model.open("f", OpenMode::Existing, FileKind::Buffered).expect("opens"),
        ];
        let seed = 42;
        println!("seed {seed}");
        let mut random = SplitMix64::new(seed);
        for step in 0..400_u32 {
            let (at, len) = (random.next() % 60_000, random.next() % 9_000 + 1);
            match random.next() % 6 {
                0 => files.iter().for_each(|file| file.set_len(at).expect("sets")),
                1 => files.iter().for_each(|file| file.punch_hole(at, len).expect("punches")),
                2 => files.iter().for_each(|file| file.reserve(at..at + len).expect("reserves")),
                _ => {
                    let bytes: Vec<u8> = (0..len).map(|n| (u64::from(step) + n) as u8).collect();
                    files.iter().for_each(|file| file.write_at(&bytes, at).expect("writes"));
                }
            }
            let size = files[1].len().expect("len");
            assert_eq!(files[0].len().expect("len"), size, "step {step}");
            let mut contents = [vec![0; size as usize], vec![0; size as usize]];
            for (file, out) in files.iter().zip(&mut contents) {
                file.read_at(out, 0).expect("reads");
            }
            assert!(contents[0] == contents[1], "step {step}");
            // Parts, across the borders of blocks.
            for _ in 0..20 {
                let from = random.below(size + 1);
                let count = random.below((size - from).min(10_000) + 1) as usize;
                for (file, out) in files.iter().zip(&mut contents) {
                    out[..count].fill(0xEE);
                    file.read_at(&mut out[..count], from).expect("reads");
                }
                assert!(contents[0][..count] == contents[1][..count], "step {step}: {count} bytes at {from}");
            }
        }
        let mut now = vec![0; before.len()];
        base.open("f", OpenMode::Existing, FileKind::Buffered).expect("opens").read_at(&mut now, 0).expect("reads");
        assert!(now == before);
    }

    #[test]
    fn names_are_made_moved_and_removed_above_only() {
        let (below, beside) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
        let base: Arc<dyn Disk> = Arc::new(RealDisk::open(below.path()).expect("opens"));
        base.create_dir_all("log").expect("makes");
        for name in ["log/a", "log/b"] {
            base.open(name, OpenMode::Create, FileKind::Buffered).expect("makes").write_at(name.as_bytes(), 0).expect("writes");
        }
        let overlay = OverlayDisk::new(Arc::clone(&base), beside.path()).expect("makes");
        overlay.rename("log/a", "log/c").expect("renames");
        overlay.remove("log/b").expect("removes");
        overlay.open("log/d", OpenMode::CreateNew, FileKind::Buffered).expect("makes");
        overlay.create_dir_all("undo").expect("makes");
        assert_eq!(overlay.list("log").expect("lists"), ["c", "d"]);
        assert_eq!(overlay.list("undo").expect("lists"), Vec::<String>::new());
        assert!(!overlay.exists("log/a").expect("asks") && overlay.exists("log/c").expect("asks"));
        let mut bytes = [0; 5];
        overlay.open("log/c", OpenMode::Existing, FileKind::Buffered).expect("opens").read_at(&mut bytes, 0).expect("reads");
        assert_eq!(&bytes, b"log/a");
        assert!(overlay.remove("log/b").is_err() && overlay.open("log/b", OpenMode::Existing, FileKind::Buffered).is_err());
        assert_eq!(base.list("log").expect("lists"), ["a", "b"]);
        // Only what is not there below is empty: another error of the disk below is one.
        overlay.create_dir_all("log/a").expect("makes");
        let error = overlay.list("log/a").expect_err("a file below");
        assert_eq!(error.kind(), std::io::ErrorKind::NotADirectory);
    }
}
