//! Counters and histograms that hot paths may touch: sharded, padded, relaxed.
//!
//! # Invariants
//! 1. Counting writes only to a cache line that no other thread writes, or few do (one of [`SHARDS`] by thread).
//! 2. Sums read while others count may miss the latest counts; they never go back for one shard.
//!
//! # Not here
//! Names of status variables (crate `session`), export formats (crate `server`).

mod counter;
mod histogram;

pub use counter::{Counter, CounterSet, SHARDS};
pub use histogram::{Histogram, Snapshot};
