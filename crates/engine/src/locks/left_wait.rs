//! Waits for rows that no thread sleeps for.
//!
//! A statement that has changed nothing yet needs no stack to wait on: it is given up where it would sleep ([`Error::Waits`]), its request stays in the row's queue, and when that is granted
//! the statement is run again from its beginning and finds the row its own. Who serves other sessions meanwhile is the caller's affair (docs/design/threads.md, Rows without a thread).
//!
//! # Invariants
//! 1. A wait is left only where the caller allows it, by a statement that has changed nothing and closes no gaps that are to be opened again, and only in those places behind which there is nothing
//!    to do but to look again from the beginning ([`Session::wait_or_leave`], [`Session::leaving`]): others give back some of what they were granted, by how it stands then.
//! 2. Between [`Error::Waits`] and [`Session::end_left_wait`] the session runs nothing; dropped there, it gives the wait up.

use super::row_lock::{Obstacle, Wait};
use crate::session::Session;
use crate::{Error, Result};
use base::IndexId;
use lock_manager::{Granted, LockKeyRef, LockMode, WaitOver, WaitPolicy};
use std::sync::Arc;
use std::time::Instant;

/// What a session keeps of waits that are left.
#[derive(Default)]
pub(crate) struct LeftWaits {
    /// Who is told when one is over.
    told: Option<Arc<dyn WaitOver>>,
    /// By the session's owner: not by one that another session has had.
    owner_tells: bool,
    /// The statement that runs may be run again from its beginning.
    allowed: bool,
    /// And is in a place where it may wait so.
    here: bool,
    /// One is left, up to then.
    pub(crate) until: Option<Instant>,
    /// Of what it is for only the record is wanted, not the gap before this key.
    unwanted_gap: Option<(IndexId, Box<[u8]>)>,
}

impl Session {
    /// Sets who is told when a wait that was left is over: there [`Session::end_left_wait`] is to be called. It may be told once more, later. Without it no wait is left.
    pub fn tell_of_waits(&mut self, told: Arc<dyn WaitOver>) {
        if self.engine.config.mechanisms.left_waits {
            self.left.told = Some(told);
            self.tell_owner();
        }
    }

    /// The session has another owner of its locks.
    pub(crate) fn tell_owner(&mut self) {
        self.left.owner_tells = self.left.told.as_ref().is_some_and(|told| self.owner.tell(told));
    }

    /// Allows the statement that runs next to be given up at a wait for a row with [`Error::Waits`], or forbids it. Allowed only where running it again is all that is left to do.
    #[inline]
    pub fn allow_left_waits(&mut self, allowed: bool) {
        self.left.allowed = allowed && self.left.owner_tells;
    }

    /// [`Session::wait_for_row`], or leaves the wait.
    pub(crate) fn wait_or_leave(&mut self, index: IndexId, key: &[u8], mode: LockMode, obstacle: Obstacle, wait: Wait) -> Result<bool> {
        self.leaving(true, |session| session.wait_for_row(index, key, mode, obstacle, wait))
    }

    /// The same for a record that is only to be looked at again: of a lock that is new the gap is given back, for nobody asks for it.
    pub(crate) fn wait_or_leave_without_gap(&mut self, record: LockKeyRef<'_>, mode: LockMode, obstacle: Obstacle) -> Result<()> {
        let waited = self.leaving(true, |session| session.wait_for_grant(record.index, record.key, mode, obstacle, Wait::Block));
        if mode.has_gap() {
            match &waited {
                Ok(Some(Granted::New)) => self.engine.locks.release_gap(&self.owner, record),
                Err(Error::Waits) => self.left.unwanted_gap = Some((record.index, record.key.into())),
                _ => {}
            }
        }
        waited.map(drop)
    }

    /// A `wait` for a row or an entry may be left, if `it_may`.
    pub(crate) fn leaving<T>(&mut self, it_may: bool, wait: impl FnOnce(&mut Session) -> T) -> T {
        self.left.here = it_may && self.left.allowed;
        let waited = wait(self);
        self.left.here = false;
        waited
    }

    /// How a row is waited for, until then.
    pub(crate) fn wait_policy(&self, until: Option<Instant>) -> WaitPolicy {
        let leaves = self.left.here && self.running.has_changed_nothing() && !self.running.closes_gaps;
        if leaves { WaitPolicy::Leave } else { WaitPolicy::Wait(until) }
    }

    /// Whether a wait is left.
    pub fn has_left_wait(&self) -> bool {
        self.left.until.is_some()
    }

    /// When the time of the wait that is left is over.
    pub fn left_until(&self) -> Option<Instant> {
        self.left.until
    }

    /// What tells the queue in which the wait that was left stands apart from others in which somebody stands.
    pub fn left_wait_for(&self) -> u64 {
        self.owner.queue()
    }

    /// Whether the wait that was left is over.
    pub fn left_wait_is_over(&self) -> bool {
        self.owner.wait_is_over()
    }

    /// Its time is over. `false` where it has ended by itself, which is told.
    pub fn left_wait_times_out(&self) -> bool {
        self.owner.time_out()
    }

    /// Ends the wait that was left, which is over (otherwise it is given up). Then the statement is to be run again from its beginning, or has failed.
    pub fn end_left_wait(&mut self) -> Result<()> {
        self.left.until = None;
        let unwanted = self.left.unwanted_gap.take();
        // What was granted counts once it is found held under the latch of the row's leaf (`row_lock.rs`).
        let granted = self.engine.locks.end_left_wait(&self.owner, &self.cancel)?;
        if let Some((index, key)) = unwanted.filter(|_| granted == Granted::New) {
            self.engine.locks.release_gap(&self.owner, LockKeyRef { index, key: &key });
        }
        Ok(())
    }

    /// A wait that is left, if one is, is given up: the statement will not go on.
    pub fn give_up_left_wait(&mut self) {
        if self.has_left_wait() {
            let _ = self.end_left_wait();
        }
    }
}
