//! Batched key access: the keys of many left rows are looked up together, in the order of the keys, and the pairs go on in the order of the left rows.
//!
//! # Invariants
//! 1. The pairs are those of [`Exec::pairs_one_by_one`], in the same order. Each key says all that is asked for by it; where one does not, all are looked up there.
//! 2. A batch's keys have at most `join_buffer_size` bytes (one key always goes), its right rows at most what a chunk may have in bytes. Keys that find
//!    more than that are looked up one by one, and the batches after them are smaller.

use super::{Asked, Lookup, Pass, gather_left, key_of};
use crate::batch::chunk::{CHUNK_ROWS, Chunk};
use crate::batch::decode::{append_row, readers};
use crate::batch::expression::Vector;
use crate::errors::internal;
use crate::exec::Exec;
use crate::run::{Flow, Result};
use engine::{HandlerCall, Step, WantedKeys};
use planner::plan::KeyBatches;

/// Fewer keys are looked up one by one, unless the statement asks for batches.
const KEYS_MIN: usize = 8;
/// Most right rows of a batch.
const FOUND_MAX: usize = 4 * CHUNK_ROWS;
/// Bytes of a value beside those of strings.
const VALUE_BYTES: usize = 16;

/// Most left rows whose keys are looked up together.
pub(super) fn rows_max(batches: KeyBatches) -> usize {
    if batches == KeyBatches::Never { 0 } else { CHUNK_ROWS }
}

/// The keys of some left rows.
#[derive(Default)]
struct KeyBatch {
    bytes: Vec<u8>,
    /// The left rows that ask for something, and where the key of each ends.
    askers: Vec<(u16, usize)>,
    /// Bytes that all keys begin with.
    common: usize,
    /// A row asks for more than one key says.
    inexact: bool,
    /// What follows the common bytes, as a number; and the asker. In the order of the keys once they are sorted.
    order: Vec<(u64, u32)>,
    /// The number of each asker's key among those that differ.
    key_nos: Vec<u32>,
    /// An asker of each key.
    firsts: Vec<u32>,
}

impl KeyBatch {
    #[inline]
    fn key(&self, asker: u32) -> &[u8] {
        let at = asker as usize;
        let start = if at == 0 { 0 } else { self.askers[at - 1].1 };
        &self.bytes[start..self.askers[at].1]
    }

    /// Takes the keys of the first of `rows`, in order; returns of how many.
    fn fill(&mut self, lookup: &Lookup<'_>, vectors: &[Vector<'_>], rows: &[u16], bytes_max: usize) -> Result<usize> {
        (self.inexact, self.common) = (false, usize::MAX);
        self.bytes.clear();
        self.askers.clear();
        let mut key = Vec::new();
        for (taken, row) in rows.iter().enumerate() {
            match key_of(lookup, vectors, usize::from(*row), &mut key) {
                Asked::Nothing => continue,
                Asked::Key => {}
                Asked::Prefix => self.inexact = true,
            }
            if !self.askers.is_empty() && self.bytes.len() + key.len() > bytes_max {
                return Ok(taken);
            }
            let first = self.askers.first().map_or(key.len(), |(_, end)| *end);
            let shared = self.common.min(first).min(key.len());
            self.common = if self.askers.is_empty() || key[..shared] == self.bytes[..shared] {
                shared
            } else {
                key.iter().zip(&self.bytes[..shared]).take_while(|(a, b)| a == b).count()
            };
            ::memory::reserve(&mut self.bytes, key.len())?;
            self.bytes.extend_from_slice(&key);
            self.askers.push((*row, self.bytes.len()));
        }
        Ok(rows.len())
    }

    /// Orders the keys and numbers those that differ.
    fn sort(&mut self) {
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        order.extend((0..self.askers.len() as u32).map(|asker| {
            let rest = &self.key(asker)[self.common..];
            let mut head = [0; 8];
            let length = rest.len().min(8);
            head[..length].copy_from_slice(&rest[..length]);
            (u64::from_be_bytes(head), asker)
        }));
        order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.key(a.1).cmp(self.key(b.1))));
        self.firsts.clear();
        self.key_nos.clear();
        self.key_nos.resize(self.askers.len(), 0);
        for (_, asker) in &order {
            if self.firsts.last().is_none_or(|last| self.key(*last) != self.key(*asker)) {
                self.firsts.push(*asker);
            }
            self.key_nos[*asker as usize] = self.firsts.len() as u32 - 1;
        }
        self.order = order;
    }
}

/// Right rows that were found: for each, in the order in which they came, its number in the order of keys and index, and the number of its key.
#[derive(Default)]
struct FoundRows {
    rows: Vec<(u32, u32)>,
    /// Their places, in that order.
    places: Vec<u32>,
    /// Where the places of each key begin, and the end.
    starts: Vec<u32>,
}

impl FoundRows {
    fn arrange(&mut self, key_count: usize) {
        let Self { rows, places, starts } = self;
        places.clear();
        places.extend(0..rows.len() as u32);
        if !rows.is_sorted() {
            places.sort_unstable_by_key(|at| rows[*at as usize].0);
        }
        starts.clear();
        starts.resize(key_count + 1, 0);
        rows.iter().for_each(|(_, key)| starts[*key as usize + 1] += 1);
        for key in 0..key_count {
            starts[key + 1] += starts[key];
        }
    }

    /// The places of a key's rows.
    fn of(&self, key: u32) -> &[u32] {
        &self.places[self.starts[key as usize] as usize..self.starts[key as usize + 1] as usize]
    }
}

impl<'a> Exec<'a> {
    /// Finds the partners of a chunk's rows, many at a time.
    pub(super) fn pairs_together(
        &mut self,
        lookup: &Lookup<'a>,
        vectors: &[Vector<'_>],
        chunk: &Chunk,
        pass: Pass<'_, 'a>,
    ) -> Result<Flow> {
        let keys_min = if lookup.node.key_batches == KeyBatches::Always { 1 } else { KEYS_MIN };
        let bytes_max = self.context.join_buffer_bytes();
        let (mut batch, mut found) = (KeyBatch::default(), FoundRows::default());
        let mut rows = chunk.rows();
        let mut flow = Flow::Continue;
        while !rows.is_empty() && flow == Flow::Continue {
            self.check_cancel()?;
            let most = rows.len().min(lookup.rows_together.get());
            if most == 0 {
                return self.pairs_one_by_one(lookup, vectors, chunk, rows, pass);
            }
            let taken = batch.fill(lookup, vectors, &rows[..most], bytes_max)?;
            let (asking, rest) = rows.split_at(taken);
            rows = rest;
            if batch.askers.is_empty() {
                continue;
            }
            let mut right = self.take_chunk(lookup.node.reading(true).columns.iter().map(|(_, slot)| *slot));
            let one_by_one = batch.inexact || batch.askers.len() < keys_min || !self.look_up(lookup, &mut batch, &mut found, &mut right)?;
            flow = match one_by_one {
                true => self.pairs_one_by_one(lookup, vectors, chunk, asking, pass)?,
                false => self.pass_found(lookup, chunk, &batch, &found, &right, pass)?,
            };
            self.return_chunk(right);
        }
        Ok(flow)
    }

    /// Looks a batch's keys up; `false` when they find too much.
    fn look_up(&mut self, lookup: &Lookup<'a>, batch: &mut KeyBatch, found: &mut FoundRows, right: &mut Chunk) -> Result<bool> {
        let plan = self.plan;
        let node = lookup.node;
        let table = &plan.tables[node.table as usize].storage;
        let reading = node.reading(true);
        let readers = readers(reading.columns, table.layout());
        let bytes_max = self.chunk_bytes_max();
        let row_bytes = VALUE_BYTES * (1 + readers.len());
        batch.sort();
        let first = lookup.takes_first(true);
        let keys: Vec<&[u8]> = batch.firsts.iter().map(|asker| batch.key(*asker)).collect();
        let wanted = WantedKeys { keys: &keys, whole: lookup.unique, first, restore: reading.cover };
        let session = self.session.as_deref_mut().ok_or_else(|| internal("engine in use"))?;
        let (mut bytes, mut failed) = (0, None);
        let columns = right.columns_mut();
        found.rows.clear();
        let all = session.for_each_of_keys(table, lookup.index_no, wanted, |place, row| {
            if found.rows.len() == FOUND_MAX || bytes >= bytes_max {
                return Step::Stop;
            }
            match append_row(row, table.layout(), &readers, columns) {
                Ok(text_bytes) => bytes += row_bytes + text_bytes,
                Err(error) => {
                    failed = Some(error);
                    return Step::Stop;
                }
            }
            found.rows.push((place.no as u32, place.key as u32));
            Step::Continue
        })?;
        if let Some(error) = failed {
            return Err(error.into());
        }
        self.count_calls(HandlerCall::ReadKey, keys.len());
        if !lookup.unique && !first {
            self.count_calls(HandlerCall::ReadNext, found.rows.len());
        }
        if !all {
            let fewer = batch.askers.len() / 4;
            lookup.rows_together.set(if fewer < KEYS_MIN { 0 } else { fewer });
            return Ok(false);
        }
        right.set_len(found.rows.len());
        found.arrange(keys.len());
        Ok(true)
    }

    /// Passes the pairs of a batch on, in the order of the left rows.
    fn pass_found(
        &mut self,
        lookup: &Lookup<'a>,
        chunk: &Chunk,
        batch: &KeyBatch,
        found: &FoundRows,
        right: &Chunk,
        pass: Pass<'_, 'a>,
    ) -> Result<Flow> {
        let rows_max = self.chunk_rows_max();
        let held = right.bytes();
        self.memory.take(held)?;
        let mut pairs = self.take_chunk(std::iter::empty());
        let (mut left, mut places): (Vec<u16>, Vec<u32>) = (Vec::new(), Vec::new());
        let mut flow = Flow::Continue;
        'askers: for ((row, _), key) in batch.askers.iter().zip(&batch.key_nos) {
            for place in found.of(*key) {
                left.push(*row);
                places.push(*place);
                if left.len() == rows_max {
                    flow = self.pass_gathered(lookup, chunk, right, (&left, &places), &mut pairs, pass)?;
                    left.clear();
                    places.clear();
                    if flow == Flow::Stop {
                        break 'askers;
                    }
                }
            }
        }
        if flow == Flow::Continue && !left.is_empty() {
            flow = self.pass_gathered(lookup, chunk, right, (&left, &places), &mut pairs, pass)?;
        }
        self.return_chunk(pairs);
        self.memory.give_back(held);
        Ok(flow)
    }

    /// Puts pairs together and passes them on.
    fn pass_gathered(
        &mut self,
        lookup: &Lookup<'a>,
        chunk: &Chunk,
        right: &Chunk,
        (left, places): (&[u16], &[u32]),
        pairs: &mut Chunk,
        pass: Pass<'_, 'a>,
    ) -> Result<Flow> {
        self.check_cancel()?;
        let reading = lookup.node.reading(true);
        pairs.reset(chunk.slots().iter().copied().chain(reading.columns.iter().map(|(_, slot)| *slot)));
        gather_left(pairs, chunk, left);
        for (to, from) in pairs.columns_mut()[chunk.slots().len()..].iter_mut().zip(right.columns()) {
            to.gather(from, places.iter().map(|place| *place as usize));
        }
        pairs.set_len(left.len());
        self.pass_accounted(left, pairs, reading.filter, pass)
    }
}
