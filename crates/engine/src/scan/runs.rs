//! Consistent scans of the primary index, leaf by leaf: row by row, or in runs of rows that need no closer look.
//!
//! Most rows that a scan comes by are *plain*: the newest version is the one that the reader sees, it is laid out as the row before, and all of it is in the
//! leaf. Three comparisons tell. They are given out in runs, as bytes, for those who take columns from many rows in a loop; any other row comes alone.
//! Rows from before the table's columns were changed make runs too: a run ends where the layout changes, and names it.
//!
//! # Invariants
//! 1. Runs and lone rows come in the order of the scan.
//! 2. A plain row is at least as long as the part of a row that has a fixed place, and shorter than a page.

use crate::engine::Engine;
use crate::scan::{Direction, Place, RowKey, Scan, Step};
use crate::session::Session;
use crate::table::Table;
use crate::version::visible;
use crate::{Error, Result};
use base::TxnId;
use btree::{Entries, Scanned};
use record::header::{FLAGS_AT, HEADER_BYTES, SCHEMA_VERSION_AT, TXN_AT};
use record::{RowLayout, RowRef};
use std::ops::Bound;
use txn::ReadView;

/// Most rows of a run.
const RUN_ROWS: usize = 64;

/// What a scan shows at once.
pub enum Run<'r> {
    /// The bytes of rows that are all laid out so.
    Plain(&'r RowLayout, &'r [&'r [u8]]),
    /// A row of any layout.
    Row(RowRef<'r>),
}

/// What rows are judged by.
struct Reader<'s> {
    engine: &'s Engine,
    table: &'s Table,
    view: &'s ReadView,
    own: TxnId,
}

/// How plain rows begin.
struct Plain<'s> {
    /// Of the row before; today's at first.
    layout: &'s RowLayout,
    /// Flags and schema version, as a word.
    word: u32,
    /// Writers below this are seen.
    low: u64,
    /// And this one: a recent writer that has much of what a scan comes by, or the reader itself.
    also: u64,
    bytes_min: usize,
}

const _: () = assert!(FLAGS_AT == 0 && SCHEMA_VERSION_AT == 1 && TXN_AT == 3);

impl<'s> Plain<'s> {
    fn of(reader: &Reader<'s>) -> Plain<'s> {
        Plain { low: reader.view.low().0, also: reader.own.0, ..Plain::laid_out(reader.table.layout()) }
    }

    fn laid_out(layout: &'s RowLayout) -> Plain<'s> {
        let (word, bytes_min) = (u32::from(layout.schema_version()) << 8, layout.fixed_row_bytes().max(HEADER_BYTES));
        Plain { layout, word, low: 0, also: 0, bytes_min }
    }

    /// Goes over to the layout of a row that is not plain so far. Returns whether it is plain by its own.
    #[cold]
    #[inline(never)]
    fn is_by_another_layout(&mut self, row: &[u8], reader: &Reader<'s>) -> bool {
        let Some([_, low, high]) = row.first_chunk::<TXN_AT>() else { return false };
        let version = u16::from_le_bytes([*low, *high]);
        if version == self.layout.schema_version() {
            return false;
        }
        let Ok(layout) = reader.table.layout_of(version) else { return false };
        *self = Plain { low: self.low, also: self.also, ..Plain::laid_out(layout) };
        self.is(row, reader)
    }

    #[inline(always)]
    fn is(&mut self, row: &[u8], reader: &Reader<'_>) -> bool {
        let Some([flags, low, high, txn @ ..]) = row.first_chunk::<HEADER_BYTES>() else { return false };
        let txn = txn.first_chunk().map_or(u64::MAX, |txn| u64::from_le_bytes(*txn));
        u32::from_le_bytes([*flags, *low, *high, 0]) == self.word
            && row.len() >= self.bytes_min
            && (txn < self.low || txn == self.also || self.is_seen(TxnId(txn), reader))
    }

    /// Whether a recent writer is seen; it is remembered then.
    #[cold]
    #[inline(never)]
    fn is_seen(&mut self, txn: TxnId, reader: &Reader<'_>) -> bool {
        let seen = reader.view.sees(txn, reader.own);
        if seen {
            self.also = txn.0;
        }
        seen
    }
}

impl Reader<'_> {
    /// Calls `f` with the version of a stored row that the reader sees, if there is one.
    #[inline]
    fn show<R>(&self, stored: &[u8], buffer: &mut Vec<u8>, f: impl FnOnce(RowRef<'_>) -> R) -> Result<Option<R>> {
        match visible(&self.engine.undo, self.view, self.own, stored, buffer)? {
            Some(version) => self.engine.with_full_row(self.table, version, f).map(Some),
            None => Ok(None),
        }
    }
}

impl Scan<'_> {
    /// Calls `f` with rows in order until it says [`Step::Stop`], `rows_max` were shown, or the range ends. Returns whether more rows may follow. Locking scans and those of
    /// secondary indexes show each row alone.
    ///
    /// `f` may run under a latch: it copies or encodes, and never blocks or comes back to the engine.
    pub fn for_each_run(&mut self, rows_max: usize, mut f: impl FnMut(Run<'_>) -> Step) -> Result<bool> {
        let mut left = rows_max.max(1);
        if self.state.read.lock().is_some() || self.state.index_no != 0 {
            return self.for_each(|row, _| {
                let step = f(Run::Row(row));
                left -= 1;
                if left == 0 { Step::Stop } else { step }
            });
        }
        self.primary_leaves(|reader, entries, buffer| {
            let mut plain = Plain::of(reader);
            let mut run: [&[u8]; RUN_ROWS] = [&[]; RUN_ROWS];
            let mut count = 0;
            for no in 0..entries.len() {
                let stored = entries.value(no);
                let layout = plain.layout;
                if plain.is(stored, reader) {
                    run[count] = stored;
                    count += 1;
                    if count < RUN_ROWS.min(left) {
                        continue;
                    }
                    left -= count;
                    if f(Run::Plain(layout, &run[..count])) == Step::Stop || left == 0 {
                        return Ok(Some(no + 1));
                    }
                    count = 0;
                    continue;
                }
                if count > 0 {
                    // Fewer than are left: else they would have gone.
                    left -= count;
                    if f(Run::Plain(layout, &run[..count])) == Step::Stop {
                        return Ok(Some(no));
                    }
                    count = 0;
                }
                if plain.is_by_another_layout(stored, reader) {
                    run[0] = stored;
                    count = 1;
                    if left > 1 {
                        continue;
                    }
                    f(Run::Plain(plain.layout, &run[..1]));
                    return Ok(Some(no + 1));
                }
                if let Some(step) = reader.show(stored, buffer, |row| f(Run::Row(row)))? {
                    left -= 1;
                    if step == Step::Stop || left == 0 {
                        return Ok(Some(no + 1));
                    }
                }
            }
            if count > 0 {
                left -= count;
                if f(Run::Plain(plain.layout, &run[..count])) == Step::Stop {
                    return Ok(Some(entries.len()));
                }
            }
            Ok(None)
        })
    }

    /// [`Scan::for_each`] of a consistent scan of the primary index.
    #[inline]
    pub(crate) fn primary_snapshot(&mut self, f: &mut impl FnMut(RowRef<'_>, RowKey<'_>) -> Step) -> Result<bool> {
        self.primary_leaves(|reader, entries, buffer| {
            let mut plain = Plain::of(reader);
            for no in 0..entries.len() {
                let (key, stored) = (RowKey::Stored(entries.key(no)), entries.value(no));
                let step = if plain.is(stored, reader) || plain.is_by_another_layout(stored, reader) {
                    Some(f(RowRef::new(plain.layout, stored), key))
                } else {
                    reader.show(stored, buffer, |row| f(row, key))?
                };
                if step == Some(Step::Stop) {
                    return Ok(Some(no + 1));
                }
            }
            Ok(None)
        })
    }

    /// Goes from leaf to leaf: `f` gets what is in the range of each, and a buffer for older versions, and says after how many entries it has enough.
    #[inline]
    fn primary_leaves(&mut self, mut f: impl FnMut(&Reader<'_>, Entries<'_>, &mut Vec<u8>) -> Result<Option<usize>>) -> Result<bool> {
        let Session { engine, view, running, buffers, cancel, .. } = &mut *self.session;
        let state = &mut self.state;
        let tree = &state.table.indexes[0].tree;
        let mut cursor = tree.cursor();
        if !Scan::position(state, &mut cursor)? {
            state.place = Place::End;
            return Ok(false);
        }
        let reader = Reader { engine, table: &state.table, view, own: running.id };
        let direction = state.direction;
        let end = match direction {
            Direction::Forward => state.range.upper_bound(),
            Direction::Backward => Bound::Included(state.range.lower.as_slice()),
        };
        loop {
            let mut failed = None;
            let scanned = cursor.scan_entries(direction, end, |entries| match f(&reader, entries, &mut buffers.version) {
                Ok(stopped) => stopped,
                Err(error) => {
                    failed = Some(error);
                    // Nothing more is shown; where the cursor is does not matter then.
                    (!entries.is_empty()).then_some(1)
                }
            })?;
            state.pace = cursor.pace();
            if let Some(error) = failed {
                return Err(error);
            }
            if cancel.is_cancelled() {
                return Err(Error::Killed);
            }
            match scanned {
                Scanned::Stopped => {
                    let last = cursor.key().to_vec();
                    drop(cursor);
                    state.pass(last)?;
                    return Ok(true);
                }
                Scanned::EndOfRange => {
                    state.place = Place::End;
                    return Ok(false);
                }
                Scanned::NextLeaf => {}
            }
        }
    }
}
