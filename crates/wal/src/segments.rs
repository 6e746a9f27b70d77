//! Segment files: `log/segment-NNNNNNNN`, where N is stream position / segment size. Made full of zeros before use, so that a sync
//! writes no metadata; recycled by a rename when a checkpoint no longer needs them.

use crate::WalError;
use crate::stats::Counters;
use env::{AlignedBuf, Disk, File, FileKind, OpenMode};
use std::collections::BTreeMap;
use std::sync::Arc;
use sync::atomic::{AtomicU64, Ordering};
use sync::{Mutex, Rank};

pub(crate) const DIR: &str = "log";
const PREFIX: &str = "segment-";
const ZERO_CHUNK_BYTES: usize = 1 << 20;

pub(crate) struct Segments {
    disk: Arc<dyn Disk>,
    kind: FileKind,
    segment_bytes: u64,
    counters: Arc<Counters>,
    table: Mutex<Table>,
    /// Held by who makes the next segment.
    growing: Mutex<()>,
    /// Every position in `[oldest live segment, prepared_end)` has its file. Release/acquire: who sees it finds the file in the table.
    prepared_end: AtomicU64,
}

#[derive(Default)]
struct Table {
    live: BTreeMap<u64, Arc<dyn File>>,
    /// Whole segment files that hold nothing needed, by the number they are still named for.
    spare: Vec<(u64, Arc<dyn File>)>,
}

fn path(number: u64) -> String {
    format!("{DIR}/{PREFIX}{number:08}")
}

impl Segments {
    pub(crate) fn new(disk: Arc<dyn Disk>, kind: FileKind, segment_bytes: u64, counters: Arc<Counters>) -> Self {
        Segments {
            disk,
            kind,
            segment_bytes,
            counters,
            table: Mutex::new(Rank::LogSegment, Table::default()),
            growing: Mutex::new(Rank::LogGrow, ()),
            prepared_end: AtomicU64::new(0),
        }
    }

    pub(crate) fn segment_bytes(&self) -> u64 {
        self.segment_bytes
    }

    /// End of the last segment that is ready for writing.
    #[inline]
    pub(crate) fn prepared_end(&self) -> u64 {
        self.prepared_end.load(Ordering::Acquire)
    }

    pub(crate) fn file(&self, number: u64) -> Option<Arc<dyn File>> {
        self.table.lock().live.get(&number).cloned()
    }

    /// Numbers of the segment files in the directory, ascending.
    fn numbers(&self) -> Result<Vec<u64>, WalError> {
        let names = self.disk.list(DIR)?;
        let mut numbers: Vec<u64> = names.iter().filter_map(|name| name.strip_prefix(PREFIX)?.parse().ok()).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Removes every segment file: leftovers of a creation that a crash interrupted.
    pub(crate) fn remove_all(&self) -> Result<(), WalError> {
        for number in self.numbers()? {
            self.disk.remove(&path(number))?;
        }
        Ok(())
    }

    /// The first segment of a new log will hold `position`.
    pub(crate) fn start_at(&self, position: u64) {
        self.prepared_end.store(position / self.segment_bytes * self.segment_bytes, Ordering::Release);
    }

    /// Opens what is there for reading from `redo`: later segments become live, earlier ones spare.
    pub(crate) fn open_existing(&self, redo: u64) -> Result<(), WalError> {
        let first = redo / self.segment_bytes;
        let numbers = self.numbers()?;
        let mut table = self.table.lock();
        for number in numbers {
            let file = self.disk.open(&path(number), OpenMode::Existing, self.kind)?;
            if number >= first {
                table.live.insert(number, file);
            } else if file.len()? == self.segment_bytes {
                table.spare.push((number, file));
            }
        }
        Ok(())
    }

    /// After recovery the stream goes on at `end`: makes durable what was read, and sorts out which later segments are usable.
    pub(crate) fn resume_at(&self, end: u64) -> Result<(), WalError> {
        let last = end / self.segment_bytes;
        let live: Vec<(u64, Arc<dyn File>)> = self.table.lock().live.iter().map(|(n, f)| (*n, f.clone())).collect();
        let mut next = live.first().map_or(last, |(number, _)| (*number).min(last));
        let mut unusable = Vec::new();
        for (number, file) in live {
            // What recovery read may still be in the page cache of a machine that did not crash; it counts as durable from now on.
            if number <= last {
                self.fill_with_zeros(&*file)?;
                file.sync()?;
            }
            let whole = file.len()? == self.segment_bytes;
            if number == next && whole {
                next += 1;
            } else {
                unusable.push((number, file, whole));
            }
        }
        let mut table = self.table.lock();
        for (number, file, whole) in unusable {
            table.live.remove(&number);
            if whole {
                table.spare.push((number, file));
            } else {
                self.disk.remove(&path(number))?;
            }
        }
        // The names of recycled segments may be as volatile as their contents were.
        drop(table);
        self.disk.sync_dir(DIR)?;
        if next < last {
            return Err(WalError::Corrupt { what: "a segment is missing", lsn: base::Lsn(next * self.segment_bytes) });
        }
        self.prepared_end.store(next * self.segment_bytes, Ordering::Release);
        Ok(())
    }

    /// Makes segments ready until `position` is below the prepared end.
    pub(crate) fn prepare(&self, position: u64) -> Result<(), WalError> {
        while self.prepared_end() <= position {
            let growing = self.growing.lock();
            let end = self.prepared_end();
            if end > position {
                break;
            }
            let number = end / self.segment_bytes;
            let spare = self.table.lock().spare.pop();
            let file = match spare {
                Some((old, file)) => {
                    if let Err(error) = self.disk.rename(&path(old), &path(number)) {
                        self.table.lock().spare.push((old, file));
                        return Err(error.into());
                    }
                    self.counters.segments_recycled.inc();
                    file
                }
                None => {
                    let file = self.create(number)?;
                    self.counters.segments_created.inc();
                    file
                }
            };
            // Records in a file whose name a crash takes away would be lost.
            self.disk.sync_dir(DIR)?;
            self.table.lock().live.insert(number, file);
            self.prepared_end.store(end + self.segment_bytes, Ordering::Release);
            drop(growing);
        }
        Ok(())
    }

    fn create(&self, number: u64) -> Result<Arc<dyn File>, WalError> {
        let file = self.disk.open(&path(number), OpenMode::Create, self.kind)?;
        let filled = self.fill_with_zeros(&*file).and_then(|()| Ok(file.sync()?));
        if let Err(error) = filled {
            // Gives the space back where the disk is full; what went wrong first is what the caller hears.
            let _ = self.disk.remove(&path(number));
            return Err(error);
        }
        Ok(file)
    }

    /// Extends a file to the length of a segment. Zeros are written, not allocated: an unwritten extent costs a metadata write at its first sync.
    fn fill_with_zeros(&self, file: &dyn File) -> Result<(), WalError> {
        let block = env::DIRECT_ALIGN as u64;
        let mut at = file.len()? / block * block;
        if at >= self.segment_bytes {
            return Ok(());
        }
        let zeros = AlignedBuf::new(ZERO_CHUNK_BYTES.min(self.segment_bytes as usize));
        while at < self.segment_bytes {
            let count = (self.segment_bytes - at).min(zeros.len() as u64);
            file.write_at(&zeros[..count as usize], at)?;
            at += count;
        }
        Ok(())
    }

    /// Segments wholly below `redo` become spare.
    pub(crate) fn retire_below(&self, redo: u64) {
        let first = redo / self.segment_bytes;
        let mut table = self.table.lock();
        let kept = table.live.split_off(&first);
        let retired = std::mem::replace(&mut table.live, kept);
        table.spare.extend(retired);
    }

    /// Reads up to `buf.len()` bytes at a block-aligned position, all inside one segment; returns how many there are before the file ends.
    pub(crate) fn read(&self, buf: &mut [u8], position: u64) -> Result<usize, WalError> {
        let Some(file) = self.file(position / self.segment_bytes) else { return Ok(0) };
        let offset = position % self.segment_bytes;
        let block = env::DIRECT_ALIGN as u64;
        let there = file.len()?.min(self.segment_bytes) / block * block;
        let count = there.saturating_sub(offset).min(buf.len() as u64) as usize;
        if count > 0 {
            file.read_at(&mut buf[..count], offset)?;
        }
        Ok(count)
    }
}
