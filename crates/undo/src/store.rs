//! Appending, reading and releasing records.

use crate::error::UndoError;
use crate::frame::{
    HEADER_BYTES, Header, INLINE_BYTES_MAX, RECORD_BYTES_MAX, SEGMENT_BYTES, chain_head_bytes, chunk_lengths, decode_chain_head,
    encode_chain_head, frame_bytes,
};
use crate::segment::{NO_BUFFER, Segments, Slot};
use base::UndoPtr;
use env::{Disk, File, FileKind, OpenMode};
use std::cell::Cell;
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};
use sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::{CachePadded, Mutex, Rank};

/// The file that spilled and checkpointed segments lie in.
pub const FILE: &str = "undo/segments";
/// Its directory.
pub const DIR: &str = "undo";
/// Bytes read at once when a record of unknown length is read from the file.
const READ_AHEAD_BYTES: usize = 1024;

/// Sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UndoConfig {
    /// Places to append at. A session appends at one of them, so few share a latch.
    pub shards: usize,
    /// Memory for segments past which [`UndoStore::spill`] writes cold ones out.
    pub memory_bytes_max: u64,
}

impl Default for UndoConfig {
    fn default() -> Self {
        UndoConfig { shards: 64, memory_bytes_max: 256 << 20 }
    }
}

/// Sizes and counts for status.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct UndoStats {
    /// Segments in use.
    pub segments: u64,
    /// Memory of segments.
    pub memory_bytes: u64,
    /// Records not released, with their frames.
    pub live_bytes: u64,
    /// Segments spilled since the start.
    pub spilled: u64,
    /// Records read from the file since the start.
    pub file_reads: u64,
}

/// The undo records of the whole server.
pub struct UndoStore {
    pub(crate) segments: Segments,
    shards: Box<[CachePadded<Mutex<Shard>>]>,
    pub(crate) file: Arc<dyn File>,
    pub(crate) config: UndoConfig,
    /// Serialises spill, checkpoint and recovery; held over their I/O.
    pub(crate) maintenance: Mutex<()>,
    /// A sync failed: the kernel may have dropped what was written, so no later sync proves anything.
    pub(crate) sync_failed: AtomicBool,
    /// Addresses that were released since [`UndoStore::forget_released_at_once`].
    forgotten: OnceLock<Mutex<HashSet<u64>>>,
    pub(crate) spilled: AtomicU64,
    pub(crate) file_reads: AtomicU64,
}

/// Where the next record of a shard goes.
struct Shard {
    /// 0 before the first record.
    number: u64,
    tail: usize,
}

thread_local! {
    /// Where a reader's copy of a record lies; taken out while in use, so that reads may nest.
    static COPY: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A copy larger than this is not kept for the next read.
const COPY_BYTES_KEPT_MAX: usize = 64 * 1024;

impl UndoStore {
    /// An empty store. Makes the undo file when absent; what is in it counts only after [`Self::load`].
    pub fn new(disk: Arc<dyn Disk>, config: UndoConfig) -> Result<UndoStore, UndoError> {
        disk.create_dir_all(DIR)?;
        let file = disk.open(FILE, OpenMode::Create, FileKind::Buffered)?;
        disk.sync_dir(DIR)?;
        let shard = |at| CachePadded::new(Mutex::with_order(Rank::UndoSegments, at as u32, Shard { number: 0, tail: 0 }));
        Ok(UndoStore {
            segments: Segments::new(),
            shards: (0..config.shards.clamp(1, 4096)).map(shard).collect(),
            file,
            config,
            maintenance: Mutex::new(Rank::UndoMaintenance, ()),
            sync_failed: AtomicBool::new(false),
            forgotten: OnceLock::new(),
            spilled: AtomicU64::new(0),
            file_reads: AtomicU64::new(0),
        })
    }

    /// Keeps a record and returns its address. No I/O, so it may be called with a page latched. `shard` is any number; sessions
    /// with different ones do not meet.
    pub fn append(&self, shard: usize, record: &[u8]) -> Result<UndoPtr, UndoError> {
        if record.len() <= INLINE_BYTES_MAX {
            return self.append_frame(shard, record, false);
        }
        if record.len() > RECORD_BYTES_MAX {
            return Err(UndoError::Full);
        }
        let mut chunks = Vec::new();
        let appended = record.chunks(INLINE_BYTES_MAX).try_for_each(|chunk| {
            chunks.push(self.append_frame(shard, chunk, false)?);
            Ok(())
        });
        let head = encode_chain_head(record.len(), &chunks);
        let ptr = appended.and_then(|()| self.append_frame(shard, &head, true));
        if ptr.is_err() {
            chunks.iter().zip(chunk_lengths(record.len())).for_each(|(chunk, bytes)| self.release_frame(*chunk, bytes));
        }
        ptr
    }

    fn append_frame(&self, shard: usize, record: &[u8], chain: bool) -> Result<UndoPtr, UndoError> {
        let bytes = frame_bytes(record.len());
        let mut shard = self.shards[shard % self.shards.len()].lock();
        if shard.number == 0 || shard.tail + bytes > SEGMENT_BYTES {
            // Opened first: when that fails the shard stays as it is.
            let number = self.segments.open()?;
            let full = std::mem::replace(&mut shard.number, number);
            shard.tail = 0;
            if full != 0 {
                self.segments.seal(full);
            }
        }
        let slot = self.segments.find(shard.number).expect("an open segment is in use");
        let ptr = UndoPtr::new(shard.number, shard.tail as u32);
        let buffer = self.segments.buffers.at(slot.buffer.load(Ordering::Relaxed) as usize);
        buffer.write_frame(shard.tail, Header::of(record, ptr, chain), record);
        shard.tail += bytes;
        slot.live.fetch_add(bytes as u64, Ordering::Relaxed);
        // Release: pairs with the checkpoint's load, which copies up to here.
        slot.tail.store(shard.tail as u32, Ordering::Release);
        Ok(ptr)
    }

    /// Shows `f` the record. Takes no latch; reads the file when the segment was spilled.
    ///
    /// [`UndoError::Released`] also for an address in a segment that recovery has rebuilt without this record: it was released before the checkpoint
    /// that recovery started from, and other records of its segment were not.
    pub fn read<R>(&self, ptr: UndoPtr, f: impl FnOnce(&[u8]) -> R) -> Result<R, UndoError> {
        if self.is_forgotten(ptr) {
            return Err(UndoError::Released);
        }
        let mut copy = COPY.take();
        copy.clear();
        let result = self.read_into(ptr, &mut copy).map(|()| f(&copy));
        if copy.capacity() <= COPY_BYTES_KEPT_MAX {
            COPY.set(copy);
        }
        result
    }

    /// Whether the record was released, and who releases forgets at once.
    pub(crate) fn is_forgotten(&self, ptr: UndoPtr) -> bool {
        self.forgotten.get().is_some_and(|forgotten| forgotten.lock().contains(&ptr.0))
    }

    /// [`Self::read`] for those who would rather do without than read the file: `None` when the record is not in memory.
    pub fn read_in_memory<R>(&self, ptr: UndoPtr, f: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, UndoError> {
        let slot = self.segments.find(ptr.segment()).ok_or(UndoError::Released)?;
        // Should it be spilled between this look and the read, the read costs what it costs.
        match slot.buffer.load(Ordering::Acquire) {
            NO_BUFFER => Ok(None),
            _ => self.read(ptr, f).map(Some),
        }
    }

    /// Appends the record's bytes to `out`.
    fn read_into(&self, ptr: UndoPtr, out: &mut Vec<u8>) -> Result<(), UndoError> {
        if !self.read_frame(ptr, out)?.chain {
            return Ok(());
        }
        let (total, chunks) = decode_chain_head(out)?;
        out.clear();
        out.reserve(total);
        let mut chunk_copy = Vec::new();
        for (chunk, bytes) in chunks.into_iter().zip(chunk_lengths(total)) {
            chunk_copy.clear();
            let header = self.read_frame(chunk, &mut chunk_copy)?;
            if header.chain || header.bytes != bytes {
                return Err(UndoError::Corrupt { what: "chunk of a chain" });
            }
            out.extend_from_slice(&chunk_copy);
        }
        Ok(())
    }

    /// Copies one frame's record into `out`, which is empty.
    pub(crate) fn read_frame(&self, ptr: UndoPtr, out: &mut Vec<u8>) -> Result<Header, UndoError> {
        loop {
            let slot = self.segments.find(ptr.segment()).ok_or(UndoError::Released)?;
            out.clear();
            if slot.buffer.load(Ordering::Acquire) == NO_BUFFER {
                let mut header = self.read_frame_from_file(slot, ptr, out);
                let doubtful = match &header {
                    Ok(header) => header.is_doubtful(out),
                    Err(error) => matches!(error, UndoError::Corrupt { .. }),
                };
                if doubtful {
                    // What a read has garbled is there still: it is read once more before it counts, as pages are.
                    out.clear();
                    header = self.read_frame_from_file(slot, ptr, out);
                }
                if self.segments.find(ptr.segment()).is_none() {
                    return Err(UndoError::Released);
                }
                return header;
            }
            if let Some(header) = self.segments.copy_record(slot, ptr, out) {
                if header.is_gap() {
                    return Err(UndoError::Released);
                }
                out.truncate(header.bytes);
                return Ok(header);
            }
            if ptr.offset() as usize >= slot.tail.load(Ordering::Acquire) as usize && self.segments.find(ptr.segment()).is_some() {
                return Err(UndoError::Released);
            }
            let still = self.segments.find(ptr.segment()).is_some() && slot.buffer.load(Ordering::Acquire) != NO_BUFFER;
            if still && !self.could_be_record(slot, ptr) {
                return Err(UndoError::Corrupt { what: "address of a record" });
            }
        }
    }

    /// Whether the address can lead to a record of a segment that is in memory.
    fn could_be_record(&self, slot: &Slot, ptr: UndoPtr) -> bool {
        let tail = slot.tail.load(Ordering::Acquire) as usize;
        let offset = ptr.offset() as usize;
        let at = slot.buffer.load(Ordering::Acquire);
        let Some(buffer) = self.segments.buffers.get(at as usize) else { return true };
        offset.is_multiple_of(8) && offset + HEADER_BYTES <= tail && buffer.header(offset).fits(offset, tail)
    }

    fn read_frame_from_file(&self, slot: &Slot, ptr: UndoPtr, out: &mut Vec<u8>) -> Result<Header, UndoError> {
        let (tail, offset) = (slot.tail.load(Ordering::Acquire) as usize, ptr.offset() as usize);
        let bad = UndoError::Corrupt { what: "address of a record" };
        let Some(place) = slot.place.load(Ordering::Acquire).checked_sub(1) else { return Err(bad) };
        if offset >= tail {
            return Err(UndoError::Released);
        }
        if !offset.is_multiple_of(8) || offset + HEADER_BYTES > tail {
            return Err(bad);
        }
        let at = u64::from(place) * SEGMENT_BYTES as u64 + offset as u64;
        let ahead = READ_AHEAD_BYTES.min(tail - offset);
        out.resize(ahead, 0);
        self.file.read_at(out, at)?;
        let Some(word) = out.first_chunk::<8>() else { return Err(bad) };
        let header = Header::from_word(u64::from_le_bytes(*word));
        if header.is_gap() {
            return Err(UndoError::Released);
        }
        if !header.fits(offset, tail) {
            return Err(UndoError::Corrupt { what: "length of a record" });
        }
        let end = HEADER_BYTES + header.bytes;
        if end > ahead {
            out.resize(end, 0);
            self.file.read_at(&mut out[ahead..], at + ahead as u64)?;
        }
        out.truncate(end);
        out.drain(..HEADER_BYTES);
        if !header.matches(out, ptr) {
            return Err(UndoError::Corrupt { what: "checksum of a record" });
        }
        self.file_reads.fetch_add(1, Ordering::Relaxed);
        Ok(header)
    }

    /// Purge or rollback is done with the record of `bytes` bytes at this address. Once per record. An address whose segment is gone is
    /// left alone: after recovery, purge may repeat what it did.
    pub fn release(&self, ptr: UndoPtr, bytes: usize) {
        if bytes <= INLINE_BYTES_MAX {
            return self.release_frame(ptr, bytes);
        }
        let mut head = Vec::new();
        // A head that cannot be read leaks its chunks until the next start; the disk's failure shows wherever it matters.
        if self.read_frame(ptr, &mut head).is_ok()
            && let Ok((total, chunks)) = decode_chain_head(&head)
        {
            chunks.iter().zip(chunk_lengths(total)).for_each(|(chunk, bytes)| self.release_frame(*chunk, bytes));
        }
        self.release_frame(ptr, chain_head_bytes(bytes));
    }

    /// Releases all records of a [`crate::SegmentShare`] at once; `ptr` is one of them. Not where [`Self::forgets_released`] says so, which must know the address of each.
    pub fn release_share(&self, ptr: UndoPtr, bytes: u32) {
        if let Some(slot) = self.segments.find(ptr.segment()) {
            self.segments.release_bytes(ptr.segment(), slot, u64::from(bytes));
        }
    }

    fn release_frame(&self, ptr: UndoPtr, bytes: usize) {
        if let Some(slot) = self.segments.find(ptr.segment()) {
            if let Some(forgotten) = self.forgotten.get() {
                forgotten.lock().insert(ptr.0);
            }
            self.segments.release_bytes(ptr.segment(), slot, frame_bytes(bytes) as u64);
        }
    }

    /// Notes that readers are led past this record, although it is not released: nobody comes by it any more. Gone with its segment, and after a restart.
    pub fn note_passed(&self, ptr: UndoPtr) {
        self.segments.passed.note(ptr, || self.segments.find(ptr.segment()).is_some());
    }

    /// Whether [`Self::note_passed`] was said of this record; `false` tells nothing.
    pub fn is_passed(&self, ptr: UndoPtr) -> bool {
        self.segments.passed.is_noted(ptr)
    }

    /// From now on a record cannot be read any more once it is released, not only when its segment is used again: for tests that look for readers of what was released.
    pub fn forget_released_at_once(&self) {
        self.forgotten.get_or_init(|| Mutex::new(Rank::Leaf, HashSet::new()));
    }

    /// Whether [`Self::forget_released_at_once`] was said.
    pub fn forgets_released(&self) -> bool {
        self.forgotten.get().is_some()
    }

    /// Bytes of records not released, with their frames; all bytes of segments of which recovery does not know it yet.
    pub fn live_bytes(&self) -> u64 {
        self.segments.in_use().map(|(_, slot)| slot.live_bytes()).sum()
    }

    /// Sizes and counts for status.
    pub fn stats(&self) -> UndoStats {
        UndoStats {
            segments: self.segments.in_use().count() as u64,
            memory_bytes: self.segments.memory_bytes(),
            live_bytes: self.live_bytes(),
            spilled: self.spilled.load(Ordering::Relaxed),
            file_reads: self.file_reads.load(Ordering::Relaxed),
        }
    }
}

impl std::fmt::Debug for UndoStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "UndoStore({:?})", self.stats())
    }
}
