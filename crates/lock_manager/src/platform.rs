//! What the algorithms take from outside, so that model tests can compile them over a model checker.

pub(crate) use std::sync::Arc;
pub(crate) use sync::atomic;
pub(crate) use sync::{CachePadded, futex};

/// Apart, because the futex's model has a `platform::Mutex` of another shape.
pub(crate) mod latch {
    pub(crate) use sync::{Mutex, MutexGuard, Rank};
}

/// Bugs that the model tests plant to prove that they would be found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mutant {
    /// A release drops the lock but grants it to nobody.
    ReleaseWithoutHandOver,
    /// A timed-out waiter leaves without granting those behind it.
    TimeoutWithoutHandOver,
    /// An implicit lock is made explicit without looking whether its holder has begun to release.
    ImplicitWithoutRecheck,
    /// The deadlock search is left out.
    NoDetection,
    /// A metadata reader does not look at the gate after counting itself in.
    SharedWithoutRecheck,
}

/// Whether a bug is planted: never outside the model tests, where this function is another one.
#[inline(always)]
pub(crate) const fn planted(_mutant: Mutant) -> bool {
    false
}
