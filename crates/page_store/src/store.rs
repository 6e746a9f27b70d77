//! The data file and its doublewrite area.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use base::{IndexId, Lsn, PAGE_BYTES, PageNo};
use env::{AlignedBuf, Disk, File, FileKind, OpenMode, ReadPiece};
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{Mutex, Rank};

use crate::batch::{BATCH_HEADER_BYTES, Batch};
use crate::doublewrite;
use crate::error::StoreError;
use crate::header::{self, PAGE_HEADER_BYTES, PageType, Verdict};
use crate::lacking::{Lacking, LackingPages};
use crate::written::Written;

/// The data file.
pub const DATA: &str = "data";
/// The doublewrite area.
pub const DOUBLEWRITE: &str = "doublewrite";
const MAGIC: &[u8; 8] = b"ALTIPLAN";
/// The oldest format of a directory that this program reads.
pub const FORMAT_OLDEST: u32 = 1;
/// The newest one; new directories are made with it.
pub const FORMAT_NEWEST: u32 = 5;
/// Offset of the format in page 0; it lies in one sector with the checksum, so that [`PageStore::seal`] changes both or neither.
const FORMAT_AT: usize = PAGE_HEADER_BYTES + 8;
/// Bytes of the doublewrite area: of the largest batch.
const AREA_BYTES: u64 = (BATCH_HEADER_BYTES + Batch::PAGES_MAX * PAGE_BYTES) as u64;
/// Pages of a new data file.
const PAGES_INITIAL: u64 = 256;

/// Settings of the page store.
#[derive(Debug, Clone)]
pub struct StoreConfig {
    /// Copy batches to `doublewrite` first. Off only where device and file system write 16 KiB atomically.
    pub doublewrite: bool,
}

impl Default for StoreConfig {
    fn default() -> Self {
        StoreConfig { doublewrite: true }
    }
}

/// Counters of the page store; all grow.
#[derive(Debug, Default)]
pub struct StoreStats {
    /// Pages read.
    pub pages_read: AtomicU64,
    /// Pages written in place.
    pub pages_written: AtomicU64,
    /// Batches written.
    pub batches: AtomicU64,
    /// Syncs of `data` and `doublewrite`.
    pub syncs: AtomicU64,
    /// Pages restored from the doublewrite area, at open or after a failed write.
    pub pages_restored: AtomicU64,
    /// Pages found broken when read.
    pub pages_broken: AtomicU64,
}

/// One of many pages to be read; see [`PageStore::read_many`].
pub struct PageRead<'b> {
    /// Which.
    pub page: PageNo,
    /// One page long and aligned to 512 bytes; it holds the page when the result is good.
    pub buffer: &'b mut [u8],
    /// What became of it.
    pub result: Result<(), StoreError>,
}

/// Told of a damaged page when it is read for the first time. It must not read pages: the reader may hold latches.
pub type DamageObserver = Box<dyn Fn(PageNo, &StoreError) + Send + Sync>;

/// Damaged pages that are remembered, and so told once; while there are so many, no other is told.
const DAMAGED_MAX: usize = 10_000;

/// What is wrong with a page.
#[derive(Debug, Clone, Copy)]
enum Damage {
    Checksum,
    Misdirected { found: PageNo },
    Stale,
    Behind,
    Ahead(Lsn),
}

impl Damage {
    /// `None` for what is no damage of the page.
    fn of(error: &StoreError) -> Option<Damage> {
        match error {
            StoreError::Checksum { .. } => Some(Damage::Checksum),
            StoreError::Misdirected { found, .. } => Some(Damage::Misdirected { found: *found }),
            StoreError::Stale { .. } => Some(Damage::Stale),
            StoreError::Behind { .. } => Some(Damage::Behind),
            StoreError::Ahead { lsn, .. } => Some(Damage::Ahead(*lsn)),
            _ => None,
        }
    }

    fn error(self, page: PageNo) -> StoreError {
        match self {
            Damage::Checksum => StoreError::Checksum { page },
            Damage::Misdirected { found } => StoreError::Misdirected { page, found },
            Damage::Stale => StoreError::Stale { page },
            Damage::Behind => StoreError::Behind { page },
            Damage::Ahead(lsn) => StoreError::Ahead { page, lsn },
        }
    }
}

/// The batch whose copies the doublewrite area holds.
struct LastBatch {
    number: u64,
    /// A write in place failed: pages may be torn, and the area has the only good images of them.
    unfinished: bool,
}

/// The data file. Shared by all threads; reads run in parallel, batches one after another.
pub struct PageStore {
    data: Arc<dyn File>,
    area: Option<Arc<dyn File>>,
    /// Features of later formats are not used in the directory.
    format: u32,
    /// Pages the file reaches to; only grows.
    page_count: AtomicU64,
    failed: AtomicBool,
    /// Orders batches: an older image must not land after a newer one, and the doublewrite area holds one batch.
    write: Mutex<LastBatch>,
    written: Written,
    lacking: LackingPages,
    /// Where the log ended when it was recovered; see [`PageStore::log_ended_at`].
    log_end: AtomicU64,
    stats: StoreStats,
    /// Pages found damaged and not written since.
    damaged: Mutex<BTreeMap<PageNo, Damage>>,
    observer: OnceLock<DamageObserver>,
}

impl PageStore {
    /// Makes `data` and `doublewrite` in an empty directory, durable on return.
    pub fn create(disk: &Arc<dyn Disk>, config: StoreConfig) -> Result<PageStore, StoreError> {
        Self::create_with_format(disk, config, FORMAT_NEWEST)
    }

    /// The same in an older format, which earlier releases read.
    pub fn create_with_format(disk: &Arc<dyn Disk>, config: StoreConfig, format: u32) -> Result<PageStore, StoreError> {
        if !(FORMAT_OLDEST..=FORMAT_NEWEST).contains(&format) {
            return Err(StoreError::Format(format!("there is no format {format}; this program makes {FORMAT_OLDEST} to {FORMAT_NEWEST}")));
        }
        let data = disk.open(DATA, OpenMode::CreateNew, FileKind::Direct)?;
        data.reserve(0..PAGES_INITIAL * PAGE_BYTES as u64)?;
        let mut page = AlignedBuf::new(PAGE_BYTES);
        header::init(&mut page, PageNo(0), PageType::FileHeader as u8, IndexId::NONE, 0);
        page[PAGE_HEADER_BYTES..PAGE_HEADER_BYTES + 8].copy_from_slice(MAGIC);
        page[FORMAT_AT..FORMAT_AT + 4].copy_from_slice(&format.to_le_bytes());
        page[PAGE_HEADER_BYTES + 12..PAGE_HEADER_BYTES + 16].copy_from_slice(&(PAGE_BYTES as u32).to_le_bytes());
        header::seal(&mut page);
        data.write_at(&page, 0)?;
        data.sync()?;
        let area = Self::open_area(disk, &config)?;
        disk.sync_dir("")?;
        Self::with_files(data, area, 0, format)
    }

    /// Opens an existing data file and restores pages torn by a crash.
    pub fn open(disk: &Arc<dyn Disk>, config: StoreConfig) -> Result<PageStore, StoreError> {
        let data = disk.open(DATA, OpenMode::Existing, FileKind::Direct)?;
        // A crash can leave the file ending inside a page that was being added; direct I/O reads whole pages.
        let bytes = data.len()?;
        if !bytes.is_multiple_of(PAGE_BYTES as u64) {
            data.reserve(bytes..bytes.next_multiple_of(PAGE_BYTES as u64))?;
        }
        // Where the page cache is in between it may hold pages as if they were on the device, from a sync that failed in the process before: what is torn there, or
        // old, is to be seen as it is.
        data.sync()?;
        data.forget_cached()?;
        // The area is looked at even when doublewrite is off now: it may have been on at the crash.
        let repaired = match disk.exists(DOUBLEWRITE)? {
            true => {
                let area = disk.open(DOUBLEWRITE, OpenMode::Existing, FileKind::Direct)?;
                doublewrite::repair(&*area, &*data)?
            }
            false => doublewrite::Repair::default(),
        };
        // What a process that was killed had written and not synced is read like any other page, and recovery leaves such a page alone: the next checkpoint
        // would trust it, and a loss of power after that would take it away.
        data.sync()?;
        if !config.doublewrite && disk.exists(DOUBLEWRITE)? {
            // Pages are written without copies from now on: these get old, and must not be taken for what belongs in a torn page.
            doublewrite::clear(&*disk.open(DOUBLEWRITE, OpenMode::Existing, FileKind::Direct)?)?;
        }
        let area = Self::open_area(disk, &config)?;
        let mut store = Self::with_files(data, area, repaired.batch_number, FORMAT_OLDEST)?;
        store.stats.pages_restored.store(repaired.restored as u64, Ordering::Relaxed);
        store.format = store.read_format()?;
        Ok(store)
    }

    /// Opens the area, or makes it: a restored directory has none. Its name is durable on return, who ever made it.
    fn open_area(disk: &Arc<dyn Disk>, config: &StoreConfig) -> Result<Option<Arc<dyn File>>, StoreError> {
        if !config.doublewrite {
            return Ok(None);
        }
        let area = disk.open(DOUBLEWRITE, OpenMode::Create, FileKind::Direct)?;
        // Also where the file was there: a process that was killed may have made it. Copies in a file that a loss of power takes away restore nothing.
        disk.sync_dir("")?;
        // So that no batch finds the disk too full for its copies. Where it is so already, batches are tried all the same.
        match area.reserve(0..AREA_BYTES) {
            Err(error) if env::is_disk_full(&error) => {}
            reserved => reserved?,
        }
        Ok(Some(area))
    }

    fn with_files(data: Arc<dyn File>, area: Option<Arc<dyn File>>, batch_number: u64, format: u32) -> Result<PageStore, StoreError> {
        let page_count = data.len()? / PAGE_BYTES as u64;
        Ok(PageStore {
            data,
            area,
            format,
            page_count: AtomicU64::new(page_count),
            failed: AtomicBool::new(false),
            write: Mutex::new(Rank::DataFile, LastBatch { number: batch_number, unfinished: false }),
            written: Written::new(),
            lacking: LackingPages::new(),
            log_end: AtomicU64::new(u64::MAX),
            stats: StoreStats::default(),
            damaged: Mutex::new(Rank::Leaf, BTreeMap::new()),
            observer: OnceLock::new(),
        })
    }

    fn read_format(&self) -> Result<u32, StoreError> {
        let mut page = AlignedBuf::new(PAGE_BYTES);
        self.read(PageNo(0), &mut page)?;
        Self::judge_file_header(&page)
    }

    /// The directory's format: features of later ones are not used in it.
    pub fn format(&self) -> u32 {
        self.format
    }

    /// Raises the format of a directory that no server runs on, and returns the one it had. From then on programs that do not read the new one
    /// refuse it.
    pub fn seal(disk: &dyn Disk, format: u32) -> Result<u32, StoreError> {
        let had = Self::check_format(disk)?;
        if !(had..=FORMAT_NEWEST).contains(&format) {
            let what = format!("format {format}: the directory has format {had}, and this program knows formats to {FORMAT_NEWEST}");
            return Err(StoreError::Format(what));
        }
        if format > had {
            let data = disk.open(DATA, OpenMode::Existing, FileKind::Direct)?;
            let mut page = AlignedBuf::new(PAGE_BYTES);
            data.read_at(&mut page, 0)?;
            page[FORMAT_AT..FORMAT_AT + 4].copy_from_slice(&format.to_le_bytes());
            header::seal(&mut page);
            // Only its first sector differs: a crash leaves the old one or the new one.
            data.write_at(&page[..env::DIRECT_ALIGN], 0)?;
            data.sync()?;
        }
        Ok(had)
    }

    /// The format of `data`, when this program reads it. Nothing is changed. [`StoreError::Format`] is for a good header of another
    /// format and for a file that is none of ours; a header of ours that is damaged is told as any other page.
    pub fn check_format(disk: &dyn Disk) -> Result<u32, StoreError> {
        let data = disk.open(DATA, OpenMode::Existing, FileKind::Buffered)?;
        let mut page = AlignedBuf::new(PAGE_BYTES);
        data.read_at(&mut page, 0)?;
        let is_ours = &page[PAGE_HEADER_BYTES..PAGE_HEADER_BYTES + MAGIC.len()] == MAGIC;
        match header::inspect(&page, PageNo(0)) {
            Verdict::BadChecksum if is_ours => Err(StoreError::Checksum { page: PageNo(0) }),
            Verdict::Unwritten => Err(StoreError::Unwritten { page: PageNo(0) }),
            Verdict::Misdirected(found) => Err(StoreError::Misdirected { page: PageNo(0), found }),
            Verdict::Good | Verdict::BadChecksum => Self::judge_file_header(&page),
        }
    }

    fn judge_file_header(page: &[u8]) -> Result<u32, StoreError> {
        let body = &page[PAGE_HEADER_BYTES..];
        if &body[..8] != MAGIC {
            return Err(StoreError::Format("the header does not name an Altiplano data file".into()));
        }
        let format = u32::from_le_bytes([body[8], body[9], body[10], body[11]]);
        let page_bytes = u32::from_le_bytes([body[12], body[13], body[14], body[15]]);
        if !(FORMAT_OLDEST..=FORMAT_NEWEST).contains(&format) || page_bytes as usize != PAGE_BYTES {
            return Err(StoreError::Format(format!(
                "data directory of format {format} with pages of {page_bytes} bytes; this program reads formats {FORMAT_OLDEST} to \
                 {FORMAT_NEWEST} with pages of {PAGE_BYTES} bytes"
            )));
        }
        Ok(format)
    }

    /// Reads a page and verifies it. `buffer` is one page long and aligned to 512 bytes.
    pub fn read(&self, page: PageNo, buffer: &mut [u8]) -> Result<(), StoreError> {
        assert_eq!(buffer.len(), PAGE_BYTES);
        if page.0 >= self.page_count() {
            return Err(StoreError::Unwritten { page });
        }
        self.data.read_at(buffer, page.0 * PAGE_BYTES as u64)?;
        self.verify(page, buffer)
    }

    /// Reads and verifies many pages, at once where the disk can; each has its own result.
    pub fn read_many(&self, pages: &mut [PageRead<'_>]) {
        let count = self.page_count();
        let mut pieces = Vec::with_capacity(pages.len());
        for read in &mut *pages {
            assert_eq!(read.buffer.len(), PAGE_BYTES);
            if read.page.0 < count {
                pieces.push(ReadPiece::new(&mut *read.buffer, read.page.0 * PAGE_BYTES as u64));
            }
        }
        self.data.read_many(&mut pieces);
        let results: Vec<_> = pieces.into_iter().map(|piece| piece.result).collect();
        let mut results = results.into_iter();
        for read in pages {
            read.result = match if read.page.0 < count { results.next() } else { None } {
                None => Err(StoreError::Unwritten { page: read.page }),
                Some(Err(error)) => Err(error.into()),
                Some(Ok(())) => self.verify(read.page, read.buffer),
            };
        }
    }

    /// Judges what was read for `page`; reads it once more when it does not fit: the way from the device may have spoilt it, or its write is under way.
    fn verify(&self, page: PageNo, buffer: &mut [u8]) -> Result<(), StoreError> {
        self.stats.pages_read.fetch_add(1, Ordering::Relaxed);
        let mut outcome = self.judge(page, buffer);
        if matches!(outcome, Ok(()) | Err(StoreError::Unwritten { .. })) {
            return outcome;
        }
        {
            let _no_write_meanwhile = self.write.lock();
            self.data.read_at(buffer, page.0 * PAGE_BYTES as u64)?;
            outcome = self.judge(page, buffer);
        }
        if let Some(damage) = outcome.as_ref().err().and_then(Damage::of) {
            self.stats.pages_broken.fetch_add(1, Ordering::Relaxed);
            self.note_damage(page, damage);
        }
        outcome
    }

    /// Whether an image read from a page's place is whole, of that page, and what was written there last. While a write of it is under way, none may be.
    pub fn judge(&self, page: PageNo, image: &[u8]) -> Result<(), StoreError> {
        match header::inspect(image, page) {
            Verdict::Good if !self.written.agrees(page, image) => Err(StoreError::Stale { page }),
            Verdict::Good | Verdict::Unwritten if self.lacking.is_behind(page, header::lsn(image)) => Err(StoreError::Behind { page }),
            Verdict::Good if self.is_ahead(page, header::lsn(image)) => Err(StoreError::Ahead { page, lsn: header::lsn(image) }),
            Verdict::Good => Ok(()),
            // Zeros where something was written are what a first write that was lost leaves.
            Verdict::Unwritten if self.written.knows(page) => Err(StoreError::Stale { page }),
            Verdict::Unwritten => Err(StoreError::Unwritten { page }),
            Verdict::BadChecksum => Err(StoreError::Checksum { page }),
            Verdict::Misdirected(found) => Err(StoreError::Misdirected { page, found }),
        }
    }

    /// The log ended here when it was recovered, and goes on from here. A page with a later LSN that this process has not written is of a log whose end was lost
    /// (bits that turned over in it, a sync that never was): who changes such a page would log changes that redo then takes for done. It is damaged.
    pub fn log_ended_at(&self, end: Lsn) {
        // Relaxed, as all loads of it: who reads pages was told of the recovery's end by other means.
        self.log_end.store(end.0, Ordering::Relaxed);
    }

    /// Whether a page with this LSN has changes of a log whose end was lost.
    pub fn is_ahead(&self, page: PageNo, lsn: Lsn) -> bool {
        lsn.0 > self.log_end.load(Ordering::Relaxed) && !self.written.touched(page)
    }

    /// Reads the places of consecutive pages as they are, unverified; for backups, which judge each page by its header. A page that is being
    /// written may come torn.
    pub fn read_raw(&self, first: PageNo, buffer: &mut [u8]) -> Result<(), StoreError> {
        assert!(buffer.len().is_multiple_of(PAGE_BYTES), "whole pages");
        self.data.read_at(buffer, first.0 * PAGE_BYTES as u64)?;
        Ok(())
    }

    /// Sets who is told of damaged pages; those found before are told at once. Only the first call counts.
    pub fn set_damage_observer(&self, observer: DamageObserver) {
        if self.observer.set(observer).is_ok() {
            let known: Vec<(PageNo, Damage)> = self.damaged.lock().iter().map(|(page, damage)| (*page, *damage)).collect();
            known.into_iter().for_each(|(page, damage)| self.tell_damage(page, damage));
        }
    }

    #[cold]
    fn note_damage(&self, page: PageNo, damage: Damage) {
        let is_new = {
            let mut damaged = self.damaged.lock();
            damaged.len() < DAMAGED_MAX && damaged.insert(page, damage).is_none()
        };
        if is_new {
            self.tell_damage(page, damage);
        }
    }

    /// Notes a page that lacks changes which recovery could not do again. Until it is written, punched out or forgotten, what is read in its place must have them.
    pub fn note_lacking(&self, lacking: Lacking) {
        self.lacking.add(lacking);
        self.stats.pages_broken.fetch_add(1, Ordering::Relaxed);
        self.note_damage(lacking.page, Damage::Behind);
    }

    /// The pages that lack changes.
    pub fn lacking(&self) -> Vec<Lacking> {
        self.lacking.list()
    }

    /// The page belongs to nobody: it lacks nothing.
    pub fn forget_lacking(&self, page: PageNo) {
        self.forget_damage(std::iter::once(page));
    }

    /// What was written or punched out is damaged no more; should it be so again, that is told again.
    fn forget_damage(&self, pages: impl Iterator<Item = PageNo>) {
        // Relaxed: who finds damage in a page that is written meanwhile has waited for the write.
        if self.stats.pages_broken.load(Ordering::Relaxed) > 0 {
            for page in pages {
                self.damaged.lock().remove(&page);
                self.lacking.remove(page);
            }
        }
    }

    fn tell_damage(&self, page: PageNo, damage: Damage) {
        if let Some(observer) = self.observer.get() {
            observer(page, &damage.error(page));
        }
    }

    /// Seals the images and writes them so that a crash leaves each page old or new: copy to `doublewrite`, sync, write in place, sync.
    /// The batch may not hold a page twice. On an error any of the pages may be old or new, and all must be written again.
    pub fn write_batch(&self, batch: &mut Batch) -> Result<(), StoreError> {
        if batch.is_empty() {
            return Ok(());
        }
        for i in 0..batch.len() {
            let page = batch.pages()[i];
            let image = batch.image_mut(i);
            assert_eq!(header::page_no(image), page, "image in a batch carries another page's number");
            assert!(header::page_type(image) != 0, "page {page} has no type");
            header::seal(image);
        }
        let mut last = self.write.lock();
        if self.failed.load(Ordering::Relaxed) {
            return Err(StoreError::Failed);
        }
        if let Some(area) = &self.area {
            if last.unfinished {
                self.finish_last(&**area)?;
            }
            last.number += 1;
            last.unfinished = false;
            doublewrite::seal_header(batch, last.number);
            area.write_at(batch.whole(), 0)?;
            self.sync(&**area)?;
        }
        // Until all of it is in place, durably.
        last.unfinished = self.area.is_some();
        let pages = batch.pages();
        let mut pieces = Vec::with_capacity(pages.len());
        let mut from = 0;
        while from < pages.len() {
            let mut to = from + 1;
            while to < pages.len() && pages[to].0 == pages[to - 1].0 + 1 {
                to += 1;
            }
            pieces.push((batch.images(from, to), pages[from].0 * PAGE_BYTES as u64));
            from = to;
        }
        // An error leaves old images and new ones; which, nobody knows until they are written again.
        pages.iter().for_each(|page| self.written.doubt(*page));
        self.data.write_many(&pieces)?;
        let end = pages.iter().map(|page| page.0 + 1).max().unwrap_or(0);
        self.page_count.fetch_max(end, Ordering::AcqRel);
        self.sync(&*self.data)?;
        last.unfinished = false;
        for i in 0..batch.len() {
            self.written.note(batch.pages()[i], header::checksum(batch.images(i, i + 1)));
        }
        let pages = batch.pages();
        self.forget_damage(pages.iter().copied());
        self.stats.pages_written.fetch_add(pages.len() as u64, Ordering::Relaxed);
        self.stats.batches.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Restores what a failed write in place has torn, before the copies of it are written over.
    fn finish_last(&self, area: &dyn File) -> Result<(), StoreError> {
        let repaired = doublewrite::repair(area, &*self.data)?;
        self.stats.pages_restored.fetch_add(repaired.restored as u64, Ordering::Relaxed);
        // Also when nothing is torn: what reads well may be in the device's cache only.
        self.sync(&*self.data)
    }

    fn sync(&self, file: &dyn File) -> Result<(), StoreError> {
        self.stats.syncs.fetch_add(1, Ordering::Relaxed);
        file.sync().inspect_err(|_| self.failed.store(true, Ordering::Relaxed))?;
        Ok(())
    }

    /// Pages the file reaches to, used or not.
    pub fn page_count(&self) -> u64 {
        self.page_count.load(Ordering::Acquire)
    }

    /// Makes the file reach to at least `pages` pages, with room for those that are added: writing them cannot fail for want of space. What was punched out
    /// before stays so. Returns the pages that were added.
    pub fn grow(&self, pages: u64) -> Result<Range<u64>, StoreError> {
        let _order = self.write.lock();
        let now = self.page_count();
        if pages <= now {
            return Ok(now..now);
        }
        self.data.reserve(now * PAGE_BYTES as u64..pages * PAGE_BYTES as u64)?;
        self.page_count.fetch_max(pages, Ordering::AcqRel);
        Ok(now..pages)
    }

    /// Sees to it that pages which the file reaches to have room: they may lie in a hole, punched out or never written since the file was restored. Waits for
    /// no batch. What is punched out after this has none again.
    pub fn reserve(&self, first: PageNo, count: u64) -> Result<(), StoreError> {
        Ok(self.data.reserve(first.0 * PAGE_BYTES as u64..(first.0 + count) * PAGE_BYTES as u64)?)
    }

    /// Gives the space of `count` pages back to the file system; they read as unwritten afterwards. The caller sees to it that the log
    /// says they are free, durably, and that no write of them is under way.
    pub fn punch(&self, first: PageNo, count: u64) -> Result<(), StoreError> {
        let _order = self.write.lock();
        assert!(first.0 > 0, "page 0 is not free");
        let end = (first.0 + count).min(self.page_count());
        if first.0 < end {
            (first.0..end).for_each(|page| self.written.doubt(PageNo(page)));
            self.data.punch_hole(first.0 * PAGE_BYTES as u64, (end - first.0) * PAGE_BYTES as u64)?;
            self.forget_damage((first.0..end).map(PageNo));
        }
        Ok(())
    }

    /// Whether a sync failed, after which nothing is written any more.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Counters.
    pub fn stats(&self) -> &StoreStats {
        &self.stats
    }
}

impl std::fmt::Debug for PageStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PageStore").field("page_count", &self.page_count()).field("stats", &self.stats).finish_non_exhaustive()
    }
}
