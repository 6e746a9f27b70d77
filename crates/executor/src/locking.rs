//! Table access that locks the rows it reads.
//!
//! # Invariants
//! 1. No row behind the last one that is used is locked: a plan that may end a scan early reads its rows one by one.
//! 2. At READ COMMITTED a row that does not pass its table's condition is unlocked again, unless this transaction had it before or waited for it. So none is locked ahead of being
//!    looked at where the statement may come to lock the same row for something else meanwhile, and need it: by another name of the table, or for a foreign key.
//!    At every level what is locked ahead of the row that a statement is at is given back when it fails there, or has to wait (`engine/src/locks/ahead.rs`).
//! 3. At READ COMMITTED a single-table UPDATE that scans the primary index first looks at the last committed version of a row that somebody else
//!    has, and waits for the row only if that version passes.

use crate::errors::{Error, internal};
use crate::exec::Exec;
use crate::run::{Flow, Next, Result};
use crate::scan::{BATCH_FIRST, BATCH_MAX, decode};
use engine::{Direction, HandlerCall, KeyRange, Read, RowBatch, RowLock, Scan, ScanState, Wait};
use planner::plan::{Body, Delete, JoinKind, KeyFilter, Node, Plan, Reading, TableNode, Update};
use record::RestoreBuffer;

/// Most rows of a batch where rows that do not pass are unlocked: until they are looked at they are locked for nothing.
const BATCH_MAX_GIVEN_BACK: usize = 64;

impl<'a> Exec<'a> {
    /// Decides whether the scan of an UPDATE passes by rows that others have.
    pub(crate) fn pass_by_unmatched(&mut self, update: &Update) {
        let input = match &update.input {
            Node::Sort { input, .. } => input,
            input => input,
        };
        let gives_back = self.session.as_deref().is_some_and(engine::Session::gives_back);
        self.passes_by = gives_back && update.targets.len() == 1 && matches!(input, Node::Table(_));
    }

    /// Reads a range of an index.
    #[allow(clippy::too_many_arguments)] // those of `Exec::scan`, and what it found out
    pub(crate) fn scan_locking(
        &mut self,
        node: &'a TableNode,
        reading: Reading<'a>,
        index_no: usize,
        range: KeyRange,
        direction: Direction,
        mut read: Read,
        next: Next<'_, 'a>,
    ) -> Result<Flow> {
        let plan = self.plan;
        let table = &plan.tables[node.table as usize].storage;
        let stops_early = *self.stops_early.get_or_insert_with(|| stops_early(plan));
        let session = self.session.as_deref_mut().ok_or_else(|| internal("engine in use"))?;
        let gives_back = session.gives_back();
        if self.passes_by && node.keep_key.is_some() && index_no == 0 && read == Read::Exclusive(Wait::Block) {
            read = Read::Exclusive(Wait::IfMatches);
        }
        let (mut size, size_max) = match (stops_early || gives_back && is_locked_elsewhere(plan, node.table), gives_back) {
            (true, _) => (1, 1),
            (false, true) => (BATCH_FIRST, BATCH_MAX_GIVEN_BACK),
            (false, false) => (BATCH_FIRST, BATCH_MAX),
        };
        let mut batch = std::mem::take(&mut self.batch);
        let mut state = session.scan(table, index_no, range, direction, read)?.park();
        loop {
            let count;
            (state, count) = self.next_locked(node, index_no, state, &mut batch, size)?;
            let session = self.session.as_deref_mut().ok_or_else(|| internal("engine in use"))?;
            if count == 0 {
                self.batch = batch;
                return Ok(Flow::Continue);
            }
            let is_ahead = size > 1;
            if is_ahead {
                session.deal_with(&mut batch, is_locked_once(plan, node.table));
            }
            let mut at = 0;
            let flow = self.deal_with_rows(node, reading, &batch, &mut at, is_ahead, next);
            let session = self.session.as_deref_mut().ok_or_else(|| internal("engine in use"))?;
            let was_let_go = is_ahead && session.dealt_with(&mut batch, flow.is_err());
            if !matches!(flow, Ok(Flow::Continue)) {
                self.batch = batch;
                return flow;
            }
            size = (size * 2).min(size_max);
            if was_let_go {
                let mut scan = session.resume(state);
                scan.go_back_to(&batch, at)?;
                state = scan.park();
                size = BATCH_FIRST.min(size_max);
            }
        }
    }

    /// The next rows of a scan, locked.
    fn next_locked(
        &mut self,
        node: &'a TableNode,
        index_no: usize,
        state: ScanState,
        batch: &mut RowBatch,
        size: usize,
    ) -> Result<(ScanState, usize)> {
        // An entry is asked with the frame, and without the engine.
        let session = self.session.take().ok_or_else(|| internal("engine in use"))?;
        let mut failed = None;
        let mut read = |mut scan: Scan<'_>| {
            // Behind one row nothing is locked ahead.
            let count = if size > 1 { scan.next_batch_ahead(batch, size)? } else { scan.next_batch(batch, size)? };
            scan.count(count, count == 0);
            Ok((scan.park(), count))
        };
        let found = match node.key_filter.as_deref().filter(|_| index_no != 0) {
            None => read(session.resume(state)),
            Some(keys) => {
                let mut buffer = RestoreBuffer::default();
                keys.restore.begin(&mut buffer);
                read(session.resume(state).asking(&mut |entry| {
                    self.entry_passes(keys, entry, &mut buffer).unwrap_or_else(|error| {
                        failed = Some(error);
                        true
                    })
                }))
            }
        };
        self.session = Some(session);
        failed.map_or(found.map_err(Error::Engine), Err)
    }

    fn entry_passes(&mut self, keys: &'a KeyFilter, entry: &[u8], buffer: &mut RestoreBuffer) -> Result<bool> {
        let row = keys.restore.row(entry, buffer).map_err(|_| internal("an entry that is not made of its parts"))?;
        decode(row, &keys.columns, None, &[], &mut self.frame)?;
        self.is_true(&keys.filter)
    }

    /// Passes the rows of a batch on, those at least that are still locked; `at` is the last one.
    fn deal_with_rows(
        &mut self,
        node: &'a TableNode,
        reading: Reading<'a>,
        batch: &RowBatch,
        at: &mut usize,
        is_ahead: bool,
        next: Next<'_, 'a>,
    ) -> Result<Flow> {
        let plan = self.plan;
        let table = &plan.tables[node.table as usize].storage;
        for row in 0..batch.len() {
            self.tick()?;
            if is_ahead && !self.engine()?.comes_to(row) {
                break;
            }
            *at = row;
            let key = batch.key(row);
            decode(batch.row(table, row)?, reading.columns, node.keep_key, key, &mut self.frame)?;
            if self.locked_row(node, reading, key, batch.lock(row), next)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// Reads the row of a whole primary key.
    pub(crate) fn lookup_locking(
        &mut self,
        node: &'a TableNode,
        reading: Reading<'a>,
        key: &[u8],
        read: Read,
        next: Next<'_, 'a>,
    ) -> Result<Flow> {
        self.lookup_locked(node, reading, key, RowLock::Held, read, next)
    }

    /// [`Exec::lookup_locking`] of a row that this statement may have locked before: `had` says how.
    pub(crate) fn lookup_locked(
        &mut self,
        node: &'a TableNode,
        reading: Reading<'a>,
        key: &[u8],
        had: RowLock,
        read: Read,
        next: Next<'_, 'a>,
    ) -> Result<Flow> {
        let plan = self.plan;
        let table = &plan.tables[node.table as usize].storage;
        let session = self.session.as_deref_mut().ok_or_else(|| internal("engine in use"))?;
        session.handler_counts().add(HandlerCall::ReadKey, 1);
        let frame = &mut self.frame;
        let found = session.get_locking(table, key, read, |row| decode(row, reading.columns, node.keep_key, key, frame))?;
        let Some((decoded, lock)) = found else { return Ok(Flow::Continue) };
        decoded?;
        self.locked_row(node, reading, key, if lock == RowLock::Held { had } else { lock }, next)
    }

    /// Passes the row in the frame on, or gives its lock back.
    fn locked_row(&mut self, node: &'a TableNode, reading: Reading<'a>, key: &[u8], lock: RowLock, next: Next<'_, 'a>) -> Result<Flow> {
        if !self.satisfies(reading.filter)? {
            if lock == RowLock::New {
                let plan = self.plan;
                let session = self.session.as_deref_mut().ok_or_else(|| internal("engine in use"))?;
                session.give_back(&plan.tables[node.table as usize].storage, key, lock);
            }
            return Ok(Flow::Continue);
        }
        if lock == RowLock::Unlocked {
            // Wanted after all: wait for it, and see what it is then.
            return self.lookup_locking(node, reading, key, Read::Exclusive(Wait::Block), next);
        }
        next(self)
    }
}

/// Whether the plan may lock rows of a table in more than one place.
fn is_locked_elsewhere(plan: &Plan, table: u32) -> bool {
    let named = plan.references.iter().map(|(no, _)| no).chain(plan.view_tables.iter().map(|(no, ..)| no));
    named.filter(|no| **no == table).nth(1).is_some() || plan.foreign_keys.as_ref().is_some_and(|keys| keys.lead_to(table))
}

/// Whether a statement comes to lock what a scan of a table locks by that scan alone: then it may be let go of, and read again.
fn is_locked_once(plan: &Plan, table: u32) -> bool {
    let is_changed_otherwise = match &plan.body {
        Body::Query(_) => false,
        Body::Insert(insert) => insert.table == table,
        // What a duplicate was told of is to stay.
        Body::Update(update) => update.ignore,
        Body::Delete(delete) => delete.ignore,
    };
    !is_changed_otherwise && !is_locked_elsewhere(plan, table)
}

/// Whether rows are to be read one by one: something above a scan of this plan may end it before its end, or change what comes next.
fn stops_early(plan: &Plan) -> bool {
    // Subqueries stop at the first row where that is enough.
    !plan.subplans.is_empty()
        || match &plan.body {
            Body::Query(query) => node_stops(&query.root),
            Body::Insert(insert) => match &insert.source {
                planner::plan::InsertSource::Query(query) => node_stops(&query.root),
                _ => false,
            },
            Body::Update(update) => update.limit.is_some() || node_stops(&update.input),
            Body::Delete(delete) => delete.limit.is_some() || node_stops(&delete.input) || clears_its_own(plan, delete),
        }
}

/// Whether what a DELETE does to a row may make others pass that do not yet, or come into its range: they are read when that is done.
fn clears_its_own(plan: &Plan, delete: &Delete) -> bool {
    let Some(keys) = &plan.foreign_keys else { return false };
    delete.targets.iter().any(|target| keys.may_clear(&plan.tables[target.table as usize], &plan.tables))
}

fn node_stops(node: &Node) -> bool {
    match node {
        Node::Limit { .. } | Node::Nested { kind: JoinKind::Semi | JoinKind::Anti, .. } => true,
        Node::Nested { outer, inner, .. } => node_stops(outer) || node_stops(inner),
        Node::Hash(join) => node_stops(&join.probe) || node_stops(&join.build),
        Node::Filter { input, .. } | Node::Project { input, .. } | Node::Sort { input, .. } | Node::Distinct { input, .. } => {
            node_stops(input)
        }
        Node::Group(group) => node_stops(&group.input),
        Node::Window(window) => node_stops(&window.input),
        Node::Union { branches, .. } | Node::SetOperation { branches, .. } => branches.iter().any(|query| node_stops(&query.root)),
        Node::Materialize { input, .. } => node_stops(&input.root),
        Node::Recursive { seed, step, limit, .. } => limit.is_some() || node_stops(&seed.root) || node_stops(&step.root),
        Node::Unit
        | Node::Empty
        | Node::Table(_)
        | Node::Virtual(_)
        | Node::JsonTable(_)
        | Node::Values { .. }
        | Node::RecursiveScan { .. } => false,
    }
}
