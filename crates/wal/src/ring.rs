//! The ring: memory that many threads fill and one drains, at positions that the protocol keeps apart.

use env::AlignedBuf;

/// Bytes of the stream, at position modulo capacity.
pub(crate) struct Ring {
    memory: *mut u8,
    capacity: usize,
    /// Owns the memory; never touched through this field again.
    _buf: AlignedBuf,
}

// SAFETY: all access is by `copy_in` and `copy_out`, whose contracts exclude concurrent access to the same bytes.
unsafe impl Send for Ring {}
// SAFETY: as above.
unsafe impl Sync for Ring {}

impl Ring {
    /// `capacity` is a power of two.
    pub(crate) fn new(capacity: usize) -> std::io::Result<Self> {
        assert!(capacity.is_power_of_two());
        let mut buf = AlignedBuf::try_new(capacity)?;
        Ok(Ring { memory: buf.as_mut_ptr(), capacity, _buf: buf })
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.capacity as u64
    }

    /// Copies `bytes` to stream position `at`.
    ///
    /// # Safety
    /// The caller owns `[at, at + bytes.len())`: it reserved it, has not marked it complete, and the reserver said that there is room.
    #[inline]
    pub(crate) unsafe fn copy_in(&self, at: u64, bytes: &[u8]) {
        assert!(bytes.len() <= self.capacity);
        let offset = at as usize & (self.capacity - 1);
        let to_end = self.capacity - offset;
        // SAFETY: what goes behind `offset` ends within the capacity, and the rest, at most `offset` bytes, goes to the beginning; nobody else accesses the range
        // (contract), and `bytes` is not part of the ring because the ring lends nothing out.
        unsafe {
            if bytes.len() <= to_end {
                // As nearly all do: of a length that the caller knows this is no call.
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.memory.add(offset), bytes.len());
            } else {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.memory.add(offset), to_end);
                std::ptr::copy_nonoverlapping(bytes.as_ptr().add(to_end), self.memory, bytes.len() - to_end);
            }
        }
    }

    /// Copies from stream position `at`.
    ///
    /// # Safety
    /// `[at, at + out.len())` is complete (below the link buffer's tail, seen with acquire) and not yet given free for reuse.
    pub(crate) unsafe fn copy_out(&self, at: u64, out: &mut [u8]) {
        assert!(out.len() <= self.capacity);
        let offset = at as usize & (self.capacity - 1);
        let first = out.len().min(self.capacity - offset);
        // SAFETY: in bounds as in `copy_in`; complete bytes are only read until they are given free (contract).
        unsafe {
            std::ptr::copy_nonoverlapping(self.memory.add(offset), out.as_mut_ptr(), first);
            std::ptr::copy_nonoverlapping(self.memory, out.as_mut_ptr().add(first), out.len() - first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_wrap_around_the_end() {
        let ring = Ring::new(16).expect("memory");
        let mut out = [0; 16];
        // SAFETY: one thread, nothing else touches the ring.
        unsafe {
            ring.copy_in(1000, b"0123456789abcdef");
            ring.copy_out(1000, &mut out);
        }
        assert_eq!(&out, b"0123456789abcdef");
    }
}
