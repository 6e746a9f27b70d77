//! Locking scans of a secondary index by transactions that lock gaps: each entry with the gap before it, then its row.
//!
//! Entries are dealt with one by one, for nothing behind the last row shown may be locked. The key of a unique index that is asked for whole
//! is locked without a gap when its row is there: nobody else can insert it.

use crate::locks::gap_lock::{planted, reached};
use crate::locks::row_lock::{Obstacle, Wait};
use crate::scan::locking::{After, ShowLocked};
use crate::scan::{Direction, EntryBatch, Place, Scan, Step};
use crate::table::{Index, Table};
use crate::{Error, Result, after_prefix};
use lock_manager::{Granted, LockKeyRef, LockMode};
use std::sync::Arc;

/// A locking scan of a secondary index, from one call to its return.
struct EntryLook {
    mode: LockMode,
    forward: bool,
    /// The range is the whole key of a unique index, and its row may be there: then no gap is locked.
    exact: bool,
    /// The key that was reached from another leaf, and whose gap is locked: what came between before that is found by a second look. With whether nothing of it was held before.
    confirmed: Option<(Vec<u8>, bool)>,
}

impl EntryLook {
    /// How an entry is locked.
    fn entry_mode(&self) -> LockMode {
        if self.exact { self.mode } else { self.mode.next_key() }
    }

    /// Whether a key that was reached from another leaf has been looked at since its gap was locked.
    fn has_confirmed(&self, key: &[u8]) -> bool {
        self.confirmed.as_ref().is_some_and(|(seen, _)| seen == key)
    }

    /// Whether it was the look before that locked the gap of a key of which nothing was held.
    fn has_new_gap(&self, key: &[u8]) -> bool {
        self.confirmed.as_ref().is_some_and(|(seen, is_new)| *is_new && seen == key)
    }
}

/// What a look at the next entry came to.
enum Found {
    /// Its gap is locked, but it was reached from another leaf: it is to be looked for again.
    Unconfirmed,
    /// There is none.
    OutOfRange,
    /// It is copied. `locked`: by this transaction; otherwise somebody else has it. `gap_is_new`: its gap was locked for the wait that follows.
    Entry { locked: bool, gap_is_new: bool },
}

impl Scan<'_> {
    /// [`Scan::for_each`] of a secondary index for locking reads that lock gaps.
    pub(crate) fn secondary_next_key(&mut self, mode: LockMode, wait: Wait, f: &mut impl ShowLocked) -> Result<bool> {
        let table = Arc::clone(&self.state.table);
        let index = &table.indexes[self.state.index_no];
        self.session.lock_gap_above(index, &self.state, mode)?;
        let mut look = EntryLook {
            mode,
            forward: self.state.direction == Direction::Forward,
            exact: index.unique && self.is_point_of(&table) && matches!(self.state.place, Place::Start),
            confirmed: None,
        };
        let mut batch = EntryBatch::default();
        let mut shown = 0u64;
        loop {
            if self.session.cancel.is_cancelled() {
                return Err(Error::Killed);
            }
            let (locked, gap_is_new) = match self.lock_next_entry(index, &mut look, &mut batch)? {
                Found::Unconfirmed => continue,
                Found::OutOfRange => {
                    self.state.place = Place::End;
                    return Ok(false);
                }
                Found::Entry { locked, gap_is_new } => (locked, gap_is_new),
            };
            let entry = batch.entry(0);
            let before = shown;
            let looked = match locked {
                true => self.lock_entry(&table, &entry, mode, &mut shown, f)?,
                false => Err(Obstacle::Lock),
            };
            let step = match looked {
                Ok(step) => step,
                Err(obstacle) => match self.met(entry.key, shown, wait, |session| match locked {
                    true => {
                        let row = LockKeyRef { index: table.indexes[0].id, key: entry.primary_key };
                        // Behind an unmarked entry of a whole key nothing is given back, and the key is looked for from the beginning.
                        let may_leave = look.exact && !entry.marked;
                        let granted =
                            session.leaving(may_leave, |session| session.wait_for_grant(row.index, row.key, mode, obstacle, wait))?;
                        session.let_go_after_wait(&entry, row, granted);
                        Ok(granted.is_some())
                    }
                    // No gap is locked before a whole key.
                    false => session.leaving(look.exact, |session| {
                        session.wait_behind_gap(index.id, entry.key, look.entry_mode(), obstacle, wait, gap_is_new)
                    }),
                })? {
                    After::DealFirst => return Ok(true),
                    After::Passed => Step::Continue,
                    After::Again => {
                        // The one row that has a unique key may have moved to an entry before this one.
                        if !look.exact {
                            self.state.place = self.state.just_before(entry.key.to_vec());
                        }
                        continue;
                    }
                },
            };
            if look.exact {
                if shown > before {
                    self.state.place = Place::End;
                    return Ok(step == Step::Stop);
                }
                // The row that was to be found is not there: the gap is to be locked after all.
                look.exact = false;
                continue;
            }
            self.state.pass(entry.key.to_vec())?;
            if step == Step::Stop {
                return Ok(true);
            }
        }
    }

    /// Under the latch of its leaf: locks the next entry of the range with the gap before it, or the gap that the range ends in. `batch` gets the entry.
    fn lock_next_entry(&mut self, index: &Index, look: &mut EntryLook, batch: &mut EntryBatch) -> Result<Found> {
        let mut cursor = index.tree.cursor();
        let in_range = Scan::position(&self.state, &mut cursor)?;
        let hopped = look.forward && (cursor.hopped() || !cursor.valid());
        let key = if cursor.valid() { cursor.key() } else { &[] };
        let is_confirmed = !hopped || look.has_confirmed(key) || planted("no_second_look");
        if hopped {
            reached("hop");
        }
        if !in_range {
            if look.forward && !matches!(self.state.place, Place::End) && !planted("range_end_open") {
                self.session.try_lock(LockKeyRef { index: index.id, key }, look.mode.gap_only())?;
                if !is_confirmed {
                    look.confirmed = Some((key.to_vec(), false));
                    return Ok(Found::Unconfirmed);
                }
            }
            return Ok(Found::OutOfRange);
        }
        let entry_key = LockKeyRef { index: index.id, key };
        // The gap first: it is had at once, and then nothing comes before the entry while that is waited for.
        let gap = if look.exact { Some(Granted::Held) } else { self.session.try_lock(entry_key, look.mode.gap_only())? };
        let locked = self.session.try_lock(entry_key, look.entry_mode())?.is_some();
        // Whoever has the entry itself locked: the gap is this transaction's from here on, and was open when the leaf before was let go.
        if !is_confirmed && (locked || !planted("locked_by_others_is_confirmed")) {
            look.confirmed = Some((key.to_vec(), gap == Some(Granted::New)));
            return Ok(Found::Unconfirmed);
        }
        let gap_is_new = gap == Some(Granted::New) || look.has_new_gap(key);
        let gap_is_new = !locked && self.is_gap_for_wait(key, gap_is_new);
        batch.clear();
        let (key, value) = cursor.entry();
        batch.push_key(key, value)?;
        Ok(Found::Entry { locked, gap_is_new })
    }

    /// Whether the range is one whole key of the index, without NULLs.
    pub(crate) fn is_point_of(&self, table: &Table) -> bool {
        let range = &self.state.range;
        let mut rest = range.lower.as_slice();
        for part in &table.indexes[self.state.index_no].parts {
            let ty = table.layout().column_type(part.column);
            let is_null = |lead: u8| ty.nullable && lead == if part.descending { 0xff } else { 0 };
            let bytes = match rest.first() {
                Some(&lead) if !is_null(lead) => record::key::part_bytes(ty, part, rest),
                _ => return false,
            };
            match bytes {
                Ok(bytes) if bytes <= rest.len() => rest = &rest[bytes..],
                _ => return false,
            }
        }
        // Hidden row ids have no parts: a range of theirs is none of these.
        !range.lower.is_empty() && rest.is_empty() && range.upper == after_prefix(&range.lower)
    }
}
