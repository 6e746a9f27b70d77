//! Transaction ids, the committed-bits ring, read views, and what purge may remove.
//!
//! # Invariants
//! 1. An id is either unfinished (its ring bit is 0, or it stands in the list of long transactions) or finished; the change from
//!    one to the other is one atomic operation, so a transaction's effects become visible all at once.
//! 2. A view is closed under "had seen": if it sees T2, and T2 saw T1 as finished, it sees T1 (`ids.rs` holds the argument).
//! 3. A view opened after [`TxnSystem::finish`] of T returned sees T.
//! 4. What [`TxnSystem::purge_limit`] covers is seen by every open view and by every view opened later.
//! 5. Opening, reusing and closing a view writes nothing but the session's own slot.
//!
//! # Lock order
//! list of long transactions (`Rank::LongTxns`), slot registry (`Rank::Leaf`); nothing is called while they are held.
//!
//! # Not here
//! Locks (`lock_manager`), undo, the log: the engine drives commit and rollback and calls [`TxnSystem::finish`] last.
//!
//! # Start at
//! [`TxnSystem`], then `ids.rs`.

pub mod classic;
mod ids;
mod platform;
mod slots;
mod system;
mod view;

pub use ids::FinishSeq;
pub use slots::{PurgeLimit, ViewObserver, ViewSlotHandle};
pub use system::TxnSystem;
pub use view::ReadView;
