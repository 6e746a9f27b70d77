//! What builds of indexes and copies of tables (`online/build.rs`) have in common with their callers: why one ended, and what to wait for before it.
//!
//! # Invariants
//! 1. The caller has held the table's metadata lock exclusively when a build begins, so no transaction that wrote the table is unfinished, except those that a
//!    crash left or whose rollback failed; [`Engine::wait_for_recovered`] waits for them.
//! 2. A tree under construction is known to nobody: it becomes part of the table when the dictionary says so. After a crash
//!    it is found as an orphan and its pages are given back.

use crate::engine::Engine;
use crate::table::Table;
use crate::{Error, Result};
use record::KeyPart;
use std::time::{Duration, Instant};

/// Why an index could not be built.
#[derive(Debug)]
pub enum BuildError {
    /// Two rows have the same key in the unique index at this position of the list given; the later one, as stored bytes of the new layout.
    Duplicate {
        /// Position in the list of indexes.
        index_no: usize,
        /// A row with the key.
        row: Vec<u8>,
    },
    /// The engine failed, or was cancelled.
    Engine(Error),
    /// Beside the build more rows were changed than may be noted.
    TooManyChanges,
    /// A row cannot be one of the new definition; why, in the words of who converts them.
    Convert(String),
}

impl From<Error> for BuildError {
    fn from(error: Error) -> BuildError {
        BuildError::Engine(error)
    }
}

impl From<btree::Error> for BuildError {
    fn from(error: btree::Error) -> BuildError {
        BuildError::Engine(error.into())
    }
}

/// Whether a key's user parts have a NULL, which makes two of them no duplicates.
pub(crate) fn key_has_null(table: &Table, parts: &[KeyPart], mut user: &[u8]) -> Result<bool> {
    for part in parts {
        let ty = table.layout().column_type(part.column);
        let null_byte = if part.descending { 0xff } else { 0 };
        if ty.nullable && user.first() == Some(&null_byte) {
            return Ok(true);
        }
        let bytes = record::key::part_bytes(ty, part, user).map_err(|_| Error::corrupt("index key"))?;
        user = &user[bytes..];
    }
    Ok(false)
}

impl Engine {
    /// Waits until what a crash left unfinished is rolled back; [`Error::LockWaitTimeout`] when that takes longer than `timeout`.
    pub fn wait_for_recovered(&self, timeout: Duration) -> Result<()> {
        let deadline = Instant::now() + timeout;
        // The count first: a transaction in neither is in the count until it is in the list.
        while self.recovering.load(sync::atomic::Ordering::Acquire) > 0 || self.rollbacks_pending() > 0 {
            if Instant::now() >= deadline {
                return Err(Error::LockWaitTimeout);
            }
            #[expect(
                clippy::disallowed_methods,
                reason = "a start that waits, seconds long: nobody is to be told at each rollback's end for it"
            )]
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}
