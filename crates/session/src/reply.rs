//! Replies: what a statement's client is sent, by way of the packet buffer.
//!
//! # Invariants
//! 1. Rows go from where they lie into the packet buffer, without an intermediate value where the column's bytes are the field's.
//! 2. Texts leave in the client's character set (`charsets.rs`), whoever writes them.
//! 3. What an OK packet tells beside its numbers is noted only for clients that have asked for it.
//!
//! # In this room
//! - `sink.rs`: through what all is written. `output.rs`: rows from the executor; `row_output.rs`, `block_output.rs`: their fields, a row or a block at a time; `result_columns.rs`: what is said of
//!   the columns; `fixed_columns.rs`, `fixed_columns/lists.rs`: of those of SHOW, EXPLAIN and their like; `value_text.rs`: values as text where there is no column.
//! - `charsets.rs`: the client's character sets, for what comes from it, too.
//! - `ok_text.rs`, `session_track.rs`, `transaction_track.rs`: what OK packets tell of the change, the session's state and the transaction.
//!
//! # Start at
//! `output.rs`.

pub(crate) mod block_output;
pub(crate) mod charsets;
pub(crate) mod fixed_columns;
pub(crate) mod ok_text;
pub(crate) mod output;
pub(crate) mod result_columns;
pub(crate) mod row_output;
pub(crate) mod session_track;
pub mod sink;
pub(crate) mod transaction_track;
pub(crate) mod value_text;
