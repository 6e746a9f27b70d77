//! Temporary files: where statements put what their memory has no room for.
//!
//! A [`SpillFile`] is a row of blocks. Whoever appends one gets its [`Place`] and reads it by that; which blocks belong together is the caller's to know, so
//! that all runs of a sort, or all partitions of a join, share one file.
//!
//! # Invariants
//! 1. A file has no name: it is gone with its value, with the process, and with the machine. Nothing is to be cleaned up, and nothing is synced.
//! 2. A block is read as it was written, or reading it fails: length and checksum (of the bytes and of where they stand) are looked at.
//! 3. What goes wrong is a [`Failure`] of one statement, with the operation and the system's number.
//!
//! # Not here
//! What is in a block, and when a statement has too much for its memory: crate `executor`.
//!
//! # Start at
//! [`Directory::create`], then `file.rs`.

mod directory;
mod file;

pub use directory::{Counters, Directory};
pub use file::{BLOCK_HEADER_BYTES, Failure, Operation, Place, SpillFile, begin_block};
