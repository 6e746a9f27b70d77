//! Transaction ids, the order in which they finish, read views, and what purge may remove.
//!
//! # Invariants
//! 1. An id is either unfinished or has a number, which says when it finished; the change from one to the other is one atomic operation on its word
//!    (in the ring of numbers, or in the list of old ids), so a transaction's effects become visible all at once.
//! 2. A view is closed under "had seen": if it sees T2, and T2 saw T1 as finished, it sees T1 (`ids.rs` holds the argument).
//! 3. A view opened after [`TxnSystem::finish`] of T returned sees T.
//! 4. What [`TxnSystem::purge_limit`] covers is seen by every open view and by every view opened later.
//! 5. Opening and closing a view writes nothing but the session's own slot.
//! 6. Of transactions whose commits are queued, those up to a durable position finish in the order of their commit records; a transaction that
//!    built on another, which had released its locks, has the later record (`commit_queue.rs`).
//!
//! # Lock order
//! commit queue (`Rank::CommitQueue`) → list of old ids (`Rank::LongTxns`) → slot registry (`Rank::Leaf`). Nothing else is
//! called while they are held.
//!
//! # Not here
//! Locks (`lock_manager`), undo, the log: the engine drives commit and rollback and calls [`TxnSystem::finish`] last.
//! [`ring_of_bits`] is not used by the server: it is what came before the ring of numbers, kept to be compared with.
//!
//! # Start at
//! [`TxnSystem`], then `ids.rs`, `old_ids.rs`.

pub mod classic;
mod commit_queue;
mod ids;
mod old_ids;
mod platform;
mod prune;
mod released;
pub mod ring_of_bits;
mod slots;
mod system;
mod view;

pub use commit_queue::CommitPlace;
pub use ids::FinishSeq;
pub use prune::Snapshots;
pub use slots::{PurgeLimit, ViewObserver, ViewSlotHandle};
pub use system::{Standing, TxnSystem};
pub use view::ReadView;
