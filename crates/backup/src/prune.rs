//! Removing archived log that no backup needs any more.

use crate::set::BackupSet;
use crate::{Error, Result};
use base::Lsn;
use env::{Disk, FileKind, OpenMode};
use std::sync::Arc;
use wal::ArchiveState;

const PIECE_BYTES: usize = 1 << 20;

/// What is left of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pruned {
    /// Segments removed.
    pub segments: u64,
    /// Where the archive begins now, and where it ends.
    pub from: Lsn,
    /// See `from`.
    pub to: Lsn,
}

/// Removes the segments of an archive that none of these backups needs to reach a later point in time. Each must be complete and of the
/// archive's history: an archive that is not theirs is refused. A server may be archiving meanwhile.
pub fn prune_archive(archive: &dyn Disk, backups: &mut [BackupSet]) -> Result<Pruned> {
    let none = || Error::Refused("there is no log archive in the directory".into());
    let state = ArchiveState::read(archive)?.ok_or_else(none)?;
    let mut below: Option<Lsn> = None;
    for backup in backups.iter_mut() {
        let redo = backup.redo_lsn().ok_or_else(|| Error::Refused("the backup is not complete".into()))?;
        check_same_history(archive, &state, backup)?;
        below = Some(below.map_or(redo, |lowest| lowest.min(redo)));
    }
    let below = below.ok_or_else(|| Error::Refused("without a backup nothing can be pruned".into()))?;
    let segments = wal::prune_archive(archive, below)?;
    let left = ArchiveState::read(archive)?.ok_or_else(none)?;
    Ok(Pruned { segments, from: left.from, to: left.to })
}

/// Where both the archive and a backup have log, they have the same, and the archive reaches the backup's end.
fn check_same_history(archive: &dyn Disk, state: &ArchiveState, backup: &mut BackupSet) -> Result<()> {
    let manifest = backup.manifest().cloned().ok_or_else(|| Error::Refused("the backup is not complete".into()))?;
    if manifest.segment_bytes != state.segment_bytes {
        return Err(Error::Refused("the log archive is of another server: its segments have another size".into()));
    }
    if state.to < manifest.end_lsn {
        return Err(Error::Refused(format!("the log archive ends at {}, before the backup's end at {}", state.to, manifest.end_lsn)));
    }
    if manifest.end_lsn <= state.from {
        return Err(Error::Refused(format!(
            "the log archive begins at {}, after the backup's end at {}: it is not for this backup",
            state.from, manifest.end_lsn
        )));
    }
    let frames = Arc::clone(&backup.log(&manifest)?.frames);
    let mut at = crate::Begin::log_start(manifest.redo_lsn).max(state.from);
    let (mut ours, mut theirs) = (vec![0; PIECE_BYTES], vec![0; PIECE_BYTES]);
    while at < manifest.end_lsn {
        let (number, offset) = (at.0 / state.segment_bytes, at.0 % state.segment_bytes);
        let count = (manifest.end_lsn.0 - at.0).min(state.segment_bytes - offset).min(PIECE_BYTES as u64) as usize;
        let name = wal::segment_name(number);
        if !archive.exists(&name)? {
            return Err(Error::Damaged(format!("the log archive lacks {name}")));
        }
        archive.open(&name, OpenMode::Existing, FileKind::Buffered)?.read_at(&mut ours[..count], offset)?;
        frames.read(&mut theirs[..count], at)?;
        if ours[..count] != theirs[..count] {
            return Err(Error::Refused("the log archive holds another history than the backup".into()));
        }
        at = Lsn(at.0 + count as u64);
    }
    Ok(())
}
