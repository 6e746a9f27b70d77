//! The primitives of the algorithms that are model-checked (`link_buffer.rs`, `reserve.rs`, `group.rs`, `hole.rs`).
//!
//! Those files are compiled a second time by the tests in `tests/`, against a `platform` over loom or shuttle.

pub(crate) use sync::atomic::{AtomicU32, AtomicU64, Ordering};
pub(crate) use sync::{CachePadded, futex};

/// When a leader that sleeps for a hole looks by itself: processors that are not x86 may let it miss its wake. Never in the models.
pub(crate) fn backstop() -> Option<std::time::Instant> {
    Some(std::time::Instant::now() + std::time::Duration::from_millis(1))
}

/// Whether a bug planted for the model checker is switched on: never here.
#[inline(always)]
pub(crate) const fn planted(_bug: &str) -> bool {
    false
}
