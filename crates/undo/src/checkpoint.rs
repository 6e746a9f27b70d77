//! Writing segments out: spill of cold ones when memory is short, and checkpoints of all live ones.
//!
//! The file is an array of places of 1 MiB, each the image of one segment. The directory, which goes into the log's checkpoint:
//!
//! | field | encoding |
//! |---|---|
//! | version | u8, 1 |
//! | highest generation used | varint |
//! | count of segments | varint |
//! | per segment: number, place, bytes filled, live bytes | varint each |

use crate::error::UndoError;
use crate::frame::{HEADER_BYTES, Header, SEGMENT_BYTES, frame_bytes};
use crate::segment::{NO_BUFFER, generation_of};
use crate::store::UndoStore;
use base::{Reader, UndoPtr, put_u8, put_varint};
use sync::atomic::Ordering;

const VERSION: u8 = 1;

/// A segment as the directory lists it.
pub(crate) struct Listed {
    pub(crate) number: u64,
    pub(crate) place: u64,
    /// Bytes filled.
    pub(crate) tail: u64,
}

/// The highest generation, and the segments.
pub(crate) fn read_directory(directory: &[u8]) -> Result<(u64, Vec<Listed>), UndoError> {
    let mut reader = Reader::new(directory);
    if reader.u8()? != VERSION {
        return Err(UndoError::Corrupt { what: "version of the directory" });
    }
    let (mut generation, count) = (reader.varint()?, reader.varint()?);
    let mut listed = Vec::new();
    for _ in 0..count {
        let (number, place) = (reader.varint()?, reader.varint()?);
        let (tail, live) = (reader.varint()?, reader.varint()?);
        let sound = tail <= SEGMENT_BYTES as u64 && (1..=tail).contains(&live) && tail.is_multiple_of(8);
        if !sound || number >= 1 << 44 || generation_of(number) == 0 || place >= 1 << 24 {
            return Err(UndoError::Corrupt { what: "entry of the directory" });
        }
        // Directories of earlier releases state the highest as of their beginning, and may list a segment that was opened after it.
        generation = generation.max(generation_of(number));
        listed.push(Listed { number, place, tail });
    }
    match reader.is_empty() {
        true => Ok((generation, listed)),
        false => Err(UndoError::Corrupt { what: "end of the directory" }),
    }
}

/// The bytes of a directory. `generation` was the highest when it was begun; segments opened since may be listed with higher ones.
fn encode_directory(generation: u64, listed: &[[u64; 4]]) -> Vec<u8> {
    let generation = listed.iter().map(|[number, ..]| generation_of(*number)).fold(generation, u64::max);
    let mut directory = Vec::with_capacity(16 + listed.len() * 12);
    put_u8(&mut directory, VERSION);
    put_varint(&mut directory, generation);
    put_varint(&mut directory, listed.len() as u64);
    listed.iter().flatten().for_each(|number| put_varint(&mut directory, *number));
    directory
}

/// Looks at the frames in an image of a segment, up to where it is filled: each fits its checksum. How many there are.
pub(crate) fn check_frames(number: u64, image: &[u8]) -> Result<u64, UndoError> {
    let (mut offset, mut records) = (0, 0);
    while let Some(word) = image.get(offset..).and_then(|rest| rest.first_chunk()) {
        let header = Header::from_word(u64::from_le_bytes(*word));
        // What a recovery did not restore reads as zeros.
        if header.is_gap() {
            offset += HEADER_BYTES;
            continue;
        }
        let start = offset + HEADER_BYTES;
        if !header.fits(offset, image.len()) || !header.matches(&image[start..start + header.bytes], UndoPtr::new(number, offset as u32)) {
            return Err(UndoError::Corrupt { what: "a record does not fit its checksum" });
        }
        offset += frame_bytes(header.bytes);
        records += 1;
    }
    Ok(records)
}

impl UndoStore {
    /// Whether segments take more memory than they should: a background thread calls [`Self::spill`] then.
    pub fn wants_spill(&self) -> bool {
        self.segments.memory_bytes() > self.config.memory_bytes_max
    }

    /// Whether a sync of the file failed: what it holds is not known any more.
    pub fn has_failed(&self) -> bool {
        self.sync_failed.load(Ordering::Relaxed)
    }

    /// Memory of segments.
    pub fn memory_bytes(&self) -> u64 {
        self.segments.memory_bytes()
    }

    /// Writes cold segments out until memory is within its bound or only segments that take appends are left. Returns the bytes written.
    pub fn spill(&self) -> Result<u64, UndoError> {
        let _maintenance = self.maintenance.lock();
        let mut bytes = 0;
        while self.wants_spill() {
            let Some(number) = self.segments.next_to_spill() else { break };
            match self.write_segment(number) {
                Ok(Some(written)) => {
                    bytes += written;
                    self.segments.drop_buffer(number);
                    self.spilled.fetch_add(1, Ordering::Relaxed);
                }
                Ok(None) => {}
                Err(error) => {
                    self.segments.spill_later(number);
                    return Err(error);
                }
            }
        }
        Ok(bytes)
    }

    /// Makes all live records durable and returns the directory that [`Self::load`] takes. Records appended meanwhile may be in it or
    /// not: the caller has chosen the log position from which it restores before it called.
    ///
    /// When the directory itself is durable the caller says so by [`Self::checkpoint_written`]; only then is file space reused.
    /// A failed sync is final: all later checkpoints fail too.
    pub fn checkpoint(&self) -> Result<Vec<u8>, UndoError> {
        let _maintenance = self.maintenance.lock();
        let generation = self.segments.directory_begins();
        let listed = self.write_live()?;
        Ok(encode_directory(generation, &listed))
    }

    /// Writes all live segments and lists them: number, place, bytes filled, live bytes.
    fn write_live(&self) -> Result<Vec<[u64; 4]>, UndoError> {
        let mut listed = Vec::new();
        for (number, slot) in self.segments.in_use() {
            if slot.live_bytes() == 0 {
                continue;
            }
            if self.write_segment(number)?.is_some() {
                let (place, bytes) = (slot.place.load(Ordering::Relaxed), slot.written.load(Ordering::Relaxed));
                // Appends and releases go on: more may be live by now than was written, whose records the log restores, or nothing.
                let live = slot.live_bytes().min(u64::from(bytes));
                // Looked at last: a slot that serves another segment by now has mixed the numbers above.
                if self.segments.find(number).is_some() && place != 0 && live > 0 {
                    listed.push([number, u64::from(place) - 1, u64::from(bytes), live]);
                }
            }
        }
        if !listed.is_empty() {
            self.sync_file()?;
        }
        Ok(listed)
    }

    /// The directory of the last [`Self::checkpoint`] is durable: what it does not list may be overwritten.
    pub fn checkpoint_written(&self) {
        let _maintenance = self.maintenance.lock();
        self.segments.directory_written();
    }

    /// Starts from a directory. To be called on a new store, before anything else.
    pub fn load(&self, directory: &[u8]) -> Result<(), UndoError> {
        let _maintenance = self.maintenance.lock();
        let (generation, listed) = read_directory(directory)?;
        self.segments.raise_generation(generation);
        let file_bytes = self.file.len()?;
        for Listed { number, place, tail } in listed {
            if self.segments.find(number).is_some() {
                return Err(UndoError::Corrupt { what: "entry of the directory" });
            }
            if place * SEGMENT_BYTES as u64 + tail > file_bytes {
                return Err(UndoError::Corrupt { what: "undo file is shorter than its directory says" });
            }
            // How much of it is needed is counted anew: the checkpoint looked while the account changed.
            self.segments.adopt(number, place as u32, tail as u32);
        }
        Ok(())
    }

    /// Gives memory that no segment uses back to the system, but for a little. For whoever comes by now and then.
    pub fn trim(&self) {
        self.segments.trim();
    }

    fn sync_file(&self) -> Result<(), UndoError> {
        if self.sync_failed.load(Ordering::Relaxed) {
            return Err(std::io::Error::other("an earlier sync of the undo file failed").into());
        }
        self.file.sync().inspect_err(|_| self.sync_failed.store(true, Ordering::Relaxed))?;
        Ok(())
    }

    /// Writes what is not in the file yet. Returns the bytes, or `None` when the segment was recycled.
    fn write_segment(&self, number: u64) -> Result<Option<u64>, UndoError> {
        let Some(place) = self.segments.place_of(number) else { return Ok(None) };
        let Some(slot) = self.segments.find(number) else { return Ok(None) };
        let at = slot.buffer.load(Ordering::Acquire);
        // Acquire: pairs with the appender's release, so that all bytes below are there.
        let (written, tail) = (slot.written.load(Ordering::Relaxed), slot.tail.load(Ordering::Acquire));
        if at == NO_BUFFER || written == tail {
            return Ok(self.segments.find(number).map(|_| 0));
        }
        let mut bytes = Vec::new();
        self.segments.buffers.at(at as usize).copy(written as usize..tail as usize, &mut bytes);
        if slot.number.load(Ordering::Relaxed) != number {
            return Ok(None);
        }
        self.file.write_at(&bytes, u64::from(place) * SEGMENT_BYTES as u64 + u64::from(written))?;
        Ok(self.segments.set_written(number, tail).then_some(bytes.len() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::UndoConfig;
    use env::{Disk, SimDisk};
    use std::sync::Arc;

    fn store(disk: &SimDisk) -> UndoStore {
        UndoStore::new(Arc::new(disk.clone()) as Arc<dyn Disk>, UndoConfig { shards: 2, ..UndoConfig::default() }).expect("a new store")
    }

    /// After a restart the first segments have a higher generation than any before. One that is opened while a checkpoint has begun its directory and has
    /// not come to it yet is listed with it.
    #[test]
    fn a_segment_opened_after_the_directory_was_begun_may_be_listed() {
        let disk = SimDisk::new(1);
        let directory = {
            let store = store(&disk);
            store.append(0, b"first life").expect("room");
            store.checkpoint().expect("written")
        };
        let (begun, ptr, live) = {
            let store = store(&disk);
            store.load(&directory).expect("what was written");
            store.accounted();
            let begun = store.segments.directory_begins();
            let ptr = store.append(1, b"second life").expect("room");
            (begun, ptr, store.write_live().expect("written"))
        };
        assert!(generation_of(ptr.segment()) > begun, "the case that this is about");
        // As it is written, and as earlier releases wrote it.
        let mut as_before = vec![VERSION];
        [begun, live.len() as u64].iter().chain(live.iter().flatten()).for_each(|number| put_varint(&mut as_before, *number));
        for directory in [encode_directory(begun, &live), as_before] {
            let store = store(&disk);
            store.load(&directory).expect("a segment of a later generation is sound");
            assert_eq!(store.read(ptr, <[u8]>::to_vec).expect("is there"), b"second life");
            let next = store.append(0, b"third life").expect("room");
            assert!(generation_of(next.segment()) > generation_of(ptr.segment()), "numbers go on behind all that were used");
        }
    }
}
