//! Metadata locks: statements share a table's definition, DDL needs it alone, and LOCK TABLES READ keeps writers out.
//!
//! A statement counts itself into one of a few striped counters, each on its own cache line, as a reader or as a writer, and looks at the
//! gate: two operations when nobody with more rights is near, and no line that all statements write. Who wants more (a candidate, one at a
//! time) shuts the gate for those it conflicts with, then waits until there are none.
//!
//! | holds \ wants | definition | read | write | read only | rows | exclusive |
//! |---|---|---|---|---|---|---|
//! | definition (purge) | yes | yes | yes | yes | yes | |
//! | read (SELECT) | yes | yes | yes | yes | | |
//! | write (changes, FOR UPDATE) | yes | yes | yes | | | |
//! | read only (LOCK TABLES READ) | yes | yes | | yes | | |
//! | rows (LOCK TABLES WRITE) | yes | | | | | |
//! | exclusive (DDL) | | | | | | |
//! | upgradable (DDL beside writers) | yes | yes | yes | | | |
//! | no writes (DDL beside readers) | yes | yes | | | | |
//!
//! The last two are what DDL that has a table exclusively goes down to while it works on the rows ([`ExclusiveGuard::lower`]), to come back from
//! ([`LoweredGuard::raise`]): it stays the one candidate meanwhile, so that no other DDL comes between.
//!
//! A candidate must not stop those who come after it for long (one idle transaction would stop the whole table): it shuts the gate for
//! [`ExclusiveWait::block`] only, then lets newcomers pass for [`ExclusiveWait::pass`], and so on in turns until its deadline.

use crate::cancel::{Cancel, WaitCell, WaitState};
use crate::manager::{LockError, WaitPolicy};
use crate::outside::{Asker, Awaited};
use crate::platform::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::platform::latch::{Mutex, Rank};
use crate::platform::{Arc, CachePadded, Weak, planted};
use crate::shares::{Hold, HoldKind, Registered};
use base::TableId;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

const STRIPES: usize = 8;

// The gate's bits. Readers wait.
const STOP_READERS: u32 = 1;
/// Writers wait.
const STOP_WRITERS: u32 = 2;
/// Who needs the definition only waits, too.
const STOP_ALL: u32 = 4;
/// A candidate waits for somebody to leave.
const TELL: u32 = 8;

/// How a table is shared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Share {
    /// A statement reads rows.
    Read,
    /// A statement changes rows, or locks them against others' reads.
    Write,
    /// The table must stay as it is defined; who has its rows does not matter. For work in the background.
    Definition,
}

/// Bits of a stripe for each kind of share.
const COUNT_BITS: u32 = 21;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;

impl Share {
    const fn unit(self) -> u64 {
        match self {
            Share::Read => 1,
            Share::Write => 1 << COUNT_BITS,
            Share::Definition => 1 << (2 * COUNT_BITS),
        }
    }

    const fn stop(self) -> u32 {
        match self {
            Share::Read => STOP_READERS,
            Share::Write => STOP_WRITERS,
            Share::Definition => STOP_ALL,
        }
    }
}

/// What a candidate wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Want {
    ReadOnly,
    Rows,
    Exclusive,
    /// Never waited for: what an exclusive lock is lowered to.
    Upgradable,
    /// The same, with writers kept out.
    NoWrites,
}

/// How many share a table.
#[derive(Clone, Copy, Default)]
struct Counts {
    readers: u64,
    writers: u64,
    definition: u64,
}

impl Want {
    fn kind(self) -> HoldKind {
        match self {
            Want::ReadOnly => HoldKind::ReadOnly,
            Want::Rows => HoldKind::Rows,
            Want::Exclusive => HoldKind::Exclusive,
            Want::Upgradable => HoldKind::Upgradable,
            Want::NoWrites => HoldKind::NoWrites,
        }
    }

    /// Whether who has this stands in the way of those who want a share.
    fn stops(self, share: Share) -> bool {
        self.kind().blocks(HoldKind::Share(share))
    }
}

/// What a metadata lock protects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protects {
    /// A table; `TableId(0)` where nobody asks which.
    Table(TableId),
    /// What anybody changes: FLUSH TABLES WITH READ LOCK keeps writers out.
    Changes,
    /// All definitions: LOCK INSTANCE FOR BACKUP keeps DDL out.
    Definitions,
}

/// The metadata lock of one table. About 1 KiB; exists for tables that are open.
pub struct TableLock {
    /// Changed under `slow`, and tells what that says. SeqCst against the stripes: a statement counts itself, then looks here; a candidate
    /// writes here, then looks at the counts.
    gate: CachePadded<AtomicU32>,
    /// How many share it, by stripe. A guard leaves by the stripe it came in.
    stripes: [CachePadded<AtomicU64>; STRIPES],
    slow: Mutex<Slow>,
    protects: Protects,
}

#[derive(Default)]
struct Slow {
    /// Somebody has it alone: its rows, or all of it.
    held: Option<Want>,
    /// How many have it read only.
    read_only: u32,
    /// Somebody is the candidate, or has it exclusively.
    taken: bool,
    /// What the candidate wants, while it shuts the gate.
    stopping: Option<Want>,
    /// The candidate, while it waits behind the shut gate.
    candidate: Option<Arc<WaitCell>>,
    /// Those who want to be the candidate after that one.
    queue: VecDeque<Arc<WaitCell>>,
    /// Statements stopped by the gate.
    newcomers: Vec<(Share, Arc<WaitCell>)>,
    /// Writers that count themselves in by a sign of their own, see [`crate::shares::Announcement`].
    announcers: Vec<Weak<Hold>>,
}

impl Slow {
    fn gate(&self) -> u32 {
        let is = |want: Want| self.held == Some(want) || self.stopping == Some(want);
        let all = is(Want::Exclusive);
        let readers = all || is(Want::Rows);
        let writers = readers || is(Want::ReadOnly) || is(Want::NoWrites) || self.read_only > 0;
        let bit = |on: bool, bit: u32| if on { bit } else { 0 };
        bit(readers, STOP_READERS) | bit(writers, STOP_WRITERS) | bit(all, STOP_ALL) | bit(self.stopping.is_some(), TELL)
    }
}

impl Slow {
    /// The turn goes to the next who wants more than a share.
    fn next_candidate(&mut self, woken: &mut Vec<Arc<WaitCell>>) {
        self.taken = false;
        while let Some(next) = self.queue.pop_front() {
            if next.end(WaitState::Granted) {
                self.taken = true;
                woken.push(next);
                break;
            }
        }
    }
}

/// Why a wait failed.
fn failure(state: WaitState) -> LockError {
    match state {
        WaitState::Killed => LockError::Killed,
        WaitState::Victim => LockError::Deadlock,
        _ => LockError::Timeout,
    }
}

/// How to wait for an exclusive metadata lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExclusiveWait {
    /// When to give up: `lock_wait_timeout`.
    pub deadline: Option<Instant>,
    /// How long newcomers are stopped at a time.
    pub block: Duration,
    /// How long they are let pass in between.
    pub pass: Duration,
}

impl ExclusiveWait {
    /// Stops newcomers for 50 ms, lets them pass for 200 ms.
    pub fn until(deadline: Option<Instant>) -> ExclusiveWait {
        ExclusiveWait { deadline, block: Duration::from_millis(50), pass: Duration::from_millis(200) }
    }
}

impl TableLock {
    /// A free lock.
    pub fn new() -> TableLock {
        TableLock {
            gate: CachePadded::new(AtomicU32::new(0)),
            stripes: std::array::from_fn(|_| CachePadded::new(AtomicU64::new(0))),
            slow: Mutex::new(Rank::Leaf, Slow::default()),
            protects: Protects::Table(TableId(0)),
        }
    }

    /// A free lock that says what it protects.
    pub fn of(protects: Protects) -> TableLock {
        TableLock { protects, ..TableLock::new() }
    }

    /// What it protects.
    pub fn protects(&self) -> Protects {
        self.protects
    }

    /// The stripe of who is told apart by `spread`.
    #[inline]
    pub(crate) fn stripe(spread: usize) -> usize {
        spread % STRIPES
    }

    /// Adds one who shares the lock by a sign.
    pub(crate) fn add_announcer(&self, hold: &Arc<Hold>) {
        let mut slow = self.slow.lock();
        let announcers = &mut slow.announcers;
        if announcers.len() == announcers.capacity() {
            announcers.retain(|hold| hold.strong_count() > 0);
            let live = announcers.len();
            announcers.reserve(live);
        }
        announcers.push(Arc::downgrade(hold));
    }

    /// Shares the table for reading, see [`TableLock::share`].
    #[inline]
    pub fn shared(self: &Arc<Self>, spread: usize, policy: WaitPolicy, cancel: &Cancel) -> Result<SharedGuard, LockError> {
        self.share(Share::Read, spread, policy, cancel)
    }

    /// Shares the table. `spread` tells apart who works at the same time (`sync::lane`), so that they count on different lines. With [`WaitPolicy::Wait`] it waits only
    /// for who has more rights, or for a short turn of who waits for them.
    #[inline]
    pub fn share(self: &Arc<Self>, share: Share, spread: usize, policy: WaitPolicy, cancel: &Cancel) -> Result<SharedGuard, LockError> {
        let stripe = TableLock::stripe(spread);
        if !self.enter_now(share, stripe) {
            self.enter(share, stripe, policy, cancel.into())?;
        }
        Ok(SharedGuard { lock: Arc::clone(self), stripe, share })
    }

    /// Counts in, if nobody is in the way.
    #[inline]
    pub(crate) fn enter_now(&self, share: Share, stripe: usize) -> bool {
        self.stripes[stripe].fetch_add(share.unit(), Ordering::SeqCst);
        if self.is_open_for(share) || planted("shared_without_recheck") {
            return true;
        }
        self.leave(share, stripe);
        false
    }

    /// Counts in, waiting for who is in the way.
    #[cold]
    pub(crate) fn enter(self: &Arc<Self>, share: Share, stripe: usize, policy: WaitPolicy, asker: Asker<'_>) -> Result<(), LockError> {
        while !self.pass_own_candidate(share, stripe, asker) && !self.enter_now(share, stripe) {
            self.wait_for_gate(share, policy, asker)?;
        }
        Ok(())
    }

    /// Counts in somebody who has the table already in a way that the candidate waits for anyway: to stop it would be to wait for oneself.
    fn pass_own_candidate(&self, share: Share, stripe: usize, asker: Asker<'_>) -> bool {
        let Some(owner) = asker.owner() else { return false };
        let has = |wanted: Want| {
            let outside = owner.outside();
            outside
                .holds
                .iter()
                .any(|hold| std::ptr::eq(&raw const **hold.lock(), self) && hold.is_held() && hold.kind().blocks(wanted.kind()))
        };
        let Some(stopping) = self.slow.lock().stopping else { return false };
        if !has(stopping) {
            return false;
        }
        let slow = self.slow.lock();
        // Under the latch that the candidate is granted under. It may be another one by now, or there may be a holder.
        let passes = slow.stopping == Some(stopping)
            && !slow.held.is_some_and(|held| held.stops(share))
            && (share != Share::Write || slow.read_only == 0);
        if passes {
            self.stripes[stripe].fetch_add(share.unit(), Ordering::SeqCst);
        }
        passes
    }

    /// Whether newcomers of this kind are not stopped.
    #[inline]
    pub(crate) fn is_open_for(&self, share: Share) -> bool {
        self.gate.load(Ordering::SeqCst) & share.stop() == 0
    }

    /// Takes the table's rows alone.
    pub fn rows<'a>(self: &Arc<Self>, wait: ExclusiveWait, asker: impl Into<Asker<'a>>) -> Result<ExclusiveGuard, LockError> {
        let registered = self.acquire(Want::Rows, wait, asker.into())?;
        Ok(ExclusiveGuard { lock: Arc::clone(self), _registered: registered })
    }

    /// Makes who has the table's rows alone have all of it, until [`TableLock::downgrade`]. Waits for work in the background.
    pub fn upgrade(&self, cancel: &Cancel) -> Result<(), LockError> {
        let cell = Arc::new(WaitCell::new());
        self.change(|slow| {
            assert_eq!(slow.held, Some(Want::Rows), "only who has the rows has a claim on the rest");
            slow.stopping = Some(Want::Exclusive);
        });
        loop {
            cell.begin();
            if self.try_grant(Want::Exclusive, &cell) {
                return Ok(());
            }
            // For work in the background, which waits for nobody.
            if Asker::from(cancel).sleep(&cell, || unreachable!("nobody's wait"), || false, None) == WaitState::Killed {
                self.change(|slow| slow.stopping = None);
                return Err(LockError::Killed);
            }
        }
    }

    /// Undoes [`TableLock::upgrade`].
    pub fn downgrade(&self) {
        self.change(|slow| {
            assert_eq!(slow.held, Some(Want::Exclusive), "nothing to give back");
            slow.held = Some(Want::Rows);
        });
    }

    /// Takes the table alone.
    pub fn exclusive<'a>(self: &Arc<Self>, wait: ExclusiveWait, asker: impl Into<Asker<'a>>) -> Result<ExclusiveGuard, LockError> {
        let registered = self.acquire(Want::Exclusive, wait, asker.into())?;
        Ok(ExclusiveGuard { lock: Arc::clone(self), _registered: registered })
    }

    /// Keeps writers out, oneself included.
    pub fn read_only<'a>(self: &Arc<Self>, wait: ExclusiveWait, asker: impl Into<Asker<'a>>) -> Result<ReadOnlyGuard, LockError> {
        let registered = self.acquire(Want::ReadOnly, wait, asker.into())?;
        Ok(ReadOnlyGuard { lock: Arc::clone(self), _registered: registered })
    }

    fn acquire(self: &Arc<Self>, want: Want, wait: ExclusiveWait, asker: Asker<'_>) -> Result<Option<Registered>, LockError> {
        self.wait_alone(want, wait, asker)?;
        Ok(asker.owner().map(|owner| Registered::new(owner, self, want.kind())))
    }

    fn awaited(self: &Arc<Self>, wanted: HoldKind, candidate: bool) -> Awaited {
        Awaited::Table { lock: Arc::clone(self), wanted, candidate }
    }

    fn wait_alone(self: &Arc<Self>, want: Want, wait: ExclusiveWait, asker: Asker<'_>) -> Result<(), LockError> {
        let (cell, asker) = (Arc::new(WaitCell::new()), asker.arriving());
        self.become_candidate(want, &cell, wait.deadline, asker)?;
        self.wait_in_turns(want, &cell, wait, asker).or_else(|error| self.give_up(error))
    }

    /// The candidate's wait for those who are in its way.
    fn wait_in_turns(self: &Arc<Self>, want: Want, cell: &Arc<WaitCell>, wait: ExclusiveWait, asker: Asker<'_>) -> Result<(), LockError> {
        let mut blocking = true;
        loop {
            let turn = if blocking { wait.block } else { wait.pass };
            let turn_end = Instant::now().checked_add(turn);
            let until = match (turn_end, wait.deadline) {
                (Some(turn_end), Some(deadline)) => Some(turn_end.min(deadline)),
                (turn_end, deadline) => turn_end.or(deadline),
            };
            self.change(|slow| slow.stopping = blocking.then_some(want));
            loop {
                // Begun and announced before the look at the counts, so that nobody leaves unnoticed in between.
                cell.begin();
                if blocking && self.try_grant(want, cell) {
                    return Ok(());
                }
                match asker.sleep(cell, || self.awaited(want.kind(), true), || true, until) {
                    WaitState::Granted => continue,
                    WaitState::TimedOut => break,
                    WaitState::Victim => return Err(LockError::Deadlock),
                    _ => return Err(LockError::Killed),
                }
            }
            if wait.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(LockError::Timeout);
            }
            blocking = !blocking;
        }
    }

    /// Grants what the candidate wants if nobody is in the way; otherwise makes the candidate known to those who leave.
    fn try_grant(&self, want: Want, cell: &Arc<WaitCell>) -> bool {
        let mut woken = Vec::new();
        {
            let mut slow = self.slow.lock();
            // Under this latch: who leaves after the look finds the candidate.
            let counts = self.counts(&slow);
            let is_readable_only = counts.writers == 0 || planted("read_only_beside_writers");
            let rows_are_free = counts.readers == 0 && counts.writers == 0 && slow.read_only == 0;
            let is_free = match want {
                Want::ReadOnly | Want::NoWrites => is_readable_only,
                Want::Upgradable => true,
                Want::Rows => rows_are_free,
                Want::Exclusive => rows_are_free && counts.definition == 0,
            };
            if !is_free {
                slow.candidate = Some(Arc::clone(cell));
                return false;
            }
            slow.candidate = None;
            slow.stopping = None;
            match want {
                Want::Rows | Want::Exclusive | Want::Upgradable | Want::NoWrites => slow.held = Some(want),
                Want::ReadOnly => {
                    slow.read_only += 1;
                    // The next candidate may come: several may have it read only.
                    slow.next_candidate(&mut woken);
                }
            }
            self.open_for(&mut slow, &mut woken);
        }
        woken.into_iter().for_each(|cell| cell.wake());
        true
    }

    fn counts(&self, slow: &Slow) -> Counts {
        let mut counts = Counts::default();
        counts.writers += slow.announcers.iter().filter(|hold| hold.upgrade().is_some_and(|hold| hold.is_held())).count() as u64;
        for stripe in &self.stripes {
            let packed = stripe.load(Ordering::SeqCst);
            counts.readers += packed & COUNT_MASK;
            counts.writers += packed >> COUNT_BITS & COUNT_MASK;
            counts.definition += packed >> (2 * COUNT_BITS);
        }
        counts
    }

    /// How many share it; for status.
    pub fn shared_count(&self) -> u32 {
        let counts = self.counts(&self.slow.lock());
        (counts.readers + counts.writers + counts.definition) as u32
    }

    /// Whether somebody has it alone; for status.
    pub fn is_exclusive(&self) -> bool {
        matches!(self.slow.lock().held, Some(Want::Rows | Want::Exclusive))
    }

    /// How many have it read only; for status.
    pub fn read_only_count(&self) -> u32 {
        self.slow.lock().read_only
    }

    /// Counts out.
    #[inline]
    pub(crate) fn leave(&self, share: Share, stripe: usize) {
        self.stripes[stripe].fetch_sub(share.unit(), Ordering::SeqCst);
        self.tell();
    }

    /// After leaving: tells a candidate that waits.
    #[inline]
    pub(crate) fn tell(&self) {
        if self.gate.load(Ordering::SeqCst) & TELL != 0 {
            self.tell_candidate();
        }
    }

    #[cold]
    fn tell_candidate(&self) {
        let candidate = self.slow.lock().candidate.take();
        if let Some(cell) = candidate
            && cell.end(WaitState::Granted)
        {
            cell.wake();
        }
    }

    #[cold]
    pub(crate) fn wait_for_gate(self: &Arc<Self>, share: Share, policy: WaitPolicy, asker: Asker<'_>) -> Result<(), LockError> {
        let WaitPolicy::Wait(deadline) = policy else { return Err(LockError::WouldBlock) };
        let cell = Arc::new(WaitCell::new());
        {
            let mut slow = self.slow.lock();
            if slow.gate() & share.stop() == 0 {
                return Ok(());
            }
            cell.begin();
            slow.newcomers.push((share, Arc::clone(&cell)));
        }
        let state = asker.sleep(&cell, || self.awaited(HoldKind::Share(share), false), || self.is_held_against(share), deadline);
        if state == WaitState::Granted {
            return Ok(());
        }
        self.slow.lock().newcomers.retain(|(_, other)| !Arc::ptr_eq(other, &cell));
        Err(failure(state))
    }

    /// Whether somebody has what stands in a newcomer's way, not only waits for it. Otherwise it ends by itself; and when who waits is granted
    /// and waits for something else later, that one looks for a circle.
    fn is_held_against(&self, share: Share) -> bool {
        let slow = self.slow.lock();
        slow.held.is_some_and(|held| held.stops(share)) || (share == Share::Write && slow.read_only > 0)
    }

    /// Waits for the turn among those who want more than a share.
    fn become_candidate(
        self: &Arc<Self>,
        want: Want,
        cell: &Arc<WaitCell>,
        deadline: Option<Instant>,
        asker: Asker<'_>,
    ) -> Result<(), LockError> {
        {
            let mut slow = self.slow.lock();
            if !slow.taken {
                slow.taken = true;
                return Ok(());
            }
            cell.begin();
            slow.queue.push_back(Arc::clone(cell));
        }
        let state = asker.sleep(cell, || self.awaited(want.kind(), false), || true, deadline);
        if state == WaitState::Granted {
            return Ok(());
        }
        self.slow.lock().queue.retain(|other| !Arc::ptr_eq(other, cell));
        Err(failure(state))
    }

    /// Changes the state, sets the gate by it, and lets those pass whom it stops no more.
    fn change(&self, change: impl FnOnce(&mut Slow)) {
        let mut woken = Vec::new();
        {
            let mut slow = self.slow.lock();
            slow.candidate = None;
            change(&mut slow);
            self.open_for(&mut slow, &mut woken);
        }
        woken.into_iter().for_each(|cell: Arc<WaitCell>| cell.wake());
    }

    fn open_for(&self, slow: &mut Slow, woken: &mut Vec<Arc<WaitCell>>) {
        let gate = slow.gate();
        self.gate.store(gate, Ordering::SeqCst);
        slow.newcomers.retain(|(share, cell)| {
            if gate & share.stop() != 0 {
                return true;
            }
            if cell.end(WaitState::Granted) {
                woken.push(Arc::clone(cell));
            }
            false
        });
    }

    /// Ends being the candidate or the exclusive holder: the next in the queue becomes candidate.
    fn hand_on(&self, change: impl FnOnce(&mut Slow)) {
        let mut woken = Vec::new();
        {
            let mut slow = self.slow.lock();
            slow.candidate = None;
            slow.stopping = None;
            change(&mut slow);
            slow.next_candidate(&mut woken);
            self.open_for(&mut slow, &mut woken);
        }
        woken.into_iter().for_each(|cell| cell.wake());
    }

    fn give_up(&self, error: LockError) -> Result<(), LockError> {
        self.hand_on(|_| {});
        Err(error)
    }

    fn end_read_only(&self) {
        let mut woken = Vec::new();
        {
            let mut slow = self.slow.lock();
            slow.read_only -= 1;
            if let Some(cell) = slow.candidate.take()
                && cell.end(WaitState::Granted)
            {
                woken.push(cell);
            }
            self.open_for(&mut slow, &mut woken);
        }
        woken.into_iter().for_each(|cell| cell.wake());
    }
}

impl Default for TableLock {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for TableLock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TableLock(shared {}, exclusive {})", self.shared_count(), self.is_exclusive())
    }
}

/// A shared metadata lock in nobody's name; given back when dropped. Sessions have [`crate::shares::SharedTables`].
#[derive(Debug)]
pub struct SharedGuard {
    lock: Arc<TableLock>,
    stripe: usize,
    share: Share,
}

impl Drop for SharedGuard {
    #[inline]
    fn drop(&mut self) {
        self.lock.leave(self.share, self.stripe);
    }
}

/// An exclusive metadata lock; given back when dropped.
#[derive(Debug)]
pub struct ExclusiveGuard {
    lock: Arc<TableLock>,
    _registered: Option<Registered>,
}

impl ExclusiveGuard {
    /// The lock it holds.
    pub fn lock(&self) -> &Arc<TableLock> {
        &self.lock
    }

    /// Lets others use the table for a while, which nobody else can have alone meanwhile. Only for who has all of it, until [`LoweredGuard::raise`]; when that fails, or never
    /// comes, the table is not this guard's alone any more, and all that is left is to drop it.
    pub fn lower<'a>(&self, to: Lowered, asker: impl Into<Asker<'a>>) -> LoweredGuard<'_> {
        let want = match to {
            Lowered::BesideWriters => Want::Upgradable,
            Lowered::BesideReaders => Want::NoWrites,
        };
        // Noted first: who waits for the table from here on finds who has it.
        let asker: Asker<'_> = asker.into();
        let registered = asker.owner().map(|owner| Registered::new(owner, &self.lock, want.kind()));
        if let Some(exclusive) = &self._registered {
            exclusive.set_held(false);
        }
        self.lock.change(|slow| {
            assert_eq!(slow.held, Some(Want::Exclusive), "only who has all of it can have less");
            slow.held = Some(want);
        });
        LoweredGuard { guard: self, _registered: registered }
    }
}

/// What an exclusive lock goes down to, see [`ExclusiveGuard::lower`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lowered {
    /// Others read and write.
    BesideWriters,
    /// Others read.
    BesideReaders,
}

/// An exclusive lock that was lowered.
#[derive(Debug)]
pub struct LoweredGuard<'g> {
    guard: &'g ExclusiveGuard,
    _registered: Option<Registered>,
}

impl LoweredGuard<'_> {
    /// Makes the lock exclusive again, and then this is to be dropped. Waits for those who use the table, as [`TableLock::exclusive`] does; when that fails all is as before, and
    /// it may be tried again.
    pub fn raise<'a>(&self, wait: ExclusiveWait, asker: impl Into<Asker<'a>>) -> Result<(), LockError> {
        let lock = &self.guard.lock;
        let raised = lock.wait_in_turns(Want::Exclusive, &Arc::new(WaitCell::new()), wait, asker.into().arriving());
        if raised.is_err() {
            lock.change(|slow| slow.stopping = None);
        } else if let Some(exclusive) = &self.guard._registered {
            exclusive.set_held(true);
        }
        raised
    }
}

impl Drop for ExclusiveGuard {
    fn drop(&mut self) {
        self.lock.hand_on(|slow| slow.held = None);
    }
}

/// A metadata lock that keeps writers out; given back when dropped.
#[derive(Debug)]
pub struct ReadOnlyGuard {
    lock: Arc<TableLock>,
    _registered: Option<Registered>,
}

impl ReadOnlyGuard {
    /// The lock it holds.
    pub fn lock(&self) -> &Arc<TableLock> {
        &self.lock
    }
}

impl Drop for ReadOnlyGuard {
    fn drop(&mut self) {
        self.lock.end_read_only();
    }
}
