//! The rule that nobody descends while holding a leaf, checked in debug builds.
//!
//! Whoever waits for an inner page while holding a leaf can deadlock: a split latches parent → leaf. That holds across trees, too: a chain of such
//! waits through two trees can close. So every descent begins without a leaf latch of the same thread, but for [`crate::BTree::get_nested`], whose
//! callers keep their trees in one order: then no chain closes.

use std::cell::Cell;
use std::marker::PhantomData;

thread_local! {
    static LEAVES: Cell<u32> = const { Cell::new(0) };
}

/// Stands for a leaf latch that is held from one call to the next (a cursor's, a [`crate::LeafWrite`]'s).
pub(crate) struct Holding(PhantomData<*mut ()>);

impl Holding {
    #[inline]
    pub(crate) fn new() -> Holding {
        if cfg!(debug_assertions) {
            LEAVES.set(LEAVES.get() + 1);
        }
        Holding(PhantomData)
    }
}

impl Drop for Holding {
    #[inline]
    fn drop(&mut self) {
        if cfg!(debug_assertions) {
            // Thread-locals may be gone when a thread ends.
            let _ = LEAVES.try_with(|leaves| leaves.set(leaves.get() - 1));
        }
    }
}

/// Runs `f` as if this thread held no leaf.
#[inline]
pub(crate) fn apart<R>(f: impl FnOnce() -> R) -> R {
    /// Brings the count back, also when `f` panics.
    struct Restore(u32);
    impl Drop for Restore {
        fn drop(&mut self) {
            LEAVES.set(self.0);
        }
    }
    let _restore = cfg!(debug_assertions).then(|| Restore(LEAVES.replace(0)));
    f()
}

/// Called before a descent.
#[inline]
#[track_caller]
pub(crate) fn assert_none() {
    debug_assert!(LEAVES.get() == 0, "a tree is descended while this thread holds a leaf: park the cursor, or finish the write, before");
}
