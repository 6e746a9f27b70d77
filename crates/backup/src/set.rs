//! A backup on disk: which of its frames count, whether it is complete and whole, and what an interrupted one has.

use crate::frame::{Begin, Kind, settings_of_end};
use crate::log_disk::{LogDisk, LogFrames};
use crate::manifest::{Manifest, Part};
use crate::parts::{End, Place, Reader, part_name};
use crate::{Error, Result};
use base::{Lsn, PAGE_BYTES, PageNo};
use env::{Disk, FileKind, OpenMode};
use page_store::header::{self, Verdict};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use wal::LogReader;

pub(crate) const MANIFEST: &str = "manifest";
const MANIFEST_NEW: &str = "manifest.new";

/// Whether nothing is in a directory but the lock of who looks, and empty directories.
pub fn is_empty_directory(disk: &dyn Disk) -> Result<bool> {
    // What cannot be listed is a file.
    let is_nothing = |name: &String| name == "lock" || disk.list(name).is_ok_and(|inside| inside.is_empty());
    Ok(disk.list("")?.iter().all(is_nothing))
}

/// The frames that count.
#[derive(Default)]
pub(crate) struct Index {
    pub(crate) begin: Option<Place>,
    /// Pages copied or found the same since `begin`, by the first.
    pub(crate) pages: BTreeMap<u64, Place>,
    /// Pages copied before that, not looked at again yet.
    pub(crate) earlier: BTreeMap<u64, Place>,
    pub(crate) undo: Vec<Place>,
    /// All extents are there.
    pub(crate) undo_complete: bool,
    pub(crate) log: Vec<Place>,
    pub(crate) end: Option<Place>,
}

impl Index {
    fn add(&mut self, place: Place) {
        let header = place.header;
        match header.kind {
            Kind::Begin => {
                let mut earlier = std::mem::take(&mut self.earlier);
                earlier.append(&mut self.pages);
                *self = Index { begin: Some(place), earlier, ..Index::default() };
            }
            Kind::Pages => {
                self.earlier.remove(&header.first);
                if header.next > header.first {
                    self.pages.insert(header.first, place);
                }
            }
            Kind::Same => {
                if let Some(copied) = self.earlier.remove(&header.first) {
                    self.pages.insert(header.first, copied);
                }
            }
            Kind::Undo if header.body_bytes == 0 => self.undo_complete = true,
            Kind::Undo => self.undo.push(place),
            Kind::Log => self.log.push(place),
            Kind::End => self.end = Some(place),
            Kind::Gone | Kind::Stopped => {}
        }
    }

    /// The first page that is not copied.
    pub(crate) fn next_page(&self) -> u64 {
        let mut next = 0;
        for (first, place) in &self.pages {
            if *first > next {
                break;
            }
            next = next.max(place.header.next);
        }
        next
    }

    /// Up to where the log is copied.
    pub(crate) fn next_log(&self) -> Option<u64> {
        self.log.last().map(|place| place.header.next)
    }
}

/// A directory with a backup, complete or not.
pub struct BackupSet {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) reader: Reader,
    pub(crate) index: Index,
    pub(crate) parts: Vec<Part>,
    manifest: Option<Manifest>,
}

/// What [`BackupSet::verify`] has looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Verified {
    /// Pages.
    pub pages: u64,
    /// Records of the log, and of undo.
    pub records: u64,
    /// Bytes of all frames as they were.
    pub bytes: u64,
    /// Bytes of the parts.
    pub stored_bytes: u64,
}

impl BackupSet {
    /// Opens a complete backup.
    pub fn open(disk: Arc<dyn Disk>) -> Result<BackupSet> {
        let set = BackupSet::load(disk, false)?;
        let Some(manifest) = &set.manifest else {
            return Err(Error::Refused("there is no complete backup here: it has no manifest".into()));
        };
        if manifest.parts != set.parts {
            let no = manifest.parts.iter().zip(&set.parts).position(|(a, b)| a != b).unwrap_or(set.parts.len().min(manifest.parts.len()));
            return Err(Error::Damaged(format!("{} is damaged or missing", part_name(no))));
        }
        if set.index.begin.is_none() || set.index.end.is_none() || set.index.next_page() < manifest.pages || !set.index.undo_complete {
            return Err(Error::Damaged("the backup lacks frames".into()));
        }
        Ok(set)
    }

    /// Looks at what an interrupted backup has left, if anything. Frames are good up to the first that is not.
    pub(crate) fn load(disk: Arc<dyn Disk>, bodies: bool) -> Result<BackupSet> {
        let manifest = match disk.exists(MANIFEST)? {
            true => {
                let file = disk.open(MANIFEST, OpenMode::Existing, FileKind::Buffered)?;
                let mut text = vec![0; file.len()? as usize];
                file.read_at(&mut text, 0)?;
                Some(Manifest::parse(&String::from_utf8_lossy(&text))?)
            }
            false => None,
        };
        let mut reader = Reader::new(Arc::clone(&disk));
        let mut index = Index::default();
        let (parts, end) = reader.scan(bodies, |place| index.add(place))?;
        if matches!(end, End::Cut) && manifest.is_some() {
            return Err(Error::Damaged(format!("{} is damaged", part_name(parts.len().saturating_sub(1)))));
        }
        Ok(BackupSet { disk, reader, index, parts, manifest })
    }

    /// The manifest of a complete one.
    pub fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref()
    }

    pub(crate) fn begin(&mut self) -> Result<(Lsn, Begin)> {
        let place = self.index.begin.ok_or_else(|| Error::Damaged("the backup has no beginning".into()))?;
        Ok((Lsn(place.header.first), Begin::decode(&self.reader.body(&place)?)?))
    }

    /// Reads everything and checks every checksum: those of frames, of pages, and of the log's records up to the end LSN.
    /// `progress` hears how many bytes were looked at.
    pub fn verify(&mut self, mut progress: impl FnMut(u64)) -> Result<Verified> {
        let manifest = self.manifest.clone().ok_or_else(|| Error::Refused("the backup is not complete".into()))?;
        let mut verified = Verified { stored_bytes: manifest.parts.iter().map(|part| part.bytes).sum(), ..Verified::default() };
        let index = &self.index;
        let rest = index.undo.iter().chain(&index.log).chain(&index.begin).chain(&index.end).copied();
        let places: Vec<Place> = index.pages.values().copied().chain(rest).collect();
        for place in places {
            let body = self.reader.body(&place)?;
            verified.bytes += body.len() as u64;
            if place.header.kind == Kind::End {
                settings_of_end(&body)?;
            }
            if place.header.kind == Kind::Pages {
                for image in body.chunks(PAGE_BYTES) {
                    check_page(image, place.header.first..place.header.next, manifest.end_lsn)?;
                    verified.pages += 1;
                }
            }
            progress(verified.bytes);
        }
        verified.records = self.check_records(&manifest)?;
        Ok(verified)
    }

    /// Where recovery of the backup begins, when it is complete.
    pub fn redo_lsn(&self) -> Option<Lsn> {
        self.manifest.as_ref().map(|manifest| manifest.redo_lsn)
    }

    /// The log of the backup.
    pub(crate) fn log(&self, manifest: &Manifest) -> Result<LogDisk> {
        let segment_bytes = manifest.segment_bytes;
        if segment_bytes == 0 || !segment_bytes.is_multiple_of(env::DIRECT_ALIGN as u64) {
            return Err(Error::Damaged("the segment size in the backup's manifest".into()));
        }
        let frames = Arc::new(LogFrames::new(Arc::clone(&self.disk), self.index.log.clone())?);
        let (first, last) = (manifest.redo_lsn.0 / segment_bytes, manifest.end_lsn.0 / segment_bytes);
        Ok(LogDisk { frames, segment_bytes, first, last })
    }

    /// Each record of the log up to the end LSN and each of undo fits its own checksum: damage from before they were copied is found, too.
    /// How many there are.
    pub(crate) fn check_records(&mut self, manifest: &Manifest) -> Result<u64> {
        self.check_log(manifest)?;
        Ok(self.check_log_records(manifest)? + self.check_undo()?)
    }

    fn check_log_records(&self, manifest: &Manifest) -> Result<u64> {
        let mut records = 0;
        let end = manifest.end_lsn;
        if end <= manifest.redo_lsn {
            return Ok(records);
        }
        let mut reader = LogReader::over(Arc::new(self.log(manifest)?), manifest.segment_bytes, manifest.redo_lsn, end)?;
        loop {
            let Some(entry) = reader.next()? else { return Err(Error::Damaged(format!("the backup's log ends before {end}"))) };
            engine::offline::check_record(entry.body)
                .map_err(|what| Error::Damaged(format!("the backup's log at {}: {what}", entry.start)))?;
            records += 1;
            match entry.end.cmp(&end) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => return Ok(records),
                std::cmp::Ordering::Greater => {
                    return Err(Error::Damaged(format!("the backup ends inside the log record at {}", entry.start)));
                }
            }
        }
    }

    fn check_undo(&mut self) -> Result<u64> {
        let damaged = |what: String| Error::Damaged(format!("the backup's undo: {what}"));
        let (_, begin) = self.begin()?;
        let extents = engine::undo_extents(&begin.payload).map_err(|error| damaged(error.to_string()))?;
        if extents.len() != self.index.undo.len() {
            return Err(damaged(format!("{} segments of {}", self.index.undo.len(), extents.len())));
        }
        let mut records = 0;
        for (extent, place) in extents.iter().zip(self.index.undo.clone()) {
            if place.header.first != extent.offset {
                return Err(damaged(format!("a segment from {} where {} was expected", place.header.first, extent.offset)));
            }
            let body = self.reader.body(&place)?;
            records += extent.check(&body).map_err(|error| damaged(format!("segment {}: {error}", extent.segment)))?;
        }
        Ok(records)
    }

    /// The log must be there without a gap.
    fn check_log(&self, manifest: &Manifest) -> Result<()> {
        let mut reached = Begin::log_start(manifest.redo_lsn).0;
        for place in &self.index.log {
            if place.header.first > reached {
                return Err(Error::Damaged(format!("the backup lacks the log from {reached} to {}", place.header.first)));
            }
            reached = reached.max(place.header.next);
        }
        match reached >= manifest.end_lsn.0 {
            true => Ok(()),
            false => Err(Error::Damaged(format!("the backup's log ends at {reached}, before {}", manifest.end_lsn))),
        }
    }
}

/// A page image is whole, belongs to its frame, and is not newer than the log.
pub(crate) fn check_page(image: &[u8], pages: Range<u64>, end: Lsn) -> Result<PageNo> {
    if image.len() != PAGE_BYTES {
        return Err(Error::Damaged("a frame of pages ends inside a page".into()));
    }
    let page = header::page_no(image);
    if header::inspect(image, page) != Verdict::Good || !pages.contains(&page.0) {
        return Err(Error::Damaged(format!("page {page} of the backup is damaged")));
    }
    if header::lsn(image) > end {
        return Err(Error::Damaged(format!("page {page} of the backup is newer than its log")));
    }
    Ok(page)
}

pub(crate) fn write_manifest(disk: &dyn Disk, manifest: &Manifest) -> Result<()> {
    let text = manifest.text();
    let file = disk.open(MANIFEST_NEW, OpenMode::Create, FileKind::Buffered)?;
    file.set_len(text.len() as u64)?;
    file.write_at(text.as_bytes(), 0)?;
    file.sync()?;
    disk.rename(MANIFEST_NEW, MANIFEST)?;
    Ok(disk.sync_dir("")?)
}

impl std::fmt::Debug for BackupSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BackupSet").field("manifest", &self.manifest).field("parts", &self.parts.len()).finish_non_exhaustive()
    }
}
