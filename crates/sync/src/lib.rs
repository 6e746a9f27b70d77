//! Synchronisation primitives: futex, ranked mutex and rwlock, events, atomics, threads; who is told that a thread blocks; the lane that a thread counts in; moments as one number.
//! The only door to `std`, loom or shuttle.
//!
//! # Invariants
//! 1. In debug builds a thread acquires latches in ascending [`Rank`] (and ascending order number inside one rank);
//!    a violation panics and names the place where the other latch was taken. `try_` calls are exempt: they cannot deadlock.
//! 2. Latches are not poisoned: a panic with a latch held must abort or leave the data whole (style guide, section 5).
//! 3. A release build of [`Mutex`] and [`RwLock`] carries no rank: an uncontended acquire is one compare-and-swap.
//!
//! # Model checking
//! With `--cfg loom` or `--cfg shuttle` everything here ([`atomic`], [`thread`], [`futex`], [`Mutex`], [`RwLock`], …) stands on that
//! model checker, so code written against this crate can be checked as it is:
//!
//! ```text
//! RUSTFLAGS="--cfg loom"    cargo test -p sync --release --test loom_events      --target-dir target/loom
//! RUSTFLAGS="--cfg shuttle" cargo test -p wal  --release --test concurrent_crash --target-dir target/shuttle
//! ```
//!
//! Tests live in `tests/loom_*.rs` and `tests/shuttle_*.rs`, start with `#![cfg(loom)]` / `#![cfg(shuttle)]`, and get the checker by
//! `[target.'cfg(loom)'.dev-dependencies] loom.workspace = true` (same for shuttle). Spin loops must call [`hint::spin_loop`] or
//! [`thread::yield_now`], or the model does not end. [`cell::UnsafeCell`] has loom's `with`/`with_mut` shape everywhere.
//!
//! A model that should run in plain `cargo test` compiles the source file of its algorithm a second time against the checker:
//! the algorithm takes its primitives from `crate::platform`, the test crate defines a `mod platform` over shuttle and includes the file
//! by `#[path = "../src/…"]`. See `crates/wal/tests/shuttle_group.rs`; [`futex`]'s model is `src/futex_model.rs`, includable alike.
//!
//! # Not here
//! Page latches (crate `buffer_pool`), transaction locks (crate `lock_manager`), condition variables (use [`futex`], [`Event`], [`Signal`]).

#![allow(clippy::disallowed_types)] // this crate is the door the lint points to

pub mod blocking;
mod event;
mod lane;
pub mod moment;
mod mutex;
mod platform;
mod rank;
mod rwlock;
pub mod spun_for;

#[cfg(not(any(loom, shuttle)))]
pub mod futex;
#[cfg(any(loom, shuttle))]
#[path = "futex_model.rs"]
pub mod futex;

pub use crossbeam_utils::CachePadded;
pub use crossbeam_utils::atomic::AtomicCell;
pub use event::{Event, SetAtEnd, Signal};
pub use lane::{lane, leave_lane, take_lane};
pub use moment::Moment;
pub use mutex::{Mutex, MutexGuard};
pub use platform::{Arc, atomic, cell, hint, thread};
pub use rank::Rank;
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
