//! Before-images of running and recent transactions: append-only segments in memory, spilled to `undo/` when cold.
//!
//! # Invariants
//! 1. An address is given out once: a segment's number holds its slot in the segment table and a generation that only grows.
//! 2. A record does not span segments. One too long for a segment is a chain: a head record that lists chunk records.
//! 3. A segment is recycled when every record in it was released, and it takes no more records. Until then its address reads the
//!    same bytes, from memory or from disk.
//! 4. A reader of a released address gets [`UndoError::Released`] or old bytes, never memory it does not own: buffers are reused,
//!    not unmapped, and what was copied is believed only when the segment's number is still there afterwards.
//! 5. File space that a checkpoint's directory lists is not overwritten before a later directory, which does not list it, is durable
//!    ([`UndoStore::checkpoint_written`]), nor while somebody holds the places ([`UndoStore::hold_places`]).
//!
//! # Lock order
//! maintenance (held over I/O) → shard → segment list (never I/O).
//!
//! # Not here
//! What a record says (`engine`), and redo: recovery rebuilds undo from the log ([`UndoStore::restore`]) and the last checkpoint.
//!
//! # Start at
//! [`UndoStore`], then `segment.rs`. The bytes on disk: `frame.rs` and `checkpoint.rs`.

mod checkpoint;
mod chunked;
mod error;
mod frame;
mod hold;
mod memory;
mod near;
mod passed;
mod recovery;
mod segment;
mod share;
mod store;

pub use error::UndoError;
pub use frame::RECORD_BYTES_MAX;
pub use hold::{PlacesHold, UndoExtent};
pub use near::{ChainReader, Near};
pub use share::SegmentShare;
pub use store::{DIR, FILE, UndoConfig, UndoStats, UndoStore};
