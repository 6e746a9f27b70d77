//! The memory of one segment: words from the kernel, which can have the pages behind them back while a late reader still looks.
//!
//! # Invariant
//! The words stay addressable as long as the value lives: [`Memory::give_back`] empties them, nothing unmaps them. So a reader that races with it reads
//! zeros or old bytes.

use crate::frame::SEGMENT_BYTES;
use sync::atomic::AtomicU64;

const WORDS: usize = SEGMENT_BYTES / 8;

#[cfg(not(any(miri, loom, shuttle)))]
mod mapped {
    use super::{AtomicU64, SEGMENT_BYTES, WORDS};
    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
    use std::ptr::NonNull;

    pub(crate) struct Memory {
        start: NonNull<AtomicU64>,
    }

    // SAFETY: the mapping belongs to this value, and it is used as atomic words only.
    unsafe impl Send for Memory {}
    // SAFETY: as above.
    unsafe impl Sync for Memory {}

    impl Memory {
        /// A segment of zeros. Like any allocation, having none ends the process.
        pub(crate) fn new() -> Memory {
            let flags = ProtFlags::READ | ProtFlags::WRITE;
            // SAFETY: a new anonymous mapping at an address of the kernel's choice touches no existing memory.
            let start = unsafe { mmap_anonymous(std::ptr::null_mut(), SEGMENT_BYTES, flags, MapFlags::PRIVATE) };
            match start.ok().and_then(|start| NonNull::new(start.cast())) {
                Some(start) => Memory { start },
                None => std::alloc::handle_alloc_error(std::alloc::Layout::new::<[u64; WORDS]>()),
            }
        }

        #[inline]
        pub(crate) fn words(&self) -> &[AtomicU64] {
            // SAFETY: the mapping has this many words, is aligned to a page, was zero (a value of the type) at first, and is changed through such
            // slices only; it goes when the value does.
            unsafe { std::slice::from_raw_parts(self.start.as_ptr(), WORDS) }
        }

        /// Has the kernel provide all pages now, at once: for who is about to fill them one by one. Where it does not know how, they come as they are touched.
        pub(crate) fn populate(&self) {
            // SAFETY: the range is this mapping; the advice makes its pages present and changes no byte.
            let _ = unsafe { madvise(self.start.as_ptr().cast(), SEGMENT_BYTES, Advice::LinuxPopulateWrite) };
        }

        /// Gives the pages back to the kernel; all words are zero. The caller says that no segment uses the memory.
        pub(crate) fn give_back(&self) {
            // SAFETY: the range is this mapping, private and anonymous: the advice sets it to zeros, a value of its words. Readers that race with
            // it load each word whole, before or after.
            // Refused: it stays, to be used again.
            let _ = unsafe { madvise(self.start.as_ptr().cast(), SEGMENT_BYTES, Advice::LinuxDontNeed) };
        }
    }

    impl Drop for Memory {
        fn drop(&mut self) {
            // SAFETY: start and size are those of the mapping made in `new`; the owner is gone, so nobody uses it.
            let _ = unsafe { munmap(self.start.as_ptr().cast(), SEGMENT_BYTES) };
        }
    }
}

#[cfg(any(miri, loom, shuttle))]
mod mapped {
    use super::{AtomicU64, WORDS};

    /// Checkers know no mmap, and have atomics of their own: ordinary memory.
    pub(crate) struct Memory {
        words: Box<[AtomicU64]>,
    }

    impl Memory {
        pub(crate) fn new() -> Memory {
            Memory { words: (0..WORDS).map(|_| AtomicU64::new(0)).collect() }
        }

        pub(crate) fn words(&self) -> &[AtomicU64] {
            &self.words
        }

        pub(crate) fn populate(&self) {}

        pub(crate) fn give_back(&self) {
            self.words.iter().for_each(|word| word.store(0, sync::atomic::Ordering::Relaxed));
        }
    }
}

pub(crate) use mapped::Memory;

#[cfg(test)]
mod tests {
    use super::*;
    use sync::atomic::Ordering;

    #[test]
    fn memory_given_back_is_zero_and_can_be_used_again() {
        let memory = Memory::new();
        memory.words()[WORDS - 1].store(7, Ordering::Relaxed);
        memory.give_back();
        assert!(memory.words().iter().all(|word| word.load(Ordering::Relaxed) == 0));
        memory.populate();
        assert!(memory.words().iter().all(|word| word.load(Ordering::Relaxed) == 0));
        memory.words()[0].store(8, Ordering::Relaxed);
        memory.populate();
        assert_eq!(memory.words()[0].load(Ordering::Relaxed), 8);
    }
}
