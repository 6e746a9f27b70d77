//! Hash joins whose right side is too large for memory: both sides are divided by their keys, and each pair of partitions is joined by itself.
//!
//! A partition that is too large is divided again; where that does not help, because one key has most of the rows, its right side is joined in pieces: the
//! left side is read for each of them, and what has found a partner is remembered.
//!
//! # Invariants
//! 1. A row is on disk with its key, or without one where a part of it is NULL: keys are not evaluated again.
//! 2. Left rows without a key that must be given out are in the first partition.
//! 3. The right side's partitions stay as long as the table would: a join that runs again divides its left side only.

use super::{Building, HashTable, NO_ROW, Pairs};
use crate::batch::Sink;
use crate::batch::chunk::Chunk;
use crate::batch::column::{Column, Data};
use crate::batch::expression::Vector;
use crate::batch::rows::written_slots;
use crate::batch::sort::Sorter;
use crate::exec::Exec;
use crate::hash_key::Key;
use crate::run::{Flow, Result};
use crate::spill::{Divided, PARTITIONS, Partitions, Source, partition_of, sources};
use ::memory::Kind;
use planner::expr::{ExprKind, Slot};
use planner::plan::{HashJoin, JoinKind};
use types::Value;

/// Stands for the key among the slots of a row on disk; no frame has so many.
const KEY: Slot = Slot::MAX;
/// Divisions of divisions.
const LEVELS_MAX: u32 = 4;

/// A key as a value, and back.
fn key_value(key: Key<'_>) -> Value {
    match key {
        Key::Int(n) => Value::Int(n),
        Key::Bytes(bytes) => Value::from(bytes),
    }
}

fn key_of(keys: &Column, at: usize) -> Option<Key<'_>> {
    if keys.is_null(at) {
        return None;
    }
    match keys.data() {
        Data::Int(values) => Some(Key::Int(values[at])),
        Data::Bytes(texts) => Some(Key::Bytes(texts.get(at))),
        Data::Values(values) => match &values[at] {
            Value::Int(n) => Some(Key::Int(*n)),
            Value::Bytes(bytes) => Some(Key::Bytes(bytes)),
            _ => None,
        },
        _ => None,
    }
}

/// Keys of a chunk's rows, by place; those of rows that do not count are none.
pub(super) struct ChunkKeys(Column);

impl ChunkKeys {
    pub(super) fn new() -> ChunkKeys {
        ChunkKeys(Column::new())
    }

    /// The key of the row at a place behind all those before.
    pub(super) fn push(&mut self, at: usize, key: Option<Key<'_>>) {
        while self.0.len() < at {
            self.0.push_null();
        }
        match key {
            Some(key) => self.0.push(&key_value(key)),
            None => self.0.push_null(),
        }
    }

    pub(super) fn get(&self, at: usize) -> Option<Key<'_>> {
        if at < self.0.len() { key_of(&self.0, at) } else { None }
    }
}

impl HashTable {
    /// Moves all rows to partitions.
    #[cold]
    pub(super) fn move_to(&mut self, join: &HashJoin, partitions: &mut Partitions, level: u32) -> Result<()> {
        let table = std::mem::replace(self, HashTable::new(join));
        self.has_null = table.has_null;
        let column = |slot: &Slot| match join.build_slots.iter().position(|s| s == slot) {
            Some(at) => Source::Column(&table.columns[at]),
            None => Source::Value(Value::Null),
        };
        let mut sources: Vec<Source<'_>> = partitions.slots().iter().map(column).collect();
        let place = partitions.slots().iter().position(|slot| *slot == KEY).unwrap_or(0);
        table.for_each_key(|row, key| {
            sources[place] = Source::Value(key_value(key));
            partitions.add(partition_of(key, level), &sources, row)
        })
    }

    /// Adds the rows of a chunk that was read back, from one place on, until the watch says that there are enough; the place of the first row that was left.
    fn add_stored(
        &mut self,
        x: &mut Exec<'_>,
        join: &HashJoin,
        chunk: &Chunk,
        keys: &ChunkKeys,
        from: usize,
        building: &mut Building,
    ) -> Result<usize> {
        // Who only asks whether there is a partner needs one row of each key.
        let once = join.on.is_none() && matches!(join.kind, JoinKind::Semi | JoinKind::Anti);
        for at in from..chunk.len() {
            let Some(key) = keys.get(at) else { continue };
            if once && building.seen.get(key).is_some() {
                continue;
            }
            if building.watch.is_pressed(building.held, &x.memory) {
                return Ok(at);
            }
            let mut bytes = key.entry_bytes();
            if once {
                bytes += key.entry_bytes();
                building.seen.insert(key, ())?;
            }
            for (slot, to) in join.build_slots.iter().zip(&mut self.columns) {
                match chunk.column(*slot) {
                    Some(column) => {
                        bytes += column.value_bytes(at);
                        to.reserve_from(column, std::iter::once(at))?;
                        to.push_from(column, at);
                    }
                    None => to.push(x.get(*slot)),
                }
            }
            x.memory.take_for(Kind::Joins, bytes)?;
            building.held += bytes;
            self.add(key)?;
        }
        Ok(chunk.len())
    }
}

/// Writes rows of a chunk by their keys; rows without one go to the first partition, or nowhere.
pub(super) fn divide(
    x: &Exec<'_>,
    partitions: &mut Partitions,
    chunk: &Chunk,
    rows: &[u16],
    keys: ChunkKeys,
    without_key: bool,
    level: u32,
) -> Result<()> {
    let count = keys.0.len();
    let by_slot = [(KEY, Vector::Owned(keys.0))];
    let sources = sources(x, partitions.slots(), &by_slot, Some(chunk));
    let Some((_, Vector::Owned(keys))) = by_slot.first() else { return Ok(()) };
    for row in rows {
        let at = usize::from(*row);
        match if at < count { key_of(keys, at) } else { None } {
            Some(key) => partitions.add(partition_of(key, level), &sources, at)?,
            None if without_key => partitions.add(0, &sources, at)?,
            None => {}
        }
    }
    Ok(())
}

/// Writes the row in the frame.
pub(super) fn divide_row(x: &Exec<'_>, partitions: &mut Partitions, key: Key<'_>) -> Result<()> {
    let by_slot = [(KEY, Vector::Constant(key_value(key)))];
    let sources = sources(x, partitions.slots(), &by_slot, None);
    partitions.add(partition_of(key, 0), &sources, 0)
}

/// Which left rows of a partition have found a partner, by number.
#[derive(Default)]
struct Matched(Vec<u64>);

impl Matched {
    fn get(&self, row: u64) -> bool {
        self.0.get((row / 64) as usize).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    fn set(&mut self, row: u64) {
        if let Some(word) = self.0.get_mut((row / 64) as usize) {
            *word |= 1 << (row % 64);
        }
    }
}

impl<'a> Exec<'a> {
    /// Brings the table to disk.
    #[cold]
    #[inline(never)]
    pub(super) fn spill_build(&mut self, join: &HashJoin, table: &mut HashTable, building: &mut Building) -> Result<()> {
        if building.spilled.is_some() {
            return Ok(());
        }
        let mut partitions = Partitions::new(self, join.build_slots.iter().copied().chain([KEY]).collect())?;
        partitions.counters().joins.inc();
        table.move_to(join, &mut partitions, 0)?;
        building.spilled = Some(partitions);
        self.memory.give_back_for(Kind::Joins, std::mem::take(&mut building.held));
        Ok(())
    }

    /// Joins the left side with partitions of the right one.
    #[cold]
    #[inline(never)]
    pub(super) fn join_spilled(&mut self, join: &'a HashJoin, build: &Divided, sink: Sink<'_, 'a>) -> Result<Flow> {
        // A right side that is not empty: NOT IN is not true of rows without a key.
        let without_key = match join.kind {
            JoinKind::Inner | JoinKind::Semi => false,
            JoinKind::Left => true,
            JoinKind::Anti => !join.null_aware,
        };
        let mut saved = Vec::new();
        written_slots(&join.probe, &mut saved);
        let numbers = join.order.as_ref().and_then(|key| if let ExprKind::Slot(slot) = key.expr.kind { Some(slot) } else { None });
        let mut probe = Partitions::new(self, saved.iter().copied().chain([KEY]).chain(numbers).collect())?;
        let mut number = 0;
        self.run_batches(&join.probe, &mut |x, chunk| {
            let keys = x.chunk_keys(&join.probe_keys, join, chunk)?;
            if let Some(slot) = numbers {
                let len = chunk.len() as i64;
                chunk.put(slot, Column::of(Data::Int((number..number + len).collect()), chunk.len()));
                number += len;
            }
            divide(x, &mut probe, chunk, chunk.rows(), keys, without_key, 0)?;
            Ok(Flow::Continue)
        })?;
        self.forget_lookups();
        let probe = probe.finish(self)?;
        let Some(order) = &join.order else { return self.join_divided(join, build, &probe, u64::MAX, 0, sink) };
        // Partitions are in no order: what they give is sorted by the left rows' numbers.
        if matches!(join.kind, JoinKind::Inner | JoinKind::Left) {
            saved.extend(&join.build_slots);
        }
        saved.sort_unstable();
        saved.dedup();
        let mut sorter = Sorter::new(std::slice::from_ref(order), &saved, usize::MAX, &self.memory);
        self.join_divided(join, build, &probe, u64::MAX, 0, &mut |x, chunk| {
            sorter.add_chunk(x, chunk)?;
            Ok(Flow::Continue)
        })?;
        drop(probe);
        sorter.give_out(self, 0, sink)
    }

    /// Joins partition by partition. `rows_before`: the right side's rows before it was divided.
    fn join_divided(
        &mut self,
        join: &'a HashJoin,
        build: &Divided,
        probe: &Divided,
        rows_before: u64,
        level: u32,
        sink: Sink<'_, 'a>,
    ) -> Result<Flow> {
        for part in 0..PARTITIONS {
            let needs_partner = matches!(join.kind, JoinKind::Inner | JoinKind::Semi);
            if probe.rows(part) == 0 || (needs_partner && build.rows(part) == 0) {
                continue;
            }
            let one_key = build.rows(part) == rows_before;
            let flow = match self.join_partition(join, build, probe, part, one_key || level + 1 >= LEVELS_MAX, sink)? {
                Some(flow) => flow,
                None => self.join_again(join, build, probe, part, level + 1, sink)?,
            };
            if flow == Flow::Stop {
                return Ok(flow);
            }
        }
        Ok(Flow::Continue)
    }

    /// Divides a partition by another hash.
    fn join_again(
        &mut self,
        join: &'a HashJoin,
        build: &Divided,
        probe: &Divided,
        part: usize,
        level: u32,
        sink: Sink<'_, 'a>,
    ) -> Result<Flow> {
        let rows = build.rows(part);
        let mut divided = Vec::with_capacity(2);
        for side in [build, probe] {
            let mut partitions = Partitions::new(self, side.slots().to_vec())?;
            let mut chunk = Chunk::default();
            let mut reader = side.reader(part);
            while reader.read(self, &mut chunk)? {
                let keys = ChunkKeys(chunk.take(KEY).unwrap_or_default());
                divide(self, &mut partitions, &chunk, chunk.rows(), keys, true, level)?;
            }
            divided.push(partitions.finish(self)?);
        }
        match divided.as_slice() {
            [build, probe] => self.join_divided(join, build, probe, rows, level, sink),
            _ => Ok(Flow::Continue),
        }
    }

    /// Joins a pair of partitions: at once, or with `in_pieces` also in several turns. `None` when the right one is too large for one turn and is to be divided again.
    fn join_partition(
        &mut self,
        join: &'a HashJoin,
        build: &Divided,
        probe: &Divided,
        part: usize,
        in_pieces: bool,
        sink: Sink<'_, 'a>,
    ) -> Result<Option<Flow>> {
        let mut right = build.reader(part);
        let mut table = HashTable::new(join);
        let mut building = Building::new(&self.memory);
        let (mut chunk, mut keys, mut next) = (Chunk::default(), ChunkKeys::new(), 0);
        let mut matched: Option<Matched> = None;
        loop {
            // As much of the right side as there is room for.
            let mut ended = false;
            while !ended {
                if next == chunk.len() {
                    ended = !right.read(self, &mut chunk)?;
                    if ended {
                        break;
                    }
                    keys = ChunkKeys(chunk.take(KEY).unwrap_or_default());
                    next = 0;
                }
                next = table.add_stored(self, join, &chunk, &keys, next, &mut building)?;
                if next < chunk.len() {
                    break;
                }
            }
            if !ended && !in_pieces {
                self.memory.give_back_for(Kind::Joins, building.held);
                return Ok(None);
            }
            table.link()?;
            let flow = match &mut matched {
                None if ended => self.probe_partition(join, &table, probe, part, sink)?,
                matched => {
                    let matched = match matched {
                        Some(matched) => matched,
                        None => matched.insert(self.no_matches(probe.rows(part))?),
                    };
                    self.probe_piece(join, &table, probe, part, matched, ended, sink)?
                }
            };
            self.memory.give_back_for(Kind::Joins, building.held);
            if ended || flow == Flow::Stop {
                return Ok(Some(flow));
            }
            table = HashTable::new(join);
            building = Building::new(&self.memory);
        }
    }

    fn no_matches(&mut self, rows: u64) -> Result<Matched> {
        let words = usize::try_from(rows.div_ceil(64)).unwrap_or(usize::MAX);
        let mut bits = Vec::new();
        ::memory::reserve(&mut bits, words)?;
        bits.resize(words, 0);
        Ok(Matched(bits))
    }

    /// Probes with all rows of a partition.
    fn probe_partition(&mut self, join: &'a HashJoin, table: &HashTable, probe: &Divided, part: usize, sink: Sink<'_, 'a>) -> Result<Flow> {
        let mut left = probe.reader(part);
        let (mut chunk, mut heads) = (Chunk::default(), Vec::new());
        while left.read(self, &mut chunk)? {
            let keys = ChunkKeys(chunk.take(KEY).unwrap_or_default());
            if self.probe_chunk(join, table, &mut chunk, Some(&keys), &mut heads, sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// Probes a piece of the right side; after the `last` one rows that have found no partner in any are given out, where they are wanted.
    fn probe_piece(
        &mut self,
        join: &'a HashJoin,
        table: &HashTable,
        probe: &Divided,
        part: usize,
        matched: &mut Matched,
        last: bool,
        sink: Sink<'_, 'a>,
    ) -> Result<Flow> {
        let rows_max = self.chunk_rows_max();
        let pairs_of = matches!(join.kind, JoinKind::Inner | JoinKind::Left);
        let mut left = probe.reader(part);
        let mut chunk = Chunk::default();
        let mut out = Chunk::default();
        let (mut pairs, mut kept) = (Pairs::default(), Vec::new());
        let mut number = 0;
        while left.read(self, &mut chunk)? {
            let keys = ChunkKeys(chunk.take(KEY).unwrap_or_default());
            for row in chunk.rows() {
                self.tick()?;
                let this = number + u64::from(*row);
                let done = !pairs_of && matched.get(this);
                let mut at = keys.get(usize::from(*row)).map_or(NO_ROW, |key| table.first(key));
                if join.on.is_some() && at != NO_ROW {
                    chunk.load(usize::from(*row), &mut self.frame);
                }
                while at != NO_ROW && !done {
                    self.tick()?;
                    if self.is_partner(join, table, at)? {
                        matched.set(this);
                        if !pairs_of {
                            break;
                        }
                        pairs.push(*row, at);
                        if pairs.len() >= rows_max {
                            if self.pass_pairs(join, table, &chunk, &pairs, &mut out, sink)? == Flow::Stop {
                                return Ok(Flow::Stop);
                            }
                            pairs.clear();
                            chunk.load(usize::from(*row), &mut self.frame);
                        }
                    }
                    at = table.following(at);
                }
                match join.kind {
                    JoinKind::Semi if !done && matched.get(this) => kept.push(*row),
                    JoinKind::Anti if last && !matched.get(this) => kept.push(*row),
                    JoinKind::Left if last && !matched.get(this) => pairs.push(*row, NO_ROW),
                    _ => {}
                }
            }
            self.forget_lookups();
            number += chunk.len() as u64;
            if pairs.len() > 0 && self.pass_pairs(join, table, &chunk, &pairs, &mut out, sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
            pairs.clear();
            if !kept.is_empty() && self.pass_kept(&chunk, &mut kept, &mut out, sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }
}
