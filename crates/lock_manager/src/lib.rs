//! Row locks, wait-for graph, deadlock victim; table metadata locks.
//!
//! # Invariants
//! 1. Two locks on one key whose modes conflict are never granted to two owners at once.
//! 2. A waiter is granted by whoever makes room (release, time-out, victim), under the shard's latch, in the order of arrival; it is
//!    woken exactly once, and nobody else is.
//! 3. A request overtakes no earlier waiter that it conflicts with, except to strengthen a lock that its owner holds already.
//! 4. A deadlock is found by the last of its members to begin waiting; the member with the least work is the victim, among
//!    equals the one that found it.
//! 5. An owner's list names every lock granted to it. Releasing all costs in proportion to the locks held.
//! 6. An implicit lock (a row carries the id of an unfinished transaction) is made explicit either before its holder starts to release,
//!    and then is released with the rest, or not at all.
//!
//! # Lock order
//! deadlock detector → shard of the table (one at a time) → one owner's list. Nothing waits with any of them held.
//!
//! # Not here
//! What a key means: rows, gaps and pages belong to the engine. Deadlocks between row locks and metadata locks end by time-out.
//!
//! # Start at
//! [`LockManager::lock`], then `table.rs`.

mod cancel;
mod deadlock;
mod manager;
pub mod metadata;
mod mode;
mod owner;
mod platform;
mod registry;
mod snapshot;
mod table;

pub use cancel::{Cancel, WaitsFor};
pub use deadlock::{DeadlockMember, DeadlockReport, DeadlockWitness};
pub use manager::{Granted, LockError, LockKeyRef, LockManager, LockStats, WaitPolicy};
pub use mode::LockMode;
pub use owner::Owner;
pub use snapshot::{LockInfo, LockSnapshot, LockWait};
