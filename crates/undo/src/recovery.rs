//! Rebuilding undo after a crash: records that the log holds are put back at their addresses.

use crate::error::UndoError;
use crate::frame::{
    HEADER_BYTES, Header, INLINE_BYTES_MAX, RECORD_BYTES_MAX, SEGMENT_BYTES, chain_head_bytes, chunk_lengths, decode_chain_head,
    encode_chain_head, frame_bytes,
};
use crate::segment::{NO_BUFFER, generation_of};
use crate::store::UndoStore;
use base::UndoPtr;
use sync::atomic::Ordering;

impl UndoStore {
    /// Puts a record back at the address it had, when it is not there already. Before any append; in the order of the log.
    pub fn restore(&self, ptr: UndoPtr, record: &[u8]) -> Result<(), UndoError> {
        let _maintenance = self.maintenance.lock();
        if record.len() <= INLINE_BYTES_MAX {
            return self.restore_frame(ptr, record, false);
        }
        if record.len() > RECORD_BYTES_MAX {
            return Err(UndoError::Full);
        }
        if self.chain_is_there(ptr, record) {
            return Ok(());
        }
        // The log has the whole record but not the addresses its chunks had; they get new ones, in slots kept for that.
        let mut chunks = Vec::new();
        for chunk in record.chunks(INLINE_BYTES_MAX) {
            let ptr = UndoPtr::new(self.segments.open_for_recovery()?, 0);
            self.restore_frame(ptr, chunk, false)?;
            chunks.push(ptr);
        }
        self.restore_frame(ptr, &encode_chain_head(record.len(), &chunks), true)
    }

    /// Says that the log names this address, restored or not: it is not given out again.
    pub fn note_address(&self, ptr: UndoPtr) {
        self.segments.raise_generation(generation_of(ptr.segment()));
    }

    /// Notes that a record of this length that recovery has found is still needed. Once for each such record, those included that were released since
    /// the store serves: nothing that recovery has found is recycled before [`UndoStore::accounted`], so other threads may use the store meanwhile.
    pub fn account(&self, ptr: UndoPtr, bytes: usize) -> Result<(), UndoError> {
        let count = |ptr: UndoPtr, bytes: usize| match self.segments.account(ptr.segment(), frame_bytes(bytes) as u64) {
            true => Ok(()),
            false => Err(UndoError::Released),
        };
        if bytes <= INLINE_BYTES_MAX {
            return count(ptr, bytes);
        }
        let mut head = Vec::new();
        self.read_frame(ptr, &mut head)?;
        let (total, chunks) = decode_chain_head(&head)?;
        chunks.iter().zip(chunk_lengths(total)).try_for_each(|(chunk, bytes)| count(*chunk, bytes))?;
        count(ptr, chain_head_bytes(bytes))
    }

    /// Every record that is still needed was counted by [`UndoStore::account`]; all others that recovery has found count as released.
    pub fn accounted(&self) {
        self.segments.accounted();
    }

    fn chain_is_there(&self, ptr: UndoPtr, record: &[u8]) -> bool {
        let mut head = Vec::new();
        let is_chain = self.read_frame(ptr, &mut head).is_ok_and(|header| header.chain && header.matches(&head, ptr));
        is_chain && self.read(ptr, |there| there == record).unwrap_or(false)
    }

    fn restore_frame(&self, ptr: UndoPtr, record: &[u8], chain: bool) -> Result<(), UndoError> {
        let (number, offset) = (ptr.segment(), ptr.offset() as usize);
        let end = offset + frame_bytes(record.len());
        if generation_of(number) == 0 || !offset.is_multiple_of(8) || end > SEGMENT_BYTES {
            return Err(UndoError::Corrupt { what: "address of a record in the log" });
        }
        self.segments.raise_generation(generation_of(number));
        if !self.make_resident(number)? {
            return Ok(());
        }
        let slot = self.segments.find(number).expect("made resident");
        let buffer = self.segments.buffers.at(slot.buffer.load(Ordering::Relaxed) as usize);
        let header = Header::of(record, ptr, chain);
        if buffer.header(offset) == header {
            return Ok(());
        }
        buffer.write_frame(offset, header, record);
        let tail = slot.tail.load(Ordering::Relaxed) as usize;
        if offset < slot.written.load(Ordering::Relaxed) as usize {
            // The file has other bytes there: let the next checkpoint write the segment again.
            self.segments.set_written(number, 0);
        }
        slot.tail.store(tail.max(end) as u32, Ordering::Release);
        Ok(())
    }

    /// Gets a segment into memory; `false` when a later one has its slot, so that it was released before the log ends.
    fn make_resident(&self, number: u64) -> Result<bool, UndoError> {
        let slot = self.segments.slots.at(crate::segment::slot_of(number) as usize);
        let present = slot.number.load(Ordering::Acquire);
        if present > number {
            return Ok(false);
        }
        if present != number {
            if present != 0 {
                self.segments.recycle(present);
            }
            self.segments.open_numbered(number);
        } else if slot.buffer.load(Ordering::Acquire) == NO_BUFFER {
            let place = slot.place.load(Ordering::Relaxed).checked_sub(1);
            let place = place.ok_or(UndoError::Corrupt { what: "segment without a place" })?;
            let mut bytes = vec![0; slot.tail.load(Ordering::Relaxed) as usize];
            let mut read =
                || self.file.read_at(&mut bytes, u64::from(place) * SEGMENT_BYTES as u64).map(|()| spoil_misfits(&mut bytes, number));
            // A bit that was wrong in one read only must not stay: records in memory are not checked again.
            if read()? > 0 {
                read()?;
            }
            self.segments.give_back_buffer(number, &bytes);
        }
        Ok(true)
    }
}

/// Makes whatever is no record and no gap in a segment's bytes what no header can be, so that who needs it is told. Returns how many places there were that another read might show otherwise.
fn spoil_misfits(bytes: &mut [u8], number: u64) -> usize {
    let (mut at, mut misfits) = (0, 0);
    while at + HEADER_BYTES <= bytes.len() {
        let word = bytes[at..].first_chunk::<HEADER_BYTES>().map_or(0, |word| u64::from_le_bytes(*word));
        let header = Header::from_word(word);
        let start = at + HEADER_BYTES;
        if header.is_gap() {
            at += 8;
        } else if header.fits(at, bytes.len()) && header.matches(&bytes[start..start + header.bytes], UndoPtr::new(number, at as u32)) {
            misfits += usize::from(header.is_doubtful(&bytes[start..start + header.bytes]));
            at += frame_bytes(header.bytes);
        } else {
            bytes[at..start].fill(u8::MAX);
            misfits += 1;
            at += 8;
        }
    }
    misfits
}
