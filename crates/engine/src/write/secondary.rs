//! Secondary entries: adding, marking and removing them as rows change.
//!
//! # Invariants
//! 1. For each row version that some view may see, the entry of its key exists. It is marked deleted unless the row's newest version
//!    is live and has that key. So a reader finds every row it may see, and decides by the row itself.
//! 2. All operations are idempotent: a crash between two of them, or a second purge, does no harm.
//! 3. Who removes an entry decides under the entry's exclusive latch whether a row version still needs it (entry → row is the latch order
//!    here; nobody latches an entry while holding a row).

use crate::locks::gap_lock::{Remover, planted};
use crate::locks::row_lock::{Obstacle, Wait};
use crate::log_op::LogOp;
use crate::purge::leftover::Leftover;
use crate::rollback::Locks;
use crate::session::Session;
use crate::table::{ENTRY_DELETED, Index, Table, entry_value, new_entry_value, split_entry};
use crate::undo_record::put_old_key;
use crate::version::{Chain, header};
use crate::write::OnDuplicate;
use crate::{Error, Result};
use base::TxnId;
use lock_manager::LockMode;
use record::header::{DELETE_MARK, RowHeader};
use record::{ColumnSet, RowRef};
use std::cell::OnceCell;
use std::ops::Range;
use txn::Snapshots;

/// The secondary entries that a row change moves.
#[derive(Default)]
pub(crate) struct EntryMoves {
    bytes: Vec<u8>,
    moves: Vec<Move>,
}

struct Move {
    index_no: usize,
    /// The entry that the row leaves behind; empty for none.
    old: Range<usize>,
    /// The entry that the row gets; empty for none.
    new: Range<usize>,
    new_user_bytes: usize,
    /// Whether the new key must be checked for uniqueness.
    check_unique: bool,
}

impl EntryMoves {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.moves.clear();
    }

    /// What changes when `old` becomes `new` (either may be missing); columns that are not in `changes` are the same in both. With `all_marked`, every entry of `old`
    /// is marked already, so entries whose key does not change are listed too, to be unmarked.
    pub(crate) fn plan(
        &mut self,
        table: &Table,
        key: &[u8],
        old: Option<RowRef<'_>>,
        new: Option<RowRef<'_>>,
        changes: ColumnSet,
        all_marked: bool,
    ) -> Result<()> {
        self.clear();
        for (index_no, index) in table.indexes.iter().enumerate().skip(1) {
            let same = match (old, new) {
                (Some(old), Some(new)) => !changes.meets(index.columns) || same_parts(index, old, new)?,
                _ => false,
            };
            if same && !all_marked {
                continue;
            }
            let old_range = match old {
                Some(row) if !same => self.put(table, index, row, key)?.0,
                _ => 0..0,
            };
            let (new_range, new_user_bytes, check_unique) = match new {
                Some(row) => {
                    let (range, user_bytes) = self.put(table, index, row, key)?;
                    (range, user_bytes, index.unique && !has_null(index, row)?)
                }
                None => (0..0, 0, false),
            };
            if !old_range.is_empty() && self.bytes[old_range.clone()] == self.bytes[new_range.clone()] && !all_marked {
                // Different bytes of equal collation weight: the entry stands.
                continue;
            }
            self.moves.push(Move { index_no, old: old_range, new: new_range, new_user_bytes, check_unique });
        }
        Ok(())
    }

    fn put(&mut self, table: &Table, index: &Index, row: RowRef<'_>, key: &[u8]) -> Result<(Range<usize>, usize)> {
        let start = self.bytes.len();
        let user_bytes = table.secondary_key(index, row, key, &mut self.bytes)?;
        Ok((start..self.bytes.len(), user_bytes))
    }

    /// The list for the undo record: what the row leaves behind.
    pub(crate) fn put_old_keys(&self, table: &Table, out: &mut Vec<u8>) {
        for m in &self.moves {
            if !m.old.is_empty() && self.bytes[m.old.clone()] != self.bytes[m.new.clone()] {
                put_old_key(out, table.indexes[m.index_no].id, &self.bytes[m.old.clone()]);
            }
        }
    }
}

/// Whether the stored bytes of all parts are the same.
pub(crate) fn same_parts(index: &Index, old: RowRef<'_>, new: RowRef<'_>) -> Result<bool> {
    for part in &index.parts {
        if !old.same_bytes(new, part.column).map_err(unreadable)? {
            return Ok(false);
        }
    }
    Ok(true)
}

pub(crate) fn has_null(index: &Index, row: RowRef<'_>) -> Result<bool> {
    let mut space = Vec::new();
    for part in &index.parts {
        if row.bytes_in(part.column, &mut space).map_err(unreadable)?.is_none() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn unreadable(_: base::Malformed) -> Error {
    Error::corrupt("row that its layout cannot read")
}

impl Session {
    /// Carries out planned moves.
    pub(crate) fn apply_moves(&mut self, table: &Table, key: &[u8], moves: &EntryMoves, duplicate: OnDuplicate) -> Result<()> {
        for m in &moves.moves {
            let old = &moves.bytes[m.old.clone()];
            let new = &moves.bytes[m.new.clone()];
            if !new.is_empty() {
                if m.check_unique {
                    self.check_unique(table, m.index_no, &new[..m.new_user_bytes], key, duplicate)?;
                }
                self.add_entry(&table.indexes[m.index_no], new, m.new_user_bytes)?;
            }
            if !old.is_empty() && old != new {
                if table.indexes[m.index_no].unique {
                    self.wait_to_leave(&table.indexes[m.index_no], old)?;
                }
                self.mark_entry(&table.indexes[m.index_no], old)?;
            }
        }
        Ok(())
    }

    /// Adds an entry, or takes the mark off one that is there.
    pub(crate) fn add_entry(&mut self, index: &Index, entry: &[u8], user_bytes: usize) -> Result<()> {
        let value = new_entry_value(0, user_bytes);
        loop {
            let mut leaf = index.tree.write(entry)?;
            let done = match leaf.found() {
                Some(old) => {
                    let marked = entry_value(old)?.0 & ENTRY_DELETED != 0;
                    if marked {
                        if self.entry_obstacle(index, entry)? {
                            drop(leaf);
                            self.wait_for_row(index.id, entry, LockMode::Exclusive, Obstacle::Lock, Wait::Block)?;
                            continue;
                        }
                        leaf.patch(0, &[0], |_| {});
                    }
                    Ok(())
                }
                None => {
                    if let Some(next) = self.gap_obstacle(&leaf, index)? {
                        drop(leaf);
                        self.wait_to_insert(index, &next)?;
                        continue;
                    }
                    leaf.insert(&value, |_| {})?
                }
            };
            match done {
                Ok(()) => {
                    leaf.raise_txn_max(self.running.id);
                    leaf.finish();
                    return Ok(());
                }
                Err(btree::NoRoom) => {
                    drop(leaf);
                    index.tree.make_room(entry, value.len())?;
                }
            }
        }
    }

    /// Marks an entry as left behind.
    pub(crate) fn mark_entry(&mut self, index: &Index, entry: &[u8]) -> Result<()> {
        let mut leaf = index.tree.write(entry)?;
        if let Some(value) = leaf.found()
            && entry_value(value)?.0 & ENTRY_DELETED == 0
        {
            leaf.patch(0, &[ENTRY_DELETED], |_| {});
            leaf.raise_txn_max(self.running.id);
            leaf.finish();
        }
        Ok(())
    }

    /// Removes an entry that nobody needs any more, or marks it when only older versions need it.
    pub(crate) fn remove_entry(&mut self, table: &Table, index: &Index, entry: &[u8], why: Remove) -> Result<Removed> {
        let mut leaf = index.tree.write(entry)?;
        let Some(value) = leaf.found() else { return Ok(Removed::Settled) };
        let marked = entry_value(value)?.0 & ENTRY_DELETED != 0;
        let (user, primary_key) = split_entry(entry, value)?;
        let needed = match why {
            Remove::Purged(_) | Remove::Between | Remove::Swept { .. } if !marked => {
                Needed { by_version: true, newest: self.engine.newest(table, primary_key)? }
            }
            _ => self.engine.entry_needed(table, index, user, primary_key, why)?,
        };
        if needed.by_version {
            let newest_runs = || self.engine.txns.is_active(needed.newest.map_or(TxnId::NONE, |row| row.txn));
            let again = match why {
                // What a running transaction has done to the row it may take back, and then purge would be missed here.
                Remove::Purged(_) => newest_runs(),
                // Of a version that is older than the one that left the entry behind: nobody else would come for it.
                Remove::Between => marked || newest_runs(),
                // A live entry's row will leave it behind some day.
                Remove::Swept { .. } => marked,
                Remove::RolledBack(_) => {
                    let key = entry.to_vec();
                    self.engine.leftovers.push(Leftover { table: table.id, index: index.id, key });
                    leaf.patch(0, &[ENTRY_DELETED], |mtr| {
                        Self::note(mtr, &LogOp::Leftover { table: table.id, index: index.id, key: entry })
                    });
                    leaf.raise_txn_max(self.running.id);
                    leaf.finish();
                    false
                }
            };
            return Ok(if again { Removed::AskAgain } else { Removed::Settled });
        }
        let remover = match why {
            Remove::RolledBack(Locks::Stay) if !planted("own_gap_stays_behind") => Remover::GoesOn,
            _ => Remover::Ends,
        };
        self.leave_gap(&leaf, index, remover)?;
        leaf.remove(|_| {});
        let shrink = leaf.is_underfull();
        leaf.finish();
        if shrink {
            index.tree.shrink(entry)?;
        }
        Ok(Removed::Settled)
    }
}

/// Why an entry is to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remove {
    /// The newest version of its row, which has the key, is being taken back.
    RolledBack(Locks),
    /// All views see what this transaction did, which left the entry behind: older versions do not count.
    Purged(TxnId),
    /// No view needs what a transaction replaced that left the entry behind: only versions count that some view needs.
    Between,
    /// A rollback marked it. Versions older than one written below this id, which all views see, do not count.
    Swept {
        /// All views see all transactions below.
        seen_by_all: TxnId,
    },
}

/// What became of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Removed {
    /// It is gone, or somebody else is answerable for it: the transaction that will leave it behind.
    Settled,
    /// It is kept because of what an unfinished transaction did to the row. If that is rolled back, it is to go.
    AskAgain,
}

/// Whether a row version needs an entry, and the row's newest version.
struct Needed {
    by_version: bool,
    newest: Option<RowHeader>,
}

/// Whether a row has the key of an entry, which may belong to another version than this one.
pub(crate) fn has_key(index: &Index, row: RowRef<'_>, user: &[u8]) -> Result<bool> {
    has_key_by(index, row, user, &mut Vec::with_capacity(user.len()))
}

/// The same for who asks many rows: their keys are put together in `own`.
pub(crate) fn has_key_by(index: &Index, row: RowRef<'_>, user: &[u8], own: &mut Vec<u8>) -> Result<bool> {
    own.clear();
    record::key::encode_columns(row, &index.parts, own).map_err(unreadable)?;
    Ok(*own == user)
}

impl crate::Engine {
    /// The header of a row's newest version.
    pub(crate) fn newest(&self, table: &Table, primary_key: &[u8]) -> Result<Option<RowHeader>> {
        table.primary().tree.get_nested(primary_key, |value| value.map(header).transpose())?
    }

    /// Whether a version of a row is there and has a key; `None` where its bytes are gone.
    pub(crate) fn version_has_key(
        &self,
        table: &Table,
        index: &Index,
        user: &[u8],
        version: RowHeader,
        bytes: &[u8],
    ) -> Result<Option<bool>> {
        if version.flags & DELETE_MARK != 0 {
            return Ok(Some(false));
        }
        self.with_version_row(table, bytes, |row| has_key(index, row, user))?.transpose()
    }

    /// Whether a row answers for a live entry. The caller latches the entry's leaf: rows come before their entries and go after them, and whoever leaves an entry behind has marked it
    /// when it ends. So the newest version has the key, or one back to the newest of a transaction that has ended.
    pub(crate) fn entry_has_row(&self, table: &Table, index: &Index, user: &[u8], primary_key: &[u8]) -> Result<bool> {
        table.primary().tree.get_nested(primary_key, |value| -> Result<bool> {
            let Some(value) = value else { return Ok(false) };
            let newest = header(value)?;
            // Of a version whose chain is gone nothing is said.
            let has = |version, bytes: &[u8]| self.version_has_key(table, index, user, version, bytes).map(|has| has.unwrap_or(true));
            if has(newest, value)? {
                return Ok(true);
            }
            let mut version = newest;
            let mut chain = Chain::new(&self.undo, newest, value, Vec::new());
            while self.txns.is_active(version.txn) {
                version = match chain.step() {
                    Ok(Some(older)) => older,
                    Ok(None) => return Ok(false),
                    Err(Error::UndoGone) => return Ok(true),
                    Err(error) => return Err(error),
                };
                if has(version, &chain.buffer)? {
                    return Ok(true);
                }
            }
            Ok(false)
        })?
    }

    /// Whether every view, open or to be opened, sees a transaction: asked of the views, which are looked at once, however many transactions wait for purge.
    ///
    /// That it is purged does not say so: no view needs what it replaced then (`prune.rs`), though one may need what lies behind.
    fn all_see(&self, txn: TxnId, limit: &txn::PurgeLimit, views: &OnceCell<Option<Snapshots>>) -> bool {
        let seen = |views: &Snapshots| views.settled(txn) && views.blind_to(txn).next().is_none();
        limit.covers(txn) || views.get_or_init(|| self.open_views()).as_ref().is_some_and(seen)
    }

    /// Whether a live version of the row that counts has the key `user` in `index`. When the newest version is rolled back it does not
    /// count, and older ones do back to the first that every view sees; for purge the versions from the newest back to the transaction's own do.
    fn entry_needed(&self, table: &Table, index: &Index, user: &[u8], primary_key: &[u8], why: Remove) -> Result<Needed> {
        table.primary().tree.get_nested(primary_key, |value| -> Result<Needed> {
            let Some(value) = value else { return Ok(Needed { by_version: false, newest: None }) };
            let newest = header(value)?;
            let has = |version: RowHeader, bytes: &[u8]| -> Result<bool> {
                if version.flags & DELETE_MARK != 0 {
                    return Ok(false);
                }
                // A chain that is gone belonged to a version that nobody sees.
                Ok(self.with_version_row(table, bytes, |row| has_key(index, row, user))?.transpose()?.unwrap_or(false))
            };
            let is_last = |version: RowHeader| match why {
                Remove::RolledBack(_) | Remove::Between => false,
                Remove::Purged(txn) => version.txn == txn,
                Remove::Swept { seen_by_all } => version.txn < seen_by_all,
            };
            if why == Remove::Between {
                return Ok(Needed { by_version: self.any_needed_version(value, has)?, newest: Some(newest) });
            }
            let rolled_back = matches!(why, Remove::RolledBack(_));
            let by_newest = !rolled_back && has(newest, value)?;
            // What is behind a version that all views see, and that is not taken back, is needed by nobody: without this, purge that is behind would walk from the newest version to
            // the oldest for each entry, and fall behind the more.
            let horizon = if rolled_back { None } else { self.purging.horizon() };
            let is_seen_by_all = |version: RowHeader| horizon.as_ref().is_some_and(|horizon| horizon.settled(version.txn));
            if by_newest || is_last(newest) || is_seen_by_all(newest) {
                return Ok(Needed { by_version: by_newest, newest: Some(newest) });
            }
            let limit = rolled_back.then(|| self.txns.purge_limit());
            let views = OnceCell::new();
            let is_oldest_seen = |version: RowHeader| {
                version.txn != newest.txn && limit.as_ref().is_some_and(|limit| self.all_see(version.txn, limit, &views))
            };
            let mut chain = Chain::new(&self.undo, newest, value, Vec::new());
            loop {
                // What a skip leads to is for views that do not see the version it starts from. Should there be none left, it may lie behind a purged transaction.
                let purge = matches!(why, Remove::Purged(_) | Remove::Swept { .. });
                if purge && chain.skips() && !self.some_view_is_blind_to(chain.version().txn) {
                    break;
                }
                let version = match chain.step() {
                    Ok(Some(older)) => older,
                    // A released undo record ends the chain: nobody sees what is behind it.
                    Ok(None) | Err(Error::UndoGone) => break,
                    Err(error) => return Err(error),
                };
                if has(version, &chain.buffer)? {
                    return Ok(Needed { by_version: true, newest: Some(newest) });
                }
                // An undo record may be readable for a while after its release: what lies behind a purged transaction must not
                // keep the entry, for nobody would come back for it.
                if is_last(version) || is_seen_by_all(version) || is_oldest_seen(version) {
                    break;
                }
            }
            Ok(Needed { by_version: false, newest: Some(newest) })
        })?
    }
}
