//! Synchronisation primitives: futex, ranked mutex and rwlock, threads; the only door to std, loom or shuttle.
