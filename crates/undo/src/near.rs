//! Reads of records that lie near each other: of a spilled segment a window is read at a time, and what else lies in it costs no system call.
//!
//! A transaction's records lie in one segment, behind each other but for those of the sessions that share its shard, and so do those of the transactions after it: who purges reads all of
//! them.
//!
//! # Invariant
//! The copy is of a segment by its number, which is given out once; a spilled segment takes no more records. So the copy of a record that was not released when the window was read, and is not
//! yet, is the record; of one that was released since it gives the old bytes, as any reader may ([`crate`], 4).

use crate::error::UndoError;
use crate::frame::{HEADER_BYTES, Header, SEGMENT_BYTES};
use crate::segment::NO_BUFFER;
use crate::store::UndoStore;
use base::UndoPtr;
use sync::atomic::Ordering;

/// Bytes of a window for who reads transactions one after the other: some dozens of them.
const WINDOW_BYTES: usize = 64 * 1024;

/// A copy of a part of a spilled segment.
#[derive(Default, Debug)]
pub struct Near {
    /// The segment's number; 0 at first.
    number: u64,
    /// Where in the segment the copy begins.
    start: usize,
    image: Vec<u8>,
}

impl Near {
    /// Gives the memory back.
    pub fn clear(&mut self) {
        *self = Near::default();
    }

    fn covers(&self, ptr: UndoPtr, window: usize) -> bool {
        self.number == ptr.segment() && self.start == window_start(ptr, window)
    }

    fn record(&self, ptr: UndoPtr) -> Option<&[u8]> {
        let offset = (ptr.offset() as usize).checked_sub(self.start)?;
        let header = Header::from_word(u64::from_le_bytes(*self.image.get(offset..)?.first_chunk()?));
        if header.is_gap() || header.chain || !offset.is_multiple_of(8) || !header.fits(offset, self.image.len()) {
            return None;
        }
        let start = offset + HEADER_BYTES;
        let record = &self.image[start..start + header.bytes];
        (header.matches(record, ptr) && !header.is_doubtful(record)).then_some(record)
    }
}

fn window_start(ptr: UndoPtr, window: usize) -> usize {
    ptr.offset() as usize / window * window
}

/// Reads the records of long chains, in any order: what was spilled is read a segment at a time.
pub struct ChainReader<'s> {
    store: &'s UndoStore,
    near: Near,
}

impl UndoStore {
    /// [`Self::read`] of a record that is not released yet, for who reads others that lie near it through the same copy.
    pub fn read_near<R>(&self, near: &mut Near, ptr: UndoPtr, f: impl FnOnce(&[u8]) -> R) -> Result<R, UndoError> {
        self.read_in_window(near, WINDOW_BYTES, ptr, f)
    }

    /// A reader for long chains.
    pub fn chain_reader(&self) -> ChainReader<'_> {
        ChainReader { store: self, near: Near::default() }
    }

    fn read_in_window<R>(&self, near: &mut Near, window: usize, ptr: UndoPtr, f: impl FnOnce(&[u8]) -> R) -> Result<R, UndoError> {
        if !near.covers(ptr, window) {
            self.load_window(near, window, ptr)?;
        }
        match near.record(ptr).filter(|_| !self.is_forgotten(ptr)) {
            Some(record) => Ok(f(record)),
            // In memory, a chain, over the window's end, or something to complain of or to read once more.
            None => self.read(ptr, f),
        }
    }

    fn load_window(&self, near: &mut Near, window: usize, ptr: UndoPtr) -> Result<(), UndoError> {
        // Of what is in memory nothing is kept: it may be spilled by the next look.
        near.number = 0;
        near.image.clear();
        let Some(slot) = self.segments.find(ptr.segment()) else { return Ok(()) };
        if slot.buffer.load(Ordering::Acquire) != NO_BUFFER {
            return Ok(());
        }
        let Some(place) = slot.place.load(Ordering::Acquire).checked_sub(1) else { return Ok(()) };
        (near.number, near.start) = (ptr.segment(), window_start(ptr, window));
        let end = (near.start + window).min(slot.tail.load(Ordering::Acquire) as usize);
        near.image.resize(end.saturating_sub(near.start), 0);
        let read = self.file.read_at(&mut near.image, u64::from(place) * SEGMENT_BYTES as u64 + near.start as u64);
        if read.is_err() || self.segments.find(ptr.segment()).is_none() {
            near.number = 0;
            near.image.clear();
        }
        self.file_reads.fetch_add(1, Ordering::Relaxed);
        read.map_err(UndoError::from)
    }
}

impl ChainReader<'_> {
    /// [`UndoStore::read`], with one read of the file for all records of a spilled segment in a row.
    pub fn read<R>(&mut self, ptr: UndoPtr, f: impl FnOnce(&[u8]) -> R) -> Result<R, UndoError> {
        self.store.read_in_window(&mut self.near, SEGMENT_BYTES, ptr, f)
    }
}

impl std::fmt::Debug for ChainReader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ChainReader(segment {})", self.near.number)
    }
}
