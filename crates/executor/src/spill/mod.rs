//! Operators that go to disk when they have more than their share of the statement's memory ([`crate::memory::Watch`]).
//!
//! # How
//! All of them write the same: rows as columns, up to a chunk of them in a block (`stored.rs`), blocks in one temporary file for each operator (crate `spill`).
//! A sort writes runs and merges them (`merge.rs`). Groups, DISTINCT and hash joins write rows that they have no room for to partitions by
//! the hash of their key (`partitions.rs`; INTERSECT and EXCEPT: `../set_operation.rs`), and do one partition after the other when their input has ended; one that is too large again is divided again by another hash.
//! Rows that are kept to be read again are written in their order (`kept.rs`).
//!
//! # Invariants
//! 1. An expression is evaluated once for a row, whether the row was on disk or not: keys are written beside the rows. So warnings and volatile functions are as in memory.
//! 2. Rows of equal keys keep their order among themselves: a sort stays stable, the first row of a group stays its first.
//! 3. Memory that was held for what is on disk is given back before more is read.
//! 4. Files are values: an error, KILL or LIMIT drops them, and they have no name.
//!
//! # Not here
//! In memory nothing is different: operators compare what they hold with a number, once a chunk.

mod kept;
mod merge;
mod partitions;
mod stored;

pub(crate) use kept::{Keeper, Kept, Row, RowAt, row_bytes};
pub(crate) use merge::Runs;
pub(crate) use partitions::{Divided, LEVELS_MAX, PARTITIONS, Partitions, Source, partition_of, sources};
pub(crate) use stored::{Reader, Stored, Writer};

use crate::batch::chunk::CHUNK_ROWS;
use crate::errors::internal;
use crate::exec::Exec;
use crate::run::Result;
use ::spill::SpillFile;

/// An operator's buffers are this part of its share: so that as many may be read or written at once.
const BUFFERS: usize = 32;
/// Largest buffer, and the smallest that is worth a call of the system (but for tests with tiny shares).
const BUFFER_BYTES_MAX: usize = 256 << 10;
const BUFFER_BYTES_MIN: usize = 256;

impl Exec<'_> {
    /// Makes a temporary file.
    #[cold]
    pub(crate) fn spill_file(&self) -> Result<SpillFile> {
        match self.context.spill_directory() {
            Some(directory) => Ok(directory.create()?),
            None => Err(internal("no directory for temporary files")),
        }
    }

    /// Most rows of a block: of what is read back into the operators of a statement.
    pub(crate) fn spill_rows_max(&self) -> usize {
        if self.plan.volatile { 1 } else { CHUNK_ROWS }
    }

    /// Bytes of one block.
    pub(crate) fn spill_block_bytes(&self) -> usize {
        let room = usize::try_from(::memory::room()).unwrap_or(usize::MAX);
        (self.memory.operator_limit().min(room) / BUFFERS).clamp(BUFFER_BYTES_MIN, BUFFER_BYTES_MAX)
    }
}
