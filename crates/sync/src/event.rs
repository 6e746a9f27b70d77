//! Events: a one-shot flag and a re-arming signal, both one word, and a flag that is set when its holder goes.

use crate::futex::{self, Woken};
use crate::platform::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Instant;

const CLEAR: u32 = 0;
const SET: u32 = 1;
const CLEAR_WITH_WAITERS: u32 = 2;

/// Sets a flag when it goes, also by a panic. Threads of a scope that work until a flag is set end by it whatever becomes of the scope's body; without it a body that panics
/// waits for them for ever.
#[derive(Debug)]
pub struct SetAtEnd<'a>(pub &'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        // Release: what was written before is visible to who sees the flag.
        self.0.store(true, Ordering::Release);
    }
}

/// A one-shot event: once set it stays set, and everyone who waits passes.
#[derive(Debug)]
pub struct Event {
    state: AtomicU32,
}

impl Event {
    /// An event that is not set.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new() -> Self {
        Event { state: AtomicU32::new(CLEAR) }
    }

    /// An event that is not set.
    #[cfg(any(loom, shuttle))]
    pub fn new() -> Self {
        Event { state: AtomicU32::new(CLEAR) }
    }

    /// Sets it and wakes all waiters; what was written before is visible to them. No system call when nobody waits.
    pub fn set(&self) {
        // AcqRel: release what the setter wrote; pairs with the acquire loads of the waiters.
        if self.state.swap(SET, Ordering::AcqRel) == CLEAR_WITH_WAITERS {
            futex::wake(&self.state, u32::MAX);
        }
    }

    /// Whether it is set.
    #[inline]
    pub fn is_set(&self) -> bool {
        self.state.load(Ordering::Acquire) == SET
    }

    /// Waits until it is set; `false` when the deadline passed first.
    pub fn wait(&self, deadline: Option<Instant>) -> bool {
        loop {
            match self.state.compare_exchange(CLEAR, CLEAR_WITH_WAITERS, Ordering::Relaxed, Ordering::Acquire) {
                Err(SET) => return true,
                _ => {
                    if futex::wait(&self.state, CLEAR_WITH_WAITERS, deadline) == Woken::TimedOut {
                        return self.is_set();
                    }
                }
            }
        }
    }
}

impl Default for Event {
    fn default() -> Self {
        Self::new()
    }
}

/// A signal for one background thread: `notify` wakes it, a wait consumes all notifications so far.
#[derive(Debug)]
pub struct Signal {
    state: AtomicU32,
}

impl Signal {
    /// A signal without a pending notification.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new() -> Self {
        Signal { state: AtomicU32::new(CLEAR) }
    }

    /// A signal without a pending notification.
    #[cfg(any(loom, shuttle))]
    pub fn new() -> Self {
        Signal { state: AtomicU32::new(CLEAR) }
    }

    /// Leaves a notification; what was written before is visible to the wait that consumes it. No system call when nobody waits.
    ///
    /// A swap even when one is pending: with only a load the consumer of the pending one would not be ordered after this caller,
    /// could miss what it wrote, and sleep (found by `loom_events`).
    #[inline]
    pub fn notify(&self) {
        if self.state.swap(SET, Ordering::AcqRel) == CLEAR_WITH_WAITERS {
            futex::wake(&self.state, u32::MAX);
        }
    }

    /// Waits for a notification and consumes it; `false` when the deadline passed first.
    pub fn wait(&self, deadline: Option<Instant>) -> bool {
        loop {
            if self.state.compare_exchange(SET, CLEAR, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return true;
            }
            if self.state.compare_exchange(CLEAR, CLEAR_WITH_WAITERS, Ordering::Relaxed, Ordering::Relaxed) == Err(SET) {
                continue;
            }
            if futex::wait(&self.state, CLEAR_WITH_WAITERS, deadline) == Woken::TimedOut {
                return self.state.compare_exchange(SET, CLEAR, Ordering::Acquire, Ordering::Relaxed).is_ok();
            }
        }
    }
}

impl Default for Signal {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn event_releases_all_waiters_and_stays_set() {
        let event = Event::new();
        assert!(!event.wait(Some(Instant::now())));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert!(event.wait(None)));
            }
            event.set();
        });
        assert!(event.is_set() && event.wait(None));
    }

    #[test]
    fn signal_is_consumed_by_a_wait() {
        let signal = Signal::new();
        signal.notify();
        signal.notify();
        assert!(signal.wait(None));
        assert!(!signal.wait(Some(Instant::now())));
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(signal.wait(None)));
            signal.notify();
        });
    }
}
