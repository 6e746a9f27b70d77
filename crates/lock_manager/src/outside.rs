//! Waits for something else than a row: metadata locks and locks with a name. They stand in the same graph as those for rows.
//!
//! Who waits tells it at its [`Owner`]; what it waits for tells who stands in its way. Only owners that wait themselves can be members of a
//! cycle, so a search looks through those alone: what they hold does not change while they wait.
//!
//! A statement that is stopped by a candidate for more rights waits for nobody: the candidate lets it pass after a short turn.

use crate::cancel::{Cancel, WaitCell, WaitState, WaitsFor};
use crate::manager::LockManager;
use crate::metadata::TableLock;
use crate::owner::Owner;
use crate::platform::Arc;
use crate::shares::HoldKind;
use crate::user_locks::Names;
use std::time::Instant;

/// What is waited for outside of the row locks.
#[derive(Clone)]
pub(crate) enum Awaited {
    /// A metadata lock.
    Table {
        lock: Arc<TableLock>,
        wanted: HoldKind,
        /// It has the turn among those who want more than a share; if not, it waits for who has.
        candidate: bool,
    },
    /// A lock with a name.
    Name { names: Arc<Names>, name: Arc<str> },
}

impl Awaited {
    /// The dearer a wait is to break off: who has the least is the victim of a deadlock. As MySQL weighs them: DDL and LOCK TABLES over names
    /// over all else.
    pub(crate) fn weight(&self) -> u8 {
        match self {
            Awaited::Table { wanted: HoldKind::Share(_), .. } => 0,
            Awaited::Name { .. } => 1,
            Awaited::Table { .. } => 2,
        }
    }

    /// Whether `other` stands in the way of `owner`, who waits for this.
    pub(crate) fn waits_for(&self, owner: &Owner, other: &Owner) -> bool {
        match self {
            Awaited::Table { lock, wanted, candidate } => {
                let outside = other.outside();
                let holds =
                    |hold: &Arc<crate::shares::Hold>| Arc::ptr_eq(hold.lock(), lock) && hold.is_held() && hold.kind().blocks(*wanted);
                let has_the_turn = |wait: &OutsideWait| match &wait.awaited {
                    Awaited::Table { lock: awaited, candidate: true, .. } => Arc::ptr_eq(awaited, lock),
                    _ => false,
                };
                let queued = !candidate && !matches!(wanted, HoldKind::Share(_));
                outside.holds.iter().any(holds) || (queued && outside.waiting.as_ref().is_some_and(has_the_turn))
            }
            Awaited::Name { names, name } => other.client() != owner.client() && names.holder(name) == Some(other.client()),
        }
    }
}

/// A wait outside of the row locks that has begun.
#[derive(Clone)]
pub(crate) struct OutsideWait {
    pub(crate) what: WaitsFor,
    pub(crate) cell: Arc<WaitCell>,
    pub(crate) awaited: Awaited,
    /// Counts such waits as they came: who has more to wait for one after the other (its turn, then the table) keeps its number.
    pub(crate) arrival: u64,
}

/// What an owner has and awaits outside of the row locks.
#[derive(Default)]
pub(crate) struct Outside {
    pub(crate) holds: Vec<Arc<crate::shares::Hold>>,
    pub(crate) waiting: Option<OutsideWait>,
}

/// Who asks for a lock that may have to be waited for.
#[derive(Clone, Copy)]
pub struct Asker<'a> {
    cancel: &'a Cancel,
    /// In whose name, and the graph that it stands in. Without, it takes no part in deadlocks.
    owner: Option<(&'a LockManager, &'a Arc<Owner>)>,
    what: WaitsFor,
    /// Of [`OutsideWait::arrival`]; `None` where each sleep is a wait of its own.
    arrival: Option<u64>,
}

impl<'a> From<&'a Cancel> for Asker<'a> {
    /// Somebody who holds nothing that others wait for.
    fn from(cancel: &'a Cancel) -> Asker<'a> {
        Asker { cancel, owner: None, what: WaitsFor::MetadataLock, arrival: None }
    }
}

impl<'a> From<&'a Arc<Cancel>> for Asker<'a> {
    fn from(cancel: &'a Arc<Cancel>) -> Asker<'a> {
        Asker::from(&**cancel)
    }
}

impl<'a> Asker<'a> {
    /// An owner, whose waits can be part of deadlocks.
    pub fn new(locks: &'a LockManager, owner: &'a Arc<Owner>, cancel: &'a Cancel) -> Asker<'a> {
        Asker { cancel, owner: Some((locks, owner)), what: WaitsFor::MetadataLock, arrival: None }
    }

    /// The same, waiting for what the process list is to tell.
    pub fn waiting_for(self, what: WaitsFor) -> Asker<'a> {
        Asker { what, ..self }
    }

    /// The same, for several sleeps that are one wait: it has arrived now, however often it wakes and looks again.
    pub(crate) fn arriving(self) -> Asker<'a> {
        Asker { arrival: self.owner.map(|(locks, _)| locks.next_arrival()), ..self }
    }

    /// In whose name.
    pub(crate) fn owner(&self) -> Option<&'a Arc<Owner>> {
        self.owner.map(|(_, owner)| owner)
    }

    /// Sleeps on `cell`, whose wait has begun, as a member of the graph.
    ///
    /// `may_close` is asked once others can see the wait: whether somebody who may wait himself stands in its way.
    pub(crate) fn sleep(
        &self,
        cell: &Arc<WaitCell>,
        awaited: impl FnOnce() -> Awaited,
        may_close: impl FnOnce() -> bool,
        deadline: Option<Instant>,
    ) -> WaitState {
        let Some((locks, owner)) = self.owner else { return self.cancel.sleep(cell, self.what, deadline) };
        let arrival = self.arrival.unwrap_or_else(|| locks.next_arrival());
        owner.begin_outside(OutsideWait { what: self.what, cell: Arc::clone(cell), awaited: awaited(), arrival });
        if owner.holds_something() && may_close() && !crate::platform::planted("no_outside_detection") {
            locks.resolve_deadlocks(owner);
        }
        let state = self.cancel.sleep(cell, self.what, deadline);
        owner.end_outside();
        state
    }
}

impl std::fmt::Debug for Asker<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Asker({:?}, {:?})", self.owner(), self.what)
    }
}
