//! The row of a whole key of a unique secondary index, locked or changed: an account by its name, a payment by the number that the other side gave it.
//!
//! Most often the key has one entry, which is not marked, and the row behind it has the key and is nobody else's: then two descents do. Whatever else is found is left to a locking
//! scan of the key, which begins anew.
//!
//! # Invariants
//! 1. What is locked is what a locking scan of the key locks (`scan/locking.rs`, `scan/next_key.rs`): the row, and where gaps are locked the entry before it. The scan that is left to meets
//!    these locks as its own.
//! 2. The entry is let go before the row is looked at; so the row is asked for the key, under its leaf's latch and each time that it is looked at.
//! 3. A row that has not the key is not locked by the short way, but for one that had to be waited for.

use crate::locks::row_lock::Read;
use crate::read::Locked;
use crate::session::Session;
use crate::table::{ENTRY_DELETED, Table, entry_value};
use crate::write::secondary::has_key;
use crate::{Direction, Error, KeyRange, Modified, Modify, Result, RowKey, RowLock, Step, Wait};
use lock_manager::{LockKeyRef, LockMode};
use record::{ColumnSet, RowRef};
use std::ops::ControlFlow;
use std::sync::Arc;

impl Session {
    /// Like [`Session::get`] by a whole key of a unique secondary index, no part of it NULL. `f` is told how the row is locked, for [`Session::give_back`].
    pub fn get_unique<R>(
        &mut self,
        table: &Arc<Table>,
        index_no: usize,
        user: &[u8],
        read: Read,
        f: impl FnOnce(RowRef<'_>, RowKey<'_>, RowLock) -> R,
    ) -> Result<Option<R>> {
        let mut f = Some(f);
        let Some((mode, _)) = read.lock() else {
            let mut lookup = self.look_up(table, index_no, user, Direction::Forward, 1, None)?;
            let found = lookup.next(|row, key| f.take().map(|f| f(row, key, RowLock::Held)))?;
            return match found {
                None if lookup.into_rest().is_some() => self.scan_unique(table, index_no, user, read, &mut f),
                found => Ok(found.flatten()),
            };
        };
        self.before_locks();
        let found = self.with_entry(table, index_no, user, mode, |session, primary_key| {
            session.lock_row_with_key(table, index_no, user, primary_key, mode, &mut f)
        })?;
        match found {
            Some(result) => Ok(Some(result)),
            None => self.scan_unique(table, index_no, user, read, &mut f),
        }
    }

    /// [`Session::modify_columns`] of the row of a whole key of a unique secondary index, no part of it NULL.
    pub fn modify_unique(
        &mut self,
        table: &Arc<Table>,
        index_no: usize,
        user: &[u8],
        changes: ColumnSet,
        mut decide: impl FnMut(RowRef<'_>, &mut Vec<u8>) -> Modify,
    ) -> Result<Modified> {
        self.before_locks();
        let modified = self.with_entry(table, index_no, user, LockMode::Exclusive, |session, primary_key| {
            let (mut failed, mut passed) = (None, false);
            let modified = session.modify_columns(table, primary_key, changes, |row, out| {
                let decision = match has_key(&table.indexes[index_no], row, user) {
                    Ok(true) => Some(decide(row, out)),
                    Ok(false) => None,
                    Err(error) => {
                        failed = Some(error);
                        None
                    }
                };
                passed = decision == Some(Modify::Pass);
                decision.unwrap_or(Modify::Pass)
            })?;
            failed.map_or(Ok((modified != Modified::NotFound || passed).then_some(modified)), Err)
        })?;
        if let Some(modified) = modified {
            return Ok(modified);
        }
        let mut key_of = Some(|_: RowRef<'_>, key: RowKey<'_>, lock| (key.to_vec(), lock));
        let found = self.scan_unique(table, index_no, user, Read::Exclusive(Wait::Block), &mut key_of)?;
        let Some((primary_key, lock)) = found else { return Ok(Modified::NotFound) };
        let modified = self.modify_columns(table, &primary_key, changes, decide)?;
        if modified == Modified::NotFound {
            // It was passed: locked, it is there.
            self.give_back(table, &primary_key, lock);
        }
        Ok(modified)
    }

    /// Calls `f` with the primary key behind the key's entry, if that comes first of those that begin so, is not marked, and nobody else's where entries are locked. `None` otherwise, or if `f` says so.
    fn with_entry<R>(
        &mut self,
        table: &Table,
        index_no: usize,
        user: &[u8],
        mode: LockMode,
        f: impl FnOnce(&mut Session, &[u8]) -> Result<Option<R>>,
    ) -> Result<Option<R>> {
        let index = &table.indexes[index_no];
        let mut key = std::mem::take(&mut self.buffers.entry);
        key.clear();
        let mut is_at_hand = Ok(false);
        let looked = index.tree.scan_one_leaf(user, Direction::Forward, |entry, value, _| {
            is_at_hand = entry_value(value).and_then(|(flags, user_bytes)| {
                if flags & ENTRY_DELETED != 0 || user_bytes != user.len() || !entry.starts_with(user) {
                    return Ok(false);
                }
                entry.append_to(&mut key);
                // Under the latch of the entry's leaf.
                Ok(!self.locks_gaps() || self.try_lock(LockKeyRef { index: index.id, key: &key }, mode)?.is_some())
            });
            ControlFlow::Break(())
        });
        let found = match looked.map_err(Error::from).and(is_at_hand) {
            Ok(true) => f(self, &key[user.len()..]),
            Ok(false) => Ok(None),
            Err(error) => Err(error),
        };
        self.buffers.entry = key;
        found
    }

    /// Locks the row of a primary key and calls `f` with it, if it has the key and is nobody else's.
    fn lock_row_with_key<R>(
        &mut self,
        table: &Arc<Table>,
        index_no: usize,
        user: &[u8],
        primary_key: &[u8],
        mode: LockMode,
        f: &mut Option<impl FnOnce(RowRef<'_>, RowKey<'_>, RowLock) -> R>,
    ) -> Result<Option<R>> {
        let mut look = Some(|row: RowRef<'_>, lock: RowLock| -> Result<(Option<R>, RowLock)> {
            let is_it = has_key(&table.indexes[index_no], row, user)?;
            let result = if is_it { f.take().map(|f| f(row, RowKey::Whole(primary_key), lock)) } else { None };
            Ok((result, lock))
        });
        let Ok(Locked::Row(looked)) = self.try_get_locked(table, primary_key, mode, &mut look)? else { return Ok(None) };
        let (result, lock) = looked?;
        if result.is_none() {
            self.give_back(table, primary_key, lock);
        }
        Ok(result)
    }

    /// The same by a scan of the key.
    #[cold]
    fn scan_unique<R>(
        &mut self,
        table: &Arc<Table>,
        index_no: usize,
        user: &[u8],
        read: Read,
        f: &mut Option<impl FnOnce(RowRef<'_>, RowKey<'_>, RowLock) -> R>,
    ) -> Result<Option<R>> {
        let mut result = None;
        let mut scan = self.scan(table, index_no, KeyRange::prefix(user), Direction::Forward, read)?;
        scan.for_each_locked(|row, key, lock| {
            result = f.take().map(|f| f(row, key, lock));
            Step::Stop
        })?;
        Ok(result)
    }
}
