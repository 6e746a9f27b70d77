//! A mutex with a rank and without poisoning.

use crate::platform;
use crate::rank::{Held, Place, Rank};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{PoisonError, TryLockError};

/// Mutual exclusion for a short time. See [`Rank`] for the order among several.
pub struct Mutex<T> {
    place: Place,
    inner: platform::Mutex<T>,
}

/// Access to the value of a [`Mutex`]; dropping it releases the latch.
pub struct MutexGuard<'a, T> {
    inner: platform::MutexGuard<'a, T>,
    _held: Held,
}

impl<T> Mutex<T> {
    /// A free mutex.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new(rank: Rank, value: T) -> Self {
        Self::with_order(rank, 0, value)
    }

    /// A free mutex that may be held together with others of its rank, taken in ascending `order`.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn with_order(rank: Rank, order: u32, value: T) -> Self {
        Mutex { place: Place::new(rank, order), inner: platform::Mutex::new(value) }
    }

    /// A free mutex.
    #[cfg(any(loom, shuttle))]
    pub fn new(rank: Rank, value: T) -> Self {
        Self::with_order(rank, 0, value)
    }

    /// A free mutex that may be held together with others of its rank, taken in ascending `order`.
    #[cfg(any(loom, shuttle))]
    pub fn with_order(rank: Rank, order: u32, value: T) -> Self {
        Mutex { place: Place::new(rank, order), inner: platform::Mutex::new(value) }
    }

    /// Waits for the latch.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.place.check();
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        MutexGuard { inner, _held: self.place.hold() }
    }

    /// Takes the latch when it is free.
    #[inline]
    #[track_caller]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        let inner = match self.inner.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(MutexGuard { inner, _held: self.place.hold() })
    }

    /// Access without locking: the exclusive borrow proves that nobody else has it.
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.inner.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T: fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_lock() {
            Some(guard) => f.debug_tuple("Mutex").field(&*guard).finish(),
            None => f.write_str("Mutex(<locked>)"),
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn counts_of_many_threads_add_up() {
        let mutex = Mutex::new(Rank::Leaf, 0u64);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1000).for_each(|_| *mutex.lock() += 1));
            }
        });
        assert_eq!(mutex.into_inner(), 4000);
    }

    #[test]
    #[cfg(debug_assertions)]
    fn descending_rank_panics_and_names_the_place() {
        let low = Mutex::new(Rank::Catalog, ());
        let high = Mutex::new(Rank::Leaf, ());
        let ok = low.lock();
        drop(high.lock());
        drop(ok);
        let _high = high.lock();
        let panic = catch_unwind(AssertUnwindSafe(|| drop(low.lock()))).expect_err("out of order");
        let text = panic.downcast_ref::<String>().expect("a message");
        assert!(text.contains("mutex.rs") && text.contains("Catalog"), "{text}");
        assert!(low.try_lock().is_some(), "try is exempt");
    }

    #[test]
    #[cfg(debug_assertions)]
    fn same_rank_needs_ascending_order() {
        let a = Mutex::with_order(Rank::LockShard, 1, ());
        let b = Mutex::with_order(Rank::LockShard, 2, ());
        {
            let _a = a.lock();
            drop(b.lock());
        }
        let _b = b.lock();
        assert!(catch_unwind(AssertUnwindSafe(|| drop(a.lock()))).is_err());
    }

    #[test]
    fn a_panic_under_the_latch_does_not_poison() {
        let mutex = Mutex::new(Rank::Leaf, 1);
        let _ = catch_unwind(AssertUnwindSafe(|| {
            let _guard = mutex.lock();
            panic!("on purpose");
        }));
        assert_eq!(*mutex.lock(), 1);
    }
}
