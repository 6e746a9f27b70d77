//! Rows as bytes, and keys as bytes that compare as values do.
//!
//! The layouts are drawn in `docs/format/record.md`.
//!
//! # Invariants
//! 1. A row starts with [`header::RowHeader`] at fixed offsets, so that the engine can patch it in place.
//! 2. Any column of a row is found in constant time, from the [`RowLayout`] of the row's schema version.
//! 3. Keys of one index order by bytes (`memcmp`) as their values order by type and collation, NULL first, descending parts last to first.
//! 4. No key part is a prefix of another key part of the same column, so parts stand one after the other without separators.
//! 5. Malformed bytes give an error, never a panic: rows and keys come from disk.
//!
//! # Not here
//! Overflow chains of large rows and the values of secondary entries are the engine's.
//!
//! # Start at
//! [`RowLayout`], then [`key`]; [`KeyRestore`] for the way back from a key to a row.

mod columns;
pub mod header;
pub mod key;
mod layout;
mod place;
mod raw;
mod restore;
mod row;

#[cfg(test)]
mod tests;

pub use base::Malformed;
pub use columns::ColumnSet;
pub use header::RowHeader;
pub use key::KeyPart;
pub use layout::{Cell, ColumnSource, Compute, EncodeError, RowLayout};
pub use place::{FixedPlace, TextPlace};
pub use restore::{KeyRestore, RestoreBuffer};
pub use row::{ColumnRef, RowRef};
