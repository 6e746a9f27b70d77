//! The allocator, counted.

use crate::thread::count;
use std::alloc::{GlobalAlloc, Layout};

/// Another allocator, whose allocations are counted by the thread that makes them.
pub struct Heap<A>(pub A);

// SAFETY: every call is handed on unchanged; counting touches only the thread's own cells and atomics, and neither allocates nor unwinds.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Heap<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those of the inner allocator.
        let memory = unsafe { self.0.alloc(layout) };
        if !memory.is_null() {
            count(layout.size() as i64);
        }
        memory
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: the caller's promises are those of the inner allocator.
        unsafe { self.0.dealloc(memory, layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those of the inner allocator.
        let memory = unsafe { self.0.alloc_zeroed(layout) };
        if !memory.is_null() {
            count(layout.size() as i64);
        }
        memory
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promises are those of the inner allocator.
        let moved = unsafe { self.0.realloc(memory, layout, size) };
        if !moved.is_null() {
            count(size as i64 - layout.size() as i64);
        }
        moved
    }
}
