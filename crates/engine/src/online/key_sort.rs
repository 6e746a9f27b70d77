//! Sorting the keys of a new index, or rows by a new primary key: in memory while they fit, by sorted runs in a temporary file past that.
//!
//! # Invariants
//! 1. Keys come out ascending, each as it went in.
//! 2. Memory: one run, and while runs are merged one block of each.

use crate::{Error, Result};
use record::{KeyPart, RowRef};
use spill::{Directory, Place, SpillFile, begin_block};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Bytes of a block of a run on disk, about.
const BLOCK_BYTES: usize = 256 << 10;
/// What is more than a key's own parts take.
const KEY_BYTES_MAX: usize = base::PAGE_BYTES;

/// Keys in one arena.
#[derive(Default)]
pub(crate) struct Keys {
    bytes: Vec<u8>,
    /// Start, length of the user parts, end.
    keys: Vec<(usize, u32, usize)>,
}

impl Keys {
    /// Adds the key of a row.
    pub(crate) fn push(&mut self, row: RowRef<'_>, parts: &[KeyPart], primary_key: &[u8]) -> Result<()> {
        let start = self.bytes.len();
        // The statement is marked, and ends as one that was stopped.
        memory::reserve(&mut self.bytes, KEY_BYTES_MAX + primary_key.len()).map_err(|_| Error::Killed)?;
        memory::reserve(&mut self.keys, 1).map_err(|_| Error::Killed)?;
        record::key::encode_columns(row, parts, &mut self.bytes).map_err(|_| Error::corrupt("row that its layout cannot read"))?;
        let user_bytes = (self.bytes.len() - start) as u32;
        self.bytes.extend_from_slice(primary_key);
        self.keys.push((start, user_bytes, self.bytes.len()));
        Ok(())
    }

    /// Adds a key of which only the first part says where it belongs, with what is behind it.
    pub(crate) fn push_pair(&mut self, key: &[u8], rest: &[u8]) -> Result<()> {
        let start = self.bytes.len();
        memory::reserve(&mut self.bytes, key.len() + rest.len()).map_err(|_| Error::Killed)?;
        memory::reserve(&mut self.keys, 1).map_err(|_| Error::Killed)?;
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(rest);
        self.keys.push((start, key.len() as u32, self.bytes.len()));
        Ok(())
    }

    /// Takes the newest key out again.
    pub(crate) fn pop(&mut self) {
        if let Some((start, ..)) = self.keys.pop() {
            self.bytes.truncate(start);
        }
    }

    /// The newest key.
    pub(crate) fn last(&self) -> &[u8] {
        self.keys.last().map_or(&[], |(start, _, end)| &self.bytes[*start..*end])
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Memory held.
    pub(crate) fn bytes(&self) -> u64 {
        (self.bytes.capacity() + self.keys.capacity() * size_of::<(usize, u32, usize)>()) as u64
    }

    /// What the keys themselves take.
    fn used_bytes(&self) -> usize {
        self.bytes.len() + self.keys.len() * size_of::<(usize, u32, usize)>()
    }

    pub(crate) fn sort(&mut self) {
        let bytes = &self.bytes;
        self.keys.sort_unstable_by(|a, b| bytes[a.0..a.2].cmp(&bytes[b.0..b.2]));
    }

    /// A key, and the length of its user parts.
    pub(crate) fn key(&self, no: usize) -> (&[u8], usize) {
        let (start, user_bytes, end) = self.keys[no];
        (&self.bytes[start..end], user_bytes as usize)
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.keys.clear();
    }
}

/// Sorts keys.
pub(crate) struct KeySort {
    pub(crate) keys: Keys,
    memory_max: usize,
    directory: Option<Arc<Directory>>,
    file: Option<SpillFile>,
    /// Blocks of each run on disk.
    runs: Vec<Vec<Place>>,
}

impl KeySort {
    /// With so much memory; without a directory it takes what it needs.
    pub(crate) fn new(memory_max: usize, directory: Option<Arc<Directory>>) -> KeySort {
        KeySort { keys: Keys::default(), memory_max, directory, file: None, runs: Vec::new() }
    }

    /// Whether what is in memory should go to disk.
    pub(crate) fn is_full(&self) -> bool {
        self.directory.is_some() && self.keys.used_bytes() >= self.memory_max
    }

    /// Writes what is in memory out as a sorted run.
    pub(crate) fn spill(&mut self) -> Result<()> {
        let (Some(directory), true) = (&self.directory, self.keys.len() > 0) else { return Ok(()) };
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                directory.counters().sorts.inc();
                none.insert(directory.create().map_err(failed)?)
            }
        };
        self.keys.sort();
        let (mut block, mut places) = (Vec::new(), Vec::new());
        begin_block(&mut block);
        for no in 0..self.keys.len() {
            let (key, user_bytes) = self.keys.key(no);
            block.extend_from_slice(&(key.len() as u32).to_le_bytes());
            block.extend_from_slice(&(user_bytes as u32).to_le_bytes());
            block.extend_from_slice(key);
            if block.len() >= BLOCK_BYTES || no + 1 == self.keys.len() {
                places.push(file.append(&mut block).map_err(failed)?);
                begin_block(&mut block);
            }
        }
        self.runs.push(places);
        self.keys.clear();
        Ok(())
    }

    /// Calls `f` with each key in ascending order, and the length of its user parts.
    pub(crate) fn drain<E: From<Error>>(
        mut self,
        mut f: impl FnMut(&[u8], usize) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        if self.runs.is_empty() {
            self.keys.sort();
            return (0..self.keys.len()).try_for_each(|no| {
                let (key, user_bytes) = self.keys.key(no);
                f(key, user_bytes)
            });
        }
        self.spill()?;
        self.keys = Keys::default();
        let Some(file) = &self.file else { return Ok(()) };
        if let Some(directory) = &self.directory {
            directory.counters().merge_passes.inc();
        }
        let mut heap = BinaryHeap::new();
        for places in &self.runs {
            let mut run = Run { places: places.iter(), block: Vec::new(), key: 0..0, user_bytes: 0 };
            if run.next(file)? {
                heap.push(Reverse(run));
            }
        }
        while let Some(mut top) = heap.peek_mut() {
            let run = &mut top.0;
            f(&run.block[run.key.clone()], run.user_bytes)?;
            if !run.next(file)? {
                std::collections::binary_heap::PeekMut::pop(top);
            }
        }
        Ok(())
    }
}

/// A run that is read; ordered by the key it stands at.
struct Run<'p> {
    places: std::slice::Iter<'p, Place>,
    block: Vec<u8>,
    key: std::ops::Range<usize>,
    user_bytes: usize,
}

impl Run<'_> {
    /// Goes to the next key; `false` at the end.
    fn next(&mut self, file: &SpillFile) -> Result<bool> {
        let mut at = self.key.end;
        if at >= self.block.len() {
            let Some(place) = self.places.next() else { return Ok(false) };
            file.read(*place, &mut self.block).map_err(failed)?;
            at = spill::BLOCK_HEADER_BYTES;
        }
        let word = |at: usize| self.block.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
        let (Some(bytes), Some(user_bytes)) = (word(at), word(at + 4)) else { return Err(Error::corrupt("block of a sorted run")) };
        self.key = at + 8..at + 8 + bytes as usize;
        self.user_bytes = user_bytes as usize;
        if self.key.end > self.block.len() || self.user_bytes > self.key.len() {
            return Err(Error::corrupt("block of a sorted run"));
        }
        Ok(true)
    }

    fn bytes(&self) -> &[u8] {
        &self.block[self.key.clone()]
    }
}

impl Ord for Run<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.bytes().cmp(other.bytes())
    }
}

impl PartialOrd for Run<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Run<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Run<'_> {}

fn failed(failure: spill::Failure) -> Error {
    Error::Io(failure.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::{SimDisk, SplitMix64};
    use record::RowLayout;
    use std::collections::BTreeMap;
    use types::{Collation, ColumnType, Value};

    /// The same keys with a memory that holds some of them, all of them, and without temporary files.
    #[test]
    fn keys_come_out_in_order_however_little_memory_there_is() {
        let layout = RowLayout::new(&[ColumnType::varchar(100, Collation::Binary).not_null()], 0);
        let parts = [KeyPart::ascending(0)];
        for (seed, memory_max, on_disk) in [(1, 4096, true), (2, 1, true), (3, 1 << 30, true), (4, 1, false)] {
            let disk: Arc<dyn env::Disk> = Arc::new(SimDisk::new(seed));
            let directory = on_disk.then(|| Arc::new(Directory::on(disk, "tmp").expect("a directory")));
            let mut random = SplitMix64::new(seed);
            let mut sort = KeySort::new(memory_max, directory.clone());
            let mut expected = BTreeMap::new();
            for no in 0u64..3000 {
                let text = format!("{}{}", random.below(50), "x".repeat(random.below(60) as usize));
                let mut bytes = Vec::new();
                layout.encode(&[Value::from(text)], &mut bytes).expect("encoded");
                sort.keys.push(RowRef::new(&layout, &bytes), &parts, &no.to_be_bytes()).expect("room");
                let key = sort.keys.last().to_vec();
                expected.insert(key.clone(), key.len() - 8);
                if sort.is_full() && random.below(20) == 0 {
                    sort.spill().expect("written");
                }
            }
            assert_eq!(sort.runs.is_empty(), !on_disk || memory_max > 1 << 20, "seed {seed}");
            let mut found = Vec::new();
            sort.drain(|key, user_bytes| {
                found.push((key.to_vec(), user_bytes));
                Ok::<(), Error>(())
            })
            .expect("drained");
            assert!(found.into_iter().eq(expected), "seed {seed}");
        }
    }
}
