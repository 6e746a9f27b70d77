//! A few bytes on the stack: the codes of one code point.

/// Eight elements of three bytes are the most.
const BYTES_MAX: usize = 32;

/// Up to 32 bytes.
#[derive(Clone, Copy, Default)]
pub(super) struct CodeBuffer {
    bytes: [u8; BYTES_MAX],
    len: u8,
}

impl CodeBuffer {
    /// Appends; what does not fit is dropped (no code point has that many codes).
    #[inline]
    pub(super) fn extend(&mut self, more: &[u8]) {
        let start = usize::from(self.len);
        debug_assert!(start + more.len() <= BYTES_MAX);
        if let Some(room) = self.bytes.get_mut(start..start + more.len()) {
            room.copy_from_slice(more);
            self.len += more.len() as u8;
        }
    }

    /// Sets every byte.
    pub(super) fn fill(&mut self, byte: u8) {
        self.bytes[..usize::from(self.len)].fill(byte);
    }

    #[inline]
    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}
