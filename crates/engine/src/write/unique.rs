//! Keys that only one row may have.
//!
//! # Invariants
//! 1. Before a key is added to a unique index its user parts are locked exclusively, so two transactions never check at the same time.
//!    Who has to wait for that waits for a shared lock first when it would only report a duplicate, and strengthens it when there is none.
//! 2. Who refers to a key of another table has its user parts locked, shared, and has looked at its row since; who takes such a key away locks them before it looks for those who refer to it.
//! 3. Who is told of a duplicate has its entry locked, and has looked at the row behind it since (`locks/entry_lock.rs`).

use crate::locks::row_lock::{Obstacle, Wait};
use crate::session::Session;
use crate::table::{Index, Table};
use crate::version::{Chain, header};
use crate::write::OnDuplicate;
use crate::write::secondary::has_key;
use crate::{Error, Result};
use base::TxnId;
use btree::Seek;
use lock_manager::{Granted, LockKeyRef, LockMode};
use record::header::{DELETE_MARK, RowHeader};
use smallvec::SmallVec;

/// Versions of an unfinished writer that are asked, under a latch, whether a row keeps a key: one that has changed the row more often is waited for.
const VERSIONS_ASKED: usize = 16;

/// The entries of a whole key of a unique index: of the row that has it, and of those that had it. Whether each is marked.
fn entries_of(index: &Index, user: &[u8]) -> Result<SmallVec<[(Vec<u8>, bool); 2]>> {
    let mut cursor = index.tree.cursor();
    cursor.seek(user, Seek::AtOrAfter)?;
    let mut found = SmallVec::new();
    while cursor.valid() && cursor.key().starts_with(user) {
        let (key, value) = cursor.entry();
        let (marked, ..) = Session::entry_parts(key, value)?;
        found.push((key.to_vec(), marked));
        cursor.next()?;
    }
    Ok(found)
}

enum Rival {
    None,
    Duplicate,
    /// It has the key, whatever becomes of what an unfinished writer has done to it.
    Kept,
    /// It had the key, and this unfinished writer takes it away.
    Leaving(TxnId),
    /// This unfinished writer gives it the key, or may take it back.
    Undecided(TxnId),
}

/// A row's key under an unfinished writer.
pub(crate) struct KeyBesideWriter {
    /// Whether the row had it before.
    pub(crate) before: bool,
    /// Whether that is so in all of the writer's versions, too: then it is so whether that commits or not.
    pub(crate) stays: bool,
}

impl Session {
    /// Refuses a key that another live row has; waits for transactions that may still give or take it.
    pub(crate) fn check_unique(
        &mut self,
        table: &Table,
        index_no: usize,
        user: &[u8],
        own_key: &[u8],
        duplicate: OnDuplicate,
    ) -> Result<()> {
        let index = &table.indexes[index_no];
        let lock = LockKeyRef { index: index.id, key: user };
        let granted = self.try_lock(lock, LockMode::Exclusive)?;
        if granted.is_none() {
            self.wait_for_row(index.id, user, duplicate.lock(), Obstacle::Lock, Wait::Block)?;
            self.find_rival(table, index_no, user, own_key, duplicate)?;
            // Nobody has the key; others who waited may have been granted a shared lock, too.
            self.wait_for_row(index.id, user, LockMode::Exclusive, Obstacle::Lock, Wait::Block)?;
        }
        let found = self.find_rival(table, index_no, user, own_key, duplicate);
        if duplicate == OnDuplicate::Report && granted == Some(Granted::New) && matches!(found, Err(Error::DuplicateKey { .. })) {
            // Others may find the duplicate as well.
            self.engine.locks.release(&self.owner, lock);
            self.try_lock(lock, LockMode::Shared)?;
        }
        found
    }

    /// [`Error::DuplicateKey`] when another live row has the key; waits for those that may come to have it.
    fn find_rival(&mut self, table: &Table, index_no: usize, user: &[u8], own_key: &[u8], duplicate: OnDuplicate) -> Result<()> {
        let index = &table.indexes[index_no];
        'again: loop {
            for (entry, marked) in entries_of(index, user)? {
                let primary_key = &entry[user.len()..];
                if primary_key == own_key {
                    continue;
                }
                match self.rival(table, index, user, primary_key, duplicate)? {
                    Rival::None => {}
                    Rival::Duplicate | Rival::Kept => {
                        // As MySQL does at every level: the entry and the gap before it, so that the answer stays true.
                        let mode = duplicate.lock().next_key();
                        let lock = LockKeyRef { index: index.id, key: &entry };
                        let Some(granted) = self.try_lock(lock, mode)? else {
                            self.wait_for_row(index.id, &entry, mode, Obstacle::Lock, Wait::Block)?;
                            continue 'again;
                        };
                        // Who left the key before the entry was locked did not ask for it.
                        if !matches!(self.rival(table, index, user, primary_key, duplicate)?, Rival::Duplicate | Rival::Kept) {
                            if granted == Granted::New {
                                self.engine.locks.release(&self.owner, lock);
                            }
                            continue 'again;
                        }
                        return Err(Error::DuplicateKey { index_no });
                    }
                    // This transaction was told so before: whoever would take it away waits, and has not marked the entry. (One that was locked on the way to a row is marked.)
                    Rival::Leaving(_) if !marked && self.holds_entry(index, &entry)? => return Err(Error::DuplicateKey { index_no }),
                    Rival::Leaving(writer) | Rival::Undecided(writer) => {
                        self.wait_for_writer(table, primary_key, writer)?;
                        continue 'again;
                    }
                }
            }
            return Ok(());
        }
    }

    /// Waits until the unfinished writer of a row has finished. The row is not locked for that: it is its entry that is to stay as it is.
    fn wait_for_writer(&mut self, table: &Table, primary_key: &[u8], writer: TxnId) -> Result<()> {
        let lock = LockKeyRef { index: table.primary().id, key: primary_key };
        let granted = self.wait_for_grant(lock.index, lock.key, LockMode::Shared, Obstacle::Writer(writer), Wait::Block)?;
        if granted == Some(Granted::New) {
            self.engine.locks.release(&self.owner, lock);
        }
        Ok(())
    }

    /// Whether a row has a whole key (without NULLs) of a unique index, which others may refer to. If so the key is locked, shared, against [`Session::take_key`]; the row is not, but
    /// who has locked it to look at it is waited for (in MySQL, who has done that by this index). `false` also where rows that were changed since the snapshot are refused: there the
    /// row is to be looked at.
    ///
    /// # Errors
    /// What waiting for a lock, or reading pages, meets.
    pub fn share_key(&mut self, table: &Table, index_no: usize, user: &[u8]) -> Result<bool> {
        if self.running.first_updater_wins {
            return Ok(false);
        }
        let index = &table.indexes[index_no];
        let key = LockKeyRef { index: index.id, key: user };
        let mut granted: Option<Granted> = None;
        'again: loop {
            // Who waits for the row does not have the key meanwhile: who has the row may come to take it.
            let let_go = |session: &Session, granted: Option<Granted>| {
                if granted == Some(Granted::New) {
                    session.engine.locks.release(&session.owner, key);
                }
            };
            let mut is_there = false;
            for (entry, _) in entries_of(index, user)? {
                let primary_key = &entry[user.len()..];
                match self.rival(table, index, user, primary_key, OnDuplicate::Report)? {
                    Rival::None => {}
                    Rival::Kept => is_there = true,
                    Rival::Duplicate => {
                        let row = LockKeyRef { index: table.primary().id, key: primary_key };
                        let row_granted = match self.try_lock(row, LockMode::Shared)? {
                            Some(row_granted) => {
                                is_there = true;
                                Some(row_granted)
                            }
                            None => {
                                let_go(self, granted.take());
                                self.wait_for_grant(row.index, row.key, LockMode::Shared, Obstacle::Lock, Wait::Block)?
                            }
                        };
                        if row_granted == Some(Granted::New) {
                            self.engine.locks.release(&self.owner, row);
                        }
                        if !is_there {
                            continue 'again;
                        }
                    }
                    Rival::Leaving(writer) | Rival::Undecided(writer) => {
                        let_go(self, granted.take());
                        self.wait_for_writer(table, primary_key, writer)?;
                        continue 'again;
                    }
                }
            }
            match (is_there, granted) {
                (true, Some(_)) => return Ok(true),
                // What was seen without the key is to be seen once more.
                (true, None) => granted = self.wait_for_grant(key.index, key.key, LockMode::Shared, Obstacle::Lock, Wait::Block)?,
                (false, _) => {
                    let_go(self, granted);
                    return Ok(false);
                }
            }
        }
    }

    /// Before a row gives up a whole key of a unique index that others may refer to: waits for those who have it by [`Session::share_key`], and keeps others from that.
    ///
    /// # Errors
    /// What waiting for a lock meets.
    pub fn take_key(&mut self, table: &Table, index_no: usize, user: &[u8]) -> Result<()> {
        self.wait_for_row(table.indexes[index_no].id, user, LockMode::Exclusive, Obstacle::Lock, Wait::Block).map(|_| ())
    }

    /// Whether the row of `primary_key` has the key `user` in a unique index, or may come to have it again.
    fn rival(&self, table: &Table, index: &Index, user: &[u8], primary_key: &[u8], duplicate: OnDuplicate) -> Result<Rival> {
        let own = self.running.id;
        let engine = &self.engine;
        table.primary().tree.get(primary_key, |value| -> Result<Rival> {
            let Some(value) = value else { return Ok(Rival::None) };
            let newest = header(value)?;
            if newest.txn != own && self.locked_by_writer(newest.txn) {
                if duplicate != OnDuplicate::Report {
                    return Ok(Rival::Undecided(newest.txn));
                }
                // Who only reports it need not wait for a writer that leaves the key alone (in MySQL it is the entry that is asked).
                return Ok(match self.key_beside_writer(table, index, user, newest, value)? {
                    Some(KeyBesideWriter { before: true, stays: true }) => Rival::Kept,
                    Some(KeyBesideWriter { before: true, stays: false }) => Rival::Leaving(newest.txn),
                    _ => Rival::Undecided(newest.txn),
                });
            }
            if newest.flags & DELETE_MARK != 0 {
                return Ok(Rival::None);
            }
            let has_key = engine.with_full_row(table, value, |row| has_key(index, row, user))??;
            Ok(if has_key { Rival::Duplicate } else { Rival::None })
        })?
    }

    /// What becomes of a row's key under an unfinished writer of another transaction; `None` where that cannot be told.
    pub(crate) fn key_beside_writer(
        &self,
        table: &Table,
        index: &Index,
        user: &[u8],
        newest: RowHeader,
        value: &[u8],
    ) -> Result<Option<KeyBesideWriter>> {
        let engine = &self.engine;
        let mut chain = Chain::new(&engine.undo, newest, value, Vec::new());
        let mut written: Option<bool> = None;
        let mut same = true;
        for _ in 0..VERSIONS_ASKED {
            let version = chain.version();
            let Some(has) = engine.version_has_key(table, index, user, version, &chain.buffer)? else { return Ok(None) };
            same &= written.is_none_or(|written| written == has);
            if !self.locked_by_writer(version.txn) {
                return Ok(Some(KeyBesideWriter { before: has, stays: same }));
            }
            written = Some(has);
            match chain.step_direct() {
                Ok(Some(_)) => {}
                // The writer has inserted the row.
                Ok(None) => return Ok(Some(KeyBesideWriter { before: false, stays: same && !has })),
                Err(Error::UndoGone) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}
