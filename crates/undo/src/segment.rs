//! Segments: the table of slots, the pool of buffers, and the short state changes between free, open, sealed, spilled.
//!
//! A segment's number is `generation << 16 | slot`, so that an address leads to its slot without a search. A slot is
//! free (`number` 0), or serves the segment of that number. Slots and buffers are never freed, only reused; a reader that
//! loses the race against reuse notices by the number.
//!
//! Bytes are kept as atomic words, so that a late reader racing with a new writer is no undefined behaviour. Writers of a segment put a
//! release fence before their (relaxed) stores, readers an acquire fence after their (relaxed) loads: who reads a word of
//! a later segment then sees that the number has changed.

use crate::chunked::Chunked;
use crate::error::UndoError;
use crate::frame::{HEADER_BYTES, Header, SEGMENT_BYTES, frame_bytes};
use crate::memory::Memory;
use crate::passed::Passed;
use base::UndoPtr;
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, OnceLock};
use sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use sync::{Mutex, Rank};

/// Slots for segments made by appends. The rest is for chunks that recovery makes: their numbers must not meet numbers
/// that the log is still to name.
pub(crate) const APPEND_SLOTS: u32 = 60 * 1024;
pub(crate) const ALL_SLOTS: u32 = 64 * 1024;
/// Slots used in turn before one is used again, so that 28 bits of generation last.
const SLOTS_IN_TURN_MIN: u32 = 4096;
const GENERATION_MAX: u64 = (1 << 28) - 1;
pub(crate) const NO_BUFFER: u32 = u32::MAX;
/// Added to the live bytes of a segment that takes appends, so that it is not recycled.
pub(crate) const OPEN_TOKEN: u64 = 1 << 40;

/// Added to the live bytes of a segment that recovery has found, until it is known which of its records are needed ([`Segments::account`]).
pub(crate) const RECOVERED_TOKEN: u64 = 1 << 41;
/// Free buffers that keep their memory.
const BUFFERS_FREE_KEPT: usize = 16;

/// A segment's memory.
#[derive(Default)]
pub(crate) struct Buffer {
    words: OnceLock<Memory>,
}

impl Buffer {
    #[inline]
    pub(crate) fn words(&self) -> &[AtomicU64] {
        self.words.get_or_init(Memory::new).words()
    }

    /// Writes a frame. The caller owns this part of the segment.
    pub(crate) fn write_frame(&self, offset: usize, header: Header, record: &[u8]) {
        let words = &self.words()[offset / 8..(offset + frame_bytes(record.len())) / 8];
        // Release: see the module's documentation.
        fence(Ordering::Release);
        words[0].store(header.to_word(), Ordering::Relaxed);
        let (full, rest) = record.as_chunks::<8>();
        for (word, bytes) in words[1..].iter().zip(full) {
            word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
        }
        if !rest.is_empty() {
            let mut last = [0u8; 8];
            last[..rest.len()].copy_from_slice(rest);
            words[1 + full.len()].store(u64::from_le_bytes(last), Ordering::Relaxed);
        }
    }

    pub(crate) fn header(&self, offset: usize) -> Header {
        Header::from_word(self.words()[offset / 8].load(Ordering::Relaxed))
    }

    /// Appends the bytes of a range that starts and ends at a multiple of 8.
    pub(crate) fn copy(&self, range: std::ops::Range<usize>, out: &mut Vec<u8>) {
        let from = out.len();
        out.resize(from + range.len(), 0);
        let words = &self.words()[range.start / 8..range.end / 8];
        for (bytes, word) in out[from..].as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *bytes = word.load(Ordering::Relaxed).to_le_bytes();
        }
        // Acquire: the caller now looks whether the buffer still is the segment's.
        fence(Ordering::Acquire);
    }

    /// For records that recovery puts back: what it does not reads as zeros, not as another segment's records. The caller owns the segment.
    fn empty(&self) {
        match self.words.get() {
            Some(_) => self.fill(&[]),
            // New memory is zero.
            None => self.words.get_or_init(Memory::new).populate(),
        }
    }

    /// Fills from the start with bytes of the file. The caller owns the segment.
    pub(crate) fn fill(&self, bytes: &[u8]) {
        fence(Ordering::Release);
        let mut words = self.words().iter();
        for (bytes, word) in bytes.chunks(8).zip(&mut words) {
            let mut last = [0u8; 8];
            last[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_le_bytes(last), Ordering::Relaxed);
        }
        words.for_each(|word| word.store(0, Ordering::Relaxed));
    }
}

/// One slot of the segment table.
pub(crate) struct Slot {
    /// The segment served; 0 when free. Written under the list's latch; readers load it before and after.
    pub(crate) number: AtomicU64,
    /// Its buffer, or `NO_BUFFER` when spilled. Written under the list's latch.
    pub(crate) buffer: AtomicU32,
    /// Its place in the file plus one; 0 when it has none. Written under the list's latch.
    pub(crate) place: AtomicU32,
    /// Bytes filled. Stored with release after the bytes, so that a checkpoint that loads it copies whole records.
    pub(crate) tail: AtomicU32,
    /// Bytes that are in the file. Written under the list's latch, by maintenance.
    pub(crate) written: AtomicU32,
    /// Bytes of frames not released, plus `OPEN_TOKEN`. Who brings it to zero recycles.
    pub(crate) live: AtomicU64,
    /// The last generation used. Written under the list's latch.
    generation: AtomicU64,
}

impl Slot {
    /// Bytes of records that somebody may still need: those not released, or all as long as recovery does not know.
    pub(crate) fn live_bytes(&self) -> u64 {
        let live = self.live.load(Ordering::Acquire);
        if is_recovered(live) { u64::from(self.tail.load(Ordering::Acquire)) } else { live % OPEN_TOKEN }
    }
}

/// Whether an account is one that recovery has not closed. What is released before it is counted takes away from the token, at most a segment.
fn is_recovered(live: u64) -> bool {
    live >= RECOVERED_TOKEN - SEGMENT_BYTES as u64
}

impl Default for Slot {
    fn default() -> Self {
        Slot {
            number: AtomicU64::new(0),
            buffer: AtomicU32::new(NO_BUFFER),
            place: AtomicU32::new(0),
            tail: AtomicU32::new(0),
            written: AtomicU32::new(0),
            live: AtomicU64::new(0),
            generation: AtomicU64::new(0),
        }
    }
}

pub(crate) fn slot_of(number: u64) -> u32 {
    number as u32 & (ALL_SLOTS - 1)
}

pub(crate) fn generation_of(number: u64) -> u64 {
    number / u64::from(ALL_SLOTS)
}

/// All segments.
pub(crate) struct Segments {
    pub(crate) slots: Chunked<Slot>,
    pub(crate) buffers: Chunked<Buffer>,
    pub(crate) passed: Passed,
    list: Mutex<List>,
    /// Buffers in use; relaxed, for status and the spill limit.
    buffers_used: AtomicU32,
    /// New numbers have higher generations. Relaxed: recovery raises it, before anything is appended.
    generation_floor: AtomicU64,
    /// How many hold all places; looked at under the list's latch.
    pub(crate) holds: Arc<AtomicU32>,
}

/// What is free and what can be spilled.
struct List {
    /// Memory of all buffers but the cold ones: the server's limit counts it.
    booked: memory::Use,
    slots_free: VecDeque<u32>,
    slots_made: u32,
    recovery_slots_free: Vec<u32>,
    recovery_slots_made: u32,
    buffers_free: Vec<u32>,
    /// Free, and their memory is the system's again.
    buffers_cold: Vec<u32>,
    buffers_made: u32,
    places_free: BTreeSet<u32>,
    places_made: u32,
    /// Freed since the last directory was begun: it may list them.
    places_freed: Vec<u32>,
    /// Freed before: free once that directory is durable.
    places_unlisted: Vec<u32>,
    /// Segments that take no more records, in memory, oldest first; some may be recycled or spilled meanwhile.
    sealed: VecDeque<u64>,
}

impl List {
    fn new() -> List {
        List {
            booked: memory::Use::new(memory::Kind::Undo, 0),
            slots_free: VecDeque::new(),
            slots_made: 0,
            recovery_slots_free: Vec::new(),
            recovery_slots_made: 0,
            buffers_free: Vec::new(),
            buffers_cold: Vec::new(),
            buffers_made: 0,
            places_free: BTreeSet::new(),
            places_made: 0,
            places_freed: Vec::new(),
            places_unlisted: Vec::new(),
            sealed: VecDeque::new(),
        }
    }
}

impl Segments {
    pub(crate) fn new() -> Segments {
        Segments {
            slots: Chunked::new(ALL_SLOTS as usize),
            buffers: Chunked::new(ALL_SLOTS as usize),
            passed: Passed::new(),
            // Above the shards, which are of the same rank.
            list: Mutex::with_order(Rank::UndoSegments, u32::MAX, List::new()),
            buffers_used: AtomicU32::new(0),
            generation_floor: AtomicU64::new(0),
            holds: Arc::default(),
        }
    }

    /// The slot that serves this segment.
    #[inline]
    pub(crate) fn find(&self, number: u64) -> Option<&Slot> {
        let slot = self.slots.get(slot_of(number) as usize)?;
        (number != 0 && slot.number.load(Ordering::Acquire) == number).then_some(slot)
    }

    /// Segments in use, with their slots.
    pub(crate) fn in_use(&self) -> impl Iterator<Item = (u64, &Slot)> {
        self.slots.iter().filter_map(|(_, slot)| match slot.number.load(Ordering::Acquire) {
            0 => None,
            number => Some((number, slot)),
        })
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        u64::from(self.buffers_used.load(Ordering::Relaxed)) * SEGMENT_BYTES as u64
    }

    /// A new segment that takes appends.
    pub(crate) fn open(&self) -> Result<u64, UndoError> {
        let mut list = self.list.lock();
        let fresh = list.slots_made < APPEND_SLOTS && (list.slots_made < SLOTS_IN_TURN_MIN || list.slots_free.is_empty());
        let at = if fresh {
            list.slots_made += 1;
            list.slots_made - 1
        } else {
            list.slots_free.pop_front().ok_or(UndoError::Full)?
        };
        Ok(self.open_slot(&mut list, at, None, OPEN_TOKEN))
    }

    /// A new segment for chunks that recovery makes; sealed.
    pub(crate) fn open_for_recovery(&self) -> Result<u64, UndoError> {
        let mut list = self.list.lock();
        let at = match list.recovery_slots_free.pop() {
            Some(at) => at,
            None if APPEND_SLOTS + list.recovery_slots_made < ALL_SLOTS => {
                list.recovery_slots_made += 1;
                APPEND_SLOTS + list.recovery_slots_made - 1
            }
            None => return Err(UndoError::Full),
        };
        let number = self.open_slot(&mut list, at, None, RECOVERED_TOKEN);
        list.sealed.push_back(number);
        Ok(number)
    }

    /// Puts a slot to use, with the next generation or with a given number.
    fn open_slot(&self, list: &mut List, at: u32, number: Option<u64>, live: u64) -> u64 {
        let slot = self.slots.at(at as usize);
        let next = slot.generation.load(Ordering::Relaxed).max(self.generation_floor.load(Ordering::Relaxed)) + 1;
        let number = number.unwrap_or(next * u64::from(ALL_SLOTS) + u64::from(at));
        slot.generation.store(generation_of(number), Ordering::Relaxed);
        slot.buffer.store(self.take_buffer(list), Ordering::Release);
        slot.place.store(0, Ordering::Relaxed);
        slot.tail.store(0, Ordering::Relaxed);
        slot.written.store(0, Ordering::Relaxed);
        slot.live.store(live, Ordering::Relaxed);
        // Release: who finds the number finds the rest.
        slot.number.store(number, Ordering::Release);
        number
    }

    fn take_buffer(&self, list: &mut List) -> u32 {
        self.buffers_used.fetch_add(1, Ordering::Relaxed);
        if let Some(warm) = list.buffers_free.pop() {
            return warm;
        }
        // It gets memory with its first record.
        list.booked.resize(list.booked.bytes() + SEGMENT_BYTES as u64);
        list.buffers_cold.pop().unwrap_or_else(|| {
            list.buffers_made += 1;
            list.buffers_made - 1
        })
    }

    fn give_buffer(&self, list: &mut List, slot: &Slot) {
        let buffer = slot.buffer.swap(NO_BUFFER, Ordering::AcqRel);
        if buffer != NO_BUFFER {
            list.buffers_free.push(buffer);
            self.buffers_used.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Gives the memory of free buffers back to the system, but for a few. A late reader of one finds zeros, as it could find another segment's bytes.
    pub(crate) fn trim(&self) {
        let surplus: Vec<u32> = {
            let mut list = self.list.lock();
            // The coldest are the first.
            let count = list.buffers_free.len().saturating_sub(BUFFERS_FREE_KEPT);
            list.buffers_free.drain(..count).collect()
        };
        if surplus.is_empty() {
            return;
        }
        for at in &surplus {
            if let Some(memory) = self.buffers.at(*at as usize).words.get() {
                memory.give_back();
            }
        }
        let mut list = self.list.lock();
        let left = list.booked.bytes() - surplus.len() as u64 * SEGMENT_BYTES as u64;
        list.booked.resize(left);
        list.buffers_cold.extend(surplus);
    }

    /// Notes that a record of a segment that recovery has found is needed; `false` when the segment is gone.
    pub(crate) fn account(&self, number: u64, bytes: u64) -> bool {
        self.find(number).map(|slot| slot.live.fetch_add(bytes, Ordering::Relaxed)).is_some()
    }

    /// All records that are needed are counted: what nobody needs is recycled now, the rest when it is released.
    pub(crate) fn accounted(&self) {
        let recovered = self.in_use().filter(|(_, slot)| is_recovered(slot.live.load(Ordering::Relaxed)));
        recovered.for_each(|(number, slot)| self.release_bytes(number, slot, RECOVERED_TOKEN));
    }

    /// Says that a segment takes no more appends.
    pub(crate) fn seal(&self, number: u64) {
        let slot = self.find(number).expect("an open segment is in use");
        {
            let mut list = self.list.lock();
            list.sealed.push_back(number);
            // Recycled ones stay in the queue until it is looked at; without a need to spill, that is here.
            if list.sealed.len() > 2 * list.buffers_made as usize + 64 {
                list.sealed.retain(|number| self.find(*number).is_some());
            }
        }
        self.release_bytes(number, slot, OPEN_TOKEN);
    }

    /// Takes bytes off a segment's account and recycles it when they were the last.
    pub(crate) fn release_bytes(&self, number: u64, slot: &Slot, bytes: u64) {
        // AcqRel: the recycler comes after all that others did with the segment.
        let before = slot.live.fetch_sub(bytes, Ordering::AcqRel);
        assert!(before >= bytes, "segment {number}: {bytes} bytes released of {before} live ones");
        if before == bytes {
            self.recycle(number);
        }
    }

    /// Frees the slot, the buffer and the place of a segment.
    pub(crate) fn recycle(&self, number: u64) {
        let mut list = self.list.lock();
        let Some(slot) = self.find(number) else { return };
        slot.number.store(0, Ordering::Release);
        self.passed.forget(number);
        self.give_buffer(&mut list, slot);
        if let Some(place) = slot.place.swap(0, Ordering::Relaxed).checked_sub(1) {
            list.places_freed.push(place);
        }
        let at = slot_of(number);
        if generation_of(number) >= GENERATION_MAX {
            // The slot is used up. In centuries.
        } else if at >= APPEND_SLOTS {
            list.recovery_slots_free.push(at);
        } else {
            list.slots_free.push_back(at);
        }
    }

    /// The place of a segment in the file, given now if it has none; `None` when it was recycled.
    pub(crate) fn place_of(&self, number: u64) -> Option<u32> {
        let mut list = self.list.lock();
        let slot = self.find(number)?;
        match slot.place.load(Ordering::Relaxed) {
            0 => {
                let place = list.places_free.pop_first().unwrap_or_else(|| {
                    list.places_made += 1;
                    list.places_made - 1
                });
                slot.place.store(place + 1, Ordering::Release);
                Some(place)
            }
            place => Some(place - 1),
        }
    }

    /// Notes how much of a segment is in the file; `false` when it was recycled.
    pub(crate) fn set_written(&self, number: u64, bytes: u32) -> bool {
        let _list = self.list.lock();
        let slot = self.find(number);
        slot.inspect(|slot| slot.written.store(bytes, Ordering::Release)).is_some()
    }

    /// The oldest sealed segment in memory.
    pub(crate) fn next_to_spill(&self) -> Option<u64> {
        let mut list = self.list.lock();
        loop {
            let number = list.sealed.pop_front()?;
            if self.find(number).is_some_and(|slot| slot.buffer.load(Ordering::Relaxed) != NO_BUFFER) {
                return Some(number);
            }
        }
    }

    /// Says that a segment could not be spilled now.
    pub(crate) fn spill_later(&self, number: u64) {
        self.list.lock().sealed.push_front(number);
    }

    /// Drops the buffer of a segment that is wholly in the file.
    pub(crate) fn drop_buffer(&self, number: u64) {
        let mut list = self.list.lock();
        if let Some(slot) = self.find(number) {
            let (written, tail) = (slot.written.load(Ordering::Relaxed), slot.tail.load(Ordering::Relaxed));
            assert!(written == tail, "segment {number}: {written} of {tail} bytes written");
            self.give_buffer(&mut list, slot);
        }
    }

    /// A directory is begun: it lists none of the places freed so far.
    pub(crate) fn directory_begins(&self) -> u64 {
        let mut list = self.list.lock();
        let freed = std::mem::take(&mut list.places_freed);
        list.places_unlisted.extend(freed);
        let used = self.slots.iter().map(|(_, slot)| slot.generation.load(Ordering::Relaxed)).max().unwrap_or(0);
        used.max(self.generation_floor.load(Ordering::Relaxed))
    }

    /// The last directory is durable: places that it does not list are free.
    pub(crate) fn directory_written(&self) {
        let mut list = self.list.lock();
        if self.holds.load(Ordering::Acquire) > 0 {
            // A backup still reads what an earlier directory lists; the next checkpoint frees it.
            return;
        }
        let unlisted = std::mem::take(&mut list.places_unlisted);
        list.places_free.extend(unlisted);
    }

    /// New numbers shall have higher generations than this.
    pub(crate) fn raise_generation(&self, generation: u64) {
        // Said for each record of the log, and mostly nothing new.
        if self.generation_floor.load(Ordering::Relaxed) < generation {
            self.generation_floor.fetch_max(generation, Ordering::Relaxed);
        }
    }

    /// A segment that a directory lists: on disk only.
    pub(crate) fn adopt(&self, number: u64, place: u32, tail: u32) {
        let mut list = self.list.lock();
        self.reserve_slot(&mut list, slot_of(number));
        let slot = self.slots.at(slot_of(number) as usize);
        slot.generation.store(generation_of(number), Ordering::Relaxed);
        slot.place.store(place + 1, Ordering::Relaxed);
        slot.tail.store(tail, Ordering::Relaxed);
        slot.written.store(tail, Ordering::Relaxed);
        slot.live.store(RECOVERED_TOKEN, Ordering::Relaxed);
        slot.number.store(number, Ordering::Release);
        let free = list.places_made..place;
        list.places_free.extend(free);
        list.places_free.remove(&place);
        list.places_made = list.places_made.max(place + 1);
    }

    /// A segment that the log names and no directory lists: empty, in memory, sealed.
    pub(crate) fn open_numbered(&self, number: u64) {
        let mut list = self.list.lock();
        self.reserve_slot(&mut list, slot_of(number));
        self.open_slot(&mut list, slot_of(number), Some(number), RECOVERED_TOKEN);
        list.sealed.push_back(number);
        let buffer = self.slots.at(slot_of(number) as usize).buffer.load(Ordering::Relaxed);
        self.buffers.at(buffer as usize).empty();
    }

    /// Gives a spilled segment a buffer to be filled; sealed.
    pub(crate) fn give_back_buffer(&self, number: u64, bytes: &[u8]) {
        let mut list = self.list.lock();
        let slot = self.find(number).expect("recovery has the store for itself");
        let buffer = self.take_buffer(&mut list);
        self.buffers.at(buffer as usize).fill(bytes);
        slot.buffer.store(buffer, Ordering::Release);
        list.sealed.push_back(number);
    }

    /// Takes a slot out of the free ones.
    fn reserve_slot(&self, list: &mut List, at: u32) {
        if at < APPEND_SLOTS {
            let skipped = list.slots_made..at;
            list.slots_free.extend(skipped);
            list.slots_made = list.slots_made.max(at + 1);
            list.slots_free.retain(|free| *free != at);
        } else {
            let skipped = APPEND_SLOTS + list.recovery_slots_made..at;
            list.recovery_slots_free.extend(skipped);
            list.recovery_slots_made = list.recovery_slots_made.max(at + 1 - APPEND_SLOTS);
            list.recovery_slots_free.retain(|free| *free != at);
        }
    }

    /// Copies a record out of memory. `None`: not there (spilled meanwhile, or released), look again.
    pub(crate) fn copy_record(&self, slot: &Slot, ptr: UndoPtr, out: &mut Vec<u8>) -> Option<Header> {
        let at = slot.buffer.load(Ordering::Acquire);
        let tail = slot.tail.load(Ordering::Acquire) as usize;
        let offset = ptr.offset() as usize;
        if at == NO_BUFFER || !offset.is_multiple_of(8) || offset + HEADER_BYTES > tail {
            return None;
        }
        let buffer = self.buffers.get(at as usize)?;
        let header = buffer.header(offset);
        if !header.fits(offset, tail) {
            return None;
        }
        let start = offset + HEADER_BYTES;
        buffer.copy(start..start + header.bytes.next_multiple_of(8), out);
        let same = slot.number.load(Ordering::Relaxed) == ptr.segment() && slot.buffer.load(Ordering::Relaxed) == at;
        same.then_some(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_buffers_have_is_booked_and_what_the_system_has_again_is_not() {
        let segments = Segments::new();
        let booked = || segments.list.lock().booked.bytes() / SEGMENT_BYTES as u64;
        let before = memory::mapped();
        for _ in 0..2 {
            let numbers: Vec<u64> = (0..20).map(|_| segments.open().expect("a slot")).collect();
            assert_eq!(booked(), 20);
            assert!(memory::mapped() >= before + 20 * SEGMENT_BYTES as u64);
            numbers.into_iter().for_each(|number| segments.recycle(number));
            assert_eq!(booked(), 20, "free buffers keep their memory");
            segments.trim();
            assert_eq!(booked(), BUFFERS_FREE_KEPT as u64);
        }
    }
}
