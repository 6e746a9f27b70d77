//! From a backup, and perhaps archived log, to a directory that a server opens.

use crate::frame::{Begin, Kind, settings_of_end};
use crate::manifest::Manifest;
use crate::parts::Place;
use crate::point_in_time::Until;
use crate::set::{BackupSet, check_page, is_empty_directory};
use crate::{Error, Result, SETTINGS};
use base::{Lsn, PAGE_BYTES};
use env::{Disk, FileKind, OpenMode};
use std::ops::Range;
use std::sync::Arc;
use wal::{ArchiveState, RestoredLog};

const PIECE_BYTES: usize = 1 << 20;
/// The restored log goes on this many epochs above all that were read, and up to twice as many: histories that part at one place of the log
/// are told apart by their epochs.
const EPOCH_STEP: u32 = 1000;

/// A restored directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restored {
    /// The server as it was here.
    pub end: Lsn,
    /// Time of the last commit in it beyond the checkpoint, in microseconds since 1970.
    pub last_commit_us: Option<i64>,
    /// Pages written.
    pub pages: u64,
    /// The archive reached the point asked for; if not, all it has is restored.
    pub reached: bool,
}

/// Restores into an empty directory. `now_us` only has to differ between restores. `progress` hears pages done, of how many.
pub fn restore(
    set: &mut BackupSet,
    target: Arc<dyn Disk>,
    archive: Option<&dyn Disk>,
    until: Until,
    now_us: i64,
    mut progress: impl FnMut(u64, u64),
) -> Result<Restored> {
    if !is_empty_directory(&*target)? {
        return Err(Error::Refused("the directory to restore to is not empty".into()));
    }
    let manifest = set.manifest().cloned().ok_or_else(|| Error::Refused("the backup is not complete".into()))?;
    if let Until::Lsn(lsn) = until
        && lsn < manifest.end_lsn
    {
        return Err(Error::Refused(format!("the backup reaches {}, which is past {lsn}; use an earlier backup", manifest.end_lsn)));
    }
    if until != Until::Last && archive.is_none() {
        return Err(Error::Refused("a point in time needs the log archive".into()));
    }
    let restored = write(set, &target, archive, until, now_us, &manifest, &mut progress);
    if restored.is_err() {
        // Half a directory would be in the way of the next attempt. What went wrong first is what the caller hears.
        let _ = remove_written(&*target);
    }
    restored
}

/// Takes away what a restore that failed has written; the directory had nothing but empty directories in it, which stay.
fn remove_written(target: &dyn Disk) -> Result<()> {
    for dir in std::iter::once("").chain(engine::files::DIRECTORIES) {
        for name in target.list(dir).unwrap_or_default() {
            let path = if dir.is_empty() { name } else { format!("{dir}/{name}") };
            if path != "lock" && !engine::files::DIRECTORIES.contains(&path.as_str()) {
                // What cannot be removed (a directory that was there before, the `lost+found` of a disk of its own) must not keep the rest.
                let _ = target.remove(&path);
            }
        }
    }
    Ok(target.sync_dir("")?)
}

fn write(
    set: &mut BackupSet,
    target: &Arc<dyn Disk>,
    archive: Option<&dyn Disk>,
    until: Until,
    now_us: i64,
    manifest: &Manifest,
    progress: &mut impl FnMut(u64, u64),
) -> Result<Restored> {
    let (redo_lsn, begin) = set.begin()?;
    // The log first: what cannot be reached is told before the pages are copied.
    let mut log = RestoredLog::new(Arc::clone(target), begin.segment_bytes, redo_lsn)?;
    let archived = match archive {
        Some(archive) => write_archived(archive, &begin, redo_lsn, manifest.end_lsn, until, &mut log)?,
        None => Lsn(0)..Lsn(0),
    };
    write_log(set, manifest.end_lsn, archived, &mut log)?;
    let cut = find_cut(&log, manifest.end_lsn, until, archive.is_some())?;
    if cut.end < manifest.end_lsn {
        return Err(Error::Refused(format!("the backup itself reaches further, to {}; use an earlier backup", manifest.end_lsn)));
    }
    let pages = write_pages(set, &**target, manifest.pages, manifest.end_lsn, progress)?;
    write_undo(set, &**target)?;
    write_settings(set, &**target)?;
    target.sync_dir("")?;
    let step = match archive {
        // Spread by the time of the restore.
        Some(_) => EPOCH_STEP + (now_us.unsigned_abs() % u64::from(EPOCH_STEP)) as u32,
        None => 0,
    };
    log.finish(cut.end, cut.epoch.max(begin.epoch) + step, begin.payload)?;
    Ok(Restored { end: cut.end, last_commit_us: cut.last_commit_us, pages, reached: cut.reached })
}

fn write_pages(set: &mut BackupSet, target: &dyn Disk, count: u64, end: Lsn, progress: &mut impl FnMut(u64, u64)) -> Result<u64> {
    let file = target.open(page_store::DATA, OpenMode::CreateNew, FileKind::Buffered)?;
    file.set_len(count * PAGE_BYTES as u64)?;
    let places: Vec<Place> = set.index.pages.values().copied().collect();
    let mut pages = 0;
    let mut unsynced = 0;
    for place in places {
        let body = set.reader.body(&place)?;
        let mut run: Option<(u64, usize, usize)> = None;
        for (no, image) in body.chunks(PAGE_BYTES).enumerate() {
            let page = check_page(image, place.header.first..place.header.next, end)?.0;
            pages += 1;
            // Consecutive pages are written at once.
            match &mut run {
                Some((first, from, to)) if page == *first + (*to - *from) as u64 => *to = no + 1,
                _ => {
                    write_run(&*file, &body, run)?;
                    run = Some((page, no, no + 1));
                }
            }
        }
        write_run(&*file, &body, run)?;
        unsynced += body.len();
        if unsynced > 64 << 20 {
            file.sync()?;
            unsynced = 0;
        }
        progress(place.header.next.min(count), count);
    }
    file.sync()?;
    Ok(pages)
}

fn write_run(file: &dyn env::File, body: &[u8], run: Option<(u64, usize, usize)>) -> Result<()> {
    if let Some((page, from, to)) = run {
        file.write_at(&body[from * PAGE_BYTES..to * PAGE_BYTES], page * PAGE_BYTES as u64)?;
    }
    Ok(())
}

fn write_undo(set: &mut BackupSet, target: &dyn Disk) -> Result<()> {
    target.create_dir_all(undo::DIR)?;
    let file = target.open(undo::FILE, OpenMode::Create, FileKind::Buffered)?;
    for place in set.index.undo.clone() {
        let body = set.reader.body(&place)?;
        file.write_at(&body, place.header.first)?;
    }
    file.sync()?;
    Ok(target.sync_dir(undo::DIR)?)
}

fn write_settings(set: &mut BackupSet, target: &dyn Disk) -> Result<()> {
    let Some(place) = set.index.end else { return Ok(()) };
    let body = set.reader.body(&place)?;
    let settings = settings_of_end(&body)?;
    if settings.is_empty() {
        return Ok(());
    }
    let file = target.open(SETTINGS, OpenMode::CreateNew, FileKind::Buffered)?;
    file.set_len(settings.len() as u64)?;
    file.write_at(settings, 0)?;
    Ok(file.sync()?)
}

/// The backup's own log. Where the archive has log too, both must say the same.
fn write_log(set: &mut BackupSet, end: Lsn, archived: Range<Lsn>, log: &mut RestoredLog) -> Result<()> {
    for place in set.index.log.clone() {
        debug_assert_eq!(place.header.kind, Kind::Log);
        let first = Lsn(place.header.first);
        let body = set.reader.body(&place)?;
        // A backup that is resumed has copied more than its end at times.
        let count = body.len().min(end.0.saturating_sub(first.0) as usize);
        let last = Lsn(first.0 + count as u64);
        let (from, to) = (archived.start.max(first), archived.end.min(last));
        if from < to {
            let mut theirs = vec![0; (to.0 - from.0) as usize];
            log.read(from, &mut theirs)?;
            if theirs != body[(from.0 - first.0) as usize..(to.0 - first.0) as usize] {
                return Err(Error::Refused("the log archive holds another history than the backup".into()));
            }
        }
        log.write(first, &body[..count])?;
    }
    Ok(())
}

/// Archived log from the block of the redo LSN on, as far as it may be wanted. Tells what it has put there.
fn write_archived(archive: &dyn Disk, begin: &Begin, redo: Lsn, end: Lsn, until: Until, log: &mut RestoredLog) -> Result<Range<Lsn>> {
    let state = ArchiveState::read(archive)?.ok_or_else(|| Error::Refused("there is no log archive in the directory".into()))?;
    if state.segment_bytes != begin.segment_bytes {
        return Err(Error::Refused("the log archive is of another server: its segments have another size".into()));
    }
    let segment_bytes = state.segment_bytes;
    let mut at = Begin::log_start(redo);
    if state.from > end {
        return Err(Error::Refused(format!(
            "the log archive begins at {}, after the end of the backup at {end}: the log between is missing",
            state.from
        )));
    }
    at = at.max(state.from);
    // An LSN that was asked for may lie in the last record that is wanted: a segment more does no harm.
    let stop = match until {
        Until::Lsn(lsn) => Lsn(state.to.0.min((lsn.0 / segment_bytes + 2) * segment_bytes)),
        _ => state.to,
    };
    let from = at;
    let mut piece = vec![0; PIECE_BYTES];
    while at < stop {
        let number = at.0 / segment_bytes;
        let name = wal::segment_name(number);
        if !archive.exists(&name)? {
            return Err(Error::Damaged(format!("the log archive lacks {name}")));
        }
        let file = archive.open(&name, OpenMode::Existing, FileKind::Buffered)?;
        let segment_end = Lsn((number + 1) * segment_bytes).min(stop);
        while at < segment_end {
            let count = ((segment_end.0 - at.0) as usize).min(piece.len());
            if file.len()? < at.0 % segment_bytes + count as u64 {
                return Err(Error::Damaged(format!("{name} of the log archive is too short")));
            }
            file.read_at(&mut piece[..count], at.0 % segment_bytes)?;
            log.write(at, &piece[..count])?;
            at = Lsn(at.0 + count as u64);
        }
    }
    Ok(from..at)
}

struct Cut {
    end: Lsn,
    epoch: u32,
    last_commit_us: Option<i64>,
    reached: bool,
}

/// Reads the log's records up to where it is to end.
fn find_cut(log: &RestoredLog, backup_end: Lsn, until: Until, archived: bool) -> Result<Cut> {
    let mut reader = log.reader(backup_end)?;
    let end = reader.end_of_valid();
    // Where nothing was written since the backup, its own end is all there is.
    let mut cut = Cut { end, epoch: 0, last_commit_us: None, reached: until == Until::Last || until == Until::Lsn(end) };
    loop {
        let (end, commit_us) = match reader.next()? {
            None => break,
            Some(entry) if !archived && entry.end > backup_end => break,
            Some(entry) => (entry.end, engine::commit_time(entry.body)?),
        };
        if !until.includes(end, commit_us) {
            cut.reached = true;
            break;
        }
        cut.end = end;
        cut.last_commit_us = commit_us.or(cut.last_commit_us);
        cut.reached |= until == Until::Lsn(end);
        cut.epoch = reader.epoch();
    }
    match until {
        Until::Lsn(lsn) if !cut.reached => Err(Error::Refused(format!("the log archive ends at {}, before {lsn}", cut.end))),
        // Nothing was committed later than the time asked for, as far as the archive tells.
        _ => Ok(cut),
    }
}
