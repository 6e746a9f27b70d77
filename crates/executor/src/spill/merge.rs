//! Sorted runs: written one after the other, merged many at a time until a last merge gives the rows out.
//!
//! # Invariants
//! 1. Runs are in the order in which their rows came: of equal keys that of the earlier run goes first.
//! 2. A merge holds one block of each of its runs.

use crate::batch::chunk::CHUNK_ROWS;
use crate::batch::column::Column;
use crate::exec::Exec;
use crate::run::{Flow, Result};
use crate::spill::{Reader, Stored, Writer};
use ::memory::Kind;
use ::spill::SpillFile;
use std::cmp::Ordering;

/// Most runs that are merged at once, and the fewest.
const FAN_IN_MAX: usize = 128;
const FAN_IN_MIN: usize = 4;

/// Sorted runs in a file. The first column of each is the rows' keys, as bytes.
pub(crate) struct Runs {
    file: SpillFile,
    runs: Vec<Stored>,
    /// Columns of a row, with the key's.
    width: usize,
    block_bytes: usize,
    buffer: Vec<u8>,
}

impl Runs {
    /// No runs, of rows of so many columns beside the key.
    #[cold]
    pub(crate) fn new(x: &Exec<'_>, columns: usize) -> Result<Runs> {
        let file = x.spill_file()?;
        file.directory().counters().sorts.inc();
        Ok(Runs { file, runs: Vec::new(), width: columns + 1, block_bytes: x.spill_block_bytes(), buffer: Vec::new() })
    }

    /// Writes a run: `put` appends the next row's key and values to the columns and says how many bytes they are, or `None` at the end.
    pub(crate) fn write(&mut self, mut put: impl FnMut(&mut [Column]) -> Result<Option<usize>>) -> Result<()> {
        let mut writer = Writer::new(self.width, self.block_bytes, CHUNK_ROWS);
        while let Some(bytes) = put(&mut writer.columns)? {
            writer.added(bytes, &mut self.file, &mut self.buffer)?;
        }
        let run = writer.finish(&mut self.file, &mut self.buffer)?;
        ::memory::reserve(&mut self.runs, 1)?;
        self.runs.push(run);
        Ok(())
    }

    /// Gives out the first `rows_max` rows of all runs in order: for each, the columns it is in (the key's first) and its place there.
    pub(crate) fn merge<'a>(
        mut self,
        x: &mut Exec<'a>,
        rows_max: u64,
        row: &mut dyn FnMut(&mut Exec<'a>, &[Column], usize) -> Result<Flow>,
    ) -> Result<Flow> {
        let room = usize::try_from(::memory::room()).unwrap_or(usize::MAX);
        let fan_in = (x.memory.operator_limit().min(room) / (2 * self.block_bytes)).clamp(FAN_IN_MIN, FAN_IN_MAX);
        while self.runs.len() > fan_in {
            // Into a new file, so that each pass takes the space of one copy more at most.
            let mut next =
                Runs { file: x.spill_file()?, runs: Vec::new(), width: self.width, block_bytes: self.block_bytes, buffer: Vec::new() };
            for runs in self.runs.chunks(fan_in) {
                let mut writer = Writer::new(self.width, self.block_bytes, CHUNK_ROWS);
                merge_some(x, &self.file, runs, self.width, rows_max, &mut |_, from, at| {
                    let mut bytes = 0;
                    for (to, from) in writer.columns.iter_mut().zip(from) {
                        to.push_from(from, at);
                        bytes += from.value_bytes(at);
                    }
                    writer.added(bytes, &mut next.file, &mut next.buffer)?;
                    Ok(Flow::Continue)
                })?;
                next.runs.push(writer.finish(&mut next.file, &mut next.buffer)?);
            }
            self = next;
        }
        merge_some(x, &self.file, &self.runs, self.width, rows_max, row)
    }
}

/// A run that is being merged: its block at hand.
struct Source<'r> {
    stored: &'r Stored,
    reader: Reader,
    columns: Vec<Column>,
    rows: usize,
    at: usize,
    /// Bytes accounted.
    held: usize,
}

impl Source<'_> {
    fn key(&self) -> &[u8] {
        self.columns.first().map_or(&[], |keys| keys.bytes_at(self.at))
    }

    /// Reads the next block; whether there was one.
    fn read(&mut self, x: &mut Exec<'_>, file: &SpillFile, width: usize, buffer: &mut Vec<u8>) -> Result<bool> {
        x.check_cancel()?;
        x.memory.give_back_for(Kind::Sorts, std::mem::take(&mut self.held));
        self.columns.clear();
        let Some((columns, rows)) = self.reader.read(self.stored, file, width, buffer)? else { return Ok(false) };
        let held = columns.iter().map(Column::bytes).sum();
        x.memory.take_for(Kind::Sorts, held)?;
        (self.columns, self.rows, self.at, self.held) = (columns, rows, 0, held);
        Ok(true)
    }
}

/// The next source is the root of a heap of their numbers.
struct Heap<'s, 'r> {
    sources: &'s mut [Source<'r>],
    order: Vec<usize>,
}

impl Heap<'_, '_> {
    fn is_before(&self, a: usize, b: usize) -> bool {
        match self.sources[a].key().cmp(self.sources[b].key()) {
            Ordering::Less => true,
            Ordering::Equal => a < b,
            Ordering::Greater => false,
        }
    }

    /// Puts the source at a place of the heap where it belongs below it.
    fn sink(&mut self, mut at: usize) {
        loop {
            let mut first = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.order.len() && self.is_before(self.order[child], self.order[first]) {
                    first = child;
                }
            }
            if first == at {
                return;
            }
            self.order.swap(at, first);
            at = first;
        }
    }
}

fn merge_some<'a>(
    x: &mut Exec<'a>,
    file: &SpillFile,
    runs: &[Stored],
    width: usize,
    rows_max: u64,
    row: &mut dyn FnMut(&mut Exec<'a>, &[Column], usize) -> Result<Flow>,
) -> Result<Flow> {
    file.directory().counters().merge_passes.inc();
    let mut buffer = Vec::new();
    let mut sources: Vec<Source<'_>> =
        runs.iter().map(|stored| Source { stored, reader: Reader::new(stored), columns: Vec::new(), rows: 0, at: 0, held: 0 }).collect();
    let mut order = Vec::with_capacity(sources.len());
    for (number, source) in sources.iter_mut().enumerate() {
        if source.read(x, file, width, &mut buffer)? {
            order.push(number);
        }
    }
    let mut heap = Heap { sources: &mut sources, order };
    (0..heap.order.len() / 2).rev().for_each(|at| heap.sink(at));
    let (mut left, mut flow) = (rows_max, Flow::Continue);
    while let Some(first) = heap.order.first().copied()
        && left > 0
    {
        let source = &mut heap.sources[first];
        flow = row(x, &source.columns, source.at)?;
        if flow == Flow::Stop {
            break;
        }
        left -= 1;
        source.at += 1;
        if source.at == source.rows && !source.read(x, file, width, &mut buffer)? {
            heap.order.swap_remove(0);
        }
        heap.sink(0);
    }
    for source in heap.sources.iter() {
        x.memory.give_back_for(Kind::Sorts, source.held);
    }
    Ok(flow)
}
