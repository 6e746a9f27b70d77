//! Memory aligned for O_DIRECT.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::fmt;
use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Alignment of memory, offsets and lengths for [`crate::FileKind::Direct`].
pub const DIRECT_ALIGN: usize = 4096;

/// A zeroed byte buffer of fixed length whose first byte is aligned to [`DIRECT_ALIGN`].
pub struct AlignedBuf {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the buffer owns its memory and hands it out only by the usual borrow rules, like a Box<[u8]>.
unsafe impl Send for AlignedBuf {}
// SAFETY: as above; shared access is read-only.
unsafe impl Sync for AlignedBuf {}

impl AlignedBuf {
    /// `len` zero bytes. Large buffers cost memory only when touched.
    pub fn new(len: usize) -> Self {
        Self::try_new(len).unwrap_or_else(|_| handle_alloc_error(Self::layout(len)))
    }

    /// The same, for buffers whose size is a setting: an error where there is no memory.
    pub fn try_new(len: usize) -> io::Result<Self> {
        if len == 0 {
            return Ok(AlignedBuf { start: NonNull::dangling(), len });
        }
        // SAFETY: the layout has a non-zero size.
        let start = unsafe { alloc_zeroed(Self::layout(len)) };
        let start = NonNull::new(start).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(AlignedBuf { start, len })
    }

    /// A copy of `bytes`, padded with zeros to a multiple of [`DIRECT_ALIGN`].
    pub fn padded_copy(bytes: &[u8]) -> Self {
        let mut buf = Self::new(bytes.len().next_multiple_of(DIRECT_ALIGN));
        buf[..bytes.len()].copy_from_slice(bytes);
        buf
    }

    /// Start of the memory, for code that shares it under its own rules.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.start.as_ptr()
    }

    fn layout(len: usize) -> Layout {
        Layout::from_size_align(len, DIRECT_ALIGN).expect("a buffer below isize::MAX bytes")
    }
}

impl Drop for AlignedBuf {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: `new` allocated it with the same layout.
            unsafe { dealloc(self.start.as_ptr(), Self::layout(self.len)) }
        }
    }
}

impl Deref for AlignedBuf {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: `start` has `len` initialised bytes (dangling only when empty) that live as long as `self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for AlignedBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and `&mut self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl fmt::Debug for AlignedBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AlignedBuf({} bytes)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_aligned_zeroed_and_padded() {
        let buf = AlignedBuf::padded_copy(&[7; 5000]);
        assert!((buf.as_ptr() as usize).is_multiple_of(DIRECT_ALIGN));
        assert_eq!(buf.len(), 8192);
        assert!(buf[..5000].iter().all(|&b| b == 7) && buf[5000..].iter().all(|&b| b == 0));
        assert!(AlignedBuf::new(0).is_empty());
    }
}
