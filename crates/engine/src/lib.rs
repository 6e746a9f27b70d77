//! The storage engine: tables as sets of indexes, transactions over them, recovery, checkpoints, purge.
//!
//! # Invariants
//! 1. The primary row decides what a reader sees; secondary entries lead to it (`write/secondary.rs`), and on leaves all of whose writers
//!    the reader sees they say the same as it (`scan/covered.rs`).
//! 2. A row change, its undo record and its place in the page are one log record (`write.rs`).
//! 3. An acknowledged commit is durable as the flush policy says; without its commit record a transaction is rolled back at the next start.
//! 4. Nobody waits for a lock, a view or the log's free space with a page latched.
//!
//! # Latch order
//! catalogue latches → secondary leaf → primary leaf → (lock table, undo store) → log. Metadata locks before all of them.
//!
//! # Not here
//! What a column's value means (`types`, `record`), names (`catalog`), statements.
//!
//! # Start at
//! [`Engine::open`], [`Session`]; then `write.rs` for the life of a change and `recovery.rs` for what a restart does. `purge.rs`, `scan.rs`, `locks.rs`, `online.rs`, `warm.rs` are heads of rooms, too: each says what is in it.

mod auto_increment_counters;
mod background;
mod backup;
mod by_unique_key;
mod changed_tables;
mod check;
mod checkpoint;
mod commit;
mod config;
mod engine;
mod error;
pub mod files;
pub mod format;
mod handler_counts;
mod locks;
mod log_op;
pub mod offline;
mod online;
pub mod open_tables;
mod prepared;
mod purge;
mod range;
mod read;
mod recovery;
mod rollback;
mod scan;
mod session;
#[doc(hidden)]
pub mod simulation;
mod slots;
mod statistics;
mod status;
mod table;
mod undo_record;
mod version;
mod warm;
mod write;

pub use backup::{BackupPoint, commit_time, undo_extents};
pub use base::{IndexId, PageNo, TableId};
pub use btree::figures_of as entries_of_page;
pub use buffer_pool::CachedPage;
pub use check::{Depth, IndexCheck, TableCheck};
pub use commit::Dependencies;
pub use config::{EngineConfig, Mechanisms};
pub use engine::{Engine, TableSource};
pub use error::{Error, Result};
pub use handler_counts::{HandlerCall, HandlerCalls, HandlerCounts};
pub use lock_manager::shares::SharedTables;
pub use lock_manager::{Cancel, WaitOver};
pub use locks::row_lock::{Read, RowLock, Wait};
pub use online::build::{BuildLimits, OnlineBuild};
pub use online::compare;
pub use online::outcome::BuildError;
pub use online::progress::{BuildProgress, BuildStage, StageLook};
pub use online::remade::Remade;
pub use online::row_copy::{ConvertRow, RowCopy};
pub use page_store::PageType;
pub use prepared::Xid;
pub use range::{KeyRange, after_prefix};
pub use recovery::redo::RedoReport;
pub use scan::by_keys::{FoundKey, WantedKeys};
pub use scan::lookup::Lookup;
pub use scan::runs::Run;
pub use scan::{AskEntry, Direction, RowBatch, RowKey, Scan, ScanState, Step};
pub use session::{Buffers, Isolation, Savepoint, Session};
pub use slots::TransactionInfo;
pub use statistics::IndexFigures;
pub use status::EngineStatus;
pub use table::{Index, IndexSpec, Table, TableSpec, align_to_series};
pub use wal::FlushPolicy;
pub use warm::{DumpStatus, LoadStatus, WarmSettings};
pub use write::deferred::Deferred;
pub use write::staged::Staged;
pub use write::{Modified, Modify, OnDuplicate};

#[cfg(test)]
mod tests;
