//! Consistent scans: the used columns go from the page, or from the entries of a covering index, straight into a chunk.

use crate::batch::Sink;
use crate::batch::chunk::Chunk;
use crate::batch::column::Column;
use crate::errors::internal;
use crate::exec::Exec;
use crate::run::{Flow, Result};
use base::Malformed;
use engine::{Direction, KeyRange, Read, RowKey, Step};
use planner::expr::Slot;
use planner::plan::{Access, LockMode, TableNode};
use record::{ColumnRef, FixedPlace, RowLayout, RowRef};
use types::{ColumnType, Date, Decimal, TypeKind};

/// Rows of the first chunk; chunks double in size.
const FIRST_ROWS: usize = 16;
/// Scans that are expected to read fewer rows go row by row: a chunk would cost more than it saves.
const ROWS_MIN: f64 = 8.0;

impl<'a> Exec<'a> {
    /// Whether a table is read by chunks: a consistent read of many rows, in a statement without side effects.
    pub(super) fn scans_by_batch(&self, node: &TableNode) -> bool {
        let many = match &node.access {
            Access::Full { .. } => true,
            Access::Index { unique, first_only, .. } => !unique && !first_only,
        };
        many && node.rows >= ROWS_MIN
            && node.lock == LockMode::None
            && self.plain_read == Read::Snapshot
            && node.keep_row.is_none()
            && !self.plan.volatile
    }

    /// Runs a table node.
    #[inline(never)]
    pub(super) fn scan_batches(&mut self, node: &'a TableNode, sink: Sink<'_, 'a>) -> Result<Flow> {
        let (index_no, ranges, backward) = match &node.access {
            Access::Full { backward } => (0, vec![KeyRange::all()], *backward),
            Access::Index { index, ranges: None, backward, .. } => (*index as usize, vec![KeyRange::all()], *backward),
            Access::Index { index, ranges: Some(spec), backward, .. } => {
                let mut ranges = self.key_ranges(node.table, *index as usize, spec)?;
                if *backward {
                    ranges.reverse();
                }
                (*index as usize, ranges, *backward)
            }
        };
        let mut chunk = self.take_chunk(node.columns.iter().map(|(_, slot)| *slot));
        let mut rows_max = node.rows_hint.map_or(FIRST_ROWS, |rows| rows as usize).clamp(1, self.chunk_rows_max());
        for range in ranges {
            if self.scan_range(node, index_no, range, backward, &mut rows_max, &mut chunk, sink)? == Flow::Stop {
                self.return_chunk(chunk);
                return Ok(Flow::Stop);
            }
        }
        // Rows of short ranges share a chunk.
        let flow = if chunk.len() > 0 { self.pass_scanned(node, &mut chunk, sink)? } else { Flow::Continue };
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
        rows_max: &mut usize,
        chunk: &mut Chunk,
        sink: Sink<'_, 'a>,
    ) -> Result<Flow> {
        let plan = self.plan;
        let table = &plan.tables[node.table as usize].storage;
        let readers = readers(node, table.layout());
        let direction = if backward { Direction::Backward } else { Direction::Forward };
        let bytes_max = self.chunk_bytes_max();
        let mut range = Some(range);
        let mut state = None;
        loop {
            let session = self.session.as_deref_mut().ok_or_else(|| internal("engine in use"))?;
            let mut scan = match state.take() {
                None => session.scan(table, index_no, range.take().expect("first round"), direction, Read::Snapshot)?,
                Some(state) => session.resume(state),
            };
            let mut count = chunk.len();
            let mut bytes = if count > 0 { chunk.bytes() } else { 0 };
            let mut failed = None;
            let columns = chunk.columns_mut();
            let visit = |row: RowRef<'_>, _: RowKey<'_>| {
                match append_row(row, table.layout(), &readers, columns) {
                    Ok(row_bytes) => bytes += row_bytes,
                    Err(e) => {
                        failed = Some(e);
                        return Step::Stop;
                    }
                }
                count += 1;
                if count >= *rows_max || bytes >= bytes_max { Step::Stop } else { Step::Continue }
            };
            let more = scan.for_each_with(node.cover.as_deref(), visit)?;
            state = Some(scan.park());
            if let Some(e) = failed {
                return Err(e.into());
            }
            chunk.set_len(count);
            if !more {
                return Ok(Flow::Continue);
            }
            if self.pass_scanned(node, chunk, sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
            *rows_max = (*rows_max * 2).min(self.chunk_rows_max());
        }
    }

    /// Passes a full chunk on through the table's filter and empties it.
    fn pass_scanned(&mut self, node: &'a TableNode, chunk: &mut Chunk, sink: Sink<'_, 'a>) -> Result<Flow> {
        self.check_cancel()?;
        let bytes = chunk.bytes();
        self.memory.take(bytes)?;
        let flow = match &node.filter {
            Some(filter) => self.filter_chunk(filter, chunk, sink)?,
            None => sink(self, chunk)?,
        };
        self.memory.give_back(bytes);
        chunk.reset(node.columns.iter().map(|(_, slot)| *slot));
        Ok(flow)
    }
}

/// How the stored bytes of a column become a value of a chunk: decided once for a scan.
#[derive(Clone, Copy)]
enum Decoder {
    Signed,
    Unsigned,
    Decimal,
    Text,
    Date,
    Other,
}

/// A used column.
#[derive(Clone, Copy)]
pub(super) struct Reader<'t> {
    number: usize,
    ty: &'t ColumnType,
    decoder: Decoder,
    /// Where it is in rows of today's layout.
    place: Option<FixedPlace>,
}

pub(super) fn readers<'t>(node: &TableNode, layout: &'t RowLayout) -> Vec<Reader<'t>> {
    let reader = |(number, _): &(u32, Slot)| {
        let number = *number as usize;
        let ty = layout.column_type(number);
        let decoder = match ty.kind {
            kind if kind.is_integer() && ty.unsigned => Decoder::Unsigned,
            kind if kind.is_integer() => Decoder::Signed,
            kind if kind.is_string() => Decoder::Text,
            TypeKind::Decimal => Decoder::Decimal,
            TypeKind::Date => Decoder::Date,
            _ => Decoder::Other,
        };
        Reader { number, ty, decoder, place: layout.fixed_place(number) }
    };
    node.columns.iter().map(reader).collect()
}

/// Appends the used columns of a row; returns how many bytes of strings that were.
#[inline]
pub(super) fn append_row(
    row: RowRef<'_>,
    layout: &RowLayout,
    readers: &[Reader<'_>],
    columns: &mut [Column],
) -> std::result::Result<usize, Malformed> {
    let mut string_bytes = 0;
    let current = std::ptr::eq(row.layout(), layout);
    for (reader, column) in readers.iter().zip(columns) {
        let bytes = match &reader.place {
            Some(place) if current => place.bytes(row.bytes())?,
            _ => row.column_bytes(reader.number)?,
        };
        let Some(raw) = bytes else {
            column.push_null();
            continue;
        };
        let stored = ColumnRef { ty: reader.ty, bytes };
        match reader.decoder {
            Decoder::Signed => column.push_int(stored.as_i64()?.unwrap_or_default()),
            Decoder::Unsigned => column.push_uint(stored.as_u64()?.unwrap_or_default()),
            Decoder::Text => {
                string_bytes += raw.len();
                column.push_bytes(raw);
            }
            Decoder::Decimal => match Decimal::decode_ordered(raw, reader.ty.decimals) {
                Some(decimal) => column.push_decimal(decimal),
                None => column.push(&stored.value()?),
            },
            Decoder::Date => column.push_date(stored.as_u64()?.and_then(|packed| Date::from_packed(packed as u32)).ok_or(Malformed)?),
            Decoder::Other => column.push(&stored.value()?),
        }
    }
    Ok(string_bytes)
}
