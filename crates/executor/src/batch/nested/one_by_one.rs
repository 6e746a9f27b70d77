//! Keys that are looked up one after the other: few of them, those that find much, and those that say less than all parts of the key.

use super::{Asked, Lookup, Pass, gather_left, key_of};
use crate::batch::chunk::Chunk;
use crate::batch::decode::{Reader, append_row, readers};
use crate::batch::expression::Vector;
use crate::errors::internal;
use crate::exec::Exec;
use crate::run::{Flow, Result};
use engine::{Direction, HandlerCall, KeyRange, Read, RowKey, Step, Table};
use planner::expr::Slot;
use planner::plan::Reading;
use record::RowRef;
use std::sync::Arc;

/// Rows of a key after which a semi or anti join asks whether one has passed, and how many times as many it is each time.
const ASKED_MIN: usize = 64;
const ASKED_TIMES: usize = 4;

/// Pairs that were found and are not passed on yet.
struct Pairs<'p, 'a> {
    lookup: &'p Lookup<'a>,
    /// The left side.
    chunk: &'p Chunk,
    table: &'a Arc<Table>,
    /// What is read and tested of what is found, which was by keys that say all that is asked for (`exact`), or by such that do not.
    reading: Reading<'a>,
    exact: bool,
    readers: Vec<Reader<'a>>,
    /// The left row of each pair.
    left: Vec<u16>,
    /// What was found for it.
    right: Chunk,
    /// Bytes of texts in `right`.
    bytes: usize,
    /// They go on when there are so many rows or bytes.
    rows_max: usize,
    bytes_max: usize,
    /// The latest whole key of the primary index, and the pair in which its row is, if it has one: until the pairs go on.
    latest: Option<(Vec<u8>, Option<usize>)>,
    /// Where both sides come together.
    joined: Chunk,
}

impl<'a> Pairs<'_, 'a> {
    #[inline]
    fn is_full(&self) -> bool {
        self.left.len() >= self.rows_max || self.bytes >= self.bytes_max
    }

    /// From here on keys are of the other sort; what was found so far has gone on.
    fn turn_to(&mut self, exact: bool) {
        self.exact = exact;
        self.reading = self.lookup.node.reading(exact);
        self.readers = readers(self.reading.columns, self.table.layout());
        self.right.reset(slots(self.reading));
    }
}

fn slots(reading: Reading<'_>) -> impl Iterator<Item = Slot> {
    reading.columns.iter().map(|(_, slot)| *slot)
}

impl<'a> Exec<'a> {
    /// [`Exec::pairs_by_key`] for some of the rows.
    pub(super) fn pairs_one_by_one(
        &mut self,
        lookup: &Lookup<'a>,
        keys: &[Vector<'_>],
        chunk: &Chunk,
        rows: &[u16],
        pass: Pass<'_, 'a>,
    ) -> Result<Flow> {
        let plan = self.plan;
        let node = lookup.node;
        let table = &plan.tables[node.table as usize].storage;
        let reading = node.reading(true);
        let mut pairs = Pairs {
            lookup,
            chunk,
            table,
            reading,
            exact: true,
            readers: readers(reading.columns, table.layout()),
            left: Vec::new(),
            right: self.take_chunk(slots(reading)),
            bytes: 0,
            rows_max: self.chunk_rows_max(),
            bytes_max: self.chunk_bytes_max(),
            latest: None,
            joined: self.take_chunk(std::iter::empty()),
        };
        let mut key = Vec::new();
        let mut flow = Flow::Continue;
        for row in rows {
            self.tick()?;
            let is_whole = match key_of(lookup, keys, usize::from(*row), &mut key) {
                Asked::Nothing => continue,
                Asked::Key => true,
                Asked::Prefix => false,
            };
            if is_whole != pairs.exact && node.exact.is_some() {
                if !pairs.left.is_empty() {
                    flow = self.pass_found_pairs(&mut pairs, pass)?;
                }
                pairs.turn_to(is_whole);
            }
            if flow == Flow::Continue {
                flow = match is_whole && lookup.unique {
                    true => self.pair_of_key(&mut pairs, *row, &mut key, pass)?,
                    false => self.pairs_of_range(&mut pairs, *row, &key, pass)?,
                };
            }
            if flow == Flow::Stop {
                break;
            }
        }
        if flow == Flow::Continue && !pairs.left.is_empty() {
            flow = self.pass_found_pairs(&mut pairs, pass)?;
        }
        self.return_chunk(pairs.right);
        self.return_chunk(pairs.joined);
        Ok(flow)
    }

    /// Finds the row of a whole key of the primary index; `key` is changed.
    fn pair_of_key(&mut self, pairs: &mut Pairs<'_, 'a>, row: u16, key: &mut Vec<u8>, pass: Pass<'_, 'a>) -> Result<Flow> {
        match &mut pairs.latest {
            Some((latest, found)) if latest == key => {
                if let Some(at) = *found {
                    pairs.right.columns_mut().iter_mut().for_each(|column| column.push_own(at));
                    pairs.left.push(row);
                }
            }
            latest => {
                let session = self.session.as_deref_mut().ok_or_else(|| internal("engine in use"))?;
                session.handler_counts().add(HandlerCall::ReadKey, 1);
                let (table, readers, columns) = (pairs.table, &pairs.readers, pairs.right.columns_mut());
                let appended = session.get(table, key, Read::Snapshot, |row| append_row(row, table.layout(), readers, columns))?;
                let found = appended.is_some().then_some(pairs.left.len());
                if let Some(text_bytes) = appended {
                    pairs.bytes += text_bytes?;
                    pairs.left.push(row);
                }
                match latest {
                    Some((latest, at)) => {
                        std::mem::swap(latest, key);
                        *at = found;
                    }
                    None => *latest = Some((std::mem::take(key), found)),
                }
            }
        }
        if pairs.is_full() { self.pass_found_pairs(pairs, pass) } else { Ok(Flow::Continue) }
    }

    /// Finds the rows whose keys begin with `key`.
    fn pairs_of_range(&mut self, pairs: &mut Pairs<'_, 'a>, row: u16, key: &[u8], pass: Pass<'_, 'a>) -> Result<Flow> {
        let lookup = pairs.lookup;
        let direction = if lookup.backward { Direction::Backward } else { Direction::Forward };
        let first = lookup.takes_first(pairs.exact);
        let mut asked_after = if lookup.matched.is_some() { ASKED_MIN } else { usize::MAX };
        let mut state = None;
        loop {
            let session = self.session.as_deref_mut().ok_or_else(|| internal("engine in use"))?;
            let mut scan = match state.take() {
                None => session.scan(pairs.table, lookup.index_no, KeyRange::prefix(key), direction, Read::Snapshot)?,
                Some(state) => session.resume(state),
            };
            let Pairs { table, reading, readers, left, right, bytes, rows_max, bytes_max, .. } = &mut *pairs;
            let columns = right.columns_mut();
            let before = left.len();
            let mut failed = None;
            let visit = |found: RowRef<'_>, _: RowKey<'_>| {
                match append_row(found, table.layout(), readers, columns) {
                    Ok(text_bytes) => *bytes += text_bytes,
                    Err(error) => {
                        failed = Some(error);
                        return Step::Stop;
                    }
                }
                left.push(row);
                let is_enough = first || left.len() - before >= asked_after;
                if is_enough || left.len() >= *rows_max || *bytes >= *bytes_max { Step::Stop } else { Step::Continue }
            };
            let more = scan.for_each_with(reading.cover, visit)?;
            scan.count(left.len() - before, !more);
            state = Some(scan.park());
            if let Some(error) = failed {
                return Err(error.into());
            }
            if !more || first {
                return if pairs.is_full() { self.pass_found_pairs(pairs, pass) } else { Ok(Flow::Continue) };
            }
            if self.pass_found_pairs(pairs, pass)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
            if lookup.is_decided(row) {
                return Ok(Flow::Continue);
            }
            asked_after = asked_after.saturating_mul(ASKED_TIMES);
        }
    }

    /// Passes the pairs on and empties what held them.
    fn pass_found_pairs(&mut self, pairs: &mut Pairs<'_, 'a>, pass: Pass<'_, 'a>) -> Result<Flow> {
        self.check_cancel()?;
        let Pairs { chunk, reading, left, right, bytes, latest, joined, .. } = pairs;
        joined.reset(chunk.slots().iter().copied());
        gather_left(joined, chunk, left);
        joined.set_len(left.len());
        for (slot, column) in slots(*reading).zip(right.columns_mut()) {
            joined.put(slot, std::mem::take(column));
        }
        let flow = self.pass_accounted(left, joined, reading.filter, pass)?;
        left.clear();
        right.reset(slots(*reading));
        (*bytes, *latest) = (0, None);
        Ok(flow)
    }
}
