//! Index merge: primary keys from the entries of several indexes, then the rows behind them, once each and in order.
//!
//! # Invariants
//! 1. An arm gives the keys of the rows that it finds in the statement's snapshot; the rows are read in the same one, so a key that was gathered is there.
//! 2. Keys are held whole, in memory that may be refused ([`memory::reserve`]): a statement past its limit ends with 1038.

use crate::errors::internal;
use crate::exec::Exec;
use crate::run::{Flow, Next, Result};
use engine::{Direction, KeyRange, Read, Step};
use planner::plan::{MergeArm, MergeKind, TableNode};
use record::KeyRestore;

/// Keys in one arena.
#[derive(Default)]
struct Keys {
    bytes: Vec<u8>,
    /// Start and end of each.
    places: Vec<(usize, usize)>,
}

impl Keys {
    fn key(&self, place: (usize, usize)) -> &[u8] {
        &self.bytes[place.0..place.1]
    }

    /// In order, and each once.
    fn settle(&mut self) {
        let Keys { bytes, places } = self;
        places.sort_unstable_by(|a, b| bytes[a.0..a.1].cmp(&bytes[b.0..b.1]));
        places.dedup_by(|a, b| bytes[a.0..a.1] == bytes[b.0..b.1]);
    }

    /// Leaves those that are in the other list, too; both are settled.
    fn keep_common(&mut self, other: &Keys) {
        let mut rest = other.places.iter().map(|place| other.key(*place)).peekable();
        let bytes = &self.bytes;
        self.places.retain(|place| {
            let key = &bytes[place.0..place.1];
            while rest.next_if(|there| *there < key).is_some() {}
            rest.peek() == Some(&key)
        });
    }
}

impl<'a> Exec<'a> {
    /// Runs a table node that merges indexes.
    pub(crate) fn merge(&mut self, node: &'a TableNode, kind: MergeKind, arms: &'a [MergeArm], next: Next<'_, 'a>) -> Result<Flow> {
        if self.read_of(node.lock) != Read::Snapshot {
            // A plan that was made for a consistent read and runs where reads lock: all rows, and what is between them.
            return self.scan(node, 0, KeyRange::all(), false, next);
        }
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
                    found.keep_common(&more);
                }
            }
            _ => {
                for arm in arms {
                    self.gather_keys(node, arm, &mut found)?;
                }
                found.settle();
            }
        }
        for place in &found.places {
            self.tick()?;
            if self.fetch(node, found.key(*place))? && self.passes(node)? && next(self)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// The primary keys that an arm finds.
    fn gather_keys(&mut self, node: &'a TableNode, arm: &'a MergeArm, keys: &mut Keys) -> Result<()> {
        let index_no = arm.index as usize;
        let ranges = self.key_ranges(node.table, index_no, &arm.ranges)?;
        let table = &self.plan.tables[node.table as usize].storage;
        // Of an entry nothing but the primary key at its end is wanted.
        let cover = KeyRestore::new(table.layout(), &table.indexes[index_no].full_parts, []);
        for range in ranges {
            let session = self.session.as_deref_mut().ok_or_else(|| internal("engine in use"))?;
            let mut scan = session.scan(table, index_no, range, Direction::Forward, Read::Snapshot)?;
            let mut kept = Ok(());
            scan.for_each_with(cover.as_ref(), |_, key| {
                let start = keys.bytes.len();
                kept = memory::reserve(&mut keys.places, 1).and_then(|()| memory::reserve(&mut keys.bytes, base::PAGE_BYTES));
                if kept.is_err() {
                    return Step::Stop;
                }
                key.append_to(&mut keys.bytes);
                keys.places.push((start, keys.bytes.len()));
                Step::Continue
            })?;
            kept?;
            self.check_cancel()?;
        }
        Ok(())
    }
}
