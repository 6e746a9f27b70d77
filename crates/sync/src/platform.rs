//! Chooses std, loom or shuttle for everything else in this crate.

#[cfg(not(any(loom, shuttle)))]
mod imp {
    pub use std::hint;
    pub use std::sync::{Arc, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic};
    pub use std::thread;
}

#[cfg(loom)]
mod imp {
    pub use loom::hint;
    pub use loom::lazy_static;
    pub use loom::sync::{Arc, Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic};
    pub use loom::thread;
}

#[cfg(all(shuttle, not(loom)))]
mod imp {
    pub use shuttle::hint;
    pub use shuttle::lazy_static;
    pub use shuttle::sync::{Arc, Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic};
    pub use shuttle::thread;
}

pub use imp::*;

/// `UnsafeCell` with loom's closure-shaped access, so that loom can see unsynchronised access.
pub mod cell {
    #[cfg(loom)]
    pub use loom::cell::UnsafeCell;

    /// Interior mutability whose every access is a closure over a raw pointer.
    #[cfg(not(loom))]
    #[derive(Debug, Default)]
    pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    #[cfg(not(loom))]
    impl<T> UnsafeCell<T> {
        /// Wraps a value.
        pub const fn new(value: T) -> Self {
            UnsafeCell(std::cell::UnsafeCell::new(value))
        }

        /// Gives a pointer for reading; the caller owes that nobody writes meanwhile.
        #[inline(always)]
        pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        /// Gives a pointer for writing; the caller owes that nobody else accesses meanwhile.
        #[inline(always)]
        pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }
}
