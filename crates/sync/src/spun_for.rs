//! What others spin for while this thread does it: it must not wait for room in the log meanwhile, which only they may be able to make. Checked in debug builds.
//!
//! Not a latch, and so without a rank: who spins has no place in the queue of anything.

use std::cell::Cell;

thread_local! {
    static BEGUN: Cell<bool> = const { Cell::new(false) };
}

/// Something has begun that others spin for.
#[inline]
pub fn begin() {
    if cfg!(debug_assertions) {
        BEGUN.set(true);
    }
}

/// It is done.
#[inline]
pub fn end() {
    if cfg!(debug_assertions) {
        // Thread-locals may be gone when a thread ends.
        let _ = BEGUN.try_with(|begun| begun.set(false));
    }
}

/// Called before a wait that may last until those who spin have gone on.
#[inline]
#[track_caller]
pub fn assert_none() {
    debug_assert!(!BEGUN.get(), "a wait while others spin for what this thread has begun");
}
