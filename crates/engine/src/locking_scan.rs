//! Scans that lock what they show.
//!
//! # Invariants
//! 1. A row is locked before it is shown, and nothing behind the last row shown is: who wants few rows asks for few at a time.
//! 2. A scan waits for a row with no latch held, and only before it has shown any: what was shown is dealt with first, so that its reader
//!    can give back what it does not want.
//! 3. Rows that no longer exist stay locked where ranges are to stay as they were read (`Session::gives_back` says where not).

use crate::read::Locked;
use crate::row_lock::{Obstacle, RowLock, Wait};
use crate::scan::{Direction, Entry, EntryBatch, Place, RowKey, Scan, Step};
use crate::secondary::has_key;
use crate::table::Table;
use crate::version::{header, last_committed};
use crate::{Error, Result};
use lock_manager::LockMode;
use record::RowRef;
use record::header::DELETE_MARK;
use std::sync::Arc;

/// Entries of a secondary leaf that are looked up together.
const ENTRIES_PER_BATCH: usize = 32;

/// What a look at a locked row's last committed version came to.
enum Passed {
    /// It was shown, or there is none.
    Shown(Step),
    /// Whoever had the row has finished: look at it anew.
    Gone,
}

impl Scan<'_> {
    /// [`Scan::for_each`] of the primary index for locking reads.
    pub(crate) fn primary_locked(
        &mut self,
        mode: LockMode,
        wait: Wait,
        f: &mut impl FnMut(RowRef<'_>, RowKey<'_>, RowLock) -> Step,
    ) -> Result<bool> {
        let table = Arc::clone(&self.state.table);
        let mut shown = 0u64;
        loop {
            if self.session.cancel.is_cancelled() {
                return Err(Error::Killed);
            }
            let mut cursor = table.indexes[0].tree.cursor();
            if !Self::position(&self.state, &mut cursor)? {
                self.state.place = Place::End;
                return Ok(false);
            }
            let mut obstacle: Option<(Vec<u8>, Obstacle)> = None;
            let mut stopped = false;
            let mut count = 0;
            // A stretch of rows under the leaf's latch, until one must be waited for.
            while cursor.valid() && self.state.in_range(cursor.key()) {
                let (key, value) = cursor.entry();
                let row = header(value)?;
                let step = match self.session.lock_seen(&table, key, row, mode)? {
                    Ok(lock) if row.flags & DELETE_MARK != 0 => {
                        self.session.give_back(&table, key, lock);
                        Step::Continue
                    }
                    Ok(lock) => {
                        shown += 1;
                        self.session.engine.with_full_row(&table, value, |row| f(row, RowKey::Whole(key), lock))?
                    }
                    Err(found) if wait == Wait::IfMatches => match self.pass_by(&table, key, value, &found, &mut shown, f)? {
                        Passed::Shown(step) => step,
                        Passed::Gone => continue,
                    },
                    Err(found) => {
                        obstacle = Some((key.to_vec(), found));
                        break;
                    }
                };
                if step == Step::Stop {
                    stopped = true;
                    break;
                }
                count += 1;
                if count % 256 == 0 && self.session.cancel.is_cancelled() {
                    return Err(Error::Killed);
                }
                match self.state.direction {
                    Direction::Forward => cursor.next()?,
                    Direction::Backward => cursor.prev()?,
                };
            }
            if stopped {
                self.state.place = Place::After(cursor.key().to_vec());
                return Ok(true);
            }
            drop(cursor);
            let Some((key, found)) = obstacle else {
                self.state.place = Place::End;
                return Ok(false);
            };
            if shown > 0 && wait != Wait::SkipLocked {
                self.state.place = self.state.just_before(key);
                return Ok(true);
            }
            let granted = self.session.wait_for_row(table.indexes[0].id, &key, mode, found, wait)?;
            // Again at this key, now locked; or after it, when it is to be skipped.
            self.state.place = if granted { self.state.just_before(key) } else { Place::After(key) };
        }
    }

    /// Under the leaf's latch: shows the last committed version of a row that somebody else has.
    fn pass_by(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        value: &[u8],
        found: &Obstacle,
        shown: &mut u64,
        f: &mut impl FnMut(RowRef<'_>, RowKey<'_>, RowLock) -> Step,
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
                Ok(Passed::Shown(step))
            }
            None => Ok(Passed::Gone),
        }
    }

    /// [`Scan::for_each`] of a secondary index for locking reads: the primary rows are locked, one after the other.
    pub(crate) fn secondary_locked(
        &mut self,
        mode: LockMode,
        wait: Wait,
        f: &mut impl FnMut(RowRef<'_>, RowKey<'_>, RowLock) -> Step,
    ) -> Result<bool> {
        let table = Arc::clone(&self.state.table);
        let mut batch = EntryBatch::default();
        let mut shown = 0u64;
        'leaf: loop {
            if self.session.cancel.is_cancelled() {
                return Err(Error::Killed);
            }
            self.read_entries(&table, &mut batch, ENTRIES_PER_BATCH)?;
            if batch.is_empty() {
                self.state.place = Place::End;
                return Ok(false);
            }
            for no in 0..batch.len() {
                let entry = batch.entry(no);
                let step = match self.lock_entry(&table, &entry, mode, &mut shown, f)? {
                    Ok(step) => step,
                    Err(_) if shown > 0 && wait != Wait::SkipLocked => {
                        self.state.place = self.state.just_before(entry.key.to_vec());
                        return Ok(true);
                    }
                    Err(obstacle) => {
                        if self.session.wait_for_row(table.indexes[0].id, entry.primary_key, mode, obstacle, wait)? {
                            // The entry may be gone by now.
                            self.state.place = self.state.just_before(entry.key.to_vec());
                            continue 'leaf;
                        }
                        Step::Continue
                    }
                };
                if step == Step::Stop {
                    self.state.place = Place::After(entry.key.to_vec());
                    return Ok(true);
                }
            }
            let last = batch.entry(batch.len() - 1).key.to_vec();
            self.state.place = Place::After(last);
        }
    }

    /// Locks and shows the row behind an entry, if it still has the entry's key.
    fn lock_entry(
        &mut self,
        table: &Arc<Table>,
        entry: &Entry<'_>,
        mode: LockMode,
        shown: &mut u64,
        f: &mut impl FnMut(RowRef<'_>, RowKey<'_>, RowLock) -> Step,
    ) -> Result<std::result::Result<Step, Obstacle>> {
        let Scan { session, state } = self;
        let index = &table.indexes[state.index_no];
        let mut look = Some(|row: RowRef<'_>, lock: RowLock| -> Result<(Option<Step>, RowLock)> {
            let step = has_key(index, row, entry.user)?.then(|| f(row, RowKey::Whole(entry.primary_key), lock));
            Ok((step, lock))
        });
        let found = match session.try_get_locked(table, entry.primary_key, mode, &mut look)? {
            Ok(found) => found,
            Err(obstacle) => return Ok(Err(obstacle)),
        };
        let Locked::Row(looked) = found else { return Ok(Ok(Step::Continue)) };
        let (step, lock) = looked?;
        match step {
            Some(step) => {
                *shown += 1;
                Ok(Ok(step))
            }
            None => {
                session.give_back(table, entry.primary_key, lock);
                Ok(Ok(Step::Continue))
            }
        }
    }
}
