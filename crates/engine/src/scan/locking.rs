//! Scans that lock what they show.
//!
//! # Invariants
//! 1. A row is locked before it is shown, and nothing behind the last row shown is: who wants few rows asks for few at a time.
//! 2. A scan waits for a row with no latch held, and only before it has shown any: what was shown is dealt with first, so that its reader
//!    can give back what it does not want.
//! 3. Behind an entry that its row has left, and may not come back to, nothing is locked, whoever has the row; where ranges stay as they were read
//!    the entry itself is locked, and who brings it back asks for it (`locks/entry_lock.rs`). Nor is a row locked whose entry says that it is not wanted ([`Scan::asking`]).
//! 4. Rows that no longer exist stay locked where ranges are to stay as they were read (`Session::gives_back` says where not).

use crate::locks::gap_lock::{planted, reached};
use crate::locks::row_lock::{Obstacle, RowLock, Wait};
use crate::read::Locked;
use crate::scan::one_key::OneKey;
use crate::scan::{Direction, Entry, EntryBatch, Place, RowKey, Scan, ScanState, Step};
use crate::session::Session;
use crate::table::{Index, Table};
use crate::version::{header, last_committed};
use crate::write::secondary::has_key;
use crate::{Error, Result};
use lock_manager::{Granted, LockKeyRef, LockMode};
use record::RowRef;
use record::header::DELETE_MARK;
use std::sync::Arc;

/// Entries of a secondary leaf whose rows are locked one after the other before the next ones are read.
const LOCKED_PER_BATCH: usize = 32;

/// The only whole key that a range ends with, as far as that can be told from its upper end: behind it there is nothing to lock.
fn last_of(upper: &[u8]) -> Option<Vec<u8>> {
    let (last, rest) = upper.split_last()?;
    let mut key = rest.to_vec();
    key.push(last.checked_sub(1)?);
    Some(key)
}

/// Whom a locking scan shows its rows to: the row, its key, and how it is locked.
pub(crate) trait ShowLocked: FnMut(RowRef<'_>, RowKey<'_>, RowLock) -> Step {}

impl<F: FnMut(RowRef<'_>, RowKey<'_>, RowLock) -> Step> ShowLocked for F {}

/// What a scan does about a row that somebody has.
pub(crate) enum After {
    /// Rows were shown: they are dealt with first. The scan is just before this one.
    DealFirst,
    /// It was waited for: it is looked at again.
    Again,
    /// It is left out.
    Passed,
}

/// What a look at a locked row's last committed version came to.
enum Passed {
    /// It was shown, or there is none.
    Shown(Step),
    /// Whoever had the row has finished: look at it anew.
    Gone,
}

/// A locking scan of the primary index, from one call to its return.
struct PrimaryLook {
    mode: LockMode,
    wait: Wait,
    /// Gaps are locked, too.
    gaps: bool,
    forward: bool,
    /// Behind this key there is nothing to lock.
    last_key: Option<Vec<u8>>,
    /// The key that was reached from another leaf and is locked: what came between before that is found by a second look.
    confirmed: Option<Vec<u8>>,
    shown: u64,
}

impl PrimaryLook {
    /// How the row of a key is locked.
    #[inline]
    fn mode_of(&self, state: &ScanState, key: &[u8]) -> LockMode {
        match self.gaps {
            // The gap before the first key of the range is not in it.
            true if self.forward && key == state.whole_range().lower => self.mode,
            true => self.mode.next_key(),
            false => self.mode,
        }
    }

    /// Whether a key that was reached from another leaf, and is locked, is seen for the first time; from here on it is confirmed.
    fn is_unconfirmed(&mut self, key: &[u8]) -> bool {
        let is_new = self.confirmed.as_deref() != Some(key);
        if is_new {
            self.confirmed = Some(key.to_vec());
        }
        is_new
    }
}

/// A row that somebody else has.
struct MetRow {
    key: Vec<u8>,
    mode: LockMode,
    obstacle: Obstacle,
    /// The gap before it was locked by this look.
    gap_is_new: bool,
}

/// How a stretch of rows ended.
enum Stretch {
    /// At a key that was reached from another leaf: the stretch begins again.
    Unconfirmed,
    /// Its reader has enough; the cursor is at the last row shown.
    Stopped,
    /// Behind the last key that the range can have.
    Last,
    /// Behind the range.
    OutOfRange,
    Met(MetRow),
}

impl Scan<'_> {
    /// [`Scan::for_each`] of the primary index for locking reads.
    pub(crate) fn primary_locked(&mut self, mode: LockMode, wait: Wait, f: &mut impl ShowLocked) -> Result<bool> {
        let table = Arc::clone(&self.state.table);
        let index = &table.indexes[0];
        let mut look = PrimaryLook {
            mode,
            wait,
            gaps: self.session.locks_gaps(),
            forward: self.state.direction == Direction::Forward,
            last_key: None,
            confirmed: None,
            shown: 0,
        };
        if look.gaps {
            self.session.lock_gap_above(index, &self.state, mode)?;
            if look.forward {
                look.last_key = last_of(&self.state.range.upper);
            }
        }
        loop {
            if self.session.cancel.is_cancelled() {
                return Err(Error::Killed);
            }
            if matches!(self.state.place, Place::End) {
                return Ok(false);
            }
            let mut cursor = index.tree.cursor();
            Self::position(&self.state, &mut cursor)?;
            let met = match self.lock_stretch(&table, &mut cursor, &mut look, f)? {
                Stretch::Unconfirmed => continue,
                Stretch::Stopped => {
                    self.state.pass(cursor.key().to_vec())?;
                    return Ok(true);
                }
                Stretch::OutOfRange => {
                    if self.locks_end_again(index, &mut cursor, &mut look)? {
                        continue;
                    }
                    self.state.place = Place::End;
                    return Ok(false);
                }
                Stretch::Last => {
                    self.state.place = Place::End;
                    return Ok(false);
                }
                Stretch::Met(met) => met,
            };
            drop(cursor);
            let MetRow { key, mode, obstacle, gap_is_new } = met;
            let gap_is_new = self.is_gap_for_wait(&key, gap_is_new);
            let wait_for = |session: &mut Session| session.wait_behind_gap(index.id, &key, mode, obstacle, wait, gap_is_new);
            self.state.place = match self.met(&key, look.shown, wait, wait_for)? {
                After::DealFirst => return Ok(true),
                After::Again => self.state.just_before(key),
                After::Passed => Place::After(key),
            };
        }
    }

    /// Locks and shows rows under the latches of their leaves, until one must be waited for.
    #[inline]
    fn lock_stretch(
        &mut self,
        table: &Arc<Table>,
        cursor: &mut btree::Cursor<'_>,
        look: &mut PrimaryLook,
        f: &mut impl ShowLocked,
    ) -> Result<Stretch> {
        let index = &table.indexes[0];
        let mut count = 0;
        while cursor.valid() && self.state.in_range(cursor.key()) {
            let hopped = look.gaps && look.forward && cursor.hopped();
            if hopped {
                reached("hop");
            }
            let (key, value) = cursor.entry();
            let row = header(value)?;
            let own_mode = look.mode_of(&self.state, key);
            let looked = match !look.gaps && self.session.is_long_gone(row) {
                // Locked it would be given back at once.
                true => Ok(RowLock::Held),
                false => self.session.lock_seen(table, key, row, own_mode)?,
            };
            let mut gap_is_new = false;
            if own_mode.has_gap() && looked.is_err() {
                // Had at once; then nothing comes before the row while that is waited for.
                let granted = self.session.try_lock(LockKeyRef { index: index.id, key }, look.mode.gap_only())?;
                gap_is_new = granted == Some(Granted::New);
            }
            if hopped && !planted("no_second_look") && look.is_unconfirmed(key) {
                return Ok(Stretch::Unconfirmed);
            }
            let mut is_last = look.last_key.as_deref() == Some(key);
            let passes_gone =
                look.gaps && look.forward && looked.is_ok() && !self.session.running.closes_gaps && self.session.is_long_gone(row);
            let step = match looked {
                Ok(lock) if row.flags & DELETE_MARK != 0 => {
                    self.session.give_back(table, key, lock);
                    Step::Continue
                }
                Ok(lock) => {
                    look.shown += 1;
                    self.session.note_shown();
                    self.session.engine.with_full_row(table, value, |row| f(row, RowKey::Whole(key), lock))?
                }
                Err(found) if look.wait == Wait::IfMatches => match self.pass_by(table, key, value, &found, &mut look.shown, f)? {
                    Passed::Shown(step) => step,
                    Passed::Gone => continue,
                },
                Err(obstacle) => return Ok(Stretch::Met(MetRow { key: key.to_vec(), mode: own_mode, obstacle, gap_is_new })),
            };
            if step == Step::Stop {
                return Ok(Stretch::Stopped);
            }
            if passes_gone && !is_last {
                self.session.lock_long_gone(index, cursor, &self.state, look.mode)?;
                is_last = look.last_key.as_deref() == Some(cursor.key());
            }
            count += 1;
            if count % 256 == 0 && self.session.cancel.is_cancelled() {
                return Err(Error::Killed);
            }
            if is_last {
                return Ok(Stretch::Last);
            }
            if look.gaps && look.forward && cursor.is_last_on_leaf() {
                self.state.pass(cursor.key().to_vec())?;
            }
            match self.state.direction {
                Direction::Forward => cursor.next()?,
                Direction::Backward => cursor.prev()?,
            };
        }
        Ok(Stretch::OutOfRange)
    }

    /// Under the latch of what comes behind the range: locks the gap that the range ends in. True when that is to be looked at again.
    fn locks_end_again(&mut self, index: &Index, cursor: &mut btree::Cursor<'_>, look: &mut PrimaryLook) -> Result<bool> {
        if !look.gaps || !look.forward || planted("range_end_open") {
            return Ok(false);
        }
        let on_one_leaf = cursor.valid() && !cursor.hopped() || planted("no_second_look");
        let next = if cursor.valid() { cursor.key() } else { &[] };
        if !on_one_leaf {
            reached("hop");
        }
        self.session.try_lock(LockKeyRef { index: index.id, key: next }, look.mode.gap_only())?;
        Ok(!on_one_leaf && look.is_unconfirmed(next))
    }

    /// Whether the gap before a key was locked for the wait that is about to begin, by this look or before rows were dealt with.
    pub(crate) fn is_gap_for_wait(&mut self, key: &[u8], is_new: bool) -> bool {
        let is_for_wait = is_new || self.state.gap_for_wait.as_deref() == Some(key);
        self.state.gap_for_wait = is_for_wait.then(|| key.to_vec());
        is_for_wait
    }

    /// With no latch held: somebody has the row of this key of the index, which `wait_for` waits for as the scan is to; it returns whether it was granted.
    pub(crate) fn met(&mut self, key: &[u8], shown: u64, wait: Wait, wait_for: impl FnOnce(&mut Session) -> Result<bool>) -> Result<After> {
        if shown > 0 && wait != Wait::SkipLocked {
            self.state.place = self.state.just_before(key.to_vec());
            return Ok(After::DealFirst);
        }
        Ok(if wait_for(self.session)? { After::Again } else { After::Passed })
    }

    /// Under the leaf's latch: shows the last committed version of a row that somebody else has.
    fn pass_by(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        value: &[u8],
        found: &Obstacle,
        shown: &mut u64,
        f: &mut impl ShowLocked,
    ) -> Result<Passed> {
        let engine = &self.session.engine;
        let mut buffer = Vec::new();
        let version = match found {
            // Its newest version is committed.
            Obstacle::Lock if header(value)?.flags & DELETE_MARK != 0 => None,
            Obstacle::Lock => Some(value),
            Obstacle::Writer(_) => match last_committed(&engine.undo, |txn| self.session.locked_by_writer(txn), value, &mut buffer) {
                Ok(version) => version,
                Err(Error::UndoGone) => return Ok(Passed::Gone),
                Err(error) => return Err(error),
            },
        };
        let Some(version) = version else { return Ok(Passed::Shown(Step::Continue)) };
        match engine.with_version_row(table, version, |row| f(row, RowKey::Whole(key), RowLock::Unlocked))? {
            Some(step) => {
                *shown += 1;
                self.session.note_shown();
                Ok(Passed::Shown(step))
            }
            None => Ok(Passed::Gone),
        }
    }

    /// [`Scan::for_each`] of a secondary index for locking reads: the primary rows are locked, one after the other.
    pub(crate) fn secondary_locked(&mut self, mode: LockMode, wait: Wait, f: &mut impl ShowLocked) -> Result<bool> {
        let table = Arc::clone(&self.state.table);
        let is_one_key = table.indexes[self.state.index_no].unique && self.is_point_of(&table);
        // Not of one who goes on behind the row, or asks entries.
        let mut one_key = (is_one_key && matches!(self.state.place, Place::Start) && self.asks.is_none()).then(OneKey::default);
        let mut batch = EntryBatch::default();
        let mut shown = 0u64;
        'leaf: loop {
            if !self.next_entries(&table, &mut batch, LOCKED_PER_BATCH)? {
                if let Some(look) = one_key.as_mut().filter(|_| shown == 0)
                    && self.looks_again(&table, look)?
                {
                    self.state.place = Place::Start;
                    continue;
                }
                return Ok(false);
            }
            if let Some(look) = &mut one_key {
                look.comes_by(&batch);
            }
            self.state.rows_ahead.begin_next();
            for no in 0..batch.len() {
                self.read_rows_ahead(&table, &batch, no);
                let entry = batch.entry(no);
                let row = LockKeyRef { index: table.indexes[0].id, key: entry.primary_key };
                let mut granted = None;
                let step = match self.lock_entry(&table, &entry, mode, &mut shown, f)? {
                    Ok(step) => step,
                    Err(obstacle) => {
                        // The one row that has a unique key may have moved to an entry before this one: it is looked for from the beginning, so that a wait for it may be left.
                        let wait_for = |session: &mut Session| {
                            let grant = |session: &mut Session| session.wait_for_grant(row.index, row.key, mode, obstacle, wait);
                            granted = session.leaving(is_one_key, grant)?;
                            Ok(granted.is_some())
                        };
                        match self.met(entry.key, shown, wait, wait_for)? {
                            After::DealFirst => return Ok(true),
                            After::Passed => {
                                one_key = None;
                                Step::Continue
                            }
                            After::Again if is_one_key => {
                                if let Some(look) = &mut one_key {
                                    look.begin_again();
                                }
                                self.state.place = Place::Start;
                                continue 'leaf;
                            }
                            // This entry may be gone by now, and others have come behind it.
                            After::Again => {
                                match self.show_moved_back(&table, &entry, mode, f)? {
                                    Some(step) => {
                                        self.session.buffers.ahead.is_disordered = true;
                                        shown += 1;
                                        self.state.pass(entry.key.to_vec())?;
                                        if step == Step::Stop {
                                            return Ok(true);
                                        }
                                    }
                                    None => {
                                        self.session.let_go_after_wait(&entry, row, granted);
                                        self.state.place = self.state.just_before(entry.key.to_vec());
                                    }
                                }
                                continue 'leaf;
                            }
                        }
                    }
                };
                if step == Step::Stop {
                    self.state.pass(entry.key.to_vec())?;
                    return Ok(true);
                }
            }
            let last = batch.entry(batch.len() - 1).key.to_vec();
            self.state.pass(last)?;
        }
    }

    /// Locks and shows the row behind an entry, if it still has the entry's key.
    pub(crate) fn lock_entry(
        &mut self,
        table: &Arc<Table>,
        entry: &Entry<'_>,
        mode: LockMode,
        shown: &mut u64,
        f: &mut impl ShowLocked,
    ) -> Result<std::result::Result<Step, Obstacle>> {
        if self.asks.as_mut().is_some_and(|ask| !ask(entry.key)) {
            return Ok(Ok(Step::Continue));
        }
        if entry.marked && self.session.is_left_behind(table, &table.indexes[self.state.index_no], entry)? {
            return Ok(Ok(Step::Continue));
        }
        let has_key = |state: &ScanState, row: RowRef<'_>| has_key(&table.indexes[state.index_no], row, entry.user);
        let step = self.lock_row_of(table, entry, mode, has_key, f)?;
        *shown += u64::from(matches!(step, Ok(Some(_))));
        Ok(step.map(|step| step.unwrap_or(Step::Continue)))
    }

    /// After a wait for the row behind an entry: shows it when its entry lies in the range by now where the scan has been, which would not come by it again.
    fn show_moved_back(&mut self, table: &Arc<Table>, entry: &Entry<'_>, mode: LockMode, f: &mut impl ShowLocked) -> Result<Option<Step>> {
        let is_behind = |state: &ScanState, row: RowRef<'_>| {
            let mut now = Vec::with_capacity(entry.key.len());
            table.secondary_key(&table.indexes[state.index_no], row, entry.primary_key, &mut now)?;
            Ok(state.is_behind(&now, entry.key))
        };
        Ok(self.lock_row_of(table, entry, mode, is_behind, f)?.unwrap_or(None))
    }

    /// Locks the row behind an entry, and shows it if it is `wanted`; `None` when it is not, or gone.
    #[inline]
    fn lock_row_of(
        &mut self,
        table: &Arc<Table>,
        entry: &Entry<'_>,
        mode: LockMode,
        wanted: impl FnOnce(&ScanState, RowRef<'_>) -> Result<bool>,
        f: &mut impl ShowLocked,
    ) -> Result<std::result::Result<Option<Step>, Obstacle>> {
        let Scan { session, state, .. } = self;
        let mut look = Some(|row: RowRef<'_>, lock: RowLock| -> Result<(Option<Step>, RowLock)> {
            let step = wanted(state, row)?.then(|| f(row, RowKey::Whole(entry.primary_key), lock));
            Ok((step, lock))
        });
        let found = match session.try_get_locked(table, entry.primary_key, mode, &mut look)? {
            Ok(found) => found,
            Err(obstacle) => return Ok(Err(obstacle)),
        };
        let Locked::Row(looked) = found else { return Ok(Ok(None)) };
        let (step, lock) = looked?;
        match step {
            Some(_) => session.note_shown(),
            None => session.give_back(table, entry.primary_key, lock),
        }
        Ok(Ok(step))
    }
}

impl Session {
    /// After a wait for the row behind an entry: behind a marked one it was to be known only whether the row comes back to it, and the row is let go of if the wait is why it is locked.
    pub(crate) fn let_go_after_wait(&mut self, entry: &Entry<'_>, row: LockKeyRef<'_>, granted: Option<Granted>) {
        if entry.marked && granted == Some(Granted::New) {
            self.engine.locks.release(&self.owner, row);
        }
    }

    /// Whether the row behind an entry, which is marked then or about to be, is without its key, and stays so whether its writer commits or not.
    #[cold]
    pub(crate) fn is_left_behind(&self, table: &Table, index: &Index, entry: &Entry<'_>) -> Result<bool> {
        table.primary().tree.get(entry.primary_key, |value| -> Result<bool> {
            let Some(value) = value else { return Ok(true) };
            let newest = header(value)?;
            if self.refuses_changed(newest.txn) {
                return Ok(false);
            }
            if newest.txn != self.running.id && self.locked_by_writer(newest.txn) {
                let beside = self.key_beside_writer(table, index, entry.user, newest, value)?;
                return Ok(beside.is_some_and(|key| !key.before && key.stays));
            }
            if newest.flags & DELETE_MARK != 0 {
                return Ok(true);
            }
            Ok(!self.engine.with_full_row(table, value, |row| has_key(index, row, entry.user))??)
        })?
    }
}
