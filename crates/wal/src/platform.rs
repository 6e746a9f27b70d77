//! The primitives of the algorithms that are model-checked (`link_buffer.rs`, `reserve.rs`, `group.rs`).
//!
//! Those files are compiled a second time by the tests in `tests/`, against a `platform` over loom or shuttle.

pub(crate) use sync::atomic::{AtomicU32, AtomicU64, Ordering};
pub(crate) use sync::{CachePadded, futex};

/// Whether a bug planted for the model checker is switched on: never here.
#[inline(always)]
pub(crate) const fn planted(_bug: &str) -> bool {
    false
}
