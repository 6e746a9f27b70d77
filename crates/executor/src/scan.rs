//! Table access: key ranges from expressions, rows into slots.

use crate::errors::{Error, internal};
use crate::exec::Exec;
use crate::run::{Flow, Next, Result};
use engine::{Direction, HandlerCall, KeyRange, Read, ScanState, Wait};
use planner::expr::{Expr, ExprKind, Slot};
use planner::func::Func;
use planner::keys::{self, BoundValues, KeyRanges};
use planner::plan::{Access, LockMode, LockWait, RangeSpec, TableNode};
use record::RowRef;
use types::{LocalTime, Value};

/// Rows of the first batch of a scan; batches double up to [`BATCH_MAX`].
pub(crate) const BATCH_FIRST: usize = 16;
/// Rows of a batch.
pub(crate) const BATCH_MAX: usize = 512;

/// Where the scan of a range stands between two batches.
#[allow(clippy::large_enum_variant)] // One for each scan, on the stack of who scans.
pub(crate) enum Stand {
    /// At its beginning.
    Begins(KeyRange),
    /// Behind the last batch.
    Parked(ScanState),
}

/// Bounds as the statement evaluates them.
struct Evaluated<'x, 'a> {
    exec: &'x mut Exec<'a>,
    failed: Option<Error>,
}

impl BoundValues for Evaluated<'_, '_> {
    fn value(&mut self, bound: &Expr) -> Option<Value> {
        // What is wrong with a text tells the condition, which stays.
        let (of, is_text) = match &bound.kind {
            ExprKind::Func(Func::WholeText, text) => (&text[0], true),
            _ => (bound, false),
        };
        match self.exec.eval(of) {
            Ok(Value::Bytes(text)) if is_text => Some(Value::Decimal(types::whole_text(&text))),
            Ok(value) => Some(value),
            Err(error) => {
                self.failed = Some(error);
                None
            }
        }
    }

    fn zone(&self) -> &dyn LocalTime {
        &*self.exec.context
    }
}

/// The engine's read mode.
pub fn read_mode(lock: LockMode) -> Read {
    let wait = |w| match w {
        LockWait::Block => Wait::Block,
        LockWait::NoWait => Wait::NoWait,
        LockWait::SkipLocked => Wait::SkipLocked,
    };
    match lock {
        LockMode::None => Read::Snapshot,
        LockMode::Share(w) => Read::Share(wait(w)),
        LockMode::Exclusive(w) => Read::Exclusive(wait(w)),
    }
}

impl<'a> Exec<'a> {
    pub(crate) fn read_of(&self, lock: LockMode) -> Read {
        if lock == LockMode::None { self.plain_read } else { read_mode(lock) }
    }

    /// Runs a table node.
    pub fn run_table(&mut self, node: &'a TableNode, next: Next<'_, 'a>) -> Result<Flow> {
        match &node.access {
            Access::Full { backward, .. } => self.scan(node, 0, KeyRange::all(), *backward, false, next),
            Access::Index { index, ranges: None, backward, .. } => {
                self.scan(node, *index as usize, KeyRange::all(), *backward, false, next)
            }
            Access::Index { index, ranges: Some(spec), backward, unique, .. } => {
                let index_no = *index as usize;
                let KeyRanges { mut ranges, exact } = self.key_ranges(node.table, index_no, spec)?;
                if *unique && index_no == 0 && spec.is_point() {
                    // What a column cannot hold in the order of its keys (a number for a text) leaves the range open.
                    if exact && let [range] = ranges.as_mut_slice() {
                        let key = std::mem::take(&mut range.lower);
                        return self.lookup(node, key, next);
                    }
                    // The rows of such a range come where the one is that was looked up last.
                    self.lookups[node.id as usize].valid = false;
                }
                if *backward {
                    ranges.reverse();
                }
                for range in ranges {
                    if self.scan(node, index_no, range, *backward, exact, next)? == Flow::Stop {
                        return Ok(Flow::Stop);
                    }
                }
                Ok(Flow::Continue)
            }
            Access::Groups(groups) => self.groups(node, groups, next),
            Access::Merge { kind, arms } => self.index_merge(node, *kind, arms, next),
        }
    }

    /// Evaluates the bounds of an access.
    pub fn key_ranges(&mut self, table: u32, index_no: usize, spec: &'a RangeSpec) -> Result<KeyRanges> {
        self.ranges_behind(table, index_no, 0, spec)
    }

    /// Evaluates bounds on the parts of an index that come behind some leading ones; the bytes of those are left out.
    pub(crate) fn ranges_behind(&mut self, table: u32, index_no: usize, leading: usize, spec: &'a RangeSpec) -> Result<KeyRanges> {
        let plan = self.plan;
        let def = &plan.tables[table as usize].def;
        let mut values = Evaluated { exec: self, failed: None };
        let ranges = keys::ranges_behind(def, index_no, leading, spec, &mut values);
        match (ranges, values.failed) {
            (_, Some(e)) => Err(e),
            (Some(ranges), None) => Ok(ranges),
            (None, None) => Err(internal("range without values")),
        }
    }

    #[inline]
    pub(crate) fn passes(&mut self, node: &'a TableNode) -> Result<bool> {
        self.satisfies(node.filter.as_ref())
    }

    /// Whether the row in the frame passes a filter, if there is one.
    #[inline]
    pub(crate) fn satisfies(&mut self, filter: Option<&'a Expr>) -> Result<bool> {
        match filter {
            None => Ok(true),
            Some(f) => self.is_true(f),
        }
    }

    fn lookup(&mut self, node: &'a TableNode, key: Vec<u8>, next: Next<'_, 'a>) -> Result<Flow> {
        self.tick()?;
        let read = self.read_of(node.lock);
        if read != Read::Snapshot {
            return self.lookup_locking(node, node.reading_locked(true), &key, read, next);
        }
        let at = node.id as usize;
        let state = &mut self.lookups[at];
        let repeated = state.valid && state.key == key;
        if !repeated {
            self.count_calls(HandlerCall::ReadKey, 1);
            let found = self.fetch(node, &key)?;
            let state = &mut self.lookups[at];
            state.key = key;
            state.found = found;
            state.valid = true;
        }
        if self.lookups[at].found && self.passes(node)? { next(self) } else { Ok(Flow::Continue) }
    }

    /// Runs a table node over a range; `exact`: it is one of those that hold the rows which the access asks for and no others.
    pub(crate) fn scan(
        &mut self,
        node: &'a TableNode,
        index_no: usize,
        range: KeyRange,
        backward: bool,
        exact: bool,
        next: Next<'_, 'a>,
    ) -> Result<Flow> {
        let plan = self.plan;
        let table = &plan.tables[node.table as usize].storage;
        let direction = if backward { Direction::Backward } else { Direction::Forward };
        let read = self.read_of(node.lock);
        if read != Read::Snapshot {
            return self.scan_locking(node, node.reading_locked(exact), index_no, range, direction, read, next);
        }
        let reading = node.reading(exact);
        let mut size = node.rows_hint.map_or(BATCH_FIRST, |h| (h as usize).clamp(1, BATCH_MAX));
        let mut batch = std::mem::take(&mut self.batch);
        let rows_wanted = node.rows_hint.unwrap_or(u64::MAX);
        let mut stand = Stand::Begins(range);
        let key_filter = node.key_filter.as_deref();
        let cover = key_filter.map(|keys| &keys.restore).or(reading.cover);
        loop {
            let session = self.session.as_deref_mut().ok_or_else(|| internal("engine in use"))?;
            let mut scan = match stand {
                Stand::Begins(range) => session.scan(table, index_no, range, direction, read)?.wanting(rows_wanted),
                Stand::Parked(state) => session.resume(state),
            };
            let count = match cover {
                Some(restore) => scan.next_batch_covered(restore, &mut batch, size)?,
                None => scan.next_batch(&mut batch, size)?,
            };
            scan.count(count, count == 0);
            stand = Stand::Parked(scan.park());
            for i in 0..count {
                self.tick()?;
                match key_filter {
                    Some(keys) => {
                        decode(batch.row(table, i)?, &keys.columns, None, &[], &mut self.frame)?;
                        if !self.is_true(&keys.filter)? || !self.fetch(node, batch.key(i))? {
                            continue;
                        }
                    }
                    None => decode(batch.row(table, i)?, reading.columns, node.keep_key, batch.key(i), &mut self.frame)?,
                }
                if self.satisfies(reading.filter)? && next(self)? == Flow::Stop {
                    self.batch = batch;
                    return Ok(Flow::Stop);
                }
            }
            if count == 0 {
                self.batch = batch;
                return Ok(Flow::Continue);
            }
            size = (size * 2).min(BATCH_MAX);
        }
    }
}

impl<'a> Exec<'a> {
    /// Counts calls that [`engine::Scan::count`] does not see.
    #[inline]
    pub(crate) fn count_calls(&self, call: HandlerCall, count: usize) {
        if let Some(session) = &self.session {
            session.handler_counts().add(call, count as u64);
        }
    }

    /// Brings a row of the statement's snapshot into the frame; whether there is one.
    #[inline]
    pub(crate) fn fetch(&mut self, node: &'a TableNode, key: &[u8]) -> Result<bool> {
        let table = &self.plan.tables[node.table as usize].storage;
        let session = self.session.as_deref_mut().ok_or_else(|| internal("engine in use"))?;
        let frame = &mut self.frame;
        match session.get(table, key, Read::Snapshot, |row| decode(row, &node.columns, node.keep_key, key, frame))? {
            Some(decoded) => decoded.map(|()| true),
            None => Ok(false),
        }
    }
}

/// Decodes the used columns of a row into the frame, and puts its key there if that is to be kept.
#[inline]
pub fn decode(row: RowRef<'_>, columns: &[(u32, Slot)], keep: Option<Slot>, key: &[u8], frame: &mut [Value]) -> Result<()> {
    for (column, slot) in columns {
        frame[*slot as usize] = row.value(*column as usize)?;
    }
    if let Some(slot) = keep {
        frame[slot as usize] = Value::bytes(key);
    }
    Ok(())
}
