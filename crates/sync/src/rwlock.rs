//! A reader-writer latch with a rank and without poisoning.

use crate::platform;
use crate::rank::{Held, Place, Rank};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{PoisonError, TryLockError};

/// Many readers or one writer. Readers share one written cache line: for data read on every statement by every core
/// prefer something else.
pub struct RwLock<T> {
    place: Place,
    inner: platform::RwLock<T>,
}

/// Shared access to the value of an [`RwLock`].
pub struct RwLockReadGuard<'a, T> {
    inner: platform::RwLockReadGuard<'a, T>,
    _held: Held,
}

/// Exclusive access to the value of an [`RwLock`].
pub struct RwLockWriteGuard<'a, T> {
    inner: platform::RwLockWriteGuard<'a, T>,
    _held: Held,
}

impl<T> RwLock<T> {
    /// A free latch.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new(rank: Rank, value: T) -> Self {
        Self::with_order(rank, 0, value)
    }

    /// A free latch that may be held together with others of its rank, taken in ascending `order`.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn with_order(rank: Rank, order: u32, value: T) -> Self {
        RwLock { place: Place::new(rank, order), inner: platform::RwLock::new(value) }
    }

    /// A free latch.
    #[cfg(any(loom, shuttle))]
    pub fn new(rank: Rank, value: T) -> Self {
        Self::with_order(rank, 0, value)
    }

    /// A free latch that may be held together with others of its rank, taken in ascending `order`.
    #[cfg(any(loom, shuttle))]
    pub fn with_order(rank: Rank, order: u32, value: T) -> Self {
        RwLock { place: Place::new(rank, order), inner: platform::RwLock::new(value) }
    }

    /// Waits for shared access. Not re-entrant: a waiting writer would stop the second read of the same thread.
    #[inline]
    #[track_caller]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.place.check();
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        RwLockReadGuard { inner, _held: self.place.hold() }
    }

    /// Waits for exclusive access.
    #[inline]
    #[track_caller]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.place.check();
        let inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        RwLockWriteGuard { inner, _held: self.place.hold() }
    }

    /// Takes shared access when that needs no wait.
    #[inline]
    #[track_caller]
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        let inner = match self.inner.try_read() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(RwLockReadGuard { inner, _held: self.place.hold() })
    }

    /// Takes exclusive access when that needs no wait.
    #[inline]
    #[track_caller]
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        let inner = match self.inner.try_write() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(RwLockWriteGuard { inner, _held: self.place.hold() })
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

impl<T> Deref for RwLockReadGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T> DerefMut for RwLockWriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T: fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_read() {
            Some(guard) => f.debug_tuple("RwLock").field(&*guard).finish(),
            None => f.write_str("RwLock(<locked>)"),
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn readers_share_and_a_writer_excludes() {
        let lock = RwLock::new(Rank::Leaf, 1);
        {
            let _one = lock.read();
            let two = std::thread::scope(|s| s.spawn(|| *lock.read()).join().expect("no panic"));
            assert_eq!(two, 1);
            assert!(lock.try_write().is_none());
        }
        *lock.write() = 2;
        assert_eq!(lock.into_inner(), 2);
    }
}
