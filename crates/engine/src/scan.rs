//! Reading rows in the order of an index.
//!
//! # Invariants
//! 1. A consistent scan of the primary index (`runs.rs`) calls its closure under the leaf's latch; a scan through a secondary index collects a batch
//!    of entries of one leaf, lets the leaf go, and fetches each row by its key (`covered.rs` spares it the rows where it can).
//! 2. Locking scans have a file of their own, `scan/locking.rs`.
//! 3. A row is reported by a secondary scan only when its visible version has the entry's key; so a row whose key moved inside
//!    the range is reported once.
//!
//! # In this room
//! - `runs.rs`: consistent scans of the primary index, row by row or in runs; `covered.rs`: of a secondary index without its rows.
//! - `by_keys.rs`: the rows of many keys at once; `lookup.rs`: those of one key of a secondary index.
//! - `locking.rs`: scans that lock what they show; `next_key.rs`: those of a secondary index that lock gaps; `one_key.rs`: the row of a unique key where none are locked.

pub(crate) mod by_keys;
pub(crate) mod covered;
pub(crate) mod locking;
pub(crate) mod lookup;
pub(crate) mod next_key;
pub(crate) mod one_key;
pub(crate) mod runs;

use crate::locks::ahead::LockedAhead;
use crate::locks::row_lock::{Read, RowLock};
use crate::range::KeyRange;
use crate::session::Session;
use crate::table::Table;
use crate::write::secondary::has_key;
use crate::{Error, Result};
use btree::{Cursor, KeyRef, KeysAhead, Pace, Scanned, Seek};
use covered::scan_leaf;
use record::RowRef;
use std::ops::Bound;
use std::sync::Arc;

pub use btree::Direction;

/// What the closure of a scan wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The next row.
    Continue,
    /// No more now; this row is consumed.
    Stop,
}

/// A primary key as a scan has it at hand: put together only by those who keep it.
#[derive(Debug, Clone, Copy)]
pub enum RowKey<'a> {
    /// As the leaf keeps it.
    Stored(KeyRef<'a>),
    /// Whole.
    Whole(&'a [u8]),
    /// The end of a secondary entry's key, after so many bytes of its user parts.
    EndOf(KeyRef<'a>, usize),
}

impl RowKey<'_> {
    /// Appends the key.
    #[inline]
    pub fn append_to(&self, out: &mut Vec<u8>) {
        match self {
            RowKey::Stored(key) => key.append_to(out),
            RowKey::Whole(key) => out.extend_from_slice(key),
            RowKey::EndOf(entry, user_bytes) => {
                let mut user_bytes = *user_bytes;
                for piece in entry.pieces() {
                    let skipped = user_bytes.min(piece.len());
                    out.extend_from_slice(&piece[skipped..]);
                    user_bytes -= skipped;
                }
            }
        }
    }

    /// The key as bytes of their own.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut key = Vec::new();
        self.append_to(&mut key);
        key
    }
}

/// Rows of a batch, copied into one arena.
#[derive(Debug, Default)]
pub struct RowBatch {
    bytes: Vec<u8>,
    rows: Vec<BatchRow>,
    /// What was locked for them.
    pub(crate) ahead: LockedAhead,
}

#[derive(Debug, Clone, Copy)]
struct BatchRow {
    key: usize,
    row: usize,
    end: usize,
    lock: RowLock,
}

impl RowBatch {
    /// Bytes that are kept from one statement to the next.
    const BYTES_KEPT: usize = 16 << 10;

    /// Forgets all rows; the memory stays.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.rows.clear();
    }

    /// Forgets all rows, and gives back what a next statement is unlikely to need.
    pub fn rest(&mut self) {
        self.clear();
        if self.bytes.capacity() + self.rows.capacity() * size_of::<BatchRow>() + self.ahead.bytes() > RowBatch::BYTES_KEPT {
            *self = RowBatch::default();
        }
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether it holds as many rows as are wanted, or about 1 MiB.
    pub(crate) fn is_full(&self, rows_max: usize) -> bool {
        self.len() >= rows_max || self.bytes() >= 1 << 20
    }

    /// Bytes of all rows and keys, for memory accounting.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Copies a row and its primary key in.
    #[inline]
    pub fn push(&mut self, row: RowRef<'_>, key: RowKey<'_>) {
        self.push_locked(row, key, RowLock::Held);
    }

    #[inline]
    fn push_locked(&mut self, row: RowRef<'_>, key: RowKey<'_>, lock: RowLock) {
        let start = self.bytes.len();
        key.append_to(&mut self.bytes);
        let at = self.bytes.len();
        self.bytes.extend_from_slice(row.bytes());
        self.rows.push(BatchRow { key: start, row: at, end: self.bytes.len(), lock });
    }

    /// Copies a row in, without its key.
    #[inline]
    pub fn push_row(&mut self, row: RowRef<'_>) {
        self.push(row, RowKey::Whole(&[]));
    }

    /// The bytes of a row, header included; `table` gives them meaning.
    pub fn row<'b>(&'b self, table: &'b Table, no: usize) -> Result<RowRef<'b>> {
        let row = self.rows[no];
        table.row_ref(&self.bytes[row.row..row.end])
    }

    /// How a row of a locking read is locked.
    pub fn lock(&self, no: usize) -> RowLock {
        self.rows[no].lock
    }

    /// The primary key of a row.
    pub fn key(&self, no: usize) -> &[u8] {
        let row = self.rows[no];
        &self.bytes[row.key..row.row]
    }
}

/// Where a scan stands.
pub(crate) enum Place {
    /// Not begun.
    Start,
    /// The last key that was dealt with.
    After(Vec<u8>),
    /// Nothing more.
    End,
}

/// Rows of one index in a range. Borrows the session: a statement that writes between rows takes batches, and
/// [`Scan::park`]s the scan.
pub struct Scan<'s> {
    pub(crate) session: &'s mut Session,
    pub(crate) state: ScanState,
    pub(crate) asks: Option<AskEntry<'s>>,
}

/// Whether the row behind an entry of a secondary index may be wanted, by the entry's key.
pub type AskEntry<'s> = &'s mut dyn FnMut(&[u8]) -> bool;

/// A scan without its session.
pub struct ScanState {
    pub(crate) table: Arc<Table>,
    pub(crate) index_no: usize,
    pub(crate) range: KeyRange,
    pub(crate) direction: Direction,
    pub(crate) read: Read,
    /// That it has begun was counted: [`Scan::count`].
    pub(crate) counted: bool,
    /// The range before it was cut to begin with a key in its middle.
    pub(crate) uncut: Option<KeyRange>,
    pub(crate) place: Place,
    /// Entries of a consistent read of a secondary index, and how many of them are dealt with: `place` is behind these.
    entries: (EntryBatch, usize),
    /// How many entries are taken together the next time.
    entries_max: usize,
    /// The key that the scan stopped before, if it has locked the gap before it and had nothing of that key: until it goes on, the gap was locked for a wait.
    pub(crate) gap_for_wait: Option<Vec<u8>>,
    /// How far it has come, for the cursor that continues it.
    pub(crate) pace: Pace,
    /// How far rows behind entries were read ahead.
    pub(crate) rows_ahead: KeysAhead,
}

/// Entries of a secondary leaf that are looked up together.
pub(crate) const ENTRIES_PER_BATCH: usize = 128;

impl Session {
    /// A scan of `table.indexes[index_no]`. Nothing is read yet.
    pub fn scan(&mut self, table: &Arc<Table>, index_no: usize, range: KeyRange, direction: Direction, read: Read) -> Result<Scan<'_>> {
        if read != Read::Snapshot {
            self.before_locks();
        } else {
            self.ensure_view_by(table, index_no)?;
        }
        let place = if range.is_empty() { Place::End } else { Place::Start };
        let state = ScanState {
            table: Arc::clone(table),
            index_no,
            range,
            direction,
            read,
            place,
            entries: Default::default(),
            entries_max: ENTRIES_PER_BATCH,
            gap_for_wait: None,
            counted: false,
            uncut: None,
            pace: Pace::default(),
            rows_ahead: KeysAhead::of_some(),
        };
        let mut scan = Scan { session: self, state, asks: None };
        // Of one key there is no order, and what lies beside it is not to be locked.
        if direction == Direction::Backward && read != Read::Snapshot && table.indexes[index_no].unique && scan.is_point_of(table) {
            scan.state.direction = Direction::Forward;
        }
        Ok(scan)
    }

    /// Goes on with a parked scan.
    pub fn resume(&mut self, state: ScanState) -> Scan<'_> {
        Scan { session: self, state, asks: None }
    }

    /// The first key of an index in a range as it stands now, whoever wrote its entry and whether that is deleted. By the time the caller looks at it
    /// another may come first.
    ///
    /// # Errors
    /// What reading pages meets.
    pub fn first_key(&self, table: &Table, index_no: usize, range: &KeyRange) -> Result<Option<Vec<u8>>> {
        let mut cursor = table.indexes[index_no].tree.cursor();
        cursor.seek(&range.lower, Seek::AtOrAfter)?;
        Ok((cursor.valid() && range.below_upper(cursor.key())).then(|| cursor.key().to_vec()))
    }

    /// Entries of a range, by a look at the tree's inner pages; delete-marked ones count.
    pub fn estimate(&self, table: &Table, index_no: usize, range: &KeyRange) -> Result<u64> {
        crate::statistics::entries_in(table, index_no, range)
    }
}

impl<'s> Scan<'s> {
    /// Asks each entry of a secondary index before its row is locked: only those that may be wanted are.
    #[must_use]
    pub fn asking(mut self, ask: AskEntry<'s>) -> Scan<'s> {
        self.asks = Some(ask);
        self
    }

    /// Says that the reader most likely wants no more rows than these: no more entries are copied at first. It may go on, as any.
    #[must_use]
    pub fn wanting(mut self, rows: u64) -> Scan<'s> {
        self.state.entries_max = rows.clamp(1, ENTRIES_PER_BATCH as u64) as usize;
        self
    }

    /// Lets the session go; [`Session::resume`] continues.
    pub fn park(self) -> ScanState {
        self.state
    }

    /// Calls `f` with each row in order, and its primary key, until it says [`Step::Stop`] or the range ends. Returns whether more rows may
    /// follow. A locking scan that would have to wait returns before it does when it has shown rows: they are to be dealt with first.
    ///
    /// `f` may run under a latch: it copies or encodes, and never blocks or comes back to the engine.
    pub fn for_each(&mut self, mut f: impl FnMut(RowRef<'_>, RowKey<'_>) -> Step) -> Result<bool> {
        self.for_each_locked(|row, key, _| f(row, key))
    }

    /// [`Scan::for_each`], with how each row is locked.
    #[inline]
    pub(crate) fn for_each_locked(&mut self, mut f: impl FnMut(RowRef<'_>, RowKey<'_>, RowLock) -> Step) -> Result<bool> {
        match (self.state.read.lock(), self.state.index_no) {
            (None, 0) => self.primary_snapshot(&mut |row, key| f(row, key, RowLock::Held)),
            (None, _) => self.secondary(&mut |row, key| f(row, key, RowLock::Held)),
            (Some((mode, wait)), 0) => self.primary_locked(mode, wait, &mut f),
            (Some((mode, wait)), _) if self.session.locks_gaps() => self.secondary_next_key(mode, wait, &mut f),
            (Some((mode, wait)), _) => self.secondary_locked(mode, wait, &mut f),
        }
    }

    /// Copies up to `rows_max` rows (or about 1 MiB) into `batch`, after clearing it. Returns how many; 0 at the end.
    pub fn next_batch(&mut self, batch: &mut RowBatch, rows_max: usize) -> Result<usize> {
        batch.clear();
        if rows_max > 0 {
            self.for_each_locked(|row, key, lock| {
                batch.push_locked(row, key, lock);
                if batch.is_full(rows_max) { Step::Stop } else { Step::Continue }
            })?;
        }
        Ok(batch.len())
    }

    /// Positions a cursor on the next entry to deal with; `false` when there is none.
    pub(crate) fn position(state: &ScanState, cursor: &mut Cursor) -> Result<bool> {
        Ok(Self::seek(state, cursor)? && state.in_range(cursor.key()))
    }

    /// The same, but the entry may be behind the range.
    fn seek(state: &ScanState, cursor: &mut Cursor) -> Result<bool> {
        match (&state.place, state.direction) {
            (Place::End, _) => return Ok(false),
            (Place::Start, Direction::Forward) => cursor.seek(&state.range.lower, Seek::AtOrAfter)?,
            (Place::Start, Direction::Backward) if state.range.upper.is_empty() => cursor.last()?,
            (Place::Start, Direction::Backward) => cursor.seek(&state.range.upper, Seek::Before)?,
            (Place::After(key), Direction::Forward) => cursor.seek(key, Seek::After)?,
            (Place::After(key), Direction::Backward) => cursor.seek(key, Seek::Before)?,
        };
        cursor.set_pace(state.pace);
        Ok(cursor.valid())
    }

    /// Entries of a leaf at a time, then their rows. Entries whose rows were not asked for stay for the next call: a snapshot is the same then.
    fn secondary(&mut self, f: &mut impl FnMut(RowRef<'_>, RowKey<'_>) -> Step) -> Result<bool> {
        let table = Arc::clone(&self.state.table);
        let (mut batch, mut fetched) = std::mem::take(&mut self.state.entries);
        loop {
            if fetched == batch.len() {
                fetched = 0;
                let entries_max = self.state.next_entries_max();
                if !self.next_entries(&table, &mut batch, entries_max)? {
                    return Ok(false);
                }
            }
            if self.fetch_from(&table, &batch, &mut fetched, f)? == Step::Stop {
                if fetched < batch.len() {
                    self.state.entries = (batch, fetched);
                }
                return Ok(true);
            }
            if batch.ends_range {
                // What has come behind them since is of nobody whom the view sees: there is no other look.
                self.state.place = Place::End;
                return Ok(false);
            }
        }
    }

    /// Reports the rows behind entries, and leaves the scan after the last one that was reported.
    pub(crate) fn fetch_all(
        &mut self,
        table: &Arc<Table>,
        batch: &EntryBatch,
        f: &mut impl FnMut(RowRef<'_>, RowKey<'_>) -> Step,
    ) -> Result<Step> {
        self.fetch_from(table, batch, &mut 0, f)
    }

    /// The same from an entry on, which then is the one behind the last that was reported.
    fn fetch_from(
        &mut self,
        table: &Arc<Table>,
        batch: &EntryBatch,
        next: &mut usize,
        f: &mut impl FnMut(RowRef<'_>, RowKey<'_>) -> Step,
    ) -> Result<Step> {
        let mut step = Step::Continue;
        let mut last = None;
        if *next == 0 {
            self.state.rows_ahead.begin_next();
        }
        for no in *next..batch.len() {
            self.read_rows_ahead(table, batch, no);
            let entry = batch.entry(no);
            step = self.fetch(table, &entry, f)?;
            last = Some(entry.key);
            *next = no + 1;
            if step == Step::Stop {
                break;
            }
        }
        if let Some(key) = last {
            self.state.pass(key.to_vec())?;
        }
        Ok(step)
    }

    /// Copies the next entries of a secondary index, unless the statement is to end. Whether there are any: behind the last one the scan is at its end.
    pub(crate) fn next_entries(&mut self, table: &Table, batch: &mut EntryBatch, entries_max: usize) -> Result<bool> {
        if self.session.cancel.is_cancelled() {
            return Err(Error::Killed);
        }
        batch.clear();
        let mut cursor = table.indexes[self.state.index_no].tree.cursor();
        // Where the range ends is asked of the leaf.
        let mut more = Self::seek(&self.state, &mut cursor)?;
        while more {
            let take = |entry: KeyRef<'_>, value: &[u8]| {
                // One is looked at behind those that are taken: whether there are more.
                if batch.len() == entries_max { Ok(Step::Stop) } else { batch.push(entry, value).map(|()| Step::Continue) }
            };
            match scan_leaf(&mut cursor, self.state.direction, self.state.end(), take)? {
                Scanned::Stopped => break,
                Scanned::EndOfRange => more = false,
                Scanned::NextLeaf => more = cursor.valid(),
            }
        }
        self.state.pace = cursor.pace();
        batch.ends_range = !more;
        if batch.is_empty() {
            self.state.place = Place::End;
        }
        Ok(!batch.is_empty())
    }

    /// Has rows behind the entries from here on read ahead.
    #[inline]
    pub(crate) fn read_rows_ahead(&mut self, table: &Table, batch: &EntryBatch, no: usize) {
        let key = |no: usize| (no < batch.len()).then(|| batch.entry(no).primary_key);
        self.state.rows_ahead.keep(&table.primary().tree, no, key);
    }

    /// Reports the row behind an entry, if the reader sees it with this key.
    fn fetch(&mut self, table: &Arc<Table>, entry: &Entry<'_>, f: &mut impl FnMut(RowRef<'_>, RowKey<'_>) -> Step) -> Result<Step> {
        let index = &table.indexes[self.state.index_no];
        let report = |row: RowRef<'_>| -> Result<Step> {
            // A marked entry always, and any entry of a row with several versions, may belong to another version than the one seen.
            Ok(if has_key(index, row, entry.user)? { f(row, RowKey::Whole(entry.primary_key)) } else { Step::Continue })
        };
        Ok(self.session.get(table, entry.primary_key, Read::Snapshot, report)?.transpose()?.unwrap_or(Step::Continue))
    }
}

impl ScanState {
    #[inline]
    pub(crate) fn end(&self) -> Bound<&[u8]> {
        match self.direction {
            Direction::Forward => self.range.upper_bound(),
            Direction::Backward => Bound::Included(self.range.lower.as_slice()),
        }
    }

    #[inline]
    pub(crate) fn in_range(&self, key: &[u8]) -> bool {
        match self.direction {
            Direction::Forward => self.range.below_upper(key),
            Direction::Backward => key >= self.range.lower.as_slice(),
        }
    }

    /// The last key that was dealt with. It lies behind the one before: else a page's keys are out of order, and the scan would go in circles.
    pub(crate) fn pass(&mut self, key: Vec<u8>) -> Result<()> {
        if let Place::After(before) = &self.place {
            let goes_on = match self.direction {
                Direction::Forward => key > *before,
                Direction::Backward => key < *before,
            };
            if !goes_on {
                return Err(Error::corrupt("index whose keys are out of order"));
            }
        }
        self.place = Place::After(key);
        Ok(())
    }

    /// How many entries are taken together now. Who wants more than it said gets many.
    fn next_entries_max(&mut self) -> usize {
        std::mem::replace(&mut self.entries_max, ENTRIES_PER_BATCH)
    }

    /// The scan goes on elsewhere than behind the entries that it keeps.
    pub(crate) fn forget_entries(&mut self) {
        self.entries = Default::default();
    }

    /// The range as it was asked for.
    pub(crate) fn whole_range(&self) -> &KeyRange {
        self.uncut.as_ref().unwrap_or(&self.range)
    }

    /// Whether `key` is in the range as it was asked for, before `place`: nothing comes by it any more.
    pub(crate) fn is_behind(&self, key: &[u8], place: &[u8]) -> bool {
        let whole = self.whole_range();
        let is_passed = match self.direction {
            Direction::Forward => key < place,
            Direction::Backward => key > place,
        };
        is_passed && key >= whole.lower.as_slice() && whole.below_upper(key)
    }

    /// A place such that the scan goes on with `key` itself.
    pub(crate) fn just_before(&mut self, key: Vec<u8>) -> Place {
        if self.uncut.is_none() {
            self.uncut = Some(self.range.clone());
        }
        match self.direction {
            Direction::Forward => self.range.lower = key,
            Direction::Backward => {
                let mut upper = key;
                upper.push(0);
                self.range.upper = upper;
            }
        }
        Place::Start
    }
}

/// Entries copied out of a leaf.
#[derive(Default)]
pub(crate) struct EntryBatch {
    bytes: Vec<u8>,
    /// Where each begins, where its primary key does, where it ends; whether it is marked.
    entries: Vec<(usize, usize, usize, bool)>,
    /// There was no entry behind them in the range.
    ends_range: bool,
}

pub(crate) struct Entry<'b> {
    pub(crate) key: &'b [u8],
    pub(crate) user: &'b [u8],
    pub(crate) primary_key: &'b [u8],
    /// Left behind by its row.
    pub(crate) marked: bool,
}

impl EntryBatch {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
        self.ends_range = false;
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn push(&mut self, entry: KeyRef<'_>, value: &[u8]) -> Result<()> {
        let start = self.bytes.len();
        entry.append_to(&mut self.bytes);
        self.note(start, value)
    }

    pub(crate) fn push_key(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.note(start, value)
    }

    /// Appends those of another one.
    pub(crate) fn extend(&mut self, other: &EntryBatch) {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.entries.extend(other.entries.iter().map(|(start, middle, end, marked)| (at + start, at + middle, at + end, *marked)));
    }

    /// Notes the entry whose key has been appended.
    #[inline]
    fn note(&mut self, start: usize, value: &[u8]) -> Result<()> {
        let parts = Session::entry_parts(&self.bytes[start..], value).map(|(marked, user, _)| (marked, user.len()));
        let (marked, user_bytes) = parts.inspect_err(|_| self.bytes.truncate(start))?;
        self.entries.push((start, start + user_bytes, self.bytes.len(), marked));
        Ok(())
    }

    /// Bytes of all keys.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn entry(&self, no: usize) -> Entry<'_> {
        let (start, middle, end, marked) = self.entries[no];
        Entry { key: &self.bytes[start..end], user: &self.bytes[start..middle], primary_key: &self.bytes[middle..end], marked }
    }
}
