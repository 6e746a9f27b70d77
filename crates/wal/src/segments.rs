//! Segment files: `log/segment-NNNNNNNN`, where N is stream position / segment size. Made full of zeros before use, so that a sync
//! writes no metadata; recycled by a rename when a checkpoint no longer needs them.

use crate::WalError;
use crate::pins::Pins;
use crate::stats::Counters;
use base::Lsn;
use env::{AlignedBuf, Disk, File, FileKind, OpenMode};
use std::collections::BTreeMap;
use std::sync::Arc;
use sync::atomic::{AtomicU64, Ordering};
use sync::{Mutex, Rank};

/// The directory of the log: segments, control file and checkpoints.
pub const DIR: &str = "log";
const PREFIX: &str = "segment-";
const ZERO_CHUNK_BYTES: usize = 1 << 20;

pub(crate) struct Segments {
    disk: Arc<dyn Disk>,
    kind: FileKind,
    segment_bytes: u64,
    counters: Arc<Counters>,
    pins: Arc<Pins>,
    /// Spare segments that the log may come to use by itself.
    spare_max: usize,
    /// Start of what recovery needs; relaxed, only who retires segments and who runs out of disk look at it.
    redo: AtomicU64,
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

/// What [`Segments::give_up_kept`] has done.
pub(crate) struct GivenUp {
    /// Segments that became spare.
    pub(crate) retired: usize,
    /// Segment files removed: their space is free.
    pub(crate) removed: usize,
}

/// A segment that is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveSegment {
    /// Its number: [`segment_name`] is its file in the directory `log`.
    pub number: u64,
    /// The first position that it holds.
    pub start: Lsn,
    /// The first position after it.
    pub end: Lsn,
}

/// Name of a segment's file.
pub fn segment_name(number: u64) -> String {
    format!("{PREFIX}{number:08}")
}

/// Numbers of the segments among the names in a directory, ascending.
pub(crate) fn segment_numbers(names: &[String]) -> Vec<u64> {
    let mut numbers: Vec<u64> = names.iter().filter_map(|name| name.strip_prefix(PREFIX)?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

fn path(number: u64) -> String {
    format!("{DIR}/{}", segment_name(number))
}

/// All bytes of a small file.
pub(crate) fn read_whole(file: &dyn File) -> Result<Vec<u8>, WalError> {
    let mut bytes = vec![0; file.len()? as usize];
    if !bytes.is_empty() {
        file.read_at(&mut bytes, 0)?;
    }
    Ok(bytes)
}

impl Segments {
    pub(crate) fn new(disk: Arc<dyn Disk>, kind: FileKind, segment_bytes: u64, counters: Arc<Counters>, pins: Arc<Pins>) -> Self {
        Segments {
            disk,
            kind,
            segment_bytes,
            counters,
            pins,
            spare_max: usize::MAX,
            redo: AtomicU64::new(0),
            table: Mutex::new(Rank::LogSegment, Table::default()),
            growing: Mutex::new(Rank::LogGrow, ()),
            prepared_end: AtomicU64::new(0),
        }
    }

    /// For a log that uses so many bytes of segments by itself.
    pub(crate) fn with_capacity(mut self, bytes: u64) -> Self {
        self.spare_max = (bytes / self.segment_bytes) as usize;
        self
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
        Ok(segment_numbers(&self.disk.list(DIR)?))
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

    /// Opens what is there for reading from `redo`: later segments become live, earlier ones spare, but for those that are kept from
    /// `keep_from` on without a gap.
    pub(crate) fn open_existing(&self, redo: u64, keep_from: u64) -> Result<(), WalError> {
        self.redo.store(redo, Ordering::Relaxed);
        let mut first = redo / self.segment_bytes;
        let keep_first = keep_from / self.segment_bytes;
        let numbers = self.numbers()?;
        let mut table = self.table.lock();
        // From the newest down, so that what is kept has no gap.
        for number in numbers.into_iter().rev() {
            let file = self.disk.open(&path(number), OpenMode::Existing, self.kind)?;
            let whole = file.len()? == self.segment_bytes;
            if whole && number + 1 == first && number >= keep_first {
                first = number;
            }
            if number >= first {
                table.live.insert(number, file);
            } else if whole {
                table.spare.push((number, file));
            }
        }
        Ok(())
    }

    /// The live segments, in their order.
    pub(crate) fn live(&self) -> Vec<LiveSegment> {
        let bytes = self.segment_bytes;
        let segment = |number: &u64| LiveSegment { number: *number, start: Lsn(number * bytes), end: Lsn((number + 1) * bytes) };
        self.table.lock().live.keys().map(segment).collect()
    }

    /// Where the live segments begin.
    pub(crate) fn live_from(&self) -> Option<u64> {
        self.table.lock().live.keys().next().map(|number| number * self.segment_bytes)
    }

    /// Makes the contents and the names of live segments durable: what is read from them after this survives a loss of power. Nor is it what a sync that failed in the
    /// process before has left in the page cache.
    pub(crate) fn make_durable(&self) -> Result<(), WalError> {
        let live: Vec<Arc<dyn File>> = self.table.lock().live.values().cloned().collect();
        live.iter().try_for_each(|file| file.sync().and_then(|()| file.forget_cached()))?;
        self.disk.sync_dir(DIR)?;
        Ok(())
    }

    /// End of the last live segment: the log ends before.
    pub(crate) fn live_end(&self) -> u64 {
        self.table.lock().live.keys().next_back().map_or(0, |last| (last + 1) * self.segment_bytes)
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
                None => match self.create(number) {
                    Ok(file) => {
                        self.counters.segments_created.inc();
                        file
                    }
                    // What only backups and the archive want gives way to writers.
                    Err(WalError::DiskFull) if self.give_up_kept().retired > 0 => continue,
                    Err(error) => return Err(error),
                },
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

    /// Segments wholly below `redo` become spare, but for those that pins keep.
    pub(crate) fn retire_below(&self, redo: u64) {
        self.redo.store(redo, Ordering::Relaxed);
        self.make_spare_below(|pins| pins.keep_from(redo));
    }

    /// The disk is full: gives up what is kept only for pins, and removes of it what the log does not use by itself.
    pub(crate) fn give_up_kept(&self) -> GivenUp {
        let redo = self.redo.load(Ordering::Relaxed);
        let first = redo / self.segment_bytes * self.segment_bytes;
        let retired = self.make_spare_below(|pins| {
            pins.overrun_below(first);
            first
        });
        // What cannot be removed is tried again at the next checkpoint.
        GivenUp { retired, removed: self.trim().unwrap_or(0) }
    }

    /// Segments wholly below a position become spare. It is decided, and pins are marked, while the table is latched: see [`crate::Wal::pin`].
    fn make_spare_below(&self, position: impl FnOnce(&Pins) -> u64) -> usize {
        let mut table = self.table.lock();
        let first = position(&self.pins) / self.segment_bytes;
        let kept = table.live.split_off(&first);
        let retired = std::mem::replace(&mut table.live, kept);
        let count = retired.len();
        // A segment that pins kept may have left more spare ones than the log ever uses; their space goes back by `trim_spare`.
        table.spare.extend(retired);
        count
    }

    /// Removes spare segments beyond what the log uses by itself: what pins have kept made it longer.
    pub(crate) fn trim(&self) -> Result<usize, WalError> {
        self.trim_spare(self.spare_max)
    }

    /// Removes spare segments beyond `count`; how many. Their space is free when this returns.
    pub(crate) fn trim_spare(&self, count: usize) -> Result<usize, WalError> {
        let mut removed = 0;
        loop {
            let spare = {
                let mut table = self.table.lock();
                if table.spare.len() <= count { None } else { table.spare.pop() }
            };
            let Some((number, file)) = spare else { break };
            if let Err(error) = self.disk.remove(&path(number)) {
                // Still there: for the next use, or the next try.
                self.table.lock().spare.push((number, file));
                return Err(error.into());
            }
            removed += 1;
        }
        if removed > 0 {
            // A file whose removal is not durable may still take its space.
            self.disk.sync_dir(DIR)?;
        }
        Ok(removed)
    }

    /// Reads on from a block-aligned position, over the borders of segments; returns how many bytes there are before the files end, or one of them does.
    pub(crate) fn read_on(&self, buf: &mut [u8], position: u64) -> Result<usize, WalError> {
        let mut len = 0;
        while len < buf.len() {
            let position = position + len as u64;
            let in_segment = (self.segment_bytes - position % self.segment_bytes) as usize;
            let count = in_segment.min(buf.len() - len);
            let got = self.read(&mut buf[len..len + count], position)?;
            len += got;
            if got < count {
                break;
            }
        }
        Ok(len)
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

#[cfg(test)]
mod tests {
    use super::*;
    use env::SimDisk;

    /// A pin that is added while it is decided what is retired finds the segments gone, or counts: the decision is made under the table's latch.
    #[test]
    fn what_is_retired_is_decided_while_the_table_is_latched() {
        let disk = SimDisk::new(1);
        disk.create_dir_all(DIR).expect("makes");
        let pins = Pins::new(1 << 20);
        let segments = Segments::new(Arc::new(disk), FileKind::Direct, 4096, Arc::default(), Arc::clone(&pins)).with_capacity(3 * 4096);
        segments.prepare(5 * 4096).expect("room");
        let pin = pins.add(base::Lsn(2 * 4096));
        segments.make_spare_below(|pins| {
            assert!(segments.table.try_lock().is_none(), "somebody may look at the table, and then pin what is retired");
            pins.keep_from(4 * 4096)
        });
        assert_eq!(segments.live_from(), Some(2 * 4096));
        segments.retire_below(4 * 4096);
        assert_eq!((segments.live_from(), pin.is_overrun()), (Some(2 * 4096), false));
        let given_up = segments.give_up_kept();
        assert_eq!((segments.live_from(), pin.is_overrun()), (Some(4 * 4096), true));
        assert_eq!((given_up.retired, given_up.removed), (2, 1), "three spare ones are the log's own");
    }
}
