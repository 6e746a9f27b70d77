//! Buffer pool: the in-memory home of data-file pages, their latches, their way to disk and the mini-transactions that change them.
//!
//! # Invariants
//! 1. A page is in at most one frame; a frame holds at most one page. The page's table word says which.
//! 2. A page that any guard latches is not evicted; an optimistic reader sees the version change.
//! 3. A page image reaches `page_store` only when `wal` is durable up to the page's LSN.
//! 4. A frame's `first_dirty` is set before the record that dirtied it is marked complete in the log, and cleared only under a latch that
//!    keeps writers out; until the image is synced the LSN stands in `writing`. So `min_dirty_lsn` never misses a change that is not on disk.
//! 5. Pages change only through an [`Mtr`]; a mini-transaction that changed something commits or the process aborts.
//! 6. A clean frame equals the page on disk, or the page does not exist there and was never changed.
//!
//! # Lock order
//! page latch → eviction queues → flush lock → log, page store. Buckets of parked threads are leaves. No latch is waited for while the
//! flush lock is held: the flusher passes over pages that are latched exclusively.
//!
//! # Not here
//! Which page to read (also ahead: `read_ahead.rs` only does it; after a restart: `warm.rs` tells which there are and reads what it is given), in which order pages are latched (the B+tree's and the space map's rule), checkpoints (the engine writes them).
//!
//! # Start at
//! [`BufferPool`], then `word.rs` (the latch), `mtr.rs`, `flush.rs`.

mod cached;
mod cleaner;
mod error;
mod fetch;
mod flush;
mod frames;
mod guard;
mod mapping;
mod mtr;
mod ops;
mod park;
mod pool;
mod racy;
mod read_ahead;
mod redo;
mod replacement;
mod stats;
mod warm;
mod word;

pub use cached::CachedPage;
pub use cleaner::CleanerHandle;
pub use error::PoolError;
pub use guard::{ExclusiveGuard, OptimisticGuard, SharedGuard};
pub use mtr::{Mtr, PageRef};
pub use ops::{NEW_PAGE, Op, Ops, PAGE_IMAGE, WRITE_BYTES, ops, put_op};
pub use pool::{BufferPool, PoolConfig};
pub use read_ahead::{Brought, ReadAheadHandle};
pub use redo::{RedoHandler, RedoHandlers, RedoOp, makes_page_anew};
pub use stats::StatsSnapshot;
