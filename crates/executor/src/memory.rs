//! Memory accounting of one statement.
//!
//! Operators that keep rows take what they keep; past the limit the statement fails with 1038
//! (spilling to disk comes later), so that one query cannot take the server's memory.

use crate::run::Result;
use types::Value;

/// Default limit of a statement.
pub const STATEMENT_BYTES_MAX: usize = 1 << 30;

/// What a statement holds.
#[derive(Debug)]
pub struct Memory {
    used: usize,
    limit: usize,
}

impl Memory {
    /// Nothing held.
    pub fn new(limit: usize) -> Memory {
        Memory { used: 0, limit }
    }

    /// Accounts for bytes about to be kept.
    pub fn take(&mut self, bytes: usize) -> Result<()> {
        self.used += bytes;
        if self.used > self.limit { Err(crate::errors::out_of_sort_memory()) } else { Ok(()) }
    }

    /// Bytes held.
    pub fn used(&self) -> usize {
        self.used
    }

    /// Gives back bytes that are held no longer.
    pub fn give_back(&mut self, bytes: usize) {
        self.used = self.used.saturating_sub(bytes);
    }
}

/// Bytes of a value, heap included.
pub fn value_bytes(value: &Value) -> usize {
    let heap = match value {
        Value::Bytes(b) => b.len() + 16,
        _ => 0,
    };
    std::mem::size_of::<Value>() + heap
}
