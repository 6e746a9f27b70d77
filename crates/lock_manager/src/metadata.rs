//! Metadata locks: statements share a table's definition, DDL needs it alone.
//!
//! A reader counts itself into one of a few striped counters, each on its own cache line, and looks at the gate: two operations when no
//! DDL is near, and no line that all readers write. DDL closes the gate, then waits until all counters are zero.
//!
//! A waiting DDL must not stop those who come after it for long (one idle transaction would stop the whole table): it closes the gate for
//! [`ExclusiveWait::block`] only, then lets newcomers pass for [`ExclusiveWait::pass`], and so on in turns until its deadline.

use crate::cancel::{Cancel, WaitCell, WaitState, WaitsFor};
use crate::manager::{LockError, WaitPolicy};
use crate::platform::atomic::{AtomicU32, Ordering};
use crate::platform::latch::{Mutex, Rank};
use crate::platform::{Arc, CachePadded, planted};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

const STRIPES: usize = 8;

/// Nobody holds or wants the lock exclusively.
const OPEN: u32 = 0;
/// Somebody waits for it exclusively; newcomers pass.
const POLITE: u32 = 1;
/// Somebody waits for it exclusively; newcomers wait.
const BLOCKING: u32 = 2;
/// Somebody has it exclusively.
const HELD: u32 = 3;

/// The metadata lock of one table. About 1 KiB; exists for tables that are open.
pub struct TableLock {
    /// Changed under `slow`. SeqCst against the stripes: a reader counts itself, then looks here; DDL writes here, then looks at the counts.
    gate: CachePadded<AtomicU32>,
    /// How many hold it shared, by stripe. A guard leaves by the stripe it came in.
    stripes: [CachePadded<AtomicU32>; STRIPES],
    slow: Mutex<Slow>,
}

#[derive(Default)]
struct Slow {
    /// Newcomers stopped by the gate.
    newcomers: Vec<Arc<WaitCell>>,
    /// The one whose turn it is, while it waits behind the shut gate for the readers to leave.
    candidate: Option<Arc<WaitCell>>,
    /// Those who want it exclusively after that one.
    queue: VecDeque<Arc<WaitCell>>,
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
            gate: CachePadded::new(AtomicU32::new(OPEN)),
            stripes: std::array::from_fn(|_| CachePadded::new(AtomicU32::new(0))),
            slow: Mutex::new(Rank::Leaf, Slow::default()),
        }
    }

    /// Shares the table. `spread` tells sessions apart, so that they count on different lines. With [`WaitPolicy::Wait`] it waits only
    /// for DDL at work, or for a short turn of DDL that waits.
    #[inline]
    pub fn shared(self: &Arc<Self>, spread: usize, policy: WaitPolicy, cancel: &Cancel) -> Result<SharedGuard, LockError> {
        let stripe = spread % STRIPES;
        self.enter(stripe, policy, cancel)?;
        Ok(SharedGuard { lock: Arc::clone(self), stripe, held: true })
    }

    /// Counts in.
    #[inline]
    fn enter(&self, stripe: usize, policy: WaitPolicy, cancel: &Cancel) -> Result<(), LockError> {
        loop {
            self.stripes[stripe].fetch_add(1, Ordering::SeqCst);
            if self.gate.load(Ordering::SeqCst) <= POLITE || planted("shared_without_recheck") {
                return Ok(());
            }
            self.leave(stripe);
            self.wait_for_gate(policy, cancel)?;
        }
    }

    /// Takes the table alone.
    pub fn exclusive(self: &Arc<Self>, wait: ExclusiveWait, cancel: &Cancel) -> Result<ExclusiveGuard, LockError> {
        let cell = Arc::new(WaitCell::new());
        self.become_candidate(&cell, wait.deadline, cancel)?;
        // From here on this thread is the only one that changes the gate.
        let mut blocking = true;
        loop {
            let turn = if blocking { wait.block } else { wait.pass };
            let turn_end = Instant::now().checked_add(turn);
            let until = match (turn_end, wait.deadline) {
                (Some(turn_end), Some(deadline)) => Some(turn_end.min(deadline)),
                (turn_end, deadline) => turn_end.or(deadline),
            };
            self.set_gate(if blocking { BLOCKING } else { POLITE });
            loop {
                // Begun and announced before the look at the counts, so that no reader leaves unnoticed in between.
                cell.begin();
                if blocking {
                    self.slow.lock().candidate = Some(Arc::clone(&cell));
                    if self.shared_count() == 0 {
                        self.set_gate(HELD);
                        return Ok(ExclusiveGuard { lock: Arc::clone(self) });
                    }
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

    /// How many hold it shared; for status.
    pub fn shared_count(&self) -> u32 {
        self.stripes.iter().map(|stripe| stripe.load(Ordering::SeqCst)).sum()
    }

    /// Whether somebody has it alone; for status.
    pub fn is_exclusive(&self) -> bool {
        self.gate.load(Ordering::SeqCst) == HELD
    }

    /// Counts out, and tells DDL that waits.
    #[inline]
    fn leave(&self, stripe: usize) {
        self.stripes[stripe].fetch_sub(1, Ordering::SeqCst);
        if self.gate.load(Ordering::SeqCst) == BLOCKING {
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
    fn wait_for_gate(&self, policy: WaitPolicy, cancel: &Cancel) -> Result<(), LockError> {
        let WaitPolicy::Wait(deadline) = policy else { return Err(LockError::WouldBlock) };
        let cell = Arc::new(WaitCell::new());
        {
            let mut slow = self.slow.lock();
            if self.gate.load(Ordering::SeqCst) <= POLITE {
                return Ok(());
            }
            cell.begin();
            slow.newcomers.push(Arc::clone(&cell));
        }
        let state = cancel.sleep(&cell, WaitsFor::MetadataLock, deadline);
        if state == WaitState::Granted {
            return Ok(());
        }
        self.slow.lock().newcomers.retain(|other| !Arc::ptr_eq(other, &cell));
        Err(if state == WaitState::Killed { LockError::Killed } else { LockError::Timeout })
    }

    /// Waits for the turn among those who want the lock exclusively. Then the gate is not `OPEN`.
    fn become_candidate(&self, cell: &Arc<WaitCell>, deadline: Option<Instant>, cancel: &Cancel) -> Result<(), LockError> {
        {
            let mut slow = self.slow.lock();
            if self.gate.load(Ordering::SeqCst) == OPEN {
                self.gate.store(POLITE, Ordering::SeqCst);
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

    /// Changes the gate and lets newcomers go on when it lets them pass.
    fn set_gate(&self, gate: u32) {
        let passing = {
            let mut slow = self.slow.lock();
            slow.candidate = None;
            self.gate.store(gate, Ordering::SeqCst);
            if gate <= POLITE { std::mem::take(&mut slow.newcomers) } else { Vec::new() }
        };
        wake_all(passing);
    }

    /// Ends being the candidate or the holder: the next in the queue becomes candidate.
    fn hand_on(&self) {
        let mut woken = {
            let mut slow = self.slow.lock();
            slow.candidate = None;
            let mut woken = Vec::new();
            while let Some(next) = slow.queue.pop_front() {
                if next.end(WaitState::Granted) {
                    woken.push(next);
                    break;
                }
            }
            self.gate.store(if woken.is_empty() { OPEN } else { POLITE }, Ordering::SeqCst);
            for cell in std::mem::take(&mut slow.newcomers) {
                if cell.end(WaitState::Granted) {
                    woken.push(cell);
                }
            }
            woken
        };
        woken.drain(..).for_each(|cell| cell.wake());
    }

    fn give_up(&self, error: LockError) -> Result<ExclusiveGuard, LockError> {
        self.hand_on();
        Err(error)
    }
}

fn wake_all(cells: Vec<Arc<WaitCell>>) {
    for cell in cells {
        if cell.end(WaitState::Granted) {
            cell.wake();
        }
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
    held: bool,
}

impl SharedGuard {
    /// The lock it holds.
    pub fn lock(&self) -> &Arc<TableLock> {
        &self.lock
    }

    /// Whether it holds the lock, not only remembers it.
    pub fn is_held(&self) -> bool {
        self.held
    }

    /// Gives the lock back and keeps the guard.
    #[inline]
    pub fn release(&mut self) {
        if std::mem::take(&mut self.held) {
            self.lock.leave(self.stripe);
        }
    }

    /// Shares the table again, like [`TableLock::shared`].
    #[inline]
    pub fn share_again(&mut self, policy: WaitPolicy, cancel: &Cancel) -> Result<(), LockError> {
        if !self.held {
            self.lock.enter(self.stripe, policy, cancel)?;
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
        self.lock.hand_on();
    }
}
