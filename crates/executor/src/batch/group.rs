//! GROUP BY by hash, and aggregates without GROUP BY.
//!
//! When the groups are too many for memory those that are there stay, and rows of others go to disk, divided by their keys (`spill/partitions.rs`): when the groups are
//! out, each partition is grouped by itself. So accumulators never leave memory: what one group gathers (DISTINCT, GROUP_CONCAT) has its bound there.

use crate::aggregate::Accumulator;
use crate::batch::Sink;
use crate::batch::chunk::Chunk;
use crate::batch::column::Column;
use crate::batch::expression::Vector;
use crate::batch::{keys, sums};
use crate::exec::Exec;
use crate::hash_key::{self, Key, KeyTable};
use crate::memory::{Memory, Watch, value_bytes};
use crate::run::{Flow, Result};
use crate::spill::{LEVELS_MAX, Partitions, partition_of, sources};
use ::memory::Kind;
use planner::expr::Slot;
use planner::plan::{Aggregate, AggregateKind, Group};
use types::Value;

/// Rows of one group behind each other from which on they are added together.
const RUN_MIN: usize = 4;

/// The groups so far, by number in the order in which they turned up.
struct Groups<'a> {
    group: &'a Group,
    index: KeyTable<u32>,
    keys: Vec<Column>,
    carried: Vec<Column>,
    /// Running values, one after the other for each group.
    sums: Vec<Accumulator>,
    count: usize,
    /// Bytes accounted, and those of groups that the chunk at hand has begun.
    held: usize,
    begun: usize,
    buffer: Vec<u8>,
    /// Group of each row of the chunk at hand that has one in memory.
    numbers: Vec<u32>,
    /// Rows of the chunk at hand that go to disk, and to which partition.
    leaving: Vec<(u16, usize)>,
    watch: Watch,
    /// Rows of groups that are not in memory.
    spilled: Option<Partitions>,
    /// How often the rows were divided: those of a partition have their keys in the keys' slots.
    level: u32,
}

impl<'a> Exec<'a> {
    #[inline(never)]
    pub(super) fn group_batches(&mut self, group: &'a Group, sink: Sink<'_, 'a>) -> Result<Flow> {
        if let Some(rollup) = &group.rollup {
            return self.roll_up(group, rollup, sink);
        }
        let mut groups = Groups::new(group, &self.memory, 0);
        if self.prefers_batches(&group.input) {
            self.run_batches(&group.input, &mut |x, chunk| {
                groups.add_chunk(x, chunk)?;
                Ok(Flow::Continue)
            })?;
        } else {
            self.run(&group.input, &mut |x| {
                let before = x.memory.used_for(Kind::Groups);
                groups.add_row(x)?;
                groups.make_room(x, before)?;
                Ok(Flow::Continue)
            })?;
        }
        if group.implicit && groups.count == 0 {
            // One group without rows: what it carries is NULL.
            for slot in &group.carried {
                self.set(*slot, Value::Null);
            }
            self.forget_lookups();
            let before = self.memory.used_for(Kind::Groups);
            groups.open(self, None, None)?;
            groups.make_room(self, before)?;
        }
        groups.finish(self, sink)
    }
}

/// Adds rows of a chunk to one group.
fn add_rows(x: &mut Exec<'_>, aggregate: &Aggregate, sum: &mut Accumulator, argument: &Vector<'_>, rows: &[u16]) -> Result<()> {
    let plain = !aggregate.distinct;
    if plain && sums::add_run(aggregate, sum, argument, rows) {
        return Ok(());
    }
    if plain && let Some(best) = sums::extreme(aggregate, argument, rows) {
        return x.add_value(aggregate, sum, best);
    }
    for row in rows {
        let at = usize::from(*row);
        if !(plain && sums::add_one(aggregate, sum, argument, at)) {
            x.add_value(aggregate, sum, argument.value(at))?;
        }
    }
    Ok(())
}

impl<'a> Groups<'a> {
    fn new(group: &'a Group, memory: &Memory, level: u32) -> Groups<'a> {
        Groups {
            group,
            index: KeyTable::default(),
            keys: group.keys.iter().map(|_| Column::new()).collect(),
            carried: group.carried.iter().map(|_| Column::new()).collect(),
            sums: Vec::new(),
            count: 0,
            held: 0,
            begun: 0,
            buffer: Vec::new(),
            numbers: Vec::new(),
            leaving: Vec::new(),
            watch: Watch::new(memory),
            spilled: None,
            level,
        }
    }

    /// Accounts for what the kind held `before` and now does more; past its share no further group comes to memory.
    #[inline]
    fn make_room(&mut self, x: &mut Exec<'a>, before: usize) -> Result<()> {
        self.held += x.memory.used_for(Kind::Groups).saturating_sub(before);
        self.begun = 0;
        if self.watch.is_pressed(self.held, &x.memory) { self.freeze(x) } else { Ok(()) }
    }

    #[cold]
    #[inline(never)]
    fn freeze(&mut self, x: &mut Exec<'a>) -> Result<()> {
        let group = self.group;
        if group.is_single() || self.spilled.is_some() || self.level == LEVELS_MAX {
            return Ok(());
        }
        let mut slots = Vec::new();
        super::rows::written_slots(&group.input, &mut slots);
        slots.extend(group.keys.iter().map(|(slot, _)| *slot));
        let partitions = Partitions::new(x, slots)?;
        partitions.counters().tables.inc();
        self.spilled = Some(partitions);
        Ok(())
    }

    /// Gives the groups out, then those of the rows on disk.
    fn finish(mut self, x: &mut Exec<'a>, sink: Sink<'_, 'a>) -> Result<Flow> {
        let (group, held, level, spilled) = (self.group, self.held, self.level, self.spilled.take());
        let flow = self.emit(x, sink)?;
        x.memory.give_back_for(Kind::Groups, held);
        let Some(spilled) = spilled else { return Ok(flow) };
        if flow == Flow::Stop {
            return Ok(flow);
        }
        let divided = spilled.finish(x)?;
        let mut chunk = Chunk::default();
        for mut reader in divided.readers() {
            let mut groups = Groups::new(group, &x.memory, level + 1);
            while reader.read(x, &mut chunk)? {
                groups.add_chunk(x, &chunk)?;
            }
            if groups.finish(x, sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// Begins a group with the row at a place of a chunk, or with the row in the frame. Its keys are the caller's.
    fn open(&mut self, x: &mut Exec<'a>, chunk: Option<(&Chunk, usize)>, key: Option<usize>) -> Result<usize> {
        let mut bytes = key.unwrap_or(0) + 32 + 64 * self.group.aggregates.len();
        for (slot, column) in self.group.carried.iter().zip(&mut self.carried) {
            let value = match chunk.and_then(|(chunk, at)| chunk.column(*slot).map(|column| column.value(at))) {
                Some(value) => value,
                None => x.get(*slot).clone(),
            };
            bytes += value_bytes(&value);
            column.reserve_for(&value)?;
            column.push(&value);
        }
        x.memory.take_for(Kind::Groups, bytes)?;
        self.begun += bytes;
        ::memory::reserve(&mut self.sums, self.group.aggregates.len())?;
        self.sums.extend(self.group.aggregates.iter().map(|(_, a)| Accumulator::new(a)));
        self.count += 1;
        Ok(self.count - 1)
    }

    /// Adds the row in the frame.
    fn add_row(&mut self, x: &mut Exec<'a>) -> Result<()> {
        let group = self.group;
        let at = if group.is_single() {
            if self.count == 0 {
                self.open(x, None, None)?;
            }
            0
        } else {
            let mut buffer = std::mem::take(&mut self.buffer);
            buffer.clear();
            let key = if let ([(slot, e)], [collation]) = (group.keys.as_slice(), group.collations.as_slice()) {
                let v = if self.level > 0 { x.get(*slot).clone() } else { x.eval(e)? };
                let key = hash_key::lone_key(&v, *collation, &mut buffer);
                x.set(*slot, v);
                key
            } else {
                for ((slot, e), collation) in group.keys.iter().zip(&group.collations) {
                    let v = if self.level > 0 { x.get(*slot).clone() } else { x.eval(e)? };
                    hash_key::append(&v, *collation, &mut buffer);
                    x.set(*slot, v);
                }
                Key::Bytes(&buffer)
            };
            let at = match self.index.get(key) {
                Some(at) => *at as usize,
                None if let Some(spilled) = &mut self.spilled => {
                    let sources = sources(x, spilled.slots(), &[], None);
                    spilled.add(partition_of(key, self.level), &sources, 0)?;
                    self.buffer = buffer;
                    return Ok(());
                }
                None => {
                    let mut bytes = key.entry_bytes();
                    for ((slot, _), column) in group.keys.iter().zip(&mut self.keys) {
                        bytes += value_bytes(x.get(*slot));
                        column.reserve_for(x.get(*slot))?;
                        column.push(x.get(*slot));
                    }
                    self.index.insert(key, self.count as u32)?;
                    self.open(x, None, Some(bytes))?
                }
            };
            self.buffer = buffer;
            at
        };
        let stride = group.aggregates.len();
        x.accumulate(group, &mut self.sums[at * stride..][..stride])
    }

    /// Adds the rows of a chunk: all by columns, or all one by one.
    fn add_chunk(&mut self, x: &mut Exec<'a>, chunk: &Chunk) -> Result<()> {
        let before = x.memory.used_for(Kind::Groups);
        if self.add_columns(x, chunk)?.is_none() {
            for row in chunk.rows() {
                chunk.load(usize::from(*row), &mut x.frame);
                self.add_row(x)?;
            }
            x.forget_lookups();
        }
        self.make_room(x, before)
    }

    /// `None` (and nothing done) when the rows need the evaluator.
    fn add_columns(&mut self, x: &mut Exec<'a>, chunk: &Chunk) -> Result<Option<()>> {
        let group = self.group;
        let rows = chunk.rows();
        if rows.is_empty() {
            return Ok(Some(()));
        }
        let mut keys = Vec::with_capacity(group.keys.len());
        for (slot, e) in &group.keys {
            match if self.level > 0 { Some(x.slot_vector(*slot, chunk)) } else { x.vector(e, chunk, rows) } {
                Some(vector) => keys.push((*slot, vector)),
                None => return Ok(None),
            }
        }
        let mut arguments = Vec::with_capacity(group.aggregates.len());
        for (_, aggregate) in &group.aggregates {
            let argument = match (aggregate.kind, aggregate.args.as_slice()) {
                (AggregateKind::CountStar, _) => Vector::Constant(Value::TRUE),
                (AggregateKind::GroupConcat | AggregateKind::JsonArray | AggregateKind::JsonObject, _) => return Ok(None),
                (_, [e]) => match x.vector(e, chunk, rows) {
                    Some(vector) => vector,
                    None => return Ok(None),
                },
                _ => return Ok(None),
            };
            arguments.push(argument);
        }
        if group.is_single() {
            if self.count == 0 {
                self.open(x, Some((chunk, usize::from(rows[0]))), None)?;
            }
        } else {
            self.find(x, chunk, &keys)?;
        }
        let staying;
        let rows = if self.leaving.is_empty() {
            rows
        } else {
            staying = self.write_leaving(x, chunk, &keys)?;
            staying.as_slice()
        };
        let stride = group.aggregates.len();
        let numbers = self.numbers.as_slice();
        let runs = || numbers.chunk_by(|a, b| a == b);
        let in_runs = !group.is_single() && runs().count() * RUN_MIN <= rows.len();
        for (number, ((_, aggregate), argument)) in group.aggregates.iter().zip(&arguments).enumerate() {
            let plain = !aggregate.distinct;
            if group.is_single() {
                add_rows(x, aggregate, &mut self.sums[number], argument, rows)?;
                continue;
            }
            if in_runs {
                let mut rest = rows;
                for run in runs() {
                    let (now, later) = rest.split_at(run.len().min(rest.len()));
                    add_rows(x, aggregate, &mut self.sums[run[0] as usize * stride + number], argument, now)?;
                    rest = later;
                }
                continue;
            }
            for (row, group_no) in rows.iter().zip(&self.numbers) {
                let sum = &mut self.sums[*group_no as usize * stride + number];
                let at = usize::from(*row);
                if !(plain && sums::add_one(aggregate, sum, argument, at)) {
                    x.add_value(aggregate, sum, argument.value(at))?;
                }
            }
        }
        Ok(Some(()))
    }

    /// The group of each row, new ones included.
    fn find(&mut self, x: &mut Exec<'a>, chunk: &Chunk, parts: &[(Slot, Vector<'_>)]) -> Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut numbers = std::mem::take(&mut self.numbers);
        numbers.clear();
        self.leaving.clear();
        let integers = keys::Integers::of(parts);
        let mut before: Option<(usize, u32)> = None;
        for row in chunk.rows() {
            let at = usize::from(*row);
            if let (Some(integers), Some((before, number))) = (&integers, before)
                && integers.are_same(before, at)
            {
                numbers.push(number);
                continue;
            }
            let key = keys::key_at(parts, &self.group.collations, at, &mut buffer);
            let number = match self.index.get(key) {
                Some(number) => *number,
                None if self.spilled.is_some() => {
                    self.leaving.push((*row, partition_of(key, self.level)));
                    continue;
                }
                None => {
                    let mut bytes = key.entry_bytes();
                    for ((_, part), column) in parts.iter().zip(&mut self.keys) {
                        let value = part.value(at);
                        bytes += value_bytes(&value);
                        column.reserve_for(&value)?;
                        column.push(&value);
                    }
                    let number = self.count as u32;
                    self.index.insert(key, number)?;
                    self.open(x, Some((chunk, at)), Some(bytes))?;
                    if self.watch.is_pressed(self.held + self.begun, &x.memory) {
                        self.freeze(x)?;
                    }
                    number
                }
            };
            numbers.push(number);
            before = Some((at, number));
        }
        self.buffer = buffer;
        self.numbers = numbers;
        Ok(())
    }

    /// Writes the rows whose groups are not in memory; gives back the others.
    #[cold]
    #[inline(never)]
    fn write_leaving(&mut self, x: &Exec<'a>, chunk: &Chunk, keys: &[(Slot, Vector<'_>)]) -> Result<Vec<u16>> {
        let Some(spilled) = &mut self.spilled else { return Ok(chunk.rows().to_vec()) };
        let sources = sources(x, spilled.slots(), keys, Some(chunk));
        for (row, partition) in &self.leaving {
            spilled.add(*partition, &sources, usize::from(*row))?;
        }
        let mut leaving = self.leaving.drain(..).map(|(row, _)| row).peekable();
        Ok(chunk.rows().iter().copied().filter(|row| leaving.next_if_eq(row).is_none()).collect())
    }

    /// Gives the groups out.
    fn emit(self, x: &mut Exec<'a>, sink: Sink<'_, 'a>) -> Result<Flow> {
        let group = self.group;
        // GROUP_CONCAT may warn: each group goes its way before the next result is put together.
        let warns = group.aggregates.iter().any(|(_, a)| a.kind == AggregateKind::GroupConcat);
        let rows_max = if warns { 1 } else { x.chunk_rows_max() };
        let slots = || {
            let keys = group.keys.iter().map(|(slot, _)| *slot);
            keys.chain(group.carried.iter().copied()).chain(group.aggregates.iter().map(|(slot, _)| *slot))
        };
        let kept = self.keys.len() + self.carried.len();
        let mut sums = self.sums.into_iter();
        let mut chunk = x.take_chunk(slots());
        let mut start = 0;
        let mut flow = Flow::Continue;
        while start < self.count && flow == Flow::Continue {
            let end = self.count.min(start + rows_max);
            let columns = chunk.columns_mut();
            for (to, from) in columns.iter_mut().zip(self.keys.iter().chain(&self.carried)) {
                to.gather(from, start..end);
            }
            for _ in start..end {
                for ((_, aggregate), to) in group.aggregates.iter().zip(&mut columns[kept..]) {
                    if let Some(sum) = sums.next() {
                        to.push(&x.result(aggregate, sum)?);
                    }
                }
            }
            chunk.set_len(end - start);
            flow = x.pass_collected(&mut chunk, sink)?;
            chunk.reset(slots());
            start = end;
        }
        x.return_chunk(chunk);
        Ok(flow)
    }
}
