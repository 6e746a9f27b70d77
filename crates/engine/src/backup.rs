//! Where a backup begins: a checkpoint, with all that recovery from it needs held in place while it is copied.
//!
//! # Invariants
//! 1. Every page read from the data file after [`Engine::begin_backup`] has returned has all changes below the point's redo LSN.
//! 2. As long as the point lives, the undo places that its payload lists keep their bytes; as long as its pin is not overrun, the log is there
//!    from the pin on.

use crate::checkpoint::Payload;
use crate::engine::Engine;
use crate::log_op::{COMMIT, LogOp};
use crate::{Error, Result};
use base::Lsn;
use env::Disk;
use std::sync::Arc;
use undo::{PlacesHold, UndoExtent};
use wal::{LogArchive, LogPin};

/// A checkpoint that a backup starts from.
#[derive(Debug)]
pub struct BackupPoint {
    /// Recovery of the copy begins here.
    pub redo_lsn: Lsn,
    /// The checkpoint's payload.
    pub payload: Vec<u8>,
    /// Keeps the log.
    pub log: LogPin,
    /// What is to be copied of the undo file.
    pub undo: Vec<UndoExtent>,
    _places: PlacesHold,
}

impl Engine {
    /// Takes a checkpoint to copy from. Sessions go on meanwhile.
    pub fn begin_backup(&self) -> Result<BackupPoint> {
        let _one = self.checkpoint_latch.lock();
        let places = self.undo.hold_places();
        // No checkpoint comes between: the latch is held.
        let log = self.wal.pin(self.wal.redo_lsn()).ok_or(Error::LogFailed)?;
        let checkpoint = self.checkpoint_latched()?;
        log.move_to(checkpoint.redo_lsn);
        let undo = undo_extents(&checkpoint.payload)?;
        Ok(BackupPoint { redo_lsn: checkpoint.redo_lsn, payload: checkpoint.payload, log, undo, _places: places })
    }

    /// Copies the log to an archive directory from now on, and keeps of it what is not there yet. What the archive has must be of this log.
    pub fn archive_log(&self, directory: Arc<dyn Disk>) -> Result<()> {
        let archive = LogArchive::open(&self.wal, directory)?;
        let archiver = archive.start(Arc::clone(&self.config.on_warning)).map_err(|error| Error::Io(error.to_string()))?;
        *self.archiver.lock() = Some(archiver);
        Ok(())
    }

    /// Bytes of the undo file that a backup copies.
    pub fn read_undo(&self, extent: UndoExtent) -> Result<Vec<u8>> {
        Ok(self.undo.read_extent(extent)?)
    }
}

/// What a checkpoint's payload lists of the undo file, in the order in which it is copied.
pub fn undo_extents(payload: &[u8]) -> Result<Vec<UndoExtent>> {
    Ok(UndoExtent::listed(&Payload::read(payload)?.undo_directory)?)
}

/// The wall clock, in microseconds since 1970, of the commit in a log record's body, if it has one.
pub fn commit_time(body: &[u8]) -> Result<Option<i64>> {
    let mut time = None;
    for op in buffer_pool::ops(body) {
        let op = op.map_err(|_| Error::corrupt("log record"))?;
        if op.op == COMMIT {
            let decoded = LogOp::decode(op.op, op.payload).map_err(|_| Error::corrupt("log operation"))?;
            if let LogOp::Commit { wall_micros, .. } = decoded {
                time = Some(wall_micros as i64);
            }
        }
    }
    Ok(time)
}
