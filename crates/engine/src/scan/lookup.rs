//! Consistent reads of the rows whose keys in a secondary index begin with one key: what `WHERE k = …` asks for. The entries of a key are few and lie beside each other, so one
//! descent gets them all, and neither a range nor a place in it is kept.
//!
//! # Invariants
//! 1. What is shown, and in which order, is what a scan of the keys that begin with the key shows ([`Scan`](crate::Scan)).
//! 2. No latch is held when `f` is shown a row that is made of its entry, one of the row's leaf otherwise: `f` copies or encodes, and never blocks or comes back to the engine.
//! 3. Entries of a settled leaf (`covered.rs`) answer for their rows: marked ones are left out, and the rows of the others are not asked for their keys.
//!
//! # Not here
//! Locking reads: those are scans. Where a key has more entries than are taken at once ([`ENTRIES_PER_BATCH`] at most), a scan shows the rest ([`Lookup::into_rest`]).

use crate::range::{KeyRange, put_after_prefix};
use crate::read::get_visible;
use crate::scan::covered::go_on;
use crate::scan::{Direction, ENTRIES_PER_BATCH, Place, RowKey, ScanState, Step};
use crate::session::Session;
use crate::table::{ENTRY_DELETED, Index, Table, entry_value};
use crate::write::secondary::has_key_by;
use crate::{Error, HandlerCall, Read, Result};
use base::TxnId;
use btree::{KeyRef, KeysAhead, Pace, Seek};
use record::{KeyRestore, RestoreBuffer, RowRef};
use std::sync::Arc;
use txn::ReadView;

/// So many entries are taken beyond those that are wanted, where they do not answer for their rows.
const UNSURE: usize = 8;
/// Bytes of keys for which a session keeps its buffers.
const KEY_BYTES_KEPT: usize = 16 << 10;

/// What lookups of a session use again.
#[derive(Default)]
pub(crate) struct Buffers {
    keys: Vec<u8>,
    entries: Vec<Found>,
    /// The first key behind those that begin with the one that is looked for; empty when there is none.
    behind: Vec<u8>,
    /// The key of a row that is asked for it.
    asked: Vec<u8>,
    row: RestoreBuffer,
}

/// An entry that was found.
#[derive(Clone, Copy)]
struct Found {
    /// Where its key lies in the buffer, and where the primary key in that begins.
    start: u32,
    primary_key: u32,
    end: u32,
    /// It answers for its row.
    settled: bool,
}

/// Rows of one key of a secondary index. See [`Session::look_up`].
pub struct Lookup<'s> {
    session: &'s mut Session,
    table: &'s Arc<Table>,
    index_no: usize,
    key: &'s [u8],
    direction: Direction,
    restore: Option<&'s KeyRestore>,
    rows_ahead: KeysAhead,
    /// Entries that are dealt with, and rows that were shown.
    next: usize,
    shown: u64,
    /// The whole key of a unique index, no part of it NULL: a reader sees one row with it at most.
    is_of_one: bool,
    /// The key has more entries than were taken.
    has_more: bool,
}

/// Taking the entries of a key.
struct Taking<'t> {
    view: &'t ReadView,
    index: &'t Index,
    key: &'t [u8],
    direction: Direction,
    /// Rows that are asked for.
    wanted: u64,
    /// Rows are made of entries where those answer for them.
    covers: bool,
    buffers: &'t mut Buffers,
    /// No more entries are taken at once.
    entries_max: usize,
    /// Entries so far that are rows for certain.
    sure: u64,
    is_of_one: bool,
    has_more: bool,
}

impl Session {
    /// The rows that this session's snapshot has with `key`, which leading parts of a secondary index equal, none of them NULL. (Of a unique index that are all parts of a unique key, which has one row.)
    /// No more than `wanted` are asked for. With `restore` rows may be made of their entries, as those of [`Scan::for_each_covered`](crate::Scan::for_each_covered).
    pub fn look_up<'s>(
        &'s mut self,
        table: &'s Arc<Table>,
        index_no: usize,
        key: &'s [u8],
        direction: Direction,
        wanted: u64,
        restore: Option<&'s KeyRestore>,
    ) -> Result<Lookup<'s>> {
        self.ensure_view_by(table, index_no)?;
        if self.cancel.is_cancelled() {
            return Err(Error::Killed);
        }
        let index = &table.indexes[index_no];
        let Session { view, buffers, .. } = self;
        let buffers = &mut buffers.lookup;
        if let Some(restore) = restore {
            restore.begin(&mut buffers.row);
        }
        let covers = restore.is_some();
        // Taken out meanwhile: with each buffer lent apart a look takes 70 instructions more.
        let mut behind = std::mem::take(&mut buffers.behind);
        // A few more than are wanted: of a leaf that was written just now entries may be of rows that are no longer theirs.
        let entries_max = usize::try_from(wanted).map_or(ENTRIES_PER_BATCH, |wanted| wanted.saturating_add(UNSURE).min(ENTRIES_PER_BATCH));
        let mut taking =
            Taking { view, index, key, direction, wanted, covers, buffers, entries_max, sure: 0, is_of_one: false, has_more: false };
        taking.begin();
        let mut failed = None;
        let mut take = |entry: KeyRef<'_>, value: &[u8], txn_max| go_on(taking.take(entry, value, txn_max), &mut failed);
        let ended = match direction {
            Direction::Forward => index.tree.scan_one_leaf(key, Direction::Forward, take)?,
            Direction::Backward => {
                behind.clear();
                put_after_prefix(key, &mut behind);
                !behind.is_empty() && index.tree.scan_one_leaf(&behind, Direction::Backward, &mut take)?
            }
        };
        if let Some(error) = failed {
            return Err(error);
        }
        if !ended {
            taking.take_from_leaves(&behind)?;
        }
        taking.buffers.behind = behind;
        let Taking { is_of_one, has_more, .. } = taking;
        let rows_ahead = KeysAhead::of_some();
        Ok(Lookup { session: self, table, index_no, key, direction, restore, rows_ahead, next: 0, shown: 0, is_of_one, has_more })
    }
}

impl Taking<'_> {
    fn begin(&mut self) {
        let Buffers { keys, entries, .. } = &mut *self.buffers;
        entries.clear();
        keys.clear();
        if keys.capacity() > KEY_BYTES_KEPT {
            *keys = Vec::new();
        }
        self.sure = 0;
    }

    /// Copies an entry, if the key has it and its row may be one; stops where there are enough.
    #[inline]
    fn take(&mut self, entry: KeyRef<'_>, value: &[u8], leaf_txn_max: TxnId) -> Result<Step> {
        if !entry.starts_with(self.key) {
            return Ok(Step::Stop);
        }
        let Buffers { keys, entries, .. } = &mut *self.buffers;
        if entries.len() == self.entries_max {
            self.has_more = true;
            return Ok(Step::Stop);
        }
        // To ask a row for its key costs less than to ask a view for many transactions; to fetch the row costs more.
        let settled = if self.covers { self.view.sees_all_to(leaf_txn_max) } else { self.view.sees_finished_to(leaf_txn_max) };
        let (flags, user_bytes) = entry_value(value)?;
        self.is_of_one = self.index.unique && user_bytes == self.key.len();
        if settled && flags & ENTRY_DELETED != 0 {
            return Ok(Step::Continue);
        }
        let start = keys.len();
        let primary_key = start + user_bytes;
        entry.append_to(keys);
        if primary_key > keys.len() {
            return Err(Error::corrupt("secondary entry shorter than its parts"));
        }
        let [start, primary_key, end] = [start, primary_key, keys.len()].map(|at| at as u32);
        entries.push(Found { start, primary_key, end, settled });
        self.sure += u64::from(settled);
        Ok(if self.sure >= self.wanted || self.is_of_one && settled { Step::Stop } else { Step::Continue })
    }

    /// The same from the first entry on, where they lie on several leaves.
    #[cold]
    fn take_from_leaves(&mut self, behind: &[u8]) -> Result<()> {
        self.begin();
        let mut cursor = self.index.tree.cursor();
        match self.direction {
            Direction::Forward => cursor.seek(self.key, Seek::AtOrAfter)?,
            Direction::Backward if behind.is_empty() => cursor.last()?,
            Direction::Backward => cursor.seek(behind, Seek::Before)?,
        }
        while cursor.valid() {
            if self.take(cursor.key_ref(), cursor.value(), cursor.leaf_txn_max())? == Step::Stop {
                break;
            }
            match self.direction {
                Direction::Forward => cursor.next()?,
                Direction::Backward => cursor.prev()?,
            };
        }
        Ok(())
    }
}

impl Lookup<'_> {
    /// Calls `f` with the next row; `None` when there is none.
    #[inline]
    pub fn next<R>(&mut self, f: impl FnOnce(RowRef<'_>, RowKey<'_>) -> R) -> Result<Option<R>> {
        let (mut f, mut shown) = (Some(f), None);
        self.show_next(&mut |row, key| shown = f.take().map(|f| f(row, key)))?;
        Ok(shown)
    }

    /// Not for each caller anew: the way down the tree is long, and who has it twice has it inlined nowhere.
    fn show_next(&mut self, f: &mut dyn FnMut(RowRef<'_>, RowKey<'_>)) -> Result<()> {
        let Lookup { session, table, index_no, restore, rows_ahead, next, .. } = self;
        let Session { engine, view, running, buffers, .. } = &mut **session;
        let Buffers { keys, entries, asked, row: restored, .. } = &mut buffers.lookup;
        while let Some(entry) = entries.get(*next).copied() {
            let [start, middle, end] = [entry.start, entry.primary_key, entry.end].map(|at| at as usize);
            let primary_key = &keys[middle..end];
            let is_shown = match restore {
                Some(restore) if entry.settled => {
                    let row = restore
                        .row(&keys[start..end], restored)
                        .map_err(|_| Error::corrupt("secondary key that is not made of its parts"))?;
                    f(row, RowKey::Whole(primary_key));
                    true
                }
                _ => {
                    let primary_key_of = |no: usize| entries.get(no).map(|entry| &keys[entry.primary_key as usize..entry.end as usize]);
                    rows_ahead.keep(&table.primary().tree, *next, primary_key_of);
                    let show = |row: RowRef<'_>| -> Result<bool> {
                        if !entry.settled && !has_key_by(&table.indexes[*index_no], row, &keys[start..middle], asked)? {
                            return Ok(false);
                        }
                        f(row, RowKey::Whole(primary_key));
                        Ok(true)
                    };
                    get_visible(engine, view, running.id, &mut buffers.version, table, primary_key, show)?.transpose()?.unwrap_or(false)
                }
            };
            *next += 1;
            if is_shown {
                if self.is_of_one {
                    *next = entries.len();
                }
                self.shown += 1;
                return Ok(());
            }
        }
        Ok(())
    }

    /// Counts what was shown ([`Scan::count`](crate::Scan::count)); `ended` where the caller has seen that there is no more.
    pub fn count(&self, ended: bool) {
        let counts = &*self.session.handler_counts;
        counts.add(HandlerCall::ReadKey, 1);
        // The first row comes with its key; of a unique one there is no other.
        let looked_on = ended && !self.has_more && !(self.is_of_one && self.shown > 0);
        let steps = (self.shown + u64::from(looked_on)).saturating_sub(1);
        let call = if self.direction == Direction::Forward { HandlerCall::ReadNext } else { HandlerCall::ReadPrevious };
        counts.add(call, steps);
        counts.add_misses((1 + steps).saturating_sub(self.shown));
    }

    /// A scan of what lies behind the entries that were taken, if the key has more. It was counted as begun.
    #[inline]
    pub fn into_rest(self) -> Option<ScanState> {
        if self.has_more { self.rest() } else { None }
    }

    #[cold]
    fn rest(self) -> Option<ScanState> {
        let Buffers { keys, entries, .. } = &self.session.buffers.lookup;
        let last = entries.last()?;
        let after = keys[last.start as usize..last.end as usize].to_vec();
        Some(ScanState {
            table: Arc::clone(self.table),
            index_no: self.index_no,
            range: KeyRange::prefix(self.key),
            direction: self.direction,
            read: Read::Snapshot,
            counted: true,
            uncut: None,
            place: Place::After(after),
            entries: Default::default(),
            entries_max: ENTRIES_PER_BATCH,
            gap_for_wait: None,
            pace: Pace::default(),
            rows_ahead: self.rows_ahead,
        })
    }
}
