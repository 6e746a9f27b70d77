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
    if let Some(thing) = things.get(at) {
        ask(std::ptr::from_ref(thing).cast());
    }
}

/// Asks for all cache lines of `thing`, and returns at once.
#[inline(always)]
pub fn bring_all_near<T: ?Sized>(thing: &T) {
    let (start, size, align) = (std::ptr::from_ref(thing).cast::<u8>(), size_of_val(thing), align_of_val(thing));
    for at in (0..size).step_by(CACHE_LINE_BYTES) {
        ask(start.wrapping_add(at));
    }
    // Where it does not begin with a line its end may be in another one; a number does not lie across two.
    if size > align && align < CACHE_LINE_BYTES {
        ask(start.wrapping_add(size - 1));
    }
}

#[inline(always)]
fn ask(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch neither faults nor changes memory, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}
