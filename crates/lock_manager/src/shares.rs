//! Who has which metadata lock: each session's list, which others read when they search for deadlocks or tell what is locked.
//!
//! # Invariants
//! 1. A lock that an owner has taken under its name is marked as held in its list, from before its next wait until it is given back.
//! 2. The uncontended path writes nothing but the table's counter and the mark, which no other session writes.

use crate::manager::{LockError, WaitPolicy};
use crate::metadata::{Share, TableLock};
use crate::outside::Asker;
use crate::owner::Owner;
use crate::platform::atomic::{AtomicBool, Ordering};
use crate::platform::{Arc, planted};
use std::time::Instant;

/// As what a metadata lock is held or awaited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HoldKind {
    /// Shared by a transaction.
    Share(Share),
    /// Writers are kept out.
    ReadOnly,
    /// Its rows are somebody's alone.
    Rows,
    /// All of it is.
    Exclusive,
    /// Others read and write, and nobody else has more rights: DDL that works beside them.
    Upgradable,
    /// The same, with writers kept out.
    NoWrites,
}

impl HoldKind {
    /// Whether who holds this is in the way of who wants `wanted`.
    pub fn blocks(self, wanted: HoldKind) -> bool {
        use HoldKind::{Exclusive, NoWrites, ReadOnly, Rows, Share as Shared, Upgradable};
        match (self, wanted) {
            (Shared(_), Shared(_) | Upgradable) | (ReadOnly, ReadOnly | Shared(Share::Read | Share::Definition)) => false,
            (Upgradable, Shared(_)) | (NoWrites, Shared(Share::Read | Share::Definition)) => false,
            (ReadOnly | Upgradable | NoWrites, _) => true,
            (Shared(share), ReadOnly | NoWrites) => share == Share::Write,
            (Shared(share), Rows) => share != Share::Definition,
            (Shared(_), Exclusive) => true,
            (Rows, Shared(share)) => share != Share::Definition,
            (Rows | Exclusive, _) => true,
        }
    }
}

/// A metadata lock that an owner holds, or held and remembers.
pub struct Hold {
    lock: Arc<TableLock>,
    kind: HoldKind,
    /// Written by the owner's thread alone. SeqCst where it is an announcement (see [`Announcement`]); otherwise release, read by those who
    /// have found the owner waiting.
    held: AtomicBool,
}

impl Hold {
    pub(crate) fn new(lock: &Arc<TableLock>, kind: HoldKind, held: bool) -> Arc<Hold> {
        Arc::new(Hold { lock: Arc::clone(lock), kind, held: AtomicBool::new(held) })
    }

    /// The lock.
    pub fn lock(&self) -> &Arc<TableLock> {
        &self.lock
    }

    /// As what it is held.
    pub fn kind(&self) -> HoldKind {
        self.kind
    }

    /// Whether it is held at this moment.
    #[inline]
    pub fn is_held(&self) -> bool {
        self.held.load(Ordering::SeqCst)
    }

    /// By the owner's thread.
    #[inline]
    fn held_by_me(&self) -> bool {
        self.held.load(Ordering::Relaxed)
    }

    fn share(&self) -> Share {
        match self.kind {
            HoldKind::Share(share) => share,
            other => unreachable!("{other:?} is no share"),
        }
    }
}

impl std::fmt::Debug for Hold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Hold({:?} of {:?}, held {})", self.kind, self.lock, self.is_held())
    }
}

/// The tables that a transaction shares, and some that were shared before: those need no registration when they are used again.
#[derive(Debug)]
pub struct SharedTables {
    owner: Arc<Owner>,
    holds: Vec<Shared>,
}

/// A hold of [`SharedTables`] with what is looked at in each statement: the list is searched without touching the holds, which lie apart and are
/// in nobody's cache when a session's turn comes.
#[derive(Debug)]
struct Shared {
    /// Address of the hold's lock, which lives as long as the hold: to be compared only.
    lock: usize,
    kind: HoldKind,
    /// What the hold's mark says; none but this session writes that.
    held: bool,
    /// Where it counted in; the next time it may be on another processor.
    stripe: usize,
    hold: Arc<Hold>,
}

fn address(lock: &Arc<TableLock>) -> usize {
    Arc::as_ptr(lock) as usize
}

impl Shared {
    #[inline]
    fn suits(&self, share: Share) -> bool {
        self.kind == HoldKind::Share(share) || (share == Share::Read && self.kind == HoldKind::Share(Share::Write) && self.held)
    }
}

/// Tables that are remembered from one transaction to the next.
const REMEMBERED_MAX: usize = 16;

impl SharedTables {
    /// None yet.
    pub fn new(owner: &Arc<Owner>) -> SharedTables {
        SharedTables { owner: Arc::clone(owner), holds: Vec::new() }
    }

    /// Asks the processor's caches for the list.
    #[inline]
    pub fn bring_near(&self) {
        // Two are in a line; more than six tables are rare.
        for first in [0, 2, 4] {
            base::bring_near(&self.holds, first);
        }
    }

    /// Shares a table until [`Self::release`], if nobody is in the way. `spread` tells apart who works at the same time (`sync::lane`), so that they count on different lines.
    #[inline]
    pub fn share_now(&mut self, lock: &Arc<TableLock>, share: Share, spread: usize) -> bool {
        let wanted = address(lock);
        match self.holds.iter_mut().find(|shared| shared.lock == wanted && shared.suits(share)) {
            Some(shared) if shared.held => true,
            Some(shared) => {
                let stripe = TableLock::stripe(spread);
                let entered = lock.enter_now(share, stripe);
                if entered {
                    (shared.held, shared.stripe) = (true, stripe);
                    shared.hold.held.store(true, Ordering::Release);
                }
                entered
            }
            None => self.share_new(lock, share, spread),
        }
    }

    #[cold]
    fn share_new(&mut self, lock: &Arc<TableLock>, share: Share, spread: usize) -> bool {
        let stripe = TableLock::stripe(spread);
        let entered = lock.enter_now(share, stripe);
        if entered {
            self.add(lock, share, stripe);
        }
        entered
    }

    fn add(&mut self, lock: &Arc<TableLock>, share: Share, stripe: usize) {
        let hold = Hold::new(lock, HoldKind::Share(share), true);
        self.owner.add_hold(&hold);
        self.holds.push(Shared { lock: address(lock), kind: hold.kind, held: true, stripe, hold });
    }

    /// Shares a table, waiting for who has more rights, or for a short turn of who waits for them.
    #[cold]
    pub fn share(
        &mut self,
        lock: &Arc<TableLock>,
        share: Share,
        spread: usize,
        deadline: Option<Instant>,
        asker: Asker<'_>,
    ) -> Result<(), LockError> {
        let stripe = TableLock::stripe(spread);
        lock.enter(share, stripe, WaitPolicy::Wait(deadline), asker)?;
        self.add(lock, share, stripe);
        Ok(())
    }

    /// Gives all tables back, shares this one, then those again: after a deadlock, before anything was done with them.
    #[cold]
    pub fn give_way(
        &mut self,
        lock: &Arc<TableLock>,
        share: Share,
        spread: usize,
        deadline: Option<Instant>,
        asker: Asker<'_>,
    ) -> Result<(), LockError> {
        let mut wanted = vec![(Arc::clone(lock), share)];
        let held = self.holds.iter().filter(|shared| shared.held);
        wanted.extend(held.map(|shared| (Arc::clone(&shared.hold.lock), shared.hold.share())));
        loop {
            self.release();
            let mut failed = None;
            for (at, (lock, share)) in wanted.iter().enumerate() {
                if !self.share_now(lock, *share, spread)
                    && let Err(error) = self.share(lock, *share, spread, deadline, asker)
                {
                    failed = Some((at, error));
                    break;
                }
            }
            match failed {
                None => return Ok(()),
                // It comes first the next time: then nothing is in hand while it is waited for.
                Some((at, LockError::Deadlock)) if at > 0 => wanted.swap(0, at),
                Some((_, error)) => return Err(error),
            }
        }
    }

    /// How many tables are shared at present.
    pub fn held_count(&self) -> usize {
        self.holds.iter().filter(|shared| shared.held).count()
    }

    /// Gives all tables back: the end of the transaction.
    #[inline]
    pub fn release(&mut self) {
        for shared in &mut self.holds {
            if shared.held {
                shared.held = false;
                let hold = &shared.hold;
                hold.held.store(false, Ordering::Release);
                hold.lock.leave(hold.share(), shared.stripe);
            }
        }
        if self.holds.len() > REMEMBERED_MAX {
            self.forget();
        }
    }

    /// The session falls silent: what is remembered goes, unless a table is shared.
    #[cold]
    pub fn rest(&mut self) {
        if self.held_count() == 0 {
            self.forget();
            self.holds = Vec::new();
        }
    }

    #[cold]
    fn forget(&mut self) {
        self.owner.remove_holds(|hold| self.holds.iter().any(|own| Arc::ptr_eq(&own.hold, hold)));
        self.holds.clear();
    }
}

impl Drop for SharedTables {
    fn drop(&mut self) {
        self.release();
        self.forget();
    }
}

/// A session's sign at a lock of the whole server that it is at work there: one word that only it writes. Who wants that nobody is looks at
/// all signs. Between [`Announcement::enter_now`] and [`Announcement::leave`] the session shares the lock as a writer.
#[derive(Debug)]
pub struct Announcement {
    owner: Arc<Owner>,
    hold: Arc<Hold>,
}

impl Announcement {
    /// A sign of `owner` at `lock`, a lock of the whole server.
    pub fn new(lock: &Arc<TableLock>, owner: &Arc<Owner>) -> Announcement {
        let hold = Hold::new(lock, HoldKind::Share(Share::Write), false);
        lock.add_announcer(&hold);
        owner.add_hold(&hold);
        Announcement { owner: Arc::clone(owner), hold }
    }

    /// Asks the processor's caches for the sign.
    #[inline]
    pub fn bring_near(&self) {
        base::bring_all_near(&*self.hold);
    }

    /// Announces the session's work, unless somebody keeps it out: one exchange of its own word, one load of a word that is seldom written.
    #[inline]
    pub fn enter_now(&self) -> bool {
        // SeqCst against the gate: a writer announces itself, then looks there; who keeps writers out shuts it, then looks at the signs.
        self.hold.held.swap(true, Ordering::SeqCst);
        let open = self.hold.lock.is_open_for(Share::Write) || planted("announced_without_look");
        if !open {
            self.leave();
        }
        open
    }

    /// Whether it is announced.
    #[inline]
    pub fn is_entered(&self) -> bool {
        self.hold.held_by_me()
    }

    /// The same, waiting for who keeps it out.
    #[cold]
    pub fn enter(&self, deadline: Option<Instant>, asker: Asker<'_>) -> Result<(), LockError> {
        loop {
            if self.enter_now() {
                return Ok(());
            }
            self.hold.lock.wait_for_gate(Share::Write, WaitPolicy::Wait(deadline), asker)?;
        }
    }

    /// Announces it whoever keeps others out: for who does so itself.
    pub fn enter_regardless(&self) {
        self.hold.held.swap(true, Ordering::SeqCst);
    }

    /// The work is done.
    #[inline]
    pub fn leave(&self) {
        self.hold.held.swap(false, Ordering::SeqCst);
        self.hold.lock.tell();
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        if self.is_entered() {
            self.leave();
        }
        self.owner.remove_holds(|hold| Arc::ptr_eq(hold, &self.hold));
    }
}

/// Marks what an owner has beyond shares, for as long as the guard that has it lives.
#[derive(Debug)]
pub(crate) struct Registered {
    owner: Arc<Owner>,
    hold: Arc<Hold>,
}

impl Registered {
    pub(crate) fn new(owner: &Arc<Owner>, lock: &Arc<TableLock>, kind: HoldKind) -> Registered {
        let hold = Hold::new(lock, kind, true);
        owner.add_hold(&hold);
        Registered { owner: Arc::clone(owner), hold }
    }

    /// Marks it as held, or not for a while. By the owner's thread.
    pub(crate) fn set_held(&self, held: bool) {
        self.hold.held.store(held, Ordering::SeqCst);
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.owner.remove_holds(|hold| Arc::ptr_eq(hold, &self.hold));
    }
}
