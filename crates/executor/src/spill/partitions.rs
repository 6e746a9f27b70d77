//! Rows divided by the hash of their key: equal keys are in one partition.

use crate::batch::chunk::Chunk;
use crate::batch::column::Column;
use crate::batch::expression::Vector;
use crate::exec::Exec;
use crate::hash_key::Key;
use crate::memory::value_bytes;
use crate::run::Result;
use crate::spill::{Reader, Stored, Writer};
use ::memory::Kind;
use ::spill::{Counters, SpillFile};
use planner::expr::Slot;
use std::hash::BuildHasher;
use types::Value;

/// Partitions of one division.
pub(crate) const PARTITIONS: usize = 16;
/// Divisions of divisions; what is too large still stays in memory, and may end with 1038.
pub(crate) const LEVELS_MAX: u32 = 8;

/// The partition of a key; other levels divide by other bits.
#[inline]
pub(crate) fn partition_of(key: Key<'_>, level: u32) -> usize {
    let state = foldhash::fast::FixedState::with_seed(0x5be1_1000 + u64::from(level));
    let hash = match key {
        Key::Int(n) => state.hash_one(n),
        Key::Bytes(bytes) => state.hash_one(bytes),
    };
    (hash >> 60) as usize % PARTITIONS
}

/// Where the values of a row's slot are.
pub(crate) enum Source<'c> {
    /// In a column, at the row's place.
    Column(&'c Column),
    /// The same for all rows.
    Value(Value),
}

/// Where the values of slots are: in a list of vectors by slot, in a chunk, or in the frame.
pub(crate) fn sources<'c>(x: &Exec<'_>, slots: &[Slot], keys: &'c [(Slot, Vector<'c>)], chunk: Option<&'c Chunk>) -> Vec<Source<'c>> {
    let of = |slot: &Slot| match keys.iter().find(|(key, _)| key == slot) {
        Some((_, Vector::Constant(value))) => Source::Value(value.clone()),
        Some((_, Vector::Shared(column))) => Source::Column(column),
        Some((_, Vector::Owned(column))) => Source::Column(column),
        None => match chunk.and_then(|chunk| chunk.column(*slot)) {
            Some(column) => Source::Column(column),
            None => Source::Value(x.get(*slot).clone()),
        },
    };
    slots.iter().map(of).collect()
}

/// Partitions that are being written.
pub(crate) struct Partitions {
    file: SpillFile,
    slots: Vec<Slot>,
    writers: Vec<Writer>,
    buffer: Vec<u8>,
    /// Bytes accounted for buffers.
    held: usize,
}

impl Partitions {
    /// Empty ones of rows with these slots.
    #[cold]
    pub(crate) fn new(x: &mut Exec<'_>, mut slots: Vec<Slot>) -> Result<Partitions> {
        slots.sort_unstable();
        slots.dedup();
        let (file, block_bytes) = (x.spill_file()?, x.spill_block_bytes());
        let held = PARTITIONS * block_bytes;
        x.memory.take_for(Kind::Rows, held)?;
        let writers = (0..PARTITIONS).map(|_| Writer::new(slots.len(), block_bytes, x.spill_rows_max())).collect();
        Ok(Partitions { file, slots, writers, buffer: Vec::new(), held })
    }

    /// Where what goes to disk is counted.
    pub(crate) fn counters(&self) -> &Counters {
        self.file.directory().counters()
    }

    /// Slots of a row.
    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Adds a row.
    pub(crate) fn add(&mut self, partition: usize, sources: &[Source<'_>], at: usize) -> Result<()> {
        let writer = &mut self.writers[partition];
        let mut bytes = 0;
        for (to, from) in writer.columns.iter_mut().zip(sources) {
            match from {
                Source::Column(from) => {
                    bytes += from.value_bytes(at);
                    to.push_from(from, at);
                }
                Source::Value(value) => {
                    bytes += value_bytes(value);
                    to.push(value);
                }
            }
        }
        writer.added(bytes, &mut self.file, &mut self.buffer)
    }

    /// All rows are there.
    pub(crate) fn finish(mut self, x: &mut Exec<'_>) -> Result<Divided> {
        let mut parts = Vec::with_capacity(PARTITIONS);
        for writer in self.writers {
            parts.push(writer.finish(&mut self.file, &mut self.buffer)?);
        }
        x.memory.give_back_for(Kind::Rows, self.held);
        Ok(Divided { file: self.file, slots: self.slots, parts })
    }
}

/// Partitions that have been written.
pub(crate) struct Divided {
    file: SpillFile,
    slots: Vec<Slot>,
    parts: Vec<Stored>,
}

impl Divided {
    /// Readers of the partitions that have rows.
    pub(crate) fn readers(&self) -> impl Iterator<Item = PartReader<'_>> {
        (0..self.parts.len()).filter(|part| self.rows(*part) > 0).map(|part| self.reader(part))
    }

    /// Reads a partition from its first row on.
    pub(crate) fn reader(&self, part: usize) -> PartReader<'_> {
        let part = &self.parts[part];
        PartReader { of: self, part, reader: Reader::new(part), buffer: Vec::new() }
    }

    /// Rows of a partition.
    pub(crate) fn rows(&self, part: usize) -> u64 {
        self.parts[part].rows
    }

    /// Slots of a row.
    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }
}

/// Reads a partition by chunks.
pub(crate) struct PartReader<'d> {
    of: &'d Divided,
    part: &'d Stored,
    reader: Reader,
    buffer: Vec<u8>,
}

impl PartReader<'_> {
    /// Puts the next rows into a chunk; whether there were any.
    pub(crate) fn read(&mut self, x: &Exec<'_>, chunk: &mut Chunk) -> Result<bool> {
        x.check_cancel()?;
        let slots = &self.of.slots;
        let Some((columns, rows)) = self.reader.read(self.part, &self.of.file, slots.len(), &mut self.buffer)? else { return Ok(false) };
        chunk.fill(slots.iter().copied(), columns, rows);
        Ok(true)
    }
}
