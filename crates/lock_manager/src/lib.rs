//! Row locks, wait-for graph, deadlock victim; table metadata locks.
//!
//! # Invariants
//! 1. Two locks on one key whose modes conflict are never granted to two owners at once.
//! 2. A waiter is granted by whoever makes room (release, time-out, victim), under the shard's latch, in the order of `queue.rs`; it is
//!    woken exactly once, or who keeps it is told (`cancel.rs`), and nobody else is.
//! 3. A new request overtakes no waiter that it conflicts with, except to strengthen a lock that its owner holds already; a waiter is
//!    overtaken a bounded number of times.
//! 4. A deadlock, whatever kinds of locks it goes through, is found by the last of its members to begin waiting. The victim waits for a row or a
//!    share of a table rather than for a name, for a name rather than to have a table alone; then, has the least work; then, found it.
//! 5. An owner's list names every lock granted to it. Releasing all costs in proportion to the locks held.
//! 6. An implicit lock (a row carries the id of an unfinished transaction) is made explicit either before its holder starts to release,
//!    and then is released with the rest, or not at all. It is noted, not granted: its owner, which asks when it has put an older version of
//!    the row back, waits for whoever has the key by then.
//! 7. Gap locks stand in the way of insertions only, and wait for nobody. A record that is removed leaves its locks to the gap behind it.
//! 8. A span (`spans.rs`) is in the way of insertions as a gap lock on each key in it would be.
//!
//! # Lock order
//! deadlock detector → shard of the table, or of names (one at a time) → one owner's list. Nothing waits with any of them held.
//!
//! # Not here
//! What a key means: rows, gaps and pages belong to the engine.
//!
//! # Start at
//! `mode.rs`, [`LockManager::lock`], then `table.rs` and `queue.rs`.

mod cancel;
mod deadlock;
mod gaps;
mod holders;
mod manager;
pub mod metadata;
mod metadata_list;
mod mode;
mod outside;
mod owner;
mod platform;
mod queue;
mod registry;
pub mod shares;
mod snapshot;
mod spans;
mod table;
#[cfg(test)]
mod tests;
pub mod user_locks;

pub use cancel::{Cancel, WaitCell, WaitObserver, WaitOver, WaitState, WaitsFor};
pub use deadlock::{ClientTold, DEADLOCKS_KEPT, DeadlockMember, DeadlockReport, DeadlockWitness};
pub use manager::{AUTO_INCREMENT_BIT, Granted, LockError, LockKeyRef, LockManager, LockStats, WaitPolicy};
pub use metadata_list::MetadataLockInfo;
pub use mode::LockMode;
pub use outside::Asker;
pub use owner::{LockMark, Owner};
pub use snapshot::{LockInfo, LockSnapshot, LockWait};
