//! Asking the processor for memory before it is wanted.
//!
//! # Invariants
//! 1. A hint: nothing is read or changed that a program could tell, and where the processor knows no such hint nothing is done.
//! 2. Worth its instruction only where what is asked for lies far away and something else can be done meanwhile (redo: page after page, of which all are asked for
//!    before the first is worked on; docs/reliability.md, Seconds a GiB).

/// What a processor fetches from memory at once.
pub const CACHE_LINE_BYTES: usize = 64;

/// Asks for the cache line of `things[at]`, and returns at once. Past the end nothing is asked for.
#[inline(always)]
pub fn bring_near<T>(things: &[T], at: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if let Some(thing) = things.get(at) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch neither faults nor changes memory, whatever the address; this one is of a reference.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(thing).cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (things, at);
}
