//! GROUP BY … WITH ROLLUP: rows come ordered by the keys, and each is added to a group for every number of keys, from all of them to none.
//!
//! # Invariants
//! 1. Level `n` is the group of the rows that agree in the first `n` keys with the last row; it is given out when one of these changes, after the levels above `n`.
//! 2. What is held is one group for each level, however many rows and groups there are.
//! 3. A row is added with its own values, whatever the groups that were given out before have left in the frame.

use crate::aggregate::Accumulator;
use crate::batch::Sink;
use crate::batch::chunk::Chunk;
use crate::exec::Exec;
use crate::hash_key;
use crate::memory::value_bytes;
use crate::run::{Flow, Result};
use ::memory::Kind;
use planner::expr::Slot;
use planner::plan::{AggregateKind, Group, Rollup};
use types::Value;

/// A group that is being summed up.
struct Level {
    sums: Vec<Accumulator>,
    /// Values of its first row.
    carried: Vec<Value>,
    /// Bytes accounted.
    held: usize,
}

struct Levels<'a> {
    group: &'a Group,
    rollup: &'a Rollup,
    /// The keys of the last row.
    keys: Vec<Value>,
    /// Their bytes, equal when the keys are, and where those of each end.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// By number of keys; empty before the first row.
    levels: Vec<Level>,
    chunk: Chunk,
    rows: usize,
    rows_max: usize,
}

impl<'a> Exec<'a> {
    pub(super) fn roll_up(&mut self, group: &'a Group, rollup: &'a Rollup, sink: Sink<'_, 'a>) -> Result<Flow> {
        let warns = group.aggregates.iter().any(|(_, a)| a.kind == AggregateKind::GroupConcat);
        let mut levels = Levels {
            group,
            rollup,
            keys: Vec::new(),
            bytes: Vec::new(),
            ends: Vec::new(),
            levels: Vec::new(),
            chunk: self.take_chunk(slots(group, rollup)),
            rows: 0,
            // GROUP_CONCAT may warn: each group goes its way before the next result is put together.
            rows_max: if warns { 1 } else { self.chunk_rows_max() },
        };
        let mut flow = self.run(&group.input, &mut |x| levels.add_row(x, sink))?;
        if flow == Flow::Continue {
            if levels.levels.is_empty() {
                // The sum of nothing.
                group.carried.iter().for_each(|slot| self.set(*slot, Value::Null));
                self.forget_lookups();
                levels.keys = vec![Value::Null; group.keys.len()];
                levels.open(self, 0)?;
                levels.levels.truncate(1);
            }
            flow = levels.close(self, 0, sink)?;
        }
        if flow == Flow::Continue {
            flow = levels.pass(self, sink)?;
        }
        self.return_chunk(levels.chunk);
        Ok(flow)
    }
}

fn slots<'g>(group: &'g Group, rollup: &'g Rollup) -> impl Iterator<Item = Slot> + 'g {
    let sums = group.aggregates.iter().map(|(slot, _)| *slot);
    kept_slots(group).chain(sums).chain(rollup.groupings.iter().map(|(slot, _)| *slot))
}

/// Slots that may be the rows' own, too.
fn kept_slots(group: &Group) -> impl Iterator<Item = Slot> + Clone {
    group.keys.iter().map(|(slot, _)| *slot).chain(group.carried.iter().copied())
}

impl<'a> Levels<'a> {
    /// Adds the row in the frame, after giving out the groups that it is not of.
    fn add_row(&mut self, x: &mut Exec<'a>, sink: Sink<'_, 'a>) -> Result<Flow> {
        let group = self.group;
        let (mut keys, mut bytes, mut ends) = (Vec::with_capacity(group.keys.len()), Vec::new(), Vec::with_capacity(group.keys.len()));
        for ((_, e), collation) in group.keys.iter().zip(&group.collations) {
            let value = x.eval(e)?;
            hash_key::append(&value, *collation, &mut bytes);
            ends.push(bytes.len());
            keys.push(value);
        }
        let agree = if self.levels.is_empty() { None } else { Some(self.agreeing(&bytes, &ends)) };
        if agree != Some(keys.len()) {
            let first = agree.map_or(0, |agree| agree + 1);
            if agree.is_some() && self.close(x, first, sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
            (self.keys, self.bytes, self.ends) = (keys, bytes, ends);
            self.open(x, first)?;
        }
        self.accumulate(x)?;
        Ok(Flow::Continue)
    }

    /// How many keys, from the first on, are the last row's.
    fn agreeing(&self, bytes: &[u8], ends: &[usize]) -> usize {
        let end = |ends: &[usize], at: usize| at.checked_sub(1).map_or(0, |before| ends[before]);
        let same = |at: &usize| bytes[end(ends, *at)..ends[*at]] == self.bytes[end(&self.ends, *at)..self.ends[*at]];
        (0..ends.len()).take_while(same).count()
    }

    /// Begins the groups of the levels from `first` on with the row in the frame.
    fn open(&mut self, x: &mut Exec<'a>, first: usize) -> Result<()> {
        let group = self.group;
        for _ in first..=group.keys.len() {
            let carried: Vec<Value> = group.carried.iter().map(|slot| x.get(*slot).clone()).collect();
            let held = carried.iter().map(value_bytes).sum::<usize>() + 64 * group.aggregates.len() + 64;
            x.memory.take_for(Kind::Groups, held)?;
            let sums = group.aggregates.iter().map(|(_, a)| Accumulator::new(a)).collect();
            self.levels.push(Level { sums, carried, held });
        }
        Ok(())
    }

    /// Adds the row in the frame to all levels.
    fn accumulate(&mut self, x: &mut Exec<'a>) -> Result<()> {
        for (number, (_, aggregate)) in self.group.aggregates.iter().enumerate() {
            // What has one argument is computed once.
            let lone = !matches!(
                aggregate.kind,
                AggregateKind::CountStar | AggregateKind::GroupConcat | AggregateKind::JsonArray | AggregateKind::JsonObject
            );
            let value = match aggregate.args.as_slice() {
                [e] if lone => Some(x.eval(e)?),
                _ => None,
            };
            for level in &mut self.levels {
                let before = x.memory.used();
                match &value {
                    Some(value) => x.add_value(aggregate, &mut level.sums[number], value.clone())?,
                    None => x.add(aggregate, &mut level.sums[number])?,
                }
                level.held += x.memory.used().saturating_sub(before);
            }
        }
        Ok(())
    }

    /// Gives out the groups of the levels down to `first`, the longest keys first.
    fn close(&mut self, x: &mut Exec<'a>, first: usize, sink: Sink<'_, 'a>) -> Result<Flow> {
        let group = self.group;
        let keys = group.keys.len();
        while self.levels.len() > first {
            let Some(level) = self.levels.pop() else { break };
            let number = self.levels.len();
            let (of_keys, rest) = self.chunk.columns_mut().split_at_mut(keys);
            let (of_carried, rest) = rest.split_at_mut(group.carried.len());
            let (of_sums, of_groupings) = rest.split_at_mut(group.aggregates.len());
            for (at, column) in of_keys.iter_mut().enumerate() {
                column.push(if at < number { &self.keys[at] } else { &Value::Null });
            }
            for (column, value) in of_carried.iter_mut().zip(&level.carried) {
                column.push(value);
            }
            for (column, (_, positions)) in of_groupings.iter_mut().zip(&self.rollup.groupings) {
                let bits = positions.iter().fold(0i64, |bits, at| bits << 1 | i64::from(*at >= number));
                column.push(&Value::Int(bits));
            }
            for ((column, (_, aggregate)), sum) in of_sums.iter_mut().zip(&group.aggregates).zip(level.sums) {
                column.push(&x.result(aggregate, sum)?);
            }
            x.memory.give_back_for(Kind::Groups, level.held);
            self.rows += 1;
            if self.rows == self.rows_max && self.pass(x, sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// Passes on what is in the chunk. The row in the frame may not be added yet: keys and what is carried have one slot in both.
    fn pass(&mut self, x: &mut Exec<'a>, sink: Sink<'_, 'a>) -> Result<Flow> {
        if self.rows == 0 {
            return Ok(Flow::Continue);
        }
        self.chunk.set_len(self.rows);
        let flow = x.pass_beside_row(kept_slots(self.group), &mut self.chunk, sink)?;
        self.chunk.reset(slots(self.group, self.rollup));
        self.rows = 0;
        Ok(flow)
    }
}
