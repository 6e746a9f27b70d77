//! INTERSECT and EXCEPT.
//!
//! # Invariants
//! 1. Rows that count as equal are dealt with together: branches that are too large are divided by the hash of their rows, all by the same.
//! 2. In memory the rows come in the first branch's order; divided, in any.

use crate::exec::Exec;
use crate::hash_key::{self, Key, KeyMap, KeySet};
use crate::memory::value_bytes;
use crate::run::{Flow, Next, Result};
use crate::spill::{Kept, LEVELS_MAX, PARTITIONS, RowAt, Writer, partition_of};
use planner::expr::Slot;
use planner::plan::Query;
use std::rc::Rc;
use types::Collation;

/// What a key takes in a table beside its bytes.
const ENTRY_BYTES: usize = 48;

/// What is made of the branches.
pub(crate) struct SetOperation<'a> {
    /// Where the values of a row go.
    pub slots: &'a [Slot],
    /// For strings.
    pub collations: &'a [Collation],
    /// EXCEPT, else INTERSECT.
    pub except: bool,
    /// ALL.
    pub all: bool,
}

impl SetOperation<'_> {
    fn key(&self, row: RowAt<'_>, key: &mut Vec<u8>) {
        key.clear();
        self.collations.iter().enumerate().for_each(|(at, collation)| hash_key::append(&row.value(at), *collation, key));
    }
}

impl<'a> Exec<'a> {
    /// Runs a set operation.
    pub(crate) fn run_set_operation(&mut self, branches: &'a [Query], of: &SetOperation<'_>, next: Next<'_, 'a>) -> Result<Flow> {
        let mut kept = Vec::with_capacity(branches.len());
        for branch in branches {
            kept.push(self.keep_query(branch, of.slots.len())?);
        }
        self.combine(of, kept, 0, next)
    }

    /// Combines branches, or parts of them that have the same keys.
    fn combine(&mut self, of: &SetOperation<'_>, branches: Vec<Kept>, level: u32, next: Next<'_, 'a>) -> Result<Flow> {
        if branches.first().is_none_or(|first| first.count() == 0) {
            branches.into_iter().for_each(|branch| branch.release(self));
            return Ok(Flow::Continue);
        }
        let bytes = branches.iter().fold(0usize, |sum, branch| sum.saturating_add(branch.bytes()));
        let fits = bytes <= self.memory.operator_limit() && (level > 0 || !branches.iter().any(Kept::is_on_disk));
        if fits || level == LEVELS_MAX {
            return self.combine_in_memory(of, branches, next);
        }
        let rows = |branches: &[Kept]| branches.iter().map(Kept::count).sum::<u64>();
        let all_rows = rows(&branches);
        for part in self.divide(of, branches, level)? {
            // What has not become smaller is of one key: its table is small.
            let level = if rows(&part) == all_rows { LEVELS_MAX } else { level + 1 };
            if self.combine(of, part, level, next)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// Divides all branches by the same hash.
    #[cold]
    fn divide(&mut self, of: &SetOperation<'_>, branches: Vec<Kept>, level: u32) -> Result<Vec<Vec<Kept>>> {
        let mut parts: Vec<Vec<Kept>> = (0..PARTITIONS).map(|_| Vec::with_capacity(branches.len())).collect();
        let (block_bytes, width) = (self.spill_block_bytes(), of.slots.len());
        let (mut buffer, mut key) = (Vec::new(), Vec::new());
        for branch in branches {
            let mut file = self.spill_file()?;
            file.directory().counters().tables.inc();
            let held = PARTITIONS * block_bytes;
            self.memory.take(held)?;
            let mut writers: Vec<Writer> = (0..PARTITIONS).map(|_| Writer::new(width, block_bytes, self.spill_rows_max())).collect();
            branch.for_each(self, &mut |_, row| {
                of.key(row, &mut key);
                let writer = &mut writers[partition_of(Key::Bytes(&key), level)];
                let mut bytes = 0;
                for (at, column) in writer.columns.iter_mut().enumerate() {
                    let value = row.value(at);
                    bytes += value_bytes(&value);
                    column.push(&value);
                }
                writer.added(bytes, &mut file, &mut buffer)?;
                Ok(Flow::Continue)
            })?;
            branch.release(self);
            let mut stored = Vec::with_capacity(PARTITIONS);
            for writer in writers {
                stored.push(writer.finish(&mut file, &mut buffer)?);
            }
            self.memory.give_back(held);
            let file = Rc::new(file);
            parts.iter_mut().zip(stored).for_each(|(part, stored)| part.push(Kept::on_disk(file.clone(), stored, width)));
        }
        Ok(parts)
    }

    /// Looks each row of the first branch up in tables of the others' keys.
    fn combine_in_memory(&mut self, of: &SetOperation<'_>, branches: Vec<Kept>, next: Next<'_, 'a>) -> Result<Flow> {
        let mut branches = branches.into_iter();
        let Some(first) = branches.next() else { return Ok(Flow::Continue) };
        let (mut key, mut held) = (Vec::new(), 0);
        let mut tables: Vec<KeyMap<u64>> = Vec::new();
        for branch in branches {
            let mut counts: KeyMap<u64> = KeyMap::default();
            branch.for_each(self, &mut |x, row| {
                of.key(row, &mut key);
                match counts.get_mut(key.as_slice()) {
                    Some(count) => *count += 1,
                    None => {
                        x.memory.take(key.len() + ENTRY_BYTES)?;
                        held += key.len() + ENTRY_BYTES;
                        counts.insert(key.as_slice().into(), 1);
                    }
                }
                Ok(Flow::Continue)
            })?;
            branch.release(self);
            tables.push(counts);
        }
        let mut seen = KeySet::default();
        let flow = first.for_each(self, &mut |x, row| {
            of.key(row, &mut key);
            for counts in &mut tables {
                match counts.get_mut(key.as_slice()) {
                    None | Some(0) if of.except => {}
                    None | Some(0) => return Ok(Flow::Continue),
                    Some(left) => {
                        if of.all {
                            *left -= 1;
                        }
                        if of.except {
                            return Ok(Flow::Continue);
                        }
                    }
                }
            }
            if !of.all {
                if seen.contains(key.as_slice()) {
                    return Ok(Flow::Continue);
                }
                x.memory.take(key.len() + ENTRY_BYTES)?;
                held += key.len() + ENTRY_BYTES;
                seen.insert(key.as_slice().into());
            }
            of.slots.iter().enumerate().for_each(|(at, slot)| x.set(*slot, row.value(at)));
            next(x)
        })?;
        first.release(self);
        self.memory.give_back(held);
        Ok(flow)
    }
}
