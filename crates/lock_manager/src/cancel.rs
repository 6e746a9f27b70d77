//! The word a waiter sleeps on, and how KILL reaches it.

use crate::platform::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::platform::latch::{Mutex, Rank};
use crate::platform::{Arc, futex};
use std::sync::OnceLock;
use std::time::Instant;

/// How a wait stands. Leaves `Waiting` once, by compare-and-swap, so exactly one of those who end it wins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum WaitState {
    /// Nobody waits.
    Idle = 0,
    /// The wait goes on.
    Waiting = 1,
    /// The waiter got what it waited for.
    Granted = 2,
    /// The waiter is a deadlock's victim.
    Victim = 3,
    /// The waiter's statement was cancelled.
    Killed = 4,
    /// The waiter's time was over.
    TimedOut = 5,
}

/// A waiter's own futex word.
#[derive(Debug)]
pub struct WaitCell {
    /// A [`WaitState`]. Release on the change, acquire by the waiter: what the granter did is visible to the granted.
    word: AtomicU32,
}

impl Default for WaitCell {
    fn default() -> Self {
        Self::new()
    }
}

impl WaitCell {
    /// Nobody waits on it.
    pub fn new() -> WaitCell {
        WaitCell { word: AtomicU32::new(WaitState::Idle as u32) }
    }

    /// Starts a wait. Only the waiter calls it, before it can be found in a queue.
    pub fn begin(&self) {
        // Sequentially consistent, as the look at others' cells that follows (`is_waiting`): of two who begin to wait for each other at
        // least one sees the other wait.
        self.word.store(WaitState::Waiting as u32, Ordering::SeqCst);
    }

    /// Whether the wait has begun and not ended; see [`Self::begin`].
    pub(crate) fn is_waiting(&self) -> bool {
        self.word.load(Ordering::SeqCst) == WaitState::Waiting as u32
    }

    /// Ends the wait; `false` when it has ended otherwise. The caller wakes the waiter when it can.
    pub fn end(&self, state: WaitState) -> bool {
        let waiting = WaitState::Waiting as u32;
        self.word.compare_exchange(waiting, state as u32, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// How the wait stands.
    pub fn state(&self) -> WaitState {
        match self.word.load(Ordering::Acquire) {
            0 => WaitState::Idle,
            1 => WaitState::Waiting,
            2 => WaitState::Granted,
            3 => WaitState::Victim,
            4 => WaitState::Killed,
            5 => WaitState::TimedOut,
            other => unreachable!("wait word {other}"),
        }
    }

    /// Wakes the waiter after its wait was ended.
    pub fn wake(&self) {
        futex::wake(&self.word, 1);
    }

    /// Sleeps until the wait has ended, by itself at the deadline.
    pub(crate) fn sleep(&self, deadline: Option<Instant>) -> WaitState {
        loop {
            let state = self.state();
            if state != WaitState::Waiting {
                return state;
            }
            let woken = futex::wait(&self.word, WaitState::Waiting as u32, deadline);
            if woken == futex::Woken::TimedOut && self.end(WaitState::TimedOut) {
                return WaitState::TimedOut;
            }
        }
    }
}

/// What a statement sleeps for; the process list tells it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitsFor {
    /// A row lock.
    RowLock,
    /// A table's metadata lock.
    MetadataLock,
    /// The lock on all changes, before a statement changes something.
    GlobalReadLock,
    /// The same, before a transaction commits.
    CommitLock,
    /// The lock on all definitions.
    BackupLock,
    /// A lock with a name, as GET_LOCK takes it.
    UserLock,
    /// Nothing but time.
    Time,
    /// A slot to work in (crate `admission`).
    Admission,
}

impl WaitsFor {
    /// Whether it is what a statement needs of others before it may read or write, and not what it asked for itself.
    const fn is_lock(self) -> bool {
        !matches!(self, WaitsFor::UserLock | WaitsFor::Time | WaitsFor::Admission)
    }
}

/// Told around each wait but those for admission, on the thread that waits and with no latch held. Set once per session.
pub trait WaitObserver: Send + Sync {
    /// The statement is about to sleep.
    fn wait_begins(&self);
    /// It sleeps no more.
    fn wait_ends(&self);
}

/// A statement's cancellation: set by KILL, by a time limit or by a client that has gone; looked at by long loops, and it ends waits.
pub struct Cancel {
    /// 0, or the reason. Relaxed would do for loops that poll; acquire and release order it with `target`.
    reason: AtomicU32,
    /// Where the statement's thread sleeps now.
    target: Mutex<Option<(Arc<WaitCell>, WaitsFor)>>,
    observer: OnceLock<std::sync::Arc<dyn WaitObserver>>,
    /// What waits for locks have taken so far. Relaxed: the thread that waits is the one that asks.
    lock_micros: AtomicU64,
}

impl Cancel {
    /// Not cancelled.
    pub fn new() -> Cancel {
        let target = Mutex::new(Rank::Leaf, None);
        Cancel { reason: AtomicU32::new(0), target, observer: OnceLock::new(), lock_micros: AtomicU64::new(0) }
    }

    /// Microseconds that the session's thread has waited for locks of rows, tables and the server: never less than before.
    pub fn lock_micros(&self) -> u64 {
        self.lock_micros.load(Ordering::Relaxed)
    }

    /// Sets who is told of waits; a second one is ignored.
    pub fn observe(&self, observer: std::sync::Arc<dyn WaitObserver>) {
        let _ = self.observer.set(observer);
    }

    /// Cancels, and wakes the thread when it waits. `reason` is the caller's and not 0; the first one stays.
    pub fn cancel(&self, reason: u32) {
        assert!(reason != 0, "0 means not cancelled");
        let _ = self.reason.compare_exchange(0, reason, Ordering::AcqRel, Ordering::Acquire);
        // The waiter attaches, then looks at the reason; we set the reason, then look whether it is attached; the mutex orders both.
        if let Some((cell, _)) = &*self.target.lock()
            && cell.end(WaitState::Killed)
        {
            cell.wake();
        }
    }

    /// The reason, when cancelled. One load.
    #[inline]
    pub fn reason(&self) -> Option<u32> {
        match self.reason.load(Ordering::Acquire) {
            0 => None,
            reason => Some(reason),
        }
    }

    /// Whether it was cancelled, or holds more memory than it may (asked on the statement's own thread). One load each.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.reason().is_some() || memory::excess() != memory::Excess::None
    }

    /// What the statement's thread sleeps for at this moment. Somebody whose wait has been ended no longer waits, even before it runs again.
    pub fn waits_for(&self) -> Option<WaitsFor> {
        match &*self.target.lock() {
            Some((cell, what)) if cell.state() == WaitState::Waiting => Some(*what),
            _ => None,
        }
    }

    /// Makes it fit for the next statement.
    pub fn reset(&self) {
        self.reason.store(0, Ordering::Release);
    }

    /// Sleeps until `deadline` (for ever without one) or until cancelled; `true` when cancelled. For statements that wait for nothing but time.
    pub fn sleep_until(&self, deadline: Option<Instant>) -> bool {
        let cell = Arc::new(WaitCell::new());
        cell.begin();
        self.sleep(&cell, WaitsFor::Time, deadline) == WaitState::Killed
    }

    /// Sleeps on `cell`, which has begun its wait, reachable for [`Self::cancel`].
    pub fn sleep(&self, cell: &Arc<WaitCell>, what: WaitsFor, deadline: Option<Instant>) -> WaitState {
        let observer = self.observer.get().filter(|_| what != WaitsFor::Admission);
        *self.target.lock() = Some((Arc::clone(cell), what));
        if self.is_cancelled() {
            cell.end(WaitState::Killed);
        }
        if let Some(observer) = observer {
            observer.wait_begins();
        }
        if cell.state() == WaitState::Waiting {
            sync::blocking::begins();
        }
        let began = what.is_lock().then(Instant::now);
        let state = cell.sleep(deadline);
        if let Some(began) = began {
            self.lock_micros.fetch_add(began.elapsed().as_micros() as u64, Ordering::Relaxed);
        }
        if let Some(observer) = observer {
            observer.wait_ends();
        }
        *self.target.lock() = None;
        state
    }
}

impl Default for Cancel {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Cancel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cancel({:?})", self.reason())
    }
}
