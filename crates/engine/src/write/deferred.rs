//! Secondary entries of a statement that inserts very many rows: they wait for its end, in sorted runs in a temporary file, and go in then in one ascending pass over each
//! index. Otherwise each batch of rows would touch every leaf of an index whose keys come in no order.
//!
//! # Invariants
//! 1. Only entries of indexes that are not unique wait: for the others each batch is asked whether its keys are free.
//! 2. Until they are in, the rows are the statement's alone: other transactions do not see them, its own reads come after it, and its rollback finds entries that are there or not. A
//!    locking read of others by such an index locks gaps, for which the entries wait when they come.
//! 3. Memory is bounded by [`BYTES_MAX`] and a block for each run. Where there is no room on disk the entries at hand go in at once.

use crate::session::Session;
use crate::table::Table;
use crate::write::entries::Entries;
use crate::write::staged::{Head, Staged};
use crate::{Error, Result};
use base::{Reader, put_bytes, put_varint};
use spill::{BLOCK_HEADER_BYTES, Directory, Place, SpillFile, begin_block};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::sync::Arc;

/// Bytes of entries that wait in memory, of all indexes.
const BYTES_MAX: usize = 16 << 20;
/// Bytes of a block.
const BLOCK_BYTES: usize = 64 << 10;
/// Entries that go from runs into the index at once.
const MERGED_ENTRIES: usize = 8192;

/// Entries that wait for the end of their statement.
pub struct Deferred {
    directory: Arc<Directory>,
    file: Option<SpillFile>,
    /// By number of the index; nothing for those that do not wait.
    indexes: Vec<Waiting>,
    bytes_max: usize,
    held: memory::Use,
}

#[derive(Default)]
struct Waiting {
    entries: Entries,
    /// Blocks of each run, in order.
    runs: Vec<Vec<Place>>,
}

impl Deferred {
    /// For a statement that inserts into this table.
    pub fn new(table: &Table, directory: Arc<Directory>) -> Deferred {
        let waiting = table.indexes.iter().skip(1).filter(|index| !index.unique).count();
        Deferred {
            directory,
            file: None,
            indexes: table.indexes.iter().map(|_| Waiting::default()).collect(),
            bytes_max: BYTES_MAX / waiting.max(1),
            held: memory::Use::new(memory::Kind::Rows, 0),
        }
    }

    /// Smaller runs, for tests.
    #[cfg(test)]
    pub(crate) fn with_bytes_max(self, bytes_max: usize) -> Deferred {
        Deferred { bytes_max, ..self }
    }

    /// Writes the entries at hand of an index as a run; `false` when there is no room for them.
    fn spill(&mut self, index_no: usize) -> bool {
        let file = match &mut self.file {
            Some(file) => file,
            None => match self.directory.create() {
                Ok(file) => self.file.insert(file),
                Err(_) => return false,
            },
        };
        let Waiting { entries, runs } = &mut self.indexes[index_no];
        entries.sort();
        let (mut places, mut block) = (Vec::new(), Vec::new());
        begin_block(&mut block);
        for no in entries.numbers() {
            put_varint(&mut block, entries.user(no).len() as u64);
            put_bytes(&mut block, entries.key(no));
            if block.len() >= BLOCK_BYTES {
                match file.append(&mut block) {
                    Ok(place) => places.push(place),
                    Err(_) => return false,
                }
                begin_block(&mut block);
            }
        }
        if block.len() > BLOCK_HEADER_BYTES {
            match file.append(&mut block) {
                Ok(place) => places.push(place),
                Err(_) => return false,
            }
        }
        runs.push(places);
        entries.clear();
        true
    }
}

/// A run that is being read; those with the smallest key come first.
struct Run {
    head: Head,
    key: Vec<u8>,
    user_bytes: usize,
    block: Vec<u8>,
    at: usize,
    places: std::vec::IntoIter<Place>,
}

impl Run {
    /// Goes to the next entry; `false` at the end.
    fn next(&mut self, file: &SpillFile) -> Result<bool> {
        if self.at == self.block.len() {
            let Some(place) = self.places.next() else { return Ok(false) };
            file.read(place, &mut self.block).map_err(|failure| Error::Io(failure.to_string()))?;
            self.at = BLOCK_HEADER_BYTES;
        }
        let mut reader = Reader::new(&self.block[self.at..]);
        let damaged = |_| Error::Io("a temporary file is not what was written".into());
        self.user_bytes = reader.varint().map_err(damaged)? as usize;
        let key = reader.bytes().map_err(damaged)?;
        self.key.clear();
        self.key.extend_from_slice(key);
        self.head = Head::of(key, 0);
        self.at = self.block.len() - reader.rest().len();
        Ok(true)
    }
}

impl Ord for Run {
    fn cmp(&self, other: &Run) -> Ordering {
        // The heap's top is its greatest.
        other.head.cmp(&self.head).then_with(|| other.key.cmp(&self.key))
    }
}

impl PartialOrd for Run {
    fn partial_cmp(&self, other: &Run) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Run {
    fn eq(&self, other: &Run) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Run {}

impl Session {
    /// Lets the entries of these rows wait.
    pub(crate) fn defer(&mut self, table: &Table, staged: &Staged, deferred: &mut Deferred) -> Result<()> {
        for (index_no, index) in table.indexes.iter().enumerate().skip(1).filter(|(_, index)| !index.unique) {
            deferred.indexes[index_no].entries.gather(table, index, staged)?;
            if deferred.indexes[index_no].entries.key_bytes() >= deferred.bytes_max && !deferred.spill(index_no) {
                self.add_entries(index, &deferred.indexes[index_no].entries)?;
                deferred.indexes[index_no].entries.clear();
            }
        }
        deferred.held.resize(deferred.indexes.iter().map(|waiting| waiting.entries.held_bytes()).sum());
        Ok(())
    }

    /// Adds all entries that wait.
    pub fn insert_deferred(&mut self, table: &Table, mut deferred: Deferred) -> Result<()> {
        for (index_no, index) in table.indexes.iter().enumerate().skip(1).filter(|(_, index)| !index.unique) {
            let Waiting { mut entries, runs } = std::mem::take(&mut deferred.indexes[index_no]);
            entries.sort();
            let Some(file) = deferred.file.as_ref().filter(|_| !runs.is_empty()) else {
                self.add_entries(index, &entries)?;
                continue;
            };
            let mut heap = BinaryHeap::with_capacity(runs.len());
            for places in runs {
                let mut run =
                    Run { head: Head::of(&[], 0), key: Vec::new(), user_bytes: 0, block: Vec::new(), at: 0, places: places.into_iter() };
                if run.next(file)? {
                    heap.push(run);
                }
            }
            // What is in memory is a run of its own: between the others it goes in by itself.
            let mut merged = Entries::default();
            let mut own = 0;
            loop {
                let first_own = entries.at(own).map(|(key, _)| key);
                let done = match (heap.peek_mut(), first_own) {
                    (Some(mut run), own_key) if own_key.is_none_or(|own_key| run.key.as_slice() < own_key) => {
                        merged.push_sorted(&run.key, run.user_bytes)?;
                        if !run.next(file)? {
                            PeekMut::pop(run);
                        }
                        false
                    }
                    (_, Some(own_key)) => {
                        merged.push_sorted(own_key, entries.user_bytes_at(own))?;
                        own += 1;
                        false
                    }
                    _ => true,
                };
                if merged.len() >= MERGED_ENTRIES || done {
                    self.add_entries(index, &merged)?;
                    merged.clear();
                }
                if done {
                    break;
                }
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for Deferred {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Deferred").field("file", &self.file).finish_non_exhaustive()
    }
}
