//! Reading one row by its primary key or by a key of a unique index.

use crate::Result;
use crate::row_lock::{Read, Wait};
use crate::session::Session;
use crate::table::{ENTRY_DELETED, Table, entry_value, split_entry};
use crate::version::{header, visible};
use lock_manager::LockMode;
use record::RowRef;
use record::header::DELETE_MARK;
use std::sync::Arc;

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

/// What a locking look at a row found.
pub(crate) enum Locked<R> {
    /// The row is there and locked.
    Row(R),
    /// No such row.
    Absent,
    /// The row is there, and somebody has it (SKIP LOCKED).
    Skipped,
}

impl Session {
    /// Calls `f` with the row of a full primary key, if this reader sees one.
    ///
    /// `f` runs under the leaf's latch: it copies or encodes, and never blocks or comes back to the engine.
    #[inline]
    pub fn get<R>(&mut self, table: &Arc<Table>, key: &[u8], read: Read, f: impl FnOnce(RowRef<'_>) -> R) -> Result<Option<R>> {
        match read.lock() {
            None => {
                self.ensure_view();
                self.get_snapshot(table, key, f)
            }
            Some((mode, wait)) => match self.get_locked(table, key, mode, wait, f)? {
                Locked::Row(result) => Ok(Some(result)),
                Locked::Absent | Locked::Skipped => Ok(None),
            },
        }
    }

    #[inline]
    fn get_snapshot<R>(&mut self, table: &Arc<Table>, key: &[u8], f: impl FnOnce(RowRef<'_>) -> R) -> Result<Option<R>> {
        let Session { engine, view, running, buffers, .. } = self;
        table.primary().tree.get(key, |value| {
            let Some(value) = value else { return Ok(None) };
            match visible(&engine.undo, view, running.id, value, &mut buffers.version)? {
                Some(version) => engine.with_full_row(table, version, f).map(Some),
                None => Ok(None),
            }
        })?
    }

    /// Locks a row and calls `f` with it.
    pub(crate) fn get_locked<R>(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        mode: LockMode,
        wait: Wait,
        f: impl FnOnce(RowRef<'_>) -> R,
    ) -> Result<Locked<R>> {
        let mut f = Some(f);
        loop {
            let engine = Arc::clone(&self.engine);
            let attempt = table.primary().tree.get(key, |value| {
                let Some(value) = value else { return Ok(Ok(Locked::Absent)) };
                let row = header(value)?;
                if let Some(obstacle) = self.read_obstacle(table, key, row, mode)? {
                    return Ok(Err(obstacle));
                }
                if row.flags & DELETE_MARK != 0 {
                    return Ok(Ok(Locked::Absent));
                }
                let f = f.take().expect("called once");
                engine.with_full_row(table, value, f).map(|result| Ok(Locked::Row(result)))
            })?;
            match attempt? {
                Ok(found) => return Ok(found),
                Err(obstacle) => {
                    if !self.wait_for_row(table.primary().id, key, mode, obstacle, wait)? {
                        return Ok(Locked::Skipped);
                    }
                }
            }
        }
    }

    /// Like [`Session::get`] by the user parts of a unique secondary index (none of them NULL).
    pub fn get_unique<R>(
        &mut self,
        table: &Arc<Table>,
        index_no: usize,
        user: &[u8],
        read: Read,
        f: impl FnOnce(RowRef<'_>) -> R,
    ) -> Result<Option<R>> {
        if index_no == 0 {
            return self.get(table, user, read, f);
        }
        let mut f = Some(f);
        let mut result = None;
        let mut scan = self.scan(table, index_no, crate::KeyRange::prefix(user), crate::Direction::Forward, read)?;
        scan.for_each(|row, _| {
            if let Some(f) = f.take() {
                result = Some(f(row));
            }
            crate::Step::Stop
        })?;
        Ok(result)
    }

    /// Whether the row behind a secondary entry is to be looked at: a deleted entry may still belong to an older version.
    pub(crate) fn entry_parts<'k>(key: &'k [u8], value: &[u8]) -> Result<(bool, &'k [u8], &'k [u8])> {
        let (user, primary_key) = split_entry(key, value)?;
        Ok((entry_value(value)?.0 & ENTRY_DELETED != 0, user, primary_key))
    }
}
