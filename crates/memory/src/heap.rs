//! The allocator, counted, and what it has set aside.
//!
//! Code that cannot fail allocates too: a row's bytes, a page of a result, a list. When the system gives nothing more, such an allocation would end
//! the process. So some memory is set aside; the first allocation that fails has a piece of it given back to the system, is tried again, and its
//! statement is marked as one that finds the server's memory used up ([`crate::excess`]): it ends soon, with an error. Who can take a failure
//! ([`crate::fallible`]) gets it at once. With nothing left aside a failure ends the process, as everywhere in Rust; the next start recovers.

use crate::thread::{count, starved};
use std::alloc::{GlobalAlloc, Layout};
use sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Pieces set aside, and the bytes of each: what the largest allocation that cannot fail may take, all together.
const PIECES: usize = 8;
const PIECE_BYTES: usize = 8 << 20;

/// Pieces that were given back to the system because an allocation had failed.
static SPENT: AtomicU64 = AtomicU64::new(0);

/// How often an allocation failed that cannot, and lived off what was set aside.
pub fn rescues() -> u64 {
    SPENT.load(Ordering::Relaxed)
}

const fn piece() -> Layout {
    // A power of two, and no size that could overflow.
    match Layout::from_size_align(PIECE_BYTES, 4096) {
        Ok(layout) => layout,
        Err(_) => Layout::new::<()>(),
    }
}

/// Another allocator, whose allocations are counted by the thread that makes them.
pub struct Heap<A> {
    inner: A,
    /// Memory nobody uses, each piece of [`piece`]'s layout or null. Taken and put by swaps with AcqRel: whoever has a pointer owns the piece.
    aside: [AtomicPtr<u8>; PIECES],
}

impl<A: GlobalAlloc> Heap<A> {
    /// Counts what `inner` allocates; nothing is set aside yet.
    pub const fn new(inner: A) -> Heap<A> {
        Heap { inner, aside: [const { AtomicPtr::new(std::ptr::null_mut()) }; PIECES] }
    }

    /// Sets aside what is missing, as far as there is memory. Called at the start, and again every now and then. Nothing of it is touched, so that it
    /// takes address space and no memory.
    pub fn set_aside(&self) {
        for place in &self.aside {
            if !place.load(Ordering::Acquire).is_null() {
                continue;
            }
            // SAFETY: the layout has a size.
            let memory = unsafe { self.inner.alloc(piece()) };
            if memory.is_null() {
                return;
            }
            if place.compare_exchange(std::ptr::null_mut(), memory, Ordering::AcqRel, Ordering::Acquire).is_err() {
                // SAFETY: just allocated with this layout, and nobody else has seen it.
                unsafe { self.inner.dealloc(memory, piece()) };
            }
        }
    }

    /// Allocates, if need be with the help of what is aside, and counts `change` bytes when that went well.
    #[inline(always)]
    fn counted(&self, change: i64, allocate: impl Fn(&A) -> *mut u8) -> *mut u8 {
        let mut memory = allocate(&self.inner);
        if memory.is_null() {
            memory = self.again(allocate);
        }
        if !memory.is_null() {
            count(change);
        }
        memory
    }

    /// An allocation has failed: it is tried again with the help of what is aside, piece by piece.
    #[cold]
    #[inline(never)]
    fn again(&self, allocate: impl Fn(&A) -> *mut u8) -> *mut u8 {
        if !starved() {
            return std::ptr::null_mut();
        }
        for place in &self.aside {
            let memory = place.swap(std::ptr::null_mut(), Ordering::AcqRel);
            if memory.is_null() {
                continue;
            }
            // SAFETY: it was allocated with this layout, and the swap made it ours alone.
            unsafe { self.inner.dealloc(memory, piece()) };
            SPENT.fetch_add(1, Ordering::Relaxed);
            let memory = allocate(&self.inner);
            if !memory.is_null() {
                return memory;
            }
        }
        std::ptr::null_mut()
    }
}

// SAFETY: every call is handed on unchanged, one that failed perhaps again; counting touches only the thread's own cells and atomics, and neither
// allocates nor unwinds. What is set aside is never lent out.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Heap<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those of the inner allocator.
        self.counted(layout.size() as i64, |inner| unsafe { inner.alloc(layout) })
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: the caller's promises are those of the inner allocator.
        unsafe { self.inner.dealloc(memory, layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those of the inner allocator.
        self.counted(layout.size() as i64, |inner| unsafe { inner.alloc_zeroed(layout) })
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promises are those of the inner allocator; where it failed the block is still the caller's.
        self.counted(size as i64 - layout.size() as i64, |inner| unsafe { inner.realloc(memory, layout, size) })
    }
}
