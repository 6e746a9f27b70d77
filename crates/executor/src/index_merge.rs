//! Index merge: primary keys from the entries of several indexes, then the rows behind them, once each and in order.
//!
//! # Invariants
//! 1. An arm gives the keys of the rows that it finds in the statement's snapshot; the rows are read in the same one, so a key that was gathered is there.
//! 2. A locking read locks what its arms find, as scans of those indexes do, entries and gaps included; then the rows, which are locked by then, are read as they
//!    are now. Where rows are given back (READ COMMITTED) those are that are in one arm only of an intersection, that do not pass, or that come behind
//!    the last one that is wanted. Until then they are locked: a row may have to be waited for meanwhile.
//! 3. Keys are held whole, in memory that may be refused ([`memory::reserve`]): a statement past its limit ends with 1038.

use crate::errors::internal;
use crate::exec::Exec;
use crate::run::{Flow, Next, Result};
use crate::scan::{BATCH_FIRST, BATCH_MAX};
use engine::{Direction, HandlerCall, KeyRange, Read, RowBatch, RowLock, Step};
use planner::plan::{MergeArm, MergeKind, TableNode};
use record::KeyRestore;

/// Keys in one arena.
#[derive(Default)]
struct Keys {
    bytes: Vec<u8>,
    places: Vec<Place>,
}

/// Start and end of a key, and how its row is locked.
#[derive(Clone, Copy)]
struct Place {
    start: usize,
    end: usize,
    lock: RowLock,
}

impl Keys {
    fn key(&self, place: Place) -> &[u8] {
        &self.bytes[place.start..place.end]
    }

    /// Takes a key in, or is refused the memory.
    fn push(&mut self, lock: RowLock, append: impl FnOnce(&mut Vec<u8>)) -> std::result::Result<(), memory::Excess> {
        let start = self.bytes.len();
        memory::reserve(&mut self.places, 1)?;
        memory::reserve(&mut self.bytes, base::PAGE_BYTES)?;
        append(&mut self.bytes);
        self.places.push(Place { start, end: self.bytes.len(), lock });
        Ok(())
    }

    /// In order, and each once; locked for the first time if any look at it was that.
    fn settle(&mut self) {
        let Keys { bytes, places } = self;
        places.sort_unstable_by(|a, b| bytes[a.start..a.end].cmp(&bytes[b.start..b.end]));
        places.dedup_by(|later, kept| {
            let same = bytes[later.start..later.end] == bytes[kept.start..kept.end];
            if same && later.lock == RowLock::New {
                kept.lock = RowLock::New;
            }
            same
        });
    }

    /// Leaves those that are in the other list, too, and tells which keys are in one list alone; both are settled.
    fn keep_common(&mut self, other: &Keys, mut alone: impl FnMut(&[u8], RowLock)) {
        let mut rest = other.places.iter().peekable();
        let bytes = &self.bytes;
        self.places.retain(|place| {
            let key = &bytes[place.start..place.end];
            while let Some(there) = rest.next_if(|there| other.key(**there) < key) {
                alone(other.key(*there), there.lock);
            }
            let common = rest.next_if(|there| other.key(**there) == key).is_some();
            if !common {
                alone(key, place.lock);
            }
            common
        });
        rest.for_each(|there| alone(other.key(*there), there.lock));
    }
}

impl<'a> Exec<'a> {
    /// Runs a table node that merges indexes.
    pub(crate) fn index_merge(&mut self, node: &'a TableNode, kind: MergeKind, arms: &'a [MergeArm], next: Next<'_, 'a>) -> Result<Flow> {
        let read = self.read_of(node.lock);
        let mut found = Keys::default();
        match (kind, arms) {
            (MergeKind::Intersection, [first, rest @ ..]) => {
                self.gather_keys(node, first, &mut found)?;
                found.settle();
                for arm in rest {
                    if found.places.is_empty() {
                        break;
                    }
                    let mut more = Keys::default();
                    self.gather_keys(node, arm, &mut more)?;
                    more.settle();
                    let session = self.session.as_deref_mut().ok_or_else(|| internal("engine in use"))?;
                    let table = &self.plan.tables[node.table as usize].storage;
                    found.keep_common(&more, |key, lock| session.give_back(table, key, lock));
                }
            }
            _ => {
                for arm in arms {
                    self.gather_keys(node, arm, &mut found)?;
                }
                found.settle();
            }
        }
        if read != Read::Snapshot {
            return self.merged_locking(node, &found, read, next);
        }
        self.count_calls(HandlerCall::ReadKept, found.places.len());
        for place in &found.places {
            self.tick()?;
            if self.fetch(node, found.key(*place))? && self.passes(node)? && next(self)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// Reads rows that are locked.
    fn merged_locking(&mut self, node: &'a TableNode, found: &Keys, read: Read, next: Next<'_, 'a>) -> Result<Flow> {
        let mut flow = Flow::Continue;
        for place in &found.places {
            let key = found.key(*place);
            if flow == Flow::Continue {
                self.tick()?;
                flow = self.lookup_locked(node, node.reading_locked(false), key, place.lock, read, next)?;
            } else {
                let session = self.session.as_deref_mut().ok_or_else(|| internal("engine in use"))?;
                session.give_back(&self.plan.tables[node.table as usize].storage, key, place.lock);
            }
        }
        Ok(flow)
    }

    /// The primary keys that an arm finds.
    fn gather_keys(&mut self, node: &'a TableNode, arm: &'a MergeArm, keys: &mut Keys) -> Result<()> {
        let index_no = arm.index as usize;
        let ranges = self.key_ranges(node.table, index_no, &arm.ranges)?.ranges;
        let read = self.read_of(node.lock);
        if read != Read::Snapshot {
            return ranges.into_iter().try_for_each(|range| self.gather_locking(node, index_no, range, read, keys));
        }
        let table = &self.plan.tables[node.table as usize].storage;
        // Of an entry nothing but the primary key at its end is wanted.
        let cover = KeyRestore::new(table.layout(), &table.indexes[index_no].full_parts, []);
        for range in ranges {
            let session = self.session.as_deref_mut().ok_or_else(|| internal("engine in use"))?;
            let mut scan = session.scan(table, index_no, range, Direction::Forward, Read::Snapshot)?;
            let mut kept = Ok(());
            let mut rows = 0;
            let more = scan.for_each_with(cover.as_ref(), |_, key| {
                rows += 1;
                kept = keys.push(RowLock::Held, |bytes| key.append_to(bytes));
                if kept.is_err() { Step::Stop } else { Step::Continue }
            })?;
            scan.count(rows, !more);
            kept?;
            self.check_cancel()?;
        }
        Ok(())
    }

    /// The primary keys of the rows in a range of an index, which are locked.
    fn gather_locking(&mut self, node: &'a TableNode, index_no: usize, range: KeyRange, read: Read, keys: &mut Keys) -> Result<()> {
        let table = &self.plan.tables[node.table as usize].storage;
        let session = self.session.as_deref_mut().ok_or_else(|| internal("engine in use"))?;
        let mut scan = session.scan(table, index_no, range, Direction::Forward, read)?;
        let (mut batch, mut size) = (RowBatch::default(), BATCH_FIRST);
        loop {
            let count = scan.next_batch(&mut batch, size)?;
            scan.count(count, count == 0);
            for at in 0..count {
                keys.push(batch.lock(at), |bytes| bytes.extend_from_slice(batch.key(at)))?;
            }
            if count == 0 {
                return Ok(());
            }
            size = (size * 2).min(BATCH_MAX);
        }
    }
}
