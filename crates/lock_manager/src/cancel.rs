//! The word a waiter sleeps on, or is told by, and how KILL reaches it.
//!
//! A waiter's thread may do something else meanwhile ([`WaitPolicy::Leave`](crate::WaitPolicy::Leave)): whoever ends such a wait tells it ([`WaitOver`]) where it would wake one that sleeps.

use crate::platform::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use crate::platform::latch::{Mutex, Rank};
use crate::platform::{Arc, futex, planted};
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

/// Is told of waits that nobody sleeps for ([`Owner::tell`](crate::Owner::tell)).
pub trait WaitOver: Send + Sync {
    /// The wait is over, or an earlier one was: it may be told late, when the next one has begun. Called by whoever has ended it, with no latch held but such as come before leaves.
    fn wait_is_over(&self);
}

/// A waiter's own futex word.
pub struct WaitCell {
    /// A [`WaitState`]. Release on the change, acquire by the waiter: what the granter did is visible to the granted.
    word: AtomicU32,
    /// Nobody sleeps on the word: who ends the wait tells `told`. Relaxed: written by the waiter before the wait begins, which who ends it has seen.
    left: AtomicBool,
    told: OnceLock<std::sync::Arc<dyn WaitOver>>,
}

impl std::fmt::Debug for WaitCell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WaitCell({:?})", self.state())
    }
}

impl Default for WaitCell {
    fn default() -> Self {
        Self::new()
    }
}

impl WaitCell {
    /// Nobody waits on it.
    pub fn new() -> WaitCell {
        WaitCell { word: AtomicU32::new(WaitState::Idle as u32), left: AtomicBool::new(false), told: OnceLock::new() }
    }

    /// Sets who is told when a wait is over that nobody sleeps for, before the first such wait. The first one stays: `false` where that is another.
    pub(crate) fn tell(&self, told: &std::sync::Arc<dyn WaitOver>) -> bool {
        std::sync::Arc::ptr_eq(self.told.get_or_init(|| std::sync::Arc::clone(told)), told)
    }

    /// Starts a wait. Only the waiter calls it, before it can be found in a queue.
    pub fn begin(&self) {
        self.start(false);
    }

    /// Starts a wait that nobody sleeps for. Likewise.
    pub(crate) fn begin_left(&self) {
        debug_assert!(self.told.get().is_some());
        self.start(true);
    }

    fn start(&self, left: bool) {
        self.left.store(left, Ordering::Relaxed);
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

    /// Wakes the waiter after its wait was ended, or tells that it was. With no latch held but such as come before leaves.
    pub fn wake(&self) {
        // The waiter may have seen the end already and begun its next wait, of the other kind: then that one is woken, or told of, in vain.
        if !self.left.load(Ordering::Relaxed) || planted("left_not_told") {
            futex::wake(&self.word, 1);
        } else if let Some(told) = self.told.get() {
            told.wait_is_over();
        }
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

/// Told around each wait but those for admission, on the statement's thread (which may be another one when the wait is over) and with no latch held. Set once per session.
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
        let ended = match &*self.target.lock() {
            Some((cell, _)) if cell.end(WaitState::Killed) => Some(Arc::clone(cell)),
            _ => None,
        };
        // Who is told takes latches of its own.
        if let Some(cell) = ended {
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
        self.wait_begins(cell, what);
        if cell.state() == WaitState::Waiting {
            sync::blocking::begins();
        }
        let began = what.is_lock().then(Instant::now);
        let state = cell.sleep(deadline);
        self.wait_ends(what, began);
        state
    }

    /// A wait for a row, which `cell` has begun, goes on without a thread, reachable for [`Self::cancel`]. [`Self::come_back`] follows when it is over, which who is told hears.
    pub(crate) fn leave(&self, cell: &Arc<WaitCell>) {
        self.wait_begins(cell, WaitsFor::RowLock);
    }

    /// The statement goes on whose wait began then and is over, on whatever thread.
    pub(crate) fn come_back(&self, began: Instant) {
        self.wait_ends(WaitsFor::RowLock, Some(began));
    }

    #[inline]
    fn wait_begins(&self, cell: &Arc<WaitCell>, what: WaitsFor) {
        *self.target.lock() = Some((Arc::clone(cell), what));
        if self.is_cancelled() {
            // Nobody sleeps yet, or looks for the end before it is told.
            cell.end(WaitState::Killed);
        }
        if let Some(observer) = self.observer_of(what) {
            observer.wait_begins();
        }
    }

    #[inline]
    fn wait_ends(&self, what: WaitsFor, began: Option<Instant>) {
        if let Some(began) = began {
            self.lock_micros.fetch_add(began.elapsed().as_micros() as u64, Ordering::Relaxed);
        }
        if let Some(observer) = self.observer_of(what) {
            observer.wait_ends();
        }
        *self.target.lock() = None;
    }

    fn observer_of(&self, what: WaitsFor) -> Option<&std::sync::Arc<dyn WaitObserver>> {
        self.observer.get().filter(|_| what != WaitsFor::Admission)
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
