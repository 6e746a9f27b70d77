//! Making a log out of copied parts: for restoring a backup. The directory belongs to no running server.

use crate::WalError;
use crate::control::{Checkpoint, Control, Slot};
use crate::pins::Pins;
use crate::reader::LogReader;
use crate::segments::{DIR, Segments, segment_name};
use crate::stats::Counters;
use base::Lsn;
use env::{Disk, File, FileKind, OpenMode};
use std::collections::BTreeMap;
use std::sync::Arc;

const ZEROS_BYTES: usize = 1 << 20;

/// A log that is put together from pieces of its stream.
pub struct RestoredLog {
    disk: Arc<dyn Disk>,
    segment_bytes: u64,
    redo: Lsn,
    files: BTreeMap<u64, Arc<dyn File>>,
}

impl RestoredLog {
    /// An empty log in a directory without one, to be recovered from `redo`.
    pub fn new(disk: Arc<dyn Disk>, segment_bytes: u64, redo: Lsn) -> Result<RestoredLog, WalError> {
        if segment_bytes == 0 || !segment_bytes.is_multiple_of(env::DIRECT_ALIGN as u64) {
            return Err(WalError::Corrupt { what: "the segment size of the log to restore", lsn: redo });
        }
        disk.create_dir_all(DIR)?;
        if Control::exists(&*disk)? {
            return Err(WalError::Exists);
        }
        Ok(RestoredLog { disk, segment_bytes, redo, files: BTreeMap::new() })
    }

    /// Puts bytes at their position of the stream; later ones replace earlier ones.
    pub fn write(&mut self, mut at: Lsn, mut bytes: &[u8]) -> Result<(), WalError> {
        while !bytes.is_empty() {
            let (number, offset) = (at.0 / self.segment_bytes, at.0 % self.segment_bytes);
            let count = bytes.len().min((self.segment_bytes - offset) as usize);
            let file = match self.files.get(&number) {
                Some(file) => file,
                None => {
                    let path = format!("{DIR}/{}", segment_name(number));
                    let file = self.disk.open(&path, OpenMode::Create, FileKind::Buffered)?;
                    // Zeros, not a hole, as the log's writer wants its segments.
                    zero(&*file, 0, self.segment_bytes)?;
                    self.files.entry(number).or_insert(file)
                }
            };
            file.write_at(&bytes[..count], offset)?;
            bytes = &bytes[count..];
            at = Lsn(at.0 + count as u64);
        }
        Ok(())
    }

    /// Bytes that were put at a position before; zeros where there were none.
    pub fn read(&self, mut at: Lsn, mut buf: &mut [u8]) -> Result<(), WalError> {
        while !buf.is_empty() {
            let (number, offset) = (at.0 / self.segment_bytes, at.0 % self.segment_bytes);
            let count = buf.len().min((self.segment_bytes - offset) as usize);
            let (piece, rest) = buf.split_at_mut(count);
            match self.files.get(&number) {
                Some(file) => file.read_at(piece, offset)?,
                None => piece.fill(0),
            }
            buf = rest;
            at = Lsn(at.0 + count as u64);
        }
        Ok(())
    }

    /// Reads the records from the redo position to where they stop being valid. An error when that is below `reach`.
    pub fn reader(&self, reach: Lsn) -> Result<LogReader, WalError> {
        LogReader::over(Arc::clone(&self.disk), self.segment_bytes, self.redo, reach)
    }

    /// Ends the log at `end`, where a record ends, and makes it one that a server opens: `epoch` is above that of all records. What is
    /// written here last is what makes the directory a data directory; all else in it is to be durable before.
    pub fn finish(self, end: Lsn, epoch: u32, payload: Vec<u8>) -> Result<(), WalError> {
        let last = end.0 / self.segment_bytes;
        for (number, file) in &self.files {
            if *number > last {
                self.disk.remove(&format!("{DIR}/{}", segment_name(*number)))?;
                continue;
            }
            if *number == last {
                zero(&**file, end.0 % self.segment_bytes, self.segment_bytes)?;
            }
            file.sync()?;
        }
        self.disk.sync_dir(DIR)?;
        // The payload goes to the file that this first slot does not name.
        let mut control =
            Control::create(Arc::clone(&self.disk), Slot { payload_file: 1, ..slot(self.segment_bytes, epoch, self.redo, self.redo) })?;
        control.write_checkpoint(&Checkpoint { redo_lsn: self.redo, payload }, end.0)
    }
}

impl LogReader {
    /// Reads the records of a log that no server uses, by its segments alone: from `redo` to where they stop being valid. An error when that is
    /// below `reach`.
    pub fn over(disk: Arc<dyn Disk>, segment_bytes: u64, redo: Lsn, reach: Lsn) -> Result<LogReader, WalError> {
        let segments = Segments::new(disk, FileKind::Buffered, segment_bytes, Arc::new(Counters::default()), Pins::new(0));
        segments.open_existing(redo.0, u64::MAX)?;
        Ok(LogReader::new(segments, &slot(segment_bytes, u32::MAX, redo, reach)))
    }
}

fn slot(segment_bytes: u64, epoch: u32, redo: Lsn, durable: Lsn) -> Slot {
    Slot {
        sequence: 1,
        epoch,
        redo: redo.0,
        durable: durable.0,
        segment_bytes,
        has_payload: false,
        payload_file: 0,
        payload_len: 0,
        payload_crc: 0,
    }
}

fn zero(file: &dyn File, mut at: u64, end: u64) -> Result<(), WalError> {
    let zeros = vec![0; ZEROS_BYTES.min((end - at) as usize)];
    while at < end {
        let count = (end - at).min(zeros.len() as u64);
        file.write_at(&zeros[..count as usize], at)?;
        at += count;
    }
    Ok(())
}

impl std::fmt::Debug for RestoredLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RestoredLog(from {}, {} segments)", self.redo, self.files.len())
    }
}
