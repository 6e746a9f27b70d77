//! A disk with a planted bug in front of it.

use crate::planted::Plant;
use crate::planted_log;
use env::{Disk, File, FileKind, OpenMode, SimDisk};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use sync::atomic::{AtomicU64, Ordering};
use sync::{Mutex, Rank};

/// Redo position and durable position in a slot of the control file, and what its checksum covers.
const SLOT_REDO: usize = 20;
const SLOT_DURABLE: usize = 28;
const SLOT_COVERED: usize = 58;

impl Plant {
    fn skips_sync(self, path: &str, no: u64) -> bool {
        match self {
            Plant::NoLogSync => is_segment(path),
            Plant::SkippedLogSync => is_segment(path) && no % 20 == 19,
            Plant::NoDataSync => path == "data",
            Plant::NoCheckpointSync => path == "log/control" || path.starts_with("log/checkpoint"),
            Plant::NoUndoSync => path.starts_with("undo/"),
            Plant::NoListSync => path.starts_with(engine::simulation::PAGE_LIST),
            _ => false,
        }
    }

    /// One write in how many vanishes.
    fn loses_one_in(self, path: &str) -> Option<u64> {
        match self {
            Plant::LostDoublewrite if path == "doublewrite" => Some(1),
            Plant::LostPageWrite if path == "data" => Some(10),
            Plant::LostLogWrite if is_segment(path) => Some(40),
            _ => None,
        }
    }
}

fn is_segment(path: &str) -> bool {
    path.starts_with("log/segment")
}

fn segment_number(path: &str) -> u64 {
    path.strip_prefix("log/segment-").and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// A simulated disk with a bug in front of it.
pub(crate) struct PlantedDisk {
    disk: SimDisk,
    plant: Plant,
    writes: Arc<AtomicU64>,
    syncs: Arc<AtomicU64>,
    /// Numbers of the log's segments by path; handles share them, as segments are renamed.
    segments: Mutex<BTreeMap<String, Arc<AtomicU64>>>,
    altered: Arc<Mutex<BTreeMap<u64, u8>>>,
}

impl PlantedDisk {
    pub(crate) fn new(disk: SimDisk, plant: Plant) -> PlantedDisk {
        let segments = Mutex::new(Rank::Leaf, BTreeMap::new());
        let altered = Arc::new(Mutex::new(Rank::Leaf, BTreeMap::new()));
        PlantedDisk { disk, plant, writes: Arc::default(), syncs: Arc::default(), segments, altered }
    }
}

struct PlantedFile {
    file: Arc<dyn File>,
    path: String,
    plant: Plant,
    segment: Arc<AtomicU64>,
    writes: Arc<AtomicU64>,
    syncs: Arc<AtomicU64>,
    altered: Arc<Mutex<BTreeMap<u64, u8>>>,
}

impl Disk for PlantedDisk {
    fn open(&self, path: &str, mode: OpenMode, kind: FileKind) -> io::Result<Arc<dyn File>> {
        let file = self.disk.open(path, mode, kind)?;
        let mut segments = self.segments.lock();
        let segment = segments.entry(path.to_owned()).or_insert_with(|| Arc::new(AtomicU64::new(segment_number(path))));
        Ok(Arc::new(PlantedFile {
            file,
            path: path.to_owned(),
            plant: self.plant,
            segment: Arc::clone(segment),
            writes: Arc::clone(&self.writes),
            syncs: Arc::clone(&self.syncs),
            altered: Arc::clone(&self.altered),
        }))
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        self.disk.exists(path)
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        self.disk.list(dir)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        {
            let mut segments = self.segments.lock();
            if let Some(number) = segments.remove(from) {
                number.store(segment_number(to), Ordering::Relaxed);
                segments.insert(to.to_owned(), number);
            }
        }
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.segments.lock().remove(path);
        self.disk.remove(path)
    }

    fn create_dir_all(&self, dir: &str) -> io::Result<()> {
        self.disk.create_dir_all(dir)
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        if self.plant == Plant::NoDirectorySync { Ok(()) } else { self.disk.sync_dir(dir) }
    }
}

impl File for PlantedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        if let Some(every) = self.plant.loses_one_in(&self.path)
            && self.writes.fetch_add(1, Ordering::Relaxed) % every == every - 1
        {
            return Ok(());
        }
        if self.plant == Plant::WrongCheckpointLsn && self.path == "log/control" && buf.len() > SLOT_COVERED + 4 {
            return self.file.write_at(&too_new(buf), offset);
        }
        match planted_log::forgotten(self.plant).filter(|_| is_segment(&self.path)) {
            Some(forgotten) => {
                let start = self.segment.load(Ordering::Relaxed) * crate::options::SEGMENT_BYTES + offset;
                let bytes = planted_log::forget(buf, start, forgotten, &mut self.altered.lock());
                self.file.write_at(&bytes, offset)
            }
            None => self.file.write_at(buf, offset),
        }
    }

    fn sync(&self) -> io::Result<()> {
        let no = self.syncs.fetch_add(u64::from(is_segment(&self.path)), Ordering::Relaxed);
        if self.plant.skips_sync(&self.path, no) { Ok(()) } else { self.file.sync() }
    }

    fn forget_cached(&self) -> io::Result<()> {
        self.file.forget_cached()
    }

    fn reserve(&self, range: Range<u64>) -> io::Result<()> {
        self.file.reserve(range)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn punch_hole(&self, offset: u64, len: u64) -> io::Result<()> {
        self.file.punch_hole(offset, len)
    }
}

/// A slot of the control file that takes all that was durable for written in place.
fn too_new(slot: &[u8]) -> Vec<u8> {
    let mut slot = slot.to_vec();
    let number = |at: usize| u64::from_le_bytes(slot[at..at + 8].try_into().expect("eight bytes"));
    let (redo, durable) = (number(SLOT_REDO), number(SLOT_DURABLE));
    if durable > redo {
        slot[SLOT_REDO..SLOT_REDO + 8].copy_from_slice(&durable.to_le_bytes());
        let sum = base::crc32c(&slot[..SLOT_COVERED]);
        slot[SLOT_COVERED..SLOT_COVERED + 4].copy_from_slice(&sum.to_le_bytes());
    }
    slot
}
