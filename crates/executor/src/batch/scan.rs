//! Consistent scans: the used columns go from the page, or from the entries of a covering index, straight into a chunk.

use crate::batch::Sink;
use crate::batch::chunk::Chunk;
use crate::batch::decode::Readers;
use crate::errors::internal;
use crate::exec::Exec;
use crate::run::{Flow, Result};
use crate::scan::Stand;
use engine::{Direction, KeyRange, Read, RowKey, Run, Step};
use planner::keys::KeyRanges;
use planner::plan::{Access, LockMode, Reading, TableNode};
use record::RowRef;

/// Rows of the first chunk; chunks double in size.
const FIRST_ROWS: usize = 16;
/// Scans that are expected to read fewer rows go row by row: a chunk would cost more than it saves.
const ROWS_MIN: f64 = 8.0;

impl<'a> Exec<'a> {
    /// Whether a table is read by chunks: a consistent read of many rows, in a statement without side effects.
    pub(super) fn scans_by_batch(&self, node: &TableNode) -> bool {
        let many = match &node.access {
            Access::Full { .. } => true,
            Access::Groups(_) | Access::Merge { .. } => false,
            Access::Index { unique, first_only, .. } => !unique && !first_only,
        };
        many && node.rows >= ROWS_MIN
            && node.lock == LockMode::None
            && self.plain_read == Read::Snapshot
            && node.keep_key.is_none()
            // Entries are asked one by one.
            && node.key_filter.is_none()
            && !self.plan.volatile
    }

    /// Runs a table node.
    #[inline(never)]
    pub(super) fn scan_batches(&mut self, node: &'a TableNode, sink: Sink<'_, 'a>) -> Result<Flow> {
        let (index_no, ranges, exact, backward) = match &node.access {
            Access::Full { backward, .. } => (0, vec![KeyRange::all()], false, *backward),
            Access::Groups(_) | Access::Merge { .. } => return Err(internal("groups and merged indexes are read by rows")),
            Access::Index { index, ranges: None, backward, .. } => (*index as usize, vec![KeyRange::all()], false, *backward),
            Access::Index { index, ranges: Some(spec), backward, .. } => {
                let KeyRanges { mut ranges, exact } = self.key_ranges(node.table, *index as usize, spec)?;
                if *backward {
                    ranges.reverse();
                }
                (*index as usize, ranges, exact, *backward)
            }
        };
        let reading = node.reading(exact);
        let mut chunk = self.take_chunk(reading.columns.iter().map(|(_, slot)| *slot));
        let mut rows_max = node.rows_hint.map_or(FIRST_ROWS, |rows| rows as usize).clamp(1, self.chunk_rows_max());
        for range in ranges {
            if self.scan_range(node, index_no, range, backward, reading, &mut rows_max, &mut chunk, sink)? == Flow::Stop {
                self.return_chunk(chunk);
                return Ok(Flow::Stop);
            }
        }
        // Rows of short ranges share a chunk.
        let flow = if chunk.len() > 0 { self.pass_scanned(reading, &mut chunk, sink)? } else { Flow::Continue };
        self.return_chunk(chunk);
        Ok(flow)
    }

    /// Reads a range; what does not fill a chunk stays in `chunk`.
    fn scan_range(
        &mut self,
        node: &'a TableNode,
        index_no: usize,
        range: KeyRange,
        backward: bool,
        reading: Reading<'a>,
        rows_max: &mut usize,
        chunk: &mut Chunk,
        sink: Sink<'_, 'a>,
    ) -> Result<Flow> {
        let plan = self.plan;
        let table = &plan.tables[node.table as usize].storage;
        let mut readers = Readers::new(reading.columns, table.layout());
        let direction = if backward { Direction::Backward } else { Direction::Forward };
        let bytes_max = self.chunk_bytes_max();
        let rows_wanted = node.rows_hint.unwrap_or(u64::MAX);
        let mut stand = Stand::Begins(range);
        loop {
            let session = self.session.as_deref_mut().ok_or_else(|| internal("engine in use"))?;
            let mut scan = match stand {
                Stand::Begins(range) => session.scan(table, index_no, range, direction, Read::Snapshot)?.wanting(rows_wanted),
                Stand::Parked(state) => session.resume(state),
            };
            let before = chunk.len();
            let mut count = before;
            let mut bytes = if count > 0 { chunk.bytes() } else { 0 };
            let mut failed = None;
            let columns = chunk.columns_mut();
            let most = rows_max.saturating_sub(count);
            let visit = |run: Run<'_>| {
                let (rows, appended) = match run {
                    Run::Plain(layout, rows) => (rows.len(), readers.append_run(rows, layout, columns)),
                    Run::Row(row) => (1, readers.append_row(row, columns)),
                };
                match appended {
                    Ok(row_bytes) => bytes += row_bytes,
                    Err(e) => {
                        failed = Some(e);
                        return Step::Stop;
                    }
                }
                count += rows;
                if count >= *rows_max || bytes >= bytes_max { Step::Stop } else { Step::Continue }
            };
            let more = match reading.cover {
                Some(restore) => {
                    let mut visit = visit;
                    scan.for_each_covered(restore, |row: RowRef<'_>, _: RowKey<'_>| visit(Run::Row(row)))?
                }
                None => scan.for_each_run(most, visit)?,
            };
            scan.count(count - before, !more);
            stand = Stand::Parked(scan.park());
            if let Some(e) = failed {
                return Err(e.into());
            }
            chunk.set_len(count);
            if !more {
                return Ok(Flow::Continue);
            }
            if self.pass_scanned(reading, chunk, sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
            *rows_max = (*rows_max * 2).min(self.chunk_rows_max());
        }
    }

    /// Passes a full chunk on through the filter and empties it.
    fn pass_scanned(&mut self, reading: Reading<'a>, chunk: &mut Chunk, sink: Sink<'_, 'a>) -> Result<Flow> {
        self.check_cancel()?;
        let bytes = chunk.bytes();
        self.memory.take(bytes)?;
        let flow = match reading.filter {
            Some(filter) => self.filter_chunk(filter, chunk, sink)?,
            None => sink(self, chunk)?,
        };
        self.memory.give_back(bytes);
        chunk.reset(reading.columns.iter().map(|(_, slot)| *slot));
        Ok(flow)
    }
}
