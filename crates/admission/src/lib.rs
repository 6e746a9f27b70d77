//! Admission: how many transactions work in the engine at once.
//!
//! Thousands of transactions that work at the same time cost more each than a few: they wait for each other's rows, throw each other's data out of
//! the caches, and make the kernel's scheduler share the processors between thousands of threads. So a transaction takes a *slot* when its first
//! statement starts work, and when there is none it sleeps until one is given to it. What costs less than that sleep never asks for a slot.
//!
//! # Invariants
//! 1. Newcomers get slots in the order in which they came, each woken on its own futex, and a slot that becomes free wakes one waiter.
//! 2. A transaction that has begun never waits behind one that has not: its short statements do not wait at all (they take a slot beyond the limit, and no newcomer
//!    enters before that is made good), its other statements stand in a queue that goes first.
//! 3. Who waits for anything but a processor (a row or metadata lock, time, its client) keeps its slot for [`GRACE_TICKS`] at most when others wait for one;
//!    who commits has left before it waits for the disk.
//! 4. A statement that has worked for [`SLICE_TICKS`] while others waited goes on in the long lane, whose few places go around in turns.
//! 5. Whatever a holder of a slot does, those who wait get on: a slot that stands still for long is made up for by another one.
//! 6. Who has transactions to begin, and can leave them outside, asks whether there is room ([`Admission::has_room`]); as long as it asks in vain it counts as one who waits.
//! 7. Killing, time limits and a vanished client end a wait for a slot as they end other waits (`lock_manager::Cancel`).
//!
//! # Latch order
//! The queue's mutex (rank `Admission`) is a leaf; nobody waits under it.
//!
//! # Not here
//! Which statements ask for a slot: crate `session`, `transaction/admit.rs`. The argument for all this and its measurements: `docs/design/admission.md`.
//!
//! # Start at
//! [`Ticket`], then `gate.rs`; [`Controller`] chooses the number of slots.

mod admission;
mod controller;
mod gate;
mod mode;
mod platform;
mod slot;
mod ticket;

pub use admission::{Admission, GRACE_TICKS, SLICE_TICKS, Stats, TICK};
pub use controller::{Controller, Sample};
pub use gate::SLOTS_MAX;
pub use mode::Mode;
pub use ticket::{Killed, Ticket, Work};
