//! Transaction ids, the committed-bits ring, read views, and what purge may remove.
//!
//! # Invariants
//! 1. An id is either unfinished (its ring bit is 0, or it stands in the list of long transactions) or finished; the change from
//!    one to the other is one atomic operation, so a transaction's effects become visible all at once.
//! 2. A view is closed under "had seen": if it sees T2, and T2 saw T1 as finished, it sees T1 (`ids.rs` holds the argument).
//! 3. A view opened after [`TxnSystem::finish`] of T returned sees T.
//! 4. What [`TxnSystem::purge_limit`] covers is seen by every open view and by every view opened later.
//! 5. Opening, reusing and closing a view writes nothing but the session's own slot.
//! 6. Of transactions whose commits are queued, those up to a durable position finish in the order of their commit records; a transaction that
//!    built on another, which had released its locks, has the later record (`commit_queue.rs`).
//!
//! # Lock order
//! commit queue (`Rank::CommitQueue`) → list of long transactions (`Rank::LongTxns`); slot registry (`Rank::Leaf`). Nothing else is
//! called while they are held.
//!
//! # Not here
//! Locks (`lock_manager`), undo, the log: the engine drives commit and rollback and calls [`TxnSystem::finish`] last.
//!
//! # Start at
//! [`TxnSystem`], then `ids.rs`.

pub mod classic;
mod commit_queue;
pub mod commit_timestamp;
mod ids;
mod platform;
mod released;
mod slots;
mod system;
mod view;

pub use commit_queue::CommitPlace;
pub use ids::FinishSeq;
pub use slots::{PurgeLimit, ViewObserver, ViewSlotHandle};
pub use system::{Standing, TxnSystem};
pub use view::ReadView;
