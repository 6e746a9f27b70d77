//! Reading one row by its primary key. By another unique one: `by_unique_key.rs`.

use crate::locks::row_lock::{Obstacle, Read, RowLock, Wait};
use crate::session::Session;
use crate::table::{ENTRY_DELETED, Table, entry_value, split_entry};
use crate::version::{header, visible};
use crate::{Engine, Result};
use base::TxnId;
use lock_manager::LockMode;
use record::RowRef;
use record::header::DELETE_MARK;
use std::sync::Arc;
use txn::ReadView;

impl Read {
    /// Lock mode and waiting, for locking reads.
    pub(crate) fn lock(self) -> Option<(LockMode, Wait)> {
        match self {
            Read::Snapshot => None,
            Read::Share(wait) => Some((LockMode::Shared, wait)),
            Read::Exclusive(wait) => Some((LockMode::Exclusive, wait)),
        }
    }
}

/// Calls `f` with the row of a full primary key, if a view sees one, as [`Session::get`] does: for those who have lent out other parts of their session. `version` is what it puts an older
/// version together in.
#[inline]
pub(crate) fn get_visible<R>(
    engine: &Engine,
    view: &ReadView,
    own: TxnId,
    version: &mut Vec<u8>,
    table: &Table,
    key: &[u8],
    f: impl FnOnce(RowRef<'_>) -> R,
) -> Result<Option<R>> {
    table.primary().tree.get(key, |value| {
        let Some(value) = value else { return Ok(None) };
        match visible(&engine.undo, view, own, value, version)? {
            Some(version) => engine.with_full_row(table, version, f).map(Some),
            None => Ok(None),
        }
    })?
}

/// What a locking look at a row found.
pub(crate) enum Locked<R> {
    /// The row is there and locked.
    Row(R),
    /// No such row.
    Absent(Why),
    /// The row is there, and somebody has it (SKIP LOCKED).
    Skipped,
}

/// Why there is no row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// The key is not in the index: only the gap can be locked.
    NoKey,
    /// A deleted row has its place, and is locked.
    Deleted,
}

impl Session {
    /// Calls `f` with the row of a full primary key, if this reader sees one.
    ///
    /// `f` runs under the leaf's latch: it copies or encodes, and never blocks or comes back to the engine.
    #[inline]
    pub fn get<R>(&mut self, table: &Arc<Table>, key: &[u8], read: Read, f: impl FnOnce(RowRef<'_>) -> R) -> Result<Option<R>> {
        match read.lock() {
            None => {
                self.ensure_view()?;
                self.get_snapshot(table, key, f)
            }
            Some((mode, wait)) => match self.get_locked(table, key, mode, wait, |row, _| f(row))? {
                Locked::Row(result) => Ok(Some(result)),
                Locked::Absent(_) | Locked::Skipped => Ok(None),
            },
        }
    }

    /// Like [`Session::get`] with a locking `read`; tells how the row is locked, for [`Session::give_back`].
    pub fn get_locking<R>(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        read: Read,
        f: impl FnOnce(RowRef<'_>) -> R,
    ) -> Result<Option<(R, RowLock)>> {
        let Some((mode, wait)) = read.lock() else {
            return Ok(self.get(table, key, read, f)?.map(|result| (result, RowLock::Held)));
        };
        Ok(match self.get_locked(table, key, mode, wait, |row, lock| (f(row), lock))? {
            Locked::Row(result) => Some(result),
            Locked::Absent(_) | Locked::Skipped => None,
        })
    }

    #[inline]
    fn get_snapshot<R>(&mut self, table: &Arc<Table>, key: &[u8], f: impl FnOnce(RowRef<'_>) -> R) -> Result<Option<R>> {
        let Session { engine, view, running, buffers, .. } = self;
        get_visible(engine, view, running.id, &mut buffers.version, table, key, f)
    }

    /// Locks a row and calls `f` with it.
    pub(crate) fn get_locked<R>(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        mode: LockMode,
        wait: Wait,
        f: impl FnOnce(RowRef<'_>, RowLock) -> R,
    ) -> Result<Locked<R>> {
        let mut f = Some(f);
        self.before_locks();
        loop {
            match self.try_get_locked(table, key, mode, &mut f)? {
                Ok(Locked::Absent(Why::NoKey)) if self.locks_gaps() => {
                    if !self.lock_gap_at(table.primary(), key, mode)? {
                        return Ok(Locked::Absent(Why::NoKey));
                    }
                }
                Ok(found) => return Ok(found),
                Err(obstacle) => {
                    if !self.wait_or_leave(table.primary().id, key, mode, obstacle, wait)? {
                        return Ok(Locked::Skipped);
                    }
                }
            }
        }
    }

    /// One look at a row for [`Session::get_locked`]; takes `f` when it calls it.
    pub(crate) fn try_get_locked<R>(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        mode: LockMode,
        f: &mut Option<impl FnOnce(RowRef<'_>, RowLock) -> R>,
    ) -> Result<std::result::Result<Locked<R>, Obstacle>> {
        table.primary().tree.get(key, |value| {
            let Some(value) = value else { return Ok(Ok(Locked::Absent(Why::NoKey))) };
            let row = header(value)?;
            let lock = match self.lock_seen(table, key, row, mode)? {
                Ok(lock) => lock,
                Err(obstacle) => return Ok(Err(obstacle)),
            };
            if row.flags & DELETE_MARK != 0 {
                self.give_back(table, key, lock);
                return Ok(Ok(Locked::Absent(Why::Deleted)));
            }
            let f = f.take().expect("called once");
            self.engine.with_full_row(table, value, |row| f(row, lock)).map(|result| Ok(Locked::Row(result)))
        })?
    }

    /// Whether the row behind a secondary entry is to be looked at: a deleted entry may still belong to an older version.
    pub(crate) fn entry_parts<'k>(key: &'k [u8], value: &[u8]) -> Result<(bool, &'k [u8], &'k [u8])> {
        let (user, primary_key) = split_entry(key, value)?;
        Ok((entry_value(value)?.0 & ENTRY_DELETED != 0, user, primary_key))
    }
}
