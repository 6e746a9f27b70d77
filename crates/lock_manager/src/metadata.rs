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
//!
//! A candidate must not stop those who come after it for long (one idle transaction would stop the whole table): it shuts the gate for
//! [`ExclusiveWait::block`] only, then lets newcomers pass for [`ExclusiveWait::pass`], and so on in turns until its deadline.

use crate::cancel::{Cancel, WaitCell, WaitState, WaitsFor};
use crate::manager::{LockError, WaitPolicy};
use crate::platform::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::platform::latch::{Mutex, Rank};
use crate::platform::{Arc, CachePadded, planted};
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
}

/// How many share a table.
#[derive(Clone, Copy, Default)]
struct Counts {
    readers: u64,
    writers: u64,
    definition: u64,
}

/// The metadata lock of one table. About 1 KiB; exists for tables that are open.
pub struct TableLock {
    /// Changed under `slow`, and tells what that says. SeqCst against the stripes: a statement counts itself, then looks here; a candidate
    /// writes here, then looks at the counts.
    gate: CachePadded<AtomicU32>,
    /// How many share it, by stripe. A guard leaves by the stripe it came in.
    stripes: [CachePadded<AtomicU64>; STRIPES],
    slow: Mutex<Slow>,
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
}

impl Slow {
    fn gate(&self) -> u32 {
        let is = |want: Want| self.held == Some(want) || self.stopping == Some(want);
        let all = is(Want::Exclusive);
        let readers = all || is(Want::Rows);
        let writers = readers || is(Want::ReadOnly) || self.read_only > 0;
        let bit = |on: bool, bit: u32| if on { bit } else { 0 };
        bit(readers, STOP_READERS) | bit(writers, STOP_WRITERS) | bit(all, STOP_ALL) | bit(self.stopping.is_some(), TELL)
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
        }
    }

    /// Shares the table for reading, see [`TableLock::share`].
    #[inline]
    pub fn shared(self: &Arc<Self>, spread: usize, policy: WaitPolicy, cancel: &Cancel) -> Result<SharedGuard, LockError> {
        self.share(Share::Read, spread, policy, cancel)
    }

    /// Shares the table. `spread` tells sessions apart, so that they count on different lines. With [`WaitPolicy::Wait`] it waits only
    /// for who has more rights, or for a short turn of who waits for them.
    #[inline]
    pub fn share(self: &Arc<Self>, share: Share, spread: usize, policy: WaitPolicy, cancel: &Cancel) -> Result<SharedGuard, LockError> {
        let stripe = spread % STRIPES;
        self.enter(share, stripe, policy, cancel)?;
        Ok(SharedGuard { lock: Arc::clone(self), stripe, share, held: true })
    }

    /// Counts in.
    #[inline]
    fn enter(&self, share: Share, stripe: usize, policy: WaitPolicy, cancel: &Cancel) -> Result<(), LockError> {
        loop {
            self.stripes[stripe].fetch_add(share.unit(), Ordering::SeqCst);
            if self.gate.load(Ordering::SeqCst) & share.stop() == 0 || planted("shared_without_recheck") {
                return Ok(());
            }
            self.leave(share, stripe);
            self.wait_for_gate(share, policy, cancel)?;
        }
    }

    /// Takes the table's rows alone.
    pub fn rows(self: &Arc<Self>, wait: ExclusiveWait, cancel: &Cancel) -> Result<ExclusiveGuard, LockError> {
        self.acquire(Want::Rows, wait, cancel)?;
        Ok(ExclusiveGuard { lock: Arc::clone(self) })
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
            if self.announce(Want::Exclusive, &cell) {
                self.granted(Want::Exclusive);
                return Ok(());
            }
            if cancel.sleep(&cell, WaitsFor::MetadataLock, None) == WaitState::Killed {
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
    pub fn exclusive(self: &Arc<Self>, wait: ExclusiveWait, cancel: &Cancel) -> Result<ExclusiveGuard, LockError> {
        self.acquire(Want::Exclusive, wait, cancel)?;
        Ok(ExclusiveGuard { lock: Arc::clone(self) })
    }

    /// Keeps writers out, oneself included.
    pub fn read_only(self: &Arc<Self>, wait: ExclusiveWait, cancel: &Cancel) -> Result<ReadOnlyGuard, LockError> {
        self.acquire(Want::ReadOnly, wait, cancel)?;
        Ok(ReadOnlyGuard { lock: Arc::clone(self) })
    }

    fn acquire(&self, want: Want, wait: ExclusiveWait, cancel: &Cancel) -> Result<(), LockError> {
        let cell = Arc::new(WaitCell::new());
        self.become_candidate(&cell, wait.deadline, cancel)?;
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
                if blocking && self.announce(want, &cell) {
                    self.granted(want);
                    return Ok(());
                }
                match cancel.sleep(&cell, WaitsFor::MetadataLock, until) {
                    WaitState::Granted => continue,
                    WaitState::TimedOut => break,
                    _ => return self.give_up(LockError::Killed),
                }
            }
            if wait.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return self.give_up(LockError::Timeout);
            }
            blocking = !blocking;
        }
    }

    /// Makes the candidate known to those who leave; whether there is nobody left to wait for.
    fn announce(&self, want: Want, cell: &Arc<WaitCell>) -> bool {
        let mut slow = self.slow.lock();
        slow.candidate = Some(Arc::clone(cell));
        let counts = self.counts();
        let is_readable_only = counts.writers == 0 || planted("read_only_beside_writers");
        let rows_are_free = counts.readers == 0 && counts.writers == 0 && slow.read_only == 0;
        match want {
            Want::ReadOnly => is_readable_only,
            Want::Rows => rows_are_free,
            Want::Exclusive => rows_are_free && counts.definition == 0,
        }
    }

    fn granted(&self, want: Want) {
        match want {
            Want::Rows | Want::Exclusive => self.change(|slow| {
                slow.stopping = None;
                slow.held = Some(want);
            }),
            // The next candidate may come: several may have it read only.
            Want::ReadOnly => self.hand_on(|slow| slow.read_only += 1),
        }
    }

    fn counts(&self) -> Counts {
        let mut counts = Counts::default();
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
        let counts = self.counts();
        (counts.readers + counts.writers + counts.definition) as u32
    }

    /// Whether somebody has it alone; for status.
    pub fn is_exclusive(&self) -> bool {
        self.slow.lock().held.is_some()
    }

    /// How many have it read only; for status.
    pub fn read_only_count(&self) -> u32 {
        self.slow.lock().read_only
    }

    /// Counts out, and tells a candidate that waits.
    #[inline]
    fn leave(&self, share: Share, stripe: usize) {
        self.stripes[stripe].fetch_sub(share.unit(), Ordering::SeqCst);
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
    fn wait_for_gate(&self, share: Share, policy: WaitPolicy, cancel: &Cancel) -> Result<(), LockError> {
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
        let state = cancel.sleep(&cell, WaitsFor::MetadataLock, deadline);
        if state == WaitState::Granted {
            return Ok(());
        }
        self.slow.lock().newcomers.retain(|(_, other)| !Arc::ptr_eq(other, &cell));
        Err(if state == WaitState::Killed { LockError::Killed } else { LockError::Timeout })
    }

    /// Waits for the turn among those who want more than a share.
    fn become_candidate(&self, cell: &Arc<WaitCell>, deadline: Option<Instant>, cancel: &Cancel) -> Result<(), LockError> {
        {
            let mut slow = self.slow.lock();
            if !slow.taken {
                slow.taken = true;
                return Ok(());
            }
            cell.begin();
            slow.queue.push_back(Arc::clone(cell));
        }
        let state = cancel.sleep(cell, WaitsFor::MetadataLock, deadline);
        if state == WaitState::Granted {
            return Ok(());
        }
        self.slow.lock().queue.retain(|other| !Arc::ptr_eq(other, cell));
        Err(if state == WaitState::Killed { LockError::Killed } else { LockError::Timeout })
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
            slow.taken = false;
            while let Some(next) = slow.queue.pop_front() {
                if next.end(WaitState::Granted) {
                    slow.taken = true;
                    woken.push(next);
                    break;
                }
            }
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

/// A shared metadata lock; given back when dropped or [`SharedGuard::release`]d, which a transaction does at its end. A session keeps released
/// guards and takes them again, so that it does not write the lock's reference count for each statement.
#[derive(Debug)]
pub struct SharedGuard {
    lock: Arc<TableLock>,
    stripe: usize,
    share: Share,
    held: bool,
}

impl SharedGuard {
    /// The lock it holds.
    pub fn lock(&self) -> &Arc<TableLock> {
        &self.lock
    }

    /// Whether it serves for `share`, when it is taken again or as it is held.
    #[inline]
    pub fn suits(&self, share: Share) -> bool {
        self.share == share || (self.held && self.share == Share::Write && share == Share::Read)
    }

    /// Whether it holds the lock, not only remembers it.
    pub fn is_held(&self) -> bool {
        self.held
    }

    /// Gives the lock back and keeps the guard.
    #[inline]
    pub fn release(&mut self) {
        if std::mem::take(&mut self.held) {
            self.lock.leave(self.share, self.stripe);
        }
    }

    /// Shares the table again, like [`TableLock::shared`].
    #[inline]
    pub fn share_again(&mut self, policy: WaitPolicy, cancel: &Cancel) -> Result<(), LockError> {
        if !self.held {
            self.lock.enter(self.share, self.stripe, policy, cancel)?;
            self.held = true;
        }
        Ok(())
    }
}

impl Drop for SharedGuard {
    fn drop(&mut self) {
        self.release();
    }
}

/// An exclusive metadata lock; given back when dropped.
#[derive(Debug)]
pub struct ExclusiveGuard {
    lock: Arc<TableLock>,
}

impl ExclusiveGuard {
    /// The lock it holds.
    pub fn lock(&self) -> &Arc<TableLock> {
        &self.lock
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
