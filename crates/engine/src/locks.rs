//! Locks as the engine takes them: on rows, on the gaps between them, on entries of indexes, on AUTO_INCREMENT values. Who waits for whom is `lock_manager`'s.
//!
//! # Start at
//! `row_lock.rs` for what is in the way of a write or a locking read; then `gap_lock.rs`, and `entry_lock.rs` for entries whose rows are not locked; `ahead.rs` for rows that a statement has not come to; `left_wait.rs` for waits without a thread. `auto_increment_lock.rs` stands alone.

pub(crate) mod ahead;
pub(crate) mod auto_increment_lock;
pub(crate) mod entry_lock;
pub(crate) mod gap_lock;
pub(crate) mod left_wait;
pub(crate) mod row_lock;
