//! Zeroed memory straight from the kernel: the page table (reserved, touched lazily) and the frame arena (huge pages where given).

use std::ptr::NonNull;

/// A private anonymous mapping, all zero at first; unmapped on drop.
pub(crate) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping is plain memory owned by this value; who may access which part when is the business of the types built on it.
unsafe impl Send for Mapping {}
// SAFETY: as above; this type itself gives out only a pointer.
unsafe impl Sync for Mapping {}

/// Size of a transparent huge page on the platforms we run on.
#[cfg(not(miri))]
const HUGE_PAGE_BYTES: usize = 2 << 20;

#[cfg(not(miri))]
impl Mapping {
    /// Maps `bytes`, without reserving memory for them: pages appear when touched.
    pub fn reserve(bytes: usize) -> std::io::Result<Mapping> {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
        // SAFETY: a new anonymous mapping at an address of the kernel's choice touches no existing memory.
        let start = unsafe {
            mmap_anonymous(std::ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE)?
        };
        let start = NonNull::new(start.cast()).ok_or(std::io::ErrorKind::OutOfMemory)?;
        Ok(Mapping { start, bytes })
    }

    /// Maps `bytes` and asks for huge pages.
    pub fn huge(bytes: usize) -> std::io::Result<Mapping> {
        use rustix::mm::{Advice, madvise};
        // One huge page more, so that an aligned stretch lies inside whatever address comes back.
        let mapping = Mapping::reserve(bytes + HUGE_PAGE_BYTES)?;
        // SAFETY: the range is the mapping just made, which nobody uses yet; the advice does not change its content.
        // A kernel without huge pages refuses; the arena then has small ones.
        let _ = unsafe { madvise(mapping.start.as_ptr().cast(), mapping.bytes, Advice::LinuxHugepage) };
        Ok(mapping)
    }

    /// The first address in the mapping of [`Mapping::huge`] that is aligned for a huge page.
    pub fn aligned_start(&self) -> NonNull<u8> {
        let skip = self.start.as_ptr().align_offset(HUGE_PAGE_BYTES);
        assert!(skip < HUGE_PAGE_BYTES);
        // SAFETY: `huge` mapped HUGE_PAGE_BYTES more than it was asked for, so the address lies inside the mapping.
        unsafe { self.start.add(skip) }
    }
}

/// Miri knows no mmap: ordinary zeroed memory.
#[cfg(miri)]
impl Mapping {
    pub fn reserve(bytes: usize) -> std::io::Result<Mapping> {
        let layout = Self::layout(bytes);
        // SAFETY: the layout has a size above zero (callers ask for at least one page).
        let start = unsafe { std::alloc::alloc_zeroed(layout) };
        let start = NonNull::new(start).ok_or(std::io::ErrorKind::OutOfMemory)?;
        Ok(Mapping { start, bytes })
    }

    pub fn huge(bytes: usize) -> std::io::Result<Mapping> {
        Mapping::reserve(bytes)
    }

    pub fn aligned_start(&self) -> NonNull<u8> {
        self.start
    }

    fn layout(bytes: usize) -> std::alloc::Layout {
        std::alloc::Layout::from_size_align(bytes, base::PAGE_BYTES).expect("size fits")
    }
}

impl Mapping {
    /// First byte.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        #[cfg(not(miri))]
        // SAFETY: start and size are those of the mapping made in `reserve`; the owner is gone, so nobody uses it.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.bytes) };
        #[cfg(miri)]
        // SAFETY: allocated in `reserve` with this layout.
        unsafe {
            std::alloc::dealloc(self.start.as_ptr(), Self::layout(self.bytes));
        }
    }
}
